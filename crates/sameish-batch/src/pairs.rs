//! Matching pairs: each distinct text is compared with its earlier candidates, many at a time.

use crate::candidates::EarlierCandidates;
use crate::compare::{Comparisons, DocMatch, TextCache, WithFacts};
use crate::error::Result;
use crate::run_log::{Monitor, Progress, RunLog};
use crate::signed::IndexedCorpus;
use sameish::Verdict;
use sameish::engine::Effort;
use sameish::matching::Judge;
use std::collections::HashMap;
use std::ops::ControlFlow;

/// Maximum number of texts that are compared at once.
const WINDOW: usize = 8192;
/// Maximum number of candidates that are compared at once; a single text may exceed it.
const WINDOW_CANDIDATES: usize = 1 << 19;

/// Finds the matches of each distinct text among those with smaller numbers.
pub(crate) struct EarlierMatches<'a> {
    pub(crate) corpus: &'a IndexedCorpus<'a>,
    candidates: EarlierCandidates<'a>,
    texts: TextCache<'a>,
    judge: Judge,
    pub(crate) effort: Effort,
}

/// A text with its matches, in ascending order.
pub(crate) struct Matches {
    pub(crate) doc: u32,
    pub(crate) matches: Vec<DocMatch>,
}

impl<'a> EarlierMatches<'a> {
    pub(crate) fn new(corpus: &'a IndexedCorpus<'a>, facts: WithFacts) -> Result<EarlierMatches<'a>> {
        Ok(EarlierMatches {
            candidates: EarlierCandidates::new(corpus)?,
            texts: TextCache::new(corpus, facts),
            judge: Judge::new(corpus.analyzer.config()),
            effort: Effort::default(),
            corpus,
        })
    }

    /// Returns the next texts with their matches; nothing at the end.
    pub(crate) fn next(&mut self, texts: &mut impl Iterator<Item = u32>) -> Result<Vec<Matches>> {
        let mut tasks = Vec::new();
        let mut total = 0;
        while tasks.len() < WINDOW && total < WINDOW_CANDIDATES {
            let Some(doc) = texts.next() else { break };
            self.corpus.cancellation.check()?;
            let candidates = self.candidates.of(doc, &mut self.effort);
            total += candidates.len();
            tasks.push(Comparisons { doc, candidates });
        }
        let matches = self.texts.judge(&tasks, self.judge)?;
        Ok(tasks.into_iter().zip(matches).map(|(task, matches)| Matches { doc: task.doc, matches }).collect())
    }

    /// Returns `true` if a match joins two documents in a cluster.
    pub(crate) fn joins(&self, verdict: &Verdict) -> bool {
        self.judge.joins(verdict)
    }
}

/// A matching pair of documents.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Pair {
    /// Number of the earlier document.
    pub a: u32,
    /// Number of the later document.
    pub b: u32,
    /// How the documents match.
    pub verdict: Verdict,
}

/// Which pairs are listed: templates are matches, but not duplicates.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum ListedTemplates {
    /// All matching pairs.
    #[default]
    Include,
    /// Pairs that are not templates.
    Exclude,
    /// Pairs that are templates.
    Only,
}

impl ListedTemplates {
    /// Returns `true` if a pair with this verdict is listed.
    pub fn lists(self, verdict: &Verdict) -> bool {
        match self {
            ListedTemplates::Include => true,
            ListedTemplates::Exclude => !verdict.template,
            ListedTemplates::Only => verdict.template,
        }
    }
}

impl IndexedCorpus<'_> {
    /// Calls `sink` with every matching pair until it returns `Break`: in the order of the later document, then of the earlier.
    /// Copies of a text are expanded one by one and not stored.
    pub fn pairs(
        &self,
        mut sink: impl FnMut(Pair) -> Result<ControlFlow<()>>,
        log: &mut RunLog<dyn Monitor + '_>,
    ) -> Result<Effort> {
        let mut finder = EarlierMatches::new(self, WithFacts::Yes)?;
        let copies = self.copies();
        let mut texts = self.distinct();
        loop {
            let window = finder.next(&mut texts)?;
            let Some(last) = window.last() else { return Ok(finder.effort) };
            log.progress(Progress::Comparing { done: last.doc as usize, of: self.signed.len() })?;
            for Matches { doc, matches } in window {
                if self.expand(&mut finder, doc, &matches, &copies, &mut sink)?.is_break() {
                    return Ok(finder.effort);
                }
            }
        }
    }

    /// Calls `sink` with the pairs of all copies of a text.
    fn expand(
        &self,
        finder: &mut EarlierMatches<'_>,
        doc: u32,
        matches: &[DocMatch],
        copies: &HashMap<u32, Vec<u32>>,
        sink: &mut impl FnMut(Pair) -> Result<ControlFlow<()>>,
    ) -> Result<ControlFlow<()>> {
        let mut sink = |a: u32, b: u32, verdict| sink(Pair { a: a.min(b), b: a.max(b), verdict });
        let own = copies_of(copies, &doc);
        for DocMatch { doc: other, verdict } in matches {
            for &b in own {
                for &a in copies_of(copies, other) {
                    if sink(a, b, *verdict)?.is_break() {
                        return Ok(ControlFlow::Break(()));
                    }
                }
            }
        }
        if own.len() < 2 {
            return Ok(ControlFlow::Continue(()));
        }
        let judge = finder.judge;
        let Some(verdict) = finder.texts.same_text(doc, judge)? else { return Ok(ControlFlow::Continue(())) };
        for (i, &b) in own.iter().enumerate() {
            for &a in &own[..i] {
                if sink(a, b, verdict)?.is_break() {
                    return Ok(ControlFlow::Break(()));
                }
            }
        }
        Ok(ControlFlow::Continue(()))
    }
}

/// Returns the documents with a text, in the order of the input.
fn copies_of<'a>(copies: &'a HashMap<u32, Vec<u32>>, text: &'a u32) -> &'a [u32] {
    copies.get(text).map_or(std::slice::from_ref(text), Vec::as_slice)
}
