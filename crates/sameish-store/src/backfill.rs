//! How do sketches get into a database that is somebody else's?
//!
//! A [`Backfill`] adds sketches to the user's own SQLite file: into a column `minhash_signature` of a table of short texts
//! (seed 003), or into a table `article_fingerprints` beside one of articles (seed 001). It goes through the rows in
//! batches, each in one transaction, skips what is done and what has no text, and can be broken off and begun again. What
//! it added it notes in a table `sameish_backfill`, so that [`undo`](Backfill::undo) takes away that and nothing else.

use crate::error::{Error, Result};
use rayon::prelude::*;
use rusqlite::types::{Value, ValueRef};
use rusqlite::{Connection, OpenFlags, OptionalExtension, params};
use sameish::{Analyzer, Content, SchemeId, Scratch, Sketches, Status};
use std::path::{Path, PathBuf};

/// Where id and text come from.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TextSource {
    /// The table that the ids are of.
    pub table: Option<String>,
    /// Its column of ids.
    pub id: String,
    /// Its column of texts.
    pub text: String,
    /// A query that gives id and text instead, where the text is in another table.
    pub query: Option<String>,
}

/// Where sketches go.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Target {
    /// The column `minhash_signature` of the table itself.
    Column,
    /// The table `article_fingerprints`.
    Table,
}

/// What a run came to.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Backfilled {
    /// Rows that got their sketches now.
    pub computed: u64,
    /// Of these, texts too short for the preset: they get what it makes for them.
    pub too_short: u64,
    /// Rows without a text or an id, which are left alone.
    pub skipped: u64,
    /// Rows that had their sketches before.
    pub before: u64,
    /// Whether the column or the table had to be made.
    pub added: bool,
}

/// Sketches for a database.
pub struct Backfill {
    connection: Connection,
    path: PathBuf,
    source: TextSource,
    target: Target,
}

/// An id and a text of somebody else's.
type Row = (Value, Option<String>);

const COLUMN: &str = "minhash_signature";
const TABLE: &str = "article_fingerprints";
const NOTES: &str = "sameish_backfill";
/// Rows of one transaction.
const BATCH: usize = 512;

impl Backfill {
    /// Opens the database and looks whether the table and its columns are there. Changes nothing.
    pub fn open(path: &Path, source: TextSource, target: Target) -> Result<Backfill> {
        let io = |source| Error::io(path, source);
        if !std::fs::metadata(path).map_err(io)?.is_file() {
            return Err(Error::NotOurs { path: path.to_owned(), reason: "it is not a file".into() });
        }
        let flags = OpenFlags::SQLITE_OPEN_READ_WRITE | OpenFlags::SQLITE_OPEN_NO_MUTEX;
        let wrong = |error| crate::sqlite::wrong(path, error);
        let connection = Connection::open_with_flags(path, flags).map_err(wrong)?;
        connection.busy_timeout(std::time::Duration::from_secs(10)).map_err(wrong)?;
        // Whether their rows keep their own rules is not ours to judge.
        connection.execute_batch("PRAGMA foreign_keys = OFF").map_err(wrong)?;
        let backfill = Backfill { connection, path: path.to_owned(), source, target };
        backfill.check()?;
        Ok(backfill)
    }

    fn wrong(&self, error: rusqlite::Error) -> Error {
        crate::sqlite::wrong(&self.path, error)
    }

    fn refuse<T>(&self, reason: String) -> Result<T> {
        Err(Error::Database { path: self.path.clone(), reason })
    }

    fn check(&self) -> Result<()> {
        match (&self.source.table, &self.source.query, self.target) {
            (None, None, _) => return self.refuse("name a table, or give a query".into()),
            (None, _, Target::Column) => return self.refuse("a column needs the name of its table".into()),
            _ => {}
        }
        let Some(table) = &self.source.table else { return self.rows_are_readable() };
        let columns = self.columns(table)?;
        if columns.is_empty() {
            return self.refuse(format!("there is no table `{}`", table.escape_debug()));
        }
        let text = self.source.query.is_none().then_some(&self.source.text);
        for column in [Some(&self.source.id), text].into_iter().flatten() {
            if !columns.iter().any(|(name, _)| name.eq_ignore_ascii_case(column)) {
                let names: Vec<&str> = columns.iter().map(|(name, _)| name.as_str()).collect();
                let (column, names) = (column.escape_debug(), names.join(", "));
                return self.refuse(format!(
                    "table `{}` has no column `{column}`: it has {names}",
                    table.escape_debug()
                ));
            }
        }
        let (id, table) = (quoted(&self.source.id), quoted(table));
        let twice =
            format!("SELECT 1 FROM {table} WHERE {id} IS NOT NULL GROUP BY {id} HAVING count(*) > 1 LIMIT 1");
        match self
            .connection
            .query_row(&twice, [], |_| Ok(()))
            .optional()
            .map_err(|error| self.wrong(error))?
        {
            Some(()) => {
                self.refuse(format!("the ids in {id} repeat: choose a column in which each is there once"))
            }
            None => self.rows_are_readable(),
        }
    }

