//! Which threshold, why, and what is to be expected of it?

use super::labels::Quality;
use super::measure::{Distances, MOST_BITS, Similarities};
use super::sample::Texts;
use crate::exit::Failure;
use sameish::{Bands, Config, Valley, valley};

/// How a threshold or a radius was chosen.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Why {
    /// It was given.
    Given,
    /// The loosest with the precision that was asked for.
    Precise,
    /// It has the best F1.
    BestF1,
    /// In the middle of a valley from here to there.
    Valley { from: f64, to: f64, depth: f64 },
    /// There are no pairs to speak of above the bulk.
    NoCopies,
    /// All pairs are copies.
    NoStrangers,
    /// Pairs only get fewer as similarity grows.
    Slope,
    /// Fewer than two texts to compare.
    Nothing,
}

/// A threshold and what it would give.
pub(super) struct Proposal {
    /// A similarity, or a number of bits.
    pub(super) limit: f64,
    pub(super) why: Why,
    /// For similarities.
    pub(super) expected: Option<Expected>,
    /// Pairs of the sample's documents that reach it.
    pub(super) pairs: f64,
}

/// What bands would find, and cost.
#[derive(Clone, Copy)]
pub(super) struct Expected {
    pub(super) bands: Bands,
    pub(super) recall_at: f64,
    /// Of all pairs at or above the threshold; nothing where there are none.
    pub(super) recall_above: Option<f64>,
    /// Candidates in the sample that a document would be compared with, by its mean.
    pub(super) candidates: f64,
    pub(super) bytes: f64,
}

/// Thresholds that are proposed without labels.
const LEAST: f64 = 0.3;
const MOST: f64 = 0.95;
/// Fewer pairs above the bulk show no shape.
const FEW: f64 = 5.0;
/// Bytes of a document in the table of one band, about.
const TABLE_BYTES: f64 = 10.6;
/// Bytes of a document's id, key and places in lists, about.
const OVERHEAD_BYTES: f64 = 200.0;

impl Proposal {
    pub(super) fn threshold(
        config: &Config,
        texts: &Texts<'_>,
        measured: &Similarities,
        quality: Option<&Quality>,
        given: Option<f64>,
    ) -> Result<Proposal, Failure> {
        let labelled = quality.and_then(by_labels);
        let (limit, why) = match (given, labelled) {
            (Some(given), _) => (given, Why::Given),
            (None, Some(labelled)) => labelled,
            (None, None) => by_shape(measured, texts, config.matching.threshold),
        };
        let rows = config.minhash.as_ref().map_or(1, |minhash| minhash.rows);
        let bands = Bands::for_target(rows, limit, config.matching.recall)
            .map_err(|error| Failure::usage(error.to_string()))?;
        let pairs = measured.histogram.at_least(limit);
        // Equal texts are one, and nobody needs to look for it.
        let equal = measured.equal as f64;
        let documents: u64 = measured.comparable.iter().map(|&text| texts.texts[text as usize].copies).sum();
        let found = (measured.histogram.expected_found(bands, 0.0) - equal).max(0.0);
        let expected = Expected {
            bands,
            recall_at: bands.probability(limit),
            recall_above: (pairs > 0.0).then(|| measured.histogram.expected_found(bands, limit) / pairs),
            candidates: 2.0 * found / documents.max(1) as f64,
            bytes: f64::from(4 * rows)
                + TABLE_BYTES * f64::from(bands.count)
                + 8.0 * measured.mean_features
                + OVERHEAD_BYTES,
        };
        Ok(Proposal { limit, why, expected: Some(expected), pairs })
    }

    pub(super) fn radius(
        config: &Config,
        texts: &Texts<'_>,
        measured: &Distances,
        quality: Option<&Quality>,
        given: Option<u32>,
    ) -> Proposal {
        let preset = config.simhash.as_ref().map_or(3, |simhash| simhash.radius);
        let labelled = quality.and_then(by_labels);
        let (limit, why) = match (given, labelled) {
            (Some(given), _) => (f64::from(given), Why::Given),
            (None, Some(labelled)) => labelled,
            (None, None) => by_bits(measured, texts, preset),
        };
        Proposal { limit, why, expected: None, pairs: measured.within(limit as u32) as f64 }
    }
}

/// Where nothing is right about any threshold, labels have nothing to say.
fn by_labels(quality: &Quality) -> Option<(f64, Why)> {
    if let Some(at) = quality.precise {
        return Some((quality.levels[at].limit, Why::Precise));
    }
    (quality.best().f1 > 0.0).then(|| (quality.best().limit, Why::BestF1))
}

/// By the histogram of similarities, in bins as fine as the number of pairs allows.
fn by_shape(measured: &Similarities, texts: &Texts<'_>, preset: f64) -> (f64, Why) {
    let histogram = &measured.histogram;
    if documents(texts, &measured.comparable) < 2 {
        return (preset, Why::Nothing);
    }
    let bins = match histogram.at_least(LEAST) {
        near if near >= 400.0 => 40,
        near if near >= 60.0 => 20,
        _ => 10,
    };
    match valley(&histogram.counts(bins)) {
        Some(Valley { first, last, depth }) => {
            let (from, to) = (first as f64 / bins as f64, (last + 1) as f64 / bins as f64);
            let middle = ((from + to) * 50.0).round() / 100.0;
            (middle.clamp(LEAST, MOST), Why::Valley { from, to, depth })
        }
        None if histogram.at_least(0.5) < FEW => (preset, Why::NoCopies),
        None if histogram.at_least(0.5) > 0.9 * histogram.total() => (preset, Why::NoStrangers),
        None => (preset, Why::Slope),
    }
}

/// By the histogram of distances.
fn by_bits(measured: &Distances, texts: &Texts<'_>, preset: u32) -> (f64, Why) {
    if documents(texts, &measured.comparable) < 2 {
        return (f64::from(preset), Why::Nothing);
    }
    let counts: Vec<f64> = measured.counts.iter().map(|&count| count as f64).collect();
    let near = measured.within(MOST_BITS as u32 / 2);
    match valley(&counts) {
        Some(Valley { first, last, depth }) if first <= MOST_BITS => {
            let middle = ((first + last) / 2).min(MOST_BITS);
            (middle as f64, Why::Valley { from: first as f64, to: last as f64, depth })
        }
        _ if (near as f64) < FEW => (f64::from(preset), Why::NoCopies),
        _ if near as f64 > 0.9 * counts.iter().sum::<f64>() => (f64::from(preset), Why::NoStrangers),
        _ => (f64::from(preset), Why::Slope),
    }
}

fn documents(texts: &Texts<'_>, comparable: &[u32]) -> u64 {
    comparable.iter().map(|&text| texts.texts[text as usize].copies).sum()
}
