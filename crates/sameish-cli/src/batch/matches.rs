//! Who matches whom? Every distinct text is asked for its matches, many at a time, in an order that nothing but the
//! documents decides.

use super::corpus::Corpus;
use super::judging::{Desk, Found, Loaded, Task};
use super::near::{Near, Wanted};
use crate::exit::Failure;
use sameish::{Effort, Judge, Templates, Verdict, WordFrequencies};
use std::collections::HashSet;

/// Most texts that are asked at once.
const WINDOW: usize = 8192;
/// Texts that are asked at once where it is not known who is to be asked.
const SMALL_WINDOW: usize = 256;
/// Candidates of texts that are asked at once, as far as it does not take one text alone.
const WINDOW_CANDIDATES: usize = 1 << 19;

/// Asks texts for their matches.
pub(crate) struct Matcher<'a> {
    pub(crate) corpus: &'a Corpus,
    pub(crate) near: Near<'a>,
    pub(crate) desk: Desk<'a>,
    pub(crate) judge: Judge,
    pub(crate) effort: Effort,
    /// Where verdicts carry facts.
    pub(crate) frequencies: Option<&'a WordFrequencies>,
}

/// A text with its matches.
pub(crate) struct Asked {
    pub(crate) doc: u32,
    pub(crate) found: Vec<Found>,
}

impl<'a> Matcher<'a> {
    /// `facts` says whether facts may be asked for; verdicts carry them where word frequencies were counted.
    pub(crate) fn new(corpus: &'a Corpus, facts: bool) -> Result<Matcher<'a>, Failure> {
        Ok(Matcher {
            near: Near::new(corpus)?,
            desk: Desk::new(corpus.known(facts), corpus.budget.desk()),
            judge: Judge::new(corpus.engine.config()),
            effort: Effort::default(),
            frequencies: corpus.frequencies.as_ref().filter(|_| facts),
            corpus,
        })
    }

    /// The next texts with their matches among those of smaller numbers, ascending; none at the end.
    ///
    /// Looking back means that where a bucket is too large to be looked at as a whole, its first documents are found by all
    /// later ones.
    pub(crate) fn earlier(&mut self, texts: &mut impl Iterator<Item = u32>) -> Result<Vec<Asked>, Failure> {
        let (mut tasks, mut candidates) = (Vec::new(), 0);
        while tasks.len() < WINDOW && candidates < WINDOW_CANDIDATES {
            let Some(doc) = texts.next() else { break };
            let others = self.near.candidates(doc, Wanted::Earlier, &mut self.effort);
            candidates += others.len();
            tasks.push(Task { doc, others });
        }
        let found = self.desk.judge(&tasks, self.judge, self.frequencies)?;
        Ok(tasks.into_iter().zip(found).map(|(task, found)| Asked { doc: task.doc, found }).collect())
    }

    /// What documents of one text are to each other.
    pub(crate) fn same(&mut self, doc: u32) -> Result<Option<Verdict>, Failure> {
        if !self.judge.verifies() {
            let task = Task { doc, others: vec![doc] };
            let found = self.desk.judge(&[task], self.judge, None)?;
            return Ok(found.iter().flatten().next().map(|found| found.verdict));
        }
        // Equal texts have equal features, whatever these are.
        let unread = Loaded::default();
        let side = self.desk.known.side(doc, Some(&unread));
        let facts = || (unread.facts(), unread.facts());
        Ok(self.judge.judge(&side, &side).map(|verdict| verdict.with_facts(facts)))
    }

    /// Whether a match may bring two documents into one group.
    pub(crate) fn joins(&self, verdict: &Verdict) -> bool {
        !verdict.template || self.corpus.engine.config().matching.templates == Templates::Merge
    }

    /// The center of each text, and how many matches between clusters were cut: as [`sameish::stars`], which asks one at a
    /// time.
    pub(crate) fn stars(&mut self, progress: &mut impl FnMut(usize)) -> Result<(Vec<u32>, u64), Failure> {
        let order: Vec<u32> = self.corpus.texts().collect();
        let (mut center, mut cut, mut at) = (vec![NOBODY; self.corpus.docs.len()], 0, 0);
        let mut size = SMALL_WINDOW;
        while at < order.len() {
            progress(at);
            let window = self.speculate(&order[at..], &center, size);
            let found = self.desk.judge(&window.tasks, self.judge, self.frequencies)?;
            let mut asked = window.tasks.iter().zip(&window.efforts).zip(found).peekable();
            let (begin, end) = (at, at + window.len);
            while at < end {
                let doc = order[at];
                let mine = asked.next_if(|((task, _), _)| task.doc == doc);
                if center[doc as usize] != NOBODY {
                    at += 1;
                    continue;
                }
                // Who was not asked, or would be asked for another number of candidates, begins the next window.
                let Some(((_, (before, after)), found)) = mine else { break };
                if before.most() != self.effort.most() {
                    break;
                }
                self.effort.add(
                    (after.candidates - before.candidates) as usize,
                    (after.capped - before.capped) as usize,
                );
                at += 1;
                center[doc as usize] = doc;
                for Found { doc: other, .. } in found.iter().filter(|found| self.joins(&found.verdict)) {
                    match &mut center[*other as usize] {
                        free if *free == NOBODY => *free = doc,
                        _ => cut += 1,
                    }
                }
            }
            // Windows that end early are made in vain.
            size = (2 * (at - begin)).clamp(SMALL_WINDOW / 8, WINDOW);
        }
        Ok((center, cut))
    }

    /// The next texts that are likely to be centers: not those that are probably taken by one of them.
    fn speculate(&mut self, order: &[u32], center: &[u32], size: usize) -> Window {
        let mut window = Window::default();
        let (mut effort, mut likely, mut candidates) = (self.effort, HashSet::new(), 0);
        for &doc in order {
            if window.len >= size || candidates >= WINDOW_CANDIDATES {
                break;
            }
            window.len += 1;
            if center[doc as usize] != NOBODY || likely.contains(&doc) {
                continue;
            }
            let before = effort;
            let others = self.near.candidates(doc, Wanted::All, &mut effort);
            candidates += others.len();
            likely.extend(others.iter().copied().filter(|&other| self.near.probably_matches(doc, other)));
            window.tasks.push(Task { doc, others });
            window.efforts.push((before, effort));
        }
        window
    }
}

pub(crate) const NOBODY: u32 = u32::MAX;

/// Texts that are asked at once because they may be centers.
#[derive(Default)]
struct Window {
    /// How many texts it spans, asked or not.
    len: usize,
    tasks: Vec<Task>,
    /// Before and after each task, if all before it are centers.
    efforts: Vec<(Effort, Effort)>,
}
