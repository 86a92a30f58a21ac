//! Which codes have this key?
//!
//! Linear hashing (Litwin, 1980): a bucket is named by the lowest bits of the key, and whenever buckets get fuller than
//! wanted, the next one in turn is split by one bit more. So a table grows with its codes and no insert ever waits for
//! a rehash: the most that one insert moves is a bucket or two.

use super::layers::{Layers, Lead};
use super::pages::{Buckets, Pages};
use super::part::gather;
use super::plan::{self, Key, Spec};
use crate::simd::{self, Level};
use std::collections::HashMap;

/// A bucket beyond this many codes, and beyond [`CROWD_FACTOR`] times the average, gets an index of its own.
const CROWD: usize = 512;
const CROWD_FACTOR: usize = 4;
/// An index of at most so many codes is divided when its bucket is split.
const DIVIDED: usize = 16_384;
/// Indexes within indexes: more would cost memory without end.
pub(super) const MAX_DEPTH: u32 = 4;

/// Where a code is.
enum Place {
    Bucket(u32, usize),
    Nested(usize),
}

/// How a table names its buckets.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Shape {
    pub(super) spec: Spec,
    /// Codes a bucket has on average before the next is split.
    pub(super) load: usize,
    /// Buckets are named by `bits` bits of the key, those before `split` by one more.
    pub(super) bits: u32,
    pub(super) split: u32,
}

/// Distinct codes by key, with a value beside each code if asked for.
#[derive(Clone, Debug)]
pub(super) struct Table<S> {
    pub(super) shape: Shape,
    pub(super) store: S,
    pub(super) len: usize,
    pub(super) with_values: bool,
    radius: u32,
    depth: u32,
    /// What to flip in a key of `bits` bits to get all keys within the flips of the spec, fewest flips first.
    ball: Vec<u32>,
    /// Crowded buckets. When one is split both halves share the index, where dividing it would take long.
    nested_at: HashMap<u32, usize>,
    nested: Vec<Nested<S>>,
}

/// The index of a crowded bucket.
#[derive(Clone, Debug)]
pub(super) struct Nested<S> {
    pub(super) layers: Layers<S>,
    /// One of its codes, and the bits in which all agree with it.
    pub(super) code: u64,
    pub(super) shared: u64,
}

impl Shape {
    /// Buckets for `n` codes.
    pub(super) fn new(spec: Spec, load: usize, n: usize) -> Shape {
        let mut shape = Shape { spec, load, bits: 0, split: 0 };
        let wanted = n.div_ceil(load).max(1);
        shape.bits = wanted.ilog2().min(shape.max_bits());
        if shape.bits < shape.max_bits() {
            shape.split = (wanted - (1 << shape.bits)) as u32;
        }
        shape
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
            Key::Gathered => gather(code, self.spec.mask) as u32,
            Key::Hashed => {
                let bits = code & self.spec.mask;
                ((bits ^ bits >> 32).wrapping_mul(0x9E37_79B9_7F4A_7C15) >> 32) as u32
            }
        }
    }

    /// Names can not be longer than the key. Beyond 2^28 buckets there is nothing to gain.
    pub(super) fn max_bits(&self) -> u32 {
        self.spec.mask.count_ones().min(28)
    }

    /// The bits that codes of a bucket share when tables are large, and that a nested index has no use for.
    fn hidden(&self) -> u64 {
        if self.spec.flips == 0 { self.spec.mask } else { 0 }
    }
}

impl<S: Buckets> Nested<S> {
    /// What is known outside of a value within.
    pub(super) fn lead(&self, lead: Lead) -> Lead {
        match lead {
            Lead::Place { table, bucket, at } => self.layers.tables()[table as usize].lead(bucket, at),
            known => known,
        }
    }
}

