//! Insertion and replacement of documents.

use super::clusters::{ClusterChanges, Marks, Placement, undamaged};
use super::collection::timestamp;
use super::events::stored_event;
use super::live::{Departing, LiveCollection, sketched};
use super::neighbors::{Neighbors, Query, Subject};
use super::repair::Removed;
use super::texts::FeatureCache;
use super::writer::{PreparedDocument, Writer};
use crate::error::{Error, Result};
use crate::model::{EventKind, Inserted, Outcome};
use crate::rows::{Counters, DocumentRow, SketchRow};
use crate::store::Transaction;
use sameish::analyzer::TextFeatures;
use sameish::cluster::ClusterId;
use sameish::engine::SketchedDocument;
use sameish::{DocId, Match, Search, Status, Timestamp};
use std::collections::HashSet;
use std::sync::Arc;

/// A document whose rows are written, and which is not yet in the index.
struct NewDocument {
    sketched: SketchedDocument,
    features: Arc<TextFeatures>,
    result: Inserted,
    arrived_at: i64,
}

/// The result for one document of a transaction.
enum Insertion {
    New(Box<NewDocument>),
    /// The document exists or is rejected. The transaction continues.
    Done(Result<Inserted>),
}

impl Writer {
    /// Stores new documents in one transaction. A single document can be rejected; an error of the store undoes all
    /// insertions.
    pub(super) fn insert_all(
        &mut self,
        work: Vec<(Arc<LiveCollection>, Vec<PreparedDocument>)>,
    ) -> Result<Vec<Vec<Result<Inserted>>>> {
        let mut added: Vec<AddedDocument> = Vec::new();
        let mut marks: Vec<(Arc<LiveCollection>, Marks)> = Vec::new();
        let results = self.insert_in_transaction(work, &mut added, &mut marks);
        if results.is_ok() {
            for AddedDocument { live, arrived_at, .. } in &added {
                live.set_visible(self.counters.documents);
                live.set_last_arrival(*arrived_at);
            }
        } else {
            for AddedDocument { live, id, .. } in added.iter().rev() {
                live.engine_mut().remove(id);
            }
            marks.into_iter().rev().for_each(|(live, marks)| marks.undo(&live));
        }
        results
    }

    /// Writes all rows and adds the new documents to the index. `added` receives those that are in the index, and `marks` the changed
    /// marks of centers, also if this returns an error.
    fn insert_in_transaction(
        &mut self,
        work: Vec<(Arc<LiveCollection>, Vec<PreparedDocument>)>,
        added: &mut Vec<AddedDocument>,
        marks: &mut Vec<(Arc<LiveCollection>, Marks)>,
    ) -> Result<Vec<Vec<Result<Inserted>>>> {
        let Writer { store, shared, counters, .. } = self;
        for (live, _) in &work {
            // Documents with greater numbers stay invisible until the commit.
            live.set_visible(counters.documents);
        }
        let mut transaction = InsertTransaction { change: store.begin()?, counters, cache: &shared.cache };
        let mut results = Vec::with_capacity(work.len());
        for (live, documents) in work {
            let mut group = Vec::with_capacity(documents.len());
            marks.push((Arc::clone(&live), Marks::default()));
            for document in documents {
                let marks = marks.last_mut().map(|(_, marks)| marks);
                let marks = marks.unwrap_or_else(|| unreachable!("one was just added"));
                group.push(match transaction.insert(&live, document, marks)? {
                    Insertion::New(new) => {
                        let NewDocument { sketched, features, result, arrived_at, .. } = *new;
                        let mut engine = live.engine_mut();
                        engine.insert_sketched_with(sketched, &features)?;
                        live.note_unread(engine.take_first_unread());
                        drop(engine);
                        let id = result.id.clone();
                        added.push(AddedDocument { live: Arc::clone(&live), id, arrived_at });
                        Ok(result)
                    }
                    Insertion::Done(result) => result,
                });
            }
            results.push(group);
        }
        transaction.commit()?;
        Ok(results)
    }

    /// Stores a document. Replaces the document with the same id if there is one.
    pub(super) fn replace(&mut self, live: &Arc<LiveCollection>, new: PreparedDocument) -> Result<Inserted> {
        let existing = match live.indexed_number(&new.document.id) {
            Some(number) => Some(number),
            None => self.shared.readers.get()?.number_of(live.row.number, &new.document.id)?,
        };
        let Some(old) = existing else {
            let mut results = self.insert_all(vec![(Arc::clone(live), vec![new])])?;
            let result = results.pop().and_then(|mut group| group.pop());
            return result.unwrap_or(Err(Error::Closed));
        };
        let mut marks = Marks::default();
        let replaced = self.replace_in_transaction(live, new, old, &mut marks);
        if replaced.is_err() {
            marks.undo(live);
        }
        live.set_departing(None);
        replaced
    }

