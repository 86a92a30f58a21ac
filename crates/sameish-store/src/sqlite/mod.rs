//! A store in a SQLite file.
//!
//! The file is in write-ahead logging (WAL) mode: one connection writes, and others read committed data without waiting. A
//! commit returns after a full sync. Deleted text is overwritten in the database file; copies of it in the log are erased by
//! the next checkpoint, which the writer requests after `OpenOptions::erase_after`.
//!
//! ```text
//! open.rs     opening, creating and upgrading a file
//! schema.rs   schema, migrations, file identification
//! read.rs     queries
//! decode.rs   decoding of rows
//! write.rs    transactions
//! derived.rs  totals and lists, which a transaction updates
//! events.rs   rows of events
//! wal.rs      detection of a missing write-ahead log
//! reserve.rs  reserved disk space for deletes
//! ```

#[cfg(test)]
mod tests;

mod decode;
mod derived;
mod events;
mod open;
mod read;
mod reserve;
mod schema;
pub(crate) mod wal;
mod write;

pub(crate) use open::Backup;

use crate::error::{Error, Result};
use crate::store::{Read, Store, Transaction};
use rusqlite::config::DbConfig;
use rusqlite::{Connection, ErrorCode};
use std::path::{Path, PathBuf};
use std::time::Duration;

/// Name of the database file in its directory.
pub(crate) const FILE: &str = "sameish.db";

/// Size of the write-ahead log, in pages, at which SQLite checkpoints it.
const CHECKPOINT_PAGES: u32 = 4000;

/// How long a connection waits for others.
const BUSY_TIMEOUT: Duration = Duration::from_secs(5);
/// How long a checkpoint waits for readers.
const CHECKPOINT_TIMEOUT: Duration = Duration::from_millis(100);

/// A store in a SQLite file.
#[derive(Debug)]
pub struct SqliteStore {
    connection: Connection,
    path: PathBuf,
    mode: Mode,
    /// Whether disk space is reserved for deletes.
    has_reserve: bool,
    rows: RowCounter,
}

/// Counts the rows that are read and written, for tests that bound the cost of an operation.
#[derive(Clone, Debug, Default)]
pub(crate) struct RowCounter {
    #[cfg(test)]
    rows: std::sync::Arc<std::sync::atomic::AtomicU64>,
}

impl RowCounter {
    fn add(&self) {
        #[cfg(test)]
        self.rows.fetch_add(1, std::sync::atomic::Ordering::Relaxed);
    }

    #[cfg(test)]
    pub(crate) fn get(&self) -> u64 {
        self.rows.load(std::sync::atomic::Ordering::Relaxed)
    }
}

/// The mode of a connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Mode {
    Write,
    Read,
    /// Reads without locks or shared memory. This works in a directory that is not writable, and requires that no process
    /// writes and that there is no write-ahead log.
    Immutable,
}

impl SqliteStore {
    #[cfg(test)]
    pub(crate) fn row_counter(&self) -> RowCounter {
        self.rows.clone()
    }

    /// Returns `true` if a directory contains a database file. The file is not opened.
    pub fn is_in(dir: &Path) -> bool {
        dir.join(FILE).is_file()
    }

    /// Opens the store of a directory. If there is none, creates it if `create` is set and `read_only` is not. A file of an
    /// older format is copied before it is upgraded.
    pub fn open(dir: &Path, create: bool, read_only: bool) -> Result<SqliteStore> {
        SqliteStore::open_with(dir, create, read_only, Backup::BeforeUpgrade)
    }

    fn set_checkpoint_pages(&self, pages: u32) -> Result<()> {
        set_checkpoint_pages(&self.connection, pages).map_err(|error| self.database_error(error))
    }

    fn database_error(&self, error: rusqlite::Error) -> Error {
        database_error(&self.path, error)
    }
}

impl Store for SqliteStore {
    fn reader(&self) -> Result<Box<dyn Read + Send>> {
        self.try_clone()
    }

