//! Shared passages, and comparisons of two texts.

use super::rounded;
use crate::memory::BufferedBytes;
use crate::problem::Problem;
use crate::response::{BoundedList, Items, ListedItems};
use sameish::matching::{Difference, OffsetUnit, Passage, Relation};
use sameish::{Comparison, Timestamp};
use sameish_store::SimilarEvidence;
use serde::Serialize;
use utoipa::ToSchema;

/// Passages that two texts share: `a` is the text of the query, `b` the text of the match.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct EvidenceResponse {
    /// Maximal shared passages in the order of `a`, with their text in `a` unless only offsets were requested.
    pub(crate) passages: Vec<SharedPassage>,
    /// Fraction of the words of `a` that are in a shared passage.
    pub(crate) coverage_a: f64,
    /// Fraction of the words of `b` that are in a shared passage.
    pub(crate) coverage_b: f64,
    /// Whether only the longest passages are listed: at most 1,000, and not more than fit in a response.
    pub(crate) capped: bool,
    /// Parts in which the two texts differ between passages that they share, in the order of the texts; at most 1,000. Absent if only
    /// offsets were requested.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    pub(crate) differences: Option<Vec<DifferenceResponse>>,
}

impl EvidenceResponse {
    /// Converts the evidence of a match, with at most [`MAX_PASSAGES`] passages and `max_bytes` of their texts.
    pub(crate) fn new(
        similar: &SimilarEvidence,
        offsets: OffsetUnit,
        max_bytes: usize,
        has_texts: bool,
    ) -> EvidenceResponse {
        let SimilarEvidence { evidence, query, text } = similar;
        let fitting = if has_texts { passages_within(&evidence.passages, max_bytes) } else { usize::MAX };
        let fitting = fitting.min(MAX_PASSAGES);
        let mut passages = shared_passages(&evidence.passages, fitting, query, text, offsets);
        if !has_texts {
            passages.iter_mut().for_each(|passage| passage.text = None);
        }
        let differing = || offsets.convert_differences(&evidence.differences, query.as_ref(), text.as_str());
        EvidenceResponse {
            capped: evidence.passages.len() > fitting,
            passages,
            coverage_a: rounded(evidence.coverage_a),
            coverage_b: rounded(evidence.coverage_b),
            differences: has_texts.then(|| differences(differing())),
        }
    }
}

/// A place where two texts differ. Offsets are in the requested unit, by default bytes of UTF-8; ends are exclusive. The range
/// is empty where the other text has additional words.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct DifferenceResponse {
    a_start: usize,
    a_end: usize,
    b_start: usize,
    b_end: usize,
    /// `number`, `name` or `text`.
    kind: &'static str,
}

fn differences(found: Vec<Difference>) -> Vec<DifferenceResponse> {
    let converted = found.into_iter().map(|Difference { a_start, a_end, b_start, b_end, kind }| {
        DifferenceResponse { a_start, a_end, b_start, b_end, kind: kind.name() }
    });
    converted.collect()
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
    /// How far the names and numbers of the two texts agree, from 0 to 1; `null` for short texts and for shingles of characters.
    facts: Option<f64>,
    /// Whether the match is a template: the same wording with different names or numbers.
    template: bool,
    /// Relation of `a` to `b`: `same`, `contains`, `contained_in`, `update_of`, `updated_by` (only if both dates are known) or
    /// `overlaps`; `null` if the texts do not match.
    relation: Option<&'static str>,
    /// Whether either text is too short for the preset.
    too_short: bool,
    words_a: usize,
    words_b: usize,
    /// Fraction of the words of `a` that are in a shared passage.
    coverage_a: f64,
    /// Fraction of the words of `b` that are in a shared passage.
    coverage_b: f64,
    /// Maximal shared passages in the order of `a`, with their text in `a`.
    #[schema(value_type = Vec<SharedPassage>)]
    passages: Items<SharedPassage>,
    /// Whether only the longest 1,000 passages are listed.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    capped: Option<bool>,
    /// Parts in which the two texts differ between passages that they share, in the order of the texts; at most 1,000.
    differences: Vec<DifferenceResponse>,
}

