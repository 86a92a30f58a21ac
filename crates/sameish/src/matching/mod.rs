//! Is it a duplicate, and why?
//!
//! A candidate becomes a match when it is judged: how alike, of which kind, and on what evidence.

mod facts;
mod interval;
mod judge;
mod passages;
mod suffix;

pub use facts::{facts_agreement, is_template};
pub use interval::Interval;
pub use judge::{Judge, Side, Verdict};
pub use passages::{SharedRun, SharedRuns, shared_runs};

use crate::text::Span;
use std::fmt;

/// How close a match is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum MatchKind {
    /// Equal normalized text.
    Exact,
    /// Jaccard similarity of at least 0.8, or fingerprints at most 3 bits apart.
    Near,
    /// A match all the same.
    Similar,
}

/// What comparing two documents gives: a kind of match, or none.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum MatchType {
    /// A match of this kind.
    Match(MatchKind),
    /// No match.
    Different,
}

impl MatchType {
    /// What a distance between fingerprints tells by itself: 0 exact, to 3 near, to 10 similar, else different.
    ///
    /// ```
    /// use sameish::MatchType;
    /// let names: Vec<String> = [0, 3, 10, 11].map(|d| MatchType::of_distance(d).to_string()).into();
    /// assert_eq!(names, ["exact", "near", "similar", "different"]);
    /// ```
    pub fn of_distance(distance: u32) -> MatchType {
        match distance {
            0 => MatchType::Match(MatchKind::Exact),
            1..=NEAR_DISTANCE => MatchType::Match(MatchKind::Near),
            4..=SIMILAR_DISTANCE => MatchType::Match(MatchKind::Similar),
            _ => MatchType::Different,
        }
    }

    /// What two documents are to each other by everything that is known.
    ///
    /// Fingerprints alone decide only for presets that judge by distance, as their seeds do. For the others a small
    /// distance counts only where half of the smaller text's features are in the other: long texts that share nothing
    /// but small words have near fingerprints too.
    pub(crate) fn judge(signs: Signs) -> MatchType {
        let within = |limit| signs.distance.is_some_and(|distance| distance <= limit);
        let contained = signs.containment >= SIMILAR_JACCARD && within(SIMILAR_DISTANCE);
        let alike = signs.jaccard >= SIMILAR_JACCARD.min(signs.threshold) || contained;
        if signs.equal {
            MatchType::Match(MatchKind::Exact)
        } else if signs.jaccard >= NEAR_JACCARD || within(NEAR_DISTANCE) && (alike || !signs.verified) {
            MatchType::Match(MatchKind::Near)
        } else if alike || within(SIMILAR_DISTANCE) && !signs.verified {
            MatchType::Match(MatchKind::Similar)
        } else {
            MatchType::Different
        }
    }
}

/// What is known of a pair when it is judged.
#[derive(Clone, Copy)]
pub(crate) struct Signs {
    /// Equal normalized text.
    pub(crate) equal: bool,
    pub(crate) jaccard: f64,
    /// Share of the smaller side's features that the other has.
    pub(crate) containment: f64,
    /// Between fingerprints, where both texts have one.
    pub(crate) distance: Option<u32>,
    /// Least Jaccard similarity that the settings call a match.
    pub(crate) threshold: f64,
    /// Whether the settings ask for more than a distance.
    pub(crate) verified: bool,
}

const NEAR_DISTANCE: u32 = 3;
const SIMILAR_DISTANCE: u32 = 10;
const NEAR_JACCARD: f64 = 0.8;
const SIMILAR_JACCARD: f64 = 0.5;

impl MatchKind {
    /// The word for it, as outputs write it.
    pub fn name(self) -> &'static str {
        match self {
            MatchKind::Exact => "exact",
            MatchKind::Near => "near",
            MatchKind::Similar => "similar",
        }
    }
}

impl fmt::Display for MatchKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}

impl fmt::Display for MatchType {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            MatchType::Match(kind) => kind.fmt(f),
            MatchType::Different => f.pad("different"),
        }
    }
}

