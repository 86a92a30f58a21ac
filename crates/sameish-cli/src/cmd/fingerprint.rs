//! `sameish fingerprint`: a sketch of each document, in the order of the input.

use crate::args::{EngineArgs, InputArgs, ThreadArgs};
use crate::exit::{Exit, Failure};
use crate::input::Batches;
use crate::input::batch::{Batch, Rules};
use crate::input::reject::{Broken, Reject};
use crate::output::file::{Output, same_place};
use crate::output::jsonl::{push_line, push_sketches};
use crate::output::messages::{Messages, counted, say};
use crate::pipeline::in_order;
use sameish::{Engine, Scratch, Status};
use serde::Serialize;
use std::ops::ControlFlow;
use std::path::PathBuf;
use std::sync::{Mutex, PoisonError};

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
    output: OutputArgs,
}

#[derive(Debug, clap::Args)]
#[command(next_help_heading = "Output")]
struct OutputArgs {
    /// Write to this file, which appears when it is whole, instead of standard output
    #[arg(short, long, value_name = "OUT")]
    output: Option<PathBuf>,
    /// Replace the output if it exists
    #[arg(long)]
    force: bool,
    /// What to do with a record that can not be used
    #[arg(long, value_enum, default_value_t = OnBad::Reject)]
    on_bad: OnBad,
    /// Write each rejected record to this file: where it was, why, and how it begins
    #[arg(long, value_name = "FILE")]
    rejects: Option<PathBuf>,
    #[command(flatten)]
    threads: ThreadArgs,
    /// End with a summary for machines on standard error
    #[arg(long)]
    json: bool,
    /// Say nothing but errors
    #[arg(short, long)]
    quiet: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
enum OnBad {
    /// Leave it out and end with code 0
    Skip,
    /// Leave it out and end with code 3
    Reject,
    /// Stop at the first with code 3
    Fail,
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
    let Args { input, engine, output } = args;
    let engine = engine.engine()?;
    let sources = input.find()?;
    let mut reading = input.reading(output.quiet);
    reading.rules.lossy |= engine.config().text.lossy;
    if let (Some(one), Some(other)) = (&output.output, &output.rejects)
        && same_place(one, other)
    {
        return Err(Failure::usage("`--output` and `--rejects` name one file; name two").into());
    }
    let mut run = Run {
        sketches: Output::create(output.output.as_deref(), output.force, &sources)?,
        rejects: match &output.rejects {
            Some(path) => Some(Output::create(Some(path), output.force, &sources)?),
            None => None,
        },
        on_bad: output.on_bad,
        messages: Messages::new(output.quiet, output.output.is_none()),
        summary: Summary::default(),
        exit: Exit::Clean,
        closed: false,
    };
    let (rules, threads) = (reading.rules, output.threads.count());
    let line_bytes = longest_line(&engine);
    let scratches: Vec<Mutex<Scratch>> = (0..threads).map(|_| Mutex::default()).collect();
    let work = move |batch: Batch| {
        let thread = rayon::current_thread_index().unwrap_or(0);
        let mut scratch = scratches[thread].lock().unwrap_or_else(PoisonError::into_inner);
        sketch(&batch, &engine, rules, &mut scratch)
    };
    in_order(Batches::new(sources, reading), threads, line_bytes, work, |turn| run.take(turn))?;
    run.finish(&output)
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
    counts: Summary,
}

fn sketch(batch: &Batch, engine: &Engine, rules: Rules, scratch: &mut Scratch) -> Sketched {
    let mut done = Sketched { lines: Vec::new(), rejects: Vec::new(), counts: Summary::default() };
    done.counts.bytes = batch.bytes.len() as u64;
    for record in batch.records(rules) {
        match record {
            Err(reject) => {
                done.counts.rejected += 1;
                done.rejects.push((done.lines.len(), reject));
            }
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

/// The end of the line, where results come in order.
struct Run {
    sketches: Output,
    rejects: Option<Output>,
    on_bad: OnBad,
    messages: Messages,
    summary: Summary,
    exit: Exit,
    /// Whether the reader of our pipe has gone. It has what it wanted, so that is success and nothing is said.
    closed: bool,
}

impl Run {
    fn take(&mut self, turn: Result<Sketched, Broken>) -> anyhow::Result<ControlFlow<()>> {
        match turn {
            Ok(done) => self.take_sketched(done),
            Err(broken) => {
                self.messages.broken(&broken);
                self.summary.failed_inputs += 1;
                self.exit = self.exit.or_worse(broken.exit);
                Ok(ControlFlow::Continue(()))
            }
        }
    }

    fn take_sketched(&mut self, done: Sketched) -> anyhow::Result<ControlFlow<()>> {
        if self.on_bad == OnBad::Fail
            && let Some((before, reject)) = done.rejects.first()
        {
            self.sketches.write(&done.lines[..*before])?;
            return Err(self.stop_at(reject)?.into());
        }
        if !self.sketches.write(&done.lines)? {
            self.closed = true;
            return Ok(ControlFlow::Break(()));
        }
        for (_, reject) in &done.rejects {
            self.reject(reject)?;
        }
        self.summary.add(&done.counts);
        self.messages.progress(self.summary.documents, self.summary.bytes);
        Ok(ControlFlow::Continue(()))
    }

    fn reject(&mut self, reject: &Reject) -> Result<(), Failure> {
        if self.on_bad != OnBad::Skip {
            self.exit = self.exit.or_worse(Exit::Rejected);
            self.messages.reject(reject);
        }
        let Some(rejects) = &mut self.rejects else { return Ok(()) };
        let mut line = Vec::new();
        push_line(&mut line, reject);
        rejects.write(&line).map(drop)
    }

    /// The list of rejects is kept: it says why there is no output.
    fn stop_at(&mut self, reject: &Reject) -> Result<Failure, Failure> {
        self.messages.clear();
        self.reject(reject)?;
        self.rejects.take().map_or(Ok(()), Output::finish)?;
        Ok(Failure::new(self.exit, format!("stopped at the first bad record: {reject}")))
    }

    fn finish(mut self, args: &OutputArgs) -> anyhow::Result<Exit> {
        self.messages.clear();
        if self.closed {
            return Ok(Exit::Clean);
        }
        self.sketches.finish()?;
        self.rejects.map_or(Ok(()), Output::finish)?;
        self.summary.seconds = (self.messages.seconds() * 1000.0).round() / 1000.0;
        if args.json {
            say(format_args!("{}", serde_json::to_string(&self.summary)?));
        } else if !args.quiet {
            say(format_args!("{}", self.summary.in_words()));
        }
        Ok(self.exit)
    }
}

/// What a run comes to.
#[derive(Debug, Default, Serialize)]
struct Summary {
    documents: u64,
    too_short: u64,
    rejected: u64,
    /// Documents in which bytes that are not UTF-8 were replaced.
    replaced: u64,
    failed_inputs: u64,
    /// Bytes of the records, after decompression.
    bytes: u64,
    seconds: f64,
}

impl Summary {
    fn add(&mut self, other: &Summary) {
        self.documents += other.documents;
        self.too_short += other.too_short;
        self.rejected += other.rejected;
        self.replaced += other.replaced;
        self.bytes += other.bytes;
    }

    fn in_words(&self) -> String {
        let mut words = counted(self.documents, "document");
        let mut add = |count: u64, what: &str| {
            if count > 0 {
                words += &format!(", {} {what}", crate::output::messages::grouped(count));
            }
        };
        add(self.too_short, "too short");
        add(self.replaced, "with bytes replaced");
        add(self.rejected, "rejected");
        if self.failed_inputs > 0 {
            words += &format!(", {} not read, or not to the end", counted(self.failed_inputs, "input"));
        }
        format!("{words}; {:.1} MB in {:.2} s", self.bytes as f64 / 1e6, self.seconds)
    }
}
