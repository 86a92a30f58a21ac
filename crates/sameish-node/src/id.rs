//! What names a document in JavaScript?
//!
//! A string, a number or a BigInt. `7` and `"7"` are two documents, `7` and `7n` are one. An id comes back as a number
//! where a number holds it exactly, else as a BigInt.

use napi::bindgen_prelude::{BigInt, Either3};
use sameish::DocId;

/// An id on its way between the two languages.
pub(crate) type Id = Either3<String, f64, BigInt>;

/// Beyond this a number of JavaScript may stand for several integers.
const LARGEST_EXACT: u64 = (1 << 53) - 1;

/// The engine's id. `lib/check.cjs` lets only integers of 64 bits through.
pub(crate) fn read(id: Id) -> DocId {
    match id {
        Either3::A(text) => DocId::Text(text),
        Either3::B(number) => whole(number < 0.0, number.abs() as u64),
        Either3::C(number) => whole(number.sign_bit, number.words.first().copied().unwrap_or(0)),
    }
}

/// The id as JavaScript has it.
pub(crate) fn write(id: &DocId) -> Id {
    match *id {
        DocId::Text(ref text) => Either3::A(text.clone()),
        DocId::Number(number) if number <= LARGEST_EXACT => Either3::B(number as f64),
        DocId::Number(number) => Either3::C(number.into()),
        DocId::Negative(number) if number.unsigned_abs() <= LARGEST_EXACT => Either3::B(number as f64),
        DocId::Negative(number) => Either3::C(number.into()),
    }
}

fn whole(negative: bool, size: u64) -> DocId {
    if negative && size > 0 { DocId::Negative((size as i64).wrapping_neg()) } else { DocId::Number(size) }
}
