//! How do many hashes agree on a few bits?
//!
//! Each feature votes on every bit: for it where its hash has a 1, against it where it has a 0, as loudly as it weighs
//! (Charikar 2002, <https://doi.org/10.1145/509907.509965>). SimHash sets the bits with more votes for than against; a
//! sparse code sets the few with the most votes.

use crate::simd::{self, Level};

/// The sums of the votes on each bit.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Votes {
    sums: Vec<i64>,
}

impl Votes {
    pub(crate) fn new(bits: usize) -> Votes {
        Votes { sums: vec![0; bits] }
    }

    pub(crate) fn clear(&mut self) {
        self.sums.fill(0);
    }

    /// A hash of as many bits as there are sums votes with a weight.
    ///
    /// Weights are at most 2^37 (see [`MAX_WEIGHT`](super::MAX_WEIGHT)), so it takes 2^26 of the heaviest features to
    /// reach the end of an `i64`, and the sum then stays there.
    pub(crate) fn add(&mut self, hash: &[u64], weight: i64) {
        for (sums, word) in self.sums.chunks_mut(64).zip(hash) {
            for (bit, sum) in sums.iter_mut().enumerate() {
                let vote = if word >> bit & 1 == 1 { weight } else { -weight };
                *sum = sum.saturating_add(vote);
            }
        }
    }

    /// Hashes of 64 bits vote with weight 1 each.
    pub(crate) fn add_all(&mut self, hashes: &[u64]) {
        let mut counts = [0; 64];
        simd::count_bits(Level::current(), hashes, &mut counts);
        for (sum, count) in self.sums.iter_mut().zip(counts) {
            *sum += 2 * i64::from(count) - hashes.len() as i64;
        }
    }

    /// The bits with more votes for than against. A tie gives 0.
    pub(crate) fn majority(&self) -> u64 {
        self.sums.iter().take(64).enumerate().fold(0, |bits, (i, &sum)| bits | u64::from(sum > 0) << i)
    }

    /// The positions of the `count` largest sums, ascending; of equal sums the lowest positions.
    ///
    /// Never a position with the smallest sum of all, except that position 0 stands in for those that are missing then.
    /// This is what repeatedly taking the first maximum and overwriting it with the minimum gives, which is how the codes
    /// this must equal were made.
    pub(crate) fn top(&self, count: usize) -> Vec<u32> {
        let least = self.sums.iter().copied().min().unwrap_or(0);
        let above = self.sums.iter().enumerate().filter(|&(_, &sum)| sum > least);
        let mut positions: Vec<u32> = above.map(|(i, _)| i as u32).collect();
        if positions.len() > count {
            let key = |&i: &u32| (std::cmp::Reverse(self.sums[i as usize]), i);
            positions.select_nth_unstable_by_key(count, key);
            positions.truncate(count);
        } else if positions.len() < count && positions.first() != Some(&0) {
            positions.push(0);
        }
        positions.sort_unstable();
        positions
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The rule as it is told: take the first maximum, overwrite it with the minimum.
    fn top_as_told(sums: &[i64], count: usize) -> Vec<u32> {
        let mut sums = sums.to_vec();
        let least = *sums.iter().min().unwrap();
        let mut taken = std::collections::BTreeSet::new();
        for _ in 0..count {
            let most = *sums.iter().max().unwrap();
            let first = sums.iter().position(|&sum| sum == most).unwrap();
            taken.insert(first as u32);
            sums[first] = least;
        }
        taken.into_iter().collect()
    }

    #[test]
    fn top_is_as_told() {
        let mut state = 1u64;
        for round in 0..2000 {
            let length = 2 + round % 30;
            let sums: Vec<i64> = (0..length)
                .map(|_| {
                    state = state.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
                    ((state >> 33) % 5) as i64 - 2
                })
                .collect();
            for count in 1..length {
                let votes = Votes { sums: sums.clone() };
                assert_eq!(votes.top(count), top_as_told(&sums, count), "{sums:?}, {count}");
            }
        }
    }

    #[test]
    fn one_loud_vote_outweighs_two() {
        let mut votes = Votes::new(64);
        votes.add(&[0b01], 1);
        votes.add(&[0b01], 1);
        votes.add(&[0b10], 3);
        assert_eq!(votes.majority(), 0b10);
    }

    #[test]
    fn ties_and_silence_give_zero() {
        let mut votes = Votes::new(64);
        assert_eq!(votes.majority(), 0);
        votes.add_all(&[0b01, 0b10]);
        assert_eq!(votes.majority(), 0);
    }

    #[test]
    fn a_crowd_votes_as_its_members_do() {
        let hashes: Vec<u64> = (0..1000u64).map(|i| i.wrapping_mul(0x9E37_79B9_7F4A_7C15)).collect();
        let (mut crowd, mut single) = (Votes::new(64), Votes::new(64));
        crowd.add_all(&hashes);
        hashes.iter().for_each(|&hash| single.add(&[hash], 1));
        assert_eq!(crowd, single);
    }

    #[test]
    fn sums_stop_at_the_end_instead_of_wrapping() {
        let mut votes = Votes::new(64);
        votes.add(&[1], i64::MAX);
        votes.add(&[1], i64::MAX);
        assert_eq!(votes.majority(), 1);
    }
}
