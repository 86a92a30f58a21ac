//! `dedup`, `pairs` and `cluster`: a whole corpus at once.

use crate::analyzer::PyAnalyzer;
use crate::engine::{INLINE_DOCUMENTS, all_groups, all_pairs, count_too_short, insert_all};
use crate::error::{engine_error, excerpt, setting_error};
use crate::interrupt::{Progress, Task, run_detached};
use crate::numbers::at_least;
use crate::results;
use crate::settings;
use crate::table::{Columns, Table, collect, take_rows};
use numpy::{PyArray1, PyArrayMethods};
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyList, PyTuple};
use sameish::config::Linkage;
use sameish::{Analyzer, Config, DocId, Engine, Groups, Prepared, Timestamp};
use std::cmp::Reverse;

/// Finds all matching pairs of a corpus.
///
/// Args:
///     data: The documents: a list of str; an Arrow, pandas or Polars column; an Arrow, pandas or Polars
///         table; or the path of a Parquet file or of a directory of Parquet files (read with pyarrow or
///         Polars). A null counts as an empty text.
///     text: Name of the text column of a table; default `"text"`.
///     id: Name of the id column of a table, or a list or column of distinct ids (integers or strings).
///         Default None: documents are identified by their row number.
///     date: Name of the date column of a table, or a list or column of dates; default None.
///     preset: Name of the preset; default `"copies"`. See `Engine`.
///     config: Config file in TOML, or a mapping with its contents; default None.
///     limit_pairs: Maximum number of pairs, at least 0; default None, no limit.
///     threads: Number of threads for reading texts, 1 to 1024; default: one per processor. It does not
///         affect the result.
///     progress: Called as `progress(done, total)` about 20 times per second, in documents; default
///         None. An exception that it raises ends the call.
///     **overrides: Settings as keywords; see `Engine`.
///
/// Returns:
///     A list (`Found`) of `Pair`, ordered by the later document, then by the earlier one.
///
/// Examples:
///     >>> import sameish
///     >>> texts = ["the old bridge over the river is closed", "markets were calm", "The old bridge over the river is closed"]
///     >>> [(p.a, p.b, p.match_type) for p in sameish.pairs(texts)]
///     [(0, 2, 'exact')]
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
    let limit = limit_pairs.map(|limit| at_least(limit, "limit_pairs", 0)).transpose()?;
    let analyzer = PyAnalyzer::new(settings::config(preset, config, overrides)?)?;
    let table = Table::read(data, &Columns { text, id, date, lossy: analyzer.lossy() })?;
    let corpus = PreparedCorpus::new(py, &analyzer, &table, Order::Given, threads, progress)?;
    let pairs = corpus.run(py, move |engine, task| all_pairs(engine, limit, task))?;
    results::pairs(py, &pairs, |row| table.id_of(py, row))
}

/// Clusters a corpus with the linkage of the settings.
///
/// Args:
///     data: The documents: a list of str; an Arrow, pandas or Polars column; an Arrow, pandas or Polars
///         table; or the path of a Parquet file or of a directory of Parquet files (read with pyarrow or
///         Polars). A null counts as an empty text.
///     text: Name of the text column of a table; default `"text"`.
///     id: Name of the id column of a table, or a list or column of distinct ids (integers or strings).
///         Default None: documents are identified by their row number.
///     date: Name of the date column of a table, or a list or column of dates; default None.
///     preset: Name of the preset; default `"copies"`. See `Engine`.
///     config: Config file in TOML, or a mapping with its contents; default None.
///     min_size: Minimum number of documents of a cluster, at least 0; default 1.
///     threads: Number of threads for reading texts, 1 to 1024; default: one per processor. It does not
///         affect the result.
///     progress: Called as `progress(done, total)` about 20 times per second, in documents; default
///         None. An exception that it raises ends the call.
///     **overrides: Settings as keywords; see `Engine`.
///
/// Returns:
///     A list (`Found`) of `Cluster`.
///
/// Examples:
///     >>> import sameish
///     >>> texts = ["the old bridge over the river is closed", "markets were calm", "The old bridge over the river is closed"]
///     >>> sameish.cluster(texts, min_size=2)
///     [Cluster(center=0, members=[0, 2], mean_similarity=1.0, average_distance=None)]
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
    let min_size = at_least(min_size, "min_size", 0)?;
    let analyzer = PyAnalyzer::new(settings::config(preset, config, overrides)?)?;
    let table = Table::read(data, &Columns { text, id, date, lossy: analyzer.lossy() })?;
    let corpus = PreparedCorpus::new(py, &analyzer, &table, Order::Given, threads, progress)?;
    let mut groups = corpus.run(py, all_groups)?;
    groups.groups.retain(|group| group.members.len() >= min_size);
    results::clusters(py, &groups, |row| table.id_of(py, row))
}

