//! Request bodies and query strings, documents excepted.

use super::document::{MAX_HOST, MAX_TITLE, MAX_URL, NewDocument, PublishedAt, Replacement};
use super::field_types::{Bounded, DocumentText, Fraction, Omittable, ResultLimit, ShortText};
use super::fields::{Fault, Field, Input, Request, UnknownFields, request};
use super::id::{Id, IdType, NewId};
use super::metadata::Metadata;
use crate::problem::Problem;
use crate::settings::Limits;
use sameish::Preset;
use sameish::matching::{OffsetUnit, UnknownOffsetUnit};
use sameish_io::json::Value;
use sameish_store::{CollectionConfig, SimilarOptions};
use serde_json::{Value as Schema, json};
use std::borrow::Cow;
use std::fmt::Write;

/// Minimum length of a passage of evidence, in words.
const MIN_PASSAGE: usize = 5;
/// Maximum number of matches with evidence: each needs both texts.
const MAX_WITH_EVIDENCE: usize = 100;

/// Returns the schemas of all request bodies by name, with the limits of a service.
pub(crate) fn body_schemas(limits: &Limits) -> Vec<(&'static str, Schema)> {
    fn named<T: Request>(limits: &Limits) -> (&'static str, Schema) {
        (T::NAME, T::schema(limits))
    }
    vec![
        named::<NewDocument>(limits),
        named::<Replacement>(limits),
        named::<Deletion>(limits),
        named::<TextQuery>(limits),
        named::<CompareTexts>(limits),
        named::<CollectionSettings>(limits),
        named::<SnapshotRequest>(limits),
    ]
}

request! {
    /// Search options in the query string.
    pub(crate) struct SearchParams {
        /// Maximum number of matches: at most 1,000, and at most 100 with `evidence`. Default: the collection's
        /// `matching.limit`, which is 10 unless overridden.
        limit: Option<ResultLimit>,
        /// Minimum similarity of a match. Default: the collection's threshold. Far below the threshold, few matches are found.
        min_similarity: Option<Fraction>,
        /// Whether matches include their shared passages. Default: false.
        evidence: Option<bool>,
        /// Unit of the offsets of passages. Default: `utf8`.
        offsets: Option<OffsetUnit>,
    }
}

impl SearchParams {
    /// Returns the unit of the offsets of passages.
    pub(crate) fn offsets(&self) -> OffsetUnit {
        self.offsets.unwrap_or_default()
    }

    /// Returns the options of a search, limited by the settings of the service. `default_limit` is the collection's
    /// `matching.limit`.
    pub(crate) fn options(&self, default_limit: u32, limits: &Limits) -> SimilarOptions {
        let evidence = self.evidence.unwrap_or(false).then_some(MIN_PASSAGE);
        let max = if evidence.is_some() { limits.results.min(MAX_WITH_EVIDENCE) } else { limits.results };
        let limit = self.limit.map_or(default_limit as usize, |limit| limit.0);
        SimilarOptions {
            limit: Some(limit.min(max)),
            min_similarity: self.min_similarity.map(|similarity| similarity.0),
            evidence,
        }
    }
}

request! {
    /// A text to search for, which is not stored, and search options. Either `text` or `title` is required. `id`, `url`, `host`,
    /// `source` and `metadata` are accepted and ignored, so that a document can be sent unchanged; other fields are rejected,
    /// because they may be misspelled options.
    pub(crate) struct TextQuery {
        /// Ignored.
        id: Option<Id>,
        /// Headline. Searched for if `text` is absent.
        title: Option<ShortText<MAX_TITLE>>,
        /// Text to search for.
        text: Omittable<DocumentText>,
        /// Ignored.
        url: Option<ShortText<MAX_URL>>,
        /// Ignored.
        host: Option<ShortText<MAX_HOST>>,
        /// Ignored.
        source: Option<ShortText<MAX_HOST>>,
        /// Date for collections with a time window: only documents within the window around this date match. Default: now.
        published_at: Option<PublishedAt>,
        /// Maximum number of matches. Overrides the query string.
        limit: Option<ResultLimit>,
        /// Minimum similarity. Overrides the query string.
        min_similarity: Option<Fraction>,
        /// Whether matches include their shared passages. Overrides the query string.
        evidence: Option<bool>,
        /// Unit of the offsets of passages. Overrides the query string.
        offsets: Option<OffsetUnit>,
        /// Ignored.
        metadata: Option<Metadata>,
    }
    any_of: text, title;
}

