//! Comparison of two texts.
//!
//! The analyzer returns offsets in bytes of UTF-8. JavaScript counts UTF-16 units in strings, and tokens in arrays.

use crate::error::CodedError;
use crate::results::relation_name;
use napi::bindgen_prelude::{Either, Null};
use napi_derive::napi;
use sameish::matching::{Difference, OffsetUnit, Passage};
use sameish::{Analyzer, Content, Timestamp};
use std::vec::IntoIter;

/// The measures of a comparison.
#[napi(object)]
#[derive(Clone)]
pub struct Measures {
    /// Exact Jaccard similarity of the shingles.
    pub similarity: f64,
    /// The larger of `containment_a` and `containment_b`.
    pub containment: f64,
    /// Fraction of the first text's shingles that the second text contains.
    pub containment_a: f64,
    /// Fraction of the second text's shingles that the first text contains.
    pub containment_b: f64,
    /// Hamming distance of the fingerprints in bits.
    pub simhash_distance: u32,
    /// Similarity estimated from the signatures.
    pub minhash_similarity: Option<f64>,
    /// `exact`, `near`, `similar` or `different`.
    pub match_type: String,
    /// How far the names and numbers agree; absent for short texts and for shingles of characters.
    pub facts: Either<f64, Null>,
    /// Whether the two are templates: the same wording with different names or numbers.
    pub template: bool,
    /// How the first text relates to the second one; null if they do not match.
    pub relation: Either<String, Null>,
    /// Whether either text has too few words for the settings.
    pub too_short: bool,
    /// Number of words in the first text.
    pub words_a: f64,
    /// Number of words in the second text.
    pub words_b: f64,
    /// Fraction of the first text's words that are in a shared passage.
    pub coverage_a: f64,
    /// Fraction of the second text's words that are in a shared passage.
    pub coverage_b: f64,
    /// Parts in which the two texts differ between passages that they share.
    pub differences: Vec<TextDifference>,
}

/// A passage that occurs in both texts.
#[napi(object)]
pub struct SharedPassage {
    /// Start in the first text.
    pub a_start: f64,
    /// End in the first text, exclusive.
    pub a_end: f64,
    /// Start in the second text.
    pub b_start: f64,
    /// End in the second text, exclusive.
    pub b_end: f64,
    /// Length in words.
    pub tokens: f64,
}

impl From<Passage> for SharedPassage {
    fn from(passage: Passage) -> SharedPassage {
        SharedPassage {
            a_start: passage.a_start as f64,
            a_end: passage.a_end as f64,
            b_start: passage.b_start as f64,
            b_end: passage.b_end as f64,
            tokens: passage.tokens as f64,
        }
    }
}

/// A place where two texts differ.
#[napi(object)]
#[derive(Clone)]
pub struct TextDifference {
    /// Start in the first text.
    pub a_start: f64,
    /// End in the first text, exclusive.
    pub a_end: f64,
    /// Start in the second text.
    pub b_start: f64,
    /// End in the second text, exclusive.
    pub b_end: f64,
    /// `number`, `name` or `text`.
    pub kind: String,
}

impl From<Difference> for TextDifference {
    fn from(difference: Difference) -> TextDifference {
        TextDifference {
            a_start: difference.a_start as f64,
            a_end: difference.a_end as f64,
            b_start: difference.b_start as f64,
            b_end: difference.b_end as f64,
            kind: difference.kind.name().to_owned(),
        }
    }
}

/// Parses the publication dates of two texts. Returns them if both are known.
pub(crate) fn dates(a: Option<&str>, b: Option<&str>) -> Result<Option<[Timestamp; 2]>, CodedError> {
    let parse = |date: Option<&str>, name: &str| {
        let date = date.map(Timestamp::parse).transpose();
        date.map_err(|error| CodedError::from_date(error, name))
    };
    Ok(parse(a, "publishedAtA")?.zip(parse(b, "publishedAtB")?).map(|(a, b)| [a, b]))
}

/// The result of comparing two texts: the measures, and a list of passages to be taken in chunks.
#[napi(js_name = "ComparisonResult")]
pub struct ComparisonResult {
    measures: Measures,
    passages: IntoIter<Passage>,
}

impl ComparisonResult {
    /// Compares two texts, whose dates may be known. Passages have at least `min_tokens` words.
    pub(crate) fn new(
        analyzer: &Analyzer,
        [a, b]: [&Content; 2],
        min_tokens: usize,
        dates: Option<[Timestamp; 2]>,
    ) -> ComparisonResult {
        let comparison = analyzer.compare(a, b, min_tokens);
        let passages = comparison.passages_in(a, b, OffsetUnit::Utf16);
        let measures = Measures {
            similarity: comparison.similarity,
            containment: comparison.containment,
            containment_a: comparison.containment_a,
            containment_b: comparison.containment_b,
            simhash_distance: comparison.simhash_distance,
            minhash_similarity: comparison.minhash_similarity,
            match_type: comparison.match_type.to_string(),
            facts: comparison.facts.map_or(Either::B(Null), Either::A),
            template: comparison.template,
            relation: relation_name(comparison.relation(dates)),
            too_short: comparison.too_short,
            words_a: comparison.words_a as f64,
            words_b: comparison.words_b as f64,
            coverage_a: comparison.coverage_a,
            coverage_b: comparison.coverage_b,
            differences: comparison
                .differences_in(a, b, OffsetUnit::Utf16)
                .into_iter()
                .map(Into::into)
                .collect(),
        };
        ComparisonResult { measures, passages: passages.into_iter() }
    }
}

#[napi]
impl ComparisonResult {
    /// Returns the measures.
    #[napi(getter, catch_unwind)]
    pub fn measures(&self) -> Measures {
        self.measures.clone()
    }

    /// Removes and returns up to `count` passages.
    #[napi(catch_unwind)]
    pub fn take(&mut self, count: u32) -> Vec<SharedPassage> {
        self.passages.by_ref().take(count as usize).map(SharedPassage::from).collect()
    }
}
