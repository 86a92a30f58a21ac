//! Settings files and environment variables.

use super::{KeySetting, LogFormat, Settings, SettingsError};
use crate::auth::Scope;
use std::net::SocketAddr;

/// Environment variables with settings.
pub const VARIABLES: [&str; 8] = [
    "SAMEISH_LISTEN",
    "SAMEISH_DATA",
    "SAMEISH_SNAPSHOTS",
    "SAMEISH_LOG",
    "SAMEISH_LOG_FORMAT",
    "SAMEISH_READ_KEYS",
    "SAMEISH_WRITE_KEYS",
    "SAMEISH_ADMIN_KEYS",
];

impl Settings {
    /// Parses a settings file. Absent settings have their defaults; the error lists all faults.
    pub fn from_toml(text: &str) -> Result<Settings, SettingsError> {
        let first = match toml::from_str(text) {
            Ok(settings) => return Ok(settings),
            Err(error) => error,
        };
        let mut faults = vec![fault(&first, text)];
        let mut text = text.to_owned();
        let mut error = first;
        // The parser stops at the first fault, so the faulty line is blanked and the text parsed again.
        while let Some(rest) = blank_error_lines(&error, &text)
            && faults.len() < MAX_FAULTS
        {
            text = rest;
            match toml::from_str::<Settings>(&text) {
                Ok(_) => break,
                Err(next) => error = next,
            }
            faults.push(fault(&error, &text));
        }
        Err(SettingsError(faults.join("\n")))
    }

    /// Formats all settings as a settings file without keys, each with a comment: `origin` of its name, such as `limits.queue`.
    pub fn show(&self, origin: impl Fn(&str) -> String) -> Result<String, SettingsError> {
        let settings = toml::Table::try_from(self)
            .map_err(|error: toml::ser::Error| SettingsError(error.to_string()))?;
        let line =
            |key: &str, name: &str, value: &toml::Value| format!("{key} = {value} # {}\n", origin(name));
        let mut top_level = String::new();
        let mut tables = String::new();
        for (name, value) in &settings {
            match value {
                toml::Value::Table(table) => {
                    tables.push_str(&format!("\n[{name}]\n"));
                    for (key, value) in table {
                        tables.push_str(&line(key, &format!("{name}.{key}"), value));
                    }
                }
                toml::Value::Array(entries) if name == "keys" => {
                    for entry in entries.iter().filter_map(toml::Value::as_table) {
                        let fields: String =
                            entry.iter().map(|(key, value)| format!("{key} = {value}\n")).collect();
                        tables.push_str(&format!("\n[[keys]]\n{fields}"));
                    }
                }
                value => top_level.push_str(&line(name, name, value)),
            }
        }
        Ok(top_level + &tables)
    }

    /// Returns the names of the settings in a settings file, such as `limits.queue`.
    pub fn names_in(text: &str) -> Vec<String> {
        let table: toml::Table = toml::from_str(text).unwrap_or_default();
        let names = table.iter().flat_map(|(name, value)| match value {
            toml::Value::Table(table) => table.keys().map(|key| format!("{name}.{key}")).collect(),
            _ => vec![name.clone()],
        });
        names.collect()
    }

    /// Overrides settings by environment variables. Keys are added to those of the file.
    pub fn with_environment(
        mut self,
        get: impl Fn(&str) -> Option<String>,
    ) -> Result<Settings, SettingsError> {
        let invalid =
            |name: &str, expected: &str| SettingsError(format!("variable `{name}`: expected {expected}"));
        let get = |name: &str| get(name).filter(|value| !value.is_empty());
        if let Some(value) = get("SAMEISH_LISTEN") {
            self.listen = parse_listen(&value)
                .ok_or_else(|| invalid("SAMEISH_LISTEN", "an address with a port, such as 127.0.0.1:7070"))?;
        }
        if let Some(value) = get("SAMEISH_DATA") {
            self.data = value.into();
        }
        if let Some(value) = get("SAMEISH_SNAPSHOTS") {
            self.snapshots = Some(value.into());
        }
        if let Some(value) = get("SAMEISH_LOG") {
            self.log = value;
        }
        if let Some(value) = get("SAMEISH_LOG_FORMAT") {
            self.log_format = match value.as_str() {
                "text" => LogFormat::Text,
                "json" => LogFormat::Json,
                _ => return Err(invalid("SAMEISH_LOG_FORMAT", "`text` or `json`")),
            };
        }
        for scope in Scope::ALL {
            let name = scope.variable();
            let value = get(name).unwrap_or_default();
            let keys = value.split(',').map(str::trim).filter(|key| !key.is_empty());
            self.keys.extend(keys.map(|key| KeySetting {
                name: Some(name.to_owned()),
                key: Some(key.to_owned()),
                sha256: None,
                scope,
            }));
        }
        Ok(self)
    }
}

/// Maximum number of faults of a settings file that are reported.
const MAX_FAULTS: usize = 20;

/// Describes a fault by its position. Neither the line nor its values are shown, because they may contain a key.
fn fault(error: &toml::de::Error, text: &str) -> String {
    let message = without_values(error.message());
    let before = error.span().and_then(|span| text.get(..span.start));
    let Some(before) = before else { return message };
    let line = before.matches('\n').count() + 1;
    let column = before.rsplit('\n').next().unwrap_or_default().chars().count() + 1;
    format!("line {line}, column {column}: {message}")
}

