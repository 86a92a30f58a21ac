//! Locality-sensitive hashing of MinHash signatures by bands.
//!
//! A signature is divided into bands of rows. Two documents are candidates if they agree on all rows of at least one band
//! (Indyk and Motwani, *Approximate nearest neighbors: towards removing the curse of dimensionality*, 1998; Broder,
//! *Identifying and filtering near-duplicate documents*, 2000). For Jaccard similarity J, b bands and r rows, this happens
//! with probability 1 - (1 - J^r)^b; see [`tuning`](super::tuning).
//!
//! Each band has a hash table (`slots.rs`) from the tag of the band, which is 32 bits of a hash of its rows, to documents. It
//! takes 9.4 to 11.8 bytes per document: 150 to 188 bytes for 16 bands.
//!
//! The hash has a random key per index, so that an adversary cannot craft texts whose tags collide. Tags only preselect
//! documents: a candidate must have equal rows, so neither the key nor collisions affect the results.

use super::slots::{BUCKET_STORED, DOC, Removed, TagTable, slot};
use super::{BandTags, DocNumber};
use crate::config::Bands;
use crate::error::{Error, Result};
use crate::features::hash::fold;
use crate::sketch::Signature;
use std::borrow::Cow;
use std::hash::{BuildHasher, Hasher, RandomState};

/// Maximum number of documents per bucket that a search examines, unless it is limited to a number of documents in total.
pub const BUCKET_SCANNED: usize = 2_000;
/// Maximum number of documents of a bucket that is not crowded.
pub(crate) const CROWDED: usize = 32;
/// Number of documents per bucket, those with the lowest numbers, that [`BandIndex::pairs`] pairs with all others in the
/// bucket.
pub const BUCKET_JOINED: usize = 256;

/// Finds documents whose signatures agree with that of a query on all rows of at least one band.
///
/// ```
/// use sameish::config::{Bands, TokenHash};
/// use sameish::features::hash_token;
/// use sameish::index::{BandIndex, DocNumber};
/// use sameish::sketch::MinHasher;
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
    /// Rows of all signatures, by document number. The rows of absent documents are zero.
    signatures: Vec<u32>,
    present: Vec<bool>,
    len: usize,
}

/// A document that shares a band with the query.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct BandHit {
    /// The document.
    pub doc: DocNumber,
    /// Fraction of equal rows: an estimate of the Jaccard similarity.
    pub estimate: f64,
}

/// The result of a search.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct BandSearch {
    /// Candidates whose estimate is at least the threshold, by descending estimate, then by ascending document number.
    pub hits: Vec<BandHit>,
    /// Number of distinct candidates.
    pub candidates: usize,
    /// Number of buckets that were larger than [`BUCKET_SCANNED`] and not examined completely.
    pub capped: usize,
}

/// Two documents that share a band.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct BandPair {
    /// The document with the smaller number.
    pub a: DocNumber,
    /// The document with the larger number.
    pub b: DocNumber,
    /// Fraction of equal rows: an estimate of the Jaccard similarity.
    pub estimate: f64,
}

/// Statistics of a self-join.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct BandJoin {
    /// Number of distinct candidate pairs.
    pub candidates: u64,
    /// Number of buckets that were too large for all their pairs to be candidates.
    pub capped: u64,
}

