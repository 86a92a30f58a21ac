//! Searching: from candidates to matches.

use super::Engine;
use super::collection::{Collection, QueryView};
use super::dates::Within;
use super::lookup::{Candidate, Candidates, least_estimate};
use super::storage::{FeaturesRef, InMemory, Storage};
use super::text::{Docs, TextNumbers};
use crate::analyzer::{Prepared, Scratch, Sketches, Status, TextFeatures};
use crate::document::{ContentRef, DocId, Timestamp};
use crate::error::Result;
use crate::matching::{Judge, Verdict};
use std::collections::HashSet;
use std::ops::RangeInclusive;
use std::sync::LazyLock;

/// The maximum number of candidates that one query judges.
pub const CANDIDATES_JUDGED: usize = 2_000;

/// A document that matches a query.
#[derive(Clone, Debug, PartialEq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct Match {
    /// The id of the document.
    pub id: DocId,
    /// The insertion number of the document.
    pub number: u64,
    /// How the document matches.
    #[cfg_attr(feature = "serde", serde(flatten))]
    pub verdict: Verdict,
}

/// The result of a search.
#[derive(Clone, Debug, Default, PartialEq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct Search {
    /// The matches by descending similarity; equally similar ones in the order of insertion. If matches are verified, those
    /// that could not be verified are last.
    pub matches: Vec<Match>,
    /// The insertion number of the best match that the query may share a cluster with ([`Judge::joins`]) and that is long
    /// enough.
    pub best: Option<u64>,
    /// The number of distinct candidates that were examined.
    pub candidates: usize,
    /// The number of limits reached. If it is not 0, matches may be missing.
    pub capped: usize,
}

/// Options of a search. Absent options take the value of the configuration.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct SearchOptions {
    /// The maximum number of matches returned.
    pub limit: Option<usize>,
    /// The minimum similarity. Far below the configured threshold, the index finds few documents.
    pub min_similarity: Option<f64>,
}

/// What an engine knows about a stored document.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct StoredDocument<'a> {
    /// The id.
    pub id: &'a DocId,
    /// The insertion number. Later documents have greater numbers.
    pub number: u64,
    /// The publication date, if it was given and the engine uses it.
    pub published: Option<Timestamp>,
    /// Whether the text has enough words.
    pub status: Status,
    /// Whether the document is marked as a center.
    pub is_center: bool,
}

/// Which documents a search may find.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Among {
    /// All documents.
    #[default]
    All,
    /// The first document of each text that the scope selects, however many copies it has. If that is the document whose
    /// matches are searched, no other copy of its text is found.
    FirstCopies,
    /// Documents that are marked as centers. They are found in constant time per text, however many copies it has.
    Centers,
}

/// Which documents a search may find, and its limits.
pub struct Scope<'a, S: Storage> {
    /// The options of the search.
    pub options: SearchOptions,
    /// The source of the features of stored texts.
    pub texts: S::Reader<'a>,
    /// Whether only centers may be found.
    pub among: Among,
    /// Dates of the documents that may be found, in milliseconds since 1970. Documents without a date are not found. `None`
    /// selects all documents.
    pub dates: Option<RangeInclusive<i64>>,
    /// Selects the documents that may be found; `None` selects all.
    pub filter: Option<&'a dyn Fn(StoredDocument<'_>) -> bool>,
    /// The maximum number of candidates that are judged.
    pub max_candidates: usize,
}

impl Scope<'_, InMemory> {
    fn in_memory(options: SearchOptions) -> Self {
        let max_candidates = CANDIDATES_JUDGED;
        Scope { options, texts: (), among: Among::All, dates: None, filter: None, max_candidates }
    }
}

