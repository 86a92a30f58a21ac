//! Memory layout of buckets.
//!
//! Eight buckets share a page: one allocation of about 1 KiB and a header of one cache line. The codes of the buckets are
//! stored one bucket after the other, with a gap of unused positions at the end of each bucket. The values, if any, follow
//! after the last bucket.
//!
//! A bucket whose gap is used up takes a position from the nearest bucket that has a gap. The buckets in between move by
//! one position. Because the order within a bucket is irrelevant, that requires copying only one code per bucket, from one
//! end to the other. The page is reallocated only when it is completely full. As a result, a code takes little more than
//! its 8 bytes, an insert or removal writes one or two cache lines, and nothing larger than a page is ever copied.

use crate::simd;
use std::ops::Range;

/// Buckets per page: the largest number whose ends and gaps fit in one cache line together with the pointer to the codes.
const PAGE: usize = 8;
/// Maximum number of cache lines to prefetch per bucket. The hardware prefetcher handles longer sequences.
const PREFETCHED_LINES: usize = 8;
/// Maximum gap of a bucket, in positions.
const MAX_GAP: usize = u16::MAX as usize;

/// Storage of codes by bucket, optionally with a value for each code.
pub(super) trait BucketStore {
    /// Returns the codes of a bucket.
    fn codes(&self, bucket: u32) -> &[u64];

    /// Returns the value at a position of a bucket, if there are values.
    fn value(&self, bucket: u32, at: usize) -> Option<u32>;

    /// Prefetches the header that locates a bucket.
    fn prefetch_header(&self, bucket: u32);

    /// Prefetches the value at a position of a bucket.
    fn prefetch_value(&self, bucket: u32, at: usize);

    /// Prefetches the codes of a bucket.
    #[inline]
    fn prefetch_codes(&self, bucket: u32) {
        let codes = self.codes(bucket);
        for line in 0..codes.len().div_ceil(8).min(PREFETCHED_LINES) {
            simd::prefetch(codes, line * 8);
        }
        // Buckets are not aligned to cache lines, so the last code may be on an additional line.
        simd::prefetch(codes, codes.len().saturating_sub(1));
    }
}

/// The buckets of a table in memory.
#[derive(Clone, Debug)]
pub(super) struct Pages {
    pages: Vec<Page>,
    with_values: bool,
    buckets: usize,
    /// Buffer for the codes that move when a bucket is split.
    moving: Vec<(u64, u32)>,
}

/// Eight buckets. Within a page, a bucket is called a slot.
///
/// Slot `s` has the positions from `ends[s - 1]` (0 for the first slot) to `ends[s]`, of which the last `gaps[s]` are
/// unused. The values, if any, are stored after the last slot, two per word: the value of position `i` is in half `i % 2`
/// of word `ends[PAGE - 1] + i / 2`.
#[derive(Clone, Debug)]
#[repr(align(64))]
struct Page {
    words: Box<[u64]>,
    ends: [u32; PAGE],
    gaps: [u16; PAGE],
}

impl BucketStore for Pages {
    #[inline]
    fn codes(&self, bucket: u32) -> &[u64] {
        let page = &self.pages[bucket as usize / PAGE];
        &page.words[page.range(bucket as usize % PAGE)]
    }

    #[inline]
    fn value(&self, bucket: u32, at: usize) -> Option<u32> {
        let page = &self.pages[bucket as usize / PAGE];
        self.with_values.then(|| page.value(page.range(bucket as usize % PAGE).start + at))
    }

    #[inline]
    fn prefetch_header(&self, bucket: u32) {
        simd::prefetch(&self.pages, bucket as usize / PAGE);
    }

    #[inline]
    fn prefetch_value(&self, bucket: u32, at: usize) {
        let page = &self.pages[bucket as usize / PAGE];
        let start = page.range(bucket as usize % PAGE).start;
        simd::prefetch(&page.words, page.value_word(start + at));
    }
}

impl Pages {
    /// Creates buckets of exactly these sizes, without gaps, to be filled by [`put`](Self::put).
    pub(super) fn with_sizes(sizes: &[u32], with_values: bool) -> Pages {
        let mut pages = Vec::with_capacity(sizes.len().div_ceil(PAGE));
        pages.extend(sizes.chunks(PAGE).map(|sizes| Page::with_sizes(sizes, with_values)));
        Pages { pages, with_values, buckets: sizes.len(), moving: Vec::new() }
    }

    /// Writes a code and its value to position `at` of a bucket.
    pub(super) fn put(&mut self, bucket: u32, at: usize, code: u64, value: Option<u32>) {
        let page = &mut self.pages[bucket as usize / PAGE];
        let at = page.range(bucket as usize % PAGE).start + at;
        page.words[at] = code;
        if let Some(value) = value.filter(|_| self.with_values) {
            page.set_value(at, value);
        }
    }

    /// Adds an empty bucket with space for about `expected` codes.
    pub(super) fn add_bucket(&mut self, expected: usize) {
        if self.buckets.is_multiple_of(PAGE) {
            self.pages.push(Page::with_gaps(expected + 2, self.with_values));
        }
        self.buckets += 1;
    }

