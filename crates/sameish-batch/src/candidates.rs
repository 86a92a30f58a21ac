//! Step **pair**: candidates among the distinct texts, from every index of the configuration.

use crate::error::Result;
use crate::signed::IndexedCorpus;
use crate::table::State;
use sameish::Fingerprint;
use sameish::engine::Effort;
use sameish::features::TextKey;
use sameish::index::{BUCKET_SCANNED, DocNumber, FingerprintIndex, Hit, OverlapIndex};
use std::collections::HashMap;

/// Indexes over the distinct texts, besides the buckets of the corpus.
pub(crate) struct Indexes<'a> {
    corpus: &'a IndexedCorpus<'a>,
    fingerprints: Option<FingerprintIndex>,
    codes: Option<OverlapIndex>,
    /// Distinct texts with the same key: equal texts with different sketches.
    same_key: HashMap<TextKey, Vec<u32>>,
    hits: Vec<Hit>,
}

impl<'a> Indexes<'a> {
    /// Indexes the distinct texts from document `first` on.
    pub(crate) fn new(corpus: &'a IndexedCorpus<'a>, first: u32) -> Result<Indexes<'a>> {
        let signed = &corpus.signed;
        let texts = || corpus.distinct().filter(move |&doc| doc >= first);
        let config = corpus.analyzer.config();
        let entry = |doc: u32| Some((signed.fingerprint(doc)?, DocNumber(doc), signed.has_signature(doc)));
        let entries: Vec<(Fingerprint, DocNumber, bool)> = texts().filter_map(entry).collect();
        let mut fingerprints = FingerprintIndex::new(config, entries.len())?;
        fingerprints.iter_mut().for_each(|index| index.insert_all(entries.iter().copied()));
        let mut codes = config.sdr.as_ref().map(|sdr| OverlapIndex::new(sdr.size));
        if let Some(codes) = &mut codes {
            for doc in texts() {
                codes.insert(DocNumber(doc), &signed.codes[doc as usize])?;
            }
        }
        Ok(Indexes { same_key: same_key(corpus), corpus, fingerprints, codes, hits: Vec::new() })
    }

    /// Returns other distinct texts with the key of a document.
    pub(crate) fn same_key(&self, doc: u32) -> &[u32] {
        let list =
            (!self.same_key.is_empty()).then(|| self.same_key.get(&self.corpus.signed.keys[doc as usize]));
        list.flatten().map_or(&[], Vec::as_slice)
    }

    /// Returns `true` if a document has a fingerprint, a sparse code or equal texts.
    pub(crate) fn contains(&self, doc: u32) -> bool {
        self.corpus.signed.fingerprint(doc).is_some()
            || self.codes.is_some()
            || !self.same_key(doc).is_empty()
    }

    /// Calls `visit` with documents near a document by sparse code or fingerprint; at most `limit` by fingerprint. Returns
    /// `true` if there are more. A document may be visited twice.
    pub(crate) fn near(&mut self, doc: u32, limit: usize, mut visit: impl FnMut(u32)) -> bool {
        let signed = &self.corpus.signed;
        if let (Some(codes), Some(code)) = (&self.codes, signed.codes.get(doc as usize)) {
            let share = self.corpus.analyzer.config().matching.threshold;
            let least = (share * code.active().len() as f64).ceil().max(1.0) as u32;
            let hits = codes.at_least(code, least);
            let hits = hits.unwrap_or_else(|error| unreachable!("codes of one configuration: {error}"));
            hits.iter().for_each(|hit| visit(hit.doc.0));
        }
        let mut more = false;
        if let (Some(index), Some(fingerprint)) = (&self.fingerprints, signed.fingerprint(doc)) {
            index.find(fingerprint, signed.has_signature(doc), &mut self.hits);
            more = self.hits.len() > limit;
            self.hits.iter().take(limit).for_each(|hit| visit(hit.doc.0));
        }
        more
    }

    /// Removes the fingerprint of a document.
    pub(crate) fn remove(&mut self, doc: u32) {
        let signed = &self.corpus.signed;
        if let (Some(index), Some(fingerprint)) = (&mut self.fingerprints, signed.fingerprint(doc)) {
            index.remove(fingerprint, DocNumber(doc), signed.has_signature(doc));
        }
    }
}

fn same_key(corpus: &IndexedCorpus<'_>) -> HashMap<TextKey, Vec<u32>> {
    let key = |doc: u32| corpus.signed.keys[doc as usize];
    let is_blank = |doc: &u32| corpus.signed.rows[*doc as usize].state == State::Blank;
    let mut texts: Vec<u32> = corpus.distinct().filter(|doc| !is_blank(doc)).collect();
    texts.sort_unstable_by_key(|&doc| (key(doc), doc));
    let runs = texts.chunk_by(|&a, &b| key(a) == key(b)).filter(|run| run.len() > 1);
    runs.map(|run| (key(run[0]), run.to_vec())).collect()
}

/// Candidates with smaller numbers, for pairs and for clusters that are built from them.
pub(crate) struct EarlierCandidates<'a> {
    corpus: &'a IndexedCorpus<'a>,
    indexes: Indexes<'a>,
    /// Documents that were visited for the current one.
    visited: Vec<bool>,
}

impl<'a> EarlierCandidates<'a> {
    pub(crate) fn new(corpus: &'a IndexedCorpus<'a>) -> Result<EarlierCandidates<'a>> {
        let visited = vec![false; corpus.signed.len()];
        Ok(EarlierCandidates { indexes: Indexes::new(corpus, 0)?, visited, corpus })
    }

    /// Returns the candidates of a document among those with smaller numbers, in ascending order; at most as many as
    /// `effort` allows, the most promising ones.
    ///
    /// If a bucket is too large to scan completely, its first documents are candidates of all later ones.
    pub(crate) fn of(&mut self, doc: u32, effort: &mut Effort) -> Vec<u32> {
        let signed = &self.corpus.signed;
        let mut capped = 0;
        let same_key = self.indexes.same_key(doc).iter().copied().filter(|&other| other < doc);
        let mut docs: Vec<u32> = same_key.collect();
        let equal = docs.len();
        docs.iter().for_each(|&other| self.visited[other as usize] = true);
        for members in self.corpus.buckets_of(doc) {
            let members = &members[..members.partition_point(|&other| other < doc)];
            capped += usize::from(members.len() > BUCKET_SCANNED);
            for &other in members.iter().take(BUCKET_SCANNED) {
                if !std::mem::replace(&mut self.visited[other as usize], true) {
                    docs.push(other);
                }
            }
        }
        let mut nearest: Vec<(u32, u32)> = Vec::with_capacity(docs.len() - equal);
        for other in docs.drain(equal..) {
            self.visited[other as usize] = false;
            nearest.extend(signed.outlines.near(doc, other).map(|distance| (distance, other)));
        }
        nearest.sort_unstable();
        docs.extend(nearest.into_iter().map(|(_, other)| other));
        docs.iter().for_each(|&other| self.visited[other as usize] = true);
        let visited = &mut self.visited;
        self.indexes.near(doc, usize::MAX, |other| {
            if other < doc && !visited[other as usize] && signed.near(doc, other).is_some() {
                visited[other as usize] = true;
                docs.push(other);
            }
        });
        docs.iter().for_each(|&other| self.visited[other as usize] = false);
        if self.corpus.analyzer.config().matching.verify && docs.len() > effort.most() {
            docs.truncate(effort.most());
            capped += 1;
        }
        effort.add(docs.len(), capped);
        docs.sort_unstable();
        docs
    }
}
