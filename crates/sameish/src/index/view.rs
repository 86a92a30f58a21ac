//! Read-only access to a stored Hamming index.

use super::file::{self, FlatBuckets, FlatDocuments, OpenedIndex};
use super::part::Part;
use super::search::Search;
use super::{BlockTables, HammingIndex, Hit};
use crate::error::{Error, Result};
use crate::sketch::Fingerprint;

/// A stored [`HammingIndex`] that answers queries directly from its bytes, for example from a memory-mapped file.
///
/// Opening checks the headers and lengths of all records, in time independent of the number of codes.
/// [`verify`](Self::verify) reads all data and checks it against the checksums. Without that check, damaged data can cause
/// wrong answers, but no panic.
///
/// ```
/// use sameish::index::{DocNumber, HammingIndex, HammingView};
/// use sameish::Fingerprint;
///
/// let mut index = HammingIndex::new(3)?;
/// index.insert(Fingerprint::from_u64(0xABCD), DocNumber(1));
/// let bytes = index.to_bytes();
/// let view = HammingView::from_bytes(&bytes)?;
/// view.verify()?;
/// assert_eq!(view.find_first(Fingerprint::from_u64(0xABCF)), index.find_first(Fingerprint::from_u64(0xABCF)));
/// # Ok::<(), sameish::Error>(())
/// ```
#[derive(Clone, Debug)]
pub struct HammingView<'a> {
    bytes: &'a [u8],
    opened: OpenedIndex<'a>,
}

impl<'a> HammingView<'a> {
    /// Opens a stored index. The bytes must be aligned to 8 bytes, as memory-mapped files are. Returns an error if a header or
    /// a length is invalid.
    pub fn from_bytes(bytes: &'a [u8]) -> Result<HammingView<'a>> {
        Ok(HammingView { bytes, opened: file::open(bytes)? })
    }

    /// Reads all data and checks it against the checksums.
    pub fn verify(&self) -> Result<()> {
        file::verify(self.bytes, &self.opened.arrays)
    }

    /// Copies the stored index into a modifiable one. Verifies the checksums, then rebuilds the tables.
    pub fn to_index(&self) -> Result<HammingIndex> {
        self.verify()?;
        let OpenedIndex { header, table_set, documents, .. } = &self.opened;
        let tables = header.blocks.map(BlockTables::new).transpose()?;
        let specs = table_set.specs();
        let mut entries = Vec::new();
        for (i, table) in table_set.tables().iter().enumerate() {
            // Each code is taken from the first table that has it. In an index that is not partitioned, this is table 0.
            table.each(&mut |code, value| {
                let first = specs.iter().position(|spec| header.part.owns(spec, code));
                entries.extend(value.filter(|_| first == Some(i)).map(|value| (code, value)));
            });
            if !header.part.is_partial() {
                break;
            }
        }
        let index = HammingIndex::from_stored(header, tables, specs, entries, documents.sets());
        if index.len() as u64 != header.len {
            return Err(Error::CorruptIndex {
                reason: "number of documents differs from the header",
                offset: 32,
            });
        }
        Ok(index)
    }

    /// Returns the radius: the maximum Hamming distance of a hit.
    pub fn radius(&self) -> u32 {
        self.opened.header.radius
    }

    /// Returns the number of documents.
    pub fn len(&self) -> usize {
        self.opened.header.len as usize
    }

    /// Returns `true` if there are no documents.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Returns which part of a partitioned index this is.
    pub fn part(&self) -> Part {
        self.opened.header.part
    }

    /// Returns some document within the radius; see [`HammingIndex::find_first`].
    pub fn find_first(&self, query: Fingerprint) -> Option<Hit> {
        self.search().find_first(query)
    }

    /// Finds every document within the radius; see [`HammingIndex::find_all`].
    pub fn find_all(&self, query: Fingerprint, hits: &mut Vec<Hit>) {
        self.search().find_within(query, 64, hits);
    }

    /// Finds every document within a smaller radius; see [`HammingIndex::find_within`].
    pub fn find_within(&self, query: Fingerprint, radius: u32, hits: &mut Vec<Hit>) {
        self.search().find_within(query, radius, hits);
    }

    /// Returns some document within the radius of each query; see [`HammingIndex::find_first_bulk`].
    pub fn find_first_bulk(&self, queries: &[Fingerprint]) -> Vec<Option<Hit>> {
        self.search().find_first_bulk(queries)
    }

    /// Finds every document within the radius of each query; see [`HammingIndex::find_all_bulk`].
    pub fn find_all_bulk(&self, queries: &[Fingerprint], sink: impl FnMut(usize, &[Hit])) {
        self.search().find_all_bulk(queries, sink);
    }

    fn search(&self) -> Search<'_, FlatBuckets<'a>, FlatDocuments<'a>> {
        Search { table_set: &self.opened.table_set, documents: &self.opened.documents }
    }
}
