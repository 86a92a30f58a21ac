//! Document ids and dates.
//!
//! Ids are 64-bit integers or strings and keep their type: `7` and `"7"` are different ids.

use crate::arrow;
use crate::error::{excerpt, number_error, setting_error, type_error, type_name};
use crate::interrupt::check_signals_at;
use crate::texts;
use pyo3::IntoPyObjectExt;
use pyo3::exceptions::PyOverflowError;
use pyo3::prelude::*;
use pyo3::types::{PyBool, PyDict, PyFloat, PyFrozenSet, PySet, PyString};
use sameish::{DocId, Timestamp};

/// Reads an id.
pub(crate) fn from_python(value: &Bound<'_, PyAny>, what: &str) -> PyResult<DocId> {
    if value.is_instance_of::<PyString>() {
        return texts::from_python(value, what).map(DocId::Text);
    }
    let wrong_type =
        || type_error(format!("{what} is of type {}: must be an int or a str", type_name(value)));
    if value.is_instance_of::<PyBool>() {
        return Err(wrong_type());
    }
    if let Ok(id) = value.extract::<u64>() {
        return Ok(DocId::Number(id));
    }
    match value.extract::<i64>() {
        Ok(id) => Ok(DocId::Negative(id)),
        Err(error) if error.is_instance_of::<PyOverflowError>(value.py()) => {
            let digits = value.str().map(|text| text.to_string()).unwrap_or_default();
            Err(number_error(format!("{what} is {}: must be -2**63 to 2**64 - 1", excerpt(&digits))))
        }
        Err(_) => Err(wrong_type()),
    }
}

/// Reads a list or a column of ids.
pub(crate) fn list_from_python(value: &Bound<'_, PyAny>) -> PyResult<Vec<DocId>> {
    if let Some(chunks) = arrow::chunks(value)? {
        return arrow::ids(&chunks);
    }
    if value.is_instance_of::<PyString>() {
        return Err(type_error("ids are a single str: must be a list or a column of ids"));
    }
    read_list(value, "id", from_python)
}

/// Reads a date: a string, a `datetime`, a `date`, or a NumPy, pandas or Arrow scalar. Returns `None` for a missing value.
pub(crate) fn date(value: &Bound<'_, PyAny>, what: &str) -> PyResult<Option<Timestamp>> {
    let is_missing = value.is_none()
        || type_name(value) == "NAType"
        || value.is_instance_of::<PyFloat>() && value.extract::<f64>()?.is_nan();
    if is_missing {
        return Ok(None);
    }
    // A pyarrow scalar.
    if let Some(as_py) = value.getattr_opt("as_py")? {
        return date(&as_py.call0()?, what);
    }
    let text = if value.is_instance_of::<PyString>() {
        texts::from_python(value, what)?
    } else if let Some(isoformat) = value.getattr_opt("isoformat")? {
        isoformat.call0()?.extract()?
    } else if type_name(value) == "datetime64" {
        // Units above days would be printed without a day.
        value.call_method1("astype", ("datetime64[ms]",))?.str()?.extract()?
    } else {
        let found = type_name(value);
        return Err(type_error(format!("{what} is of type {found}: must be a str or a datetime")));
    };
    // pandas and NumPy print missing dates as NaT.
    if text == "NaT" {
        return Ok(None);
    }
    Timestamp::parse(&text).map(Some).map_err(|error| setting_error(format!("{what}: {error}")))
}

/// Reads a list or a column of dates.
pub(crate) fn dates(value: &Bound<'_, PyAny>) -> PyResult<Vec<Option<Timestamp>>> {
    match arrow::chunks(value)? {
        Some(chunks) => arrow::dates(&chunks),
        None => read_list(value, "date", date),
    }
}

/// Reads a list or a column of values as text: strings as they are, numbers and dates as they are written.
pub(crate) fn values_as_text(value: &Bound<'_, PyAny>, name: &str) -> PyResult<Vec<Option<String>>> {
    match arrow::chunks(value)? {
        Some(chunks) => arrow::values_as_text(&chunks, name),
        None => read_list(value, name, value_as_text),
    }
}

fn value_as_text(value: &Bound<'_, PyAny>, what: &str) -> PyResult<Option<String>> {
    let is_missing = value.is_none()
        || matches!(&*type_name(value), "NAType" | "NaTType")
        || value.is_instance_of::<PyFloat>() && value.extract::<f64>()?.is_nan();
    if is_missing {
        return Ok(None);
    }
    if value.is_instance_of::<PyString>() {
        return texts::from_python(value, what).map(Some);
    }
    let text = match value.getattr_opt("isoformat")? {
        Some(isoformat) => isoformat.call0()?,
        // Numbers of NumPy, too.
        None if value.hasattr("__float__")? => value.str()?.into_any(),
        None => {
            let found = type_name(value);
            return Err(type_error(format!("{what} is of type {found}: must be a str, a number or a date")));
        }
    };
    Ok(Some(text.extract()?))
}

/// Returns an error for a dict or a set, whose items have no position.
pub(crate) fn refuse_unordered(value: &Bound<'_, PyAny>, what: &str) -> PyResult<()> {
    let is_unordered = value.is_instance_of::<PyDict>()
        || value.is_instance_of::<PySet>()
        || value.is_instance_of::<PyFrozenSet>();
    if is_unordered {
        let found = type_name(value);
        return Err(type_error(format!("{what} are of type {found}: must be a list or a column")));
    }
    Ok(())
}

/// Reads the items of a list. `name` is the singular of what it contains.
fn read_list<T>(
    value: &Bound<'_, PyAny>,
    name: &str,
    read: impl Fn(&Bound<'_, PyAny>, &str) -> PyResult<T>,
) -> PyResult<Vec<T>> {
    refuse_unordered(value, &format!("{name}s"))?;
    let items = value.try_iter().map_err(|_| {
        type_error(format!("{name}s are of type {}: must be a list or a column", type_name(value)))
    })?;
    let read_item = |(i, item): (usize, PyResult<Bound<'_, PyAny>>)| {
        check_signals_at(value.py(), i)?;
        read(&item?, &format!("{name} at position {i}"))
    };
    items.enumerate().map(read_item).collect()
}

/// Converts an id to a Python int or str.
pub(crate) fn to_python<'py>(py: Python<'py>, id: &DocId) -> PyResult<Bound<'py, PyAny>> {
    match id {
        DocId::Number(id) => id.into_bound_py_any(py),
        DocId::Negative(id) => id.into_bound_py_any(py),
        DocId::Text(id) => id.into_bound_py_any(py),
    }
}
