//! Parities of feature sets: an upper bound of the similarity of two texts from 64 bytes each.
//!
//! Each bit is the parity of the number of features whose hash selects it. A feature that only one of two sets has changes one
//! bit, so the number of differing bits is at most the number of such features. The same holds for *heads*, which are the
//! parities of pairs of bits. A scan reads the heads of all texts, 32 bytes each, and the parities of few.

use crate::simd::{self, Level};
use std::ops::Range;
use std::sync::Arc;

/// Parities of the features of many texts.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ParityList {
    rows: Vec<[u64; 8]>,
}

/// A text whose parities are close to those of another one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct NearParity {
    /// Position of the text.
    pub at: u32,
    /// Number of differing bits.
    pub differing: u32,
}

/// Parities of a text with many features, at least two per feature. The 512 of a [`ParityList`] are as likely to be equal as not if
/// texts differ in hundreds of features.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct WideParities(Arc<[u64]>);

/// The number of features from which on a text has wide parities.
const WIDE: usize = 257;

impl WideParities {
    /// Computes the parities of a text, if it has many features.
    pub(crate) fn of(features: &[u64]) -> Option<WideParities> {
        let bits = (2 * features.len()).next_power_of_two();
        (features.len() >= WIDE).then(|| {
            let mut words = vec![0; bits / 64];
            for hash in features {
                words[(hash >> 6) as usize & (bits / 64 - 1)] ^= 1 << (hash & 63);
            }
            WideParities(words.into())
        })
    }

    /// Returns the number of parities in which two texts differ, which is at most the number of features that one of them lacks.
    pub(crate) fn differing(&self, other: &WideParities) -> u32 {
        let (wide, narrow) =
            if self.0.len() < other.0.len() { (&other.0, &self.0) } else { (&self.0, &other.0) };
        if wide.len() == narrow.len() {
            return wide.iter().zip(&narrow[..]).map(|(a, b)| (a ^ b).count_ones()).sum();
        }
        // The parity of a feature of the narrower list is that of a group of the wider one.
        let word =
            |at: usize| wide.iter().skip(at).step_by(narrow.len()).fold(narrow[at], |word, part| word ^ part);
        (0..narrow.len()).map(|at| word(at).count_ones()).sum()
    }
}

/// Texts of a [`ParityList`] that are scanned together.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ParityScan {
    heads: Vec<Head>,
    /// Positions of the texts in the list.
    at: Vec<u32>,
}

impl ParityList {
    /// Returns the parities of a text, for [`push`](Self::push).
    pub fn row(features: &[u64]) -> [u64; 8] {
        let mut row = [0; 8];
        for hash in features {
            row[(hash >> 6 & 7) as usize] ^= 1 << (hash & 63);
        }
        row
    }

    /// Adds a text.
    pub fn push(&mut self, row: [u64; 8]) {
        self.rows.push(row);
    }

    /// Replaces the parities of a text.
    pub(crate) fn set(&mut self, at: usize, row: [u64; 8]) {
        self.rows[at] = row;
    }

    /// Returns the parities of a text.
    pub fn get(&self, at: usize) -> &[u64; 8] {
        &self.rows[at]
    }

    /// Exchanges two texts.
    pub(crate) fn swap(&mut self, a: usize, b: usize) {
        self.rows.swap(a, b);
    }

    /// Removes the last text.
    pub(crate) fn pop(&mut self) {
        self.rows.pop();
    }

    /// Returns the same texts in another order, given by their positions.
    pub fn in_order(&self, positions: &[u32]) -> ParityList {
        ParityList { rows: positions.iter().map(|&at| self.rows[at as usize]).collect() }
    }

    /// Returns the number of bits in which two texts differ.
    pub fn differing(&self, a: u32, b: u32) -> u32 {
        let rows = self.rows[a as usize].iter().zip(self.rows[b as usize]);
        rows.map(|(a, b)| (a ^ b).count_ones()).sum()
    }

    /// Appends the texts of a range that differ from a row in at most `most` bits, in ascending order.
    pub(crate) fn near_row(&self, row: &[u64; 8], range: Range<u32>, most: u32, found: &mut Vec<NearParity>) {
        let query = (row, head(row));
        let mut at = range.clone();
        let mut positions = [0; PIECE];
        let mut heads = [Head::default(); PIECE];
        for rows in self.rows[range.start as usize..range.end as usize].chunks(PIECE) {
            for ((head_of, position), row) in heads.iter_mut().zip(&mut positions).zip(rows) {
                *head_of = head(row);
                *position = at.next().unwrap_or(range.end);
            }
            let (heads, at) = (&heads[..rows.len()], &positions[..rows.len()]);
            simd::near_rows(
                Level::current(),
                simd::Heads { heads, at, rows: &self.rows },
                query,
                most,
                found,
            );
        }
    }

