//! Types of the HTTP interface.
//!
//! They are separate from the types of the engine and the store, so that each side can change without the other.

#[cfg(test)]
mod agreement;
mod bulk;
mod document;
mod evidence;
mod field_types;
pub(crate) mod fields;
mod id;
mod metadata;
mod overview;
mod requests;
mod responses;
mod schema;

pub(crate) use bulk::*;
pub(crate) use document::{NewDocument, Replacement, Warning, now};
pub use evidence::CompareResponse;
pub(crate) use evidence::ComparedTexts;
pub(crate) use fields::{Request, UnknownFields};
pub(crate) use id::{Id, NewId, ids_of_segment, is_reserved, reserved_problem, unquoted};
pub(crate) use overview::*;
pub(crate) use requests::*;
pub(crate) use responses::*;

/// Rounds a measure to six decimal places.
pub(crate) fn rounded(number: f64) -> f64 {
    (number * 1e6).round() / 1e6
}
