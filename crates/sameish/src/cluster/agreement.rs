//! How well do two clusterings agree?
//!
//! One of them is usually a prediction and the other the truth. All measures come from one table that counts the documents
//! of each pair of clusters, so time and memory are linear in the documents: pairs of documents are counted as `n (n - 1) / 2`
//! and never listed.
//!
//! - Pairs: of the pairs that the prediction joins, how many does the truth join, and the reverse.
//! - The adjusted Rand index: agreement over pairs beyond what chance would give, 1 at best, about 0 for a random clustering
//!   (Hubert and Arabie, *Comparing partitions*, 1985).
//! - B-cubed: the same questions asked for each document and averaged, so that one huge cluster does not decide everything
//!   (Bagga and Baldwin, *Entity-based cross-document coreferencing using the vector space model*, 1998).

use std::collections::HashMap;

/// Precision and recall with the harmonic mean of both.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Score {
    /// How much of what was found is right. 1 where nothing was found: nothing is wrong.
    pub precision: f64,
    /// How much of what is right was found. 1 where there was nothing to find.
    pub recall: f64,
    /// The harmonic mean of the two.
    pub f1: f64,
}

impl Score {
    fn new(precision: f64, recall: f64) -> Score {
        let sum = precision + recall;
        let f1 = if sum == 0.0 { 0.0 } else { 2.0 * precision * recall / sum };
        Score { precision, recall, f1 }
    }
}

/// How many pairs of documents each side joins.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct PairCounts {
    /// Joined by both.
    pub both: u64,
    /// Joined by the prediction alone: wrong.
    pub only_predicted: u64,
    /// Joined by the truth alone: missed.
    pub only_gold: u64,
}

impl PairCounts {
    /// Precision, recall and F1 over pairs.
    ///
    /// ```
    /// let score = sameish::PairCounts { both: 3, only_predicted: 1, only_gold: 2 }.score();
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

/// A cluster of one side that lies in several clusters of the other.
///
/// Seen from the prediction this is a false merge, seen from the truth a split.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Mixed {
    /// Its number on its own side.
    pub cluster: u32,
    /// How many documents it has.
    pub documents: u64,
    /// How many pairs of its documents the other side does not join.
    pub pairs: u64,
    /// The clusters of the other side that it meets, with the number of documents in both; the largest first.
    pub parts: Vec<(u32, u64)>,
}

/// Counts the documents of each pair of a predicted and a true cluster.
///
/// ```
/// use sameish::Contingency;
///
/// // Four documents; the prediction joins the first three, the truth the first two.
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
    /// Takes each document's cluster in the prediction and in the truth, by any numbers.
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

    /// How many documents there are.
    pub fn documents(&self) -> u64 {
        self.documents
    }

    /// The pairs that both sides join, and those that one joins alone.
    pub fn pairs(&self) -> PairCounts {
        let sum = |counts: &mut dyn Iterator<Item = &u64>| counts.map(|&n| pairs_among(n)).sum::<u64>();
        let both = sum(&mut self.cells.values());
        PairCounts {
            both,
            only_predicted: sum(&mut self.predicted.values()) - both,
            only_gold: sum(&mut self.gold.values()) - both,
        }
    }

    /// The adjusted Rand index: 1 where both sides are the same, 0 where they agree as chance would have it, at least -0.5.
    pub fn adjusted_rand_index(&self) -> f64 {
        let PairCounts { both, only_predicted, only_gold } = self.pairs();
        if only_predicted == 0 && only_gold == 0 {
            return 1.0;
        }
        let neither = pairs_among(self.documents) - both - only_predicted - only_gold;
        // Whole numbers as long as can be: the difference is small where the products are not. With a `u32` for each document
        // the four counts sum to less than 2^63, so no product overflows.
        let [both, wrong, missed, neither] = [both, only_predicted, only_gold, neither].map(i128::from);
        let beyond_chance = both * neither - missed * wrong;
        let most = (both + missed) * (missed + neither) + (both + wrong) * (wrong + neither);
        2.0 * beyond_chance as f64 / most as f64
    }

    /// Precision, recall and F1 averaged over documents.
    pub fn bcubed(&self) -> Score {
        if self.documents == 0 {
            return Score::new(1.0, 1.0);
        }
        let (mut precision, mut recall) = (0.0, 0.0);
        // In a fixed order: sums of floats depend on it.
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

    /// The predicted clusters that join most pairs wrongly, at most `count`, the worst first.
    pub fn worst_merges(&self, count: usize) -> Vec<Mixed> {
        worst(&self.predicted, self.cells.iter().map(|(&(predicted, gold), &n)| (predicted, gold, n)), count)
    }

    /// The true clusters of which most pairs are missed, at most `count`, the worst first.
    pub fn worst_splits(&self, count: usize) -> Vec<Mixed> {
        worst(&self.gold, self.cells.iter().map(|(&(predicted, gold), &n)| (gold, predicted, n)), count)
    }
}

/// `n (n - 1) / 2` without overflow for any number of documents that has a `u32` each.
fn pairs_among(n: u64) -> u64 {
    if n.is_multiple_of(2) { (n / 2) * n.saturating_sub(1) } else { n * (n / 2) }
}

