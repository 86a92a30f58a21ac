//! `sameish pairs`: every matching pair.

use crate::args::{EngineArgs, InputArgs, MatchArgs};
use crate::exit::Exit;
use crate::intake::{Counts, RunArgs};
use crate::load::load;
use crate::output::file::Output;
use crate::output::jsonl::push_line;
use crate::output::messages::{counted, grouped};
use sameish::{DocId, Effort, Engine, MatchedPair};
use serde::Serialize;
use std::ops::ControlFlow;

/// List every matching pair
///
/// Writes a line of JSON for each pair of documents that match: their ids, how similar they are, what they are to each
/// other (`exact`, `near` or `similar`), and whether that was verified on the texts themselves.
#[derive(Debug, clap::Args)]
#[command(after_help = AFTER_HELP)]
pub(crate) struct Args {
    #[command(flatten)]
    input: InputArgs,
    #[command(flatten)]
    engine: EngineArgs,
    #[command(flatten)]
    matching: MatchArgs,
    #[command(flatten)]
    run: RunArgs,
}

const AFTER_HELP: &str = "\
Examples:
  sameish pairs articles.jsonl
  sameish pairs --threshold 0.6 --recall 0.999 'crawl/*.jsonl' -o pairs.jsonl
  sameish pairs --preset wire --radius 5 news.csv

Pairs come in the order of the later document, then of the earlier: always the
same, for any number of threads. The presets `wire` and `web` judge by
fingerprints alone and say \"verified\": false; the others compare the texts'
own shingles, so that a pair below the threshold is never listed. How many of
the pairs at the threshold are found is `--recall`.

Exit codes: 0 clean, 2 wrong usage, 3 some records rejected, 4 an input
unreadable, 5 a limit hit, 6 output failed, 1 our fault.";

pub(crate) fn run(args: Args) -> anyhow::Result<Exit> {
    let Args { input, engine, matching, run } = args;
    let mut engine = matching.engine(&engine, |_| {})?;
    let sources = input.find()?;
    let mut intake = run.intake(&sources)?;
    let mut output = run.create_output(&sources)?;
    let (reading, threads) = (input.reading(run.quiet), run.threads.count());
    load(&mut engine, sources, reading, threads, matching.on_dup_id, &mut intake)?;
    let (pairs, effort) = match write_pairs(&engine, &mut output)? {
        Written::All { pairs, effort } => (pairs, effort),
        Written::Closed => {
            intake.messages.clear();
            return Ok(Exit::Clean);
        }
    };
    output.finish()?;
    let (counts, exit) = intake.finish()?;
    let summary = Summary::new(counts, pairs, effort, &engine);
    run.summarize(&summary, || summary.in_words())?;
    Ok(exit)
}

/// A line of the output.
#[derive(Serialize)]
struct Line<'a> {
    a: &'a DocId,
    b: &'a DocId,
    similarity: f64,
    match_type: &'static str,
    verified: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    facts: Option<f64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    template: Option<bool>,
}

impl<'a> From<MatchedPair<'a>> for Line<'a> {
    fn from(pair: MatchedPair<'a>) -> Line<'a> {
        let MatchedPair { a, b, similarity, kind, verified, facts, template, .. } = pair;
        // Six digits are more than the measure knows.
        let rounded = facts.map(|facts| (facts * 1e6).round() / 1e6);
        Line {
            a,
            b,
            similarity,
            match_type: kind.name(),
            verified,
            facts: rounded,
            template: facts.map(|_| template),
        }
    }
}

enum Written {
    All {
        pairs: u64,
        effort: Effort,
    },
    /// The reader of our pipe has what it wanted.
    Closed,
}

/// Bytes that are written at once.
const PIECE: usize = 1 << 16;

fn write_pairs(engine: &Engine, output: &mut Output) -> anyhow::Result<Written> {
    let (mut lines, mut pairs, mut written) = (Vec::with_capacity(2 * PIECE), 0, Ok(true));
    let effort = engine.pairs(|pair| {
        push_line(&mut lines, &Line::from(pair));
        pairs += 1;
        if lines.len() >= PIECE {
            written = output.write(&lines);
            lines.clear();
        }
        if matches!(written, Ok(true)) { ControlFlow::Continue(()) } else { ControlFlow::Break(()) }
    });
    if !written? || !output.write(&lines)? {
        return Ok(Written::Closed);
    }
    Ok(Written::All { pairs, effort })
}

/// What a run comes to.
#[derive(Serialize)]
struct Summary {
    #[serde(flatten)]
    counts: Counts,
    pairs: u64,
    /// Judged.
    candidates: u64,
    caps_hit: u64,
    /// At the threshold, as the bands promise.
    #[serde(skip_serializing_if = "Option::is_none")]
    expected_recall: Option<f64>,
}

impl Summary {
    fn new(counts: Counts, pairs: u64, effort: Effort, engine: &Engine) -> Summary {
        let Effort { candidates, capped: caps_hit, .. } = effort;
        Summary { counts, pairs, candidates, caps_hit, expected_recall: engine.expected_recall() }
    }

    fn in_words(&self) -> String {
        let mut words = format!("{}: {}", self.counts.in_words(), counted(self.pairs, "pair"));
        if let Some(recall) = self.expected_recall {
            words += &format!(", {:.1} % expected to be found at the threshold", 100.0 * recall);
        }
        if self.caps_hit > 0 {
            words += &format!(", {} limits hit so that some may be missing", grouped(self.caps_hit));
        }
        format!("{words}; {}", self.counts.effort())
    }
}
