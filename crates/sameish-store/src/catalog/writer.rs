//! How does a write become durable, and how do many share one sync?
//!
//! One thread writes. What waits when it is free becomes one transaction with one sync, so that sixteen clients who insert
//! one document each wait for one sync and not for sixteen. Callers prepare their documents before they queue, and are
//! answered after the commit.
//!
//! New documents go into the index before the commit, where later ones of the same transaction find them, and are shown
//! to others after it. What leaves, leaves the index after the commit.

use super::live::Live;
use super::repair::Leaving;
use super::{Shared, live};
use crate::error::{Error, Result};
use crate::model::{Health, Inserted};
use crate::rows::{CollectionRow, Counters};
use crate::store::Store;
use sameish::{Document, Prepared};
use std::collections::BTreeMap;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::mpsc::{Receiver, SyncSender, TrySendError, sync_channel};
use std::sync::{Arc, PoisonError};
use std::thread::JoinHandle;

/// A document with what its caller made of it.
pub(super) struct New {
    pub(super) document: Document,
    pub(super) prepared: Prepared,
}

/// What is asked of the writer.
pub(super) enum Request {
    Insert {
        live: Arc<Live>,
        documents: Vec<New>,
        reply: Reply<Vec<Result<Inserted>>>,
    },
    Replace {
        live: Arc<Live>,
        new: Box<New>,
        reply: Reply<Inserted>,
    },
    Delete {
        live: Arc<Live>,
        ids: Vec<Leaving>,
        reply: Reply<Vec<bool>>,
    },
    /// Anything else, alone.
    Run(Box<dyn FnOnce(&mut Writer) + Send>),
    Stop,
}

pub(super) type Reply<T> = SyncSender<Result<T>>;

/// Documents that one transaction takes.
pub(super) const GROUP: usize = 512;

/// Where requests wait.
pub(super) struct Queue {
    sender: SyncSender<Request>,
    waiting: Arc<AtomicUsize>,
}

/// The other end.
pub(super) struct Requests {
    receiver: Receiver<Request>,
    waiting: Arc<AtomicUsize>,
}

pub(super) fn queue(most: usize) -> (Queue, Requests) {
    let (sender, receiver) = sync_channel(most.max(1));
    let waiting = Arc::<AtomicUsize>::default();
    (Queue { sender, waiting: Arc::clone(&waiting) }, Requests { receiver, waiting })
}

impl Queue {
    /// Queues a request, or refuses it where too many wait.
    pub(super) fn offer(&self, request: Request) -> Result<()> {
        self.waiting.fetch_add(1, Ordering::Relaxed);
        self.sender.try_send(request).map_err(|error| {
            self.waiting.fetch_sub(1, Ordering::Relaxed);
            match error {
                TrySendError::Full(_) => Error::Busy,
                TrySendError::Disconnected(_) => Error::Closed,
            }
        })
    }

    /// Queues a request as soon as there is room.
    pub(super) fn send(&self, request: Request) -> Result<()> {
        self.waiting.fetch_add(1, Ordering::Relaxed);
        self.sender.send(request).map_err(|_| {
            self.waiting.fetch_sub(1, Ordering::Relaxed);
            Error::Closed
        })
    }

    pub(super) fn run<T: Send + 'static>(
        &self,
        job: impl FnOnce(&mut Writer) -> Result<T> + Send + 'static,
    ) -> Result<T> {
        let (reply, answer) = sync_channel(1);
        // Whoever asked may have gone.
        self.send(Request::Run(Box::new(move |writer| _ = reply.send(job(writer)))))?;
        answer.recv().unwrap_or(Err(Error::Closed))
    }

    pub(super) fn stop(&self) {
        // A writer that has ended needs no telling.
        _ = self.send(Request::Stop);
    }

    pub(super) fn len(&self) -> usize {
        self.waiting.load(Ordering::Relaxed)
    }
}

/// The thread that writes.
pub(super) struct Writer {
    pub(super) store: Box<dyn Store>,
    pub(super) shared: Arc<Shared>,
    pub(super) counters: Counters,
    /// Set after a failed sync: what the disk has is unknown until it is read again.
    failed: Option<String>,
}

impl Writer {
    pub(super) fn start(
        store: Box<dyn Store>,
        shared: Arc<Shared>,
        requests: Requests,
    ) -> Result<JoinHandle<()>> {
        let counters = shared.readers.get()?.counters()?;
        let mut writer = Writer { store, shared, counters, failed: None };
        let thread = std::thread::Builder::new().name("sameish-writer".into());
        let started = thread.spawn(move || {
            let _guard = Guard(Arc::clone(&writer.shared));
            writer.work(&requests);
        });
        started.map_err(|source| Error::Io { path: "writer thread".into(), source })
    }

    fn work(&mut self, requests: &Requests) {
        let mut held = None;
        while let Some(first) = held.take().or_else(|| requests.receiver.recv().ok()) {
            let mut group = vec![first];
            let mut weight = group[0].weight();
            while weight < GROUP {
                let Ok(next) = requests.receiver.try_recv() else { break };
                if !group[0].goes_with(&next) {
                    held = Some(next);
                    break;
                }
                weight += next.weight();
                group.push(next);
            }
            requests.waiting.fetch_sub(group.len(), Ordering::Relaxed);
            if !self.serve(group) {
                break;
            }
        }
        // Everything is durable already; what is not copied back now is at the next start.
        _ = self.store.settle();
    }

