//! Candidates from packed members of buckets, and the bins in which they are compared.

use super::rows::{Rows, list};
use crate::error::type_error;
use crate::export::Columns;
use arrow_array::builder::{BinaryBuilder, Int64Builder};
use arrow_array::cast::AsArray;
use arrow_array::{Array, ArrayRef, Int32Array, Int64Array};
use arrow_schema::DataType;
use parking_lot::Mutex;
use pyo3::prelude::*;
use sameish::Analyzer;
use sameish_batch::columns::{
    BinLimits, Member, MemberPacker, PackedBuckets, PackedPairs, Sides, SizedMember, bins, connected,
};
use std::collections::HashMap;
use std::sync::Arc;

/// Pairs that one table of results has, about.
const PAIRS: usize = 1 << 18;

/// Packs the members of buckets by the parts to which their keys belong.
#[pyclass(frozen, module = "sameish._sameish", name = "_Packer")]
pub(crate) struct Packer(Mutex<MemberPacker>);

impl Packer {
    pub(super) fn new(parts: usize, excluded: Vec<i64>) -> Packer {
        Packer(Mutex::new(MemberPacker::new(parts, excluded)))
    }
}

#[pymethods]
impl Packer {
    /// Packs the rows of a table: one row per part that has any of their keys, with the columns `part` and `members`.
    fn pack(&self, py: Python<'_>, table: &Bound<'_, PyAny>) -> PyResult<Columns> {
        let batches = Rows::read(table)?;
        py.detach(|| {
            let mut packer = self.0.lock();
            for rows in &batches {
                let docs = rows.numbers("doc")?;
                let bytes = rows.numbers("bytes")?;
                let keys = rows.lists("keys")?;
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
                    let bytes = u32::try_from(bytes.value(row)).unwrap_or(u32::MAX);
                    packer.push(SizedMember { member, bytes }, &list(&keys, row));
                }
            }
            let mut members = BinaryBuilder::new();
            let mut parts = Vec::new();
            for (part, packed) in (0i32..).zip(packer.take()) {
                if !packed.is_empty() {
                    parts.push(part);
                    members.append_value(packed);
                }
            }
            let parts: ArrayRef = Arc::new(Int32Array::from(parts));
            Columns::new(vec![("part", parts), ("members", Arc::new(members.finish()))])
        })
    }
}

/// Finds candidates among packed members.
#[pyclass(frozen, module = "sameish._sameish", name = "_Packed")]
pub(crate) struct Packed(Mutex<PackedBuckets>);

impl Packed {
    pub(super) fn new(analyzer: &Analyzer, limit: usize, sides: Sides, divided: Option<usize>) -> Packed {
        Packed(Mutex::new(PackedBuckets::new(analyzer, limit, sides, divided)))
    }
}

#[pymethods]
impl Packed {
    /// Adds the members of the column `members`.
    fn push(&self, py: Python<'_>, table: &Bound<'_, PyAny>) -> PyResult<()> {
        let batches = Rows::read(table)?;
        py.detach(|| {
            let mut buckets = self.0.lock();
            for rows in &batches {
                let members = rows.column("members", &DataType::Binary)?;
                for packed in members.as_binary::<i32>().iter().flatten() {
                    if !buckets.push(packed) {
                        return Err(type_error("column `members` does not have packed members"));
                    }
                }
            }
            Ok(())
        })
    }

    /// Returns candidates of the next buckets; `None` at the end. Columns `a`, `b`, `count` and `key`: a row without `b` has the
    /// length of the text of `a` as `count`.
    fn next(&self, py: Python<'_>) -> PyResult<Option<Columns>> {
        let next = py.detach(|| self.0.lock().next(PAIRS));
        next.map(|PackedPairs { pairs, lengths }| {
            let rows = pairs.iter().map(|&(a, b)| (a, Some(b), None));
            let rows = rows.chain(lengths.iter().map(|&(doc, bytes)| (doc, None, Some(i64::from(bytes)))));
            let rows: Vec<(i64, Option<i64>, Option<i64>)> = rows.collect();
            Columns::new(vec![
                ("a", Arc::new(Int64Array::from_iter_values(rows.iter().map(|row| row.0)))),
                ("b", Arc::new(rows.iter().map(|row| row.1).collect::<Int64Array>())),
                ("count", Arc::new(rows.iter().map(|row| row.2).collect::<Int64Array>())),
                ("key", Arc::new(Int64Array::new_null(rows.len()))),
            ])
        })
        .transpose()
    }

    /// Returns the number of buckets in which a limit left out pairs, and that of these pairs.
    fn omitted(&self) -> (u64, u64) {
        let buckets = self.0.lock();
        (buckets.capped(), buckets.omitted())
    }

    /// Returns the keys of the buckets that were not compared because of their size, with their sizes.
    fn large(&self) -> Vec<(i64, u64)> {
        self.0.lock().large().to_vec()
    }
}

/// Returns the connected components of pairs: columns `doc` and `component`, the smallest document of each component.
#[pyfunction]
pub(crate) fn _components(py: Python<'_>, table: &Bound<'_, PyAny>) -> PyResult<Columns> {
    let batches = Rows::read(table)?;
    py.detach(|| {
        let mut pairs: Vec<(i64, i64)> = Vec::new();
        for rows in &batches {
            let (a, b) = (rows.numbers("a")?, rows.numbers("b")?);
            pairs.extend(a.values().iter().copied().zip(b.values().iter().copied()));
        }
        let found = connected(&pairs);
        Columns::new(vec![
            ("doc", Arc::new(Int64Array::from_iter_values(found.iter().map(|row| row.0)))),
            ("component", Arc::new(Int64Array::from_iter_values(found.iter().map(|row| row.1)))),
        ])
    })
}

/// Divides pairs into bins of about this many pairs and bytes of texts. A row without `b` has the length of the text of `a` as `count`.
///
/// Returns the columns `bin`, `a` and `b`: the pairs, and without `b`, the texts that each bin needs. The first row has no bin, but
/// the numbers of these pairs and texts.
#[pyfunction]
pub(crate) fn _bins(py: Python<'_>, table: &Bound<'_, PyAny>, pairs: u64, bytes: u64) -> PyResult<Columns> {
    let batches = Rows::read(table)?;
    py.detach(|| {
        let mut found: Vec<(i64, i64)> = Vec::new();
        let mut lengths: HashMap<i64, u64> = HashMap::new();
        for rows in &batches {
            let (a, b, counts) = (rows.numbers("a")?, rows.integers("b")?, rows.integers("count")?);
            for row in 0..rows.len() {
                if b.is_valid(row) {
                    found.push((a.value(row), b.value(row)));
                } else {
                    lengths.insert(a.value(row), counts.value(row) as u64);
                }
            }
        }
        let rows = bins(found, &lengths, BinLimits { pairs, bytes });
        let pairs = rows.iter().filter(|row| row.b.is_some()).count();
        let mut bins = Int64Builder::new();
        let mut first = Int64Builder::new();
        let mut second = Int64Builder::new();
        bins.append_null();
        first.append_value(pairs as i64);
        second.append_value((rows.len() - pairs) as i64);
        for row in rows {
            bins.append_value(row.bin);
            first.append_value(row.a);
            second.append_option(row.b);
        }
        Columns::new(vec![
            ("bin", Arc::new(bins.finish())),
            ("a", Arc::new(first.finish())),
            ("b", Arc::new(second.finish())),
        ])
    })
}