impl TextQuery {
    /// Splits the query into a document and search options; options in the body override those of the query string.
    pub(crate) fn into_parts(self, params: SearchParams) -> (NewDocument, SearchParams) {
        let params = SearchParams {
            limit: self.limit.or(params.limit),
            min_similarity: self.min_similarity.or(params.min_similarity),
            evidence: self.evidence.or(params.evidence),
            offsets: self.offsets.or(params.offsets),
        };
        let document = NewDocument {
            id: self.id.map(|id| NewId(id.0)),
            title: self.title,
            text: self.text,
            url: self.url,
            host: self.host,
            source: self.source,
            published_at: self.published_at,
            metadata: self.metadata,
        };
        (document, params)
    }
}

request! {
    /// Two texts to compare.
    pub(crate) struct CompareTexts {
        /// First text.
        pub(crate) a: DocumentText,
        /// Second text.
        pub(crate) b: DocumentText,
        /// Preset whose features are compared. Default: `copies`.
        pub(crate) preset: Option<Preset>,
        /// Minimum length of a reported passage, in words.
        pub(crate) min_tokens: PassageLength,
        /// Unit of the offsets of passages. Default: `utf8`.
        pub(crate) offsets: Option<OffsetUnit>,
    }
}

/// Bytes of UTF-8, UTF-16 units or code points.
impl Field for OffsetUnit {
    fn read(input: Input<'_>, _: &Limits) -> Result<OffsetUnit, Fault> {
        let name = input.into_string()?;
        name.parse().map_err(|error: UnknownOffsetUnit| Fault::new("invalid", error.to_string()))
    }

    fn schema(_: &Limits) -> Schema {
        json!({"type": "string", "enum": OffsetUnit::ALL.map(OffsetUnit::name)})
    }
}

request! {
    /// A line of a bulk request that deletes a document.
    pub(crate) struct Deletion {
        /// Id of the document to delete.
        pub(crate) delete: Id,
    }
}

request! {
    /// Options for storing a document.
    pub(crate) struct InsertParams {
        /// Whether unknown fields are rejected with 422 instead of being stored as `metadata`. Default: false.
        strict: Option<bool>,
    }
}

impl InsertParams {
    pub(crate) fn unknown_fields(&self) -> UnknownFields {
        unknown_fields(self.strict)
    }
}

request! {
    /// Options of a bulk request.
    pub(crate) struct BulkParams {
        /// Whether lines with unknown fields are rejected. By default, the fields are stored as `metadata`.
        strict: Option<bool>,
        /// Whether the response ends with a line that counts the results: `{"summary": {…}}`. Default: false.
        pub(crate) summary: Option<bool>,
    }
}

impl BulkParams {
    pub(crate) fn unknown_fields(&self) -> UnknownFields {
        unknown_fields(self.strict)
    }
}

fn unknown_fields(strict: Option<bool>) -> UnknownFields {
    if strict.unwrap_or(false) { UnknownFields::Reject } else { UnknownFields::Collect }
}

/// The minimum length of a passage, in words.
#[derive(Debug)]
pub(crate) struct PassageLength(pub(crate) usize);

type PassageBounds = Bounded<1, 1_000_000>;

impl Field for PassageLength {
    fn absent() -> Option<PassageLength> {
        Some(PassageLength(MIN_PASSAGE))
    }

    fn read(input: Input<'_>, limits: &Limits) -> Result<PassageLength, Fault> {
        let length = Option::<PassageBounds>::read(input, limits)?;
        Ok(PassageLength(length.map_or(MIN_PASSAGE, |length| length.0 as usize)))
    }

    fn schema(limits: &Limits) -> Schema {
        let mut schema = Option::<PassageBounds>::schema(limits);
        schema["default"] = MIN_PASSAGE.into();
        schema
    }
}

impl Field for Preset {
    fn read(input: Input<'_>, _: &Limits) -> Result<Preset, Fault> {
        let name = input.into_string()?;
        name.parse().map_err(|_| {
            let names = Preset::ALL.map(Preset::name).join(", ");
            Fault::new("invalid", format!("expected one of {names}"))
        })
    }

    fn schema(_: &Limits) -> Schema {
        json!({"type": "string", "enum": Preset::ALL.map(Preset::name)})
    }
}

request! {
    /// Settings of a collection.
    pub(crate) struct CollectionSettings {
        /// Preset on which the settings are based. Default: `copies`.
        preset: Option<Preset>,
        /// Settings that differ from the preset: the tables and keys of a configuration file, such as
        /// `{"matching": {"threshold": 0.7}}`.
        overrides: Option<Overrides>,
        /// Age in days after which documents are deleted, counted from `published_at`, or from arrival if there is none.
        retention_days: Option<Days>,
        /// Maximum difference in days between the dates of two documents that match.
        window_days: Option<Days>,
    }
}

