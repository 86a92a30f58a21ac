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
    let in_a = Units::new(a, found.passages.iter().flat_map(|p| [p.a_start, p.a_end]));
    let in_b = Units::new(b, found.passages.iter().flat_map(|p| [p.b_start, p.b_end]));
    let passage = |p: &Passage| SharedPassage {
        a_start: in_a.at(p.a_start),
        a_end: in_a.at(p.a_end),
        b_start: in_b.at(p.b_start),
        b_end: in_b.at(p.b_end),
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
        passages: found.passages.iter().map(passage).collect(),
    }
}

/// Places of a text in both countings, ascending.
struct Units(Vec<(usize, usize)>);

impl Units {
    /// Counts once through the text, whatever the order of the places.
    fn new(content: &Content, bytes: impl Iterator<Item = usize>) -> Units {
        let joined;
        let text = match content {
            Content::Text(text) => text,
            Content::Tokens(tokens) => {
                joined = tokens.join(" ");
                &joined
            }
        };
        let mut bytes: Vec<usize> = bytes.collect();
        bytes.sort_unstable();
        bytes.dedup();
        let (mut from, mut units) = (0, 0);
        let counted = bytes.into_iter().map(|byte| {
            units += text.get(from..byte).map_or(byte - from, |piece| piece.encode_utf16().count());
            from = byte;
            (byte, units)
        });
        Units(counted.collect())
    }

    fn at(&self, byte: usize) -> f64 {
        let found = self.0.binary_search_by_key(&byte, |&(byte, _)| byte);
        found.map_or(byte, |at| self.0[at].1) as f64
    }
}
