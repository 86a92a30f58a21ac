//! `SdrEncoder` and `Sdr`: sparse codes of texts.

use crate::error::{engine_error, setting_error, type_error};
use crate::interrupt::{INLINE_BYTES, Progress, run_detached};
use crate::numbers::{in_range, integers};
use crate::texts;
use numpy::PyArray1;
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyMapping, PyTuple};
use sameish::config::MAX_SDR_SIZE;
use sameish::config::SdrConfig;
use sameish::{Config, Content, Preset};
use std::collections::BTreeMap;
use std::sync::Arc;

/// Encodes texts as sparse binary codes (SDRs) with SHAKE256.
///
/// Texts with common tokens have overlapping codes. The parameters are those of the sparse document
/// encoder that the preset `sdr` implements. Exactly one of `active_bits` and `sparsity` must be
/// given.
///
/// Args:
///     size: Number of bits of a code, 2 to 2**24; default 2048.
///     active_bits: Number of set bits, at least 1 and less than `size`; default None.
///     sparsity: Fraction of the bits that are set, 0 to 1; default None.
///     case_sensitivity: Whether upper and lower case ASCII letters differ; default False.
///     token_similarity: Whether the bytes of each token are also encoded, so that tokens with common
///         letters have overlapping codes; default False.
///     vocabulary: Tokens and their weights, 0 to 2**32 - 1. Other tokens are ignored unless
///         `encode_orphans` is set. Default None: every token has weight 1.
///     encode_orphans: Whether tokens that are not in the vocabulary are encoded with weight 1; default
///         False. Requires `vocabulary`.
///     excludes: Tokens that are ignored; default None.
///     frequency_floor: Number of initial occurrences of each token that are ignored, 0 to 2**32 - 1;
///         default 0.
///     frequency_ceiling: Occurrences of a token from this number on, counted from 1, are ignored;
///         greater than `frequency_floor`. Default 0: no limit.
///
/// Examples:
///     >>> from sameish import SdrEncoder
///     >>> encoder = SdrEncoder(400, active_bits=21)
///     >>> sky = encoder.encode("The sky is beautiful today")
///     >>> sun = encoder.encode(["the", "sun", "is", "beautiful", "today"])
///     >>> len(sky.sparse), sky.dense.shape, sky.overlap(sun) > 5
///     (21, (400,), True)
#[pyclass(frozen, module = "sameish")]
pub(crate) struct SdrEncoder {
    inner: Arc<sameish::sketch::SdrEncoder>,
}

impl SdrEncoder {
    fn from_config(config: SdrConfig) -> PyResult<SdrEncoder> {
        Ok(SdrEncoder { inner: Arc::new(sameish::sketch::SdrEncoder::new(config).map_err(engine_error)?) })
    }
}

/// Reads a mapping of tokens to weights.
fn vocabulary(mapping: &Bound<'_, PyAny>) -> PyResult<BTreeMap<String, u32>> {
    let invalid =
        || type_error("`vocabulary` must be a mapping of str to int; weights must be 0 to 2**32 - 1");
    let mapping = mapping.cast::<PyMapping>().map_err(|_| invalid())?;
    mapping.items()?.iter().map(|item| item.extract().map_err(|_| invalid())).collect()
}

