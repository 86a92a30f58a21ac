//! Connections with timeouts.
//!
//! A connection is idle, receiving a head, or busy with a request. Idle time and the time of a head are limited, and so is the time
//! that the service waits for a client to read its response: without progress, in total, and by a minimum rate. A client that
//! reads a byte per second would otherwise hold the memory of its response for hours. The last two do not apply to a
//! [response without an end](ResponseKind::Endless). Bodies have their own limits where they are read.

use super::smuggling::{HeadFilter, HeadLimits};
use crate::problem::Problem;
use crate::settings::Limits;
use crate::transfer::Transfer;
use std::io;
use std::net::SocketAddr;
use std::pin::Pin;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::{Context, Poll, ready};
use std::time::Duration;
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::net::TcpStream;
use tokio::sync::Notify;
use tokio::time::{Instant, Sleep};

/// What a connection is doing.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Phase {
    Idle,
    Head,
    Busy,
}

/// Which limits apply to a response. A handler that does not insert one into the extensions of its response sends a
/// [complete](Self::Complete) one.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum ResponseKind {
    /// Starts after the request was read.
    #[default]
    Complete,
    /// Starts before the request has been read; its handler reads the rest.
    Streamed,
    /// Lasts until the client or the service ends it. The client must read what there is, but the response as a whole has no
    /// maximum time and no minimum rate.
    Endless,
}

impl ResponseKind {
    fn has_end(self) -> bool {
        self != ResponseKind::Endless
    }
}

/// The state of a connection that the accept loop, the stream and the request share.
#[derive(Debug)]
pub(crate) struct Connection {
    pub(crate) peer: SocketAddr,
    state: Mutex<State>,
    /// Number of requests so far.
    requests: AtomicU64,
    /// Whether the response in progress has an end.
    has_end: AtomicBool,
    /// Notified when the connection has to close because the limit on connections is reached.
    pub(crate) evict: Notify,
}

#[derive(Clone, Copy, Debug)]
struct State {
    phase: Phase,
    since: Instant,
}

impl Connection {
    pub(crate) fn new(peer: SocketAddr) -> Arc<Connection> {
        let state = State { phase: Phase::Head, since: Instant::now() };
        Arc::new(Connection {
            peer,
            state: Mutex::new(state),
            requests: AtomicU64::new(0),
            has_end: AtomicBool::new(true),
            evict: Notify::new(),
        })
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn enter(&self, phase: Phase) {
        *self.state() = State { phase, since: Instant::now() };
    }

    /// Records that a request has started.
    pub(crate) fn start_request(&self) {
        self.requests.fetch_add(1, Ordering::Relaxed);
        self.start_response(ResponseKind::default());
        self.enter(Phase::Busy);
    }

    /// Records what kind of response the current request gets.
    pub(crate) fn start_response(&self, kind: ResponseKind) {
        self.has_end.store(kind.has_end(), Ordering::Relaxed);
    }

    /// Records that the response is complete.
    pub(crate) fn end_request(&self) {
        self.enter(Phase::Idle);
    }

    /// Returns when the connection stopped processing a request, or `None` if it is processing one.
    pub(crate) fn idle_since(&self) -> Option<Instant> {
        let state = *self.state();
        (state.phase != Phase::Busy).then_some(state.since)
    }
}

/// A stream with timeouts, which passes on only valid request heads.
pub(crate) struct TimedStream {
    stream: TcpStream,
    connection: Arc<Connection>,
    heads: HeadFilter,
    /// Whether the reader has received everything before a rejected head.
    reached_rejection: bool,
    head_timeout: Duration,
    idle_timeout: Duration,
    write_timeout: Duration,
    response_timeout: Duration,
    response_rate: u64,
    read_timer: Pin<Box<Sleep>>,
    /// The number of the request whose response is being written.
    request: u64,
    /// The transfer of this response.
    response: Transfer,
    /// Set while a write is blocked.
    blocked: Option<BlockedWrite>,
}

/// A write that waits for the client.
struct BlockedWrite {
    since: Instant,
    timer: Pin<Box<Sleep>>,
}

impl TimedStream {
    pub(crate) fn new(stream: TcpStream, connection: Arc<Connection>, limits: &Limits) -> TimedStream {
        let head_timeout = Duration::from_secs(limits.header_seconds);
        TimedStream {
            stream,
            connection,
            heads: HeadFilter::new(HeadLimits::new(limits)),
            reached_rejection: false,
            head_timeout,
            idle_timeout: Duration::from_secs(limits.idle_seconds),
            write_timeout: Duration::from_secs(limits.write_seconds),
            response_timeout: Duration::from_secs(limits.response_seconds),
            response_rate: limits.response_rate,
            read_timer: Box::pin(tokio::time::sleep(head_timeout)),
            request: 0,
            response: Transfer::new(limits.response_rate),
            blocked: None,
        }
    }

    /// Returns the stream, and the problem of a rejected head that ended it.
    pub(crate) fn into_parts(self) -> (TcpStream, Option<Problem>) {
        let rejection = self.heads.into_rejection().filter(|_| self.reached_rejection);
        (self.stream, rejection)
    }