    /// Checkpoints and truncates the write-ahead log. Waits for readers a short time only, because writes wait meanwhile.
    fn checkpoint(&mut self) -> Result<()> {
        let run = || {
            self.connection.busy_timeout(CHECKPOINT_TIMEOUT)?;
            let blocked = self.connection.query_row("PRAGMA wal_checkpoint(TRUNCATE)", [], |row| row.get(0));
            self.connection.busy_timeout(BUSY_TIMEOUT)?;
            blocked
        };
        let blocked: bool = run().map_err(|error| self.database_error(error))?;
        if blocked { Err(Error::Busy) } else { Ok(()) }
    }

    /// Writes the database again without free pages, and empties the log.
    fn compact(&mut self) -> Result<()> {
        self.connection.execute_batch("VACUUM").map_err(|error| self.database_error(error))?;
        self.checkpoint()
    }

    fn reserve_space(&mut self) -> Result<()> {
        if !self.has_reserve {
            let mut created = reserve::create(&self.path);
            if created.is_err() {
                // The log may take the space: while the disk was full, it could not be copied into the database.
                _ = self.checkpoint();
                created = reserve::create(&self.path);
            }
            created.map_err(|source| Error::io(&self.path, source))?;
            self.set_checkpoint_pages(CHECKPOINT_PAGES)?;
            self.has_reserve = true;
        }
        Ok(())
    }

    fn release_space(&mut self) -> bool {
        self.has_reserve = false;
        // A checkpoint would use the space that the deletes need.
        reserve::remove(&self.path) && self.set_checkpoint_pages(0).is_ok()
    }

    fn begin(&mut self) -> Result<Box<dyn Transaction + '_>> {
        if self.mode != Mode::Write {
            return Err(Error::ReadOnly { path: self.path.clone() });
        }
        Ok(Box::new(write::SqliteTransaction::begin(self)?))
    }
}

impl Drop for SqliteStore {
    /// Checkpoints the log and removes the marker. If either fails, both files remain.
    fn drop(&mut self) {
        if self.mode != Mode::Write {
            return;
        }
        _ = self.connection.busy_timeout(Duration::ZERO);
        let busy = self.connection.query_row("PRAGMA wal_checkpoint(TRUNCATE)", [], |row| row.get(0));
        if busy != Ok(0) || wal::remove_marker(&self.path).is_err() {
            _ = self.connection.set_db_config(DbConfig::SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, true);
        }
    }
}

fn set_checkpoint_pages(connection: &Connection, pages: u32) -> rusqlite::Result<()> {
    connection.pragma_update(None, "wal_autocheckpoint", pages)
}

/// Makes the content of a file durable.
pub(crate) fn sync_file(path: &Path) -> Result<()> {
    let file = std::fs::File::open(path).map_err(|source| Error::io(path, source))?;
    file.sync_all().map_err(|source| Error::io(path, source))
}

/// Makes the file names in a directory durable.
pub(crate) fn sync_dir(path: &Path) -> Result<()> {
    let dir = if path.as_os_str().is_empty() { Path::new(".") } else { path };
    sync_file(dir)
}

/// Converts an error of SQLite.
pub(crate) fn database_error(path: &Path, error: rusqlite::Error) -> Error {
    let path = path.to_owned();
    let reason = error.to_string();
    let rusqlite::Error::SqliteFailure(failure, _) = error else {
        return Error::Database { path, reason };
    };
    match failure.code {
        ErrorCode::DiskFull => Error::Full,
        ErrorCode::SystemIoFailure if READ_FAILURES.contains(&failure.extended_code) => {
            Error::Database { path, reason }
        }
        ErrorCode::SystemIoFailure => Error::Failed { reason },
        ErrorCode::ReadOnly => Error::ReadOnly { path },
        ErrorCode::DatabaseCorrupt | ErrorCode::NotADatabase => {
            Error::Damaged { what: path.display().to_string(), reason }
        }
        _ => Error::Database { path, reason },
    }
}

/// I/O errors that do not affect the durability of earlier writes.
const READ_FAILURES: &[i32] = &[rusqlite::ffi::SQLITE_IOERR_READ, rusqlite::ffi::SQLITE_IOERR_SHORT_READ];
