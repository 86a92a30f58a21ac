//! `SimHasher`, `MinHasher` and `Signature`: fingerprints and signatures of texts.

use crate::analyzer::PyAnalyzer;
use crate::error::{engine_error, setting_error, type_error};
use crate::numbers;
use crate::settings;
use numpy::{PyArray1, PyArray2, PyArrayMethods};
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyDict, PyTuple};
use sameish::Fingerprint;
use sameish::sketch::SchemeId;

/// Computes the 64-bit SimHash fingerprint of a text under a preset.
///
/// Args:
///     text: A str, or a list of tokens. Also bytes if `preset` is `"web"`.
///     preset: `"wire"` (the default), `"articles"` or `"web"`.
///
/// Returns:
///     The fingerprint, 0 to 2**64 - 1; 0 if the text has no words.
///
/// Examples:
///     >>> import sameish
///     >>> f"{sameish.simhash('Breaking news: Major earthquake hits city'):016x}"
///     'f10893b1083a30a2'
#[pyfunction]
#[pyo3(signature = (text, preset="wire"))]
pub(crate) fn simhash(text: &Bound<'_, PyAny>, preset: &str) -> PyResult<u64> {
    let analyzer = PyAnalyzer::new(settings::config(Some(preset), None, None)?)?;
    let fingerprint = analyzer.sketch_text(text)?.simhash.ok_or_else(|| {
        setting_error(format!(
            "preset `{preset}` does not compute fingerprints: use `wire`, `articles` or `web`"
        ))
    })?;
    Ok(fingerprint.as_u64())
}

/// Returns the Hamming distance of two fingerprints: the number of bits in which they differ.
///
/// Args:
///     a: First fingerprint: an integer from 0 to 2**64 - 1, or a str of 16 hex digits.
///     b: Second fingerprint.
///
/// Returns:
///     The distance in bits, 0 to 64.
///
/// Examples:
///     >>> import sameish
///     >>> sameish.hamming("a1b2c3d4e5f6a7b8", 0xa1b2c3d4e5f6a7b9)
///     1
#[pyfunction]
pub(crate) fn hamming(a: &Bound<'_, PyAny>, b: &Bound<'_, PyAny>) -> PyResult<u32> {
    Ok(numbers::fingerprint(a)?.distance(numbers::fingerprint(b)?))
}

/// Returns the similarity of two fingerprints with a Hamming distance: 1 - distance / 64.
///
/// Args:
///     distance: Distance in bits, 0 to 64; an average may have a fraction.
///
/// Returns:
///     The similarity, 0 to 1.
///
/// Examples:
///     >>> import sameish
///     >>> sameish.distance_to_similarity(3)
///     0.953125
#[pyfunction]
pub(crate) fn distance_to_similarity(distance: f64) -> PyResult<f64> {
    Ok(sameish::matching::distance_to_similarity(checked_distance(distance)?))
}

/// Classifies a Hamming distance of two fingerprints.
///
/// Args:
///     distance: Distance in bits, 0 to 64; a fraction is rounded up.
///
/// Returns:
///     `"exact"` for 0, `"near"` for up to 3, `"similar"` for up to 10, otherwise `"different"`.
///
/// Examples:
///     >>> import sameish
///     >>> [sameish.match_type(distance) for distance in (0, 2, 7, 15)]
///     ['exact', 'near', 'similar', 'different']
#[pyfunction]
pub(crate) fn match_type(distance: f64) -> PyResult<String> {
    let distance = checked_distance(distance)?.ceil() as u32;
    Ok(sameish::matching::MatchType::of_distance(distance).to_string())
}

fn checked_distance(distance: f64) -> PyResult<f64> {
    match (0.0..=64.0).contains(&distance) {
        true => Ok(distance),
        false => Err(setting_error(format!("`distance` is {distance}: must be 0 to 64"))),
    }
}

