//! Clusters as a transaction changes them: which cluster a document joins, and the rows of clusters.
//!
//! | linkage | a document joins | clusters |
//! |---|---|---|
//! | `cohesive` | the first center before it in turn that it matches, or becomes a center | a center and the documents that joined it |
//! | `online` | its best earlier match; a text that is too short is a cluster of its own | the trees of these links |
//! | `components` | all earlier matches | the connected components |
//!
//! In each case the clusters are those of `sameish cluster` for the documents in order of their numbers or, with the linkage
//! `cohesive`, in order of their turns ([`Turn`]), which a collection can derive from dates or lengths.

mod cohesive;
mod components;
mod online;

#[cfg(test)]
pub(super) use cohesive::LATER_PER_STEP;

use super::live::{LiveCollection, LiveLinkage};
use super::neighbors::{Neighbors, Query, Searched, Subject};
use super::texts::{FeatureCache, SearchMemo};
use crate::error::{Error, Result};
use crate::rows::{COUNT_POSITION, ClusterRow, Counters, MemberRow, TaskKind, TaskRow, Turn};
use crate::store::{Read, Transaction};
use sameish::cluster::ClusterId;
use sameish::{DocId, Search, Status};
use std::collections::HashSet;

/// Changes to the clusters of a collection in a transaction.
pub(super) struct ClusterChanges<'a> {
    pub(super) change: &'a mut dyn Transaction,
    pub(super) counters: &'a mut Counters,
    pub(super) cache: &'a FeatureCache,
    pub(super) live: &'a LiveCollection,
    /// Documents that the transaction deletes.
    pub(super) removed: &'a HashSet<u64>,
    pub(super) marks: &'a mut Marks,
    /// If set, documents are assigned again in units.
    pub(super) memo: Option<&'a SearchMemo>,
}

/// Maximum number of documents linked to a center that one unit counts.
pub(super) const LINKS_PER_UNIT: usize = 64;

/// Whether a unit of work is complete.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Unit {
    Done,
    /// Nothing was changed. The next unit must repeat the call, and continues its search.
    Paused,
}

/// Marks of centers in the index that a transaction changed, to undo them if it fails.
#[derive(Default)]
pub(super) struct Marks(Vec<ChangedMark>);

struct ChangedMark {
    id: DocId,
    was_center: bool,
}

impl Marks {
    fn set(&mut self, live: &LiveCollection, id: &DocId, is_center: bool) {
        let mut engine = live.engine_mut();
        let was_center = engine.get(id).is_some_and(|stored| stored.is_center);
        if was_center != is_center && engine.set_center(id, is_center) {
            self.0.push(ChangedMark { id: id.clone(), was_center });
        }
    }

    /// Restores the marks before the transaction.
    pub(super) fn undo(self, live: &LiveCollection) {
        let mut engine = live.engine_mut();
        for ChangedMark { id, was_center } in self.0.into_iter().rev() {
            engine.set_center(&id, was_center);
        }
    }
}

/// Where a new document was placed.
pub(super) struct Placement {
    pub(super) cluster: ClusterId,
    /// Whether the document is the center of a cohesive cluster.
    pub(super) is_center: bool,
}

