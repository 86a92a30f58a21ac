//! Which codes have this key?
//!
//! Linear hashing (Litwin, 1980): a bucket is named by the lowest bits of the key, and whenever buckets get fuller than
//! wanted, the next one in turn is split by one bit more. So a table grows with its codes and no insert ever waits for
//! a rehash: the most that one insert moves is a bucket or two.

use super::layers::Layers;
use super::plan::{self, Key, Spec};
use crate::simd;
use std::collections::HashMap;

/// A bucket beyond this many codes, and beyond [`CROWD_FACTOR`] times the average, gets an index of its own.
const CROWD: usize = 512;
const CROWD_FACTOR: usize = 4;
/// Indexes within indexes: more would cost memory without end.
const MAX_DEPTH: u32 = 4;
/// Bucket headers that are allocated together.
const SEGMENT: usize = 4096;

/// Runs of items, one a bucket, with headers in segments so that adding a bucket moves none of the others.
#[derive(Clone, Debug)]
pub(super) struct Runs<T> {
    segments: Vec<Vec<Vec<T>>>,
}

impl<T: Copy> Runs<T> {
    fn new() -> Runs<T> {
        Runs { segments: Vec::new() }
    }

    #[inline]
    pub(super) fn get(&self, bucket: u32) -> &Vec<T> {
        &self.segments[bucket as usize / SEGMENT][bucket as usize % SEGMENT]
    }

    #[inline]
    fn get_mut(&mut self, bucket: u32) -> &mut Vec<T> {
        &mut self.segments[bucket as usize / SEGMENT][bucket as usize % SEGMENT]
    }

    #[inline]
    fn prefetch_header(&self, bucket: u32) {
        simd::prefetch(&self.segments[bucket as usize / SEGMENT], bucket as usize % SEGMENT);
    }

    fn add(&mut self, run: Vec<T>) {
        match self.segments.last_mut() {
            Some(segment) if segment.len() < SEGMENT => segment.push(run),
            _ => self.segments.push(vec![run]),
        }
    }

    fn iter(&self) -> impl Iterator<Item = &Vec<T>> {
        self.segments.iter().flatten()
    }

    /// Items and headers, with the 16 bytes that an allocator keeps for each run.
    fn memory_bytes(&self) -> usize {
        let headers: usize =
            self.segments.iter().map(|segment| segment.capacity() * size_of::<Vec<T>>()).sum();
        let held = self.iter().filter(|run| run.capacity() > 0);
        headers + held.map(|run| run.capacity() * size_of::<T>() + 16).sum::<usize>()
    }
}

/// Appends with little slack: an eighth, where `Vec` would double.
fn push<T>(run: &mut Vec<T>, item: T) {
    if run.len() == run.capacity() {
        run.reserve_exact((run.len() / 8).max(3));
    }
    run.push(item);
}

fn swap_remove<T>(run: &mut Vec<T>, at: usize) {
    run.swap_remove(at);
    if run.capacity() > 2 * run.len() + 16 {
        run.shrink_to(run.len() + 4);
    }
}

/// Where a code is.
enum Place {
    Bucket(u32, usize),
    Nested(usize),
}

/// Distinct codes by key, with a value beside each code if asked for.
#[derive(Clone, Debug)]
pub(super) struct Table {
    pub(super) spec: Spec,
    codes: Runs<u64>,
    values: Option<Runs<u32>>,
    len: usize,
    load: usize,
    radius: u32,
    depth: u32,
    /// Buckets are named by `bits` bits of the key, those before `split` by one more.
    bits: u32,
    split: u32,
    /// What to flip in a key of `bits` bits to get all keys within the flips of the spec, fewest flips first.
    ball: Vec<u32>,
    /// How many of those leave a flip for the next bit.
    inner: usize,
    /// Crowded buckets. When one is split both halves share the index, because dividing it would take long.
    nested_at: HashMap<u32, usize>,
    nested: Vec<Layers>,
}

impl Table {
    /// A table with room for `n` codes.
    pub(super) fn new(
        spec: Spec,
        load: usize,
        with_values: bool,
        radius: u32,
        depth: u32,
        n: usize,
    ) -> Table {
        let values = with_values.then(Runs::new);
        let mut table = Table {
            spec,
            codes: Runs::new(),
            values,
            len: 0,
            load,
            radius,
            depth,
            bits: 0,
            split: 0,
            ball: Vec::new(),
            inner: 0,
            nested_at: HashMap::new(),
            nested: Vec::new(),
        };
        let wanted = n.div_ceil(load).max(1);
        table.bits = wanted.ilog2().min(table.max_bits());
        if table.bits < table.max_bits() {
            table.split = (wanted - (1 << table.bits)) as u32;
        }
        for _ in 0..table.buckets() {
            table.codes.add(Vec::new());
            table.values.iter_mut().for_each(|values| values.add(Vec::new()));
        }
        table.list_ball();
        table
    }

