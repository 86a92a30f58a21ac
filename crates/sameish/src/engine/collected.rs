//! Searches in two steps: candidates are copied from the engine, and then judged without it.
//!
//! A service protects its engine with a lock. Judging a candidate of an [external](External) engine reads a text, which may take
//! milliseconds, and no writer and no other reader should wait for that. Therefore [`Engine::collect_prepared_in`] and
//! [`Engine::collect_id_in`] copy what the verdicts depend on, and [`Collected::judge`] needs only the store of the texts.

use super::Engine;
use super::collection::{Collection, QueryView};
use super::crowd::Profile;
use super::lookup::Candidate;
use super::search::{
    Described, Found, Judged, NO_FEATURES, Ranked, Ranking, Scope, Search, SearchOptions, best_document,
    expand, judge_ranked, needs_features,
};
use super::storage::{External, TextSource};
use crate::analyzer::{Prepared, Status, TextFeatures};
use crate::document::{DocId, Timestamp};
use crate::error::Result;
use crate::features::TextKey;
use crate::matching::{Judge, Verdict};
use crate::sketch::{Fingerprint, Sdr};
use std::cell::RefCell;
use std::collections::HashMap;
use std::sync::Arc;

/// The maximum number of documents that are copied from the engine for one search. Distinct texts beyond it contribute one
/// document each, and the search is marked as capped.
const DOCUMENTS_COPIED: usize = 100_000;

/// The candidates of a search, which can be judged without the engine.
#[derive(Debug)]
pub struct Collected<'q> {
    query: Query<'q>,
    /// The publication date of a stored query.
    published: Option<Timestamp>,
    judge: Judge,
    limit: usize,
    min_similarity: f64,
    texts: Vec<CandidateText>,
    candidates: usize,
    capped: usize,
    /// The largest similarity of texts that were left out, if there are any.
    left_out: Option<f64>,
    needs_best: bool,
    bounded: bool,
}

/// What candidates are compared with.
#[derive(Debug)]
enum Query<'q> {
    Prepared(&'q Prepared),
    /// A stored document, whose features are read when the candidates are judged.
    Stored {
        text: TextCopy,
        number: u64,
    },
    /// The sketches decide, and the search is complete.
    Done(Search),
}

/// A copy of the sketches of a stored text.
#[derive(Debug)]
struct TextCopy {
    status: Status,
    simhash: Option<Fingerprint>,
    signature: Option<Box<[u32]>>,
    sdr: Option<Sdr>,
    key: Option<TextKey>,
}

/// A copy of a candidate.
#[derive(Debug)]
struct CandidateText {
    candidate: Candidate,
    copy: TextCopy,
    /// The insertion number of the first document with this text.
    first: u64,
    /// The documents that may be found, by insertion number.
    documents: Vec<Found>,
}

impl TextCopy {
    fn of(view: &QueryView<'_>) -> TextCopy {
        TextCopy {
            status: view.status,
            simhash: view.simhash,
            signature: view.signature.map(Box::from),
            sdr: view.sdr.cloned(),
            key: view.key,
        }
    }

    fn view<'a>(&'a self, features: &'a TextFeatures) -> QueryView<'a> {
        QueryView {
            status: self.status,
            simhash: self.simhash,
            signature: self.signature.as_deref(),
            sdr: self.sdr.as_ref(),
            features: Some(features),
            key: self.key,
        }
    }
}

