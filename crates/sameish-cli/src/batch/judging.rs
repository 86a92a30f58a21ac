//! Is it a match? What two documents are to each other, on texts that are read once more where the settings ask for them.

use super::fetch::Fetcher;
use super::held::{Doc, State};
use crate::exit::Failure;
use crate::pipeline::with_scratch;
use rayon::prelude::*;
use sameish::{
    Content, Engine, Facts, FeatureSet, Fingerprint, Judge, MinHashConfig, Sdr, Shingle, Side, Signature,
    TextKey, Verdict, WordFrequencies,
};
use std::collections::HashMap;
use std::sync::{Arc, OnceLock};

/// All that is known of the documents.
#[derive(Clone, Copy)]
pub(crate) struct Known<'a> {
    pub(crate) engine: &'a Engine,
    pub(crate) docs: &'a [Doc],
    pub(crate) keys: &'a [TextKey],
    pub(crate) prints: &'a [u64],
    pub(crate) codes: &'a [Sdr],
    pub(crate) fetcher: &'a Fetcher,
    /// Whether facts may be asked for.
    pub(crate) facts: bool,
}

/// A document whose text was read once more.
#[derive(Default)]
pub(crate) struct Loaded {
    features: FeatureSet,
    signature: Option<Signature>,
    /// Where facts may be asked for.
    content: Option<Content>,
    facts: OnceLock<Facts>,
}

impl Loaded {
    pub(crate) fn facts(&self) -> &Facts {
        let content = || self.content.as_ref().unwrap_or_else(|| unreachable!("kept for its facts"));
        self.facts.get_or_init(|| Facts::of(content()))
    }
}

/// Whether documents are judged on more than what is held of each.
pub(crate) fn needs_texts(engine: &Engine) -> bool {
    engine.config().matching.verify || engine.config().minhash.is_some()
}

impl<'a> Known<'a> {
    /// Whether a document has a signature.
    pub(crate) fn is_signed(&self, doc: u32) -> bool {
        self.docs[doc as usize].state == State::Long
    }

    /// What is known of a document, and of its text if it was loaded.
    pub(crate) fn side<'b>(&self, doc: u32, loaded: Option<&'b Loaded>) -> Side<'b>
    where
        'a: 'b,
    {
        let at = doc as usize;
        let Doc { state, too_short, .. } = self.docs[at];
        Side {
            key: self.keys.get(at).copied().filter(|_| state != State::Blank),
            too_short,
            simhash: self.prints.get(at).map(|&print| Fingerprint::from_u64(print)),
            minhash: loaded.and_then(|loaded| loaded.signature.as_ref()).map(Signature::rows),
            sdr: self.codes.get(at),
            features: loaded.map(|loaded| &loaded.features),
            facts: None,
        }
    }

    /// Reads documents once more, and makes what they are judged on.
    pub(crate) fn load(&self, docs: &[u32]) -> Result<Vec<(u32, Loaded)>, Failure> {
        let verify = self.engine.config().matching.verify;
        let load = |&doc: &u32| {
            let content = self.fetcher.content(&self.docs[doc as usize])?;
            let (mut features, signature) = with_scratch(|scratch| match verify {
                true => (self.engine.features(&content, scratch), None),
                false => (FeatureSet::default(), self.engine.sketch(&content, scratch).minhash),
            });
            features.shrink();
            let content = self.facts.then_some(content);
            Ok((doc, Loaded { features, signature, content, facts: OnceLock::new() }))
        };
        docs.par_iter().with_min_len(16).map(load).collect()
    }
}

/// A document and those it is compared with.
#[derive(Clone, Debug, Default)]
pub(crate) struct Task {
    pub(crate) doc: u32,
    pub(crate) others: Vec<u32>,
}

/// A document that matches.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Found {
    pub(crate) doc: u32,
    pub(crate) verdict: Verdict,
}

/// Compares documents, and keeps the texts that were asked for last.
pub(crate) struct Desk<'a> {
    pub(crate) known: Known<'a>,
    texts: bool,
    /// Asked for since the two changed places, and before that.
    young: HashMap<u32, Arc<Loaded>>,
    old: HashMap<u32, Arc<Loaded>>,
    young_bytes: usize,
    /// Bytes of text that may be loaded at once.
    budget: usize,
}

/// Comparisons that one thread makes at a time, at least.
const PIECE: usize = 64;

/// A comparison that is to be made.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
struct Comparison {
    other: u32,
    task: u32,
}

