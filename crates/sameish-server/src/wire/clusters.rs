//! Responses about clusters and sources.

use super::{Id, rounded};
use crate::response::Items;
use sameish::Verdict;
use sameish_store::{ClusterMember, ClusterSummary, SourceCell, SourcePair, SourceTotal};
use serde::Serialize;
use utoipa::ToSchema;

/// A page of clusters of two or more documents.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct ClustersResponse {
    #[schema(value_type = Vec<ClusterResponse>)]
    pub(crate) clusters: Items<ClusterResponse>,
    /// `cursor` of the next page; null on the last page.
    pub(crate) next: Option<String>,
    /// Whether the page has fewer clusters than `limit` because of its size, or because 10,000 clusters were examined. Follow `next`.
    pub(crate) capped: bool,
}

/// A cluster in a list. `title`, `lang`, `host`, `url`, `published_at` and `arrived_at` are those of the center.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct ClusterResponse {
    /// Id of the cluster. Never reused.
    pub(crate) id: u64,
    /// Number of documents.
    pub(crate) size: u64,
    /// Whether documents of the cluster are being assigned again after a deletion, so that it may still change.
    pub(crate) pending: bool,
    /// Id of the center. In collections with linkage `cohesive`, all other documents match it; otherwise it is the document
    /// that arrived first.
    pub(crate) center: Id,
    pub(crate) title: Option<String>,
    /// Metadata field `lang` or `language`, if it is a string.
    pub(crate) lang: Option<String>,
    pub(crate) host: Option<String>,
    pub(crate) url: Option<String>,
    pub(crate) published_at: Option<String>,
    /// Time of insertion of the center.
    #[schema(format = DateTime)]
    pub(crate) arrived_at: String,
    /// Number of sources.
    pub(crate) sources: u64,
    /// Source of the first document.
    pub(crate) first_source: Option<String>,
    /// Date of the first document. The date of a document is `published_at`, or its arrival if there is none.
    #[schema(format = DateTime)]
    pub(crate) first: Option<String>,
    /// Date of the last document.
    #[schema(format = DateTime)]
    pub(crate) last: Option<String>,
    /// Dates of at most 64 documents, in order, with the first and the last one.
    pub(crate) arrivals: Vec<String>,
}

impl From<ClusterSummary> for ClusterResponse {
    fn from(cluster: ClusterSummary) -> ClusterResponse {
        let center = MemberResponse::from(cluster.center);
        let arrivals: Vec<String> = cluster.dates.iter().map(ToString::to_string).collect();
        ClusterResponse {
            id: cluster.id.0,
            size: cluster.size,
            pending: cluster.pending,
            center: center.id,
            title: center.title,
            lang: center.lang,
            host: center.host,
            url: center.url,
            published_at: center.published_at,
            arrived_at: center.arrived_at,
            sources: cluster.sources,
            first_source: cluster.first_source,
            first: arrivals.first().cloned(),
            last: arrivals.last().cloned(),
            arrivals,
        }
    }
}

/// A cluster with a page of its documents.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct ClusterDetailResponse {
    pub(crate) id: u64,
    /// Number of documents.
    pub(crate) size: u64,
    /// Whether documents of the cluster are being assigned again after a deletion, so that it may still change.
    pub(crate) pending: bool,
    /// Id of the center.
    pub(crate) center: Option<Id>,
    /// The first document by date.
    pub(crate) first: Option<FirstResponse>,
    /// Date of the last document.
    #[schema(format = DateTime)]
    pub(crate) last: Option<String>,
    /// Sources of the first 10,000 documents: the 100 with the most documents, in descending order.
    pub(crate) sources: Vec<ClusterSourceResponse>,
    /// Documents in order of their dates, then of arrival.
    #[schema(value_type = Vec<MemberResponse>)]
    pub(crate) members: Items<MemberResponse>,
    /// `cursor` of the next page; null on the last page.
    pub(crate) next: Option<String>,
    /// Whether the page has fewer documents than `limit` because of its size.
    pub(crate) capped: bool,
}

/// The first document of a cluster.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct FirstResponse {
    pub(crate) id: Id,
    pub(crate) host: Option<String>,
    #[schema(format = DateTime)]
    pub(crate) date: String,
}

impl From<ClusterMember> for FirstResponse {
    fn from(member: ClusterMember) -> FirstResponse {
        FirstResponse { id: Id(member.id), host: member.source, date: member.date.to_string() }
    }
}

/// A source of a cluster.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct ClusterSourceResponse {
    /// The source; null for documents without one.
    pub(crate) source: Option<String>,
    /// Number of documents.
    pub(crate) documents: u64,
}

impl From<SourceTotal> for ClusterSourceResponse {
    fn from(total: SourceTotal) -> ClusterSourceResponse {
        ClusterSourceResponse { source: total.source, documents: total.documents }
    }
}

/// A document of a cluster. `similarity`, `match_type`, `facts`, `template` and `relation` compare it with the center; only the first
/// 100 documents of a page have them.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct MemberResponse {
    pub(crate) id: Id,
    pub(crate) title: Option<String>,
    /// Metadata field `lang` or `language`, if it is a string.
    pub(crate) lang: Option<String>,
    pub(crate) host: Option<String>,
    pub(crate) url: Option<String>,
    pub(crate) published_at: Option<String>,
    /// Time of insertion.
    #[schema(format = DateTime)]
    pub(crate) arrived_at: String,
    /// `published_at`, or the time of insertion if there is none.
    #[schema(format = DateTime)]
    pub(crate) date: String,
    /// Document whose match added this one to the cluster: the center if the linkage is `cohesive`; null for the center
    /// and for clusters of edits.
    pub(crate) joined: Option<Id>,
    /// Seconds after the first document of the cluster.
    pub(crate) lead_seconds: Option<i64>,
    pub(crate) similarity: Option<f64>,
    /// `exact`, `near` or `similar`.
    pub(crate) match_type: Option<&'static str>,
    pub(crate) facts: Option<f64>,
    pub(crate) template: bool,
    /// Relation of the center to the document: `same`, `contains` (the document is an excerpt), `contained_in` (the document has more),
    /// `updated_by` (the document is a later version), `update_of` (an earlier version) or `overlaps`.
    pub(crate) relation: Option<&'static str>,
    /// Whether the document is in this cluster because of an edit.
    pub(crate) edited: bool,
}

