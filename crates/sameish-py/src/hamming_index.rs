//! `HammingIndex`: documents by fingerprint.

use crate::error::engine_error;
use crate::interrupt::Progress;
use crate::lock::InterruptibleLock;
use crate::numbers::{self, at_least, bytes_like, document, in_range};
use crate::results::ResultClass;
use numpy::PyArray1;
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyTuple};
use sameish::Fingerprint;
use sameish::config::Blocks;
use sameish::index::DocNumber;

static HIT: ResultClass = ResultClass::new("Hit");

/// Arrays of documents, of distances, and of the start of each query's hits.
type Hits<'py> = (Bound<'py, PyArray1<u32>>, Bound<'py, PyArray1<u32>>, Bound<'py, PyArray1<i64>>);

fn hit<'py>(py: Python<'py>, hit: sameish::index::Hit) -> PyResult<Bound<'py, PyAny>> {
    HIT.create(py, (hit.doc.0, hit.distance))
}

/// An index of numbered documents by 64-bit fingerprint, searched by Hamming distance.
///
/// The search is exact: it returns each document within `radius` bits of a query exactly once.
/// Fingerprints are integers from 0 to 2**64 - 1 or strings of 16 hex digits; documents are
/// integers from 0 to 2**32 - 1. A fingerprint can have many documents.
///
/// Args:
///     radius: Maximum number of differing bits, inclusive; 0 to 64, default 3.
///     blocks: Number of blocks into which the 64 bits are divided: greater than `radius`, at most
///         64. Default None: chosen by `capacity`. It affects speed and memory, not the results.
///     capacity: Expected number of documents, at least 0; default 1,000,000.
///
/// Examples:
///     >>> from sameish import HammingIndex
///     >>> index = HammingIndex(3)
///     >>> index.insert(0xABCD, 1), index.insert(0xABCE, 2)
///     (True, True)
///     >>> index.find_all(0xABCF)
///     [Hit(doc=1, distance=1), Hit(doc=2, distance=1)]
#[pyclass(frozen, module = "sameish")]
pub(crate) struct HammingIndex {
    inner: InterruptibleLock<sameish::index::HammingIndex>,
}

impl From<sameish::index::HammingIndex> for HammingIndex {
    fn from(index: sameish::index::HammingIndex) -> HammingIndex {
        HammingIndex { inner: InterruptibleLock::new(index) }
    }
}

impl HammingIndex {
    /// Applies `change` to pairs of fingerprint and document. Returns the number of documents added or removed.
    fn change_bulk(
        &self,
        hashes: &Bound<'_, PyAny>,
        docs: &Bound<'_, PyAny>,
        change: impl Fn(&mut sameish::index::HammingIndex, &[(Fingerprint, DocNumber)]) -> usize + Send,
    ) -> PyResult<usize> {
        let fingerprints = numbers::fingerprints(hashes, "hashes")?.items;
        let docs = numbers::integers::<u32>(docs, "docs")?.items;
        numbers::same_length(("hashes", fingerprints.len()), ("docs", docs.len()))?;
        let entries: Vec<_> = fingerprints.into_iter().zip(docs.into_iter().map(DocNumber)).collect();
        let progress = Progress::of_fingerprints(None, entries.len());
        self.inner.write_blocks(hashes.py(), &entries, progress, change)
    }
}

#[pymethods]
impl HammingIndex {
    #[new]
    #[pyo3(signature = (radius=3, *, blocks=None, capacity=1_000_000))]
    fn new(radius: i64, blocks: Option<i64>, capacity: i64) -> PyResult<HammingIndex> {
        let radius = in_range(radius, "radius", 0..=64)?;
        let index = match blocks {
            Some(total) => {
                let total = in_range(total, "blocks", 1..=64)?;
                sameish::index::HammingIndex::with_blocks(Blocks { total, differing: radius })
            }
            None => sameish::index::HammingIndex::with_capacity(radius, at_least(capacity, "capacity", 0)?),
        };
        Ok(index.map_err(engine_error)?.into())
    }

    /// Maximum number of differing bits, inclusive.
    #[getter]
    fn radius(&self, py: Python<'_>) -> PyResult<u32> {
        self.inner.read(py, sameish::index::HammingIndex::radius)
    }

