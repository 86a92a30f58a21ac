//! How is long work done without holding up the interpreter?
//!
//! Work runs on threads of its own with the interpreter lock released. The thread that was called waits, and every
//! [`GLANCE`] looks whether a signal came (Ctrl-C raises its exception there) and tells the progress callback. No pool
//! outlives a call, and what works on after a signal holds no lock, so a process may fork at any time in between.

use crate::error::setting;
use pyo3::prelude::*;
use sameish::Scratch;
use std::num::NonZeroUsize;
use std::panic::resume_unwind;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;
use std::time::Duration;

/// How often the waiting thread looks up.
pub(crate) const GLANCE: Duration = Duration::from_millis(50);
/// Items after which a long loop over Python objects looks for signals.
const GLANCE_ITEMS: usize = 1 << 16;
/// Fingerprints between two looks whether the answer is still wanted.
pub(crate) const BLOCK: usize = 1 << 15;
/// Fingerprints that are dealt with sooner than a thread starts.
const FEW: usize = 1 << 10;
/// The same in bytes of text.
pub(crate) const SHORT: usize = 1 << 14;
/// Most threads that may be asked for.
const MAX_THREADS: usize = 1024;

/// What worker and waiter tell each other.
#[derive(Default)]
pub(crate) struct Watch {
    stopped: AtomicBool,
    done: AtomicUsize,
    /// Whether nobody else waits, so that the worker looks for signals itself.
    alone: bool,
    signal: Mutex<Option<PyErr>>,
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

    /// To be called while waiting for a lock; an error where the answer is not wanted any more.
    pub(crate) fn look(&self) -> Result<(), ()> {
        if self.alone
            && let Err(signal) = Python::attach(|py| py.check_signals())
        {
            *self.signal.lock().unwrap_or_else(PoisonError::into_inner) = Some(signal);
            self.stop();
        }
        if self.goes_on() { Ok(()) } else { Err(()) }
    }

    /// Does the work on the spot.
    fn on_the_spot<T>(work: impl FnOnce(&Watch) -> T) -> PyResult<T> {
        let watch = Watch { alone: true, ..Watch::default() };
        let result = work(&watch);
        let signal = watch.signal.into_inner().unwrap_or_else(PoisonError::into_inner);
        signal.map_or(Ok(result), Err)
    }

    fn stop(&self) {
        self.stopped.store(true, Ordering::Relaxed);
    }
}

/// A callback that is told how many of how many documents are done.
#[derive(Clone, Copy)]
pub(crate) struct Progress<'a, 'py> {
    callback: Option<&'a Bound<'py, PyAny>>,
    total: usize,
    /// How often each document is counted in parts of the work before this one, and in all.
    rounds: (usize, usize),
    /// Whether this is the last part.
    last: bool,
    /// Whether the work is done sooner than a thread starts.
    small: bool,
}

impl<'a, 'py> Progress<'a, 'py> {
    pub(crate) fn new(callback: Option<&'a Bound<'py, PyAny>>, total: usize) -> Progress<'a, 'py> {
        Progress { callback, total, rounds: (0, 1), last: true, small: false }
    }

    /// Of so many fingerprints.
    pub(crate) fn of_prints(callback: Option<&'a Bound<'py, PyAny>>, prints: usize) -> Progress<'a, 'py> {
        Progress::new(callback, prints).small_if(prints <= FEW)
    }

    /// For work that nobody asks about.
    pub(crate) fn silent() -> Progress<'a, 'py> {
        Progress::new(None, 1)
    }

    /// The first part of work that counts each document so often, once in this part.
    pub(crate) fn first_of(self, rounds: usize) -> Progress<'a, 'py> {
        Progress { rounds: (0, rounds), last: false, ..self }
    }

    /// The rest of it.
    pub(crate) fn rest_of(self, rounds: usize) -> Progress<'a, 'py> {
        Progress { rounds: (1, rounds), last: true, ..self }
    }

    pub(crate) fn small_if(self, small: bool) -> Progress<'a, 'py> {
        Progress { small, ..self }
    }

    fn told(&self) -> Told {
        let callback = self.callback.map(|callback| callback.clone().unbind());
        Told { callback, total: self.total, rounds: self.rounds }
    }

    fn finish(&self) -> PyResult<()> {
        let callback = self.callback.filter(|_| self.last);
        callback.map_or(Ok(()), |callback| callback.call1((self.total, self.total)).map(|_| ()))
    }
}

/// The same for a thread that does not have the interpreter lock.
struct Told {
    callback: Option<Py<PyAny>>,
    total: usize,
    rounds: (usize, usize),
}

impl Told {
    fn tell(&self, py: Python<'_>, done: usize) -> PyResult<()> {
        let (before, all) = self.rounds;
        let done = ((before * self.total + done) / all).min(self.total);
        self.callback.as_ref().map_or(Ok(()), |callback| callback.call1(py, (done, self.total)).map(|_| ()))
    }
}

/// Does work that borrows from the caller, and waits for its end even when it is not wanted any more.
pub(crate) fn attended<T: Send>(
    py: Python<'_>,
    progress: Progress<'_, '_>,
    work: impl FnOnce(&Watch) -> T + Send,
) -> PyResult<T> {
    let told = progress.told();
    let result = py.detach(|| {
        if progress.small {
            return Watch::on_the_spot(work);
        }
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

/// Does work that has all it needs, and no lock. When it is not wanted any more nobody waits: it ends soon, or when it is
/// done.
pub(crate) fn apart<T: Send + 'static>(
    py: Python<'_>,
    progress: Progress<'_, '_>,
    work: impl FnOnce(&Watch) -> T + Send + 'static,
) -> PyResult<T> {
    let told = progress.told();
    let result = py.detach(|| {
        if progress.small {
            return Watch::on_the_spot(work);
        }
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
fn wait(over: &Receiver<()>, watch: &Watch, told: &Told) -> PyResult<()> {
    while let Err(RecvTimeoutError::Timeout) = over.recv_timeout(GLANCE) {
        let glance = Python::attach(|py| {
            py.check_signals()?;
            told.tell(py, watch.done.load(Ordering::Relaxed))
        });
        if let Err(error) = glance {
            watch.stop();
            return Err(error);
        }
    }
    Ok(())
}

/// Looks for signals now and then in a loop over Python objects that has come to item `i`.
pub(crate) fn glance(py: Python<'_>, i: usize) -> PyResult<()> {
    if i % GLANCE_ITEMS == GLANCE_ITEMS - 1 { py.check_signals() } else { Ok(()) }
}

/// How many threads are meant: as many as there are processors, if nothing is said.
pub(crate) fn threads(asked: Option<i64>) -> PyResult<usize> {
    match asked {
        None => Ok(thread::available_parallelism().map_or(1, NonZeroUsize::get)),
        Some(n) if (1..=MAX_THREADS as i64).contains(&n) => Ok(n as usize),
        Some(n) => Err(setting(format!("`threads` is {n}: must be 1 to {MAX_THREADS}"))),
    }
}

/// Works on all blocks with so many threads, each with buffers of its own, as long as the answer is wanted.
pub(crate) fn spread<B: Send>(
    threads: usize,
    blocks: impl ExactSizeIterator<Item = B> + Send,
    watch: &Watch,
    work: impl Fn(B, &mut Scratch) + Sync,
) {
    let threads = threads.min(blocks.len());
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
