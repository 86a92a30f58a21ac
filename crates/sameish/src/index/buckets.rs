//! Band buckets of a complete corpus.
//!
//! If all documents are known before the first query, the hash tables of [`BandIndex`](super::BandIndex) are unnecessary.
//! Each band becomes a column of (tag, document) entries that is sorted once, and only runs of equal tags are kept. No
//! signature stays in memory, and a document that shares no band has no entries.

use super::DocNumber;
use crate::config::Bands;
use crate::random::SplitMix64;

/// Computes the 32-bit tags of a signature, one per band. Bands with equal rows have equal tags.
///
/// The tag of rows r1, r2, … is the upper half of m0 + m1 r1 + m2 r2 + … modulo 2^64, with random 64-bit coefficients m for
/// each band (multilinear hashing). Different bands have equal tags with probability 2^-32 (Lemire and Kaser 2014, theorem
/// 3.1, <https://doi.org/10.1093/comjnl/bxt070>), and a row costs one multiplication. The definition does not change
/// between versions: the coefficients come from SplitMix64, band by band.
///
/// ```
/// use sameish::config::Bands;
/// use sameish::index::BandTags;
///
/// let tags = BandTags::new(Bands { count: 2, rows: 3 });
/// let [a, b] = [[1, 2, 3, 4, 5, 6], [1, 2, 3, 4, 5, 7]].map(|rows| tags.of(&rows).collect::<Vec<u32>>());
/// assert!(a[0] == b[0] && a[1] != b[1]);
/// ```
#[derive(Clone, Debug)]
pub struct BandTags {
    height: usize,
    /// For each band, the constant m0 and one factor per row.
    factors: Vec<u64>,
}

impl BandTags {
    /// Creates the tag functions for signatures divided into these bands.
    pub fn new(bands: Bands) -> BandTags {
        let height = bands.rows as usize;
        let mut random = SplitMix64(TAG_SEED);
        let factors = (0..bands.count as usize * (height + 1)).map(|_| random.next()).collect();
        BandTags { height, factors }
    }

    /// Returns the tag of each band of a signature, given the rows of the signature.
    pub fn of<'a>(&'a self, rows: &'a [u32]) -> impl Iterator<Item = u32> + use<'a> {
        let bands = self.factors.chunks_exact(self.height + 1).zip(rows.chunks_exact(self.height));
        bands.map(|(factors, rows)| {
            let product = |(factor, row): (&u64, &u32)| factor.wrapping_mul(u64::from(*row));
            let sum = factors[1..].iter().zip(rows).map(product).fold(factors[0], u64::wrapping_add);
            (sum >> 32) as u32
        })
    }
}

/// Seed of the coefficients: the first 64 fractional bits of pi.
const TAG_SEED: u64 = 0x243F_6A88_85A3_08D3;

/// Builds [`Buckets`] band by band.
#[derive(Clone, Debug, Default)]
pub struct BucketsBuilder {
    documents: usize,
    ends: Vec<u64>,
    members: Vec<u32>,
}

/// Buckets of documents with equal band tags, accessible by bucket and by document.
///
/// ```
/// use sameish::index::{BucketsBuilder, DocNumber};
///
/// let mut builder = BucketsBuilder::new(4);
/// builder.add_band(&mut vec![(7, DocNumber(0)), (9, DocNumber(1)), (7, DocNumber(3)), (8, DocNumber(2))]);
/// builder.add_band(&mut vec![(1, DocNumber(0)), (1, DocNumber(3)), (1, DocNumber(2)), (5, DocNumber(1))]);
/// let buckets = builder.finish();
/// assert_eq!(buckets.of(DocNumber(0)).count(), 2);
/// assert_eq!(buckets.of(DocNumber(1)).count(), 0);
/// let members: Vec<&[u32]> = buckets.of(DocNumber(2)).map(|bucket| buckets.members(bucket)).collect();
/// assert_eq!(members, [[0, 2, 3]]);
/// ```
#[derive(Clone, Debug, Default)]
pub struct Buckets {
    ends: Vec<u64>,
    members: Vec<u32>,
    /// For each document, the end of its buckets in `of`.
    of_ends: Vec<u64>,
    of: Vec<u32>,
}

impl BucketsBuilder {
    /// Creates a builder for documents with numbers below `documents`.
    pub fn new(documents: usize) -> BucketsBuilder {
        BucketsBuilder { documents, ends: Vec::new(), members: Vec::new() }
    }

    /// Adds the (tag, document) entries of one band and sorts them. A band may be added in several calls, provided that all
    /// entries with the same tag are in the same call.
    pub fn add_band(&mut self, entries: &mut [(u32, DocNumber)]) {
        self.add_small(entries, usize::MAX, |_| ());
    }

