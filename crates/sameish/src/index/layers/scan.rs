//! What is near, by looking at every code of the first table?

use super::super::pages::Buckets;
use super::{Emit, EmitBulk, Layers, Lead};
use crate::simd::{self, Level};

impl<S: Buckets> Layers<S> {
    /// Emits what is near, by looking at every code of the first table.
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
    pub(super) fn scan_bulk(&self, queries: &[u64], emit: &mut EmitBulk) {
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
}
