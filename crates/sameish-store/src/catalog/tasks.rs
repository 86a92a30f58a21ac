//! Queued work on clusters, in small steps between other writes.
//!
//! After a deletion, the remaining documents are clustered as if the deleted document had never existed. The work is queued
//! in the transaction of the deletion, survives restarts, and is done in steps of a few milliseconds, each in its own
//! transaction. Until it is finished, the affected clusters are reported as pending.
//!
//! **Cohesive** clusters depend on each other: a document that becomes a center can take documents from later centers, and
//! their members must then be assigned again. Such effects only go to documents with later turns, which are greater numbers unless
//! documents become centers in another order. Tasks are therefore processed in order of turns: when a document is processed,
//! everything before it is final, and so is the result. In order of arrival, an insertion never affects other documents; one that
//! happens meanwhile is reached by the same rules. In other orders, a new center is queued like one after a deletion. A new center
//! can match any number of later documents; they are searched in as many steps as necessary.
//!
//! A task is processed in **units**. A step ends between two of them when its time is over, so a unit is as long as a step can
//! be. A unit changes one document, compares it with at most 64 texts and, after 256 KiB of other texts, reads no more of them
//! ([`SearchMemo`]), and reads at most 64 links of a center. What does not fit is done by further units.
//!
//! Deletions that come while a cluster is queued do not queue it again: its documents are assigned once. Therefore the work
//! waits until no document was deleted for a short time ([`RepairDelay`](super::live::RepairDelay)).
//!
//! **Online** links depend on the texts only, so a link is final when it is found. The documents below a moved document
//! follow one by one. **Components** are joined again in order of document numbers; merging two clusters moves their
//! documents one by one. Merges come before all other tasks, so that a deletion can assign all documents again in the cluster
//! that receives them.
//!
//! **Edits** start from the clusters of the linkage, so their tasks come after all others (`edits/apply.rs`). Finding the clusters that
//! edits give is one unit, whose work grows with the documents that the edits of the collection name.

#[cfg(test)]
mod tests;

use super::clusters::{ClusterChanges, Marks, Unit};
use super::live::LiveCollection;
use super::texts::{FeatureCache, SearchMemo};
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
    /// Returns the collections that have tasks, starting after the one that was processed last.
    fn collections_with_tasks(&self) -> Vec<Arc<LiveCollection>> {
        let mut with_tasks: Vec<Arc<LiveCollection>> =
            self.shared.collections().live().filter(|live| live.has_tasks()).cloned().collect();
        with_tasks.sort_unstable_by_key(|live| live.row.number);
        let next = with_tasks.partition_point(|live| live.row.number <= self.stepped);
        with_tasks.rotate_left(next);
        with_tasks
    }

    /// Returns when queued work has to be done, if there is any.
    pub(super) fn tasks_due(&self) -> Option<Instant> {
        let collections = self.shared.collections();
        let with_tasks = collections.live().filter(|live| live.has_tasks());
        with_tasks.map(|live| live.repair_delay().due().unwrap_or_else(Instant::now)).min()
    }

    /// Processes tasks for a few milliseconds, except for those of collections whose work has to wait.
    pub(super) fn step(&mut self) -> Result<()> {
        let now = Instant::now();
        let mut due = self.collections_with_tasks();
        due.retain(|live| live.repair_delay().due() <= Some(now));
        self.step_until(now + STEP, due)
    }

    /// Processes tasks of collections until the deadline, but at least one unit. An error in one collection does not stop the
    /// work on others; this returns it only if nothing succeeded.
    fn step_until(&mut self, deadline: Instant, collections: Vec<Arc<LiveCollection>>) -> Result<()> {
        let mut result = None;
        for live in collections {
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
        loop {
            let collections = self.collections_with_tasks();
            if collections.is_empty() {
                return Ok(());
            }
            self.step_until(Instant::now() + STEP, collections)?;
        }
    }

    fn step_in(&mut self, live: &LiveCollection, deadline: Instant) -> Result<()> {
        let Writer { store, shared, counters, memos, .. } = self;
        let mut marks = Marks::default();
        let memo = memos.entry(live.row.number).or_insert_with(SearchMemo::new);
        let mut step =
            Step { change: store.begin()?, counters, cache: &shared.cache, live, marks: &mut marks, memo };
        let processed = step.process_until(deadline);
        let processed = processed.and_then(|left| step.commit().map(|()| left));
        match processed {
            Ok(left) => {
                live.set_has_tasks(left == Left::More);
                if left == Left::Nothing {
                    live.repair_delay().clear();
                    memos.remove(&live.row.number);
                }
                Ok(())
            }
            Err(error) => {
                marks.undo(live);
                Err(error)
            }
        }
    }
}

/// A transaction that processes tasks of a collection.
struct Step<'a> {
    change: Box<dyn Transaction + 'a>,
    counters: &'a mut Counters,
    cache: &'a FeatureCache,
    live: &'a LiveCollection,
    marks: &'a mut Marks,
    memo: &'a mut SearchMemo,
}

impl Step<'_> {
    fn process_until(&mut self, deadline: Instant) -> Result<Left> {
        let removed = HashSet::new();
        let mut left = Left::More;
        while left == Left::More {
            self.memo.begin_unit();
            let mut clusters = ClusterChanges {
                change: &mut *self.change,
                counters: self.counters,
                cache: self.cache,
                live: self.live,
                removed: &removed,
                marks: self.marks,
                memo: Some(self.memo),
            };
            left = clusters.process_one()?;
            if Instant::now() >= deadline {
                break;
            }
        }
        Ok(left)
    }

    fn commit(mut self) -> Result<()> {
        self.change.put_counters(*self.counters)?;
        self.change.commit()
    }
}

impl ClusterChanges<'_> {
    /// Processes one unit of the first task.
    fn process_one(&mut self) -> Result<Left> {
        let Some(task) = self.change.read().first_task(self.live.row.number)? else {
            return Ok(Left::Nothing);
        };
        let is_done = match task.kind {
            TaskKind::Document => self.assign_again(task.document())? == Unit::Done,
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
            TaskKind::Count => {
                self.count_more_links(&task)?;
                return Ok(Left::More);
            }
            TaskKind::Edits => {
                self.change.remove_task(&task)?;
                self.apply_edits()?;
                return Ok(Left::More);
            }
            TaskKind::Show => {
                self.show_more(&task)?;
                return Ok(Left::More);
            }
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
        let Some(member) = self.next_member(task.cluster, task.turn())? else { return Ok(Left::More) };
        // Another task may come before a member at a later position.
        if member.turn().position > task.position {
            self.queue_members(task.cluster, member.turn())?;
            return Ok(Left::More);
        }
        self.queue_members(task.cluster, member.next_turn())?;
        if self.assign_again(member.document)? == Unit::Paused {
            self.queue_members(task.cluster, member.turn())?;
        }
        Ok(Left::More)
    }
}

/// Returns the error for a task that a running process never queues: clustering a whole collection takes too long for a step,
/// so it is done when the directory is opened.
fn unexpected(task: &TaskRow) -> Error {
    Error::Damaged {
        what: format!("task at position {}", task.position),
        reason: "it can be processed only when the directory is opened".to_owned(),
    }
}
