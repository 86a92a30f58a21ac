//! When has a client waited, or made us wait, for too long?
//!
//! A connection is resting, sending a head, or busy with a request. Each rest and each head has an end, and so has a
//! client that takes nothing of its answer. Bodies have their own limits where they are read.

use super::sniff::Sniff;
use crate::ids::Ids;
use crate::problem::{Kind, PROBLEM_JSON, Problem};
use crate::settings::Limits;
use std::io;
use std::net::SocketAddr;
use std::pin::Pin;
use std::sync::atomic::{AtomicU8, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::task::{Context, Poll, ready};
use std::time::Duration;
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::net::TcpStream;
use tokio::sync::Notify;
use tokio::time::{Instant, Sleep};

const RESTING: u8 = 0;
const HEAD: u8 = 1;
const BUSY: u8 = 2;

/// What is known of a connection by all who deal with it.
#[derive(Debug)]
pub(crate) struct Conn {
    pub(crate) peer: SocketAddr,
    phase: AtomicU8,
    /// Milliseconds from `born` to the beginning of the phase.
    since: AtomicU64,
    born: Instant,
    sniff: Mutex<Sniff>,
    /// Rung when the connection has to make room for another.
    pub(crate) evict: Notify,
}

impl Conn {
    pub(crate) fn new(peer: SocketAddr) -> Arc<Conn> {
        Arc::new(Conn {
            peer,
            phase: AtomicU8::new(HEAD),
            since: AtomicU64::new(0),
            born: Instant::now(),
            sniff: Mutex::default(),
            evict: Notify::new(),
        })
    }

    fn enter(&self, phase: u8) {
        self.since.store(self.born.elapsed().as_millis() as u64, Ordering::Relaxed);
        self.phase.store(phase, Ordering::Relaxed);
    }

    /// A request has come: gives what is wrong with its head.
    pub(crate) fn begin(&self) -> Option<&'static str> {
        self.enter(BUSY);
        self.sniff.lock().unwrap_or_else(PoisonError::into_inner).next_flaw()
    }

    /// Its answer has been given.
    pub(crate) fn end(&self) {
        self.enter(RESTING);
    }

    /// Since when nobody has asked anything, if so.
    pub(crate) fn rests_since(&self) -> Option<Instant> {
        let resting = self.phase.load(Ordering::Relaxed) != BUSY;
        resting.then(|| self.born + Duration::from_millis(self.since.load(Ordering::Relaxed)))
    }
}

/// A stream whose every wait has an end.
pub(crate) struct Watched {
    stream: TcpStream,
    conn: Arc<Conn>,
    head: Duration,
    rest: Duration,
    write: Duration,
    reading: Pin<Box<Sleep>>,
    writing: Option<Pin<Box<Sleep>>>,
    /// An answer of ours that goes out in place of one of the parser.
    instead: Option<Instead>,
}

/// What is written in place of something else.
struct Instead {
    bytes: Vec<u8>,
    written: usize,
    /// How much the parser believes to have written when this is done.
    of: usize,
}

impl Watched {
    pub(crate) fn new(stream: TcpStream, conn: Arc<Conn>, limits: &Limits) -> Watched {
        let head = Duration::from_secs(limits.header_seconds);
        Watched {
            stream,
            conn,
            head,
            rest: Duration::from_secs(limits.idle_seconds),
            write: Duration::from_secs(limits.write_seconds),
            reading: Box::pin(tokio::time::sleep(head)),
            writing: None,
            instead: None,
        }
    }

    /// The stream, for what has to be done after the last answer.
    pub(crate) fn into_stream(self) -> TcpStream {
        self.stream
    }

    /// Fails when the head or the rest has taken too long.
    fn check_reading(&mut self, cx: &mut Context<'_>) -> io::Result<()> {
        if self.writing.is_some() {
            // A client that is still taking its answer does not rest.
            return Ok(());
        }
        let Some(since) = self.conn.rests_since() else { return Ok(()) };
        let most = if self.conn.phase.load(Ordering::Relaxed) == HEAD { self.head } else { self.rest };
        let end = since + most;
        if self.reading.deadline() != end {
            self.reading.as_mut().reset(end);
        }
        match self.reading.as_mut().poll(cx) {
            Poll::Ready(()) => Err(io::Error::new(io::ErrorKind::TimedOut, "nothing came for too long")),
            Poll::Pending => Ok(()),
        }
    }

