//! Which fingerprints are near, when nothing but fingerprints is known?

use super::blocks::BlockTables;
use super::hamming::EXPECTED;
use super::layers::Layers;
use super::pages::Pages;
use super::plan;
use crate::config::Blocks;
use crate::error::Result;
use crate::sketch::Fingerprint;

/// A set of fingerprints that is asked for those within so many bits of a query, as seed 004 describes it.
///
/// A [`HammingIndex`](super::HammingIndex) without documents: the fingerprints themselves are the answer, each once, and
/// no table holds more than them. The cut into blocks says what may be asked for; any cut gives the same answers, so the
/// tables are those that are fastest for as many fingerprints as there are. For a million and 3 bits these are 4 of 16 bits,
/// where 5 blocks would make 10 tables and 6 blocks 20.
///
/// ```
/// use sameish::{Blocks, Corpus, Fingerprint};
///
/// let print = Fingerprint::from_u64;
/// let mut corpus = Corpus::new(Blocks { total: 6, differing: 3 })?;
/// assert_eq!(corpus.insert_bulk(&[print(0xABCD), print(0xABCE), print(0xABCD)]), 2);
/// assert_eq!(corpus.find_first(print(0xABCD ^ (3 << 40))), Some(print(0xABCD)));
/// let mut found = Vec::new();
/// corpus.find_all(print(0xABCC), &mut found);
/// assert_eq!(found, [print(0xABCD), print(0xABCE)]);
/// assert!(corpus.remove(print(0xABCD)));
/// # Ok::<(), sameish::Error>(())
/// ```
#[derive(Clone, Debug)]
pub struct Corpus {
    blocks: Blocks,
    layers: Layers<Pages>,
}

impl Corpus {
    /// An empty set for matches that differ in at most `blocks.differing` bits.
    pub fn new(blocks: Blocks) -> Result<Corpus> {
        let blocks = BlockTables::new(blocks)?.blocks();
        Ok(Corpus { blocks, layers: built(blocks, &[]) })
    }

    /// The cut into blocks, and how many of them, and so of bits, may differ.
    pub fn blocks(&self) -> Blocks {
        self.blocks
    }