/// Computes 64-bit SimHash fingerprints of texts.
///
/// Args:
///     shingle: Features of a text: `"words:N"`, `"chars:N"` or `"windows:N"` with N from 1 to 64, or
///         `"letters"`; default `"words:1"`.
///     tokenizer: `"unicode"` (the default), `"ascii-words"` or `"whitespace"`.
///     hash: Hash function of tokens: `"xxh3"` (the default) or `"fnv1a"`, which requires the shingle
///         `"words:1"`.
///     weighting: Weight of a feature: its number of occurrences (`"frequency"`, the default) or 1
///         (`"uniform"`).
///     stop_words: Words that are removed: those of a language, as a two-letter code such as `"en"`, or
///         a list of words; default None.
///
/// Examples:
///     >>> from sameish import SimHasher
///     >>> hasher = SimHasher()
///     >>> a, b = hasher.sketch("storm hits the coast"), hasher.sketch("STORM hits the coast")
///     >>> a == b
///     True
///     >>> hasher.sketch_many(["storm hits the coast", ""]).tolist() == [a, 0]
///     True
#[pyclass(frozen, module = "sameish")]
pub(crate) struct SimHasher {
    analyzer: PyAnalyzer,
}

#[pymethods]
impl SimHasher {
    #[new]
    #[pyo3(signature = (*, shingle="words:1", tokenizer="unicode", hash="xxh3", weighting="frequency", stop_words=None))]
    fn new(
        py: Python<'_>,
        shingle: &str,
        tokenizer: &str,
        hash: &str,
        weighting: &str,
        stop_words: Option<&Bound<'_, PyAny>>,
    ) -> PyResult<SimHasher> {
        let simhash = PyDict::new(py);
        simhash.set_item("shingle", shingle)?;
        simhash.set_item("hash", hash)?;
        simhash.set_item("weighting", weighting)?;
        let keywords = text_settings(py, tokenizer, stop_words, 1)?;
        keywords.set_item("simhash", simhash)?;
        let analyzer = PyAnalyzer::new(settings::config(Some("wire"), None, Some(&keywords))?)?;
        Ok(SimHasher { analyzer })
    }

    /// Computes the fingerprint of a text.
    ///
    /// Args:
    ///     text: A str, or a list of tokens.
    ///
    /// Returns:
    ///     The fingerprint, 0 to 2**64 - 1; 0 if the text has no words.
    fn sketch(&self, text: &Bound<'_, PyAny>) -> PyResult<u64> {
        Ok(self.analyzer.sketch_text(text)?.simhash.unwrap_or_default().as_u64())
    }

    /// Computes the fingerprints of many texts in parallel.
    ///
    /// Args:
    ///     texts: A list of str, or an Arrow column of strings.
    ///     threads: Number of threads, 1 to 1024; default: one per processor. It does not affect the
    ///         result.
    ///     progress: Called as `progress(done, total)` about 20 times per second, in texts; default
    ///         None. An exception that it raises ends the call.
    ///
    /// Returns:
    ///     An array of uint64 with one fingerprint per text; 0 for a null or a text without words.
    #[pyo3(signature = (texts, *, threads=None, progress=None))]
    fn sketch_many<'py>(
        &self,
        texts: &Bound<'py, PyAny>,
        threads: Option<i64>,
        progress: Option<&Bound<'_, PyAny>>,
    ) -> PyResult<Bound<'py, PyArray1<u64>>> {
        let fingerprints = self.analyzer.sketch_rows(texts, 1, threads, progress, |sketches, row| {
            let fingerprint = sketches.and_then(|sketches| sketches.simhash);
            row[0] = fingerprint.unwrap_or_default().as_u64();
        })?;
        Ok(PyArray1::from_vec(texts.py(), fingerprints))
    }

    /// Computes the fingerprint of features that the caller has hashed.
    ///
    /// Args:
    ///     features: 64-bit hashes: a list of integers, or an array of uint64.
    ///     weights: One weight per feature, 0 to 1,000,000; default None: every feature has weight 1.
    ///
    /// Returns:
    ///     The fingerprint, 0 to 2**64 - 1; 0 if there are no features.
    #[staticmethod]
    #[pyo3(signature = (features, weights=None))]
    fn sketch_features(
        py: Python<'_>,
        features: &Bound<'_, PyAny>,
        weights: Option<&Bound<'_, PyAny>>,
    ) -> PyResult<u64> {
        let features = numbers::integers::<u64>(features, "features")?.items;
        let Some(weights) = weights else {
            return Ok(py.detach(|| sameish::sketch::SimHasher.sketch(&features)).as_u64());
        };
        let weights: Vec<f64> =
            weights.extract().map_err(|_| type_error("weights must be a list or an array of numbers"))?;
        numbers::same_length(("features", features.len()), ("weights", weights.len()))?;
        let votes = features.into_iter().zip(weights);
        let fingerprint = py.detach(|| sameish::sketch::SimHasher.sketch_weighted(votes));
        fingerprint.map(Fingerprint::as_u64).map_err(engine_error)
    }

    fn __repr__(&self) -> String {
        let config = self.analyzer.config().simhash.as_ref();
        format!("<SimHasher of {}>", config.map(|config| config.shingle.to_string()).unwrap_or_default())
    }

    fn __reduce__<'py>(slf: &Bound<'py, SimHasher>) -> PyResult<(Bound<'py, PyAny>, Bound<'py, PyTuple>)> {
        reduce_by_config(slf.as_any(), &slf.get().analyzer)
    }

    /// Restores a pickled object.
    #[staticmethod]
    fn _restore(config: &str) -> PyResult<SimHasher> {
        Ok(SimHasher { analyzer: PyAnalyzer::from_toml(config)? })
    }
}

