//! Long calls: released GIL, Ctrl-C, progress callbacks.
//!
//! Work runs on a worker thread with the GIL released. The calling thread wakes up every [`POLL_INTERVAL`], runs pending signal
//! handlers and calls the progress callback. If either raises an exception, the work is canceled. No thread pool
//! outlives a call, and work that continues after its call was canceled holds no lock, so a process may fork between
//! calls.

use pyo3::prelude::*;
use sameish_batch::Cancellation;
use std::panic::resume_unwind;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;
use std::time::Duration;

/// Time between two checks for signals.
pub(crate) const POLL_INTERVAL: Duration = Duration::from_millis(50);
/// Maximum number of fingerprints that take less time than starting a thread.
const INLINE_FINGERPRINTS: usize = 1 << 10;
/// Maximum size of texts, in bytes, that take less time than starting a thread.
pub(crate) const INLINE_BYTES: usize = 1 << 14;
/// Number of items between two signal checks in a loop over Python objects.
const ITEMS_PER_SIGNAL_CHECK: usize = 1 << 16;

/// State of a call that the worker thread and the calling thread share.
#[derive(Default)]
pub(crate) struct Task {
    canceled: Cancellation,
    done: AtomicUsize,
    /// Whether the work runs on the calling thread, so that the work itself must check for signals.
    inline: bool,
    signal: Mutex<Option<PyErr>>,
}

impl Task {
    /// Returns `false` if the work should stop. Worker threads call this every few milliseconds.
    pub(crate) fn is_running(&self) -> bool {
        !self.canceled.is_canceled()
    }

    /// Adds to the number of processed documents that the progress callback reports.
    pub(crate) fn add_done(&self, documents: usize) {
        self.done.fetch_add(documents, Ordering::Relaxed);
    }

    /// Raises the number of processed documents to `done`, unless it is already larger.
    pub(crate) fn raise_done(&self, done: usize) {
        self.done.fetch_max(done, Ordering::Relaxed);
    }

    /// Returns the state that cancels the work, for a batch run.
    pub(crate) fn cancellation(&self) -> Cancellation {
        self.canceled.clone()
    }

    /// Returns an error if the work should stop. Call this while waiting for a lock.
    pub(crate) fn check(&self) -> Result<(), ()> {
        if self.inline
            && let Err(signal) = Python::attach(|py| py.check_signals())
        {
            *self.signal.lock().unwrap_or_else(PoisonError::into_inner) = Some(signal);
            self.cancel();
        }
        if self.is_running() { Ok(()) } else { Err(()) }
    }

    fn cancel(&self) {
        self.canceled.cancel();
    }

    /// Runs work on the calling thread.
    fn run_inline<T>(work: impl FnOnce(&Task) -> T) -> PyResult<T> {
        let task = Task { inline: true, ..Task::default() };
        let result = work(&task);
        let signal = task.signal.into_inner().unwrap_or_else(PoisonError::into_inner);
        signal.map_or(Ok(result), Err)
    }
}

/// How a call runs and reports its progress.
#[derive(Clone, Copy)]
pub(crate) struct Progress<'a, 'py> {
    callback: Option<&'a Bound<'py, PyAny>>,
    /// Total number of documents.
    total: usize,
    /// Number of times that the whole call counts each document.
    passes: usize,
    /// Number of passes before this part of the call.
    passes_before: usize,
    /// Whether this is the last part of the call.
    last: bool,
    /// Whether to run on the calling thread, because the work takes less time than starting a thread.
    inline: bool,
}

impl<'a, 'py> Progress<'a, 'py> {
    /// Creates the progress of work on `total` documents.
    pub(crate) fn new(callback: Option<&'a Bound<'py, PyAny>>, total: usize) -> Progress<'a, 'py> {
        Progress { callback, total, passes: 1, passes_before: 0, last: true, inline: false }
    }

    /// Creates the progress of work on fingerprints, which runs inline if there are few.
    pub(crate) fn of_fingerprints(
        callback: Option<&'a Bound<'py, PyAny>>,
        total: usize,
    ) -> Progress<'a, 'py> {
        Progress::new(callback, total).inline_if(total <= INLINE_FINGERPRINTS)
    }

    /// Creates the progress of work that has no callback.
    pub(crate) fn none() -> Progress<'a, 'py> {
        Progress::new(None, 1)
    }

