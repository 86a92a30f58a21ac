//! Searches for the one document that decides to which cluster a new document belongs: the first or the best one that it joins.

use super::Engine;
use super::collection::{Collection, QueryView};
use super::crowd::{NearText, Profile};
use super::lookup::{Candidate, least_estimate};
use super::search::{Gathered, Scope, TextMatch};
use super::storage::Storage;
use crate::analyzer::{Prepared, Status};
use crate::error::Result;
use crate::matching::Verdict;
use std::cmp::{Ordering, Reverse};
use std::collections::{BinaryHeap, HashSet};

/// The document that a query joins; see [`Engine::first_joining_in`] and [`Engine::best_joining_in`].
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Joined {
    /// The insertion number of the document.
    pub number: Option<u64>,
    /// The number of candidates that were judged.
    pub candidates: usize,
    /// The number of limits reached. If it is not 0, another document may be the right one.
    pub capped: usize,
}

impl<S: Storage> Engine<S> {
    /// Finds the first document within a scope that a [prepared](crate::Analyzer::prepare) document joins, in the order of
    /// insertion. See [`Judge::joins`](crate::matching::Judge::joins).
    ///
    /// Candidates are judged in this order, so that the search ends with the first one that joins.
    pub fn first_joining_in(&self, prepared: &Prepared, scope: &Scope<'_, S>) -> Result<Joined> {
        self.collection.first_joining(&QueryView::of(prepared), scope)
    }

    /// Finds the best document within a scope that a [prepared](crate::Analyzer::prepare) document joins and that is long enough:
    /// what [`Search::best`](super::Search::best) is after a search that finds all matches.
    ///
    /// Candidates are judged by descending bounds of their similarities, so that the search ends when no other can be better.
    pub fn best_joining_in(&self, prepared: &Prepared, scope: &Scope<'_, S>) -> Result<Joined> {
        let BestJoining { best, candidates, capped } =
            self.collection.best_joining(&QueryView::of(prepared), scope)?;
        Ok(Joined { number: best.map(|best| best.number), candidates, capped })
    }
}

/// The best document that a query joins.
#[derive(Clone, Copy, Default)]
pub(super) struct BestJoining {
    pub(super) best: Option<Best>,
    pub(super) candidates: usize,
    pub(super) capped: usize,
}

/// A document that a query joins.
#[derive(Clone, Copy)]
pub(super) struct Best {
    pub(super) text: u32,
    /// The insertion number of the first document of the text that may be found.
    pub(super) number: u64,
    verdict: Verdict,
}

impl Best {
    /// Returns `true` if a candidate may be a better match. `rows` is the number of rows of a signature.
    fn may_be_worse_than(&self, Promising { candidate, number }: &Promising, rows: usize) -> bool {
        let similarity = self.verdict.similarity;
        if !self.verdict.verified {
            return true;
        }
        match (candidate.bound, candidate.estimate) {
            (Some(bound), _) => bound > similarity || bound == similarity && *number < self.number,
            (None, Some(estimate)) => estimate >= least_estimate(similarity, rows),
            (None, None) => true,
        }
    }
}

/// A candidate with the insertion number of its first document that may be found. The greatest one is the most promising one.
#[derive(Clone, Copy)]
struct Promising {
    candidate: Candidate,
    number: u64,
}

impl Ord for Promising {
    fn cmp(&self, other: &Promising) -> Ordering {
        let ranks = self.candidate.rank().total_cmp(&other.candidate.rank());
        ranks.then_with(|| Reverse(self.number).cmp(&Reverse(other.number)))
    }
}

impl PartialOrd for Promising {
    fn partial_cmp(&self, other: &Promising) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl PartialEq for Promising {
    fn eq(&self, other: &Promising) -> bool {
        self.cmp(other).is_eq()
    }
}

impl Eq for Promising {}

impl<S: Storage> Collection<S> {
    /// Finds the first document that a query joins, in the order of insertion.
    fn first_joining(&self, query: &QueryView<'_>, scope: &Scope<'_, S>) -> Result<Joined> {
        let scope = &Scope { joining: true, dates: scope.dates.clone(), ..*scope };
        let Gathered { mut texts, near, mut capped, .. } =
            self.gather(query, || Profile::of_query(query), self.judge, usize::MAX, scope)?;
        texts.retain(|candidate| self.any_admitted(candidate.text, scope));
        if texts.len() > scope.max_candidates {
            self.sort_shuffled(&mut texts);
            texts.truncate(scope.max_candidates);
            capped += 1;
        }
        let mut ordered: Vec<(u64, u32, bool)> = Vec::with_capacity(texts.len() + near.len());
        let first = |text: u32| self.first_admitted(text, scope);
        ordered.extend(texts.iter().filter_map(|found| Some((first(found.text)?, found.text, false))));
        ordered.extend(near.iter().filter_map(|found| Some((first(found.text)?, found.text, true))));
        ordered.sort_unstable();
        ordered.dedup_by_key(|(_, text, _)| *text);
        let mut candidates = 0;
        for (number, text, is_near) in ordered {
            if is_near && !self.share_band(query, text) {
                continue;
            }
            if candidates == scope.max_candidates {
                capped += 1;
                break;
            }
            candidates += 1;
            if self.joining_verdict(query, text, scope).is_some() {
                return Ok(Joined { number: Some(number), candidates, capped });
            }
        }
        Ok(Joined { number: None, candidates, capped })
    }

