//! `sameish eval`: precision and recall of clusters or pairs.

mod audit;
mod first_pass;
mod prediction;
mod tally;

use crate::args::{DocumentArgs, EngineArgs, MatchArgs, Size, TemplateArgs, ThreadArgs};
use crate::exit::{Exit, Failure};
use crate::output::agreement::{Answer, Example, Part, SideReport};
use crate::output::jsonl::rounded;
use crate::output::messages::say;
use crate::output::print;
use sameish::DocId;
use sameish::cluster::{Contingency, Mixed, PairCounts};
use sameish_batch::input::Input;
use sameish_batch::input::judgments::{DocumentNumbers, Judgments, Kind, read_judgments};
use std::collections::{HashMap, HashSet};
use std::ffi::OsString;
use std::path::PathBuf;

pub(crate) use prediction::File;
pub(crate) use tally::{CLASS, ClassCounts, Share, Tally};

/// Compare predicted clusters or pairs with a gold standard
///
/// PRED is the prediction, GOLD the gold standard. Each is a JSONL file of clusters (the output of `sameish cluster` or
/// `sameish dedup --clusters`), of removals (the output of `sameish dedup --removed`), of labeled records (an id and a cluster),
/// or of pairs (the output of `sameish pairs`, or judged pairs). Reports pairwise precision, recall and F1; for clusters also
/// B-cubed and the adjusted Rand index; and the largest errors.
///
/// Without a gold standard, `--exact IN...` compares a sample of the documents with all others by brute force. It reports the
/// precision and recall of PRED or, without PRED, of the engine's index without limits on crowded buckets. Templates that clusters
/// or removals lack are not missed; those that a list of pairs lacks are, unless `--templates keep` is given.
#[derive(Debug, clap::Args)]
#[command(after_help = AFTER_HELP)]
pub(crate) struct Args {
    /// Prediction: a JSONL file (plain, .gz or .zst), or `-` for standard input
    #[arg(value_name = "PRED", required_unless_present = "exact")]
    predicted: Option<OsString>,
    /// Gold standard: a JSONL file of clusters, removals, labeled records or pairs
    #[arg(required_unless_present = "exact", conflicts_with = "exact")]
    gold: Option<OsString>,
    /// Compare with brute force over these documents instead of GOLD
    #[arg(long, value_name = "IN", num_args = 1..)]
    exact: Vec<OsString>,
    /// Number of documents to compare with all others (with `--exact`)
    #[arg(long, value_name = "N", default_value_t = 1000, value_parser = clap::value_parser!(u32).range(1..))]
    sample: u32,
    /// Sampling seed (with `--exact`)
    #[arg(long, value_name = "N", default_value_t = 0)]
    seed: u64,
    /// Name of the cluster field in labeled records; null means no cluster
    #[arg(long, value_name = "NAME", default_value = "cluster")]
    cluster_field: String,
    /// Number of errors of each kind to show
    #[arg(long, value_name = "N", default_value_t = 5)]
    examples: u16,
    /// Print the result as one JSON object
    #[arg(long)]
    json: bool,
    /// Print only the result and errors
    #[arg(short, long)]
    quiet: bool,
    #[command(flatten)]
    threads: ThreadArgs,
    /// Maximum length of a line [default: 1G for PRED and GOLD, where a cluster is one line; 64M for documents]
    #[arg(long, value_name = "SIZE")]
    max_line: Option<Size>,
    #[command(flatten)]
    documents: DocumentArgs,
    #[command(flatten)]
    engine: EngineArgs,
    #[command(flatten)]
    matching: MatchArgs,
    #[command(flatten)]
    templates: TemplateArgs,
}

const AFTER_HELP: &str = "\
Examples:
  sameish eval found.jsonl truth.jsonl
  sameish eval --json found.jsonl truth.jsonl.gz
  sameish eval --cluster-field story found.jsonl articles.jsonl
  sameish eval --exact articles.jsonl --threshold 0.7 --recall 0.999
  sameish eval found.jsonl --exact 'crawl/*.jsonl.zst' --sample 5000

