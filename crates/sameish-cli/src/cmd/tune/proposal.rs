//! The proposed threshold or radius, the reason for it, and the recall and cost of the index.

use super::labels::Quality;
use super::measure::{Distances, MAX_BITS, Origin, Similarities};
use super::sample::Texts;
use crate::exit::Failure;
use sameish::Config;
use sameish::config::Bands;
use sameish::index::{Valley, valley};

/// How a threshold or radius was chosen.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Basis {
    /// Given on the command line.
    Given,
    /// The loosest one with the requested precision.
    Precision,
    /// The one with the best F1.
    BestF1,
    /// The middle of a valley of the histogram.
    Valley { from: f64, to: f64, depth: f64 },
    /// The preset's: almost no pairs are more similar than the bulk of unrelated pairs.
    NoCopies,
    /// The preset's: almost all pairs are similar.
    NoUnrelatedPairs,
    /// The preset's: the histogram has no valley.
    Slope,
    /// The preset's: fewer than two texts can be compared.
    TooFewTexts,
}

/// A threshold or radius and its consequences.
pub(super) struct Proposal {
    /// A similarity, or a number of bits.
    pub(super) limit: f64,
    pub(super) basis: Basis,
    /// Absent for a radius.
    pub(super) expected: Option<Expected>,
    /// Pairs of documents of the sample that reach the limit.
    pub(super) pairs: f64,
}

/// Recall and cost of a band index.
#[derive(Clone, Copy)]
pub(super) struct Expected {
    pub(super) bands: Bands,
    /// Recall at the threshold: the probability that a pair exactly at the threshold is found.
    pub(super) recall_at: f64,
    /// Recall of all pairs at or above the threshold, or `None` if there are no such pairs.
    pub(super) recall_above: Option<f64>,
    /// Mean number of candidates per document of the sample.
    pub(super) candidates: f64,
    /// Memory per document of an engine that keeps features in memory, in bytes.
    pub(super) bytes: f64,
}

/// Range of thresholds that are proposed without labels.
const MIN_THRESHOLD: f64 = 0.3;
const MAX_THRESHOLD: f64 = 0.95;
/// With fewer pairs above the bulk, the histogram has no meaningful shape.
const MIN_PAIRS: f64 = 5.0;
/// Approximate memory per document in the table of one band, in bytes.
const TABLE_BYTES: f64 = 10.6;
/// Approximate memory per document for its id, key and list entries, in bytes.
const OVERHEAD_BYTES: f64 = 200.0;

impl Proposal {
    pub(super) fn threshold(
        config: &Config,
        texts: &Texts<'_>,
        measured: &Similarities,
        quality: Option<&Quality>,
        given: Option<f64>,
    ) -> Result<Proposal, Failure> {
        let given = given.map(|given| (given, Basis::Given));
        let (limit, basis) = given
            .or_else(|| quality.and_then(by_labels))
            .unwrap_or_else(|| by_similarities(measured, texts, config.matching.threshold));
        let expected = Expected::new(config, texts, measured, limit)?;
        let pairs = measured.histogram.at_least(limit);
        Ok(Proposal { limit, basis, expected: Some(expected), pairs })
    }

    pub(super) fn radius(
        config: &Config,
        texts: &Texts<'_>,
        measured: &Distances,
        quality: Option<&Quality>,
        given: Option<u32>,
    ) -> Proposal {
        let preset = config.simhash.as_ref().map_or(3, |simhash| simhash.radius);
        let given = given.map(|given| (f64::from(given), Basis::Given));
        let (limit, basis) = given
            .or_else(|| quality.and_then(by_labels))
            .unwrap_or_else(|| by_distances(measured, texts, f64::from(preset)));
        Proposal { limit, basis, expected: None, pairs: measured.within(limit as u32) as f64 }
    }

    pub(super) fn is_radius(&self) -> bool {
        self.expected.is_none()
    }

    /// Returns the name of the limit, which is also its flag and its JSON key.
    pub(super) fn limit_name(&self) -> &'static str {
        if self.is_radius() { "radius" } else { "threshold" }
    }
}

impl Expected {
    fn new(
        config: &Config,
        texts: &Texts<'_>,
        measured: &Similarities,
        threshold: f64,
    ) -> Result<Expected, Failure> {
        let rows = config.minhash.as_ref().map_or(1, |minhash| minhash.rows);
        let bands = Bands::for_target(rows, threshold, config.matching.recall)?;
        let histogram = &measured.histogram;
        let pairs = histogram.at_least(threshold);
        // Equal texts are collapsed before the search, so they are not candidates of each other.
        let found = (histogram.expected_found(bands, 0.0) - measured.equal as f64).max(0.0);
        let documents = texts.documents(&measured.comparable);
        Ok(Expected {
            bands,
            recall_at: bands.probability(threshold),
            recall_above: (pairs > 0.0).then(|| histogram.expected_found(bands, threshold) / pairs),
            candidates: 2.0 * found / documents.max(1) as f64,
            bytes: f64::from(4 * rows)
                + TABLE_BYTES * f64::from(bands.count)
                + 8.0 * measured.mean_features
                + OVERHEAD_BYTES,
        })
    }
}

