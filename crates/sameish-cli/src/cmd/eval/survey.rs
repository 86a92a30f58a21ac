//! Which documents are there, and which of them are drawn?
//!
//! The first of two passes. Drawn are those whose ids have the smallest hashes: as good as by lot, the same for any order of
//! the input, and others for another seed.

use crate::args::OnDupId;
use crate::run_log::Log;
use sameish::{Analyzer, Content, DocId, Prepared, Scratch, TextKey, TokenHash, hash_token};
use sameish_batch::input::{
    InputError, InputResult, ReadOptions, RecordBatch, RecordBatches, RecordRules, Reject,
};
use sameish_batch::ordered_pool::{in_order, with_scratch};
use sameish_batch::{Counts, duplicate_id};
use std::collections::{BTreeMap, HashMap, HashSet};
use std::ops::ControlFlow;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

/// What to draw.
pub(super) struct Draw {
    pub(super) engine: Analyzer,
    pub(super) size: usize,
    pub(super) seed: u64,
    pub(super) on_dup_id: OnDupId,
    /// Whether templates are told from copies.
    pub(super) facts: bool,
}

/// What the first pass came to.
pub(super) struct Survey {
    /// In the order of the input.
    pub(super) drawn: Vec<Drawn>,
    /// Numbers of the records that do not count because their ids came again.
    pub(super) passed_over: HashSet<u64>,
    pub(super) documents: u64,
    pub(super) facts: bool,
}

/// A document that is compared with all others.
pub(super) struct Drawn {
    /// Over all inputs.
    pub(super) record: u64,
    pub(super) id: DocId,
    pub(super) prepared: Prepared,
}

/// A document on its way.
struct Ready {
    /// Position among the records of its batch.
    record: usize,
    id: DocId,
    place: u64,
    key: TextKey,
    replaced: bool,
    /// Of those that may be drawn.
    prepared: Option<Prepared>,
}

struct Surveyed {
    batch: RecordBatch,
    ready: Vec<Ready>,
    rejects: Vec<Reject>,
}

/// About how much a document takes until it is counted.
const BYTES_PER_RECORD: usize = 512;

impl Survey {
    /// Reads all inputs once.
    pub(super) fn new(
        draw: Draw,
        sources: Vec<InputResult>,
        reading: ReadOptions,
        threads: usize,
        log: &mut Log,
    ) -> anyhow::Result<Survey> {
        let (rules, on_dup_id, size) = (reading.rules, draw.on_dup_id, draw.size);
        let facts = draw.facts;
        let maker = Arc::new(Maker { draw, rules, bound: AtomicU64::new(u64::MAX) });
        let worker = maker.clone();
        let work = move |batch: RecordBatch| with_scratch(|scratch| worker.work(batch, scratch));
        let mut end = End {
            maker: &maker,
            on_dup_id,
            size,
            known: HashMap::new(),
            drawn: BTreeMap::new(),
            passed_over: HashSet::new(),
            log,
        };
        in_order(RecordBatches::new(sources, reading), threads, BYTES_PER_RECORD, work, |turn| {
            end.take(turn)
        })?;
        let documents = end.known.len() as u64;
        let mut drawn: Vec<Drawn> = end.drawn.into_values().collect();
        drawn.sort_by_key(|doc| doc.record);
        Ok(Survey { drawn, passed_over: end.passed_over, documents, facts })
    }
}

/// What the threads share.
struct Maker {
    draw: Draw,
    rules: RecordRules,
    /// Documents behind it are not drawn. It only falls, so whoever sees an old value only works in vain.
    bound: AtomicU64,
}

impl Maker {
    fn work(&self, batch: RecordBatch, scratch: &mut Scratch) -> Surveyed {
        let (mut ready, mut rejects) = (Vec::with_capacity(batch.len()), Vec::new());
        for (record, taken) in batch.records(self.rules).enumerate() {
            match taken {
                Err(reject) => rejects.push(reject),
                Ok(taken) => {
                    let (id, content) = (taken.document.id, taken.document.content);
                    let place = self.place(&id);
                    let may_be_drawn = place <= self.bound.load(Ordering::Relaxed);
                    ready.push(Ready {
                        record,
                        place,
                        key: TextKey::verbatim(&content),
                        replaced: taken.replaced,
                        prepared: may_be_drawn.then(|| self.draw.engine.prepare(&content, scratch)),
                        id,
                    });
                }
            }
        }
        Surveyed { batch, ready, rejects }
    }

    /// Where an id stands in the order of the draw.
    fn place(&self, id: &DocId) -> u64 {
        hash_token(TokenHash::Xxh3, format!("audit {} {}", self.draw.seed, json(id)).as_bytes())
    }
}

/// So that `7` and `"7"` differ.
fn json(id: &DocId) -> String {
    serde_json::to_string(id).unwrap_or_else(|error| unreachable!("an id has a JSON form: {error}"))
}

/// Where documents come in order.
struct End<'a> {
    maker: &'a Maker,
    on_dup_id: OnDupId,
    size: usize,
    /// The text and the number of the record that has an id.
    known: HashMap<TextKey, (TextKey, u64)>,
    /// By place, then number.
    drawn: BTreeMap<(u64, u64), Drawn>,
    passed_over: HashSet<u64>,
    log: &'a mut Log,
}

impl End<'_> {
    fn take(&mut self, turn: Result<Surveyed, InputError>) -> anyhow::Result<ControlFlow<()>> {
        match turn {
            Err(broken) => self.log.input_failed(&broken),
            Ok(surveyed) => self.take_surveyed(surveyed)?,
        }
        Ok(ControlFlow::Continue(()))
    }

    fn take_surveyed(&mut self, surveyed: Surveyed) -> anyhow::Result<()> {
        let Surveyed { batch, ready, mut rejects } = surveyed;
        let mut counts = Counts { bytes: batch.bytes.len() as u64, ..Counts::default() };
        for ready in ready {
            let number = batch.first + ready.record as u64;
            let id = TextKey::verbatim(&Content::Text(json(&ready.id)));
            match self.known.get(&id).copied() {
                None => counts.documents += 1,
                Some((text, _)) if text == ready.key => {
                    counts.repeated += 1;
                    self.passed_over.insert(number);
                    continue;
                }
                Some(_) if self.on_dup_id == OnDupId::Reject => {
                    self.passed_over.insert(number);
                    rejects.push(batch.reject_record(ready.record, duplicate_id(&ready.id)));
                    continue;
                }
                Some((_, before)) => {
                    self.passed_over.insert(before);
                    self.drawn.remove(&(ready.place, before));
                }
            }
            self.known.insert(id, (ready.key, number));
            counts.replaced += u64::from(ready.replaced);
            self.draw(number, ready);
        }
        rejects.sort_by_key(|reject| reject.place);
        rejects.iter().try_for_each(|reject| self.log.reject(reject))?;
        self.log.count(&counts)?;
        Ok(())
    }

    fn draw(&mut self, record: u64, ready: Ready) {
        let Some(prepared) = ready.prepared else { return };
        self.drawn.insert((ready.place, record), Drawn { record, id: ready.id, prepared });
        while self.drawn.len() > self.size {
            let Some(((place, _), _)) = self.drawn.pop_last() else { break };
            self.maker.bound.fetch_min(place, Ordering::Relaxed);
        }
    }
}
