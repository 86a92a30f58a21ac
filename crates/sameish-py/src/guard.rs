//! Who may ask, and who may change?
//!
//! Things of Rust that Python holds are behind a lock, which is only ever taken while the interpreter lock is released: the
//! two never wait for each other. Questions go on side by side.

use pyo3::prelude::*;
use std::sync::{Arc, PoisonError, RwLock, RwLockReadGuard, RwLockWriteGuard};

/// A thing behind a lock. Clones are the same.
pub(crate) struct Guarded<T>(Arc<RwLock<T>>);

impl<T> Clone for Guarded<T> {
    fn clone(&self) -> Guarded<T> {
        Guarded(Arc::clone(&self.0))
    }
}

impl<T: Send + Sync> Guarded<T> {
    pub(crate) fn new(thing: T) -> Guarded<T> {
        Guarded(Arc::new(RwLock::new(thing)))
    }

    pub(crate) fn ask<A: Send>(&self, py: Python<'_>, question: impl FnOnce(&T) -> A + Send) -> A {
        py.detach(|| question(&self.read()))
    }

    pub(crate) fn change<A: Send>(&self, py: Python<'_>, change: impl FnOnce(&mut T) -> A + Send) -> A {
        py.detach(|| change(&mut self.write()))
    }

    /// For a thread that does not have the interpreter lock.
    pub(crate) fn read(&self) -> RwLockReadGuard<'_, T> {
        self.0.read().unwrap_or_else(PoisonError::into_inner)
    }

    /// The same, alone.
    pub(crate) fn write(&self) -> RwLockWriteGuard<'_, T> {
        self.0.write().unwrap_or_else(PoisonError::into_inner)
    }
}
