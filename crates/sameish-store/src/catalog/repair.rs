//! Deletion of documents and repair of their clusters.
//!
//! Every member of a cluster except the first joined it because of a match with one other member. These links form a tree.
//! Deleting a document cuts the tree into parts. For each part, the repair searches for a match between one of its documents
//! and the rest of the cluster. A part without such a match becomes a cluster of its own. The part with the oldest document
//! keeps the cluster id, and the others get new ones. Ids are never reused.

use super::live::LiveCollection;
use super::texts::{FeatureCache, StoredTexts};
use super::writer::Writer;
use crate::error::Result;
use crate::rows::{Counters, MemberRow};
use crate::store::Transaction;
use sameish::cluster::ClusterId;
use sameish::engine::{External, Scope, StoredDocument};
use sameish::{DocId, SearchOptions, Timestamp};
use std::collections::{BTreeMap, HashMap, HashSet};
use std::sync::Arc;

/// Maximum number of searches per cluster. After that, parts stay in the cluster without a search.
const MAX_SEARCHES: usize = 256;
/// Maximum number of candidates that are verified per search.
const MAX_CANDIDATES: usize = 256;

/// A request to delete a document.
#[derive(Clone, Debug)]
pub(super) struct Deletion {
    pub(super) id: DocId,
    /// If set, the document is deleted only if it still has this number, that is, if it was not replaced.
    pub(super) expected_number: Option<u64>,
}

impl Writer {
    /// Deletes documents in one transaction. Returns for each whether it existed.
    pub(super) fn delete_all(
        &mut self,
        work: &[(Arc<LiveCollection>, Vec<Deletion>)],
    ) -> Result<Vec<Vec<bool>>> {
        let Writer { store, shared, counters, .. } = self;
        let mut change = store.begin()?;
        let mut results = Vec::with_capacity(work.len());
        let mut removed: HashSet<u64> = HashSet::new();
        for (live, deletions) in work {
            let mut numbers: Vec<Option<u64>> = Vec::with_capacity(deletions.len());
            for deletion in deletions {
                let number = deletion.number(live, &*change)?;
                numbers.push(number.filter(|&number| removed.insert(number)));
            }
            results.push(numbers.iter().map(Option::is_some).collect());
            let numbers: Vec<u64> = numbers.into_iter().flatten().collect();
            remove(&mut *change, counters, &shared.cache, live, &numbers)?;
        }
        change.put_counters(*counters)?;
        change.commit()?;
        for ((live, deletions), existed) in work.iter().zip(&results) {
            let mut engine = live.engine_mut();
            for (deletion, _) in deletions.iter().zip(existed).filter(|(_, existed): &(_, &bool)| **existed) {
                engine.remove(&deletion.id);
            }
        }
        Ok(results)
    }
}

impl Deletion {
    /// Returns the number of the document to delete.
    fn number(&self, live: &LiveCollection, change: &dyn Transaction) -> Result<Option<u64>> {
        let number = match live.indexed_number(&self.id) {
            Some(number) => Some(number),
            None => change.read().number_of(live.row.number, &self.id)?,
        };
        let is_expected = |number: &u64| self.expected_number.is_none_or(|expected| expected == *number);
        Ok(number.filter(is_expected))
    }
}

/// Deletes the rows of documents and repairs their clusters. The documents remain in the index.
pub(super) fn remove(
    change: &mut dyn Transaction,
    counters: &mut Counters,
    cache: &FeatureCache,
    live: &LiveCollection,
    numbers: &[u64],
) -> Result<()> {
    let mut losses: BTreeMap<ClusterId, ClusterLoss> = BTreeMap::new();
    for &number in numbers {
        // `verify` reports a damaged membership.
        if let Ok(Some(member)) = change.read().member(number) {
            let loss = losses.entry(member.cluster).or_default();
            loss.documents += 1;
            loss.cuts_links |= !change.read().joined(number)?.is_empty();
        }
        change.remove_document(number)?;
    }
    for (cluster, loss) in losses {
        if loss.cuts_links {
            let mut repair = Repair::load(change, live, cluster)?;
            repair.reconnect_parts(change, cache, live)?;
            repair.store(change, counters, live)?;
        } else {
            let size = change.read().cluster_size(cluster)?.unwrap_or(1);
            change.put_cluster(live.row.number, cluster, size.saturating_sub(loss.documents))?;
        }
    }
    Ok(())
}

/// What a cluster loses in a transaction.
#[derive(Default)]
struct ClusterLoss {
    documents: u64,
    /// Whether other documents had joined because of one of them.
    cuts_links: bool,
}

/// A cluster that lost documents to which others were linked.
struct Repair {
    cluster: ClusterId,
    /// The remaining documents by number, each with the document that it is linked to.
    links: BTreeMap<u64, Option<u64>>,
    stored_links: BTreeMap<u64, Option<u64>>,
    /// The part of each document. A part is identified by its root.
    parts: HashMap<u64, u64>,
    /// Parts that were linked to another part.
    merged: HashMap<u64, u64>,
}

