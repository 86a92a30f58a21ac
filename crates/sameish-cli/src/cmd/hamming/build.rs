//! `sameish hamming build`: tables of the fingerprints of all documents.

use super::tables::{self, Description};
use crate::args::{EngineArgs, InputArgs, ThreadArgs};
use crate::exit::{Exit, Failure};
use crate::output::escape::escaped_name;
use crate::output::messages::{grouped, say};
use crate::run_log::{CountsText as _, Log, finish, plain_log};
use sameish::index::{DocNumber, HammingIndex, Part};
use sameish::{Analyzer, DocId, Fingerprint, Scratch, Status};
use sameish_batch::Counts;
use sameish_batch::input::{RecordBatch, RecordBatches, RecordRules, Reject, check_inputs};
use sameish_batch::ordered_pool::{in_order, with_scratch};
use std::ops::ControlFlow;
use std::path::{Path, PathBuf};

/// Build tables of fingerprints in a directory
///
/// Reads texts, or records with fingerprints as `fingerprint --schemes` writes them. Texts without words are left out.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  sameish hamming build tables/ articles.jsonl --preset wire
  sameish hamming build tables/ 'crawl/*.jsonl.zst' --preset web --parts 16")]
pub(super) struct Args {
    /// Directory of the tables
    #[arg(value_name = "DIR")]
    directory: PathBuf,
    #[command(flatten)]
    input: InputArgs,
    #[command(flatten)]
    engine: EngineArgs,
    /// Number of parts, each with its own file
    #[arg(long, value_name = "N", default_value_t = 1, value_parser = clap::value_parser!(u32).range(1..=4_096))]
    parts: u32,
    /// Maximum number of bits in which a query and a match may differ [default: from the preset]
    #[arg(long, value_name = "BITS", value_parser = clap::value_parser!(u32).range(0..=64))]
    radius: Option<u32>,
    /// Replace the tables if they exist
    #[arg(long)]
    force: bool,
    #[command(flatten)]
    threads: ThreadArgs,
    /// Print nothing but errors
    #[arg(short, long)]
    quiet: bool,
}

pub(super) fn run(args: Args) -> anyhow::Result<Exit> {
    let Args { directory, input, engine, parts, radius, force, threads, quiet } = args;
    let analyzer = engine.analyzer()?;
    let Some(simhash) = &analyzer.config().simhash else {
        let reason = "the configuration has no fingerprints; pass another `--preset`, such as `wire`";
        return Err(Failure::usage(reason).into());
    };
    let radius = radius.unwrap_or(simhash.radius);
    refuse_existing(&directory, force)?;
    let inputs = input.find()?;
    let mut read = input.reading(&inputs, quiet);
    read.rules.lossy |= analyzer.config().text.lossy;
    check_inputs(&inputs, &read)?;
    let mut log = plain_log(quiet, &inputs);
    let rules = read.rules;
    let mut corpus = CollectedFingerprints::default();
    let sketching = analyzer.clone();
    let work = move |batch: RecordBatch| {
        with_scratch(|scratch| SketchedBatch::new(&batch, &sketching, rules, scratch))
    };
    in_order(RecordBatches::new(inputs, read), threads.count(), BYTES_PER_RECORD, work, |result| {
        match result {
            Ok(batch) => corpus.add(batch, &mut log)?,
            Err(error) => log.input_failed(&error)?,
        }
        Ok::<_, anyhow::Error>(ControlFlow::Continue(()))
    })?;
    log.end_input()?;
    if !log.completion.is_usable() {
        let (_, exit) = finish(log)?;
        say(format_args!("error: no tables were written, because an input could not be read completely"));
        return Ok(exit);
    }
    let stored = corpus.write(&directory, &analyzer, parts, radius)?;
    let (counts, exit) = finish(log)?;
    if !quiet {
        say(format_args!(
            "{}: {} fingerprints in {} parts, radius {radius}; {}",
            counts.in_words(),
            grouped(stored),
            grouped(u64::from(parts)),
            counts.effort()
        ));
    }
    Ok(exit)
}

