//! Star clustering of a corpus: the candidate source for [`star_clusters`].

use crate::candidates::Indexes;
use crate::compare::{LoadedText, WithFacts, by_distance, facts_decide};
use crate::crowds::CrowdFacts;
use crate::error::{Error, Result};
use crate::ranked::Ranked;
use crate::recall::{Detection, FoundSums, Recall, Work, expected_matches};
use crate::run_log::{Monitor, Progress, RunLog};
use crate::signed::IndexedCorpus;
use sameish::cluster::{Batch, Candidates, Centers, Purpose, StarSource, star_clusters};
use sameish::index::DocNumber;
use sameish::matching::Judge;
use sameish::{Analyzer, Verdict};
use serde::{Deserialize, Serialize};
use std::cmp::Ordering;
use std::collections::{HashMap, HashSet};

/// Maximum number of unassigned documents of a bucket that are scanned at once.
const SCANNED: usize = 2_000;
/// Size of the largest bucket in which members of other clusters are searched.
const SMALL_BUCKET: usize = 64;
/// Maximum number of members of other clusters that a center is compared with, to count chains.
const CHAINS: usize = 8;
/// Maximum number of centers whose texts are loaded together.
const BATCH: usize = 512;
/// Maximum number of template pairs that are returned as examples.
const EXAMPLES: usize = 64;
/// Center of a document that was replaced by a later record with its id.
pub const NO_CENTER: u32 = u32::MAX;

/// Star clusters of a corpus.
pub struct StarClusters {
    /// Center of each document; itself for a center, [`NO_CENTER`] for a replaced document.
    pub center: Vec<u32>,
    /// Similarity of each document to its center.
    pub similarity: Vec<f64>,
    /// `true` for each document whose match with its center was verified.
    pub verified: Vec<bool>,
    /// Counts of the clustering.
    pub counts: ClusterCounts,
    /// Number of compared pairs per hundredth of similarity; empty unless it was requested.
    pub histogram: Vec<u64>,
    /// Examples of pairs that have the same wording but different facts.
    pub templates: Vec<(u32, u32, f32)>,
}

/// Counts of a clustering.
#[derive(Clone, Copy, Debug, Default, Serialize, Deserialize)]
pub struct ClusterCounts {
    /// Number of compared pairs.
    pub candidates: u64,
    /// Number of verified matches.
    pub verified: u64,
    /// Number of centers for which a limit ended the search, so that members may be missing.
    pub caps_hit: u64,
    /// Number of candidates that were not compared for this reason.
    #[serde(default)]
    pub left: u64,
    /// Number of compared pairs that join a cluster.
    #[serde(default)]
    pub joined: u64,
    /// Number of pairs of similar documents in crowded buckets that were screened without their texts, at a cost of a few
    /// nanoseconds each.
    #[serde(default)]
    pub screened: u64,
    /// Number of matches between a center and a member of another cluster; at most 8 per center are compared.
    pub chains_cut: u64,
    /// Number of verified matches that are templates and were kept apart.
    pub templates: u64,
    #[serde(default)]
    pub(crate) sums: FoundSums,
}

impl ClusterCounts {
    /// Returns the estimated share of the matching pairs that were found, or `None` for a configuration without bands.
    pub fn recall(&self, analyzer: &Analyzer) -> Option<Recall> {
        let ClusterCounts { candidates, joined, left, .. } = *self;
        self.sums
            .recall(Detection::of(analyzer), &Work { compared: candidates, matched: joined, omitted: left })
    }
}

/// Whether a histogram of similarities is computed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum WithHistogram {
    Yes,
    No,
}

