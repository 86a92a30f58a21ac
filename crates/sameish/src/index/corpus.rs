//! A searchable set of fingerprints without documents.

use super::blocks::check_blocks;
use super::hamming::EXPECTED;
use super::pages::Pages;
use super::plan;
use super::table_set::TableSet;
use crate::config::Blocks;
use crate::error::Result;
use crate::sketch::Fingerprint;

/// A set of fingerprints that can be searched by Hamming distance, with the parameters of the block-permuted index of
/// Manku, Jain and Das Sarma (2007).
///
/// Unlike [`HammingIndex`](super::HammingIndex), it stores and returns distinct fingerprints, without documents. The number
/// of blocks does not affect the results, because the radius is `blocks.differing` bits for any number. The tables are
/// therefore those that are fastest for the number of fingerprints: for a million fingerprints and radius 3 these are 4
/// tables with 16-bit keys, instead of C(5, 3) = 10 tables for 5 blocks or C(6, 3) = 20 tables for 6 blocks.
///
/// ```
/// use sameish::config::Blocks;
/// use sameish::index::Corpus;
/// use sameish::Fingerprint;
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
    table_set: TableSet<Pages>,
}

impl Corpus {
    /// Creates an empty set with a radius of `blocks.differing` bits. Returns an error unless there are 1 to 64 blocks and
    /// `differing` is less than `total`.
    ///
    /// Accepts divisions for which [`BlockTables`](super::BlockTables) would need too many tables, such as 64 blocks with 3
    /// differing ones (41,664 tables), because it does not build these tables.
    pub fn new(blocks: Blocks) -> Result<Corpus> {
        check_blocks(blocks)?;
        Ok(Corpus { blocks, table_set: build(blocks, &[]) })
    }

    /// Returns the numbers of blocks. `differing` is also the radius in bits.
    pub fn blocks(&self) -> Blocks {
        self.blocks
    }

    /// Returns the number of distinct fingerprints.
    pub fn len(&self) -> usize {
        self.table_set.len()
    }

    /// Returns `true` if the set is empty.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Returns `true` if the set contains this fingerprint.
    pub fn contains(&self, fingerprint: Fingerprint) -> bool {
        self.table_set.get(fingerprint.as_u64()).is_some()
    }

    /// Adds a fingerprint. Returns `true` if it is new.
    pub fn insert(&mut self, fingerprint: Fingerprint) -> bool {
        let is_new = !self.contains(fingerprint);
        if is_new {
            self.table_set.insert(fingerprint.as_u64(), 0);
        }
        is_new
    }

    /// Removes a fingerprint. Returns `true` if the set contained it.
    pub fn remove(&mut self, fingerprint: Fingerprint) -> bool {
        let is_present = self.contains(fingerprint);
        if is_present {
            self.table_set.remove(fingerprint.as_u64());
        }
        is_present
    }

    /// Adds many fingerprints. Returns the number of new ones. On an empty set, builds each table in one pass.
    pub fn insert_bulk(&mut self, fingerprints: &[Fingerprint]) -> usize {
        let before = self.len();
        let mut codes: Vec<u64> = fingerprints.iter().map(|print| print.as_u64()).collect();
        if self.is_empty() {
            codes.sort_unstable();
            codes.dedup();
            self.table_set = build(self.blocks, &codes);
        } else {
            let insert = |corpus: &mut Corpus, i: usize| _ = corpus.insert(fingerprints[i]);
            TableSet::update_with_prefetch(
                self,
                &codes,
                |corpus| &corpus.table_set,
                TableSet::prefetch_insert,
                insert,
            );
        }
        self.len() - before
    }

    /// Removes many fingerprints. Returns the number of fingerprints that the set contained.
    pub fn remove_bulk(&mut self, fingerprints: &[Fingerprint]) -> usize {
        let before = self.len();
        let codes: Vec<u64> = fingerprints.iter().map(|print| print.as_u64()).collect();
        let remove = |corpus: &mut Corpus, i: usize| _ = corpus.remove(fingerprints[i]);
        TableSet::update_with_prefetch(
            self,
            &codes,
            |corpus| &corpus.table_set,
            TableSet::prefetch_codes,
            remove,
        );
        before - self.len()
    }

    /// Returns some fingerprint within the radius of the query, not necessarily the nearest.
    pub fn find_first(&self, query: Fingerprint) -> Option<Fingerprint> {
        let mut first = None;
        self.table_set.find(query.as_u64(), &mut |code, _| {
            first = Some(Fingerprint::from_u64(code));
            true
        });
        first
    }

    /// Replaces `found` with every fingerprint within the radius, by ascending distance, then by ascending value.
    pub fn find_all(&self, query: Fingerprint, found: &mut Vec<Fingerprint>) {
        found.clear();
        self.table_set.find(query.as_u64(), &mut |code, _| {
            found.push(Fingerprint::from_u64(code));
            false
        });
        sort(query, found);
    }

