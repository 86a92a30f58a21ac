//! `sameish fingerprint`: a sketch of each document, in the order of the input.

use crate::args::{EngineArgs, InputArgs};
use crate::exit::Exit;
use crate::input::Batches;
use crate::input::batch::{Batch, Rules};
use crate::input::reject::{Broken, Reject};
use crate::intake::{Counts, Intake, RunArgs};
use crate::output::file::Output;
use crate::output::jsonl::push_sketches;
use crate::pipeline::{in_order, with_scratch};
use sameish::{Engine, Scratch, Status};
use std::ops::ControlFlow;

/// Make a sketch of each document
///
/// Reads JSONL, CSV, TSV and plain text, each also packed as .gz or .zst, and Parquet. Writes a line of JSON for each document,
/// in the order of the input: its id, its status (`ok` or `too_short`), and the sketches that the preset makes.
#[derive(Debug, clap::Args)]
#[command(after_help = AFTER_HELP)]
pub(crate) struct Args {
    #[command(flatten)]
    input: InputArgs,
    #[command(flatten)]
    engine: EngineArgs,
    #[command(flatten)]
    run: RunArgs,
}

const AFTER_HELP: &str = "\
Examples:
  sameish fingerprint articles.jsonl
  sameish fingerprint 'crawl/*.jsonl.zst' -o sketches.jsonl --rejects bad.jsonl
  sameish fingerprint --preset wire --text-field body news.csv
  sameish fingerprint --whole-files letters/
  zcat dump.gz | sameish fingerprint - --format tsv

A record is an object with `id` and `text`. A list of strings under `tokens` may
stand in for the text, and the title where there is neither. Without an id the
record's number is used, from 0 over all inputs. Ids keep their type: 7 and
\"7\" are two.

Exit codes: 0 clean, 2 wrong usage, 3 some records rejected, 4 an input
unreadable, 5 a limit hit, 6 output failed, 1 our fault. After 3, 4 and 5 all
that could be read was used.";

pub(crate) fn run(args: Args) -> anyhow::Result<Exit> {
    let Args { input, engine, run } = args;
    let engine = engine.engine()?;
    let sources = input.find()?;
    let mut reading = input.reading(run.quiet);
    reading.rules.lossy |= engine.config().text.lossy;
    let intake = run.intake(&sources)?;
    let mut end = End { sketches: run.create_output(&sources)?, intake, closed: false };
    let (rules, threads) = (reading.rules, run.threads.count());
    let line_bytes = longest_line(&engine);
    let work = move |batch: Batch| with_scratch(|scratch| sketch(&batch, &engine, rules, scratch));
    in_order(Batches::new(sources, reading), threads, line_bytes, work, |turn| end.take(turn))?;
    end.finish(&run)
}

/// About how many bytes a line of the answer has.
fn longest_line(engine: &Engine) -> usize {
    let config = engine.config();
    let minhash = config.minhash.as_ref().map_or(0, |minhash| minhash.rows as usize * 8);
    let sdr = config.sdr.as_ref().and_then(|sdr| sdr.bits().ok()).map_or(0, |bits| bits as usize * 9);
    128 + minhash + sdr
}

/// What became of one batch.
struct Sketched {
    lines: Vec<u8>,
    /// With how much of `lines` comes before each.
    rejects: Vec<(usize, Reject)>,
    counts: Counts,
}

fn sketch(batch: &Batch, engine: &Engine, rules: Rules, scratch: &mut Scratch) -> Sketched {
    let mut done = Sketched { lines: Vec::new(), rejects: Vec::new(), counts: Counts::default() };
    done.counts.bytes = batch.bytes.len() as u64;
    for record in batch.records(rules) {
        match record {
            Err(reject) => done.rejects.push((done.lines.len(), reject)),
            Ok(taken) => {
                let sketches = engine.sketch(&taken.document.content, scratch);
                done.counts.documents += 1;
                done.counts.too_short += u64::from(sketches.status == Status::TooShort);
                done.counts.replaced += u64::from(taken.replaced);
                push_sketches(&mut done.lines, &taken.document.id, &sketches);
            }
        }
    }
    done
}

/// Where results come in order.
struct End {
    sketches: Output,
    intake: Intake,
    /// Whether the reader of our pipe has gone. It has what it wanted, so that is success and nothing is said.
    closed: bool,
}

impl End {
    fn take(&mut self, turn: Result<Sketched, Broken>) -> anyhow::Result<ControlFlow<()>> {
        let done = match turn {
            Ok(done) => done,
            Err(broken) => {
                self.intake.broken(&broken);
                return Ok(ControlFlow::Continue(()));
            }
        };
        let stop = done.rejects.first().filter(|_| self.intake.stops_at_rejects());
        let upto = stop.map_or(done.lines.len(), |(before, _)| *before);
        if !self.sketches.write(&done.lines[..upto])? {
            self.closed = true;
            return Ok(ControlFlow::Break(()));
        }
        for (_, reject) in &done.rejects {
            self.intake.reject(reject)?;
        }
        self.intake.count(&done.counts);
        Ok(ControlFlow::Continue(()))
    }

    fn finish(self, args: &RunArgs) -> anyhow::Result<Exit> {
        if self.closed {
            self.intake.messages.clear();
            return Ok(Exit::Clean);
        }
        self.sketches.finish()?;
        let (counts, exit) = self.intake.finish()?;
        args.summarize(&counts, || format!("{}; {}", counts.in_words(), counts.effort()))?;
        Ok(exit)
    }
}
