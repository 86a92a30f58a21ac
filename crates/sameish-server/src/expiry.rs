//! When do old documents leave?
//!
//! Every minute or so each collection that keeps documents for a number of days is asked to let go of older ones.

use crate::state::App;
use sameish::Timestamp;
use std::time::Duration;
use tokio::sync::watch;

/// Looks for old documents again and again, until the service stops.
pub(crate) async fn run(app: App, mut stop: watch::Receiver<bool>) {
    let pause = Duration::from_secs(app.settings.expiry_seconds);
    loop {
        let looking = app.clone();
        // A fault is told by the task itself; the next look is tried all the same.
        _ = tokio::task::spawn_blocking(move || look(&looking)).await;
        tokio::select! {
            _ = stop.wait_for(|stop| *stop) => return,
            () = tokio::time::sleep(pause) => {}
        }
    }
}

fn look(app: &App) {
    if app.settings.read_only {
        return;
    }
    let Some(now) = Timestamp::from_milliseconds(crate::wire::now()) else { return };
    for collection in app.catalog.collections() {
        match collection.expire(now) {
            Ok(0) => {}
            Ok(documents) => {
                app.metrics.documents("expired", collection.name(), documents as u64);
                tracing::info!(collection = collection.name(), documents, "old documents have left");
            }
            Err(error) => {
                tracing::warn!(collection = collection.name(), %error, "old documents could not leave")
            }
        }
    }
}
