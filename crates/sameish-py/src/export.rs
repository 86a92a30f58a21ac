//! Arrow tables for Python, through the PyCapsule form of Arrow's C data interface.

use crate::error::setting_error;
use arrow_array::ffi::to_ffi;
use arrow_array::{Array, ArrayRef, StructArray};
use arrow_schema::{ArrowError, Field};
use pyo3::prelude::*;
use pyo3::types::{PyCapsule, PyTuple};

/// Columns of equal length, which `pyarrow.record_batch` and other libraries import without a copy.
#[pyclass(frozen, module = "sameish._sameish", name = "_Columns")]
pub(crate) struct Columns(StructArray);

impl Columns {
    /// Creates a table from named columns.
    pub(crate) fn new(columns: Vec<(&str, ArrayRef)>) -> PyResult<Columns> {
        let length = columns.first().map_or(0, |(_, column)| column.len());
        let (fields, arrays): (Vec<Field>, Vec<ArrayRef>) = columns
            .into_iter()
            .map(|(name, array)| (Field::new(name, array.data_type().clone(), true), array))
            .unzip();
        let table = StructArray::try_new_with_length(fields.into(), arrays, None, length);
        table.map(Columns).map_err(|error| export_error(&error))
    }
}

#[pymethods]
impl Columns {
    #[pyo3(signature = (requested_schema=None))]
    fn __arrow_c_array__<'py>(
        &self,
        py: Python<'py>,
        requested_schema: Option<Bound<'py, PyAny>>,
    ) -> PyResult<Bound<'py, PyTuple>> {
        // The protocol allows to ignore the schema that the consumer prefers.
        drop(requested_schema);
        let (array, schema) = to_ffi(&self.0.to_data()).map_err(|error| export_error(&error))?;
        let schema = PyCapsule::new_with_value(py, schema, c"arrow_schema")?;
        let array = PyCapsule::new_with_value(py, array, c"arrow_array")?;
        PyTuple::new(py, [schema, array])
    }

    fn __len__(&self) -> usize {
        self.0.len()
    }
}

fn export_error(error: &ArrowError) -> PyErr {
    setting_error(format!("cannot export Arrow data: {error}"))
}
