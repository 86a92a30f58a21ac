//! Searches for the documents that decide to which cluster a document belongs.

use super::live::LiveCollection;
use super::texts::{FeatureCache, SearchMemo, StoredTexts};
use crate::error::Result;
use crate::store::Read;
use sameish::engine::{Among, External, Scope, StoredDocument};
use sameish::matching::MatchKind;
use sameish::{DocId, Match, Prepared, Search, SearchOptions};
use std::collections::HashSet;
use std::ops::RangeInclusive;

/// Maximum number of candidates that are verified per insertion. It is lower than for a query, because with many documents
/// from one template every insertion has many candidates.
pub(super) const MAX_CANDIDATES: usize = 256;

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
    accepts: &'f dyn Fn(StoredDocument<'_>) -> bool,
}

/// All matches rather than the best ones.
const ALL: SearchOptions = SearchOptions { limit: Some(usize::MAX >> 1), min_similarity: None };

impl Neighbors<'_> {
    /// Returns the best matches of a document, for the response to its insertion.
    pub(super) fn duplicates(&self, subject: Subject<'_>) -> Result<Search> {
        let found = self.search(
            subject,
            Limits {
                options: SearchOptions::default(),
                among: Among::All,
                max_candidates: MAX_CANDIDATES,
                accepts: &|other| other.number != subject.number,
            },
        )?;
        Ok(found.complete())
    }

    /// Returns the first center before a document that the document joins. `known` are the matches of the document, if they
    /// were searched before.
    pub(super) fn first_center(
        &self,
        subject: Subject<'_>,
        known: Option<&Search>,
    ) -> Result<Searched<Option<u64>>> {
        if let Some(matches) = known.and_then(|known| self.complete(known)) {
            let engine = self.live.engine();
            let is_center = |found: &&Match| {
                found.number < subject.number
                    && engine.joins(&found.verdict)
                    && engine.get(&found.id).is_some_and(|stored| stored.is_center)
            };
            let first = matches.iter().filter(is_center).map(|found| found.number).min();
            return Ok(Searched::Complete(first));
        }
        let limits = Limits {
            options: ALL,
            among: Among::Centers,
            max_candidates: MAX_CANDIDATES,
            accepts: &|other| other.number < subject.number,
        };
        let found = self.joining(subject, limits, self.live.window_around(subject.moment))?;
        Ok(found.map(|found| found.iter().map(|found| found.number).min()))
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
        let searched;
        let found = match known {
            Some(known) => known,
            None => {
                let accepts = |other: StoredDocument<'_>| {
                    other.number < subject.number && self.live.linkage.joins(other.status)
                };
                let limits = Limits {
                    options: SearchOptions { limit: Some(1), min_similarity: None },
                    among: Among::All,
                    max_candidates: MAX_CANDIDATES,
                    accepts: &accepts,
                };
                let Searched::Complete(found) = self.search(subject, limits)? else {
                    return Ok(Searched::Paused);
                };
                self.note_capped(&found);
                searched = found;
                &searched
            }
        };
        let first = found.matches.first().filter(|first| first.verdict.kind == MatchKind::Exact);
        if let Some(first) = first.filter(|_| self.live.row.window_days.is_none()) {
            let engine = self.live.engine();
            let mut before = subject.number;
            while let Some(copy) = engine.last_copy_before(&first.id, before) {
                if !self.removed.contains(&copy.number) {
                    return Ok(Searched::Complete(Some(copy.number)));
                }
                before = copy.number;
            }
        }
        Ok(Searched::Complete(found.best))
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

    /// Searches for the documents of a range that join a document. Stops after `limit` candidates or matches.
    pub(super) fn later(
        &self,
        subject: Subject<'_>,
        range: RangeInclusive<u64>,
        limit: usize,
    ) -> Result<Searched<Search>> {
        let limits = Limits {
            options: SearchOptions { limit: Some(limit), min_similarity: None },
            among: Among::All,
            max_candidates: limit,
            accepts: &|other| range.contains(&other.number),
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
        let filter =
            |other: StoredDocument<'_>| !self.removed.contains(&other.number) && (limits.accepts)(other);
        let scope: Scope<'_, External> = Scope {
            options: limits.options,
            texts: &texts,
            among: limits.among,
            dates,
            filter: Some(&filter),
            max_candidates: limits.max_candidates,
        };
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
