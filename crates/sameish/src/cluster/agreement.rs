//! Agreement of two clusterings, usually a prediction and a gold standard.
//!
//! All measures are computed from the contingency table, which counts the documents in each pair of a predicted and a gold
//! cluster. Time and memory are linear in the number of documents: the pairs of documents in a cluster are counted as
//! `n (n - 1) / 2` and never enumerated.
//!
//! - Pairwise precision, recall and F1: of the pairs of documents that the prediction joins, the fraction that the gold
//!   standard joins, and the reverse.
//! - Adjusted Rand index: agreement on pairs, corrected for chance; 1 for equal clusterings, about 0 for a random one
//!   (Hubert and Arabie, *Comparing partitions*, 1985).
//! - B-cubed precision, recall and F1: averages over documents, so that one huge cluster does not dominate
//!   (Bagga and Baldwin, *Entity-based cross-document coreferencing using the vector space model*, 1998).

use std::collections::HashMap;

/// Precision, recall and F1.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Score {
    /// Fraction of the predicted items that are correct; 1 if nothing was predicted.
    pub precision: f64,
    /// Fraction of the correct items that were predicted; 1 if there are no correct items.
    pub recall: f64,
    /// Harmonic mean of precision and recall.
    pub f1: f64,
}

impl Score {
    fn new(precision: f64, recall: f64) -> Score {
        let sum = precision + recall;
        let f1 = if sum == 0.0 { 0.0 } else { 2.0 * precision * recall / sum };
        Score { precision, recall, f1 }
    }
}

/// Numbers of pairs of documents that the prediction and the gold standard join.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct PairCounts {
    /// Joined by both: true positives.
    pub both: u64,
    /// Joined by the prediction only: false positives.
    pub only_predicted: u64,
    /// Joined by the gold standard only: false negatives.
    pub only_gold: u64,
}

impl PairCounts {
    /// Returns pairwise precision, recall and F1.
    ///
    /// ```
    /// let score = sameish::cluster::PairCounts { both: 3, only_predicted: 1, only_gold: 2 }.score();
    /// assert_eq!((score.precision, score.recall), (0.75, 0.6));
    /// ```
    pub fn score(&self) -> Score {
        let share = |others: u64| match self.both + others {
            0 => 1.0,
            all => self.both as f64 / all as f64,
        };
        Score::new(share(self.only_predicted), share(self.only_gold))
    }
}

/// A cluster of one clustering whose documents are in several clusters of the other.
///
/// A predicted cluster of this kind is a false merge; a gold cluster of this kind was split.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Mixed {
    /// The number of the cluster in its own clustering.
    pub cluster: u32,
    /// Number of documents in the cluster.
    pub documents: u64,
    /// Number of pairs of its documents that the other clustering does not join.
    pub pairs: u64,
    /// The clusters of the other clustering that share documents with it, and the number of shared documents, largest first.
    pub parts: Vec<(u32, u64)>,
}

/// The contingency table of two clusterings: the number of documents in each pair of a predicted and a gold cluster.
///
/// ```
/// use sameish::cluster::Contingency;
///
/// // Four documents. The prediction joins the first three, the gold standard the first two.
/// let table = Contingency::new([(0, 0), (0, 0), (0, 1), (1, 2)]);
/// assert_eq!(table.pairs().score().recall, 1.0);
/// assert_eq!(table.worst_merges(1)[0].pairs, 2);
/// assert!(table.worst_splits(1).is_empty());
/// ```
#[derive(Clone, Debug, Default)]
pub struct Contingency {
    documents: u64,
    cells: HashMap<(u32, u32), u64>,
    predicted: HashMap<u32, u64>,
    gold: HashMap<u32, u64>,
}

impl Contingency {
    /// Builds the table from the predicted and the gold cluster of each document. Cluster numbers are arbitrary.
    pub fn new(documents: impl IntoIterator<Item = (u32, u32)>) -> Contingency {
        let mut table = Contingency::default();
        for (predicted, gold) in documents {
            table.documents += 1;
            *table.cells.entry((predicted, gold)).or_default() += 1;
            *table.predicted.entry(predicted).or_default() += 1;
            *table.gold.entry(gold).or_default() += 1;
        }
        table
    }

    /// Returns the number of documents.
    pub fn documents(&self) -> u64 {
        self.documents
    }

