//! Deletion of documents from the store, the index and their clusters.
//!
//! A deletion changes a bounded number of rows, however large the cluster is. What the remaining documents need is queued
//! (`tasks.rs`) in the same transaction.

use super::clusters::{ClusterChanges, Marks};
use super::live::{LiveCollection, LiveLinkage};
use super::texts::FeatureCache;
use super::writer::Writer;
use crate::error::Result;
use crate::rows::{Counters, MemberRow, TaskKind};
use crate::store::Transaction;
use sameish::DocId;
use std::collections::HashSet;
use std::sync::Arc;

/// A request to delete a document.
#[derive(Clone, Debug)]
pub(super) struct Deletion {
    pub(super) id: DocId,
    /// If set, the document is deleted only if it still has this number, that is, if it was not replaced.
    pub(super) expected_number: Option<u64>,
}

/// A document to delete.
pub(super) struct Removed<'a> {
    pub(super) number: u64,
    pub(super) id: &'a DocId,
}

impl Writer {
    /// Deletes documents in one transaction. Returns for each whether it existed.
    pub(super) fn delete_all(
        &mut self,
        work: &[(Arc<LiveCollection>, Vec<Deletion>)],
    ) -> Result<Vec<Vec<bool>>> {
        let mut marks: Vec<Marks> = Vec::new();
        let results = self.delete_in_transaction(work, &mut marks);
        match &results {
            Ok(results) => remove_from_index(work, results),
            Err(_) => work.iter().zip(marks).rev().for_each(|((live, _), marks)| marks.undo(live)),
        }
        results
    }

    fn delete_in_transaction(
        &mut self,
        work: &[(Arc<LiveCollection>, Vec<Deletion>)],
        marks: &mut Vec<Marks>,
    ) -> Result<Vec<Vec<bool>>> {
        let Writer { store, shared, counters, .. } = self;
        let mut change = store.begin()?;
        let mut results = Vec::with_capacity(work.len());
        let mut removed: HashSet<u64> = HashSet::new();
        for (live, deletions) in work {
            marks.push(Marks::default());
            let mut existed = Vec::with_capacity(deletions.len());
            for deletion in deletions {
                let number = deletion.number(live, &*change)?.filter(|&number| removed.insert(number));
                existed.push(number.is_some());
                let Some(number) = number else { continue };
                let mut removal = Removal {
                    change: &mut *change,
                    counters,
                    cache: &shared.cache,
                    live,
                    removed: &removed,
                    marks: marks.last_mut().unwrap_or_else(|| unreachable!("one was just added")),
                };
                removal.remove(&Removed { number, id: &deletion.id })?;
            }
            results.push(existed);
        }
        change.put_counters(*counters)?;
        change.commit()?;
        Ok(results)
    }
}

fn remove_from_index(work: &[(Arc<LiveCollection>, Vec<Deletion>)], results: &[Vec<bool>]) {
    for ((live, deletions), existed) in work.iter().zip(results) {
        let mut engine = live.engine_mut();
        for (deletion, _) in deletions.iter().zip(existed).filter(|(_, existed)| **existed) {
            engine.remove(&deletion.id);
        }
    }
}

impl Deletion {
    /// Returns the number of the document to delete.
    fn number(&self, live: &LiveCollection, change: &dyn Transaction) -> Result<Option<u64>> {
        let number = match live.indexed_number(&self.id) {
            Some(number) => Some(number),
            None => change.read().number_of(live.row.number, &self.id)?,
        };
        let is_expected = |number: &u64| self.expected_number.is_none_or(|expected| expected == *number);
        Ok(number.filter(is_expected))
    }
}

/// Deletes documents in a transaction. They remain in the index until it is committed.
pub(super) struct Removal<'a> {
    pub(super) change: &'a mut dyn Transaction,
    pub(super) counters: &'a mut Counters,
    pub(super) cache: &'a FeatureCache,
    pub(super) live: &'a LiveCollection,
    /// All documents that the transaction deletes, including the current one.
    pub(super) removed: &'a HashSet<u64>,
    pub(super) marks: &'a mut Marks,
}

impl Removal<'_> {
    /// Deletes the rows of a document and takes it out of its cluster.
    pub(super) fn remove(&mut self, document: &Removed<'_>) -> Result<()> {
        let live = self.live;
        let mut clusters = ClusterChanges {
            change: &mut *self.change,
            counters: &mut *self.counters,
            cache: self.cache,
            live,
            removed: self.removed,
            marks: &mut *self.marks,
        };
        let member = clusters.member(document.number)?;
        if let Some(member) = member {
            clusters.leave(&member)?;
        }
        clusters.change.remove_document(document.number)?;
        let Some(member) = member else { return Ok(()) };
        match live.linkage {
            LiveLinkage::Cohesive => clusters.replace_center(document, &member),
            LiveLinkage::Online => clusters.queue_links(&member),
            LiveLinkage::Components => match clusters.row(member.cluster)?.size {
                0 => Ok(()),
                _ => clusters.queue_members(member.cluster, 0),
            },
        }
    }
}

impl ClusterChanges<'_> {
    /// Finds a new center for a cohesive cluster whose center was deleted.
    ///
    /// If the oldest remaining document is a copy of the center, it matches the same documents and takes the place of the
    /// center. Documents with other texts are then assigned again only if there may be a center between the two that they
    /// match. In other cases all documents are assigned again.
    fn replace_center(&mut self, center: &Removed<'_>, member: &MemberRow) -> Result<()> {
        let cluster = member.cluster;
        let row = self.row(cluster)?;
        if row.center.is_some() || row.size == 0 {
            return Ok(());
        }
        let Some(oldest) = self.change.read().members(cluster, 0, 1)?.first().copied() else { return Ok(()) };
        let Some(successor) = self.copy_of(center, oldest.document) else {
            return self.queue_members(cluster, oldest.document);
        };
        self.succeed(cluster, oldest.document, &successor.id)?;
        let others_may_move = oldest.document > center.number + 1 && successor.remaining < row.size;
        if others_may_move { self.queue_members(cluster, oldest.document + 1) } else { Ok(()) }
    }

    /// Returns the id of a document if it has the text of the deleted center and matches the same documents.
    fn copy_of(&self, center: &Removed<'_>, document: u64) -> Option<Successor> {
        let engine = self.live.engine();
        let date = engine.get(center.id)?.published;
        let copy = engine.later_copies(center.id).find(|copy| !self.removed.contains(&copy.number))?;
        let has_same_window = self.live.row.window_days.is_none() || copy.published == date;
        // With several deletions in the transaction, some of the copies may be among them. With a window, some may be in
        // other clusters.
        let all_remain = self.removed.len() == 1 && self.live.row.window_days.is_none();
        let remaining = if all_remain { engine.copies(center.id).saturating_sub(1) as u64 } else { 0 };
        (copy.number == document && has_same_window).then(|| Successor { id: copy.id.clone(), remaining })
    }

    /// Queues the documents that had joined a deleted online document.
    fn queue_links(&mut self, member: &MemberRow) -> Result<()> {
        if self.change.read().joined(member.document, 0, 1)?.is_empty() {
            return Ok(());
        }
        self.queue(TaskKind::Links, member.document, member.cluster)
    }
}

/// A copy that takes the place of a deleted center.
struct Successor {
    id: DocId,
    /// Number of remaining documents with the text of the center, or 0 if it is not known.
    remaining: u64,
}
