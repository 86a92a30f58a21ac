//! What may an operator set?
//!
//! A file in TOML, variables of the environment, and flags, in this order: the later wins. A key that is not known is a
//! mistake and refuses the start, so that a limit with a typing error does not silently stay as it was.

use crate::auth::Scope;
use serde::{Deserialize, Serialize};
use std::net::SocketAddr;
use std::path::PathBuf;

/// All settings of a service.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Settings {
    /// Address and port; port 0 picks a free one.
    pub listen: SocketAddr,
    /// The folder of the documents.
    pub data: PathBuf,
    /// Where snapshots go; `snapshots` in the data folder when absent.
    pub snapshots: Option<PathBuf>,
    /// Serve what is there and store nothing.
    pub read_only: bool,
    /// Names under which the service may be called, beside `localhost` and addresses. Checked only without keys.
    pub hosts: Vec<String>,
    /// Seconds between two looks for documents that are older than their collection keeps them.
    pub expiry_seconds: u64,
    /// What is logged: `error`, `warn`, `info`, `debug`, or directives such as `info,sameish_server=debug`.
    pub log: String,
    /// How it is written.
    pub log_format: LogFormat,
    /// How much is taken.
    pub limits: Limits,
    /// Who may ask. Without any, only loopback addresses are listened on.
    pub keys: Vec<KeySetting>,
}

impl Default for Settings {
    fn default() -> Settings {
        Settings {
            listen: SocketAddr::from(([127, 0, 0, 1], 7070)),
            data: "./sameish-data".into(),
            snapshots: None,
            read_only: false,
            hosts: Vec::new(),
            expiry_seconds: 60,
            log: "info".into(),
            log_format: LogFormat::Text,
            limits: Limits::default(),
            keys: Vec::new(),
        }
    }
}

/// How a log is written.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum LogFormat {
    /// For people.
    #[default]
    Text,
    /// An object a line.
    Json,
}

/// A key and what it may be used for.
#[derive(Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct KeySetting {
    /// What to call it in messages.
    #[serde(default)]
    pub name: Option<String>,
    /// The key itself: read, never written.
    #[serde(default, skip_serializing)]
    pub key: Option<String>,
    /// Or its SHA-256 as 64 hex digits, so that the file does not hold the key.
    #[serde(default)]
    pub sha256: Option<String>,
    /// What it may be used for.
    pub scope: Scope,
}

/// Nothing of a key in any message.
impl std::fmt::Debug for KeySetting {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("KeySetting")
            .field("name", &self.name)
            .field("scope", &self.scope)
            .finish_non_exhaustive()
    }
}

/// How much is taken, and for how long.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Limits {
    /// Most bytes of a request's body, packed or not.
    pub body_bytes: usize,
    /// Most bytes of the body of a bulk request.
    pub bulk_bytes: usize,
    /// Most bytes of a line of a bulk request.
    pub line_bytes: usize,
    /// Most lines of a bulk request, blank ones too.
    pub bulk_documents: usize,
    /// Most bulk requests at a time.
    pub bulk_requests: usize,
    /// Most bytes of one document's text.
    pub text_bytes: usize,
    /// Most bytes of all headers.
    pub header_bytes: usize,
    /// Most headers.
    pub headers: usize,
    /// Most bytes of an address.
    pub uri_bytes: usize,
    /// Seconds for the headers of a request.
    pub header_seconds: u64,
    /// Seconds for the whole body of a bulk request.
    pub bulk_seconds: u64,
    /// Seconds for the body of any other request.
    pub body_seconds: u64,
    /// Least bytes of a body in a second, after the first ten seconds.
    pub body_rate: u64,
    /// Seconds for an answer.
    pub handler_seconds: u64,
    /// Seconds that a connection may rest between two requests.
    pub idle_seconds: u64,
    /// Seconds that a client may take nothing of its answer.
    pub write_seconds: u64,
    /// Seconds that running requests have when the service stops.
    pub drain_seconds: u64,
    /// Most connections; beyond them the one that has rested longest is closed, or the new one where none rests.
    pub connections: usize,
    /// Requests that are worked on at a time; 0 for 64 a core.
    pub in_flight: usize,
    /// Requests that wait for that; beyond them 503.
    pub queue: usize,
    /// Most bytes of all bodies and large answers that are held at a time.
    pub buffered_bytes: usize,
    /// Most matches of a search; more are not given, whatever is asked.
    pub results: usize,
    /// Requests a second with one key.
    pub key_rate: u32,
    /// Requests at once with one key, after a rest.
    pub key_burst: u32,
}

