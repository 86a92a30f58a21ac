//! Exact search by Hamming distance over 64-bit fingerprints.

use super::blocks::BlockTables;
use super::documents::{DocumentSets, Documents, MULTIPLE};
use super::file::{self, Header};
use super::pages::Pages;
use super::part::Part;
use super::plan::{self, Key, TableSpec};
use super::search::Search;
use super::table_set::TableSet;
use super::view::HammingView;
use super::{DocNumber, Hit, Pair};
use crate::config::Blocks;
use crate::error::{Error, Result};
use crate::features::hash::fold;
use crate::sketch::Fingerprint;

/// Number of codes that an index is planned for by default.
pub(super) const EXPECTED: usize = 1_000_000;

/// Finds documents whose fingerprints differ from a query in at most `radius` bits.
///
/// The search is exact: it returns every match, each once. It uses multi-index hashing (Norouzi, Punjani and Fleet 2014).
/// The 64 bits are divided into disjoint blocks with one hash table per block. Two fingerprints within the radius agree on
/// at least one block, exactly or up to a few bits, so a query compares only the codes in a few buckets of each table. The
/// number of blocks minimizes the estimated cost for the radius and the number of codes; if a linear scan is cheaper, the
/// index scans. [`with_blocks`](Self::with_blocks) builds the tables of Manku, Jain and Das Sarma (2007) instead.
///
/// # Cost
/// For radius 3 and n random codes, a query reads 4 buckets. On average they have at most 21 codes each up to n = 1.4
/// million, and n / 65,536 codes each beyond.
///
/// Codes that share blocks do not make queries linear: a bucket with more than 512 codes and more than 4 times the average
/// gets a nested index over the bits in which its codes differ, up to four levels deep. A query then compares the same
/// fraction of these codes as for random codes of that many bits. If that is most of them, because the radius is large or
/// the varying bits are few, it compares all of them.
///
/// An insert or removal changes one bucket per table; an insert can also split or nest a bucket of each table.
///
/// # Examples
/// ```
/// use sameish::index::{DocNumber, HammingIndex, Hit};
/// use sameish::Fingerprint;
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
    table_set: TableSet<Pages>,
    documents: Documents,
    len: usize,
}

impl HammingIndex {
    /// Creates an empty index, planned for about a million fingerprints. Returns an error if the radius exceeds 64 bits.
    pub fn new(radius: u32) -> Result<HammingIndex> {
        HammingIndex::with_capacity(radius, EXPECTED)
    }

    /// Creates an empty index with the tables that are fastest for `expected` fingerprints. Any other number works too, but
    /// may be slower. Returns an error if the radius exceeds 64 bits.
    pub fn with_capacity(radius: u32, expected: usize) -> Result<HammingIndex> {
        check_radius(radius, 64)?;
        let table_set = TableSet::build(plan::choose(radius, expected), radius, true, 0, &[], &[]);
        Ok(HammingIndex { radius, tables: None, table_set, documents: Documents::default(), len: 0 })
    }

    /// Creates an empty index with the tables of Manku, Jain and Das Sarma (2007), one for each choice of agreeing blocks, and a
    /// radius of `blocks.differing` bits.
    pub fn with_blocks(blocks: Blocks) -> Result<HammingIndex> {
        HammingIndex::with_blocks_and_radius(blocks, blocks.differing)
    }

    /// Creates an empty index with the tables of [`with_blocks`](Self::with_blocks) and a radius of at most `blocks.differing`
    /// bits.
    pub fn with_blocks_and_radius(blocks: Blocks, radius: u32) -> Result<HammingIndex> {
        let tables = BlockTables::new(blocks)?;
        check_radius(radius, blocks.differing)?;
        let table_set = TableSet::build(table_specs(&tables), radius, true, 0, &[], &[]);
        Ok(HammingIndex { radius, tables: Some(tables), table_set, documents: Documents::default(), len: 0 })
    }

    /// Turns an empty index into one part of a partitioned index. All parts must be created from identically configured
    /// indexes, because a part keeps its tables. Returns an error if the index is not empty or the part is invalid.
    pub fn into_part(self, part: Part) -> Result<HammingIndex> {
        part.check()?;
        if !self.is_empty() {
            return Err(Error::field(
                "index",
                format!("{} documents", self.len),
                "empty before it becomes a part",
            ));
        }
        let table_set = if part.is_partial() {
            TableSet::build_part(self.table_set.specs(), self.radius, part, &[], &[])
        } else {
            self.table_set
        };
        Ok(HammingIndex { table_set, ..self })
    }