impl Engine {
    /// Finds the documents that match a text.
    pub fn search<'a>(&self, content: impl Into<ContentRef<'a>>, options: SearchOptions) -> Result<Search> {
        Scratch::with_thread_local(|scratch| self.search_with(content, options, scratch))
    }

    /// Finds the documents that match a text like [`search`](Self::search), with buffers of the caller. See
    /// [`insert_with`](Self::insert_with).
    pub fn search_with<'a>(
        &self,
        content: impl Into<ContentRef<'a>>,
        options: SearchOptions,
        scratch: &mut Scratch,
    ) -> Result<Search> {
        self.search_prepared(&self.analyzer.prepare(content, scratch), options)
    }

    /// Finds the documents that match a [prepared](crate::Analyzer::prepare) document.
    pub fn search_prepared(&self, prepared: &Prepared, options: SearchOptions) -> Result<Search> {
        self.search_prepared_in(prepared, &Scope::in_memory(options))
    }

    /// Finds the documents whose sketches match. Without a text nothing can be verified, so no match is marked as verified.
    pub fn search_sketches(&self, sketches: &Sketches, options: SearchOptions) -> Result<Search> {
        self.collection.search(&QueryView::of_sketches(sketches), None, &Scope::in_memory(options))
    }

    /// Finds the other documents that match a stored one. Returns `None` if there is no document with this id.
    pub fn search_id(&self, id: &DocId, options: SearchOptions) -> Result<Option<Search>> {
        self.search_id_in(id, &Scope::in_memory(options))
    }
}

impl<S: Storage> Engine<S> {
    /// Finds the documents within a scope that match a [prepared](crate::Analyzer::prepare) document.
    pub fn search_prepared_in(&self, prepared: &Prepared, scope: &Scope<'_, S>) -> Result<Search> {
        self.collection.search(&QueryView::of(prepared), None, scope)
    }

    /// Finds the other documents within a scope that match a stored one. Returns `None` if there is no document with this
    /// id, or if its text cannot be read.
    pub fn search_id_in(&self, id: &DocId, scope: &Scope<'_, S>) -> Result<Option<Search>> {
        let Some(&slot) = self.collection.numbers.get(id) else { return Ok(None) };
        let doc = &self.collection.docs[slot];
        let features = if self.config().matching.verify {
            let kept = &self.collection.texts[doc.text].features;
            S::read(kept, scope.texts, doc.number)
        } else {
            Some(FeaturesRef::Kept(&NO_FEATURES))
        };
        let Some(features) = features else { return Ok(None) };
        let query = self.collection.view_of(doc.text).with_features(&features);
        self.collection.search(&query, Some(slot), scope).map(Some)
    }
}

/// For pairs whose verdict does not depend on features (see [`needs_features`]).
pub(super) static NO_FEATURES: LazyLock<TextFeatures> = LazyLock::new(TextFeatures::default);

/// A stored text that matches.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct TextMatch {
    pub(super) text: u32,
    pub(super) verdict: Verdict,
}

/// The stored texts that match a query.
pub(super) struct TextMatches {
    /// By descending similarity, then by insertion.
    pub(super) matches: Vec<TextMatch>,
    pub(super) candidates: usize,
    pub(super) capped: usize,
}

impl<S: Storage> Collection<S> {
    /// Finds the documents that match a query, except for the document `except`.
    fn search(&self, query: &QueryView<'_>, except: Option<u32>, scope: &Scope<'_, S>) -> Result<Search> {
        let SearchOptions { limit, min_similarity } = scope.options;
        let limit = limit.unwrap_or(self.limit);
        let judge = min_similarity.map_or(self.judge, |threshold| self.judge.with_threshold(threshold));
        let needed = limit.saturating_add(usize::from(except.is_some()));
        let TextMatches { mut matches, candidates, capped } =
            self.matches(query, None, judge, needed, scope)?;
        let eligible = |text: u32| self.admitted(text, scope).filter(move |doc| Some(*doc) != except);
        let may_join =
            |found: &&TextMatch| judge.joins(&found.verdict) && self.texts[found.text].status == Status::Ok;
        let first = |text: u32| eligible(text).next().map(|doc| self.docs[doc].number);
        let best =
            best_document(matches.iter().filter(may_join).map(|found| (found.verdict, || first(found.text))));
        matches.retain(|found| found.verdict.similarity >= min_similarity.unwrap_or(0.0));
        let matches: Vec<(u32, Verdict)> = matches.iter().map(|found| (found.text, found.verdict)).collect();
        let found = expand(&matches, limit, |text| eligible(*text), |doc| self.docs[doc].number);
        let to_match = |(doc, verdict): (u32, Verdict)| {
            let Found { id, number } = self.found(doc);
            Match { id, number, verdict }
        };
        let matches = found.into_iter().map(to_match).collect();
        Ok(Search { matches, best, candidates, capped })
    }

