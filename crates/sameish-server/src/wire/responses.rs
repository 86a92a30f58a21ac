//! Responses about documents, matches and comparisons.

use super::{Id, rounded};
use crate::memory::BufferedBytes;
use crate::problem::ProblemBody;
use crate::response::{BoundedList, Items};
use sameish::matching::{Evidence, Passage};
use sameish::{Comparison, Content, Match, Status, Verdict};
use sameish_store::{Inserted, Outcome, Similar, Stored};
use serde::Serialize;
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
    /// Cluster of the document; null if the text is too short.
    pub(crate) cluster: Option<u64>,
    /// Whether the text is too short for the collection's preset.
    pub(crate) too_short: bool,
    /// Whether a limit was reached, so that duplicates may be missing.
    pub(crate) capped: bool,
    /// Suspicious values: `published_in_future`.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub(crate) warnings: Vec<&'static str>,
}

impl InsertResponse {
    /// Converts the result of an insertion. `list` has the memory for the duplicates; those that do not fit are left out, because
    /// the document is stored and the response must not fail.
    pub(crate) fn new(
        inserted: Inserted,
        warnings: Vec<&'static str>,
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
const MAX_INSERT_BYTES: usize = MAX_ID_BYTES + 512;
/// Maximum size of a [`Duplicate`] as JSON in bytes.
const MAX_DUPLICATE_BYTES: usize = MAX_ID_BYTES + 256;

/// A stored document that matches a new one.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct Duplicate {
    pub(crate) id: Id,
    /// Similarity from 0 to 1: the exact Jaccard similarity of the preset's shingles if `verified`.
    pub(crate) similarity_score: f64,
    /// `exact`, `near` or `similar`.
    pub(crate) match_type: &'static str,
    /// Whether the match was verified on the documents' features instead of their sketches.
    pub(crate) verified: bool,
    /// Hamming distance of the fingerprints in bits, if both documents have a fingerprint.
    pub(crate) simhash_distance: Option<u32>,
    /// Agreement of the names and numbers of the two texts from 0 to 1, for verified matches.
    pub(crate) facts: Option<f64>,
    /// Whether the documents are a template: the same wording with different names or numbers.
    pub(crate) template: bool,
}

impl From<Match> for Duplicate {
    fn from(found: Match) -> Duplicate {
        let Match { id, verdict, .. } = found;
        let Verdict { similarity, kind, verified, distance, facts, template } = verdict;
        Duplicate {
            id: Id(id),
            similarity_score: rounded(similarity),
            match_type: kind.name(),
            verified,
            simhash_distance: distance,
            facts: facts.map(rounded),
            template,
        }
    }
}

/// One line of the response to a bulk request.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct BulkLine {
    /// Number of the line in the request, from 1.
    pub(crate) line: u64,
    /// Id of the document, if the line is valid.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    pub(crate) id: Option<Id>,
    /// Status, as in the response to a request with this document alone, or `rejected`.
    pub(crate) status: &'static str,
    /// HTTP status code that a request with this document alone would get.
    pub(crate) http_status: u16,
    /// Stored documents that match, most similar first.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false, value_type = Option<Vec<Duplicate>>)]
    pub(crate) duplicates: Option<Items<Duplicate>>,
    /// Cluster of the document; null if the text is too short.
    pub(crate) cluster: Option<u64>,
    /// Whether the text is too short for the collection's preset.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    pub(crate) too_short: Option<bool>,
    /// Whether a limit was reached, so that duplicates may be missing.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    pub(crate) capped: Option<bool>,
    /// Suspicious values: `published_in_future`.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub(crate) warnings: Vec<&'static str>,
    /// Why the line was rejected.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    pub(crate) error: Option<ProblemBody>,
}

impl BulkLine {
    pub(crate) fn stored(line: u64, response: InsertResponse) -> BulkLine {
        let http_status = response.status_code();
        let InsertResponse { id, status, duplicates, cluster, too_short, capped, warnings } = response;
        BulkLine {
            line,
            id: Some(id),
            status,
            http_status,
            duplicates: Some(duplicates),
            cluster,
            too_short: Some(too_short),
            capped: Some(capped),
            warnings,
            error: None,
        }
    }

    /// Returns the line with its end.
    pub(crate) fn to_json(&self) -> Vec<u8> {
        let mut bytes = serde_json::to_vec(self).unwrap_or_default();
        bytes.push(b'\n');
        bytes
    }

    pub(crate) fn rejected(line: u64, id: Option<Id>, error: ProblemBody) -> BulkLine {
        BulkLine {
            line,
            id,
            status: "rejected",
            http_status: error.status,
            duplicates: None,
            cluster: None,
            too_short: None,
            capped: None,
            warnings: Vec::new(),
            error: Some(error),
        }
    }
}

