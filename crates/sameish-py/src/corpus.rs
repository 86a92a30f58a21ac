//! Seed 004's corpus.

use crate::error::{refused, setting};
use crate::guard::Guarded;
use crate::numbers::{self, Numbers, between};
use crate::work::{BLOCK, Progress, apart, attended};
use numpy::{PyArray1, PyArrayMethods};
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyDict, PyList, PyTuple};
use sameish::{Blocks, Fingerprint};
use std::sync::atomic::{AtomicUsize, Ordering};

/// As many fingerprints are built into tables in less than the time in which a signal must be heard.
const AT_ONCE: usize = 1 << 16;

/// A set of 64-bit fingerprints, asked for those that differ from a query in at most `diff_bits` bits.
///
/// Nothing is missed, and a match is listed once. Any `num_blocks` above `diff_bits` gives the same answers; the tables are
/// those that are fastest for as many fingerprints as there are.
///
/// >>> from sameish import Corpus
/// >>> corpus = Corpus(6, 3)
/// >>> corpus.insert_bulk([0xABCD, 0xABCE, 0xFFFF0000])
/// 3
/// >>> corpus.find_all(0xABCF)
/// [43981, 43982]
/// >>> corpus.find_first_bulk([0xABCD ^ (3 << 40), 0x1234_5678_9ABC])
/// [43981, None]
/// >>> corpus.remove(0xABCD), len(corpus), 0xABCE in corpus
/// (True, 2, True)
#[pyclass(frozen, module = "sameish")]
pub(crate) struct Corpus {
    inner: Guarded<sameish::Corpus>,
}

impl Corpus {
    /// Changes a block at a time, as long as it is wanted.
    fn change_bulk(
        &self,
        py: Python<'_>,
        prints: &[Fingerprint],
        progress: Progress<'_, '_>,
        change: impl Fn(&mut sameish::Corpus, &[Fingerprint]) -> usize + Send + Sync,
    ) -> PyResult<usize> {
        attended(py, progress, |watch| {
            let mut changed = 0;
            let Some(mut corpus) = self.inner.write(watch) else { return changed };
            for block in prints.chunks(BLOCK).take_while(|_| watch.goes_on()) {
                changed += change(&mut corpus, block);
                watch.add(block.len());
            }
            changed
        })
    }
}

#[pymethods]
impl Corpus {
    #[new]
    fn new(num_blocks: i64, diff_bits: i64) -> PyResult<Corpus> {
        let total = between(num_blocks, "num_blocks", 1..=64)?;
        let corpus =
            sameish::Corpus::new(Blocks { total, differing: between(diff_bits, "diff_bits", 0..=63)? });
        Ok(Corpus { inner: Guarded::new(corpus.map_err(refused)?) })
    }

    /// Into how many blocks the 64 bits are cut.
    #[getter]
    fn num_blocks(&self, py: Python<'_>) -> PyResult<u32> {
        self.inner.ask(py, |corpus| corpus.blocks().total)
    }

    /// In how many bits a match may differ.
    #[getter]
    fn diff_bits(&self, py: Python<'_>) -> PyResult<u32> {
        self.inner.ask(py, |corpus| corpus.blocks().differing)
    }

    /// Adds a fingerprint; tells whether it was new.
    fn insert(&self, py: Python<'_>, hash: &Bound<'_, PyAny>) -> PyResult<bool> {
        let print = numbers::fingerprint(hash)?;
        self.inner.change(py, |corpus| corpus.insert(print))
    }

    /// Takes a fingerprint out; tells whether it was there.
    fn remove(&self, py: Python<'_>, hash: &Bound<'_, PyAny>) -> PyResult<bool> {
        let print = numbers::fingerprint(hash)?;
        self.inner.change(py, |corpus| corpus.remove(print))
    }

    /// Some fingerprint near the query, or None.
    fn find_first(&self, py: Python<'_>, query: &Bound<'_, PyAny>) -> PyResult<Option<u64>> {
        let query = numbers::fingerprint(query)?;
        Ok(self.inner.ask(py, |corpus| corpus.find_first(query))?.map(Fingerprint::as_u64))
    }

    /// All fingerprints near the query, the nearest first, then the smallest.
    fn find_all(&self, py: Python<'_>, query: &Bound<'_, PyAny>) -> PyResult<Vec<u64>> {
        let query = numbers::fingerprint(query)?;
        self.inner.ask(py, |corpus| {
            let mut found = Vec::new();
            corpus.find_all(query, &mut found);
            found.into_iter().map(Fingerprint::as_u64).collect()
        })
    }

