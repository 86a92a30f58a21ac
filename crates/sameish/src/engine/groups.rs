//! Which documents of an engine match each other, and which belong together?
//!
//! Everything is asked for one text at a time, in order, so nothing here grows with the number of pairs.

use super::Engine;
use super::collection::{CANDIDATES_JUDGED, Collection, Found};
use crate::cluster::{Cluster, MeasuredCluster, components, greedy_stars_while, stars};
use crate::config::Linkage;
use crate::document::DocId;
use crate::index::DocNumber;
use crate::matching::{MatchKind, Verdict};
use crate::sketch::Fingerprint;
use std::cmp::Reverse;
use std::collections::HashMap;
use std::ops::ControlFlow;

/// Two documents of an engine that match.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct MatchedPair<'a> {
    /// The one that came first.
    pub a: &'a DocId,
    /// The one that came later.
    pub b: &'a DocId,
    /// From 0 to 1: exact Jaccard similarity where `verified`, else what the sketches say.
    pub similarity: f64,
    /// What the two are to each other.
    pub kind: MatchKind,
    /// Whether it was judged on the documents' own features.
    pub verified: bool,
    /// In how many bits the fingerprints differ, where both have one.
    pub distance: Option<u32>,
    /// How far numbers and rare words agree, of a verified match.
    pub facts: Option<f64>,
    /// Whether the two are of one form with other facts.
    pub template: bool,
}

/// Most candidates a document that are judged on average, when all pairs or groups are wanted.
const CANDIDATES_ON_AVERAGE: u64 = 64;

/// What looking for all pairs came to.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Effort {
    /// How many documents were asked for their matches.
    pub asked: u64,
    /// How many candidates were judged.
    pub candidates: u64,
    /// How many limits were hit: where it is not 0, matches may be missing.
    pub capped: u64,
}

/// The documents of an engine in groups.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Groups {
    /// In the order of their centers; under online clustering in that of their founding.
    pub groups: Vec<Group>,
    /// How many matches between groups were cut, because a document can be in one group only.
    pub cut: usize,
    /// What it took.
    pub effort: Effort,
}

/// Documents that belong together.
#[derive(Clone, Debug, PartialEq)]
pub struct Group {
    /// The one that stands for the others.
    pub center: DocId,
    /// All of them, the center first.
    pub members: Vec<DocId>,
    /// How close the others are to the center.
    pub spread: Spread,
}

/// How close the members of a group are to its center, on average over the others.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Spread {
    /// Bits in which fingerprints differ, for settings that judge by them; 0 for one alone.
    AverageDistance(f64),
    /// Similarity; 1 for one alone.
    MeanSimilarity(f64),
}

