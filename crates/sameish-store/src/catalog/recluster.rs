//! Clustering of a whole collection from scratch: after an upgrade, and when a collection is rebuilt.
//!
//! All documents are assigned in order of their numbers, in one transaction. A new cluster gets the id of the old cluster
//! that most of its documents were in, if most documents of that cluster stay together.

use super::clusters::{ClusterChanges, Marks, undamaged};
use super::live::{LiveCollection, LiveLinkage};
use super::neighbors::{Neighbors, Query, Subject};
use super::texts::FeatureCache;
use crate::error::Result;
use crate::model::Reclustered;
use crate::rows::{ClusterRow, Counters, MemberRow, TaskKind};
use crate::store::Store;
use sameish::cluster::ClusterId;
use sameish::{DocId, Status};
use std::collections::{BTreeMap, HashMap, HashSet};
use std::sync::Arc;

/// The cluster of a document before and after.
struct Assigned {
    document: u64,
    /// First document of the new cluster.
    root: u64,
    joined: Option<u64>,
    before: Option<ClusterId>,
}

/// A document that belongs to a cluster.
struct Subjects {
    document: u64,
    id: DocId,
    moment: i64,
    before: Option<ClusterId>,
}

/// Clusters the collections of a store that an older version left in other clusters, or all collections for a rebuild.
/// Returns what changed.
pub(super) fn recluster_all<'a>(
    store: &mut dyn Store,
    cache: &FeatureCache,
    collections: impl Iterator<Item = &'a Arc<LiveCollection>>,
    is_rebuild: bool,
) -> Result<Vec<Reclustered>> {
    let mut changes = Vec::new();
    for live in collections {
        let read = store.reader()?;
        let first = undamaged(read.first_task(live.row.number))?;
        if is_rebuild || first.is_some_and(|task| task.kind == TaskKind::Collection) {
            let mut counters = read.counters()?;
            changes.push(recluster_collection(store, cache, &mut counters, live)?);
        }
    }
    Ok(changes)
}

/// Clusters all documents of a collection from scratch in one transaction. If it fails, nothing is changed.
pub(super) fn recluster_collection(
    store: &mut dyn Store,
    cache: &FeatureCache,
    counters: &mut Counters,
    live: &LiveCollection,
) -> Result<Reclustered> {
    let mut marks = Marks::default();
    let mut run = || {
        let mut change = store.begin()?;
        let changes = recluster(&mut ClusterChanges {
            change: &mut *change,
            counters,
            cache,
            live,
            removed: &HashSet::new(),
            marks: &mut marks,
        })?;
        change.put_counters(*counters)?;
        change.commit()?;
        Ok(changes)
    };
    let result = run();
    match &result {
        Ok(_) => live.set_has_tasks(false),
        Err(_) => marks.undo(live),
    }
    result
}

/// Clusters all documents of a collection from scratch. Returns what changed.
pub(super) fn recluster(clusters: &mut ClusterChanges<'_>) -> Result<Reclustered> {
    let live = clusters.live;
    let subjects = subjects(clusters)?;
    for subject in &subjects {
        clusters.mark(&subject.id, false);
    }
    let assigned = match live.linkage {
        LiveLinkage::Cohesive => assign_to_centers(clusters, &subjects)?,
        LiveLinkage::Online | LiveLinkage::Components => assign_by_links(clusters, &subjects)?,
    };
    let ids = cluster_ids(&assigned, || clusters.counters.next_cluster());
    store(clusters, &assigned, &ids)?;
    let moved = assigned.iter().filter(|assigned| assigned.before != ids.get(&assigned.root).copied());
    Ok(Reclustered {
        collection: live.row.name.clone(),
        documents: assigned.len() as u64,
        moved: moved.count() as u64,
        clusters_before: count_clusters(assigned.iter().filter_map(|assigned| assigned.before)),
        clusters_after: count_clusters(
            assigned.iter().filter_map(|assigned| ids.get(&assigned.root).copied()),
        ),
    })
}

/// Counts the clusters of at least two documents.
fn count_clusters(clusters: impl Iterator<Item = ClusterId>) -> u64 {
    let mut sizes: HashMap<ClusterId, u64> = HashMap::new();
    clusters.for_each(|cluster| *sizes.entry(cluster).or_default() += 1);
    sizes.values().filter(|size| **size > 1).count() as u64
}

/// Returns the documents that are long enough, in order of their numbers.
fn subjects(clusters: &ClusterChanges<'_>) -> Result<Vec<Subjects>> {
    let engine = clusters.live.engine();
    let mut subjects: Vec<Subjects> = engine
        .documents()
        .filter(|stored| stored.status == Status::Ok)
        .map(|stored| Subjects {
            document: stored.number,
            id: stored.id.clone(),
            moment: stored.published.map_or(0, sameish::Timestamp::as_milliseconds),
            before: None,
        })
        .collect();
    drop(engine);
    subjects.sort_unstable_by_key(|subject| subject.document);
    for subject in &mut subjects {
        subject.before = clusters.member(subject.document)?.map(|member| member.cluster);
    }
    Ok(subjects)
}

