//! Retention: deletes documents that are older than their collection keeps them.
//!
//! If the clock or the number of old documents is not plausible, the store deletes nothing until an operator confirms it. The
//! pause is reported in the log, in `/health/ready` and in the metrics.

use crate::state::App;
use sameish::Timestamp;
use sameish_store::{Collection, Confirmation, ExpiryPause};
use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;
use tokio::sync::watch;

/// Collections whose expiry needs a confirmation, with the reason.
#[derive(Debug, Default)]
pub(crate) struct PausedExpiry(Mutex<BTreeMap<String, &'static str>>);

impl PausedExpiry {
    /// Returns the reason why the expiry of a collection is paused.
    pub(crate) fn reason(&self, collection: &str) -> Option<&'static str> {
        self.lock().get(collection).copied()
    }

    /// Returns all reasons, each once.
    pub(crate) fn reasons(&self) -> Vec<&'static str> {
        self.lock().values().copied().collect::<BTreeSet<_>>().into_iter().collect()
    }

    /// Records the state of a collection, and logs it if it has changed.
    fn set(&self, collection: &str, pause: Option<ExpiryPause>) {
        let mut paused = self.lock();
        match pause {
            Some(pause) if paused.insert(collection.to_owned(), pause.name()) != Some(pause.name()) => {
                tracing::warn!(collection, %pause, "expiry is paused; nothing is deleted");
            }
            Some(_) => {}
            None if paused.remove(collection).is_some() => tracing::info!(collection, "expiry continues"),
            None => {}
        }
    }

    fn retain(&self, collections: &[Collection]) {
        self.lock().retain(|name, _| collections.iter().any(|collection| collection.name() == name));
    }

    fn lock(&self) -> MutexGuard<'_, BTreeMap<String, &'static str>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

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
    let confirmation = app.catalog.take_expiry_confirmation();
    let collections = app.catalog.collections();
    app.paused_expiry.retain(&collections);
    for collection in collections {
        expire(app, &collection, now, confirmation);
    }
}

fn expire(app: &App, collection: &Collection, now: Timestamp, confirmation: Confirmation) {
    let name = collection.name();
    match collection.expire(now, confirmation) {
        Ok(expired) => {
            app.paused_expiry.set(name, expired.paused);
            if expired.removed > 0 {
                app.metrics.count_documents("expired", name, expired.removed as u64);
                tracing::info!(collection = name, documents = expired.removed, "deleted expired documents");
            }
        }
        Err(error) => tracing::warn!(collection = name, %error, "cannot delete expired documents"),
    }
}
