//! Found pairs, for the estimated recall.

use super::rows::Rows;
use crate::export::Columns;
use arrow_array::cast::AsArray;
use arrow_array::types::Float64Type;
use arrow_array::{ArrayRef, Float64Array};
use arrow_schema::DataType;
use parking_lot::Mutex;
use pyo3::prelude::*;
use sameish_batch::columns::{FoundRows, RecallSums};
use std::sync::Arc;

/// Adds up found pairs.
#[pyclass(frozen, module = "sameish._sameish", name = "_Found")]
pub(crate) struct FoundPairs(pub(super) Mutex<FoundRows>);

#[pymethods]
impl FoundPairs {
    /// Adds the pairs of a table, which is sorted by `group`: columns `group`, `similarity` and `pairs`.
    fn push(&self, table: &Bound<'_, PyAny>) -> PyResult<()> {
        let mut found = self.0.lock();
        for rows in Rows::read(table)? {
            let groups = rows.numbers("group")?;
            let similarity = rows.column("similarity", &DataType::Float64)?;
            let similarity = similarity.as_primitive::<Float64Type>();
            let pairs = rows.numbers("pairs")?;
            for row in 0..rows.len() {
                found.push(groups.value(row), similarity.value(row), pairs.value(row) as u64);
            }
        }
        Ok(())
    }

    /// Returns the sums in one row: `pairs`, `missed` and `variance`.
    fn finish(&self) -> PyResult<Columns> {
        let RecallSums { pairs, missed, variance } = self.0.lock().clone().finish();
        let number = |value: f64| -> ArrayRef { Arc::new(Float64Array::from(vec![value])) };
        Columns::new(vec![
            ("pairs", number(pairs)),
            ("missed", number(missed)),
            ("variance", number(variance)),
        ])
    }
}
