//! Queries over codes and documents, for indexes in memory ([`HammingIndex`](super::HammingIndex)) and stored ones
//! ([`HammingView`](super::HammingView)).

use super::documents::DocumentSets;
use super::pages::BucketStore;
use super::table_set::{TableSet, ValueRef};
use super::{DocNumber, Hit};
use crate::sketch::Fingerprint;

/// Number of matching codes whose documents are prefetched together.
const BATCH: usize = 64;

/// A matching code whose documents have not been read yet.
struct PendingCode {
    query: usize,
    code: u64,
    value_ref: ValueRef,
}

/// Codes and documents to search. The methods are documented at [`HammingIndex`](super::HammingIndex).
pub(super) struct Search<'a, S, D> {
    pub(super) table_set: &'a TableSet<S>,
    pub(super) documents: &'a D,
}

impl<S: BucketStore, D: DocumentSets> Search<'_, S, D> {
    pub(super) fn find_first(&self, query: Fingerprint) -> Option<Hit> {
        let mut first = None;
        self.table_set.find(query.as_u64(), &mut |code, value_ref| {
            first = self.first_of(query.as_u64(), code, value_ref);
            true
        });
        first
    }

    pub(super) fn find_within(&self, query: Fingerprint, radius: u32, hits: &mut Vec<Hit>) {
        hits.clear();
        self.table_set.find_within(query.as_u64(), radius, &mut |code, value_ref| {
            self.push_hits(query.as_u64(), code, value_ref, hits);
            false
        });
        hits.sort_unstable();
    }

    pub(super) fn scan_within(&self, query: Fingerprint, radius: u32, hits: &mut Vec<Hit>) {
        hits.clear();
        self.table_set.scan_within(query.as_u64(), radius, &mut |code, value_ref| {
            self.push_hits(query.as_u64(), code, value_ref, hits);
            false
        });
        hits.sort_unstable();
    }

    /// Calls `each` with each code within a radius and its value.
    pub(super) fn each_code_within(&self, query: Fingerprint, radius: u32, each: &mut dyn FnMut(u64, u32)) {
        self.table_set.find_within(query.as_u64(), radius, &mut |code, value_ref| {
            self.table_set.value(code, value_ref).into_iter().for_each(|value| each(code, value));
            false
        });
    }

    pub(super) fn find_first_bulk(&self, queries: &[Fingerprint]) -> Vec<Option<Hit>> {
        let codes: Vec<u64> = queries.iter().map(|query| query.as_u64()).collect();
        let mut firsts = vec![None; queries.len()];
        self.find_bulk(&codes, true, &mut |query, code, value_ref| {
            firsts[query] = self.first_of(codes[query], code, value_ref);
        });
        firsts
    }

    pub(super) fn find_all_bulk(&self, queries: &[Fingerprint], mut sink: impl FnMut(usize, &[Hit])) {
        let codes: Vec<u64> = queries.iter().map(|query| query.as_u64()).collect();
        let mut next = 0;
        let mut hits = Vec::new();
        let mut finish_before = |hits: &mut Vec<Hit>, end: usize| {
            while next < end {
                hits.sort_unstable();
                sink(next, hits);
                hits.clear();
                next += 1;
            }
        };
        self.find_bulk(&codes, false, &mut |query, code, value_ref| {
            finish_before(&mut hits, query);
            self.push_hits(codes[query], code, value_ref, &mut hits);
        });
        finish_before(&mut hits, queries.len());
    }

    /// Calls `each` with the position of a query and each code that matches it, in order. Calls are delayed by up to
    /// [`BATCH`] matches, so that the documents of a match have been prefetched by then.
    fn find_bulk(&self, codes: &[u64], first: bool, each: &mut dyn FnMut(usize, u64, ValueRef)) {
        let mut pending = Vec::with_capacity(BATCH);
        let mut resolve = |pending: &mut Vec<PendingCode>| {
            let is_unlocated = |hit: &&mut PendingCode| matches!(hit.value_ref, ValueRef::ByCode);
            pending.iter_mut().filter(is_unlocated).for_each(|hit| self.table_set.prefetch_first(hit.code));
            pending
                .iter_mut()
                .filter(is_unlocated)
                .for_each(|hit| hit.value_ref = self.table_set.locate(hit.code));
            pending.drain(..).for_each(|hit| each(hit.query, hit.code, hit.value_ref));
        };
        self.table_set.find_bulk(codes, first, &mut |query, code, value_ref| {
            match value_ref {
                ValueRef::ByCode => self.table_set.prefetch_first_header(code),
                value_ref => self.table_set.prefetch_value(value_ref),
            }
            pending.push(PendingCode { query, code, value_ref });
            if pending.len() == BATCH {
                resolve(&mut pending);
            }
            first
        });
        resolve(&mut pending);
    }

    fn push_hits(&self, query: u64, code: u64, value_ref: ValueRef, hits: &mut Vec<Hit>) {
        let distance = (query ^ code).count_ones();
        let Some(value) = self.table_set.value(code, value_ref) else { return };
        self.documents.each(code, value, &mut |doc| hits.push(Hit { distance, doc: DocNumber(doc) }));
    }

    fn first_of(&self, query: u64, code: u64, value_ref: ValueRef) -> Option<Hit> {
        let value = self.table_set.value(code, value_ref)?;
        let distance = (query ^ code).count_ones();
        let mut first = None;
        self.documents.each(code, value, &mut |doc| {
            first.get_or_insert(Hit { distance, doc: DocNumber(doc) });
        });
        first
    }
}
