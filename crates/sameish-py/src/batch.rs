//! `dedup`, `pairs` and `cluster`: a whole corpus at once.
//!
//! These functions convert arguments and results; `sameish-batch` does the work. Their signatures, docstrings and result types are
//! in `sameish/_batch.py`.

use crate::documents::{Corpus, Data, Fields};
use crate::error::{batch_error, excerpt, limit_error, setting_error};
use crate::ids;
use crate::numbers::at_least;
use crate::results;
use crate::run::{Run, RunArgs};
use numpy::PyArray1;
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyDict, PyList};
use sameish::config::Linkage;
use sameish::engine::{Effort, Spread};
use sameish::{Config, DocId};
use sameish_batch::input::FileStates;
use sameish_batch::{
    ClusterCounts, Counts, Error, Ids, IndexedCorpus, Keep, NO_CENTER, Options, Pair, Rank, RecordWriter,
    Result, Selection, SignedCorpus, Source, Spreads, StarClusters, Target, Task, check_dedup,
};
use std::cell::RefCell;
use std::ops::ControlFlow;
use std::path::PathBuf;

/// Number of pairs between two checks for cancellation.
const PAIRS_PER_CHECK: usize = 1024;
/// Target number of members whose clusters are measured at once.
const MEMBERS_AT_ONCE: usize = 1 << 16;

/// Finds all matching pairs, at most `limit_pairs`.
#[pyfunction]
pub(crate) fn _pairs<'py>(
    py: Python<'py>,
    data: Data<'py>,
    fields: Fields<'py>,
    args: RunArgs<'py>,
    limit_pairs: Option<i64>,
) -> PyResult<Bound<'py, PyList>> {
    let limit = limit_pairs.map(|limit| at_least(limit, "limit_pairs", 0)).transpose()?;
    let options = args.options(args.config()?)?;
    let mut corpus = Corpus::new(py, &data, None, &fields, options.analyzer.config().text.lossy)?;
    let found = args.run(py, &mut corpus, options, move |run| find_pairs(run, limit))?;
    let pairs = found.pairs.iter().map(|&Pair { a, b, verdict }| {
        let ids = [found.names.to_python(py, &corpus, a)?, found.names.to_python(py, &corpus, b)?];
        Ok((ids, verdict))
    });
    results::found_pairs(py, pairs, &found.effort)
}

struct FoundPairs {
    pairs: Vec<Pair>,
    effort: Effort,
    names: Names,
}

fn find_pairs(run: &mut Run<'_>, limit: Option<usize>) -> Result<FoundPairs> {
    let limit = limit.unwrap_or(usize::MAX);
    let corpus = run.index(Task::Pairs)?;
    let mut pairs = Vec::new();
    let cancellation = &run.options.cancellation;
    let sink = |pair| {
        if pairs.len() < limit {
            pairs.push(pair);
        }
        if pairs.len() % PAIRS_PER_CHECK == 0 {
            cancellation.check()?;
        }
        Ok(if pairs.len() < limit { ControlFlow::Continue(()) } else { ControlFlow::Break(()) })
    };
    let effort = corpus.pairs(sink, &mut run.log)?;
    Ok(FoundPairs { pairs, effort, names: Names::of(corpus.signed, &run.source) })
}

/// Clusters all documents with the linkage of the settings.
#[pyfunction]
pub(crate) fn _cluster<'py>(
    py: Python<'py>,
    data: Data<'py>,
    fields: Fields<'py>,
    args: RunArgs<'py>,
    min_size: i64,
) -> PyResult<Bound<'py, PyList>> {
    let min_size = at_least(min_size, "min_size", 0)?;
    let options = args.options(args.config()?)?;
    let mut corpus = Corpus::new(py, &data, None, &fields, options.analyzer.config().text.lossy)?;
    let found = args.run(py, &mut corpus, options, move |run| find_clusters(run, min_size))?;
    let clusters = found.clusters.iter().map(|(members, spread)| {
        let members = members.iter().map(|&doc| found.names.to_python(py, &corpus, doc));
        Ok((members.collect::<PyResult<Vec<_>>>()?, spread))
    });
    results::found_clusters(py, clusters, &found.effort)
}

struct FoundClusters {
    clusters: MeasuredClusters<u32>,
    effort: Effort,
    names: Names,
}

