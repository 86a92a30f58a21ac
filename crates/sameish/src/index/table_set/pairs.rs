//! Self-join: all pairs of codes within the radius.

use super::super::pages::BucketStore;
use super::TableSet;
use crate::simd::{self, Level};

impl<S: BucketStore> TableSet<S> {
    /// Emits each pair of codes within the radius once.
    pub(in crate::index) fn pairs(&self, emit: &mut dyn FnMut(u64, u64)) {
        let level = Level::current();
        let mut positions = Vec::new();
        if self.scans {
            return self.each(&mut |code, _| {
                self.scan(level, self.query_plan.radius, code, &mut positions, &mut |other, _| {
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

    /// Reports the pairs of a table without flips. Both codes of such a pair are in the same bucket.
    fn pairs_in_buckets(&self, level: Level, i: usize, emit: &mut dyn FnMut(u64, u64)) {
        let table = &self.tables[i];
        let mut positions = Vec::new();
        let mut emit_if_first = |a: u64, b: u64| {
            if self.query_plan.first_finding(a ^ b) == Some(i) {
                emit(a, b);
            }
        };
        for bucket in 0..table.buckets() as u32 {
            let mut codes = table.codes(bucket);
            while let Some((&code, rest)) = codes.split_first() {
                simd::near(level, rest, code, self.query_plan.radius, &mut positions);
                positions.drain(..).for_each(|at| emit_if_first(code, rest[at as usize]));
                codes = rest;
            }
        }
        table.all_nested().iter().for_each(|nested| nested.table_set.pairs(&mut emit_if_first));
    }

    /// Reports the pairs of a table with flips, by probing with each code.
    fn pairs_by_probing(&self, i: usize, emit: &mut dyn FnMut(u64, u64)) {
        let mut positions = Vec::new();
        let mut buckets = Vec::new();
        self.tables[i].each(&mut |code, _| {
            self.tables[i].probe(code, self.query_plan.specs[i].flips, |bucket| buckets.push(bucket));
            for bucket in buckets.drain(..) {
                self.search_bucket(&self.query_plan, code, i, bucket, &mut positions, &mut |other, _| {
                    if code < other {
                        emit(code, other);
                    }
                    false
                });
            }
        });
    }
}
