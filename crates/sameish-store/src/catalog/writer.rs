//! The writer thread: durable writes with group commit.
//!
//! One thread writes. All requests of one kind that are queued when it is idle become one transaction with one sync, so 16
//! clients that insert one document each wait for one sync, not for 16. Callers compute the sketches before they queue a
//! request, and get the reply after the commit.
//!
//! New documents are added to the index before the commit, so that later documents of the same transaction can match them,
//! and become visible to readers after it. Deleted documents are removed from the index after the commit.

use super::live::LiveCollection;
use super::repair::Deletion;
use super::texts::SearchMemo;
use super::{Shared, live, recluster};
use crate::error::{Error, Result};
use crate::model::{Health, Inserted, Periods};
use crate::rows::{CollectionRow, Counters};
use crate::store::Store;
use sameish::{Config, Document, Prepared};
use std::collections::HashMap;
use std::ops::ControlFlow;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::mpsc::{Receiver, RecvTimeoutError, SyncSender, TrySendError, sync_channel};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

/// A document with its sketches and features.
pub(super) struct PreparedDocument {
    pub(super) document: Document,
    pub(super) prepared: Prepared,
}

/// A request to the writer thread.
pub(super) enum Request {
    Insert(Batch<PreparedDocument, Result<Inserted>>),
    Replace {
        live: Arc<LiveCollection>,
        document: Box<PreparedDocument>,
        reply: ReplySender<Inserted>,
    },
    Delete(Batch<Deletion, bool>),
    /// Any other work, which is not grouped with other requests.
    Run(Box<dyn FnOnce(&mut Writer) + Send>),
    Stop,
}

/// Documents of one collection, with a reply that has one result per document.
pub(super) struct Batch<T, R> {
    pub(super) live: Arc<LiveCollection>,
    pub(super) items: Vec<T>,
    pub(super) reply: ReplySender<Vec<R>>,
}

pub(super) type ReplySender<T> = SyncSender<Result<T>>;
pub(super) type ReplyReceiver<T> = Receiver<Result<T>>;

/// Creates the channel for the reply to one request.
pub(super) fn reply_channel<T>() -> (ReplySender<T>, ReplyReceiver<T>) {
    sync_channel(1)
}

/// Waits for the reply to a request.
pub(super) fn wait_for<T>(reply: &ReplyReceiver<T>) -> Result<T> {
    reply.recv().unwrap_or(Err(Error::Closed))
}

/// Number of documents at which a transaction takes no more requests, and maximum number of documents per request.
pub(super) const GROUP: usize = 512;

/// Maximum time between two attempts to erase deleted texts from the write-ahead log.
const RETRY_ERASE: Duration = Duration::from_secs(2);

/// The sending end of the request queue.
pub(super) struct Queue {
    sender: SyncSender<Request>,
    queued: Arc<AtomicUsize>,
}

/// The receiving end of the request queue.
pub(super) struct QueueReceiver {
    receiver: Receiver<Request>,
    queued: Arc<AtomicUsize>,
}

pub(super) fn queue(capacity: usize) -> (Queue, QueueReceiver) {
    let (sender, receiver) = sync_channel(capacity.max(1));
    let queued = Arc::<AtomicUsize>::default();
    (Queue { sender, queued: Arc::clone(&queued) }, QueueReceiver { receiver, queued })
}

impl Queue {
    /// Queues a request. Returns [`Error::Busy`] if the queue is full.
    pub(super) fn try_send(&self, request: Request) -> Result<()> {
        self.queued.fetch_add(1, Ordering::Relaxed);
        self.sender.try_send(request).map_err(|error| {
            self.queued.fetch_sub(1, Ordering::Relaxed);
            match error {
                TrySendError::Full(_) => Error::Busy,
                TrySendError::Disconnected(_) => Error::Closed,
            }
        })
    }

    /// Queues a request. Waits while the queue is full.
    pub(super) fn send(&self, request: Request) -> Result<()> {
        self.queued.fetch_add(1, Ordering::Relaxed);
        self.sender.send(request).map_err(|_| {
            self.queued.fetch_sub(1, Ordering::Relaxed);
            Error::Closed
        })
    }

    /// Runs a function on the writer thread and returns its result.
    pub(super) fn run<T: Send + 'static>(
        &self,
        job: impl FnOnce(&mut Writer) -> Result<T> + Send + 'static,
    ) -> Result<T> {
        let (sender, reply) = reply_channel();
        self.send(Request::Run(Box::new(move |writer| send_reply(&sender, job(writer)))))?;
        wait_for(&reply)
    }

    pub(super) fn stop(&self) {
        // This fails only if the writer has already ended.
        _ = self.send(Request::Stop);
    }

    pub(super) fn len(&self) -> usize {
        self.queued.load(Ordering::Relaxed)
    }
}