impl BandIndex {
    /// Creates an empty index over signatures of `rows` rows. The bands need not use all rows.
    ///
    /// Returns an error if there are no bands, if bands have no rows, or if the bands need more than `rows` rows.
    pub fn new(rows: u32, bands: Bands) -> Result<BandIndex> {
        if bands.count == 0
            || bands.rows == 0
            || bands.count.checked_mul(bands.rows).is_none_or(|used| used > rows)
        {
            let value = format!("{} x {}", bands.count, bands.rows);
            let expected = format!("at least 1 x 1 and at most {rows} rows in total");
            return Err(Error::field("minhash.bands", value, expected));
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

    /// Returns the number of documents.
    pub fn len(&self) -> usize {
        self.len
    }

    /// Returns `true` if there are no documents.
    pub fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// Returns the bands into which signatures are divided.
    pub fn bands(&self) -> Bands {
        self.bands
    }

    /// Returns the size of the tables in bytes, without the signatures.
    pub fn table_bytes(&self) -> usize {
        self.tables.iter().map(TagTable::bytes).sum::<usize>() + self.present.capacity()
    }

    /// Returns the number of entries that are not stored because their bucket has [`BUCKET_STORED`](super::BUCKET_STORED)
    /// documents. When half of these are removed, the bucket is filled again.
    pub fn capped(&self) -> u64 {
        self.tables.iter().map(|table| table.capped).sum()
    }

    /// Returns the rows of a document's signature, or `None` if the index does not contain the document.
    pub fn signature(&self, doc: DocNumber) -> Option<&[u32]> {
        let at = doc.0 as usize;
        self.present
            .get(at)
            .is_some_and(|&present| present)
            .then(|| &self.signatures[at * self.rows..][..self.rows])
    }

    /// Returns all documents with the rows of their signatures, by ascending number.
    pub fn documents(&self) -> impl Iterator<Item = (DocNumber, &[u32])> {
        let numbers = (0..self.present.len() as u32).map(DocNumber);
        numbers.filter_map(|doc| Some((doc, self.signature(doc)?)))
    }

    /// Adds a document, or replaces the one with the same number.
    ///
    /// Document numbers should be dense, because the index reserves memory for every number up to the largest.
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

    /// Adds many documents, faster than one by one. If a number occurs several times, its last signature counts.
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

    /// Removes a document. Returns `true` if the index contained it.
    pub fn remove(&mut self, doc: DocNumber) -> bool {
        let at = doc.0 as usize;
        if !self.present.get(at).is_some_and(|&present| present) {
            return false;
        }
        let tags = self.tags(&self.signatures[at * self.rows..][..self.rows]);
        let mut lacking = Vec::new();
        for (band, (table, tag)) in self.tables.iter_mut().zip(tags).enumerate() {
            if table.remove(tag, doc.0) == Removed::Lacking {
                lacking.push(Refill { band, tag, docs: Vec::new(), count: 0 });
            }
        }
        self.signatures[at * self.rows..][..self.rows].fill(0);
        self.present[at] = false;
        self.len -= 1;
        self.refill(lacking);
        true
    }

    /// Fills buckets that were full before documents were removed. Reads all signatures, once per thousands of removals.
    fn refill(&mut self, mut lacking: Vec<Refill>) {
        if lacking.is_empty() {
            return;
        }
        let height = self.bands.rows as usize;
        for (doc, rows) in self.documents() {
            for Refill { band, tag, docs, count } in &mut lacking {
                if tag_of(self.key, &rows[*band * height..][..height]) == *tag {
                    *count += 1;
                    docs.extend((docs.len() < BUCKET_STORED).then_some(doc.0));
                }
            }
        }
        for Refill { band, tag, docs, count } in lacking {
            self.tables[band].refill(tag, docs, count);
        }
    }

    /// Visits the documents that are new in crowded buckets after the insertion of `doc`: all documents of each bucket that `doc`
    /// made crowded, and `doc` itself for each bucket that already was.
    pub(crate) fn note_crowds(&self, doc: DocNumber, mut visit: impl FnMut(u32)) {
        let Some(rows) = self.signature(doc) else { return };
        for (table, tag) in self.tables.iter().zip(self.tags(rows)) {
            match table.list(tag) {
                Some(docs) if docs.len() == CROWDED + 1 => docs.iter().copied().for_each(&mut visit),
                Some(docs) if docs.len() > CROWDED => visit(doc.0),
                _ => {}
            }
        }
    }

    /// Calls `visit` with the documents of all crowded buckets; with some of them several times.
    pub(crate) fn each_crowded(&self, mut visit: impl FnMut(u32)) {
        let lists = self.tables.iter().flat_map(TagTable::lists);
        lists.filter(|docs| docs.len() > CROWDED).flatten().copied().for_each(&mut visit);
        if self.capped() == 0 {
            return;
        }
        // Some documents are not in the lists of their buckets, because these are full.
        let is_crowded = |rows: &[u32]| {
            let mut lists = self.tables.iter().zip(self.tags(rows));
            lists.any(|(table, tag)| table.list(tag).is_some_and(|docs| docs.len() > CROWDED))
        };
        self.documents().filter(|(_, rows)| is_crowded(rows)).for_each(|(doc, _)| visit(doc.0));
    }

    /// Returns `true` if a signature has the rows of a document in at least one band.
    pub(crate) fn share_band(&self, signature: &[u32], doc: u32) -> bool {
        let used = self.bands.count as usize * self.bands.rows as usize;
        let bands = |rows| <[u32]>::chunks_exact(rows, self.bands.rows as usize);
        bands(&signature[..used]).zip(bands(self.rows_of(doc))).any(|(a, b)| a == b)
    }

    /// Returns the key of each band of a signature, as [`BandTags`] defines them: for teaching, and for joins outside the index. The
    /// index itself uses keys that are different in every process.
    pub fn keys(&self, signature: &Signature) -> Result<Vec<u32>> {
        self.check_rows(signature)?;
        Ok(BandTags::new(self.bands).of(signature.rows()).collect())
    }

    /// Finds all documents that share a band with the signature and whose estimated similarity is at least `threshold`.
    pub fn search(&self, signature: &Signature, threshold: f64) -> Result<BandSearch> {
        self.search_at_most(signature, threshold, usize::MAX)
    }

    /// Finds documents like [`search`](Self::search), but stops reading crowded buckets once there are `most` candidates.
    ///
    /// The smallest buckets are read first: texts that share boilerplate share its buckets, and those that share more are also
    /// in buckets of their own.
    #[doc(hidden)]
    pub fn search_at_most(&self, signature: &Signature, threshold: f64, most: usize) -> Result<BandSearch> {
        let mut found = self.buckets(signature)?;
        Ok(self.search_buckets(signature.rows(), threshold, most, &mut found))
    }

    /// Finds documents like [`search_at_most`](Self::search_at_most) in the buckets of a signature.
    pub(crate) fn search_buckets(
        &self,
        rows: &[u32],
        threshold: f64,
        most: usize,
        buckets: &mut SignatureBuckets<'_>,
    ) -> BandSearch {
        let mut search = BandSearch::default();
        let mut docs = self.candidates(rows, most, buckets, &mut search.capped);
        docs.sort_unstable();
        docs.dedup();
        search.candidates = docs.len();
        let hit = |doc| BandHit { doc: DocNumber(doc), estimate: self.estimate(rows, doc) };
        search.hits = docs.into_iter().map(hit).filter(|hit| hit.estimate >= threshold).collect();
        search.hits.sort_by(|a, b| b.estimate.total_cmp(&a.estimate).then(a.doc.cmp(&b.doc)));
        search
    }

    /// Finds all documents whose estimated similarity is at least `threshold`, whether they share a band or not, by comparing all
    /// signatures. Takes time proportional to the number of documents, 4 bytes read per row.
    ///
    /// Returns at most `most` documents, those with the highest estimates; more of them count as one limit. Memory is proportional
    /// to `most`.
    pub fn scan(&self, signature: &Signature, threshold: f64, most: usize) -> Result<BandSearch> {
        self.check_rows(signature)?;
        let rows = signature.rows();
        let by_estimate =
            |a: &BandHit, b: &BandHit| b.estimate.total_cmp(&a.estimate).then(a.doc.cmp(&b.doc));
        let mut hits: Vec<BandHit> = Vec::new();
        let mut capped = 0;
        for (doc, _) in self.documents() {
            let estimate = self.estimate(rows, doc.0);
            if estimate >= threshold {
                hits.push(BandHit { doc, estimate });
            }
            if hits.len() >= most.saturating_mul(2).max(2) {
                hits.select_nth_unstable_by(most.saturating_sub(1), by_estimate);
                hits.truncate(most);
                capped = 1;
            }
        }
        hits.sort_by(by_estimate);
        if hits.len() > most {
            hits.truncate(most);
            capped = 1;
        }
        Ok(BandSearch { candidates: self.len, capped, hits })
    }

    /// Self-join: calls `sink` once with each pair of documents that share a band and whose estimated similarity is at least
    /// `threshold`, in no particular order.
    ///
    /// In a bucket of more than [`BUCKET_JOINED`] documents, only the `BUCKET_JOINED` with the lowest numbers are paired with all
    /// documents of the bucket; the remaining documents are not paired with each other. Such buckets are counted in
    /// [`BandJoin::capped`]. For any input,
    /// the number of candidate pairs is therefore at most `BUCKET_JOINED` per document and band. A pair that a bucket omits is
    /// still reported by the next band that the documents share.
    ///
    /// ```
    /// use sameish::config::Bands;
    /// use sameish::index::{BandIndex, DocNumber};
    /// use sameish::Signature;
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
        let mut earlier: Vec<JoinedPairs> = Vec::with_capacity(self.tables.len());
        for (band, table) in self.tables.iter().enumerate() {
            let mut current = JoinedPairs::new(self.present.len());
            table.each_shared(|docs| {
                docs.sort_unstable_by(|&a, &b| self.band(a, band).cmp(self.band(b, band)).then(a.cmp(&b)));
                for bucket in docs.chunk_by(|&a, &b| self.band(a, band) == self.band(b, band)) {
                    join.capped += u64::from(current.add(bucket));
                    each_pair(bucket, |a, b| {
                        if self.is_joined(&earlier, a, b) {
                            return;
                        }
                        join.candidates += 1;
                        let estimate = self.estimate(self.rows_of(a), b);
                        if estimate >= threshold {
                            sink(BandPair { a: DocNumber(a), b: DocNumber(b), estimate });
                        }
                    });
                }
            });
            earlier.push(current);
        }
        join
    }

    /// Returns `true` if an earlier band joined the pair.
    fn is_joined(&self, earlier: &[JoinedPairs], a: u32, b: u32) -> bool {
        let joins = |(band, pairs): (usize, &JoinedPairs)| {
            self.band(a, band) == self.band(b, band) && pairs.contains(a, b)
        };
        earlier.iter().enumerate().any(joins)
    }

    /// Returns the fraction of these rows that a document's signature has too.
    fn estimate(&self, rows: &[u32], doc: u32) -> f64 {
        let equal = self.rows_of(doc).iter().zip(rows).filter(|(a, b)| a == b).count();
        equal as f64 / self.rows as f64
    }

    fn rows_of(&self, doc: u32) -> &[u32] {
        &self.signatures[doc as usize * self.rows..][..self.rows]
    }

    /// Returns the rows of one band of a document's signature.
    fn band(&self, doc: u32, band: usize) -> &[u32] {
        let height = self.bands.rows as usize;
        &self.signatures[doc as usize * self.rows + band * height..][..height]
    }

    /// Returns the buckets of a signature. Reads those of a few documents.
    pub(crate) fn buckets(&self, signature: &Signature) -> Result<SignatureBuckets<'_>> {
        self.check_rows(signature)?;
        let rows = signature.rows();
        let tags = self.tags(rows);
        let mut buckets = SignatureBuckets::default();
        let bands = self.tables.iter().zip(rows.chunks_exact(self.bands.rows as usize));
        for (band, ((table, rows), &tag)) in bands.zip(&tags).enumerate() {
            let others = table.each(tag, |doc| {
                if self.band(doc, band) == rows {
                    buckets.found.push(doc, self.present.len());
                }
            });
            buckets.large.extend(others.map(|docs| LargeBucket {
                band,
                docs: docs.into(),
                is_complete: table.is_complete(tag),
            }));
        }
        Ok(buckets)
    }

