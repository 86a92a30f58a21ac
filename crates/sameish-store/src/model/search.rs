//! Searches for similar documents.

use sameish::matching::Evidence;
use sameish::{Match, Status};
use std::sync::Arc;

/// Options of a search.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct SimilarOptions {
    /// Maximum number of matches. `None` uses the setting `limit`.
    pub limit: Option<usize>,
    /// Minimum similarity of a match. `None` uses the threshold of the settings.
    pub min_similarity: Option<f64>,
    /// Returns shared passages of at least this many words.
    pub evidence: Option<usize>,
}

/// A stored document that matches a query.
#[derive(Clone, Debug, PartialEq)]
pub struct Similar {
    /// The match: the id of the document, how it compares to the query, and the relation of the query to it.
    pub found: Match,
    /// Title.
    pub title: Option<String>,
    /// Origin, often a host name.
    pub source: Option<String>,
    /// Web address.
    pub url: Option<String>,
    /// Publication date as given by the caller.
    pub published_at: Option<String>,
    /// Shared passages, if requested.
    pub evidence: Option<SimilarEvidence>,
}

/// The passages that a query and a stored document share, with the texts that they are parts of.
#[derive(Clone, Debug, PartialEq)]
pub struct SimilarEvidence {
    /// Shared passages. `a` is the query and `b` is the document.
    pub evidence: Evidence,
    /// Text of the query.
    pub query: Arc<str>,
    /// Text of the document.
    pub text: String,
}

/// The result of a search.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct SimilarDocuments {
    /// Matches, most similar first. Equally similar documents are in order of insertion.
    pub similar: Vec<Similar>,
    /// Number of candidates that were examined.
    pub candidates: usize,
    /// Number of limits that were reached. If it is not 0, matches may be missing.
    pub capped: usize,
    /// Whether the query is long enough for the preset of the collection.
    pub status: Status,
}

/// What a search that passes its matches on one by one returns at the end.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct SearchTotals {
    /// Number of candidates that were examined.
    pub candidates: usize,
    /// Number of limits that were reached. If it is not 0, matches may be missing.
    pub capped: usize,
    /// Whether the query is long enough for the preset of the collection.
    pub status: Status,
}
