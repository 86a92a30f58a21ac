//! The rows to process, with their values in the target and the records of these values.

use super::records::VALUES;
use super::target::{COLUMN, TABLE, TargetValue};
use super::{BATCH, Backfill, Record, Target, quoted};
use crate::error::Result;
use rusqlite::Connection;
use rusqlite::functions::FunctionFlags;
use rusqlite::types::{Value, ValueRef};
use xxhash_rust::xxh3::xxh3_64;

/// A row of the source.
pub(super) struct SourceRow {
    pub(super) id: Value,
    /// `None` if the row has no text.
    pub(super) text: Option<String>,
    /// `false` if a query returned an id that the source table does not contain.
    is_in_table: bool,
    /// The value in the target, if there is one.
    pub(super) value: Option<TargetValue>,
    pub(super) record: Option<Record>,
}

impl SourceRow {
    fn read(row: &rusqlite::Row<'_>) -> rusqlite::Result<SourceRow> {
        let has_value: bool = row.get(3)?;
        let value = TargetValue { simhash: row.get(4)?, minhash: row.get(5)?, computed_at: row.get(6)? };
        let scheme: Option<String> = row.get(7)?;
        let record = match scheme {
            None => None,
            Some(scheme) => Some(Record {
                scheme,
                text_checksum: row.get(8)?,
                value_checksum: row.get(9)?,
                has_replaced: row.get(10)?,
            }),
        };
        Ok(SourceRow {
            id: row.get(0)?,
            text: text_of(row.get_ref(1)?),
            is_in_table: row.get(2)?,
            value: has_value.then_some(value),
            record,
        })
    }

    /// Returns `true` if the row of the target can be written.
    pub(super) fn has_target(&self) -> bool {
        self.is_in_table
    }

    /// Returns `true` if the value is the one that was recorded.
    fn is_recorded(&self) -> bool {
        let checksum = TargetValue::checksum_of(self.value.as_ref());
        self.record.as_ref().is_some_and(|record| record.value_checksum == checksum)
    }

    /// Returns `true` if another program wrote the value.
    pub(super) fn is_foreign(&self) -> bool {
        self.value.is_some() && !self.is_recorded()
    }

    /// Returns `true` if the value was computed from another text.
    pub(super) fn has_changed_text(&self) -> bool {
        self.is_recorded()
            && self.record.as_ref().is_some_and(|record| record.text_checksum != self.text_checksum())
    }

    /// Returns `true` if the value was computed from this text with this scheme.
    pub(super) fn is_current(&self, scheme: &str) -> bool {
        self.is_recorded()
            && !self.has_changed_text()
            && self.record.as_ref().is_some_and(|record| record.scheme == scheme)
    }

    pub(super) fn text_checksum(&self) -> i64 {
        self.text.as_ref().map_or(0, |text| xxh3_64(text.as_bytes()) as i64)
    }
}

