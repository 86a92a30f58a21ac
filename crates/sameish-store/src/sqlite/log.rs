//! Is the write-ahead log where it must be?
//!
//! What was acknowledged last stands in the log alone. Without it the file looks whole and is of some time ago, and SQLite
//! says nothing. So a mark lies beside the store while somebody writes: it comes when the log is surely on the disk and
//! goes when the log was copied back. A mark without a log tells that the log was lost.

use super::{sync_file, sync_folder};
use crate::error::{Error, Result};
use std::path::{Path, PathBuf};

/// Whether there is a log.
pub(super) fn is_there(store: &Path) -> bool {
    of(store).exists()
}

/// Refuses a store whose log is gone.
pub(super) fn check(store: &Path) -> Result<()> {
    let mark = mark_of(store);
    // The mark twice: a writer who ends now takes it away before the log.
    if mark.exists() && !is_there(store) && mark.exists() {
        return Err(Error::LogLost { log: of(store), mark });
    }
    Ok(())
}

/// Leaves the mark; the log must be durable.
pub(super) fn mark(store: &Path) -> Result<()> {
    let mark = mark_of(store);
    if mark.exists() {
        return Ok(());
    }
    std::fs::write(&mark, "Somebody writes, or did not end in order: see sameish.db-wal.\n")
        .map_err(|source| Error::io(&mark, source))?;
    sync_file(&mark)?;
    sync_folder(store.parent().unwrap_or(Path::new(".")))
}

/// Takes the mark away; the log must have nothing that the file has not.
pub(super) fn unmark(store: &Path) -> std::io::Result<()> {
    std::fs::remove_file(mark_of(store))
}

/// The file that lies there while somebody writes.
pub(crate) fn mark_of(store: &Path) -> PathBuf {
    store.with_extension("open")
}

/// The log of a store.
pub(super) fn of(store: &Path) -> PathBuf {
    let mut log = store.as_os_str().to_owned();
    log.push("-wal");
    log.into()
}
