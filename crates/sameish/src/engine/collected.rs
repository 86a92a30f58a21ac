//! Searches in two steps: candidates are copied from the engine, and then judged without it.
//!
//! A service protects its engine with a lock. Judging a candidate of an [external](External) engine reads a text, which may take
//! milliseconds, and no writer and no other reader should wait for that. Therefore [`Engine::collect_prepared_in`] and
//! [`Engine::collect_id_in`] copy what the verdicts depend on, and [`Collected::judge`] needs only the store of the texts.

use super::Engine;
use super::collection::{Collection, QueryView};
use super::lookup::Candidate;
use super::search::{
    Found, Judged, Match, NO_FEATURES, Scope, Search, SearchOptions, best_document, expand, judge_ranked,
    needs_features,
};
use super::storage::{External, TextSource};
use crate::analyzer::{Prepared, Status, TextFeatures};
use crate::document::DocId;
use crate::error::Result;
use crate::features::TextKey;
use crate::matching::{Judge, Verdict};
use crate::sketch::{Fingerprint, Sdr};
use std::sync::Arc;

/// The maximum number of documents that are copied from the engine for one search. Distinct texts beyond it contribute one
/// document each, and the search is marked as capped.
const DOCUMENTS_COPIED: usize = 100_000;

/// The candidates of a search, which can be judged without the engine.
#[derive(Debug)]
pub struct Collected<'q> {
    query: Query<'q>,
    judge: Judge,
    limit: usize,
    min_similarity: f64,
    texts: Vec<CandidateText>,
    candidates: usize,
    capped: usize,
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
            judge: self.judge,
            limit: 0,
            min_similarity: 0.0,
            texts: Vec::new(),
            candidates: 0,
            capped: 0,
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
        let judge = min_similarity.map_or(self.judge, |threshold| self.judge.with_threshold(threshold));
        let found = self.candidates(&view, None, judge, scope)?;
        let candidates = found.texts.len();
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
        Ok(Collected { query, judge, limit, min_similarity, texts, candidates, capped })
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
        let rows = query.signature.map_or(1, <[u32]>::len);
        let matches = judge_ranked(
            &self.texts,
            rows,
            self.limit,
            |text| text.candidate,
            |text| {
                let verdict = self.verdict(&query, text, texts)?;
                Some(Judged { verdict, documents: text.documents.len(), joins: self.judge.joins(&verdict) })
            },
        );
        Some(self.search(matches))
    }

    /// Judges one candidate. Reads its features only if the verdict depends on them.
    fn verdict(
        &self,
        query: &QueryView<'_>,
        other: &CandidateText,
        texts: &dyn TextSource,
    ) -> Option<Verdict> {
        let judge = |features: &TextFeatures| {
            self.judge.judge_facts(&query.side(), &other.copy.view(features).side())
        };
        if !needs_features(self.judge, query, &other.copy.view(&NO_FEATURES)) {
            return judge(&NO_FEATURES);
        }
        let number = other.documents.first()?.number;
        if let Some(known) = texts.known(number) {
            return known;
        }
        let verdict = judge(&*texts.features(number)?);
        texts.remember(number, verdict);
        verdict
    }

    /// Returns the documents of the texts that match.
    fn search(&self, mut matches: Vec<(&CandidateText, Verdict)>) -> Search {
        matches.sort_by(|(a, x), (b, y)| x.cmp_rank(y).then_with(|| a.first.cmp(&b.first)));
        let may_join = |(text, verdict): &&(&CandidateText, Verdict)| {
            self.judge.joins(verdict) && text.copy.status == Status::Ok
        };
        let first = |text: &CandidateText| Some(text.documents.first()?.number);
        let best =
            best_document(matches.iter().filter(may_join).map(|(text, verdict)| (*verdict, || first(text))));
        matches.retain(|(_, verdict)| verdict.similarity >= self.min_similarity);
        let found = expand(&matches, self.limit, |text| text.documents.iter(), |found| found.number);
        let to_match = |(found, verdict): (&Found, Verdict)| Match {
            id: found.id.clone(),
            number: found.number,
            verdict,
        };
        let matches = found.into_iter().map(to_match).collect();
        Search { matches, best, candidates: self.candidates, capped: self.capped }
    }
}
