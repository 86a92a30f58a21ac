//! Searches, clusters and statistics of a collection.

use super::collection::{Collection, timestamp};
use super::texts::StoredTexts;
use crate::error::{Error, Result};
use crate::model::{
    ClusterDetail, ClusterMember, ClusterSummary, Clusters, ClustersPage, MEMBERS_SHOWN, Similar,
    SimilarDocuments, SimilarOptions, Stats,
};
use crate::rows::{ClusterRow, DocumentRow, MemberRow};
use crate::store::Read;
use sameish::cluster::ClusterId;
use sameish::engine::{CANDIDATES_JUDGED, External, Scope, StoredDocument};
use sameish::matching::Evidence;
use sameish::{Content, DocId, Document, Scratch, Search, SearchOptions, Timestamp};
use std::collections::HashMap;

impl Collection {
    /// Returns the stored documents that match a stored document, most similar first.
    pub fn similar(&self, id: &DocId, options: SimilarOptions) -> Result<SimilarDocuments> {
        let read = self.shared.readers.get()?;
        let live = &*self.live;
        let engine = live.engine();
        let visible = live.visible();
        let unknown = || Error::NoDocument { id: id.clone() };
        let stored = engine.get(id).filter(|stored| stored.number <= visible).ok_or_else(unknown)?;
        let number = stored.number;
        let moment = stored.published.map_or(0, Timestamp::as_milliseconds);
        let texts = StoredTexts::new(&live.analyzer, &self.shared.cache, &*read);
        let filter = |other: StoredDocument<'_>| other.number <= visible && live.within_window(other, moment);
        let search = engine.search_id_in(id, &scope(options, &texts, &filter))?;
        drop(engine);
        let Some(search) = search else {
            // The document is damaged, which reading it reports, or it was just deleted.
            read.document(number)?;
            return Err(unknown());
        };
        let content = match options.evidence {
            Some(_) => read.document(number)?.map(|row| row.document.content),
            None => None,
        };
        self.similar_documents(&*read, search, content.as_ref(), options)
    }

    /// Returns the stored documents that match a document that is not stored, most similar first.
    pub fn query(&self, document: &Document, options: SimilarOptions) -> Result<SimilarDocuments> {
        let live = &*self.live;
        let prepared = live.analyzer.prepare(&document.content, &mut Scratch::default());
        let moment = match &document.published_at {
            Some(date) => Timestamp::parse(date)?.as_milliseconds(),
            None => super::now(),
        };
        let read = self.shared.readers.get()?;
        let texts = StoredTexts::new(&live.analyzer, &self.shared.cache, &*read);
        let engine = live.engine();
        let visible = live.visible();
        let filter = |other: StoredDocument<'_>| other.number <= visible && live.within_window(other, moment);
        let search = engine.search_prepared_in(&prepared, &scope(options, &texts, &filter))?;
        drop(engine);
        self.similar_documents(&*read, search, Some(&document.content), options)
    }

    /// Returns a page of clusters with at least two documents, newest first.
    pub fn clusters(&self, page: ClustersPage) -> Result<Clusters> {
        let read = self.shared.readers.get()?;
        let rows = read.clusters(self.live.row.number, page.before, page.limit)?;
        let next = rows.last().map(|row| row.cluster).filter(|_| rows.len() == page.limit);
        let mut clusters = Vec::with_capacity(rows.len());
        for ClusterRow { cluster: id, size } in rows {
            if let Some(center) = read.members(id, 1)?.first() {
                let center = cluster_member(&*read, center, &HashMap::new())?;
                clusters.extend(center.map(|center| ClusterSummary { id, size, center }));
            }
        }
        Ok(Clusters { clusters, next })
    }

    /// Returns a cluster with its first [`MEMBERS_SHOWN`] documents, or `None` if the collection has no such cluster.
    pub fn cluster(&self, id: ClusterId) -> Result<Option<ClusterDetail>> {
        let read = self.shared.readers.get()?;
        let rows = read.members(id, MEMBERS_SHOWN)?;
        if rows.first().is_none_or(|row| row.collection != self.live.row.number) {
            return Ok(None);
        }
        let size = read.cluster_size(id)?.unwrap_or(rows.len() as u64);
        let mut ids = HashMap::new();
        let mut members = Vec::with_capacity(rows.len());
        for row in &rows {
            if let Some(member) = cluster_member(&*read, row, &ids)? {
                ids.insert(row.document, member.id.clone());
                members.push(member);
            }
        }
        Ok(Some(ClusterDetail { id, size, members }))
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

    /// Adds metadata and evidence to the matches of a search. `content` is the content of the query.
    fn similar_documents(
        &self,
        read: &dyn Read,
        search: Search,
        content: Option<&Content>,
        options: SimilarOptions,
    ) -> Result<SimilarDocuments> {
        let mut similar = Vec::with_capacity(search.matches.len());
        for found in search.matches {
            let Some(row) = undamaged(read, found.number)? else { continue };
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

/// Reads a member of a cluster. `ids` has the ids of members that were read before. Returns `None` if the document is
/// damaged.
fn cluster_member(
    read: &dyn Read,
    row: &MemberRow,
    ids: &HashMap<u64, DocId>,
) -> Result<Option<ClusterMember>> {
    let Some(stored) = undamaged(read, row.document)? else { return Ok(None) };
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
