//! One table of a Hamming index: codes by key.
//!
//! The table uses linear hashing (Litwin, *Linear hashing: a new tool for file and table addressing*, 1980). A bucket is
//! addressed by the lowest bits of the key. Whenever the average number of codes per bucket exceeds the load limit, the next
//! bucket in order is split by one more bit. The table therefore grows gradually: an insert moves the codes of one or two
//! buckets at most, and never rehashes the whole table.
//!
//! An adversary can choose codes with equal keys, which splitting cannot separate. A bucket that grows much larger than the
//! average is therefore replaced by a nested index over the bits in which its codes differ.

use super::pages::{BucketStore, Pages};
use super::part::gather;
use super::plan::{self, Key, TableSpec};
use super::table_set::{TableSet, ValueRef};
use crate::simd::{self, Level};
use std::collections::HashMap;

/// A bucket with more codes than this, and more than [`OVERSIZED_FACTOR`] times the average, gets a nested index.
const OVERSIZED: usize = 512;
const OVERSIZED_FACTOR: usize = 4;
/// Maximum number of codes of a nested index that is rebuilt when its bucket is split. Both halves share a larger one.
const MAX_REBUILT: usize = 16_384;
/// Maximum nesting depth. Limits memory, because every level adds tables.
pub(super) const MAX_DEPTH: u32 = 4;

/// The location of a code.
enum Location {
    Bucket(u32, usize),
    Nested(usize),
}

/// The mapping from codes to buckets.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Addressing {
    pub(super) spec: TableSpec,
    /// Average number of codes per bucket above which the next bucket is split.
    pub(super) load: usize,
    /// Buckets are addressed by the low `bits` bits of the key, or by `bits + 1` bits if the low `bits` bits are below `split`.
    pub(super) bits: u32,
    pub(super) split: u32,
}

/// Distinct codes by key, optionally with a value for each code.
#[derive(Clone, Debug)]
pub(super) struct Table<S> {
    pub(super) addressing: Addressing,
    pub(super) store: S,
    pub(super) len: usize,
    pub(super) with_values: bool,
    radius: u32,
    depth: u32,
    /// Hamming ball: the XOR masks that turn a key of `bits` bits into all keys within `spec.flips` bits, fewest bits first.
    ball: Vec<u32>,
    /// Oversized buckets and the positions of their nested indexes in `nested`. Buckets can share a large nested index after a
    /// split.
    nested_at: HashMap<u32, usize>,
    nested: Vec<Nested<S>>,
}

/// The nested index of an oversized bucket.
#[derive(Clone, Debug)]
pub(super) struct Nested<S> {
    pub(super) table_set: TableSet<S>,
    /// One of its codes, and a mask of the bits in which all its codes agree.
    pub(super) code: u64,
    pub(super) shared: u64,
}

impl Addressing {
    /// Creates the mapping for a table of `n` codes.
    pub(super) fn new(spec: TableSpec, load: usize, n: usize) -> Addressing {
        let mut addressing = Addressing { spec, load, bits: 0, split: 0 };
        let buckets = n.div_ceil(load).max(1);
        addressing.bits = buckets.ilog2().min(addressing.max_bits());
        if addressing.bits < addressing.max_bits() {
            addressing.split = (buckets - (1 << addressing.bits)) as u32;
        }
        addressing
    }

    pub(super) fn buckets(&self) -> usize {
        (1 << self.bits) + self.split as usize
    }

    /// Returns the bucket of a code.
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

    /// Returns the maximum of `bits`: the width of the key, but at most 28.
    pub(super) fn max_bits(&self) -> u32 {
        self.spec.mask.count_ones().min(28)
    }

    /// Returns the bits that need not be part of the keys of a nested index, because codes in the same bucket mostly agree on
    /// them.
    fn common_bits(&self) -> u64 {
        if self.spec.flips == 0 { self.spec.mask } else { 0 }
    }
}

impl<S: BucketStore> Nested<S> {
    /// Translates a reference to a value of this nested index into one that is valid in the containing table set.
    pub(super) fn outer_value_ref(&self, value_ref: ValueRef) -> ValueRef {
        match value_ref {
            ValueRef::Position { table, bucket, at } => {
                self.table_set.tables()[table as usize].value_ref(bucket, at)
            }
            other => other,
        }
    }
}

