//! What brute force found on a sample, for people and for machines.

use super::escape::escaped;
use super::jsonl::rounded;
use super::messages::{counted, grouped};
use crate::cmd::eval::{CLASS, File, Share, Tally};
use crate::output::ids::shown;
use sameish::{Config, DocId, Shingle};
use serde::Serialize;
use std::fmt;

/// Columns of an id.
const NAME: usize = 24;

/// The answer of `eval --exact`, as an object.
#[derive(Debug, Default, Serialize)]
pub(crate) struct Answer {
    /// `engine`, or what kind of file.
    audited: &'static str,
    #[serde(skip)]
    file: Option<String>,
    documents: u64,
    sampled: u64,
    /// Documents of the file that are not in the input.
    #[serde(skip_serializing_if = "Option::is_none")]
    unknown: Option<u64>,
    threshold: f64,
    shingle: String,
    /// Pairs of a drawn document and any other, at or above the threshold.
    pairs: u64,
    found: u64,
    missed: u64,
    recall: f64,
    recall_interval: [f64; 2],
    /// What the bands promise for just these pairs.
    #[serde(skip_serializing_if = "Option::is_none")]
    expected_recall: Option<f64>,
    predicted: u64,
    wrong: u64,
    precision: f64,
    precision_interval: [f64; 2],
    /// Pairs with other facts in one form, which the file leaves apart; they are not among the missed.
    #[serde(skip_serializing_if = "Option::is_none")]
    templates: Option<u64>,
    /// Pairs that the index brings up, for each drawn document.
    #[serde(skip_serializing_if = "Option::is_none")]
    candidates_per_document: Option<f64>,
    by_similarity: Vec<Class>,
    pub(crate) worst_missed: Vec<Example>,
    pub(crate) worst_wrong: Vec<Example>,
}

/// Pairs from one similarity to another; those of 1 stand alone.
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

/// A pair that is missed or wrong.
#[derive(Debug, Serialize)]
pub(crate) struct Example {
    pub(crate) a: DocId,
    pub(crate) b: DocId,
    pub(crate) similarity: f64,
}

impl Answer {
    pub(crate) fn new(documents: u64, sampled: u64, config: &Config) -> Answer {
        let lanes = (config.minhash.as_ref(), config.simhash.as_ref());
        let shingle = lanes.0.map(|lane| lane.shingle).or(lanes.1.map(|lane| lane.shingle));
        Answer {
            documents,
            sampled,
            threshold: config.matching.threshold,
            shingle: shingle.as_ref().map(Shingle::to_string).unwrap_or_default(),
            ..Answer::default()
        }
    }

    pub(crate) fn count(&mut self, tally: &Tally) {
        let (recall, precision) = (tally.recall(), tally.precision());
        let ends = |share: Share| [rounded(share.interval.low), rounded(share.interval.high)];
        (self.pairs, self.found, self.missed) = (recall.pairs, recall.hits, recall.pairs - recall.hits);
        (self.recall, self.recall_interval) = (rounded(recall.value), ends(recall));
        (self.predicted, self.wrong) = (precision.pairs, precision.pairs - precision.hits);
        (self.precision, self.precision_interval) = (rounded(precision.value), ends(precision));
        let share = |part: f64, of: u64| rounded(part / of as f64);
        let class = |(at, &(pairs, found, expected)): (usize, &(u64, u64, f64))| Class {
            from: (at * CLASS) as f64 / 1000.0,
            to: ((at + 1) * CLASS).min(1000) as f64 / 1000.0,
            pairs,
            found,
            recall: share(found as f64, pairs),
            expected: Some(share(expected, pairs)),
        };
        let classes = tally.classes.iter().enumerate().filter(|(_, class)| class.0 > 0);
        self.by_similarity = classes.map(class).collect();
    }

    /// What holds for an engine's index alone; `probability` says how likely a pair is found.
    pub(crate) fn of_engine(&mut self, tally: &Tally, probability: impl Fn(f64) -> Option<f64>) {
        self.audited = "engine";
        self.candidates_per_document = Some(rounded(tally.candidates as f64 / self.sampled.max(1) as f64));
        match probability(1.0) {
            None => self.by_similarity.iter_mut().for_each(|class| class.expected = None),
            Some(_) => {
                let expected: f64 = tally.classes.iter().map(|class| class.2).sum();
                self.expected_recall = (self.pairs > 0).then(|| rounded(expected / self.pairs as f64));
            }
        }
    }

