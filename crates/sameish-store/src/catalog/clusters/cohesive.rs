//! Cohesive clusters: a document joins the first center before it that it matches.

use super::{ClusterChanges, Unit};
use crate::catalog::neighbors::{Query, Searched, Subject};
use crate::error::Result;
use crate::rows::{DocumentRow, MemberRow, TaskKind, TaskRow};
use sameish::Search;
use sameish::cluster::ClusterId;
use std::collections::BTreeMap;

/// Maximum number of documents of a range that a new center is compared with. A range with more of them is divided.
pub(in crate::catalog) const LATER_PER_STEP: usize = 32;

impl ClusterChanges<'_> {
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
                    self.queue_members(member.cluster, document + 1)?;
                }
                self.move_to(member, target.cluster, None)?;
            }
            None if was_center => {}
            None => {
                self.start_part(member)?;
                self.marks.set(self.live, id, true);
                let cluster = self.member(document)?.map_or(member.cluster, |member| member.cluster);
                self.queue(TaskKind::Center, document, cluster)?;
            }
        }
        Ok(Unit::Done)
    }

    /// Queues later documents that a new center takes from centers after it. Returns the rest of the task.
    ///
    /// A center can match any number of later documents, so they are searched in ranges of document numbers. A range with
    /// more than [`LATER_PER_STEP`] of them is halved and searched again in the next step.
    pub(in crate::catalog) fn search_later(&mut self, task: &TaskRow) -> Result<Option<TaskRow>> {
        let center = task.position;
        let Some(row) = super::undamaged(self.read().document(center))? else { return Ok(None) };
        let id = &row.document.id;
        let is_center = |number, is_center| number == center && is_center;
        let stored = self.live.engine().get(id).map(|stored| is_center(stored.number, stored.is_center));
        if stored != Some(true) {
            return Ok(None);
        }
        let last = self.counters.documents;
        let from = task.target.0.max(center + 1);
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

    /// Queues the documents that match a new center and have later centers.
    fn queue_taken(&mut self, center: u64, found: &Search) -> Result<()> {
        let own = self.member(center)?.map(|member| member.cluster);
        let mut first_of_cluster: BTreeMap<ClusterId, u64> = BTreeMap::new();
        for found in &found.matches {
            let Some(member) = self.member(found.number)?.filter(|member| Some(member.cluster) != own) else {
                continue;
            };
            if self.live.engine().get(&found.id).is_some_and(|stored| stored.is_center) {
                self.queue(TaskKind::Document, found.number, member.cluster)?;
            } else if self.row(member.cluster)?.center.is_some_and(|other| other > center) {
                let first = first_of_cluster.entry(member.cluster).or_insert(found.number);
                *first = found.number.min(*first);
            }
        }
        first_of_cluster.into_iter().try_for_each(|(cluster, first)| self.queue_members(cluster, first))
    }
}

/// Returns `true` if a search found more documents than a step may compare.
fn is_incomplete(found: &Search) -> bool {
    found.matches.len() > LATER_PER_STEP || found.candidates > LATER_PER_STEP
}
