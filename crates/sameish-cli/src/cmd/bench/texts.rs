//! Random numbers and texts, which are the same on every machine.

use sameish::random::SplitMix64;

/// Random numbers and texts.
pub(super) struct Random(SplitMix64);

impl Random {
    pub(super) fn new(seed: u64) -> Random {
        Random(SplitMix64(seed))
    }

    pub(super) fn next(&mut self) -> u64 {
        self.0.next()
    }

    /// Returns a number below `limit`.
    pub(super) fn below(&mut self, limit: usize) -> usize {
        self.0.below(limit)
    }

    /// Returns a word of a vocabulary of 65,536 words. Small numbers are frequent, as in natural texts.
    fn word(&mut self) -> String {
        let bits = 4 + self.below(13);
        let number = self.next() & ((1 << bits) - 1);
        // Consonants and vowels alternate, so that words have 3 to 9 letters.
        let mut rest = number + 0x100;
        let mut word = String::new();
        while rest > 0 {
            word.push(char::from(b"bcdfghklmnprstvw"[(rest & 15) as usize]));
            word.push(char::from(b"aeio"[(rest >> 4 & 3) as usize]));
            rest >>= 6;
        }
        word
    }

    /// Returns the words of a text.
    pub(super) fn words(&mut self, count: usize) -> Vec<String> {
        (0..count).map(|_| self.word()).collect()
    }

    /// Replaces some words by others.
    pub(super) fn edit(&mut self, words: &mut [String], edits: usize) {
        for _ in 0..edits {
            let at = self.below(words.len());
            words[at] = format!("{}x", self.word());
        }
    }
}
