//! Backfill: adds sketches to the user's own SQLite database.
//!
//! A [`Backfill`] writes signatures into a column `minhash_signature` of a table of short texts, or fingerprints and
//! signatures into a table `article_fingerprints`. It processes the rows in batches, one transaction each, so an interrupted
//! run can be continued by another one.
//!
//! A database must not contain sketches of several schemes: they would look comparable and are not. Two tables of our own
//! therefore record what was added and, for each value, its scheme and the checksums of the value and of its text. Values that
//! are not recorded, or have changed since, were written by another program: they are refused, or replaced on request. A row
//! whose text has changed is computed again. [`undo`](Backfill::undo) removes what was written and nothing else.
//!
//! ```text
//! source.rs   the rows to process
//! existing.rs the values that the target has before a run
//! target.rs   the column or table
//! records.rs  the tables of records
//! ```

mod existing;
mod records;
mod source;
mod target;

use crate::error::{Error, Result};
use crate::sqlite::database_error;
use rayon::prelude::*;
use records::{Record, TargetRecord, ValueRecords};
use rusqlite::types::Value;
use rusqlite::{Connection, OpenFlags, OptionalExtension};
use sameish::sketch::SchemeId;
use sameish::{Analyzer, Content, Scratch, Status};
use source::SourceRow;
use std::path::{Path, PathBuf};
use target::{Change, Sketched};

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

/// What happens to values that another program wrote, or that were computed with other settings.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Foreign {
    /// They are an error, and nothing is changed.
    Refuse,
    /// They are computed again.
    Replace,
}

/// The result of a run.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Backfilled {
    /// Number of rows whose sketches were written.
    pub computed: u64,
    /// Number of these rows whose text had changed since an earlier run.
    pub changed: u64,
    /// Number of these rows that had values of another program.
    pub replaced: u64,
    /// Number of texts that are too short for the preset. The table gets their fingerprints; the column gets nothing.
    pub too_short: u64,
    /// Number of rows without an id, a text or a signature, and of ids that the source table does not contain.
    pub skipped: u64,
    /// Number of rows that were ignored because another row of the query has the same id.
    pub repeated: u64,
    /// Number of rows whose sketches are up to date.
    pub before: u64,
    /// Whether the column or table was added by this run.
    pub added: bool,
}

/// The result of [`Backfill::undo`].
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Undone {
    /// Number of values that were removed, or replaced by the values that they had replaced.
    pub removed: u64,
    /// Number of values that another program has changed since. They are kept.
    pub kept: u64,
    /// Whether the column or table was dropped.
    pub dropped: bool,
}

/// Adds sketches to a SQLite database, or removes them.
pub struct Backfill {
    connection: Connection,
    path: PathBuf,
    source: TextSource,
    target: Target,
    /// Whether values without a record are values of version 0.1.0, which did not record them.
    unrecorded: Unrecorded,
}

