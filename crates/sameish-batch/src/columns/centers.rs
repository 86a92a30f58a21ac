//! Which documents are centers, from matches that arrive in groups.

use std::collections::HashMap;

/// Whether a document is a center.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Center {
    /// Not decided yet.
    #[default]
    Unknown,
    /// A center.
    Yes,
    /// A member of the cluster of an earlier document.
    No,
}

impl Center {
    /// Reads a stored number.
    pub fn from_number(number: i8) -> Center {
        match number {
            1 => Center::Yes,
            2 => Center::No,
            _ => Center::Unknown,
        }
    }

    /// Returns a number for storage.
    pub fn number(self) -> i8 {
        match self {
            Center::Unknown => 0,
            Center::Yes => 1,
            Center::No => 2,
        }
    }
}

/// A match of a document with an earlier one.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct EarlierMatch<T> {
    /// Number of the earlier document.
    pub earlier: i64,
    /// What is known about the earlier document, if its own matches are not in the group.
    pub state: Center,
    /// Number of the later document.
    pub doc: i64,
    /// `true` if the later document may have matches that are not known yet, so that it cannot become a center.
    pub open: bool,
    /// What the caller wants to know about the match of a member with its center.
    pub attached: T,
}

/// What was decided about a document.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Decision<T> {
    /// Number of the document.
    pub doc: i64,
    /// Whether it is a center.
    pub state: Center,
    /// Its center and what is attached to the match with it. They are final if the earlier documents of all its matches are
    /// decided.
    pub center: Option<(i64, T)>,
}

/// Applies the rule of cohesive clusters to groups of matches: a document is a center unless it matches an earlier center, and
/// a member belongs to the first center that it matches.
///
/// All matches of a document with earlier ones must be in one group, and matches must arrive sorted by group and later
/// document. Documents that have no earlier match are decided by the caller. If a group is a connected component, all its
/// documents are decided at once. A larger component may be divided into ranges of documents; then each call decides at least
/// the documents of the first undecided range, and usually most others.
///
/// ```
/// use sameish_batch::columns::{Center, Centers, EarlierMatch};
///
/// // A chain 0 - 1 - 2 - 3: document 2 matches 1, but not the center 0.
/// let mut centers = Centers::default();
/// let mut decided = Vec::new();
/// for (earlier, doc) in [(0, 1), (1, 2), (2, 3)] {
///     centers.push(0, EarlierMatch { earlier, state: Center::Yes, doc, open: false, attached: () }, &mut decided);
/// }
/// centers.finish(&mut decided);
/// let states: Vec<Center> = decided.iter().map(|decision| decision.state).collect();
/// assert_eq!(states, [Center::No, Center::Yes, Center::No]);
/// assert_eq!(decided[2].center, Some((2, ())));
/// ```
#[derive(Clone, Debug)]
pub struct Centers<T> {
    group: Option<i64>,
    /// Documents of the group whose matches have been read.
    states: HashMap<i64, Center>,
    current: Option<Current<T>>,
}

impl<T> Default for Centers<T> {
    fn default() -> Centers<T> {
        Centers { group: None, states: HashMap::new(), current: None }
    }
}

/// The document whose matches are being read.
#[derive(Clone, Copy, Debug)]
struct Current<T> {
    doc: i64,
    open: bool,
    has_unknown: bool,
    /// The first center that it matches.
    center: Option<(i64, T)>,
}

impl<T: Copy> Centers<T> {
    /// Adds a match. Appends the document before it if all its matches have been read.
    pub fn push(&mut self, group: i64, found: EarlierMatch<T>, decided: &mut Vec<Decision<T>>) {
        if self.group != Some(group) || self.current.is_some_and(|current| current.doc != found.doc) {
            self.finish(decided);
        }
        if self.group != Some(group) {
            self.group = Some(group);
            self.states.clear();
        }
        let state = self.states.get(&found.earlier).copied().unwrap_or(found.state);
        let current = self.current.get_or_insert(Current {
            doc: found.doc,
            open: false,
            has_unknown: false,
            center: None,
        });
        current.open |= found.open;
        match state {
            Center::Unknown => current.has_unknown = true,
            Center::Yes if current.center.is_none_or(|(first, _)| found.earlier < first) => {
                current.center = Some((found.earlier, found.attached));
            }
            Center::Yes | Center::No => {}
        }
    }

