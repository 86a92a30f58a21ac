//! Multi-index hashing: the same codes in several tables, one per key.
//!
//! Every pair of codes within the radius is found by at least one table (see [`plan`](super::plan)), and possibly by
//! several. The XOR of the two codes determines which tables find the pair, so each match is reported exactly once, by the
//! first of these tables, without remembering earlier matches.

mod find;
mod pairs;
mod scan;

use super::pages::{BucketStore, Pages};
use super::part::Part;
use super::plan::{self, Key, TableSpec};
use super::table::{Addressing, Table};

/// Prefetch distance of bucket headers, in queries or updates that access one bucket per table.
const QUERY_HEADER_AHEAD: usize = 16;
/// Prefetch distance of the codes of a bucket, in queries or updates that access one bucket per table.
const QUERY_CODES_AHEAD: usize = 8;

/// Distinct codes in the tables of a plan. The first table stores the values, if there are any. In a part of a partitioned
/// index, all tables store them.
#[derive(Clone, Debug)]
pub(super) struct TableSet<S> {
    query_plan: QueryPlan,
    part: Part,
    tables: Vec<Table<S>>,
    len: usize,
    /// Whether queries scan the first table, because that is cheaper than probing or the only way.
    scans: bool,
}

/// The radius of a query and the tables that it uses: the first `specs.len()` tables of the set.
#[derive(Clone, Debug)]
struct QueryPlan {
    radius: u32,
    specs: Vec<TableSpec>,
}

/// Where to find the value of a matching code. Reading a value is likely to miss the cache, so searches return this
/// reference, which allows the caller to prefetch many values at once.
#[derive(Clone, Copy, Debug)]
pub(super) enum ValueRef {
    /// The value itself.
    Value(u32),
    /// The value is at this position of a bucket.
    Position { table: u32, bucket: u32, at: u32 },
    /// The value has to be looked up by its code.
    ByCode,
}

/// Callback for a matching code. Returns `true` to stop the search.
pub(super) type Emit<'a> = dyn FnMut(u64, ValueRef) -> bool + 'a;

/// Callback for the position of a query and a code that matches it. Returns `true` to stop the search for that query.
pub(super) type EmitBulk<'a> = dyn FnMut(usize, u64, ValueRef) -> bool + 'a;

impl TableSet<Pages> {
    /// Builds the tables of these codes, which must be distinct.
    pub(super) fn build(
        plan: Vec<TableSpec>,
        radius: u32,
        with_values: bool,
        depth: u32,
        codes: &[u64],
        values: &[u32],
    ) -> TableSet<Pages> {
        let load = plan::load(&plan, radius);
        let table = |(i, spec)| {
            let addressing = Addressing::new(spec, load, codes.len());
            let values = if i == 0 { values } else { &[] };
            Table::build(addressing, with_values && i == 0, radius, depth, codes, values)
        };
        let tables = plan.into_iter().enumerate().map(table).collect();
        TableSet::over(radius, Part::WHOLE, tables, codes.len())
    }

    /// Builds the tables of one part of a partitioned index from the codes that belong to it. The codes must be distinct.
    pub(super) fn build_part(
        plan: Vec<TableSpec>,
        radius: u32,
        part: Part,
        codes: &[u64],
        values: &[u32],
    ) -> TableSet<Pages> {
        let load = plan::load(&plan, radius);
        let table = |spec: &TableSpec| {
            let owned = (0..codes.len()).filter(|&i| part.owns(spec, codes[i]));
            let (codes, values): (Vec<u64>, Vec<u32>) = owned.map(|i| (codes[i], values[i])).unzip();
            Table::build(Addressing::new(*spec, load, codes.len()), true, radius, 0, &codes, &values)
        };
        let tables = plan.iter().map(table).collect();
        let owned = |code: &&u64| plan.iter().any(|spec| part.owns(spec, **code));
        TableSet::over(radius, part, tables, codes.iter().filter(owned).count())
    }

