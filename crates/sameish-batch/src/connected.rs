//! Connected components of a corpus.
//!
//! If the texts of a crowd match each other, the number of their matches grows with the square of the size of the crowd. Each text
//! is therefore first compared with a few *hubs*. If a text matches several hubs, the texts that are not connected with it are compared
//! with it. The texts that are connected then form the main part of the crowd, and only the remaining texts are compared with the
//! whole crowd.

use crate::candidates::Indexes;
use crate::compare::{Comparisons, WithFacts, by_distance};
use crate::crowds::CrowdFacts;
use crate::error::Result;
use crate::pairs::{EarlierMatches, Sought};
use crate::ranked::Pending;
use crate::run_log::{Monitor, Progress, RunLog};
use crate::signed::IndexedCorpus;
use crate::stars::{ClusterCounts, NO_CENTER};
use sameish::cluster::Forest;

/// Maximum number of hubs of a crowd.
const HUBS: usize = 8;
/// Number of texts that are compared with the first hub, before others are chosen. Each further window is twice as large.
const FIRST_WINDOW: usize = 64;
/// Maximum number of texts that are compared with hubs at once.
const LARGEST_WINDOW: usize = 4_096;

/// Clusters documents that are connected by matches. Returns the first text of the cluster of each text.
pub(crate) fn connected(
    corpus: &IndexedCorpus<'_>,
    log: &mut RunLog<dyn Monitor + '_>,
) -> Result<(Vec<u32>, ClusterCounts)> {
    if by_distance(&corpus.analyzer) {
        return connected_by_distance(corpus, log);
    }
    let mut finder = EarlierMatches::new(corpus, Sought::Joins)?;
    let mut forest = Forest::new(corpus.signed.len());
    let main = main_parts(&mut finder, &mut forest)?;
    let is_main = |doc: u32| main.get(doc as usize).is_some_and(|&is_main| is_main);
    let mut texts = corpus.distinct();
    let mut done = 0;
    loop {
        // The other texts are compared with those of the main part, before and after them.
        let among = |doc: u32, other: u32| other < doc || is_main(other);
        let mut window = finder.next_pending(&mut texts, |doc| !is_main(doc), among)?;
        if window.is_empty() {
            return Ok((first_texts(corpus, &mut forest), finder.counts()));
        }
        done += window.len();
        log.progress(Progress::Comparing { done, of: corpus.signed.len() })?;
        window.iter_mut().for_each(|Pending { doc, rest }| {
            let root = forest.root(*doc);
            rest.retain(|candidate| forest.root(candidate.doc) != root);
        });
        finder.in_rounds(window, |doc, matches, rest| {
            matches.iter().for_each(|found| forest.join(doc, found.doc));
            let root = forest.root(doc);
            rest.retain(|candidate| forest.root(candidate.doc) != root);
        })?;
    }
}

/// Clusters documents by their fingerprints alone. Each document is removed from the index when it is found, so that it is found
/// once, however many others are near it.
fn connected_by_distance(
    corpus: &IndexedCorpus<'_>,
    log: &mut RunLog<dyn Monitor + '_>,
) -> Result<(Vec<u32>, ClusterCounts)> {
    let mut indexes = Indexes::new(corpus, 0, CrowdFacts::filter(WithFacts::No))?;
    let mut forest = Forest::new(corpus.signed.len());
    let mut is_found = vec![false; corpus.signed.len()];
    let mut counts = ClusterCounts::default();
    let mut near: Vec<u32> = Vec::new();
    for (done, first) in corpus.distinct().enumerate() {
        if std::mem::replace(&mut is_found[first as usize], true) {
            continue;
        }
        log.progress(Progress::Comparing { done, of: corpus.signed.len() })?;
        indexes.remove(first);
        near.push(first);
        while let Some(doc) = near.pop() {
            corpus.cancellation.check()?;
            let before = near.len();
            indexes.near(doc, usize::MAX, |other| near.push(other.doc));
            for &other in &near[before..] {
                is_found[other as usize] = true;
                indexes.remove(other);
                forest.join(first, other);
            }
            counts.candidates += (near.len() - before) as u64;
        }
    }
    counts.joined = counts.candidates;
    Ok((first_texts(corpus, &mut forest), counts))
}

