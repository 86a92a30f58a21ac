//! Indexes of numbered documents: fingerprints by Hamming distance, signatures by shared bands.

use crate::error::{CodedError, Result};
use napi::bindgen_prelude::{BigUint64Array, Float64Array, Uint8Array, Uint32Array};
use napi_derive::napi;
use sameish::config::{Bands, Blocks};
use sameish::index::{BandIndex, BandSearch, DocNumber, HammingIndex, Hit};
use sameish::{Fingerprint, Signature};

/// The native part of the class `HammingIndex`.
#[napi(js_name = "NativeHammingIndex")]
pub struct NativeHammingIndex {
    index: HammingIndex,
}

/// A document that a Hamming index found.
#[napi(object)]
pub struct HammingHit {
    /// Number of the document.
    pub doc: u32,
    /// Hamming distance to the query.
    pub distance: u32,
}

/// Documents that a Hamming index found for many queries.
#[napi(object, object_from_js = false)]
pub struct HammingHits {
    /// Numbers of the documents.
    pub docs: Uint32Array,
    /// Hamming distances to the queries.
    pub distances: Uint8Array,
    /// End of the documents of each query, after a 0.
    pub offsets: Float64Array,
}

impl From<Hit> for HammingHit {
    fn from(hit: Hit) -> HammingHit {
        HammingHit { doc: hit.doc.0, distance: hit.distance }
    }
}

fn fingerprint(hex: &str) -> Result<Fingerprint> {
    Ok(Fingerprint::from_hex(hex).map_err(CodedError::from)?)
}

#[napi]
impl NativeHammingIndex {
    /// Creates an empty index. Without `blocks`, the tables are those that are fastest for `capacity` documents.
    #[napi(constructor, catch_unwind)]
    pub fn new(radius: u32, blocks: Option<u32>, capacity: u32) -> Result<NativeHammingIndex> {
        let index = match blocks {
            Some(total) => HammingIndex::with_blocks(Blocks { total, differing: radius }),
            None => HammingIndex::with_capacity(radius, capacity as usize),
        };
        Ok(NativeHammingIndex { index: index.map_err(CodedError::from)? })
    }

    /// Restores an index from the bytes of `toBytes`.
    #[napi(factory, js_name = "fromBytes", catch_unwind)]
    pub fn from_bytes(bytes: Uint8Array) -> Result<NativeHammingIndex> {
        Ok(NativeHammingIndex { index: HammingIndex::from_bytes(&bytes).map_err(CodedError::from)? })
    }

    /// Returns the radius.
    #[napi(getter, catch_unwind)]
    pub fn radius(&self) -> u32 {
        self.index.radius()
    }

    /// Returns the number of documents.
    #[napi(getter, catch_unwind)]
    pub fn size(&self) -> f64 {
        self.index.len() as f64
    }

    /// Adds a document. Returns `true` if it is new.
    #[napi(catch_unwind)]
    pub fn insert(&mut self, hash: String, doc: u32) -> Result<bool> {
        Ok(self.index.insert(fingerprint(&hash)?, DocNumber(doc)))
    }

    /// Adds documents, given as columns of equal length. Returns the number of new ones.
    #[napi(js_name = "insertMany", catch_unwind)]
    pub fn insert_many(&mut self, hashes: BigUint64Array, docs: Uint32Array) -> u32 {
        let entries: Vec<(Fingerprint, DocNumber)> = hashes
            .iter()
            .zip(docs.iter())
            .map(|(&hash, &doc)| (Fingerprint::from_u64(hash), DocNumber(doc)))
            .collect();
        self.index.insert_all(&entries) as u32
    }

    /// Removes a document. Returns `true` if the index contained it.
    #[napi(catch_unwind)]
    pub fn remove(&mut self, hash: String, doc: u32) -> Result<bool> {
        Ok(self.index.remove(fingerprint(&hash)?, DocNumber(doc)))
    }

    /// Removes documents, given as columns of equal length. Returns the number of those that the index contained.
    #[napi(js_name = "removeMany", catch_unwind)]
    pub fn remove_many(&mut self, hashes: BigUint64Array, docs: Uint32Array) -> u32 {
        let mut removed = 0;
        for (&hash, &doc) in hashes.iter().zip(docs.iter()) {
            removed += u32::from(self.index.remove(Fingerprint::from_u64(hash), DocNumber(doc)));
        }
        removed
    }

    /// Returns some document within the radius.
    #[napi(js_name = "findFirst", catch_unwind)]
    pub fn find_first(&self, query: String) -> Result<Option<HammingHit>> {
        Ok(self.index.find_first(fingerprint(&query)?).map(HammingHit::from))
    }

    /// Returns all documents within a radius, by ascending distance, then by number.
    #[napi(js_name = "findAll", catch_unwind)]
    pub fn find_all(&self, query: String, radius: u32) -> Result<Vec<HammingHit>> {
        let mut hits = Vec::new();
        self.index.find_within(fingerprint(&query)?, radius, &mut hits);
        Ok(hits.into_iter().map(HammingHit::from).collect())
    }

