//! How much do two texts share, exactly?

/// The distinct features of a text, in ascending order.
///
/// ```
/// use sameish::FeatureSet;
///
/// let a = FeatureSet::from_hashes(vec![3, 1, 2, 1]);
/// let b = FeatureSet::from_hashes(vec![2, 3, 4]);
/// assert_eq!(a.jaccard(&b), 0.5);
/// assert_eq!(a.containment_in(&b), 2.0 / 3.0);
/// ```
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct FeatureSet {
    hashes: Vec<u64>,
}

impl FeatureSet {
    /// The set of these features; repeats count once.
    pub fn from_hashes(hashes: Vec<u64>) -> FeatureSet {
        let mut hashes = sorted_hashes(hashes);
        hashes.dedup();
        FeatureSet { hashes }
    }

    /// The multiset of these features as a set: the second occurrence of a feature is a feature of its own.
    pub fn from_occurrences(mut hashes: Vec<u64>) -> FeatureSet {
        number_occurrences(&mut hashes);
        FeatureSet::from_hashes(hashes)
    }

    /// The set of features that ascend; nothing where they do not.
    pub(crate) fn from_ascending(hashes: Vec<u64>) -> Option<FeatureSet> {
        hashes.is_sorted_by(|a, b| a < b).then_some(FeatureSet { hashes })
    }

    /// Gives back the room that gathering the features took, for sets that are held.
    pub fn shrink(&mut self) {
        self.hashes.shrink_to_fit();
    }

    /// How many there are.
    pub fn len(&self) -> usize {
        self.hashes.len()
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.hashes.is_empty()
    }

    /// The features, ascending.
    pub fn as_slice(&self) -> &[u64] {
        &self.hashes
    }

    /// How many features both have.
    pub fn shared_with(&self, other: &FeatureSet) -> usize {
        count_shared(&self.hashes, &other.hashes)
    }

    /// Shared features over all features, from 0 to 1. Two empty sets share nothing: 0.
    pub fn jaccard(&self, other: &FeatureSet) -> f64 {
        let shared = self.shared_with(other);
        ratio(shared, self.len() + other.len() - shared)
    }

    /// The Jaccard similarity, if it is at least `least`. Faster than the whole answer where it is not.
    pub fn jaccard_at_least(&self, other: &FeatureSet, least: f64) -> Option<f64> {
        let both = self.len() + other.len();
        // Of s shared features the similarity is s / (both - s): at least so many are needed, and one less is no harm.
        let needed = ((least * both as f64 / (1.0 + least)).floor() as usize).saturating_sub(1);
        let shared = count_shared_at_least(&self.hashes, &other.hashes, needed)?;
        Some(ratio(shared, both - shared)).filter(|jaccard| *jaccard >= least)
    }

    /// The share of these features that the other set has too. 0 for an empty set.
    pub fn containment_in(&self, other: &FeatureSet) -> f64 {
        ratio(self.shared_with(other), self.len())
    }
}

/// Sorts numbers that are spread evenly, as hashes are: each goes straight to about its place, by its leading bits, and a
/// short walk puts neighbors in order. Half the time of a comparison sort at a few hundred. Numbers that were chosen to
/// share their leading bits are sorted the usual way, so nobody can make it slow.
fn sorted_hashes(mut hashes: Vec<u64>) -> Vec<u64> {
    /// Below this the usual way is as fast.
    const FEW: usize = 48;
    /// Neighbors that a walk puts in order.
    const NEAR: u32 = 24;
    let n = hashes.len();
    if n < FEW || n > u32::MAX as usize {
        hashes.sort_unstable();
        return hashes;
    }
    let bits = n.ilog2();
    let place = |hash: u64| (hash >> (u64::BITS - bits)) as usize;
    let mut ends = vec![0u32; (1 << bits) + 1];
    hashes.iter().for_each(|&hash| ends[place(hash) + 1] += 1);
    if ends.iter().any(|&count| count > NEAR) {
        hashes.sort_unstable();
        return hashes;
    }
    (1..ends.len()).for_each(|i| ends[i] += ends[i - 1]);
    let mut sorted = vec![0; n];
    for &hash in &hashes {
        let end = &mut ends[place(hash)];
        sorted[*end as usize] = hash;
        *end += 1;
    }
    for i in 1..n {
        let (hash, mut at) = (sorted[i], i);
        while at > 0 && sorted[at - 1] > hash {
            sorted[at] = sorted[at - 1];
            at -= 1;
        }
        sorted[at] = hash;
    }
    sorted
}

