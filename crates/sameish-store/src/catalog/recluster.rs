//! Clustering of a whole collection from scratch: after an upgrade, and when a collection is rebuilt.
//!
//! All documents are assigned in order of their numbers, or of their turns ([`Turn`](crate::Turn)), in one transaction. The id of an old cluster is kept by the new
//! cluster that contains most of its documents, that is, more than half of them. If a new cluster contains most documents of
//! several old ones, it keeps the id of the one that it has the most documents of.

use super::clusters::{ClusterChanges, Marks, undamaged};
use super::edits::{named_documents, places, readable_edits};
use super::events::put_moved;
use super::live::{LiveCollection, LiveLinkage};
use super::neighbors::{Query, Subject};
use super::texts::FeatureCache;
use crate::error::Result;
use crate::model::Reclustered;
use crate::rows::{ClusterRow, Counters, MemberRow, Placed, TaskKind};
use crate::store::Store;
use sameish::cluster::{ClusterId, Forest};
use sameish::{DocId, Status};
use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};
use std::sync::Arc;

/// The cluster of a document before and after.
struct Assigned {
    document: u64,
    /// First document of the new cluster.
    root: u64,
    joined: Option<u64>,
    before: Option<ClusterId>,
    /// The cluster that lists showed before.
    shown: Option<ClusterId>,
}

/// A document with its cluster before.
struct ClusteredDocument {
    document: u64,
    id: DocId,
    moment: i64,
    status: Status,
    before: Option<ClusterId>,
    /// The cluster that lists showed before.
    shown: Option<ClusterId>,
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
            memo: None,
        })?;
        change.put_counters(*counters)?;
        change.commit()?;
        Ok(changes)
    };
    let result = run();
    match &result {
        Ok(_) => {
            live.set_has_tasks(false);
            live.set_task_error(None);
        }
        Err(_) => marks.undo(live),
    }
    result
}

/// Clusters all documents of a collection from scratch. Returns what changed.
pub(super) fn recluster(clusters: &mut ClusterChanges<'_>) -> Result<Reclustered> {
    let live = clusters.live;
    let documents = clustered_documents(clusters)?;
    for document in &documents {
        clusters.mark(&document.id, false);
    }
    let mut assigned = match live.linkage {
        LiveLinkage::Cohesive => assign_to_centers(clusters, &documents)?,
        LiveLinkage::Online | LiveLinkage::Components => assign_by_links(clusters, &documents)?,
    };
    assigned.sort_unstable_by_key(|assigned| assigned.document);
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

/// Returns all documents in the order in which they become centers.
fn clustered_documents(clusters: &ClusterChanges<'_>) -> Result<Vec<ClusteredDocument>> {
    let engine = clusters.live.engine();
    let mut documents: Vec<ClusteredDocument> = engine
        .documents()
        .map(|stored| ClusteredDocument {
            document: stored.number,
            id: stored.id.clone(),
            moment: stored.published.map_or(0, sameish::Timestamp::as_milliseconds),
            status: stored.status,
            before: None,
            shown: None,
        })
        .collect();
    drop(engine);
    let turns = clusters.live.turns();
    documents.sort_unstable_by_key(|document| turns.of(document.document));
    for document in &mut documents {
        let member = clusters.member(document.document)?;
        document.before = member.map(|member| member.cluster);
        document.shown = member.map(|member| member.shown());
    }
    Ok(documents)
}

fn assign_to_centers(
    clusters: &mut ClusterChanges<'_>,
    documents: &[ClusteredDocument],
) -> Result<Vec<Assigned>> {
    let mut assigned = Vec::with_capacity(documents.len());
    for ClusteredDocument { document, id, moment, before, shown, .. } in documents {
        let subject = Subject { query: Query::Stored(id), number: *document, moment: *moment };
        let center = clusters.neighbors().first_center(subject, None)?.complete();
        if center.is_none() {
            clusters.mark(id, true);
        }
        let root = center.unwrap_or(*document);
        assigned.push(Assigned { document: *document, root, joined: None, before: *before, shown: *shown });
    }
    Ok(assigned)
}

/// Assigns documents to the earlier documents that they are linked to: the best one, or all of them.
fn assign_by_links(
    clusters: &mut ClusterChanges<'_>,
    documents: &[ClusteredDocument],
) -> Result<Vec<Assigned>> {
    let mut parts = Parts::new(documents);
    let mut joined: BTreeMap<u64, u64> = BTreeMap::new();
    let joins = |document: &&ClusteredDocument| clusters.live.linkage.joins(document.status);
    for ClusteredDocument { document, id, moment, .. } in documents.iter().filter(joins) {
        let subject = Subject { query: Query::Stored(id), number: *document, moment: *moment };
        let neighbors = clusters.neighbors();
        let links: Vec<u64> = match clusters.live.linkage {
            LiveLinkage::Components => neighbors.earlier(subject, None)?.complete(),
            _ => neighbors.best_link(subject, None)?.complete().into_iter().collect(),
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
    let assigned = |of: &ClusteredDocument| Assigned {
        document: of.document,
        root: parts.root(of.document),
        joined: joined.get(&of.document).copied(),
        before: of.before,
        shown: of.shown,
    };
    Ok(documents.iter().map(assigned).collect())
}

/// Sets of documents, each represented by its first document. Documents are in order of their numbers.
struct Parts<'a> {
    documents: &'a [ClusteredDocument],
    forest: Forest,
    /// The position of the first document of each set, by its representative in the forest.
    first: Vec<u32>,
}

impl Parts<'_> {
    fn new(documents: &[ClusteredDocument]) -> Parts<'_> {
        let first = (0..documents.len() as u32).collect();
        Parts { documents, forest: Forest::new(documents.len()), first }
    }

    /// Returns the first document of the set of a document, or the document if it is not known.
    fn root(&mut self, document: u64) -> u64 {
        self.position(document).map_or(document, |at| self.first_of(at))
    }

    fn position(&self, document: u64) -> Option<u32> {
        let at = self.documents.binary_search_by_key(&document, |document| document.document);
        at.ok().map(|at| at as u32)
    }

    fn first_of(&mut self, at: u32) -> u64 {
        let root = self.forest.root(at);
        self.documents[self.first[root as usize] as usize].document
    }

    /// Merges two sets. Returns the document that does not represent one any more.
    fn merge(&mut self, a: u64, b: u64) -> Option<u64> {
        let (a, b) = self.position(a).zip(self.position(b))?;
        let [first, other] = [a, b].map(|at| self.first[self.forest.root(at) as usize]);
        if first == other {
            return None;
        }
        self.forest.join(a, b);
        self.first[self.forest.root(a) as usize] = first.min(other);
        Some(self.documents[first.max(other) as usize].document)
    }
}