/// The similarity of two fingerprints that differ in so many bits, or do on average: 1 - d/64, and 0 beyond 64.
///
/// ```
/// assert_eq!(sameish::distance_to_similarity(3), 0.953125);
/// ```
pub fn distance_to_similarity(distance: impl Into<f64>) -> f64 {
    1.0 - distance.into().min(64.0) / 64.0
}

/// A passage that stands in both texts, in bytes of each.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Passage {
    /// First byte in the first text.
    pub a_start: usize,
    /// Behind the last byte in the first text.
    pub a_end: usize,
    /// First byte in the second text.
    pub b_start: usize,
    /// Behind the last byte in the second text.
    pub b_end: usize,
    /// How many tokens long.
    pub tokens: usize,
}

/// Why two texts match: the passages they share, and how much of each text these cover.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Evidence {
    /// Maximal shared passages, in the order of the first text.
    pub passages: Vec<Passage>,
    /// Share of the first text's tokens that stand in a shared passage.
    pub coverage_a: f64,
    /// The same for the second text.
    pub coverage_b: f64,
}

impl Evidence {
    /// The evidence in two texts, given as their tokens' hashes and places. Passages have at least `min_tokens` tokens.
    pub(crate) fn find(a: &Located, b: &Located, min_tokens: usize) -> Evidence {
        let shared = shared_runs(&a.hashes, &b.hashes, min_tokens);
        let passages = shared.runs.iter().map(|run| Passage {
            a_start: a.spans[run.a_start].start,
            a_end: a.spans[run.a_start + run.len - 1].end,
            b_start: b.spans[run.b_start].start,
            b_end: b.spans[run.b_start + run.len - 1].end,
            tokens: run.len,
        });
        let share = |covered: usize, of: usize| if of == 0 { 0.0 } else { covered as f64 / of as f64 };
        Evidence {
            passages: passages.collect(),
            coverage_a: share(shared.a_covered, a.hashes.len()),
            coverage_b: share(shared.b_covered, b.hashes.len()),
        }
    }
}

/// The tokens of a text as hashes, and where each stood.
#[derive(Clone, Debug, Default)]
pub(crate) struct Located {
    pub(crate) hashes: Vec<u64>,
    pub(crate) spans: Vec<Span>,
}

#[cfg(test)]
mod tests {
    use super::*;

    fn judge(jaccard: f64, distance: u32, verified: bool) -> String {
        let (equal, containment, distance) = (false, jaccard, Some(distance));
        let signs = Signs { equal, jaccard, containment, distance, threshold: 0.8, verified };
        MatchType::judge(signs).to_string()
    }

    #[test]
    fn limits_are_inclusive() {
        assert_eq!(judge(0.8, 64, true), "near");
        assert_eq!(judge(0.799, 64, true), "similar");
        assert_eq!(judge(0.5, 64, true), "similar");
        assert_eq!(judge(0.499, 64, true), "different");
        assert_eq!(judge(0.0, 3, false), "near");
        assert_eq!(judge(0.0, 10, false), "similar");
        assert_eq!(judge(0.0, 11, false), "different");
    }

    #[test]
    fn distance_alone_makes_no_verified_match() {
        assert_eq!(judge(0.0, 0, true), "different");
        assert_eq!(judge(0.49, 3, true), "different");
        assert_eq!(judge(0.5, 3, true), "near");
        let signs = Signs {
            equal: false,
            jaccard: 0.4,
            containment: 0.6,
            distance: Some(9),
            threshold: 0.8,
            verified: true,
        };
        assert_eq!(MatchType::judge(signs).to_string(), "similar");
        assert_eq!(MatchType::judge(Signs { distance: Some(3), ..signs }).to_string(), "near");
        assert_eq!(MatchType::judge(Signs { distance: Some(11), ..signs }).to_string(), "different");
        assert_eq!(MatchType::judge(Signs { equal: true, ..signs }).to_string(), "exact");
    }

    #[test]
    fn similarity_of_a_distance() {
        assert_eq!([0, 32, 64, 99].map(distance_to_similarity), [1.0, 0.5, 0.0, 0.0]);
    }
}
