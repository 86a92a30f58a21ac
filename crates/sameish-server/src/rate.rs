//! How often may somebody ask?
//!
//! Token buckets: a burst at once, then a steady rate. By the monotonic clock, so that a clock that jumps changes nothing.

use std::collections::HashMap;
use std::hash::Hash;
use std::time::Instant;

/// What one client has left.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Bucket {
    left: f64,
    at: Instant,
}

impl Bucket {
    pub(crate) fn full(burst: f64, now: Instant) -> Bucket {
        Bucket { left: burst, at: now }
    }

    /// Takes one, or says in how many seconds there is one.
    pub(crate) fn take(&mut self, rate: f64, burst: f64, now: Instant) -> Result<(), f64> {
        let passed = now.saturating_duration_since(self.at).as_secs_f64();
        self.left = (self.left + passed * rate).min(burst);
        self.at = now;
        if self.left < 1.0 {
            return Err((1.0 - self.left) / rate);
        }
        self.left -= 1.0;
        Ok(())
    }
}

/// Buckets of many clients, of whom no more are remembered than said.
pub(crate) struct Buckets<K> {
    of: HashMap<K, Bucket>,
    most: usize,
    burst: f64,
    rate: f64,
}

impl<K: Hash + Eq> Buckets<K> {
    pub(crate) fn new(most: usize, burst: f64, rate: f64) -> Buckets<K> {
        Buckets { of: HashMap::new(), most, burst, rate }
    }

    pub(crate) fn take(&mut self, client: K, now: Instant) -> Result<(), f64> {
        let Buckets { of, most, burst, rate } = self;
        if of.len() >= *most && !of.contains_key(&client) {
            // Those who have had a rest have full buckets again and need no remembering. Where nobody has, all begin anew:
            // that costs memory nothing and a flood of addresses little.
            let rested = *burst / *rate;
            of.retain(|_, bucket| now.saturating_duration_since(bucket.at).as_secs_f64() < rested);
            if of.len() >= *most {
                of.clear();
            }
        }
        of.entry(client).or_insert_with(|| Bucket::full(*burst, now)).take(*rate, *burst, now)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::time::Duration;

    #[test]
    fn a_burst_then_a_steady_rate() {
        let start = Instant::now();
        let mut bucket = Bucket::full(3.0, start);
        for _ in 0..3 {
            assert!(bucket.take(10.0, 3.0, start).is_ok());
        }
        let wait = bucket.take(10.0, 3.0, start).unwrap_err();
        assert!((wait - 0.1).abs() < 1e-9);
        assert!(bucket.take(10.0, 3.0, start + Duration::from_millis(101)).is_ok());
        assert!(bucket.take(10.0, 3.0, start + Duration::from_millis(102)).is_err());
    }

    #[test]
    fn no_more_clients_are_remembered_than_said() {
        let now = Instant::now();
        let mut buckets = Buckets::new(10, 1.0, 1.0);
        for client in 0..1_000 {
            assert!(buckets.take(client, now).is_ok());
        }
        assert!(buckets.of.len() <= 10);
        assert!(buckets.take(999, now).is_err());
    }
}
