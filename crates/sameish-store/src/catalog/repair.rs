//! What does a document that leaves do to its cluster?
//!
//! Every member but the founder of a cluster joined it for one other: these links are a tree. When a document leaves, the
//! branches below it hang in the air. Each looks for a match of one of its documents in the rest of the cluster; what
//! finds none is a cluster of its own. The part with the oldest document keeps the name, the others get new ones. Names
//! are never given again.

use super::live::Live;
use super::texts::{Cache, StoredTexts};
use super::writer::Writer;
use crate::error::Result;
use crate::rows::{Counters, MemberRow};
use crate::store::Transaction;
use sameish::{ClusterId, DocId, External, Scope, SearchOptions, StoredDocument, Timestamp};
use std::collections::{BTreeMap, HashMap, HashSet};
use std::sync::Arc;

/// Most documents of one cluster that look for a match; branches beyond that stay together.
const SEARCHED: usize = 256;
/// Most candidates of each that are judged.
const JUDGED: usize = 256;

/// Who is to leave.
#[derive(Clone, Debug)]
pub(super) struct Leaving {
    pub(super) id: DocId,
    /// Only if it still has this number: another may have taken its place.
    pub(super) number: Option<u64>,
}

impl Writer {
    /// Takes documents out, all in one transaction; tells for each whether it was there.
    pub(super) fn delete_all(&mut self, work: &[(Arc<Live>, Vec<Leaving>)]) -> Result<Vec<Vec<bool>>> {
        let Writer { store, shared, counters, .. } = self;
        let mut change = store.begin()?;
        let mut answers = Vec::with_capacity(work.len());
        let mut gone: HashSet<u64> = HashSet::new();
        for (live, ids) in work {
            let mut fresh: Vec<Option<u64>> = Vec::with_capacity(ids.len());
            for Leaving { id, number: meant } in ids {
                let held = live.engine().get(id).map(|stored| stored.number);
                // A document that is too damaged for the index is in the store alone.
                let stored = || change.read().number_of(live.row.number, id);
                let number = held.map_or_else(stored, |held| Ok(Some(held)))?;
                let meant = |number: &u64| meant.is_none_or(|meant| meant == *number);
                fresh.push(number.filter(meant).filter(|&number| gone.insert(number)));
            }
            let leaving: Vec<u64> = fresh.iter().flatten().copied().collect();
            remove(&mut *change, counters, &shared.cache, live, &leaving)?;
            answers.push(fresh.iter().map(Option::is_some).collect());
        }
        change.put_counters(*counters)?;
        change.commit()?;
        for ((live, ids), there) in work.iter().zip(&answers) {
            let mut engine = live.engine_mut();
            let leaving = ids.iter().zip(there).filter(|(_, there): &(_, &bool)| **there);
            leaving.for_each(|(leaving, _)| _ = engine.remove(&leaving.id));
        }
        Ok(answers)
    }
}

/// Takes documents and all that is known of them out of the store, and repairs their clusters. The index still has them.
pub(super) fn remove(
    change: &mut dyn Transaction,
    counters: &mut Counters,
    cache: &Cache,
    live: &Live,
    numbers: &[u64],
) -> Result<()> {
    let mut touched: BTreeMap<ClusterId, Touched> = BTreeMap::new();
    for &number in numbers {
        // A membership that can not be read is as good as none; `verify` tells of the cluster.
        if let Ok(Some(member)) = change.read().member(number) {
            let touched = touched.entry(member.cluster).or_default();
            touched.left += 1;
            touched.branches |= !change.read().joined(number)?.is_empty();
        }
        change.remove_document(number)?;
    }
    for (cluster, Touched { left, branches }) in touched {
        match branches {
            true => Repair::new(change, live, cluster)?.run(change, counters, cache, live)?,
            false => {
                let size = change.read().cluster_size(cluster)?.unwrap_or(1);
                change.put_cluster(live.row.number, cluster, size.saturating_sub(left))?;
            }
        }
    }
    Ok(())
}

/// What leaves a cluster.
#[derive(Default)]
struct Touched {
    left: u64,
    /// Whether others had joined for one of them.
    branches: bool,
}

/// A cluster that lost documents others had joined for.
struct Repair {
    cluster: ClusterId,
    /// Those that are left, by number, with what they joined for.
    joined: BTreeMap<u64, Option<u64>>,
    before: BTreeMap<u64, Option<u64>>,
    /// The part each is in, named by one of its documents.
    part: HashMap<u64, u64>,
    /// Parts that hang below others by now, by name.
    merged: HashMap<u64, u64>,
}

impl Repair {
    fn new(change: &dyn Transaction, live: &Live, cluster: ClusterId) -> Result<Repair> {
        let members = change.read().members(cluster, usize::MAX >> 1)?;
        let members = members.into_iter().filter(|member| member.collection == live.row.number);
        let before: BTreeMap<u64, Option<u64>> =
            members.map(|member| (member.document, member.joined)).collect();
        let there = |joined: &Option<u64>| joined.filter(|other| before.contains_key(other));
        let joined = before.iter().map(|(&document, joined)| (document, there(joined))).collect();
        let mut repair = Repair { cluster, joined, before, part: HashMap::new(), merged: HashMap::new() };
        repair.find_parts();
        Ok(repair)
    }

