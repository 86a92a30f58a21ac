//! How much does a feature say?

use super::FeatureSet;
use std::collections::HashMap;

/// In how many documents of a corpus each feature stands, for weights by rarity.
///
/// The weight of a feature is log2((N + 1) / (n + 1)) for `n` of `N` documents, in units of 1/256, rounded down. It is
/// computed in integers, so that it is the same on every machine. Features that were never seen weigh the most; one that
/// stands everywhere weighs nothing.
///
/// ```
/// use sameish::{DocumentFrequencies, FeatureSet};
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
    /// Counts one more document.
    pub fn add(&mut self, features: &FeatureSet) {
        self.documents += 1;
        for &feature in features.as_slice() {
            let count = self.counts.entry(feature).or_default();
            *count = count.saturating_add(1);
        }
    }

    /// How many documents were counted.
    pub fn documents(&self) -> u64 {
        self.documents
    }

    /// In how many of them the feature stands.
    pub fn count(&self, feature: u64) -> u32 {
        self.counts.get(&feature).copied().unwrap_or(0)
    }

    /// A hash of the whole table: weights from another table make other sketches.
    pub fn digest(&self) -> u64 {
        let entry = |(&feature, &count)| super::hash_shingle(&[feature, u64::from(count)]);
        self.counts.iter().map(entry).fold(self.documents, u64::wrapping_add)
    }

    /// The weight of a feature.
    pub fn weight(&self, feature: u64) -> i64 {
        let seen = u64::from(self.count(feature)) + 1;
        log2_in_256ths(self.documents + 1) - log2_in_256ths(seen)
    }
}

/// 256 log2(x), rounded down, by squaring: each square that passes 2 gives one more binary digit.
fn log2_in_256ths(x: u64) -> i64 {
    let whole = x.max(1).ilog2();
    // x / 2^whole lies in [1, 2); 62 binary places leave room for its square in 128 bits.
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
    fn integer_logarithm_is_the_floating_one_rounded_down() {
        for x in (1..5000).chain([1 << 20, (1 << 20) + 1, 1 << 40, u64::MAX]) {
            let exact = 256.0 * (x as f64).log2();
            let found = log2_in_256ths(x) as f64;
            assert!(found <= exact + 1e-6 && found > exact - 1.0 - 1e-6, "{x}: {found} for {exact}");
        }
    }

    #[test]
    fn rarer_weighs_more() {
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