fn find_clusters(run: &mut Run<'_>, min_size: usize) -> Result<FoundClusters> {
    let corpus = run.index(Task::Cluster)?;
    let clusters = corpus.clusters(&mut run.log)?;
    let mut spreads = Spreads::new(&corpus, &clusters);
    let mut measured = MeasuredClusters::new(spreads.distances);
    let mut from = 0;
    while from < clusters.len() {
        let mut to = from;
        let mut members = 0;
        while to < clusters.len() && members < MEMBERS_AT_ONCE {
            members += clusters.members(to).len();
            to += 1;
        }
        for (cluster, spread) in (from..to).zip(spreads.of(from..to)?) {
            let members = clusters.members(cluster);
            if members.len() >= min_size {
                measured.push(members.iter().copied(), spread);
            }
        }
        from = to;
    }
    drop(spreads);
    let ClusterCounts { candidates, caps_hit: capped, .. } = clusters.counts;
    let effort = Effort { candidates, capped, ..Effort::default() };
    Ok(FoundClusters { clusters: measured, effort, names: Names::of(corpus.signed, &run.source) })
}

/// Clusters with their spread, in columns.
struct MeasuredClusters<T> {
    members: Vec<T>,
    ends: Vec<usize>,
    spreads: Vec<f64>,
    /// Whether spreads are distances in bits; else they are similarities.
    by_distance: bool,
}

impl<T> MeasuredClusters<T> {
    fn new(by_distance: bool) -> MeasuredClusters<T> {
        MeasuredClusters { members: Vec::new(), ends: Vec::new(), spreads: Vec::new(), by_distance }
    }

    fn push(&mut self, members: impl Iterator<Item = T>, spread: f64) {
        self.members.extend(members);
        self.ends.push(self.members.len());
        self.spreads.push(spread);
    }

    fn iter(&self) -> impl Iterator<Item = (&[T], Spread)> {
        let starts = std::iter::once(0).chain(self.ends.iter().copied());
        starts.zip(&self.ends).zip(&self.spreads).map(|((start, &end), &spread)| {
            let spread = match self.by_distance {
                true => Spread::AverageDistance(spread),
                false => Spread::MeanSimilarity(spread),
            };
            (&self.members[start..end], spread)
        })
    }
}

/// Ids of documents in files.
struct Names {
    /// Row of each document; empty for documents in memory, where it is the number of the document.
    rows: Vec<u64>,
    ids: Ids,
}

impl Names {
    fn of(signed: SignedCorpus, source: &Source<'_>) -> Names {
        let first = signed.records.start;
        let rows = match source {
            Source::Documents(_) => Vec::new(),
            Source::Files(_) => signed.rows.iter().map(|row| row.record.wrapping_sub(first)).collect(),
        };
        Names { rows, ids: signed.ids }
    }

    /// Returns the id of a document that the caller gave, or its row.
    fn to_python<'py>(&self, py: Python<'py>, corpus: &Corpus<'py>, doc: u32) -> PyResult<Bound<'py, PyAny>> {
        let id = match corpus {
            Corpus::Memory(corpus) => corpus.own.ids.as_ref().map(|ids| ids[doc as usize].clone()),
            Corpus::Files(corpus) if corpus.has_ids => DocId::from_json(self.ids.get(doc)),
            Corpus::Files(_) => self.rows.get(doc as usize).map(|&row| DocId::Number(row)),
        };
        ids::to_python(py, &id.unwrap_or(DocId::Number(u64::from(doc))))
    }
}

/// Parameters of `dedup` alone.
#[derive(FromPyObject)]
#[pyo3(from_item_all)]
pub(crate) struct DedupArgs<'py> {
    keep: String,
    against: Option<Data<'py>>,
    output: Option<PathBuf>,
    overwrite: bool,
    max_removed: f64,
}

/// Finds the documents to keep, and writes them if `output` is set. Returns the arguments of `Dedup`.
#[pyfunction]
pub(crate) fn _dedup<'py>(
    py: Python<'py>,
    data: Data<'py>,
    fields: Fields<'py>,
    args: RunArgs<'py>,
    dedup: DedupArgs<'py>,
) -> PyResult<Bound<'py, PyDict>> {
    let mut options = args.options(dedup_config(&args)?)?;
    options.keep = keep(&dedup.keep, fields.date.is_some())?;
    check_dedup(&options.analyzer).map_err(batch_error)?;
    if !(0.0..=1.0).contains(&dedup.max_removed) {
        return Err(setting_error(format!("`max_removed` is {}: must be 0 to 1", dedup.max_removed)));
    }
    let lossy = options.analyzer.config().text.lossy;
    let mut corpus = Corpus::new(py, &data, dedup.against.as_ref(), &fields, lossy)?;
    if dedup.output.is_some() && !corpus.is_files() {
        return Err(setting_error(
            "`output` is written from files, but the data is in memory: omit it, and use `take` of the result",
        ));
    }
    let expected_recall = options.analyzer.expected_recall();
    let output = dedup.output.map(|path| OutputFile { path, overwrite: dedup.overwrite });
    let max_removed = dedup.max_removed;
    let found = args.run(py, &mut corpus, options, move |run| find_kept(run, output, max_removed))?;
    if let Some(fraction) = found.refused {
        return Err(limit_error(format!(
            "{:.1} % of the documents would be removed, more than `max_removed`; nothing was written",
            100.0 * fraction
        )));
    }
    found.into_python(py, &corpus, expected_recall)
}

