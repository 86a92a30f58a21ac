//! Conversion of document ids.
//!
//! An id is a string, a number or a BigInt in JavaScript. `7` and `"7"` are different ids; `7` and `7n` are the same id. An
//! integer is returned as a number if a number represents it exactly, otherwise as a BigInt.

use napi::bindgen_prelude::{BigInt, Either3};
use sameish::DocId;

/// An id in JavaScript.
pub(crate) type Id = Either3<String, f64, BigInt>;

/// `Number.MAX_SAFE_INTEGER`: every integer up to this size has its own JavaScript number.
const MAX_SAFE_INTEGER: u64 = (1 << 53) - 1;

/// Converts an id from JavaScript. `lib/check.cjs` rejects numbers that are not integers of 64 bits.
pub(crate) fn from_js(id: Id) -> DocId {
    match id {
        Either3::A(text) => DocId::Text(text),
        Either3::B(number) => integer(number < 0.0, number.abs() as u64),
        Either3::C(number) => integer(number.sign_bit, number.words.first().copied().unwrap_or(0)),
    }
}

/// Converts an id to JavaScript.
pub(crate) fn to_js(id: &DocId) -> Id {
    match *id {
        DocId::Text(ref text) => Either3::A(text.clone()),
        DocId::Number(number) if number <= MAX_SAFE_INTEGER => Either3::B(number as f64),
        DocId::Number(number) => Either3::C(number.into()),
        DocId::Negative(number) if number.unsigned_abs() <= MAX_SAFE_INTEGER => Either3::B(number as f64),
        DocId::Negative(number) => Either3::C(number.into()),
    }
}

fn integer(negative: bool, magnitude: u64) -> DocId {
    if negative && magnitude > 0 {
        DocId::Negative((magnitude as i64).wrapping_neg())
    } else {
        DocId::Number(magnitude)
    }
}