impl QueueReceiver {
    /// Waits for a request and adds the queued ones that can share its transaction. A request that cannot is left in `next`.
    /// Returns no requests if there is none until the deadline, and `None` if there will be no more.
    fn next_group(&self, next: &mut Option<Request>, deadline: Option<Instant>) -> Option<Vec<Request>> {
        let first = match next.take() {
            Some(request) => request,
            None => match self.receive(deadline) {
                Ok(request) => request,
                Err(RecvTimeoutError::Timeout) => return Some(Vec::new()),
                Err(RecvTimeoutError::Disconnected) => return None,
            },
        };
        let mut weight = first.weight();
        let mut group = vec![first];
        while weight < GROUP {
            let Ok(request) = self.receiver.try_recv() else { break };
            if !group[0].can_share_transaction(&request) {
                *next = Some(request);
                break;
            }
            weight += request.weight();
            group.push(request);
        }
        self.queued.fetch_sub(group.len(), Ordering::Relaxed);
        Some(group)
    }

    fn receive(&self, deadline: Option<Instant>) -> std::result::Result<Request, RecvTimeoutError> {
        match deadline {
            Some(deadline) => self.receiver.recv_timeout(deadline.saturating_duration_since(Instant::now())),
            None => self.receiver.recv().map_err(|_| RecvTimeoutError::Disconnected),
        }
    }
}

/// Time from a rejection until the number of rejected documents is stored, and until that is attempted again after an error.
const REJECTED_DELAY: Duration = Duration::from_secs(1);
const RETRY_REJECTED: Duration = Duration::from_secs(10);
/// Time until queued work is attempted again after an error.
const RETRY: Duration = Duration::from_secs(1);

/// The state of the writer thread.
pub(super) struct Writer {
    pub(super) store: Box<dyn Store>,
    pub(super) shared: Arc<Shared>,
    pub(super) counters: Counters,
    /// Set after a failed write or sync: the state of the disk is unknown until the store is opened again.
    failed: Option<String>,
    /// Number of the collection whose tasks were processed last.
    pub(super) stepped: u32,
    /// The search of each collection that is done in several units, by the number of the collection.
    pub(super) memos: HashMap<u32, SearchMemo>,
    /// Whether a test does the work on clusters step by step.
    #[cfg(test)]
    pub(super) is_paused: bool,
    /// Whether a test needs an index that does not know its texts.
    #[cfg(test)]
    pub(super) leaves_unread: bool,
    /// Deleted collections whose rows remain.
    pub(super) dropped: Vec<u32>,
    /// Time after which deleted texts are erased from the write-ahead log.
    erase_after: Duration,
    /// When the log must be emptied, if it contains deleted texts.
    erase_at: Option<Instant>,
    /// When the numbers of rejected documents are stored, if they have changed.
    rejected_at: Option<Instant>,
}

impl Writer {
    pub(super) fn start(
        store: Box<dyn Store>,
        shared: Arc<Shared>,
        requests: QueueReceiver,
        erase_after: Duration,
    ) -> Result<JoinHandle<()>> {
        let read = shared.readers.get()?;
        let counters = read.counters()?;
        let dropped = read.dropped_collections()?;
        drop(read);
        let mut writer = Writer {
            store,
            shared,
            counters,
            failed: None,
            stepped: 0,
            memos: HashMap::new(),
            #[cfg(test)]
            is_paused: false,
            #[cfg(test)]
            leaves_unread: super::profiles::LEAVES_UNREAD.get(),
            dropped,
            erase_after,
            erase_at: None,
            rejected_at: None,
        };
        let thread = std::thread::Builder::new().name("sameish-writer".into());
        let started = thread.spawn(move || {
            let _guard = PanicGuard(Arc::clone(&writer.shared));
            writer.run(&requests);
        });
        started.map_err(|source| Error::io("writer thread".as_ref(), source))
    }

