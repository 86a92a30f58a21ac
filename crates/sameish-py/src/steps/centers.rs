//! Which documents are centers.

use super::rows::Rows;
use crate::export::Columns;
use arrow_array::cast::AsArray;
use arrow_array::types::{Float64Type, Int8Type};
use arrow_array::{Array, BooleanArray, Float64Array, Int8Array, Int64Array};
use arrow_schema::DataType;
use parking_lot::Mutex;
use pyo3::prelude::*;
use sameish_batch::columns::{Center, Centers, Decision, EarlierMatch};
use std::sync::Arc;

/// What is attached to a match: similarity, facts, and whether it was verified.
pub(super) type Attached = (f64, Option<f64>, bool);

/// Decides which documents are centers.
#[pyclass(frozen, module = "sameish._sameish", name = "_Centers")]
pub(crate) struct CenterFinder(Mutex<Centers<Attached>>);

#[pymethods]
impl CenterFinder {
    #[new]
    fn new() -> CenterFinder {
        CenterFinder(Mutex::default())
    }

    /// Returns the decisions about the documents whose matches have been read completely.
    fn push(&self, table: &Bound<'_, PyAny>) -> PyResult<Columns> {
        let mut decided = Vec::new();
        let mut centers = self.0.lock();
        for rows in Rows::read(table)? {
            let groups = rows.numbers("part")?;
            let earlier = rows.numbers("a")?;
            let docs = rows.numbers("b")?;
            let states = rows.column("state", &DataType::Int8)?;
            let states: &Int8Array = states.as_primitive::<Int8Type>();
            let open = rows.flags("open")?;
            let verified = rows.flags("verified")?;
            let similarity = rows.column("similarity", &DataType::Float64)?;
            let facts = rows.column("facts", &DataType::Float64)?;
            let (similarity, facts) =
                (similarity.as_primitive::<Float64Type>(), facts.as_primitive::<Float64Type>());
            for row in 0..rows.len() {
                let facts = facts.is_valid(row).then(|| facts.value(row));
                let found = EarlierMatch {
                    earlier: earlier.value(row),
                    state: Center::from_number(if states.is_valid(row) { states.value(row) } else { 0 }),
                    doc: docs.value(row),
                    open: open[row],
                    attached: (similarity.value(row), facts, verified[row]),
                };
                centers.push(groups.value(row), found, &mut decided);
            }
        }
        decisions(&decided)
    }

    /// Returns the last decision.
    fn finish(&self) -> PyResult<Columns> {
        let mut decided = Vec::new();
        self.0.lock().finish(&mut decided);
        decisions(&decided)
    }
}

fn decisions(decided: &[Decision<Attached>]) -> PyResult<Columns> {
    let centers = || decided.iter().map(|decision| decision.center);
    let docs = decided.iter().map(|decision| decision.doc);
    let states = decided.iter().map(|decision| decision.state.number());
    Columns::new(vec![
        ("doc", Arc::new(Int64Array::from_iter_values(docs))),
        ("state", Arc::new(Int8Array::from_iter_values(states))),
        ("center", Arc::new(centers().map(|center| Some(center?.0)).collect::<Int64Array>())),
        ("similarity", Arc::new(centers().map(|center| Some(center?.1.0)).collect::<Float64Array>())),
        ("facts", Arc::new(centers().map(|center| center?.1.1).collect::<Float64Array>())),
        ("verified", Arc::new(centers().map(|center| Some(center?.1.2)).collect::<BooleanArray>())),
    ])
}
