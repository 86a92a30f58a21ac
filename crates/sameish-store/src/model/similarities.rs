//! Similarities of pairs, and the clusters of another threshold.

use sameish::{DocId, Timestamp};

/// Numbers of pairs of documents of a collection by similarity.
#[derive(Clone, Debug, PartialEq)]
pub struct Histogram {
    /// Minimum similarity of a match.
    pub threshold: f64,
    /// Difference between the bounds of a bin.
    pub bin_width: f64,
    /// Bins from the threshold to 1.
    pub bins: Vec<HistogramBin>,
    /// Number of documents of the collection.
    pub documents: u64,
    /// Number of documents whose matches were searched.
    pub sampled: u64,
    /// Whether the numbers of pairs are exact; otherwise they are estimates from the sampled documents.
    pub exact: bool,
    /// Whether a search reached a limit, so that there may be more pairs.
    pub capped: bool,
    /// When the pairs were counted.
    pub as_of: Timestamp,
}

/// A bin of a histogram.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct HistogramBin {
    /// Lower bound of the similarity.
    pub from: f64,
    /// Number of pairs, templates included.
    pub pairs: u64,
    /// Number of templates.
    pub templates: u64,
}

/// A number that may be estimated.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Estimate {
    /// The number or its estimate.
    pub value: u64,
    /// Lower bound of the interval that contains the number with a probability of 95 %.
    pub low: u64,
    /// Upper bound of this interval, or `None` if a limit was reached and no bound is known.
    pub high: Option<u64>,
}

impl Estimate {
    pub(crate) fn exact(value: u64) -> Estimate {
        Estimate { value, low: value, high: Some(value) }
    }
}

/// The result of another threshold.
#[derive(Clone, Debug, PartialEq)]
pub struct Preview {
    /// Number of documents of the collection.
    pub documents: u64,
    /// Number of documents whose matches were searched.
    pub sampled: u64,
    /// Whether all numbers are exact.
    pub exact: bool,
    /// Whether a search reached a limit at this threshold, so that there may be more pairs.
    pub capped: bool,
    /// When the pairs were counted.
    pub as_of: Timestamp,
    /// Number of pairs that may share a cluster.
    pub pairs: Estimate,
    /// Number of clusters of two or more documents.
    pub clusters: Estimate,
    /// Number of documents in clusters, without the first document of each cluster.
    pub copies: Estimate,
    /// Number of documents of the largest cluster, if the numbers are exact.
    pub largest_cluster: Option<u64>,
    /// Up to three pairs that reach the threshold, nearest first.
    pub above: Vec<TextPair>,
    /// Up to three pairs that do not reach the threshold, nearest first.
    pub below: Vec<TextPair>,
}

/// Two documents that match.
#[derive(Clone, Debug, PartialEq)]
pub struct TextPair {
    /// How they match.
    pub verdict: sameish::Verdict,
    /// One of them.
    pub a: PairedText,
    /// The other one.
    pub b: PairedText,
}

/// A document of a pair.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PairedText {
    /// Id of the document.
    pub id: DocId,
    /// Title.
    pub title: Option<String>,
    /// Origin, often a host name.
    pub source: Option<String>,
    /// Beginning of the text.
    pub excerpt: String,
}
