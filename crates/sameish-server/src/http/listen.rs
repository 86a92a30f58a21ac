//! How are connections taken, and how do they end?
//!
//! Not more than the limit: beyond it the one that has rested longest goes, so that thousands of clients who only wait keep
//! nobody out. Where all are being answered, the newcomer is closed. When the service stops, running requests are finished, and new ones are told to go elsewhere until then.

use super::door::Door;
use super::watch::{Conn, Watched};
use crate::state::App;
use axum::Router;
use hyper::server::conn::http1;
use hyper_util::rt::TokioIo;
use std::collections::HashMap;
use std::pin::pin;
use std::sync::atomic::Ordering;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;
use tokio::io::AsyncReadExt;
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::watch;
use tokio::time::Instant;

/// Descriptors that are kept for files.
const FOR_FILES: usize = 128;
/// What the parser takes beyond the limits, so that the door can say what is wrong in our own words.
const SLACK: usize = 2;
/// After an early answer the rest of a request is thrown away for so long, so that its client sees the answer.
const LINGER: Duration = Duration::from_secs(2);
const LINGER_BYTES: usize = 64 << 20;
/// The least time between the word that we stop and the end of listening, so that it can be seen.
const FAREWELL: Duration = Duration::from_millis(250);

/// Serves until `stop` says so and running requests are done, or have had their time.
pub(crate) async fn serve(listener: TcpListener, router: Router, app: App, mut stop: watch::Receiver<bool>) {
    let open = Arc::new(Open::new(&app));
    let (close, closing) = watch::channel(false);
    let mut end: Option<(Instant, Instant)> = None;
    loop {
        let due = end.map(|(least, last)| (Instant::now(), least, last));
        if due.is_some_and(|(now, least, last)| {
            now >= last || now >= least && app.running.load(Ordering::SeqCst) == 0
        }) {
            break;
        }
        tokio::select! {
            accepted = listener.accept() => match accepted {
                Ok((stream, peer)) => {
                    let conn = Conn::new(peer);
                    let door = Door { app: app.clone(), router: router.clone(), conn: Arc::clone(&conn) };
                    if !open.enter(&conn) {
                        tracing::debug!("a connection found no room");
                        continue;
                    }
                    let (open, closing) = (Arc::clone(&open), closing.clone());
                    let counted = app.clone();
                    counted.connections.fetch_add(1, Ordering::Relaxed);
                    tokio::spawn(async move {
                        connection(stream, door, closing).await;
                        open.leave(&conn);
                        counted.connections.fetch_sub(1, Ordering::Relaxed);
                    });
                }
                Err(error) => {
                    // No descriptor left, or a client that went away at once. Somebody has to go first.
                    tracing::warn!(%error, "a connection could not be taken");
                    open.make_room();
                    tokio::time::sleep(Duration::from_millis(20)).await;
                }
            },
            _ = stop.wait_for(|stop| *stop), if end.is_none() => {
                app.drain();
                let now = Instant::now();
                end = Some((now + FAREWELL, now + Duration::from_secs(app.limits().drain_seconds).max(FAREWELL)));
            }
            () = tokio::time::sleep(Duration::from_millis(20)), if end.is_some() => {}
        }
    }
    drop(listener);
    // Connections that are busy end with their answer, the others now.
    _ = close.send(true);
    drop(closing);
    let left = end.map_or(Duration::ZERO, |(_, last)| last.saturating_duration_since(Instant::now()));
    _ = tokio::time::timeout(left.max(FAREWELL), close.closed()).await;
}

/// Serves one connection to its end.
async fn connection(stream: TcpStream, door: Door, mut closing: watch::Receiver<bool>) {
    // Answers are small and complete: waiting to fill a packet only delays them.
    _ = stream.set_nodelay(true);
    let (conn, limits) = (Arc::clone(&door.conn), door.app.limits().clone());
    let stream = Watched::new(stream, Arc::clone(&conn), &limits);
    let mut http = http1::Builder::new();
    http.half_close(true)
        .header_read_timeout(None)
        .max_headers(SLACK * limits.headers)
        .max_buf_size((SLACK * (limits.header_bytes + limits.uri_bytes)).max(64 << 10));
    let mut served = http.serve_connection(TokioIo::new(stream), door);
    let outcome = {
        let mut evicted = pin!(conn.evict.notified());
        let mut told = false;
        loop {
            tokio::select! {
                outcome = std::future::poll_fn(|cx| served.poll_without_shutdown(cx)) => break Some(outcome),
                () = &mut evicted => break None,
                _ = closing.changed(), if !told => {
                    told = true;
                    std::pin::Pin::new(&mut served).graceful_shutdown();
                }
            }
        }
    };
    drop(closing);
    match outcome {
        Some(Ok(())) => linger(served.into_parts().io.into_inner().into_stream()).await,
        Some(Err(error)) => tracing::debug!(%error, "a connection ended early"),
        None => tracing::debug!("a connection made room for another"),
    }
}

/// Ends our side, then reads what the client still sends: a connection that is closed with unread bytes takes the answer
/// with it.
async fn linger(mut stream: TcpStream) {
    _ = tokio::io::AsyncWriteExt::shutdown(&mut stream).await;
    let drain = async {
        let mut buffer = vec![0; 16 << 10];
        let mut left = LINGER_BYTES;
        while let Ok(read @ 1..) = stream.read(&mut buffer).await {
            left = left.saturating_sub(read);
            if left == 0 {
                break;
            }
        }
    };
    _ = tokio::time::timeout(LINGER, drain).await;
}

/// The connections that are open.
struct Open {
    most: usize,
    conns: Mutex<HashMap<usize, Arc<Conn>>>,
}

impl Open {
    fn new(app: &App) -> Open {
        let descriptors = descriptor_limit().unwrap_or(usize::MAX);
        let most = app.limits().connections.min(descriptors.saturating_sub(FOR_FILES)).max(1);
        Open { most, conns: Mutex::default() }
    }

    /// Takes a connection in, if there is room or somebody rests. Whoever is being answered stays.
    fn enter(&self, conn: &Arc<Conn>) -> bool {
        let mut conns = self.conns.lock().unwrap_or_else(PoisonError::into_inner);
        let room = conns.len() < self.most || evict_one(&mut conns);
        if room {
            conns.insert(Arc::as_ptr(conn) as usize, Arc::clone(conn));
        }
        room
    }

    fn leave(&self, conn: &Arc<Conn>) {
        let mut conns = self.conns.lock().unwrap_or_else(PoisonError::into_inner);
        conns.remove(&(Arc::as_ptr(conn) as usize));
    }

    fn make_room(&self) {
        evict_one(&mut self.conns.lock().unwrap_or_else(PoisonError::into_inner));
    }
}

/// Sends the connection away that has rested longest, if any rests.
fn evict_one(conns: &mut HashMap<usize, Arc<Conn>>) -> bool {
    let resting = conns.iter().filter_map(|(key, conn)| Some((conn.rests_since()?, *key)));
    let gone = resting.min().and_then(|(_, key)| conns.remove(&key));
    if let Some(conn) = &gone {
        conn.evict.notify_one();
    }
    gone.is_some()
}

/// How many files and connections the system lets this process have, where it tells.
fn descriptor_limit() -> Option<usize> {
    let limits = std::fs::read_to_string("/proc/self/limits").ok()?;
    let line = limits.lines().find(|line| line.starts_with("Max open files"))?;
    line.split_whitespace().nth(3)?.parse().ok()
}
