//! Retention: deletes documents that are older than their collection keeps them.

use crate::state::App;
use sameish::Timestamp;
use std::time::Duration;
use tokio::sync::watch;

/// Deletes expired documents at regular intervals until the service stops.
pub(crate) async fn run(app: App, mut stop: watch::Receiver<bool>) {
    let interval = Duration::from_secs(app.settings.expiry_seconds);
    loop {
        let task_app = app.clone();
        // A panic in the task is logged by the runtime and does not prevent the next run.
        _ = tokio::task::spawn_blocking(move || delete_expired(&task_app)).await;
        tokio::select! {
            _ = stop.wait_for(|stop| *stop) => return,
            () = tokio::time::sleep(interval) => {}
        }
    }
}

fn delete_expired(app: &App) {
    if app.settings.read_only {
        return;
    }
    let Some(now) = Timestamp::from_milliseconds(crate::wire::now()) else { return };
    for collection in app.catalog.collections() {
        match collection.expire(now) {
            Ok(0) => {}
            Ok(documents) => {
                app.metrics.count_documents("expired", collection.name(), documents as u64);
                tracing::info!(collection = collection.name(), documents, "deleted expired documents");
            }
            Err(error) => {
                tracing::warn!(collection = collection.name(), %error, "cannot delete expired documents")
            }
        }
    }
}