    /// Finds the texts that match a query, except for the text `except`. `needed` is the number of documents that the caller
    /// uses: texts that cannot be among these are not judged.
    fn matches(
        &self,
        query: &QueryView<'_>,
        except: Option<u32>,
        judge: Judge,
        needed: usize,
        scope: &Scope<'_, S>,
    ) -> Result<TextMatches> {
        let Candidates { texts, capped } = self.candidates(query, except, judge, scope)?;
        let candidates = texts.len();
        let mut matches = self.judge_candidates(query, judge, &texts, needed, scope);
        let number = |found: &TextMatch| self.number_of(found.text);
        matches.sort_by(|a, b| a.verdict.cmp_rank(&b.verdict).then_with(|| number(a).cmp(&number(b))));
        Ok(TextMatches { matches, candidates, capped })
    }

    /// Returns the texts that may match a query, except for the text `except`.
    pub(super) fn candidates(
        &self,
        query: &QueryView<'_>,
        except: Option<u32>,
        judge: Judge,
        scope: &Scope<'_, S>,
    ) -> Result<Candidates> {
        let equal = query.key.and_then(|key| self.by_key.get(&key)).map_or(&[][..], TextNumbers::as_slice);
        let mut texts: Vec<Candidate> = equal.iter().map(|&text| Candidate::unranked(text)).collect();
        let found = self.lookup.candidates(query.sketches(), judge.threshold())?;
        texts.extend(found.texts);
        texts.retain(|candidate| Some(candidate.text) != except && self.any_admitted(candidate.text, scope));
        keep_first_occurrences(&mut texts);
        let mut capped = found.capped;
        // Judging without verification costs next to nothing, so it needs no limit.
        let verify = query.features.is_some() && judge.verifies();
        if verify && texts.len() > scope.max_candidates {
            texts.truncate(scope.max_candidates);
            capped += 1;
        }
        Ok(Candidates { texts, capped })
    }

    fn judge_candidates(
        &self,
        query: &QueryView<'_>,
        judge: Judge,
        candidates: &[Candidate],
        needed: usize,
        scope: &Scope<'_, S>,
    ) -> Vec<TextMatch> {
        let rows = query.signature.map_or(1, <[u32]>::len);
        let matches = judge_ranked(
            candidates,
            rows,
            needed,
            |candidate| *candidate,
            |candidate| {
                let verdict = self.verdict(query, judge, candidate.text, scope)?;
                let documents = if needed == usize::MAX {
                    0
                } else {
                    self.admitted(candidate.text, scope).take(needed).count()
                };
                Some(Judged { verdict, documents, joins: judge.joins(&verdict) })
            },
        );
        matches.into_iter().map(|(candidate, verdict)| TextMatch { text: candidate.text, verdict }).collect()
    }

    /// Judges one candidate. Reads its features only if the verdict depends on them.
    fn verdict(
        &self,
        query: &QueryView<'_>,
        judge: Judge,
        text: u32,
        scope: &Scope<'_, S>,
    ) -> Option<Verdict> {
        let other = self.view_of(text);
        let verify = query.features.is_some() && judge.verifies();
        let features = if !verify || !needs_features(judge, query, &other) {
            FeaturesRef::Kept(&NO_FEATURES)
        } else {
            let doc = self.admitted(text, scope).next()?;
            S::read(&self.texts[text].features, scope.texts, self.docs[doc].number)?
        };
        judge.judge_facts(&query.side(), &other.with_features(&features).side())
    }

    pub(super) fn found(&self, doc: u32) -> Found {
        let doc = &self.docs[doc];
        Found { id: doc.id.clone(), number: doc.number }
    }

