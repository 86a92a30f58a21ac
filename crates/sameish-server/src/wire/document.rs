//! A document as a client sends it.

use super::field_types::{DocumentText, Omittable, ShortText};
use super::fields::{Fault, Field, Input, request};
use super::id::NewId;
use crate::settings::Limits;
use sameish::{Content, DocId, Document, Timestamp};
use serde_json::{Value as Schema, json};

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
    }
    any_of: text, title;
}

impl NewDocument {
    /// Returns warnings about accepted but suspicious values.
    pub(crate) fn warnings(&self) -> Vec<&'static str> {
        let date = self.published_at.as_ref().map(|date| date.time.as_milliseconds());
        let is_future = date.is_some_and(|date| date > now() + MAX_CLOCK_SKEW);
        if is_future { vec!["published_in_future"] } else { Vec::new() }
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
        }
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
            (r#"{"text":"x","body":"y"}"#, "/body", "unknown_field"),
            (r#"{"text":"x","published_at":"soon"}"#, "/published_at", "invalid"),
            (&long, "/id", "invalid"),
        ] {
            assert_eq!(parse(json).unwrap_err(), [(pointer.to_owned(), code.to_owned())], "{json}");
        }
    }

    #[test]
    fn warns_about_a_future_date() {
        let warnings = |json: &str| parse(json).unwrap().warnings();
        assert_eq!(warnings(r#"{"text":"x","published_at":"9999-01-01"}"#), ["published_in_future"]);
        assert!(warnings(r#"{"text":"x","published_at":"2024-01-01"}"#).is_empty());
    }
}
