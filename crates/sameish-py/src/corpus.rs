//! `Corpus`: a set of fingerprints that can be searched by Hamming distance.

use crate::error::{engine_error, setting_error};
use crate::interrupt::{Progress, run_detached};
use crate::lock::InterruptibleLock;
use crate::numbers::{self, Numbers, in_range};
use numpy::{PyArray1, PyArrayMethods};
use pyo3::exceptions::PyIndexError;
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyDict, PyList, PySlice, PyTuple};
use sameish::Fingerprint;
use sameish::config::Blocks;
use std::sync::atomic::{AtomicUsize, Ordering};

/// Maximum number of fingerprints that are inserted in one uninterruptible step while the lock is held.
const MAX_UNINTERRUPTED: usize = 1 << 16;

/// A set of 64-bit fingerprints that can be searched by Hamming distance.
///
/// The parameters are those of the block-permuted index of Manku, Jain and Das Sarma (2007). The
/// search is exact: it returns each fingerprint within `diff_bits` bits of a query exactly once.
/// `num_blocks` does not affect the results; the tables are chosen by the number of fingerprints.
///
/// Fingerprints are integers from 0 to 2**64 - 1 or strings of 16 hex digits. The `_bulk` methods
/// take lists of integers or NumPy arrays of uint64.
///
/// Args:
///     num_blocks: Number of blocks into which the 64 bits are divided: greater than `diff_bits`,
///         at most 64.
///     diff_bits: Maximum number of differing bits of a match, inclusive; 0 to 63.
///
/// Examples:
///     >>> from sameish import Corpus
///     >>> corpus = Corpus(6, 3)
///     >>> corpus.insert_bulk([0xABCD, 0xABCE, 0xFFFF0000])
///     3
///     >>> corpus.find_all(0xABCF)
///     [43981, 43982]
///     >>> corpus.find_first_bulk([0xABCD ^ (3 << 40), 0x1234_5678_9ABC])
///     [43981, None]
///     >>> corpus.remove(0xABCD), len(corpus), 0xABCE in corpus
///     (True, 2, True)
#[pyclass(frozen, module = "sameish")]
pub(crate) struct Corpus {
    inner: InterruptibleLock<sameish::index::Corpus>,
}

#[pymethods]
impl Corpus {
    #[new]
    fn new(num_blocks: i64, diff_bits: i64) -> PyResult<Corpus> {
        let total = in_range(num_blocks, "num_blocks", 1..=64)?;
        let differing = in_range(diff_bits, "diff_bits", 0..=63)?;
        let corpus = sameish::index::Corpus::new(Blocks { total, differing }).map_err(engine_error)?;
        Ok(Corpus { inner: InterruptibleLock::new(corpus) })
    }

    /// Number of blocks into which the 64 bits are divided.
    #[getter]
    fn num_blocks(&self, py: Python<'_>) -> PyResult<u32> {
        self.inner.read(py, |corpus| corpus.blocks().total)
    }

    /// Maximum number of differing bits of a match, inclusive.
    #[getter]
    fn diff_bits(&self, py: Python<'_>) -> PyResult<u32> {
        self.inner.read(py, |corpus| corpus.blocks().differing)
    }

    /// Adds a fingerprint.
    ///
    /// Args:
    ///     hash: The fingerprint.
    ///
    /// Returns:
    ///     True if the set did not contain the fingerprint.
    fn insert(&self, py: Python<'_>, hash: &Bound<'_, PyAny>) -> PyResult<bool> {
        let fingerprint = numbers::fingerprint(hash)?;
        self.inner.write(py, |corpus| corpus.insert(fingerprint))
    }

    /// Removes a fingerprint.
    ///
    /// Args:
    ///     hash: The fingerprint.
    ///
    /// Returns:
    ///     True if the set contained the fingerprint.
    fn remove(&self, py: Python<'_>, hash: &Bound<'_, PyAny>) -> PyResult<bool> {
        let fingerprint = numbers::fingerprint(hash)?;
        self.inner.write(py, |corpus| corpus.remove(fingerprint))
    }

    /// Finds any one fingerprint within `diff_bits` bits of a query.
    ///
    /// Args:
    ///     query: The fingerprint to compare with.
    ///
    /// Returns:
    ///     A fingerprint, or None if there is no match.
    fn find_first(&self, py: Python<'_>, query: &Bound<'_, PyAny>) -> PyResult<Option<u64>> {
        let query = numbers::fingerprint(query)?;
        Ok(self.inner.read(py, |corpus| corpus.find_first(query))?.map(Fingerprint::as_u64))
    }

