//! `encode_sketch` and `decode_sketch`: sketches in their stored form, which carries its kind, its scheme and a checksum.

use crate::error::engine_error;
use crate::numbers::{bytes_like, fingerprint};
use crate::sdr::Sdr;
use crate::sketchers::Signature;
use pyo3::IntoPyObjectExt;
use pyo3::prelude::*;
use pyo3::types::PyBytes;
use sameish::sketch::{SchemeId, Stored};

/// Encodes a sketch in the stored form of every interface, which carries its kind, its scheme and a checksum.
///
/// Args:
///     sketch: A fingerprint (an integer from 0 to 2**64 - 1, or a str of 16 hex digits), a `Signature`
///         or an `Sdr`.
///     scheme: Scheme of the sketch, as 16 hex digits: `Engine.schemes` has the schemes of an engine.
///
/// Returns:
///     The stored sketch, as bytes.
///
/// Raises:
///     SchemeMismatch: The signature has another scheme.
///
/// Examples:
///     >>> import sameish
///     >>> engine = sameish.Engine("wire")
///     >>> stored = sameish.encode_sketch(engine.sketch("storm hits the coast").simhash, engine.schemes.simhash)
///     >>> sameish.decode_sketch(stored, engine.schemes.simhash) == sameish.simhash("storm hits the coast")
///     True
#[pyfunction]
pub(crate) fn encode_sketch<'py>(sketch: &Bound<'py, PyAny>, scheme: &str) -> PyResult<Bound<'py, PyBytes>> {
    let scheme = SchemeId::from_hex(scheme).map_err(engine_error)?;
    let stored = if let Ok(signature) = sketch.cast::<Signature>() {
        let Signature { inner, scheme: found } = signature.get();
        if *found != scheme {
            return Err(engine_error(sameish::Error::SchemeMismatch { expected: scheme, found: *found }));
        }
        Stored::Signature(inner.clone())
    } else if let Ok(sdr) = sketch.cast::<Sdr>() {
        Stored::Sdr(sdr.get().inner.clone())
    } else {
        Stored::Fingerprint(fingerprint(sketch)?)
    };
    Ok(PyBytes::new(sketch.py(), &sameish::sketch::encode_sketch(&stored, scheme)))
}

/// Decodes a sketch that `encode_sketch`, or another interface, has encoded.
///
/// Args:
///     stored: The stored sketch: bytes, bytearray or memoryview. A checksum is verified.
///     scheme: Expected scheme, as 16 hex digits.
///
/// Returns:
///     The fingerprint as an integer, the `Signature`, or the `Sdr`.
///
/// Raises:
///     SchemeMismatch: The sketch has another scheme.
///     CorruptFile: The bytes are damaged or truncated.
#[pyfunction]
pub(crate) fn decode_sketch<'py>(stored: &Bound<'py, PyAny>, scheme: &str) -> PyResult<Bound<'py, PyAny>> {
    let py = stored.py();
    let bytes = bytes_like(stored, "`stored`")?;
    let scheme = SchemeId::from_hex(scheme).map_err(engine_error)?;
    match sameish::sketch::decode_sketch(bytes.as_bytes(), scheme).map_err(engine_error)? {
        Stored::Fingerprint(fingerprint) => fingerprint.as_u64().into_bound_py_any(py),
        Stored::Signature(inner) => Bound::new(py, Signature { inner, scheme })?.into_bound_py_any(py),
        Stored::Sdr(inner) => Bound::new(py, Sdr { inner })?.into_bound_py_any(py),
    }
}
