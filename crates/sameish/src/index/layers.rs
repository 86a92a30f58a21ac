//! Which codes are near, found in several tables but told once?
//!
//! Every pair within the radius is found by at least one table of the plan, and by how it differs one can tell which
//! tables those are. Only the first of them reports it.

use super::pages::{Buckets, Pages};
use super::part::Part;
use super::plan::{self, Key, Spec};
use super::table::{Nested, Shape, Table};
use crate::simd::{self, Level};

/// How many probes ahead the header of a bucket, and then its codes, are fetched.
const HEADER_AHEAD: usize = 64;
const CODES_AHEAD: usize = 32;
/// Probes that are listed before they are walked: the list stays in the cache.
const LISTED: usize = 4096;
/// The same in queries, or changes, where each looks into one bucket a table.
const QUERY_HEADER_AHEAD: usize = 16;
const QUERY_CODES_AHEAD: usize = 8;
/// Queries that ask the index of a crowded bucket together. What it finds waits, so few, because it may be much.
const TOGETHER: usize = 64;

/// Distinct codes under the tables of a plan. The first table has the values, if there are any; in a part all have.
#[derive(Clone, Debug)]
pub(super) struct Layers<S> {
    reach: Reach,
    part: Part,
    tables: Vec<Table<S>>,
    len: usize,
    /// Whether a scan of the first table is cheaper than the plan.
    scans: bool,
}

/// How far queries look, and by which tables: the first ones, as many as there are specs.
#[derive(Clone, Debug)]
struct Reach {
    radius: u32,
    specs: Vec<Spec>,
}

/// What is known of the value of a code that was found. Values are far away: whoever wants them can fetch many at once.
#[derive(Clone, Copy, Debug)]
pub(super) enum Lead {
    Value(u32),
    /// The value is in this place.
    Place {
        table: u32,
        bucket: u32,
        at: u32,
    },
    /// The value is somewhere in the first table.
    Code,
}

/// What is done with a code that was found. Says whether to stop.
pub(super) type Emit<'a> = dyn FnMut(u64, Lead) -> bool + 'a;

/// The same for many queries, with the position of the query first.
pub(super) type EmitBulk<'a> = dyn FnMut(usize, u64, Lead) -> bool + 'a;

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

impl Layers<Pages> {
    /// Tables with these codes, which are distinct.
    pub(super) fn build(
        plan: Vec<Spec>,
        radius: u32,
        with_values: bool,
        depth: u32,
        codes: &[u64],
        values: &[u32],
    ) -> Layers<Pages> {
        let load = plan::load(&plan, radius);
        let table = |(i, spec)| {
            let (shape, values) = (Shape::new(spec, load, codes.len()), if i == 0 { values } else { &[] });
            Table::build(shape, with_values && i == 0, radius, depth, codes, values)
        };
        let tables = plan.into_iter().enumerate().map(table).collect();
        Layers::over(radius, Part::WHOLE, tables, codes.len())
    }

    /// Tables with those of these codes, which are distinct, that the part owns.
    pub(super) fn build_part(
        plan: Vec<Spec>,
        radius: u32,
        part: Part,
        codes: &[u64],
        values: &[u32],
    ) -> Layers<Pages> {
        let load = plan::load(&plan, radius);
        let table = |spec: &Spec| {
            let owned = (0..codes.len()).filter(|&i| part.owns(spec, codes[i]));
            let (codes, values): (Vec<u64>, Vec<u32>) = owned.map(|i| (codes[i], values[i])).unzip();
            Table::build(Shape::new(*spec, load, codes.len()), true, radius, 0, &codes, &values)
        };
        let tables = plan.iter().map(table).collect();
        let owned = |code: &&u64| plan.iter().any(|spec| part.owns(spec, **code));
        Layers::over(radius, part, tables, codes.iter().filter(owned).count())
    }

    pub(super) fn set(&mut self, code: u64, value: u32) {
        if !self.part.is_partial() {
            return self.tables[0].set(code, value);
        }
        self.owning_mut(code).for_each(|table| table.set(code, value));
    }

