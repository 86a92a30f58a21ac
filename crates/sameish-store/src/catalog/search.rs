//! Searches, clusters and statistics of a collection.

use super::clusters::undamaged;
use super::collection::{Collection, timestamp};
use super::live::{Departing, LiveCollection, LiveLinkage};
use super::texts::{FeatureCache, PooledReader, StoredTexts};
use crate::error::{Error, Result};
use crate::model::{
    ClusterDetail, ClusterMember, ClusterSummary, Clusters, ClustersPage, MEMBERS_SHOWN, Similar,
    SimilarDocuments, SimilarOptions, Stats,
};
use crate::rows::{ClusterRow, DocumentRow, MemberRow, TaskKind, TaskRow};
use crate::store::Read;
use sameish::cluster::ClusterId;
use sameish::engine::{Among, CANDIDATES_JUDGED, External, Scope, StoredDocument};
use sameish::matching::Evidence;
use sameish::{Content, DocId, Document, Engine, Scratch, Search, SearchOptions, Timestamp};
use std::collections::HashMap;
use std::sync::{Arc, RwLockReadGuard};

impl Collection {
    /// Returns the stored documents that match a stored document, most similar first.
    pub fn similar(&self, id: &DocId, options: SimilarOptions) -> Result<SimilarDocuments> {
        let live = &*self.live;
        let (view, engine) = self.view()?;
        let visible = live.visible();
        let unknown = || Error::NoDocument { id: id.clone() };
        let stored = engine.get(id).filter(|stored| stored.number <= visible).ok_or_else(unknown)?;
        let number = stored.number;
        let moment = stored.published.map_or(0, Timestamp::as_milliseconds);
        let texts = view.texts(live, &self.shared.cache);
        let filter = |other: StoredDocument<'_>| other.number <= visible;
        let search = engine.search_id_in(id, &scope(live, moment, options, &texts, &filter))?;
        drop(engine);
        let Some(search) = search else {
            // The document is damaged, which reading it reports.
            view.document(number)?;
            return Err(unknown());
        };
        let content = match options.evidence {
            Some(_) => view.document(number)?.map(|row| row.document.content),
            None => None,
        };
        self.similar_documents(&view, search, content.as_ref(), options)
    }

    /// Returns the stored documents that match a document that is not stored, most similar first.
    pub fn query(&self, document: &Document, options: SimilarOptions) -> Result<SimilarDocuments> {
        let live = &*self.live;
        let prepared = live.analyzer.prepare(&document.content, &mut Scratch::default());
        let moment = match &document.published_at {
            Some(date) => Timestamp::parse(date)?.as_milliseconds(),
            None => super::now(),
        };
        let (view, engine) = self.view()?;
        let texts = view.texts(live, &self.shared.cache);
        let visible = live.visible();
        let filter = |other: StoredDocument<'_>| other.number <= visible;
        let search = engine.search_prepared_in(&prepared, &scope(live, moment, options, &texts, &filter))?;
        drop(engine);
        self.similar_documents(&view, search, Some(&document.content), options)
    }

    /// Returns a page of clusters with at least two documents, newest first.
    pub fn clusters(&self, page: ClustersPage) -> Result<Clusters> {
        let read = self.shared.readers.snapshot()?;
        let rows = read.clusters(self.live.row.number, page.before, page.limit)?;
        let next = rows.last().map(|row| row.cluster).filter(|_| rows.len() == page.limit);
        let mut clusters = Vec::with_capacity(rows.len());
        for ClusterRow { cluster: id, size, center, .. } in rows {
            let stored = center.and_then(|center| read.member(center).ok().flatten());
            let center = match stored {
                Some(center) => Some(center),
                None => read.members(id, 0, 1)?.first().copied(),
            };
            if let Some(center) = center {
                let center = cluster_member(&*read, &center, &HashMap::new())?;
                let pending = self.is_pending(&*read, id)?;
                clusters.extend(center.map(|center| ClusterSummary { id, size, pending, center }));
            }
        }
        Ok(Clusters { clusters, next })
    }

