//! What the report of a `dedup` run shows: counts, notes, classes of lengths, pairs of documents.

use super::figures::{counted_as, grouped};
use super::html::Example;
use sameish::{Analyzer, Content, Timestamp};
use serde::{Deserialize, Serialize};
use std::time::{SystemTime, UNIX_EPOCH};

/// Number of clusters shown.
pub const LARGEST_CLUSTERS: usize = 10;
/// Number of pairs shown of each kind: removed documents with the kept ones, and templates.
pub const SHOWN_PAIRS: usize = 8;
/// Number of characters shown of the text of a cluster.
const EXCERPT: usize = 120;
/// Minimum length of a shared passage in words.
const PASSAGE: usize = 5;

/// The maximum length of a text of each length class, in bytes.
pub const LENGTH_LIMITS: [u64; 5] = [200, 1_000, 5_000, 20_000, i64::MAX as u64];
const LENGTH_NAMES: [&str; 5] = ["up to 200 B", "up to 1 kB", "up to 5 kB", "up to 20 kB", "longer"];

/// Returns the number of the length class of a text, and its name.
pub fn length_class(bytes: u64) -> (usize, &'static str) {
    let class = LENGTH_LIMITS.iter().position(|limit| bytes <= *limit).unwrap_or(LENGTH_LIMITS.len() - 1);
    (class, LENGTH_NAMES[class])
}

/// Counts of a run.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct RunCounts {
    pub documents: u64,
    pub kept: u64,
    pub removed: u64,
    pub clusters: u64,
    pub largest_cluster: u64,
    pub too_short: u64,
    pub rejected: u64,
    pub templates: u64,
    pub chains_cut: u64,
    pub caps_hit: u64,
}

impl RunCounts {
    /// Returns the rows of the summary: name and value.
    pub fn figures(&self) -> Vec<(String, String)> {
        let figures = [
            ("documents", self.documents),
            ("kept", self.kept),
            ("removed", self.removed),
            ("clusters", self.clusters),
            ("largest cluster", self.largest_cluster),
            ("too short", self.too_short),
            ("rejected", self.rejected),
        ];
        figures.map(|(name, count)| (name.to_owned(), grouped(count))).to_vec()
    }

    /// Returns the notes of the report. `merge` is the parameter by which an interface merges templates; `verified` is `false`
    /// if only fingerprints were compared.
    pub fn notes(&self, merge: &str, verified: bool) -> Vec<String> {
        let mut notes = Vec::new();
        let mut add = |count: u64, one: &str, many: &str, what: &str| {
            if count > 0 {
                notes.push(format!("{} {what}", counted_as(count, one, many)));
            }
        };
        let templates =
            format!("(the same wording with different names or numbers), which `{merge}` would remove.");
        add(self.templates, "pair is a template", "pairs are templates", &templates);
        add(
            self.chains_cut,
            "match between documents of different clusters was ignored",
            "matches between documents of different clusters were ignored",
            "so that every document matches the center of its cluster.",
        );
        let limits = ["bucket or candidate limit was reached:", "bucket or candidate limits were reached:"];
        add(self.caps_hit, limits[0], limits[1], "some matches may be missing.");
        if !verified {
            notes.push("Only fingerprints were compared; nothing was verified.".to_owned());
        }
        notes
    }
}

/// Returns the first words of a text.
pub fn beginning(analyzer: &Analyzer, text: &str) -> String {
    analyzer.visible_text(text).chars().take(EXCERPT).collect()
}

/// Compares two documents, which are given by their ids and texts, to show them side by side. The second one was removed as a
/// duplicate of the first, or both are templates.
pub fn pair(analyzer: &Analyzer, a: (&str, String), b: (&str, String), removed: bool) -> Example {
    let [a_content, b_content] = [&a.1, &b.1].map(|text| Content::Text(text.clone()));
    let comparison = analyzer.compare(&a_content, &b_content, PASSAGE);
    Example {
        a: a.0.to_owned(),
        b: b.0.to_owned(),
        similarity: comparison.similarity,
        facts: comparison.facts,
        template: !removed,
        removed,
        a_text: a.1,
        b_text: b.1,
        passages: comparison.passages,
        differences: comparison.differences,
    }
}

/// Returns the current time in UTC.
pub fn now() -> String {
    let seconds = SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |since| since.as_secs());
    Timestamp::parse(&format!("{seconds:010}")).map_or_else(|_| String::new(), |now| now.to_string())
}

/// Sums hundredths to twentieths; the last one includes similarity 1.
pub fn twentieths(hundredths: &[u64]) -> Vec<u64> {
    let mut bins = vec![0; 20];
    hundredths.iter().enumerate().for_each(|(at, count)| bins[(at / 5).min(19)] += count);
    bins
}
