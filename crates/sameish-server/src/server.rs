//! How does a service start and stop?
//!
//! It binds its address, opens the data folder and makes the collections that exist from the start, then serves until it
//! is told to stop: it says that it is not ready any more, finishes what runs, and closes the store.

use crate::settings::{Settings, SettingsError};
use crate::state::App;
use crate::{demo, expiry, http, routes};
use sameish::Preset;
use sameish_store::{Catalog, CollectionConfig, OpenOptions};
use std::net::SocketAddr;
use std::time::Duration;
use tokio::runtime::Runtime;
use tokio::sync::watch;

/// Why a service does not start.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// A setting is wrong.
    #[error(transparent)]
    Settings(#[from] SettingsError),
    /// The address can not be listened on.
    #[error("can not listen on {address}: {source}")]
    Listen {
        /// Which.
        address: SocketAddr,
        /// What the system says.
        source: std::io::Error,
    },
    /// The system does not give us threads.
    #[error("can not start: {0}")]
    Threads(std::io::Error),
    /// The data folder can not be used.
    #[error(transparent)]
    Store(#[from] sameish_store::Error),
}

/// Collections that exist from the start, with the presets of the same names.
const BUILT_IN: [Preset; 3] = [Preset::Articles, Preset::Headlines, Preset::Copies];

/// A service that is ready to run.
pub struct Server {
    app: App,
    runtime: Runtime,
    listener: tokio::net::TcpListener,
    address: SocketAddr,
    /// Heard from the start, so that none is lost between the first word to the caller and the first request.
    signals: Signals,
    stop: watch::Sender<bool>,
}

/// Stops a service from elsewhere.
#[derive(Clone, Debug)]
pub struct Handle(watch::Sender<bool>);

impl Handle {
    /// Lets running requests finish, then ends [`Server::run`].
    pub fn stop(&self) {
        self.0.send_replace(true);
    }
}

impl Server {
    /// Checks the settings, listens, and opens the data folder. When this returns, every document can be found.
    pub fn bind(settings: Settings) -> Result<Server, Error> {
        settings.check()?;
        let threads = settings.limits.in_flight() + settings.limits.bulk_requests + 16;
        let runtime = tokio::runtime::Builder::new_multi_thread()
            .thread_name("sameish-http")
            .max_blocking_threads(threads)
            .enable_all()
            .build()
            .map_err(Error::Threads)?;
        // The address first: a port that is taken is told at once, not after a large folder was opened.
        let listen = |source| Error::Listen { address: settings.listen, source };
        let listener = runtime.block_on(tokio::net::TcpListener::bind(settings.listen)).map_err(listen)?;
        let address = listener.local_addr().map_err(listen)?;
        let options = OpenOptions {
            create: !settings.read_only,
            read_only: settings.read_only,
            ..OpenOptions::default()
        };
        let catalog = Catalog::open(&settings.data, options)?;
        if !settings.read_only {
            for preset in BUILT_IN.iter().filter(|preset| catalog.collection(preset.name()).is_err()) {
                catalog.create(preset.name(), CollectionConfig::new(*preset))?;
            }
        }
        let app = App::new(catalog, settings)?;
        let signals = {
            let _context = runtime.enter();
            Signals::new().map_err(Error::Threads)?
        };
        Ok(Server { app, runtime, listener, address, signals, stop: watch::channel(false).0 })
    }

    /// Where it listens.
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// Stores the bundled articles and headlines; tells how many documents there are in all.
    pub fn load_demo(&self) -> Result<usize, Error> {
        Ok(demo::load(&self.app.catalog)?)
    }

    /// For stopping it.
    pub fn handle(&self) -> Handle {
        Handle(self.stop.clone())
    }

    /// Serves until a signal or a [`Handle`] says stop, then finishes what runs. A second signal ends the process at once.
    pub fn run(self) -> Result<(), Error> {
        let Server { app, runtime, listener, signals, stop, .. } = self;
        let router = routes::router(&app);
        runtime.block_on(async {
            let expiring = tokio::spawn(expiry::run(app.clone(), stop.subscribe()));
            let waiting = tokio::spawn(wait_for_signals(signals, stop.clone()));
            http::serve(listener, router, app.clone(), stop.subscribe()).await;
            expiring.abort();
            waiting.abort();
        });
        // Work whose client has gone may still be going on, and what waits to be written is written.
        runtime.shutdown_timeout(Duration::from_secs(1));
        if let Some(catalog) = app.into_catalog() {
            catalog.close();
        }
        tracing::info!("stopped");
        Ok(())
    }
}

/// The first signal stops the service in good order, the second at once.
async fn wait_for_signals(mut signals: Signals, stop: watch::Sender<bool>) {
    signals.next().await;
    tracing::info!("stopping: running requests are finished; a second signal ends them");
    stop.send_replace(true);
    signals.next().await;
    std::process::exit(130);
}

/// The signals that ask for an end, heard from when this is made.
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
