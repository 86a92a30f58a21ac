//! Editorial decisions: which documents belong to one cluster, and which do not.
//!
//! Edits do not change the clusters of the linkage, from which they start (`places.rs`). So undoing an edit gives the clusters that
//! exist without it, and clustering from scratch gives the same clusters as the changes before.

mod apply;
mod decisions;
mod places;

pub(super) use apply::{named_documents, readable_edits};
use places::NamedDocuments;
pub(super) use places::places;

use super::browse::center_or_first;
use super::clusters::{ClusterChanges, Marks, undamaged};
use super::collection::{Collection, timestamp};
use super::live::LiveCollection;
use super::writer::Writer;
use crate::error::{Error, Result};
use crate::model::{Edit, EditKind, EditUsage, MemberPosition, NewEdit};
use crate::rows::{Counters, EditRow, MemberRow, Placed, TaskKind};
use crate::store::{Read, Transaction};
use decisions::decisions;
use sameish::DocId;
use sameish::cluster::ClusterId;
use std::collections::{BTreeSet, HashSet};
use std::sync::Arc;

/// Maximum number of documents of a split.
const MAX_SPLIT: usize = 1_000;
/// Maximum number of clusters of a merge.
const MAX_MERGED: usize = 100;
/// Number of documents that stand for a cluster, so that the edit survives the deletion of some of them.
const STAND_INS: usize = 8;
/// Maximum number of existing documents that the edits of a collection name. All of them are read again when one of them changes.
const MAX_NAMED: usize = 10_000;
/// Maximum number of times that edits name documents, whether or not these exist. Beyond it, the oldest edits of which no document
/// exists are deleted.
const MAX_MENTIONS: usize = 100_000;

/// The ids that the edits of a collection name.
#[derive(Debug, Default)]
pub(super) struct Named {
    pub(super) ids: HashSet<DocId>,
}

impl Collection {
    /// Changes clusters as an editor decides. The edit is durable when this returns, and holds until it is undone.
    ///
    /// Clusters of more than 1,000 documents may still be [pending](Edit::pending) when this returns.
    pub fn edit(&self, edit: NewEdit) -> Result<Edit> {
        let live = Arc::clone(&self.live);
        let number = self.shared.run_on_writer(move |writer| writer.edit(&live, &edit))?;
        let edit = self.edits(number.checked_add(1), 1)?.pop().filter(|edit| edit.number == number);
        edit.ok_or(Error::Closed)
    }

    /// Returns up to `limit` edits with numbers less than `before`, the latest first.
    pub fn edits(&self, before: Option<u64>, limit: usize) -> Result<Vec<Edit>> {
        let read = self.shared.readers.snapshot()?;
        let collection = self.live.row.number;
        let rows = readable_edits(&*read, collection)?;
        let pending = self.has_edit_tasks(&*read)?;
        let cluster_of = |number| Ok(undamaged(read.member(number))?.map(|member| member.cluster));
        let named = named_documents(&*read, collection, &rows, cluster_of)?;
        let decisions = decisions(&rows, &named);
        let selected = rows.iter().zip(decisions).rev();
        let selected = selected.filter(|(row, _)| before.is_none_or(|before| row.number < before));
        let described = selected.take(limit).map(|(row, decision)| {
            let edit = described_edit(&*read, row, &named)?;
            Ok(Edit { active: decision.is_in_force(), pending, ..edit })
        });
        described.collect()
    }

    /// Returns how many documents the edits of the collection name.
    pub fn edit_usage(&self) -> Result<EditUsage> {
        let read = self.shared.readers.snapshot()?;
        let documents = existing(&*read, self.live.row.number, &self.live.named().ids)?;
        Ok(EditUsage { documents, max_documents: MAX_NAMED as u64 })
    }
}

/// Describes an edit, without whether it is in force and pending.
fn described_edit(read: &dyn Read, row: &EditRow, named: &NamedDocuments) -> Result<Edit> {
    let lists = if row.kind == EditKind::Split { &row.documents[..1] } else { &row.documents[..] };
    let documents: Vec<DocId> = lists.iter().flatten().cloned().collect();
    let mut clusters = BTreeSet::new();
    for number in documents.iter().filter_map(|id| named.number(id)) {
        clusters.extend(undamaged(read.member(number))?.map(|member| member.shown()));
    }
    Ok(Edit {
        number: row.number,
        kind: row.kind,
        at: timestamp(row.at),
        active: false,
        documents,
        clusters: clusters.into_iter().collect(),
        pending: false,
    })
}

/// Returns how many documents with these ids exist.
fn existing<'a>(read: &dyn Read, collection: u32, ids: impl IntoIterator<Item = &'a DocId>) -> Result<u64> {
    let mut count = 0;
    for id in ids {
        count += u64::from(read.number_of(collection, id)?.is_some());
    }
    Ok(count)
}