One line of each kind of file (other fields are ignored):
  {\"id\": 0, \"members\": [\"a\", \"b\", 7]}
  {\"id\": \"a\", \"kept\": \"b\"}
  {\"id\": \"a\", \"cluster\": \"bridge\"}
  {\"a\": \"a\", \"b\": 7}
  {\"a\": \"a\", \"b\": 7, \"same\": false}

If GOLD contains pairs with \"same\": false, only the pairs that it judges are
counted.

Ids keep their type: 7 and \"7\" are different documents. A document that is
missing in one file is a cluster of its own there. Pairs are not transitive: a-b
and b-c do not imply a-c, so files of pairs get pairwise measures only.

Exit codes: 0 success (for every result), 1 internal error, 2 usage error,
3 some documents rejected, 4 unreadable file, invalid line or duplicate id,
5 limit reached.";

/// Default maximum length of a line of PRED and GOLD, in bytes.
const JUDGMENT_LINE: usize = 1 << 30;

pub(crate) fn run(args: Args) -> anyhow::Result<Exit> {
    if !args.exact.is_empty() {
        return audit::run(&args);
    }
    if args.engine.is_set() || args.matching.is_set() || args.templates.is_set() {
        let reason = "engine settings have no effect on two files; remove them, or pass `--exact IN...`";
        return Err(Failure::usage(reason).into());
    }
    let (Some(predicted), Some(gold)) = (&args.predicted, &args.gold) else {
        return Err(Failure::usage("missing argument; pass `PRED` and `GOLD`, or `--exact IN...`").into());
    };
    if predicted == "-" && gold == "-" {
        return Err(
            Failure::usage("`-` is given twice; standard input can be read only once: pass it once").into()
        );
    }
    let mut ids = DocumentNumbers::default();
    let predicted = read(predicted, &args, &mut ids)?;
    let gold = read(gold, &args, &mut ids)?;
    let answer = evaluate(&predicted, &gold, &ids, usize::from(args.examples));
    if answer.has_nothing_in_common() {
        say(format_args!(
            "warning: the two files have no id in common, so they cannot be compared; check that both have the ids of the same \
             documents (7 and \"7\" are different)"
        ));
    }
    print(args.json, &answer, || answer.to_string())?;
    Ok(Exit::Clean)
}

/// One of the two files.
struct Side {
    name: String,
    judgments: Judgments,
}

fn read(file: &OsString, args: &Args, ids: &mut DocumentNumbers) -> Result<Side, Failure> {
    let source = if file == "-" { Input::stdin() } else { Input::file(PathBuf::from(file)) };
    let mut reading = args.documents.reading(Size::RECORD, &[], true);
    reading.rules.max_line = args.max_line.map_or(JUDGMENT_LINE, Size::bytes);
    let number = |id: DocId| ids.number(id);
    match read_judgments(&source, args.documents.id_field(), &args.cluster_field, &reading, number) {
        Ok(judgments) => Ok(Side { name: source.name.to_string(), judgments }),
        Err(error) => Err(sameish_batch::Error::from(error).into()),
    }
}

fn evaluate(predicted: &Side, gold: &Side, ids: &DocumentNumbers, examples: usize) -> Answer {
    let p = &predicted.judgments;
    let g = &gold.judgments;
    let documents = ids.len() as u64;
    let mut answer = Answer {
        predicted: SideReport::new(&predicted.name, p, documents - g.documents()),
        gold: SideReport::new(&gold.name, g, documents - p.documents()),
        documents,
        common_documents: (p.documents() + g.documents()).saturating_sub(documents),
        ..Answer::default()
    };
    let no_measures = answer.has_nothing_in_common();
    if no_measures || p.kind() == Kind::Pairs || g.kind() == Kind::Pairs {
        let counts = compare_pairs(p, g);
        let judged = counts.both + counts.only_predicted;
        answer.unjudged = (!g.negatives().is_empty()).then(|| p.count_pairs().saturating_sub(judged));
        answer.pairs = counts.into();
        return answer;
    }
    let p = Clustering { judgments: p, labels: p.labels(ids.len()) };
    let g = Clustering { judgments: g, labels: g.labels(ids.len()) };
    let table = Contingency::new(p.labels.iter().copied().zip(g.labels.iter().copied()));
    answer.pairs = table.pairs().into();
    answer.bcubed = Some(table.bcubed().into());
    answer.adjusted_rand_index = Some(rounded(table.adjusted_rand_index()));
    answer.false_merges = errors(table.worst_merges(examples), &p, &g, ids);
    answer.splits = errors(table.worst_splits(examples), &g, &p, ids);
    answer
}

/// One side as clusters, with the cluster of each document.
struct Clustering<'a> {
    judgments: &'a Judgments,
    labels: Vec<u32>,
}

/// Counts common pairs if at least one file consists of pairs.
///
/// If the gold standard judges pairs as different, only its judged pairs count: about other pairs nothing is known.
fn compare_pairs(predicted: &Judgments, gold: &Judgments) -> PairCounts {
    let joined_by = |judgments: &Judgments, pairs: &HashSet<(u32, u32)>| {
        pairs.iter().filter(|pair| judgments.joins(**pair)).count() as u64
    };
    let both = match (predicted.pairs(), gold.pairs()) {
        (_, Some(gold)) => joined_by(predicted, gold),
        (Some(predicted), None) => joined_by(gold, predicted),
        (None, None) => 0,
    };
    let only_gold = gold.count_pairs() - both;
    let only_predicted = if gold.negatives().is_empty() {
        predicted.count_pairs() - both
    } else {
        joined_by(predicted, gold.negatives())
    };
    PairCounts { both, only_predicted, only_gold }
}

/// Describes errors with the names of their clusters and an example document of each of the largest parts.
fn errors(mixed: Vec<Mixed>, own: &Clustering, other: &Clustering, ids: &DocumentNumbers) -> Vec<Example> {
    let shown = |one: &Mixed| one.parts.iter().take(Example::PARTS).copied().collect::<Vec<_>>();
    let cells: HashSet<(u32, u32)> =
        mixed.iter().flat_map(|one| shown(one).into_iter().map(|(part, _)| (one.cluster, part))).collect();
    let mut first: HashMap<(u32, u32), u32> = HashMap::new();
    for (number, cell) in (0..).zip(own.labels.iter().copied().zip(other.labels.iter().copied())) {
        if cells.contains(&cell) {
            first.entry(cell).or_insert(number);
        }
    }
    let names = ids.ids_of(&first.values().copied().collect());
    let part = |cluster: u32, (part, documents): (u32, u64)| Part {
        cluster: other.judgments.name(part),
        documents,
        example: first.get(&(cluster, part)).and_then(|number| names.get(number)).cloned(),
    };
    let example = |one: Mixed| Example {
        cluster: own.judgments.name(one.cluster),
        documents: one.documents,
        pairs: one.pairs,
        parts: one.parts.len() as u64,
        largest_parts: shown(&one).into_iter().map(|cell| part(one.cluster, cell)).collect(),
    };
    mixed.into_iter().map(example).collect()
}
