//! How are fingerprints and signatures made in Python?

use crate::analyzer::PyAnalyzer;
use crate::error::{refused, setting, wrong_type};
use crate::numbers;
use crate::settings;
use crate::texts::Texts;
use crate::work::Progress;
use numpy::{PyArray1, PyArray2, PyArrayMethods};
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyDict, PyTuple};
use sameish::{Fingerprint, SchemeId};

/// The 64-bit SimHash of a text under a preset that makes one: `wire` (the default), `articles` or `web`.
///
/// >>> import sameish
/// >>> f"{sameish.simhash('Breaking news: Major earthquake hits city'):016x}"
/// 'f10893b1083a30a2'
#[pyfunction]
#[pyo3(signature = (text, preset="wire"))]
pub(crate) fn simhash(text: &Bound<'_, PyAny>, preset: &str) -> PyResult<u64> {
    let analyzer = PyAnalyzer::new(settings::config(Some(preset), None, None)?)?;
    let print = analyzer.sketch(text)?.simhash.ok_or_else(|| {
        setting(format!("preset `{preset}` makes no fingerprints: choose `wire`, `articles` or `web`"))
    })?;
    Ok(print.as_u64())
}

/// In how many bits two fingerprints differ. Each is an integer or 16 hex digits.
///
/// >>> import sameish
/// >>> sameish.hamming("a1b2c3d4e5f6a7b8", 0xa1b2c3d4e5f6a7b9)
/// 1
#[pyfunction]
pub(crate) fn hamming(a: &Bound<'_, PyAny>, b: &Bound<'_, PyAny>) -> PyResult<u32> {
    Ok(numbers::fingerprint(a)?.distance(numbers::fingerprint(b)?))
}

/// Makes 64-bit fingerprints of texts, or of features that were hashed elsewhere.
///
/// >>> from sameish import SimHasher
/// >>> hasher = SimHasher()
/// >>> a, b = hasher.sketch("storm hits the coast"), hasher.sketch("STORM hits the coast")
/// >>> a == b
/// True
/// >>> hasher.sketch_many(["storm hits the coast", ""]).tolist() == [a, 0]
/// True
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
        stop_words: Option<&str>,
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

    /// The fingerprint of a text, or of tokens; 0 where there are no words.
    fn sketch(&self, text: &Bound<'_, PyAny>) -> PyResult<u64> {
        Ok(self.analyzer.sketch(text)?.simhash.unwrap_or_default().as_u64())
    }

    /// The fingerprints of many texts, as an array of uint64; 0 for a null.
    #[pyo3(signature = (texts, *, threads=None, progress=None))]
    fn sketch_many<'py>(
        &self,
        py: Python<'py>,
        texts: &Bound<'py, PyAny>,
        threads: Option<i64>,
        progress: Option<&Bound<'_, PyAny>>,
    ) -> PyResult<Bound<'py, PyArray1<u64>>> {
        let texts = Texts::read(texts, "texts", self.analyzer.lossy())?;
        let texts = texts.raw("texts")?;
        let many = self.analyzer.many(&texts, threads, Progress::new(progress, texts.len()));
        let prints = many.rows(py, 1, |text, row: &mut [u64], scratch| {
            let print = text.and_then(|text| self.analyzer.inner().sketch(text, scratch).simhash);
            row[0] = print.unwrap_or_default().as_u64();
        })?;
        Ok(PyArray1::from_vec(py, prints))
    }

    /// The fingerprint of features that were hashed elsewhere, each as loud as its weight says.
    #[staticmethod]
    #[pyo3(signature = (features, weights=None))]
    fn sketch_features(
        py: Python<'_>,
        features: &Bound<'_, PyAny>,
        weights: Option<&Bound<'_, PyAny>>,
    ) -> PyResult<u64> {
        let features = numbers::many::<u64>(features, "features")?.items;
        let Some(weights) = weights else {
            return Ok(py.detach(|| sameish::SimHasher.sketch(&features)).as_u64());
        };
        let weights: Vec<f64> =
            weights.extract().map_err(|_| wrong_type("weights must be a list or an array of numbers"))?;
        numbers::same_length(("features", features.len()), ("weights", weights.len()))?;
        let votes = features.into_iter().zip(weights);
        py.detach(|| sameish::SimHasher.sketch_weighted(votes)).map(Fingerprint::as_u64).map_err(refused)
    }

    fn __repr__(&self) -> String {
        let shingle =
            self.analyzer.inner().config().simhash.as_ref().map(|simhash| simhash.shingle.to_string());
        format!("<SimHasher of {}>", shingle.unwrap_or_default())
    }

    fn __reduce__<'py>(slf: &Bound<'py, SimHasher>) -> PyResult<(Bound<'py, PyAny>, Bound<'py, PyTuple>)> {
        let config = slf.get().analyzer.inner().config().to_toml();
        Ok((slf.get_type().getattr("_restore")?, (config,).into_pyobject(slf.py())?))
    }

    /// What a pickle has.
    #[staticmethod]
    fn _restore(config: &str) -> PyResult<SimHasher> {
        Ok(SimHasher { analyzer: PyAnalyzer::restored(config)? })
    }
}

