//! `sameish index build` and `add`: adds documents to an index.

use super::{Access, DirectoryArgs, MatchLine, failure};
use crate::args::{EngineArgs, InputArgs, ON_DUP_ID};
use crate::choice::{Choice, choice, one_of};
use crate::exit::{Exit, Failure};
use crate::output::command::quoted;
use crate::output::escape::escaped;
use crate::output::jsonl::push_line;
use crate::output::messages::{counted, grouped, limits_reached};
use crate::run_args::{RunArgs, stop_if_unreadable};
use crate::run_log::{CountsText as _, Log, finish};
use sameish::{DocId, Document, Status};
use sameish_batch::input::{
    InputError, InputResult, ReadOptions, RecordBatch, RecordBatches, RecordRules, Reject, check_inputs,
};
use sameish_batch::ordered_pool::in_order;
use sameish_batch::output::CompressedOutput;
use sameish_batch::{Counts, OnDupId, duplicate_id};
use sameish_store::{Catalog, Center, Collection, CollectionConfig, Error, Inserted, Outcome, Pending};
use serde::Serialize;
use std::collections::VecDeque;
use std::ffi::OsString;
use std::ops::ControlFlow;
use std::path::Path;

/// Create a collection from documents
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  sameish index build news/ articles.jsonl --preset articles
  sameish index build news/ titles.csv --preset headlines --window-days 3")]
#[command(mut_arg("collection", |name| name.help("Name of the collection [default: the name of the preset]")))]
pub(super) struct BuildArgs {
    /// Retention period: a service, or `index expire`, deletes documents older than DAYS
    #[arg(long, value_name = "DAYS")]
    retention_days: Option<u32>,
    /// Match only documents whose dates are at most DAYS apart
    #[arg(long, value_name = "DAYS")]
    window_days: Option<u32>,
    /// Documents that become centers of clusters first [default: `newest` with linkage `greedy`, otherwise `first`]
    #[arg(long, value_parser = one_of(&CENTERS))]
    center: Option<Center>,
    #[command(flatten)]
    add: AddArgs,
    // Last, because its heading also applies to the arguments after it.
    #[command(flatten)]
    engine: EngineArgs,
}

const CENTERS: [Choice<Center>; 3] = [
    choice("first", "Those that arrived first", Center::First),
    choice("newest", "Those with the latest date (`--date-field`)", Center::Newest),
    choice("longest", "Those with the longest texts", Center::Longest),
];

/// Add documents to a collection
///
/// Stores each document durably and matches it with all earlier ones. With `--output`, writes one line of JSON per document: its
/// id, status (`created`, `unchanged`, `replaced` or `too_short`), duplicates and cluster.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  sameish index add news/ today.jsonl
  sameish index add news/ today.jsonl -o answers.jsonl")]
pub(super) struct AddCommand {
    #[command(flatten)]
    add: AddArgs,
    /// Accepted only to explain why it cannot be changed
    #[arg(long, hide = true)]
    preset: Option<OsString>,
    /// Accepted only to explain why it cannot be changed
    #[arg(long, hide = true)]
    config: Option<OsString>,
}

#[derive(Debug, clap::Args)]
pub(super) struct AddArgs {
    #[command(flatten)]
    directory: DirectoryArgs,
    #[command(flatten)]
    input: InputArgs,
    /// Text to keep if an id is already stored with a different text
    #[arg(long, value_parser = one_of(&ON_DUP_ID), default_value = "reject")]
    on_dup_id: OnDupId,
    #[command(flatten)]
    run: RunArgs,
}

pub(super) fn build(args: BuildArgs) -> anyhow::Result<Exit> {
    let BuildArgs { engine, retention_days, window_days, center, add } = args;
    let (preset, config) = engine.settings()?;
    let overrides = if config == preset.config() { String::new() } else { config.to_toml() };
    let settings = CollectionConfig { preset, overrides, retention_days, window_days, center };
    settings.resolve_center().map_err(failure)?;
    let name = add.directory.collection.as_deref().unwrap_or(preset.name());
    let files = InputFiles::check(&add)?;
    let catalog = add.directory.open(Access::Create)?;
    refuse_filled(&catalog, name, &add.directory.directory)?;
    let collection = catalog.create(name, settings).map_err(failure)?;
    fill(&collection, &add, files)
}

/// Fails if a collection exists and has documents.
fn refuse_filled(catalog: &Catalog, name: &str, directory: &Path) -> Result<(), Failure> {
    let Some(known) = catalog.collection(name).ok().filter(|known| !known.is_empty()) else { return Ok(()) };
    let directory = quoted(&directory.to_string_lossy());
    let documents = counted(known.len() as u64, "document");
    Err(Failure::usage(format!(
        "collection `{name}` already has {documents}; add more with `sameish index add {directory} FILE --collection {name}`, \
         build another collection with `--collection NAME`, or delete this one with `sameish index drop {directory} \
         --collection {name}`"
    )))
}

