//! Numbers from Python: integers, lists and NumPy arrays.
//!
//! Arrays are copied, because another Python thread may write to them while the GIL is released.

use crate::error::{engine_error, excerpt, number_error, setting_error, type_error, type_name};
use crate::interrupt::check_signals_at;
use numpy::{PyArray1, PyArray2, PyArrayDyn, PyArrayMethods, PyUntypedArray, PyUntypedArrayMethods};
use pyo3::exceptions::PyOverflowError;
use pyo3::prelude::*;
use pyo3::types::{PyBool, PyByteArray, PyBytes, PyMemoryView, PyString};
use sameish::Fingerprint;
use sameish::index::DocNumber;
use std::ops::RangeInclusive;

/// Numbers from a list or an array.
pub(crate) struct Numbers<T> {
    pub(crate) items: Vec<T>,
    /// Whether they come from a NumPy array.
    pub(crate) from_array: bool,
}

/// An integer type of lists and arrays.
pub(crate) trait Integer: numpy::Element + Copy + for<'a, 'py> FromPyObject<'a, 'py> {
    const DTYPE: &'static str;
    const RANGE: &'static str;
}

impl Integer for u64 {
    const DTYPE: &'static str = "uint64";
    const RANGE: &'static str = "0 to 2**64 - 1";
}

impl Integer for u32 {
    const DTYPE: &'static str = "uint32";
    const RANGE: &'static str = "0 to 2**32 - 1";
}

/// Reads an integer.
fn integer<T: Integer>(value: &Bound<'_, PyAny>, what: &str) -> PyResult<T> {
    extract(value, || what.to_owned())
}

/// Reads a list of integers, or a one-dimensional array of exactly this type.
pub(crate) fn integers<T: Integer>(value: &Bound<'_, PyAny>, what: &str) -> PyResult<Numbers<T>> {
    if let Ok(array) = value.cast::<PyUntypedArray>() {
        let Ok(array) = value.cast::<PyArray1<T>>() else {
            return Err(wrong_array::<T>(array, what, 1));
        };
        check_not_masked(value, what)?;
        return Ok(Numbers { items: copy(array.to_dyn()), from_array: true });
    }
    let iterator = value.try_iter().map_err(|_| {
        let found = type_name(value);
        type_error(format!("{what} is of type {found}: must be a list or an array of {}", T::DTYPE))
    })?;
    let mut items = Vec::with_capacity(value.len().unwrap_or(0).min(1 << 24));
    for (i, item) in iterator.enumerate() {
        check_signals_at(value.py(), i)?;
        items.push(extract(&item?, || format!("{what} at position {i}"))?);
    }
    Ok(Numbers { items, from_array: false })
}

/// Reads a fingerprint: an integer, or 16 hex digits.
pub(crate) fn fingerprint(value: &Bound<'_, PyAny>) -> PyResult<Fingerprint> {
    if value.is_instance_of::<PyString>() {
        let hex = crate::texts::from_python(value, "fingerprint")?;
        return Fingerprint::from_hex(&hex).map_err(engine_error);
    }
    integer(value, "fingerprint").map(Fingerprint::from_u64)
}

/// Reads a list or an array of fingerprints.
pub(crate) fn fingerprints(value: &Bound<'_, PyAny>, what: &str) -> PyResult<Numbers<Fingerprint>> {
    let Numbers { items, from_array } = integers::<u64>(value, what)?;
    Ok(Numbers { items: items.into_iter().map(Fingerprint::from_u64).collect(), from_array })
}

/// Reads the number of a document in an index.
pub(crate) fn document(value: &Bound<'_, PyAny>) -> PyResult<DocNumber> {
    integer(value, "doc").map(DocNumber)
}

/// The values of a two-dimensional array, row after row.
pub(crate) struct Matrix {
    pub(crate) values: Vec<u32>,
    pub(crate) columns: usize,
}

/// Reads a two-dimensional array of uint32.
pub(crate) fn matrix(value: &Bound<'_, PyAny>, what: &str) -> PyResult<Matrix> {
    let Ok(array) = value.cast::<PyUntypedArray>() else {
        return Err(type_error(format!(
            "{what} is of type {}: must be an array of uint32 with two dimensions",
            type_name(value)
        )));
    };
    let Ok(array) = value.cast::<PyArray2<u32>>() else { return Err(wrong_array::<u32>(array, what, 2)) };
    check_not_masked(value, what)?;
    Ok(Matrix { values: copy(array.to_dyn()), columns: array.shape()[1] })
}