impl<S: Buckets> Table<S> {
    /// A table over buckets that are there.
    pub(super) fn over(
        shape: Shape,
        store: S,
        len: usize,
        with_values: bool,
        radius: u32,
        depth: u32,
    ) -> Table<S> {
        let (ball, nested_at) = (Vec::new(), HashMap::new());
        let mut table =
            Table { shape, store, len, with_values, radius, depth, ball, nested_at, nested: Vec::new() };
        table.list_ball();
        table
    }

    /// Makes `nested` the index of the buckets that have its number.
    pub(super) fn nest(&mut self, buckets: impl Iterator<Item = (u32, usize)>, nested: Vec<Nested<S>>) {
        self.nested_at = buckets.collect();
        self.nested = nested;
    }

    pub(super) fn spec(&self) -> &Spec {
        &self.shape.spec
    }

    #[inline]
    pub(super) fn bucket(&self, code: u64) -> u32 {
        self.shape.bucket(code)
    }

    pub(super) fn buckets(&self) -> usize {
        self.shape.buckets()
    }

    /// Calls `each` with every bucket that can hold codes whose keys differ from that of `code` in at most so many bits,
    /// which are not more than those of the spec; with each bucket once.
    pub(super) fn probe(&self, code: u64, flips: u32, mut each: impl FnMut(u32)) {
        if flips == 0 {
            return each(self.bucket(code));
        }
        let mut seen = Vec::new();
        let mut each = |bucket: u32| {
            // Buckets that share a nested index must not have it searched twice.
            match self.nested_index(bucket) {
                Some(&nested) if seen.contains(&nested) => {}
                Some(&nested) => {
                    seen.push(nested);
                    each(bucket);
                }
                None => each(bucket),
            }
        };
        let Shape { bits, split, .. } = self.shape;
        let key = self.shape.key(code);
        let low = key & ((1 << bits) - 1);
        let high = key & (1 << bits);
        for flipped in self.ball.iter().take_while(|flipped| flipped.count_ones() <= flips) {
            let near = low ^ flipped;
            if near >= split {
                each(near);
                continue;
            }
            each(near | high);
            if flipped.count_ones() < flips {
                each(near | (high ^ 1 << bits));
            }
        }
    }

    /// The codes of a bucket; none if it is crowded and has an index of its own.
    #[inline]
    pub(super) fn codes(&self, bucket: u32) -> &[u64] {
        self.store.codes(bucket)
    }

    /// The value at a place of a bucket, if this table has values.
    #[inline]
    pub(super) fn value(&self, bucket: u32, at: usize) -> Option<u32> {
        self.store.value(bucket, at)
    }

    /// The index of a crowded bucket.
    #[inline]
    pub(super) fn nested(&self, bucket: u32) -> Option<&Nested<S>> {
        self.nested_index(bucket).map(|&i| &self.nested[i])
    }

    /// All indexes of crowded buckets.
    pub(super) fn all_nested(&self) -> &[Nested<S>] {
        &self.nested
    }

    /// Crowded buckets, with the numbers of their indexes, in rising order.
    pub(super) fn crowded(&self) -> Vec<(u32, usize)> {
        let mut crowded: Vec<(u32, usize)> = self.nested_at.iter().map(|(&b, &i)| (b, i)).collect();
        crowded.sort_unstable();
        crowded
    }

    /// The value at a place of a bucket, as who finds codes by scanning tells it.
    #[inline]
    pub(super) fn lead(&self, bucket: u32, at: u32) -> Lead {
        self.value(bucket, at as usize).map_or(Lead::Code, Lead::Value)
    }

    /// The bucket and the place of a code that is in no crowded bucket.
    pub(super) fn locate(&self, code: u64) -> Option<(u32, usize)> {
        match self.place(code)? {
            Place::Bucket(bucket, at) => Some((bucket, at)),
            Place::Nested(_) => None,
        }
    }

    /// Fetches the header of the bucket of a code.
    #[inline]
    pub(super) fn prefetch_header(&self, code: u64) {
        self.store.prefetch_header(self.bucket(code));
    }