    /// Processes requests, and queued work: a step after each group of requests, and all the time while there are none.
    fn run(&mut self, requests: &QueueReceiver) {
        let mut next = None;
        let mut step_at = self.next_step(Duration::ZERO);
        while let Some(group) =
            requests.next_group(&mut next, earliest(earliest(self.erase_at, self.rejected_at), step_at))
        {
            if self.process(group).is_break() {
                break;
            }
            let is_due = self.step_due().is_some_and(|due| due <= Instant::now());
            let stepped = if is_due { self.step() } else { Ok(()) };
            let stepped = stepped.and(self.remove_remains()).and(self.read_profiles());
            step_at = self.next_step(if stepped.is_ok() { Duration::ZERO } else { RETRY });
            if self.erase_at.is_some_and(|time| time <= Instant::now()) {
                self.empty_log();
            }
            if self.rejected_at.is_some_and(|time| time <= Instant::now()) {
                self.rejected_at = None;
                self.store_rejected();
            }
        }
        self.store_rejected();
        // The next process starts with the last stored state.
        _ = self.store_clock(true);
        // All writes are already durable. If the checkpoint fails, SQLite does it at the next start.
        _ = self.store.checkpoint();
    }

    /// Returns when work on clusters has to be done, if there is any and no test does it step by step.
    fn step_due(&self) -> Option<Instant> {
        #[cfg(test)]
        if self.is_paused {
            return None;
        }
        self.tasks_due()
    }

    /// Returns when the next step of queued work begins, if there is such work.
    fn next_step(&self, delay: Duration) -> Option<Instant> {
        let now = Instant::now();
        let has_more = self.has_remains() || self.has_unread();
        let due = earliest(self.step_due(), has_more.then_some(now));
        due.filter(|_| self.failed.is_none()).map(|due| due.max(now + delay))
    }

    /// Processes requests of one kind. Breaks if the thread must stop.
    fn process(&mut self, group: Vec<Request>) -> ControlFlow<()> {
        let mut inserts = Vec::new();
        let mut deletes = Vec::new();
        for request in group {
            match request {
                Request::Insert(batch) if self.is_dropped(&batch.live) => {
                    reject_dropped(&batch.live, &batch.reply)
                }
                Request::Delete(batch) if self.is_dropped(&batch.live) => {
                    reject_dropped(&batch.live, &batch.reply)
                }
                Request::Replace { live, reply, .. } if self.is_dropped(&live) => {
                    reject_dropped(&live, &reply)
                }
                Request::Insert(batch) => inserts.push(batch),
                Request::Delete(batch) => deletes.push(batch),
                Request::Replace { live, document, reply } => {
                    let replaced = self.write(|writer| {
                        writer.store.reserve_space()?;
                        writer.replace(&live, *document)
                    });
                    self.note_arrival();
                    self.note_deletion();
                    live.note_deletion(Instant::now());
                    send_reply(&reply, replaced);
                }
                Request::Run(job) => job(self),
                Request::Stop => return ControlFlow::Break(()),
            }
        }
        if !inserts.is_empty() {
            self.process_inserts(inserts);
        }
        if !deletes.is_empty() {
            self.process_deletes(deletes);
        }
        ControlFlow::Continue(())
    }

    fn process_inserts(&mut self, batches: Vec<Batch<PreparedDocument, Result<Inserted>>>) {
        let (work, replies) = split_replies(batches);
        // New centers queue work that a following new center makes useless, as deletions do.
        let ranked = work.iter().map(|(live, _)| Arc::clone(live)).filter(|live| live.has_ranks());
        let ranked: Vec<Arc<LiveCollection>> = ranked.collect();
        let results = self.write(|writer| {
            writer.store.reserve_space()?;
            writer.insert_all(work)
        });
        self.note_arrival();
        ranked.iter().for_each(|live| live.note_deletion(Instant::now()));
        send_replies(replies, results);
    }

    fn process_deletes(&mut self, batches: Vec<Batch<Deletion, bool>>) {
        let (work, replies) = split_replies(batches);
        let results = self.write(|writer| match writer.delete_all(&work) {
            Err(Error::Full) if writer.store.release_space() => writer.delete_all(&work),
            results => results,
        });
        self.note_deletion();
        work.iter().for_each(|(live, _)| live.note_deletion(Instant::now()));
        send_replies(replies, results);
    }

    /// Stores the numbers of rejected documents after a while, together with those that are rejected until then.
    pub(super) fn store_rejected_soon(&mut self) {
        self.rejected_at.get_or_insert_with(|| Instant::now() + REJECTED_DELAY);
    }

