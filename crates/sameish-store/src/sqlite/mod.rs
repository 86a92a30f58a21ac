//! How are documents kept in SQLite?
//!
//! One file in write-ahead mode: one connection writes, others read what was committed without waiting. A commit returns
//! after a full sync. Deleted text is overwritten in the file; what the log still has of it goes when the log is begun anew,
//! at the latest with an orderly end.
//!
//! ```text
//! schema.rs   tables, versions, whose file it is
//! read.rs     questions
//! write.rs    changes
//! log.rs      whether the write-ahead log is there
//! room.rs     room for deletes on a full disk
//! ```

pub(crate) mod log;
mod read;
mod room;
mod schema;
mod write;

use crate::error::{Error, Result};
use crate::store::{Read, Store, Transaction};
use rusqlite::config::DbConfig;
use rusqlite::{Connection, ErrorCode, OpenFlags};
use std::path::{Path, PathBuf};

/// The name of the file in its folder.
pub(crate) const FILE: &str = "sameish.db";

/// Pages of the write-ahead log after which it is copied back.
const LOG_PAGES: u32 = 4000;

/// Documents in a SQLite file.
#[derive(Debug)]
pub struct SqliteStore {
    connection: Connection,
    path: PathBuf,
    mode: Mode,
    /// Whether there is room for deletes on a full disk.
    has_room: bool,
}

/// How a file is opened.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Mode {
    Write,
    Read,
    /// Nobody writes and nothing is left to recover: then not even the folder needs to be writable.
    Still,
}

impl SqliteStore {
    /// Whether a folder has a store, or what looks like one.
    pub fn is_in(folder: &Path) -> bool {
        folder.join(FILE).is_file()
    }

    /// Opens the store of a folder, or makes one if there is none and `create` is set.
    pub fn open(folder: &Path, create: bool, read_only: bool) -> Result<SqliteStore> {
        SqliteStore::open_file(&folder.join(FILE), create && !read_only, read_only, schema::MIGRATIONS)
    }

    /// Whether a file could be opened as a store.
    pub(crate) fn check_file(path: &Path) -> Result<()> {
        let format = schema::format_of(path, schema::MIGRATIONS)?;
        let store = SqliteStore::connect(path, Mode::Still)?;
        let difference = store.difference(&schema::MIGRATIONS[..format as usize]);
        match difference.map_err(|error| wrong(path, error))? {
            Some(reason) => Err(Error::NotOurs { path: path.to_owned(), reason }),
            None => Ok(()),
        }
    }

    fn open_file(path: &Path, create: bool, read_only: bool, steps: &[&str]) -> Result<SqliteStore> {
        // A link that leads nowhere is a fault, not a place for a new store.
        if create && std::fs::symlink_metadata(path).is_err() {
            check_nothing_is_left(path)?;
            make(path, steps)?;
        }
        log::check(path)?;
        let format = schema::format_of(path, steps)?;
        let still = read_only && !log::is_there(path) && !is_writable(path.parent());
        let mode = if still {
            Mode::Still
        } else if read_only {
            Mode::Read
        } else {
            Mode::Write
        };
        let mut store = SqliteStore::connect(path, mode)?;
        let wrong = |error| wrong(path, error);
        if let Some(reason) = store.difference(&steps[..format as usize]).map_err(wrong)? {
            return Err(Error::NotOurs { path: path.to_owned(), reason });
        }
        if (format as usize) < steps.len() {
            if read_only {
                let reason = format!("format {format} must be upgraded first: open it once for writing");
                return Err(Error::Database { path: path.to_owned(), reason });
            }
            store.back_up_before_upgrade(format)?;
            schema::migrate(&mut store.connection, steps).map_err(wrong)?;
        }
        if !read_only {
            match store.mark(steps.len() as u32) {
                // Deletes must be possible on a full disk; then the log goes unwatched.
                Ok(()) | Err(Error::Full) => {}
                Err(error) => return Err(error),
            }
        }
        Ok(store)
    }