    /// Fetches the codes of the bucket of a code.
    #[inline]
    pub(super) fn prefetch_codes(&self, code: u64) {
        self.store.prefetch_codes(self.bucket(code));
    }

    /// The value of a code, if it is here.
    pub(super) fn get(&self, code: u64) -> Option<u32> {
        match self.place(code)? {
            Place::Bucket(bucket, at) => self.value(bucket, at).or(Some(0)),
            Place::Nested(i) => self.nested[i].layers.get(code),
        }
    }

    /// Calls `each` with every code and its value, if it has one.
    pub(super) fn each(&self, each: &mut dyn FnMut(u64, Option<u32>)) {
        for bucket in 0..self.buckets() as u32 {
            for (at, &code) in self.codes(bucket).iter().enumerate() {
                each(code, self.value(bucket, at));
            }
        }
        self.nested.iter().for_each(|nested| nested.layers.each(each));
    }

    /// The number of the index of a crowded bucket.
    pub(super) fn nested_number(&self, bucket: u32) -> Option<usize> {
        self.nested_index(bucket).copied()
    }

    #[inline]
    fn nested_index(&self, bucket: u32) -> Option<&usize> {
        if self.nested.is_empty() { None } else { self.nested_at.get(&bucket) }
    }

    fn place(&self, code: u64) -> Option<Place> {
        let bucket = self.bucket(code);
        if let Some(&i) = self.nested_index(bucket) {
            return Some(Place::Nested(i));
        }
        let at = simd::position(Level::current(), self.codes(bucket), code)?;
        Some(Place::Bucket(bucket, at))
    }

    fn list_ball(&mut self) {
        self.ball.clear();
        let flips = self.spec().flips;
        // A table that is scanned as a whole has no use for a list, which would be long.
        if flips == 0 || matches!(self.spec().key, Key::Hashed) {
            return;
        }
        self.ball.push(0);
        let mut from = 0;
        for flip in 1..=flips {
            let upto = self.ball.len();
            for at in from..upto {
                let word = self.ball[at];
                let above = if flip == 1 { 0 } else { 32 - word.leading_zeros() };
                (above..self.shape.bits).for_each(|bit| self.ball.push(word | 1 << bit));
            }
            from = upto;
        }
    }
}

impl Table<Pages> {
    /// A table of these codes, by counting first, so that every page is allocated once.
    pub(super) fn build(
        shape: Shape,
        with_values: bool,
        radius: u32,
        depth: u32,
        codes: &[u64],
        values: &[u32],
    ) -> Table<Pages> {
        let mut counts = vec![0u32; shape.buckets()];
        codes.iter().for_each(|&code| counts[shape.bucket(code) as usize] += 1);
        let mut store = Pages::with_sizes(&counts, with_values);
        for (i, &code) in codes.iter().enumerate() {
            let bucket = shape.bucket(code);
            let left = &mut counts[bucket as usize];
            *left -= 1;
            store.put(bucket, *left as usize, code, values.get(i).copied());
        }
        let mut table = Table::over(shape, store, codes.len(), with_values, radius, depth);
        for bucket in 0..table.buckets() as u32 {
            table.nest_if_crowded(bucket);
        }
        table
    }

    /// Fetches what an insert of the code writes to.
    pub(super) fn prefetch_end(&self, code: u64) {
        self.store.prefetch_end(self.bucket(code));
    }

    /// Replaces the value of a code that is here.
    pub(super) fn set(&mut self, code: u64, value: u32) {
        match self.place(code) {
            Some(Place::Bucket(bucket, at)) => self.store.set_value(bucket, at, value),
            Some(Place::Nested(i)) => self.nested[i].layers.set(code, value),
            None => {}
        }
    }