    /// A table of these codes, by counting first, so that every bucket is allocated once.
    pub(super) fn build(mut self, codes: &[u64], values: &[u32]) -> Table {
        let mut counts = vec![0u32; self.buckets()];
        codes.iter().for_each(|&code| counts[self.bucket(code) as usize] += 1);
        for (bucket, &count) in counts.iter().enumerate().filter(|(_, count)| **count > 0) {
            self.codes.get_mut(bucket as u32).reserve_exact(count as usize);
            if let Some(values) = &mut self.values {
                values.get_mut(bucket as u32).reserve_exact(count as usize);
            }
        }
        for (i, &code) in codes.iter().enumerate() {
            let bucket = self.bucket(code);
            self.codes.get_mut(bucket).push(code);
            if let Some(runs) = &mut self.values {
                runs.get_mut(bucket).push(values[i]);
            }
        }
        self.len = codes.len();
        for bucket in 0..self.buckets() as u32 {
            self.nest_if_crowded(bucket);
        }
        self
    }

    pub(super) fn buckets(&self) -> usize {
        (1 << self.bits) + self.split as usize
    }

    /// The bucket that a code belongs to.
    #[inline]
    pub(super) fn bucket(&self, code: u64) -> u32 {
        let key = self.key(code);
        let low = key & ((1 << self.bits) - 1);
        if low < self.split { key & ((2 << self.bits) - 1) } else { low }
    }

    #[inline]
    fn key(&self, code: u64) -> u32 {
        match self.spec.key {
            Key::Field { shift } => ((code & self.spec.mask) >> shift) as u32,
            Key::Gathered => gather(code, self.spec.mask),
            Key::Hashed => {
                let bits = code & self.spec.mask;
                ((bits ^ bits >> 32).wrapping_mul(0x9E37_79B9_7F4A_7C15) >> 32) as u32
            }
        }
    }

    /// Names can not be longer than the key. Beyond 2^28 buckets there is nothing to gain.
    fn max_bits(&self) -> u32 {
        self.spec.mask.count_ones().min(28)
    }

    /// Calls `each` with every bucket that can hold codes near `code`, each once.
    pub(super) fn probe(&self, code: u64, mut each: impl FnMut(u32)) {
        if self.spec.flips == 0 {
            return each(self.bucket(code));
        }
        let mut seen = Vec::new();
        let mut each = |bucket: u32| {
            // Buckets that share a nested index must not have it searched twice.
            match self.nested_at.get(&bucket) {
                Some(&nested) if seen.contains(&nested) => {}
                Some(&nested) => {
                    seen.push(nested);
                    each(bucket);
                }
                None => each(bucket),
            }
        };
        let key = self.key(code);
        let low = key & ((1 << self.bits) - 1);
        let high = key & (1 << self.bits);
        for (i, flipped) in self.ball.iter().enumerate() {
            let near = low ^ flipped;
            if near >= self.split {
                each(near);
                continue;
            }
            each(near | high);
            if i < self.inner {
                each(near | (high ^ 1 << self.bits));
            }
        }
    }

    /// The codes of a bucket; none if it is crowded and has an index of its own.
    #[inline]
    pub(super) fn codes(&self, bucket: u32) -> &[u64] {
        self.codes.get(bucket)
    }

    /// The value at a place of a bucket, if this table has values.
    pub(super) fn value(&self, bucket: u32, at: usize) -> Option<u32> {
        self.values.as_ref().map(|values| values.get(bucket)[at])
    }

    /// The index of a crowded bucket.
    #[inline]
    pub(super) fn nested(&self, bucket: u32) -> Option<&Layers> {
        if self.nested.is_empty() {
            return None;
        }
        self.nested_at.get(&bucket).map(|&i| &self.nested[i])
    }

    /// All indexes of crowded buckets.
    pub(super) fn all_nested(&self) -> &[Layers] {
        &self.nested
    }

    #[inline]
    pub(super) fn prefetch_header(&self, bucket: u32) {
        self.codes.prefetch_header(bucket);
    }

