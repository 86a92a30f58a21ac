//! Searches, clusters and statistics of a collection.

use super::clusters::{first_undamaged, undamaged};
use super::collection::{Collection, timestamp};
use super::live::{Departing, LiveCollection, LiveLinkage};
use super::texts::{FeatureCache, PooledReader, StoredTexts, TextBudget};
use crate::error::{Error, Result};
use crate::model::{
    ClusterDetail, ClusterMember, ClusterPage, ClusterSummary, Clusters, ClustersPage, MembersPage,
    SearchTotals, Similar, SimilarDocuments, SimilarEvidence, SimilarOptions, Stats,
};
use crate::rows::{ClusterRow, DocumentRow, MemberRow, TaskKind};
use crate::store::Read;
use sameish::cluster::ClusterId;
use sameish::engine::{Among, CANDIDATES_JUDGED, Collected, External, Scope, StoredDocument};
use sameish::matching::Evidence;
use sameish::{Content, DocId, Document, Engine, Scratch, Search, SearchOptions, Status, Timestamp};
use std::borrow::Cow;
use std::collections::HashMap;
use std::ops::ControlFlow;
use std::sync::{Arc, RwLockReadGuard};

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
            Ok(CollectedQuery { collected, number: Some(stored.number), status: stored.status })
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
        let prepared = live.analyzer.prepare(&document.content, &mut Scratch::default());
        let moment = match &document.published_at {
            Some(date) => Timestamp::parse(date)?.as_milliseconds(),
            None => super::now(),
        };
        let collect = |engine: &Engine<External>, texts: &StoredTexts<'_>, visible: u64| {
            let filter = |other: StoredDocument<'_>| other.number <= visible;
            let collected =
                engine.collect_prepared_in(&prepared, &scope(live, moment, options, texts, &filter))?;
            Ok(CollectedQuery { collected, number: None, status: prepared.sketches.status })
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
        let CollectedQuery { collected, number, status } = collect(&engine, &texts, view.visible)?;
        drop(engine);
        let search = collected.judge(&texts);
        texts.check()?;
        // Reports a query that is damaged.
        let own = number.filter(|_| search.is_none() || options.evidence.is_some());
        let own = own.map(|number| view.document(number)).transpose()?.flatten();
        let Some(mut search) = search else { return Ok(None) };
        search.capped += usize::from(texts.skipped() > 0);
        let own = own.map(|row| row.document.content);
        let totals = self.pass_on(&view, &texts, search, content.or(own.as_ref()), options, sink)?;
        Ok(Some(SearchTotals { status, ..totals }))
    }

    /// Adds metadata and evidence to the matches of a search and passes them on. `content` is the content of the query.
    fn pass_on(
        &self,
        view: &View<'_>,
        texts: &StoredTexts<'_>,
        search: Search,
        content: Option<&Content>,
        options: SimilarOptions,
        sink: Sink<'_, Similar>,
    ) -> Result<SearchTotals> {
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
            let comparison = options
                .evidence
                .zip(content)
                .map(|(min_words, content)| self.live.analyzer.compare(content, &other, min_words));
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

    /// Returns a page of clusters with at least two documents, newest first.
    pub fn clusters(&self, page: ClustersPage) -> Result<Clusters> {
        let mut clusters = Vec::new();
        let next = self.clusters_each(page, usize::MAX, &mut |cluster| {
            clusters.push(cluster);
            ControlFlow::Continue(())
        })?;
        Ok(Clusters { clusters, next })
    }

    /// Passes a page of clusters with at least two documents to `sink`, newest first. Returns [`ClustersPage::before`] of the
    /// next page.
    ///
    /// The page ends when `sink` breaks, or when about `max_text_bytes` of stored text are read.
    pub fn clusters_each(
        &self,
        page: ClustersPage,
        max_text_bytes: usize,
        sink: Sink<'_, ClusterSummary>,
    ) -> Result<Option<ClusterId>> {
        let read = self.shared.readers.snapshot()?;
        let budget = TextBudget::new(max_text_bytes);
        let rows = read.clusters(self.live.row.number, page.before, page.limit)?;
        let is_last_page = rows.len() < page.limit;
        let mut last = None;
        for (id, row) in rows {
            if last.is_some() && budget.is_exhausted() {
                return Ok(last);
            }
            // A damaged cluster is not listed; `verify` reports it.
            if let Some(ClusterRow { size, center, .. }) = undamaged(row.map(Some))?
                && let pending = self.is_pending(&*read, id)?
                && let Some(center) = center_or_first(&*read, id, center)?
                && let Some(center) = cluster_member(&*read, &center, None, &budget)?
                && sink(ClusterSummary { id, size, pending, center }).is_break()
            {
                return Ok(last);
            }
            last = Some(id);
        }
        Ok(last.filter(|_| !is_last_page))
    }

    /// Returns a cluster with its first [`MEMBERS_SHOWN`](crate::MEMBERS_SHOWN) documents, or `None` if the collection has no
    /// such cluster.
    pub fn cluster(&self, id: ClusterId) -> Result<Option<ClusterDetail>> {
        let mut members = Vec::new();
        let cluster = self.cluster_each(id, MembersPage::default(), usize::MAX, &mut |member| {
            members.push(member);
            ControlFlow::Continue(())
        })?;
        Ok(cluster.map(|ClusterPage { id, size, pending, center, .. }| ClusterDetail {
            id,
            size,
            pending,
            center,
            members,
        }))
    }

    /// Passes a page of the documents of a cluster to `sink`, in order of insertion. Returns `None` if the collection has no such
    /// cluster.
    ///
    /// The page ends when `sink` breaks, or when about `max_text_bytes` of stored text are read.
    pub fn cluster_each(
        &self,
        id: ClusterId,
        page: MembersPage,
        max_text_bytes: usize,
        sink: Sink<'_, ClusterMember>,
    ) -> Result<Option<ClusterPage>> {
        let read = self.shared.readers.snapshot()?;
        let cluster = read.cluster(id)?;
        let center = center_or_first(&*read, id, cluster.and_then(|row| row.center))?;
        let Some(center) = center.filter(|row| row.collection == self.live.row.number) else {
            return Ok(None);
        };
        let center_id = undamaged(read.document(center.document))?.map(|row| row.document.id);
        let rows = read.members(id, page.after.saturating_add(1), page.limit)?;
        let is_last_page = rows.len() < page.limit;
        let mut rows = undamaged_rows(rows)?;
        if self.live.linkage == LiveLinkage::Cohesive {
            let link = |row: &MemberRow| Some(center.document).filter(|center| *center != row.document);
            rows.iter_mut().for_each(|row| row.joined = link(row));
        }
        let size = cluster.map_or(1, |row| row.size);
        let pending = self.is_pending(&*read, id)?;
        let budget = TextBudget::new(max_text_bytes);
        let mut ids: HashMap<u64, DocId> = center_id.iter().map(|id| (center.document, id.clone())).collect();
        let mut last = None;
        let page = |next| Ok(Some(ClusterPage { id, size, pending, center: center_id, next }));
        for row in &rows {
            if last.is_some() && budget.is_exhausted() {
                return page(last);
            }
            if let Some(member) = cluster_member(&*read, row, Some(&ids), &budget)? {
                ids.insert(row.document, member.id.clone());
                if sink(member).is_break() {
                    return page(last);
                }
            }
            last = Some(row.document);
        }
        page(last.filter(|_| !is_last_page))
    }

    /// Returns `true` if work on a cluster is queued.
    fn is_pending(&self, read: &dyn Read, cluster: ClusterId) -> Result<bool> {
        let collection = self.live.row.number;
        let has_tasks = || -> Result<bool> {
            Ok(!read.tasks_of(cluster)?.is_empty()
                || !read.merges_into(collection, cluster)?.is_empty()
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

    /// Returns statistics. They include documents that are being written.
    pub fn stats(&self) -> Result<Stats> {
        let writes = self.shared.writes();
        let read = self.shared.readers.get()?;
        let totals = self.live.cluster_totals(&*read, writes)?;
        let pending_clusters = read.count_pending(self.live.row.number)?;
        let engine = self.live.engine();
        Ok(Stats {
            documents: engine.len() as u64,
            too_short: engine.too_short() as u64,
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
}

/// Returns the text of a document. Tokens are joined by spaces, as in the offsets of passages.
fn text_of(content: &Content) -> Cow<'_, str> {
    match content {
        Content::Text(text) => text.into(),
        Content::Tokens(tokens) => tokens.join(" ").into(),
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
            None => Ok(undamaged(self.read.member(number))?.map(|member| member.cluster)),
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
    }
}

/// Returns the center of a cluster or, while it has none, its first document.
fn center_or_first(read: &dyn Read, cluster: ClusterId, center: Option<u64>) -> Result<Option<MemberRow>> {
    let stored = center.map(|center| undamaged(read.member(center))).transpose()?.flatten();
    match stored {
        Some(center) => Ok(Some(center)),
        None => first_undamaged(0, |from| read.members(cluster, from, 1)),
    }
}

/// Leaves out damaged memberships, which `verify` reports.
fn undamaged_rows(rows: Vec<(u64, Result<MemberRow>)>) -> Result<Vec<MemberRow>> {
    rows.into_iter().filter_map(|(_, row)| undamaged(row.map(Some)).transpose()).collect()
}

/// Reads a member of a cluster. `ids` has the ids of members that were read before; without it the document that made the member
/// join is left out. Returns `None` if the document is damaged.
fn cluster_member(
    read: &dyn Read,
    row: &MemberRow,
    ids: Option<&HashMap<u64, DocId>>,
    budget: &TextBudget,
) -> Result<Option<ClusterMember>> {
    let Some(stored) = undamaged(read.document(row.document))? else { return Ok(None) };
    budget.take(&stored.document);
    let joined = match row.joined.zip(ids) {
        Some((other, ids)) if ids.contains_key(&other) => ids.get(&other).cloned(),
        Some((other, _)) => undamaged(read.document(other))?.map(|row| {
            budget.take(&row.document);
            row.document.id
        }),
        None => None,
    };
    let Document { id, title, source, published_at, url, .. } = stored.document;
    Ok(Some(ClusterMember {
        id,
        title,
        source,
        url,
        published_at,
        arrived_at: timestamp(stored.arrived_at),
        joined,
    }))
}
