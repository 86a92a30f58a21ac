//! Statistics that take long to compute.
//!
//! A result that took long is returned for a while although documents have changed since. After that, one thread computes it again
//! in the background; until it has finished, requests get the known result. A result that takes little time, or is of a small
//! collection if the statistic says so, is always current.

use super::collection::Collection;
use super::live::LiveCollection;
use crate::error::Result;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

/// A result that takes less time is not used after a change.
const QUICK: Duration = Duration::from_millis(20);
/// A result is reused for this many times the duration of its computation, so that computing takes at most a twentieth of the time.
const REUSE: u32 = 20;
/// How long a request waits for a new result before it gets the known one.
const PATIENCE: Duration = Duration::from_millis(50);

/// A result and the state of its computation.
#[derive(Debug)]
pub(super) struct Refreshed<T> {
    state: Mutex<State<T>>,
    computed: Condvar,
}

#[derive(Debug)]
struct State<T> {
    known: Option<Known<T>>,
    /// Whether a thread computes the next result.
    is_computing: bool,
}

#[derive(Debug)]
struct Known<T> {
    value: Arc<T>,
    /// Number of transactions before the computation, if it is known.
    writes: Option<u64>,
    started: Instant,
    elapsed: Duration,
    /// Whether the result is never used after a change.
    is_quick: bool,
}

impl<T> Default for Refreshed<T> {
    fn default() -> Refreshed<T> {
        let state = Mutex::new(State { known: None, is_computing: false });
        Refreshed { state, computed: Condvar::new() }
    }
}

impl<T> Known<T> {
    /// Returns `true` if a request that began at a time may get the result.
    fn is_current(&self, writes: Option<u64>, requested: Instant) -> bool {
        let is_reused = !self.is_quick && self.started + self.elapsed * (REUSE + 1) > requested;
        self.started >= requested || self.writes.is_some() && self.writes == writes || is_reused
    }
}

impl<T> Refreshed<T> {
    fn lock(&self) -> MutexGuard<'_, State<T>> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Marks a computation as ended, also after a panic.
struct Computing<'a, T>(&'a Refreshed<T>);

impl<T> Drop for Computing<'_, T> {
    fn drop(&mut self) {
        self.0.lock().is_computing = false;
        self.0.computed.notify_all();
    }
}

/// A statistic: where its result is kept, and how it is computed.
pub(super) struct Statistic<T> {
    pub(super) of: fn(&LiveCollection) -> &Refreshed<T>,
    pub(super) compute: fn(&Collection) -> Result<T>,
    /// Whether a result is always current, however long it took.
    pub(super) is_small: fn(&T) -> bool,
}

impl<T> Clone for Statistic<T> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<T> Copy for Statistic<T> {}

