//! Near-neighbor indexes: which stored sketches are close to a query?
//!
//! | index | sketch | finds |
//! |---|---|---|
//! | [`HammingIndex`], [`HammingView`], [`Corpus`] | SimHash fingerprint | every fingerprint within a Hamming radius (exact) |
//! | [`FingerprintIndex`] | SimHash fingerprint | candidates in an engine where most documents also have a signature |
//! | [`BandIndex`], [`Buckets`] | MinHash signature | signatures that agree with the query on all rows of a band (LSH) |
//! | [`OverlapIndex`] | sparse code (SDR) | codes that share set bits with the query (exact) |
//! | [`LinearScan`] | SimHash fingerprint | every fingerprint within a Hamming radius, by comparing all; the test oracle |
//!
//! Indexes identify documents by [`DocNumber`]. The caller maps document ids to numbers and verifies the candidates.
//!
//! ```text
//! hamming.rs       HammingIndex: multi-index hashing over 64-bit fingerprints
//! view.rs          HammingView: read-only access to a stored index, without copying it
//!   file.rs          the file format
//!   search.rs        queries, shared by HammingIndex and HammingView
//!   table_set/       the same codes in several tables; reports each match exactly once
//!     table.rs         one table: linear hashing from key to bucket
//!     pages.rs         memory layout of buckets
//!     part.rs          partitions of an index by key range
//!     plan.rs          cost model: which keys to index for a radius and a number of codes
//!   documents.rs     fingerprints that belong to several documents
//!   blocks.rs        the permuted tables of Manku, Jain and Das Sarma (2007)
//! corpus.rs        Corpus: a set of fingerprints without documents
//! fingerprints.rs  FingerprintIndex: fingerprints of documents with and without signatures
//! linear.rs        LinearScan
//! bands.rs         BandIndex: locality-sensitive hashing by bands, with inserts and removals
//!   slots.rs         hash table from band tags to documents
//! buckets.rs       Buckets: band buckets of a complete corpus, built by sorting
//! tuning.rs        numbers of bands and rows for a threshold and a recall
//! overlap.rs       OverlapIndex: inverted index over the bits of sparse codes
//! histogram.rs     similarity histogram of a corpus and its valley
//! ```

mod bands;
mod blocks;
mod buckets;
mod corpus;
mod documents;
mod file;
mod fingerprints;
mod hamming;
mod histogram;
mod linear;
mod overlap;
mod pages;
mod part;
mod plan;
mod search;
mod slots;
mod table;
mod table_set;
mod tuning;
mod view;

pub use bands::{BUCKET_JOINED, BUCKET_SCANNED, BandHit, BandIndex, BandJoin, BandPair, BandSearch};
pub(crate) use bands::{LargeBucket, SignatureBuckets};
pub use blocks::{BlockTables, Permutation};
pub(crate) use blocks::{MAX_TABLES, table_count};
#[doc(hidden)]
pub use buckets::{BandTags, Buckets, BucketsBuilder};
pub use corpus::Corpus;
pub(crate) use fingerprints::Sample;
#[doc(hidden)]
pub use fingerprints::{FingerprintIndex, SIGNED_RADIUS};
pub use hamming::HammingIndex;
#[doc(hidden)]
pub use histogram::{Histogram, Valley, valley};
pub use linear::LinearScan;
pub use overlap::{OverlapHit, OverlapIndex};
pub use part::Part;
pub use slots::BUCKET_STORED;
pub(crate) use slots::TagTable;
pub use tuning::CurvePoint;
pub use view::HammingView;

/// The number that identifies a document within an index.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct DocNumber(pub u32);

/// A document whose fingerprint is within the radius of a query.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Hit {
    /// Hamming distance between its fingerprint and the query. The first field, so that hits sort by distance.
    pub distance: u32,
    /// The document.
    pub doc: DocNumber,
}

/// Two documents of one index whose fingerprints are within the radius of each other.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Pair {
    /// The document with the smaller number.
    pub a: DocNumber,
    /// The document with the larger number.
    pub b: DocNumber,
    /// Hamming distance between their fingerprints.
    pub distance: u32,
}

impl Pair {
    fn new(x: u32, y: u32, distance: u32) -> Pair {
        Pair { a: DocNumber(x.min(y)), b: DocNumber(x.max(y)), distance }
    }
}
