//! Connected components of the match graph.

use super::Cluster;
use super::places::Places;
use crate::index::DocNumber;

/// Returns the connected components of the match graph, in the order of their first documents, which are their centers.
/// Ignores matches of documents that are not in `order`.
///
/// A long chain of matches is one component, even if its ends are not similar at all. Use [`stars`](super::stars) for
/// clusters whose members all match their center.
///
/// Uses a disjoint-set forest with union by size and path halving (Tarjan and van Leeuwen 1984), so the time is nearly linear
/// in the number of documents and matches.
///
/// ```
/// use sameish::cluster::components;
/// use sameish::index::DocNumber;
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
    let positions = Places::new(order);
    let mut forest = Forest::new(order.len());
    for (a, b) in matches {
        if let (Some(a), Some(b)) = (positions.get(a), positions.get(b)) {
            forest.join(a as u32, b as u32);
        }
    }
    let mut clusters: Vec<Cluster> = Vec::new();
    let mut cluster_of = vec![NONE; order.len()];
    for (position, &doc) in order.iter().enumerate() {
        if positions.get(doc) != Some(position) {
            continue;
        }
        let root = forest.root(position as u32) as usize;
        if cluster_of[root] == NONE {
            cluster_of[root] = clusters.len() as u32;
            clusters.push(Cluster { center: doc, members: Vec::with_capacity(forest.size[root] as usize) });
        }
        clusters[cluster_of[root] as usize].members.push(doc);
    }
    clusters
}

const NONE: u32 = u32::MAX;

/// A disjoint-set forest over the numbers below its length.
#[doc(hidden)]
#[derive(Clone, Debug, Default)]
pub struct Forest {
    parent: Vec<u32>,
    size: Vec<u32>,
}

impl Forest {
    /// Creates a set for each number.
    pub fn new(len: usize) -> Forest {
        Forest { parent: (0..len as u32).collect(), size: vec![1; len] }
    }

    /// Returns the representative of the set of a number.
    pub fn root(&mut self, mut at: u32) -> u32 {
        loop {
            let parent = self.parent[at as usize];
            if parent == at {
                return at;
            }
            self.parent[at as usize] = self.parent[parent as usize];
            at = self.parent[at as usize];
        }
    }

    /// Joins the sets of two numbers.
    pub fn join(&mut self, a: u32, b: u32) {
        let a = self.root(a);
        let b = self.root(b);
        if a == b {
            return;
        }
        let (large, small) = if self.size[a as usize] < self.size[b as usize] { (b, a) } else { (a, b) };
        self.parent[small as usize] = large;
        self.size[large as usize] += self.size[small as usize];
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn chain_of_a_million_documents_is_one_component() {
        let order: Vec<DocNumber> = (0..1_000_000).map(DocNumber).collect();
        let chain = (1..1_000_000).map(|i| (DocNumber(i), DocNumber(i - 1)));
        let clusters = components(&order, chain);
        assert_eq!(clusters.len(), 1);
        assert_eq!(clusters[0].members.len(), 1_000_000);
    }

    #[test]
    fn order_determines_centers_and_members() {
        let order = [3, 1, 2].map(DocNumber);
        let clusters = components(&order, [(DocNumber(1), DocNumber(3)), (DocNumber(9), DocNumber(1))]);
        assert_eq!(clusters[0], Cluster { center: DocNumber(3), members: vec![DocNumber(3), DocNumber(1)] });
        assert_eq!(clusters[1], Cluster { center: DocNumber(2), members: vec![DocNumber(2)] });
        assert!(components(&[], []).is_empty());
    }
}
