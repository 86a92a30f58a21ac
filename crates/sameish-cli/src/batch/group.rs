//! Centers, and what matches them.
//!
//! Documents are taken in order; the first that no center has taken is a center and takes every other such document with a
//! verified match (DESIGN.md, promise 3). Only centers are asked for candidates, so a family of a million near copies is
//! compared a million times and not a million times a million.

use super::held::{Doc, Outlines, Rank, State};
use super::judging::{Known, Loaded};
use super::near::print_index;
use super::tags::Repeats;
use crate::exit::Failure;
use sameish::{Buckets, DocNumber, Fingerprint, Hit, Judge, PrintIndex, TextKey, Verdict, WordFrequencies};
use serde::{Deserialize, Serialize};
use std::cmp::Ordering;
use std::collections::{HashMap, HashSet};

/// Most documents of a bucket that are looked at for one center before it is asked whether going on pays.
const SCANNED: usize = 2_000;
/// In larger buckets nobody looks for chains.
const HOT: usize = 64;
/// Candidates that a center is compared with before it is asked whether going on pays; twice as many each time it does. So a
/// document that matches costs two comparisons at most, and a center this many besides.
const AT_ONCE: usize = 60;
/// The most at a time.
const MOST_AT_ONCE: usize = 4_096;
/// Most centers of a window.
const WINDOW: usize = 512;
/// Documents of other clusters that a center is compared with, to count chains.
const CHAINS: usize = 8;
const NOBODY: u32 = u32::MAX;

/// How documents are grouped.
pub(crate) struct Grouper<'a> {
    pub(crate) known: Known<'a>,
    /// Who meets in a bucket is a candidate if their outlines are near.
    pub(crate) outlines: &'a Outlines,
    pub(crate) frequencies: Option<&'a WordFrequencies>,
    /// Whether forms with other facts are kept apart.
    pub(crate) keep_templates: bool,
    /// Documents before this one are an existing corpus: all of them are centers.
    pub(crate) against: u32,
    /// Whether similarities below the threshold are wanted too.
    pub(crate) histogram: bool,
    /// Bytes of text that may be loaded at once.
    pub(crate) window_bytes: usize,
}

/// Who belongs to whom.
pub(crate) struct Grouping {
    /// The center of each document: itself where it is one.
    pub(crate) center: Vec<u32>,
    /// To the center.
    pub(crate) similarity: Vec<f32>,
    /// Whether that was seen in the texts themselves.
    pub(crate) verified: Vec<bool>,
    pub(crate) counts: GroupCounts,
    /// Similarities of compared pairs, in hundredths; below the threshold only where asked for.
    pub(crate) histogram: Vec<u64>,
    /// Pairs that match in form and not in facts.
    pub(crate) templates: Vec<(u32, u32, f32)>,
}

#[derive(Clone, Copy, Debug, Default, Serialize, Deserialize)]
pub(crate) struct GroupCounts {
    pub(crate) candidates: u64,
    pub(crate) verified: u64,
    pub(crate) caps_hit: u64,
    pub(crate) chains_cut: u64,
    pub(crate) templates: u64,
}

/// Template pairs that are remembered, to show.
const SHOWN: usize = 64;

/// Documents by rank, equal ones as they came; those of an existing corpus first.
pub(crate) fn order(docs: usize, ranks: &[Rank], against: u32) -> Vec<u32> {
    let mut order: Vec<u32> = (0..docs as u32).collect();
    if !ranks.is_empty() {
        let rank = |doc: &u32| &ranks[*doc as usize];
        order[against as usize..].sort_by(|a, b| rank(a).partial_cmp(rank(b)).unwrap_or(Ordering::Equal));
    }
    order
}

/// For each document the first in order with the same text and the same `mark`, which stands for its sketches: itself where
/// there is none before it.
pub(crate) fn leaders(docs: &[Doc], keys: &[TextKey], mark: impl Fn(u32) -> u64, order: &[u32]) -> Vec<u32> {
    let mut leader: Vec<u32> = (0..docs.len() as u32).collect();
    let takes_part = |doc: &u32| matches!(docs[*doc as usize].state, State::Long | State::Short);
    // Keys are hashes, and most occur once.
    let (mut repeats, short) =
        (Repeats::for_rows(docs.len()), |doc: u32| keys[doc as usize].as_u128() as u32);
    order.iter().filter(|doc| takes_part(doc)).for_each(|&doc| repeats.add(short(doc)));
    let may_repeat = |(_, doc): &(u32, u32)| takes_part(doc) && repeats.may_repeat(short(*doc));
    let mut sorted: Vec<(u32, u32)> = (0u32..).zip(order.iter().copied()).filter(may_repeat).collect();
    let key = |doc: u32| (keys[doc as usize], docs[doc as usize].state == State::Short, mark(doc));
    sorted.sort_unstable_by_key(|&(place, doc)| (key(doc), place));
    let sorted: Vec<u32> = sorted.into_iter().map(|(_, doc)| doc).collect();
    for same in sorted.chunk_by(|&a, &b| key(a) == key(b)) {
        same.iter().for_each(|&doc| leader[doc as usize] = same[0]);
    }
    leader
}

