//! `sameish eval`: how well found clusters or pairs agree with the truth.

use crate::args::{Size, ThreadArgs};
use crate::exit::{Exit, Failure};
use crate::input::find::Source;
use crate::input::judgments::{Judgments, Kind, read_judgments};
use crate::output::agreement::{Answer, Example, Part, Report, SideReport};
use crate::output::file::Output;
use crate::output::jsonl::push_line;
use sameish::{Contingency, DocId, Mixed, PairCounts};
use std::collections::{HashMap, HashSet};
use std::ffi::OsString;
use std::path::PathBuf;

/// Say how well found clusters or pairs agree with the truth
///
/// PRED is what was found, GOLD is what is right. Each is a file of clusters as `sameish cluster` writes them, of labelled
/// records (an id and the cluster it belongs to), or of pairs as `sameish pairs` writes them. Gives precision, recall and F1
/// over pairs of documents; for clusters also B-cubed and the adjusted Rand index; and the worst mistakes.
#[derive(Debug, clap::Args)]
#[command(after_help = AFTER_HELP)]
pub(crate) struct Args {
    /// What was found: a JSONL file (plain, .gz or .zst), or `-` for standard input
    #[arg(value_name = "PRED")]
    predicted: OsString,
    /// What is right: another such file
    gold: OsString,
    /// Field of labelled records that names the cluster; null stands for none
    #[arg(long, value_name = "NAME", default_value = "cluster")]
    cluster_field: String,
    /// Field of labelled records that holds the id
    #[arg(long, value_name = "NAME", default_value = "id")]
    id_field: String,
    /// Mistakes of each kind to show
    #[arg(long, value_name = "N", default_value_t = 5)]
    examples: u16,
    /// Answer for machines: one object
    #[arg(long)]
    json: bool,
    /// Taken as everywhere; there is nothing but the answer to say
    #[arg(short, long, hide_short_help = true)]
    quiet: bool,
    #[command(flatten)]
    threads: ThreadArgs,
    /// Longest line; a cluster is one line
    #[arg(long, value_name = "SIZE", default_value = "1G")]
    max_line: Size,
    /// Most bytes that one compressed input may unpack to [default: 200 times its size, above 64M]
    #[arg(long, value_name = "SIZE")]
    max_expanded: Option<Size>,
}

const AFTER_HELP: &str = "\
Examples:
  sameish eval found.jsonl truth.jsonl
  sameish eval --json found.jsonl truth.jsonl.gz
  sameish eval --cluster-field story found.jsonl articles.jsonl

Lines of the three kinds of files; other fields do not matter:
  {\"id\": 0, \"members\": [\"a\", \"b\", 7]}
  {\"id\": \"a\", \"cluster\": \"bridge\"}
  {\"a\": \"a\", \"b\": 7}

Ids keep their type: 7 and \"7\" are two documents. A document that is in one
file alone stands alone in the other. Pairs are taken as they are given: a-b and
b-c do not make a-c, so with a file of pairs only pairs are measured.

Exit codes: 0 whatever the answer, 2 wrong usage, 4 a file unreadable, a line
that is none of the above, or an id twice in one file, 5 a limit hit.";

pub(crate) fn run(args: Args) -> anyhow::Result<Exit> {
    // One pass over two files keeps one thread busy; the flags are there because they are everywhere.
    let Args { quiet: _, threads: _, .. } = &args;
    if args.predicted == "-" && args.gold == "-" {
        return Err(Failure::usage("`-` is given twice: standard input can be read once").into());
    }
    let mut ids = Ids::default();
    let predicted = read(&args.predicted, &args, &mut ids)?;
    let gold = read(&args.gold, &args, &mut ids)?;
    let answer = evaluate(&predicted, &gold, &ids, usize::from(args.examples));
    let mut bytes = Vec::new();
    match args.json {
        true => push_line(&mut bytes, &answer),
        false => bytes.extend(Report { answer: &answer }.to_string().bytes()),
    }
    Output::Stdout.write(&bytes)?;
    Ok(Exit::Clean)
}

/// One of the two files.
struct Side {
    name: String,
    judgments: Judgments,
}

fn read(file: &OsString, args: &Args, ids: &mut Ids) -> Result<Side, Failure> {
    let source = if file == "-" { Source::stdin() } else { Source::file(PathBuf::from(file)) };
    let (max_line, max_expanded) = (args.max_line.bytes(), args.max_expanded.map(Size::whole));
    let number = |id: DocId| ids.number(id);
    match read_judgments(&source, &args.id_field, &args.cluster_field, max_line, max_expanded, number) {
        Ok(judgments) => Ok(Side { name: source.name.to_string(), judgments }),
        Err(broken) => Err(Failure::new(broken.exit, broken.to_string())),
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
            answer.adjusted_rand_index = Some(crate::output::agreement::rounded(table.adjusted_rand_index()));
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