/// Computes MinHash signatures of texts.
///
/// The fraction of equal rows of two signatures estimates the Jaccard similarity of the texts'
/// shingles.
///
/// Args:
///     rows: Number of rows of a signature, 1 to 1024; default 128. A row takes 4 bytes.
///     shingle: Features of a text: `"words:N"`, `"chars:N"` or `"windows:N"` with N from 1 to 64, or
///         `"letters"`; default `"words:3"`.
///     tokenizer: `"unicode"` (the default), `"ascii-words"` or `"whitespace"`.
///     counting: Whether a repeated feature counts once (`"set"`, the default) or as often as it occurs
///         (`"multiset"`).
///     stop_words: Words that are removed: those of a language, as a two-letter code such as `"en"`, or
///         a list of words; default None.
///     min_words: Minimum number of words, without stop words; default 1. A text with fewer words has
///         no signature.
///
/// Examples:
///     >>> from sameish import MinHasher
///     >>> hasher = MinHasher(rows=256)
///     >>> a = hasher.sketch("the quick brown fox jumps over the lazy dog near the bank of the river")
///     >>> b = hasher.sketch("the quick brown fox jumps over the lazy dog near the bank of the canal")
///     >>> round(a.estimate(b), 1)
///     0.9
///     >>> hasher.sketch_many(["one two three four", ""]).shape
///     (2, 256)
#[pyclass(frozen, module = "sameish")]
pub(crate) struct MinHasher {
    analyzer: PyAnalyzer,
}

impl MinHasher {
    fn scheme(&self) -> SchemeId {
        self.analyzer.schemes().minhash.unwrap_or(SchemeId::from_u64(0))
    }
}

#[pymethods]
impl MinHasher {
    #[new]
    #[pyo3(signature = (rows=128, *, shingle="words:3", tokenizer="unicode", counting="set", stop_words=None, min_words=1))]
    fn new(
        py: Python<'_>,
        rows: i64,
        shingle: &str,
        tokenizer: &str,
        counting: &str,
        stop_words: Option<&Bound<'_, PyAny>>,
        min_words: i64,
    ) -> PyResult<MinHasher> {
        let minhash = PyDict::new(py);
        minhash.set_item("rows", rows)?;
        minhash.set_item("shingle", shingle)?;
        minhash.set_item("counting", counting)?;
        // There is no index here. One band of one row is valid for every number of rows.
        let bands = PyDict::new(py);
        bands.set_item("count", 1)?;
        bands.set_item("rows", 1)?;
        minhash.set_item("bands", bands)?;
        let keywords = text_settings(py, tokenizer, stop_words, min_words)?;
        keywords.set_item("minhash", minhash)?;
        let analyzer = PyAnalyzer::new(settings::config(Some("copies"), None, Some(&keywords))?)?;
        Ok(MinHasher { analyzer })
    }

    /// Number of rows of a signature.
    #[getter]
    fn rows(&self) -> usize {
        self.analyzer.config().minhash.as_ref().map_or(0, |minhash| minhash.rows as usize)
    }

