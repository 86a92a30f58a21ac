//! How do numbers come in and go out, as lists and as arrays?
//!
//! Arrays are copied on their way in: another thread of Python may write to one while we read it without the lock.

use crate::error::{number, setting, shown, type_name, wrong_type};
use crate::work::glance;
use numpy::{PyArray1, PyArray2, PyArrayDyn, PyArrayMethods, PyUntypedArray, PyUntypedArrayMethods};
use pyo3::exceptions::PyOverflowError;
use pyo3::prelude::*;
use pyo3::types::{PyBool, PyByteArray, PyBytes, PyMemoryView, PyString};
use sameish::Fingerprint;
use std::ops::RangeInclusive;

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
        not_masked(value, what)?;
        return Ok(Numbers { items: copied(array.to_dyn()), array: true });
    }
    let iterator = value.try_iter().map_err(|_| not_many(value, what, T::DTYPE))?;
    let mut items = Vec::with_capacity(value.len().unwrap_or(0).min(1 << 24));
    for (i, item) in iterator.enumerate() {
        glance(value.py(), i)?;
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
    not_masked(value, what)?;
    Ok((copied(rows.to_dyn()), rows.shape()[1]))
}

/// Refuses an array with masked items: what lies under a mask is no number that was meant.
fn not_masked(array: &Bound<'_, PyAny>, what: &str) -> PyResult<()> {
    let Some(mask) = array.getattr_opt("mask")? else { return Ok(()) };
    if !mask.call_method0("any")?.is_truthy()? {
        return Ok(());
    }
    let at = mask.call_method0("argmax")?;
    Err(wrong_type(format!("{what} at position {at} is masked: take the others with `.compressed()`")))
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
    let (ndim, dtype, wanted) = (array.ndim(), array.dtype().to_string(), T::DTYPE);
    let plural = if ndim == 1 { "" } else { "s" };
    let remedy = match dtype == wanted {
        true => "reshape it".to_owned(),
        false => format!("convert it with `.astype(\"{wanted}\")`"),
    };
    wrong_type(format!(
        "{what} is an array of {dtype} with {ndim} dimension{plural}: must be of {wanted} with {dimensions}; {remedy}"
    ))
}

fn not_many(value: &Bound<'_, PyAny>, what: &str, dtype: &str) -> PyErr {
    wrong_type(format!("{what} is of type {}: must be a list or an array of {dtype}", type_name(value)))
}

/// A whole number within bounds.
pub(crate) fn between(given: i64, what: &str, bounds: RangeInclusive<u32>) -> PyResult<u32> {
    match u32::try_from(given) {
        Ok(number) if bounds.contains(&number) => Ok(number),
        _ => {
            let (least, most) = bounds.into_inner();
            let most = if most == u32::MAX { "2**32 - 1".to_owned() } else { most.to_string() };
            Err(setting(format!("`{what}` is {given}: must be {least} to {most}")))
        }
    }
}

/// A count, which may be large.
pub(crate) fn count(given: i64, what: &str, least: usize) -> PyResult<usize> {
    match usize::try_from(given) {
        Ok(number) if number >= least => Ok(number),
        _ => Err(setting(format!("`{what}` is {given}: must be at least {least}"))),
    }
}

/// Bytes that were stored: `bytes`, or what can be made into them.
pub(crate) fn stored<'py>(value: &Bound<'py, PyAny>, what: &str) -> PyResult<Bound<'py, PyBytes>> {
    if let Ok(bytes) = value.cast::<PyBytes>() {
        return Ok(bytes.clone());
    }
    let is_bytes = value.is_instance_of::<PyByteArray>() || value.is_instance_of::<PyMemoryView>();
    if !is_bytes {
        return Err(wrong_type(format!("{what} is of type {}: must be bytes", type_name(value))));
    }
    Ok(value.py().get_type::<PyBytes>().call1((value,))?.cast_into()?)
}

/// Two lists of equal length.
pub(crate) fn same_length(a: (&str, usize), b: (&str, usize)) -> PyResult<()> {
    if a.1 == b.1 {
        return Ok(());
    }
    Err(setting(format!("{} has {} items and {} has {}: must be as many", a.0, a.1, b.0, b.1)))
}
