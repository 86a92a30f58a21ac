//! Verdicts and evidence: is a candidate a match, of which kind, and why?
//!
//! ```text
//! judge.rs      decides whether a candidate is a match, and returns its verdict
//! facts.rs      distinguishes copies from templates by their names and numbers
//! fact_profile.rs finds templates by counts and parities of facts
//! related_facts.rs compares facts in a group of similar texts
//! passages.rs   finds the passages that two texts share
//! differences.rs finds the values, names and words in which two texts differ
//! suffix.rs     builds the suffix array for the passages
//! offsets.rs    converts the offsets of passages to other units
//! relation.rs   is one text an excerpt or an update of the other?
//! interval.rs   confidence intervals of proportions
//! ```

mod differences;
mod fact_items;
mod fact_profile;
mod facts;
mod interval;
mod judge;
mod key_set;
mod offsets;
mod passages;
mod related_facts;
mod relation;
mod suffix;

pub(crate) use differences::differences;
pub use differences::{Difference, DifferenceKind};
#[doc(hidden)]
pub use fact_items::{FactItem, FactItems, SpareFacts};
#[doc(hidden)]
pub use fact_profile::FactsProfile;
pub use facts::{facts_agreement, is_template};
#[doc(hidden)]
pub use interval::Interval;
pub use judge::{Judge, Side, Verdict};
pub use offsets::{OffsetUnit, UnknownOffsetUnit};
pub use passages::{SharedRun, SharedRuns, shared_runs};
#[doc(hidden)]
pub use related_facts::{CommonFacts, RelatedFacts};
pub use relation::{Overlap, Relation};

use crate::text::Span;
use std::fmt;

/// The kind of a match.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[cfg_attr(feature = "serde", serde(rename_all = "lowercase"))]
pub enum MatchKind {
    /// Equal normalized text.
    Exact,
    /// A Jaccard similarity of at least 0.8, or fingerprints that differ in at most 3 bits.
    Near,
    /// Any other match.
    Similar,
}

/// The relation of two compared documents: a kind of match, or different.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[cfg_attr(feature = "serde", serde(into = "String", try_from = "String"))]
pub enum MatchType {
    /// A match of this kind.
    Match(MatchKind),
    /// No match.
    Different,
}

impl MatchType {
    /// Classifies a Hamming distance: 0 is exact, up to 3 near, up to 10 similar, otherwise different.
    ///
    /// ```
    /// use sameish::matching::MatchType;
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

    /// Classifies a pair by all available measures.
    ///
    /// The Hamming distance alone decides only for configurations that do not verify. For all other configurations, a small
    /// distance counts only if the larger text contains half of the smaller text's features, because long texts that share only
    /// function words also have similar fingerprints.
    pub(crate) fn judge(measures: Measures) -> MatchType {
        let within = |limit| measures.distance.is_some_and(|distance| distance <= limit);
        let contained = measures.containment >= SIMILAR_JACCARD && within(SIMILAR_DISTANCE);
        let alike = measures.jaccard >= SIMILAR_JACCARD.min(measures.threshold) || contained;
        if measures.equal {
            MatchType::Match(MatchKind::Exact)
        } else if measures.jaccard >= NEAR_JACCARD || within(NEAR_DISTANCE) && (alike || !measures.verified) {
            MatchType::Match(MatchKind::Near)
        } else if alike || within(SIMILAR_DISTANCE) && !measures.verified {
            MatchType::Match(MatchKind::Similar)
        } else {
            MatchType::Different
        }
    }
}

/// The measures of a pair.
#[derive(Clone, Copy)]
pub(crate) struct Measures {
    /// Equal normalized text.
    pub(crate) equal: bool,
    pub(crate) jaccard: f64,
    /// The fraction of the smaller side's features that the other side contains.
    pub(crate) containment: f64,
    /// The Hamming distance of the fingerprints, if both texts have one.
    pub(crate) distance: Option<u32>,
    /// The minimum Jaccard similarity of a match.
    pub(crate) threshold: f64,
    /// Whether a match needs more than a small Hamming distance.
    pub(crate) verified: bool,
}

