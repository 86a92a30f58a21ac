//! Matching pairs: each distinct text is compared with its earlier candidates, many at a time.

use crate::candidates::{Best, EarlierCandidates};
use crate::compare::{Comparisons, DocMatch, TextCache, WithFacts, facts_decide};
use crate::crowds::CrowdFacts;
use crate::error::Result;
use crate::ranked::{Pending, Ranked};
use crate::recall::{ByBound, Detection, FoundSums, Recall, Work};
use crate::run_log::{Monitor, Progress, RunLog};
use crate::signed::IndexedCorpus;
use crate::stars::ClusterCounts;
use sameish::features::TextKey;
use sameish::matching::{Judge, Relation};
use sameish::{Analyzer, Verdict};
use std::cmp::Ordering;
use std::collections::HashMap;
use std::ops::ControlFlow;

/// Maximum number of texts that are compared at once.
const WINDOW: usize = 8192;
/// Maximum number of candidates that are compared at once; a single text may exceed it.
const WINDOW_CANDIDATES: usize = 1 << 16;
/// Number of comparisons without a match after which a text is compared only with its best candidates; for pairs, an estimate of that
/// number. So a corpus of texts that are candidates of each other without matching costs a bounded number of comparisons per document.
const UNMATCHED: u64 = 20_000;
/// The same, per text.
const UNMATCHED_PER_TEXT: u64 = 64;
/// Number of the best candidates.
const BEST: usize = 64;
/// Number of texts from which the number of comparisons without a match is estimated, and of candidates of each.
const SAMPLED: usize = 256;
const SAMPLED_CANDIDATES: usize = 16;

/// Finds the matches of each distinct text among those with smaller numbers.
pub(crate) struct EarlierMatches<'a> {
    pub(crate) corpus: &'a IndexedCorpus<'a>,
    pub(crate) candidates: EarlierCandidates<'a>,
    pub(crate) texts: TextCache<'a>,
    pub(crate) judge: Judge,
    detection: Option<Detection>,
    by_bound: ByBound,
    counts: PairCounts,
    /// Limits the comparisons of pairs, if too many would be without a match.
    limit: Option<PairLimit>,
}

/// The work done to find pairs.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct PairCounts {
    /// Number of texts whose matches were sought.
    pub asked: u64,
    /// Number of candidates that were compared.
    pub candidates: u64,
    /// Number of these that match.
    pub matched: u64,
    /// Number of texts for which a limit omitted candidates, so that matches may be missing.
    pub caps_hit: u64,
    /// Number of these candidates.
    pub left: u64,
    /// Number of pairs of similar documents in crowded buckets that were screened without their texts, at a cost of a few
    /// nanoseconds each.
    pub screened: u64,
    pub(crate) sums: FoundSums,
}

impl PairCounts {
    /// Returns the estimated share of the matching pairs that were found, or `None` for a configuration without bands.
    pub fn recall(&self, analyzer: &Analyzer) -> Option<Recall> {
        let PairCounts { candidates, matched, left, .. } = *self;
        self.sums.recall(Detection::of(analyzer), &Work { compared: candidates, matched, omitted: left })
    }
}

/// A text with its matches, in ascending order.
pub(crate) struct Matches {
    pub(crate) doc: u32,
    pub(crate) matches: Vec<DocMatch>,
}

/// Which matches are sought.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Sought {
    /// All matches, with the agreement of their facts.
    All,
    /// Matches that join two documents in a cluster; others may be missing.
    Joins,
}