    fn connect(path: &Path, mode: Mode) -> Result<SqliteStore> {
        let wrong = |error| wrong(path, error);
        let read_only = mode != Mode::Write;
        let access =
            if read_only { OpenFlags::SQLITE_OPEN_READ_ONLY } else { OpenFlags::SQLITE_OPEN_READ_WRITE };
        let flags = access | OpenFlags::SQLITE_OPEN_NO_MUTEX;
        let connection = match mode {
            Mode::Still => Connection::open_with_flags(uri(path), flags | OpenFlags::SQLITE_OPEN_URI),
            Mode::Write | Mode::Read => Connection::open_with_flags(path, flags),
        };
        let connection = connection.map_err(wrong)?;
        connection.busy_timeout(std::time::Duration::from_secs(5)).map_err(wrong)?;
        connection.set_prepared_statement_cache_capacity(64);
        let settings = "PRAGMA trusted_schema = OFF; PRAGMA cell_size_check = ON; PRAGMA foreign_keys = OFF;";
        connection.execute_batch(settings).map_err(wrong)?;
        if !read_only {
            // A file or log that can not be opened for writing is opened for reading without a word: told now, not at
            // the first document.
            if connection.is_readonly("main").map_err(wrong)? {
                return Err(Error::ReadOnly { path: path.to_owned() });
            }
            connection.execute_batch("BEGIN IMMEDIATE; ROLLBACK").map_err(wrong)?;
            // A copy, as a snapshot has it, is in another mode.
            let set = connection.query_row("PRAGMA journal_mode = WAL", [], |row| row.get::<_, String>(0));
            if set.map_err(wrong)? != "wal" {
                let reason = "write-ahead mode could not be set: is another program using it?".to_owned();
                return Err(Error::Database { path: path.to_owned(), reason });
            }
            let settings = "PRAGMA synchronous = FULL; PRAGMA secure_delete = ON; PRAGMA cache_size = -32768;
                PRAGMA journal_size_limit = 33554432;";
            connection.execute_batch(settings).map_err(wrong)?;
            connection.pragma_update(None, "wal_autocheckpoint", LOG_PAGES).map_err(wrong)?;
        }
        Ok(SqliteStore { connection, path: path.to_owned(), mode, has_room: false })
    }

    fn difference(&self, steps: &[&str]) -> rusqlite::Result<Option<String>> {
        schema::difference(&self.connection, steps)
    }

    fn set_log_pages(&self, pages: u32) -> Result<()> {
        let set = self.connection.pragma_update(None, "wal_autocheckpoint", pages);
        set.map_err(|error| self.wrong(error))
    }

    /// Makes sure that there is a log, and that its loss would be noticed.
    fn mark(&self, format: u32) -> Result<()> {
        // Writes what is there already.
        self.connection.pragma_update(None, "user_version", format).map_err(|error| self.wrong(error))?;
        log::mark(&self.path)
    }

    fn back_up_before_upgrade(&self, format: i64) -> Result<()> {
        let backup = self.path.with_extension(format!("format-{format}.db"));
        let io = |source| Error::io(&backup, source);
        if backup.exists() {
            std::fs::remove_file(&backup).map_err(io)?;
        }
        self.copy_to(&backup)
    }

    fn wrong(&self, error: rusqlite::Error) -> Error {
        wrong(&self.path, error)
    }
}

impl Store for SqliteStore {
    fn reader(&self) -> Result<Box<dyn Read + Send>> {
        let mode = if self.mode == Mode::Still { Mode::Still } else { Mode::Read };
        Ok(Box::new(SqliteStore::connect(&self.path, mode)?))
    }

    /// Copies the write-ahead log back and empties it, as far as readers allow.
    fn settle(&mut self) -> Result<()> {
        let done = self.connection.query_row("PRAGMA wal_checkpoint(TRUNCATE)", [], |_| Ok(()));
        done.map_err(|error| self.wrong(error))
    }

    fn keep_room(&mut self) -> Result<()> {
        if !self.has_room {
            room::keep(&self.path).map_err(|source| Error::io(&self.path, source))?;
            self.set_log_pages(LOG_PAGES)?;
            self.has_room = true;
        }
        Ok(())
    }