impl Default for Limits {
    fn default() -> Limits {
        Limits {
            body_bytes: 8 << 20,
            bulk_bytes: 256 << 20,
            line_bytes: 2 << 20,
            bulk_documents: 10_000,
            bulk_requests: 16,
            text_bytes: 1 << 20,
            header_bytes: 32 << 10,
            headers: 100,
            uri_bytes: 8 << 10,
            header_seconds: 10,
            bulk_seconds: 900,
            body_seconds: 60,
            body_rate: 1 << 10,
            handler_seconds: 30,
            idle_seconds: 60,
            write_seconds: 30,
            drain_seconds: 8,
            connections: 16_384,
            in_flight: 0,
            queue: 256,
            buffered_bytes: 512 << 20,
            results: 1_000,
            key_rate: 1_000,
            key_burst: 2_000,
        }
    }
}

/// Why a service does not start with these settings.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct SettingsError(pub String);

/// Variables of the environment that are looked at.
pub const VARIABLES: [&str; 7] = [
    "SAMEISH_LISTEN",
    "SAMEISH_DATA",
    "SAMEISH_SNAPSHOTS",
    "SAMEISH_LOG",
    "SAMEISH_LOG_FORMAT",
    "SAMEISH_READ_KEYS",
    "SAMEISH_WRITE_KEYS",
];

impl Settings {
    /// Reads a settings file over the defaults, and says everything that is wrong at once.
    pub fn from_toml(text: &str) -> Result<Settings, SettingsError> {
        let first = match toml::from_str(text) {
            Ok(settings) => return Ok(settings),
            Err(error) => error,
        };
        let mut faults = vec![first.to_string().trim_end().to_owned()];
        let (mut text, mut error) = (text.to_owned(), first);
        // Reading ends at a fault, so the rest is read without the line that has it.
        while let Some(rest) = without_lines_of(&error, &text)
            && faults.len() < MAX_FAULTS
        {
            text = rest;
            match toml::from_str::<Settings>(&text) {
                Ok(_) => break,
                Err(next) => error = next,
            }
            faults.push(error.to_string().trim_end().to_owned());
        }
        Err(SettingsError(faults.join("\n")))
    }

    /// All settings as a file would have them, keys left out, each with what `origin` says of it by its name, as
    /// `limits.queue`.
    pub fn show(&self, origin: impl Fn(&str) -> String) -> Result<String, SettingsError> {
        let wrong = |error: toml::ser::Error| SettingsError(error.to_string());
        let all = toml::Table::try_from(self).map_err(wrong)?;
        let line =
            |key: &str, name: &str, value: &toml::Value| format!("{key} = {value} # {}\n", origin(name));
        let (mut plain, mut tables) = (String::new(), String::new());
        for (name, value) in &all {
            match value {
                toml::Value::Table(table) => {
                    tables.push_str(&format!("\n[{name}]\n"));
                    table.iter().for_each(|(key, value)| {
                        tables.push_str(&line(key, &format!("{name}.{key}"), value))
                    });
                }
                toml::Value::Array(entries) if name == "keys" => {
                    for entry in entries.iter().filter_map(toml::Value::as_table) {
                        let fields: String =
                            entry.iter().map(|(key, value)| format!("{key} = {value}\n")).collect();
                        tables.push_str(&format!("\n[[keys]]\n{fields}"));
                    }
                }
                value => plain.push_str(&line(name, name, value)),
            }
        }
        Ok(plain + &tables)
    }

