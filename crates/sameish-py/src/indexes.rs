//! Indexes over documents by number: fingerprints within a radius, signatures that share a band.

use crate::error::{number, refused, setting};
use crate::guard::Guarded;
use crate::numbers::{self, Numbers, between, count, stored};
use crate::results::{self, Class};
use crate::sketchers::{Signature, signature};
use crate::work::{BLOCK, Progress, attended};
use numpy::{PyArray1, PyArray2, PyArrayMethods};
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyList, PyTuple};
use sameish::{BandSearch, Bands, Blocks, DocNumber, Fingerprint, SchemeId};

static HIT: Class = Class::new("Hit");
static NEAR: Class = Class::new("Near");

/// Arrays of documents and distances, and where those of each query begin.
type Hits<'py> = (Bound<'py, PyArray1<u32>>, Bound<'py, PyArray1<u32>>, Bound<'py, PyArray1<i64>>);

fn hit<'py>(py: Python<'py>, hit: sameish::Hit) -> PyResult<Bound<'py, PyAny>> {
    HIT.make(py, (hit.doc.0, hit.distance))
}

fn document(doc: &Bound<'_, PyAny>) -> PyResult<DocNumber> {
    numbers::one(doc, "doc").map(DocNumber)
}

/// Finds documents whose fingerprints differ in at most `radius` bits. Exact: no match is missed, each is told once.
///
/// >>> from sameish import HammingIndex
/// >>> index = HammingIndex(3)
/// >>> index.insert(0xABCD, 1), index.insert(0xABCE, 2)
/// (True, True)
/// >>> index.find_all(0xABCF)
/// [Hit(doc=1, distance=1), Hit(doc=2, distance=1)]
#[pyclass(frozen, module = "sameish")]
pub(crate) struct HammingIndex {
    inner: Guarded<sameish::HammingIndex>,
}

impl HammingIndex {
    fn of(index: sameish::HammingIndex) -> HammingIndex {
        HammingIndex { inner: Guarded::new(index) }
    }

    fn change_bulk(
        &self,
        hashes: &Bound<'_, PyAny>,
        docs: &Bound<'_, PyAny>,
        change: impl Fn(&mut sameish::HammingIndex, &[(Fingerprint, DocNumber)]) -> usize + Send + Sync,
    ) -> PyResult<usize> {
        let prints = numbers::fingerprints(hashes, "hashes")?.items;
        let docs = numbers::many::<u32>(docs, "docs")?.items;
        numbers::same_length(("hashes", prints.len()), ("docs", docs.len()))?;
        let entries: Vec<(Fingerprint, DocNumber)> =
            prints.into_iter().zip(docs.into_iter().map(DocNumber)).collect();
        let progress = Progress::of_prints(None, entries.len());
        attended(hashes.py(), progress, |watch| {
            let Some(mut index) = self.inner.write(watch) else { return 0 };
            let blocks = entries.chunks(BLOCK).take_while(|_| watch.goes_on());
            blocks.map(|block| change(&mut index, block)).sum()
        })
    }
}

#[pymethods]
impl HammingIndex {
    #[new]
    #[pyo3(signature = (radius=3, *, blocks=None, capacity=1_000_000))]
    fn new(radius: i64, blocks: Option<i64>, capacity: i64) -> PyResult<HammingIndex> {
        let radius = between(radius, "radius", 0..=64)?;
        let index = match blocks {
            Some(total) => {
                let total = between(total, "blocks", 1..=64)?;
                sameish::HammingIndex::with_blocks(Blocks { total, differing: radius })
            }
            None => sameish::HammingIndex::with_capacity(radius, count(capacity, "capacity", 0)?),
        };
        Ok(HammingIndex::of(index.map_err(refused)?))
    }

    /// The most bits in which a hit may differ.
    #[getter]
    fn radius(&self, py: Python<'_>) -> PyResult<u32> {
        self.inner.ask(py, sameish::HammingIndex::radius)
    }

    /// Adds a document; tells whether it was new. A fingerprint may have many documents.
    fn insert(&self, py: Python<'_>, hash: &Bound<'_, PyAny>, doc: &Bound<'_, PyAny>) -> PyResult<bool> {
        let (print, doc) = (numbers::fingerprint(hash)?, document(doc)?);
        self.inner.change(py, |index| index.insert(print, doc))
    }

    /// Takes a document out; tells whether it was there.
    fn remove(&self, py: Python<'_>, hash: &Bound<'_, PyAny>, doc: &Bound<'_, PyAny>) -> PyResult<bool> {
        let (print, doc) = (numbers::fingerprint(hash)?, document(doc)?);
        self.inner.change(py, |index| index.remove(print, doc))
    }

