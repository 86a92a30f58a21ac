//! `sameish index query`: stored documents that match those of the input.

use super::{Access, DirectoryArgs, MatchLine, failure};
use crate::args::InputArgs;
use crate::exit::{Exit, Failure};
use crate::line_output::{BatchLines, LineOutput};
use crate::output::escape::escaped;
use crate::output::jsonl::push_line;
use crate::output::messages::grouped;
use crate::run_args::RunArgs;
use crate::run_log::CountsText as _;
use sameish::{DocId, Status};
use sameish_batch::Counts;
use sameish_batch::input::{RecordBatch, RecordBatches, RecordRules};
use sameish_batch::ordered_pool::in_order;
use sameish_store::{Collection, Error, Similar, SimilarOptions};
use serde::Serialize;

/// Find stored documents that match those of the input
///
/// Writes one line of JSON for each document of the input: its id and the stored documents that match, best first. Stores
/// nothing.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  sameish index query news/ candidates.jsonl
  sameish index query news/ candidates.jsonl --min-similarity 0.3 --limit 50")]
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
    run.check_lines("index query")?;
    let inputs = input.find()?;
    let mut read = input.reading(&inputs, run.quiet);
    read.rules.lossy |= collection.analyzer().config().text.lossy;
    let rules = read.rules;
    let mut output = LineOutput::create(&run, &inputs)?;
    run.check_inputs(&inputs, &read)?;
    let limit = limit.map(|limit| limit as usize);
    let options = SimilarOptions { limit, min_similarity, evidence: None };
    let work = move |batch: RecordBatch| query(&batch, &collection, rules, options);
    let batches = RecordBatches::new(inputs, read);
    let mut with_matches = 0;
    in_order(batches, run.threads.count(), BYTES_PER_RECORD, work, |result| {
        let lines = match result {
            Ok(queried) => {
                let queried = queried.map_err(failure)?;
                with_matches += queried.with_matches;
                Ok(queried.lines)
            }
            Err(error) => Err(error),
        };
        output.write(lines)
    })?;
    let Some((counts, exit)) = output.finish()? else { return Ok(Exit::Clean) };
    let summary = Summary { counts, with_matches };
    run.summarize(&summary, || {
        let Summary { counts, with_matches } = &summary;
        format!("{}, {} with matches; {}", counts.in_words(), grouped(*with_matches), counts.effort())
    })?;
    Ok(exit)
}

/// Approximate length of an output line in bytes.
const BYTES_PER_RECORD: usize = 1024;

/// An output line.
#[derive(Serialize)]
struct Line<'a> {
    id: &'a DocId,
    /// `ok`, or `too_short` if the text has too few words for the collection's preset.
    status: &'static str,
    /// Whether `status` is `too_short`.
    too_short: bool,
    /// Number of candidates that were examined.
    candidates: usize,
    /// Whether a limit was reached, so that matches may be missing.
    capped: bool,
    similar: Vec<MatchLine<'a>>,
}

/// Results for one batch.
struct QueriedBatch {
    lines: BatchLines,
    with_matches: u64,
}

fn query(
    batch: &RecordBatch,
    collection: &Collection,
    rules: RecordRules,
    options: SimilarOptions,
) -> Result<QueriedBatch, Error> {
    let mut lines = BatchLines::new(batch);
    let mut with_matches = 0;
    for (position, record) in batch.records(rules).enumerate() {
        let record = match record {
            Ok(record) => record,
            Err(reject) => {
                lines.reject(reject);
                continue;
            }
        };
        match collection.query(&record.document, options) {
            Ok(answer) => {
                lines.counts.documents += 1;
                lines.counts.replaced += u64::from(record.replaced);
                with_matches += u64::from(!answer.similar.is_empty());
                let similar = answer.similar.iter().map(match_line).collect();
                let too_short = answer.status == Status::TooShort;
                lines.counts.too_short += u64::from(too_short);
                let line = Line {
                    id: &record.document.id,
                    status: answer.status.name(),
                    too_short,
                    candidates: answer.candidates,
                    capped: answer.capped > 0,
                    similar,
                };
                push_line(&mut lines.lines, &line);
            }
            Err(error @ Error::Engine(_)) => {
                lines.reject(batch.reject_record(position, escaped(&error.to_string())));
            }
            Err(error) => return Err(error),
        }
    }
    Ok(QueriedBatch { lines, with_matches })
}

fn match_line(similar: &Similar) -> MatchLine<'_> {
    let title = similar.title.as_deref();
    let host = similar.source.as_deref();
    let url = similar.url.as_deref();
    let published_at = similar.published_at.as_deref();
    MatchLine { title, host, url, published_at, ..MatchLine::from(&similar.found) }
}

/// Summary of a run.
#[derive(Serialize)]
struct Summary {
    #[serde(flatten)]
    counts: Counts,
    /// Number of documents with a stored match.
    with_matches: u64,
}
