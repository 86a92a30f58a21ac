//! Which codes are near, found in several tables but told once?
//!
//! Every pair within the radius is found by at least one table of the plan, and by how it differs one can tell which
//! tables those are. Only the first of them reports it.

use super::plan::{self, Key, Spec};
use super::table::Table;
use crate::simd::{self, Level};

/// How many probes ahead the header of a bucket, and then its codes, are fetched.
const HEADER_AHEAD: usize = 64;
const CODES_AHEAD: usize = 32;
/// Probes that are listed before they are walked: the list stays in the cache.
const LISTED: usize = 4096;

/// Distinct codes under the tables of a plan. The first table has the values, if there are any.
#[derive(Clone, Debug)]
pub(super) struct Layers {
    radius: u32,
    tables: Vec<Table>,
    len: usize,
    /// Whether a scan of the first table is cheaper than the plan.
    scans: bool,
}

/// What is done with a code that was found: its code, and its value where that is at hand. Says whether to stop.
pub(super) type Emit<'a> = dyn FnMut(u64, Option<u32>) -> bool + 'a;

/// One look into a bucket.
struct Probe {
    query: u32,
    table: u32,
    bucket: u32,
}

impl Layers {
    /// Tables with these codes, which are distinct.
    pub(super) fn build(
        plan: Vec<Spec>,
        radius: u32,
        with_values: bool,
        depth: u32,
        codes: &[u64],
        values: &[u32],
    ) -> Layers {
        let whole = plan.len() == 1 && plan[0] == Spec::whole(radius) && radius > 0;
        let load = if whole { plan::SCAN_LOAD } else { plan::LOAD };
        let table = |(i, spec)| {
            let table = Table::new(spec, load, with_values && i == 0, radius, depth, codes.len());
            table.build(codes, values)
        };
        let tables = plan.into_iter().enumerate().map(table).collect();
        let mut layers = Layers { radius, tables, len: codes.len(), scans: false };
        layers.decide();
        layers
    }

    pub(super) fn get(&self, code: u64) -> Option<u32> {
        self.tables[0].get(code)
    }

    pub(super) fn set(&mut self, code: u64, value: u32) {
        self.tables[0].set(code, value);
    }

    /// Adds a code that is not here yet.
    pub(super) fn insert(&mut self, code: u64, value: u32) {
        self.insert_first(code, value);
        self.tables[1..].iter_mut().for_each(|table| table.insert(code, value));
    }

    /// Adds a code that is not here yet to the first table only: [`insert_rest`](Self::insert_rest) has to follow.
    pub(super) fn insert_first(&mut self, code: u64, value: u32) {
        self.tables[0].insert(code, value);
        self.len += 1;
        if self.len.is_power_of_two() {
            self.decide();
        }
    }

    /// Adds codes to all tables but the first, each table in its own order.
    pub(super) fn insert_rest(&mut self, codes: &[u64]) {
        for table in &mut self.tables[1..] {
            let order = table.order(codes);
            order.into_iter().for_each(|i| table.insert(codes[i as usize], 0));
        }
    }

    /// Removes a code that is here.
    pub(super) fn remove(&mut self, code: u64) {
        self.remove_first(code);
        self.tables[1..].iter_mut().for_each(|table| table.remove(code));
    }

    /// Removes a code that is here from the first table only: [`remove_rest`](Self::remove_rest) has to follow.
    pub(super) fn remove_first(&mut self, code: u64) {
        self.tables[0].remove(code);
        self.len -= 1;
        if self.len.is_power_of_two() {
            self.decide();
        }
    }

    /// Removes codes from all tables but the first, each table in its own order.
    pub(super) fn remove_rest(&mut self, codes: &[u64]) {
        for table in &mut self.tables[1..] {
            let order = table.order(codes);
            order.into_iter().for_each(|i| table.remove(codes[i as usize]));
        }
    }

    /// The positions of codes in the order of the first table.
    pub(super) fn order(&self, codes: &[u64]) -> Vec<u32> {
        self.tables[0].order(codes)
    }

    pub(super) fn specs(&self) -> impl Iterator<Item = &Spec> {
        self.tables.iter().map(|table| &table.spec)
    }

    pub(super) fn memory_bytes(&self) -> usize {
        self.tables.iter().map(|table| size_of::<Table>() + table.memory_bytes()).sum()
    }

    /// Fetches the headers of the buckets of a code.
    pub(super) fn prefetch_headers(&self, code: u64) {
        self.tables.iter().for_each(|table| table.prefetch_header(table.bucket(code)));
    }

    /// Fetches the header of the bucket of a code in the first table: the first of three steps to its value.
    pub(super) fn prefetch_first_header(&self, code: u64) {
        let bucket = self.tables[0].bucket(code);
        self.tables[0].prefetch_header(bucket);
        self.tables[0].prefetch_values_header(bucket);
    }

