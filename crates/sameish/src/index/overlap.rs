//! Whose sparse code shares the most bits?
//!
//! Documents stand in blocks of 16,384. A block has, for each bit, the list of its documents that have it set, as 16-bit
//! places. A query adds up the lists of its own bits, block by block, with counters that stay in the first cache. With A of
//! S bits set that is A * A / S additions a document, 0.8 for 40 of 2048; a scan of bit vectors looks at S / 64 words.
//! By these counts a scan does less from one bit in eight set on: such codes are not sparse.

use super::DocNumber;
use crate::error::{Error, Result};
use crate::sketch::Sdr;
use std::cmp::Reverse;
use std::collections::{BinaryHeap, HashMap};

/// Documents of a block.
const BLOCK: usize = 1 << 14;
/// Counters that are looked at together for one that is large enough.
const STRIDE: usize = 64;

/// Finds the sparse codes that share the most bits with a query. Exact; codes that share none are never listed.
///
/// # Cost
/// 2 bytes for each set bit, and about 30 a document for its place and number: some 110 for 40 of 2048 bits. A removal leaves
/// its place behind until half of its block is empty, so no more than as many again are in vain.
///
/// ```
/// use sameish::{DocNumber, OverlapIndex, Sdr};
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
    /// Blocks that may have room, the one in use last.
    open: Vec<u32>,
    places: HashMap<DocNumber, Place>,
}

/// A document that shares bits with the query.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct OverlapHit {
    /// Which document.
    pub doc: DocNumber,
    /// How many set bits it shares.
    pub overlap: u32,
}

impl OverlapIndex {
    /// An empty index over codes of `size` bits.
    pub fn new(size: u32) -> OverlapIndex {
        OverlapIndex { size, blocks: Vec::new(), open: Vec::new(), places: HashMap::new() }
    }

    /// How many bits a code has.
    pub fn size(&self) -> u32 {
        self.size
    }

    /// How many documents there are.
    pub fn len(&self) -> usize {
        self.places.len()
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.places.is_empty()
    }

    /// About how many bytes on the heap this takes. Looks at every list: not for hot paths.
    pub fn memory_bytes(&self) -> usize {
        let map = self.places.capacity() * 8 / 7 * (size_of::<(DocNumber, Place)>() + 1);
        map + self.blocks.iter().map(Block::memory_bytes).sum::<usize>()
    }

    /// Adds a document, in place of the one that had its number, and tells whether it is new.
    pub fn insert(&mut self, doc: DocNumber, code: &Sdr) -> Result<bool> {
        self.check(code)?;
        let known = self.remove(doc);
        let block = self.open_block();
        let at = self.blocks[block as usize].push(doc, code.active());
        self.places.insert(doc, Place { block, at });
        Ok(!known)
    }

    /// Takes a document out; tells whether it was there.
    pub fn remove(&mut self, doc: DocNumber) -> bool {
        let Some(place) = self.places.remove(&doc) else { return false };
        let block = &mut self.blocks[place.block as usize];
        let full = block.docs.len() == BLOCK;
        block.docs[place.at as usize] = None;
        block.gone += 1;
        if block.gone > BLOCK / 2 {
            block.compact(|doc, at| _ = self.places.insert(doc, Place { block: place.block, at }));
            if full {
                self.open.push(place.block);
            }
        }
        true
    }

    /// The `k` documents that share the most bits, those of equal overlap by number.
    pub fn top(&self, query: &Sdr, k: usize) -> Result<Vec<OverlapHit>> {
        self.check(query)?;
        let mut best: BinaryHeap<Reverse<(u32, Reverse<DocNumber>)>> = BinaryHeap::new();
        if k > 0 {
            self.each(query, 1, |doc, overlap| {
                best.push(Reverse((overlap, Reverse(doc))));
                if best.len() > k {
                    best.pop();
                }
                // Once there are k, no smaller overlap can get in.
                best.peek().filter(|_| best.len() == k).map_or(1, |least| least.0.0)
            });
        }
        let hits = best.into_sorted_vec().into_iter();
        Ok(hits.map(|Reverse((overlap, Reverse(doc)))| OverlapHit { doc, overlap }).collect())
    }

