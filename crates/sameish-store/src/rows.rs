//! Stored rows and their checksums.
//!
//! The checksum of a row is XXH3 (64 bits) over all its fields. Each field is preceded by its length, so moving bytes from
//! one field to the next changes the checksum.

use crate::error::Result;
use crate::model::{Center, EditKind, EventKind};
use sameish::analyzer::Schemes;
use sameish::cluster::ClusterId;
use sameish::features::TextKey;
use sameish::matching::{MatchKind, Relation};
use sameish::sketch::SchemeId;
use sameish::{Content, DocId, Document, Sketches, Timestamp};
use xxhash_rust::xxh3::Xxh3;

/// A stored collection.
#[derive(Clone, Debug, PartialEq)]
pub struct CollectionRow {
    /// Number of the collection, never reused.
    pub number: u32,
    /// Name.
    pub name: String,
    /// Name of the preset.
    pub preset: String,
    /// Settings that override the preset, in TOML.
    pub overrides: String,
    /// Complete settings of the engine, in TOML. Later changes to the preset do not affect them.
    pub config: String,
    /// Retention of documents in days.
    pub retention_days: Option<u32>,
    /// Maximum difference between the dates of matching documents, in days.
    pub window_days: Option<u32>,
    /// Which documents become centers first. It has an effect only with the linkages `cohesive` and `greedy`.
    pub center: Center,
    /// Time of creation, in milliseconds since 1970.
    pub created_at: i64,
}

/// What is stored of a collection, which may be damaged.
#[derive(Clone, Debug)]
pub struct StoredCollection {
    /// Number of the collection.
    pub number: u32,
    /// Name, or `collection:N` if the name of collection number N is damaged.
    pub name: String,
    /// The row, or [`Error::Damaged`](crate::Error::Damaged).
    pub row: Result<CollectionRow>,
}

/// A stored document.
#[derive(Clone, Debug, PartialEq)]
pub struct DocumentRow {
    /// Number of the document, never reused. Later documents have greater numbers.
    pub number: u64,
    /// Number of the collection.
    pub collection: u32,
    /// The document as it was inserted.
    pub document: Document,
    /// Time of insertion, in milliseconds since 1970.
    pub arrived_at: i64,
}

/// The stored sketches of a document.
#[derive(Clone, Debug, PartialEq)]
pub struct SketchRow {
    /// Number of the document.
    pub number: u64,
    /// Number of the collection.
    pub collection: u32,
    /// The sketches.
    pub sketches: Sketches,
    /// Key of the normalized text.
    pub key: Option<TextKey>,
    /// Publication date or, without one, time of insertion, in milliseconds since 1970.
    pub moment: i64,
    /// Scheme of the sketches.
    pub scheme: SchemeId,
    /// Time of computation, in milliseconds since 1970.
    pub computed_at: i64,
}

/// The cluster membership of a document.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct MemberRow {
    /// Number of the document.
    pub document: u64,
    /// Number of the collection.
    pub collection: u32,
    /// The cluster that the linkage gives.
    pub cluster: ClusterId,
    /// With the linkages `online` and `components`, the document whose match made this one join the cluster. `None` for the
    /// document that started the cluster, and with the linkage `cohesive`, where every document joins the center.
    pub joined: Option<u64>,
    /// The cluster that edits give, if it is another one.
    pub edited: Option<ClusterId>,
    /// Rank of the document among those that become centers, less for earlier ones. `None` if they become centers in order of
    /// arrival.
    pub rank: Option<u64>,
}

/// The place of a document in the order in which documents become centers: by rank, and then in order of arrival.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct Turn {
    /// The rank or, if documents become centers in order of arrival, the number of the document.
    pub position: u64,
    /// Number of the document.
    pub document: u64,
}

impl Turn {
    /// Returns the turn of a document.
    pub(crate) fn new(rank: Option<u64>, document: u64) -> Turn {
        Turn { position: rank.unwrap_or(document), document }
    }
}

/// An editorial decision on the clusters of a collection.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct EditRow {
    /// Number of the collection.
    pub collection: u32,
    /// Number of the edit, never reused. Later edits have greater numbers.
    pub number: u64,
    /// Time of the edit, in milliseconds since 1970.
    pub at: i64,
    /// What the edit does.
    pub kind: EditKind,
    /// The first of the cluster ids that are reserved for the documents that the edit separates.
    pub clusters: ClusterId,
    /// The documents that it names. For [`EditKind::Split`], the documents that leave their cluster, and then the first ones of those
    /// that remain; for [`EditKind::Merge`], the first documents of each cluster; for other kinds, one document each.
    pub documents: Vec<Vec<DocId>>,
}

