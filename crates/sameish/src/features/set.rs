//! Feature sets and their exact similarity.

/// The distinct features of a text, sorted in ascending order.
///
/// ```
/// use sameish::features::FeatureSet;
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
    /// Creates a set from feature hashes in any order. Repeated features count once.
    pub fn from_hashes(hashes: Vec<u64>) -> FeatureSet {
        let mut hashes = sorted_hashes(without_repeats(hashes));
        hashes.dedup();
        FeatureSet { hashes }
    }

    /// Creates a set that represents a multiset: each further occurrence of a feature counts as a distinct feature.
    pub fn from_occurrences(mut hashes: Vec<u64>) -> FeatureSet {
        number_occurrences(&mut hashes);
        FeatureSet::from_hashes(hashes)
    }

    /// Creates a set from sorted feature hashes. Returns `None` unless they are strictly ascending.
    pub(crate) fn from_ascending(hashes: Vec<u64>) -> Option<FeatureSet> {
        hashes.is_sorted_by(|a, b| a < b).then_some(FeatureSet { hashes })
    }

    /// Releases unused capacity, for sets that are kept for a long time.
    pub fn shrink(&mut self) {
        self.hashes.shrink_to_fit();
    }

    /// Returns the number of features in the set.
    pub fn len(&self) -> usize {
        self.hashes.len()
    }

    /// Returns `true` if the set is empty.
    pub fn is_empty(&self) -> bool {
        self.hashes.is_empty()
    }

    /// Returns the features in ascending order.
    pub fn as_slice(&self) -> &[u64] {
        &self.hashes
    }

    /// Returns the number of features that both sets contain.
    pub fn shared_with(&self, other: &FeatureSet) -> usize {
        count_shared(&self.hashes, &other.hashes)
    }

    /// Returns the Jaccard similarity, from 0 to 1: common features divided by all distinct features. The similarity of
    /// two empty sets is 0.
    pub fn jaccard(&self, other: &FeatureSet) -> f64 {
        let shared = self.shared_with(other);
        ratio(shared, self.len() + other.len() - shared)
    }

    /// Returns the Jaccard similarity if it is at least `threshold`, otherwise `None`. Stops early once the threshold
    /// cannot be reached.
    pub fn jaccard_at_least(&self, other: &FeatureSet, threshold: f64) -> Option<f64> {
        let total = self.len() + other.len();
        // With s common features the similarity is s / (total - s), so s >= threshold * total / (1 + threshold). One is
        // subtracted to allow for rounding errors.
        let needed = ((threshold * total as f64 / (1.0 + threshold)).floor() as usize).saturating_sub(1);
        let shared = count_shared_at_least(&self.hashes, &other.hashes, needed)?;
        Some(ratio(shared, total - shared)).filter(|jaccard| *jaccard >= threshold)
    }

    /// Returns the fraction of this set's features that the other set contains, from 0 to 1. The containment of an empty
    /// set is 0.
    pub fn containment_in(&self, other: &FeatureSet) -> f64 {
        ratio(self.shared_with(other), self.len())
    }
}

/// Removes repeated hashes, some or all of them, from a list that consists mostly of repeated ones, so that less is sorted.
fn without_repeats(mut hashes: Vec<u64>) -> Vec<u64> {
    /// Number of hashes at the start that are examined. Real texts rarely repeat a third of them.
    const SAMPLE: usize = 128;
    /// Hashes that are remembered: one per value of these bits.
    const BITS: u32 = 10;
    if hashes.len() < 2 * SAMPLE {
        return hashes;
    }
    let mut seen = [0u64; 1 << BITS];
    // Whether a hash is the last one with its bits. Zero counts as seen only after it was.
    let mut is_new = |hash: u64| std::mem::replace(&mut seen[(hash >> (64 - BITS)) as usize], hash) != hash;
    let distinct = hashes[..SAMPLE].iter().filter(|&&hash| is_new(hash)).count();
    if distinct * 3 < 2 * SAMPLE {
        let zero = hashes.contains(&0);
        seen.fill(0);
        let mut is_new =
            |hash: u64| std::mem::replace(&mut seen[(hash >> (64 - BITS)) as usize], hash) != hash;
        hashes.retain(|&hash| is_new(hash));
        hashes.extend(zero.then_some(0));
    }
    hashes
}

/// Sorts hashes by a bucket sort on their leading bits, followed by an insertion sort.
///
/// Takes half the time of a comparison sort for a few hundred uniformly distributed hashes. If a bucket is too full, the
/// comparison sort is used, so adversarial input cannot cause quadratic time.
fn sorted_hashes(mut hashes: Vec<u64>) -> Vec<u64> {
    /// Below this length a comparison sort is as fast.
    const MIN_LENGTH: usize = 48;
    /// Maximum size of a bucket.
    const MAX_BUCKET: u32 = 24;
    let n = hashes.len();
    if n < MIN_LENGTH || n > u32::MAX as usize {
        hashes.sort_unstable();
        return hashes;
    }
    let bits = n.ilog2();
    let bucket = |hash: u64| (hash >> (u64::BITS - bits)) as usize;
    let mut ends = vec![0u32; (1 << bits) + 1];
    hashes.iter().for_each(|&hash| ends[bucket(hash) + 1] += 1);
    if ends.iter().any(|&count| count > MAX_BUCKET) {
        hashes.sort_unstable();
        return hashes;
    }
    (1..ends.len()).for_each(|i| ends[i] += ends[i - 1]);
    let mut sorted = vec![0; n];
    for &hash in &hashes {
        let end = &mut ends[bucket(hash)];
        sorted[*end as usize] = hash;
        *end += 1;
    }
    for i in 1..n {
        let hash = sorted[i];
        let mut at = i;
        while at > 0 && sorted[at - 1] > hash {
            sorted[at] = sorted[at - 1];
            at -= 1;
        }
        sorted[at] = hash;
    }
    sorted
}

