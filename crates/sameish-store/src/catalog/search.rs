//! Searches and statistics of a collection.

use super::clusters::undamaged;
use super::collection::{Collection, timestamp};
use super::live::{Departing, LiveCollection};
use super::refresh::Statistic;
use super::texts::{FeatureCache, PooledReader, StoredTexts, TextBudget};
use crate::error::{Error, Result};
use crate::model::{SearchTotals, Similar, SimilarDocuments, SimilarEvidence, SimilarOptions, Stats};
use crate::rows::{ClusterTotals, DocumentRow, TaskKind};
use crate::store::Read;
use sameish::cluster::ClusterId;
use sameish::engine::{Among, CANDIDATES_JUDGED, Collected, External, Scope, StoredDocument};
use sameish::matching::Evidence;
use sameish::{Content, DocId, Document, Engine, Match, Scratch, Search, SearchOptions, Status, Timestamp};
use std::borrow::Cow;
use std::ops::ControlFlow;
use std::sync::{Arc, RwLockReadGuard};

/// The totals of a collection with fewer clusters are always current.
const MANY_CLUSTERS: u64 = 10_000;

/// Receives results one by one. Breaks to reject a result and all later ones.
pub type Sink<'a, T> = &'a mut dyn FnMut(T) -> ControlFlow<()>;

impl Collection {
    /// Returns the stored documents that match a stored document, most similar first.
    pub fn similar(&self, id: &DocId, options: SimilarOptions) -> Result<SimilarDocuments> {
        collect_matches(|sink| self.similar_each(id, options, usize::MAX, sink))
    }

