//! Generated ids of requests, documents and snapshots.
//!
//! An id has 26 characters: the milliseconds since 1970, then a random number. The ids of one process are unique and increasing,
//! even if the clock is set back.

use std::hash::{BuildHasher, RandomState};
use std::sync::{Mutex, PoisonError};
use std::time::{SystemTime, UNIX_EPOCH};

/// Crockford's base 32, in lower case.
const DIGITS: &[u8; 32] = b"0123456789abcdefghjkmnpqrstvwxyz";

/// Generates ids.
#[derive(Debug, Default)]
pub(crate) struct Ids {
    last: Mutex<u128>,
}

impl Ids {
    /// Returns a new id.
    pub(crate) fn next(&self) -> String {
        let mut last = self.last.lock().unwrap_or_else(PoisonError::into_inner);
        let now = SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |elapsed| elapsed.as_millis());
        let id = (now & ((1 << 48) - 1)) << 80 | u128::from(random()) << 15;
        *last = if id > *last { id } else { *last + 1 + u128::from(random() as u16) };
        encode(*last)
    }
}

/// Returns an unpredictable number: the standard hasher is seeded by the operating system.
fn random() -> u64 {
    RandomState::new().hash_one(0)
}

/// Encodes a number in 26 characters.
pub(crate) fn encode(number: u128) -> String {
    let digit = |i: u32| char::from(DIGITS[(number >> (5 * i) & 31) as usize]);
    (0..26).rev().map(digit).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ids_are_unique_and_increasing() {
        let ids = Ids::default();
        let ids: Vec<String> = (0..10_000).map(|_| ids.next()).collect();
        assert!(ids.windows(2).all(|pair| pair[0] < pair[1]));
        assert!(ids.iter().all(|id| id.len() == 26));
    }
}
