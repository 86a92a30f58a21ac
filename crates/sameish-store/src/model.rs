//! Settings, inputs and results of a catalog.

use crate::error::{Error, Result};
use sameish::cluster::ClusterId;
use sameish::config::Linkage;
use sameish::matching::{Evidence, Relation};
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
    /// Which documents become centers first, if the linkage is `cohesive` or `greedy`. `None` is [`Center::Newest`] for `greedy` and
    /// [`Center::First`] for other linkages.
    pub center: Option<Center>,
}

/// Which documents of a collection become centers of clusters first. Equal ones become centers in order of arrival.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Center {
    /// The documents that arrived first.
    #[default]
    First,
    /// The documents with the latest `published_at`. Documents without one come last.
    Newest,
    /// The documents with the longest texts, in bytes.
    Longest,
}

impl Center {
    /// All values. The position is the stored number.
    pub const ALL: [Center; 3] = [Center::First, Center::Newest, Center::Longest];

    /// Returns the name used in settings.
    pub fn name(self) -> &'static str {
        match self {
            Center::First => "first",
            Center::Newest => "newest",
            Center::Longest => "longest",
        }
    }

    /// Returns the value with a name.
    pub fn from_name(name: &str) -> Option<Center> {
        Center::ALL.into_iter().find(|center| center.name() == name)
    }

    /// Returns the stored number; `None` for the order that formats before 8 have.
    pub(crate) fn as_stored(self) -> Option<i64> {
        (self != Center::First).then_some(self as i64)
    }

    pub(crate) fn from_u64(value: u64) -> Option<Center> {
        Center::ALL.get(usize::try_from(value).ok()?).copied()
    }
}

impl CollectionConfig {
    /// Creates the settings of a preset without overrides, retention or window.
    pub fn new(preset: Preset) -> CollectionConfig {
        let overrides = String::new();
        CollectionConfig { preset, overrides, retention_days: None, window_days: None, center: None }
    }

    /// Returns the settings of the engine: the preset with the overrides applied.
    pub fn resolve(&self) -> Result<Config> {
        Ok(self.preset.config().overridden_by(&self.overrides)?)
    }

    /// Returns which documents become centers first, or [`Error::CenterLinkage`] if the linkage does not choose centers.
    pub fn resolve_center(&self) -> Result<Center> {
        match (self.resolve()?.matching.linkage, self.center) {
            (Linkage::Cohesive | Linkage::Greedy, Some(center)) => Ok(center),
            (Linkage::Greedy, None) => Ok(Center::Newest),
            (Linkage::Online | Linkage::Components, Some(Center::Newest | Center::Longest)) => {
                Err(Error::CenterLinkage)
            }
            (Linkage::Cohesive | Linkage::Online | Linkage::Components, _) => Ok(Center::First),
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
    /// The signature, if the preset computes one and the text is long enough.
    pub minhash: Option<sameish::Signature>,
    /// The sparse code, if the preset computes one.
    pub sdr: Option<sameish::Sdr>,
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
    /// Relation of the query to the document, if evidence was requested and the match is verified.
    pub relation: Option<Relation>,
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

/// The settings of a collection that can be changed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Periods {
    /// Age in days after which documents are deleted.
    pub retention_days: Option<u32>,
    /// Maximum difference in days between the dates of two documents that match.
    pub window_days: Option<u32>,
}

/// Selects documents of an export.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ExportPage {
    /// Selects documents after this position, which is the result of the previous call; 0 at the beginning.
    pub after: u64,
    /// Selects only centers of clusters and documents without a cluster.
    pub representatives: bool,
}

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

/// What happened to a document.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum EventKind {
    /// It was stored.
    Added,
    /// It was stored instead of one with the same id.
    Replaced,
    /// It was deleted.
    Deleted,
    /// It is in another cluster, because other documents were deleted, clusters were edited, or the collection was clustered
    /// again.
    Moved,
}

impl EventKind {
    /// All kinds. The position is the stored number.
    pub const ALL: [EventKind; 4] =
        [EventKind::Added, EventKind::Replaced, EventKind::Deleted, EventKind::Moved];

    /// Returns the name.
    pub fn name(self) -> &'static str {
        match self {
            EventKind::Added => "added",
            EventKind::Replaced => "replaced",
            EventKind::Deleted => "deleted",
            EventKind::Moved => "moved",
        }
    }
}