    /// Prefetches the position where the next code of a bucket and its value will be written.
    #[inline]
    pub(super) fn prefetch_end(&self, bucket: u32) {
        let page = &self.pages[bucket as usize / PAGE];
        let end = page.range(bucket as usize % PAGE).end;
        simd::prefetch(&page.words, end);
        if self.with_values {
            simd::prefetch(&page.words, page.value_word(end));
        }
    }

    pub(super) fn set_value(&mut self, bucket: u32, at: usize, value: u32) {
        let page = &mut self.pages[bucket as usize / PAGE];
        if self.with_values {
            page.set_value(page.range(bucket as usize % PAGE).start + at, value);
        }
    }

    /// Adds a code to a bucket. Returns the new number of codes in the bucket.
    #[inline]
    pub(super) fn push(&mut self, bucket: u32, code: u64, value: u32) -> usize {
        let page = &mut self.pages[bucket as usize / PAGE];
        page.push(bucket as usize % PAGE, code, value, self.with_values);
        page.range(bucket as usize % PAGE).len()
    }

    /// Removes a code from a bucket and moves the last code of the bucket to its position.
    pub(super) fn swap_remove(&mut self, bucket: u32, at: usize) {
        let page = &mut self.pages[bucket as usize / PAGE];
        page.swap_remove(bucket as usize % PAGE, at, self.with_values);
    }

    /// Moves the codes for which `moves` is true from one bucket to another.
    pub(super) fn divide(&mut self, from: u32, to: u32, moves: impl Fn(u64) -> bool) {
        let mut moving = std::mem::take(&mut self.moving);
        self.take(from, moves, &mut moving);
        let page = &mut self.pages[to as usize / PAGE];
        for (code, value) in moving.drain(..) {
            page.push(to as usize % PAGE, code, value, self.with_values);
        }
        self.moving = moving;
    }

    /// Moves the codes for which `moves` is true, with their values, from a bucket to the end of `taken`.
    pub(super) fn take(&mut self, bucket: u32, moves: impl Fn(u64) -> bool, taken: &mut Vec<(u64, u32)>) {
        let page = &mut self.pages[bucket as usize / PAGE];
        page.take(bucket as usize % PAGE, moves, self.with_values, taken);
    }

    /// Returns the heap size in bytes, including an allocator overhead of 16 bytes per page.
    pub(super) fn memory_bytes(&self) -> usize {
        let words: usize = self.pages.iter().map(|page| page.words.len() * 8 + 16).sum();
        self.pages.capacity() * size_of::<Page>() + words + self.moving.capacity() * 16
    }
}

impl Page {
    fn with_sizes(sizes: &[u32], with_values: bool) -> Page {
        let mut ends = [0; PAGE];
        let mut total = 0;
        for (i, end) in ends.iter_mut().enumerate() {
            total += sizes.get(i).unwrap_or(&0);
            *end = total;
        }
        Page { words: vec![0; words(total as usize, with_values)].into(), ends, gaps: [0; PAGE] }
    }

    /// Creates empty slots with gaps of this size.
    fn with_gaps(gap: usize, with_values: bool) -> Page {
        let gap = gap.min(MAX_GAP);
        let ends = std::array::from_fn(|slot| (gap * (slot + 1)) as u32);
        Page { words: vec![0; words(gap * PAGE, with_values)].into(), ends, gaps: [gap as u16; PAGE] }
    }

    #[inline]
    fn start(&self, slot: usize) -> usize {
        let before = self.ends[(slot + PAGE - 1) % PAGE] as usize;
        if slot == 0 { 0 } else { before }
    }

    #[inline]
    fn range(&self, slot: usize) -> Range<usize> {
        self.start(slot)..self.ends[slot] as usize - usize::from(self.gaps[slot])
    }

    /// Returns the index of the word that contains the value of a position.
    #[inline]
    fn value_word(&self, at: usize) -> usize {
        self.ends[PAGE - 1] as usize + at / 2
    }

    #[inline]
    fn value(&self, at: usize) -> u32 {
        (self.words[self.value_word(at)] >> (at % 2 * 32)) as u32
    }

    #[inline]
    fn set_value(&mut self, at: usize, value: u32) {
        let word = &mut self.words[self.value_word(at)];
        let shift = at % 2 * 32;
        *word = *word & !(0xFFFF_FFFF << shift) | u64::from(value) << shift;
    }

    #[inline]
    fn push(&mut self, slot: usize, code: u64, value: u32, with_values: bool) {
        if self.gaps[slot] == 0 {
            self.make_gap(slot, with_values);
        }
        let at = self.range(slot).end;
        self.gaps[slot] -= 1;
        self.words[at] = code;
        if with_values {
            self.set_value(at, value);
        }
    }

    #[inline]
    fn swap_remove(&mut self, slot: usize, at: usize, with_values: bool) {
        let range = self.range(slot);
        self.copy(range.end - 1, range.start + at, with_values);
        self.grow_gap(slot, 1, range.len() + 16, with_values);
    }

