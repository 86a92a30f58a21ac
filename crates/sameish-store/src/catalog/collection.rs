//! Writes to a collection, and access to single documents.

use super::clusters::undamaged;
use super::live::{LiveCollection, LiveLinkage};
use super::repair::Deletion;
use super::search::Sink;
use super::texts::TextBudget;
use super::writer::{
    Batch, GROUP, PreparedDocument, ReplyReceiver, Request, Writer, reply_channel, wait_for,
};
use super::{Shared, now};
use crate::error::{Error, Result};
use crate::model::{CollectionConfig, DocumentsPage, Inserted, Periods, Stored};
use crate::rows::DocumentRow;
use crate::store::Read;
use rayon::prelude::*;
use sameish::cluster::ClusterId;
use sameish::{DocId, Document, Scratch, Timestamp};
use std::sync::Arc;

/// A collection of a [`Catalog`](super::Catalog). Clones refer to the same collection.
#[derive(Clone)]
pub struct Collection {
    pub(super) shared: Arc<Shared>,
    pub(super) live: Arc<LiveCollection>,
}

/// Documents that were submitted and are not yet known to be durable.
#[must_use = "a write is durable when `wait` returns"]
pub struct Pending {
    /// One entry per document, in order: the error of a document that was rejected before it was queued.
    rejected: Vec<Option<Error>>,
    /// One reply per group of queued documents.
    replies: Vec<ReplyReceiver<Vec<Result<Inserted>>>>,
}

impl Collection {
    pub(super) fn new(shared: Arc<Shared>, live: Arc<LiveCollection>) -> Collection {
        Collection { shared, live }
    }

    /// Returns the name.
    pub fn name(&self) -> &str {
        &self.live.row.name
    }

    /// Returns the settings that the collection was created with.
    pub fn config(&self) -> Result<CollectionConfig> {
        let row = self.live.current_row();
        Ok(CollectionConfig {
            preset: row.preset.parse()?,
            overrides: row.overrides,
            retention_days: row.retention_days,
            window_days: row.window_days,
            center: (self.live.linkage == LiveLinkage::Cohesive).then_some(row.center),
        })
    }

    /// Changes the retention and the window. Documents that arrive later, or are assigned again after a deletion or by a rebuild,
    /// match within the new window; other clusters stay as they are.
    pub fn set_periods(&self, change: impl FnOnce(Periods) -> Periods + Send + 'static) -> Result<()> {
        let live = Arc::clone(&self.live);
        self.shared.run_on_writer(move |writer| writer.set_periods(&live, change))
    }

    /// Returns the analyzer with the settings of this collection, for example to compare two texts.
    pub fn analyzer(&self) -> &sameish::Analyzer {
        &self.live.analyzer
    }

    /// Returns the number of documents, including those that are being written.
    pub fn len(&self) -> usize {
        self.live.engine().len()
    }

    /// Returns `true` if the collection has no documents.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Stores a document and returns its matches. The document is durable when this returns.
    ///
    /// If the id exists, the result is [`Outcome::Unchanged`](crate::Outcome::Unchanged) for the same text and
    /// [`Error::Conflict`] for a different one. If the write queue is full, the result is [`Error::Busy`].
    pub fn insert(&self, document: Document) -> Result<Inserted> {
        let document = self.prepare(document, &mut Scratch::default())?;
        let (sender, reply) = reply_channel();
        let batch = Batch { live: Arc::clone(&self.live), items: vec![document], reply: sender };
        self.shared.queue()?.try_send(Request::Insert(batch))?;
        wait_for(&reply)?.pop().unwrap_or(Err(Error::Closed))
    }

    /// Stores documents in order, several hundred per transaction. Waits while the write queue is full.
    ///
    /// Each document has its own result: one that is rejected does not affect the others.
    pub fn insert_many(&self, documents: Vec<Document>) -> Result<Vec<Result<Inserted>>> {
        self.submit(documents)?.wait()
    }

    /// Queues documents like [`insert_many`](Self::insert_many) without waiting for the results, so that the caller can
    /// prepare the next documents meanwhile. Sketches are computed on several threads before this returns.
    pub fn submit(&self, documents: Vec<Document>) -> Result<Pending> {
        let queue = self.shared.queue()?;
        let mut pending = Pending { rejected: Vec::with_capacity(documents.len()), replies: Vec::new() };
        let mut documents = documents.into_iter();
        loop {
            let group: Vec<Document> = documents.by_ref().take(GROUP).collect();
            if group.is_empty() {
                return Ok(pending);
            }
            let items = self.prepare_all(group, &mut pending.rejected);
            let (sender, reply) = reply_channel();
            queue.send(Request::Insert(Batch { live: Arc::clone(&self.live), items, reply: sender }))?;
            pending.replies.push(reply);
        }
    }

