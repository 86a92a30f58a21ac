//! Opening, creating and upgrading a SQLite file.

use super::{
    BUSY_TIMEOUT, CHECKPOINT_PAGES, FILE, Mode, RowCounter, SqliteStore, database_error, schema,
    set_checkpoint_pages, sync_dir, sync_file, wal,
};
use crate::error::{Error, Result};
use crate::private;
use crate::restore;
use crate::store::Read;
use rusqlite::config::DbConfig;
use rusqlite::{Connection, OpenFlags};
use std::path::{Path, PathBuf};

/// The access that a caller requests.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Access {
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

impl SqliteStore {
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

    pub(super) fn open_file(
        path: &Path,
        access: Access,
        steps: &[&str],
        backup: Backup,
    ) -> Result<SqliteStore> {
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

    pub(super) fn connect(path: &Path, mode: Mode) -> Result<SqliteStore> {
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
        // Otherwise SQLite plans some statements again whenever a parameter is bound, because its value could permit another
        // plan. That takes ten times as long as reading a row.
        connection.set_db_config(DbConfig::SQLITE_DBCONFIG_ENABLE_QPSG, true).map_err(database_error)?;
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

/// Tests whether files can be created in a directory. Permission bits do not show a read-only mount.
fn is_writable(dir: Option<&Path>) -> bool {
    let probe = probe_path(dir.unwrap_or(Path::new(".")));
    let created = std::fs::File::create(&probe).is_ok();
    if created {
        _ = std::fs::remove_file(&probe);
    }
    created
}

pub(super) fn probe_path(dir: &Path) -> PathBuf {
    dir.join(format!(".sameish-probe-{}", std::process::id()))
}

/// Returns a `file:` URI that opens the file without locks. Special characters are percent-encoded.
pub(super) fn immutable_uri(path: &Path) -> String {
    let encode = |&byte: &u8| match byte {
        b'a'..=b'z' | b'A'..=b'Z' | b'0'..=b'9' | b'/' | b'.' | b'-' | b'_' => char::from(byte).to_string(),
        _ => format!("%{byte:02X}"),
    };
    let encoded: String = path.as_os_str().as_encoded_bytes().iter().map(encode).collect();
    format!("file:{encoded}?immutable=1")
}
