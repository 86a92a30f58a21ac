//! The fingerprint index of an engine whose documents may also have MinHash signatures.

use super::{DocNumber, HammingIndex, Hit};
use crate::config::Config;
use crate::error::Result;
use crate::features::hash::fold;
use crate::sketch::Fingerprint;
use std::hash::{BuildHasher, Hasher, RandomState};

/// Radius in bits for pairs of documents that both have a signature, which the band index finds too.
///
/// Fingerprints of unrelated texts are not uniformly distributed, because common words determine most of their bits. In the
/// benchmark corpus of 320,000 articles, an article has on average 14 unrelated articles within 3 bits and 210 within 5,
/// and these numbers grow with the corpus. Distances of 4 and 5 bits add only 2 to 5 matches per 1,000 that bands do not
/// find (docs/algorithms.md). Manku, Jain and Das Sarma (2007) also choose a radius of 3.
pub const SIGNED_RADIUS: u32 = 3;

/// Which documents a search returns if there are many; see [`FingerprintIndex::find_sample`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Sample {
    /// Maximum number of documents per index.
    pub(crate) most: usize,
    /// Determines the documents.
    pub(crate) seed: u64,
}

/// Two Hamming indexes: one for documents that also have a MinHash signature, one for documents that do not.
///
/// If matches are verified, fingerprints only provide candidates. Two matching documents with signatures almost always
/// share a band, so their fingerprints are searched only within [`SIGNED_RADIUS`] bits, for the few pairs that share none. A
/// document without a signature can only be found by its fingerprint, so it is searched within the configured radius.
///
/// # Examples
/// ```
/// use sameish::index::{DocNumber, FingerprintIndex};
/// use sameish::{Fingerprint, Preset};
///
/// let mut prints = FingerprintIndex::new(&Preset::Articles.config(), 1000)?.unwrap();
/// prints.insert(Fingerprint::from_u64(0xAB00), DocNumber(1), true);
/// prints.insert(Fingerprint::from_u64(0xAB01), DocNumber(2), false);
/// let mut hits = Vec::new();
/// let query = Fingerprint::from_u64(0xAB0F);
/// prints.find(query, true, &mut hits); // distance 4 to document 1, distance 3 to document 2
/// assert_eq!(hits.iter().map(|hit| hit.doc.0).collect::<Vec<_>>(), [2]);
/// prints.find(query, false, &mut hits);
/// assert_eq!(hits.iter().map(|hit| hit.doc.0).collect::<Vec<_>>(), [2, 1]);
/// # Ok::<(), sameish::Error>(())
/// ```
#[derive(Clone, Debug)]
pub struct FingerprintIndex {
    /// Different in every process, so that nobody can know which documents a sample leaves out.
    key: u64,
    unsigned: HammingIndex,
    /// `None` if signatures do not affect the radius; then `unsigned` has all fingerprints.
    signed: Option<HammingIndex>,
}

impl FingerprintIndex {
    /// Creates an index for about `expected` fingerprints. Returns `None` if the configuration produces no fingerprints.
    pub fn new(config: &Config, expected: usize) -> Result<Option<FingerprintIndex>> {
        let Some(simhash) = &config.simhash else { return Ok(None) };
        let index = match simhash.blocks {
            Some(blocks) => HammingIndex::with_blocks_and_radius(blocks, simhash.radius),
            None => HammingIndex::with_capacity(simhash.radius, expected),
        }?;
        let is_split = config.matching.verify && config.minhash.is_some();
        let key = RandomState::new().build_hasher().finish();
        Ok(Some(FingerprintIndex { key, signed: is_split.then(|| index.clone()), unsigned: index }))
    }

    /// Adds a document; `signed` says whether it has a signature. Returns `true` if it is new.
    ///
    /// Fingerprint zero means that the text has no words, so the caller must not insert it.
    pub fn insert(&mut self, print: Fingerprint, doc: DocNumber, signed: bool) -> bool {
        self.index(signed).insert(print, doc)
    }

    /// Adds many documents, faster than one by one. On an empty index, this chooses the tables for the number of documents
    /// given, so the first call should contain all of them.
    pub fn insert_all(&mut self, prints: impl Iterator<Item = (Fingerprint, DocNumber, bool)>) {
        let mut signed = Vec::new();
        let mut unsigned = Vec::new();
        for (print, doc, is_signed) in prints {
            if is_signed && self.signed.is_some() { &mut signed } else { &mut unsigned }.push((print, doc));
        }
        self.unsigned.insert_all(&unsigned);
        self.signed.iter_mut().for_each(|index| _ = index.insert_all(&signed));
    }

    /// Removes a document, given its fingerprint and whether it has a signature. Returns `true` if the index contained it.
    pub fn remove(&mut self, print: Fingerprint, doc: DocNumber, signed: bool) -> bool {
        self.index(signed).remove(print, doc)
    }

    /// Replaces `hits` with the candidates for a query, by ascending distance, then by ascending number. `signed` says whether
    /// the query has a signature.
    pub fn find(&self, print: Fingerprint, signed: bool, hits: &mut Vec<Hit>) {
        self.find_within(print, self.unsigned.radius(), signed, hits);
    }

    /// Finds candidates like [`find`](Self::find), with a radius that may be smaller or greater than the configured one. A greater
    /// radius compares the query with all fingerprints, except with those of documents that have a signature, if the query has
    /// one, too.
    pub fn find_within(&self, print: Fingerprint, radius: u32, signed: bool, hits: &mut Vec<Hit>) {
        self.unsigned.find_within_any(print, radius, hits);
        let Some(index) = &self.signed else { return };
        let mut more = Vec::new();
        index.find_within_any(print, if signed { SIGNED_RADIUS } else { radius }, &mut more);
        if hits.is_empty() {
            *hits = more;
        } else {
            hits.append(&mut more);
            hits.sort_unstable();
        }
    }

    /// Returns `true` if the index need not compare a query with all fingerprints to find those within a radius.
    pub(crate) fn reaches(&self, radius: u32) -> bool {
        radius <= self.unsigned.radius()
    }

    /// Finds candidates like [`find_within`](Self::find_within) with a radius that is at most the configured one, but at most about
    /// `most` of them: see [`HammingIndex::find_sample`]. Returns `true` if there are more.
    pub(crate) fn find_sample(
        &self,
        print: Fingerprint,
        signed: bool,
        radius: u32,
        sample: Sample,
        hits: &mut Vec<Hit>,
    ) -> bool {
        let Sample { most, seed } = sample;
        let seed = fold(seed ^ self.key, 0xD6E8_FEB8_6659_FD93);
        let mut is_limited = self.unsigned.find_sample(print, radius, most, seed, hits);
        let Some(index) = &self.signed else { return is_limited };
        let radius = if signed { SIGNED_RADIUS } else { index.radius() };
        let mut more = Vec::new();
        is_limited |= index.find_sample(print, radius, most, seed, &mut more);
        hits.append(&mut more);
        hits.sort_unstable();
        is_limited
    }

    fn index(&mut self, signed: bool) -> &mut HammingIndex {
        self.signed.as_mut().filter(|_| signed).unwrap_or(&mut self.unsigned)
    }
}
