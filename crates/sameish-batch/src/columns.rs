//! The steps as pure functions over columns, for engines that move the data themselves, such as Spark.
//!
//! ```text
//! texts -> sign -> signatures, fingerprints, keys
//!                  signatures -> band_keys -> candidate_pairs
//!                  pairs of texts -> verify -> verdicts
//!                  matching pairs -> cluster -> center of each document
//! ```
//!
//! These functions take the whole corpus at once. [`RowSigner`], [`BucketPairs`], [`CellPairs`], [`BinVerifier`] and [`Centers`]
//! are the same steps over sorted streams of rows with 64-bit document numbers, for corpora that no machine holds: the caller sorts and
//! distributes the rows.
//!
//! ```
//! use sameish::{Analyzer, Preset};
//! use sameish_batch::columns::{Edge, SignedBatch, candidate_pairs, cluster, sign, verify};
//!
//! let bridge = "The council voted on Monday evening to close the old stone bridge for repairs until the end of spring";
//! let texts = [bridge.to_owned(), "Rain until Friday".to_owned(), format!("{bridge} now")];
//! let analyzer = Analyzer::new(Preset::Copies.config())?;
//!
//! let mut signed = SignedBatch::default();
//! sign(&analyzer, &texts, &mut signed);
//! let pairs = candidate_pairs(&analyzer, &signed)?;
//! assert_eq!(pairs, [(0, 2)]);
//!
//! let verdicts = verify(&analyzer, pairs.iter().map(|&(a, b)| (&texts[a as usize], &texts[b as usize])));
//! assert!(verdicts[0].is_some_and(|verdict| verdict.verified && !verdict.template));
//! let edges: Vec<Edge> = pairs.iter().map(|&(a, b)| Edge { a, b }).collect();
//! assert_eq!(cluster(texts.len(), &edges), [0, 1, 0]);
//! # Ok::<(), sameish_batch::Error>(())
//! ```

mod bins;
mod buckets;
mod centers;
mod crowds;
mod estimate;
mod grid;
mod needed;
mod packed;
mod rows;

pub use crate::recall::Work;
pub use bins::{BinText, BinVerifier, Heads, verdict_of_copies};
pub use buckets::{BucketPairs, Member, Sides};
pub use centers::{Center, Centers, Decision, EarlierMatch, StarCounts};
pub use crowds::{CellMember, CellPairs, Profiler};
pub use estimate::{FoundRows, RecallSums};
pub use grid::{BinLimits, BinRow, bins, connected};
pub use needed::NeededRows;
pub use packed::{MemberPacker, PackedBuckets, PackedPairs, SizedMember};
pub use rows::{CopyKeys, HammingKeys, RowSigner, SignedRow};

use crate::error::Result;
use crate::ordered_pool::with_scratch;
use crate::sign::bands;
use sameish::Analyzer;
use sameish::cluster::stars;
use sameish::features::TextKey;
use sameish::index::{BandTags, Buckets, BucketsBuilder, DocNumber, FingerprintIndex, Hit, OverlapIndex};
use sameish::sketch::Outline;
use sameish::{Fingerprint, Sdr, Signature, Status, Verdict};
use std::collections::HashMap;

/// Sketches of a batch of texts, one entry per text in each column.
#[derive(Clone, Debug, Default)]
pub struct SignedBatch {
    /// Whether a text is long enough.
    pub status: Vec<Status>,
    /// Hashes of the normalized texts; `None` for a blank text.
    pub keys: Vec<Option<TextKey>>,
    /// MinHash signatures by which texts are found; `None` if the configuration has none, or does not compare a text because it
    /// is too short.
    pub signatures: Vec<Option<Signature>>,
    /// SimHash fingerprints; `None` if the configuration has none.
    pub fingerprints: Vec<Option<Fingerprint>>,
    /// Sparse codes; `None` if the configuration has none.
    pub codes: Vec<Option<Sdr>>,
}

impl SignedBatch {
    /// Returns the number of texts.
    pub fn len(&self) -> usize {
        self.status.len()
    }

    /// Returns `true` if the batch is empty.
    pub fn is_empty(&self) -> bool {
        self.status.is_empty()
    }
}

