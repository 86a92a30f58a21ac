//! Where do the codes of a bucket lie?
//!
//! Eight buckets share a page, an allocation of about a kilobyte, with a header of one cache line. Buckets of a page lie
//! one behind the other, each with a small gap at its end, and their values behind all of them. Who needs room when its
//! gap is used up takes it from the nearest neighbor that has some: a bucket moves by one place when its first code
//! becomes its last, because the order within a bucket means nothing. Only when the whole page is full is it made anew.
//! So a code costs little more than its 8 bytes, a change writes a line or two, and nothing larger than a page is ever
//! copied.

use crate::simd;
use std::ops::Range;

/// Buckets of a page: as many as have their places in one cache line with the pointer.
const PAGE: usize = 8;
/// Lines that are fetched ahead for each bucket; the CPU follows a longer run by itself.
const PREFETCHED_LINES: usize = 8;
/// Largest gap of a bucket.
const MAX_GAP: usize = u16::MAX as usize;

/// Codes by bucket, with a value beside each if there are values.
pub(super) trait Buckets {
    /// The codes of a bucket.
    fn codes(&self, bucket: u32) -> &[u64];

    /// The value of a place of a bucket, if this table has values.
    fn value(&self, bucket: u32, at: usize) -> Option<u32>;

    /// Fetches what says where a bucket lies.
    fn prefetch_header(&self, bucket: u32);

    /// Fetches the value of a place of a bucket.
    fn prefetch_value(&self, bucket: u32, at: usize);

    /// Fetches the codes of a bucket.
    #[inline]
    fn prefetch_codes(&self, bucket: u32) {
        let codes = self.codes(bucket);
        for line in 0..codes.len().div_ceil(8).min(PREFETCHED_LINES) {
            simd::prefetch(codes, line * 8);
        }
        // Buckets do not begin with a line, so the last code may be on one more.
        simd::prefetch(codes, codes.len().saturating_sub(1));
    }
}

/// The buckets of a table that changes.
#[derive(Clone, Debug)]
pub(super) struct Pages {
    pages: Vec<Page>,
    with_values: bool,
    buckets: usize,
    /// What moves when a bucket is divided: kept, because that is often.
    moving: Vec<(u64, u32)>,
}

/// Slot `s` has its codes from the end of the slot before on, up to `gaps[s]` before `ends[s]`. Behind the last slot are
/// the values, if there are any, two in a word: the value of place `i` is in half `i % 2` of word `i / 2`.
#[derive(Clone, Debug)]
#[repr(align(64))]
struct Page {
    words: Box<[u64]>,
    ends: [u32; PAGE],
    gaps: [u16; PAGE],
}

impl Buckets for Pages {
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
    /// Buckets of exactly these sizes for [`put`](Self::put) to fill.
    pub(super) fn with_sizes(sizes: &[u32], with_values: bool) -> Pages {
        let mut pages = Vec::with_capacity(sizes.len().div_ceil(PAGE));
        pages.extend(sizes.chunks(PAGE).map(|sizes| Page::with_sizes(sizes, with_values)));
        Pages { pages, with_values, buckets: sizes.len(), moving: Vec::new() }
    }

    /// Writes to place `at` of a bucket.
    pub(super) fn put(&mut self, bucket: u32, at: usize, code: u64, value: Option<u32>) {
        let page = &mut self.pages[bucket as usize / PAGE];
        let at = page.range(bucket as usize % PAGE).start + at;
        page.words[at] = code;
        if let Some(value) = value.filter(|_| self.with_values) {
            page.set_value(at, value);
        }
    }

    /// Adds a bucket that will have about `expected` codes.
    pub(super) fn add_bucket(&mut self, expected: usize) {
        if self.buckets.is_multiple_of(PAGE) {
            self.pages.push(Page::with_gaps(expected + 2, self.with_values));
        }
        self.buckets += 1;
    }

    /// Fetches where the next code of a bucket, and its value, will be written.
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

    /// Adds a code, and tells how many the bucket has now.
    #[inline]
    pub(super) fn push(&mut self, bucket: u32, code: u64, value: u32) -> usize {
        let page = &mut self.pages[bucket as usize / PAGE];
        page.push(bucket as usize % PAGE, code, value, self.with_values);
        page.range(bucket as usize % PAGE).len()
    }