/// Clusters a corpus: every member has a verified match with its center, or a fingerprint within the radius if the
/// configuration does not verify or allows unverified matches.
pub(crate) fn cluster_stars(
    corpus: &IndexedCorpus<'_>,
    histogram: WithHistogram,
    log: &mut RunLog<dyn Monitor + '_>,
) -> Result<StarClusters> {
    let mut source = CorpusSource::new(corpus, histogram, log)?;
    let order = corpus.distinct().map(DocNumber);
    let reference = corpus.signed.against;
    let found = star_clusters(corpus.signed.len(), order, reference, &mut source)?;
    let screened = source.indexes.crowds.screened();
    let mut clusters = source.clusters;
    clusters.counts.screened = screened;
    clusters.center = found.centers.into_inner();
    clusters.counts.candidates = found.candidates;
    clusters.counts.caps_hit = found.capped;
    clusters.counts.left = found.left;
    clusters.counts.chains_cut = found.cut;
    clusters.counts.sums.set_omitted(expected_matches(found.left, found.last, found.last_matched));
    clusters.add_copies(corpus);
    clusters.count_found(corpus);
    Ok(clusters)
}

impl StarClusters {
    /// Counts the pairs of each center and its members.
    fn count_found(&mut self, corpus: &IndexedCorpus<'_>) {
        let detection = Detection::of(&corpus.analyzer);
        let has_center = |doc: &u32| {
            let center = self.center[*doc as usize];
            *doc >= corpus.signed.against && center != *doc && center != NO_CENTER
        };
        let mut members: Vec<u32> = (0..self.center.len() as u32).filter(has_center).collect();
        members.sort_by_key(|&doc| self.center[doc as usize]);
        for members in members.chunk_by(|&a, &b| self.center[a as usize] == self.center[b as usize]) {
            let similarities = members.iter().map(|&doc| (self.similarity[doc as usize], 1));
            self.counts.sums.add(detection, similarities);
        }
    }

    /// Assigns copies to the center of their leader.
    fn add_copies(&mut self, corpus: &IndexedCorpus<'_>) {
        let own = |doc: &usize| *doc >= corpus.signed.against as usize;
        for doc in (0..self.center.len()).filter(own) {
            let leader = corpus.leader[doc] as usize;
            if leader != doc {
                self.center[doc] = self.center[leader];
                self.similarity[doc] = self.similarity[leader];
                self.verified[doc] = self.verified[leader];
            }
        }
    }
}

/// A candidate of a center.
struct Promise {
    /// The largest similarity that it may have.
    bound: f64,
    /// Distance of its outline.
    distance: u32,
    doc: u32,
}

impl Promise {
    /// Compares two candidates, the more promising one first.
    fn cmp_rank(&self, other: &Promise) -> Ordering {
        other.bound.total_cmp(&self.bound).then(self.distance.cmp(&other.distance))
    }
}

/// Supplies candidates from the buckets and indexes of a corpus.
struct CorpusSource<'a, 'l, 'm> {
    corpus: &'a IndexedCorpus<'a>,
    indexes: Indexes<'a>,
    judge: Judge,
    /// Fingerprints alone decide, so that comparisons need no texts and have no limit.
    by_distance: bool,
    keep_templates: bool,
    /// Position in each bucket before which all members are assigned.
    cursor: Vec<u32>,
    /// Number of the search in which a document was last visited.
    visited: Vec<u32>,
    searches: u32,
    loaded: HashMap<u32, LoadedText<'a>>,
    /// Documents that are compared by their features: their similarity to some candidate is not known.
    compares_features: Vec<bool>,
    clusters: StarClusters,
    log: &'l mut RunLog<dyn Monitor + 'm>,
}

