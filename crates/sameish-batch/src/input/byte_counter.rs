//! Counter of the bytes read from files.

use super::find::InputResult;
use std::io::{self, Read};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

/// Counts bytes as they are stored on disk, so that the count can be compared with file sizes whether or not the files are
/// compressed. Clones share one count.
#[derive(Clone, Debug, Default)]
pub struct ByteCounter(Arc<AtomicU64>);

impl ByteCounter {
    /// Returns the number of bytes read so far.
    pub fn get(&self) -> u64 {
        self.0.load(Ordering::Relaxed)
    }

    pub(crate) fn add(&self, bytes: u64) {
        self.0.fetch_add(bytes, Ordering::Relaxed);
    }
}

/// A reader whose bytes are counted.
pub(crate) struct Counted<R> {
    pub(crate) inner: R,
    pub(crate) counter: ByteCounter,
}

impl<R: Read> Read for Counted<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let read = self.inner.read(buffer)?;
        self.counter.add(read as u64);
        Ok(read)
    }
}

/// Returns the total size of all inputs; `None` if one of them is not a file, or all are empty.
pub fn total_size<'a>(inputs: impl IntoIterator<Item = &'a InputResult>) -> Option<u64> {
    let mut sum = 0;
    for input in inputs.into_iter().flatten() {
        let meta = input.path.as_deref()?.metadata().ok()?;
        sum += meta.is_file().then_some(meta.len())?;
    }
    Some(sum).filter(|&sum| sum > 0)
}
