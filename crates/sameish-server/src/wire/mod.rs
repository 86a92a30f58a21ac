//! Types of the HTTP interface.
//!
//! They are separate from the types of the engine and the store, so that each side can change without the other.

#[cfg(test)]
mod agreement;
mod document;
mod field_types;
pub(crate) mod fields;
mod id;
mod overview;
mod requests;
mod responses;
mod schema;

pub(crate) use document::{NewDocument, now};
pub(crate) use fields::Request;
pub(crate) use id::{Id, NewId, ids_of_segment, is_reserved, reserved_problem};
pub(crate) use overview::*;
pub(crate) use requests::*;
pub use responses::CompareResponse;
pub(crate) use responses::*;

/// Rounds a measure to six decimal places.
pub(crate) fn rounded(number: f64) -> f64 {
    (number * 1e6).round() / 1e6
}
