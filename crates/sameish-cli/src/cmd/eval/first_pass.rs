//! The first pass of `eval --exact`: counts the documents and draws the sample.
//!
//! The sample consists of the documents whose ids have the smallest hashes. It depends on the seed, but not on the order of
//! the input.

use crate::run_log::Log;
use sameish::config::TokenHash;
use sameish::features::{TextKey, hash_token};
use sameish::{Analyzer, Content, DocId, Prepared, Scratch};
use sameish_batch::input::{
    InputError, InputResult, ReadOptions, RecordBatch, RecordBatches, RecordRules, Reject,
};
use sameish_batch::ordered_pool::{in_order, with_scratch};
use sameish_batch::{Counts, OnDupId, duplicate_id};
use std::collections::{BTreeMap, HashMap, HashSet};
use std::ops::ControlFlow;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

/// Parameters of the sample.
pub(super) struct Draw {
    pub(super) engine: Analyzer,
    pub(super) size: usize,
    pub(super) seed: u64,
    pub(super) on_dup_id: OnDupId,
}

/// The result of the first pass.
pub(super) struct FirstPass {
    /// In the order of the input.
    pub(super) sampled: Vec<Sampled>,
    /// Numbers of the records that are ignored because their ids are duplicates.
    pub(super) ignored: HashSet<u64>,
    pub(super) documents: u64,
}

/// A document that is compared with all others.
pub(super) struct Sampled {
    /// Record number over all inputs.
    pub(super) record: u64,
    pub(super) id: DocId,
    pub(super) prepared: Prepared,
}

/// A processed document.
struct Ready {
    /// Position among the records of its batch.
    record: usize,
    id: DocId,
    place: u64,
    key: TextKey,
    replaced: bool,
    /// Present if the document may be in the sample.
    prepared: Option<Prepared>,
}

/// A processed batch.
struct PreparedBatch {
    batch: RecordBatch,
    ready: Vec<Ready>,
    rejects: Vec<Reject>,
}

/// Approximate size of a processed document, in bytes.
const BYTES_PER_RECORD: usize = 512;

impl FirstPass {
    /// Reads all inputs once.
    pub(super) fn new(
        draw: Draw,
        sources: Vec<InputResult>,
        reading: ReadOptions,
        threads: usize,
        log: &mut Log,
    ) -> anyhow::Result<FirstPass> {
        let rules = reading.rules;
        let preparer = Arc::new(Preparer { draw, rules, bound: AtomicU64::new(u64::MAX) });
        let worker = preparer.clone();
        let work = move |batch: RecordBatch| with_scratch(|scratch| worker.work(batch, scratch));
        let mut sampler = Sampler {
            preparer: &preparer,
            known: HashMap::new(),
            sampled: BTreeMap::new(),
            ignored: HashSet::new(),
            log,
        };
        in_order(RecordBatches::new(sources, reading), threads, BYTES_PER_RECORD, work, |turn| {
            sampler.take(turn)
        })?;
        let documents = sampler.known.len() as u64;
        let mut sampled: Vec<Sampled> = sampler.sampled.into_values().collect();
        sampled.sort_by_key(|doc| doc.record);
        Ok(FirstPass { sampled, ignored: sampler.ignored, documents })
    }
}

/// Prepares documents on the worker threads.
struct Preparer {
    draw: Draw,
    rules: RecordRules,
    /// Documents with a larger sort key are not in the sample. The bound only decreases, so a stale value costs time but not
    /// correctness.
    bound: AtomicU64,
}

impl Preparer {
    fn work(&self, batch: RecordBatch, scratch: &mut Scratch) -> PreparedBatch {
        let mut ready = Vec::with_capacity(batch.len());
        let mut rejects = Vec::new();
        for (record, taken) in batch.records(self.rules).enumerate() {
            match taken {
                Err(reject) => rejects.push(reject),
                Ok(taken) => {
                    if let Some(reject) = batch.reject_without_text(record, &taken) {
                        rejects.push(reject);
                        continue;
                    }
                    let id = taken.document.id;
                    let content = taken.document.content;
                    let place = self.place(&id);
                    let candidate = place <= self.bound.load(Ordering::Relaxed);
                    ready.push(Ready {
                        record,
                        place,
                        key: TextKey::verbatim(&content),
                        replaced: taken.replaced,
                        prepared: candidate.then(|| self.draw.engine.prepare(&content, scratch)),
                        id,
                    });
                }
            }
        }
        PreparedBatch { batch, ready, rejects }
    }

    /// Returns the sort key of an id. The smallest keys are sampled.
    fn place(&self, id: &DocId) -> u64 {
        hash_token(TokenHash::Xxh3, format!("audit {} {}", self.draw.seed, id.to_json()).as_bytes())
    }
}

/// Receives documents in the order of the input and keeps those with the smallest sort keys.
struct Sampler<'a> {
    preparer: &'a Preparer,
    /// The text key and record number of each id, by the key of the id.
    known: HashMap<TextKey, (TextKey, u64)>,
    /// By sort key and record number.
    sampled: BTreeMap<(u64, u64), Sampled>,
    ignored: HashSet<u64>,
    log: &'a mut Log,
}

impl Sampler<'_> {
    fn take(&mut self, turn: Result<PreparedBatch, InputError>) -> anyhow::Result<ControlFlow<()>> {
        match turn {
            Err(broken) => self.log.input_failed(&broken)?,
            Ok(prepared) => self.take_batch(prepared)?,
        }
        Ok(ControlFlow::Continue(()))
    }

    fn take_batch(&mut self, prepared: PreparedBatch) -> anyhow::Result<()> {
        let PreparedBatch { batch, ready, mut rejects } = prepared;
        let mut counts = Counts { bytes: batch.bytes.len() as u64, ..Counts::default() };
        self.log.count_records(&batch.input_name(), batch.len() as u64, rejects.len() as u64)?;
        for ready in ready {
            let number = batch.first + ready.record as u64;
            let id = TextKey::verbatim(&Content::Text(ready.id.to_json()));
            match self.known.get(&id).copied() {
                None => counts.documents += 1,
                Some((text, _)) if text == ready.key => {
                    counts.repeated += 1;
                    self.ignored.insert(number);
                    continue;
                }
                Some(_) if self.preparer.draw.on_dup_id == OnDupId::Reject => {
                    self.ignored.insert(number);
                    rejects.push(batch.reject_record(ready.record, duplicate_id(&ready.id)));
                    continue;
                }
                Some((_, before)) => {
                    self.ignored.insert(before);
                    self.sampled.remove(&(ready.place, before));
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
        self.sampled.insert((ready.place, record), Sampled { record, id: ready.id, prepared });
        while self.sampled.len() > self.preparer.draw.size {
            let Some(((place, _), _)) = self.sampled.pop_last() else { break };
            self.preparer.bound.fetch_min(place, Ordering::Relaxed);
        }
    }
}