    /// Fetches the header of the values of a bucket.
    pub(super) fn prefetch_values_header(&self, bucket: u32) {
        self.values.iter().for_each(|values| values.prefetch_header(bucket));
    }

    /// Fetches the value of a code.
    pub(super) fn prefetch_value(&self, code: u64) {
        if let (Some(Place::Bucket(bucket, at)), Some(values)) = (self.place(code), &self.values) {
            simd::prefetch(values.get(bucket), at);
        }
    }

    /// Fetches the first lines of a bucket; the CPU follows a longer run by itself.
    #[inline]
    pub(super) fn prefetch_codes(&self, bucket: u32) {
        let codes = self.codes.get(bucket);
        for line in 0..codes.len().div_ceil(8).min(PREFETCHED_LINES) {
            simd::prefetch(codes, line * 8);
        }
        // Runs do not begin with a line, so the last code may be on one more.
        simd::prefetch(codes, codes.len().saturating_sub(1));
    }

    /// The positions of codes in the order of their buckets, so that a bulk change walks through memory once.
    pub(super) fn order(&self, codes: &[u64]) -> Vec<u32> {
        let mut ends = vec![0u32; self.buckets() + 1];
        codes.iter().for_each(|&code| ends[self.bucket(code) as usize + 1] += 1);
        (1..ends.len()).for_each(|i| ends[i] += ends[i - 1]);
        let mut order = vec![0; codes.len()];
        for (i, &code) in codes.iter().enumerate() {
            let next = &mut ends[self.bucket(code) as usize];
            order[*next as usize] = i as u32;
            *next += 1;
        }
        order
    }

    /// The value of a code, if it is here.
    pub(super) fn get(&self, code: u64) -> Option<u32> {
        match self.place(code)? {
            Place::Bucket(bucket, at) => self.value(bucket, at).or(Some(0)),
            Place::Nested(i) => self.nested[i].get(code),
        }
    }

    /// Replaces the value of a code that is here.
    pub(super) fn set(&mut self, code: u64, value: u32) {
        match (self.place(code), &mut self.values) {
            (Some(Place::Bucket(bucket, at)), Some(values)) => values.get_mut(bucket)[at] = value,
            (Some(Place::Nested(i)), _) => self.nested[i].set(code, value),
            _ => {}
        }
    }

    /// Adds a code that is not here yet.
    pub(super) fn insert(&mut self, code: u64, value: u32) {
        self.len += 1;
        let bucket = self.bucket(code);
        if let Some(&i) = self.nested_index(bucket) {
            self.nested[i].insert(code, value);
        } else {
            push(self.codes.get_mut(bucket), code);
            if let Some(values) = &mut self.values {
                push(values.get_mut(bucket), value);
            }
            self.nest_if_crowded(bucket);
        }
        if self.len > self.load * self.buckets() && self.bits < self.max_bits() {
            self.split_next();
        }
    }

    /// Removes a code that is here.
    pub(super) fn remove(&mut self, code: u64) {
        match self.place(code) {
            Some(Place::Bucket(bucket, at)) => {
                swap_remove(self.codes.get_mut(bucket), at);
                if let Some(values) = &mut self.values {
                    swap_remove(values.get_mut(bucket), at);
                }
            }
            Some(Place::Nested(i)) => self.nested[i].remove(code),
            None => return,
        }
        self.len -= 1;
    }

    pub(super) fn memory_bytes(&self) -> usize {
        let values = self.values.as_ref().map_or(0, Runs::memory_bytes);
        let nested: usize = self.nested.iter().map(Layers::memory_bytes).sum();
        self.codes.memory_bytes()
            + values
            + nested
            + self.nested_at.capacity() * 24
            + self.ball.capacity() * 4
    }

    fn nested_index(&self, bucket: u32) -> Option<&usize> {
        if self.nested.is_empty() { None } else { self.nested_at.get(&bucket) }
    }

    fn place(&self, code: u64) -> Option<Place> {
        let bucket = self.bucket(code);
        if let Some(&i) = self.nested_index(bucket) {
            return Some(Place::Nested(i));
        }
        position(self.codes.get(bucket), code).map(|at| Place::Bucket(bucket, at))
    }

