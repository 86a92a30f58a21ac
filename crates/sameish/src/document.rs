//! What comes in?
//!
//! A [`Document`] is an id and a content, plus what else is known of it. The content is a text or, for callers who
//! split text themselves, a list of tokens.

use serde::{Deserialize, Serialize};

/// The id that the outside gave a document. Its JSON type is kept: `7` and `"7"` are two documents.
///
/// Integers are exact over the whole range of `i64` and `u64`, so ids beyond 2^53 survive.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(untagged)]
pub enum DocId {
    /// A non-negative integer.
    Number(u64),
    /// A negative integer.
    Negative(i64),
    /// Any text.
    Text(String),
}

impl std::fmt::Display for DocId {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            DocId::Number(n) => n.fmt(f),
            DocId::Negative(n) => n.fmt(f),
            DocId::Text(s) => s.fmt(f),
        }
    }
}

impl From<&str> for DocId {
    fn from(id: &str) -> Self {
        DocId::Text(id.to_owned())
    }
}

impl From<u64> for DocId {
    fn from(id: u64) -> Self {
        DocId::Number(id)
    }
}

/// What is compared: a text, or tokens that the caller made. A single word may have up to 4 GiB, a text any length.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Content {
    /// Text, which the engine normalizes and splits.
    Text(String),
    /// Tokens, taken as they are: neither normalized nor split.
    Tokens(Vec<String>),
}

/// A text with its id and what else is known of it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Document {
    /// The outside's name for it.
    pub id: DocId,
    /// What is compared.
    pub content: Content,
    /// Headline, shown beside matches; compared only where there is no text.
    pub title: Option<String>,
    /// Where it came from, often a host name.
    pub source: Option<String>,
    /// When it came out, as it was written.
    pub published_at: Option<String>,
    /// Its address. Never fetched.
    pub url: Option<String>,
}
