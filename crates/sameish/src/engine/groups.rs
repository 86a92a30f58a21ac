//! Pairs and clusters of all documents of an engine.
//!
//! Matches are computed one text at a time, in order, so memory does not grow with the number of pairs.

use super::Engine;
use super::collection::Collection;
use super::search::TextMatch;
use super::storage::InMemory;
use crate::cluster::{Cluster, MeasuredCluster, components, greedy_stars_while, stars};
use crate::config::Linkage;
use crate::document::DocId;
use crate::index::DocNumber;
use crate::matching::{Relation, Verdict};
use crate::sketch::Fingerprint;
use std::cmp::Reverse;
use std::collections::HashMap;
use std::ops::ControlFlow;

/// Two documents of an engine that match.
#[derive(Clone, Copy, Debug, PartialEq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize))]
pub struct MatchedPair<'a> {
    /// The document that was inserted first.
    pub a: &'a DocId,
    /// The document that was inserted later.
    pub b: &'a DocId,
    /// How the two match.
    #[cfg_attr(feature = "serde", serde(flatten))]
    pub verdict: Verdict,
    /// How the first one relates to the second one, if the match is verified: whether it is an excerpt or an update of it.
    pub relation: Option<Relation>,
}

/// The average number of candidates per text that may be judged without a match before fewer candidates are judged.
const UNMATCHED_ON_AVERAGE: u64 = 64;

/// The number of candidates that may be judged without a match in addition.
const UNMATCHED: u64 = 2_000;

/// The maximum number of candidates of a text that are judged.
const MOST_JUDGED: usize = 1 << 17;

/// The maximum number of candidates of a text that are judged after too many candidates did not match. The most promising ones are
/// judged, so that a text with as many matches still gets all of them.
const FEWEST_JUDGED: usize = 1_000;

/// The work done to compute all pairs or clusters.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct Effort {
    /// The number of documents whose matches were computed.
    pub asked: u64,
    /// The number of candidates that were judged.
    pub candidates: u64,
    /// The number of limits reached. If it is not 0, matches may be missing.
    pub capped: u64,
}

/// The documents of an engine in clusters.
#[derive(Clone, Debug, Default, PartialEq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct Groups {
    /// The clusters in the order of their centers; under online clustering in the order in which they were started.
    pub groups: Vec<Group>,
    /// The number of matches between documents of different clusters that were cut, because a document is in one cluster only.
    pub cut: usize,
    /// The work done.
    pub effort: Effort,
}

/// A cluster of documents.
#[derive(Clone, Debug, PartialEq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct Group {
    /// The center, which represents the cluster.
    pub center: DocId,
    /// All documents, the center first.
    pub members: Vec<DocId>,
    /// How close the members are to the center.
    pub spread: Spread,
}

/// How close the members of a cluster are to its center, averaged over all members except the center.
#[derive(Clone, Copy, Debug, PartialEq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[cfg_attr(feature = "serde", serde(rename_all = "snake_case"))]
pub enum Spread {
    /// The average Hamming distance, for configurations that judge by fingerprints; 0 for a single document.
    AverageDistance(f64),
    /// The mean similarity; 1 for a single document.
    MeanSimilarity(f64),
}

