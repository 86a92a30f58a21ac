//! Detection of a missing write-ahead log.
//!
//! The latest acknowledged writes are only in the write-ahead log. If the log is lost, the database is an older state and
//! SQLite reports no error. Therefore a marker file exists while a process writes: it is created after the log is durable,
//! and removed after the log has been checkpointed. A marker without a log means that the log was lost.

use super::{sync_dir, sync_file};
use crate::error::{Error, Result};
use crate::private;
use std::path::{Path, PathBuf};

const MARKER_TEXT: &str = "A process is writing to sameish.db, or did not shut down cleanly. \
    Keep sameish.db-wal: it contains acknowledged writes.\n";

/// Returns `true` if the database has a write-ahead log.
pub(super) fn exists(database: &Path) -> bool {
    wal_path(database).exists()
}

/// Returns an error if the write-ahead log is missing although the marker exists.
pub(super) fn check(database: &Path) -> Result<()> {
    let mark = marker_path(database);
    // A writer that is shutting down removes the marker before the log, so the marker must still exist afterwards.
    if mark.exists() && !exists(database) && mark.exists() {
        return Err(Error::LogLost { log: wal_path(database), mark });
    }
    Ok(())
}

/// Creates the marker. The write-ahead log must be durable.
pub(super) fn create_marker(database: &Path) -> Result<()> {
    let marker = marker_path(database);
    if marker.exists() {
        return Ok(());
    }
    private::write_file(&marker, MARKER_TEXT.as_bytes()).map_err(|source| Error::io(&marker, source))?;
    sync_file(&marker)?;
    sync_dir(database.parent().unwrap_or(Path::new(".")))
}

/// Removes the marker. The write-ahead log must be checkpointed.
pub(super) fn remove_marker(database: &Path) -> std::io::Result<()> {
    std::fs::remove_file(marker_path(database))
}

/// Returns the path of the marker, `sameish.open`.
pub(crate) fn marker_path(database: &Path) -> PathBuf {
    database.with_extension("open")
}

/// Returns the path of the write-ahead log.
pub(super) fn wal_path(database: &Path) -> PathBuf {
    let mut path = database.as_os_str().to_owned();
    path.push("-wal");
    path.into()
}
