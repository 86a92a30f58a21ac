//! Who may ask, and who may change?
//!
//! Things of Rust that Python holds are behind a lock, which is only ever taken while the interpreter lock is released: the
//! two never wait for each other. Questions go on side by side, and nobody waits without looking for signals.

use crate::work::{GLANCE, Watch};
use parking_lot::{Mutex, RwLock, RwLockReadGuard, RwLockWriteGuard};
use pyo3::prelude::*;

/// A thing behind a lock. Whoever comes first goes first: one that waits to change it holds the door, so that questions that
/// come later wait behind.
pub(crate) struct Guarded<T> {
    door: Mutex<()>,
    thing: RwLock<T>,
}

impl<T: Send + Sync> Guarded<T> {
    pub(crate) fn new(thing: T) -> Guarded<T> {
        Guarded { door: Mutex::new(()), thing: RwLock::new(thing) }
    }

    pub(crate) fn ask<A: Send>(&self, py: Python<'_>, question: impl FnOnce(&T) -> A + Send) -> PyResult<A> {
        py.detach(|| {
            let signals = || Python::attach(|py| py.check_signals());
            let door = until(|| self.door.try_lock_for(GLANCE), signals)?;
            let thing = until(|| self.thing.try_read_for(GLANCE), signals)?;
            drop(door);
            Ok(question(&thing))
        })
    }

    pub(crate) fn change<A: Send>(
        &self,
        py: Python<'_>,
        change: impl FnOnce(&mut T) -> A + Send,
    ) -> PyResult<A> {
        py.detach(|| {
            let signals = || Python::attach(|py| py.check_signals());
            let door = until(|| self.door.try_lock_for(GLANCE), signals)?;
            let mut thing = until(|| self.thing.try_write_for(GLANCE), signals)?;
            drop(door);
            Ok(change(&mut thing))
        })
    }

    /// For a thread that does not have the interpreter lock, as long as its answer is wanted.
    pub(crate) fn read(&self, watch: &Watch) -> Option<RwLockReadGuard<'_, T>> {
        let _door = until(|| self.door.try_lock_for(GLANCE), || watch.look()).ok()?;
        until(|| self.thing.try_read_for(GLANCE), || watch.look()).ok()
    }

    /// The same, alone.
    pub(crate) fn write(&self, watch: &Watch) -> Option<RwLockWriteGuard<'_, T>> {
        let _door = until(|| self.door.try_lock_for(GLANCE), || watch.look()).ok()?;
        until(|| self.thing.try_write_for(GLANCE), || watch.look()).ok()
    }
}

/// Tries again and again, as long as `look` finds no reason to stop.
fn until<G, E>(
    mut attempt: impl FnMut() -> Option<G>,
    mut look: impl FnMut() -> Result<(), E>,
) -> Result<G, E> {
    loop {
        match attempt() {
            Some(got) => return Ok(got),
            None => look()?,
        }
    }
}