/// Removes the values from a message of the parser, which has one before `, expected`. Names of settings remain, except in
/// `[[keys]]`, where a key may be in the wrong place.
fn without_values(message: &str) -> String {
    let (found, expected) = match message.split_once(", expected ") {
        Some((found, expected)) => (found, Some(expected)),
        None => (message, None),
    };
    let is_of_key = expected.is_some_and(|expected| expected.contains("`sha256`"));
    let kept = if found.starts_with("unknown field") && !is_of_key {
        found
    } else {
        found.split(['"', '`']).next().unwrap_or_default()
    };
    let kept = kept.trim_end();
    match expected {
        Some(expected) => format!("{kept}, expected {expected}"),
        None => kept.to_owned(),
    }
}

/// Returns the text with the lines of an error blanked, or `None` if the error has no lines of its own: a missing field is a fault
/// of its whole table.
fn blank_error_lines(error: &toml::de::Error, text: &str) -> Option<String> {
    let span =
        error.span().filter(|span| !span.is_empty() && !error.message().starts_with("missing field"))?;
    let start = text.get(..span.start)?.rfind('\n').map_or(0, |at| at + 1);
    let end = text.get(span.end - 1..)?.find('\n').map_or(text.len(), |at| span.end - 1 + at);
    let blank: String = text[start..end].chars().map(|c| if c == '\n' { c } else { ' ' }).collect();
    Some(format!("{}{blank}{}", &text[..start], &text[end..]))
}

/// Parses an address with a port; `localhost` is 127.0.0.1.
pub fn parse_listen(text: &str) -> Option<SocketAddr> {
    let text = text.strip_prefix("http://").unwrap_or(text);
    let numeric = match text.strip_prefix("localhost:") {
        Some(port) => format!("127.0.0.1:{port}"),
        None => text.to_owned(),
    };
    numeric.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::super::Limits;
    use super::*;
    use std::path::PathBuf;

    #[test]
    fn environment_overrides_file() {
        let file =
            Settings::from_toml("listen = \"127.0.0.1:1\"\ndata = \"a\"\n[limits]\nqueue = 7\n").unwrap();
        let settings = file
            .with_environment(|name| (name == "SAMEISH_LISTEN").then(|| "localhost:2".to_owned()))
            .unwrap();
        assert_eq!(settings.listen.to_string(), "127.0.0.1:2");
        assert_eq!(settings.data, PathBuf::from("a"));
        assert_eq!(settings.limits, Limits { queue: 7, ..Limits::default() });
    }

    #[test]
    fn reports_the_line_of_unknown_keys_and_wrong_types() {
        for (text, expected) in [
            ("listen = 7", "line 1"),
            ("\n[limits]\nbody_byte = 1", "line 3"),
            ("data = \"a\"\ndata = \"b\"", "line 2"),
            ("[[keys]]\nkey = \"k\"\nscope = \"root\"", "line 3"),
        ] {
            let error = Settings::from_toml(text).unwrap_err().to_string();
            assert!(error.contains(expected), "{error}");
        }
    }

    #[test]
    fn reports_all_faults_of_a_file() {
        let text = "listen = 7\ndatum = \"a\"\nlog = \"info\"\n\n[limits]\nbody_bytes = \"many\"\nqueue = 3\nqueue = 4\n";
        let error = Settings::from_toml(text).unwrap_err().to_string();
        for line in [1, 2, 6, 8] {
            assert!(error.contains(&format!("line {line},")), "{error}");
        }
        assert_eq!(error.lines().count(), 4, "{error}");
        assert!(Settings::from_toml("[[keys]]\nkey = \"k\"").is_err());
        assert!(Settings::from_toml(&"= \n".repeat(1000)).is_err());
    }

    #[test]
    fn errors_contain_no_key() {
        for text in [
            "[[keys]]\nkey = \"secret\" x\nscope = \"read\"",
            "[[keys]]\nkey = \"secret\nscope = \"read\"",
            "[[keys]]\nkey = \"k\"\nscope = \"secret\"",
            "[[keys]]\nsecret = \"read\"",
            "[[keys]]\nscope = \"read\"\nname = [\"secret\"]",
            "keys = \"secret\"",
            "keys = [\"secret\"]",
            "keys = [{ key = \"secret\", scopes = \"read\" }]",
            "SAMEISH_WRITE_KEYS = \"secret\"",
            "[[keys]]\nkey = \"secret\"\nkey = \"secret\"\nscope = \"read\"",
            "read_only = \"secret\"",
            "listen = \"secret\"",
            "secret",
            "[secret\n",
        ] {
            let error = Settings::from_toml(text).unwrap_err().to_string();
            assert!(!error.contains("secret"), "{text}\n{error}");
            assert!(error.contains("line "), "{error}");
        }
    }

    #[test]
    fn errors_name_the_setting_and_the_expected_type() {
        let error = Settings::from_toml("[limits]\nbody_byte = 1\nqueue = \"many\"").unwrap_err().to_string();
        assert!(error.contains("line 2, column 1: unknown field `body_byte`, expected one of"), "{error}");
        assert!(error.contains("line 3, column 9: invalid type: string, expected usize"), "{error}");
    }
}
