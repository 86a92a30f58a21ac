//! Cancellation of a run from another thread.

use crate::error::{Error, Result};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

/// Cancels a run from another thread. Clones share one state.
///
/// All loops of a run check it: worker threads before each document and each group of comparisons, so a canceled run ends as
/// soon as the documents in progress are done. A [`Monitor`](crate::Monitor) can also cancel a run, but is called only after
/// each batch of documents.
#[derive(Clone, Debug, Default)]
pub struct Cancellation(Arc<AtomicBool>);

impl Cancellation {
    /// Cancels the run, which then ends with [`Error::Canceled`].
    pub fn cancel(&self) {
        self.0.store(true, Ordering::Relaxed);
    }

    /// Returns `true` if the run was canceled.
    pub fn is_canceled(&self) -> bool {
        self.0.load(Ordering::Relaxed)
    }

    /// Fails if the run was canceled.
    pub fn check(&self) -> Result<()> {
        if self.is_canceled() { Err(Error::Canceled) } else { Ok(()) }
    }
}
