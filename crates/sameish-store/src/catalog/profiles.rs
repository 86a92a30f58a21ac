//! Profiles of texts in crowded buckets, which are computed in the background.
//!
//! An index that was loaded from stored sketches does not know the features of its texts, and one in which a bucket becomes crowded
//! only those of the last one. The writer reads those of crowded buckets in steps of a few milliseconds, between other writes. Until this is finished, searches in crowded buckets read more texts and may
//! reach limits. A process that stops before reads them again after the next start.

use super::live::LiveCollection;
use super::tasks::STEP;
use super::writer::Writer;
use crate::error::{Error, Result};
use crate::store::Read;
use sameish::engine::Unread;
use sameish::{DocId, Scratch};
use std::sync::Arc;
use std::time::Instant;

/// Maximum number of texts whose profiles are added while readers of the index wait.
const AT_ONCE: usize = 16;

#[cfg(test)]
thread_local! {
    /// Whether a catalog that this thread opens leaves the texts of crowded buckets unread.
    pub(super) static LEAVES_UNREAD: std::cell::Cell<bool> = const { std::cell::Cell::new(false) };
}

impl Writer {
    fn next_unread(&self) -> Option<(Arc<LiveCollection>, u32)> {
        #[cfg(test)]
        if self.leaves_unread {
            return None;
        }
        let collections = self.shared.collections();
        collections.live().find_map(|live| Some((Arc::clone(live), live.unread_from()?)))
    }

    /// Returns `true` if an index may lack profiles.
    pub(super) fn has_unread(&self) -> bool {
        self.next_unread().is_some()
    }

    /// Computes profiles for a few milliseconds.
    pub(super) fn read_profiles(&mut self) -> Result<()> {
        let deadline = Instant::now() + STEP;
        let Some((live, mut from)) = self.next_unread() else { return Ok(()) };
        let read = self.shared.readers.get()?;
        loop {
            let Unread { documents, next } = live.engine().unread(from, AT_ONCE);
            note_features(&*read, &live, &documents)?;
            live.set_unread_from(next);
            match next {
                Some(next) if Instant::now() < deadline => from = next,
                _ => return Ok(()),
            }
        }
    }

    /// Computes all profiles.
    pub(super) fn read_all_profiles(&mut self) -> Result<()> {
        while self.has_unread() {
            self.read_profiles()?;
        }
        Ok(())
    }
}

/// Adds the profiles of documents to the index. Damaged documents are left out; `verify` reports them.
fn note_features(read: &dyn Read, live: &LiveCollection, documents: &[(DocId, u64)]) -> Result<()> {
    let mut scratch = Scratch::default();
    let mut all = Vec::with_capacity(documents.len());
    for (id, number) in documents {
        match read.document(*number) {
            Ok(Some(row)) => {
                all.push((id, *number, live.analyzer.features(&row.document.content, &mut scratch)))
            }
            Ok(None) | Err(Error::Damaged { .. }) => {}
            Err(error) => return Err(error),
        }
    }
    if !all.is_empty() {
        let mut engine = live.engine_mut();
        all.iter().for_each(|(id, number, features)| engine.note_features(id, *number, features));
    }
    Ok(())
}