/// Computes the sketches of texts and appends them to `signed`.
///
/// ```
/// use sameish::{Analyzer, Preset, Status};
/// use sameish_batch::columns::{SignedBatch, sign};
///
/// let analyzer = Analyzer::new(Preset::Wire.config())?;
/// let mut signed = SignedBatch::default();
/// sign(&analyzer, &["storm hits the coast", ""], &mut signed);
/// assert_eq!(signed.status, [Status::Ok, Status::TooShort]);
/// assert!(signed.fingerprints[0].is_some_and(|fingerprint| !fingerprint.is_zero()));
/// # Ok::<(), sameish_batch::Error>(())
/// ```
pub fn sign<T: AsRef<str>>(analyzer: &Analyzer, texts: &[T], signed: &mut SignedBatch) {
    with_scratch(|scratch| {
        for text in texts {
            let sketches = analyzer.sketch(text.as_ref(), scratch);
            let key = analyzer.key(text.as_ref()).filter(|_| analyzer.matches_equal(sketches.status));
            signed.keys.push(key);
            signed.signatures.push(sketches.indexed_signature().cloned());
            signed.fingerprints.push(sketches.simhash);
            signed.codes.push(sketches.sdr);
            signed.status.push(sketches.status);
        }
    });
}

/// Returns the band keys of a signature. Two texts are candidates if they have the same key in the same band.
///
/// ```
/// use sameish::{Analyzer, Preset};
/// use sameish_batch::columns::{SignedBatch, band_keys, sign};
///
/// let analyzer = Analyzer::new(Preset::Headlines.config())?;
/// let mut signed = SignedBatch::default();
/// sign(&analyzer, &["SpaceX acquires xAI for two billion dollars"], &mut signed);
/// let keys = band_keys(&analyzer, signed.signatures[0].as_ref().unwrap())?;
/// assert_eq!(keys.len(), 20);
/// # Ok::<(), sameish_batch::Error>(())
/// ```
pub fn band_keys(analyzer: &Analyzer, signature: &Signature) -> Result<Vec<u32>> {
    Ok(BandTags::new(bands(analyzer)?).of(signature.rows()).collect())
}

/// Returns the pairs of texts that may match, as positions in the batch, in ascending order.
///
/// Candidates share a band key, have near fingerprints, overlapping sparse codes or equal normalized texts. Pairs whose
/// signatures are far apart are left out. The number of pairs is not limited.
pub fn candidate_pairs(analyzer: &Analyzer, signed: &SignedBatch) -> Result<Vec<(u32, u32)>> {
    let mut pairs = Vec::new();
    let config = analyzer.config();
    // Fingerprints may make short texts match, however different their signatures are.
    let is_screened = |at: u32| !config.matching.unverified || signed.status[at as usize] == Status::Ok;
    let outline = |at: u32| {
        let signature = signed.signatures[at as usize].as_ref().filter(|_| is_screened(at));
        signature.map(|signature| Outline::of(signature.rows()))
    };
    let screen = config.screen();
    let mut add = |a: u32, b: u32| {
        let outlines = outline(a).zip(outline(b));
        let far = screen.zip(outlines).is_some_and(|(screen, (a, b))| !screen.passes(a, b));
        if a != b && !far {
            pairs.push((a.min(b), a.max(b)));
        }
    };
    let buckets = buckets(analyzer, signed)?;
    for bucket in 0..buckets.len() as u32 {
        let members = buckets.members(bucket);
        for (i, &b) in members.iter().enumerate() {
            members[..i].iter().for_each(|&a| add(a, b));
        }
    }
    let mut by_key: HashMap<TextKey, Vec<u32>> = HashMap::new();
    for (at, key) in (0u32..).zip(&signed.keys) {
        let Some(key) = key else { continue };
        let equal = by_key.entry(*key).or_default();
        equal.iter().for_each(|&other| add(other, at));
        equal.push(at);
    }
    near_fingerprints(analyzer, signed, &mut add)?;
    overlapping_codes(analyzer, signed, &mut add)?;
    pairs.sort_unstable();
    pairs.dedup();
    Ok(pairs)
}

fn buckets(analyzer: &Analyzer, signed: &SignedBatch) -> Result<Buckets> {
    let bands = bands(analyzer)?;
    let tags = BandTags::new(bands);
    let mut columns: Vec<Vec<(u32, DocNumber)>> = vec![Vec::new(); bands.count as usize];
    for (at, signature) in (0u32..).zip(&signed.signatures) {
        let keys = signature.iter().flat_map(|signature| tags.of(signature.rows()));
        keys.zip(&mut columns).for_each(|(key, column)| column.push((key, DocNumber(at))));
    }
    let mut builder = BucketsBuilder::new(signed.len());
    columns.iter_mut().for_each(|column| builder.add_band(column));
    Ok(builder.finish())
}

