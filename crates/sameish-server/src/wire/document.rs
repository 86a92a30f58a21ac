//! A document as a client sends it.

use super::field_types::{DocumentText, Omittable, ShortText};
use super::fields::{Fault, Field, Fields, Input, Request, request};
use super::id::{Id, NewId};
use super::metadata::Metadata;
use crate::settings::Limits;
use sameish::{Content, DocId, Document, Timestamp};
use serde_json::{Value as Schema, json};
use std::borrow::Cow;

/// Maximum lengths of fields, in bytes.
pub(crate) const MAX_TITLE: usize = 64 << 10;
pub(crate) const MAX_URL: usize = 8 << 10;
pub(crate) const MAX_HOST: usize = 1 << 10;
const MAX_DATE: usize = 128;

/// Dates may be this many milliseconds ahead of our clock before they count as future.
const MAX_CLOCK_SKEW: i64 = 86_400_000;

request! {
    /// A document to store. Either `text` or `title` is required.
    pub(crate) struct NewDocument {
        /// Id of the document. Default: a generated id.
        pub(crate) id: Option<NewId>,
        /// Headline. Compared if `text` is absent.
        pub(crate) title: Option<ShortText<MAX_TITLE>>,
        /// Text to compare.
        pub(crate) text: Omittable<DocumentText>,
        /// URL of the document. Stored, never fetched.
        pub(crate) url: Option<ShortText<MAX_URL>>,
        /// Host or publisher of the document.
        pub(crate) host: Option<ShortText<MAX_HOST>>,
        /// Alias of `host`. If both are set, `source` is used.
        pub(crate) source: Option<ShortText<MAX_HOST>>,
        /// Date of publication: RFC 3339, ISO 8601, RFC 2822, or Unix time in seconds or milliseconds.
        pub(crate) published_at: Option<PublishedAt>,
        /// Further fields, which are stored and returned, but not compared. Fields of the document that are not listed here are
        /// added to it. Maximum: 64 KiB as JSON.
        pub(crate) metadata: Option<Metadata>,
    }
    any_of: text, title;
    others: metadata;
}

impl NewDocument {
    /// Returns warnings about accepted but suspicious values.
    pub(crate) fn warnings(&self) -> Vec<Warning> {
        let date = self.published_at.as_ref().map(|date| date.time.as_milliseconds());
        let is_future = date.is_some_and(|date| date > now() + MAX_CLOCK_SKEW);
        let future = is_future.then(|| Warning::from("published_in_future"));
        future.into_iter().chain(self.text_warning()).collect()
    }

    /// Returns a warning if the title is compared although another field probably contains the text.
    fn text_warning(&self) -> Option<Warning> {
        let other = self.metadata.as_ref()?.text_lookalike()?;
        let is_compared = self.text.0.is_none() && self.title.is_some();
        is_compared.then(|| {
            format!(
                "title_compared: `text` is absent, so `title` was compared; `{other}` was stored in `metadata` and not compared; \
                 send it as `text`"
            )
            .into()
        })
    }

    /// Returns the document as the store takes it. An id in the request takes precedence over `default_id`.
    pub(crate) fn into_document(self, default_id: impl FnOnce() -> DocId) -> Document {
        let title = self.title.map(|title| title.0);
        let text = self.text.0.map(|text| text.0).or_else(|| title.clone());
        Document {
            id: self.id.map_or_else(default_id, |id| id.0),
            content: Content::Text(text.unwrap_or_default()),
            title,
            source: self.source.or(self.host).map(|source| source.0),
            published_at: self.published_at.map(|date| date.text),
            url: self.url.map(|url| url.0),
            metadata: self.metadata.and_then(Metadata::into_json),
        }
    }
}

/// A warning about a stored document: a code, for some codes with an explanation after a colon.
pub(crate) type Warning = Cow<'static, str>;

/// A document that replaces the one at its path. Its id may be reserved, because a document may have been stored before its id was
/// reserved for a route; the route handler compares the id with the path.
#[derive(Debug)]
pub(crate) struct Replacement(pub(crate) NewDocument);

impl Request for Replacement {
    const NAME: &'static str = "Replacement";

    fn read(fields: &mut Fields<'_>) -> Option<Replacement> {
        let id: Option<Option<Id>> = fields.read("id");
        let document = NewDocument::read(fields)?;
        let id = id?.map(|Id(id)| NewId(id));
        Some(Replacement(NewDocument { id, ..document }))
    }

    fn schema(limits: &Limits) -> Schema {
        let mut schema = <NewDocument as Request>::schema(limits);
        let mut id = <Option<Id> as Field>::schema(limits);
        id["description"] =
            json!("Id of the document, which must be that of the path. Default: the id of the path.");
        schema["properties"]["id"] = id;
        schema["description"] = json!("A document to store at a path. Either `text` or `title` is required.");
        schema
    }
}

/// `openapi::finish` replaces this placeholder by the schema with the limits of the service.
impl utoipa::PartialSchema for Replacement {
    fn schema() -> utoipa::openapi::RefOr<utoipa::openapi::schema::Schema> {
        Default::default()
    }
}

impl utoipa::ToSchema for Replacement {
    fn name() -> std::borrow::Cow<'static, str> {
        Self::NAME.into()
    }
}

/// A date of publication, as written and parsed.
#[derive(Debug)]
pub(crate) struct PublishedAt {
    text: String,
    time: Timestamp,
}

impl Field for PublishedAt {
    fn read(input: Input<'_>, limits: &Limits) -> Result<PublishedAt, Fault> {
        let ShortText(text) = ShortText::<MAX_DATE>::read(input, limits)?;
        let time = Timestamp::parse(&text).map_err(|error| Fault::new("invalid", error.to_string()))?;
        Ok(PublishedAt { text, time })
    }