    fn give_room(&mut self) -> bool {
        self.has_room = false;
        // Copying the log back would take the room away from the deletes.
        room::give(&self.path) && self.set_log_pages(0).is_ok()
    }

    fn begin(&mut self) -> Result<Box<dyn Transaction + '_>> {
        if self.mode != Mode::Write {
            return Err(Error::ReadOnly { path: self.path.clone() });
        }
        Ok(Box::new(write::Change::begin(self)?))
    }
}

impl Drop for SqliteStore {
    /// Copies the log back and takes the mark away. Where that does not succeed, both stay.
    fn drop(&mut self) {
        if self.mode != Mode::Write {
            return;
        }
        _ = self.connection.busy_timeout(std::time::Duration::ZERO);
        let copied = self.connection.query_row("PRAGMA wal_checkpoint(TRUNCATE)", [], |row| row.get(0));
        if copied != Ok(0) || log::unmark(&self.path).is_err() {
            _ = self.connection.set_db_config(DbConfig::SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, true);
        }
    }
}

/// Refuses to make a store where one was lost: what is left of it would be taken for the log of the new one.
fn check_nothing_is_left(path: &Path) -> Result<()> {
    let left = [log::of(path), log::mark_of(path), path.with_extension("db.restoring")];
    match left.into_iter().find(|left| left.exists()) {
        Some(left) => Err(Error::StoreLost { store: path.to_owned(), left }),
        None => Ok(()),
    }
}

/// Makes a new store under another name and puts it into place when it is whole.
fn make(path: &Path, steps: &[&str]) -> Result<()> {
    let unfinished = path.with_extension("db.new");
    let io = |source| Error::io(&unfinished, source);
    for leftover in ["db.new", "db.new-wal", "db.new-shm"] {
        let leftover = path.with_extension(leftover);
        if leftover.exists() {
            std::fs::remove_file(&leftover).map_err(io)?;
        }
    }
    let wrong = |error| wrong(&unfinished, error);
    let mut connection = Connection::open(&unfinished).map_err(wrong)?;
    connection.execute_batch("PRAGMA page_size = 8192; PRAGMA journal_mode = WAL;").map_err(wrong)?;
    connection.pragma_update(None, "application_id", schema::APPLICATION_ID).map_err(wrong)?;
    schema::migrate(&mut connection, steps).map_err(wrong)?;
    connection.close().map_err(|(_, error)| wrong(error))?;
    sync_file(&unfinished)?;
    std::fs::rename(&unfinished, path).map_err(|source| Error::io(path, source))?;
    sync_folder(path.parent().unwrap_or(Path::new(".")))
}

/// Makes what was written to a file durable.
pub(crate) fn sync_file(path: &Path) -> Result<()> {
    let file = std::fs::File::open(path).map_err(|source| Error::io(path, source))?;
    file.sync_all().map_err(|source| Error::io(path, source))
}

/// Makes names in a folder durable.
pub(crate) fn sync_folder(path: &Path) -> Result<()> {
    let folder = if path.as_os_str().is_empty() { Path::new(".") } else { path };
    sync_file(folder)
}

/// Whether files can be made there: what permissions say may not be so on a read-only mount.
fn is_writable(folder: Option<&Path>) -> bool {
    let folder = folder.unwrap_or(Path::new("."));
    let probe = folder.join(format!(".sameish-probe-{}", std::process::id()));
    let made = std::fs::File::create(&probe).is_ok();
    if made {
        _ = std::fs::remove_file(&probe);
    }
    made
}

/// The file as an address that asks for no locks; characters that mean something there are escaped.
fn uri(path: &Path) -> String {
    let escaped: String = path
        .as_os_str()
        .as_encoded_bytes()
        .iter()
        .map(|&byte| match byte {
            b'a'..=b'z' | b'A'..=b'Z' | b'0'..=b'9' | b'/' | b'.' | b'-' | b'_' => {
                char::from(byte).to_string()
            }
            _ => format!("%{byte:02X}"),
        })
        .collect();
    format!("file:{escaped}?immutable=1")
}

