//! Searching: from candidates to matches.

use super::Engine;
use super::collection::{Collection, QueryView};
use super::crowd::{Missing, Near, NearText, Profile};
use super::dates::Within;
use super::joining::BestJoining;
use super::lookup::{Candidate, least_estimate};
use super::storage::{FeaturesRef, InMemory, Storage};
use super::text::{Docs, TextNumbers};
use crate::analyzer::{Prepared, Scratch, Sketches, Status, TextFeatures};
use crate::document::{ContentRef, DocId, Timestamp};
use crate::error::Result;
use crate::index::SignatureBuckets;
use crate::matching::{Judge, Relation, Verdict};
use crate::random::SplitMix64;
use std::collections::{HashMap, HashSet};
use std::ops::RangeInclusive;
use std::sync::LazyLock;

/// The maximum number of candidates that one query judges.
pub const CANDIDATES_JUDGED: usize = 2_000;

/// The number of texts that a search for all matches reads from crowded buckets, per candidate that may be judged.
const READ_PER_JUDGED: usize = 2;
/// The number of texts that a bounded search reads from large buckets, per document that it returns. For a list of 1,000, a bucket
/// of 16,000 texts is read completely.
const READ_PER_MATCH: usize = 16;
/// The least number of texts that a bounded search reads from large buckets.
const LEAST_READ: usize = 512;
/// The number of candidates that are judged after the list of matches is complete, in addition to its length. Of many
/// near-identical texts, no estimate excludes any.
const JUDGED_BEYOND: usize = 128;
/// The same, if profiles limit the similarities of most candidates.
const PROFILED_BEYOND: usize = 32;
/// The number of texts of crowded buckets that are examined per candidate, if the scope does not admit most of them.
const EXAMINED_PER_CANDIDATE: usize = 64;

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
    /// How the query relates to the document, if the match is verified: whether it is an excerpt or an update of it. Updates
    /// require the dates of both, so only a search for the matches of a stored document finds them.
    pub relation: Option<Relation>,
    /// The numbers of distinct shingles of the query and of the document, if they were compared.
    #[cfg_attr(feature = "serde", serde(default, skip_serializing_if = "Option::is_none"))]
    pub shingles: Option<[usize; 2]>,
}

impl Match {
    /// Returns the relation of the query to the document with these dates, if both are known.
    pub fn relation_with(&self, dates: Option<[Timestamp; 2]>) -> Option<Relation> {
        self.verdict.relation(self.compared()?, dates)
    }

    /// Returns `true` if the relation depends on the dates of the query and of the document.
    pub fn needs_dates(&self) -> bool {
        self.compared().is_some_and(|shingles| self.verdict.needs_dates(shingles))
    }

    /// Returns the numbers of shingles, which the relation of equal texts does not depend on.
    fn compared(&self) -> Option<[usize; 2]> {
        self.shingles.or_else(|| self.verdict.is_of_equal_texts().then_some([0, 0]))
    }
}

/// The verdict on a match with the agreement of the facts.
#[derive(Clone, Copy)]
pub(super) struct Described {
    pub(super) verdict: Verdict,
    /// The numbers of distinct shingles of the query and of the document, if they were compared.
    pub(super) shingles: Option<[usize; 2]>,
}

impl Described {
    /// Creates the match of a query that has this publication date.
    pub(super) fn into_match(self, found: Found, published: Option<Timestamp>) -> Match {
        let Described { verdict, shingles } = self;
        let Found { id, number, published: other } = found;
        let found = Match { id, number, verdict, relation: None, shingles };
        let relation = found.relation_with(published.zip(other).map(|(query, other)| [query, other]));
        Match { relation, ..found }
    }
}

/// The result of a search.
#[derive(Clone, Debug, Default, PartialEq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct Search {
    /// The matches by descending similarity; equally similar ones in the order of insertion. If matches are verified, those
    /// that could not be verified are last.
    pub matches: Vec<Match>,
    /// The insertion number of the best match that the query may share a cluster with ([`Judge::joins`]) and that is long
    /// enough, if the scope [needs](Scope::needs_best) it.
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
    /// The minimum similarity. Below the configured threshold, the search compares all sketches if the index would miss more
    /// matches than `matching.recall` allows; this takes time proportional to the number of documents. Texts that are too short are
    /// still found as the configuration says. Documents that consist of a fingerprint are found by its distance d, whose similarity
    /// is 1 - d/64.
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
    /// Whether only documents are needed that the query may share a cluster with ([`Judge::joins`]). Others may be left out.
    pub joining: bool,
    /// Whether [`Search::best`] is used. Otherwise it is `None`, and fewer candidates are judged.
    pub needs_best: bool,
    /// Whether the search reads a sample of crowded buckets, and ends soon after its list of matches is complete. Where that
    /// leaves candidates out, [`Search::capped`] counts it.
    pub bounded: bool,
}

