//! A filter for the rows of a corpus that are needed.

use super::rows::Rows;
use crate::error::type_error;
use crate::export::Columns;
use arrow_array::BooleanArray;
use parking_lot::Mutex;
use pyo3::prelude::*;
use sameish_batch::columns::NeededRows;
use std::sync::Arc;

/// A filter for the rows of a corpus that are needed, in parts that are built independently.
#[pyclass(frozen, module = "sameish._sameish", name = "_Needed")]
pub(crate) struct Needed(Mutex<Vec<NeededRows>>);

#[pymethods]
impl Needed {
    /// Creates an empty filter for a number of rows, in parts.
    #[new]
    fn new(rows: u64, parts: u64) -> Needed {
        let part = NeededRows::for_rows(rows.div_ceil(parts.max(1)));
        Needed(Mutex::new(vec![part; parts.max(1) as usize]))
    }

    /// Creates a filter from its parts.
    #[staticmethod]
    fn from_parts(parts: Vec<Vec<u8>>) -> PyResult<Needed> {
        let parts: Option<Vec<NeededRows>> =
            parts.iter().map(|bytes| NeededRows::from_bytes(bytes)).collect();
        parts.map(|parts| Needed(Mutex::new(parts))).ok_or_else(|| type_error("a part has a wrong length"))
    }

    /// Adds the column `hash` of a table.
    fn add(&self, table: &Bound<'_, PyAny>) -> PyResult<()> {
        let mut parts = self.0.lock();
        for rows in Rows::read(table)? {
            for hash in rows.numbers("hash")?.values() {
                let part = place(*hash, parts.len());
                parts[part].insert(*hash);
            }
        }
        Ok(())
    }

    /// Returns a part.
    fn part(&self, number: usize) -> Vec<u8> {
        self.0.lock()[number].to_bytes()
    }

    /// Returns a column that says which hashes of the column `hash` may be needed.
    fn contains(&self, table: &Bound<'_, PyAny>) -> PyResult<Columns> {
        let parts = self.0.lock();
        let mut found = Vec::new();
        for rows in Rows::read(table)? {
            let hashes = rows.numbers("hash")?;
            found.extend(hashes.values().iter().map(|&hash| parts[place(hash, parts.len())].contains(hash)));
        }
        Columns::new(vec![("needed", Arc::new(BooleanArray::from(found)))])
    }
}

/// Returns the part of a hash: `pmod(hash, parts)` in SQL.
fn place(hash: i64, parts: usize) -> usize {
    hash.rem_euclid(parts as i64) as usize
}
