//! `sameish pairs`: every matching pair.

use crate::args::{EngineArgs, InputArgs, MatchArgs, MemoryArgs};
use crate::choice::{Choice, choice, one_of};
use crate::exit::{Exit, Failure};
use crate::output::jsonl::{push_line, rounded};
use crate::output::messages::{counted, limits_reached};
use crate::output::recall::RecallFields;
use crate::output::verdict::VerdictFields;
use crate::run_args::RunArgs;
use crate::run_log::{CountsText as _, Log, finish};
use sameish::matching::Relation;
use sameish::{Analyzer, Verdict};
use sameish_batch::output::CompressedOutput;
use sameish_batch::{
    Counts, Files, Ids, IndexedCorpus, ListedTemplates, Pair, PairCounts, Source, Task, index, sign,
};
use serde::Serialize;
use std::ops::ControlFlow;

/// List every matching pair
///
/// Writes one line of JSON for each pair of documents that match: their ids, their similarity, the match type (`exact`, `near`
/// or `similar`), and whether the match was verified on the texts.
#[derive(Debug, clap::Args)]
#[command(after_help = AFTER_HELP)]
pub(crate) struct Args {
    #[command(flatten)]
    input: InputArgs,
    #[command(flatten)]
    engine: EngineArgs,
    #[command(flatten)]
    matching: MatchArgs,
    /// Whether to list templates: pairs with the same wording and different names or numbers [default: include]
    #[arg(long, help_heading = "Matching", value_parser = one_of(&TEMPLATES))]
    templates: Option<ListedTemplates>,
    #[command(flatten)]
    memory: MemoryArgs,
    #[command(flatten)]
    run: RunArgs,
}

const TEMPLATES: [Choice<ListedTemplates>; 3] = [
    choice("include", "All matching pairs", ListedTemplates::Include),
    choice("exclude", "Pairs that are not templates", ListedTemplates::Exclude),
    choice("only", "Pairs that are templates", ListedTemplates::Only),
];

const AFTER_HELP: &str = "\
Examples:
  sameish pairs articles.jsonl
  sameish pairs --threshold 0.6 --recall 0.999 'crawl/*.jsonl' -o pairs.jsonl
  sameish pairs --preset wire --radius 5 news.csv
  sameish pairs --templates only notices.jsonl

Pairs are sorted by the later document, then by the earlier one. The output does
not depend on the number of threads. The presets `wire` and `web` compare
fingerprints only and report \"verified\": false. All other presets compare the
shingles of the texts, so that no listed pair is below the threshold, unless
`--unverified` is given.

Memory grows by about 300 bytes per document, or 450 with `articles`, `wire` and
`web`, and by up to 2 kB more for each in a large group of similar ones. Texts
are not kept in memory: they are read a second time from their files. Inputs
that cannot be read twice are copied to `--temp-dir`.

Exit codes: 0 success, 2 usage error, 3 some records rejected, 4 unreadable
input, 5 limit reached, 6 output failed, 1 internal error.";

pub(crate) fn run(args: Args) -> anyhow::Result<Exit> {
    let Args { input, engine, matching, templates, memory, run } = args;
    let config = matching.config(&engine, |_| {})?;
    matching.check_pairs(&config)?;
    let options = memory.options(config, run.threads.count(), matching.on_dup_id)?;
    run.check_lines("pairs")?;
    let inputs = input.find()?;
    let mut log = run.log(&inputs)?;
    let mut output = run.create_lines(&inputs)?;
    let read = input.reading(&inputs, run.quiet);
    run.check_inputs(&inputs, &read)?;
    let source = Source::Files(Files { inputs: &inputs, against: &[], read: &read });
    let signed = sign(Task::Pairs, &source, &options, None, &mut log)?;
    let corpus = index(signed, &source, &options)?;
    let Some(written) = write_pairs(&corpus, templates.unwrap_or_default(), &mut output, &mut log)? else {
        log.monitor.clear();
        return Ok(Exit::Clean);
    };
    if !run.publish(output, &mut log)? {
        return Ok(Exit::Clean);
    }
    let (counts, exit) = finish(log)?;
    let summary = Summary::new(counts, written, &options.analyzer);
    run.summarize(&summary, || summary.in_words())?;
    Ok(exit)
}

/// Number of bytes that are written at once.
const PIECE: usize = 1 << 16;

/// Number of pairs written, and the cost of finding them.
struct Written {
    pairs: u64,
    counts: PairCounts,
}

