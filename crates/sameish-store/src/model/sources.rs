//! Totals per day and source, and which source publishes copies of which other one.

use super::{ClusterMember, MemberPosition};
use sameish::Timestamp;
use sameish::cluster::ClusterId;

/// Documents and copies of one day.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct DayTotal {
    /// Beginning of the day in UTC.
    pub day: Timestamp,
    /// Number of documents with a date on this day.
    pub documents: u64,
    /// Number of them that are not the first document of their cluster.
    pub copies: u64,
    /// Number of clusters of at least two documents whose first document has a date on this day.
    pub clusters: u64,
}

/// Documents and copies of one source.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SourceTotal {
    /// The source, or `None` for documents without one.
    pub source: Option<String>,
    /// Number of documents.
    pub documents: u64,
    /// Number of them that are not the first document of their cluster.
    pub copies: u64,
    /// Number of clusters of at least two documents whose first document is of this source.
    pub clusters: u64,
}

/// How often one source publishes after another.
#[derive(Clone, Debug, PartialEq)]
pub struct SourceMatrix {
    /// The sources with the most documents.
    pub sources: Vec<SourceTotal>,
    /// Number of all sources.
    pub total: u64,
    /// Pairs of sources with at least one pair of documents.
    pub cells: Vec<SourceCell>,
    /// Number of documents in the clusters that were examined.
    pub examined: u64,
    /// Whether all clusters were examined, and not only the newest ones.
    pub complete: bool,
    /// When the documents were counted.
    pub as_of: Timestamp,
}

/// The documents of one source in clusters whose first document has another source, or the same one.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SourceCell {
    /// Source of the later documents.
    pub later: Option<String>,
    /// Source of the first documents of their clusters.
    pub earlier: Option<String>,
    /// Number of pairs of a document with the first document of its cluster.
    pub pairs: u64,
    /// Median difference of their dates in seconds.
    pub median_seconds: i64,
}

/// A document and the first document of its cluster.
#[derive(Clone, Debug, PartialEq)]
pub struct SourcePair {
    /// The cluster.
    pub cluster: ClusterId,
    /// The document.
    pub later: ClusterMember,
    /// The first document of the cluster.
    pub earlier: ClusterMember,
}

/// Selects a page of pairs of documents of two sources, starting with the newest cluster.
#[derive(Clone, Debug, PartialEq)]
pub struct PairsPage {
    /// Source of the later document; an empty string selects documents without a source.
    pub later: String,
    /// Source of the first document of the cluster; an empty string selects documents without a source.
    pub earlier: String,
    /// Selects pairs after this position, which is the result of the previous page.
    pub after: Option<PairPosition>,
    /// Maximum number of pairs.
    pub limit: usize,
}

/// A position in a list of pairs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PairPosition {
    /// The cluster.
    pub cluster: ClusterId,
    /// The later document of the last pair of the cluster, or `None` if the cluster is done.
    pub member: Option<MemberPosition>,
}
