//! Clusters as a transaction changes them: which cluster a document joins, and the rows of clusters.
//!
//! | linkage | a document joins | clusters |
//! |---|---|---|
//! | `cohesive` | the first center before it that it matches, or becomes a center | a center and the documents that joined it |
//! | `online` | its best earlier match | the trees of these links |
//! | `components` | all earlier matches | the connected components |
//!
//! In each case the clusters are those of `sameish cluster` for the documents in order of their numbers.

mod components;

use super::live::{LiveCollection, LiveLinkage};
use super::neighbors::{Neighbors, Query, Subject};
use super::texts::FeatureCache;
use crate::error::{Error, Result};
use crate::rows::{ClusterRow, Counters, DocumentRow, MemberRow, TaskKind, TaskRow};
use crate::store::{Read, Transaction};
use sameish::cluster::ClusterId;
use sameish::{DocId, Search};
use std::collections::{BTreeMap, HashSet};

/// Changes to the clusters of a collection in a transaction.
pub(super) struct ClusterChanges<'a> {
    pub(super) change: &'a mut dyn Transaction,
    pub(super) counters: &'a mut Counters,
    pub(super) cache: &'a FeatureCache,
    pub(super) live: &'a LiveCollection,
    /// Documents that the transaction deletes.
    pub(super) removed: &'a HashSet<u64>,
    pub(super) marks: &'a mut Marks,
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

    fn neighbors(&self) -> Neighbors<'_> {
        Neighbors { live: self.live, cache: self.cache, read: self.change.read(), removed: self.removed }
    }

    fn collection(&self) -> u32 {
        self.live.row.number
    }

    /// Adds a new document to a cluster. `known` are its matches.
    pub(super) fn place(&mut self, subject: Subject<'_>, known: &Search) -> Result<Placement> {
        let document = subject.number;
        let joined = match self.live.linkage {
            LiveLinkage::Cohesive => self.neighbors().first_center(subject, Some(known))?,
            LiveLinkage::Online => self.neighbors().best_link(subject, Some(known))?,
            LiveLinkage::Components => {
                let matches = self.neighbors().earlier(subject, Some(known))?;
                return self.place_in_component(document, None, &matches);
            }
        };
        let member = joined.map(|joined| self.member(joined)).transpose()?.flatten();
        let is_center = self.live.linkage == LiveLinkage::Cohesive && member.is_none();
        let cluster = match member {
            Some(member) => {
                self.join(document, member.cluster, self.stored_link(joined))?;
                member.cluster
            }
            None => self.start_cluster(document)?,
        };
        Ok(Placement { cluster, is_center })
    }

    /// Returns the link that is stored for a document: cohesive documents are linked to their center.
    fn stored_link(&self, joined: Option<u64>) -> Option<u64> {
        joined.filter(|_| self.live.linkage != LiveLinkage::Cohesive)
    }

    /// Assigns a stored document again.
    pub(super) fn assign_again(&mut self, document: u64) -> Result<()> {
        let Some(member) = self.member(document)? else { return Ok(()) };
        let row = match self.read().document(document) {
            Ok(Some(row)) => row,
            // Without its text, an online document keeps no link. `verify` reports the damage.
            Ok(None) | Err(Error::Damaged { .. }) => {
                return if self.live.linkage == LiveLinkage::Online {
                    self.start_part(member)
                } else {
                    Ok(())
                };
            }
            Err(error) => return Err(error),
        };
        let id = &row.document.id;
        let subject = Subject { query: Query::Stored(id), number: document, moment: row.moment() };
        match self.live.linkage {
            LiveLinkage::Cohesive => self.assign_to_center(&row, member, subject),
            LiveLinkage::Online => self.assign_to_best(member, subject),
            LiveLinkage::Components => {
                let matches = self.neighbors().earlier(subject, None)?;
                self.place_in_component(document, Some(member), &matches).map(|_| ())
            }
        }
    }

    fn assign_to_center(&mut self, row: &DocumentRow, member: MemberRow, subject: Subject<'_>) -> Result<()> {
        let id = &row.document.id;
        let document = member.document;
        let was_center = self.live.engine().get(id).is_some_and(|stored| stored.is_center);
        let center = self.neighbors().first_center(subject, None)?;
        let target = center.map(|center| self.member(center)).transpose()?.flatten();
        match target {
            Some(target) => {
                if was_center {
                    self.marks.set(self.live, id, false);
                    self.queue_members(member.cluster, document + 1)?;
                }
                self.move_to(member, target.cluster, None)
            }
            None if was_center => Ok(()),
            None => {
                self.start_part(member)?;
                self.marks.set(self.live, id, true);
                self.queue_matches_of_new_center(subject)
            }
        }
    }

    /// Queues the later documents that a new center takes from centers after it.
    fn queue_matches_of_new_center(&mut self, subject: Subject<'_>) -> Result<()> {
        let own = self.member(subject.number)?.map(|member| member.cluster);
        let read = self.read();
        let has_later_center = |document: u64| -> Result<bool> {
            let Some(member) = undamaged(read.member(document))? else { return Ok(false) };
            let center = read.cluster(member.cluster)?.and_then(|row| row.center);
            Ok(Some(member.cluster) != own && center.is_some_and(|center| center > subject.number))
        };
        let matches = self
            .neighbors()
            .later(subject, &|other| other.is_center || has_later_center(other.number).unwrap_or(false))?;
        let mut first_of_cluster: BTreeMap<ClusterId, u64> = BTreeMap::new();
        for found in matches {
            let Some(member) = self.member(found.number)? else { continue };
            if self.live.engine().get(&found.id).is_some_and(|stored| stored.is_center) {
                self.queue(TaskKind::Document, found.number, member.cluster)?;
            } else {
                let first = first_of_cluster.entry(member.cluster).or_insert(found.number);
                *first = found.number.min(*first);
            }
        }
        first_of_cluster.into_iter().try_for_each(|(cluster, first)| self.queue_members(cluster, first))
    }

    fn assign_to_best(&mut self, member: MemberRow, subject: Subject<'_>) -> Result<()> {
        let best = self.neighbors().best_link(subject, None)?;
        let target = best.map(|best| self.member(best)).transpose()?.flatten();
        let before = member.cluster;
        match target {
            Some(target) => self.move_to(member, target.cluster, best)?,
            None => self.start_part(member)?,
        }
        let moved = self.member(member.document)?.is_some_and(|member| member.cluster != before);
        if moved && !self.read().joined(member.document, 0, 1)?.is_empty() {
            self.queue(TaskKind::Subtree, member.document, before)?;
        }
        Ok(())
    }

    /// Moves the next document into the cluster of the document that it joined. Returns the rest of the task.
    pub(super) fn move_next_child(&mut self, task: &TaskRow) -> Result<Option<TaskRow>> {
        let next = self.read().joined(task.position, task.target.0, 1)?.first().copied();
        let Some((parent, child)) = self.member(task.position)?.zip(next) else { return Ok(None) };
        if child.cluster != parent.cluster {
            self.move_to(child, parent.cluster, child.joined)?;
            if !self.read().joined(child.document, 0, 1)?.is_empty() {
                self.queue(TaskKind::Subtree, child.document, child.cluster)?;
            }
        }
        Ok(Some(TaskRow { target: ClusterId(child.document + 1), ..*task }))
    }

    /// Returns the membership of a document, or `None` if it is damaged, which `verify` reports.
    pub(super) fn member(&self, document: u64) -> Result<Option<MemberRow>> {
        undamaged(self.read().member(document))
    }

    /// Returns the row of a cluster. Clusters of one document have no stored row.
    pub(super) fn row(&self, cluster: ClusterId) -> Result<ClusterRow> {
        if let Some(row) = self.read().cluster(cluster)? {
            return Ok(row);
        }
        let only = self.read().members(cluster, 0, 1)?.first().map(|member| member.document);
        Ok(ClusterRow { cluster, size: only.is_some().into(), center: only, chained: 0 })
    }

    fn put_row(&mut self, row: ClusterRow) -> Result<()> {
        self.change.put_cluster(self.live.row.number, &row)
    }

    fn put_member(&mut self, document: u64, cluster: ClusterId, joined: Option<u64>) -> Result<()> {
        let collection = self.collection();
        self.change.put_member(&MemberRow { document, collection, cluster, joined })
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
            self.start_cluster(member.document)?;
            return Ok(());
        }
        self.put_member(member.document, member.cluster, None)?;
        let row = ClusterRow { center: Some(member.document), ..row };
        let row = self.with_chains(row)?;
        self.put_row(row)
    }

    /// Counts the chains of a cluster whose center changed.
    fn with_chains(&self, row: ClusterRow) -> Result<ClusterRow> {
        if self.live.linkage == LiveLinkage::Cohesive {
            return Ok(row);
        }
        let Some(center) = row.center else { return Ok(ClusterRow { chained: 0, ..row }) };
        let direct = self.read().count_joined(center, row.cluster)?;
        Ok(ClusterRow { chained: (row.size.saturating_sub(1)).saturating_sub(direct), ..row })
    }

    /// Adds a document to a cluster.
    fn join(&mut self, document: u64, cluster: ClusterId, joined: Option<u64>) -> Result<()> {
        let mut row = self.row(cluster)?;
        row.size += 1;
        row.chained += u64::from(is_chained(&row, joined));
        self.put_member(document, cluster, joined)?;
        self.put_row(row)
    }

    /// Removes a document from the row of its cluster. Its own row must be replaced or deleted afterwards.
    pub(super) fn leave(&mut self, member: &MemberRow) -> Result<()> {
        let mut row = self.row(member.cluster)?;
        row.size = row.size.saturating_sub(1);
        row.chained = row.chained.saturating_sub(u64::from(is_chained(&row, member.joined)));
        if row.center == Some(member.document) {
            row.center = None;
            row.chained = 0;
        }
        self.put_row(row)
    }

    fn move_to(&mut self, member: MemberRow, cluster: ClusterId, joined: Option<u64>) -> Result<()> {
        if member.cluster != cluster {
            self.leave(&member)?;
            return self.join(member.document, cluster, joined);
        }
        if member.joined == joined {
            return Ok(());
        }
        let mut row = self.row(cluster)?;
        row.chained = row.chained + u64::from(is_chained(&row, joined))
            - u64::from(is_chained(&row, member.joined)).min(row.chained);
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

    /// Queues the members of a cluster from a number on to be assigned again.
    pub(super) fn queue_members(&mut self, cluster: ClusterId, from: u64) -> Result<()> {
        let tasks = self.read().tasks_of(cluster)?;
        match tasks.into_iter().find(|task| task.kind == TaskKind::Members) {
            Some(task) if task.position <= from => Ok(()),
            Some(task) => {
                self.change.remove_task(&task)?;
                self.queue(TaskKind::Members, from, cluster)
            }
            None => self.queue(TaskKind::Members, from, cluster),
        }
    }

    pub(super) fn queue(&mut self, kind: TaskKind, position: u64, cluster: ClusterId) -> Result<()> {
        let collection = self.collection();
        self.live.set_has_tasks(true);
        self.change.put_task(&TaskRow { collection, position, cluster, kind, target: ClusterId(0) })
    }
}

/// Returns `true` if a document with this link joined through a document other than the center.
fn is_chained(row: &ClusterRow, joined: Option<u64>) -> bool {
    row.center.is_some() && joined.is_some() && joined != row.center
}

/// Replaces a damaged row, which `verify` reports, by `None`.
pub(super) fn undamaged<T>(row: Result<Option<T>>) -> Result<Option<T>> {
    match row {
        Err(Error::Damaged { .. }) => Ok(None),
        row => row,
    }
}
