//! `BandIndex`: documents by MinHash signature.

use crate::error::{engine_error, number_error, setting_error};
use crate::interrupt::{Progress, run_scoped};
use crate::lock::InterruptibleLock;
use crate::numbers::{self, Matrix, document, in_range};
use crate::results::{self, ResultClass};
use crate::sketchers::{Signature, signature};
use numpy::{PyArray1, PyArray2, PyArrayMethods};
use pyo3::prelude::*;
use pyo3::types::{PyList, PyTuple};
use sameish::config::Bands;
use sameish::index::{BandSearch, DocNumber};
use sameish::sketch::SchemeId;

static NEAR: ResultClass = ResultClass::new("Near");

/// Number of signatures between two checks for cancellation.
const BLOCK: usize = 4096;
/// Maximum memory, in bytes, that an index may reserve for unused document numbers.
const MAX_UNUSED: u64 = 1 << 30;

/// An index of numbered documents by MinHash signature, searched by shared bands.
///
/// A signature is divided into bands. Documents that share all rows of some band are candidates;
/// the search returns the candidates whose estimated Jaccard similarity reaches a threshold.
///
/// Documents should be numbered consecutively from 0, because memory is reserved up to the largest
/// number.
///
/// Args:
///     rows: Number of rows of a signature, at least 1; default 128.
///     bands: Number of bands and rows per band, as `(count, rows)`; their product is at most `rows`.
///         Default None: derived from `threshold` and `recall`.
///     threshold: Similarity at which `recall` must be reached, 0 to 1; default 0.8.
///     recall: Minimum probability that a pair at the threshold shares a band, 0 to 1; default 0.99.
///
/// Examples:
///     >>> from sameish import BandIndex, MinHasher
///     >>> hasher = MinHasher(rows=128)
///     >>> index = BandIndex(128, threshold=0.8, recall=0.99)
///     >>> index.insert(7, hasher.sketch("the council voted on monday to close the old bridge"))
///     >>> index.search(hasher.sketch("the council voted on monday to close the old bridge"), 0.8)
///     [Near(doc=7, estimate=1.0)]
#[pyclass(frozen, module = "sameish")]
pub(crate) struct BandIndex {
    inner: InterruptibleLock<SchemedIndex>,
    rows: u32,
}

/// A band index that accepts signatures of one scheme only.
struct SchemedIndex {
    index: sameish::index::BandIndex,
    /// Scheme of the first `Signature` that was inserted.
    scheme: Option<SchemeId>,
}

/// A signature from Python: a `Signature`, or its rows without a scheme.
struct GivenSignature {
    signature: sameish::Signature,
    scheme: Option<SchemeId>,
}

impl GivenSignature {
    fn read(value: &Bound<'_, PyAny>) -> PyResult<GivenSignature> {
        if let Ok(signature) = value.cast::<Signature>() {
            let Signature { inner, scheme } = signature.get();
            return Ok(GivenSignature { signature: inner.clone(), scheme: Some(*scheme) });
        }
        Ok(GivenSignature { signature: signature(value)?, scheme: None })
    }
}

impl SchemedIndex {
    fn check_scheme(&self, given: &GivenSignature) -> PyResult<()> {
        match (self.scheme, given.scheme) {
            (Some(expected), Some(found)) if expected != found => {
                Err(engine_error(sameish::Error::SchemeMismatch { expected, found }))
            }
            _ => Ok(()),
        }
    }
}

/// Returns an error if an index of `documents` documents would reserve too much memory for `numbers` document numbers.
fn check_numbers(numbers: u64, rows: u32, documents: usize) -> PyResult<()> {
    let max = (MAX_UNUSED / (u64::from(rows) * 4)).max(8 * documents as u64);
    if numbers > max {
        return Err(number_error(format!(
            "doc is {}: must be below {max}; number documents consecutively from 0",
            numbers - 1
        )));
    }
    Ok(())
}

fn check_similarity(similarity: f64, name: &str) -> PyResult<f64> {
    if (0.0..=1.0).contains(&similarity) {
        return Ok(similarity);
    }
    Err(setting_error(format!("`{name}` is {similarity}: must be 0 to 1")))
}

#[pymethods]
impl BandIndex {
    #[new]
    #[pyo3(signature = (rows=128, *, bands=None, threshold=0.8, recall=0.99))]
    fn new(rows: i64, bands: Option<(i64, i64)>, threshold: f64, recall: f64) -> PyResult<BandIndex> {
        let rows = in_range(rows, "rows", 1..=u32::MAX)?;
        let bands = match bands {
            Some((count, height)) => Bands {
                count: in_range(count, "bands", 1..=rows)?,
                rows: in_range(height, "bands", 1..=rows)?,
            },
            None => Bands::for_target(rows, threshold, recall).map_err(engine_error)?,
        };
        let index = sameish::index::BandIndex::new(rows, bands).map_err(engine_error)?;
        Ok(BandIndex { inner: InterruptibleLock::new(SchemedIndex { index, scheme: None }), rows })
    }

