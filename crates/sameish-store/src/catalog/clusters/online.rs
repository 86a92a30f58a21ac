//! Online clusters: a document joins its best earlier match.

use super::{ClusterChanges, Unit};
use crate::catalog::neighbors::{Searched, Subject};
use crate::error::Result;
use crate::rows::{MemberRow, TaskKind, TaskRow};
use sameish::cluster::ClusterId;

impl ClusterChanges<'_> {
    pub(super) fn assign_to_best(&mut self, member: MemberRow, subject: Subject<'_>) -> Result<Unit> {
        let Searched::Complete(best) = self.neighbors().best_link(subject, None)? else {
            return Ok(Unit::Paused);
        };
        let target = best.map(|best| self.member(best)).transpose()?.flatten();
        let before = member.cluster;
        match target {
            Some(target) => self.move_to(member, target.cluster, best)?,
            None => self.start_part(member)?,
        }
        let moved = self.member(member.document)?.is_some_and(|member| member.cluster != before);
        if moved && self.next_joined(member.document, 0)?.is_some() {
            self.queue(TaskKind::Subtree, member.document, before)?;
        }
        Ok(Unit::Done)
    }

    /// Queues the documents that had joined a deleted document.
    pub(in crate::catalog) fn queue_links(&mut self, member: &MemberRow) -> Result<()> {
        if self.next_joined(member.document, 0)?.is_none() {
            return Ok(());
        }
        self.queue(TaskKind::Links, member.document, member.cluster)
    }

    /// Assigns the next document that had joined a deleted document. Returns `false` if none is left.
    pub(in crate::catalog) fn assign_next_child(&mut self, task: &TaskRow) -> Result<bool> {
        let Some(child) = self.next_joined(task.position, 0)? else { return Ok(false) };
        // Also if the unit is paused, there is more to do.
        self.assign_again(child.document)?;
        Ok(true)
    }

    /// Moves the next document into the cluster of the document that it joined. Returns the rest of the task.
    pub(in crate::catalog) fn move_next_child(&mut self, task: &TaskRow) -> Result<Option<TaskRow>> {
        let next = self.next_joined(task.position, task.target.0)?;
        let Some((parent, child)) = self.member(task.position)?.zip(next) else { return Ok(None) };
        if child.cluster != parent.cluster {
            self.move_to(child, parent.cluster, child.joined)?;
            if self.next_joined(child.document, 0)?.is_some() {
                self.queue(TaskKind::Subtree, child.document, child.cluster)?;
            }
        }
        Ok(Some(TaskRow { target: ClusterId(child.document + 1), ..*task }))
    }
}