    /// Computes sketches, and appends to `rejected` the error or `None` for each document.
    fn prepare_all(
        &self,
        documents: Vec<Document>,
        rejected: &mut Vec<Option<Error>>,
    ) -> Vec<PreparedDocument> {
        let prepare = |scratch: &mut Scratch, document| self.prepare(document, scratch);
        let results: Vec<Result<PreparedDocument>> =
            documents.into_par_iter().with_min_len(8).map_init(Scratch::default, prepare).collect();
        let mut accepted = Vec::with_capacity(results.len());
        for result in results {
            match result {
                Ok(document) => {
                    accepted.push(document);
                    rejected.push(None);
                }
                Err(error) => rejected.push(Some(error)),
            }
        }
        accepted
    }

    /// Stores a document. Replaces the document with the same id if there is one.
    pub fn replace(&self, document: Document) -> Result<Inserted> {
        let document = Box::new(self.prepare(document, &mut Scratch::default())?);
        let (sender, reply) = reply_channel();
        let request = Request::Replace { live: Arc::clone(&self.live), document, reply: sender };
        self.shared.queue()?.try_send(request)?;
        wait_for(&reply)
    }

    /// Deletes a document from the store, the index and its cluster. Returns `true` if it existed.
    pub fn delete(&self, id: &DocId) -> Result<bool> {
        let (sender, reply) = reply_channel();
        let items = vec![Deletion { id: id.clone(), expected_number: None }];
        let batch = Batch { live: Arc::clone(&self.live), items, reply: sender };
        self.shared.queue()?.try_send(Request::Delete(batch))?;
        Ok(wait_for(&reply)?.pop().unwrap_or(false))
    }

    /// Deletes documents. Returns for each id whether it existed. Waits while the write queue is full.
    pub fn delete_many(&self, ids: Vec<DocId>) -> Result<Vec<bool>> {
        self.delete_all(ids.into_iter().map(|id| Deletion { id, expected_number: None }).collect())
    }

    pub(super) fn delete_all(&self, deletions: Vec<Deletion>) -> Result<Vec<bool>> {
        let mut deleted = Vec::with_capacity(deletions.len());
        for group in deletions.chunks(GROUP) {
            let (sender, reply) = reply_channel();
            let batch = Batch { live: Arc::clone(&self.live), items: group.to_vec(), reply: sender };
            self.shared.queue()?.send(Request::Delete(batch))?;
            deleted.append(&mut wait_for(&reply)?);
        }
        Ok(deleted)
    }

    /// Returns a stored document.
    pub fn get(&self, id: &DocId) -> Result<Option<Stored>> {
        let (view, engine) = self.view()?;
        let indexed = engine.get(id).map(|stored| stored.number).filter(|&number| number <= view.visible);
        drop(engine);
        let read = &*view.read;
        let number = match indexed {
            Some(number) => Some(number),
            // The index does not contain damaged documents.
            None => read.number_of(self.live.row.number, id)?,
        };
        let Some(number) = number else { return Ok(None) };
        let Some(row) = view.document(number)? else { return Ok(None) };
        if row.document.id != *id {
            let reason = "it is indexed under a different id".to_owned();
            return Err(Error::Damaged { what: format!("document {number}"), reason });
        }
        let cluster = view.cluster_of(number)?;
        Ok(Some(self.stored(read, row, cluster)))
    }