    /// Serves requests of one kind; tells whether to go on.
    fn serve(&mut self, group: Vec<Request>) -> bool {
        let mut inserts = Vec::new();
        let mut deletes = Vec::new();
        for request in group {
            match request {
                Request::Insert { live, documents, reply } => inserts.push((live, documents, reply)),
                Request::Delete { live, ids, reply } => deletes.push((live, ids, reply)),
                Request::Replace { live, new, reply } => {
                    let answer = self.guarded(|writer| {
                        writer.store.keep_room()?;
                        writer.replace(&live, *new)
                    });
                    _ = reply.send(answer);
                }
                Request::Run(job) => job(self),
                Request::Stop => return false,
            }
        }
        if !inserts.is_empty() {
            let (work, replies): (Vec<_>, Vec<_>) =
                inserts.into_iter().map(|(live, documents, reply)| ((live, documents), reply)).unzip();
            let answers = self.guarded(|writer| {
                writer.store.keep_room()?;
                writer.insert_all(work)
            });
            answer_all(replies, answers);
        }
        if !deletes.is_empty() {
            let (work, replies): (Vec<_>, Vec<_>) =
                deletes.into_iter().map(|(live, ids, reply)| ((live, ids), reply)).unzip();
            let answers = self.guarded(|writer| match writer.delete_all(&work) {
                // For this there is room even on a full disk.
                Err(Error::Full) if writer.store.give_room() => writer.delete_all(&work),
                answers => answers,
            });
            answer_all(replies, answers);
        }
        true
    }

    /// Notes what became of a write, and refuses all after one that may have been lost.
    pub(super) fn guarded<T>(&mut self, write: impl FnOnce(&mut Writer) -> Result<T>) -> Result<T> {
        if let Some(reason) = &self.failed {
            return Err(Error::Failed { reason: reason.clone() });
        }
        let written = write(self);
        let health = match &written {
            Err(Error::Full) => {
                // What the log holds can be copied back, so that there is room for deletes.
                _ = self.store.settle();
                Health::Full
            }
            Err(Error::Failed { reason }) => {
                self.failed = Some(reason.clone());
                Health::Failed(reason.clone())
            }
            _ => Health::Ready,
        };
        *self.shared.health.lock().unwrap_or_else(PoisonError::into_inner) = health;
        written
    }

    /// Makes a collection, or finds the one that has the name and the settings.
    pub(super) fn create(&mut self, mut row: CollectionRow) -> Result<Arc<Live>> {
        if let Some(live) = self.shared.collections().get(&row.name) {
            let differs = differences(&live.row, &row);
            return match differs.is_empty() {
                true => Ok(Arc::clone(live)),
                false => Err(Error::Exists { name: row.name, differs: differs.join(", ") }),
            };
        }
        row.number = self.counters.collections + 1;
        let live = Arc::new(Live::new(row)?);
        self.guarded(|writer| {
            writer.counters.collections += 1;
            let mut change = writer.store.begin()?;
            change.put_collection(&live.row)?;
            change.put_counters(writer.counters)?;
            change.commit()
        })?;
        let mut collections = self.shared.collections.write().unwrap_or_else(PoisonError::into_inner);
        collections.insert(live.row.name.clone(), Arc::clone(&live));
        Ok(live)
    }

    pub(super) fn drop_collection(&mut self, live: &Live) -> Result<bool> {
        if !self.shared.collections().contains_key(&live.row.name) {
            return Ok(false);
        }
        self.guarded(|writer| {
            let mut change = writer.store.begin()?;
            change.drop_collection(live.row.number)?;
            change.commit()
        })?;
        let mut collections = self.shared.collections.write().unwrap_or_else(PoisonError::into_inner);
        collections.remove(&live.row.name);
        Ok(true)
    }

    /// Makes all sketches of a collection again from its texts, and the weights of words, and builds the index anew.
    pub(super) fn rebuild(&mut self, live: &Live) -> Result<()> {
        self.guarded(|writer| {
            let shared = Arc::clone(&writer.shared);
            let read = shared.readers.get()?;
            live::rebuild(&mut *writer.store, &*read, live)?;
            live::reload(&mut *writer.store, &*read, live)
        })
    }
}

/// Tells of a writer that panicked: writes are over then, and nobody should call that ready.
struct Guard(Arc<Shared>);

impl Drop for Guard {
    fn drop(&mut self) {
        if std::thread::panicking() {
            let failed = Health::Failed("a fault in sameish ended the writer".into());
            *self.0.health.lock().unwrap_or_else(PoisonError::into_inner) = failed;
        }
    }
}

/// Which settings differ.
fn differences(a: &CollectionRow, b: &CollectionRow) -> Vec<&'static str> {
    let pairs = BTreeMap::from([
        ("settings", a.config == b.config),
        ("retention", a.retention_days == b.retention_days),
        ("window", a.window_days == b.window_days),
    ]);
    pairs.into_iter().filter(|(_, same)| !same).map(|(what, _)| what).collect()
}

/// Answers each with its own, or all with the one fault.
fn answer_all<T>(replies: Vec<Reply<T>>, answers: Result<Vec<T>>) {
    match answers {
        Ok(answers) => {
            for (reply, answer) in replies.into_iter().zip(answers) {
                // Whoever asked may have gone.
                _ = reply.send(Ok(answer));
            }
        }
        Err(error) => replies.into_iter().for_each(|reply| _ = reply.send(Err(error.again()))),
    }
}

impl Request {
    fn weight(&self) -> usize {
        match self {
            Request::Insert { documents, .. } => documents.len().max(1),
            Request::Delete { ids, .. } => ids.len().max(1),
            Request::Replace { .. } | Request::Run(_) | Request::Stop => GROUP,
        }
    }

    /// Whether both may be in one transaction.
    fn goes_with(&self, next: &Request) -> bool {
        matches!(
            (self, next),
            (Request::Insert { .. }, Request::Insert { .. })
                | (Request::Delete { .. }, Request::Delete { .. })
        )
    }
}
