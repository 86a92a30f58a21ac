//! The clusters that edits give, as a function of the edits and of the clusters of the linkage.
//!
//! `same` and `merge` link documents; `split` and `different` separate them. First, the edits are read from the latest to the earliest
//! to find out what of each of them is in force (`decisions.rs`): a link or a separation that contradicts later edits is not. Then
//! what is in force is applied in order of the edits. All documents begin in the cluster of the linkage.
//!
//! - `split`: its documents leave their clusters and together form a new one.
//! - `merge`, `same`: the clusters of its documents become one.
//! - `different`: if both documents are in one cluster, the one that arrived later leaves it and forms a new one.
//!
//! Linked documents leave a cluster together. When an edit joins the clusters of separated documents, those that had left leave again.
//! So all links and separations that are in force hold in the result.
//!
//! Only documents that edits name are treated one by one. All others of a cluster of the linkage ([`Placed::Others`]) are in one
//! cluster, so the work depends on the edits and not on the sizes of clusters. Each step examines only separations of documents that
//! it moves, and a merge moves the smaller one of two groups.

use super::decisions::{Components, Decision, decisions};
use crate::rows::{EditRow, Placed};
use sameish::DocId;
use sameish::cluster::ClusterId;
use std::collections::{BTreeMap, BTreeSet, HashMap};

/// The documents that edits name, and that exist.
pub(in crate::catalog) struct NamedDocuments {
    pub(in crate::catalog) numbers: HashMap<DocId, u64>,
    /// Clusters of the linkage, by the numbers of the documents.
    pub(in crate::catalog) clusters: BTreeMap<u64, ClusterId>,
}

impl NamedDocuments {
    /// Returns the number of a document that is in a cluster.
    pub(super) fn number(&self, id: &DocId) -> Option<u64> {
        self.numbers.get(id).copied().filter(|number| self.clusters.contains_key(number))
    }

    pub(super) fn numbers<'a>(&self, ids: impl IntoIterator<Item = &'a DocId>) -> Vec<u64> {
        ids.into_iter().filter_map(|id| self.number(id)).collect()
    }
}

/// Returns the cluster of each document that edits name, and of each cluster of the linkage whose remaining documents are in
/// another cluster.
pub(in crate::catalog) fn places(edits: &[EditRow], named: &NamedDocuments) -> BTreeMap<Placed, ClusterId> {
    let mut groups = Groups::of(named);
    for (edit, decision) in edits.iter().zip(decisions(edits, named)) {
        groups.reserve(edit, named);
        groups.apply(&decision);
    }
    let mut places = BTreeMap::new();
    let mut clusters: BTreeMap<usize, ClusterId> = BTreeMap::new();
    for (item, group) in &groups.group_of {
        let cluster = *clusters.entry(*group).or_insert_with(|| groups.cluster_of(*group));
        if *item != Placed::Others(cluster) {
            places.insert(*item, cluster);
        }
    }
    places
}

/// A document that must not be in the cluster of others.
struct Separation {
    /// The position of the decision.
    decision: usize,
    leaving: u64,
    from: Vec<u64>,
}

/// The documents that are in one cluster.
#[derive(Default)]
struct Groups {
    group_of: BTreeMap<Placed, usize>,
    groups: Vec<BTreeSet<Placed>>,
    /// Documents that edits have linked so far. They are in one group.
    linked: Components,
    separations: Vec<Separation>,
    /// Positions of the separations of each document.
    separations_of: BTreeMap<u64, Vec<usize>>,
    /// Number of decisions so far.
    applied: usize,
    /// The first cluster id that is reserved for a document.
    reserved: BTreeMap<u64, ClusterId>,
}

impl Groups {
    fn of(named: &NamedDocuments) -> Groups {
        let mut groups = Groups::default();
        for (document, cluster) in &named.clusters {
            let others = Placed::Others(*cluster);
            let group = match groups.group_of.get(&others) {
                Some(group) => *group,
                None => groups.start_group(others),
            };
            groups.put(Placed::Document(*document), group);
        }
        groups
    }

    fn start_group(&mut self, item: Placed) -> usize {
        self.groups.push(BTreeSet::new());
        let group = self.groups.len() - 1;
        self.put(item, group);
        group
    }

    fn put(&mut self, item: Placed, group: usize) {
        if let Some(before) = self.group_of.insert(item, group) {
            self.groups[before].remove(&item);
        }
        self.groups[group].insert(item);
    }

    fn group_of(&self, document: u64) -> Option<usize> {
        self.group_of.get(&Placed::Document(document)).copied()
    }

