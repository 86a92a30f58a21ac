//! What is compared?
//!
//! Tokens become features: hashes of word n-grams, character n-grams, words with their letters, or rolling windows.
//! Features of a text in order are a multiset; [`FeatureSet`] is the set, on which similarity is exact.

mod exact;
mod facts;
pub(crate) mod hash;
mod set;
mod shingle;
mod weight;

pub use exact::TextKey;
pub(crate) use facts::Fact;
pub use facts::Facts;
pub use hash::{fnv1a64, hash_token};
pub(crate) use hash::{hash_occurrence, hash_shingle};
pub use set::FeatureSet;
pub(crate) use set::{count_shared, number_occurrences};
pub(crate) use shingle::Shingler;
pub use weight::DocumentFrequencies;
