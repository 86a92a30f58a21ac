//! The state of a catalog: statistics, problems and retention.

use sameish::Timestamp;

/// Statistics of a collection.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Stats {
    /// Number of documents.
    pub documents: u64,
    /// Number of documents that are too short for the preset.
    pub too_short: u64,
    /// Number of documents that were [rejected](crate::Collection::count_rejected).
    pub rejected: u64,
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