/// Who wrote the values that have no record.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Unrecorded {
    /// Another program. [`Backfill::undo`] restores such values.
    OtherProgram,
    /// Version 0.1.0, into a column or table that it had added.
    Version0_1,
}

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
        source::define_has_text(&connection).map_err(database_error)?;
        let unrecorded = Unrecorded::OtherProgram;
        let backfill = Backfill { connection, path: path.to_owned(), source, target, unrecorded };
        backfill.check_source()?;
        backfill.check_target()?;
        Ok(backfill)
    }

    /// Adds the column or table if it is missing, and fills it. `progress` receives the number of rows processed so far
    /// and returns whether to continue.
    pub fn run(
        &mut self,
        analyzer: &Analyzer,
        foreign: Foreign,
        progress: &mut dyn FnMut(u64) -> bool,
    ) -> Result<Backfilled> {
        self.check_sketches(analyzer)?;
        let scheme = scheme_of(analyzer);
        let added = self.prepare(&scheme, foreign)?;
        let is_version_0_1 = self.unrecorded == Unrecorded::Version0_1;
        let mut result = Backfilled { added, ..Backfilled::default() };
        let mut last: Option<Value> = None;
        let mut processed = 0;
        while let Some(batch) = self.next_batch(last.as_ref())? {
            processed += batch.len() as u64;
            last = batch.last().map(|row| row.id.clone());
            self.process(analyzer, &scheme, batch, &mut result)?;
            if !progress(processed) {
                return Ok(result);
            }
        }
        let source = self.source_cte();
        result.skipped += self.count(&format!("{source} SELECT count(*) FROM source WHERE id IS NULL"))?;
        result.repeated =
            self.count(&format!("{source} SELECT count(id) - count(DISTINCT id) FROM source"))?;
        if is_version_0_1 {
            let record = TargetRecord { scheme, added: true, values: ValueRecords::All };
            let name = self.target_name();
            self.transaction(|transaction| records::record_target(transaction, &name, &record))?;
        }
        Ok(result)
    }

    /// Removes the values that earlier runs wrote, and the column or table if they added it and no other values remain.
    pub fn undo(&mut self) -> Result<Undone> {
        let name = self.target_name();
        let Some(record) = self.target_record(&name)? else { return Ok(Undone::default()) };
        let mut undone = Undone::default();
        let has_value_table = self.has_value_table()?;
        // Version 0.1.0 did not record values; it refused to undo unless it had added the target itself.
        if record.values == ValueRecords::Incomplete && record.added {
            undone.removed = self.count_values()?;
            undone.dropped = true;
        } else if record.values == ValueRecords::Incomplete && !self.has_recorded_values(&name)? {
            let reason = format!(
                "`{name}` existed before the first run, and version 0.1.0 did not record its values; run again with `--recompute` first"
            );
            return self.reject(reason);
        } else {
            while has_value_table && self.undo_batch(&name, &mut undone)? {}
            undone.dropped = record.added && self.count_values()? == 0;
        }
        let drop_target = if undone.dropped { self.drop_sql() } else { String::new() };
        self.transaction(|transaction| {
            transaction.execute_batch(&drop_target)?;
            records::forget_target(transaction, &name, has_value_table)
        })?;
        Ok(undone)
    }

    fn check_sketches(&self, analyzer: &Analyzer) -> Result<()> {
        if self.target == Target::Column && analyzer.config().minhash.is_none() {
            return self
                .reject("the configuration has no signatures; use preset `headlines` or `articles`, or `--into table`".into());
        }
        if self.target == Target::Table && analyzer.config().simhash.is_none() {
            let reason = "the configuration has no fingerprints; use preset `articles`, or `--into column`";
            return self.reject(reason.into());
        }
        Ok(())
    }

    /// Checks the existing values, adds the column or table if it is missing, and records it. Returns `true` if it was
    /// missing.
    fn prepare(&mut self, scheme: &str, foreign: Foreign) -> Result<bool> {
        let name = self.target_name();
        let record = self.target_record(&name)?;
        if foreign == Foreign::Refuse && record.as_ref().is_some_and(|record| record.scheme != scheme) {
            return self.reject(format!(
                "`{name}` was filled with other settings; use the same settings, run `--undo` first, or pass `--recompute`"
            ));
        }
        let is_missing = !self.target_exists()?;
        if !is_missing {
            self.check_values(&name, scheme, foreign)?;
        }
        let create = if is_missing { self.create_sql()? } else { String::new() };
        let create_records = self.records_sql()?;
        let is_version_0_1 = record
            .as_ref()
            .is_some_and(|record| record.added && record.values == ValueRecords::Incomplete && !is_missing);
        let record = TargetRecord {
            scheme: scheme.to_owned(),
            added: record.is_some_and(|record| record.added) || is_missing,
            values: if is_version_0_1 { ValueRecords::Incomplete } else { ValueRecords::All },
        };
        self.transaction(|transaction| {
            transaction.execute_batch(&create)?;
            transaction.execute_batch(&create_records)?;
            records::record_target(transaction, &name, &record)
        })?;
        self.unrecorded = if is_version_0_1 { Unrecorded::Version0_1 } else { Unrecorded::OtherProgram };
        Ok(is_missing)
    }

    /// Returns an error if the target would contain values of several schemes after the run.
    fn check_values(&self, name: &str, scheme: &str, foreign: Foreign) -> Result<()> {
        let found = self.existing_values(name, scheme)?;
        let existing::ExistingValues { foreign: count, without_text, unreachable, .. } = found;
        if foreign == Foreign::Refuse
            && let Some(first) = found.first_foreign
        {
            return self.reject(format!(
                "`{name}` has values that this command did not write, or that were changed since: {count}, the first for id \
                 {first}; pass `--recompute` to replace them"
            ));
        }
        if without_text > 0 {
            return self.reject(format!(
                "`{name}` has values that this command did not write and that have no text: {without_text}; remove them, \
                 because they cannot be recomputed"
            ));
        }
        if unreachable > 0 {
            return self.reject(format!(
                "`{name}` has values of other settings for ids that this source does not return: {unreachable}; use the \
                 source of the earlier run, or run `--undo` first"
            ));
        }
        Ok(())
    }

    /// Computes and writes the sketches of a batch, and adds to the counts of the result.
    fn process(
        &mut self,
        analyzer: &Analyzer,
        scheme: &str,
        batch: Vec<SourceRow>,
        result: &mut Backfilled,
    ) -> Result<()> {
        let (current, outdated): (Vec<_>, Vec<_>) = batch.into_iter().partition(|row| row.is_current(scheme));
        result.before += current.len() as u64;
        let sketch = |scratch: &mut Scratch, row: SourceRow| {
            let content = row.text.as_ref().filter(|_| row.has_target()).cloned().map(Content::Text);
            let sketches = content.map(|content| analyzer.sketch(&content, scratch));
            Sketched { row, sketches }
        };
        let sketched: Vec<Sketched> = outdated.into_par_iter().map_init(Scratch::default, sketch).collect();
        let changes: Vec<Change> = sketched.iter().map(|sketched| self.change(sketched, scheme)).collect();
        self.write(&changes)?;
        for (sketched, change) in sketched.iter().zip(&changes) {
            result.count(sketched, change);
        }
        Ok(())
    }

    fn database_error(&self, error: rusqlite::Error) -> Error {
        database_error(&self.path, error)
    }

    fn reject<T>(&self, reason: String) -> Result<T> {
        Err(Error::Database { path: self.path.clone(), reason })
    }

    /// Runs `change` in a transaction, and commits it if there is no error.
    fn transaction<T>(
        &mut self,
        change: impl FnOnce(&rusqlite::Transaction<'_>) -> rusqlite::Result<T>,
    ) -> Result<T> {
        let run = |connection: &mut Connection| {
            let transaction = connection.transaction()?;
            let result = change(&transaction)?;
            transaction.commit()?;
            Ok(result)
        };
        run(&mut self.connection).map_err(|error| database_error(&self.path, error))
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
}

impl Backfilled {
    fn count(&mut self, sketched: &Sketched, change: &Change) {
        let is_short = sketched.sketches.as_ref().is_some_and(|sketches| sketches.status == Status::TooShort);
        let is_computed = matches!(change, Change::Put(put) if !put.value.is_empty());
        self.too_short += u64::from(is_short);
        self.computed += u64::from(is_computed);
        self.skipped += u64::from(!is_computed);
        if is_computed {
            self.changed += u64::from(sketched.row.has_changed_text());
            self.replaced += u64::from(sketched.row.is_foreign());
        }
    }
}

/// Returns the schemes of the fingerprints and signatures of an analyzer, as they are recorded.
fn scheme_of(analyzer: &Analyzer) -> String {
    let schemes = analyzer.schemes();
    let id = |scheme: Option<SchemeId>| scheme.map_or(0, SchemeId::as_u64);
    format!("{:016x} {:016x}", id(schemes.simhash), id(schemes.minhash))
}

/// Quotes an identifier for SQL.
fn quoted(name: &str) -> String {
    format!("\"{}\"", name.replace('"', "\"\""))
}