    fn replace_in_transaction(
        &mut self,
        live: &LiveCollection,
        new: PreparedDocument,
        old: u64,
        marks: &mut Marks,
    ) -> Result<Inserted> {
        let Writer { store, shared, counters, .. } = self;
        let mut transaction = InsertTransaction { change: store.begin()?, counters, cache: &shared.cache };
        let departing = match transaction.change.read().document(old) {
            Ok(Some(row)) if row.document == new.document => {
                return transaction.unchanged(live, &new, &row);
            }
            Ok(Some(row)) if has_same_text_and_date(&row, &new) => {
                return transaction.update_metadata(live, new, row);
            }
            Ok(row) => row,
            Err(Error::Damaged { .. }) => None,
            Err(error) => return Err(error),
        };
        let cluster = undamaged(transaction.change.read().member(old))?.map(|member| member.shown());
        let removed = HashSet::from([old]);
        let mut clusters = ClusterChanges {
            change: &mut *transaction.change,
            counters: &mut *transaction.counters,
            cache: transaction.cache,
            live,
            removed: &removed,
            marks,
            memo: None,
        };
        clusters.remove(&Removed { number: old, id: &new.document.id })?;
        let new = transaction.insert_new(live, new, &mut Effects { removed: &removed, marks })?;
        transaction.put_event(live, EventKind::Replaced, new.sketched.number, &new.result)?;
        // Readers that see the commit and still the old index entry find the old document here.
        live.set_departing(departing.map(|row| Departing { row, cluster }));
        transaction.commit()?;
        // Readers must not see the new entry, which replaces the old one, before its number is visible.
        let mut engine = live.engine_mut();
        engine.insert_sketched_with(new.sketched, &new.features)?;
        live.note_unread(engine.take_first_unread());
        live.set_visible(self.counters.documents);
        live.set_departing(None);
        drop(engine);
        live.forget_rank(old);
        live.set_last_arrival(new.arrived_at);
        Ok(Inserted { outcome: Outcome::Replaced, ..new.result })
    }
}

fn has_same_text_and_date(row: &DocumentRow, new: &PreparedDocument) -> bool {
    row.document.content == new.document.content && row.document.published_at == new.document.published_at
}

/// A document that is in the index.
struct AddedDocument {
    live: Arc<LiveCollection>,
    id: DocId,
    /// The stored time, which is also the last arrival after a restart.
    arrived_at: i64,
}

/// What a transaction does to documents other than the new one.
struct Effects<'a> {
    /// Documents that it deletes.
    removed: &'a HashSet<u64>,
    /// Marks of centers that it changes.
    marks: &'a mut Marks,
}

/// A transaction that inserts documents.
struct InsertTransaction<'a> {
    change: Box<dyn Transaction + 'a>,
    counters: &'a mut Counters,
    cache: &'a FeatureCache,
}