    /// Passes the stored documents that match a stored document to `sink`, most similar first.
    ///
    /// Reads about `max_text_bytes` of stored text. What does not fit is left out and counted in `capped`.
    pub fn similar_each(
        &self,
        id: &DocId,
        options: SimilarOptions,
        max_text_bytes: usize,
        sink: Sink<'_, Similar>,
    ) -> Result<SearchTotals> {
        let unknown = || Error::NoDocument { id: id.clone() };
        let live = &*self.live;
        let collect = |engine: &Engine<External>, texts: &StoredTexts<'_>, visible: u64| {
            let stored = engine.get(id).filter(|stored| stored.number <= visible).ok_or_else(unknown)?;
            let moment = stored.published.map_or(0, Timestamp::as_milliseconds);
            let filter = |other: StoredDocument<'_>| other.number <= visible;
            let collected = engine.collect_id_in(id, &scope(live, moment, options, texts, &filter))?;
            let collected = collected.ok_or_else(unknown)?;
            let (number, status) = (Some(stored.number), stored.status);
            Ok(CollectedQuery { collected, number, status, date: None })
        };
        self.search_each(collect, None, options, max_text_bytes, sink)?.ok_or_else(unknown)
    }

    /// Returns the stored documents that match a document that is not stored, most similar first.
    pub fn query(&self, document: &Document, options: SimilarOptions) -> Result<SimilarDocuments> {
        collect_matches(|sink| self.query_each(document, options, usize::MAX, sink))
    }

    /// Passes the stored documents that match a document that is not stored to `sink`, most similar first.
    ///
    /// Reads about `max_text_bytes` of stored text. What does not fit is left out and counted in `capped`.
    pub fn query_each(
        &self,
        document: &Document,
        options: SimilarOptions,
        max_text_bytes: usize,
        sink: Sink<'_, Similar>,
    ) -> Result<SearchTotals> {
        let live = &*self.live;
        live.analyzer.check(&document.content)?;
        let prepared = live.analyzer.prepare(&document.content, &mut Scratch::default());
        let moment = match &document.published_at {
            Some(date) => Timestamp::parse(date)?.as_milliseconds(),
            None => super::now(),
        };
        let collect = |engine: &Engine<External>, texts: &StoredTexts<'_>, visible: u64| {
            let filter = |other: StoredDocument<'_>| other.number <= visible;
            let collected =
                engine.collect_prepared_in(&prepared, &scope(live, moment, options, texts, &filter))?;
            let date = document.published_at.as_deref().and_then(|date| Timestamp::parse(date).ok());
            Ok(CollectedQuery { collected, number: None, status: prepared.sketches.status, date })
        };
        let totals = self.search_each(collect, Some(&document.content), options, max_text_bytes, sink)?;
        Ok(totals.unwrap_or_default())
    }

    /// Searches: `collect` gets the index, its texts and the greatest visible number, and returns the candidates. Returns `None`
    /// if the query was deleted meanwhile.
    ///
    /// The index is locked only while candidates are collected. Their texts are read afterwards, all from the state of the
    /// store at that moment.
    fn search_each<'q>(
        &self,
        collect: impl FnOnce(&Engine<External>, &StoredTexts<'_>, u64) -> Result<CollectedQuery<'q>>,
        content: Option<&Content>,
        options: SimilarOptions,
        max_text_bytes: usize,
        sink: Sink<'_, Similar>,
    ) -> Result<Option<SearchTotals>> {
        let (view, engine) = self.view()?;
        let budget = TextBudget::new(max_text_bytes);
        let texts = view.texts(&self.live, &self.shared.cache).within(&budget);
        let CollectedQuery { collected, number, status, date } = collect(&engine, &texts, view.visible)?;
        drop(engine);
        let search = collected.judge(&texts);
        texts.check()?;
        // Reports a query that is damaged.
        let own = number.filter(|_| search.is_none() || options.evidence.is_some());
        let own = own.map(|number| view.document(number)).transpose()?.flatten();
        let Some(mut search) = search else { return Ok(None) };
        search.capped += usize::from(texts.skipped() > 0);
        let own = match number.filter(|_| own.is_none() && search.matches.iter().any(Match::needs_dates)) {
            Some(number) => undamaged(view.document(number))?,
            None => own,
        };
        let date = date.or_else(|| Timestamp::parse(own.as_ref()?.document.published_at.as_deref()?).ok());
        let own = own.map(|row| row.document.content);
        let content = content.or(own.as_ref());
        let query = SearchedQuery { content, date };
        let totals = self.pass_on(&view, &texts, search, &query, options, sink)?;
        Ok(Some(SearchTotals { status, ..totals }))
    }

    /// Adds metadata, relations and evidence to the matches of a search and passes them on.
    fn pass_on(
        &self,
        view: &View<'_>,
        texts: &StoredTexts<'_>,
        search: Search,
        searched: &SearchedQuery<'_>,
        options: SimilarOptions,
        sink: Sink<'_, Similar>,
    ) -> Result<SearchTotals> {
        let content = searched.content;
        let mut totals =
            SearchTotals { candidates: search.candidates, capped: search.capped, ..SearchTotals::default() };
        let query = options.evidence.and(content).map(|content| Arc::from(text_of(content)));
        let mut passed = 0;
        for found in search.matches {
            // Evidence needs the text. Otherwise, what was read to judge the match is enough.
            let described = texts.take_described(found.number).filter(|_| options.evidence.is_none());
            if described.is_none() && texts.is_exhausted() && passed > 0 {
                totals.capped += 1;
                break;
            }
            let read = || view.document(found.number).map(|row| row.map(|row| texts.count(row.document)));
            let Some(document) = described.map_or_else(|| undamaged(read()), |known| Ok(Some(known)))? else {
                continue;
            };
            let Document { content: other, title, source, published_at, url, .. } = document;
            let has_text = |content: &Content| !matches!(content, Content::Sketches(_));
            let comparison = options
                .evidence
                .zip(content)
                .filter(|(_, content)| has_text(content) && has_text(&other))
                .map(|(min_words, content)| self.live.analyzer.compare(content, &other, min_words));
            let date = published_at.as_deref().and_then(|date| Timestamp::parse(date).ok());
            let dates = searched.date.zip(date).map(|(query, found)| [query, found]);
            let found = Match { relation: found.relation_with(dates), ..found };
            let evidence = comparison.zip(query.clone()).map(|(comparison, query)| SimilarEvidence {
                evidence: Evidence {
                    passages: comparison.passages,
                    coverage_a: comparison.coverage_a,
                    coverage_b: comparison.coverage_b,
                    differences: comparison.differences,
                },
                query,
                text: text_of(&other).into_owned(),
            });
            drop(other);
            if sink(Similar { found, title, source, url, published_at, evidence }).is_break() {
                totals.capped += 1;
                break;
            }
            passed += 1;
        }
        Ok(totals)
    }

    /// Returns the matches of a stored document, and how many bytes of text were read. Returns `None` if the document was deleted
    /// meanwhile, or is damaged.
    pub(super) fn matches_of(&self, id: &DocId, search: &MatchSearch) -> Result<Option<(Search, usize)>> {
        let (view, engine) = self.view()?;
        let budget = TextBudget::new(search.max_text_bytes);
        let texts = view.texts(&self.live, &self.shared.cache).within(&budget);
        let Some(stored) = engine.get(id).filter(|stored| stored.number <= view.visible) else {
            return Ok(None);
        };
        let (number, moment) = (stored.number, stored.published.map_or(0, Timestamp::as_milliseconds));
        // With the document itself among the copies of its text, no other copy would be found.
        let last = if search.only_earlier { number } else { view.visible };
        let filter = |other: StoredDocument<'_>| other.number <= last && other.number != number;
        let options = SimilarOptions { limit: Some(search.limit), min_similarity: None, evidence: None };
        let scope = Scope { among: search.among, ..scope(&self.live, moment, options, &texts, &filter) };
        let collected = engine.collect_id_in(id, &scope)?;
        drop(engine);
        let found = collected.and_then(|collected| collected.judge(&texts));
        texts.check()?;
        let skipped = usize::from(texts.skipped() > 0);
        let read_bytes = search.max_text_bytes.saturating_sub(budget.remaining());
        Ok(found.map(|found| (Search { capped: found.capped + skipped, ..found }, read_bytes)))
    }

    /// Returns `true` if work on a cluster is queued.
    pub(super) fn is_pending(&self, read: &dyn Read, cluster: ClusterId) -> Result<bool> {
        let collection = self.live.row.number;
        let has_tasks = || -> Result<bool> {
            Ok(!read.tasks_of(cluster)?.is_empty()
                || !read.merges_into(collection, cluster)?.is_empty()
                || self.live.has_edits() && read.has_edited_tasks(collection, cluster)?
                || read.first_task(collection)?.is_some_and(|task| task.kind == TaskKind::Collection))
        };
        match has_tasks() {
            // A damaged task is work that is not done.
            Err(Error::Damaged { .. }) => Ok(true),
            is_pending => is_pending,
        }
    }

    /// Returns a consistent view of the store and the index.
    pub(super) fn view(&self) -> Result<(View<'_>, RwLockReadGuard<'_, Engine<External>>)> {
        let mut read = self.shared.readers.get()?;
        let engine = self.live.engine();
        // Documents that the index shows up to this number are committed, so the snapshot below contains them unless the
        // next transaction, of which the index shows nothing yet, deletes them. Readers need the document that it replaces.
        let visible = self.live.visible();
        read.begin()?;
        Ok((View { read, visible, departing: self.live.departing() }, engine))
    }

    /// Returns the totals of the clusters.
    fn cluster_totals(&self) -> Result<Arc<ClusterTotals>> {
        let compute = |collection: &Collection| {
            collection.shared.readers.get()?.cluster_totals(collection.live.row.number)
        };
        let is_small = |totals: &ClusterTotals| totals.clusters < MANY_CLUSTERS;
        self.statistic(Statistic { of: |live| &live.totals, compute, is_small })
    }

    /// Returns statistics. They include documents that are being written. If the collection has 10,000 clusters or more, the numbers
    /// of clusters can be out of date for 20 times the time that counting them takes.
    pub fn stats(&self) -> Result<Stats> {
        let totals = self.cluster_totals()?;
        let read = self.shared.readers.get()?;
        let pending_clusters = read.count_pending(self.live.row.number)?;
        let rejected = read.rejected(self.live.row.number)? + self.live.rejected();
        let engine = self.live.engine();
        Ok(Stats {
            documents: engine.len() as u64,
            too_short: engine.too_short() as u64,
            rejected,
            clusters: totals.clusters,
            clustered: totals.documents,
            largest_cluster: totals.largest,
            chained: totals.chained,
            pending_clusters,
            capped_assignments: self.live.capped(),
            clustering_error: self.live.task_error().map(|error| match error {
                // Without the path, because clients of a service see this.
                Error::Database { reason, .. } => reason,
                other => other.to_string(),
            }),
            last_arrival: self.live.last_arrival().map(timestamp),
            expected_recall: self.live.analyzer.expected_recall(),
        })
    }
}