/// The documents of an old cluster that are in one new cluster.
struct Share {
    before: ClusterId,
    root: u64,
    documents: u64,
}

/// Returns the shares that contain more than half of an old cluster, the largest first; of equal ones, first that of the
/// oldest new cluster.
fn majorities(assigned: &[Assigned]) -> Vec<Share> {
    let mut sizes: HashMap<ClusterId, u64> = HashMap::new();
    let mut shares: HashMap<(ClusterId, u64), u64> = HashMap::new();
    for Assigned { root, before, .. } in assigned {
        if let Some(before) = before {
            *sizes.entry(*before).or_default() += 1;
            *shares.entry((*before, *root)).or_default() += 1;
        }
    }
    let share = |((before, root), documents)| Share { before, root, documents };
    let mut shares: Vec<Share> = shares.into_iter().map(share).collect();
    shares.retain(|share| 2 * share.documents > sizes[&share.before]);
    shares.sort_unstable_by_key(|share| (std::cmp::Reverse(share.documents), share.root, share.before));
    shares
}

/// Chooses the id of each new cluster, by its first document.
fn cluster_ids(assigned: &[Assigned], mut next: impl FnMut() -> ClusterId) -> BTreeMap<u64, ClusterId> {
    let mut ids: BTreeMap<u64, ClusterId> = BTreeMap::new();
    // An old cluster has at most one majority, so no id is used twice.
    for Share { before, root, .. } in majorities(assigned) {
        ids.entry(root).or_insert(before);
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
    let places = edited_places(clusters, assigned, ids)?;
    for (placed, place) in &places {
        clusters.change.put_place(collection, *placed, Some(*place))?;
    }
    let mut rows: BTreeMap<ClusterId, ClusterRow> = BTreeMap::new();
    for &Assigned { document, root, joined, shown, .. } in assigned {
        let cluster = ids[&root];
        let joined = joined.filter(|_| document != root);
        let place = places.get(&Placed::Document(document)).or_else(|| places.get(&Placed::Others(cluster)));
        let edited = place.copied().filter(|place| *place != cluster);
        let rank = clusters.live.rank(document);
        let member = MemberRow { document, collection, cluster, joined, edited, rank };
        clusters.change.put_member(&member)?;
        if shown.is_some_and(|before| before != member.shown()) {
            put_moved(clusters.change, collection, document, member.shown())?;
        }
        let row =
            rows.entry(cluster).or_insert(ClusterRow { cluster, size: 0, center: Some(root), chained: 0 });
        row.size += 1;
        row.chained += u64::from(row.is_chained(joined));
    }
    rows.values().try_for_each(|row| clusters.change.put_cluster(collection, row))?;
    // Clusters without documents of their own.
    for cluster in places.into_values().collect::<BTreeSet<ClusterId>>() {
        let row = clusters.row(cluster)?;
        clusters.put_row(row)?;
    }
    Ok(())
}

/// Returns the clusters that edits give documents.
fn edited_places(
    clusters: &ClusterChanges<'_>,
    assigned: &[Assigned],
    ids: &BTreeMap<u64, ClusterId>,
) -> Result<BTreeMap<Placed, ClusterId>> {
    let collection = clusters.live.row.number;
    let read = clusters.change.read();
    let edits = readable_edits(read, collection)?;
    let cluster_of = |number| {
        let found = assigned.binary_search_by_key(&number, |assigned| assigned.document).ok();
        Ok(found.and_then(|at| ids.get(&assigned[at].root).copied()))
    };
    Ok(places(&edits, &named_documents(read, collection, &edits, cluster_of)?))
}
