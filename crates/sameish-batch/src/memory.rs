//! Memory limit, divided among the parts of a run.

use crate::error::{Error, Result};

/// Approximate memory per document in bytes, in addition to its id: columns, band keys, buckets, the id index and the
/// clustering. Documents in crowded buckets need more, up to about 2 kB.
pub const BYTES_PER_DOCUMENT: usize = 300;

/// Memory limit of a run.
#[derive(Clone, Copy, Debug)]
pub(crate) struct MemoryLimit(Option<usize>);

/// Minimum limit.
const LEAST: usize = 64 << 20;
/// Maximum size of the texts that are loaded at once for star clustering.
const WINDOW: usize = 16 << 20;
/// Maximum size of the cached texts with their features.
const TEXT_CACHE: usize = 16 << 20;

impl MemoryLimit {
    pub(crate) fn new(limit: Option<u64>) -> Result<MemoryLimit> {
        match limit.map(|bytes| usize::try_from(bytes).unwrap_or(usize::MAX)) {
            Some(bytes) if bytes < LEAST => Err(Error::MemoryLimitTooSmall { least_mib: LEAST >> 20 }),
            bytes => Ok(MemoryLimit(bytes)),
        }
    }

    /// Returns a limit of any size.
    #[cfg(test)]
    pub(crate) fn exactly(bytes: usize) -> MemoryLimit {
        MemoryLimit(Some(bytes))
    }

    /// Returns the limit for everything that grows with the number of documents: [`BYTES_PER_DOCUMENT`], ids and crowds.
    pub(crate) fn documents(self) -> usize {
        self.share(4).saturating_mul(3)
    }

    /// Returns the limit for band keys before they are spilled to disk.
    pub(crate) fn band_keys(self) -> usize {
        self.share(8)
    }

    /// Returns the limit for sorting band keys.
    pub(crate) fn sorting(self) -> usize {
        self.share(8)
    }

    /// Returns the limit for cached texts. Twice this size is used: for the documents of a batch and for those they are
    /// compared with.
    pub(crate) fn text_cache(self) -> usize {
        self.share(16).min(TEXT_CACHE)
    }

    /// Returns the limit for texts that are loaded at once for star clustering.
    pub(crate) fn window(self) -> usize {
        self.share(32).min(WINDOW)
    }

    fn share(self, of: usize) -> usize {
        self.0.map_or(usize::MAX, |bytes| bytes / of)
    }
}
