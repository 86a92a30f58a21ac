//! Document frequencies: weights of features by their rarity in a corpus.

use super::FeatureSet;
use std::collections::HashMap;

/// The number of documents of a corpus that contain each feature.
///
/// A feature in `n` of `N` documents has the weight log2((N + 1) / (n + 1)), in units of 1/256, rounded down. It is computed
/// in integers, so that it is the same on every machine. An unknown feature has the largest weight, and a feature of every
/// document the weight 0.
///
/// ```
/// use sameish::features::{DocumentFrequencies, FeatureSet};
///
/// let mut frequencies = DocumentFrequencies::default();
/// for features in [vec![1, 2], vec![1, 3], vec![1, 4]] {
///     frequencies.add(&FeatureSet::from_hashes(features));
/// }
/// assert_eq!(frequencies.weight(1), 0);
/// assert_eq!(frequencies.weight(2), 256);
/// assert_eq!(frequencies.weight(9), 512);
/// ```
#[derive(Clone, Debug, Default)]
pub struct DocumentFrequencies {
    documents: u64,
    counts: HashMap<u64, u32>,
}

impl DocumentFrequencies {
    /// Counts the features of a document.
    pub fn add(&mut self, features: &FeatureSet) {
        self.documents += 1;
        for &feature in features.as_slice() {
            let count = self.counts.entry(feature).or_default();
            *count = count.saturating_add(1);
        }
    }

    /// Returns the number of documents counted.
    pub fn documents(&self) -> u64 {
        self.documents
    }

    /// Returns the number of documents that contain a feature.
    pub fn count(&self, feature: u64) -> u32 {
        self.counts.get(&feature).copied().unwrap_or(0)
    }

    /// Returns a hash of all counts. It is part of the scheme, because other weights give other sketches.
    pub fn digest(&self) -> u64 {
        let entry = |(&feature, &count)| super::hash_shingle(&[feature, u64::from(count)]);
        self.counts.iter().map(entry).fold(self.documents, u64::wrapping_add)
    }

    /// Returns the weight of a feature.
    pub fn weight(&self, feature: u64) -> i64 {
        let seen = u64::from(self.count(feature)) + 1;
        log2_in_256ths(self.documents + 1) - log2_in_256ths(seen)
    }
}

/// Returns 256 log2(x), rounded down. Squares the mantissa eight times; each square of at least 2 gives a binary digit 1.
fn log2_in_256ths(x: u64) -> i64 {
    let whole = x.max(1).ilog2();
    // x / 2^whole lies in [1, 2); with 62 binary places its square fits into 128 bits.
    let mut mantissa = u128::from(x.max(1)) << 62 >> whole;
    let mut log = i64::from(whole);
    for _ in 0..8 {
        mantissa = (mantissa * mantissa) >> 62;
        let digit = mantissa >> 63;
        mantissa >>= digit;
        log = log << 1 | digit as i64;
    }
    log
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn integer_logarithm_equals_the_rounded_floating_point_one() {
        for x in (1..5000).chain([1 << 20, (1 << 20) + 1, 1 << 40, u64::MAX]) {
            let exact = 256.0 * (x as f64).log2();
            let found = log2_in_256ths(x) as f64;
            assert!(found <= exact + 1e-6 && found > exact - 1.0 - 1e-6, "{x}: {found} for {exact}");
        }
    }

    #[test]
    fn rarer_features_have_larger_weights() {
        let mut frequencies = DocumentFrequencies::default();
        for n in 0..100 {
            let features = (0..=n).collect();
            frequencies.add(&FeatureSet::from_hashes(features));
        }
        let weights: Vec<i64> = (0..=100).map(|feature| frequencies.weight(feature)).collect();
        assert!(weights.is_sorted());
        assert_eq!(weights[0], 0);
    }
}
