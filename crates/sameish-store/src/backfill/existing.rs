//! The values that the target has before a run.

use super::records::VALUES;
use super::source::HAS_TEXT;
use super::target::{COLUMN, TargetValue, Values};
use super::{Backfill, Target};
use crate::error::Result;
use rusqlite::types::Value;

/// Values that a run has to refuse or replace.
#[derive(Debug, Default)]
pub(super) struct ExistingValues {
    /// Number of values that are not recorded, or have changed since.
    pub(super) foreign: u64,
    /// The id of the first one.
    pub(super) first_foreign: Option<String>,
    /// Number of these values that cannot be recomputed, because the source has no text for them.
    pub(super) without_text: u64,
    /// Number of recorded values of another scheme that would remain, because the source does not return their ids.
    pub(super) unreachable: u64,
}

/// A value of the target, its record, and whether the source returns its id.
struct ExistingValue {
    id: Value,
    value: TargetValue,
    checksum: Option<i64>,
    scheme: Option<String>,
    is_in_source: bool,
    has_text: bool,
}

impl Backfill {
    /// Finds the values that are not recorded, have changed since, or have another scheme.
    pub(super) fn existing_values(&self, name: &str, scheme: &str) -> Result<ExistingValues> {
        let sql = self.existing_sql()?;
        let read = || {
            let mut found = ExistingValues::default();
            let mut statement = self.connection.prepare(&sql)?;
            let mut rows = statement.query([name])?;
            while let Some(row) = rows.next()? {
                found.count(ExistingValue::read(row)?, scheme);
            }
            Ok(found)
        };
        read().map_err(|error| self.database_error(error))
    }

    fn existing_sql(&self) -> Result<String> {
        let Values { table, id, has_value } = self.values();
        let source = self.source_cte();
        let simhash = if self.target == Target::Table { "t.simhash" } else { "NULL" };
        let record = |column: &str| match self.has_value_table() {
            Ok(true) => {
                Ok(format!("(SELECT v.{column} FROM {VALUES} AS v WHERE v.target = ?1 AND v.id = t.{id})"))
            }
            Ok(false) => Ok("nullif(?1, ?1)".to_owned()),
            Err(error) => Err(error),
        };
        let checksum = record("value_checksum")?;
        let scheme = record("scheme")?;
        let is_in = |condition: &str| {
            format!("coalesce(t.{id} IN (SELECT id FROM source WHERE id IS NOT NULL {condition}), false)")
        };
        let is_in_source = is_in("");
        let has_text = is_in(&format!("AND {HAS_TEXT}(text)"));
        Ok(format!(
            "{source} SELECT t.{id}, {simhash}, t.{COLUMN}, {checksum}, {scheme}, {is_in_source}, {has_text} \
             FROM {table} AS t WHERE {has_value}"
        ))
    }

    /// Returns the number of values of the column or table.
    pub(super) fn count_values(&self) -> Result<u64> {
        let Values { table, has_value, .. } = self.values();
        self.count(&format!("SELECT count(*) FROM {table} AS t WHERE {has_value}"))
    }
}

impl ExistingValue {
    fn read(row: &rusqlite::Row<'_>) -> rusqlite::Result<ExistingValue> {
        let value = TargetValue { simhash: row.get(1)?, minhash: row.get(2)?, computed_at: Value::Null };
        Ok(ExistingValue {
            id: row.get(0)?,
            value,
            checksum: row.get(3)?,
            scheme: row.get(4)?,
            is_in_source: row.get(5)?,
            has_text: row.get(6)?,
        })
    }
}

impl ExistingValues {
    fn count(&mut self, found: ExistingValue, scheme: &str) {
        if found.checksum != Some(TargetValue::checksum_of(Some(&found.value))) {
            self.foreign += 1;
            self.first_foreign.get_or_insert(shown(&found.id));
            self.without_text += u64::from(!found.has_text);
        } else if found.scheme.as_deref() != Some(scheme) {
            self.unreachable += u64::from(!found.is_in_source);
        }
    }
}

/// Returns an id for a message.
fn shown(id: &Value) -> String {
    match id {
        Value::Integer(number) => number.to_string(),
        Value::Real(number) => number.to_string(),
        Value::Text(text) => format!("`{}`", text.chars().take(80).collect::<String>().escape_debug()),
        Value::Blob(_) => "of binary data".to_owned(),
        Value::Null => "NULL".to_owned(),
    }
}
