//! What does a client send and get?
//!
//! The types of the interface, apart from those of the engine and the store: they may change without each other.

mod answers;
mod ask;
mod document;
mod id;
mod overview;

pub use answers::CompareAnswer;
pub(crate) use answers::*;
pub(crate) use ask::{
    CollectionSettings, CompareTexts, SearchParams, SnapshotRequest, TextQuery, bounded, limit, pairs,
    search_options,
};
pub(crate) use document::{New, NewDocument, now};
pub(crate) use id::{Id, IdType, addressed, check_reserved};
pub(crate) use overview::*;

/// Six digits are more than any measure here can claim.
pub(crate) fn rounded(number: f64) -> f64 {
    (number * 1e6).round() / 1e6
}