    fn apply(&mut self, decision: &Decision) {
        for [a, b] in &decision.links {
            self.linked.join(*a, *b);
            self.join_groups(*a, *b);
        }
        if decision.forms_cluster {
            self.move_out(&decision.leaving);
        }
        self.applied += 1;
        let mut added = Vec::new();
        for leaving in &decision.leaving {
            let position = self.separations.len();
            for document in decision.from.iter().chain([leaving]) {
                self.separations_of.entry(*document).or_default().push(position);
            }
            added.push(*leaving);
            let (decision, from) = (self.applied, decision.from.clone());
            self.separations.push(Separation { decision, leaving: *leaving, from });
        }
        self.separate_again(added);
    }

    /// Makes one group of two, and keeps separated documents separate.
    fn join_groups(&mut self, a: u64, b: u64) {
        let (Some(a), Some(b)) = (self.group_of(a), self.group_of(b)) else { return };
        if a == b {
            return;
        }
        let (large, small) = if self.groups[a].len() < self.groups[b].len() { (b, a) } else { (a, b) };
        let items = std::mem::take(&mut self.groups[small]);
        self.groups[large].extend(&items);
        self.group_of.extend(items.iter().map(|item| (*item, large)));
        self.separate_again(items.into_iter().filter_map(|item| match item {
            Placed::Document(document) => Some(document),
            Placed::Others(_) => None,
        }));
    }

    /// Moves documents, and those that are linked to them, into a new group.
    fn move_out(&mut self, documents: &[u64]) {
        let group = self.groups.len();
        self.groups.push(BTreeSet::new());
        for document in documents {
            for linked in self.linked.of(*document) {
                self.put(Placed::Document(linked), group);
            }
        }
    }

    /// Separates documents that joined a group from those from which they are separated. Moves only parts of groups into new groups,
    /// so no other separation is violated by it, and no links are, because documents of a separation that is in force are not linked.
    fn separate_again(&mut self, documents: impl IntoIterator<Item = u64>) {
        let mut violated = BTreeSet::new();
        for document in documents {
            let positions = self.separations_of.get(&document).into_iter().flatten();
            violated.extend(positions.filter(|position| self.violated(**position).is_some()));
        }
        while let Some(first) = violated.pop_first() {
            let Some(group) = self.violated(first) else { continue };
            let decision = self.separations[first].decision;
            // The documents of one edit leave together.
            let of_decision = violated.range(first..).copied();
            let of_decision = of_decision.take_while(|other| self.separations[*other].decision == decision);
            let together: Vec<usize> =
                of_decision.filter(|other| self.violated(*other) == Some(group)).chain([first]).collect();
            let leaving: Vec<u64> =
                together.iter().map(|position| self.separations[*position].leaving).collect();
            self.move_out(&leaving);
        }
    }

    /// Returns the group in which a separated document is together with one of the others.
    fn violated(&self, separation: usize) -> Option<usize> {
        let Separation { leaving, from, .. } = &self.separations[separation];
        let group = self.group_of(*leaving);
        group.filter(|_| from.iter().any(|document| self.group_of(*document) == group))
    }

    /// Reserves a cluster id for each document that can leave its cluster.
    fn reserve(&mut self, edit: &EditRow, named: &NamedDocuments) {
        for (id, cluster) in edit.leaving().zip(edit.clusters.0..) {
            if let Some(document) = named.number(id) {
                self.reserved.entry(document).or_insert(ClusterId(cluster));
            }
        }
    }

