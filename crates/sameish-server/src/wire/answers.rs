//! What does a client get for documents and texts?

use super::{Id, rounded};
use crate::problem::ProblemBody;
use sameish::{Comparison, Content, Evidence, Match, Passage, Status, Verdict};
use sameish_store::{Inserted, Outcome, Similar, SimilarDocuments, Stored};
use serde::Serialize;
use utoipa::ToSchema;

/// What became of a document.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct InsertAnswer {
    /// As it was given, or as it was made.
    pub(crate) id: Id,
    /// `created`, `too_short` (created, and too short for the collection's preset), `unchanged` or `replaced`.
    #[schema(example = "created")]
    pub(crate) status: &'static str,
    /// Stored documents that match, the most similar first.
    pub(crate) duplicates: Vec<Duplicate>,
    /// The cluster that it joined or founded; null for a text that is too short.
    pub(crate) cluster: Option<u64>,
    /// Whether the text is too short for the collection's preset.
    pub(crate) too_short: bool,
    /// Whether a limit was hit, so that duplicates may be missing.
    pub(crate) capped: bool,
    /// What is odd: `published_in_future`.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub(crate) warnings: Vec<&'static str>,
}

impl InsertAnswer {
    pub(crate) fn new(inserted: Inserted, warnings: Vec<&'static str>) -> InsertAnswer {
        let Inserted { id, outcome, status, duplicates, cluster, capped, .. } = inserted;
        let too_short = status == Status::TooShort;
        let status = match outcome {
            Outcome::Created if too_short => "too_short",
            outcome => outcome.name(),
        };
        InsertAnswer {
            id: Id(id),
            status,
            duplicates: duplicates.into_iter().map(Duplicate::from).collect(),
            cluster: cluster.map(|cluster| cluster.0),
            too_short,
            capped: capped > 0,
            warnings,
        }
    }

    /// The HTTP status that goes with it.
    pub(crate) fn code(&self) -> u16 {
        if matches!(self.status, "created" | "too_short") { 201 } else { 200 }
    }
}

/// A stored document that matches a new one.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct Duplicate {
    pub(crate) id: Id,
    /// From 0 to 1: the exact Jaccard similarity of the preset's shingles where `verified`.
    pub(crate) similarity_score: f64,
    /// `exact`, `near` or `similar`.
    pub(crate) match_type: &'static str,
    /// Whether it was judged on the documents' own features, not on sketches.
    pub(crate) verified: bool,
    /// In how many bits the fingerprints differ, where both have one.
    pub(crate) simhash_distance: Option<u32>,
    /// From 0 to 1: how far numbers and rare words agree, of a verified match.
    pub(crate) facts: Option<f64>,
    /// Whether the two are of one form with other facts: alike, but no copies.
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

/// One line of the answer to a bulk request.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct BulkLine {
    /// The line of the request, from 1.
    pub(crate) line: u64,
    /// The document's id, where the line could be read.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    pub(crate) id: Option<Id>,
    /// As for one document, or `rejected`.
    pub(crate) status: &'static str,
    /// The HTTP status that the same document would have got by itself.
    pub(crate) http_status: u16,
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    pub(crate) duplicates: Option<Vec<Duplicate>>,
    pub(crate) cluster: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    pub(crate) too_short: Option<bool>,
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    pub(crate) capped: Option<bool>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub(crate) warnings: Vec<&'static str>,
    /// Why it was rejected.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    pub(crate) error: Option<ProblemBody>,
}

impl BulkLine {
    pub(crate) fn stored(line: u64, answer: InsertAnswer) -> BulkLine {
        let http_status = answer.code();
        let InsertAnswer { id, status, duplicates, cluster, too_short, capped, warnings } = answer;
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
pub(crate) struct DocumentAnswer {
    pub(crate) id: Id,
    pub(crate) title: Option<String>,
    /// What is compared.
    pub(crate) text: String,
    pub(crate) url: Option<String>,
    pub(crate) host: Option<String>,
    /// As it was written.
    pub(crate) published_at: Option<String>,
    /// When it came here.
    #[schema(format = DateTime)]
    pub(crate) arrived_at: String,
    /// `ok` or `too_short`.
    pub(crate) status: &'static str,
    /// Words, without stop words where the preset drops them.
    pub(crate) words: u64,
    /// The fingerprint as 16 hex digits, where the preset makes one.
    pub(crate) simhash: Option<String>,
    pub(crate) cluster: Option<u64>,
}

impl From<Stored> for DocumentAnswer {
    fn from(stored: Stored) -> DocumentAnswer {
        let document = stored.document;
        DocumentAnswer {
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

/// The documents that are like another, best first.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct SimilarAnswer {
    pub(crate) similar: Vec<SimilarDocument>,
    /// How many candidates were judged.
    pub(crate) candidates: usize,
    /// Whether a limit was hit, so that matches may be missing.
    pub(crate) capped: bool,
}

impl From<SimilarDocuments> for SimilarAnswer {
    fn from(found: SimilarDocuments) -> SimilarAnswer {
        SimilarAnswer {
            similar: found.similar.into_iter().map(SimilarDocument::from).collect(),
            candidates: found.candidates,
            capped: found.capped > 0,
        }
    }
}

/// A stored document that matches.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct SimilarDocument {
    pub(crate) id: Id,
    pub(crate) title: Option<String>,
    pub(crate) host: Option<String>,
    /// From 0 to 1: the exact Jaccard similarity of the preset's shingles where `verified`; for short articles 1 - d/64.
    pub(crate) similarity_score: f64,
    /// `exact`, `near` or `similar`.
    pub(crate) match_type: &'static str,
    pub(crate) url: Option<String>,
    pub(crate) published_at: Option<String>,
    /// Whether it was judged on the documents' own features, not on sketches.
    pub(crate) verified: bool,
    /// In how many bits the fingerprints differ, where both have one.
    pub(crate) simhash_distance: Option<u32>,
    /// From 0 to 1: how far numbers and rare words agree, of a verified match.
    pub(crate) facts: Option<f64>,
    /// Whether the two are of one form with other facts: alike, but no copies.
    pub(crate) template: bool,
    /// Where it was asked for: what the two share.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    pub(crate) evidence: Option<EvidenceAnswer>,
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
            evidence: similar.evidence.map(EvidenceAnswer::from),
        }
    }
}

/// What two texts share: `a` is the one that was asked about, `b` the one that was found.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct EvidenceAnswer {
    /// Maximal shared passages, in the order of `a`.
    pub(crate) passages: Vec<PassageAnswer>,
    /// The share of a's words that stand in a shared passage.
    pub(crate) coverage_a: f64,
    /// The same for b.
    pub(crate) coverage_b: f64,
    /// Whether there are more passages than are told: the longest 1,000 are.
    pub(crate) capped: bool,
}