impl<'a, 'l, 'm> CorpusSource<'a, 'l, 'm> {
    fn new(
        corpus: &'a IndexedCorpus<'a>,
        histogram: WithHistogram,
        log: &'l mut RunLog<dyn Monitor + 'm>,
    ) -> Result<CorpusSource<'a, 'l, 'm>> {
        let config = corpus.analyzer.config();
        let documents = corpus.signed.len();
        Ok(CorpusSource {
            indexes: Indexes::new(
                corpus,
                corpus.signed.against,
                CrowdFacts::filter(facts_decide(&corpus.analyzer)),
            )?,
            judge: Judge::new(config),
            by_distance: by_distance(&corpus.analyzer),
            keep_templates: facts_decide(&corpus.analyzer) == WithFacts::Yes,
            cursor: vec![0; corpus.buckets.len()],
            visited: vec![0; documents],
            searches: 0,
            loaded: HashMap::new(),
            compares_features: vec![false; documents],
            clusters: StarClusters {
                center: Vec::new(),
                similarity: vec![1.0; documents],
                verified: vec![config.matching.verify; documents],
                counts: ClusterCounts::default(),
                histogram: if histogram == WithHistogram::Yes { vec![0; 101] } else { Vec::new() },
                templates: Vec::new(),
            },
            corpus,
            log,
        })
    }

    /// Judges a pair, and counts its similarity if a histogram is computed.
    fn verdict(&mut self, center: u32, doc: u32, purpose: Purpose) -> Option<Verdict> {
        let known = self.indexes.crowds.known_similarity(center, doc);
        let corpus = self.corpus;
        let [a, b] = [center, doc].map(|doc| match known {
            Some(_) => corpus.side_in_crowd(doc),
            None => corpus.side(doc, self.loaded.get(&doc)),
        });
        let judge = |judge: Judge| match known {
            Some(similarity) => judge.judge_known(&a, &b, similarity),
            None => judge.judge(&a, &b),
        };
        if purpose != Purpose::Join || self.clusters.histogram.is_empty() {
            return judge(self.judge);
        }
        let verdict = judge(self.judge.with_threshold(0.0))?;
        self.clusters.histogram[(verdict.similarity * 100.0) as usize] += 1;
        // Fingerprints may match below the threshold, by their distance.
        let is_below = verdict.similarity < self.judge.threshold();
        if is_below { judge(self.judge) } else { Some(verdict) }
    }

    /// Notes which of a center and its candidates are compared by their features.
    fn note_comparisons(&mut self, center: u32, docs: &[DocNumber]) {
        for &DocNumber(doc) in docs {
            if self.indexes.crowds.known_similarity(center, doc).is_none() {
                self.compares_features[center as usize] = true;
                self.compares_features[doc as usize] = true;
            }
        }
    }

    /// Returns `true` if a verdict is a template that is kept apart.
    fn is_separate_template(&mut self, center: u32, doc: u32, verdict: Verdict, purpose: Purpose) -> bool {
        let texts = self.loaded.get(&center).zip(self.loaded.get(&doc)).filter(|_| self.keep_templates);
        let Some((a, b)) = texts else { return false };
        if !verdict.with_facts(|| (a.facts(), b.facts())).template {
            return false;
        }
        if purpose == Purpose::Join {
            self.clusters.counts.templates += 1;
            if self.clusters.templates.len() < EXAMPLES {
                self.clusters.templates.push((center, doc, verdict.similarity as f32));
            }
        }
        true
    }
}

