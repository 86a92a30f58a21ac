//! Responses about documents, matches and comparisons.

use super::document::Warning;
use super::evidence::EvidenceResponse;
use super::sketches::SketchFields;
use super::{EvidenceChoice, Id, rounded};
use crate::memory::BufferedBytes;
use crate::response::{BoundedList, Items};
use sameish::analyzer::Schemes;
use sameish::document::GivenSketches;
use sameish::matching::{OffsetUnit, Relation};
use sameish::{Content, Match, Status, Verdict};
use sameish_store::{Inserted, Outcome, Similar, Stored};
use serde::Serialize;
use serde_json::value::RawValue;
use utoipa::ToSchema;

/// Result of storing a document.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct InsertResponse {
    /// Id of the document, given by the client or generated.
    pub(crate) id: Id,
    /// `created`, `too_short` (created, but too short for the collection's preset), `unchanged` or `replaced`.
    #[schema(example = "created")]
    pub(crate) status: &'static str,
    /// Stored documents that match, most similar first.
    #[schema(value_type = Vec<Duplicate>)]
    pub(crate) duplicates: Items<Duplicate>,
    /// Cluster of the document. With the linkage `online`, each text that is too short is a cluster of its own.
    pub(crate) cluster: Option<u64>,
    /// Whether the text is too short for the collection's preset.
    pub(crate) too_short: bool,
    /// Whether a limit was reached, so that duplicates may be missing.
    pub(crate) capped: bool,
    /// Suspicious values: `published_in_future`, or `title_compared: …` if the title was compared although another field probably
    /// contains the text.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    #[schema(value_type = Vec<String>)]
    pub(crate) warnings: Vec<Warning>,
}

impl InsertResponse {
    /// Converts the result of an insertion. `list` has the memory for the duplicates; those that do not fit are left out, because
    /// the document is stored and the response must not fail.
    pub(crate) fn new(
        inserted: Inserted,
        warnings: Vec<Warning>,
        mut list: BoundedList<Duplicate>,
    ) -> (InsertResponse, BufferedBytes) {
        let Inserted { id, outcome, status, duplicates, cluster, capped, .. } = inserted;
        _ = duplicates.into_iter().map(Duplicate::from).try_for_each(|duplicate| list.push(duplicate));
        let duplicates = list.finish_stored();
        let too_short = status == Status::TooShort;
        let status = match outcome {
            Outcome::Created if too_short => "too_short",
            outcome => outcome.name(),
        };
        let response = InsertResponse {
            id: Id(id),
            status,
            duplicates: duplicates.items,
            cluster: cluster.map(|cluster| cluster.0),
            too_short,
            capped: capped > 0 || duplicates.capped,
            warnings,
        };
        (response, duplicates.buffered)
    }

    /// Returns the maximum size of a response with this many duplicates, in bytes.
    pub(crate) fn max_bytes(duplicates: usize) -> usize {
        MAX_INSERT_BYTES.saturating_add(duplicates.saturating_mul(MAX_DUPLICATE_BYTES))
    }

    /// Returns the HTTP status code of the response.
    pub(crate) fn status_code(&self) -> u16 {
        if matches!(self.status, "created" | "too_short") { 201 } else { 200 }
    }
}

/// Maximum size of an id as JSON: 512 bytes, all of which may be escaped, and quotes.
const MAX_ID_BYTES: usize = 2 * 512 + 2;
/// Maximum size of an [`InsertResponse`] without duplicates, or of a [`BulkLine`] with it, as JSON in bytes.
const MAX_INSERT_BYTES: usize = MAX_ID_BYTES + 768;
/// Maximum size of a [`Duplicate`] as JSON in bytes.
const MAX_DUPLICATE_BYTES: usize = MAX_ID_BYTES + 256;

/// A stored document that matches a new one.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct Duplicate {
    pub(crate) id: Id,
    /// Similarity from 0 to 1: the exact Jaccard similarity of the preset's shingles if `verified`.
    pub(crate) similarity: f64,
    /// Equal to `similarity`.
    pub(crate) similarity_score: f64,
    /// `exact`, `near` or `similar`.
    pub(crate) match_type: &'static str,
    /// Whether the match was verified on the documents' features instead of their sketches.
    pub(crate) verified: bool,
    /// Hamming distance of the fingerprints in bits, if both documents have a fingerprint.
    pub(crate) simhash_distance: Option<u32>,
    /// Agreement of the names and numbers of the two texts from 0 to 1; null unless `verified`, and for short texts and shingles
    /// of characters.
    pub(crate) facts: Option<f64>,
    /// Whether the match is a template: the same wording with different names or numbers.
    pub(crate) template: bool,
    /// Relation of the new document to this one, if the match is verified: `same`, `contains` (this document is an excerpt),
    /// `contained_in` (this document has more), `update_of` (this document is an earlier version), `updated_by` (a later version)
    /// or `overlaps`.
    pub(crate) relation: Option<&'static str>,
}