/// How many items two ascending lists without repeats have in common.
pub(crate) fn count_shared<T: Ord>(a: &[T], b: &[T]) -> usize {
    let (mut i, mut j, mut shared) = (0, 0, 0);
    // Without branches on the outcome of a comparison, which nothing could predict.
    while i < a.len() && j < b.len() {
        let (x, y) = (&a[i], &b[j]);
        shared += usize::from(x == y);
        i += usize::from(x <= y);
        j += usize::from(y <= x);
    }
    shared
}

/// The same, but gives up once there can not be `needed` of them any more.
fn count_shared_at_least(a: &[u64], b: &[u64], needed: usize) -> Option<usize> {
    /// Steps between two looks at what is still possible.
    const STRIDE: usize = 64;
    let (mut i, mut j, mut shared) = (0, 0, 0);
    while i < a.len() && j < b.len() {
        if shared + (a.len() - i).min(b.len() - j) < needed {
            return None;
        }
        let mut steps = STRIDE;
        while steps > 0 && i < a.len() && j < b.len() {
            let (x, y) = (a[i], b[j]);
            shared += usize::from(x == y);
            i += usize::from(x <= y);
            j += usize::from(y <= x);
            steps -= 1;
        }
    }
    (shared >= needed).then_some(shared)
}

fn ratio(part: usize, whole: usize) -> f64 {
    if whole == 0 { 0.0 } else { part as f64 / whole as f64 }
}

/// Gives the second, third and so on occurrence of a feature a hash of its own. Leaves them in no special order.
pub(crate) fn number_occurrences(hashes: &mut [u64]) {
    hashes.sort_unstable();
    let (mut last, mut seen) = (None, 0);
    for hash in hashes {
        seen = if last == Some(*hash) { seen + 1 } else { 0 };
        last = Some(*hash);
        *hash = super::hash_occurrence(*hash, seen);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::random::SplitMix64;

    #[test]
    fn hashes_are_sorted_however_they_are_spread() {
        let mut random = SplitMix64(3);
        for n in [0, 1, 47, 48, 49, 63, 64, 65, 500, 4096, 20_000] {
            for spread in [u64::MAX, 0xFFFF_FFFF, 0x3F, 0x3F << 58, 0] {
                let hashes: Vec<u64> = (0..n).map(|_| random.next() & spread).collect();
                let mut expected = hashes.clone();
                expected.sort();
                assert_eq!(sorted_hashes(hashes), expected, "{n} with {spread:x}");
            }
        }
    }

    fn set(hashes: &[u64]) -> FeatureSet {
        FeatureSet::from_hashes(hashes.to_vec())
    }

    #[test]
    fn empty_sets_share_nothing() {
        assert_eq!(set(&[]).jaccard(&set(&[])), 0.0);
        assert_eq!(set(&[]).jaccard(&set(&[1])), 0.0);
        assert_eq!(set(&[]).containment_in(&set(&[1])), 0.0);
    }

    #[test]
    fn equal_sets_are_one() {
        assert_eq!(set(&[5, 9]).jaccard(&set(&[9, 5, 5])), 1.0);
    }

    #[test]
    fn measures_agree_with_a_plain_count() {
        for (from, to) in [(0, 10), (5, 15), (10, 20), (3, 4)] {
            let (a, b): (Vec<u64>, Vec<u64>) = ((0..10).collect(), (from..to).collect());
            let shared = a.iter().filter(|x| b.contains(x)).count();
            assert_eq!(set(&a).shared_with(&set(&b)), shared);
            assert_eq!(set(&b).shared_with(&set(&a)), shared);
            assert_eq!(set(&a).jaccard(&set(&b)), shared as f64 / (a.len() + b.len() - shared) as f64);
        }
    }

    #[test]
    fn giving_up_early_changes_no_answer() {
        for (n, from) in [(0, 0), (1, 0), (10, 2), (1000, 0), (1000, 100), (1000, 333), (1000, 999), (7, 900)]
        {
            let (a, b) = (set(&(0..1000).collect::<Vec<_>>()), set(&(from..from + n).collect::<Vec<_>>()));
            let exact = a.jaccard(&b);
            for least in [0.0, 0.1, 0.5, 0.8, 1.0, exact, exact.next_up(), exact.next_down().max(0.0)] {
                let expected = (exact >= least).then_some(exact);
                assert_eq!(a.jaccard_at_least(&b, least), expected, "{n} {from} {least}");
                assert_eq!(b.jaccard_at_least(&a, least), expected, "{n} {from} {least}");
            }
        }
    }

    #[test]
    fn occurrences_make_repeats_count() {
        let a = FeatureSet::from_occurrences(vec![7, 7, 7, 8]);
        let b = FeatureSet::from_occurrences(vec![7, 8]);
        assert_eq!(a.len(), 4);
        assert_eq!(a.jaccard(&b), 0.5);
    }
}