/// What SQLite says, in our words.
pub(crate) fn wrong(path: &Path, error: rusqlite::Error) -> Error {
    let path = path.to_owned();
    let (code, extended) = match &error {
        rusqlite::Error::SqliteFailure(failure, _) => (Some(failure.code), failure.extended_code),
        _ => (None, 0),
    };
    let reason = error.to_string();
    match code {
        Some(ErrorCode::DiskFull) => Error::Full,
        Some(ErrorCode::SystemIoFailure) if READ_FAULTS.contains(&extended) => {
            Error::Database { path, reason }
        }
        Some(ErrorCode::SystemIoFailure) => Error::Failed { reason },
        Some(ErrorCode::ReadOnly) => Error::ReadOnly { path },
        Some(ErrorCode::DatabaseCorrupt | ErrorCode::NotADatabase) => {
            Error::Damaged { what: path.display().to_string(), reason }
        }
        _ => Error::Database { path, reason },
    }
}

/// Faults after which what was written is as sure as before.
const READ_FAULTS: &[i32] = &[rusqlite::ffi::SQLITE_IOERR_READ, rusqlite::ffi::SQLITE_IOERR_SHORT_READ];

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;
    use crate::{Catalog, CollectionConfig, Health, OpenOptions};
    use sameish::{Document, Preset};

    const NEXT: &str = "ALTER TABLE documents ADD COLUMN note TEXT";

    #[test]
    fn an_older_format_is_upgraded_after_a_copy_was_made() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join(FILE);
        let old = schema::MIGRATIONS;
        drop(SqliteStore::open_file(&path, true, false, old).unwrap());
        let new = [old, &[NEXT]].concat();
        let refused = SqliteStore::open_file(&path, false, true, &new);
        assert!(matches!(refused, Err(Error::Database { .. })), "not while reading only");
        drop(SqliteStore::open_file(&path, false, false, &new).unwrap());
        assert!(SqliteStore::check_file(&folder.path().join("sameish.format-1.db")).is_ok());
        // Format 2 is newer than what this build knows.
        assert!(matches!(SqliteStore::open(folder.path(), false, false), Err(Error::Newer { found: 2, .. })));
        drop(SqliteStore::open_file(&path, false, false, &new).unwrap());
    }

    #[test]
    fn a_step_that_fails_leaves_the_old_format() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join(FILE);
        let old = schema::MIGRATIONS;
        drop(SqliteStore::open_file(&path, true, false, old).unwrap());
        let bad = [old, &["CREATE TABLE half (a); SELECT nonsense"]].concat();
        assert!(SqliteStore::open_file(&path, false, false, &bad).is_err());
        drop(SqliteStore::open(folder.path(), false, false).unwrap());
    }

    /// The file may not grow: what does not fit is refused, deletes work, and what they free can be used.
    #[test]
    fn a_full_disk_refuses_writes_until_there_is_room() {
        let folder = tempfile::tempdir().unwrap();
        let store = SqliteStore::open(folder.path(), true, false).unwrap();
        store.connection.query_row("PRAGMA max_page_count = 60", [], |_| Ok(())).unwrap();
        let catalog = Catalog::over(Box::new(store), folder.path(), OpenOptions::default()).unwrap();
        let articles = catalog.create("articles", CollectionConfig::new(Preset::Articles)).unwrap();
        let text = |i: u64| (0..300).map(|at| format!("word{at}of{i}")).collect::<Vec<_>>().join(" ");
        let mut stored = 0;
        let refused = loop {
            match articles.insert(Document::new(stored, text(stored))) {
                Ok(_) => stored += 1,
                Err(error) => break error,
            }
        };
        assert!(matches!(refused, Error::Full), "{refused}");
        assert_eq!((catalog.health(), articles.len() as u64), (Health::Full, stored));
        assert!(articles.get(&0.into()).unwrap().is_some());
        for id in 0..5 {
            assert!(articles.delete(&id.into()).unwrap());
        }
        articles.insert(Document::new(1000, text(1000))).unwrap();
        assert_eq!(catalog.health(), Health::Ready);
        assert_eq!(catalog.verify().unwrap(), []);
    }
}
