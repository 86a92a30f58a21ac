//! `sameish index query`: stored documents that match those of the input.

use super::{Access, DirectoryArgs, failure};
use crate::args::InputArgs;
use crate::exit::{Exit, Failure};
use crate::output::escape::escaped;
use crate::output::file::Output;
use crate::output::jsonl::push_line;
use crate::output::messages::grouped;
use crate::run_args::RunArgs;
use crate::run_log::{CountsText as _, Log, finish};
use sameish::DocId;
use sameish_batch::Counts;
use sameish_batch::input::{InputError, RecordBatch, RecordBatches, RecordRules, Reject};
use sameish_batch::ordered_pool::in_order;
use sameish_store::{Collection, Similar, SimilarOptions};
use serde::Serialize;
use std::ops::ControlFlow;

/// Find stored documents that match those of the input
///
/// Writes one line of JSON for each document of the input: its id and the stored documents that match, best first. Stores
/// nothing.
#[derive(Debug, clap::Args)]
pub(super) struct Args {
    #[command(flatten)]
    directory: DirectoryArgs,
    #[command(flatten)]
    input: InputArgs,
    /// Maximum number of matches per document [default: from the collection]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=1000))]
    limit: Option<u32>,
    /// Minimum similarity, from 0 to 1 [default: from the collection]
    #[arg(long, value_name = "SIMILARITY")]
    min_similarity: Option<f64>,
    #[command(flatten)]
    run: RunArgs,
}

pub(super) fn run(args: Args) -> anyhow::Result<Exit> {
    let Args { directory, input, limit, min_similarity, run } = args;
    if min_similarity.is_some_and(|minimum| !(0.0..=1.0).contains(&minimum)) {
        return Err(Failure::usage("`--min-similarity` must be from 0 to 1").into());
    }
    let catalog = directory.open(Access::Read)?;
    let collection = directory.collection(&catalog)?;
    let inputs = input.find()?;
    let mut read = input.reading(run.quiet);
    read.rules.lossy |= collection.analyzer().config().text.lossy;
    let rules = read.rules;
    let output = run.create_output(&inputs)?;
    let mut writer = Writer { output, log: run.log(&inputs)?, with_matches: 0, closed: false };
    let options = SimilarOptions { limit: limit.map(|limit| limit as usize), min_similarity, evidence: None };
    let work = move |batch: RecordBatch| query(&batch, &collection, rules, options);
    let batches = RecordBatches::new(inputs, read);
    in_order(batches, run.threads.count(), BYTES_PER_RECORD, work, |result| writer.write(result))?;
    writer.finish(&run)
}

/// Approximate length of an output line in bytes.
const BYTES_PER_RECORD: usize = 1024;

/// An output line.
#[derive(Serialize)]
struct Line<'a> {
    id: &'a DocId,
    similar: Vec<SimilarLine<'a>>,
}

#[derive(Serialize)]
struct SimilarLine<'a> {
    id: &'a DocId,
    #[serde(skip_serializing_if = "Option::is_none")]
    title: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    host: Option<&'a str>,
    similarity_score: f64,
    match_type: &'static str,
    verified: bool,
    template: bool,
}

impl<'a> From<&'a Similar> for SimilarLine<'a> {
    fn from(similar: &'a Similar) -> SimilarLine<'a> {
        SimilarLine {
            id: &similar.found.id,
            title: similar.title.as_deref(),
            host: similar.source.as_deref(),
            similarity_score: similar.found.verdict.similarity,
            match_type: similar.found.verdict.kind.name(),
            verified: similar.found.verdict.verified,
            template: similar.found.verdict.template,
        }
    }
}

/// Results for one batch.
struct QueriedBatch {
    lines: Vec<u8>,
    rejects: Vec<Reject>,
    counts: Counts,
    with_matches: u64,
    error: Option<sameish_store::Error>,
}

fn query(
    batch: &RecordBatch,
    collection: &Collection,
    rules: RecordRules,
    options: SimilarOptions,
) -> QueriedBatch {
    let counts = Counts { bytes: batch.bytes.len() as u64, ..Counts::default() };
    let mut queried =
        QueriedBatch { lines: Vec::new(), rejects: Vec::new(), counts, with_matches: 0, error: None };
    for (position, record) in batch.records(rules).enumerate() {
        let record = match record {
            Ok(record) => record,
            Err(reject) => {
                queried.rejects.push(reject);
                continue;
            }
        };
        match collection.query(&record.document, options) {
            Ok(answer) => {
                queried.counts.documents += 1;
                queried.counts.replaced += u64::from(record.replaced);
                queried.with_matches += u64::from(!answer.similar.is_empty());
                let similar = answer.similar.iter().map(SimilarLine::from).collect();
                push_line(&mut queried.lines, &Line { id: &record.document.id, similar });
            }
            Err(error @ sameish_store::Error::Engine(_)) => {
                queried.rejects.push(batch.reject_record(position, escaped(&error.to_string())));
            }
            Err(error) => {
                queried.error = Some(error);
                break;
            }
        }
    }
    queried
}

/// Writes results in input order.
struct Writer {
    output: Output,
    log: Log,
    with_matches: u64,
    /// `true` if the reader of a pipe has closed it.
    closed: bool,
}

impl Writer {
    fn write(&mut self, result: Result<QueriedBatch, InputError>) -> anyhow::Result<ControlFlow<()>> {
        let queried = match result {
            Ok(queried) => queried,
            Err(error) => {
                self.log.input_failed(&error);
                return Ok(ControlFlow::Continue(()));
            }
        };
        if let Some(error) = queried.error {
            return Err(failure(error).into());
        }
        if !self.output.write(&queried.lines)? {
            self.closed = true;
            return Ok(ControlFlow::Break(()));
        }
        queried.rejects.iter().try_for_each(|reject| self.log.reject(reject))?;
        self.with_matches += queried.with_matches;
        self.log.count(&queried.counts)?;
        Ok(ControlFlow::Continue(()))
    }

    fn finish(self, run: &RunArgs) -> anyhow::Result<Exit> {
        if self.closed {
            self.log.monitor.clear();
            return Ok(Exit::Clean);
        }
        self.output.finish()?;
        let (counts, exit) = finish(self.log)?;
        let summary = Summary { counts, with_matches: self.with_matches };
        run.summarize(&summary, || {
            let Summary { counts, with_matches } = &summary;
            format!("{}, {} with matches; {}", counts.in_words(), grouped(*with_matches), counts.effort())
        })?;
        Ok(exit)
    }
}

/// Summary of a run.
#[derive(Serialize)]
struct Summary {
    #[serde(flatten)]
    counts: Counts,
    /// Number of documents with a stored match.
    with_matches: u64,
}
