//! What sparse code can a learning machine use?
//!
//! Each token votes with the bits of its SHAKE256 hash on every bit of the code, and the bits with the most votes are
//! set. Texts with common tokens have codes that overlap. Codes are stored and trained on, so every rule of the encoder
//! this grew from (seed 002) is kept, its oddities too; the encoder's fields and the methods here name them.

use super::Votes;
use crate::config::{SdrConfig, Tokenizer};
use crate::error::{Error, Result};
use crate::features::count_shared;
use crate::text::{TextScratch, for_each_batch};
use shake::Shake256;
use shake::digest::{ExtendableOutput, Update, XofReader};
use std::collections::{HashMap, HashSet};

/// A sparse code: a few set bits out of many.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Sdr {
    size: u32,
    active: Vec<u32>,
}

impl Sdr {
    /// The code of this size with these bits set. They must be ascending and below the size.
    pub fn from_active(size: u32, active: Vec<u32>) -> Result<Sdr> {
        if !active.is_sorted_by(|a, b| a < b) {
            return Err(Error::Corrupt { reason: "active bits that do not ascend", offset: 0 });
        }
        match active.last() {
            Some(&last) if last >= size => {
                Err(Error::field("sdr.active", last, format!("below the size, {size}")))
            }
            _ => Ok(Sdr { size, active }),
        }
    }

    /// How many bits there are.
    pub fn size(&self) -> u32 {
        self.size
    }

    /// The positions of the set bits, ascending.
    pub fn active(&self) -> &[u32] {
        &self.active
    }

    /// Every bit.
    pub fn dense(&self) -> Vec<bool> {
        let mut bits = vec![false; self.size as usize];
        self.active.iter().for_each(|&bit| bits[bit as usize] = true);
        bits
    }

    /// How many set bits two codes have in common.
    pub fn overlap(&self, other: &Sdr) -> Result<usize> {
        if self.size != other.size {
            let (expected, found) = (self.size as usize, other.size as usize);
            return Err(Error::SizeMismatch { what: "code size", expected, found });
        }
        Ok(count_shared(&self.active, &other.active))
    }
}

/// Makes [`Sdr`]s of texts or tokens.
///
/// ```
/// use sameish::{Preset, SdrConfig, SdrEncoder};
///
/// let config = SdrConfig { size: 400, active_bits: Some(21), sparsity: None, ..Preset::Sdr.config().sdr.unwrap() };
/// let encoder = SdrEncoder::new(config)?;
/// let sky = encoder.encode("The sky is beautiful today");
/// let sun = encoder.encode("The sun is beautiful today");
/// let homework = encoder.encode("Who did my homework today");
/// assert!(sky.overlap(&sun)? > sky.overlap(&homework)?);
/// # Ok::<(), sameish::Error>(())
/// ```
#[derive(Clone, Debug)]
pub struct SdrEncoder {
    config: SdrConfig,
    active_bits: usize,
    vocabulary: Option<HashMap<Vec<u8>, i64>>,
    excludes: HashSet<Vec<u8>>,
}

impl SdrEncoder {
    /// An encoder with these parameters, if they go together.
    pub fn new(config: SdrConfig) -> Result<SdrEncoder> {
        config.validate()?;
        let active_bits = config.bits()? as usize;
        let key = |text: &str| fold_case(text.as_bytes(), config.case_sensitivity);
        let vocabulary = config
            .vocabulary
            .as_ref()
            .map(|words| words.iter().map(|(word, &weight)| (key(word), i64::from(weight))).collect());
        let excludes = config.excludes.iter().map(|word| key(word)).collect();
        Ok(SdrEncoder { active_bits, vocabulary, excludes, config })
    }

    /// The parameters.
    pub fn config(&self) -> &SdrConfig {
        &self.config
    }

    /// The code of a text, split at runs of ASCII white space. White space at the start leaves an empty token, which
    /// counts.
    pub fn encode(&self, text: &str) -> Sdr {
        let mut document = Encoding::new(self);
        for_each_batch(Tokenizer::Whitespace, text, &mut TextScratch::default(), |batch| {
            (0..batch.tokens.len()).for_each(|i| document.add(batch.token(i)));
        });
        document.finish()
    }

    /// The code of tokens, taken as they are.
    pub fn encode_tokens<S: AsRef<str>>(&self, tokens: impl IntoIterator<Item = S>) -> Sdr {
        let mut document = Encoding::new(self);
        tokens.into_iter().for_each(|token| document.add(token.as_ref().as_bytes()));
        document.finish()
    }

    /// The weight of a token, or nothing if it does not count.
    fn weight(&self, token: &[u8]) -> Option<i64> {
        if self.excludes.contains(token) {
            return None;
        }
        match &self.vocabulary {
            None => Some(1),
            Some(words) => words.get(token).copied().or(self.config.encode_orphans.then_some(1)),
        }
    }

    /// Whether the n-th occurrence of a token is too early or too late to count.
    fn is_out_of_range(&self, occurrence: u32) -> bool {
        let floor = self.config.frequency_floor;
        floor > 0 && occurrence <= floor || self.is_over_ceiling(occurrence)
    }

