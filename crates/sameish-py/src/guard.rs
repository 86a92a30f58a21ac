//! Who may ask, and who may change?
//!
//! Things of Rust that Python holds are behind a lock, which is only ever taken while the interpreter lock is released: the
//! two never wait for each other. Questions go on side by side, and nobody waits without looking for signals.

use crate::work::{GLANCE, Watch};
use parking_lot::{RwLock, RwLockReadGuard, RwLockWriteGuard};
use pyo3::prelude::*;

/// A thing behind a lock.
pub(crate) struct Guarded<T>(RwLock<T>);

impl<T: Send + Sync> Guarded<T> {
    pub(crate) fn new(thing: T) -> Guarded<T> {
        Guarded(RwLock::new(thing))
    }

    pub(crate) fn ask<A: Send>(&self, py: Python<'_>, question: impl FnOnce(&T) -> A + Send) -> PyResult<A> {
        py.detach(|| {
            loop {
                match self.0.try_read_for(GLANCE) {
                    Some(thing) => return Ok(question(&thing)),
                    None => Python::attach(|py| py.check_signals())?,
                }
            }
        })
    }

    pub(crate) fn change<A: Send>(
        &self,
        py: Python<'_>,
        change: impl FnOnce(&mut T) -> A + Send,
    ) -> PyResult<A> {
        py.detach(|| {
            loop {
                match self.0.try_write_for(GLANCE) {
                    Some(mut thing) => return Ok(change(&mut thing)),
                    None => Python::attach(|py| py.check_signals())?,
                }
            }
        })
    }

    /// For a thread that does not have the interpreter lock, as long as its answer is wanted.
    pub(crate) fn read(&self, watch: &Watch) -> Option<RwLockReadGuard<'_, T>> {
        while watch.goes_on() {
            if let Some(thing) = self.0.try_read_for(GLANCE) {
                return Some(thing);
            }
            watch.look();
        }
        None
    }

    /// The same, alone.
    pub(crate) fn write(&self, watch: &Watch) -> Option<RwLockWriteGuard<'_, T>> {
        while watch.goes_on() {
            if let Some(thing) = self.0.try_write_for(GLANCE) {
                return Some(thing);
            }
            watch.look();
        }
        None
    }
}
