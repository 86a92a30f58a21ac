//! What do all requests share?
//!
//! An [`App`] is the catalog with what keeps it safe from too many requests: [rooms](crate::room) for those that are worked
//! on, and a budget of bytes for bodies. The catalog blocks, so it is only ever asked on threads that may block.

use crate::auth::Keys;
use crate::ids::Ids;
use crate::metrics::Metrics;
use crate::problem::{Kind, Problem};
use crate::room::{Room, Rooms};
use crate::settings::{Limits, Settings, SettingsError};
use sameish_store::{Catalog, Collection};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};
use tokio::sync::{Semaphore, watch};

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
    draining: watch::Sender<bool>,
    rooms: Rooms,
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
        let rooms = Rooms::new(&settings.limits, keys.len());
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
            rooms,
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
        let end = tokio::time::Instant::now() + Duration::from_secs(self.limits().handler_seconds);
        let room = self.rooms.enter(caller(), end).await?;
        let app = self.clone();
        let work = tokio::task::spawn_blocking(move || {
            let done = job(&app);
            drop(room);
            done
        });
        match tokio::time::timeout_at(end, work).await {
            Ok(done) => done.unwrap_or_else(|fault| Err(Problem::internal(fault))),
            Err(_) => {
                let detail = "the answer took too long; a write may still be done: ask again to see";
                Err(Problem::new(Kind::Slow, detail))
            }
        }
    }

    /// Room for one more bulk request.
    pub(crate) fn bulk(&self) -> Result<Room, Problem> {
        self.rooms.enter_bulk(caller())
    }

    /// Whether the service is stopping.
    pub(crate) fn is_draining(&self) -> bool {
        *self.draining.borrow()
    }

    pub(crate) fn drain(&self) {
        self.draining.send_replace(true);
    }

    /// Comes back when the service is stopping.
    pub(crate) async fn until_draining(&self) {
        // An error would say that the sender has gone, and we hold it.
        _ = self.draining.subscribe().wait_for(|draining| *draining).await;
    }

    pub(crate) fn waiting(&self) -> usize {
        self.rooms.waiting()
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

tokio::task_local! {
    /// The number of the key in whose name a request is worked on.
    static CALLER: Option<usize>;
}

/// Does something in the name of a key, so that what it does counts as that key's.
pub(crate) async fn on_behalf_of<T>(key: Option<usize>, work: impl Future<Output = T>) -> T {
    CALLER.scope(key, work).await
}

fn caller() -> Option<usize> {
    CALLER.try_with(|key| *key).ok().flatten()
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
                let detail = "too many large requests and answers at a time: try again in a second";
                Err(Problem::new(Kind::Busy, detail))
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