    /// Iterates over the documents of a text that a search may find, by insertion number.
    pub(super) fn admitted<'a>(
        &'a self,
        text: u32,
        scope: &'a Scope<'_, S>,
    ) -> impl Iterator<Item = u32> + 'a {
        let passes = |doc: &u32| scope.filter.is_none_or(|filter| filter(self.stored(*doc)));
        let most = if scope.among == Among::FirstCopies { 1 } else { usize::MAX };
        self.docs_in(text, scope).filter(passes).take(most)
    }

    /// Iterates over the documents of a text that have the dates and marks of a scope, by insertion number.
    fn docs_in<'a>(&'a self, text: u32, scope: &'a Scope<'_, S>) -> DocsIn<'a> {
        let several = match &self.texts[text].docs {
            Docs::One { doc, .. } => {
                let stored = self.stored(*doc);
                let date = stored.published.map(Timestamp::as_milliseconds);
                let is_center = scope.among != Among::Centers || stored.is_center;
                let is_dated =
                    scope.dates.as_ref().is_none_or(|dates| date.is_some_and(|date| dates.contains(&date)));
                return DocsIn::One(Some(*doc).filter(|_| is_center && is_dated));
            }
            Docs::Several(several) => several,
        };
        match (scope.among, &scope.dates) {
            (Among::All | Among::FirstCopies, None) => DocsIn::ByNumber(several.by_number.values()),
            (Among::All | Among::FirstCopies, Some(dates)) => {
                DocsIn::ByDate(several.by_date.within(dates.clone()))
            }
            (Among::Centers, None) => DocsIn::ByDate(several.centers.within(i64::MIN..=i64::MAX)),
            // Centers without a date have the least one, which is in no range of dates.
            (Among::Centers, Some(dates)) => DocsIn::ByDate(several.centers.within(dates.clone())),
        }
    }

    fn any_admitted(&self, text: u32, scope: &Scope<'_, S>) -> bool {
        let selects_all = scope.filter.is_none() && scope.dates.is_none() && scope.among != Among::Centers;
        selects_all || self.admitted(text, scope).next().is_some()
    }
}

/// Iterator over documents of a text.
enum DocsIn<'a> {
    One(Option<u32>),
    ByNumber(std::collections::btree_map::Values<'a, u64, u32>),
    ByDate(Within<'a>),
}

impl Iterator for DocsIn<'_> {
    type Item = u32;

    fn next(&mut self) -> Option<u32> {
        match self {
            DocsIn::One(doc) => doc.take(),
            DocsIn::ByNumber(docs) => docs.next().copied(),
            DocsIn::ByDate(docs) => docs.next(),
        }
    }
}

impl Collection<InMemory> {
    /// Returns the best match that a new document may share an online cluster with: one that is long enough.
    pub(super) fn best_match(&self, prepared: &Prepared) -> Result<Option<u32>> {
        let scope = Scope::in_memory(SearchOptions::default());
        let found = self.matches(&QueryView::of(prepared), None, self.judge, usize::MAX, &scope)?;
        let may_join = |found: &&TextMatch| {
            self.judge.joins(&found.verdict) && self.texts[found.text].status == Status::Ok
        };
        let best = found.matches.iter().find(may_join);
        Ok(best.map(|best| self.first_of(best.text)))
    }

    /// Finds the other texts that match a stored one.
    pub(super) fn matches_of(&self, text: u32, max_candidates: usize) -> TextMatches {
        let scope = Scope { max_candidates, ..Scope::in_memory(SearchOptions::default()) };
        let matches = self.matches(&self.view_of(text), Some(text), self.judge, usize::MAX, &scope);
        matches.unwrap_or_else(|error| unreachable!("stored sketches fit the indexes: {error}"))
    }
}

/// Returns `true` if the verdict of a judge that verifies depends on the features of two texts.
pub(super) fn needs_features(judge: Judge, a: &QueryView<'_>, b: &QueryView<'_>) -> bool {
    let is_short = a.status == Status::TooShort || b.status == Status::TooShort;
    let is_equal = a.key.is_some() && a.key == b.key;
    !is_equal && (!is_short || judge.compares_short_texts())
}

/// A document that was found.
#[derive(Clone, Debug)]
pub(super) struct Found {
    pub(super) id: DocId,
    pub(super) number: u64,
}

/// The verdict on a candidate.
pub(super) struct Judged {
    pub(super) verdict: Verdict,
    /// The number of documents with this text that may be found, as far as it matters.
    pub(super) documents: usize,
    /// Whether the query may share a cluster with these documents.
    pub(super) joins: bool,
}

