//! What few numbers tell how alike two sets are?
//!
//! Row i of a signature is the smallest value that a hash function h_i takes on the set. Two sets agree in a row with
//! probability J, their Jaccard similarity, so the share of agreeing rows estimates J without bias and, with k
//! independent rows, with variance J(1-J)/k (Broder 1997, <https://doi.org/10.1109/SEQUEN.1997.666900>).
//!
//! **The row functions.** A feature comes as one well-mixed 64-bit hash with halves `lo` and `hi`. Rows go in groups of
//! 32. With odd constants a, row 32 g + l is `a(16 g + l) * lo` and row 32 g + 16 + l is `a(16 g + l) * lo + hi`, for l
//! from 0 to 15, modulo 2^32. Two rows of which one adds `hi` are exactly independent for a random hash; two that do not
//! are two multiples of one random number, which is not independent but, at the scale of a minimum over up to thousands
//! of features, can not be told from it: `tests/theory.rs` measures bias and variance. One multiplication serves two
//! rows, which is why this family was chosen: `a * lo + b` and `a * lo + hi` with a constant for each row have the same
//! error and take 1.4 times as long. The constants come from SplitMix64 and never change.

use crate::error::{Error, Result};
use crate::random::SplitMix64;
use crate::simd::{self, GROUP, Level};
use std::sync::LazyLock;

/// A MinHash signature: k rows of 32 bits.
///
/// ```
/// use sameish::{MinHasher, TokenHash, hash_token};
///
/// let hash = |i: u32| hash_token(TokenHash::Xxh3, &i.to_le_bytes());
/// let (a, b): (Vec<u64>, Vec<u64>) = ((0..900).map(hash).collect(), (100..1000).map(hash).collect());
/// let hasher = MinHasher::new(256)?;
/// let (a, b) = (hasher.sketch(&a).unwrap(), hasher.sketch(&b).unwrap());
/// // The truth is 0.8, the standard error 0.025.
/// assert!((a.estimate(&b)? - 0.8).abs() < 0.1);
/// # Ok::<(), sameish::Error>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Signature {
    rows: Box<[u32]>,
}

impl Signature {
    /// The rows.
    pub fn rows(&self) -> &[u32] {
        &self.rows
    }

    /// A signature of rows that were made elsewhere. Refuses what no set can have: no rows, or nothing but the largest
    /// number, which is what an empty set would leave.
    pub fn from_rows(rows: impl Into<Box<[u32]>>) -> Result<Signature> {
        let rows = rows.into();
        if rows.iter().all(|&row| row == u32::MAX) {
            return Err(Error::Corrupt { reason: "a signature of no features", offset: 0 });
        }
        Ok(Signature { rows })
    }

    /// The share of rows in which two signatures agree: an estimate of the Jaccard similarity.
    pub fn estimate(&self, other: &Signature) -> Result<f64> {
        let (expected, found) = (self.rows.len(), other.rows.len());
        share_equal(&self.rows, &other.rows).ok_or(Error::SizeMismatch {
            what: "signature rows",
            expected,
            found,
        })
    }

    /// Reads the k x 4 little-endian bytes that are stored.
    pub fn from_bytes(bytes: &[u8]) -> Result<Signature> {
        let (rows, rest) = bytes.as_chunks::<4>();
        if rows.is_empty() || !rest.is_empty() {
            let expected = "a multiple of 4, at least 4".to_owned();
            return Err(Error::ByteLength { what: "signature", expected, found: bytes.len() });
        }
        Signature::from_rows(rows.iter().map(|&row| u32::from_le_bytes(row)).collect::<Box<[u32]>>())
    }

    /// Writes the k x 4 little-endian bytes that are stored.
    pub fn to_bytes(&self) -> Vec<u8> {
        self.rows.iter().flat_map(|row| row.to_le_bytes()).collect()
    }

    /// Reads the stored bytes in hex.
    pub fn from_hex(hex: &str) -> Result<Signature> {
        let digits = hex.chars().count().next_multiple_of(8).max(8);
        Signature::from_bytes(&super::codec::bytes_from_hex("signature", hex, digits / 2)?)
    }

