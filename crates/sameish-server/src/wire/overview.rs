//! Responses about clusters, collections and the service.

use super::{Id, rounded};
use crate::response::Items;
use sameish_store::{ClusterMember, ClusterSummary, Stats, UnavailableCollection};
use serde::Serialize;
use std::collections::BTreeMap;
use utoipa::ToSchema;

/// A page of clusters of two or more documents, newest first.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct ClustersResponse {
    #[schema(value_type = Vec<ClusterResponse>)]
    pub(crate) clusters: Items<ClusterResponse>,
    /// `cursor` of the next page; null on the last page.
    pub(crate) next: Option<String>,
    /// Whether the page has fewer clusters than `limit` because of its size.
    pub(crate) capped: bool,
}

/// A cluster in a list. `title`, `host`, `url`, `published_at` and `arrived_at` are those of the center.
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
    pub(crate) host: Option<String>,
    pub(crate) url: Option<String>,
    pub(crate) published_at: Option<String>,
    /// Time of insertion of the center.
    #[schema(format = DateTime)]
    pub(crate) arrived_at: String,
}

impl From<ClusterSummary> for ClusterResponse {
    fn from(cluster: ClusterSummary) -> ClusterResponse {
        let center = MemberResponse::from(cluster.center);
        ClusterResponse {
            id: cluster.id.0,
            size: cluster.size,
            pending: cluster.pending,
            center: center.id,
            title: center.title,
            host: center.host,
            url: center.url,
            published_at: center.published_at,
            arrived_at: center.arrived_at,
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
    /// Documents in order of arrival.
    #[schema(value_type = Vec<MemberResponse>)]
    pub(crate) members: Items<MemberResponse>,
    /// `cursor` of the next page; null on the last page.
    pub(crate) next: Option<String>,
    /// Whether the page has fewer documents than `limit` because of its size.
    pub(crate) capped: bool,
}

/// A document of a cluster.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct MemberResponse {
    pub(crate) id: Id,
    pub(crate) title: Option<String>,
    pub(crate) host: Option<String>,
    pub(crate) url: Option<String>,
    pub(crate) published_at: Option<String>,
    /// Time of insertion.
    #[schema(format = DateTime)]
    pub(crate) arrived_at: String,
    /// Document whose match added this one to the cluster: the center if the linkage is `cohesive`; null for the center.
    pub(crate) joined: Option<Id>,
}

impl From<ClusterMember> for MemberResponse {
    fn from(member: ClusterMember) -> MemberResponse {
        MemberResponse {
            id: Id(member.id),
            title: member.title,
            host: member.source,
            url: member.url,
            published_at: member.published_at,
            arrived_at: member.arrived_at.to_string(),
            joined: member.joined.map(Id),
        }
    }
}

/// Statistics of the service.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct StatsResponse {
    pub(crate) version: &'static str,
    pub(crate) uptime_seconds: u64,
    /// Number of documents in all collections.
    pub(crate) documents: u64,
    /// Size of the store on disk, in bytes.
    pub(crate) bytes: u64,
    /// Number of queued writes.
    pub(crate) writes_waiting: usize,
    /// `ready`, `full`, `read_only` or `failed`.
    pub(crate) storage: &'static str,
    /// Collections by name.
    pub(crate) collections: BTreeMap<String, CollectionResponse>,
    /// Collections that cannot be used. Absent if there are none.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    #[schema(required = false)]
    pub(crate) unavailable: Vec<UnavailableResponse>,
}

/// The collections of the service.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct CollectionsResponse {
    pub(crate) collections: Vec<CollectionResponse>,
    /// Collections that cannot be used. Absent if there are none.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    #[schema(required = false)]
    pub(crate) unavailable: Vec<UnavailableResponse>,
}

/// A collection that cannot be used. Its data is kept; DELETE deletes it.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct UnavailableResponse {
    pub(crate) name: String,
    /// Why it cannot be used.
    pub(crate) reason: String,
    /// What an operator can do.
    pub(crate) remedy: &'static str,
}

