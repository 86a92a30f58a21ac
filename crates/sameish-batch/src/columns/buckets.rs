//! Candidates from a stream of bucket members that is sorted by key.

use super::rows::NearRule;
use sameish::sketch::Outline;
use sameish::{Analyzer, Fingerprint};

/// A text in a bucket.
#[derive(Clone, Copy, Debug)]
pub struct Member {
    /// Number of the text. Numbers define the order of the documents.
    pub doc: i64,
    /// Whether the text belongs to the other side of a join.
    pub reference: bool,
    /// Outline of its signature, if it has one.
    pub outline: Option<Outline>,
    /// Its fingerprint, if it has one.
    pub fingerprint: Option<Fingerprint>,
}

/// Which pairs of a bucket are candidates.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Sides {
    /// All pairs.
    All,
    /// Pairs of a text and a reference text.
    Across,
}

/// Finds candidates in buckets. Only a bounded number of members is in memory at a time.
///
/// Members must arrive sorted by key; those of a bucket in ascending order, in a join those of the reference first. Each
/// member is paired with the first `limit` members before it, so that a bucket of any size takes linear time.
///
/// ```
/// use sameish::{Analyzer, Preset};
/// use sameish_batch::columns::{BucketPairs, Member, Sides};
///
/// let analyzer = Analyzer::new(Preset::Copies.config())?;
/// let mut buckets = BucketPairs::new(&analyzer, 2, Sides::All);
/// let member = |doc| Member { doc, reference: false, outline: None, fingerprint: None };
/// let mut pairs = Vec::new();
/// (0..4).for_each(|doc| buckets.push(7, member(doc), &mut pairs));
/// assert_eq!(pairs, [(0, 1), (0, 2), (1, 2), (0, 3), (1, 3)]);
/// assert_eq!((buckets.capped(), buckets.omitted()), (1, 1));
/// # Ok::<(), sameish_batch::Error>(())
/// ```
#[derive(Clone, Debug)]
pub struct BucketPairs {
    rule: NearRule,
    limit: usize,
    sides: Sides,
    key: Option<i64>,
    /// The first `limit` members of the current bucket with which later ones are paired.
    members: Vec<Member>,
    /// Number of members of the current bucket with which later ones would be paired without the limit.
    seen: usize,
    is_capped: bool,
    capped: u64,
    omitted: u64,
}

impl BucketPairs {
    /// Creates a finder for a configuration.
    pub fn new(analyzer: &Analyzer, limit: usize, sides: Sides) -> BucketPairs {
        BucketPairs::with_rule(NearRule::new(analyzer), limit, sides)
    }

    /// Creates a finder for fingerprints within a radius.
    pub fn within(radius: u32, limit: usize, sides: Sides) -> BucketPairs {
        BucketPairs::with_rule(NearRule::within(radius), limit, sides)
    }

    fn with_rule(rule: NearRule, limit: usize, sides: Sides) -> BucketPairs {
        let members = Vec::new();
        BucketPairs {
            rule,
            limit,
            sides,
            key: None,
            members,
            seen: 0,
            is_capped: false,
            capped: 0,
            omitted: 0,
        }
    }

    /// Adds a member, and appends its candidates among the members before it.
    pub fn push(&mut self, key: i64, member: Member, pairs: &mut Vec<(i64, i64)>) {
        if self.key != Some(key) {
            self.key = Some(key);
            self.members.clear();
            self.seen = 0;
            self.is_capped = false;
        }
        let across = self.sides == Sides::Across;
        if !(across && member.reference) {
            let near =
                |earlier: &&Member| earlier.doc != member.doc && self.rule.passes(key, earlier, &member);
            pairs.extend(self.members.iter().filter(near).map(|earlier| (earlier.doc, member.doc)));
            self.omit(self.seen - self.members.len());
        }
        if across && !member.reference {
            return;
        }
        self.seen += 1;
        if self.members.len() < self.limit {
            self.members.push(member);
        }
    }

    /// Counts members with which the current one is not paired.
    fn omit(&mut self, members: usize) {
        if members > 0 {
            self.capped += u64::from(!self.is_capped);
            self.is_capped = true;
            self.omitted += members as u64;
        }
    }

    /// Returns the number of buckets in which some members were not compared.
    pub fn capped(&self) -> u64 {
        self.capped
    }

    /// Returns the number of pairs of members that were left out for this reason, whether or not their outlines are near.
    pub fn omitted(&self) -> u64 {
        self.omitted
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pairs_beyond_the_limit_are_counted() {
        let of =
            |reference: bool| move |doc: i64| Member { doc, reference, outline: None, fingerprint: None };
        let mut all = BucketPairs::within(3, 2, Sides::All);
        let mut across = BucketPairs::within(3, 2, Sides::Across);
        let mut pairs = Vec::new();
        for key in [1, 2] {
            (0..5).map(of(false)).for_each(|member| all.push(key, member, &mut pairs));
        }
        // Of 10 pairs per bucket, 1 and 2 pairs of the last two members are left out.
        assert_eq!((pairs.len(), all.capped(), all.omitted()), (14, 2, 6));
        pairs.clear();
        (0..3).map(of(true)).for_each(|member| across.push(1, member, &mut pairs));
        assert_eq!((across.capped(), across.omitted()), (0, 0));
        (3..7).map(of(false)).for_each(|member| across.push(1, member, &mut pairs));
        assert_eq!((pairs.len(), across.capped(), across.omitted()), (8, 1, 4));
    }
}
