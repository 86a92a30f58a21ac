//! Authentication by keys.
//!
//! A client sends its key as `Authorization: Bearer KEY`. Keys are stored and compared as SHA-256 digests, and every request is
//! compared with all of them, so that neither response times nor a memory dump reveal a key.

use crate::problem::{Kind, Problem};
use crate::rate::{Bucket, Buckets};
use crate::settings::{KeySetting, Settings, SettingsError};
use axum::http::{HeaderMap, Method, header};
use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};
use std::net::IpAddr;
use std::sync::{Mutex, PoisonError};
use std::time::Instant;

/// What a key permits. Each scope includes the ones before it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Scope {
    /// Reading and searching.
    Read,
    /// Storing and deleting documents.
    Write,
    /// Creating and deleting collections, and snapshots.
    Admin,
}

impl Scope {
    /// All scopes.
    pub const ALL: [Scope; 3] = [Scope::Read, Scope::Write, Scope::Admin];

    /// Returns the name used in settings.
    pub fn name(self) -> &'static str {
        match self {
            Scope::Read => "read",
            Scope::Write => "write",
            Scope::Admin => "admin",
        }
    }

    /// Returns the environment variable with the keys of this scope.
    pub fn variable(self) -> &'static str {
        match self {
            Scope::Read => "SAMEISH_READ_KEYS",
            Scope::Write => "SAMEISH_WRITE_KEYS",
            Scope::Admin => "SAMEISH_ADMIN_KEYS",
        }
    }
}

/// A generated key.
pub struct NewKey {
    /// The key: 64 hexadecimal digits with 256 random bits.
    pub key: String,
    /// SHA-256 of the key, for the settings file.
    pub sha256: String,
}

impl NewKey {
    /// Generates a key.
    pub fn generate() -> std::io::Result<NewKey> {
        let mut bytes = [0; 32];
        getrandom::fill(&mut bytes)?;
        let key = to_hex(&bytes);
        let sha256 = to_hex(&Sha256::digest(&key));
        Ok(NewKey { key, sha256 })
    }

    /// Returns the lines of a settings file that permit the key.
    pub fn setting(&self, scope: Scope, name: Option<&str>) -> String {
        let setting =
            KeySetting { name: name.map(str::to_owned), key: None, sha256: Some(self.sha256.clone()), scope };
        let lines =
            toml::to_string(&setting).unwrap_or_else(|error| unreachable!("a key is valid TOML: {error}"));
        format!("[[keys]]\n{lines}")
    }
}

/// Failed attempts from one address: a burst, then a rate per second.
const FAILURE_BURST: f64 = 1_000.0;
const FAILURE_RATE: f64 = 100.0;
/// Maximum number of addresses whose failures are counted.
const MAX_ADDRESSES: usize = 10_000;

/// The keys of the service, with their rate limits.
pub(crate) struct Keys {
    keys: Vec<Key>,
    /// The scope that replaces `admin` if there is no admin key: settings of version 0.1.0 have none.
    admin: Scope,
    failures: Mutex<Buckets<IpAddr>>,
    rate: f64,
    burst: f64,
}

struct Key {
    digest: [u8; 32],
    scope: Scope,
    limit: Mutex<Bucket>,
}

impl Keys {
    pub(crate) fn new(settings: &Settings) -> Result<Keys, SettingsError> {
        let now = Instant::now();
        let burst = f64::from(settings.limits.key_burst);
        let mut keys = Vec::new();
        for (i, setting) in settings.keys.iter().enumerate() {
            let digest = digest_of(setting).map_err(|why| {
                let name = setting.name.clone().unwrap_or_else(|| format!("number {}", i + 1));
                SettingsError(format!("key {name}: {why}"))
            })?;
            keys.push(Key { digest, scope: setting.scope, limit: Mutex::new(Bucket::full(burst, now)) });
        }
        let failures = Mutex::new(Buckets::new(MAX_ADDRESSES, FAILURE_BURST, FAILURE_RATE));
        let has_admin = settings.keys.iter().any(|key| key.scope == Scope::Admin);
        let admin = if has_admin { Scope::Admin } else { Scope::Write };
        Ok(Keys { keys, admin, failures, rate: f64::from(settings.limits.key_rate), burst })
    }

    pub(crate) fn len(&self) -> usize {
        self.keys.len()
    }

    /// Returns `true` if a key has scope `admin`.
    pub(crate) fn has_admin(&self) -> bool {
        self.admin == Scope::Admin
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.keys.is_empty()
    }

    /// Checks the key of a request. Returns its index, or `None` if the service has no keys.
    pub(crate) fn authenticate(
        &self,
        headers: &HeaderMap,
        required: Scope,
        peer: IpAddr,
    ) -> Result<Option<usize>, Problem> {
        if self.keys.is_empty() {
            return Ok(None);
        }
        let now = Instant::now();
        let Some((index, key)) = bearer_key(headers).and_then(|given| self.find(given)) else {
            return Err(self.count_failure(peer, now));
        };
        if key.scope < required.min(self.admin) {
            return Err(forbidden(key.scope, required));
        }
        let mut limit = key.limit.lock().unwrap_or_else(PoisonError::into_inner);
        match limit.take(self.rate, self.burst, now) {
            Ok(()) => Ok(Some(index)),
            Err(wait) => Err(too_many(
                "the rate limit of this key is exceeded; retry after the time in `retry-after`",
                wait,
            )),
        }
    }

