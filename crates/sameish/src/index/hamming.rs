//! Who is near in 64 bits?

use super::blocks::BlockTables;
use super::documents::{DocumentSets, Documents, SEVERAL};
use super::file::{self, Header};
use super::layers::Layers;
use super::pages::Pages;
use super::part::Part;
use super::plan::{self, Key, Spec};
use super::search::Search;
use super::view::HammingView;
use super::{DocNumber, Hit, Pair};
use crate::config::Blocks;
use crate::error::{Error, Result};
use crate::sketch::Fingerprint;

/// Codes that a new index is planned for when nothing is said.
pub(super) const EXPECTED: usize = 1_000_000;

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
    layers: Layers<Pages>,
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
        HammingIndex::with_blocks_and_radius(blocks, blocks.differing)
    }

    /// The same for a radius of at most `blocks.differing` bits: the tables find more than is asked for.
    pub fn with_blocks_and_radius(blocks: Blocks, radius: u32) -> Result<HammingIndex> {
        let tables = BlockTables::new(blocks)?;
        check_radius(radius, blocks.differing)?;
        let layers = Layers::build(explicit(&tables), radius, true, 0, &[], &[]);
        Ok(HammingIndex { radius, tables: Some(tables), layers, documents: Documents::default(), len: 0 })
    }

    /// Makes an empty index one part of several. All parts must be made from equal indexes: the tables are not chosen
    /// anew for what a part gets.
    pub fn into_part(self, part: Part) -> Result<HammingIndex> {
        part.check()?;
        if !self.is_empty() {
            return Err(Error::field("index", format!("{} documents", self.len), "empty to become a part"));
        }
        let layers = match part.is_partial() {
            true => Layers::build_part(self.layers.specs(), self.radius, part, &[], &[]),
            false => self.layers,
        };
        Ok(HammingIndex { layers, ..self })
    }

    /// Which part of the whole this is.
    pub fn part(&self) -> Part {
        self.layers.part()
    }

    /// The parts that have to be asked about a query, in rising order. The others have nothing near it.
    pub fn parts_for(&self, query: Fingerprint) -> Vec<u32> {
        self.layers.parts_for(query.as_u64())
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
        self.layers.tables().len()
    }

    /// Bytes on the heap. Counts every bucket: not for hot paths.
    pub fn memory_bytes(&self) -> usize {
        self.layers.memory_bytes() + self.documents.memory_bytes()
    }

    /// Adds a document, and tells whether it was new. A fingerprint may have many documents. A part takes no notice of
    /// fingerprints that none of its tables has room for.
    pub fn insert(&mut self, fingerprint: Fingerprint, doc: DocNumber) -> bool {
        let code = fingerprint.as_u64();
        self.layers.prefetch_insert(code);
        self.add(code, doc.0)
    }

    /// Removes a document, and tells whether it was there.
    pub fn remove(&mut self, fingerprint: Fingerprint, doc: DocNumber) -> bool {
        let code = fingerprint.as_u64();
        self.layers.prefetch_remove(code);
        self.take(code, doc.0)
    }

    /// Adds many documents, and tells how many were new. Into an empty index this also chooses the tables anew, for as
    /// many as there are, and builds each in one go; a part keeps its tables.
    pub fn insert_all(&mut self, entries: &[(Fingerprint, DocNumber)]) -> usize {
        let before = self.len;
        if self.is_empty() {
            self.build(entries);
            return self.len;
        }
        let codes: Vec<u64> = entries.iter().map(|(fingerprint, _)| fingerprint.as_u64()).collect();
        let change = |index: &mut HammingIndex, i: usize| _ = index.add(codes[i], entries[i].1.0);
        Layers::ahead_of(self, &codes, |index| &index.layers, Layers::prefetch_insert, change);
        self.len - before
    }

    /// Removes many documents, and tells how many were there.
    pub fn remove_all(&mut self, entries: &[(Fingerprint, DocNumber)]) -> usize {
        let before = self.len;
        let codes: Vec<u64> = entries.iter().map(|(fingerprint, _)| fingerprint.as_u64()).collect();
        let change = |index: &mut HammingIndex, i: usize| _ = index.take(codes[i], entries[i].1.0);
        Layers::ahead_of(self, &codes, |index| &index.layers, Layers::prefetch_remove, change);
        before - self.len
    }

    /// Some document within the radius, not always the nearest.
    pub fn find_first(&self, query: Fingerprint) -> Option<Hit> {
        self.search().find_first(query)
    }

    /// Replaces `hits` by every document within the radius, the nearest first, then by number.
    pub fn find_all(&self, query: Fingerprint, hits: &mut Vec<Hit>) {
        self.search().find_within(query, 64, hits);
    }

    /// The same for a radius that may be smaller than the index's, and costs less then.
    pub fn find_within(&self, query: Fingerprint, radius: u32, hits: &mut Vec<Hit>) {
        self.search().find_within(query, radius, hits);
    }

    /// For each query, as [`find_first`](Self::find_first) gives it.
    pub fn find_first_bulk(&self, queries: &[Fingerprint]) -> Vec<Option<Hit>> {
        self.search().find_first_bulk(queries)
    }

    /// Gives `sink` the position of each query and its hits, as [`find_all`](Self::find_all) does, in order. Much
    /// faster than a loop, because memory is asked for what the next queries need while one is answered.
    pub fn find_all_bulk(&self, queries: &[Fingerprint], sink: impl FnMut(usize, &[Hit])) {
        self.search().find_all_bulk(queries, sink);
    }

    /// Gives `sink` all pairs of documents within the radius, each once, in no particular order.
    ///
    /// A bucket is compared with itself only, so this is far from comparing all with all. Documents that share a
    /// fingerprint are a pair each with each: nothing can be faster than telling them. A part tells no pair that needs
    /// another part: ask all parts with [`find_all_bulk`](Self::find_all_bulk) instead.
    pub fn pairs(&self, mut sink: impl FnMut(Pair)) {
        for set in self.documents.sets() {
            for (i, &a) in set.iter().enumerate() {
                set.iter().skip(i + 1).for_each(|&b| sink(Pair::new(a, b, 0)));
            }
        }
        self.layers.pairs(&mut |x, y| {
            let distance = (x ^ y).count_ones();
            let (Some(of_x), Some(of_y)) = (self.layers.get(x), self.layers.get(y)) else { return };
            self.documents.each(x, of_x, &mut |a| {
                self.documents.each(y, of_y, &mut |b| sink(Pair::new(a, b, distance)));
            });
        });
    }

    /// The index as bytes of one file, which [`from_bytes`](Self::from_bytes) and [`HammingView`] read.
    pub fn to_bytes(&self) -> Vec<u8> {
        let mut bytes = Vec::new();
        // Writing to memory does not fail.
        let _ = self.write_into(&mut bytes);
        bytes
    }

    /// Writes the index, as [`to_bytes`](Self::to_bytes) gives it.
    pub fn write_into(&self, out: &mut impl std::io::Write) -> std::io::Result<()> {
        let blocks = self.tables.as_ref().map(BlockTables::blocks);
        let header = Header { radius: self.radius, blocks, part: self.part(), len: self.len as u64 };
        file::write(out, &header, &self.layers, &self.documents)
    }

    /// Reads a stored index. Everything is checked.
    pub fn from_bytes(bytes: &[u8]) -> Result<HammingIndex> {
        HammingView::from_bytes(bytes)?.to_index()
    }

    /// An index of codes with values, and the documents of codes that have several.
    pub(super) fn from_stored<'a>(
        header: &Header,
        tables: Option<BlockTables>,
        specs: Vec<Spec>,
        mut entries: Vec<(u64, u32)>,
        sets: impl Iterator<Item = (u64, &'a [u32])>,
    ) -> HammingIndex {
        let Header { radius, part, .. } = *header;
        let mut documents = Documents::default();
        sets.for_each(|(code, docs)| documents.put(code, docs));
        entries.sort_unstable();
        entries.dedup_by_key(|entry| entry.0);
        let len = entries.iter().map(|&(code, value)| documents.count(code, value)).sum();
        let (codes, values): (Vec<u64>, Vec<u32>) = entries.into_iter().unzip();
        let layers = match part.is_partial() {
            true => Layers::build_part(specs, radius, part, &codes, &values),
            false => Layers::build(specs, radius, true, 0, &codes, &values),
        };
        HammingIndex { radius, tables, layers, documents, len }
    }

    fn build(&mut self, entries: &[(Fingerprint, DocNumber)]) {
        let mut sorted: Vec<(u64, u32)> = entries.iter().map(|(fp, doc)| (fp.as_u64(), doc.0)).collect();
        if self.layers.part().is_partial() {
            sorted.retain(|&(code, _)| self.layers.owns(code));
        }
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
        self.layers = self.built(&codes, &values);
    }

    fn built(&self, codes: &[u64], values: &[u32]) -> Layers<Pages> {
        let part = self.layers.part();
        if part.is_partial() {
            return Layers::build_part(self.layers.specs(), self.radius, part, codes, values);
        }
        let plan = match &self.tables {
            Some(tables) => explicit(tables),
            None => plan::choose(self.radius, codes.len().max(EXPECTED)),
        };
        Layers::build(plan, self.radius, true, 0, codes, values)
    }

    fn search(&self) -> Search<'_, Pages, Documents> {
        Search { layers: &self.layers, documents: &self.documents }
    }

    fn add(&mut self, code: u64, doc: u32) -> bool {
        if !self.layers.owns(code) {
            return false;
        }
        let known = self.layers.get(code);
        let Some(value) = self.documents.add(code, known, doc) else { return false };
        match known {
            None => self.layers.insert(code, value),
            Some(old) if old != value => self.layers.set(code, value),
            Some(_) => {}
        }
        self.len += 1;
        true
    }

    fn take(&mut self, code: u64, doc: u32) -> bool {
        let Some(value) = self.layers.get(code) else { return false };
        match self.documents.take(code, value, doc) {
            None => return false,
            Some(None) => self.layers.remove(code),
            Some(Some(left)) if left != value => self.layers.set(code, left),
            Some(Some(_)) => {}
        }
        self.len -= 1;
        true
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