    fn written(&mut self, cx: &mut Context<'_>, wrote: Poll<io::Result<usize>>) -> Poll<io::Result<usize>> {
        if wrote.is_ready() {
            if self.writing.take().is_some() && self.conn.phase.load(Ordering::Relaxed) == RESTING {
                self.conn.end();
            }
            return wrote;
        }
        let write = self.write;
        let writing = self.writing.get_or_insert_with(|| Box::pin(tokio::time::sleep(write)));
        ready!(writing.as_mut().poll(cx));
        Poll::Ready(Err(io::Error::new(io::ErrorKind::TimedOut, "nothing was taken for too long")))
    }
}

/// What a head that can not be parsed gets. The parser answers it by itself, with a status and nothing else; these are the
/// same statuses in the form that all our errors have.
fn instead_of(written: &[u8]) -> Option<Instead> {
    let text = std::str::from_utf8(written).ok()?;
    let own = text.starts_with("HTTP/1.1 4")
        && text.ends_with("\r\n\r\n")
        && text.contains("content-length: 0\r\n");
    if !own || text.contains("x-request-id") {
        return None;
    }
    let problem = match text.get(9..12)? {
        "431" => Problem::new(Kind::HeadersTooLarge, "the headers are too large"),
        "414" => Problem::new(Kind::UriTooLong, "the address is too long"),
        _ => Problem::new(Kind::BadRequest, "this is not a request in HTTP/1.1"),
    };
    let id = Ids::default().next();
    let body = serde_json::to_string(&problem.body(&id)).ok()?;
    let status = problem.kind.status();
    let bytes = format!(
        "HTTP/1.1 {status}\r\nconnection: close\r\ncontent-type: {PROBLEM_JSON}\r\nx-request-id: {id}\r\n\
         x-content-type-options: nosniff\r\ncontent-length: {}\r\n\r\n{body}",
        body.len()
    );
    Some(Instead { bytes: bytes.into_bytes(), written: 0, of: written.len() })
}

impl Watched {
    /// Writes what goes out in place of something else, to its end.
    fn write_instead(&mut self, cx: &mut Context<'_>) -> Option<Poll<io::Result<usize>>> {
        let instead = self.instead.as_mut()?;
        while instead.written < instead.bytes.len() {
            let wrote = Pin::new(&mut self.stream).poll_write(cx, &instead.bytes[instead.written..]);
            match wrote {
                Poll::Ready(Ok(wrote @ 1..)) => instead.written += wrote,
                Poll::Ready(Ok(0)) => return Some(Poll::Ready(Ok(0))),
                other => return Some(self.written(cx, other)),
            }
        }
        let of = instead.of;
        self.instead = None;
        Some(self.written(cx, Poll::Ready(Ok(of))))
    }

    fn begins_instead(&mut self, written: &[u8]) {
        if self.instead.is_none() && self.conn.phase.load(Ordering::Relaxed) != BUSY {
            self.instead = instead_of(written);
        }
    }
}

impl AsyncRead for Watched {
    fn poll_read(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buf: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        let before = buf.filled().len();
        if let Poll::Ready(read) = Pin::new(&mut self.stream).poll_read(cx, buf) {
            let bytes = &buf.filled()[before..];
            if !bytes.is_empty() {
                if self.conn.phase.load(Ordering::Relaxed) == RESTING {
                    self.conn.enter(HEAD);
                }
                self.conn.sniff.lock().unwrap_or_else(PoisonError::into_inner).feed(bytes);
            }
            return Poll::Ready(read);
        }
        self.check_reading(cx)?;
        Poll::Pending
    }
}

impl AsyncWrite for Watched {
    fn poll_write(mut self: Pin<&mut Self>, cx: &mut Context<'_>, buf: &[u8]) -> Poll<io::Result<usize>> {
        self.begins_instead(buf);
        if let Some(wrote) = self.write_instead(cx) {
            return wrote;
        }
        let wrote = Pin::new(&mut self.stream).poll_write(cx, buf);
        self.written(cx, wrote)
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        bufs: &[io::IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        if let [only] = bufs {
            self.begins_instead(only);
        }
        if let Some(wrote) = self.write_instead(cx) {
            return wrote;
        }
        let wrote = Pin::new(&mut self.stream).poll_write_vectored(cx, bufs);
        self.written(cx, wrote)
    }

    fn is_write_vectored(&self) -> bool {
        self.stream.is_write_vectored()
    }

    fn poll_flush(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_flush(cx)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_shutdown(cx)
    }
}
