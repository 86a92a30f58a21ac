//! Settings, inputs and results of a catalog.

use crate::error::{Error, Result};
use sameish::cluster::ClusterId;
use sameish::config::Linkage;
use sameish::matching::Evidence;
use sameish::{Config, DocId, Document, Match, Preset, Status, Timestamp};
use std::sync::Arc;
use std::time::Duration;

/// The settings of a collection.
#[derive(Clone, Debug, PartialEq)]
pub struct CollectionConfig {
    /// The preset.
    pub preset: Preset,
    /// Settings that override the preset, in the TOML of a configuration file: `[matching]\nthreshold = 0.7`.
    pub overrides: String,
    /// Retention in days. Documents with an older `published_at`, or else an older time of insertion, are removed by
    /// [`Collection::expire`](crate::Collection::expire).
    pub retention_days: Option<u32>,
    /// Maximum difference between the dates of matching documents, in days.
    pub window_days: Option<u32>,
}

impl CollectionConfig {
    /// Creates the settings of a preset without overrides, retention or window.
    pub fn new(preset: Preset) -> CollectionConfig {
        CollectionConfig { preset, overrides: String::new(), retention_days: None, window_days: None }
    }

    /// Returns the settings of the engine: the preset with the overrides applied.
    pub fn resolve(&self) -> Result<Config> {
        Ok(self.preset.config().overridden_by(&self.overrides)?)
    }

    /// Returns the settings of the engine, or [`Error::GreedyLinkage`] if a collection cannot follow their linkage.
    pub(crate) fn resolve_for_collection(&self) -> Result<Config> {
        let config = self.resolve()?;
        match config.matching.linkage {
            Linkage::Greedy => Err(Error::GreedyLinkage),
            Linkage::Cohesive | Linkage::Online | Linkage::Components => Ok(config),
        }
    }
}

/// Options for opening a catalog.
#[derive(Clone, Debug)]
pub struct OpenOptions {
    /// Creates the directory and the store if they do not exist.
    pub create: bool,
    /// Opens the store without the write lock. All writes are rejected.
    pub read_only: bool,
    /// Reads the state at the time of opening, whatever other processes commit later. This is for
    /// [`Catalog::verify`](crate::Catalog::verify) while another process writes; use it with `read_only` and from one thread.
    pub at_one_moment: bool,
    /// Recomputes all sketches from the texts, for stores whose sketches have a different scheme.
    pub rebuild: bool,
    /// Copies the database file to `sameish.format-N.db` before its format N is upgraded.
    pub backup_before_upgrade: bool,
    /// Maximum number of queued writes. Further ones are rejected with [`Error::Busy`].
    pub queue: usize,
    /// Size of the cache for features of recent documents, in bytes.
    pub cache_bytes: usize,
    /// Time from a deletion until the deleted texts are erased from the write-ahead log. Default: 10 s.
    pub erase_after: Duration,
}

impl Default for OpenOptions {
    fn default() -> OpenOptions {
        OpenOptions {
            create: true,
            read_only: false,
            at_one_moment: false,
            rebuild: false,
            backup_before_upgrade: true,
            queue: 256,
            cache_bytes: 32 << 20,
            erase_after: Duration::from_secs(10),
        }
    }
}

/// The effect of an insert or replace.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Outcome {
    /// The document is new.
    Created,
    /// The document was stored before with the same text.
    Unchanged,
    /// The document replaced a different one with the same id.
    Replaced,
}

impl Outcome {
    /// Returns the name used in outputs.
    pub fn name(self) -> &'static str {
        match self {
            Outcome::Created => "created",
            Outcome::Unchanged => "unchanged",
            Outcome::Replaced => "replaced",
        }
    }
}

/// The result of an insert or replace. The document is durable when it is returned.
#[derive(Clone, Debug, PartialEq)]
pub struct Inserted {
    /// Id of the document.
    pub id: DocId,
    /// Effect of the write.
    pub outcome: Outcome,
    /// Whether the text is long enough for the preset of the collection.
    pub status: Status,
    /// Stored documents that match, most similar first, at most as many as the setting `limit`.
    pub duplicates: Vec<Match>,
    /// The cluster of the document. `None` if the text is too short and the linkage is `online`.
    pub cluster: Option<ClusterId>,
    /// Number of limits that were reached. If it is not 0, duplicates may be missing.
    pub capped: usize,
}

/// A stored document with its cluster and what its text gives.
#[derive(Clone, Debug, PartialEq)]
pub struct Stored {
    /// The document as it was inserted.
    pub document: Document,
    /// Time of insertion.
    pub arrived_at: Timestamp,
    /// Whether the text is long enough for the preset of the collection.
    pub status: Status,
    /// Number of words, without stop words.
    pub words: u64,
    /// The fingerprint, if the preset computes one.
    pub simhash: Option<sameish::Fingerprint>,
    /// The cluster of the document. `None` if the text is too short and the linkage is `online`.
    pub cluster: Option<ClusterId>,
}

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
    /// The match: the id of the document and how it compares to the query.
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