    /// The names of what a settings file sets, as `limits.queue`.
    pub fn names_in(text: &str) -> Vec<String> {
        let table: toml::Table = toml::from_str(text).unwrap_or_default();
        let names = table.iter().flat_map(|(name, value)| match value {
            toml::Value::Table(table) => table.keys().map(|key| format!("{name}.{key}")).collect(),
            _ => vec![name.clone()],
        });
        names.collect()
    }

    /// Lays variables of the environment over these settings; keys are added to those of the file.
    pub fn with_environment(
        mut self,
        get: impl Fn(&str) -> Option<String>,
    ) -> Result<Settings, SettingsError> {
        let wrong =
            |name: &str, expected: &str| SettingsError(format!("variable `{name}`: must be {expected}"));
        let get = |name: &str| get(name).filter(|value| !value.is_empty());
        if let Some(value) = get("SAMEISH_LISTEN") {
            self.listen = parse_listen(&value)
                .ok_or_else(|| wrong("SAMEISH_LISTEN", "an address with a port, such as 127.0.0.1:7070"))?;
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
                _ => return Err(wrong("SAMEISH_LOG_FORMAT", "text or json")),
            };
        }
        for (name, scope) in [("SAMEISH_READ_KEYS", Scope::Read), ("SAMEISH_WRITE_KEYS", Scope::Write)] {
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

    /// Checks what must hold before a service starts, and says everything that is wrong at once.
    pub fn check(&self) -> Result<(), SettingsError> {
        let mut faults = Vec::new();
        if !self.listen.ip().is_loopback() && self.keys.is_empty() {
            faults.push(format!(
                "`listen` is {}, which others can reach, and there is no key: set `SAMEISH_WRITE_KEYS`, or `[[keys]]` in \
                 the file, or listen on 127.0.0.1",
                self.listen
            ));
        }
        if self.expiry_seconds == 0 {
            faults.push("`expiry_seconds` is 0: must be at least 1".into());
        }
        self.limits.check(&mut faults);
        match faults.is_empty() {
            true => Ok(()),
            false => Err(SettingsError(faults.join("\n"))),
        }
    }
}

impl Limits {
    fn check(&self, faults: &mut Vec<String>) {
        let sizes = [
            ("body_bytes", self.body_bytes, 1 << 10),
            ("bulk_bytes", self.bulk_bytes, 1 << 10),
            ("line_bytes", self.line_bytes, 1 << 10),
            ("bulk_documents", self.bulk_documents, 1),
            ("bulk_requests", self.bulk_requests, 1),
            ("text_bytes", self.text_bytes, 1),
            ("header_bytes", self.header_bytes, 1 << 10),
            ("headers", self.headers, 10),
            ("uri_bytes", self.uri_bytes, 256),
            ("connections", self.connections, 1),
            ("buffered_bytes", self.buffered_bytes, 1 << 20),
            ("results", self.results, 1),
            ("header_seconds", self.header_seconds as usize, 1),
            ("bulk_seconds", self.bulk_seconds as usize, 1),
            ("body_seconds", self.body_seconds as usize, 1),
            ("handler_seconds", self.handler_seconds as usize, 1),
            ("idle_seconds", self.idle_seconds as usize, 1),
            ("write_seconds", self.write_seconds as usize, 1),
            ("key_rate", self.key_rate as usize, 1),
            ("key_burst", self.key_burst as usize, 1),
        ];
        for (name, value, least) in sizes {
            if value < least {
                faults.push(format!("`limits.{name}` is {value}: must be at least {least}"));
            }
        }
        if self.text_bytes > self.body_bytes || self.line_bytes > self.bulk_bytes {
            faults.push(
                "`limits`: text_bytes must be at most body_bytes, and line_bytes at most bulk_bytes".into(),
            );
        }
        if self.buffered_bytes < self.body_bytes {
            faults.push("`limits.buffered_bytes`: must be at least body_bytes".into());
        }
    }

