//! A deterministic sample of the documents.
//!
//! The sample consists of the documents whose ids have the smallest hashes. It is the same for any order of the input.
//! Documents of labeled pairs are kept in addition, for the labels only.

use crate::run_log::Log;
use rayon::prelude::*;
use sameish::config::TokenHash;
use sameish::features::{TextKey, hash_token};
use sameish::{Analyzer, Content, DocId, Prepared, Scratch, Status};
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
pub(super) struct Plan {
    pub(super) size: usize,
    /// Documents that are kept regardless of their hashes.
    pub(super) required: HashSet<DocId>,
    pub(super) on_dup_id: OnDupId,
    /// Keeps the texts, for [`Sample::prepare`].
    pub(super) keep_texts: bool,
}

/// A sampled document.
pub(super) struct Doc {
    pub(super) id: DocId,
    pub(super) prepared: Prepared,
    /// Present if the plan keeps texts.
    content: Option<Content>,
    pub(super) cluster: Option<String>,
}

pub(super) struct Sample {
    /// Sorted by the hash of their ids.
    pub(super) docs: Vec<Doc>,
    /// Documents of labeled pairs that are not in the sample.
    pub(super) extra: Vec<Doc>,
    /// Number of documents of the whole input.
    pub(super) read: u64,
}

impl Sample {
    /// Returns the number of pairs of the whole input per pair of the sample.
    pub(super) fn scale(&self) -> f64 {
        let pairs = |count: f64| count * (count - 1.0);
        let sampled = self.docs.len() as f64;
        let all = sampled.max(self.read as f64);
        if sampled < 2.0 { 1.0 } else { pairs(all) / pairs(sampled) }
    }
}

/// Maximum size of the texts of a sample that are prepared again, in bytes. A character needs up to 8 bytes of features.
const MAX_TEXT_BYTES: usize = 32 << 20;

impl Sample {
    /// Prepares the documents with another configuration: first the sample, then the extra documents. Returns `None` if the
    /// texts were not kept or are too long.
    pub(super) fn prepare(&self, analyzer: &Analyzer) -> Option<Vec<Prepared>> {
        let contents: Option<Vec<&Content>> =
            self.docs.iter().chain(&self.extra).map(|doc| doc.content.as_ref()).collect();
        let contents = contents?;
        let bytes: usize = contents.iter().map(|content| text_bytes(content)).sum();
        let prepare = |content: &&Content| with_scratch(|scratch| analyzer.prepare(*content, scratch));
        (bytes <= MAX_TEXT_BYTES).then(|| contents.par_iter().map(prepare).collect())
    }
}

fn text_bytes(content: &Content) -> usize {
    match content {
        Content::Text(text) => text.len(),
        Content::Tokens(tokens) => tokens.iter().map(|token| token.len() + 1).sum(),
        Content::Sketches(_) => 0,
    }
}

/// Returns the sort key of an id. The smallest keys are sampled.
fn place(id: &DocId) -> u64 {
    let id = id.to_json();
    hash_token(TokenHash::Xxh3, format!("sample {id}").as_bytes())
}

/// A prepared document.
struct Ready {
    record: usize,
    place: u64,
    doc: Doc,
}

/// A processed batch.
struct Loaded {
    batch: RecordBatch,
    ready: Vec<Ready>,
    rejects: Vec<Reject>,
    counts: Counts,
}

/// Reads all inputs and returns the sample.
pub(super) fn read(
    engine: &Analyzer,
    sources: Vec<InputResult>,
    mut reading: ReadOptions,
    threads: usize,
    plan: Plan,
    log: &mut Log,
) -> anyhow::Result<Sample> {
    reading.rules.lossy |= engine.config().text.lossy;
    let preparer = Arc::new(Preparer {
        engine: engine.clone(),
        rules: reading.rules,
        bound: AtomicU64::new(u64::MAX),
        plan,
    });
    let mut sampler =
        Sampler { preparer: preparer.clone(), kept: BTreeMap::new(), extra: BTreeMap::new(), log };
    let work = move |batch: RecordBatch| with_scratch(|scratch| preparer.work(batch, scratch));
    in_order(RecordBatches::new(sources, reading), threads, BYTES_PER_RECORD, work, |turn| {
        sampler.take(turn)
    })?;
    let Sampler { kept, extra, log, .. } = sampler;
    let docs: Vec<Doc> = kept.into_values().collect();
    let too_short = |doc: &&Doc| doc.prepared.sketches.status == Status::TooShort;
    log.counts.too_short = docs.iter().filter(too_short).count() as u64;
    Ok(Sample { docs, extra: extra.into_values().collect(), read: log.counts.documents })
}

