//! Verification of clusters: their rows, the links and centers of their documents, and the queued work.

use super::{CollectionCheck, REBUILD, reason};
use crate::catalog::clusters::undamaged;
use crate::catalog::live::LiveLinkage;
use crate::error::{Error, Result};
use crate::rows::{ClusterRow, MemberRow, TaskKind, TaskRow};
use sameish::cluster::ClusterId;
use sameish::{DocId, Scratch};
use std::collections::{BTreeMap, BTreeSet, HashSet};

/// The stored clusters of a collection.
#[derive(Default)]
pub(super) struct StoredClusters {
    pub(super) members: BTreeMap<u64, MemberRow>,
    /// Documents with a damaged membership.
    damaged: HashSet<u64>,
    pub(super) clusters: BTreeMap<ClusterId, ClusterRow>,
    pending: PendingClusters,
    /// Whether documents are still being moved because of edits.
    pub(super) has_edit_tasks: bool,
}

/// Clusters with queued work, whose documents may not be final.
#[derive(Default)]
enum PendingClusters {
    /// Work on the whole collection is queued, or a task is damaged, so that it is not known what it changes.
    All,
    Some(HashSet<ClusterId>),
    #[default]
    None,
}

/// What the memberships of a cluster show.
#[derive(Clone, Copy, Default)]
struct ClusterCounts {
    size: u64,
    chained: u64,
}

/// What a document must match to be in its cluster.
#[derive(Clone, Copy)]
enum Anchor {
    Center,
    Link,
}

impl PendingClusters {
    fn add(&mut self, task: &TaskRow) {
        let mut clusters = match std::mem::take(self) {
            PendingClusters::Some(clusters) => clusters,
            PendingClusters::None => HashSet::new(),
            PendingClusters::All => return *self = PendingClusters::All,
        };
        if !matches!(task.kind, TaskKind::Edits | TaskKind::Show) {
            clusters.insert(task.cluster);
        }
        match task.kind {
            TaskKind::Collection => return *self = PendingClusters::All,
            // A merge also changes the cluster that receives the documents.
            TaskKind::Merge => _ = clusters.insert(task.target),
            _ => {}
        }
        *self = PendingClusters::Some(clusters);
    }

    fn contains(&self, cluster: ClusterId) -> bool {
        match self {
            PendingClusters::All => true,
            PendingClusters::Some(clusters) => clusters.contains(&cluster),
            PendingClusters::None => false,
        }
    }
}

impl Anchor {
    fn problem(self) -> &'static str {
        match self {
            Anchor::Center => "it does not match the center of its cluster",
            Anchor::Link => "it does not match the document that it is linked to",
        }
    }
}

