//! State that all requests share.
//!
//! An [`App`] is the catalog plus the limits that protect it: [admission control](crate::admission) and a
//! [memory budget](crate::memory) for bodies.
//! The catalog blocks, so it is called only on threads that may block.

use crate::admission::{Admission, Permit, Requester};
use crate::auth::Keys;
use crate::events::EventHub;
use crate::expiry::PausedExpiry;
use crate::ids::Ids;
use crate::log::LogQueue;
use crate::memory::MemoryBudget;
use crate::metrics::Metrics;
use crate::problem::{Kind, Problem};
use crate::settings::{Limits, Settings, SettingsError};
use crate::wire::unquoted;
use sameish_store::{Catalog, Collection};
use std::sync::Arc;
use std::sync::atomic::AtomicUsize;
use std::time::{Duration, Instant};
use tokio::sync::{Semaphore, watch};
use tokio::task::JoinHandle;

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
    /// The log whose dropped lines the metrics report.
    pub(crate) log: std::sync::OnceLock<LogQueue>,
    /// The OpenAPI description as it is served.
    pub(crate) openapi: std::sync::OnceLock<bytes::Bytes>,
    /// Number of requests whose response is not complete.
    pub(crate) running: AtomicUsize,
    /// Number of open connections.
    pub(crate) connections: AtomicUsize,
    draining: watch::Sender<bool>,
    admission: Admission,
    pub(crate) memory: MemoryBudget,
    /// Streams of events.
    pub(crate) events: EventHub,
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
        let memory = MemoryBudget::new(&settings.limits, keys.len());
        let events = EventHub::new(keys.len());
        catalog.after_write(events.notifier());
        Ok(App(Arc::new(Shared {
            keys,
            catalog,
            ids: Ids::default(),
            metrics: Metrics::default(),
            started: Instant::now(),
            log: std::sync::OnceLock::new(),
            openapi: std::sync::OnceLock::new(),
            running: AtomicUsize::new(0),
            connections: AtomicUsize::new(0),
            draining: watch::Sender::new(false),
            admission,
            memory,
            events,
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
        let deadline = self.deadline();
        let task = self.start(deadline, job).await?;
        match tokio::time::timeout_at(deadline, task).await {
            Ok(result) => result.unwrap_or_else(|error| Err(Problem::internal(error))),
            Err(_) => Err(Problem::new(Kind::Slow, "the request took too long; retry in a second")),
        }
    }

    /// Runs a blocking job that stores documents, like [`run`](Self::run), and waits for its end once it has started.
    ///
    /// A response that asks for a retry would be wrong after the commit: a document without an id would be stored twice.
    pub(crate) async fn run_write<T: Send + 'static>(
        &self,
        job: impl FnOnce(&App) -> Result<T, Problem> + Send + 'static,
    ) -> Result<T, Problem> {
        let task = self.start(self.deadline(), job).await?;
        task.await.unwrap_or_else(|error| Err(Problem::internal(error)))
    }

    fn deadline(&self) -> tokio::time::Instant {
        tokio::time::Instant::now() + Duration::from_secs(self.limits().handler_seconds)
    }

    async fn start<T: Send + 'static>(
        &self,
        deadline: tokio::time::Instant,
        job: impl FnOnce(&App) -> Result<T, Problem> + Send + 'static,
    ) -> Result<JoinHandle<Result<T, Problem>>, Problem> {
        let requester = current_requester();
        let context = current_request();
        let permit = self.admission.admit(&requester, deadline).await?;
        let app = self.clone();
        Ok(tokio::task::spawn_blocking(move || {
            let result = CURRENT_REQUEST.sync_scope(context, || job(&app));
            drop(permit);
            result
        }))
    }

    /// Returns a permit for a bulk request.
    pub(crate) fn bulk_permit(&self) -> Result<Permit, Problem> {
        self.admission.admit_bulk(&current_requester())
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

    pub(crate) fn limits(&self) -> &Limits {
        &self.settings.limits
    }

    /// Returns the collection that a path segment means.
    pub(crate) fn collection(&self, segment: &str) -> Result<Collection, Problem> {
        Ok(self.catalog.collection(&self.collection_name(segment))?)
    }

    /// Returns the name of a collection in a path segment. A collection whose name was reserved for a route later is reached
    /// with quotes.
    pub(crate) fn collection_name(&self, segment: &str) -> String {
        unquoted(segment).unwrap_or_else(|| segment.to_owned())
    }
}

tokio::task_local! {
    static CURRENT_REQUEST: RequestContext;
    /// The name of the collection of the current request.
    static CURRENT_COLLECTION: Option<String>;
}

/// What handlers need to know of the current request, wherever they run.
#[derive(Clone, Copy, Default)]
pub(crate) struct RequestContext {
    /// The index of the key, whose share of the capacity the request uses.
    pub(crate) key: Option<usize>,
    /// Whether the client accepts a response that is compressed with gzip.
    pub(crate) accepts_gzip: bool,
}

/// Runs a future for a request.
pub(crate) async fn with_request<T>(context: RequestContext, future: impl Future<Output = T>) -> T {
    CURRENT_REQUEST.scope(context, future).await
}

fn current_request() -> RequestContext {
    CURRENT_REQUEST.try_with(|context| *context).unwrap_or_default()
}

/// Runs a future on behalf of a collection, whose share of the capacity it uses.
pub(crate) async fn with_collection<T>(name: Option<String>, future: impl Future<Output = T>) -> T {
    CURRENT_COLLECTION.scope(name, future).await
}

fn current_requester() -> Requester {
    let collection = CURRENT_COLLECTION.try_with(Clone::clone).ok().flatten();
    Requester { key: current_key(), collection }
}

/// Returns the index of the key of the current request.
pub(crate) fn current_key() -> Option<usize> {
    current_request().key
}

/// Returns `true` if the client of the current request accepts a response that is compressed with gzip.
pub(crate) fn client_accepts_gzip() -> bool {
    current_request().accepts_gzip
}