fn assign_to_centers(clusters: &mut ClusterChanges<'_>, subjects: &[Subjects]) -> Result<Vec<Assigned>> {
    let mut assigned = Vec::with_capacity(subjects.len());
    for Subjects { document, id, moment, before } in subjects {
        let subject = Subject { query: Query::Stored(id), number: *document, moment: *moment };
        let center = neighbors(clusters).first_center(subject, None)?;
        if center.is_none() {
            clusters.mark(id, true);
        }
        let root = center.unwrap_or(*document);
        assigned.push(Assigned { document: *document, root, joined: None, before: *before });
    }
    Ok(assigned)
}

/// Assigns documents to the earlier documents that they are linked to: the best one, or all of them.
fn assign_by_links(clusters: &mut ClusterChanges<'_>, subjects: &[Subjects]) -> Result<Vec<Assigned>> {
    let mut parts = Parts::default();
    let mut joined: BTreeMap<u64, u64> = BTreeMap::new();
    for Subjects { document, id, moment, .. } in subjects {
        let subject = Subject { query: Query::Stored(id), number: *document, moment: *moment };
        let neighbors = neighbors(clusters);
        let links: Vec<u64> = match clusters.live.linkage {
            LiveLinkage::Components => neighbors.earlier(subject, None)?,
            _ => neighbors.best_link(subject, None)?.into_iter().collect(),
        };
        if let Some(&first) = links.iter().min_by_key(|&&link| (parts.root(link), link)) {
            joined.insert(*document, first);
        }
        for link in links {
            // The first document of the later part joins the other part through this document.
            if let Some(root) = parts.merge(*document, link).filter(|root| root != document) {
                joined.insert(root, *document);
            }
        }
    }
    let assigned = |subject: &Subjects| Assigned {
        document: subject.document,
        root: parts.root(subject.document),
        joined: joined.get(&subject.document).copied(),
        before: subject.before,
    };
    Ok(subjects.iter().map(assigned).collect())
}

fn neighbors<'a>(clusters: &'a ClusterChanges<'_>) -> Neighbors<'a> {
    Neighbors {
        live: clusters.live,
        cache: clusters.cache,
        read: clusters.change.read(),
        removed: clusters.removed,
    }
}

/// Sets of documents, each represented by its first document.
#[derive(Default)]
struct Parts(HashMap<u64, u64>);

impl Parts {
    fn root(&mut self, document: u64) -> u64 {
        let mut root = document;
        while let Some(&parent) = self.0.get(&root) {
            // Path halving keeps the paths short.
            let next = self.0.get(&parent).copied().unwrap_or(parent);
            self.0.insert(root, next);
            root = next;
        }
        root
    }

    /// Merges two parts. Returns the representative that is no longer one.
    fn merge(&mut self, a: u64, b: u64) -> Option<u64> {
        let a = self.root(a);
        let b = self.root(b);
        if a == b {
            return None;
        }
        let (first, other) = (a.min(b), a.max(b));
        self.0.insert(other, first);
        Some(other)
    }
}

/// Chooses the id of each new cluster, by its first document.
fn cluster_ids(assigned: &[Assigned], mut next: impl FnMut() -> ClusterId) -> BTreeMap<u64, ClusterId> {
    let mut shares: HashMap<(ClusterId, u64), u64> = HashMap::new();
    for Assigned { root, before, .. } in assigned {
        if let Some(before) = before {
            *shares.entry((*before, *root)).or_default() += 1;
        }
    }
    // The largest shares first; of equal ones, the share of the older cluster.
    let mut shares: Vec<((ClusterId, u64), u64)> = shares.into_iter().collect();
    shares.sort_unstable_by_key(|&((before, root), share)| (std::cmp::Reverse(share), root, before));
    let mut ids: BTreeMap<u64, ClusterId> = BTreeMap::new();
    let mut used: HashSet<ClusterId> = HashSet::new();
    for ((before, root), _) in shares {
        if !ids.contains_key(&root) && used.insert(before) {
            ids.insert(root, before);
        }
    }
    for Assigned { root, .. } in assigned {
        ids.entry(*root).or_insert_with(&mut next);
    }
    ids
}

fn store(
    clusters: &mut ClusterChanges<'_>,
    assigned: &[Assigned],
    ids: &BTreeMap<u64, ClusterId>,
) -> Result<()> {
    let collection = clusters.live.row.number;
    clusters.change.clear_clusters(collection)?;
    let mut rows: BTreeMap<ClusterId, ClusterRow> = BTreeMap::new();
    for &Assigned { document, root, joined, .. } in assigned {
        let cluster = ids[&root];
        let joined = joined.filter(|_| document != root);
        clusters.change.put_member(&MemberRow { document, collection, cluster, joined })?;
        let row =
            rows.entry(cluster).or_insert(ClusterRow { cluster, size: 0, center: Some(root), chained: 0 });
        row.size += 1;
        row.chained += u64::from(joined.is_some_and(|joined| joined != root));
    }
    rows.values().try_for_each(|row| clusters.change.put_cluster(collection, row))
}
