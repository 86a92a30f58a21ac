//! `sameish hamming query`: stored documents near those of the input.

use super::tables::{self, Description, Ids};
use crate::args::InputArgs;
use crate::exit::{Exit, Failure};
use crate::line_output::{BatchLines, LineOutput};
use crate::output::jsonl::push_line;
use crate::run_args::RunArgs;
use crate::run_log::CountsText as _;
use sameish::index::{Hit, Part};
use sameish::matching::distance_to_similarity;
use sameish::{Analyzer, DocId, Scratch, Status};
use sameish_batch::input::{RecordBatch, RecordBatches, RecordRules};
use sameish_batch::ordered_pool::{in_order, with_scratch};
use sameish_store::MappedIndex;
use serde::{Deserialize, Serialize};
use std::path::PathBuf;
use std::str::FromStr;

/// Find stored documents near those of the input
///
/// Writes one line of JSON for each document of the input: its id and the stored documents whose fingerprints differ in at most the
/// radius of the tables, nearest first. With `--part`, only one part answers.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  sameish hamming query tables/ today.jsonl
  sameish hamming query tables/ today.jsonl --part 3/16 -o answers-3.jsonl
  sameish hamming query tables/ today.jsonl --radius 1 --limit 10")]
pub(super) struct Args {
    /// Directory of the tables
    #[arg(value_name = "DIR")]
    directory: PathBuf,
    #[command(flatten)]
    input: InputArgs,
    /// Part that answers, as in `3/16` for the third of 16 [default: all parts]
    #[arg(long, value_name = "I/N")]
    part: Option<PartArg>,
    /// Maximum number of differing bits, at most the radius of the tables [default: the radius of the tables]
    #[arg(long, value_name = "BITS", value_parser = clap::value_parser!(u32).range(0..=64))]
    radius: Option<u32>,
    /// Maximum number of matches per document, the nearest ones
    #[arg(long, value_name = "N", default_value_t = LIMIT, value_parser = clap::value_parser!(u32).range(1..))]
    limit: u32,
    #[command(flatten)]
    run: RunArgs,
}

/// Default number of matches per document.
pub(super) const LIMIT: u32 = 1_000;

/// A part, numbered from 1.
#[derive(Clone, Copy, Debug)]
struct PartArg {
    number: u32,
    of: u32,
}

impl FromStr for PartArg {
    type Err = String;

    fn from_str(text: &str) -> Result<PartArg, String> {
        let numbers = text.split_once('/').and_then(|(a, b)| Some((a.parse().ok()?, b.parse().ok()?)));
        match numbers {
            Some((number, of)) if (1..=of).contains(&number) => Ok(PartArg { number, of }),
            _ => Err("must be a part and the number of parts, as in `3/16`".into()),
        }
    }
}

pub(super) fn run(args: Args) -> anyhow::Result<Exit> {
    let Args { directory, input, part, radius, limit, run } = args;
    let description = Description::read(&directory)?;
    let tables = Tables {
        parts: open_parts(&directory, &description, part)?,
        ids: Ids::open(&directory, &description)?,
        analyzer: description.analyzer()?,
        radius: checked_radius(radius, &description)?,
        limit: limit as usize,
        part: part.map(|part| part.number),
        of: part.map(|part| part.of),
        build: description.build,
    };
    run.check_lines("hamming query")?;
    let inputs = input.find()?;
    let mut read = input.reading(&inputs, run.quiet);
    read.rules.lossy |= tables.analyzer.config().text.lossy;
    let rules = read.rules;
    let mut output = LineOutput::create(&run, &inputs)?;
    run.check_inputs(&inputs, &read)?;
    let work = move |batch: RecordBatch| with_scratch(|scratch| tables.answer(&batch, rules, scratch));
    in_order(RecordBatches::new(inputs, read), run.threads.count(), BYTES_PER_RECORD, work, |result| {
        output.write(match result {
            Ok(lines) => Ok(lines?),
            Err(error) => Err(error),
        })
    })?;
    let Some((counts, exit)) = output.finish()? else { return Ok(Exit::Clean) };
    run.summarize(&counts, || format!("{}; {}", counts.in_words(), counts.effort()))?;
    Ok(exit)
}

/// Approximate length of an output line in bytes.
const BYTES_PER_RECORD: usize = 256;

