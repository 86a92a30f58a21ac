//! Searches for the documents that decide to which cluster a document belongs.

use super::live::LiveCollection;
use super::texts::{FeatureCache, SearchMemo, StoredTexts};
use crate::error::Result;
use crate::store::Read;
use sameish::engine::{Among, External, Joined, Scope, StoredDocument};
use sameish::matching::MatchKind;
use sameish::{DocId, Engine, Match, Prepared, Search, SearchOptions};
use std::collections::HashSet;
use std::ops::RangeInclusive;

/// Maximum number of candidates that are verified per insertion to find all documents that a document joins. It is lower than for a
/// query, because with many documents from one template every insertion has many candidates.
pub(super) const MAX_CANDIDATES: usize = 256;
/// Maximum number of candidates that are verified to find the first center or the best document that a document joins: those whose
/// profiles do not show that it does not join them, or that others are better.
const MAX_JOINING: usize = 2_000;

/// Finds neighbors of documents of a collection as a transaction sees it.
pub(super) struct Neighbors<'a> {
    pub(super) live: &'a LiveCollection,
    pub(super) cache: &'a FeatureCache,
    pub(super) read: &'a dyn Read,
    /// Documents that the transaction deletes. They are still in the index.
    pub(super) removed: &'a HashSet<u64>,
    /// If set, searches for the neighbors of stored documents are done in units.
    pub(super) memo: Option<&'a SearchMemo>,
}

/// The result of a search that may take several units.
pub(super) enum Searched<T> {
    Complete(T),
    /// The unit is over. The next one must repeat the call, and continues the search.
    Paused,
}

impl<T> Searched<T> {
    fn map<U>(self, map: impl FnOnce(T) -> U) -> Searched<U> {
        match self {
            Searched::Complete(found) => Searched::Complete(map(found)),
            Searched::Paused => Searched::Paused,
        }
    }

    /// Returns the result of a search without a memo.
    pub(super) fn complete(self) -> T {
        match self {
            Searched::Complete(found) => found,
            Searched::Paused => unreachable!("only searches with a memo are done in units"),
        }
    }
}

/// A document whose neighbors are searched.
#[derive(Clone, Copy)]
pub(super) struct Subject<'a> {
    pub(super) query: Query<'a>,
    pub(super) number: u64,
    /// Publication date or, without one, time of insertion, in milliseconds since 1970.
    pub(super) moment: i64,
}

/// The text of a subject.
#[derive(Clone, Copy)]
pub(super) enum Query<'a> {
    /// A document that is not in the index.
    New(&'a Prepared),
    /// A document in the index.
    Stored(&'a DocId),
}

/// What a search for neighbors may find.
struct Limits<'f> {
    options: SearchOptions,
    among: Among,
    max_candidates: usize,
    /// Whether only documents are needed that the subject joins.
    joining: bool,
    /// Whether [`Search::best`] is used.
    needs_best: bool,
    /// Whether a sample is enough if there are many similar candidates.
    bounded: bool,
    accepts: &'f dyn Fn(StoredDocument<'_>) -> bool,
}

/// All matches rather than the best ones.
const ALL: SearchOptions = SearchOptions { limit: Some(usize::MAX >> 1), min_similarity: None };

