//! What becomes of an id that comes again?
//!
//! With the same text it is counted; with another the record is rejected, or takes the place of the first.

use sameish::DocId;

/// Which record counts when an id comes again with another text.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
pub(crate) enum OnDupId {
    /// The first; the others are rejected
    Reject,
    /// The last
    Last,
}

pub(crate) fn repeated_id(id: &DocId) -> String {
    let id = crate::output::escape::escaped_name(id.to_string().as_ref());
    format!("id `{id}` was there before with another text; mend it, or pass `--on-dup-id last`")
}
