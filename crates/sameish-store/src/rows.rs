//! What is stored, and how is damage seen?
//!
//! A row's checksum is XXH3 of 64 bits over all its fields, each with its length, so that no bit can move unseen from one
//! to the next.

use sameish::{ClusterId, Content, DocId, Document, SchemeId, Schemes, Sketches, TextKey};
use xxhash_rust::xxh3::Xxh3;

/// A collection as it is stored.
#[derive(Clone, Debug, PartialEq)]
pub struct CollectionRow {
    /// Its number, never given again.
    pub number: u32,
    /// Its name.
    pub name: String,
    /// The name of its preset.
    pub preset: String,
    /// What is laid over the preset.
    pub overrides: String,
    /// All settings of its engine, as a config file: they stay, whatever becomes of the preset.
    pub config: String,
    /// Days that documents stay.
    pub retention_days: Option<u32>,
    /// Days between documents that match.
    pub window_days: Option<u32>,
    /// When it was made, in milliseconds since 1970.
    pub created_at: i64,
}

/// A document as it is stored.
#[derive(Clone, Debug, PartialEq)]
pub struct DocumentRow {
    /// Its number, never given again: later documents have greater ones.
    pub number: u64,
    /// Which collection.
    pub collection: u32,
    /// As it came.
    pub document: Document,
    /// When it came, in milliseconds since 1970.
    pub arrived_at: i64,
}

/// What was made of a document.
#[derive(Clone, Debug, PartialEq)]
pub struct SketchRow {
    /// The document.
    pub number: u64,
    /// Which collection.
    pub collection: u32,
    /// The sketches.
    pub sketches: Sketches,
    /// Stands for the text.
    pub key: Option<TextKey>,
    /// When the document came out or else arrived, in milliseconds since 1970.
    pub moment: i64,
    /// What determined the sketches.
    pub scheme: SchemeId,
    /// When they were made, in milliseconds since 1970.
    pub computed_at: i64,
}

/// Where a document belongs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct MemberRow {
    /// The document.
    pub document: u64,
    /// Which collection.
    pub collection: u32,
    /// Which cluster.
    pub cluster: ClusterId,
    /// The document that it joined for; none for the founder.
    pub joined: Option<u64>,
}

/// The greatest numbers that were given.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Counters {
    /// To collections.
    pub collections: u32,
    /// To documents.
    pub documents: u64,
    /// To clusters.
    pub clusters: u64,
}

/// One id for all lanes of an engine.
pub(crate) fn scheme_of(schemes: Schemes) -> SchemeId {
    let id = |scheme: Option<SchemeId>| scheme.map_or(0, SchemeId::as_u64);
    let Schemes { simhash, minhash, sdr } = schemes;
    SchemeId::of(&format!("{:016x} {:016x} {:016x}", id(simhash), id(minhash), id(sdr)))
}

/// An id in the form it is stored in, which keeps its type.
pub(crate) fn id_to_json(id: &DocId) -> String {
    serde_json::to_string(id).unwrap_or_else(|error| unreachable!("an id always has a JSON form: {error}"))
}

pub(crate) fn id_from_json(id: &str) -> Option<DocId> {
    serde_json::from_str(id).ok()
}

/// Sums up the fields of a row.
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
        let Document { content, title, source, published_at, url, .. } = &self.document;
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
        sum.finish()
    }

    /// When it came out or else arrived, in milliseconds since 1970. Dates were read when it came in.
    pub(crate) fn moment(&self) -> i64 {
        let published = self.document.published_at.as_deref();
        let published = published.and_then(|date| sameish::Timestamp::parse(date).ok());
        published.map_or(self.arrived_at, sameish::Timestamp::as_milliseconds)
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
