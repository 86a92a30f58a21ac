//! Settings of the operator.
//!
//! They come from a TOML file, environment variables and command-line flags; later sources override earlier ones. An unknown key
//! prevents the start, so that a misspelled limit is not silently ignored.

use crate::auth::Scope;
use serde::{Deserialize, Serialize};
use std::net::SocketAddr;
use std::path::PathBuf;

/// All settings of the service.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Settings {
    /// Address and port to listen on; port 0 picks a free port.
    pub listen: SocketAddr,
    /// Data directory.
    pub data: PathBuf,
    /// Directory of snapshots. Default: `snapshots` in the data directory.
    pub snapshots: Option<PathBuf>,
    /// Serve reads only.
    pub read_only: bool,
    /// Copy the database before its format is upgraded.
    pub upgrade_backup: bool,
    /// Host names of the service besides `localhost` and IP addresses. Checked only if there are no keys.
    pub hosts: Vec<String>,
    /// Seconds between two deletions of expired documents.
    pub expiry_seconds: u64,
    /// Log level (`error`, `warn`, `info` or `debug`) or directives such as `info,sameish_server=debug`.
    pub log: String,
    /// Log format.
    pub log_format: LogFormat,
    /// Limits.
    pub limits: Limits,
    /// Keys. Without keys the service listens on loopback addresses only.
    pub keys: Vec<KeySetting>,
}

impl Default for Settings {
    fn default() -> Settings {
        Settings {
            listen: SocketAddr::from(([127, 0, 0, 1], 7070)),
            data: "./sameish-data".into(),
            snapshots: None,
            read_only: false,
            upgrade_backup: true,
            hosts: Vec::new(),
            expiry_seconds: 60,
            log: "info".into(),
            log_format: LogFormat::Text,
            limits: Limits::default(),
            keys: Vec::new(),
        }
    }
}

/// Log format.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum LogFormat {
    /// Text for people.
    #[default]
    Text,
    /// One JSON object per line.
    Json,
}

/// A key and what it permits.
#[derive(Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct KeySetting {
    /// Name for messages.
    #[serde(default)]
    pub name: Option<String>,
    /// The key. Never serialized.
    #[serde(default, skip_serializing)]
    pub key: Option<String>,
    /// SHA-256 of the key as 64 hexadecimal digits, instead of `key`.
    #[serde(default)]
    pub sha256: Option<String>,
    /// What the key permits.
    pub scope: Scope,
}

/// Omits the key and its digest.
impl std::fmt::Debug for KeySetting {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("KeySetting")
            .field("name", &self.name)
            .field("scope", &self.scope)
            .finish_non_exhaustive()
    }
}

/// Limits on sizes, times and concurrency.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Limits {
    /// Maximum size of a request body in bytes, compressed and decompressed.
    pub body_bytes: usize,
    /// Maximum size of the body of a bulk request in bytes.
    pub bulk_bytes: usize,
    /// Maximum length of a line of a bulk request in bytes.
    pub line_bytes: usize,
    /// Maximum number of lines of a bulk request, blank lines included.
    pub bulk_documents: usize,
    /// Maximum number of concurrent bulk requests.
    pub bulk_requests: usize,
    /// Maximum size of the text of a document in bytes.
    pub text_bytes: usize,
    /// Maximum size of the request line and all headers in bytes.
    pub header_bytes: usize,
    /// Maximum number of headers.
    pub headers: usize,
    /// Maximum length of a URI in bytes.
    pub uri_bytes: usize,
    /// Timeout of the headers of a request in seconds.
    pub header_seconds: u64,
    /// Timeout of the body of a bulk request in seconds.
    pub bulk_seconds: u64,
    /// Timeout of the body of any other request in seconds.
    pub body_seconds: u64,
    /// Minimum data rate of a body in bytes per second, after the first ten seconds.
    pub body_rate: u64,
    /// Timeout of the processing of a request in seconds.
    pub handler_seconds: u64,
    /// Timeout of an idle connection in seconds.
    pub idle_seconds: u64,
    /// Timeout of a client that does not read its response in seconds.
    pub write_seconds: u64,
    /// Time for running requests during shutdown in seconds.
    pub drain_seconds: u64,
    /// Maximum number of connections. Beyond it the longest idle connection is closed, or the new one if none is idle.
    pub connections: usize,
    /// Maximum number of concurrent requests; 0 for 64 per core.
    pub in_flight: usize,
    /// Maximum number of queued requests. Beyond it requests get 503.
    pub queue: usize,
    /// Maximum size of all request and response bodies in memory, in bytes. With two or more keys each key may use half.
    pub buffered_bytes: usize,
    /// Maximum size of a response with a list in bytes. Beyond it the list is cut and the response says that it is capped.
    pub response_bytes: usize,
    /// Maximum size of the stored texts that one search or list reads, in bytes. Beyond it the response says that it is capped.
    pub search_bytes: usize,
    /// Maximum number of matches or clusters in a response; larger requested limits are lowered to it.
    pub results: usize,
    /// Rate limit of a key in requests per second.
    pub key_rate: u32,
    /// Burst of a key in requests.
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
            response_bytes: 8 << 20,
            search_bytes: 64 << 20,
            results: 1_000,
            key_rate: 1_000,
            key_burst: 2_000,
        }
    }
}

