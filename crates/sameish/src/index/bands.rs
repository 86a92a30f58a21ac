//! Whose signature shares a band?
//!
//! A signature is cut into bands; documents that agree in all rows of a band are candidates of each other (Indyk and
//! Motwani 1998; Broder 2000). See [`tuning`](super::tuning) for how often that finds a pair.
//!
//! Each band has a table of 8-byte slots: 32 bits of the band's hash, the tag, and a document. The place of a slot is
//! proportional to its tag, so the table is a sorted list with gaps: a look-up starts where the tag belongs and ends at
//! the first larger one, growing is one pass over the list, and adding many documents is a merge. At 85 % full, and grown
//! by a quarter, a band costs 9.4 to 11.8 bytes a document: 150 to 188 for 16 bands.
//!
//! The hash is keyed with a number of this index alone, so that nobody can prepare texts that meet in a table. A tag is
//! only a hint: a candidate is one whose rows really are equal, so the key and its accidents never show.

use super::DocNumber;
use crate::config::Bands;
use crate::error::{Error, Result};
use crate::features::hash::fold;
use crate::sketch::Signature;
use std::hash::{BuildHasher, Hasher, RandomState};

/// Most documents of one bucket that are kept; later ones are counted and can not be found by that band.
pub const BUCKET_STORED: usize = 10_000;
/// Most documents of one bucket that a search looks at.
pub const BUCKET_SCANNED: usize = 2_000;

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
    tables: Vec<Table>,
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
            tables: vec![Table::default(); bands.count as usize],
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
        self.tables.iter().map(Table::bytes).sum::<usize>() + self.present.capacity()
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

    /// Adds a document. Document numbers should be dense: room is kept for every number up to the largest.
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
            if self.remove(doc) {
                added.retain(|&other| other != doc);
            }
            self.store(doc, signature);
            added.push(doc);
        }
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
        let mut search = BandSearch::default();
        let mut docs = self.candidates(signature, &mut search.capped);
        docs.sort_unstable();
        docs.dedup();
        search.candidates = docs.len();
        let estimates = docs.into_iter().map(|doc| {
            let rows = &self.signatures[doc as usize * self.rows..][..self.rows];
            let equal = rows.iter().zip(signature.rows()).filter(|(a, b)| a == b).count();
            BandHit { doc: DocNumber(doc), estimate: equal as f64 / self.rows as f64 }
        });
        search.hits = estimates.filter(|hit| hit.estimate >= threshold).collect();
        search.hits.sort_by(|a, b| b.estimate.total_cmp(&a.estimate).then(a.doc.cmp(&b.doc)));
        Ok(search)
    }

    /// Documents that share a band, as often as they share one.
    fn candidates(&self, signature: &Signature, capped: &mut usize) -> Vec<u32> {
        let height = self.bands.rows as usize;
        let bands = || self.tables.iter().zip(signature.rows().chunks_exact(height));
        let tags = self.tags(signature.rows());
        let mut docs = Vec::new();
        for (band, ((table, rows), &tag)) in bands().zip(&tags).enumerate() {
            let mut looked_at = 0;
            table.each(tag, |doc| {
                looked_at += 1;
                if looked_at <= BUCKET_SCANNED
                    && self.signatures[doc as usize * self.rows + band * height..][..height] == *rows
                {
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

/// 32 bits of a keyed hash of a band's rows.
#[inline]
fn tag_of(key: u64, rows: &[u32]) -> u32 {
    let pairs = rows.chunks(2).map(|pair| u64::from(pair[0]) | u64::from(*pair.get(1).unwrap_or(&0)) << 32);
    let hash = pairs.fold(key, |hash, pair| fold(hash ^ pair, 0x9E37_79B9_7F4A_7C15) ^ key.rotate_left(32));
    (fold(hash, 0xD6E8_FEB8_6659_FD93) >> 32) as u32
}

const EMPTY: u64 = u64::MAX;
/// Marks a slot that stands for a document. One without it stands for a list, and so comes before the documents of its tag.
const DOC: u32 = 1 << 31;
/// Documents of one tag that stand in slots of their own; more go into a list, so that no look-up walks past them.
const INLINE: usize = 8;
/// Fullest a table gets, in percent.
const FULL: usize = 85;

fn slot(tag: u32, value: u32) -> u64 {
    u64::from(tag) << 32 | u64::from(value)
}

fn tag_in(slot: u64) -> u32 {
    (slot >> 32) as u32
}

/// What a slot stands for.
enum Entry {
    Doc(u32),
    List(usize),
}

fn entry_in(slot: u64) -> Entry {
    match slot as u32 {
        value if value & DOC != 0 => Entry::Doc(value & !DOC),
        list => Entry::List(list as usize),
    }
}

/// Slots in ascending order with gaps between them, each at or behind the place its tag belongs to.
#[derive(Clone, Debug, Default)]
struct Table {
    slots: Vec<u64>,
    /// The part of the slots that tags are spread over; what is behind takes the overflow of the last ones.
    spread: usize,
    used: usize,
    lists: Vec<Vec<u32>>,
    capped: u64,
}

impl Table {
    fn home(&self, tag: u32) -> usize {
        ((u64::from(tag) * self.spread as u64) >> 32) as usize
    }

    /// The slot where a tag belongs, whatever is in it.
    fn peek(&self, tag: u32) -> u64 {
        self.slots.get(self.home(tag)).copied().unwrap_or(EMPTY)
    }

    /// The first slot from the tag's home on that is empty or not below it.
    fn position(&self, tag: u32) -> usize {
        let least = slot(tag, 0);
        let from = self.home(tag);
        self.slots[from..].iter().position(|&slot| slot >= least).map_or(self.slots.len(), |n| from + n)
    }

    /// How many slots from there on have the tag.
    fn count(&self, from: usize, tag: u32) -> usize {
        self.slots[from..].iter().take_while(|&&slot| slot != EMPTY && tag_in(slot) == tag).count()
    }

    fn each(&self, tag: u32, mut visit: impl FnMut(u32)) {
        let from = self.position(tag);
        for &slot in &self.slots[from..from + self.count(from, tag)] {
            match entry_in(slot) {
                Entry::Doc(doc) => visit(doc),
                Entry::List(list) => self.lists[list].iter().for_each(|&doc| visit(doc)),
            }
        }
    }

    fn insert(&mut self, tag: u32, doc: u32) {
        if (self.used + 1) * 100 > self.spread * FULL {
            self.merge(&[]);
        }
        let from = self.position(tag);
        let same = self.count(from, tag);
        match (same, self.slots.get(from).map(|&slot| entry_in(slot))) {
            (1.., Some(Entry::List(list))) => self.append(list, doc),
            (INLINE.., _) => self.start_list(from, same, tag, doc),
            _ => self.place(from, slot(tag, DOC | doc)),
        }
    }

    fn append(&mut self, list: usize, doc: u32) {
        if self.lists[list].len() >= BUCKET_STORED {
            self.capped += 1;
        } else {
            self.lists[list].push(doc);
        }
    }

    /// Moves the documents of a tag from their slots to a list.
    fn start_list(&mut self, from: usize, same: usize, tag: u32, doc: u32) {
        let mut docs: Vec<u32> =
            self.slots[from..from + same].iter().map(|&slot| slot as u32 & !DOC).collect();
        docs.push(doc);
        for _ in 1..same {
            self.take(from);
        }
        self.slots[from] = slot(tag, self.lists.len() as u32);
        self.lists.push(docs);
    }

    /// Puts a slot in its place among those from `from` on, and moves what is in the way.
    fn place(&mut self, from: usize, new: u64) {
        let at = from + self.slots[from..].iter().take_while(|&&slot| slot < new).count();
        let gap = self.slots[at..].iter().position(|&slot| slot == EMPTY).map(|n| at + n);
        let gap = gap.unwrap_or_else(|| {
            self.slots.push(EMPTY);
            self.slots.len() - 1
        });
        self.slots.copy_within(at..gap, at + 1);
        self.slots[at] = new;
        self.used += 1;
    }

    /// Takes a slot out and moves those behind it back as far as they may go.
    fn take(&mut self, at: usize) {
        let stays = |i: &usize| self.slots[*i] == EMPTY || self.home(tag_in(self.slots[*i])) >= *i;
        let end = (at + 1..self.slots.len()).find(stays).unwrap_or(self.slots.len());
        self.slots.copy_within(at + 1..end, at);
        self.slots[end - 1] = EMPTY;
        self.used -= 1;
    }

    fn remove(&mut self, tag: u32, doc: u32) {
        if self.slots.is_empty() {
            return;
        }
        let from = self.position(tag);
        for at in from..from + self.count(from, tag) {
            match entry_in(self.slots[at]) {
                Entry::Doc(other) if other == doc => return self.take(at),
                Entry::Doc(_) => {}
                Entry::List(list) => return self.lists[list].retain(|&other| other != doc),
            }
        }
    }

    /// Rebuilds the table with room to grow, and with new entries, which must be in order.
    fn merge(&mut self, new: &[u64]) {
        let old = std::mem::take(&mut self.slots);
        let mut old = old.into_iter().filter(|&slot| slot != EMPTY).peekable();
        let mut new = new.iter().copied().peekable();
        let expected = self.used + new.len();
        self.spread = (expected + 1) * 125 / FULL + 16;
        self.slots = Vec::with_capacity(self.spread + 64);
        self.slots.resize(self.spread, EMPTY);
        self.used = 0;
        let mut end = 0;
        while let Some(next) = next_in_order(&mut old, &mut new) {
            if !self.joins_others(next, &mut end) {
                end = end.max(self.home(tag_in(next)));
                if end >= self.slots.len() {
                    self.slots.push(EMPTY);
                }
                self.slots[end] = next;
                self.used += 1;
                end += 1;
            }
        }
    }

    /// Whether the next document of a merge went into a list, because its tag has one or too many stand before it. Slots
    /// before `end` are done.
    fn joins_others(&mut self, next: u64, end: &mut usize) -> bool {
        let (tag, Entry::Doc(doc)) = (tag_in(next), entry_in(next)) else { return false };
        let before = self.slots[..*end].iter().rev().take(INLINE);
        let same = before.take_while(|&&slot| slot != EMPTY && tag_in(slot) == tag).count();
        if same == 0 {
            return false;
        }
        let first = *end - same;
        match entry_in(self.slots[first]) {
            Entry::List(list) => self.append(list, doc),
            Entry::Doc(_) if same < INLINE => return false,
            Entry::Doc(_) => {
                let mut docs: Vec<u32> =
                    self.slots[first..*end].iter().map(|&slot| slot as u32 & !DOC).collect();
                docs.push(doc);
                self.slots[first + 1..*end].fill(EMPTY);
                self.slots[first] = slot(tag, self.lists.len() as u32);
                self.lists.push(docs);
                self.used -= same - 1;
                *end = first + 1;
            }
        }
        true
    }

    fn bytes(&self) -> usize {
        let lists: usize = self.lists.iter().map(|list| list.capacity() * 4 + size_of::<Vec<u32>>()).sum();
        self.slots.capacity() * 8 + lists
    }
}

fn next_in_order<A: Iterator<Item = u64>, B: Iterator<Item = u64>>(
    a: &mut std::iter::Peekable<A>,
    b: &mut std::iter::Peekable<B>,
) -> Option<u64> {
    match (a.peek(), b.peek()) {
        (Some(x), Some(y)) if x <= y => a.next(),
        (_, Some(_)) => b.next(),
        (_, None) => a.next(),
    }
}

#[cfg(test)]
mod tests {
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
                    }
                }
                assert_eq!(index.len(), model.len());
            }
        }
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