    /// Returns the documents that share a band with the signature: all of small buckets, and about `most` in total. A document
    /// may occur several times, but not often. Adds the number of buckets that were not examined completely to `capped`.
    fn candidates(
        &self,
        signature: &[u32],
        most: usize,
        buckets: &mut SignatureBuckets<'_>,
        capped: &mut usize,
    ) -> Vec<u32> {
        let height = self.bands.rows as usize;
        let SignatureBuckets { found, large } = buckets;
        large.sort_by_key(|bucket| bucket.docs.len());
        let most_of_bucket = if most == usize::MAX { BUCKET_SCANNED } else { most.max(BUCKET_SCANNED) };
        for LargeBucket { band, docs, is_complete } in large {
            let rows = &signature[*band * height..][..height];
            let left = most.saturating_sub(found.docs.len());
            // Documents that were found before are read again, but hardly cost anything.
            let read = if left == 0 { 0 } else { left.saturating_add(found.docs.len()).min(most_of_bucket) };
            for doc in spread(docs, read) {
                if !found.contains(doc) && self.band(doc, *band) == rows {
                    found.push(doc, self.present.len());
                }
            }
            *capped += usize::from(docs.len() > read || !*is_complete);
        }
        std::mem::take(&mut found.docs)
    }

    /// Returns the tags of a signature's bands. Also reads the home slot of each tag: these loads are independent of each
    /// other, so their cache misses overlap, and the following accesses hit the cache.
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

/// A bucket that lacks documents for which it has room.
struct Refill {
    band: usize,
    tag: u32,
    docs: Vec<u32>,
    /// The number of documents with the tag.
    count: usize,
}

/// The buckets of a signature.
#[derive(Default)]
pub(crate) struct SignatureBuckets<'a> {
    found: FoundDocs,
    large: Vec<LargeBucket<'a>>,
}