/// Selects a page of documents, in the order of their ids as JSON text.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DocumentsPage {
    /// Selects documents after this id, which is the result of the previous page.
    pub after: Option<DocId>,
    /// Maximum number of documents.
    pub limit: usize,
}

impl Default for DocumentsPage {
    fn default() -> DocumentsPage {
        DocumentsPage { after: None, limit: 50 }
    }
}

/// Selects a page of clusters, newest first.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ClustersPage {
    /// Selects clusters older than this one, which is [`Clusters::next`] of the previous page.
    pub before: Option<ClusterId>,
    /// Maximum number of clusters.
    pub limit: usize,
}

impl Default for ClustersPage {
    fn default() -> ClustersPage {
        ClustersPage { before: None, limit: 50 }
    }
}

/// A page of clusters with at least two documents.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Clusters {
    /// Clusters, newest first.
    pub clusters: Vec<ClusterSummary>,
    /// [`ClustersPage::before`] of the next page. `None` on the last page.
    pub next: Option<ClusterId>,
}

/// A cluster in a list.
#[derive(Clone, Debug, PartialEq)]
pub struct ClusterSummary {
    /// Id, never reused.
    pub id: ClusterId,
    /// Number of documents.
    pub size: u64,
    /// Whether documents of the cluster are being assigned again after a deletion, so that it may still change.
    pub pending: bool,
    /// The center. With linkage `cohesive`, all other documents match it; otherwise it is the oldest document.
    pub center: ClusterMember,
}

/// A document of a cluster.
#[derive(Clone, Debug, PartialEq)]
pub struct ClusterMember {
    /// Id of the document.
    pub id: DocId,
    /// Title.
    pub title: Option<String>,
    /// Origin, often a host name.
    pub source: Option<String>,
    /// Web address.
    pub url: Option<String>,
    /// Publication date as given by the caller.
    pub published_at: Option<String>,
    /// Time of insertion.
    pub arrived_at: Timestamp,
    /// The document whose match made this one join the cluster: with linkage `cohesive` the center. `None` for the center.
    pub joined: Option<DocId>,
}

/// A cluster with its documents.
#[derive(Clone, Debug, PartialEq)]
pub struct ClusterDetail {
    /// Id, never reused.
    pub id: ClusterId,
    /// Number of documents. `members` has at most [`MEMBERS_SHOWN`] of them.
    pub size: u64,
    /// Whether documents of the cluster are being assigned again after a deletion, so that it may still change.
    pub pending: bool,
    /// Id of the center.
    pub center: Option<DocId>,
    /// Documents in order of insertion. Unless the cluster is pending, the first one is the center.
    pub members: Vec<ClusterMember>,
}

/// Selects a page of the documents of a cluster.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct MembersPage {
    /// Selects documents after this position, which is [`ClusterPage::next`] of the previous page; 0 selects the first page.
    pub after: u64,
    /// Maximum number of documents.
    pub limit: usize,
}

impl Default for MembersPage {
    fn default() -> MembersPage {
        MembersPage { after: 0, limit: MEMBERS_SHOWN }
    }
}

/// A cluster whose documents were passed on one by one.
#[derive(Clone, Debug, PartialEq)]
pub struct ClusterPage {
    /// Id, never reused.
    pub id: ClusterId,
    /// Number of documents.
    pub size: u64,
    /// Whether documents of the cluster are being assigned again after a deletion, so that it may still change.
    pub pending: bool,
    /// Id of the center.
    pub center: Option<DocId>,
    /// [`MembersPage::after`] of the next page. `None` on the last page.
    pub next: Option<u64>,
}

/// Maximum number of members in a [`ClusterDetail`].
pub const MEMBERS_SHOWN: usize = 1_000;

/// Statistics of a collection.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Stats {
    /// Number of documents.
    pub documents: u64,
    /// Number of documents that are too short for the preset.
    pub too_short: u64,
    /// Number of clusters with at least two documents.
    pub clusters: u64,
    /// Number of documents in these clusters.
    pub clustered: u64,
    /// Number of documents in the largest cluster.
    pub largest_cluster: u64,
    /// Number of documents that joined their cluster through a document other than its center. With linkage `cohesive` it is
    /// 0; with `online` and `components`, clusters can be chains of documents that do not match each other.
    pub chained: u64,
    /// Number of clusters whose documents are being assigned again after a deletion.
    pub pending_clusters: u64,
    /// How often, since the directory was opened, a cluster was chosen by a search that had reached a limit, so that a
    /// complete search might have chosen another one.
    pub capped_assignments: u64,
    /// Why the latest attempt to assign documents again failed. `None` if it succeeded.
    pub clustering_error: Option<String>,
    /// Time of the latest insertion.
    pub last_arrival: Option<Timestamp>,
    /// Probability that a pair with a similarity of exactly the threshold is found.
    pub expected_recall: Option<f64>,
}