impl<'a> EarlierMatches<'a> {
    pub(crate) fn new(corpus: &'a IndexedCorpus<'a>, sought: Sought) -> Result<EarlierMatches<'a>> {
        let decide = facts_decide(&corpus.analyzer);
        let (facts, filter) = match sought {
            Sought::All => (WithFacts::Yes, WithFacts::No),
            Sought::Joins => (decide, decide),
        };
        let mut finder = EarlierMatches {
            candidates: EarlierCandidates::new(corpus, CrowdFacts { filter, compared: facts })?,
            texts: TextCache::new(corpus, facts),
            judge: Judge::new(corpus.analyzer.config()),
            detection: Detection::of(&corpus.analyzer),
            by_bound: ByBound::default(),
            counts: PairCounts::default(),
            limit: None,
            corpus,
        };
        if sought == Sought::All && finder.judge.verifies() && finder.expects_too_many()? {
            finder.limit = Some(PairLimit::default());
        }
        Ok(finder)
    }

    /// Returns `true` if too many comparisons would be without a match, estimated from the texts with the smallest keys. The result
    /// does not depend on the order of the input.
    fn expects_too_many(&mut self) -> Result<bool> {
        let keys = &self.corpus.signed.keys;
        let mut texts: Vec<u32> = self.corpus.distinct().collect();
        let documents = texts.len() as f64;
        let by_key = |&doc: &u32| (keys[doc as usize], doc);
        if texts.len() > SAMPLED {
            texts.select_nth_unstable_by_key(SAMPLED, by_key);
            texts.truncate(SAMPLED);
        }
        texts.sort_unstable_by_key(by_key);
        let mut tasks: Vec<Comparisons> = Vec::new();
        let mut uncertain: Vec<usize> = Vec::new();
        for &doc in &texts {
            let (mut found, _) = self.candidates.all(doc);
            found.retain(|candidate| !candidate.is_exact);
            if found.len() > BEST {
                uncertain.push(found.len());
                found.select_nth_unstable_by_key(SAMPLED_CANDIDATES, |other| by_key(&other.doc));
                found.truncate(SAMPLED_CANDIDATES);
                tasks.push(Comparisons::new(doc, found));
            }
        }
        let matches = self.texts.judge(&tasks, self.judge, Some(self.candidates.crowds()))?;
        // They show how often candidates match that a limit omits.
        tasks.iter().zip(&matches).for_each(|(task, matches)| self.count_bounds(task, matches));
        let unmatched = |(candidates, matches): (usize, Vec<DocMatch>)| {
            candidates as f64 * (1.0 - matches.len() as f64 / SAMPLED_CANDIDATES as f64)
        };
        let unmatched: f64 = uncertain.into_iter().zip(matches).map(unmatched).sum();
        // Each pair is compared once.
        let per_text = unmatched / texts.len().max(1) as f64 / 2.0;
        Ok(per_text > UNMATCHED_PER_TEXT as f64 + UNMATCHED as f64 / documents)
    }

    /// Returns the next texts with their matches; nothing at the end.
    fn next(&mut self, texts: &mut impl Iterator<Item = u32>) -> Result<Vec<Matches>> {
        let window = match self.limit.take() {
            None => self.next_pending(texts, |_| true, |doc, other| other < doc)?,
            Some(mut limit) => {
                let window = self.next_limited(texts, &mut limit)?;
                self.limit = Some(limit);
                window
            }
        };
        let tasks: Vec<Comparisons> =
            window.into_iter().map(|Pending { doc, rest }| Comparisons::new(doc, rest)).collect();
        let matches = self.texts.judge(&tasks, self.judge, Some(self.candidates.crowds()))?;
        let to_matches = |(task, matches): (Comparisons, Vec<DocMatch>)| {
            self.count(task.candidates.len(), matches.len());
            self.count_bounds(&task, &matches);
            Matches { doc: task.doc, matches }
        };
        Ok(tasks.into_iter().zip(matches).map(to_matches).collect())
    }

    /// Returns the next texts with their candidates; nothing at the end. `in_crowd` selects the texts that have candidates in their
    /// crowds, and `among` these candidates.
    pub(crate) fn next_pending(
        &mut self,
        texts: &mut impl Iterator<Item = u32>,
        in_crowd: impl Fn(u32) -> bool,
        among: impl Fn(u32, u32) -> bool,
    ) -> Result<Vec<Pending>> {
        let window = self.window(texts, |candidates, doc| {
            let among = in_crowd(doc).then_some(|other| among(doc, other));
            candidates.of(doc, among)
        })?;
        self.counts.asked += window.len() as u64;
        Ok(window)
    }

    /// Returns the next texts with their candidates, but no more than the `count` most promising ones of their crowds. Passes
    /// each text whose crowd may have others to `cut`, with the least promising one of them.
    pub(crate) fn next_promising(
        &mut self,
        texts: &mut impl Iterator<Item = u32>,
        count: usize,
        mut cut: impl FnMut(u32, Ranked),
    ) -> Result<Vec<Pending>> {
        let window = self.window(texts, |candidates, doc| {
            let Best { found, last, left } = candidates.best(doc, count);
            last.into_iter().for_each(|last| cut(doc, last));
            (found, left)
        })?;
        self.counts.asked += window.len() as u64;
        Ok(window)
    }

    /// Returns as many texts as are compared at once with their candidates. `candidates` returns those of a text, and the number
    /// of those that a limit omits.
    pub(crate) fn window(
        &mut self,
        texts: &mut impl Iterator<Item = u32>,
        mut candidates: impl FnMut(&mut EarlierCandidates<'a>, u32) -> (Vec<Ranked>, usize),
    ) -> Result<Vec<Pending>> {
        let mut window = Vec::new();
        let mut total = 0;
        while window.len() < WINDOW && total < WINDOW_CANDIDATES {
            let Some(doc) = texts.next() else { break };
            self.corpus.cancellation.check()?;
            let (rest, left) = candidates(&mut self.candidates, doc);
            self.leave(left);
            // A bucket that is not read completely says nothing about the similarity of its documents.
            self.by_bound.omit(1.0, left);
            total += rest.len();
            window.push(Pending { doc, rest });
        }
        Ok(window)
    }

    /// Returns the next texts with those of their earlier candidates that a limit allows.
    fn next_limited(
        &mut self,
        texts: &mut impl Iterator<Item = u32>,
        limit: &mut PairLimit,
    ) -> Result<Vec<Pending>> {
        let keys = &self.corpus.signed.keys;
        let mut omitted: Vec<Vec<Ranked>> = Vec::new();
        let window = self.window(texts, |candidates, doc| {
            let (mut found, left) = candidates.all(doc);
            omitted.push(limit.omit(doc, &mut found, keys));
            (found, left)
        })?;
        omitted.iter().for_each(|omitted| self.omit(omitted));
        self.counts.asked += window.len() as u64;
        Ok(window)
    }

    /// Returns the matches of each task that join.
    pub(crate) fn judge(&mut self, tasks: &[Comparisons]) -> Result<Vec<Vec<DocMatch>>> {
        let mut matches = self.texts.judge(tasks, self.judge, Some(self.candidates.crowds()))?;
        for (task, matches) in tasks.iter().zip(&mut matches) {
            matches.retain(|found| self.judge.joins(&found.verdict));
            self.count(task.candidates.len(), matches.len());
            let similarities = matches.iter().map(|found| (found.verdict.similarity, 1));
            self.counts.sums.add(self.detection, similarities);
        }
        Ok(matches)
    }

    fn count(&mut self, compared: usize, matched: usize) {
        self.counts.candidates += compared as u64;
        self.counts.matched += matched as u64;
    }

    /// Counts candidates of a text that are not compared.
    pub(crate) fn leave(&mut self, candidates: usize) {
        self.counts.caps_hit += u64::from(candidates > 0);
        self.counts.left += candidates as u64;
    }

    /// Counts candidates of a text that a limit omits, with the upper bounds of their similarities.
    pub(crate) fn omit(&mut self, candidates: &[Ranked]) {
        self.leave(candidates.len());
        candidates.iter().for_each(|candidate| self.by_bound.omit(candidate.bound, 1));
    }

    /// Counts compared candidates by the upper bounds of their similarities. Candidates and matches are in ascending order.
    pub(crate) fn count_bounds(&mut self, task: &Comparisons, matches: &[DocMatch]) {
        let mut matches = matches.iter().peekable();
        for candidate in &task.candidates {
            let is_match = matches.next_if(|found| found.doc == candidate.doc).is_some();
            self.by_bound.count(candidate.bound, is_match);
        }
    }

    /// Returns the counts at the end of the run.
    fn pair_counts(&self) -> PairCounts {
        let mut counts = self.counts;
        counts.sums.set_omitted(self.by_bound.expected_matches());
        counts.screened = self.candidates.crowds().screened();
        counts
    }

    /// Returns `true` if too many comparisons were without a match.
    pub(crate) fn is_exhausted(&self) -> bool {
        let PairCounts { asked, candidates, matched, .. } = self.counts;
        candidates - matched > UNMATCHED + UNMATCHED_PER_TEXT * asked
    }

    /// Returns the counts of a clustering.
    pub(crate) fn counts(&self) -> ClusterCounts {
        let PairCounts { candidates, matched, caps_hit, left, screened, sums, .. } = self.pair_counts();
        ClusterCounts {
            candidates,
            caps_hit,
            left,
            joined: matched,
            screened,
            sums,
            ..ClusterCounts::default()
        }
    }
}