impl Repair {
    fn load(change: &dyn Transaction, live: &LiveCollection, cluster: ClusterId) -> Result<Repair> {
        let members = change.read().members(cluster, usize::MAX >> 1)?;
        let members = members.into_iter().filter(|member| member.collection == live.row.number);
        let stored_links: BTreeMap<u64, Option<u64>> =
            members.map(|member| (member.document, member.joined)).collect();
        let remaining = |link: Option<u64>| link.filter(|other| stored_links.contains_key(other));
        let links = stored_links.iter().map(|(&document, &link)| (document, remaining(link))).collect();
        let mut repair =
            Repair { cluster, links, stored_links, parts: HashMap::new(), merged: HashMap::new() };
        repair.find_parts();
        Ok(repair)
    }

    /// Assigns each document to the root that its links lead to. Cycles, which only damage can cause, are cut.
    fn find_parts(&mut self) {
        self.parts.clear();
        self.merged.clear();
        let documents: Vec<u64> = self.links.keys().copied().collect();
        let mut path = Vec::new();
        let mut on_path = HashSet::new();
        for document in documents {
            let mut current = document;
            let root = loop {
                if let Some(&root) = self.parts.get(&current) {
                    break root;
                }
                path.push(current);
                on_path.insert(current);
                match self.links.get(&current).copied().flatten() {
                    Some(next) if !on_path.contains(&next) => current = next,
                    Some(_) => {
                        self.links.insert(current, None);
                        break current;
                    }
                    None => break current,
                }
            };
            on_path.clear();
            self.parts.extend(path.drain(..).map(|document| (document, root)));
        }
    }

    /// Returns the part of a document, after merges.
    fn part_of(&self, document: u64) -> Option<u64> {
        let mut part = *self.parts.get(&document)?;
        while let Some(&into) = self.merged.get(&part) {
            part = into;
        }
        Some(part)
    }

    /// Returns the documents of each part, in order of the oldest document.
    fn documents_by_part(&self) -> Vec<Vec<u64>> {
        let mut position: HashMap<u64, usize> = HashMap::new();
        let mut parts: Vec<Vec<u64>> = Vec::new();
        for document in self.links.keys() {
            let at = *position.entry(self.parts[document]).or_insert(parts.len());
            if at == parts.len() {
                parts.push(Vec::new());
            }
            parts[at].push(*document);
        }
        parts
    }

    /// Searches for matches between the parts, and links each part that has one.
    fn reconnect_parts(
        &mut self,
        change: &dyn Transaction,
        cache: &FeatureCache,
        live: &LiveCollection,
    ) -> Result<()> {
        let Some((&oldest, _)) = self.links.first_key_value() else { return Ok(()) };
        let mut searches = MAX_SEARCHES;
        for part in self.documents_by_part() {
            // The part of the oldest document needs no link, nor does a part that was merged into it.
            if self.part_of(part[0]) == self.part_of(oldest) {
                continue;
            }
            for document in part {
                let other = if searches == 0 {
                    Some(oldest)
                } else {
                    searches -= 1;
                    self.find_match_in_other_part(change, cache, live, document)?
                };
                if let Some(other) = other {
                    self.link(document, other);
                    break;
                }
            }
        }
        Ok(())
    }

    /// Returns the best match of a document in another part of the cluster.
    fn find_match_in_other_part(
        &self,
        change: &dyn Transaction,
        cache: &FeatureCache,
        live: &LiveCollection,
        document: u64,
    ) -> Result<Option<u64>> {
        let Ok(Some(row)) = change.read().document(document) else { return Ok(None) };
        let texts = StoredTexts::new(&live.analyzer, cache, change.read());
        let part = self.part_of(document);
        let moment = Timestamp::from_milliseconds(row.moment()).map_or(0, Timestamp::as_milliseconds);
        let filter = |other: StoredDocument<'_>| {
            live.within_window(other, moment)
                && self.parts.contains_key(&other.number)
                && self.part_of(other.number) != part
        };
        let scope: Scope<'_, External> = Scope {
            options: SearchOptions::default(),
            texts: &texts,
            filter: Some(&filter),
            max_candidates: MAX_CANDIDATES,
        };
        let search = live.engine().search_id_in(&row.document.id, &scope)?;
        Ok(search.and_then(|search| search.best))
    }

    /// Makes `document` the root of its part by reversing the links above it, and links it to a document of another part.
    fn link(&mut self, document: u64, other: u64) {
        let mut current = document;
        let mut target = Some(other);
        while let Some(link) = self.links.get_mut(&current) {
            let next = std::mem::replace(link, target);
            target = Some(current);
            match next {
                Some(next) => current = next,
                None => break,
            }
        }
        if let (Some(part), Some(into)) = (self.part_of(document), self.part_of(other)) {
            self.merged.insert(part, into);
        }
    }

    /// Stores the parts: the first keeps the cluster id, and the others become new clusters.
    fn store(
        mut self,
        change: &mut dyn Transaction,
        counters: &mut Counters,
        live: &LiveCollection,
    ) -> Result<()> {
        self.find_parts();
        let parts = self.documents_by_part();
        let collection = live.row.number;
        if parts.is_empty() {
            change.put_cluster(collection, self.cluster, 0)?;
        }
        for (i, part) in parts.iter().enumerate() {
            let cluster = if i == 0 { self.cluster } else { counters.next_cluster() };
            for &document in part {
                let joined = self.links[&document];
                if i > 0 || joined != self.stored_links[&document] {
                    change.put_member(&MemberRow { document, collection, cluster, joined })?;
                }
            }
            change.put_cluster(collection, cluster, part.len() as u64)?;
        }
        Ok(())
    }
}
