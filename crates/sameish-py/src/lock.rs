//! A readers-writer lock whose waits can be interrupted by Ctrl-C.
//!
//! The lock is only taken while the GIL is released, so the two cannot deadlock.

use crate::interrupt::{POLL_INTERVAL, Progress, Task, run_scoped};
use parking_lot::{Mutex, RwLock, RwLockReadGuard, RwLockWriteGuard};
use pyo3::prelude::*;

/// Number of fingerprints between two checks for cancellation.
const BLOCK: usize = 1 << 15;

/// A value that many readers or one writer can use, in the order of arrival.
///
/// A wait is a series of short attempts with a signal check in between. Between two attempts of a writer, new readers
/// could take the lock again and again. Therefore every thread holds `queue` while it waits: later arrivals wait for
/// `queue` first.
pub(crate) struct InterruptibleLock<T> {
    queue: Mutex<()>,
    value: RwLock<T>,
}

impl<T: Send + Sync> InterruptibleLock<T> {
    pub(crate) fn new(value: T) -> InterruptibleLock<T> {
        InterruptibleLock { queue: Mutex::new(()), value: RwLock::new(value) }
    }

    /// Releases the GIL and calls `f` with shared access. Returns the exception if a signal handler raises while waiting.
    pub(crate) fn read<R: Send>(&self, py: Python<'_>, f: impl FnOnce(&T) -> R + Send) -> PyResult<R> {
        py.detach(|| Ok(f(&*self.wait_to_read(check_signals)?)))
    }

    /// Releases the GIL and calls `f` with exclusive access. Returns the exception if a signal handler raises while waiting.
    pub(crate) fn write<R: Send>(&self, py: Python<'_>, f: impl FnOnce(&mut T) -> R + Send) -> PyResult<R> {
        py.detach(|| Ok(f(&mut *self.wait_to_write(check_signals)?)))
    }

    /// Returns shared access for a worker thread without the GIL, or `None` if the task is canceled while waiting.
    pub(crate) fn read_guard(&self, task: &Task) -> Option<RwLockReadGuard<'_, T>> {
        self.wait_to_read(|| task.check()).ok()
    }

    /// Returns exclusive access for a worker thread without the GIL, or `None` if the task is canceled while waiting.
    pub(crate) fn write_guard(&self, task: &Task) -> Option<RwLockWriteGuard<'_, T>> {
        self.wait_to_write(|| task.check()).ok()
    }

    /// Passes fingerprints to `f` in blocks, with shared access. If the call is canceled, `f` has seen some of the blocks.
    pub(crate) fn read_blocks<I: Sync>(
        &self,
        py: Python<'_>,
        items: &[I],
        progress: Progress<'_, '_>,
        mut f: impl FnMut(&T, &[I]) + Send,
    ) -> PyResult<()> {
        run_scoped(py, progress, |task| {
            let Some(value) = self.read_guard(task) else { return };
            for block in items.chunks(BLOCK).take_while(|_| task.is_running()) {
                f(&value, block);
                task.add_done(block.len());
            }
        })
    }

    /// Passes fingerprints to `f` in blocks, with exclusive access. Returns the sum of its results.
    pub(crate) fn write_blocks<I: Sync>(
        &self,
        py: Python<'_>,
        items: &[I],
        progress: Progress<'_, '_>,
        mut f: impl FnMut(&mut T, &[I]) -> usize + Send,
    ) -> PyResult<usize> {
        run_scoped(py, progress, |task| {
            let Some(mut value) = self.write_guard(task) else { return 0 };
            let blocks = items.chunks(BLOCK).take_while(|_| task.is_running());
            let changed = blocks.map(|block| {
                let changed = f(&mut value, block);
                task.add_done(block.len());
                changed
            });
            changed.sum()
        })
    }

    fn wait_to_read<E>(&self, check: impl Fn() -> Result<(), E>) -> Result<RwLockReadGuard<'_, T>, E> {
        let _turn = retry(|| self.queue.try_lock_for(POLL_INTERVAL), &check)?;
        retry(|| self.value.try_read_for(POLL_INTERVAL), &check)
    }

    fn wait_to_write<E>(&self, check: impl Fn() -> Result<(), E>) -> Result<RwLockWriteGuard<'_, T>, E> {
        let _turn = retry(|| self.queue.try_lock_for(POLL_INTERVAL), &check)?;
        retry(|| self.value.try_write_for(POLL_INTERVAL), &check)
    }
}

fn check_signals() -> PyResult<()> {
    Python::attach(|py| py.check_signals())
}

/// Repeats an attempt until it succeeds or `check` returns an error.
fn retry<G, E>(attempt: impl Fn() -> Option<G>, check: impl Fn() -> Result<(), E>) -> Result<G, E> {
    loop {
        match attempt() {
            Some(guard) => return Ok(guard),
            None => check()?,
        }
    }
}
