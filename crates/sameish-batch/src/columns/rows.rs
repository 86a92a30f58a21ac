//! Signed texts as rows that can be shuffled: everything that later steps need except the text.

use crate::error::{Error, Result};
use crate::sign::{KeyKind, bands, state_and_key};
use crate::table::State;
use sameish::config::{Bands, Blocks, Linkage, Templates};
use sameish::features::TextKey;
use sameish::index::{BlockTables, Permutation, SIGNED_RADIUS};
use sameish::random::{INCREMENT, mix};
use sameish::sketch::{Outline, SchemeId};
use sameish::{Analyzer, Fingerprint, Scratch, Status};

/// A signed text.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct SignedRow {
    /// Whether the text is too short for the configuration.
    pub too_short: bool,
    /// Equal for two texts that count as the same text of one document: its records are repeated, not in conflict.
    pub identity: i64,
    /// Texts with the same bytes here are copies of each other; `None` for a text that matches nothing.
    pub copy_key: Option<Vec<u8>>,
    /// The outline of the signature; `None` without a signature, and for a short text.
    pub outline: Option<Outline>,
    /// The fingerprint, unless it is zero or the configuration has none.
    pub fingerprint: Option<Fingerprint>,
    /// Two texts are candidates of each other if they share one of these 64-bit keys.
    pub keys: Vec<i64>,
}

/// Signs texts for steps that run on different machines.
///
/// ```
/// use sameish::{Analyzer, Preset, Scratch};
/// use sameish_batch::columns::{CopyKeys, RowSigner};
///
/// let signer = RowSigner::new(&Analyzer::new(Preset::Copies.config())?, CopyKeys::Normalized)?;
/// let mut scratch = Scratch::default();
/// let [a, b] = ["The bridge is closed", "the bridge  is CLOSED"].map(|text| signer.sign(text, &mut scratch));
/// assert_eq!(a, b);
/// # Ok::<(), sameish_batch::Error>(())
/// ```
#[derive(Clone, Debug)]
pub struct RowSigner {
    analyzer: Analyzer,
    bands: Bands,
    tables: Vec<Permutation>,
    copies: CopyKeys,
}

/// Which texts are copies of each other.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CopyKeys {
    /// Texts with equal bytes; short texts with equal normalized texts. Used by `dedup`.
    Verbatim,
    /// Texts with equal normalized texts. Used where match types are reported.
    Normalized,
}

/// Marks keys of fingerprints. Keys of bands are smaller.
const FINGERPRINT_KEY: i64 = 1 << 62;
/// Marks keys of equal normalized texts, which are needed if copies may have different fingerprints.
const TEXT_KEY: i64 = i64::MIN;

impl RowSigner {
    /// Prepares for a configuration. Sparse codes are not supported, because their overlaps have no keys.
    pub fn new(analyzer: &Analyzer, copies: CopyKeys) -> Result<RowSigner> {
        let config = analyzer.config();
        if config.sdr.is_some() {
            return Err(Error::UnsupportedConfig);
        }
        let tables = match &config.simhash {
            Some(simhash) => fingerprint_tables(simhash.radius)?,
            None => Vec::new(),
        };
        Ok(RowSigner { bands: bands(analyzer)?, tables, copies, analyzer: analyzer.clone() })
    }

