//! Parallel work on record batches, with results in input order.
//!
//! One thread reads and splits, a pool works on the batches, and the caller receives the results in the order of the input.
//! The number and size of batches in flight are bounded, so memory does not grow with the input.

use crate::error::{Error, Result};
use crate::input::{InputError, RecordBatch, RecordBatches};
use rayon::prelude::*;
use sameish::Scratch;
use std::cell::RefCell;
use std::ops::ControlFlow;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::sync::{Arc, Condvar, Mutex, OnceLock, PoisonError};
use std::thread;

/// Bytes of input and expected results in flight beyond which reading waits.
const MAX_IN_FLIGHT: usize = 128 << 20;
/// Batches in flight per thread.
const BATCHES_PER_THREAD: usize = 4;

/// Next item in order: the result of a batch, once it is there, or an input that failed.
enum Slot<T> {
    Work { result: Receiver<thread::Result<T>>, bytes: usize },
    Failed(InputError),
}

/// Calls `work` for all batches on `threads` threads, and `take` with the results in order until it returns `Break`.
///
/// `bytes_per_record` is the approximate size of the result for one record.
///
/// If the caller breaks, the reading thread is not joined, because it may be waiting for a terminal.
pub fn in_order<T: Send + 'static, E: From<Error>>(
    batches: RecordBatches,
    threads: usize,
    bytes_per_record: usize,
    work: impl Fn(RecordBatch) -> T + Send + Sync + 'static,
    mut take: impl FnMut(std::result::Result<T, InputError>) -> std::result::Result<ControlFlow<()>, E>,
) -> std::result::Result<(), E> {
    let pool = pool(threads)?;
    let in_flight = Arc::new(InFlight::default());
    let (sender, slots) = sync_channel(threads * BATCHES_PER_THREAD);
    let reader = {
        let in_flight = in_flight.clone();
        let work = Arc::new(work);
        let read = move || read(batches, &pool, &in_flight, bytes_per_record, &work, &sender);
        thread::Builder::new().spawn(read).map_err(|error| threads_error(threads, error))?
    };
    for slot in slots {
        let result = match slot {
            Slot::Failed(error) => Err(error),
            Slot::Work { result, bytes } => {
                let result = result.recv().unwrap_or_else(|_| unreachable!("a worker sends its result"));
                in_flight.remove(bytes);
                Ok(result.unwrap_or_else(|panic| resume_unwind(panic)))
            }
        };
        if take(result)?.is_break() {
            return Ok(());
        }
    }
    reader.join().unwrap_or_else(|panic| resume_unwind(panic));
    Ok(())
}

/// Creates a thread pool.
fn pool(threads: usize) -> Result<rayon::ThreadPool> {
    let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build();
    pool.map_err(|error| threads_error(threads, error))
}

/// Threads that are started when there is enough work for them, so that a run over a few short texts starts none.
pub(crate) struct Workers {
    threads: usize,
    pool: OnceLock<rayon::ThreadPool>,
}

impl Workers {
    pub(crate) fn new(threads: usize) -> Workers {
        Workers { threads, pool: OnceLock::new() }
    }

    /// Returns the results of `work` for the numbers below `count`, in order. A thread takes at least `piece` numbers at once.
    pub(crate) fn map<T: Send>(
        &self,
        count: usize,
        piece: usize,
        work: impl Fn(usize) -> T + Send + Sync,
    ) -> Result<Vec<T>> {
        if self.threads == 1 || count < 2 * piece {
            return Ok((0..count).map(work).collect());
        }
        let pool = match self.pool.get() {
            Some(pool) => pool,
            None => {
                let started = pool(self.threads)?;
                self.pool.get_or_init(|| started)
            }
        };
        Ok(pool.install(|| (0..count).into_par_iter().with_min_len(piece).map(work).collect()))
    }
}

fn threads_error(threads: usize, error: impl std::error::Error + Send + Sync + 'static) -> Error {
    Error::Threads { threads, source: Box::new(error) }
}

/// Sends batches to the pool, and their slots to the caller.
fn read<T: Send + 'static>(
    batches: RecordBatches,
    pool: &rayon::ThreadPool,
    in_flight: &InFlight,
    bytes_per_record: usize,
    work: &Arc<impl Fn(RecordBatch) -> T + Send + Sync + 'static>,
    slots: &SyncSender<Slot<T>>,
) {
    for batch in batches {
        let slot = match batch {
            Err(error) => Slot::Failed(error),
            Ok(batch) => {
                let bytes = batch.bytes.len() + batch.len() * bytes_per_record;
                in_flight.add(bytes);
                let (done, result) = sync_channel(1);
                let work = work.clone();
                // Sending fails if the caller broke off; the result is not needed then.
                pool.spawn(move || drop(done.send(catch_unwind(AssertUnwindSafe(|| work(batch))))));
                Slot::Work { result, bytes }
            }
        };
        if slots.send(slot).is_err() {
            return;
        }
    }
}

thread_local! {
    static SCRATCH: RefCell<Scratch> = RefCell::default();
}

/// Calls `work` with the scratch space of this thread.
pub fn with_scratch<T>(work: impl FnOnce(&mut Scratch) -> T) -> T {
    SCRATCH.with_borrow_mut(work)
}

/// Limit on the bytes in flight. A batch larger than the limit is processed alone.
#[derive(Default)]
struct InFlight {
    bytes: Mutex<usize>,
    removed: Condvar,
}

impl InFlight {
    /// Waits until `bytes` fit, then adds them.
    fn add(&self, bytes: usize) {
        let total = self.bytes.lock().unwrap_or_else(PoisonError::into_inner);
        let full = |total: &mut usize| *total > 0 && *total + bytes > MAX_IN_FLIGHT;
        *self.removed.wait_while(total, full).unwrap_or_else(PoisonError::into_inner) += bytes;
    }

    fn remove(&self, bytes: usize) {
        *self.bytes.lock().unwrap_or_else(PoisonError::into_inner) -= bytes;
        self.removed.notify_one();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn starts_threads_only_for_enough_work() {
        let square = |n: usize| n * n;
        let expected: Vec<usize> = (0..100).map(square).collect();
        let workers = Workers::new(4);
        assert_eq!(workers.map(31, 16, square).unwrap(), expected[..31]);
        assert!(workers.pool.get().is_none(), "two pieces of work are needed");
        assert_eq!(workers.map(100, 16, square).unwrap(), expected);
        assert!(workers.pool.get().is_some());
        let single = Workers::new(1);
        assert_eq!(single.map(100, 16, square).unwrap(), expected);
        assert!(single.pool.get().is_none(), "one thread is the caller");
    }
}