    /// What holds for a file alone.
    pub(crate) fn of_file(&mut self, file: &File, tally: &Tally) {
        (self.audited, self.file) = (file.kind, Some(file.name.clone()));
        self.unknown = Some(file.documents.saturating_sub(tally.named));
        self.templates = Some(tally.templates);
        self.by_similarity.iter_mut().for_each(|class| class.expected = None);
    }
}

/// The answer in words, within 80 columns as long as names are short.
pub(crate) struct Report<'a> {
    pub(crate) answer: &'a Answer,
}

impl fmt::Display for Report<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.head(f)?;
        self.shares(f)?;
        self.classes(f)?;
        let Answer { worst_missed, worst_wrong, .. } = self.answer;
        examples(f, "Missed, the most similar first", worst_missed)?;
        examples(f, "Wrong, the least similar first", worst_wrong)
    }
}

impl Report<'_> {
    fn head(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Answer { documents, sampled, threshold, shingle, file, audited, unknown, .. } = self.answer;
        match file {
            None => writeln!(f, "What the engine's index finds, against brute force")?,
            Some(file) => writeln!(f, "The {audited} of {}, against brute force", escaped(file))?,
        }
        let of = counted(*documents, "document");
        match sampled == documents {
            true => writeln!(f, "All {of} with each other")?,
            false => writeln!(f, "{} of {of}, drawn by their ids, with all others", grouped(*sampled))?,
        }
        writeln!(f, "True is a pair with a similarity of {threshold} or more ({shingle})")?;
        if let Some(unknown) = unknown.filter(|&unknown| unknown > 0) {
            writeln!(
                f,
                "{} of the file not in the input: pairs with them do not count",
                counted(unknown, "document")
            )?;
        }
        writeln!(f)
    }

    fn shares(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Answer { pairs, found, missed, predicted, wrong, .. } = self.answer;
        let mut line = |name: &str, share: f64, interval: [f64; 2], of: u64, words: String| {
            let share = if of == 0 { "-".to_owned() } else { format!("{share:.4}") };
            let ends =
                if of == 0 { String::new() } else { format!("{:.4} to {:.4}", interval[0], interval[1]) };
            writeln!(f, "  {name:<10} {share:>7}  {ends:<17}  {words}")
        };
        let recall =
            format!("{} true, {} found, {} missed", grouped(*pairs), grouped(*found), grouped(*missed));
        line("recall", self.answer.recall, self.answer.recall_interval, *pairs, recall)?;
        let precision = format!("{} given, {} wrong", grouped(*predicted), grouped(*wrong));
        line("precision", self.answer.precision, self.answer.precision_interval, *predicted, precision)?;
        if let Some(expected) = self.answer.expected_recall {
            writeln!(f, "\nFor just these pairs the bands promise a recall of {expected:.4}.")?;
        }
        if let Some(candidates) = self.answer.candidates_per_document {
            writeln!(f, "The index brings up {candidates:.2} candidates for a document.")?;
        }
        if let Some(forms) = self.answer.templates.filter(|&forms| forms > 0) {
            writeln!(
                f,
                "\n{} of one form with other facts left apart, as `--templates keep` says;\nnot among the missed.",
                counted(forms, "pair")
            )?;
        }
        Ok(())
    }

    fn classes(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let classes = &self.answer.by_similarity;
        if classes.is_empty() {
            return Ok(());
        }
        let promised = classes.iter().any(|class| class.expected.is_some());
        let title = if promised { "  promised" } else { "" };
        writeln!(f, "\n  {:<12} {:>10} {:>10} {:>8}{title}", "similarity", "pairs", "found", "recall")?;
        for class in classes {
            let name = match class.from {
                1.0 => "1".to_owned(),
                from => format!("{from:.2}-{:.2}", class.to),
            };
            let expected = class.expected.map(|share| format!("  {share:>8.4}")).unwrap_or_default();
            let (pairs, found) = (grouped(class.pairs), grouped(class.found));
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
