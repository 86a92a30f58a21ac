//! The relation of two texts: is one an excerpt or an update of the other?
//!
//! Containment says how much of each text is in the other one, and dates say which one came first. A later text is an update of an
//! earlier one if it has most of it and adds to it, or changes its names or numbers. An earlier text that has most of a later one
//! and more was shortened, so it contains the later one.

use super::{MatchKind, Verdict};
use crate::document::Timestamp;
use std::cmp::Ordering;

/// The smallest containment of a text that counts as contained in another one.
const CONTAINED: f64 = 0.9;
/// The containment from which on a text that contains another one counts as equal to it, except for small changes.
const SAME: f64 = 0.8;
/// The smallest containment of both texts of an update.
const UPDATED: f64 = 0.5;

/// How the first of two texts relates to the second one.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[cfg_attr(feature = "serde", serde(rename_all = "snake_case"))]
pub enum Relation {
    /// They are equal, or nearly equal with the same names and numbers.
    Same,
    /// The first text contains the second one, and more.
    Contains,
    /// The first text is contained in the second one, which has more.
    ContainedIn,
    /// The first text is a later version of the second one.
    UpdateOf,
    /// The first text is an earlier version of the second one.
    UpdatedBy,
    /// They share a part of their wording.
    Overlaps,
}

/// What a [`Relation`] is derived from.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Overlap {
    /// The fraction of the first text's shingles that the second text contains.
    pub containment_a: f64,
    /// The fraction of the second text's shingles that the first text contains.
    pub containment_b: f64,
    /// How far the names and numbers agree, from 0 to 1, if that is known.
    pub facts: Option<f64>,
    /// Whether the texts are a template: the same wording with different names or numbers.
    pub template: bool,
}

impl Overlap {
    /// Returns the relation of two texts with these dates, if both are known. Returns `None` if the texts share no shingles.
    ///
    /// ```
    /// use sameish::Timestamp;
    /// use sameish::matching::{Overlap, Relation};
    ///
    /// let overlap = Overlap { containment_a: 1.0, containment_b: 0.7, facts: Some(1.0), template: false };
    /// assert_eq!(overlap.relation(None), Some(Relation::ContainedIn));
    /// let [first, second] = ["2026-11-18", "2026-11-19"].map(|date| Timestamp::parse(date).unwrap());
    /// assert_eq!(overlap.relation(Some([first, second])), Some(Relation::UpdatedBy));
    /// assert_eq!(overlap.relation(Some([second, first])), Some(Relation::ContainedIn));
    /// ```
    pub fn relation(&self, dates: Option<[Timestamp; 2]>) -> Option<Relation> {
        self.relation_by(|| order_of(dates))
    }

    /// Returns the relation of two texts. Calls `order`, which compares their dates, only if the relation depends on it.
    fn relation_by(&self, order: impl FnOnce() -> Ordering) -> Option<Relation> {
        let Overlap { containment_a: a, containment_b: b, facts, template } = *self;
        let (less, more) = (a.min(b), a.max(b));
        if more <= 0.0 {
            return None;
        }
        if template {
            return Some(Relation::Overlaps);
        }
        let update = || match order() {
            Ordering::Greater => Some(Relation::UpdateOf),
            Ordering::Less => Some(Relation::UpdatedBy),
            Ordering::Equal => None,
        };
        let changes_facts = facts.is_some_and(|facts| facts < 1.0);
        if more >= CONTAINED && less < SAME {
            let (contained, extended) = if a > b {
                (Relation::ContainedIn, Relation::UpdatedBy)
            } else {
                (Relation::Contains, Relation::UpdateOf)
            };
            let is_update = less >= UPDATED && update() == Some(extended);
            return Some(if is_update { extended } else { contained });
        }
        if changes_facts
            && less >= UPDATED
            && let Some(update) = update()
        {
            return Some(update);
        }
        Some(if more >= CONTAINED && !changes_facts { Relation::Same } else { Relation::Overlaps })
    }
}

impl Verdict {
    /// Returns the relation of the first of two matching documents to the second one, if the match is verified.
    ///
    /// `shingles` are the numbers of their distinct shingles. With the Jaccard similarity, they determine how many are shared, and so
    /// which part of each document the other one contains. `dates` are those of the two documents, if both are known.
    pub fn relation(&self, shingles: [usize; 2], dates: Option<[Timestamp; 2]>) -> Option<Relation> {
        self.relation_by(shingles, || order_of(dates))
    }

    /// Returns `true` if the relation of two documents with these numbers of shingles depends on their dates.
    pub(crate) fn needs_dates(&self, shingles: [usize; 2]) -> bool {
        let mut needed = false;
        self.relation_by(shingles, || {
            needed = true;
            Ordering::Equal
        });
        needed
    }

    fn relation_by(&self, shingles: [usize; 2], order: impl FnOnce() -> Ordering) -> Option<Relation> {
        if !self.verified {
            return None;
        }
        if self.kind == MatchKind::Exact {
            return Some(Relation::Same);
        }
        let [a, b] = shingles.map(|shingles| shingles.max(1) as f64);
        // j = s / (a + b - s) for s shared shingles.
        let shared = (self.similarity * (a + b) / (1.0 + self.similarity)).round();
        let overlap = Overlap {
            containment_a: shared / a,
            containment_b: shared / b,
            facts: self.facts,
            template: self.template,
        };
        overlap.relation_by(order)
    }
}

