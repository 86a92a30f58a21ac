//! How do long lists cross into JavaScript?
//!
//! Objects of JavaScript can only be made on the event loop. So a list waits here as it is, and `lib/` takes it piece by
//! piece and lets others have the loop in between.

use crate::id::{self, Id};
use napi::bindgen_prelude::{Float64Array, Uint32Array};
use napi_derive::napi;
use sameish::{DocId, Effort, Engine, Groups, Match, MatchedPair, Search, Spread, Verdict};
use std::ops::ControlFlow;
use std::vec::IntoIter;

/// What it took to find all matches.
#[napi(object)]
pub struct Work {
    /// Documents that were asked for their matches.
    pub asked: f64,
    /// Candidates that were judged.
    pub candidates: f64,
    /// Limits that were hit: where it is not 0, matches may be missing.
    pub capped: f64,
}

impl From<Effort> for Work {
    fn from(effort: Effort) -> Work {
        let Effort { asked, candidates, capped } = effort;
        Work { asked: asked as f64, candidates: candidates as f64, capped: capped as f64 }
    }
}

/// Groups of documents: how large each is, how close, and the members of all in a row, each center first.
#[napi(js_name = "GroupList")]
pub struct GroupList {
    sizes: Vec<u32>,
    spreads: Vec<f64>,
    by_distance: bool,
    cut: usize,
    effort: Effort,
    members: IntoIter<DocId>,
}

impl GroupList {
    /// Groups around their centers: average distance, and members of each, the center first.
    pub(crate) fn of_stars(stars: Vec<(f64, Vec<DocId>)>) -> GroupList {
        let spreads = stars.iter().map(|(average, _)| *average).collect();
        let groups = stars.into_iter().map(|(_, members)| members);
        GroupList::new(groups.collect(), spreads, true, 0, Effort::default())
    }

    pub(crate) fn of_engine(engine: &Engine) -> GroupList {
        let Groups { groups, cut, effort } = engine.groups();
        let by_distance =
            matches!(groups.first().map(|group| group.spread), Some(Spread::AverageDistance(_)));
        let spread = |spread| match spread {
            Spread::AverageDistance(mean) | Spread::MeanSimilarity(mean) => mean,
        };
        let spreads = groups.iter().map(|group| spread(group.spread)).collect();
        let members = groups.into_iter().map(|group| group.members);
        GroupList::new(members.collect(), spreads, by_distance, cut, effort)
    }

    fn new(
        groups: Vec<Vec<DocId>>,
        spreads: Vec<f64>,
        by_distance: bool,
        cut: usize,
        effort: Effort,
    ) -> GroupList {
        let sizes = groups.iter().map(|members| members.len() as u32).collect();
        let members: Vec<DocId> = groups.into_iter().flatten().collect();
        GroupList { sizes, spreads, by_distance, cut, effort, members: members.into_iter() }
    }
}

#[napi]
impl GroupList {
    /// Members of each group.
    #[napi(getter, catch_unwind)]
    pub fn sizes(&self) -> Uint32Array {
        self.sizes.clone().into()
    }

    /// Average distance or mean similarity of each group.
    #[napi(getter, catch_unwind)]
    pub fn spreads(&self) -> Float64Array {
        self.spreads.clone().into()
    }

    /// Whether the spreads are distances.
    #[napi(getter, catch_unwind)]
    pub fn by_distance(&self) -> bool {
        self.by_distance
    }

    /// Matches between groups that were cut.
    #[napi(getter, catch_unwind)]
    pub fn cut(&self) -> f64 {
        self.cut as f64
    }

    /// What it took.
    #[napi(getter, catch_unwind)]
    pub fn work(&self) -> Work {
        self.effort.into()
    }

    /// The next so many members; none at the end.
    #[napi(catch_unwind)]
    pub fn take(&mut self, count: u32) -> Vec<Id> {
        self.members.by_ref().take(count as usize).map(|member| id::write(&member)).collect()
    }
}

