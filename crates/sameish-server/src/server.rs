//! Start and shutdown of the service.
//!
//! [`Server::bind`] binds the address, opens the data directory and creates the built-in collections. [`Server::run`] serves until
//! shutdown: it reports that it is not ready, finishes running requests, and closes the store.

use crate::log::LogQueue;
use crate::settings::{Settings, SettingsError};
use crate::state::App;
use crate::{demo, expiry, http, routes};
use sameish::Preset;
use sameish_store::{Catalog, CollectionConfig, OpenOptions};
use std::net::SocketAddr;
use std::time::Duration;
use tokio::runtime::Runtime;
use tokio::sync::watch;

/// An error that prevents the service from starting.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// A setting is invalid.
    #[error(transparent)]
    Settings(#[from] SettingsError),
    /// The service cannot listen on the address.
    #[error("cannot listen on {address}: {source}; choose another address or port")]
    Listen {
        /// The address.
        address: SocketAddr,
        /// Error of the operating system.
        source: std::io::Error,
    },
    /// The operating system does not provide threads or signal handlers.
    #[error("cannot start: {0}")]
    Threads(std::io::Error),
    /// The data directory cannot be opened.
    #[error(transparent)]
    Store(#[from] sameish_store::Error),
}

/// Collections that always exist, named after their presets.
const BUILT_IN: [Preset; 3] = [Preset::Articles, Preset::Headlines, Preset::Copies];

/// A service that is ready to run.
pub struct Server {
    app: App,
    runtime: Runtime,
    listener: tokio::net::TcpListener,
    address: SocketAddr,
    /// Registered before the caller announces the address, so that no later signal is missed.
    signals: Signals,
    stop: watch::Sender<bool>,
}

/// Shuts a service down from another thread.
#[derive(Clone, Debug)]
pub struct Handle(watch::Sender<bool>);

impl Handle {
    /// Starts a graceful shutdown, after which [`Server::run`] returns.
    pub fn stop(&self) {
        self.0.send_replace(true);
    }
}

impl Server {
    /// Checks the settings, binds the address and opens the data directory. On return all stored documents are indexed.
    pub fn bind(settings: Settings) -> Result<Server, Error> {
        settings.check()?;
        let runtime = start_runtime(&settings)?;
        // The address first: a port in use is reported at once, not after a large store has been opened.
        let listen = |source| Error::Listen { address: settings.listen, source };
        let listener = runtime.block_on(tokio::net::TcpListener::bind(settings.listen)).map_err(listen)?;
        let address = listener.local_addr().map_err(listen)?;
        let catalog = open_catalog(&settings)?;
        let app = App::new(catalog, settings)?;
        let signals = {
            let _context = runtime.enter();
            Signals::new().map_err(Error::Threads)?
        };
        Ok(Server { app, runtime, listener, address, signals, stop: watch::channel(false).0 })
    }

    /// Returns the address on which the service listens.
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// Reports the lines that a log drops in the metrics.
    pub fn with_log(self, log: LogQueue) -> Server {
        // Fails only if a log has been set before, which then is the one that is reported.
        _ = self.app.log.set(log);
        self
    }

    /// Stores the bundled demo documents. Returns the number of documents in their collections.
    pub fn load_demo(&self) -> Result<usize, Error> {
        Ok(demo::load(&self.app.catalog)?)
    }

    /// Returns a handle that can shut the service down.
    pub fn handle(&self) -> Handle {
        Handle(self.stop.clone())
    }

    /// Serves until SIGTERM, SIGINT or a [`Handle`] starts a graceful shutdown. A second signal ends the process immediately.
    pub fn run(self) -> Result<(), Error> {
        let Server { app, runtime, listener, signals, stop, .. } = self;
        let router = routes::router(&app);
        if !app.keys.is_empty() && !app.keys.has_admin() {
            tracing::warn!(
                "no key has scope `admin`, so keys with scope `write` may change collections and take snapshots; \
                 create one with `sameish keys new --scope admin`"
            );
        }
        warm_statistics(&app);
        runtime.block_on(async {
            let expiry = tokio::spawn(expiry::run(app.clone(), stop.subscribe()));
            let signals = tokio::spawn(stop_on_signal(signals, stop.clone()));
            http::serve(listener, router, app.clone(), stop.subscribe()).await;
            expiry.abort();
            signals.abort();
        });
        // Jobs of clients that have disconnected may still run; closing the catalog completes queued writes.
        runtime.shutdown_timeout(Duration::from_secs(1));
        if let Some(catalog) = app.into_catalog() {
            catalog.close();
        }
        tracing::info!("stopped");
        Ok(())
    }
}

fn start_runtime(settings: &Settings) -> Result<Runtime, Error> {
    let blocking_threads = settings.limits.in_flight() + settings.limits.bulk_requests + 16;
    tokio::runtime::Builder::new_multi_thread()
        .thread_name("sameish-http")
        .max_blocking_threads(blocking_threads)
        .enable_all()
        .build()
        .map_err(Error::Threads)
}

fn open_catalog(settings: &Settings) -> Result<Catalog, Error> {
    let options = OpenOptions {
        create: !settings.read_only,
        read_only: settings.read_only,
        backup_before_upgrade: settings.upgrade_backup,
        ..OpenOptions::default()
    };
    let catalog = Catalog::open(&settings.data, options)?;
    for change in catalog.reclustered() {
        tracing::info!("{change}");
    }
    for collection in catalog.unavailable() {
        tracing::warn!("{collection}");
    }
    if !settings.read_only {
        let is_missing = |preset: &&Preset| {
            matches!(catalog.collection(preset.name()), Err(sameish_store::Error::NoCollection { .. }))
        };
        for preset in BUILT_IN.iter().filter(is_missing) {
            catalog.create(preset.name(), CollectionConfig::new(*preset))?;
        }
    }
    Ok(catalog)
}

/// Number of documents from which on statistics take so long that the first request should not wait for them.
const MANY_DOCUMENTS: usize = 10_000;

/// Computes the statistics of large collections in the background.
fn warm_statistics(app: &App) {
    let collections = app.catalog.collections().into_iter();
    let large: Vec<_> = collections.filter(|collection| collection.len() >= MANY_DOCUMENTS).collect();
    if large.is_empty() {
        return;
    }
    let compute = move || {
        for collection in large {
            // A request reports the error.
            _ = collection.stats();
            _ = collection.histogram();
            _ = collection.sources();
        }
    };
    // Without the thread, the first requests compute them.
    _ = std::thread::Builder::new().name("sameish-statistics".into()).spawn(compute);
}

/// Starts a graceful shutdown on the first signal and ends the process on the second.
async fn stop_on_signal(mut signals: Signals, stop: watch::Sender<bool>) {
    signals.next().await;
    stop.send_replace(true);
    tracing::info!("shutting down: finishing running requests; a second signal ends the process immediately");
    signals.next().await;
    std::process::exit(130);
}

/// The signals that request a shutdown.
#[cfg(unix)]
struct Signals {
    terminate: tokio::signal::unix::Signal,
    interrupt: tokio::signal::unix::Signal,
}

#[cfg(unix)]
impl Signals {
    fn new() -> std::io::Result<Signals> {
        use tokio::signal::unix::{SignalKind, signal};
        Ok(Signals {
            terminate: signal(SignalKind::terminate())?,
            interrupt: signal(SignalKind::interrupt())?,
        })
    }

    async fn next(&mut self) {
        tokio::select! {
            _ = self.terminate.recv() => {}
            _ = self.interrupt.recv() => {}
        }
    }
}

#[cfg(not(unix))]
struct Signals;

#[cfg(not(unix))]
impl Signals {
    fn new() -> std::io::Result<Signals> {
        Ok(Signals)
    }

    async fn next(&mut self) {
        if tokio::signal::ctrl_c().await.is_err() {
            std::future::pending::<()>().await;
        }
    }
}
