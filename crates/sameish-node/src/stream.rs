//! How are more pairs walked than memory holds?
//!
//! A thread finds them and hands them over, some at a time; when nobody takes them, it waits. Meanwhile the engine can be read but
//! not changed: `lib/turns.cjs` sees to that.

use crate::fault::{Fault, Result};
use crate::groups::{Pair, Work};
use crate::job::Job;
use napi::bindgen_prelude::AsyncTask;
use napi_derive::napi;
use sameish::{Effort, Engine};
use std::ops::ControlFlow;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::sync::{Arc, Mutex, OnceLock, PoisonError, RwLock};
use std::thread::JoinHandle;

/// Pairs that are handed over at a time.
const PAIRS: usize = 1000;
/// How often that may have happened before somebody takes them.
const WAITING: usize = 2;

type Part = Result<Vec<Pair>, Fault>;

/// A walk over all pairs of an engine.
#[napi(js_name = "PairStream")]
pub struct PairStream {
    parts: Arc<Mutex<Option<Receiver<Part>>>>,
    effort: Arc<OnceLock<Effort>>,
    thread: Arc<Mutex<Option<JoinHandle<()>>>>,
}

impl PairStream {
    /// Sets out.
    pub(crate) fn start(held: Arc<RwLock<Engine>>) -> Result<PairStream, Fault> {
        let (sender, parts) = sync_channel(WAITING);
        let effort = Arc::new(OnceLock::new());
        let walk = Walk { sender, effort: Arc::clone(&effort) };
        let thread = std::thread::Builder::new().name("sameish-pairs".into()).spawn(move || walk.run(&held));
        let thread = thread.map_err(|error| Fault::internal(&format!("no thread to be had: {error}")))?;
        let parts = Arc::new(Mutex::new(Some(parts)));
        Ok(PairStream { parts, effort, thread: Arc::new(Mutex::new(Some(thread))) })
    }
}

#[napi]
impl PairStream {
    /// The next pairs; none at the end.
    #[napi(catch_unwind)]
    pub fn next(&self) -> AsyncTask<Job<Vec<Pair>>> {
        let parts = Arc::clone(&self.parts);
        Job::start(move || {
            let parts = parts.lock().unwrap_or_else(PoisonError::into_inner);
            parts.as_ref().and_then(|parts| parts.recv().ok()).unwrap_or_else(|| Ok(Vec::new()))
        })
    }

    /// What it took, once the end was reached.
    #[napi(getter, catch_unwind)]
    pub fn work(&self) -> Option<Work> {
        self.effort.get().copied().map(Work::from)
    }

    /// Breaks off, if it is not at its end; the engine is free again when that is settled.
    #[napi(catch_unwind)]
    pub fn close(&self) -> AsyncTask<Job<()>> {
        let (parts, thread) = (Arc::clone(&self.parts), Arc::clone(&self.thread));
        Job::start(move || {
            parts.lock().unwrap_or_else(PoisonError::into_inner).take();
            let thread = thread.lock().unwrap_or_else(PoisonError::into_inner).take();
            thread.map_or(Ok(()), JoinHandle::join).map_err(|panic| Fault::panicked(&*panic))
        })
    }
}

/// The thread's side.
struct Walk {
    sender: SyncSender<Part>,
    effort: Arc<OnceLock<Effort>>,
}

impl Walk {
    fn run(self, held: &RwLock<Engine>) {
        let Walk { sender, effort } = self;
        let walked = catch_unwind(AssertUnwindSafe(|| {
            let engine = held.read().map_err(|_| crate::engine::broken())?;
            let mut part = Vec::new();
            let found = engine.pairs(|pair| {
                part.push(Pair::of(pair));
                if part.len() < PAIRS {
                    return ControlFlow::Continue(());
                }
                match sender.send(Ok(std::mem::take(&mut part))) {
                    Ok(()) => ControlFlow::Continue(()),
                    // Nobody wants more.
                    Err(_) => ControlFlow::Break(()),
                }
            });
            Ok((part, found))
        }));
        match walked.unwrap_or_else(|panic| Err(Fault::panicked(&*panic))) {
            Ok((rest, found)) => {
                _ = effort.set(found);
                _ = sender.send(Ok(rest));
            }
            Err(fault) => _ = sender.send(Err(fault)),
        }
    }
}