    /// Stores the numbers of rejected documents. If that fails, they are stored after the next rejection.
    fn store_rejected(&mut self) {
        let collections: Vec<Arc<LiveCollection>> = self.shared.collections().live().cloned().collect();
        for live in collections.into_iter().filter(|live| live.rejected() > 0) {
            live.set_queued_rejected(false);
            let count = live.rejected();
            let number = live.row.number;
            let stored = self.attempt(|writer| {
                let mut change = writer.store.begin()?;
                let before = change.read().rejected(number)?;
                change.put_rejected(number, before.saturating_add(count))?;
                change.commit()
            });
            match stored {
                Ok(()) => live.forget_rejected(count),
                Err(_) => self.rejected_at = Some(Instant::now() + RETRY_REJECTED),
            }
        }
    }

    fn note_arrival(&self) {
        self.shared.clock().observe_arrival(super::now(), Instant::now());
    }

    /// Remembers that the write-ahead log contains deleted texts.
    pub(super) fn note_deletion(&mut self) {
        let erase_after = self.erase_after;
        self.erase_at.get_or_insert_with(|| Instant::now() + erase_after);
    }

    /// Erases deleted texts from the write-ahead log. Tries again later if readers use the log.
    fn empty_log(&mut self) {
        self.erase_at = match self.store.checkpoint() {
            Ok(()) => None,
            Err(_) => Some(Instant::now() + self.erase_after.min(RETRY_ERASE)),
        };
    }

    /// Stores what is known about the time, if the stored state differs too much.
    pub(super) fn store_clock(&mut self, at_end: bool) -> Result<()> {
        let Some(row) = self.shared.clock().to_store(at_end) else { return Ok(()) };
        self.write(|writer| {
            let mut change = writer.store.begin()?;
            change.put_clock(row)?;
            change.commit()
        })?;
        self.shared.clock().set_stored(row);
        Ok(())
    }

    /// Returns `true` if the collection was deleted after a request for it was queued.
    pub(super) fn is_dropped(&self, live: &Arc<LiveCollection>) -> bool {
        let collections = self.shared.collections();
        !matches!(collections.get(&live.row.name), Ok(Some(current)) if Arc::ptr_eq(current, live))
    }

    /// Runs a write and updates the health of the catalog. After a failed write or sync, rejects all further writes.
    pub(super) fn write<T>(&mut self, write: impl FnOnce(&mut Writer) -> Result<T>) -> Result<T> {
        let written = self.attempt(write);
        if !matches!(written, Err(Error::Full | Error::Failed { .. })) {
            self.shared.set_health(Health::Ready);
        }
        written
    }

    /// Runs a write like [`write`](Self::write), but does not report the catalog as ready if it succeeds: a small change can
    /// succeed on a disk that is too full for documents.
    pub(super) fn attempt<T>(&mut self, write: impl FnOnce(&mut Writer) -> Result<T>) -> Result<T> {
        if let Some(reason) = &self.failed {
            return Err(Error::Failed { reason: reason.clone() });
        }
        let written = write(self);
        self.shared.writes.fetch_add(1, Ordering::Release);
        if let Some(notify) = self.shared.after_write.get() {
            notify();
        }
        match &written {
            Err(Error::Full) => {
                // A checkpoint empties the log, which frees space for deletes.
                _ = self.store.checkpoint();
                self.shared.set_health(Health::Full);
            }
            Err(Error::Failed { reason }) => {
                self.failed = Some(reason.clone());
                self.shared.set_health(Health::Failed(reason.clone()));
            }
            _ => {}
        }
        written
    }

    /// Creates a collection, or returns the existing one with the same name and settings.
    pub(super) fn create(&mut self, mut row: CollectionRow) -> Result<Arc<LiveCollection>> {
        if let Some(live) = self.shared.collections().get(&row.name)? {
            let differs = differing_settings(&live.current_row(), &row);
            if differs.is_empty() {
                return Ok(Arc::clone(live));
            }
            return Err(Error::Exists { name: row.name, differs: differs.join(", ") });
        }
        row.number = self.counters.collections + 1;
        let live = Arc::new(LiveCollection::new(row)?);
        self.write(|writer| {
            writer.counters.collections += 1;
            let mut change = writer.store.begin()?;
            change.put_collection(&live.row)?;
            change.put_counters(writer.counters)?;
            change.commit()
        })?;
        self.shared.collections_mut().insert(Arc::clone(&live));
        Ok(live)
    }

    /// Changes the retention and the window of a collection.
    pub(super) fn set_periods(
        &mut self,
        live: &Arc<LiveCollection>,
        change: impl FnOnce(Periods) -> Periods,
    ) -> Result<()> {
        if self.is_dropped(live) {
            return Err(Error::NoCollection { name: live.row.name.clone() });
        }
        let periods = change(live.periods());
        let Periods { retention_days, window_days } = periods;
        let row = CollectionRow { retention_days, window_days, ..live.current_row() };
        self.write(|writer| {
            let mut change = writer.store.begin()?;
            change.put_collection(&row)?;
            change.commit()
        })?;
        live.set_periods(periods);
        Ok(())
    }

