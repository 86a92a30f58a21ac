//! Sets of keys whose intersection is found without walking through them (Ding and König 2011).
//!
//! A key sets a bit that is given by its leading bits, so that the keys of a word of 64 bits follow one another. Only the keys of
//! words in which two sets have a bit in common are compared.

/// Words that are combined at once.
const STEP: usize = 8;
/// Limits of the number of bits of a set.
const FEWEST_BITS: usize = 64;
const MOST_BITS: usize = 1 << 16;

/// Distinct keys in ascending order.
#[derive(Debug, Default)]
pub(super) struct KeySet {
    keys: Vec<u32>,
    words: Vec<u64>,
    /// End of the keys of each word.
    ends: Vec<u32>,
}

impl KeySet {
    /// Creates a set of ascending keys of `key_bits` bits, with about `size` bits, a few per key. Sets that are intersected must have
    /// equal sizes.
    pub(super) fn new(keys: Vec<u32>, key_bits: u32, size: usize) -> KeySet {
        let bits = size.next_power_of_two().clamp(FEWEST_BITS, MOST_BITS);
        let shift = key_bits - bits.ilog2();
        let mut words = vec![0; bits / 64];
        let mut ends = vec![0; bits / 64];
        for (&key, end) in keys.iter().zip(1..) {
            let at = (key >> shift) as usize;
            words[at / 64] |= 1 << (at % 64);
            ends[at / 64] = end;
        }
        (1..ends.len()).for_each(|word| ends[word] = ends[word].max(ends[word - 1]));
        KeySet { keys, words, ends }
    }

    /// Returns `true` if two sets have a key in common.
    pub(super) fn meets(&self, other: &KeySet) -> bool {
        let mut meets = false;
        self.for_each_shared(other, |_, _| meets = true);
        meets
    }

    /// Calls `visit` with the positions of each common key in both sets.
    pub(super) fn for_each_shared(&self, other: &KeySet, mut visit: impl FnMut(usize, usize)) {
        let steps = self.words.chunks(STEP).zip(other.words.chunks(STEP));
        for (step, (a, b)) in steps.enumerate() {
            if a.iter().zip(b).fold(0, |any, (a, b)| any | a & b) == 0 {
                continue;
            }
            for (word, (a, b)) in (step * STEP..).zip(a.iter().zip(b)) {
                if a & b != 0 {
                    self.visit_shared(other, word, &mut visit);
                }
            }
        }
    }

    fn visit_shared(&self, other: &KeySet, word: usize, visit: &mut impl FnMut(usize, usize)) {
        let (mut i, end) = self.range(word);
        let (mut j, other_end) = other.range(word);
        while i < end && j < other_end {
            let (x, y) = (self.keys[i], other.keys[j]);
            if x == y {
                visit(i, j);
            }
            i += usize::from(x <= y);
            j += usize::from(y <= x);
        }
    }

    /// Returns start and end of the keys of a word.
    fn range(&self, word: usize) -> (usize, usize) {
        let start = if word == 0 { 0 } else { self.ends[word - 1] };
        (start as usize, self.ends[word] as usize)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::random::SplitMix64;
    use std::collections::BTreeSet;

    #[test]
    fn finds_the_common_keys_of_sets() {
        let mut random = SplitMix64(5);
        for size in [0, 10, 700, 3_000, 1 << 20] {
            for count in [0, 1, 5, 200, 3_000] {
                let mut set =
                    || (0..count).map(|_| random.below(1 << 12) as u32 * 2_047).collect::<BTreeSet<u32>>();
                let (a, b) = (set(), set());
                let expected: Vec<u32> = a.intersection(&b).copied().collect();
                let [x, y] = [&a, &b].map(|set| KeySet::new(set.iter().copied().collect(), 23, size));
                let mut found = Vec::new();
                x.for_each_shared(&y, |i, j| {
                    assert_eq!(x.keys[i], y.keys[j]);
                    found.push(x.keys[i]);
                });
                assert_eq!(found, expected);
                assert_eq!(x.meets(&y), !expected.is_empty());
            }
        }
    }
}
