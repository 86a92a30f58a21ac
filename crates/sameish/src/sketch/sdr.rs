//! Sparse distributed representations (SDRs): sparse binary codes as input for machine learning.
//!
//! Each token votes on every bit of the code with its SHAKE256 hash, and the bits with the most votes are set. Texts with
//! common tokens have overlapping codes. Users store codes and train models on them, so this encoder reproduces the codes of
//! the original sparse document encoder exactly, including its irregularities: empty tokens (see [`SdrEncoder::encode`]),
//! the last bit of a hash (`hash_bits`), and codes with too few distinct sums (`Votes::top`).

use super::Votes;
use crate::config::{SdrConfig, Tokenizer};
use crate::error::{Error, Result};
use crate::features::count_shared;
use crate::text::{TextScratch, for_each_batch};
use shake::Shake256;
use shake::digest::{ExtendableOutput, Update, XofReader};
use std::collections::{HashMap, HashSet};

/// A sparse code: a bit vector with few set bits.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Sdr {
    size: u32,
    active: Vec<u32>,
}

impl Sdr {
    /// Creates a code of `size` bits from the positions of its set bits. Returns an error if the positions are not strictly
    /// ascending and less than `size`.
    pub fn from_active(size: u32, active: Vec<u32>) -> Result<Sdr> {
        if !active.is_sorted_by(|a, b| a < b) {
            return Err(Error::Corrupt { reason: "active bits are not in ascending order", offset: 0 });
        }
        match active.last() {
            Some(&last) if last >= size => {
                Err(Error::field("sdr.active", last, format!("less than the size, {size}")))
            }
            _ => Ok(Sdr { size, active }),
        }
    }

    /// Returns the total number of bits.
    pub fn size(&self) -> u32 {
        self.size
    }

    /// Returns the positions of the set bits in ascending order.
    pub fn active(&self) -> &[u32] {
        &self.active
    }

    /// Returns all bits as a dense vector.
    pub fn dense(&self) -> Vec<bool> {
        let mut bits = vec![false; self.size as usize];
        self.active.iter().for_each(|&bit| bits[bit as usize] = true);
        bits
    }

    /// Returns the number of set bits that two codes have in common, or an error if their sizes differ.
    pub fn overlap(&self, other: &Sdr) -> Result<usize> {
        if self.size != other.size {
            return Err(Error::SizeMismatch {
                what: "code size",
                expected: self.size as usize,
                found: other.size as usize,
            });
        }
        Ok(count_shared(&self.active, &other.active))
    }
}

/// Encodes texts or tokens as [`Sdr`]s.
///
/// ```
/// use sameish::config::SdrConfig;
/// use sameish::sketch::SdrEncoder;
/// use sameish::Preset;
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
    /// Creates an encoder. Returns an error if the parameters are invalid.
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

    /// Returns the parameters.
    pub fn config(&self) -> &SdrConfig {
        &self.config
    }

    /// Encodes a text, split at runs of ASCII whitespace. Whitespace at the start of the text produces an empty token,
    /// which votes like any other token.
    pub fn encode(&self, text: &str) -> Sdr {
        let mut encoding = Encoding::new(self);
        for_each_batch(Tokenizer::Whitespace, text, &mut TextScratch::default(), |batch| {
            (0..batch.tokens.len()).for_each(|i| encoding.add(batch.token(i)));
        });
        encoding.finish()
    }

    /// Encodes tokens without splitting them further.
    pub fn encode_tokens<S: AsRef<str>>(&self, tokens: impl IntoIterator<Item = S>) -> Sdr {
        let mut encoding = Encoding::new(self);
        tokens.into_iter().for_each(|token| encoding.add(token.as_ref().as_bytes()));
        encoding.finish()
    }

    /// Returns the weight of a token, or `None` if the token is ignored.
    fn weight(&self, token: &[u8]) -> Option<i64> {
        if self.excludes.contains(token) {
            return None;
        }
        match &self.vocabulary {
            None => Some(1),
            Some(words) => words.get(token).copied().or(self.config.encode_orphans.then_some(1)),
        }
    }

    /// Returns `true` if the n-th occurrence of a token is ignored because of the frequency floor or ceiling.
    fn is_out_of_range(&self, occurrence: u32) -> bool {
        let floor = self.config.frequency_floor;
        floor > 0 && occurrence <= floor || self.is_over_ceiling(occurrence)
    }

    fn is_over_ceiling(&self, occurrence: u32) -> bool {
        let ceiling = self.config.frequency_ceiling;
        ceiling > 0 && occurrence >= ceiling
    }
}

/// Encodes one text, token by token.
struct Encoding<'a> {
    encoder: &'a SdrEncoder,
    votes: Votes,
    occurrences: HashMap<Vec<u8>, u32>,
    hash: Vec<u64>,
    output: Vec<u8>,
    /// Cached hashes of single bytes.
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
            // The token has 1.5 times the weight of each of its letters.
            self.vote(&token, weight + weight / 2);
        } else {
            self.vote(&token, weight);
        }
    }

    /// Adds a vote for every byte of the token, with the weight of the byte if it is in the vocabulary and the weight of
    /// the token otherwise.
    fn add_letters(&mut self, token: &[u8], weight: i64) {
        let mut seen = [0u32; 256];
        for byte in token {
            let count = &mut seen[usize::from(*byte)];
            *count += 1;
            if self.encoder.is_over_ceiling(*count) {
                continue;
            }
            let own_weight = self.encoder.vocabulary.as_ref().and_then(|words| words.get(&[*byte][..]));
            self.vote_letter(*byte, own_weight.copied().unwrap_or(weight));
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

    /// Replaces `hash` by the SHAKE256 output, most significant bit of each byte first.
    ///
    /// The last bit of the code is irregular, as in the original encoder. One extra byte is read if the size is a multiple
    /// of 8, and the last bit is the first bit of that byte. For other sizes the last bit is 0, unless it is the first bit
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
    fn overlap_counts_common_set_bits() {
        let a = Sdr::from_active(10, vec![1, 3, 5]).unwrap();
        let b = Sdr::from_active(10, vec![3, 4, 5, 9]).unwrap();
        assert_eq!(a.overlap(&b).unwrap(), 2);
        assert_eq!(a.dense().iter().filter(|&&bit| bit).count(), 3);
        assert!(a.overlap(&Sdr::from_active(11, vec![]).unwrap()).is_err());
    }

    #[test]
    fn rejects_invalid_active_bits() {
        assert!(Sdr::from_active(4, vec![4]).is_err());
        assert!(Sdr::from_active(4, vec![2, 1]).is_err());
        assert!(Sdr::from_active(4, vec![1, 1]).is_err());
    }

    #[test]
    fn shake256_equals_the_fips_202_vector() {
        // The example for the empty message.
        let mut output = [0; 8];
        Shake256::default().finalize_xof().read(&mut output);
        assert_eq!(output, [0x46, 0xB9, 0xDD, 0x2B, 0x0B, 0xA8, 0x8D, 0x13]);
    }
}
