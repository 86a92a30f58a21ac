//! The tags of all documents, a row for each.

use super::stage::TempFiles;
use super::temporary;
use crate::exit::Failure;
use sameish::{Bands, Buckets, BucketsBuilder, DocNumber};
use std::fs::File;
use std::io::{BufReader, BufWriter, Read, Seek, SeekFrom, Write};

/// Rows of tags, in memory until there are too many.
pub(crate) struct Tags {
    bands: usize,
    rows: usize,
    /// A column for each band, of the rows that are not in the file.
    columns: Vec<Vec<u32>>,
    /// Bytes that may stay in memory.
    limit: usize,
    files: TempFiles,
    file: Option<BufWriter<File>>,
}

impl Tags {
    pub(crate) fn new(bands: Bands, limit: usize, files: TempFiles) -> Tags {
        let bands = bands.count as usize;
        Tags { bands, rows: 0, columns: vec![Vec::new(); bands], limit, files, file: None }
    }

    /// Adds the row of the next document; none for one without a signature.
    pub(crate) fn push(&mut self, row: &[u32]) -> Result<(), Failure> {
        for (band, column) in self.columns.iter_mut().enumerate() {
            column.push(row.get(band).copied().unwrap_or(0));
        }
        self.rows += 1;
        if self.in_memory() * self.bands * 4 > self.limit {
            self.spill()?;
        }
        Ok(())
    }

    /// Rows that are not in the file.
    fn in_memory(&self) -> usize {
        self.columns.first().map_or(0, Vec::len)
    }

    fn spill(&mut self) -> Result<(), Failure> {
        let failed = |error: std::io::Error| temporary(&error);
        if self.file.is_none() {
            self.file = Some(BufWriter::with_capacity(1 << 20, self.files.create("tags").map_err(failed)?));
        }
        if let Some(file) = &mut self.file {
            for row in 0..self.columns.first().map_or(0, Vec::len) {
                for column in &self.columns {
                    file.write_all(&column[row].to_le_bytes()).map_err(failed)?;
                }
            }
            self.columns.iter_mut().for_each(Vec::clear);
        }
        Ok(())
    }

    /// All rows as a file that outlives the run, for `--resume`. What was in memory stays there too.
    pub(crate) fn save(&mut self) -> Result<(), Failure> {
        let spilled = self.file.is_some();
        let columns = self.columns.clone();
        self.spill()?;
        let file = self.file.as_mut().map(|file| file.flush().and_then(|()| file.get_ref().sync_all()));
        file.unwrap_or(Ok(())).map_err(|error| temporary(&error))?;
        if !spilled {
            self.columns = columns;
            self.file = None;
        }
        Ok(())
    }

    /// The rows that [`Tags::save`] wrote, in memory if they may be there.
    pub(crate) fn load(bands: Bands, limit: usize, files: TempFiles, rows: usize) -> std::io::Result<Tags> {
        let mut tags = Tags::new(bands, limit, files);
        let file = tags.files.open("tags")?;
        if file.metadata()?.len() != (rows * tags.bands * 4) as u64 {
            return Err(std::io::ErrorKind::InvalidData.into());
        }
        tags.rows = rows;
        tags.file = Some(BufWriter::new(file));
        if rows * tags.bands * 4 <= limit {
            let mut columns = vec![Vec::with_capacity(rows); tags.bands];
            for (band, column) in columns.iter_mut().enumerate() {
                let read = tags.each(band, |_, tag| column.push(tag));
                read.map_err(|failure| std::io::Error::other(failure.to_string()))?;
            }
            (tags.columns, tags.file) = (columns, None);
        }
        Ok(tags)
    }

