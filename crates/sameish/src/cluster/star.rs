//! Star clustering: every member matches its center.
//!
//! A variant of the algorithm of Aslam, Pelekhov and Rus (*The star clustering algorithm for static and dynamic information
//! organization*, 2004), with two differences: documents become centers in a given order instead of by descending degree,
//! and a document belongs to one star only.

use super::places::Places;
use super::{Cluster, MeasuredCluster};
use crate::index::{DocNumber, Hit};

/// The result of star clustering.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Stars {
    /// The clusters in the order of their centers. A document without a match is a cluster of its own.
    pub clusters: Vec<Cluster>,
    /// Number of matches between a center and a document that an earlier center had already taken. These are the links at which
    /// chains of matches were cut.
    pub cut: usize,
}

/// Clusters documents into stars: processes the documents in order, and each unassigned document becomes a center and takes
/// every unassigned document that matches it.
///
/// `matches` returns the matches of a document. If it is symmetric, no two centers match. Members have the order of `order`,
/// independently of the order of the matches. Documents that are not in `order` are ignored.
///
/// ```
/// use sameish::{DocNumber, stars};
///
/// // A chain 0 - 1 - 2 - 3.
/// let matches = |doc: DocNumber| (0..4).filter(move |&other| doc.0.abs_diff(other) == 1).map(DocNumber).collect();
/// let stars = stars(&[1, 0, 2, 3].map(DocNumber), matches);
/// let groups: Vec<Vec<u32>> = stars.clusters.iter().map(|c| c.members.iter().map(|doc| doc.0).collect()).collect();
/// assert_eq!(groups, [vec![1, 0, 2], vec![3]]);
/// assert_eq!(stars.cut, 1);
/// ```
pub fn stars(order: &[DocNumber], mut matches: impl FnMut(DocNumber) -> Vec<DocNumber>) -> Stars {
    let mut stars = Stars::default();
    stars.cut = build_stars(
        order,
        |center, hits| hits.extend(matches(center).into_iter().map(|doc| Hit { distance: 0, doc })),
        |cluster, _| stars.clusters.push(cluster),
    );
    stars
}

/// Like [`stars`], but also computes the average distance of the members from their center.
///
/// `near` appends the matches of a center and their distances to a list. It may omit documents that it returned before,
/// because they are already assigned. An index can therefore remove every hit that it returns, so that it returns each
/// document only once, even if all documents match each other.
///
/// ```
/// use sameish::{DocNumber, Hit, measured_stars};
///
/// let near = |doc: DocNumber, hits: &mut Vec<Hit>| {
///     hits.extend((0..4).map(|other| Hit { distance: doc.0.abs_diff(other), doc: DocNumber(other) }));
/// };
/// let stars = measured_stars(&[0, 1, 2, 3].map(DocNumber), near);
/// assert_eq!((stars.len(), stars[0].cluster.members.len(), stars[0].average_distance), (1, 4, 2.0));
/// ```
pub fn measured_stars(
    order: &[DocNumber],
    near: impl FnMut(DocNumber, &mut Vec<Hit>),
) -> Vec<MeasuredCluster> {
    let mut clusters = Vec::new();
    build_stars(order, near, |cluster, total| {
        let others = cluster.members.len() - 1;
        let average_distance = if others == 0 { 0.0 } else { total as f64 / others as f64 };
        clusters.push(MeasuredCluster { cluster, average_distance });
    });
    clusters
}

/// Calls `sink` with each cluster and the sum of the distances of its members. Returns the number of cut matches; see
/// [`Stars::cut`].
fn build_stars(
    order: &[DocNumber],
    mut near: impl FnMut(DocNumber, &mut Vec<Hit>),
    mut sink: impl FnMut(Cluster, u64),
) -> usize {
    let positions = Places::new(order);
    let mut assigned = vec![false; order.len()];
    let mut cut = 0;
    let mut hits = Vec::new();
    let mut taken = Vec::new();
    for (position, &center) in order.iter().enumerate() {
        // If a document occurs several times in the order, only its first position counts.
        if positions.get(center) != Some(position) || std::mem::replace(&mut assigned[position], true) {
            continue;
        }
        hits.clear();
        near(center, &mut hits);
        taken.clear();
        taken.extend(hits.iter().filter_map(|hit| Some((positions.get(hit.doc)?, hit.distance))));
        taken.sort_unstable();
        taken.dedup_by_key(|&mut (at, _)| at);
        taken.retain(|&(at, _)| at != position);
        let before = taken.len();
        taken.retain(|&(at, _)| !std::mem::replace(&mut assigned[at], true));
        cut += before - taken.len();
        let members = std::iter::once(center).chain(taken.iter().map(|&(at, _)| order[at])).collect();
        sink(Cluster { center, members }, taken.iter().map(|&(_, distance)| u64::from(distance)).sum());
    }
    cut
}

#[cfg(test)]
mod tests {
    use super::*;

    fn docs(numbers: &[u32]) -> Vec<DocNumber> {
        numbers.iter().copied().map(DocNumber).collect()
    }

    #[test]
    fn assigns_every_document_once_and_centers_do_not_match() {
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
    fn ignores_matches_with_itself_and_with_documents_outside_the_order() {
        let found = stars(&docs(&[1, 2]), |_| docs(&[1, 2, 2, 9]));
        assert_eq!(found.clusters, [Cluster { center: DocNumber(1), members: docs(&[1, 2]) }]);
        assert_eq!(found.cut, 0);
    }

    #[test]
    fn ignores_repeated_documents_in_the_order() {
        let found = stars(&docs(&[1, 2, 1]), |_| Vec::new());
        assert_eq!(found.clusters.len(), 2);
    }
}