    /// `date-time` is one of several accepted formats, and the one that generated clients can produce.
    fn schema(_: &Limits) -> Schema {
        json!({
            "type": "string",
            "format": "date-time",
            "maxLength": MAX_DATE,
            "examples": ["2026-02-02T08:10:00Z"],
        })
    }
}

/// Returns the current time in milliseconds since 1970.
pub(crate) fn now() -> i64 {
    let elapsed = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH);
    elapsed.map_or(0, |elapsed| elapsed.as_millis() as i64)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::wire::UnknownFields;

    fn parse(json: &str) -> Result<NewDocument, Vec<(String, String)>> {
        let document = crate::body::parse(json.as_bytes(), &Limits::default());
        document.map_err(|problem| {
            problem.errors.into_iter().map(|error| (error.pointer, error.code.into_owned())).collect()
        })
    }

    fn document(json: &str) -> Document {
        parse(json).unwrap().into_document(|| DocId::Number(0))
    }

    #[test]
    fn source_overrides_host() {
        assert_eq!(document(r#"{"text":"x","host":"h"}"#).source.as_deref(), Some("h"));
        assert_eq!(document(r#"{"text":"x","host":"h","source":"s"}"#).source.as_deref(), Some("s"));
    }

    #[test]
    fn title_replaces_an_absent_text() {
        assert_eq!(document(r#"{"title":"t"}"#).content, Content::Text("t".into()));
        assert_eq!(document(r#"{"title":"t","text":""}"#).content, Content::Text(String::new()));
        assert!(parse(r#"{"title":"t","text":null}"#).is_err());
    }

    #[test]
    fn reports_the_pointer_and_code_of_a_fault() {
        let long = format!(r#"{{"text":"x","id":"{}"}}"#, "i".repeat(513));
        for (json, pointer, code) in [
            (r#"{}"#, "/text", "missing"),
            (r#"{"title":null}"#, "/text", "missing"),
            (r#"{"title":7}"#, "/title", "wrong_type"),
            (r#"{"text":7}"#, "/text", "wrong_type"),
            (r#"{"text":null}"#, "/text", "wrong_type"),
            (r#"{"text":"x","id":""}"#, "/id", "invalid"),
            (r#"{"text":"x","id":"a\u0000"}"#, "/id", "invalid"),
            (r#"{"text":"x","id":1.5}"#, "/id", "wrong_type"),
            (r#"{"text":"x","id":true}"#, "/id", "wrong_type"),
            (r#"{"text":"x","id":"bulk"}"#, "/id", "reserved"),
            (r#"{"text":"x","metadata":[]}"#, "/metadata", "wrong_type"),
            (r#"{"text":"x","metadata":{"a":1},"a":1}"#, "/a", "invalid"),
            (r#"{"text":7,"metadata":{"a":1},"b":1}"#, "/text", "wrong_type"),
            (r#"{"body":"x"}"#, "/text", "missing"),
            (r#"{"text":"x","published_at":"soon"}"#, "/published_at", "invalid"),
            (&long, "/id", "invalid"),
        ] {
            assert_eq!(parse(json).unwrap_err(), [(pointer.to_owned(), code.to_owned())], "{json}");
        }
    }

    #[test]
    fn unknown_fields_become_metadata() {
        let metadata = |json: &str| document(json).metadata;
        assert_eq!(metadata(r#"{"text":"x"}"#), None);
        assert_eq!(metadata(r#"{"text":"x","metadata":null}"#), None);
        assert_eq!(metadata(r#"{"b":[1,{"c":2.5}],"text":"x"}"#).unwrap(), r#"{"b":[1,{"c":2.5}]}"#);
        let merged = metadata(r#"{"text":"x","b":2,"metadata":{"a":1}}"#);
        assert_eq!(merged.unwrap(), r#"{"a":1,"b":2}"#);
    }

    #[test]
    fn strict_documents_reject_unknown_fields_and_list_the_known_ones() {
        let parse = |json: &str| {
            crate::body::parse_with::<NewDocument>(json.as_bytes(), &Limits::default(), UnknownFields::Reject)
        };
        let problem = parse(r#"{"text":"x","body":"y","topic":1}"#).unwrap_err();
        let errors = problem.errors.iter().map(|error| (&*error.pointer, &*error.code));
        assert_eq!(errors.collect::<Vec<_>>(), [("/body", "unknown_field"), ("/topic", "unknown_field")]);
        assert!(problem.errors[0].detail.contains("`published_at`"), "{:?}", problem.errors);
        assert!(parse(r#"{"text":"x","metadata":{"topic":1}}"#).is_ok());
    }

    #[test]
    fn warns_if_the_title_is_compared_and_another_field_looks_like_the_text() {
        let warnings = |json: &str| parse(json).unwrap().warnings().join(" ");
        for name in ["body", "content", "article"] {
            let found = warnings(&format!(r#"{{"title":"t","{name}":"x"}}"#));
            assert!(
                found.contains("`title` was compared") && found.contains(&format!("`{name}`")),
                "{found}"
            );
        }
        for json in [
            r#"{"title":"t"}"#,
            r#"{"title":"t","text":"x","body":"y"}"#,
            r#"{"title":"t","body":7}"#,
            r#"{"title":"t","metadata":{"body":"x"}}"#,
        ] {
            assert_eq!(warnings(json), "", "{json}");
        }
    }

    #[test]
    fn warns_about_a_future_date() {
        let warnings = |json: &str| parse(json).unwrap().warnings();
        assert_eq!(warnings(r#"{"text":"x","published_at":"9999-01-01"}"#), ["published_in_future"]);
        assert!(warnings(r#"{"text":"x","published_at":"2024-01-01"}"#).is_empty());
    }
}
