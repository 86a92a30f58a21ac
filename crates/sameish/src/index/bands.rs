//! Whose signature shares a band?
//!
//! A signature is cut into bands; documents that agree in all rows of a band are candidates of each other (Indyk and
//! Motwani 1998; Broder 2000). See [`tuning`](super::tuning) for how often that finds a pair.
//!
//! Each band has a table (`slots.rs`) from 32 bits of its hash, the tag, to documents, of 9.4 to 11.8 bytes a document: 150
//! to 188 for 16 bands.
//!
//! The hash is keyed with a number of this index alone, so that nobody can prepare texts that meet in a table. A tag is
//! only a hint: a candidate is one whose rows really are equal, so the key and its accidents never show.

use super::DocNumber;
use super::slots::{DOC, TagTable, slot};
use crate::config::Bands;
use crate::error::{Error, Result};
use crate::features::hash::fold;
use crate::sketch::Signature;
use std::hash::{BuildHasher, Hasher, RandomState};

/// Most documents of one bucket that a search looks at.
pub const BUCKET_SCANNED: usize = 2_000;
/// Documents of one bucket, those of the lowest numbers, that [`BandIndex::pairs`] pairs with all others in it.
pub const BUCKET_JOINED: usize = 256;

/// Finds documents whose signatures share a band with that of a query.
///
/// ```
/// use sameish::{BandIndex, Bands, DocNumber, MinHasher, TokenHash, hash_token};
///
/// let set = |from: u32| -> Vec<u64> { (from..from + 100).map(|i| hash_token(TokenHash::Xxh3, &i.to_le_bytes())).collect() };
/// let hasher = MinHasher::new(128)?;
/// let mut index = BandIndex::new(128, Bands { count: 16, rows: 8 })?;
/// for from in [0, 5, 1000] {
///     index.insert(DocNumber(from), &hasher.sketch(&set(from)).unwrap())?;
/// }
/// let found = index.search(&hasher.sketch(&set(2)).unwrap(), 0.5)?;
/// let mut docs: Vec<u32> = found.hits.iter().map(|hit| hit.doc.0).collect();
/// docs.sort();
/// assert_eq!(docs, [0, 5]);
/// # Ok::<(), sameish::Error>(())
/// ```
#[derive(Clone, Debug)]
pub struct BandIndex {
    bands: Bands,
    rows: usize,
    key: u64,
    tables: Vec<TagTable>,
    /// Rows of all signatures, by document number; those of absent documents are all zero.
    signatures: Vec<u32>,
    present: Vec<bool>,
    len: usize,
}

/// A document that shares a band with the query.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct BandHit {
    /// Which document.
    pub doc: DocNumber,
    /// The share of equal rows: an estimate of the similarity.
    pub estimate: f64,
}

/// What a search found, the most similar first, then by document number.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct BandSearch {
    /// Candidates at or above the threshold.
    pub hits: Vec<BandHit>,
    /// How many distinct candidates were looked at.
    pub candidates: usize,
    /// How many buckets were too large to be looked at as a whole.
    pub capped: usize,
}

/// Two documents that share a band.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct BandPair {
    /// The document with the smaller number.
    pub a: DocNumber,
    /// The document with the larger number.
    pub b: DocNumber,
    /// The share of equal rows: an estimate of the similarity.
    pub estimate: f64,
}

/// What joining an index with itself took.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct BandJoin {
    /// How many distinct pairs were looked at.
    pub candidates: u64,
    /// How many buckets were too large for all their pairs.
    pub capped: u64,
}

impl BandIndex {
    /// An empty index over signatures of `rows` rows, of which the bands may leave some out.
    pub fn new(rows: u32, bands: Bands) -> Result<BandIndex> {
        if bands.count == 0
            || bands.rows == 0
            || bands.count.checked_mul(bands.rows).is_none_or(|used| used > rows)
        {
            let value = format!("{} x {}", bands.count, bands.rows);
            return Err(Error::field(
                "minhash.bands",
                value,
                format!("at least 1 x 1 and at most {rows} rows"),
            ));
        }
        Ok(BandIndex {
            bands,
            rows: rows as usize,
            key: RandomState::new().build_hasher().finish(),
            tables: vec![TagTable::default(); bands.count as usize],
            signatures: Vec::new(),
            present: Vec::new(),
            len: 0,
        })
    }

