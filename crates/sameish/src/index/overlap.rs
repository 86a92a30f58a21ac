//! Inverted index over the bits of sparse codes (SDRs).
//!
//! Documents are divided into blocks of 16,384. For each bit, a block has a posting list: the 16-bit positions of its
//! documents that have the bit set. A query traverses the posting lists of its own bits, block by block, and counts the
//! occurrences of each document with counters that fit in the L1 cache. If A of S bits are set, this takes A * A / S
//! additions per document, 0.8 for 40 of 2048 bits; a scan of bit vectors reads S / 64 words per document. By these counts,
//! a scan is cheaper if more than one bit in eight is set, but such codes are not sparse.

use super::DocNumber;
use crate::error::{Error, Result};
use crate::sketch::Sdr;
use std::cmp::Reverse;
use std::collections::{BinaryHeap, HashMap};

/// Maximum number of documents per block.
const BLOCK: usize = 1 << 14;
/// Number of counters whose maximum is compared with the minimum overlap at once.
const STRIDE: usize = 64;

/// Finds the sparse codes that share the most set bits with a query.
///
/// The search is exact. Codes that share no bit with the query are never returned.
///
/// # Cost
/// Takes 2 bytes per set bit and about 30 bytes per document for its number and position: about 110 bytes per document for
/// codes with 40 of 2048 bits. A removed document keeps its position until more than 8,192 positions of its block are
/// unused; then the block is compacted.
///
/// ```
/// use sameish::index::{DocNumber, OverlapIndex};
/// use sameish::Sdr;
///
/// let mut index = OverlapIndex::new(2048);
/// index.insert(DocNumber(1), &Sdr::from_active(2048, vec![3, 500, 2000])?)?;
/// index.insert(DocNumber(2), &Sdr::from_active(2048, vec![3, 4])?)?;
/// index.insert(DocNumber(3), &Sdr::from_active(2048, vec![9])?)?;
/// let hits = index.top(&Sdr::from_active(2048, vec![3, 500, 501])?, 10)?;
/// assert_eq!(hits.iter().map(|hit| (hit.doc.0, hit.overlap)).collect::<Vec<_>>(), [(1, 2), (2, 1)]);
/// # Ok::<(), sameish::Error>(())
/// ```
#[derive(Clone, Debug)]
pub struct OverlapIndex {
    size: u32,
    blocks: Vec<Block>,
    /// Blocks that may have free positions. The last one receives the next document.
    open: Vec<u32>,
    locations: HashMap<DocNumber, Location>,
}

/// A document that shares bits with the query.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct OverlapHit {
    /// The document.
    pub doc: DocNumber,
    /// Number of set bits that it shares with the query.
    pub overlap: u32,
}

impl OverlapIndex {
    /// Creates an empty index for codes of `size` bits.
    pub fn new(size: u32) -> OverlapIndex {
        OverlapIndex { size, blocks: Vec::new(), open: Vec::new(), locations: HashMap::new() }
    }

    /// Returns the number of bits per code.
    pub fn size(&self) -> u32 {
        self.size
    }

    /// Returns the number of documents.
    pub fn len(&self) -> usize {
        self.locations.len()
    }

    /// Returns `true` if there are no documents.
    pub fn is_empty(&self) -> bool {
        self.locations.is_empty()
    }

    /// Estimates the heap size in bytes. Visits every posting list, so it is slow for large indexes.
    pub fn memory_bytes(&self) -> usize {
        let map = self.locations.capacity() * 8 / 7 * (size_of::<(DocNumber, Location)>() + 1);
        map + self.blocks.iter().map(Block::memory_bytes).sum::<usize>()
    }

    /// Adds a document, or replaces the one with the same number. Returns `true` if the number is new.
    pub fn insert(&mut self, doc: DocNumber, code: &Sdr) -> Result<bool> {
        self.check(code)?;
        let is_replaced = self.remove(doc);
        let block = self.open_block();
        let at = self.blocks[block as usize].push(doc, code.active());
        self.locations.insert(doc, Location { block, at });
        Ok(!is_replaced)
    }

    /// Removes a document. Returns `true` if the index contained it.
    pub fn remove(&mut self, doc: DocNumber) -> bool {
        let Some(location) = self.locations.remove(&doc) else { return false };
        let block = &mut self.blocks[location.block as usize];
        let is_full = block.docs.len() == BLOCK;
        block.docs[location.at as usize] = None;
        block.unused += 1;
        if block.unused > BLOCK / 2 {
            block.compact(|doc, at| _ = self.locations.insert(doc, Location { block: location.block, at }));
            if is_full {
                self.open.push(location.block);
            }
        }
        true
    }

    /// Returns the `k` documents that share the most bits with the query, by descending overlap, then by ascending number.
    pub fn top(&self, query: &Sdr, k: usize) -> Result<Vec<OverlapHit>> {
        self.check(query)?;
        let mut best: BinaryHeap<Reverse<(u32, Reverse<DocNumber>)>> = BinaryHeap::new();
        if k > 0 {
            self.each(query, 1, |doc, overlap| {
                best.push(Reverse((overlap, Reverse(doc))));
                if best.len() > k {
                    best.pop();
                }
                // Once k documents are found, only overlaps of at least the smallest of them matter.
                best.peek().filter(|_| best.len() == k).map_or(1, |worst| worst.0.0)
            });
        }
        let hits = best.into_sorted_vec().into_iter();
        Ok(hits.map(|Reverse((overlap, Reverse(doc)))| OverlapHit { doc, overlap }).collect())
    }