    /// Adds a code that is not here yet and that this part owns.
    pub(super) fn insert(&mut self, code: u64, value: u32) {
        self.owning_mut(code).for_each(|table| table.insert(code, value));
        self.len += 1;
        if self.len.is_power_of_two() {
            self.decide();
        }
    }

    /// Removes a code that is here.
    pub(super) fn remove(&mut self, code: u64) {
        self.owning_mut(code).for_each(|table| table.remove(code));
        self.len -= 1;
        if self.len.is_power_of_two() {
            self.decide();
        }
    }

    pub(super) fn memory_bytes(&self) -> usize {
        self.tables.iter().map(|table| size_of::<Table<Pages>>() + table.memory_bytes()).sum()
    }

    /// Fetches what an insert of the code reads and writes, after [`prefetch_headers`](Self::prefetch_headers).
    pub(super) fn prefetch_insert(&self, code: u64) {
        let first = &self.tables[0];
        first.store.prefetch_codes(first.bucket(code));
        self.tables.iter().for_each(|table| table.prefetch_end(code));
    }

    /// Fetches what a removal of the code reads and writes.
    pub(super) fn prefetch_remove(&self, code: u64) {
        self.prefetch_codes(code);
        let first = &self.tables[0];
        first.store.prefetch_value(first.bucket(code), 0);
    }

    /// Calls `change` with each code and its position, and fetches memory for those that come later.
    pub(super) fn ahead_of<T>(
        host: &mut T,
        codes: &[u64],
        layers: impl Fn(&T) -> &Layers<Pages>,
        prefetch: impl Fn(&Layers<Pages>, u64),
        mut change: impl FnMut(&mut T, usize),
    ) {
        for i in 0..codes.len() {
            if let Some(&code) = codes.get(i + QUERY_HEADER_AHEAD) {
                layers(host).prefetch_headers(code);
            }
            if let Some(&code) = codes.get(i + QUERY_CODES_AHEAD) {
                prefetch(layers(host), code);
            }
            change(host, i);
        }
    }

    fn owning_mut(&mut self, code: u64) -> impl Iterator<Item = &mut Table<Pages>> {
        let part = self.part;
        self.tables.iter_mut().filter(move |table| part.owns(table.spec(), code))
    }
}

impl Reach {
    /// A smaller radius needs fewer flips, and then fewer tables.
    fn within(&self, radius: u32) -> Reach {
        Reach { radius, specs: plan::within(&self.specs, radius) }
    }

    /// Whether queries look for keys other than their own.
    fn flips(&self) -> bool {
        self.specs.iter().any(|spec| spec.flips > 0)
    }

    /// The first table that finds a pair that differs in these bits.
    #[inline]
    fn finder(&self, differing: u64) -> Option<usize> {
        self.specs.iter().position(|spec| spec.finds(differing))
    }
}

impl Cover {
    fn has(&self, query: u64) -> bool {
        (query ^ self.code) & self.mask == 0
    }
}

impl<S: Buckets> Layers<S> {
    /// Layers of tables that are there.
    pub(super) fn over(radius: u32, part: Part, tables: Vec<Table<S>>, len: usize) -> Layers<S> {
        let reach = Reach { radius, specs: tables.iter().map(|table| *table.spec()).collect() };
        let mut layers = Layers { reach, part, tables, len, scans: false };
        layers.decide();
        layers
    }

    /// The value of a code, if it is here.
    pub(super) fn get(&self, code: u64) -> Option<u32> {
        if !self.part.is_partial() {
            return self.tables[0].get(code);
        }
        self.tables.iter().find(|table| self.part.owns(table.spec(), code))?.get(code)
    }

    pub(super) fn tables(&self) -> &[Table<S>] {
        &self.tables
    }

    /// How many distinct codes there are.
    pub(super) fn len(&self) -> usize {
        self.len
    }

    pub(super) fn part(&self) -> Part {
        self.part
    }

    pub(super) fn specs(&self) -> Vec<Spec> {
        self.reach.specs.clone()
    }

