//! `sameish eval`: how well found clusters or pairs agree with the truth.

mod audit;
mod prediction;
mod survey;
mod tally;

use crate::args::{DocumentArgs, EngineArgs, MatchArgs, Size, TemplateArgs, ThreadArgs};
use crate::exit::{Exit, Failure};
use crate::output::agreement::{Answer, Example, Part, Report, SideReport};
use crate::output::file::Output;
use crate::output::jsonl::push_line;
use sameish::{Contingency, DocId, Mixed, PairCounts};
use sameish_batch::input::Input;
use sameish_batch::input::judgments::{Judgments, Kind, read_judgments};
use std::collections::{HashMap, HashSet};
use std::ffi::OsString;
use std::path::PathBuf;

pub(crate) use prediction::File;
pub(crate) use tally::{CLASS, Share, Tally};

/// Say how well found clusters or pairs agree with the truth
///
/// PRED is what was found, GOLD is what is right. Each is a file of clusters as `sameish cluster` writes them, of labelled
/// records (an id and the cluster it belongs to), or of pairs as `sameish pairs` writes them. Gives precision, recall and F1
/// over pairs of documents; for clusters also B-cubed and the adjusted Rand index; and the worst mistakes.
///
/// Where nobody knows what is right, `--exact IN...` draws some documents of the input and compares each with all others, text
/// by text: the share of the true pairs that PRED has or, without PRED, that the engine's index finds.
#[derive(Debug, clap::Args)]
#[command(after_help = AFTER_HELP)]
pub(crate) struct Args {
    /// What was found: a JSONL file (plain, .gz or .zst), or `-` for standard input
    #[arg(value_name = "PRED", required_unless_present = "exact")]
    predicted: Option<OsString>,
    /// What is right: another such file
    #[arg(required_unless_present = "exact", conflicts_with = "exact")]
    gold: Option<OsString>,
    /// Compare with brute force over these documents instead of GOLD
    #[arg(long, value_name = "IN", num_args = 1..)]
    exact: Vec<OsString>,
    /// With `--exact`: documents that are compared with all others
    #[arg(long, value_name = "N", default_value_t = 1000, value_parser = clap::value_parser!(u32).range(1..))]
    sample: u32,
    /// With `--exact`: another number draws other documents
    #[arg(long, value_name = "N", default_value_t = 0)]
    seed: u64,
    /// Field of labelled records that names the cluster; null stands for none
    #[arg(long, value_name = "NAME", default_value = "cluster")]
    cluster_field: String,
    /// Mistakes of each kind to show
    #[arg(long, value_name = "N", default_value_t = 5)]
    examples: u16,
    /// Answer for machines: one object
    #[arg(long)]
    json: bool,
    /// Say nothing but the answer and errors
    #[arg(short, long)]
    quiet: bool,
    #[command(flatten)]
    threads: ThreadArgs,
    /// Longest line [default: 1G of PRED and GOLD, where a cluster is one line, 64M of documents]
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

Lines of the three kinds of files; other fields do not matter:
  {\"id\": 0, \"members\": [\"a\", \"b\", 7]}
  {\"id\": \"a\", \"cluster\": \"bridge\"}
  {\"a\": \"a\", \"b\": 7}

Ids keep their type: 7 and \"7\" are two documents. A document that is in one
file alone stands alone in the other. Pairs are taken as they are given: a-b and
b-c do not make a-c, so with a file of pairs only pairs are measured.

Exit codes: 0 whatever the answer, 2 wrong usage, 3 some documents rejected,
4 a file unreadable, a line that is none of the above, or an id twice in one
file, 5 a limit hit.";

/// The longest line of PRED and GOLD, unless told otherwise.
const JUDGMENT_LINE: usize = 1 << 30;

pub(crate) fn run(args: Args) -> anyhow::Result<Exit> {
    if !args.exact.is_empty() {
        return audit::run(&args);
    }
    if args.engine.is_set() || args.matching.is_set() {
        let why =
            "settings of the engine do nothing between two files; pass `--exact IN...`, or leave them out";
        return Err(Failure::usage(why).into());
    }
    let (Some(predicted), Some(gold)) = (&args.predicted, &args.gold) else {
        return Err(Failure::usage("PRED and GOLD are needed, or `--exact IN...`").into());
    };
    if predicted == "-" && gold == "-" {
        return Err(Failure::usage("`-` is given twice: standard input can be read once").into());
    }
    let mut ids = Ids::default();
    let predicted = read(predicted, &args, &mut ids)?;
    let gold = read(gold, &args, &mut ids)?;
    let answer = evaluate(&predicted, &gold, &ids, usize::from(args.examples));
    print(args.json, &answer, || Report { answer: &answer }.to_string())?;
    Ok(Exit::Clean)
}

/// The answer, for machines or in words.
fn print(
    json: bool,
    answer: &impl serde::Serialize,
    in_words: impl FnOnce() -> String,
) -> Result<(), Failure> {
    let mut bytes = Vec::new();
    match json {
        true => push_line(&mut bytes, answer),
        false => bytes.extend(in_words().bytes()),
    }
    Output::Stdout.write(&bytes)?;
    Ok(())
}

/// One of the two files.
struct Side {
    name: String,
    judgments: Judgments,
}

fn read(file: &OsString, args: &Args, ids: &mut Ids) -> Result<Side, Failure> {
    let source = if file == "-" { Input::stdin() } else { Input::file(PathBuf::from(file)) };
    let mut reading = args.documents.reading(Size::RECORD, true);
    reading.rules.max_line = args.max_line.map_or(JUDGMENT_LINE, Size::bytes);
    let number = |id: DocId| ids.number(id);
    match read_judgments(&source, &args.documents.id_field, &args.cluster_field, &reading, number) {
        Ok(judgments) => Ok(Side { name: source.name.to_string(), judgments }),
        Err(error) => Err(sameish_batch::Error::from(error).into()),
    }
}

/// A number for each document of either file, in the order in which they came.
#[derive(Default)]
struct Ids {
    numbers: HashMap<DocId, u32>,
}

impl Ids {
    fn number(&mut self, id: DocId) -> Result<u32, String> {
        let next = self.numbers.len();
        match u32::try_from(next) {
            // The last number is kept free, to mean none.
            Ok(next) if next < u32::MAX => Ok(*self.numbers.entry(id).or_insert(next)),
            _ => Err("more than 4 billion documents; evaluate a part".into()),
        }
    }

    /// The ids of some documents.
    fn of(&self, wanted: &HashSet<u32>) -> HashMap<u32, DocId> {
        let chosen = self.numbers.iter().filter(|(_, number)| wanted.contains(number));
        chosen.map(|(id, &number)| (number, id.clone())).collect()
    }
}

fn evaluate(predicted: &Side, gold: &Side, ids: &Ids, examples: usize) -> Answer {
    let (p, g) = (&predicted.judgments, &gold.judgments);
    let documents = ids.numbers.len() as u64;
    let mut answer = Answer {
        predicted: SideReport::new(&predicted.name, p, documents - g.documents()),
        gold: SideReport::new(&gold.name, g, documents - p.documents()),
        documents,
        ..Answer::default()
    };
    match (p.kind(), g.kind()) {
        (Kind::Pairs, _) | (_, Kind::Pairs) => {
            answer.pairs = joined(p, g).into();
        }
        _ => {
            let labels = |side: &Judgments| side.labels(ids.numbers.len());
            let (of_predicted, of_gold) = (labels(p), labels(g));
            let table = Contingency::new(of_predicted.iter().copied().zip(of_gold.iter().copied()));
            answer.pairs = table.pairs().into();
            answer.bcubed = Some(table.bcubed().into());
            answer.adjusted_rand_index = Some(crate::output::jsonl::rounded(table.adjusted_rand_index()));
            let tell = |mixed: Vec<Mixed>, own, other| told(mixed, own, other, ids);
            let (p, g) = ((p, &of_predicted[..]), (g, &of_gold[..]));
            answer.false_merges = tell(table.worst_merges(examples), p, g);
            answer.splits = tell(table.worst_splits(examples), g, p);
        }
    }
    answer
}

/// Pairs as they are given against pairs or clusters.
fn joined(predicted: &Judgments, gold: &Judgments) -> PairCounts {
    let both = match (predicted.pairs(), gold.pairs()) {
        (Some(predicted), Some(gold)) => predicted.iter().filter(|pair| gold.contains(pair)).count(),
        (Some(pairs), None) => pairs.iter().filter(|pair| gold.joins(**pair)).count(),
        (None, Some(pairs)) => pairs.iter().filter(|pair| predicted.joins(**pair)).count(),
        (None, None) => 0,
    } as u64;
    PairCounts { both, only_predicted: predicted.count_pairs() - both, only_gold: gold.count_pairs() - both }
}

/// The mistakes with the names of clusters, and a document of each of the largest parts.
fn told(
    mixed: Vec<Mixed>,
    own: (&Judgments, &[u32]),
    other: (&Judgments, &[u32]),
    ids: &Ids,
) -> Vec<Example> {
    let shown = |one: &Mixed| one.parts.iter().take(Example::PARTS).copied().collect::<Vec<_>>();
    let wanted: HashSet<(u32, u32)> =
        mixed.iter().flat_map(|one| shown(one).into_iter().map(|(part, _)| (one.cluster, part))).collect();
    let mut first: HashMap<(u32, u32), u32> = HashMap::new();
    for (number, cell) in (0..).zip(own.1.iter().copied().zip(other.1.iter().copied())) {
        if wanted.contains(&cell) {
            first.entry(cell).or_insert(number);
        }
    }
    let names = ids.of(&first.values().copied().collect());
    let part = |cluster: u32, (part, documents): (u32, u64)| Part {
        cluster: other.0.name(part),
        documents,
        example: first.get(&(cluster, part)).and_then(|number| names.get(number)).cloned(),
    };
    let example = |one: Mixed| Example {
        cluster: own.0.name(one.cluster),
        documents: one.documents,
        pairs: one.pairs,
        parts: one.parts.len() as u64,
        largest_parts: shown(&one).into_iter().map(|cell| part(one.cluster, cell)).collect(),
    };
    mixed.into_iter().map(example).collect()
}