/// Approximate size of the result for one record in bytes.
const BYTES_PER_RECORD: usize = 64;

/// Refuses to replace tables without `--force`.
fn refuse_existing(directory: &Path, force: bool) -> Result<(), Failure> {
    if !tables::exists(directory) || force {
        return Ok(());
    }
    let name = escaped_name(directory.as_os_str());
    Err(Failure::usage(format!("`{name}` already has tables; pass `--force` to replace them")))
}

/// The fingerprints of one batch.
struct SketchedBatch {
    input: std::sync::Arc<str>,
    records: u64,
    counts: Counts,
    fingerprints: Vec<(DocId, Fingerprint)>,
    rejects: Vec<Reject>,
}

impl SketchedBatch {
    fn new(
        batch: &RecordBatch,
        analyzer: &Analyzer,
        rules: RecordRules,
        scratch: &mut Scratch,
    ) -> SketchedBatch {
        let counts = Counts { bytes: batch.bytes.len() as u64, ..Counts::default() };
        let (input, records) = (batch.input_name(), batch.len() as u64);
        let mut done =
            SketchedBatch { input, records, counts, fingerprints: Vec::new(), rejects: Vec::new() };
        for (position, record) in batch.records(rules).enumerate() {
            let record = match record {
                Ok(record) => record,
                Err(reject) => {
                    done.rejects.push(reject);
                    continue;
                }
            };
            if let Err(error) = analyzer.check(&record.document.content) {
                done.rejects.push(batch.reject_record(position, error.to_string()));
                continue;
            }
            let sketches = analyzer.sketch(&record.document.content, scratch);
            done.counts.documents += 1;
            done.counts.too_short += u64::from(sketches.status == Status::TooShort);
            done.counts.replaced += u64::from(record.replaced);
            let fingerprint = sketches.simhash.filter(|fingerprint| !fingerprint.is_zero());
            done.fingerprints.extend(fingerprint.map(|fingerprint| (record.document.id, fingerprint)));
        }
        done
    }
}

/// The fingerprints of all documents, numbered in the order of the input.
#[derive(Default)]
struct CollectedFingerprints {
    ids: Vec<DocId>,
    fingerprints: Vec<(Fingerprint, DocNumber)>,
}

impl CollectedFingerprints {
    fn add(&mut self, batch: SketchedBatch, log: &mut Log) -> anyhow::Result<()> {
        log.count_records(&batch.input, batch.records, batch.rejects.len() as u64)?;
        for reject in &batch.rejects {
            log.reject(reject)?;
        }
        log.count(&batch.counts)?;
        for (id, fingerprint) in batch.fingerprints {
            let number = u32::try_from(self.ids.len());
            let number = number.map_err(|_| {
                Failure::new(Exit::Limit, "more than 4,294,967,295 documents; split the input")
            })?;
            self.ids.push(id);
            self.fingerprints.push((fingerprint, DocNumber(number)));
        }
        Ok(())
    }

    /// Writes all files. Builds one part after the other, so that one part at a time is in memory besides the fingerprints.
    ///
    /// Existing tables are valid until the first file is written, and their files are deleted when the new ones are complete.
    fn write(&self, directory: &Path, analyzer: &Analyzer, parts: u32, radius: u32) -> anyhow::Result<u64> {
        tables::begin(directory)?;
        let mut files = tables::write_ids(directory, &self.ids)?;
        for index in 0..parts {
            // All parts have the tables that suit the whole corpus.
            let empty = HammingIndex::with_capacity(radius, self.fingerprints.len())?;
            let mut part = empty.into_part(Part { index, of: parts })?;
            part.insert_all(&self.fingerprints);
            files.extend([tables::write_part(directory, &part)?]);
        }
        let stored = self.fingerprints.len() as u64;
        let description = Description::new(analyzer.config(), stored, parts, radius, files);
        tables::write_description(directory, &description)?;
        tables::remove_other_parts(directory, parts)?;
        Ok(stored)
    }
}
