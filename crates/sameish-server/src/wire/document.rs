//! What is a document, as it is sent?

use super::id::{Id, check_reserved};
use crate::json::{Fields, Json};
use crate::problem::Problem;
use crate::settings::Limits;
use sameish::{Content, DocId, Document, Timestamp};
use serde::Serialize;
use utoipa::ToSchema;

/// A document to store. It has a `text`, or else a `title` that stands for it.
#[derive(Debug, Serialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct NewDocument {
    /// Absent: one is made.
    id: Option<Id>,
    /// Headline. Compared only where there is no text.
    title: Option<String>,
    /// What is compared; at most 1 MiB.
    #[schema(nullable = false)]
    text: Option<String>,
    /// Its address. Kept, never fetched.
    url: Option<String>,
    /// Where it came from.
    host: Option<String>,
    /// Another name for `host`.
    source: Option<String>,
    /// When it came out: RFC 3339, ISO 8601, RFC 2822, or Unix time in seconds or milliseconds.
    #[schema(format = DateTime)]
    published_at: Option<String>,
}

/// A document that has been read, and what is odd about it.
pub(crate) struct New {
    pub(crate) id: Option<DocId>,
    pub(crate) content: Content,
    pub(crate) title: Option<String>,
    pub(crate) source: Option<String>,
    pub(crate) url: Option<String>,
    pub(crate) published_at: Option<String>,
    pub(crate) warnings: Vec<&'static str>,
}

const MAX_TITLE: usize = 64 << 10;
const MAX_URL: usize = 8 << 10;
const MAX_HOST: usize = 1 << 10;
const MAX_DATE: usize = 128;

/// Clocks may differ by so much before a date counts as in the future.
const SKEW: i64 = 86_400_000;

impl New {
    /// Reads a document and nothing else.
    pub(crate) fn read(json: Json<'_>, limits: &Limits) -> Result<New, Problem> {
        let mut fields = Fields::of(json, "")?;
        let new = New::take(&mut fields, limits);
        fields.finish()?;
        // Whatever is missing has been told by now.
        let new = new.ok_or_else(|| Problem::field("/text", "missing", "must be there"))?;
        new.id.as_ref().map_or(Ok(()), check_reserved)?;
        Ok(new)
    }

    /// Takes a document's fields out of an object, which may have others. Nothing where text and title are missing or wrong.
    pub(crate) fn take(fields: &mut Fields<'_>, limits: &Limits) -> Option<New> {
        let id = take_id(fields);
        let title = fields.text("title", MAX_TITLE);
        let content = take_content(fields, title.as_deref(), limits);
        let url = fields.text("url", MAX_URL);
        let host = fields.text("host", MAX_HOST);
        let source = fields.text("source", MAX_HOST).or(host);
        let published_at = fields.text("published_at", MAX_DATE);
        let mut warnings = Vec::new();
        if let Some(date) = &published_at {
            match Timestamp::parse(date) {
                Ok(moment) if moment.as_milliseconds() > now() + SKEW => warnings.push("published_in_future"),
                Ok(_) => {}
                Err(error) => fields.wrong("published_at", "invalid", error.to_string()),
            }
        }
        Some(New { id, content: content?, title, source, url, published_at, warnings })
    }

    /// As the store takes it, under the id that it has or that was made for it.
    pub(crate) fn named(self, made: impl FnOnce() -> DocId) -> Document {
        let New { id, content, title, source, url, published_at, warnings: _ } = self;
        Document { id: id.unwrap_or_else(made), content, title, source, published_at, url }
    }
}

fn take_id(fields: &mut Fields<'_>) -> Option<DocId> {
    let id = match fields.take("id")? {
        Json::Null => return None,
        Json::Integer(number) => return Some(number),
        Json::Text(text) => text.into_owned(),
        Json::Float(_) => {
            fields.wrong("id", "wrong_type", "is no 64-bit integer: write such an id as a string");
            return None;
        }
        other => {
            fields.wrong("id", "wrong_type", format!("is {}: must be a string or an integer", other.kind()));
            return None;
        }
    };
    let fault = match &id {
        id if id.is_empty() => "is empty: leave it out, or give one",
        id if id.len() > 512 => "has more than 512 bytes",
        id if id.chars().any(char::is_control) => "has control characters",
        _ => return Some(DocId::Text(id)),
    };
    fields.wrong("id", "invalid", fault);
    None
}