/// Limits the comparisons of texts that are candidates of each other without matching. A pair is compared if one of the two texts
/// is among the best candidates of the other one, so that the result does not depend on the order of the input.
#[derive(Default)]
struct PairLimit {
    /// Upper bound and key of the last of the best candidates, of texts that have more.
    last: HashMap<u32, (f64, TextKey)>,
}

impl PairLimit {
    /// Removes the candidates with greater numbers, and those that are not compared, and returns the latter. The texts must be
    /// passed in ascending order.
    fn omit(&mut self, doc: u32, candidates: &mut Vec<Ranked>, keys: &[TextKey]) -> Vec<Ranked> {
        let rank = |candidate: &Ranked| (candidate.bound, keys[candidate.doc as usize]);
        let mut uncertain: Vec<(f64, TextKey)> =
            candidates.iter().filter(|candidate| !candidate.is_exact).map(rank).collect();
        if uncertain.len() > BEST {
            let (_, last, _) = uncertain.select_nth_unstable_by(BEST - 1, cmp_rank);
            self.last.insert(doc, *last);
        }
        let is_best = |of: u32, rank: (f64, TextKey)| {
            self.last.get(&of).is_none_or(|last| cmp_rank(&rank, last).is_le())
        };
        let is_compared = |other: &Ranked| {
            other.is_exact
                || is_best(doc, rank(other))
                || is_best(other.doc, (other.bound, keys[doc as usize]))
        };
        candidates.retain(|other| other.doc < doc);
        let (compared, omitted) = candidates.drain(..).partition(is_compared);
        *candidates = compared;
        omitted
    }
}

