//! Backfill: adds sketches to the user's own SQLite database.
//!
//! A [`Backfill`] writes signatures into a column `minhash_signature` of a table of short texts, or fingerprints and
//! signatures into a table `article_fingerprints`. It processes the rows in batches, one transaction each, and skips rows
//! without a text and rows that already have sketches. An interrupted run can therefore be continued by another one. A table
//! `sameish_backfill` records what was added, so that [`undo`](Backfill::undo) removes that and nothing else.

use crate::error::{Error, Result};
use crate::sqlite::database_error;
use rayon::prelude::*;
use rusqlite::types::{Value, ValueRef};
use rusqlite::{Connection, OpenFlags, OptionalExtension, params};
use sameish::sketch::SchemeId;
use sameish::{Analyzer, Content, Scratch, Sketches, Status};
use std::path::{Path, PathBuf};

/// The rows to process: where their ids and texts come from.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TextSource {
    /// Table of the ids.
    pub table: Option<String>,
    /// Column of the ids.
    pub id: String,
    /// Column of the texts.
    pub text: String,
    /// Query that returns ids and texts, for texts in another table. It replaces `text`.
    pub query: Option<String>,
}

/// Where the sketches are written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Target {
    /// Column `minhash_signature` of the source table.
    Column,
    /// Table `article_fingerprints`.
    Table,
}

/// The result of a run.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Backfilled {
    /// Number of rows whose sketches were written.
    pub computed: u64,
    /// Number of texts that are too short for the preset. The table gets their fingerprints; the column gets nothing.
    pub too_short: u64,
    /// Number of rows without an id, a text or a signature, and of ids that the source table does not contain.
    pub skipped: u64,
    /// Number of rows that already had sketches.
    pub before: u64,
    /// Whether the column or table was added by this run.
    pub added: bool,
}

/// Adds sketches to a SQLite database, or removes them.
pub struct Backfill {
    connection: Connection,
    path: PathBuf,
    source: TextSource,
    target: Target,
}

/// A row of the source.
struct SourceRow {
    id: Value,
    text: Option<String>,
}

/// The record about a target in [`RECORDS`].
struct Record {
    scheme: String,
    /// Whether a run of backfill added the column or table.
    added: bool,
}

const COLUMN: &str = "minhash_signature";
const TABLE: &str = "article_fingerprints";
/// Table that records which columns and tables were added.
const RECORDS: &str = "sameish_backfill";
/// Number of rows per transaction.
const BATCH: usize = 512;

impl Backfill {
    /// Opens the database and checks that the table and its columns exist. Changes nothing.
    pub fn open(path: &Path, source: TextSource, target: Target) -> Result<Backfill> {
        let io = |source| Error::io(path, source);
        if !std::fs::metadata(path).map_err(io)?.is_file() {
            let reason = "it is not a file; expected a SQLite database".to_owned();
            return Err(Error::Database { path: path.to_owned(), reason });
        }
        let flags = OpenFlags::SQLITE_OPEN_READ_WRITE | OpenFlags::SQLITE_OPEN_NO_MUTEX;
        let database_error = |error| database_error(path, error);
        let connection = Connection::open_with_flags(path, flags).map_err(database_error)?;
        connection.busy_timeout(std::time::Duration::from_secs(10)).map_err(database_error)?;
        // Foreign keys that existing rows violate must not make the backfill fail.
        connection.execute_batch("PRAGMA foreign_keys = OFF").map_err(database_error)?;
        let backfill = Backfill { connection, path: path.to_owned(), source, target };
        backfill.check_source()?;
        Ok(backfill)
    }

