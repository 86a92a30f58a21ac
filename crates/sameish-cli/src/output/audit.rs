//! The result of `eval --exact`: precision and recall against brute force on a sample.

use super::escape::escaped;
use super::jsonl::rounded;
use super::messages::{counted, grouped};
use crate::cmd::eval::{CLASS, ClassCounts, File, Share, Tally};
use crate::output::ids::shown;
use sameish::config::Shingle;
use sameish::{Config, DocId};
use serde::Serialize;
use std::fmt;

/// Maximum width of an id, in columns.
const NAME: usize = 24;

/// The result of `eval --exact`. Serializes as the JSON object and displays as the report.
#[derive(Debug, Default, Serialize)]
pub(crate) struct Answer {
    /// `engine`, or the kind of the audited file.
    audited: &'static str,
    #[serde(skip)]
    file: Option<String>,
    documents: u64,
    sampled: u64,
    /// Number of documents of the file that are not in the input.
    #[serde(skip_serializing_if = "Option::is_none")]
    unknown: Option<u64>,
    threshold: f64,
    shingle: String,
    /// Number of pairs of a sampled document and any other at or above the threshold.
    pairs: u64,
    found: u64,
    missed: u64,
    recall: f64,
    recall_interval: [f64; 2],
    /// Expected recall of the bands for these pairs.
    #[serde(skip_serializing_if = "Option::is_none")]
    expected_recall: Option<f64>,
    predicted: u64,
    wrong: u64,
    precision: f64,
    precision_interval: [f64; 2],
    /// Templates that the file keeps apart. They do not count as missed.
    #[serde(skip_serializing_if = "Option::is_none")]
    templates: Option<u64>,
    /// Mean number of candidates of the index per sampled document.
    #[serde(skip_serializing_if = "Option::is_none")]
    candidates_per_document: Option<f64>,
    by_similarity: Vec<Class>,
    pub(crate) worst_missed: Vec<Example>,
    pub(crate) worst_wrong: Vec<Example>,
}

/// Pairs in a range of similarities. Pairs with similarity 1 are a class of their own.
#[derive(Debug, Serialize)]
struct Class {
    from: f64,
    to: f64,
    pairs: u64,
    found: u64,
    recall: f64,
    #[serde(skip_serializing_if = "Option::is_none")]
    expected: Option<f64>,
}

/// A missed or wrong pair.
#[derive(Debug, Serialize)]
pub(crate) struct Example {
    pub(crate) a: DocId,
    pub(crate) b: DocId,
    pub(crate) similarity: f64,
}

impl Answer {
    pub(crate) fn new(documents: u64, sampled: u64, config: &Config) -> Answer {
        let minhash = config.minhash.as_ref().map(|minhash| minhash.shingle);
        let shingle = minhash.or(config.simhash.as_ref().map(|simhash| simhash.shingle));
        Answer {
            documents,
            sampled,
            threshold: config.matching.threshold,
            shingle: shingle.as_ref().map(Shingle::to_string).unwrap_or_default(),
            ..Answer::default()
        }
    }

    /// Sets precision, recall and the classes.
    pub(crate) fn count(&mut self, tally: &Tally) {
        let recall = tally.recall();
        let precision = tally.precision();
        let ends = |share: Share| [rounded(share.interval.low), rounded(share.interval.high)];
        self.pairs = recall.pairs;
        self.found = recall.hits;
        self.missed = recall.pairs - recall.hits;
        self.recall = rounded(recall.value);
        self.recall_interval = ends(recall);
        self.predicted = precision.pairs;
        self.wrong = precision.pairs - precision.hits;
        self.precision = rounded(precision.value);
        self.precision_interval = ends(precision);
        let share = |part: f64, of: u64| rounded(part / of as f64);
        let class = |(at, class): (usize, &ClassCounts)| Class {
            from: (at * CLASS) as f64 / 1000.0,
            to: ((at + 1) * CLASS).min(1000) as f64 / 1000.0,
            pairs: class.pairs,
            found: class.found,
            recall: share(class.found as f64, class.pairs),
            expected: Some(share(class.expected, class.pairs)),
        };
        let classes = tally.classes.iter().enumerate().filter(|(_, class)| class.pairs > 0);
        self.by_similarity = classes.map(class).collect();
    }

    /// Sets the figures of an engine's index. `probability` returns the detection probability of a similarity.
    pub(crate) fn of_engine(&mut self, tally: &Tally, probability: impl Fn(f64) -> Option<f64>) {
        self.audited = "engine";
        self.candidates_per_document = Some(rounded(tally.candidates as f64 / self.sampled.max(1) as f64));
        match probability(1.0) {
            None => self.by_similarity.iter_mut().for_each(|class| class.expected = None),
            Some(_) => {
                let expected: f64 = tally.classes.iter().map(|class| class.expected).sum();
                self.expected_recall = (self.pairs > 0).then(|| rounded(expected / self.pairs as f64));
            }
        }
    }

