//! Shingling: how do tokens become features?

use super::hash::hash_tokens;
use super::hash_shingle;
use crate::config::{Shingle, TokenHash};
use crate::simd::{self, Level};
use crate::text::{PADDING, TokenRange};

/// Converts the tokens of a text into features, batch by batch.
///
/// Tokens whose shingles continue in the next batch are carried over, so the features do not depend on the batch
/// boundaries.
pub(crate) struct Shingler {
    shingle: Shingle,
    hash: TokenHash,
    /// Hashes of words. The first `word_count` are pending; the rest is left over from earlier batches.
    words: Vec<u64>,
    word_count: usize,
    /// Pending text for character n-grams.
    text: Vec<u8>,
    /// Offsets at which the characters of `text` begin.
    starts: Vec<u32>,
    grams: Vec<TokenRange>,
    tokens_seen: usize,
    /// Whether the current text has produced a feature.
    any: bool,
    features: Vec<u64>,
}

impl Shingler {
    pub(crate) fn new(shingle: Shingle, hash: TokenHash) -> Shingler {
        Shingler {
            shingle,
            hash,
            words: Vec::new(),
            word_count: 0,
            text: Vec::new(),
            starts: Vec::new(),
            grams: Vec::new(),
            tokens_seen: 0,
            any: false,
            features: Vec::new(),
        }
    }

    /// Returns `true` if the current text has produced a feature.
    pub(crate) fn any(&self) -> bool {
        self.any
    }

    /// Starts a new text.
    pub(crate) fn begin(&mut self) {
        self.word_count = 0;
        self.text.clear();
        self.starts.clear();
        self.tokens_seen = 0;
        self.any = false;
    }

    /// Adds tokens and returns the features that they complete. `bytes` must have [`PADDING`] bytes after the last token.
    pub(crate) fn push_tokens(&mut self, bytes: &[u8], tokens: &[TokenRange]) -> &[u64] {
        match self.shingle {
            Shingle::Words(1) => {
                self.features.resize(tokens.len(), 0);
                hash_tokens(self.hash, bytes, tokens, &mut self.features);
            }
            Shingle::Words(n) => {
                self.hash_words(bytes, tokens);
                self.word_ngrams(n as usize);
            }
            Shingle::Windows(n) => {
                self.hash_words(bytes, tokens);
                self.rolling_windows(n as usize);
            }
            Shingle::Letters => self.words_and_letters(bytes, tokens),
            Shingle::Chars(n) => self.char_ngrams(bytes, tokens, n as usize),
        }
        self.tokens_seen += tokens.len();
        self.any |= !self.features.is_empty();
        &self.features
    }

    /// Ends the text and returns its remaining features: a text that is shorter than one shingle has one feature.
    pub(crate) fn finish(&mut self) -> &[u64] {
        self.features.clear();
        if !self.any && self.tokens_seen > 0 {
            match self.shingle {
                Shingle::Words(_) => self.features.push(hash_shingle(&self.words[..self.word_count])),
                Shingle::Chars(_) => self.features.push(super::hash_token(TokenHash::Xxh3, &self.text)),
                Shingle::Windows(_) | Shingle::Letters => {}
            }
            self.any = !self.features.is_empty();
        }
        &self.features
    }

    /// Appends the hashes of tokens to the pending words. The buffer never shrinks, so it is not cleared for each batch.
    fn hash_words(&mut self, bytes: &[u8], tokens: &[TokenRange]) {
        let end = self.word_count + tokens.len();
        if self.words.len() < end {
            self.words.resize(end, 0);
        }
        hash_tokens(self.hash, bytes, tokens, &mut self.words[self.word_count..end]);
        self.word_count = end;
    }

    /// Replaces `features` by the n-grams of the pending words.
    fn word_ngrams(&mut self, n: usize) {
        let words = &self.words[..self.word_count];
        self.features.resize((words.len() + 1).saturating_sub(n), 0);
        if n == 3 {
            // The most common length has its own kernel.
            simd::hash_triples(Level::current(), words, &mut self.features);
        } else {
            for (feature, window) in self.features.iter_mut().zip(words.windows(n)) {
                *feature = hash_shingle(window);
            }
        }
        self.keep_words(n - 1);
    }