    /// Divides an index into parts by key range, for several processes or machines. Together, the parts find exactly what this
    /// index finds, each document once. Returns an error if this index is itself a part, or for an invalid number of parts.
    ///
    /// ```
    /// use sameish::index::{DocNumber, HammingIndex};
    /// use sameish::Fingerprint;
    ///
    /// let mut index = HammingIndex::new(3)?;
    /// (0..1000).for_each(|i| _ = index.insert(Fingerprint::from_u64(i << 40 | i), DocNumber(i as u32)));
    /// let query = Fingerprint::from_u64(7 << 40 | 6);
    /// let mut expected = Vec::new();
    /// index.find_all(query, &mut expected);
    /// let mut found = Vec::new();
    /// for part in index.parts(16)? {
    ///     let mut hits = Vec::new();
    ///     part.find_all(query, &mut hits);
    ///     found.extend(hits);
    /// }
    /// found.sort();
    /// assert_eq!(found, expected);
    /// # Ok::<(), sameish::Error>(())
    /// ```
    pub fn parts(&self, of: u32) -> Result<Vec<HammingIndex>> {
        if self.part().is_partial() {
            let Part { index, of } = self.part();
            return Err(Error::field("index", format!("part {index} of {of}"), "a whole index"));
        }
        let mut entries = Vec::with_capacity(self.len);
        self.table_set.each(&mut |code, value| {
            let fingerprint = Fingerprint::from_u64(code);
            let add = &mut |doc| entries.push((fingerprint, DocNumber(doc)));
            value.into_iter().for_each(|value| self.documents.each(code, value, add));
        });
        let part = |index: u32| {
            let empty = match &self.tables {
                Some(tables) => HammingIndex::with_blocks_and_radius(tables.blocks(), self.radius),
                None => HammingIndex::with_capacity(self.radius, self.len.max(EXPECTED)),
            };
            let mut part = empty?.into_part(Part { index, of })?;
            part.insert_all(&entries);
            Ok(part)
        };
        Part { index: 0, of }.check()?;
        (0..of).map(part).collect()
    }

    /// Returns which part of a partitioned index this is.
    pub fn part(&self) -> Part {
        self.table_set.part()
    }

    /// Returns the parts that can contain documents within the radius of the query, in ascending order.
    pub fn parts_for(&self, query: Fingerprint) -> Vec<u32> {
        self.table_set.parts_for(query.as_u64())
    }

    /// Returns the radius: the maximum Hamming distance of a hit.
    pub fn radius(&self) -> u32 {
        self.radius
    }

    /// Returns the tables of an index that was created from explicit blocks.
    pub fn block_tables(&self) -> Option<&BlockTables> {
        self.tables.as_ref()
    }

    /// Returns the number of documents.
    pub fn len(&self) -> usize {
        self.len
    }

    /// Returns `true` if there are no documents.
    pub fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// Returns the number of tables.
    pub fn table_count(&self) -> usize {
        self.table_set.tables().len()
    }

    /// Returns the heap size in bytes. Visits every bucket, so it is slow for large indexes.
    pub fn memory_bytes(&self) -> usize {
        self.table_set.memory_bytes() + self.documents.memory_bytes()
    }

    /// Adds a document. Returns `true` if it is new. A fingerprint may have many documents.
    ///
    /// A part of a partitioned index ignores fingerprints that have no key in its ranges, and returns `false`.
    pub fn insert(&mut self, fingerprint: Fingerprint, doc: DocNumber) -> bool {
        let code = fingerprint.as_u64();
        self.table_set.prefetch_insert(code);
        self.insert_code(code, doc.0)
    }

    /// Removes a document. Returns `true` if the index contained it under this fingerprint.
    pub fn remove(&mut self, fingerprint: Fingerprint, doc: DocNumber) -> bool {
        let code = fingerprint.as_u64();
        self.table_set.prefetch_remove(code);
        self.remove_code(code, doc.0)
    }

    /// Adds many documents. Returns the number of new ones.
    ///
    /// On an empty index, this chooses the tables again for the number of documents given and builds each table in one pass.
    /// A part of a partitioned index keeps its tables.
    pub fn insert_all(&mut self, entries: &[(Fingerprint, DocNumber)]) -> usize {
        let before = self.len;
        if self.is_empty() {
            self.build(entries);
            return self.len;
        }
        let codes: Vec<u64> = entries.iter().map(|(fingerprint, _)| fingerprint.as_u64()).collect();
        let update = |index: &mut HammingIndex, i: usize| _ = index.insert_code(codes[i], entries[i].1.0);
        TableSet::update_with_prefetch(
            self,
            &codes,
            |index| &index.table_set,
            TableSet::prefetch_insert,
            update,
        );
        self.len - before
    }