    /// Adds many documents; gives how many were new.
    fn insert_bulk(&self, hashes: &Bound<'_, PyAny>, docs: &Bound<'_, PyAny>) -> PyResult<usize> {
        self.change_bulk(hashes, docs, sameish::HammingIndex::insert_all)
    }

    /// Takes many documents out; gives how many were there.
    fn remove_bulk(&self, hashes: &Bound<'_, PyAny>, docs: &Bound<'_, PyAny>) -> PyResult<usize> {
        self.change_bulk(hashes, docs, sameish::HammingIndex::remove_all)
    }

    /// Some document within the radius, or None.
    fn find_first<'py>(&self, query: &Bound<'py, PyAny>) -> PyResult<Option<Bound<'py, PyAny>>> {
        let (py, print) = (query.py(), numbers::fingerprint(query)?);
        self.inner.ask(py, |index| index.find_first(print))?.map(|found| hit(py, found)).transpose()
    }

    /// Every document within the radius, or a smaller one, the nearest first, then by number.
    #[pyo3(signature = (query, radius=None))]
    fn find_all<'py>(
        &self,
        query: &Bound<'py, PyAny>,
        radius: Option<i64>,
    ) -> PyResult<Vec<Bound<'py, PyAny>>> {
        let (py, print) = (query.py(), numbers::fingerprint(query)?);
        let most = self.radius(py)?;
        let radius = radius.map_or(Ok(most), |radius| between(radius, "radius", 0..=most))?;
        let hits = self.inner.ask(py, |index| {
            let mut hits = Vec::new();
            index.find_within(print, radius, &mut hits);
            hits
        })?;
        hits.into_iter().map(|found| hit(py, found)).collect()
    }

    /// For many queries the documents, their distances, and where those of each query begin, as three arrays.
    fn find_all_bulk<'py>(&self, queries: &Bound<'py, PyAny>) -> PyResult<Hits<'py>> {
        let py = queries.py();
        let Numbers { items: queries, .. } = numbers::fingerprints(queries, "queries")?;
        let progress = Progress::of_prints(None, queries.len());
        let (docs, distances, offsets) = attended(py, progress, |watch| {
            let (mut docs, mut distances, mut offsets) = (Vec::new(), Vec::new(), vec![0i64]);
            let Some(index) = self.inner.read(watch) else { return (docs, distances, offsets) };
            for block in queries.chunks(BLOCK).take_while(|_| watch.goes_on()) {
                index.find_all_bulk(block, |_, hits| {
                    docs.extend(hits.iter().map(|hit| hit.doc.0));
                    distances.extend(hits.iter().map(|hit| hit.distance));
                    offsets.push(docs.len() as i64);
                });
            }
            (docs, distances, offsets)
        })?;
        let offsets = PyArray1::from_vec(py, offsets);
        Ok((PyArray1::from_vec(py, docs), PyArray1::from_vec(py, distances), offsets))
    }

    /// The index as bytes of one file.
    fn to_bytes<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyBytes>> {
        Ok(PyBytes::new(py, &self.inner.ask(py, sameish::HammingIndex::to_bytes)?))
    }

    /// Reads what `to_bytes` wrote. Everything is checked.
    #[staticmethod]
    fn from_bytes(bytes: &Bound<'_, PyAny>) -> PyResult<HammingIndex> {
        let (py, bytes) = (bytes.py(), stored(bytes, "`bytes`")?);
        let bytes = bytes.as_bytes();
        let index = py.detach(|| sameish::HammingIndex::from_bytes(bytes));
        Ok(HammingIndex::of(index.map_err(refused)?))
    }

    fn __len__(&self, py: Python<'_>) -> PyResult<usize> {
        self.inner.ask(py, sameish::HammingIndex::len)
    }

    fn __repr__(&self, py: Python<'_>) -> PyResult<String> {
        Ok(format!("<HammingIndex of {} documents, radius {}>", self.__len__(py)?, self.radius(py)?))
    }

    fn __reduce__<'py>(slf: &Bound<'py, HammingIndex>) -> PyResult<(Bound<'py, PyAny>, Bound<'py, PyTuple>)> {
        let bytes = slf.get().to_bytes(slf.py())?;
        Ok((slf.get_type().getattr("from_bytes")?, (bytes,).into_pyobject(slf.py())?))
    }
}

/// Finds documents whose signatures share a band, for signatures of `rows` rows.
///
/// The bands are those given as `(count, rows)`, or the ones that find pairs at the threshold with the recall.
///
/// >>> from sameish import BandIndex, MinHasher
/// >>> hasher = MinHasher(rows=128)
/// >>> index = BandIndex(128, threshold=0.8, recall=0.99)
/// >>> index.insert(7, hasher.sketch("the council voted on monday to close the old bridge"))
/// >>> index.search(hasher.sketch("the council voted on monday to close the old bridge"), 0.8)
/// [Near(doc=7, estimate=1.0)]
#[pyclass(frozen, module = "sameish")]
pub(crate) struct BandIndex {
    inner: Guarded<Banded>,
    rows: u32,
}

