//! Who is near?
//!
//! [`HammingIndex`] finds the fingerprints within a radius without looking at all of them; [`LinearScan`] looks at all
//! of them, and is what the index must agree with. [`BandIndex`] finds signatures that share a band, [`OverlapIndex`] sparse codes
//! that share bits. An index knows documents by [`DocNumber`]: who owns the documents maps their ids to numbers.
//!
//! ```text
//! hamming.rs   HammingIndex: fingerprints and their documents
//! view.rs      HammingView: the same, read where it lies
//!   file.rs      how an index is stored
//!   search.rs    what an index and a view of a stored one have in common
//!   layers.rs    a set of codes under several tables, each pair found in exactly one of them
//!     table.rs     codes by key, in buckets that split one at a time
//!     pages.rs     where the codes of a bucket lie
//!     part.rs      which share of the keys is here
//!     plan.rs      which keys, from the number of codes and the radius
//!   documents.rs the documents of a fingerprint that has several
//!   blocks.rs    the explicit cut into blocks of seed 004
//! corpus.rs    Corpus: fingerprints alone, as seed 004 has them
//! prints.rs    PrintIndex: fingerprints beside signatures
//! linear.rs    LinearScan: the oracle
//! bands.rs     BandIndex: signatures that share a band
//!   slots.rs     documents by the hash of a band
//! overlap.rs   OverlapIndex: sparse codes that share bits
//! buckets.rs   Buckets: who shares a band, in a corpus that is all there
//! tuning.rs    which bands, from threshold and recall
//! histogram.rs which threshold, from the similarities of a corpus
//! ```

mod bands;
mod blocks;
mod buckets;
mod corpus;
mod documents;
mod file;
mod hamming;
mod histogram;
mod layers;
mod linear;
mod overlap;
mod pages;
mod part;
mod plan;
mod prints;
mod search;
mod slots;
mod table;
mod tuning;
mod view;

pub use bands::{BUCKET_JOINED, BUCKET_SCANNED, BandHit, BandIndex, BandJoin, BandPair, BandSearch};
pub use blocks::{BlockTables, Permutation};
pub use buckets::{BandTags, Buckets, BucketsBuilder};
pub use corpus::Corpus;
pub use hamming::HammingIndex;
pub use histogram::{Histogram, Valley, valley};
pub use linear::LinearScan;
pub use overlap::{OverlapHit, OverlapIndex};
pub use part::Part;
pub use prints::{PrintIndex, SIGNED_RADIUS};
pub use slots::BUCKET_STORED;
pub use tuning::CurvePoint;
pub use view::HammingView;

/// A document as an index knows it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct DocNumber(pub u32);

/// A document that an index found.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Hit {
    /// In how many bits its fingerprint differs from the query. First, so that hits sort by it.
    pub distance: u32,
    /// The document.
    pub doc: DocNumber,
}

/// Two documents of one index that are near each other.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Pair {
    /// The document with the smaller number.
    pub a: DocNumber,
    /// The document with the larger number.
    pub b: DocNumber,
    /// In how many bits their fingerprints differ.
    pub distance: u32,
}

impl Pair {
    fn new(x: u32, y: u32, distance: u32) -> Pair {
        Pair { a: DocNumber(x.min(y)), b: DocNumber(x.max(y)), distance }
    }
}
