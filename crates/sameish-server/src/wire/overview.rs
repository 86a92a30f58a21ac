//! Responses about collections and the service.

use super::rounded;
use sameish_store::{Center, DayTotal, Stats, UnavailableCollection};
use serde::Serialize;
use std::collections::BTreeMap;
use utoipa::ToSchema;

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
    /// What the key of the request permits: `read`, `write` or `admin`. A read-only service permits `read`.
    pub(crate) permits: &'static str,
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
    /// Which documents become centers of clusters first: `first`, `newest` or `longest`; null if the linkage does not choose centers.
    pub(crate) center: Option<&'static str>,
    /// Minimum similarity of a match.
    pub(crate) threshold: f64,
    /// Number of documents.
    pub(crate) documents: u64,
    /// Number of documents that are too short for the preset.
    pub(crate) too_short: u64,
    /// Number of documents that were rejected: requests and lines with an invalid document, or with an existing id and a different
    /// text.
    pub(crate) rejected: u64,
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
    /// How often, since the start of the service, a search that had reached a limit chose the cluster of a document.
    pub(crate) capped_assignments: u64,
    /// Why the latest attempt to assign documents again failed; null if it succeeded. The service tries again every second.
    pub(crate) clustering_error: Option<String>,
    /// Time of the last insertion.
    #[schema(format = DateTime)]
    pub(crate) last_arrival: Option<String>,
    /// Recall at the threshold: the probability that the index finds a pair exactly at the threshold.
    pub(crate) expected_recall: Option<f64>,
    /// Documents per day, in order, of the latest 366 days that have documents. Only in the response of `GET /api/v1/{c}`.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    pub(crate) days: Option<Vec<DayResponse>>,
}

/// Documents of one day.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct DayResponse {
    /// The day in UTC.
    #[schema(format = Date)]
    pub(crate) date: String,
    /// Number of documents with a date (`published_at`, or else arrival) on this day.
    pub(crate) documents: u64,
    /// Number of these documents that are not the first document of their cluster.
    pub(crate) copies: u64,
    /// Number of clusters of two or more documents whose first document has a date on this day.
    pub(crate) clusters: u64,
}

impl From<DayTotal> for DayResponse {
    fn from(total: DayTotal) -> DayResponse {
        let time = total.day.to_string();
        let date = time.split_once('T').map_or(&*time, |(date, _)| date).to_owned();
        DayResponse { date, documents: total.documents, copies: total.copies, clusters: total.clusters }
    }
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
            center: config.center.map(Center::name),
            threshold: collection.analyzer().config().matching.threshold,
            documents: stats.documents,
            too_short: stats.too_short,
            rejected: stats.rejected,
            clusters: stats.clusters,
            clustered: stats.clustered,
            largest_cluster: stats.largest_cluster,
            chained: stats.chained,
            pending_clusters: stats.pending_clusters,
            capped_assignments: stats.capped_assignments,
            clustering_error: stats.clustering_error,
            last_arrival: stats.last_arrival.map(|time| time.to_string()),
            expected_recall: stats.expected_recall.map(rounded),
            days: None,
        })
    }

    /// Adds the documents per day.
    pub(crate) fn with_days(
        self,
        collection: &sameish_store::Collection,
    ) -> sameish_store::Result<CollectionResponse> {
        let days = collection.days()?.into_iter().map(DayResponse::from).collect();
        Ok(CollectionResponse { days: Some(days), ..self })
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
    /// clock is too far ahead), `share` (more than 100 documents, and more than half of their collection, would be deleted).
    /// Absent if expiry is not paused.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    #[schema(required = false)]
    pub(crate) expiry_paused: Vec<&'static str>,
    /// Names of collections that cannot be used; requests for them get 503. Absent if there are none.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    #[schema(required = false)]
    pub(crate) unavailable: Vec<String>,
}