/// Invalid settings. The message lists all faults.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct SettingsError(pub String);

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
        let mut faults = vec![first.to_string().trim_end().to_owned()];
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
            faults.push(error.to_string().trim_end().to_owned());
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

    /// Checks that the settings are consistent. The error lists all faults.
    pub fn check(&self) -> Result<(), SettingsError> {
        let mut faults = Vec::new();
        if !self.listen.ip().is_loopback() && self.keys.is_empty() {
            faults.push(format!(
                "`listen` is {}, which other machines can reach, and there is no key; generate one with `sameish keys new` and \
                 set `SAMEISH_WRITE_KEYS` or `[[keys]]` in the settings file, or listen on 127.0.0.1",
                self.listen
            ));
        }
        if !self.listen.ip().is_loopback() {
            self.check_key_lengths(&mut faults);
        }
        if self.expiry_seconds == 0 {
            faults.push("`expiry_seconds` is 0, minimum is 1".into());
        }
        self.limits.check(&mut faults);
        if self.keys.len() > 1 && self.limits.buffered_bytes / 2 < self.limits.body_bytes {
            let fault = "`limits.buffered_bytes` must be at least twice `limits.body_bytes` with two or more keys, because each \
                         key may use half of it";
            faults.push(fault.into());
        }
        if faults.is_empty() { Ok(()) } else { Err(SettingsError(faults.join("\n"))) }
    }

    /// Reports keys that can be guessed. The length of a key that is given by its digest is not known.
    fn check_key_lengths(&self, faults: &mut Vec<String>) {
        for (i, setting) in self.keys.iter().enumerate() {
            let length = setting.key.as_ref().map_or(MIN_PUBLIC_KEY, |key| key.chars().count());
            if length < MIN_PUBLIC_KEY {
                let name = setting.name.clone().unwrap_or_else(|| format!("number {}", i + 1));
                faults.push(format!(
                    "key {name} has {length} characters, minimum is {MIN_PUBLIC_KEY} on an address that other machines can \
                     reach; generate one with `sameish keys new`"
                ));
            }
        }
    }
}

/// Minimum length of a key on an address that other machines can reach, in characters.
const MIN_PUBLIC_KEY: usize = 32;

impl Limits {
    fn check(&self, faults: &mut Vec<String>) {
        let minimums = [
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
            ("response_bytes", self.response_bytes, 64 << 10),
            ("search_bytes", self.search_bytes, 1 << 20),
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
        for (name, value, minimum) in minimums {
            if value < minimum {
                faults.push(format!("`limits.{name}` is {value}, minimum is {minimum}"));
            }
        }
        if self.text_bytes > self.body_bytes {
            faults.push("`limits.text_bytes` must not be larger than `limits.body_bytes`".into());
        }
        if self.line_bytes > self.bulk_bytes {
            faults.push("`limits.line_bytes` must not be larger than `limits.bulk_bytes`".into());
        }
        if self.buffered_bytes < self.body_bytes {
            faults.push("`limits.buffered_bytes` must not be smaller than `limits.body_bytes`".into());
        }
    }

    /// Returns the maximum size of a response with a list in bytes. Several such responses fit in the memory budget.
    pub(crate) fn response_limit(&self) -> usize {
        self.response_bytes.min(self.buffered_bytes / 4)
    }

    /// Returns the maximum number of concurrent requests.
    pub(crate) fn in_flight(&self) -> usize {
        let cores = || std::thread::available_parallelism().map_or(1, |cores| cores.get());
        if self.in_flight == 0 { 64 * cores() } else { self.in_flight }
    }
}

/// Maximum number of faults of a settings file that are reported.
const MAX_FAULTS: usize = 20;

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
    use super::*;

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
        assert_eq!(error.matches(" at line ").count(), 4, "{error}");
        assert!(Settings::from_toml("[[keys]]\nkey = \"k\"").is_err());
        assert!(Settings::from_toml(&"= \n".repeat(1000)).is_err());
    }

    #[test]
    fn requires_a_key_for_a_public_address() {
        let settings = Settings { listen: parse_listen("0.0.0.0:1").unwrap(), ..Settings::default() };
        let error = settings.check().unwrap_err().to_string();
        assert!(error.contains("no key"), "{error}");
        let with_key = |key: String| {
            let get = |name: &str| (name == "SAMEISH_READ_KEYS").then(|| key.clone());
            settings.clone().with_environment(get).unwrap()
        };
        let error = with_key("k".repeat(31)).check().unwrap_err().to_string();
        assert!(error.contains("has 31 characters, minimum is 32"), "{error}");
        assert_eq!(with_key("k".repeat(32)).check(), Ok(()));
        let listen = parse_listen("127.0.0.1:1").unwrap();
        let local = Settings { listen, ..with_key("short".into()) };
        assert_eq!(local.check(), Ok(()), "on a loopback address, any key is accepted");
    }

    #[test]
    fn reports_all_inconsistent_settings() {
        let mut settings = Settings::default();
        settings.limits.headers = 0;
        settings.limits.results = 0;
        let error = settings.check().unwrap_err().to_string();
        assert!(error.contains("limits.headers") && error.contains("limits.results"), "{error}");
    }

    #[test]
    fn debug_output_contains_no_key() {
        let settings = Settings::default()
            .with_environment(|name| (name == "SAMEISH_WRITE_KEYS").then(|| "secret-1,secret-2".into()))
            .unwrap();
        assert_eq!(settings.keys.len(), 2);
        assert!(!format!("{settings:?}").contains("secret-"));
    }
}