/// Reads a list of tokens.
fn excludes(tokens: &Bound<'_, PyAny>) -> PyResult<Vec<String>> {
    match texts::content(tokens, "`excludes`", false)? {
        Content::Tokens(tokens) => Ok(tokens),
        Content::Text(_) | Content::Sketches(_) => {
            Err(type_error("`excludes` is a single str: must be a list of tokens"))
        }
    }
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
        let active_bits = active_bits.map(|bits| in_range(bits, "active_bits", 1..=MAX_SDR_SIZE));
        SdrEncoder::from_config(SdrConfig {
            vocabulary: vocabulary.map(self::vocabulary).transpose()?,
            excludes: excludes.map(self::excludes).transpose()?.unwrap_or_default(),
            size: in_range(size, "size", 1..=MAX_SDR_SIZE)?,
            active_bits: active_bits.transpose()?,
            sparsity,
            case_sensitivity,
            token_similarity,
            encode_orphans,
            frequency_floor: in_range(frequency_floor, "frequency_floor", 0..=u32::MAX)?,
            frequency_ceiling: in_range(frequency_ceiling, "frequency_ceiling", 0..=u32::MAX)?,
        })
    }

    /// Number of bits of a code.
    #[getter]
    fn size(&self) -> u32 {
        self.inner.config().size
    }

    /// Number of set bits of a code.
    #[getter]
    fn active_bits(&self) -> PyResult<u32> {
        self.inner.config().bits().map_err(engine_error)
    }

    /// Encodes a text.
    ///
    /// Args:
    ///     text: A str, which is split at whitespace, or a list of tokens.
    ///
    /// Returns:
    ///     An `Sdr`.
    fn encode(&self, py: Python<'_>, text: &Bound<'_, PyAny>) -> PyResult<Sdr> {
        let content = texts::content(text, "text", false)?;
        let progress = Progress::none().inline_if(texts::size(&content) <= INLINE_BYTES);
        let encoder = Arc::clone(&self.inner);
        let inner = run_detached(py, progress, move |_| match &content {
            Content::Text(text) => encoder.encode(text),
            Content::Tokens(tokens) => encoder.encode_tokens(tokens),
            Content::Sketches(_) => encoder.encode_tokens::<&str>([]),
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

    /// Restores a pickled object.
    #[staticmethod]
    fn _restore(config: &str) -> PyResult<SdrEncoder> {
        let config = Config::from_toml(config).map_err(engine_error)?.sdr;
        SdrEncoder::from_config(config.ok_or_else(|| setting_error("`config` has no section `sdr`"))?)
    }
}

/// A sparse binary code: a few set bits out of many.
///
/// Args:
///     size: Number of bits, 1 to 2**24.
///     active: Positions of the set bits, in ascending order: a list of integers, or an array of uint32.
#[pyclass(frozen, eq, hash, module = "sameish")]
#[derive(PartialEq, Eq, Hash)]
pub(crate) struct Sdr {
    pub(crate) inner: sameish::Sdr,
}

impl Sdr {
    /// Creates a code. The size is limited, so that the dense form fits into memory.
    fn from_active(size: i64, active: Vec<u32>) -> PyResult<Sdr> {
        let size = in_range(size, "size", 1..=MAX_SDR_SIZE)?;
        let inner = sameish::Sdr::from_active(size, active).map_err(|_| {
            setting_error(format!("`active` must contain distinct positions below {size} in ascending order"))
        })?;
        Ok(Sdr { inner })
    }
}

#[pymethods]
impl Sdr {
    #[new]
    fn new(size: i64, active: &Bound<'_, PyAny>) -> PyResult<Sdr> {
        Sdr::from_active(size, integers(active, "active bits")?.items)
    }

    /// Number of bits.
    #[getter]
    fn size(&self) -> u32 {
        self.inner.size()
    }

    /// Positions of the set bits in ascending order, as an array of uint32.
    #[getter]
    fn sparse<'py>(&self, py: Python<'py>) -> Bound<'py, PyArray1<u32>> {
        PyArray1::from_slice(py, self.inner.active())
    }

    /// All bits, as an array of bool.
    #[getter]
    fn dense<'py>(&self, py: Python<'py>) -> Bound<'py, PyArray1<bool>> {
        PyArray1::from_vec(py, self.inner.dense())
    }

    /// Returns the number of bits that are set in both codes.
    ///
    /// Args:
    ///     other: A code of the same size.
    ///
    /// Returns:
    ///     Number of common set bits.
    ///
    /// Raises:
    ///     SchemeMismatch: The codes have different sizes.
    fn overlap(&self, other: &Sdr) -> PyResult<usize> {
        self.inner.overlap(&other.inner).map_err(engine_error)
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

    /// Restores a pickled object.
    #[staticmethod]
    fn _restore(size: i64, active: &[u8]) -> PyResult<Sdr> {
        let (bits, []) = active.as_chunks::<4>() else {
            return Err(engine_error(sameish::Error::Corrupt {
                reason: "active bits are truncated",
                offset: active.len(),
            }));
        };
        Sdr::from_active(size, bits.iter().map(|&bit| u32::from_le_bytes(bit)).collect())
    }
}
