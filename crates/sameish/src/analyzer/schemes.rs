//! Scheme identifiers: which settings determine the bytes of a sketch?
//!
//! A scheme is the hash of a textual description of those settings. The description spells them as a configuration file
//! does, so renaming a Rust type cannot change the identifier of stored sketches. `tests/all/golden.rs` pins the identifiers
//! of the presets.

use crate::config::{Config, MinHashConfig, SdrConfig, SimHashConfig, TokenHash, Tokenizer, Weighting};
use crate::error::{Error, Result};
use crate::features::{DocumentFrequencies, hash_shingle, hash_token};
use crate::sketch::SchemeId;
use crate::text::{self, StopWords};
use serde::Serialize;

/// The scheme of the sketches of each lane.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Schemes {
    /// The scheme of fingerprints.
    pub simhash: Option<SchemeId>,
    /// The scheme of signatures.
    pub minhash: Option<SchemeId>,
    /// The scheme of sparse codes.
    pub sdr: Option<SchemeId>,
}

impl Schemes {
    pub(super) fn of(
        config: &Config,
        stop_words: Option<&StopWords>,
        frequencies: Option<&DocumentFrequencies>,
    ) -> Result<Schemes> {
        let stop_words = stop_words.map_or(0, StopWords::digest);
        let text = |tokenizer: Tokenizer| {
            let tokenizer = spelled(&tokenizer)?;
            let plain = plain_text(config);
            Ok::<_, Error>(format!("text {} {tokenizer}, stop words {stop_words:016x}{plain}", text::VERSION))
        };
        let simhash = |simhash: &SimHashConfig| {
            let text = text(config.simhash_tokenizer())?;
            let (hash, weighting) = (spelled(&simhash.hash)?, spelled(&simhash.weighting)?);
            let rarity = match simhash.weighting {
                Weighting::InverseDocumentFrequency => frequencies.map_or(0, DocumentFrequencies::digest),
                _ => 0,
            };
            let description =
                format!("simhash 1, {text}, {}, {hash}, {weighting} {rarity:016x}", simhash.shingle);
            Ok(SchemeId::of(&description))
        };
        // Signatures of different lengths do not compare, so the number of rows is part of the scheme.
        let minhash = |minhash: &MinHashConfig| {
            let text = text(config.text.tokenizer)?;
            let (shingle, counting, rows) = (minhash.shingle, spelled(&minhash.counting)?, minhash.rows);
            Ok(SchemeId::of(&format!("minhash 1, {text}, {shingle}, {counting}, {rows} rows")))
        };
        Ok(Schemes {
            simhash: config.simhash.as_ref().map(simhash).transpose()?,
            minhash: config.minhash.as_ref().map(minhash).transpose()?,
            sdr: config.sdr.as_ref().map(|sdr| sdr_scheme(sdr, &plain_text(config))).transpose()?,
        })
    }
}

/// Returns the name of an enum variant in a configuration file.
fn spelled<T: Serialize>(choice: &T) -> Result<String> {
    match toml::Value::try_from(choice) {
        Ok(toml::Value::String(name)) => Ok(name),
        other => Err(Error::ConfigSyntax { message: format!("not the name of a variant: {other:?}") }),
    }
}

/// Describes what is removed from texts, with the version of each rule. Empty by default.
fn plain_text(config: &Config) -> String {
    let html = if config.text.html { ", html 1" } else { "" };
    let accents = if config.text.fold_accents { ", accents folded 1" } else { "" };
    format!("{html}{accents}")
}

fn sdr_scheme(config: &SdrConfig, plain_text: &str) -> Result<SchemeId> {
    let hash = |word: &str| hash_token(TokenHash::Xxh3, word.as_bytes());
    let sum = |hashes: &mut dyn Iterator<Item = u64>| hashes.fold(0, u64::wrapping_add);
    let vocabulary = config.vocabulary.as_ref().map(|words| {
        sum(&mut words.iter().map(|(word, &weight)| hash_shingle(&[hash(word), u64::from(weight)])))
    });
    let excludes = sum(&mut config.excludes.iter().map(|word| hash(word)));
    Ok(SchemeId::of(&format!(
        "sdr 1, {} of {} bits, case {}, letters {}, vocabulary {vocabulary:016x?}, orphans {}, excludes {excludes:016x}, \
         floor {}, ceiling {}{plain_text}",
        config.bits()?,
        config.size,
        config.case_sensitivity,
        config.token_similarity,
        config.encode_orphans,
        config.frequency_floor,
        config.frequency_ceiling,
    )))
}