    /// Replaces `features` by the rolling windows of the pending words.
    ///
    /// The hash of a window is w1 B^(n-1) + ... + wn modulo 2^64, then mixed. Moving it by one word costs two
    /// multiplications for any n (Karp and Rabin, 1987).
    fn rolling_windows(&mut self, n: usize) {
        self.features.clear();
        let words = &self.words[..self.word_count];
        if words.len() >= n {
            let top = (1..n).fold(1u64, |power, _| power.wrapping_mul(BASE));
            let mut sum =
                words[..n].iter().fold(0u64, |sum, &word| sum.wrapping_mul(BASE).wrapping_add(word));
            self.features.push(super::hash::mix(sum));
            for (&old, &new) in words.iter().zip(&words[n..]) {
                sum = sum.wrapping_sub(old.wrapping_mul(top)).wrapping_mul(BASE).wrapping_add(new);
                self.features.push(super::hash::mix(sum));
            }
        }
        self.keep_words(n - 1);
    }

    /// Carries the last `count` words over to the next batch.
    fn keep_words(&mut self, count: usize) {
        let done = self.word_count.saturating_sub(count);
        self.words.copy_within(done..self.word_count, 0);
        self.word_count -= done;
    }

    /// Replaces `features` by the words and each of their characters.
    fn words_and_letters(&mut self, bytes: &[u8], tokens: &[TokenRange]) {
        self.features.resize(tokens.len(), 0);
        hash_tokens(self.hash, bytes, tokens, &mut self.features);
        for token in tokens {
            let word = token.of(bytes);
            self.starts.clear();
            self.starts.extend(char_starts(word, 0));
            self.starts.push(word.len() as u32);
            let letters = self.starts.windows(2).map(|pair| &word[pair[0] as usize..pair[1] as usize]);
            self.features.extend(letters.map(|letter| super::hash_token(self.hash, letter)));
        }
        self.starts.clear();
    }

    /// Replaces `features` by the character n-grams of the words joined by one space.
    fn char_ngrams(&mut self, bytes: &[u8], tokens: &[TokenRange], n: usize) {
        let old = self.text.len();
        for (i, token) in tokens.iter().enumerate() {
            if self.tokens_seen + i > 0 {
                self.text.push(b' ');
            }
            self.text.extend_from_slice(token.of(bytes));
        }
        self.starts.extend(char_starts(&self.text[old..], old));
        let end = self.text.len() as u32;
        self.text.resize(self.text.len() + PADDING, 0);
        let ends = self.starts.iter().skip(n).chain(std::iter::once(&end));
        let count = (self.starts.len() + 1).saturating_sub(n);
        self.grams.clear();
        self.grams
            .extend(self.starts[..count].iter().zip(ends).map(|(&start, &end)| TokenRange { start, end }));
        self.features.resize(self.grams.len(), 0);
        hash_tokens(TokenHash::Xxh3, &self.text, &self.grams, &mut self.features);
        self.text.truncate(end as usize);
        self.keep_chars(n - 1);
    }

    /// Carries the last `count` characters over to the next batch.
    fn keep_chars(&mut self, count: usize) {
        let done = self.starts.len().saturating_sub(count);
        if done > 0 {
            let cut = self.starts.get(done).map_or(self.text.len(), |&start| start as usize);
            self.text.drain(..cut);
            self.starts.drain(..done);
            self.starts.iter_mut().for_each(|start| *start -= cut as u32);
        }
    }
}

/// Base of the rolling hash: XXH64's first prime.
const BASE: u64 = 0x9E37_79B1_85EB_CA87;