impl Grouping {
    /// Nobody has a center yet.
    pub(crate) fn new(known: &Known<'_>) -> Grouping {
        let count = known.docs.len();
        Grouping {
            center: vec![NOBODY; count],
            similarity: vec![1.0; count],
            verified: vec![known.engine.config().matching.verify; count],
            counts: GroupCounts::default(),
            histogram: vec![0; 101],
            templates: Vec::new(),
        }
    }

    pub(crate) fn is_free(&self, doc: u32) -> bool {
        self.center[doc as usize] == NOBODY
    }

    /// Gives a document its center.
    pub(crate) fn join(&mut self, doc: u32, center: u32, verdict: &Verdict) {
        self.center[doc as usize] = center;
        self.similarity[doc as usize] = verdict.similarity as f32;
        self.verified[doc as usize] = verdict.verified;
    }

    /// Copies go where the first of them went. In order, because one of them may be the center.
    pub(crate) fn follow(&mut self, order: &[u32], leader: &[u32], against: u32) {
        for &doc in order.iter().filter(|&&doc| doc >= against && leader[doc as usize] != doc) {
            let (doc, first) = (doc as usize, leader[doc as usize] as usize);
            self.center[doc] = self.center[first];
            self.similarity[doc] = self.similarity[first];
            self.verified[doc] = self.verified[first];
        }
    }
}

/// A center and the documents it is compared with.
struct Task {
    center: u32,
    candidates: Vec<u32>,
    /// Members of other clusters.
    taken: Vec<u32>,
    /// Whether there are others: more of them, or a bucket that was not looked at as a whole.
    more: bool,
}