impl ClusterChanges<'_> {
    fn read(&self) -> &dyn Read {
        self.change.read()
    }

    pub(super) fn neighbors(&self) -> Neighbors<'_> {
        let ClusterChanges { live, cache, removed, memo, .. } = *self;
        Neighbors { live, cache, read: self.change.read(), removed, memo }
    }

    fn collection(&self) -> u32 {
        self.live.row.number
    }

    /// Adds a new document to a cluster. `known` are its matches.
    pub(super) fn place(
        &mut self,
        subject: Subject<'_>,
        status: Status,
        known: &Search,
    ) -> Result<Placement> {
        let document = subject.number;
        if !self.live.linkage.joins(status) {
            return Ok(Placement { cluster: self.start_cluster(document)?, is_center: false });
        }
        let joined = match self.live.linkage {
            LiveLinkage::Cohesive => return self.place_at_center(subject, known),
            LiveLinkage::Online => self.neighbors().best_link(subject, Some(known))?.complete(),
            LiveLinkage::Components => {
                let matches = self.neighbors().earlier(subject, Some(known))?.complete();
                return self.place_in_component(document, None, &matches);
            }
        };
        let member = joined.map(|joined| self.member(joined)).transpose()?.flatten();
        let cluster = match member {
            Some(member) => {
                self.join(document, member.cluster, joined)?;
                member.cluster
            }
            None => self.start_cluster(document)?,
        };
        Ok(Placement { cluster, is_center: false })
    }

    /// Assigns a stored document again.
    pub(super) fn assign_again(&mut self, document: u64) -> Result<Unit> {
        let Some(member) = self.member(document)? else { return Ok(Unit::Done) };
        let row = match self.read().document(document) {
            Ok(Some(row)) => row,
            // Without its text, an online document keeps no link. `verify` reports the damage.
            Ok(None) | Err(Error::Damaged { .. }) => {
                if self.live.linkage == LiveLinkage::Online {
                    self.start_part(member)?;
                }
                return Ok(Unit::Done);
            }
            Err(error) => return Err(error),
        };
        let id = &row.document.id;
        let subject = Subject { query: Query::Stored(id), number: document, moment: row.moment() };
        match self.live.linkage {
            LiveLinkage::Cohesive => self.assign_to_center(&row, member, subject),
            LiveLinkage::Online => self.assign_to_best(member, subject),
            LiveLinkage::Components => {
                let Searched::Complete(matches) = self.neighbors().earlier(subject, None)? else {
                    return Ok(Unit::Paused);
                };
                self.place_in_component(document, Some(member), &matches)?;
                Ok(Unit::Done)
            }
        }
    }

    /// Returns the membership of a document, or `None` if it is damaged, which `verify` reports.
    pub(super) fn member(&self, document: u64) -> Result<Option<MemberRow>> {
        undamaged(self.read().member(document))
    }

    /// Returns the first undamaged member of a cluster whose turn is `from` or later.
    pub(super) fn next_member(&self, cluster: ClusterId, mut from: Turn) -> Result<Option<MemberRow>> {
        loop {
            let Some((turn, row)) = self.members_in_turn(cluster, from, 1)?.pop() else { return Ok(None) };
            if let Some(row) = undamaged(row.map(Some))? {
                return Ok(Some(row));
            }
            from = Turn { document: turn.document + 1, ..turn };
        }
    }

    /// Returns members of a cluster whose turn is `from` or later, in this order. Damaged ones are errors next to their turns.
    fn members_in_turn(
        &self,
        cluster: ClusterId,
        from: Turn,
        limit: usize,
    ) -> Result<Vec<(Turn, Result<MemberRow>)>> {
        if self.live.has_ranks() {
            return self.read().ranked_members(cluster, from, limit);
        }
        let first = from.position.max(from.document);
        let members = self.read().members(cluster, first, limit)?;
        Ok(members.into_iter().map(|(number, row)| (Turn::new(None, number), row)).collect())
    }

    /// Returns the first document with an undamaged membership and a number of at least `from` that joined a document.
    fn next_joined(&self, document: u64, from: u64) -> Result<Option<MemberRow>> {
        first_undamaged(from, |from| self.read().joined(document, from, 1))
    }

    /// Returns the tasks of a cluster. If one is damaged, returns none: `verify` reports it, and clusters can be wrong until
    /// they are rebuilt.
    fn tasks_of(&self, cluster: ClusterId) -> Result<Vec<TaskRow>> {
        Ok(undamaged(self.read().tasks_of(cluster).map(Some))?.unwrap_or_default())
    }

    /// Returns the row of a cluster. Clusters of one document have no stored row.
    pub(super) fn row(&self, cluster: ClusterId) -> Result<ClusterRow> {
        match self.read().cluster(cluster) {
            Ok(Some(row)) => Ok(row),
            Ok(None) => {
                let only = self.read().members(cluster, 0, 1)?.first().map(|(document, _)| *document);
                Ok(ClusterRow { cluster, size: only.is_some().into(), center: only, chained: 0 })
            }
            Err(Error::Damaged { .. }) => self.recounted(cluster),
            Err(error) => Err(error),
        }
    }

    /// Computes the row of a cluster, whose stored row is damaged, from its members. The center is the first one in turn.
    ///
    /// This is the only work that is not divided into units. It happens once, because the caller stores the row.
    fn recounted(&self, cluster: ClusterId) -> Result<ClusterRow> {
        let mut row = ClusterRow { cluster, size: 0, center: None, chained: 0 };
        let mut from = Turn::default();
        loop {
            let page = self.members_in_turn(cluster, from, 1_000)?;
            let Some((last, _)) = page.last() else { return Ok(row) };
            from = Turn { document: last.document + 1, ..*last };
            row.size += page.len() as u64;
            row.center = row.center.or(page.first().map(|(turn, _)| turn.document));
            for (_, member) in page {
                let joined = undamaged(member.map(Some))?.and_then(|member| member.joined);
                row.chained += u64::from(row.is_chained(joined));
            }
        }
    }

    pub(super) fn put_row(&mut self, row: ClusterRow) -> Result<()> {
        self.change.put_cluster(self.live.row.number, &row)
    }

    fn start_cluster(&mut self, document: u64) -> Result<ClusterId> {
        let cluster = self.counters.next_cluster();
        self.put_member(document, cluster, None)?;
        Ok(cluster)
    }

    /// Makes a document the center of its cluster if the cluster has none, and of a new cluster otherwise.
    fn start_part(&mut self, member: MemberRow) -> Result<()> {
        let row = self.row(member.cluster)?;
        if row.center == Some(member.document) {
            return self.put_member(member.document, member.cluster, None);
        }
        if row.center.is_some() {
            self.leave(&member)?;
            let cluster = self.start_cluster(member.document)?;
            return self.note_moved(&member, cluster);
        }
        self.put_member(member.document, member.cluster, None)?;
        let row = ClusterRow { center: Some(member.document), ..row };
        let row = self.with_chains(row)?;
        self.put_row(row)
    }

    /// Counts the chained documents of a cluster whose center changed: all except for the center and those that are linked to
    /// it. There can be any number of the latter, so a task subtracts those that do not fit into this unit.
    fn with_chains(&mut self, row: ClusterRow) -> Result<ClusterRow> {
        if self.live.linkage == LiveLinkage::Cohesive {
            return Ok(row);
        }
        if let Some(task) = self.count_of(row.cluster)? {
            self.change.remove_task(&task)?;
        }
        let Some(center) = row.center else { return Ok(ClusterRow { chained: 0, ..row }) };
        // While clusters are being merged, the center can still be in the other one.
        let holds_center = self.member(center)?.is_some_and(|member| member.cluster == row.cluster);
        let others = row.size.saturating_sub(u64::from(holds_center));
        self.count_links(ClusterRow { chained: others, ..row }, 0)
    }

    /// Subtracts documents from a number on that are linked to the center from the chained ones, and queues the rest.
    fn count_links(&mut self, mut row: ClusterRow, from: u64) -> Result<ClusterRow> {
        let Some(center) = row.center else { return Ok(row) };
        let page = self.read().joined(center, from, LINKS_PER_UNIT)?;
        let next = page.last().map(|(document, _)| document + 1).filter(|_| page.len() == LINKS_PER_UNIT);
        for (_, member) in page {
            let member = undamaged(member.map(Some))?;
            let is_linked = member.is_some_and(|member| member.cluster == row.cluster);
            row.chained = row.chained.saturating_sub(u64::from(is_linked));
        }
        if let Some(next) = next {
            let (collection, cluster) = (self.collection(), row.cluster);
            let (kind, target) = (TaskKind::Count, ClusterId(next));
            self.live.set_has_tasks(true);
            self.change.put_task(&TaskRow { collection, position: COUNT_POSITION, cluster, kind, target })?;
        }
        Ok(row)
    }

    /// Continues to count the documents that are linked to the center of a cluster.
    pub(super) fn count_more_links(&mut self, task: &TaskRow) -> Result<()> {
        self.change.remove_task(task)?;
        let row = self.row(task.cluster)?;
        let row = self.count_links(row, task.target.0)?;
        self.put_row(row)
    }

    /// Returns the task that counts the documents that are linked to the center of a cluster.
    fn count_of(&self, cluster: ClusterId) -> Result<Option<TaskRow>> {
        if !self.live.has_tasks() {
            return Ok(None);
        }
        Ok(self.tasks_of(cluster)?.into_iter().find(|task| task.kind == TaskKind::Count))
    }

    /// Returns `true` if the row of a cluster counts a document as chained. While the documents that are linked to the center
    /// are being counted, it includes those that were not reached yet.
    fn counts_as_chained(&self, row: &ClusterRow, document: u64, joined: Option<u64>) -> Result<bool> {
        if joined.is_none() || row.center.is_none() || row.is_chained(joined) {
            return Ok(row.is_chained(joined));
        }
        Ok(self.count_of(row.cluster)?.is_some_and(|task| document >= task.target.0))
    }

    /// Adds a document to a cluster.
    fn join(&mut self, document: u64, cluster: ClusterId, joined: Option<u64>) -> Result<()> {
        let mut row = self.row(cluster)?;
        row.size += 1;
        row.chained += u64::from(self.counts_as_chained(&row, document, joined)?);
        self.put_member(document, cluster, joined)?;
        self.put_row(row)
    }

    /// Removes a document from the row of its cluster. Its own row must be replaced or deleted afterwards.
    pub(super) fn leave(&mut self, member: &MemberRow) -> Result<()> {
        let mut row = self.row(member.cluster)?;
        row.size = row.size.saturating_sub(1);
        let was_chained = self.counts_as_chained(&row, member.document, member.joined)?;
        row.chained = row.chained.saturating_sub(u64::from(was_chained));
        if row.center == Some(member.document) {
            row.center = None;
            row.chained = 0;
        }
        self.put_row(row)
    }

    fn move_to(&mut self, member: MemberRow, cluster: ClusterId, joined: Option<u64>) -> Result<()> {
        if member.cluster != cluster {
            self.leave(&member)?;
            self.join(member.document, cluster, joined)?;
            return self.note_moved(&member, cluster);
        }
        if member.joined == joined {
            return Ok(());
        }
        let mut row = self.row(cluster)?;
        let was_chained = self.counts_as_chained(&row, member.document, member.joined)?;
        let is_chained = self.counts_as_chained(&row, member.document, joined)?;
        row.chained = row.chained + u64::from(is_chained) - u64::from(was_chained).min(row.chained);
        self.put_member(member.document, cluster, joined)?;
        self.put_row(row)
    }

    /// Marks a document as a center in the index, or removes the mark.
    pub(super) fn mark(&mut self, id: &DocId, is_center: bool) {
        self.marks.set(self.live, id, is_center);
    }

    /// Makes a copy of the deleted center of a cohesive cluster its center.
    pub(super) fn succeed(&mut self, cluster: ClusterId, successor: u64, id: &DocId) -> Result<()> {
        let row = self.row(cluster)?;
        self.put_row(ClusterRow { center: Some(successor), ..row })?;
        self.marks.set(self.live, id, true);
        Ok(())
    }

    /// Queues the members of a cluster from a turn on to be assigned again.
    pub(super) fn queue_members(&mut self, cluster: ClusterId, from: Turn) -> Result<()> {
        let tasks = self.tasks_of(cluster)?;
        match tasks.into_iter().find(|task| task.kind == TaskKind::Members) {
            Some(task) if task.turn() <= from => Ok(()),
            Some(task) => {
                self.change.remove_task(&task)?;
                self.queue_turn(TaskKind::Members, from, cluster)
            }
            None => self.queue_turn(TaskKind::Members, from, cluster),
        }
    }

    pub(super) fn queue(&mut self, kind: TaskKind, position: u64, cluster: ClusterId) -> Result<()> {
        self.queue_turn(kind, Turn { position, document: 0 }, cluster)
    }

    /// Queues work at the turn of a document. Without ranks, the position is the document.
    pub(super) fn queue_turn(&mut self, kind: TaskKind, turn: Turn, cluster: ClusterId) -> Result<()> {
        let collection = self.collection();
        let document = if self.live.has_ranks() { turn.document } else { 0 };
        self.live.set_has_tasks(true);
        let Turn { position, .. } = turn;
        self.change.put_task(&TaskRow { collection, position, cluster, kind, target: ClusterId(document) })
    }
}

/// Replaces a damaged row, which `verify` reports, by `None`.
pub(super) fn undamaged<T>(row: Result<Option<T>>) -> Result<Option<T>> {
    match row {
        Err(Error::Damaged { .. }) => Ok(None),
        row => row,
    }
}

/// Returns the first undamaged row. `read` returns at most one row from a number on, and damaged ones, which `verify` reports,
/// are passed over: a damaged row does not mean that none is left.
pub(super) fn first_undamaged(
    mut from: u64,
    read: impl Fn(u64) -> Result<Vec<(u64, Result<MemberRow>)>>,
) -> Result<Option<MemberRow>> {
    loop {
        let Some((number, row)) = read(from)?.pop() else { return Ok(None) };
        if let Some(row) = undamaged(row.map(Some))? {
            return Ok(Some(row));
        }
        from = number + 1;
    }
}