/// Compares the dates of two texts. Without both, no text is later than the other one.
fn order_of(dates: Option<[Timestamp; 2]>) -> Ordering {
    dates.map_or(Ordering::Equal, |[a, b]| a.as_milliseconds().cmp(&b.as_milliseconds()))
}

impl Relation {
    /// Returns the name used in outputs.
    pub fn name(self) -> &'static str {
        match self {
            Relation::Same => "same",
            Relation::Contains => "contains",
            Relation::ContainedIn => "contained_in",
            Relation::UpdateOf => "update_of",
            Relation::UpdatedBy => "updated_by",
            Relation::Overlaps => "overlaps",
        }
    }

    /// Returns the relation of the second text to the first one.
    pub fn reversed(self) -> Relation {
        match self {
            Relation::Same => Relation::Same,
            Relation::Contains => Relation::ContainedIn,
            Relation::ContainedIn => Relation::Contains,
            Relation::UpdateOf => Relation::UpdatedBy,
            Relation::UpdatedBy => Relation::UpdateOf,
            Relation::Overlaps => Relation::Overlaps,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn relation(a: f64, b: f64, facts: f64, later: i64) -> Relation {
        let overlap = Overlap { containment_a: a, containment_b: b, facts: Some(facts), template: false };
        let dates = [later.max(0), (-later).max(0)].map(|ms| Timestamp::from_milliseconds(ms).unwrap());
        let found = overlap.relation(Some(dates)).unwrap();
        let swapped = Overlap { containment_a: b, containment_b: a, ..overlap };
        let [first, second] = dates;
        assert_eq!(swapped.relation(Some([second, first])), Some(found.reversed()));
        found
    }

    #[test]
    fn containment_and_dates_decide() {
        assert_eq!(relation(1.0, 1.0, 1.0, 5), Relation::Same);
        assert_eq!(relation(1.0, 1.0, 0.9, 5), Relation::UpdateOf, "equal shingles with a changed sign");
        assert_eq!(relation(0.95, 0.85, 1.0, 5), Relation::Same, "a small change of the wording");
        assert_eq!(relation(0.95, 0.95, 0.9, 5), Relation::UpdateOf, "a changed number in a later text");
        assert_eq!(relation(0.95, 0.95, 0.9, 0), Relation::Overlaps, "without an order, it is no update");
        assert_eq!(
            relation(0.3, 1.0, 1.0, 5),
            Relation::Contains,
            "a long text with a short one from before"
        );
        assert_eq!(relation(0.7, 1.0, 1.0, 5), Relation::UpdateOf, "a later text adds to an earlier one");
        assert_eq!(relation(0.7, 1.0, 1.0, -5), Relation::Contains, "a later text shortens an earlier one");
        assert_eq!(relation(0.7, 0.7, 0.9, 5), Relation::UpdateOf);
        assert_eq!(relation(0.7, 0.7, 1.0, 5), Relation::Overlaps);
        assert_eq!(relation(0.3, 0.3, 0.5, 5), Relation::Overlaps);
    }

    #[test]
    fn templates_overlap_and_different_texts_have_no_relation() {
        let overlap = Overlap { containment_a: 0.95, containment_b: 0.95, facts: Some(0.2), template: true };
        assert_eq!(overlap.relation(None), Some(Relation::Overlaps));
        let nothing = Overlap { containment_a: 0.0, containment_b: 0.0, ..overlap };
        assert_eq!(nothing.relation(None), None);
    }

    #[test]
    fn similarity_and_sizes_determine_the_containment() {
        let verdict = |shared: usize, a: usize, b: usize| Verdict {
            similarity: shared as f64 / (a + b - shared) as f64,
            kind: MatchKind::Similar,
            verified: true,
            distance: None,
            facts: Some(1.0),
            template: false,
        };
        for a in 1..60 {
            for b in 1..60 {
                for shared in 1..=a.min(b) {
                    let overlap = Overlap {
                        containment_a: shared as f64 / a as f64,
                        containment_b: shared as f64 / b as f64,
                        facts: Some(1.0),
                        template: false,
                    };
                    let verdict = verdict(shared, a, b);
                    assert_eq!(verdict.relation([a, b], None), overlap.relation(None));
                    let [first, second] = [0, 1].map(|ms| Timestamp::from_milliseconds(ms).unwrap());
                    let orders = [[first, second], [second, first], [first, first]];
                    let by_order = orders.map(|dates| verdict.relation([a, b], Some(dates)));
                    let needs_dates = by_order.iter().any(|relation| *relation != by_order[2]);
                    assert_eq!(verdict.needs_dates([a, b]), needs_dates);
                }
            }
        }
        assert_eq!(verdict(7, 7, 20).relation([7, 20], None), Some(Relation::ContainedIn));
        let estimated = Verdict { verified: false, ..verdict(7, 7, 20) };
        assert_eq!(estimated.relation([7, 20], None), None);
        let exact = Verdict { kind: MatchKind::Exact, ..verdict(1, 1, 1) };
        assert_eq!(exact.relation([0, 0], None), Some(Relation::Same));
    }
}