impl<S: BucketStore> Table<S> {
    /// Creates a table over existing buckets.
    pub(super) fn over(
        addressing: Addressing,
        store: S,
        len: usize,
        with_values: bool,
        radius: u32,
        depth: u32,
    ) -> Table<S> {
        let mut table = Table {
            addressing,
            store,
            len,
            with_values,
            radius,
            depth,
            ball: Vec::new(),
            nested_at: HashMap::new(),
            nested: Vec::new(),
        };
        table.fill_ball();
        table
    }

    /// Sets the nested indexes, and the positions in `nested` of the index of each oversized bucket.
    pub(super) fn set_nested(&mut self, buckets: impl Iterator<Item = (u32, usize)>, nested: Vec<Nested<S>>) {
        self.nested_at = buckets.collect();
        self.nested = nested;
    }

    pub(super) fn spec(&self) -> &TableSpec {
        &self.addressing.spec
    }

    #[inline]
    pub(super) fn bucket(&self, code: u64) -> u32 {
        self.addressing.bucket(code)
    }

    pub(super) fn buckets(&self) -> usize {
        self.addressing.buckets()
    }

    /// Calls `each` once with every bucket that can contain codes whose keys are within `flips` bits of the key of `code`.
    /// `flips` is at most `spec.flips`.
    pub(super) fn probe(&self, code: u64, flips: u32, mut each: impl FnMut(u32)) {
        if flips == 0 {
            return each(self.bucket(code));
        }
        let mut seen = Vec::new();
        let mut each = |bucket: u32| {
            // A nested index that several buckets share must be searched only once.
            match self.nested_index(bucket) {
                Some(&nested) if seen.contains(&nested) => {}
                Some(&nested) => {
                    seen.push(nested);
                    each(bucket);
                }
                None => each(bucket),
            }
        };
        let Addressing { bits, split, .. } = self.addressing;
        let key = self.addressing.key(code);
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

    /// Returns the codes of a bucket, or none if the bucket has a nested index.
    #[inline]
    pub(super) fn codes(&self, bucket: u32) -> &[u64] {
        self.store.codes(bucket)
    }

    /// Returns the value at a position of a bucket, if this table has values.
    #[inline]
    pub(super) fn value(&self, bucket: u32, at: usize) -> Option<u32> {
        self.store.value(bucket, at)
    }

    /// Returns the nested index of a bucket, if it has one.
    #[inline]
    pub(super) fn nested(&self, bucket: u32) -> Option<&Nested<S>> {
        self.nested_index(bucket).map(|&i| &self.nested[i])
    }

    /// Returns all nested indexes.
    pub(super) fn all_nested(&self) -> &[Nested<S>] {
        &self.nested
    }

    /// Returns the oversized buckets in ascending order, with the positions of their nested indexes.
    pub(super) fn oversized_buckets(&self) -> Vec<(u32, usize)> {
        let mut buckets: Vec<(u32, usize)> = self.nested_at.iter().map(|(&b, &i)| (b, i)).collect();
        buckets.sort_unstable();
        buckets
    }

    /// Returns a reference to the value at a position of a bucket, for a code found by scanning.
    #[inline]
    pub(super) fn value_ref(&self, bucket: u32, at: u32) -> ValueRef {
        self.value(bucket, at as usize).map_or(ValueRef::ByCode, ValueRef::Value)
    }

    /// Returns the bucket of a code and its position there, or `None` if the code is absent or in a nested index.
    pub(super) fn locate(&self, code: u64) -> Option<(u32, usize)> {
        match self.location(code)? {
            Location::Bucket(bucket, at) => Some((bucket, at)),
            Location::Nested(_) => None,
        }
    }

    /// Prefetches the header of the bucket of a code.
    #[inline]
    pub(super) fn prefetch_header(&self, code: u64) {
        self.store.prefetch_header(self.bucket(code));
    }

    /// Prefetches the codes of the bucket of a code.
    #[inline]
    pub(super) fn prefetch_codes(&self, code: u64) {
        self.store.prefetch_codes(self.bucket(code));
    }

    /// Returns the value of a code, or `None` if the table does not contain it. Without values, the value is 0.
    pub(super) fn get(&self, code: u64) -> Option<u32> {
        match self.location(code)? {
            Location::Bucket(bucket, at) => self.value(bucket, at).or(Some(0)),
            Location::Nested(i) => self.nested[i].table_set.get(code),
        }
    }

    /// Calls `each` with every code and its value, if the table has values.
    pub(super) fn each(&self, each: &mut dyn FnMut(u64, Option<u32>)) {
        for bucket in 0..self.buckets() as u32 {
            for (at, &code) in self.codes(bucket).iter().enumerate() {
                each(code, self.value(bucket, at));
            }
        }
        self.nested.iter().for_each(|nested| nested.table_set.each(each));
    }

    /// Returns the position of the nested index of a bucket in [`all_nested`](Self::all_nested).
    pub(super) fn nested_position(&self, bucket: u32) -> Option<usize> {
        self.nested_index(bucket).copied()
    }

    #[inline]
    fn nested_index(&self, bucket: u32) -> Option<&usize> {
        if self.nested.is_empty() { None } else { self.nested_at.get(&bucket) }
    }

    fn location(&self, code: u64) -> Option<Location> {
        let bucket = self.bucket(code);
        if let Some(&i) = self.nested_index(bucket) {
            return Some(Location::Nested(i));
        }
        let at = simd::position(Level::current(), self.codes(bucket), code)?;
        Some(Location::Bucket(bucket, at))
    }

    fn fill_ball(&mut self) {
        self.ball.clear();
        let flips = self.spec().flips;
        // A hashed table with flips is always scanned completely, so it needs no list.
        if flips == 0 || matches!(self.spec().key, Key::Hashed) {
            return;
        }
        self.ball.push(0);
        let mut start = 0;
        for flip in 1..=flips {
            // Extend each mask of the previous size by one bit above its highest bit.
            let end = self.ball.len();
            for at in start..end {
                let mask = self.ball[at];
                let lowest_new = if flip == 1 { 0 } else { 32 - mask.leading_zeros() };
                (lowest_new..self.addressing.bits).for_each(|bit| self.ball.push(mask | 1 << bit));
            }
            start = end;
        }
    }
}

impl Table<Pages> {
    /// Builds a table of these codes. Counts the codes per bucket first, so that every page is allocated once.
    pub(super) fn build(
        addressing: Addressing,
        with_values: bool,
        radius: u32,
        depth: u32,
        codes: &[u64],
        values: &[u32],
    ) -> Table<Pages> {
        let mut counts = vec![0u32; addressing.buckets()];
        codes.iter().for_each(|&code| counts[addressing.bucket(code) as usize] += 1);
        let mut store = Pages::with_sizes(&counts, with_values);
        for (i, &code) in codes.iter().enumerate() {
            let bucket = addressing.bucket(code);
            let remaining = &mut counts[bucket as usize];
            *remaining -= 1;
            store.put(bucket, *remaining as usize, code, values.get(i).copied());
        }
        let mut table = Table::over(addressing, store, codes.len(), with_values, radius, depth);
        for bucket in 0..table.buckets() as u32 {
            table.nest_if_oversized(bucket);
        }
        table
    }

