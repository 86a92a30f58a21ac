//! `sameish fingerprint`: sketches of each document, in input order.

use crate::args::{EngineArgs, InputArgs};
use crate::exit::Exit;
use crate::line_output::{BatchLines, LineOutput};
use crate::output::jsonl::push_line;
use crate::run_args::RunArgs;
use crate::run_log::CountsText as _;
use sameish::sketch::SchemeId;
use sameish::{Analyzer, DocId, Scratch, Sketches, Status};
use sameish_batch::input::{RecordBatch, RecordBatches, RecordRules};
use sameish_batch::ordered_pool::{in_order, with_scratch};
use serde::Serialize;

/// Compute the sketches of each document
///
/// Reads JSONL, CSV, TSV and plain text, each plain, .gz or .zst, and Parquet. Writes one line of JSON for each document, in
/// input order: its id, its status (`ok` or `too_short`), and the sketches of the preset. With `--schemes`, `pairs`, `cluster`,
/// `dedup` and `index` accept such lines in place of texts.
#[derive(Debug, clap::Args)]
#[command(after_help = AFTER_HELP)]
pub(crate) struct Args {
    #[command(flatten)]
    input: InputArgs,
    #[command(flatten)]
    engine: EngineArgs,
    /// Add the scheme of each sketch, so that other commands accept the lines in place of texts
    #[arg(long, help_heading = "Output")]
    schemes: bool,
    #[command(flatten)]
    run: RunArgs,
}

const AFTER_HELP: &str = "\
Examples:
  sameish fingerprint articles.jsonl
  sameish fingerprint 'crawl/*.jsonl.zst' -o sketches.jsonl --rejects bad.jsonl
  sameish fingerprint --preset wire --text-field body news.csv
  sameish fingerprint --whole-files letters/
  sameish fingerprint --schemes articles.jsonl | sameish pairs -
  zcat dump.gz | sameish fingerprint - --format tsv

A record is an object with `id` and `text`. An array of strings in `tokens` may
replace the text; the title is used if there is neither. A record without an id
gets its sequence number, from 0 over all inputs. Ids keep their JSON type: 7
and \"7\" are different.

Exit codes: 0 success, 2 usage error, 3 some records rejected, 4 unreadable
input, 5 limit reached, 6 output failed, 1 internal error. After 4 and 5 no file
is written; standard output contains the sketches of all documents that could be
read.";

pub(crate) fn run(args: Args) -> anyhow::Result<Exit> {
    let Args { input, engine, schemes, run } = args;
    let engine = engine.analyzer()?;
    run.check_lines("fingerprint")?;
    let inputs = input.find()?;
    let mut read = input.reading(&inputs, run.quiet);
    read.rules.lossy |= engine.config().text.lossy;
    let rules = read.rules;
    let mut output = LineOutput::create(&run, &inputs)?;
    run.check_inputs(&inputs, &read)?;
    let line_bytes = longest_line(&engine);
    let schemes = if schemes { SchemeNames::of(&engine) } else { SchemeNames::default() };
    let work =
        move |batch: RecordBatch| with_scratch(|scratch| sketch(&batch, &engine, &schemes, rules, scratch));
    let batches = RecordBatches::new(inputs, read);
    in_order(batches, run.threads.count(), line_bytes, work, |result| output.write(result))?;
    let Some((counts, exit)) = output.finish()? else { return Ok(Exit::Clean) };
    run.summarize(&counts, || format!("{}; {}", counts.in_words(), counts.effort()))?;
    Ok(exit)
}

/// Returns the approximate length of an output line in bytes.
fn longest_line(engine: &Analyzer) -> usize {
    let config = engine.config();
    let minhash = config.minhash.as_ref().map_or(0, |minhash| minhash.rows as usize * 8);
    let sdr = config.sdr.as_ref().and_then(|sdr| sdr.bits().ok()).map_or(0, |bits| bits as usize * 9);
    128 + minhash + sdr
}

fn sketch(
    batch: &RecordBatch,
    engine: &Analyzer,
    schemes: &SchemeNames,
    rules: RecordRules,
    scratch: &mut Scratch,
) -> BatchLines {
    let mut done = BatchLines::new(batch);
    for (position, record) in batch.records(rules).enumerate() {
        match record {
            Err(reject) => done.reject(reject),
            Ok(record) => {
                if let Err(error) = engine.check(&record.document.content) {
                    done.reject(batch.reject_record(position, error.to_string()));
                    continue;
                }
                let sketches = engine.sketch(&record.document.content, scratch);
                done.counts.documents += 1;
                done.counts.too_short += u64::from(sketches.status == Status::TooShort);
                done.counts.replaced += u64::from(record.replaced);
                push_sketches(&mut done.lines, &record.document.id, &sketches, schemes);
            }
        }
    }
    done
}

/// An output line.
#[derive(Serialize)]
struct Line<'a> {
    id: &'a DocId,
    status: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    simhash: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    simhash_scheme: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    minhash: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    minhash_scheme: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    sdr: Option<&'a [u32]>,
    #[serde(skip_serializing_if = "Option::is_none")]
    sdr_scheme: Option<&'a str>,
}

/// The schemes that lines contain, as hex digits.
#[derive(Default)]
struct SchemeNames {
    simhash: Option<String>,
    minhash: Option<String>,
    sdr: Option<String>,
}

impl SchemeNames {
    fn of(analyzer: &Analyzer) -> SchemeNames {
        let schemes = analyzer.schemes();
        let name = |scheme: Option<SchemeId>| scheme.map(|scheme| scheme.to_string());
        SchemeNames { simhash: name(schemes.simhash), minhash: name(schemes.minhash), sdr: name(schemes.sdr) }
    }
}

fn push_sketches(out: &mut Vec<u8>, id: &DocId, sketches: &Sketches, schemes: &SchemeNames) {
    let line = Line {
        id,
        status: sketches.status.name(),
        simhash: sketches.simhash.as_ref().map(|fingerprint| fingerprint.to_hex()),
        simhash_scheme: sketches.simhash.as_ref().and(schemes.simhash.as_deref()),
        minhash: sketches.minhash.as_ref().map(|signature| signature.to_hex()),
        minhash_scheme: sketches.minhash.as_ref().and(schemes.minhash.as_deref()),
        sdr: sketches.sdr.as_ref().map(|sdr| sdr.active()),
        sdr_scheme: sketches.sdr.as_ref().and(schemes.sdr.as_deref()),
    };
    push_line(out, &line);
}