    /// Adds a band like [`add_band`](Self::add_band), without buckets of more than `limit` documents, which it passes to
    /// `crowded`.
    #[doc(hidden)]
    pub fn add_small(
        &mut self,
        entries: &mut [(u32, DocNumber)],
        limit: usize,
        mut crowded: impl FnMut(&[(u32, DocNumber)]),
    ) {
        // A packed key needs one integer comparison; comparing the tuple needs two.
        entries.sort_unstable_by_key(|(tag, doc)| u64::from(*tag) << 32 | u64::from(doc.0));
        for run in entries.chunk_by(|a, b| a.0 == b.0).filter(|run| run.len() > 1) {
            if run.len() > limit {
                crowded(run);
                continue;
            }
            self.members.extend(run.iter().map(|(_, doc)| doc.0));
            self.ends.push(self.members.len() as u64);
        }
    }

    /// Returns the heap size in bytes.
    pub fn memory_bytes(&self) -> usize {
        self.ends.capacity() * 8 + self.members.capacity() * 4
    }

    /// Builds the lists of buckets per document and returns the finished buckets.
    pub fn finish(self) -> Buckets {
        let BucketsBuilder { documents, ends, members } = self;
        let mut of_ends = vec![0u64; documents + 1];
        members.iter().for_each(|&doc| of_ends[doc as usize + 1] += 1);
        (1..of_ends.len()).for_each(|i| of_ends[i] += of_ends[i - 1]);
        let mut of = vec![0; members.len()];
        let mut bucket = 0;
        for (at, &doc) in members.iter().enumerate() {
            while ends[bucket] <= at as u64 {
                bucket += 1;
            }
            // `of_ends[doc]` starts as the end of the previous document, which is where this document's buckets begin, and
            // advances to this document's own end.
            let place = &mut of_ends[doc as usize];
            of[*place as usize] = bucket as u32;
            *place += 1;
        }
        Buckets { ends, members, of_ends, of }
    }
}

impl Buckets {
    /// Returns the buckets that contain a document.
    pub fn of(&self, doc: DocNumber) -> impl Iterator<Item = u32> {
        let at = doc.0 as usize;
        let start = if at == 0 { 0 } else { self.of_ends[at - 1] };
        self.of[start as usize..self.of_ends[at] as usize].iter().copied()
    }

    /// Returns `true` if a document shares a band with another one.
    pub fn any(&self, doc: DocNumber) -> bool {
        self.of(doc).next().is_some()
    }

    /// Returns the numbers of the documents in a bucket, in ascending order.
    pub fn members(&self, bucket: u32) -> &[u32] {
        let at = bucket as usize;
        let start = if at == 0 { 0 } else { self.ends[at - 1] };
        &self.members[start as usize..self.ends[at] as usize]
    }

    /// Returns the number of buckets. Every bucket has at least two documents.
    pub fn len(&self) -> usize {
        self.ends.len()
    }

    /// Returns `true` if no two documents share a band.
    pub fn is_empty(&self) -> bool {
        self.ends.is_empty()
    }

    /// Returns the heap size in bytes.
    pub fn memory_bytes(&self) -> usize {
        (self.ends.capacity() + self.of_ends.capacity()) * 8
            + (self.members.capacity() + self.of.capacity()) * 4
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::random::SplitMix64;
    use std::collections::BTreeSet;

    #[test]
    fn buckets_contain_exactly_the_documents_with_equal_tags() {
        let mut random = SplitMix64(5);
        for (documents, bands, tags) in [(0, 3, 5), (1, 1, 1), (50, 4, 20), (300, 8, 100), (300, 3, 2)] {
            let columns: Vec<Vec<u32>> =
                (0..bands).map(|_| (0..documents).map(|_| random.below(tags) as u32).collect()).collect();
            let mut builder = BucketsBuilder::new(documents);
            for column in &columns {
                // Each band in two calls, as under a memory limit.
                for half in 0..2 {
                    let entries = (0u32..).zip(column).map(|(doc, &tag)| (tag, DocNumber(doc)));
                    let mut entries: Vec<_> = entries.filter(|(tag, _)| tag % 2 == half).collect();
                    builder.add_band(&mut entries);
                }
            }
            let buckets = builder.finish();
            for doc in 0..documents {
                let sharing = |other: &usize| columns.iter().any(|column| column[doc] == column[*other]);
                let expected: BTreeSet<u32> = (0..documents)
                    .filter(|&other| other != doc)
                    .filter(sharing)
                    .map(|other| other as u32)
                    .collect();
                let found =
                    buckets.of(DocNumber(doc as u32)).flat_map(|bucket| buckets.members(bucket)).copied();
                assert_eq!(found.filter(|&other| other as usize != doc).collect::<BTreeSet<u32>>(), expected);
                assert_eq!(buckets.any(DocNumber(doc as u32)), !expected.is_empty());
            }
        }
    }

    #[test]
    fn tags_are_stable_and_differ_by_band() {
        let bands = Bands { count: 2, rows: 3 };
        let tags: Vec<u32> = BandTags::new(bands).of(&[1, 2, 3, 1, 2, 3, 9]).collect();
        assert_eq!(tags.len(), 2);
        assert_ne!(tags[0], tags[1]);
        assert_eq!(tags, [TAG_0, TAG_1]);
    }

    // Golden values: tags are stored, so they must not change between versions.
    const TAG_0: u32 = 243_384_441;
    const TAG_1: u32 = 2_174_998_746;
}