    /// Number of bands and rows per band, as a tuple.
    #[getter]
    fn bands(&self, py: Python<'_>) -> PyResult<(u32, u32)> {
        let bands = self.inner.read(py, |inner| inner.index.bands())?;
        Ok((bands.count, bands.rows))
    }

    /// Number of rows of a signature.
    #[getter]
    fn rows(&self) -> u32 {
        self.rows
    }

    /// Returns the probability that two signatures share a band.
    ///
    /// Args:
    ///     similarity: Jaccard similarity of the two documents, 0 to 1.
    ///
    /// Returns:
    ///     A probability, 0 to 1.
    fn probability(&self, py: Python<'_>, similarity: f64) -> PyResult<f64> {
        let similarity = check_similarity(similarity, "similarity")?;
        self.inner.read(py, |inner| inner.index.bands().probability(similarity))
    }

    /// Adds a document, or replaces the document with the same number.
    ///
    /// Args:
    ///     doc: Number of the document, 0 to 2**32 - 1.
    ///     signature: A `Signature`, or its rows as a list or an array of uint32.
    ///
    /// Raises:
    ///     SchemeMismatch: The signature has a different scheme or number of rows than the index.
    ///     NumberError: The number is far larger than the number of documents in the index.
    fn insert(&self, doc: &Bound<'_, PyAny>, signature: &Bound<'_, PyAny>) -> PyResult<()> {
        let py = doc.py();
        let doc = document(doc)?;
        let given = GivenSignature::read(signature)?;
        self.inner.write(py, |inner| {
            inner.check_scheme(&given)?;
            check_numbers(u64::from(doc.0) + 1, self.rows, inner.index.len())?;
            inner.index.insert(doc, &given.signature).map_err(engine_error)?;
            inner.scheme = inner.scheme.or(given.scheme);
            Ok(())
        })?
    }

    /// Adds one document per row of an array. Rows that are not signatures are skipped.
    ///
    /// Args:
    ///     signatures: Array of uint32 with one signature per row, as `MinHasher.sketch_many` returns.
    ///     first: Document number of the first row, 0 to 2**32 - 1; default 0. The other rows are numbered
    ///         consecutively.
    ///
    /// Returns:
    ///     Number of documents added.
    #[pyo3(signature = (signatures, first=0))]
    fn insert_bulk(&self, py: Python<'_>, signatures: &Bound<'_, PyAny>, first: i64) -> PyResult<usize> {
        let first = in_range(first, "first", 0..=u32::MAX)?;
        let Matrix { values, columns } = numbers::matrix(signatures, "signatures")?;
        let expected = self.rows as usize;
        if columns != expected {
            let what = "signature rows";
            return Err(engine_error(sameish::Error::SizeMismatch { what, expected, found: columns }));
        }
        let count = values.len() / columns;
        check_numbers(u64::from(first), self.rows, self.__len__(py)?)?;
        let end = u64::from(first) + count as u64;
        if end > u64::from(u32::MAX) {
            return Err(number_error(format!(
                "document number is {}: must be below 2**32; reduce `first`",
                end - 1
            )));
        }
        let added = run_scoped(py, Progress::of_fingerprints(None, count), |task| {
            let mut added = 0;
            let Some(mut inner) = self.inner.write_guard(task) else { return Ok(added) };
            let blocks = values.chunks(columns * BLOCK).enumerate();
            for (i, block) in blocks.take_while(|_| task.is_running()) {
                let first = first + (i * BLOCK) as u32;
                added += insert_block(&mut inner.index, first, block.chunks_exact(columns))?;
            }
            Ok(added)
        })?;
        added.map_err(engine_error)
    }

    /// Removes a document.
    ///
    /// Args:
    ///     doc: Number of the document.
    ///
    /// Returns:
    ///     True if the index contained the document.
    fn remove(&self, py: Python<'_>, doc: &Bound<'_, PyAny>) -> PyResult<bool> {
        let doc = document(doc)?;
        self.inner.write(py, |inner| inner.index.remove(doc))
    }