/// Events of a collection.
#[derive(Clone, Debug, PartialEq)]
pub struct Events {
    /// Events in order.
    pub events: Vec<Event>,
    /// Sequence number of the last event that was read, even if it is damaged and not among `events`.
    pub last: u64,
}

/// An event with its document and cluster as they are when it is read.
#[derive(Clone, Debug, PartialEq)]
pub struct Event {
    /// Position in the events of the collection, from 1 on, without gaps.
    pub sequence: u64,
    /// A hash of what never changes of the event, for [`Collection::has_event`](crate::Collection::has_event).
    pub check: u32,
    /// What happened.
    pub kind: EventKind,
    /// When it happened.
    pub at: Timestamp,
    /// Id of the document.
    pub id: DocId,
    /// Title. `None` also if the document was deleted or replaced since.
    pub title: Option<String>,
    /// Origin, often a host name.
    pub source: Option<String>,
    /// Publication date as given by the caller.
    pub published_at: Option<String>,
    /// Cluster of the document; for a deletion, its last cluster.
    pub cluster: Option<ClusterId>,
    /// Number of documents of the cluster.
    pub size: u64,
    /// Similarity to the best match in the cluster when the document was stored. If it had none, similarity to the best match of all
    /// if that is a template.
    pub similarity: Option<f64>,
    /// Kind of this match.
    pub match_kind: Option<sameish::matching::MatchKind>,
    /// Whether this match is a template: the same wording with different names or numbers.
    pub template: bool,
    /// Relation of the document to this match, if it is known.
    pub relation: Option<Relation>,
    /// Seconds between the first document of the cluster and this one.
    pub lead_seconds: Option<i64>,
}

/// What an edit does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum EditKind {
    /// Documents leave their cluster and form a new one.
    Split,
    /// Clusters are one cluster.
    Merge,
    /// Two documents belong to one cluster.
    Same,
    /// Two documents belong to different clusters.
    Different,
}

impl EditKind {
    /// All kinds. The position is the stored number.
    pub const ALL: [EditKind; 4] = [EditKind::Split, EditKind::Merge, EditKind::Same, EditKind::Different];

    pub(crate) fn from_u64(value: u64) -> Option<EditKind> {
        EditKind::ALL.get(usize::try_from(value).ok()?).copied()
    }

    /// Returns the name.
    pub fn name(self) -> &'static str {
        match self {
            EditKind::Split => "split",
            EditKind::Merge => "merge",
            EditKind::Same => "same",
            EditKind::Different => "different",
        }
    }
}

/// An editorial decision on the clusters of a collection.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum NewEdit {
    /// These documents of the cluster leave it and form a new one.
    Split {
        /// The cluster.
        cluster: ClusterId,
        /// Some of its documents, but not all.
        documents: Vec<DocId>,
    },
    /// These clusters are one cluster.
    Merge {
        /// At least two clusters.
        clusters: Vec<ClusterId>,
    },
    /// Two documents belong to one cluster.
    Same {
        /// One document.
        a: DocId,
        /// The other one.
        b: DocId,
    },
    /// Two documents belong to different clusters.
    Different {
        /// One document.
        a: DocId,
        /// The other one.
        b: DocId,
    },
}

/// A stored edit.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Edit {
    /// Number, never reused. Later edits have greater numbers.
    pub number: u64,
    /// What the edit does.
    pub kind: EditKind,
    /// Time of the edit.
    pub at: Timestamp,
    /// The documents that it names: for a split, those that left their cluster; for a merge, the first ones of each cluster.
    pub documents: Vec<DocId>,
    /// The clusters of these documents now.
    pub clusters: Vec<ClusterId>,
    /// Whether the edit has an effect: the documents that it needs exist, and later edits do not overrule all of it.
    pub active: bool,
    /// Whether work on the clusters of the collection is queued, so that `clusters` can still change.
    pub pending: bool,
}

/// How many documents the edits of a collection name.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct EditUsage {
    /// Number of documents that edits name and that exist.
    pub documents: u64,
    /// Maximum of this number.
    pub max_documents: u64,
}

/// Which events are stored.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct EventRange {
    /// Sequence number of the oldest stored event; 1 if there was none yet.
    pub oldest: u64,
    /// Sequence number of the newest event; 0 if there was none yet.
    pub newest: u64,
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
