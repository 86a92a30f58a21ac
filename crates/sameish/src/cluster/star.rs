//! Star clustering: every member of a cluster has a verified match with its center.
//!
//! Documents are processed in order. The first unassigned document becomes a center and takes every unassigned document that
//! has a verified match with it. Only centers are compared, so a million near-copies of one text take a million comparisons, not a
//! million squared. This is a variant of the algorithm of Aslam, Pelekhov and Rus (*The star clustering
//! algorithm for static and dynamic information organization*, 2004): documents become centers in a given order instead of by
//! descending degree, and a document belongs to one star only.
//!
//! [`star_clusters`] is the only implementation. It gets candidates from a [`StarSource`] and verifies them; the sources are the
//! indexes of an engine, a corpus on disk, an index of fingerprints ([`greedy`](super::greedy)), or a list of verified pairs
//! ([`stars`]).

use super::Cluster;
use super::places::Places;
use crate::index::DocNumber;
use std::collections::HashSet;
use std::convert::Infallible;

/// Number of candidates that are first compared with a center. The number doubles in each round, so a member of a large cluster
/// costs at most two comparisons.
const FIRST_ROUND: usize = 60;
/// Number of comparisons without a match after which rounds end unless at least half of their candidates match. So a corpus of
/// texts that are candidates of each other without matching costs a bounded number of comparisons per document.
const UNMATCHED: u64 = 10_000;
/// The same, per center.
const UNMATCHED_PER_CENTER: u64 = 16;
/// Maximum number of candidates per round.
const LARGEST_ROUND: usize = 4_096;

/// Supplies candidates to [`star_clusters`] and verifies them.
pub trait StarSource {
    /// Error that ends the clustering.
    type Error;

    /// Returns `false` if a document cannot have candidates. It becomes a center without further calls.
    fn has_candidates(&self, _doc: DocNumber) -> bool {
        true
    }

    /// Returns unassigned documents that may match `center` and are not in `compared`, in ascending order.
    ///
    /// A source returns the `limit` most promising candidates and counts the remaining ones in `left`. A source whose comparisons
    /// are cheap may ignore the limit. Apart from `centers` and `compared`, the result must not depend on earlier calls.
    fn candidates(
        &mut self,
        center: DocNumber,
        limit: usize,
        centers: &Centers,
        compared: &HashSet<DocNumber>,
    ) -> Candidates;

    /// Returns members of other clusters that may match `center`, to count the chains that are cut.
    fn assigned_candidates(&mut self, _center: DocNumber, _centers: &Centers) -> Vec<DocNumber> {
        Vec::new()
    }

    /// Loads the documents that [`compare`](Self::compare) will need.
    fn load(&mut self, _docs: &[DocNumber]) -> Result<(), Self::Error> {
        Ok(())
    }

    /// Releases loaded documents that are not in `keep`, which is sorted.
    fn unload(&mut self, _keep: &[DocNumber]) {}

    /// Returns `true` if `doc` has a verified match with `center`, and joins its cluster if it is unassigned.
    fn compare(&mut self, center: DocNumber, doc: DocNumber, purpose: Purpose) -> bool;

    /// Called when a document is assigned, as a center or a member. It is not requested as a candidate any more.
    fn assigned(&mut self, _doc: DocNumber) {}

    /// Called after each batch of centers with the number of documents processed so far.
    fn progress(&mut self, _done: usize) -> Result<(), Self::Error> {
        Ok(())
    }

    /// Returns how many centers are loaded together. The result does not depend on it.
    fn batch(&self) -> Batch {
        Batch::default()
    }

    /// Returns the size of a loaded document, in the unit of [`Batch::size`].
    fn size(&self, _doc: DocNumber) -> usize {
        0
    }
}

/// Candidates of a center.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Candidates {
    /// The candidates.
    pub docs: Vec<DocNumber>,
    /// Number of other candidates, or fewer if it is not known; 0 if there are none.
    pub left: usize,
}

/// Why two documents are compared.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Purpose {
    /// The document joins the cluster if it matches.
    Join,
    /// The document is a member of another cluster; a match is counted as a cut chain.
    Count,
}

/// Limits of a batch of centers that are loaded together.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Batch {
    /// Maximum number of centers.
    pub centers: usize,
    /// Maximum size of the loaded documents; the last center may exceed it.
    pub size: usize,
}

impl Default for Batch {
    fn default() -> Batch {
        Batch { centers: 1, size: usize::MAX }
    }
}

/// Center of each document.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Centers(Vec<u32>);

const UNASSIGNED: u32 = u32::MAX;

