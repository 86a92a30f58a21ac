//! Clusters, lists of clusters and their members.

use super::SourceTotal;
use sameish::cluster::ClusterId;
use sameish::matching::Relation;
use sameish::{DocId, Timestamp};

/// The order of a list of clusters.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum ClusterOrder {
    /// The newest cluster first.
    #[default]
    Newest,
    /// The largest cluster first.
    Largest,
    /// The cluster with the latest arrival first.
    Active,
}

/// A position in a list of clusters: after a cluster.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ClusterPosition {
    /// What the list is ordered by: the number, the size, or the number of the latest document of the cluster.
    pub key: u64,
    /// The cluster.
    pub cluster: ClusterId,
}

/// Which clusters a list contains. The default is all of them.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct ClusterFilter {
    /// Clusters with a document of this source; an empty string selects documents without a source.
    pub source: Option<String>,
    /// Clusters with a document of this date or a later one.
    pub since: Option<Timestamp>,
    /// Clusters with a document of this date or an earlier one.
    pub until: Option<Timestamp>,
    /// Clusters whose center has all these words, in lower case, in its title or id.
    pub words: Vec<String>,
    /// Minimum number of documents.
    pub min_size: u64,
}

/// Selects a page of clusters.
#[derive(Clone, Debug, PartialEq)]
pub struct ClustersPage {
    /// The order.
    pub order: ClusterOrder,
    /// Which clusters are listed.
    pub filter: ClusterFilter,
    /// Selects clusters after this position, which is [`Clusters::next`] of the previous page.
    pub after: Option<ClusterPosition>,
    /// Maximum number of clusters.
    pub limit: usize,
}

impl Default for ClustersPage {
    fn default() -> ClustersPage {
        ClustersPage { order: ClusterOrder::Newest, filter: ClusterFilter::default(), after: None, limit: 50 }
    }
}

/// A page of clusters with at least two documents.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Clusters {
    /// Clusters in the requested order.
    pub clusters: Vec<ClusterSummary>,
    /// [`ClustersPage::after`] of the next page. `None` on the last page. A page that is not the last one can have fewer clusters
    /// than requested, because a limited number of clusters is examined.
    pub next: Option<ClusterPosition>,
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
    /// Number of sources.
    pub sources: u64,
    /// Source of the first document.
    pub first_source: Option<String>,
    /// Dates of at most 64 documents, in order: the first and the last one, and others at regular intervals among the first 1,000.
    pub dates: Vec<Timestamp>,
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
    /// Publication date or, without one, time of insertion.
    pub date: Timestamp,
    /// Metadata as a JSON object.
    pub metadata: Option<String>,
    /// The document whose match made this one join the cluster: with linkage `cohesive` the center. `None` for the
    /// center, and for a document that is in the cluster because of an edit.
    pub joined: Option<DocId>,
    /// How the document compares to the center, if it was compared. The first 100 documents of a page are.
    pub verdict: Option<sameish::Verdict>,
    /// The relation of the center to the document, if it was compared and verified.
    pub relation: Option<Relation>,
    /// Seconds between the first document of the cluster and this one. `None` in lists of clusters.
    pub lead_seconds: Option<i64>,
    /// Whether the document is in this cluster because of an edit. `false` in lists of clusters.
    pub edited: bool,
}

/// A position in the documents of a cluster: after a document.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct MemberPosition {
    /// Date of the document, in milliseconds since 1970.
    pub moment: i64,
    /// Number of the document.
    pub document: u64,
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
    /// Documents in order of their dates.
    pub members: Vec<ClusterMember>,
}

/// Selects a page of the documents of a cluster.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct MembersPage {
    /// Selects documents after this position, which is [`ClusterPage::next`] of the previous page.
    pub after: Option<MemberPosition>,
    /// Maximum number of documents.
    pub limit: usize,
}

impl Default for MembersPage {
    fn default() -> MembersPage {
        MembersPage { after: None, limit: MEMBERS_SHOWN }
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
    /// The first document by date.
    pub first: Option<ClusterMember>,
    /// Date of the last document.
    pub last: Option<Timestamp>,
    /// Sources of the first 10,000 documents: the 100 with the most of these documents, in descending order.
    pub sources: Vec<SourceTotal>,
    /// [`MembersPage::after`] of the next page. `None` on the last page.
    pub next: Option<MemberPosition>,
}

/// Maximum number of members in a [`ClusterDetail`].
pub const MEMBERS_SHOWN: usize = 1_000;