/// The text; without one the title.
fn take_content(fields: &mut Fields<'_>, title: Option<&str>, limits: &Limits) -> Option<Content> {
    match fields.take("text") {
        Some(Json::Text(text)) if text.len() > limits.text_bytes => {
            let detail = format!("has {} bytes: at most {}", text.len(), limits.text_bytes);
            fields.wrong("text", "too_large", detail);
            None
        }
        Some(Json::Text(text)) => Some(Content::Text(text.into_owned())),
        Some(other) => {
            fields.wrong("text", "wrong_type", format!("is {}: must be a string", other.kind()));
            None
        }
        None => match title {
            Some(title) => Some(Content::Text(title.to_owned())),
            None => {
                if !fields.errors.iter().any(|error| error.pointer.ends_with("/title")) {
                    fields.wrong("text", "missing", "must be there, or a `title` in its place");
                }
                None
            }
        },
    }
}

/// Milliseconds since 1970.
pub(crate) fn now() -> i64 {
    let since = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH);
    since.map_or(0, |since| since.as_millis() as i64)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(json: &str) -> Result<New, Vec<(String, String)>> {
        let found = New::read(Json::parse(json.as_bytes()).unwrap(), &Limits::default());
        found
            .map_err(|problem| problem.errors.into_iter().map(|e| (e.pointer, e.code.into_owned())).collect())
    }

    #[test]
    fn source_and_host_are_one_field() {
        assert_eq!(read(r#"{"text":"x","host":"h"}"#).ok().unwrap().source.as_deref(), Some("h"));
        assert_eq!(
            read(r#"{"text":"x","host":"h","source":"s"}"#).ok().unwrap().source.as_deref(),
            Some("s")
        );
    }

    #[test]
    fn a_title_stands_for_a_text_that_is_absent() {
        assert_eq!(read(r#"{"title":"t"}"#).ok().unwrap().content, Content::Text("t".into()));
        assert_eq!(read(r#"{"title":"t","text":""}"#).ok().unwrap().content, Content::Text(String::new()));
        assert!(read(r#"{"title":"t","text":null}"#).is_err());
    }

    #[test]
    fn faults_are_found_where_they_are() {
        let long = format!(r#"{{"text":"x","id":"{}"}}"#, "i".repeat(513));
        for (json, pointer, code) in [
            (r#"{}"#, "/text", "missing"),
            (r#"{"text":7}"#, "/text", "wrong_type"),
            (r#"{"text":"x","id":""}"#, "/id", "invalid"),
            (r#"{"text":"x","id":"a\u0000"}"#, "/id", "invalid"),
            (r#"{"text":"x","id":1.5}"#, "/id", "wrong_type"),
            (r#"{"text":"x","id":true}"#, "/id", "wrong_type"),
            (r#"{"text":"x","id":"bulk"}"#, "/id", "reserved"),
            (r#"{"text":"x","body":"y"}"#, "/body", "unknown_field"),
            (r#"{"text":"x","published_at":"soon"}"#, "/published_at", "invalid"),
            (&long, "/id", "invalid"),
        ] {
            assert_eq!(read(json).err().unwrap(), [(pointer.to_owned(), code.to_owned())], "{json}");
        }
    }

    #[test]
    fn a_date_in_the_future_is_flagged() {
        assert_eq!(
            read(r#"{"text":"x","published_at":"9999-01-01"}"#).ok().unwrap().warnings,
            ["published_in_future"]
        );
        assert!(read(r#"{"text":"x","published_at":"2024-01-01"}"#).ok().unwrap().warnings.is_empty());
    }
}
