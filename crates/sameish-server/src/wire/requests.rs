//! Request bodies and query strings, documents excepted.

use super::document::{MAX_HOST, MAX_TITLE, MAX_URL, NewDocument, PublishedAt, Replacement};
use super::edits::EditRequest;
use super::field_types::{Bounded, DocumentText, Fraction, Omittable, ResultLimit, ShortText, SketchField};
use super::fields::{Fault, Field, Input, Request, UnknownFields, request};
use super::id::{Id, IdType, NewId};
use super::metadata::Metadata;
use super::sketches::SketchText;
use crate::problem::Problem;
use crate::settings::Limits;
use sameish::matching::{OffsetUnit, UnknownOffsetUnit};
use sameish::{Analyzer, Config, Preset, Timestamp};
use sameish_io::json::Value;
use sameish_store::{
    Center, ClusterFilter, ClusterOrder, ClustersPage, CollectionConfig, Periods, SimilarOptions,
};
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
        named::<SketchText>(limits),
        named::<CollectionSettings>(limits),
        named::<CollectionChange>(limits),
        named::<EditRequest>(limits),
        named::<SnapshotRequest>(limits),
    ]
}

request! {
    /// Search options in the query string.
    pub(crate) struct SearchParams {
        /// Maximum number of matches: at most 1,000, and at most 100 with `evidence`. Default: the collection's
        /// `matching.limit`, which is 10 unless overridden.
        limit: Option<ResultLimit>,
        /// Minimum similarity of a match. Default: the collection's threshold. With a value below the threshold, all sketches are
        /// compared if the index would miss matches; this takes time proportional to the number of documents.
        min_similarity: Option<Fraction>,
        /// Whether matches include their shared passages: `true`, `false` (default) or `offsets`, without the texts of the passages
        /// and without differences.
        evidence: Option<EvidenceChoice>,
        /// Unit of the offsets of passages. Default: `utf8`.
        offsets: Option<OffsetUnit>,
    }
}

impl SearchParams {
    /// Returns the unit of the offsets of passages.
    pub(crate) fn offsets(&self) -> OffsetUnit {
        self.offsets.unwrap_or_default()
    }

    /// Returns what matches include of their shared passages.
    pub(crate) fn evidence(&self) -> EvidenceChoice {
        self.evidence.unwrap_or_default()
    }

    /// Returns the options of a search, limited by the settings of the service. `default_limit` is the collection's
    /// `matching.limit`.
    pub(crate) fn options(&self, default_limit: u32, limits: &Limits) -> SimilarOptions {
        let evidence = (self.evidence() != EvidenceChoice::None).then_some(MIN_PASSAGE);
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
    /// A text to search for, which is not stored, and search options. `text`, `title`, or sketches in place of a text are required. `id`, `url`, `host`,
    /// `source` and `metadata` are accepted and ignored, so that a document can be sent unchanged; other fields are rejected,
    /// because they may be misspelled options.
    pub(crate) struct TextQuery {
        /// Ignored.
        id: Option<Id>,
        /// Headline. Searched for if `text` is absent.
        title: Option<ShortText<MAX_TITLE>>,
        /// Text to search for.
        text: Omittable<DocumentText>,
        /// SimHash fingerprint in place of a text, as 16 hexadecimal digits; requires `simhash_scheme`.
        simhash: SketchField,
        /// Scheme of `simhash`, as the service returns it with a sketch. Another scheme than that of the collection is refused.
        simhash_scheme: SketchField,
        /// MinHash signature in place of a text, as hexadecimal digits; requires `minhash_scheme`.
        minhash: SketchField,
        /// Scheme of `minhash`.
        minhash_scheme: SketchField,
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
        /// Whether matches include their shared passages: `true`, `false` or `offsets`. Overrides the query string.
        evidence: Option<EvidenceChoice>,
        /// Unit of the offsets of passages. Overrides the query string.
        offsets: Option<OffsetUnit>,
        /// Ignored.
        metadata: Option<Metadata>,
    }
    any_of: text, title, simhash, minhash;
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
            simhash: self.simhash,
            simhash_scheme: self.simhash_scheme,
            minhash: self.minhash,
            minhash_scheme: self.minhash_scheme,
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
        preset: Option<Preset>,
        /// Settings that differ from the preset: the tables and keys of a configuration file, such as
        /// `{"text": {"html": true}}`.
        overrides: Option<Overrides>,
        /// Collection whose settings are used, instead of a preset.
        pub(crate) collection: Option<String>,
        /// Publication date of the first text. With both dates, `relation` can be `update_of` or `updated_by`.
        pub(crate) published_at_a: Option<PublishedAt>,
        /// Publication date of the second text.
        pub(crate) published_at_b: Option<PublishedAt>,
        /// Minimum length of a reported passage, in words.
        pub(crate) min_tokens: PassageLength,
        /// Unit of the offsets of passages. Default: `utf8`.
        pub(crate) offsets: Option<OffsetUnit>,
    }
}

