//! The column or table that receives the sketches.

use super::records;
use super::source::SourceRow;
use super::{Backfill, Record, Target, Undone, Unrecorded};
use crate::error::Result;
use rusqlite::types::Value;
use rusqlite::{Transaction, params};
use sameish::Sketches;
use xxhash_rust::xxh3::Xxh3;

pub(super) const COLUMN: &str = "minhash_signature";
pub(super) const TABLE: &str = "article_fingerprints";
/// Columns of [`TABLE`] that are written. A table of another program may have more.
const TABLE_COLUMNS: [&str; 4] = ["content_id", "simhash", "minhash_signature", "computed_at"];

/// The sketches of one row. The values of other programs can have any type.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct TargetValue {
    pub(super) simhash: Value,
    pub(super) minhash: Value,
    pub(super) computed_at: Value,
}

impl TargetValue {
    fn new(sketches: &Sketches, target: Target) -> TargetValue {
        let blob = |bytes: Option<Vec<u8>>| bytes.map_or(Value::Null, Value::Blob);
        let simhash = sketches.simhash.filter(|_| target == Target::Table);
        TargetValue {
            simhash: blob(simhash.map(|fingerprint| fingerprint.to_bytes().to_vec())),
            minhash: blob(sketches.minhash.as_ref().map(|signature| signature.to_bytes())),
            computed_at: Value::Null,
        }
    }

    /// Returns `true` if there is neither a fingerprint nor a signature.
    pub(super) fn is_empty(&self) -> bool {
        self.simhash == Value::Null && self.minhash == Value::Null
    }

    /// Returns the checksum of the sketches, which is 0 if there are none.
    pub(super) fn checksum_of(value: Option<&TargetValue>) -> i64 {
        let Some(value) = value.filter(|value| !value.is_empty()) else { return 0 };
        let mut hasher = Xxh3::new();
        for part in [&value.simhash, &value.minhash] {
            let text = match part {
                Value::Blob(bytes) => {
                    hasher.update(&(bytes.len() as u64).to_le_bytes());
                    hasher.update(bytes);
                    continue;
                }
                Value::Null => "null".to_owned(),
                other => format!("{other:?}"),
            };
            hasher.update(text.as_bytes());
        }
        hasher.digest() as i64
    }
}

/// A row with its new sketches. There are none if the row has no text.
pub(super) struct Sketched {
    pub(super) row: SourceRow,
    pub(super) sketches: Option<Sketches>,
}

/// A change of one row of the target.
pub(super) enum Change {
    /// Nothing to write.
    None,
    /// Writes sketches and their record.
    Put(Box<Put>),
    /// Removes sketches that were written by an earlier run, because the row has no text any more.
    Remove { id: Value },
}

/// Sketches to write.
pub(super) struct Put {
    id: Value,
    pub(super) value: TargetValue,
    record: Record,
    /// The value of another program that is replaced.
    replaced: Option<TargetValue>,
    /// Whether the target has a row.
    exists: bool,
}

/// Where the values of the target are, for SQL.
pub(super) struct Values {
    /// Table, quoted.
    pub(super) table: String,
    /// Column of its ids, quoted.
    pub(super) id: String,
    /// Condition for rows with a value. The alias of the table is `t`.
    pub(super) has_value: String,
}

impl Backfill {
    /// Returns an error if the table exists and lacks a column.
    pub(super) fn check_target(&self) -> Result<()> {
        if self.target == Target::Column || !self.target_exists()? {
            return Ok(());
        }
        let columns = self.columns(TABLE)?;
        let is_missing = |column: &&str| !columns.iter().any(|name| name.eq_ignore_ascii_case(column));
        match TABLE_COLUMNS.iter().find(|column| is_missing(column)) {
            Some(column) => self.reject(format!(
                "table `{TABLE}` exists and has no column `{column}`; add the column, or rename the table"
            )),
            None => Ok(()),
        }
    }

