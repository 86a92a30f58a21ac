//! Two texts side by side, with places that JavaScript can cut at.
//!
//! The engine counts bytes of UTF-8, JavaScript counts units of UTF-16.

use napi_derive::napi;
use sameish::{Content, Engine, Passage};

/// Everything that can be said of two texts.
#[napi(object)]
pub struct Comparison {
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
    /// Passages that both have.
    pub passages: Vec<SharedPassage>,
}

/// A passage that both texts have, in units of UTF-16.
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

/// Compares, and counts places anew.
pub(crate) fn compare(engine: &Engine, a: &Content, b: &Content, min_tokens: usize) -> Comparison {
    let found = engine.compare(a, b, min_tokens);
    let passages = found.passages_in(a, b, |piece| piece.encode_utf16().count());
    let passage = |p: &Passage| SharedPassage {
        a_start: p.a_start as f64,
        a_end: p.a_end as f64,
        b_start: p.b_start as f64,
        b_end: p.b_end as f64,
        tokens: p.tokens as f64,
    };
    Comparison {
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
        passages: passages.iter().map(passage).collect(),
    }
}