impl StarSource for CorpusSource<'_, '_, '_> {
    type Error = Error;

    fn has_candidates(&self, doc: DocNumber) -> bool {
        self.corpus.buckets.any(doc.0) || self.indexes.contains(doc.0)
    }

    fn candidates(
        &mut self,
        DocNumber(center): DocNumber,
        limit: usize,
        centers: &Centers,
        compared: &HashSet<DocNumber>,
    ) -> Candidates {
        self.searches += 1;
        let search = self.searches;
        let corpus = self.corpus;
        let mut nearest: Vec<Promise> = Vec::new();
        let mut left = 0;
        let visited = &mut self.visited;
        let mut visit = |Ranked { doc, bound, .. }: Ranked| {
            if doc == center || std::mem::replace(&mut visited[doc as usize], search) == search {
                return;
            }
            if centers.is_free(DocNumber(doc)) && !compared.contains(&DocNumber(doc)) {
                let distance = corpus.signed.near(center, doc);
                nearest.extend(distance.map(|distance| Promise { bound, distance, doc }));
            }
        };
        self.indexes.same_key(center).iter().for_each(|&doc| visit(Ranked::unknown(doc)));
        for bucket in corpus.buckets.of(center) {
            let members = corpus.buckets.members(bucket);
            let cursor = &mut self.cursor[bucket as usize];
            while members.get(*cursor as usize).is_some_and(|&doc| !centers.is_free(DocNumber(doc))) {
                *cursor += 1;
            }
            let rest = &members[*cursor as usize..];
            left += rest.len().saturating_sub(SCANNED);
            let others = rest.iter().take(SCANNED).filter(|&&doc| !self.indexes.crowds.share(center, doc));
            others.for_each(|&doc| visit(Ranked::unknown(doc)));
        }
        let is_free = |doc: u32| centers.is_free(DocNumber(doc));
        self.indexes.crowds.near(center, is_free, &mut visit);
        let limit_of_prints = if self.by_distance { usize::MAX } else { SCANNED };
        left += self.indexes.near(center, limit_of_prints, visit);
        if nearest.len() > limit && !self.by_distance {
            left += nearest.len() - limit;
            let keys = &corpus.signed.keys;
            nearest.select_nth_unstable_by(limit, |a, b| {
                a.cmp_rank(b).then_with(|| keys[a.doc as usize].cmp(&keys[b.doc as usize]))
            });
            nearest.truncate(limit);
        }
        let mut docs: Vec<DocNumber> = nearest.into_iter().map(|one| DocNumber(one.doc)).collect();
        docs.sort_unstable();
        self.note_comparisons(center, &docs);
        Candidates { docs, left }
    }

    fn assigned_candidates(&mut self, DocNumber(center): DocNumber, centers: &Centers) -> Vec<DocNumber> {
        let is_member_elsewhere = |doc: u32| {
            let other = centers.get(DocNumber(doc));
            other.is_some_and(|DocNumber(other)| other != center && other != doc)
                && self.corpus.signed.near(center, doc).is_some()
        };
        let mut found = Vec::new();
        for members in self.corpus.buckets_of(center) {
            if members.len() <= SMALL_BUCKET && found.len() < CHAINS {
                let elsewhere = members.iter().copied().filter(|&doc| is_member_elsewhere(doc));
                found.extend(elsewhere.take(CHAINS).map(DocNumber));
            }
        }
        found.sort_unstable();
        found.dedup();
        found.truncate(CHAINS);
        // In a crowd, most of those that do not match are known without their texts.
        let crowds = &self.indexes.crowds;
        found.retain(|doc| !crowds.share(center, doc.0) || crowds.bound(center, doc.0).is_some());
        self.note_comparisons(center, &found);
        found
    }

    fn load(&mut self, docs: &[DocNumber]) -> Result<()> {
        if self.by_distance {
            return Ok(());
        }
        let compares_features = &self.compares_features[..];
        let is_missing = |doc: &u32| {
            let is_needed = self.keep_templates || compares_features[*doc as usize];
            is_needed && !self.loaded.contains_key(doc)
        };
        let missing: Vec<u32> = docs.iter().map(|doc| doc.0).filter(is_missing).collect();
        let facts = if self.keep_templates { WithFacts::Yes } else { WithFacts::No };
        let loaded = self.corpus.load(&missing, facts, |doc| compares_features[doc as usize])?;
        self.loaded.extend(loaded);
        Ok(())
    }

    fn unload(&mut self, keep: &[DocNumber]) {
        self.loaded.retain(|&doc, _| keep.binary_search(&DocNumber(doc)).is_ok());
    }

    fn compare(&mut self, DocNumber(center): DocNumber, DocNumber(doc): DocNumber, purpose: Purpose) -> bool {
        let Some(verdict) = self.verdict(center, doc, purpose) else { return false };
        if purpose == Purpose::Join {
            self.clusters.counts.verified += u64::from(verdict.verified);
        }
        if self.is_separate_template(center, doc, verdict, purpose) || !self.judge.joins(&verdict) {
            return false;
        }
        if purpose == Purpose::Join {
            self.clusters.counts.joined += 1;
            self.clusters.similarity[doc as usize] = verdict.similarity;
            self.clusters.verified[doc as usize] = verdict.verified;
        }
        true
    }

    fn assigned(&mut self, DocNumber(doc): DocNumber) {
        self.indexes.remove(doc);
    }

    fn progress(&mut self, done: usize) -> Result<()> {
        self.log.progress(Progress::Comparing { done, of: self.corpus.signed.len() })
    }

    fn batch(&self) -> Batch {
        match self.by_distance {
            true => Batch::default(),
            false => Batch { centers: BATCH, size: self.corpus.memory.window() },
        }
    }

    fn size(&self, DocNumber(doc): DocNumber) -> usize {
        self.corpus.signed.rows[doc as usize].text_bytes as usize
    }
}