const NEAR_DISTANCE: u32 = 3;
const SIMILAR_DISTANCE: u32 = 10;
const NEAR_JACCARD: f64 = 0.8;
const SIMILAR_JACCARD: f64 = 0.5;

impl MatchKind {
    /// Returns the name used in output.
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

impl From<MatchType> for String {
    fn from(kind: MatchType) -> String {
        kind.to_string()
    }
}

impl TryFrom<String> for MatchType {
    type Error = String;

    fn try_from(name: String) -> Result<MatchType, String> {
        let kinds = [MatchKind::Exact, MatchKind::Near, MatchKind::Similar].map(MatchType::Match);
        let mut all = kinds.into_iter().chain([MatchType::Different]);
        all.find(|kind| kind.to_string() == name).ok_or_else(|| format!("unknown match type `{name}`"))
    }
}

/// Converts a Hamming distance, or an average of distances, to a similarity: 1 - d/64, and 0 beyond 64.
///
/// ```
/// assert_eq!(sameish::matching::distance_to_similarity(3), 0.953125);
/// ```
pub fn distance_to_similarity(distance: impl Into<f64>) -> f64 {
    1.0 - distance.into().min(64.0) / 64.0
}

/// A passage that two texts share, as byte offsets into each.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct Passage {
    /// The offset of the first byte in the first text.
    pub a_start: usize,
    /// The offset after the last byte in the first text.
    pub a_end: usize,
    /// The offset of the first byte in the second text.
    pub b_start: usize,
    /// The offset after the last byte in the second text.
    pub b_end: usize,
    /// The length in tokens.
    pub tokens: usize,
}

/// The passages that two texts share, and the fraction of each text that they cover.
#[derive(Clone, Debug, Default, PartialEq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct Evidence {
    /// The maximal shared passages, in the order of the first text.
    pub passages: Vec<Passage>,
    /// The fraction of the first text's tokens that are in a shared passage.
    pub coverage_a: f64,
    /// The fraction of the second text's tokens that are in a shared passage.
    pub coverage_b: f64,
    /// Parts in which the two texts differ between passages that they share, in the order of the texts; at most 1,000.
    #[cfg_attr(feature = "serde", serde(default))]
    pub differences: Vec<Difference>,
}

impl Evidence {
    /// Finds the shared passages of at least `min_tokens` tokens. The differences are not filled in.
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
            differences: Vec::new(),
        }
    }
}

/// The hashes of a text's tokens with their offsets.
#[derive(Clone, Debug, Default)]
pub(crate) struct Located {
    pub(crate) hashes: Vec<u64>,
    pub(crate) spans: Vec<Span>,
}

#[cfg(test)]
mod tests {
    use super::*;

    fn judge(jaccard: f64, distance: u32, verified: bool) -> String {
        let measures = Measures {
            equal: false,
            jaccard,
            containment: jaccard,
            distance: Some(distance),
            threshold: 0.8,
            verified,
        };
        MatchType::judge(measures).to_string()
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
    fn small_distance_alone_is_no_verified_match() {
        assert_eq!(judge(0.0, 0, true), "different");
        assert_eq!(judge(0.49, 3, true), "different");
        assert_eq!(judge(0.5, 3, true), "near");
        let measures = Measures {
            equal: false,
            jaccard: 0.4,
            containment: 0.6,
            distance: Some(9),
            threshold: 0.8,
            verified: true,
        };
        assert_eq!(MatchType::judge(measures).to_string(), "similar");
        assert_eq!(MatchType::judge(Measures { distance: Some(3), ..measures }).to_string(), "near");
        assert_eq!(MatchType::judge(Measures { distance: Some(11), ..measures }).to_string(), "different");
        assert_eq!(MatchType::judge(Measures { equal: true, ..measures }).to_string(), "exact");
    }

    #[test]
    fn converts_distances_to_similarities() {
        assert_eq!([0, 32, 64, 99].map(distance_to_similarity), [1.0, 0.5, 0.0, 0.0]);
    }
}
