//! How close are the members of a cluster to its center?

use super::corpus::Corpus;
use super::judging::{Desk, Found, Task};
use super::linkage::{Clusters, by_distance};
use crate::exit::Failure;
use sameish::Judge;

/// Members that are compared with their center at once.
const PIECE: usize = 4096;
/// Comparisons that are made at once.
const WINDOW: usize = 1 << 14;

/// Averages over the members of clusters besides the center.
pub(crate) struct Spreads<'a> {
    corpus: &'a Corpus,
    clusters: &'a Clusters,
    desk: Desk<'a>,
    judge: Judge,
    /// Bits, for settings that judge by them; else similarities.
    pub(crate) distances: bool,
}

/// Some members of a cluster.
struct Piece<'a> {
    at: usize,
    center: u32,
    members: &'a [u32],
}

impl<'a> Spreads<'a> {
    pub(crate) fn new(corpus: &'a Corpus, clusters: &'a Clusters) -> Spreads<'a> {
        Spreads {
            corpus,
            clusters,
            desk: Desk::new(corpus.known(false), corpus.budget.desk()),
            judge: Judge::new(corpus.engine.config()).with_threshold(0.0),
            distances: by_distance(corpus),
        }
    }

    /// Of these clusters; 0 bits or a similarity of 1 for one alone.
    pub(crate) fn of(&mut self, clusters: std::ops::Range<usize>) -> Result<Vec<f64>, Failure> {
        let first = clusters.start;
        let mut sums = vec![0.0; clusters.len()];
        let (mut pieces, mut comparisons): (Vec<Piece<'a>>, usize) = (Vec::new(), 0);
        for cluster in clusters.clone() {
            let members = self.clusters.members(cluster);
            let center = self.corpus.leader[members[0] as usize];
            for members in members[1..].chunks(PIECE) {
                pieces.push(Piece { at: cluster - first, center, members });
                comparisons += members.len();
                if comparisons >= WINDOW {
                    self.add(&pieces, &mut sums)?;
                    (pieces, comparisons) = (Vec::new(), 0);
                }
            }
        }
        self.add(&pieces, &mut sums)?;
        let alone = if self.distances { 0.0 } else { 1.0 };
        let mean = |(cluster, sum): (usize, f64)| match self.clusters.members(cluster).len() - 1 {
            0 => alone,
            others => sum / others as f64,
        };
        Ok(clusters.zip(sums).map(mean).collect())
    }

    fn add(&mut self, pieces: &[Piece<'_>], sums: &mut [f64]) -> Result<(), Failure> {
        let leader = |doc: u32| self.corpus.leader[doc as usize];
        if self.distances {
            let print = |doc: u32| self.corpus.prints[doc as usize];
            for Piece { at, center, members } in pieces {
                members
                    .iter()
                    .for_each(|&doc| sums[*at] += f64::from((print(*center) ^ print(doc)).count_ones()));
            }
            return Ok(());
        }
        let task = |Piece { center, members, .. }: &Piece<'_>| {
            let mut others: Vec<u32> =
                members.iter().map(|&doc| leader(doc)).filter(|doc| doc != center).collect();
            others.sort_unstable();
            others.dedup();
            Task { doc: *center, others }
        };
        let tasks: Vec<Task> = pieces.iter().map(task).collect();
        let found = self.desk.judge(&tasks, self.judge, None)?;
        for (Piece { at, center, members }, found) in pieces.iter().zip(found) {
            let similarity = |doc: u32| match found.binary_search_by_key(&doc, |found: &Found| found.doc) {
                _ if doc == *center => 1.0,
                Ok(place) => found[place].verdict.similarity,
                Err(_) => 0.0,
            };
            members.iter().for_each(|&doc| sums[*at] += similarity(leader(doc)));
        }
        Ok(())
    }
}