impl From<Evidence> for EvidenceAnswer {
    fn from(evidence: Evidence) -> EvidenceAnswer {
        EvidenceAnswer {
            capped: evidence.passages.len() > MAX_PASSAGES,
            passages: longest(&evidence.passages, MAX_PASSAGES).map(PassageAnswer::from).collect(),
            coverage_a: rounded(evidence.coverage_a),
            coverage_b: rounded(evidence.coverage_b),
        }
    }
}

/// Most passages of two texts in an answer. Two long texts of few words share hundreds of thousands, which nobody reads.
pub(crate) const MAX_PASSAGES: usize = 1_000;

/// The longest passages, in their order.
fn longest(passages: &[Passage], most: usize) -> impl Iterator<Item = &Passage> {
    let mut kept: Vec<usize> = (0..passages.len()).collect();
    if kept.len() > most {
        kept.sort_by_key(|&at| std::cmp::Reverse(passages[at].tokens));
        kept.truncate(most);
        kept.sort_unstable();
    }
    kept.into_iter().map(|at| &passages[at])
}

/// A passage that two texts share. Offsets are bytes of UTF-8; ends are behind the last byte.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct PassageAnswer {
    pub(crate) a_start: usize,
    pub(crate) a_end: usize,
    pub(crate) b_start: usize,
    pub(crate) b_end: usize,
    /// How many words long.
    pub(crate) tokens: usize,
}

impl From<&Passage> for PassageAnswer {
    fn from(passage: &Passage) -> PassageAnswer {
        let &Passage { a_start, a_end, b_start, b_end, tokens } = passage;
        PassageAnswer { a_start, a_end, b_start, b_end, tokens }
    }
}

/// Two texts side by side, as the service and the command line tell it.
#[derive(Debug, Serialize, ToSchema)]
pub struct CompareAnswer {
    /// Exact Jaccard similarity of the preset's shingles.
    similarity: f64,
    /// The share of the smaller side's shingles that the other has.
    containment: f64,
    containment_a: f64,
    containment_b: f64,
    /// In how many of 64 bits the fingerprints differ.
    simhash_distance: u32,
    /// What the signatures estimate, where the preset makes them of both.
    minhash_similarity: Option<f64>,
    /// `exact`, `near`, `similar` or `different`.
    match_type: String,
    /// Whether either text is too short for the preset.
    too_short: bool,
    words_a: usize,
    words_b: usize,
    /// The share of a's words that stand in a shared passage.
    coverage_a: f64,
    coverage_b: f64,
    /// Maximal shared passages, in the order of `a`, with their words as `a` writes them.
    passages: Vec<SharedPassage>,
    /// Whether there are more passages than are told: the longest 1,000 are.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    capped: Option<bool>,
}

/// A passage that two texts share, with its words.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct SharedPassage {
    a_start: usize,
    a_end: usize,
    b_start: usize,
    b_end: usize,
    tokens: usize,
    text: String,
}

impl CompareAnswer {
    /// A comparison, with the words of its passages taken from the first text.
    pub fn new(comparison: &Comparison, a: &str) -> CompareAnswer {
        CompareAnswer::of(comparison, a, usize::MAX)
    }

    /// The same with not too many passages, and whether there are more.
    pub(crate) fn bounded(comparison: &Comparison, a: &str) -> CompareAnswer {
        let capped = Some(comparison.passages.len() > MAX_PASSAGES);
        CompareAnswer { capped, ..CompareAnswer::of(comparison, a, MAX_PASSAGES) }
    }

    fn of(comparison: &Comparison, a: &str, most: usize) -> CompareAnswer {
        let shared = |passage: &Passage| {
            let &Passage { a_start, a_end, b_start, b_end, tokens } = passage;
            let text = a.get(a_start..a_end).unwrap_or_default().to_owned();
            SharedPassage { a_start, a_end, b_start, b_end, tokens, text }
        };
        CompareAnswer {
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
            passages: longest(&comparison.passages, most).map(shared).collect(),
            capped: None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_longest_passages_stay_in_their_order() {
        let passage = |a_start, tokens| Passage { a_start, a_end: 0, b_start: 0, b_end: 0, tokens };
        let all: Vec<Passage> =
            [7, 5, 9, 5, 8].into_iter().enumerate().map(|(at, tokens)| passage(at, tokens)).collect();
        let kept = |most| longest(&all, most).map(|passage| passage.a_start).collect::<Vec<_>>();
        assert_eq!(kept(3), [0, 2, 4]);
        assert_eq!(kept(4), [0, 1, 2, 4]);
        assert_eq!(kept(5), [0, 1, 2, 3, 4]);
    }
}