    /// Replaces the value of a code that the set contains.
    pub(super) fn set(&mut self, code: u64, value: u32) {
        if !self.part.is_partial() {
            return self.tables[0].set(code, value);
        }
        self.owning_mut(code).for_each(|table| table.set(code, value));
    }

    /// Adds a code that the set does not contain and that belongs to this part.
    pub(super) fn insert(&mut self, code: u64, value: u32) {
        self.owning_mut(code).for_each(|table| table.insert(code, value));
        self.len += 1;
        if self.len.is_power_of_two() {
            self.update_scan_choice();
        }
    }

    /// Removes a code that the set contains.
    pub(super) fn remove(&mut self, code: u64) {
        self.owning_mut(code).for_each(|table| table.remove(code));
        self.len -= 1;
        if self.len.is_power_of_two() {
            self.update_scan_choice();
        }
    }

    pub(super) fn memory_bytes(&self) -> usize {
        self.tables.iter().map(|table| size_of::<Table<Pages>>() + table.memory_bytes()).sum()
    }

    /// Prefetches the memory that an insert of the code reads and writes. Call [`prefetch_headers`](Self::prefetch_headers)
    /// some time before.
    pub(super) fn prefetch_insert(&self, code: u64) {
        let first = &self.tables[0];
        first.store.prefetch_codes(first.bucket(code));
        self.tables.iter().for_each(|table| table.prefetch_end(code));
    }

    /// Prefetches the memory that a removal of the code reads and writes.
    pub(super) fn prefetch_remove(&self, code: u64) {
        self.prefetch_codes(code);
        let first = &self.tables[0];
        first.store.prefetch_value(first.bucket(code), 0);
    }

    /// Calls `update` with the position of each code, and prefetches the memory for later codes.
    pub(super) fn update_with_prefetch<T>(
        owner: &mut T,
        codes: &[u64],
        table_set: impl Fn(&T) -> &TableSet<Pages>,
        prefetch: impl Fn(&TableSet<Pages>, u64),
        mut update: impl FnMut(&mut T, usize),
    ) {
        for i in 0..codes.len() {
            if let Some(&code) = codes.get(i + QUERY_HEADER_AHEAD) {
                table_set(owner).prefetch_headers(code);
            }
            if let Some(&code) = codes.get(i + QUERY_CODES_AHEAD) {
                prefetch(table_set(owner), code);
            }
            update(owner, i);
        }
    }

    fn owning_mut(&mut self, code: u64) -> impl Iterator<Item = &mut Table<Pages>> {
        let part = self.part;
        self.tables.iter_mut().filter(move |table| part.owns(table.spec(), code))
    }
}

impl QueryPlan {
    /// Returns the plan for a smaller radius, with fewer flips or tables.
    fn for_radius(&self, radius: u32) -> QueryPlan {
        QueryPlan { radius, specs: plan::for_radius(&self.specs, radius) }
    }

    /// Returns `true` if queries probe keys other than their own.
    fn has_flips(&self) -> bool {
        self.specs.iter().any(|spec| spec.flips > 0)
    }

    /// Returns the first table that finds a pair of codes with this XOR.
    #[inline]
    fn first_finding(&self, differing: u64) -> Option<usize> {
        self.specs.iter().position(|spec| spec.finds(differing))
    }
}

impl<S: BucketStore> TableSet<S> {
    /// Creates a set of existing tables.
    pub(super) fn over(radius: u32, part: Part, tables: Vec<Table<S>>, len: usize) -> TableSet<S> {
        let query_plan = QueryPlan { radius, specs: tables.iter().map(|table| *table.spec()).collect() };
        let mut table_set = TableSet { query_plan, part, tables, len, scans: false };
        table_set.update_scan_choice();
        table_set
    }

    /// Returns the value of a code, or `None` if the set does not contain it.
    pub(super) fn get(&self, code: u64) -> Option<u32> {
        if !self.part.is_partial() {
            return self.tables[0].get(code);
        }
        self.tables.iter().find(|table| self.part.owns(table.spec(), code))?.get(code)
    }

    pub(super) fn tables(&self) -> &[Table<S>] {
        &self.tables
    }