impl UnavailableResponse {
    /// Returns all collections of a catalog that cannot be used.
    pub(crate) fn all(catalog: &sameish_store::Catalog) -> Vec<UnavailableResponse> {
        let response = |collection: UnavailableCollection| UnavailableResponse {
            name: collection.name,
            reason: collection.reason,
            remedy: collection.remedy,
        };
        catalog.unavailable().into_iter().map(response).collect()
    }
}

/// Settings and statistics of a collection.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct CollectionResponse {
    pub(crate) name: String,
    pub(crate) preset: &'static str,
    /// Settings that differ from the preset, in the form that PUT accepts.
    #[schema(value_type = Object)]
    pub(crate) overrides: serde_json::Value,
    pub(crate) retention_days: Option<u32>,
    pub(crate) window_days: Option<u32>,
    /// Minimum similarity of a match.
    pub(crate) threshold: f64,
    /// Number of documents.
    pub(crate) documents: u64,
    /// Number of documents that are too short for the preset.
    pub(crate) too_short: u64,
    /// Number of clusters of two or more documents.
    pub(crate) clusters: u64,
    /// Number of documents in clusters of two or more documents.
    pub(crate) clustered: u64,
    /// Number of documents of the largest cluster.
    pub(crate) largest_cluster: u64,
    /// Number of documents that joined their cluster through a document other than the center; 0 if the linkage is
    /// `cohesive`.
    pub(crate) chained: u64,
    /// Number of clusters whose documents are being assigned again after a deletion.
    pub(crate) pending_clusters: u64,
    /// How often, since the start of the service, a cluster was chosen by a search that had reached a limit.
    pub(crate) capped_assignments: u64,
    /// Why the latest attempt to assign documents again failed; null if it succeeded. The service tries again every second.
    pub(crate) clustering_error: Option<String>,
    /// Time of the last insertion.
    #[schema(format = DateTime)]
    pub(crate) last_arrival: Option<String>,
    /// Probability that a pair exactly at the threshold is found.
    pub(crate) expected_recall: Option<f64>,
}

impl CollectionResponse {
    pub(crate) fn new(collection: &sameish_store::Collection) -> sameish_store::Result<CollectionResponse> {
        let config = collection.config()?;
        let stats: Stats = collection.stats()?;
        Ok(CollectionResponse {
            name: collection.name().to_owned(),
            preset: config.preset.name(),
            overrides: overrides_as_json(&config.overrides),
            retention_days: config.retention_days,
            window_days: config.window_days,
            threshold: collection.analyzer().config().matching.threshold,
            documents: stats.documents,
            too_short: stats.too_short,
            clusters: stats.clusters,
            clustered: stats.clustered,
            largest_cluster: stats.largest_cluster,
            chained: stats.chained,
            pending_clusters: stats.pending_clusters,
            capped_assignments: stats.capped_assignments,
            clustering_error: stats.clustering_error,
            last_arrival: stats.last_arrival.map(|time| time.to_string()),
            expected_recall: stats.expected_recall.map(rounded),
        })
    }
}

/// Converts overrides from the text of a configuration file to the form that PUT accepts.
fn overrides_as_json(text: &str) -> serde_json::Value {
    let mut table: toml::Table = toml::from_str(text).unwrap_or_default();
    // A separate field of the response.
    table.remove("preset");
    serde_json::to_value(table).unwrap_or_default()
}

/// A snapshot.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct SnapshotResponse {
    pub(crate) name: String,
    /// Directory on the machine of the service, for `sameish restore`.
    pub(crate) path: String,
    /// Size in bytes.
    pub(crate) bytes: u64,
}

/// Health of the service.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct HealthResponse {
    /// `ok`, `full` (out of disk space: reads work, writes fail) or `read_only`.
    pub(crate) status: &'static str,
    /// Why old documents are not deleted until an operator confirms it with `sameish index expire --confirm`: `clock` (the system
    /// clock is too far ahead), `share` (more than half of a collection would be deleted). Absent if expiry is not paused.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    #[schema(required = false)]
    pub(crate) expiry_paused: Vec<&'static str>,
    /// Names of collections that cannot be used; requests for them get 503. Absent if there are none.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    #[schema(required = false)]
    pub(crate) unavailable: Vec<String>,
}