fn open_parts(
    directory: &std::path::Path,
    description: &Description,
    part: Option<PartArg>,
) -> Result<Vec<MappedIndex>, Failure> {
    let of = description.parts;
    let indexes = match part {
        Some(part) if part.of != of => {
            let reason = format!(
                "`--part {}/{}` does not fit the tables, which have {of} parts; pass `--part {}/{of}`",
                part.number,
                part.of,
                part.number.min(of)
            );
            return Err(Failure::usage(reason));
        }
        Some(part) => part.number - 1..part.number,
        None => 0..of,
    };
    indexes.map(|index| tables::open_part(directory, description, Part { index, of })).collect()
}

fn checked_radius(radius: Option<u32>, description: &Description) -> Result<u32, Failure> {
    let most = description.radius;
    match radius {
        Some(radius) if radius > most => Err(Failure::usage(format!(
            "`--radius {radius}` is more than the radius of the tables, {most}; build them with `--radius {radius}`"
        ))),
        radius => Ok(radius.unwrap_or(most)),
    }
}

/// The parts that answer.
struct Tables {
    parts: Vec<MappedIndex>,
    ids: Ids,
    analyzer: Analyzer,
    radius: u32,
    limit: usize,
    /// The part that answers, and the number of parts, unless all parts answer.
    part: Option<u32>,
    of: Option<u32>,
    /// Id of the tables.
    build: String,
}

/// An output line. `merge` reads what `query` wrote.
#[derive(Serialize, Deserialize)]
pub(super) struct Line {
    pub(super) id: DocId,
    /// The part that answers; absent if all parts do.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) part: Option<u32>,
    /// Number of parts.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) parts: Option<u32>,
    /// Id of the tables, so that answers of different tables are not merged. Only in answers of a part: those of all parts do not
    /// depend on how the tables are divided.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) build: Option<String>,
    /// Maximum number of differing bits of the matches; only in answers of a part.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) radius: Option<u32>,
    /// Whether the text has no fingerprint, so that it matches nothing.
    pub(super) too_short: bool,
    /// Whether there are more matches than the limit.
    pub(super) capped: bool,
    pub(super) matches: Vec<Near>,
}

/// A stored document near a query.
#[derive(Serialize, Deserialize)]
pub(super) struct Near {
    id: DocId,
    /// Number of the document: its position among those with a fingerprint when the tables were built.
    pub(super) number: u32,
    pub(super) simhash_distance: u32,
    similarity: f64,
    verified: bool,
}

impl Tables {
    fn answer(
        &self,
        batch: &RecordBatch,
        rules: RecordRules,
        scratch: &mut Scratch,
    ) -> anyhow::Result<BatchLines> {
        let mut lines = BatchLines::new(batch);
        let views = self.parts.iter().map(MappedIndex::view).collect::<Result<Vec<_>, _>>()?;
        for (position, record) in batch.records(rules).enumerate() {
            let record = match record {
                Ok(record) => record,
                Err(reject) => {
                    lines.reject(reject);
                    continue;
                }
            };
            if let Err(error) = self.analyzer.check(&record.document.content) {
                lines.reject(batch.reject_record(position, error.to_string()));
                continue;
            }
            let sketches = self.analyzer.sketch(&record.document.content, scratch);
            let too_short = sketches.status == Status::TooShort;
            lines.counts.documents += 1;
            lines.counts.too_short += u64::from(too_short);
            lines.counts.replaced += u64::from(record.replaced);
            let mut hits = Vec::new();
            if let Some(fingerprint) = sketches.simhash.filter(|fingerprint| !fingerprint.is_zero()) {
                for view in &views {
                    let mut found = Vec::new();
                    view.find_within(fingerprint, self.radius, &mut found);
                    hits.append(&mut found);
                }
            }
            hits.sort_unstable();
            let capped = hits.len() > self.limit;
            hits.truncate(self.limit);
            let matches = hits.iter().map(|hit| self.near(hit)).collect::<anyhow::Result<_>>()?;
            let Tables { part, of: parts, .. } = *self;
            let id = record.document.id;
            let build = part.map(|_| self.build.clone());
            let radius = part.map(|_| self.radius);
            push_line(&mut lines.lines, &Line { id, part, parts, build, radius, too_short, capped, matches });
        }
        Ok(lines)
    }

    fn near(&self, hit: &Hit) -> anyhow::Result<Near> {
        Ok(Near {
            id: self.ids.get(hit.doc.0)?,
            number: hit.doc.0,
            simhash_distance: hit.distance,
            similarity: distance_to_similarity(hit.distance),
            verified: false,
        })
    }
}
