//! Searches, clusters and statistics of a collection.

use super::collection::{Collection, timestamp};
use super::texts::{Snapshot, StoredTexts, TextBudget};
use crate::error::{Error, Result};
use crate::model::{
    ClusterDetail, ClusterMember, ClusterPage, ClusterSummary, Clusters, ClustersPage, MembersPage,
    SearchTotals, Similar, SimilarDocuments, SimilarOptions, Stats,
};
use crate::rows::{ClusterRow, DocumentRow, MemberRow};
use crate::store::Read;
use sameish::cluster::ClusterId;
use sameish::engine::{CANDIDATES_JUDGED, Collected, External, Scope, StoredDocument};
use sameish::matching::Evidence;
use sameish::{Content, DocId, Document, Engine, Match, Scratch, Search, SearchOptions, Timestamp};
use std::collections::HashMap;
use std::ops::ControlFlow;

/// Number of times that a search starts again because documents were replaced or deleted while it ran.
const MAX_RETRIES: usize = 3;

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
        let collect = |engine: &Engine<External>, texts: &StoredTexts<'_>| {
            let visible = live.visible();
            let stored = engine.get(id).filter(|stored| stored.number <= visible).ok_or_else(unknown)?;
            let moment = stored.published.map_or(0, Timestamp::as_milliseconds);
            let filter =
                |other: StoredDocument<'_>| other.number <= visible && live.within_window(other, moment);
            let collected = engine.collect_id_in(id, &scope(options, texts, &filter))?;
            Ok((collected.ok_or_else(unknown)?, Some(stored.number)))
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
        let collect = |engine: &Engine<External>, texts: &StoredTexts<'_>| {
            let visible = live.visible();
            let filter =
                |other: StoredDocument<'_>| other.number <= visible && live.within_window(other, moment);
            Ok((engine.collect_prepared_in(&prepared, &scope(options, texts, &filter))?, None))
        };
        let totals = self.search_each(collect, Some(&document.content), options, max_text_bytes, sink)?;
        Ok(totals.unwrap_or_default())
    }

    /// Searches: `collect` returns the candidates and the number of the query, if it is stored. Returns `None` if the query was
    /// deleted meanwhile.
    ///
    /// The index is locked only while candidates are collected. Their texts are read afterwards, all from the same state of the
    /// store. A document that was replaced between these two steps is neither in that state nor, in its new version, among the
    /// candidates, so the search starts again.
    fn search_each<'q>(
        &self,
        collect: impl Fn(&Engine<External>, &StoredTexts<'_>) -> Result<(Collected<'q>, Option<u64>)>,
        content: Option<&Content>,
        options: SimilarOptions,
        max_text_bytes: usize,
        sink: Sink<'_, Similar>,
    ) -> Result<Option<SearchTotals>> {
        let read = self.shared.readers.get()?;
        let mut retries = MAX_RETRIES;
        loop {
            let budget = TextBudget::new(max_text_bytes);
            let texts = StoredTexts::new(&self.live.analyzer, &self.shared.cache, &*read).within(&budget);
            let (collected, number) = collect(&self.live.engine(), &texts)?;
            let _snapshot = Snapshot::begin(&*read)?;
            let search = collected.judge(&texts);
            let is_outdated = texts.deleted() > 0
                || search.as_ref().is_some_and(|search| !self.are_stored(&*read, &search.matches));
            if is_outdated && retries > 0 {
                retries -= 1;
                continue;
            }
            // Reports a query that is damaged.
            let own = number.filter(|_| search.is_none() || options.evidence.is_some());
            let own = own.map(|number| read.document(number)).transpose()?.flatten();
            let Some(mut search) = search else { return Ok(None) };
            let own = own.map(|row| row.document.content);
            search.capped += usize::from(texts.skipped() > 0);
            return self.pass_on(&*read, search, content.or(own.as_ref()), options, &budget, sink).map(Some);
        }
    }

    /// Returns `true` if none of the matches has been replaced or deleted since the index returned it.
    fn are_stored(&self, read: &dyn Read, matches: &[Match]) -> bool {
        let collection = self.live.row.number;
        let is_stored = |found: &Match| {
            // An error is reported when the document is read.
            read.number_of(collection, &found.id).map_or(true, |number| number == Some(found.number))
        };
        matches.iter().all(is_stored)
    }

    /// Adds metadata and evidence to the matches of a search and passes them on. `content` is the content of the query.
    fn pass_on(
        &self,
        read: &dyn Read,
        search: Search,
        content: Option<&Content>,
        options: SimilarOptions,
        budget: &TextBudget,
        sink: Sink<'_, Similar>,
    ) -> Result<SearchTotals> {
        let mut totals = SearchTotals { candidates: search.candidates, capped: search.capped };
        let mut passed = 0;
        for found in search.matches {
            if budget.is_exhausted() && passed > 0 {
                totals.capped += 1;
                break;
            }
            let Some(row) = undamaged(read, found.number)? else { continue };
            budget.take(&row.document.content);
            let Document { content: other, title, source, published_at, url, .. } = row.document;
            let evidence = options.evidence.zip(content).map(|(min_words, content)| {
                let comparison = self.live.analyzer.compare(content, &other, min_words);
                Evidence {
                    passages: comparison.passages,
                    coverage_a: comparison.coverage_a,
                    coverage_b: comparison.coverage_b,
                }
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
        let read = self.shared.readers.get()?;
        let budget = TextBudget::new(max_text_bytes);
        let rows = read.clusters(self.live.row.number, page.before, page.limit)?;
        let is_last_page = rows.len() < page.limit;
        let mut last = None;
        for ClusterRow { cluster: id, size } in rows {
            if last.is_some() && budget.is_exhausted() {
                return Ok(last);
            }
            if let Some(center) = read.members(id, 1)?.first()
                && let Some(center) = cluster_member(&*read, center, None, &budget)?
                && sink(ClusterSummary { id, size, center }).is_break()
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
        Ok(cluster.map(|ClusterPage { id, size, .. }| ClusterDetail { id, size, members }))
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
        let read = self.shared.readers.get()?;
        let first = read.members(id, 1)?.pop().filter(|row| row.collection == self.live.row.number);
        let Some(first) = first else { return Ok(None) };
        let center = undamaged(&*read, first.document)?.map(|row| row.document.id);
        let rows = read.members_after(id, page.after, page.limit)?;
        let size = read.cluster_size(id)?.unwrap_or(1);
        let budget = TextBudget::new(max_text_bytes);
        let mut ids: HashMap<u64, DocId> = center.iter().map(|id| (first.document, id.clone())).collect();
        let is_last_page = rows.len() < page.limit;
        let mut last = None;
        let page = |next| Ok(Some(ClusterPage { id, size, center, next }));
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

    /// Returns statistics. They include documents that are being written.
    pub fn stats(&self) -> Result<Stats> {
        let totals = self.shared.readers.get()?.cluster_totals(self.live.row.number)?;
        let engine = self.live.engine();
        Ok(Stats {
            documents: engine.len() as u64,
            too_short: engine.too_short() as u64,
            clusters: totals.clusters,
            clustered: totals.documents,
            largest_cluster: totals.largest,
            last_arrival: self.live.last_arrival().map(timestamp),
            expected_recall: self.live.analyzer.expected_recall(),
        })
    }
}

fn collect_matches(
    search: impl FnOnce(Sink<'_, Similar>) -> Result<SearchTotals>,
) -> Result<SimilarDocuments> {
    let mut similar = Vec::new();
    let SearchTotals { candidates, capped } = search(&mut |found| {
        similar.push(found);
        ControlFlow::Continue(())
    })?;
    Ok(SimilarDocuments { similar, candidates, capped })
}

fn scope<'a>(
    options: SimilarOptions,
    texts: &'a StoredTexts<'a>,
    filter: &'a dyn Fn(StoredDocument<'_>) -> bool,
) -> Scope<'a, External> {
    let options = SearchOptions { limit: options.limit, min_similarity: options.min_similarity };
    Scope { options, texts, filter: Some(filter), max_candidates: CANDIDATES_JUDGED }
}

/// Reads a document. Returns `None` if it is damaged, which `verify` reports, or was just deleted.
fn undamaged(read: &dyn Read, number: u64) -> Result<Option<DocumentRow>> {
    match read.document(number) {
        Err(Error::Damaged { .. }) => Ok(None),
        row => row,
    }
}

/// Reads a member of a cluster. `ids` has the ids of members that were read before; without it the document that made the member
/// join is left out. Returns `None` if the document is damaged.
fn cluster_member(
    read: &dyn Read,
    row: &MemberRow,
    ids: Option<&HashMap<u64, DocId>>,
    budget: &TextBudget,
) -> Result<Option<ClusterMember>> {
    let Some(stored) = undamaged(read, row.document)? else { return Ok(None) };
    budget.take(&stored.document.content);
    let joined = row.joined.zip(ids).and_then(|(other, ids)| match ids.get(&other) {
        Some(id) => Some(id.clone()),
        None => read.document(other).ok().flatten().map(|row| {
            budget.take(&row.document.content);
            row.document.id
        }),
    });
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