/// A bucket whose documents are not read yet. Some of them may have other rows.
pub(crate) struct LargeBucket<'a> {
    band: usize,
    pub(crate) docs: Cow<'a, [u32]>,
    /// Whether all documents of the bucket are stored.
    pub(crate) is_complete: bool,
}

impl SignatureBuckets<'_> {
    /// Returns the crowded buckets.
    pub(crate) fn crowded(&self) -> impl Iterator<Item = &LargeBucket<'_>> {
        self.large.iter().filter(|bucket| bucket.docs.len() > CROWDED)
    }

    /// Removes documents from crowded buckets.
    pub(crate) fn retain_in_crowded(&mut self, keep: impl Fn(u32) -> bool) {
        for bucket in self.large.iter_mut().filter(|bucket| bucket.docs.len() > CROWDED) {
            bucket.docs = bucket.docs.iter().copied().filter(|&doc| keep(doc)).collect();
        }
    }

    /// Removes all documents from crowded buckets.
    pub(crate) fn clear_crowded(&mut self) {
        self.large.retain(|bucket| bucket.docs.len() <= CROWDED);
    }
}

/// The pairs of documents that one band joined. Documents of the same bucket are joined if both are in `stored` and at least
/// one is in `paired_with_all`. Both are bit sets over document numbers.
struct JoinedPairs {
    stored: Vec<u64>,
    paired_with_all: Vec<u64>,
}

