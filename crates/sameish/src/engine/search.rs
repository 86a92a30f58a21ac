//! Searching: from candidates to matches.

use super::Engine;
use super::collection::{Collection, QueryView};
use super::dates::Within;
use super::lookup::{Candidate, least_estimate};
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
    /// The matches by descending similarity; equally similar ones in the order of insertion.
    pub matches: Vec<Match>,
    /// The insertion number of the most similar document that the query may share a cluster with: one that is long enough
    /// and, unless templates are merged, not a template of the query.
    pub best: Option<u64>,
    /// The number of distinct candidates.
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
    /// Documents that are marked as centers. They are found in constant time per text, however many copies it has.
    Centers,
}

/// Where and how far a search looks.
pub struct Scope<'a, S: Storage> {
    /// The options of the search.
    pub options: SearchOptions,
    /// What features of stored texts are read through.
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
    pub fn search<'a>(
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

/// For pairs whose verdict does not depend on features: equal texts and short ones.
static NO_FEATURES: LazyLock<TextFeatures> = LazyLock::new(TextFeatures::default);

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
        let best = self.best_to_join(&matches, eligible);
        matches.retain(|found| found.verdict.similarity >= min_similarity.unwrap_or(0.0));
        let matches = self.expand_matches(&matches, limit, eligible);
        Ok(Search { matches, best: best.map(|doc| self.docs[doc].number), candidates, capped })
    }

    /// Returns the first document of the most similar texts that the query may share a cluster with.
    fn best_to_join<I: Iterator<Item = u32>>(
        &self,
        matches: &[TextMatch],
        eligible: impl Fn(u32) -> I,
    ) -> Option<u32> {
        let may_join =
            |found: &&TextMatch| self.joins(&found.verdict) && self.texts[found.text].status == Status::Ok;
        let mut best: Option<(f64, u32)> = None;
        for found in matches.iter().filter(may_join) {
            let similarity = found.verdict.similarity;
            if best.is_some_and(|(highest, _)| highest > similarity) {
                break;
            }
            // Of equally similar documents the first one is best. Texts are in order of their first documents, which need
            // not be eligible.
            let docs = best.map(|(_, doc)| doc).into_iter().chain(eligible(found.text).next());
            best = docs.min_by_key(|&doc| self.docs[doc].number).map(|doc| (similarity, doc));
        }
        best.map(|(_, doc)| doc)
    }

    /// Replaces texts by their eligible documents, and keeps the first `limit` of these.
    fn expand_matches<I: Iterator<Item = u32>>(
        &self,
        texts: &[TextMatch],
        limit: usize,
        eligible: impl Fn(u32) -> I,
    ) -> Vec<Match> {
        let mut docs: Vec<(u32, Verdict)> = Vec::new();
        for found in texts {
            // Equally similar documents are ordered by insertion, so all texts as similar as the last one are expanded.
            let last = docs.last().map(|(_, verdict): &(u32, Verdict)| verdict.similarity);
            if docs.len() >= limit && last.is_some_and(|last| last > found.verdict.similarity) {
                break;
            }
            docs.extend(eligible(found.text).take(limit).map(|doc| (doc, found.verdict)));
        }
        docs.sort_by(|(a, x), (b, y)| {
            let number = |doc: &u32| self.docs[*doc].number;
            y.similarity.total_cmp(&x.similarity).then_with(|| number(a).cmp(&number(b)))
        });
        docs.truncate(limit);
        let to_match = |(doc, verdict): (u32, Verdict)| {
            let doc = &self.docs[doc];
            Match { id: doc.id.clone(), number: doc.number, verdict }
        };
        docs.into_iter().map(to_match).collect()
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
        let candidates = texts.len();
        let mut matches = self.judge_candidates(query, judge, texts, needed, scope);
        let number = |found: &TextMatch| self.number_of(found.text);
        matches.sort_by(|a, b| {
            b.verdict.similarity.total_cmp(&a.verdict.similarity).then_with(|| number(a).cmp(&number(b)))
        });
        Ok(TextMatches { matches, candidates, capped })
    }

    /// Judges candidates by descending estimate, until no other can be among the `needed` most similar documents.
    fn judge_candidates(
        &self,
        query: &QueryView<'_>,
        judge: Judge,
        mut candidates: Vec<Candidate>,
        needed: usize,
        scope: &Scope<'_, S>,
    ) -> Vec<TextMatch> {
        candidates.sort_by(|a, b| b.rank().total_cmp(&a.rank()));
        let mut matches: Vec<TextMatch> = Vec::new();
        let mut best = Best { needed, similarities: Vec::new(), has_cluster: false };
        for candidate in candidates {
            if best.excludes(&candidate, query.signature.map_or(1, <[u32]>::len)) {
                break;
            }
            let Some(verdict) = self.verdict(query, judge, candidate.text, scope) else { continue };
            if needed != usize::MAX {
                let docs = self.admitted(candidate.text, scope).take(needed).count();
                best.add(verdict.similarity, docs, self.joins(&verdict));
            }
            matches.push(TextMatch { text: candidate.text, verdict });
        }
        matches
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
        let short = query.status == Status::TooShort || other.status == Status::TooShort;
        let equal = query.key.is_some() && query.key == other.key;
        let features = if !verify || short || equal {
            FeaturesRef::Kept(&NO_FEATURES)
        } else {
            let doc = self.admitted(text, scope).next()?;
            S::read(&self.texts[text].features, scope.texts, self.docs[doc].number)?
        };
        judge.judge_facts(&query.side(), &other.with_features(&features).side())
    }

    /// Iterates over the documents of a text that a search may find, by insertion number.
    fn admitted<'a>(&'a self, text: u32, scope: &'a Scope<'_, S>) -> impl Iterator<Item = u32> + 'a {
        let passes = |doc: &u32| scope.filter.is_none_or(|filter| filter(self.stored(*doc)));
        self.docs_in(text, scope).filter(passes)
    }

    /// Iterates over the documents of a text that have the dates and marks of a scope, by insertion number.
    fn docs_in<'a>(&'a self, text: u32, scope: &'a Scope<'_, S>) -> DocsIn<'a> {
        let several = match &self.texts[text].docs {
            Docs::One { doc, .. } => {
                let stored = self.stored(*doc);
                let date = stored.published.map(Timestamp::as_milliseconds);
                let is_center = scope.among == Among::All || stored.is_center;
                let is_dated =
                    scope.dates.as_ref().is_none_or(|dates| date.is_some_and(|date| dates.contains(&date)));
                return DocsIn::One(Some(*doc).filter(|_| is_center && is_dated));
            }
            Docs::Several(several) => several,
        };
        match (scope.among, &scope.dates) {
            (Among::All, None) => DocsIn::ByNumber(several.by_number.values()),
            (Among::All, Some(dates)) => DocsIn::ByDate(several.by_date.within(dates.clone())),
            (Among::Centers, None) => DocsIn::ByDate(several.centers.within(i64::MIN..=i64::MAX)),
            // Centers without a date have the least one, which is in no range of dates.
            (Among::Centers, Some(dates)) => DocsIn::ByDate(several.centers.within(dates.clone())),
        }
    }

    fn any_admitted(&self, text: u32, scope: &Scope<'_, S>) -> bool {
        let selects_all = scope.filter.is_none() && scope.dates.is_none() && scope.among == Among::All;
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
    /// Returns the most similar document that a new one may share a cluster with.
    pub(super) fn best_match(&self, prepared: &Prepared) -> Result<Option<u32>> {
        let scope = Scope::in_memory(SearchOptions::default());
        let found = self.matches(&QueryView::of(prepared), None, self.judge, usize::MAX, &scope)?;
        let best = found.matches.iter().find(|found| self.joins(&found.verdict));
        Ok(best.map(|best| self.first_of(best.text)))
    }

    /// Finds the other texts that match a stored one.
    pub(super) fn matches_of(&self, text: u32, max_candidates: usize) -> TextMatches {
        let scope = Scope { max_candidates, ..Scope::in_memory(SearchOptions::default()) };
        let matches = self.matches(&self.view_of(text), Some(text), self.judge, usize::MAX, &scope);
        matches.unwrap_or_else(|error| unreachable!("stored sketches fit the indexes: {error}"))
    }
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
