//! Sketches in JavaScript: a fingerprint is a string of 16 hex digits, a signature a `Uint32Array` of its rows, a sparse code
//! a `Uint32Array` of the positions of its set bits.

use crate::error::{CodedError, Result};
use napi::bindgen_prelude::{BigUint64Array, Either, Float64Array, Uint8Array, Uint32Array};
use napi_derive::napi;
use rayon::prelude::*;
use sameish::analyzer::Sketches;
use sameish::sketch::{MinHasher, SimHasher};
use sameish::{Analyzer, Content, Scratch, Signature};

/// A text, or a list of tokens from the caller's own tokenizer.
pub(crate) type Text = Either<String, Vec<String>>;

/// Converts a text or tokens to the content of a document.
pub(crate) fn content(text: Text) -> Content {
    match text {
        Either::A(text) => Content::Text(text),
        Either::B(tokens) => Content::Tokens(tokens),
    }
}

/// The sketches of a text.
#[napi(object)]
pub struct Sketch {
    /// `ok` or `too_short`.
    pub status: String,
    /// Number of words, without stop words.
    pub words: f64,
    /// Fingerprint.
    pub simhash: Option<String>,
    /// Signature.
    pub minhash: Option<Uint32Array>,
    /// Positions of the set bits of the sparse code.
    pub sdr: Option<Uint32Array>,
}

impl From<Sketches> for Sketch {
    fn from(sketches: Sketches) -> Sketch {
        Sketch {
            status: sketches.status.to_string(),
            words: sketches.words as f64,
            simhash: sketches.simhash.map(|fingerprint| fingerprint.to_hex()),
            minhash: sketches.minhash.map(|signature| signature.rows().into()),
            sdr: sketches.sdr.map(|code| code.active().into()),
        }
    }
}

/// Sketches many texts on all cores. Returns the sketches in the order of the texts.
pub(crate) fn sketch_all(analyzer: &Analyzer, contents: &[Content]) -> Vec<Sketch> {
    let sketch = |content| Scratch::with_thread_local(|scratch| analyzer.sketch(content, scratch));
    let sketches: Vec<Sketches> = contents.par_iter().map(sketch).collect();
    sketches.into_iter().map(Sketch::from).collect()
}

/// Computes the fingerprint of features that the caller hashed.
#[napi(js_name = "simHashFeatures", catch_unwind)]
pub fn sim_hash_features(features: BigUint64Array, weights: Option<Float64Array>) -> Result<String> {
    let fingerprint = match weights {
        None => SimHasher.sketch(&features),
        Some(weights) => {
            let weighted = features.iter().copied().zip(weights.iter().copied());
            SimHasher.sketch_weighted(weighted).map_err(CodedError::from)?
        }
    };
    Ok(fingerprint.to_hex())
}

/// Computes the signature of features that the caller hashed. Returns `null` if there are none.
#[napi(js_name = "minHashFeatures", catch_unwind)]
pub fn min_hash_features(rows: u32, features: BigUint64Array) -> Result<Option<Uint32Array>> {
    let hasher = MinHasher::new(rows).map_err(CodedError::from)?;
    Ok(hasher.sketch(&features).map(|signature| signature.rows().into()))
}

/// Returns the fraction of rows in which two signatures agree.
#[napi(js_name = "minHashSimilarity", catch_unwind)]
pub fn min_hash_similarity(a: Uint32Array, b: Uint32Array) -> Result<f64> {
    Ok(signature(&a)?.estimate(&signature(&b)?).map_err(CodedError::from)?)
}

/// Converts a signature to its stored form: 4 little-endian bytes per row.
#[napi(js_name = "minHashToBytes", catch_unwind)]
pub fn min_hash_to_bytes(rows: Uint32Array) -> Result<Uint8Array> {
    Ok(signature(&rows)?.to_bytes().into())
}

/// Converts a signature from its stored form.
#[napi(js_name = "minHashFromBytes", catch_unwind)]
pub fn min_hash_from_bytes(bytes: Uint8Array) -> Result<Uint32Array> {
    Ok(Signature::from_bytes(&bytes).map_err(CodedError::from)?.rows().into())
}

fn signature(rows: &[u32]) -> Result<Signature, CodedError> {
    Ok(Signature::from_rows(rows)?)
}
