//! How do documents get into an engine?
//!
//! Several threads prepare them, one puts them in, in order. An id that comes again with the same text is counted; with
//! another text the record is rejected, or takes the place of the first.

use crate::input::batch::{Batch, Rules};
use crate::input::reject::{Broken, Reject};
use crate::input::{Batches, Reading, find::Found};
use crate::intake::{Counts, Intake};
use crate::pipeline::{in_order, with_scratch};
use sameish::{DocId, Engine, Linkage, Prepared, Scratch, Status, Timestamp};
use std::ops::ControlFlow;

/// Which record counts when an id comes again with another text.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
pub(crate) enum OnDupId {
    /// The first; the others are rejected
    Reject,
    /// The last
    Last,
}

/// A document on its way into the engine.
struct Ready {
    /// Position among the records of its batch.
    record: usize,
    id: DocId,
    published_at: Option<String>,
    prepared: Prepared,
    replaced: bool,
}

/// What became of one batch.
struct Loaded {
    batch: Batch,
    ready: Vec<Ready>,
    rejects: Vec<Reject>,
}

/// Reads all inputs into the engine.
pub(crate) fn load(
    engine: &mut Engine,
    sources: Vec<Found>,
    mut reading: Reading,
    threads: usize,
    on_dup_id: OnDupId,
    intake: &mut Intake,
) -> anyhow::Result<()> {
    reading.rules.lossy |= engine.config().text.lossy;
    let (rules, maker) = (reading.rules, engine.clone());
    let work = move |batch: Batch| with_scratch(|scratch| prepare(batch, &maker, rules, scratch));
    let mut loading = Loading { engine, on_dup_id, intake };
    in_order(Batches::new(sources, reading), threads, BYTES_PER_RECORD, work, |turn| loading.take(turn))
}

/// About how much a prepared document takes.
const BYTES_PER_RECORD: usize = 4096;

fn prepare(batch: Batch, engine: &Engine, rules: Rules, scratch: &mut Scratch) -> Loaded {
    let (mut ready, mut rejects) = (Vec::with_capacity(batch.spans.len()), Vec::new());
    let dated = engine.config().matching.linkage == Linkage::Greedy;
    for (record, taken) in batch.records(rules).enumerate() {
        let taken = match taken {
            Ok(taken) => taken,
            Err(reject) => {
                rejects.push(reject);
                continue;
            }
        };
        let document = taken.document;
        let published_at = document.published_at.filter(|_| dated);
        if let Some(Err(error)) = published_at.as_deref().map(Timestamp::parse) {
            rejects.push(batch.reject_record(record, error.to_string()));
            continue;
        }
        let prepared = engine.prepare(&document.content, scratch);
        ready.push(Ready { record, id: document.id, published_at, prepared, replaced: taken.replaced });
    }
    Loaded { batch, ready, rejects }
}

struct Loading<'a> {
    engine: &'a mut Engine,
    on_dup_id: OnDupId,
    intake: &'a mut Intake,
}

impl Loading<'_> {
    fn take(&mut self, turn: Result<Loaded, Broken>) -> anyhow::Result<ControlFlow<()>> {
        match turn {
            Err(broken) => self.intake.broken(&broken),
            Ok(loaded) => self.take_loaded(loaded)?,
        }
        Ok(ControlFlow::Continue(()))
    }

    fn take_loaded(&mut self, loaded: Loaded) -> anyhow::Result<()> {
        let Loaded { batch, ready, mut rejects } = loaded;
        let mut counts = Counts { bytes: batch.bytes.len() as u64, ..Counts::default() };
        for ready in ready {
            match self.known(&ready) {
                Known::New => {}
                Known::Same => {
                    counts.repeated += 1;
                    continue;
                }
                Known::Other if self.on_dup_id == OnDupId::Last => {}
                Known::Other => {
                    rejects.push(batch.reject_record(ready.record, repeated_id(&ready.id)));
                    continue;
                }
            }
            counts.too_short += u64::from(ready.prepared.sketches.status == Status::TooShort);
            counts.replaced += u64::from(ready.replaced);
            let inserted =
                self.engine.insert_prepared(&ready.id, ready.published_at.as_deref(), ready.prepared)?;
            counts.documents += u64::from(!inserted.replaced);
        }
        // In the order of the input, whoever found what is wrong.
        rejects.sort_by_key(|reject| reject.place);
        rejects.iter().try_for_each(|reject| self.intake.reject(reject))?;
        self.intake.count(&counts);
        Ok(())
    }

    fn known(&self, ready: &Ready) -> Known {
        match self.engine.text_key(&ready.id) {
            None => Known::New,
            Some(key) if key == ready.prepared.key => Known::Same,
            Some(_) => Known::Other,
        }
    }
}

/// Whether an id was there before.
enum Known {
    New,
    Same,
    Other,
}

pub(crate) fn repeated_id(id: &DocId) -> String {
    let id = crate::output::escape::escaped_name(id.to_string().as_ref());
    format!("id `{id}` was there before with another text; mend it, or pass `--on-dup-id last`")
}