    /// Deletes a collection. Returns `true` if it existed. A new collection of the same name has another number.
    pub(super) fn drop_collection(&mut self, name: &str, number: u32) -> Result<bool> {
        if self.shared.collections().number_of(name) != Some(number) {
            return Ok(false);
        }
        self.write(|writer| {
            let mut change = writer.store.begin()?;
            change.drop_collection(number)?;
            change.commit()
        })?;
        self.dropped.push(number);
        self.memos.remove(&number);
        self.shared.collections_mut().remove(name);
        Ok(true)
    }

    /// Recomputes all sketches of a collection from its texts, builds the index again and clusters all documents again.
    pub(super) fn rebuild(&mut self, live: &LiveCollection) -> Result<()> {
        self.write(|writer| {
            let shared = Arc::clone(&writer.shared);
            let read = shared.readers.get()?;
            live::rebuild_sketches(&mut *writer.store, &*read, live)?;
            live::reload_index(&mut *writer.store, &*read, live)?;
            recluster::recluster_collection(&mut *writer.store, &shared.cache, &mut writer.counters, live)?;
            Ok(())
        })
    }
}

fn earliest(a: Option<Instant>, b: Option<Instant>) -> Option<Instant> {
    a.into_iter().chain(b).min()
}

/// Marks the catalog as failed if the writer thread panics, because no write is processed afterwards.
struct PanicGuard(Arc<Shared>);

impl Drop for PanicGuard {
    fn drop(&mut self) {
        if std::thread::panicking() {
            self.0.set_health(Health::Failed("the writer thread ended because of an internal error".into()));
        }
    }
}

fn differing_settings(a: &CollectionRow, b: &CollectionRow) -> Vec<&'static str> {
    let settings = [
        ("center", a.center == b.center),
        ("retention", a.retention_days == b.retention_days),
        ("settings", same_settings(a, b)),
        ("window", a.window_days == b.window_days),
    ];
    settings.into_iter().filter(|(_, equal)| !equal).map(|(name, _)| name).collect()
}

/// A request to create a collection again is the same if the preset and the overrides are, even if another version gave the preset
/// other values: the collection keeps the settings that it was created with.
fn same_settings(a: &CollectionRow, b: &CollectionRow) -> bool {
    (&a.preset, &a.overrides) == (&b.preset, &b.overrides) || same_config(&a.config, &b.config)
}

/// Compares settings by their values, because older versions wrote fewer of them.
fn same_config(a: &str, b: &str) -> bool {
    a == b || matches!((Config::from_toml(a), Config::from_toml(b)), (Ok(a), Ok(b)) if a == b)
}

type Work<T> = Vec<(Arc<LiveCollection>, Vec<T>)>;

fn split_replies<T, R>(batches: Vec<Batch<T, R>>) -> (Work<T>, Vec<ReplySender<Vec<R>>>) {
    batches.into_iter().map(|batch| ((batch.live, batch.items), batch.reply)).unzip()
}

/// Sends each caller its result, or all of them the error of the transaction.
fn send_replies<T>(replies: Vec<ReplySender<T>>, results: Result<Vec<T>>) {
    match results {
        Ok(results) => {
            replies.iter().zip(results).for_each(|(reply, result)| send_reply(reply, Ok(result)));
        }
        Err(error) => replies.iter().for_each(|reply| send_reply(reply, Err(error.clone()))),
    }
}

/// Rejects a request for a collection that was deleted meanwhile.
fn reject_dropped<T>(live: &LiveCollection, reply: &ReplySender<T>) {
    send_reply(reply, Err(Error::NoCollection { name: live.row.name.clone() }));
}

fn send_reply<T>(reply: &ReplySender<T>, result: Result<T>) {
    // This fails only if the caller no longer waits.
    _ = reply.send(result);
}

impl Request {
    fn weight(&self) -> usize {
        match self {
            Request::Insert(batch) => batch.items.len().max(1),
            Request::Delete(batch) => batch.items.len().max(1),
            Request::Replace { .. } | Request::Run(_) | Request::Stop => GROUP,
        }
    }

    fn can_share_transaction(&self, next: &Request) -> bool {
        matches!(
            (self, next),
            (Request::Insert(_), Request::Insert(_)) | (Request::Delete(_), Request::Delete(_))
        )
    }
}
