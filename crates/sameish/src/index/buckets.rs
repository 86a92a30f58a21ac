//! Who shares a band, in a corpus that is all there?
//!
//! Where every document is known before the first question, the tables of [`BandIndex`](super::BandIndex) are more than is
//! needed: a band is a column of tags, sorted once, and only runs of equal tags are kept. No signature stays in memory, and
//! a document that shares no band costs nothing.

use super::DocNumber;
use crate::config::Bands;
use xxhash_rust::xxh3::xxh3_64_with_seed;

impl Bands {
    /// A tag for each band of a signature: equal rows have equal tags, others one time in 2^32. The definition is fixed:
    /// the upper half of XXH3 over the rows as little-endian bytes, seeded with the number of the band.
    pub fn tags<'a>(&self, rows: &'a [u32]) -> impl Iterator<Item = u32> + use<'a> {
        let (height, count) = (self.rows as usize, self.count as usize);
        let mut bytes = Vec::with_capacity(4 * height);
        (0u64..).zip(rows.chunks_exact(height.max(1))).take(count).map(move |(band, rows)| {
            bytes.clear();
            rows.iter().for_each(|row| bytes.extend_from_slice(&row.to_le_bytes()));
            (xxh3_64_with_seed(&bytes, band) >> 32) as u32
        })
    }
}

/// Gathers [`Buckets`] band by band.
#[derive(Clone, Debug, Default)]
pub struct BucketsBuilder {
    documents: usize,
    ends: Vec<u64>,
    members: Vec<u32>,
}

/// Documents that share a band with others, by bucket and by document.
///
/// ```
/// use sameish::{BucketsBuilder, DocNumber};
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
    /// Where the buckets of each document end in `of`.
    of_ends: Vec<u64>,
    of: Vec<u32>,
}

impl BucketsBuilder {
    /// For documents with numbers below `documents`.
    pub fn new(documents: usize) -> BucketsBuilder {
        BucketsBuilder { documents, ends: Vec::new(), members: Vec::new() }
    }

    /// Adds the tags of one band, or a part of them that holds all entries of each of its tags. Sorts the entries.
    pub fn add_band(&mut self, entries: &mut [(u32, DocNumber)]) {
        entries.sort_unstable();
        for run in entries.chunk_by(|a, b| a.0 == b.0).filter(|run| run.len() > 1) {
            self.members.extend(run.iter().map(|(_, doc)| doc.0));
            self.ends.push(self.members.len() as u64);
        }
    }

    /// Bytes on the heap.
    pub fn memory_bytes(&self) -> usize {
        self.ends.capacity() * 8 + self.members.capacity() * 4
    }

    /// Lists the buckets of each document.
    pub fn finish(self) -> Buckets {
        let BucketsBuilder { documents, ends, members } = self;
        let mut of_ends = vec![0u64; documents + 1];
        members.iter().for_each(|&doc| of_ends[doc as usize + 1] += 1);
        (1..of_ends.len()).for_each(|i| of_ends[i] += of_ends[i - 1]);
        let (mut of, mut bucket) = (vec![0; members.len()], 0);
        for (at, &doc) in members.iter().enumerate() {
            while ends[bucket] <= at as u64 {
                bucket += 1;
            }
            // What was the end of the document before is where the next bucket of this one goes.
            let place = &mut of_ends[doc as usize];
            of[*place as usize] = bucket as u32;
            *place += 1;
        }
        Buckets { ends, members, of_ends, of }
    }
}

impl Buckets {
    /// The buckets that a document is in.
    pub fn of(&self, doc: DocNumber) -> impl Iterator<Item = u32> {
        let at = doc.0 as usize;
        let start = if at == 0 { 0 } else { self.of_ends[at - 1] };
        self.of[start as usize..self.of_ends[at] as usize].iter().copied()
    }

    /// Whether a document shares any band.
    pub fn any(&self, doc: DocNumber) -> bool {
        self.of(doc).next().is_some()
    }

    /// The documents of a bucket, ascending.
    pub fn members(&self, bucket: u32) -> &[u32] {
        let at = bucket as usize;
        let start = if at == 0 { 0 } else { self.ends[at - 1] };
        &self.members[start as usize..self.ends[at] as usize]
    }

    /// How many buckets hold more than one document.
    pub fn len(&self) -> usize {
        self.ends.len()
    }

    /// Whether no two documents share a band.
    pub fn is_empty(&self) -> bool {
        self.ends.is_empty()
    }

    /// Bytes on the heap.
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
    fn buckets_hold_exactly_the_documents_with_equal_tags() {
        let mut random = SplitMix64(5);
        for (documents, bands, tags) in [(0, 3, 5), (1, 1, 1), (50, 4, 20), (300, 8, 100), (300, 3, 2)] {
            let columns: Vec<Vec<u32>> =
                (0..bands).map(|_| (0..documents).map(|_| random.below(tags) as u32).collect()).collect();
            let mut builder = BucketsBuilder::new(documents);
            for column in &columns {
                // In two parts, as when memory is short.
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
    fn tags_are_fixed_and_differ_by_band() {
        let bands = Bands { count: 2, rows: 3 };
        let tags: Vec<u32> = bands.tags(&[1, 2, 3, 1, 2, 3, 9]).collect();
        assert_eq!(tags.len(), 2);
        assert_ne!(tags[0], tags[1]);
        assert_eq!(tags, [TAG_0, TAG_1]);
    }

    // Pinned: stored tags must be found again by every later version.
    const TAG_0: u32 = 1_807_709_225;
    const TAG_1: u32 = 520_401_160;
}