impl Engine {
    /// Gives `sink` all pairs that match, until it breaks off: in the order of the later document, then of the earlier.
    /// Documents with equal texts are one there, the first; their pairs follow at once.
    ///
    /// ```
    /// use sameish::{Document, Engine, Preset, Scratch};
    /// use std::ops::ControlFlow;
    ///
    /// let mut engine = Engine::new(Preset::Wire.config())?;
    /// for (id, text) in [(1, "storm hits the coast"), (2, "markets calm"), (3, "STORM hits the coast")] {
    ///     engine.insert(&Document::new(id, text), &mut Scratch::default())?;
    /// }
    /// let mut pairs = Vec::new();
    /// engine.pairs(|pair| {
    ///     pairs.push((pair.a.to_string(), pair.b.to_string(), pair.verified));
    ///     ControlFlow::Continue(())
    /// });
    /// assert_eq!(pairs, [("1".into(), "3".into(), false)]);
    /// # Ok::<(), sameish::Error>(())
    /// ```
    pub fn pairs(&self, sink: impl FnMut(MatchedPair<'_>) -> ControlFlow<()>) -> Effort {
        self.pairs_while(|_| true, sink)
    }

    /// As [`pairs`](Self::pairs), as long as `wanted`, which is asked before each text and told how many came before: a
    /// corpus without pairs takes its time too.
    pub fn pairs_while(
        &self,
        mut wanted: impl FnMut(u64) -> bool,
        mut sink: impl FnMut(MatchedPair<'_>) -> ControlFlow<()>,
    ) -> Effort {
        let mut effort = Effort::default();
        // Only who is not wanted any more, and the sink, end this early.
        let _ = self.collection.each_pair(&mut effort, &mut wanted, |a, b, verdict| {
            let [a, b] = [a, b].map(|doc| &self.collection.docs[doc].id);
            let Verdict { similarity, kind, verified, distance, facts, template } = verdict;
            sink(MatchedPair { a, b, similarity, kind, verified, distance, facts, template })
        });
        effort
    }

    /// All documents in groups, by the linkage of the settings. Each is in exactly one, but for texts that online
    /// clustering finds too short.
    ///
    /// The order decides everything: that of arrival or, for `greedy`, the newest first; equal dates in the order of
    /// arrival, documents without a date last.
    pub fn groups(&self) -> Groups {
        self.groups_while(|_| true).unwrap_or_default()
    }

    /// As [`groups`](Self::groups), as long as `wanted`, which is asked before each text is and told how many came before.
    /// Nothing where it was not to the end.
    pub fn groups_while(&self, mut wanted: impl FnMut(u64) -> bool) -> Option<Groups> {
        let mut stopped = false;
        let mut wanted = |asked| {
            stopped = stopped || !wanted(asked);
            !stopped
        };
        let groups = match self.config.matching.linkage {
            Linkage::Online => self.online_groups(),
            Linkage::Components => self.connected_groups(&mut wanted),
            Linkage::Cohesive => self.star_groups(&self.collection.by_arrival(), &mut wanted),
            Linkage::Greedy if self.by_distance() => {
                self.greedy_groups(&self.collection.newest_first(), &mut wanted)
            }
            Linkage::Greedy => self.star_groups(&self.collection.newest_first(), &mut wanted),
        };
        (!stopped).then_some(groups)
    }

    fn star_groups(&self, order: &[DocNumber], wanted: &mut dyn FnMut(u64) -> bool) -> Groups {
        let mut effort = Effort::default();
        let stars = stars(order, |center| {
            if !wanted(effort.asked) {
                return Vec::new();
            }
            let matches = self.collection.matches_of(center.0, effort.most());
            effort.add(matches.candidates, matches.capped);
            let joined = matches.found.iter().filter(|found| self.collection.joins(&found.verdict));
            joined.map(|found| DocNumber(found.text)).collect()
        });
        Groups { groups: self.expand(&stars.clusters), cut: stars.cut, effort }
    }

    /// Whether fingerprints alone decide.
    fn by_distance(&self) -> bool {
        !self.config.matching.verify && self.config.simhash.is_some() && self.config.minhash.is_none()
    }

    /// As seed 000 groups. What was taken leaves an index of its own, so that texts near to many centers are met once.
    fn greedy_groups(&self, order: &[DocNumber], wanted: &mut dyn FnMut(u64) -> bool) -> Groups {
        let print =
            |text: &DocNumber| self.collection.query_of(text.0).side().simhash.filter(|p| !p.is_zero());
        let (texts, prints): (Vec<DocNumber>, Vec<Fingerprint>) =
            order.iter().filter_map(|text| Some((*text, print(text)?))).unzip();
        let radius = self.config.simhash.as_ref().map_or(0, |simhash| simhash.radius);
        let found = greedy_stars_while(&prints, radius, wanted);
        let found = found.unwrap_or_else(|error| unreachable!("the radius was checked: {error}"));
        let text = |doc: DocNumber| texts[doc.0 as usize];
        let mut clusters: HashMap<DocNumber, Cluster> = found
            .into_iter()
            .map(|MeasuredCluster { cluster, .. }| {
                let (center, members) =
                    (text(cluster.center), cluster.members.into_iter().map(text).collect());
                (center, Cluster { center, members })
            })
            .collect();
        // Texts without words stand alone, in their places.
        let alone = |center| Cluster { center, members: vec![center] };
        let placed = order.iter().filter_map(|&center| match clusters.remove(&center) {
            None if print(&center).is_none() => Some(alone(center)),
            cluster => cluster,
        });
        Groups { groups: self.expand(&placed.collect::<Vec<_>>()), ..Groups::default() }
    }

    fn connected_groups(&self, wanted: &mut dyn FnMut(u64) -> bool) -> Groups {
        let mut effort = Effort::default();
        let mut edges = Vec::new();
        for &text in &self.collection.by_arrival() {
            if !wanted(effort.asked) {
                return Groups::default();
            }
            let earlier = self.collection.earlier_matches(text.0, &mut effort);
            let joined = earlier.iter().filter(|found| self.collection.joins(&found.verdict));
            edges.extend(joined.map(|found| (DocNumber(found.text), text)));
        }
        let clusters = components(&self.collection.by_arrival(), edges);
        Groups { groups: self.expand(&clusters), cut: 0, effort }
    }

    fn online_groups(&self) -> Groups {
        let online = self.collection.online.iter();
        let groups = online.flat_map(|online| {
            online.iter().map(|(id, _)| self.group(online.members(id).map(|doc| doc.0).collect()))
        });
        Groups { groups: groups.collect(), ..Groups::default() }
    }

    /// Clusters of texts as groups of documents.
    fn expand(&self, clusters: &[Cluster]) -> Vec<Group> {
        let newest_first = self.config.matching.linkage == Linkage::Greedy;
        let docs = |cluster: &Cluster| {
            let texts = cluster.members.iter();
            let mut docs: Vec<u32> = texts.flat_map(|text| self.collection.docs_of(text.0)).collect();
            docs.sort_by_key(|&doc| {
                let doc = &self.collection.docs[doc];
                (newest_first.then_some(Reverse(doc.published)), doc.arrival)
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
        let spread = match self.by_distance() {
            true => Spread::AverageDistance(mean(&|doc| self.collection.distance(docs[0], doc), 0.0)),
            false => Spread::MeanSimilarity(mean(&|doc| self.collection.similarity(docs[0], doc), 1.0)),
        };
        Group { center: ids[0].clone(), members: ids, spread }
    }
}

impl Effort {
    /// How many candidates of the next document are judged: many, unless those before it took more than their share. So a
    /// flood of forms, each filled in otherwise, costs a bounded number of comparisons a document.
    pub fn most(&self) -> usize {
        let fair = self.asked * CANDIDATES_ON_AVERAGE + CANDIDATES_JUDGED as u64;
        if self.candidates > fair { CANDIDATES_ON_AVERAGE as usize } else { CANDIDATES_JUDGED }
    }

    /// Counts a document that was asked.
    pub fn add(&mut self, candidates: usize, capped: usize) {
        self.asked += 1;
        self.candidates += candidates as u64;
        self.capped += capped as u64;
    }
}

impl Collection {
    /// All texts in the order of their first documents.
    fn by_arrival(&self) -> Vec<DocNumber> {
        self.ordered(|text| self.arrival_of(text))
    }

    /// All texts in the order of their newest documents.
    fn newest_first(&self) -> Vec<DocNumber> {
        let place = |doc: u32| (Reverse(self.docs[doc].published), self.docs[doc].arrival);
        self.ordered(|text| self.docs_of(text).map(place).min())
    }

    fn ordered<K: Ord>(&self, place: impl Fn(u32) -> K) -> Vec<DocNumber> {
        let mut texts: Vec<DocNumber> = self.texts.iter().map(|(text, _)| DocNumber(text)).collect();
        texts.sort_by_cached_key(|text| place(text.0));
        texts
    }

    /// The matches among texts that came earlier, in that order. Looking back means that where a bucket is too large to be
    /// looked at as a whole, its first documents are found by all later ones.
    fn earlier_matches(&self, text: u32, effort: &mut Effort) -> Vec<Found> {
        let mut matches = self.matches_of(text, effort.most());
        effort.add(matches.candidates, matches.capped);
        let mine = self.arrival_of(text);
        matches.found.retain(|found| self.arrival_of(found.text) < mine);
        matches.found.sort_by_key(|found| self.arrival_of(found.text));
        matches.found
    }

    fn each_pair(
        &self,
        effort: &mut Effort,
        wanted: &mut dyn FnMut(u64) -> bool,
        mut sink: impl FnMut(u32, u32, Verdict) -> ControlFlow<()>,
    ) -> ControlFlow<()> {
        for text in self.by_arrival() {
            if !wanted(effort.asked) {
                return ControlFlow::Break(());
            }
            for found in self.earlier_matches(text.0, effort) {
                for b in self.docs_of(text.0) {
                    for a in self.docs_of(found.text) {
                        let (a, b) =
                            if self.docs[a].arrival < self.docs[b].arrival { (a, b) } else { (b, a) };
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

    /// What documents of one text are to each other.
    fn same(&self, text: u32) -> Option<Verdict> {
        let side = self.query_of(text).side();
        self.judge.judge_facts(&side, &side, None)
    }

    fn distance(&self, a: u32, b: u32) -> f64 {
        let print = |doc: u32| self.query_of(self.docs[doc].text).side().simhash.unwrap_or_default();
        f64::from(print(a).distance(print(b)))
    }

    fn similarity(&self, a: u32, b: u32) -> f64 {
        let [a, b] = [a, b].map(|doc| self.docs[doc].text);
        if a == b {
            return 1.0;
        }
        let verdict =
            self.judge.with_threshold(0.0).judge(&self.query_of(a).side(), &self.query_of(b).side());
        verdict.map_or(0.0, |verdict| verdict.similarity)
    }
}