    /// How many documents are in it.
    pub fn len(&self) -> usize {
        self.len
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// The bands.
    pub fn bands(&self) -> Bands {
        self.bands
    }

    /// Bytes that the tables take, above the signatures themselves.
    pub fn table_bytes(&self) -> usize {
        self.tables.iter().map(TagTable::bytes).sum::<usize>() + self.present.capacity()
    }

    /// How many entries were not stored because their bucket was full.
    pub fn capped(&self) -> u64 {
        self.tables.iter().map(|table| table.capped).sum()
    }

    /// The signature of a document.
    pub fn signature(&self, doc: DocNumber) -> Option<&[u32]> {
        let at = doc.0 as usize;
        self.present
            .get(at)
            .is_some_and(|&present| present)
            .then(|| &self.signatures[at * self.rows..][..self.rows])
    }

    /// All documents with their signatures, by number.
    pub fn documents(&self) -> impl Iterator<Item = (DocNumber, &[u32])> {
        let numbers = (0..self.present.len() as u32).map(DocNumber);
        numbers.filter_map(|doc| Some((doc, self.signature(doc)?)))
    }

    /// Adds a document, in place of the one that had its number. Document numbers should be dense: room is kept for every
    /// number up to the largest.
    pub fn insert(&mut self, doc: DocNumber, signature: &Signature) -> Result<()> {
        self.check(doc, signature)?;
        self.remove(doc);
        self.store(doc, signature);
        let tags = self.tags(signature.rows());
        for (table, tag) in self.tables.iter_mut().zip(tags) {
            table.insert(tag, doc.0);
        }
        Ok(())
    }

    /// Adds many documents at once, which is faster than one by one. A number that occurs twice keeps its last signature.
    pub fn insert_all<'a>(
        &mut self,
        documents: impl IntoIterator<Item = (DocNumber, &'a Signature)>,
    ) -> Result<()> {
        let mut added = Vec::new();
        for (doc, signature) in documents {
            self.check(doc, signature)?;
            self.remove(doc);
            self.store(doc, signature);
            added.push(doc);
        }
        added.sort_unstable();
        added.dedup();
        let height = self.bands.rows as usize;
        let mut entries = Vec::with_capacity(added.len());
        for (band, table) in self.tables.iter_mut().enumerate() {
            entries.clear();
            entries.extend(added.iter().map(|doc| {
                let rows = &self.signatures[doc.0 as usize * self.rows + band * height..][..height];
                slot(tag_of(self.key, rows), DOC | doc.0)
            }));
            entries.sort_unstable();
            table.merge(&entries);
        }
        Ok(())
    }

    /// Takes a document out; tells whether it was there.
    pub fn remove(&mut self, doc: DocNumber) -> bool {
        let at = doc.0 as usize;
        if !self.present.get(at).is_some_and(|&present| present) {
            return false;
        }
        let tags = self.tags(&self.signatures[at * self.rows..][..self.rows]);
        for (table, tag) in self.tables.iter_mut().zip(tags) {
            table.remove(tag, doc.0);
        }
        self.signatures[at * self.rows..][..self.rows].fill(0);
        self.present[at] = false;
        self.len -= 1;
        true
    }

    /// All documents that share a band with the signature and whose estimated similarity is at least the threshold.
    pub fn search(&self, signature: &Signature, threshold: f64) -> Result<BandSearch> {
        self.check_rows(signature)?;
        Ok(self.search_rows(signature.rows(), None, threshold))
    }

    /// As [`search`](Self::search), for a document of the index, which is not its own neighbor. Nothing if it is not there.
    pub fn neighbors(&self, doc: DocNumber, threshold: f64) -> Option<BandSearch> {
        Some(self.search_rows(self.signature(doc)?, Some(doc.0), threshold))
    }

    /// Gives `sink` all pairs of documents that share a band and whose estimated similarity is at least the threshold,
    /// each once, in no particular order.
    ///
    /// In a bucket of over [`BUCKET_JOINED`] documents that many are paired with all others, and those not with each other;
    /// such buckets are counted. So a document is in at most that many pairs for each band, on average, whatever the
    /// documents are. A pair that is left out there is still told by the next band it shares.
    ///
    /// ```
    /// use sameish::{BandIndex, Bands, DocNumber, Signature};
    ///
    /// let mut index = BandIndex::new(4, Bands { count: 2, rows: 2 })?;
    /// for (doc, rows) in [(0, [1, 2, 3, 4]), (1, [1, 2, 3, 4]), (2, [9, 9, 3, 4])] {
    ///     index.insert(DocNumber(doc), &Signature::from_rows(rows.to_vec())?)?;
    /// }
    /// let mut pairs = Vec::new();
    /// index.pairs(0.8, |pair| pairs.push((pair.a.0, pair.b.0, pair.estimate)));
    /// assert_eq!(pairs, [(0, 1, 1.0)]);
    /// # Ok::<(), sameish::Error>(())
    /// ```
    pub fn pairs(&self, threshold: f64, mut sink: impl FnMut(BandPair)) -> BandJoin {
        let mut join = BandJoin::default();
        let mut told: Vec<Told> = Vec::with_capacity(self.tables.len());
        for (band, table) in self.tables.iter().enumerate() {
            let mut here = Told::new(self.present.len());
            table.each_shared(|docs| {
                docs.sort_unstable_by(|&a, &b| self.band(a, band).cmp(self.band(b, band)).then(a.cmp(&b)));
                for bucket in docs.chunk_by(|&a, &b| self.band(a, band) == self.band(b, band)) {
                    join.capped += u64::from(here.add(bucket));
                    each_pair(bucket, |a, b| {
                        if self.is_told(&told, a, b) {
                            return;
                        }
                        join.candidates += 1;
                        let estimate = self.estimate(self.row(a), b);
                        if estimate >= threshold {
                            sink(BandPair { a: DocNumber(a), b: DocNumber(b), estimate });
                        }
                    });
                }
            });
            told.push(here);
        }
        join
    }

    /// Whether one of the first bands told of a pair.
    fn is_told(&self, told: &[Told], a: u32, b: u32) -> bool {
        let tells = |(band, told): (usize, &Told)| self.band(a, band) == self.band(b, band) && told.has(a, b);
        told.iter().enumerate().any(tells)
    }

    fn search_rows(&self, rows: &[u32], own: Option<u32>, threshold: f64) -> BandSearch {
        let mut search = BandSearch::default();
        let mut docs = self.candidates(rows, &mut search.capped);
        docs.sort_unstable();
        docs.dedup();
        docs.retain(|&doc| Some(doc) != own);
        search.candidates = docs.len();
        let hit = |doc| BandHit { doc: DocNumber(doc), estimate: self.estimate(rows, doc) };
        search.hits = docs.into_iter().map(hit).filter(|hit| hit.estimate >= threshold).collect();
        search.hits.sort_by(|a, b| b.estimate.total_cmp(&a.estimate).then(a.doc.cmp(&b.doc)));
        search
    }

    /// The share of rows in which a document has these.
    fn estimate(&self, rows: &[u32], doc: u32) -> f64 {
        let equal = self.row(doc).iter().zip(rows).filter(|(a, b)| a == b).count();
        equal as f64 / self.rows as f64
    }

    fn row(&self, doc: u32) -> &[u32] {
        &self.signatures[doc as usize * self.rows..][..self.rows]
    }

    /// The rows of one band of a document.
    fn band(&self, doc: u32, band: usize) -> &[u32] {
        let height = self.bands.rows as usize;
        &self.signatures[doc as usize * self.rows + band * height..][..height]
    }

    /// Documents that share a band, as often as they share one.
    fn candidates(&self, signature: &[u32], capped: &mut usize) -> Vec<u32> {
        let height = self.bands.rows as usize;
        let bands = || self.tables.iter().zip(signature.chunks_exact(height));
        let tags = self.tags(signature);
        let mut docs = Vec::new();
        for (band, ((table, rows), &tag)) in bands().zip(&tags).enumerate() {
            let mut looked_at = 0;
            table.each(tag, |doc| {
                looked_at += 1;
                if looked_at <= BUCKET_SCANNED && self.band(doc, band) == rows {
                    docs.push(doc);
                }
            });
            *capped += usize::from(looked_at > BUCKET_SCANNED);
        }
        docs
    }

    /// The tags of a signature's bands. Every table is touched where its tag belongs: these loads do not wait for each other,
    /// so what comes next finds its memory fetched.
    fn tags(&self, rows: &[u32]) -> Vec<u32> {
        let bands = rows.chunks_exact(self.bands.rows as usize).take(self.tables.len());
        let tags: Vec<u32> = bands.map(|rows| tag_of(self.key, rows)).collect();
        let touched = self.tables.iter().zip(&tags).fold(0, |sum, (table, &tag)| sum ^ table.peek(tag));
        std::hint::black_box(touched);
        tags
    }

    fn check(&self, doc: DocNumber, signature: &Signature) -> Result<()> {
        if doc.0 >= !DOC {
            return Err(Error::field("document number", doc.0, format!("below {}", !DOC)));
        }
        self.check_rows(signature)
    }

    fn check_rows(&self, signature: &Signature) -> Result<()> {
        let found = signature.rows().len();
        if found != self.rows {
            return Err(Error::SizeMismatch { what: "signature rows", expected: self.rows, found });
        }
        Ok(())
    }

    fn store(&mut self, doc: DocNumber, signature: &Signature) {
        let at = doc.0 as usize;
        if self.present.len() <= at {
            self.present.resize(at + 1, false);
            self.signatures.resize((at + 1) * self.rows, 0);
        }
        self.signatures[at * self.rows..][..self.rows].copy_from_slice(signature.rows());
        self.present[at] = true;
        self.len += 1;
    }
}

/// Which pairs of equal rows a band told of.
struct Told {
    /// A bit for each document: whether it shares its bucket, and whether it is one of those paired with all others.
    shares: Vec<u64>,
    joined: Vec<u64>,
}

impl Told {
    fn new(documents: usize) -> Told {
        let words = vec![0; documents.div_ceil(64)];
        Told { shares: words.clone(), joined: words }
    }