    /// Returns a cluster with its first [`MEMBERS_SHOWN`] documents, or `None` if the collection has no such cluster.
    pub fn cluster(&self, id: ClusterId) -> Result<Option<ClusterDetail>> {
        let read = self.shared.readers.snapshot()?;
        let mut rows = read.members(id, 0, MEMBERS_SHOWN)?;
        if rows.first().is_none_or(|row| row.collection != self.live.row.number) {
            return Ok(None);
        }
        let cluster = read.cluster(id)?;
        let size = cluster.map_or(rows.len() as u64, |row| row.size);
        let center = cluster.map_or(rows.first().map(|row| row.document), |row| row.center);
        if self.live.linkage == LiveLinkage::Cohesive {
            rows.iter_mut().for_each(|row| row.joined = center.filter(|center| *center != row.document));
        }
        let mut ids = HashMap::new();
        let mut members = Vec::with_capacity(rows.len());
        for row in &rows {
            if let Some(member) = cluster_member(&*read, row, &ids)? {
                ids.insert(row.document, member.id.clone());
                members.push(member);
            }
        }
        let center =
            center.and_then(|center| ids.remove(&center)).or_else(|| Some(members.first()?.id.clone()));
        let pending = self.is_pending(&*read, id)?;
        Ok(Some(ClusterDetail { id, size, pending, center, members }))
    }

    /// Returns `true` if work on a cluster is queued.
    fn is_pending(&self, read: &dyn Read, cluster: ClusterId) -> Result<bool> {
        if !read.tasks_of(cluster)?.is_empty() {
            return Ok(true);
        }
        let first = read.first_task(self.live.row.number)?;
        let is_pending = |task: TaskRow| {
            // Merges come first in the queue.
            task.kind == TaskKind::Collection || (task.kind == TaskKind::Merge && task.target == cluster)
        };
        Ok(first.is_some_and(is_pending))
    }

    /// Returns a consistent view of the store and the index.
    pub(super) fn view(&self) -> Result<(View<'_>, RwLockReadGuard<'_, Engine<External>>)> {
        let mut read = self.shared.readers.get()?;
        let engine = self.live.engine();
        // The index changes only after a commit and under its lock. So the store is as the index shows it, or one
        // transaction ahead. Of that transaction, readers need the document that it replaced.
        read.begin()?;
        Ok((View { read, departing: self.live.departing() }, engine))
    }

    /// Returns statistics. They include documents that are being written.
    pub fn stats(&self) -> Result<Stats> {
        let read = self.shared.readers.get()?;
        let totals = read.cluster_totals(self.live.row.number)?;
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
            last_arrival: self.live.last_arrival().map(timestamp),
            expected_recall: self.live.analyzer.expected_recall(),
        })
    }

    /// Adds metadata and evidence to the matches of a search. `content` is the content of the query.
    fn similar_documents(
        &self,
        view: &View<'_>,
        search: Search,
        content: Option<&Content>,
        options: SimilarOptions,
    ) -> Result<SimilarDocuments> {
        let mut similar = Vec::with_capacity(search.matches.len());
        for found in search.matches {
            let Some(row) = undamaged(view.document(found.number))? else { continue };
            let Document { content: other, title, source, published_at, url, .. } = row.document;
            let evidence = options.evidence.zip(content).map(|(min_words, content)| {
                let comparison = self.live.analyzer.compare(content, &other, min_words);
                Evidence {
                    passages: comparison.passages,
                    coverage_a: comparison.coverage_a,
                    coverage_b: comparison.coverage_b,
                }
            });
            similar.push(Similar { found, title, source, url, published_at, evidence });
        }
        Ok(SimilarDocuments { similar, candidates: search.candidates, capped: search.capped })
    }
}

/// What a reader sees: the store and the index at one moment.
pub(super) struct View<'a> {
    pub(super) read: PooledReader<'a>,
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
    pub(super) fn cluster_of(&self, number: u64) -> Option<ClusterId> {
        match self.departing(number) {
            Some(departing) => departing.cluster,
            None => self.read.member(number).ok().flatten().map(|member| member.cluster),
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

/// Reads a member of a cluster. `ids` has the ids of members that were read before. Returns `None` if the document is
/// damaged.
fn cluster_member(
    read: &dyn Read,
    row: &MemberRow,
    ids: &HashMap<u64, DocId>,
) -> Result<Option<ClusterMember>> {
    let Some(stored) = undamaged(read.document(row.document))? else { return Ok(None) };
    let joined = row.joined.and_then(|other| match ids.get(&other) {
        Some(id) => Some(id.clone()),
        None => read.document(other).ok().flatten().map(|row| row.document.id),
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