impl Centers {
    /// Creates an assignment of `documents` documents in which only the first `reference` are assigned, each to itself.
    fn new(documents: usize, reference: u32) -> Centers {
        let mut centers = vec![UNASSIGNED; documents];
        (0..reference).for_each(|doc| centers[doc as usize] = doc);
        Centers(centers)
    }

    /// Returns the center of a document: itself if it is one, `None` if it is unassigned.
    pub fn get(&self, doc: DocNumber) -> Option<DocNumber> {
        Some(self.0[doc.0 as usize]).filter(|&center| center != UNASSIGNED).map(DocNumber)
    }

    /// Returns `true` if a document is unassigned.
    pub fn is_free(&self, doc: DocNumber) -> bool {
        self.0[doc.0 as usize] == UNASSIGNED
    }

    /// Returns the numbers of the centers by document; `u32::MAX` for an unassigned document.
    pub fn into_inner(self) -> Vec<u32> {
        self.0
    }
}

/// Result of [`star_clusters`].
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StarClusters {
    /// Center of each document.
    pub centers: Centers,
    /// Number of candidates that were compared.
    pub candidates: u64,
    /// Number of centers for which a limit ended the search, so that members may be missing.
    pub capped: u64,
    /// Number of candidates that were not compared for this reason.
    pub left: u64,
    /// Number of candidates of the last rounds of these searches: the least promising ones that were compared.
    pub last: u64,
    /// Number of these that match.
    pub last_matched: u64,
    /// Number of matches between a center and a member of another cluster.
    pub cut: u64,
}

/// Clusters documents around centers.
///
/// `documents` is the number of documents; `order` lists those to cluster. The first `reference` documents belong to an existing
/// corpus: each is a center, whether or not it matches another, and takes unassigned documents when its turn comes.
///
/// Memory is about 4 bytes per document in addition to what the source needs.
pub fn star_clusters<S: StarSource>(
    documents: usize,
    order: impl IntoIterator<Item = DocNumber>,
    reference: u32,
    source: &mut S,
) -> Result<StarClusters, S::Error> {
    let centers = Centers::new(documents, reference);
    let found = StarClusters { centers, candidates: 0, capped: 0, left: 0, last: 0, last_matched: 0, cut: 0 };
    let mut run = Run { source, reference, done: 0, unmatched: 0, asked: 0, found };
    let mut order = order.into_iter().peekable();
    while order.peek().is_some() {
        let tasks = run.next_batch(&mut order);
        run.compare_batch(tasks)?;
        run.source.progress(run.done)?;
    }
    Ok(run.found)
}

/// A center and its first candidates.
struct Task {
    center: DocNumber,
    candidates: Candidates,
}

struct Run<'a, S> {
    source: &'a mut S,
    reference: u32,
    /// Number of documents of the order processed so far.
    done: usize,
    /// Number of comparisons without a match.
    unmatched: u64,
    /// Number of centers that were compared with candidates.
    asked: u64,
    found: StarClusters,
}

