//! Which codes are near, found in several tables but told once?
//!
//! Every pair within the radius is found by at least one table of the plan, and by how it differs one can tell which
//! tables those are. Only the first of them reports it.

mod find;
mod pairs;
mod scan;

use super::pages::{Buckets, Pages};
use super::part::Part;
use super::plan::{self, Key, Spec};
use super::table::{Shape, Table};

/// How many queries or changes ahead, where each looks into one bucket a table, the headers of buckets, and then their codes,
/// are fetched.
const QUERY_HEADER_AHEAD: usize = 16;
const QUERY_CODES_AHEAD: usize = 8;

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
}