    /// Returns all documents that share at least `overlap` bits with the query, and at least one, in the order of
    /// [`top`](Self::top).
    pub fn at_least(&self, query: &Sdr, overlap: u32) -> Result<Vec<OverlapHit>> {
        self.check(query)?;
        let min_overlap = overlap.max(1);
        let mut hits = Vec::new();
        self.each(query, min_overlap, |doc, overlap| {
            hits.push(OverlapHit { doc, overlap });
            min_overlap
        });
        hits.sort_unstable_by_key(|hit| (Reverse(hit.overlap), hit.doc));
        Ok(hits)
    }

    /// Calls `visit` with each document that shares at least `min_overlap` bits with the query. `visit` returns the minimum
    /// overlap for the following documents.
    fn each(&self, query: &Sdr, min_overlap: u32, visit: impl FnMut(DocNumber, u32) -> u32) {
        match query.active().len() {
            0..=0xFF => self.count::<u8>(query, min_overlap, visit),
            _ => self.count::<u32>(query, min_overlap, visit),
        }
    }

    /// Implements [`each`](Self::each) with counters that are wide enough for the number of bits of the query.
    fn count<C: Counter>(
        &self,
        query: &Sdr,
        mut min_overlap: u32,
        mut visit: impl FnMut(DocNumber, u32) -> u32,
    ) {
        let mut counters = [C::default(); BLOCK];
        for block in &self.blocks {
            counters.fill(C::default());
            for positions in query.active().iter().filter_map(|bit| block.lists.get(bit)) {
                // Positions are below `BLOCK`; the remainder lets the compiler omit the bounds check.
                positions.iter().for_each(|&at| counters[at as usize % BLOCK].increment());
            }
            for (counters, docs) in counters.chunks(STRIDE).zip(block.docs.chunks(STRIDE)) {
                if counters.iter().fold(C::default(), |max, &counter| max.max(counter)).value() < min_overlap
                {
                    continue;
                }
                for (counter, doc) in counters.iter().zip(docs) {
                    match doc {
                        Some(doc) if counter.value() >= min_overlap => {
                            min_overlap = visit(*doc, counter.value());
                        }
                        _ => {}
                    }
                }
            }
        }
    }

    /// Returns a block with a free position. Adds a block if there is none.
    fn open_block(&mut self) -> u32 {
        while let Some(&block) = self.open.last() {
            if self.blocks[block as usize].docs.len() < BLOCK {
                return block;
            }
            self.blocks[block as usize].shrink();
            self.open.pop();
        }
        let block = self.blocks.len() as u32;
        self.blocks.push(Block::default());
        self.open.push(block);
        block
    }

    fn check(&self, code: &Sdr) -> Result<()> {
        if code.size() != self.size {
            let expected = self.size as usize;
            let found = code.size() as usize;
            return Err(Error::SizeMismatch { what: "code size", expected, found });
        }
        Ok(())
    }
}

/// The location of a document.
#[derive(Clone, Copy, Debug)]
struct Location {
    block: u32,
    at: u16,
}

/// Up to [`BLOCK`] documents, and a posting list for each bit.
#[derive(Clone, Debug, Default)]
struct Block {
    lists: HashMap<u32, Vec<u16>>,
    /// Documents by position; `None` if the document was removed.
    docs: Vec<Option<DocNumber>>,
    /// Number of positions of removed documents.
    unused: usize,
}

impl Block {
    fn push(&mut self, doc: DocNumber, active: &[u32]) -> u16 {
        let at = self.docs.len() as u16;
        self.docs.push(Some(doc));
        active.iter().for_each(|&bit| self.lists.entry(bit).or_default().push(at));
        at
    }

    /// Closes the gaps left by removed documents. Calls `moved` with each remaining document and its new position.
    fn compact(&mut self, mut moved: impl FnMut(DocNumber, u16)) {
        let old = std::mem::take(&mut self.docs);
        let mut positions = vec![None; old.len()];
        for (doc, position) in
            old.into_iter().zip(&mut positions).filter_map(|(doc, position)| Some((doc?, position)))
        {
            let at = self.docs.len() as u16;
            *position = Some(at);
            self.docs.push(Some(doc));
            moved(doc, at);
        }
        self.unused = 0;
        self.lists.retain(|_, list| {
            *list = list.iter().filter_map(|&at| positions[at as usize]).collect();
            !list.is_empty()
        });
    }

    fn shrink(&mut self) {
        self.lists.values_mut().for_each(Vec::shrink_to_fit);
        self.docs.shrink_to_fit();
    }

