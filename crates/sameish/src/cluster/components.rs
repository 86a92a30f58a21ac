//! Clusters of whatever is connected.

use super::Cluster;
use crate::index::DocNumber;
use std::collections::HashMap;

/// The connected components of documents under matches, in the order of their first documents, which are their centers.
///
/// One long chain is one component, however little its ends have in common: see [`stars`](super::stars) for clusters that
/// hold together. Union by size with path halving (Tarjan and van Leeuwen 1984), so nearly linear in the matches.
///
/// ```
/// use sameish::{DocNumber, components};
///
/// let docs = [4, 1, 2, 3].map(DocNumber);
/// let clusters = components(&docs, [(1, 2), (2, 3)].map(|(a, b)| (DocNumber(a), DocNumber(b))));
/// assert_eq!(clusters.len(), 2);
/// assert_eq!(clusters[1].members, [1, 2, 3].map(DocNumber));
/// ```
pub fn components(
    order: &[DocNumber],
    matches: impl IntoIterator<Item = (DocNumber, DocNumber)>,
) -> Vec<Cluster> {
    let place: HashMap<DocNumber, usize> = order.iter().enumerate().map(|(i, &doc)| (doc, i)).collect();
    let mut forest = Forest::new(order.len());
    for (a, b) in matches {
        if let (Some(&a), Some(&b)) = (place.get(&a), place.get(&b)) {
            forest.join(a, b);
        }
    }
    let mut clusters: Vec<Cluster> = Vec::new();
    let mut cluster_of = HashMap::new();
    for (i, &doc) in order.iter().enumerate() {
        let at = *cluster_of.entry(forest.root(i)).or_insert(clusters.len());
        match clusters.get_mut(at) {
            Some(cluster) => cluster.members.push(doc),
            None => clusters.push(Cluster { center: doc, members: vec![doc] }),
        }
    }
    clusters
}

/// Disjoint sets as trees.
struct Forest {
    parent: Vec<usize>,
    size: Vec<usize>,
}

impl Forest {
    fn new(len: usize) -> Forest {
        Forest { parent: (0..len).collect(), size: vec![1; len] }
    }

    fn root(&mut self, mut at: usize) -> usize {
        while self.parent[at] != at {
            self.parent[at] = self.parent[self.parent[at]];
            at = self.parent[at];
        }
        at
    }

    fn join(&mut self, a: usize, b: usize) {
        let (a, b) = (self.root(a), self.root(b));
        if a == b {
            return;
        }
        let (large, small) = if self.size[a] < self.size[b] { (b, a) } else { (a, b) };
        self.parent[small] = large;
        self.size[large] += self.size[small];
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_chain_of_a_million_is_one_component() {
        let order: Vec<DocNumber> = (0..1_000_000).map(DocNumber).collect();
        let chain = (1..1_000_000).map(|i| (DocNumber(i), DocNumber(i - 1)));
        let clusters = components(&order, chain);
        assert_eq!(clusters.len(), 1);
        assert_eq!(clusters[0].members.len(), 1_000_000);
    }

    #[test]
    fn order_decides_centers_and_members() {
        let order = [3, 1, 2].map(DocNumber);
        let clusters = components(&order, [(DocNumber(1), DocNumber(3)), (DocNumber(9), DocNumber(1))]);
        assert_eq!(clusters[0], Cluster { center: DocNumber(3), members: vec![DocNumber(3), DocNumber(1)] });
        assert_eq!(clusters[1], Cluster { center: DocNumber(2), members: vec![DocNumber(2)] });
        assert!(components(&[], []).is_empty());
    }
}