/// Judges candidates by descending estimate, until no other can be among the `needed` most similar documents. Returns those
/// that match.
pub(super) fn judge_ranked<T>(
    candidates: &[T],
    rows: usize,
    needed: usize,
    candidate: impl Fn(&T) -> Candidate,
    mut judge: impl FnMut(&T) -> Option<Judged>,
) -> Vec<(&T, Verdict)> {
    let mut ranked: Vec<&T> = candidates.iter().collect();
    ranked.sort_by(|a, b| candidate(b).rank().total_cmp(&candidate(a).rank()));
    let mut matches = Vec::new();
    let mut best = Best { needed, similarities: Vec::new(), has_cluster: false };
    for text in ranked {
        if best.excludes(&candidate(text), rows) {
            break;
        }
        let Some(Judged { verdict, documents, joins }) = judge(text) else { continue };
        // Matches that are not verified rank last, so that they never exclude others.
        if needed != usize::MAX && verdict.verified {
            best.add(verdict.similarity, documents, joins);
        }
        matches.push((text, verdict));
    }
    matches
}

/// Replaces texts, the best ones first, by their documents, and keeps the first `limit` of these.
pub(super) fn expand<'a, T, D: Copy, I: Iterator<Item = D>>(
    texts: &'a [(T, Verdict)],
    limit: usize,
    documents: impl Fn(&'a T) -> I,
    number: impl Fn(D) -> u64,
) -> Vec<(D, Verdict)> {
    let mut docs: Vec<(D, Verdict)> = Vec::new();
    for (text, verdict) in texts {
        // Documents of the same rank are ordered by insertion, so all texts with the rank of the last one are expanded.
        let last = docs.last().map(|(_, verdict): &(D, Verdict)| *verdict);
        if docs.len() >= limit && last.is_some_and(|last| last.cmp_rank(verdict).is_lt()) {
            break;
        }
        docs.extend(documents(text).take(limit).map(|doc| (doc, *verdict)));
    }
    docs.sort_by(|(a, x), (b, y)| x.cmp_rank(y).then_with(|| number(*a).cmp(&number(*b))));
    docs.truncate(limit);
    docs
}

/// Returns the best document; of those with the same rank, the one that was inserted first. The best texts are first, each with
/// a function that returns the insertion number of its first document that may be found.
///
/// Texts of the same rank are ordered by their first documents, which need not be among those that may be found.
pub(super) fn best_document(
    texts: impl Iterator<Item = (Verdict, impl FnOnce() -> Option<u64>)>,
) -> Option<u64> {
    let mut best: Option<(Verdict, u64)> = None;
    for (verdict, first) in texts {
        if best.is_some_and(|(highest, _)| highest.cmp_rank(&verdict).is_lt()) {
            break;
        }
        let numbers = best.map(|(_, number)| number).into_iter().chain(first());
        best = numbers.min().map(|number| (verdict, number));
    }
    best.map(|(_, number)| number)
}

fn keep_first_occurrences(texts: &mut Vec<Candidate>) {
    let mut seen = HashSet::with_capacity(texts.len());
    texts.retain(|candidate| seen.insert(candidate.text));
}

/// The similarities of the best documents found so far.
struct Best {
    needed: usize,
    /// Descending.
    similarities: Vec<f64>,
    /// Whether one of them is a document that the query may share a cluster with.
    has_cluster: bool,
}

impl Best {
    fn add(&mut self, similarity: f64, documents: usize, joins: bool) {
        self.has_cluster |= joins;
        let at = self.similarities.partition_point(|&other| other >= similarity);
        self.similarities.splice(at..at, std::iter::repeat_n(similarity, documents));
        self.similarities.truncate(self.needed);
    }

    /// Returns `true` if a candidate's estimate is too low for a similarity above the lowest of a complete list.
    fn excludes(&self, candidate: &Candidate, rows: usize) -> bool {
        let complete = self.has_cluster && self.similarities.len() >= self.needed;
        let lowest = self.similarities.last().filter(|_| complete);
        candidate
            .estimate
            .zip(lowest)
            .is_some_and(|(estimate, &lowest)| estimate < least_estimate(lowest, rows))
    }
}