    /// Counts the pairs of documents that both clusterings join, and those that only one joins.
    pub fn pairs(&self) -> PairCounts {
        let sum = |counts: &mut dyn Iterator<Item = &u64>| counts.map(|&n| pairs_among(n)).sum::<u64>();
        let both = sum(&mut self.cells.values());
        PairCounts {
            both,
            only_predicted: sum(&mut self.predicted.values()) - both,
            only_gold: sum(&mut self.gold.values()) - both,
        }
    }

    /// Returns the adjusted Rand index: 1 if the clusterings are equal, 0 if they agree as expected by chance, at least -0.5.
    pub fn adjusted_rand_index(&self) -> f64 {
        let PairCounts { both, only_predicted, only_gold } = self.pairs();
        if only_predicted == 0 && only_gold == 0 {
            return 1.0;
        }
        let neither = pairs_among(self.documents) - both - only_predicted - only_gold;
        // Integer arithmetic avoids cancellation: the difference of the two large products may be small. There are fewer than
        // 2^32 documents, so the four counts sum to less than 2^63 and no product overflows.
        let [both, only_predicted, only_gold, neither] =
            [both, only_predicted, only_gold, neither].map(i128::from);
        let numerator = both * neither - only_gold * only_predicted;
        let denominator =
            (both + only_gold) * (only_gold + neither) + (both + only_predicted) * (only_predicted + neither);
        2.0 * numerator as f64 / denominator as f64
    }

    /// Returns B-cubed precision, recall and F1: averages over documents.
    pub fn bcubed(&self) -> Score {
        if self.documents == 0 {
            return Score::new(1.0, 1.0);
        }
        let mut precision = 0.0;
        let mut recall = 0.0;
        // Sorted, because sums of floating-point numbers depend on the order.
        let mut cells: Vec<_> = self.cells.iter().collect();
        cells.sort_unstable();
        for (&(predicted, gold), &both) in cells {
            let square = both as f64 * both as f64;
            precision += square / self.predicted[&predicted] as f64;
            recall += square / self.gold[&gold] as f64;
        }
        let mean = |sum: f64| (sum / self.documents as f64).min(1.0);
        Score::new(mean(precision), mean(recall))
    }

    /// Returns up to `count` predicted clusters with the most false positive pairs, worst first.
    pub fn worst_merges(&self, count: usize) -> Vec<Mixed> {
        worst(&self.predicted, self.cells.iter().map(|(&(predicted, gold), &n)| (predicted, gold, n)), count)
    }

    /// Returns up to `count` gold clusters with the most false negative pairs, worst first.
    pub fn worst_splits(&self, count: usize) -> Vec<Mixed> {
        worst(&self.gold, self.cells.iter().map(|(&(predicted, gold), &n)| (gold, predicted, n)), count)
    }
}

/// Returns `n (n - 1) / 2`, without overflow for n up to 2^32.
fn pairs_among(n: u64) -> u64 {
    if n.is_multiple_of(2) { (n / 2) * n.saturating_sub(1) } else { n * (n / 2) }
}