impl Grouper<'_> {
    /// Groups all documents.
    pub(crate) fn run(
        &self,
        order: &[u32],
        leader: &[u32],
        buckets: &Buckets,
        mut progress: impl FnMut(usize),
    ) -> Result<Grouping, Failure> {
        let mut state = Progress::new(self, leader, buckets)?;
        for doc in 0..self.against {
            state.grouping.center[doc as usize] = doc;
        }
        let mut at = 0;
        while at < order.len() {
            let tasks = self.window(order, leader, &mut at, &mut state);
            self.compare(tasks, &mut state)?;
            progress(at);
        }
        let mut grouping = state.grouping;
        grouping.follow(order, leader, self.against);
        Ok(grouping)
    }

    /// The next centers with their candidates, as many as fit.
    fn window(&self, order: &[u32], leader: &[u32], at: &mut usize, state: &mut Progress<'_>) -> Vec<Task> {
        let (mut tasks, mut bytes) = (Vec::new(), 0);
        while *at < order.len() && tasks.len() < WINDOW && bytes < self.window_bytes {
            let doc = order[*at];
            *at += 1;
            if leader[doc as usize] != doc {
                continue;
            }
            if !state.grouping.is_free(doc) && doc >= self.against {
                continue;
            }
            if !state.buckets.any(DocNumber(doc)) && self.print(doc).is_none() {
                state.grouping.center[doc as usize] = doc;
                continue;
            }
            let caps_hit = state.grouping.counts.caps_hit;
            let task = state.task(doc, AT_ONCE, |_| true);
            // Which candidates are left out must not depend on where windows begin, so such a center goes alone.
            let alone = task.more;
            if alone && !tasks.is_empty() {
                state.grouping.counts.caps_hit = caps_hit;
                *at -= 1;
                break;
            }
            bytes += self.bytes(&task);
            tasks.push(task);
            if alone {
                break;
            }
        }
        tasks
    }

    /// The fingerprint of a document that has one.
    fn print(&self, doc: u32) -> Option<Fingerprint> {
        let print = self.known.prints.get(doc as usize).filter(|print| **print != 0);
        print.map(|&print| Fingerprint::from_u64(print))
    }

    fn bytes(&self, task: &Task) -> usize {
        let bytes = |doc: &u32| self.known.docs[*doc as usize].text_bytes as usize;
        bytes(&task.center) + task.candidates.iter().chain(&task.taken).map(bytes).sum::<usize>()
    }

    fn compare(&self, tasks: Vec<Task>, state: &mut Progress<'_>) -> Result<(), Failure> {
        let mut needed: Vec<u32> = tasks
            .iter()
            .filter(|task| !(task.candidates.is_empty() && task.taken.is_empty()))
            .flat_map(|task| task.candidates.iter().chain(&task.taken).chain([&task.center]).copied())
            .collect();
        needed.sort_unstable();
        needed.dedup();
        let mut loaded = self.load(&needed)?;
        for mut task in tasks {
            let center = task.center;
            if state.grouping.is_free(center) {
                state.grouping.center[center as usize] = center;
                state.leave_index(center);
            } else if center >= self.against {
                continue;
            }
            // Anew, because centers before it in the window may have taken some.
            task.taken = state.taken(center);
            let missing: Vec<u32> =
                task.taken.iter().copied().filter(|doc| !loaded.contains_key(doc)).collect();
            loaded.extend(self.load(&missing)?);
            let (mut compared, mut most) = (HashSet::new(), AT_ONCE);
            loop {
                let (tried, matched) = self.compare_one(&task, &loaded, state);
                // Candidates that were left out are gone on with while it is worth it.
                if !task.more || matched * 2 < tried || tried == 0 {
                    state.grouping.counts.caps_hit += u64::from(task.more && tried > 0);
                    break;
                }
                compared.extend(task.candidates);
                most = (most * 2).min(MOST_AT_ONCE);
                task = state.task(center, most, |doc| !compared.contains(&doc));
                task.taken.clear();
                // What other centers of the window are waiting for stays.
                loaded.retain(|doc, _| needed.binary_search(doc).is_ok());
                let missing: Vec<u32> =
                    task.candidates.iter().copied().filter(|doc| !loaded.contains_key(doc)).collect();
                loaded.extend(self.load(&missing)?);
            }
        }
        Ok(())
    }

    /// Compares a center with its candidates; gives how many there were and how many matched.
    fn compare_one(
        &self,
        task: &Task,
        loaded: &HashMap<u32, Loaded>,
        state: &mut Progress<'_>,
    ) -> (usize, usize) {
        let Some(center) = loaded.get(&task.center) else { return (0, 0) };
        let (mut tried, mut matched) = (0, 0);
        for &doc in &task.candidates {
            let Some(other) = loaded.get(&doc).filter(|_| state.grouping.is_free(doc)) else { continue };
            tried += 1;
            state.grouping.counts.candidates += 1;
            if let Some(verdict) = self.matches((task.center, center), (doc, other), &mut state.grouping) {
                matched += 1;
                state.grouping.join(doc, task.center, &verdict);
                state.leave_index(doc);
            }
        }
        let (judge, side) = (self.judge(), self.known.side(task.center, Some(center)));
        for &doc in &task.taken {
            let similar = |other: &Loaded| judge.judge(&side, &self.known.side(doc, Some(other)));
            let cut = loaded.get(&doc).and_then(similar).is_some();
            state.grouping.counts.chains_cut += u64::from(cut);
        }
        (tried, matched)
    }

    fn judge(&self) -> Judge {
        Judge::new(self.known.engine.config())
    }

    fn matches(&self, a: (u32, &Loaded), b: (u32, &Loaded), grouping: &mut Grouping) -> Option<Verdict> {
        let judge = self.judge();
        let [x, y] = [a, b].map(|(doc, loaded)| self.known.side(doc, Some(loaded)));
        let verdict = match self.histogram {
            false => judge.judge(&x, &y),
            true => {
                let verdict = judge.with_threshold(0.0).judge(&x, &y)?;
                grouping.histogram[(verdict.similarity * 100.0) as usize] += 1;
                Some(verdict).filter(|verdict| !verdict.verified || verdict.similarity >= judge.threshold())
            }
        }?;
        grouping.counts.verified += u64::from(verdict.verified);
        if !self.keep_templates {
            return Some(verdict);
        }
        let verdict = verdict.with_facts(self.frequencies, || (a.1.facts(), b.1.facts()));
        if !verdict.template {
            return Some(verdict);
        }
        grouping.counts.templates += 1;
        if grouping.templates.len() < SHOWN {
            grouping.templates.push((a.0, b.0, verdict.similarity as f32));
        }
        None
    }

    fn load(&self, docs: &[u32]) -> Result<HashMap<u32, Loaded>, Failure> {
        self.known.load(docs).map(|list| list.into_iter().collect())
    }
}