    /// Which part of a divided index this is, as `(index, of)` with the index from 0; `(0, 1)` for a whole index.
    #[getter]
    fn part(&self, py: Python<'_>) -> PyResult<(u32, u32)> {
        let part = self.inner.read(py, sameish::index::HammingIndex::part)?;
        Ok((part.index, part.of))
    }

    /// Divides the index into parts by key range, for several processes or machines.
    ///
    /// Together, the parts find exactly what this index finds, each document once. `to_bytes` and
    /// pickling keep what part an index is.
    ///
    /// Args:
    ///     count: Number of parts, 1 to 65,536.
    ///
    /// Returns:
    ///     A list of `HammingIndex`.
    ///
    /// Raises:
    ///     SettingError: This index is itself a part.
    ///
    /// Examples:
    ///     >>> from sameish import HammingIndex
    ///     >>> index = HammingIndex(3)
    ///     >>> index.insert_bulk([0xABCD, 0xABCE, 0xFFFF0000], [1, 2, 3])
    ///     3
    ///     >>> parts = index.parts(4)
    ///     >>> sorted(hit for part in parts for hit in part.find_all(0xABCF))
    ///     [Hit(doc=1, distance=1), Hit(doc=2, distance=1)]
    fn parts(&self, py: Python<'_>, count: i64) -> PyResult<Vec<HammingIndex>> {
        let count = in_range(count, "count", 1..=65_536)?;
        let parts = self.inner.read(py, |index| index.parts(count))?.map_err(engine_error)?;
        Ok(parts.into_iter().map(HammingIndex::from).collect())
    }

    /// Returns the parts that can contain documents within the radius of a query.
    ///
    /// Args:
    ///     query: The fingerprint to compare with.
    ///
    /// Returns:
    ///     The indexes of the parts, from 0, in ascending order; the same list for every part.
    fn parts_for(&self, py: Python<'_>, query: &Bound<'_, PyAny>) -> PyResult<Vec<u32>> {
        let query = numbers::fingerprint(query)?;
        self.inner.read(py, |index| index.parts_for(query))
    }

    /// Adds a document.
    ///
    /// Args:
    ///     hash: Fingerprint of the document.
    ///     doc: Number of the document.
    ///
    /// Returns:
    ///     True if the index did not contain the document under this fingerprint.
    fn insert(&self, py: Python<'_>, hash: &Bound<'_, PyAny>, doc: &Bound<'_, PyAny>) -> PyResult<bool> {
        let fingerprint = numbers::fingerprint(hash)?;
        let doc = document(doc)?;
        self.inner.write(py, |index| index.insert(fingerprint, doc))
    }

    /// Removes a document.
    ///
    /// Args:
    ///     hash: Fingerprint under which the document was inserted.
    ///     doc: Number of the document.
    ///
    /// Returns:
    ///     True if the index contained the document under this fingerprint.
    fn remove(&self, py: Python<'_>, hash: &Bound<'_, PyAny>, doc: &Bound<'_, PyAny>) -> PyResult<bool> {
        let fingerprint = numbers::fingerprint(hash)?;
        let doc = document(doc)?;
        self.inner.write(py, |index| index.remove(fingerprint, doc))
    }

    /// Adds many documents. If the call is interrupted, the documents added so far remain.
    ///
    /// Args:
    ///     hashes: Fingerprints: a list of integers, or an array of uint64.
    ///     docs: One document number per fingerprint: a list of integers, or an array of uint32.
    ///
    /// Returns:
    ///     Number of new documents.
    fn insert_bulk(&self, hashes: &Bound<'_, PyAny>, docs: &Bound<'_, PyAny>) -> PyResult<usize> {
        self.change_bulk(hashes, docs, sameish::index::HammingIndex::insert_all)
    }

    /// Removes many documents. If the call is interrupted, some documents are already removed.
    ///
    /// Args:
    ///     hashes: Fingerprints: a list of integers, or an array of uint64.
    ///     docs: One document number per fingerprint: a list of integers, or an array of uint32.
    ///
    /// Returns:
    ///     Number of documents removed.
    fn remove_bulk(&self, hashes: &Bound<'_, PyAny>, docs: &Bound<'_, PyAny>) -> PyResult<usize> {
        self.change_bulk(hashes, docs, sameish::index::HammingIndex::remove_all)
    }

