//! Queries: all codes within the radius of one query, or of each of many queries.

use super::super::pages::BucketStore;
use super::super::table::{Nested, Table};
use super::{Emit, EmitBulk, QUERY_CODES_AHEAD, QUERY_HEADER_AHEAD, QueryPlan, TableSet, ValueRef};
use crate::simd::{self, Level};

/// Prefetch distance of bucket headers, in probes.
const HEADER_AHEAD: usize = 64;
/// Prefetch distance of the codes of a bucket, in probes.
const CODES_AHEAD: usize = 32;
/// Number of probes that are listed before they are executed. Small enough for the list to stay in the cache.
const PROBE_BATCH: usize = 4096;
/// Number of queries that search a nested index together. Small, because their matches are buffered.
const NESTED_BATCH: usize = 64;

/// An access to one bucket on behalf of one query.
struct Probe {
    query: u32,
    table: u32,
    bucket: u32,
}

/// A match of a query in a nested index.
struct NestedMatch {
    query: u32,
    table: u32,
    nested: u32,
    code: u64,
    /// Valid within the nested index.
    value_ref: ValueRef,
}

/// An oversized bucket that contains all codes, all with the same key. The table that contains it reports all matches of a
/// query with that key, so such a query need not search later tables.
struct CompleteBucket {
    table: usize,
    code: u64,
    mask: u64,
}

impl CompleteBucket {
    /// Returns `true` if the query has the key of the bucket.
    fn has_key_of(&self, query: u64) -> bool {
        (query ^ self.code) & self.mask == 0
    }
}

impl<S: BucketStore> TableSet<S> {
    /// Emits each code within the radius once. Returns `true` if the callback stopped the search.
    pub(in crate::index) fn find(&self, query: u64, emit: &mut Emit) -> bool {
        self.find_in(&self.query_plan, self.scans, query, emit)
    }

    /// Like [`find`](Self::find), for a radius that may be smaller than that of the set.
    pub(in crate::index) fn find_within(&self, query: u64, radius: u32, emit: &mut Emit) -> bool {
        if radius >= self.query_plan.radius {
            return self.find(query, emit);
        }
        let query_plan = self.query_plan.for_radius(radius);
        self.find_in(&query_plan, self.should_scan(&query_plan), query, emit)
    }

    fn find_in(&self, query_plan: &QueryPlan, scans: bool, query: u64, emit: &mut Emit) -> bool {
        let level = Level::current();
        let mut positions = Vec::new();
        if scans {
            return self.scan(level, query_plan.radius, query, &mut positions, emit);
        }
        if query_plan.has_flips() {
            let mut probes = Vec::new();
            let mut stopped = false;
            self.list_probes(query_plan, 0, query, &mut probes);
            self.run_probes(query_plan, &[query], &probes, &mut |_, code, value_ref| {
                stopped |= emit(code, value_ref);
                stopped
            });
            return stopped;
        }
        let tables = &self.tables[..query_plan.specs.len()];
        tables.iter().for_each(|table| table.prefetch_codes(query));
        for (i, table) in tables.iter().enumerate() {
            let bucket = table.bucket(query);
            if self.search_bucket(query_plan, query, i, bucket, &mut positions, emit) {
                return true;
            }
            let complete = table.nested(bucket).and_then(|nested| self.as_complete(i, nested));
            if complete.is_some_and(|complete| complete.has_key_of(query)) {
                break;
            }
        }
        false
    }

    /// Emits the position of each query and each code within its radius, query by query. The callback can stop the search for
    /// the current query. `first` means that it always stops after the first match.
    pub(in crate::index) fn find_bulk(&self, queries: &[u64], first: bool, emit: &mut EmitBulk) {
        if self.scans {
            return self.scan_bulk(queries, emit);
        }
        if !self.query_plan.has_flips() {
            return self.find_bulk_exact(queries, first, emit);
        }
        let mut probes: Vec<Probe> = Vec::with_capacity(PROBE_BATCH.min(queries.len() * self.tables.len()));
        for (query, &code) in queries.iter().enumerate() {
            self.list_probes(&self.query_plan, query as u32, code, &mut probes);
            if probes.len() >= PROBE_BATCH {
                self.run_probes(&self.query_plan, queries, &probes, emit);
                probes.clear();
            }
        }
        self.run_probes(&self.query_plan, queries, &probes, emit);
    }