impl JoinedPairs {
    fn new(documents: usize) -> JoinedPairs {
        let words = vec![0; documents.div_ceil(64)];
        JoinedPairs { stored: words.clone(), paired_with_all: words }
    }

    /// Adds a bucket. Returns `true` if it is too large for all its pairs.
    fn add(&mut self, bucket: &[u32]) -> bool {
        let set = |bits: &mut [u64], doc: &u32| bits[*doc as usize / 64] |= 1 << (doc % 64);
        bucket.iter().for_each(|doc| set(&mut self.stored, doc));
        bucket.iter().take(BUCKET_JOINED).for_each(|doc| set(&mut self.paired_with_all, doc));
        bucket.len() > BUCKET_JOINED + 1
    }

    /// Returns `true` if two documents with equal rows in this band were joined. A document that was not stored because its
    /// bucket was full was not joined.
    fn contains(&self, a: u32, b: u32) -> bool {
        let get = |bits: &[u64], doc: u32| bits[doc as usize / 64] >> (doc % 64) & 1 == 1;
        get(&self.stored, a)
            && get(&self.stored, b)
            && (get(&self.paired_with_all, a) || get(&self.paired_with_all, b))
    }
}

/// Calls `visit` with each of the first [`BUCKET_JOINED`] documents and each document after it. The documents must be in
/// ascending order.
fn each_pair(bucket: &[u32], mut visit: impl FnMut(u32, u32)) {
    for (i, &a) in bucket.iter().take(BUCKET_JOINED).enumerate() {
        bucket[i + 1..].iter().for_each(|&b| visit(a, b));
    }
}

