//! Edits in the model: each one is applied to complete sets of documents, in order.

use super::{Clusters, Doc, Model, Test};
use sameish::DocId;
use sameish::cluster::ClusterId;
use sameish_store::{EditKind, Error, NewEdit};
use std::collections::{BTreeMap, BTreeSet};

/// An edit and the documents that it names, in the order of [`sameish_store::EditRow`].
#[derive(Clone)]
pub(super) struct ModelEdit {
    pub(super) number: u64,
    kind: EditKind,
    documents: Vec<Vec<DocId>>,
}

/// What of an edit is in force: pairs of documents that are in one cluster, or are not.
#[derive(Default)]
struct InForce {
    links: Vec<(u64, u64)>,
    /// The documents that leave, and the others.
    leaving: Vec<u64>,
    from: Vec<u64>,
}

/// Finds out what is in force, from the latest edit on.
struct Later<'a> {
    clusters: &'a [BTreeSet<u64>],
    links: Vec<(u64, u64)>,
    apart: Vec<(u64, u64)>,
    /// Pairs that are linked, or that a merge names.
    named: Vec<(u64, u64)>,
    same: Vec<(u64, u64)>,
}

fn connected(pairs: &[(u64, u64)], a: u64) -> BTreeSet<u64> {
    let mut found = BTreeSet::from([a]);
    loop {
        let size = found.len();
        for (a, b) in pairs {
            if found.contains(a) || found.contains(b) {
                found.extend([*a, *b]);
            }
        }
        if found.len() == size {
            return found;
        }
    }
}

impl Later<'_> {
    fn is_link_possible(&self, a: u64, b: u64) -> bool {
        let links: Vec<(u64, u64)> = self.links.iter().copied().chain([(a, b)]).collect();
        self.apart.iter().all(|(a, b)| !connected(&links, *a).contains(b))
    }

    fn are_in_one_cluster(&self, a: u64, b: u64) -> bool {
        self.clusters.iter().any(|cluster| cluster.contains(&a) && cluster.contains(&b))
    }

    fn decide(&mut self, kind: EditKind, parts: &[Vec<u64>]) -> InForce {
        let mut found = InForce::default();
        match kind {
            EditKind::Split => {
                let all: BTreeSet<u64> = parts[0].iter().copied().collect();
                found.from = parts[1].iter().copied().filter(|from| !all.contains(from)).collect();
                for &leaving in &all {
                    let named = connected(&self.named, leaving);
                    let is_back = found.from.iter().any(|from| named.contains(from));
                    let with = self.same.iter().filter_map(|(a, b)| match leaving {
                        _ if *a == leaving => Some(*b),
                        _ if *b == leaving => Some(*a),
                        _ => None,
                    });
                    let mut with = with.filter(|with| !all.contains(with));
                    let from = &found.from;
                    let is_with =
                        with.any(|with| from.iter().any(|from| self.are_in_one_cluster(with, *from)));
                    if !is_back && !is_with {
                        found.leaving.push(leaving);
                    }
                }
                for leaving in &found.leaving {
                    self.apart.extend(found.from.iter().map(|from| (*leaving, *from)));
                }
            }
            EditKind::Merge | EditKind::Same => {
                let parts: Vec<&Vec<u64>> = parts.iter().filter(|part| !part.is_empty()).collect();
                if let (EditKind::Same, [a, b]) = (kind, &parts[..]) {
                    self.same.push((a[0], b[0]));
                }
                for (i, part) in parts.iter().enumerate() {
                    self.named.extend(part.iter().map(|other| (part[0], *other)));
                    let earlier = parts[..i].iter().map(|earlier| earlier[0]);
                    for earlier in earlier.collect::<Vec<_>>() {
                        let is_known = connected(&found.links, part[0]).contains(&earlier);
                        if !is_known && self.is_link_possible(earlier, part[0]) {
                            found.links.push((earlier, part[0]));
                            self.links.push((earlier, part[0]));
                            self.named.push((earlier, part[0]));
                        }
                    }
                }
            }
            EditKind::Different => {
                if let [Some(a), Some(b)] = [parts[0].first(), parts[1].first()]
                    && !connected(&self.named, *a).contains(b)
                {
                    found.leaving.push(*a.max(b));
                    found.from.push(*a.min(b));
                    self.apart.push((*a, *b));
                }
            }
        }
        found
    }
}

/// Applies what is in force to complete sets of documents.
struct Replay {
    clusters: Vec<BTreeSet<u64>>,
    links: Vec<(u64, u64)>,
    applied: Vec<InForce>,
}