    /// Finds all fingerprints within `diff_bits` bits of a query.
    ///
    /// Args:
    ///     query: The fingerprint to compare with.
    ///
    /// Returns:
    ///     A list of fingerprints by ascending distance, then by value.
    fn find_all(&self, py: Python<'_>, query: &Bound<'_, PyAny>) -> PyResult<Vec<u64>> {
        let query = numbers::fingerprint(query)?;
        self.inner.read(py, |corpus| {
            let mut found = Vec::new();
            corpus.find_all(query, &mut found);
            found.into_iter().map(Fingerprint::as_u64).collect()
        })
    }

    /// Adds many fingerprints.
    ///
    /// If the call is interrupted, the fingerprints added so far remain. Insertion into an empty
    /// set adds all fingerprints or none.
    ///
    /// Args:
    ///     hashes: A list of integers, or an array of uint64.
    ///     progress: Called as `progress(done, total)` about 20 times per second, in fingerprints;
    ///         default None. An exception that it raises ends the call.
    ///
    /// Returns:
    ///     Number of new fingerprints.
    #[pyo3(signature = (hashes, *, progress=None))]
    fn insert_bulk(
        &self,
        py: Python<'_>,
        hashes: &Bound<'_, PyAny>,
        progress: Option<&Bound<'_, PyAny>>,
    ) -> PyResult<usize> {
        let fingerprints = numbers::fingerprints(hashes, "hashes")?.items;
        let progress = Progress::of_fingerprints(progress, fingerprints.len());
        let empty = self.inner.read(py, |corpus| {
            corpus.is_empty().then(|| sameish::index::Corpus::new(corpus.blocks())).and_then(Result::ok)
        })?;
        let Some(mut corpus) = empty.filter(|_| fingerprints.len() > MAX_UNINTERRUPTED) else {
            return self.inner.write_blocks(py, &fingerprints, progress, sameish::index::Corpus::insert_bulk);
        };
        let (built, fingerprints) = run_detached(py, progress, move |_| {
            corpus.insert_bulk(&fingerprints);
            (corpus, fingerprints)
        })?;
        self.inner.write(py, |corpus| {
            // Another thread may have inserted fingerprints in the meantime.
            if !corpus.is_empty() {
                return corpus.insert_bulk(&fingerprints);
            }
            *corpus = built;
            corpus.len()
        })
    }

    /// Removes many fingerprints.
    ///
    /// Args:
    ///     hashes: A list of integers, or an array of uint64.
    ///     progress: Called as `progress(done, total)` about 20 times per second, in fingerprints;
    ///         default None. An exception that it raises ends the call.
    ///
    /// Returns:
    ///     Number of fingerprints removed.
    #[pyo3(signature = (hashes, *, progress=None))]
    fn remove_bulk(
        &self,
        py: Python<'_>,
        hashes: &Bound<'_, PyAny>,
        progress: Option<&Bound<'_, PyAny>>,
    ) -> PyResult<usize> {
        let fingerprints = numbers::fingerprints(hashes, "hashes")?.items;
        let progress = Progress::of_fingerprints(progress, fingerprints.len());
        self.inner.write_blocks(py, &fingerprints, progress, sameish::index::Corpus::remove_bulk)
    }

