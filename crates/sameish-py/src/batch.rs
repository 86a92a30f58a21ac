//! A whole corpus at once: who matches whom, who belongs together, who stays.

use crate::analyzer::PyAnalyzer;
use crate::engine::{SPOT, all_groups, all_pairs, insert_all};
use crate::error::{refused, setting};
use crate::many::too_short;
use crate::numbers::count;
use crate::results;
use crate::settings;
use crate::table::{Columns, Table, take, there};
use crate::work::{Progress, Watch, apart};
use numpy::{PyArray1, PyArrayMethods};
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyList, PyTuple};
use sameish::{DocId, Engine, Groups, Linkage, Prepared, Timestamp};
use std::cmp::Reverse;

/// Every pair that matches, in the order of the later document, then of the earlier.
///
/// `data` is a list of texts, a column of Arrow, or a table of Arrow, pandas, Polars or the path of a Parquet file, with a
/// column named by `text`.
/// Without `id` documents are known by their row.
///
/// >>> import sameish
/// >>> texts = ["the old bridge over the river is closed", "markets were calm", "The old bridge over the river is closed"]
/// >>> [(p.a, p.b, p.match_type) for p in sameish.pairs(texts)]
/// [(0, 2, 'exact')]
#[pyfunction]
#[pyo3(signature = (
    data, *, text="text", id=None, date=None, preset=None, config=None, limit_pairs=None, threads=None, progress=None, **overrides,
))]
#[allow(clippy::too_many_arguments)]
pub(crate) fn pairs<'py>(
    py: Python<'py>,
    data: &Bound<'py, PyAny>,
    text: &str,
    id: Option<&Bound<'py, PyAny>>,
    date: Option<&Bound<'py, PyAny>>,
    preset: Option<&str>,
    config: Option<&Bound<'_, PyAny>>,
    limit_pairs: Option<i64>,
    threads: Option<i64>,
    progress: Option<&Bound<'_, PyAny>>,
    overrides: Option<&Bound<'_, PyDict>>,
) -> PyResult<Bound<'py, PyList>> {
    let limit_pairs = limit_pairs.map(|limit| count(limit, "limit_pairs", 0)).transpose()?;
    let analyzer = PyAnalyzer::new(settings::config(preset, config, overrides)?)?;
    let table = Table::read(data, &Columns { text, id, date, lossy: analyzer.lossy() })?;
    let corpus = Corpus::read(py, &analyzer, &table, Order::Given, threads, progress)?;
    let found = corpus.apart(py, move |engine, watch| all_pairs(engine, limit_pairs, watch))?;
    results::pairs(py, &found, |id| table.named(py, id))
}

/// Documents in groups, by the linkage of the settings, those of at least `min_size` documents.
///
/// >>> import sameish
/// >>> texts = ["the old bridge over the river is closed", "markets were calm", "The old bridge over the river is closed"]
/// >>> sameish.cluster(texts, min_size=2)
/// [Cluster(center=0, members=[0, 2], mean_similarity=1.0, average_distance=None)]
#[pyfunction]
#[pyo3(signature = (
    data, *, text="text", id=None, date=None, preset=None, config=None, min_size=1, threads=None, progress=None, **overrides,
))]
#[allow(clippy::too_many_arguments)]
pub(crate) fn cluster<'py>(
    py: Python<'py>,
    data: &Bound<'py, PyAny>,
    text: &str,
    id: Option<&Bound<'py, PyAny>>,
    date: Option<&Bound<'py, PyAny>>,
    preset: Option<&str>,
    config: Option<&Bound<'_, PyAny>>,
    min_size: i64,
    threads: Option<i64>,
    progress: Option<&Bound<'_, PyAny>>,
    overrides: Option<&Bound<'_, PyDict>>,
) -> PyResult<Bound<'py, PyList>> {
    let min_size = count(min_size, "min_size", 0)?;
    let analyzer = PyAnalyzer::new(settings::config(preset, config, overrides)?)?;
    let table = Table::read(data, &Columns { text, id, date, lossy: analyzer.lossy() })?;
    let corpus = Corpus::read(py, &analyzer, &table, Order::Given, threads, progress)?;
    let mut found = corpus.apart(py, all_groups)?;
    found.groups.retain(|group| group.members.len() >= min_size);
    results::clusters(py, &found, |id| table.named(py, id))
}