impl<S: StarSource> Run<'_, S> {
    /// Returns the next centers with their candidates, as many as fit into a batch.
    fn next_batch(&mut self, order: &mut std::iter::Peekable<impl Iterator<Item = DocNumber>>) -> Vec<Task> {
        let limits = self.source.batch();
        let none = HashSet::new();
        let mut tasks = Vec::new();
        let mut size = 0;
        while tasks.len() < limits.centers && size < limits.size {
            let Some(&doc) = order.peek() else { break };
            let free = self.found.centers.is_free(doc);
            if free && !self.source.has_candidates(doc) {
                self.found.centers.0[doc.0 as usize] = doc.0;
            } else if free || doc.0 < self.reference {
                let candidates = self.source.candidates(doc, FIRST_ROUND, &self.found.centers, &none);
                // A center with more candidates than the limit forms a batch of its own, so that the candidates which are
                // left out do not depend on the boundaries of batches.
                let alone = candidates.left > 0;
                if alone && !tasks.is_empty() {
                    break;
                }
                let docs = candidates.docs.iter().chain([&doc]);
                size += docs.map(|&doc| self.source.size(doc)).sum::<usize>();
                tasks.push(Task { center: doc, candidates });
                if alone {
                    size = usize::MAX;
                }
            }
            order.next();
            self.done += 1;
        }
        tasks
    }

    fn compare_batch(&mut self, tasks: Vec<Task>) -> Result<(), S::Error> {
        let mut needed: Vec<DocNumber> = tasks
            .iter()
            .filter(|task| !task.candidates.docs.is_empty())
            .flat_map(|task| task.candidates.docs.iter().copied().chain([task.center]))
            .collect();
        needed.sort_unstable();
        needed.dedup();
        self.source.unload(&[]);
        self.source.load(&needed)?;
        for Task { center, candidates } in tasks {
            if self.found.centers.is_free(center) {
                self.assign(center, center);
            } else if center.0 >= self.reference {
                // An earlier center of the batch took it.
                continue;
            }
            self.count_chains(center)?;
            self.take_members(center, candidates, &needed)?;
        }
        Ok(())
    }

    /// Compares a center with its candidates, in rounds. Ends if few of them match and too many comparisons were without a match.
    fn take_members(
        &mut self,
        center: DocNumber,
        mut candidates: Candidates,
        needed: &[DocNumber],
    ) -> Result<(), S::Error> {
        let mut compared = HashSet::new();
        let mut limit = FIRST_ROUND;
        self.asked += 1;
        loop {
            let mut tried = 0;
            let mut matched = 0;
            for &doc in &candidates.docs {
                if !self.found.centers.is_free(doc) {
                    continue;
                }
                tried += 1;
                if self.source.compare(center, doc, Purpose::Join) {
                    matched += 1;
                    self.assign(doc, center);
                }
            }
            self.found.candidates += tried;
            self.unmatched += tried - matched;
            if candidates.left == 0 || tried == 0 {
                return Ok(());
            }
            if matched * 2 < tried && self.unmatched > UNMATCHED + UNMATCHED_PER_CENTER * self.asked {
                self.found.capped += 1;
                self.found.left += candidates.left as u64;
                self.found.last += tried;
                self.found.last_matched += matched;
                return Ok(());
            }
            compared.extend(candidates.docs);
            limit = (limit * 2).min(LARGEST_ROUND);
            candidates = self.source.candidates(center, limit, &self.found.centers, &compared);
            self.source.unload(needed);
            self.source.load(&candidates.docs)?;
        }
    }

    /// Counts members of other clusters that match the center.
    fn count_chains(&mut self, center: DocNumber) -> Result<(), S::Error> {
        let members = self.source.assigned_candidates(center, &self.found.centers);
        if members.is_empty() {
            return Ok(());
        }
        self.source.load(&[center])?;
        self.source.load(&members)?;
        for doc in members {
            self.found.cut += u64::from(self.source.compare(center, doc, Purpose::Count));
        }
        Ok(())
    }

    fn assign(&mut self, doc: DocNumber, center: DocNumber) {
        self.found.centers.0[doc.0 as usize] = center.0;
        self.source.assigned(doc);
    }
}

/// Clusters around centers, and the number of matches between clusters.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Stars {
    /// Clusters in the order of their centers; a document without a match is a cluster of its own.
    pub clusters: Vec<Cluster>,
    /// Number of matches between a center and a member of an earlier cluster: chains that were cut.
    pub cut: usize,
}

/// Clusters documents by verified matches: the first unassigned document of `order` becomes a center and takes every
/// unassigned document that matches it.
///
/// `matches` returns the matches of a document, which must be symmetric: then no two centers match. Members are in the order of
/// `order`. Matches that are not in `order` are ignored. See [`star_clusters`] for candidates that must be loaded or limited.
///
/// ```
/// use sameish::cluster::stars;
/// use sameish::index::DocNumber;
///
/// // A chain 0 - 1 - 2 - 3.
/// let near = |doc: DocNumber| (0..4).filter(move |&other| doc.0.abs_diff(other) == 1).map(DocNumber).collect();
/// let stars = stars(&[1, 0, 2, 3].map(DocNumber), near);
/// let groups: Vec<Vec<u32>> = stars.clusters.iter().map(|c| c.members.iter().map(|doc| doc.0).collect()).collect();
/// assert_eq!(groups, [vec![1, 0, 2], vec![3]]);
/// assert_eq!(stars.cut, 1);
/// ```
pub fn stars(order: &[DocNumber], matches: impl FnMut(DocNumber) -> Vec<DocNumber>) -> Stars {
    let places = Places::new(order);
    let first_place = |&place: &u32| places.get(order[place as usize]) == Some(place as usize);
    let distinct = (0..order.len() as u32).filter(first_place).map(DocNumber);
    let mut source = MatchList { order, places: &places, matches, assigned: Vec::new() };
    let Ok(found) = star_clusters(order.len(), distinct, 0, &mut source);
    Stars { clusters: clusters(&found.centers, |place| order[place as usize]), cut: found.cut as usize }
}

