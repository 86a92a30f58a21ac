//! Linear scan over all fingerprints.

use super::{DocNumber, Hit};
use crate::simd::{self, Level};
use crate::sketch::Fingerprint;

/// Number of codes compared with a chunk of queries before the next codes are loaded: 16 KiB, which fit in the L1 cache.
const TILE: usize = 2048;

/// Compares a query with every fingerprint. Serves as the reference that indexes are tested against.
///
/// ```
/// use sameish::index::{DocNumber, Hit, LinearScan};
/// use sameish::Fingerprint;
///
/// let mut scan = LinearScan::default();
/// scan.insert(Fingerprint::from_u64(0b1011), DocNumber(7));
/// let mut hits = Vec::new();
/// scan.find_all(Fingerprint::from_u64(0b1000), 2, &mut hits);
/// assert_eq!(hits, [Hit { distance: 2, doc: DocNumber(7) }]);
/// ```
#[derive(Clone, Debug, Default)]
pub struct LinearScan {
    codes: Vec<u64>,
    docs: Vec<DocNumber>,
}

impl LinearScan {
    /// Adds a document without checking whether it is already present.
    pub fn insert(&mut self, fingerprint: Fingerprint, doc: DocNumber) {
        self.codes.push(fingerprint.as_u64());
        self.docs.push(doc);
    }

    /// Removes a document. Returns `true` if it was present.
    pub fn remove(&mut self, fingerprint: Fingerprint, doc: DocNumber) -> bool {
        let mut entries = self.codes.iter().zip(&self.docs);
        let Some(at) = entries.position(|(&code, &d)| code == fingerprint.as_u64() && d == doc) else {
            return false;
        };
        self.codes.swap_remove(at);
        self.docs.swap_remove(at);
        true
    }

    /// Replaces `hits` with every document within the radius, by ascending distance, then by ascending number.
    pub fn find_all(&self, query: Fingerprint, radius: u32, hits: &mut Vec<Hit>) {
        hits.clear();
        self.find_all_bulk(&[query], radius, |_, found| hits.extend_from_slice(found));
    }

    /// Finds all hits of many queries. Calls `sink` once per query, in order, with the position of the query and its hits in
    /// the order of [`find_all`](Self::find_all).
    pub fn find_all_bulk(&self, queries: &[Fingerprint], radius: u32, mut sink: impl FnMut(usize, &[Hit])) {
        let level = Level::current();
        let mut positions = Vec::new();
        let mut hits = vec![Vec::new(); queries.len().min(TILE)];
        for (chunk, queries) in queries.chunks(TILE).enumerate() {
            for (codes, docs) in self.codes.chunks(TILE).zip(self.docs.chunks(TILE)) {
                for (query, hits) in queries.iter().zip(&mut hits) {
                    simd::near(level, codes, query.as_u64(), radius, &mut positions);
                    hits.extend(positions.drain(..).map(|at| {
                        let distance = (codes[at as usize] ^ query.as_u64()).count_ones();
                        Hit { distance, doc: docs[at as usize] }
                    }));
                }
            }
            for (i, hits) in hits.iter_mut().take(queries.len()).enumerate() {
                hits.sort_unstable();
                sink(chunk * TILE + i, hits);
                hits.clear();
            }
        }
    }

    /// Returns the number of documents.
    pub fn len(&self) -> usize {
        self.codes.len()
    }

    /// Returns `true` if there are no documents.
    pub fn is_empty(&self) -> bool {
        self.codes.is_empty()
    }
}
