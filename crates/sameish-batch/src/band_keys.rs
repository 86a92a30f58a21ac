//! Band keys of all documents, in memory or spilled to disk.

use crate::cancellation::Cancellation;
use crate::error::{Error, Result};
use crate::resume::TempFiles;
use sameish::config::Bands;
use sameish::index::{Buckets, BucketsBuilder, DocNumber};
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

    /// Builds the buckets of the documents that `includes` selects. Sorts as many entries at once as fit into `memory` bytes.
    pub(crate) fn buckets(
        mut self,
        includes: impl Fn(u32) -> bool,
        memory: usize,
        cancellation: &Cancellation,
    ) -> Result<Buckets> {
        if self.file.is_some() && self.in_memory() > 0 {
            self.spill()?;
        }
        let parts = (self.rows * size_of::<(u32, DocNumber)>()).div_ceil(memory.max(1 << 20)).max(1) as u64;
        let mut builder = BucketsBuilder::new(self.rows);
        let (mut entries, mut repeats) = (Vec::new(), Repeats::for_rows(self.rows));
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
                builder.add_band(&mut entries);
            }
        }
        Ok(builder.finish())
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
        let shape = |buckets: Buckets| -> Vec<Vec<Vec<u32>>> {
            (0..5000)
                .map(|doc| {
                    let mut members: Vec<Vec<u32>> =
                        buckets.of(DocNumber(doc)).map(|bucket| buckets.members(bucket).to_vec()).collect();
                    members.sort();
                    members
                })
                .collect()
        };
        let includes = |doc: u32| !doc.is_multiple_of(7);
        let whole = shape(fill(usize::MAX).buckets(includes, usize::MAX, &Cancellation::default()).unwrap());
        assert!(whole[1].len() == 3 && whole[7].is_empty());
        assert_eq!(shape(fill(1000).buckets(includes, usize::MAX, &Cancellation::default()).unwrap()), whole);
        assert_eq!(shape(fill(1000).buckets(includes, 0, &Cancellation::default()).unwrap()), whole);
    }
}