    /// Notes a bucket; says whether it is too large for all its pairs.
    fn add(&mut self, bucket: &[u32]) -> bool {
        let set = |bits: &mut [u64], doc: &u32| bits[*doc as usize / 64] |= 1 << (doc % 64);
        bucket.iter().for_each(|doc| set(&mut self.shares, doc));
        bucket.iter().take(BUCKET_JOINED).for_each(|doc| set(&mut self.joined, doc));
        bucket.len() > BUCKET_JOINED + 1
    }

    /// Whether two documents of one bucket were paired. One that was not stored, its bucket being full, was not.
    fn has(&self, a: u32, b: u32) -> bool {
        let get = |bits: &[u64], doc: u32| bits[doc as usize / 64] >> (doc % 64) & 1 == 1;
        get(&self.shares, a) && get(&self.shares, b) && (get(&self.joined, a) || get(&self.joined, b))
    }
}

/// Each of the first [`BUCKET_JOINED`] documents with all behind it. They ascend, so the smaller number comes first.
fn each_pair(bucket: &[u32], mut visit: impl FnMut(u32, u32)) {
    for (i, &a) in bucket.iter().take(BUCKET_JOINED).enumerate() {
        bucket[i + 1..].iter().for_each(|&b| visit(a, b));
    }
}

/// 32 bits of a keyed hash of a band's rows.
#[inline]
fn tag_of(key: u64, rows: &[u32]) -> u32 {
    let pairs = rows.chunks(2).map(|pair| u64::from(pair[0]) | u64::from(*pair.get(1).unwrap_or(&0)) << 32);
    let hash = pairs.fold(key, |hash, pair| fold(hash ^ pair, 0x9E37_79B9_7F4A_7C15) ^ key.rotate_left(32));
    (fold(hash, 0xD6E8_FEB8_6659_FD93) >> 32) as u32
}

#[cfg(test)]
mod tests {
    use super::super::BUCKET_STORED;
    use super::*;
    use crate::random::SplitMix64;
    use crate::sketch::MinHasher;
    use std::collections::BTreeMap;

