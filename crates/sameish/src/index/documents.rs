//! Which documents have this fingerprint?

use std::collections::{BTreeSet, HashMap};

/// What stands in place of a document where there are several, or where the only one has this number.
pub(super) const SEVERAL: u32 = u32::MAX;

/// Maps that grow one at a time, so that no insert waits for all of them to be rehashed.
const SHARDS: usize = 256;

/// The documents of a code that has a value.
pub(super) trait DocumentSets {
    /// Calls `each` with the documents, in rising order.
    fn each(&self, code: u64, value: u32, each: &mut dyn FnMut(u32));
}

/// The documents of the fingerprints that have several. One alone is stored beside its code.
#[derive(Clone, Debug, Default)]
pub(super) struct Documents {
    shards: Vec<HashMap<u64, BTreeSet<u32>>>,
}

impl DocumentSets for Documents {
    fn each(&self, code: u64, value: u32, each: &mut dyn FnMut(u32)) {
        if value != SEVERAL {
            return each(value);
        }
        let set = self.shards.get(shard(code)).and_then(|shard| shard.get(&code));
        set.into_iter().flatten().for_each(|&doc| each(doc));
    }
}

impl Documents {
    /// The value for a code that had `value` and gets `doc`; `None` if it had `doc` already.
    pub(super) fn add(&mut self, code: u64, value: Option<u32>, doc: u32) -> Option<u32> {
        match value {
            None if doc != SEVERAL => return Some(doc),
            Some(only) if only == doc && doc != SEVERAL => return None,
            _ => {}
        }
        let set = self.shard_mut(code).entry(code).or_default();
        set.extend(value.filter(|&only| only != SEVERAL));
        set.insert(doc).then_some(SEVERAL)
    }

    /// Takes `doc` from a code that has `value`: `None` if it was not there, else what is left.
    pub(super) fn take(&mut self, code: u64, value: u32, doc: u32) -> Option<Option<u32>> {
        if value != SEVERAL {
            return (value == doc).then_some(None);
        }
        let shard = self.shard_mut(code);
        let set = shard.get_mut(&code)?;
        if !set.remove(&doc) {
            return None;
        }
        let left = match (set.len(), set.first()) {
            (1, Some(&only)) if only != SEVERAL => Some(only),
            (0, _) => None,
            _ => return Some(Some(SEVERAL)),
        };
        shard.remove(&code);
        Some(left)
    }

    /// Each set of documents that share a fingerprint.
    pub(super) fn sets(&self) -> impl Iterator<Item = &BTreeSet<u32>> {
        self.shards.iter().flat_map(HashMap::values)
    }

    /// Each code with several documents, and those, in rising order.
    pub(super) fn sorted(&self) -> Vec<(u64, &BTreeSet<u32>)> {
        let mut sets: Vec<_> = self.shards.iter().flatten().map(|(&code, set)| (code, set)).collect();
        sets.sort_unstable_by_key(|&(code, _)| code);
        sets
    }

    /// Makes these the documents of a code.
    pub(super) fn put(&mut self, code: u64, docs: &[u32]) {
        self.shard_mut(code).insert(code, docs.iter().copied().collect());
    }

    /// How many documents a code with this value has.
    pub(super) fn count(&self, code: u64, value: u32) -> usize {
        let mut count = 0;
        self.each(code, value, &mut |_| count += 1);
        count
    }

    /// About how many bytes this takes: what the maps reserve, and tree nodes two thirds full.
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