    /// Computes the signature of a text.
    ///
    /// Args:
    ///     text: A str, or a list of tokens.
    ///
    /// Returns:
    ///     A `Signature`, or None if the text has too few words.
    fn sketch(&self, text: &Bound<'_, PyAny>) -> PyResult<Option<Signature>> {
        let signature = self.analyzer.sketch_text(text)?.minhash;
        Ok(signature.map(|inner| Signature { inner, scheme: self.scheme() }))
    }

    /// Computes the signatures of many texts in parallel.
    ///
    /// Args:
    ///     texts: A list of str, or an Arrow column of strings.
    ///     threads: Number of threads, 1 to 1024; default: one per processor. It does not affect the
    ///         result.
    ///     progress: Called as `progress(done, total)` about 20 times per second, in texts; default
    ///         None. An exception that it raises ends the call.
    ///
    /// Returns:
    ///     An array of uint32 with one signature per row. For a null or a text with too few words, all
    ///     values of the row are 2**32 - 1. That is not a signature: `BandIndex.insert_bulk` skips such
    ///     rows, and other functions raise `SettingError`.
    #[pyo3(signature = (texts, *, threads=None, progress=None))]
    fn sketch_many<'py>(
        &self,
        texts: &Bound<'py, PyAny>,
        threads: Option<i64>,
        progress: Option<&Bound<'_, PyAny>>,
    ) -> PyResult<Bound<'py, PyArray2<u32>>> {
        let rows = self.rows();
        let values =
            self.analyzer.sketch_rows(texts, rows, threads, progress, |sketches, row| {
                match sketches.and_then(|sketches| sketches.minhash) {
                    Some(signature) => row.copy_from_slice(signature.rows()),
                    None => row.fill(u32::MAX),
                }
            })?;
        let texts_count = values.len() / rows;
        PyArray1::from_vec(texts.py(), values).reshape([texts_count, rows])
    }

    /// Restores a stored signature of this hasher, or of one with equal parameters.
    ///
    /// Args:
    ///     stored: A row of `sketch_many`, or bytes that `Signature.to_bytes` returned.
    ///
    /// Returns:
    ///     The `Signature`.
    ///
    /// Raises:
    ///     SchemeMismatch: The signature has another number of rows.
    fn signature(&self, stored: &Bound<'_, PyAny>) -> PyResult<Signature> {
        let inner = match stored.cast::<PyBytes>() {
            Ok(bytes) => sameish::Signature::from_bytes(bytes.as_bytes()).map_err(engine_error)?,
            Err(_) => signature(stored)?,
        };
        let expected = self.rows();
        let found = inner.rows().len();
        if expected != found {
            let what = "signature rows";
            return Err(engine_error(sameish::Error::SizeMismatch { what, expected, found }));
        }
        Ok(Signature { inner, scheme: self.scheme() })
    }

    /// Computes the signature of features that the caller has hashed.
    ///
    /// The scheme differs from that of `sketch`, because the way the features were hashed is unknown.
    ///
    /// Args:
    ///     features: 64-bit hashes with well-mixed bits: a list of integers, or an array of uint64.
    ///
    /// Returns:
    ///     A `Signature`, or None if there are no features.
    fn sketch_features(&self, py: Python<'_>, features: &Bound<'_, PyAny>) -> PyResult<Option<Signature>> {
        let features = numbers::integers::<u64>(features, "features")?.items;
        let hasher = sameish::sketch::MinHasher::new(self.rows() as u32).map_err(engine_error)?;
        let scheme = SchemeId::of(&format!("minhash 1 of given features, {} rows", self.rows()));
        Ok(py.detach(|| hasher.sketch(&features)).map(|inner| Signature { inner, scheme }))
    }

    fn __repr__(&self) -> String {
        let config = self.analyzer.config().minhash.as_ref();
        let shingle = config.map(|config| config.shingle.to_string()).unwrap_or_default();
        format!("<MinHasher of {} rows, {shingle}>", self.rows())
    }

    fn __reduce__<'py>(slf: &Bound<'py, MinHasher>) -> PyResult<(Bound<'py, PyAny>, Bound<'py, PyTuple>)> {
        reduce_by_config(slf.as_any(), &slf.get().analyzer)
    }

    /// Restores a pickled object.
    #[staticmethod]
    fn _restore(config: &str) -> PyResult<MinHasher> {
        Ok(MinHasher { analyzer: PyAnalyzer::from_toml(config)? })
    }
}

