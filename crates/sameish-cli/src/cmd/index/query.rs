//! `sameish index query`: what in a folder is like these documents?

use super::{Access, FolderArgs, failure};
use crate::args::InputArgs;
use crate::exit::Exit;
use crate::input::Batches;
use crate::input::batch::{Batch, Rules};
use crate::input::reject::{Broken, Reject};
use crate::intake::{Counts, Intake, RunArgs};
use crate::output::escape::escaped;
use crate::output::file::Output;
use crate::output::jsonl::push_line;
use crate::output::messages::grouped;
use crate::pipeline::in_order;
use sameish::DocId;
use sameish_store::{Collection, Similar, SimilarOptions};
use serde::Serialize;
use std::ops::ControlFlow;

/// Find what is like these documents
///
/// Writes a line of JSON for each document of the input: its id and the stored documents that match, best first. Nothing
/// is stored.
#[derive(Debug, clap::Args)]
pub(super) struct Args {
    #[command(flatten)]
    folder: FolderArgs,
    #[command(flatten)]
    input: InputArgs,
    /// Most matches of each [default: the collection's]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=1000))]
    limit: Option<u32>,
    /// Least similarity, from 0 to 1 [default: the collection's]
    #[arg(long, value_name = "SIMILARITY")]
    min_similarity: Option<f64>,
    #[command(flatten)]
    run: RunArgs,
}

pub(super) fn run(args: Args) -> anyhow::Result<Exit> {
    let Args { folder, input, limit, min_similarity, run } = args;
    if min_similarity.is_some_and(|least| !(0.0..=1.0).contains(&least)) {
        return Err(crate::exit::Failure::usage("`--min-similarity` must be from 0 to 1").into());
    }
    let catalog = folder.open(Access::Look)?;
    let collection = folder.collection(&catalog)?;
    let sources = input.find()?;
    let mut reading = input.reading(run.quiet);
    reading.rules.lossy |= collection.engine().config().text.lossy;
    let mut end =
        End { output: run.create_output(&sources)?, intake: run.intake(&sources)?, found: 0, closed: false };
    let (rules, threads) = (reading.rules, run.threads.count());
    let options = SimilarOptions { limit: limit.map(|limit| limit as usize), min_similarity, evidence: None };
    let work = move |batch: Batch| ask(&batch, &collection, rules, options);
    in_order(Batches::new(sources, reading), threads, 1024, work, |turn| end.take(turn))?;
    end.finish(&run)
}

/// A line of the output.
#[derive(Serialize)]
struct Line<'a> {
    id: &'a DocId,
    similar: Vec<Found<'a>>,
}

#[derive(Serialize)]
struct Found<'a> {
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

impl<'a> From<&'a Similar> for Found<'a> {
    fn from(similar: &'a Similar) -> Found<'a> {
        Found {
            id: &similar.found.id,
            title: similar.title.as_deref(),
            host: similar.source.as_deref(),
            similarity_score: similar.found.similarity,
            match_type: similar.found.kind.name(),
            verified: similar.found.verified,
            template: similar.found.template,
        }
    }
}

/// What became of one batch.
struct Asked {
    lines: Vec<u8>,
    rejects: Vec<Reject>,
    counts: Counts,
    found: u64,
    failed: Option<sameish_store::Error>,
}

fn ask(batch: &Batch, collection: &Collection, rules: Rules, options: SimilarOptions) -> Asked {
    let counts = Counts { bytes: batch.bytes.len() as u64, ..Counts::default() };
    let mut asked = Asked { lines: Vec::new(), rejects: Vec::new(), counts, found: 0, failed: None };
    for (record, taken) in batch.records(rules).enumerate() {
        let taken = match taken {
            Ok(taken) => taken,
            Err(reject) => {
                asked.rejects.push(reject);
                continue;
            }
        };
        match collection.query(&taken.document, options) {
            Ok(answer) => {
                asked.counts.documents += 1;
                asked.counts.replaced += u64::from(taken.replaced);
                asked.found += u64::from(!answer.similar.is_empty());
                let similar = answer.similar.iter().map(Found::from).collect();
                push_line(&mut asked.lines, &Line { id: &taken.document.id, similar });
            }
            Err(error @ sameish_store::Error::Engine(_)) => {
                asked.rejects.push(batch.reject_record(record, escaped(&error.to_string())));
            }
            Err(error) => {
                asked.failed = Some(error);
                break;
            }
        }
    }
    asked
}

/// Where answers come in order.
struct End {
    output: Output,
    intake: Intake,
    found: u64,
    closed: bool,
}

impl End {
    fn take(&mut self, turn: Result<Asked, Broken>) -> anyhow::Result<ControlFlow<()>> {
        let asked = match turn {
            Ok(asked) => asked,
            Err(broken) => {
                self.intake.broken(&broken);
                return Ok(ControlFlow::Continue(()));
            }
        };
        if let Some(error) = asked.failed {
            return Err(failure(error).into());
        }
        if !self.output.write(&asked.lines)? {
            self.closed = true;
            return Ok(ControlFlow::Break(()));
        }
        asked.rejects.iter().try_for_each(|reject| self.intake.reject(reject))?;
        self.found += asked.found;
        self.intake.count(&asked.counts);
        Ok(ControlFlow::Continue(()))
    }

    fn finish(self, run: &RunArgs) -> anyhow::Result<Exit> {
        if self.closed {
            self.intake.messages.clear();
            return Ok(Exit::Clean);
        }
        self.output.finish()?;
        let (counts, exit) = self.intake.finish()?;
        let summary = Summary { counts, with_matches: self.found };
        run.summarize(&summary, || {
            let Summary { counts, with_matches } = &summary;
            format!("{}, {} with matches; {}", counts.in_words(), grouped(*with_matches), counts.effort())
        })?;
        Ok(exit)
    }
}

/// What a run comes to.
#[derive(Serialize)]
struct Summary {
    #[serde(flatten)]
    counts: Counts,
    /// Documents that something stored matches.
    with_matches: u64,
}