impl CollectionCheck<'_> {
    /// Checks the cluster memberships, the clusters and the queued work.
    pub(super) fn check_clusters(&mut self) -> Result<()> {
        let stored = self.load_clusters()?;
        self.report_missing(&stored);
        for row in stored.members.values() {
            let problem = if self.documents.contains_key(&row.document) {
                self.link_problem(&stored, row)
            } else {
                Some("the document does not exist")
            };
            if let Some(problem) = problem {
                self.report(self.name("membership of document", row.document), problem, REBUILD);
            }
        }
        for (cluster, counts) in stored.count() {
            if let Some(problem) = stored.problem_of(cluster, counts) {
                self.report(self.name("cluster", cluster.0), problem, REBUILD);
            }
        }
        self.check_matches(&stored)?;
        self.check_marks(&stored)?;
        self.check_edits(&stored)
    }

    fn load_clusters(&mut self) -> Result<StoredClusters> {
        let mut stored = StoredClusters::default();
        let read = self.read;
        let collection = self.live.row.number;
        read.each_member(collection, &mut |number, row| {
            match row {
                Ok(row) => _ = stored.members.insert(number, row),
                Err(error) => {
                    stored.damaged.insert(number);
                    self.report(self.name("membership of document", number), reason(error), REBUILD);
                }
            }
            Ok(())
        })?;
        read.each_cluster(collection, &mut |cluster, row| {
            match row {
                Ok(row) => _ = stored.clusters.insert(cluster, row),
                Err(error) => self.report(self.name("cluster", cluster.0), reason(error), REBUILD),
            }
            Ok(())
        })?;
        read.each_task(collection, &mut |task| {
            match task {
                Ok(task) => {
                    stored.has_edit_tasks |= matches!(task.kind, TaskKind::Edits | TaskKind::Show);
                    stored.pending.add(&task);
                }
                Err(error) => {
                    stored.has_edit_tasks = true;
                    stored.pending = PendingClusters::All;
                    self.report(format!("task of {}", self.live.row.name), error_of_task(error), REBUILD);
                }
            }
            Ok(())
        })?;
        Ok(stored)
    }

    /// Reports documents that must belong to a cluster and do not.
    fn report_missing(&mut self, stored: &StoredClusters) {
        if matches!(stored.pending, PendingClusters::All) {
            return;
        }
        let is_stored = |number: &u64| stored.members.contains_key(number) || stored.damaged.contains(number);
        let documents = self.documents.iter().filter(|(_, status)| status.is_some());
        let missing: Vec<u64> =
            documents.map(|(number, _)| *number).filter(|number| !is_stored(number)).collect();
        for number in missing {
            self.report(self.name("membership of document", number), "it is missing", REBUILD);
        }
    }

    /// Describes what is wrong with the link of a member, if anything.
    fn link_problem(&self, stored: &StoredClusters, row: &MemberRow) -> Option<&'static str> {
        if stored.pending.contains(row.cluster) {
            return None;
        }
        let is_cohesive = self.live.linkage == LiveLinkage::Cohesive;
        let Some(joined) = row.joined else {
            let is_center = stored.center_of(row).is_none_or(|center| center == row.document);
            return (!is_cohesive && !is_center).then_some("it has no link, but is not the center");
        };
        if is_cohesive {
            return Some("it has a link, but documents of cohesive clusters have none");
        }
        let Some(other) = stored.members.get(&joined) else {
            return Some("it is linked to a document that does not exist");
        };
        if other.cluster != row.cluster {
            return Some("it is linked to a document of another cluster");
        }
        let is_earlier = joined < row.document || self.live.linkage == LiveLinkage::Components;
        (!is_earlier).then_some("it is linked to a later document")
    }

    /// Checks that every document matches the center of its cluster or, with other linkages, the document that it is linked
    /// to.
    ///
    /// In components, the link from the first document of a part to a later document does not say which two documents match,
    /// so it is not checked.
    fn check_matches(&mut self, stored: &StoredClusters) -> Result<()> {
        let anchor = match self.live.linkage {
            LiveLinkage::Cohesive => Anchor::Center,
            LiveLinkage::Online | LiveLinkage::Components => Anchor::Link,
        };
        let mut by_anchor: BTreeMap<u64, Vec<u64>> = BTreeMap::new();
        for row in stored.members.values().filter(|row| !stored.pending.contains(row.cluster)) {
            let other = match anchor {
                Anchor::Center => stored.center_of(row),
                Anchor::Link => row.joined.filter(|joined| *joined < row.document),
            };
            if let Some(other) = other.filter(|other| *other != row.document) {
                by_anchor.entry(other).or_default().push(row.document);
            }
        }
        let mut scratch = Scratch::default();
        for (other, members) in by_anchor {
            self.check_anchor(other, &members, anchor, &mut scratch)?;
        }
        Ok(())
    }

    fn check_anchor(
        &mut self,
        other: u64,
        members: &[u64],
        anchor: Anchor,
        scratch: &mut Scratch,
    ) -> Result<()> {
        let Some(other) = undamaged(self.read.document(other))? else { return Ok(()) };
        let prepared = self.live.analyzer.prepare(&other.document.content, scratch);
        for &member in members {
            let Some(row) = undamaged(self.read.document(member))? else { continue };
            let own = self.live.analyzer.prepare(&row.document.content, scratch);
            let verdict = self.live.analyzer.judge().judge_facts(&prepared.side(), &own.side());
            let joins = verdict.is_some_and(|verdict| self.live.engine().joins(&verdict));
            // The window is not checked: it may have been wider when the document joined.
            if !joins {
                self.report(self.name("membership of document", member), anchor.problem(), REBUILD);
            }
        }
        Ok(())
    }

    /// Checks that the documents that the index marks as centers are the centers of the stored clusters.
    fn check_marks(&mut self, stored: &StoredClusters) -> Result<()> {
        let centers = stored.final_centers(self.live.linkage);
        let marked = self.marked();
        for (number, id) in &marked {
            let member = stored.members.get(number);
            // The membership of a document that is being written, or is damaged, says nothing.
            let is_final = member.is_some_and(|row| !stored.pending.contains(row.cluster));
            let is_damaged = member.is_none() && stored.damaged.contains(number);
            if !centers.contains(number) && (is_final || (member.is_none() && !is_damaged)) {
                let kind = format!("document {number} (id {})", id.to_string().escape_debug());
                let object = format!("{kind} of {}", self.live.row.name);
                self.report(object, "it is marked as a center in the index, but it is not one", REBUILD);
            }
        }
        for center in centers.into_iter().filter(|center| !marked.contains_key(center)) {
            // A damaged document is in no index.
            if undamaged(self.read.document(center))?.is_some() {
                let problem = "it is not marked as a center in the index";
                self.report(self.name("document", center), problem, REBUILD);
            }
        }
        Ok(())
    }

    /// Returns the documents that the index marks as centers.
    fn marked(&self) -> BTreeMap<u64, DocId> {
        let engine = self.live.engine();
        let marked = engine.documents().filter(|document| document.is_center);
        marked.map(|document| (document.number, document.id.clone())).collect()
    }
}