/// Approximate size of a prepared document, in bytes.
const BYTES_PER_RECORD: usize = 4096;

/// Prepares documents on the worker threads.
struct Preparer {
    engine: Analyzer,
    rules: RecordRules,
    /// Documents with a larger sort key are not in the sample. The bound only decreases, so a stale value costs time but not
    /// correctness.
    bound: AtomicU64,
    plan: Plan,
}

impl Preparer {
    fn work(&self, batch: RecordBatch, scratch: &mut Scratch) -> Loaded {
        let mut ready = Vec::new();
        let mut rejects = Vec::new();
        let mut counts = Counts { bytes: batch.bytes.len() as u64, ..Counts::default() };
        for (record, taken) in batch.records(self.rules).enumerate() {
            let taken = match taken {
                Ok(taken) => taken,
                Err(reject) => {
                    rejects.push(reject);
                    continue;
                }
            };
            if let Some(reject) = batch.reject_without_text(record, &taken) {
                rejects.push(reject);
                continue;
            }
            counts.documents += 1;
            counts.replaced += u64::from(taken.replaced);
            let document = taken.document;
            let place = place(&document.id);
            if place > self.bound.load(Ordering::Relaxed) && !self.plan.required.contains(&document.id) {
                continue;
            }
            let prepared = self.engine.prepare(&document.content, scratch);
            let content = Some(document.content).filter(|_| self.plan.keep_texts);
            ready.push(Ready {
                record,
                place,
                doc: Doc { id: document.id, prepared, content, cluster: document.source },
            });
        }
        Loaded { batch, ready, rejects, counts }
    }
}

/// Keeps the documents with the smallest sort keys.
struct Sampler<'a> {
    preparer: Arc<Preparer>,
    kept: BTreeMap<(u64, DocId), Doc>,
    extra: BTreeMap<DocId, Doc>,
    log: &'a mut Log,
}

impl Sampler<'_> {
    fn take(&mut self, turn: Result<Loaded, InputError>) -> anyhow::Result<ControlFlow<()>> {
        match turn {
            Err(broken) => self.log.input_failed(&broken)?,
            Ok(loaded) => self.take_loaded(loaded)?,
        }
        Ok(ControlFlow::Continue(()))
    }

    fn take_loaded(&mut self, loaded: Loaded) -> anyhow::Result<()> {
        let Loaded { batch, ready, mut rejects, mut counts } = loaded;
        self.log.count_records(&batch.input_name(), batch.len() as u64, rejects.len() as u64)?;
        for Ready { record, place, doc } in ready {
            let key = (place, doc.id);
            let doc = Doc { id: key.1.clone(), ..doc };
            match self.kept.get(&key).or_else(|| self.extra.get(&key.1)) {
                Some(known) if known.prepared.key == doc.prepared.key => {
                    counts.documents -= 1;
                    counts.repeated += 1;
                    continue;
                }
                Some(_) if self.preparer.plan.on_dup_id == OnDupId::Reject => {
                    counts.documents -= 1;
                    rejects.push(batch.reject_record(record, duplicate_id(&key.1)));
                    continue;
                }
                Some(_) => counts.documents -= 1,
                None => {}
            }
            match self.extra.get_mut(&key.1) {
                Some(known) => *known = doc,
                None => self.keep(key, doc),
            }
        }
        // Rejects of both kinds, in the order of the input.
        rejects.sort_by_key(|reject| reject.place);
        rejects.iter().try_for_each(|reject| self.log.reject(reject))?;
        self.log.count(&counts)?;
        Ok(())
    }

    fn keep(&mut self, key: (u64, DocId), doc: Doc) {
        self.kept.insert(key, doc);
        while self.kept.len() > self.preparer.plan.size {
            let Some(((place, id), doc)) = self.kept.pop_last() else { break };
            self.preparer.bound.fetch_min(place, Ordering::Relaxed);
            if self.preparer.plan.required.contains(&id) {
                self.extra.insert(id, doc);
            }
        }
    }
}