impl Engine<External> {
    /// Collects the candidates within a scope for a [prepared](crate::Analyzer::prepare) document. Reads no texts, unless the
    /// configuration does not verify matches; then the result is complete.
    ///
    /// [`Collected::judge`] returns what [`search_prepared_in`](Self::search_prepared_in) returns.
    pub fn collect_prepared_in<'q>(
        &self,
        prepared: &'q Prepared,
        scope: &Scope<'_, External>,
    ) -> Result<Collected<'q>> {
        if !self.config().matching.verify {
            return Ok(self.collection.done(self.search_prepared_in(prepared, scope)?));
        }
        self.collection.collect(QueryView::of(prepared), Query::Prepared(prepared), None, scope)
    }

    /// Collects the candidates within a scope for a stored document. Returns `None` if there is no document with this id.
    ///
    /// [`Collected::judge`] returns what [`search_id_in`](Self::search_id_in) returns.
    pub fn collect_id_in(
        &self,
        id: &DocId,
        scope: &Scope<'_, External>,
    ) -> Result<Option<Collected<'static>>> {
        if !self.config().matching.verify {
            return Ok(self.search_id_in(id, scope)?.map(|search| self.collection.done(search)));
        }
        let Some(&slot) = self.collection.numbers.get(id) else { return Ok(None) };
        let doc = &self.collection.docs[slot];
        let view = self.collection.view_of(doc.text).with_features(&NO_FEATURES);
        let query = Query::Stored { text: TextCopy::of(&view), number: doc.number };
        self.collection.collect(view, query, Some(slot), scope).map(Some)
    }
}

impl Collection<External> {
    fn done(&self, search: Search) -> Collected<'static> {
        Collected {
            query: Query::Done(search),
            published: None,
            judge: self.judge,
            limit: 0,
            min_similarity: 0.0,
            texts: Vec::new(),
            candidates: 0,
            capped: 0,
            left_out: None,
            needs_best: false,
            bounded: false,
        }
    }

    /// Copies the candidates of a query, except for the document `except`.
    fn collect<'q>(
        &self,
        view: QueryView<'_>,
        query: Query<'q>,
        except: Option<u32>,
        scope: &Scope<'_, External>,
    ) -> Result<Collected<'q>> {
        let SearchOptions { limit, min_similarity } = scope.options;
        let limit = limit.unwrap_or(self.limit);
        let judge = min_similarity.map_or(self.judge, |minimum| self.judge.with_minimum(minimum));
        let stored = except.map(|doc| self.docs[doc].text);
        let profile = || match stored {
            Some(text) => self.crowd.profile(text),
            None => Profile::of_query(&view),
        };
        let found = self.candidates(&view, profile, None, judge, limit, scope)?;
        let candidates = found.texts.len();
        let left_out = found.left_out;
        let mut capped = found.capped;
        let mut copied = 0;
        let mut texts = Vec::with_capacity(candidates);
        for candidate in found.texts {
            let max = if copied < DOCUMENTS_COPIED { limit } else { 1 };
            let admitted = self.admitted(candidate.text, scope).filter(|doc| Some(*doc) != except);
            let mut eligible = admitted.map(|doc| self.found(doc));
            let documents: Vec<Found> = eligible.by_ref().take(max).collect();
            capped += usize::from(max < limit && eligible.next().is_some());
            copied += documents.len();
            let copy = TextCopy::of(&self.view_of(candidate.text));
            texts.push(CandidateText { candidate, copy, first: self.number_of(candidate.text), documents });
        }
        let min_similarity = min_similarity.unwrap_or(0.0);
        let Scope { needs_best, bounded, .. } = *scope;
        Ok(Collected {
            query,
            published: except.and_then(|doc| self.docs[doc].published),
            judge,
            limit,
            min_similarity,
            texts,
            candidates,
            capped,
            left_out,
            needs_best,
            bounded,
        })
    }
}

impl Collected<'_> {
    /// Judges the candidates. Returns `None` if the text of the query is stored and cannot be read.
    pub fn judge(self, texts: &dyn TextSource) -> Option<Search> {
        let stored: Arc<TextFeatures>;
        let query = match &self.query {
            Query::Prepared(prepared) => QueryView::of(prepared),
            Query::Stored { text, number } => {
                stored = texts.features(*number)?;
                text.view(&stored)
            }
            Query::Done(search) => return Some(search.clone()),
        };
        let judging = Judging { collected: &self, query, texts, features: RefCell::default() };
        Some(judging.search())
    }
}

/// The second step of a search.
struct Judging<'a> {
    collected: &'a Collected<'a>,
    query: QueryView<'a>,
    texts: &'a dyn TextSource,
    /// The features of matches whose facts may be compared, by insertion number.
    features: RefCell<HashMap<u64, Arc<TextFeatures>>>,
}