fn near_fingerprints(
    analyzer: &Analyzer,
    signed: &SignedBatch,
    add: &mut impl FnMut(u32, u32),
) -> Result<()> {
    let entry = |(at, fingerprint): (u32, &Option<Fingerprint>)| {
        let fingerprint = fingerprint.filter(|fingerprint| !fingerprint.is_zero())?;
        let is_long = signed.status[at as usize] == Status::Ok;
        Some((fingerprint, DocNumber(at), is_long && signed.signatures[at as usize].is_some()))
    };
    let entries: Vec<(Fingerprint, DocNumber, bool)> =
        (0u32..).zip(&signed.fingerprints).filter_map(entry).collect();
    let Some(mut index) = FingerprintIndex::new(analyzer.config(), entries.len())? else { return Ok(()) };
    index.insert_all(entries.iter().copied());
    let mut hits: Vec<Hit> = Vec::new();
    for (fingerprint, DocNumber(at), has_signature) in entries {
        index.find(fingerprint, has_signature, &mut hits);
        hits.iter().filter(|hit| hit.doc.0 < at).for_each(|hit| add(hit.doc.0, at));
    }
    Ok(())
}

fn overlapping_codes(
    analyzer: &Analyzer,
    signed: &SignedBatch,
    add: &mut impl FnMut(u32, u32),
) -> Result<()> {
    let config = analyzer.config();
    let Some(sdr) = &config.sdr else { return Ok(()) };
    let mut index = OverlapIndex::new(sdr.size);
    for (at, code) in (0u32..).zip(&signed.codes) {
        let Some(code) = code else { continue };
        let least = (config.matching.threshold * code.active().len() as f64).ceil().max(1.0) as u32;
        index.at_least(code, least)?.iter().for_each(|hit| add(hit.doc.0, at));
        index.insert(DocNumber(at), code)?;
    }
    Ok(())
}

/// Compares pairs of texts. Returns a verdict for each pair that matches, and `None` for each other pair.
///
/// ```
/// use sameish::{Analyzer, Preset};
/// use sameish_batch::columns::verify;
///
/// let analyzer = Analyzer::new(Preset::Copies.config())?;
/// let text = "The council voted on Monday evening to close the old stone bridge for repairs";
/// let verdicts = verify(&analyzer, [(text, text), (text, "Rain until Friday")]);
/// assert_eq!(verdicts[0].map(|verdict| verdict.similarity), Some(1.0));
/// assert_eq!(verdicts[1], None);
/// # Ok::<(), sameish_batch::Error>(())
/// ```
pub fn verify<T: AsRef<str>>(
    analyzer: &Analyzer,
    pairs: impl IntoIterator<Item = (T, T)>,
) -> Vec<Option<Verdict>> {
    let judge = analyzer.judge();
    let prepare = |text: &str| with_scratch(|scratch| analyzer.prepare(text, scratch));
    let compare = |(a, b): (T, T)| {
        let a = prepare(a.as_ref());
        let b = prepare(b.as_ref());
        judge.judge_facts(&a.side(), &b.side())
    };
    pairs.into_iter().map(compare).collect()
}

/// A verified match between two documents that join a cluster.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Edge {
    /// Number of one document.
    pub a: u32,
    /// Number of the other document.
    pub b: u32,
}

/// Clusters documents around centers and returns the center of each: the first unassigned document becomes a center and takes
/// every unassigned document that matches it.
///
/// ```
/// use sameish_batch::columns::{Edge, cluster};
///
/// // A chain 0 - 1 - 2 - 3: document 2 matches 1, but not the center 0.
/// let edges = [Edge { a: 0, b: 1 }, Edge { a: 1, b: 2 }, Edge { a: 2, b: 3 }];
/// assert_eq!(cluster(4, &edges), [0, 0, 2, 2]);
/// ```
pub fn cluster(documents: usize, edges: &[Edge]) -> Vec<u32> {
    let mut matches: HashMap<u32, Vec<DocNumber>> = HashMap::new();
    for &Edge { a, b } in edges {
        matches.entry(a).or_default().push(DocNumber(b));
        matches.entry(b).or_default().push(DocNumber(a));
    }
    let order: Vec<DocNumber> = (0..documents as u32).map(DocNumber).collect();
    let found = stars(&order, |doc| matches.remove(&doc.0).unwrap_or_default());
    let mut center = vec![0; documents];
    for cluster in found.clusters {
        cluster.members.iter().for_each(|doc| center[doc.0 as usize] = cluster.center.0);
    }
    center
}
