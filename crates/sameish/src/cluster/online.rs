//! Incremental clustering as documents arrive (preset `headlines`).

use crate::index::DocNumber;
use std::collections::{BTreeMap, HashMap};

/// The stable id of a cluster. Ids are assigned in ascending order and never reused.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct ClusterId(pub u64);

/// Clusters in which each new document joins the cluster of its best match, or starts a new one.
///
/// Assignments are final: a later document does not move an earlier one, and a removal affects only the removed document. The
/// remaining members keep their cluster and its id, even if only the removed document matched all of them, because cluster
/// ids are stored and displayed elsewhere. Every update takes O(log n) time, for clusters of any size.
///
/// ```
/// use sameish::cluster::OnlineClusters;
/// use sameish::index::DocNumber;
///
/// let mut clusters = OnlineClusters::default();
/// let first = clusters.add(DocNumber(0), None);
/// assert_eq!(clusters.add_to_best(DocNumber(1), [(DocNumber(0), 0.75)], 0.75), first);
/// assert_ne!(clusters.add_to_best(DocNumber(2), [(DocNumber(0), 0.74)], 0.75), first);
/// clusters.remove(DocNumber(0));
/// assert_eq!(clusters.members(first).collect::<Vec<_>>(), [DocNumber(1)]);
/// ```
#[derive(Clone, Debug, Default)]
pub struct OnlineClusters {
    of: HashMap<DocNumber, Arrival>,
    /// All documents, by cluster and then by arrival.
    members: BTreeMap<Arrival, DocNumber>,
    sizes: BTreeMap<ClusterId, usize>,
    /// Number of clusters created so far.
    founded: u64,
    /// Number of documents added so far.
    arrived: u64,
}

/// The cluster of a document and the sequence number of its arrival.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Arrival {
    cluster: ClusterId,
    number: u64,
}

impl OnlineClusters {
    /// Adds a document to the cluster of its best match, or to a new cluster if it has no match or the match is in no cluster.
    /// Removes the document from its previous cluster, if any. Returns the cluster.
    pub fn add(&mut self, doc: DocNumber, best_match: Option<DocNumber>) -> ClusterId {
        self.remove(doc);
        let joined = best_match.and_then(|other| self.cluster_of(other));
        let cluster = joined.unwrap_or_else(|| {
            self.founded += 1;
            ClusterId(self.founded)
        });
        self.arrived += 1;
        let arrival = Arrival { cluster, number: self.arrived };
        self.of.insert(doc, arrival);
        self.members.insert(arrival, doc);
        *self.sizes.entry(cluster).or_default() += 1;
        cluster
    }

    /// Like [`add`](Self::add), but chooses the best match: the most similar candidate that is in a cluster and whose
    /// similarity is at least `threshold`. Of equally similar candidates, the earliest one wins. The order of the candidates
    /// has no effect.
    pub fn add_to_best(
        &mut self,
        doc: DocNumber,
        candidates: impl IntoIterator<Item = (DocNumber, f64)>,
        threshold: f64,
    ) -> ClusterId {
        let eligible =
            candidates.into_iter().filter(|&(other, similarity)| other != doc && similarity >= threshold);
        let arrived =
            eligible.filter_map(|(other, similarity)| Some((self.of.get(&other)?.number, similarity, other)));
        let best = arrived.min_by(|a, b| b.1.total_cmp(&a.1).then(a.0.cmp(&b.0)));
        self.add(doc, best.map(|(_, _, other)| other))
    }

    /// Removes a document, and its cluster if it was the last member. Returns the cluster, or `None` if the document was in none.
    pub fn remove(&mut self, doc: DocNumber) -> Option<ClusterId> {
        let arrival = self.of.remove(&doc)?;
        self.members.remove(&arrival);
        match self.sizes.get_mut(&arrival.cluster) {
            Some(size) if *size > 1 => *size -= 1,
            _ => _ = self.sizes.remove(&arrival.cluster),
        }
        Some(arrival.cluster)
    }

    /// Returns the cluster of a document.
    pub fn cluster_of(&self, doc: DocNumber) -> Option<ClusterId> {
        self.of.get(&doc).map(|arrival| arrival.cluster)
    }

    /// Returns the center of a cluster: its earliest remaining member.
    pub fn center(&self, cluster: ClusterId) -> Option<DocNumber> {
        self.members(cluster).next()
    }

    /// Returns the documents of a cluster, in order of arrival.
    pub fn members(&self, cluster: ClusterId) -> impl Iterator<Item = DocNumber> {
        let first = Arrival { cluster, number: 0 };
        let last = Arrival { cluster, number: u64::MAX };
        self.members.range(first..=last).map(|(_, &doc)| doc)
    }

    /// Returns the number of documents of a cluster.
    pub fn size(&self, cluster: ClusterId) -> usize {
        self.sizes.get(&cluster).copied().unwrap_or(0)
    }

    /// Returns all clusters with their numbers of documents, oldest cluster first.
    pub fn iter(&self) -> impl Iterator<Item = (ClusterId, usize)> {
        self.sizes.iter().map(|(&cluster, &size)| (cluster, size))
    }

    /// For serialization: returns the numbers of clusters created and of documents added so far.
    pub(crate) fn counters(&self) -> [u64; 2] {
        [self.founded, self.arrived]
    }

    /// For serialization: returns each document with its cluster and its arrival number, by cluster, then by arrival.
    pub(crate) fn placed(&self) -> impl Iterator<Item = (DocNumber, ClusterId, u64)> {
        self.members.iter().map(|(arrival, &doc)| (doc, arrival.cluster, arrival.number))
    }

