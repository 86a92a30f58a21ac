//! Lists of matches, pairs and clusters.
//!
//! JavaScript objects can be created only on the event loop. A list therefore stays in Rust until `lib/chunks.cjs` takes it
//! chunk by chunk, so that the event loop can do other work between two chunks.

use crate::id::{self, Id};
use napi::bindgen_prelude::{Either, Float64Array, Null, Uint32Array};
use napi_derive::napi;
use sameish::engine::{Effort, Groups, Match, MatchedPair, Search, Spread};
use sameish::matching::Relation;
use sameish::matching::Verdict;
use sameish::{DocId, Engine};
use sameish_batch::Recall;
use sameish_batch::functions::FoundPairs;
use std::collections::VecDeque;
use std::ops::ControlFlow;
use std::vec::IntoIter;

/// The work done to compute all pairs or clusters.
#[napi(object)]
pub struct EffortCounts {
    /// Number of documents whose matches were computed.
    pub asked: f64,
    /// Number of candidates that were judged.
    pub candidates: f64,
    /// Number of limits reached. If it is not 0, matches may be missing.
    pub capped: f64,
}

impl From<Effort> for EffortCounts {
    fn from(effort: Effort) -> EffortCounts {
        EffortCounts {
            asked: effort.asked as f64,
            candidates: effort.candidates as f64,
            capped: effort.capped as f64,
        }
    }
}

/// How complete the result of a run over a corpus is.
#[napi(object)]
#[derive(Clone)]
pub struct RunEstimate {
    /// Number of candidates that were not compared because of limits.
    pub omitted: f64,
    /// Estimated share of the matching pairs that were found.
    pub expected_recall: Either<f64, Null>,
    /// Its 99 % interval.
    pub expected_recall_interval: Either<Vec<f64>, Null>,
}

impl RunEstimate {
    pub(crate) fn new(omitted: u64, recall: Option<Recall>) -> RunEstimate {
        let interval = recall.and_then(|recall| recall.interval);
        let interval = interval.map(|interval| vec![interval.low, interval.high]);
        RunEstimate {
            omitted: omitted as f64,
            expected_recall: recall.map_or(Either::B(Null), |recall| Either::A(recall.value)),
            expected_recall_interval: interval.map_or(Either::B(Null), Either::A),
        }
    }
}

impl Default for RunEstimate {
    fn default() -> RunEstimate {
        RunEstimate::new(0, None)
    }
}

