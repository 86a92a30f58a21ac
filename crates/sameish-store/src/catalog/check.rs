//! Verification of a store and its indexes.

use super::Shared;
use super::live::{LiveCollection, LiveLinkage, sketched};
use crate::error::{Error, Result};
use crate::model::Finding;
use crate::rows::{ClusterRow, DocumentRow, MemberRow, TaskKind};
use crate::store::Read;
use sameish::cluster::ClusterId;
use sameish::engine::Digest;
use sameish::matching::Side;
use sameish::{DocId, Prepared, Scratch, Signature, Status};
use std::collections::{BTreeMap, HashMap, HashSet};

const RESTORE: &str =
    "restore the directory from a snapshot, or delete the affected documents and insert them again";
const REBUILD: &str = "run `sameish index rebuild`";

/// Checks the database file, every row, the links between rows, and the indexes in memory.
pub(super) fn verify(shared: &Shared) -> Result<Vec<Finding>> {
    let read = shared.readers.get()?;
    let mut findings = read.check()?;
    for live in shared.collections().values() {
        let mut check =
            CollectionCheck { read: &*read, live, findings: Vec::new(), documents: HashSet::new() };
        if let Err(error) = check.run() {
            check.report(format!("collection {}", live.row.name), error.to_string(), RESTORE);
        }
        findings.append(&mut check.findings);
    }
    Ok(findings)
}

struct CollectionCheck<'a> {
    read: &'a dyn Read,
    live: &'a LiveCollection,
    findings: Vec<Finding>,
    /// Numbers of the stored documents.
    documents: HashSet<u64>,
}