    /// How many distinct fingerprints there are.
    pub fn len(&self) -> usize {
        self.layers.len()
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Whether this very fingerprint is there.
    pub fn contains(&self, fingerprint: Fingerprint) -> bool {
        self.layers.get(fingerprint.as_u64()).is_some()
    }

    /// Adds a fingerprint, and tells whether it was new.
    pub fn insert(&mut self, fingerprint: Fingerprint) -> bool {
        let new = !self.contains(fingerprint);
        if new {
            self.layers.insert(fingerprint.as_u64(), 0);
        }
        new
    }

    /// Removes a fingerprint, and tells whether it was there.
    pub fn remove(&mut self, fingerprint: Fingerprint) -> bool {
        let known = self.contains(fingerprint);
        if known {
            self.layers.remove(fingerprint.as_u64());
        }
        known
    }

    /// Adds many, and tells how many were new. Into an empty set each table is built in one go.
    pub fn insert_bulk(&mut self, fingerprints: &[Fingerprint]) -> usize {
        let before = self.len();
        let mut codes: Vec<u64> = fingerprints.iter().map(|print| print.as_u64()).collect();
        if self.is_empty() {
            codes.sort_unstable();
            codes.dedup();
            self.layers = built(self.blocks, &codes);
        } else {
            let insert = |corpus: &mut Corpus, i: usize| _ = corpus.insert(fingerprints[i]);
            Layers::ahead_of(self, &codes, |corpus| &corpus.layers, Layers::prefetch_insert, insert);
        }
        self.len() - before
    }

    /// Removes many, and tells how many were there.
    pub fn remove_bulk(&mut self, fingerprints: &[Fingerprint]) -> usize {
        let before = self.len();
        let codes: Vec<u64> = fingerprints.iter().map(|print| print.as_u64()).collect();
        let remove = |corpus: &mut Corpus, i: usize| _ = corpus.remove(fingerprints[i]);
        Layers::ahead_of(self, &codes, |corpus| &corpus.layers, Layers::prefetch_codes, remove);
        before - self.len()
    }

    /// Some fingerprint near the query, not always the nearest.
    pub fn find_first(&self, query: Fingerprint) -> Option<Fingerprint> {
        let mut first = None;
        self.layers.find(query.as_u64(), &mut |code, _| {
            first = Some(Fingerprint::from_u64(code));
            true
        });
        first
    }

    /// Replaces `found` by every fingerprint near the query, the nearest first, then the smallest.
    pub fn find_all(&self, query: Fingerprint, found: &mut Vec<Fingerprint>) {
        found.clear();
        self.layers.find(query.as_u64(), &mut |code, _| {
            found.push(Fingerprint::from_u64(code));
            false
        });
        sort(query, found);
    }

    /// For each query, as [`find_first`](Self::find_first) gives it.
    pub fn find_first_bulk(&self, queries: &[Fingerprint]) -> Vec<Option<Fingerprint>> {
        let codes: Vec<u64> = queries.iter().map(|query| query.as_u64()).collect();
        let mut firsts = vec![None; queries.len()];
        self.layers.find_bulk(&codes, true, &mut |query, code, _| {
            firsts[query] = Some(Fingerprint::from_u64(code));
            true
        });
        firsts
    }

    /// Gives `sink` the position of each query and what is near it, as [`find_all`](Self::find_all) does, in order. Much
    /// faster than a loop, because memory is asked for what the next queries need while one is answered.
    pub fn find_all_bulk(&self, queries: &[Fingerprint], mut sink: impl FnMut(usize, &[Fingerprint])) {
        let codes: Vec<u64> = queries.iter().map(|query| query.as_u64()).collect();
        let (mut next, mut found) = (0, Vec::new());
        let mut tell = |found: &mut Vec<Fingerprint>, upto: usize| {
            while next < upto {
                sort(queries[next], found);
                sink(next, found);
                found.clear();
                next += 1;
            }
        };
        self.layers.find_bulk(&codes, false, &mut |query, code, _| {
            tell(&mut found, query);
            found.push(Fingerprint::from_u64(code));
            false
        });
        tell(&mut found, queries.len());
    }

    /// All fingerprints, in rising order.
    pub fn to_vec(&self) -> Vec<Fingerprint> {
        let mut all = Vec::with_capacity(self.len());
        self.layers.each(&mut |code, _| all.push(Fingerprint::from_u64(code)));
        all.sort_unstable();
        all
    }
}

fn built(blocks: Blocks, codes: &[u64]) -> Layers<Pages> {
    let radius = blocks.differing;
    Layers::build(plan::choose(radius, codes.len().max(EXPECTED)), radius, false, 0, codes, &[])
}

fn sort(query: Fingerprint, found: &mut [Fingerprint]) {
    if found.len() > 1 {
        found.sort_unstable_by_key(|print| (print.distance(query), *print));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::random::SplitMix64;

    /// Codes that crowd a few buckets, so that indexes nest.
    fn codes(n: usize) -> Vec<Fingerprint> {
        let mut random = SplitMix64(7);
        let code = |i: usize| match i % 3 {
            0 => random.next(),
            1 => 0xABCD_0000_0000_0000 | (random.next() % 4096),
            _ => 1 << (random.next() % 64),
        };
        (0..n).map(code).map(Fingerprint::from_u64).collect()
    }

    fn scan(all: &[Fingerprint], query: Fingerprint, radius: u32) -> Vec<Fingerprint> {
        let mut near: Vec<Fingerprint> =
            all.iter().copied().filter(|print| print.distance(query) <= radius).collect();
        near.sort_unstable();
        near.dedup();
        sort(query, &mut near);
        near
    }

    #[test]
    fn tells_what_a_scan_tells_each_once() {
        for (total, differing) in [(6, 3), (5, 3), (4, 0), (3, 2)] {
            let all = codes(6000);
            let mut one_by_one = Corpus::new(Blocks { total, differing }).unwrap();
            let mut at_once = one_by_one.clone();
            let new = all.iter().filter(|&&print| one_by_one.insert(print)).count();
            assert_eq!(at_once.insert_bulk(&all), new);
            assert_eq!(at_once.insert_bulk(&all[..100]), 0);
            assert_eq!(at_once.to_vec(), one_by_one.to_vec());
            let queries: Vec<Fingerprint> =
                codes(300).iter().map(|print| Fingerprint::from_u64(print.as_u64() ^ 0b101)).collect();
            for corpus in [&one_by_one, &at_once] {
                let firsts = corpus.find_first_bulk(&queries);
                let mut told = 0;
                corpus.find_all_bulk(&queries, |i, found| {
                    let expected = scan(&all, queries[i], differing);
                    assert_eq!(found, expected);
                    assert_eq!(firsts[i].is_some(), !expected.is_empty());
                    assert!(firsts[i].is_none_or(|first| expected.contains(&first)));
                    let mut alone = Vec::new();
                    corpus.find_all(queries[i], &mut alone);
                    assert_eq!(alone, expected);
                    told += 1;
                });
                assert_eq!(told, queries.len());
            }
        }
    }

    #[test]
    fn what_is_removed_is_gone() {
        let all = codes(4000);
        let mut corpus = Corpus::new(Blocks { total: 6, differing: 3 }).unwrap();
        corpus.insert_bulk(&all);
        let (gone, left) = all.split_at(2000);
        corpus.remove_bulk(gone);
        assert!(!corpus.remove(gone[0]));
        let left: Vec<Fingerprint> = left.iter().copied().filter(|print| !gone.contains(print)).collect();
        for &query in gone.iter().take(200) {
            assert!(!corpus.contains(query));
            let mut found = Vec::new();
            corpus.find_all(query, &mut found);
            assert_eq!(found, scan(&left, query, 3));
        }
        corpus.remove_bulk(&left);
        assert!(corpus.is_empty() && corpus.find_first(all[0]).is_none());
    }
}
