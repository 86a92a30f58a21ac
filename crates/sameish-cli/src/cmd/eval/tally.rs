//! Counts of true and predicted pairs, and confidence intervals of precision and recall.

use sameish::DocId;
use sameish::matching::Interval;
use std::collections::HashMap;

/// Counts of one sampled document.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(crate) struct Row {
    /// True pairs: those at or above the threshold.
    pub(crate) correct: u64,
    pub(crate) predicted: u64,
    /// Pairs that are true and predicted.
    pub(crate) both: u64,
}

/// A missed or wrong pair.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Pair {
    /// Position among the sampled documents.
    pub(crate) sampled: u32,
    pub(crate) other: DocId,
    /// Record number of the other document.
    pub(crate) record: u64,
    pub(crate) similarity: f64,
}

/// Width of a similarity class, in thousandths.
pub(crate) const CLASS: usize = 50;

/// Counts of one similarity class.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(crate) struct ClassCounts {
    /// True pairs.
    pub(crate) pairs: u64,
    pub(crate) found: u64,
    /// Expected number of found pairs.
    pub(crate) expected: f64,
}

/// Counts over some of the documents.
#[derive(Debug, Default)]
pub(crate) struct Tally {
    pub(crate) documents: u64,
    /// Documents that are also in the audited file.
    pub(crate) known: u64,
    pub(crate) rows: HashMap<u32, Row>,
    /// Candidates of all sampled documents.
    pub(crate) candidates: u64,
    /// Pairs that were not predicted because they are templates.
    pub(crate) templates: u64,
    /// Indexed by similarity class; empty if there are no true pairs.
    pub(crate) classes: Vec<ClassCounts>,
    /// Most similar first.
    pub(crate) missed: Vec<Pair>,
    /// Least similar first.
    pub(crate) wrong: Vec<Pair>,
}

impl ClassCounts {
    /// Counts a true pair.
    pub(super) fn count(&mut self, found: bool, expected: f64) {
        self.pairs += 1;
        self.found += u64::from(found);
        self.expected += expected;
    }
}

impl Tally {
    /// Counts a pair of a sampled document.
    pub(super) fn count(&mut self, sampled: u32, correct: bool, predicted: bool) {
        let row = self.rows.entry(sampled).or_default();
        row.correct += u64::from(correct);
        row.predicted += u64::from(predicted);
        row.both += u64::from(correct && predicted);
    }

    /// Returns the class of a similarity. Similarity 1 is a class of its own.
    pub(super) fn class(&mut self, similarity: f64) -> &mut ClassCounts {
        self.classes.resize(1000 / CLASS + 1, ClassCounts::default());
        &mut self.classes[(similarity * 1000.0 / CLASS as f64 + 1e-9) as usize]
    }

    /// Adds another tally and keeps the worst examples.
    pub(super) fn add(&mut self, other: Tally, examples: usize) {
        self.documents += other.documents;
        self.known += other.known;
        self.candidates += other.candidates;
        self.templates += other.templates;
        for (sampled, row) in other.rows {
            let sum = self.rows.entry(sampled).or_default();
            sum.correct += row.correct;
            sum.predicted += row.predicted;
            sum.both += row.both;
        }
        self.classes.resize(self.classes.len().max(other.classes.len()), ClassCounts::default());
        for (sum, class) in self.classes.iter_mut().zip(other.classes) {
            sum.pairs += class.pairs;
            sum.found += class.found;
            sum.expected += class.expected;
        }
        self.missed.extend(other.missed);
        self.wrong.extend(other.wrong);
        self.keep(examples);
    }

    /// Drops all but the worst examples.
    pub(super) fn keep(&mut self, examples: usize) {
        let place = |pair: &Pair| (pair.sampled, pair.record);
        self.missed
            .sort_by(|a, b| b.similarity.total_cmp(&a.similarity).then_with(|| place(a).cmp(&place(b))));
        self.wrong
            .sort_by(|a, b| a.similarity.total_cmp(&b.similarity).then_with(|| place(a).cmp(&place(b))));
        self.missed.truncate(examples);
        self.wrong.truncate(examples);
    }

