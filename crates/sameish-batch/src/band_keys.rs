//! Band keys of all documents, in memory or spilled to disk.

use crate::cancellation::Cancellation;
use crate::error::{Error, Result};
use crate::resume::TempFiles;
use sameish::cluster::Forest;
use sameish::config::Bands;
use sameish::index::{Buckets, BucketsBuilder, DocNumber};
use std::collections::HashMap;
use std::fs::File;
use std::io::{BufReader, BufWriter, Read, Seek, SeekFrom, Write};

/// One row of band keys per document, in memory until it exceeds a limit.
pub(crate) struct BandKeys {
    bands: usize,
    rows: usize,
    /// One column per band, with the rows that are not in the file.
    columns: Vec<Vec<u32>>,
    /// Limit of the columns in bytes.
    limit: usize,
    files: TempFiles,
    file: Option<BufWriter<File>>,
}

impl BandKeys {
    pub(crate) fn new(bands: Bands, limit: usize, files: TempFiles) -> BandKeys {
        let bands = bands.count as usize;
        BandKeys { bands, rows: 0, columns: vec![Vec::new(); bands], limit, files, file: None }
    }

    /// Takes the rows and leaves an empty table.
    pub(crate) fn take(&mut self) -> BandKeys {
        let empty = BandKeys {
            bands: 0,
            rows: 0,
            columns: Vec::new(),
            limit: 0,
            files: TempFiles::default(),
            file: None,
        };
        std::mem::replace(self, empty)
    }

    /// Appends the band keys of the next document; empty for a document without a signature.
    pub(crate) fn push(&mut self, row: &[u32]) -> Result<()> {
        for (band, column) in self.columns.iter_mut().enumerate() {
            column.push(row.get(band).copied().unwrap_or(0));
        }
        self.rows += 1;
        if self.in_memory() * self.bands * 4 > self.limit {
            self.spill()?;
        }
        Ok(())
    }

    /// Returns the number of rows that are not in the file.
    fn in_memory(&self) -> usize {
        self.columns.first().map_or(0, Vec::len)
    }

    fn spill(&mut self) -> Result<()> {
        if self.file.is_none() {
            self.file =
                Some(BufWriter::with_capacity(1 << 20, self.files.create("tags").map_err(Error::Temporary)?));
        }
        if let Some(file) = &mut self.file {
            for row in 0..self.columns.first().map_or(0, Vec::len) {
                for column in &self.columns {
                    file.write_all(&column[row].to_le_bytes()).map_err(Error::Temporary)?;
                }
            }
            self.columns.iter_mut().for_each(Vec::clear);
        }
        Ok(())
    }

    /// Writes all rows to a file for a resumable run. Rows in memory stay there too.
    pub(crate) fn save(&mut self) -> Result<()> {
        let spilled = self.file.is_some();
        let columns = self.columns.clone();
        self.spill()?;
        let file = self.file.as_mut().map(|file| file.flush().and_then(|()| file.get_ref().sync_all()));
        file.unwrap_or(Ok(())).map_err(Error::Temporary)?;
        if !spilled {
            self.columns = columns;
            self.file = None;
        }
        Ok(())
    }

    /// Loads the rows that [`BandKeys::save`] wrote, into memory if they fit.
    pub(crate) fn load(
        bands: Bands,
        limit: usize,
        files: TempFiles,
        rows: usize,
    ) -> std::io::Result<BandKeys> {
        let mut keys = BandKeys::new(bands, limit, files);
        let file = keys.files.open("tags")?;
        if file.metadata()?.len() != (rows * keys.bands * 4) as u64 {
            return Err(std::io::ErrorKind::InvalidData.into());
        }
        keys.rows = rows;
        keys.file = Some(BufWriter::new(file));
        if rows * keys.bands * 4 <= limit {
            let mut columns = vec![Vec::with_capacity(rows); keys.bands];
            for (band, column) in columns.iter_mut().enumerate() {
                let read = keys.each(band, |_, key| column.push(key));
                read.map_err(std::io::Error::other)?;
            }
            keys.columns = columns;
            keys.file = None;
        }
        Ok(keys)
    }

