//! The rows that edits change.
//!
//! `places` has the cluster of each document that edits name, and of the other documents of a cluster of the linkage. A membership is
//! written with the cluster that these rows give. When a named document has another cluster of the linkage, a task finds the
//! places again after the other work on clusters. The documents that edits do not name are then moved in pages.

use super::Named;
use super::places::{NamedDocuments, places};
use crate::catalog::clusters::{ClusterChanges, undamaged};
use crate::error::Result;
use crate::rows::{ClusterRow, EDITS_POSITION, EditRow, MemberRow, Placed, TaskKind, TaskRow};
use crate::store::Read;
use sameish::DocId;
use sameish::cluster::ClusterId;
use std::collections::{BTreeMap, BTreeSet, HashMap};

/// Number of documents that one unit of work moves.
const SHOWN_PER_UNIT: usize = 64;
/// Number of documents that an edit moves before the call returns. A task moves the others.
const SHOWN_AT_ONCE: usize = 1_024;

/// Returns the undamaged edits of a collection. `verify` reports damaged ones.
pub(in crate::catalog) fn readable_edits(read: &dyn Read, collection: u32) -> Result<Vec<EditRow>> {
    let edits = read.edits(collection)?.into_iter().map(|(_, edit)| undamaged(edit.map(Some)));
    Ok(edits.collect::<Result<Vec<Option<EditRow>>>>()?.into_iter().flatten().collect())
}

/// Finds the documents that edits name. `cluster_of` returns the cluster that the linkage gives a document.
pub(in crate::catalog) fn named_documents(
    read: &dyn Read,
    collection: u32,
    edits: &[EditRow],
    mut cluster_of: impl FnMut(u64) -> Result<Option<ClusterId>>,
) -> Result<NamedDocuments> {
    let mut named = NamedDocuments { numbers: HashMap::new(), clusters: BTreeMap::new() };
    for id in Named::of(edits).ids {
        let Some(number) = read.number_of(collection, &id)? else { continue };
        if let Some(cluster) = cluster_of(number)? {
            named.clusters.insert(number, cluster);
        }
        named.numbers.insert(id, number);
    }
    Ok(named)
}