impl Collection {
    /// Undoes an edit. Returns `false` if there is none with this number.
    ///
    /// The clusters are then those that exist without the edit.
    pub fn undo_edit(&self, number: u64) -> Result<bool> {
        let live = Arc::clone(&self.live);
        self.shared.run_on_writer(move |writer| writer.undo_edit(&live, number))
    }

    /// Returns `true` if documents are still being moved because of edits.
    pub(super) fn has_edit_tasks(&self, read: &dyn Read) -> Result<bool> {
        let mut found = false;
        let each = read.each_task(self.live.row.number, &mut |task| {
            found |= undamaged(task.map(Some))?
                .is_none_or(|task| matches!(task.kind, TaskKind::Edits | TaskKind::Show));
            Ok(())
        });
        each.map(|()| found)
    }
}

impl Writer {
    fn edit(&mut self, live: &Arc<LiveCollection>, edit: &NewEdit) -> Result<u64> {
        self.change_edits(live, |change, counters| {
            let read = change.read();
            let number = read.last_edit(live.row.number)? + 1;
            let row = EditDraft { read, live }.row(number, edit, counters)?;
            remove_forgotten(change, &row)?;
            change.put_edit(&row)?;
            Ok(Some(number))
        })
        .map(Option::unwrap_or_default)
    }

    fn undo_edit(&mut self, live: &Arc<LiveCollection>, number: u64) -> Result<bool> {
        let undone = self.change_edits(live, |change, _| {
            let edits = change.read().edits(live.row.number)?;
            if !edits.iter().any(|(stored, _)| *stored == number) {
                return Ok(None);
            }
            change.remove_edit(live.row.number, number)?;
            Ok(Some(number))
        });
        Ok(undone?.is_some())
    }

    /// Changes the stored edits and applies them in one transaction.
    fn change_edits(
        &mut self,
        live: &Arc<LiveCollection>,
        change_rows: impl FnOnce(&mut dyn Transaction, &mut Counters) -> Result<Option<u64>>,
    ) -> Result<Option<u64>> {
        if self.is_dropped(live) {
            return Err(Error::NoCollection { name: live.row.name.clone() });
        }
        let before = live.named();
        let mut marks = Marks::default();
        let changed = self.write(|writer| {
            let Writer { store, shared, counters, .. } = writer;
            store.reserve_space()?;
            let mut change = store.begin()?;
            let Some(number) = change_rows(&mut *change, counters)? else { return Ok(None) };
            live.set_named(Arc::new(Named::read(change.read(), live.row.number)?));
            ClusterChanges {
                change: &mut *change,
                counters,
                cache: &shared.cache,
                live,
                removed: &HashSet::new(),
                marks: &mut marks,
                memo: None,
            }
            .apply_at_once()?;
            change.put_counters(*counters)?;
            change.commit()?;
            Ok(Some(number))
        });
        if changed.is_err() {
            live.set_named(before);
        }
        changed
    }
}

/// Checks a new edit and finds the documents that it names.
struct EditDraft<'a> {
    read: &'a dyn Read,
    live: &'a LiveCollection,
}