    fn is_over_ceiling(&self, occurrence: u32) -> bool {
        let ceiling = self.config.frequency_ceiling;
        ceiling > 0 && occurrence >= ceiling
    }
}

/// The votes of one text while its tokens come.
struct Encoding<'a> {
    encoder: &'a SdrEncoder,
    votes: Votes,
    occurrences: HashMap<Vec<u8>, u32>,
    hash: Vec<u64>,
    output: Vec<u8>,
    /// Hashes of single bytes, which come again and again.
    letters: HashMap<u8, Vec<u64>>,
    empty: bool,
}

impl<'a> Encoding<'a> {
    fn new(encoder: &'a SdrEncoder) -> Encoding<'a> {
        let size = encoder.config.size as usize;
        Encoding {
            encoder,
            votes: Votes::new(size),
            occurrences: HashMap::new(),
            hash: vec![0; size.div_ceil(64)],
            output: vec![0; size / 8 + 1],
            letters: HashMap::new(),
            empty: true,
        }
    }

    fn add(&mut self, token: &[u8]) {
        self.empty = false;
        let token = fold_case(token, self.encoder.config.case_sensitivity);
        let Some(weight) = self.encoder.weight(&token) else { return };
        let occurrence = self.occurrences.entry(token.clone()).or_default();
        *occurrence = occurrence.saturating_add(1);
        if self.encoder.is_out_of_range(*occurrence) {
            return;
        }
        if self.encoder.config.token_similarity {
            self.add_letters(&token, weight);
            // Half as loud again, so that the token is heard above its letters.
            self.vote(&token, weight + weight / 2);
        } else {
            self.vote(&token, weight);
        }
    }

    /// Every byte of the token votes too, with a weight of its own if the vocabulary has one.
    fn add_letters(&mut self, token: &[u8], weight: i64) {
        let mut seen = [0u32; 256];
        for byte in token {
            let count = &mut seen[usize::from(*byte)];
            *count += 1;
            if self.encoder.is_over_ceiling(*count) {
                continue;
            }
            let known = self.encoder.vocabulary.as_ref().and_then(|words| words.get(&[*byte][..]));
            self.vote_letter(*byte, known.copied().unwrap_or(weight));
        }
    }

    fn vote(&mut self, bytes: &[u8], weight: i64) {
        self.hash_bits(bytes);
        self.votes.add(&self.hash, weight);
    }

    fn vote_letter(&mut self, byte: u8, weight: i64) {
        if !self.letters.contains_key(&byte) {
            self.hash_bits(&[byte]);
            self.letters.insert(byte, self.hash.clone());
        }
        self.votes.add(&self.letters[&byte], weight);
    }

    /// SHAKE256, read with the most significant bit of each byte first. One byte more is read than the size needs; where
    /// the size fills whole bytes, the last bit is taken from that one, and otherwise it is 0 unless it is the first bit
    /// of its byte.
    fn hash_bits(&mut self, bytes: &[u8]) {
        let mut shake = Shake256::default();
        shake.update(bytes);
        shake.finalize_xof().read(&mut self.output);
        for (word, bytes) in self.hash.iter_mut().zip(self.output.chunks(8)) {
            let mut padded = [0; 8];
            padded[..bytes.len()].copy_from_slice(bytes);
            *word = u64::from_le_bytes(padded.map(u8::reverse_bits));
        }
        let last = self.encoder.config.size as usize - 1;
        let value = match self.encoder.config.size % 8 {
            0 | 1 => self.output[self.output.len() - 1] >> 7,
            _ => 0,
        };
        let word = &mut self.hash[last / 64];
        *word = *word & !(1 << (last % 64)) | u64::from(value) << (last % 64);
    }

    fn finish(self) -> Sdr {
        let size = self.encoder.config.size;
        let active = if self.empty { Vec::new() } else { self.votes.top(self.encoder.active_bits) };
        Sdr { size, active }
    }
}

fn fold_case(token: &[u8], case_sensitive: bool) -> Vec<u8> {
    if case_sensitive { token.to_vec() } else { token.to_ascii_lowercase() }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn overlap_counts_common_bits() {
        let a = Sdr::from_active(10, vec![1, 3, 5]).unwrap();
        let b = Sdr::from_active(10, vec![3, 4, 5, 9]).unwrap();
        assert_eq!(a.overlap(&b).unwrap(), 2);
        assert_eq!(a.dense().iter().filter(|&&bit| bit).count(), 3);
        assert!(a.overlap(&Sdr::from_active(11, vec![]).unwrap()).is_err());
    }

    #[test]
    fn impossible_codes_are_refused() {
        assert!(Sdr::from_active(4, vec![4]).is_err());
        assert!(Sdr::from_active(4, vec![2, 1]).is_err());
        assert!(Sdr::from_active(4, vec![1, 1]).is_err());
    }

    #[test]
    fn shake256_is_the_published_one() {
        // FIPS 202 example for the empty message.
        let mut output = [0; 8];
        Shake256::default().finalize_xof().read(&mut output);
        assert_eq!(output, [0x46, 0xB9, 0xDD, 0x2B, 0x0B, 0xA8, 0x8D, 0x13]);
    }
}
