//! Clusters that grow as documents arrive.

use crate::index::DocNumber;
use std::collections::{BTreeMap, HashMap};

/// The lasting name of a cluster: the number of its founding, never given twice.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct ClusterId(pub u64);

/// Clusters in which each newcomer joins its best match, or founds one of its own (seed 003).
///
/// ```
/// use sameish::{DocNumber, OnlineClusters};
///
/// let mut clusters = OnlineClusters::default();
/// let first = clusters.add(DocNumber(0), None);
/// assert_eq!(clusters.add(DocNumber(1), Some(DocNumber(0))), first);
/// assert_ne!(clusters.add(DocNumber(2), None), first);
/// clusters.remove(DocNumber(0));
/// assert_eq!(clusters.members(first), [DocNumber(1)]);
/// ```
#[derive(Clone, Debug, Default)]
pub struct OnlineClusters {
    of: HashMap<DocNumber, ClusterId>,
    members: BTreeMap<ClusterId, Vec<DocNumber>>,
    founded: u64,
}

impl OnlineClusters {
    /// Puts a newcomer into the cluster of its best match, or a new one if it has none. A document that is in a cluster
    /// already leaves it first.
    pub fn add(&mut self, doc: DocNumber, best_match: Option<DocNumber>) -> ClusterId {
        self.remove(doc);
        let joined = best_match.and_then(|other| self.of.get(&other).copied());
        let cluster = joined.unwrap_or_else(|| {
            self.founded += 1;
            ClusterId(self.founded)
        });
        self.of.insert(doc, cluster);
        self.members.entry(cluster).or_default().push(doc);
        cluster
    }

    /// Takes a document out; a cluster goes with its last one. Tells where it was.
    pub fn remove(&mut self, doc: DocNumber) -> Option<ClusterId> {
        let cluster = self.of.remove(&doc)?;
        if let Some(members) = self.members.get_mut(&cluster) {
            members.retain(|&other| other != doc);
            if members.is_empty() {
                self.members.remove(&cluster);
            }
        }
        Some(cluster)
    }

    /// The cluster of a document.
    pub fn cluster_of(&self, doc: DocNumber) -> Option<ClusterId> {
        self.of.get(&doc).copied()
    }

    /// The documents of a cluster, in the order in which they came.
    pub fn members(&self, cluster: ClusterId) -> &[DocNumber] {
        self.members.get(&cluster).map_or(&[], Vec::as_slice)
    }

    /// All clusters with their documents, the oldest first.
    pub fn iter(&self) -> impl Iterator<Item = (ClusterId, &[DocNumber])> {
        self.members.iter().map(|(&cluster, members)| (cluster, members.as_slice()))
    }

    /// How many clusters there are.
    pub fn len(&self) -> usize {
        self.members.len()
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.members.is_empty()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_never_given_twice() {
        let mut clusters = OnlineClusters::default();
        let first = clusters.add(DocNumber(1), None);
        assert_eq!(clusters.remove(DocNumber(1)), Some(first));
        assert!(clusters.is_empty());
        assert!(clusters.add(DocNumber(1), None) > first);
    }

    #[test]
    fn a_match_that_has_gone_founds_a_new_cluster() {
        let mut clusters = OnlineClusters::default();
        let cluster = clusters.add(DocNumber(1), Some(DocNumber(99)));
        assert_eq!(clusters.members(cluster), [DocNumber(1)]);
        assert_eq!(clusters.cluster_of(DocNumber(1)), Some(cluster));
        assert_eq!(clusters.iter().count(), clusters.len());
    }

    #[test]
    fn adding_again_moves() {
        let mut clusters = OnlineClusters::default();
        let a = clusters.add(DocNumber(1), None);
        let b = clusters.add(DocNumber(2), None);
        assert_eq!(clusters.add(DocNumber(1), Some(DocNumber(2))), b);
        assert!(clusters.members(a).is_empty());
        assert_eq!(clusters.members(b), [2, 1].map(DocNumber));
    }
}