    /// Adds many, from a list or an array of uint64; gives how many were new. An interrupted call leaves what it has added
    /// so far; into an empty corpus it adds all or nothing.
    #[pyo3(signature = (hashes, *, progress=None))]
    fn insert_bulk(
        &self,
        py: Python<'_>,
        hashes: &Bound<'_, PyAny>,
        progress: Option<&Bound<'_, PyAny>>,
    ) -> PyResult<usize> {
        let prints = numbers::fingerprints(hashes, "hashes")?.items;
        let progress = Progress::of_prints(progress, prints.len());
        let fresh = self.inner.ask(py, |corpus| {
            corpus.is_empty().then(|| sameish::Corpus::new(corpus.blocks())).and_then(Result::ok)
        })?;
        let Some(mut fresh) = fresh.filter(|_| prints.len() > AT_ONCE) else {
            return self.change_bulk(py, &prints, progress, sameish::Corpus::insert_bulk);
        };
        let (built, prints) = apart(py, progress, move |_| {
            fresh.insert_bulk(&prints);
            (fresh, prints)
        })?;
        self.inner.change(py, |corpus| {
            // Another thread may have been faster.
            if !corpus.is_empty() {
                return corpus.insert_bulk(&prints);
            }
            *corpus = built;
            corpus.len()
        })
    }

    /// Takes many out; gives how many were there.
    #[pyo3(signature = (hashes, *, progress=None))]
    fn remove_bulk(
        &self,
        py: Python<'_>,
        hashes: &Bound<'_, PyAny>,
        progress: Option<&Bound<'_, PyAny>>,
    ) -> PyResult<usize> {
        let prints = numbers::fingerprints(hashes, "hashes")?.items;
        let progress = Progress::of_prints(progress, prints.len());
        self.change_bulk(py, &prints, progress, sameish::Corpus::remove_bulk)
    }

    /// For each query some fingerprint near it. A list gives a list with None where there is none; an array gives a masked
    /// array of uint64, masked where there is none.
    #[pyo3(signature = (queries, *, progress=None))]
    fn find_first_bulk<'py>(
        &self,
        py: Python<'py>,
        queries: &Bound<'py, PyAny>,
        progress: Option<&Bound<'_, PyAny>>,
    ) -> PyResult<Bound<'py, PyAny>> {
        let Numbers { items: queries, array } = numbers::fingerprints(queries, "queries")?;
        let progress = Progress::of_prints(progress, queries.len());
        let (values, mask) = attended(py, progress, |watch| {
            let room = queries.len();
            let (mut values, mut mask) = (Vec::<u64>::with_capacity(room), Vec::<bool>::with_capacity(room));
            let Some(corpus) = self.inner.read(watch) else { return (values, mask) };
            for block in queries.chunks(BLOCK).take_while(|_| watch.goes_on()) {
                let found = corpus.find_first_bulk(block);
                mask.extend(found.iter().map(Option::is_none));
                values.extend(found.into_iter().map(|print| print.unwrap_or_default().as_u64()));
                watch.add(block.len());
            }
            (values, mask)
        })?;
        if !array {
            let found = values.into_iter().zip(mask).map(|(value, masked)| (!masked).then_some(value));
            return Ok(PyList::new(py, found.collect::<Vec<_>>())?.into_any());
        }
        let named = PyDict::new(py);
        named.set_item("mask", PyArray1::from_vec(py, mask))?;
        let masked = py.import("numpy")?.getattr("ma")?.getattr("MaskedArray")?;
        masked.call((PyArray1::from_vec(py, values),), Some(&named))
    }

    /// For each query all fingerprints near it, the nearest first. A list gives a list of lists; an array gives `Matches`.
    #[pyo3(signature = (queries, *, progress=None))]
    fn find_all_bulk<'py>(
        &self,
        py: Python<'py>,
        queries: &Bound<'py, PyAny>,
        progress: Option<&Bound<'_, PyAny>>,
    ) -> PyResult<Bound<'py, PyAny>> {
        let Numbers { items: queries, array } = numbers::fingerprints(queries, "queries")?;
        let progress = Progress::of_prints(progress, queries.len());
        let (values, offsets) = attended(py, progress, |watch| {
            let (mut values, mut offsets) = (Vec::new(), Vec::with_capacity(queries.len() + 1));
            offsets.push(0i64);
            let Some(corpus) = self.inner.read(watch) else { return (values, offsets) };
            for block in queries.chunks(BLOCK).take_while(|_| watch.goes_on()) {
                corpus.find_all_bulk(block, |_, found| {
                    values.extend(found.iter().map(|print| print.as_u64()));
                    offsets.push(values.len() as i64);
                });
                watch.add(block.len());
            }
            (values, offsets)
        })?;
        if array {
            let (values, offsets) = (PyArray1::from_vec(py, values), PyArray1::from_vec(py, offsets));
            let matches = Matches { values: values.unbind(), offsets: offsets.unbind() };
            return Ok(Bound::new(py, matches)?.into_any());
        }
        let lists =
            offsets.windows(2).map(|ends| PyList::new(py, &values[ends[0] as usize..ends[1] as usize]));
        Ok(PyList::new(py, lists.collect::<PyResult<Vec<_>>>()?)?.into_any())
    }

    /// All fingerprints in rising order, as an array of uint64.
    fn to_array<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyArray1<u64>>> {
        let all =
            self.inner.ask(py, |corpus| corpus.to_vec().into_iter().map(Fingerprint::as_u64).collect())?;
        Ok(PyArray1::from_vec(py, all))
    }

    fn __len__(&self, py: Python<'_>) -> PyResult<usize> {
        self.inner.ask(py, sameish::Corpus::len)
    }

    fn __contains__(&self, py: Python<'_>, hash: &Bound<'_, PyAny>) -> PyResult<bool> {
        let print = numbers::fingerprint(hash)?;
        self.inner.ask(py, |corpus| corpus.contains(print))
    }

    fn __repr__(&self, py: Python<'_>) -> PyResult<String> {
        let (Blocks { total, differing }, len) =
            self.inner.ask(py, |corpus| (corpus.blocks(), corpus.len()))?;
        Ok(format!("<Corpus of {len} fingerprints, {total} blocks, {differing} bits>"))
    }

    fn __reduce__<'py>(slf: &Bound<'py, Corpus>) -> PyResult<(Bound<'py, PyAny>, Bound<'py, PyTuple>)> {
        let py = slf.py();
        let (Blocks { total, differing }, all) =
            slf.get().inner.ask(py, |corpus| (corpus.blocks(), corpus.to_vec()))?;
        let bytes: Vec<u8> = all.into_iter().flat_map(Fingerprint::to_bytes).collect();
        let fields = (total, differing, PyBytes::new(py, &bytes)).into_pyobject(py)?;
        Ok((slf.get_type().getattr("_restore")?, fields))
    }

    /// What a pickle has.
    #[staticmethod]
    fn _restore(py: Python<'_>, num_blocks: i64, diff_bits: i64, prints: &[u8]) -> PyResult<Corpus> {
        let corpus = Corpus::new(num_blocks, diff_bits)?;
        let prints: Result<Vec<Fingerprint>, _> = prints.chunks(8).map(Fingerprint::from_bytes).collect();
        let prints = prints.map_err(refused)?;
        corpus.inner.change(py, |corpus| corpus.insert_bulk(&prints))?;
        Ok(corpus)
    }
}