    /// Finds any one document within the radius.
    ///
    /// Args:
    ///     query: The fingerprint to compare with.
    ///
    /// Returns:
    ///     A `Hit`, or None if there is no match.
    fn find_first<'py>(&self, query: &Bound<'py, PyAny>) -> PyResult<Option<Bound<'py, PyAny>>> {
        let py = query.py();
        let query = numbers::fingerprint(query)?;
        self.inner.read(py, |index| index.find_first(query))?.map(|found| hit(py, found)).transpose()
    }

    /// Finds all documents within a radius.
    ///
    /// Args:
    ///     query: The fingerprint to compare with.
    ///     radius: Maximum number of differing bits, 0 to the radius of the index; default: the radius
    ///         of the index.
    ///
    /// Returns:
    ///     A list of `Hit` by ascending distance, then by document number.
    #[pyo3(signature = (query, radius=None))]
    fn find_all<'py>(
        &self,
        query: &Bound<'py, PyAny>,
        radius: Option<i64>,
    ) -> PyResult<Vec<Bound<'py, PyAny>>> {
        let py = query.py();
        let query = numbers::fingerprint(query)?;
        let max = self.radius(py)?;
        let radius = radius.map_or(Ok(max), |radius| in_range(radius, "radius", 0..=max))?;
        let hits = self.inner.read(py, |index| {
            let mut hits = Vec::new();
            index.find_within(query, radius, &mut hits);
            hits
        })?;
        hits.into_iter().map(|found| hit(py, found)).collect()
    }

    /// Finds all documents within the radius of each query.
    ///
    /// Args:
    ///     queries: A list of integers, or an array of uint64.
    ///
    /// Returns:
    ///     Three arrays: the documents of all queries (uint32), their distances in bits (uint32), and
    ///     the start of each query's hits followed by the total number of hits (int64). The hits of
    ///     query `i` are `docs[offsets[i]:offsets[i + 1]]`.
    fn find_all_bulk<'py>(&self, queries: &Bound<'py, PyAny>) -> PyResult<Hits<'py>> {
        let py = queries.py();
        let queries = numbers::fingerprints(queries, "queries")?.items;
        let progress = Progress::of_fingerprints(None, queries.len());
        let mut docs = Vec::new();
        let mut distances = Vec::new();
        let mut offsets = vec![0i64];
        self.inner.read_blocks(py, &queries, progress, |index, block| {
            index.find_all_bulk(block, |_, hits| {
                docs.extend(hits.iter().map(|hit| hit.doc.0));
                distances.extend(hits.iter().map(|hit| hit.distance));
                offsets.push(docs.len() as i64);
            });
        })?;
        let offsets = PyArray1::from_vec(py, offsets);
        Ok((PyArray1::from_vec(py, docs), PyArray1::from_vec(py, distances), offsets))
    }

    /// Returns the index as bytes, with a checksum.
    fn to_bytes<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyBytes>> {
        Ok(PyBytes::new(py, &self.inner.read(py, sameish::index::HammingIndex::to_bytes)?))
    }

    /// Restores an index from bytes that `to_bytes` returned.
    ///
    /// Args:
    ///     bytes: The stored index: bytes, bytearray or memoryview. A checksum is verified.
    ///
    /// Returns:
    ///     The index.
    ///
    /// Raises:
    ///     CorruptFile: The bytes are damaged or truncated.
    #[staticmethod]
    fn from_bytes(bytes: &Bound<'_, PyAny>) -> PyResult<HammingIndex> {
        let py = bytes.py();
        let bytes = bytes_like(bytes, "`bytes`")?;
        let bytes = bytes.as_bytes();
        Ok(py.detach(|| sameish::index::HammingIndex::from_bytes(bytes)).map_err(engine_error)?.into())
    }

    fn __len__(&self, py: Python<'_>) -> PyResult<usize> {
        self.inner.read(py, sameish::index::HammingIndex::len)
    }

    fn __repr__(&self, py: Python<'_>) -> PyResult<String> {
        Ok(format!("<HammingIndex of {} documents, radius {}>", self.__len__(py)?, self.radius(py)?))
    }

    fn __reduce__<'py>(slf: &Bound<'py, HammingIndex>) -> PyResult<(Bound<'py, PyAny>, Bound<'py, PyTuple>)> {
        let bytes = slf.get().to_bytes(slf.py())?;
        Ok((slf.get_type().getattr("from_bytes")?, (bytes,).into_pyobject(slf.py())?))
    }
}
