//! The HTML report of `dedup`, from counts that another engine has collected.

use crate::error::{engine_error, setting_error};
use pyo3::prelude::*;
use sameish::{Analyzer, Config};
use sameish_batch::report::html::{LargeCluster, Removed, Report, page};
use sameish_batch::report::{RunCounts, beginning, length_class, now, pair, twentieths};
use serde::Deserialize;

/// What the report shows.
#[derive(Deserialize)]
struct Run {
    title: String,
    command: String,
    counts: RunCounts,
    expected_recall: Option<f64>,
    /// Number of compared pairs per hundredth of similarity.
    histogram: Vec<u64>,
    cluster_sizes: Vec<(u64, u64)>,
    sources: Vec<Group<Option<String>>>,
    /// Groups of documents by the number of their length class.
    lengths: Vec<Group<usize>>,
    largest: Vec<Cluster>,
    /// Removed documents with the kept ones, then templates.
    pairs: Vec<Pair>,
}

/// Documents of one source or length.
#[derive(Deserialize)]
struct Group<T> {
    name: T,
    documents: u64,
    removed: u64,
    bytes: u64,
    removed_bytes: u64,
}

#[derive(Deserialize)]
struct Cluster {
    center: String,
    size: u64,
    least_similar: Option<f64>,
    text: String,
}

/// A pair of documents: ids as JSON, and texts.
#[derive(Deserialize)]
struct Pair {
    a: String,
    b: String,
    a_text: String,
    b_text: String,
    removed: bool,
}

impl<T> Group<T> {
    fn named(self, name: impl FnOnce(T) -> String) -> Removed {
        let Group { documents, removed, bytes, removed_bytes, .. } = self;
        Removed { name: name(self.name), documents, removed, bytes, removed_bytes }
    }
}

/// Returns the length classes of documents: for each the largest number of bytes.
#[pyfunction]
pub(crate) fn _length_classes() -> Vec<u64> {
    sameish_batch::report::LENGTH_LIMITS.to_vec()
}

/// Renders the report of a run, which is given as JSON.
#[pyfunction]
pub(crate) fn _report(py: Python<'_>, config: &str, run: &str) -> PyResult<String> {
    let analyzer = Config::from_toml(config).and_then(Analyzer::new).map_err(engine_error)?;
    let run: Run =
        serde_json::from_str(run).map_err(|error| setting_error(format!("invalid report: {error}")))?;
    Ok(py.detach(|| render(analyzer, run)))
}

fn render(analyzer: Analyzer, run: Run) -> String {
    let config = analyzer.config();
    let (threshold, verified) = (config.matching.threshold, config.matching.verify);
    let curve = config.bands().ok().flatten().map(|bands| bands.curve(100)).unwrap_or_default();
    let largest = run.largest.into_iter().map(|cluster| LargeCluster {
        begins: beginning(&analyzer, &cluster.text),
        center: cluster.center,
        size: cluster.size,
        least_similar: cluster.least_similar,
    });
    let largest = largest.collect();
    let shown =
        |Pair { a, b, a_text, b_text, removed }: Pair| pair(&analyzer, (&a, a_text), (&b, b_text), removed);
    let examples = run.pairs.into_iter().map(shown).collect();
    page(&Report {
        title: run.title,
        made_at: now(),
        command: run.command,
        facts: run.counts.figures(),
        threshold,
        expected_recall: run.expected_recall,
        curve: curve.iter().map(|point| (point.jaccard, point.probability)).collect(),
        histogram: twentieths(&run.histogram),
        cluster_sizes: run.cluster_sizes,
        sources: run.sources.into_iter().map(|group| group.named(Option::unwrap_or_default)).collect(),
        lengths: run
            .lengths
            .into_iter()
            .map(|group| group.named(|class| length_name(class).to_owned()))
            .collect(),
        largest,
        examples,
        notes: run.counts.notes("templates=\"merge\"", verified),
        analyzer,
    })
}

fn length_name(class: usize) -> &'static str {
    let limit = sameish_batch::report::LENGTH_LIMITS.get(class).copied().unwrap_or(u64::MAX);
    length_class(limit).1
}