/// A stored document.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct DocumentResponse {
    pub(crate) id: Id,
    pub(crate) title: Option<String>,
    /// Text to compare.
    pub(crate) text: String,
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
    pub(crate) cluster: Option<u64>,
}

impl From<Stored> for DocumentResponse {
    fn from(stored: Stored) -> DocumentResponse {
        let document = stored.document;
        DocumentResponse {
            id: Id(document.id),
            title: document.title,
            text: match document.content {
                Content::Text(text) => text,
                Content::Tokens(tokens) => tokens.join(" "),
            },
            url: document.url,
            host: document.source,
            published_at: document.published_at,
            arrived_at: stored.arrived_at.to_string(),
            status: stored.status.name(),
            words: stored.words,
            simhash: stored.simhash.map(|simhash| simhash.to_string()),
            cluster: stored.cluster.map(|cluster| cluster.0),
        }
    }
}

/// Similar documents, most similar first.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct SimilarResponse {
    #[schema(value_type = Vec<SimilarDocument>)]
    pub(crate) similar: Items<SimilarDocument>,
    /// Number of candidates that were compared.
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
    pub(crate) similarity_score: f64,
    /// `exact`, `near` or `similar`.
    pub(crate) match_type: &'static str,
    pub(crate) url: Option<String>,
    pub(crate) published_at: Option<String>,
    /// Whether the match was verified on the documents' features instead of their sketches.
    pub(crate) verified: bool,
    /// Hamming distance of the fingerprints in bits, if both documents have a fingerprint.
    pub(crate) simhash_distance: Option<u32>,
    /// Agreement of the names and numbers of the two texts from 0 to 1, for verified matches.
    pub(crate) facts: Option<f64>,
    /// Whether the documents are a template: the same wording with different names or numbers.
    pub(crate) template: bool,
    /// Shared passages, if `evidence` was requested.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    pub(crate) evidence: Option<EvidenceResponse>,
}

impl From<Similar> for SimilarDocument {
    fn from(similar: Similar) -> SimilarDocument {
        let Match { id, verdict, .. } = similar.found;
        let Verdict { similarity, kind, verified, distance, facts, template } = verdict;
        SimilarDocument {
            id: Id(id),
            title: similar.title,
            host: similar.source,
            similarity_score: rounded(similarity),
            match_type: kind.name(),
            url: similar.url,
            published_at: similar.published_at,
            verified,
            simhash_distance: distance,
            facts: facts.map(rounded),
            template,
            evidence: similar.evidence.map(EvidenceResponse::from),
        }
    }
}

/// Passages that two texts share: `a` is the text of the query, `b` the text of the match.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct EvidenceResponse {
    /// Maximal shared passages, in the order of `a`.
    pub(crate) passages: Vec<PassageResponse>,
    /// Fraction of the words of `a` that are in a shared passage.
    pub(crate) coverage_a: f64,
    /// Fraction of the words of `b` that are in a shared passage.
    pub(crate) coverage_b: f64,
    /// Whether only the longest 1,000 passages are listed.
    pub(crate) capped: bool,
}

impl From<Evidence> for EvidenceResponse {
    fn from(evidence: Evidence) -> EvidenceResponse {
        EvidenceResponse {
            capped: evidence.passages.len() > MAX_PASSAGES,
            passages: longest(&evidence.passages, MAX_PASSAGES).map(PassageResponse::from).collect(),
            coverage_a: rounded(evidence.coverage_a),
            coverage_b: rounded(evidence.coverage_b),
        }
    }
}

/// Maximum number of passages in a response. Two long texts with a small vocabulary can share hundreds of thousands.
pub(crate) const MAX_PASSAGES: usize = 1_000;

/// Returns how many passages, longest first, have texts of `max_bytes` in total, and at least 1. Passages may overlap, so
/// their texts together may be much longer than the text that contains them.
fn passages_within(passages: &[Passage], max_bytes: usize) -> usize {
    let mut longest: Vec<&Passage> = passages.iter().collect();
    longest.sort_by_key(|passage| std::cmp::Reverse(passage.tokens));
    let mut bytes = 0;
    let fits = |passage: &&&Passage| {
        bytes += passage.a_end.saturating_sub(passage.a_start);
        bytes <= max_bytes
    };
    longest.iter().take_while(fits).count().max(1)
}

/// Returns the longest `max` passages in their original order.
fn longest(passages: &[Passage], max: usize) -> impl Iterator<Item = &Passage> {
    let mut kept: Vec<usize> = (0..passages.len()).collect();
    if kept.len() > max {
        kept.sort_by_key(|&at| std::cmp::Reverse(passages[at].tokens));
        kept.truncate(max);
        kept.sort_unstable();
    }
    kept.into_iter().map(|at| &passages[at])
}

