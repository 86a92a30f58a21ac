//! Many hands, one order.
//!
//! One thread reads and cuts, a pool works on the batches, and the caller takes the results in the order of the
//! input. What is under way is bounded in number and in bytes, so memory does not grow with the input.

use crate::exit::{Exit, Failure};
use crate::input::Batches;
use crate::input::batch::Batch;
use crate::input::reject::Broken;
use sameish::Scratch;
use std::cell::RefCell;
use std::ops::ControlFlow;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::sync::{Arc, Condvar, Mutex, PoisonError};
use std::thread;

/// Bytes of input, and of the answers expected to it, under way beyond which reading waits.
const MAX_UNDER_WAY: usize = 128 << 20;
/// Batches under way for each thread.
const BATCHES_PER_THREAD: usize = 4;

/// Something that comes next in order: a batch's result once it is there, or an input that broke.
enum Turn<T> {
    Work { result: Receiver<thread::Result<T>>, bytes: usize },
    Broken(Broken),
}

/// Works on all batches with `threads` threads and hands the results to `take` in order, until it breaks off.
///
/// `bytes_per_record` is about how much a record's answer takes until it is handed over.
///
/// The reading thread is left alone when the caller breaks off: it may be waiting for a terminal.
pub(crate) fn in_order<T: Send + 'static>(
    batches: Batches,
    threads: usize,
    bytes_per_record: usize,
    work: impl Fn(Batch) -> T + Send + Sync + 'static,
    mut take: impl FnMut(Result<T, Broken>) -> anyhow::Result<ControlFlow<()>>,
) -> anyhow::Result<()> {
    let pool = pool(threads)?;
    let room = Arc::new(Room::default());
    let (sender, turns) = sync_channel(threads * BATCHES_PER_THREAD);
    let reader = {
        let (room, work) = (room.clone(), Arc::new(work));
        let read = move || read(batches, &pool, &room, bytes_per_record, &work, &sender);
        thread::Builder::new().spawn(read).map_err(|e| too_many(threads, &e))?
    };
    for turn in turns {
        let result = match turn {
            Turn::Broken(broken) => Err(broken),
            Turn::Work { result, bytes } => {
                let result = result.recv()?.unwrap_or_else(|panic| resume_unwind(panic));
                room.leave(bytes);
                Ok(result)
            }
        };
        if take(result)?.is_break() {
            return Ok(());
        }
    }
    reader.join().unwrap_or_else(|panic| resume_unwind(panic));
    Ok(())
}

/// Threads that work together.
pub(crate) fn pool(threads: usize) -> Result<rayon::ThreadPool, Failure> {
    rayon::ThreadPoolBuilder::new().num_threads(threads).build().map_err(|error| too_many(threads, &error))
}

fn too_many(threads: usize, why: &dyn std::error::Error) -> Failure {
    Failure::new(Exit::Limit, format!("can not start {threads} threads: {why}; pass a smaller `--threads`"))
}

/// Sends batches to the pool, and their places in the order to the caller.
fn read<T: Send + 'static>(
    batches: Batches,
    pool: &rayon::ThreadPool,
    room: &Room,
    bytes_per_record: usize,
    work: &Arc<impl Fn(Batch) -> T + Send + Sync + 'static>,
    turns: &SyncSender<Turn<T>>,
) {
    for batch in batches {
        let turn = match batch {
            Err(broken) => Turn::Broken(broken),
            Ok(batch) => {
                let bytes = batch.bytes.len() + batch.spans.len() * bytes_per_record;
                room.enter(bytes);
                let (done, result) = sync_channel(1);
                let work = work.clone();
                // Nobody waits for the result once the caller broke off.
                pool.spawn(move || drop(done.send(catch_unwind(AssertUnwindSafe(|| work(batch))))));
                Turn::Work { result, bytes }
            }
        };
        if turns.send(turn).is_err() {
            return;
        }
    }
}

thread_local! {
    static SCRATCH: RefCell<Scratch> = RefCell::default();
}

/// Lends the buffers of this thread.
pub(crate) fn with_scratch<T>(work: impl FnOnce(&mut Scratch) -> T) -> T {
    SCRATCH.with_borrow_mut(work)
}

/// Room for bytes under way. A batch that is larger than the room goes alone.
#[derive(Default)]
struct Room {
    taken: Mutex<usize>,
    left: Condvar,
}

impl Room {
    fn enter(&self, bytes: usize) {
        let taken = self.taken.lock().unwrap_or_else(PoisonError::into_inner);
        let full = |taken: &mut usize| *taken > 0 && *taken + bytes > MAX_UNDER_WAY;
        *self.left.wait_while(taken, full).unwrap_or_else(PoisonError::into_inner) += bytes;
    }

    fn leave(&self, bytes: usize) {
        *self.taken.lock().unwrap_or_else(PoisonError::into_inner) -= bytes;
        self.left.notify_one();
    }
}
