//! The memory budget of request and response bodies.
//!
//! Memory is reserved before it is used: for a request body as it arrives, for a response before it is built. With two or more
//! keys each key has a [share](crate::shares), so that the bodies of one key, however large and slow, leave memory for other keys.
//! The first bytes of a body need no reservation, so that small requests succeed while large ones use the whole budget.

use crate::problem::{Kind, Problem};
use crate::settings::Limits;
use crate::shares::{Shares, key_share};
use crate::state::{App, current_key};
use std::sync::atomic::{AtomicUsize, Ordering};

/// Size in bytes up to which a body needs no reservation. The number of connections limits the memory of such bodies.
const UNRESERVED: usize = 16 << 10;

/// The budget of the service and the share of each key.
pub(crate) struct MemoryBudget {
    shares: Shares<Account>,
}

struct Account {
    used: AtomicUsize,
    max: usize,
}

impl Account {
    fn new(max: usize) -> Account {
        Account { used: AtomicUsize::new(0), max }
    }

    /// Reserves bytes. Returns `false` if fewer are available.
    fn reserve(&self, bytes: usize) -> bool {
        let add = |used: usize| used.checked_add(bytes).filter(|used| *used <= self.max);
        self.used.fetch_update(Ordering::Relaxed, Ordering::Relaxed, add).is_ok()
    }

    fn release(&self, bytes: usize) {
        self.used.fetch_sub(bytes, Ordering::Relaxed);
    }
}

impl MemoryBudget {
    pub(crate) fn new(limits: &Limits, keys: usize) -> MemoryBudget {
        let share = || Account::new(key_share(limits.buffered_bytes));
        MemoryBudget { shares: Shares::new(keys, Account::new(limits.buffered_bytes), share) }
    }

    /// Returns the number of reserved bytes.
    pub(crate) fn used(&self) -> usize {
        self.shares.total.used.load(Ordering::Relaxed)
    }

    fn reserve(&self, key: Option<usize>, bytes: usize) -> Result<(), Problem> {
        let share = self.shares.of_key(key);
        if share.is_some_and(|share| !share.reserve(bytes)) {
            return Err(key_over_share());
        }
        if !self.shares.total.reserve(bytes) {
            share.inspect(|share| share.release(bytes));
            return Err(exhausted());
        }
        Ok(())
    }

    fn release(&self, key: Option<usize>, bytes: usize) {
        self.shares.of_key(key).inspect(|share| share.release(bytes));
        self.shares.total.release(bytes);
    }
}

fn exhausted() -> Problem {
    Problem::new(Kind::Busy, "too many large requests and responses in memory; retry in a second")
}

fn key_over_share() -> Problem {
    let detail = "the requests and responses of this key use its share of the memory, which is half; read the responses, or \
                  retry in a second";
    Problem::new(Kind::TooManyRequests, detail)
}

/// A reserved part of the memory budget, on behalf of the key of the current request. Released on drop.
pub(crate) struct BufferedBytes {
    app: App,
    key: Option<usize>,
    bytes: usize,
}

impl BufferedBytes {
    /// Creates an empty reservation.
    pub(crate) fn new(app: &App) -> BufferedBytes {
        BufferedBytes { app: app.clone(), key: current_key(), bytes: 0 }
    }

    /// Creates an empty reservation of the same key.
    pub(crate) fn sibling(&self) -> BufferedBytes {
        BufferedBytes { app: self.app.clone(), key: self.key, bytes: 0 }
    }

    /// Returns the number of reserved bytes.
    pub(crate) fn bytes(&self) -> usize {
        self.bytes
    }

    /// Reserves more bytes. Returns a problem, and reserves nothing, if the budget is exhausted.
    pub(crate) fn reserve(&mut self, bytes: usize) -> Result<(), Problem> {
        self.app.memory.reserve(self.key, bytes)?;
        self.bytes += bytes;
        Ok(())
    }

    /// Reserves what is missing for a body of this size, and at least `step` bytes if something is missing.
    pub(crate) fn reserve_up_to(&mut self, bytes: usize, step: usize) -> Result<(), Problem> {
        match bytes.saturating_sub(UNRESERVED).saturating_sub(self.bytes) {
            0 => Ok(()),
            missing => self.reserve(missing.max(step)),
        }
    }

    /// Releases what a body of this size does not need.
    pub(crate) fn shrink_to(&mut self, bytes: usize) {
        self.release(self.bytes.saturating_sub(bytes.saturating_sub(UNRESERVED)));
    }

    /// Releases a part of the reservation.
    pub(crate) fn release(&mut self, bytes: usize) {
        let bytes = bytes.min(self.bytes);
        self.bytes -= bytes;
        self.app.memory.release(self.key, bytes);
    }

    /// Moves a part of the reservation to a new one.
    pub(crate) fn split(&mut self, bytes: usize) -> BufferedBytes {
        let bytes = bytes.min(self.bytes);
        self.bytes -= bytes;
        let mut part = self.sibling();
        part.bytes = bytes;
        part
    }

    /// Adds the reservation of another part of the same request.
    pub(crate) fn absorb(&mut self, mut other: BufferedBytes) {
        self.bytes += std::mem::take(&mut other.bytes);
    }
}

impl Drop for BufferedBytes {
    fn drop(&mut self) {
        self.app.memory.release(self.key, self.bytes);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn reserve(budget: &MemoryBudget, key: usize, bytes: usize) -> Result<(), u16> {
        budget.reserve(Some(key), bytes).map_err(|problem| problem.kind.status().as_u16())
    }

    #[test]
    fn limits_each_of_two_keys_to_half_of_the_memory() {
        let limits = Limits { buffered_bytes: 100, ..Limits::default() };
        let budget = MemoryBudget::new(&limits, 2);
        assert_eq!(reserve(&budget, 0, 50), Ok(()));
        assert_eq!(reserve(&budget, 0, 1), Err(429));
        assert_eq!(reserve(&budget, 1, 50), Ok(()));
        assert_eq!(budget.reserve(None, 1).map_err(|problem| problem.kind), Err(Kind::Busy));
        budget.release(Some(0), 50);
        assert_eq!((reserve(&budget, 0, 50), budget.used()), (Ok(()), 100));
    }

    #[test]
    fn a_rejected_reservation_takes_nothing() {
        let limits = Limits { buffered_bytes: 100, ..Limits::default() };
        let budget = MemoryBudget::new(&limits, 3);
        for (key, bytes, expected) in
            [(0, 50, Ok(())), (1, 40, Ok(())), (2, 20, Err(503)), (2, 10, Ok(())), (2, 1, Err(503))]
        {
            assert_eq!(reserve(&budget, key, bytes), expected);
        }
    }
}
