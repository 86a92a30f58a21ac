//! Editorial decisions on clusters.

use sameish::cluster::ClusterId;
use sameish::{DocId, Timestamp};

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