impl From<ClusterMember> for MemberResponse {
    fn from(member: ClusterMember) -> MemberResponse {
        let verdict = member.verdict;
        MemberResponse {
            id: Id(member.id),
            title: member.title,
            lang: member.metadata.as_deref().and_then(language),
            host: member.source,
            url: member.url,
            published_at: member.published_at,
            arrived_at: member.arrived_at.to_string(),
            date: member.date.to_string(),
            joined: member.joined.map(Id),
            lead_seconds: member.lead_seconds,
            similarity: verdict.map(|verdict| rounded(verdict.similarity)),
            match_type: verdict.map(|verdict| verdict.kind.name()),
            facts: verdict.and_then(|verdict: Verdict| verdict.facts).map(rounded),
            template: verdict.is_some_and(|verdict| verdict.template),
            relation: member.relation.map(|relation| relation.name()),
            edited: member.edited,
        }
    }
}

/// Returns the language that metadata names.
fn language(metadata: &str) -> Option<String> {
    #[derive(serde::Deserialize)]
    struct Language {
        lang: Option<serde_json::Value>,
        language: Option<serde_json::Value>,
    }
    let Language { lang, language } = serde_json::from_str(metadata).ok()?;
    let text = |value: Option<serde_json::Value>| value.and_then(|value| value.as_str().map(str::to_owned));
    text(lang).or_else(|| text(language))
}

/// The sources of a collection, and how often one of them publishes after another.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct SourcesResponse {
    /// The sources with the most documents, in descending order.
    pub(crate) sources: Vec<SourceResponse>,
    /// Number of all sources. Documents without a source count as one.
    pub(crate) total: u64,
    /// Pairs of the sources that have the most documents.
    pub(crate) matrix: Vec<SourceCellResponse>,
    /// Number of documents in the clusters that the matrix counts.
    pub(crate) examined: u64,
    /// Whether the matrix counts all clusters. Otherwise it counts the newest ones, with about 200,000 documents.
    pub(crate) complete: bool,
    /// When the documents were counted.
    #[schema(format = DateTime)]
    pub(crate) as_of: String,
}

/// A source.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct SourceResponse {
    /// The source; null for documents without one.
    pub(crate) source: Option<String>,
    /// Number of documents.
    pub(crate) documents: u64,
    /// Number of documents that are not the first of their cluster.
    pub(crate) copies: u64,
    /// Number of clusters of two or more documents whose first document is of this source.
    pub(crate) clusters: u64,
}

impl From<&SourceTotal> for SourceResponse {
    fn from(total: &SourceTotal) -> SourceResponse {
        let SourceTotal { source, documents, copies, clusters } = total.clone();
        SourceResponse { source, documents, copies, clusters }
    }
}

/// Pairs of a document of one source with the first document of its cluster, of another source or the same one.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct SourceCellResponse {
    /// Source of the document.
    pub(crate) later: Option<String>,
    /// Source of the first document of the cluster.
    pub(crate) earlier: Option<String>,
    /// Number of pairs.
    pub(crate) pairs: u64,
    /// Median difference of the dates in seconds.
    pub(crate) median_lead_seconds: i64,
}

impl From<&SourceCell> for SourceCellResponse {
    fn from(cell: &SourceCell) -> SourceCellResponse {
        SourceCellResponse {
            later: cell.later.clone(),
            earlier: cell.earlier.clone(),
            pairs: cell.pairs,
            median_lead_seconds: cell.median_seconds,
        }
    }
}

/// Pairs of documents of two sources, starting with the newest cluster.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct SourcePairsResponse {
    pub(crate) later: Option<String>,
    pub(crate) earlier: Option<String>,
    #[schema(value_type = Vec<SourcePairResponse>)]
    pub(crate) pairs: Items<SourcePairResponse>,
    /// `cursor` of the next page; null on the last page.
    pub(crate) next: Option<String>,
    /// Whether the page has fewer pairs than `limit`, although there may be more. Follow `next`.
    pub(crate) capped: bool,
}

/// A document and the first document of its cluster.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct SourcePairResponse {
    pub(crate) cluster: u64,
    pub(crate) lead_seconds: i64,
    pub(crate) later: PairedDocument,
    pub(crate) earlier: PairedDocument,
}

/// A document of a pair.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct PairedDocument {
    pub(crate) id: Id,
    pub(crate) title: Option<String>,
    #[schema(format = DateTime)]
    pub(crate) date: String,
}

impl From<SourcePair> for SourcePairResponse {
    fn from(pair: SourcePair) -> SourcePairResponse {
        let SourcePair { cluster, later, earlier } = pair;
        let milliseconds = later.date.as_milliseconds().saturating_sub(earlier.date.as_milliseconds());
        let paired = |member: ClusterMember| PairedDocument {
            id: Id(member.id),
            title: member.title,
            date: member.date.to_string(),
        };
        SourcePairResponse {
            cluster: cluster.0,
            lead_seconds: milliseconds / 1_000,
            later: paired(later),
            earlier: paired(earlier),
        }
    }
}
