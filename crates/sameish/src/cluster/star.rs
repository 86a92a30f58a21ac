//! Clusters that hold together: every member matches its center.

use super::places::Places;
use super::{Cluster, MeasuredCluster};
use crate::index::{DocNumber, Hit};

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
    let mut stars = Stars::default();
    stars.cut = gather(
        order,
        |center, hits| hits.extend(matches(center).into_iter().map(|doc| Hit { distance: 0, doc })),
        |cluster, _| stars.clusters.push(cluster),
    );
    stars
}

/// As [`stars`], with distances: `near` adds the documents near a center to the list it is given.
///
/// It may leave out documents that it named before: they are assigned. An index from which every hit is removed thus
/// answers each document once, however many are near each other.
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
    gather(order, near, |cluster, total| {
        let others = cluster.members.len() - 1;
        let average_distance = if others == 0 { 0.0 } else { total as f64 / others as f64 };
        clusters.push(MeasuredCluster { cluster, average_distance });
    });
    clusters
}

/// Gives `sink` each cluster with the sum of its members' distances; tells how many matches were cut.
fn gather(
    order: &[DocNumber],
    mut near: impl FnMut(DocNumber, &mut Vec<Hit>),
    mut sink: impl FnMut(Cluster, u64),
) -> usize {
    let places = Places::new(order);
    let mut assigned = vec![false; order.len()];
    let (mut cut, mut hits, mut taken) = (0, Vec::new(), Vec::new());
    for (place, &center) in order.iter().enumerate() {
        // A document that stands in the order twice has its first place only.
        if places.get(center) != Some(place) || std::mem::replace(&mut assigned[place], true) {
            continue;
        }
        hits.clear();
        near(center, &mut hits);
        taken.clear();
        taken.extend(hits.iter().filter_map(|hit| Some((places.get(hit.doc)?, hit.distance))));
        taken.sort_unstable();
        taken.dedup_by_key(|&mut (at, _)| at);
        taken.retain(|&(at, _)| at != place);
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

    #[test]
    fn a_document_that_stands_in_the_order_twice_counts_once() {
        let found = stars(&docs(&[1, 2, 1]), |_| Vec::new());
        assert_eq!(found.clusters.len(), 2);
    }
}