    /// All documents that share at least so many bits, and at least one, in the order of [`top`](Self::top).
    pub fn at_least(&self, query: &Sdr, overlap: u32) -> Result<Vec<OverlapHit>> {
        self.check(query)?;
        let (least, mut hits) = (overlap.max(1), Vec::new());
        self.each(query, least, |doc, overlap| {
            hits.push(OverlapHit { doc, overlap });
            least
        });
        hits.sort_unstable_by_key(|hit| (Reverse(hit.overlap), hit.doc));
        Ok(hits)
    }

    /// Calls `visit` with documents of at least the overlap it asked for last, and `least` at first.
    fn each(&self, query: &Sdr, least: u32, visit: impl FnMut(DocNumber, u32) -> u32) {
        match query.active().len() {
            0..=0xFF => self.count::<u8>(query, least, visit),
            _ => self.count::<u32>(query, least, visit),
        }
    }

    fn count<C: Counter>(&self, query: &Sdr, mut least: u32, mut visit: impl FnMut(DocNumber, u32) -> u32) {
        let mut counters = [C::default(); BLOCK];
        for block in &self.blocks {
            counters.fill(C::default());
            for places in query.active().iter().filter_map(|bit| block.lists.get(bit)) {
                // The remainder changes nothing and spares the check of the bound.
                places.iter().for_each(|&at| counters[at as usize % BLOCK].increment());
            }
            for (counters, docs) in counters.chunks(STRIDE).zip(block.docs.chunks(STRIDE)) {
                if counters.iter().fold(C::default(), |most, &counter| most.max(counter)).value() < least {
                    continue;
                }
                for (counter, doc) in counters.iter().zip(docs) {
                    match doc {
                        Some(doc) if counter.value() >= least => least = visit(*doc, counter.value()),
                        _ => {}
                    }
                }
            }
        }
    }

    /// A block with room.
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
            let (expected, found) = (self.size as usize, code.size() as usize);
            return Err(Error::SizeMismatch { what: "code size", expected, found });
        }
        Ok(())
    }
}

/// Where a document stands.
#[derive(Clone, Copy, Debug)]
struct Place {
    block: u32,
    at: u16,
}

/// Some documents and, for each bit, which of them have it.
#[derive(Clone, Debug, Default)]
struct Block {
    lists: HashMap<u32, Vec<u16>>,
    /// By place; nothing where a document has gone.
    docs: Vec<Option<DocNumber>>,
    gone: usize,
}

impl Block {
    fn push(&mut self, doc: DocNumber, active: &[u32]) -> u16 {
        let at = self.docs.len() as u16;
        self.docs.push(Some(doc));
        active.iter().for_each(|&bit| self.lists.entry(bit).or_default().push(at));
        at
    }