impl StoredClusters {
    /// Returns the center of the cluster of a member. A cluster without a row has one document, its center.
    fn center_of(&self, row: &MemberRow) -> Option<u64> {
        self.clusters.get(&row.cluster).map_or(Some(row.document), |row| row.center)
    }

    /// Returns the centers that the index must mark.
    fn final_centers(&self, linkage: LiveLinkage) -> BTreeSet<u64> {
        if linkage != LiveLinkage::Cohesive {
            return BTreeSet::new();
        }
        let rows = self.members.values().filter(|row| !self.pending.contains(row.cluster));
        rows.filter(|row| self.center_of(row) == Some(row.document)).map(|row| row.document).collect()
    }

    /// Counts the documents of all clusters.
    fn count(&self) -> BTreeMap<ClusterId, ClusterCounts> {
        let mut counts: BTreeMap<ClusterId, ClusterCounts> = BTreeMap::new();
        self.clusters.keys().for_each(|cluster| _ = counts.entry(*cluster).or_default());
        for row in self.members.values() {
            let is_chained =
                self.clusters.get(&row.cluster).is_some_and(|cluster| cluster.is_chained(row.joined));
            let counts = counts.entry(row.cluster).or_default();
            counts.size += 1;
            counts.chained += u64::from(is_chained);
        }
        counts
    }

    fn problem_of(&self, cluster: ClusterId, counts: ClusterCounts) -> Option<String> {
        let ClusterCounts { size, chained } = counts;
        let Some(row) = self.clusters.get(&cluster) else {
            return (size > 1)
                .then(|| format!("it has {size} documents, but no row in the table of clusters"));
        };
        if row.size != size {
            return Some(format!("its stored size is {}, but it has {size} documents", row.size));
        }
        if self.pending.contains(cluster) {
            return None;
        }
        // Edits can show documents in a cluster to which the linkage gives none.
        if size == 0 {
            return None;
        }
        let Some(center) = row.center else { return Some("it has no center".to_owned()) };
        if self.members.get(&center).is_none_or(|member| member.cluster != cluster) {
            return Some("its center is not one of its documents".to_owned());
        }
        (row.chained != chained).then(|| {
            format!("its stored number of chained documents is {}, but it has {chained}", row.chained)
        })
    }
}

/// Describes a damaged task. It has no number by which it could be named.
fn error_of_task(error: Error) -> String {
    match error {
        Error::Damaged { what, reason } => format!("{what}: {reason}"),
        other => other.to_string(),
    }
}
