//! What does a client get that looks at many documents at once?

use super::{Id, rounded};
use sameish_store::{ClusterDetail, ClusterMember, ClusterSummary, Stats};
use serde::Serialize;
use std::collections::BTreeMap;
use utoipa::ToSchema;

/// A page of clusters of two and more documents, the newest first.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct ClustersAnswer {
    pub(crate) clusters: Vec<ClusterAnswer>,
    /// The `cursor` of the next page; null at the end.
    pub(crate) next: Option<String>,
}

/// A cluster in a list.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct ClusterAnswer {
    /// Never given again.
    pub(crate) id: u64,
    /// How many documents it has.
    pub(crate) size: u64,
    /// The id of the one that stands for it: the first that came. What follows is of that one.
    pub(crate) center: Id,
    pub(crate) title: Option<String>,
    pub(crate) host: Option<String>,
    pub(crate) url: Option<String>,
    pub(crate) published_at: Option<String>,
    #[schema(format = DateTime)]
    pub(crate) arrived_at: String,
}

impl From<ClusterSummary> for ClusterAnswer {
    fn from(cluster: ClusterSummary) -> ClusterAnswer {
        let center = MemberAnswer::from(cluster.center);
        ClusterAnswer {
            id: cluster.id.0,
            size: cluster.size,
            center: center.id,
            title: center.title,
            host: center.host,
            url: center.url,
            published_at: center.published_at,
            arrived_at: center.arrived_at,
        }
    }
}

/// A cluster with its documents.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct ClusterDetailAnswer {
    pub(crate) id: u64,
    /// How many documents it has; at most 1,000 are shown.
    pub(crate) size: u64,
    /// The id of the one that stands for it.
    pub(crate) center: Option<Id>,
    /// In the order of their arrival.
    pub(crate) members: Vec<MemberAnswer>,
}

impl From<ClusterDetail> for ClusterDetailAnswer {
    fn from(cluster: ClusterDetail) -> ClusterDetailAnswer {
        ClusterDetailAnswer {
            id: cluster.id.0,
            size: cluster.size,
            center: cluster.members.first().map(|member| Id(member.id.clone())),
            members: cluster.members.into_iter().map(MemberAnswer::from).collect(),
        }
    }
}

/// A document of a cluster.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct MemberAnswer {
    pub(crate) id: Id,
    pub(crate) title: Option<String>,
    pub(crate) host: Option<String>,
    pub(crate) url: Option<String>,
    pub(crate) published_at: Option<String>,
    #[schema(format = DateTime)]
    pub(crate) arrived_at: String,
    /// The document that it joined for; null for the one that founded the cluster.
    pub(crate) joined: Option<Id>,
}

impl From<ClusterMember> for MemberAnswer {
    fn from(member: ClusterMember) -> MemberAnswer {
        MemberAnswer {
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

/// Figures of the whole service.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct StatsAnswer {
    pub(crate) version: &'static str,
    pub(crate) uptime_seconds: u64,
    /// All documents.
    pub(crate) documents: u64,
    /// Bytes of the store on disk.
    pub(crate) bytes: u64,
    /// Writes that wait for the disk.
    pub(crate) writes_waiting: usize,
    /// `ready`, `full`, `read_only` or `failed`.
    pub(crate) storage: &'static str,
    /// By name.
    pub(crate) collections: BTreeMap<String, CollectionAnswer>,
}

/// A collection: its settings and figures.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct CollectionAnswer {
    pub(crate) name: String,
    pub(crate) preset: &'static str,
    /// What differs from the preset, as PUT takes it.
    #[schema(value_type = Object)]
    pub(crate) overrides: serde_json::Value,
    pub(crate) retention_days: Option<u32>,
    pub(crate) window_days: Option<u32>,
    /// Least similarity of a match.
    pub(crate) threshold: f64,
    pub(crate) documents: u64,
    /// Documents that are too short for the preset.
    pub(crate) too_short: u64,
    /// Clusters of two and more documents.
    pub(crate) clusters: u64,
    /// Documents in those.
    pub(crate) clustered: u64,
    pub(crate) largest_cluster: u64,
    #[schema(format = DateTime)]
    pub(crate) last_arrival: Option<String>,
    /// How likely a pair right at the threshold is found.
    pub(crate) expected_recall: Option<f64>,
}

impl CollectionAnswer {
    pub(crate) fn new(collection: &sameish_store::Collection) -> sameish_store::Result<CollectionAnswer> {
        let config = collection.config()?;
        let stats: Stats = collection.stats()?;
        Ok(CollectionAnswer {
            name: collection.name().to_owned(),
            preset: config.preset.name(),
            overrides: overrides_of(&config.overrides),
            retention_days: config.retention_days,
            window_days: config.window_days,
            threshold: collection.analyzer().config().matching.threshold,
            documents: stats.documents,
            too_short: stats.too_short,
            clusters: stats.clusters,
            clustered: stats.clustered,
            largest_cluster: stats.largest_cluster,
            last_arrival: stats.last_arrival.map(|moment| moment.to_string()),
            expected_recall: stats.expected_recall.map(rounded),
        })
    }
}

/// Overrides as PUT takes them, from a config file's text.
fn overrides_of(text: &str) -> serde_json::Value {
    let mut table: toml::Table = toml::from_str(text).unwrap_or_default();
    // It stands beside them.
    table.remove("preset");
    serde_json::to_value(table).unwrap_or_default()
}

/// A snapshot that was made.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct SnapshotAnswer {
    pub(crate) name: String,
    /// The folder on the service's machine: `sameish restore` takes it.
    pub(crate) path: String,
    /// How many bytes it has.
    pub(crate) bytes: u64,
}

/// Whether the service is alive or ready.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct HealthAnswer {
    /// `ok`, `full` (reads work, writes find no room) or `read_only`.
    pub(crate) status: &'static str,
}