/// Writes all pairs. Returns `None` if the reader of a pipe has closed it.
fn write_pairs(
    corpus: &IndexedCorpus<'_>,
    templates: ListedTemplates,
    output: &mut CompressedOutput,
    log: &mut Log,
) -> Result<Option<Written>, Failure> {
    let bytes = Vec::with_capacity(2 * PIECE);
    let mut lines =
        Lines { ids: &corpus.signed.ids, output, bytes, pairs: 0, ends: vec![None; 1 << CACHED_BITS] };
    let mut open = true;
    let sink = |pair: Pair| {
        open = !templates.lists(&pair.verdict) || lines.push(pair)?;
        Ok(if open { ControlFlow::Continue(()) } else { ControlFlow::Break(()) })
    };
    let counts = corpus.pairs(sink, log)?;
    let written = open && lines.flush()?;
    Ok(written.then_some(Written { pairs: lines.pairs, counts }))
}

/// How the two documents of a pair match, and how they relate.
type Judged = (Verdict, Option<Relation>);

/// Buffer of output lines.
struct Lines<'a> {
    ids: &'a Ids,
    output: &'a mut CompressedOutput,
    bytes: Vec<u8>,
    pairs: u64,
    /// Verdicts and relations, and their ends of lines. In a crowd of similar texts, few values occur often.
    ends: Vec<Option<(Judged, Vec<u8>)>>,
}

/// Number of bits of the position of a verdict among the cached ones.
const CACHED_BITS: u32 = 11;

impl Lines<'_> {
    /// Adds a pair. Returns `false` if the reader of a pipe has closed it.
    fn push(&mut self, Pair { a, b, verdict, relation }: Pair) -> sameish_batch::Result<bool> {
        for part in ["{\"a\":", self.ids.get(a), ",\"b\":", self.ids.get(b), ","] {
            self.bytes.extend_from_slice(part.as_bytes());
        }
        let judged = (verdict, relation);
        let cached = &mut self.ends[place(&verdict)];
        if cached.as_ref().is_none_or(|(known, _)| *known != judged) {
            *cached = Some((judged, end_of_line(verdict, relation)));
        }
        if let Some((_, end)) = cached {
            self.bytes.extend_from_slice(end);
        }
        self.pairs += 1;
        if self.bytes.len() < PIECE { Ok(true) } else { self.flush() }
    }

    fn flush(&mut self) -> sameish_batch::Result<bool> {
        let written = self.output.write(&self.bytes);
        self.bytes.clear();
        written
    }
}

/// Returns the position of a verdict among the cached ones.
fn place(verdict: &Verdict) -> usize {
    let bits =
        verdict.similarity.to_bits() ^ verdict.facts.map_or(0, |facts| facts.to_bits().rotate_left(23));
    (bits.wrapping_mul(0x9E37_79B9_7F4A_7C15) >> (u64::BITS - CACHED_BITS)) as usize
}

/// The fields of a line that follow the ids.
#[derive(Serialize)]
struct EndOfLine {
    similarity: f64,
    #[serde(flatten)]
    verdict: VerdictFields,
}

/// Returns the end of a line, which follows the ids.
fn end_of_line(verdict: Verdict, relation: Option<Relation>) -> Vec<u8> {
    let mut line = Vec::new();
    let similarity = rounded(verdict.similarity);
    push_line(
        &mut line,
        &EndOfLine { similarity, verdict: VerdictFields::from(verdict).with_relation(relation) },
    );
    line.split_off(1)
}

/// Summary of a run.
#[derive(Serialize)]
struct Summary {
    #[serde(flatten)]
    counts: Counts,
    pairs: u64,
    candidates: u64,
    caps_hit: u64,
    /// Number of candidates that were not compared because of limits.
    omitted: u64,
    #[serde(flatten)]
    recall: Option<RecallFields>,
}

impl Summary {
    fn new(counts: Counts, Written { pairs, counts: found }: Written, analyzer: &Analyzer) -> Summary {
        let PairCounts { candidates, caps_hit, left, .. } = found;
        let recall = found.recall(analyzer).filter(|_| counts.documents > 0);
        Summary { counts, pairs, candidates, caps_hit, omitted: left, recall: recall.map(RecallFields::from) }
    }

    fn in_words(&self) -> String {
        let mut words = format!("{}: {}", self.counts.in_words(), counted(self.pairs, "pair"));
        if let Some(recall) = &self.recall {
            words += &format!(", {}", recall.in_words());
        }
        if self.caps_hit > 0 {
            words += &format!(", {}", limits_reached(self.caps_hit, "pairs"));
        }
        format!("{words}; {}", self.counts.effort())
    }
}
