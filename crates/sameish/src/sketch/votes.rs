//! Weighted bit votes, the common basis of SimHash and sparse codes.
//!
//! Each feature adds its weight to the sum of every bit that is 1 in its hash and subtracts it from the sum of every bit
//! that is 0 (Charikar 2002, <https://doi.org/10.1145/509907.509965>). SimHash sets the bits with a positive sum; a sparse
//! code sets the bits with the largest sums.

use crate::simd::{self, Level};

/// The sum of the votes for each bit.
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

    /// Adds the votes of a hash with a weight. The hash must have as many bits as there are sums.
    ///
    /// Sums saturate. Weights are at most 2^37 (see [`MAX_WEIGHT`](super::MAX_WEIGHT)), so a sum reaches the limit of an
    /// `i64` only after 2^26 features of maximum weight.
    pub(crate) fn add(&mut self, hash: &[u64], weight: i64) {
        for (sums, word) in self.sums.chunks_mut(64).zip(hash) {
            for (bit, sum) in sums.iter_mut().enumerate() {
                let vote = if word >> bit & 1 == 1 { weight } else { -weight };
                *sum = sum.saturating_add(vote);
            }
        }
    }

    /// Adds the votes of 64-bit hashes, each with weight 1.
    pub(crate) fn add_all(&mut self, hashes: &[u64]) {
        let mut counts = [0; 64];
        simd::count_bits(Level::current(), hashes, &mut counts);
        for (sum, count) in self.sums.iter_mut().zip(counts) {
            *sum += 2 * i64::from(count) - hashes.len() as i64;
        }
    }

    /// Returns the bits with a positive sum, of the first 64. A tie gives 0.
    pub(crate) fn majority(&self) -> u64 {
        self.sums.iter().take(64).enumerate().fold(0, |bits, (i, &sum)| bits | u64::from(sum > 0) << i)
    }

    /// Returns the positions of the `count` largest sums in ascending order. Ties go to the lowest positions.
    ///
    /// Positions with the minimum sum are never selected. If that leaves fewer than `count` positions, position 0 is added
    /// once. This equals the original procedure of the sparse document encoder, whose codes must be reproduced: repeatedly
    /// take the first maximum and overwrite it with the minimum.
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

    /// The original procedure: repeatedly take the first maximum and overwrite it with the minimum.
    fn top_by_repeated_maximum(sums: &[i64], count: usize) -> Vec<u32> {
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
    fn top_equals_repeatedly_taking_the_maximum() {
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
                assert_eq!(votes.top(count), top_by_repeated_maximum(&sums, count), "{sums:?}, {count}");
            }
        }
    }

    #[test]
    fn one_heavy_vote_outweighs_two_light_ones() {
        let mut votes = Votes::new(64);
        votes.add(&[0b01], 1);
        votes.add(&[0b01], 1);
        votes.add(&[0b10], 3);
        assert_eq!(votes.majority(), 0b10);
    }

    #[test]
    fn ties_and_no_votes_give_zero() {
        let mut votes = Votes::new(64);
        assert_eq!(votes.majority(), 0);
        votes.add_all(&[0b01, 0b10]);
        assert_eq!(votes.majority(), 0);
    }

    #[test]
    fn add_all_equals_adding_each_hash() {
        let hashes: Vec<u64> = (0..1000u64).map(|i| i.wrapping_mul(0x9E37_79B9_7F4A_7C15)).collect();
        let mut together = Votes::new(64);
        together.add_all(&hashes);
        let mut one_by_one = Votes::new(64);
        hashes.iter().for_each(|&hash| one_by_one.add(&[hash], 1));
        assert_eq!(together, one_by_one);
    }

    #[test]
    fn sums_saturate() {
        let mut votes = Votes::new(64);
        votes.add(&[1], i64::MAX);
        votes.add(&[1], i64::MAX);
        assert_eq!(votes.majority(), 1);
    }
}