/// Searches all centers that a function accepts.
fn centers<'f>(accepts: &'f dyn Fn(StoredDocument<'_>) -> bool) -> Limits<'f> {
    let max_candidates = MAX_JOINING;
    let among = Among::Centers;
    Limits { options: ALL, among, max_candidates, joining: true, needs_best: false, bounded: false, accepts }
}

impl Neighbors<'_> {
    /// Returns the best matches of a document, for the response to its insertion.
    pub(super) fn duplicates(&self, subject: Subject<'_>) -> Result<Search> {
        let found = self.search(
            subject,
            Limits {
                options: SearchOptions::default(),
                among: Among::All,
                max_candidates: MAX_CANDIDATES,
                joining: false,
                needs_best: false,
                bounded: true,
                accepts: &|other| other.number != subject.number,
            },
        )?;
        Ok(found.complete())
    }

    /// Returns the first center whose turn is before that of a document and that the document joins. `known` are the matches of the
    /// document, if they were searched before.
    pub(super) fn first_center(
        &self,
        subject: Subject<'_>,
        known: Option<&Search>,
    ) -> Result<Searched<Option<u64>>> {
        let turns = self.live.turns();
        let own = turns.of(subject.number);
        let is_earlier = |number| turns.of(number) < own;
        let is_known = known.and_then(|known| self.complete(known)).is_some();
        if let (Query::New(prepared), false, false) = (subject.query, is_known, self.live.has_ranks()) {
            let accepts = |other: StoredDocument<'_>| is_earlier(other.number);
            let dates = self.live.window_around(subject.moment);
            // Most documents of a large group of similar ones join its first center, so that one comparison decides.
            let search = |engine: &Engine<External>, scope: &Scope<'_, External>| {
                engine.first_joining_in(prepared, scope)
            };
            return self.joined(centers(&accepts), dates, search).map(Searched::Complete);
        }
        let found = self.joining_centers(subject, known, &is_earlier)?;
        Ok(found.map(|found| found.iter().map(|found| found.number).min_by_key(|number| turns.of(*number))))
    }

    /// Returns the first center whose turn is after that of a new document and that would join the document. `known` are the matches
    /// of the document.
    pub(super) fn first_outranked(&self, subject: Subject<'_>, known: &Search) -> Result<Option<Match>> {
        let turns = self.live.turns();
        let own = turns.of(subject.number);
        let is_later = |number| turns.of(number) > own;
        let found = self.joining_centers(subject, Some(known), &is_later)?.complete();
        Ok(found.into_iter().min_by_key(|found| turns.of(found.number)))
    }

    /// Returns `false` if no document whose turn is after that of a new document joins it. `known` are the matches of the document.
    pub(super) fn may_outrank(&self, subject: Subject<'_>, known: &Search) -> bool {
        let Some(matches) = self.complete(known) else { return true };
        let turns = self.live.turns();
        let engine = self.live.engine();
        let is_later = |found: &Match| turns.of(found.number) > turns.of(subject.number);
        matches.iter().any(|found| engine.joins(&found.verdict) && is_later(found))
    }

    /// Returns the accepted centers that a document joins.
    fn joining_centers(
        &self,
        subject: Subject<'_>,
        known: Option<&Search>,
        accepts: &dyn Fn(u64) -> bool,
    ) -> Result<Searched<Vec<Match>>> {
        if let Some(matches) = known.and_then(|known| self.complete(known)) {
            let engine = self.live.engine();
            let is_center = |found: &&Match| {
                accepts(found.number)
                    && engine.joins(&found.verdict)
                    && engine.get(&found.id).is_some_and(|stored| stored.is_center)
            };
            return Ok(Searched::Complete(matches.iter().filter(is_center).cloned().collect()));
        }
        let accepts = |other: StoredDocument<'_>| accepts(other.number);
        self.joining(subject, centers(&accepts), self.live.window_around(subject.moment))
    }

    /// Returns the document that a search for the first or the best one that a new document joins finds.
    fn joined(
        &self,
        limits: Limits<'_>,
        dates: Option<RangeInclusive<i64>>,
        search: impl FnOnce(&Engine<External>, &Scope<'_, External>) -> sameish::Result<Joined>,
    ) -> Result<Option<u64>> {
        let texts = StoredTexts::new(&self.live.analyzer, self.cache, self.read);
        let filter = self.filter(&limits);
        let scope = self.scope(&limits, &texts, dates, &filter);
        let found = search(&self.live.engine(), &scope)?;
        texts.check()?;
        if found.capped > 0 {
            self.live.count_capped();
        }
        Ok(found.number)
    }

    fn filter<'f>(&'f self, limits: &'f Limits<'_>) -> impl Fn(StoredDocument<'_>) -> bool + 'f {
        |other| !self.removed.contains(&other.number) && (limits.accepts)(other)
    }

    fn scope<'s>(
        &self,
        limits: &Limits<'_>,
        texts: &'s StoredTexts<'s>,
        dates: Option<RangeInclusive<i64>>,
        filter: &'s dyn Fn(StoredDocument<'_>) -> bool,
    ) -> Scope<'s, External> {
        Scope {
            options: limits.options,
            texts,
            among: limits.among,
            dates,
            filter: Some(filter),
            max_candidates: limits.max_candidates,
            joining: limits.joining,
            needs_best: limits.needs_best,
            bounded: limits.bounded,
        }
    }

    /// Returns the document that an online document is linked to: its best earlier match or, if the texts are equal, the
    /// last copy of it before the document.
    ///
    /// All copies of a text are in one cluster unless there is a window, so the cluster is that of the first copy. Linking
    /// each copy to the one before it makes the deletion of a copy affect one other copy, not all of them.
    pub(super) fn best_link(
        &self,
        subject: Subject<'_>,
        known: Option<&Search>,
    ) -> Result<Searched<Option<u64>>> {
        let accepts = |other: StoredDocument<'_>| {
            other.number < subject.number && self.live.linkage.joins(other.status)
        };
        let limits = || Limits {
            options: SearchOptions { limit: Some(1), min_similarity: None },
            among: Among::All,
            max_candidates: MAX_JOINING,
            joining: true,
            needs_best: true,
            bounded: false,
            accepts: &accepts,
        };
        let searched;
        let found = match (known, subject.query) {
            (Some(known), Query::New(_)) => known,
            _ => {
                let Searched::Complete(found) = self.search(subject, limits())? else {
                    return Ok(Searched::Paused);
                };
                self.note_capped(&found);
                searched = found;
                &searched
            }
        };
        let first = found.matches.first().filter(|first| first.verdict.kind == MatchKind::Exact);
        if let Some(first) = first.filter(|_| self.live.periods().window_days.is_none()) {
            let engine = self.live.engine();
            let mut before = subject.number;
            while let Some(copy) = engine.last_copy_before(&first.id, before) {
                if !self.removed.contains(&copy.number) {
                    return Ok(Searched::Complete(Some(copy.number)));
                }
                before = copy.number;
            }
        }
        match subject.query {
            Query::New(prepared) => {
                let dates = self.live.window_around(subject.moment);
                let search = |engine: &Engine<External>, scope: &Scope<'_, External>| {
                    engine.best_joining_in(prepared, scope)
                };
                self.joined(limits(), dates, search).map(Searched::Complete)
            }
            Query::Stored(_) => Ok(Searched::Complete(found.best)),
        }
    }

    /// Returns earlier documents that a document joins: at least one of each component. `known` are the matches of the
    /// document, if they were searched before.
    ///
    /// Copies of a text match each other, so one of them is enough, however many there are.
    pub(super) fn earlier(&self, subject: Subject<'_>, known: Option<&Search>) -> Result<Searched<Vec<u64>>> {
        if let Some(matches) = known.and_then(|known| self.complete(known)) {
            let engine = self.live.engine();
            let joins = |found: &&Match| found.number < subject.number && engine.joins(&found.verdict);
            let earlier = matches.iter().filter(joins).map(|found| found.number).collect();
            return Ok(Searched::Complete(earlier));
        }
        let mut earlier = Vec::new();
        for dates in self.halves_of_window(subject) {
            let limits = Limits {
                options: ALL,
                among: Among::FirstCopies,
                max_candidates: MAX_CANDIDATES,
                joining: true,
                needs_best: false,
                bounded: false,
                accepts: &|other| other.number < subject.number,
            };
            let Searched::Complete(found) = self.joining(subject, limits, dates)? else {
                return Ok(Searched::Paused);
            };
            earlier.extend(found.iter().map(|found| found.number));
        }
        Ok(Searched::Complete(earlier))
    }

    /// Divides the window of a document into two halves, each as long as the greatest difference between the dates of
    /// documents that match. All copies of a text in one half match each other.
    fn halves_of_window(&self, subject: Subject<'_>) -> Vec<Option<RangeInclusive<i64>>> {
        match self.live.window_around(subject.moment) {
            Some(window) => {
                vec![Some(*window.start()..=subject.moment), Some(subject.moment..=*window.end())]
            }
            None => vec![None],
        }
    }

    /// Searches for the documents of a range of numbers that join a document and whose turns are after its own. Stops after `limit`
    /// candidates or matches.
    pub(super) fn later(
        &self,
        subject: Subject<'_>,
        range: RangeInclusive<u64>,
        limit: usize,
    ) -> Result<Searched<Search>> {
        let turns = self.live.turns();
        let own = turns.of(subject.number);
        let limits = Limits {
            options: SearchOptions { limit: Some(limit), min_similarity: None },
            among: Among::All,
            max_candidates: limit,
            joining: true,
            needs_best: false,
            bounded: false,
            accepts: &|other| range.contains(&other.number) && turns.of(other.number) > own,
        };
        let found = self.search(subject, limits)?;
        let engine = self.live.engine();
        Ok(found.map(|mut search| {
            search.matches.retain(|found| engine.joins(&found.verdict));
            search
        }))
    }

    /// Returns the matches of a search if it found all of them.
    fn complete<'s>(&self, search: &'s Search) -> Option<&'s [Match]> {
        let limit = self.live.analyzer.config().matching.limit as usize;
        (search.capped == 0 && search.matches.len() < limit).then_some(&search.matches)
    }

    fn joining(
        &self,
        subject: Subject<'_>,
        limits: Limits<'_>,
        dates: Option<RangeInclusive<i64>>,
    ) -> Result<Searched<Vec<Match>>> {
        let found = self.search_dated(subject, limits, dates)?;
        let engine = self.live.engine();
        Ok(found.map(|mut search| {
            self.note_capped(&search);
            search.matches.retain(|found| engine.joins(&found.verdict));
            search.matches
        }))
    }

    /// Counts a search that decides on a cluster and reached a limit.
    fn note_capped(&self, search: &Search) {
        if search.capped > 0 {
            self.live.count_capped();
        }
    }

    /// Finds nothing if a stored subject is not in the index or its text cannot be read.
    fn search(&self, subject: Subject<'_>, limits: Limits<'_>) -> Result<Searched<Search>> {
        self.search_dated(subject, limits, self.live.window_around(subject.moment))
    }

    fn search_dated(
        &self,
        subject: Subject<'_>,
        limits: Limits<'_>,
        dates: Option<RangeInclusive<i64>>,
    ) -> Result<Searched<Search>> {
        let mut texts = StoredTexts::new(&self.live.analyzer, self.cache, self.read);
        if let Some(memo) = self.memo {
            memo.start(subject.number);
            texts = texts.in_units(memo);
        }
        let filter = self.filter(&limits);
        let scope = self.scope(&limits, &texts, dates, &filter);
        let engine = self.live.engine();
        let found = match subject.query {
            Query::New(prepared) => Some(engine.search_prepared_in(prepared, &scope)?),
            Query::Stored(id) => {
                let collected = engine.collect_id_in(id, &scope)?;
                drop(engine);
                collected.and_then(|collected| collected.judge(&texts))
            }
        };
        texts.check()?;
        if self.memo.is_some() && texts.skipped() > 0 {
            return Ok(Searched::Paused);
        }
        Ok(Searched::Complete(found.unwrap_or_default()))
    }
}
