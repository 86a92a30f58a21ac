//! Parallel processing of many texts.

use crate::error::setting_error;
use crate::interrupt::{INLINE_BYTES, Progress, Task, run_scoped};
use crate::texts::{InvalidUtf8, RawText, utf8};
use pyo3::prelude::*;
use sameish::Scratch;
use std::borrow::Cow;
use std::num::NonZeroUsize;
use std::sync::{Mutex, PoisonError};
use std::thread;

/// Number of texts that a worker thread takes at a time.
const BLOCK: usize = 32;
/// Maximum value of the parameter `threads`.
const MAX_THREADS: usize = 1024;

/// How texts are processed in parallel.
pub(crate) struct Parallel<'a, 'py> {
    /// Whether invalid UTF-8 is replaced by U+FFFD instead of being an error.
    pub(crate) lossy: bool,
    /// Number of threads, or `None` for all cores.
    pub(crate) threads: Option<i64>,
    pub(crate) progress: Progress<'a, 'py>,
}

impl Parallel<'_, '_> {
    /// Returns one row of `columns` items per text, in order. `write` fills a row; it receives `None` for a null.
    ///
    /// If texts are not valid UTF-8, the error names the first of them, for any number of threads.
    pub(crate) fn map_rows<T: Clone + Default + Send>(
        &self,
        py: Python<'_>,
        texts: &[RawText<'_>],
        columns: usize,
        write: impl Fn(Option<&str>, &mut [T], &mut Scratch) + Sync,
    ) -> PyResult<Vec<T>> {
        let threads = thread_count(self.threads)?;
        let lossy = self.lossy;
        let (rows, invalid) = run_scoped(py, self.progress.inline_if(is_small(texts)), |task| {
            // Allocating zeros writes no memory, so even gigabytes do not delay the first check for cancellation.
            let mut rows = vec![T::default(); texts.len() * columns];
            let invalid = FirstInvalid::default();
            let blocks = texts.chunks(BLOCK).zip(rows.chunks_mut(BLOCK * columns)).enumerate();
            for_each_block(threads, blocks, task, |(i, (texts, rows)), scratch| {
                let rows = texts.iter().zip(rows.chunks_mut(columns)).enumerate();
                for (at, (text, row)) in rows.take_while(|_| task.is_running()) {
                    match text.map(|bytes| decode(bytes, lossy)).transpose() {
                        Ok(text) => write(text.as_deref(), row, scratch),
                        Err(error) => invalid.record(i * BLOCK + at, error),
                    }
                }
                task.add_done(texts.len());
            });
            (rows, invalid)
        })?;
        invalid.check().map(|()| rows)
    }
}

/// Returns the number of threads to use: as many as there are processors if `requested` is `None`.
pub(crate) fn thread_count(requested: Option<i64>) -> PyResult<usize> {
    match requested {
        None => Ok(thread::available_parallelism().map_or(1, NonZeroUsize::get)),
        Some(n) if (1..=MAX_THREADS as i64).contains(&n) => Ok(n as usize),
        Some(n) => Err(setting_error(format!("`threads` is {n}: must be 1 to {MAX_THREADS}"))),
    }
}

/// Calls `work` for all blocks on several threads, each with its own scratch space, until the task is canceled.
fn for_each_block<B: Send>(
    threads: usize,
    blocks: impl ExactSizeIterator<Item = B> + Send,
    task: &Task,
    work: impl Fn(B, &mut Scratch) + Sync,
) {
    let threads = threads.min(blocks.len());
    let blocks = Mutex::new(blocks);
    let worker = || {
        let mut scratch = Scratch::default();
        while task.is_running() {
            let block = blocks.lock().unwrap_or_else(PoisonError::into_inner).next();
            let Some(block) = block else { break };
            work(block, &mut scratch);
        }
    };
    thread::scope(|scope| {
        (1..threads).for_each(|_| _ = scope.spawn(worker));
        worker();
    });
}

/// Returns `true` if processing the texts takes less time than starting a thread.
pub(crate) fn is_small(texts: &[RawText<'_>]) -> bool {
    texts.len() <= BLOCK && texts.iter().flatten().map(|bytes| bytes.len()).sum::<usize>() <= INLINE_BYTES
}

pub(crate) fn decode(bytes: &[u8], lossy: bool) -> Result<Cow<'_, str>, InvalidUtf8> {
    match utf8(bytes) {
        Err(_) if lossy => Ok(String::from_utf8_lossy(bytes)),
        text => text.map(Cow::Borrowed),
    }
}

/// The first text, by position, that is not valid UTF-8.
#[derive(Default)]
pub(crate) struct FirstInvalid(Mutex<Option<(usize, InvalidUtf8)>>);

impl FirstInvalid {
    pub(crate) fn record(&self, position: usize, error: InvalidUtf8) {
        let mut slot = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if slot.as_ref().is_none_or(|(first, _)| position < *first) {
            *slot = Some((position, error));
        }
    }

    pub(crate) fn check(self) -> PyResult<()> {
        self.check_after(0)
    }

    /// Like [`check`](Self::check), if the first `against` texts are those of `against`.
    pub(crate) fn check_after(self, against: usize) -> PyResult<()> {
        let slot = self.0.into_inner().unwrap_or_else(PoisonError::into_inner);
        let Some((position, error)) = slot else { return Ok(()) };
        let place = match position.checked_sub(against) {
            Some(position) => format!("texts: item at position {position}"),
            None => format!("`against`: item at position {position}"),
        };
        Err(error.to_py_err(&place))
    }
}