    /// Adds the column or table if it is missing, and fills it. `progress` receives the number of rows processed so far
    /// and returns whether to continue.
    pub fn run(&mut self, analyzer: &Analyzer, progress: &mut dyn FnMut(u64) -> bool) -> Result<Backfilled> {
        if self.target == Target::Column && analyzer.config().minhash.is_none() {
            return self
                .reject("the configuration has no signatures; use preset `headlines` or `articles`, or `--into table`".into());
        }
        if self.target == Target::Table && analyzer.config().simhash.is_none() {
            let reason = "the configuration has no fingerprints; use preset `articles`, or `--into column`";
            return self.reject(reason.into());
        }
        let mut result = Backfilled { added: self.prepare_target(analyzer)?, ..Backfilled::default() };
        let source = self.source_cte();
        let rows = self.count(&format!("{source} SELECT count(*) FROM source"))?;
        let mut last: Option<Value> = None;
        let mut processed = 0;
        while let Some(batch) = self.next_batch(last.as_ref())? {
            processed += batch.len() as u64;
            last = batch.last().map(|row| row.id.clone());
            self.process(analyzer, batch, &mut result)?;
            if !progress(processed) {
                return Ok(result);
            }
        }
        result.skipped += self.count(&format!("{source} SELECT count(*) FROM source WHERE id IS NULL"))?;
        result.before = rows.saturating_sub(result.computed + result.skipped);
        Ok(result)
    }

    /// Removes the column or table that earlier runs added. Returns `true` if there was one.
    pub fn undo(&mut self) -> Result<bool> {
        let name = self.target_name();
        let Some(record) = self.record(&name)? else { return Ok(false) };
        if !record.added {
            let reason = format!("`{name}` existed before the first run, so nothing was removed");
            return self.reject(reason);
        }
        let drop = match self.target {
            Target::Column => format!("ALTER TABLE {} DROP COLUMN {COLUMN}", self.table()),
            Target::Table => format!("DROP TABLE {TABLE}"),
        };
        self.transaction(|transaction| {
            transaction.execute_batch(&drop)?;
            transaction.execute(&format!("DELETE FROM {RECORDS} WHERE target = ?"), [&name])?;
            let sql = format!("SELECT count(*) FROM {RECORDS}");
            let records: i64 = transaction.query_row(&sql, [], |row| row.get(0))?;
            if records == 0 {
                transaction.execute_batch(&format!("DROP TABLE {RECORDS}"))?;
            }
            Ok(())
        })?;
        Ok(true)
    }

    fn database_error(&self, error: rusqlite::Error) -> Error {
        database_error(&self.path, error)
    }

    fn reject<T>(&self, reason: String) -> Result<T> {
        Err(Error::Database { path: self.path.clone(), reason })
    }