    pub(crate) fn recall(&self) -> Share {
        Share::new(self.rows.values().map(|row| (row.both, row.correct)))
    }

    pub(crate) fn precision(&self) -> Share {
        Share::new(self.rows.values().map(|row| (row.both, row.predicted)))
    }
}

/// A share of pairs with its 95 % confidence interval.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Share {
    pub(crate) hits: u64,
    pub(crate) pairs: u64,
    pub(crate) value: f64,
    pub(crate) interval: Interval,
}

impl Share {
    /// Computes the share from the hits and pairs of each sampled document.
    ///
    /// The pairs of one document are correlated, so the interval is Wilson's for the effective sample size (Kish 1965): the
    /// number of pairs divided by the design effect, which is the ratio of the observed variance between documents to the
    /// variance of independent pairs. If all pairs or no pairs are hits, there is no variance to observe, and the pairs of a
    /// document count as one trial.
    fn new(rows: impl Iterator<Item = (u64, u64)>) -> Share {
        let rows: Vec<(u64, u64)> = rows.filter(|(_, pairs)| *pairs > 0).collect();
        let hits: u64 = rows.iter().map(|(hits, _)| hits).sum();
        let pairs: u64 = rows.iter().map(|(_, pairs)| pairs).sum();
        let all = pairs as f64;
        let n = rows.len() as f64;
        let value = if pairs == 0 { 1.0 } else { hits as f64 / all };
        // The design effect if the pairs of a document are all hits or all misses.
        let largest = rows.iter().map(|(_, pairs)| (*pairs as f64).powi(2)).sum::<f64>() / all;
        let design_effect = if n > 1.0 && hits > 0 && hits < pairs {
            let deviation = |(hits, pairs): &(u64, u64)| (*hits as f64 - value * *pairs as f64).powi(2);
            let variance = rows.iter().map(deviation).sum::<f64>() * n / (n - 1.0) / all.powi(2);
            (variance / (value * (1.0 - value) / all)).clamp(1.0, largest.max(1.0))
        } else {
            largest
        };
        let trials = if pairs == 0 { 0.0 } else { all / design_effect.max(1.0) };
        Share { hits, pairs, value, interval: Interval::wilson(value, trials) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_pair_per_document_gives_the_wilson_interval() {
        let share = Share::new([(1, 1), (1, 1), (0, 1), (1, 1)].into_iter());
        assert_eq!((share.value, share.interval), (0.75, Interval::wilson(0.75, 4.0)));
        assert_eq!(Share::new(std::iter::empty()).interval, Interval { low: 0.0, high: 1.0 });
    }

    #[test]
    fn correlated_pairs_widen_the_interval() {
        // Ten documents with ten pairs each, of which all or none are found, are worth ten trials.
        let rows = (0..10).map(|at| (if at < 8 { 10 } else { 0 }, 10));
        let together = Share::new(rows);
        assert_eq!(together.value, 0.8);
        let ten = Interval::wilson(0.8, 10.0);
        let hundred = Interval::wilson(0.8, 100.0);
        assert!((together.interval.low - ten.low).abs() < 1e-9, "{together:?}");
        // The same number of hits, spread evenly over the documents, is worth a hundred trials.
        let apart = Share::new((0..10).map(|_| (8, 10)));
        assert_eq!(apart.interval, hundred);
        // If all pairs are found, the pairs of a document count as one trial.
        assert_eq!(Share::new((0..10).map(|_| (10, 10))).interval, Interval::wilson(1.0, 10.0));
    }

    #[test]
    fn classes_include_their_lower_bound() {
        let mut tally = Tally::default();
        for similarity in [0.8, 0.849, 0.85, 1.0] {
            tally.class(similarity).pairs += 1;
        }
        assert_eq!([16, 17, 20].map(|class: usize| tally.classes[class].pairs), [2, 1, 1]);
    }
}
