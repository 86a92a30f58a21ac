//! State that all requests share.
//!
//! An [`App`] is the catalog plus the limits that protect it: [admission control](crate::admission) and a memory budget for bodies.
//! The catalog blocks, so it is called only on threads that may block.

use crate::admission::{Admission, Permit};
use crate::auth::Keys;
use crate::expiry::PausedExpiry;
use crate::ids::Ids;
use crate::metrics::Metrics;
use crate::problem::{Kind, Problem};
use crate::settings::{Limits, Settings, SettingsError};
use sameish_store::{Catalog, Collection};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};
use tokio::sync::{Semaphore, watch};

/// A handle to the shared state.
#[derive(Clone)]
pub(crate) struct App(Arc<Shared>);

pub(crate) struct Shared {
    pub(crate) catalog: Catalog,
    pub(crate) settings: Settings,
    pub(crate) keys: Keys,
    pub(crate) ids: Ids,
    pub(crate) metrics: Metrics,
    pub(crate) started: Instant,
    /// The OpenAPI description as it is served.
    pub(crate) openapi: std::sync::OnceLock<bytes::Bytes>,
    /// Number of requests whose response is not complete.
    pub(crate) running: AtomicUsize,
    /// Number of open connections.
    pub(crate) connections: AtomicUsize,
    draining: watch::Sender<bool>,
    admission: Admission,
    buffered: AtomicUsize,
    /// Collections whose expiry needs a confirmation.
    pub(crate) paused_expiry: PausedExpiry,
    /// Allows one snapshot at a time.
    pub(crate) snapshot: Arc<Semaphore>,
}

impl std::ops::Deref for App {
    type Target = Shared;

    fn deref(&self) -> &Shared {
        &self.0
    }
}

impl App {
    pub(crate) fn new(catalog: Catalog, settings: Settings) -> Result<App, SettingsError> {
        let keys = Keys::new(&settings)?;
        let admission = Admission::new(&settings.limits, keys.len());
        Ok(App(Arc::new(Shared {
            keys,
            catalog,
            ids: Ids::default(),
            metrics: Metrics::default(),
            started: Instant::now(),
            openapi: std::sync::OnceLock::new(),
            running: AtomicUsize::new(0),
            connections: AtomicUsize::new(0),
            draining: watch::Sender::new(false),
            admission,
            buffered: AtomicUsize::new(0),
            paused_expiry: PausedExpiry::default(),
            snapshot: Arc::new(Semaphore::new(1)),
            settings,
        })))
    }

    /// Returns the catalog if this is the last handle.
    pub(crate) fn into_catalog(self) -> Option<Catalog> {
        Arc::into_inner(self.0).map(|shared| shared.catalog)
    }

    /// Runs a blocking job on a worker thread when admission control permits it.
    ///
    /// The permit is released when the job ends, not when its request times out, because the job keeps using the machine.
    pub(crate) async fn run<T: Send + 'static>(
        &self,
        job: impl FnOnce(&App) -> Result<T, Problem> + Send + 'static,
    ) -> Result<T, Problem> {
        let deadline = tokio::time::Instant::now() + Duration::from_secs(self.limits().handler_seconds);
        let permit = self.admission.admit(current_key(), deadline).await?;
        let app = self.clone();
        let task = tokio::task::spawn_blocking(move || {
            let result = job(&app);
            drop(permit);
            result
        });
        match tokio::time::timeout_at(deadline, task).await {
            Ok(result) => result.unwrap_or_else(|error| Err(Problem::internal(error))),
            Err(_) => {
                let detail =
                    "the request took too long; a write may still complete: repeat the request to check";
                Err(Problem::new(Kind::Slow, detail))
            }
        }
    }

    /// Returns a permit for a bulk request.
    pub(crate) fn bulk_permit(&self) -> Result<Permit, Problem> {
        self.admission.admit_bulk(current_key())
    }

    /// Returns `true` if the service is shutting down.
    pub(crate) fn is_draining(&self) -> bool {
        *self.draining.borrow()
    }

    /// Starts the shutdown.
    pub(crate) fn drain(&self) {
        self.draining.send_replace(true);
    }

    /// Waits until the service is shutting down.
    pub(crate) async fn until_draining(&self) {
        // Fails only if the sender is dropped, and `self` holds it.
        _ = self.draining.subscribe().wait_for(|draining| *draining).await;
    }

    /// Returns the number of requests in the queue.
    pub(crate) fn waiting(&self) -> usize {
        self.admission.waiting()
    }

    /// Returns the number of bytes in use of the memory budget for bodies.
    pub(crate) fn buffered(&self) -> usize {
        self.buffered.load(Ordering::Relaxed)
    }

    pub(crate) fn limits(&self) -> &Limits {
        &self.settings.limits
    }

    /// Returns the collection that a path segment means. A collection whose name was reserved for a route later is reached with
    /// quotes.
    pub(crate) fn collection(&self, name: &str) -> Result<Collection, Problem> {
        let quoted = name.strip_prefix('"').and_then(|rest| rest.strip_suffix('"'));
        Ok(self.catalog.collection(quoted.unwrap_or(name))?)
    }
}

tokio::task_local! {
    /// The index of the key of the current request.
    static CURRENT_KEY: Option<usize>;
}

/// Runs a future on behalf of a key, whose share of the capacity it uses.
pub(crate) async fn with_key<T>(key: Option<usize>, future: impl Future<Output = T>) -> T {
    CURRENT_KEY.scope(key, future).await
}

fn current_key() -> Option<usize> {
    CURRENT_KEY.try_with(|key| *key).ok().flatten()
}

/// A part of the memory budget for bodies. Released on drop.
pub(crate) struct BufferedBytes {
    app: App,
    bytes: usize,
}

impl BufferedBytes {
    /// Creates an empty reservation.
    pub(crate) fn new(app: &App) -> BufferedBytes {
        BufferedBytes { app: app.clone(), bytes: 0 }
    }

    /// Reserves more bytes. Returns a problem if the budget is exhausted.
    pub(crate) fn reserve(&mut self, bytes: usize) -> Result<(), Problem> {
        let before = self.app.buffered.fetch_add(bytes, Ordering::Relaxed);
        self.bytes += bytes;
        if before + bytes > self.app.limits().buffered_bytes {
            let detail = "too many large requests and responses in memory; retry in a second";
            return Err(Problem::new(Kind::Busy, detail));
        }
        Ok(())
    }

    /// Releases a part of the reservation.
    pub(crate) fn release(&mut self, bytes: usize) {
        let bytes = bytes.min(self.bytes);
        self.bytes -= bytes;
        self.app.buffered.fetch_sub(bytes, Ordering::Relaxed);
    }
}

impl Drop for BufferedBytes {
    fn drop(&mut self) {
        self.app.buffered.fetch_sub(self.bytes, Ordering::Relaxed);
    }
}