/// A number of days, up to ten thousand years.
type Days = Bounded<1, 3_650_000>;

impl CollectionSettings {
    /// Returns the store's configuration, if the settings are consistent.
    pub(crate) fn into_config(self, limits: &Limits) -> Result<CollectionConfig, Problem> {
        let config = CollectionConfig {
            preset: self.preset.unwrap_or_default(),
            overrides: self.overrides.map(|overrides| overrides.0).unwrap_or_default(),
            retention_days: self.retention_days.map(|days| days.0 as u32),
            window_days: self.window_days.map(|days| days.0 as u32),
        };
        let invalid = |error: sameish_store::Error| {
            let message = error.to_string();
            let message = message.lines().last().unwrap_or_default().to_owned();
            Problem::field("/overrides", "invalid", message)
        };
        let engine = config.resolve().map_err(invalid)?;
        if engine.matching.limit as usize > limits.results {
            let detail =
                format!("`matching.limit` is {}, maximum is {}", engine.matching.limit, limits.results);
            return Err(Problem::field("/overrides", "out_of_range", detail));
        }
        sameish::Engine::new(engine).map_err(|error| invalid(error.into()))?;
        Ok(config)
    }
}

/// Overrides of a preset, as the TOML text of a configuration file. `null` in JSON is `"none"` in the file.
#[derive(Debug)]
pub(crate) struct Overrides(String);

impl Field for Overrides {
    fn read(input: Input<'_>, _: &Limits) -> Result<Overrides, Fault> {
        let Input::Json(Value::Object(entries)) = input else { return Err(input.expected("an object")) };
        let mut toml = String::new();
        for (key, value) in entries {
            if key == "preset" {
                return Err(Fault::new("invalid", "contains `preset`, which is a field of the request"));
            }
            // An inline table is equivalent to a table under a heading. Writing to a string cannot fail.
            _ = writeln!(toml, "{} = {}", Schema::from(&*key), inline_toml(&value));
        }
        Ok(Overrides(toml))
    }

    fn schema(_: &Limits) -> Schema {
        json!({"type": "object", "propertyNames": {"not": {"const": "preset"}}})
    }
}

fn inline_toml(value: &Value<'_>) -> String {
    match value {
        Value::Null => "\"none\"".into(),
        Value::Bool(flag) => flag.to_string(),
        Value::Integer(number) => number.to_string(),
        Value::Float(number) => {
            let text = number.to_string();
            if text.contains(['.', 'e']) { text } else { format!("{text}.0") }
        }
        Value::Text(text) => toml::Value::from(&**text).to_string(),
        Value::Array(values) => {
            format!("[{}]", values.iter().map(inline_toml).collect::<Vec<_>>().join(", "))
        }
        Value::Object(entries) => {
            let pair = |(key, value): &(Cow<'_, str>, Value<'_>)| {
                format!("{} = {}", toml::Value::from(&**key), inline_toml(value))
            };
            format!("{{ {} }}", entries.iter().map(pair).collect::<Vec<_>>().join(", "))
        }
    }
}

request! {
    /// Options of a snapshot.
    pub(crate) struct SnapshotRequest {
        /// Name of the snapshot's directory. Default: a generated name that contains the time.
        pub(crate) name: Option<SnapshotName>,
    }
}

/// The name of a snapshot: a file name that cannot leave its directory.
#[derive(Debug)]
pub(crate) struct SnapshotName(pub(crate) String);

const MAX_SNAPSHOT_NAME: usize = 100;

impl Field for SnapshotName {
    fn read(input: Input<'_>, limits: &Limits) -> Result<SnapshotName, Fault> {
        let ShortText(name) = ShortText::<MAX_SNAPSHOT_NAME>::read(input, limits)?;
        let allowed = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_' | b'.');
        if name.is_empty() || name.starts_with('.') || !name.bytes().all(allowed) {
            let detail = "expected letters, digits, `-`, `_` and `.`, not starting with `.`";
            return Err(Fault::new("invalid", detail));
        }
        Ok(SnapshotName(name))
    }

    fn schema(_: &Limits) -> Schema {
        json!({
            "type": "string",
            "maxLength": MAX_SNAPSHOT_NAME,
            "pattern": "^[A-Za-z0-9_-][A-Za-z0-9._-]*$",
            "examples": ["nightly-1"],
        })
    }
}

request! {
    /// Which page of clusters to return.
    pub(crate) struct ClusterListParams {
        /// Maximum number of clusters: at most 1,000. Default: 50.
        pub(crate) limit: Option<ResultLimit>,
        /// Position in the list: `next` of the previous page.
        pub(crate) cursor: Option<String>,
    }
}