/// What the cluster of edits is stored for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Placed {
    /// A document that an edit names.
    Document(u64),
    /// The documents of a cluster of the linkage that no edit names.
    Others(ClusterId),
}

/// A stored cluster.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ClusterRow {
    /// The cluster.
    pub cluster: ClusterId,
    /// Number of documents.
    pub size: u64,
    /// The center, or `None` while the cluster is re-clustered after the deletion of its center.
    pub center: Option<u64>,
    /// Number of documents that joined through a document other than the center; 0 while there is no center.
    pub chained: u64,
}

impl ClusterRow {
    /// Returns `true` if the row must be stored: a cluster of one document is known from its member, unless it lost its
    /// center.
    pub(crate) fn is_stored(&self) -> bool {
        self.size > 1 || (self.size == 1 && self.center.is_none())
    }

    /// Returns `true` if a document with this link joined through a document other than the center.
    pub(crate) fn is_chained(&self, joined: Option<u64>) -> bool {
        self.center.is_some() && joined.is_some() && joined != self.center
    }
}

/// A stored cluster in a list.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ListedCluster {
    /// The cluster as the linkage gives it.
    pub row: ClusterRow,
    /// Number of documents that lists show, which edits can change.
    pub listed: u64,
    /// Date of the first document, in milliseconds since 1970.
    pub first: i64,
    /// Date of the last document, in milliseconds since 1970.
    pub last: i64,
    /// Number of the document that arrived last.
    pub latest: u64,
    /// Source of the first document.
    pub first_source: Option<String>,
    /// Number of sources.
    pub sources: u64,
}

/// A cluster of a list with the title and the id, as JSON, of its center.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TitledCluster {
    /// The cluster.
    pub listed: ListedCluster,
    /// Title and id of the center; `None` if the center is shown in another cluster.
    pub title: Option<(Option<String>, String)>,
}

/// A member of a cluster with its date and source.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PlacedRow {
    /// Number of the document.
    pub document: u64,
    /// Publication date or, without one, time of insertion, in milliseconds since 1970.
    pub moment: i64,
    /// Source of the document.
    pub source: Option<String>,
}

/// What a list shows of a document. It is not checked for damage.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Caption {
    /// The id as JSON.
    pub id: String,
    /// Title.
    pub title: Option<String>,
    /// Origin, often a host name.
    pub source: Option<String>,
    /// Web address.
    pub url: Option<String>,
    /// Publication date as given by the caller.
    pub published_at: Option<String>,
    /// Time of insertion, in milliseconds since 1970.
    pub arrived_at: i64,
    /// Date of its cluster membership, in milliseconds since 1970.
    pub moment: Option<i64>,
}

/// An event: what happened to a document.
#[derive(Clone, Debug, PartialEq)]
pub struct EventRow {
    /// Number of the collection.
    pub collection: u32,
    /// Time in milliseconds since 1970.
    pub at: i64,
    /// What happened.
    pub kind: EventKind,
    /// Number of the document.
    pub document: u64,
    /// Id of the document.
    pub id: DocId,
    /// Cluster of the document after the change; for a deletion, its last cluster.
    pub cluster: Option<ClusterId>,
    /// Similarity to the best match in the cluster, or to a template outside of it.
    pub similarity: Option<f64>,
    /// Kind of this match.
    pub match_kind: Option<MatchKind>,
    /// Whether this match is a template. Stored only with its kind.
    pub template: bool,
    /// Relation to this match.
    pub relation: Option<Relation>,
}

/// Queued work on the clusters of a collection.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TaskRow {
    /// Number of the collection.
    pub collection: u32,
    /// Tasks are processed in this order. It is the [position](Turn::position) of a document, or less or greater than all of them.
    pub position: u64,
    /// The cluster that changes.
    pub cluster: ClusterId,
    /// What to do.
    pub kind: TaskKind,
    /// For [`TaskKind::Merge`], the cluster that receives the documents; for [`TaskKind::Subtree`], the number from which on
    /// documents are left to move; for [`TaskKind::Center`], the number from which on documents are left to search; for
    /// [`TaskKind::Count`] and [`TaskKind::Show`], the number from which on documents are left. If documents have ranks: for
    /// [`TaskKind::Document`], the number of the document; for [`TaskKind::Members`], the number from which on documents with the
    /// rank `position` are left. 0 for other kinds.
    pub target: ClusterId,
}

impl TaskRow {
    /// Returns the turn from which on documents of the kind [`TaskKind::Members`] are left.
    pub(crate) fn turn(&self) -> Turn {
        Turn { position: self.position, document: self.target.0 }
    }