    /// Adds a code that is not here yet.
    pub(super) fn insert(&mut self, code: u64, value: u32) {
        self.len += 1;
        let bucket = self.bucket(code);
        if let Some(&i) = self.nested_index(bucket) {
            let nested = &mut self.nested[i];
            nested.shared &= !(nested.code ^ code);
            nested.layers.insert(code, value);
        } else {
            let len = self.store.push(bucket, code, value);
            // A look at all codes of a bucket pays if it is taken seldom.
            if len > CROWD && (len == CROWD + 1 || len.is_power_of_two()) {
                self.nest_if_crowded(bucket);
            }
        }
        if self.len > self.shape.load * self.buckets() && self.shape.bits < self.shape.max_bits() {
            self.split_next();
        }
    }

    /// Removes a code that is here.
    pub(super) fn remove(&mut self, code: u64) {
        match self.place(code) {
            Some(Place::Bucket(bucket, at)) => self.store.swap_remove(bucket, at),
            Some(Place::Nested(i)) => self.nested[i].layers.remove(code),
            None => return,
        }
        self.len -= 1;
    }

    pub(super) fn memory_bytes(&self) -> usize {
        let nested: usize = self.nested.iter().map(|nested| nested.layers.memory_bytes()).sum();
        self.store.memory_bytes() + nested + self.nested_at.capacity() * 24 + self.ball.capacity() * 4
    }

    /// Divides the next bucket in turn by one bit more.
    fn split_next(&mut self) {
        let (old, new) = (self.shape.split, self.shape.split + (1 << self.shape.bits));
        self.store.add_bucket(self.shape.load);
        self.shape.split += 1;
        match self.nested_index(old) {
            Some(&i) if self.nested[i].layers.len() > DIVIDED || self.is_shared(i) => {
                self.nested_at.insert(new, i);
            }
            nested => {
                let dissolved = nested.copied();
                dissolved.into_iter().for_each(|i| self.dissolve(old, i));
                let shape = self.shape;
                self.store.divide(old, new, |code| shape.bucket(code) == new);
                if dissolved.is_some() {
                    self.nest_if_crowded(old);
                    self.nest_if_crowded(new);
                }
            }
        }
        if self.shape.split == 1 << self.shape.bits {
            (self.shape.bits, self.shape.split) = (self.shape.bits + 1, 0);
            self.list_ball();
        }
    }

    /// Whether several buckets have this index.
    fn is_shared(&self, i: usize) -> bool {
        self.nested_at.values().filter(|&&other| other == i).nth(1).is_some()
    }

    /// Puts the codes of an index back into its bucket.
    fn dissolve(&mut self, bucket: u32, i: usize) {
        let nested = self.nested.swap_remove(i);
        self.nested_at.remove(&bucket);
        let last = self.nested.len();
        self.nested_at.values_mut().filter(|other| **other == last).for_each(|other| *other = i);
        nested.layers.each(&mut |code, value| _ = self.store.push(bucket, code, value.unwrap_or(0)));
    }

    /// Gives a bucket with far too many codes an index over the bits in which they differ.
    fn nest_if_crowded(&mut self, bucket: u32) {
        let len = self.codes(bucket).len();
        if len <= CROWD || self.depth == MAX_DEPTH || len <= CROWD_FACTOR * self.shape.load {
            return;
        }
        // Where the scan is the plan, crowded buckets are what is wanted; checked last because it divides.
        if len <= CROWD_FACTOR * self.len / self.buckets() {
            return;
        }
        let codes = self.codes(bucket);
        let (code, hidden) = (codes[0], self.shape.hidden());
        let varying = codes.iter().fold(0, |bits, other| bits | (code ^ other));
        let Some(plan) = plan::choose_nested(self.radius, varying & !hidden, len) else { return };
        let mut taken = Vec::with_capacity(len);
        self.store.take(bucket, |_| true, &mut taken);
        let (codes, values): (Vec<u64>, Vec<u32>) = taken.into_iter().unzip();
        let depth = self.depth + 1;
        let layers = Layers::build(plan, self.radius, self.with_values, depth, &codes, &values);
        self.nested_at.insert(bucket, self.nested.len());
        self.nested.push(Nested { layers, code, shared: !varying });
    }
}