    /// Appends the buckets that a query has to search to `probes`.
    fn list_probes(&self, query_plan: &QueryPlan, query: u32, code: u64, probes: &mut Vec<Probe>) {
        for (i, (table, spec)) in self.tables.iter().zip(&query_plan.specs).enumerate() {
            table.probe(code, spec.flips, |bucket| probes.push(Probe { query, table: i as u32, bucket }));
        }
    }

    /// Searches the buckets of a list of probes, and prefetches later buckets.
    fn run_probes(&self, query_plan: &QueryPlan, queries: &[u64], probes: &[Probe], emit: &mut EmitBulk) {
        let mut positions = Vec::new();
        let mut done = u32::MAX;
        for probe in probes.iter().take(HEADER_AHEAD) {
            self.tables[probe.table as usize].store.prefetch_header(probe.bucket);
        }
        for probe in probes.iter().take(CODES_AHEAD) {
            self.tables[probe.table as usize].store.prefetch_codes(probe.bucket);
        }
        for (i, probe) in probes.iter().enumerate() {
            if let Some(next) = probes.get(i + HEADER_AHEAD) {
                self.tables[next.table as usize].store.prefetch_header(next.bucket);
            }
            if let Some(next) = probes.get(i + CODES_AHEAD) {
                self.tables[next.table as usize].store.prefetch_codes(next.bucket);
            }
            let query = probe.query as usize;
            if probe.query == done {
                continue;
            }
            let mut emit = |code, value_ref| emit(query, code, value_ref);
            if self.search_bucket(
                query_plan,
                queries[query],
                probe.table as usize,
                probe.bucket,
                &mut positions,
                &mut emit,
            ) {
                done = probe.query;
            }
        }
    }

    /// Like [`find_bulk`](Self::find_bulk), for tables without flips: a query searches one bucket per table.
    fn find_bulk_exact(&self, queries: &[u64], first: bool, emit: &mut EmitBulk) {
        let mut positions = Vec::new();
        // The matches in nested indexes of the current batch of queries, and how many of them have been emitted.
        let mut in_nested = Vec::new();
        let mut emitted = 0;
        let has_nested = self.tables.iter().any(|table| !table.all_nested().is_empty());
        let complete = self.complete_bucket();
        // The tables that a query has to search.
        let tables = |query: u64| match &complete {
            Some(complete) if complete.has_key_of(query) => &self.tables[..=complete.table],
            _ => &self.tables[..],
        };
        let prefetch_headers =
            |query: u64| tables(query).iter().for_each(|table| table.prefetch_header(query));
        let prefetch_codes = |query: u64| tables(query).iter().for_each(|table| table.prefetch_codes(query));
        queries.iter().take(QUERY_HEADER_AHEAD).for_each(|&query| prefetch_headers(query));
        queries.iter().take(QUERY_CODES_AHEAD).for_each(|&query| prefetch_codes(query));
        for (i, &query) in queries.iter().enumerate() {
            if has_nested && i % NESTED_BATCH == 0 {
                self.search_nested_bulk(
                    &queries[i..queries.len().min(i + NESTED_BATCH)],
                    first,
                    &mut in_nested,
                );
                emitted = 0;
            }
            if let Some(&next) = queries.get(i + QUERY_HEADER_AHEAD) {
                prefetch_headers(next);
            }
            if let Some(&next) = queries.get(i + QUERY_CODES_AHEAD) {
                prefetch_codes(next);
            }
            let count = in_nested[emitted..].partition_point(|hit| hit.query as usize <= i % NESTED_BATCH);
            let mut of_query = in_nested[emitted..][..count].iter();
            emitted += count;
            let value_ref = |hit: &NestedMatch| {
                self.tables[hit.table as usize].all_nested()[hit.nested as usize]
                    .outer_value_ref(hit.value_ref)
            };
            if of_query.any(|hit| emit(i, hit.code, value_ref(hit))) {
                continue;
            }
            let mut emit = |code, value_ref| emit(i, code, value_ref);
            for (t, table) in tables(query).iter().enumerate() {
                let bucket = table.bucket(query);
                if !table.codes(bucket).is_empty()
                    && self.search_bucket(&self.query_plan, query, t, bucket, &mut positions, &mut emit)
                {
                    break;
                }
            }
        }
    }

