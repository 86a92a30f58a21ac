//! Two texts side by side, with places that JavaScript can cut at.
//!
//! The analyzer counts bytes of UTF-8, JavaScript counts units of UTF-16 in strings, and tokens in arrays of them.

use napi_derive::napi;
use sameish::{Analyzer, Content, Passage};
use std::vec::IntoIter;

/// What can be said of two texts in numbers.
#[napi(object)]
#[derive(Clone)]
pub struct Measures {
    /// Exact Jaccard similarity of the preset's shingles.
    pub similarity: f64,
    /// The share of the smaller side's shingles that the other has.
    pub containment: f64,
    /// The share of the first text's shingles that the second has.
    pub containment_a: f64,
    /// The share of the second text's shingles that the first has.
    pub containment_b: f64,
    /// Bits in which the fingerprints differ.
    pub simhash_distance: u32,
    /// What the signatures estimate.
    pub minhash_similarity: Option<f64>,
    /// `exact`, `near`, `similar` or `different`.
    pub match_type: String,
    /// Whether either text is too short for the preset.
    pub too_short: bool,
    /// Words of the first text.
    pub words_a: f64,
    /// Words of the second text.
    pub words_b: f64,
    /// Share of the first text's words in shared passages.
    pub coverage_a: f64,
    /// Share of the second text's words in shared passages.
    pub coverage_b: f64,
}

/// A passage that both texts have.
#[napi(object)]
pub struct SharedPassage {
    /// Where it begins in the first text.
    pub a_start: f64,
    /// Where it ends in the first text.
    pub a_end: f64,
    /// Where it begins in the second text.
    pub b_start: f64,
    /// Where it ends in the second text.
    pub b_end: f64,
    /// How many words long.
    pub tokens: f64,
}

impl From<&Passage> for SharedPassage {
    fn from(passage: &Passage) -> SharedPassage {
        SharedPassage {
            a_start: passage.a_start as f64,
            a_end: passage.a_end as f64,
            b_start: passage.b_start as f64,
            b_end: passage.b_end as f64,
            tokens: passage.tokens as f64,
        }
    }
}

/// Everything that can be said of two texts; passages wait to be taken.
#[napi(js_name = "Compared")]
pub struct Compared {
    measures: Measures,
    passages: IntoIter<Passage>,
}

impl Compared {
    /// Compares, and counts places anew.
    pub(crate) fn of(analyzer: &Analyzer, a: &Content, b: &Content, min_tokens: usize) -> Compared {
        let found = analyzer.compare(a, b, min_tokens);
        let passages = found.passages_in(a, b, |piece| piece.encode_utf16().count());
        let measures = Measures {
            similarity: found.similarity,
            containment: found.containment,
            containment_a: found.containment_a,
            containment_b: found.containment_b,
            simhash_distance: found.simhash_distance,
            minhash_similarity: found.minhash_similarity,
            match_type: found.match_type.to_string(),
            too_short: found.too_short,
            words_a: found.words_a as f64,
            words_b: found.words_b as f64,
            coverage_a: found.coverage_a,
            coverage_b: found.coverage_b,
        };
        Compared { measures, passages: passages.into_iter() }
    }
}

#[napi]
impl Compared {
    /// Everything but the passages.
    #[napi(getter, catch_unwind)]
    pub fn measures(&self) -> Measures {
        self.measures.clone()
    }

    /// The next so many passages that both have; none at the end.
    #[napi(catch_unwind)]
    pub fn take(&mut self, count: u32) -> Vec<SharedPassage> {
        self.passages.by_ref().take(count as usize).map(|passage| SharedPassage::from(&passage)).collect()
    }
}