/// The sample grouped by text.
pub(super) struct Texts<'a> {
    pub(super) texts: Vec<Text<'a>>,
    /// The text of each document: first the sample, then the extra documents of labeled pairs.
    pub(super) text_of: Vec<u32>,
    /// The cluster of each document of the sample.
    pub(super) cluster_of: Vec<Option<u32>>,
    /// Number of clusters.
    pub(super) clusters: usize,
    pub(super) by_id: HashMap<&'a DocId, u32>,
}

/// A text and the documents of the sample that have it.
pub(super) struct Text<'a> {
    pub(super) prepared: &'a Prepared,
    pub(super) copies: u64,
    /// Clusters of these documents in ascending order, with the number of documents.
    pub(super) clusters: Vec<(u32, u64)>,
}

impl<'a> Texts<'a> {
    /// Groups the documents of a sample by text. `prepared` replaces their features and sketches, in the order of
    /// [`Sample::prepare`].
    pub(super) fn of(sample: &'a Sample, prepared: Option<&'a [Prepared]>) -> Texts<'a> {
        let chosen = |at: usize, doc: &'a Doc| prepared.map_or(&doc.prepared, |prepared| &prepared[at]);
        let mut texts = Texts {
            texts: Vec::new(),
            text_of: Vec::new(),
            cluster_of: Vec::new(),
            clusters: 0,
            by_id: HashMap::new(),
        };
        let mut by_key = HashMap::new();
        let mut names = HashMap::new();
        for (at, doc) in sample.docs.iter().enumerate() {
            let text = texts.add(&doc.id, chosen(at, doc), &mut by_key);
            let cluster = doc.cluster.as_deref().map(|name| {
                let next = names.len() as u32;
                *names.entry(name).or_insert(next)
            });
            texts.cluster_of.push(cluster);
            let text = &mut texts.texts[text as usize];
            text.copies += 1;
            text.clusters.extend(cluster.map(|cluster| (cluster, 1)));
        }
        texts.texts.iter_mut().for_each(|text| count_equal(&mut text.clusters));
        texts.clusters = names.len();
        for (at, doc) in (sample.docs.len()..).zip(&sample.extra) {
            texts.add(&doc.id, chosen(at, doc), &mut by_key);
        }
        texts
    }

    fn add(&mut self, id: &'a DocId, prepared: &'a Prepared, by_key: &mut HashMap<TextKey, u32>) -> u32 {
        let known = prepared.key.and_then(|key| by_key.get(&key).copied());
        let same = known.filter(|&text| self.texts[text as usize].prepared.sketches == prepared.sketches);
        let text = same.unwrap_or_else(|| {
            let text = self.texts.len() as u32;
            self.texts.push(Text { prepared, copies: 0, clusters: Vec::new() });
            by_key.extend(prepared.key.filter(|_| known.is_none()).map(|key| (key, text)));
            text
        });
        self.by_id.insert(id, self.text_of.len() as u32);
        self.text_of.push(text);
        text
    }

    /// Returns the number of documents of the sample with these texts.
    pub(super) fn documents(&self, texts: &[u32]) -> u64 {
        texts.iter().map(|&text| self.texts[text as usize].copies).sum()
    }

    /// Returns the number of pairs of documents with equal texts among these texts.
    pub(super) fn equal_pairs(&self, texts: &[u32]) -> u64 {
        texts.iter().map(|&text| self.texts[text as usize].copies).map(|n| n * n.saturating_sub(1) / 2).sum()
    }
}

/// Sorts the clusters and adds up the counts of equal ones.
fn count_equal(clusters: &mut Vec<(u32, u64)>) {
    clusters.sort_unstable();
    clusters.dedup_by(|next, kept| {
        let same = next.0 == kept.0;
        kept.1 += if same { next.1 } else { 0 };
        same
    });
}

impl Text<'_> {
    /// Returns the number of documents with a cluster.
    pub(super) fn labeled(&self) -> u64 {
        self.clusters.iter().map(|(_, count)| count).sum()
    }

    /// Returns the number of pairs of a document of this text and one of the other text in the same cluster.
    pub(super) fn same_cluster(&self, other: &Text<'_>) -> u64 {
        let mut same = 0;
        let mut i = 0;
        let mut j = 0;
        while let (Some(a), Some(b)) = (self.clusters.get(i), other.clusters.get(j)) {
            same += if a.0 == b.0 { a.1 * b.1 } else { 0 };
            i += usize::from(a.0 <= b.0);
            j += usize::from(b.0 <= a.0);
        }
        same
    }
}