impl Engine {
    /// Passes all matching pairs to `sink`, until it returns `Break`.
    ///
    /// Pairs are ordered by the later document, then by the earlier one. Documents with equal texts take the place of the
    /// first of them, and the pairs among them follow immediately.
    ///
    /// ```
    /// use sameish::{Document, Engine, Preset};
    /// use std::ops::ControlFlow;
    ///
    /// let mut engine = Engine::new(Preset::Wire.config())?;
    /// for (id, text) in [(1, "storm hits the coast"), (2, "markets calm"), (3, "STORM hits the coast")] {
    ///     engine.insert(&Document::new(id, text))?;
    /// }
    /// let mut pairs = Vec::new();
    /// engine.pairs(|pair| {
    ///     pairs.push((pair.a.to_string(), pair.b.to_string(), pair.verdict.verified));
    ///     ControlFlow::Continue(())
    /// });
    /// assert_eq!(pairs, [("1".into(), "3".into(), false)]);
    /// # Ok::<(), sameish::Error>(())
    /// ```
    pub fn pairs(&self, sink: impl FnMut(MatchedPair<'_>) -> ControlFlow<()>) -> Effort {
        self.pairs_while(|_| true, sink)
    }

    /// Like [`pairs`](Self::pairs), with progress and cancellation: `proceed` is called before each text with the number of
    /// texts already processed, and stops the work by returning `false`.
    pub fn pairs_while(
        &self,
        mut proceed: impl FnMut(u64) -> bool,
        mut sink: impl FnMut(MatchedPair<'_>) -> ControlFlow<()>,
    ) -> Effort {
        let mut spent = Spent::default();
        // Cancellation is not an error: the effort says how far the work got.
        let _ = self.collection.each_pair(&mut spent, &mut proceed, |a, b, verdict| {
            let relation = self.collection.relation(a, b, &verdict);
            let [a, b] = [a, b].map(|doc| &self.collection.docs[doc].id);
            sink(MatchedPair { a, b, verdict, relation })
        });
        spent.effort
    }

    /// Clusters all documents with the configured linkage. Each document is in exactly one cluster; in online clustering, each
    /// text that is too short is a cluster of its own.
    ///
    /// The result is determined by the order of the documents: the order of insertion or, for `greedy`, newest first, with
    /// equal dates in the order of insertion and documents without a date last.
    pub fn groups(&self) -> Groups {
        self.groups_while(|_| true).unwrap_or_default()
    }

    /// Like [`groups`](Self::groups), with progress and cancellation: `proceed` is called before each text with the number
    /// of texts already processed, and stops the work by returning `false`. Returns `None` if it was stopped.
    pub fn groups_while(&self, mut proceed: impl FnMut(u64) -> bool) -> Option<Groups> {
        let mut stopped = false;
        let mut proceed = |done| {
            stopped = stopped || !proceed(done);
            !stopped
        };
        let groups = match self.config().matching.linkage {
            Linkage::Online => self.online_groups(),
            Linkage::Components => self.connected_groups(&mut proceed),
            Linkage::Cohesive => self.star_groups(&self.collection.in_order(), &mut proceed),
            Linkage::Greedy if self.by_distance() => {
                self.greedy_groups(&self.collection.newest_first(), &mut proceed)
            }
            Linkage::Greedy => self.star_groups(&self.collection.newest_first(), &mut proceed),
        };
        (!stopped).then_some(groups)
    }

    fn star_groups(&self, order: &[DocNumber], proceed: &mut dyn FnMut(u64) -> bool) -> Groups {
        let mut spent = Spent::default();
        let stars = stars(order, |center| {
            if !proceed(spent.effort.asked) {
                return Vec::new();
            }
            let matches = self.collection.matches_of(center.0, spent.most(), true, None);
            let joined = matches.matches.iter().filter(|found| self.joins(&found.verdict));
            let joined: Vec<DocNumber> = joined.map(|found| DocNumber(found.text)).collect();
            spent.add(matches.candidates, joined.len(), matches.capped);
            joined
        });
        Groups { groups: self.expand(&stars.clusters), cut: stars.cut, effort: spent.effort }
    }

    /// Returns `true` if fingerprints alone decide.
    fn by_distance(&self) -> bool {
        !self.config().matching.verify && self.config().simhash.is_some() && self.config().minhash.is_none()
    }

    /// Groups like the FNV-1a SimHash news grouper. Assigned fingerprints are removed from a separate index, so that a text close
    /// to many centers is visited once.
    fn greedy_groups(&self, order: &[DocNumber], proceed: &mut dyn FnMut(u64) -> bool) -> Groups {
        let fingerprint = |text: &DocNumber| self.collection.view_of(text.0).sketches().fingerprint();
        let (texts, fingerprints): (Vec<DocNumber>, Vec<Fingerprint>) =
            order.iter().filter_map(|text| Some((*text, fingerprint(text)?))).unzip();
        let radius = self.config().simhash.as_ref().map_or(0, |simhash| simhash.radius);
        let found = greedy_stars_while(&fingerprints, radius, proceed);
        let found = found.unwrap_or_else(|error| unreachable!("the radius was validated: {error}"));
        let text = |doc: DocNumber| texts[doc.0 as usize];
        let mut clusters: HashMap<DocNumber, Cluster> = found
            .into_iter()
            .map(|MeasuredCluster { cluster, .. }| {
                let (center, members) =
                    (text(cluster.center), cluster.members.into_iter().map(text).collect());
                (center, Cluster { center, members })
            })
            .collect();
        // Texts without features are clusters of their own, in their places.
        let alone = |center| Cluster { center, members: vec![center] };
        let placed = order.iter().filter_map(|&center| match clusters.remove(&center) {
            None if fingerprint(&center).is_none() => Some(alone(center)),
            cluster => cluster,
        });
        Groups { groups: self.expand(&placed.collect::<Vec<_>>()), ..Groups::default() }
    }

    fn connected_groups(&self, proceed: &mut dyn FnMut(u64) -> bool) -> Groups {
        let mut spent = Spent::default();
        let mut edges = Vec::new();
        for &text in &self.collection.in_order() {
            if !proceed(spent.effort.asked) {
                return Groups::default();
            }
            let earlier = self.collection.earlier_matches(text.0, true, &mut spent);
            let joined = earlier.iter().filter(|found| self.joins(&found.verdict));
            edges.extend(joined.map(|found| (DocNumber(found.text), text)));
        }
        let clusters = components(&self.collection.in_order(), edges);
        Groups { groups: self.expand(&clusters), cut: 0, effort: spent.effort }
    }

    fn online_groups(&self) -> Groups {
        let online = self.collection.online.iter();
        let groups = online.flat_map(|online| {
            online.iter().map(|(id, _)| self.group(online.members(id).map(|doc| doc.0).collect()))
        });
        Groups { groups: groups.collect(), cut: 0, effort: self.collection.online_effort }
    }

    /// Replaces the texts of clusters by their documents.
    fn expand(&self, clusters: &[Cluster]) -> Vec<Group> {
        let newest_first = self.config().matching.linkage == Linkage::Greedy;
        let docs = |cluster: &Cluster| {
            let texts = cluster.members.iter();
            let mut docs: Vec<u32> = texts.flat_map(|text| self.collection.docs_of(text.0)).collect();
            docs.sort_by_key(|&doc| {
                let doc = &self.collection.docs[doc];
                (newest_first.then_some(Reverse(doc.published)), doc.number)
            });
            docs
        };
        clusters.iter().map(|cluster| self.group(docs(cluster))).collect()
    }

    fn group(&self, docs: Vec<u32>) -> Group {
        let ids: Vec<DocId> = docs.iter().map(|&doc| self.collection.docs[doc].id.clone()).collect();
        let others = &docs[1..];
        let mean = |of: &dyn Fn(u32) -> f64, alone: f64| match others.len() {
            0 => alone,
            n => others.iter().map(|&doc| of(doc)).sum::<f64>() / n as f64,
        };
        let spread = if self.by_distance() {
            Spread::AverageDistance(mean(&|doc| self.collection.distance(docs[0], doc), 0.0))
        } else {
            Spread::MeanSimilarity(mean(&|doc| self.collection.similarity(docs[0], doc), 1.0))
        };
        Group { center: ids[0].clone(), members: ids, spread }
    }
}

impl Effort {
    /// Counts a document whose candidates were judged.
    pub(super) fn add(&mut self, candidates: usize, capped: usize) {
        self.asked += 1;
        self.candidates += candidates as u64;
        self.capped += capped as u64;
    }
}

/// The work so far, which limits that for further texts.
#[derive(Default)]
struct Spent {
    effort: Effort,
    /// The number of candidates without a match.
    unmatched: u64,
}

impl Spent {
    /// Returns the maximum number of candidates to judge for the next text.
    ///
    /// Matches are part of the result, so only candidates without a match are limited: a corpus of which many texts are
    /// similar, but do not match, costs a bounded number of comparisons per text.
    fn most(&self) -> usize {
        let fair = self.effort.asked * UNMATCHED_ON_AVERAGE + UNMATCHED;
        if self.unmatched > fair { FEWEST_JUDGED } else { MOST_JUDGED }
    }

    fn add(&mut self, candidates: usize, matched: usize, capped: usize) {
        self.effort.add(candidates, capped);
        self.unmatched += candidates.saturating_sub(matched) as u64;
    }
}

impl Collection<InMemory> {
    /// Returns all texts in the order of their first documents.
    fn in_order(&self) -> Vec<DocNumber> {
        self.ordered(|text| self.number_of(text))
    }

    /// Returns all texts in the order of their newest documents.
    fn newest_first(&self) -> Vec<DocNumber> {
        let place = |doc: u32| (Reverse(self.docs[doc].published), self.docs[doc].number);
        self.ordered(|text| self.docs_of(text).map(place).min())
    }

    fn ordered<K: Ord>(&self, place: impl Fn(u32) -> K) -> Vec<DocNumber> {
        let mut texts: Vec<DocNumber> = self.texts.iter().map(|(text, _)| DocNumber(text)).collect();
        texts.sort_by_cached_key(|text| place(text.0));
        texts
    }

    /// Returns the matches among texts that were inserted earlier, in that order. `joining` says whether only matches are needed that
    /// may share a cluster with the text.
    ///
    /// Because of the backward direction, if a bucket is too large to be scanned completely, all later documents find its
    /// first ones.
    fn earlier_matches(&self, text: u32, joining: bool, spent: &mut Spent) -> Vec<TextMatch> {
        let mine = self.number_of(text);
        let mut matches = self.matches_of(text, spent.most(), joining, Some(mine));
        spent.add(matches.candidates, matches.matches.len(), matches.capped);
        matches.matches.sort_by_key(|found| self.number_of(found.text));
        matches.matches
    }

    /// Passes all matching pairs of documents to `sink`.
    fn each_pair(
        &self,
        spent: &mut Spent,
        proceed: &mut dyn FnMut(u64) -> bool,
        mut sink: impl FnMut(u32, u32, Verdict) -> ControlFlow<()>,
    ) -> ControlFlow<()> {
        for text in self.in_order() {
            if !proceed(spent.effort.asked) {
                return ControlFlow::Break(());
            }
            for found in self.earlier_matches(text.0, false, spent) {
                for b in self.docs_of(text.0) {
                    for a in self.docs_of(found.text) {
                        let (a, b) = if self.docs[a].number < self.docs[b].number { (a, b) } else { (b, a) };
                        sink(a, b, found.verdict)?;
                    }
                }
            }
            let Some(same) = self.same(text.0) else { continue };
            for (i, b) in self.docs_of(text.0).enumerate() {
                for a in self.docs_of(text.0).take(i) {
                    sink(a, b, same)?;
                }
            }
        }
        ControlFlow::Continue(())
    }

    /// Returns the verdict on two documents with the same text, if they match.
    fn same(&self, text: u32) -> Option<Verdict> {
        let side = self.view_of(text).side();
        self.judge.judge_facts(&side, &side)
    }

    /// Returns how the first of two matching documents relates to the second one.
    fn relation(&self, a: u32, b: u32, verdict: &Verdict) -> Option<Relation> {
        let docs = [a, b].map(|doc| &self.docs[doc]);
        let shingles = docs.map(|doc| self.texts[doc.text].features.shingles.len());
        let dates = docs[0].published.zip(docs[1].published).map(|(a, b)| [a, b]);
        verdict.relation(shingles, dates)
    }

    fn distance(&self, a: u32, b: u32) -> f64 {
        let fingerprint = |doc: u32| self.texts[self.docs[doc].text].simhash.unwrap_or_default();
        f64::from(fingerprint(a).distance(fingerprint(b)))
    }

    fn similarity(&self, a: u32, b: u32) -> f64 {
        let [a, b] = [a, b].map(|doc| self.docs[doc].text);
        if a == b {
            return 1.0;
        }
        let verdict = self.judge.with_threshold(0.0).judge(&self.view_of(a).side(), &self.view_of(b).side());
        verdict.map_or(0.0, |verdict| verdict.similarity)
    }
}