    /// Divides the next bucket in turn by one bit more.
    fn split_next(&mut self) {
        let (old, new) = (self.split, self.split + (1 << self.bits));
        self.codes.add(Vec::new());
        self.values.iter_mut().for_each(|values| values.add(Vec::new()));
        self.split += 1;
        if let Some(&i) = self.nested_index(old) {
            self.nested_at.insert(new, i);
        } else {
            self.divide(old, new);
        }
        if self.split == 1 << self.bits {
            (self.bits, self.split) = (self.bits + 1, 0);
            self.list_ball();
        }
    }

    fn divide(&mut self, old: u32, new: u32) {
        let codes = std::mem::take(self.codes.get_mut(old));
        let moves: Vec<bool> = codes.iter().map(|&code| self.bucket(code) == new).collect();
        let (kept, moved) = divided(&codes, &moves);
        (*self.codes.get_mut(old), *self.codes.get_mut(new)) = (kept, moved);
        if let Some(values) = &mut self.values {
            let (kept, moved) = divided(values.get(old), &moves);
            (*values.get_mut(old), *values.get_mut(new)) = (kept, moved);
        }
    }

    /// Gives a bucket with far too many codes an index over the bits in which they differ.
    fn nest_if_crowded(&mut self, bucket: u32) {
        let len = self.codes.get(bucket).len();
        if len <= CROWD || self.depth == MAX_DEPTH || len <= CROWD_FACTOR * self.load {
            return;
        }
        // Where the scan is the plan, crowded buckets are what is wanted; checked last because it divides.
        if len <= CROWD_FACTOR * self.len / self.buckets() {
            return;
        }
        let codes = self.codes.get(bucket);
        let varying = codes.iter().fold(0, |bits, code| bits | (code ^ codes[0])) & !self.hidden();
        let Some(plan) = plan::choose_nested(self.radius, varying, len) else { return };
        let codes = std::mem::take(self.codes.get_mut(bucket));
        let values = self.values.as_mut().map(|values| std::mem::take(values.get_mut(bucket)));
        let with_values = values.is_some();
        let values = values.unwrap_or_default();
        let nested = Layers::build(plan, self.radius, with_values, self.depth + 1, &codes, &values);
        self.nested_at.insert(bucket, self.nested.len());
        self.nested.push(nested);
    }

    /// The bits that codes of a bucket share when tables are large, and that a nested index has no use for.
    fn hidden(&self) -> u64 {
        if self.spec.flips == 0 { self.spec.mask } else { 0 }
    }

    fn list_ball(&mut self) {
        self.ball.clear();
        let flips = self.spec.flips;
        // A table that is scanned as a whole has no use for a list, which would be long.
        if flips == 0 || matches!(self.spec.key, Key::Hashed) {
            return;
        }
        self.ball.push(0);
        let mut from = 0;
        for flip in 1..=flips {
            self.inner = self.ball.len();
            let upto = self.ball.len();
            for at in from..upto {
                let word = self.ball[at];
                let above = if flip == 1 { 0 } else { 32 - word.leading_zeros() };
                (above..self.bits).for_each(|bit| self.ball.push(word | 1 << bit));
            }
            from = upto;
        }
    }
}

/// The bits under the mask, moved together.
fn gather(code: u64, mask: u64) -> u32 {
    let (mut rest, mut key, mut at) = (mask, 0, 0);
    while rest != 0 && at < 32 {
        key |= (code >> rest.trailing_zeros() & 1) << at;
        rest &= rest - 1;
        at += 1;
    }
    key as u32
}

/// Lines that are fetched ahead for each bucket.
const PREFETCHED_LINES: usize = 8;

/// Where a code is, eight at a time: the compiler makes vector code of the inner loop.
fn position(codes: &[u64], code: u64) -> Option<usize> {
    let (eights, rest) = codes.as_chunks::<8>();
    let found = eights.iter().position(|eight| eight.iter().fold(false, |any, &c| any | (c == code)));
    match found {
        Some(i) => eights[i].iter().position(|&c| c == code).map(|at| 8 * i + at),
        None => rest.iter().position(|&c| c == code).map(|at| 8 * eights.len() + at),
    }
}

/// What stays and what moves, each with a little room.
fn divided<T: Copy>(items: &[T], moves: &[bool]) -> (Vec<T>, Vec<T>) {
    let moving = moves.iter().filter(|&&moves| moves).count();
    let mut kept = Vec::with_capacity(items.len() - moving + 2);
    let mut moved = Vec::with_capacity(moving + 2);
    for (&item, &moves) in items.iter().zip(moves) {
        if moves { moved.push(item) } else { kept.push(item) }
    }
    (kept, moved)
}