    /// Returns an error if the connection is idle or receives a head for too long.
    fn check_read_timeout(&mut self, cx: &mut Context<'_>) -> io::Result<()> {
        if self.blocked.is_some() {
            // The client is still reading its response.
            return Ok(());
        }
        let State { phase, since } = *self.connection.state();
        let timeout = match phase {
            Phase::Busy => return Ok(()),
            Phase::Head => self.head_timeout,
            Phase::Idle => self.idle_timeout,
        };
        let deadline = since + timeout;
        if self.read_timer.deadline() != deadline {
            self.read_timer.as_mut().reset(deadline);
        }
        match self.read_timer.as_mut().poll(cx) {
            Poll::Ready(()) => {
                Err(io::Error::new(io::ErrorKind::TimedOut, "the client sent nothing for too long"))
            }
            Poll::Pending => Ok(()),
        }
    }

    /// Starts, stops or checks the write timeout after an attempt to write.
    fn check_write_timeout(
        &mut self,
        cx: &mut Context<'_>,
        written: Poll<io::Result<usize>>,
    ) -> Poll<io::Result<usize>> {
        self.note_response();
        if let Poll::Ready(result) = written {
            self.end_wait();
            self.response.bytes += *result.as_ref().unwrap_or(&0) as u64;
            return Poll::Ready(result);
        }
        let timeout = self.max_wait();
        let blocked = self.blocked.get_or_insert_with(|| BlockedWrite {
            since: Instant::now(),
            timer: Box::pin(tokio::time::sleep(timeout)),
        });
        ready!(blocked.timer.as_mut().poll(cx));
        Poll::Ready(Err(io::Error::new(io::ErrorKind::TimedOut, "the client read its response too slowly")))
    }

    /// Starts a new transfer if another response is being written.
    fn note_response(&mut self) {
        let request = self.connection.requests.load(Ordering::Relaxed);
        if self.request != request {
            self.request = request;
            self.response = Transfer::new(self.response_rate);
        }
    }

    fn end_wait(&mut self) {
        let Some(blocked) = self.blocked.take() else { return };
        self.response.waited += blocked.since.elapsed();
        if self.connection.state().phase == Phase::Idle {
            // The idle time starts now, because the client was reading until now.
            self.connection.enter(Phase::Idle);
        }
    }

    /// Returns how long the client may read nothing.
    fn max_wait(&self) -> Duration {
        if !self.connection.has_end.load(Ordering::Relaxed) {
            return self.write_timeout;
        }
        let in_total = self.response_timeout.saturating_sub(self.response.waited);
        self.write_timeout.min(in_total).min(self.response.remaining())
    }
}

impl AsyncRead for TimedStream {
    fn poll_read(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        loop {
            if self.heads.release(buffer) {
                return Poll::Ready(Ok(()));
            }
            if self.heads.is_closed() {
                self.reached_rejection = true;
                return Poll::Ready(Ok(()));
            }
            let before = buffer.filled().len();
            let Poll::Ready(result) = Pin::new(&mut self.stream).poll_read(cx, buffer) else {
                self.check_read_timeout(cx)?;
                return Poll::Pending;
            };
            let bytes = &buffer.filled()[before..];
            if result.is_err() || bytes.is_empty() {
                return Poll::Ready(result);
            }
            if self.connection.state().phase == Phase::Idle {
                self.connection.enter(Phase::Head);
            }
            let passed = self.heads.feed(bytes);
            buffer.set_filled(before + passed);
            if passed > 0 {
                return Poll::Ready(Ok(()));
            }
        }
    }
}

impl AsyncWrite for TimedStream {
    fn poll_write(mut self: Pin<&mut Self>, cx: &mut Context<'_>, buf: &[u8]) -> Poll<io::Result<usize>> {
        let written = Pin::new(&mut self.stream).poll_write(cx, buf);
        self.check_write_timeout(cx, written)
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        bufs: &[io::IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        let written = Pin::new(&mut self.stream).poll_write_vectored(cx, bufs);
        self.check_write_timeout(cx, written)
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

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    #[tokio::test]
    async fn only_responses_with_an_end_have_a_maximum_time_and_a_minimum_rate() {
        let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
        let stream = TcpStream::connect(listener.local_addr().unwrap()).await.unwrap();
        let connection = Connection::new(listener.local_addr().unwrap());
        let limits = Limits { write_seconds: 30, response_seconds: 300, ..Limits::default() };
        let mut stream = TimedStream::new(stream, Arc::clone(&connection), &limits);
        for (kind, seconds) in [
            (ResponseKind::Complete, 10),
            (ResponseKind::Endless, 30),
            (ResponseKind::Streamed, 10),
            (ResponseKind::Endless, 30),
        ] {
            connection.start_request();
            connection.start_response(kind);
            stream.note_response();
            stream.response.waited = Duration::from_secs(290);
            stream.response.bytes = 1 << 30;
            assert_eq!(stream.max_wait(), Duration::from_secs(seconds), "{kind:?}");
            stream.response.waited = Duration::from_secs(300);
            let is_over = stream.max_wait() == Duration::ZERO;
            assert_eq!(is_over, kind != ResponseKind::Endless, "{kind:?}");
        }
        // A handler that says nothing sends a response with an end.
        connection.start_request();
        stream.note_response();
        stream.response.waited = Duration::from_secs(300);
        assert_eq!(stream.max_wait(), Duration::ZERO);
    }
}
