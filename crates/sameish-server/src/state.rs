//! What do all requests share?
//!
//! An [`App`] is the catalog with what keeps it safe from too many requests: a number of requests that are worked on at a
//! time, a queue before that, and a budget of bytes for bodies. The catalog blocks, so it is only ever asked on threads
//! that may block.

use crate::auth::Keys;
use crate::ids::Ids;
use crate::metrics::Metrics;
use crate::problem::{Kind, Problem};
use crate::settings::{Limits, Settings, SettingsError};
use sameish_store::{Catalog, Collection};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::time::{Duration, Instant};
use tokio::sync::{OwnedSemaphorePermit, Semaphore};

/// What all requests share. Clones are the same.
#[derive(Clone)]
pub(crate) struct App(Arc<Shared>);

pub(crate) struct Shared {
    pub(crate) catalog: Catalog,
    pub(crate) settings: Settings,
    pub(crate) keys: Keys,
    pub(crate) ids: Ids,
    pub(crate) metrics: Metrics,
    pub(crate) started: Instant,
    /// The description of the interface, as it is served.
    pub(crate) openapi: std::sync::OnceLock<bytes::Bytes>,
    /// Requests that have come and are not answered.
    pub(crate) running: AtomicUsize,
    /// Connections that are open.
    pub(crate) connections: AtomicUsize,
    draining: AtomicBool,
    workers: Arc<Semaphore>,
    waiting: AtomicUsize,
    bulks: Arc<Semaphore>,
    buffered: AtomicUsize,
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
        Ok(App(Arc::new(Shared {
            keys,
            catalog,
            ids: Ids::default(),
            metrics: Metrics::default(),
            started: Instant::now(),
            openapi: std::sync::OnceLock::new(),
            running: AtomicUsize::new(0),
            connections: AtomicUsize::new(0),
            draining: AtomicBool::new(false),
            workers: Arc::new(Semaphore::new(settings.limits.in_flight())),
            waiting: AtomicUsize::new(0),
            bulks: Arc::new(Semaphore::new(settings.limits.bulk_requests)),
            buffered: AtomicUsize::new(0),
            snapshot: Arc::new(Semaphore::new(1)),
            settings,
        })))
    }

    /// Gives the catalog back when nobody else has a hold of it.
    pub(crate) fn into_catalog(self) -> Option<Catalog> {
        Arc::into_inner(self.0).map(|shared| shared.catalog)
    }

    /// Runs something that blocks, when there is room for it.
    ///
    /// The room is given back when the work ends, not when its client has lost patience: work that nobody waits for still
    /// takes its time.
    pub(crate) async fn work<T: Send + 'static>(
        &self,
        job: impl FnOnce(&App) -> Result<T, Problem> + Send + 'static,
    ) -> Result<T, Problem> {
        let patience = Duration::from_secs(self.limits().handler_seconds);
        let working = async {
            let permit = self.admitted().await?;
            let app = self.clone();
            let work = tokio::task::spawn_blocking(move || {
                let done = job(&app);
                drop(permit);
                done
            });
            work.await.unwrap_or_else(|fault| Err(Problem::internal(fault)))
        };
        tokio::time::timeout(patience, working).await.unwrap_or_else(|_| {
            let detail = "the answer took too long; a write may still be done: ask again to see";
            Err(Problem::new(Kind::Slow, detail))
        })
    }

    async fn admitted(&self) -> Result<OwnedSemaphorePermit, Problem> {
        let workers = Arc::clone(&self.workers);
        if let Ok(permit) = Arc::clone(&workers).try_acquire_owned() {
            return Ok(permit);
        }
        let _place = Waiting::enter(self)?;
        let closed = |_| Problem::new(Kind::Draining, "the service is stopping");
        workers.acquire_owned().await.map_err(closed)
    }

    /// Room for one more bulk request.
    pub(crate) fn bulk(&self) -> Result<OwnedSemaphorePermit, Problem> {
        let busy = |_| Problem::new(Kind::Busy, "too many bulk requests at a time: try again in a second");
        Arc::clone(&self.bulks).try_acquire_owned().map_err(busy)
    }

    /// Whether the service is stopping.
    pub(crate) fn is_draining(&self) -> bool {
        self.draining.load(Ordering::SeqCst)
    }

    pub(crate) fn drain(&self) {
        self.draining.store(true, Ordering::SeqCst);
    }

    pub(crate) fn waiting(&self) -> usize {
        self.waiting.load(Ordering::Relaxed)
    }

    pub(crate) fn buffered(&self) -> usize {
        self.buffered.load(Ordering::Relaxed)
    }

    pub(crate) fn limits(&self) -> &Limits {
        &self.settings.limits
    }

    pub(crate) fn collection(&self, name: &str) -> Result<Collection, Problem> {
        Ok(self.catalog.collection(name)?)
    }
}

/// A place in the queue, given back when it is dropped.
struct Waiting<'a>(&'a AtomicUsize);

impl<'a> Waiting<'a> {
    fn enter(app: &'a App) -> Result<Waiting<'a>, Problem> {
        let before = app.waiting.fetch_add(1, Ordering::Relaxed);
        let place = Waiting(&app.waiting);
        match before < app.limits().queue {
            true => Ok(place),
            false => Err(Problem::new(Kind::Busy, "too many requests at a time: try again in a second")),
        }
    }
}

impl Drop for Waiting<'_> {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::Relaxed);
    }
}

/// Bytes of the budget for bodies, given back when this is dropped.
pub(crate) struct Held {
    app: App,
    bytes: usize,
}

impl Held {
    pub(crate) fn none(app: &App) -> Held {
        Held { app: app.clone(), bytes: 0 }
    }

    /// Takes some more, if there are any.
    pub(crate) fn more(&mut self, bytes: usize) -> Result<(), Problem> {
        let before = self.app.buffered.fetch_add(bytes, Ordering::Relaxed);
        self.bytes += bytes;
        match before + bytes <= self.app.limits().buffered_bytes {
            true => Ok(()),
            false => {
                Err(Problem::new(Kind::Busy, "too many large requests at a time: try again in a second")
                    .closing())
            }
        }
    }

    /// Gives some back.
    pub(crate) fn less(&mut self, bytes: usize) {
        let bytes = bytes.min(self.bytes);
        self.bytes -= bytes;
        self.app.buffered.fetch_sub(bytes, Ordering::Relaxed);
    }
}

impl Drop for Held {
    fn drop(&mut self) {
        self.app.buffered.fetch_sub(self.bytes, Ordering::Relaxed);
    }
}