/// Chooses by the labels. Returns `None` if no level is better than another.
fn by_labels(quality: &Quality) -> Option<(f64, Basis)> {
    if let Some(at) = quality.precise {
        return Some((quality.levels[at].limit, Basis::Precision));
    }
    (quality.best().f1 > 0.0).then(|| (quality.best().limit, Basis::BestF1))
}

/// Chooses by the histogram of similarities, with bins as narrow as the number of pairs allows.
///
/// Equal texts are left out: they match at every threshold, and their peak at 1 would turn every falling histogram into one
/// with a valley.
fn by_similarities(measured: &Similarities, texts: &Texts<'_>, preset: f64) -> (f64, Basis) {
    let histogram = &measured.histogram;
    if texts.documents(&measured.comparable) < 2 {
        return (preset, Basis::TooFewTexts);
    }
    let equal = measured.equal as f64;
    let bins = match histogram.at_least(MIN_THRESHOLD) - equal {
        near if near >= 400.0 => 40,
        near if near >= 60.0 => 20,
        _ => 10,
    };
    let mut counts = histogram.counts(bins);
    counts[bins - 1] -= equal;
    if let Origin::Sampled { cut, .. } = measured.origin {
        fill_gaps(&mut counts, cut);
    }
    if let Some(Valley { first, last, depth }) = valley(&counts) {
        let from = first as f64 / bins as f64;
        let to = (last + 1) as f64 / bins as f64;
        let middle = ((from + to) * 50.0).round() / 100.0;
        return (middle.clamp(MIN_THRESHOLD, MAX_THRESHOLD), Basis::Valley { from, to, depth });
    }
    (preset, without_valley(histogram.at_least(0.5), histogram.total()))
}

/// Raises the counts below the cut to at least the count of the next bin.
///
/// These counts come from random pairs, each of which represents many pairs, so an empty bin may only mean that none of its pairs
/// was drawn. Without this step, a slope that continues below the cut would have a valley there.
fn fill_gaps(counts: &mut [f64], cut: f64) {
    let last = (cut * counts.len() as f64) as usize;
    for bin in (0..last.min(counts.len() - 1)).rev() {
        counts[bin] = counts[bin].max(counts[bin + 1]);
    }
}

/// Chooses by the histogram of distances.
fn by_distances(measured: &Distances, texts: &Texts<'_>, preset: f64) -> (f64, Basis) {
    if texts.documents(&measured.comparable) < 2 {
        return (preset, Basis::TooFewTexts);
    }
    let counts: Vec<f64> = measured.counts.iter().map(|&count| count as f64).collect();
    if let Some(Valley { first, last, depth }) = valley(&counts).filter(|valley| valley.first <= MAX_BITS) {
        let middle = ((first + last) / 2).min(MAX_BITS);
        return (middle as f64, Basis::Valley { from: first as f64, to: last as f64, depth });
    }
    (preset, without_valley(measured.within(MAX_BITS as u32 / 2) as f64, counts.iter().sum()))
}

fn without_valley(near: f64, pairs: f64) -> Basis {
    if near < MIN_PAIRS {
        Basis::NoCopies
    } else if near > 0.9 * pairs {
        Basis::NoUnrelatedPairs
    } else {
        Basis::Slope
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_slope_that_random_pairs_did_not_sample_is_not_a_valley() {
        // Twenty bins. Below 0.3, the counts are multiples of 500. Above, they fall from 98.
        let mut slope = vec![90_000.0, 500.0, 0.0, 0.0, 0.0, 0.0];
        slope.extend((1..15).rev().map(|bin| f64::from(bin * bin) / 2.0));
        assert!(valley(&slope).is_some());
        fill_gaps(&mut slope, 0.3);
        assert_eq!(slope[2..6], [98.0; 4]);
        assert_eq!(valley(&slope), None);
        let mut with_copies = [90_000.0, 500.0, 0.0, 1.0, 0.0, 0.0, 1.0, 2.0, 30.0, 60.0];
        let before = valley(&with_copies).unwrap();
        fill_gaps(&mut with_copies, 0.3);
        assert_eq!(valley(&with_copies).unwrap().last, before.last);
    }
}
