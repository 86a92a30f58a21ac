//! What does a client ask, beside documents?

use super::document::New;
use crate::json::{Fields, Json};
use crate::problem::{FieldError, Problem, shown};
use crate::settings::Limits;
use sameish::Preset;
use sameish_store::{Collection, CollectionConfig, SimilarOptions};
use serde::Serialize;
use std::fmt::Write;
use utoipa::{IntoParams, ToSchema};

/// Fewest words of a passage that counts as evidence.
const PASSAGE: usize = 5;
/// Most days that make sense: longer than any clock of ours runs.
const MAX_DAYS: u64 = 3_650_000;

/// How a search may differ from the collection's settings.
#[derive(Debug, IntoParams)]
#[into_params(parameter_in = Query)]
#[expect(dead_code, reason = "describes what `search_options` takes")]
pub(crate) struct SearchParams {
    /// Most matches; more than 1,000 are not given, and not more than 100 with `evidence`.
    #[param(minimum = 1, default = 10, required = false)]
    limit: u64,
    /// Least similarity; the collection's threshold when absent. Far below it, few are found.
    #[param(minimum = 0.0, maximum = 1.0, required = false)]
    min_similarity: f64,
    /// Whether the passages that both share are told.
    #[param(default = false, required = false)]
    evidence: bool,
}

/// Most matches with evidence: each costs a look at both texts.
const MAX_WITH_EVIDENCE: usize = 100;

/// Options with as many matches as an answer may have in this collection.
pub(crate) fn bounded(options: SimilarOptions, collection: &Collection, limits: &Limits) -> SimilarOptions {
    let most = match options.evidence {
        Some(_) => limits.results.min(MAX_WITH_EVIDENCE),
        None => limits.results,
    };
    let own = collection.analyzer().config().matching.limit as usize;
    SimilarOptions { limit: Some(options.limit.unwrap_or(own).min(most)), ..options }
}

/// Reads `limit`, `min_similarity` and `evidence` of an address.
pub(crate) fn search_options(query: Option<&str>, limits: &Limits) -> Result<SimilarOptions, Problem> {
    let mut options = SimilarOptions::default();
    let mut errors = Vec::new();
    for (name, value) in pairs(query, &["limit", "min_similarity", "evidence"], &mut errors) {
        let wrong = |expected: &str| {
            FieldError::new(
                format!("?{name}"),
                "out_of_range",
                format!("is `{}`: must be {expected}", shown(&value)),
            )
        };
        match name {
            "limit" => match limit(&value, limits.results) {
                Some(limit) => options.limit = Some(limit),
                None => errors.push(wrong("a whole number of at least 1")),
            },
            "min_similarity" => match value.parse::<f64>() {
                Ok(number) if (0.0..=1.0).contains(&number) => options.min_similarity = Some(number),
                _ => errors.push(wrong("a number from 0 to 1")),
            },
            _ => match value.as_str() {
                "true" => options.evidence = Some(PASSAGE),
                "false" => options.evidence = None,
                _ => errors.push(wrong("true or false")),
            },
        }
    }
    match errors.is_empty() {
        true => Ok(options),
        false => Err(Problem::fields(errors)),
    }
}

/// A number of at least 1; what is too large, however large, is the most there is.
pub(crate) fn limit(text: &str, most: usize) -> Option<usize> {
    let digits = !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
    let number = digits.then(|| text.parse::<usize>().unwrap_or(usize::MAX))?;
    (number > 0).then(|| number.min(most))
}