    /// Whether some table of this part has the code.
    pub(super) fn owns(&self, code: u64) -> bool {
        self.tables.iter().any(|table| self.part.owns(table.spec(), code))
    }

    /// The parts that can have codes near the query, in rising order.
    pub(super) fn parts_for(&self, query: u64) -> Vec<u32> {
        let mut marked = vec![false; self.part.of as usize];
        for table in &self.tables {
            match table.spec() {
                Spec { key: Key::Hashed, flips: 1.., .. } => marked.fill(true),
                spec => self.part.mark(spec, query, &mut marked),
            }
        }
        (0..self.part.of).filter(|&part| marked[part as usize]).collect()
    }

    /// Fetches the headers of the buckets of a code.
    #[inline]
    pub(super) fn prefetch_headers(&self, code: u64) {
        self.tables.iter().for_each(|table| table.store.prefetch_header(table.bucket(code)));
    }

    /// Fetches the codes of the buckets of a code.
    #[inline]
    pub(super) fn prefetch_codes(&self, code: u64) {
        self.tables.iter().for_each(|table| table.store.prefetch_codes(table.bucket(code)));
    }

    /// Fetches the header of the bucket of a code in the first table: the first of three steps to its value.
    pub(super) fn prefetch_first_header(&self, code: u64) {
        let table = &self.tables[0];
        table.store.prefetch_header(table.bucket(code));
    }

    /// Fetches the bucket of a code in the first table: the second step.
    pub(super) fn prefetch_first(&self, code: u64) {
        let table = &self.tables[0];
        table.store.prefetch_codes(table.bucket(code));
    }

    /// Finds the place of a code in the first table, and fetches its value: the third step.
    pub(super) fn locate(&self, code: u64) -> Lead {
        let Some((bucket, at)) = self.tables[0].locate(code) else { return Lead::Code };
        let lead = Lead::Place { table: 0, bucket, at: at as u32 };
        self.prefetch_value(lead);
        lead
    }

    /// Fetches a value.
    #[inline]
    pub(super) fn prefetch_value(&self, lead: Lead) {
        if let Lead::Place { table, bucket, at } = lead {
            self.tables[table as usize].store.prefetch_value(bucket, at as usize);
        }
    }

    /// The value of a code that was found.
    #[inline]
    pub(super) fn value(&self, code: u64, lead: Lead) -> Option<u32> {
        match lead {
            Lead::Value(value) => Some(value),
            Lead::Place { table, bucket, at } => self.tables[table as usize].value(bucket, at as usize),
            Lead::Code => self.get(code),
        }
    }

    /// Calls `each` with every code of the first table and its value, if it has one.
    pub(super) fn each(&self, each: &mut dyn FnMut(u64, Option<u32>)) {
        self.tables[0].each(each);
    }

    /// Emits each code within the radius once.
    pub(super) fn find(&self, query: u64, emit: &mut Emit) -> bool {
        self.find_in(&self.reach, self.scans, query, emit)
    }

