//! Where do the codes of a bucket lie?
//!
//! Eight buckets share a page, an allocation of about a kilobyte, with a header of one cache line. Buckets of a page lie
//! one behind the other, each with a small gap at its end. Who needs room when its gap is used up takes it from the
//! nearest neighbor that has some: a bucket moves by one place when its first code becomes its last, because the order
//! within a bucket means nothing. Only when the whole page is full is it made anew. So a code costs little more than
//! its 8 bytes, a change writes a line or two, and nothing larger than a page is ever copied.

use crate::simd;
use std::ops::Range;

/// Buckets of a page: as many as have their places in one cache line with the pointer.
const PAGE: usize = 8;
/// Lines that are fetched ahead for each bucket; the CPU follows a longer run by itself.
const PREFETCHED_LINES: usize = 8;
/// Largest gap of a bucket.
const MAX_GAP: usize = u8::MAX as usize;

/// Codes by bucket, with a value beside each if there are values.
pub(super) trait Buckets {
    /// The codes of a bucket.
    fn codes(&self, bucket: u32) -> &[u64];

    /// The values of a bucket, if this table has values.
    fn values(&self, bucket: u32) -> Option<&[u32]>;

    /// Fetches what says where a bucket lies.
    fn prefetch_header(&self, bucket: u32);

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
    /// Values of each page, at the places of its codes.
    values: Option<Vec<Vec<u32>>>,
    buckets: usize,
}

/// Slot `s` has its codes from `starts[s]` on, up to `gaps[s]` before the start of the next.
#[derive(Clone, Debug)]
#[repr(align(64))]
struct Page {
    codes: Vec<u64>,
    starts: [u32; PAGE],
    gaps: [u8; PAGE],
}

impl Buckets for Pages {
    #[inline]
    fn codes(&self, bucket: u32) -> &[u64] {
        let page = &self.pages[bucket as usize / PAGE];
        &page.codes[page.range(bucket as usize % PAGE)]
    }

    #[inline]
    fn values(&self, bucket: u32) -> Option<&[u32]> {
        let values = &self.values.as_ref()?[bucket as usize / PAGE];
        Some(&values[self.pages[bucket as usize / PAGE].range(bucket as usize % PAGE)])
    }

    #[inline]
    fn prefetch_header(&self, bucket: u32) {
        simd::prefetch(&self.pages, bucket as usize / PAGE);
    }
}

impl Pages {
    pub(super) fn new(with_values: bool) -> Pages {
        Pages { pages: Vec::new(), values: with_values.then(Vec::new), buckets: 0 }
    }

    /// Buckets of exactly these sizes for [`put`](Self::put) to fill.
    pub(super) fn with_sizes(sizes: &[u32], with_values: bool) -> Pages {
        let mut pages = Pages::new(with_values);
        pages.pages.reserve_exact(sizes.len().div_ceil(PAGE));
        for sizes in sizes.chunks(PAGE) {
            let page = Page::with_sizes(sizes);
            pages.values.iter_mut().for_each(|values| values.push(vec![0; page.codes.len()]));
            pages.pages.push(page);
        }
        pages.buckets = sizes.len();
        pages
    }

    /// Writes to place `at` of a bucket.
    pub(super) fn put(&mut self, bucket: u32, at: usize, code: u64, value: Option<u32>) {
        let page = &mut self.pages[bucket as usize / PAGE];
        let at = page.starts[bucket as usize % PAGE] as usize + at;
        page.codes[at] = code;
        if let (Some(values), Some(value)) = (&mut self.values, value) {
            values[bucket as usize / PAGE][at] = value;
        }
    }

    /// Adds a bucket that will have about `expected` codes.
    pub(super) fn add_bucket(&mut self, expected: usize) {
        if self.buckets.is_multiple_of(PAGE) {
            let room = (expected + 2) * PAGE;
            self.pages.push(Page::with_room(room));
            self.values.iter_mut().for_each(|values| values.push(Vec::with_capacity(room)));
        }
        self.buckets += 1;
    }

    /// Fetches where the next code of a bucket will be written.
    #[inline]
    pub(super) fn prefetch_end(&self, bucket: u32) {
        let page = &self.pages[bucket as usize / PAGE];
        simd::prefetch(&page.codes, page.range(bucket as usize % PAGE).end);
    }

    /// The same for its value.
    #[inline]
    pub(super) fn prefetch_value_end(&self, bucket: u32) {
        if let Some(values) = &self.values {
            let end = self.pages[bucket as usize / PAGE].range(bucket as usize % PAGE).end;
            simd::prefetch(&values[bucket as usize / PAGE], end);
        }
    }

    pub(super) fn set_value(&mut self, bucket: u32, at: usize, value: u32) {
        let start = self.pages[bucket as usize / PAGE].starts[bucket as usize % PAGE] as usize;
        if let Some(values) = &mut self.values {
            values[bucket as usize / PAGE][start + at] = value;
        }
    }