/// Returns the settings of `dedup`. Like the command line, it forms cohesive clusters whatever the linkage of the settings, so
/// that every removed document matches the kept one.
fn dedup_config(args: &RunArgs<'_>) -> PyResult<Config> {
    let mut config = args.config()?;
    config.matching.linkage = Linkage::Cohesive;
    Ok(config)
}

fn keep(keep: &str, has_dates: bool) -> PyResult<Keep> {
    match keep {
        "first" => Ok(Keep::First),
        "longest" => Ok(Keep::Longest),
        "newest" if has_dates => Ok(Keep::Newest),
        "newest" => Err(setting_error("`keep` is `newest`, which requires dates: pass `date`")),
        _ => {
            let keep = excerpt(keep);
            Err(setting_error(format!("`keep` is `{keep}`: must be `first`, `longest` or `newest`")))
        }
    }
}

/// Where kept records are written.
struct OutputFile {
    path: PathBuf,
    overwrite: bool,
}

/// Center of a row that matches a document of the existing corpus.
const KNOWN: i64 = -1;
/// Center of a row that is not a document: its record was rejected, or repeats an earlier record with the same id.
const UNUSED: i64 = -2;

/// Result of `dedup`, in rows.
struct Kept {
    centers: Vec<i64>,
    clusters: MeasuredClusters<i64>,
    counts: Counts,
    cluster_counts: ClusterCounts,
    names: Names,
    /// Fraction of documents that would be removed, if it is more than allowed.
    refused: Option<f64>,
}

fn find_kept(run: &mut Run<'_>, output: Option<OutputFile>, max_removed: f64) -> Result<Kept> {
    let target = output.as_ref().map(|output| Target::new(Some(&output.path), None));
    if let (Some(target), Some(output), Source::Files(files)) = (&target, &output, &run.source) {
        target.check(files.inputs, files.against, false, output.overwrite)?;
        target.check_inputs(files.inputs, files.read, output.overwrite)?;
    }
    let states = match &run.source {
        Source::Files(files) => FileStates::of(files.against.iter().chain(files.inputs)),
        Source::Documents(_) => FileStates::default(),
    };
    let corpus = run.index(Task::Dedup)?;
    check_dates(&corpus.signed, run.options, &run.source)?;
    let stars = corpus.stars(&mut run.log)?;
    let selection = Selection::new(&corpus, &stars, false);
    states.check_all()?;
    let fraction = selection.removed as f64 / selection.documents.max(1) as f64;
    let refused = (output.is_some() && fraction > max_removed).then_some(fraction);
    if let (Some(target), Some(output), None) = (&target, &output, refused) {
        write(run, &corpus, &selection, &states, target, output.overwrite)?;
    }
    Ok(Kept::new(run, corpus, &stars, &selection, refused))
}

/// Returns an error if no record has the date field.
fn check_dates(signed: &SignedCorpus, options: &Options, source: &Source<'_>) -> Result<()> {
    let own = signed.ranks.get(signed.against as usize..).unwrap_or_default();
    let Source::Files(files) = source else { return Ok(()) };
    if options.keep != Keep::Newest || own.is_empty() || own.iter().any(|rank| *rank != Rank::Absent) {
        return Ok(());
    }
    Err(Error::NoDates { field: files.read.fields.date.clone().unwrap_or_default() })
}

fn write(
    run: &mut Run<'_>,
    corpus: &IndexedCorpus<'_>,
    selection: &Selection,
    states: &FileStates,
    target: &Target,
    overwrite: bool,
) -> Result<()> {
    let Source::Files(files) = run.source else { return Ok(()) };
    let keep = |record| selection.keeps(record);
    let writer = RecordWriter {
        inputs: files.inputs,
        options: files.read,
        starts: corpus.input_starts(),
        keep: &keep,
        force: overwrite,
        states,
        log: &RefCell::new(&mut run.log),
    };
    writer.write(target).map(|_| ())
}

