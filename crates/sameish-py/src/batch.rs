//! `dedup`, `pairs` and `cluster`: a whole corpus at once.
//!
//! These functions convert arguments and results; `sameish-batch` does the work. Their signatures, docstrings and result types are
//! in `sameish/_batch.py`.

use crate::documents::{Data, Documents, Fields};
use crate::error::{batch_error, excerpt, limit_error, setting_error};
use crate::ids;
use crate::numbers::at_least;
use crate::results;
use crate::run::RunArgs;
use numpy::PyArray1;
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyDict, PyList};
use sameish_batch::functions::{DedupParameters, DocumentIds, Kept, OutputFile, dedup_config, is_fraction};
use sameish_batch::{Keep, ListedTemplates, Pair, Recall, check_dedup};
use std::path::{Path, PathBuf};

/// Finds all matching pairs, at most `limit_pairs`.
#[pyfunction]
pub(crate) fn _pairs<'py>(
    py: Python<'py>,
    data: Data<'py>,
    fields: Fields<'py>,
    args: RunArgs<'py>,
    templates: String,
    limit_pairs: Option<i64>,
) -> PyResult<Bound<'py, PyList>> {
    let templates = ListedTemplates::from_name(&templates).ok_or_else(|| {
        let name = excerpt(&templates);
        setting_error(format!("`templates` is `{name}`: must be `include`, `exclude` or `only`"))
    })?;
    let limit = limit_pairs.map(|limit| at_least(limit, "limit_pairs", 0)).transpose()?;
    let options = args.options(args.config()?)?;
    let mut corpus = Documents::new(py, &data, None, &fields, options.analyzer.config().text.lossy)?;
    let found = args.run(py, &mut corpus, options, move |run| run.pairs(templates, limit))?;
    let pairs = found.pairs.iter().map(|&Pair { a, b, verdict, relation }| {
        let ids = [to_python(py, &found.ids, &corpus, a)?, to_python(py, &found.ids, &corpus, b)?];
        Ok((ids, verdict, relation))
    });
    let pairs = results::found_pairs(py, pairs, &found.effort)?;
    set_estimate(&pairs, found.omitted, found.recall)?;
    Ok(pairs)
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
    let mut corpus = Documents::new(py, &data, None, &fields, options.analyzer.config().text.lossy)?;
    let found = args.run(py, &mut corpus, options, move |run| run.clusters(min_size))?;
    let clusters = found.clusters.iter().map(|(members, spread)| {
        let members = members.iter().map(|&doc| to_python(py, &found.ids, &corpus, doc));
        Ok((members.collect::<PyResult<Vec<_>>>()?, spread))
    });
    let clusters = results::found_clusters(py, clusters, &found.effort)?;
    set_estimate(&clusters, found.omitted, found.recall)?;
    Ok(clusters)
}

/// Sets the attributes of a `Found` that say how complete it is.
fn set_estimate(found: &Bound<'_, PyList>, omitted: u64, recall: Option<Recall>) -> PyResult<()> {
    found.setattr("omitted", omitted)?;
    found.setattr("expected_recall", recall.map(|recall| recall.value))?;
    found.setattr("expected_recall_interval", interval(recall))
}

fn interval(recall: Option<Recall>) -> Option<(f64, f64)> {
    recall.and_then(|recall| recall.interval).map(|interval| (interval.low, interval.high))
}

/// Returns the id of a document that the caller gave, or its row.
fn to_python<'py>(
    py: Python<'py>,
    ids: &DocumentIds,
    corpus: &Documents<'py>,
    doc: u32,
) -> PyResult<Bound<'py, PyAny>> {
    ids::to_python(py, &ids.id(doc, corpus.given_ids()))
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
    let mut options = args.options(dedup_config(args.config()?))?;
    options.keep = keep(&dedup.keep, &fields)?;
    check_sources(&data, &fields)?;
    check_dedup(&options.analyzer).map_err(batch_error)?;
    if !is_fraction(dedup.max_removed) {
        return Err(setting_error(format!("`max_removed` is {}: must be 0 to 1", dedup.max_removed)));
    }
    let lossy = options.analyzer.config().text.lossy;
    let mut corpus = Documents::new(py, &data, dedup.against.as_ref(), &fields, lossy)?;
    if let Some(output) = &dedup.output {
        check_output(output, &corpus)?;
    }
    let output = dedup.output.map(|path| OutputFile { path, overwrite: dedup.overwrite });
    let writes = output.is_some();
    let parameters =
        DedupParameters { per_source: fields.with_sources, output, max_removed: dedup.max_removed };
    let work = move |run: crate::run::Run<'_>| run.dedup(&parameters);
    let found = match writes {
        true => args.run_and_write(py, &mut corpus, options, work)?,
        false => args.run(py, &mut corpus, options, work)?,
    };
    if let Some(fraction) = found.refused {
        return Err(limit_error(format!(
            "{:.1} % of the documents would be removed, more than `max_removed`; nothing was written",
            100.0 * fraction
        )));
    }
    into_python(py, found, &corpus)
}

