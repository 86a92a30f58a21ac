//! How do numbers come in and go out, as lists and as arrays?
//!
//! Arrays are copied on their way in: another thread of Python may write to one while we read it without the lock.

use crate::error::{number, setting, shown, type_name, wrong_type};
use numpy::{PyArray1, PyArray2, PyArrayDyn, PyArrayMethods, PyUntypedArray, PyUntypedArrayMethods};
use pyo3::exceptions::PyOverflowError;
use pyo3::prelude::*;
use pyo3::types::{PyBool, PyString};
use sameish::Fingerprint;

/// Items after which a long loop over Python objects looks for signals.
const GLANCE: usize = 1 << 16;

/// Numbers, and whether they came as an array.
pub(crate) struct Numbers<T> {
    pub(crate) items: Vec<T>,
    pub(crate) array: bool,
}

/// A number that an array or a list may hold.
pub(crate) trait Number: numpy::Element + Copy + for<'a, 'py> FromPyObject<'a, 'py> {
    const DTYPE: &'static str;
    const RANGE: &'static str;
}

impl Number for u64 {
    const DTYPE: &'static str = "uint64";
    const RANGE: &'static str = "0 to 2**64 - 1";
}

impl Number for u32 {
    const DTYPE: &'static str = "uint32";
    const RANGE: &'static str = "0 to 2**32 - 1";
}

/// One number.
pub(crate) fn one<T: Number>(value: &Bound<'_, PyAny>, what: &str) -> PyResult<T> {
    extract(value, || what.to_owned())
}

/// A fingerprint: a number, or 16 hex digits.
pub(crate) fn fingerprint(value: &Bound<'_, PyAny>) -> PyResult<Fingerprint> {
    if let Ok(hex) = value.cast::<PyString>() {
        return Fingerprint::from_hex(&crate::texts::one(hex.as_any(), "fingerprint")?)
            .map_err(crate::error::refused);
    }
    one(value, "fingerprint").map(Fingerprint::from_u64)
}

/// Many numbers: an array of the very type and one dimension, or anything that can be iterated.
pub(crate) fn many<T: Number>(value: &Bound<'_, PyAny>, what: &str) -> PyResult<Numbers<T>> {
    if let Ok(array) = value.cast::<PyUntypedArray>() {
        let Ok(array) = value.cast::<PyArray1<T>>() else {
            return Err(wrong_array::<T>(array, what, 1));
        };
        return Ok(Numbers { items: copied(array.to_dyn()), array: true });
    }
    let iterator = value.try_iter().map_err(|_| not_many(value, what, T::DTYPE))?;
    let mut items = Vec::with_capacity(value.len().unwrap_or(0).min(1 << 24));
    for (i, item) in iterator.enumerate() {
        if i % GLANCE == GLANCE - 1 {
            value.py().check_signals()?;
        }
        items.push(extract(&item?, || format!("{what} at position {i}"))?);
    }
    Ok(Numbers { items, array: false })
}

/// Fingerprints in bulk.
pub(crate) fn fingerprints(value: &Bound<'_, PyAny>, what: &str) -> PyResult<Numbers<Fingerprint>> {
    let Numbers { items, array } = many::<u64>(value, what)?;
    Ok(Numbers { items: items.into_iter().map(Fingerprint::from_u64).collect(), array })
}

/// Rows of equal length: their values one after the other, and how long a row is.
pub(crate) fn rows(value: &Bound<'_, PyAny>, what: &str) -> PyResult<(Vec<u32>, usize)> {
    let Ok(array) = value.cast::<PyUntypedArray>() else {
        return Err(wrong_type(format!(
            "{what} is of type {}: must be an array of uint32 with two dimensions",
            type_name(value)
        )));
    };
    let Ok(rows) = value.cast::<PyArray2<u32>>() else { return Err(wrong_array::<u32>(array, what, 2)) };
    Ok((copied(rows.to_dyn()), rows.shape()[1]))
}

/// A copy in the order of rows, whatever the strides are.
fn copied<T: Number>(array: &Bound<'_, PyArrayDyn<T>>) -> Vec<T> {
    let array = array.readonly();
    match array.as_slice() {
        Ok(slice) => slice.to_vec(),
        Err(_) => array.as_array().iter().copied().collect(),
    }
}

fn extract<T: Number>(value: &Bound<'_, PyAny>, place: impl Fn() -> String) -> PyResult<T> {
    let wrong = |value: &Bound<'_, PyAny>| {
        wrong_type(format!("{} is of type {}: must be an integer, {}", place(), type_name(value), T::RANGE))
    };
    if value.is_instance_of::<PyBool>() {
        return Err(wrong(value));
    }
    value.extract::<T>().map_err(|error| {
        let error: PyErr = error.into();
        if error.is_instance_of::<PyOverflowError>(value.py()) {
            let given = value.str().map(|text| text.to_string()).unwrap_or_default();
            return number(format!("{} is {}: must be {}", place(), shown(&given), T::RANGE));
        }
        wrong(value)
    })
}

fn wrong_array<T: Number>(array: &Bound<'_, PyUntypedArray>, what: &str, dimensions: usize) -> PyErr {
    let (ndim, dtype) = (array.ndim(), array.dtype());
    wrong_type(format!(
        "{what} is an array of {dtype} with {ndim} dimension{}: must be of {} with {dimensions}; convert it with `.astype(\"{}\")`",
        if ndim == 1 { "" } else { "s" },
        T::DTYPE,
        T::DTYPE,
    ))
}

fn not_many(value: &Bound<'_, PyAny>, what: &str, dtype: &str) -> PyErr {
    wrong_type(format!("{what} is of type {}: must be a list or an array of {dtype}", type_name(value)))
}

/// Two lists of equal length.
pub(crate) fn same_length(a: (&str, usize), b: (&str, usize)) -> PyResult<()> {
    if a.1 == b.1 {
        return Ok(());
    }
    Err(setting(format!("{} has {} items and {} has {}: must be as many", a.0, a.1, b.0, b.1)))
}