/// Declares a JavaScript object that consists of ids, the fields of a [`Verdict`], and a relation.
macro_rules! verdict_object {
    (
        $(#[$doc:meta])* $name:ident { $($(#[$id_doc:meta])* $id:ident,)+ }
        with { $(#[$relation_doc:meta])* relation }
    ) => {
        $(#[$doc])*
        #[napi(object)]
        pub struct $name {
            $($(#[$id_doc])* pub $id: Id,)+
            /// From 0 to 1: the exact Jaccard similarity if `verified`, otherwise the estimate from the sketches.
            pub similarity: f64,
            /// `exact`, `near` or `similar`.
            pub match_type: String,
            /// Whether the documents' own features were compared.
            pub verified: bool,
            /// Hamming distance of the fingerprints in bits; null unless both documents have one.
            pub simhash_distance: Either<u32, Null>,
            /// How far the names and numbers agree, from 0 to 1; null if that is not measured.
            pub facts: Either<f64, Null>,
            /// Whether the two are templates: the same wording with different names or numbers.
            pub template: bool,
            $(#[$relation_doc])*
            pub relation: Either<String, Null>,
        }

        impl $name {
            fn new($($id: &DocId,)+ verdict: Verdict, relation: Option<Relation>) -> $name {
                let Verdict { similarity, kind, verified, distance, facts, template } = verdict;
                let match_type = kind.to_string();
                $(let $id = id::to_js($id);)+
                let simhash_distance = distance.map_or(Either::B(Null), Either::A);
                let facts = facts.map_or(Either::B(Null), Either::A);
                let relation = relation_name(relation);
                $name { $($id,)+ similarity, match_type, verified, simhash_distance, facts, template, relation }
            }
        }
    };
}

verdict_object! {
    /// A document that matches a query.
    FoundMatch {
        /// Id of the document.
        id,
    } with {
        /// How the query relates to the document; null unless the match is verified.
        relation
    }
}

verdict_object! {
    /// Two documents that match.
    Pair {
        /// The document that was inserted first.
        a,
        /// The document that was inserted later.
        b,
    } with {
        /// How the first document relates to the second one; null unless the match is verified.
        relation
    }
}

/// Returns the name of a relation.
pub(crate) fn relation_name(relation: Option<Relation>) -> Either<String, Null> {
    relation.map_or(Either::B(Null), |relation| Either::A(relation.name().to_owned()))
}

impl From<MatchedPair<'_>> for Pair {
    fn from(pair: MatchedPair<'_>) -> Pair {
        Pair::new(pair.a, pair.b, pair.verdict, pair.relation)
    }
}

/// The result of a search.
#[napi(js_name = "MatchList")]
pub struct MatchList {
    candidates: usize,
    capped: usize,
    matches: IntoIter<Match>,
}

impl From<Search> for MatchList {
    fn from(search: Search) -> MatchList {
        let Search { matches, candidates, capped, .. } = search;
        MatchList { candidates, capped, matches: matches.into_iter() }
    }
}

#[napi]
impl MatchList {
    /// Returns the number of candidates.
    #[napi(getter, catch_unwind)]
    pub fn candidates(&self) -> f64 {
        self.candidates as f64
    }

    /// Returns the number of limits reached.
    #[napi(getter, catch_unwind)]
    pub fn capped(&self) -> f64 {
        self.capped as f64
    }

    /// Removes and returns up to `count` matches, the most similar first.
    #[napi(catch_unwind)]
    pub fn take(&mut self, count: u32) -> Vec<FoundMatch> {
        let matches = self.matches.by_ref().take(count as usize);
        matches.map(|found| FoundMatch::new(&found.id, found.verdict, found.relation)).collect()
    }
}

/// The first pairs of an engine.
#[napi(js_name = "PairList")]
pub struct PairList {
    complete: bool,
    effort: Effort,
    estimate: RunEstimate,
    pairs: IntoIter<Pair>,
}

impl PairList {
    /// Computes up to `limit` pairs.
    pub(crate) fn new(engine: &Engine, limit: usize) -> PairList {
        let mut pairs = Vec::new();
        let mut complete = true;
        let effort = engine.pairs(|pair| {
            if pairs.len() == limit {
                complete = false;
                return ControlFlow::Break(());
            }
            pairs.push(Pair::from(pair));
            ControlFlow::Continue(())
        });
        PairList { complete, effort, estimate: RunEstimate::default(), pairs: pairs.into_iter() }
    }

    /// Creates the list of a run over a corpus. `ids` are the ids of documents in memory.
    pub(crate) fn from_run(found: &FoundPairs, ids: Option<&[DocId]>) -> PairList {
        let id = |doc| found.ids.id(doc, ids);
        let to_pair =
            |pair: &sameish_batch::Pair| Pair::new(&id(pair.a), &id(pair.b), pair.verdict, pair.relation);
        let pairs: Vec<Pair> = found.pairs.iter().map(to_pair).collect();
        let estimate = RunEstimate::new(found.omitted, found.recall);
        PairList { complete: found.complete, effort: found.effort, estimate, pairs: pairs.into_iter() }
    }
}

#[napi]
impl PairList {
    /// Returns `false` if there are more pairs than the limit.
    #[napi(getter, catch_unwind)]
    pub fn complete(&self) -> bool {
        self.complete
    }

    /// Returns the work done.
    #[napi(getter, catch_unwind)]
    pub fn effort(&self) -> EffortCounts {
        self.effort.into()
    }

    /// Returns how complete the list is, for a run over a corpus.
    #[napi(getter, catch_unwind)]
    pub fn estimate(&self) -> RunEstimate {
        self.estimate.clone()
    }

    /// Removes and returns up to `count` pairs.
    #[napi(catch_unwind)]
    pub fn take(&mut self, count: u32) -> Vec<Pair> {
        self.pairs.by_ref().take(count as usize).collect()
    }
}

/// Clusters of documents. The members of all clusters are in one list, which `sizes` divides.
#[napi(js_name = "ClusterList")]
#[derive(Default)]
pub struct ClusterList {
    sizes: Vec<u32>,
    spreads: Vec<f64>,
    by_distance: bool,
    cut: usize,
    effort: Effort,
    estimate: RunEstimate,
    members: VecDeque<DocId>,
}

impl ClusterList {
    /// Creates an empty list.
    pub(crate) fn with_effort(effort: Effort, estimate: RunEstimate) -> ClusterList {
        ClusterList { effort, estimate, ..ClusterList::default() }
    }

    /// Appends a cluster. All clusters of a list must have the same kind of spread.
    pub(crate) fn push(&mut self, members: impl IntoIterator<Item = DocId>, spread: Spread) {
        let start = self.members.len();
        self.members.extend(members);
        self.sizes.push((self.members.len() - start) as u32);
        self.by_distance = matches!(spread, Spread::AverageDistance(_));
        let (Spread::AverageDistance(mean) | Spread::MeanSimilarity(mean)) = spread;
        self.spreads.push(mean);
    }
}

impl From<Groups> for ClusterList {
    fn from(groups: Groups) -> ClusterList {
        let mut list = ClusterList { cut: groups.cut, effort: groups.effort, ..ClusterList::default() };
        for group in groups.groups {
            list.push(group.members, group.spread);
        }
        list
    }
}

#[napi]
impl ClusterList {
    /// Returns the number of members of each cluster.
    #[napi(getter, catch_unwind)]
    pub fn sizes(&self) -> Uint32Array {
        self.sizes.clone().into()
    }

    /// Returns the average distance or the mean similarity of each cluster.
    #[napi(getter, catch_unwind)]
    pub fn spreads(&self) -> Float64Array {
        self.spreads.clone().into()
    }

    /// Returns `true` if the spreads are distances.
    #[napi(getter, catch_unwind)]
    pub fn by_distance(&self) -> bool {
        self.by_distance
    }

    /// Returns the number of matches between documents of different clusters.
    #[napi(getter, catch_unwind)]
    pub fn cut(&self) -> f64 {
        self.cut as f64
    }

    /// Returns the work done.
    #[napi(getter, catch_unwind)]
    pub fn effort(&self) -> EffortCounts {
        self.effort.into()
    }

    /// Returns how complete the clusters are, for a run over a corpus.
    #[napi(getter, catch_unwind)]
    pub fn estimate(&self) -> RunEstimate {
        self.estimate.clone()
    }

    /// Removes and returns up to `count` members. The members of a cluster are consecutive, with its center first.
    #[napi(catch_unwind)]
    pub fn take(&mut self, count: u32) -> Vec<Id> {
        let count = self.members.len().min(count as usize);
        self.members.drain(..count).map(|member| id::to_js(&member)).collect()
    }
}