    /// Returns the number of distinct codes.
    pub(super) fn len(&self) -> usize {
        self.len
    }

    pub(super) fn part(&self) -> Part {
        self.part
    }

    pub(super) fn specs(&self) -> Vec<TableSpec> {
        self.query_plan.specs.clone()
    }

    /// Returns `true` if the code belongs to this part in some table.
    pub(super) fn owns(&self, code: u64) -> bool {
        self.tables.iter().any(|table| self.part.owns(table.spec(), code))
    }

    /// Returns the parts that can contain codes within the radius of the query, in ascending order.
    pub(super) fn parts_for(&self, query: u64) -> Vec<u32> {
        let mut marked = vec![false; self.part.of as usize];
        for table in &self.tables {
            match table.spec() {
                TableSpec { key: Key::Hashed, flips: 1.., .. } => marked.fill(true),
                spec => self.part.mark(spec, query, &mut marked),
            }
        }
        (0..self.part.of).filter(|&part| marked[part as usize]).collect()
    }

    /// Prefetches the headers of the buckets of a code, in all tables.
    #[inline]
    pub(super) fn prefetch_headers(&self, code: u64) {
        self.tables.iter().for_each(|table| table.store.prefetch_header(table.bucket(code)));
    }

    /// Prefetches the codes of the buckets of a code, in all tables.
    #[inline]
    pub(super) fn prefetch_codes(&self, code: u64) {
        self.tables.iter().for_each(|table| table.store.prefetch_codes(table.bucket(code)));
    }

    /// Step 1 of 3 to read the value of a code: prefetches the header of its bucket in the first table.
    pub(super) fn prefetch_first_header(&self, code: u64) {
        let table = &self.tables[0];
        table.store.prefetch_header(table.bucket(code));
    }

    /// Step 2 of 3 to read the value of a code: prefetches the codes of its bucket in the first table.
    pub(super) fn prefetch_first(&self, code: u64) {
        let table = &self.tables[0];
        table.store.prefetch_codes(table.bucket(code));
    }

    /// Step 3 of 3 to read the value of a code: finds its position in the first table and prefetches the value.
    pub(super) fn locate(&self, code: u64) -> ValueRef {
        let Some((bucket, at)) = self.tables[0].locate(code) else { return ValueRef::ByCode };
        let value_ref = ValueRef::Position { table: 0, bucket, at: at as u32 };
        self.prefetch_value(value_ref);
        value_ref
    }

    /// Prefetches a value.
    #[inline]
    pub(super) fn prefetch_value(&self, value_ref: ValueRef) {
        if let ValueRef::Position { table, bucket, at } = value_ref {
            self.tables[table as usize].store.prefetch_value(bucket, at as usize);
        }
    }

    /// Returns the value of a matching code.
    #[inline]
    pub(super) fn value(&self, code: u64, value_ref: ValueRef) -> Option<u32> {
        match value_ref {
            ValueRef::Value(value) => Some(value),
            ValueRef::Position { table, bucket, at } => {
                self.tables[table as usize].value(bucket, at as usize)
            }
            ValueRef::ByCode => self.get(code),
        }
    }

    /// Calls `each` with every code of the first table and its value, if there are values.
    pub(super) fn each(&self, each: &mut dyn FnMut(u64, Option<u32>)) {
        self.tables[0].each(each);
    }

    fn update_scan_choice(&mut self) {
        self.scans = self.should_scan(&self.query_plan);
    }

    /// Returns `true` if comparing the query with all codes is cheaper than probing, or the only way.
    fn should_scan(&self, query_plan: &QueryPlan) -> bool {
        let can_probe = query_plan.specs.iter().all(|spec| spec.flips == 0 || spec.key != Key::Hashed);
        let is_scan_cheaper = || plan::cost(&query_plan.specs, self.len) > plan::scan_cost(self.len);
        // A part never chooses to scan: it would report matches that another part finds by its tables.
        !can_probe || !self.part.is_partial() && is_scan_cheaper()
    }
}