    /// Returns what a request with these headers may do at most.
    pub(crate) fn scope(&self, headers: &HeaderMap) -> Scope {
        if self.keys.is_empty() {
            return Scope::Admin;
        }
        let scope =
            bearer_key(headers).and_then(|given| self.find(given)).map_or(Scope::Read, |(_, key)| key.scope);
        if scope >= self.admin { Scope::Admin } else { scope }
    }

    /// Finds a key in constant time.
    fn find(&self, given: &[u8]) -> Option<(usize, &Key)> {
        let digest: [u8; 32] = Sha256::digest(given).into();
        let mut found = None;
        for (index, key) in self.keys.iter().enumerate() {
            let difference = key.digest.iter().zip(&digest).fold(0, |bits, (a, b)| bits | (a ^ b));
            if std::hint::black_box(difference) == 0 {
                found = Some((index, key));
            }
        }
        found
    }

    fn count_failure(&self, peer: IpAddr, now: Instant) -> Problem {
        let mut failures = self.failures.lock().unwrap_or_else(PoisonError::into_inner);
        match failures.take(peer, now) {
            Ok(()) => Problem::new(
                Kind::Unauthorized,
                "send `Authorization: Bearer KEY` with a key of this service",
            ),
            Err(wait) => too_many(
                "too many requests with invalid keys from this address; retry after the time in `retry-after`",
                wait,
            ),
        }
    }
}

fn forbidden(scope: Scope, required: Scope) -> Problem {
    let permitted = match scope {
        Scope::Read => "reading only",
        Scope::Write | Scope::Admin => "reading and writing documents only",
    };
    let required = required.name();
    Problem::new(Kind::Forbidden, format!("this key permits {permitted}; use a key with scope `{required}`"))
}

fn too_many(detail: &'static str, wait: f64) -> Problem {
    let mut problem = Problem::new(Kind::TooManyRequests, detail);
    problem.retry_after = Some(wait.ceil().max(1.0) as u32);
    problem
}

fn digest_of(setting: &KeySetting) -> Result<[u8; 32], &'static str> {
    match (&setting.key, &setting.sha256) {
        (Some(key), None) if key.is_empty() => Err("must not be empty"),
        (Some(key), None) if !key.bytes().all(|byte| byte.is_ascii_graphic()) => {
            Err("must consist of visible ASCII characters, because it is sent in a header")
        }
        (Some(key), None) => Ok(Sha256::digest(key).into()),
        (None, Some(hex)) => from_hex(hex).ok_or("`sha256` must be 64 hexadecimal digits"),
        _ => Err("set either `key` or `sha256`"),
    }
}

fn to_hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

fn from_hex(hex: &str) -> Option<[u8; 32]> {
    let hex = hex.as_bytes();
    let mut bytes = [0; 32];
    if hex.len() != 64 {
        return None;
    }
    for (byte, digits) in bytes.iter_mut().zip(hex.chunks(2)) {
        let digit = |digit: u8| char::from(digit).to_digit(16);
        *byte = (digit(digits[0])? << 4 | digit(digits[1])?) as u8;
    }
    Some(bytes)
}

/// Returns the key of a request with exactly one `Authorization` header.
fn bearer_key(headers: &HeaderMap) -> Option<&[u8]> {
    let mut values = headers.get_all(header::AUTHORIZATION).iter();
    let (Some(value), None) = (values.next(), values.next()) else { return None };
    let value = value.as_bytes();
    let (scheme, key) = value.split_at_checked("bearer ".len())?;
    let key = key.trim_ascii();
    (scheme.eq_ignore_ascii_case(b"bearer ") && !key.is_empty()).then_some(key)
}