    /// Returns some fingerprint within the radius of each query; see [`find_first`](Self::find_first).
    pub fn find_first_bulk(&self, queries: &[Fingerprint]) -> Vec<Option<Fingerprint>> {
        let codes: Vec<u64> = queries.iter().map(|query| query.as_u64()).collect();
        let mut firsts = vec![None; queries.len()];
        self.table_set.find_bulk(&codes, true, &mut |query, code, _| {
            firsts[query] = Some(Fingerprint::from_u64(code));
            true
        });
        firsts
    }

    /// Finds all fingerprints within the radius of each query. Calls `sink` once per query, in order, with the position of
    /// the query and its fingerprints in the order of [`find_all`](Self::find_all).
    ///
    /// Much faster than a loop over `find_all`, because it prefetches the data of the next queries.
    pub fn find_all_bulk(&self, queries: &[Fingerprint], mut sink: impl FnMut(usize, &[Fingerprint])) {
        let codes: Vec<u64> = queries.iter().map(|query| query.as_u64()).collect();
        let mut next = 0;
        let mut found = Vec::new();
        let mut finish_before = |found: &mut Vec<Fingerprint>, end: usize| {
            while next < end {
                sort(queries[next], found);
                sink(next, found);
                found.clear();
                next += 1;
            }
        };
        self.table_set.find_bulk(&codes, false, &mut |query, code, _| {
            finish_before(&mut found, query);
            found.push(Fingerprint::from_u64(code));
            false
        });
        finish_before(&mut found, queries.len());
    }

    /// Returns all fingerprints in ascending order.
    pub fn to_vec(&self) -> Vec<Fingerprint> {
        let mut all = Vec::with_capacity(self.len());
        self.table_set.each(&mut |code, _| all.push(Fingerprint::from_u64(code)));
        all.sort_unstable();
        all
    }
}

fn build(blocks: Blocks, codes: &[u64]) -> TableSet<Pages> {
    let radius = blocks.differing;
    TableSet::build(plan::choose(radius, codes.len().max(EXPECTED)), radius, false, 0, codes, &[])
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

    /// Returns codes of which many share a bucket, so that buckets get nested indexes.
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
    fn agrees_with_a_linear_scan() {
        for (total, differing) in
            [(6, 3), (5, 3), (4, 0), (3, 2), (20, 16), (16, 8), (64, 3), (64, 63), (1, 0)]
        {
            let all = codes(if differing > 8 { 600 } else { 6000 });
            let mut one_by_one = Corpus::new(Blocks { total, differing }).unwrap();
            let mut at_once = one_by_one.clone();
            let inserted = all.iter().filter(|&&print| one_by_one.insert(print)).count();
            assert_eq!(at_once.insert_bulk(&all), inserted);
            assert_eq!(at_once.insert_bulk(&all[..100]), 0);
            assert_eq!(at_once.to_vec(), one_by_one.to_vec());
            let queries: Vec<Fingerprint> =
                codes(300).iter().map(|print| Fingerprint::from_u64(print.as_u64() ^ 0b101)).collect();
            for corpus in [&one_by_one, &at_once] {
                let firsts = corpus.find_first_bulk(&queries);
                let mut answered = 0;
                corpus.find_all_bulk(&queries, |i, found| {
                    let expected = scan(&all, queries[i], differing);
                    assert_eq!(found, expected);
                    assert_eq!(firsts[i].is_some(), !expected.is_empty());
                    assert!(firsts[i].is_none_or(|first| expected.contains(&first)));
                    let mut alone = Vec::new();
                    corpus.find_all(queries[i], &mut alone);
                    assert_eq!(alone, expected);
                    answered += 1;
                });
                assert_eq!(answered, queries.len());
            }
        }
    }

    #[test]
    fn rejects_blocks_of_which_none_agrees() {
        for (total, differing) in [(0, 0), (65, 3), (3, 3), (16, 17)] {
            assert!(Corpus::new(Blocks { total, differing }).is_err(), "{total}, {differing}");
        }
    }

    #[test]
    fn does_not_find_removed_fingerprints() {
        let all = codes(4000);
        let mut corpus = Corpus::new(Blocks { total: 6, differing: 3 }).unwrap();
        corpus.insert_bulk(&all);
        let (removed, left) = all.split_at(2000);
        corpus.remove_bulk(removed);
        assert!(!corpus.remove(removed[0]));
        let left: Vec<Fingerprint> = left.iter().copied().filter(|print| !removed.contains(print)).collect();
        for &query in removed.iter().take(200) {
            assert!(!corpus.contains(query));
            let mut found = Vec::new();
            corpus.find_all(query, &mut found);
            assert_eq!(found, scan(&left, query, 3));
        }
        corpus.remove_bulk(&left);
        assert!(corpus.is_empty() && corpus.find_first(all[0]).is_none());
    }
}
