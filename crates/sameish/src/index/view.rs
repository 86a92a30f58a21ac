//! Who is near, in an index that lies in a file?

use super::file::{self, Flat, FlatDocuments, Opened};
use super::part::Part;
use super::search::Search;
use super::{BlockTables, HammingIndex, Hit};
use crate::error::{Error, Result};
use crate::sketch::Fingerprint;

/// A stored [`HammingIndex`] that is read where it lies: in memory that was mapped, say, by `sameish-store`.
///
/// Opening checks the heads and lengths of all parts of the file, which takes no longer for more codes; damage to the
/// codes themselves is found by [`verify`](Self::verify), which reads them all. Without it damaged codes give wrong
/// answers, and nothing worse.
///
/// ```
/// use sameish::{DocNumber, Fingerprint, HammingIndex, HammingView};
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
    opened: Opened<'a>,
}

impl<'a> HammingView<'a> {
    /// Opens a stored index. The bytes must be aligned to 8, as mapped files and allocated ones are.
    pub fn from_bytes(bytes: &'a [u8]) -> Result<HammingView<'a>> {
        Ok(HammingView { bytes, opened: file::open(bytes)? })
    }

    /// Reads everything and compares with the checksums.
    pub fn verify(&self) -> Result<()> {
        file::verify(self.bytes, &self.opened.arrays)
    }

    /// An index of one's own that can be changed. Verifies first, then builds the tables anew.
    pub fn to_index(&self) -> Result<HammingIndex> {
        self.verify()?;
        let Opened { header, layers, documents, .. } = &self.opened;
        let tables = header.blocks.map(BlockTables::new).transpose()?;
        let (mut entries, specs) = (Vec::new(), layers.specs());
        for (i, table) in layers.tables().iter().enumerate() {
            // A code is taken from the first table that has it, which in the whole is the first of all.
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
            return Err(Error::CorruptIndex { reason: "another number of documents than told", offset: 32 });
        }
        Ok(index)
    }

    /// The most bits in which a hit may differ.
    pub fn radius(&self) -> u32 {
        self.opened.header.radius
    }

    /// How many documents there are.
    pub fn len(&self) -> usize {
        self.opened.header.len as usize
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Which part of the whole this is.
    pub fn part(&self) -> Part {
        self.opened.header.part
    }

    /// As [`HammingIndex::find_first`].
    pub fn find_first(&self, query: Fingerprint) -> Option<Hit> {
        self.search().find_first(query)
    }

    /// As [`HammingIndex::find_all`].
    pub fn find_all(&self, query: Fingerprint, hits: &mut Vec<Hit>) {
        self.search().find_within(query, 64, hits);
    }

    /// The same for a radius that may be smaller than the index's, and costs less then.
    pub fn find_within(&self, query: Fingerprint, radius: u32, hits: &mut Vec<Hit>) {
        self.search().find_within(query, radius, hits);
    }

    /// As [`HammingIndex::find_first_bulk`].
    pub fn find_first_bulk(&self, queries: &[Fingerprint]) -> Vec<Option<Hit>> {
        self.search().find_first_bulk(queries)
    }

    /// As [`HammingIndex::find_all_bulk`].
    pub fn find_all_bulk(&self, queries: &[Fingerprint], sink: impl FnMut(usize, &[Hit])) {
        self.search().find_all_bulk(queries, sink);
    }

    fn search(&self) -> Search<'_, Flat<'a>, FlatDocuments<'a>> {
        Search { layers: &self.opened.layers, documents: &self.opened.documents }
    }
}