/// Finds the documents to keep if one document per cluster of near-duplicates is kept.
///
/// Every removed document matches the kept document of its cluster. Nothing is written; see `Dedup`.
///
/// Args:
///     data: The documents: a list of str; an Arrow, pandas or Polars column; an Arrow, pandas or Polars
///         table; or the path of a Parquet file or of a directory of Parquet files (read with pyarrow or
///         Polars). A null counts as an empty text.
///     text: Name of the text column of a table; default `"text"`.
///     id: Name of the id column of a table, or a list or column of distinct ids (integers or strings).
///         Default None: documents are identified by their row number.
///     date: Name of the date column of a table, or a list or column of dates; default None.
///     keep: Which document of a cluster is kept: the `"first"` (the default), the `"longest"` or the
///         `"newest"`, which requires `date`.
///     preset: Name of the preset; default `"copies"`. See `Engine`.
///     config: Config file in TOML, or a mapping with its contents; default None.
///     threads: Number of threads for reading texts, 1 to 1024; default: one per processor. It does not
///         affect the result.
///     progress: Called as `progress(done, total)` about 20 times per second, in documents; default
///         None. An exception that it raises ends the call.
///     **overrides: Settings as keywords; see `Engine`.
///
/// Returns:
///     A `Dedup`.
///
/// Examples:
///     >>> import sameish
///     >>> texts = ["the old bridge over the river is closed", "markets were calm", "The old bridge over the river is closed"]
///     >>> result = sameish.dedup(texts)
///     >>> result.kept.tolist(), result.removed.tolist()
///     ([0, 1], [2])
///     >>> result.take(texts)
///     ['the old bridge over the river is closed', 'markets were calm']
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
    let order = Order::from_keep(keep, date.is_some())?;
    let analyzer = PyAnalyzer::new(dedup_config(preset, config, overrides)?)?;
    let table = Table::read(data, &Columns { text, id, date, lossy: analyzer.lossy() })?;
    let corpus = PreparedCorpus::new(py, &analyzer, &table, order, threads, progress)?;
    let documents = corpus.rows.len();
    let too_short = corpus.too_short;
    let mut groups = corpus.run(py, all_groups)?;
    let centers = centers(documents, &groups);
    groups.groups.retain(|group| group.members.len() > 1);
    Ok(Dedup {
        centers,
        clusters: results::clusters(py, &groups, |row| table.id_of(py, row))?.unbind(),
        too_short,
        expected_recall: analyzer.expected_recall(),
        candidates: groups.effort.candidates,
        capped: groups.effort.capped,
    })
}

/// Returns the settings of `dedup`. The linkage is always `cohesive`, so that every removed document matches the kept one.
fn dedup_config(
    preset: Option<&str>,
    config: Option<&Bound<'_, PyAny>>,
    overrides: Option<&Bound<'_, PyDict>>,
) -> PyResult<Config> {
    let preset_linkage = settings::config(preset, None, None)?.matching.linkage;
    let mut config = settings::config(preset, config, overrides)?;
    if ![preset_linkage, Linkage::Cohesive].contains(&config.matching.linkage) {
        return Err(setting_error("`dedup` supports only the linkage `cohesive`: omit `linkage`"));
    }
    config.matching.linkage = Linkage::Cohesive;
    Ok(config)
}

