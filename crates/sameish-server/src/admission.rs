//! Admission control: how many requests are processed at the same time.
//!
//! A limited number of requests run, a limited number wait in a queue, and a limited number of bulk requests run. Each key and each
//! collection has a [share](crate::shares) of each, so that the requests of one key, or for one collection, however many and
//! expensive, leave capacity for the others: a request over its share waits in the queue of its key or its collection.

use crate::problem::{Kind, Problem};
use crate::settings::Limits;
use crate::shares::{Shares, collection_share, key_share};
use std::collections::HashMap;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use tokio::time::{Instant, timeout_at};

/// The capacity of the service and the shares of keys and collections.
pub(crate) struct Admission {
    shares: Shares<Arc<Capacity>>,
    /// The shares of collections that have requests, by name.
    by_collection: Mutex<HashMap<String, Arc<Capacity>>>,
    of_collection: CapacityLimits,
}

/// On whose behalf a request is processed.
#[derive(Clone, Debug, Default)]
pub(crate) struct Requester {
    /// The index of the key.
    pub(crate) key: Option<usize>,
    /// The name of an existing collection.
    pub(crate) collection: Option<String>,
}

/// Permission to process one request. Released on drop.
pub(crate) struct Permit {
    _permits: Vec<OwnedSemaphorePermit>,
    /// A collection's capacity is kept as long as one of its requests runs.
    _capacities: Vec<Arc<Capacity>>,
}

/// Whose capacity is limited.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Owner {
    Service,
    Key,
    Collection,
}

impl Owner {
    /// Returns the problem of a request that its capacity does not admit.
    fn problem(self) -> Problem {
        match self {
            Owner::Service => Problem::new(Kind::Busy, "too many concurrent requests; retry in a second"),
            Owner::Collection => {
                let detail = "too many concurrent requests for this collection, which may use three quarters of the capacity; \
                              retry in a second";
                Problem::new(Kind::Busy, detail)
            }
            Owner::Key => {
                let detail = "too many concurrent requests with this key, which may use half of the capacity; retry in a second";
                Problem::new(Kind::TooManyRequests, detail)
            }
        }
    }
}

#[derive(Clone, Copy)]
struct CapacityLimits {
    requests: usize,
    bulk_requests: usize,
    waiting: usize,
}

impl CapacityLimits {
    fn share(self, of: fn(usize) -> usize) -> CapacityLimits {
        CapacityLimits {
            requests: of(self.requests),
            bulk_requests: of(self.bulk_requests),
            waiting: of(self.waiting),
        }
    }
}

struct Capacity {
    owner: Owner,
    requests: Arc<Semaphore>,
    bulk_requests: Arc<Semaphore>,
    waiting: AtomicUsize,
    max_waiting: usize,
}

impl Capacity {
    fn new(owner: Owner, limits: CapacityLimits) -> Arc<Capacity> {
        Arc::new(Capacity {
            owner,
            requests: Arc::new(Semaphore::new(limits.requests)),
            bulk_requests: Arc::new(Semaphore::new(limits.bulk_requests)),
            waiting: AtomicUsize::new(0),
            max_waiting: limits.waiting,
        })
    }

    /// Enters the queue. Returns a problem if the queue is full.
    fn enqueue(&self) -> Result<QueueEntry<'_>, Problem> {
        let before = self.waiting.fetch_add(1, Ordering::Relaxed);
        let entry = QueueEntry(&self.waiting);
        if before < self.max_waiting { Ok(entry) } else { Err(self.owner.problem()) }
    }
}

/// A position in a queue. Released on drop.
struct QueueEntry<'a>(&'a AtomicUsize);

impl Drop for QueueEntry<'_> {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::Relaxed);
    }
}

impl Admission {
    pub(crate) fn new(limits: &Limits, keys: usize) -> Admission {
        let total = CapacityLimits {
            requests: limits.in_flight(),
            bulk_requests: limits.bulk_requests,
            waiting: limits.queue,
        };
        let of_key = total.share(key_share);
        Admission {
            shares: Shares::new(keys, Capacity::new(Owner::Service, total), || {
                Capacity::new(Owner::Key, of_key)
            }),
            by_collection: Mutex::default(),
            of_collection: total.share(collection_share),
        }
    }

