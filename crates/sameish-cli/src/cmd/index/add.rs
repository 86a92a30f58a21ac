//! `sameish index build` and `add`: documents into a folder.

use super::{Access, FolderArgs, failure};
use crate::args::{EngineArgs, InputArgs};
use crate::exit::{Exit, Failure};
use crate::input::Batches;
use crate::input::batch::{Batch, Rules};
use crate::input::reject::{Broken, Reject};
use crate::intake::{Counts, Intake, RunArgs};
use crate::load::{OnDupId, repeated_id};
use crate::output::escape::escaped;
use crate::output::file::Output;
use crate::output::jsonl::push_line;
use crate::output::messages::{counted, grouped};
use crate::pipeline::in_order;
use sameish::{DocId, Document, Match, Status};
use sameish_store::{Collection, CollectionConfig, Error, Inserted, Outcome, Pending};
use serde::Serialize;
use std::collections::VecDeque;
use std::ops::ControlFlow;

/// Make a collection of documents
#[derive(Debug, clap::Args)]
pub(super) struct BuildArgs {
    #[command(flatten)]
    engine: EngineArgs,
    /// Documents older than so many days leave, when the service runs
    #[arg(long, value_name = "DAYS")]
    retention_days: Option<u32>,
    /// Only documents whose dates are so many days apart match
    #[arg(long, value_name = "DAYS")]
    window_days: Option<u32>,
    #[command(flatten)]
    add: AddArgs,
}

/// Add documents to a collection
///
/// Each is stored durably and matched with all before it. With `--output` a line of JSON is written for each: its id, what
/// was done (`created` or `unchanged`), the documents it duplicates and its cluster.
#[derive(Debug, clap::Args)]
pub(super) struct AddArgs {
    #[command(flatten)]
    folder: FolderArgs,
    #[command(flatten)]
    input: InputArgs,
    /// Which text counts when an id is there with another one
    #[arg(long, value_enum, default_value_t = OnDupId::Reject)]
    on_dup_id: OnDupId,
    #[command(flatten)]
    run: RunArgs,
}

pub(super) fn build(args: BuildArgs) -> anyhow::Result<Exit> {
    let BuildArgs { engine, retention_days, window_days, add } = args;
    let (preset, config) = engine.settings()?;
    let overrides = if config == preset.config() { String::new() } else { config.to_toml() };
    let settings = CollectionConfig { preset, overrides, retention_days, window_days };
    let name = add.folder.collection.as_deref().unwrap_or(preset.name());
    let catalog = add.folder.open(Access::Create)?;
    let collection = catalog.create(name, settings).map_err(failure)?;
    if !collection.is_empty() {
        let count = grouped(collection.len() as u64);
        let message = format!("collection `{name}` has {count} documents; `sameish index add` adds more");
        return Err(Failure::usage(message).into());
    }
    fill(&collection, &add)
}

pub(super) fn add(args: AddArgs) -> anyhow::Result<Exit> {
    let catalog = args.folder.open(Access::Change)?;
    let collection = args.folder.collection(&catalog)?;
    fill(&collection, &args)
}

fn fill(collection: &Collection, args: &AddArgs) -> anyhow::Result<Exit> {
    let AddArgs { input, on_dup_id, run, .. } = args;
    let sources = input.find()?;
    let mut reading = input.reading(run.quiet);
    reading.rules.lossy |= collection.engine().config().text.lossy;
    let output = run.output.as_ref().map(|_| run.create_output(&sources)).transpose()?;
    let mut filling = Filling {
        collection,
        on_dup_id: *on_dup_id,
        output,
        intake: run.intake(&sources)?,
        waiting: VecDeque::new(),
        found: Found::default(),
    };
    let (rules, threads) = (reading.rules, run.threads.count());
    let work = move |batch: Batch| read(batch, rules);
    in_order(Batches::new(sources, reading), threads, BYTES_PER_RECORD, work, |turn| filling.take(turn))?;
    filling.finish(run)
}

/// About how much a document takes on its way, above its bytes.
const BYTES_PER_RECORD: usize = 8192;
/// Batches that are being written while the next are read.
const UNDER_WAY: usize = 4;

/// The documents of a batch with their positions in it.
struct Read {
    batch: Batch,
    documents: Vec<(usize, Document)>,
    rejects: Vec<Reject>,
    replaced: u64,
}

fn read(batch: Batch, rules: Rules) -> Read {
    let (mut documents, mut rejects, mut replaced) = (Vec::new(), Vec::new(), 0);
    for (record, taken) in batch.records(rules).enumerate() {
        match taken {
            Ok(taken) => {
                replaced += u64::from(taken.replaced);
                documents.push((record, taken.document));
            }
            Err(reject) => rejects.push(reject),
        }
    }
    Read { batch, documents, rejects, replaced }
}

/// Where documents come in order.
struct Filling<'a> {
    collection: &'a Collection,
    on_dup_id: OnDupId,
    output: Option<Output>,
    intake: Intake,
    waiting: VecDeque<Written>,
    found: Found,
}

/// A batch that is being written.
struct Written {
    batch: Batch,
    records: Vec<usize>,
    /// For those that take the place of another.
    again: Vec<Option<Document>>,
    rejects: Vec<Reject>,
    replaced: u64,
    pending: Pending,
}

#[derive(Default)]
struct Found {
    with_duplicates: u64,
    changed: u64,
    capped: u64,
}

