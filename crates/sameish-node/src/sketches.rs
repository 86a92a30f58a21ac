//! How is it small, for JavaScript?
//!
//! A fingerprint is 16 hex digits, a signature a `Uint32Array`, a sparse code the positions of its set bits.

use crate::fault::{Fault, Result};
use napi::bindgen_prelude::{BigUint64Array, Either, Float64Array, Uint8Array, Uint32Array};
use napi_derive::napi;
use rayon::prelude::*;
use sameish::{Analyzer, Content, MinHasher, Scratch, Signature, SimHasher, Sketches};
use std::cell::RefCell;

/// A text, or tokens that the caller made.
pub(crate) type Text = Either<String, Vec<String>>;

/// The analyzer's word for it.
pub(crate) fn content(text: Text) -> Content {
    match text {
        Either::A(text) => Content::Text(text),
        Either::B(tokens) => Content::Tokens(tokens),
    }
}

/// What an analyzer makes of a text.
#[napi(object)]
pub struct Sketch {
    /// `ok` or `too_short`.
    pub status: String,
    /// Words, without stop words.
    pub words: f64,
    /// The fingerprint.
    pub simhash: Option<String>,
    /// The signature.
    pub minhash: Option<Uint32Array>,
    /// Set bits of the sparse code.
    pub sdr: Option<Uint32Array>,
}

impl From<Sketches> for Sketch {
    fn from(sketches: Sketches) -> Sketch {
        Sketch {
            status: sketches.status.to_string(),
            words: sketches.words as f64,
            simhash: sketches.simhash.map(|print| print.to_hex()),
            minhash: sketches.minhash.map(|signature| signature.rows().into()),
            sdr: sketches.sdr.map(|code| code.active().into()),
        }
    }
}

/// Lends the buffers of this thread.
pub(crate) fn with_scratch<T>(work: impl FnOnce(&mut Scratch) -> T) -> T {
    thread_local! {
        static SCRATCH: RefCell<Scratch> = RefCell::default();
    }
    SCRATCH.with_borrow_mut(work)
}

/// The sketches of many texts, by all cores, in order.
pub(crate) fn sketch_all(analyzer: &Analyzer, contents: &[Content]) -> Vec<Sketches> {
    contents.par_iter().map(|content| with_scratch(|scratch| analyzer.sketch(content, scratch))).collect()
}

/// The fingerprint of features that JavaScript hashed.
#[napi(js_name = "simHashOf", catch_unwind)]
pub fn sim_hash_of(features: BigUint64Array, weights: Option<Float64Array>) -> Result<String> {
    let print = match weights {
        None => SimHasher.sketch(&features),
        Some(weights) => {
            let weighted = features.iter().copied().zip(weights.iter().copied());
            SimHasher.sketch_weighted(weighted).map_err(Fault::from)?
        }
    };
    Ok(print.to_hex())
}

/// The signature of features that JavaScript hashed; none of no features.
#[napi(js_name = "minHashOf", catch_unwind)]
pub fn min_hash_of(rows: u32, features: BigUint64Array) -> Result<Option<Uint32Array>> {
    let hasher = MinHasher::new(rows).map_err(Fault::from)?;
    Ok(hasher.sketch(&features).map(|signature| signature.rows().into()))
}

/// The share of rows in which two signatures agree.
#[napi(js_name = "minHashSimilarity", catch_unwind)]
pub fn min_hash_similarity(a: Uint32Array, b: Uint32Array) -> Result<f64> {
    let signature = |rows: &[u32]| Signature::from_rows(rows).map_err(Fault::from);
    Ok(signature(&a)?.estimate(&signature(&b)?).map_err(Fault::from)?)
}

/// The bytes of a signature as they are stored: four a row, the lowest first.
#[napi(js_name = "minHashToBytes", catch_unwind)]
pub fn min_hash_to_bytes(rows: Uint32Array) -> Result<Uint8Array> {
    Ok(Signature::from_rows(&rows[..]).map_err(Fault::from)?.to_bytes().into())
}

/// The signature that was stored as these bytes.
#[napi(js_name = "minHashFromBytes", catch_unwind)]
pub fn min_hash_from_bytes(bytes: Uint8Array) -> Result<Uint32Array> {
    Ok(Signature::from_bytes(&bytes).map_err(Fault::from)?.rows().into())
}