    /// Signs a text.
    pub fn sign(&self, text: &str, scratch: &mut Scratch) -> SignedRow {
        let sketches = self.analyzer.sketch(text, scratch);
        let kind = match self.copies {
            CopyKeys::Verbatim => KeyKind::Verbatim,
            CopyKeys::Normalized => KeyKind::Normalized,
        };
        let (state, key) = state_and_key(&self.analyzer, self.bands, kind, text.into(), &sketches);
        let too_short = sketches.status == Status::TooShort;
        let identity = identity(key, state);
        if state == State::Blank {
            return SignedRow { too_short, identity, ..SignedRow::default() };
        }
        let fingerprint = sketches.simhash.filter(|fingerprint| !fingerprint.is_zero());
        let signature = sketches.indexed_signature();
        let mut keys: Vec<i64> =
            signature.iter().flat_map(|signature| band_keys(self.bands, signature.rows())).collect();
        if let Some(fingerprint) = fingerprint {
            keys.extend(fingerprint_keys(&self.tables, fingerprint));
        }
        if !self.tables.is_empty() {
            keys.push(TEXT_KEY | self.text_key(text, key));
        }
        // Short texts are not screened, as on one machine.
        let outlined = signature.filter(|_| state == State::Long);
        SignedRow {
            too_short,
            identity,
            copy_key: Some(copy_key(key, state, fingerprint)),
            outline: outlined.map(|signature| Outline::of(signature.rows())),
            fingerprint,
            keys,
        }
    }

    /// Returns the maximum number of keys of a text.
    pub fn keys_per_text(&self) -> usize {
        let tables = self.tables.len();
        self.bands.count as usize + tables + usize::from(tables > 0)
    }

    fn text_key(&self, text: &str, key: TextKey) -> i64 {
        let key = self.analyzer.key(text).unwrap_or(key);
        (key.as_u128() as u64 >> 1) as i64
    }

    /// Identifies everything that signed rows depend on. Rows of different schemes must not be compared.
    pub fn scheme(&self) -> Result<String> {
        let mut config = self.analyzer.config().clone();
        let bands = self.bands;
        config.matching.threshold = 1.0;
        config.matching.linkage = Linkage::Cohesive;
        config.matching.templates = Templates::Keep;
        config.matching.unverified = false;
        config.matching.recall = 0.5;
        let schemes = self.analyzer.schemes();
        let all = format!("3 {} {bands:?} {:?} {schemes:?}", config.to_toml(), self.copies);
        Ok(format!("{:016x}", SchemeId::of(&all).as_u64()))
    }
}

/// Returns the key of each band of a signature, given its rows: the number of the band and its rows, hashed one after the other.
/// 62 bits, because keys of 32 bits would coincide by chance for most documents of a corpus of a billion.
fn band_keys(bands: Bands, rows: &[u32]) -> impl Iterator<Item = i64> {
    let rows = rows.chunks_exact(bands.rows as usize).take(bands.count as usize);
    (1u64..).zip(rows).map(|(band, rows)| {
        let first = mix(band.wrapping_mul(INCREMENT));
        (rows.iter().fold(first, |hash, row| mix(hash ^ u64::from(*row))) >> 2) as i64
    })
}

/// Records with one id are repeated if their texts have equal keys and states, as in `sign.rs`.
fn identity(key: TextKey, state: State) -> i64 {
    let key = key.as_u128();
    (mix(key as u64 ^ mix((key >> 64) as u64)) ^ state as u64) as i64
}

/// Copies have equal texts, and equal sketches.
fn copy_key(key: TextKey, state: State, fingerprint: Option<Fingerprint>) -> Vec<u8> {
    let mut bytes = key.as_u128().to_le_bytes().to_vec();
    bytes.push(u8::from(state == State::Short));
    bytes.extend(fingerprint.iter().flat_map(|fingerprint| fingerprint.as_u64().to_le_bytes()));
    bytes
}

/// Returns tables such that two fingerprints within the radius have the same key in one of them.
///
/// The number of blocks is the smallest for which keys have at least 20 bits, with at most 60 tables.
pub(crate) fn fingerprint_tables(radius: u32) -> Result<Vec<Permutation>> {
    let mut found = BlockTables::new(Blocks { total: radius + 1, differing: radius })?;
    for total in radius + 2..=64 {
        let Ok(tables) = BlockTables::new(Blocks { total, differing: radius }) else { break };
        let bits = found.permutations().iter().map(|table| table.agreeing_mask().count_ones()).min();
        if bits.unwrap_or(64) >= 20 || tables.permutations().len() > 60 {
            break;
        }
        found = tables;
    }
    Ok(found.permutations().to_vec())
}