    /// Finds the best document that a query joins; of equally good ones, the first in the order of insertion.
    ///
    /// In a crowd, the query is first compared with a few texts whose profiles are closest to its own. Usually one of them is better
    /// than any other can be.
    pub(super) fn best_joining(&self, query: &QueryView<'_>, scope: &Scope<'_, S>) -> Result<BestJoining> {
        let scope = |bounded| Scope { joining: true, bounded, dates: scope.dates.clone(), ..*scope };
        let few = self.best_joining_of(query, 1, &scope(true))?;
        if few.capped == 0 {
            return Ok(few);
        }
        let all = self.best_joining_of(query, usize::MAX, &scope(false))?;
        Ok(BestJoining { candidates: few.candidates + all.candidates, ..all })
    }

    /// Finds the best document that a query joins among the texts that a search for `needed` documents examines. Others that may be
    /// better count as a limit.
    fn best_joining_of(
        &self,
        query: &QueryView<'_>,
        needed: usize,
        scope: &Scope<'_, S>,
    ) -> Result<BestJoining> {
        let Gathered { texts, near, capped, left_out } =
            self.gather(query, || Profile::of_query(query), self.judge, needed, scope)?;
        let rows = query.signature.map_or(1, <[u32]>::len);
        let promising = |candidate: Candidate| {
            let is_long = self.texts[candidate.text].status == Status::Ok;
            let number = self.first_admitted(candidate.text, scope).filter(|_| is_long)?;
            Some(Promising { candidate, number })
        };
        let known: HashSet<u32> = match near.is_empty() {
            true => HashSet::new(),
            false => texts.iter().map(|candidate| candidate.text).collect(),
        };
        let mut texts: Vec<Promising> = texts.into_iter().filter_map(promising).collect();
        texts.sort_unstable_by(|a, b| b.cmp(a));
        let near = near.into_iter().filter(|near| !known.contains(&near.text));
        let bounded =
            |near: NearText| Candidate { bound: Some(near.bound), ..Candidate::unranked(near.text) };
        let mut near: BinaryHeap<Promising> = near.filter_map(|near| promising(bounded(near))).collect();
        let mut found = BestJoining { capped, ..BestJoining::default() };
        for next in texts {
            if !self.consider(next, query, scope, rows, &mut found) {
                break;
            }
        }
        while let Some(next) = near.pop() {
            if found.best.is_some_and(|best| !best.may_be_worse_than(&next, rows)) {
                break;
            }
            if self.share_band(query, next.candidate.text)
                && !self.consider(next, query, scope, rows, &mut found)
            {
                break;
            }
        }
        let is_best = |bound: f64| {
            found.best.is_some_and(|best| best.verdict.verified && bound < best.verdict.similarity)
        };
        found.capped += usize::from(left_out.is_some_and(|bound| !is_best(bound)));
        Ok(found)
    }

    /// Judges a candidate if it may be better than what was found. Returns `false` if the limit is reached.
    fn consider(
        &self,
        next: Promising,
        query: &QueryView<'_>,
        scope: &Scope<'_, S>,
        rows: usize,
        found: &mut BestJoining,
    ) -> bool {
        if found.best.is_some_and(|best| !best.may_be_worse_than(&next, rows)) {
            return true;
        }
        if found.candidates == scope.max_candidates {
            found.capped += 1;
            return false;
        }
        found.candidates += 1;
        let Promising { candidate: Candidate { text, .. }, number } = next;
        let Some(verdict) = self.joining_verdict(query, text, scope) else { return true };
        let is_better = |best: Best| verdict.cmp_rank(&best.verdict).then(number.cmp(&best.number)).is_lt();
        if found.best.is_none_or(is_better) {
            found.best = Some(Best { text, number, verdict });
        }
        true
    }

    /// Returns the insertion number of the first document of a text that a search may find.
    fn first_admitted(&self, text: u32, scope: &Scope<'_, S>) -> Option<u64> {
        Some(self.docs[self.admitted(text, scope).next()?].number)
    }

    /// Returns the verdict on a candidate if the query joins it.
    fn joining_verdict(&self, query: &QueryView<'_>, text: u32, scope: &Scope<'_, S>) -> Option<Verdict> {
        let verdict = self.verdict(query, self.judge, text, scope)?;
        self.joins(query, self.judge, &TextMatch { text, verdict }, scope).then_some(verdict)
    }
}