/// The result of `dedup`: which rows are kept, and which kept row each removed row matches.
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
    /// Iterates over the rows: `true` if a row is kept.
    fn is_kept(&self) -> impl Iterator<Item = bool> {
        (0i64..).zip(&self.centers).map(|(row, center)| row == *center)
    }

    fn count_kept(&self) -> usize {
        self.is_kept().filter(|kept| *kept).count()
    }

    fn rows<'py>(&self, py: Python<'py>, kept: bool) -> Bound<'py, PyArray1<i64>> {
        let rows = (0i64..).zip(self.is_kept()).filter(|(_, is_kept)| *is_kept == kept);
        PyArray1::from_vec(py, rows.map(|(row, _)| row).collect())
    }
}

#[pymethods]
impl Dedup {
    /// Kept rows in ascending order, as an array of int64.
    #[getter]
    fn kept<'py>(&self, py: Python<'py>) -> Bound<'py, PyArray1<i64>> {
        self.rows(py, true)
    }

    /// Removed rows in ascending order, as an array of int64.
    #[getter]
    fn removed<'py>(&self, py: Python<'py>) -> Bound<'py, PyArray1<i64>> {
        self.rows(py, false)
    }

    /// Whether each row is kept, as an array of bool.
    #[getter]
    fn mask<'py>(&self, py: Python<'py>) -> Bound<'py, PyArray1<bool>> {
        PyArray1::from_vec(py, self.is_kept().collect())
    }

    /// The kept row of each row's cluster, as an array of int64: for a kept row, the row itself.
    #[getter]
    fn centers<'py>(&self, py: Python<'py>) -> Bound<'py, PyArray1<i64>> {
        PyArray1::from_slice(py, &self.centers)
    }

    /// Clusters of at least two documents, as a list (`Found`) of `Cluster`. The center is the kept document.
    #[getter]
    fn clusters(&self, py: Python<'_>) -> Py<PyList> {
        self.clusters.clone_ref(py)
    }

    /// Counts of the run, as a dict.
    ///
    /// `documents`, `kept`, `removed`: numbers of documents. `clusters`: number of clusters of at least
    /// two documents. `largest_cluster`: number of documents of the largest cluster. `too_short`: number
    /// of documents that are too short for the settings. `candidates`: number of candidates judged.
    /// `expected_recall`: probability that a pair exactly at the threshold is found, or None. `caps_hit`:
    /// number of limits reached; if it is not 0, matches may be missing.
    #[getter]
    fn summary<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        let kept = self.count_kept();
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

    /// Selects the kept rows of data.
    ///
    /// Args:
    ///     data: The deduplicated data, or other data with the same rows: a list, tuple, NumPy array,
    ///         column or table. A path of Parquet files is read, and a Polars LazyFrame is collected.
    ///
    /// Returns:
    ///     The kept rows, as the same type.
    ///
    /// Raises:
    ///     SettingError: The data has another number of rows.
    fn take<'py>(&self, py: Python<'py>, data: &Bound<'py, PyAny>) -> PyResult<Bound<'py, PyAny>> {
        let data = &collect(data)?;
        let expected = self.centers.len();
        let rows = data.len().unwrap_or(expected);
        if rows != expected {
            return Err(setting_error(format!(
                "the data has {rows} rows: must have the {expected} rows that were deduplicated"
            )));
        }
        take_rows(data, self.kept(py).as_any())
    }

    fn __len__(&self) -> usize {
        self.centers.len()
    }

    fn __repr__(&self) -> String {
        let documents = self.centers.len();
        let kept = self.count_kept();
        format!("<Dedup of {documents} documents: {kept} kept, {} removed>", documents - kept)
    }

    fn __reduce__<'py>(slf: &Bound<'py, Dedup>) -> PyResult<(Bound<'py, PyAny>, Bound<'py, PyTuple>)> {
        let py = slf.py();
        let Dedup { centers, clusters, too_short, expected_recall, candidates, capped } = slf.get();
        let centers = PyArray1::from_slice(py, centers);
        let fields = (centers, clusters.clone_ref(py), *too_short, *expected_recall, *candidates, *capped);
        Ok((slf.get_type().getattr("_restore")?, fields.into_pyobject(py)?))
    }

    /// Restores a pickled object.
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
            return Err(setting_error("`centers` must be row numbers below the number of rows"));
        }
        Ok(Dedup { centers, clusters, too_short, expected_recall, candidates, capped })
    }
}

