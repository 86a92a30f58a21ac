//! What is in the file, and how does an older one become that?
//!
//! The number of the format is the file's `user_version`; step n of [`MIGRATIONS`] makes format n of format n - 1. A newer
//! format is refused, and so is a file whose tables are not exactly those that the steps make.

use crate::error::{Error, Result};
use rusqlite::Connection;
use std::path::Path;

/// `SAME`, so that the file says whose it is.
pub(super) const APPLICATION_ID: i32 = 0x5341_4D45;

/// The steps, the oldest first.
pub(super) const MIGRATIONS: &[&str] = &[include_str!("../../migrations/001.sql")];

/// The number of the file's format and whether it is ours, from its head, before anything else looks at it.
pub(super) fn format_of(path: &Path, steps: &[&str]) -> Result<i64> {
    use std::io::Read;
    let not_ours = |reason: &str| Error::NotOurs { path: path.to_owned(), reason: reason.to_owned() };
    let io = |source| Error::io(path, source);
    let kind = std::fs::metadata(path).map_err(io)?;
    if !kind.is_file() {
        return Err(not_ours("it is not a file"));
    }
    let mut head = Vec::new();
    std::fs::File::open(path).map_err(io)?.take(100).read_to_end(&mut head).map_err(io)?;
    if head.is_empty() {
        return Err(not_ours("it is empty"));
    }
    if head.len() < 100 || !head.starts_with(b"SQLite format 3\0") {
        return Err(not_ours("it is no SQLite database"));
    }
    let word = |at: usize| i32::from_be_bytes([head[at], head[at + 1], head[at + 2], head[at + 3]]);
    if word(68) != APPLICATION_ID {
        return Err(not_ours("it is another program's database"));
    }
    let found = i64::from(word(60));
    let supported = steps.len() as i64;
    match found {
        1.. if found > supported => Err(Error::Newer { path: path.to_owned(), found, supported }),
        1.. => Ok(found),
        _ => Err(not_ours("it was never finished")),
    }
}

/// Takes the steps that are missing, each whole or not at all.
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

/// What differs between the tables that are there and those that the steps make.
pub(super) fn difference(connection: &Connection, steps: &[&str]) -> rusqlite::Result<Option<String>> {
    let mut plain = Connection::open_in_memory()?;
    migrate(&mut plain, steps)?;
    let objects = |connection: &Connection| -> rusqlite::Result<Vec<(String, String, Option<String>)>> {
        let mut statement = connection.prepare("SELECT type, name, sql FROM sqlite_schema ORDER BY name")?;
        let rows = statement.query_map([], |row| Ok((row.get(0)?, row.get(1)?, row.get(2)?)))?;
        rows.collect()
    };
    let (found, expected) = (objects(connection)?, objects(&plain)?);
    let foreign = found.iter().find(|object| !expected.contains(object));
    let missing = expected.iter().find(|object| !found.contains(object));
    let words =
        |(kind, name, _): &(String, String, Option<String>)| format!("{kind} `{}`", name.escape_debug());
    Ok(foreign
        .map(|object| format!("{} was not made by sameish", words(object)))
        .or_else(|| missing.map(|object| format!("{} is missing", words(object)))))
}