/// Returns the scope that a request requires: write access unless the request is known to only read, and admin access for
/// snapshots and changes of collections.
pub(crate) fn required_scope(method: &Method, path: &str) -> Scope {
    let below = path.strip_prefix("/api/v1/");
    let is_query = |rest: &str| rest.split_once('/').is_some_and(|(_, action)| action == "query");
    let only_reads = matches!(path, "/api/v1/compare" | "/api/v1/sketch") || below.is_some_and(is_query);
    let is_collection = below.is_some_and(|rest| !rest.trim_end_matches('/').contains('/'));
    match *method {
        Method::GET | Method::HEAD | Method::OPTIONS => Scope::Read,
        Method::POST if only_reads => Scope::Read,
        Method::POST if path != "/api/v1/snapshot" => Scope::Write,
        Method::PUT | Method::DELETE if !is_collection => Scope::Write,
        _ => Scope::Admin,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use axum::http::HeaderValue;

    fn keys() -> Keys {
        let settings = Settings::default().with_environment(|name| match name {
            "SAMEISH_READ_KEYS" => Some("reader".into()),
            "SAMEISH_WRITE_KEYS" => Some("writer,writer-2".into()),
            _ => None,
        });
        Keys::new(&settings.unwrap()).unwrap()
    }

    fn status(keys: &Keys, values: &[&str], required: Scope) -> u16 {
        let mut headers = HeaderMap::new();
        for value in values {
            headers.append(header::AUTHORIZATION, HeaderValue::from_str(value).unwrap());
        }
        let peer = IpAddr::from([127, 0, 0, 1]);
        keys.authenticate(&headers, required, peer)
            .map_or_else(|problem| problem.kind.status().as_u16(), |_| 200)
    }

    #[test]
    fn permits_requests_within_the_scope_of_a_key() {
        let keys = keys();
        assert_eq!(status(&keys, &["Bearer reader"], Scope::Read), 200);
        assert_eq!(status(&keys, &["bearer reader"], Scope::Write), 403);
        assert_eq!(status(&keys, &["Bearer writer"], Scope::Read), 200);
        assert_eq!(status(&keys, &["Bearer writer-2"], Scope::Write), 200);
    }

    #[test]
    fn rejects_missing_malformed_and_unknown_keys() {
        let keys = keys();
        let long = format!("Bearer {}", "x".repeat(10_000));
        for values in [
            &[][..],
            &["Bearer wrong"],
            &["Bearer "],
            &["Bearer"],
            &["writer"],
            &["Basic writer"],
            &["Bearer writer2"],
            &["Bearer writer", "Bearer writer"],
            &[&long],
        ] {
            assert_eq!(status(&keys, values, Scope::Read), 401, "{values:?}");
        }
    }

    #[test]
    fn accepts_a_key_configured_by_its_digest() {
        let hex = "2bb80d537b1da3e38bd30361aa855686bde0eacd7162fef6a25fe97bf527a25b";
        let text = format!("[[keys]]\nsha256 = \"{hex}\"\nscope = \"write\"");
        let keys = Keys::new(&Settings::from_toml(&text).unwrap()).unwrap();
        assert_eq!(status(&keys, &["Bearer secret"], Scope::Write), 200);
        assert_eq!(status(&keys, &["Bearer other"], Scope::Write), 401);
        let bad = Settings::from_toml("[[keys]]\nsha256 = \"12\"\nscope = \"read\"").unwrap();
        assert!(Keys::new(&bad).is_err());
    }

    #[test]
    fn limits_failed_attempts_per_address() {
        let keys = keys();
        let statuses: Vec<u16> = (0..1_500).map(|_| status(&keys, &["Bearer wrong"], Scope::Read)).collect();
        assert_eq!(statuses[0], 401);
        assert_eq!(statuses[1_499], 429);
    }

    #[test]
    fn snapshots_and_collections_require_admin_access() {
        for method in [Method::PUT, Method::PATCH, Method::DELETE] {
            assert_eq!(required_scope(&method, "/api/v1/articles"), Scope::Admin);
            assert_eq!(required_scope(&method, "/api/v1/articles/"), Scope::Admin);
        }
        assert_eq!(required_scope(&Method::POST, "/api/v1/snapshot"), Scope::Admin);
        let settings = |text: &str| Keys::new(&Settings::from_toml(text).unwrap()).unwrap();
        let write = "[[keys]]\nkey = \"w\"\nscope = \"write\"\n";
        let admin = "[[keys]]\nkey = \"a\"\nscope = \"admin\"\n";
        let keys = settings(&format!("{write}{admin}"));
        assert_eq!(status(&keys, &["Bearer w"], Scope::Write), 200);
        assert_eq!(status(&keys, &["Bearer w"], Scope::Admin), 403);
        assert_eq!(status(&keys, &["Bearer a"], Scope::Admin), 200);
        assert_eq!(status(&settings(write), &["Bearer w"], Scope::Admin), 200, "as in version 0.1.0");
    }

    #[test]
    fn new_keys_differ_and_their_setting_permits_them() {
        let new = NewKey::generate().unwrap();
        assert_ne!(new.key, NewKey::generate().unwrap().key);
        assert_eq!(new.key.len(), 64);
        let text = new.setting(Scope::Admin, Some("a \"name\""));
        assert!(!text.contains(&new.key));
        let keys = Keys::new(&Settings::from_toml(&text).unwrap()).unwrap();
        assert_eq!(status(&keys, &[&format!("Bearer {}", new.key)], Scope::Admin), 200);
    }

    #[test]
    fn searches_require_only_read_access() {
        assert_eq!(required_scope(&Method::POST, "/api/v1/compare"), Scope::Read);
        assert_eq!(required_scope(&Method::POST, "/api/v1/sketch"), Scope::Read);
        assert_eq!(required_scope(&Method::POST, "/api/v1/articles/query"), Scope::Read);
        assert_eq!(required_scope(&Method::POST, "/api/v1/articles/bulk"), Scope::Write);
        assert_eq!(required_scope(&Method::PUT, "/api/v1/articles/query"), Scope::Write);
        assert_eq!(required_scope(&Method::DELETE, "/api/v1/articles/7"), Scope::Write);
    }
}
