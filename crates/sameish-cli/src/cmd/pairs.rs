//! `sameish pairs`: every matching pair.

use crate::args::{EngineArgs, InputArgs, MatchArgs, MemoryArgs};
use crate::batch::corpus::{Corpus, CorpusPlan};
use crate::batch::matches::{Asked, Matcher};
use crate::batch::sign::Counted;
use crate::exit::{Exit, Failure};
use crate::intake::{Counts, RunArgs};
use crate::output::file::Output;
use crate::output::jsonl::{push_line, rounded};
use crate::output::messages::{Messages, counted, grouped};
use crate::pipeline::pool;
use sameish::{Effort, Engine, Verdict};
use serde::Serialize;
use std::collections::HashMap;
use std::sync::Arc;

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
    memory: MemoryArgs,
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

Memory grows by some hundred bytes a document, whatever its length: texts are
read once more where they lie. What can not be read twice goes to `--temp-dir`.

Exit codes: 0 clean, 2 wrong usage, 3 some records rejected, 4 an input
unreadable, 5 a limit hit, 6 output failed, 1 our fault.";

pub(crate) fn run(args: Args) -> anyhow::Result<Exit> {
    let Args { input, engine, matching, memory, run } = args;
    let engine = Arc::new(matching.engine(&engine, |_| {})?);
    let sources = input.find()?;
    let mut intake = run.intake(&sources)?;
    let mut output = run.create_output(&sources)?;
    let plan = CorpusPlan {
        engine: engine.clone(),
        memory,
        threads: run.threads.count(),
        on_dup_id: matching.on_dup_id,
        facts: if engine.config().matching.verify { Counted::All } else { Counted::None },
        newest_first: false,
    };
    let corpus = plan.read(sources, input.reading(run.quiet), &mut intake)?;
    let messages = &mut intake.messages;
    let written = pool(run.threads.count())?.install(|| write_pairs(&corpus, &mut output, messages))?;
    let (pairs, effort) = match written {
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

/// Writes lines as they come.
struct Lines<'a> {
    corpus: &'a Corpus,
    output: &'a mut Output,
    bytes: Vec<u8>,
    pairs: u64,
}

impl Lines<'_> {
    /// Adds a pair, whose ids stand before what `rest` says of it. Gives `false` where nobody reads any more.
    fn push(&mut self, a: u32, b: u32, rest: &str) -> Result<bool, Failure> {
        let ids = &self.corpus.ids;
        for part in ["{\"a\":", ids.get(a.min(b)), ",\"b\":", ids.get(a.max(b)), rest] {
            self.bytes.extend_from_slice(part.as_bytes());
        }
        self.pairs += 1;
        if self.bytes.len() < PIECE { Ok(true) } else { self.write() }
    }

    fn write(&mut self) -> Result<bool, Failure> {
        let written = self.output.write(&self.bytes);
        self.bytes.clear();
        written
    }
}

/// What a line says of a pair, behind the ids.
#[derive(Serialize)]
struct Rest {
    similarity: f64,
    match_type: &'static str,
    verified: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    facts: Option<f64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    template: Option<bool>,
}

/// The end of a line. It is the same for all documents of two texts.
fn rest(verdict: &Verdict) -> String {
    let Verdict { similarity, kind, verified, facts, template, .. } = *verdict;
    let rest = Rest {
        similarity,
        match_type: kind.name(),
        verified,
        facts: facts.map(rounded),
        template: facts.map(|_| template),
    };
    let mut line = Vec::new();
    push_line(&mut line, &rest);
    let line = String::from_utf8(line).unwrap_or_else(|error| unreachable!("JSON is text: {error}"));
    line.replacen('{', ",", 1)
}

/// Equal documents are one text; their pairs are told one by one, and held nowhere.
fn write_pairs(corpus: &Corpus, output: &mut Output, messages: &mut Messages) -> Result<Written, Failure> {
    let mut matcher = Matcher::new(corpus, true)?;
    let equals = corpus.equals();
    let mut lines = Lines { corpus, output, bytes: Vec::with_capacity(2 * PIECE), pairs: 0 };
    let mut texts = corpus.texts();
    loop {
        let window = matcher.earlier(&mut texts)?;
        let Some(last) = window.last() else { break };
        messages.share("comparing", last.doc as usize, corpus.docs.len());
        for Asked { doc, found } in window {
            for found in found {
                let rest = rest(&found.verdict);
                for &b in docs_of(&equals, &doc) {
                    for &a in docs_of(&equals, &found.doc) {
                        if !lines.push(a, b, &rest)? {
                            return Ok(Written::Closed);
                        }
                    }
                }
            }
            let same = docs_of(&equals, &doc);
            let Some(verdict) = (same.len() > 1).then(|| matcher.same(doc)).transpose()?.flatten() else {
                continue;
            };
            let rest = rest(&verdict);
            for (i, &b) in same.iter().enumerate() {
                for &a in &same[..i] {
                    if !lines.push(a, b, &rest)? {
                        return Ok(Written::Closed);
                    }
                }
            }
        }
    }
    if !lines.write()? {
        return Ok(Written::Closed);
    }
    Ok(Written::All { pairs: lines.pairs, effort: matcher.effort })
}

/// The documents of a text, as they came.
fn docs_of<'a>(equals: &'a HashMap<u32, Vec<u32>>, text: &'a u32) -> &'a [u32] {
    equals.get(text).map_or(std::slice::from_ref(text), Vec::as_slice)
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
