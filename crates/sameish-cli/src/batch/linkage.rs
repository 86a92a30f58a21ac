//! Who belongs together? Matches become clusters, by each of the linkages.

use super::corpus::Corpus;
use super::judging::Found;
use super::matches::{Asked, Matcher, NOBODY};
use crate::exit::Failure;
use rayon::prelude::*;
use sameish::{
    DocNumber, Effort, Facts, Fingerprint, Linkage, OnlineClusters, Templates, WordFrequencies, components,
    greedy_stars,
};
use std::collections::VecDeque;

/// All documents in clusters.
pub(crate) struct Clusters {
    /// The documents of all clusters, one cluster behind the other, each in order: its center first.
    members: Vec<u32>,
    ends: Vec<usize>,
    /// How many matches between clusters were cut.
    pub(crate) cut: u64,
    pub(crate) effort: Effort,
}

impl Clusters {
    /// Groups all documents, by the linkage of the settings.
    pub(crate) fn new(corpus: &Corpus, mut progress: impl FnMut(usize)) -> Result<Clusters, Failure> {
        let matching = &corpus.engine.config().matching;
        if matching.linkage == Linkage::Greedy && by_distance(corpus) {
            return Ok(Clusters::of(corpus, &near_the_newest(corpus)?, 0, Effort::default()));
        }
        let mut matcher = Matcher::new(corpus, joining_asks_for_facts(corpus))?;
        let (root, cut) = match matching.linkage {
            Linkage::Greedy | Linkage::Cohesive => matcher.stars(&mut progress)?,
            Linkage::Components => (connected(&mut matcher, &mut progress)?, 0),
            Linkage::Online => (as_they_came(&mut matcher, &mut progress)?, 0),
        };
        Ok(Clusters::of(corpus, &root, cut, matcher.effort))
    }

    /// Clusters of texts that have the same root, in the order of their first documents; whoever has none is left out.
    fn of(corpus: &Corpus, root: &[u32], cut: u64, effort: Effort) -> Clusters {
        let root = |doc: u32| root[corpus.leader[doc as usize] as usize];
        let placed = || corpus.order.iter().copied().filter(|&doc| corpus.counts(doc) && root(doc) != NOBODY);
        let (mut number, mut sizes) = (vec![NOBODY; corpus.docs.len()], Vec::new());
        for doc in placed() {
            let number = &mut number[root(doc) as usize];
            if *number == NOBODY {
                *number = sizes.len() as u32;
                sizes.push(0usize);
            }
            sizes[*number as usize] += 1;
        }
        let ends: Vec<usize> = sizes
            .iter()
            .scan(0, |end, size| {
                *end += size;
                Some(*end)
            })
            .collect();
        let mut next: Vec<usize> = ends.iter().zip(&sizes).map(|(end, size)| end - size).collect();
        let mut members = vec![0; ends.last().copied().unwrap_or(0)];
        for doc in placed() {
            let at = &mut next[number[root(doc) as usize] as usize];
            members[*at] = doc;
            *at += 1;
        }
        Clusters { members, ends, cut, effort }
    }

    pub(crate) fn len(&self) -> usize {
        self.ends.len()
    }

    /// The documents of a cluster, the center first.
    pub(crate) fn members(&self, cluster: usize) -> &[u32] {
        let start = if cluster == 0 { 0 } else { self.ends[cluster - 1] };
        &self.members[start..self.ends[cluster]]
    }
}

/// Whether fingerprints alone decide.
pub(crate) fn by_distance(corpus: &Corpus) -> bool {
    let config = corpus.engine.config();
    !config.matching.verify && config.simhash.is_some() && config.minhash.is_none()
}

/// Whether facts decide who is grouped.
fn joining_asks_for_facts(corpus: &Corpus) -> bool {
    let matching = &corpus.engine.config().matching;
    matching.verify && matching.templates == Templates::Keep
}

/// As seed 000 groups: what was taken leaves the index, so that texts near to many centers are met once.
fn near_the_newest(corpus: &Corpus) -> Result<Vec<u32>, Failure> {
    let mut root: Vec<u32> = (0u32..).take(corpus.docs.len()).collect();
    let texts: Vec<u32> = corpus.texts().filter(|&doc| corpus.prints[doc as usize] != 0).collect();
    let prints: Vec<Fingerprint> =
        texts.iter().map(|&doc| Fingerprint::from_u64(corpus.prints[doc as usize])).collect();
    let radius = corpus.engine.config().simhash.as_ref().map_or(0, |simhash| simhash.radius);
    let found = greedy_stars(&prints, radius).map_err(|error| Failure::usage(error.to_string()))?;
    for measured in found {
        let text = |doc: DocNumber| texts[doc.0 as usize];
        let center = text(measured.cluster.center);
        measured.cluster.members.iter().for_each(|&doc| root[text(doc) as usize] = center);
    }
    Ok(root)
}