/// Which documents stay when one of each cluster does. Nothing is written: see `Dedup`.
///
/// Every document that goes was matched with the one that stays for it. `keep` is `first`, `longest` or `newest`, which
/// needs `date`.
///
/// >>> import sameish
/// >>> texts = ["the old bridge over the river is closed", "markets were calm", "The old bridge over the river is closed"]
/// >>> found = sameish.dedup(texts)
/// >>> found.kept.tolist(), found.removed.tolist()
/// ([0, 1], [2])
/// >>> found.take(texts)
/// ['the old bridge over the river is closed', 'markets were calm']
#[pyfunction]
#[pyo3(signature = (
    data, *, text="text", id=None, date=None, keep="first", preset=None, config=None, threads=None, progress=None, **overrides,
))]
#[allow(clippy::too_many_arguments)]
pub(crate) fn dedup<'py>(
    py: Python<'py>,
    data: &Bound<'py, PyAny>,
    text: &str,
    id: Option<&Bound<'py, PyAny>>,
    date: Option<&Bound<'py, PyAny>>,
    keep: &str,
    preset: Option<&str>,
    config: Option<&Bound<'_, PyAny>>,
    threads: Option<i64>,
    progress: Option<&Bound<'_, PyAny>>,
    overrides: Option<&Bound<'_, PyDict>>,
) -> PyResult<Dedup> {
    let order = match keep {
        "first" => Order::Given,
        "longest" => Order::LongestFirst,
        "newest" if date.is_some() => Order::NewestFirst,
        "newest" => return Err(setting("`keep` is `newest`: pass `date` too, a column of dates")),
        _ => {
            let keep = crate::error::shown(keep);
            return Err(setting(format!("`keep` is `{keep}`: must be `first`, `longest` or `newest`")));
        }
    };
    let presets = settings::config(preset, None, None)?.matching.linkage;
    let mut config = settings::config(preset, config, overrides)?;
    // Every document that goes must have matched the one that stays, whatever the preset makes of its clusters.
    if ![presets, Linkage::Cohesive].contains(&config.matching.linkage) {
        return Err(setting("`linkage` is set: `dedup` has `cohesive` alone; leave it out"));
    }
    config.matching.linkage = Linkage::Cohesive;
    let analyzer = PyAnalyzer::new(config)?;
    let table = Table::read(data, &Columns { text, id, date, lossy: analyzer.lossy() })?;
    let corpus = Corpus::read(py, &analyzer, &table, order, threads, progress)?;
    let (documents, too_short) = (corpus.rows.len(), corpus.too_short);
    let expected_recall = analyzer.inner().expected_recall();
    let mut found = corpus.apart(py, all_groups)?;
    let centers = centers(documents, &found);
    found.groups.retain(|group| group.members.len() > 1);
    let clusters = results::clusters(py, &found, |id| table.named(py, id))?.unbind();
    Ok(Dedup {
        centers,
        clusters,
        too_short,
        expected_recall,
        candidates: found.effort.candidates,
        capped: found.effort.capped,
    })
}

/// Which documents stay, and for whom the others go.
#[pyclass(frozen, module = "sameish")]
pub(crate) struct Dedup {
    centers: Vec<i64>,
    clusters: Py<PyList>,
    too_short: usize,
    expected_recall: Option<f64>,
    candidates: u64,
    capped: u64,
}

impl Dedup {
    /// Whether each row stays.
    fn stays(&self) -> impl Iterator<Item = bool> {
        (0i64..).zip(&self.centers).map(|(row, center)| row == *center)
    }

