//! A stream of all pairs of an engine, in bounded memory.
//!
//! A thread computes the pairs and sends them in chunks. If the channel is full, it waits. It holds the read lock of the
//! engine until the end; `lib/queue.cjs` rejects changes meanwhile.

use crate::engine::SharedEngine;
use crate::error::{CodedError, Result};
use crate::job::{Job, lock};
use crate::results::{EffortCounts, Pair};
use napi::bindgen_prelude::AsyncTask;
use napi_derive::napi;
use sameish::Engine;
use sameish::engine::Effort;
use std::ops::ControlFlow;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::sync::{Arc, Mutex, OnceLock};
use std::thread::JoinHandle;

/// Number of pairs per chunk.
const CHUNK_PAIRS: usize = 1000;
/// Number of chunks that can be in the channel.
const CHANNEL_CHUNKS: usize = 2;

type Chunk = Result<Vec<Pair>, CodedError>;

/// A stream of all pairs of an engine.
#[napi(js_name = "PairStream")]
pub struct PairStream {
    chunks: Arc<Mutex<Option<Receiver<Chunk>>>>,
    effort: Arc<OnceLock<Effort>>,
    thread: Arc<Mutex<Option<JoinHandle<()>>>>,
}

impl PairStream {
    /// Starts the thread.
    pub(crate) fn start(engine: Arc<SharedEngine>) -> Result<PairStream, CodedError> {
        let (sender, chunks) = sync_channel(CHANNEL_CHUNKS);
        let effort = Arc::new(OnceLock::new());
        let producer = Producer { sender, effort: Arc::clone(&effort) };
        let builder = std::thread::Builder::new().name("sameish-pairs".into());
        let thread = builder
            .spawn(move || producer.run(&engine))
            .map_err(|error| CodedError::internal(&format!("cannot start a thread: {error}")))?;
        let chunks = Arc::new(Mutex::new(Some(chunks)));
        Ok(PairStream { chunks, effort, thread: Arc::new(Mutex::new(Some(thread))) })
    }
}

#[napi]
impl PairStream {
    /// Returns the next chunk of pairs. It is empty at the end.
    #[napi(catch_unwind)]
    pub fn next(&self) -> AsyncTask<Job<Vec<Pair>>> {
        let chunks = Arc::clone(&self.chunks);
        Job::start(move || {
            let chunks = lock(&chunks);
            chunks.as_ref().and_then(|chunks| chunks.recv().ok()).unwrap_or_else(|| Ok(Vec::new()))
        })
    }

    /// Returns the work done, once all pairs have been computed.
    #[napi(getter, catch_unwind)]
    pub fn effort(&self) -> Option<EffortCounts> {
        self.effort.get().copied().map(EffortCounts::from)
    }

    /// Stops the thread. When the promise is settled, the thread has released the lock of the engine.
    #[napi(catch_unwind)]
    pub fn close(&self) -> AsyncTask<Job<()>> {
        let chunks = Arc::clone(&self.chunks);
        let thread = Arc::clone(&self.thread);
        Job::start(move || {
            // Without a receiver, the next send fails and the thread ends.
            lock(&chunks).take();
            let thread = lock(&thread).take();
            thread.map_or(Ok(()), JoinHandle::join).map_err(|panic| CodedError::from_panic(&*panic))
        })
    }
}

/// The thread's side of a stream.
struct Producer {
    sender: SyncSender<Chunk>,
    effort: Arc<OnceLock<Effort>>,
}

impl Producer {
    fn run(self, engine: &SharedEngine) {
        let sent = catch_unwind(AssertUnwindSafe(|| engine.read(|engine| self.send_full_chunks(engine))));
        // Sending fails only if the stream has been closed.
        _ = self.sender.send(sent.unwrap_or_else(|panic| Err(CodedError::from_panic(&*panic))));
    }

    /// Sends all full chunks, stores the effort, and returns the remaining pairs.
    fn send_full_chunks(&self, engine: &Engine) -> Chunk {
        let mut chunk = Vec::new();
        let effort = engine.pairs(|pair| {
            chunk.push(Pair::from(pair));
            if chunk.len() < CHUNK_PAIRS {
                return ControlFlow::Continue(());
            }
            match self.sender.send(Ok(std::mem::take(&mut chunk))) {
                Ok(()) => ControlFlow::Continue(()),
                Err(_) => ControlFlow::Break(()),
            }
        });
        _ = self.effort.set(effort);
        Ok(chunk)
    }
}