    /// Returns the id of the cluster of a group: the least one of its clusters of the linkage. Without one, all its documents have
    /// left theirs, and it is the least one that is reserved for them: linked documents leave together with one that has such an id.
    fn cluster_of(&self, group: usize) -> ClusterId {
        let items = &self.groups[group];
        let of_linkage = items.iter().filter_map(|item| match item {
            Placed::Others(cluster) => Some(*cluster),
            Placed::Document(_) => None,
        });
        let reserved = items.iter().filter_map(|item| match item {
            Placed::Document(document) => self.reserved.get(document).copied(),
            Placed::Others(_) => None,
        });
        let cluster = of_linkage.min().or_else(|| reserved.min());
        cluster.unwrap_or_else(|| unreachable!("an id is reserved for each document that leaves its cluster"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::EditKind::{self, Different, Merge, Same, Split};
    use std::time::{Duration, Instant};

    fn edit(number: u64, kind: EditKind, documents: &[&[u64]]) -> EditRow {
        let ids = |ids: &&[u64]| ids.iter().copied().map(DocId::Number).collect();
        let documents = documents.iter().map(ids).collect();
        EditRow { collection: 1, number, at: 0, kind, clusters: ClusterId(1_000_000 * number), documents }
    }

    fn named(clusters: &[(u64, u64)]) -> NamedDocuments {
        NamedDocuments {
            numbers: clusters.iter().map(|(number, _)| (DocId::Number(*number), *number)).collect(),
            clusters: clusters.iter().map(|(number, cluster)| (*number, ClusterId(*cluster))).collect(),
        }
    }

    /// Documents 1 to 6 in the clusters of the linkage 10 (1, 2, 3), 20 (4, 5) and 30 (6). Returns the documents of each cluster, and
    /// a cluster of the linkage as ten times its number.
    fn clusters(edits: &[(EditKind, &[&[u64]])]) -> Vec<Vec<u64>> {
        let edits = edits.iter().enumerate().map(|(i, (kind, ids))| edit(i as u64 + 1, *kind, ids));
        let edits: Vec<EditRow> = edits.collect();
        let linkage = [(1, 10), (2, 10), (3, 10), (4, 20), (5, 20), (6, 30)];
        let places = places(&edits, &named(&linkage));
        let mut found: BTreeMap<ClusterId, Vec<u64>> = BTreeMap::new();
        for document in 1..=6 {
            found.entry(places[&Placed::Document(document)]).or_default().push(document);
        }
        for others in [10, 20, 30].map(ClusterId) {
            let cluster = places.get(&Placed::Others(others)).copied().unwrap_or(others);
            found.entry(cluster).or_default().push(others.0);
        }
        let mut found: Vec<Vec<u64>> = found.into_values().collect();
        found.sort();
        found
    }

    fn lists<const N: usize>(lists: [&[u64]; N]) -> Vec<Vec<u64>> {
        lists.iter().map(|list| list.to_vec()).collect()
    }

    #[test]
    fn edits_change_the_clusters_of_the_documents_that_they_name() {
        assert_eq!(clusters(&[]), lists([&[1, 2, 3, 10], &[4, 5, 20], &[6, 30]]));
        let split = clusters(&[(Split, &[&[2, 3], &[1]])]);
        assert_eq!(split, lists([&[1, 10], &[2, 3], &[4, 5, 20], &[6, 30]]));
        let apart = clusters(&[(Different, &[&[3], &[1]])]);
        assert_eq!(apart, lists([&[1, 2, 10], &[3], &[4, 5, 20], &[6, 30]]));
        let merged = clusters(&[(Merge, &[&[4, 5], &[6]])]);
        assert_eq!(merged, lists([&[1, 2, 3, 10], &[4, 5, 6, 20, 30]]));
        let same = clusters(&[(Same, &[&[6], &[2]])]);
        assert_eq!(same, lists([&[1, 2, 3, 6, 10, 30], &[4, 5, 20]]));
    }

    #[test]
    fn documents_that_an_edit_names_together_return() {
        let original = clusters(&[]);
        // Any document of the cluster that was left will do, whether or not the split names it.
        for remaining in [&[1, 2][..], &[2, 1], &[1]] {
            for with in [1, 2] {
                let back = clusters(&[(Split, &[&[3], remaining]), (Same, &[&[3], &[with]])]);
                assert_eq!(back, original, "{remaining:?} {with}");
            }
        }
        assert_eq!(clusters(&[(Split, &[&[3], &[1]]), (Merge, &[&[1, 2], &[3]])]), original);
        assert_eq!(clusters(&[(Different, &[&[1], &[3]]), (Same, &[&[1], &[3]])]), original);
        let again = clusters(&[(Split, &[&[3], &[1]]), (Same, &[&[3], &[1]]), (Different, &[&[1], &[3]])]);
        assert_eq!(again, lists([&[1, 2, 10], &[3], &[4, 5, 20], &[6, 30]]));
    }

    #[test]
    fn linked_documents_stay_together() {
        let linked = lists([&[1, 10], &[2, 3], &[4, 5, 20], &[6, 30]]);
        assert_eq!(clusters(&[(Different, &[&[1], &[3]]), (Same, &[&[2], &[3]])]), linked);
        assert_eq!(clusters(&[(Same, &[&[2], &[3]]), (Different, &[&[1], &[3]])]), linked);
        // 6 joins 5, then 5 leaves 4 together with 6.
        let moved = clusters(&[(Same, &[&[6], &[5]]), (Different, &[&[5], &[4]])]);
        assert_eq!(moved, lists([&[1, 2, 3, 10], &[4, 20, 30], &[5, 6]]));
        let split = clusters(&[(Same, &[&[6], &[5]]), (Split, &[&[5], &[4]])]);
        assert_eq!(split, moved);
    }

    #[test]
    fn of_contradicting_edits_the_later_ones_decide() {
        // 3 is linked to 1 through 6 after it was separated from 1.
        let links: [(EditKind, &[&[u64]]); 2] = [(Same, &[&[3], &[6]]), (Same, &[&[6], &[1]])];
        let split: (EditKind, &[&[u64]]) = (Split, &[&[3], &[1]]);
        let joined = lists([&[1, 2, 3, 6, 10, 30], &[4, 5, 20]]);
        assert_eq!(clusters(&[split, links[0], links[1]]), joined);
        // Separated afterwards, 3 is no longer linked to 6, because the link of 6 to 1 is later.
        let apart = lists([&[1, 2, 6, 10, 30], &[3], &[4, 5, 20]]);
        assert_eq!(clusters(&[links[0], links[1], split]), apart);
        // An edit that others overrule has no other effect.
        let undone = clusters(&[(Same, &[&[1], &[6]]), (Different, &[&[6], &[1]])]);
        assert_eq!(undone, clusters(&[]));
    }

    #[test]
    fn missing_documents_leave_an_edit_inactive() {
        let original = clusters(&[]);
        assert_eq!(clusters(&[(Same, &[&[6], &[7]]), (Split, &[&[8], &[1]])]), original);
        let merge = clusters(&[(Merge, &[&[9, 5], &[6]])]);
        assert_eq!(merge, clusters(&[(Merge, &[&[5], &[6]])]), "the next document stands for its cluster");
    }

    /// Returns `true` if separations do not contradict links. Compares all partitions only by closing links one by one.
    fn is_satisfiable(links: &[[u64; 2]], apart: &[[u64; 2]]) -> bool {
        let mut set_of: Vec<u64> = (0..10).collect();
        for [a, b] in links {
            let [a, b] = [set_of[*a as usize], set_of[*b as usize]];
            set_of.iter_mut().filter(|set| **set == a).for_each(|set| *set = b);
        }
        apart.iter().all(|[a, b]| set_of[*a as usize] != set_of[*b as usize])
    }

    /// Independent of how clusters are computed: edits that later edits do not contradict hold.
    #[test]
    fn edits_that_can_hold_hold() {
        let mut state = 1_u64;
        let mut below = |bound: u64| {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            (state >> 33) % bound
        };
        let mut checked = 0;
        for _ in 0..20_000 {
            let linkage: Vec<(u64, u64)> = (1..=6).map(|number| (number, 10 * (1 + below(3)))).collect();
            let edits: Vec<EditRow> = (1..=1 + below(6))
                .map(|number| {
                    let a = 1 + below(6);
                    let b = 1 + (a + below(5)) % 6;
                    edit(number, [Same, Different, Split, Merge][below(4) as usize], &[&[a], &[b]])
                })
                .collect();
            let places = places(&edits, &named(&linkage));
            let together = |a: u64, b: u64| places[&Placed::Document(a)] == places[&Placed::Document(b)];
            let (mut links, mut apart) = (Vec::new(), Vec::new());
            for edit in edits.iter().rev() {
                let pair = [0, 1].map(|i| match edit.documents[i][0] {
                    DocId::Number(number) => number,
                    _ => unreachable!(),
                });
                let links_them = matches!(edit.kind, Same | Merge);
                if links_them {
                    links.push(pair)
                } else {
                    apart.push(pair)
                }
                // A later `same` with another document of the cluster that a document left ends the split.
                let ends = |other: &EditRow| {
                    other.number > edit.number
                        && other.kind == Same
                        && other.documents.contains(&edit.documents[0])
                };
                if !is_satisfiable(&links, &apart) || edit.kind == Split && edits.iter().any(ends) {
                    break;
                }
                assert_eq!(together(pair[0], pair[1]), links_them, "{linkage:?} {edits:?} {edit:?}");
                checked += 1;
            }
        }
        assert!(checked > 30_000, "{checked}");
    }

    /// The time for the maximum number of documents. The most expensive cases are long chains of links, and alternating splits and merges.
    #[test]
    fn many_edits_are_fast() {
        let linkage: Vec<(u64, u64)> = (1..=10_000).map(|number| (number, 10 + number % 100)).collect();
        let named = named(&linkage);
        let pairs = |kind: EditKind, step: u64| {
            let pair = move |i: u64| edit(i + 1, kind, &[&[1 + i % 10_000], &[1 + (i + step) % 10_000]]);
            (0..10_000).map(pair).collect::<Vec<_>>()
        };
        let mixed = pairs(Same, 100).into_iter().zip(pairs(Different, 200));
        let mixed: Vec<EditRow> = mixed.flat_map(|(a, b)| [a, b]).collect();
        for (name, edits) in
            [("same", pairs(Same, 1)), ("different", pairs(Different, 100)), ("mixed", mixed)]
        {
            let started = Instant::now();
            let found = places(&edits, &named);
            println!("{} edits of kind {name}: {:?}, {} places", edits.len(), started.elapsed(), found.len());
            assert!(started.elapsed() < Duration::from_secs(20), "{name}: {:?}", started.elapsed());
        }
    }
}
