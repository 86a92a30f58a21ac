//! How many of the matching pairs did a run find?
//!
//! A pair of similarity s shares a band with probability p(s), so each pair that was found stands for 1 / p(s) pairs (the estimator
//! of Horvitz and Thompson 1952). Limits omit candidates, too. They are assumed to match as often as the compared candidates with
//! the same upper bound of the similarity or, if only their order is known, as the least promising ones that were compared.

use sameish::Analyzer;
use sameish::config::Bands;
use sameish::matching::Interval;
use serde::{Deserialize, Serialize};

/// The estimated share of the matching pairs that a run found, with its 99 % interval.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Recall {
    /// The estimate.
    pub value: f64,
    /// Its interval, absent if no pair was found. It ends at 1 if the estimate is a lower bound.
    pub interval: Option<Interval>,
    /// Whether the recall is probably higher than the estimate, because limits omitted candidates that match less often than
    /// those from which the estimate was made.
    pub is_lower_bound: bool,
}

/// Sums over the pairs that a run found, and the estimated number of matches among the candidates that limits omitted.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub(crate) struct FoundSums {
    /// Number of pairs found.
    pub(crate) pairs: f64,
    /// Expected number of pairs that share no band.
    pub(crate) missed: f64,
    /// Upper bound of the variance of `missed`.
    pub(crate) variance: f64,
    /// Expected number of matches among the omitted candidates.
    pub(crate) omitted: f64,
    /// Its standard deviation.
    pub(crate) omitted_deviation: f64,
}

/// The detection probabilities of a configuration.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Detection {
    bands: Bands,
    threshold: f64,
}

impl Detection {
    /// Returns `None` for a configuration without bands, whose search is exact within the radius.
    pub(crate) fn of(analyzer: &Analyzer) -> Option<Detection> {
        let config = analyzer.config();
        Some(Detection { bands: config.bands().ok().flatten()?, threshold: config.matching.threshold })
    }

    /// Returns the probability that a match of this similarity is found. Fingerprints may match below the threshold; such a
    /// match counts as one at the threshold.
    fn probability(self, similarity: f64) -> f64 {
        self.bands.probability(similarity.max(self.threshold))
    }
}

impl FoundSums {
    /// Adds pairs that have a document in common: similarities and numbers of pairs. Such pairs may be missed together, so the
    /// variance assumes that all of them are.
    pub(crate) fn add(&mut self, detection: Option<Detection>, pairs: impl Iterator<Item = (f64, u64)>) {
        let mut deviation = 0.0;
        for (similarity, pairs) in pairs {
            let pairs = pairs as f64;
            self.pairs += pairs;
            if let Some(detection) = detection {
                let found = detection.probability(similarity);
                let missed = 1.0 - found;
                self.missed += pairs * missed / found;
                deviation += pairs * missed.sqrt() / found;
            }
        }
        self.variance += deviation * deviation;
    }

    /// Sets the expected number of matches among the omitted candidates, and its standard deviation.
    pub(crate) fn set_omitted(&mut self, (mean, deviation): (f64, f64)) {
        self.omitted = mean;
        self.omitted_deviation = deviation;
    }

    /// Returns the estimated recall, or `None` without bands.
    pub(crate) fn recall(&self, detection: Option<Detection>, work: &Work) -> Option<Recall> {
        let detection = detection?;
        if self.pairs == 0.0 {
            let at_threshold = detection.probability(detection.threshold);
            let is_lower_bound = work.omitted > 0;
            return Some(Recall { value: at_threshold * work.share(), interval: None, is_lower_bound });
        }
        // A match of two texts is one pair or, if the texts have copies, several.
        let copies = (self.pairs / work.matched.max(1) as f64).max(1.0);
        let omitted = |deviations: f64| {
            copies * (self.omitted + deviations * self.omitted_deviation).min(work.omitted as f64)
        };
        let share = |missed: f64| self.pairs / (self.pairs + missed);
        let together = (self.variance / self.missed).max(1.0);
        let quantile = |probability: f64| match self.missed > 0.0 {
            true => together * poisson_quantile(self.missed / together, probability),
            false => 0.0,
        };
        let value = share(self.missed + omitted(0.0));
        let low = share(quantile(UPPER) + omitted(Z)).min(value);
        // Candidates are compared in the order of promise, so those that were omitted match less often than others like them.
        let is_lower_bound = work.omitted > 0;
        let high = if is_lower_bound { 1.0 } else { share(quantile(LOWER)).max(value) };
        Some(Recall { value, interval: Some(Interval { low, high }), is_lower_bound })
    }
}

