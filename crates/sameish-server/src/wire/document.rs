//! A document as a client sends it.

use super::field_types::{DocumentText, Omittable, ShortText, SketchField};
use super::fields::{Fault, Field, Fields, Input, Request, request};
use super::id::{Id, NewId};
use super::metadata::Metadata;
use crate::problem::Problem;
use crate::settings::Limits;
use sameish::document::GivenSketches;
use sameish::{Analyzer, Content, DocId, Document, Timestamp};
use serde_json::{Value as Schema, json};
use std::borrow::Cow;

/// Maximum lengths of fields, in bytes.
pub(crate) const MAX_TITLE: usize = 64 << 10;
pub(crate) const MAX_URL: usize = 8 << 10;
pub(crate) const MAX_HOST: usize = 1 << 10;
/// Length of a fingerprint, and of a scheme, as hexadecimal digits.
const MAX_FINGERPRINT: usize = 16;
const MAX_DATE: usize = 128;
/// Length of a signature with the maximum number of rows, as hexadecimal digits.
const MAX_SIGNATURE: usize = 8 * sameish::config::MAX_ROWS as usize;

/// Dates may be this many milliseconds ahead of our clock before they count as future.
const MAX_CLOCK_SKEW: i64 = 86_400_000;

request! {
    /// A document to store. `text`, `title`, or sketches in place of a text are required. Without a text, matches are not verified.
    pub(crate) struct NewDocument {
        /// Id of the document. Default: a generated id.
        pub(crate) id: Option<NewId>,
        /// Headline. Compared if `text` is absent.
        pub(crate) title: Option<ShortText<MAX_TITLE>>,
        /// Text to compare.
        pub(crate) text: Omittable<DocumentText>,
        /// SimHash fingerprint in place of a text, as 16 hexadecimal digits; requires `simhash_scheme`. With a text, or with a title
        /// and no scheme, the four fields of sketches have no special meaning: any value is accepted and stored as `metadata`.
        pub(crate) simhash: SketchField,
        /// Scheme of `simhash`, as the service returns it with a sketch. Another scheme than that of the collection is refused.
        pub(crate) simhash_scheme: SketchField,
        /// MinHash signature in place of a text, as hexadecimal digits; requires `minhash_scheme`.
        pub(crate) minhash: SketchField,
        /// Scheme of `minhash`.
        pub(crate) minhash_scheme: SketchField,
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
    any_of: text, title, simhash, minhash;
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
        let is_compared = self.text.0.is_none() && self.title.is_some() && !self.is_sketched();
        is_compared.then(|| {
            format!(
                "title_compared: `text` is absent, so `title` was compared; `{other}` was stored in `metadata` and not compared; \
                 send it as `text`"
            )
            .into()
        })
    }

    /// Returns the document as the store takes it. An id in the request takes precedence over `default_id`.
    pub(crate) fn into_document(mut self, default_id: impl FnOnce() -> DocId) -> Result<Document, Problem> {
        let sketches = if self.is_sketched() {
            self.sketches()?
        } else {
            self.store_sketches()?;
            None
        };
        let title = self.title.map(|title| title.0);
        let text = self.text.0.map(|text| text.0).or_else(|| title.clone());
        Ok(Document {
            id: self.id.map_or_else(default_id, |id| id.0),
            content: sketches.unwrap_or_else(|| Content::Text(text.unwrap_or_default())),
            title,
            source: self.source.or(self.host).map(|source| source.0),
            published_at: self.published_at.map(|date| date.text),
            url: self.url.map(|url| url.0),
            metadata: self.metadata.and_then(Metadata::into_json),
        })
    }

    /// Returns `true` if sketches take the place of the text. As in the inputs of the command line, those of a text are computed,
    /// and beside a title, fields of another type or without a scheme are not those of a sketch.
    fn is_sketched(&self) -> bool {
        if self.text.0.is_some() {
            return false;
        }
        let has_scheme = self.simhash_scheme.is_given() || self.minhash_scheme.is_given();
        let is_other = |field: &SketchField| matches!(field, SketchField::Other(..));
        self.title.is_none()
            || (has_scheme && !self.sketch_fields().into_iter().any(|(_, field)| is_other(field)))
    }

    fn sketch_fields(&self) -> [(&'static str, &SketchField); 4] {
        [
            ("simhash", &self.simhash),
            ("simhash_scheme", &self.simhash_scheme),
            ("minhash", &self.minhash),
            ("minhash_scheme", &self.minhash_scheme),
        ]
    }

    /// Copies the fields of sketches to the metadata.
    fn store_sketches(&mut self) -> Result<(), Problem> {
        let members = self.sketch_fields().map(|(name, field)| (name, field.to_json()));
        for (name, value) in members {
            if let Some(value) = value {
                let added = self.metadata.get_or_insert_default().add_json(name, &value);
                added.map_err(|fault| fault.into_problem(&format!("/{name}")))?;
            }
        }
        Ok(())
    }

    /// Returns the sketches in place of a text, if there are any.
    fn sketches(&self) -> Result<Option<Content>, Problem> {
        let mut texts = [None; 4];
        for ((name, field), text) in self.sketch_fields().into_iter().zip(&mut texts) {
            let max = if name == "minhash" { MAX_SIGNATURE } else { MAX_FINGERPRINT };
            *text = field.hex(max).map_err(|fault| fault.into_problem(&format!("/{name}")))?;
        }
        let [simhash, simhash_scheme, minhash, minhash_scheme] = texts;
        let pointer = if simhash.is_some() { "/simhash" } else { "/minhash" };
        let given = GivenSketches::from_hex(
            simhash.map(|hex| (hex, simhash_scheme)),
            minhash.map(|hex| (hex, minhash_scheme)),
        );
        let given = given.map_err(|error| Problem::field(pointer, "invalid", error.to_string()))?;
        Ok(given.map(|given| Content::Sketches(Box::new(given))))
    }
}

/// Fails if sketches in place of a text cannot be compared with those of a collection, and names the field.
pub(crate) fn check_sketches(analyzer: &Analyzer, document: &Document) -> Result<(), Problem> {
    let Content::Sketches(given) = &document.content else { return Ok(()) };
    let Err(error) = analyzer.check(&document.content) else { return Ok(()) };
    let scheme = analyzer.schemes().simhash;
    let simhash_fits = given.simhash.as_ref().is_none_or(|given| Some(given.scheme) == scheme);
    let pointer = match (&error, simhash_fits) {
        (sameish::Error::SchemeMismatch { .. }, false) => "/simhash_scheme",
        (sameish::Error::SchemeMismatch { .. }, true) => "/minhash_scheme",
        (_, false) => "/simhash",
        (_, true) => "/minhash",
    };
    Err(Problem::field(pointer, "invalid", error.to_string()))
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
        schema["description"] = json!(
            "A document to store at a path. `text`, `title`, or sketches in place of a text are required."
        );
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

impl PublishedAt {
    pub(crate) fn time(&self) -> Timestamp {
        self.time
    }
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
        parse(json).unwrap().into_document(|| DocId::Number(0)).unwrap()
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
    fn sketches_replace_an_absent_text() {
        const SCHEME: &str = "0123456789abcdef";
        let with = |other: &str| {
            parse(&format!(r#"{{"simhash":"00000000000000ff","simhash_scheme":"{SCHEME}"{other}}}"#))
                .unwrap()
                .into_document(|| DocId::Number(0))
        };
        for other in ["", r#","title":"t""#] {
            let Content::Sketches(given) = with(other).unwrap().content else { panic!("{other}") };
            assert_eq!(given.simhash.unwrap().sketch.to_hex(), "00000000000000ff");
        }
        let with_text = with(r#","text":"x","metadata":{"a":1}"#).unwrap();
        assert_eq!(with_text.content, Content::Text("x".into()));
        let stored = format!(r#"{{"a":1,"simhash":"00000000000000ff","simhash_scheme":"{SCHEME}"}}"#);
        assert_eq!(with_text.metadata, Some(stored));
        let without_scheme = parse(r#"{"simhash":"00000000000000ff"}"#).unwrap();
        let problem = without_scheme.into_document(|| DocId::Number(0)).unwrap_err();
        assert!(problem.detail.contains("`simhash_scheme` is absent"), "{problem:?}");
        let short = parse(r#"{"minhash":"00ff","minhash_scheme":"0123456789abcdef"}"#).unwrap();
        assert_eq!(short.into_document(|| DocId::Number(0)).unwrap_err().errors[0].pointer, "/minhash");
    }

    #[test]
    fn fields_of_other_systems_with_the_names_of_sketches_are_metadata() {
        for value in ["7", "true", "[1,{\"a\":null}]", "{}", "\"v1:00ff\"", "\"00000000000000ff\""] {
            for (json, text) in [
                (format!(r#"{{"text":"x","title":"t","simhash":{value},"minhash_scheme":{value}}}"#), "x"),
                (format!(r#"{{"title":"t","simhash":{value},"minhash":null}}"#), "t"),
            ] {
                let document = document(&json);
                assert_eq!(document.content, Content::Text(text.into()), "{json}");
                let stored = document.metadata.unwrap();
                assert!(stored.starts_with(&format!(r#"{{"simhash":{value}"#)), "{json}: {stored}");
                assert!(!stored.contains("null") || value.contains("null"), "{stored}");
            }
        }
        // Beside a title, a scheme makes them sketches, unless one has another type.
        let with_scheme =
            parse(r#"{"title":"t","simhash":"zz","simhash_scheme":"0123456789abcdef"}"#).unwrap();
        assert_eq!(with_scheme.into_document(|| DocId::Number(0)).unwrap_err().errors[0].pointer, "/simhash");
        let json = r#"{"title":"t","simhash":7,"simhash_scheme":"0123456789abcdef"}"#;
        assert_eq!(document(json).content, Content::Text("t".into()));
        // Without a text and a title, they are the document.
        assert_eq!(parse(r#"{"simhash":7}"#).unwrap_err(), [("/text".to_owned(), "missing".to_owned())]);
        let other =
            parse(r#"{"simhash":7,"minhash":"0100000002000000","minhash_scheme":"0123456789abcdef"}"#);
        let problem = other.unwrap().into_document(|| DocId::Number(0)).unwrap_err();
        assert_eq!((&*problem.errors[0].pointer, &*problem.errors[0].code), ("/simhash", "wrong_type"));
        assert!(parse(r#"{"title":"t","simhash":7,"body":"x"}"#).unwrap().warnings()[0].contains("`title`"));
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
