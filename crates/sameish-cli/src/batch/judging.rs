//! Is it a match? What two documents are to each other, on texts that are read once more where the settings ask for them.

use super::fetch::Fetcher;
use super::sign::{Doc, State};
use crate::exit::Failure;
use crate::pipeline::with_scratch;
use rayon::prelude::*;
use sameish::{
    Content, Engine, Facts, FeatureSet, Fingerprint, Judge, Sdr, Side, Signature, TextKey, Verdict,
    WordFrequencies,
};
use std::collections::{HashMap, HashSet};
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
            let (features, signature) = with_scratch(|scratch| match verify {
                true => (self.engine.features(&content, scratch), None),
                false => (FeatureSet::default(), self.engine.sketch(&content, scratch).minhash),
            });
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

/// Comparisons that one thread makes at a time.
const PIECE: usize = 256;

/// A task, or a part of it.
struct Piece {
    task: usize,
    from: usize,
    to: usize,
}

impl<'a> Desk<'a> {
    pub(crate) fn new(known: Known<'a>, budget: usize) -> Desk<'a> {
        let (young, old) = (HashMap::new(), HashMap::new());
        Desk { texts: needs_texts(known.engine), known, young, old, young_bytes: 0, budget }
    }

    /// Those of each task that match, in its order. With frequencies verdicts carry facts.
    pub(crate) fn judge(
        &mut self,
        tasks: &[Task],
        judge: Judge,
        facts: Option<&WordFrequencies>,
    ) -> Result<Vec<Vec<Found>>, Failure> {
        let mut found: Vec<Vec<Found>> = Vec::new();
        found.resize_with(tasks.len(), Vec::new);
        let (mut pieces, mut needed, mut bytes) = (Vec::new(), HashSet::new(), 0);
        for (task, Task { doc, others }) in tasks.iter().enumerate() {
            let mut from = 0;
            while from < others.len() {
                let mut to = from;
                while to < others.len() && to - from < PIECE && (to == from || bytes < self.budget) {
                    for doc in [*doc, others[to]] {
                        bytes += if needed.insert(doc) { self.bytes(doc) } else { 0 };
                    }
                    to += 1;
                }
                pieces.push(Piece { task, from, to });
                from = to;
                if self.texts && bytes >= self.budget {
                    self.judge_pieces(tasks, &pieces, &needed, judge, facts, &mut found)?;
                    (pieces, needed, bytes) = (Vec::new(), HashSet::new(), 0);
                }
            }
        }
        self.judge_pieces(tasks, &pieces, &needed, judge, facts, &mut found)?;
        Ok(found)
    }

    fn judge_pieces(
        &mut self,
        tasks: &[Task],
        pieces: &[Piece],
        needed: &HashSet<u32>,
        judge: Judge,
        facts: Option<&WordFrequencies>,
        found: &mut [Vec<Found>],
    ) -> Result<(), Failure> {
        let loaded = if self.texts { self.loaded(needed.iter().copied())? } else { HashMap::new() };
        let known = &self.known;
        let judge_piece = |piece: &Piece| {
            let Task { doc, others } = &tasks[piece.task];
            let mine = loaded.get(doc).map(Arc::as_ref);
            let side = known.side(*doc, mine);
            let one = |&other: &u32| {
                let theirs = loaded.get(&other).map(Arc::as_ref);
                let mut verdict = judge.judge(&side, &known.side(other, theirs))?;
                if let (Some(mine), Some(theirs), Some(_)) = (mine, theirs, facts) {
                    verdict = verdict.with_facts(facts, || (mine.facts(), theirs.facts()));
                }
                Some(Found { doc: other, verdict })
            };
            others[piece.from..piece.to].iter().filter_map(one).collect::<Vec<Found>>()
        };
        let judged: Vec<Vec<Found>> = pieces.par_iter().map(judge_piece).collect();
        pieces.iter().zip(judged).for_each(|(piece, judged)| found[piece.task].extend(judged));
        Ok(())
    }

    /// Texts that are there or are read now.
    pub(crate) fn loaded(
        &mut self,
        docs: impl Iterator<Item = u32>,
    ) -> Result<HashMap<u32, Arc<Loaded>>, Failure> {
        let (mut loaded, mut missing) = (HashMap::new(), Vec::new());
        for doc in docs {
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

    /// About how much a text and what is made of it take: its features have 8 bytes a word, its facts 4.
    fn bytes(&self, doc: u32) -> usize {
        256 + 3 * self.known.docs[doc as usize].text_bytes as usize
    }
}