/// The known parameters of an address, unescaped; what is unknown, broken or given twice is noted.
pub(crate) fn pairs<'a>(
    query: Option<&str>,
    known: &[&'a str],
    errors: &mut Vec<FieldError>,
) -> Vec<(&'a str, String)> {
    let mut found: Vec<(&'a str, String)> = Vec::new();
    for pair in query.unwrap_or_default().split('&').filter(|pair| !pair.is_empty()) {
        let (name, value) = pair.split_once('=').unwrap_or((pair, ""));
        let (Some(name), Some(value)) = (unescaped(name), unescaped(value)) else {
            errors.push(FieldError::new("?", "invalid", "the address is not UTF-8 behind its percent signs"));
            continue;
        };
        let pointer = || format!("?{}", shown(&name));
        match known.iter().find(|known| **known == name) {
            None => errors.push(FieldError::new(pointer(), "unknown_field", "is no parameter of this")),
            Some(known) if found.iter().any(|(seen, _)| seen == known) => {
                errors.push(FieldError::new(pointer(), "invalid", "is given twice"));
            }
            Some(known) => found.push((known, value)),
        }
    }
    found
}

fn unescaped(text: &str) -> Option<String> {
    let mut bytes = Vec::with_capacity(text.len());
    let mut rest = text.as_bytes();
    while let [first, tail @ ..] = rest {
        rest = tail;
        match (first, tail) {
            (b'+', _) => bytes.push(b' '),
            (b'%', [a, b, tail @ ..]) => {
                let digit = |digit: u8| char::from(digit).to_digit(16);
                bytes.push((digit(*a)? << 4 | digit(*b)?) as u8);
                rest = tail;
            }
            (b'%', _) => return None,
            (byte, _) => bytes.push(*byte),
        }
    }
    String::from_utf8(bytes).ok()
}

/// A text that is not stored, and how to search for it.
#[derive(Debug, Serialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct TextQuery {
    /// Taken so that a document can be sent as it is; it does not matter.
    id: Option<super::Id>,
    /// Compared only where there is no text.
    title: Option<String>,
    /// What is compared; at most 1 MiB.
    #[schema(nullable = false)]
    text: Option<String>,
    url: Option<String>,
    host: Option<String>,
    source: Option<String>,
    /// In a collection with a time window: only documents within the window of this date match. Absent: of now.
    #[schema(format = DateTime)]
    published_at: Option<String>,
    /// As in the address.
    #[schema(minimum = 1)]
    limit: Option<u64>,
    #[schema(minimum = 0, maximum = 1)]
    min_similarity: Option<f64>,
    evidence: Option<bool>,
}

impl TextQuery {
    /// Reads a query; what its body says of the search goes before the address.
    pub(crate) fn read(
        json: Json<'_>,
        mut options: SimilarOptions,
        limits: &Limits,
    ) -> Result<(New, SimilarOptions), Problem> {
        let mut fields = Fields::of(json, "")?;
        let new = New::take(&mut fields, limits);
        if let Some(limit) = fields.integer("limit", 1..=u64::MAX) {
            options.limit = Some(usize::try_from(limit).unwrap_or(usize::MAX).min(limits.results));
        }
        options.min_similarity = fields.share("min_similarity").or(options.min_similarity);
        if let Some(evidence) = fields.flag("evidence") {
            options.evidence = evidence.then_some(PASSAGE);
        }
        fields.finish()?;
        let new = new.ok_or_else(|| Problem::field("/text", "missing", "must be there"))?;
        Ok((new, options))
    }
}

/// Two texts to compare.
#[derive(Debug, Serialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct CompareTexts {
    /// The first text; at most 1 MiB.
    pub(crate) a: String,
    /// The second text.
    pub(crate) b: String,
    /// Which preset's features are compared.
    #[schema(value_type = Option<PresetName>)]
    pub(crate) preset: Option<&'static str>,
    /// Fewest words of a passage that is told.
    #[schema(minimum = 1, maximum = 1_000_000, default = 5)]
    pub(crate) min_tokens: Option<u64>,
}

/// The name of a preset.
#[derive(Debug, Serialize, ToSchema)]
#[serde(rename_all = "lowercase")]
#[expect(dead_code, reason = "describes the names of presets")]
pub(crate) enum PresetName {
    Wire,
    Articles,
    Sdr,
    Headlines,
    Web,
    Copies,
}