    /// Runs `change` in a transaction, and commits it if there is no error.
    fn transaction(
        &mut self,
        change: impl FnOnce(&rusqlite::Transaction<'_>) -> rusqlite::Result<()>,
    ) -> Result<()> {
        let run = |connection: &mut Connection| {
            let transaction = connection.transaction()?;
            change(&transaction)?;
            transaction.commit()
        };
        run(&mut self.connection).map_err(|error| database_error(&self.path, error))
    }

    /// Returns the source table, quoted.
    fn table(&self) -> String {
        quoted(self.source.table.as_deref().unwrap_or_default())
    }

    /// Returns the column of ids, quoted.
    fn id(&self) -> String {
        quoted(&self.source.id)
    }

    fn check_source(&self) -> Result<()> {
        match (&self.source.table, &self.source.query, self.target) {
            (None, None, _) => return self.reject("no source; pass `--table` or `--query`".into()),
            (None, _, Target::Column) => {
                return self.reject("the column has no table; pass `--table`".into());
            }
            _ => {}
        }
        if let Some(table) = &self.source.table {
            self.check_columns(table)?;
            self.check_ids_are_unique()?;
        }
        let sql = format!("{} SELECT id, text FROM source LIMIT 0", self.source_cte());
        self.connection.prepare(&sql).map(|_| ()).map_err(|error| self.database_error(error))
    }

    fn check_columns(&self, table: &str) -> Result<()> {
        let columns = self.columns(table)?;
        if columns.is_empty() {
            return self.reject(format!("table `{}` does not exist; check `--table`", table.escape_debug()));
        }
        let text = self.source.query.is_none().then_some(&self.source.text);
        for column in [Some(&self.source.id), text].into_iter().flatten() {
            if !columns.iter().any(|name| name.eq_ignore_ascii_case(column)) {
                let table = table.escape_debug();
                let column = column.escape_debug();
                let columns = columns.join(", ");
                return self.reject(format!("table `{table}` has no column `{column}`; it has {columns}"));
            }
        }
        Ok(())
    }

    fn check_ids_are_unique(&self) -> Result<()> {
        let table = self.table();
        let id = self.id();
        let sql =
            format!("SELECT 1 FROM {table} WHERE {id} IS NOT NULL GROUP BY {id} HAVING count(*) > 1 LIMIT 1");
        if self.has_rows(&sql)? {
            return self.reject(format!("column {id} has duplicate ids; choose a column with unique values"));
        }
        Ok(())
    }

    fn has_rows(&self, sql: &str) -> Result<bool> {
        let row = self.connection.query_row(sql, [], |_| Ok(())).optional();
        Ok(row.map_err(|error| self.database_error(error))?.is_some())
    }

    fn count(&self, sql: &str) -> Result<u64> {
        let count: rusqlite::Result<i64> = self.connection.query_row(sql, [], |row| row.get(0));
        count.map(|count| count as u64).map_err(|error| self.database_error(error))
    }

    /// Returns the names of the columns of a table. They are empty if there is no such table.
    fn columns(&self, table: &str) -> Result<Vec<String>> {
        let read = || {
            let mut statement = self.connection.prepare("SELECT name FROM pragma_table_info(?)")?;
            statement.query_map([table], |row| row.get(0))?.collect::<rusqlite::Result<_>>()
        };
        read().map_err(|error| self.database_error(error))
    }

    /// Returns a common table expression that defines the rows as `source(id, text)`.
    fn source_cte(&self) -> String {
        let select = match &self.source.query {
            Some(query) => query.clone(),
            None => format!("SELECT {}, {} FROM {}", self.id(), quoted(&self.source.text), self.table()),
        };
        format!("WITH source(id, text) AS ({select})")
    }

    /// Reads the next rows that have no sketches, ordered by id. Returns `None` at the end.
    fn next_batch(&self, last: Option<&Value>) -> Result<Option<Vec<SourceRow>>> {
        let sql = self.batch_sql(last.is_some());
        let read = || {
            let mut statement = self.connection.prepare_cached(&sql)?;
            let rows = statement
                .query_map([last], |row| Ok(SourceRow { id: row.get(0)?, text: text_of(row.get_ref(1)?) }))?;
            rows.collect::<rusqlite::Result<Vec<_>>>()
        };
        let batch = read().map_err(|error| self.database_error(error))?;
        Ok(Some(batch).filter(|batch| !batch.is_empty()))
    }

    /// Returns the query of [`next_batch`](Self::next_batch). Its parameter is the last id of the previous batch.
    fn batch_sql(&self, continues: bool) -> String {
        let table = self.table();
        let id = self.id();
        let after = |id: &str| {
            if continues { format!("{id} > ?") } else { format!("? IS NULL AND {id} IS NOT NULL") }
        };
        if self.target == Target::Column && self.source.query.is_none() {
            // Reading the table itself uses an index on the ids.
            let text = quoted(&self.source.text);
            let after = after(&id);
            return format!(
                "SELECT {id}, {text} FROM {table} WHERE {after} AND {COLUMN} IS NULL ORDER BY {id} LIMIT {BATCH}"
            );
        }
        let has_no_sketch = match self.target {
            Target::Column => {
                format!("EXISTS (SELECT 1 FROM {table} AS t WHERE t.{id} = source.id AND t.{COLUMN} IS NULL)")
            }
            Target::Table => format!("NOT EXISTS (SELECT 1 FROM {TABLE} WHERE content_id = source.id)"),
        };
        let source = self.source_cte();
        let after = after("source.id");
        format!(
            "{source} SELECT id, text FROM source WHERE {after} AND {has_no_sketch} ORDER BY id LIMIT {BATCH}"
        )
    }

    /// Computes and writes the sketches of a batch, and adds to the counts of the result.
    fn process(&mut self, analyzer: &Analyzer, batch: Vec<SourceRow>, result: &mut Backfilled) -> Result<()> {
        let sketch = |scratch: &mut Scratch, row: SourceRow| {
            let content = Content::Text(row.text.filter(|text| !text.trim().is_empty())?);
            Some((row.id, analyzer.sketch(&content, scratch)))
        };
        let rows = batch.len() as u64;
        let sketched: Vec<(Value, Sketches)> =
            batch.into_par_iter().map_init(Scratch::default, sketch).flatten().collect();
        result.skipped += rows - sketched.len() as u64;
        let written = self.write(&sketched)?;
        for ((_, sketches), is_written) in sketched.iter().zip(written) {
            let is_short = sketches.status == Status::TooShort;
            result.too_short += u64::from(is_written && is_short);
            // A short text has no signature, so its column stays NULL.
            let is_computed = is_written && !(is_short && self.target == Target::Column);
            result.computed += u64::from(is_computed);
            result.skipped += u64::from(!is_computed);
        }
        Ok(())
    }

    /// Writes sketches in one transaction. Returns for each whether its row was written.
    fn write(&mut self, sketched: &[(Value, Sketches)]) -> Result<Vec<bool>> {
        let sql = self.write_sql();
        let target = self.target;
        let mut written = Vec::with_capacity(sketched.len());
        self.transaction(|transaction| {
            let mut statement = transaction.prepare_cached(&sql)?;
            for (id, sketches) in sketched {
                let minhash = sketches.minhash.as_ref().map(|signature| signature.to_bytes());
                let simhash = sketches.simhash.map(|fingerprint| fingerprint.to_bytes());
                let rows = match target {
                    Target::Column => statement.execute(params![id, minhash])?,
                    Target::Table => statement.execute(params![id, minhash, simhash])?,
                };
                written.push(rows > 0);
            }
            Ok(())
        })?;
        Ok(written)
    }

    /// Returns the statement that writes one row. Its parameters are id, signature and, for the table, fingerprint.
    fn write_sql(&self) -> String {
        let table = self.table();
        let id = self.id();
        if self.target == Target::Column {
            return format!("UPDATE {table} SET {COLUMN} = ?2 WHERE {id} = ?1");
        }
        // A query can return ids that the source table does not contain. Writing them would violate the foreign key.
        let id_exists = if self.source.table.is_some() && self.source.query.is_some() {
            format!("EXISTS (SELECT 1 FROM {table} WHERE {id} = ?1)")
        } else {
            "true".to_owned()
        };
        format!(
            "INSERT OR REPLACE INTO {TABLE} \
             SELECT ?1, ?3, ?2, strftime('%Y-%m-%dT%H:%M:%SZ', 'now') WHERE {id_exists}"
        )
    }

    /// Adds the column or table if it is missing, and records it. Returns `true` if it was missing. Returns an error if the
    /// target was filled with other settings.
    fn prepare_target(&mut self, analyzer: &Analyzer) -> Result<bool> {
        let schemes = analyzer.schemes();
        let id = |scheme: Option<SchemeId>| scheme.map_or(0, SchemeId::as_u64);
        let scheme = format!("{:016x} {:016x}", id(schemes.simhash), id(schemes.minhash));
        let name = self.target_name();
        if self.record(&name)?.is_some_and(|record| record.scheme != scheme) {
            let reason = format!(
                "`{name}` was filled with other settings; use the same settings, or run `--undo` first"
            );
            return self.reject(reason);
        }
        let is_missing = !self.target_exists()?;
        let create = if is_missing { self.create_sql()? } else { String::new() };
        self.transaction(|transaction| {
            transaction.execute_batch(&create)?;
            transaction.execute_batch(&format!(
                "CREATE TABLE IF NOT EXISTS {RECORDS} (target TEXT PRIMARY KEY, scheme TEXT NOT NULL, added INTEGER NOT NULL)"
            ))?;
            let sql = format!("INSERT OR IGNORE INTO {RECORDS} VALUES (?, ?, ?)");
            transaction.execute(&sql, params![name, scheme, is_missing])?;
            Ok(())
        })?;
        Ok(is_missing)
    }

    fn target_exists(&self) -> Result<bool> {
        match self.target {
            Target::Column => {
                let columns = self.columns(self.source.table.as_deref().unwrap_or_default())?;
                Ok(columns.iter().any(|column| column.eq_ignore_ascii_case(COLUMN)))
            }
            Target::Table => Ok(!self.columns(TABLE)?.is_empty()),
        }
    }

    /// Returns the statement that adds the column or table.
    fn create_sql(&self) -> Result<String> {
        if self.target == Target::Column {
            return Ok(format!("ALTER TABLE {} ADD COLUMN {COLUMN} BLOB;", self.table()));
        }
        let source = self.source_cte();
        let sql =
            format!("{source} SELECT 1 FROM source WHERE id IS NOT NULL AND typeof(id) <> 'integer' LIMIT 1");
        // Other ids than integers need a column without a type.
        let kind = if self.has_rows(&sql)? { "PRIMARY KEY NOT NULL" } else { "INTEGER PRIMARY KEY" };
        let references = match &self.source.table {
            // With a reference to a column that is not a key, every insert would fail.
            Some(table) if self.is_key(table)? => format!(" REFERENCES {} ({})", self.table(), self.id()),
            _ => String::new(),
        };
        Ok(format!(
            "CREATE TABLE {TABLE} (content_id {kind}{references}, simhash BLOB NOT NULL, minhash_signature BLOB, \
             computed_at TEXT);"
        ))
    }

    /// Returns `true` if the column of ids is the primary key of the table or has a unique index of its own.
    fn is_key(&self, table: &str) -> Result<bool> {
        let primary =
            "SELECT count(*) = 1 AND max(name) = ?2 COLLATE NOCASE FROM pragma_table_info(?1) WHERE pk > 0";
        let unique = "SELECT EXISTS (SELECT 1 FROM pragma_index_list(?1) AS i WHERE i.\"unique\" AND NOT i.partial AND \
            (SELECT count(*) = 1 AND max(name) = ?2 COLLATE NOCASE FROM pragma_index_info(i.name)))";
        let holds = |sql: &str| {
            let value: rusqlite::Result<Option<bool>> =
                self.connection.query_row(sql, params![table, self.source.id], |row| row.get(0));
            value.map(|value| value.unwrap_or(false)).map_err(|error| self.database_error(error))
        };
        Ok(holds(primary)? || holds(unique)?)
    }

    /// Returns the name of the target in the table of records.
    fn target_name(&self) -> String {
        match self.target {
            Target::Column => format!("{}.{COLUMN}", self.source.table.as_deref().unwrap_or_default()),
            Target::Table => TABLE.to_owned(),
        }
    }

    fn record(&self, name: &str) -> Result<Option<Record>> {
        if self.columns(RECORDS)?.is_empty() {
            return Ok(None);
        }
        let sql = format!("SELECT scheme, added FROM {RECORDS} WHERE target = ?");
        let record = self
            .connection
            .query_row(&sql, [name], |row| Ok(Record { scheme: row.get(0)?, added: row.get(1)? }));
        record.optional().map_err(|error| self.database_error(error))
    }
}

/// Converts a value to a text. Invalid UTF-8 sequences are replaced.
fn text_of(value: ValueRef<'_>) -> Option<String> {
    match value {
        ValueRef::Text(bytes) | ValueRef::Blob(bytes) => Some(sameish::text::decode(bytes).text.into_owned()),
        ValueRef::Integer(number) => Some(number.to_string()),
        ValueRef::Real(number) => Some(number.to_string()),
        ValueRef::Null => None,
    }
}

/// Quotes an identifier for SQL.
fn quoted(name: &str) -> String {
    format!("\"{}\"", name.replace('"', "\"\""))
}