    fn rows_are_readable(&self) -> Result<()> {
        let sql = format!("{} SELECT id, text FROM source LIMIT 0", self.source_rows());
        self.connection.prepare(&sql).map(|_| ()).map_err(|error| self.wrong(error))
    }

    /// Names and types of a table's columns.
    fn columns(&self, table: &str) -> Result<Vec<(String, String)>> {
        let read = || {
            let mut statement = self.connection.prepare("SELECT name, type FROM pragma_table_info(?)")?;
            let rows = statement.query_map([table], |row| Ok((row.get(0)?, row.get(1)?)))?;
            rows.collect::<rusqlite::Result<Vec<(String, String)>>>()
        };
        read().map_err(|error| self.wrong(error))
    }

    /// Begins a statement that sees all rows as `source(id, text)`.
    fn source_rows(&self) -> String {
        match &self.source.query {
            Some(query) => format!("WITH source(id, text) AS ({query})"),
            None => {
                let table = quoted(self.source.table.as_deref().unwrap_or_default());
                let (id, text) = (quoted(&self.source.id), quoted(&self.source.text));
                format!("WITH source(id, text) AS (SELECT {id}, {text} FROM {table})")
            }
        }
    }

    /// A condition that holds for rows without sketches.
    fn to_do(&self) -> String {
        let table = quoted(self.source.table.as_deref().unwrap_or_default());
        let id = quoted(&self.source.id);
        match self.target {
            Target::Column => {
                format!("EXISTS (SELECT 1 FROM {table} AS t WHERE t.{id} = source.id AND t.{COLUMN} IS NULL)")
            }
            Target::Table => format!("NOT EXISTS (SELECT 1 FROM {TABLE} WHERE content_id = source.id)"),
        }
    }

    /// Makes what is missing and fills it. `progress` is told how many rows were looked at, and says whether to go on.
    pub fn run(&mut self, analyzer: &Analyzer, progress: &mut dyn FnMut(u64) -> bool) -> Result<Backfilled> {
        if self.target == Target::Column && analyzer.config().minhash.is_none() {
            return self.refuse("the settings make no signatures: choose others, or the table".into());
        }
        if self.target == Target::Table && analyzer.config().simhash.is_none() {
            return self.refuse("the settings make no fingerprints: choose `articles`, or the column".into());
        }
        let mut done = Backfilled { added: self.prepare(analyzer)?, ..Backfilled::default() };
        let source = self.source_rows();
        let rows = self.count(&format!("{source} SELECT count(*) FROM source"))?;
        let mut last: Option<Value> = None;
        let mut looked_at = 0;
        while let Some(batch) = self.next_batch(last.as_ref())? {
            looked_at += batch.len() as u64;
            last = batch.last().map(|(id, _)| id.clone());
            self.store(analyzer, batch, &mut done)?;
            if !progress(looked_at) {
                return Ok(done);
            }
        }
        done.skipped += self.count(&format!("{source} SELECT count(*) FROM source WHERE id IS NULL"))?;
        done.before = rows.saturating_sub(done.computed + done.skipped);
        Ok(done)
    }

    fn count(&self, sql: &str) -> Result<u64> {
        let count: rusqlite::Result<i64> = self.connection.query_row(sql, [], |row| row.get(0));
        count.map(|count| count as u64).map_err(|error| self.wrong(error))
    }