impl CompareTexts {
    /// Returns an error if settings are given in addition to a collection.
    pub(crate) fn check_collection(&self) -> Result<(), Problem> {
        let reason = "does not apply with `collection`";
        match (&self.preset, &self.overrides) {
            (Some(_), _) => Err(Problem::field("/preset", "invalid", reason)),
            (None, Some(_)) => Err(Problem::field("/overrides", "invalid", reason)),
            (None, None) => Ok(()),
        }
    }

    /// Returns the analyzer with the settings of the request.
    pub(crate) fn analyzer(&self) -> Result<Analyzer, Problem> {
        let config = engine_config(self.preset.unwrap_or_default(), self.overrides.as_ref())?;
        Analyzer::new(config).map_err(|error| invalid_setting(&error.into()))
    }
}

/// What matches include of the passages that they share with the query.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum EvidenceChoice {
    #[default]
    None,
    /// Where the passages are.
    Offsets,
    /// The passages with their texts, and the differences between them.
    Full,
}

impl Field for EvidenceChoice {
    fn read(input: Input<'_>, _: &Limits) -> Result<EvidenceChoice, Fault> {
        match &input {
            Input::Json(Value::Bool(true)) => Ok(EvidenceChoice::Full),
            Input::Json(Value::Bool(false)) => Ok(EvidenceChoice::None),
            Input::Json(Value::Text(text)) if text == "offsets" => Ok(EvidenceChoice::Offsets),
            Input::Query(text) if text == "true" => Ok(EvidenceChoice::Full),
            Input::Query(text) if text == "false" => Ok(EvidenceChoice::None),
            Input::Query(text) if text == "offsets" => Ok(EvidenceChoice::Offsets),
            other => Err(other.expected("true, false or `offsets`")),
        }
    }

    fn schema(_: &Limits) -> Schema {
        json!({"type": ["boolean", "string"], "enum": [true, false, "offsets"]})
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
        /// Which documents become centers of clusters first: the `first` to arrive, the `newest` by `published_at`, or the `longest`.
        /// Only for the linkages `cohesive` and `greedy`. Default: `newest` for `greedy`, otherwise `first`.
        center: Option<Center>,
    }
}

impl Field for Center {
    fn read(input: Input<'_>, _: &Limits) -> Result<Center, Fault> {
        let name = input.into_string()?;
        Center::from_name(&name)
            .ok_or_else(|| Fault::new("invalid", "expected one of first, newest, longest".to_owned()))
    }

    fn schema(_: &Limits) -> Schema {
        json!({"type": "string", "enum": Center::ALL.map(Center::name)})
    }
}

/// A number of days, up to ten thousand years.
type Days = Bounded<1, 3_650_000>;

impl CollectionSettings {
    /// Returns the store's configuration, if the settings are consistent.
    pub(crate) fn into_config(self, limits: &Limits) -> Result<CollectionConfig, Problem> {
        let preset = self.preset.unwrap_or_default();
        let engine = engine_config(preset, self.overrides.as_ref())?;
        let config = CollectionConfig {
            preset,
            overrides: self.overrides.map(|overrides| overrides.0).unwrap_or_default(),
            retention_days: self.retention_days.map(|days| days.0 as u32),
            window_days: self.window_days.map(|days| days.0 as u32),
            center: self.center,
        };
        config.resolve_center().map_err(|error| Problem::field("/center", "invalid", error.to_string()))?;
        if engine.matching.limit as usize > limits.results {
            let detail =
                format!("`matching.limit` is {}, maximum is {}", engine.matching.limit, limits.results);
            return Err(Problem::field("/overrides", "out_of_range", detail));
        }
        sameish::Engine::new(engine).map_err(|error| invalid_setting(&error.into()))?;
        Ok(config)
    }
}

/// Returns the settings of a preset with overrides.
pub(super) fn engine_config(preset: Preset, overrides: Option<&Overrides>) -> Result<Config, Problem> {
    let config = CollectionConfig {
        overrides: overrides.map(|overrides| overrides.0.clone()).unwrap_or_default(),
        ..CollectionConfig::new(preset)
    };
    config.resolve().map_err(|error| invalid_setting(&error))
}

fn invalid_setting(error: &sameish_store::Error) -> Problem {
    Problem::field("/overrides", "invalid", setting_detail(error))
}