impl Collection {
    /// Returns a statistic of the collection.
    pub(super) fn statistic<T: Send + Sync + 'static>(&self, statistic: Statistic<T>) -> Result<Arc<T>> {
        let requested = Instant::now();
        let refreshed = (statistic.of)(&self.live);
        let mut is_patient = true;
        let mut state = refreshed.lock();
        loop {
            let known = state.known.as_ref();
            if let Some(known) = known.filter(|known| known.is_current(self.shared.writes(), requested)) {
                return Ok(Arc::clone(&known.value));
            }
            let slow = known.filter(|known| !known.is_quick).map(|known| Arc::clone(&known.value));
            match slow {
                Some(value) if !is_patient => return Ok(value),
                Some(value) => {
                    let starts = !std::mem::replace(&mut state.is_computing, true);
                    drop(state);
                    if starts && !self.compute_in_background(statistic) {
                        // Without another thread, the known result is the best one.
                        drop(Computing(refreshed));
                        return Ok(value);
                    }
                    is_patient = false;
                    let waiting =
                        refreshed
                            .computed
                            .wait_timeout_while(refreshed.lock(), PATIENCE, |state| state.is_computing);
                    state = waiting.unwrap_or_else(PoisonError::into_inner).0;
                }
                None if state.is_computing => {
                    state = refreshed.computed.wait(state).unwrap_or_else(PoisonError::into_inner);
                }
                None => {
                    state.is_computing = true;
                    drop(state);
                    self.compute(statistic)?;
                    state = refreshed.lock();
                }
            }
        }
    }

    fn compute_in_background<T: Send + Sync + 'static>(&self, statistic: Statistic<T>) -> bool {
        let collection = self.clone();
        let thread = std::thread::Builder::new().name("sameish-statistics".into());
        // After an error, the known result is kept, and the next request tries again.
        thread.spawn(move || _ = collection.compute(statistic)).is_ok()
    }

    fn compute<T>(&self, statistic: Statistic<T>) -> Result<()> {
        let refreshed = (statistic.of)(&self.live);
        let _computing = Computing(refreshed);
        let (writes, started) = (self.shared.writes(), Instant::now());
        let value = Arc::new((statistic.compute)(self)?);
        let elapsed = started.elapsed();
        let is_quick = elapsed < QUICK || (statistic.is_small)(&value);
        refreshed.lock().known = Some(Known { value, writes, started, elapsed, is_quick });
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;
    use crate::{Catalog, CollectionConfig, OpenOptions};
    use sameish::{Document, Preset};
    use std::sync::atomic::{AtomicU64, Ordering};

    static COMPUTED: AtomicU64 = AtomicU64::new(0);

    fn slow(collection: &Collection) -> Result<u64> {
        std::thread::sleep(Duration::from_millis(400));
        COMPUTED.fetch_add(1, Ordering::SeqCst);
        Ok(collection.len() as u64)
    }

    /// Many requests at the same time cause one computation, and none of them waits for it if a result is known.
    #[test]
    fn a_slow_statistic_is_computed_once_and_in_the_background() {
        let dir = tempfile::tempdir().unwrap();
        let catalog = Catalog::open(dir.path(), OpenOptions::default()).unwrap();
        let collection = catalog.create("a", CollectionConfig::new(Preset::Copies)).unwrap();
        let refreshed: &'static Refreshed<u64> = Box::leak(Box::default());
        static REFRESHED: std::sync::OnceLock<&'static Refreshed<u64>> = std::sync::OnceLock::new();
        REFRESHED.set(refreshed).unwrap();
        let statistic = Statistic { of: |_| REFRESHED.get().unwrap(), compute: slow, is_small: |_| false };
        let request_all = || {
            std::thread::scope(|scope| {
                let requests: Vec<_> =
                    (0..8).map(|_| scope.spawn(|| *collection.statistic(statistic).unwrap())).collect();
                requests.into_iter().map(|request| request.join().unwrap()).collect::<Vec<u64>>()
            })
        };
        assert_eq!(request_all(), [0; 8]);
        assert_eq!(COMPUTED.load(Ordering::SeqCst), 1);
        collection.insert(Document::new(1, "a text")).unwrap();
        assert_eq!(request_all(), [0; 8], "the result is reused");
        // As if the time of reuse had passed.
        refreshed.lock().known.as_mut().unwrap().started =
            Instant::now().checked_sub(Duration::from_secs(60)).unwrap();
        let started = Instant::now();
        assert_eq!(request_all(), [0; 8], "nobody waits for the computation");
        assert!(started.elapsed() < Duration::from_millis(350), "{:?}", started.elapsed());
        while refreshed.lock().is_computing {
            std::thread::sleep(Duration::from_millis(10));
        }
        assert_eq!(COMPUTED.load(Ordering::SeqCst), 2);
        assert_eq!(request_all(), [1; 8]);
    }

    /// A statistic of a small collection is current after a change, although computing it took long.
    #[test]
    fn a_small_statistic_is_always_current() {
        let dir = tempfile::tempdir().unwrap();
        let catalog = Catalog::open(dir.path(), OpenOptions::default()).unwrap();
        let collection = catalog.create("a", CollectionConfig::new(Preset::Copies)).unwrap();
        static SMALL: std::sync::LazyLock<Refreshed<u64>> = std::sync::LazyLock::new(Refreshed::default);
        let compute = |collection: &Collection| {
            std::thread::sleep(2 * QUICK);
            Ok(collection.len() as u64)
        };
        let statistic = Statistic { of: |_| &SMALL, compute, is_small: |documents| *documents < 2 };
        let mut found = Vec::new();
        for id in 0..4 {
            found.push(*collection.statistic(statistic).unwrap());
            collection.insert(Document::new(id, "a text")).unwrap();
        }
        assert_eq!(found, [0, 1, 2, 2], "two documents are not few");
    }
}
