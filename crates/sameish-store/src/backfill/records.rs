//! Records of what was written: which columns and tables were added, and which values.

use super::target::TargetValue;
use super::{BATCH, Backfill};
use crate::error::Result;
use rusqlite::types::Value;
use rusqlite::{OptionalExtension, Transaction, params};

/// Table of the columns and tables that were filled.
const TARGETS: &str = "sameish_backfill";
/// Column of [`TARGETS`] that says whether all values of the target are recorded.
const RECORDED: &str = "values_recorded";
/// Table of the values that were written.
pub(super) const VALUES: &str = "sameish_backfill_values";

/// The record about a column or table.
pub(super) struct TargetRecord {
    pub(super) scheme: String,
    /// Whether a run of backfill added the column or table.
    pub(super) added: bool,
    pub(super) values: ValueRecords,
}

/// Whether the values of a target are recorded.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum ValueRecords {
    /// Every value that backfill wrote is recorded.
    All,
    /// Version 0.1.0, which recorded no values, filled the target, and no later run has processed all of its rows.
    Incomplete,
}

/// The record about a value.
pub(super) struct Record {
    pub(super) scheme: String,
    pub(super) text_checksum: i64,
    pub(super) value_checksum: i64,
    /// Whether the value replaced one of another program, which the record contains.
    pub(super) has_replaced: bool,
}

/// A value to undo.
pub(super) struct Recorded {
    pub(super) id: Value,
    pub(super) value_checksum: i64,
    pub(super) replaced: Option<TargetValue>,
}

impl Backfill {
    pub(super) fn target_record(&self, name: &str) -> Result<Option<TargetRecord>> {
        if self.columns(TARGETS)?.is_empty() {
            return Ok(None);
        }
        let recorded = if self.has_recorded_column()? { RECORDED } else { "0" };
        let sql = format!("SELECT scheme, added, {recorded} FROM {TARGETS} WHERE target = ?");
        let read = |row: &rusqlite::Row<'_>| {
            let is_recorded: bool = row.get(2)?;
            let values = if is_recorded { ValueRecords::All } else { ValueRecords::Incomplete };
            Ok(TargetRecord { scheme: row.get(0)?, added: row.get(1)?, values })
        };
        let record = self.connection.query_row(&sql, [name], read);
        record.optional().map_err(|error| self.database_error(error))
    }

    fn has_recorded_column(&self) -> Result<bool> {
        Ok(self.columns(TARGETS)?.iter().any(|column| column == RECORDED))
    }

    /// Returns `true` unless only version 0.1.0 has filled this database.
    pub(super) fn has_value_table(&self) -> Result<bool> {
        Ok(!self.columns(VALUES)?.is_empty())
    }

    /// Returns `true` if values of a target are recorded.
    pub(super) fn has_recorded_values(&self, name: &str) -> Result<bool> {
        if !self.has_value_table()? {
            return Ok(false);
        }
        let sql = format!("SELECT 1 FROM {VALUES} WHERE target = ? LIMIT 1");
        let row = self.connection.query_row(&sql, [name], |_| Ok(())).optional();
        Ok(row.map_err(|error| self.database_error(error))?.is_some())
    }

    /// Returns the statements that create the tables of records, or add what version 0.1.0 did not have.
    pub(super) fn records_sql(&self) -> Result<String> {
        let add_column = if self.columns(TARGETS)?.is_empty() || self.has_recorded_column()? {
            String::new()
        } else {
            format!("ALTER TABLE {TARGETS} ADD COLUMN {RECORDED} INTEGER NOT NULL DEFAULT 0;")
        };
        Ok(format!(
            "CREATE TABLE IF NOT EXISTS {TARGETS} (target TEXT PRIMARY KEY, scheme TEXT NOT NULL, added INTEGER NOT NULL,
               {RECORDED} INTEGER NOT NULL DEFAULT 0);
             {add_column}
             CREATE TABLE IF NOT EXISTS {VALUES} (target TEXT NOT NULL, id NOT NULL, scheme TEXT NOT NULL,
               text_checksum INTEGER NOT NULL, value_checksum INTEGER NOT NULL, replaced INTEGER NOT NULL,
               old_simhash, old_minhash_signature, old_computed_at, PRIMARY KEY (target, id)) WITHOUT ROWID;"
        ))
    }
}

