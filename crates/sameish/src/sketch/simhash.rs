//! What are 64 bits that stay close when a text changes a little?

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
    /// The fingerprint with these bits.
    pub fn from_u64(bits: u64) -> Fingerprint {
        Fingerprint(bits)
    }

    /// The bits.
    pub fn as_u64(self) -> u64 {
        self.0
    }

    /// Whether no bit is set, as for a text without features.
    pub fn is_zero(self) -> bool {
        self.0 == 0
    }

    /// In how many bits two fingerprints differ, 0 to 64.
    pub fn distance(self, other: Fingerprint) -> u32 {
        (self.0 ^ other.0).count_ones()
    }

    /// 1 - distance / 64.
    pub fn similarity(self, other: Fingerprint) -> f64 {
        crate::matching::distance_to_similarity(self.distance(other))
    }

    /// Reads 16 hex digits, the highest first, in either case.
    pub fn from_hex(hex: &str) -> Result<Fingerprint> {
        let bytes = super::codec::bytes_from_hex("fingerprint", hex, 8)?;
        let bytes: [u8; 8] = bytes.try_into().unwrap_or_default();
        Ok(Fingerprint(u64::from_be_bytes(bytes)))
    }

    /// Writes 16 lower-case hex digits, the highest first.
    pub fn to_hex(self) -> String {
        format!("{:016x}", self.0)
    }

    /// Reads the 8 little-endian bytes that are stored.
    pub fn from_bytes(bytes: &[u8]) -> Result<Fingerprint> {
        let found = bytes.len();
        let bytes = bytes.try_into().map_err(|_| Error::ByteLength {
            what: "fingerprint",
            expected: "8".into(),
            found,
        })?;
        Ok(Fingerprint(u64::from_le_bytes(bytes)))
    }

    /// Writes the 8 little-endian bytes that are stored.
    pub fn to_bytes(self) -> [u8; 8] {
        self.0.to_le_bytes()
    }
}

impl fmt::Display for Fingerprint {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:016x}", self.0)
    }
}

/// Heaviest feature. Weights are kept in units of 2^-16, so a million leaves room for 2^26 features in an `i64`.
pub const MAX_WEIGHT: f64 = 1e6;

/// Makes [`Fingerprint`]s of features that the caller has hashed. No features give the zero fingerprint.
///
/// ```
/// use sameish::SimHasher;
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
    /// Each feature votes once for each time it is given.
    pub fn sketch(&self, features: &[u64]) -> Fingerprint {
        let mut votes = Votes::new(64);
        votes.add_all(features);
        Fingerprint(votes.majority())
    }

    /// Each feature votes as loudly as the caller says, in steps of 2^-16.
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
    fn hex_is_numeric_order_and_bytes_are_little_endian() {
        let print = Fingerprint::from_u64(0x0123_4567_89AB_CDEF);
        assert_eq!(print.to_hex(), "0123456789abcdef");
        assert_eq!(Fingerprint::from_hex("0123456789ABCDEF").unwrap(), print);
        assert_eq!(print.to_bytes(), [0xEF, 0xCD, 0xAB, 0x89, 0x67, 0x45, 0x23, 0x01]);
        assert_eq!(Fingerprint::from_bytes(&print.to_bytes()).unwrap(), print);
    }

    #[test]
    fn wrong_hex_is_refused_with_length_and_position() {
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
    fn weights_must_be_numbers() {
        for weight in [f64::NAN, f64::INFINITY, -1.0, 1e300] {
            assert!(SimHasher.sketch_weighted([(1, weight)]).is_err(), "{weight}");
        }
        assert_eq!(SimHasher.sketch_weighted([(1, 0.0)]).unwrap(), Fingerprint::default());
        assert_eq!(SimHasher.sketch_weighted([(1, MAX_WEIGHT)]).unwrap(), Fingerprint::from_u64(1));
    }

    #[test]
    fn nothing_gives_zero() {
        assert!(SimHasher.sketch(&[]).is_zero());
    }
}