struct Banded {
    index: sameish::BandIndex,
    /// Of the first signature that came with one; all others must have the same.
    scheme: Option<SchemeId>,
}

/// A signature, and its scheme if it is known.
struct Given {
    signature: sameish::Signature,
    scheme: Option<SchemeId>,
}

impl Given {
    fn read(value: &Bound<'_, PyAny>) -> PyResult<Given> {
        if let Ok(signature) = value.cast::<Signature>() {
            let Signature { inner, scheme } = signature.get();
            return Ok(Given { signature: inner.clone(), scheme: Some(*scheme) });
        }
        Ok(Given { signature: signature(value)?, scheme: None })
    }
}

impl Banded {
    fn check(&self, given: &Given) -> PyResult<()> {
        match (self.scheme, given.scheme) {
            (Some(expected), Some(found)) if expected != found => {
                Err(refused(sameish::Error::SchemeMismatch { expected, found }))
            }
            _ => Ok(()),
        }
    }
}

/// Bytes that an index may take for documents that are not there.
const SPARE: u64 = 1 << 30;

/// Refuses numbers so large that the room kept for all below them has no relation to how many documents there are.
fn check_room(numbers: u64, rows: u32, documents: usize) -> PyResult<()> {
    let most = (SPARE / (u64::from(rows) * 4)).max(8 * documents as u64);
    if numbers > most {
        return Err(number(format!(
            "doc is {}: must be below {most}; number documents densely from 0",
            numbers - 1
        )));
    }
    Ok(())
}

fn check_threshold(threshold: f64) -> PyResult<f64> {
    if (0.0..=1.0).contains(&threshold) {
        return Ok(threshold);
    }
    Err(setting(format!("`threshold` is {threshold}: must be 0 to 1")))
}

#[pymethods]
impl BandIndex {
    #[new]
    #[pyo3(signature = (rows=128, *, bands=None, threshold=0.8, recall=0.99))]
    fn new(rows: i64, bands: Option<(i64, i64)>, threshold: f64, recall: f64) -> PyResult<BandIndex> {
        let rows = between(rows, "rows", 1..=u32::MAX)?;
        let bands = match bands {
            Some((count, height)) => {
                Bands { count: between(count, "bands", 1..=rows)?, rows: between(height, "bands", 1..=rows)? }
            }
            None => Bands::for_target(rows, threshold, recall).map_err(refused)?,
        };
        let index = sameish::BandIndex::new(rows, bands).map_err(refused)?;
        Ok(BandIndex { inner: Guarded::new(Banded { index, scheme: None }), rows })
    }

    /// How many bands, and how many rows each.
    #[getter]
    fn bands(&self, py: Python<'_>) -> PyResult<(u32, u32)> {
        let bands = self.inner.ask(py, |inner| inner.index.bands())?;
        Ok((bands.count, bands.rows))
    }

    /// How many rows its signatures have.
    #[getter]
    fn rows(&self) -> u32 {
        self.rows
    }

    /// How likely a pair of this similarity shares a band.
    fn probability(&self, py: Python<'_>, similarity: f64) -> PyResult<f64> {
        let (count, rows) = self.bands(py)?;
        Ok(Bands { count, rows }.probability(check_threshold(similarity)?))
    }

    /// Adds a document, in place of the one that had its number. Numbers should be dense: room is kept up to the largest.
    fn insert(&self, doc: &Bound<'_, PyAny>, signature: &Bound<'_, PyAny>) -> PyResult<()> {
        let (py, doc, given) = (doc.py(), document(doc)?, Given::read(signature)?);
        self.inner.change(py, |inner| {
            inner.check(&given)?;
            check_room(u64::from(doc.0) + 1, self.rows, inner.index.len())?;
            inner.index.insert(doc, &given.signature).map_err(refused)?;
            inner.scheme = inner.scheme.or(given.scheme);
            Ok(())
        })?
    }