impl EditDraft<'_> {
    fn row(&self, number: u64, edit: &NewEdit, counters: &mut Counters) -> Result<EditRow> {
        let (kind, documents) = match edit {
            NewEdit::Split { cluster, documents } => (EditKind::Split, self.split(*cluster, documents)?),
            NewEdit::Merge { clusters } => (EditKind::Merge, self.merge(clusters)?),
            NewEdit::Same { a, b } => (EditKind::Same, self.pair(a, b)?),
            NewEdit::Different { a, b } => (EditKind::Different, self.pair(a, b)?),
        };
        self.check_number(&documents)?;
        let reserved = match kind {
            EditKind::Split => documents[0].len(),
            EditKind::Different => 2,
            EditKind::Merge | EditKind::Same => 0,
        };
        let clusters = ClusterId(counters.clusters + 1);
        counters.clusters += reserved as u64;
        let collection = self.live.row.number;
        Ok(EditRow { collection, number, at: super::now(), kind, clusters, documents })
    }

    fn split(&self, cluster: ClusterId, documents: &[DocId]) -> Result<Vec<Vec<DocId>>> {
        if documents.is_empty() || documents.len() > MAX_SPLIT {
            return Err(bad_edit(format!("a split names 1 to {MAX_SPLIT} documents")));
        }
        let stand_ins = self.stand_ins(cluster, documents)?;
        let mut leaving = Vec::new();
        for id in documents {
            if self.member(id)?.shown() != cluster {
                let id = id.to_string();
                return Err(bad_edit(format!(
                    "document `{}` is not in cluster {}; read the cluster again",
                    id.escape_debug(),
                    cluster.0
                )));
            }
            if !leaving.contains(id) {
                leaving.push(id.clone());
            }
        }
        if stand_ins.is_empty() {
            let reason = "a split names some documents of the cluster, not all of them; omit at least one";
            return Err(bad_edit(reason.to_owned()));
        }
        Ok(vec![leaving, stand_ins])
    }

    fn merge(&self, clusters: &[ClusterId]) -> Result<Vec<Vec<DocId>>> {
        let distinct: BTreeSet<ClusterId> = clusters.iter().copied().collect();
        if distinct.len() < 2 || distinct.len() > MAX_MERGED {
            return Err(bad_edit(format!("a merge names 2 to {MAX_MERGED} clusters")));
        }
        distinct.into_iter().map(|cluster| self.merged(cluster)).collect()
    }

    /// Returns the documents that stand for a cluster, and those that other edits name: the merge decides about them.
    fn merged(&self, cluster: ClusterId) -> Result<Vec<DocId>> {
        let mut ids = self.stand_ins(cluster, &[])?;
        for (placed, place) in self.read.places(self.live.row.number)? {
            if let Placed::Document(number) = placed
                && place == cluster
                && let Some(row) = undamaged(self.read.document(number))?
                && !ids.contains(&row.document.id)
            {
                ids.push(row.document.id);
            }
        }
        Ok(ids)
    }

    fn pair(&self, a: &DocId, b: &DocId) -> Result<Vec<Vec<DocId>>> {
        if a == b {
            return Err(bad_edit("`a` and `b` are the same document; name two documents".to_owned()));
        }
        self.member(a)?;
        self.member(b)?;
        Ok(vec![vec![a.clone()], vec![b.clone()]])
    }

    /// Returns the center and the first documents of a cluster, without the `excluded` ones.
    fn stand_ins(&self, cluster: ClusterId, excluded: &[DocId]) -> Result<Vec<DocId>> {
        let row = undamaged(self.read.cluster(cluster))?;
        let center = center_or_first(self.read, cluster, row.and_then(|row| row.center))?;
        let center = center.filter(|center| center.collection == self.live.row.number);
        let mut numbers = vec![center.ok_or(Error::NoCluster { cluster })?.document];
        let mut ids: Vec<DocId> = Vec::new();
        let mut after: Option<MemberPosition> = None;
        loop {
            for number in numbers {
                let Some(row) = undamaged(self.read.document(number))? else { continue };
                let id = row.document.id;
                if ids.len() < STAND_INS && !excluded.contains(&id) && !ids.contains(&id) {
                    ids.push(id);
                }
            }
            let page = self.read.members_by_date(cluster, after, STAND_INS)?;
            after = page.last().map(super::browse::position_of);
            numbers = page.into_iter().map(|row| row.document).collect();
            if numbers.is_empty() || ids.len() == STAND_INS {
                return Ok(ids);
            }
        }
    }

    fn member(&self, id: &DocId) -> Result<MemberRow> {
        let missing = || Error::NoDocument { id: id.clone() };
        let number = self.read.number_of(self.live.row.number, id)?.ok_or_else(missing)?;
        self.read.member(number)?.ok_or_else(missing)
    }

    fn check_number(&self, documents: &[Vec<DocId>]) -> Result<()> {
        let named = self.live.named();
        let new: HashSet<&DocId> = documents.iter().flatten().filter(|id| !named.ids.contains(*id)).collect();
        // Documents that no longer exist do not count. Looking them up takes longer than counting all.
        let collection = self.live.row.number;
        let too_many = named.ids.len() + new.len() > MAX_NAMED
            && existing(self.read, collection, &named.ids)? as usize + new.len() > MAX_NAMED;
        if too_many {
            return Err(bad_edit(format!(
                "the edits of a collection can name {MAX_NAMED} documents; undo some of them first"
            )));
        }
        Ok(())
    }
}

fn mentions(documents: &[Vec<DocId>]) -> usize {
    documents.iter().map(Vec::len).sum()
}

/// Deletes the oldest edits of which no document exists, if edits name documents too often.
fn remove_forgotten(change: &mut dyn Transaction, new: &EditRow) -> Result<()> {
    let edits = readable_edits(change.read(), new.collection)?;
    let stored: usize = edits.iter().map(|edit| mentions(&edit.documents)).sum();
    let mut excess = (stored + mentions(&new.documents)).saturating_sub(MAX_MENTIONS);
    for edit in edits {
        if excess == 0 {
            return Ok(());
        }
        if existing(change.read(), edit.collection, edit.documents.iter().flatten())? == 0 {
            change.remove_edit(edit.collection, edit.number)?;
            excess = excess.saturating_sub(mentions(&edit.documents));
        }
    }
    if excess == 0 {
        return Ok(());
    }
    let reason =
        format!("the edits of a collection can name documents {MAX_MENTIONS} times; undo some of them first");
    Err(bad_edit(reason))
}

fn bad_edit(reason: String) -> Error {
    Error::BadEdit { reason }
}