impl From<Match> for Duplicate {
    fn from(found: Match) -> Duplicate {
        let Match { id, verdict, relation, .. } = found;
        let Verdict { similarity, kind, verified, distance, facts, template } = verdict;
        Duplicate {
            id: Id(id),
            similarity: rounded(similarity),
            similarity_score: rounded(similarity),
            match_type: kind.name(),
            verified,
            simhash_distance: distance,
            facts: facts.map(rounded),
            template,
            relation: relation.map(Relation::name),
        }
    }
}

/// A stored document.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct DocumentResponse {
    pub(crate) id: Id,
    pub(crate) title: Option<String>,
    /// Text to compare. Absent if the document consists of sketches.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    pub(crate) text: Option<String>,
    pub(crate) url: Option<String>,
    pub(crate) host: Option<String>,
    /// Date of publication, as the client wrote it.
    pub(crate) published_at: Option<String>,
    /// Time of insertion.
    #[schema(format = DateTime)]
    pub(crate) arrived_at: String,
    /// `ok` or `too_short`.
    pub(crate) status: &'static str,
    /// Number of words, without stop words if the preset removes them.
    pub(crate) words: u64,
    /// SimHash fingerprint as 16 hexadecimal digits, if the preset computes one.
    pub(crate) simhash: Option<String>,
    #[serde(flatten)]
    pub(crate) given: GivenFields,
    pub(crate) cluster: Option<u64>,
    /// Every sketch, if `sketches` was requested.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    pub(crate) sketches: Option<SketchFields>,
    /// Fields of the document that the service does not interpret.
    #[schema(value_type = Object)]
    pub(crate) metadata: Box<RawValue>,
}

impl DocumentResponse {
    /// Converts a document with its sketches.
    pub(crate) fn with_sketches(stored: Stored, schemes: Schemes) -> DocumentResponse {
        let sketches =
            SketchFields::new(stored.simhash, stored.minhash.as_ref(), stored.sdr.as_ref(), schemes);
        DocumentResponse { sketches: Some(sketches), ..DocumentResponse::from(stored) }
    }
}

impl From<Stored> for DocumentResponse {
    fn from(stored: Stored) -> DocumentResponse {
        let document = stored.document;
        let given = match &document.content {
            Content::Sketches(given) => GivenFields::from(&**given),
            _ => GivenFields::default(),
        };
        DocumentResponse {
            given,
            id: Id(document.id),
            title: document.title,
            text: match document.content {
                Content::Text(text) => Some(text),
                Content::Tokens(tokens) => Some(tokens.join(" ")),
                Content::Sketches(_) => None,
            },
            url: document.url,
            host: document.source,
            published_at: document.published_at,
            arrived_at: stored.arrived_at.to_string(),
            status: stored.status.name(),
            words: stored.words,
            simhash: stored.simhash.map(|simhash| simhash.to_string()),
            cluster: stored.cluster.map(|cluster| cluster.0),
            sketches: None,
            metadata: raw_object(document.metadata),
        }
    }
}

/// The sketches of a document that were given in place of a text, besides its fingerprint, so that the document can be inserted again
/// as it is returned.
#[derive(Debug, Default, Serialize, ToSchema)]
pub(crate) struct GivenFields {
    /// Scheme of `simhash`, if the document consists of sketches.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    simhash_scheme: Option<String>,
    /// MinHash signature as hexadecimal digits, if the document consists of sketches.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    minhash: Option<String>,
    /// Scheme of `minhash`.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    minhash_scheme: Option<String>,
}

impl From<&GivenSketches> for GivenFields {
    fn from(given: &GivenSketches) -> GivenFields {
        GivenFields {
            simhash_scheme: given.simhash.as_ref().map(|simhash| simhash.scheme.to_string()),
            minhash: given.minhash.as_ref().map(|minhash| minhash.sketch.to_hex()),
            minhash_scheme: given.minhash.as_ref().map(|minhash| minhash.scheme.to_string()),
        }
    }
}

