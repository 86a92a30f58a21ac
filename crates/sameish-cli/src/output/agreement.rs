//! The result of `eval`: measures of agreement between a prediction and a gold standard.

use super::escape::escaped;
use super::jsonl::rounded;
use super::messages::{counted, grouped};
use crate::output::ids::shown;
use sameish::DocId;
use sameish::cluster::{PairCounts, Score};
use sameish_batch::input::judgments::{Judgments, Kind};
use serde::Serialize;
use std::fmt;

/// Maximum width of an id, in columns.
const NAME: usize = 18;

/// The result of `eval`. Serializes as the JSON object and displays as the report.
#[derive(Debug, Default, Serialize)]
pub(crate) struct Answer {
    pub(crate) predicted: SideReport,
    pub(crate) gold: SideReport,
    /// Number of documents in either file.
    pub(crate) documents: u64,
    /// Number of documents in both files.
    pub(crate) common_documents: u64,
    pub(crate) pairs: Pairs,
    /// Number of predicted pairs that the gold standard does not judge, if it judges pairs as different.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) unjudged: Option<u64>,
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
    /// Number of clusters, or of pairs in a file of pairs.
    count: u64,
    /// Number of documents that are missing in the other file.
    only_here: u64,
}

impl SideReport {
    pub(crate) fn new(name: &str, judgments: &Judgments, only_here: u64) -> SideReport {
        let count = match judgments.kind() {
            Kind::Pairs => judgments.count_pairs(),
            _ => judgments.clusters(),
        };
        SideReport {
            name: name.to_owned(),
            kind: judgments.kind().name(),
            documents: judgments.documents(),
            count,
            only_here,
        }
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

/// A cluster of one file that is spread over several clusters of the other.
#[derive(Debug, Serialize)]
pub(crate) struct Example {
    pub(crate) cluster: Option<DocId>,
    pub(crate) documents: u64,
    /// Number of wrong or missed pairs.
    pub(crate) pairs: u64,
    /// Number of clusters of the other file that overlap it.
    pub(crate) parts: u64,
    pub(crate) largest_parts: Vec<Part>,
}

impl Example {
    /// Number of parts listed.
    pub(crate) const PARTS: usize = 3;
}

/// The overlap of an [`Example`] with one cluster of the other file.
#[derive(Debug, Serialize)]
pub(crate) struct Part {
    /// Absent for a document that is missing in the other file.
    pub(crate) cluster: Option<DocId>,
    pub(crate) documents: u64,
    /// One of the documents in the overlap.
    pub(crate) example: Option<DocId>,
}

impl fmt::Display for Answer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.sides(f)?;
        if self.has_nothing_in_common() {
            return Ok(());
        }
        self.table(f)?;
        let merges = Errors { title: "False merges", own: "PRED", other: "GOLD", fault: "wrong" };
        merges.list(f, &self.false_merges)?;
        let splits = Errors { title: "Splits", own: "GOLD", other: "PRED", fault: "missed" };
        splits.list(f, &self.splits)
    }
}

impl Answer {
    /// Returns `true` if both files have documents, but none in common, so that measures would say nothing.
    pub(crate) fn has_nothing_in_common(&self) -> bool {
        self.common_documents == 0 && self.predicted.documents > 0 && self.gold.documents > 0
    }

    fn sides(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Answer { predicted, gold, .. } = self;
        for (title, side) in [("PRED", predicted), ("GOLD", gold)] {
            let documents = counted(side.documents, "document");
            let count = counted(side.count, side.noun());
            writeln!(f, "{title}  {} ({documents}, {count})", escaped(&side.name))?;
        }
        writeln!(f)?;
        for (title, other, side) in [("PRED", "GOLD", predicted), ("GOLD", "PRED", gold)] {
            if side.only_here > 0 {
                let documents = counted(side.only_here, "document");
                writeln!(f, "{documents} only in {title}: each is a cluster of its own in {other}")?;
            }
        }
        if predicted.only_here + gold.only_here > 0 {
            writeln!(f)?;
        }
        Ok(())
    }

    fn table(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Answer { pairs, bcubed, adjusted_rand_index, .. } = self;
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
        writeln!(f, "\nPairs: {both} correct, {wrong} wrong, {missed} missed.")?;
        if let Some(unjudged) = self.unjudged {
            let pairs = counted(unjudged, "predicted pair");
            writeln!(
                f,
                "GOLD judges some pairs as different, so only judged pairs are counted. Not judged:\n{pairs}."
            )?;
        }
        if bcubed.is_none() {
            writeln!(
                f,
                "B-cubed and the Rand index need clusters. Pairs are not transitive: a-b and b-c\ndo not imply a-c."
            )?;
        }
        Ok(())
    }
}

/// A list of errors of one kind.
struct Errors {
    title: &'static str,
    own: &'static str,
    other: &'static str,
    fault: &'static str,
}

impl Errors {
    fn list(&self, f: &mut fmt::Formatter<'_>, examples: &[Example]) -> fmt::Result {
        if examples.is_empty() {
            return Ok(());
        }
        let Errors { title, own, other, fault } = self;
        writeln!(f, "\n{title}: clusters of {own} that span several clusters of {other}")?;
        for (number, example) in (1..).zip(examples) {
            let pairs = counted(example.pairs, &format!("{fault} pair"));
            writeln!(f, "  {number}. {}: {pairs}", name(example.cluster.as_ref()))?;
            let documents = counted(example.documents, "document");
            let parts = counted(example.parts, "cluster");
            writeln!(f, "     {documents} in {parts} of {other}:")?;
            for part in &example.largest_parts {
                let count = grouped(part.documents);
                let cluster = name(part.cluster.as_ref());
                let example = part.example.as_ref().map(|id| shown(id, NAME)).unwrap_or_default();
                let with = if part.documents > 1 { "e.g. " } else { "" };
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