    /// The same for a radius that may be smaller.
    pub(super) fn find_within(&self, query: u64, radius: u32, emit: &mut Emit) -> bool {
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
    pub(super) fn find_bulk(&self, queries: &[u64], first: bool, emit: &mut EmitBulk) {
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

    /// Emits each pair of codes within the radius once.
    pub(super) fn pairs(&self, emit: &mut dyn FnMut(u64, u64)) {
        let level = Level::current();
        let mut positions = Vec::new();
        if self.scans {
            return self.each(&mut |code, _| {
                self.scan(level, self.reach.radius, code, &mut positions, &mut |other, _| {
                    if code < other {
                        emit(code, other);
                    }
                    false
                });
            });
        }
        for (i, table) in self.tables.iter().enumerate() {
            if table.spec().flips == 0 {
                self.pairs_in_buckets(level, i, emit);
            } else {
                self.pairs_by_probing(i, emit);
            }
        }
    }

    fn decide(&mut self) {
        self.scans = self.is_scanned(&self.reach);
    }

    /// Whether looking at all codes is the cheapest, or the only way.
    fn is_scanned(&self, reach: &Reach) -> bool {
        let probed = reach.specs.iter().all(|spec| spec.flips == 0 || spec.key != Key::Hashed);
        // A part that scanned would tell what another part tells by its tables.
        let dear = || plan::cost(&reach.specs, self.len) > plan::scan_cost(self.len);
        !probed || !self.part.is_partial() && dear()
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

    /// Emits what this table, and none before it, finds in one bucket.
    #[inline]
    fn look(
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

    /// Emits what is near, by looking at every code of the first table.
    fn scan(&self, level: Level, radius: u32, query: u64, positions: &mut Vec<u32>, emit: &mut Emit) -> bool {
        let table = &self.tables[0];
        let mut stopped = false;
        for bucket in 0..table.buckets() as u32 {
            simd::near(level, table.codes(bucket), query, radius, positions);
            for at in positions.drain(..) {
                stopped = stopped || emit(table.codes(bucket)[at as usize], table.lead(bucket, at));
            }
            if stopped {
                return true;
            }
        }
        table.all_nested().iter().any(|nested| {
            nested
                .layers
                .scan(level, radius, query, positions, &mut |code, lead| emit(code, nested.lead(lead)))
        })
    }

    /// As [`scan`](Self::scan), many queries a bucket. What is found waits until all buckets were seen, so few queries
    /// are taken together where many are near.
    fn scan_bulk(&self, queries: &[u64], emit: &mut EmitBulk) {
        let level = Level::current();
        let (mut positions, mut found) = (Vec::new(), Vec::new());
        let together = if self.reach.radius <= 16 { 256 } else { 16 };
        for (chunk, queries) in queries.chunks(together).enumerate() {
            self.scan_chunk(level, queries, &mut positions, &mut found);
            found.sort_unstable_by_key(|&(query, _, _)| query);
            let mut done = usize::MAX;
            for (query, code, lead) in found.drain(..) {
                if query != done && emit(chunk * together + query, code, lead) {
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
        found: &mut Vec<(usize, u64, Lead)>,
    ) {
        let table = &self.tables[0];
        for bucket in 0..table.buckets() as u32 {
            let codes = table.codes(bucket);
            for (i, &query) in queries.iter().enumerate() {
                simd::near(level, codes, query, self.reach.radius, positions);
                let hit = |at: u32| (i, codes[at as usize], table.lead(bucket, at));
                found.extend(positions.drain(..).map(hit));
            }
        }
        table
            .all_nested()
            .iter()
            .for_each(|nested| nested.layers.scan_chunk(level, queries, positions, found));
    }

    /// The pairs of a table without flips stand in one bucket.
    fn pairs_in_buckets(&self, level: Level, i: usize, emit: &mut dyn FnMut(u64, u64)) {
        let table = &self.tables[i];
        let mut positions = Vec::new();
        let mut once = |a: u64, b: u64| {
            if self.reach.finder(a ^ b) == Some(i) {
                emit(a, b);
            }
        };
        for bucket in 0..table.buckets() as u32 {
            let mut codes = table.codes(bucket);
            while let Some((&code, rest)) = codes.split_first() {
                simd::near(level, rest, code, self.reach.radius, &mut positions);
                positions.drain(..).for_each(|at| once(code, rest[at as usize]));
                codes = rest;
            }
        }
        table.all_nested().iter().for_each(|nested| nested.layers.pairs(&mut once));
    }

    fn pairs_by_probing(&self, i: usize, emit: &mut dyn FnMut(u64, u64)) {
        let mut positions = Vec::new();
        let mut buckets = Vec::new();
        self.tables[i].each(&mut |code, _| {
            self.tables[i].probe(code, self.reach.specs[i].flips, |bucket| buckets.push(bucket));
            for bucket in buckets.drain(..) {
                self.look(&self.reach, code, i, bucket, &mut positions, &mut |other, _| {
                    if code < other {
                        emit(code, other);
                    }
                    false
                });
            }
        });
    }
}
