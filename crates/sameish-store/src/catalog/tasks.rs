//! Queued work on clusters, in small steps between other writes.
//!
//! After a deletion, the remaining documents are clustered as if the deleted document had never existed. The work is queued
//! in the transaction of the deletion, survives restarts, and is done in steps of a few milliseconds, each in its own
//! transaction. Until it is finished, the affected clusters are reported as pending.
//!
//! **Cohesive** clusters depend on each other: a document that becomes a center can take documents from later centers, and
//! their members must then be assigned again. Such effects only go to documents with greater numbers. Tasks are therefore
//! processed in order of document numbers: when a document is processed, everything before it is final, and so is the
//! result. An insertion never affects other documents; one that happens meanwhile is reached by the same rules. A new center
//! can match any number of later documents; they are searched in as many steps as necessary.
//!
//! **Online** links depend on the texts only, so a link is final when it is found. The documents below a moved document
//! follow one by one. **Components** are joined again in order of document numbers; merging two clusters moves their
//! documents one by one. Merges come before all other tasks, so that a deletion can assign all documents again in the cluster
//! that receives them.

#[cfg(test)]
mod tests;

use super::clusters::{ClusterChanges, Marks};
use super::live::LiveCollection;
use super::texts::FeatureCache;
use super::writer::Writer;
use crate::error::{Error, Result};
use crate::rows::{Counters, TaskKind, TaskRow};
use crate::store::Transaction;
use std::collections::HashSet;
use std::sync::Arc;
use std::time::{Duration, Instant};

/// Time after which a step ends. The sync of its transaction comes on top.
pub(super) const STEP: Duration = Duration::from_millis(4);

/// Whether a queue has more tasks.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Left {
    More,
    Nothing,
}

impl Writer {
    /// Returns the collections that have tasks, starting after the one that had its turn last.
    fn collections_with_tasks(&self) -> Vec<Arc<LiveCollection>> {
        let mut with_tasks: Vec<Arc<LiveCollection>> =
            self.shared.collections().live().filter(|live| live.has_tasks()).cloned().collect();
        with_tasks.sort_unstable_by_key(|live| live.row.number);
        let next = with_tasks.partition_point(|live| live.row.number <= self.stepped);
        with_tasks.rotate_left(next);
        with_tasks
    }

    pub(super) fn has_tasks(&self) -> bool {
        self.shared.collections().live().any(|live| live.has_tasks())
    }

    /// Processes tasks for a few milliseconds.
    pub(super) fn step(&mut self) -> Result<()> {
        self.step_until(Instant::now() + STEP)
    }

    /// Processes tasks until the deadline, but at least one. An error in one collection does not stop the work on others;
    /// this returns it only if nothing succeeded.
    fn step_until(&mut self, deadline: Instant) -> Result<()> {
        let mut result = None;
        for live in self.collections_with_tasks() {
            self.stepped = live.row.number;
            let stepped = self.attempt(|writer| writer.step_in(&live, deadline));
            live.set_task_error(stepped.as_ref().err().cloned());
            match stepped {
                Ok(()) if Instant::now() >= deadline => return Ok(()),
                Ok(()) => result = Some(Ok(())),
                Err(error) => result = result.or(Some(Err(error))),
            }
        }
        result.unwrap_or(Ok(()))
    }

    /// Processes all tasks.
    pub(super) fn settle(&mut self) -> Result<()> {
        while self.has_tasks() {
            self.step()?;
        }
        Ok(())
    }

    fn step_in(&mut self, live: &LiveCollection, deadline: Instant) -> Result<()> {
        let Writer { store, shared, counters, .. } = self;
        let mut marks = Marks::default();
        let change = store.begin()?;
        match process_until(change, counters, &shared.cache, live, &mut marks, deadline) {
            Ok(left) => {
                live.set_has_tasks(left == Left::More);
                Ok(())
            }
            Err(error) => {
                marks.undo(live);
                Err(error)
            }
        }
    }
}

fn process_until(
    mut change: Box<dyn Transaction + '_>,
    counters: &mut Counters,
    cache: &FeatureCache,
    live: &LiveCollection,
    marks: &mut Marks,
    deadline: Instant,
) -> Result<Left> {
    let removed = HashSet::new();
    let mut clusters =
        ClusterChanges { change: &mut *change, counters, cache, live, removed: &removed, marks };
    let mut left = Left::More;
    while left == Left::More {
        left = clusters.process_one()?;
        if Instant::now() >= deadline {
            break;
        }
    }
    change.put_counters(*counters)?;
    change.commit()?;
    Ok(left)
}

impl ClusterChanges<'_> {
    /// Processes one document of the first task.
    fn process_one(&mut self) -> Result<Left> {
        let Some(task) = self.change.read().first_task(self.live.row.number)? else {
            return Ok(Left::Nothing);
        };
        let is_done = match task.kind {
            TaskKind::Document => {
                self.assign_again(task.position)?;
                true
            }
            TaskKind::Members => return self.process_member(&task),
            TaskKind::Links => !self.assign_next_child(&task)?,
            TaskKind::Subtree => {
                let rest = self.move_next_child(&task)?;
                self.put_rest(rest)?
            }
            TaskKind::Center => {
                let rest = self.search_later(&task)?;
                self.put_rest(rest)?
            }
            TaskKind::Merge => !self.move_one(&task)?,
            TaskKind::Collection => return Err(unexpected(&task)),
        };
        if is_done {
            self.change.remove_task(&task)?;
        }
        Ok(Left::More)
    }

    /// Replaces a task by its rest. Returns `true` if there is none.
    fn put_rest(&mut self, rest: Option<TaskRow>) -> Result<bool> {
        rest.map(|rest| self.change.put_task(&rest)).transpose()?;
        Ok(rest.is_none())
    }

    /// Assigns the next member of a cluster again, if it is the document at the position of the task.
    ///
    /// Documents must be processed strictly in order: a document that is assigned before an earlier one would connect what it
    /// matches with the cluster that the earlier one is about to leave.
    fn process_member(&mut self, task: &TaskRow) -> Result<Left> {
        self.change.remove_task(task)?;
        let Some(member) = self.next_member(task.cluster, task.position)? else { return Ok(Left::More) };
        // Another task may come before a member with a greater number.
        if member.document > task.position {
            self.queue_members(task.cluster, member.document)?;
            return Ok(Left::More);
        }
        self.queue_members(task.cluster, member.document + 1)?;
        self.assign_again(member.document)?;
        Ok(Left::More)
    }
}

/// Returns the error for a task that a running process never queues: clustering a whole collection takes too long for a step,
/// so it is done when the directory is opened.
fn unexpected(task: &TaskRow) -> Error {
    Error::Damaged {
        what: format!("task at position {}", task.position),
        reason: "only opening the directory can process it".to_owned(),
    }
}
