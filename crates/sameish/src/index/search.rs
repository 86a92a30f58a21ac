//! How are queries answered, whether codes lie in pages or in a file?

use super::documents::DocumentSets;
use super::layers::Layers;
use super::pages::Buckets;
use super::{DocNumber, Hit};
use crate::sketch::Fingerprint;

/// Codes whose documents are fetched together.
const PENDING: usize = 64;

/// A code that was found, before its documents are.
struct Found {
    query: usize,
    code: u64,
    value: Option<u32>,
}

/// Codes and documents, to be asked. See [`HammingIndex`](super::HammingIndex) for what each question means.
pub(super) struct Search<'a, S, D> {
    pub(super) layers: &'a Layers<S>,
    pub(super) documents: &'a D,
}

impl<S: Buckets, D: DocumentSets> Search<'_, S, D> {
    pub(super) fn find_first(&self, query: Fingerprint) -> Option<Hit> {
        let mut first = None;
        self.layers.find(query.as_u64(), &mut |code, value| {
            first = self.first_of(query.as_u64(), code, value);
            true
        });
        first
    }

    pub(super) fn find_all(&self, query: Fingerprint, hits: &mut Vec<Hit>) {
        hits.clear();
        self.layers.find(query.as_u64(), &mut |code, value| {
            self.push_hits(query.as_u64(), code, value, hits);
            false
        });
        hits.sort_unstable();
    }

    pub(super) fn find_first_bulk(&self, queries: &[Fingerprint]) -> Vec<Option<Hit>> {
        let codes: Vec<u64> = queries.iter().map(|query| query.as_u64()).collect();
        let mut firsts = vec![None; queries.len()];
        self.find_bulk(&codes, true, &mut |query, code, value| {
            firsts[query] = self.first_of(codes[query], code, value);
        });
        firsts
    }

    pub(super) fn find_all_bulk(&self, queries: &[Fingerprint], mut sink: impl FnMut(usize, &[Hit])) {
        let codes: Vec<u64> = queries.iter().map(|query| query.as_u64()).collect();
        let (mut next, mut hits) = (0, Vec::new());
        let mut tell = |hits: &mut Vec<Hit>, upto: usize| {
            while next < upto {
                hits.sort_unstable();
                sink(next, hits);
                hits.clear();
                next += 1;
            }
        };
        self.find_bulk(&codes, false, &mut |query, code, value| {
            tell(&mut hits, query);
            self.push_hits(codes[query], code, value, &mut hits);
        });
        tell(&mut hits, queries.len());
    }

    /// Calls `each` with the position of a query and what was found for it, in order, some time after it was found: by
    /// then its documents are in the cache.
    fn find_bulk(&self, codes: &[u64], first: bool, each: &mut dyn FnMut(usize, u64, Option<u32>)) {
        let mut pending = Vec::with_capacity(PENDING);
        let mut settle = |pending: &mut Vec<Found>| {
            pending.iter().for_each(|found| self.layers.prefetch_first(found.code));
            pending.iter().for_each(|found| self.layers.prefetch_value(found.code));
            pending.drain(..).for_each(|Found { query, code, value }| each(query, code, value));
        };
        self.layers.find_bulk(codes, &mut |query, code, value| {
            self.layers.prefetch_first_header(code);
            pending.push(Found { query, code, value });
            if pending.len() == PENDING {
                settle(&mut pending);
            }
            first
        });
        settle(&mut pending);
    }

    fn push_hits(&self, query: u64, code: u64, value: Option<u32>, hits: &mut Vec<Hit>) {
        let distance = (query ^ code).count_ones();
        let Some(value) = value.or_else(|| self.layers.get(code)) else { return };
        self.documents.each(code, value, &mut |doc| hits.push(Hit { distance, doc: DocNumber(doc) }));
    }

    fn first_of(&self, query: u64, code: u64, value: Option<u32>) -> Option<Hit> {
        let value = value.or_else(|| self.layers.get(code))?;
        let distance = (query ^ code).count_ones();
        let mut first = None;
        self.documents.each(code, value, &mut |doc| {
            first.get_or_insert(Hit { distance, doc: DocNumber(doc) });
        });
        first
    }
}