    /// Requests that are worked on at a time.
    pub(crate) fn in_flight(&self) -> usize {
        let cores = || std::thread::available_parallelism().map_or(1, |cores| cores.get());
        if self.in_flight == 0 { 64 * cores() } else { self.in_flight }
    }
}

/// Faults of a file that are told at once.
const MAX_FAULTS: usize = 20;

/// The file with the lines of a fault left empty, where reading on makes sense: what is missing from a table is on none of its
/// lines.
fn without_lines_of(error: &toml::de::Error, text: &str) -> Option<String> {
    let span =
        error.span().filter(|span| !span.is_empty() && !error.message().starts_with("missing field"))?;
    let start = text.get(..span.start)?.rfind('\n').map_or(0, |at| at + 1);
    let end = text.get(span.end - 1..)?.find('\n').map_or(text.len(), |at| span.end - 1 + at);
    let blank: String = text[start..end].chars().map(|c| if c == '\n' { c } else { ' ' }).collect();
    Some(format!("{}{blank}{}", &text[..start], &text[end..]))
}

/// An address with a port; `localhost` is 127.0.0.1.
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
    use super::*;

    #[test]
    fn the_environment_beats_the_file() {
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
    fn unknown_keys_and_wrong_types_name_their_line() {
        for (text, expected) in [
            ("listen = 7", "line 1"),
            ("\n[limits]\nbody_byte = 1", "line 3"),
            ("data = \"a\"\ndata = \"b\"", "line 2"),
            ("[[keys]]\nkey = \"k\"\nscope = \"admin\"", "line 3"),
        ] {
            let error = Settings::from_toml(text).unwrap_err().to_string();
            assert!(error.contains(expected), "{error}");
        }
    }

    #[test]
    fn all_faults_of_a_file_are_told_at_once() {
        let text = "listen = 7\ndatum = \"a\"\nlog = \"info\"\n\n[limits]\nbody_bytes = \"many\"\nqueue = 3\nqueue = 4\n";
        let error = Settings::from_toml(text).unwrap_err().to_string();
        for line in [1, 2, 6, 8] {
            assert!(error.contains(&format!("line {line},")), "{error}");
        }
        assert_eq!(error.matches(" at line ").count(), 4, "{error}");
        assert!(Settings::from_toml("[[keys]]\nkey = \"k\"").is_err());
        assert!(Settings::from_toml(&"= \n".repeat(1000)).is_err());
    }

    #[test]
    fn a_public_address_needs_a_key() {
        let mut settings = Settings { listen: parse_listen("0.0.0.0:1").unwrap(), ..Settings::default() };
        let error = settings.check().unwrap_err().to_string();
        assert!(error.contains("no key"), "{error}");
        settings =
            settings.with_environment(|name| (name == "SAMEISH_READ_KEYS").then(|| "k".into())).unwrap();
        assert_eq!(settings.check(), Ok(()));
    }

    #[test]
    fn all_faults_are_told_at_once() {
        let mut settings = Settings::default();
        settings.limits.headers = 0;
        settings.limits.results = 0;
        let error = settings.check().unwrap_err().to_string();
        assert!(error.contains("limits.headers") && error.contains("limits.results"), "{error}");
    }

    #[test]
    fn a_key_is_in_no_message() {
        let settings = Settings::default()
            .with_environment(|name| (name == "SAMEISH_WRITE_KEYS").then(|| "secret-1,secret-2".into()))
            .unwrap();
        assert_eq!(settings.keys.len(), 2);
        assert!(!format!("{settings:?}").contains("secret-"));
    }
}