    /// Returns the number of requests in the queue.
    pub(crate) fn waiting(&self) -> usize {
        self.shares.total.waiting.load(Ordering::Relaxed)
    }

    /// Admits a request, waiting in the queue until `deadline` at most.
    ///
    /// A request waits for one capacity at a time and holds none of the others meanwhile, so that a request over its share does not
    /// delay those that are not.
    pub(crate) async fn admit(&self, requester: &Requester, deadline: Instant) -> Result<Permit, Problem> {
        let capacities = self.capacities(requester);
        let mut missing = match try_acquire(&capacities, |capacity| &capacity.requests, None) {
            Ok(permits) => return Ok(Permit { _permits: permits, _capacities: capacities }),
            Err(missing) => missing,
        };
        let entries: Result<Vec<QueueEntry<'_>>, Problem> =
            capacities.iter().map(|capacity| capacity.enqueue()).collect();
        let _entries = entries?;
        loop {
            let capacity = &capacities[missing];
            let awaited = timeout_at(deadline, Arc::clone(&capacity.requests).acquire_owned()).await;
            let Ok(Ok(permit)) = awaited else { return Err(capacity.owner.problem()) };
            match try_acquire(&capacities, |capacity| &capacity.requests, Some((missing, permit))) {
                Ok(permits) => return Ok(Permit { _permits: permits, _capacities: capacities.clone() }),
                Err(next) => missing = next,
            }
        }
    }

    /// Admits a bulk request. Such a request may run for minutes, so none waits for another.
    pub(crate) fn admit_bulk(&self, requester: &Requester) -> Result<Permit, Problem> {
        let capacities = self.capacities(requester);
        match try_acquire(&capacities, |capacity| &capacity.bulk_requests, None) {
            Ok(permits) => Ok(Permit { _permits: permits, _capacities: capacities }),
            Err(missing) if capacities[missing].owner == Owner::Service => {
                Err(Problem::new(Kind::Busy, "too many concurrent bulk requests; retry in a second"))
            }
            Err(missing) => Err(capacities[missing].owner.problem()),
        }
    }

    /// Returns the capacities that a request uses: the shares of its key and its collection, and that of the service.
    fn capacities(&self, requester: &Requester) -> Vec<Arc<Capacity>> {
        let of_key = self.shares.of_key(requester.key).cloned();
        let of_collection = requester.collection.as_deref().map(|name| self.collection(name));
        of_key.into_iter().chain(of_collection).chain([Arc::clone(&self.shares.total)]).collect()
    }

    /// Returns the share of a collection. Shares without requests are dropped, so that deleted collections use no memory.
    fn collection(&self, name: &str) -> Arc<Capacity> {
        let mut by_collection = self.by_collection.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(capacity) = by_collection.get(name) {
            return Arc::clone(capacity);
        }
        by_collection.retain(|_, capacity| Arc::strong_count(capacity) > 1);
        let capacity = Capacity::new(Owner::Collection, self.of_collection);
        by_collection.insert(name.to_owned(), Arc::clone(&capacity));
        capacity
    }
}

