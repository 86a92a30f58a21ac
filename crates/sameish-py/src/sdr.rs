//! Sparse codes, with the parameters of seed 002's encoder.

use crate::error::{refused, setting, wrong_type};
use crate::texts;
use numpy::PyArray1;
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyTuple};
use sameish::config::MAX_SDR_SIZE;
use sameish::{Content, SdrConfig};
use std::collections::BTreeMap;

/// Makes sparse codes of texts or tokens. Texts with common tokens have codes that overlap.
///
/// Give `active_bits` or `sparsity`, not both; without either, 2 % of the bits are active.
///
/// >>> from sameish import SdrEncoder
/// >>> encoder = SdrEncoder(400, active_bits=21)
/// >>> sky = encoder.encode("The sky is beautiful today")
/// >>> sun = encoder.encode(["the", "sun", "is", "beautiful", "today"])
/// >>> len(sky.sparse), sky.dense.shape, sky.overlap(sun) > 5
/// (21, (400,), True)
#[pyclass(frozen, module = "sameish")]
pub(crate) struct SdrEncoder {
    inner: sameish::SdrEncoder,
}

#[pymethods]
impl SdrEncoder {
    #[new]
    #[pyo3(signature = (
        size=2048, active_bits=None, sparsity=None, *, case_sensitivity=false, token_similarity=false, vocabulary=None,
        encode_orphans=false, excludes=None, frequency_floor=0, frequency_ceiling=0,
    ))]
    #[allow(clippy::too_many_arguments)]
    fn new(
        size: u32,
        active_bits: Option<u32>,
        sparsity: Option<f32>,
        case_sensitivity: bool,
        token_similarity: bool,
        vocabulary: Option<&Bound<'_, PyAny>>,
        encode_orphans: bool,
        excludes: Option<&Bound<'_, PyAny>>,
        frequency_floor: u32,
        frequency_ceiling: u32,
    ) -> PyResult<SdrEncoder> {
        let vocabulary: Option<BTreeMap<String, u32>> =
            vocabulary.map(|words| words.extract()).transpose().map_err(|_| {
                wrong_type(
                    "`vocabulary` must be a dict of tokens and their weights, which are integers from 0 on",
                )
            })?;
        let excludes = match excludes.map(|tokens| texts::content(tokens, "`excludes`")).transpose()? {
            None => Vec::new(),
            Some(Content::Tokens(tokens)) => tokens,
            Some(Content::Text(_)) => {
                return Err(wrong_type("`excludes` is a single str: must be a list of tokens"));
            }
        };
        let sparsity = if active_bits.is_none() { sparsity.or(Some(0.02)) } else { sparsity };
        let config = SdrConfig {
            size,
            active_bits,
            sparsity,
            case_sensitivity,
            token_similarity,
            vocabulary,
            encode_orphans,
            excludes,
            frequency_floor,
            frequency_ceiling,
        };
        Ok(SdrEncoder { inner: sameish::SdrEncoder::new(config).map_err(refused)? })
    }

    /// Bits of a code.
    #[getter]
    fn size(&self) -> u32 {
        self.inner.config().size
    }

    /// How many of them are active.
    #[getter]
    fn active_bits(&self) -> PyResult<u32> {
        self.inner.config().bits().map_err(refused)
    }

    /// The code of a text, split at white space, or of tokens, taken as they are.
    fn encode(&self, py: Python<'_>, text: &Bound<'_, PyAny>) -> PyResult<Sdr> {
        let content = texts::content(text, "text")?;
        let inner = py.detach(|| match &content {
            Content::Text(text) => self.inner.encode(text),
            Content::Tokens(tokens) => self.inner.encode_tokens(tokens),
        });
        Ok(Sdr { inner })
    }

    fn __repr__(&self) -> PyResult<String> {
        Ok(format!("<SdrEncoder of {} bits, {} active>", self.size(), self.active_bits()?))
    }
}

/// A sparse code: a few active bits out of many.
#[pyclass(frozen, eq, hash, module = "sameish")]
#[derive(PartialEq, Eq, Hash)]
pub(crate) struct Sdr {
    pub(crate) inner: sameish::Sdr,
}

impl Sdr {
    /// A code of a size that an encoder may have, so that its dense form fits into memory.
    fn checked(size: u32, active: Vec<u32>) -> PyResult<Sdr> {
        if size > MAX_SDR_SIZE {
            return Err(setting(format!("`size` is {size}: must be at most {MAX_SDR_SIZE}")));
        }
        Ok(Sdr { inner: sameish::Sdr::from_active(size, active).map_err(refused)? })
    }
}

#[pymethods]
impl Sdr {
    #[new]
    fn new(size: u32, active: &Bound<'_, PyAny>) -> PyResult<Sdr> {
        let active = crate::numbers::many::<u32>(active, "active bits")?.items;
        Sdr::checked(size, active)
    }

    /// How many bits there are.
    #[getter]
    fn size(&self) -> u32 {
        self.inner.size()
    }

    /// The positions of the active bits in rising order, as an array of uint32.
    #[getter]
    fn sparse<'py>(&self, py: Python<'py>) -> Bound<'py, PyArray1<u32>> {
        PyArray1::from_slice(py, self.inner.active())
    }

    /// Every bit, as an array of bool.
    #[getter]
    fn dense<'py>(&self, py: Python<'py>) -> Bound<'py, PyArray1<bool>> {
        PyArray1::from_vec(py, self.inner.dense())
    }

    /// How many active bits two codes of one size have in common.
    fn overlap(&self, other: &Sdr) -> PyResult<usize> {
        self.inner.overlap(&other.inner).map_err(refused)
    }

    fn __repr__(&self) -> String {
        format!("<Sdr of {} bits, {} active>", self.inner.size(), self.inner.active().len())
    }

    fn __reduce__<'py>(slf: &Bound<'py, Sdr>) -> PyResult<(Bound<'py, PyAny>, Bound<'py, PyTuple>)> {
        let code = &slf.get().inner;
        let bytes: Vec<u8> = code.active().iter().flat_map(|bit| bit.to_le_bytes()).collect();
        let fields = (code.size(), PyBytes::new(slf.py(), &bytes)).into_pyobject(slf.py())?;
        Ok((slf.get_type().getattr("_restore")?, fields))
    }

    /// What a pickle has.
    #[staticmethod]
    fn _restore(size: u32, active: &[u8]) -> PyResult<Sdr> {
        let (bits, []) = active.as_chunks::<4>() else {
            return Err(refused(sameish::Error::Corrupt {
                reason: "active bits cut off",
                offset: active.len(),
            }));
        };
        let bits = bits.iter().map(|&bit| u32::from_le_bytes(bit)).collect();
        Sdr::checked(size, bits)
    }
}
