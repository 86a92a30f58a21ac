//! Rate limits: token buckets.
//!
//! A bucket permits a burst and then a steady rate. It uses the monotonic clock, so that changes of the system time have no effect.

use std::collections::HashMap;
use std::hash::Hash;
use std::time::Instant;

/// The state of one client's limit.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Bucket {
    tokens: f64,
    updated: Instant,
}

impl Bucket {
    pub(crate) fn full(burst: f64, now: Instant) -> Bucket {
        Bucket { tokens: burst, updated: now }
    }

    /// Takes one token. If there is none, returns the seconds until there is one.
    pub(crate) fn take(&mut self, rate: f64, burst: f64, now: Instant) -> Result<(), f64> {
        let elapsed = now.saturating_duration_since(self.updated).as_secs_f64();
        self.tokens = (self.tokens + elapsed * rate).min(burst);
        self.updated = now;
        if self.tokens < 1.0 {
            return Err((1.0 - self.tokens) / rate);
        }
        self.tokens -= 1.0;
        Ok(())
    }
}

/// The buckets of many clients, in bounded memory.
pub(crate) struct Buckets<K> {
    by_client: HashMap<K, Bucket>,
    max_clients: usize,
    burst: f64,
    rate: f64,
}

impl<K: Hash + Eq> Buckets<K> {
    pub(crate) fn new(max_clients: usize, burst: f64, rate: f64) -> Buckets<K> {
        Buckets { by_client: HashMap::new(), max_clients, burst, rate }
    }

    /// Takes one token of a client. If there is none, returns the seconds until there is one.
    pub(crate) fn take(&mut self, client: K, now: Instant) -> Result<(), f64> {
        let Buckets { by_client, max_clients, burst, rate } = self;
        if by_client.len() >= *max_clients && !by_client.contains_key(&client) {
            // Buckets that are full again need no memory. If none is, all are forgotten; a client with many addresses gains little
            // from that.
            let refill_seconds = *burst / *rate;
            by_client.retain(|_, bucket| {
                now.saturating_duration_since(bucket.updated).as_secs_f64() < refill_seconds
            });
            if by_client.len() >= *max_clients {
                by_client.clear();
            }
        }
        by_client.entry(client).or_insert_with(|| Bucket::full(*burst, now)).take(*rate, *burst, now)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::time::Duration;

    #[test]
    fn permits_a_burst_and_then_a_steady_rate() {
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
    fn bounds_the_number_of_clients() {
        let now = Instant::now();
        let mut buckets = Buckets::new(10, 1.0, 1.0);
        for client in 0..1_000 {
            assert!(buckets.take(client, now).is_ok());
        }
        assert!(buckets.by_client.len() <= 10);
        assert!(buckets.take(999, now).is_err());
    }
}
