//! Deletion of documents from the store, the index and their clusters.
//!
//! A deletion changes a bounded number of rows, however large the cluster is. What the remaining documents need is queued
//! (`tasks.rs`) in the same transaction.

use super::clusters::{ClusterChanges, Marks};
use super::events::stored_event;
use super::live::{LiveCollection, LiveLinkage};
use super::writer::Writer;
use crate::error::Result;
use crate::model::EventKind;
use crate::rows::{MemberRow, Turn};
use crate::store::Transaction;
use sameish::DocId;
use sameish::cluster::ClusterId;
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
                let mut clusters = ClusterChanges {
                    change: &mut *change,
                    counters,
                    cache: &shared.cache,
                    live,
                    removed: &removed,
                    marks: marks.last_mut().unwrap_or_else(|| unreachable!("one was just added")),
                    memo: None,
                };
                let cluster = clusters.remove(&Removed { number, id: &deletion.id })?;
                let id = deletion.id.clone();
                let event = stored_event(live.row.number, EventKind::Deleted, number, id, cluster, None);
                change.put_event(&event)?;
            }
            // The newest document may be among the deleted ones. The time of the last arrival is therefore stored separately.
            if let (true, Some(time)) = (existed.contains(&true), live.last_arrival()) {
                change.put_last_arrival(live.row.number, time)?;
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
            engine.get(&deletion.id).inspect(|stored| live.forget_rank(stored.number));
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

impl ClusterChanges<'_> {
    /// Deletes the rows of a document and takes it out of its cluster. It remains in the index until the commit, and must be
    /// one of the `removed` documents. Returns the cluster that showed it.
    pub(super) fn remove(&mut self, document: &Removed<'_>) -> Result<Option<ClusterId>> {
        let member = self.member(document.number)?;
        let mut was_center = false;
        if let Some(member) = member {
            was_center = self.row(member.cluster)?.center == Some(document.number);
            self.leave(&member)?;
        }
        self.change.remove_document(document.number)?;
        if self.live.named().ids.contains(document.id) {
            self.queue_edits()?;
        }
        let Some(member) = member else { return Ok(None) };
        self.update_listed(Some(member), None)?;
        match self.live.linkage {
            // If the cluster has no center, all its documents are already queued.
            LiveLinkage::Cohesive if !was_center => {}
            LiveLinkage::Cohesive => self.replace_center(document, &member)?,
            LiveLinkage::Online => self.queue_links(&member)?,
            LiveLinkage::Components => self.queue_component(&member)?,
        }
        Ok(Some(member.shown()))
    }

    /// Finds a new center for a cohesive cluster whose center was deleted.
    ///
    /// If the oldest remaining document is a copy of the center, it matches the same documents and takes the place of the
    /// center. Documents with other texts are then assigned again only if there may be a center between the two that they
    /// match. In other cases, and if documents do not become centers in order of arrival, all documents are assigned again.
    fn replace_center(&mut self, center: &Removed<'_>, member: &MemberRow) -> Result<()> {
        let cluster = member.cluster;
        let row = self.row(cluster)?;
        let Some(oldest) = self.next_member(cluster, Turn::default())? else { return Ok(()) };
        let successor = if self.live.has_ranks() { None } else { self.copy_of(center, oldest.document) };
        let Some(successor) = successor else { return self.queue_members(cluster, oldest.turn()) };
        self.succeed(cluster, oldest.document, &successor.id)?;
        let others_may_move = oldest.document > center.number + 1 && successor.remaining < row.size;
        if others_may_move { self.queue_members(cluster, oldest.next_turn()) } else { Ok(()) }
    }

    /// Returns the id of a document if it has the text of the deleted center and matches the same documents.
    fn copy_of(&self, center: &Removed<'_>, document: u64) -> Option<Successor> {
        let engine = self.live.engine();
        let date = engine.get(center.id)?.published;
        let copy = engine.later_copies(center.id).find(|copy| !self.removed.contains(&copy.number))?;
        let has_window = self.live.periods().window_days.is_some();
        let has_same_window = !has_window || copy.published == date;
        // With a window, some copies may be in other clusters. All documents that the transaction deletes may be copies.
        let copies = if has_window { 0 } else { engine.copies(center.id) };
        let remaining = copies.saturating_sub(self.removed.len()) as u64;
        (copy.number == document && has_same_window).then(|| Successor { id: copy.id.clone(), remaining })
    }
}

/// A copy that takes the place of a deleted center.
struct Successor {
    id: DocId,
    /// Least number of remaining documents with the text of the center.
    remaining: u64,
}
