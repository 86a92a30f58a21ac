//! How are requests and documents without a name called?
//!
//! 26 characters: milliseconds since 1970, then a number that begins at random and grows. Names made by one process are
//! different and in order, also where the clock jumps back.

use std::hash::{BuildHasher, RandomState};
use std::sync::{Mutex, PoisonError};
use std::time::{SystemTime, UNIX_EPOCH};

const LETTERS: &[u8; 32] = b"0123456789abcdefghjkmnpqrstvwxyz";

/// Makes names.
#[derive(Debug, Default)]
pub(crate) struct Ids {
    last: Mutex<u128>,
}

impl Ids {
    /// The next name.
    pub(crate) fn next(&self) -> String {
        let mut last = self.last.lock().unwrap_or_else(PoisonError::into_inner);
        let now = SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |since| since.as_millis());
        let fresh = (now & ((1 << 48) - 1)) << 80 | u128::from(random()) << 15;
        *last = if fresh > *last { fresh } else { *last + 1 + u128::from(random() as u16) };
        written(*last)
    }
}

/// A number nobody knows in advance: the hasher of a map is keyed by the system's randomness.
fn random() -> u64 {
    RandomState::new().hash_one(0)
}

/// A number in 26 characters.
pub(crate) fn written(number: u128) -> String {
    let digit = |i: u32| char::from(LETTERS[(number >> (5 * i) & 31) as usize]);
    (0..26).rev().map(digit).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_different_and_in_order() {
        let ids = Ids::default();
        let names: Vec<String> = (0..10_000).map(|_| ids.next()).collect();
        assert!(names.windows(2).all(|pair| pair[0] < pair[1]));
        assert!(names.iter().all(|name| name.len() == 26));
    }
}