/// A passage that two texts share. Offsets are in bytes of UTF-8; ends are exclusive.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct PassageResponse {
    pub(crate) a_start: usize,
    pub(crate) a_end: usize,
    pub(crate) b_start: usize,
    pub(crate) b_end: usize,
    /// Length in words.
    pub(crate) tokens: usize,
}

impl From<&Passage> for PassageResponse {
    fn from(passage: &Passage) -> PassageResponse {
        let &Passage { a_start, a_end, b_start, b_end, tokens } = passage;
        PassageResponse { a_start, a_end, b_start, b_end, tokens }
    }
}

/// A comparison of two texts, as the service and the command line return it.
#[derive(Debug, Serialize, ToSchema)]
pub struct CompareResponse {
    /// Exact Jaccard similarity of the preset's shingles.
    similarity: f64,
    /// Fraction of the smaller text's shingles that the other text contains.
    containment: f64,
    /// Fraction of the shingles of `a` that `b` contains.
    containment_a: f64,
    /// Fraction of the shingles of `b` that `a` contains.
    containment_b: f64,
    /// Hamming distance of the SimHash fingerprints in bits, 0 to 64.
    simhash_distance: u32,
    /// Similarity estimated from MinHash signatures, if the preset computes them for both texts.
    minhash_similarity: Option<f64>,
    /// `exact`, `near`, `similar` or `different`.
    match_type: String,
    /// Whether either text is too short for the preset.
    too_short: bool,
    words_a: usize,
    words_b: usize,
    /// Fraction of the words of `a` that are in a shared passage.
    coverage_a: f64,
    /// Fraction of the words of `b` that are in a shared passage.
    coverage_b: f64,
    /// Maximal shared passages in the order of `a`, with their text in `a`.
    passages: Vec<SharedPassage>,
    /// Whether only the longest 1,000 passages are listed.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    capped: Option<bool>,
}

/// A passage that two texts share, with its text. Offsets are in bytes of UTF-8; ends are exclusive.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct SharedPassage {
    a_start: usize,
    a_end: usize,
    b_start: usize,
    b_end: usize,
    /// Length in words.
    tokens: usize,
    text: String,
}

impl CompareResponse {
    /// Converts a comparison; `a` is the first text, from which the text of the passages is taken.
    pub fn new(comparison: &Comparison, a: &str) -> CompareResponse {
        CompareResponse::with_passages(comparison, a, usize::MAX)
    }

    /// Converts a comparison, with at most [`MAX_PASSAGES`] passages and `max_bytes` of their texts.
    pub(crate) fn limited(comparison: &Comparison, a: &str, max_bytes: usize) -> CompareResponse {
        let fitting = passages_within(&comparison.passages, max_bytes).min(MAX_PASSAGES);
        let capped = Some(comparison.passages.len() > fitting);
        CompareResponse { capped, ..CompareResponse::with_passages(comparison, a, fitting) }
    }

    fn with_passages(comparison: &Comparison, a: &str, max: usize) -> CompareResponse {
        let shared = |passage: &Passage| {
            let &Passage { a_start, a_end, b_start, b_end, tokens } = passage;
            let text = a.get(a_start..a_end).unwrap_or_default().to_owned();
            SharedPassage { a_start, a_end, b_start, b_end, tokens, text }
        };
        CompareResponse {
            similarity: rounded(comparison.similarity),
            containment: rounded(comparison.containment),
            containment_a: rounded(comparison.containment_a),
            containment_b: rounded(comparison.containment_b),
            simhash_distance: comparison.simhash_distance,
            minhash_similarity: comparison.minhash_similarity.map(rounded),
            match_type: comparison.match_type.to_string(),
            too_short: comparison.too_short,
            words_a: comparison.words_a,
            words_b: comparison.words_b,
            coverage_a: rounded(comparison.coverage_a),
            coverage_b: rounded(comparison.coverage_b),
            passages: longest(&comparison.passages, max).map(shared).collect(),
            capped: None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keeps_the_longest_passages_in_order() {
        let passage = |a_start, tokens| Passage { a_start, a_end: 0, b_start: 0, b_end: 0, tokens };
        let all: Vec<Passage> =
            [7, 5, 9, 5, 8].into_iter().enumerate().map(|(at, tokens)| passage(at, tokens)).collect();
        let kept = |max| longest(&all, max).map(|passage| passage.a_start).collect::<Vec<_>>();
        assert_eq!(kept(3), [0, 2, 4]);
        assert_eq!(kept(4), [0, 1, 2, 4]);
        assert_eq!(kept(5), [0, 1, 2, 3, 4]);
    }
}