/// Returns the key of a fingerprint in each table.
fn fingerprint_keys(tables: &[Permutation], fingerprint: Fingerprint) -> impl Iterator<Item = i64> {
    (1u64..).zip(tables).map(move |(table, permutation)| {
        let bits = (fingerprint.as_u64() & permutation.agreeing_mask()) ^ table.wrapping_mul(INCREMENT);
        FINGERPRINT_KEY | (mix(bits) >> 2) as i64
    })
}

/// Returns the keys of fingerprints for a search within a radius: two fingerprints within it share a key.
///
/// ```
/// use sameish::Fingerprint;
/// use sameish_batch::columns::HammingKeys;
///
/// let keys = HammingKeys::new(3)?;
/// let [a, b] = [0u64, 0b111].map(|bits| keys.of(Fingerprint::from_u64(bits)));
/// assert!(a.iter().any(|key| b.contains(key)));
/// # Ok::<(), sameish_batch::Error>(())
/// ```
#[derive(Clone, Debug)]
pub struct HammingKeys(Vec<Permutation>);

impl HammingKeys {
    /// Chooses tables for a radius of at most 15 bits.
    pub fn new(radius: u32) -> Result<HammingKeys> {
        fingerprint_tables(radius).map(HammingKeys)
    }

    /// Returns the keys of a fingerprint, one per table.
    pub fn of(&self, fingerprint: Fingerprint) -> Vec<i64> {
        fingerprint_keys(&self.0, fingerprint).collect()
    }
}

/// What decides whether two texts with a common key are candidates.
#[derive(Clone, Copy, Debug)]
pub(crate) struct NearRule {
    pub(crate) screen: Option<sameish::sketch::Screen>,
    /// Radius for two texts that both have signatures.
    signed_radius: u32,
    radius: u32,
}

impl NearRule {
    pub(crate) fn new(analyzer: &Analyzer) -> NearRule {
        let config = analyzer.config();
        let radius = config.simhash.as_ref().map_or(0, |simhash| simhash.radius);
        let is_split = config.matching.verify && config.minhash.is_some();
        let signed_radius = if is_split { SIGNED_RADIUS.min(radius) } else { radius };
        NearRule { screen: config.screen(), signed_radius, radius }
    }

    /// A rule for fingerprints alone.
    pub(crate) fn within(radius: u32) -> NearRule {
        NearRule { screen: None, signed_radius: radius, radius }
    }

    /// Returns `true` if two texts that share `key` are compared.
    pub(crate) fn passes(&self, key: i64, a: &super::Member, b: &super::Member) -> bool {
        if key & TEXT_KEY == 0 && key & FINGERPRINT_KEY != 0 {
            let both = a.outline.is_some() && b.outline.is_some();
            let radius = if both { self.signed_radius } else { self.radius };
            let near = a.fingerprint.zip(b.fingerprint).is_some_and(|(a, b)| a.distance(b) <= radius);
            if !near {
                return false;
            }
        }
        let outlines = a.outline.zip(b.outline).zip(self.screen);
        outlines.is_none_or(|((a, b), screen)| screen.passes(a, b))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fingerprints_within_the_radius_share_a_key() {
        for radius in [0, 1, 3, 5, 8] {
            let keys = HammingKeys::new(radius).unwrap();
            for seed in 0..200u64 {
                let a = mix(seed);
                let b = (0..radius).fold(a, |b, bit| b ^ 1 << (mix(seed ^ u64::from(bit) << 32) % 64));
                let [a, b] = [a, b].map(|bits| keys.of(Fingerprint::from_u64(bits)));
                assert!(a.iter().zip(&b).any(|(a, b)| a == b), "radius {radius}, seed {seed}");
            }
        }
    }
}