/// Whatever is connected by matches.
fn connected(matcher: &mut Matcher<'_>, progress: &mut impl FnMut(usize)) -> Result<Vec<u32>, Failure> {
    let corpus = matcher.corpus;
    let (mut texts, mut failed, mut done) = (corpus.texts(), Ok(()), 0);
    let windows = std::iter::from_fn(|| match matcher.earlier(&mut texts) {
        Ok(asked) if asked.is_empty() => None,
        Ok(asked) => {
            done += asked.len();
            progress(done);
            let edges = |Asked { doc, found }: Asked| -> Vec<(DocNumber, DocNumber)> {
                let joined = found.iter().filter(|found| matcher.joins(&found.verdict));
                joined.map(|found| (DocNumber(found.doc), DocNumber(doc))).collect()
            };
            Some(asked.into_iter().flat_map(edges).collect::<Vec<_>>())
        }
        Err(failure) => {
            failed = Err(failure);
            None
        }
    });
    let order: Vec<DocNumber> = corpus.texts().map(DocNumber).collect();
    let clusters = components(&order, windows.flatten());
    failed?;
    let mut root = vec![NOBODY; corpus.docs.len()];
    for cluster in clusters {
        cluster.members.iter().for_each(|doc| root[doc.0 as usize] = cluster.center.0);
    }
    Ok(root)
}

/// Each text joins the cluster of the earlier one that it is most like, as if it had just come. So word frequencies are
/// those of the documents before it, and every text is read once more for them.
fn as_they_came(matcher: &mut Matcher<'_>, progress: &mut impl FnMut(usize)) -> Result<Vec<u32>, Failure> {
    let corpus = matcher.corpus;
    let mut counting = joining_asks_for_facts(corpus).then(|| Counting::new(corpus));
    let mut clusters = OnlineClusters::default();
    let (mut texts, mut root) = (corpus.texts(), vec![NOBODY; corpus.docs.len()]);
    let mut founders: Vec<u32> = Vec::new();
    loop {
        let window = matcher.earlier(&mut texts)?;
        let Some(last) = window.last() else { break };
        progress(last.doc as usize);
        for Asked { doc, mut found } in window {
            if let Some(counting) = &mut counting {
                counting.upto(doc)?;
            }
            if corpus.docs[doc as usize].too_short {
                continue;
            }
            // The most similar first, of equals the one that came first.
            found.sort_by(|a, b| {
                b.verdict.similarity.total_cmp(&a.verdict.similarity).then(a.doc.cmp(&b.doc))
            });
            let mut best = None;
            for found in found {
                if joins(matcher, counting.as_ref(), doc, &found)? {
                    best = Some(DocNumber(found.doc));
                    break;
                }
            }
            let cluster = clusters.add(DocNumber(doc), best).0 as usize;
            if cluster > founders.len() {
                founders.push(doc);
            }
            root[doc as usize] = founders[cluster - 1];
        }
    }
    Ok(root)
}

/// Whether a text may join the cluster of another, by the facts of the documents before it.
fn joins(
    matcher: &mut Matcher<'_>,
    counting: Option<&Counting<'_>>,
    doc: u32,
    found: &Found,
) -> Result<bool, Failure> {
    let Some(Counting { frequencies, .. }) = counting else { return Ok(true) };
    if !found.verdict.verified || found.verdict.similarity == 1.0 {
        return Ok(true);
    }
    let texts = matcher.desk.loaded([doc, found.doc].into_iter())?;
    let verdict =
        found.verdict.with_facts(Some(frequencies), || (texts[&doc].facts(), texts[&found.doc].facts()));
    Ok(matcher.joins(&verdict))
}

/// Word frequencies that grow as documents come.
struct Counting<'a> {
    corpus: &'a Corpus,
    frequencies: WordFrequencies,
    /// The next document that is counted.
    next: u32,
    /// The facts of those from there on that were read.
    ready: VecDeque<Facts>,
}

impl Counting<'_> {
    fn new(corpus: &Corpus) -> Counting<'_> {
        Counting { corpus, frequencies: WordFrequencies::default(), next: 0, ready: VecDeque::new() }
    }

    /// Counts all documents before this one.
    fn upto(&mut self, doc: u32) -> Result<(), Failure> {
        while self.next < doc {
            if self.ready.is_empty() {
                self.read()?;
            }
            self.ready.drain(..1).for_each(|facts| self.frequencies.add(&facts));
            self.next += 1;
        }
        Ok(())
    }

    /// Reads the facts of the next documents, as many as fit.
    fn read(&mut self) -> Result<(), Failure> {
        let (docs, mut bytes) = (&self.corpus.docs[self.next as usize..], 0);
        let fits = docs.iter().take_while(|doc| {
            let before = bytes;
            bytes += 64 + doc.text_bytes as usize;
            before < self.corpus.budget.window()
        });
        let count = fits.count();
        let facts = docs[..count].par_iter().with_min_len(16).map(|doc| {
            let content = self.corpus.fetcher.content(doc)?;
            Ok(Facts::of(&content))
        });
        self.ready = facts.collect::<Result<VecDeque<_>, Failure>>()?;
        Ok(())
    }
}