    /// Searches the nested indexes, each for all queries whose bucket it replaces. Replaces `matches` with the results, by
    /// query.
    fn search_nested_bulk(&self, queries: &[u64], first: bool, matches: &mut Vec<NestedMatch>) {
        matches.clear();
        for (t, table) in self.tables.iter().enumerate() {
            let nested_of = |(i, &query): (usize, &u64)| {
                let position = table.nested_position(table.bucket(query))?;
                (!self.is_searched_before(query, t, &table.all_nested()[position])).then_some((position, i))
            };
            let mut requests: Vec<(usize, usize)> =
                queries.iter().enumerate().filter_map(nested_of).collect();
            requests.sort_unstable();
            for group in requests.chunk_by(|a, b| a.0 == b.0) {
                let nested = &table.all_nested()[group[0].0];
                let codes: Vec<u64> = group.iter().map(|&(_, i)| queries[i]).collect();
                nested.table_set.find_bulk(&codes, first, &mut |at, code, value_ref| {
                    let is_first = self.query_plan.first_finding(code ^ codes[at]) == Some(t);
                    if is_first {
                        nested.table_set.prefetch_value(value_ref);
                        let (position, query) = group[at];
                        matches.push(NestedMatch {
                            query: query as u32,
                            table: t as u32,
                            nested: position as u32,
                            code,
                            value_ref,
                        });
                    }
                    is_first && first
                });
            }
        }
        matches.sort_unstable_by_key(|hit| (hit.query, hit.table));
    }

    /// Returns an oversized bucket that contains all codes, all with the same key, if there is one.
    fn complete_bucket(&self) -> Option<CompleteBucket> {
        let of_table = |(i, table): (usize, &Table<S>)| {
            table.all_nested().iter().find_map(|nested| self.as_complete(i, nested))
        };
        self.tables.iter().enumerate().find_map(of_table)
    }

    /// Returns the bucket of a nested index if it is complete.
    fn as_complete(&self, table: usize, nested: &Nested<S>) -> Option<CompleteBucket> {
        let mask = self.tables[table].spec().mask;
        let is_complete = nested.table_set.len() == self.len && mask & !nested.shared == 0;
        is_complete.then_some(CompleteBucket { table, code: nested.code, mask })
    }

    /// Emits the matches in one bucket of table `i` that no earlier table finds. Returns `true` if the callback stopped the
    /// search.
    #[inline]
    pub(super) fn search_bucket(
        &self,
        query_plan: &QueryPlan,
        query: u64,
        i: usize,
        bucket: u32,
        positions: &mut Vec<u32>,
        emit: &mut Emit,
    ) -> bool {
        let table = &self.tables[i];
        let codes = table.codes(bucket);
        if codes.is_empty() {
            return table
                .nested(bucket)
                .is_some_and(|nested| self.search_nested(query_plan, query, i, nested, emit));
        }
        simd::near(Level::current(), codes, query, query_plan.radius, positions);
        if positions.is_empty() {
            return false;
        }
        let mut stopped = false;
        for at in positions.drain(..) {
            let code = codes[at as usize];
            if !stopped && query_plan.first_finding(code ^ query) == Some(i) {
                let value_ref = if table.with_values {
                    ValueRef::Position { table: i as u32, bucket, at }
                } else {
                    ValueRef::ByCode
                };
                stopped = emit(code, value_ref);
            }
        }
        stopped
    }

    /// Like [`search_bucket`](Self::search_bucket), for an oversized bucket with a nested index.
    fn search_nested(
        &self,
        query_plan: &QueryPlan,
        query: u64,
        i: usize,
        nested: &Nested<S>,
        emit: &mut Emit,
    ) -> bool {
        if self.is_searched_before(query, i, nested) {
            return false;
        }
        nested.table_set.find_within(query, query_plan.radius, &mut |code, value_ref| {
            query_plan.first_finding(code ^ query) == Some(i) && emit(code, nested.outer_value_ref(value_ref))
        })
    }

    /// Returns `true` if all codes of a nested index of table `i` agree with the query on the key of an earlier table. That
    /// table then reports all matches among these codes.
    fn is_searched_before(&self, query: u64, i: usize, nested: &Nested<S>) -> bool {
        let differing = (query ^ nested.code) & nested.shared;
        self.tables[..i].iter().any(|table| table.spec().mask & (differing | !nested.shared) == 0)
    }
}