    /// Finds any one fingerprint within `diff_bits` bits of each query.
    ///
    /// Args:
    ///     queries: A list of integers, or an array of uint64.
    ///     progress: Called as `progress(done, total)` about 20 times per second, in queries;
    ///         default None. An exception that it raises ends the call.
    ///
    /// Returns:
    ///     For a list, a list of fingerprints with None where there is no match. For an array, a
    ///     masked array of uint64, masked where there is no match.
    #[pyo3(signature = (queries, *, progress=None))]
    fn find_first_bulk<'py>(
        &self,
        py: Python<'py>,
        queries: &Bound<'py, PyAny>,
        progress: Option<&Bound<'_, PyAny>>,
    ) -> PyResult<Bound<'py, PyAny>> {
        let Numbers { items: queries, from_array } = numbers::fingerprints(queries, "queries")?;
        let progress = Progress::of_fingerprints(progress, queries.len());
        let mut values = Vec::<u64>::with_capacity(queries.len());
        let mut mask = Vec::<bool>::with_capacity(queries.len());
        self.inner.read_blocks(py, &queries, progress, |corpus, block| {
            let found = corpus.find_first_bulk(block);
            mask.extend(found.iter().map(Option::is_none));
            values.extend(found.into_iter().map(|found| found.unwrap_or_default().as_u64()));
        })?;
        if !from_array {
            let found = values.into_iter().zip(mask).map(|(value, masked)| (!masked).then_some(value));
            return Ok(PyList::new(py, found)?.into_any());
        }
        let keywords = PyDict::new(py);
        keywords.set_item("mask", PyArray1::from_vec(py, mask))?;
        let masked_array = py.import("numpy")?.getattr("ma")?.getattr("MaskedArray")?;
        masked_array.call((PyArray1::from_vec(py, values),), Some(&keywords))
    }

    /// Finds all fingerprints within `diff_bits` bits of each query.
    ///
    /// Args:
    ///     queries: A list of integers, or an array of uint64.
    ///     progress: Called as `progress(done, total)` about 20 times per second, in queries;
    ///         default None. An exception that it raises ends the call.
    ///
    /// Returns:
    ///     For a list, a list of lists; for an array, a `Matches`. The matches of a query are
    ///     ordered by ascending distance, then by value.
    #[pyo3(signature = (queries, *, progress=None))]
    fn find_all_bulk<'py>(
        &self,
        py: Python<'py>,
        queries: &Bound<'py, PyAny>,
        progress: Option<&Bound<'_, PyAny>>,
    ) -> PyResult<Bound<'py, PyAny>> {
        let Numbers { items: queries, from_array } = numbers::fingerprints(queries, "queries")?;
        let progress = Progress::of_fingerprints(progress, queries.len());
        let mut values = Vec::new();
        let mut offsets = Vec::with_capacity(queries.len() + 1);
        offsets.push(0i64);
        self.inner.read_blocks(py, &queries, progress, |corpus, block| {
            corpus.find_all_bulk(block, |_, found| {
                values.extend(found.iter().map(|found| found.as_u64()));
                offsets.push(values.len() as i64);
            });
        })?;
        if from_array {
            let values = PyArray1::from_vec(py, values).unbind();
            let offsets = PyArray1::from_vec(py, offsets).unbind();
            return Ok(Bound::new(py, Matches { values, offsets })?.into_any());
        }
        let lists =
            offsets.windows(2).map(|ends| PyList::new(py, &values[ends[0] as usize..ends[1] as usize]));
        Ok(PyList::new(py, lists.collect::<PyResult<Vec<_>>>()?)?.into_any())
    }

    /// Returns all fingerprints in ascending order, as an array of uint64.
    fn to_array<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyArray1<u64>>> {
        let all =
            self.inner.read(py, |corpus| corpus.to_vec().into_iter().map(Fingerprint::as_u64).collect())?;
        Ok(PyArray1::from_vec(py, all))
    }

    fn __len__(&self, py: Python<'_>) -> PyResult<usize> {
        self.inner.read(py, sameish::index::Corpus::len)
    }

    fn __contains__(&self, py: Python<'_>, hash: &Bound<'_, PyAny>) -> PyResult<bool> {
        let fingerprint = numbers::fingerprint(hash)?;
        self.inner.read(py, |corpus| corpus.contains(fingerprint))
    }

    fn __repr__(&self, py: Python<'_>) -> PyResult<String> {
        let (Blocks { total, differing }, len) =
            self.inner.read(py, |corpus| (corpus.blocks(), corpus.len()))?;
        Ok(format!("<Corpus of {len} fingerprints, {total} blocks, {differing} bits>"))
    }

    fn __reduce__<'py>(slf: &Bound<'py, Corpus>) -> PyResult<(Bound<'py, PyAny>, Bound<'py, PyTuple>)> {
        let py = slf.py();
        let (Blocks { total, differing }, all) =
            slf.get().inner.read(py, |corpus| (corpus.blocks(), corpus.to_vec()))?;
        let bytes: Vec<u8> = all.into_iter().flat_map(Fingerprint::to_bytes).collect();
        let fields = (total, differing, PyBytes::new(py, &bytes)).into_pyobject(py)?;
        Ok((slf.get_type().getattr("_restore")?, fields))
    }

    /// Restores a pickled object.
    #[staticmethod]
    fn _restore(py: Python<'_>, num_blocks: i64, diff_bits: i64, fingerprints: &[u8]) -> PyResult<Corpus> {
        let corpus = Corpus::new(num_blocks, diff_bits)?;
        let fingerprints = fingerprints.chunks(8).map(Fingerprint::from_bytes);
        let fingerprints = fingerprints.collect::<Result<Vec<_>, _>>().map_err(engine_error)?;
        corpus.inner.write(py, |corpus| corpus.insert_bulk(&fingerprints))?;
        Ok(corpus)
    }
}