    /// Restores stored clusters. Returns `None` if a document or an arrival occurs twice, or if a cluster or an arrival number
    /// exceeds its counter.
    pub(crate) fn restored(
        [founded, arrived]: [u64; 2],
        placed: impl IntoIterator<Item = (DocNumber, ClusterId, u64)>,
    ) -> Option<OnlineClusters> {
        let mut clusters = OnlineClusters { founded, arrived, ..OnlineClusters::default() };
        for (doc, cluster, number) in placed {
            let arrival = Arrival { cluster, number };
            let is_in_range = (1..=founded).contains(&cluster.0) && (1..=arrived).contains(&number);
            let is_new =
                clusters.of.insert(doc, arrival).is_none() & clusters.members.insert(arrival, doc).is_none();
            if !is_in_range || !is_new {
                return None;
            }
            *clusters.sizes.entry(cluster).or_default() += 1;
        }
        Some(clusters)
    }

    /// Returns the number of clusters.
    pub fn len(&self) -> usize {
        self.sizes.len()
    }

    /// Returns `true` if there are no clusters.
    pub fn is_empty(&self) -> bool {
        self.sizes.is_empty()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::random::SplitMix64;

    fn members(clusters: &OnlineClusters, cluster: ClusterId) -> Vec<u32> {
        clusters.members(cluster).map(|doc| doc.0).collect()
    }

    #[test]
    fn never_reuses_cluster_ids() {
        let mut clusters = OnlineClusters::default();
        let first = clusters.add(DocNumber(1), None);
        assert_eq!(clusters.remove(DocNumber(1)), Some(first));
        assert!(clusters.is_empty());
        assert!(clusters.add(DocNumber(1), None) > first);
    }

    #[test]
    fn unknown_match_starts_a_new_cluster() {
        let mut clusters = OnlineClusters::default();
        let cluster = clusters.add(DocNumber(1), Some(DocNumber(99)));
        assert_eq!(members(&clusters, cluster), [1]);
        assert_eq!(clusters.cluster_of(DocNumber(1)), Some(cluster));
    }

    #[test]
    fn adding_again_moves_the_document() {
        let mut clusters = OnlineClusters::default();
        let a = clusters.add(DocNumber(1), None);
        let b = clusters.add(DocNumber(2), None);
        assert_eq!(clusters.add(DocNumber(1), Some(DocNumber(2))), b);
        assert!(members(&clusters, a).is_empty());
        assert_eq!(members(&clusters, b), [2, 1]);
        // A document does not match itself, so document 2 gets a new cluster.
        assert!(clusters.add_to_best(DocNumber(2), [(DocNumber(2), 1.0)], 0.5) > b);
    }

    #[test]
    fn joins_the_most_similar_candidate_in_any_candidate_order() {
        let mut clusters = OnlineClusters::default();
        let founded: Vec<ClusterId> = [5, 3, 4].map(|doc| clusters.add(DocNumber(doc), None)).into();
        let mut candidates =
            [(3, 0.8), (5, 0.9), (4, 0.9), (9, 1.0), (2, f64::NAN)].map(|(doc, s)| (DocNumber(doc), s));
        for _ in 0..2 {
            assert_eq!(clusters.add_to_best(DocNumber(6), candidates, 0.9), founded[0]);
            candidates.reverse();
        }
        assert_eq!(clusters.add_to_best(DocNumber(6), [(DocNumber(3), 0.8)], 0.8), founded[1]);
        assert_eq!(clusters.center(founded[1]), Some(DocNumber(3)));
        clusters.remove(DocNumber(3));
        assert_eq!(clusters.center(founded[1]), Some(DocNumber(6)));
    }

    #[test]
    fn random_updates_agree_with_a_simple_model() {
        let mut random = SplitMix64(1);
        let mut clusters = OnlineClusters::default();
        let mut model: Vec<(ClusterId, Vec<u32>)> = Vec::new();
        for _ in 0..5000 {
            let doc = random.below(200) as u32;
            let was = model.iter().position(|(_, docs)| docs.contains(&doc)).map(|at| model[at].0);
            model.iter_mut().for_each(|(_, docs)| docs.retain(|&other| other != doc));
            if random.below(3) == 0 {
                assert_eq!(clusters.remove(DocNumber(doc)), was);
            } else {
                let best = random.below(200) as u32;
                let cluster = clusters.add(DocNumber(doc), Some(DocNumber(best)));
                match model.iter_mut().find(|(_, docs)| docs.contains(&best)) {
                    Some((name, docs)) => {
                        assert_eq!(cluster, *name);
                        docs.push(doc);
                    }
                    None => model.push((cluster, vec![doc])),
                }
            }
            model.retain(|(_, docs)| !docs.is_empty());
            assert!(clusters.iter().eq(model.iter().map(|(name, docs)| (*name, docs.len()))));
            assert!(model.iter().all(|(name, docs)| members(&clusters, *name) == *docs));
        }
    }

    #[test]
    fn removes_the_members_of_a_cluster_of_a_million() {
        let mut clusters = OnlineClusters::default();
        let first = clusters.add(DocNumber(0), None);
        (1..1_000_000).for_each(|doc| _ = clusters.add(DocNumber(doc), Some(DocNumber(doc - 1))));
        assert_eq!(clusters.size(first), 1_000_000);
        (0..999_999).for_each(|doc| _ = clusters.remove(DocNumber(doc)));
        assert_eq!(members(&clusters, first), [999_999]);
    }
}