    /// Fetches the bucket of a code in the first table: the second step.
    pub(super) fn prefetch_first(&self, code: u64) {
        self.tables[0].prefetch_codes(self.tables[0].bucket(code));
    }

    /// Fetches the value of a code: the third step.
    pub(super) fn prefetch_value(&self, code: u64) {
        self.tables[0].prefetch_value(code);
    }

    /// Fetches the codes of the buckets of a code.
    pub(super) fn prefetch_codes(&self, code: u64) {
        self.tables.iter().for_each(|table| table.prefetch_codes(table.bucket(code)));
    }

    /// Emits each code within the radius once.
    pub(super) fn find(&self, query: u64, emit: &mut Emit) -> bool {
        let level = Level::current();
        let mut positions = Vec::new();
        if self.scans {
            return self.scan(level, query, &mut positions, emit);
        }
        if self.tables.iter().any(|table| table.spec.flips > 0) {
            let mut stopped = false;
            self.find_bulk(&[query], &mut |_, code, value| {
                stopped |= emit(code, value);
                stopped
            });
            return stopped;
        }
        self.prefetch_codes(query);
        (0..self.tables.len()).any(|i| {
            let bucket = self.tables[i].bucket(query);
            self.look(level, query, i, bucket, &mut positions, emit)
        })
    }

    /// Emits the position of a query and each code within the radius of it, query after query. Whoever says stop hears
    /// no more of that query.
    pub(super) fn find_bulk(&self, queries: &[u64], emit: &mut dyn FnMut(usize, u64, Option<u32>) -> bool) {
        if self.scans {
            return self.scan_bulk(queries, emit);
        }
        let mut probes: Vec<Probe> = Vec::with_capacity(LISTED.min(queries.len() * self.tables.len()));
        for (query, &code) in queries.iter().enumerate() {
            for (table, t) in self.tables.iter().enumerate() {
                t.probe(code, |bucket| {
                    probes.push(Probe { query: query as u32, table: table as u32, bucket })
                });
            }
            if probes.len() >= LISTED {
                self.walk(queries, &probes, emit);
                probes.clear();
            }
        }
        self.walk(queries, &probes, emit);
    }

    /// Emits each pair of codes within the radius once.
    pub(super) fn pairs(&self, emit: &mut dyn FnMut(u64, u64)) {
        let level = Level::current();
        let mut positions = Vec::new();
        if self.scans {
            return self.each_code(&mut |code| {
                self.scan(level, code, &mut positions, &mut |other, _| {
                    if code < other {
                        emit(code, other);
                    }
                    false
                });
            });
        }
        for (i, table) in self.tables.iter().enumerate() {
            if table.spec.flips == 0 {
                self.pairs_in_buckets(level, i, emit);
            } else {
                self.pairs_by_probing(level, i, emit);
            }
        }
    }

    /// Calls `each` with every code, in the order of the first table.
    pub(super) fn each_code(&self, each: &mut dyn FnMut(u64)) {
        let table = &self.tables[0];
        for bucket in 0..table.buckets() as u32 {
            table.codes(bucket).iter().for_each(|&code| each(code));
        }
        table.all_nested().iter().for_each(|nested| nested.each_code(each));
    }

    fn decide(&mut self) {
        let specs: Vec<Spec> = self.specs().copied().collect();
        let probed = specs.iter().all(|spec| spec.flips == 0 || spec.key != Key::Hashed);
        self.scans = !probed || plan::cost(&specs, self.len) > plan::scan_cost(self.len);
    }

    /// The first table that finds a pair that differs in these bits.
    #[inline]
    fn finder(&self, differing: u64) -> Option<usize> {
        self.tables.iter().position(|table| table.spec.finds(differing))
    }

    /// Walks a list of probes, fetching what comes later.
    fn walk(&self, queries: &[u64], probes: &[Probe], emit: &mut dyn FnMut(usize, u64, Option<u32>) -> bool) {
        let level = Level::current();
        let mut positions = Vec::new();
        let mut done = u32::MAX;
        for probe in probes.iter().take(HEADER_AHEAD) {
            self.tables[probe.table as usize].prefetch_header(probe.bucket);
        }
        for probe in probes.iter().take(CODES_AHEAD) {
            self.tables[probe.table as usize].prefetch_codes(probe.bucket);
        }
        for (i, probe) in probes.iter().enumerate() {
            if let Some(next) = probes.get(i + HEADER_AHEAD) {
                self.tables[next.table as usize].prefetch_header(next.bucket);
            }
            if let Some(next) = probes.get(i + CODES_AHEAD) {
                self.tables[next.table as usize].prefetch_codes(next.bucket);
            }
            let query = probe.query as usize;
            if probe.query == done {
                continue;
            }
            let mut emit = |code, value| emit(query, code, value);
            if self.look(level, queries[query], probe.table as usize, probe.bucket, &mut positions, &mut emit)
            {
                done = probe.query;
            }
        }
    }

