//! Comparison of texts with their candidates in rounds, the most promising candidates first.

use crate::compare::{Comparisons, DocMatch};
use crate::error::Result;
use crate::pairs::EarlierMatches;
use std::cmp::Ordering;

/// Maximum number of candidates per text in the first round. Each round compares four times as many as the one before.
const FIRST_ROUND: usize = 4;

/// A candidate.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Ranked {
    pub(crate) doc: u32,
    /// The largest similarity that it may have.
    pub(crate) bound: f64,
    /// Whether this is its similarity.
    pub(crate) is_exact: bool,
}

impl Ranked {
    /// Returns a candidate of which nothing is known.
    pub(crate) fn unknown(doc: u32) -> Ranked {
        Ranked { doc, bound: 1.0, is_exact: false }
    }

    /// Compares two candidates, the more promising one first; of equally promising ones, the first in the input.
    pub(crate) fn cmp_rank(&self, other: &Ranked) -> Ordering {
        other.bound.total_cmp(&self.bound).then(self.doc.cmp(&other.doc))
    }

    /// Moves the most promising candidates to the front.
    pub(crate) fn select(candidates: &mut [Ranked], count: usize) {
        if count < candidates.len() {
            candidates.select_nth_unstable_by(count, Ranked::cmp_rank);
        }
    }
}

/// A text and the candidates that it has not been compared with.
pub(crate) struct Pending {
    pub(crate) doc: u32,
    pub(crate) rest: Vec<Ranked>,
}

impl Pending {
    /// Removes the most promising candidates and returns them.
    fn take(&mut self, count: usize) -> Comparisons {
        let count = count.min(self.rest.len());
        Ranked::select(&mut self.rest, count);
        Comparisons::new(self.doc, self.rest.drain(..count).collect())
    }
}

impl EarlierMatches<'_> {
    /// Compares texts with their candidates. After each round, `settle` gets each text with its new matches that join, and removes
    /// the candidates that it need not be compared with.
    ///
    /// If too many comparisons of the run were without a match, the search for a text ends with a round without one.
    pub(crate) fn in_rounds(
        &mut self,
        mut pending: Vec<Pending>,
        mut settle: impl FnMut(u32, &[DocMatch], &mut Vec<Ranked>),
    ) -> Result<()> {
        let mut limit = FIRST_ROUND;
        pending.retain(|pending| !pending.rest.is_empty());
        while !pending.is_empty() {
            let tasks: Vec<Comparisons> = pending.iter_mut().map(|pending| pending.take(limit)).collect();
            let matches = self.judge(&tasks)?;
            for ((pending, task), found) in pending.iter_mut().zip(&tasks).zip(matches) {
                self.count_bounds(task, &found);
                settle(pending.doc, &found, &mut pending.rest);
                if found.is_empty() && self.is_exhausted() {
                    self.omit(&pending.rest);
                    pending.rest.clear();
                }
            }
            pending.retain(|pending| !pending.rest.is_empty());
            limit = limit.saturating_mul(4);
        }
        Ok(())
    }
}