    /// Builds the buckets of the documents that `includes` selects, and the crowds: documents that are connected by buckets of
    /// more than `limit` documents, which are left out, or by `floods`. Documents that `is_sketched` selects are in no crowd. Sorts
    /// as many entries at once as fit into `memory` bytes.
    pub(crate) fn buckets(
        mut self,
        includes: impl Fn(u32) -> bool,
        is_sketched: impl Fn(u32) -> bool,
        limit: usize,
        floods: Floods,
        memory: usize,
        cancellation: &Cancellation,
    ) -> Result<(AllBuckets, Crowded)> {
        if self.file.is_some() && self.in_memory() > 0 {
            self.spill()?;
        }
        let parts = (self.rows * size_of::<(u32, DocNumber)>()).div_ceil(memory.max(1 << 20)).max(1) as u64;
        let mut builder = BucketsBuilder::new(self.rows);
        let mut mixed = MixedBuilder::new(self.rows);
        let (mut entries, mut repeats) = (Vec::new(), Repeats::for_rows(self.rows));
        let mut crowds = CrowdedDocs::new(self.rows);
        for band in 0..self.bands {
            // Most keys occur once; they are removed before sorting.
            repeats.clear();
            self.each(band, |doc, key| {
                if includes(doc) {
                    repeats.add(key);
                }
            })?;
            for part in 0..parts {
                cancellation.check()?;
                entries.clear();
                self.each(band, |doc, key| {
                    if repeats.may_repeat(key) && (u64::from(key) * parts) >> 32 == part && includes(doc) {
                        entries.push((key, DocNumber(doc)));
                    }
                })?;
                builder.add_small(&mut entries, limit, |bucket| {
                    let texts = mixed.add(bucket, &is_sketched, limit);
                    crowds.add(texts.as_deref().unwrap_or(bucket).iter().map(|(_, doc)| doc.0));
                });
            }
        }
        floods.groups.into_iter().for_each(|group| crowds.add(group.into_iter()));
        let groups = crowds.finish();
        let keys = self.keys_of(&groups)?;
        let buckets = AllBuckets { buckets: builder.finish(), mixed: mixed.finish() };
        Ok((buckets, Crowded { groups, keys, bands: self.bands, prints: floods.prints }))
    }

    /// Returns the band keys of documents, one row after the other.
    fn keys_of(&mut self, groups: &[Vec<u32>]) -> Result<Vec<u32>> {
        let docs = || groups.iter().flatten();
        if groups.is_empty() {
            return Ok(Vec::new());
        }
        let mut place = vec![u32::MAX; self.rows];
        docs().zip(0..).for_each(|(&doc, at)| place[doc as usize] = at);
        let mut keys = vec![0; docs().count() * self.bands];
        for band in 0..self.bands {
            let bands = self.bands;
            self.each(band, |doc, key| {
                if let Some(place) = Some(place[doc as usize]).filter(|&place| place != u32::MAX) {
                    keys[place as usize * bands + band] = key;
                }
            })?;
        }
        Ok(keys)
    }

    /// Calls `visit` with each document and its key in a band.
    fn each(&mut self, band: usize, mut visit: impl FnMut(u32, u32)) -> Result<()> {
        let Some(file) = &mut self.file else {
            (0u32..).zip(&self.columns[band]).for_each(|(doc, &key)| visit(doc, key));
            return Ok(());
        };
        file.flush().map_err(Error::Temporary)?;
        file.get_mut().seek(SeekFrom::Start(0)).map_err(Error::Temporary)?;
        let mut reader = BufReader::with_capacity(1 << 20, file.get_ref());
        let mut row = vec![0; self.bands * 4];
        for doc in 0..self.rows as u32 {
            reader.read_exact(&mut row).map_err(Error::Temporary)?;
            let (keys, _) = row.as_chunks::<4>();
            visit(doc, u32::from_le_bytes(keys[band]));
        }
        Ok(())
    }
}

/// The buckets whose documents are compared with each other. Each has a number.
#[derive(Default)]
pub(crate) struct AllBuckets {
    /// Buckets that are not crowded.
    buckets: Buckets,
    mixed: MixedBuckets,
}

impl AllBuckets {
    /// Returns the number of buckets.
    pub(crate) fn len(&self) -> usize {
        self.buckets.len() + 2 * self.mixed.sketched.len()
    }

    /// Returns the buckets of a document.
    pub(crate) fn of(&self, doc: u32) -> impl Iterator<Item = u32> {
        let first = self.buckets.len() as u32;
        let mixed = self.mixed.of(doc).map(move |bucket| {
            let sketched = &self.mixed.sketched[bucket as usize];
            let needs_whole = sketched.is_empty() || sketched.binary_search(&doc).is_ok();
            first + 2 * bucket + u32::from(!needs_whole)
        });
        self.buckets.of(DocNumber(doc)).chain(mixed)
    }

