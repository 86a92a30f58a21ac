//! Step **pair**: candidates among the distinct texts, from every index of the configuration.

use crate::compare::by_distance;
use crate::crowds::{CrowdFacts, Crowds};
use crate::error::Result;
use crate::ranked::Ranked;
use crate::signed::IndexedCorpus;
use crate::table::State;
use sameish::Fingerprint;
use sameish::features::TextKey;
use sameish::index::{BUCKET_SCANNED, DocNumber, FingerprintIndex, Hit, OverlapIndex};
use sameish::matching::distance_to_similarity;
use std::collections::HashMap;

/// Indexes over the distinct texts, besides the buckets of the corpus.
pub(crate) struct Indexes<'a> {
    corpus: &'a IndexedCorpus<'a>,
    fingerprints: Option<FingerprintIndex>,
    codes: Option<OverlapIndex>,
    /// Documents of crowded buckets, which the buckets of the corpus do not have.
    pub(crate) crowds: Crowds,
    /// Whether fingerprints alone decide.
    by_distance: bool,
    /// Distinct texts with the same key: equal texts with different sketches.
    same_key: HashMap<TextKey, Vec<u32>>,
    hits: Vec<Hit>,
}

impl<'a> Indexes<'a> {
    /// Indexes the distinct texts from document `first` on.
    ///
    /// `facts` says which pairs in crowds are not candidates.
    pub(crate) fn new(corpus: &'a IndexedCorpus<'a>, first: u32, facts: CrowdFacts) -> Result<Indexes<'a>> {
        let signed = &corpus.signed;
        let texts = || corpus.distinct().filter(move |&doc| doc >= first);
        let config = corpus.analyzer.config();
        // Documents with flooded fingerprints are in crowds, with all that are near them.
        let is_indexed = |print: &Fingerprint| corpus.crowded.prints.binary_search(&print.as_u64()).is_err();
        let entry = |doc: u32| {
            let print = signed.fingerprint(doc).filter(is_indexed)?;
            Some((print, DocNumber(doc), signed.has_signature(doc)))
        };
        let entries: Vec<(Fingerprint, DocNumber, bool)> = texts().filter_map(entry).collect();
        let mut fingerprints = FingerprintIndex::new(config, entries.len())?;
        fingerprints.iter_mut().for_each(|index| index.insert_all(entries.iter().copied()));
        let mut codes = config.sdr.as_ref().map(|sdr| OverlapIndex::new(sdr.size));
        if let Some(codes) = &mut codes {
            for doc in texts() {
                codes.insert(DocNumber(doc), &signed.codes[doc as usize])?;
            }
        }
        let crowds = Crowds::new(corpus, &corpus.crowded, facts)?;
        let by_distance = by_distance(&corpus.analyzer);
        let same_key = same_key(corpus);
        Ok(Indexes { same_key, corpus, fingerprints, codes, crowds, by_distance, hits: Vec::new() })
    }

    /// Returns other distinct texts with the key of a document.
    pub(crate) fn same_key(&self, doc: u32) -> &[u32] {
        let list =
            (!self.same_key.is_empty()).then(|| self.same_key.get(&self.corpus.signed.keys[doc as usize]));
        list.flatten().map_or(&[], Vec::as_slice)
    }

    /// Returns `true` if a document has a fingerprint, a sparse code, a crowd or equal texts.
    pub(crate) fn contains(&self, doc: u32) -> bool {
        self.corpus.signed.fingerprint(doc).is_some()
            || self.codes.is_some()
            || self.crowds.contains(doc)
            || !self.same_key(doc).is_empty()
    }

    /// Calls `visit` with documents near a document by sparse code or fingerprint, without those of its crowd; at most `limit` by
    /// fingerprint. Returns the number of others. A document may be visited twice.
    pub(crate) fn near(&mut self, doc: u32, limit: usize, mut visit: impl FnMut(Ranked)) -> usize {
        let signed = &self.corpus.signed;
        if let (Some(codes), Some(code)) = (&self.codes, signed.codes.get(doc as usize)) {
            let share = self.corpus.analyzer.config().matching.threshold;
            let least = (share * code.active().len() as f64).ceil().max(1.0) as u32;
            let hits = codes.at_least(code, least);
            let hits = hits.unwrap_or_else(|error| unreachable!("codes of one configuration: {error}"));
            hits.iter().for_each(|hit| visit(Ranked::unknown(hit.doc.0)));
        }
        let mut left = 0;
        if let (Some(index), Some(fingerprint)) = (&self.fingerprints, signed.fingerprint(doc)) {
            index.find(fingerprint, signed.has_signature(doc), &mut self.hits);
            self.hits.retain(|hit| !self.crowds.share(doc, hit.doc.0));
            left = self.hits.len().saturating_sub(limit);
            for hit in self.hits.iter().take(limit) {
                let bound = if self.by_distance { distance_to_similarity(hit.distance) } else { 1.0 };
                visit(Ranked { bound, ..Ranked::unknown(hit.doc.0) });
            }
        }
        left
    }

    /// Removes a document from the fingerprints and crowds.
    pub(crate) fn remove(&mut self, doc: u32) {
        self.crowds.remove(doc);
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
    pub(crate) fn new(corpus: &'a IndexedCorpus<'a>, facts: CrowdFacts) -> Result<EarlierCandidates<'a>> {
        let visited = vec![false; corpus.signed.len()];
        Ok(EarlierCandidates { indexes: Indexes::new(corpus, 0, facts)?, visited, corpus })
    }

    /// Returns the documents of crowded buckets.
    pub(crate) fn crowds(&self) -> &Crowds {
        &self.indexes.crowds
    }

    /// Returns the candidates of a document: those with smaller numbers, and those in its crowd that `among` selects, none
    /// without it. Also returns the number of candidates that a limit omits.
    ///
    /// If a bucket is too large to scan completely, its first documents are candidates of all later ones.
    pub(crate) fn of(&mut self, doc: u32, among: Option<impl Fn(u32) -> bool>) -> (Vec<Ranked>, usize) {
        let mut found = among.map_or_else(Vec::new, |among| self.in_crowd(doc, among));
        let left = self.add_others(doc, |other| other < doc, &mut found);
        (found, left)
    }

    /// Returns all candidates of a document, with smaller and greater numbers. Also returns the number of candidates that a limit
    /// omits.
    pub(crate) fn all(&mut self, doc: u32) -> (Vec<Ranked>, usize) {
        let mut found = self.in_crowd(doc, |_| true);
        let left = self.add_others(doc, |other| other != doc, &mut found);
        (found, left)
    }

    /// Returns the candidates of a document with smaller numbers, but no more than the `count` most promising ones in its crowd.
    pub(crate) fn best(&mut self, doc: u32, count: usize) -> Best {
        let is_selective = self.indexes.crowds.is_selective(doc);
        let mut found = if is_selective {
            self.in_crowd(doc, |other| other < doc)
        } else {
            let signed = &self.corpus.signed;
            self.indexes.crowds.best_earlier(doc, count, |other| signed.near(doc, other).is_some())
        };
        let last = (!is_selective && found.len() == count).then(|| found[count - 1]);
        let left = self.add_others(doc, |other| other < doc, &mut found);
        Best { found, last, left }
    }

    /// Returns the candidates of a document in its crowd that `among` selects.
    pub(crate) fn in_crowd(&mut self, doc: u32, among: impl Fn(u32) -> bool) -> Vec<Ranked> {
        let mut found: Vec<Ranked> = Vec::new();
        let (signed, visited) = (&self.corpus.signed, &mut self.visited);
        self.indexes.crowds.near(doc, among, |candidate| {
            let other = candidate.doc as usize;
            if !visited[other] && signed.near(doc, candidate.doc).is_some() {
                visited[other] = true;
                found.push(candidate);
            }
        });
        found.iter().for_each(|candidate| visited[candidate.doc as usize] = false);
        found
    }

    /// Adds the candidates of a document that are not in its crowd and that `among` selects. Returns the number of those that a
    /// limit omits.
    fn add_others(&mut self, doc: u32, among: impl Fn(u32) -> bool, found: &mut Vec<Ranked>) -> usize {
        let mut left = 0;
        let visited = &mut self.visited;
        found.iter().for_each(|candidate| visited[candidate.doc as usize] = true);
        let mut add = |other: Ranked| {
            if !std::mem::replace(&mut visited[other.doc as usize], true) {
                found.push(other);
            }
        };
        let same_key = self.indexes.same_key(doc).iter().filter(|&&other| among(other));
        same_key.for_each(|&other| add(Ranked::unknown(other)));
        let signed = &self.corpus.signed;
        let mut add_near = |other: Ranked| {
            if signed.near(doc, other.doc).is_some() {
                add(other);
            }
        };
        for members in self.corpus.buckets_of(doc) {
            let mut members = members.iter().filter(|&&other| among(other));
            let others = members.by_ref().take(BUCKET_SCANNED);
            let others = others.filter(|&&other| !self.indexes.crowds.share(doc, other));
            others.for_each(|&other| add_near(Ranked::unknown(other)));
            left += members.count();
        }
        self.indexes.near(doc, usize::MAX, |other| {
            if among(other.doc) {
                add_near(other);
            }
        });
        found.iter().for_each(|candidate| visited[candidate.doc as usize] = false);
        left
    }
}

/// Candidates of a document.
pub(crate) struct Best {
    pub(crate) found: Vec<Ranked>,
    /// The least promising one of its crowd, if there may be others that are less promising.
    pub(crate) last: Option<Ranked>,
    /// Number of candidates that a limit omits.
    pub(crate) left: usize,
}
