//! Spread of clusters: how close members are to their center.

use crate::clusters::Clusters;
use crate::compare::{Comparisons, TextCache, WithFacts, by_distance};
use crate::error::Result;
use crate::ranked::Ranked;
use crate::signed::IndexedCorpus;
use sameish::matching::Judge;

/// Maximum number of members that are compared with their center at once.
const PIECE: usize = 4096;
/// Target number of comparisons per window.
const WINDOW: usize = 1 << 14;

/// Computes the mean distance or similarity between the members of a cluster and its center.
pub struct Spreads<'a> {
    corpus: &'a IndexedCorpus<'a>,
    clusters: &'a Clusters,
    texts: TextCache<'a>,
    judge: Judge,
    /// `true` if the spread is a distance in bits, because fingerprints alone decide; else it is a similarity.
    pub distances: bool,
}

/// Some members of a cluster.
struct Piece<'a> {
    cluster: usize,
    center: u32,
    members: &'a [u32],
}

impl<'a> Spreads<'a> {
    /// Prepares the computation for the clusters of a corpus.
    pub fn new(corpus: &'a IndexedCorpus<'a>, clusters: &'a Clusters) -> Spreads<'a> {
        Spreads {
            corpus,
            clusters,
            texts: TextCache::new(corpus, WithFacts::No),
            judge: Judge::new(corpus.analyzer.config()).with_threshold(0.0),
            distances: by_distance(&corpus.analyzer),
        }
    }

    /// Returns the spreads of a range of clusters; 0 bits or similarity 1 for a cluster of one document.
    pub fn of(&mut self, clusters: std::ops::Range<usize>) -> Result<Vec<f64>> {
        let first = clusters.start;
        let mut sums = vec![0.0; clusters.len()];
        let mut pieces: Vec<Piece<'a>> = Vec::new();
        let mut comparisons = 0;
        for cluster in clusters.clone() {
            let members = self.clusters.members(cluster);
            let center = self.corpus.leader[members[0] as usize];
            for members in members[1..].chunks(PIECE) {
                pieces.push(Piece { cluster: cluster - first, center, members });
                comparisons += members.len();
                if comparisons >= WINDOW {
                    self.add(&pieces, &mut sums)?;
                    pieces.clear();
                    comparisons = 0;
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

    fn add(&mut self, pieces: &[Piece<'_>], sums: &mut [f64]) -> Result<()> {
        let leader = |doc: u32| self.corpus.leader[doc as usize];
        if self.distances {
            let fingerprint = |doc: u32| self.corpus.signed.fingerprints[doc as usize];
            for Piece { cluster, center, members } in pieces {
                let distance = |&doc: &u32| f64::from((fingerprint(*center) ^ fingerprint(doc)).count_ones());
                sums[*cluster] += members.iter().map(distance).sum::<f64>();
            }
            return Ok(());
        }
        let task = |Piece { center, members, .. }: &Piece<'_>| {
            let mut candidates: Vec<u32> =
                members.iter().map(|&doc| leader(doc)).filter(|doc| doc != center).collect();
            candidates.sort_unstable();
            candidates.dedup();
            Comparisons::new(*center, candidates.into_iter().map(Ranked::unknown).collect())
        };
        let tasks: Vec<Comparisons> = pieces.iter().map(task).collect();
        let found = self.texts.judge(&tasks, self.judge, None)?;
        for (Piece { cluster, center, members }, found) in pieces.iter().zip(found) {
            let similarity = |doc: u32| match found.binary_search_by_key(&doc, |found| found.doc) {
                _ if doc == *center => 1.0,
                Ok(place) => found[place].verdict.similarity,
                Err(_) => 0.0,
            };
            members.iter().for_each(|&doc| sums[*cluster] += similarity(leader(doc)));
        }
        Ok(())
    }
}
