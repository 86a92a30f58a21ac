//! Step **cluster**: clusters of all documents by each linkage.

use crate::compare::WithFacts;
use crate::error::Result;
use crate::pairs::{EarlierMatches, Matches};
use crate::run_log::{Monitor, Progress, RunLog};
use crate::signed::IndexedCorpus;
use crate::stars::{ClusterCounts, NO_CENTER, WithHistogram, cluster_stars};
use sameish::cluster::{OnlineClusters, components};
use sameish::config::{Linkage, Templates};
use sameish::index::DocNumber;

/// All documents in clusters.
pub struct Clusters {
    /// Documents of all clusters one after the other, each in order: its center first.
    members: Vec<u32>,
    ends: Vec<usize>,
    /// Counts of the clustering.
    pub counts: ClusterCounts,
}

impl Clusters {
    /// Clusters all documents by the linkage of the configuration. In online clustering, each text that is too short is a
    /// cluster of its own.
    pub(crate) fn new(corpus: &IndexedCorpus<'_>, log: &mut RunLog<dyn Monitor + '_>) -> Result<Clusters> {
        let linkage = corpus.analyzer.config().matching.linkage;
        let (roots, counts) = match linkage {
            Linkage::Greedy | Linkage::Cohesive => {
                let stars = cluster_stars(corpus, WithHistogram::No, log)?;
                (stars.center, stars.counts)
            }
            Linkage::Components => connected(corpus, log)?,
            Linkage::Online => online(corpus, log)?,
        };
        let is_alone = |doc: u32| linkage == Linkage::Online && corpus.signed.rows[doc as usize].too_short;
        let root = |doc: u32| {
            if is_alone(doc) { doc } else { roots[corpus.leader[doc as usize] as usize] }
        };
        Ok(Clusters::collect(corpus, root, counts))
    }

    /// Collects the documents with the same root, in the order of their first documents. Documents without a root are left
    /// out.
    fn collect(corpus: &IndexedCorpus<'_>, root: impl Fn(u32) -> u32, counts: ClusterCounts) -> Clusters {
        let is_placed = |doc: &u32| corpus.signed.is_current(*doc) && root(*doc) != NO_CENTER;
        let placed = || corpus.signed.order.iter().copied().filter(is_placed);
        let mut number = vec![NO_CENTER; corpus.signed.len()];
        let mut sizes: Vec<usize> = Vec::new();
        for doc in placed() {
            let number = &mut number[root(doc) as usize];
            if *number == NO_CENTER {
                *number = sizes.len() as u32;
                sizes.push(0);
            }
            sizes[*number as usize] += 1;
        }
        let mut next: Vec<usize> = Vec::with_capacity(sizes.len());
        let mut ends: Vec<usize> = Vec::with_capacity(sizes.len());
        let mut end = 0;
        for size in sizes {
            next.push(end);
            end += size;
            ends.push(end);
        }
        let mut members = vec![0; end];
        for doc in placed() {
            let at = &mut next[number[root(doc) as usize] as usize];
            members[*at] = doc;
            *at += 1;
        }
        Clusters { members, ends, counts }
    }

    /// Returns the number of clusters.
    pub fn len(&self) -> usize {
        self.ends.len()
    }

    /// Returns `true` if there are no clusters.
    pub fn is_empty(&self) -> bool {
        self.ends.is_empty()
    }

    /// Returns the documents of a cluster, its center first.
    pub fn members(&self, cluster: usize) -> &[u32] {
        let start = if cluster == 0 { 0 } else { self.ends[cluster - 1] };
        &self.members[start..self.ends[cluster]]
    }
}

/// Returns `WithFacts::Yes` if facts decide which documents are clustered.
fn facts_decide(corpus: &IndexedCorpus<'_>) -> WithFacts {
    let matching = &corpus.analyzer.config().matching;
    match matching.verify && matching.templates == Templates::Keep {
        true => WithFacts::Yes,
        false => WithFacts::No,
    }
}

fn counts(finder: &EarlierMatches<'_>) -> ClusterCounts {
    let effort = finder.effort;
    ClusterCounts { candidates: effort.candidates, caps_hit: effort.capped, ..ClusterCounts::default() }
}

/// Clusters documents that are connected by matches. Returns the root of each document.
fn connected(
    corpus: &IndexedCorpus<'_>,
    log: &mut RunLog<dyn Monitor + '_>,
) -> Result<(Vec<u32>, ClusterCounts)> {
    let mut finder = EarlierMatches::new(corpus, facts_decide(corpus))?;
    let mut texts = corpus.distinct();
    let mut failed: Result<()> = Ok(());
    let mut done = 0;
    let mut next_edges = || -> Result<Option<Vec<(DocNumber, DocNumber)>>> {
        let window = finder.next(&mut texts)?;
        if window.is_empty() {
            return Ok(None);
        }
        done += window.len();
        log.progress(Progress::Comparing { done, of: corpus.signed.len() })?;
        let mut edges = Vec::new();
        for Matches { doc, matches } in &window {
            let joined = matches.iter().filter(|found| finder.joins(&found.verdict));
            edges.extend(joined.map(|found| (DocNumber(found.doc), DocNumber(*doc))));
        }
        Ok(Some(edges))
    };
    let windows = std::iter::from_fn(|| {
        next_edges().unwrap_or_else(|error| {
            failed = Err(error);
            None
        })
    });
    let order: Vec<DocNumber> = corpus.distinct().map(DocNumber).collect();
    let clusters = components(&order, windows.flatten());
    failed?;
    let mut root = vec![NO_CENTER; corpus.signed.len()];
    for cluster in clusters {
        cluster.members.iter().for_each(|doc| root[doc.0 as usize] = cluster.center.0);
    }
    Ok((root, counts(&finder)))
}

/// Assigns each text to the cluster of the most similar earlier text that it matches. Returns the root of each document;
/// texts that are too short have none.
fn online(
    corpus: &IndexedCorpus<'_>,
    log: &mut RunLog<dyn Monitor + '_>,
) -> Result<(Vec<u32>, ClusterCounts)> {
    let mut finder = EarlierMatches::new(corpus, facts_decide(corpus))?;
    let mut clusters = OnlineClusters::default();
    let mut texts = corpus.distinct();
    let mut root = vec![NO_CENTER; corpus.signed.len()];
    let mut first_documents: Vec<u32> = Vec::new();
    loop {
        let window = finder.next(&mut texts)?;
        let Some(last) = window.last() else { return Ok((root, counts(&finder))) };
        log.progress(Progress::Comparing { done: last.doc as usize, of: corpus.signed.len() })?;
        for Matches { doc, matches } in window {
            let is_short = |doc: u32| corpus.signed.rows[doc as usize].too_short;
            if is_short(doc) {
                continue;
            }
            // The best match; of those with the same rank, the first.
            let joined = matches.iter().filter(|found| finder.joins(&found.verdict) && !is_short(found.doc));
            let best = joined.min_by(|a, b| a.verdict.cmp_rank(&b.verdict).then(a.doc.cmp(&b.doc)));
            let cluster = clusters.add(DocNumber(doc), best.map(|best| DocNumber(best.doc))).0 as usize;
            if cluster > first_documents.len() {
                first_documents.push(doc);
            }
            root[doc as usize] = first_documents[cluster - 1];
        }
    }
}