impl Model {
    /// Returns the clusters with all edits.
    pub(super) fn edited_clusters(&self) -> BTreeSet<Vec<u64>> {
        let clusters: Vec<BTreeSet<u64>> =
            self.clusters().into_values().map(|numbers| numbers.into_iter().collect()).collect();
        let mut later = Later {
            clusters: &clusters,
            links: Vec::new(),
            apart: Vec::new(),
            named: Vec::new(),
            same: Vec::new(),
        };
        let numbers = |ids: &Vec<DocId>| ids.iter().filter_map(|id| self.number(id)).collect();
        let decided = self.edits.iter().rev().map(|edit| {
            let parts: Vec<Vec<u64>> = edit.documents.iter().map(numbers).collect();
            (edit.kind, later.decide(edit.kind, &parts))
        });
        let decided: Vec<(EditKind, InForce)> = decided.collect();
        let mut replay = Replay { clusters, links: Vec::new(), applied: Vec::new() };
        decided.into_iter().rev().for_each(|(kind, edit)| replay.apply(kind, edit));
        let clusters = replay.clusters.into_iter().filter(|cluster| !cluster.is_empty());
        clusters.map(|cluster| cluster.into_iter().collect()).collect()
    }
}

impl Replay {
    fn cluster(&self, number: u64) -> usize {
        self.clusters.iter().position(|cluster| cluster.contains(&number)).unwrap()
    }

    /// Moves documents and those that are linked to them into a new cluster.
    fn take_out(&mut self, numbers: &[u64]) {
        let moved: BTreeSet<u64> =
            numbers.iter().flat_map(|number| connected(&self.links, *number)).collect();
        self.clusters.iter_mut().for_each(|cluster| cluster.retain(|number| !moved.contains(number)));
        self.clusters.push(moved);
    }

    /// Returns the documents of the first edit that must leave a cluster.
    fn violated(&self) -> Option<Vec<u64>> {
        self.applied.iter().find_map(|edit| {
            let is_violated = |leaving: &u64| {
                let own = &self.clusters[self.cluster(*leaving)];
                edit.from.iter().any(|from| own.contains(from))
            };
            let all: Vec<u64> = edit.leaving.iter().copied().filter(is_violated).collect();
            let first = self.cluster(*all.first()?);
            Some(all.into_iter().filter(|leaving| self.cluster(*leaving) == first).collect())
        })
    }

    fn separate_again(&mut self) {
        while let Some(leaving) = self.violated() {
            self.take_out(&leaving);
        }
    }

    fn apply(&mut self, kind: EditKind, edit: InForce) {
        for (a, b) in &edit.links {
            self.links.push((*a, *b));
            let [a, b] = [self.cluster(*a), self.cluster(*b)];
            if a != b {
                let moved = std::mem::take(&mut self.clusters[b]);
                self.clusters[a].extend(moved);
            }
            self.separate_again();
        }
        if kind == EditKind::Split && !edit.leaving.is_empty() {
            self.take_out(&edit.leaving);
        }
        self.applied.push(edit);
        self.separate_again();
    }
}

impl Test {
    /// Makes a random edit, or undoes one.
    pub(super) fn change_edits(&mut self) {
        match self.random.next() % 8 {
            0 | 1 => self.undo(),
            2 | 3 => self.split(),
            4 => self.merge(),
            choice => self.pair(choice == 5),
        }
    }

    fn undo(&mut self) {
        assert!(!self.collection.undo_edit(1_000_000).unwrap());
        if self.model.edits.is_empty() {
            return;
        }
        let at = self.random.next() as usize % self.model.edits.len();
        let edit = self.model.edits.remove(at);
        assert!(self.collection.undo_edit(edit.number).unwrap());
        assert!(!self.collection.undo_edit(edit.number).unwrap());
    }

    fn random_stored(&mut self) -> Option<Doc> {
        let count = self.model.docs.len().max(1);
        let at = self.random.next() as usize % count;
        self.model.docs.values().nth(at).cloned()
    }

    /// Names two documents, whatever work is queued.
    fn pair(&mut self, same: bool) {
        let [Some(a), Some(b)] = [self.random_stored(), self.random_stored()] else { return };
        let (a, b) = (a.id, b.id);
        let new =
            |a: DocId, b: DocId| if same { NewEdit::Same { a, b } } else { NewEdit::Different { a, b } };
        if a == b {
            assert!(matches!(self.collection.edit(new(a, b)), Err(Error::BadEdit { .. })));
            return;
        }
        let kind = if same { EditKind::Same } else { EditKind::Different };
        self.edit(new(a.clone(), b.clone()), kind, vec![vec![a], vec![b]]);
    }