    fn memory_bytes(&self) -> usize {
        let map = self.lists.capacity() * 8 / 7 * (size_of::<(u32, Vec<u16>)>() + 1);
        let lists: usize = self.lists.values().map(|list| list.capacity() * 2).sum();
        map + lists + self.docs.capacity() * size_of::<Option<DocNumber>>()
    }
}

/// An integer type that is wide enough to count the bits that a code shares with a query.
trait Counter: Copy + Default + Ord {
    fn increment(&mut self);
    fn value(self) -> u32;
}

impl Counter for u8 {
    #[inline]
    fn increment(&mut self) {
        *self += 1;
    }

    #[inline]
    fn value(self) -> u32 {
        u32::from(self)
    }
}

impl Counter for u32 {
    #[inline]
    fn increment(&mut self) {
        *self += 1;
    }

    #[inline]
    fn value(self) -> u32 {
        self
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::random::SplitMix64;
    use std::collections::BTreeMap;

    fn code(random: &mut SplitMix64, size: u32, max_active: usize) -> Sdr {
        let mut active: Vec<u32> =
            (0..random.below(max_active + 1)).map(|_| random.below(size as usize) as u32).collect();
        active.sort_unstable();
        active.dedup();
        Sdr::from_active(size, active).unwrap()
    }

    fn scan(model: &BTreeMap<u32, Sdr>, query: &Sdr, min_overlap: usize) -> Vec<(usize, u32)> {
        let mut hits: Vec<(usize, u32)> =
            model.iter().map(|(&doc, code)| (query.overlap(code).unwrap(), doc)).collect();
        hits.retain(|&(overlap, _)| overlap >= min_overlap.max(1));
        hits.sort_by_key(|&(overlap, doc)| (Reverse(overlap), doc));
        hits
    }

    fn tuples(hits: Vec<OverlapHit>) -> Vec<(usize, u32)> {
        hits.into_iter().map(|hit| (hit.overlap as usize, hit.doc.0)).collect()
    }

    #[test]
    fn agrees_with_a_scan_after_random_updates() {
        let mut random = SplitMix64(1);
        for (size, max_active) in [(64, 8), (400, 21), (2048, 600), (1 << 30, 5), (1, 1)] {
            let mut index = OverlapIndex::new(size);
            let mut model = BTreeMap::new();
            for step in 0..3000 {
                let doc = if random.below(50) == 0 { u32::MAX } else { random.below(400) as u32 };
                match random.below(8) {
                    0..4 => {
                        let code = code(&mut random, size, max_active);
                        assert_eq!(index.insert(DocNumber(doc), &code).unwrap(), !model.contains_key(&doc));
                        model.insert(doc, code);
                    }
                    4..7 => assert_eq!(index.remove(DocNumber(doc)), model.remove(&doc).is_some()),
                    _ => {
                        let query = code(&mut random, size, max_active);
                        let k = random.below(30);
                        let min_overlap = random.below(6);
                        let mut top = scan(&model, &query, 1);
                        let all = scan(&model, &query, min_overlap);
                        top.truncate(k);
                        assert_eq!(tuples(index.top(&query, k).unwrap()), top, "{size}, {step}");
                        assert_eq!(
                            tuples(index.at_least(&query, min_overlap as u32).unwrap()),
                            all,
                            "{size}, {step}"
                        );
                    }
                }
                assert_eq!(index.len(), model.len());
            }
        }
    }

    #[test]
    fn compacts_and_reuses_blocks() {
        let mut random = SplitMix64(2);
        let mut index = OverlapIndex::new(256);
        let mut model = BTreeMap::new();
        let count = 5 * BLOCK as u32 / 2;
        for round in 0..4 {
            for doc in 0..count {
                let code = code(&mut random, 256, 6);
                index.insert(DocNumber(doc), &code).unwrap();
                model.insert(doc, code);
            }
            for doc in (0..count).filter(|doc| doc % 10 < 7) {
                assert!(index.remove(DocNumber(doc)) && model.remove(&doc).is_some());
            }
            let query = code(&mut random, 256, 20);
            assert_eq!(tuples(index.at_least(&query, 2).unwrap()), scan(&model, &query, 2), "round {round}");
            assert!(index.blocks.len() <= 6, "{} blocks", index.blocks.len());
        }
        (0..count).for_each(|doc| _ = index.remove(DocNumber(doc)));
        assert!(index.is_empty());
    }

    #[test]
    fn rejects_codes_of_a_different_size() {
        let mut index = OverlapIndex::new(2048);
        let other = Sdr::from_active(1024, vec![1]).unwrap();
        let message = index.insert(DocNumber(0), &other).unwrap_err().to_string();
        assert!(message.contains("1024") && message.contains("2048"), "{message}");
        assert!(index.top(&other, 1).is_err() && index.at_least(&other, 1).is_err());
        assert!(index.is_empty());
    }

    #[test]
    fn counts_overlaps_above_255() {
        let mut index = OverlapIndex::new(1000);
        let full = Sdr::from_active(1000, (0..1000).collect()).unwrap();
        index.insert(DocNumber(0), &full).unwrap();
        assert_eq!(tuples(index.top(&full, 5).unwrap()), [(1000, 0)]);
    }
}