    /// Prefetches the memory that an insert of the code writes.
    pub(super) fn prefetch_end(&self, code: u64) {
        self.store.prefetch_end(self.bucket(code));
    }

    /// Replaces the value of a code that the table contains.
    pub(super) fn set(&mut self, code: u64, value: u32) {
        match self.location(code) {
            Some(Location::Bucket(bucket, at)) => self.store.set_value(bucket, at, value),
            Some(Location::Nested(i)) => self.nested[i].table_set.set(code, value),
            None => {}
        }
    }

    /// Adds a code that the table does not contain.
    pub(super) fn insert(&mut self, code: u64, value: u32) {
        self.len += 1;
        let bucket = self.bucket(code);
        if let Some(&i) = self.nested_index(bucket) {
            let nested = &mut self.nested[i];
            nested.shared &= !(nested.code ^ code);
            nested.table_set.insert(code, value);
        } else {
            let len = self.store.push(bucket, code, value);
            // Nesting examines all codes of the bucket, so it is tried only at some sizes.
            if len > OVERSIZED && (len == OVERSIZED + 1 || len.is_power_of_two()) {
                self.nest_if_oversized(bucket);
            }
        }
        if self.len > self.addressing.load * self.buckets()
            && self.addressing.bits < self.addressing.max_bits()
        {
            self.split_next();
        }
    }

