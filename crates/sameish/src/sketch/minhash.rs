//! MinHash: signatures whose equal rows estimate the Jaccard similarity of two sets.
//!
//! Row i of a signature is the minimum of a hash function h_i over the set. The rows of two sets are equal with
//! probability J, their Jaccard similarity, so the fraction of equal rows is an unbiased estimate of J. With k independent
//! rows its variance is J(1-J)/k (Broder 1997, <https://doi.org/10.1109/SEQUEN.1997.666900>).
//!
//! **Row functions.** A feature is a well-mixed 64-bit hash with halves `lo` and `hi`. Rows are computed in groups of 32.
//! With odd constants a, row 32 g + l is `a(16 g + l) * lo` and row 32 g + 16 + l is `a(16 g + l) * lo + hi`, for l from 0
//! to 15, modulo 2^32. Two rows of which exactly one adds `hi` are independent for a random hash. Two rows that both add
//! or both omit it are not exactly independent, but for sets of up to thousands of features the difference is not
//! measurable: `tests/all/theory.rs` checks bias and variance. This family was chosen because one multiplication serves two
//! rows; `a * lo + b` and `a * lo + hi` with one constant per row have the same error and take 1.4 times as long. The
//! constants come from SplitMix64 and never change.

use crate::error::{Error, Result};
use crate::random::SplitMix64;
use crate::simd::{self, GROUP, Level};
use std::sync::LazyLock;

/// A MinHash signature: k rows of 32 bits.
///
/// ```
/// use sameish::config::TokenHash;
/// use sameish::features::hash_token;
/// use sameish::sketch::MinHasher;
///
/// let hash = |i: u32| hash_token(TokenHash::Xxh3, &i.to_le_bytes());
/// let hasher = MinHasher::new(256)?;
/// let a = hasher.sketch(&(0..900).map(hash).collect::<Vec<u64>>()).unwrap();
/// let b = hasher.sketch(&(100..1000).map(hash).collect::<Vec<u64>>()).unwrap();
/// // The Jaccard similarity is 0.8 and the standard error of the estimate is 0.025.
/// assert!((a.estimate(&b)? - 0.8).abs() < 0.1);
/// # Ok::<(), sameish::Error>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Signature {
    rows: Box<[u32]>,
}

impl Signature {
    /// Returns the rows.
    pub fn rows(&self) -> &[u32] {
        &self.rows
    }

    /// Creates a signature from rows that were computed elsewhere. Returns an error if there are no rows or if all rows are
    /// `u32::MAX`, the initial value, which means that the set was empty.
    pub fn from_rows(rows: impl Into<Box<[u32]>>) -> Result<Signature> {
        let rows = rows.into();
        if rows.iter().all(|&row| row == u32::MAX) {
            return Err(Error::Corrupt { reason: "signature of an empty set", offset: 0 });
        }
        Ok(Signature { rows })
    }

    /// Estimates the Jaccard similarity of two sets: the fraction of equal rows of their signatures. Returns an error if the
    /// signatures have different numbers of rows.
    pub fn estimate(&self, other: &Signature) -> Result<f64> {
        share_equal(&self.rows, &other.rows).ok_or(Error::SizeMismatch {
            what: "signature rows",
            expected: self.rows.len(),
            found: other.rows.len(),
        })
    }

    /// Decodes the storage format: 4 little-endian bytes per row.
    pub fn from_bytes(bytes: &[u8]) -> Result<Signature> {
        let (rows, rest) = bytes.as_chunks::<4>();
        if rows.is_empty() || !rest.is_empty() {
            let expected = "a multiple of 4, at least 4".to_owned();
            return Err(Error::ByteLength { what: "signature", expected, found: bytes.len() });
        }
        Signature::from_rows(rows.iter().map(|&row| u32::from_le_bytes(row)).collect::<Box<[u32]>>())
    }

    /// Encodes the signature in its storage format: 4 little-endian bytes per row.
    pub fn to_bytes(&self) -> Vec<u8> {
        self.rows.iter().flat_map(|row| row.to_le_bytes()).collect()
    }

    /// Parses the storage format as hex digits, in either case.
    pub fn from_hex(hex: &str) -> Result<Signature> {
        let digits = hex.chars().count().next_multiple_of(8).max(8);
        Signature::from_bytes(&super::codec::bytes_from_hex("signature (8 digits per row)", hex, digits / 2)?)
    }

    /// Returns the storage format as lower-case hex digits.
    pub fn to_hex(&self) -> String {
        super::codec::bytes_to_hex(&self.to_bytes())
    }
}

/// Returns the fraction of equal rows, or `None` if the numbers of rows differ or are 0.
pub(crate) fn share_equal(a: &[u32], b: &[u32]) -> Option<f64> {
    if a.len() != b.len() || a.is_empty() {
        return None;
    }
    let equal = a.iter().zip(b).filter(|(a, b)| a == b).count();
    Some(equal as f64 / a.len() as f64)
}

/// Computes [`Signature`]s from feature hashes.
#[derive(Clone, Copy, Debug)]
pub struct MinHasher {
    rows: usize,
}

impl MinHasher {
    /// Creates a hasher for signatures with `rows` rows, 1 to 1024.
    pub fn new(rows: u32) -> Result<MinHasher> {
        if !(1..=crate::config::MAX_ROWS).contains(&rows) {
            let expected = format!("1 to {}", crate::config::MAX_ROWS);
            return Err(Error::field("minhash.rows", rows, expected));
        }
        Ok(MinHasher { rows: rows as usize })
    }

