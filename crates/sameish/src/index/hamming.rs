//! Who is near in 64 bits?

use super::blocks::BlockTables;
use super::documents::{Documents, SEVERAL};
use super::layers::Layers;
use super::plan::{self, Key, Spec};
use super::{DocNumber, Hit, Pair};
use crate::config::Blocks;
use crate::error::{Error, Result};
use crate::sketch::Fingerprint;

/// Codes that a new index is planned for when nothing is said.
const EXPECTED: usize = 1_000_000;

/// Codes whose documents are fetched together.
const PENDING: usize = 64;

/// A code that was found, before its documents are.
struct Found {
    query: usize,
    code: u64,
    value: Option<u32>,
}

/// Finds documents whose fingerprints differ in at most `radius` bits. Exact: no match is missed, each is told once.
///
/// The 64 bits are cut into blocks, with a table for each. Two fingerprints within the radius agree on at least one
/// block, exactly or up to a few bits, so a query only compares with the codes in a few buckets of each table. How many
/// blocks is chosen from the radius and the number of codes; where no choice is cheaper than comparing with everything,
/// that is what is done. [`with_blocks`](Self::with_blocks) makes the tables of an explicit cut instead.
///
/// # Cost
/// Radius 3 and random codes: 4 buckets of 21 codes up to 1.4 million, of n / 65,536 beyond. A bucket with over 512
/// codes and over 4 times the average gets an index of its own over the bits in which its codes differ, up to four deep,
/// so codes that share blocks do not make a query linear. It is as large a share of them that it looks at as for random
/// codes of that many bits; where that is most of them, as for a large radius or few bits, they are all compared.
/// Inserts and removals touch one bucket a table, and split or nest at most one.
///
/// # Examples
/// ```
/// use sameish::{DocNumber, Fingerprint, HammingIndex, Hit};
///
/// let mut index = HammingIndex::new(3)?;
/// index.insert(Fingerprint::from_u64(0xABCD), DocNumber(1));
/// index.insert(Fingerprint::from_u64(0xABCE), DocNumber(2));
/// let mut hits = Vec::new();
/// index.find_all(Fingerprint::from_u64(0xABCF), &mut hits);
/// assert_eq!(hits, [Hit { distance: 1, doc: DocNumber(1) }, Hit { distance: 1, doc: DocNumber(2) }]);
/// assert!(index.remove(Fingerprint::from_u64(0xABCD), DocNumber(1)));
/// # Ok::<(), sameish::Error>(())
/// ```
#[derive(Clone, Debug)]
pub struct HammingIndex {
    radius: u32,
    tables: Option<BlockTables>,
    layers: Layers,
    documents: Documents,
    len: usize,
}

impl HammingIndex {
    /// An index for a radius of 0 to 64 bits, with tables for about a million fingerprints.
    pub fn new(radius: u32) -> Result<HammingIndex> {
        HammingIndex::with_capacity(radius, EXPECTED)
    }

    /// An index for a radius of 0 to 64 bits, with the tables that suit `expected` fingerprints. More or fewer are
    /// found as well, only not as fast as they could be.
    pub fn with_capacity(radius: u32, expected: usize) -> Result<HammingIndex> {
        check_radius(radius, 64)?;
        let layers = Layers::build(plan::choose(radius, expected), radius, true, 0, &[], &[]);
        Ok(HammingIndex { radius, tables: None, layers, documents: Documents::default(), len: 0 })
    }

    /// An index with one table for each choice of agreeing blocks, for a radius of `blocks.differing` bits.
    pub fn with_blocks(blocks: Blocks) -> Result<HammingIndex> {
        let tables = BlockTables::new(blocks)?;
        let radius = blocks.differing;
        let layers = Layers::build(explicit(&tables), radius, true, 0, &[], &[]);
        Ok(HammingIndex { radius, tables: Some(tables), layers, documents: Documents::default(), len: 0 })
    }

    /// The most bits in which a hit may differ.
    pub fn radius(&self) -> u32 {
        self.radius
    }

    /// The tables of an explicit cut into blocks.
    pub fn block_tables(&self) -> Option<&BlockTables> {
        self.tables.as_ref()
    }