impl ClusterChanges<'_> {
    /// Writes the membership of a document, with the cluster that edits give.
    pub(in crate::catalog) fn put_member(
        &mut self,
        document: u64,
        cluster: ClusterId,
        joined: Option<u64>,
    ) -> Result<()> {
        let collection = self.live.row.number;
        let rank = self.live.rank(document);
        let row = MemberRow { document, collection, cluster, joined, edited: None, rank };
        if !self.live.has_edits() {
            return self.change.put_member(&row);
        }
        let before = self.member(document)?;
        let place = self.change.read().place(collection, Placed::Document(document))?;
        if place.is_some() && before.is_none_or(|before| before.cluster != cluster) {
            self.queue_edits()?;
        }
        let row = MemberRow { edited: self.place_of(document, cluster)?, ..row };
        self.change.put_member(&row)?;
        self.update_listed(before, Some(row))
    }

    /// Returns the cluster that edits give a document, if it is another one than that of the linkage.
    fn place_of(&self, document: u64, cluster: ClusterId) -> Result<Option<ClusterId>> {
        let read = self.change.read();
        let collection = self.live.row.number;
        let place = match read.place(collection, Placed::Document(document))? {
            Some(place) => Some(place),
            None => read.place(collection, Placed::Others(cluster))?,
        };
        Ok(place.filter(|place| *place != cluster))
    }

    /// Stores or deletes the rows of clusters that lists show with a document or without it.
    pub(in crate::catalog) fn update_listed(
        &mut self,
        before: Option<MemberRow>,
        after: Option<MemberRow>,
    ) -> Result<()> {
        let is_edited = |row: &MemberRow| row.edited.is_some();
        if !before.iter().chain(&after).any(is_edited) {
            return Ok(());
        }
        let shown: BTreeSet<ClusterId> = before.iter().chain(&after).map(MemberRow::shown).collect();
        for cluster in shown {
            let row: ClusterRow = self.row(cluster)?;
            self.put_row(row)?;
        }
        Ok(())
    }

    /// Queues the search for the clusters that edits give.
    pub(in crate::catalog) fn queue_edits(&mut self) -> Result<()> {
        self.queue(TaskKind::Edits, EDITS_POSITION, ClusterId(0))
    }

    /// Finds the clusters that edits give. Moves the documents that they name, and queues clusters whose other documents move.
    pub(in crate::catalog) fn apply_edits(&mut self) -> Result<Vec<ClusterId>> {
        let collection = self.live.row.number;
        let wanted = self.wanted_places()?;
        let stored: BTreeMap<Placed, ClusterId> =
            self.change.read().places(collection)?.into_iter().collect();
        let differs = |placed: &&Placed| stored.get(placed) != wanted.get(placed);
        let changed: BTreeSet<Placed> = stored.keys().chain(wanted.keys()).filter(differs).copied().collect();
        for &placed in &changed {
            self.change.put_place(collection, placed, wanted.get(&placed).copied())?;
        }
        let mut clusters = Vec::new();
        for placed in changed {
            match placed {
                Placed::Document(document) => self.show_again(document)?,
                Placed::Others(cluster) => {
                    self.queue(TaskKind::Show, EDITS_POSITION, cluster)?;
                    clusters.push(cluster);
                }
            }
        }
        Ok(clusters)
    }

    fn wanted_places(&self) -> Result<BTreeMap<Placed, ClusterId>> {
        let read = self.change.read();
        let collection = self.live.row.number;
        let edits = readable_edits(read, collection)?;
        let cluster_of = |number| Ok(self.member(number)?.map(|member| member.cluster));
        Ok(places(&edits, &named_documents(read, collection, &edits, cluster_of)?))
    }

    /// Applies a new edit, or the end of one, as far as it moves few documents.
    pub(super) fn apply_at_once(&mut self) -> Result<()> {
        let mut left = SHOWN_AT_ONCE / SHOWN_PER_UNIT;
        for cluster in self.apply_edits()? {
            let collection = self.live.row.number;
            let mut task = Some(TaskRow {
                collection,
                position: EDITS_POSITION,
                cluster,
                kind: TaskKind::Show,
                target: ClusterId(0),
            });
            while let Some(next) = task.filter(|_| left > 0) {
                task = self.show_more(&next)?;
                left -= 1;
            }
        }
        Ok(())
    }

    /// Moves one page of the documents of a cluster into the cluster that edits give. Returns the rest of the task.
    pub(in crate::catalog) fn show_more(&mut self, task: &TaskRow) -> Result<Option<TaskRow>> {
        self.change.remove_task(task)?;
        let page = self.change.read().members(task.cluster, task.target.0, SHOWN_PER_UNIT)?;
        let last = page.last().map(|(document, _)| *document).filter(|_| page.len() == SHOWN_PER_UNIT);
        for (document, _) in page {
            self.show_again(document)?;
        }
        let rest = last.map(|last| TaskRow { target: ClusterId(last + 1), ..*task });
        rest.map(|rest| self.change.put_task(&rest)).transpose()?;
        Ok(rest)
    }

    /// Shows a document in the cluster that edits give.
    fn show_again(&mut self, document: u64) -> Result<()> {
        let Some(member) = self.member(document)? else { return Ok(()) };
        let edited = self.place_of(document, member.cluster)?;
        if edited == member.edited {
            return Ok(());
        }
        let row = MemberRow { edited, ..member };
        self.change.put_member(&row)?;
        self.update_listed(Some(member), Some(row))?;
        self.note_moved(&member, member.cluster)
    }
}

impl Named {
    /// Collects the ids that edits name.
    pub(in crate::catalog) fn of(edits: &[EditRow]) -> Named {
        let ids = edits.iter().flat_map(|edit| edit.documents.iter().flatten()).cloned();
        Named { ids: ids.collect::<std::collections::HashSet<DocId>>() }
    }

    pub(in crate::catalog) fn read(read: &dyn Read, collection: u32) -> Result<Named> {
        Ok(Named::of(&readable_edits(read, collection)?))
    }
}
