//! Stored rows and their checksums.
//!
//! The checksum of a row is XXH3 (64 bits) over all its fields. Each field is preceded by its length, so moving bytes from
//! one field to the next changes the checksum.

use crate::error::Result;
use sameish::analyzer::Schemes;
use sameish::cluster::ClusterId;
use sameish::features::TextKey;
use sameish::sketch::SchemeId;
use sameish::{Content, Document, Sketches, Timestamp};
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
    /// The cluster.
    pub cluster: ClusterId,
    /// With the linkages `online` and `components`, the document whose match made this one join the cluster. `None` for the
    /// document that started the cluster, and with the linkage `cohesive`, where every document joins the center.
    pub joined: Option<u64>,
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

/// Queued work on the clusters of a collection.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TaskRow {
    /// Number of the collection.
    pub collection: u32,
    /// Tasks are processed in this order. It is the number of a document, or less or greater than all of them.
    pub position: u64,
    /// The cluster that changes.
    pub cluster: ClusterId,
    /// What to do.
    pub kind: TaskKind,
    /// For [`TaskKind::Merge`], the cluster that receives the documents; for [`TaskKind::Subtree`], the number from which on
    /// documents are left to move; for [`TaskKind::Center`], the number from which on documents are left to search; for
    /// [`TaskKind::Count`], the number from which on documents are left to count; 0 for other kinds.
    pub target: ClusterId,
}

/// The position of all tasks of the kind [`TaskKind::Merge`]. Merges come first, so that the documents of a cluster are
/// together before they are assigned again.
pub(crate) const MERGE_POSITION: u64 = 0;

/// The position of all tasks of the kind [`TaskKind::Count`]. They come last, because other tasks may change the center again.
pub(crate) const COUNT_POSITION: u64 = i64::MAX as u64;

/// The least number of a document, and thus the first position after all merges.
pub(crate) const FIRST_DOCUMENT: u64 = 1;

/// Kinds of queued work.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TaskKind {
    /// Assign the document `position` again.
    Document,
    /// Assign the documents of the cluster again that have numbers of at least `position`.
    Members,
    /// Assign the documents again that had joined the deleted document `position`.
    Links,
    /// Move the documents that joined the document `position` into its cluster.
    Subtree,
    /// Move all documents of the cluster into another one.
    Merge,
    /// Cluster all documents of the collection again. This is done when the directory is opened.
    Collection,
    /// Find the documents after the new center `position` that it takes from later centers.
    Center,
    /// Subtract documents that are linked to the center of the cluster from its chained documents.
    Count,
}

impl TaskKind {
    const ALL: [TaskKind; 8] = [
        TaskKind::Document,
        TaskKind::Members,
        TaskKind::Links,
        TaskKind::Subtree,
        TaskKind::Merge,
        TaskKind::Collection,
        TaskKind::Center,
        TaskKind::Count,
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
        Checksum::default()
            .number(self.number.into())
            .bytes(self.name.as_bytes())
            .bytes(self.preset.as_bytes())
            .bytes(self.overrides.as_bytes())
            .bytes(self.config.as_bytes())
            .number(days(self.retention_days))
            .number(days(self.window_days))
            .number(self.created_at)
            .finish()
    }
}

impl DocumentRow {
    pub(crate) fn checksum(&self, id: &str, text: &str) -> i64 {
        let Document { content, title, source, published_at, url, metadata, .. } = &self.document;
        let mut sum = Checksum::default()
            .number(self.number as i64)
            .number(self.collection.into())
            .number(self.arrived_at)
            .number(matches!(content, Content::Tokens(_)).into())
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
        let published = self.document.published_at.as_deref().and_then(|date| Timestamp::parse(date).ok());
        published.map_or(self.arrived_at, Timestamp::as_milliseconds)
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

impl MemberRow {
    pub(crate) fn checksum(&self) -> i64 {
        Checksum::default()
            .number(self.document as i64)
            .number(self.collection.into())
            .number(self.cluster.0 as i64)
            .number(self.joined.map_or(-1, |joined| joined as i64))
            .finish()
    }
}