    /// Returns the number of rows.
    pub fn rows(&self) -> usize {
        self.rows
    }

    /// Computes the signature of a set of features, or returns `None` if the set is empty. Order and repetitions do not
    /// matter.
    ///
    /// The features must be well-mixed hashes, such as XXH3. A poor hash function biases the signature.
    pub fn sketch(&self, features: &[u64]) -> Option<Signature> {
        let mut minima = RowMinima::new(*self);
        minima.lower(features);
        minima.signature()
    }
}

/// Computes a signature from features that arrive in batches.
#[derive(Clone, Debug)]
pub(crate) struct RowMinima {
    /// Minimum of each row, in complete groups: may be longer than the signature.
    rows: Vec<u32>,
    /// Number of rows of the signature.
    row_count: usize,
    any: bool,
}

impl RowMinima {
    pub(crate) fn new(hasher: MinHasher) -> RowMinima {
        RowMinima {
            rows: vec![u32::MAX; hasher.rows.next_multiple_of(GROUP)],
            row_count: hasher.rows,
            any: false,
        }
    }

    pub(crate) fn clear(&mut self) {
        self.rows.fill(u32::MAX);
        self.any = false;
    }

    pub(crate) fn lower(&mut self, features: &[u64]) {
        self.any |= !features.is_empty();
        simd::lower_rows(Level::current(), features, &MULTIPLIERS[..self.rows.len() / 2], &mut self.rows);
    }

    pub(crate) fn signature(&self) -> Option<Signature> {
        self.any.then(|| Signature { rows: self.rows[..self.row_count].into() })
    }
}

/// The odd constants of the row functions: the upper halves of SplitMix64's output from the initial state
/// 0x53616D65697368 ("Sameish").
static MULTIPLIERS: LazyLock<[u32; crate::config::MAX_ROWS as usize / 2]> = LazyLock::new(|| {
    let mut random = SplitMix64(0x0053_616D_6569_7368);
    std::array::from_fn(|_| (random.next() >> 32) as u32 | 1)
});

#[cfg(test)]
mod tests {
    use super::*;

    fn hashes(range: std::ops::Range<u64>) -> Vec<u64> {
        range.map(|i| xxhash_rust::xxh3::xxh3_64(&i.to_le_bytes())).collect()
    }

    #[test]
    fn rows_equal_their_definition() {
        let features = hashes(0..50);
        let signature = MinHasher::new(100).unwrap().sketch(&features).unwrap();
        for (i, &row) in signature.rows().iter().enumerate() {
            let multiplier = MULTIPLIERS[16 * (i / 32) + i % 16];
            let value = |x: &u64| {
                let plain = multiplier.wrapping_mul(*x as u32);
                if i % 32 < 16 { plain } else { plain.wrapping_add((x >> 32) as u32) }
            };
            assert_eq!(Some(row), features.iter().map(value).min(), "row {i}");
        }
    }

    #[test]
    fn constants_never_change() {
        assert_eq!(MULTIPLIERS[..4], [1637210623, 3262255567, 1538590071, 3718207087]);
        assert!(MULTIPLIERS.iter().all(|multiplier| multiplier % 2 == 1));
    }

    #[test]
    fn shorter_signature_is_a_prefix_of_a_longer_one() {
        let features = hashes(0..20);
        let long = MinHasher::new(1024).unwrap().sketch(&features).unwrap();
        for rows in [1, 31, 32, 33, 100, 128] {
            let short = MinHasher::new(rows).unwrap().sketch(&features).unwrap();
            assert_eq!(short.rows(), &long.rows()[..rows as usize]);
        }
    }

    #[test]
    fn order_and_repetitions_do_not_matter() {
        let hasher = MinHasher::new(128).unwrap();
        let features = hashes(0..300);
        let mut mixed: Vec<u64> = features.iter().rev().copied().collect();
        mixed.extend_from_slice(&features[..50]);
        assert_eq!(hasher.sketch(&features), hasher.sketch(&mixed));
    }

    #[test]
    fn bytes_and_hex_round_trip() {
        let signature = MinHasher::new(5).unwrap().sketch(&hashes(0..9)).unwrap();
        assert_eq!(signature.to_bytes().len(), 20);
        assert_eq!(Signature::from_bytes(&signature.to_bytes()).unwrap(), signature);
        assert_eq!(Signature::from_hex(&signature.to_hex()).unwrap(), signature);
        assert_eq!(signature.to_bytes()[..4], signature.rows()[0].to_le_bytes());
    }

    #[test]
    fn rejects_invalid_signatures_and_row_counts() {
        assert!(Signature::from_bytes(&[]).is_err());
        assert!(Signature::from_bytes(&[0; 5]).is_err());
        assert!(Signature::from_bytes(&[0xFF; 512]).is_err());
        assert!(Signature::from_hex("").is_err());
        assert!(Signature::from_hex("abc").is_err());
        assert!(MinHasher::new(0).is_err());
        assert!(MinHasher::new(1025).is_err());
        assert_eq!(MinHasher::new(8).unwrap().sketch(&[]), None);
    }

    #[test]
    fn rejects_comparison_of_different_lengths() {
        let features = hashes(0..9);
        let [a, b] = [5, 6].map(|rows| MinHasher::new(rows).unwrap().sketch(&features).unwrap());
        let message = a.estimate(&b).unwrap_err().to_string();
        assert!(message.starts_with("signature rows: expected 5, found 6"), "{message}");
    }
}