/// Returns the number of common items of two strictly ascending lists.
pub(crate) fn count_shared<T: Ord>(a: &[T], b: &[T]) -> usize {
    let (mut i, mut j, mut shared) = (0, 0, 0);
    // Branch-free, because the outcome of a comparison is unpredictable.
    while i < a.len() && j < b.len() {
        let (x, y) = (&a[i], &b[j]);
        shared += usize::from(x == y);
        i += usize::from(x <= y);
        j += usize::from(y <= x);
    }
    shared
}

/// Like [`count_shared`], but returns `None` as soon as fewer than `needed` common items remain possible.
fn count_shared_at_least(a: &[u64], b: &[u64], needed: usize) -> Option<usize> {
    /// Steps between two checks whether `needed` common items remain possible.
    const STRIDE: usize = 24;
    /// Items that are compared at once. Near-identical texts consist of long runs of equal items.
    const RUN: usize = 8;
    let (mut i, mut j, mut shared) = (0, 0, 0);
    while i < a.len() && j < b.len() {
        if shared + (a.len() - i).min(b.len() - j) < needed {
            return None;
        }
        while let (Some(x), Some(y)) = (a[i..].first_chunk::<RUN>(), b[j..].first_chunk::<RUN>())
            && x == y
        {
            shared += RUN;
            i += RUN;
            j += RUN;
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

/// Replaces the second and later occurrences of each feature by distinct hashes. The order of the result is unspecified.
pub(crate) fn number_occurrences(hashes: &mut [u64]) {
    hashes.sort_unstable();
    let mut last = None;
    let mut seen = 0;
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
    fn sorts_any_distribution_of_hashes() {
        let mut random = SplitMix64(3);
        for n in [0, 1, 47, 48, 49, 63, 64, 65, 500, 4096, 20_000] {
            for mask in [u64::MAX, 0xFFFF_FFFF, 0x3F, 0x3F << 58, 0] {
                let hashes: Vec<u64> = (0..n).map(|_| random.next() & mask).collect();
                let mut expected = hashes.clone();
                expected.sort();
                assert_eq!(sorted_hashes(hashes), expected, "{n} hashes, mask {mask:x}");
            }
        }
    }

    #[test]
    fn sets_of_repeated_hashes_are_complete() {
        let mut random = SplitMix64(4);
        for distinct in [1, 5, 64, 500, 3_000] {
            let pool: Vec<u64> = (0..distinct).map(|i| if i == 0 { 0 } else { random.next() }).collect();
            let hashes: Vec<u64> = (0..5_000).map(|_| pool[random.below(distinct)]).collect();
            let mut expected = hashes.clone();
            expected.sort_unstable();
            expected.dedup();
            assert_eq!(FeatureSet::from_hashes(hashes.clone()).as_slice(), expected, "{distinct}");
            assert!(distinct > 64 || without_repeats(hashes).len() < 2_000);
        }
    }

    fn set(hashes: &[u64]) -> FeatureSet {
        FeatureSet::from_hashes(hashes.to_vec())
    }

    #[test]
    fn empty_sets_have_similarity_zero() {
        assert_eq!(set(&[]).jaccard(&set(&[])), 0.0);
        assert_eq!(set(&[]).jaccard(&set(&[1])), 0.0);
        assert_eq!(set(&[]).containment_in(&set(&[1])), 0.0);
    }

    #[test]
    fn equal_sets_have_similarity_one() {
        assert_eq!(set(&[5, 9]).jaccard(&set(&[9, 5, 5])), 1.0);
    }

    #[test]
    fn similarity_agrees_with_a_naive_count() {
        for (from, to) in [(0, 10), (5, 15), (10, 20), (3, 4)] {
            let a: Vec<u64> = (0..10).collect();
            let b: Vec<u64> = (from..to).collect();
            let shared = a.iter().filter(|x| b.contains(x)).count();
            assert_eq!(set(&a).shared_with(&set(&b)), shared);
            assert_eq!(set(&b).shared_with(&set(&a)), shared);
            assert_eq!(set(&a).jaccard(&set(&b)), shared as f64 / (a.len() + b.len() - shared) as f64);
        }
    }

    #[test]
    fn jaccard_at_least_agrees_with_jaccard() {
        for (n, from) in [(0, 0), (1, 0), (10, 2), (1000, 0), (1000, 100), (1000, 333), (1000, 999), (7, 900)]
        {
            let a = set(&(0..1000).collect::<Vec<_>>());
            let b = set(&(from..from + n).collect::<Vec<_>>());
            let exact = a.jaccard(&b);
            for threshold in [0.0, 0.1, 0.5, 0.8, 1.0, exact, exact.next_up(), exact.next_down().max(0.0)] {
                let expected = (exact >= threshold).then_some(exact);
                assert_eq!(a.jaccard_at_least(&b, threshold), expected, "{n} {from} {threshold}");
                assert_eq!(b.jaccard_at_least(&a, threshold), expected, "{n} {from} {threshold}");
            }
        }
    }

    #[test]
    fn from_occurrences_counts_repeats() {
        let a = FeatureSet::from_occurrences(vec![7, 7, 7, 8]);
        let b = FeatureSet::from_occurrences(vec![7, 8]);
        assert_eq!(a.len(), 4);
        assert_eq!(a.jaccard(&b), 0.5);
    }
}