    /// Returns the documents of a bucket in ascending order.
    pub(crate) fn members(&self, bucket: u32) -> &[u32] {
        match (bucket as usize).checked_sub(self.buckets.len()) {
            None => self.buckets.members(bucket),
            Some(list) if list % 2 == 0 => self.mixed.whole.members((list / 2) as u32),
            Some(list) => &self.mixed.sketched[list / 2],
        }
    }

    /// Returns `true` if a document is in a bucket.
    pub(crate) fn any(&self, doc: u32) -> bool {
        self.buckets.any(DocNumber(doc)) || self.mixed.of(doc).next().is_some()
    }
}

/// Crowded buckets with documents that consist of sketches.
///
/// The texts of such a bucket are compared with each other as a crowd. Crowds are divided by the features of texts, which sketches do
/// not have, so sketches are compared with the whole bucket, and texts with its sketches.
#[derive(Default)]
struct MixedBuckets {
    whole: Buckets,
    /// The documents of each bucket that consist of sketches; empty if its texts are too few for a crowd.
    sketched: Vec<Vec<u32>>,
}

impl MixedBuckets {
    fn of(&self, doc: u32) -> impl Iterator<Item = u32> {
        // Without such buckets, `whole` has no lists.
        let buckets = (!self.sketched.is_empty()).then(|| self.whole.of(DocNumber(doc)));
        buckets.into_iter().flatten()
    }
}

struct MixedBuilder {
    whole: BucketsBuilder,
    sketched: Vec<Vec<u32>>,
}

impl MixedBuilder {
    fn new(rows: usize) -> MixedBuilder {
        MixedBuilder { whole: BucketsBuilder::new(rows), sketched: Vec::new() }
    }

    /// Adds a crowded bucket if sketches are in it. Then returns its texts, or nothing if they are no crowd.
    fn add(
        &mut self,
        bucket: &[(u32, DocNumber)],
        is_sketched: impl Fn(u32) -> bool,
        limit: usize,
    ) -> Option<Vec<(u32, DocNumber)>> {
        let (sketches, texts): (Vec<_>, Vec<_>) =
            bucket.iter().copied().partition(|(_, doc)| is_sketched(doc.0));
        if sketches.is_empty() {
            return None;
        }
        let is_crowd = texts.len() > limit;
        let sketched = sketches.iter().filter(|_| is_crowd).map(|(_, doc)| doc.0);
        self.sketched.push(sketched.collect());
        self.whole.add_band(&mut bucket.to_vec());
        Some(if is_crowd { texts } else { Vec::new() })
    }

    fn finish(self) -> MixedBuckets {
        // Without such buckets, the lists of buckets per document are not needed.
        let whole = if self.sketched.is_empty() { Buckets::default() } else { self.whole.finish() };
        MixedBuckets { whole, sketched: self.sketched }
    }
}

/// Documents of crowded buckets.
#[derive(Default)]
pub(crate) struct Crowded {
    /// Documents that are connected by crowded buckets, each group in ascending order.
    pub(crate) groups: Vec<Vec<u32>>,
    /// Band keys of the documents of all groups, one row after the other.
    pub(crate) keys: Vec<u32>,
    /// Number of keys per row.
    pub(crate) bands: usize,
    /// Flooded fingerprints in ascending order: the documents that have them, and all that are near them, are in groups.
    pub(crate) prints: Vec<u64>,
}

/// Fingerprints that many documents have.
#[derive(Default)]
pub(crate) struct Floods {
    /// The documents that have such a fingerprint or are near it.
    pub(crate) groups: Vec<Vec<u32>>,
    /// The fingerprints in ascending order.
    pub(crate) prints: Vec<u64>,
}

/// Collects the documents of crowded buckets.
struct CrowdedDocs {
    rows: usize,
    /// Empty without crowded buckets.
    forest: Forest,
    is_crowded: Vec<bool>,
}

impl CrowdedDocs {
    fn new(rows: usize) -> CrowdedDocs {
        CrowdedDocs { rows, forest: Forest::default(), is_crowded: Vec::new() }
    }

    /// Adds documents that are connected.
    fn add(&mut self, docs: impl Iterator<Item = u32>) {
        if self.is_crowded.is_empty() {
            self.is_crowded = vec![false; self.rows];
            self.forest = Forest::new(self.rows);
        }
        let mut first = None;
        for doc in docs {
            self.is_crowded[doc as usize] = true;
            self.forest.join(*first.get_or_insert(doc), doc);
        }
    }

