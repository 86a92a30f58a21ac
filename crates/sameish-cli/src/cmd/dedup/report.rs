//! What went, for people: tables on the terminal, and a page.

use super::outcome::Outcome;
use super::plan::Deduped;
use super::summary::Summary;
use crate::batch::held::{Doc, State};
use crate::exit::Failure;
use crate::input::find::Found;
use crate::intake::RunArgs;
use crate::output::file::Output;
use crate::output::html::{Example, LargeCluster, Removed, Report, page};
use crate::output::messages::{grouped, say};
use crate::output::table::removals;
use sameish::{Content, Engine};
use std::collections::HashMap;
use std::path::Path;

/// Clusters that are shown.
const LARGEST: usize = 10;
/// Pairs that are shown, of each kind.
const EXAMPLES: usize = 8;
/// Characters of a text that are shown beside its cluster.
const BEGINS: usize = 120;
/// Words that a shared passage has.
const PASSAGE: usize = 5;

impl Outcome {
    /// The tables of what goes, before anything is written.
    pub(super) fn say_tables(&self, deduped: &Deduped) -> Result<(), Failure> {
        if self.removed > 0 {
            let largest = self.largest(deduped)?;
            say(format_args!("{}", removals(&self.by_source(deduped), &self.by_length(deduped), &largest)));
        }
        Ok(())
    }

    fn by_source(&self, deduped: &Deduped) -> Vec<Removed> {
        let mut rows = self.rows(deduped, |doc| deduped.sources.get(doc.source).to_owned());
        rows.sort_by(|a, b| b.removed.cmp(&a.removed).then_with(|| a.name.cmp(&b.name)));
        rows
    }

    fn by_length(&self, deduped: &Deduped) -> Vec<Removed> {
        const CLASSES: [(u32, &str); 5] = [
            (200, "up to 200 B"),
            (1_000, "up to 1 kB"),
            (5_000, "up to 5 kB"),
            (20_000, "up to 20 kB"),
            (u32::MAX, "longer"),
        ];
        let class = |doc: &Doc| CLASSES.iter().position(|(limit, _)| doc.text_bytes <= *limit).unwrap_or(4);
        let mut rows = self.rows(deduped, |doc| CLASSES[class(doc)].1.to_owned());
        rows.sort_by_key(|row| CLASSES.iter().position(|(_, name)| *name == row.name));
        rows
    }

    fn rows(&self, deduped: &Deduped, name: impl Fn(&Doc) -> String) -> Vec<Removed> {
        let mut rows: HashMap<String, Removed> = HashMap::new();
        for (doc, stays) in deduped.docs.iter().zip(&self.stays).skip(deduped.against as usize) {
            let name = name(doc);
            let row = rows.entry(name.clone()).or_insert(Removed {
                name,
                documents: 0,
                removed: 0,
                bytes: 0,
                removed_bytes: 0,
            });
            let gone = u64::from(!stays);
            row.documents += 1;
            row.removed += gone;
            row.bytes += u64::from(doc.text_bytes);
            row.removed_bytes += gone * u64::from(doc.text_bytes);
        }
        rows.into_values().collect()
    }

    /// The largest clusters; of equal ones those whose centers come first.
    fn largest(&self, deduped: &Deduped) -> Result<Vec<LargeCluster>, Failure> {
        let mut clusters: Vec<&Vec<u32>> = self.clusters.iter().collect();
        clusters.sort_by_key(|cluster| std::cmp::Reverse(cluster.len()));
        let show = |cluster: &&Vec<u32>| {
            let least = cluster[1..].iter().map(|&doc| deduped.grouping.similarity[doc as usize]);
            Ok(LargeCluster {
                center: deduped.ids.get(cluster[0]).to_owned(),
                size: cluster.len() as u64,
                least_similar: least.reduce(f32::min).map(f64::from),
                begins: deduped.text(cluster[0])?.chars().take(BEGINS).collect(),
            })
        };
        clusters.iter().take(LARGEST).map(show).collect()
    }