impl Kept {
    fn new(
        run: &Run<'_>,
        corpus: IndexedCorpus<'_>,
        stars: &StarClusters,
        selection: &Selection,
        refused: Option<f64>,
    ) -> Kept {
        let signed = &corpus.signed;
        let row = |doc: u32| (signed.rows[doc as usize].record - signed.records.start) as i64;
        let mut centers = vec![UNUSED; (signed.records.end - signed.records.start) as usize];
        for doc in signed.against..signed.len() as u32 {
            centers[row(doc) as usize] = match stars.center[doc as usize] {
                NO_CENTER => UNUSED,
                center if center < signed.against => KNOWN,
                center => row(center),
            };
        }
        let by_distance = !run.options.analyzer.config().matching.verify;
        let mut clusters = MeasuredClusters::new(by_distance);
        for cluster in selection.clusters.iter().filter(|cluster| cluster[0] >= signed.against) {
            let similarity = |doc: &u32| stars.similarity[*doc as usize];
            let mean = cluster[1..].iter().map(similarity).sum::<f64>() / (cluster.len() - 1) as f64;
            let spread = if by_distance { (1.0 - mean) * 64.0 } else { mean };
            clusters.push(cluster.iter().map(|&doc| row(doc)), spread);
        }
        Kept {
            centers,
            clusters,
            counts: run.log.counts.clone(),
            cluster_counts: stars.counts,
            names: Names::of(corpus.signed, &run.source),
            refused,
        }
    }

    /// Returns the ids of all rows as JSON in one buffer, and their ends; `None` if the caller gave no ids.
    fn ids(&self, corpus: &Corpus<'_>) -> Option<(Vec<u8>, Vec<i64>)> {
        let mut bytes = Vec::new();
        let mut ends = Vec::with_capacity(self.centers.len());
        match corpus {
            Corpus::Memory(corpus) => {
                for id in corpus.own.ids.as_ref()? {
                    bytes.extend(id.to_json().bytes());
                    ends.push(bytes.len() as i64);
                }
            }
            Corpus::Files(corpus) if corpus.has_ids => {
                for (doc, &row) in self.names.rows.iter().enumerate().filter(|(_, row)| **row < u64::MAX / 2)
                {
                    ends.resize(row as usize, bytes.len() as i64);
                    bytes.extend(self.names.ids.get(doc as u32).bytes());
                    ends.push(bytes.len() as i64);
                }
                ends.resize(self.centers.len(), bytes.len() as i64);
            }
            Corpus::Files(_) => return None,
        }
        Some((bytes, ends))
    }

    /// Returns the arguments of `Dedup` in `sameish/_dedup.py`.
    fn into_python<'py>(
        self,
        py: Python<'py>,
        corpus: &Corpus<'py>,
        expected_recall: Option<f64>,
    ) -> PyResult<Bound<'py, PyDict>> {
        let counts = PyDict::new(py);
        counts.set_item("too_short", self.counts.too_short)?;
        counts.set_item("rejected", self.counts.rejected)?;
        counts.set_item("repeated", self.counts.repeated)?;
        counts.set_item("candidates", self.cluster_counts.candidates)?;
        counts.set_item("verified", self.cluster_counts.verified)?;
        counts.set_item("templates", self.cluster_counts.templates)?;
        counts.set_item("expected_recall", expected_recall)?;
        counts.set_item("caps_hit", self.cluster_counts.caps_hit)?;
        let ids =
            self.ids(corpus).map(|(bytes, ends)| (PyBytes::new(py, &bytes), PyArray1::from_vec(py, ends)));
        let ends: Vec<i64> = self.clusters.ends.iter().map(|&end| end as i64).collect();
        let result = PyDict::new(py);
        result.set_item("centers", PyArray1::from_vec(py, self.centers))?;
        result.set_item("members", PyArray1::from_vec(py, self.clusters.members))?;
        result.set_item("ends", PyArray1::from_vec(py, ends))?;
        result.set_item("spreads", PyArray1::from_vec(py, self.clusters.spreads))?;
        result.set_item("by_distance", self.clusters.by_distance)?;
        result.set_item("ids", ids)?;
        result.set_item("counts", counts)?;
        Ok(result)
    }
}