request! {
    /// Which page of documents to return.
    pub(crate) struct DocumentListParams {
        /// Maximum number of documents: at most 1,000. Default: 50.
        pub(crate) limit: Option<ResultLimit>,
        /// Position in the list: `next` of the previous page.
        pub(crate) cursor: Option<String>,
    }
}

request! {
    /// Position in the documents of a cluster.
    pub(crate) struct ClusterParams {
        /// Maximum number of documents: at most 1,000. Default: 1,000.
        pub(crate) limit: Option<ResultLimit>,
        /// Position in the list: `next` of the previous page.
        pub(crate) cursor: Option<String>,
    }
}

request! {
    /// Which of two documents to delete.
    pub(crate) struct DeleteParams {
        /// Type of the id, for a path that matches both an integer id and a string id.
        pub(crate) r#type: Option<IdType>,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn options(query: &str) -> Result<SimilarOptions, u16> {
        let params = SearchParams::from_query(Some(query), &Limits::default());
        params
            .map(|params| params.options(10, &Limits::default()))
            .map_err(|problem| problem.kind.status().as_u16())
    }

    #[test]
    fn lowers_large_limits_and_rejects_invalid_options() {
        assert_eq!(options("").unwrap().limit, Some(10));
        assert_eq!(options("limit=7").unwrap().limit, Some(7));
        assert_eq!(options("limit=1000000000").unwrap().limit, Some(1_000));
        assert_eq!(options("limit=99999999999999999999999").unwrap().limit, Some(1_000));
        assert_eq!(options("limit=1000&evidence=true").unwrap().limit, Some(100));
        for query in [
            "limit=0",
            "limit=-1",
            "limit=",
            "limit=1.5",
            "min_similarity=NaN",
            "min_similarity=1.1",
            "evidence=yes",
            "unknown=1",
            "limit=1&limit=2",
            "limit=%zz",
            "limit=%ff",
        ] {
            assert_eq!(options(query), Err(422), "{query}");
        }
        assert_eq!(options("evidence=true&min_similarity=0.5").unwrap().evidence, Some(MIN_PASSAGE));
    }

    #[test]
    fn options_in_the_body_override_the_query_string() {
        let query: TextQuery =
            crate::body::parse(br#"{"text":"x","limit":3,"evidence":false}"#, &Limits::default()).unwrap();
        let params =
            SearchParams::from_query(Some("limit=7&evidence=true&min_similarity=0.5"), &Limits::default());
        let options = query.into_parts(params.unwrap()).1.options(10, &Limits::default());
        let expected = SimilarOptions { limit: Some(3), min_similarity: Some(0.5), evidence: None };
        assert_eq!(options, expected);
    }

    fn settings(json: &str) -> Result<CollectionConfig, Problem> {
        let limits = Limits::default();
        crate::body::parse::<CollectionSettings>(json.as_bytes(), &limits)?.into_config(&limits)
    }

    #[test]
    fn converts_overrides_to_a_configuration_file() {
        let config = settings(
            r#"{"preset":"headlines","overrides":{"matching":{"threshold":1},"text":{"stop_words":null,"min_words":3}},
                "retention_days":30}"#,
        )
        .unwrap();
        assert_eq!(config.preset, Preset::Headlines);
        assert_eq!(config.retention_days, Some(30));
        let engine = config.resolve().unwrap();
        assert_eq!(engine.text.stop_words, None);
        assert_eq!(engine.text.min_words, 3);
    }

    #[test]
    fn rejects_invalid_collection_settings() {
        for json in [
            r#"{"preset":"nothing"}"#,
            r#"{"overrides":{"matching":{"threshold":7.0}}}"#,
            r#"{"overrides":{"mtching":{}}}"#,
            r#"{"overrides":{"matching":{"limit":1001}}}"#,
            r#"{"overrides":{"preset":"web"}}"#,
            r#"{"overrides":[]}"#,
            r#"{"retention_days":0}"#,
            r#"{"window_days":"7"}"#,
            r#"{"window":7}"#,
            "[]",
        ] {
            assert_eq!(settings(json).unwrap_err().kind.status(), 422, "{json}");
        }
    }

    #[test]
    fn snapshot_names_cannot_leave_their_directory() {
        let parse = |name: &str| {
            let body = json!({"name": name}).to_string();
            crate::body::parse::<SnapshotRequest>(body.as_bytes(), &Limits::default())
        };
        assert!(parse("nightly-1.0").is_ok());
        for name in ["..", ".", ".x", "a/b", "", "a\\b", "é"] {
            assert!(parse(name).is_err(), "{name}");
        }
    }
}