    /// Returns the document of the kind [`TaskKind::Document`].
    pub(crate) fn document(&self) -> u64 {
        if self.target.0 == 0 { self.position } else { self.target.0 }
    }
}

/// The position of all tasks of the kind [`TaskKind::Merge`]. Merges come first, so that the documents of a cluster are
/// together before they are assigned again.
pub(crate) const MERGE_POSITION: u64 = 0;

/// The position of all tasks of the kind [`TaskKind::Count`]. They come last, because other tasks may change the center again.
pub(crate) const COUNT_POSITION: u64 = i64::MAX as u64;

/// The position of the tasks that apply edits. They come after the work on the clusters of the linkage, which edits start from.
pub(crate) const EDITS_POSITION: u64 = i64::MAX as u64;

/// The least number of a document, and thus the first position after all merges.
pub(crate) const FIRST_DOCUMENT: u64 = 1;

/// Kinds of queued work.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TaskKind {
    /// Assign the document at `position` again.
    Document,
    /// Assign the documents of the cluster again whose turn is at `position` or later.
    Members,
    /// Assign the documents again that had joined the deleted document `position`.
    Links,
    /// Move the documents that joined the document `position` into its cluster.
    Subtree,
    /// Move all documents of the cluster into another one.
    Merge,
    /// Cluster all documents of the collection again. This is done when the directory is opened.
    Collection,
    /// Find the documents that the new center at `position` takes from later centers. If documents have ranks, it is the center of
    /// the cluster.
    Center,
    /// Subtract documents that are linked to the center of the cluster from its chained documents.
    Count,
    /// Find the clusters that edits give, because a document that they name has another cluster. `cluster` is 0.
    Edits,
    /// Show the documents of the cluster that no edit names in the cluster that edits give.
    Show,
}

impl TaskKind {
    const ALL: [TaskKind; 10] = [
        TaskKind::Document,
        TaskKind::Members,
        TaskKind::Links,
        TaskKind::Subtree,
        TaskKind::Merge,
        TaskKind::Collection,
        TaskKind::Center,
        TaskKind::Count,
        TaskKind::Edits,
        TaskKind::Show,
    ];

    /// Returns the stored value.
    pub(crate) fn as_u64(self) -> u64 {
        self as u64
    }

    pub(crate) fn from_u64(value: u64) -> Option<TaskKind> {
        TaskKind::ALL.get(usize::try_from(value).ok()?).copied()
    }
}

/// Totals over the clusters of a collection that have at least two documents.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ClusterTotals {
    /// Number of clusters.
    pub clusters: u64,
    /// Number of documents in them.
    pub documents: u64,
    /// Number of documents in the largest one.
    pub largest: u64,
    /// Number of documents that joined through a document other than the center.
    pub chained: u64,
}

/// What is known about the time, so that a wrong clock can be detected. In milliseconds since 1970.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ClockRow {
    /// The latest plausible time.
    pub latest: i64,
    /// The time of the last insertion at a plausible time.
    pub last_arrival: i64,
    /// The longest pause between two insertions.
    pub longest_pause: i64,
}

/// The greatest numbers that were assigned. Numbers are never reused.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Counters {
    /// Greatest number of a collection.
    pub collections: u32,
    /// Greatest number of a document.
    pub documents: u64,
    /// Greatest number of a cluster.
    pub clusters: u64,
}

impl Counters {
    /// Assigns the number of a new cluster.
    pub(crate) fn next_cluster(&mut self) -> ClusterId {
        self.clusters += 1;
        ClusterId(self.clusters)
    }
}

/// Combines the schemes of all sketches of an engine into one id.
pub(crate) fn scheme_of(schemes: Schemes) -> SchemeId {
    let id = |scheme: Option<SchemeId>| scheme.map_or(0, SchemeId::as_u64);
    let Schemes { simhash, minhash, sdr } = schemes;
    SchemeId::of(&format!("{:016x} {:016x} {:016x}", id(simhash), id(minhash), id(sdr)))
}

/// The checksum of a row, computed field by field.
#[derive(Default)]
pub(crate) struct Checksum(Xxh3);

impl Checksum {
    pub(crate) fn bytes(mut self, field: &[u8]) -> Checksum {
        self.0.update(&(field.len() as u64).to_le_bytes());
        self.0.update(field);
        self
    }

    pub(crate) fn number(self, field: i64) -> Checksum {
        self.bytes(&field.to_le_bytes())
    }

    pub(crate) fn optional(self, field: Option<&[u8]>) -> Checksum {
        match field {
            Some(field) => self.bytes(field),
            None => self.number(-1),
        }
    }