/// Collects the clusters of documents that are numbered in order; `doc` maps these numbers.
pub(super) fn clusters(centers: &Centers, doc: impl Fn(u32) -> DocNumber) -> Vec<Cluster> {
    let mut number_of = vec![UNASSIGNED; centers.0.len()];
    let mut clusters: Vec<Cluster> = Vec::new();
    for (place, &center) in (0u32..).zip(&centers.0) {
        if center == UNASSIGNED {
            continue;
        }
        if center == place {
            number_of[place as usize] = clusters.len() as u32;
            clusters.push(Cluster { center: doc(place), members: Vec::new() });
        }
        clusters[number_of[center as usize] as usize].members.push(doc(place));
    }
    clusters
}

/// Source of verified matches. Documents are numbered by their places in the order.
struct MatchList<'a, M> {
    order: &'a [DocNumber],
    places: &'a Places,
    matches: M,
    /// Matches of the current center that are members of other clusters.
    assigned: Vec<DocNumber>,
}

impl<M: FnMut(DocNumber) -> Vec<DocNumber>> StarSource for MatchList<'_, M> {
    type Error = Infallible;

    fn candidates(
        &mut self,
        center: DocNumber,
        _: usize,
        centers: &Centers,
        _: &HashSet<DocNumber>,
    ) -> Candidates {
        let matches = (self.matches)(self.order[center.0 as usize]);
        let mut docs: Vec<DocNumber> =
            matches.into_iter().filter_map(|doc| Some(DocNumber(self.places.get(doc)? as u32))).collect();
        docs.sort_unstable();
        docs.dedup();
        docs.retain(|&doc| doc != center);
        (docs, self.assigned) = docs.into_iter().partition(|&doc| centers.is_free(doc));
        Candidates { docs, left: 0 }
    }

    fn assigned_candidates(&mut self, _: DocNumber, _: &Centers) -> Vec<DocNumber> {
        std::mem::take(&mut self.assigned)
    }

    fn compare(&mut self, _: DocNumber, _: DocNumber, _: Purpose) -> bool {
        true
    }
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
    fn ignores_matches_with_itself_and_with_unlisted_documents() {
        let found = stars(&docs(&[1, 2]), |_| docs(&[1, 2, 2, 9]));
        assert_eq!(found.clusters, [Cluster { center: DocNumber(1), members: docs(&[1, 2]) }]);
        assert_eq!(found.cut, 0);
    }

    #[test]
    fn counts_a_document_that_is_listed_twice_once() {
        let found = stars(&docs(&[1, 2, 1]), |_| Vec::new());
        assert_eq!(found.clusters.len(), 2);
    }

    /// Candidates are limited, loaded in batches and compared by the parity of their numbers.
    struct Parity {
        documents: u32,
        batch: usize,
        loaded: HashSet<DocNumber>,
    }

    impl StarSource for Parity {
        type Error = Infallible;

        fn candidates(
            &mut self,
            center: DocNumber,
            limit: usize,
            centers: &Centers,
            compared: &HashSet<DocNumber>,
        ) -> Candidates {
            let other = |doc: &DocNumber| *doc != center && centers.is_free(*doc) && !compared.contains(doc);
            let mut docs: Vec<DocNumber> = (0..self.documents).map(DocNumber).filter(other).collect();
            let left = docs.len().saturating_sub(limit);
            docs.truncate(limit);
            Candidates { docs, left }
        }

        fn load(&mut self, docs: &[DocNumber]) -> Result<(), Infallible> {
            self.loaded.extend(docs);
            Ok(())
        }

        fn unload(&mut self, keep: &[DocNumber]) {
            self.loaded.retain(|doc| keep.binary_search(doc).is_ok());
        }

        fn compare(&mut self, center: DocNumber, doc: DocNumber, _: Purpose) -> bool {
            assert!(self.loaded.contains(&doc));
            center.0 % 2 == doc.0 % 2
        }

        fn batch(&self) -> Batch {
            Batch { centers: self.batch, size: usize::MAX }
        }
    }

    #[test]
    fn result_does_not_depend_on_batches() {
        for documents in [2, 50, 61, 1000, 20_000] {
            let run = |batch| {
                let mut source = Parity { documents, batch, loaded: HashSet::new() };
                let Ok(found) =
                    star_clusters(documents as usize, (0..documents).map(DocNumber), 0, &mut source);
                found
            };
            let found = run(1);
            assert_eq!(found, run(7));
            assert_eq!(found, run(512));
            assert_eq!(clusters(&found.centers, DocNumber).len(), 2, "{documents}");
            assert!(found.candidates <= 2 * u64::from(documents) + 120);
        }
    }

    #[test]
    fn documents_of_an_existing_corpus_are_centers() {
        let mut source = Parity { documents: 6, batch: 4, loaded: HashSet::new() };
        let Ok(found) = star_clusters(6, (0..6).map(DocNumber), 3, &mut source);
        assert_eq!(found.centers.into_inner(), [0, 1, 2, 1, 0, 1]);
    }
}
