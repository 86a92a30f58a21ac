//! What of each edit is in force.
//!
//! Edits are read from the latest to the earliest. A link is in force unless, together with the later links that are in force, it would
//! link two documents that later edits separate. A separation is in force unless later edits put its documents together:
//!
//! - they link them, directly or through others;
//! - or a later `merge` names documents of both sides;
//! - or, for a `split`, a later `same` names the document that left, and a document of the cluster that it left.
//!
//! So the latest edit is always in force, and so is every edit that is consistent with all later ones.

use super::places::NamedDocuments;
use crate::model::EditKind;
use crate::rows::EditRow;
use sameish::DocId;
use std::collections::{BTreeMap, BTreeSet};

/// What of an edit is in force.
#[derive(Debug, Default)]
pub(super) struct Decision {
    /// Documents that are in one cluster.
    pub(super) links: Vec<[u64; 2]>,
    /// Documents that must not be in a cluster with those of `from`.
    pub(super) leaving: Vec<u64>,
    pub(super) from: Vec<u64>,
    /// Whether the documents leave their clusters in any case, and together form a new one.
    pub(super) forms_cluster: bool,
}

impl Decision {
    pub(super) fn is_in_force(&self) -> bool {
        !self.links.is_empty() || !self.leaving.is_empty()
    }
}

/// Returns what is in force of each edit.
pub(super) fn decisions(edits: &[EditRow], named: &NamedDocuments) -> Vec<Decision> {
    let mut later = Later::default();
    let mut decisions: Vec<Decision> = edits.iter().rev().map(|edit| later.decide(edit, named)).collect();
    decisions.reverse();
    decisions
}

impl EditRow {
    /// Returns the documents for which cluster ids are reserved.
    pub(super) fn leaving(&self) -> impl Iterator<Item = &DocId> {
        let lists = match self.kind {
            EditKind::Split => &self.documents[..self.documents.len().min(1)],
            EditKind::Different => &self.documents[..],
            EditKind::Merge | EditKind::Same => &[],
        };
        lists.iter().flatten()
    }
}

/// What the later edits have decided.
#[derive(Default)]
struct Later {
    /// Linked documents.
    linked: Components,
    /// Separated components, by their roots. Contains each pair twice.
    apart: BTreeMap<u64, BTreeSet<u64>>,
    /// Linked documents, and those that a merge names together.
    together: Components,
    /// The documents that `same` names together with a document.
    same: BTreeMap<u64, Vec<u64>>,
}

impl Later {
    fn decide(&mut self, edit: &EditRow, named: &NamedDocuments) -> Decision {
        let lists = edit.documents.iter().map(|ids| named.numbers(ids));
        match edit.kind {
            EditKind::Split => self.split(lists.collect(), named),
            EditKind::Merge | EditKind::Same => {
                let lists: Vec<Vec<u64>> = lists.filter(|list| !list.is_empty()).collect();
                if let (EditKind::Same, [a, b]) = (edit.kind, &lists[..]) {
                    self.same.entry(a[0]).or_default().push(b[0]);
                    self.same.entry(b[0]).or_default().push(a[0]);
                }
                self.merge(&lists)
            }
            EditKind::Different => {
                let all: Vec<u64> = lists.flatten().collect();
                let [a, b] = all[..] else { return Decision::default() };
                let (leaving, from) = (a.max(b), a.min(b));
                if self.together.are_joined(leaving, from) {
                    return Decision::default();
                }
                self.separate(leaving, from);
                Decision { leaving: vec![leaving], from: vec![from], ..Decision::default() }
            }
        }
    }

    fn split(&mut self, lists: Vec<Vec<u64>>, named: &NamedDocuments) -> Decision {
        let Some((documents, remaining)) = lists.split_first() else { return Decision::default() };
        let all: BTreeSet<u64> = documents.iter().copied().collect();
        let from: Vec<u64> = remaining.iter().flatten().copied().filter(|from| !all.contains(from)).collect();
        let left: BTreeSet<_> = from.iter().filter_map(|from| named.clusters.get(from)).collect();
        let is_in_left = |document: &u64| {
            !all.contains(document)
                && named.clusters.get(document).is_some_and(|cluster| left.contains(cluster))
        };
        let has_returned = |leaving: u64| {
            from.iter().any(|from| self.together.are_joined(leaving, *from))
                || self.same.get(&leaving).into_iter().flatten().any(is_in_left)
        };
        let leaving: Vec<u64> = all.iter().copied().filter(|leaving| !has_returned(*leaving)).collect();
        for leaving in &leaving {
            from.iter().for_each(|from| self.separate(*leaving, *from));
        }
        Decision { leaving, from, forms_cluster: true, ..Decision::default() }
    }

    fn merge(&mut self, lists: &[Vec<u64>]) -> Decision {
        let mut links = Vec::new();
        let mut heads: Vec<u64> = Vec::new();
        for list in lists {
            let first = list[0];
            list.iter().for_each(|document| self.together.join(first, *document));
            match heads.iter().copied().find(|head| self.link(*head, first)) {
                Some(head) => links.push([head, first]),
                None => heads.push(first),
            }
        }
        Decision { links, ..Decision::default() }
    }

    /// Links two documents, unless that contradicts a later separation.
    fn link(&mut self, a: u64, b: u64) -> bool {
        let [root, other] = [a, b].map(|document| self.linked.root(document));
        if self.apart.get(&root).is_some_and(|apart| apart.contains(&other)) {
            return false;
        }
        self.together.join(a, b);
        if root != other {
            self.linked.join(a, b);
            let kept = self.linked.root(a);
            let gone = if kept == root { other } else { root };
            for apart in self.apart.remove(&gone).unwrap_or_default() {
                self.apart.entry(apart).or_default().remove(&gone);
                self.apart.entry(apart).or_default().insert(kept);
                self.apart.entry(kept).or_default().insert(apart);
            }
        }
        true
    }

    fn separate(&mut self, a: u64, b: u64) {
        let [a, b] = [a, b].map(|document| self.linked.root(document));
        self.apart.entry(a).or_default().insert(b);
        self.apart.entry(b).or_default().insert(a);
    }
}

/// Documents in disjoint sets. A document that was never joined is in a set of its own.
#[derive(Default)]
pub(super) struct Components {
    root_of: BTreeMap<u64, u64>,
    /// Documents of the sets of at least two, by their roots.
    members: BTreeMap<u64, Vec<u64>>,
}

impl Components {
    fn root(&self, document: u64) -> u64 {
        self.root_of.get(&document).copied().unwrap_or(document)
    }

    fn are_joined(&self, a: u64, b: u64) -> bool {
        self.root(a) == self.root(b)
    }

    /// Returns the documents of the set of a document.
    pub(super) fn of(&self, document: u64) -> Vec<u64> {
        self.members.get(&self.root(document)).cloned().unwrap_or_else(|| vec![document])
    }

    /// Makes one set of two. The root of the larger one is kept.
    pub(super) fn join(&mut self, a: u64, b: u64) {
        let [a, b] = [a, b].map(|document| self.root(document));
        if a == b {
            return;
        }
        let size = |root: u64| self.members.get(&root).map_or(1, Vec::len);
        let (kept, gone) = if size(a) < size(b) { (b, a) } else { (a, b) };
        let moved = self.members.remove(&gone).unwrap_or_else(|| vec![gone]);
        self.root_of.extend(moved.iter().map(|document| (*document, kept)));
        self.members.entry(kept).or_insert_with(|| vec![kept]).extend(moved);
    }
}
