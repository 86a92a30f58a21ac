//! All documents of a run, signed, and ready to be asked who matches whom.

use super::budget::Budget;
use super::fetch::Fetcher;
use super::group::{leaders, order};
use super::held::{Doc, Ids, Keep, Outlines, State};
use super::judging::{Known, needs_texts};
use super::sign::{Counted, Keys, Signed, Signing};
use super::stage::TempFiles;
use crate::args::MemoryArgs;
use crate::exit::Failure;
use crate::input::Reading;
use crate::input::batch::Rules;
use crate::input::find::Found;
use crate::intake::Intake;
use crate::on_dup_id::OnDupId;
use sameish::{BandTags, Bands, Buckets, Config, Engine, Linkage, Sdr, TextKey, WordFrequencies};
use std::collections::HashMap;
use std::hash::{BuildHasher, BuildHasherDefault, DefaultHasher};
use std::sync::Arc;

/// What is held of all documents.
pub(crate) struct Corpus {
    pub(crate) engine: Arc<Engine>,
    pub(crate) docs: Vec<Doc>,
    pub(crate) ids: Ids,
    pub(crate) keys: Vec<TextKey>,
    pub(crate) outlines: Outlines,
    pub(crate) prints: Vec<u64>,
    pub(crate) codes: Vec<Sdr>,
    /// All documents in the order that decides.
    pub(crate) order: Vec<u32>,
    /// For each document the first in order with the same text.
    pub(crate) leader: Vec<u32>,
    pub(crate) buckets: Buckets,
    pub(crate) fetcher: Fetcher,
    pub(crate) frequencies: Option<WordFrequencies>,
    pub(crate) budget: Budget,
}

/// How a corpus is read.
pub(crate) struct CorpusPlan {
    pub(crate) engine: Arc<Engine>,
    pub(crate) memory: MemoryArgs,
    pub(crate) threads: usize,
    pub(crate) on_dup_id: OnDupId,
    /// Of which documents word frequencies are counted.
    pub(crate) facts: Counted,
    /// Whether the newest document comes first; else they come as they are read.
    pub(crate) newest_first: bool,
}

/// The bands of the settings; none where they make no signatures.
pub(crate) fn bands(config: &Config) -> Result<Bands, Failure> {
    let bands = config.bands().map_err(|error| Failure::usage(error.to_string()))?;
    Ok(bands.unwrap_or(Bands { count: 0, rows: 1 }))
}

impl CorpusPlan {
    /// Reads and signs all documents.
    pub(crate) fn read(
        self,
        sources: Vec<Found>,
        mut reading: Reading,
        intake: &mut Intake,
    ) -> anyhow::Result<Corpus> {
        let config = self.engine.config();
        reading.rules.lossy |= config.text.lossy;
        self.memory.check()?;
        let budget = Budget::new(self.memory.max_memory)?;
        // A date that can not be read rejects its record wherever dates may matter.
        let dated = config.matching.linkage == Linkage::Greedy;
        let bands = bands(config)?;
        let signing = Signing {
            engine: self.engine.clone(),
            bands,
            tags: BandTags::new(bands),
            keep: if dated { Keep::Newest } else { Keep::First },
            keys: Keys::Normalized,
            on_dup_id: self.on_dup_id,
            facts: self.facts,
            texts: needs_texts(&self.engine),
            threads: self.threads,
            files: TempFiles::new(self.memory.temp_dir.clone(), None),
            tags_in_memory: budget.tags(),
            max_held: budget.held(),
        };
        let rules = reading.rules;
        let signed = signing.run(Vec::new(), sources, reading, intake)?;
        let gone = signed.docs.iter().filter(|doc| doc.state == State::Replaced).count();
        intake.counts.documents -= gone as u64;
        Ok(self.corpus(signed, rules, budget)?)
    }

    fn corpus(self, signed: Signed, rules: Rules, budget: Budget) -> Result<Corpus, Failure> {
        let Signed {
            docs, ids, keys, tags, outlines, prints, codes, ranks, inputs, spool, frequencies, ..
        } = signed;
        let order = order(docs.len(), if self.newest_first { &ranks } else { &[] }, 0);
        let mark = |doc: u32| {
            let print = prints.get(doc as usize).copied().unwrap_or(0);
            codes
                .get(doc as usize)
                .map_or(print, |code| print ^ BuildHasherDefault::<DefaultHasher>::new().hash_one(code))
        };
        let leader = leaders(&docs, &keys, mark, &order);
        let takes = |doc: u32| leader[doc as usize] == doc && docs[doc as usize].state == State::Long;
        let buckets = tags.buckets(takes, budget.sorting())?;
        let fetcher = Fetcher::new(inputs, spool.finish()?, rules)?;
        let engine = self.engine;
        Ok(Corpus {
            engine,
            docs,
            ids,
            keys,
            outlines,
            prints,
            codes,
            order,
            leader,
            buckets,
            fetcher,
            frequencies,
            budget,
        })
    }
}

impl Corpus {
    /// Distinct texts in order, each by its first document.
    pub(crate) fn texts(&self) -> impl Iterator<Item = u32> {
        let first = |doc: &u32| self.leader[*doc as usize] == *doc && self.counts(*doc);
        self.order.iter().copied().filter(first)
    }

    /// Whether no later record took a document's place.
    pub(crate) fn counts(&self, doc: u32) -> bool {
        self.docs[doc as usize].state != State::Replaced
    }

    /// The documents of each text that has several, as they came.
    pub(crate) fn equals(&self) -> HashMap<u32, Vec<u32>> {
        let mut equals: HashMap<u32, Vec<u32>> = HashMap::new();
        for doc in (0u32..).take(self.docs.len()) {
            let first = self.leader[doc as usize];
            if first != doc {
                equals.entry(first).or_insert_with(|| vec![first]).push(doc);
            }
        }
        equals
    }

    /// What judging needs; with facts where they may be asked for.
    pub(crate) fn known(&self, facts: bool) -> Known<'_> {
        Known {
            engine: &self.engine,
            docs: &self.docs,
            keys: &self.keys,
            prints: &self.prints,
            codes: &self.codes,
            fetcher: &self.fetcher,
            facts,
        }
    }
}