/// Returns an error if nothing can be written to the output.
fn check_output(output: &Path, corpus: &Documents<'_>) -> PyResult<()> {
    if !corpus.is_files() {
        return Err(setting_error(
            "`output` is written from files, but the data is in memory: omit it, and use `take` of the result",
        ));
    }
    if output == Path::new("-") {
        return Err(setting_error(
            "`output` is `-`, but records are written to files only: pass a path, or `./-` for a file of this name",
        ));
    }
    Ok(())
}

/// Returns an error if one document per source is kept and no source is named. Files have names that are known.
fn check_sources(data: &Data<'_>, fields: &Fields<'_>) -> PyResult<()> {
    if fields.with_sources && fields.source.is_none() && data.paths.is_none() {
        return Err(setting_error("`per_source` requires sources: pass `source`"));
    }
    Ok(())
}

fn keep(name: &str, fields: &Fields<'_>) -> PyResult<Keep> {
    if let Some(field) = fields.keep_field.as_deref().filter(|field| !field.is_empty()) {
        return Ok(Keep::Field(field.to_owned()));
    }
    match Keep::from_name(name) {
        Some(Keep::Newest) if fields.date.is_none() => {
            Err(setting_error("`keep` is `newest`, which requires dates: pass `date`"))
        }
        Some(keep) => Ok(keep),
        None => {
            let name = excerpt(name);
            Err(setting_error(format!(
                "`keep` is `{name}`: must be `first`, `longest`, `newest` or `field:NAME`"
            )))
        }
    }
}

/// Returns the ids of all rows as JSON in one buffer, and their ends; `None` if the caller gave no ids.
fn row_ids(kept: &Kept, corpus: &Documents<'_>) -> Option<(Vec<u8>, Vec<i64>)> {
    let mut bytes = Vec::new();
    let mut ends = Vec::with_capacity(kept.centers.len());
    if let Some(ids) = corpus.given_ids() {
        for id in ids {
            bytes.extend(id.to_json().bytes());
            ends.push(bytes.len() as i64);
        }
        return Some((bytes, ends));
    }
    for (row, id) in kept.ids.rows()? {
        ends.resize(row, bytes.len() as i64);
        bytes.extend(id.bytes());
        ends.push(bytes.len() as i64);
    }
    ends.resize(kept.centers.len(), bytes.len() as i64);
    Some((bytes, ends))
}

/// Returns the arguments of `Dedup` in `sameish/_dedup.py`.
fn into_python<'py>(py: Python<'py>, kept: Kept, corpus: &Documents<'py>) -> PyResult<Bound<'py, PyDict>> {
    let counts = PyDict::new(py);
    counts.set_item("too_short", kept.counts.too_short)?;
    counts.set_item("rejected", kept.counts.rejected)?;
    counts.set_item("repeated", kept.counts.repeated)?;
    counts.set_item("candidates", kept.cluster_counts.candidates)?;
    counts.set_item("verified", kept.cluster_counts.verified)?;
    counts.set_item("templates", kept.cluster_counts.templates)?;
    counts.set_item("omitted", kept.cluster_counts.left)?;
    counts.set_item("expected_recall", kept.recall.map(|recall| recall.value))?;
    counts.set_item("expected_recall_interval", interval(kept.recall))?;
    counts.set_item("caps_hit", kept.cluster_counts.caps_hit)?;
    let ids = row_ids(&kept, corpus);
    let ids = ids.map(|(bytes, ends)| (PyBytes::new(py, &bytes), PyArray1::from_vec(py, ends)));
    let ends: Vec<i64> = kept.clusters.ends.iter().map(|&end| end as i64).collect();
    let result = PyDict::new(py);
    result.set_item("centers", PyArray1::from_vec(py, kept.centers))?;
    result.set_item("members", PyArray1::from_vec(py, kept.clusters.members))?;
    result.set_item("ends", PyArray1::from_vec(py, ends))?;
    result.set_item("spreads", PyArray1::from_vec(py, kept.clusters.spreads))?;
    result.set_item("by_distance", kept.clusters.by_distance)?;
    result.set_item("ids", ids)?;
    result.set_item("counts", counts)?;
    Ok(result)
}
