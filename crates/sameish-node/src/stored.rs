//! Sketches in their stored form, which carries its kind, its scheme and a checksum.

use crate::error::{CodedError, Result};
use napi::bindgen_prelude::{Uint8Array, Uint32Array};
use napi_derive::napi;
use sameish::sketch::{SchemeId, Stored, decode_sketch, encode_sketch};
use sameish::{Fingerprint, Sdr, Signature};

/// One sketch.
#[napi(object)]
pub struct StoredSketch {
    /// Fingerprint.
    pub simhash: Option<String>,
    /// Rows of a signature.
    pub minhash: Option<Uint32Array>,
    /// Positions of the set bits of a sparse code.
    pub sdr: Option<Uint32Array>,
    /// Size of the sparse code in bits.
    pub size: Option<u32>,
}

/// Encodes a sketch. `lib/stored.cjs` makes sure that there is exactly one.
#[napi(js_name = "encodeSketch", catch_unwind)]
pub fn encode(sketch: StoredSketch, scheme: String) -> Result<Uint8Array> {
    Ok(encode_sketch(&read(sketch)?, scheme_id(&scheme)?).into())
}

/// Decodes a sketch with the expected scheme.
#[napi(js_name = "decodeSketch", catch_unwind)]
pub fn decode(bytes: Uint8Array, scheme: String) -> Result<StoredSketch> {
    let none = StoredSketch { simhash: None, minhash: None, sdr: None, size: None };
    Ok(match decode_sketch(&bytes, scheme_id(&scheme)?).map_err(CodedError::from)? {
        Stored::Fingerprint(fingerprint) => StoredSketch { simhash: Some(fingerprint.to_hex()), ..none },
        Stored::Signature(signature) => StoredSketch { minhash: Some(signature.rows().into()), ..none },
        Stored::Sdr(code) => {
            StoredSketch { sdr: Some(code.active().into()), size: Some(code.size()), ..none }
        }
    })
}

fn read(sketch: StoredSketch) -> Result<Stored, CodedError> {
    let StoredSketch { simhash, minhash, sdr, size } = sketch;
    if let Some(hex) = simhash {
        return Ok(Stored::Fingerprint(Fingerprint::from_hex(&hex)?));
    }
    if let Some(rows) = minhash {
        return Ok(Stored::Signature(Signature::from_rows(&*rows)?));
    }
    let active = sdr.map(|active| active.to_vec()).unwrap_or_default();
    Ok(Stored::Sdr(Sdr::from_active(size.unwrap_or_default(), active)?))
}

fn scheme_id(hex: &str) -> Result<SchemeId, CodedError> {
    Ok(SchemeId::from_hex(hex)?)
}