/// How the clusters of a collection changed when all its documents were clustered again.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Reclustered {
    /// Name of the collection.
    pub collection: String,
    /// Number of documents that belong to clusters.
    pub documents: u64,
    /// Number of documents that are in a different cluster than before.
    pub moved: u64,
    /// Number of clusters with at least two documents before.
    pub clusters_before: u64,
    /// Number of clusters with at least two documents afterwards.
    pub clusters_after: u64,
}

impl std::fmt::Display for Reclustered {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let Reclustered { collection, documents, moved, clusters_before, clusters_after } = self;
        write!(
            f,
            "collection `{collection}`: clustered {documents} documents again; {moved} moved to another cluster; \
             {clusters_before} clusters before, {clusters_after} now"
        )
    }
}

/// A collection that cannot be used, because its row or its sketches are damaged or this version does not accept its settings.
/// Its data is not changed, and other collections are not affected.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct UnavailableCollection {
    /// Name, or `collection:N` if the name of collection number N is damaged.
    pub name: String,
    /// Why it cannot be used.
    pub reason: String,
    /// What to do.
    pub remedy: &'static str,
}

impl std::fmt::Display for UnavailableCollection {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let UnavailableCollection { name, reason, remedy } = self;
        write!(f, "collection `{name}` is unavailable: {reason}; {remedy}")
    }
}

/// A defect that verification found.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Finding {
    /// The defective object: `document 7 of articles`.
    pub object: String,
    /// What is wrong with it.
    pub problem: String,
    /// What to do.
    pub remedy: &'static str,
}

impl std::fmt::Display for Finding {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}: {}; {}", self.object, self.problem, self.remedy)
    }
}

/// Whether a catalog accepts writes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Health {
    /// Writes are accepted.
    Ready,
    /// The last write failed because the disk is full. The next one is attempted.
    Full,
    /// The catalog is open read-only.
    ReadOnly,
    /// A write or sync failed. Writes are rejected until the catalog is reopened.
    Failed(String),
}

/// Whether an operator has confirmed that old documents may be deleted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Confirmation {
    /// Expiry pauses if the clock or the number of documents is not plausible.
    Required,
    /// Expiry deletes all old documents.
    Given,
}

/// The result of an expiry.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Expired {
    /// Number of deleted documents.
    pub removed: usize,
    /// Why nothing was deleted, if expiry needs a confirmation.
    pub paused: Option<ExpiryPause>,
}

/// Why expiry needs a confirmation.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum ExpiryPause {
    /// The system clock is too far ahead of the latest plausible time.
    Clock {
        /// The time of the system clock.
        now: Timestamp,
        /// The latest plausible time.
        latest: Timestamp,
    },
    /// More than half of the collection is expired.
    Share {
        /// Number of expired documents.
        expired: usize,
        /// Number of documents.
        documents: usize,
    },
}

impl ExpiryPause {
    /// Returns the name used in outputs.
    pub fn name(&self) -> &'static str {
        match self {
            ExpiryPause::Clock { .. } => "clock",
            ExpiryPause::Share { .. } => "share",
        }
    }
}

impl std::fmt::Display for ExpiryPause {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            ExpiryPause::Clock { now, latest } => write!(
                f,
                "the clock says {now}, but the latest plausible time is {latest}: correct the clock, or confirm it with \
                 `sameish index expire --confirm`"
            ),
            ExpiryPause::Share { expired, documents } => write!(
                f,
                "{expired} of {documents} documents are expired, more than half: confirm their deletion with \
                 `sameish index expire --confirm`"
            ),
        }
    }
}

/// Collection names that are used as route names.
const RESERVED: [&str; 7] = ["bulk", "query", "clusters", "compare", "sketch", "snapshot", "stats"];
/// [`RESERVED`] for error messages.
const RESERVED_LIST: &str = "bulk, query, clusters, compare, sketch, snapshot or stats";

/// Rejects invalid names of collections.
pub(crate) fn check_name(name: &str) -> Result<()> {
    if is_well_formed(name) && !RESERVED.contains(&name) {
        return Ok(());
    }
    Err(Error::BadName { name: name.chars().take(80).collect(), reserved: RESERVED_LIST })
}

/// Returns `true` if a name has the length and the characters of names of collections.
pub(crate) fn is_well_formed(name: &str) -> bool {
    let is_allowed = |byte: u8| matches!(byte, b'a'..=b'z' | b'0'..=b'9' | b'-' | b'_');
    (1..=64).contains(&name.len()) && name.bytes().all(is_allowed)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn error_message_lists_every_reserved_name() {
        assert_eq!(RESERVED_LIST.replace(" or ", ", "), RESERVED.join(", "));
    }
}
