//! Who may ask?
//!
//! Keys travel as `Authorization: Bearer KEY` and nowhere else. They are held and compared as SHA-256 digests, all of them
//! every time, so that neither the time of an answer nor a look into memory tells a key.

use crate::problem::{Kind, Problem};
use crate::rate::{Bucket, Buckets};
use crate::settings::{KeySetting, Settings, SettingsError};
use axum::http::{HeaderMap, Method, header};
use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};
use std::net::IpAddr;
use std::sync::Mutex;
use std::time::Instant;

/// What a key may be used for. Who may write may read.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Scope {
    /// Looking.
    Read,
    /// Storing and deleting too.
    Write,
}

/// Failed tries from one address: at once, and then a second. A thousand a second is a search for keys.
const FAILURES_AT_ONCE: f64 = 1_000.0;
const FAILURES_A_SECOND: f64 = 100.0;
/// Addresses whose failures are remembered.
const ADDRESSES: usize = 10_000;

pub(crate) struct Keys {
    keys: Vec<Key>,
    failures: Mutex<Buckets<IpAddr>>,
    rate: f64,
    burst: f64,
}

struct Key {
    digest: [u8; 32],
    scope: Scope,
    spent: Mutex<Bucket>,
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
            keys.push(Key { digest, scope: setting.scope, spent: Mutex::new(Bucket::full(burst, now)) });
        }
        let failures = Mutex::new(Buckets::new(ADDRESSES, FAILURES_AT_ONCE, FAILURES_A_SECOND));
        Ok(Keys { keys, failures, rate: f64::from(settings.limits.key_rate), burst })
    }

    pub(crate) fn len(&self) -> usize {
        self.keys.len()
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.keys.is_empty()
    }

    /// Lets a request pass and gives the number of its key, or says why not. Nothing of its body has been read.
    pub(crate) fn admit(
        &self,
        headers: &HeaderMap,
        needed: Scope,
        peer: IpAddr,
    ) -> Result<Option<usize>, Problem> {
        if self.keys.is_empty() {
            return Ok(None);
        }
        let now = Instant::now();
        let Some((number, key)) = presented(headers).and_then(|given| self.find(given)) else {
            return Err(self.failed(peer, now));
        };
        if key.scope < needed {
            return Err(Problem::new(Kind::Forbidden, "this key may read and not write"));
        }
        let mut spent = key.spent.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
        match spent.take(self.rate, self.burst, now) {
            Ok(()) => Ok(Some(number)),
            Err(wait) => Err(too_many("this key has asked too often", wait)),
        }
    }

    /// The key, with the same work whichever it is.
    fn find(&self, given: &[u8]) -> Option<(usize, &Key)> {
        let digest: [u8; 32] = Sha256::digest(given).into();
        let mut found = None;
        for (number, key) in self.keys.iter().enumerate() {
            let differing = key.digest.iter().zip(&digest).fold(0, |bits, (a, b)| bits | (a ^ b));
            if std::hint::black_box(differing) == 0 {
                found = Some((number, key));
            }
        }
        found
    }

    fn failed(&self, peer: IpAddr, now: Instant) -> Problem {
        let mut failures = self.failures.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
        match failures.take(peer, now) {
            Ok(()) => Problem::new(
                Kind::Unauthorized,
                "send `Authorization: Bearer KEY` with a key of this service",
            ),
            Err(wait) => too_many("too many tries without a key from this address", wait),
        }
    }
}

fn too_many(what: &'static str, wait: f64) -> Problem {
    let mut problem = Problem::new(Kind::TooManyRequests, what);
    problem.retry_after = Some(wait.ceil().max(1.0) as u64);
    problem
}

