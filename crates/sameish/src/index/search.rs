//! How are queries answered, whether codes lie in pages or in a file?

use super::documents::DocumentSets;
use super::layers::{Layers, Lead};
use super::pages::Buckets;
use super::{DocNumber, Hit};
use crate::sketch::Fingerprint;

/// Codes whose documents are fetched together.
const PENDING: usize = 64;

/// A code that was found, before its documents are.
struct Found {
    query: usize,
    code: u64,
    lead: Lead,
}

/// Codes and documents, to be asked. See [`HammingIndex`](super::HammingIndex) for what each question means.
pub(super) struct Search<'a, S, D> {
    pub(super) layers: &'a Layers<S>,
    pub(super) documents: &'a D,
}

impl<S: Buckets, D: DocumentSets> Search<'_, S, D> {
    pub(super) fn find_first(&self, query: Fingerprint) -> Option<Hit> {
        let mut first = None;
        self.layers.find(query.as_u64(), &mut |code, lead| {
            first = self.first_of(query.as_u64(), code, lead);
            true
        });
        first
    }

    pub(super) fn find_within(&self, query: Fingerprint, radius: u32, hits: &mut Vec<Hit>) {
        hits.clear();
        self.layers.find_within(query.as_u64(), radius, &mut |code, lead| {
            self.push_hits(query.as_u64(), code, lead, hits);
            false
        });
        hits.sort_unstable();
    }

    pub(super) fn find_first_bulk(&self, queries: &[Fingerprint]) -> Vec<Option<Hit>> {
        let codes: Vec<u64> = queries.iter().map(|query| query.as_u64()).collect();
        let mut firsts = vec![None; queries.len()];
        self.find_bulk(&codes, true, &mut |query, code, lead| {
            firsts[query] = self.first_of(codes[query], code, lead);
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
        self.find_bulk(&codes, false, &mut |query, code, lead| {
            tell(&mut hits, query);
            self.push_hits(codes[query], code, lead, &mut hits);
        });
        tell(&mut hits, queries.len());
    }

    /// Calls `each` with the position of a query and what was found for it, in order, some time after it was found: by
    /// then its documents are in the cache.
    fn find_bulk(&self, codes: &[u64], first: bool, each: &mut dyn FnMut(usize, u64, Lead)) {
        let mut pending = Vec::with_capacity(PENDING);
        let mut settle = |pending: &mut Vec<Found>| {
            let unplaced = |found: &&mut Found| matches!(found.lead, Lead::Code);
            pending.iter_mut().filter(unplaced).for_each(|found| self.layers.prefetch_first(found.code));
            pending.iter_mut().filter(unplaced).for_each(|found| found.lead = self.layers.locate(found.code));
            pending.drain(..).for_each(|Found { query, code, lead }| each(query, code, lead));
        };
        self.layers.find_bulk(codes, first, &mut |query, code, lead| {
            match lead {
                Lead::Code => self.layers.prefetch_first_header(code),
                lead => self.layers.prefetch_value(lead),
            }
            pending.push(Found { query, code, lead });
            if pending.len() == PENDING {
                settle(&mut pending);
            }
            first
        });
        settle(&mut pending);
    }

    fn push_hits(&self, query: u64, code: u64, lead: Lead, hits: &mut Vec<Hit>) {
        let distance = (query ^ code).count_ones();
        let Some(value) = self.layers.value(code, lead) else { return };
        self.documents.each(code, value, &mut |doc| hits.push(Hit { distance, doc: DocNumber(doc) }));
    }

    fn first_of(&self, query: u64, code: u64, lead: Lead) -> Option<Hit> {
        let value = self.layers.value(code, lead)?;
        let distance = (query ^ code).count_ones();
        let mut first = None;
        self.documents.each(code, value, &mut |doc| {
            first.get_or_insert(Hit { distance, doc: DocNumber(doc) });
        });
        first
    }
}