    /// Writes the stored bytes in hex.
    pub fn to_hex(&self) -> String {
        super::codec::bytes_to_hex(&self.to_bytes())
    }
}

/// The share of equal rows; nothing where the two have not the same number of rows, or none.
pub(crate) fn share_equal(a: &[u32], b: &[u32]) -> Option<f64> {
    if a.len() != b.len() || a.is_empty() {
        return None;
    }
    let equal = a.iter().zip(b).filter(|(a, b)| a == b).count();
    Some(equal as f64 / a.len() as f64)
}

/// Makes [`Signature`]s of features that the caller has hashed well.
#[derive(Clone, Copy, Debug)]
pub struct MinHasher {
    rows: usize,
}

impl MinHasher {
    /// A maker of signatures with so many rows, 1 to 1024.
    pub fn new(rows: u32) -> Result<MinHasher> {
        if !(1..=crate::config::MAX_ROWS).contains(&rows) {
            let expected = format!("1 to {}", crate::config::MAX_ROWS);
            return Err(Error::field("minhash.rows", rows, expected));
        }
        Ok(MinHasher { rows: rows as usize })
    }

    /// How many rows.
    pub fn rows(&self) -> usize {
        self.rows
    }

    /// The signature of a set of features; repeats and order have no influence. An empty set has none.
    ///
    /// The hashes must be well mixed, such as XXH3 gives them: a poor hash makes a biased signature.
    pub fn sketch(&self, features: &[u64]) -> Option<Signature> {
        let mut minima = RowMinima::new(*self);
        minima.lower(features);
        minima.signature()
    }
}

/// The rows of a signature while features still come.
#[derive(Clone, Debug)]
pub(crate) struct RowMinima {
    /// Whole groups; what goes beyond the asked number of rows is not given out.
    rows: Vec<u32>,
    wanted: usize,
    any: bool,
}

impl RowMinima {
    pub(crate) fn new(hasher: MinHasher) -> RowMinima {
        RowMinima {
            rows: vec![u32::MAX; hasher.rows.next_multiple_of(GROUP)],
            wanted: hasher.rows,
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
        self.any.then(|| Signature { rows: self.rows[..self.wanted].into() })
    }
}

/// The odd constants of the rows: the upper halves of SplitMix64's output from state 0x53616D65697368, "Sameish".
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
    fn rows_are_what_the_definition_says() {
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
    fn fewer_rows_are_a_prefix() {
        let features = hashes(0..20);
        let long = MinHasher::new(1024).unwrap().sketch(&features).unwrap();
        for rows in [1, 31, 32, 33, 100, 128] {
            let short = MinHasher::new(rows).unwrap().sketch(&features).unwrap();
            assert_eq!(short.rows(), &long.rows()[..rows as usize]);
        }
    }

    #[test]
    fn order_and_repeats_have_no_influence() {
        let hasher = MinHasher::new(128).unwrap();
        let features = hashes(0..300);
        let mut mixed: Vec<u64> = features.iter().rev().copied().collect();
        mixed.extend_from_slice(&features[..50]);
        assert_eq!(hasher.sketch(&features), hasher.sketch(&mixed));
    }

    #[test]
    fn bytes_and_hex_come_back() {
        let signature = MinHasher::new(5).unwrap().sketch(&hashes(0..9)).unwrap();
        assert_eq!(signature.to_bytes().len(), 20);
        assert_eq!(Signature::from_bytes(&signature.to_bytes()).unwrap(), signature);
        assert_eq!(Signature::from_hex(&signature.to_hex()).unwrap(), signature);
        assert_eq!(signature.to_bytes()[..4], signature.rows()[0].to_le_bytes());
    }

    #[test]
    fn impossible_signatures_are_refused() {
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
    fn different_lengths_do_not_compare() {
        let features = hashes(0..9);
        let [a, b] = [5, 6].map(|rows| MinHasher::new(rows).unwrap().sketch(&features).unwrap());
        let message = a.estimate(&b).unwrap_err().to_string();
        assert!(message.starts_with("signature rows of 6 can not be compared with 5"), "{message}");
    }
}