    /// Finds the documents that share a band with a signature.
    ///
    /// Args:
    ///     signature: A `Signature`, or its rows as a list or an array of uint32.
    ///     threshold: Minimum estimated similarity, inclusive; 0 to 1, default 0.8.
    ///
    /// Returns:
    ///     A list (`Found`) of `Near`, the most similar first.
    ///
    /// Raises:
    ///     SchemeMismatch: The signature has a different scheme or number of rows than the index.
    #[pyo3(signature = (signature, threshold=0.8))]
    fn search<'py>(
        &self,
        py: Python<'py>,
        signature: &Bound<'_, PyAny>,
        threshold: f64,
    ) -> PyResult<Bound<'py, PyList>> {
        let given = GivenSignature::read(signature)?;
        let threshold = check_similarity(threshold, "threshold")?;
        let search = self.inner.read(py, |inner| {
            inner.check_scheme(&given)?;
            inner.index.search(&given.signature, threshold).map_err(engine_error)
        })?;
        let BandSearch { hits, candidates, capped } = search?;
        let hits = hits.into_iter().map(|hit| NEAR.create(py, (hit.doc.0, hit.estimate)));
        results::found(py, &NEAR, hits, candidates as u64, capped as u64)
    }

    /// Returns the key of each band of a signature: 32 bits of a hash of the rows of the band.
    ///
    /// Two signatures that share a band have an equal key in it. Keys are the same in every process and
    /// version, so they can be stored and joined elsewhere.
    ///
    /// Args:
    ///     signature: A `Signature`, or its rows as a list or an array of uint32.
    ///
    /// Returns:
    ///     An array of uint32 with one key per band.
    ///
    /// Raises:
    ///     SchemeMismatch: The signature has a different scheme or number of rows than the index.
    fn keys<'py>(
        &self,
        py: Python<'py>,
        signature: &Bound<'_, PyAny>,
    ) -> PyResult<Bound<'py, PyArray1<u32>>> {
        let given = GivenSignature::read(signature)?;
        let keys = self.inner.read(py, |inner| {
            inner.check_scheme(&given)?;
            inner.index.keys(&given.signature).map_err(engine_error)
        })??;
        Ok(PyArray1::from_vec(py, keys))
    }

    fn __len__(&self, py: Python<'_>) -> PyResult<usize> {
        self.inner.read(py, |inner| inner.index.len())
    }

    fn __contains__(&self, py: Python<'_>, doc: &Bound<'_, PyAny>) -> PyResult<bool> {
        let doc = document(doc)?;
        self.inner.read(py, |inner| inner.index.signature(doc).is_some())
    }

    fn __repr__(&self, py: Python<'_>) -> PyResult<String> {
        let (count, rows) = self.bands(py)?;
        Ok(format!("<BandIndex of {} documents, {count} bands of {rows} rows>", self.__len__(py)?))
    }

    fn __reduce__<'py>(slf: &Bound<'py, BandIndex>) -> PyResult<(Bound<'py, PyAny>, Bound<'py, PyTuple>)> {
        let py = slf.py();
        let BandIndex { inner, rows } = slf.get();
        let (docs, signatures, scheme) = inner.read(py, |inner| {
            let mut docs = Vec::new();
            let mut signatures = Vec::new();
            for (doc, signature) in inner.index.documents() {
                docs.push(doc.0);
                signatures.extend_from_slice(signature);
            }
            (docs, signatures, inner.scheme.map(SchemeId::as_u64))
        })?;
        let signatures = PyArray1::from_vec(py, signatures).reshape([docs.len(), *rows as usize])?;
        let fields = (*rows, slf.get().bands(py)?, PyArray1::from_vec(py, docs), signatures, scheme);
        Ok((slf.get_type().getattr("_restore")?, fields.into_pyobject(py)?))
    }

    /// Restores a pickled object.
    #[staticmethod]
    fn _restore(
        rows: u32,
        bands: (u32, u32),
        docs: &Bound<'_, PyArray1<u32>>,
        signatures: &Bound<'_, PyArray2<u32>>,
        scheme: Option<u64>,
    ) -> PyResult<BandIndex> {
        let bands = Bands { count: bands.0, rows: bands.1 };
        let mut index = sameish::index::BandIndex::new(rows, bands).map_err(engine_error)?;
        let signatures = signatures.readonly();
        let signatures = signatures.as_slice()?.chunks_exact(rows as usize);
        let signatures = signatures.map(|rows| sameish::Signature::from_rows(rows).map_err(engine_error));
        let signatures = signatures.collect::<PyResult<Vec<_>>>()?;
        let docs = docs.readonly();
        let docs = docs.as_slice()?;
        numbers::same_length(("docs", docs.len()), ("signatures", signatures.len()))?;
        let numbers = docs.iter().max().map_or(0, |&largest| u64::from(largest) + 1);
        check_numbers(numbers, rows, docs.len())?;
        index.insert_all(docs.iter().map(|doc| DocNumber(*doc)).zip(&signatures)).map_err(engine_error)?;
        let scheme = scheme.map(SchemeId::from_u64);
        Ok(BandIndex { inner: InterruptibleLock::new(SchemedIndex { index, scheme }), rows })
    }
}

/// Inserts signatures as consecutive documents and skips rows that are not signatures. Returns the number inserted.
fn insert_block<'a>(
    index: &mut sameish::index::BandIndex,
    first: u32,
    rows: impl Iterator<Item = &'a [u32]>,
) -> sameish::Result<usize> {
    let signatures = (first..).map(DocNumber).zip(rows);
    let signatures =
        signatures.filter_map(|(doc, row)| Some((doc, sameish::Signature::from_rows(row).ok()?)));
    let signatures: Vec<(DocNumber, sameish::Signature)> = signatures.collect();
    index.insert_all(signatures.iter().map(|(doc, signature)| (*doc, signature)))?;
    Ok(signatures.len())
}
