//! How are more pairs walked than memory holds?
//!
//! A thread finds them and hands them over, some at a time; when nobody takes them, it waits. As long as a walk is under way the
//! engine can be read but not changed, and who wants to change it is told so at once: waiting for a walk whose next step
//! comes after the wait would have no end.

use crate::fault::{Fault, Result};
use crate::groups::{Pair, Work};
use crate::job::Job;
use napi::bindgen_prelude::AsyncTask;
use napi_derive::napi;
use sameish::{Effort, Engine};
use std::ops::ControlFlow;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::{AtomicUsize, Ordering};
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
    /// Sets out. `walks` counts those that are under way.
    pub(crate) fn start(held: Arc<RwLock<Engine>>, walks: Arc<AtomicUsize>) -> Result<PairStream, Fault> {
        let (sender, parts) = sync_channel(WAITING);
        let effort = Arc::new(OnceLock::new());
        let walk = Walk { sender, effort: Arc::clone(&effort), under_way: UnderWay::new(walks) };
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
    under_way: UnderWay,
}

impl Walk {
    fn run(self, held: &RwLock<Engine>) {
        let Walk { sender, effort, under_way } = self;
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
        drop(under_way);
        match walked.unwrap_or_else(|panic| Err(Fault::panicked(&*panic))) {
            Ok((rest, found)) => {
                _ = effort.set(found);
                _ = sender.send(Ok(rest));
            }
            Err(fault) => _ = sender.send(Err(fault)),
        }
    }
}

/// Counts a walk for as long as it holds the engine.
struct UnderWay(Arc<AtomicUsize>);

impl UnderWay {
    fn new(walks: Arc<AtomicUsize>) -> UnderWay {
        walks.fetch_add(1, Ordering::SeqCst);
        UnderWay(walks)
    }
}

impl Drop for UnderWay {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::SeqCst);
    }
}
