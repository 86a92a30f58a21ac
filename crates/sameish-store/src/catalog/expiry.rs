//! Expiry: deletes documents that are older than their collection keeps them.
//!
//! Nothing is deleted while the system clock is not plausible, or if more than half of a collection would be deleted at once.
//! Expiry then pauses until an operator confirms it. The second rule does not apply to a few documents: the last documents of a
//! collection are always more than half of it, and an operator should not have to confirm each time that a small collection
//! becomes empty. The first rule protects them from a clock that is far ahead.

use super::collection::{Collection, timestamp};
use super::live::DAY;
use super::repair::Deletion;
use super::{Catalog, Shared};
use crate::error::{Error, Result};
use crate::model::{Confirmation, Expired, ExpiryPause};
use crate::private;
use sameish::Timestamp;
use sameish::engine::StoredDocument;
use std::path::Path;
use std::sync::{MutexGuard, PoisonError};
use std::time::Instant;

/// File with which an operator confirms the expiry of a directory that another process has open.
const CONFIRMATION: &str = "sameish.expire";
/// Maximum number of documents that are deleted at once without a confirmation, whatever their share of the collection.
const MAX_UNCONFIRMED: usize = 100;
/// How far the clock of the confirmation may differ from ours, in milliseconds.
const MAX_DIFFERENCE: u64 = 3_600_000;

impl Collection {
    /// Deletes documents that are older than the retention period, in transactions of several hundred. Does nothing if the
    /// collection has no retention period.
    ///
    /// Without a confirmation, deletes nothing if `now` is more than a day ahead of the latest insertion plus the longest
    /// pause between two insertions, or if more than 100 documents and more than half of the collection would be deleted; the
    /// result then says why.
    pub fn expire(&self, now: Timestamp, confirmation: Confirmation) -> Result<Expired> {
        let expired = self.expired_documents(now);
        let paused = self.reason_to_pause(now, expired.len());
        match confirmation {
            Confirmation::Required if paused.is_some() => return Ok(Expired { removed: 0, paused }),
            Confirmation::Required => {}
            Confirmation::Given => self.shared.clock().confirm(now.as_milliseconds(), Instant::now()),
        }
        self.shared.store_clock()?;
        let removed = self.delete_all(expired)?.into_iter().filter(|deleted| *deleted).count();
        Ok(Expired { removed, paused: None })
    }

    fn expired_documents(&self, now: Timestamp) -> Vec<Deletion> {
        let Some(days) = self.live.periods().retention_days else { return Vec::new() };
        let oldest = now.as_milliseconds().saturating_sub_unsigned(u64::from(days) * DAY);
        let visible = self.live.visible();
        let is_expired = |document: &StoredDocument<'_>| {
            document.number <= visible
                && document.published.is_some_and(|date| date.as_milliseconds() < oldest)
        };
        // The number protects a document that is replaced meanwhile and then has a newer date.
        let deletion = |document: StoredDocument<'_>| Deletion {
            id: document.id.clone(),
            expected_number: Some(document.number),
        };
        self.live.engine().documents().filter(is_expired).map(deletion).collect()
    }

    fn reason_to_pause(&self, now: Timestamp, expired: usize) -> Option<ExpiryPause> {
        let mut clock = self.shared.clock();
        if !clock.check(now.as_milliseconds(), Instant::now()) && expired > 0 {
            return clock.latest().map(|latest| ExpiryPause::Clock { now, latest: timestamp(latest) });
        }
        let documents = self.len();
        let is_large = expired > MAX_UNCONFIRMED && expired > documents / 2;
        is_large.then_some(ExpiryPause::Share { expired, documents })
    }
}

impl Catalog {
    /// Confirms the expiry of a directory that another process has open for writing. That process takes the confirmation
    /// with [`take_expiry_confirmation`](Self::take_expiry_confirmation).
    pub fn confirm_expiry(dir: impl AsRef<Path>) -> Result<()> {
        let path = dir.as_ref().join(CONFIRMATION);
        private::write_file(&path, super::now().to_string().as_bytes())
            .map_err(|source| Error::io(&path, source))
    }

    /// Returns [`Confirmation::Given`] once after an operator has confirmed the expiry, unless the clocks of the two
    /// processes differ by more than an hour.
    pub fn take_expiry_confirmation(&self) -> Confirmation {
        let path = self.shared.dir.join(CONFIRMATION);
        let Ok(text) = std::fs::read_to_string(&path) else { return Confirmation::Required };
        let confirmed = text.trim().parse::<i64>().ok();
        let is_near = |time: i64| time.abs_diff(super::now()) <= MAX_DIFFERENCE;
        // A confirmation that cannot be removed would be valid forever.
        if std::fs::remove_file(&path).is_ok() && confirmed.is_some_and(is_near) {
            Confirmation::Given
        } else {
            Confirmation::Required
        }
    }
}

impl Shared {
    pub(super) fn clock(&self) -> MutexGuard<'_, super::Clock> {
        self.clock.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Stores what is known about the time if the stored state is old.
    fn store_clock(&self) -> Result<()> {
        if self.clock().to_store(false).is_none() {
            return Ok(());
        }
        self.run_on_writer(|writer| writer.store_clock(false))
    }
}