    #[inline]
    pub(super) fn push(&mut self, bucket: u32, code: u64, value: u32) {
        let (page, values) = self.page_mut(bucket);
        page.push(bucket as usize % PAGE, code, value, values);
    }

    /// Removes a code; the last of its bucket takes its place.
    pub(super) fn swap_remove(&mut self, bucket: u32, at: usize) {
        let (page, values) = self.page_mut(bucket);
        page.swap_remove(bucket as usize % PAGE, at, values);
    }

    /// Moves codes from one bucket to another.
    pub(super) fn divide(&mut self, from: u32, to: u32, moves: impl Fn(u64) -> bool) {
        let taken = self.take(from, moves);
        let (page, values) = self.page_mut(to);
        page.append(to as usize % PAGE, &taken, values);
    }

    /// Removes codes from a bucket, with their values.
    pub(super) fn take(&mut self, bucket: u32, moves: impl Fn(u64) -> bool) -> Taken {
        let (page, values) = self.page_mut(bucket);
        page.take(bucket as usize % PAGE, moves, values)
    }

    /// Codes, values and headers, with the 16 bytes that an allocator keeps for each run.
    pub(super) fn memory_bytes(&self) -> usize {
        let codes: usize = self.pages.iter().map(|page| page.codes.capacity() * 8 + 16).sum();
        let values = self.values.iter().flatten().map(|run| run.capacity() * 4 + 16).sum::<usize>();
        let heads = self.values.as_ref().map_or(0, |values| values.capacity() * size_of::<Vec<u32>>());
        self.pages.capacity() * size_of::<Page>() + codes + values + heads
    }

    #[inline]
    fn page_mut(&mut self, bucket: u32) -> (&mut Page, Option<&mut Vec<u32>>) {
        let at = bucket as usize / PAGE;
        (&mut self.pages[at], self.values.as_mut().map(|values| &mut values[at]))
    }
}

/// Codes that were taken out, with their values if they had any.
#[derive(Debug)]
pub(super) struct Taken {
    pub(super) codes: Vec<u64>,
    pub(super) values: Vec<u32>,
}

impl Taken {
    fn with_capacity(count: usize, with_values: bool) -> Taken {
        let values = if with_values { count } else { 0 };
        Taken { codes: Vec::with_capacity(count), values: Vec::with_capacity(values) }
    }
}

impl Page {
    fn with_room(room: usize) -> Page {
        Page { codes: Vec::with_capacity(room), starts: [0; PAGE], gaps: [0; PAGE] }
    }

    fn with_sizes(sizes: &[u32]) -> Page {
        let mut starts = [0; PAGE];
        let mut total = 0;
        for (i, start) in starts.iter_mut().enumerate() {
            *start = total;
            total += sizes.get(i).unwrap_or(&0);
        }
        Page { codes: vec![0; total as usize], starts, gaps: [0; PAGE] }
    }

    /// Where the next slot begins.
    #[inline]
    fn next(&self, slot: usize) -> usize {
        self.starts.get(slot + 1).map_or(self.codes.len(), |&start| start as usize)
    }

    #[inline]
    fn range(&self, slot: usize) -> Range<usize> {
        self.starts[slot] as usize..self.next(slot) - usize::from(self.gaps[slot])
    }

    #[inline]
    fn push(&mut self, slot: usize, code: u64, value: u32, mut values: Option<&mut Vec<u32>>) {
        if self.gaps[slot] == 0 {
            self.make_gap(slot, values.as_deref_mut());
        }
        let at = self.range(slot).end;
        self.gaps[slot] -= 1;
        self.codes[at] = code;
        if let Some(values) = values {
            values[at] = value;
        }
    }

    fn swap_remove(&mut self, slot: usize, at: usize, mut values: Option<&mut Vec<u32>>) {
        let range = self.range(slot);
        self.copy(range.end - 1, range.start + at, values.as_deref_mut());
        let most = range.len() + 16;
        self.widen(slot, 1, most, values);
    }

    /// Gives the last codes of a slot to its gap, and gives memory back where the gap is more than `most`.
    fn widen(&mut self, slot: usize, count: usize, most: usize, values: Option<&mut Vec<u32>>) {
        let left = self.range(slot).len() - count;
        let gap = usize::from(self.gaps[slot]) + count;
        if gap <= most.min(MAX_GAP) {
            self.gaps[slot] = gap as u8;
            return;
        }
        let mut sizes: [usize; PAGE] = std::array::from_fn(|slot| self.range(slot).len());
        sizes[slot] = left;
        self.rebuild(sizes, values);
    }

