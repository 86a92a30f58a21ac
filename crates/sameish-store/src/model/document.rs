//! Documents that are stored, read and exported.

use sameish::cluster::ClusterId;
use sameish::{DocId, Document, Match, Status, Timestamp};

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

/// Selects documents of an export.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ExportPage {
    /// Selects documents after this position, which is the result of the previous call; 0 at the beginning.
    pub after: u64,
    /// Selects only centers of clusters and documents without a cluster.
    pub representatives: bool,
}
