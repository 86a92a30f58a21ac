//! The documents of each fingerprint.
//!
//! Most fingerprints have one document, whose number is stored next to the code as its value. The others have the value
//! [`MULTIPLE`], and their documents are stored here.

use std::collections::{BTreeSet, HashMap};

/// The value of a code whose documents are stored in a set: it has several documents, or one with this very number.
pub(super) const MULTIPLE: u32 = u32::MAX;

/// Number of hash maps. They grow one at a time, so that no single insert rehashes all sets.
const SHARDS: usize = 256;

/// Maps a code and its value to documents.
pub(super) trait DocumentSets {
    /// Calls `each` with each document of the code, in ascending order.
    fn each(&self, code: u64, value: u32, each: &mut dyn FnMut(u32));
}

/// The documents of fingerprints that have several.
#[derive(Clone, Debug, Default)]
pub(super) struct Documents {
    shards: Vec<HashMap<u64, BTreeSet<u32>>>,
}

impl DocumentSets for Documents {
    fn each(&self, code: u64, value: u32, each: &mut dyn FnMut(u32)) {
        if value != MULTIPLE {
            return each(value);
        }
        let set = self.shards.get(shard(code)).and_then(|shard| shard.get(&code));
        set.into_iter().flatten().for_each(|&doc| each(doc));
    }
}

impl Documents {
    /// Adds `doc` to a code with this value, if any. Returns the new value, or `None` if the code already had `doc`.
    pub(super) fn add(&mut self, code: u64, value: Option<u32>, doc: u32) -> Option<u32> {
        match value {
            None if doc != MULTIPLE => return Some(doc),
            Some(only) if only == doc && doc != MULTIPLE => return None,
            _ => {}
        }
        let set = self.shard_mut(code).entry(code).or_default();
        set.extend(value.filter(|&only| only != MULTIPLE));
        set.insert(doc).then_some(MULTIPLE)
    }

    /// Removes `doc` from a code with this value. Returns `None` if the code did not have `doc`, otherwise the new value, which
    /// is `Some(None)` if no document is left.
    pub(super) fn remove(&mut self, code: u64, value: u32, doc: u32) -> Option<Option<u32>> {
        if value != MULTIPLE {
            return (value == doc).then_some(None);
        }
        let shard = self.shard_mut(code);
        let set = shard.get_mut(&code)?;
        if !set.remove(&doc) {
            return None;
        }
        let left = match (set.len(), set.first()) {
            (1, Some(&only)) if only != MULTIPLE => Some(only),
            (0, _) => None,
            _ => return Some(Some(MULTIPLE)),
        };
        shard.remove(&code);
        Some(left)
    }

    /// Returns the stored sets of documents, in no particular order.
    pub(super) fn sets(&self) -> impl Iterator<Item = &BTreeSet<u32>> {
        self.shards.iter().flat_map(HashMap::values)
    }

    /// Returns the stored sets of documents with their codes, by ascending code.
    pub(super) fn sorted(&self) -> Vec<(u64, &BTreeSet<u32>)> {
        let mut sets: Vec<_> = self.shards.iter().flatten().map(|(&code, set)| (code, set)).collect();
        sets.sort_unstable_by_key(|&(code, _)| code);
        sets
    }

    /// Stores the set of documents of a code, replacing the previous one.
    pub(super) fn put(&mut self, code: u64, docs: &[u32]) {
        self.shard_mut(code).insert(code, docs.iter().copied().collect());
    }

    /// Returns the number of documents of a code with this value.
    pub(super) fn count(&self, code: u64, value: u32) -> usize {
        if value != MULTIPLE {
            return 1;
        }
        self.shards.get(shard(code)).and_then(|shard| shard.get(&code)).map_or(0, BTreeSet::len)
    }

    /// Calls `each` with some documents of a code with this value, `most` of them if there are as many. `seed` determines which ones.
    pub(super) fn sample(&self, code: u64, value: u32, most: usize, seed: u64, each: &mut dyn FnMut(u32)) {
        let set = self.shards.get(shard(code)).and_then(|shard| shard.get(&code));
        let Some(set) = set.filter(|_| value == MULTIPLE) else { return self.each(code, value, each) };
        let span = set.first().zip(set.last()).map_or(1, |(first, last)| u64::from(last - first) + 1);
        let start = set.first().map_or(0, |first| first + (seed % span) as u32);
        set.range(start..).chain(set.range(..start)).take(most).for_each(|&doc| each(doc));
    }

    /// Estimates the heap size in bytes, assuming that tree nodes are two thirds full.
    pub(super) fn memory_bytes(&self) -> usize {
        let slot = size_of::<(u64, BTreeSet<u32>)>() + 1;
        let maps: usize = self.shards.iter().map(|shard| shard.capacity() * 8 / 7 * slot).sum();
        let sets: usize = self.sets().map(|set| set.len().div_ceil(8) * 72).sum();
        self.shards.len() * size_of::<HashMap<u64, BTreeSet<u32>>>() + maps + sets
    }

    fn shard_mut(&mut self, code: u64) -> &mut HashMap<u64, BTreeSet<u32>> {
        if self.shards.is_empty() {
            self.shards.resize_with(SHARDS, HashMap::new);
        }
        &mut self.shards[shard(code)]
    }
}

fn shard(code: u64) -> usize {
    (code.wrapping_mul(0x9E37_79B9_7F4A_7C15) >> 56) as usize
}