impl InsertTransaction<'_> {
    fn commit(mut self) -> Result<()> {
        self.change.put_counters(*self.counters)?;
        self.change.commit()
    }

    fn insert(
        &mut self,
        live: &LiveCollection,
        new: PreparedDocument,
        marks: &mut Marks,
    ) -> Result<Insertion> {
        let Some(number) = live.indexed_number(&new.document.id) else {
            return match self.insert_new(live, new, &mut Effects { removed: &HashSet::new(), marks }) {
                Ok(new) => {
                    self.put_event(live, EventKind::Added, new.sketched.number, &new.result)?;
                    Ok(Insertion::New(Box::new(new)))
                }
                // A damaged document with this id is in the store, but not in the index.
                Err(Error::Conflict { id }) => Ok(Insertion::Done(Err(Error::Conflict { id }))),
                Err(error) => Err(error),
            };
        };
        match self.change.read().document(number) {
            Ok(Some(row)) if row.document.content == new.document.content => {
                Ok(Insertion::Done(Ok(self.unchanged(live, &new, &row)?)))
            }
            Ok(_) => Ok(Insertion::Done(Err(Error::Conflict { id: new.document.id }))),
            Err(error @ Error::Damaged { .. }) => Ok(Insertion::Done(Err(error))),
            Err(error) => Err(error),
        }
    }

    /// Returns the result for a document that is already stored as `row`. Its date is the stored one, so its matches are too.
    fn unchanged(
        &self,
        live: &LiveCollection,
        new: &PreparedDocument,
        row: &DocumentRow,
    ) -> Result<Inserted> {
        let subject = Subject { query: Query::New(&new.prepared), number: row.number, moment: row.moment() };
        let search = self.duplicates(live, subject, row.published(), &HashSet::new())?;
        let member = undamaged(self.change.read().member(row.number))?;
        let cluster = member.map(|member| member.shown());
        let status = new.prepared.sketches.status;
        Ok(inserted(new.document.id.clone(), Outcome::Unchanged, status, search, cluster))
    }

    /// Replaces the title, source and address of a document. Its index entry and its cluster do not change.
    fn update_metadata(
        mut self,
        live: &LiveCollection,
        new: PreparedDocument,
        row: DocumentRow,
    ) -> Result<Inserted> {
        let result = self.unchanged(live, &new, &row)?;
        self.put_event(live, EventKind::Replaced, row.number, &result)?;
        self.change.update_document(&DocumentRow { document: new.document, ..row })?;
        self.change.commit()?;
        Ok(Inserted { outcome: Outcome::Replaced, ..result })
    }

    /// Searches for matches, except among the `removed` documents, and writes all rows of a new document.
    fn insert_new(
        &mut self,
        live: &LiveCollection,
        new: PreparedDocument,
        effects: &mut Effects<'_>,
    ) -> Result<NewDocument> {
        self.counters.documents += 1;
        let PreparedDocument { document, prepared } = new;
        let id = document.id.clone();
        let number = self.counters.documents;
        let now = super::now();
        let row = DocumentRow { number, collection: live.row.number, document, arrived_at: now };
        let published = row.published();
        let subject = Subject { query: Query::New(&prepared), number, moment: published.unwrap_or(now) };
        let search = self.duplicates(live, subject, published, effects.removed)?;
        live.note_rank(&row);
        self.change.put_document(&row)?;
        let status = prepared.sketches.status;
        // The sketch comes first, because the membership takes its date from it.
        let sketch = SketchRow::new(&row, prepared.sketches.clone(), prepared.key, live.scheme, now);
        self.change.put_sketch(&sketch)?;
        let Placement { cluster, is_center } = self.place(live, &id, subject, status, &search, effects)?;
        let features = Arc::new(prepared.features);
        if live.analyzer.config().matching.verify {
            self.cache.put(number, Arc::clone(&features), published);
        }
        let result = inserted(id.clone(), Outcome::Created, status, search, Some(cluster));
        Ok(NewDocument { sketched: sketched(id, sketch, is_center), features, result, arrived_at: now })
    }

    fn put_event(
        &mut self,
        live: &LiveCollection,
        kind: EventKind,
        number: u64,
        result: &Inserted,
    ) -> Result<()> {
        let best = self.event_match(live, result)?;
        let id = result.id.clone();
        self.change.put_event(&stored_event(live.row.number, kind, number, id, result.cluster, best))
    }

    /// Returns the best match in the cluster of a document. If it has none there, returns the best match of all if that is a template,
    /// which is why the document is not in its cluster.
    fn event_match<'r>(&self, live: &LiveCollection, result: &'r Inserted) -> Result<Option<&'r Match>> {
        let read = self.change.read();
        for found in &result.duplicates {
            if live.engine().joins(&found.verdict)
                && undamaged(read.member(found.number))?.map(|member| member.shown()) == result.cluster
            {
                return Ok(Some(found));
            }
        }
        Ok(result.duplicates.first().filter(|found| found.verdict.template))
    }

    /// Returns the best matches of a document. `published` is its publication date in milliseconds since 1970.
    fn duplicates(
        &self,
        live: &LiveCollection,
        subject: Subject<'_>,
        published: Option<i64>,
        removed: &HashSet<u64>,
    ) -> Result<Search> {
        let read = self.change.read();
        let neighbors = Neighbors { live, cache: self.cache, read, removed, memo: None };
        let mut search = neighbors.duplicates(subject)?;
        for found in &mut search.matches {
            let other =
                if found.needs_dates() && published.is_some() { self.published(found.number)? } else { None };
            let dates = published.zip(other).map(|(own, other)| [own, other].map(timestamp));
            found.relation = found.relation_with(dates);
        }
        Ok(search)
    }

    /// Returns the publication date of a stored document. The dates of the index do not suffice: without a publication date, they
    /// are times of insertion, which do not make a document an update. A document that was just judged is usually in the cache.
    fn published(&self, number: u64) -> Result<Option<i64>> {
        if let Some(known) = self.cache.published(number) {
            return Ok(known);
        }
        let caption = undamaged(self.change.read().caption(number))?;
        let date = caption.and_then(|caption| Timestamp::parse(&caption.published_at?).ok());
        Ok(date.map(Timestamp::as_milliseconds))
    }

    /// Adds a new document to a cluster. Returns the cluster that lists show.
    fn place(
        &mut self,
        live: &LiveCollection,
        id: &DocId,
        subject: Subject<'_>,
        status: Status,
        search: &Search,
        effects: &mut Effects<'_>,
    ) -> Result<Placement> {
        let mut clusters = ClusterChanges {
            change: &mut *self.change,
            counters: &mut *self.counters,
            cache: self.cache,
            live,
            removed: effects.removed,
            marks: effects.marks,
            memo: None,
        };
        let placement = clusters.place(subject, status, search)?;
        if !live.has_edits() {
            return Ok(placement);
        }
        if live.named().ids.contains(id) {
            clusters.queue_edits()?;
        }
        let cluster = clusters.member(subject.number)?.map_or(placement.cluster, |member| member.shown());
        Ok(Placement { cluster, ..placement })
    }
}

fn inserted(
    id: DocId,
    outcome: Outcome,
    status: Status,
    search: Search,
    cluster: Option<ClusterId>,
) -> Inserted {
    Inserted { id, outcome, status, duplicates: search.matches, cluster, capped: search.capped }
}