impl CompareTexts {
    pub(crate) fn read(json: Json<'_>, limits: &Limits) -> Result<(String, String, Preset, usize), Problem> {
        let mut fields = Fields::of(json, "")?;
        let [a, b] = ["a", "b"].map(|name| side(&mut fields, name, limits));
        let preset = preset(&mut fields);
        let tokens = fields.integer("min_tokens", 1..=1_000_000);
        fields.finish()?;
        match (a, b) {
            (Some(a), Some(b)) => {
                Ok((a, b, preset.unwrap_or_default(), tokens.map_or(PASSAGE, |n| n as usize)))
            }
            _ => Err(Problem::field("/a", "missing", "must be there")),
        }
    }
}

fn side(fields: &mut Fields<'_>, name: &str, limits: &Limits) -> Option<String> {
    match fields.take(name) {
        Some(Json::Text(text)) if text.len() <= limits.text_bytes => return Some(text.into_owned()),
        Some(Json::Text(text)) => {
            fields.wrong(
                name,
                "too_large",
                format!("has {} bytes: at most {}", text.len(), limits.text_bytes),
            );
        }
        Some(other) => fields.wrong(name, "wrong_type", format!("is {}: must be a string", other.kind())),
        None => fields.wrong(name, "missing", "must be there: the text to compare"),
    }
    None
}

fn preset(fields: &mut Fields<'_>) -> Option<Preset> {
    let name = fields.text("preset", 64)?;
    match name.parse() {
        Ok(preset) => Some(preset),
        Err(_) => {
            let known: Vec<&str> = Preset::ALL.iter().map(|preset| preset.name()).collect();
            fields.wrong("preset", "invalid", format!("must be one of {}", known.join(", ")));
            None
        }
    }
}

/// The settings of a collection.
#[derive(Debug, Serialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct CollectionSettings {
    /// What the settings start from; `copies` when absent.
    preset: Option<PresetName>,
    /// What is laid over the preset: the tables and keys of a config file, such as `{"matching": {"threshold": 0.7}}`.
    #[schema(value_type = Option<Object>)]
    overrides: Option<serde_json::Value>,
    /// Documents older than so many days leave, by `published_at` or else by their arrival.
    #[schema(minimum = 1, maximum = 3_650_000)]
    retention_days: Option<u32>,
    /// Only documents whose dates are at most so many days apart match.
    #[schema(minimum = 1, maximum = 3_650_000)]
    window_days: Option<u32>,
}

impl CollectionSettings {
    pub(crate) fn read(json: Json<'_>, limits: &Limits) -> Result<CollectionConfig, Problem> {
        let mut fields = Fields::of(json, "")?;
        let preset = preset(&mut fields).unwrap_or_default();
        let overrides = match fields.take("overrides") {
            None | Some(Json::Null) => String::new(),
            Some(Json::Object(entries)) => toml_of(&mut fields, entries),
            Some(other) => {
                fields.wrong("overrides", "wrong_type", format!("is {}: must be an object", other.kind()));
                String::new()
            }
        };
        let retention_days = fields.integer("retention_days", 1..=MAX_DAYS).map(|days| days as u32);
        let window_days = fields.integer("window_days", 1..=MAX_DAYS).map(|days| days as u32);
        fields.finish()?;
        let config = CollectionConfig { preset, overrides, retention_days, window_days };
        let wrong = |error: sameish_store::Error| {
            let message = error.to_string();
            let message = message.lines().last().unwrap_or_default().to_owned();
            Problem::field("/overrides", "invalid", message)
        };
        let engine = config.resolve().map_err(wrong)?;
        if engine.matching.limit as usize > limits.results {
            let detail = format!("`matching.limit` is {}: at most {}", engine.matching.limit, limits.results);
            return Err(Problem::field("/overrides", "out_of_range", detail));
        }
        sameish::Engine::new(engine).map_err(|error| wrong(error.into()))?;
        Ok(config)
    }
}