    pub(crate) fn finish(&self) -> i64 {
        self.0.digest() as i64
    }
}

impl CollectionRow {
    pub(crate) fn checksum(&self) -> i64 {
        let days = |days: Option<u32>| days.map_or(-1, i64::from);
        let mut sum = Checksum::default()
            .number(self.number.into())
            .bytes(self.name.as_bytes())
            .bytes(self.preset.as_bytes())
            .bytes(self.overrides.as_bytes())
            .bytes(self.config.as_bytes())
            .number(days(self.retention_days))
            .number(days(self.window_days))
            .number(self.created_at);
        // Formats before 8 have no centers in another order, and their checksums must stay valid.
        if let Some(center) = self.center.as_stored() {
            sum = sum.number(center);
        }
        sum.finish()
    }
}

/// Returns how the content of a document is stored: 0 as a text, 1 as a JSON list of tokens, 2 as sketches without a text.
pub(crate) fn content_kind(content: &Content) -> i64 {
    match content {
        Content::Text(_) => 0,
        Content::Tokens(_) => 1,
        Content::Sketches(_) => 2,
    }
}

impl DocumentRow {
    pub(crate) fn checksum(&self, id: &str, text: &str) -> i64 {
        let Document { content, title, source, published_at, url, metadata, .. } = &self.document;
        let mut sum = Checksum::default()
            .number(self.number as i64)
            .number(self.collection.into())
            .number(self.arrived_at)
            .number(content_kind(content))
            .bytes(id.as_bytes())
            .bytes(text.as_bytes());
        for optional in [title, source, published_at, url] {
            sum = sum.optional(optional.as_deref().map(str::as_bytes));
        }
        // Rows of formats 1 and 2 have no metadata, and their checksums must stay valid.
        if let Some(metadata) = metadata {
            sum = sum.bytes(metadata.as_bytes());
        }
        sum.finish()
    }

    /// Returns the publication date or, without one, the time of insertion, in milliseconds since 1970. Insertion rejects
    /// documents with invalid dates.
    pub(crate) fn moment(&self) -> i64 {
        self.published().unwrap_or(self.arrived_at)
    }

    /// Returns the publication date in milliseconds since 1970, if there is one that can be parsed.
    pub(crate) fn published(&self) -> Option<i64> {
        let date = Timestamp::parse(self.document.published_at.as_deref()?);
        date.ok().map(Timestamp::as_milliseconds)
    }
}

impl SketchRow {
    /// Creates the row for the sketches of a document. `computed_at` is in milliseconds since 1970.
    pub(crate) fn new(
        row: &DocumentRow,
        sketches: Sketches,
        key: Option<TextKey>,
        scheme: SchemeId,
        computed_at: i64,
    ) -> SketchRow {
        let moment = row.moment();
        SketchRow {
            number: row.number,
            collection: row.collection,
            sketches,
            key,
            moment,
            scheme,
            computed_at,
        }
    }
}

impl EditRow {
    pub(crate) fn checksum(&self, documents: &str) -> i64 {
        Checksum::default()
            .number(self.collection.into())
            .number(self.number as i64)
            .number(self.at)
            .number(self.kind as i64)
            .number(self.clusters.0 as i64)
            .bytes(documents.as_bytes())
            .finish()
    }
}

impl MemberRow {
    pub(crate) fn checksum(&self) -> i64 {
        let mut sum = Checksum::default()
            .number(self.document as i64)
            .number(self.collection.into())
            .number(self.cluster.0 as i64)
            .number(self.joined.map_or(-1, |joined| joined as i64));
        // Formats before 7 have no edits, and their checksums must stay valid.
        if let Some(edited) = self.edited {
            sum = sum.number(edited.0 as i64);
        }
        // Formats before 8 have no ranks. Documents with the same number as a cluster must not have the same checksum.
        if let Some(rank) = self.rank {
            sum = sum.number(rank as i64).number(0);
        }
        sum.finish()
    }

    /// Returns the place of the document in the order in which documents become centers.
    pub(crate) fn turn(&self) -> Turn {
        Turn::new(self.rank, self.document)
    }

    /// Returns the least possible turn after that of the document.
    pub(crate) fn next_turn(&self) -> Turn {
        match self.rank {
            Some(_) => Turn { document: self.document + 1, ..self.turn() },
            None => Turn { position: self.document + 1, document: 0 },
        }
    }

    /// Returns the cluster that lists show.
    pub(crate) fn shown(&self) -> ClusterId {
        self.edited.unwrap_or(self.cluster)
    }
}