    /// The next rows that have no sketches, by id; nothing at the end.
    fn next_batch(&self, last: Option<&Value>) -> Result<Option<Vec<Row>>> {
        let after = if last.is_some() { "source.id > ?" } else { "? IS NULL AND source.id IS NOT NULL" };
        let (source, to_do) = (self.source_rows(), self.to_do());
        let sql = match (self.target, &self.source.query) {
            // By the index on ids, from the last one on.
            (Target::Column, None) => {
                let table = quoted(self.source.table.as_deref().unwrap_or_default());
                let (id, text) = (quoted(&self.source.id), quoted(&self.source.text));
                let after = after.replace("source.id", &id);
                format!(
                    "SELECT {id}, {text} FROM {table} WHERE {after} AND {COLUMN} IS NULL ORDER BY {id} LIMIT {BATCH}"
                )
            }
            _ => format!(
                "{source} SELECT id, text FROM source WHERE {after} AND {to_do} ORDER BY id LIMIT {BATCH}"
            ),
        };
        let read = || {
            let mut statement = self.connection.prepare_cached(&sql)?;
            let text = |value: ValueRef<'_>| match value {
                ValueRef::Text(bytes) | ValueRef::Blob(bytes) => {
                    Some(sameish::decode(bytes).text.into_owned())
                }
                ValueRef::Integer(number) => Some(number.to_string()),
                ValueRef::Real(number) => Some(number.to_string()),
                ValueRef::Null => None,
            };
            let rows =
                statement.query_map([last], |row| Ok((row.get::<_, Value>(0)?, text(row.get_ref(1)?))))?;
            rows.collect::<rusqlite::Result<Vec<_>>>()
        };
        let batch = read().map_err(|error| self.wrong(error))?;
        Ok(Some(batch).filter(|batch| !batch.is_empty()))
    }

    fn store(&mut self, analyzer: &Analyzer, batch: Vec<Row>, done: &mut Backfilled) -> Result<()> {
        let sketch = |scratch: &mut Scratch, (id, text): Row| {
            let content = Content::Text(text.filter(|text| !text.trim().is_empty())?);
            Some((id, analyzer.sketch(&content, scratch)))
        };
        let rows = batch.len() as u64;
        let sketched: Vec<(Value, Sketches)> =
            batch.into_par_iter().map_init(Scratch::default, sketch).flatten().collect();
        done.skipped += rows - sketched.len() as u64;
        let sql = match self.target {
            Target::Column => {
                let table = quoted(self.source.table.as_deref().unwrap_or_default());
                format!("UPDATE {table} SET {COLUMN} = ?2 WHERE {} = ?1", quoted(&self.source.id))
            }
            Target::Table => {
                let present = match (&self.source.table, &self.source.query) {
                    // A row that refers to nothing would break the rules of their database.
                    (Some(table), Some(_)) => {
                        let (table, id) = (quoted(table), quoted(&self.source.id));
                        format!("EXISTS (SELECT 1 FROM {table} WHERE {id} = ?1)")
                    }
                    _ => "true".to_owned(),
                };
                format!(
                    "INSERT OR REPLACE INTO {TABLE} \
                     SELECT ?1, ?3, ?2, strftime('%Y-%m-%dT%H:%M:%SZ', 'now') WHERE {present}"
                )
            }
        };
        let target = self.target;
        let mut written = vec![true; sketched.len()];
        let mut write = |connection: &mut Connection| -> rusqlite::Result<()> {
            let transaction = connection.transaction()?;
            {
                let mut statement = transaction.prepare_cached(&sql)?;
                for ((id, sketches), written) in sketched.iter().zip(&mut written) {
                    let minhash = sketches.minhash.as_ref().map(|signature| signature.to_bytes());
                    let simhash = sketches.simhash.map(|print| print.to_bytes());
                    let rows = match target {
                        Target::Column => statement.execute(params![id, minhash])?,
                        Target::Table => statement.execute(params![id, minhash, simhash])?,
                    };
                    *written = rows > 0;
                }
            }
            transaction.commit()
        };
        write(&mut self.connection).map_err(|error| crate::sqlite::wrong(&self.path, error))?;
        done.skipped += written.iter().filter(|written| !**written).count() as u64;
        let written = sketched.iter().zip(&written).filter(|(_, written)| **written);
        for ((_, sketches), _) in written {
            let short = sketches.status == Status::TooShort;
            done.too_short += u64::from(short);
            // A short headline has no signature: its row stays as it is.
            done.computed += u64::from(!short || target == Target::Table);
            done.skipped += u64::from(short && target == Target::Column);
        }
        Ok(())
    }

    /// Makes the column or the table if it is missing; tells whether it was. Sketches of other settings are refused.
    fn prepare(&mut self, analyzer: &Analyzer) -> Result<bool> {
        let schemes = analyzer.schemes();
        let id = |scheme: Option<SchemeId>| scheme.map_or(0, SchemeId::as_u64);
        let scheme = format!("{:016x} {:016x}", id(schemes.simhash), id(schemes.minhash));
        let name = self.name();
        if let Some((noted, _)) = self.note(&name)?
            && noted != scheme
        {
            let reason = format!("`{name}` was filled with other settings: use those, or undo it first");
            return self.refuse(reason);
        }
        let present = match self.target {
            Target::Column => {
                let table = self.source.table.as_deref().unwrap_or_default();
                self.columns(table)?.iter().any(|(column, _)| column.eq_ignore_ascii_case(COLUMN))
            }
            Target::Table => !self.columns(TABLE)?.is_empty(),
        };
        let make = match (present, self.target) {
            (true, _) => String::new(),
            (false, Target::Column) => {
                let table = quoted(self.source.table.as_deref().unwrap_or_default());
                format!("ALTER TABLE {table} ADD COLUMN {COLUMN} BLOB;")
            }
            (false, Target::Table) => self.table()?,
        };
        let change = |connection: &mut Connection| -> rusqlite::Result<()> {
            let transaction = connection.transaction()?;
            transaction.execute_batch(&make)?;
            transaction.execute_batch(&format!(
                "CREATE TABLE IF NOT EXISTS {NOTES} (target TEXT PRIMARY KEY, scheme TEXT NOT NULL, added INTEGER NOT NULL)"
            ))?;
            let sql = format!("INSERT OR IGNORE INTO {NOTES} VALUES (?, ?, ?)");
            transaction.execute(&sql, params![name, scheme, !present])?;
            transaction.commit()
        };
        change(&mut self.connection).map_err(|error| crate::sqlite::wrong(&self.path, error))?;
        Ok(!present)
    }

    /// As seed 001 lays it out. Ids that are no integers need a column that takes them.
    fn table(&self) -> Result<String> {
        let sql = format!(
            "{} SELECT 1 FROM source WHERE id IS NOT NULL AND typeof(id) <> 'integer' LIMIT 1",
            self.source_rows()
        );
        let other = self.connection.query_row(&sql, [], |_| Ok(())).optional();
        let kind = match other.map_err(|error| self.wrong(error))? {
            None => "INTEGER PRIMARY KEY",
            Some(()) => "PRIMARY KEY NOT NULL",
        };
        let references = match &self.source.table {
            // Only to what is a key: a reference to anything else makes every insert fail.
            Some(table) if self.is_key(table)? => {
                format!(" REFERENCES {} ({})", quoted(table), quoted(&self.source.id))
            }
            _ => String::new(),
        };
        Ok(format!(
            "CREATE TABLE {TABLE} (content_id {kind}{references}, simhash BLOB NOT NULL, minhash_signature BLOB, \
             computed_at TEXT);"
        ))
    }

    /// Whether the column of ids is the primary key of a table, or has a unique index of its own.
    fn is_key(&self, table: &str) -> Result<bool> {
        let primary =
            "SELECT count(*) = 1 AND max(name) = ?2 COLLATE NOCASE FROM pragma_table_info(?1) WHERE pk > 0";
        let unique = "SELECT EXISTS (SELECT 1 FROM pragma_index_list(?1) AS i WHERE i.\"unique\" AND NOT i.partial AND \
            (SELECT count(*) = 1 AND max(name) = ?2 COLLATE NOCASE FROM pragma_index_info(i.name)))";
        let ask = |sql: &str| {
            let found: rusqlite::Result<Option<bool>> =
                self.connection.query_row(sql, params![table, self.source.id], |row| row.get(0));
            found.map(|found| found.unwrap_or(false)).map_err(|error| self.wrong(error))
        };
        Ok(ask(primary)? || ask(unique)?)
    }

    /// Takes away what runs before added, and tells whether there was anything.
    pub fn undo(&mut self) -> Result<bool> {
        let name = self.name();
        let Some((_, added)) = self.note(&name)? else { return Ok(false) };
        if !added {
            let reason = format!("`{name}` was there before the first run: nothing was taken away");
            return self.refuse(reason);
        }
        let drop = match self.target {
            Target::Column => {
                let table = quoted(self.source.table.as_deref().unwrap_or_default());
                format!("ALTER TABLE {table} DROP COLUMN {COLUMN}")
            }
            Target::Table => format!("DROP TABLE {TABLE}"),
        };
        let change = |connection: &mut Connection| -> rusqlite::Result<()> {
            let transaction = connection.transaction()?;
            transaction.execute_batch(&drop)?;
            transaction.execute(&format!("DELETE FROM {NOTES} WHERE target = ?"), [&name])?;
            let left: i64 =
                transaction.query_row(&format!("SELECT count(*) FROM {NOTES}"), [], |row| row.get(0))?;
            if left == 0 {
                transaction.execute_batch(&format!("DROP TABLE {NOTES}"))?;
            }
            transaction.commit()
        };
        change(&mut self.connection).map_err(|error| crate::sqlite::wrong(&self.path, error))?;
        Ok(true)
    }

    /// What the notes call the place that is filled.
    fn name(&self) -> String {
        match self.target {
            Target::Column => format!("{}.{COLUMN}", self.source.table.as_deref().unwrap_or_default()),
            Target::Table => TABLE.to_owned(),
        }
    }

    /// The scheme that a place was filled with, and whether we made it.
    fn note(&self, name: &str) -> Result<Option<(String, bool)>> {
        if self.columns(NOTES)?.is_empty() {
            return Ok(None);
        }
        let sql = format!("SELECT scheme, added FROM {NOTES} WHERE target = ?");
        let found = self.connection.query_row(&sql, [name], |row| Ok((row.get(0)?, row.get(1)?)));
        found.optional().map_err(|error| self.wrong(error))
    }
}

/// A name as SQL writes it.
fn quoted(name: &str) -> String {
    format!("\"{}\"", name.replace('"', "\"\""))
}