/// A search for the matches of a stored document.
pub(super) struct MatchSearch {
    pub(super) limit: usize,
    pub(super) among: Among,
    /// Whether only documents are searched that arrived before the stored one.
    pub(super) only_earlier: bool,
    /// Maximum size in bytes of the texts that are read.
    pub(super) max_text_bytes: usize,
}

fn collect_matches(
    search: impl FnOnce(Sink<'_, Similar>) -> Result<SearchTotals>,
) -> Result<SimilarDocuments> {
    let mut similar = Vec::new();
    let SearchTotals { candidates, capped, status } = search(&mut |found| {
        similar.push(found);
        ControlFlow::Continue(())
    })?;
    Ok(SimilarDocuments { similar, candidates, capped, status })
}

/// The candidates of a query.
struct CollectedQuery<'q> {
    collected: Collected<'q>,
    /// Number of the query, if it is stored.
    number: Option<u64>,
    status: Status,
    /// Publication date of a query that is not stored.
    date: Option<Timestamp>,
}

/// What relations and evidence need to know about a query.
struct SearchedQuery<'a> {
    content: Option<&'a Content>,
    date: Option<Timestamp>,
}

/// Returns the text of a document. Tokens are joined by spaces, as in the offsets of passages.
pub(super) fn text_of(content: &Content) -> Cow<'_, str> {
    match content {
        Content::Text(text) => text.into(),
        Content::Tokens(tokens) => tokens.join(" ").into(),
        Content::Sketches(_) => "".into(),
    }
}

