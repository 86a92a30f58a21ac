//! Types of the HTTP interface.
//!
//! They are separate from the types of the engine and the store, so that each side can change without the other.

#[cfg(test)]
mod agreement;
mod bulk;
mod clusters;
mod document;
mod edits;
mod events;
mod evidence;
mod field_types;
pub(crate) mod fields;
mod id;
mod metadata;
mod overview;
mod requests;
mod responses;
mod schema;
mod similarities;
mod sketches;

pub(crate) use bulk::*;
pub(crate) use clusters::*;
pub(crate) use document::{NewDocument, Replacement, Warning, check_sketches, now};
pub(crate) use edits::*;
pub(crate) use events::*;
pub use evidence::CompareResponse;
pub(crate) use evidence::ComparedTexts;
pub(crate) use fields::{Request, UnknownFields};
pub(crate) use id::{Id, NewId, ids_of_segment, is_reserved, reserved_problem, unquoted};
pub(crate) use overview::*;
pub(crate) use requests::*;
pub(crate) use responses::*;
pub(crate) use similarities::*;
pub(crate) use sketches::*;

pub(crate) use sameish_io::json::rounded;