    /// Removes a code; the last of its bucket takes its place.
    pub(super) fn swap_remove(&mut self, bucket: u32, at: usize) {
        let page = &mut self.pages[bucket as usize / PAGE];
        page.swap_remove(bucket as usize % PAGE, at, self.with_values);
    }

    /// Moves codes from one bucket to another.
    pub(super) fn divide(&mut self, from: u32, to: u32, moves: impl Fn(u64) -> bool) {
        let mut moving = std::mem::take(&mut self.moving);
        self.take(from, moves, &mut moving);
        let page = &mut self.pages[to as usize / PAGE];
        for (code, value) in moving.drain(..) {
            page.push(to as usize % PAGE, code, value, self.with_values);
        }
        self.moving = moving;
    }

    /// Moves codes of a bucket, with their values, to the end of `taken`.
    pub(super) fn take(&mut self, bucket: u32, moves: impl Fn(u64) -> bool, taken: &mut Vec<(u64, u32)>) {
        let page = &mut self.pages[bucket as usize / PAGE];
        page.take(bucket as usize % PAGE, moves, self.with_values, taken);
    }

    /// Codes, values and headers, with the 16 bytes that an allocator keeps for each run.
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

    /// Empty slots with gaps of this size.
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

    /// The word that has the value of a place.
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
        self.widen(slot, 1, range.len() + 16, with_values);
    }

    /// Gives the last codes of a slot to its gap, and gives memory back where the gap is more than `most`.
    #[inline]
    fn widen(&mut self, slot: usize, count: usize, most: usize, with_values: bool) {
        let gap = usize::from(self.gaps[slot]) + count;
        if gap <= most.min(MAX_GAP) {
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
        // Buckets are divided in turn: the last of a page gives back what all of them no longer need.
        let most = if slot == PAGE - 1 { 0 } else { MAX_GAP };
        self.widen(slot, taken.len() - before, most, with_values);
    }

    #[inline]
    fn copy(&mut self, from: usize, to: usize, with_values: bool) {
        self.words[to] = self.words[from];
        if with_values {
            self.set_value(to, self.value(from));
        }
    }

    /// Gives a slot a gap: from the nearest slot that has one, or in a page made anew.
    #[cold]
    fn make_gap(&mut self, slot: usize, with_values: bool) {
        let wide = |other: &usize| self.gaps[*other] > 0;
        let (above, below) = ((slot + 1..PAGE).find(wide), (0..slot).rev().find(wide));
        match (above, below) {
            (Some(above), Some(below)) if slot - below < above - slot => {
                self.shift_down(slot, below, with_values);
            }
            (Some(above), _) => self.shift_up(slot, above, with_values),
            (None, Some(below)) => self.shift_down(slot, below, with_values),
            (None, None) => self.rebuild(self.sizes(), with_values),
        }
    }

    /// Moves the slots behind `slot` up to `donor` by one place towards the donor's gap.
    fn shift_up(&mut self, slot: usize, donor: usize, with_values: bool) {
        for moving in (slot + 1..=donor).rev() {
            // Those between have no gap: their end is where the one behind them just made room.
            let range = self.range(moving);
            self.copy(range.start, range.end, with_values);
            self.ends[moving - 1] += 1;
            self.gaps[moving] -= 1;
            self.gaps[moving - 1] += 1;
        }
    }

    /// Moves the slots behind `donor` up to `slot` by one place towards the donor's gap.
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

    /// Lays the first `sizes` codes of each slot out anew, with gaps of a quarter.
    fn rebuild(&mut self, sizes: [usize; PAGE], with_values: bool) {
        let gaps = sizes.map(|size| (size / 4 + 1).min(MAX_GAP));
        let total = sizes.iter().chain(&gaps).sum();
        let mut words = Vec::with_capacity(words(total, with_values));
        for slot in 0..PAGE {
            words.extend_from_slice(&self.words[self.start(slot)..][..sizes[slot]]);
            words.resize(words.len() + gaps[slot], 0);
        }
        words.resize(words.capacity(), 0);
        let (mut end, old) = (0, std::mem::replace(self, Page { words: words.into(), ..*self }));
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
            let (from, to) = (old.start(slot), self.start(slot));
            (0..size).for_each(|i| self.set_value(to + i, old.value(from + i)));
        }
    }
}

/// Words for so many codes, and values where there are some.
fn words(codes: usize, with_values: bool) -> usize {
    if with_values { codes + codes.div_ceil(2) } else { codes }
}