    fn count(&self) -> usize {
        self.stays().filter(|stays| *stays).count()
    }

    fn rows<'py>(&self, py: Python<'py>, kept: bool) -> Bound<'py, PyArray1<i64>> {
        let rows = (0i64..).zip(self.stays()).filter(|(_, stays)| *stays == kept);
        PyArray1::from_vec(py, rows.map(|(row, _)| row).collect())
    }
}

#[pymethods]
impl Dedup {
    /// The rows that stay, in order.
    #[getter]
    fn kept<'py>(&self, py: Python<'py>) -> Bound<'py, PyArray1<i64>> {
        self.rows(py, true)
    }

    /// The rows that go, in order.
    #[getter]
    fn removed<'py>(&self, py: Python<'py>) -> Bound<'py, PyArray1<i64>> {
        self.rows(py, false)
    }

    /// Whether each row stays, as an array of bool.
    #[getter]
    fn mask<'py>(&self, py: Python<'py>) -> Bound<'py, PyArray1<bool>> {
        PyArray1::from_vec(py, self.stays().collect())
    }

    /// For each row the one that stays for it; its own where it stays.
    #[getter]
    fn centers<'py>(&self, py: Python<'py>) -> Bound<'py, PyArray1<i64>> {
        PyArray1::from_slice(py, &self.centers)
    }

    /// The clusters of more than one document, each with the one that stays as its center.
    #[getter]
    fn clusters(&self, py: Python<'_>) -> Py<PyList> {
        self.clusters.clone_ref(py)
    }

    /// Figures of the run.
    #[getter]
    fn summary<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        let kept = self.count();
        let clusters = self.clusters.bind(py);
        let sizes = clusters.iter().map(|cluster| cluster.getattr("members")?.len());
        let largest = sizes.collect::<PyResult<Vec<_>>>()?.into_iter().max().unwrap_or(kept.min(1));
        let summary = PyDict::new(py);
        summary.set_item("documents", self.centers.len())?;
        summary.set_item("kept", kept)?;
        summary.set_item("removed", self.centers.len() - kept)?;
        summary.set_item("clusters", clusters.len())?;
        summary.set_item("largest_cluster", largest)?;
        summary.set_item("too_short", self.too_short)?;
        summary.set_item("candidates", self.candidates)?;
        summary.set_item("expected_recall", self.expected_recall)?;
        summary.set_item("caps_hit", self.capped)?;
        Ok(summary)
    }

    /// The rows that stay, of the data that was given or of other columns of it, and of the same kind.
    fn take<'py>(&self, py: Python<'py>, data: &Bound<'py, PyAny>) -> PyResult<Bound<'py, PyAny>> {
        let data = &there(data)?;
        let rows = data.len().unwrap_or(self.centers.len());
        if rows != self.centers.len() {
            let expected = self.centers.len();
            return Err(setting(format!(
                "the data has {rows} rows: must be the {expected} that were looked at"
            )));
        }
        take(data, self.kept(py).as_any())
    }

    fn __len__(&self) -> usize {
        self.centers.len()
    }

    fn __repr__(&self) -> String {
        let kept = self.count();
        format!(
            "<Dedup of {} documents: {kept} kept, {} removed>",
            self.centers.len(),
            self.centers.len() - kept
        )
    }

    fn __reduce__<'py>(slf: &Bound<'py, Dedup>) -> PyResult<(Bound<'py, PyAny>, Bound<'py, PyTuple>)> {
        let (py, found) = (slf.py(), slf.get());
        let Dedup { too_short, expected_recall, candidates, capped, .. } = found;
        let centers = PyArray1::from_slice(py, &found.centers);
        let fields = (centers, found.clusters(py), *too_short, *expected_recall, *candidates, *capped);
        Ok((slf.get_type().getattr("_restore")?, fields.into_pyobject(py)?))
    }

    /// What a pickle has.
    #[staticmethod]
    fn _restore(
        centers: &Bound<'_, PyArray1<i64>>,
        clusters: Py<PyList>,
        too_short: usize,
        expected_recall: Option<f64>,
        candidates: u64,
        capped: u64,
    ) -> PyResult<Dedup> {
        let centers = centers.readonly().as_slice()?.to_vec();
        if centers.iter().any(|&center| center < 0 || center as usize >= centers.len()) {
            return Err(setting("`centers` must be rows that are there"));
        }
        Ok(Dedup { centers, clusters, too_short, expected_recall, candidates, capped })
    }
}