/// Records that a column or table is filled. The tables of records exist.
pub(super) fn record_target(
    transaction: &Transaction<'_>,
    name: &str,
    record: &TargetRecord,
) -> rusqlite::Result<()> {
    let TargetRecord { scheme, added, values } = record;
    let sql =
        format!("INSERT OR REPLACE INTO {TARGETS} (target, scheme, added, {RECORDED}) VALUES (?, ?, ?, ?)");
    transaction.execute(&sql, params![name, scheme, added, *values == ValueRecords::All]).map(|_| ())
}

/// Records a value. If it replaces a value of another program, the record keeps that value for [`Backfill::undo`].
pub(super) fn put(
    transaction: &Transaction<'_>,
    name: &str,
    id: &Value,
    record: &Record,
    replaced: Option<&TargetValue>,
) -> rusqlite::Result<()> {
    let Record { scheme, text_checksum, value_checksum, has_replaced } = record;
    let sql = format!(
        "INSERT INTO {VALUES} VALUES (?1, ?2, ?3, ?4, ?5, ?6, NULL, NULL, NULL) ON CONFLICT (target, id) DO UPDATE SET \
         scheme = ?3, text_checksum = ?4, value_checksum = ?5, replaced = ?6"
    );
    let values = params![name, id, scheme, text_checksum, value_checksum, has_replaced];
    transaction.prepare_cached(&sql)?.execute(values)?;
    let Some(old) = replaced else { return Ok(()) };
    let sql = format!(
        "UPDATE {VALUES} SET old_simhash = ?3, old_minhash_signature = ?4, old_computed_at = ?5 WHERE target = ?1 AND id = ?2"
    );
    let values = params![name, id, old.simhash, old.minhash, old.computed_at];
    transaction.prepare_cached(&sql)?.execute(values).map(|_| ())
}

/// Removes the record about a value.
pub(super) fn remove(transaction: &Transaction<'_>, name: &str, id: &Value) -> rusqlite::Result<()> {
    let sql = format!("DELETE FROM {VALUES} WHERE target = ? AND id = ?");
    transaction.prepare_cached(&sql)?.execute(params![name, id]).map(|_| ())
}

/// Returns the first recorded values of a target.
pub(super) fn next_recorded(transaction: &Transaction<'_>, name: &str) -> rusqlite::Result<Vec<Recorded>> {
    let sql = format!(
        "SELECT id, value_checksum, replaced, old_simhash, old_minhash_signature, old_computed_at FROM {VALUES} \
         WHERE target = ? ORDER BY id LIMIT {BATCH}"
    );
    let read = |row: &rusqlite::Row<'_>| {
        let has_replaced: bool = row.get(2)?;
        let old = TargetValue { simhash: row.get(3)?, minhash: row.get(4)?, computed_at: row.get(5)? };
        Ok(Recorded { id: row.get(0)?, value_checksum: row.get(1)?, replaced: has_replaced.then_some(old) })
    };
    let mut statement = transaction.prepare_cached(&sql)?;
    statement.query_map([name], read)?.collect()
}

/// Removes the records about a target and its values, and the tables of records if they are empty.
pub(super) fn forget_target(
    transaction: &Transaction<'_>,
    name: &str,
    has_value_table: bool,
) -> rusqlite::Result<()> {
    transaction.execute(&format!("DELETE FROM {TARGETS} WHERE target = ?"), [name])?;
    if has_value_table {
        transaction.execute(&format!("DELETE FROM {VALUES} WHERE target = ?"), [name])?;
    }
    let sql = format!("SELECT count(*) FROM {TARGETS}");
    let targets: i64 = transaction.query_row(&sql, [], |row| row.get(0))?;
    if targets == 0 {
        transaction.execute_batch(&format!("DROP TABLE {TARGETS}; DROP TABLE IF EXISTS {VALUES};"))?;
    }
    Ok(())
}
