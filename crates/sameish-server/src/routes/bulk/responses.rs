//! Response lines on their way to the client, with back-pressure.
//!
//! The memory of response lines is reserved before their documents are stored. The bytes that a client has not read yet are
//! limited by a window; a request that fills its window waits until the client reads.

use crate::memory::BufferedBytes;
use crate::problem::{Kind, Problem};
use crate::response::counted;
use crate::state::App;
use axum::body::HttpBody;
use bytes::Bytes;
use hyper::body::Frame;
use std::convert::Infallible;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::Duration;
use tokio::sync::{OwnedSemaphorePermit, Semaphore, mpsc};
use tokio::time::Instant;

/// The sending end of the response lines of one request.
pub(super) struct ResponseLines {
    app: App,
    sender: mpsc::UnboundedSender<Bytes>,
    /// Has one permit per byte that may still be sent or reserved.
    window: Arc<Semaphore>,
    max_reserved: usize,
    /// When the client must have read everything.
    deadline: Instant,
    key: BufferedBytes,
}

/// Memory and a part of the window for the response lines of one batch. Released on drop.
pub(super) struct Reserved {
    pub(super) memory: BufferedBytes,
    window: OwnedSemaphorePermit,
}

/// Why a request ends before its last line.
pub(super) enum Stop {
    /// The client has disconnected.
    Disconnected,
    /// The rest of the request is rejected.
    Rejected(Problem),
}

impl From<Problem> for Stop {
    fn from(problem: Problem) -> Stop {
        Stop::Rejected(problem)
    }
}

/// Creates the response lines of a request and the body that the client receives.
pub(super) fn response_lines(app: &App) -> (ResponseLines, LinesBody) {
    let (sender, received) = mpsc::unbounded_channel();
    // Half a window per batch: one batch can be reserved while the lines of another are being stored.
    let window = app.limits().response_limit().min(u32::MAX as usize);
    let lines = ResponseLines {
        app: app.clone(),
        sender,
        window: Arc::new(Semaphore::new(window)),
        max_reserved: window / 2,
        deadline: Instant::now() + Duration::from_secs(app.limits().bulk_seconds),
        key: BufferedBytes::new(app),
    };
    (lines, LinesBody(received))
}

impl ResponseLines {
    /// Returns how many lines of this size can be reserved at once, at least 1.
    pub(super) fn max_lines(&self, line_bytes: usize) -> usize {
        (self.max_reserved / line_bytes).max(1)
    }

    /// Reserves memory for response lines. Returns `None` if the client must read before.
    pub(super) fn try_reserve(&self, bytes: usize) -> Result<Option<Reserved>, Problem> {
        let permits = bytes.min(self.max_reserved) as u32;
        let Ok(window) = Arc::clone(&self.window).try_acquire_many_owned(permits) else { return Ok(None) };
        self.with_memory(bytes, window).map(Some)
    }

    /// Reserves memory for response lines. Waits until the client has read earlier ones.
    pub(super) async fn reserve(&self, bytes: usize) -> Result<Reserved, Stop> {
        let permits = bytes.min(self.max_reserved) as u32;
        let window = tokio::select! {
            window = Arc::clone(&self.window).acquire_many_owned(permits) => window.map_err(Problem::internal)?,
            () = self.sender.closed() => return Err(Stop::Disconnected),
            () = self.app.until_draining() => return Err(Problem::draining().into()),
            () = tokio::time::sleep_until(self.deadline) => {
                let detail = "the response was read too slowly; read response lines while you send, and send the rest again";
                return Err(Problem::new(Kind::Timeout, detail).into());
            }
        };
        Ok(self.with_memory(bytes, window)?)
    }

    fn with_memory(&self, bytes: usize, window: OwnedSemaphorePermit) -> Result<Reserved, Problem> {
        let mut memory = self.key.sibling();
        memory.reserve(bytes)?;
        Ok(Reserved { memory, window })
    }

    /// Sends lines for which memory is reserved.
    pub(super) fn send(&self, lines: Vec<u8>, reserved: &mut Reserved) -> Result<(), Stop> {
        let memory = reserved.memory.split(lines.len());
        let permits = lines.len().min(reserved.window.num_permits());
        let window = reserved.window.split(permits);
        self.sender.send(counted(lines, (memory, window))).map_err(|_| Stop::Disconnected)
    }

    /// Sends the last line, which is small and must reach the client.
    pub(super) fn send_last(&self, line: Vec<u8>) {
        // The request is over, whether or not the client is still connected.
        _ = self.sender.send(line.into());
    }
}

/// The response body: lines as the worker sends them.
pub(super) struct LinesBody(mpsc::UnboundedReceiver<Bytes>);

impl HttpBody for LinesBody {
    type Data = Bytes;
    type Error = Infallible;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, Infallible>>> {
        self.0.poll_recv(cx).map(|bytes| bytes.map(|bytes| Ok(Frame::data(bytes))))
    }
}
