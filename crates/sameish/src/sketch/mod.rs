//! How is it small?
//!
//! A sketch stands for a text in a few bytes: a [`Fingerprint`] of 64 bits, whose distance is that of word counts; a
//! [`Signature`] of k numbers, whose agreement estimates Jaccard similarity; or an [`Sdr`], a sparse code whose overlap
//! a learning machine can use. SimHash and SDR are one vote with two counts: see `votes.rs`.
//!
//! Sketches are only comparable if they were made alike. What determines one is its scheme, and a stored sketch carries
//! its [`SchemeId`].

mod codec;
mod minhash;
mod outline;
mod sdr;
mod simhash;
mod votes;

pub use codec::{Stored, decode_sketch, encode_sketch};
pub use minhash::{MinHasher, Signature};
pub(crate) use minhash::{RowMinima, share_equal};
pub use outline::{Outline, Screen};
pub use sdr::{Sdr, SdrEncoder};
pub use simhash::{Fingerprint, MAX_WEIGHT, SimHasher};
pub(crate) use votes::Votes;

use std::fmt;
use xxhash_rust::xxh3::xxh3_64;

/// What determines a sketch, in 64 bits: equal for sketches that may be compared, different for others.
///
/// It is the XXH3 of a description in words, which names the version of every rule on the way from text to sketch.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct SchemeId(u64);

impl SchemeId {
    /// The id of the scheme with this description.
    pub fn of(description: &str) -> SchemeId {
        SchemeId(xxh3_64(description.as_bytes()))
    }

    /// The id as a number, for storing.
    pub fn as_u64(self) -> u64 {
        self.0
    }

    /// The id from a stored number.
    pub fn from_u64(id: u64) -> SchemeId {
        SchemeId(id)
    }
}

impl fmt::Display for SchemeId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:016x}", self.0)
    }
}
