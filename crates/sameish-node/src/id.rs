//! What names a document in JavaScript?
//!
//! A string, a number or a BigInt. `7` and `"7"` are two documents, `7` and `7n` are one. An id comes back as a number
//! where a number holds it exactly, else as a BigInt.

use crate::fault::{Fault, Result};
use napi::bindgen_prelude::{BigInt, Either3};
use sameish::DocId;

/// An id on its way between the two languages.
pub(crate) type Id = Either3<String, f64, BigInt>;

/// Beyond this a number of JavaScript may stand for several integers.
const LARGEST_EXACT: u64 = (1 << 53) - 1;

/// The engine's id.
pub(crate) fn read(id: Id) -> Result<DocId, Fault> {
    match id {
        Either3::A(text) => Ok(DocId::Text(text)),
        Either3::B(number) if number.fract() == 0.0 && number.abs() <= LARGEST_EXACT as f64 => {
            Ok(whole(number < 0.0, number.abs() as u64))
        }
        Either3::B(number) => Err(outside(&number.to_string())),
        Either3::C(number) => match number.words[..] {
            [] => Ok(whole(false, 0)),
            [word] if !number.sign_bit || word <= 1 << 63 => Ok(whole(number.sign_bit, word)),
            _ => Err(outside("a BigInt")),
        },
    }
}

/// All of them.
pub(crate) fn read_all(ids: Vec<Id>) -> Result<Vec<DocId>, Fault> {
    ids.into_iter().map(read).collect()
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

fn outside(value: &str) -> Fault {
    let message = format!("id {value}: must be an integer of at most 64 bits, or a string");
    Fault { code: "ERR_SAMEISH_INVALID_ID", message }
}