impl Judging<'_> {
    /// Returns the documents of the texts that match.
    fn search(&self) -> Search {
        let Collected { limit, min_similarity, needs_best, candidates, capped, .. } = *self.collected;
        let Ranked { mut matches, has_more } = self.ranked();
        matches.sort_by(|(a, x), (b, y)| x.cmp_rank(y).then_with(|| a.first.cmp(&b.first)));
        let may_join = |(text, verdict): &&(&CandidateText, Verdict)| {
            needs_best && text.copy.status == Status::Ok && self.joins(text, *verdict)
        };
        let first = |text: &CandidateText| Some(text.documents.first()?.number);
        let best =
            best_document(matches.iter().filter(may_join).map(|(text, verdict)| (*verdict, || first(text))));
        matches.retain(|(_, verdict)| verdict.similarity >= min_similarity);
        let found = expand(
            &matches,
            limit,
            |text| text.documents.iter().map(|found| (found, *text)),
            |(found, _)| found.number,
        );
        let mut described: HashMap<u64, Described> = HashMap::new();
        let to_match = |((found, text), verdict): ((&Found, &CandidateText), Verdict)| {
            let of_text = described.entry(text.first).or_insert_with(|| self.describe(text, verdict));
            of_text.into_match(found.clone(), self.collected.published)
        };
        let matches = found.into_iter().map(to_match).collect();
        Search { matches, best, candidates, capped: capped + usize::from(has_more) }
    }

    fn ranked(&self) -> Ranked<'_, CandidateText> {
        let rows = self.query.signature.map_or(1, <[u32]>::len);
        let Collected { left_out, limit: needed, bounded, .. } = *self.collected;
        judge_ranked(
            &self.collected.texts,
            Ranking { left_out, rows, needed, bounded },
            |text| (text.candidate, text.first),
            |text| Some(Judged { verdict: self.verdict(text)?, documents: text.documents.len() }),
            |text, verdict| !self.collected.needs_best || self.joins(text, verdict),
        )
    }

    /// Judges one candidate, without the agreement of the facts unless the verdict is remembered. Reads its features only if
    /// the verdict depends on them.
    fn verdict(&self, other: &CandidateText) -> Option<Verdict> {
        let judge = self.collected.judge;
        let with =
            |features: &TextFeatures| judge.judge(&self.query.side(), &other.copy.view(features).side());
        if !needs_features(judge, &self.query, &other.copy.view(&NO_FEATURES)) {
            return with(&NO_FEATURES);
        }
        let number = other.documents.first()?.number;
        if let Some(known) = self.texts.known(number) {
            return known;
        }
        let features = self.texts.features(number)?;
        let verdict = with(&features);
        if verdict.is_some() {
            self.features.borrow_mut().insert(number, features);
        }
        if !self.texts.remembers() {
            return verdict;
        }
        let verdict = verdict.map(|verdict| self.with_facts(other, verdict));
        self.texts.remember(number, verdict);
        verdict
    }

    /// Returns `true` if the query may share a cluster with a match whose facts are not compared yet.
    fn joins(&self, text: &CandidateText, verdict: Verdict) -> bool {
        let judge = self.collected.judge;
        judge.joins(&verdict)
            && (!judge.separates_templates() || judge.joins(&self.with_facts(text, verdict)))
    }

    /// Adds the agreement of the facts to a verdict. One that was remembered has it.
    fn with_facts(&self, text: &CandidateText, verdict: Verdict) -> Verdict {
        self.describe(text, verdict).verdict
    }

    /// Adds what depends on the features of a match to its verdict. Of a verdict that was remembered, the features are not read.
    fn describe(&self, text: &CandidateText, verdict: Verdict) -> Described {
        let Some(query) = self.query.features else { return Described { verdict, shingles: None } };
        let number = text.documents.first().map(|found| found.number);
        let kept = self.features.borrow();
        match number.and_then(|number| kept.get(&number)) {
            Some(features) => Described {
                verdict: verdict.with_facts(|| (&query.facts, &features.facts)),
                shingles: Some([query.shingles.len(), features.shingles.len()]),
            },
            None if verdict.is_of_equal_texts() => {
                Described { verdict: verdict.with_facts(|| (&query.facts, &query.facts)), shingles: None }
            }
            None => Described { verdict, shingles: None },
        }
    }
}