impl<S: Storage> Scope<'_, S> {
    /// Returns how many texts a search for some documents reads from crowded buckets.
    fn texts_read(&self, needed: usize) -> usize {
        match (self.bounded, needed) {
            (false, _) => usize::MAX,
            (true, usize::MAX) => self.max_candidates.saturating_mul(READ_PER_JUDGED),
            (true, _) => needed.saturating_mul(READ_PER_MATCH).max(LEAST_READ),
        }
    }
}

impl Scope<'_, InMemory> {
    fn in_memory(options: SearchOptions) -> Self {
        let max_candidates = CANDIDATES_JUDGED;
        Scope {
            options,
            texts: (),
            among: Among::All,
            dates: None,
            filter: None,
            max_candidates,
            joining: false,
            // In a crowd of templates, the search for it would compare the facts of all candidates.
            needs_best: false,
            bounded: true,
        }
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

/// The documents that the caller of a search uses.
#[derive(Clone, Copy)]
struct Needed {
    /// Their number.
    documents: usize,
    /// A document that is not used.
    except: Option<u32>,
}

impl Needed {
    const ALL: Needed = Needed { documents: usize::MAX, except: None };

    fn is_all(self) -> bool {
        self.documents == usize::MAX
    }
}

impl<S: Storage> Collection<S> {
    /// Finds the documents that match a query, except for the document `except`.
    fn search(&self, query: &QueryView<'_>, except: Option<u32>, scope: &Scope<'_, S>) -> Result<Search> {
        let SearchOptions { limit, min_similarity } = scope.options;
        let limit = limit.unwrap_or(self.limit);
        let judge = min_similarity.map_or(self.judge, |minimum| self.judge.with_minimum(minimum));
        let needed = Needed { documents: limit, except };
        let TextMatches { mut matches, candidates, capped } =
            self.matches(query, None, judge, needed, scope)?;
        let eligible = |text: u32| self.admitted(text, scope).filter(move |doc| Some(*doc) != except);
        let may_join = |found: &&TextMatch| {
            scope.needs_best
                && self.texts[found.text].status == Status::Ok
                && self.joins(query, judge, found, scope)
        };
        let first = |text: u32| eligible(text).next().map(|doc| self.docs[doc].number);
        let best =
            best_document(matches.iter().filter(may_join).map(|found| (found.verdict, || first(found.text))));
        matches.retain(|found| found.verdict.similarity >= min_similarity.unwrap_or(0.0));
        let matches: Vec<(u32, Verdict)> = matches.iter().map(|found| (found.text, found.verdict)).collect();
        let found = expand(&matches, limit, |text| eligible(*text), |doc| self.docs[doc].number);
        let published = except.and_then(|doc| self.docs[doc].published);
        let mut described: HashMap<u32, Described> = HashMap::new();
        let to_match = |(doc, verdict): (u32, Verdict)| {
            let text = self.docs[doc].text;
            let of_text = described.entry(text).or_insert_with(|| self.describe(query, text, verdict, scope));
            of_text.into_match(self.found(doc), published)
        };
        let matches = found.into_iter().map(to_match).collect();
        Ok(Search { matches, best, candidates, capped })
    }

    pub(super) fn share_band(&self, query: &QueryView<'_>, text: u32) -> bool {
        query.signature.is_some_and(|signature| self.lookup.share_band(signature, text))
    }

    /// Returns `true` if a query may share a cluster with a match whose facts are not compared yet.
    pub(super) fn joins(
        &self,
        query: &QueryView<'_>,
        judge: Judge,
        found: &TextMatch,
        scope: &Scope<'_, S>,
    ) -> bool {
        judge.joins(&found.verdict)
            && (!judge.separates_templates()
                || judge.joins(&self.with_facts(query, found.text, found.verdict, scope)))
    }

    /// Adds the agreement of the facts to a verdict.
    fn with_facts(
        &self,
        query: &QueryView<'_>,
        text: u32,
        verdict: Verdict,
        scope: &Scope<'_, S>,
    ) -> Verdict {
        self.describe(query, text, verdict, scope).verdict
    }

    /// Adds what depends on the features of a match to its verdict.
    fn describe(
        &self,
        query: &QueryView<'_>,
        text: u32,
        verdict: Verdict,
        scope: &Scope<'_, S>,
    ) -> Described {
        let Some(own) = query.features.filter(|_| verdict.verified) else {
            return Described { verdict, shingles: None };
        };
        let read = || {
            let doc = self.admitted(text, scope).next()?;
            S::read(&self.texts[text].features, scope.texts, self.docs[doc].number)
        };
        let features = if verdict.is_of_equal_texts() { None } else { read() };
        let shingles = features.as_ref().map(|features| [own.shingles.len(), features.shingles.len()]);
        let features = features.unwrap_or(FeaturesRef::Kept(&NO_FEATURES));
        Described { verdict: verdict.with_facts(|| (&own.facts, &features.facts)), shingles }
    }

    /// Finds the texts that match a query, except for the text `except`, without the agreement of their facts. Texts
    /// that cannot be among the `needed` documents are not judged.
    fn matches(
        &self,
        query: &QueryView<'_>,
        except: Option<u32>,
        judge: Judge,
        needed: Needed,
        scope: &Scope<'_, S>,
    ) -> Result<TextMatches> {
        let profile = || Profile::of_query(query);
        let Selected { texts, capped, left_out } =
            self.candidates(query, profile, except, judge, needed.documents, scope)?;
        let candidates = texts.len();
        let (mut matches, lacks_better) =
            self.judge_candidates(query, judge, &texts, left_out, needed, scope);
        let number = |found: &TextMatch| self.number_of(found.text);
        matches.sort_by(|a, b| a.verdict.cmp_rank(&b.verdict).then_with(|| number(a).cmp(&number(b))));
        Ok(TextMatches { matches, candidates, capped: capped + usize::from(lacks_better) })
    }

    /// Returns the texts that may match a query, except for the text `except`. Of crowded buckets it reads as many texts as are
    /// necessary to find `needed` documents. `profile` returns the profile of the query.
    pub(super) fn candidates(
        &self,
        query: &QueryView<'_>,
        profile: impl Fn() -> Option<Profile>,
        except: Option<u32>,
        judge: Judge,
        needed: usize,
        scope: &Scope<'_, S>,
    ) -> Result<Selected> {
        let Gathered { mut texts, near, mut capped, left_out } =
            self.gather(query, profile, judge, needed, scope)?;
        texts.retain(|candidate| Some(candidate.text) != except && self.any_admitted(candidate.text, scope));
        // Judging without verification costs next to nothing, so it needs no limit.
        let verify = query.features.is_some() && judge.verifies();
        if verify && texts.len() > scope.max_candidates {
            if scope.bounded {
                self.sort_shuffled(&mut texts);
            }
            texts.truncate(scope.max_candidates);
            capped += 1;
        }
        let most = match scope.bounded && needed != usize::MAX {
            true => scope.max_candidates.min(needed.saturating_add(PROFILED_BEYOND)),
            false => scope.max_candidates,
        };
        let is_new: HashSet<u32> = match near.is_empty() {
            true => HashSet::new(),
            false => texts.iter().map(|candidate| candidate.text).collect(),
        };
        let not_selected = self.select_near(query, near, most, &mut texts, |text| {
            Some(text) != except && !is_new.contains(&text) && self.any_admitted(text, scope)
        });
        let left_out = left_out.into_iter().chain(not_selected).reduce(f64::max);
        Ok(Selected { texts, capped, left_out })
    }

    /// Appends the `most` texts with the largest bounds that a filter accepts. Returns the largest bound of the others.
    fn select_near(
        &self,
        query: &QueryView<'_>,
        mut near: Vec<NearText>,
        most: usize,
        texts: &mut Vec<Candidate>,
        accepts: impl Fn(u32) -> bool,
    ) -> Option<f64> {
        let order =
            |a: &NearText, b: &NearText| b.bound.total_cmp(&a.bound).then_with(|| a.text.cmp(&b.text));
        let mut left = most;
        let mut examined = 0;
        let mut rest = &mut near[..];
        while left > 0 && !rest.is_empty() && examined < most.saturating_mul(EXAMINED_PER_CANDIDATE) {
            let count = (left + examined).min(rest.len());
            if count < rest.len() {
                rest.select_nth_unstable_by(count, order);
            }
            let (next, others) = rest.split_at_mut(count);
            next.sort_unstable_by(order);
            for NearText { text, bound, is_template } in next.iter().copied() {
                if left > 0 && accepts(text) && self.share_band(query, text) {
                    let candidate = Candidate::unranked(text);
                    texts.push(Candidate { bound: Some(bound), is_template, ..candidate });
                    left -= 1;
                    if left == 0 {
                        // The next text is the first that is left out.
                        let at = next.iter().position(|near| near.text == text).map_or(count, |at| at + 1);
                        let following = next.get(at).map(|near| near.bound);
                        let bounds = others.iter().map(|near| near.bound).reduce(f64::max);
                        return following.or(bounds);
                    }
                }
            }
            examined += count;
            rest = others;
        }
        rest.iter().map(|near| near.bound).reduce(f64::max)
    }

    /// Returns the texts that the indexes find, and those of crowded buckets whose profiles do not exclude them. The former occur
    /// once.
    pub(super) fn gather(
        &self,
        query: &QueryView<'_>,
        profile: impl Fn() -> Option<Profile>,
        judge: Judge,
        needed: usize,
        scope: &Scope<'_, S>,
    ) -> Result<Gathered> {
        let equal = query.key.and_then(|key| self.by_key.get(&key)).map_or(&[][..], TextNumbers::as_slice);
        let mut texts: Vec<Candidate> = equal.iter().map(|&text| Candidate::unranked(text)).collect();
        let mut near: Vec<NearText> = Vec::new();
        let mut missing = Missing::default();
        let mut known: Option<Profile> = None;
        let screen = |buckets: &mut SignatureBuckets<'_>| {
            if !judge.verifies() || query.status != Status::Ok || buckets.crowded().next().is_none() {
                return;
            }
            known = profile();
            let Some(profile) = &known else { return };
            let wanted = wanted(query, profile, judge, needed, scope);
            missing = self.crowd.near(&wanted, buckets.crowded(), &mut near);
            match self.crowd.all_read() {
                true => buckets.clear_crowded(),
                false => buckets.retain_in_crowded(|text| !self.crowd.is_read(text)),
            }
        };
        let is_sketched = |text: u32| query.is_sketched() || self.view_of(text).is_sketched();
        let most = scope.texts_read(needed);
        let found = self.lookup.candidates(query.sketches(), judge, most, is_sketched, screen)?;
        texts.extend(found.texts);
        keep_first_occurrences(&mut texts);
        if let Some(profile) = &known {
            let wanted = wanted(query, profile, judge, needed, scope);
            texts.retain_mut(|candidate| {
                let Some(near) = self.crowd.near_text(&wanted, candidate.text) else { return true };
                candidate.bound = near.map(|near| near.bound);
                candidate.is_template = near.is_some_and(|near| near.is_template);
                near.is_some()
            });
        }
        let capped = found.capped + usize::from(missing.is_limited);
        Ok(Gathered { texts, near, capped, left_out: missing.left_out })
    }

    /// Sorts candidates by descending estimate. The order of equal ones does not depend on the order of insertion, so that
    /// many equal early documents do not hide later ones.
    pub(super) fn sort_shuffled(&self, texts: &mut [Candidate]) {
        texts.sort_by_cached_key(|candidate| {
            let rank = (candidate.rank() * f64::from(u32::MAX)) as u32;
            (std::cmp::Reverse(rank), SplitMix64(self.number_of(candidate.text)).next())
        });
    }

    /// Returns the candidates that match, and whether others may be better.
    fn judge_candidates(
        &self,
        query: &QueryView<'_>,
        judge: Judge,
        candidates: &[Candidate],
        left_out: Option<f64>,
        needed: Needed,
        scope: &Scope<'_, S>,
    ) -> (Vec<TextMatch>, bool) {
        let rows = query.signature.map_or(1, <[u32]>::len);
        let Ranked { matches, has_more } = judge_ranked(
            candidates,
            Ranking { left_out, rows, needed: needed.documents, bounded: scope.bounded },
            |candidate| (*candidate, self.number_of(candidate.text)),
            |candidate| {
                let verdict = self.verdict(query, judge, candidate.text, scope)?;
                let eligible = self.admitted(candidate.text, scope).filter(|doc| Some(*doc) != needed.except);
                let documents = if needed.is_all() { 0 } else { eligible.take(needed.documents).count() };
                Some(Judged { verdict, documents })
            },
            |candidate, verdict| {
                let found = TextMatch { text: candidate.text, verdict };
                !scope.needs_best || self.joins(query, judge, &found, scope)
            },
        );
        let to_match =
            |(candidate, verdict): (&Candidate, Verdict)| TextMatch { text: candidate.text, verdict };
        (matches.into_iter().map(to_match).collect(), has_more)
    }

    /// Judges one candidate, without the agreement of the facts. Reads its features only if the verdict depends on them.
    pub(super) fn verdict(
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
            let features = S::read(&self.texts[text].features, scope.texts, self.docs[doc].number)?;
            if other.status == Status::Ok {
                self.crowd.learn(text, &features);
            }
            features
        };
        judge.judge(&query.side(), &other.with_features(&features).side())
    }

    pub(super) fn found(&self, doc: u32) -> Found {
        let doc = &self.docs[doc];
        Found { id: doc.id.clone(), number: doc.number, published: doc.published }
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
            // Centers without a date have the minimum date, which is in no range of dates.
            (Among::Centers, Some(dates)) => DocsIn::ByDate(several.centers.within(dates.clone())),
        }
    }

    pub(super) fn any_admitted(&self, text: u32, scope: &Scope<'_, S>) -> bool {
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
    /// Finds the best match that a new document may share an online cluster with: one that is long enough.
    pub(super) fn best_match(&self, prepared: &Prepared) -> Result<BestJoining> {
        let scope = Scope::in_memory(SearchOptions::default());
        self.best_joining(&QueryView::of(prepared), &scope)
    }

    /// Finds the other texts that match a stored one. `joining` says whether only those are needed that may share a cluster with it,
    /// and `before` is the insertion number before which they were inserted.
    pub(super) fn matches_of(
        &self,
        text: u32,
        max_candidates: usize,
        joining: bool,
        before: Option<u64>,
    ) -> TextMatches {
        let is_earlier = |stored: StoredDocument<'_>| before.is_none_or(|before| stored.number < before);
        let filter: Option<&dyn Fn(StoredDocument<'_>) -> bool> = match before {
            Some(_) => Some(&is_earlier),
            None => None,
        };
        let scope = Scope { max_candidates, joining, filter, ..Scope::in_memory(SearchOptions::default()) };
        let query = self.view_of(text);
        let matches = self.matches(&query, Some(text), self.judge, Needed::ALL, &scope);
        let mut matches =
            matches.unwrap_or_else(|error| unreachable!("stored sketches fit the indexes: {error}"));
        for found in &mut matches.matches {
            found.verdict = self.with_facts(&query, found.text, found.verdict, &scope);
        }
        matches
    }
}

