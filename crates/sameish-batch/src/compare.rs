//! Step **verify**: comparison of documents on texts that are read a second time where the configuration requires it.

use crate::error::Result;
use crate::ordered_pool::with_scratch;
use crate::signed::IndexedCorpus;
use crate::table::{Row, State};
use crate::texts::DocumentText;
use sameish::Analyzer;
use sameish::config::{MinHashConfig, Shingle};
use sameish::features::{Facts, FeatureSet};
use sameish::matching::{Judge, Side};
use sameish::{Fingerprint, Signature, Verdict};
use std::collections::HashMap;
use std::sync::{Arc, OnceLock};

/// Whether verdicts contain facts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum WithFacts {
    Yes,
    No,
}

/// A text that was read a second time, with what comparisons need.
#[derive(Default)]
pub(crate) struct LoadedText<'a> {
    features: FeatureSet,
    signature: Option<Signature>,
    /// Kept if facts may be needed, with the analyzer that computes them.
    text: Option<(DocumentText<'a>, Analyzer)>,
    facts: OnceLock<Facts>,
}

impl LoadedText<'_> {
    pub(crate) fn facts(&self) -> &Facts {
        self.facts.get_or_init(|| {
            let kept = self.text.as_ref();
            let (text, analyzer) = kept.unwrap_or_else(|| unreachable!("the text is kept for its facts"));
            with_scratch(|scratch| analyzer.facts(text.content(), scratch))
        })
    }
}

/// Returns `true` if comparisons need more than the columns of the corpus.
pub(crate) fn needs_texts(analyzer: &Analyzer) -> bool {
    analyzer.config().matching.verify || analyzer.config().minhash.is_some()
}

/// Returns `true` if fingerprints alone decide.
pub(crate) fn by_distance(analyzer: &Analyzer) -> bool {
    let config = analyzer.config();
    !config.matching.verify && config.simhash.is_some() && config.minhash.is_none()
}

impl<'a> IndexedCorpus<'a> {
    /// Returns what is known of a document, and of its text if it is loaded.
    pub(crate) fn side<'b>(&'b self, doc: u32, loaded: Option<&'b LoadedText<'_>>) -> Side<'b> {
        let at = doc as usize;
        let Row { state, too_short, .. } = self.signed.rows[at];
        Side {
            key: self.signed.keys.get(at).copied().filter(|_| state != State::Blank),
            too_short,
            simhash: self.signed.fingerprints.get(at).map(|&fingerprint| Fingerprint::from_u64(fingerprint)),
            minhash: loaded.and_then(|loaded| loaded.signature.as_ref()).map(Signature::rows),
            sdr: self.signed.codes.get(at),
            features: loaded.map(|loaded| &loaded.features),
            facts: None,
        }
    }

    /// Reads documents and computes their features.
    pub(crate) fn load(&self, docs: &[u32], facts: WithFacts) -> Result<Vec<(u32, LoadedText<'a>)>> {
        let verify = self.analyzer.config().matching.verify;
        let load = |at: usize| {
            self.cancellation.check()?;
            let doc = docs[at];
            let text = self.texts.text(&self.signed.rows[doc as usize])?;
            let (mut features, signature) = with_scratch(|scratch| match verify {
                true => (self.analyzer.shingles(text.content(), scratch), None),
                false => (FeatureSet::default(), self.analyzer.sketch(text.content(), scratch).minhash),
            });
            features.shrink();
            let text = (facts == WithFacts::Yes).then_some((text, self.analyzer.clone()));
            Ok((doc, LoadedText { features, signature, text, facts: OnceLock::new() }))
        };
        self.workers.map(docs.len(), PIECE_OF_TEXTS, load)?.into_iter().collect()
    }
}

/// Minimum number of texts per thread.
const PIECE_OF_TEXTS: usize = 16;

