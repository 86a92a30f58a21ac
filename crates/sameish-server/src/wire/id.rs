//! How is a document named, in a body and in a path?
//!
//! In a body an id is a JSON string or integer and keeps its type: `7` and `"7"` are two documents. A path has no types, so
//! a segment that is written as an integer means the document with that integer, and where there is none the one with that
//! text. A segment in double quotes, `%227%22`, means the text for certain.

use crate::problem::{FieldError, Problem};
use sameish::DocId;
use serde::Serialize;
use utoipa::openapi::schema::{AnyOfBuilder, ObjectBuilder, Schema, Type};
use utoipa::openapi::{KnownFormat, RefOr, SchemaFormat};
use utoipa::{PartialSchema, ToSchema};

/// Names that routes have taken.
const RESERVED_IDS: [&str; 3] = ["bulk", "query", "clusters"];

/// An id as it is written.
#[derive(Clone, Debug, Serialize)]
#[serde(transparent)]
pub(crate) struct Id(pub(crate) DocId);

impl PartialSchema for Id {
    fn schema() -> RefOr<Schema> {
        let text = ObjectBuilder::new()
            .schema_type(Type::String)
            .min_length(Some(1))
            .max_length(Some(512))
            .pattern(Some("^[^\\x00-\\x1f\\x7f-\\x9f]+$"));
        let number = ObjectBuilder::new()
            .schema_type(Type::Integer)
            .format(Some(SchemaFormat::KnownFormat(KnownFormat::Int64)));
        let either = AnyOfBuilder::new().item(text).item(number).description(Some(
            "A string of at most 512 bytes without control characters, or a 64-bit integer. `7` and `\"7\"` are two \
             documents. `bulk`, `query` and `clusters` are reserved.",
        ));
        RefOr::T(Schema::AnyOf(either.build()))
    }
}

impl ToSchema for Id {
    fn name() -> std::borrow::Cow<'static, str> {
        "Id".into()
    }
}

/// The ids that a segment of a path may mean, the most likely first.
pub(crate) fn addressed(segment: &str) -> Vec<DocId> {
    let mut ids = Vec::with_capacity(2);
    if let Some(number) = integer(segment) {
        ids.push(number);
    }
    if segment.len() >= 2 && segment.starts_with('"') && segment.ends_with('"') {
        ids.extend(serde_json::from_str(segment).ok().map(DocId::Text));
    }
    ids.push(DocId::Text(segment.to_owned()));
    ids
}

/// Which of the two a path means, where somebody says so.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum IdType {
    Number,
    Text,
}

impl IdType {
    /// Reads `type` of an address.
    pub(crate) fn read(query: Option<&str>) -> Result<Option<IdType>, Problem> {
        let mut errors = Vec::new();
        let mut kind = None;
        for (name, value) in super::pairs(query, &["type"], &mut errors) {
            match value.as_str() {
                "number" => kind = Some(IdType::Number),
                "text" => kind = Some(IdType::Text),
                _ => errors.push(FieldError::new(format!("?{name}"), "invalid", "must be number or text")),
            }
        }
        match errors.is_empty() {
            true => Ok(kind),
            false => Err(Problem::fields(errors)),
        }
    }

    /// The one id of this type that a segment means, taken as it is written.
    pub(crate) fn addressed(self, segment: &str) -> Option<DocId> {
        match self {
            IdType::Number => integer(segment),
            IdType::Text => Some(DocId::Text(segment.to_owned())),
        }
    }
}

/// An integer that is written as we would write it.
fn integer(text: &str) -> Option<DocId> {
    let number = text.parse().map(DocId::Number).or_else(|_| text.parse().map(DocId::Negative)).ok()?;
    (number.to_string() == text).then_some(number)
}

/// Refuses names that routes have taken.
pub(crate) fn check_reserved(id: &DocId) -> Result<(), Problem> {
    match id {
        DocId::Text(text) if RESERVED_IDS.contains(&text.as_str()) => {
            Err(Problem::field("/id", "reserved", format!("`{text}` is the name of a route: use another")))
        }
        _ => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_segment_means_an_integer_before_a_text() {
        assert_eq!(addressed("7"), [DocId::Number(7), "7".into()]);
        assert_eq!(addressed("-7"), [DocId::Negative(-7), "-7".into()]);
        assert_eq!(addressed("18446744073709551615")[0], DocId::Number(u64::MAX));
        for text in ["07", "+7", "-0", "7.0", "18446744073709551616", "a7", "７"] {
            assert_eq!(addressed(text), [text.into()], "{text}");
        }
    }

    #[test]
    fn quotes_mean_a_text_for_certain() {
        assert_eq!(addressed("\"7\""), ["7".into(), "\"7\"".into()]);
        assert_eq!(addressed("\"")[..], ["\"".into()]);
    }
}