    /// Returns the texts of a range, for [`near`](Self::near).
    pub fn scan(&self, range: Range<u32>) -> ParityScan {
        let heads = range.clone().map(|at| head(&self.rows[at as usize])).collect();
        ParityScan { heads, at: range.collect() }
    }

    /// Appends those of the scanned texts in `range` that differ from the text at `query` in at most `most` bits, in the order
    /// of the scan.
    pub fn near(
        &self,
        query: u32,
        scan: &ParityScan,
        range: Range<usize>,
        most: u32,
        found: &mut Vec<NearParity>,
    ) {
        let row = &self.rows[query as usize];
        let heads = simd::Heads { heads: &scan.heads[range.clone()], at: &scan.at[range], rows: &self.rows };
        simd::near_rows(Level::current(), heads, (row, head(row)), most, found);
    }
}

impl ParityScan {
    /// Returns the positions of the texts in their list.
    pub fn positions(&self) -> &[u32] {
        &self.at
    }

    /// Removes the texts at all other positions.
    pub fn retain(&mut self, is_kept: impl Fn(u32) -> bool) {
        let mut kept = 0;
        for i in 0..self.at.len() {
            if is_kept(self.at[i]) {
                (self.at[kept], self.heads[kept]) = (self.at[i], self.heads[i]);
                kept += 1;
            }
        }
        self.at.truncate(kept);
        self.heads.truncate(kept);
    }
}

/// The parities of the bits of a row that are equal modulo 256.
pub(crate) type Head = [u64; 4];

/// Returns the head of a row.
pub(crate) fn head([a, b, c, d, e, f, g, h]: &[u64; 8]) -> Head {
    [a ^ e, b ^ f, c ^ g, d ^ h]
}

/// Number of texts whose heads [`ParityList::near_row`] computes at once.
const PIECE: usize = 128;

/// Margin for rounding errors of products with a threshold.
const ROUNDING: f64 = 1e-6;

/// Returns the maximum number of features that are in one of two matching texts only, given the sum of their numbers of features.
///
/// With s shared features of a total of n, the similarity is s / (n - s), so s is at least t n / (1 + t).
pub(crate) fn most_differing(threshold: f64, total: u32) -> u32 {
    let shared = (threshold * f64::from(total) / (1.0 + threshold) - ROUNDING).ceil();
    total.saturating_sub(2 * shared as u32)
}

/// Returns the largest similarity of two texts, given the sum of their numbers of features and the number of differing parities.
pub(crate) fn largest_similarity(total: u32, differing: u32) -> f64 {
    match total {
        0 => 0.0,
        _ => f64::from(total.saturating_sub(differing)) / f64::from(total + differing),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn wide_parities_differ_in_at_most_one_bit_per_feature_of_one_set() {
        let hashes: Vec<u64> = (1..4_000u64).map(|i| i.wrapping_mul(0x9E37_79B9_7F4A_7C15) >> 20).collect();
        let of = |range: Range<usize>| WideParities::of(&hashes[range]);
        assert_eq!(of(0..256), None);
        let all = of(0..3_000).unwrap();
        for (from, to) in [(0, 3_000), (1, 3_000), (300, 3_300), (0, 600), (200, 1_400), (0, 3_999)] {
            let other = of(from..to).unwrap();
            let of_one = from + 3_000usize.abs_diff(to);
            let differing = all.differing(&other) as usize;
            assert_eq!(differing, other.differing(&all) as usize);
            assert!(differing <= of_one, "{differing} of {of_one}");
            // Few features share a parity if the sets are about as large.
            assert!(of_one > 1_000 || differing * 10 >= of_one * 8, "{differing} of {of_one}");
        }
    }

    #[test]
    fn at_most_one_bit_differs_per_feature_of_one_set() {
        let hashes: Vec<u64> = (1..2_000u64).map(|i| i.wrapping_mul(0x9E37_79B9_7F4A_7C15) >> 20).collect();
        let mut list = ParityList::default();
        list.push(ParityList::row(&hashes));
        for (from, to) in [(0, 0), (0, 1), (3, 40), (100, 900)] {
            list.push(ParityList::row(&hashes[from..hashes.len() - to]));
            let last = list.rows.len() as u32 - 1;
            let differing = list.differing(0, last) as usize;
            assert!(differing <= from + to && (from + to > 50 || differing + 8 > from + to), "{differing}");
            let mut found = Vec::new();
            let mut scan = list.scan(0..last + 1);
            scan.retain(|at| at % 2 == last % 2);
            let all = scan.positions().len();
            list.near(0, &scan, all - 1..all, differing as u32, &mut found);
            assert_eq!(found, [NearParity { at: last, differing: differing as u32 }]);
        }
    }
}