/// Returns the expected number of matches among omitted candidates, and its standard deviation, if they match as often as those
/// that were compared.
pub(crate) fn expected_matches(omitted: u64, compared: u64, matched: u64) -> (f64, f64) {
    let omitted = omitted as f64;
    // Added counts, so that no match among few candidates does not mean that none matches.
    let trials = compared as f64 + 1.0;
    let rate = (matched as f64 + 0.5).min(trials) / trials;
    let variance = rate * (1.0 - rate) * omitted * (1.0 + omitted / trials);
    (omitted * rate, variance.sqrt())
}

/// Classes of upper bounds of the similarity.
const CLASSES: usize = 100;

/// Numbers of candidates by the upper bound of their similarity.
#[derive(Clone, Debug)]
pub(crate) struct ByBound {
    compared: [u64; CLASSES],
    matched: [u64; CLASSES],
    omitted: [u64; CLASSES],
}

impl Default for ByBound {
    fn default() -> ByBound {
        ByBound { compared: [0; CLASSES], matched: [0; CLASSES], omitted: [0; CLASSES] }
    }
}

impl ByBound {
    fn class(bound: f64) -> usize {
        ((bound * CLASSES as f64) as usize).min(CLASSES - 1)
    }

    /// Counts a candidate that was compared.
    pub(crate) fn count(&mut self, bound: f64, matches: bool) {
        let class = ByBound::class(bound);
        self.compared[class] += 1;
        self.matched[class] += u64::from(matches);
    }

    /// Counts candidates that a limit omits.
    pub(crate) fn omit(&mut self, bound: f64, candidates: usize) {
        self.omitted[ByBound::class(bound)] += candidates as u64;
    }

    /// Returns the expected number of matches among the omitted candidates, and its standard deviation.
    pub(crate) fn expected_matches(&self) -> (f64, f64) {
        let mut sums = (0.0, 0.0);
        for class in (0..CLASSES).filter(|&class| self.omitted[class] > 0) {
            let [omitted, compared, matched] =
                [&self.omitted, &self.compared, &self.matched].map(|counts| counts[class]);
            let (mean, deviation) = expected_matches(omitted, compared, matched);
            sums = (sums.0 + mean, sums.1 + deviation * deviation);
        }
        (sums.0, sums.1.sqrt())
    }
}

/// The comparisons of a run.
#[derive(Clone, Copy, Debug)]
pub struct Work {
    /// Number of candidates that were compared.
    pub compared: u64,
    /// Number of these that match.
    pub matched: u64,
    /// Number of candidates that limits omitted.
    pub omitted: u64,
}

impl Work {
    /// Returns the share of the candidates that were compared.
    fn share(&self) -> f64 {
        if self.omitted == 0 { 1.0 } else { self.compared as f64 / (self.compared + self.omitted) as f64 }
    }
}

/// Ends of a 99 % interval. It follows from known probabilities and is narrow, so 95 % would be too little caution.
const LOWER: f64 = 0.005;
const UPPER: f64 = 0.995;
/// The 99.5th percentile of the normal distribution.
const Z: f64 = 2.575_829;
/// Mean from which a Poisson distribution counts as normal.
const NORMAL: f64 = 100.0;

/// Returns the smallest number that a Poisson variable does not exceed with this probability, [`LOWER`] or [`UPPER`].
fn poisson_quantile(mean: f64, probability: f64) -> f64 {
    if mean > NORMAL {
        let deviation = Z * mean.sqrt();
        return if probability < 0.5 { mean - deviation } else { mean + deviation };
    }
    let mut term = (-mean).exp();
    let mut sum = term;
    let mut count = 0.0;
    while sum < probability && term > 0.0 {
        count += 1.0;
        term *= mean / count;
        sum += term;
    }
    count
}