impl Backfill {
    pub(super) fn check_source(&self) -> Result<()> {
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

    /// Returns the source table, quoted.
    pub(super) fn table(&self) -> String {
        quoted(self.source.table.as_deref().unwrap_or_default())
    }

    /// Returns the column of ids, quoted.
    pub(super) fn id(&self) -> String {
        quoted(&self.source.id)
    }

    /// Returns a common table expression that defines the rows as `source(id, text)`.
    pub(super) fn source_cte(&self) -> String {
        let select = match &self.source.query {
            Some(query) => query.clone(),
            None => format!("SELECT {}, {} FROM {}", self.id(), quoted(&self.source.text), self.table()),
        };
        format!("WITH source(id, text) AS ({select})")
    }

    /// Reads the next rows, ordered by id, each id once. Returns `None` at the end.
    ///
    /// Of several rows with the same id, the one with the smallest text counts, so that every run uses the same one.
    pub(super) fn next_batch(&self, last: Option<&Value>) -> Result<Option<Vec<SourceRow>>> {
        let sql = self.batch_sql(last.is_some());
        let read = || {
            let mut statement = self.connection.prepare_cached(&sql)?;
            let rows = statement.query_map((self.target_name(), last), SourceRow::read)?;
            rows.collect::<rusqlite::Result<Vec<_>>>()
        };
        let mut batch = read().map_err(|error| self.database_error(error))?;
        batch.dedup_by(|next, row| is_same_id(&next.id, &row.id));
        Ok(Some(batch).filter(|batch| !batch.is_empty()))
    }

    /// Returns the query of [`next_batch`](Self::next_batch). Its parameters are the name of the target and the last id of
    /// the previous batch.
    fn batch_sql(&self, continues: bool) -> String {
        let table = self.table();
        let id = self.id();
        let after = |id: &str| {
            if continues { format!("{id} > ?2") } else { format!("?2 IS NULL AND {id} IS NOT NULL") }
        };
        let records = |id: &str| format!("LEFT JOIN {VALUES} AS v ON v.target = ?1 AND v.id = {id}");
        const RECORD: &str = "v.scheme, v.text_checksum, v.value_checksum, v.replaced";
        if self.target == Target::Column && self.source.query.is_none() {
            // Reading the table itself uses an index on the ids.
            let text = quoted(&self.source.text);
            let records = records(&format!("t.{id}"));
            let after = after(&format!("t.{id}"));
            return format!(
                "SELECT t.{id}, t.{text}, true, t.{COLUMN} IS NOT NULL, NULL, t.{COLUMN}, NULL, {RECORD} \
                 FROM {table} AS t {records} WHERE {after} ORDER BY t.{id} LIMIT {BATCH}"
            );
        }
        let source = self.source_cte();
        let records = records("source.id");
        let after = after("source.id");
        let order = format!("source.id, NOT {HAS_TEXT}(source.text), source.text");
        let limits = format!("WHERE {after} ORDER BY {order} LIMIT {BATCH}");
        if self.target == Target::Column {
            return format!(
                "{source} SELECT source.id, source.text, t.{id} IS NOT NULL, t.{COLUMN} IS NOT NULL, NULL, t.{COLUMN}, NULL, \
                 {RECORD} FROM source LEFT JOIN {table} AS t ON t.{id} = source.id {records} {limits}"
            );
        }
        // A query can return ids that the source table does not contain. Writing them would violate the foreign key.
        let is_in_table = if self.source.table.is_some() && self.source.query.is_some() {
            format!("EXISTS (SELECT 1 FROM {table} AS t WHERE t.{id} = source.id)")
        } else {
            "true".to_owned()
        };
        format!(
            "{source} SELECT source.id, source.text, {is_in_table}, f.content_id IS NOT NULL, f.simhash, \
             f.minhash_signature, f.computed_at, {RECORD} \
             FROM source LEFT JOIN {TABLE} AS f ON f.content_id = source.id {records} {limits}"
        )
    }
}

/// Name of the SQL function that returns whether a value is a text.
pub(super) const HAS_TEXT: &str = "sameish_has_text";

/// Defines [`HAS_TEXT`], so that statements and this program agree on which rows have a text.
pub(super) fn define_has_text(connection: &Connection) -> rusqlite::Result<()> {
    let flags = FunctionFlags::SQLITE_UTF8 | FunctionFlags::SQLITE_DETERMINISTIC;
    connection.create_scalar_function(HAS_TEXT, 1, flags, |context| Ok(text_of(context.get_raw(0)).is_some()))
}

/// Converts a value to a text. Invalid UTF-8 sequences are replaced. A value of white space only is not a text.
fn text_of(value: ValueRef<'_>) -> Option<String> {
    let text = match value {
        ValueRef::Text(bytes) | ValueRef::Blob(bytes) => sameish::text::decode(bytes).text.into_owned(),
        ValueRef::Integer(number) => number.to_string(),
        ValueRef::Real(number) => number.to_string(),
        ValueRef::Null => return None,
    };
    Some(text).filter(|text| !text.trim().is_empty())
}

/// Returns `true` if SQL considers two ids equal.
fn is_same_id(a: &Value, b: &Value) -> bool {
    match (a, b) {
        (Value::Integer(integer), Value::Real(real)) | (Value::Real(real), Value::Integer(integer)) => {
            *integer as f64 == *real
        }
        _ => a == b,
    }
}