    /// Sets the figures of an audited file.
    pub(crate) fn of_file(&mut self, file: &File, tally: &Tally) {
        self.audited = file.kind;
        self.file = Some(file.name.clone());
        self.unknown = Some(file.documents.saturating_sub(tally.known));
        self.templates = Some(tally.templates);
        self.by_similarity.iter_mut().for_each(|class| class.expected = None);
    }
}

impl fmt::Display for Answer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.header(f)?;
        self.shares(f)?;
        self.notes(f)?;
        self.classes(f)?;
        examples(f, "Missed pairs, most similar first", &self.worst_missed)?;
        examples(f, "Wrong pairs, least similar first", &self.worst_wrong)
    }
}

impl Answer {
    fn header(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.file {
            None => {
                writeln!(
                    f,
                    "The engine's index against brute force, without the limits that apply to crowded"
                )?;
                writeln!(f, "buckets; to audit these, too, pass the output of `sameish pairs` as PRED")?;
            }
            Some(file) => writeln!(f, "The {} of {} against brute force", self.audited, escaped(file))?,
        }
        let documents = counted(self.documents, "document");
        if self.sampled == self.documents {
            writeln!(f, "{documents}, each compared with all others")?;
        } else {
            let sampled = grouped(self.sampled);
            writeln!(f, "{sampled} of {documents}, sampled by id, each compared with all others")?;
        }
        writeln!(f, "True pairs have a similarity of {} or more ({})", self.threshold, self.shingle)?;
        if let Some(unknown) = self.unknown.filter(|&unknown| unknown > 0) {
            let unknown = counted(unknown, "document");
            writeln!(f, "Ignored: pairs of {unknown} that are in the file but not in the input")?;
        }
        writeln!(f)
    }

    fn shares(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "  {:<10} {:>7}  95 % interval", "", "")?;
        let mut line = |name: &str, share: f64, interval: [f64; 2], of: u64, counts: String| {
            let [low, high] = interval;
            let share = if of == 0 { "-".to_owned() } else { format!("{share:.4}") };
            let interval = if of == 0 { String::new() } else { format!("{low:.4} to {high:.4}") };
            writeln!(f, "  {name:<10} {share:>7}  {interval:<17}  {counts}")
        };
        let [pairs, found, missed] = [self.pairs, self.found, self.missed].map(grouped);
        let counts = format!("{pairs} true, {found} found, {missed} missed");
        line("recall", self.recall, self.recall_interval, self.pairs, counts)?;
        let [predicted, wrong] = [self.predicted, self.wrong].map(grouped);
        let counts = format!("{predicted} predicted, {wrong} wrong");
        line("precision", self.precision, self.precision_interval, self.predicted, counts)
    }

    fn notes(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let Some(expected) = self.expected_recall {
            writeln!(f, "\nExpected recall of the bands for these pairs: {expected:.4}")?;
        }
        if let Some(candidates) = self.candidates_per_document {
            writeln!(f, "Candidates per document: {candidates:.2}")?;
        }
        if let Some(templates) = self.templates.filter(|&templates| templates > 0) {
            let pairs = counted(templates, "pair");
            writeln!(
                f,
                "\n{pairs} of templates (same wording, different facts) kept apart, not counted as\nmissed (`--templates keep`)"
            )?;
        }
        Ok(())
    }

    fn classes(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let classes = &self.by_similarity;
        if classes.is_empty() {
            return Ok(());
        }
        let has_expected = classes.iter().any(|class| class.expected.is_some());
        let title = if has_expected { "  expected" } else { "" };
        writeln!(f, "\n  {:<12} {:>10} {:>10} {:>8}{title}", "similarity", "pairs", "found", "recall")?;
        for class in classes {
            let name = match class.from {
                1.0 => "1".to_owned(),
                from => format!("{from:.2}-{:.2}", class.to),
            };
            let expected = class.expected.map(|share| format!("  {share:>8.4}")).unwrap_or_default();
            let [pairs, found] = [class.pairs, class.found].map(grouped);
            writeln!(f, "  {name:<12} {pairs:>10} {found:>10} {:>8.4}{expected}", class.recall)?;
        }
        Ok(())
    }
}

fn examples(f: &mut fmt::Formatter<'_>, title: &str, examples: &[Example]) -> fmt::Result {
    if examples.is_empty() {
        return Ok(());
    }
    writeln!(f, "\n{title}:")?;
    for Example { a, b, similarity } in examples {
        writeln!(f, "  {similarity:.4}  {} and {}", shown(a, NAME), shown(b, NAME))?;
    }
    Ok(())
}