pub(super) fn add(command: AddCommand) -> anyhow::Result<Exit> {
    let AddCommand { add: args, preset, config } = command;
    let given = [("--preset", preset), ("--config", config)];
    if let Some((flag, _)) = given.iter().find(|(_, value)| value.is_some()) {
        let reason = format!(
            "the preset and the settings were fixed when the index was built; omit `{flag}`, or build another collection with \
             `sameish index build --collection NAME`"
        );
        return Err(Failure::usage(reason).into());
    }
    let files = InputFiles::check(&args)?;
    let catalog = args.directory.open(Access::Change)?;
    let collection = args.directory.collection(&catalog)?;
    fill(&collection, &args, files)
}

/// The inputs, which were checked before the data directory is opened.
struct InputFiles {
    inputs: Vec<InputResult>,
    read: ReadOptions,
}

impl InputFiles {
    fn check(args: &AddArgs) -> Result<InputFiles, Failure> {
        args.run.check_lines("index add")?;
        let inputs = args.input.find()?;
        let read = args.input.reading(&inputs, args.run.quiet);
        stop_if_unreadable(&check_inputs(&inputs, &read)?)?;
        Ok(InputFiles { inputs, read })
    }
}

fn fill(collection: &Collection, args: &AddArgs, files: InputFiles) -> anyhow::Result<Exit> {
    let AddArgs { on_dup_id, run, .. } = args;
    let InputFiles { inputs, mut read } = files;
    read.rules.lossy |= collection.analyzer().config().text.lossy;
    let rules = read.rules;
    let output = run.output.as_ref().map(|_| run.create_lines(&inputs)).transpose()?;
    let mut inserter = Inserter {
        collection,
        on_dup_id: *on_dup_id,
        output,
        log: run.log(&inputs)?,
        pending: VecDeque::new(),
        totals: Totals::default(),
    };
    let work = move |batch: RecordBatch| parse(batch, rules);
    let batches = RecordBatches::new(inputs, read);
    in_order(batches, run.threads.count(), BYTES_PER_RECORD, work, |result| inserter.add(result))?;
    inserter.finish(run)
}

/// Approximate memory per parsed document in bytes, in addition to its record.
const BYTES_PER_RECORD: usize = 8192;
/// Maximum number of batches that are being written while the next ones are read.
const MAX_PENDING: usize = 4;

/// The documents of a batch with their positions in it.
struct ParsedBatch {
    batch: RecordBatch,
    documents: Vec<(usize, Document)>,
    rejects: Vec<Reject>,
    replaced: u64,
}

fn parse(batch: RecordBatch, rules: RecordRules) -> ParsedBatch {
    let mut documents = Vec::new();
    let mut rejects = Vec::new();
    let mut replaced = 0;
    for (position, record) in batch.records(rules).enumerate() {
        match record {
            Ok(record) => {
                replaced += u64::from(record.replaced);
                documents.push((position, record.document));
            }
            Err(reject) => rejects.push(reject),
        }
    }
    ParsedBatch { batch, documents, rejects, replaced }
}

/// Inserts documents in input order.
struct Inserter<'a> {
    collection: &'a Collection,
    on_dup_id: OnDupId,
    output: Option<CompressedOutput>,
    log: Log,
    pending: VecDeque<PendingBatch>,
    totals: Totals,
}

/// A batch that is being written.
struct PendingBatch {
    batch: RecordBatch,
    positions: Vec<usize>,
    /// Documents that replace stored ones with the same id.
    replacements: Vec<Option<Document>>,
    rejects: Vec<Reject>,
    replaced: u64,
    pending: Pending,
}

#[derive(Default)]
struct Totals {
    with_duplicates: u64,
    changed: u64,
    capped: u64,
}

/// An output line.
#[derive(Serialize)]
struct Line<'a> {
    id: &'a DocId,
    status: &'static str,
    duplicates: Vec<MatchLine<'a>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    cluster: Option<u64>,
}

impl<'a> From<&'a Inserted> for Line<'a> {
    fn from(inserted: &'a Inserted) -> Line<'a> {
        let status = match (inserted.outcome, inserted.status) {
            (Outcome::Created, Status::TooShort) => Status::TooShort.name(),
            (outcome, _) => outcome.name(),
        };
        Line {
            id: &inserted.id,
            status,
            duplicates: inserted.duplicates.iter().map(MatchLine::from).collect(),
            cluster: inserted.cluster.map(|cluster| cluster.0),
        }
    }
}