fn worst(
    sizes: &HashMap<u32, u64>,
    cells: impl Iterator<Item = (u32, u32, u64)> + Clone,
    count: usize,
) -> Vec<Mixed> {
    let mut lost: HashMap<u32, u64> = sizes.iter().map(|(&cluster, &n)| (cluster, pairs_among(n))).collect();
    for (own, _, n) in cells.clone() {
        lost.entry(own).and_modify(|pairs| *pairs -= pairs_among(n));
    }
    let mut ranked: Vec<(u32, u64)> = lost.into_iter().filter(|&(_, pairs)| pairs > 0).collect();
    ranked.sort_unstable_by_key(|&(cluster, pairs)| (std::cmp::Reverse(pairs), cluster));
    ranked.truncate(count);
    let place: HashMap<u32, usize> =
        ranked.iter().enumerate().map(|(i, &(cluster, _))| (cluster, i)).collect();
    let mut mixed: Vec<Mixed> = ranked
        .into_iter()
        .map(|(cluster, pairs)| Mixed { cluster, documents: sizes[&cluster], pairs, parts: Vec::new() })
        .collect();
    for (own, other, n) in cells {
        if let Some(&at) = place.get(&own) {
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
        assert!((a - b).abs() < 1e-12, "{a} and not {b}");
    }

    /// Worked by hand: the prediction is {a b c} {d e}, the truth {a b} {c d e}.
    #[test]
    fn five_documents_by_hand() {
        let table = table(&[0, 0, 0, 1, 1], &[0, 0, 1, 1, 1]);
        // ab and de are in both; ac, bc in the prediction alone; cd, ce in the truth alone.
        assert_eq!(table.pairs(), PairCounts { both: 2, only_predicted: 2, only_gold: 2 });
        let score = table.pairs().score();
        assert_eq!((score.precision, score.recall, score.f1), (0.5, 0.5, 0.5));
        // Expected by chance: 4 * 4 / 10 = 1.6 of at most (4 + 4) / 2 = 4; so (2 - 1.6) / (4 - 1.6).
        close(table.adjusted_rand_index(), 0.4 / 2.4);
        // a, b: 2 of 3; c: 1 of 3; d, e: 2 of 2. The other way round: a, b: 2 of 2; c: 1 of 3; d, e: 2 of 3.
        let mean = (2.0 / 3.0 + 2.0 / 3.0 + 1.0 / 3.0 + 1.0 + 1.0) / 5.0;
        close(table.bcubed().precision, mean);
        close(table.bcubed().recall, mean);
        close(table.bcubed().f1, mean);
        let merge = Mixed { cluster: 0, documents: 3, pairs: 2, parts: vec![(0, 2), (1, 1)] };
        assert_eq!(table.worst_merges(9), [merge]);
        let split = Mixed { cluster: 1, documents: 3, pairs: 2, parts: vec![(1, 2), (0, 1)] };
        assert_eq!(table.worst_splits(9), [split]);
    }

    /// The example of Bagga and Baldwin, figure 7: {1-5} {6 7} {8-12} is the truth. The first response joins 6 7 with 8-12,
    /// the second 1-5 with 8-12: equally many clusters are joined, and the larger mistake must cost more.
    #[test]
    fn bcubed_of_the_paper() {
        let truth = [0, 0, 0, 0, 0, 1, 1, 2, 2, 2, 2, 2];
        let first = table(&[0, 0, 0, 0, 0, 1, 1, 1, 1, 1, 1, 1], &truth).bcubed();
        let second = table(&[0, 0, 0, 0, 0, 1, 1, 0, 0, 0, 0, 0], &truth).bcubed();
        assert_eq!((first.recall, second.recall), (1.0, 1.0));
        // First: five documents of 5/5, two of 2/7, five of 5/7. Second: ten of 5/10, two of 2/2. The paper: 76 % and 58 %.
        close(first.precision, (5.0 + 29.0 / 7.0) / 12.0);
        close(second.precision, (10.0 * 0.5 + 2.0) / 12.0);
    }

    /// The generator that also made the labels for scikit-learn.
    fn labels(count: usize, clusters: u64, mut state: u64) -> Vec<u32> {
        let mut next = || {
            state = state.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
            ((state >> 33) % clusters) as u32
        };
        (0..count).map(|_| next()).collect()
    }

    /// Expected: `adjusted_rand_score` and `pair_confusion_matrix` of scikit-learn, the latter halved.
    #[test]
    fn equals_scikit_learn() {
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
    fn the_ends_of_the_scales() {
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

    /// Two clusters of two million in the prediction, all in one in the truth: 8e12 pairs, none of them listed.
    #[test]
    fn huge_clusters_are_counted_and_not_listed() {
        let n = 2_000_000u64;
        let table = Contingency::new((0..2 * n).map(|i| ((i % 2) as u32, 0)));
        assert_eq!(table.pairs(), PairCounts { both: n * (n - 1), only_predicted: 0, only_gold: n * n });
        assert_eq!(pairs_among(1 << 32), ((1 << 32) - 1) << 31);
        assert_eq!(table.adjusted_rand_index(), 0.0);
    }

    proptest! {
        /// Everything equals what listing all pairs of documents gives, and the sides are mirror images.
        #[test]
        fn equals_brute_force(documents in prop::collection::vec((0u32..5, 0u32..5), 0..40)) {
            let table = Contingency::new(documents.clone());
            let mut counts = PairCounts::default();
            let (mut wrong, mut missed) = (HashMap::new(), HashMap::new());
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
            let (mut precision, mut recall) = (0.0, 0.0);
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