    /// Passes a page of documents to `sink`, in the order of their ids as JSON text. Returns [`DocumentsPage::after`] of the
    /// next page. Damaged documents are left out.
    ///
    /// The page ends when `sink` breaks, or when about `max_text_bytes` of stored text are read.
    pub fn documents_each(
        &self,
        page: &DocumentsPage,
        max_text_bytes: usize,
        sink: Sink<'_, Stored>,
    ) -> Result<Option<DocId>> {
        let read = self.shared.readers.snapshot()?;
        let budget = TextBudget::new(max_text_bytes);
        let numbers = read.numbers_by_id(self.live.row.number, page.after.as_ref(), page.limit)?;
        let is_last_page = numbers.len() < page.limit;
        let mut last = None;
        for number in numbers {
            if last.is_some() && budget.is_exhausted() {
                return Ok(last);
            }
            let Some(row) = undamaged(read.document(number))? else { continue };
            budget.take(&row.document);
            let id = row.document.id.clone();
            let cluster = undamaged(read.member(number))?.map(|member| member.shown());
            if sink(self.stored(&*read, row, cluster)).is_break() {
                return Ok(last);
            }
            last = Some(id);
        }
        Ok(last.filter(|_| !is_last_page))
    }

    pub(super) fn stored(&self, read: &dyn Read, row: DocumentRow, cluster: Option<ClusterId>) -> Stored {
        let sketches = match read.sketch(row.number) {
            Ok(Some(sketch)) => sketch.sketches,
            _ => self.live.analyzer.sketch(&row.document.content, &mut Scratch::default()),
        };
        Stored {
            arrived_at: timestamp(row.arrived_at),
            document: row.document,
            status: sketches.status,
            words: sketches.words as u64,
            simhash: sketches.simhash,
            minhash: sketches.minhash,
            sdr: sketches.sdr,
            cluster,
        }
    }

    /// Returns `true` if a document with this id is stored, even if it is damaged.
    pub fn holds(&self, id: &DocId) -> Result<bool> {
        if self.indexed_number(id).is_some() {
            return Ok(true);
        }
        Ok(self.shared.readers.get()?.number_of(self.live.row.number, id)?.is_some())
    }

    /// Counts documents that a caller rejected before they were inserted, or whose insertion failed. The count is part of the
    /// [statistics](Self::stats). It is stored within a second; counting does not wait for it.
    pub fn count_rejected(&self, count: u64) {
        if count > 0 && self.live.count_rejected(count) {
            let request = Request::Run(Box::new(Writer::store_rejected_soon));
            let sent = self.shared.queue().and_then(|queue| queue.try_send(request));
            // If the queue is full, the next rejection tries again.
            self.live.set_queued_rejected(sent.is_ok());
        }
    }

    /// Recomputes all sketches from the texts, builds the index again and clusters all documents again.
    pub fn rebuild(&self) -> Result<()> {
        let live = Arc::clone(&self.live);
        self.shared.run_on_writer(move |writer| writer.rebuild(&live))
    }

    /// Returns a hash of the content of the index. It is equal for an index that is built again from the documents.
    pub fn digest(&self) -> Result<u64> {
        let live = Arc::clone(&self.live);
        self.shared.run_exclusively(move |_| Ok(live.engine().digest()))
    }

    /// Returns the number of a committed document that is in the index.
    fn indexed_number(&self, id: &DocId) -> Option<u64> {
        self.live.indexed_number(id).filter(|&number| number <= self.live.visible())
    }

    /// Checks the id and the date of a document and computes its sketches.
    fn prepare(&self, document: Document, scratch: &mut Scratch) -> Result<PreparedDocument> {
        document.id.validate().map_err(|reason| Error::BadId { reason })?;
        if let Some(date) = &document.published_at {
            Timestamp::parse(date)?;
        }
        self.live.analyzer.check(&document.content)?;
        let prepared = self.live.analyzer.prepare(&document.content, scratch);
        Ok(PreparedDocument { document, prepared })
    }
}

impl Pending {
    /// Waits until all documents are durable. Returns the results in the order of the documents.
    pub fn wait(self) -> Result<Vec<Result<Inserted>>> {
        let mut replies = Vec::with_capacity(self.rejected.len());
        for reply in &self.replies {
            replies.append(&mut wait_for(reply)?);
        }
        let mut replies = replies.into_iter();
        let result = |rejected: Option<Error>| match rejected {
            Some(error) => Err(error),
            None => replies.next().unwrap_or(Err(Error::Closed)),
        };
        Ok(self.rejected.into_iter().map(result).collect())
    }
}

/// Converts stored milliseconds. A value out of range, which only damage can cause, becomes the current time.
pub(super) fn timestamp(milliseconds: i64) -> Timestamp {
    let timestamp =
        Timestamp::from_milliseconds(milliseconds).or_else(|| Timestamp::from_milliseconds(now()));
    timestamp.unwrap_or_else(|| unreachable!("the current time is in range"))
}
