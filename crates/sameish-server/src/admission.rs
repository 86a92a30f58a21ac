//! Admission control: how many requests are processed at the same time.
//!
//! A limited number of requests run, a limited number wait in a queue, and a limited number of bulk requests run. With two or more
//! keys each key may use half of each, so that the requests of one key, however many and expensive, leave capacity for the others:
//! a key over its share waits in its own queue.

use crate::problem::{Kind, Problem};
use crate::settings::Limits;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use tokio::time::{Instant, timeout_at};

/// The capacity of the service and the share of each key.
pub(crate) struct Admission {
    total: Capacity,
    /// By the index of the key; empty if there are fewer than two keys.
    by_key: Vec<Capacity>,
}

/// Permission to process one request. Released on drop.
pub(crate) struct Permit {
    _key: Option<OwnedSemaphorePermit>,
    _total: OwnedSemaphorePermit,
}

struct Capacity {
    requests: Arc<Semaphore>,
    bulk_requests: Arc<Semaphore>,
    waiting: AtomicUsize,
    max_waiting: usize,
}

impl Capacity {
    fn new(requests: usize, bulk_requests: usize, max_waiting: usize) -> Capacity {
        Capacity {
            requests: Arc::new(Semaphore::new(requests)),
            bulk_requests: Arc::new(Semaphore::new(bulk_requests)),
            waiting: AtomicUsize::new(0),
            max_waiting,
        }
    }

    /// Enters the queue. Returns `None` if the queue is full.
    fn enqueue(&self) -> Option<QueueEntry<'_>> {
        let before = self.waiting.fetch_add(1, Ordering::Relaxed);
        let entry = QueueEntry(&self.waiting);
        (before < self.max_waiting).then_some(entry)
    }
}

/// A place in a queue. Released on drop.
struct QueueEntry<'a>(&'a AtomicUsize);

impl Drop for QueueEntry<'_> {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::Relaxed);
    }
}

impl Admission {
    pub(crate) fn new(limits: &Limits, keys: usize) -> Admission {
        let requests = limits.in_flight();
        let half = |_| {
            let half_bulk = (limits.bulk_requests / 2).max(1);
            Capacity::new((requests / 2).max(1), half_bulk, limits.queue / 2)
        };
        Admission {
            total: Capacity::new(requests, limits.bulk_requests, limits.queue),
            by_key: if keys > 1 { (0..keys).map(half).collect() } else { Vec::new() },
        }
    }

    /// Returns the number of requests in the queue.
    pub(crate) fn waiting(&self) -> usize {
        self.total.waiting.load(Ordering::Relaxed)
    }

    fn share(&self, key: Option<usize>) -> Option<&Capacity> {
        self.by_key.get(key?)
    }

    /// Admits a request with this key, waiting in the queue until `deadline` at most.
    pub(crate) async fn admit(&self, key: Option<usize>, deadline: Instant) -> Result<Permit, Problem> {
        let share = self.share(key);
        if let Some(permit) = self.try_admit(share) {
            return Ok(permit);
        }
        let _share_entry = share.map(|share| share.enqueue().ok_or_else(key_over_share)).transpose()?;
        let _total_entry = self.total.enqueue().ok_or_else(busy)?;
        // The key's share first, so that a key over its share does not hold up the others.
        let of_share = match share {
            Some(share) => Some(acquire(&share.requests, deadline).await.ok_or_else(key_over_share)?),
            None => None,
        };
        let of_total = acquire(&self.total.requests, deadline).await.ok_or_else(busy)?;
        Ok(Permit { _key: of_share, _total: of_total })
    }

    fn try_admit(&self, share: Option<&Capacity>) -> Option<Permit> {
        let of_share = share.map(|share| Arc::clone(&share.requests).try_acquire_owned()).transpose().ok()?;
        let of_total = Arc::clone(&self.total.requests).try_acquire_owned().ok()?;
        Some(Permit { _key: of_share, _total: of_total })
    }

    /// Admits a bulk request with this key. Such a request may run for minutes, so none waits for another.
    pub(crate) fn admit_bulk(&self, key: Option<usize>) -> Result<Permit, Problem> {
        let share = self.share(key).map(|share| Arc::clone(&share.bulk_requests).try_acquire_owned());
        let of_share = share.transpose().map_err(|_| key_over_share())?;
        let busy = |_| Problem::new(Kind::Busy, "too many concurrent bulk requests; retry in a second");
        let of_total = Arc::clone(&self.total.bulk_requests).try_acquire_owned().map_err(busy)?;
        Ok(Permit { _key: of_share, _total: of_total })
    }
}

async fn acquire(semaphore: &Arc<Semaphore>, deadline: Instant) -> Option<OwnedSemaphorePermit> {
    timeout_at(deadline, Arc::clone(semaphore).acquire_owned()).await.ok()?.ok()
}

fn busy() -> Problem {
    Problem::new(Kind::Busy, "too many concurrent requests; retry in a second")
}

fn key_over_share() -> Problem {
    let detail =
        "too many concurrent requests with this key, which may use half of the capacity; retry in a second";
    Problem::new(Kind::TooManyRequests, detail)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn admit(admission: &Admission, key: usize) -> Result<Permit, u16> {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_time().build().unwrap();
        runtime
            .block_on(async { admission.admit(Some(key), Instant::now()).await })
            .map_err(|problem| problem.kind.status().as_u16())
    }

    #[test]
    fn limits_each_of_two_keys_to_half_of_the_capacity() {
        let limits = Limits { in_flight: 4, queue: 4, bulk_requests: 2, ..Limits::default() };
        let admission = Admission::new(&limits, 2);
        let mut permits = vec![admit(&admission, 0).unwrap(), admit(&admission, 0).unwrap()];
        assert_eq!(admit(&admission, 0).err(), Some(429));
        permits.extend([admit(&admission, 1).unwrap(), admit(&admission, 1).unwrap()]);
        permits.remove(0);
        assert!(admit(&admission, 0).is_ok());
        assert_eq!(admission.waiting(), 0);
        let bulk = |key| admission.admit_bulk(Some(key)).map_err(|problem| problem.kind.status().as_u16());
        let _first = bulk(0).unwrap();
        assert_eq!(bulk(0).err(), Some(429));
        assert!(bulk(1).is_ok());
    }

    #[test]
    fn gives_a_single_key_the_full_capacity() {
        let limits = Limits { in_flight: 2, queue: 0, bulk_requests: 2, ..Limits::default() };
        let admission = Admission::new(&limits, 1);
        let _permits = [admit(&admission, 0).unwrap(), admit(&admission, 0).unwrap()];
        assert_eq!(admit(&admission, 0).err(), Some(503));
    }
}