    /// Decides the last document.
    pub fn finish(&mut self, decided: &mut Vec<Decision<T>>) {
        let Some(Current { doc, open, has_unknown, center }) = self.current.take() else { return };
        let state = match center {
            Some(_) => Center::No,
            None if has_unknown || open => Center::Unknown,
            None => Center::Yes,
        };
        self.states.insert(doc, state);
        decided.push(Decision { doc, state, center });
    }
}

/// Counts of the matches of centers: with documents that no earlier center has taken, and with members of other clusters.
///
/// ```
/// use sameish_batch::columns::StarCounts;
///
/// // A chain 0 - 1 - 2: document 1 belongs to 0, and 2 is a center.
/// let mut counts = StarCounts::default();
/// counts.add((0, None), (1, Some(0)), true, true, false);
/// counts.add((1, Some(0)), (2, None), true, true, false);
/// assert_eq!((counts.verified, counts.chains_cut), (1, 1));
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct StarCounts {
    /// Verified matches of a center with a document that no earlier center has taken.
    pub verified: u64,
    /// Pairs of the same kind that are templates and do not join.
    pub templates: u64,
    /// Matches that join, but whose documents are in different clusters.
    pub chains_cut: u64,
}

impl StarCounts {
    /// Counts a match of `a` with a later document `b`, each with its center if it is a member of a cluster.
    pub fn add(
        &mut self,
        (a, center_a): (i64, Option<i64>),
        (b, center_b): (i64, Option<i64>),
        joins: bool,
        verified: bool,
        template: bool,
    ) {
        let is_free = center_a.is_none() && center_b.unwrap_or(b) >= a;
        let elsewhere = center_a.is_none() && center_b.is_some_and(|center| center != a);
        let is_cut = joins && (elsewhere || center_a.is_some() && center_b.is_none());
        self.verified += u64::from(verified && is_free);
        self.templates += u64::from(template && !joins && is_free);
        self.chains_cut += u64::from(is_cut);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn decide(groups: &[(i64, EarlierMatch<()>)]) -> Vec<(i64, Center)> {
        let mut centers = Centers::default();
        let mut decided = Vec::new();
        groups.iter().for_each(|&(group, found)| centers.push(group, found, &mut decided));
        centers.finish(&mut decided);
        decided.into_iter().map(|decision| (decision.doc, decision.state)).collect()
    }

    fn found(earlier: i64, state: Center, doc: i64) -> EarlierMatch<()> {
        EarlierMatch { earlier, state, doc, open: false, attached: () }
    }

    #[test]
    fn waits_for_documents_that_are_decided_elsewhere() {
        let matches = [(1, found(4, Center::Unknown, 5)), (1, found(5, Center::Unknown, 6))];
        assert_eq!(decide(&matches), [(5, Center::Unknown), (6, Center::Unknown)]);
        let matches = [(1, found(4, Center::No, 5)), (1, found(5, Center::Unknown, 6))];
        assert_eq!(decide(&matches), [(5, Center::Yes), (6, Center::No)]);
    }

    #[test]
    fn a_match_with_a_center_decides_before_the_others_are_known() {
        let matches = [(1, found(3, Center::Unknown, 5)), (1, found(4, Center::Yes, 5))];
        assert_eq!(decide(&matches), [(5, Center::No)]);
    }

    #[test]
    fn an_open_document_becomes_no_center() {
        let open = EarlierMatch { open: true, ..found(3, Center::No, 5) };
        assert_eq!(decide(&[(1, open)]), [(5, Center::Unknown)]);
    }

    #[test]
    fn groups_are_independent() {
        let matches = [(1, found(0, Center::Yes, 5)), (2, found(5, Center::Yes, 6))];
        assert_eq!(decide(&matches), [(5, Center::No), (6, Center::No)]);
    }
}