    /// Returns the connected documents in ascending order, by their first documents.
    fn finish(mut self) -> Vec<Vec<u32>> {
        let mut number: HashMap<u32, usize> = HashMap::new();
        let mut crowds: Vec<Vec<u32>> = Vec::new();
        for doc in (0..self.is_crowded.len() as u32).filter(|&doc| self.is_crowded[doc as usize]) {
            let crowd = *number.entry(self.forest.root(doc)).or_insert_with(|| {
                crowds.push(Vec::new());
                crowds.len() - 1
            });
            crowds[crowd].push(doc);
        }
        crowds
    }
}

/// Filter for hashes that may occur more than once: one bit per prefix of the hash, and a second bit for the second
/// occurrence.
pub(crate) struct Repeats {
    shift: u32,
    once: Vec<u64>,
    twice: Vec<u64>,
}

impl Repeats {
    /// Creates a filter with eight bits per row.
    pub(crate) fn for_rows(rows: usize) -> Repeats {
        let bits = (rows * 8).next_power_of_two().ilog2().clamp(6, 32);
        let words = vec![0; 1 << (bits - 6)];
        Repeats { shift: 32 - bits, once: words.clone(), twice: words }
    }

    fn clear(&mut self) {
        self.once.fill(0);
        self.twice.fill(0);
    }

    pub(crate) fn add(&mut self, hash: u32) {
        let (word, bit) = self.place(hash);
        self.twice[word] |= self.once[word] & bit;
        self.once[word] |= bit;
    }

    pub(crate) fn may_repeat(&self, hash: u32) -> bool {
        let (word, bit) = self.place(hash);
        self.twice[word] & bit != 0
    }

    fn place(&self, hash: u32) -> (usize, u64) {
        let at = hash >> self.shift;
        ((at >> 6) as usize, 1 << (at & 63))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn builds_the_same_buckets_on_disk_and_in_parts() {
        let bands = Bands { count: 3, rows: 5 };
        let fill = |limit| {
            let mut keys = BandKeys::new(bands, limit, TempFiles::default());
            for doc in 0..5000u32 {
                let key = |band: u32| (doc * (band + 1) % 701).wrapping_mul(0x9E37_79B9);
                keys.push(&[key(0), key(1), key(2)]).unwrap();
            }
            keys
        };
        let shape = |buckets: AllBuckets| -> Vec<Vec<Vec<u32>>> {
            (0..5000)
                .map(|doc| {
                    let mut members: Vec<Vec<u32>> =
                        buckets.of(doc).map(|bucket| buckets.members(bucket).to_vec()).collect();
                    members.sort();
                    members
                })
                .collect()
        };
        let includes = |doc: u32| !doc.is_multiple_of(7);
        let build = |keys: BandKeys, memory| {
            let built = keys.buckets(
                includes,
                |_| false,
                usize::MAX,
                Floods::default(),
                memory,
                &Cancellation::default(),
            );
            shape(built.unwrap().0)
        };
        let whole = build(fill(usize::MAX), usize::MAX);
        assert!(whole[1].len() == 3 && whole[7].is_empty());
        assert_eq!(build(fill(1000), usize::MAX), whole);
        assert_eq!(build(fill(1000), 0), whole);
    }

    #[test]
    fn texts_of_crowded_buckets_form_crowds_also_if_sketches_share_them() {
        let mut keys = BandKeys::new(Bands { count: 2, rows: 5 }, usize::MAX, TempFiles::default());
        // Documents 0 to 9 share a bucket, 9 consists of sketches; 8 and 9 share another one; 10 to 13 and the sketches 14 to 19.
        for doc in 0..20 {
            let second = if doc == 8 || doc == 9 { 7 } else { 100 + doc };
            keys.push(&[if doc < 10 { 1 } else { 2 }, second]).unwrap();
        }
        let is_sketched = |doc: u32| doc == 9 || doc >= 14;
        let built =
            keys.buckets(|_| true, is_sketched, 6, Floods::default(), usize::MAX, &Cancellation::default());
        let (buckets, crowded) = built.unwrap();
        assert_eq!(crowded.groups, [(0..9).collect::<Vec<_>>()]);
        let members = |doc: u32| {
            let lists = buckets.of(doc).map(|bucket| buckets.members(bucket).to_vec());
            lists.collect::<Vec<Vec<u32>>>()
        };
        assert_eq!(members(0), [[9]]);
        assert_eq!(members(8), [vec![8, 9], vec![9]]);
        assert_eq!(members(9), [vec![8, 9], (0..10).collect()]);
        // Four texts are no crowd, so they are compared with each other in the bucket.
        assert_eq!(members(12), [(10..20).collect::<Vec<u32>>()]);
        assert_eq!(members(15), members(12));
        assert!((0..20).all(|doc| buckets.any(doc)) && buckets.len() == 5);
    }
}
