//! When has a client waited, or made us wait, for too long?
//!
//! A connection is resting, sending a head, or busy with a request. Each rest and each head has an end, and so has a
//! client that takes nothing of its answer. Bodies have their own limits where they are read.

use super::sniff::Sniff;
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
        let sniff = std::mem::take(&mut *self.sniff.lock().unwrap_or_else(PoisonError::into_inner));
        sniff.flaw()
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
        }
    }

    /// The stream, for what has to be done after the last answer.
    pub(crate) fn into_stream(self) -> TcpStream {
        self.stream
    }

    /// Fails when the head or the rest has taken too long.
    fn check_reading(&mut self, cx: &mut Context<'_>) -> io::Result<()> {
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
            self.writing = None;
            return wrote;
        }
        let write = self.write;
        let writing = self.writing.get_or_insert_with(|| Box::pin(tokio::time::sleep(write)));
        ready!(writing.as_mut().poll(cx));
        Poll::Ready(Err(io::Error::new(io::ErrorKind::TimedOut, "nothing was taken for too long")))
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
            if !bytes.is_empty() && self.conn.phase.load(Ordering::Relaxed) != BUSY {
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
        let wrote = Pin::new(&mut self.stream).poll_write(cx, buf);
        self.written(cx, wrote)
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        bufs: &[io::IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
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