/// Returns the tag of a band: 32 bits of a keyed hash of its rows.
#[inline]
fn tag_of(key: u64, rows: &[u32]) -> u32 {
    let pairs = rows.chunks(2).map(|pair| u64::from(pair[0]) | u64::from(*pair.get(1).unwrap_or(&0)) << 32);
    let hash = pairs.fold(key, |hash, pair| fold(hash ^ pair, 0x9E37_79B9_7F4A_7C15) ^ key.rotate_left(32));
    (fold(hash, 0xD6E8_FEB8_6659_FD93) >> 32) as u32
}

/// Returns at most `most` documents of a list, evenly spaced, so that later documents are found, too.
fn spread(docs: &[u32], most: usize) -> impl Iterator<Item = u32> {
    let most = most.min(docs.len());
    (0..most).map(move |i| docs[i * docs.len() / most])
}

/// Documents found by a search. Near-identical texts share all buckets; beyond a few documents a bit map keeps each of
/// them from being listed once per band.
#[derive(Default)]
struct FoundDocs {
    docs: Vec<u32>,
    map: Vec<u64>,
}

impl FoundDocs {
    /// Number of documents from which on the bit map is used.
    const LISTED: usize = 512;

    fn contains(&self, doc: u32) -> bool {
        self.map.get(doc as usize / 64).is_some_and(|bits| bits & 1 << (doc % 64) != 0)
    }

