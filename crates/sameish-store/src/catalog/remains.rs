//! Deletion of the rows of deleted collections, in small steps between other writes.
//!
//! A collection is deleted in one transaction that removes its name and records that its rows remain. Documents, sketches and
//! clusters follow in steps of a few milliseconds, so that a large collection does not delay the others. The record survives
//! restarts: the next process continues.

use super::tasks::STEP;
use super::writer::Writer;
use crate::error::{Error, Result};
use crate::store::Store;
use std::time::Instant;

/// Number of rows after which a step checks the time.
const ROWS: usize = 16;

/// Deletes rows of a deleted collection until `deadline`, in one transaction. Returns `false` if there are none left.
pub(super) fn remove_until(store: &mut dyn Store, collection: u32, deadline: Instant) -> Result<bool> {
    let mut change = store.begin()?;
    let mut has_rows = change.remove_rows(collection, ROWS)?;
    while has_rows && Instant::now() < deadline {
        has_rows = change.remove_rows(collection, ROWS)?;
    }
    change.commit()?;
    Ok(has_rows)
}

impl Writer {
    /// Returns `true` if rows of deleted collections remain.
    pub(super) fn has_remains(&self) -> bool {
        !self.dropped.is_empty()
    }

    /// Deletes rows of a deleted collection for a few milliseconds.
    pub(super) fn remove_remains(&mut self) -> Result<()> {
        let Some(&collection) = self.dropped.last() else { return Ok(()) };
        let remove =
            |writer: &mut Writer| remove_until(&mut *writer.store, collection, Instant::now() + STEP);
        let has_rows = self.write(|writer| match remove(writer) {
            Err(Error::Full) if writer.store.release_space() => remove(writer),
            removed => removed,
        })?;
        self.note_deletion();
        if !has_rows {
            self.dropped.pop();
        }
        Ok(())
    }

    /// Deletes all rows of deleted collections.
    pub(super) fn remove_all_remains(&mut self) -> Result<()> {
        while self.has_remains() {
            self.remove_remains()?;
        }
        Ok(())
    }
}
