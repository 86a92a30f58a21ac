//! Which codes are near a query, or each of many?

use super::super::pages::Buckets;
use super::super::table::{Nested, Table};
use super::{Emit, EmitBulk, Layers, Lead, QUERY_CODES_AHEAD, QUERY_HEADER_AHEAD, Reach};
use crate::simd::{self, Level};

/// How many probes ahead the header of a bucket, and then its codes, are fetched.
const HEADER_AHEAD: usize = 64;
const CODES_AHEAD: usize = 32;
/// Probes that are listed before they are walked: the list stays in the cache.
const LISTED: usize = 4096;
/// Queries that ask the index of a crowded bucket together. What it finds waits, so few, because it may be much.
const TOGETHER: usize = 64;

/// One look into a bucket.
struct Probe {
    query: u32,
    table: u32,
    bucket: u32,
}

/// What the index of a crowded bucket found for a query.
struct Found {
    query: u32,
    table: u32,
    nested: u32,
    code: u64,
    /// Within that index.
    lead: Lead,
}

/// A crowded bucket that has all codes: queries that agree with `code` under the mask find nothing in later tables.
struct Cover {
    table: usize,
    code: u64,
    mask: u64,
}

impl Cover {
    fn has(&self, query: u64) -> bool {
        (query ^ self.code) & self.mask == 0
    }
}

impl<S: Buckets> Layers<S> {
    /// Emits each code within the radius once.
    pub(in crate::index) fn find(&self, query: u64, emit: &mut Emit) -> bool {
        self.find_in(&self.reach, self.scans, query, emit)
    }

    /// The same for a radius that may be smaller.
    pub(in crate::index) fn find_within(&self, query: u64, radius: u32, emit: &mut Emit) -> bool {
        if radius >= self.reach.radius {
            return self.find(query, emit);
        }
        let reach = self.reach.within(radius);
        self.find_in(&reach, self.is_scanned(&reach), query, emit)
    }

    fn find_in(&self, reach: &Reach, scans: bool, query: u64, emit: &mut Emit) -> bool {
        let level = Level::current();
        let mut positions = Vec::new();
        if scans {
            return self.scan(level, reach.radius, query, &mut positions, emit);
        }
        if reach.flips() {
            let (mut probes, mut stopped) = (Vec::new(), false);
            self.probe(reach, 0, query, &mut probes);
            self.walk(reach, &[query], &probes, &mut |_, code, lead| {
                stopped |= emit(code, lead);
                stopped
            });
            return stopped;
        }
        let tables = &self.tables[..reach.specs.len()];
        tables.iter().for_each(|table| table.prefetch_codes(query));
        for (i, table) in tables.iter().enumerate() {
            let bucket = table.bucket(query);
            if self.look(reach, query, i, bucket, &mut positions, emit) {
                return true;
            }
            let cover = table.nested(bucket).and_then(|nested| self.cover_of(i, nested));
            if cover.is_some_and(|cover| cover.has(query)) {
                break;
            }
        }
        false
    }

    /// Emits the position of a query and each code within the radius of it, query after query. Whoever says stop hears
    /// no more of that query; `first` tells that it always will be said.
    pub(in crate::index) fn find_bulk(&self, queries: &[u64], first: bool, emit: &mut EmitBulk) {
        if self.scans {
            return self.scan_bulk(queries, emit);
        }
        if !self.reach.flips() {
            return self.sweep(queries, first, emit);
        }
        let mut probes: Vec<Probe> = Vec::with_capacity(LISTED.min(queries.len() * self.tables.len()));
        for (query, &code) in queries.iter().enumerate() {
            self.probe(&self.reach, query as u32, code, &mut probes);
            if probes.len() >= LISTED {
                self.walk(&self.reach, queries, &probes, emit);
                probes.clear();
            }
        }
        self.walk(&self.reach, queries, &probes, emit);
    }

    /// Lists the buckets that a query has to look into.
    fn probe(&self, reach: &Reach, query: u32, code: u64, probes: &mut Vec<Probe>) {
        for (i, (table, spec)) in self.tables.iter().zip(&reach.specs).enumerate() {
            table.probe(code, spec.flips, |bucket| probes.push(Probe { query, table: i as u32, bucket }));
        }
    }

