//! A store in a SQLite file.
//!
//! The file is in write-ahead logging (WAL) mode: one connection writes, and others read committed data without waiting. A
//! commit returns after a full sync. Deleted text is overwritten in the database file; copies of it in the log are erased by
//! the next checkpoint, which the writer requests after `OpenOptions::erase_after`.
//!
//! ```text
//! schema.rs   schema, migrations, file identification
//! read.rs     queries
//! write.rs    transactions
//! wal.rs      detection of a missing write-ahead log
//! reserve.rs  reserved disk space for deletes
//! ```

mod read;
mod reserve;
mod schema;
pub(crate) mod wal;
mod write;

use crate::error::{Error, Result};
use crate::private;
use crate::restore;
use crate::store::{Read, Store, Transaction};
use rusqlite::config::DbConfig;
use rusqlite::{Connection, ErrorCode, OpenFlags};
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

/// The access that a caller requests.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Access {
    /// Reads and writes. Creates the file if it does not exist.
    Create,
    /// Reads and writes an existing file.
    Write,
    /// Reads an existing file.
    Read,
}

/// Whether a file is copied before its format is upgraded.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Backup {
    BeforeUpgrade,
    None,
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

    /// Opens the store of a directory like [`open`](Self::open), with or without a copy before an upgrade.
    pub(crate) fn open_with(
        dir: &Path,
        create: bool,
        read_only: bool,
        backup: Backup,
    ) -> Result<SqliteStore> {
        let access = if read_only {
            Access::Read
        } else if create {
            Access::Create
        } else {
            Access::Write
        };
        restore::check_complete(dir)?;
        SqliteStore::open_file(&dir.join(FILE), access, schema::MIGRATIONS, backup)
    }

    /// Returns an error if the file is not a valid store.
    pub(crate) fn check_file(path: &Path) -> Result<()> {
        let format = schema::format_of(path, schema::MIGRATIONS)?;
        SqliteStore::connect(path, Mode::Immutable)?.check_schema(format, schema::MIGRATIONS)
    }

    fn open_file(path: &Path, access: Access, steps: &[&str], backup: Backup) -> Result<SqliteStore> {
        // A dangling symbolic link is an error, not a place for a new store.
        if access == Access::Create && std::fs::symlink_metadata(path).is_err() {
            check_no_leftovers(path)?;
            create_file(path, steps)?;
        }
        wal::check(path)?;
        schema::format_of(path, steps)?;
        let mode = match access {
            Access::Create | Access::Write => Mode::Write,
            Access::Read if !wal::exists(path) && !is_writable(path.parent()) => Mode::Immutable,
            Access::Read => Mode::Read,
        };
        let mut store = SqliteStore::connect(path, mode)?;
        let format = store.format(steps)?;
        store.check_schema(format, steps)?;
        if (format as usize) < steps.len() {
            store.upgrade(format, steps, backup)?;
        }
        if mode == Mode::Write {
            match store.create_marker(steps.len() as u32) {
                // Deletes must work on a full disk, even if a loss of the log would go undetected.
                Ok(()) | Err(Error::Full) => {}
                Err(error) => return Err(error),
            }
        }
        Ok(store)
    }

    fn connect(path: &Path, mode: Mode) -> Result<SqliteStore> {
        let database_error = |error| database_error(path, error);
        let access = match mode {
            Mode::Write => OpenFlags::SQLITE_OPEN_READ_WRITE,
            Mode::Read => OpenFlags::SQLITE_OPEN_READ_ONLY,
            Mode::Immutable => OpenFlags::SQLITE_OPEN_READ_ONLY | OpenFlags::SQLITE_OPEN_URI,
        };
        let flags = access | OpenFlags::SQLITE_OPEN_NO_MUTEX;
        let connection = match mode {
            Mode::Immutable => Connection::open_with_flags(immutable_uri(path), flags),
            Mode::Write | Mode::Read => Connection::open_with_flags(path, flags),
        };
        let connection = connection.map_err(database_error)?;
        connection.busy_timeout(BUSY_TIMEOUT).map_err(database_error)?;
        connection.set_prepared_statement_cache_capacity(64);
        let settings = "PRAGMA trusted_schema = OFF; PRAGMA cell_size_check = ON; PRAGMA foreign_keys = OFF;";
        connection.execute_batch(settings).map_err(database_error)?;
        if mode == Mode::Write {
            prepare_for_writing(&connection, path)?;
        }
        let rows = RowCounter::default();
        Ok(SqliteStore { connection, path: path.to_owned(), mode, has_reserve: false, rows })
    }

    /// Returns the format number. After an upgrade that was killed, it can be in the write-ahead log while the header of the
    /// file still has the old one.
    fn format(&self, steps: &[&str]) -> Result<i64> {
        let found = self.connection.query_row("PRAGMA user_version", [], |row| row.get(0));
        let found = found.map_err(|error| self.database_error(error))?;
        let supported = steps.len() as i64;
        if found > supported {
            return Err(Error::Newer { path: self.path.clone(), found, supported });
        }
        Ok(found)
    }

    /// Returns an error if the schema is not that of the given format.
    fn check_schema(&self, format: i64, steps: &[&str]) -> Result<()> {
        let difference = schema::difference(&self.connection, &steps[..format as usize]);
        match difference.map_err(|error| self.database_error(error))? {
            Some(reason) => Err(Error::NotOurs { path: self.path.clone(), reason }),
            None => Ok(()),
        }
    }

    /// Upgrades the file to the newest format.
    fn upgrade(&mut self, format: i64, steps: &[&str], backup: Backup) -> Result<()> {
        if self.mode != Mode::Write {
            let reason = format!(
                "the store has format {format} and must be upgraded; open it once with a command that writes, such as `sameish index rebuild`"
            );
            return Err(Error::Database { path: self.path.clone(), reason });
        }
        if backup == Backup::BeforeUpgrade {
            self.back_up(format)?;
        }
        schema::migrate(&mut self.connection, steps).map_err(|error| database_error(&self.path, error))
    }

    /// Copies the file before an upgrade. An incomplete copy of an interrupted upgrade is replaced.
    fn back_up(&self, format: i64) -> Result<()> {
        let backup = self.path.with_extension(format!("format-{format}.db"));
        let unfinished = self.path.with_extension(format!("format-{format}.db.new"));
        if unfinished.exists() {
            std::fs::remove_file(&unfinished).map_err(|source| Error::io(&unfinished, source))?;
        }
        let copied = self.copy_to(&unfinished).and_then(|()| {
            std::fs::rename(&unfinished, &backup).map_err(|source| Error::io(&backup, source))?;
            sync_dir(self.path.parent().unwrap_or(Path::new(".")))
        });
        if copied.is_err() {
            _ = std::fs::remove_file(&unfinished);
        }
        copied.map_err(|error| match error {
            Error::Full => Error::NoSpaceForBackup { path: backup },
            error => error,
        })
    }

    /// Makes the write-ahead log durable and creates the marker that makes its loss detectable.
    fn create_marker(&self, format: u32) -> Result<()> {
        // Writing the current value again creates the log.
        let written = self.connection.pragma_update(None, "user_version", format);
        written.map_err(|error| self.database_error(error))?;
        wal::create_marker(&self.path)
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
            reserve::create(&self.path).map_err(|source| Error::io(&self.path, source))?;
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

/// Checks that the file is writable and configures the connection.
fn prepare_for_writing(connection: &Connection, path: &Path) -> Result<()> {
    let database_error = |error| database_error(path, error);
    // SQLite silently opens a file or log read-only if it cannot write to it. Detect this now rather than at the first
    // write.
    if connection.is_readonly("main").map_err(database_error)? {
        return Err(Error::ReadOnly { path: path.to_owned() });
    }
    connection.execute_batch("BEGIN IMMEDIATE; ROLLBACK").map_err(database_error)?;
    // The copy in a snapshot is not in WAL mode.
    let mode = connection.query_row("PRAGMA journal_mode = WAL", [], |row| row.get::<_, String>(0));
    if mode.map_err(database_error)? != "wal" {
        let reason =
            "cannot switch to write-ahead logging; close other programs that use the file".to_owned();
        return Err(Error::Database { path: path.to_owned(), reason });
    }
    let settings = "PRAGMA synchronous = FULL; PRAGMA secure_delete = ON; PRAGMA cache_size = -32768;
        PRAGMA journal_size_limit = 33554432;";
    connection.execute_batch(settings).map_err(database_error)?;
    set_checkpoint_pages(connection, CHECKPOINT_PAGES).map_err(database_error)
}

fn set_checkpoint_pages(connection: &Connection, pages: u32) -> rusqlite::Result<()> {
    connection.pragma_update(None, "wal_autocheckpoint", pages)
}

/// Returns an error if files of a lost store remain: SQLite would use its log for a new database.
fn check_no_leftovers(path: &Path) -> Result<()> {
    let leftovers = [wal::wal_path(path), wal::marker_path(path), path.with_extension("db.restoring")];
    match leftovers.into_iter().find(|leftover| leftover.exists()) {
        Some(left) => Err(Error::StoreLost { store: path.to_owned(), left }),
        None => Ok(()),
    }
}

/// Creates a database under a temporary name and renames it when it is complete.
fn create_file(path: &Path, steps: &[&str]) -> Result<()> {
    let unfinished = path.with_extension("db.new");
    for leftover in ["db.new", "db.new-wal", "db.new-shm"] {
        let leftover = path.with_extension(leftover);
        if leftover.exists() {
            std::fs::remove_file(&leftover).map_err(|source| Error::io(&leftover, source))?;
        }
    }
    let database_error = |error| database_error(&unfinished, error);
    private::write_file(&unfinished, &[]).map_err(|source| Error::io(&unfinished, source))?;
    let mut connection = Connection::open(&unfinished).map_err(database_error)?;
    let settings = "PRAGMA page_size = 8192; PRAGMA journal_mode = WAL;";
    connection.execute_batch(settings).map_err(database_error)?;
    connection.pragma_update(None, "application_id", schema::APPLICATION_ID).map_err(database_error)?;
    schema::migrate(&mut connection, steps).map_err(database_error)?;
    connection.close().map_err(|(_, error)| database_error(error))?;
    sync_file(&unfinished)?;
    std::fs::rename(&unfinished, path).map_err(|source| Error::io(path, source))?;
    sync_dir(path.parent().unwrap_or(Path::new(".")))
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

/// Tests whether files can be created in a directory. Permission bits do not show a read-only mount.
fn is_writable(dir: Option<&Path>) -> bool {
    let probe = probe_path(dir.unwrap_or(Path::new(".")));
    let created = std::fs::File::create(&probe).is_ok();
    if created {
        _ = std::fs::remove_file(&probe);
    }
    created
}

fn probe_path(dir: &Path) -> PathBuf {
    dir.join(format!(".sameish-probe-{}", std::process::id()))
}

/// Returns a `file:` URI that opens the file without locks. Special characters are percent-encoded.
fn immutable_uri(path: &Path) -> String {
    let encode = |&byte: &u8| match byte {
        b'a'..=b'z' | b'A'..=b'Z' | b'0'..=b'9' | b'/' | b'.' | b'-' | b'_' => char::from(byte).to_string(),
        _ => format!("%{byte:02X}"),
    };
    let encoded: String = path.as_os_str().as_encoded_bytes().iter().map(encode).collect();
    format!("file:{encoded}?immutable=1")
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

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;
    use crate::{Catalog, CollectionConfig, Health, OpenOptions};
    use sameish::{Document, Preset};

    const NEXT_STEP: &str = "ALTER TABLE documents ADD COLUMN note TEXT";

    impl SqliteStore {
        fn setting(&self, pragma: &str) -> rusqlite::types::Value {
            self.connection.pragma_query_value(None, pragma, |row| row.get(0)).unwrap()
        }
    }

    fn open(dir: &tempfile::TempDir, access: Access, steps: &[&str]) -> Result<SqliteStore> {
        SqliteStore::open_file(&dir.path().join(FILE), access, steps, Backup::BeforeUpgrade)
    }

    /// Returns a directory with a store of the current format.
    fn created() -> tempfile::TempDir {
        let dir = tempfile::tempdir().unwrap();
        drop(open(&dir, Access::Create, schema::MIGRATIONS).unwrap());
        dir
    }

    #[test]
    fn upgrades_an_older_format_after_a_backup() {
        let dir = created();
        let newer = [schema::MIGRATIONS, &[NEXT_STEP]].concat();
        let read_only = open(&dir, Access::Read, &newer);
        assert!(matches!(read_only, Err(Error::Database { .. })), "a read-only open cannot upgrade");
        drop(open(&dir, Access::Write, &newer).unwrap());
        assert!(SqliteStore::check_file(&dir.path().join("sameish.format-4.db")).is_ok());
        let older_version = SqliteStore::open(dir.path(), false, false);
        assert!(matches!(older_version, Err(Error::Newer { found: 5, supported: 4, .. })));
        drop(open(&dir, Access::Write, &newer).unwrap());
    }

    /// An upgrade that is killed between two steps leaves format 2, too.
    #[test]
    fn documents_of_format_2_are_readable_and_accept_metadata() {
        let stored = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../testdata/store-0.1.0/sameish.db");
        let dir = tempfile::tempdir().unwrap();
        std::fs::copy(stored, dir.path().join(FILE)).unwrap();
        drop(open(&dir, Access::Write, &schema::MIGRATIONS[..2]).unwrap());
        let catalog = Catalog::open(dir.path(), OpenOptions::default()).unwrap();
        assert!(SqliteStore::check_file(&dir.path().join("sameish.format-2.db")).is_ok());
        let articles = catalog.collection("articles").unwrap();
        let mut document = articles.get(&"copy-0".into()).unwrap().unwrap().document;
        assert_eq!(document.metadata, None);
        document.metadata = Some(r#"{"topic":"bridges"}"#.into());
        articles.replace(document.clone()).unwrap();
        assert_eq!(articles.get(&"copy-0".into()).unwrap().unwrap().document, document);
        assert_eq!(catalog.verify().unwrap(), []);
    }

    #[test]
    fn failed_upgrade_keeps_the_old_format() {
        let dir = created();
        let invalid = [schema::MIGRATIONS, &["CREATE TABLE half (a); SELECT nonsense"]].concat();
        assert!(open(&dir, Access::Write, &invalid).is_err());
        drop(SqliteStore::open(dir.path(), false, false).unwrap());
    }

    /// A directory in place of the probe file makes the directory look read-only, also to the superuser.
    #[test]
    fn reads_from_a_directory_that_is_not_writable() {
        let dir = created();
        let names = || {
            let entries = std::fs::read_dir(dir.path()).unwrap();
            entries.map(|entry| entry.unwrap().file_name()).collect::<std::collections::BTreeSet<_>>()
        };
        _ = std::fs::remove_file(wal::wal_path(&dir.path().join(FILE)));
        _ = std::fs::remove_file(dir.path().join("sameish.db-shm"));
        std::fs::create_dir(probe_path(dir.path())).unwrap();
        let before = names();
        let store = open(&dir, Access::Read, schema::MIGRATIONS).unwrap();
        assert_eq!(store.mode, Mode::Immutable);
        let reader = store.reader().unwrap();
        assert_eq!(reader.collections().unwrap(), []);
        assert_eq!(names(), before, "reading creates no files");
        drop((store, reader));

        std::fs::remove_dir(probe_path(dir.path())).unwrap();
        assert_eq!(open(&dir, Access::Read, schema::MIGRATIONS).unwrap().mode, Mode::Read);
    }

    #[test]
    fn writes_with_full_sync_and_overwrites_deleted_data() {
        let dir = created();
        let store = SqliteStore::open(dir.path(), false, false).unwrap();
        assert_eq!(store.setting("journal_mode"), "wal".to_owned().into());
        assert_eq!(store.setting("synchronous"), 2.into());
        assert_eq!(store.setting("secure_delete"), 1.into());
    }

    #[test]
    fn releasing_the_reserve_removes_its_file_and_stops_checkpoints() {
        let dir = created();
        let file = dir.path().join("sameish.room");
        let mut store = SqliteStore::open(dir.path(), false, false).unwrap();
        assert!(!store.release_space(), "nothing is reserved yet");
        for _ in 0..2 {
            store.reserve_space().unwrap();
            assert!(file.exists());
            assert_eq!(store.setting("wal_autocheckpoint"), i64::from(CHECKPOINT_PAGES).into());
            assert!(store.release_space());
            assert!(!file.exists());
            assert_eq!(store.setting("wal_autocheckpoint"), 0.into());
        }
    }

    #[test]
    fn percent_encodes_special_characters_in_the_uri() {
        let uri = immutable_uri(Path::new("/a b/c?d#e%f/ü.db"));
        assert_eq!(uri, "file:/a%20b/c%3Fd%23e%25f/%C3%BC.db?immutable=1");
    }

    /// A limit on the number of pages acts like a full disk.
    #[test]
    fn full_disk_rejects_inserts_until_deletes_free_space() {
        let dir = tempfile::tempdir().unwrap();
        let store = SqliteStore::open(dir.path(), true, false).unwrap();
        store.connection.query_row("PRAGMA max_page_count = 60", [], |_| Ok(())).unwrap();
        let catalog = Catalog::over(Box::new(store), dir.path(), OpenOptions::default()).unwrap();
        let articles = catalog.create("articles", CollectionConfig::new(Preset::Articles)).unwrap();
        let text = |i: u64| (0..300).map(|at| format!("word{at}of{i}")).collect::<Vec<_>>().join(" ");
        let mut stored = 0;
        let rejected = loop {
            match articles.insert(Document::new(stored, text(stored))) {
                Ok(_) => stored += 1,
                Err(error) => break error,
            }
        };
        assert!(matches!(rejected, Error::Full), "{rejected}");
        assert_eq!(catalog.health(), Health::Full);
        assert_eq!(articles.len() as u64, stored);
        assert!(articles.get(&0.into()).unwrap().is_some());
        for id in 0..5 {
            assert!(articles.delete(&id.into()).unwrap());
        }
        articles.insert(Document::new(1000, text(1000))).unwrap();
        assert_eq!(catalog.health(), Health::Ready);
        assert_eq!(catalog.verify().unwrap(), []);
    }
}
