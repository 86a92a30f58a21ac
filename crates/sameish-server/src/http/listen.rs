//! Accepting, serving and closing connections.
//!
//! The number of connections is limited. Beyond the limit the longest idle connection is closed, so that thousands of waiting
//! clients do not block others; if none is idle, the new connection is closed. During shutdown running requests are finished and
//! new ones are rejected.

use super::middleware::{RequestService, rejection_response};
use super::smuggling::HeadLimits;
use super::timeouts::{Connection, TimedStream};
use crate::state::App;
use axum::Router;
use hyper::server::conn::http1;
use hyper_util::rt::TokioIo;
use std::collections::HashMap;
use std::net::SocketAddr;
use std::pin::pin;
use std::sync::atomic::Ordering;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::watch;
use tokio::time::Instant;

/// Number of file descriptors that are not used for connections.
const RESERVED_DESCRIPTORS: usize = 128;
/// After an early response the rest of the request is discarded for this time, so that the client sees the response.
const LINGER_TIME: Duration = Duration::from_secs(2);
const LINGER_BYTES: usize = 64 << 20;
/// Number of bytes that are discarded at a time.
const LINGER_BUFFER: usize = 4 << 10;
/// Minimum time between the start of a shutdown and the end of listening, so that health checks see it.
const MIN_DRAIN: Duration = Duration::from_millis(250);
/// Interval of checks for the end of running requests during shutdown.
const DRAIN_POLL: Duration = Duration::from_millis(20);
/// Pause after a failed `accept`.
const ACCEPT_RETRY: Duration = Duration::from_millis(20);

/// Serves until `stop` is set and running requests have finished or timed out.
pub(crate) async fn serve(listener: TcpListener, router: Router, app: App, mut stop: watch::Receiver<bool>) {
    let connections = Arc::new(Connections::new(&app));
    let (close, closing) = watch::channel(false);
    let mut drain: Option<Drain> = None;
    while !drain.as_ref().is_some_and(|drain| drain.is_over(&app)) {
        tokio::select! {
            accepted = listener.accept() => match accepted {
                Ok((stream, peer)) => accept(stream, peer, &router, &app, &connections, &closing),
                Err(error) => {
                    // Out of descriptors, or the client has already disconnected.
                    tracing::warn!(%error, "cannot accept a connection");
                    connections.evict_idle();
                    tokio::time::sleep(ACCEPT_RETRY).await;
                }
            },
            _ = stop.wait_for(|stop| *stop), if drain.is_none() => {
                app.drain();
                drain = Some(Drain::start(&app));
            }
            () = tokio::time::sleep(DRAIN_POLL), if drain.is_some() => {}
        }
    }
    drop(listener);
    // Idle connections close now, busy ones after their response.
    _ = close.send(true);
    drop(closing);
    let remaining = drain.map_or(Duration::ZERO, |drain| drain.remaining());
    _ = tokio::time::timeout(remaining.max(MIN_DRAIN), close.closed()).await;
}

/// A shutdown in progress.
struct Drain {
    earliest_end: Instant,
    deadline: Instant,
}

impl Drain {
    fn start(app: &App) -> Drain {
        let now = Instant::now();
        let max = Duration::from_secs(app.limits().drain_seconds).max(MIN_DRAIN);
        Drain { earliest_end: now + MIN_DRAIN, deadline: now + max }
    }

    fn is_over(&self, app: &App) -> bool {
        let now = Instant::now();
        now >= self.deadline || now >= self.earliest_end && app.running.load(Ordering::SeqCst) == 0
    }

    fn remaining(&self) -> Duration {
        self.deadline.saturating_duration_since(Instant::now())
    }
}

/// Serves a new connection in a task of its own, unless the limit is reached.
fn accept(
    stream: TcpStream,
    peer: SocketAddr,
    router: &Router,
    app: &App,
    connections: &Arc<Connections>,
    closing: &watch::Receiver<bool>,
) {
    let connection = Connection::new(peer);
    if !connections.insert(&connection) {
        tracing::debug!("too many connections: closed a new one");
        return;
    }
    let service =
        RequestService { app: app.clone(), router: router.clone(), connection: Arc::clone(&connection) };
    let app = app.clone();
    let connections = Arc::clone(connections);
    let closing = closing.clone();
    app.connections.fetch_add(1, Ordering::Relaxed);
    tokio::spawn(async move {
        serve_connection(stream, service, closing).await;
        connections.remove(&connection);
        app.connections.fetch_sub(1, Ordering::Relaxed);
    });
}

