//! Responses about the similarities of pairs.

use super::{Id, rounded};
use sameish::Analyzer;
use sameish_store::{Estimate, Histogram, HistogramBin, PairedText, Preview, TextPair};
use serde::Serialize;
use utoipa::ToSchema;

/// Numbers of pairs of documents by similarity.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct HistogramResponse {
    /// Minimum similarity of a match. Pairs below it are not known.
    pub(crate) threshold: f64,
    /// Difference between the bounds of a bin.
    pub(crate) bin_width: f64,
    /// Bins from the threshold to 1. The last bin includes 1.
    pub(crate) bins: Vec<HistogramBinResponse>,
    /// Number of bands of the index; null without bands. A pair of similarity `s` is found with probability
    /// `1 - (1 - s^rows)^bands`.
    pub(crate) bands: Option<u64>,
    /// Number of rows per band; null without bands.
    pub(crate) rows: Option<u64>,
    /// Recall at the threshold: the probability that the index finds a pair exactly at the threshold. Null without bands, because the
    /// search is exact then.
    pub(crate) expected_recall: Option<f64>,
    /// Number of documents of the collection.
    pub(crate) documents: u64,
    /// Number of documents whose matches were searched.
    pub(crate) sampled: u64,
    /// Whether the numbers of pairs are exact; otherwise they are estimates from the sampled documents.
    pub(crate) exact: bool,
    /// Whether a search reached a limit: there may be more pairs.
    pub(crate) capped: bool,
    /// When the pairs were counted.
    #[schema(format = DateTime)]
    pub(crate) as_of: String,
}

/// A bin of a histogram.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct HistogramBinResponse {
    /// Lower bound of the similarity.
    pub(crate) from: f64,
    /// Number of pairs, templates included.
    pub(crate) pairs: u64,
    /// Number of templates.
    pub(crate) templates: u64,
}

impl HistogramResponse {
    pub(crate) fn new(histogram: Histogram, analyzer: &Analyzer) -> HistogramResponse {
        let bands = analyzer.config().bands().ok().flatten();
        let bin = |bin: HistogramBin| HistogramBinResponse {
            from: rounded(bin.from),
            pairs: bin.pairs,
            templates: bin.templates,
        };
        HistogramResponse {
            threshold: rounded(histogram.threshold),
            bin_width: histogram.bin_width,
            bins: histogram.bins.into_iter().map(bin).collect(),
            bands: bands.map(|bands| u64::from(bands.count)),
            rows: bands.map(|bands| u64::from(bands.rows)),
            expected_recall: analyzer.expected_recall().map(rounded),
            documents: histogram.documents,
            sampled: histogram.sampled,
            exact: histogram.exact,
            capped: histogram.capped,
            as_of: histogram.as_of.to_string(),
        }
    }
}

/// The result of a threshold.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct PreviewResponse {
    pub(crate) threshold: f64,
    /// Whether the result is known. It is not known below the threshold of the collection, whose index does not find such pairs.
    pub(crate) known: bool,
    /// Why the result is not known.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    pub(crate) reason: Option<String>,
    /// Whether all numbers are exact; otherwise they are estimates.
    pub(crate) exact: bool,
    /// Whether a search reached a limit at this threshold: there may be more pairs.
    pub(crate) capped: bool,
    /// When the pairs were counted; null if the result is not known.
    #[schema(format = DateTime)]
    pub(crate) as_of: Option<String>,
    /// Number of documents of the collection.
    pub(crate) documents: u64,
    /// Number of documents whose matches were searched.
    pub(crate) sampled: u64,
    /// Number of pairs that may share a cluster: templates count only if the collection merges them.
    pub(crate) pairs: Option<EstimateResponse>,
    /// Number of clusters of two or more documents.
    pub(crate) clusters: Option<EstimateResponse>,
    /// Number of documents in clusters, without the first document of each cluster.
    pub(crate) copies: Option<EstimateResponse>,
    /// Number of documents of the largest cluster; null if the numbers are estimates.
    pub(crate) largest_cluster: Option<u64>,
    /// Up to three pairs that reach the threshold, nearest first.
    pub(crate) above: Vec<PairResponse>,
    /// Up to three pairs that do not reach the threshold, nearest first.
    pub(crate) below: Vec<PairResponse>,
}

impl PreviewResponse {
    /// Returns the response for a threshold whose result is known.
    pub(crate) fn known(threshold: f64, preview: Preview) -> PreviewResponse {
        PreviewResponse {
            threshold,
            known: true,
            reason: None,
            exact: preview.exact,
            capped: preview.capped,
            as_of: Some(preview.as_of.to_string()),
            documents: preview.documents,
            sampled: preview.sampled,
            pairs: Some(preview.pairs.into()),
            clusters: Some(preview.clusters.into()),
            copies: Some(preview.copies.into()),
            largest_cluster: preview.largest_cluster,
            above: preview.above.into_iter().map(PairResponse::from).collect(),
            below: preview.below.into_iter().map(PairResponse::from).collect(),
        }
    }

    /// Returns the response for a threshold below that of the collection.
    pub(crate) fn unknown(threshold: f64, own: f64, documents: u64) -> PreviewResponse {
        let reason = format!(
            "the index finds pairs of similarity {} and more; create a collection with a lower threshold to find others",
            rounded(own)
        );
        PreviewResponse {
            threshold,
            known: false,
            reason: Some(reason),
            exact: false,
            capped: false,
            as_of: None,
            documents,
            sampled: 0,
            pairs: None,
            clusters: None,
            copies: None,
            largest_cluster: None,
            above: Vec::new(),
            below: Vec::new(),
        }
    }
}

/// A number that may be estimated, with the interval that contains it with a probability of 95 %.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct EstimateResponse {
    pub(crate) value: u64,
    pub(crate) low: u64,
    /// Null if a limit was reached and no upper bound is known.
    pub(crate) high: Option<u64>,
}

impl From<Estimate> for EstimateResponse {
    fn from(Estimate { value, low, high }: Estimate) -> EstimateResponse {
        EstimateResponse { value, low, high }
    }
}

/// Two documents that match.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct PairResponse {
    pub(crate) similarity: f64,
    pub(crate) template: bool,
    pub(crate) facts: Option<f64>,
    pub(crate) a: PairedTextResponse,
    pub(crate) b: PairedTextResponse,
}

impl From<TextPair> for PairResponse {
    fn from(TextPair { verdict, a, b }: TextPair) -> PairResponse {
        PairResponse {
            similarity: rounded(verdict.similarity),
            template: verdict.template,
            facts: verdict.facts.map(rounded),
            a: a.into(),
            b: b.into(),
        }
    }
}

/// A document of a pair.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct PairedTextResponse {
    pub(crate) id: Id,
    pub(crate) title: Option<String>,
    pub(crate) host: Option<String>,
    /// The first 240 characters of the text.
    pub(crate) excerpt: String,
}

impl From<PairedText> for PairedTextResponse {
    fn from(text: PairedText) -> PairedTextResponse {
        PairedTextResponse { id: Id(text.id), title: text.title, host: text.source, excerpt: text.excerpt }
    }
}
