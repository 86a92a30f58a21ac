//! How many of the matching pairs did a run find, if its tasks find them independently?

use crate::recall::{Detection, FoundSums, Recall, Work, expected_matches};
use sameish::Analyzer;

/// Adds up the pairs that a run found, for its estimated recall. Each task adds its own pairs, and the caller adds the sums.
///
/// Pairs must arrive sorted by group: those of a group have a document in common, and may be missed together.
///
/// ```
/// use sameish::{Analyzer, Preset};
/// use sameish_batch::columns::{FoundRows, RecallSums, Work};
///
/// let analyzer = Analyzer::new(Preset::Copies.config())?;
/// let mut total = RecallSums::default();
/// for groups in [0..10, 10..20] {
///     let mut rows = FoundRows::new(&analyzer);
///     groups.for_each(|group| rows.push(group, 0.8, 1));
///     total.add(rows.finish());
/// }
/// let recall = total.recall(&analyzer, Work { compared: 30, matched: 20, omitted: 0 }).unwrap();
/// assert!(recall.value > 0.99 && recall.interval.unwrap().low < recall.value, "{recall:?}");
/// # Ok::<(), sameish::Error>(())
/// ```
#[derive(Clone, Debug)]
pub struct FoundRows {
    detection: Option<Detection>,
    sums: FoundSums,
    group: Option<i64>,
    /// Similarities of the current group, with the number of pairs of each.
    similarities: Vec<(f64, u64)>,
}

impl FoundRows {
    /// Prepares for a configuration.
    pub fn new(analyzer: &Analyzer) -> FoundRows {
        let detection = Detection::of(analyzer);
        FoundRows { detection, sums: FoundSums::default(), group: None, similarities: Vec::new() }
    }

    /// Adds a number of pairs with the same similarity.
    pub fn push(&mut self, group: i64, similarity: f64, pairs: u64) {
        if self.group != Some(group) {
            self.end_group();
            self.group = Some(group);
        }
        self.similarities.push((similarity, pairs));
    }

    fn end_group(&mut self) {
        self.sums.add(self.detection, self.similarities.drain(..));
    }

    /// Returns the sums.
    pub fn finish(mut self) -> RecallSums {
        self.end_group();
        let FoundSums { pairs, missed, variance, .. } = self.sums;
        RecallSums { pairs, missed, variance }
    }
}

/// Sums over the pairs that a run found.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct RecallSums {
    /// Number of pairs.
    pub pairs: f64,
    /// Expected number of pairs that were missed.
    pub missed: f64,
    /// Upper bound of the variance of `missed`.
    pub variance: f64,
}

impl RecallSums {
    /// Adds the sums of another part of a run.
    pub fn add(&mut self, other: RecallSums) {
        self.pairs += other.pairs;
        self.missed += other.missed;
        self.variance += other.variance;
    }

    /// Returns the estimated recall of the run, or `None` for a configuration without bands. Omitted candidates are assumed to
    /// match as often as those that were compared.
    pub fn recall(self, analyzer: &Analyzer, work: Work) -> Option<Recall> {
        let RecallSums { pairs, missed, variance } = self;
        let mut sums = FoundSums { pairs, missed, variance, ..FoundSums::default() };
        sums.set_omitted(expected_matches(work.omitted, work.compared, work.matched));
        sums.recall(Detection::of(analyzer), &work)
    }
}