/// Returns an error if an item of a masked array is masked, because its value is not meant to be used.
fn check_not_masked(array: &Bound<'_, PyAny>, what: &str) -> PyResult<()> {
    let Some(mask) = array.getattr_opt("mask")? else { return Ok(()) };
    if !mask.call_method0("any")?.is_truthy()? {
        return Ok(());
    }
    let at = mask.call_method0("argmax")?;
    Err(type_error(format!("{what} at position {at} is masked: remove masked items with `.compressed()`")))
}

/// Copies an array in row-major order, for any strides.
fn copy<T: Integer>(array: &Bound<'_, PyArrayDyn<T>>) -> Vec<T> {
    let array = array.readonly();
    match array.as_slice() {
        Ok(slice) => slice.to_vec(),
        Err(_) => array.as_array().iter().copied().collect(),
    }
}

fn extract<T: Integer>(value: &Bound<'_, PyAny>, place: impl Fn() -> String) -> PyResult<T> {
    let wrong_type = || {
        let found = type_name(value);
        type_error(format!("{} is of type {found}: must be an integer, {}", place(), T::RANGE))
    };
    if value.is_instance_of::<PyBool>() {
        return Err(wrong_type());
    }
    value.extract::<T>().map_err(|error| {
        let error: PyErr = error.into();
        if error.is_instance_of::<PyOverflowError>(value.py()) {
            let digits = value.str().map(|text| text.to_string()).unwrap_or_default();
            return number_error(format!("{} is {}: must be {}", place(), excerpt(&digits), T::RANGE));
        }
        wrong_type()
    })
}

fn wrong_array<T: Integer>(array: &Bound<'_, PyUntypedArray>, what: &str, dimensions: usize) -> PyErr {
    let found = array.dtype().to_string();
    let expected = T::DTYPE;
    let ndim = array.ndim();
    let plural = if ndim == 1 { "" } else { "s" };
    let remedy = if found == expected {
        "reshape it".to_owned()
    } else {
        format!("convert it with `.astype(\"{expected}\")`")
    };
    type_error(format!(
        "{what} is an array of {found} with {ndim} dimension{plural}: must be an array of {expected} with \
         {dimensions}; {remedy}"
    ))
}

/// Checks that an argument is in a range.
pub(crate) fn in_range(value: i64, name: &str, range: RangeInclusive<u32>) -> PyResult<u32> {
    match u32::try_from(value) {
        Ok(number) if range.contains(&number) => Ok(number),
        _ => {
            let (min, max) = range.into_inner();
            let max = if max == u32::MAX { "2**32 - 1".to_owned() } else { max.to_string() };
            Err(setting_error(format!("`{name}` is {value}: must be {min} to {max}")))
        }
    }
}

/// Checks that an argument is not less than a minimum.
pub(crate) fn at_least(value: i64, name: &str, min: usize) -> PyResult<usize> {
    match usize::try_from(value) {
        Ok(number) if number >= min => Ok(number),
        _ => Err(setting_error(format!("`{name}` is {value}: must be at least {min}"))),
    }
}

/// Reads `bytes`, a `bytearray` or a `memoryview`.
pub(crate) fn bytes_like<'py>(value: &Bound<'py, PyAny>, what: &str) -> PyResult<Bound<'py, PyBytes>> {
    if let Ok(bytes) = value.cast::<PyBytes>() {
        return Ok(bytes.clone());
    }
    let is_buffer = value.is_instance_of::<PyByteArray>() || value.is_instance_of::<PyMemoryView>();
    if !is_buffer {
        return Err(type_error(format!("{what} is of type {}: must be bytes", type_name(value))));
    }
    Ok(value.py().get_type::<PyBytes>().call1((value,))?.cast_into()?)
}

/// Checks that two named lists have the same length.
pub(crate) fn same_length(a: (&str, usize), b: (&str, usize)) -> PyResult<()> {
    if a.1 == b.1 {
        return Ok(());
    }
    Err(setting_error(format!("{} has {} items and {} has {}: lengths must be equal", a.0, a.1, b.0, b.1)))
}
