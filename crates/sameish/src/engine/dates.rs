//! The documents of one text by date.
//!
//! A search with a range of dates needs the oldest documents of the range in order of insertion. If thousands of documents
//! have the same text, those of the range can be anywhere among them. Entries are therefore sorted by date in chunks, and
//! each chunk stores its smallest insertion number: chunks within the range are visited in order of that number, and only as
//! many as the caller needs.

use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::ops::RangeInclusive;

/// Number of entries at which a chunk is split.
const CHUNK: usize = 256;

/// Documents sorted by date.
#[derive(Clone, Debug, Default)]
pub(super) struct ByDate {
    /// In order of their entries. No chunk is empty.
    chunks: Vec<Chunk>,
}

/// A document with its date in milliseconds since 1970.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Dated {
    pub(super) date: i64,
    pub(super) number: u64,
    pub(super) doc: u32,
}

#[derive(Clone, Debug)]
struct Chunk {
    /// Sorted.
    entries: Vec<Dated>,
    least_number: u64,
}

impl Chunk {
    fn new(entries: Vec<Dated>) -> Chunk {
        let least_number = entries.iter().map(|entry| entry.number).min().unwrap_or(u64::MAX);
        Chunk { entries, least_number }
    }
}

impl ByDate {
    pub(super) fn insert(&mut self, entry: Dated) {
        if self.chunks.is_empty() {
            self.chunks.push(Chunk::new(vec![entry]));
            return;
        }
        let at = self.chunk_of(&entry).min(self.chunks.len() - 1);
        let chunk = &mut self.chunks[at];
        let place = chunk.entries.partition_point(|other| *other < entry);
        chunk.entries.insert(place, entry);
        chunk.least_number = chunk.least_number.min(entry.number);
        if chunk.entries.len() >= CHUNK {
            let upper = chunk.entries.split_off(CHUNK / 2);
            *chunk = Chunk::new(std::mem::take(&mut chunk.entries));
            self.chunks.insert(at + 1, Chunk::new(upper));
        }
    }

    pub(super) fn remove(&mut self, entry: &Dated) {
        let at = self.chunk_of(entry);
        let Some(chunk) = self.chunks.get_mut(at) else { return };
        let Ok(place) = chunk.entries.binary_search(entry) else { return };
        chunk.entries.remove(place);
        if chunk.entries.is_empty() {
            self.chunks.remove(at);
        } else if chunk.least_number == entry.number {
            *chunk = Chunk::new(std::mem::take(&mut chunk.entries));
        }
    }

    pub(super) fn is_empty(&self) -> bool {
        self.chunks.is_empty()
    }

    /// Returns the first chunk whose last entry is not before `entry`.
    fn chunk_of(&self, entry: &Dated) -> usize {
        self.chunks.partition_point(|chunk| chunk.entries.last().is_some_and(|last| last < entry))
    }

    /// Iterates over the documents of a range of dates by insertion number.
    pub(super) fn within(&self, dates: RangeInclusive<i64>) -> Within<'_> {
        let is_before = |chunk: &Chunk| chunk.entries.last().is_some_and(|last| last.date < *dates.start());
        let is_after = |chunk: &Chunk| chunk.entries.first().is_some_and(|first| first.date > *dates.end());
        let first = self.chunks.partition_point(is_before);
        let end = self.chunks.partition_point(|chunk| !is_after(chunk));
        let mut chunks: Vec<&Chunk> = self.chunks.get(first..end).unwrap_or_default().iter().collect();
        chunks.sort_unstable_by_key(|chunk| Reverse(chunk.least_number));
        Within { dates, chunks, entries: BinaryHeap::new() }
    }
}

/// Iterator over the documents of a range of dates.
pub(super) struct Within<'a> {
    dates: RangeInclusive<i64>,
    /// Chunks that were not visited, the one with the least number last.
    chunks: Vec<&'a Chunk>,
    entries: BinaryHeap<Reverse<(u64, u32)>>,
}

impl Iterator for Within<'_> {
    type Item = u32;

    fn next(&mut self) -> Option<u32> {
        while let Some(chunk) = self.chunks.last() {
            if self.entries.peek().is_some_and(|Reverse((number, _))| *number < chunk.least_number) {
                break;
            }
            let inside = chunk.entries.iter().filter(|entry| self.dates.contains(&entry.date));
            self.entries.extend(inside.map(|entry| Reverse((entry.number, entry.doc))));
            self.chunks.pop();
        }
        self.entries.pop().map(|Reverse((_, doc))| doc)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::random::SplitMix64;

    #[test]
    fn lists_the_documents_of_a_range_by_number_like_a_linear_scan() {
        let mut random = SplitMix64(5);
        let mut entries: Vec<Dated> = Vec::new();
        let mut by_date = ByDate::default();
        for number in 0..3_000u64 {
            let date = (random.next() % 500) as i64 - 250;
            let entry = Dated { date, number, doc: number as u32 };
            by_date.insert(entry);
            entries.push(entry);
            if random.next().is_multiple_of(3) {
                let at = (random.next() % entries.len() as u64) as usize;
                by_date.remove(&entries.remove(at));
            }
        }
        for (from, to) in [(-300, 300), (0, 0), (-250, -249), (10, 90), (90, 10), (251, 900)] {
            let expected = entries.iter().filter(|entry| (from..=to).contains(&entry.date));
            let expected: Vec<u32> = expected.map(|entry| entry.doc).collect();
            assert_eq!(by_date.within(from..=to).collect::<Vec<_>>(), expected, "{from} to {to}");
        }
        entries.iter().for_each(|entry| by_date.remove(entry));
        assert!(by_date.chunks.is_empty());
    }

    #[test]
    fn visits_few_chunks_for_the_first_documents_of_a_range() {
        let mut by_date = ByDate::default();
        (0..15_000).for_each(|i| by_date.insert(Dated { date: i, number: i as u64, doc: i as u32 }));
        let mut within = by_date.within(10_000..=14_000);
        let all = within.chunks.len();
        assert_eq!(within.by_ref().take(10).collect::<Vec<_>>(), (10_000..10_010).collect::<Vec<_>>());
        assert!(all - within.chunks.len() <= 2, "{} of {all} chunks", all - within.chunks.len());
    }
}