/// A MinHash signature with the scheme under which it was computed.
#[pyclass(frozen, eq, hash, module = "sameish")]
#[derive(PartialEq, Eq, Hash)]
pub(crate) struct Signature {
    pub(crate) inner: sameish::Signature,
    pub(crate) scheme: SchemeId,
}

#[pymethods]
impl Signature {
    /// The rows, as an array of uint32.
    #[getter]
    fn rows<'py>(&self, py: Python<'py>) -> Bound<'py, PyArray1<u32>> {
        PyArray1::from_slice(py, self.inner.rows())
    }

    /// Identifier of the settings that determine the signature, as 16 hex digits.
    #[getter]
    fn scheme(&self) -> String {
        self.scheme.to_string()
    }

    /// Estimates the Jaccard similarity of two texts by the fraction of equal rows.
    ///
    /// Args:
    ///     other: A signature with the same scheme.
    ///
    /// Returns:
    ///     The estimate, 0 to 1.
    ///
    /// Raises:
    ///     SchemeMismatch: The signatures have different schemes.
    fn estimate(&self, other: &Signature) -> PyResult<f64> {
        if self.scheme != other.scheme {
            let mismatch = sameish::Error::SchemeMismatch { expected: self.scheme, found: other.scheme };
            return Err(engine_error(mismatch));
        }
        self.inner.estimate(&other.inner).map_err(engine_error)
    }

    /// Returns the rows as bytes: 4 bytes per row, little endian.
    fn to_bytes<'py>(&self, py: Python<'py>) -> Bound<'py, PyBytes> {
        PyBytes::new(py, &self.inner.to_bytes())
    }

    /// Returns the bytes of `to_bytes` as hex digits.
    fn to_hex(&self) -> String {
        self.inner.to_hex()
    }

    fn __len__(&self) -> usize {
        self.inner.rows().len()
    }

    fn __repr__(&self) -> String {
        format!("<Signature of {} rows, scheme {}>", self.inner.rows().len(), self.scheme)
    }

    fn __reduce__<'py>(slf: &Bound<'py, Signature>) -> PyResult<(Bound<'py, PyAny>, Bound<'py, PyTuple>)> {
        let Signature { inner, scheme } = slf.get();
        let fields = (PyBytes::new(slf.py(), &inner.to_bytes()), scheme.as_u64()).into_pyobject(slf.py())?;
        Ok((slf.get_type().getattr("_restore")?, fields))
    }

    /// Restores a pickled object.
    #[staticmethod]
    fn _restore(bytes: &[u8], scheme: u64) -> PyResult<Signature> {
        let inner = sameish::Signature::from_bytes(bytes).map_err(engine_error)?;
        Ok(Signature { inner, scheme: SchemeId::from_u64(scheme) })
    }
}

/// Reads the rows of a signature.
pub(crate) fn signature(value: &Bound<'_, PyAny>) -> PyResult<sameish::Signature> {
    let rows = numbers::integers::<u32>(value, "signature")?.items;
    if !rows.is_empty() && rows.iter().all(|&row| row == u32::MAX) {
        return Err(setting_error(
            "all rows of the signature are 2**32 - 1: its text has too few words; omit it",
        ));
    }
    sameish::Signature::from_rows(rows).map_err(engine_error)
}

/// Pickles an object as its configuration.
fn reduce_by_config<'py>(
    object: &Bound<'py, PyAny>,
    analyzer: &PyAnalyzer,
) -> PyResult<(Bound<'py, PyAny>, Bound<'py, PyTuple>)> {
    let fields = (analyzer.config().to_toml(),).into_pyobject(object.py())?;
    Ok((object.get_type().getattr("_restore")?, fields))
}

fn text_settings<'py>(
    py: Python<'py>,
    tokenizer: &str,
    stop_words: Option<&Bound<'_, PyAny>>,
    min_words: i64,
) -> PyResult<Bound<'py, PyDict>> {
    let keywords = PyDict::new(py);
    keywords.set_item("tokenizer", tokenizer)?;
    keywords.set_item("stop_words", stop_words)?;
    keywords.set_item("min_words", min_words)?;
    Ok(keywords)
}