/// The comparisons of a document with its candidates.
#[derive(Clone, Debug, Default)]
pub(crate) struct Comparisons {
    pub(crate) doc: u32,
    pub(crate) candidates: Vec<u32>,
}

/// A candidate that matches.
#[derive(Clone, Copy, Debug)]
pub(crate) struct DocMatch {
    pub(crate) doc: u32,
    pub(crate) verdict: Verdict,
}

/// Compares documents, and caches the texts that were used last.
pub(crate) struct TextCache<'a> {
    pub(crate) corpus: &'a IndexedCorpus<'a>,
    facts: WithFacts,
    needs_texts: bool,
    /// Texts used since the generations were swapped.
    young: HashMap<u32, Arc<LoadedText<'a>>>,
    /// Texts used before.
    old: HashMap<u32, Arc<LoadedText<'a>>>,
    young_bytes: usize,
    /// Limit of each generation in bytes.
    limit: usize,
}

/// Number of comparisons that a thread takes at once.
const PIECE: usize = 64;

#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
struct Comparison {
    candidate: u32,
    /// Position of the task.
    task: u32,
}

impl<'a> TextCache<'a> {
    pub(crate) fn new(corpus: &'a IndexedCorpus<'a>, facts: WithFacts) -> TextCache<'a> {
        TextCache {
            facts,
            needs_texts: needs_texts(&corpus.analyzer),
            young: HashMap::new(),
            old: HashMap::new(),
            young_bytes: 0,
            limit: corpus.memory.text_cache(),
            corpus,
        }
    }

    /// Returns the matches of each task, in ascending order.
    ///
    /// The texts of as many tasks as fit are kept while their candidates are read one by one. So even if all documents are
    /// candidates of each other, the corpus is read only as often as its size exceeds the limit.
    pub(crate) fn judge(&mut self, tasks: &[Comparisons], judge: Judge) -> Result<Vec<Vec<DocMatch>>> {
        let mut matches: Vec<Vec<DocMatch>> = Vec::new();
        matches.resize_with(tasks.len(), Vec::new);
        let mut from = 0;
        while from < tasks.len() {
            let mut to = from;
            let mut bytes = 0;
            while to < tasks.len() && bytes < self.limit {
                bytes += if tasks[to].candidates.is_empty() { 0 } else { self.bytes(tasks[to].doc) };
                to += 1;
            }
            self.judge_part(&tasks[from..to], judge, &mut matches[from..to])?;
            from = to;
        }
        Ok(matches)
    }

    fn judge_part(
        &mut self,
        tasks: &[Comparisons],
        judge: Judge,
        matches: &mut [Vec<DocMatch>],
    ) -> Result<()> {
        let mut comparisons: Vec<Comparison> = (0u32..)
            .zip(tasks)
            .flat_map(|(task, Comparisons { candidates, .. })| {
                candidates.iter().map(move |&candidate| Comparison { candidate, task })
            })
            .collect();
        comparisons.sort_unstable();
        let docs = tasks.iter().filter(|task| !task.candidates.is_empty()).map(|task| task.doc);
        let kept = self.load(docs)?;
        let mut rest = &comparisons[..];
        while !rest.is_empty() {
            let (now, later) = rest.split_at(self.prefix_that_fits(rest));
            let mut candidates: Vec<u32> = now.iter().map(|comparison| comparison.candidate).collect();
            candidates.dedup();
            let loaded = self.load(candidates.into_iter())?;
            let compare = |&Comparison { candidate, task }: &Comparison| {
                let doc = tasks[task as usize].doc;
                let verdict = self.verdict(
                    (doc, kept.get(&doc).map(Arc::as_ref)),
                    (candidate, loaded.get(&candidate).map(Arc::as_ref)),
                    judge,
                )?;
                Some((task, DocMatch { doc: candidate, verdict }))
            };
            let corpus = self.corpus;
            let piece = |at: usize| {
                let piece = &now[at * PIECE..now.len().min((at + 1) * PIECE)];
                let piece = piece.iter().filter(|_| !corpus.cancellation.is_canceled());
                piece.filter_map(compare).collect::<Vec<_>>()
            };
            let found = corpus.workers.map(now.len().div_ceil(PIECE), 1, piece)?;
            corpus.cancellation.check()?;
            found.into_iter().flatten().for_each(|(task, found)| matches[task as usize].push(found));
            rest = later;
        }
        Ok(())
    }

    /// Returns the number of comparisons whose candidates fit into the limit.
    fn prefix_that_fits(&self, comparisons: &[Comparison]) -> usize {
        let mut bytes = 0;
        let mut last = None;
        let fits = comparisons.iter().take_while(|comparison| {
            let before = bytes;
            let new = last.replace(comparison.candidate) != Some(comparison.candidate);
            bytes += if new { self.bytes(comparison.candidate) } else { 0 };
            !new || before < self.limit
        });
        fits.count()
    }

    fn verdict(
        &self,
        (a, a_text): (u32, Option<&LoadedText<'_>>),
        (b, b_text): (u32, Option<&LoadedText<'_>>),
        judge: Judge,
    ) -> Option<Verdict> {
        let verdict = judge.judge(&self.corpus.side(a, a_text), &self.corpus.side(b, b_text))?;
        Some(match a_text.zip(b_text).filter(|_| self.facts == WithFacts::Yes) {
            Some((a, b)) => verdict.with_facts(|| (a.facts(), b.facts())),
            None => verdict,
        })
    }

    /// Returns the verdict for two documents with the same text.
    pub(crate) fn same_text(&mut self, doc: u32, judge: Judge) -> Result<Option<Verdict>> {
        if !judge.verifies() {
            let found = self.judge(&[Comparisons { doc, candidates: vec![doc] }], judge)?;
            return Ok(found.iter().flatten().next().map(|found| found.verdict));
        }
        // Equal texts have equal features, whatever these are.
        let unread = LoadedText::default();
        let side = self.corpus.side(doc, Some(&unread));
        let facts = || (unread.facts(), unread.facts());
        Ok(judge.judge(&side, &side).map(|verdict| verdict.with_facts(facts)))
    }

    /// Returns the texts of documents, from the cache or from disk.
    fn load(&mut self, docs: impl Iterator<Item = u32>) -> Result<HashMap<u32, Arc<LoadedText<'a>>>> {
        let mut loaded = HashMap::new();
        let mut missing = Vec::new();
        for doc in docs.take(if self.needs_texts { usize::MAX } else { 0 }) {
            match self.young.get(&doc).cloned().or_else(|| self.old.remove(&doc)) {
                Some(text) => {
                    loaded.insert(doc, text.clone());
                    self.insert(doc, text);
                }
                None => missing.push(doc),
            }
        }
        // Neighbors in a file are read one after the other.
        missing.sort_unstable();
        for (doc, text) in self.corpus.load(&missing, self.facts)? {
            let text = Arc::new(text);
            loaded.insert(doc, text.clone());
            self.insert(doc, text);
        }
        if self.young_bytes > self.limit {
            self.old = std::mem::take(&mut self.young);
            self.young_bytes = 0;
        }
        Ok(loaded)
    }

    fn insert(&mut self, doc: u32, text: Arc<LoadedText<'a>>) {
        if self.young.insert(doc, text).is_none() {
            self.young_bytes += self.bytes(doc);
        }
    }

    /// Returns the approximate size of a loaded text: features take 8 bytes per word or character, facts 4 per word.
    fn bytes(&self, doc: u32) -> usize {
        let by_characters =
            |minhash: &MinHashConfig| matches!(minhash.shingle, Shingle::Chars(_) | Shingle::Letters);
        let config = self.corpus.analyzer.config();
        let factor = if config.minhash.as_ref().is_some_and(by_characters) { 8 } else { 3 };
        256 + factor * self.corpus.signed.rows[doc as usize].text_bytes as usize
    }
}