/// Order in which documents are inserted. The first document of a cluster is its center.
#[derive(Clone, Copy)]
enum Order {
    Given,
    LongestFirst,
    NewestFirst,
}

impl Order {
    /// Returns the order that keeps the requested document of each cluster.
    fn from_keep(keep: &str, has_dates: bool) -> PyResult<Order> {
        match keep {
            "first" => Ok(Order::Given),
            "longest" => Ok(Order::LongestFirst),
            "newest" if has_dates => Ok(Order::NewestFirst),
            "newest" => Err(setting_error("`keep` is `newest`, which requires dates: pass `date`")),
            _ => {
                let keep = excerpt(keep);
                Err(setting_error(format!("`keep` is `{keep}`: must be `first`, `longest` or `newest`")))
            }
        }
    }
}

/// Prepared documents in the order of insertion. Their ids are row numbers.
struct PreparedCorpus<'a, 'py> {
    engine: Engine,
    rows: Vec<DocId>,
    dates: Option<Vec<Option<Timestamp>>>,
    prepared: Vec<Prepared>,
    too_short: usize,
    progress: Progress<'a, 'py>,
}

/// Number of passes over the documents: prepare, insert, search.
const PASSES: usize = 3;

impl<'a, 'py> PreparedCorpus<'a, 'py> {
    fn new(
        py: Python<'_>,
        analyzer: &PyAnalyzer,
        table: &Table<'_>,
        order: Order,
        threads: Option<i64>,
        progress: Option<&'a Bound<'py, PyAny>>,
    ) -> PyResult<PreparedCorpus<'a, 'py>> {
        let texts = table.texts.raw("texts")?;
        table.check(texts.len())?;
        let progress = Progress::new(progress, texts.len());
        let prepared = analyzer.prepare_all(py, &texts, threads, progress.first_pass(PASSES))?;
        let mut prepared: Vec<_> = prepared.into_iter().map(Some).collect();
        let mut rows: Vec<usize> = (0..texts.len()).collect();
        match (order, &table.dates) {
            (Order::LongestFirst, _) => rows.sort_by_key(|&row| Reverse(texts[row].map_or(0, <[u8]>::len))),
            (Order::NewestFirst, Some(dates)) => rows.sort_by_key(|&row| Reverse(dates[row])),
            _ => {}
        }
        let prepared: Vec<Prepared> = rows.iter().filter_map(|&row| prepared[row].take()).collect();
        Ok(PreparedCorpus {
            engine: Engine::with_analyzer(Analyzer::clone(analyzer)).map_err(engine_error)?,
            dates: table.dates.as_ref().map(|dates| rows.iter().map(|&row| dates[row]).collect()),
            rows: rows.into_iter().map(|row| DocId::Number(row as u64)).collect(),
            too_short: count_too_short(&prepared),
            prepared,
            progress,
        })
    }

    /// Inserts all documents and calls `search`, on a thread that owns the engine.
    fn run<T: Send + 'static>(
        self,
        py: Python<'_>,
        search: impl FnOnce(&Engine, &Task) -> T + Send + 'static,
    ) -> PyResult<T> {
        let PreparedCorpus { mut engine, rows, dates, prepared, progress, .. } = self;
        let progress = progress.other_passes(PASSES).inline_if(rows.len() <= INLINE_DOCUMENTS);
        let found = run_detached(py, progress, move |task| {
            insert_all(&mut engine, &rows, dates.as_deref(), prepared, task)?;
            Ok(search(&engine, task))
        })?;
        found.map_err(engine_error)
    }
}

/// Returns the center of each row's group.
fn centers(rows: usize, groups: &Groups) -> Vec<i64> {
    let mut centers: Vec<i64> = (0..rows as i64).collect();
    let row = |id: &DocId| match id {
        DocId::Number(row) => *row as usize,
        _ => unreachable!("ids are row numbers"),
    };
    for group in &groups.groups {
        let center = row(&group.center) as i64;
        group.members.iter().for_each(|member| centers[row(member)] = center);
    }
    centers
}