    /// Walks a list of probes, fetching what comes later.
    fn walk(&self, reach: &Reach, queries: &[u64], probes: &[Probe], emit: &mut EmitBulk) {
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
            let mut emit = |code, lead| emit(query, code, lead);
            if self.look(reach, queries[query], probe.table as usize, probe.bucket, &mut positions, &mut emit)
            {
                done = probe.query;
            }
        }
    }

    /// As [`find_bulk`](Self::find_bulk), where a query looks into one bucket a table.
    fn sweep(&self, queries: &[u64], first: bool, emit: &mut EmitBulk) {
        let (mut positions, mut found, mut told) = (Vec::new(), Vec::new(), 0);
        let crowded = self.tables.iter().any(|table| !table.all_nested().is_empty());
        let cover = self.cover();
        // The tables that a query has to look into.
        let tables = |query: u64| match &cover {
            Some(cover) if cover.has(query) => &self.tables[..=cover.table],
            _ => &self.tables[..],
        };
        let header = |query: u64| tables(query).iter().for_each(|table| table.prefetch_header(query));
        let codes = |query: u64| tables(query).iter().for_each(|table| table.prefetch_codes(query));
        queries.iter().take(QUERY_HEADER_AHEAD).for_each(|&query| header(query));
        queries.iter().take(QUERY_CODES_AHEAD).for_each(|&query| codes(query));
        for (i, &query) in queries.iter().enumerate() {
            if crowded && i % TOGETHER == 0 {
                self.look_together(&queries[i..queries.len().min(i + TOGETHER)], first, &mut found);
                told = 0;
            }
            if let Some(&next) = queries.get(i + QUERY_HEADER_AHEAD) {
                header(next);
            }
            if let Some(&next) = queries.get(i + QUERY_CODES_AHEAD) {
                codes(next);
            }
            let mine = found[told..].partition_point(|found| found.query as usize <= i % TOGETHER);
            let mut within = found[told..][..mine].iter();
            told += mine;
            let lead = |found: &Found| {
                self.tables[found.table as usize].all_nested()[found.nested as usize].lead(found.lead)
            };
            if within.any(|found| emit(i, found.code, lead(found))) {
                continue;
            }
            let mut emit = |code, lead| emit(i, code, lead);
            for (t, table) in tables(query).iter().enumerate() {
                let bucket = table.bucket(query);
                if !table.codes(bucket).is_empty()
                    && self.look(&self.reach, query, t, bucket, &mut positions, &mut emit)
                {
                    break;
                }
            }
        }
    }

    /// Asks the indexes of crowded buckets, each for all queries that it concerns.
    fn look_together(&self, queries: &[u64], first: bool, found: &mut Vec<Found>) {
        found.clear();
        for (t, table) in self.tables.iter().enumerate() {
            let concerns = |(i, &query): (usize, &u64)| {
                let number = table.nested_number(table.bucket(query))?;
                (!self.told(query, t, &table.all_nested()[number])).then_some((number, i))
            };
            let mut asked: Vec<(usize, usize)> = queries.iter().enumerate().filter_map(concerns).collect();
            asked.sort_unstable();
            for group in asked.chunk_by(|a, b| a.0 == b.0) {
                let nested = &table.all_nested()[group[0].0];
                let codes: Vec<u64> = group.iter().map(|&(_, i)| queries[i]).collect();
                nested.layers.find_bulk(&codes, first, &mut |at, code, lead| {
                    let told = self.reach.finder(code ^ codes[at]) == Some(t);
                    if told {
                        nested.layers.prefetch_value(lead);
                        let (number, query) = group[at];
                        let (query, table, nested) = (query as u32, t as u32, number as u32);
                        found.push(Found { query, table, nested, code, lead });
                    }
                    told && first
                });
            }
        }
        found.sort_unstable_by_key(|found| (found.query, found.table));
    }

    /// A crowded bucket that has all codes, all with one key.
    fn cover(&self) -> Option<Cover> {
        let of_table = |(i, table): (usize, &Table<S>)| {
            table.all_nested().iter().find_map(|nested| self.cover_of(i, nested))
        };
        self.tables.iter().enumerate().find_map(of_table)
    }

    fn cover_of(&self, table: usize, nested: &Nested<S>) -> Option<Cover> {
        let mask = self.tables[table].spec().mask;
        let all = nested.layers.len() == self.len && mask & !nested.shared == 0;
        all.then_some(Cover { table, code: nested.code, mask })
    }

    /// Emits what this table, and none before it, finds in one bucket.
    #[inline]
    pub(super) fn look(
        &self,
        reach: &Reach,
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
                .is_some_and(|nested| self.look_within(reach, query, i, nested, emit));
        }
        simd::near(Level::current(), codes, query, reach.radius, positions);
        if positions.is_empty() {
            return false;
        }
        let mut stopped = false;
        for at in positions.drain(..) {
            let code = codes[at as usize];
            if !stopped && reach.finder(code ^ query) == Some(i) {
                let lead = match table.with_values {
                    true => Lead::Place { table: i as u32, bucket, at },
                    false => Lead::Code,
                };
                stopped = emit(code, lead);
            }
        }
        stopped
    }

    /// As [`look`](Self::look), in the index of a crowded bucket.
    fn look_within(&self, reach: &Reach, query: u64, i: usize, nested: &Nested<S>, emit: &mut Emit) -> bool {
        if self.told(query, i, nested) {
            return false;
        }
        nested.layers.find_within(query, reach.radius, &mut |code, lead| {
            reach.finder(code ^ query) == Some(i) && emit(code, nested.lead(lead))
        })
    }

    /// Whether all codes of a crowded bucket of table `i` agree with the query on the key of an earlier table, which
    /// then tells them.
    fn told(&self, query: u64, i: usize, nested: &Nested<S>) -> bool {
        let differing = (query ^ nested.code) & nested.shared;
        self.tables[..i].iter().any(|table| table.spec().mask & (differing | !nested.shared) == 0)
    }
}
