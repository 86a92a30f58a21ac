//! Duplicate ids.

use crate::escape::escaped_name;
use crate::input::{Problem, Remedy};
use sameish::DocId;

/// Which record is used if an id occurs again with a different text. A record with the same id and text is only counted.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum OnDupId {
    /// The first record; later ones are rejected.
    #[default]
    Reject,
    /// The last record.
    Last,
}

/// Returns the reason for rejecting a record with a duplicate id.
pub fn duplicate_id(id: &DocId) -> Problem {
    let id = escaped_name(id.to_string().as_ref());
    Problem::with(format!("duplicate id `{id}` with a different text"), Remedy::LastOfId)
}