/// Compares the texts of each crowd with its hubs. Returns `true` for each text of the main part of a crowd; nothing if there are
/// no crowds.
fn main_parts(finder: &mut EarlierMatches<'_>, forest: &mut Forest) -> Result<Vec<bool>> {
    let corpus = finder.corpus;
    let mut main = Vec::new();
    for crowd in &corpus.crowded.groups {
        let common = |doc: &&u32| !finder.candidates.crowds().is_selective(**doc);
        let texts: Vec<u32> = crowd.iter().filter(common).copied().collect();
        let Some(&first) = texts.first() else { continue };
        main.resize(corpus.signed.len(), false);
        compare_with_hubs(finder, &texts, forest)?;
        let root = forest.root(first);
        let mut sizes: std::collections::HashMap<u32, usize> = std::collections::HashMap::new();
        texts.iter().for_each(|&doc| *sizes.entry(forest.root(doc)).or_default() += 1);
        let largest = sizes.iter().map(|(&root, &size)| (size, std::cmp::Reverse(root))).max();
        let root = largest.map_or(root, |(_, root)| root.0);
        texts.iter().for_each(|&doc| main[doc as usize] = forest.root(doc) == root);
    }
    Ok(main)
}

fn compare_with_hubs(finder: &mut EarlierMatches<'_>, texts: &[u32], forest: &mut Forest) -> Result<()> {
    let mut hubs = vec![texts[0]];
    let mut rest = &texts[1..];
    let mut size = FIRST_WINDOW;
    // The number of hubs that the text with most matches connects, and this text.
    let mut center = (1, texts[0]);
    while !rest.is_empty() {
        let (now, later) = rest.split_at(size.min(rest.len()));
        let tasks: Vec<Comparisons> = now.iter().map(|&doc| near(finder, doc, &hubs)).collect();
        for (task, found) in tasks.iter().zip(finder.judge(&tasks)?) {
            found.iter().for_each(|found| forest.join(task.doc, found.doc));
            if found.is_empty() && hubs.len() < HUBS {
                hubs.push(task.doc);
            }
            if found.len() > center.0 {
                center = (found.len(), task.doc);
            }
        }
        rest = later;
        size = (size * 2).min(LARGEST_WINDOW);
    }
    match center {
        (1, _) => Ok(()),
        (_, center) => compare_with_center(finder, center, texts, forest),
    }
}

/// Compares a text that connects hubs with those that it is not connected with: copies that do not match each other may all match
/// the text that they were made of.
fn compare_with_center(
    finder: &mut EarlierMatches<'_>,
    center: u32,
    texts: &[u32],
    forest: &mut Forest,
) -> Result<()> {
    for texts in texts.chunks(LARGEST_WINDOW) {
        let root = forest.root(center);
        let others = texts.iter().filter(|&&doc| forest.root(doc) != root);
        let tasks: Vec<Comparisons> = others.map(|&doc| near(finder, doc, &[center])).collect();
        for (task, found) in tasks.iter().zip(finder.judge(&tasks)?) {
            found.iter().for_each(|found| forest.join(task.doc, found.doc));
        }
    }
    Ok(())
}

/// Returns the hubs that a text may match.
fn near(finder: &EarlierMatches<'_>, doc: u32, hubs: &[u32]) -> Comparisons {
    let bound = |&hub: &u32| finder.candidates.crowds().bound(doc, hub);
    Comparisons::new(doc, hubs.iter().filter_map(bound).collect())
}

/// Returns the first text of the component of each text, in order.
fn first_texts(corpus: &IndexedCorpus<'_>, forest: &mut Forest) -> Vec<u32> {
    let mut first = vec![NO_CENTER; corpus.signed.len()];
    let mut roots = vec![NO_CENTER; corpus.signed.len()];
    for doc in corpus.distinct() {
        let first = &mut first[forest.root(doc) as usize];
        if *first == NO_CENTER {
            *first = doc;
        }
        roots[doc as usize] = *first;
    }
    roots
}