impl<'a> Desk<'a> {
    pub(crate) fn new(known: Known<'a>, budget: usize) -> Desk<'a> {
        let (young, old) = (HashMap::new(), HashMap::new());
        Desk { texts: needs_texts(known.engine), known, young, old, young_bytes: 0, budget }
    }

    /// Those of each task that match, ascending. With frequencies verdicts carry facts.
    ///
    /// The texts of as many tasks as fit are held while those they are compared with pass by, each once. So a corpus in
    /// which all are candidates of all is read as often as its texts do not fit into memory, and no more.
    pub(crate) fn judge(
        &mut self,
        tasks: &[Task],
        judge: Judge,
        facts: Option<&WordFrequencies>,
    ) -> Result<Vec<Vec<Found>>, Failure> {
        let mut found: Vec<Vec<Found>> = Vec::new();
        found.resize_with(tasks.len(), Vec::new);
        let mut from = 0;
        while from < tasks.len() {
            let (mut to, mut bytes) = (from, 0);
            while to < tasks.len() && bytes < self.budget {
                bytes += if tasks[to].others.is_empty() { 0 } else { self.bytes(tasks[to].doc) };
                to += 1;
            }
            self.judge_held(&tasks[from..to], judge, facts, &mut found[from..to])?;
            from = to;
        }
        Ok(found)
    }

    fn judge_held(
        &mut self,
        tasks: &[Task],
        judge: Judge,
        facts: Option<&WordFrequencies>,
        found: &mut [Vec<Found>],
    ) -> Result<(), Failure> {
        let mut comparisons: Vec<Comparison> = (0u32..)
            .zip(tasks)
            .flat_map(|(task, Task { others, .. })| {
                others.iter().map(move |&other| Comparison { other, task })
            })
            .collect();
        comparisons.sort_unstable();
        let asking = tasks.iter().filter(|task| !task.others.is_empty()).map(|task| task.doc);
        let held = self.loaded(asking)?;
        let mut rest = &comparisons[..];
        while !rest.is_empty() {
            let (mut bytes, mut last) = (0, None);
            let fits = rest.iter().take_while(|comparison| {
                let before = bytes;
                let new = last.replace(comparison.other) != Some(comparison.other);
                bytes += if new { self.bytes(comparison.other) } else { 0 };
                !new || before < self.budget
            });
            let (now, later) = rest.split_at(fits.count());
            let mut others: Vec<u32> = now.iter().map(|comparison| comparison.other).collect();
            others.dedup();
            let passing = self.loaded(others.into_iter())?;
            let one = |&Comparison { other, task }: &Comparison| {
                let doc = tasks[task as usize].doc;
                let verdict =
                    self.verdict((doc, held.get(&doc)), (other, passing.get(&other)), judge, facts)?;
                Some((task, Found { doc: other, verdict }))
            };
            let judged: Vec<(u32, Found)> = now.par_iter().with_min_len(PIECE).filter_map(one).collect();
            judged.into_iter().for_each(|(task, new)| found[task as usize].push(new));
            rest = later;
        }
        Ok(())
    }

    fn verdict(
        &self,
        (a, mine): (u32, Option<&Arc<Loaded>>),
        (b, theirs): (u32, Option<&Arc<Loaded>>),
        judge: Judge,
        facts: Option<&WordFrequencies>,
    ) -> Option<Verdict> {
        let [x, y] = [(a, mine), (b, theirs)].map(|(doc, text)| self.known.side(doc, text.map(Arc::as_ref)));
        let verdict = judge.judge(&x, &y)?;
        Some(match (mine, theirs, facts) {
            (Some(mine), Some(theirs), Some(_)) => {
                verdict.with_facts(facts, || (mine.facts(), theirs.facts()))
            }
            _ => verdict,
        })
    }

    /// Texts that are there or are read now.
    pub(crate) fn loaded(
        &mut self,
        docs: impl Iterator<Item = u32>,
    ) -> Result<HashMap<u32, Arc<Loaded>>, Failure> {
        let (mut loaded, mut missing) = (HashMap::new(), Vec::new());
        let wanted = if self.texts { usize::MAX } else { 0 };
        for doc in docs.take(wanted) {
            match self.young.get(&doc).cloned().or_else(|| self.old.remove(&doc)) {
                Some(there) => {
                    loaded.insert(doc, there.clone());
                    self.keep(doc, there);
                }
                None => missing.push(doc),
            }
        }
        // Neighbors in a file are read one after the other.
        missing.sort_unstable();
        for (doc, new) in self.known.load(&missing)? {
            let new = Arc::new(new);
            loaded.insert(doc, new.clone());
            self.keep(doc, new);
        }
        if self.young_bytes > self.budget {
            self.old = std::mem::take(&mut self.young);
            self.young_bytes = 0;
        }
        Ok(loaded)
    }

    fn keep(&mut self, doc: u32, loaded: Arc<Loaded>) {
        if self.young.insert(doc, loaded).is_none() {
            self.young_bytes += self.bytes(doc);
        }
    }

    /// About how much a text and what is made of it take: its features have 8 bytes a word or character, its facts 4 a word.
    fn bytes(&self, doc: u32) -> usize {
        let by_characters =
            |minhash: &MinHashConfig| matches!(minhash.shingle, Shingle::Chars(_) | Shingle::Letters);
        let config = self.known.engine.config();
        let share = if config.minhash.as_ref().is_some_and(by_characters) { 8 } else { 3 };
        256 + share * self.known.docs[doc as usize].text_bytes as usize
    }
}
