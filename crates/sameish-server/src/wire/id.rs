//! Document ids in bodies and paths.
//!
//! In a body an id is a JSON string or integer and keeps its type: `7` and `"7"` are two documents. A path has no types: a segment
//! written as an integer means the document with that integer id, or, if there is none, the document with that string id. A segment
//! in double quotes, `%227%22`, always means the string id. The names of routes are reserved: no new document can have such an id,
//! and a stored one is reached with quotes, so that a route can be added without hiding a document.

use super::fields::{Fault, Field, Input};
use crate::problem::Problem;
use crate::settings::Limits;
use sameish::DocId;
use sameish_io::json::Value;
use serde::Serialize;
use serde_json::{Value as Json, json};
use utoipa::openapi::RefOr;
use utoipa::openapi::schema::{AnyOfBuilder, ObjectBuilder, Schema, Type};
use utoipa::{PartialSchema, ToSchema};

/// Ids that are names of routes, or will be.
const RESERVED_IDS: [&str; 11] = [
    "bulk",
    "query",
    "clusters",
    "documents",
    "edits",
    "events",
    "export",
    "histogram",
    "labels",
    "preview",
    "sources",
];

/// The id of a document.
#[derive(Clone, Debug, Serialize)]
#[serde(transparent)]
pub(crate) struct Id(pub(crate) DocId);

impl PartialSchema for Id {
    fn schema() -> RefOr<Schema> {
        let text = ObjectBuilder::new()
            .schema_type(Type::String)
            .min_length(Some(1))
            .max_length(Some(DocId::MAX_BYTES))
            .pattern(Some("^[^\\x00-\\x1f\\x7f-\\x9f]+$"));
        let number = ObjectBuilder::new()
            .schema_type(Type::Integer)
            .minimum(Some(i64::MIN as isize))
            .maximum(Some(u64::MAX as usize));
        let either = AnyOfBuilder::new().item(text).item(number).description(Some(
            "A string of at most 512 bytes without control characters, or a 64-bit integer. `7` and `\"7\"` are two different \
             ids.",
        ));
        RefOr::T(Schema::AnyOf(either.build()))
    }
}

impl ToSchema for Id {
    fn name() -> std::borrow::Cow<'static, str> {
        "Id".into()
    }
}

impl Field for Id {
    fn read(input: Input<'_>, _: &Limits) -> Result<Id, Fault> {
        let text = match input {
            Input::Json(Value::Integer(number)) => {
                let negative = || DocId::Negative(number as i64);
                return Ok(Id(u64::try_from(number).map_or_else(|_| negative(), DocId::Number)));
            }
            Input::Json(Value::Float(_)) => {
                return Err(Fault::new("wrong_type", "is not a 64-bit integer; write the id as a string"));
            }
            Input::Json(Value::Text(text)) => text.into_owned(),
            other => return Err(other.expected("a string or an integer")),
        };
        let invalid =
            |reason| Fault::new("invalid", format!("{reason}; change it, or omit it to get a generated id"));
        DocId::from_text(text).map(Id).map_err(invalid)
    }

    fn schema(_: &Limits) -> Json {
        json!({"$ref": "#/components/schemas/Id"})
    }
}

/// The id of a document to store, which must not be reserved.
#[derive(Clone, Debug)]
pub(crate) struct NewId(pub(crate) DocId);

impl Field for NewId {
    fn read(input: Input<'_>, limits: &Limits) -> Result<NewId, Fault> {
        let Id(id) = Id::read(input, limits)?;
        if is_reserved(&id) {
            return Err(Fault::new("reserved", reserved_detail(&id)));
        }
        Ok(NewId(id))
    }

    fn schema(limits: &Limits) -> Json {
        let mut schema = <Id as Field>::schema(limits);
        schema["not"] = json!({"enum": RESERVED_IDS});
        schema
    }
}

/// Returns `true` if an id is the name of a route, so that no new document can have it.
pub(crate) fn is_reserved(id: &DocId) -> bool {
    matches!(id, DocId::Text(text) if RESERVED_IDS.contains(&text.as_str()))
}

fn reserved_detail(id: &DocId) -> String {
    format!("`{id}` is reserved for a route; use another id")
}

/// Returns the problem of a document that cannot be stored under a reserved id.
pub(crate) fn reserved_problem(id: &DocId) -> Problem {
    Problem::field("/id", "reserved", reserved_detail(id))
}

/// Returns the string that a path segment in double quotes means: JSON, as in a body. Returns `None` for other segments.
pub(crate) fn unquoted(segment: &str) -> Option<String> {
    let is_quoted = segment.len() >= 2 && segment.starts_with('"') && segment.ends_with('"');
    if is_quoted { serde_json::from_str(segment).ok() } else { None }
}

/// Returns the ids that a path segment can mean, in order of precedence. A reserved name without quotes means no document.
pub(crate) fn ids_of_segment(segment: &str) -> Vec<DocId> {
    let mut ids = Vec::with_capacity(2);
    if RESERVED_IDS.contains(&segment) {
        return ids;
    }
    if let Some(number) = DocId::from_integer(segment) {
        ids.push(number);
    }
    ids.extend(unquoted(segment).map(DocId::Text));
    ids.push(DocId::Text(segment.to_owned()));
    ids
}

/// The type of an id, for a path that is ambiguous without it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum IdType {
    Number,
    Text,
}

impl IdType {
    /// Returns the id of this type that a path segment means, without interpreting quotes. A reserved name means no document.
    pub(crate) fn id_of_segment(self, segment: &str) -> Option<DocId> {
        match self {
            _ if RESERVED_IDS.contains(&segment) => None,
            IdType::Number => DocId::from_integer(segment),
            IdType::Text => Some(DocId::Text(segment.to_owned())),
        }
    }
}

impl Field for IdType {
    fn read(input: Input<'_>, _: &Limits) -> Result<IdType, Fault> {
        match input.into_string()?.as_str() {
            "number" => Ok(IdType::Number),
            "text" => Ok(IdType::Text),
            _ => Err(Fault::new("invalid", "expected `number` or `text`")),
        }
    }

    fn schema(_: &Limits) -> Json {
        json!({"type": "string", "enum": ["number", "text"]})
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reads_a_segment_as_integer_before_string() {
        assert_eq!(ids_of_segment("7"), [DocId::Number(7), "7".into()]);
        assert_eq!(ids_of_segment("-7"), [DocId::Negative(-7), "-7".into()]);
        assert_eq!(ids_of_segment("18446744073709551615")[0], DocId::Number(u64::MAX));
        for text in ["07", "+7", "-0", "7.0", "18446744073709551616", "a7", "７"] {
            assert_eq!(ids_of_segment(text), [text.into()], "{text}");
        }
    }

    #[test]
    fn reads_a_quoted_segment_as_string() {
        assert_eq!(ids_of_segment("\"7\""), ["7".into(), "\"7\"".into()]);
        assert_eq!(ids_of_segment("\"")[..], ["\"".into()]);
    }

    #[test]
    fn reserved_names_mean_documents_only_in_quotes() {
        for name in RESERVED_IDS {
            assert_eq!(ids_of_segment(name), []);
            let quoted = format!("\"{name}\"");
            assert_eq!(ids_of_segment(&quoted)[0], name.into());
            assert!(is_reserved(&name.into()));
        }
        assert!(!is_reserved(&"event".into()));
    }
}
