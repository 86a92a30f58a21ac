//! Settings of the operator.
//!
//! They come from a TOML file, environment variables and command-line flags; later sources override earlier ones. An unknown key
//! prevents the start, so that a misspelled limit is not silently ignored.
//!
//! ```text
//! limits.rs   limits on sizes, times and concurrency
//! sources.rs  settings files and environment variables
//! ```

mod limits;
mod sources;

pub use limits::Limits;
pub use sources::{VARIABLES, parse_listen};

use crate::auth::Scope;
use crate::shares::key_share;
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

/// Invalid settings. The message lists all faults.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct SettingsError(pub String);

impl Settings {
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
        if self.keys.len() > 1 && key_share(self.limits.buffered_bytes) < self.limits.body_bytes {
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

#[cfg(test)]
mod tests {
    use super::*;

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
