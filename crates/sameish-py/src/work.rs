//! How is long work done without holding up the interpreter?
//!
//! Work runs on threads of its own with the interpreter lock released. The thread that was called waits, and every
//! [`GLANCE`] looks whether a signal came (Ctrl-C raises its exception there) and tells the progress callback. No pool
//! outlives a call, so a process may fork at any time in between.

use crate::error::setting;
use pyo3::prelude::*;
use sameish::Scratch;
use std::num::NonZeroUsize;
use std::panic::resume_unwind;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::mpsc::{RecvTimeoutError, Sender, channel};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;
use std::time::Duration;

/// How often the waiting thread looks up.
const GLANCE: Duration = Duration::from_millis(50);
/// Most threads that may be asked for.
const MAX_THREADS: usize = 1024;

/// What worker and waiter tell each other.
#[derive(Default)]
pub(crate) struct Watch {
    stopped: AtomicBool,
    done: AtomicUsize,
}

impl Watch {
    /// Whether the answer is still wanted. To be asked every few milliseconds.
    pub(crate) fn goes_on(&self) -> bool {
        !self.stopped.load(Ordering::Relaxed)
    }

    /// Counts pieces of work that are done.
    pub(crate) fn add(&self, pieces: usize) {
        self.done.fetch_add(pieces, Ordering::Relaxed);
    }

    fn stop(&self) {
        self.stopped.store(true, Ordering::Relaxed);
    }
}

/// A callback that is told how many of how many pieces are done.
pub(crate) struct Progress<'a, 'py> {
    pub(crate) callback: Option<&'a Bound<'py, PyAny>>,
    pub(crate) total: usize,
}

impl Progress<'_, '_> {
    fn unbound(&self) -> (Option<Py<PyAny>>, usize) {
        (self.callback.map(|callback| callback.clone().unbind()), self.total)
    }

    fn finish(&self) -> PyResult<()> {
        self.callback.map_or(Ok(()), |callback| callback.call1((self.total, self.total)).map(|_| ()))
    }
}

/// Does work that borrows from the caller, and waits for its end even when it is not wanted any more.
pub(crate) fn attended<T: Send>(
    py: Python<'_>,
    progress: &Progress<'_, '_>,
    work: impl FnOnce(&Watch) -> T + Send,
) -> PyResult<T> {
    let told = progress.unbound();
    let result = py.detach(|| {
        let watch = Watch::default();
        thread::scope(|scope| {
            let (done, over) = channel();
            let worker = scope.spawn(|| {
                let _done: Sender<()> = done;
                work(&watch)
            });
            let waited = wait(&over, &watch, &told);
            let result = worker.join().unwrap_or_else(|panic| resume_unwind(panic));
            waited.map(|()| result)
        })
    })?;
    progress.finish()?;
    Ok(result)
}

/// Does work that has all it needs. When it is not wanted any more nobody waits: it ends soon, or when it is done.
pub(crate) fn apart<T: Send + 'static>(
    py: Python<'_>,
    progress: &Progress<'_, '_>,
    work: impl FnOnce(&Watch) -> T + Send + 'static,
) -> PyResult<T> {
    let told = progress.unbound();
    let result = py.detach(|| {
        let watch = Arc::new(Watch::default());
        let (done, over) = channel();
        let worker = {
            let watch = watch.clone();
            thread::spawn(move || {
                let _done: Sender<()> = done;
                work(&watch)
            })
        };
        wait(&over, &watch, &told)?;
        Ok::<T, PyErr>(worker.join().unwrap_or_else(|panic| resume_unwind(panic)))
    })?;
    progress.finish()?;
    Ok(result)
}

/// Waits for the end of the work; the worker hangs up when it is done.
fn wait(
    over: &std::sync::mpsc::Receiver<()>,
    watch: &Watch,
    (callback, total): &(Option<Py<PyAny>>, usize),
) -> PyResult<()> {
    while let Err(RecvTimeoutError::Timeout) = over.recv_timeout(GLANCE) {
        let glance = Python::attach(|py| {
            py.check_signals()?;
            let done = watch.done.load(Ordering::Relaxed);
            callback.as_ref().map_or(Ok(()), |callback| callback.call1(py, (done, *total)).map(|_| ()))
        });
        if let Err(error) = glance {
            watch.stop();
            return Err(error);
        }
    }
    Ok(())
}

/// How many threads are meant: as many as there are processors, if nothing is said.
pub(crate) fn threads(asked: Option<usize>) -> PyResult<usize> {
    match asked {
        None => Ok(thread::available_parallelism().map_or(1, NonZeroUsize::get)),
        Some(n) if (1..=MAX_THREADS).contains(&n) => Ok(n),
        Some(n) => Err(setting(format!("`threads` is {n}: must be 1 to {MAX_THREADS}"))),
    }
}

/// Works on all blocks with so many threads, each with buffers of its own, as long as the answer is wanted.
pub(crate) fn spread<B: Send>(
    threads: usize,
    blocks: impl Iterator<Item = B> + Send,
    watch: &Watch,
    work: impl Fn(B, &mut Scratch) + Sync,
) {
    let blocks = Mutex::new(blocks);
    let hand = || {
        let mut scratch = Scratch::default();
        while watch.goes_on() {
            let block = blocks.lock().unwrap_or_else(PoisonError::into_inner).next();
            let Some(block) = block else { break };
            work(block, &mut scratch);
        }
    };
    thread::scope(|scope| {
        (1..threads).for_each(|_| _ = scope.spawn(hand));
        hand();
    });
}