    fn edit(&mut self, new: NewEdit, kind: EditKind, documents: Vec<Vec<DocId>>) {
        let edit = self.collection.edit(new).unwrap();
        assert_eq!((edit.kind, edit.active), (kind, true));
        let named = if kind == EditKind::Split { &documents[..1] } else { &documents[..] };
        assert_eq!(edit.documents, named.iter().flatten().cloned().collect::<Vec<_>>());
        assert!(self.model.edits.last().is_none_or(|last| last.number < edit.number));
        self.model.edits.push(ModelEdit { number: edit.number, kind, documents });
    }

    /// Returns the center of a cluster and the first other documents by date, without the excluded ones.
    fn stand_ins(&self, cluster: ClusterId, excluded: &[DocId]) -> Vec<DocId> {
        let detail = self.collection.cluster(cluster).unwrap().unwrap();
        let center = detail.center.unwrap();
        let others = detail.members.into_iter().map(|member| member.id).filter(|id| *id != center);
        let all: Vec<DocId> = std::iter::once(center.clone()).chain(others).collect();
        all.into_iter().filter(|id| !excluded.contains(id)).take(8).collect()
    }

    fn cluster_of(&self, doc: &Doc) -> ClusterId {
        self.collection.get(&doc.id).unwrap().unwrap().cluster.unwrap()
    }

    fn split(&mut self) {
        self.catalog.as_ref().unwrap().settle().unwrap();
        let Some(doc) = self.random_stored() else { return };
        let cluster = self.cluster_of(&doc);
        let members = self.collection.cluster(cluster).unwrap().unwrap().members;
        let ids: Vec<DocId> = members.into_iter().map(|member| member.id).collect();
        let documents: Vec<DocId> =
            ids.iter().filter(|_| self.random.next().is_multiple_of(3)).cloned().collect();
        let new = NewEdit::Split { cluster, documents: documents.clone() };
        if documents.is_empty() || documents.len() == ids.len() {
            assert!(matches!(self.collection.edit(new), Err(Error::BadEdit { .. })));
            return;
        }
        let stand_ins = self.stand_ins(cluster, &documents);
        self.edit(new, EditKind::Split, vec![documents, stand_ins]);
    }

    fn merge(&mut self) {
        self.catalog.as_ref().unwrap().settle().unwrap();
        let docs: Vec<Doc> = (0..3).filter_map(|_| self.random_stored()).collect();
        let clusters: BTreeSet<ClusterId> = docs.iter().map(|doc| self.cluster_of(doc)).collect();
        if clusters.len() < 2 {
            return;
        }
        let named: Vec<DocId> =
            self.model.edits.iter().flat_map(|edit| edit.documents.iter().flatten()).cloned().collect();
        let documents = clusters.iter().map(|cluster| {
            let mut ids = self.stand_ins(*cluster, &[]);
            for doc in self.model.docs.values().filter(|doc| named.contains(&doc.id)) {
                if self.cluster_of(doc) == *cluster && !ids.contains(&doc.id) {
                    ids.push(doc.id.clone());
                }
            }
            ids
        });
        let documents: Vec<Vec<DocId>> = documents.collect();
        let clusters: Vec<ClusterId> = clusters.into_iter().collect();
        self.edit(NewEdit::Merge { clusters }, EditKind::Merge, documents);
    }

    /// Checks which documents are marked as edited: those that the linkage does not give the cluster.
    pub(super) fn check_marks(&self, found: &BTreeMap<ClusterId, Vec<u64>>, of_linkage: &Clusters) {
        let center_of: BTreeMap<u64, u64> =
            of_linkage.iter().flat_map(|(center, all)| all.iter().map(|number| (*number, *center))).collect();
        for (cluster, numbers) in found {
            let detail = self.collection.cluster(*cluster).unwrap().unwrap();
            let number = |id: &DocId| self.model.number(id).unwrap();
            let (edited, own): (Vec<_>, Vec<_>) = detail.members.iter().partition(|member| member.edited);
            let own: BTreeSet<u64> = own.iter().map(|member| center_of[&number(&member.id)]).collect();
            let edited: BTreeSet<u64> = edited.iter().map(|member| center_of[&number(&member.id)]).collect();
            assert!(own.len() <= 1, "unmarked documents are in one cluster of the linkage");
            assert!(edited.is_disjoint(&own), "marked documents are in other clusters of the linkage");
            assert!(!self.model.edits.is_empty() || edited.is_empty());
            assert_eq!(numbers.len(), detail.members.len());
        }
        let listed = self.collection.edits(None, 1_000).unwrap();
        let listed: Vec<u64> = listed.iter().rev().map(|edit| edit.number).collect();
        assert_eq!(listed, self.model.edits.iter().map(|edit| edit.number).collect::<Vec<_>>());
    }
}
