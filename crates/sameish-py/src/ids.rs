//! How are documents named?
//!
//! By integers of 64 bits or strings, whose type is kept: `7` and `"7"` are two documents.

use crate::arrow;
use crate::error::{number, refused, setting, shown, type_name, wrong_type};
use crate::work::glance;
use pyo3::IntoPyObjectExt;
use pyo3::prelude::*;
use pyo3::types::{PyBool, PyFloat, PyString};
use sameish::{DocId, Timestamp};
use std::collections::HashMap;

/// One id.
pub(crate) fn one(value: &Bound<'_, PyAny>, what: &str) -> PyResult<DocId> {
    if value.is_instance_of::<PyString>() {
        return crate::texts::one(value, what).map(DocId::Text);
    }
    let wrong = || wrong_type(format!("{what} is of type {}: must be an int or a str", type_name(value)));
    if value.is_instance_of::<PyBool>() {
        return Err(wrong());
    }
    if let Ok(id) = value.extract::<u64>() {
        return Ok(DocId::Number(id));
    }
    match value.extract::<i64>() {
        Ok(id) => Ok(DocId::Negative(id)),
        Err(error) if error.is_instance_of::<pyo3::exceptions::PyOverflowError>(value.py()) => {
            let given = value.str().map(|text| text.to_string()).unwrap_or_default();
            Err(number(format!("{what} is {}: must be -2**63 to 2**64 - 1", shown(&given))))
        }
        Err(_) => Err(wrong()),
    }
}

/// Many ids: a list or a column.
pub(crate) fn many(value: &Bound<'_, PyAny>) -> PyResult<Vec<DocId>> {
    if let Some(chunks) = arrow::chunks(value)? {
        return arrow::ids(&chunks);
    }
    if value.is_instance_of::<PyString>() {
        return Err(wrong_type("ids are a single str: must be a list or a column of them"));
    }
    let found = type_name(value);
    let items = value
        .try_iter()
        .map_err(|_| wrong_type(format!("ids are of type {found}: must be a list or a column")))?;
    let id = |(i, item): (usize, PyResult<Bound<'_, PyAny>>)| {
        let item = item?;
        glance(item.py(), i)?;
        one(&item, &format!("id at position {i}"))
    };
    items.enumerate().map(id).collect()
}

/// A date: a string, a `datetime`, a `date` or what NumPy and pandas have; nothing for None and "not a time".
pub(crate) fn date(value: &Bound<'_, PyAny>, what: &str) -> PyResult<Option<Timestamp>> {
    let lacks = value.is_none()
        || type_name(value) == "NAType"
        || value.is_instance_of::<PyFloat>() && value.extract::<f64>()?.is_nan();
    if lacks {
        return Ok(None);
    }
    // Scalars of pyarrow know what they are in Python.
    if let Some(plain) = value.getattr_opt("as_py")? {
        return date(&plain.call0()?, what);
    }
    let text = if value.is_instance_of::<PyString>() {
        crate::texts::one(value, what)?
    } else if let Some(isoformat) = value.getattr_opt("isoformat")? {
        isoformat.call0()?.extract()?
    } else if type_name(value) == "datetime64" {
        // Whatever its unit is: months have no day.
        value.call_method1("astype", ("datetime64[ms]",))?.str()?.extract()?
    } else {
        return Err(wrong_type(format!(
            "{what} is of type {}: must be a str or a datetime",
            type_name(value)
        )));
    };
    if text == "NaT" {
        return Ok(None);
    }
    Timestamp::parse(&text).map(Some).map_err(|error| setting(format!("{what}: {error}")))
}

/// Many dates: a list of them, or a column.
pub(crate) fn dates(value: &Bound<'_, PyAny>) -> PyResult<Vec<Option<Timestamp>>> {
    if let Some(chunks) = arrow::chunks(value)? {
        return arrow::dates(&chunks);
    }
    let read = |(i, item): (usize, PyResult<Bound<'_, PyAny>>)| {
        let item = item?;
        glance(item.py(), i)?;
        date(&item, &format!("date at position {i}"))
    };
    let found = type_name(value);
    let items = value
        .try_iter()
        .map_err(|_| wrong_type(format!("dates are of type {found}: must be a list or a column")))?;
    items.enumerate().map(read).collect()
}

/// Refuses ids of which one occurs twice.
pub(crate) fn distinct(ids: &[DocId]) -> PyResult<()> {
    let mut seen = HashMap::with_capacity(ids.len());
    for (second, id) in ids.iter().enumerate() {
        if let Some(first) = seen.insert(id, second) {
            return Err(refused(sameish::Error::RepeatedId { id: shown(&id.to_string()), first, second }));
        }
    }
    Ok(())
}

/// An id as Python has it.
pub(crate) fn to_python<'py>(py: Python<'py>, id: &DocId) -> PyResult<Bound<'py, PyAny>> {
    match id {
        DocId::Number(id) => id.into_bound_py_any(py),
        DocId::Negative(id) => id.into_bound_py_any(py),
        DocId::Text(id) => id.into_bound_py_any(py),
    }
}