    /// Signatures over few values, so that bands meet often.
    fn signature(random: &mut SplitMix64, rows: usize) -> Signature {
        Signature::from_rows((0..rows).map(|_| (random.next() % 3) as u32).collect::<Vec<_>>()).unwrap()
    }

    /// The same by comparing with every document.
    fn scan(
        model: &BTreeMap<u32, Signature>,
        query: &Signature,
        bands: Bands,
        threshold: f64,
    ) -> Vec<BandHit> {
        let height = bands.rows as usize;
        let meets = |other: &Signature| {
            let pairs = other.rows().chunks_exact(height).zip(query.rows().chunks_exact(height));
            pairs.take(bands.count as usize).any(|(a, b)| a == b)
        };
        let hits = model
            .iter()
            .filter(|(_, other)| meets(other))
            .map(|(&doc, other)| BandHit { doc: DocNumber(doc), estimate: query.estimate(other).unwrap() });
        let mut hits: Vec<BandHit> = hits.filter(|hit| hit.estimate >= threshold).collect();
        hits.sort_by(|a, b| b.estimate.total_cmp(&a.estimate).then(a.doc.cmp(&b.doc)));
        hits
    }

    #[test]
    fn answers_as_a_scan_does_after_any_changes() {
        let mut random = SplitMix64(1);
        for bands in [Bands { count: 4, rows: 2 }, Bands { count: 3, rows: 3 }, Bands { count: 10, rows: 1 }]
        {
            let mut index = BandIndex::new(10, bands).unwrap();
            let mut model = BTreeMap::new();
            for step in 0..4000 {
                let doc = (random.next() % 300) as u32;
                match random.next() % 10 {
                    0..5 => {
                        let signature = signature(&mut random, 10);
                        index.insert(DocNumber(doc), &signature).unwrap();
                        model.insert(doc, signature);
                    }
                    5..8 => assert_eq!(index.remove(DocNumber(doc)), model.remove(&doc).is_some()),
                    8 if step % 7 == 0 => {
                        let more: Vec<(u32, Signature)> = (0..50)
                            .map(|_| ((random.next() % 400) as u32, signature(&mut random, 10)))
                            .collect();
                        index
                            .insert_all(more.iter().map(|(doc, signature)| (DocNumber(*doc), signature)))
                            .unwrap();
                        model.extend(more);
                    }
                    _ => {
                        let query = signature(&mut random, 10);
                        let found = index.search(&query, 0.4).unwrap();
                        assert_eq!(found.hits, scan(&model, &query, bands, 0.4), "{bands:?}, step {step}");
                        let mut own = model.get(&doc).map(|query| scan(&model, query, bands, 0.4));
                        own.iter_mut().for_each(|hits| hits.retain(|hit| hit.doc.0 != doc));
                        assert_eq!(index.neighbors(DocNumber(doc), 0.4).map(|found| found.hits), own);
                    }
                }
                assert_eq!(index.len(), model.len());
            }
        }
    }