    /// Adds a document. All numbers are below `count`.
    fn push(&mut self, doc: u32, count: usize) {
        self.docs.push(doc);
        if self.docs.len() == Self::LISTED {
            self.map.resize(count.div_ceil(64), 0);
            self.docs.iter().for_each(|&doc| self.map[doc as usize / 64] |= 1 << (doc % 64));
        } else if self.docs.len() > Self::LISTED {
            self.map[doc as usize / 64] |= 1 << (doc % 64);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::BUCKET_STORED;
    use super::*;
    use crate::random::SplitMix64;
    use crate::sketch::MinHasher;

    /// Crafted rows put unrelated documents into one bucket of the first band. The second band finds the copies among them.
    #[test]
    fn crafted_bucket_is_capped_and_hides_no_copies() {
        let mut random = SplitMix64(4);
        let count = 3 * BUCKET_STORED as u32 / 2;
        let mut index = BandIndex::new(16, Bands { count: 2, rows: 8 }).unwrap();
        let mut last = Vec::new();
        for doc in 0..count {
            let is_copy = doc % 2 == 1;
            let rows: Vec<u32> = (0..16).map(|row| if row < 8 { 7 } else { random.next() as u32 }).collect();
            last = if is_copy { last } else { rows };
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

    /// The limit keeps the best documents, and equal ones with lower numbers first, wherever they are stored.
    #[test]
    fn limited_scan_returns_the_best_documents() {
        let mut random = SplitMix64(9);
        let mut index = BandIndex::new(16, Bands { count: 2, rows: 8 }).unwrap();
        let query = Signature::from_rows(vec![1; 16]).unwrap();
        for doc in 0..500 {
            let rows: Vec<u32> = (0..16).map(|_| u32::from(random.next().is_multiple_of(3))).collect();
            index.insert(DocNumber(doc), &Signature::from_rows(rows).unwrap()).unwrap();
        }
        let all = index.scan(&query, 0.1, usize::MAX).unwrap();
        assert!(all.hits.len() > 400 && all.capped == 0);
        for most in [0, 1, 7, 100, all.hits.len() - 1] {
            let found = index.scan(&query, 0.1, most).unwrap();
            assert_eq!((&found.hits[..], found.capped), (&all.hits[..most], 1), "{most}");
        }
        assert_eq!(index.scan(&query, 0.1, all.hits.len()).unwrap(), all);
    }

    #[test]
    fn bounds_candidates_of_a_million_equal_documents() {
        let same = Signature::from_rows(vec![5; 4]).unwrap();
        let mut index = BandIndex::new(4, Bands { count: 2, rows: 2 }).unwrap();
        index.insert_all((0..1_000_000).map(|doc| (DocNumber(doc), &same))).unwrap();
        assert_eq!(index.capped(), 2 * (1_000_000 - BUCKET_STORED as u64));
        let stored = BUCKET_STORED as u64;
        let joined = BUCKET_JOINED as u64;
        let mut pairs = 0;
        let join = index.pairs(0.5, |_| pairs += 1);
        assert_eq!(join.candidates, joined * stored - joined * (joined + 1) / 2);
        assert_eq!((pairs, join.capped), (join.candidates, 2));
        // Replacing documents in bulk removes their old entries and takes no quadratic time.
        let other = Signature::from_rows(vec![6; 4]).unwrap();
        index.insert_all((0..100).chain(0..100).map(|doc| (DocNumber(doc), &other))).unwrap();
        assert_eq!((index.len(), index.search(&other, 1.0).unwrap().hits.len()), (1_000_000, 100));
    }

    #[test]
    fn counts_capped_entries_of_equal_documents() {
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
    fn full_bucket_is_filled_again_after_removals() {
        let mut index = BandIndex::new(4, Bands { count: 2, rows: 2 }).unwrap();
        let count = BUCKET_STORED as u32 + 2_000;
        let rows = |doc: u32| Signature::from_rows(vec![7, 7, doc, doc]).unwrap();
        (0..count).for_each(|doc| index.insert(DocNumber(doc), &rows(doc)).unwrap());
        assert_eq!(index.capped(), 2_000);
        // A document that is not stored.
        assert!(index.remove(DocNumber(count - 1)));
        assert_eq!(index.capped(), 1_999);
        (0..BUCKET_STORED as u32).for_each(|doc| assert!(index.remove(DocNumber(doc))));
        let found = index.search(&rows(count), 0.0).unwrap();
        assert_eq!((found.hits.len(), found.capped, index.capped()), (1_999, 0, 0));
        index.insert(DocNumber(0), &rows(0)).unwrap();
        assert_eq!(index.search(&rows(count), 0.0).unwrap().hits.len(), 2_000);
    }

    #[test]
    fn search_visits_a_bounded_number_of_a_crowded_bucket() {
        let same = Signature::from_rows(vec![7]).unwrap();
        for (count, capped) in [(BUCKET_SCANNED - 1, 0), (BUCKET_SCANNED, 0), (BUCKET_SCANNED + 1, 1)] {
            let mut index = BandIndex::new(1, Bands { count: 1, rows: 1 }).unwrap();
            (0..count as u32).for_each(|doc| index.insert(DocNumber(doc), &same).unwrap());
            let found = index.search(&same, 0.0).unwrap();
            assert_eq!((found.candidates, found.capped), (count.min(BUCKET_SCANNED), capped));
            let found = index.search_at_most(&same, 0.0, 10).unwrap();
            assert_eq!((found.candidates, found.capped), (10, 1));
            let last = found.hits.iter().map(|hit| hit.doc.0 as usize).max();
            assert!(last > Some(count / 2), "{last:?} of {count}");
        }
    }

    #[test]
    fn small_buckets_are_read_before_crowded_ones() {
        let mut index = BandIndex::new(4, Bands { count: 4, rows: 1 }).unwrap();
        let crowded = |doc: u32| Signature::from_rows(vec![1, 2, 3, 100 + doc]).unwrap();
        let hidden = |doc: u32| doc % 50 == 7;
        let query = Signature::from_rows(vec![1, 2, 3, 4]).unwrap();
        for doc in 0..5_000 {
            let signature = if hidden(doc) { query.clone() } else { crowded(doc) };
            index.insert(DocNumber(doc), &signature).unwrap();
        }
        let found = index.search_at_most(&query, 0.9, 200).unwrap();
        assert_eq!(found.hits.len(), (0..5_000).filter(|&doc| hidden(doc)).count());
        assert!(found.candidates <= 300 && found.capped == 3, "{} {}", found.candidates, found.capped);
    }

    #[test]
    fn tables_take_less_than_200_bytes_per_document() {
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
                assert!(bytes < 200.0, "{bytes} bytes per document at {doc}");
            }
        }
    }

    #[test]
    fn rejects_invalid_bands_signatures_and_numbers() {
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