/// Makes MinHash signatures of texts, or of features that were hashed elsewhere.
///
/// >>> from sameish import MinHasher
/// >>> hasher = MinHasher(rows=256)
/// >>> a = hasher.sketch("the quick brown fox jumps over the lazy dog near the bank of the river")
/// >>> b = hasher.sketch("the quick brown fox jumps over the lazy dog near the bank of the canal")
/// >>> round(a.estimate(b), 1)
/// 0.9
/// >>> hasher.sketch_many(["one two three four", ""]).shape
/// (2, 256)
#[pyclass(frozen, module = "sameish")]
pub(crate) struct MinHasher {
    analyzer: PyAnalyzer,
}

impl MinHasher {
    fn rows(&self) -> usize {
        self.analyzer.inner().config().minhash.as_ref().map_or(0, |minhash| minhash.rows as usize)
    }

    fn scheme(&self) -> SchemeId {
        self.analyzer.inner().schemes().minhash.unwrap_or(SchemeId::from_u64(0))
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
        stop_words: Option<&str>,
        min_words: i64,
    ) -> PyResult<MinHasher> {
        let minhash = PyDict::new(py);
        minhash.set_item("rows", rows)?;
        minhash.set_item("shingle", shingle)?;
        minhash.set_item("counting", counting)?;
        // One band of one row fits every signature; nothing is looked up here.
        let bands = PyDict::new(py);
        bands.set_item("count", 1)?;
        bands.set_item("rows", 1)?;
        minhash.set_item("bands", bands)?;
        let keywords = text_settings(py, tokenizer, stop_words, min_words)?;
        keywords.set_item("minhash", minhash)?;
        let analyzer = PyAnalyzer::new(settings::config(Some("copies"), None, Some(&keywords))?)?;
        Ok(MinHasher { analyzer })
    }

    /// How many rows a signature has.
    #[getter(rows)]
    fn rows_of(&self) -> usize {
        self.rows()
    }

    /// The signature of a text, or of tokens; None where there are too few words.
    fn sketch(&self, text: &Bound<'_, PyAny>) -> PyResult<Option<Signature>> {
        let signature = self.analyzer.sketch(text)?.minhash;
        Ok(signature.map(|inner| Signature { inner, scheme: self.scheme() }))
    }

