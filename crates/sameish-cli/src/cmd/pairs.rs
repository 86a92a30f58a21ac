//! `sameish pairs`: every matching pair.

use crate::args::{EngineArgs, InputArgs, MatchArgs, MemoryArgs};
use crate::choice::{Choice, choice, one_of};
use crate::exit::{Exit, Failure};
use crate::output::jsonl::{push_line, rounded};
use crate::output::messages::{counted, limits_reached};
use crate::run_args::RunArgs;
use crate::run_log::{CountsText as _, Log, finish};
use sameish::Verdict;
use sameish::engine::Effort;
use sameish_batch::output::CompressedOutput;
use sameish_batch::{Counts, Files, Ids, IndexedCorpus, ListedTemplates, Pair, Source, Task, index, sign};
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
fingerprints only and report \"verified\": false; the others compare the shingles
of the texts, so that no listed pair is below the threshold, unless
`--unverified` is given. `--recall` sets the fraction of the pairs at the
threshold that must be found.

Memory grows by about 300 bytes per document, regardless of its length: texts
are read a second time from their files. Inputs that cannot be read twice are
copied to `--temp-dir`.

Exit codes: 0 success, 2 usage error, 3 some records rejected, 4 unreadable
input, 5 limit reached, 6 output failed, 1 internal error.";

pub(crate) fn run(args: Args) -> anyhow::Result<Exit> {
    let Args { input, engine, matching, templates, memory, run } = args;
    let config = matching.config(&engine, |_| {})?;
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
    let summary = Summary::new(counts, written, options.analyzer.expected_recall());
    run.summarize(&summary, || summary.in_words())?;
    Ok(exit)
}

/// Number of bytes that are written at once.
const PIECE: usize = 1 << 16;

/// Number of pairs written, and the cost of finding them.
struct Written {
    pairs: u64,
    effort: Effort,
}

/// Writes all pairs. Returns `None` if the reader of a pipe has closed it.
fn write_pairs(
    corpus: &IndexedCorpus<'_>,
    templates: ListedTemplates,
    output: &mut CompressedOutput,
    log: &mut Log,
) -> Result<Option<Written>, Failure> {
    let mut lines =
        Lines { ids: &corpus.signed.ids, output, bytes: Vec::with_capacity(2 * PIECE), pairs: 0, last: None };
    let mut open = true;
    let sink = |pair: Pair| {
        open = !templates.lists(&pair.verdict) || lines.push(pair)?;
        Ok(if open { ControlFlow::Continue(()) } else { ControlFlow::Break(()) })
    };
    let effort = corpus.pairs(sink, log)?;
    let written = open && lines.flush()?;
    Ok(written.then_some(Written { pairs: lines.pairs, effort }))
}

/// Buffer of output lines.
struct Lines<'a> {
    ids: &'a Ids,
    output: &'a mut CompressedOutput,
    bytes: Vec<u8>,
    pairs: u64,
    /// The last verdict and its end of a line, which is the same for all copies of two texts.
    last: Option<(Verdict, Vec<u8>)>,
}

impl Lines<'_> {
    /// Adds a pair. Returns `false` if the reader of a pipe has closed it.
    fn push(&mut self, Pair { a, b, verdict }: Pair) -> sameish_batch::Result<bool> {
        for part in ["{\"a\":", self.ids.get(a), ",\"b\":", self.ids.get(b), ","] {
            self.bytes.extend_from_slice(part.as_bytes());
        }
        let end = match self.last.take().filter(|(last, _)| *last == verdict) {
            Some((_, end)) => end,
            None => end_of_line(verdict),
        };
        self.bytes.extend_from_slice(&end);
        self.last = Some((verdict, end));
        self.pairs += 1;
        if self.bytes.len() < PIECE { Ok(true) } else { self.flush() }
    }

    fn flush(&mut self) -> sameish_batch::Result<bool> {
        let written = self.output.write(&self.bytes);
        self.bytes.clear();
        written
    }
}

/// Returns the fields of a verdict, which follow those of the ids.
fn end_of_line(verdict: Verdict) -> Vec<u8> {
    let mut line = Vec::new();
    push_line(&mut line, &VerdictFields::from(verdict));
    line.split_off(1)
}

/// Fields of a verdict in a line.
#[derive(Serialize)]
struct VerdictFields {
    similarity: f64,
    match_type: &'static str,
    verified: bool,
    /// `null` without a SimHash.
    simhash_distance: Option<u32>,
    #[serde(flatten)]
    facts: Option<FactFields>,
}

/// Fields of a verified verdict.
#[derive(Serialize)]
struct FactFields {
    /// `null` for short texts and for shingles of characters.
    facts: Option<f64>,
    template: bool,
}

impl From<Verdict> for VerdictFields {
    fn from(verdict: Verdict) -> VerdictFields {
        let Verdict { similarity, kind, verified, distance, facts, template } = verdict;
        VerdictFields {
            similarity,
            match_type: kind.name(),
            verified,
            simhash_distance: distance,
            facts: verified.then(|| FactFields { facts: facts.map(rounded), template }),
        }
    }
}

/// Summary of a run.
#[derive(Serialize)]
struct Summary {
    #[serde(flatten)]
    counts: Counts,
    pairs: u64,
    candidates: u64,
    caps_hit: u64,
    #[serde(skip_serializing_if = "Option::is_none")]
    expected_recall: Option<f64>,
}

impl Summary {
    fn new(counts: Counts, Written { pairs, effort }: Written, expected_recall: Option<f64>) -> Summary {
        let Effort { candidates, capped: caps_hit, .. } = effort;
        let expected_recall = expected_recall.filter(|_| counts.documents > 0);
        Summary { counts, pairs, candidates, caps_hit, expected_recall }
    }

    fn in_words(&self) -> String {
        let mut words = format!("{}: {}", self.counts.in_words(), counted(self.pairs, "pair"));
        if let Some(recall) = self.expected_recall {
            words += &format!(", expected recall at the threshold {:.1} %", 100.0 * recall);
        }
        if self.caps_hit > 0 {
            words += &format!(", {}", limits_reached(self.caps_hit, "pairs"));
        }
        format!("{words}; {}", self.counts.effort())
    }
}