/// Returns up to `count` clusters with the most pairs that the other clustering does not join. `cells` has the own cluster,
/// the other cluster and the number of documents in both.
fn worst(
    sizes: &HashMap<u32, u64>,
    cells: impl Iterator<Item = (u32, u32, u64)> + Clone,
    count: usize,
) -> Vec<Mixed> {
    let mut unjoined: HashMap<u32, u64> =
        sizes.iter().map(|(&cluster, &n)| (cluster, pairs_among(n))).collect();
    for (own, _, n) in cells.clone() {
        unjoined.entry(own).and_modify(|pairs| *pairs -= pairs_among(n));
    }
    let mut ranked: Vec<(u32, u64)> = unjoined.into_iter().filter(|&(_, pairs)| pairs > 0).collect();
    ranked.sort_unstable_by_key(|&(cluster, pairs)| (std::cmp::Reverse(pairs), cluster));
    ranked.truncate(count);
    let ranks: HashMap<u32, usize> =
        ranked.iter().enumerate().map(|(i, &(cluster, _))| (cluster, i)).collect();
    let mut mixed: Vec<Mixed> = ranked
        .into_iter()
        .map(|(cluster, pairs)| Mixed { cluster, documents: sizes[&cluster], pairs, parts: Vec::new() })
        .collect();
    for (own, other, n) in cells {
        if let Some(&at) = ranks.get(&own) {
            mixed[at].parts.push((other, n));
        }
    }
    for one in &mut mixed {
        one.parts.sort_unstable_by_key(|&(other, n)| (std::cmp::Reverse(n), other));
    }
    mixed
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn table(predicted: &[u32], gold: &[u32]) -> Contingency {
        assert_eq!(predicted.len(), gold.len());
        Contingency::new(predicted.iter().copied().zip(gold.iter().copied()))
    }

    #[track_caller]
    fn close(a: f64, b: f64) {
        assert!((a - b).abs() < 1e-12, "{a} instead of {b}");
    }

    /// Computed by hand for the prediction {a b c} {d e} and the gold standard {a b} {c d e}.
    #[test]
    fn agrees_with_measures_computed_by_hand() {
        let table = table(&[0, 0, 0, 1, 1], &[0, 0, 1, 1, 1]);
        // Both join ab and de; only the prediction joins ac and bc; only the gold standard joins cd and ce.
        assert_eq!(table.pairs(), PairCounts { both: 2, only_predicted: 2, only_gold: 2 });
        let score = table.pairs().score();
        assert_eq!((score.precision, score.recall, score.f1), (0.5, 0.5, 0.5));
        // Expected by chance: 4 * 4 / 10 = 1.6; maximum: (4 + 4) / 2 = 4. Index: (2 - 1.6) / (4 - 1.6).
        close(table.adjusted_rand_index(), 0.4 / 2.4);
        // Precision: 2/3 for a and b, 1/3 for c, 2/2 for d and e. Recall: 2/2 for a and b, 1/3 for c, 2/3 for d and e.
        let mean = (2.0 / 3.0 + 2.0 / 3.0 + 1.0 / 3.0 + 1.0 + 1.0) / 5.0;
        close(table.bcubed().precision, mean);
        close(table.bcubed().recall, mean);
        close(table.bcubed().f1, mean);
        let merge = Mixed { cluster: 0, documents: 3, pairs: 2, parts: vec![(0, 2), (1, 1)] };
        assert_eq!(table.worst_merges(9), [merge]);
        let split = Mixed { cluster: 1, documents: 3, pairs: 2, parts: vec![(1, 2), (0, 1)] };
        assert_eq!(table.worst_splits(9), [split]);
    }

    /// Figure 7 of Bagga and Baldwin. The gold standard is {1-5} {6 7} {8-12}. The first response joins 6 7 with 8-12, the
    /// second joins 1-5 with 8-12. Both join two clusters, and the larger error must cost more.
    #[test]
    fn bcubed_agrees_with_the_paper() {
        let truth = [0, 0, 0, 0, 0, 1, 1, 2, 2, 2, 2, 2];
        let first = table(&[0, 0, 0, 0, 0, 1, 1, 1, 1, 1, 1, 1], &truth).bcubed();
        let second = table(&[0, 0, 0, 0, 0, 1, 1, 0, 0, 0, 0, 0], &truth).bcubed();
        assert_eq!((first.recall, second.recall), (1.0, 1.0));
        // First: 5/5 for five documents, 2/7 for two, 5/7 for five. Second: 5/10 for ten, 2/2 for two. Paper: 76 % and 58 %.
        close(first.precision, (5.0 + 29.0 / 7.0) / 12.0);
        close(second.precision, (10.0 * 0.5 + 2.0) / 12.0);
    }

    /// Generates the labels with which the expected values were computed by scikit-learn.
    fn labels(count: usize, clusters: u64, mut state: u64) -> Vec<u32> {
        let mut next = || {
            state = state.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
            ((state >> 33) % clusters) as u32
        };
        (0..count).map(|_| next()).collect()
    }

    /// Expected values: `adjusted_rand_score` of scikit-learn, and half of its `pair_confusion_matrix`.
    #[test]
    fn agrees_with_scikit_learn() {
        let nearly = labels(1000, 30, 3);
        let noise = labels(1000, 30, 4);
        let noisy = (0..1000).map(|i| if i % 10 > 0 { nearly[i] } else { noise[i] }).collect();
        #[rustfmt::skip]
        let cases = [
            (vec![0, 0, 1, 1], vec![0, 0, 1, 2], 0.5714285714285714, [1, 1, 0]),
            (vec![0, 0, 1, 2], vec![0, 0, 1, 1], 0.5714285714285714, [1, 0, 1]),
            (vec![0, 0, 0, 0], vec![0, 1, 2, 3], 0.0, [0, 6, 0]),
            (vec![0, 0, 1, 1], vec![0, 1, 0, 1], -0.5, [0, 2, 2]),
            (vec![1, 1, 2, 2, 3, 3, 3, 0, 0, 0], vec![1, 1, 1, 2, 2, 3, 3, 0, 0, 3], 0.23986486486486486, [3, 5, 5]),
            (labels(1000, 7, 1), labels(1000, 11, 2), -0.001986675591845627, [6460, 64708, 39606]),
            (noisy, nearly, 0.8107029010360925, [13805, 3093, 3087]),
        ];
        for (predicted, gold, index, [both, only_predicted, only_gold]) in cases {
            let table = table(&predicted, &gold);
            assert_eq!(table.pairs(), PairCounts { both, only_predicted, only_gold });
            close(table.adjusted_rand_index(), index);
        }
    }

    #[test]
    fn handles_empty_equal_and_disjoint_clusterings() {
        let empty = Contingency::new([]);
        assert_eq!((empty.pairs(), empty.adjusted_rand_index()), (PairCounts::default(), 1.0));
        assert_eq!(empty.bcubed().f1, 1.0);
        let apart = table(&[0, 1, 2], &[5, 6, 7]);
        assert_eq!(
            (apart.adjusted_rand_index(), apart.pairs().score().f1, apart.bcubed().f1),
            (1.0, 1.0, 1.0)
        );
        assert!(apart.worst_merges(9).is_empty() && apart.worst_splits(9).is_empty());
        let missed = table(&[0, 1], &[0, 0]).pairs().score();
        assert_eq!((missed.precision, missed.recall, missed.f1), (1.0, 0.0, 0.0));
    }

    /// Two predicted clusters of two million documents each, in one gold cluster: 8e12 pairs, which are not enumerated.
    #[test]
    fn counts_the_pairs_of_huge_clusters() {
        let n = 2_000_000u64;
        let table = Contingency::new((0..2 * n).map(|i| ((i % 2) as u32, 0)));
        assert_eq!(table.pairs(), PairCounts { both: n * (n - 1), only_predicted: 0, only_gold: n * n });
        assert_eq!(pairs_among(1 << 32), ((1 << 32) - 1) << 31);
        assert_eq!(table.adjusted_rand_index(), 0.0);
    }

    proptest! {
        /// All measures agree with enumerating all pairs of documents, and swapping the clusterings swaps the measures.
        #[test]
        fn agrees_with_brute_force(documents in prop::collection::vec((0u32..5, 0u32..5), 0..40)) {
            let table = Contingency::new(documents.clone());
            let mut counts = PairCounts::default();
            let mut wrong = HashMap::new();
            let mut missed = HashMap::new();
            for (i, x) in documents.iter().enumerate() {
                for y in &documents[..i] {
                    match (x.0 == y.0, x.1 == y.1) {
                        (true, true) => counts.both += 1,
                        (true, false) => { counts.only_predicted += 1; *wrong.entry(x.0).or_insert(0u64) += 1 }
                        (false, true) => { counts.only_gold += 1; *missed.entry(x.1).or_insert(0u64) += 1 }
                        (false, false) => {}
                    }
                }
            }
            prop_assert_eq!(table.pairs(), counts);
            let listed = |mixed: Vec<Mixed>| mixed.into_iter().map(|m| (m.cluster, m.pairs)).collect::<HashMap<_, _>>();
            prop_assert_eq!(listed(table.worst_merges(9)), wrong);
            prop_assert_eq!(listed(table.worst_splits(9)), missed);

            let same = |x: &(u32, u32), y: &&(u32, u32)| (x.0 == y.0, x.1 == y.1);
            let mut precision = 0.0;
            let mut recall = 0.0;
            for x in &documents {
                let both = documents.iter().filter(|y| same(x, y) == (true, true)).count() as f64;
                precision += both / documents.iter().filter(|y| y.0 == x.0).count() as f64;
                recall += both / documents.iter().filter(|y| y.1 == x.1).count() as f64;
            }
            let n = documents.len().max(1) as f64;
            if !documents.is_empty() {
                prop_assert!((table.bcubed().precision - precision / n).abs() < 1e-9);
                prop_assert!((table.bcubed().recall - recall / n).abs() < 1e-9);
            }
            let mirror = Contingency::new(documents.iter().map(|&(a, b)| (b, a)));
            prop_assert_eq!(mirror.adjusted_rand_index(), table.adjusted_rand_index());
            prop_assert!((mirror.bcubed().precision - table.bcubed().recall).abs() < 1e-9);
            prop_assert_eq!(mirror.pairs().only_gold, counts.only_predicted);
        }
    }
}
