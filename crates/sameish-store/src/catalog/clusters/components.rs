//! Connected components: a document joins all documents that it matches.

use super::{ClusterChanges, Placement, undamaged};
use crate::error::Result;
use crate::rows::{ClusterRow, FIRST_DOCUMENT, MERGE_POSITION, MemberRow, TaskKind, TaskRow, Turn};
use sameish::cluster::ClusterId;
use std::collections::{BTreeMap, HashSet};

impl ClusterChanges<'_> {
    /// Puts a document into the cluster of its matches, and merges these if they are several.
    pub(super) fn place_in_component(
        &mut self,
        document: u64,
        member: Option<MemberRow>,
        matches: &[u64],
    ) -> Result<Placement> {
        // The first match in each cluster, before and after merges.
        let mut stored: BTreeMap<ClusterId, u64> = BTreeMap::new();
        for &found in matches {
            if let Some(other) = self.member(found)? {
                let first = stored.entry(other.cluster).or_insert(found);
                *first = found.min(*first);
            }
        }
        let mut clusters: BTreeMap<ClusterId, u64> = BTreeMap::new();
        for (cluster, found) in stored {
            let first = clusters.entry(self.merge_target(cluster)?).or_insert(found);
            *first = found.min(*first);
        }
        let cluster = match self.component_to_join(member, &clusters)? {
            Some(target) => {
                let joined = clusters.get(&target).copied();
                match member {
                    Some(member) => self.move_to(member, target, joined)?,
                    None => self.join(document, target, joined)?,
                }
                let others: Vec<ClusterId> =
                    clusters.into_keys().filter(|cluster| *cluster != target).collect();
                if member.is_none() && !others.is_empty() && self.has_tasks()? {
                    self.queue(TaskKind::Document, document, target)?;
                } else {
                    others.into_iter().try_for_each(|other| self.merge(other, target, document))?;
                }
                target
            }
            None => match member {
                Some(member) => {
                    self.start_part(member)?;
                    self.member(document)?.map_or(member.cluster, |member| member.cluster)
                }
                None => self.start_cluster(document)?,
            },
        };
        Ok(Placement { cluster, is_center: false })
    }

    /// Returns `true` if work on the clusters of the collection is queued.
    ///
    /// A new document then does not merge clusters, but is assigned again when the work reaches its number. While documents are
    /// assigned again in order, the documents of a cluster before that position must be connected by documents before that
    /// position: otherwise the deletion of a later one, which may be in another cluster at that time, would not divide them.
    fn has_tasks(&self) -> Result<bool> {
        Ok(undamaged(self.read().first_task(self.collection()))?.is_some())
    }

    /// Returns the cluster that a document with these matches joins: one whose documents are being assigned again, or else
    /// the one with the oldest center.
    fn component_to_join(
        &self,
        member: Option<MemberRow>,
        clusters: &BTreeMap<ClusterId, u64>,
    ) -> Result<Option<ClusterId>> {
        if let Some(member) = member.filter(|member| clusters.contains_key(&member.cluster)) {
            return Ok(Some(member.cluster));
        }
        let mut oldest: Option<(u64, ClusterId)> = None;
        for &cluster in clusters.keys() {
            if self.is_assigned_again(cluster)? {
                return Ok(Some(cluster));
            }
            let center = self.row(cluster)?.center.unwrap_or(u64::MAX);
            if oldest.is_none_or(|(other, _)| center < other) {
                oldest = Some((center, cluster));
            }
        }
        Ok(oldest.map(|(_, cluster)| cluster))
    }

    /// Returns `true` if documents of a cluster are queued to be assigned again.
    fn is_assigned_again(&self, cluster: ClusterId) -> Result<bool> {
        Ok(self.tasks_of(cluster)?.iter().any(|task| task.kind == TaskKind::Members))
    }

    /// Returns the cluster that the documents of a cluster are moved to, or the cluster itself.
    fn merge_target(&self, mut cluster: ClusterId) -> Result<ClusterId> {
        let mut seen = HashSet::new();
        while seen.insert(cluster) {
            let tasks = self.tasks_of(cluster)?;
            match tasks.iter().find(|task| task.kind == TaskKind::Merge) {
                Some(task) => cluster = task.target,
                None => break,
            }
        }
        Ok(cluster)
    }

    /// Queues the documents of a cluster to be moved to another one, because the document `via` matches documents of both.
    fn merge(&mut self, cluster: ClusterId, target: ClusterId, via: u64) -> Result<()> {
        for task in self.tasks_of(cluster)? {
            if task.kind == TaskKind::Members {
                self.change.remove_task(&task)?;
                self.queue_members(target, task.turn())?;
            }
        }
        let center = self.row(cluster)?.center;
        let mut row = self.row(target)?;
        let later = row.center.zip(center).map(|(own, other)| own.max(other));
        if let Some(other) = later.map(|other| self.member(other)).transpose()?.flatten() {
            self.put_member(other.document, other.cluster, Some(via))?;
        }
        row.center = row.center.into_iter().chain(center).min();
        let row = self.with_chains(row)?;
        self.put_row(row)?;
        let collection = self.collection();
        self.live.set_has_tasks(true);
        self.change.put_task(&TaskRow {
            collection,
            position: MERGE_POSITION,
            cluster,
            kind: TaskKind::Merge,
            target,
        })
    }

    /// Queues the documents of a component to be assigned again after the deletion of one of them.
    ///
    /// If the cluster is being merged into another one, the deleted document may have been what connects the two. Merges come
    /// first in the queue, so all documents are then in the cluster that receives them, and are assigned again there.
    pub(in crate::catalog) fn queue_component(&mut self, deleted: &MemberRow) -> Result<()> {
        let target = self.merge_target(deleted.cluster)?;
        let row = self.row(target)?;
        if row.center == Some(deleted.document) {
            self.put_row(ClusterRow { center: None, chained: 0, ..row })?;
        }
        let collection = self.collection();
        let is_empty = row.size == 0 && self.read().merges_into(collection, target)?.is_empty();
        if is_empty { Ok(()) } else { self.queue_members(target, Turn::new(None, FIRST_DOCUMENT)) }
    }

    /// Moves one document of a cluster that is merged into another. Returns `false` if none is left.
    pub(in crate::catalog) fn move_one(&mut self, task: &TaskRow) -> Result<bool> {
        let Some(member) = self.next_member(task.cluster, Turn::default())? else { return Ok(false) };
        let target = self.merge_target(task.cluster)?;
        if target == task.cluster {
            return Ok(false);
        }
        self.move_to(member, target, member.joined)?;
        Ok(true)
    }
}