/// Returns stored JSON as part of a response. It is not parsed into a tree, which would take many times its size.
fn raw_object(json: Option<String>) -> Box<RawValue> {
    let empty = || RawValue::from_string("{}".to_owned());
    let object = json.map_or_else(empty, RawValue::from_string).or_else(|_| empty());
    object.unwrap_or_else(|error| unreachable!("an empty object is JSON: {error}"))
}

/// A page of documents, in the order of their ids as JSON text.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct DocumentsResponse {
    #[schema(value_type = Vec<DocumentResponse>)]
    pub(crate) documents: Items<DocumentResponse>,
    /// `cursor` of the next page; null on the last page.
    pub(crate) next: Option<String>,
    /// Whether the page has fewer documents than `limit` because of its size.
    pub(crate) capped: bool,
}

/// Similar documents, most similar first.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct SimilarResponse {
    #[schema(value_type = Vec<SimilarDocument>)]
    pub(crate) similar: Items<SimilarDocument>,
    /// `ok`, or `too_short` if the text has too few words for the collection's preset. Such a text matches only equal texts, except
    /// in `articles`, where it also matches similar texts, and in `headlines`, `wire` and `web`, where it matches nothing.
    pub(crate) status: &'static str,
    /// Whether `status` is `too_short`.
    pub(crate) too_short: bool,
    /// Number of candidates that were examined, as a measure of effort. An index that has already read the texts of crowded buckets
    /// excludes some of them without examining them.
    pub(crate) candidates: usize,
    /// Whether a limit was reached, so that matches may be missing: on candidates, on the size of the texts that are read, or on
    /// the size of the response.
    pub(crate) capped: bool,
}

/// A stored document that matches.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct SimilarDocument {
    pub(crate) id: Id,
    pub(crate) title: Option<String>,
    pub(crate) host: Option<String>,
    /// Similarity from 0 to 1: the exact Jaccard similarity of the preset's shingles if `verified`; otherwise an estimate, such as
    /// 1 - d/64 for a Hamming distance of d bits.
    pub(crate) similarity: f64,
    /// Equal to `similarity`.
    pub(crate) similarity_score: f64,
    /// `exact`, `near` or `similar`.
    pub(crate) match_type: &'static str,
    pub(crate) url: Option<String>,
    pub(crate) published_at: Option<String>,
    /// Whether the match was verified on the documents' features instead of their sketches.
    pub(crate) verified: bool,
    /// Hamming distance of the fingerprints in bits, if both documents have a fingerprint.
    pub(crate) simhash_distance: Option<u32>,
    /// Agreement of the names and numbers of the two texts from 0 to 1; null unless `verified`, and for short texts and shingles
    /// of characters.
    pub(crate) facts: Option<f64>,
    /// Whether the match is a template: the same wording with different names or numbers.
    pub(crate) template: bool,
    /// Relation of the query to the document, if the match is verified: `same`, `contains` (the document is an excerpt), `contained_in`
    /// (the document has more), `updated_by` (the document is a later version), `update_of` (an earlier version) or `overlaps`.
    pub(crate) relation: Option<&'static str>,
    /// Shared passages, if `evidence` was requested and both documents have a text.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    pub(crate) evidence: Option<EvidenceResponse>,
}

impl SimilarDocument {
    /// Converts a match. Texts of passages have at most `max_bytes` in total; `offsets` is the unit of their offsets.
    pub(crate) fn new(
        similar: Similar,
        offsets: OffsetUnit,
        max_bytes: usize,
        choice: EvidenceChoice,
    ) -> SimilarDocument {
        let has_texts = choice == EvidenceChoice::Full;
        let evidence = |evidence| EvidenceResponse::new(&evidence, offsets, max_bytes, has_texts);
        let Match { id, verdict, relation, .. } = similar.found;
        let Verdict { similarity, kind, verified, distance, facts, template } = verdict;
        SimilarDocument {
            id: Id(id),
            title: similar.title,
            host: similar.source,
            similarity: rounded(similarity),
            similarity_score: rounded(similarity),
            match_type: kind.name(),
            url: similar.url,
            published_at: similar.published_at,
            verified,
            simhash_distance: distance,
            facts: facts.map(rounded),
            template,
            relation: relation.map(Relation::name),
            evidence: similar.evidence.map(evidence),
        }
    }
}