    /// Removes a code that the table contains.
    pub(super) fn remove(&mut self, code: u64) {
        match self.location(code) {
            Some(Location::Bucket(bucket, at)) => self.store.swap_remove(bucket, at),
            Some(Location::Nested(i)) => self.nested[i].table_set.remove(code),
            None => return,
        }
        self.len -= 1;
    }

    pub(super) fn memory_bytes(&self) -> usize {
        let nested: usize = self.nested.iter().map(|nested| nested.table_set.memory_bytes()).sum();
        self.store.memory_bytes() + nested + self.nested_at.capacity() * 24 + self.ball.capacity() * 4
    }

    /// Splits the next bucket in order by one more bit.
    fn split_next(&mut self) {
        let old = self.addressing.split;
        let new = old + (1 << self.addressing.bits);
        self.store.add_bucket(self.addressing.load);
        self.addressing.split += 1;
        match self.nested_index(old) {
            Some(&i) if self.nested[i].table_set.len() > MAX_REBUILT || self.is_shared(i) => {
                self.nested_at.insert(new, i);
            }
            nested => {
                let flattened = nested.copied();
                flattened.into_iter().for_each(|i| self.flatten(old, i));
                let addressing = self.addressing;
                self.store.divide(old, new, |code| addressing.bucket(code) == new);
                if flattened.is_some() {
                    self.nest_if_oversized(old);
                    self.nest_if_oversized(new);
                }
            }
        }
        if self.addressing.split == 1 << self.addressing.bits {
            self.addressing.bits += 1;
            self.addressing.split = 0;
            self.fill_ball();
        }
    }

    /// Returns `true` if several buckets share a nested index.
    fn is_shared(&self, i: usize) -> bool {
        self.nested_at.values().filter(|&&other| other == i).nth(1).is_some()
    }

    /// Moves the codes of a nested index back into its bucket.
    fn flatten(&mut self, bucket: u32, i: usize) {
        let nested = self.nested.swap_remove(i);
        self.nested_at.remove(&bucket);
        let last = self.nested.len();
        self.nested_at.values_mut().filter(|other| **other == last).for_each(|other| *other = i);
        nested.table_set.each(&mut |code, value| _ = self.store.push(bucket, code, value.unwrap_or(0)));
    }

    /// Moves the codes of an oversized bucket into a nested index over the bits in which they differ.
    fn nest_if_oversized(&mut self, bucket: u32) {
        let len = self.codes(bucket).len();
        // The load limit is large in tables that are scanned completely: their buckets are large by design.
        if len <= OVERSIZED || self.depth == MAX_DEPTH || len <= OVERSIZED_FACTOR * self.addressing.load {
            return;
        }
        // The average is checked last, because it needs a division.
        if len <= OVERSIZED_FACTOR * self.len / self.buckets() {
            return;
        }
        let codes = self.codes(bucket);
        let code = codes[0];
        let common = self.addressing.common_bits();
        let varying = codes.iter().fold(0, |bits, other| bits | (code ^ other));
        let Some(plan) = plan::choose_nested(self.radius, varying & !common, len) else { return };
        let mut taken = Vec::with_capacity(len);
        self.store.take(bucket, |_| true, &mut taken);
        let (codes, values): (Vec<u64>, Vec<u32>) = taken.into_iter().unzip();
        let depth = self.depth + 1;
        let table_set = TableSet::build(plan, self.radius, self.with_values, depth, &codes, &values);
        self.nested_at.insert(bucket, self.nested.len());
        self.nested.push(Nested { table_set, code, shared: !varying });
    }
}