    /// The signatures of many texts, as an array of uint32 with a row for each. A text with too few words, or a null, has
    /// a row of nothing but 2**32 - 1, which is no signature and is refused wherever one is meant.
    #[pyo3(signature = (texts, *, threads=None, progress=None))]
    fn sketch_many<'py>(
        &self,
        py: Python<'py>,
        texts: &Bound<'py, PyAny>,
        threads: Option<i64>,
        progress: Option<&Bound<'_, PyAny>>,
    ) -> PyResult<Bound<'py, PyArray2<u32>>> {
        let rows = self.rows();
        let texts = Texts::read(texts, "texts", self.analyzer.lossy())?;
        let texts = texts.raw("texts")?;
        let many = self.analyzer.many(&texts, threads, Progress::new(progress, texts.len()));
        let all = many.rows(py, rows, |text, row: &mut [u32], scratch| {
            match text.and_then(|text| self.analyzer.inner().sketch(text, scratch).minhash) {
                Some(signature) => row.copy_from_slice(signature.rows()),
                None => row.fill(u32::MAX),
            }
        })?;
        PyArray1::from_vec(py, all).reshape([many.texts.len(), rows])
    }

    /// A signature that this hasher, or one like it, made: a row of `sketch_many`, or what `Signature.to_bytes` gave.
    fn signature(&self, stored: &Bound<'_, PyAny>) -> PyResult<Signature> {
        let inner = match stored.cast::<PyBytes>() {
            Ok(bytes) => sameish::Signature::from_bytes(bytes.as_bytes()).map_err(refused)?,
            Err(_) => signature(stored)?,
        };
        let (expected, found) = (self.rows(), inner.rows().len());
        if expected != found {
            return Err(refused(sameish::Error::SizeMismatch { what: "signature rows", expected, found }));
        }
        Ok(Signature { inner, scheme: self.scheme() })
    }

    /// The signature of features that were hashed well elsewhere; None where there are none.
    fn sketch_features(&self, py: Python<'_>, features: &Bound<'_, PyAny>) -> PyResult<Option<Signature>> {
        let features = numbers::many::<u64>(features, "features")?.items;
        let hasher = sameish::MinHasher::new(self.rows() as u32).map_err(refused)?;
        // Whoever hashed the features made another scheme.
        let scheme = SchemeId::of(&format!("minhash 1 of given features, {} rows", self.rows()));
        Ok(py.detach(|| hasher.sketch(&features)).map(|inner| Signature { inner, scheme }))
    }

    fn __repr__(&self) -> String {
        let shingle =
            self.analyzer.inner().config().minhash.as_ref().map(|minhash| minhash.shingle.to_string());
        format!("<MinHasher of {} rows, {}>", self.rows(), shingle.unwrap_or_default())
    }

    fn __reduce__<'py>(slf: &Bound<'py, MinHasher>) -> PyResult<(Bound<'py, PyAny>, Bound<'py, PyTuple>)> {
        let config = slf.get().analyzer.inner().config().to_toml();
        Ok((slf.get_type().getattr("_restore")?, (config,).into_pyobject(slf.py())?))
    }

    /// What a pickle has.
    #[staticmethod]
    fn _restore(config: &str) -> PyResult<MinHasher> {
        Ok(MinHasher { analyzer: PyAnalyzer::restored(config)? })
    }
}

/// A MinHash signature with the scheme that it was made under.
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

    /// Names what determines the signature, in 16 hex digits.
    #[getter]
    fn scheme(&self) -> String {
        self.scheme.to_string()
    }

    /// The share of equal rows: an estimate of the Jaccard similarity. Refused for signatures of different schemes.
    fn estimate(&self, other: &Signature) -> PyResult<f64> {
        if self.scheme != other.scheme {
            let (expected, found) = (self.scheme, other.scheme);
            return Err(refused(sameish::Error::SchemeMismatch { expected, found }));
        }
        self.inner.estimate(&other.inner).map_err(refused)
    }

    /// The stored form: four bytes a row, the lowest first.
    fn to_bytes<'py>(&self, py: Python<'py>) -> Bound<'py, PyBytes> {
        PyBytes::new(py, &self.inner.to_bytes())
    }

    /// The stored form in hex.
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

    /// What a pickle has.
    #[staticmethod]
    fn _restore(bytes: &[u8], scheme: u64) -> PyResult<Signature> {
        let inner = sameish::Signature::from_bytes(bytes).map_err(refused)?;
        Ok(Signature { inner, scheme: SchemeId::from_u64(scheme) })
    }
}

/// A signature as rows.
pub(crate) fn signature(value: &Bound<'_, PyAny>) -> PyResult<sameish::Signature> {
    let rows = numbers::many::<u32>(value, "signature")?.items;
    if !rows.is_empty() && rows.iter().all(|&row| row == u32::MAX) {
        return Err(setting(
            "the signature has nothing but 2**32 - 1: its text had too few words; leave it out",
        ));
    }
    sameish::Signature::from_rows(rows).map_err(refused)
}

fn text_settings<'py>(
    py: Python<'py>,
    tokenizer: &str,
    stop_words: Option<&str>,
    min_words: i64,
) -> PyResult<Bound<'py, PyDict>> {
    let keywords = PyDict::new(py);
    keywords.set_item("tokenizer", tokenizer)?;
    keywords.set_item("stop_words", stop_words)?;
    keywords.set_item("min_words", min_words)?;
    Ok(keywords)
}