/// Returns which texts in crowded buckets a search may find.
fn wanted<'a, S: Storage>(
    query: &QueryView<'a>,
    profile: &'a Profile,
    judge: Judge,
    needed: usize,
    scope: &Scope<'_, S>,
) -> Near<'a> {
    let is_enough = scope.bounded && !scope.needs_best && scope.dates.is_none() && needed != usize::MAX;
    let shingles = query.features.map(|features| features.shingles.as_slice());
    let separates = judge.separates_templates();
    Near {
        query: profile,
        shingles: shingles.filter(|shingles| !shingles.is_empty()),
        threshold: judge.threshold(),
        centers: scope.among == Among::Centers,
        without_templates: scope.joining && separates,
        marks_templates: scope.needs_best && separates,
        enough: is_enough.then(|| needed.saturating_add(PROFILED_BEYOND).saturating_mul(2)),
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
    pub(super) published: Option<Timestamp>,
}

/// The texts that the indexes find for a query.
pub(super) struct Gathered {
    pub(super) texts: Vec<Candidate>,
    /// Texts in crowded buckets. They need not share a band with the query, and can be among `texts`, too.
    pub(super) near: Vec<NearText>,
    pub(super) capped: usize,
    /// The largest similarity of texts that are left out, if there are any.
    pub(super) left_out: Option<f64>,
}