/// Two documents that match.
#[napi(object)]
pub struct Pair {
    /// The one that came first.
    pub a: Id,
    /// The one that came later.
    pub b: Id,
    /// From 0 to 1.
    pub similarity: f64,
    /// `exact`, `near` or `similar`.
    pub match_type: String,
    /// Whether it was judged on the documents' own features.
    pub verified: bool,
    /// Bits in which the fingerprints differ.
    pub distance: Option<u32>,
    /// How far numbers and rare words agree.
    pub facts: Option<f64>,
    /// Whether the two are of one form with other facts.
    pub template: bool,
}

/// Pairs, waiting to be taken.
#[napi(js_name = "PairList")]
pub struct PairList {
    complete: bool,
    effort: Effort,
    pairs: IntoIter<Pair>,
}

impl PairList {
    /// The first `limit` pairs of an engine.
    pub(crate) fn of_engine(engine: &Engine, limit: usize) -> PairList {
        let (mut pairs, mut complete) = (Vec::new(), true);
        let effort = engine.pairs(|pair| {
            if pairs.len() == limit {
                complete = false;
                return ControlFlow::Break(());
            }
            pairs.push(Pair::of(pair));
            ControlFlow::Continue(())
        });
        PairList { complete, effort, pairs: pairs.into_iter() }
    }
}

impl Pair {
    pub(crate) fn of(pair: MatchedPair<'_>) -> Pair {
        let MatchedPair { a, b, verdict } = pair;
        let Verdict { similarity, kind, verified, distance, facts, template } = verdict;
        let (a, b, match_type) = (id::write(a), id::write(b), kind.to_string());
        Pair { a, b, similarity, match_type, verified, distance, facts, template }
    }
}

#[napi]
impl PairList {
    /// Whether these are all.
    #[napi(getter, catch_unwind)]
    pub fn complete(&self) -> bool {
        self.complete
    }

    /// What it took.
    #[napi(getter, catch_unwind)]
    pub fn work(&self) -> Work {
        self.effort.into()
    }

    /// The next so many pairs; none at the end.
    #[napi(catch_unwind)]
    pub fn take(&mut self, count: u32) -> Vec<Pair> {
        self.pairs.by_ref().take(count as usize).collect()
    }
}

/// A document that matches.
#[napi(object)]
pub struct FoundMatch {
    /// Which.
    pub id: Id,
    /// From 0 to 1.
    pub similarity: f64,
    /// `exact`, `near` or `similar`.
    pub match_type: String,
    /// Whether it was judged on the documents' own features.
    pub verified: bool,
    /// Bits in which the fingerprints differ.
    pub distance: Option<u32>,
    /// How far numbers and rare words agree.
    pub facts: Option<f64>,
    /// Whether the two are of one form with other facts.
    pub template: bool,
}

impl From<Match> for FoundMatch {
    fn from(found: Match) -> FoundMatch {
        FoundMatch {
            id: id::write(&found.id),
            similarity: found.verdict.similarity,
            match_type: found.verdict.kind.to_string(),
            verified: found.verdict.verified,
            distance: found.verdict.distance,
            facts: found.verdict.facts,
            template: found.verdict.template,
        }
    }
}

/// What a search found, waiting to be taken.
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
    /// Candidates that were judged.
    #[napi(getter, catch_unwind)]
    pub fn candidates(&self) -> f64 {
        self.candidates as f64
    }

    /// Limits that were hit.
    #[napi(getter, catch_unwind)]
    pub fn capped(&self) -> f64 {
        self.capped as f64
    }

    /// The next so many matches, the most similar first; none at the end.
    #[napi(catch_unwind)]
    pub fn take(&mut self, count: u32) -> Vec<FoundMatch> {
        self.matches.by_ref().take(count as usize).map(FoundMatch::from).collect()
    }
}
