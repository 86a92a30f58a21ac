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

/// What a key permits. Write access includes read access.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Scope {
    /// Reading and searching.
    Read,
    /// Everything.
    Write,
}

/// Failed attempts from one address: a burst, then a rate per second.
const FAILURE_BURST: f64 = 1_000.0;
const FAILURE_RATE: f64 = 100.0;
/// Maximum number of addresses whose failures are counted.
const MAX_ADDRESSES: usize = 10_000;

/// The keys of the service, with their rate limits.
pub(crate) struct Keys {
    keys: Vec<Key>,
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
        Ok(Keys { keys, failures, rate: f64::from(settings.limits.key_rate), burst })
    }

    pub(crate) fn len(&self) -> usize {
        self.keys.len()
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
        if key.scope < required {
            return Err(Problem::new(
                Kind::Forbidden,
                "this key permits reading only; use a key with scope `write`",
            ));
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

fn too_many(detail: &'static str, wait: f64) -> Problem {
    let mut problem = Problem::new(Kind::TooManyRequests, detail);
    problem.retry_after = Some(wait.ceil().max(1.0) as u64);
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

/// Returns the scope that a request requires: write access unless the request is known to only read.
pub(crate) fn required_scope(method: &Method, path: &str) -> Scope {
    let only_reads = path == "/api/v1/compare" || path.starts_with("/api/v1/") && path.ends_with("/query");
    match *method {
        Method::GET | Method::HEAD | Method::OPTIONS => Scope::Read,
        Method::POST if only_reads => Scope::Read,
        _ => Scope::Write,
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
    fn searches_require_only_read_access() {
        assert_eq!(required_scope(&Method::POST, "/api/v1/compare"), Scope::Read);
        assert_eq!(required_scope(&Method::POST, "/api/v1/articles/query"), Scope::Read);
        assert_eq!(required_scope(&Method::POST, "/api/v1/articles/bulk"), Scope::Write);
        assert_eq!(required_scope(&Method::PUT, "/api/v1/articles/query"), Scope::Write);
        assert_eq!(required_scope(&Method::DELETE, "/api/v1/articles/7"), Scope::Write);
    }
}
