//! What was counted, and how sure are the shares?

use super::survey::Drawn;
use sameish::{DocId, Interval};
use std::collections::HashMap;

/// Counts of one drawn document.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(crate) struct Row {
    /// Pairs at or above the threshold.
    pub(crate) right: u64,
    /// Pairs that are predicted.
    pub(crate) predicted: u64,
    /// Both.
    pub(crate) both: u64,
}

/// A pair that was compared.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Pair {
    /// Position among the drawn documents.
    pub(crate) drawn: u32,
    pub(crate) other: DocId,
    /// Number of the other's record.
    pub(crate) record: u64,
    pub(crate) similarity: f64,
}

/// Width of a class of similarities, in thousandths.
pub(crate) const CLASS: usize = 50;

/// What was counted over some documents.
#[derive(Debug, Default)]
pub(crate) struct Tally {
    pub(crate) documents: u64,
    /// Documents that the file names, too.
    pub(crate) named: u64,
    pub(crate) rows: HashMap<u32, Row>,
    /// What the indexes bring up for each of the drawn, all together.
    pub(crate) candidates: u64,
    /// Pairs that were not found because they are of one form with other facts.
    pub(crate) templates: u64,
    /// By class of similarity: right, found, and how many are expected to be found.
    pub(crate) classes: Vec<(u64, u64, f64)>,
    /// The most similar first.
    pub(crate) missed: Vec<Pair>,
    /// The least similar first.
    pub(crate) wrong: Vec<Pair>,
}

impl Tally {
    /// The class of a similarity; 1 has one of its own.
    pub(super) fn class(&mut self, similarity: f64) -> &mut (u64, u64, f64) {
        self.classes.resize(1000 / CLASS + 1, (0, 0, 0.0));
        &mut self.classes[(similarity * 1000.0 / CLASS as f64 + 1e-9) as usize]
    }

    /// Adds what was counted elsewhere, and keeps so many examples.
    pub(super) fn add(&mut self, other: Tally, examples: usize) {
        self.documents += other.documents;
        self.named += other.named;
        self.candidates += other.candidates;
        self.templates += other.templates;
        for (drawn, row) in other.rows {
            let sum = self.rows.entry(drawn).or_default();
            sum.right += row.right;
            sum.predicted += row.predicted;
            sum.both += row.both;
        }
        self.classes.resize(self.classes.len().max(other.classes.len()), (0, 0, 0.0));
        for (sum, class) in self.classes.iter_mut().zip(other.classes) {
            *sum = (sum.0 + class.0, sum.1 + class.1, sum.2 + class.2);
        }
        self.missed.extend(other.missed);
        self.wrong.extend(other.wrong);
        self.keep(examples);
    }

    /// Drops all but the worst examples.
    pub(super) fn keep(&mut self, examples: usize) {
        let place = |pair: &Pair| (pair.drawn, pair.record);
        self.missed
            .sort_by(|a, b| b.similarity.total_cmp(&a.similarity).then_with(|| place(a).cmp(&place(b))));
        self.wrong
            .sort_by(|a, b| a.similarity.total_cmp(&b.similarity).then_with(|| place(a).cmp(&place(b))));
        self.missed.truncate(examples);
        self.wrong.truncate(examples);
    }

    pub(crate) fn recall(&self) -> Share {
        Share::new(self.rows.values().map(|row| (row.both, row.right)))
    }

    pub(crate) fn precision(&self) -> Share {
        Share::new(self.rows.values().map(|row| (row.both, row.predicted)))
    }
}

/// A share of pairs, and where it lies with 95 % confidence.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Share {
    pub(crate) hits: u64,
    pub(crate) pairs: u64,
    pub(crate) value: f64,
    pub(crate) interval: Interval,
}

impl Share {
    /// From the hits and the pairs of each drawn document.
    ///
    /// Pairs of one document hang together, so a hundred pairs of one family say less than a hundred of as many. The
    /// interval is Wilson's for as many trials as the pairs are worth (Kish 1965): fewer by the factor by which the share
    /// varies more between documents than it would if pairs were independent. Where all went well or all badly nothing varies,
    /// and the pairs of a document count as one trial.
    fn new(rows: impl Iterator<Item = (u64, u64)>) -> Share {
        let rows: Vec<(u64, u64)> = rows.filter(|(_, pairs)| *pairs > 0).collect();
        let hits: u64 = rows.iter().map(|(hits, _)| hits).sum();
        let pairs: u64 = rows.iter().map(|(_, pairs)| pairs).sum();
        let (all, n) = (pairs as f64, rows.len() as f64);
        let value = if pairs == 0 { 1.0 } else { hits as f64 / all };
        // The factor if the pairs of a document are all alike.
        let most = rows.iter().map(|(_, pairs)| (*pairs as f64).powi(2)).sum::<f64>() / all;
        let varies = n > 1.0 && hits > 0 && hits < pairs;
        let factor = match varies {
            false => most,
            true => {
                let off = |(hits, pairs): &(u64, u64)| (*hits as f64 - value * *pairs as f64).powi(2);
                let variance = rows.iter().map(off).sum::<f64>() * n / (n - 1.0) / all.powi(2);
                (variance / (value * (1.0 - value) / all)).clamp(1.0, most.max(1.0))
            }
        };
        let trials = if pairs == 0 { 0.0 } else { all / factor.max(1.0) };
        Share { hits, pairs, value, interval: Interval::wilson(value, trials) }
    }
}

/// The id of a drawn document.
pub(super) fn id_of(drawn: &[Drawn], at: u32) -> &DocId {
    &drawn[at as usize].id
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_pair_a_document_is_wilson_as_it_stands() {
        let share = Share::new([(1, 1), (1, 1), (0, 1), (1, 1)].into_iter());
        assert_eq!((share.value, share.interval), (0.75, Interval::wilson(0.75, 4.0)));
        assert_eq!(Share::new(std::iter::empty()).interval, Interval { low: 0.0, high: 1.0 });
    }

    #[test]
    fn a_family_that_hangs_together_counts_as_one() {
        // Ten documents with ten pairs each, found all or none: as good as ten trials.
        let rows = (0..10).map(|at| (if at < 8 { 10 } else { 0 }, 10));
        let together = Share::new(rows);
        assert_eq!(together.value, 0.8);
        let (ten, hundred) = (Interval::wilson(0.8, 10.0), Interval::wilson(0.8, 100.0));
        assert!((together.interval.low - ten.low).abs() < 1e-9, "{together:?}");
        // The same hits spread over all documents are worth what so many pairs are.
        let apart = Share::new((0..10).map(|_| (8, 10)));
        assert_eq!(apart.interval, hundred);
        // All found: nothing varies, so the careful way.
        assert_eq!(Share::new((0..10).map(|_| (10, 10))).interval, Interval::wilson(1.0, 10.0));
    }

    #[test]
    fn classes_hold_their_lower_ends() {
        let mut tally = Tally::default();
        for similarity in [0.8, 0.849, 0.85, 1.0] {
            tally.class(similarity).0 += 1;
        }
        assert_eq!((tally.classes[16].0, tally.classes[17].0, tally.classes[20].0), (2, 1, 1));
    }
}