/// Serves one connection until it is closed.
async fn serve_connection(stream: TcpStream, service: RequestService, mut closing: watch::Receiver<bool>) {
    // Responses are written as a whole, so delaying small packets only adds latency.
    _ = stream.set_nodelay(true);
    let app = service.app.clone();
    let connection = Arc::clone(&service.connection);
    let stream = TimedStream::new(stream, Arc::clone(&connection), app.limits());
    let head_limits = HeadLimits::new(app.limits());
    let mut http = http1::Builder::new();
    http.half_close(true)
        .header_read_timeout(None)
        .max_headers(head_limits.headers)
        .max_buf_size(head_limits.buffer_bytes());
    let mut served = http.serve_connection(TokioIo::new(stream), service);
    let outcome = {
        let mut evicted = pin!(connection.evict.notified());
        let mut is_closing = false;
        loop {
            tokio::select! {
                outcome = std::future::poll_fn(|cx| served.poll_without_shutdown(cx)) => break Some(outcome),
                () = &mut evicted => break None,
                _ = closing.changed(), if !is_closing => {
                    is_closing = true;
                    std::pin::Pin::new(&mut served).graceful_shutdown();
                }
            }
        }
    };
    drop(closing);
    match outcome {
        Some(Ok(())) => finish(served.into_parts().io.into_inner(), &app).await,
        Some(Err(error)) => tracing::debug!(%error, "connection ended early"),
        None => tracing::debug!("too many connections: closed an idle one"),
    }
}

/// Sends the problem of a rejected head, if there is one, and closes the connection.
async fn finish(stream: TimedStream, app: &App) {
    let (mut stream, rejection) = stream.into_parts();
    if let Some(problem) = rejection {
        let response = rejection_response(app, &problem).await;
        let timeout = Duration::from_secs(app.limits().write_seconds);
        // The client may have disconnected.
        _ = tokio::time::timeout(timeout, stream.write_all(&response)).await;
    }
    linger(stream).await;
}

/// Closes the sending side and discards what the client still sends: closing a connection with unread bytes resets it, and the
/// client may lose the response.
async fn linger(mut stream: TcpStream) {
    _ = stream.shutdown().await;
    let discard = async {
        let mut buffer = vec![0; LINGER_BUFFER];
        let mut remaining = LINGER_BYTES;
        while let Ok(read @ 1..) = stream.read(&mut buffer).await {
            remaining = remaining.saturating_sub(read);
            if remaining == 0 {
                break;
            }
        }
    };
    _ = tokio::time::timeout(LINGER_TIME, discard).await;
}

/// The open connections, by address of their state.
struct Connections {
    max: usize,
    open: Mutex<HashMap<usize, Arc<Connection>>>,
}

impl Connections {
    fn new(app: &App) -> Connections {
        let descriptors = descriptor_limit().unwrap_or(usize::MAX);
        let max = app.limits().connections.min(descriptors.saturating_sub(RESERVED_DESCRIPTORS)).max(1);
        Connections { max, open: Mutex::default() }
    }

    /// Adds a connection, if necessary in place of an idle one. Returns `false` if the limit is reached and none is idle.
    fn insert(&self, connection: &Arc<Connection>) -> bool {
        let mut open = self.open.lock().unwrap_or_else(PoisonError::into_inner);
        let has_place = open.len() < self.max || evict_idle(&mut open);
        if has_place {
            open.insert(Arc::as_ptr(connection) as usize, Arc::clone(connection));
        }
        has_place
    }

    fn remove(&self, connection: &Arc<Connection>) {
        let mut open = self.open.lock().unwrap_or_else(PoisonError::into_inner);
        open.remove(&(Arc::as_ptr(connection) as usize));
    }

    fn evict_idle(&self) {
        evict_idle(&mut self.open.lock().unwrap_or_else(PoisonError::into_inner));
    }
}

/// Closes the longest idle connection. Returns `false` if none is idle.
fn evict_idle(open: &mut HashMap<usize, Arc<Connection>>) -> bool {
    let idle = open.iter().filter_map(|(key, connection)| Some((connection.idle_since()?, *key)));
    let evicted = idle.min().and_then(|(_, key)| open.remove(&key));
    if let Some(connection) = &evicted {
        connection.evict.notify_one();
    }
    evicted.is_some()
}

/// Returns the maximum number of file descriptors of the process, if the operating system reports it.
fn descriptor_limit() -> Option<usize> {
    let limits = std::fs::read_to_string("/proc/self/limits").ok()?;
    let line = limits.lines().find(|line| line.starts_with("Max open files"))?;
    line.split_whitespace().nth(3)?.parse().ok()
}
