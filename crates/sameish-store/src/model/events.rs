//! What happened to documents.

use sameish::cluster::ClusterId;
use sameish::matching::Relation;
use sameish::{DocId, Timestamp};

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

/// Which events are stored.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct EventRange {
    /// Sequence number of the oldest stored event; 1 if there was none yet.
    pub oldest: u64,
    /// Sequence number of the newest event; 0 if there was none yet.
    pub newest: u64,
}