    /// The buckets of those documents for which `takes` says so. Sorts as many entries at a time as fit into `room` bytes.
    pub(crate) fn buckets(mut self, takes: impl Fn(u32) -> bool, room: usize) -> Result<Buckets, Failure> {
        if self.file.is_some() && self.in_memory() > 0 {
            self.spill()?;
        }
        let parts = (self.rows * size_of::<(u32, DocNumber)>()).div_ceil(room.max(1 << 20)).max(1) as u64;
        let mut builder = BucketsBuilder::new(self.rows);
        let (mut entries, mut repeats) = (Vec::new(), Repeats::for_rows(self.rows));
        for band in 0..self.bands {
            // Most tags occur once: they are left out before anything is sorted.
            repeats.clear();
            self.each(band, |doc, tag| {
                if takes(doc) {
                    repeats.add(tag);
                }
            })?;
            for part in 0..parts {
                entries.clear();
                self.each(band, |doc, tag| {
                    if repeats.may_repeat(tag) && (u64::from(tag) * parts) >> 32 == part && takes(doc) {
                        entries.push((tag, DocNumber(doc)));
                    }
                })?;
                builder.add_band(&mut entries);
            }
        }
        Ok(builder.finish())
    }

    /// Calls `visit` with each document and its tag in a band.
    fn each(&mut self, band: usize, mut visit: impl FnMut(u32, u32)) -> Result<(), Failure> {
        let failed = |error: std::io::Error| temporary(&error);
        let Some(file) = &mut self.file else {
            (0u32..).zip(&self.columns[band]).for_each(|(doc, &tag)| visit(doc, tag));
            return Ok(());
        };
        file.flush().map_err(failed)?;
        file.get_mut().seek(SeekFrom::Start(0)).map_err(failed)?;
        let mut reader = BufReader::with_capacity(1 << 20, file.get_ref());
        let mut row = vec![0; self.bands * 4];
        for doc in 0..self.rows as u32 {
            reader.read_exact(&mut row).map_err(failed)?;
            let (tags, _) = row.as_chunks::<4>();
            visit(doc, u32::from_le_bytes(tags[band]));
        }
        Ok(())
    }
}

/// Which tags may occur more than once (or other hashes): a bit for each of their leading bits, and another for the second time. Tags are
/// hashes, so few that occur once share a bit.
pub(super) struct Repeats {
    shift: u32,
    once: Vec<u64>,
    twice: Vec<u64>,
}

impl Repeats {
    /// Eight bits a row.
    pub(super) fn for_rows(rows: usize) -> Repeats {
        let bits = (rows * 8).next_power_of_two().ilog2().clamp(6, 32);
        let words = vec![0; 1 << (bits - 6)];
        Repeats { shift: 32 - bits, once: words.clone(), twice: words }
    }

    fn clear(&mut self) {
        self.once.fill(0);
        self.twice.fill(0);
    }

    pub(super) fn add(&mut self, tag: u32) {
        let (word, bit) = self.place(tag);
        self.twice[word] |= self.once[word] & bit;
        self.once[word] |= bit;
    }

    pub(super) fn may_repeat(&self, tag: u32) -> bool {
        let (word, bit) = self.place(tag);
        self.twice[word] & bit != 0
    }

    fn place(&self, tag: u32) -> (usize, u64) {
        let at = tag >> self.shift;
        ((at >> 6) as usize, 1 << (at & 63))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn buckets_are_the_same_on_disk_and_in_parts() {
        let bands = Bands { count: 3, rows: 5 };
        let fill = |limit| {
            let mut tags = Tags::new(bands, limit, TempFiles::default());
            for doc in 0..5000u32 {
                let tag = |band: u32| (doc * (band + 1) % 701).wrapping_mul(0x9E37_79B9);
                tags.push(&[tag(0), tag(1), tag(2)]).unwrap();
            }
            tags
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
        let takes = |doc: u32| !doc.is_multiple_of(7);
        let whole = shape(fill(usize::MAX).buckets(takes, usize::MAX).unwrap());
        assert!(whole[1].len() == 3 && whole[7].is_empty());
        assert_eq!(shape(fill(1000).buckets(takes, usize::MAX).unwrap()), whole);
        assert_eq!(shape(fill(1000).buckets(takes, 0).unwrap()), whole);
    }
}
