//! Settings of collections.

use crate::problem::Problem;
use crate::settings::Limits;
use crate::wire::field_types::{Bounded, Omittable};
use crate::wire::fields::{Fault, Field, Input, request};
use sameish::{Config, Preset};
use sameish_io::json::Value;
use sameish_store::{Center, CollectionConfig, Periods};
use serde_json::{Value as Schema, json};
use std::borrow::Cow;
use std::fmt::Write;

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
pub(in crate::wire) fn engine_config(
    preset: Preset,
    overrides: Option<&Overrides>,
) -> Result<Config, Problem> {
    let config = CollectionConfig {
        overrides: overrides.map(|overrides| overrides.0.clone()).unwrap_or_default(),
        ..CollectionConfig::new(preset)
    };
    config.resolve().map_err(|error| invalid_setting(&error))
}

pub(super) fn invalid_setting(error: &sameish_store::Error) -> Problem {
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

#[cfg(test)]
mod tests {
    use super::*;

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
}