    /// How many documents there are.
    pub fn len(&self) -> usize {
        self.len
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// How many tables there are.
    pub fn table_count(&self) -> usize {
        self.layers.specs().count()
    }

    /// Bytes on the heap. Counts every bucket: not for hot paths.
    pub fn memory_bytes(&self) -> usize {
        self.layers.memory_bytes() + self.documents.memory_bytes()
    }

    /// Adds a document, and tells whether it was new. A fingerprint may have many documents.
    pub fn insert(&mut self, fingerprint: Fingerprint, doc: DocNumber) -> bool {
        self.layers.prefetch_headers(fingerprint.as_u64());
        self.insert_with(fingerprint, doc, Layers::insert)
    }

    /// Removes a document, and tells whether it was there.
    pub fn remove(&mut self, fingerprint: Fingerprint, doc: DocNumber) -> bool {
        self.layers.prefetch_headers(fingerprint.as_u64());
        self.layers.prefetch_codes(fingerprint.as_u64());
        self.remove_with(fingerprint, doc, Layers::remove)
    }

    /// Adds many documents, and tells how many were new. Into an empty index this also chooses the tables anew, for as
    /// many as there are, and builds each in one go.
    pub fn insert_all(&mut self, entries: &[(Fingerprint, DocNumber)]) -> usize {
        let before = self.len;
        if self.is_empty() {
            self.build(entries);
            return self.len;
        }
        let mut added = Vec::new();
        for i in self.order(entries) {
            let (fingerprint, doc) = entries[i as usize];
            self.insert_with(fingerprint, doc, |layers, code, value| {
                layers.insert_first(code, value);
                added.push(code);
            });
        }
        self.layers.insert_rest(&added);
        self.len - before
    }

    /// Removes many documents, and tells how many were there.
    pub fn remove_all(&mut self, entries: &[(Fingerprint, DocNumber)]) -> usize {
        let before = self.len;
        let mut removed = Vec::new();
        for i in self.order(entries) {
            let (fingerprint, doc) = entries[i as usize];
            self.remove_with(fingerprint, doc, |layers, code| {
                layers.remove_first(code);
                removed.push(code);
            });
        }
        self.layers.remove_rest(&removed);
        before - self.len
    }

    /// Some document within the radius, not always the nearest.
    pub fn find_first(&self, query: Fingerprint) -> Option<Hit> {
        let mut first = None;
        self.layers.find(query.as_u64(), &mut |code, value| {
            first = self.first_of(query.as_u64(), code, value);
            true
        });
        first
    }

    /// Replaces `hits` by every document within the radius, the nearest first, then by number.
    pub fn find_all(&self, query: Fingerprint, hits: &mut Vec<Hit>) {
        hits.clear();
        self.layers.find(query.as_u64(), &mut |code, value| {
            self.push_hits(query.as_u64(), code, value, hits);
            false
        });
        hits.sort_unstable();
    }

    /// For each query, as [`find_first`](Self::find_first) gives it.
    pub fn find_first_bulk(&self, queries: &[Fingerprint]) -> Vec<Option<Hit>> {
        let codes: Vec<u64> = queries.iter().map(|query| query.as_u64()).collect();
        let mut firsts = vec![None; queries.len()];
        self.layers.find_bulk(&codes, &mut |query, code, value| {
            firsts[query] = self.first_of(codes[query], code, value);
            true
        });
        firsts
    }

    /// Gives `sink` the position of each query and its hits, as [`find_all`](Self::find_all) does, in order. Much
    /// faster than a loop, because memory is asked for what the next queries need while one is answered.
    pub fn find_all_bulk(&self, queries: &[Fingerprint], mut sink: impl FnMut(usize, &[Hit])) {
        let codes: Vec<u64> = queries.iter().map(|query| query.as_u64()).collect();
        let (mut next, mut hits, mut pending) = (0, Vec::new(), Vec::with_capacity(PENDING));
        let mut tell = |hits: &mut Vec<Hit>, upto: usize| {
            while next < upto {
                hits.sort_unstable();
                sink(next, hits);
                hits.clear();
                next += 1;
            }
        };
        let mut settle = |pending: &mut Vec<Found>| {
            pending.iter().for_each(|found| self.layers.prefetch_first(found.code));
            pending.iter().for_each(|found| self.layers.prefetch_value(found.code));
            for Found { query, code, value } in pending.drain(..) {
                tell(&mut hits, query);
                self.push_hits(codes[query], code, value, &mut hits);
            }
        };
        self.layers.find_bulk(&codes, &mut |query, code, value| {
            self.layers.prefetch_first_header(code);
            pending.push(Found { query, code, value });
            if pending.len() == PENDING {
                settle(&mut pending);
            }
            false
        });
        settle(&mut pending);
        tell(&mut hits, queries.len());
    }

    /// Gives `sink` all pairs of documents within the radius, each once, in no particular order.
    ///
    /// A bucket is compared with itself only, so this is far from comparing all with all. Documents that share a
    /// fingerprint are a pair each with each: nothing can be faster than telling them.
    pub fn pairs(&self, mut sink: impl FnMut(Pair)) {
        for set in self.documents.sets() {
            for (i, &a) in set.iter().enumerate() {
                set.iter().skip(i + 1).for_each(|&b| sink(Pair::new(a, b, 0)));
            }
        }
        self.layers.pairs(&mut |x, y| {
            let distance = (x ^ y).count_ones();
            let (Some(of_x), Some(of_y)) = (self.layers.get(x), self.layers.get(y)) else { return };
            self.documents.each(x, of_x, |a| {
                self.documents.each(y, of_y, |b| sink(Pair::new(a, b, distance)));
            });
        });
    }

    fn build(&mut self, entries: &[(Fingerprint, DocNumber)]) {
        let mut sorted: Vec<(u64, u32)> = entries.iter().map(|(fp, doc)| (fp.as_u64(), doc.0)).collect();
        sorted.sort_unstable();
        sorted.dedup();
        self.len = sorted.len();
        let (mut codes, mut values) = (Vec::with_capacity(self.len), Vec::with_capacity(self.len));
        for same in sorted.chunk_by(|a, b| a.0 == b.0) {
            let code = same[0].0;
            let value = same.iter().fold(None, |value, &(_, doc)| self.documents.add(code, value, doc));
            codes.push(code);
            values.push(value.unwrap_or(SEVERAL));
        }
        let plan = match &self.tables {
            Some(tables) => explicit(tables),
            None => plan::choose(self.radius, codes.len().max(EXPECTED)),
        };
        self.layers = Layers::build(plan, self.radius, true, 0, &codes, &values);
    }

    /// The order in which a bulk change walks through memory once.
    fn order(&self, entries: &[(Fingerprint, DocNumber)]) -> Vec<u32> {
        let codes: Vec<u64> = entries.iter().map(|(fingerprint, _)| fingerprint.as_u64()).collect();
        self.layers.order(&codes)
    }

    fn insert_with(
        &mut self,
        fingerprint: Fingerprint,
        doc: DocNumber,
        add: impl FnOnce(&mut Layers, u64, u32),
    ) -> bool {
        let code = fingerprint.as_u64();
        let known = self.layers.get(code);
        let Some(value) = self.documents.add(code, known, doc.0) else { return false };
        match known {
            None => add(&mut self.layers, code, value),
            Some(old) if old != value => self.layers.set(code, value),
            Some(_) => {}
        }
        self.len += 1;
        true
    }

    fn remove_with(
        &mut self,
        fingerprint: Fingerprint,
        doc: DocNumber,
        take: impl FnOnce(&mut Layers, u64),
    ) -> bool {
        let code = fingerprint.as_u64();
        let Some(value) = self.layers.get(code) else { return false };
        match self.documents.take(code, value, doc.0) {
            None => return false,
            Some(None) => take(&mut self.layers, code),
            Some(Some(left)) if left != value => self.layers.set(code, left),
            Some(Some(_)) => {}
        }
        self.len -= 1;
        true
    }

    fn push_hits(&self, query: u64, code: u64, value: Option<u32>, hits: &mut Vec<Hit>) {
        let distance = (query ^ code).count_ones();
        let Some(value) = value.or_else(|| self.layers.get(code)) else { return };
        self.documents.each(code, value, |doc| hits.push(Hit { distance, doc: DocNumber(doc) }));
    }

    fn first_of(&self, query: u64, code: u64, value: Option<u32>) -> Option<Hit> {
        let mut hits = Vec::new();
        self.push_hits(query, code, value, &mut hits);
        hits.first().copied()
    }
}

fn check_radius(radius: u32, most: u32) -> Result<()> {
    if radius > most {
        return Err(Error::field("radius", radius, format!("0 to {most}")));
    }
    Ok(())
}

/// One hashed table for each choice of blocks that agree.
fn explicit(tables: &BlockTables) -> Vec<Spec> {
    let spec = |mask| Spec { key: Key::Hashed, mask, flips: 0 };
    tables.permutations().iter().map(|table| spec(table.agreeing_mask())).collect()
}
