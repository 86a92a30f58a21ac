//! How well two clusterings agree, for people and for machines.

use super::escape::escaped;
use super::jsonl::rounded;
use super::messages::{counted, grouped};
use crate::output::ids::shown;
use sameish::{DocId, PairCounts, Score};
use sameish_batch::input::judgments::{Judgments, Kind};
use serde::Serialize;
use std::fmt;

/// Columns of an id.
const NAME: usize = 18;

/// The answer of `eval`, as an object.
#[derive(Debug, Default, Serialize)]
pub(crate) struct Answer {
    pub(crate) predicted: SideReport,
    pub(crate) gold: SideReport,
    /// In either file.
    pub(crate) documents: u64,
    pub(crate) pairs: Pairs,
    pub(crate) bcubed: Option<Rounded>,
    pub(crate) adjusted_rand_index: Option<f64>,
    pub(crate) false_merges: Vec<Example>,
    pub(crate) splits: Vec<Example>,
}

/// One of the two files.
#[derive(Debug, Default, Serialize)]
pub(crate) struct SideReport {
    #[serde(skip)]
    name: String,
    kind: &'static str,
    documents: u64,
    /// Clusters, or pairs in a file of pairs.
    count: u64,
    /// Documents that the other file does not name.
    only_here: u64,
}

impl SideReport {
    pub(crate) fn new(name: &str, judgments: &Judgments, only_here: u64) -> SideReport {
        let count = match judgments.kind() {
            Kind::Pairs => judgments.count_pairs(),
            _ => judgments.clusters(),
        };
        let (kind, documents) = (judgments.kind().name(), judgments.documents());
        SideReport { name: name.to_owned(), kind, documents, count, only_here }
    }

    fn noun(&self) -> &'static str {
        if self.kind == Kind::Pairs.name() { "pair" } else { "cluster" }
    }
}

#[derive(Debug, Default, Serialize)]
pub(crate) struct Pairs {
    both: u64,
    only_predicted: u64,
    only_gold: u64,
    #[serde(flatten)]
    score: Rounded,
}

impl From<PairCounts> for Pairs {
    fn from(counts: PairCounts) -> Pairs {
        let PairCounts { both, only_predicted, only_gold } = counts;
        Pairs { both, only_predicted, only_gold, score: counts.score().into() }
    }
}

#[derive(Debug, Default, Serialize)]
pub(crate) struct Rounded {
    precision: f64,
    recall: f64,
    f1: f64,
}

impl From<Score> for Rounded {
    fn from(score: Score) -> Rounded {
        Rounded { precision: rounded(score.precision), recall: rounded(score.recall), f1: rounded(score.f1) }
    }
}

/// A cluster of one side that lies in several of the other.
#[derive(Debug, Serialize)]
pub(crate) struct Example {
    pub(crate) cluster: Option<DocId>,
    pub(crate) documents: u64,
    /// Pairs that are wrong or missed.
    pub(crate) pairs: u64,
    /// Clusters of the other side that it meets.
    pub(crate) parts: u64,
    pub(crate) largest_parts: Vec<Part>,
}

impl Example {
    /// Parts that are shown.
    pub(crate) const PARTS: usize = 3;
}

/// What an [`Example`] shares with one cluster of the other side.
#[derive(Debug, Serialize)]
pub(crate) struct Part {
    /// Absent for a document that the other file does not name.
    pub(crate) cluster: Option<DocId>,
    pub(crate) documents: u64,
    /// One of the documents.
    pub(crate) example: Option<DocId>,
}

/// The answer in words, within 80 columns as long as names are short.
pub(crate) struct Report<'a> {
    pub(crate) answer: &'a Answer,
}

impl fmt::Display for Report<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.sides(f)?;
        self.table(f)?;
        self.examples(f, "False merges", "PRED", "GOLD", "wrong", &self.answer.false_merges)?;
        self.examples(f, "Splits", "GOLD", "PRED", "missed", &self.answer.splits)
    }
}

impl Report<'_> {
    fn sides(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Answer { predicted, gold, .. } = self.answer;
        for (title, side) in [("PRED", predicted), ("GOLD", gold)] {
            let (documents, count) = (counted(side.documents, "document"), counted(side.count, side.noun()));
            writeln!(f, "{title}  {} ({documents}, {count})", escaped(&side.name))?;
        }
        writeln!(f)?;
        for (title, other, side) in [("PRED", "GOLD", predicted), ("GOLD", "PRED", gold)] {
            if side.only_here > 0 {
                let documents = counted(side.only_here, "document");
                writeln!(f, "{documents} only in {title}: each counts as alone in {other}")?;
            }
        }
        if predicted.only_here + gold.only_here > 0 {
            writeln!(f)?;
        }
        Ok(())
    }

    fn table(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Answer { pairs, bcubed, adjusted_rand_index, .. } = self.answer;
        writeln!(f, "  {:<12} {:>9} {:>9} {:>9}", "", "precision", "recall", "F1")?;
        let mut line = |name: &str, score: &Rounded| {
            let Rounded { precision, recall, f1 } = score;
            writeln!(f, "  {name:<12} {precision:>9.3} {recall:>9.3} {f1:>9.3}")
        };
        line("pairs", &pairs.score)?;
        if let Some(score) = bcubed {
            line("B-cubed", score)?;
        }
        if let Some(index) = adjusted_rand_index {
            writeln!(f, "\n  adjusted Rand index {index:>22.3}")?;
        }
        let [both, wrong, missed] = [pairs.both, pairs.only_predicted, pairs.only_gold].map(grouped);
        writeln!(f, "\nOf the pairs {both} are in both, {wrong} wrong, {missed} missed.")?;
        if bcubed.is_none() {
            writeln!(
                f,
                "Pairs are taken as given: a-b and b-c do not make a-c. So there is no B-cubed\nand no Rand index."
            )?;
        }
        Ok(())
    }

    fn examples(
        &self,
        f: &mut fmt::Formatter<'_>,
        title: &str,
        own: &str,
        other: &str,
        fault: &str,
        examples: &[Example],
    ) -> fmt::Result {
        if examples.is_empty() {
            return Ok(());
        }
        writeln!(f, "\n{title}: clusters of {own} that lie in several of {other}")?;
        for (number, example) in (1..).zip(examples) {
            let pairs = counted(example.pairs, &format!("{fault} pair"));
            writeln!(f, "  {number}. {}: {pairs}", name(example.cluster.as_ref()))?;
            let (documents, parts) =
                (counted(example.documents, "document"), counted(example.parts, "cluster"));
            writeln!(f, "     {documents} in {parts} of {other}:")?;
            for part in &example.largest_parts {
                let (count, cluster) = (grouped(part.documents), name(part.cluster.as_ref()));
                let example = part.example.as_ref().map(|id| shown(id, NAME)).unwrap_or_default();
                let with = if part.documents > 1 { "such as " } else { "" };
                writeln!(f, "     {count:>9} in {cluster}: {with}{example}")?;
            }
        }
        Ok(())
    }
}

fn name(cluster: Option<&DocId>) -> String {
    match cluster {
        Some(name) => format!("cluster {}", shown(name, NAME)),
        None => "no cluster".into(),
    }
}
