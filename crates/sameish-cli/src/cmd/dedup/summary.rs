//! Summary of a run, as JSON and in words.

use super::DedupResult;
use crate::output::messages::{counted, counted_as, grouped, limits_reached};
use crate::output::recall::RecallFields;
use sameish::Analyzer;
use sameish_batch::report::RunCounts;
use sameish_batch::{ClusterCounts, Counts};
use serde::Serialize;
use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::time::Instant;

/// Duration of each step in seconds.
pub(super) struct StepTimes {
    started: Instant,
    times: BTreeMap<&'static str, f64>,
}

impl StepTimes {
    pub(super) fn new() -> StepTimes {
        StepTimes { started: Instant::now(), times: BTreeMap::new() }
    }

    /// Ends a step and starts the next one.
    pub(super) fn end(&mut self, step: &'static str) {
        self.times.insert(step, (self.started.elapsed().as_secs_f64() * 1000.0).round() / 1000.0);
        self.started = Instant::now();
    }
}

/// Summary of a run.
#[derive(Serialize)]
pub(super) struct Summary {
    documents: u64,
    kept: u64,
    removed: u64,
    /// Number of documents that match one of the existing corpus; absent without `--against`.
    #[serde(skip_serializing_if = "Option::is_none")]
    known: Option<u64>,
    /// Number of clusters with more than one document.
    clusters: u64,
    largest_cluster: u64,
    too_short: u64,
    rejected: u64,
    repeated: u64,
    replaced: u64,
    failed_inputs: u64,
    /// Number of compared pairs.
    candidates: u64,
    /// Number of compared pairs at or above the threshold.
    verified: u64,
    /// Number of verified pairs that are templates and were kept.
    templates: u64,
    chains_cut: u64,
    caps_hit: u64,
    /// Number of candidates that were not compared because of limits.
    omitted: u64,
    expected_recall: Option<f64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    expected_recall_interval: Option<[f64; 2]>,
    /// Fields from which texts were read; none for plain text.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    text_fields: Vec<String>,
    bytes: u64,
    seconds: f64,
    stages: BTreeMap<&'static str, f64>,
    peak_memory: Option<u64>,
    /// Not in the JSON, where `verified` is 0 then.
    #[serde(skip)]
    unverified: bool,
    #[serde(skip)]
    recall: Option<RecallFields>,
}

impl Summary {
    pub(super) fn new(
        counts: Counts,
        result: &DedupResult<'_>,
        analyzer: &Analyzer,
        times: StepTimes,
    ) -> Summary {
        let counted = result.clusters.counts;
        let ClusterCounts { candidates, verified, caps_hit, left, chains_cut, templates, .. } = counted;
        let recall = counted.recall(analyzer).filter(|_| counts.documents > 0).map(RecallFields::from);
        let selection = result.selection;
        let sizes = selection.clusters.iter().map(|cluster| cluster.len() as u64);
        Summary {
            documents: counts.documents,
            kept: selection.kept.len() as u64,
            removed: selection.removed,
            known: result.known(),
            clusters: selection.clusters.len() as u64,
            largest_cluster: sizes.max().unwrap_or(u64::from(selection.documents > 0)),
            too_short: counts.too_short,
            rejected: counts.rejected,
            repeated: counts.repeated,
            replaced: counts.replaced,
            failed_inputs: counts.failed_inputs,
            candidates,
            verified,
            templates,
            chains_cut,
            caps_hit,
            omitted: left,
            expected_recall: recall.map(|recall| recall.expected_recall),
            expected_recall_interval: recall.and_then(|recall| recall.expected_recall_interval),
            text_fields: counts.text_fields,
            bytes: counts.bytes,
            seconds: counts.seconds,
            stages: times.times,
            peak_memory: peak_memory(),
            unverified: !analyzer.config().matching.verify,
            recall,
        }
    }

    /// Returns the fields from which texts were read.
    pub(super) fn text_fields(&self) -> &[String] {
        &self.text_fields
    }

    /// Returns the counts that the HTML report shows.
    pub(super) fn counted(&self) -> RunCounts {
        RunCounts {
            documents: self.documents,
            kept: self.kept,
            removed: self.removed,
            clusters: self.clusters,
            largest_cluster: self.largest_cluster,
            too_short: self.too_short,
            rejected: self.rejected,
            templates: self.templates,
            chains_cut: self.chains_cut,
            caps_hit: self.caps_hit,
        }
    }

    /// Returns the notes of the HTML report.
    pub(super) fn notes(&self) -> Vec<String> {
        let mut notes = self.counted().notes("--templates merge", !self.unverified);
        if let Some(recall) = &self.recall {
            notes.push(format!("This run: {}.", recall.in_words()));
        }
        notes
    }

    pub(super) fn in_words(&self) -> String {
        let share = 100.0 * self.removed as f64 / self.documents.max(1) as f64;
        let mut words = format!(
            "{}: {} kept, {} removed ({share:.1} %{}) in {} (largest size: {})",
            counted(self.documents, "document"),
            grouped(self.kept),
            grouped(self.removed),
            self.removed_because(),
            counted(self.clusters, "cluster"),
            grouped(self.largest_cluster)
        );
        let mut add = |count: u64, one: &str, many: &str, what: &str| {
            if count > 0 {
                _ = write!(words, ", {} {what}", counted_as(count, one, many));
            }
        };
        add(self.templates, "template pair", "template pairs", "kept");
        add(self.chains_cut, "match", "matches", "between different clusters ignored");
        add(self.repeated, "repeated record", "repeated records", "skipped");
        for (count, what) in [(self.too_short, "too short"), (self.rejected, "rejected")] {
            if count > 0 {
                _ = write!(words, ", {} {what}", grouped(count));
            }
        }
        if self.caps_hit > 0 {
            _ = write!(words, ", {}", limits_reached(self.caps_hit, "matches"));
        }
        if let Some(recall) = &self.recall {
            _ = write!(words, "; {}", recall.in_words());
        }
        if self.unverified {
            words += "; only fingerprints compared, nothing verified";
        }
        _ = write!(words, "; {:.1} MB in {:.2} s", self.bytes as f64 / 1e6, self.seconds);
        words
    }
}

impl Summary {
    /// Returns why documents were removed, if there is an existing corpus.
    fn removed_because(&self) -> String {
        let Some(known) = self.known else { return String::new() };
        let within = counted(self.removed - known, "duplicate");
        format!(": {} already known, {within} within the new input", grouped(known))
    }
}

/// Returns the peak resident memory in bytes, if the system reports it.
fn peak_memory() -> Option<u64> {
    let status = std::fs::read_to_string("/proc/self/status").ok()?;
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:"))?;
    Some(line.trim().strip_suffix("kB")?.trim().parse::<u64>().ok()? * 1024)
}