    /// Returns the progress of the first of several passes over the documents.
    pub(crate) fn first_pass(self, passes: usize) -> Progress<'a, 'py> {
        Progress { passes, last: false, ..self }
    }

    /// Returns the progress of all passes after the first.
    pub(crate) fn other_passes(self, passes: usize) -> Progress<'a, 'py> {
        Progress { passes, passes_before: 1, ..self }
    }

    /// Runs the work on the calling thread if `inline` is set.
    pub(crate) fn inline_if(self, inline: bool) -> Progress<'a, 'py> {
        Progress { inline, ..self }
    }

    fn reporter(&self) -> Reporter {
        Reporter {
            callback: self.callback.map(|callback| callback.clone().unbind()),
            total: self.total,
            passes: self.passes,
            passes_before: self.passes_before,
        }
    }

    fn finish(&self) -> PyResult<()> {
        let callback = self.callback.filter(|_| self.last);
        callback.map_or(Ok(()), |callback| callback.call1((self.total, self.total)).map(|_| ()))
    }
}

/// A progress callback that can be held while the GIL is released.
struct Reporter {
    callback: Option<Py<PyAny>>,
    total: usize,
    passes: usize,
    passes_before: usize,
}

impl Reporter {
    fn report(&self, py: Python<'_>, done: usize) -> PyResult<()> {
        let done = (self.passes_before * self.total + done) / self.passes;
        let done = done.min(self.total);
        self.callback.as_ref().map_or(Ok(()), |callback| callback.call1(py, (done, self.total)).map(|_| ()))
    }
}

/// Runs work that borrows from the caller. If it is canceled, waits until it stops.
pub(crate) fn run_scoped<T: Send>(
    py: Python<'_>,
    progress: Progress<'_, '_>,
    work: impl FnOnce(&Task) -> T + Send,
) -> PyResult<T> {
    let reporter = progress.reporter();
    let result = py.detach(|| {
        if progress.inline {
            return Task::run_inline(work);
        }
        let task = Task::default();
        thread::scope(|scope| {
            let (done, finished) = channel();
            let worker = scope.spawn(|| {
                let _done: Sender<()> = done;
                work(&task)
            });
            let waited = wait(&finished, &task, &reporter);
            let result = worker.join().unwrap_or_else(|panic| resume_unwind(panic));
            waited.map(|()| result)
        })
    })?;
    progress.finish()?;
    Ok(result)
}

/// Runs work that owns its data and holds no lock. If it is canceled, returns at once and leaves the thread to end by
/// itself.
pub(crate) fn run_detached<T: Send + 'static>(
    py: Python<'_>,
    progress: Progress<'_, '_>,
    work: impl FnOnce(&Task) -> T + Send + 'static,
) -> PyResult<T> {
    let reporter = progress.reporter();
    let result = py.detach(|| {
        if progress.inline {
            return Task::run_inline(work);
        }
        let task = Arc::new(Task::default());
        let (done, finished) = channel();
        let worker = {
            let task = Arc::clone(&task);
            thread::spawn(move || {
                let _done: Sender<()> = done;
                work(&task)
            })
        };
        wait(&finished, &task, &reporter)?;
        Ok::<T, PyErr>(worker.join().unwrap_or_else(|panic| resume_unwind(panic)))
    })?;
    progress.finish()?;
    Ok(result)
}

/// Waits until the worker drops its end of the channel. Cancels the task if a signal handler or the progress callback
/// raises an exception.
fn wait(finished: &Receiver<()>, task: &Task, reporter: &Reporter) -> PyResult<()> {
    while let Err(RecvTimeoutError::Timeout) = finished.recv_timeout(POLL_INTERVAL) {
        let polled = Python::attach(|py| {
            py.check_signals()?;
            reporter.report(py, task.done.load(Ordering::Relaxed))
        });
        if let Err(error) = polled {
            task.cancel();
            return Err(error);
        }
    }
    Ok(())
}

/// Checks for signals at regular items of a loop over Python objects. `i` is the number of the item.
pub(crate) fn check_signals_at(py: Python<'_>, i: usize) -> PyResult<()> {
    if i % ITEMS_PER_SIGNAL_CHECK == ITEMS_PER_SIGNAL_CHECK - 1 { py.check_signals() } else { Ok(()) }
}