    /// Returns all documents within a radius for each of many queries.
    #[napi(js_name = "findAllMany", catch_unwind)]
    pub fn find_all_many(&self, queries: BigUint64Array, radius: u32) -> HammingHits {
        let mut docs = Vec::new();
        let mut distances = Vec::new();
        let mut offsets = vec![0.0];
        let mut hits = Vec::new();
        for &query in queries.iter() {
            hits.clear();
            self.index.find_within(Fingerprint::from_u64(query), radius, &mut hits);
            docs.extend(hits.iter().map(|hit| hit.doc.0));
            distances.extend(hits.iter().map(|hit| hit.distance as u8));
            offsets.push(docs.len() as f64);
        }
        HammingHits { docs: docs.into(), distances: distances.into(), offsets: offsets.into() }
    }

    /// Returns the index as bytes.
    #[napi(js_name = "toBytes", catch_unwind)]
    pub fn to_bytes(&self) -> Uint8Array {
        self.index.to_bytes().into()
    }
}

/// The native part of the class `BandIndex`.
#[napi(js_name = "NativeBandIndex")]
pub struct NativeBandIndex {
    index: BandIndex,
}

/// The number of bands and of rows per band.
#[napi(object)]
pub struct BandShape {
    /// Number of bands.
    pub count: u32,
    /// Number of rows per band.
    pub rows: u32,
}

/// A document that a band index found.
#[napi(object)]
pub struct BandIndexHit {
    /// Number of the document.
    pub doc: u32,
    /// Estimated similarity to the query.
    pub estimate: f64,
}

/// The result of a search in a band index.
#[napi(object)]
pub struct BandIndexSearch {
    /// Documents by descending estimate, then by number.
    pub hits: Vec<BandIndexHit>,
    /// Number of distinct candidates.
    pub candidates: f64,
    /// Number of limits reached.
    pub capped: f64,
}

fn signature(rows: &[u32]) -> Result<Signature> {
    Ok(Signature::from_rows(rows).map_err(CodedError::from)?)
}

#[napi]
impl NativeBandIndex {
    /// Creates an empty index. Without `bands`, they are derived from threshold and recall.
    #[napi(constructor, catch_unwind)]
    pub fn new(rows: u32, bands: Option<BandShape>, threshold: f64, recall: f64) -> Result<NativeBandIndex> {
        let bands = match bands {
            Some(BandShape { count, rows }) => Ok(Bands { count, rows }),
            None => Bands::for_target(rows, threshold, recall),
        };
        let index = bands.and_then(|bands| BandIndex::new(rows, bands));
        Ok(NativeBandIndex { index: index.map_err(CodedError::from)? })
    }

    /// Returns the bands.
    #[napi(getter, catch_unwind)]
    pub fn bands(&self) -> BandShape {
        let Bands { count, rows } = self.index.bands();
        BandShape { count, rows }
    }

    /// Returns the number of documents.
    #[napi(getter, catch_unwind)]
    pub fn size(&self) -> f64 {
        self.index.len() as f64
    }

    /// Returns the probability that two documents of this similarity share a band.
    #[napi(catch_unwind)]
    pub fn probability(&self, similarity: f64) -> f64 {
        self.index.bands().probability(similarity)
    }

    /// Adds a document, or replaces the one with the same number.
    #[napi(catch_unwind)]
    pub fn insert(&mut self, doc: u32, rows: Uint32Array) -> Result<()> {
        Ok(self.index.insert(DocNumber(doc), &signature(&rows)?).map_err(CodedError::from)?)
    }

    /// Removes a document. Returns `true` if the index contained it.
    #[napi(catch_unwind)]
    pub fn remove(&mut self, doc: u32) -> bool {
        self.index.remove(DocNumber(doc))
    }

    /// Returns `true` if the index contains the document.
    #[napi(catch_unwind)]
    pub fn has(&self, doc: u32) -> bool {
        self.index.signature(DocNumber(doc)).is_some()
    }

    /// Returns the documents that share a band with a signature and whose estimated similarity is at least the threshold.
    #[napi(catch_unwind)]
    pub fn search(&self, rows: Uint32Array, threshold: f64) -> Result<BandIndexSearch> {
        let found = self.index.search(&signature(&rows)?, threshold).map_err(CodedError::from)?;
        let BandSearch { hits, candidates, capped } = found;
        let hits = hits.into_iter().map(|hit| BandIndexHit { doc: hit.doc.0, estimate: hit.estimate });
        Ok(BandIndexSearch { hits: hits.collect(), candidates: candidates as f64, capped: capped as f64 })
    }

    /// Returns the key of each band of a signature.
    #[napi(catch_unwind)]
    pub fn keys(&self, rows: Uint32Array) -> Result<Uint32Array> {
        Ok(self.index.keys(&signature(&rows)?).map_err(CodedError::from)?.into())
    }
}