    /// Adds codes to a slot.
    fn append(&mut self, slot: usize, taken: &Taken, mut values: Option<&mut Vec<u32>>) {
        // A new bucket is the last of its page, with room behind it.
        if self.next(slot) == self.codes.len() && self.gaps[slot] == 0 {
            self.codes.extend_from_slice(&taken.codes);
            values.iter_mut().for_each(|values| values.extend_from_slice(&taken.values));
            self.starts[slot + 1..].fill(self.codes.len() as u32);
            return;
        }
        for (i, &code) in taken.codes.iter().enumerate() {
            self.push(slot, code, taken.values.get(i).copied().unwrap_or(0), values.as_deref_mut());
        }
    }

    fn take(&mut self, slot: usize, moves: impl Fn(u64) -> bool, mut values: Option<&mut Vec<u32>>) -> Taken {
        let Range { start, mut end } = self.range(slot);
        let mut taken = Taken::with_capacity(end - start, values.is_some());
        let mut at = start;
        while at < end {
            if moves(self.codes[at]) {
                taken.codes.push(self.codes[at]);
                taken.values.extend(values.as_ref().map(|values| values[at]));
                end -= 1;
                self.copy(end, at, values.as_deref_mut());
            } else {
                at += 1;
            }
        }
        // Buckets are divided in turn: the last of a page gives back what all of them no longer need.
        let most = if slot == PAGE - 1 { 0 } else { MAX_GAP };
        self.widen(slot, taken.codes.len(), most, values);
        taken
    }

    fn copy(&mut self, from: usize, to: usize, values: Option<&mut Vec<u32>>) {
        self.codes[to] = self.codes[from];
        if let Some(values) = values {
            values[to] = values[from];
        }
    }

    /// Gives a slot a gap: from the nearest slot that has one, from the room behind the last, or in a page made anew.
    fn make_gap(&mut self, slot: usize, mut values: Option<&mut Vec<u32>>) {
        let donor = (0..PAGE).filter(|&other| self.gaps[other] > 0).min_by_key(|other| other.abs_diff(slot));
        match donor {
            Some(donor) if donor > slot => self.shift_up(slot, donor, values),
            Some(donor) => self.shift_down(slot, donor, values),
            None if self.codes.len() < self.codes.capacity() => {
                self.codes.push(0);
                values.iter_mut().for_each(|values| values.push(0));
                self.gaps[PAGE - 1] = 1;
                self.shift_up(slot, PAGE - 1, values);
            }
            None => self.rebuild(std::array::from_fn(|slot| self.range(slot).len()), values),
        }
    }

    /// Moves the slots behind `slot` up to `donor` by one place towards the donor's gap.
    fn shift_up(&mut self, slot: usize, donor: usize, mut values: Option<&mut Vec<u32>>) {
        self.gaps[donor] -= 1;
        for moving in (slot + 1..=donor).rev() {
            let range = self.starts[moving] as usize..self.next(moving) - usize::from(self.gaps[moving]) - 1;
            self.copy(range.start, range.end, values.as_deref_mut());
            self.starts[moving] += 1;
        }
        self.gaps[slot] += 1;
    }

    /// Moves the slots behind `donor` up to `slot` by one place towards the donor's gap.
    fn shift_down(&mut self, slot: usize, donor: usize, mut values: Option<&mut Vec<u32>>) {
        self.gaps[donor] -= 1;
        for moving in donor + 1..=slot {
            let range = self.range(moving);
            if !range.is_empty() {
                self.copy(range.end - 1, range.start - 1, values.as_deref_mut());
            }
            self.starts[moving] -= 1;
            self.gaps[moving] += 1;
            self.gaps[moving - 1] -= u8::from(moving > donor + 1);
        }
    }

    /// Lays the first `sizes` codes of each slot out anew, with gaps of a fifth. Where that is more than a gap can be,
    /// the room is behind the last slot.
    fn rebuild(&mut self, sizes: [usize; PAGE], values: Option<&mut Vec<u32>>) {
        let gaps = sizes.map(|size| (size / 5 + 1).min(MAX_GAP));
        let total: usize = sizes.iter().chain(&gaps).sum();
        let behind = if sizes.iter().any(|size| size / 5 >= MAX_GAP) { total / 8 } else { 0 };
        if let Some(values) = values {
            *values = self.laid_out(values, &sizes, &gaps, total + behind);
        }
        self.codes = self.laid_out(&self.codes, &sizes, &gaps, total + behind);
        let mut start = 0;
        for slot in 0..PAGE {
            self.starts[slot] = start as u32;
            self.gaps[slot] = gaps[slot] as u8;
            start += sizes[slot] + gaps[slot];
        }
    }

    fn laid_out<T: Copy + Default>(
        &self,
        items: &[T],
        sizes: &[usize],
        gaps: &[usize],
        room: usize,
    ) -> Vec<T> {
        let mut laid = Vec::with_capacity(room);
        for slot in 0..PAGE {
            laid.extend_from_slice(&items[self.starts[slot] as usize..][..sizes[slot]]);
            laid.resize(laid.len() + gaps[slot], T::default());
        }
        laid
    }
}