/// Compares two candidates, the more promising one first. Of equally promising ones, the first does not depend on the input.
fn cmp_rank((bound, key): &(f64, TextKey), (other_bound, other_key): &(f64, TextKey)) -> Ordering {
    other_bound.total_cmp(bound).then(key.cmp(other_key))
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
    /// How the earlier document relates to the later one, if the match is verified: whether it is an excerpt or an update of it.
    pub relation: Option<Relation>,
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
    /// Parses a name: `include`, `exclude` or `only`.
    pub fn from_name(name: &str) -> Option<ListedTemplates> {
        match name {
            "include" => Some(ListedTemplates::Include),
            "exclude" => Some(ListedTemplates::Exclude),
            "only" => Some(ListedTemplates::Only),
            _ => None,
        }
    }

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
    ) -> Result<PairCounts> {
        let mut finder = EarlierMatches::new(self, Sought::All)?;
        let copies = self.copies();
        let mut texts = self.distinct();
        loop {
            let window = finder.next(&mut texts)?;
            let Some(last) = window.last() else { return Ok(finder.pair_counts()) };
            log.progress(Progress::Comparing { done: last.doc as usize, of: self.signed.len() })?;
            for Matches { doc, matches } in window {
                if self.expand(&mut finder, doc, &matches, &copies, &mut sink)?.is_break() {
                    return Ok(finder.pair_counts());
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
        let mut sink = |a: u32, b: u32, verdict: Verdict, [of_a, of_b]: [u32; 2]| {
            let (a, b, shingles) = if a < b { (a, b, [of_a, of_b]) } else { (b, a, [of_b, of_a]) };
            let relation =
                verdict.relation(shingles.map(|shingles| shingles as usize), self.signed.dates(a, b));
            sink(Pair { a, b, verdict, relation })
        };
        let own = copies_of(copies, &doc);
        let pairs_with = |other: &u32| (own.len() * copies_of(copies, other).len()) as u64;
        let similarities = matches.iter().map(|found| (found.verdict.similarity, pairs_with(&found.doc)));
        let copies_of_own = (own.len() * (own.len() - 1) / 2) as u64;
        finder.counts.sums.add(finder.detection, similarities.chain([(1.0, copies_of_own)]));
        for DocMatch { doc: other, verdict, shingles } in matches {
            for &b in own {
                for &a in copies_of(copies, other) {
                    if sink(a, b, *verdict, *shingles)?.is_break() {
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
                if sink(a, b, verdict, [1, 1])?.is_break() {
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
