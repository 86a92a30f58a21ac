//! Clusters that hold together: every member matches its center.

use super::Cluster;
use crate::index::DocNumber;
use std::collections::HashMap;

/// Clusters around centers, and how many matches they cut.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Stars {
    /// In the order of their centers; documents without a match stand alone.
    pub clusters: Vec<Cluster>,
    /// How many documents matched a center but already belonged to an earlier one: the links of chains that were cut.
    pub cut: usize,
}

/// Takes documents in order; the first unassigned one is a center and takes every unassigned document that matches it.
///
/// `matches` lists the matches of a document. It must be symmetric for the promise that no two centers match. Members come
/// in the order of `order`, whatever order the matches have. Documents that are not in `order` are not taken.
///
/// ```
/// use sameish::{DocNumber, stars};
///
/// // A chain 0 - 1 - 2 - 3.
/// let near = |doc: DocNumber| (0..4).filter(move |&other| doc.0.abs_diff(other) == 1).map(DocNumber).collect();
/// let stars = stars(&[1, 0, 2, 3].map(DocNumber), near);
/// let groups: Vec<Vec<u32>> = stars.clusters.iter().map(|c| c.members.iter().map(|doc| doc.0).collect()).collect();
/// assert_eq!(groups, [vec![1, 0, 2], vec![3]]);
/// assert_eq!(stars.cut, 1);
/// ```
pub fn stars(order: &[DocNumber], mut matches: impl FnMut(DocNumber) -> Vec<DocNumber>) -> Stars {
    let place: HashMap<DocNumber, usize> = order.iter().enumerate().map(|(i, &doc)| (doc, i)).collect();
    let mut assigned = vec![false; order.len()];
    let mut stars = Stars::default();
    for (i, &center) in order.iter().enumerate() {
        if std::mem::replace(&mut assigned[i], true) {
            continue;
        }
        let mut places: Vec<usize> =
            matches(center).iter().filter_map(|doc| place.get(doc).copied()).collect();
        places.sort_unstable();
        places.dedup();
        let mut members = vec![center];
        for at in places.into_iter().filter(|&at| at != i) {
            if std::mem::replace(&mut assigned[at], true) {
                stars.cut += 1;
            } else {
                members.push(order[at]);
            }
        }
        stars.clusters.push(Cluster { center, members });
    }
    stars
}

#[cfg(test)]
mod tests {
    use super::*;

    fn docs(numbers: &[u32]) -> Vec<DocNumber> {
        numbers.iter().copied().map(DocNumber).collect()
    }

    #[test]
    fn every_document_is_in_exactly_one_cluster_and_centers_do_not_match() {
        let mut state = 7u64;
        for n in [0u32, 1, 2, 10, 60] {
            let mut edges = vec![vec![false; n as usize]; n as usize];
            for (a, b) in (0..n as usize).flat_map(|a| (0..a).map(move |b| (a, b))) {
                state = state.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
                let near = (state >> 33).is_multiple_of(8);
                (edges[a][b], edges[b][a]) = (near, near);
            }
            let near = |doc: DocNumber| {
                let row = edges[doc.0 as usize].iter().enumerate();
                row.filter(|(_, near)| **near).map(|(i, _)| DocNumber(i as u32)).collect()
            };
            let order: Vec<DocNumber> = (0..n).rev().map(DocNumber).collect();
            let found = stars(&order, near);
            let mut all: Vec<u32> =
                found.clusters.iter().flat_map(|c| c.members.iter().map(|doc| doc.0)).collect();
            all.sort_unstable();
            assert_eq!(all, (0..n).collect::<Vec<_>>());
            for cluster in &found.clusters {
                let center = cluster.center.0 as usize;
                assert!(cluster.members[1..].iter().all(|doc| edges[center][doc.0 as usize]));
                assert!(found.clusters.iter().all(|other| !edges[center][other.center.0 as usize]));
            }
        }
    }

    #[test]
    fn a_document_does_not_match_itself_or_strangers() {
        let found = stars(&docs(&[1, 2]), |_| docs(&[1, 2, 2, 9]));
        assert_eq!(found.clusters, [Cluster { center: DocNumber(1), members: docs(&[1, 2]) }]);
        assert_eq!(found.cut, 0);
    }
}