/// The matches of many queries: `matches[i]` is an array of those of query `i`; `values` and `offsets` have them all.
#[pyclass(frozen, module = "sameish", sequence)]
pub(crate) struct Matches {
    values: Py<PyArray1<u64>>,
    offsets: Py<PyArray1<i64>>,
}

#[pymethods]
impl Matches {
    /// All matches, query after query.
    #[getter]
    fn values(&self, py: Python<'_>) -> Py<PyArray1<u64>> {
        self.values.clone_ref(py)
    }

    /// Where the matches of each query begin in `values`, and where the last end.
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
            return Err(pyo3::exceptions::PyIndexError::new_err(format!(
                "no query {index}: there are {len}"
            )));
        }
        let offset = |at: usize| self.offsets.bind(py).get_owned(at).unwrap_or_default();
        let ends =
            pyo3::types::PySlice::new(py, offset(at as usize) as isize, offset(at as usize + 1) as isize, 1);
        self.values.bind(py).get_item(ends)
    }

    fn __iter__(slf: Py<Matches>) -> EachMatch {
        EachMatch { matches: slf, next: 0.into() }
    }

    fn __repr__(&self, py: Python<'_>) -> PyResult<String> {
        let (queries, matches) = (self.__len__(py)?, self.values.bind(py).len()?);
        Ok(format!("<Matches of {queries} queries, {matches} in all>"))
    }

    fn __reduce__<'py>(slf: &Bound<'py, Matches>) -> PyResult<(Bound<'py, PyAny>, Bound<'py, PyTuple>)> {
        let (py, matches) = (slf.py(), slf.get());
        let fields = (matches.values(py), matches.offsets(py)).into_pyobject(py)?;
        Ok((slf.get_type().getattr("_restore")?, fields))
    }

    /// What a pickle has.
    #[staticmethod]
    fn _restore(values: &Bound<'_, PyArray1<u64>>, offsets: &Bound<'_, PyArray1<i64>>) -> PyResult<Matches> {
        let ends = offsets.readonly();
        let ends = ends.as_slice()?;
        let within = ends.last().is_some_and(|&last| last as usize == values.len().unwrap_or(0));
        if ends.first() != Some(&0) || !ends.is_sorted() || !within {
            return Err(setting("`offsets` must rise from 0 to the number of values"));
        }
        Ok(Matches { values: values.clone().unbind(), offsets: offsets.clone().unbind() })
    }
}

/// One query after the other.
#[pyclass(frozen)]
struct EachMatch {
    matches: Py<Matches>,
    next: AtomicUsize,
}

#[pymethods]
impl EachMatch {
    fn __iter__(slf: Py<EachMatch>) -> Py<EachMatch> {
        slf
    }

    fn __next__<'py>(&self, py: Python<'py>) -> PyResult<Option<Bound<'py, PyAny>>> {
        let (matches, next) = (self.matches.get(), self.next.fetch_add(1, Ordering::Relaxed));
        (next < matches.__len__(py)?).then(|| matches.__getitem__(py, next as isize)).transpose()
    }
}