#[cfg(test)]
mod tests {
    use super::*;
    use sameish::Preset;

    const NONE: Work = Work { compared: 10, matched: 10, omitted: 0 };

    fn detection() -> Option<Detection> {
        let mut config = Preset::Copies.config();
        // Finds a pair at the threshold with probability 0.95.
        config.minhash.as_mut().unwrap().bands = Some(Bands { count: 16, rows: 8 });
        Detection::of(&Analyzer::new(config).unwrap())
    }

    fn recall(pairs: &[(f64, u64)], work: &Work) -> Recall {
        let mut sums = FoundSums::default();
        pairs.iter().for_each(|&pair| sums.add(detection(), [pair].into_iter()));
        sums.recall(detection(), work).unwrap()
    }

    #[test]
    fn found_pairs_stand_for_those_that_share_no_band() {
        let at = |similarity| Bands { count: 16, rows: 8 }.probability(similarity);
        let found = recall(&[(0.8, 30), (0.9, 70)], &NONE);
        let all = 30.0 / at(0.8) + 70.0 / at(0.9);
        assert!((found.value - 100.0 / all).abs() < 1e-12, "{found:?}");
        assert!(found.value > at(0.8));
        let Interval { low, high } = found.interval.unwrap();
        assert!(low < found.value && found.value < high && low > 0.7, "{found:?}");
    }

    #[test]
    fn copies_are_certain_and_nothing_found_gives_the_probability_at_the_threshold() {
        let copies = recall(&[(1.0, 5)], &NONE);
        assert_eq!((copies.value, copies.interval), (1.0, Some(Interval { low: 1.0, high: 1.0 })));
        let none = recall(&[], &NONE);
        assert_eq!((none.value, none.interval), (Bands { count: 16, rows: 8 }.probability(0.8), None));
        assert_eq!(FoundSums::default().recall(None, &NONE), None);
    }

    #[test]
    fn pairs_of_one_document_widen_the_interval() {
        let apart = recall(&[(0.8, 1); 100], &NONE);
        let together = recall(&[(0.8, 100)], &NONE);
        assert_eq!(apart.value, together.value);
        assert!(together.interval.unwrap().low < apart.interval.unwrap().low - 0.01);
    }

    #[test]
    fn omitted_candidates_match_as_often_as_those_with_the_same_bound() {
        let mut by_bound = ByBound::default();
        (0..1_000).for_each(|i| by_bound.count(0.95, i % 2 == 0));
        (0..1_000).for_each(|i| by_bound.count(0.85, i % 20 == 0));
        by_bound.omit(0.85, 2_000);
        let (mean, deviation) = by_bound.expected_matches();
        assert!((mean - 100.9).abs() < 0.1 && (5.0..30.0).contains(&deviation), "{mean} {deviation}");
        let work = Work { compared: 2_000, matched: 550, omitted: 2_000 };
        for copies in [1, 3] {
            let mut sums = FoundSums::default();
            (0..550).for_each(|_| sums.add(detection(), [(1.0, copies)].into_iter()));
            sums.set_omitted((mean, deviation));
            let found = sums.recall(detection(), &work).unwrap();
            assert!((found.value - 550.0 / (550.0 + mean)).abs() < 1e-12, "{found:?}");
            let Interval { low, high } = found.interval.unwrap();
            assert!((0.78..0.83).contains(&low) && high == 1.0 && found.is_lower_bound, "{found:?}");
        }
    }

    #[test]
    fn quantiles_of_a_poisson_variable() {
        assert_eq!([0.001, 0.1, 1.0, 4.0].map(|mean| poisson_quantile(mean, UPPER)), [0.0, 1.0, 4.0, 10.0]);
        assert_eq!([0.01, 1.0, 4.0, 10.0].map(|mean| poisson_quantile(mean, LOWER)), [0.0, 0.0, 0.0, 3.0]);
        let exact = poisson_quantile(99.9, UPPER);
        assert!((exact - poisson_quantile(100.1, UPPER)).abs() < 2.0, "{exact}");
    }
}
