//! Who may be near? Candidates among the distinct texts, from every lane that the settings have.

use super::corpus::Corpus;
use super::held::State;
use crate::exit::Failure;
use sameish::{
    BUCKET_SCANNED, Config, DocNumber, Effort, Fingerprint, Hit, OverlapIndex, PrintIndex, TextKey,
};
use std::collections::HashMap;

/// The indexes over distinct texts.
pub(crate) struct Near<'a> {
    corpus: &'a Corpus,
    prints: Option<PrintIndex>,
    overlap: Option<OverlapIndex>,
    /// Distinct texts of one key: equal ones of which the settings make unequal sketches.
    same: HashMap<TextKey, Vec<u32>>,
    /// Which documents were met while the present one is asked.
    met: Vec<bool>,
    hits: Vec<Hit>,
}

/// Who is asked for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Wanted {
    All,
    /// Those with smaller numbers.
    Earlier,
}

/// An index of the fingerprints that are not zero, each with whether there is a signature beside it, for settings that
/// make any.
pub(crate) fn print_index(
    config: &Config,
    prints: impl Iterator<Item = (u32, u64, bool)>,
) -> Result<Option<PrintIndex>, Failure> {
    let prints = prints.filter(|(_, print, _)| *print != 0);
    let entries: Vec<(Fingerprint, DocNumber, bool)> =
        prints.map(|(doc, print, signed)| (Fingerprint::from_u64(print), DocNumber(doc), signed)).collect();
    let index = PrintIndex::new(config, entries.len());
    let mut index = index.map_err(|error| Failure::usage(error.to_string()))?;
    index.iter_mut().for_each(|index| index.insert_all(entries.iter().copied()));
    Ok(index)
}

impl<'a> Near<'a> {
    pub(crate) fn new(corpus: &'a Corpus) -> Result<Near<'a>, Failure> {
        let config = corpus.engine.config();
        let print =
            |doc: u32| (doc, corpus.prints.get(doc as usize).copied().unwrap_or(0), signed(corpus, doc));
        let mut overlap = config.sdr.as_ref().map(|sdr| OverlapIndex::new(sdr.size));
        if let Some(overlap) = &mut overlap {
            for doc in corpus.texts() {
                let added = overlap.insert(DocNumber(doc), &corpus.codes[doc as usize]);
                added.map_err(|error| Failure::usage(error.to_string()))?;
            }
        }
        Ok(Near {
            prints: print_index(config, corpus.texts().map(print))?,
            overlap,
            same: same(corpus),
            met: vec![false; corpus.docs.len()],
            hits: Vec::new(),
            corpus,
        })
    }

    /// Who may match a text, ascending: at most as many as the effort so far allows, the most promising of them.
    pub(crate) fn candidates(&mut self, doc: u32, wanted: Wanted, effort: &mut Effort) -> Vec<u32> {
        let (mut capped, verify) = (0, self.corpus.engine.config().matching.verify);
        let takes = |other: u32| other != doc && (wanted == Wanted::All || other < doc);
        let mut docs: Vec<u32> = self.same(doc).iter().copied().filter(|&other| takes(other)).collect();
        docs.iter().for_each(|&other| self.met[other as usize] = true);
        let equal = docs.len();
        for bucket in self.corpus.buckets.of(DocNumber(doc)) {
            let mut members = self.corpus.buckets.members(bucket);
            if wanted == Wanted::Earlier {
                members = &members[..members.partition_point(|&other| other < doc)];
            }
            capped += usize::from(members.len() > BUCKET_SCANNED);
            for &other in members.iter().take(BUCKET_SCANNED).filter(|&&other| other != doc) {
                if !std::mem::replace(&mut self.met[other as usize], true) {
                    docs.push(other);
                }
            }
        }
        let mut sharing: Vec<(u32, u32)> = Vec::with_capacity(docs.len() - equal);
        for other in docs.drain(equal..) {
            self.met[other as usize] = false;
            sharing.extend(self.corpus.outlines.near(doc, other).map(|distance| (distance, other)));
        }
        sharing.sort_unstable();
        docs.extend(sharing.into_iter().map(|(_, other)| other));
        docs.iter().for_each(|&other| self.met[other as usize] = true);
        self.by_code(doc, takes, &mut docs);
        docs.iter().for_each(|&other| self.met[other as usize] = false);
        if verify && docs.len() > effort.most() {
            docs.truncate(effort.most());
            capped += 1;
        }
        effort.add(docs.len(), capped);
        docs.sort_unstable();
        docs
    }

    /// Adds those near by sparse code and by fingerprint.
    fn by_code(&mut self, doc: u32, takes: impl Fn(u32) -> bool, docs: &mut Vec<u32>) {
        let at = doc as usize;
        let mut add = |met: &mut Vec<bool>, other: u32| {
            if takes(other) && !std::mem::replace(&mut met[other as usize], true) {
                docs.push(other);
            }
        };
        if let (Some(overlap), Some(code)) = (&self.overlap, self.corpus.codes.get(at)) {
            let share = self.corpus.engine.config().matching.threshold;
            let least = (share * code.active().len() as f64).ceil().max(1.0) as u32;
            let hits = overlap.at_least(code, least);
            let hits = hits.unwrap_or_else(|error| unreachable!("what is held fits the index: {error}"));
            hits.iter().for_each(|hit| add(&mut self.met, hit.doc.0));
        }
        if let (Some(prints), Some(&print @ 1..)) = (&self.prints, self.corpus.prints.get(at)) {
            prints.find(Fingerprint::from_u64(print), signed(self.corpus, doc), &mut self.hits);
            for &Hit { doc: DocNumber(other), .. } in &self.hits {
                let corpus = self.corpus;
                let both = signed(corpus, doc) && signed(corpus, other);
                if both && corpus.outlines.near(doc, other).is_none() {
                    continue;
                }
                add(&mut self.met, other);
            }
        }
    }

    /// What signatures say of a candidate; fingerprints and sparse codes have said it already.
    pub(crate) fn probably_matches(&self, a: u32, b: u32) -> bool {
        let both = signed(self.corpus, a) && signed(self.corpus, b);
        !both || self.corpus.outlines.probably(a, b, self.corpus.engine.config().matching.threshold)
    }

    fn same(&self, doc: u32) -> &[u32] {
        let list = (!self.same.is_empty()).then(|| self.same.get(&self.corpus.keys[doc as usize]));
        list.flatten().map_or(&[], Vec::as_slice)
    }
}

/// Whether a document has a signature.
fn signed(corpus: &Corpus, doc: u32) -> bool {
    corpus.docs[doc as usize].state == State::Long
}

fn same(corpus: &Corpus) -> HashMap<TextKey, Vec<u32>> {
    let key = |doc: u32| corpus.keys[doc as usize];
    let mut texts: Vec<u32> = corpus.texts().collect();
    texts.sort_unstable_by_key(|&doc| (key(doc), doc));
    let runs = texts.chunk_by(|&a, &b| key(a) == key(b)).filter(|run| run.len() > 1);
    runs.map(|run| (key(run[0]), run.to_vec())).collect()
}