/// Overrides as a config file would have them. JSON's null means what the word `none` means there.
fn toml_of(fields: &mut Fields<'_>, entries: Vec<(std::borrow::Cow<'_, str>, Json<'_>)>) -> String {
    let mut out = String::new();
    for (key, value) in entries {
        if key == "preset" {
            fields.wrong("overrides", "invalid", "has a key `preset`: it stands beside `overrides`");
            continue;
        }
        // Inline tables are the same as tables under headings.
        _ = writeln!(out, "{} = {}", serde_json::Value::from(&*key), inline(&value));
    }
    out
}

fn inline(value: &Json<'_>) -> String {
    match value {
        Json::Null => "\"none\"".into(),
        Json::Bool(flag) => flag.to_string(),
        Json::Integer(number) => number.to_string(),
        Json::Float(number) => {
            let text = number.to_string();
            if text.contains(['.', 'e']) { text } else { format!("{text}.0") }
        }
        Json::Text(text) => toml::Value::from(&**text).to_string(),
        Json::List(values) => format!("[{}]", values.iter().map(inline).collect::<Vec<_>>().join(", ")),
        Json::Object(entries) => {
            let pair = |(key, value): &(std::borrow::Cow<'_, str>, Json<'_>)| {
                format!("{} = {}", toml::Value::from(&**key), inline(value))
            };
            format!("{{ {} }}", entries.iter().map(pair).collect::<Vec<_>>().join(", "))
        }
    }
}

/// What a snapshot is to be called.
#[derive(Debug, Default, Serialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct SnapshotRequest {
    /// Letters, digits, `-`, `_` and `.`; the time when absent.
    #[schema(pattern = "^[A-Za-z0-9_-][A-Za-z0-9._-]{0,99}$")]
    pub(crate) name: Option<String>,
}

impl SnapshotRequest {
    pub(crate) fn read(json: Json<'_>) -> Result<SnapshotRequest, Problem> {
        let mut fields = Fields::of(json, "")?;
        let name = fields.text("name", 100);
        let letters = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_' | b'.');
        if name
            .as_ref()
            .is_some_and(|name| name.is_empty() || name.starts_with('.') || !name.bytes().all(letters))
        {
            fields.wrong("name", "invalid", "must be letters, digits, -, _ and ., and not begin with .");
        }
        fields.finish()?;
        Ok(SnapshotRequest { name })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn options(query: &str) -> Result<SimilarOptions, u16> {
        search_options(Some(query), &Limits::default()).map_err(|problem| problem.kind.status().as_u16())
    }

    #[test]
    fn limits_are_clamped_above_and_refused_below() {
        assert_eq!(options("limit=7").unwrap().limit, Some(7));
        assert_eq!(options("limit=1000000000").unwrap().limit, Some(1_000));
        assert_eq!(options("limit=99999999999999999999999").unwrap().limit, Some(1_000));
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
        assert_eq!(options("evidence=true&min_similarity=0.5").unwrap().evidence, Some(PASSAGE));
    }

    fn settings(json: &str) -> Result<CollectionConfig, Problem> {
        CollectionSettings::read(Json::parse(json.as_bytes()).unwrap(), &Limits::default())
    }

    #[test]
    fn overrides_are_those_of_a_config_file() {
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
    fn wrong_settings_are_told_by_name() {
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
    fn a_snapshot_stays_in_its_folder() {
        let read = |json: &str| SnapshotRequest::read(Json::parse(json.as_bytes()).unwrap());
        assert!(read(r#"{"name":"nightly-1.0"}"#).is_ok());
        for name in ["..", ".", ".x", "a/b", "", "a\\\\b", "é"] {
            assert!(read(&format!(r#"{{"name":"{name}"}}"#)).is_err(), "{name}");
        }
    }
}
