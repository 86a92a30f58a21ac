//! Sketches: how is a text represented in a few bytes?
//!
//! There are three kinds. A [`Fingerprint`] has 64 bits (SimHash); the Hamming distance of two fingerprints estimates the
//! angle between the feature counts of their texts. A [`Signature`] has k rows of 32 bits (MinHash); the fraction of equal
//! rows estimates the Jaccard similarity. An [`Sdr`] is a sparse code; similar texts have overlapping codes, which can be
//! used as input for machine learning. SimHash and SDR both sum votes of the features per bit: see `votes.rs`.
//!
//! Two sketches are comparable only if they have the same scheme: the settings and versions of every step from text to
//! sketch. A stored sketch carries its [`SchemeId`].

mod codec;
mod minhash;
mod outline;
mod sdr;
mod simhash;
mod votes;

pub use codec::{Stored, decode_sketch, encode_sketch};
pub use minhash::{MinHasher, Signature};
pub(crate) use minhash::{RowMinima, share_equal};
#[doc(hidden)]
pub use outline::{Outline, Screen};
pub use sdr::{Sdr, SdrEncoder};
pub use simhash::{Fingerprint, MAX_WEIGHT, SimHasher};
pub(crate) use votes::Votes;

use crate::error::Result;
use std::fmt;
use xxhash_rust::xxh3::xxh3_64;

/// A 64-bit identifier of the settings and algorithm versions that produced a sketch. Sketches are comparable if and only
/// if their scheme ids are equal.
///
/// The id is the XXH3 hash of a textual description that names every setting and version from text to sketch.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct SchemeId(u64);

impl SchemeId {
    /// Returns the id of the scheme with the given description.
    pub fn of(description: &str) -> SchemeId {
        SchemeId(xxh3_64(description.as_bytes()))
    }

    /// Returns the id as a number, for storage.
    pub fn as_u64(self) -> u64 {
        self.0
    }

    /// Parses an id from 16 hex digits, as [`Display`](fmt::Display) writes it.
    pub fn from_hex(hex: &str) -> Result<SchemeId> {
        let bytes: [u8; 8] = codec::bytes_from_hex("scheme", hex, 8)?.try_into().unwrap_or_default();
        Ok(SchemeId(u64::from_be_bytes(bytes)))
    }

    /// Creates an id from a stored number.
    pub fn from_u64(id: u64) -> SchemeId {
        SchemeId(id)
    }
}

impl fmt::Display for SchemeId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:016x}", self.0)
    }
}