    /// Emits what this table, and none before it, finds in one bucket.
    #[inline]
    fn look(
        &self,
        level: Level,
        query: u64,
        i: usize,
        bucket: u32,
        positions: &mut Vec<u32>,
        emit: &mut Emit,
    ) -> bool {
        let table = &self.tables[i];
        let codes = table.codes(bucket);
        if codes.is_empty() {
            let mut once = |code: u64, value| self.finder(code ^ query) == Some(i) && emit(code, value);
            return table.nested(bucket).is_some_and(|nested| nested.find(query, &mut once));
        }
        simd::near(level, codes, query, self.radius, positions);
        if positions.is_empty() {
            return false;
        }
        let mut stopped = false;
        for at in positions.drain(..) {
            let code = codes[at as usize];
            if !stopped && self.finder(code ^ query) == Some(i) {
                // The value is far away: whoever wants it can ask for many at once.
                stopped = emit(code, None);
            }
        }
        stopped
    }

    /// Emits what is near, by looking at every code of the first table.
    fn scan(&self, level: Level, query: u64, positions: &mut Vec<u32>, emit: &mut Emit) -> bool {
        let table = &self.tables[0];
        let mut stopped = false;
        for bucket in 0..table.buckets() as u32 {
            simd::near(level, table.codes(bucket), query, self.radius, positions);
            for at in positions.drain(..) {
                stopped = stopped || emit(table.codes(bucket)[at as usize], table.value(bucket, at as usize));
            }
            if stopped {
                return true;
            }
        }
        table.all_nested().iter().any(|nested| nested.scan(level, query, positions, emit))
    }

    /// As [`scan`](Self::scan), many queries a bucket. What is found waits until all buckets were seen, so few queries
    /// are taken together where many are near.
    fn scan_bulk(&self, queries: &[u64], emit: &mut dyn FnMut(usize, u64, Option<u32>) -> bool) {
        let level = Level::current();
        let (mut positions, mut found) = (Vec::new(), Vec::new());
        let together = if self.radius <= 16 { 256 } else { 16 };
        for (chunk, queries) in queries.chunks(together).enumerate() {
            self.scan_chunk(level, queries, &mut positions, &mut found);
            found.sort_unstable_by_key(|&(query, _, _)| query);
            let mut done = usize::MAX;
            for (query, code, value) in found.drain(..) {
                if query != done && emit(chunk * together + query, code, value) {
                    done = query;
                }
            }
        }
    }

    fn scan_chunk(
        &self,
        level: Level,
        queries: &[u64],
        positions: &mut Vec<u32>,
        found: &mut Vec<(usize, u64, Option<u32>)>,
    ) {
        let table = &self.tables[0];
        for bucket in 0..table.buckets() as u32 {
            let codes = table.codes(bucket);
            for (i, &query) in queries.iter().enumerate() {
                simd::near(level, codes, query, self.radius, positions);
                let hit = |at: u32| (i, codes[at as usize], table.value(bucket, at as usize));
                found.extend(positions.drain(..).map(hit));
            }
        }
        table.all_nested().iter().for_each(|nested| nested.scan_chunk(level, queries, positions, found));
    }

    /// The pairs of a table without flips stand in one bucket.
    fn pairs_in_buckets(&self, level: Level, i: usize, emit: &mut dyn FnMut(u64, u64)) {
        let table = &self.tables[i];
        let mut positions = Vec::new();
        let mut once = |a: u64, b: u64| {
            if self.finder(a ^ b) == Some(i) {
                emit(a, b);
            }
        };
        for bucket in 0..table.buckets() as u32 {
            let mut codes = table.codes(bucket);
            while let Some((&code, rest)) = codes.split_first() {
                simd::near(level, rest, code, self.radius, &mut positions);
                positions.drain(..).for_each(|at| once(code, rest[at as usize]));
                codes = rest;
            }
        }
        table.all_nested().iter().for_each(|nested| nested.pairs(&mut once));
    }

    fn pairs_by_probing(&self, level: Level, i: usize, emit: &mut dyn FnMut(u64, u64)) {
        let mut positions = Vec::new();
        let mut buckets = Vec::new();
        self.each_code(&mut |code| {
            self.tables[i].probe(code, |bucket| buckets.push(bucket));
            for bucket in buckets.drain(..) {
                self.look(level, code, i, bucket, &mut positions, &mut |other, _| {
                    if code < other {
                        emit(code, other);
                    }
                    false
                });
            }
        });
    }
}