/// A line of the output.
#[derive(Serialize)]
struct Line<'a> {
    id: &'a DocId,
    status: &'static str,
    duplicates: Vec<Duplicate<'a>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    cluster: Option<u64>,
}

#[derive(Serialize)]
struct Duplicate<'a> {
    id: &'a DocId,
    similarity_score: f64,
    match_type: &'static str,
    verified: bool,
    template: bool,
}

impl<'a> From<&'a Inserted> for Line<'a> {
    fn from(inserted: &'a Inserted) -> Line<'a> {
        let duplicate = |found: &'a Match| Duplicate {
            id: &found.id,
            similarity_score: found.similarity,
            match_type: found.kind.name(),
            verified: found.verified,
            template: found.template,
        };
        let status = match (inserted.outcome, inserted.status) {
            (Outcome::Created, Status::TooShort) => Status::TooShort.name(),
            (outcome, _) => outcome.name(),
        };
        Line {
            id: &inserted.id,
            status,
            duplicates: inserted.duplicates.iter().map(duplicate).collect(),
            cluster: inserted.cluster.map(|cluster| cluster.0),
        }
    }
}

impl Filling<'_> {
    fn take(&mut self, turn: Result<Read, Broken>) -> anyhow::Result<ControlFlow<()>> {
        match turn {
            Err(broken) => self.intake.broken(&broken),
            Ok(Read { batch, documents, rejects, replaced }) => {
                let (records, documents): (Vec<usize>, Vec<Document>) = documents.into_iter().unzip();
                let replaces = self.on_dup_id == OnDupId::Last;
                let again = documents.iter().map(|document| replaces.then(|| document.clone())).collect();
                let pending = self.collection.submit(documents).map_err(failure)?;
                self.waiting.push_back(Written { batch, records, again, rejects, replaced, pending });
                if self.waiting.len() > UNDER_WAY {
                    self.settle()?;
                }
            }
        }
        Ok(ControlFlow::Continue(()))
    }

    /// Takes the answers to the oldest batch.
    fn settle(&mut self) -> anyhow::Result<()> {
        let Some(written) = self.waiting.pop_front() else { return Ok(()) };
        let Written { batch, records, again, mut rejects, replaced, pending } = written;
        let mut counts = Counts { bytes: batch.bytes.len() as u64, replaced, ..Counts::default() };
        let mut lines = Vec::new();
        for ((record, again), answer) in records.into_iter().zip(again).zip(pending.wait().map_err(failure)?)
        {
            let answer = match (answer, again) {
                (Err(Error::Conflict { .. }), Some(document)) => self.collection.replace(document),
                (answer, _) => answer,
            };
            match answer {
                Ok(inserted) => self.count(&inserted, &mut counts, &mut lines),
                Err(Error::Conflict { id }) => rejects.push(batch.reject_record(record, repeated_id(&id))),
                Err(error @ (Error::Engine(_) | Error::BadId { .. } | Error::Damaged { .. })) => {
                    rejects.push(batch.reject_record(record, escaped(&error.to_string())));
                }
                Err(error) => return Err(failure(error).into()),
            }
        }
        if let Some(output) = &mut self.output {
            output.write(&lines)?;
        }
        rejects.sort_by_key(|reject| reject.place);
        rejects.iter().try_for_each(|reject| self.intake.reject(reject))?;
        self.intake.count(&counts);
        Ok(())
    }

    fn count(&mut self, inserted: &Inserted, counts: &mut Counts, lines: &mut Vec<u8>) {
        match inserted.outcome {
            Outcome::Created => counts.documents += 1,
            Outcome::Unchanged => counts.repeated += 1,
            Outcome::Replaced => self.found.changed += 1,
        }
        counts.too_short += u64::from(inserted.status == Status::TooShort);
        self.found.with_duplicates += u64::from(!inserted.duplicates.is_empty());
        self.found.capped += inserted.capped as u64;
        if self.output.is_some() {
            push_line(lines, &Line::from(inserted));
        }
    }

    fn finish(mut self, run: &RunArgs) -> anyhow::Result<Exit> {
        while !self.waiting.is_empty() {
            self.settle()?;
        }
        self.output.map_or(Ok(()), Output::finish)?;
        let (counts, exit) = self.intake.finish()?;
        let Found { with_duplicates, changed: replaced_documents, capped: caps_hit } = self.found;
        let total = self.collection.len() as u64;
        let summary = Summary { counts, with_duplicates, replaced_documents, caps_hit, total };
        run.answer(&summary, false, || summary.in_words())?;
        Ok(exit)
    }
}

/// What a run comes to.
#[derive(Serialize)]
struct Summary {
    #[serde(flatten)]
    counts: Counts,
    /// Documents that match one that was there before them.
    with_duplicates: u64,
    /// Documents that took the place of another text.
    replaced_documents: u64,
    caps_hit: u64,
    /// Documents of the collection.
    total: u64,
}

impl Summary {
    fn in_words(&self) -> String {
        let mut words = format!(
            "{} added, {} with duplicates; {} in the collection",
            self.counts.in_words(),
            grouped(self.with_duplicates),
            counted(self.total, "document")
        );
        if self.caps_hit > 0 {
            words +=
                &format!(", {} limits hit so that some duplicates may be missing", grouped(self.caps_hit));
        }
        format!("{words}; {}", self.counts.effort())
    }
}