/// Takes a permit of each capacity, or none. Returns the index of the first capacity that has none left. `held` is the index of a
/// capacity whose permit has been taken before.
fn try_acquire(
    capacities: &[Arc<Capacity>],
    semaphore: fn(&Capacity) -> &Arc<Semaphore>,
    held: Option<(usize, OwnedSemaphorePermit)>,
) -> Result<Vec<OwnedSemaphorePermit>, usize> {
    let held_index = held.as_ref().map(|(index, _)| *index);
    let mut permits: Vec<OwnedSemaphorePermit> = held.into_iter().map(|(_, permit)| permit).collect();
    for (index, capacity) in capacities.iter().enumerate().filter(|(index, _)| Some(*index) != held_index) {
        permits.push(Arc::clone(semaphore(capacity)).try_acquire_owned().map_err(|_| index)?);
    }
    Ok(permits)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn with_key(key: usize) -> Requester {
        Requester { key: Some(key), collection: None }
    }

    fn for_collection(name: &str) -> Requester {
        Requester { key: None, collection: Some(name.to_owned()) }
    }

    fn admit(admission: &Admission, requester: &Requester) -> Result<Permit, u16> {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_time().build().unwrap();
        runtime
            .block_on(async { admission.admit(requester, Instant::now()).await })
            .map_err(|problem| problem.kind.status().as_u16())
    }

    #[test]
    fn limits_each_of_two_keys_to_half_of_the_capacity() {
        let limits = Limits { in_flight: 4, queue: 4, bulk_requests: 2, ..Limits::default() };
        let admission = Admission::new(&limits, 2);
        let mut permits =
            vec![admit(&admission, &with_key(0)).unwrap(), admit(&admission, &with_key(0)).unwrap()];
        assert_eq!(admit(&admission, &with_key(0)).err(), Some(429));
        permits.extend([admit(&admission, &with_key(1)).unwrap(), admit(&admission, &with_key(1)).unwrap()]);
        permits.remove(0);
        assert!(admit(&admission, &with_key(0)).is_ok());
        assert_eq!(admission.waiting(), 0);
        let bulk =
            |key| admission.admit_bulk(&with_key(key)).map_err(|problem| problem.kind.status().as_u16());
        let _first = bulk(0).unwrap();
        assert_eq!(bulk(0).err(), Some(429));
        assert!(bulk(1).is_ok());
    }

    #[test]
    fn gives_a_single_key_the_full_capacity() {
        let limits = Limits { in_flight: 2, queue: 0, bulk_requests: 2, ..Limits::default() };
        let admission = Admission::new(&limits, 1);
        let _permits = [admit(&admission, &with_key(0)).unwrap(), admit(&admission, &with_key(0)).unwrap()];
        assert_eq!(admit(&admission, &with_key(0)).err(), Some(503));
    }

    #[test]
    fn requests_for_one_collection_leave_capacity_for_another() {
        let limits = Limits { in_flight: 4, queue: 4, bulk_requests: 4, ..Limits::default() };
        let admission = Admission::new(&limits, 1);
        let busy = for_collection("busy");
        let mut permits: Vec<Permit> = (0..3).map(|_| admit(&admission, &busy).unwrap()).collect();
        assert_eq!(admit(&admission, &busy).err(), Some(503));
        let other = admit(&admission, &for_collection("other"));
        assert!(other.is_ok());
        permits.pop();
        assert_eq!(admit(&admission, &for_collection("third")).err(), None);
        drop(other);
        assert!(admit(&admission, &busy).is_ok());
        let _bulk: Vec<Permit> = (0..3).map(|_| admission.admit_bulk(&busy).unwrap()).collect();
        assert!(admission.admit_bulk(&busy).is_err());
        assert!(admission.admit_bulk(&for_collection("other")).is_ok());
    }

    #[test]
    fn a_request_that_waits_for_its_collection_holds_no_other_capacity() {
        let limits = Limits { in_flight: 4, queue: 4, ..Limits::default() };
        let admission = Admission::new(&limits, 1);
        let runtime = tokio::runtime::Builder::new_current_thread().enable_time().build().unwrap();
        let busy = for_collection("busy");
        let _permits: Vec<Permit> = (0..3).map(|_| admit(&admission, &busy).unwrap()).collect();
        runtime.block_on(async {
            let deadline = Instant::now() + std::time::Duration::from_secs(60);
            let mut waiting = std::pin::pin!(admission.admit(&busy, deadline));
            assert!(is_pending(waiting.as_mut()).await);
            assert!(admission.admit(&for_collection("other"), Instant::now()).await.is_ok());
        });
    }

    /// Polls a future once and returns whether it waits.
    async fn is_pending(mut future: std::pin::Pin<&mut impl Future>) -> bool {
        std::future::poll_fn(|cx| std::task::Poll::Ready(future.as_mut().poll(cx).is_pending())).await
    }

    #[test]
    fn forgets_collections_without_requests() {
        let admission = Admission::new(&Limits::default(), 1);
        for name in 0..100 {
            drop(admit(&admission, &for_collection(&name.to_string())).unwrap());
        }
        assert_eq!(admission.by_collection.lock().unwrap().len(), 1);
    }
}
