//! Who is near, by looking at everyone?

use super::{DocNumber, Hit};
use crate::simd::{self, Level};
use crate::sketch::Fingerprint;

/// Codes that stay in the first cache while many queries pass over them.
const TILE: usize = 2048;

/// Compares a query with every fingerprint: the definition of what an index has to find.
///
/// ```
/// use sameish::{DocNumber, Fingerprint, Hit, LinearScan};
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
    /// Adds a document. What is already there is not looked for.
    pub fn insert(&mut self, fingerprint: Fingerprint, doc: DocNumber) {
        self.codes.push(fingerprint.as_u64());
        self.docs.push(doc);
    }

    /// Removes a document, and tells whether it was there.
    pub fn remove(&mut self, fingerprint: Fingerprint, doc: DocNumber) -> bool {
        let mut entries = self.codes.iter().zip(&self.docs);
        let Some(at) = entries.position(|(&code, &d)| code == fingerprint.as_u64() && d == doc) else {
            return false;
        };
        self.codes.swap_remove(at);
        self.docs.swap_remove(at);
        true
    }

    /// Replaces `hits` by every document within the radius, the nearest first, then by number.
    pub fn find_all(&self, query: Fingerprint, radius: u32, hits: &mut Vec<Hit>) {
        hits.clear();
        self.find_all_bulk(&[query], radius, |_, found| hits.extend_from_slice(found));
    }

    /// Gives `sink` the position of each query and its hits, as [`find_all`](Self::find_all) does, in order.
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

    /// How many documents there are.
    pub fn len(&self) -> usize {
        self.codes.len()
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.codes.is_empty()
    }
}