    pub(super) fn target_exists(&self) -> Result<bool> {
        match self.target {
            Target::Column => {
                let columns = self.columns(self.source.table.as_deref().unwrap_or_default())?;
                Ok(columns.iter().any(|column| column.eq_ignore_ascii_case(COLUMN)))
            }
            Target::Table => Ok(!self.columns(TABLE)?.is_empty()),
        }
    }

    /// Returns the name of the target in the tables of records.
    pub(super) fn target_name(&self) -> String {
        match self.target {
            Target::Column => format!("{}.{COLUMN}", self.source.table.as_deref().unwrap_or_default()),
            Target::Table => TABLE.to_owned(),
        }
    }

    /// Returns the statement that adds the column or table.
    pub(super) fn create_sql(&self) -> Result<String> {
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

    /// Returns the statement that drops the column or table.
    pub(super) fn drop_sql(&self) -> String {
        match self.target {
            Target::Column => format!("ALTER TABLE {} DROP COLUMN {COLUMN};", self.table()),
            Target::Table => format!("DROP TABLE {TABLE};"),
        }
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

    pub(super) fn values(&self) -> Values {
        match self.target {
            Target::Column => {
                Values { table: self.table(), id: self.id(), has_value: format!("t.{COLUMN} IS NOT NULL") }
            }
            Target::Table => {
                Values { table: TABLE.to_owned(), id: "content_id".to_owned(), has_value: "true".to_owned() }
            }
        }
    }

    /// Returns the change that brings the target up to date with a row.
    pub(super) fn change(&self, sketched: &Sketched, scheme: &str) -> Change {
        let Sketched { row, sketches } = sketched;
        let is_ours = row.value.is_some() && !row.is_foreign();
        let Some(sketches) = sketches else {
            return if is_ours { Change::Remove { id: row.id.clone() } } else { Change::None };
        };
        let value = TargetValue::new(sketches, self.target);
        // A short text has no signature, so there is nothing to write to the column.
        if value.is_empty() && row.value.is_none() {
            return Change::None;
        }
        let is_of_other_program = row.is_foreign() && self.unrecorded == Unrecorded::OtherProgram;
        let replaced = row.value.clone().filter(|_| is_of_other_program);
        let has_replaced =
            replaced.is_some() || row.record.as_ref().is_some_and(|record| record.has_replaced);
        if value.is_empty() && !has_replaced {
            return Change::Remove { id: row.id.clone() };
        }
        let record = Record {
            scheme: scheme.to_owned(),
            text_checksum: row.text_checksum(),
            value_checksum: TargetValue::checksum_of(Some(&value)),
            has_replaced,
        };
        let exists = row.value.is_some();
        Change::Put(Box::new(Put { id: row.id.clone(), value, record, replaced, exists }))
    }

    /// Applies changes in one transaction.
    pub(super) fn write(&mut self, changes: &[Change]) -> Result<()> {
        let name = self.target_name();
        let statements = Statements::new(self);
        self.transaction(|transaction| {
            for change in changes {
                match change {
                    Change::None => {}
                    Change::Put(put) => {
                        statements.put(transaction, put)?;
                        records::put(transaction, &name, &put.id, &put.record, put.replaced.as_ref())?;
                    }
                    Change::Remove { id } => {
                        statements.remove(transaction, id)?;
                        records::remove(transaction, &name, id)?;
                    }
                }
            }
            Ok(())
        })
    }

    /// Undoes up to a batch of recorded values. Returns `false` if there are none.
    pub(super) fn undo_batch(&mut self, name: &str, undone: &mut Undone) -> Result<bool> {
        let statements = Statements::new(self);
        let batch = self.transaction(|transaction| {
            let mut batch = Undone::default();
            let recorded = records::next_recorded(transaction, name)?;
            for recorded in &recorded {
                let current = statements.value(transaction, &recorded.id)?;
                if TargetValue::checksum_of(current.as_ref()) != recorded.value_checksum {
                    batch.kept += 1;
                } else {
                    batch.removed += 1;
                    match &recorded.replaced {
                        Some(old) => statements.restore(transaction, &recorded.id, old)?,
                        None => statements.remove(transaction, &recorded.id)?,
                    }
                }
                records::remove(transaction, name, &recorded.id)?;
            }
            Ok(batch)
        })?;
        undone.removed += batch.removed;
        undone.kept += batch.kept;
        Ok(batch.removed + batch.kept > 0)
    }
}

/// The statements that read and write one row of the target. The first parameter is the id.
struct Statements {
    target: Target,
    value: String,
    update: String,
    restore: String,
    remove: String,
}

const NOW: &str = "strftime('%Y-%m-%dT%H:%M:%SZ', 'now')";

impl Statements {
    fn new(backfill: &Backfill) -> Statements {
        let table = backfill.table();
        let id = backfill.id();
        match backfill.target {
            Target::Column => {
                let update = format!("UPDATE {table} SET {COLUMN} = ?2 WHERE {id} = ?1");
                Statements {
                    target: Target::Column,
                    value: format!(
                        "SELECT NULL, {COLUMN}, NULL FROM {table} WHERE {id} = ?1 AND {COLUMN} IS NOT NULL"
                    ),
                    restore: update.clone(),
                    update,
                    remove: format!("UPDATE {table} SET {COLUMN} = NULL WHERE {id} = ?1"),
                }
            }
            Target::Table => Statements {
                target: Target::Table,
                value: format!("SELECT simhash, {COLUMN}, computed_at FROM {TABLE} WHERE content_id = ?1"),
                update: format!(
                    "UPDATE {TABLE} SET {COLUMN} = ?2, simhash = ?3, computed_at = {NOW} WHERE content_id = ?1"
                ),
                restore: format!(
                    "UPDATE {TABLE} SET {COLUMN} = ?2, simhash = ?3, computed_at = ?4 WHERE content_id = ?1"
                ),
                remove: format!("DELETE FROM {TABLE} WHERE content_id = ?1"),
            },
        }
    }

    fn value(&self, transaction: &Transaction<'_>, id: &Value) -> rusqlite::Result<Option<TargetValue>> {
        use rusqlite::OptionalExtension;
        let read = |row: &rusqlite::Row<'_>| {
            Ok(TargetValue { simhash: row.get(0)?, minhash: row.get(1)?, computed_at: row.get(2)? })
        };
        transaction.prepare_cached(&self.value)?.query_row([id], read).optional()
    }

    fn put(&self, transaction: &Transaction<'_>, put: &Put) -> rusqlite::Result<()> {
        let Put { id, value, exists, .. } = put;
        if self.target == Target::Column {
            transaction.prepare_cached(&self.update)?.execute(params![id, value.minhash])?;
            return Ok(());
        }
        let insert = format!(
            "INSERT INTO {TABLE} (content_id, {COLUMN}, simhash, computed_at) VALUES (?1, ?2, ?3, {NOW})"
        );
        let sql = if *exists { &self.update } else { &insert };
        transaction.prepare_cached(sql)?.execute(params![id, value.minhash, value.simhash])?;
        Ok(())
    }

    fn restore(&self, transaction: &Transaction<'_>, id: &Value, old: &TargetValue) -> rusqlite::Result<()> {
        let mut statement = transaction.prepare_cached(&self.restore)?;
        match self.target {
            Target::Column => statement.execute(params![id, old.minhash])?,
            Target::Table => statement.execute(params![id, old.minhash, old.simhash, old.computed_at])?,
        };
        Ok(())
    }

    fn remove(&self, transaction: &Transaction<'_>, id: &Value) -> rusqlite::Result<()> {
        transaction.prepare_cached(&self.remove)?.execute([id]).map(|_| ())
    }
}