    /// Adds a document for each row of an array of uint32, numbered from `first`. Rows that are no signature are left out;
    /// gives how many were added.
    #[pyo3(signature = (signatures, first=0))]
    fn insert_bulk(&self, py: Python<'_>, signatures: &Bound<'_, PyAny>, first: i64) -> PyResult<usize> {
        let first = between(first, "first", 0..=u32::MAX)?;
        let (values, rows) = numbers::rows(signatures, "signatures")?;
        let expected = self.rows as usize;
        if rows != expected {
            let what = "signature rows";
            return Err(refused(sameish::Error::SizeMismatch { what, expected, found: rows }));
        }
        let more = values.len() / rows;
        check_room(u64::from(first), self.rows, self.__len__(py)?)?;
        let numbers = u64::from(first) + more as u64;
        if numbers > u64::from(u32::MAX) {
            return Err(number(format!("documents up to {numbers}: must be below 2**32")));
        }
        let progress = Progress::of_prints(None, more);
        attended(py, progress, |watch| {
            let mut added = 0;
            let Some(mut inner) = self.inner.write(watch) else { return Ok(added) };
            for (at, block) in values.chunks(rows * 4096).enumerate().take_while(|_| watch.goes_on()) {
                let numbered = (first + (at * 4096) as u32..).zip(block.chunks_exact(rows));
                let signed: Vec<(DocNumber, sameish::Signature)> = numbered
                    .filter_map(|(doc, row)| Some((DocNumber(doc), sameish::Signature::from_rows(row).ok()?)))
                    .collect();
                inner.index.insert_all(signed.iter().map(|(doc, signature)| (*doc, signature)))?;
                added += signed.len();
            }
            Ok(added)
        })?
        .map_err(refused)
    }

    /// Takes a document out; tells whether it was there.
    fn remove(&self, py: Python<'_>, doc: &Bound<'_, PyAny>) -> PyResult<bool> {
        let doc = document(doc)?;
        self.inner.change(py, |inner| inner.index.remove(doc))
    }

    /// All documents that share a band with the signature and whose estimated similarity is at least the threshold, the
    /// most similar first.
    #[pyo3(signature = (signature, threshold=0.8))]
    fn search<'py>(
        &self,
        py: Python<'py>,
        signature: &Bound<'_, PyAny>,
        threshold: f64,
    ) -> PyResult<Bound<'py, PyList>> {
        let (given, threshold) = (Given::read(signature)?, check_threshold(threshold)?);
        let found = self.inner.ask(py, |inner| {
            inner.check(&given)?;
            inner.index.search(&given.signature, threshold).map_err(refused)
        })?;
        let BandSearch { hits, candidates, capped } = found?;
        let hits = hits.into_iter().map(|hit| NEAR.make(py, (hit.doc.0, hit.estimate)));
        results::found(py, hits, candidates as u64, capped as u64)
    }

    fn __len__(&self, py: Python<'_>) -> PyResult<usize> {
        self.inner.ask(py, |inner| inner.index.len())
    }

    fn __contains__(&self, py: Python<'_>, doc: &Bound<'_, PyAny>) -> PyResult<bool> {
        let doc = document(doc)?;
        self.inner.ask(py, |inner| inner.index.signature(doc).is_some())
    }

    fn __repr__(&self, py: Python<'_>) -> PyResult<String> {
        let (count, rows) = self.bands(py)?;
        Ok(format!("<BandIndex of {} documents, {count} bands of {rows} rows>", self.__len__(py)?))
    }

    fn __reduce__<'py>(slf: &Bound<'py, BandIndex>) -> PyResult<(Bound<'py, PyAny>, Bound<'py, PyTuple>)> {
        let (py, BandIndex { inner, rows }) = (slf.py(), slf.get());
        let (docs, signatures, scheme) = inner.ask(py, |inner| {
            let (mut docs, mut signatures) = (Vec::new(), Vec::new());
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

    /// What a pickle has.
    #[staticmethod]
    fn _restore(
        rows: u32,
        bands: (u32, u32),
        docs: &Bound<'_, PyArray1<u32>>,
        signatures: &Bound<'_, PyArray2<u32>>,
        scheme: Option<u64>,
    ) -> PyResult<BandIndex> {
        let bands = Bands { count: bands.0, rows: bands.1 };
        let mut index = sameish::BandIndex::new(rows, bands).map_err(refused)?;
        let (docs, signatures) = (docs.readonly(), signatures.readonly());
        let signatures = signatures.as_slice()?.chunks_exact(rows as usize);
        let signed = signatures.map(|rows| sameish::Signature::from_rows(rows).map_err(refused));
        let signed = signed.collect::<PyResult<Vec<_>>>()?;
        let docs = docs.as_slice()?;
        numbers::same_length(("docs", docs.len()), ("signatures", signed.len()))?;
        let numbers = docs.iter().max().map_or(0, |&largest| u64::from(largest) + 1);
        check_room(numbers, rows, docs.len())?;
        index.insert_all(docs.iter().map(|doc| DocNumber(*doc)).zip(&signed)).map_err(refused)?;
        let scheme = scheme.map(SchemeId::from_u64);
        Ok(BandIndex { inner: Guarded::new(Banded { index, scheme }), rows })
    }
}
