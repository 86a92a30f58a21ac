//! Files mapped into memory: a stored Hamming index, and files next to it.

use crate::error::Error;
use memmap2::Mmap;
use sameish::index::HammingView;
use std::fs::File;
use std::path::Path;

/// A file with a stored Hamming index, mapped into memory.
///
/// The file must not be modified in place while it is mapped. To update it, write a new file and rename it.
///
/// ```
/// use sameish::index::{DocNumber, HammingIndex};
/// use sameish::Fingerprint;
/// use sameish_store::MappedIndex;
///
/// let mut index = HammingIndex::new(3)?;
/// index.insert(Fingerprint::from_u64(0xABCD), DocNumber(1));
/// let dir = tempfile::tempdir()?;
/// let path = dir.path().join("index");
/// index.write_into(&mut std::fs::File::create(&path)?)?;
/// let mapped = MappedIndex::open(&path)?;
/// let hit = mapped.view()?.find_first(Fingerprint::from_u64(0xABCF));
/// assert_eq!(hit.map(|hit| hit.doc), Some(DocNumber(1)));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug)]
pub struct MappedIndex {
    map: MappedFile,
}

/// A file mapped into memory, as bytes.
///
/// The file must not be modified in place while it is mapped.
#[derive(Debug)]
pub struct MappedFile {
    map: Mmap,
}

impl MappedFile {
    /// Maps a file.
    pub fn open(path: impl AsRef<Path>) -> Result<MappedFile, Error> {
        let file = File::open(&path).map_err(|source| Error::io(path.as_ref(), source))?;
        // SAFETY: the map is read-only, and the documentation forbids modifying the file while it is mapped. The engine
        // treats the bytes as untrusted and does not rely on them for memory safety.
        #[allow(unsafe_code)]
        let map = unsafe { Mmap::map(&file) }.map_err(|source| Error::io(path.as_ref(), source))?;
        Ok(MappedFile { map })
    }

    /// Returns the bytes.
    pub fn bytes(&self) -> &[u8] {
        &self.map
    }
}

impl MappedIndex {
    /// Maps a file and checks its headers. [`HammingView::verify`] checks the whole file.
    pub fn open(path: impl AsRef<Path>) -> Result<MappedIndex, Error> {
        let map = MappedFile::open(path)?;
        HammingView::from_bytes(map.bytes())?;
        Ok(MappedIndex { map })
    }

    /// Returns the bytes of the file.
    pub fn bytes(&self) -> &[u8] {
        self.map.bytes()
    }

    /// Returns the index. This parses the headers, so call it once for many queries.
    pub fn view(&self) -> Result<HammingView<'_>, Error> {
        Ok(HammingView::from_bytes(self.map.bytes())?)
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;
    use sameish::Fingerprint;
    use sameish::index::{DocNumber, HammingIndex};

    #[test]
    fn returns_the_same_hits_as_the_index_in_memory() {
        let mut index = HammingIndex::new(3).unwrap();
        let code = |i: u32| Fingerprint::from_u64(u64::from(i).wrapping_mul(0x9E37_79B9_7F4A_7C15));
        (0..5000).for_each(|i| _ = index.insert(code(i), DocNumber(i)));
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("index");
        std::fs::write(&path, index.to_bytes()).unwrap();
        let mapped = MappedIndex::open(&path).unwrap();
        let view = mapped.view().unwrap();
        view.verify().unwrap();
        let queries: Vec<Fingerprint> = (0..6000).map(code).collect();
        assert_eq!(view.find_first_bulk(&queries), index.find_first_bulk(&queries));
    }

    #[test]
    fn rejects_missing_and_invalid_files() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("index");
        assert!(matches!(MappedIndex::open(&path), Err(Error::Io { .. })));
        std::fs::write(&path, b"hello").unwrap();
        assert!(matches!(MappedIndex::open(&path), Err(Error::Engine(_))));
    }
}
