//! The database schema and its migrations.
//!
//! The format number is the `user_version` of the file. Step n of [`MIGRATIONS`] upgrades format n - 1 to format n. Files
//! with a newer format are rejected, and so are files whose tables and indexes differ from those that the steps create.

use crate::error::{Error, Result};
use rusqlite::Connection;
use std::path::Path;

/// Identifies the file as a database of sameish: `SAME` in ASCII.
pub(super) const APPLICATION_ID: i32 = 0x5341_4D45;

/// Migration steps, oldest first.
pub(super) const MIGRATIONS: &[&str] = &[
    include_str!("../../migrations/001.sql"),
    include_str!("../../migrations/002.sql"),
    include_str!("../../migrations/003.sql"),
    include_str!("../../migrations/004.sql"),
    include_str!("../../migrations/005.sql"),
    include_str!("../../migrations/006.sql"),
    include_str!("../../migrations/007.sql"),
    include_str!("../../migrations/008.sql"),
    include_str!("../../migrations/009.sql"),
];

/// Length of the header of a SQLite file.
const HEADER_BYTES: u64 = 100;

/// Reads the format number from the file header and checks that sameish created the file, before SQLite opens it.
pub(super) fn format_of(path: &Path, steps: &[&str]) -> Result<i64> {
    let not_ours = |reason: &str| Error::NotOurs { path: path.to_owned(), reason: reason.to_owned() };
    let io = |source| Error::io(path, source);
    if !std::fs::metadata(path).map_err(io)?.is_file() {
        return Err(not_ours("it is not a file"));
    }
    let header = read_header(path).map_err(io)?;
    if header.is_empty() {
        return Err(not_ours("the file is empty"));
    }
    if header.len() < HEADER_BYTES as usize || !header.starts_with(b"SQLite format 3\0") {
        return Err(not_ours("it is not a SQLite database"));
    }
    let field = |at: usize| i32::from_be_bytes([header[at], header[at + 1], header[at + 2], header[at + 3]]);
    if field(68) != APPLICATION_ID {
        return Err(not_ours("it is a database of another program"));
    }
    let found = i64::from(field(60));
    let supported = steps.len() as i64;
    if found < 1 {
        return Err(not_ours("its creation was not completed"));
    }
    if found > supported {
        return Err(Error::Newer { path: path.to_owned(), found, supported });
    }
    Ok(found)
}

fn read_header(path: &Path) -> std::io::Result<Vec<u8>> {
    use std::io::Read;
    let mut header = Vec::new();
    std::fs::File::open(path)?.take(HEADER_BYTES).read_to_end(&mut header)?;
    Ok(header)
}

/// Applies the missing migration steps, each in a transaction.
pub(super) fn migrate(connection: &mut Connection, steps: &[&str]) -> rusqlite::Result<()> {
    let version: i64 = connection.query_row("PRAGMA user_version", [], |row| row.get(0))?;
    for (number, step) in (1..).zip(steps).skip(version.max(0) as usize) {
        let transaction = connection.transaction()?;
        transaction.execute_batch(step)?;
        transaction.pragma_update(None, "user_version", number)?;
        transaction.commit()?;
    }
    Ok(())
}

/// An entry of `sqlite_schema`.
#[derive(PartialEq, Eq)]
struct SchemaObject {
    kind: String,
    name: String,
    sql: Option<String>,
}

impl std::fmt::Display for SchemaObject {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{} `{}`", self.kind, self.name.escape_debug())
    }
}

fn schema_objects(connection: &Connection) -> rusqlite::Result<Vec<SchemaObject>> {
    let mut statement = connection.prepare("SELECT type, name, sql FROM sqlite_schema ORDER BY name")?;
    let objects = statement
        .query_map([], |row| Ok(SchemaObject { kind: row.get(0)?, name: row.get(1)?, sql: row.get(2)? }))?;
    objects.collect()
}

/// Describes the first difference between the schema of the file and the schema that the steps create.
pub(super) fn difference(connection: &Connection, steps: &[&str]) -> rusqlite::Result<Option<String>> {
    let mut reference = Connection::open_in_memory()?;
    migrate(&mut reference, steps)?;
    let found = schema_objects(connection)?;
    let expected = schema_objects(&reference)?;
    if let Some(foreign) = found.iter().find(|object| !expected.contains(object)) {
        return Ok(Some(format!("{foreign} was not created by sameish")));
    }
    let missing = expected.iter().find(|object| !found.contains(object));
    Ok(missing.map(|object| format!("{object} is missing")))
}