/// The texts that are judged.
pub(super) struct Selected {
    pub(super) texts: Vec<Candidate>,
    pub(super) capped: usize,
    /// The largest similarity of texts that are left out, if there are any.
    pub(super) left_out: Option<f64>,
}

/// The verdict on a candidate.
pub(super) struct Judged {
    pub(super) verdict: Verdict,
    /// The number of documents with this text that may be found, as far as it matters.
    pub(super) documents: usize,
}

/// The candidates that match.
pub(super) struct Ranked<'a, T> {
    pub(super) matches: Vec<(&'a T, Verdict)>,
    /// Whether candidates were not judged that may be better matches.
    pub(super) has_more: bool,
}

/// How many candidates are judged.
pub(super) struct Ranking {
    /// The largest similarity that a match may have that is not among the candidates.
    pub(super) left_out: Option<f64>,
    /// The number of rows of a signature.
    pub(super) rows: usize,
    /// The number of documents that the caller uses.
    pub(super) needed: usize,
    /// Whether the search ends soon after the list of matches is complete.
    pub(super) bounded: bool,
}

/// Judges candidates by descending estimate, equal ones by insertion number, until no other can be among the `needed` most
/// similar documents, or until the limit of a complete list is reached. Returns those that match.
///
/// The search continues until a match is found that the query may share a cluster with. `joins` decides that; it is called
/// only if the list is complete otherwise.
///
pub(super) fn judge_ranked<T>(
    candidates: &[T],
    Ranking { left_out, rows, needed, bounded }: Ranking,
    numbered: impl Fn(&T) -> (Candidate, u64),
    mut judge: impl FnMut(&T) -> Option<Judged>,
    joins: impl Fn(&T, Verdict) -> bool,
) -> Ranked<'_, T> {
    let mut ranked: Vec<(Candidate, u64, &T)> = Vec::with_capacity(candidates.len());
    ranked.extend(candidates.iter().map(|text| {
        let (candidate, number) = numbered(text);
        (candidate, number, text)
    }));
    ranked.sort_by(|(a, x, _), (b, y, _)| b.rank().total_cmp(&a.rank()).then(x.cmp(y)));
    let mut matches = Vec::new();
    let mut best = Best { needed, similarities: Vec::new() };
    let mut has_cluster = false;
    let mut checked = 0;
    let profiled = ranked.iter().filter(|(candidate, _, _)| candidate.bound.is_some()).count();
    let beyond = if profiled * 2 > ranked.len() { PROFILED_BEYOND } else { JUDGED_BEYOND };
    let mut left = if bounded { needed.saturating_add(beyond) } else { usize::MAX };
    let mut has_more = false;
    for (candidate, _, text) in ranked {
        let is_excluded = best.excludes(&candidate, rows);
        left -= usize::from(best.is_complete() && !is_excluded).min(left);
        if is_excluded || left == 0 {
            // Matches that are not verified do not count here, as they rank last.
            has_cluster = has_cluster
                || matches[checked..]
                    .iter()
                    .any(|(text, verdict): &(&T, Verdict)| verdict.verified && joins(text, *verdict));
            checked = matches.len();
            // Only a document that the query may share a cluster with is needed.
            let is_needless = if has_cluster { is_excluded } else { candidate.is_template };
            if is_needless {
                // A candidate that follows may have an estimate, which can be lower than its similarity.
                continue;
            }
            if has_cluster {
                has_more = true;
                break;
            }
        }
        let Some(Judged { verdict, documents }) = judge(text) else { continue };
        // Matches that are not verified rank last, so that they never exclude others.
        if needed != usize::MAX && verdict.verified {
            best.add(verdict.similarity, documents);
        }
        matches.push((text, verdict));
    }
    has_more |= left_out.is_some_and(|bound| {
        let is_cluster = |(text, verdict): &(&T, Verdict)| verdict.verified && joins(text, *verdict);
        !best.is_reached(bound) || !has_cluster && !matches[checked..].iter().any(is_cluster)
    });
    Ranked { matches, has_more }
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
}

impl Best {
    fn add(&mut self, similarity: f64, documents: usize) {
        let at = self.similarities.partition_point(|&other| other >= similarity);
        self.similarities.splice(at..at, std::iter::repeat_n(similarity, documents));
        self.similarities.truncate(self.needed);
    }

    fn is_complete(&self) -> bool {
        self.similarities.len() >= self.needed
    }

    fn lowest(&self) -> Option<f64> {
        self.similarities.last().copied().filter(|_| self.is_complete())
    }

    /// Returns `true` if a candidate cannot be as similar as the last of a complete list.
    fn excludes(&self, candidate: &Candidate, rows: usize) -> bool {
        let Some(lowest) = self.lowest() else { return false };
        match candidate.bound {
            Some(bound) => bound < lowest,
            None => candidate.estimate.is_some_and(|estimate| estimate < least_estimate(lowest, rows)),
        }
    }

    /// Returns `true` if the list is complete, and a match of this similarity is not as good as the last one.
    fn is_reached(&self, bound: f64) -> bool {
        self.lowest().is_some_and(|lowest| bound < lowest)
    }
}
