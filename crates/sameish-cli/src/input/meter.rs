//! How much has been read?
//!
//! One number for the whole run, because all readers of a run go through the same files, one stage after the other. It counts
//! bytes as they lie on the disk, so that it can be held against the sizes of the files whether they are packed or not.

use super::find::Found;
use std::io::{self, Read};
use std::sync::atomic::{AtomicU64, Ordering};

static READ: AtomicU64 = AtomicU64::new(0);

/// Bytes that were read from files so far.
pub(crate) fn read_so_far() -> u64 {
    READ.load(Ordering::Relaxed)
}

/// Counts bytes that were read by other ways.
pub(crate) fn add(bytes: u64) {
    READ.fetch_add(bytes, Ordering::Relaxed);
}

/// A reader whose bytes count.
pub(crate) struct Metered<R>(pub(crate) R);

impl<R: Read> Read for Metered<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let read = self.0.read(buffer)?;
        add(read as u64);
        Ok(read)
    }
}

/// The sizes of all sources together; none where one of them is no file, or there is nothing in them.
pub(crate) fn size_of<'a>(sources: impl IntoIterator<Item = &'a Found>) -> Option<u64> {
    let mut sum = 0;
    for source in sources.into_iter().flatten() {
        let meta = source.path.as_deref()?.metadata().ok()?;
        sum += meta.is_file().then_some(meta.len())?;
    }
    Some(sum).filter(|&sum| sum > 0)
}