impl Inserter<'_> {
    fn add(&mut self, result: Result<ParsedBatch, InputError>) -> anyhow::Result<ControlFlow<()>> {
        match result {
            Err(error) => self.log.input_failed(&error)?,
            Ok(ParsedBatch { batch, documents, rejects, replaced }) => {
                self.log.count_records(&batch.input_name(), batch.len() as u64, rejects.len() as u64)?;
                let (positions, documents): (Vec<usize>, Vec<Document>) = documents.into_iter().unzip();
                let replaces = self.on_dup_id == OnDupId::Last;
                let replacements =
                    documents.iter().map(|document| replaces.then(|| document.clone())).collect();
                let pending = self.collection.submit(documents).map_err(failure)?;
                let pending = PendingBatch { batch, positions, replacements, rejects, replaced, pending };
                self.pending.push_back(pending);
                if self.pending.len() > MAX_PENDING {
                    self.finish_oldest()?;
                }
            }
        }
        Ok(ControlFlow::Continue(()))
    }

    /// Waits for the oldest batch.
    fn finish_oldest(&mut self) -> anyhow::Result<()> {
        let Some(oldest) = self.pending.pop_front() else { return Ok(()) };
        let PendingBatch { batch, positions, replacements, mut rejects, replaced, pending } = oldest;
        let mut counts = Counts { bytes: batch.bytes.len() as u64, replaced, ..Counts::default() };
        let mut lines = Vec::new();
        let results = pending.wait().map_err(failure)?;
        for ((position, replacement), result) in positions.into_iter().zip(replacements).zip(results) {
            let result = match (result, replacement) {
                (Err(Error::Conflict { .. }), Some(document)) => self.collection.replace(document),
                (result, _) => result,
            };
            match result {
                Ok(inserted) => self.count(&inserted, &mut counts, &mut lines),
                Err(Error::Conflict { id }) => rejects.push(batch.reject_record(position, duplicate_id(&id))),
                Err(error @ (Error::Engine(_) | Error::BadId { .. } | Error::Damaged { .. })) => {
                    rejects.push(batch.reject_record(position, escaped(&error.to_string())));
                }
                Err(error) => return Err(failure(error).into()),
            }
        }
        if let Some(output) = &mut self.output {
            output.write(&lines)?;
        }
        rejects.sort_by_key(|reject| reject.place);
        rejects.iter().try_for_each(|reject| self.log.reject(reject))?;
        self.log.count(&counts)?;
        Ok(())
    }

    fn count(&mut self, inserted: &Inserted, counts: &mut Counts, lines: &mut Vec<u8>) {
        match inserted.outcome {
            Outcome::Created => counts.documents += 1,
            Outcome::Unchanged => counts.repeated += 1,
            Outcome::Replaced => self.totals.changed += 1,
        }
        counts.too_short += u64::from(inserted.status == Status::TooShort);
        self.totals.with_duplicates += u64::from(!inserted.duplicates.is_empty());
        self.totals.capped += inserted.capped as u64;
        if self.output.is_some() {
            push_line(lines, &Line::from(inserted));
        }
    }

    fn finish(mut self, run: &RunArgs) -> anyhow::Result<Exit> {
        while !self.pending.is_empty() {
            self.finish_oldest()?;
        }
        if let Some(output) = self.output.take() {
            run.publish(output, &mut self.log)?;
        }
        let (counts, exit) = finish(self.log)?;
        let Totals { with_duplicates, changed: replaced_documents, capped: caps_hit } = self.totals;
        let total = self.collection.len() as u64;
        let summary = Summary { counts, with_duplicates, replaced_documents, caps_hit, total };
        run.answer(&summary, false, || summary.in_words())?;
        Ok(exit)
    }
}

/// Summary of a run.
#[derive(Serialize)]
struct Summary {
    #[serde(flatten)]
    counts: Counts,
    /// Number of documents that match an earlier one.
    with_duplicates: u64,
    /// Number of documents that replaced a stored text.
    replaced_documents: u64,
    caps_hit: u64,
    /// Number of documents in the collection.
    total: u64,
}

impl Summary {
    fn in_words(&self) -> String {
        let mut words = format!(
            "read {}; {} with duplicates; {} in the collection",
            self.counts.in_words(),
            grouped(self.with_duplicates),
            counted(self.total, "document")
        );
        if self.caps_hit > 0 {
            words += &format!(", {}", limits_reached(self.caps_hit, "duplicates"));
        }
        format!("{words}; {}", self.counts.effort())
    }
}
