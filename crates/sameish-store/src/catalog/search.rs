//! What is like a document, and what belongs together?

use super::collection::{Collection, moment};
use super::live::Live;
use super::texts::StoredTexts;
use crate::error::{Error, Result};
use crate::model::{
    ClusterDetail, ClusterMember, ClusterSummary, Clusters, ClustersPage, MEMBERS_SHOWN, Similar,
    SimilarDocuments, SimilarOptions, Stats,
};
use crate::rows::MemberRow;
use crate::store::Read;
use sameish::{
    CANDIDATES_JUDGED, ClusterId, Content, DocId, Document, Evidence, External, Scope, Scratch, Search,
    SearchOptions, StoredDocument, Timestamp,
};
use std::collections::HashMap;

impl Collection {
    /// The stored documents that match a stored one, the most similar first.
    pub fn similar(&self, id: &DocId, options: SimilarOptions) -> Result<SimilarDocuments> {
        let read = self.shared.readers.get()?;
        let live = &*self.live;
        let engine = live.engine();
        let visible = live.visible();
        let unknown = || Error::NoDocument { id: id.clone() };
        let stored = engine.get(id).filter(|stored| stored.number <= visible).ok_or_else(unknown)?;
        let number = stored.number;
        let when = stored.published.map_or(0, Timestamp::as_milliseconds);
        let texts = StoredTexts::new(&live.analyzer, &self.shared.cache, &*read);
        let filter = |other: StoredDocument<'_>| other.number <= visible && live.within_window(other, when);
        let found = engine.search_id_in(id, &scope(options, &texts, &filter))?;
        drop(engine);
        let Some(found) = found else {
            // Either it is damaged, which reading it reports, or it was just deleted.
            read.document(number)?;
            return Err(unknown());
        };
        let own = match options.evidence {
            Some(_) => read.document(number)?.map(|row| row.document.content),
            None => None,
        };
        self.answer(&*read, found, own.as_ref(), options)
    }

    /// The stored documents that match one that is not stored.
    pub fn query(&self, document: &Document, options: SimilarOptions) -> Result<SimilarDocuments> {
        let live = &*self.live;
        let prepared = live.analyzer.prepare(&document.content, &mut Scratch::default());
        let when = match &document.published_at {
            Some(date) => Timestamp::parse(date)?.as_milliseconds(),
            None => super::now(),
        };
        let read = self.shared.readers.get()?;
        let texts = StoredTexts::new(&live.analyzer, &self.shared.cache, &*read);
        let engine = live.engine();
        let visible = live.visible();
        let filter = |other: StoredDocument<'_>| other.number <= visible && live.within_window(other, when);
        let found = engine.search_prepared_in(&prepared, &scope(options, &texts, &filter))?;
        drop(engine);
        self.answer(&*read, found, Some(&document.content), options)
    }

    /// A page of clusters of two and more documents, the newest first.
    pub fn clusters(&self, page: ClustersPage) -> Result<Clusters> {
        let read = self.shared.readers.get()?;
        let rows = read.clusters(self.live.row.number, page.before, page.limit)?;
        let next = rows.last().map(|(id, _)| *id).filter(|_| rows.len() == page.limit);
        let mut clusters = Vec::with_capacity(rows.len());
        for (id, size) in rows {
            if let Some(center) = read.members(id, 1)?.first() {
                let center = member(&*read, center, &HashMap::new())?;
                clusters.extend(center.map(|center| ClusterSummary { id, size, center }));
            }
        }
        Ok(Clusters { clusters, next })
    }

    /// A cluster with its documents, the first thousand of them; nothing if it is not there.
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
            if let Some(found) = member(&*read, row, &ids)? {
                ids.insert(row.document, found.id.clone());
                members.push(found);
            }
        }
        Ok(Some(ClusterDetail { id, size, members }))
    }

    /// Figures, with those of documents that are being written.
    pub fn stats(&self) -> Result<Stats> {
        let live: &Live = &self.live;
        let read = self.shared.readers.get()?;
        let [clusters, clustered, largest_cluster] = read.cluster_figures(live.row.number)?;
        let engine = live.engine();
        Ok(Stats {
            documents: engine.len() as u64,
            too_short: engine.too_short() as u64,
            clusters,
            clustered,
            largest_cluster,
            last_arrival: live.last_arrival().map(moment),
            expected_recall: live.analyzer.expected_recall(),
        })
    }

    fn answer(
        &self,
        read: &dyn Read,
        search: Search,
        own: Option<&Content>,
        options: SimilarOptions,
    ) -> Result<SimilarDocuments> {
        let mut similar = Vec::with_capacity(search.matches.len());
        for found in search.matches {
            // One that has just gone is no match any more; one that is damaged keeps no other from being shown.
            let row = match read.document(found.number) {
                Ok(Some(row)) => row,
                Ok(None) | Err(Error::Damaged { .. }) => continue,
                Err(error) => return Err(error),
            };
            let Document { content, title, source, published_at, url, .. } = row.document;
            let evidence = options.evidence.zip(own).map(|(words, own)| {
                let shown = self.live.analyzer.compare(own, &content, words);
                Evidence {
                    passages: shown.passages,
                    coverage_a: shown.coverage_a,
                    coverage_b: shown.coverage_b,
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

/// A member as it is shown; one that is damaged is left out, and `verify` names it.
fn member(read: &dyn Read, row: &MemberRow, ids: &HashMap<u64, DocId>) -> Result<Option<ClusterMember>> {
    let stored = match read.document(row.document) {
        Ok(stored) => stored,
        Err(Error::Damaged { .. }) => None,
        Err(error) => return Err(error),
    };
    let Some(stored) = stored else { return Ok(None) };
    let joined = match row.joined.map(|other| (other, ids.get(&other))) {
        Some((_, Some(id))) => Some(id.clone()),
        Some((other, None)) => read.document(other).ok().flatten().map(|row| row.document.id),
        None => None,
    };
    let Document { id, title, source, published_at, url, .. } = stored.document;
    Ok(Some(ClusterMember {
        id,
        title,
        source,
        url,
        published_at,
        arrived_at: moment(stored.arrived_at),
        joined,
    }))
}
