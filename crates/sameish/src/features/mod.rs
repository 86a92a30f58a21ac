//! Features: which properties of two texts are compared?
//!
//! Features are 64-bit hashes of word n-grams, character n-grams, words with their characters, or rolling windows of words.
//! The features of a text form a multiset. [`FeatureSet`] is the set of distinct features; the exact similarity of two
//! texts is computed on it.

mod exact;
mod facts;
pub(crate) mod hash;
mod lexicon;
mod numbers;
mod parity;
mod set;
mod shingle;
mod weight;

pub use exact::TextKey;
pub use facts::Facts;
pub(crate) use facts::{Fact, Frame, Number, WordIndex, WordPrefix};
pub use hash::{fnv1a64, fnv1a64_utf16, hash_token};
pub(crate) use hash::{hash_occurrence, hash_shingle};
pub(crate) use numbers::{Item, for_each_item};
#[cfg(test)]
pub(crate) use parity::head;
pub(crate) use parity::{Head, WideParities, largest_similarity, most_differing};
#[doc(hidden)]
pub use parity::{NearParity, ParityList, ParityScan};
pub use set::FeatureSet;
pub(crate) use set::{count_shared, number_occurrences};
pub(crate) use shingle::Shingler;
pub use weight::DocumentFrequencies;