/// What a reader sees: the store and the index at one moment.
pub(super) struct View<'a> {
    pub(super) read: PooledReader<'a>,
    /// Documents with greater numbers are not committed, or were committed after the view was taken.
    pub(super) visible: u64,
    /// The document that is replaced by a transaction that the store shows and the index does not.
    departing: Option<Arc<Departing>>,
}

impl View<'_> {
    /// Returns a document of the index.
    pub(super) fn document(&self, number: u64) -> Result<Option<DocumentRow>> {
        match self.departing(number) {
            Some(departing) => Ok(Some(departing.row.clone())),
            None => self.read.document(number),
        }
    }

    /// Returns the cluster of a document of the index.
    pub(super) fn cluster_of(&self, number: u64) -> Result<Option<ClusterId>> {
        match self.departing(number) {
            Some(departing) => Ok(departing.cluster),
            None => Ok(undamaged(self.read.member(number))?.map(|member| member.shown())),
        }
    }

    fn departing(&self, number: u64) -> Option<&Departing> {
        self.departing.as_deref().filter(|departing| departing.row.number == number)
    }

    fn texts<'v>(&'v self, live: &'v LiveCollection, cache: &'v FeatureCache) -> StoredTexts<'v> {
        StoredTexts::new(&live.analyzer, cache, &*self.read)
            .with_departing(self.departing.as_deref().map(|departing| &departing.row))
    }
}

fn scope<'a>(
    live: &LiveCollection,
    moment: i64,
    options: SimilarOptions,
    texts: &'a StoredTexts<'a>,
    filter: &'a dyn Fn(StoredDocument<'_>) -> bool,
) -> Scope<'a, External> {
    Scope {
        options: SearchOptions { limit: options.limit, min_similarity: options.min_similarity },
        texts,
        among: Among::All,
        dates: live.window_around(moment),
        filter: Some(filter),
        max_candidates: CANDIDATES_JUDGED,
        joining: false,
        needs_best: false,
        bounded: true,
    }
}