    /// Removes many documents. Returns the number of documents that the index contained.
    pub fn remove_all(&mut self, entries: &[(Fingerprint, DocNumber)]) -> usize {
        let before = self.len;
        let codes: Vec<u64> = entries.iter().map(|(fingerprint, _)| fingerprint.as_u64()).collect();
        let update = |index: &mut HammingIndex, i: usize| _ = index.remove_code(codes[i], entries[i].1.0);
        TableSet::update_with_prefetch(
            self,
            &codes,
            |index| &index.table_set,
            TableSet::prefetch_remove,
            update,
        );
        before - self.len
    }

    /// Returns some document within the radius, not necessarily the nearest.
    pub fn find_first(&self, query: Fingerprint) -> Option<Hit> {
        self.search().find_first(query)
    }

    /// Replaces `hits` with every document within the radius, by ascending distance, then by ascending number.
    pub fn find_all(&self, query: Fingerprint, hits: &mut Vec<Hit>) {
        self.search().find_within(query, 64, hits);
    }

    /// Replaces `hits` with every document within a radius that may be smaller than that of the index, in the order of
    /// [`find_all`](Self::find_all). A smaller radius needs fewer probes.
    pub fn find_within(&self, query: Fingerprint, radius: u32, hits: &mut Vec<Hit>) {
        self.search().find_within(query, radius, hits);
    }

    /// Replaces `hits` with every document within a radius that may be greater than that of the index, in the order of
    /// [`find_all`](Self::find_all). Compares the query with all fingerprints unless the radius is at most that of the index.
    ///
    /// Of a part of a partitioned index, a greater radius finds only documents in its ranges.
    pub fn find_within_any(&self, query: Fingerprint, radius: u32, hits: &mut Vec<Hit>) {
        if radius <= self.radius || self.part().is_partial() {
            self.find_within(query, radius, hits);
        } else {
            self.search().scan_within(query, radius, hits);
        }
    }

    /// Replaces `hits` with documents within a radius that is at most that of the index, in the order of
    /// [`find_all`](Self::find_all). If there are more than `most`, these are the documents of the fingerprints with the fewest
    /// documents, and a sample of one fingerprint, which `seed` determines; then this returns `true`.
    ///
    /// The time depends on the number of different fingerprints within the radius and on `most`, however many documents have equal
    /// fingerprints.
    pub(crate) fn find_sample(
        &self,
        query: Fingerprint,
        radius: u32,
        most: usize,
        seed: u64,
        hits: &mut Vec<Hit>,
    ) -> bool {
        hits.clear();
        let mut codes: Vec<(usize, u64, u64, u32)> = Vec::new();
        self.search().each_code_within(query, radius.min(self.radius), &mut |code, value| {
            let shuffled = fold(code ^ seed, 0x9E37_79B9_7F4A_7C15);
            codes.push((self.documents.count(code, value), shuffled, code, value));
        });
        let total: usize = codes.iter().map(|(count, ..)| count).sum();
        codes.sort_unstable();
        for (count, shuffled, code, value) in codes {
            let distance = (query.as_u64() ^ code).count_ones();
            let left = count.min(most - hits.len());
            self.documents.sample(code, value, left, shuffled, &mut |doc| {
                hits.push(Hit { distance, doc: DocNumber(doc) });
            });
            if hits.len() == most {
                break;
            }
        }
        hits.sort_unstable();
        total > most
    }

    /// Returns some document within the radius of each query; see [`find_first`](Self::find_first).
    pub fn find_first_bulk(&self, queries: &[Fingerprint]) -> Vec<Option<Hit>> {
        self.search().find_first_bulk(queries)
    }

    /// Finds all hits of many queries. Calls `sink` once per query, in order, with the position of the query and its hits in
    /// the order of [`find_all`](Self::find_all).
    ///
    /// Much faster than a loop over `find_all`, because it prefetches the data of the next queries.
    pub fn find_all_bulk(&self, queries: &[Fingerprint], sink: impl FnMut(usize, &[Hit])) {
        self.search().find_all_bulk(queries, sink);
    }

    /// Calls `sink` with each pair of documents within the radius, once, in no particular order.
    ///
    /// Compares each code only with the codes that a query for it would examine, so the time is far from quadratic unless the
    /// output is: any two documents with equal fingerprints are a pair. A part of a partitioned index reports no pairs across
    /// parts; to find those, query all parts with [`find_all_bulk`](Self::find_all_bulk).
    pub fn pairs(&self, mut sink: impl FnMut(Pair)) {
        for set in self.documents.sets() {
            for (i, &a) in set.iter().enumerate() {
                set.iter().skip(i + 1).for_each(|&b| sink(Pair::new(a, b, 0)));
            }
        }
        self.table_set.pairs(&mut |x, y| {
            let distance = (x ^ y).count_ones();
            let (Some(of_x), Some(of_y)) = (self.table_set.get(x), self.table_set.get(y)) else { return };
            self.documents.each(x, of_x, &mut |a| {
                self.documents.each(y, of_y, &mut |b| sink(Pair::new(a, b, distance)));
            });
        });
    }