/// A passage that two texts share, with its text. Offsets are in the requested unit, by default bytes of UTF-8; ends are
/// exclusive.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct SharedPassage {
    a_start: usize,
    a_end: usize,
    b_start: usize,
    b_end: usize,
    /// Length in words.
    tokens: usize,
    /// Absent if only offsets were requested.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    text: Option<String>,
}

/// Returns the longest `max` passages in their original order, with their texts, which are parts of `a`.
fn shared_passages(
    passages: &[Passage],
    max: usize,
    a: &str,
    b: &str,
    offsets: OffsetUnit,
) -> Vec<SharedPassage> {
    let in_bytes: Vec<Passage> = longest(passages, max).copied().collect();
    let converted = offsets.convert(&in_bytes, a, b);
    let shared = in_bytes.iter().zip(converted).map(|(bytes, converted)| {
        let Passage { a_start, a_end, b_start, b_end, tokens } = converted;
        let text = a.get(bytes.a_start..bytes.a_end).unwrap_or_default().to_owned();
        SharedPassage { a_start, a_end, b_start, b_end, tokens, text: Some(text) }
    });
    shared.collect()
}

/// Two texts that were compared, and the unit of offsets in them.
#[derive(Clone, Copy)]
pub(crate) struct ComparedTexts<'a> {
    pub(crate) a: &'a str,
    pub(crate) b: &'a str,
    /// The dates of the texts, if both are known.
    pub(crate) dates: Option<[Timestamp; 2]>,
    pub(crate) offsets: OffsetUnit,
}

impl CompareResponse {
    /// Converts a comparison of the texts `a` and `b`. The text of a passage is its text in `a`.
    pub fn new(comparison: &Comparison, a: &str, b: &str, offsets: OffsetUnit) -> CompareResponse {
        let passages = shared_passages(&comparison.passages, usize::MAX, a, b, offsets);
        let texts = ComparedTexts { a, b, dates: None, offsets };
        CompareResponse::with_passages(comparison, texts, passages.into(), None)
    }

    /// Converts a comparison, with at most [`MAX_PASSAGES`] passages, as many as the list takes. Returns the memory of the
    /// passages.
    pub(crate) fn limited(
        comparison: &Comparison,
        texts: ComparedTexts<'_>,
        mut list: BoundedList<SharedPassage>,
    ) -> Result<(CompareResponse, BufferedBytes), Problem> {
        let ComparedTexts { a, b, offsets, .. } = texts;
        let all = &comparison.passages;
        let fitting = passages_within(all, list.max_bytes()).min(MAX_PASSAGES);
        for passage in shared_passages(all, fitting, a, b, offsets) {
            if list.push(passage).is_break() {
                break;
            }
        }
        let ListedItems { items, capped, buffered } = list.finish()?;
        let capped = Some(capped || all.len() > fitting);
        Ok((CompareResponse::with_passages(comparison, texts, items, capped), buffered))
    }

    fn with_passages(
        comparison: &Comparison,
        ComparedTexts { a, b, dates, offsets }: ComparedTexts<'_>,
        passages: Items<SharedPassage>,
        capped: Option<bool>,
    ) -> CompareResponse {
        CompareResponse {
            similarity: rounded(comparison.similarity),
            containment: rounded(comparison.containment),
            containment_a: rounded(comparison.containment_a),
            containment_b: rounded(comparison.containment_b),
            simhash_distance: comparison.simhash_distance,
            minhash_similarity: comparison.minhash_similarity.map(rounded),
            match_type: comparison.match_type.to_string(),
            facts: comparison.facts.map(rounded),
            template: comparison.template,
            relation: comparison.relation(dates).map(Relation::name),
            too_short: comparison.too_short,
            words_a: comparison.words_a,
            words_b: comparison.words_b,
            coverage_a: rounded(comparison.coverage_a),
            coverage_b: rounded(comparison.coverage_b),
            passages,
            capped,
            differences: differences(comparison.differences_in(a, b, offsets)),
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