/// The matches of many queries: a sequence with one array of uint64 per query.
///
/// Returned by `Corpus.find_all_bulk`. `matches[i]` contains the matches of query `i`.
#[pyclass(frozen, module = "sameish", sequence)]
pub(crate) struct Matches {
    values: Py<PyArray1<u64>>,
    offsets: Py<PyArray1<i64>>,
}

#[pymethods]
impl Matches {
    /// The matches of all queries, concatenated, as an array of uint64.
    #[getter]
    fn values(&self, py: Python<'_>) -> Py<PyArray1<u64>> {
        self.values.clone_ref(py)
    }

    /// Start of the matches of each query in `values`, then the length of `values`, as an array of int64.
    #[getter]
    fn offsets(&self, py: Python<'_>) -> Py<PyArray1<i64>> {
        self.offsets.clone_ref(py)
    }

    fn __len__(&self, py: Python<'_>) -> PyResult<usize> {
        Ok(self.offsets.bind(py).len()? - 1)
    }

    fn __getitem__<'py>(&self, py: Python<'py>, index: isize) -> PyResult<Bound<'py, PyAny>> {
        let len = self.__len__(py)?;
        let at = if index < 0 { index + len as isize } else { index };
        if at < 0 || at as usize >= len {
            let message = format!("query {index} is out of range: there are {len} queries");
            return Err(PyIndexError::new_err(message));
        }
        let offset = |at: isize| self.offsets.bind(py).get_owned(at as usize).unwrap_or_default() as isize;
        self.values.bind(py).get_item(PySlice::new(py, offset(at), offset(at + 1), 1))
    }

    fn __iter__(slf: Py<Matches>) -> MatchesIterator {
        MatchesIterator { matches: slf, next: 0.into() }
    }

    fn __repr__(&self, py: Python<'_>) -> PyResult<String> {
        let queries = self.__len__(py)?;
        let matches = self.values.bind(py).len()?;
        Ok(format!("<Matches of {queries} queries, {matches} in total>"))
    }

    fn __reduce__<'py>(slf: &Bound<'py, Matches>) -> PyResult<(Bound<'py, PyAny>, Bound<'py, PyTuple>)> {
        let py = slf.py();
        let fields = (slf.get().values(py), slf.get().offsets(py)).into_pyobject(py)?;
        Ok((slf.get_type().getattr("_restore")?, fields))
    }

    /// Restores a pickled object.
    #[staticmethod]
    fn _restore(values: &Bound<'_, PyArray1<u64>>, offsets: &Bound<'_, PyArray1<i64>>) -> PyResult<Matches> {
        let ends = offsets.readonly();
        let ends = ends.as_slice()?;
        let is_complete = ends.last().is_some_and(|&last| last as usize == values.len().unwrap_or(0));
        if ends.first() != Some(&0) || !ends.is_sorted() || !is_complete {
            return Err(setting_error("`offsets` must ascend from 0 to the number of values"));
        }
        Ok(Matches { values: values.clone().unbind(), offsets: offsets.clone().unbind() })
    }
}

/// Iterator over the matches of each query.
#[pyclass(frozen)]
struct MatchesIterator {
    matches: Py<Matches>,
    next: AtomicUsize,
}

#[pymethods]
impl MatchesIterator {
    fn __iter__(slf: Py<MatchesIterator>) -> Py<MatchesIterator> {
        slf
    }

    fn __next__<'py>(&self, py: Python<'py>) -> PyResult<Option<Bound<'py, PyAny>>> {
        let matches = self.matches.get();
        let next = self.next.fetch_add(1, Ordering::Relaxed);
        (next < matches.__len__(py)?).then(|| matches.__getitem__(py, next as isize)).transpose()
    }
}