/// What changes while documents are grouped.
struct Progress<'a> {
    grouper: &'a Grouper<'a>,
    buckets: &'a Buckets,
    grouping: Grouping,
    /// Members of each bucket before this place have a center.
    cursor: Vec<u32>,
    /// For which question a document was last seen.
    seen: Vec<u32>,
    questions: u32,
    /// Fingerprints of those who have no center.
    prints: Option<PrintIndex>,
    hits: Vec<Hit>,
}

impl<'a> Progress<'a> {
    fn new(grouper: &'a Grouper<'a>, leader: &[u32], buckets: &'a Buckets) -> Result<Progress<'a>, Failure> {
        let (known, config) = (&grouper.known, grouper.known.engine.config());
        let own = (0u32..)
            .zip(known.prints)
            .filter(|(doc, _)| *doc >= grouper.against && leader[*doc as usize] == *doc);
        Ok(Progress {
            buckets,
            grouping: Grouping::new(known),
            cursor: vec![0; buckets.len()],
            seen: vec![0; known.docs.len()],
            questions: 0,
            prints: print_index(config, own.map(|(doc, print)| (doc, *print, known.is_signed(doc))))?,
            hits: Vec::new(),
            grouper,
        })
    }

    /// A document that has a center now is found no more by its fingerprint.
    fn leave_index(&mut self, doc: u32) {
        if let (Some(prints), Some(print)) = (&mut self.prints, self.grouper.print(doc)) {
            prints.remove(print, DocNumber(doc), self.grouper.known.is_signed(doc));
        }
    }

    /// How far two documents are apart as far as signatures tell, if they may match.
    fn near(&self, a: u32, b: u32) -> Option<u32> {
        let known = &self.grouper.known;
        if known.is_signed(a) && known.is_signed(b) { self.grouper.outlines.near(a, b) } else { Some(0) }
    }

    /// Those who share a bucket with the center, pass the screen, and for whom `takes` says so: at most `most`, the ones
    /// with the nearest outlines, because they are likely to match.
    fn task(&mut self, center: u32, most: usize, takes: impl Fn(u32) -> bool) -> Task {
        let (mut candidates, mut more) = (Vec::new(), false);
        self.questions += 1;
        for bucket in self.buckets.of(DocNumber(center)) {
            let members = self.buckets.members(bucket);
            let cursor = &mut self.cursor[bucket as usize];
            while members
                .get(*cursor as usize)
                .is_some_and(|&doc| self.grouping.center[doc as usize] != NOBODY)
            {
                *cursor += 1;
            }
            let rest = &members[*cursor as usize..];
            more |= rest.len() > SCANNED;
            for &doc in rest.iter().take(SCANNED) {
                if doc == center || self.seen[doc as usize] == self.questions {
                    continue;
                }
                self.seen[doc as usize] = self.questions;
                if self.grouping.is_free(doc) && takes(doc) {
                    candidates.extend(self.near(center, doc).map(|distance| (distance, doc)));
                }
            }
        }
        if let (Some(prints), Some(print)) = (&self.prints, self.grouper.print(center)) {
            prints.find(print, self.grouper.known.is_signed(center), &mut self.hits);
            more |= self.hits.len() > SCANNED;
            for &Hit { doc: DocNumber(doc), .. } in self.hits.iter().take(SCANNED) {
                if doc == center
                    || std::mem::replace(&mut self.seen[doc as usize], self.questions) == self.questions
                {
                    continue;
                }
                if self.grouping.is_free(doc) && takes(doc) {
                    candidates.extend(self.near(center, doc).map(|distance| (distance, doc)));
                }
            }
        }
        if candidates.len() > most {
            more = true;
            candidates.select_nth_unstable(most);
            candidates.truncate(most);
        }
        let mut candidates: Vec<u32> = candidates.into_iter().map(|(_, doc)| doc).collect();
        candidates.sort_unstable();
        Task { center, candidates, taken: self.taken(center), more }
    }

    /// Members of other clusters that share a bucket with the center.
    fn taken(&self, center: u32) -> Vec<u32> {
        let mut taken = Vec::new();
        for bucket in self.buckets.of(DocNumber(center)) {
            let members = self.buckets.members(bucket);
            if members.len() <= HOT && taken.len() < CHAINS {
                let others = members.iter().copied().filter(|&doc| {
                    let other = self.grouping.center[doc as usize];
                    other != NOBODY && other != center && other != doc && self.near(center, doc).is_some()
                });
                taken.extend(others.take(CHAINS));
            }
        }
        taken.sort_unstable();
        taken.dedup();
        taken.truncate(CHAINS);
        taken
    }
}