    /// Walks up from every document to the one that joined for nobody. A ring, which only damage can make, ends there too.
    fn find_parts(&mut self) {
        self.part.clear();
        self.merged.clear();
        let documents: Vec<u64> = self.joined.keys().copied().collect();
        let (mut path, mut on_path) = (Vec::new(), HashSet::new());
        for document in documents {
            let mut at = document;
            let root = loop {
                if let Some(&root) = self.part.get(&at) {
                    break root;
                }
                path.push(at);
                on_path.insert(at);
                match self.joined.get(&at).copied().flatten() {
                    Some(up) if !on_path.contains(&up) => at = up,
                    Some(_) => {
                        self.joined.insert(at, None);
                        break at;
                    }
                    None => break at,
                }
            };
            on_path.clear();
            self.part.extend(path.drain(..).map(|document| (document, root)));
        }
    }

    /// The part of a document, as far as parts hang together by now.
    fn part_of(&self, document: u64) -> Option<u64> {
        let mut part = *self.part.get(&document)?;
        while let Some(&into) = self.merged.get(&part) {
            part = into;
        }
        Some(part)
    }

    fn run(
        mut self,
        change: &mut dyn Transaction,
        counters: &mut Counters,
        cache: &Cache,
        live: &Live,
    ) -> Result<()> {
        self.relink(change, cache, live)?;
        self.find_parts();
        let mut parts: BTreeMap<u64, Vec<u64>> = BTreeMap::new();
        for &document in self.joined.keys() {
            parts.entry(self.part[&document]).or_default().push(document);
        }
        let mut parts: Vec<Vec<u64>> = parts.into_values().collect();
        parts.sort_by_key(|part| part.first().copied());
        let collection = live.row.number;
        if parts.is_empty() {
            change.put_cluster(collection, self.cluster, 0)?;
        }
        for (i, part) in parts.iter().enumerate() {
            let cluster = match i {
                0 => self.cluster,
                _ => {
                    counters.clusters += 1;
                    ClusterId(counters.clusters)
                }
            };
            for &document in part {
                let joined = self.joined[&document];
                if i > 0 || joined != self.before[&document] {
                    change.put_member(&MemberRow { document, collection, cluster, joined })?;
                }
            }
            change.put_cluster(collection, cluster, part.len() as u64)?;
        }
        Ok(())
    }

    /// Looks for a match of every part but the first in the rest of the cluster.
    fn relink(&mut self, change: &dyn Transaction, cache: &Cache, live: &Live) -> Result<()> {
        let Some((&oldest, _)) = self.joined.first_key_value() else { return Ok(()) };
        let mut parts: HashMap<u64, Vec<u64>> = HashMap::new();
        let mut order = Vec::new();
        for &document in self.joined.keys() {
            let members = parts.entry(self.part[&document]).or_default();
            if members.is_empty() {
                order.push(self.part[&document]);
            }
            members.push(document);
        }
        let mut budget = SEARCHED;
        for part in order {
            let members = &parts[&part];
            // Others may have hung themselves below this part, or the oldest may be in it.
            if self.part_of(members[0]) == self.part_of(oldest) {
                continue;
            }
            let mut found = None;
            for &member in members {
                if budget == 0 {
                    found = Some((member, oldest));
                    break;
                }
                budget -= 1;
                if let Some(other) = self.match_outside(change, cache, live, member)? {
                    found = Some((member, other));
                    break;
                }
            }
            if let Some((member, other)) = found {
                self.hang(member, other);
            }
        }
        Ok(())
    }

    /// The best match of a document in another part of the cluster.
    fn match_outside(
        &self,
        change: &dyn Transaction,
        cache: &Cache,
        live: &Live,
        document: u64,
    ) -> Result<Option<u64>> {
        let Ok(Some(row)) = change.read().document(document) else { return Ok(None) };
        let texts = StoredTexts::new(&live.analyzer, cache, change.read());
        let part = self.part_of(document);
        let in_another_part = |other: StoredDocument<'_>| {
            let moment = Timestamp::as_milliseconds;
            let near =
                live.within_window(other, Timestamp::from_milliseconds(row.moment()).map_or(0, moment));
            near && self.part.contains_key(&other.number) && self.part_of(other.number) != part
        };
        let scope: Scope<'_, External> = Scope {
            options: SearchOptions::default(),
            texts: &texts,
            filter: Some(&in_another_part),
            max_candidates: JUDGED,
        };
        let found = live.engine().search_id_in(&row.document.id, &scope)?;
        Ok(found.and_then(|search| search.best))
    }

    /// Turns a part around so that `member` is on top, and hangs it below a document of another part.
    fn hang(&mut self, member: u64, other: u64) {
        let (mut at, mut above) = (member, Some(other));
        while let Some(place) = self.joined.get_mut(&at) {
            let next = std::mem::replace(place, above);
            above = Some(at);
            match next {
                Some(next) => at = next,
                None => break,
            }
        }
        if let (Some(part), Some(into)) = (self.part_of(member), self.part_of(other)) {
            self.merged.insert(part, into);
        }
    }
}
