//! Queued work on clusters, in small steps between other writes.
//!
//! After a deletion, the remaining documents are clustered as if the deleted document had never existed. The work is queued
//! in the transaction of the deletion, survives restarts, and is done in steps of a few milliseconds, each in its own
//! transaction. Until it is finished, the affected clusters are reported as pending.
//!
//! **Cohesive** clusters depend on each other: a document that becomes a center can take documents from later centers, and
//! their members must then be assigned again. Such effects only go to documents with greater numbers. Tasks are therefore
//! processed in order of document numbers: when a document is processed, everything before it is final, and so is the
//! result. An insertion never affects other documents; one that happens meanwhile is reached by the same rules.
//!
//! **Online** links depend on the texts only, so a link is final when it is found. The documents below a moved document
//! follow one by one. **Components** are joined again in order of document numbers; merging two clusters moves their
//! documents one by one.

use super::clusters::{ClusterChanges, Marks};
use super::live::LiveCollection;
use super::writer::Writer;
use super::{recluster, texts::FeatureCache};
use crate::error::Result;
use crate::rows::{Counters, TaskKind, TaskRow};
use crate::store::Transaction;
use std::collections::HashSet;
use std::sync::Arc;
use std::time::{Duration, Instant};

/// Time after which a step ends. The sync of its transaction comes on top.
const STEP: Duration = Duration::from_millis(4);

/// Whether a queue has more tasks.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Left {
    More,
    Nothing,
}

impl Writer {
    /// Returns the collections that have tasks.
    fn collections_with_tasks(&self) -> Vec<Arc<LiveCollection>> {
        self.shared.collections().values().filter(|live| live.has_tasks()).cloned().collect()
    }

    pub(super) fn has_tasks(&self) -> bool {
        self.shared.collections().values().any(|live| live.has_tasks())
    }

    /// Processes tasks for a few milliseconds.
    pub(super) fn step(&mut self) -> Result<()> {
        let deadline = Instant::now() + STEP;
        for live in self.collections_with_tasks() {
            self.write(|writer| writer.step_in(&live, deadline))?;
            if Instant::now() >= deadline {
                break;
            }
        }
        Ok(())
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
            TaskKind::Links => {
                let first = self.change.read().joined(task.position, 0, 1)?.first().copied();
                first.map(|child| self.assign_again(child.document)).transpose()?;
                first.is_none()
            }
            TaskKind::Subtree => {
                let rest = self.move_next_child(&task)?;
                rest.map(|rest| self.change.put_task(&rest)).transpose()?;
                rest.is_none()
            }
            TaskKind::Merge => !self.move_one(&task)?,
            TaskKind::Collection => {
                recluster::recluster(self)?;
                true
            }
        };
        if is_done {
            self.change.remove_task(&task)?;
        }
        Ok(Left::More)
    }

    /// Assigns the next member of a cluster again.
    fn process_member(&mut self, task: &TaskRow) -> Result<Left> {
        self.change.remove_task(task)?;
        let next = self.change.read().members(task.cluster, task.position, 1)?.first().copied();
        if let Some(member) = next {
            self.queue_members(task.cluster, member.document + 1)?;
            self.assign_again(member.document)?;
        }
        Ok(Left::More)
    }
}