/// Returns the offsets at which the characters of UTF-8 text begin, plus `offset`.
fn char_starts(text: &[u8], offset: usize) -> impl Iterator<Item = u32> {
    text.iter().enumerate().filter(|(_, byte)| **byte & 0xC0 != 0x80).map(move |(i, _)| (offset + i) as u32)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::features::hash_token;

    /// Returns the features of a text that is passed in batches of `step` words.
    fn features(shingle: Shingle, hash: TokenHash, text: &str, step: usize) -> Vec<u64> {
        let mut shingler = Shingler::new(shingle, hash);
        let mut features = Vec::new();
        for words in text.split(' ').filter(|word| !word.is_empty()).collect::<Vec<_>>().chunks(step) {
            let mut bytes = Vec::new();
            let mut tokens = Vec::new();
            for word in words {
                let start = bytes.len() as u32;
                bytes.extend_from_slice(word.as_bytes());
                tokens.push(TokenRange { start, end: bytes.len() as u32 });
            }
            bytes.resize(bytes.len() + PADDING, 0xAA);
            features.extend_from_slice(shingler.push_tokens(&bytes, &tokens));
        }
        features.extend_from_slice(shingler.finish());
        features
    }

    fn xxh3(text: &str) -> u64 {
        hash_token(TokenHash::Xxh3, text.as_bytes())
    }

    #[test]
    fn word_shingles_overlap_by_all_but_one_word() {
        let words = ["a", "bb", "ccc", "d"].map(xxh3);
        let expected = vec![hash_shingle(&words[0..3]), hash_shingle(&words[1..4])];
        for step in 1..5 {
            assert_eq!(features(Shingle::Words(3), TokenHash::Xxh3, "a bb ccc d", step), expected);
        }
    }

    #[test]
    fn text_shorter_than_a_shingle_is_one_feature() {
        let words = ["a", "bb"].map(xxh3);
        assert_eq!(features(Shingle::Words(3), TokenHash::Xxh3, "a bb", 1), [hash_shingle(&words)]);
        assert_eq!(features(Shingle::Chars(9), TokenHash::Xxh3, "a bb", 1), [xxh3("a bb")]);
        assert_eq!(features(Shingle::Windows(3), TokenHash::Xxh3, "a bb", 1), [0u64; 0]);
        for shingle in [Shingle::Words(3), Shingle::Chars(3), Shingle::Letters, Shingle::Windows(3)] {
            assert_eq!(features(shingle, TokenHash::Xxh3, "", 1), [0u64; 0]);
        }
    }

    #[test]
    fn character_shingles_span_words_and_scripts() {
        let expected: Vec<u64> = ["ab é", "b éc", " éc€"].map(xxh3).to_vec();
        for step in 1..3 {
            assert_eq!(features(Shingle::Chars(4), TokenHash::Xxh3, "ab éc€", step), expected);
        }
        assert_eq!(features(Shingle::Chars(1), TokenHash::Xxh3, "é b", 1), ["é", " ", "b"].map(xxh3));
    }

    #[test]
    fn letters_are_features_in_addition_to_their_words() {
        let mut found = features(Shingle::Letters, TokenHash::Xxh3, "hé a", 2);
        let mut expected = ["hé", "h", "é", "a", "a"].map(xxh3);
        found.sort_unstable();
        expected.sort_unstable();
        assert_eq!(found, expected);
    }

    #[test]
    fn rolling_windows_equal_the_direct_sum() {
        let text = "one two three four five six seven";
        let words: Vec<u64> = text.split(' ').map(xxh3).collect();
        let sums =
            words.windows(3).map(|w| w.iter().fold(0u64, |sum, &x| sum.wrapping_mul(BASE).wrapping_add(x)));
        let expected: Vec<u64> = sums.map(|sum| xxhash_rust::xxh3::xxh3_64(&sum.to_le_bytes())).collect();
        for step in 1..8 {
            assert_eq!(features(Shingle::Windows(3), TokenHash::Xxh3, text, step), expected);
        }
    }

    #[test]
    fn features_do_not_depend_on_batch_boundaries() {
        let text = "the quick brown fox jumps over the lazy dog while ünïcode wörds 日本 go by";
        for shingle in
            [Shingle::Words(1), Shingle::Words(2), Shingle::Words(5), Shingle::Chars(5), Shingle::Windows(4)]
        {
            let whole = features(shingle, TokenHash::Xxh3, text, 100);
            for step in 1..7 {
                assert_eq!(features(shingle, TokenHash::Xxh3, text, step), whole, "{shingle}");
            }
        }
        let fnv = features(Shingle::Words(1), TokenHash::Fnv1a, "hello", 1);
        assert_eq!(fnv, [0xa430_d846_80aa_bd0b]);
    }
}