    /// Writes the page.
    pub(super) fn write_report(
        &self,
        path: &Path,
        deduped: &Deduped,
        engine: &Engine,
        summary: &Summary,
        run: &RunArgs,
        sources: &[Found],
    ) -> Result<(), Failure> {
        let mut output = Output::create(Some(path), run.force, sources)?;
        let inputs = sources.len();
        let threshold = engine.config().matching.threshold;
        let curve = engine.config().bands().ok().flatten().map(|bands| bands.curve(100)).unwrap_or_default();
        // Arguments that are not text are shown as near as can be.
        let arguments = std::env::args_os().skip(1).map(|argument| argument.to_string_lossy().into_owned());
        let command: Vec<String> = std::iter::once("sameish".to_owned()).chain(arguments).collect();
        let report = Report {
            title: format!("dedup of {inputs} input{}", if inputs == 1 { "" } else { "s" }),
            made_at: now(),
            command: command.join(" "),
            facts: summary.figures(),
            threshold,
            expected_recall: engine.expected_recall(),
            curve: curve.iter().map(|point| (point.jaccard, point.probability)).collect(),
            histogram: twentieths(&deduped.grouping.histogram),
            cluster_sizes: self.sizes(),
            sources: self.by_source(deduped),
            lengths: self.by_length(deduped),
            largest: self.largest(deduped)?,
            examples: self.examples(deduped, engine)?,
            notes: summary.notes(),
        };
        output.write(page(&report).as_bytes())?;
        output.finish()
    }

    fn sizes(&self) -> Vec<(u64, u64)> {
        let mut sizes = std::collections::BTreeMap::new();
        self.clusters.iter().for_each(|cluster| *sizes.entry(cluster.len() as u64).or_insert(0) += 1);
        sizes.into_iter().collect()
    }

    /// The least similar pairs of which one went, and pairs of one form that stayed.
    fn examples(&self, deduped: &Deduped, engine: &Engine) -> Result<Vec<Example>, Failure> {
        let grouping = &deduped.grouping;
        let mut gone: Vec<u32> = (deduped.against..deduped.docs.len() as u32)
            .filter(|&doc| !self.stays[doc as usize] && deduped.docs[doc as usize].state == State::Long)
            .collect();
        gone.sort_by(|&a, &b| grouping.similarity[a as usize].total_cmp(&grouping.similarity[b as usize]));
        let removed = gone.iter().take(EXAMPLES).map(|&doc| (grouping.center[doc as usize], doc, true));
        let forms = grouping.templates.iter().take(EXAMPLES).map(|&(a, b, _)| (a, b, false));
        removed.chain(forms).map(|(a, b, removed)| deduped.example(a, b, removed, engine)).collect()
    }
}

impl Deduped {
    fn text(&self, doc: u32) -> Result<String, Failure> {
        Ok(match self.fetcher.content(&self.docs[doc as usize])? {
            Content::Text(text) => text,
            Content::Tokens(tokens) => tokens.join(" "),
        })
    }

    fn example(&self, a: u32, b: u32, removed: bool, engine: &Engine) -> Result<Example, Failure> {
        let (a_text, b_text) = (self.text(a)?, self.text(b)?);
        let [x, y] = [&a_text, &b_text].map(|text| Content::Text(text.clone()));
        let comparison = engine.compare(&x, &y, PASSAGE);
        let [x, y] = [&x, &y].map(sameish::Facts::of);
        let facts = sameish::facts_agreement(&x, &y, self.frequencies.as_ref());
        Ok(Example {
            a: self.ids.get(a).to_owned(),
            b: self.ids.get(b).to_owned(),
            similarity: comparison.similarity,
            facts: Some(facts),
            template: !removed,
            removed,
            a_text,
            b_text,
            passages: comparison.passages,
        })
    }
}

/// The moment it is, in UTC.
fn now() -> String {
    let since = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH);
    let seconds = since.map_or(0, |since| since.as_secs());
    sameish::Timestamp::parse(&format!("{seconds:010}"))
        .map_or_else(|_| String::new(), |moment| moment.to_string())
}

/// Hundredths put together, the last of them with 1.
fn twentieths(hundredths: &[u64]) -> Vec<u64> {
    let mut bins = vec![0; 20];
    hundredths.iter().enumerate().for_each(|(at, count)| bins[(at / 5).min(19)] += count);
    bins
}

/// The figures at the top of the page.
pub(super) fn figures(rows: &[(&str, u64)]) -> Vec<(String, String)> {
    rows.iter().map(|(name, count)| ((*name).to_owned(), grouped(*count))).collect()
}