    /// All pairs by comparing all with all.
    fn scanned_pairs(model: &BTreeMap<u32, Signature>, bands: Bands) -> Vec<(u32, u32)> {
        let hits = |(&a, query)| scan(model, query, bands, 0.0).into_iter().map(move |hit| (a, hit.doc.0));
        let mut pairs: Vec<(u32, u32)> = model.iter().flat_map(hits).filter(|(a, b)| a < b).collect();
        pairs.sort_unstable();
        pairs
    }

    fn joined_pairs(index: &BandIndex) -> (Vec<(u32, u32)>, BandJoin) {
        let mut pairs = Vec::new();
        let join = index.pairs(0.0, |pair| {
            let rows = index.signature(pair.a).unwrap();
            assert_eq!(pair.estimate, index.estimate(rows, pair.b.0));
            pairs.push((pair.a.0, pair.b.0));
        });
        pairs.sort_unstable();
        (pairs, join)
    }

    #[test]
    fn pairs_are_those_of_comparing_all_with_all_each_once() {
        let mut random = SplitMix64(3);
        for bands in [Bands { count: 4, rows: 2 }, Bands { count: 3, rows: 3 }, Bands { count: 10, rows: 1 }]
        {
            for count in [0, 1, 2, 300] {
                let mut model: BTreeMap<u32, Signature> =
                    (0..count).map(|doc| (doc, signature(&mut random, 10))).collect();
                let mut index = BandIndex::new(10, bands).unwrap();
                index.insert_all(model.iter().map(|(&doc, signature)| (DocNumber(doc), signature))).unwrap();
                for doc in (0..count).step_by(3) {
                    assert!(index.remove(DocNumber(doc)) && model.remove(&doc).is_some());
                }
                let (pairs, join) = joined_pairs(&index);
                assert_eq!(pairs, scanned_pairs(&model, bands), "{bands:?}, {count}");
                assert_eq!(join, BandJoin { candidates: pairs.len() as u64, capped: 0 });
                let mut alike = 0;
                index.pairs(0.6, |pair| alike += usize::from(pair.estimate >= 0.6));
                assert!(alike <= pairs.len());
            }
        }
    }

