//! Cohesive clusters: a document joins the first center before it that it matches.
//!
//! "First" and "before" refer to turns ([`Turn`]): the order of arrival, or another order that the collection has chosen. In other
//! orders a new document can come before its center. It then takes the place of the center at once, and the members are assigned again
//! as after the deletion of the center.

use super::{ClusterChanges, Placement, Unit};
use crate::catalog::live::LiveCollection;
use crate::catalog::neighbors::{Query, Searched, Subject};
use crate::error::Result;
use crate::rows::{ClusterRow, DocumentRow, FIRST_DOCUMENT, MemberRow, TaskKind, TaskRow, Turn};
use sameish::Search;
use sameish::cluster::ClusterId;
use std::collections::BTreeMap;

/// Maximum number of documents of a range that a new center is compared with. A range with more of them is divided.
pub(in crate::catalog) const LATER_PER_STEP: usize = 32;

impl ClusterChanges<'_> {
    /// Adds a new document to the cluster of its center, or makes it a center. `known` are its matches.
    pub(super) fn place_at_center(&mut self, subject: Subject<'_>, known: &Search) -> Result<Placement> {
        let center = self.neighbors().first_center(subject, Some(known))?.complete();
        if let Some(center) = center.map(|center| self.member(center)).transpose()?.flatten() {
            self.join(subject.number, center.cluster, None)?;
            return Ok(Placement { cluster: center.cluster, is_center: false });
        }
        let cluster = if self.live.has_ranks() {
            self.start_before_others(subject, known)?
        } else {
            self.start_cluster(subject.number)?
        };
        Ok(Placement { cluster, is_center: true })
    }

    /// Makes a new document a center. It takes the place of the first center that it matches and that comes after it, so that the
    /// cluster keeps its id. Further documents that it takes from later centers are queued.
    fn start_before_others(&mut self, subject: Subject<'_>, known: &Search) -> Result<ClusterId> {
        let document = subject.number;
        let outranked = self.neighbors().first_outranked(subject, known)?;
        let member = outranked.as_ref().map(|center| self.member(center.number)).transpose()?.flatten();
        let cluster = match outranked.zip(member) {
            Some((center, member)) => {
                self.join(document, member.cluster, None)?;
                let row = self.row(member.cluster)?;
                self.put_row(ClusterRow { center: Some(document), ..row })?;
                self.marks.set(self.live, &center.id, false);
                self.queue_members(member.cluster, member.turn())?;
                member.cluster
            }
            None => self.start_cluster(document)?,
        };
        if self.neighbors().may_outrank(subject, known) {
            let turn = self.live.turns().of(document);
            self.queue(TaskKind::Center, turn.position, cluster)?;
        }
        Ok(cluster)
    }

    pub(super) fn assign_to_center(
        &mut self,
        row: &DocumentRow,
        member: MemberRow,
        subject: Subject<'_>,
    ) -> Result<Unit> {
        let id = &row.document.id;
        let document = member.document;
        let was_center = self.live.engine().get(id).is_some_and(|stored| stored.is_center);
        let Searched::Complete(center) = self.neighbors().first_center(subject, None)? else {
            return Ok(Unit::Paused);
        };
        let target = center.map(|center| self.member(center)).transpose()?.flatten();
        match target {
            Some(target) => {
                if was_center {
                    self.marks.set(self.live, id, false);
                    self.queue_members(member.cluster, member.next_turn())?;
                }
                self.move_to(member, target.cluster, None)?;
            }
            None if was_center => {}
            None => {
                self.start_part(member)?;
                self.marks.set(self.live, id, true);
                let cluster = self.member(document)?.map_or(member.cluster, |member| member.cluster);
                self.queue(TaskKind::Center, member.turn().position, cluster)?;
            }
        }
        Ok(Unit::Done)
    }

    /// Queues later documents that a new center takes from centers after it. Returns the rest of the task.
    ///
    /// A center can match any number of later documents, so they are searched in ranges of document numbers. A range with
    /// more than [`LATER_PER_STEP`] of them is halved and searched again in the next step.
    pub(in crate::catalog) fn search_later(&mut self, task: &TaskRow) -> Result<Option<TaskRow>> {
        let Some(center) = self.new_center(task)? else { return Ok(None) };
        let Some(row) = super::undamaged(self.read().document(center))? else { return Ok(None) };
        let id = &row.document.id;
        let is_center = |number, is_center| number == center && is_center;
        let stored = self.live.engine().get(id).map(|stored| is_center(stored.number, stored.is_center));
        if stored != Some(true) {
            return Ok(None);
        }
        let last = self.counters.documents;
        // In order of arrival, only later numbers have later turns.
        let from = if self.live.has_ranks() { FIRST_DOCUMENT } else { center + 1 }.max(task.target.0);
        let width = self.live.search_width().min(last.saturating_sub(from) + 1);
        let to = from + (width - 1);
        let subject = Subject { query: Query::Stored(id), number: center, moment: row.moment() };
        let found = self.neighbors().later(subject, from..=to, LATER_PER_STEP + 1)?;
        let Searched::Complete(found) = found else { return Ok(Some(*task)) };
        self.memo.inspect(|memo| memo.forget_verdicts());
        if width > 1 && is_incomplete(&found) {
            self.live.set_search_width(width / 2);
            return Ok(Some(*task));
        }
        self.live.set_search_width(width.saturating_mul(4));
        self.queue_taken(center, &found)?;
        Ok((to < last).then_some(TaskRow { target: ClusterId(to + 1), ..*task }))
    }

    /// Returns the new center of a task. With ranks, it is found by its cluster: if another document has become the center of the
    /// cluster, that one has a task of its own.
    fn new_center(&self, task: &TaskRow) -> Result<Option<u64>> {
        if !self.live.has_ranks() {
            return Ok(Some(task.position));
        }
        let center = self.row(task.cluster)?.center;
        Ok(center.filter(|center| self.live.turns().of(*center).position == task.position))
    }

    /// Queues the documents that match a new center and have later centers.
    fn queue_taken(&mut self, center: u64, found: &Search) -> Result<()> {
        let own = self.member(center)?.map(|member| member.cluster);
        let is_later = |live: &LiveCollection, other: u64| live.turns().of(other) > live.turns().of(center);
        let mut first_of_cluster: BTreeMap<ClusterId, Turn> = BTreeMap::new();
        for found in &found.matches {
            let Some(member) = self.member(found.number)?.filter(|member| Some(member.cluster) != own) else {
                continue;
            };
            if self.live.engine().get(&found.id).is_some_and(|stored| stored.is_center) {
                self.queue_turn(TaskKind::Document, member.turn(), member.cluster)?;
            } else if self.row(member.cluster)?.center.is_some_and(|other| is_later(self.live, other)) {
                let first = first_of_cluster.entry(member.cluster).or_insert(member.turn());
                *first = member.turn().min(*first);
            }
        }
        first_of_cluster.into_iter().try_for_each(|(cluster, first)| self.queue_members(cluster, first))
    }
}

/// Returns `true` if a search found more documents than a step may compare.
fn is_incomplete(found: &Search) -> bool {
    found.matches.len() > LATER_PER_STEP || found.candidates > LATER_PER_STEP
}