impl CollectionCheck<'_> {
    fn run(&mut self) -> Result<()> {
        self.check_documents()?;
        self.check_members()?;
        self.check_index()
    }

    fn report(&mut self, object: String, problem: impl Into<String>, remedy: &'static str) {
        self.findings.push(Finding { object, problem: problem.into(), remedy });
    }

    fn name(&self, kind: &str, number: u64) -> String {
        format!("{kind} {number} of {}", self.live.row.name)
    }

    /// Checks every document against its checksum, and its stored sketches against those that its text gives.
    fn check_documents(&mut self) -> Result<()> {
        let mut scratch = Scratch::default();
        let mut after = 0;
        loop {
            let rows = self.read.documents(self.live.row.number, after, 256)?;
            let Some((last, _)) = rows.last() else { return Ok(()) };
            after = *last;
            for (number, row) in rows {
                self.documents.insert(number);
                match row {
                    Ok(row) => self.check_sketch(&row, &mut scratch),
                    Err(error) => self.report(self.name("document", number), reason(error), RESTORE),
                }
            }
        }
    }

    fn check_sketch(&mut self, row: &DocumentRow, scratch: &mut Scratch) {
        let expected = self.live.sketch(row, scratch);
        let problem = match self.read.sketch(row.number) {
            Err(error) => reason(error),
            Ok(None) => "it is missing".to_owned(),
            Ok(Some(stored)) if stored.scheme != expected.scheme => "it has a different scheme".to_owned(),
            Ok(Some(stored)) => {
                let is_equal = stored.sketches == expected.sketches
                    && stored.key == expected.key
                    && stored.moment == expected.moment;
                if is_equal {
                    return;
                }
                "it does not match the text".to_owned()
            }
        };
        let id = row.document.id.to_string();
        let kind = format!("sketch of document {} (id {})", row.number, id.escape_debug());
        self.report(format!("{kind} of {}", self.live.row.name), problem, REBUILD);
    }

    /// Checks the cluster memberships and the clusters.
    fn check_members(&mut self) -> Result<()> {
        let stored = self.load_clusters()?;
        for row in stored.members.values() {
            let problem = if self.documents.contains(&row.document) {
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
        if self.live.linkage == LiveLinkage::Cohesive {
            self.check_centers(&stored)?;
        }
        Ok(())
    }

    fn load_clusters(&mut self) -> Result<StoredClusters> {
        let mut stored = StoredClusters::default();
        let collection = self.live.row.number;
        let mut damaged = Vec::new();
        self.read.each_member(collection, &mut |number, row| {
            match row {
                Ok(row) => _ = stored.members.insert(number, row),
                Err(error) => damaged.push((number, error)),
            }
            Ok(())
        })?;
        for (number, error) in damaged {
            self.report(self.name("membership of document", number), reason(error), REBUILD);
        }
        self.read.each_cluster(collection, &mut |row| {
            stored.clusters.insert(row.cluster, row);
            Ok(())
        })?;
        let clusters: HashSet<ClusterId> = stored.members.values().map(|row| row.cluster).collect();
        let all_pending = is_reclustered(self.read, collection)?;
        for cluster in clusters.into_iter().chain(stored.clusters.keys().copied()) {
            if all_pending || !self.read.tasks_of(cluster)?.is_empty() {
                stored.pending.insert(cluster);
            }
        }
        // A merge also changes the cluster that receives the documents.
        let first = self.read.first_task(collection)?;
        stored.has_merges = first.is_some_and(|task| task.kind == TaskKind::Merge);
        Ok(stored)
    }

    /// Describes what is wrong with the link of a member, if anything.
    fn link_problem(&self, stored: &StoredClusters, row: &MemberRow) -> Option<&'static str> {
        if stored.is_pending(row.cluster) {
            return None;
        }
        let joined = row.joined?;
        if self.live.linkage == LiveLinkage::Cohesive {
            return Some("it has a link, but documents of cohesive clusters belong to the center");
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

    /// Checks that every document matches the center of its cluster, and that the index has the same centers.
    fn check_centers(&mut self, stored: &StoredClusters) -> Result<()> {
        let mut by_center: BTreeMap<u64, Vec<u64>> = BTreeMap::new();
        for row in stored.members.values().filter(|row| !stored.is_pending(row.cluster)) {
            let center = stored.clusters.get(&row.cluster).map_or(Some(row.document), |row| row.center);
            if let Some(center) = center {
                by_center.entry(center).or_default().push(row.document);
            }
        }
        let mut scratch = Scratch::default();
        for (center, members) in by_center {
            let Ok(Some(row)) = self.read.document(center) else { continue };
            let prepared = self.live.analyzer.prepare(&row.document.content, &mut scratch);
            if !self.live.engine().get(&row.document.id).is_some_and(|stored| stored.is_center) {
                let problem = "it is not marked as a center in the index";
                self.report(self.name("document", center), problem, REBUILD);
            }
            for member in members.into_iter().filter(|member| *member != center) {
                let Ok(Some(row)) = self.read.document(member) else { continue };
                let other = self.live.analyzer.prepare(&row.document.content, &mut scratch);
                let verdict = self.live.analyzer.judge().judge_facts(&side(&prepared), &side(&other));
                if !verdict.is_some_and(|verdict| self.live.engine().joins(&verdict)) {
                    let problem = "it does not match the center of its cluster";
                    self.report(self.name("membership of document", member), problem, REBUILD);
                }
            }
        }
        Ok(())
    }

    /// Checks that every sketch has a document, and compares the index in memory with the stored sketches.
    fn check_index(&mut self) -> Result<()> {
        let mut ids: HashMap<u64, DocId> = HashMap::new();
        self.read.each_id(self.live.row.number, &mut |number, id| {
            ids.insert(number, id);
            Ok(())
        })?;
        let mut digest = Digest::default();
        let mut orphans = Vec::new();
        let mut has_damage = false;
        self.read.each_sketch(self.live.row.number, &mut |number, row| {
            match (row, ids.remove(&number)) {
                (Ok(row), Some(id)) => digest.add(&sketched(id, row, false)),
                (_, None) => orphans.push(number),
                (Err(_), Some(_)) => has_damage = true,
            }
            Ok(())
        })?;
        for number in orphans {
            self.report(self.name("sketch of document", number), "the document does not exist", REBUILD);
        }
        // For damaged or missing sketches, the index has sketches that were recomputed from the texts.
        let is_comparable = !has_damage && ids.is_empty();
        if is_comparable && digest.finish() != self.live.engine().digest() {
            let object = format!("index of {}", self.live.row.name);
            self.report(object, "it does not match the stored sketches", REBUILD);
        }
        Ok(())
    }
}

/// The stored clusters of a collection.
#[derive(Default)]
struct StoredClusters {
    members: BTreeMap<u64, MemberRow>,
    clusters: BTreeMap<ClusterId, ClusterRow>,
    /// Clusters with queued work, whose documents may not be final.
    pending: HashSet<ClusterId>,
    has_merges: bool,
}

/// What the memberships of a cluster show.
#[derive(Clone, Copy, Default)]
struct ClusterCounts {
    size: u64,
    chained: u64,
}

impl StoredClusters {
    fn is_pending(&self, cluster: ClusterId) -> bool {
        self.has_merges || self.pending.contains(&cluster)
    }

    fn center(&self, cluster: ClusterId) -> Option<u64> {
        self.clusters.get(&cluster).and_then(|row| row.center)
    }

    /// Counts the documents of all clusters.
    fn count(&self) -> BTreeMap<ClusterId, ClusterCounts> {
        let mut counts: BTreeMap<ClusterId, ClusterCounts> = BTreeMap::new();
        self.clusters.keys().for_each(|cluster| _ = counts.entry(*cluster).or_default());
        for row in self.members.values() {
            let center = self.center(row.cluster);
            let counts = counts.entry(row.cluster).or_default();
            counts.size += 1;
            counts.chained += u64::from(center.is_some() && row.joined.is_some() && row.joined != center);
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
        if self.is_pending(cluster) {
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

/// Returns `true` if all documents of a collection are queued to be clustered again.
fn is_reclustered(read: &dyn Read, collection: u32) -> Result<bool> {
    Ok(read.first_task(collection)?.is_some_and(|task| task.kind == TaskKind::Collection))
}

fn side(prepared: &Prepared) -> Side<'_> {
    let Prepared { sketches, features, key } = prepared;
    Side {
        key: *key,
        too_short: sketches.status == Status::TooShort,
        simhash: sketches.simhash,
        minhash: sketches.minhash.as_ref().map(Signature::rows),
        sdr: sketches.sdr.as_ref(),
        features: Some(&features.shingles),
        facts: Some(&features.facts),
    }
}

fn reason(error: Error) -> String {
    match error {
        Error::Damaged { reason, .. } => reason,
        other => other.to_string(),
    }
}