    /// Serializes the index to bytes that [`from_bytes`](Self::from_bytes) and [`HammingView`] read.
    pub fn to_bytes(&self) -> Vec<u8> {
        let mut bytes = Vec::new();
        // Writing to a `Vec` cannot fail.
        let _ = self.write_into(&mut bytes);
        bytes
    }

    /// Writes the bytes of [`to_bytes`](Self::to_bytes) to a writer.
    pub fn write_into(&self, out: &mut impl std::io::Write) -> std::io::Result<()> {
        let blocks = self.tables.as_ref().map(BlockTables::blocks);
        let header = Header { radius: self.radius, blocks, part: self.part(), len: self.len as u64 };
        file::write(out, &header, &self.table_set, &self.documents)
    }

    /// Reads a stored index after checking its headers, lengths and checksums. Returns an error if any of them is wrong.
    pub fn from_bytes(bytes: &[u8]) -> Result<HammingIndex> {
        HammingView::from_bytes(bytes)?.to_index()
    }

    /// Builds an index from codes with values, and the sets of documents of codes that have several.
    pub(super) fn from_stored<'a>(
        header: &Header,
        tables: Option<BlockTables>,
        specs: Vec<TableSpec>,
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
        let table_set = if part.is_partial() {
            TableSet::build_part(specs, radius, part, &codes, &values)
        } else {
            TableSet::build(specs, radius, true, 0, &codes, &values)
        };
        HammingIndex { radius, tables, table_set, documents, len }
    }

    fn build(&mut self, entries: &[(Fingerprint, DocNumber)]) {
        // A part filters before it copies, so that it needs memory only for its own entries.
        let owned = entries.iter().filter(|(fingerprint, _)| self.table_set.owns(fingerprint.as_u64()));
        let mut sorted: Vec<(u64, u32)> = owned.map(|(fp, doc)| (fp.as_u64(), doc.0)).collect();
        sorted.sort_unstable();
        sorted.dedup();
        self.len = sorted.len();
        let mut codes = Vec::with_capacity(self.len);
        let mut values = Vec::with_capacity(self.len);
        for same in sorted.chunk_by(|a, b| a.0 == b.0) {
            let code = same[0].0;
            let value = same.iter().fold(None, |value, &(_, doc)| self.documents.add(code, value, doc));
            codes.push(code);
            values.push(value.unwrap_or(MULTIPLE));
        }
        self.table_set = self.build_tables(&codes, &values);
    }

    fn build_tables(&self, codes: &[u64], values: &[u32]) -> TableSet<Pages> {
        let part = self.table_set.part();
        if part.is_partial() {
            return TableSet::build_part(self.table_set.specs(), self.radius, part, codes, values);
        }
        let plan = match &self.tables {
            Some(tables) => table_specs(tables),
            None => plan::choose(self.radius, codes.len().max(EXPECTED)),
        };
        TableSet::build(plan, self.radius, true, 0, codes, values)
    }

    fn search(&self) -> Search<'_, Pages, Documents> {
        Search { table_set: &self.table_set, documents: &self.documents }
    }

    fn insert_code(&mut self, code: u64, doc: u32) -> bool {
        if !self.table_set.owns(code) {
            return false;
        }
        let current = self.table_set.get(code);
        let Some(value) = self.documents.add(code, current, doc) else { return false };
        match current {
            None => self.table_set.insert(code, value),
            Some(old) if old != value => self.table_set.set(code, value),
            Some(_) => {}
        }
        self.len += 1;
        true
    }

    fn remove_code(&mut self, code: u64, doc: u32) -> bool {
        let Some(value) = self.table_set.get(code) else { return false };
        match self.documents.remove(code, value, doc) {
            None => return false,
            Some(None) => self.table_set.remove(code),
            Some(Some(remaining)) if remaining != value => self.table_set.set(code, remaining),
            Some(Some(_)) => {}
        }
        self.len -= 1;
        true
    }
}

fn check_radius(radius: u32, max: u32) -> Result<()> {
    if radius > max {
        return Err(Error::field("radius", radius, format!("0 to {max}")));
    }
    Ok(())
}

/// Returns one hashed table for each choice of agreeing blocks.
fn table_specs(tables: &BlockTables) -> Vec<TableSpec> {
    let spec = |mask| TableSpec { key: Key::Hashed, mask, flips: 0 };
    tables.permutations().iter().map(|table| spec(table.agreeing_mask())).collect()
}
