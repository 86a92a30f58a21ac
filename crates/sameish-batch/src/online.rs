//! Online clusters of a corpus: each text joins the cluster of the most similar earlier text that it matches.

use crate::compare::{DocMatch, by_distance};
use crate::error::Result;
use crate::pairs::{EarlierMatches, Sought};
use crate::ranked::Ranked;
use crate::run_log::{Monitor, Progress, RunLog};
use crate::signed::IndexedCorpus;
use crate::stars::{ClusterCounts, NO_CENTER};
use sameish::Fingerprint;
use sameish::cluster::OnlineClusters;
use sameish::index::{DocNumber, FingerprintIndex, Hit};
use std::collections::HashMap;

/// Number of candidates of a crowd that a text is compared with before it is compared with others.
const PROMISING: usize = 8;

/// Assigns each text to the cluster of its best match. Returns the first text of the cluster of each text; texts that are too
/// short have none.
///
/// In a crowd, a text is first compared with its most promising candidates. Usually one of them is a better match than any other
/// can be.
pub(crate) fn online(
    corpus: &IndexedCorpus<'_>,
    log: &mut RunLog<dyn Monitor + '_>,
) -> Result<(Vec<u32>, ClusterCounts)> {
    if by_distance(&corpus.analyzer) {
        return online_by_distance(corpus, log);
    }
    let mut finder = EarlierMatches::new(corpus, Sought::Joins)?;
    let mut clusters = Online::new(corpus);
    let is_short = |doc: u32| corpus.signed.rows[doc as usize].too_short;
    let mut texts = corpus.distinct().filter(|doc| !is_short(*doc));
    loop {
        let mut last_of: Vec<(u32, Ranked)> = Vec::new();
        let window = finder.next_promising(&mut texts, PROMISING, |doc, last| last_of.push((doc, last)))?;
        let Some(last) = window.last() else { return Ok((clusters.root, finder.counts())) };
        log.progress(Progress::Comparing { done: last.doc as usize, of: corpus.signed.len() })?;
        let docs: Vec<u32> = window.iter().map(|pending| pending.doc).collect();
        let mut best = BestMatches { is_short, best: HashMap::new() };
        finder.in_rounds(window, |doc, matches, rest| best.settle(doc, matches, rest))?;
        // Candidates that are less promising than those that a text was compared with.
        last_of.retain(|(doc, last)| best.may_be_better(*doc, last));
        let last: HashMap<u32, Ranked> = last_of.iter().copied().collect();
        let mut unsettled = last_of.iter().map(|(doc, _)| *doc);
        loop {
            let window = finder.window(&mut unsettled, |candidates, doc| {
                let mut rest = candidates.in_crowd(doc, |other| other < doc);
                rest.retain(|other| last[&doc].cmp_rank(other).is_lt() && best.may_be_better(doc, other));
                (rest, 0)
            })?;
            if window.is_empty() {
                break;
            }
            finder.in_rounds(window, |doc, matches, rest| best.settle(doc, matches, rest))?;
        }
        for doc in docs {
            clusters.add(doc, best.best.get(&doc).map(|best| best.doc));
        }
    }
}

/// Assigns each text to the cluster of the earlier text with the nearest fingerprint, if fingerprints alone decide. Only the first text
/// with each fingerprint is sought, because the others are not nearer.
fn online_by_distance(
    corpus: &IndexedCorpus<'_>,
    log: &mut RunLog<dyn Monitor + '_>,
) -> Result<(Vec<u32>, ClusterCounts)> {
    let signed = &corpus.signed;
    let texts = || corpus.distinct().filter(|&doc| !signed.rows[doc as usize].too_short);
    let mut first: HashMap<u64, u32> = HashMap::new();
    for doc in texts() {
        first.entry(signed.fingerprints[doc as usize]).or_insert(doc);
    }
    first.remove(&0);
    let mut index = FingerprintIndex::new(corpus.analyzer.config(), first.len())?;
    let entry = |(&print, &doc): (&u64, &u32)| (Fingerprint::from_u64(print), DocNumber(doc), false);
    index.iter_mut().for_each(|index| index.insert_all(first.iter().map(entry)));
    let mut clusters = Online::new(corpus);
    let mut counts = ClusterCounts::default();
    let mut hits: Vec<Hit> = Vec::new();
    for (done, doc) in texts().enumerate() {
        if done % PROGRESS == 0 {
            corpus.cancellation.check()?;
            log.progress(Progress::Comparing { done, of: signed.len() })?;
        }
        let nearest = signed.fingerprint(doc).and_then(|print| {
            let equal = first.get(&print.as_u64()).copied().filter(|&other| other < doc);
            equal.or_else(|| {
                index.as_ref()?.find(print, false, &mut hits);
                // The nearest hits come first and, of equally near ones, the first text.
                hits.iter().map(|hit| hit.doc.0).find(|&other| other < doc)
            })
        });
        counts.candidates += u64::from(nearest.is_some());
        clusters.add(doc, nearest);
    }
    counts.joined = counts.candidates;
    Ok((clusters.root, counts))
}

/// Number of texts after which progress is reported.
const PROGRESS: usize = 1_024;

/// The clusters of the texts so far.
struct Online {
    clusters: OnlineClusters,
    /// First text of each cluster.
    first_texts: Vec<u32>,
    /// First text of the cluster of each text.
    root: Vec<u32>,
}

impl Online {
    fn new(corpus: &IndexedCorpus<'_>) -> Online {
        let root = vec![NO_CENTER; corpus.signed.len()];
        Online { clusters: OnlineClusters::default(), first_texts: Vec::new(), root }
    }

    /// Adds a text to the cluster of another one, or to a new one.
    fn add(&mut self, doc: u32, other: Option<u32>) {
        let cluster = self.clusters.add(DocNumber(doc), other.map(DocNumber)).0 as usize;
        if cluster > self.first_texts.len() {
            self.first_texts.push(doc);
        }
        self.root[doc as usize] = self.first_texts[cluster - 1];
    }
}

/// The best match of each text so far.
struct BestMatches<S> {
    is_short: S,
    best: HashMap<u32, DocMatch>,
}

impl<S: Fn(u32) -> bool> BestMatches<S> {
    /// Adds matches of a text, and removes the candidates that cannot be better.
    fn settle(&mut self, doc: u32, matches: &[DocMatch], rest: &mut Vec<Ranked>) {
        let long = matches.iter().filter(|found| !(self.is_short)(found.doc));
        // Of equally good matches, the first.
        let found = long.copied().chain(self.best.remove(&doc)).min_by(cmp_match);
        self.best.extend(found.map(|found| (doc, found)));
        rest.retain(|candidate| self.may_be_better(doc, candidate));
    }

    fn may_be_better(&self, doc: u32, candidate: &Ranked) -> bool {
        self.best.get(&doc).is_none_or(|best| may_be_better(candidate, best))
    }
}

fn cmp_match(a: &DocMatch, b: &DocMatch) -> std::cmp::Ordering {
    a.verdict.cmp_rank(&b.verdict).then(a.doc.cmp(&b.doc))
}

/// Returns `true` if a candidate may be a better match.
fn may_be_better(candidate: &Ranked, best: &DocMatch) -> bool {
    let bound = candidate.bound;
    let similarity = best.verdict.similarity;
    !best.verdict.verified || bound > similarity || bound == similarity && candidate.doc < best.doc
}