    /// Moves documents to the places of those that have gone, and tells where each is now.
    fn compact(&mut self, mut moved: impl FnMut(DocNumber, u16)) {
        let old = std::mem::take(&mut self.docs);
        let mut places = vec![None; old.len()];
        for (doc, place) in old.into_iter().zip(&mut places).filter_map(|(doc, place)| Some((doc?, place))) {
            let at = self.docs.len() as u16;
            *place = Some(at);
            self.docs.push(Some(doc));
            moved(doc, at);
        }
        self.gone = 0;
        self.lists.retain(|_, list| {
            *list = list.iter().filter_map(|&at| places[at as usize]).collect();
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

/// A number that is wide enough for the overlap with a query.
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

    fn code(random: &mut SplitMix64, size: u32, most: usize) -> Sdr {
        let mut active: Vec<u32> =
            (0..random.below(most + 1)).map(|_| random.below(size as usize) as u32).collect();
        active.sort_unstable();
        active.dedup();
        Sdr::from_active(size, active).unwrap()
    }

    fn scan(model: &BTreeMap<u32, Sdr>, query: &Sdr, least: usize) -> Vec<(usize, u32)> {
        let mut hits: Vec<(usize, u32)> =
            model.iter().map(|(&doc, code)| (query.overlap(code).unwrap(), doc)).collect();
        hits.retain(|&(overlap, _)| overlap >= least.max(1));
        hits.sort_by_key(|&(overlap, doc)| (Reverse(overlap), doc));
        hits
    }

    fn plain(hits: Vec<OverlapHit>) -> Vec<(usize, u32)> {
        hits.into_iter().map(|hit| (hit.overlap as usize, hit.doc.0)).collect()
    }

    #[test]
    fn answers_as_a_scan_does_after_any_changes() {
        let mut random = SplitMix64(1);
        for (size, most) in [(64, 8), (400, 21), (2048, 600), (1 << 30, 5), (1, 1)] {
            let mut index = OverlapIndex::new(size);
            let mut model = BTreeMap::new();
            for step in 0..3000 {
                let doc = if random.below(50) == 0 { u32::MAX } else { random.below(400) as u32 };
                match random.below(8) {
                    0..4 => {
                        let code = code(&mut random, size, most);
                        assert_eq!(index.insert(DocNumber(doc), &code).unwrap(), !model.contains_key(&doc));
                        model.insert(doc, code);
                    }
                    4..7 => assert_eq!(index.remove(DocNumber(doc)), model.remove(&doc).is_some()),
                    _ => {
                        let query = code(&mut random, size, most);
                        let (k, least) = (random.below(30), random.below(6));
                        let (mut top, all) = (scan(&model, &query, 1), scan(&model, &query, least));
                        top.truncate(k);
                        assert_eq!(plain(index.top(&query, k).unwrap()), top, "{size}, {step}");
                        assert_eq!(
                            plain(index.at_least(&query, least as u32).unwrap()),
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
    fn blocks_are_compacted_and_used_again() {
        let mut random = SplitMix64(2);
        let mut index = OverlapIndex::new(256);
        let mut model = BTreeMap::new();
        let many = 5 * BLOCK as u32 / 2;
        for round in 0..4 {
            for doc in 0..many {
                let code = code(&mut random, 256, 6);
                index.insert(DocNumber(doc), &code).unwrap();
                model.insert(doc, code);
            }
            for doc in (0..many).filter(|doc| doc % 10 < 7) {
                assert!(index.remove(DocNumber(doc)) && model.remove(&doc).is_some());
            }
            let query = code(&mut random, 256, 20);
            assert_eq!(plain(index.at_least(&query, 2).unwrap()), scan(&model, &query, 2), "round {round}");
            assert!(index.blocks.len() <= 6, "{} blocks", index.blocks.len());
        }
        (0..many).for_each(|doc| _ = index.remove(DocNumber(doc)));
        assert!(index.is_empty());
    }

    #[test]
    fn codes_of_another_size_are_refused() {
        let mut index = OverlapIndex::new(2048);
        let other = Sdr::from_active(1024, vec![1]).unwrap();
        let message = index.insert(DocNumber(0), &other).unwrap_err().to_string();
        assert!(message.contains("1024") && message.contains("2048"), "{message}");
        assert!(index.top(&other, 1).is_err() && index.at_least(&other, 1).is_err());
        assert!(index.is_empty());
    }

    #[test]
    fn an_overlap_over_255_is_counted() {
        let mut index = OverlapIndex::new(1000);
        let full = Sdr::from_active(1000, (0..1000).collect()).unwrap();
        index.insert(DocNumber(0), &full).unwrap();
        assert_eq!(plain(index.top(&full, 5).unwrap()), [(1000, 0)]);
    }
}
