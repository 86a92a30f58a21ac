//! SimHash: 64-bit fingerprints that differ in few bits if the texts are similar.

use super::Votes;
use crate::error::{Error, Result};
use std::fmt;

/// A 64-bit SimHash. Texts with similar features have fingerprints that differ in few bits.
///
/// ```
/// use sameish::Fingerprint;
///
/// let a = Fingerprint::from_hex("a1b2c3d4e5f6a7b8")?;
/// let b = Fingerprint::from_hex("a1b2c3d4e5f6a7b9")?;
/// assert_eq!(a.distance(b), 1);
/// assert_eq!(a.similarity(b), 0.984375);
/// # Ok::<(), sameish::Error>(())
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Fingerprint(u64);

impl Fingerprint {
    /// Creates a fingerprint from its bits.
    pub fn from_u64(bits: u64) -> Fingerprint {
        Fingerprint(bits)
    }

    /// Returns the bits.
    pub fn as_u64(self) -> u64 {
        self.0
    }

    /// Returns `true` if no bit is set, as for a text without features.
    pub fn is_zero(self) -> bool {
        self.0 == 0
    }

    /// Returns the Hamming distance: the number of bits in which two fingerprints differ, 0 to 64.
    pub fn distance(self, other: Fingerprint) -> u32 {
        (self.0 ^ other.0).count_ones()
    }

    /// Returns the similarity of two fingerprints: 1 - distance / 64.
    pub fn similarity(self, other: Fingerprint) -> f64 {
        crate::matching::distance_to_similarity(self.distance(other))
    }

    /// Parses 16 hex digits in numeric (big-endian) order, in either case.
    pub fn from_hex(hex: &str) -> Result<Fingerprint> {
        let bytes = super::codec::bytes_from_hex("fingerprint", hex, 8)?;
        let bytes: [u8; 8] = bytes.try_into().unwrap_or_default();
        Ok(Fingerprint(u64::from_be_bytes(bytes)))
    }

    /// Returns 16 lower-case hex digits in numeric (big-endian) order.
    pub fn to_hex(self) -> String {
        format!("{:016x}", self.0)
    }

    /// Decodes the storage format: 8 little-endian bytes.
    pub fn from_bytes(bytes: &[u8]) -> Result<Fingerprint> {
        let found = bytes.len();
        let bytes = bytes.try_into().map_err(|_| Error::ByteLength {
            what: "fingerprint",
            expected: "8".into(),
            found,
        })?;
        Ok(Fingerprint(u64::from_le_bytes(bytes)))
    }

    /// Encodes the fingerprint in its storage format: 8 little-endian bytes.
    pub fn to_bytes(self) -> [u8; 8] {
        self.0.to_le_bytes()
    }
}

impl fmt::Display for Fingerprint {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:016x}", self.0)
    }
}

/// Maximum weight of a feature. Weights are summed in units of 2^-16, so an `i64` holds the sum of 2^26 features of
/// maximum weight.
pub const MAX_WEIGHT: f64 = 1e6;

/// Computes [`Fingerprint`]s from feature hashes. An empty list gives the zero fingerprint.
///
/// ```
/// use sameish::sketch::SimHasher;
///
/// let features = [1, 2, 3].map(|i: u64| i.wrapping_mul(0x9E37_79B9_7F4A_7C15));
/// let plain = SimHasher.sketch(&features);
/// let weighted = SimHasher.sketch_weighted(features.map(|feature| (feature, 2.5)))?;
/// assert_eq!(plain, weighted);
/// # Ok::<(), sameish::Error>(())
/// ```
#[derive(Clone, Copy, Debug, Default)]
pub struct SimHasher;

impl SimHasher {
    /// Computes the fingerprint of features with weight 1. A repeated feature votes once per occurrence.
    pub fn sketch(&self, features: &[u64]) -> Fingerprint {
        let mut votes = Votes::new(64);
        votes.add_all(features);
        Fingerprint(votes.majority())
    }

    /// Computes the fingerprint of features with weights from 0 to [`MAX_WEIGHT`], rounded to multiples of 2^-16. Returns
    /// an error if a weight is out of range or not a number.
    pub fn sketch_weighted(&self, features: impl IntoIterator<Item = (u64, f64)>) -> Result<Fingerprint> {
        let mut votes = Votes::new(64);
        for (position, (feature, weight)) in features.into_iter().enumerate() {
            if !(0.0..=MAX_WEIGHT).contains(&weight) {
                return Err(Error::InvalidWeight { value: weight.to_string(), position, max: MAX_WEIGHT });
            }
            votes.add(&[feature], (weight * 65536.0).round() as i64);
        }
        Ok(Fingerprint(votes.majority()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hex_is_in_numeric_order_and_bytes_are_little_endian() {
        let print = Fingerprint::from_u64(0x0123_4567_89AB_CDEF);
        assert_eq!(print.to_hex(), "0123456789abcdef");
        assert_eq!(Fingerprint::from_hex("0123456789ABCDEF").unwrap(), print);
        assert_eq!(print.to_bytes(), [0xEF, 0xCD, 0xAB, 0x89, 0x67, 0x45, 0x23, 0x01]);
        assert_eq!(Fingerprint::from_bytes(&print.to_bytes()).unwrap(), print);
    }

    #[test]
    fn rejects_invalid_hex_with_length_or_position() {
        let message = |hex: &str| Fingerprint::from_hex(hex).unwrap_err().to_string();
        assert_eq!(message("short"), "fingerprint has 5 hex digits: must be 16");
        assert_eq!(message("0123456789abcdef0"), "fingerprint has 17 hex digits: must be 16");
        assert_eq!(message(""), "fingerprint has 0 hex digits: must be 16");
        let wrong = "fingerprint has `x` at position 1: must be a hex digit (0-9, a-f)";
        assert_eq!(message("0x23456789abcdef"), wrong);
        assert!(message("０23456789abcdef0").contains("position 0"));
        assert!(Fingerprint::from_bytes(&[0; 7]).is_err());
    }

    #[test]
    fn rejects_weights_out_of_range() {
        for weight in [f64::NAN, f64::INFINITY, -1.0, 1e300] {
            assert!(SimHasher.sketch_weighted([(1, weight)]).is_err(), "{weight}");
        }
        assert_eq!(SimHasher.sketch_weighted([(1, 0.0)]).unwrap(), Fingerprint::default());
        assert_eq!(SimHasher.sketch_weighted([(1, MAX_WEIGHT)]).unwrap(), Fingerprint::from_u64(1));
    }

    #[test]
    fn no_features_give_the_zero_fingerprint() {
        assert!(SimHasher.sketch(&[]).is_zero());
    }
}