/// Maximum number of characters of the message about a setting, which may repeat a long value.
const MAX_SETTING_DETAIL: usize = 500;

/// Returns the message about a setting in one line, after the name of the setting. What precedes the message shows a configuration
/// file that the client did not write.
fn setting_detail(error: &sameish_store::Error) -> String {
    let message = error.to_string();
    let mut lines = message.lines().rev();
    let last = lines.next().unwrap_or_default();
    // The parser names the setting on a line of its own.
    let (place, line) = match last.strip_prefix("in ") {
        Some(setting) => (format!("{setting}: "), lines.next().unwrap_or_default()),
        None => (String::new(), last),
    };
    let line = line.strip_prefix("config: ").unwrap_or(line);
    match line.char_indices().nth(MAX_SETTING_DETAIL) {
        Some((end, _)) => format!("{place}{}…", &line[..end]),
        None => format!("{place}{line}"),
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
    /// Which clusters to return, and in which order.
    pub(crate) struct ClusterListParams {
        /// Order: `newest` (default), `largest`, or `active` (the latest arrival first).
        pub(crate) sort: Option<ClusterSort>,
        /// Clusters with a document of this source; an empty value selects documents without a source.
        pub(crate) source: Option<ShortText<MAX_HOST>>,
        /// Clusters with a document of this date or later: RFC 3339, or YYYY-MM-DD.
        pub(crate) since: Option<ShortText<MAX_DATE>>,
        /// Clusters with a document of this date or earlier. A date without a time includes the whole day.
        pub(crate) until: Option<ShortText<MAX_DATE>>,
        /// Words that must all occur in the title or the id of the center, ignoring case.
        pub(crate) q: Option<ShortText<MAX_WORDS>>,
        /// Minimum number of documents.
        pub(crate) min_size: Option<ResultLimit>,
        /// Maximum number of clusters: at most 1,000. Default: 50.
        pub(crate) limit: Option<ResultLimit>,
        /// Position in the list: `next` of the previous page with the same order and filters.
        pub(crate) cursor: Option<String>,
    }
}

/// Maximum length of a date, and of the words of a filter, in bytes.
const MAX_DATE: usize = 64;
const MAX_WORDS: usize = 1_000;

/// The order of a list of clusters.
#[derive(Clone, Copy, Debug)]
pub(crate) struct ClusterSort(ClusterOrder);

const SORTS: [(&str, ClusterOrder); 3] =
    [("newest", ClusterOrder::Newest), ("largest", ClusterOrder::Largest), ("active", ClusterOrder::Active)];

impl Field for ClusterSort {
    fn read(input: Input<'_>, _: &Limits) -> Result<ClusterSort, Fault> {
        let name = input.into_string()?;
        let order = SORTS.iter().find(|(known, _)| *known == name).map(|(_, order)| ClusterSort(*order));
        order.ok_or_else(|| Fault::new("invalid", "expected one of newest, largest, active"))
    }

    fn schema(_: &Limits) -> Schema {
        json!({"type": "string", "enum": SORTS.map(|(name, _)| name)})
    }
}

impl ClusterListParams {
    /// Returns the page without its position.
    pub(crate) fn page(&self, limits: &Limits) -> Result<ClustersPage, Problem> {
        let mut page = ClustersPage::default();
        page.limit = self.limit.map_or(page.limit, |limit| limit.0.min(limits.results));
        page.order = self.sort.map(|sort| sort.0).unwrap_or_default();
        let words = self.q.iter().flat_map(|words| words.0.split_whitespace());
        page.filter = ClusterFilter {
            source: self.source.as_ref().map(|source| source.0.clone()),
            since: self.since.as_ref().map(|date| date_bound("?since", &date.0, false)).transpose()?,
            until: self.until.as_ref().map(|date| date_bound("?until", &date.0, true)).transpose()?,
            words: words.map(str::to_lowercase).collect(),
            min_size: self.min_size.map_or(0, |size| size.0 as u64),
        };
        Ok(page)
    }
}

/// Returns the first or the last moment of a date or time.
fn date_bound(pointer: &str, text: &str, is_end: bool) -> Result<Timestamp, Problem> {
    let invalid = || {
        Problem::field(
            pointer,
            "invalid",
            "expected a date like `2024-01-31` or a time like `2024-01-31T12:00:00Z`",
        )
    };
    let time = Timestamp::parse(text).map_err(|_| invalid())?;
    let is_day = text.trim().len() == "2024-01-31".len() && text.contains('-');
    let rest_of_day = if is_end && is_day { 86_400_000 - 1 } else { 0 };
    Timestamp::from_milliseconds(time.as_milliseconds() + rest_of_day).ok_or_else(invalid)
}

request! {
    /// Where a stream of events starts.
    pub(crate) struct EventParams {
        /// Sequence number or `position` of the last event that was received, for clients that cannot send the header `Last-Event-ID`.
        pub(crate) last_event_id: Option<String>,
    }
}

request! {
    /// Which documents to export.
    pub(crate) struct ExportParams {
        /// Whether only centers of clusters and documents without a cluster are exported. Default: false.
        pub(crate) representatives: Option<bool>,
    }
}

request! {
    /// Settings of a collection to change. An absent setting does not change; null removes a setting.
    pub(crate) struct CollectionChange {
        /// Age in days after which documents are deleted, counted from `published_at`, or from arrival if there is none.
        pub(crate) retention_days: Omittable<Option<Days>>,
        /// Maximum difference in days between the dates of two documents that match.
        pub(crate) window_days: Omittable<Option<Days>>,
    }
}

impl CollectionChange {
    /// Returns the settings after the change.
    pub(crate) fn apply(&self, periods: Periods) -> Periods {
        let days = |change: &Omittable<Option<Days>>, before: Option<u32>| match &change.0 {
            Some(days) => days.as_ref().map(|days| days.0 as u32),
            None => before,
        };
        Periods {
            retention_days: days(&self.retention_days, periods.retention_days),
            window_days: days(&self.window_days, periods.window_days),
        }
    }
}

request! {
    /// A threshold to try.
    pub(crate) struct PreviewParams {
        /// Minimum similarity of a match.
        pub(crate) threshold: Fraction,
    }
}

request! {
    /// Which sources to return, or of which two sources to return pairs of documents.
    pub(crate) struct SourceParams {
        /// Source of the later documents, to list pairs. An empty value selects documents without a source.
        pub(crate) later: Option<ShortText<MAX_HOST>>,
        /// Source of the first documents, to list pairs. Required with `later`.
        pub(crate) earlier: Option<ShortText<MAX_HOST>>,
        /// Number of sources: at most 1,000 in the list and 100 in the matrix, default 30. With `later`, number of pairs: at most
        /// 1,000, default 50.
        pub(crate) limit: Option<ResultLimit>,
        /// Position in the list of pairs: `next` of the previous page.
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
            r#"{"preset":"headlines","overrides":{"matching":{"threshold":1},"text":{"stop_words":null,"min_words":3,"html":true}},
                "retention_days":30}"#,
        )
        .unwrap();
        assert_eq!(config.preset, Preset::Headlines);
        assert_eq!(config.retention_days, Some(30));
        let engine = config.resolve().unwrap();
        assert_eq!(engine.text.stop_words, None);
        assert_eq!(engine.text.min_words, 3);
        assert!(engine.text.html && !engine.text.fold_accents);
    }

    #[test]
    fn errors_in_nested_settings_keep_their_message() {
        for (overrides, detail) in [
            (
                r#"{"matching":{"threshold":"high"}}"#,
                "`matching.threshold`: invalid type: string \"high\", expected f64",
            ),
            (
                r#"{"matching":{"linkage":"loose"}}"#,
                "`matching.linkage`: unknown variant `loose`, expected one of `greedy`, `components`, `cohesive`, `online`",
            ),
            (r#"{"minhash":{"bands":{"count":3}}}"#, "`minhash.bands`: missing field `rows`"),
            (
                r#"{"minhash":{"shingle":"lines:3"}}"#,
                "`minhash.shingle`: `shingle` is lines:3: must be `words:N`, `chars:N`, `windows:N` or `letters`",
            ),
            (
                r#"{"matching":{"threshold":7}}"#,
                "`matching.threshold` is 7: must be more than 0 and at most 1",
            ),
            (
                r#"{"text":{"stop_words":["of","new york"]}}"#,
                "`text.stop_words[1]` is \"new york\": must be one word",
            ),
        ] {
            let problem = settings(&format!(r#"{{"overrides":{overrides}}}"#)).unwrap_err();
            assert_eq!(problem.errors[0].detail, detail);
            assert_eq!(problem.detail, format!("`/overrides`: {detail}"));
        }
        let long = format!(r#"{{"overrides":{{"matching":{{"threshold":"{}"}}}}}}"#, "x".repeat(100_000));
        assert!(settings(&long).unwrap_err().detail.len() < 1_000);
    }

    #[test]
    fn accepts_a_list_of_stop_words() {
        let config = settings(r#"{"preset":"headlines","overrides":{"text":{"stop_words":["The","of"]}}}"#);
        let words = config.unwrap().resolve().unwrap().text.stop_words;
        assert_eq!(words, Some(sameish::config::StopList::Words(vec!["The".into(), "of".into()])));
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