    /// Turns the last `count` codes of a slot into gap. Reallocates the page with smaller gaps if the gap exceeds `max`.
    #[inline]
    fn grow_gap(&mut self, slot: usize, count: usize, max: usize, with_values: bool) {
        let gap = usize::from(self.gaps[slot]) + count;
        if gap <= max.min(MAX_GAP) {
            self.gaps[slot] = gap as u16;
            return;
        }
        let mut sizes = self.sizes();
        sizes[slot] -= count;
        self.rebuild(sizes, with_values);
    }

    fn take(
        &mut self,
        slot: usize,
        moves: impl Fn(u64) -> bool,
        with_values: bool,
        taken: &mut Vec<(u64, u32)>,
    ) {
        let before = taken.len();
        let Range { start: mut at, mut end } = self.range(slot);
        while at < end {
            let code = self.words[at];
            if moves(code) {
                taken.push((code, if with_values { self.value(at) } else { 0 }));
                end -= 1;
                self.copy(end, at, with_values);
            } else {
                at += 1;
            }
        }
        // Buckets are split in order, so all buckets of the page have been split once its last bucket is. That is the time to
        // release the memory that they no longer need.
        let max = if slot == PAGE - 1 { 0 } else { MAX_GAP };
        self.grow_gap(slot, taken.len() - before, max, with_values);
    }

    #[inline]
    fn copy(&mut self, from: usize, to: usize, with_values: bool) {
        self.words[to] = self.words[from];
        if with_values {
            self.set_value(to, self.value(from));
        }
    }

    /// Gives a slot a gap: takes a position from the nearest slot with a gap, or reallocates the page.
    #[cold]
    fn make_gap(&mut self, slot: usize, with_values: bool) {
        let has_gap = |other: &usize| self.gaps[*other] > 0;
        let above = (slot + 1..PAGE).find(has_gap);
        let below = (0..slot).rev().find(has_gap);
        match (above, below) {
            (Some(above), Some(below)) if slot - below < above - slot => {
                self.shift_down(slot, below, with_values);
            }
            (Some(above), _) => self.shift_up(slot, above, with_values),
            (None, Some(below)) => self.shift_down(slot, below, with_values),
            (None, None) => self.rebuild(self.sizes(), with_values),
        }
    }

    /// Moves the slots after `slot`, up to and including `donor`, up by one position into the donor's gap.
    fn shift_up(&mut self, slot: usize, donor: usize, with_values: bool) {
        for moving in (slot + 1..=donor).rev() {
            // A slot without a gap moves its first code to its end, which the slot after it has just vacated.
            let range = self.range(moving);
            self.copy(range.start, range.end, with_values);
            self.ends[moving - 1] += 1;
            self.gaps[moving] -= 1;
            self.gaps[moving - 1] += 1;
        }
    }

    /// Moves the slots after `donor`, up to and including `slot`, down by one position into the donor's gap.
    fn shift_down(&mut self, slot: usize, donor: usize, with_values: bool) {
        for moving in donor + 1..=slot {
            let range = self.range(moving);
            if !range.is_empty() {
                self.copy(range.end - 1, range.start - 1, with_values);
            }
            self.ends[moving - 1] -= 1;
            self.gaps[moving - 1] -= 1;
            self.gaps[moving] += 1;
        }
    }

    fn sizes(&self) -> [usize; PAGE] {
        std::array::from_fn(|slot| self.range(slot).len())
    }

    /// Reallocates the page with the first `sizes[s]` codes of each slot `s` and gaps of a quarter of the size.
    fn rebuild(&mut self, sizes: [usize; PAGE], with_values: bool) {
        let gaps = sizes.map(|size| (size / 4 + 1).min(MAX_GAP));
        let total = sizes.iter().chain(&gaps).sum();
        let mut words = Vec::with_capacity(words(total, with_values));
        for slot in 0..PAGE {
            words.extend_from_slice(&self.words[self.start(slot)..][..sizes[slot]]);
            words.resize(words.len() + gaps[slot], 0);
        }
        words.resize(words.capacity(), 0);
        let old = std::mem::replace(self, Page { words: words.into(), ..*self });
        let mut end = 0;
        for slot in 0..PAGE {
            end += sizes[slot] + gaps[slot];
            self.ends[slot] = end as u32;
            self.gaps[slot] = gaps[slot] as u16;
        }
        if with_values {
            self.copy_values(&old, &sizes);
        }
    }

    fn copy_values(&mut self, old: &Page, sizes: &[usize; PAGE]) {
        for (slot, &size) in sizes.iter().enumerate() {
            let from = old.start(slot);
            let to = self.start(slot);
            (0..size).for_each(|i| self.set_value(to + i, old.value(from + i)));
        }
    }
}

/// Returns the number of words for a number of codes and, if there are any, their values.
fn words(codes: usize, with_values: bool) -> usize {
    if with_values { codes + codes.div_ceil(2) } else { codes }
}
