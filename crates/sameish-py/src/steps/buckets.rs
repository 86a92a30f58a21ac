//! Candidates in sorted streams of buckets and of cells of crowds.

use super::rows::{Rows, list, print};
use crate::arrow::{self, TextColumn};
use crate::error::{batch_error, setting_error};
use crate::export::Columns;
use arrow_array::Array;
use arrow_array::Int64Array;
use arrow_array::builder::{Int64Builder, ListBuilder};
use parking_lot::Mutex;
use pyo3::prelude::*;
use sameish_batch::columns::{BucketPairs, CellMember, CellPairs, HammingKeys, Member, Sides};
use std::sync::Arc;

/// Finds candidates in a stream of bucket members.
#[pyclass(frozen, module = "sameish._sameish", name = "_Buckets")]
pub(crate) struct Buckets(pub(super) Mutex<BucketPairs>);

#[pymethods]
impl Buckets {
    /// Returns the candidates of the next members: columns `a` and `b`.
    fn push(&self, py: Python<'_>, table: &Bound<'_, PyAny>) -> PyResult<Columns> {
        let batches = Rows::read(table)?;
        py.detach(|| {
            let mut found = Vec::new();
            let mut buckets = self.0.lock();
            for rows in &batches {
                let keys = rows.numbers("key")?;
                let docs = rows.numbers("doc")?;
                let reference = rows.flags("reference")?;
                let outlines = rows.outlines()?;
                let fingerprints = rows.fingerprints()?;
                for row in 0..rows.len() {
                    let member = Member {
                        doc: docs.value(row),
                        reference: reference[row],
                        outline: outlines[row],
                        fingerprint: fingerprints[row],
                    };
                    buckets.push(keys.value(row), member, &mut found);
                }
            }
            pairs(found)
        })
    }

    /// Returns the number of buckets in which some members were not compared.
    fn capped(&self) -> u64 {
        self.0.lock().capped()
    }

    /// Returns the number of pairs of members that were left out for this reason.
    fn omitted(&self) -> u64 {
        self.0.lock().omitted()
    }
}

/// Finds candidates in a stream of cells of crowds.
#[pyclass(frozen, module = "sameish._sameish", name = "_Cells")]
pub(crate) struct Cells(pub(super) Mutex<CellPairs>);

#[pymethods]
impl Cells {
    /// Returns the candidates of the cells that are complete: columns `a` and `b`.
    fn push(&self, py: Python<'_>, table: &Bound<'_, PyAny>) -> PyResult<Columns> {
        let batches = Rows::read(table)?;
        py.detach(|| {
            let mut found = Vec::new();
            let mut cells = self.0.lock();
            for rows in &batches {
                let cell_of = rows.numbers("cell")?;
                let docs = rows.numbers("doc")?;
                let blocks = rows.numbers("block")?;
                let keys = rows.lists("keys")?;
                let groups = rows.integers("group")?;
                let reference = rows.flags("reference")?;
                let outlines = rows.outlines()?;
                let fingerprints = rows.fingerprints()?;
                let column = arrow::column(std::slice::from_ref(&rows.batch), "profile")?.remove(0);
                let column = TextColumn::new(&column)?;
                let mut profiles = Vec::new();
                column.append_to(&mut profiles);
                for row in 0..rows.len() {
                    let member = Member {
                        doc: docs.value(row),
                        reference: reference[row],
                        outline: outlines[row],
                        fingerprint: fingerprints[row],
                    };
                    let member = CellMember {
                        member,
                        block: blocks.value(row) as i32,
                        keys: list(&keys, row),
                        profile: profiles[row].map(<[u8]>::to_vec),
                        group: groups.is_valid(row).then(|| groups.value(row)),
                    };
                    cells.push(cell_of.value(row), member, &mut found);
                }
            }
            pairs(found)
        })
    }

    /// Returns the candidates of the last cell.
    fn finish(&self, py: Python<'_>) -> PyResult<Columns> {
        py.detach(|| {
            let mut found = Vec::new();
            self.0.lock().finish(&mut found);
            pairs(found)
        })
    }
}

fn pairs(found: Vec<(i64, i64)>) -> PyResult<Columns> {
    let (a, b): (Vec<i64>, Vec<i64>) = found.into_iter().unzip();
    Columns::new(vec![("a", Arc::new(Int64Array::from(a))), ("b", Arc::new(Int64Array::from(b)))])
}

/// Returns an object that finds fingerprints within a radius in buckets.
#[pyfunction]
pub(crate) fn _hamming_buckets(radius: u32, limit: usize, across: bool) -> Buckets {
    let sides = if across { Sides::Across } else { Sides::All };
    Buckets(Mutex::new(BucketPairs::within(radius, limit, sides)))
}

/// Returns the bucket keys of a column of fingerprints: one list per fingerprint.
#[pyfunction]
pub(crate) fn _hamming_keys(table: &Bound<'_, PyAny>, radius: u32) -> PyResult<Columns> {
    if radius > 15 {
        return Err(setting_error(format!("`radius` is {radius}: must be 0 to 15")));
    }
    let tables = HammingKeys::new(radius).map_err(batch_error)?;
    let mut keys = ListBuilder::new(Int64Builder::new());
    for rows in Rows::read(table)? {
        for fingerprint in rows.integers("fingerprint")?.iter() {
            keys.append_option(fingerprint.map(|bits| tables.of(print(bits)).into_iter().map(Some)));
        }
    }
    Columns::new(vec![("keys", Arc::new(keys.finish()))])
}
