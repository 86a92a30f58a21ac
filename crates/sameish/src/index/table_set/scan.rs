//! Linear scan over all codes of the first table.

use super::super::pages::BucketStore;
use super::{Emit, EmitBulk, TableSet, ValueRef};
use crate::simd::{self, Level};

impl<S: BucketStore> TableSet<S> {
    /// Emits each code within any radius of the query. The set must not be a part of a partitioned index, of which no table has
    /// all codes.
    pub(in super::super) fn scan_within(&self, query: u64, radius: u32, emit: &mut Emit) {
        self.scan(Level::current(), radius, query, &mut Vec::new(), emit);
    }

    /// Emits each code within the radius, by comparing the query with every code of the first table.
    pub(super) fn scan(
        &self,
        level: Level,
        radius: u32,
        query: u64,
        positions: &mut Vec<u32>,
        emit: &mut Emit,
    ) -> bool {
        let table = &self.tables[0];
        let mut stopped = false;
        for bucket in 0..table.buckets() as u32 {
            simd::near(level, table.codes(bucket), query, radius, positions);
            for at in positions.drain(..) {
                stopped = stopped || emit(table.codes(bucket)[at as usize], table.value_ref(bucket, at));
            }
            if stopped {
                return true;
            }
        }
        table.all_nested().iter().any(|nested| {
            nested.table_set.scan(level, radius, query, positions, &mut |code, value_ref| {
                emit(code, nested.outer_value_ref(value_ref))
            })
        })
    }

    /// Like [`scan`](Self::scan), but compares each bucket with many queries. Matches are buffered until all buckets have been
    /// scanned, so a chunk has fewer queries if the radius is large and matches are frequent.
    pub(super) fn scan_bulk(&self, queries: &[u64], emit: &mut EmitBulk) {
        let level = Level::current();
        let mut positions = Vec::new();
        let mut found = Vec::new();
        let chunk_len = if self.query_plan.radius <= 16 { 256 } else { 16 };
        for (chunk, queries) in queries.chunks(chunk_len).enumerate() {
            self.scan_chunk(level, queries, &mut positions, &mut found);
            found.sort_unstable_by_key(|&(query, _, _)| query);
            let mut done = usize::MAX;
            for (query, code, value_ref) in found.drain(..) {
                if query != done && emit(chunk * chunk_len + query, code, value_ref) {
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
        found: &mut Vec<(usize, u64, ValueRef)>,
    ) {
        let table = &self.tables[0];
        for bucket in 0..table.buckets() as u32 {
            let codes = table.codes(bucket);
            for (i, &query) in queries.iter().enumerate() {
                simd::near(level, codes, query, self.query_plan.radius, positions);
                let hit = |at: u32| (i, codes[at as usize], table.value_ref(bucket, at));
                found.extend(positions.drain(..).map(hit));
            }
        }
        table
            .all_nested()
            .iter()
            .for_each(|nested| nested.table_set.scan_chunk(level, queries, positions, found));
    }
}