/// In which order documents come, and so who is a center.
#[derive(Clone, Copy)]
enum Order {
    Given,
    LongestFirst,
    NewestFirst,
}

/// Documents that have been prepared, by row, in the order in which they are added.
struct Corpus<'a, 'py> {
    engine: Engine,
    rows: Vec<DocId>,
    dates: Option<Vec<Option<Timestamp>>>,
    prepared: Vec<Prepared>,
    too_short: usize,
    progress: Progress<'a, 'py>,
}

/// Each document is prepared, added and asked for.
const ROUNDS: usize = 3;

impl<'a, 'py> Corpus<'a, 'py> {
    fn read(
        py: Python<'_>,
        analyzer: &PyAnalyzer,
        table: &Table<'_>,
        order: Order,
        threads: Option<i64>,
        progress: Option<&'a Bound<'py, PyAny>>,
    ) -> PyResult<Corpus<'a, 'py>> {
        let raw = table.texts.raw("texts")?;
        table.check(raw.len())?;
        let progress = Progress::new(progress, raw.len());
        let many = analyzer.many(&raw, threads, progress.first_of(ROUNDS));
        let mut prepared: Vec<_> = many
            .prepared(py, |text, scratch| analyzer.inner().prepare(text, scratch))?
            .into_iter()
            .map(Some)
            .collect();
        let mut rows: Vec<usize> = (0..raw.len()).collect();
        match (order, &table.dates) {
            (Order::LongestFirst, _) => rows.sort_by_key(|&row| Reverse(raw[row].map_or(0, <[u8]>::len))),
            (Order::NewestFirst, Some(dates)) => rows.sort_by_key(|&row| Reverse(dates[row])),
            _ => {}
        }
        let prepared: Vec<Prepared> = rows.iter().filter_map(|&row| prepared[row].take()).collect();
        Ok(Corpus {
            engine: Engine::with_analyzer(analyzer.inner().clone()).map_err(refused)?,
            dates: table.dates.as_ref().map(|dates| rows.iter().map(|&row| dates[row]).collect()),
            rows: rows.into_iter().map(|row| DocId::Number(row as u64)).collect(),
            too_short: too_short(&prepared),
            prepared,
            progress,
        })
    }

    /// Adds all documents and asks, on a thread of its own that has all it needs.
    fn apart<T: Send + 'static>(
        self,
        py: Python<'_>,
        question: impl FnOnce(&Engine, &Watch) -> T + Send + 'static,
    ) -> PyResult<T> {
        let Corpus { mut engine, rows, dates, prepared, progress, .. } = self;
        let few = rows.len() <= SPOT;
        let found = apart(py, progress.rest_of(ROUNDS).small_if(few), move |watch| {
            insert_all(&mut engine, &rows, dates.as_deref(), prepared, watch)?;
            Ok(question(&engine, watch))
        })?;
        found.map_err(refused)
    }
}

/// For each row the center of its group.
fn centers(rows: usize, found: &Groups) -> Vec<i64> {
    let mut centers: Vec<i64> = (0..rows as i64).collect();
    let row = |id: &DocId| match id {
        DocId::Number(row) => *row as usize,
        _ => unreachable!("documents are known by their rows"),
    };
    for group in &found.groups {
        let center = row(&group.center) as i64;
        group.members.iter().for_each(|member| centers[row(member)] = center);
    }
    centers
}
