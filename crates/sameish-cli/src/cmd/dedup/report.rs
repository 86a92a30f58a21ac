//! Removals per source and length: tables for the terminal and the HTML report.

use super::DedupResult;
use super::summary::Summary;
use crate::exit::Failure;
use crate::output::html::{Example, LargeCluster, Removed, Report, page};
use crate::output::messages::say;
use crate::output::table::removals;
use sameish::Analyzer;
use sameish_batch::report::{LARGEST_CLUSTERS, SHOWN_PAIRS, beginning, length_class, now, pair, twentieths};
use sameish_batch::{Row, State};
use std::collections::{BTreeMap, HashMap};

impl DedupResult<'_> {
    /// Prints the tables of removals.
    pub(super) fn print_tables(&self, analyzer: &Analyzer) -> Result<(), Failure> {
        if self.selection.removed > 0 {
            say(format_args!("{}", removals(&self.by_source(), &self.by_length(), &self.largest(analyzer)?)));
        }
        Ok(())
    }

    /// Returns the number of documents that match one of the existing corpus; absent if there is none.
    pub(super) fn known(&self) -> Option<u64> {
        let against = self.corpus.signed.against;
        let is_known = |doc: &u32| self.clusters.center[*doc as usize] < against;
        let removed = self.selection.removed_documents(self.corpus);
        (against > 0).then(|| removed.filter(is_known).count() as u64)
    }

    /// Returns the HTML report.
    pub(super) fn html_report(
        &self,
        analyzer: &Analyzer,
        summary: &Summary,
        inputs: usize,
    ) -> Result<String, Failure> {
        let config = analyzer.config();
        let curve = config.bands().ok().flatten().map(|bands| bands.curve(100)).unwrap_or_default();
        let arguments = std::env::args_os().skip(1).map(|argument| argument.to_string_lossy().into_owned());
        let command: Vec<String> = std::iter::once("sameish".to_owned()).chain(arguments).collect();
        Ok(page(&Report {
            analyzer: analyzer.clone(),
            title: format!("dedup of {inputs} input{}", if inputs == 1 { "" } else { "s" }),
            made_at: now(),
            command: command.join(" "),
            facts: summary.counted().figures(),
            threshold: config.matching.threshold,
            expected_recall: analyzer.expected_recall(),
            curve: curve.iter().map(|point| (point.jaccard, point.probability)).collect(),
            histogram: twentieths(&self.clusters.histogram),
            cluster_sizes: self.cluster_sizes(),
            sources: self.by_source(),
            lengths: self.by_length(),
            largest: self.largest(analyzer)?,
            examples: self.examples(analyzer)?,
            notes: summary.notes(),
        }))
    }

    /// Returns the removals of each source; none if the documents have no sources.
    fn by_source(&self) -> Vec<Removed> {
        let mut rows = self.removals_by(|row| self.corpus.signed.sources.get(row.source).to_owned());
        if rows.iter().all(|row| row.name.is_empty()) {
            return Vec::new();
        }
        rows.sort_by(|a, b| b.removed.cmp(&a.removed).then_with(|| a.name.cmp(&b.name)));
        rows
    }

    fn by_length(&self) -> Vec<Removed> {
        let class = |row: &Row| length_class(u64::from(row.text_bytes));
        let mut rows = self.removals_by(|row| class(row).1.to_owned());
        let place: HashMap<&str, usize> =
            self.corpus.signed.rows.iter().map(|row| (class(row).1, class(row).0)).collect();
        rows.sort_by_key(|row| place[row.name.as_str()]);
        rows
    }

    /// Returns the removals of each group of documents with the same name.
    fn removals_by(&self, name: impl Fn(&Row) -> String) -> Vec<Removed> {
        let signed = &self.corpus.signed;
        let mut groups: HashMap<String, Removed> = HashMap::new();
        for (row, is_kept) in signed.rows.iter().zip(&self.selection.is_kept).skip(signed.against as usize) {
            let name = name(row);
            let group = groups.entry(name.clone()).or_insert(Removed {
                name,
                documents: 0,
                removed: 0,
                bytes: 0,
                removed_bytes: 0,
            });
            let removed = u64::from(!is_kept);
            group.documents += 1;
            group.removed += removed;
            group.bytes += u64::from(row.text_bytes);
            group.removed_bytes += removed * u64::from(row.text_bytes);
        }
        groups.into_values().collect()
    }

    /// Returns the largest clusters; of equal ones those whose centers come first.
    fn largest(&self, analyzer: &Analyzer) -> Result<Vec<LargeCluster>, Failure> {
        let mut clusters: Vec<&Vec<u32>> = self.selection.clusters.iter().collect();
        clusters.sort_by_key(|cluster| std::cmp::Reverse(cluster.len()));
        let show = |cluster: &&Vec<u32>| {
            let similarities = cluster[1..].iter().map(|&doc| self.clusters.similarity[doc as usize]);
            Ok(LargeCluster {
                center: self.corpus.signed.ids.get(cluster[0]).to_owned(),
                size: cluster.len() as u64,
                least_similar: similarities.reduce(f64::min),
                begins: beginning(analyzer, &self.corpus.text(cluster[0])?),
            })
        };
        clusters.iter().take(LARGEST_CLUSTERS).map(show).collect()
    }

    fn cluster_sizes(&self) -> Vec<(u64, u64)> {
        let mut sizes = BTreeMap::new();
        self.selection
            .clusters
            .iter()
            .for_each(|cluster| *sizes.entry(cluster.len() as u64).or_insert(0) += 1);
        sizes.into_iter().collect()
    }

    /// Returns the least similar removed documents with their centers, and template pairs that were kept.
    fn examples(&self, analyzer: &Analyzer) -> Result<Vec<Example>, Failure> {
        let is_long = |doc: &u32| self.corpus.signed.rows[*doc as usize].state == State::Long;
        let mut removed: Vec<u32> =
            self.selection.removed_documents(self.corpus).filter(|doc| is_long(doc)).collect();
        let similarity = |doc: u32| self.clusters.similarity[doc as usize];
        removed.sort_by(|&a, &b| similarity(a).total_cmp(&similarity(b)));
        let removed =
            removed.iter().take(SHOWN_PAIRS).map(|&doc| (self.clusters.center[doc as usize], doc, true));
        let templates = self.clusters.templates.iter().take(SHOWN_PAIRS).map(|&(a, b, _)| (a, b, false));
        removed.chain(templates).map(|(a, b, removed)| self.example(a, b, removed, analyzer)).collect()
    }

    fn example(&self, a: u32, b: u32, removed: bool, analyzer: &Analyzer) -> Result<Example, Failure> {
        let [a, b] = [a, b].map(|doc| Ok((self.corpus.signed.ids.get(doc), self.corpus.text(doc)?)));
        let (a, b): (Result<_, Failure>, Result<_, Failure>) = (a, b);
        Ok(pair(analyzer, a?, b?, removed))
    }
}