    /// Forged rows put strangers into one bucket of the first band; true copies among them are found by the second.
    #[test]
    fn a_forged_bucket_is_capped_and_hides_no_copies() {
        let mut random = SplitMix64(4);
        let count = 3 * BUCKET_STORED as u32 / 2;
        let mut index = BandIndex::new(16, Bands { count: 2, rows: 8 }).unwrap();
        let mut last = Vec::new();
        for doc in 0..count {
            let copy = doc % 2 == 1;
            let rows: Vec<u32> = (0..16).map(|row| if row < 8 { 7 } else { random.next() as u32 }).collect();
            last = if copy { last } else { rows };
            index.insert(DocNumber(doc), &Signature::from_rows(last.clone()).unwrap()).unwrap();
        }
        assert_eq!(index.capped(), u64::from(count) - BUCKET_STORED as u64);
        let mut copies = 0;
        let join = index.pairs(1.0, |pair| copies += u32::from(pair.a.0 + 1 == pair.b.0));
        assert_eq!((copies, join.capped), (count / 2, 1));
        assert!(join.candidates <= (BUCKET_STORED * BUCKET_JOINED) as u64 + u64::from(count));
        let found = index.search(&Signature::from_rows(last).unwrap(), 1.0).unwrap();
        assert_eq!(found.hits.len(), 2);
        assert!(found.candidates <= BUCKET_SCANNED + 2 && found.capped == 1);
    }

    #[test]
    fn a_million_equal_documents_cost_a_bounded_number_of_candidates() {
        let same = Signature::from_rows(vec![5; 4]).unwrap();
        let mut index = BandIndex::new(4, Bands { count: 2, rows: 2 }).unwrap();
        index.insert_all((0..1_000_000).map(|doc| (DocNumber(doc), &same))).unwrap();
        assert_eq!(index.capped(), 2 * (1_000_000 - BUCKET_STORED as u64));
        let (stored, joined) = (BUCKET_STORED as u64, BUCKET_JOINED as u64);
        let mut pairs = 0;
        let join = index.pairs(0.5, |_| pairs += 1);
        assert_eq!(join.candidates, joined * stored - joined * (joined + 1) / 2);
        assert_eq!((pairs, join.capped), (join.candidates, 2));
        // Replacing them all in one go neither leaves the old ones behind nor compares each with each.
        let other = Signature::from_rows(vec![6; 4]).unwrap();
        index.insert_all((0..100).chain(0..100).map(|doc| (DocNumber(doc), &other))).unwrap();
        assert_eq!((index.len(), index.search(&other, 1.0).unwrap().hits.len()), (1_000_000, 100));
    }

    #[test]
    fn many_equal_documents_are_capped_and_counted() {
        let bands = Bands { count: 2, rows: 4 };
        let same = MinHasher::new(8).unwrap().sketch(&[1 << 40 | 7]).unwrap();
        let count = BUCKET_STORED as u32 + 100;
        let mut single = BandIndex::new(8, bands).unwrap();
        (0..count).for_each(|doc| single.insert(DocNumber(doc), &same).unwrap());
        let mut bulk = BandIndex::new(8, bands).unwrap();
        bulk.insert_all((0..count).map(|doc| (DocNumber(doc), &same))).unwrap();
        for index in [single, bulk] {
            assert_eq!(index.capped(), 200);
            let found = index.search(&same, 0.5).unwrap();
            assert_eq!((found.candidates, found.capped), (BUCKET_SCANNED, 2));
        }
    }

    #[test]
    fn tables_stay_within_their_bytes() {
        let mut random = SplitMix64(2);
        let bands = Bands { count: 16, rows: 1 };
        let mut index = BandIndex::new(16, bands).unwrap();
        let rows = |random: &mut SplitMix64| {
            Signature::from_rows((0..16).map(|_| random.next() as u32).collect::<Vec<_>>())
        };
        for doc in 0..50_000 {
            index.insert(DocNumber(doc), &rows(&mut random).unwrap()).unwrap();
            if doc > 5_000 && doc % 1000 == 0 {
                let bytes = index.table_bytes() as f64 / f64::from(doc);
                assert!(bytes < 200.0, "{bytes} bytes a document at {doc}");
            }
        }
    }

    #[test]
    fn what_does_not_fit_is_refused() {
        assert!(BandIndex::new(16, Bands { count: 5, rows: 4 }).is_err());
        assert!(BandIndex::new(16, Bands { count: 0, rows: 4 }).is_err());
        let mut index = BandIndex::new(16, Bands { count: 4, rows: 4 }).unwrap();
        let short = Signature::from_rows(vec![1; 15]).unwrap();
        assert!(index.insert(DocNumber(0), &short).is_err());
        assert!(index.search(&short, 0.5).is_err());
        assert!(index.insert(DocNumber(u32::MAX), &Signature::from_rows(vec![1; 16]).unwrap()).is_err());
        assert!(!index.remove(DocNumber(3)));
        assert!(index.search(&Signature::from_rows(vec![1; 16]).unwrap(), 0.5).unwrap().hits.is_empty());
    }
}
