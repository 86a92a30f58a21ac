//! The tags of all documents, a row for each.

use super::temporary;
use crate::exit::Failure;
use sameish::{Bands, Buckets, BucketsBuilder, DocNumber};
use std::fs::File;
use std::io::{BufReader, BufWriter, Read, Seek, SeekFrom, Write};
use std::path::Path;

/// Rows of tags, in memory until there are too many.
pub(crate) struct Tags {
    bands: usize,
    rows: usize,
    memory: Vec<u32>,
    /// Bytes that may stay in memory.
    limit: usize,
    file: Option<BufWriter<File>>,
}

impl Tags {
    pub(crate) fn new(bands: Bands, limit: usize) -> Tags {
        Tags { bands: bands.count as usize, rows: 0, memory: Vec::new(), limit, file: None }
    }

    /// Adds the row of the next document; none for one without a signature.
    pub(crate) fn push(&mut self, row: &[u32], folder: Option<&Path>) -> Result<(), Failure> {
        let start = self.memory.len();
        self.memory.extend_from_slice(row);
        self.memory.resize(start + self.bands, 0);
        self.rows += 1;
        if self.memory.len() * 4 > self.limit {
            self.spill(folder)?;
        }
        Ok(())
    }

    fn spill(&mut self, folder: Option<&Path>) -> Result<(), Failure> {
        let failed = |error: std::io::Error| temporary(&error);
        if self.file.is_none() {
            self.file = Some(BufWriter::with_capacity(1 << 20, temporary_file(folder).map_err(failed)?));
        }
        if let Some(file) = &mut self.file {
            for tag in self.memory.drain(..) {
                file.write_all(&tag.to_le_bytes()).map_err(failed)?;
            }
        }
        Ok(())
    }

    /// The buckets of those documents for which `takes` says so. Sorts as many entries at a time as fit into `room` bytes.
    pub(crate) fn buckets(mut self, takes: impl Fn(u32) -> bool, room: usize) -> Result<Buckets, Failure> {
        if self.file.is_some() && !self.memory.is_empty() {
            self.spill(None)?;
        }
        let parts = (self.rows * size_of::<(u32, DocNumber)>()).div_ceil(room.max(1 << 20)).max(1) as u64;
        let mut builder = BucketsBuilder::new(self.rows);
        let mut entries = Vec::new();
        for band in 0..self.bands {
            for part in 0..parts {
                entries.clear();
                self.each(band, |doc, tag| {
                    if (u64::from(tag) * parts) >> 32 == part && takes(doc) {
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
            let rows = self.memory.chunks_exact(self.bands);
            (0u32..).zip(rows).for_each(|(doc, row)| visit(doc, row[band]));
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

/// A file without a name, which goes with us.
pub(crate) fn temporary_file(folder: Option<&Path>) -> std::io::Result<File> {
    match folder {
        Some(folder) => tempfile::tempfile_in(folder),
        None => tempfile::tempfile(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn buckets_are_the_same_on_disk_and_in_parts() {
        let bands = Bands { count: 3, rows: 5 };
        let fill = |limit| {
            let mut tags = Tags::new(bands, limit);
            for doc in 0..5000u32 {
                let tag = |band: u32| (doc * (band + 1) % 701).wrapping_mul(0x9E37_79B9);
                tags.push(&[tag(0), tag(1), tag(2)], None).unwrap();
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