fn digest_of(setting: &KeySetting) -> Result<[u8; 32], &'static str> {
    match (&setting.key, &setting.sha256) {
        (Some(key), None) if key.is_empty() => Err("it is empty"),
        (Some(key), None) if !key.bytes().all(|byte| byte.is_ascii_graphic()) => {
            Err("must be visible ASCII characters, because headers carry nothing else")
        }
        (Some(key), None) => Ok(Sha256::digest(key).into()),
        (None, Some(hex)) => from_hex(hex).ok_or("`sha256` must be 64 hex digits"),
        _ => Err("give either `key` or `sha256`"),
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

/// The one key of a request's one header.
fn presented(headers: &HeaderMap) -> Option<&[u8]> {
    let mut all = headers.get_all(header::AUTHORIZATION).iter();
    let (Some(value), None) = (all.next(), all.next()) else { return None };
    let value = value.as_bytes();
    let (scheme, key) = value.split_at_checked("bearer ".len())?;
    let key = key.trim_ascii();
    (scheme.eq_ignore_ascii_case(b"bearer ") && !key.is_empty()).then_some(key)
}

/// What a request needs. Whatever is not known to be harmless counts as writing.
pub(crate) fn needed(method: &Method, path: &str) -> Scope {
    let asks = path == "/api/v1/compare" || path.starts_with("/api/v1/") && path.ends_with("/query");
    match *method {
        Method::GET | Method::HEAD | Method::OPTIONS => Scope::Read,
        Method::POST if asks => Scope::Read,
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

    fn status(keys: &Keys, values: &[&str], needed: Scope) -> u16 {
        let mut headers = HeaderMap::new();
        for value in values {
            headers.append(header::AUTHORIZATION, HeaderValue::from_str(value).unwrap());
        }
        let peer = IpAddr::from([127, 0, 0, 1]);
        keys.admit(&headers, needed, peer).map_or_else(|problem| problem.kind.status().as_u16(), |_| 200)
    }

    #[test]
    fn keys_open_what_they_are_for() {
        let keys = keys();
        assert_eq!(status(&keys, &["Bearer reader"], Scope::Read), 200);
        assert_eq!(status(&keys, &["bearer reader"], Scope::Write), 403);
        assert_eq!(status(&keys, &["Bearer writer"], Scope::Read), 200);
        assert_eq!(status(&keys, &["Bearer writer-2"], Scope::Write), 200);
    }

    #[test]
    fn anything_else_is_turned_away() {
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
    fn a_key_may_be_given_by_its_digest() {
        let hex = "2bb80d537b1da3e38bd30361aa855686bde0eacd7162fef6a25fe97bf527a25b";
        let text = format!("[[keys]]\nsha256 = \"{hex}\"\nscope = \"write\"");
        let keys = Keys::new(&Settings::from_toml(&text).unwrap()).unwrap();
        assert_eq!(status(&keys, &["Bearer secret"], Scope::Write), 200);
        assert_eq!(status(&keys, &["Bearer other"], Scope::Write), 401);
        let bad = Settings::from_toml("[[keys]]\nsha256 = \"12\"\nscope = \"read\"").unwrap();
        assert!(Keys::new(&bad).is_err());
    }

    #[test]
    fn searching_for_keys_ends_in_429() {
        let keys = keys();
        let tries: Vec<u16> = (0..1_500).map(|_| status(&keys, &["Bearer wrong"], Scope::Read)).collect();
        assert_eq!(tries[0], 401);
        assert_eq!(tries[1_499], 429);
    }

    #[test]
    fn questions_are_not_writes() {
        assert_eq!(needed(&Method::POST, "/api/v1/compare"), Scope::Read);
        assert_eq!(needed(&Method::POST, "/api/v1/articles/query"), Scope::Read);
        assert_eq!(needed(&Method::POST, "/api/v1/articles/bulk"), Scope::Write);
        assert_eq!(needed(&Method::PUT, "/api/v1/articles/query"), Scope::Write);
        assert_eq!(needed(&Method::DELETE, "/api/v1/articles/7"), Scope::Write);
    }
}
