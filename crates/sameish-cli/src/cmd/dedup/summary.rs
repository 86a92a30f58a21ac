//! What a run came to, for machines and in words.

use super::outcome::Outcome;
use super::plan::Deduped;
use super::report::figures;
use crate::batch::group::GroupCounts;
use crate::intake::Counts;
use crate::output::messages::{counted, grouped};
use sameish::Engine;
use serde::Serialize;
use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::time::Instant;

/// Wall time of each stage.
pub(super) struct Stages {
    begun: Instant,
    done: Vec<(&'static str, f64)>,
}

impl Stages {
    pub(super) fn new() -> Stages {
        Stages { begun: Instant::now(), done: Vec::new() }
    }

    pub(super) fn end(&mut self, name: &'static str) {
        self.done.push((name, (self.begun.elapsed().as_secs_f64() * 1000.0).round() / 1000.0));
        self.begun = Instant::now();
    }
}

/// What a run comes to.
#[derive(Serialize)]
pub(super) struct Summary {
    documents: u64,
    kept: u64,
    removed: u64,
    /// Of more than one document.
    clusters: u64,
    largest_cluster: u64,
    too_short: u64,
    rejected: u64,
    repeated: u64,
    replaced: u64,
    failed_inputs: u64,
    /// Pairs that were compared.
    candidates: u64,
    /// Of those at or above the threshold.
    verified: u64,
    /// Of those of one form with other facts, which stayed.
    templates: u64,
    chains_cut: u64,
    caps_hit: u64,
    expected_recall: Option<f64>,
    bytes: u64,
    seconds: f64,
    stages: BTreeMap<&'static str, f64>,
    peak_memory: Option<u64>,
    /// For words, not for machines: there `verified` is 0.
    #[serde(skip)]
    unverified: bool,
}

impl Summary {
    pub(super) fn new(
        counts: Counts,
        outcome: &Outcome,
        deduped: &Deduped,
        engine: &Engine,
        stages: Stages,
    ) -> Summary {
        let GroupCounts { candidates, verified, caps_hit, chains_cut, templates } = deduped.grouping.counts;
        Summary {
            documents: counts.documents,
            kept: outcome.kept.len() as u64,
            removed: outcome.removed,
            clusters: outcome.clusters.len() as u64,
            largest_cluster: outcome
                .clusters
                .iter()
                .map(|cluster| cluster.len() as u64)
                .max()
                .unwrap_or(u64::from(outcome.documents > 0)),
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
            expected_recall: engine.expected_recall(),
            bytes: counts.bytes,
            seconds: counts.seconds,
            stages: stages.done.into_iter().collect(),
            peak_memory: peak_memory(),
            unverified: !engine.config().matching.verify,
        }
    }

    /// For the page.
    pub(super) fn figures(&self) -> Vec<(String, String)> {
        figures(&[
            ("documents", self.documents),
            ("kept", self.kept),
            ("removed", self.removed),
            ("clusters", self.clusters),
            ("largest cluster", self.largest_cluster),
            ("too short", self.too_short),
            ("rejected", self.rejected),
        ])
    }

    pub(super) fn notes(&self) -> Vec<String> {
        let mut notes = Vec::new();
        let mut add = |count: u64, what: &str| {
            if count > 0 {
                notes.push(format!("{} {what}", grouped(count)));
            }
        };
        add(
            self.templates,
            "pairs have the same form and other facts, and stayed; `--templates merge` takes them for copies.",
        );
        add(
            self.chains_cut,
            "matches between clusters were cut, so that every document matches the one that stands for it.",
        );
        add(self.caps_hit, "limits were hit: some matches may be missing.");
        if self.unverified {
            notes.push("Texts were judged by their fingerprints alone; nothing was verified.".to_owned());
        }
        notes
    }

    pub(super) fn in_words(&self) -> String {
        let share = 100.0 * self.removed as f64 / self.documents.max(1) as f64;
        let mut words = format!(
            "{}: {} kept, {} removed ({share:.1} %) in {}, the largest of {}",
            counted(self.documents, "document"),
            grouped(self.kept),
            grouped(self.removed),
            counted(self.clusters, "cluster"),
            grouped(self.largest_cluster)
        );
        let mut add = |count: u64, what: &str| {
            if count > 0 {
                _ = write!(words, ", {} {what}", grouped(count));
            }
        };
        add(self.templates, "pairs of one form with other facts kept");
        add(self.chains_cut, "matches between clusters cut");
        add(self.too_short, "too short");
        add(self.repeated, "there before");
        add(self.rejected, "rejected");
        add(self.caps_hit, "limits hit so that some may be missing");
        if let Some(recall) = self.expected_recall {
            _ = write!(words, "; {:.1} % of pairs at the threshold expected to be found", 100.0 * recall);
        }
        if self.unverified {
            words += "; judged by fingerprints alone, not verified";
        }
        _ = write!(words, "; {:.1} MB in {:.2} s", self.bytes as f64 / 1e6, self.seconds);
        words
    }
}

/// Most bytes that were resident, where the system tells.
fn peak_memory() -> Option<u64> {
    let status = std::fs::read_to_string("/proc/self/status").ok()?;
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:"))?;
    Some(line.trim().strip_suffix("kB")?.trim().parse::<u64>().ok()? * 1024)
}
