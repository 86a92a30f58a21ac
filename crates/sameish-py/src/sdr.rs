//! Sparse codes, with the parameters of seed 002's encoder.

use crate::error::{refused, setting, wrong_type};
use crate::numbers::between;
use crate::texts;
use crate::work::{Progress, SHORT, apart};
use numpy::PyArray1;
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyMapping, PyTuple};
use sameish::config::MAX_SDR_SIZE;
use sameish::{Config, Content, Preset, SdrConfig};
use std::collections::BTreeMap;
use std::sync::Arc;

/// Makes sparse codes of texts or tokens. Texts with common tokens have codes that overlap.
///
/// Give `active_bits` or `sparsity`, a share of the bits.
///
/// >>> from sameish import SdrEncoder
/// >>> encoder = SdrEncoder(400, active_bits=21)
/// >>> sky = encoder.encode("The sky is beautiful today")
/// >>> sun = encoder.encode(["the", "sun", "is", "beautiful", "today"])
/// >>> len(sky.sparse), sky.dense.shape, sky.overlap(sun) > 5
/// (21, (400,), True)
#[pyclass(frozen, module = "sameish")]
pub(crate) struct SdrEncoder {
    inner: Arc<sameish::SdrEncoder>,
}

impl SdrEncoder {
    fn of(config: SdrConfig) -> PyResult<SdrEncoder> {
        Ok(SdrEncoder { inner: Arc::new(sameish::SdrEncoder::new(config).map_err(refused)?) })
    }
}

/// Tokens and their weights.
fn weights(words: &Bound<'_, PyAny>) -> PyResult<BTreeMap<String, u32>> {
    let wrong = || {
        wrong_type("`vocabulary` must be a mapping of tokens to their weights, which are integers from 0 on")
    };
    let words = words.cast::<PyMapping>().map_err(|_| wrong())?;
    words.items()?.iter().map(|item| item.extract().map_err(|_| wrong())).collect()
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
        size: i64,
        active_bits: Option<i64>,
        sparsity: Option<f32>,
        case_sensitivity: bool,
        token_similarity: bool,
        vocabulary: Option<&Bound<'_, PyAny>>,
        encode_orphans: bool,
        excludes: Option<&Bound<'_, PyAny>>,
        frequency_floor: i64,
        frequency_ceiling: i64,
    ) -> PyResult<SdrEncoder> {
        let vocabulary = vocabulary.map(weights).transpose()?;
        let excludes = match excludes.map(|tokens| texts::content(tokens, "`excludes`", false)).transpose()? {
            None => Vec::new(),
            Some(Content::Tokens(tokens)) => tokens,
            Some(Content::Text(_)) => {
                return Err(wrong_type("`excludes` is a single str: must be a list of tokens"));
            }
        };
        let active_bits = active_bits.map(|bits| between(bits, "active_bits", 1..=MAX_SDR_SIZE));
        let config = SdrConfig {
            size: between(size, "size", 1..=MAX_SDR_SIZE)?,
            active_bits: active_bits.transpose()?,
            sparsity,
            case_sensitivity,
            token_similarity,
            vocabulary,
            encode_orphans,
            excludes,
            frequency_floor: between(frequency_floor, "frequency_floor", 0..=u32::MAX)?,
            frequency_ceiling: between(frequency_ceiling, "frequency_ceiling", 0..=u32::MAX)?,
        };
        SdrEncoder::of(config)
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
        let content = texts::content(text, "text", false)?;
        let progress = Progress::silent().small_if(texts::size(&content) <= SHORT);
        let encoder = Arc::clone(&self.inner);
        let inner = apart(py, progress, move |_| match &content {
            Content::Text(text) => encoder.encode(text),
            Content::Tokens(tokens) => encoder.encode_tokens(tokens),
        })?;
        Ok(Sdr { inner })
    }

    fn __repr__(&self) -> PyResult<String> {
        Ok(format!("<SdrEncoder of {} bits, {} active>", self.size(), self.active_bits()?))
    }

    fn __reduce__<'py>(slf: &Bound<'py, SdrEncoder>) -> PyResult<(Bound<'py, PyAny>, Bound<'py, PyTuple>)> {
        let config = Config { sdr: Some(slf.get().inner.config().clone()), ..Preset::Sdr.config() };
        Ok((slf.get_type().getattr("_restore")?, (config.to_toml(),).into_pyobject(slf.py())?))
    }

    /// What a pickle has.
    #[staticmethod]
    fn _restore(config: &str) -> PyResult<SdrEncoder> {
        let config = Config::from_toml(config).map_err(refused)?.sdr;
        SdrEncoder::of(config.ok_or_else(|| setting("`config` has no section `sdr`"))?)
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
    fn checked(size: i64, active: Vec<u32>) -> PyResult<Sdr> {
        let size = between(size, "size", 1..=MAX_SDR_SIZE)?;
        let inner = sameish::Sdr::from_active(size, active);
        let inner =
            inner.map_err(|_| setting(format!("`active` must be bits below {size} in rising order")))?;
        Ok(Sdr { inner })
    }
}

#[pymethods]
impl Sdr {
    #[new]
    fn new(size: i64, active: &Bound<'_, PyAny>) -> PyResult<Sdr> {
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
    fn _restore(size: i64, active: &[u8]) -> PyResult<Sdr> {
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
