//! The facts of a text: its numbers and words, with what their weights are derived from.
//!
//! Another company's quarterly results have the same wording with different numbers and names. [`Facts`] keeps every
//! distinct number and word of a text in four bytes, so that two texts can be compared on them.

use super::hash::hash_tokens;
use crate::config::{TokenHash, Tokenizer};
use crate::document::ContentRef;
use crate::text::{Batch, PADDING, TextScratch, TokenRange, for_each_batch};

/// The numbers and words of a text, for [`facts_agreement`](crate::matching::facts_agreement).
///
/// Takes four bytes per distinct word, about 1 kB for an article of 500 words. A word is identified by 22 bits of its hash.
/// If two texts have 300 distinct words each and share none, the probability that any two of these words collide is
/// about 2 %.
///
/// ```
/// use sameish::features::Facts;
/// use sameish::matching::facts_agreement;
///
/// let facts = |text: &str| Facts::of(text);
/// let may = facts("Acme Steel Corp: net 1,234,000 dlrs, 34 cts a share, for the quarter ended March 31");
/// let resent = facts("CORRECTED: Acme Steel Corp: net 1,234,000 dlrs, 34 cts a share, for the quarter ended March 31");
/// let other = facts("Bolt Foods Inc: net 875,000 dlrs, 12 cts a share, for the quarter ended June 30");
/// assert_eq!(facts_agreement(&may, &resent), 1.0);
/// assert!(facts_agreement(&may, &other) < 0.4);
/// ```
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Facts {
    /// One entry per distinct word, ascending by key.
    entries: Vec<Fact>,
}

/// A distinct number or word of a text, packed into 32 bits.
///
/// From the most significant bit: 1 bit for a number, 22 bits of the hash (these 23 bits are the key), 1 bit if the word is
/// capitalized anywhere, 4 bits for the length class, 4 bits for the number of occurrences.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Fact(u32);

const HASH_BITS: u32 = 22;
const KEY_SHIFT: u32 = 9;
const NUMBER: u32 = 1 << 31;
const CAPITAL: u32 = 1 << 8;
const LENGTH_SHIFT: u32 = 4;
/// The maximum number of occurrences counted, so that one repeated word cannot outweigh all others.
const MAX_COUNT: u32 = 15;

impl Fact {
    fn new(token: &[u8], hash: u64, capital: bool) -> Fact {
        let number = if is_number(token) { NUMBER } else { 0 };
        let hash = (hash >> (64 - HASH_BITS)) as u32;
        Fact(number | hash << KEY_SHIFT | u32::from(capital) << 8 | length_class(token) << LENGTH_SHIFT | 1)
    }

    /// Returns the key. Numbers and words have different keys.
    pub(crate) fn key(self) -> u32 {
        self.0 >> KEY_SHIFT
    }

    pub(crate) fn is_number(self) -> bool {
        self.0 & NUMBER != 0
    }

    pub(crate) fn is_capital(self) -> bool {
        self.0 & CAPITAL != 0
    }

    /// Returns the length class: the number of letters beyond the third, at most 9.
    pub(crate) fn length(self) -> u32 {
        self.0 >> LENGTH_SHIFT & 15
    }

    pub(crate) fn count(self) -> u32 {
        self.0 & 15
    }

    /// Merges two entries of the same word: adds the counts and combines the marks.
    fn join(self, other: Fact) -> Fact {
        let count = (self.count() + other.count()).min(MAX_COUNT);
        let length = self.length().max(other.length());
        let capital = (self.0 | other.0) & CAPITAL;
        Fact(self.key() << KEY_SHIFT | capital | length << LENGTH_SHIFT | count)
    }
}

impl Facts {
    /// Collects the facts of a document: of a text by Unicode word boundaries, whatever the preset, or of the given tokens.
    pub fn of<'a>(content: impl Into<ContentRef<'a>>) -> Facts {
        Facts::with_scratch(content.into(), &mut TextScratch::default())
    }

    /// Like [`of`](Self::of), with reusable buffers.
    pub(crate) fn with_scratch(content: ContentRef<'_>, scratch: &mut TextScratch) -> Facts {
        let mut collector = Collector::default();
        match content {
            ContentRef::Text(text) => {
                for_each_batch(Tokenizer::Unicode, text, scratch, |batch| collector.push(batch, text));
            }
            ContentRef::Tokens(tokens) => tokens.iter().for_each(|token| collector.push_given(token)),
        }
        collector.finish()
    }

    /// Returns the number of distinct numbers and words.
    pub fn len(&self) -> usize {
        self.entries.len()
    }

    /// Returns `true` if there are no facts.
    pub fn is_empty(&self) -> bool {
        self.entries.is_empty()
    }

    pub(crate) fn as_slice(&self) -> &[Fact] {
        &self.entries
    }

    /// Returns the packed entries, ascending, for storage.
    pub(crate) fn to_words(&self) -> impl Iterator<Item = u32> {
        self.entries.iter().map(|fact| fact.0)
    }

    /// Restores the facts from [`to_words`](Self::to_words). Returns `None` if the keys do not ascend.
    pub(crate) fn from_words(words: Vec<u32>) -> Option<Facts> {
        let entries: Vec<Fact> = words.into_iter().map(Fact).collect();
        entries.is_sorted_by(|a, b| a.key() < b.key()).then_some(Facts { entries })
    }
}

/// Collects the words of a text.
#[derive(Default)]
struct Collector {
    entries: Vec<Fact>,
    hashes: Vec<u64>,
    given: Vec<u8>,
}

impl Collector {
    fn push(&mut self, batch: &Batch<'_>, text: &str) {
        self.hashes.resize(batch.tokens.len(), 0);
        hash_tokens(TokenHash::Xxh3, batch.bytes, batch.tokens, &mut self.hashes);
        self.entries.extend(self.hashes.iter().enumerate().map(|(i, &hash)| {
            let capital = begins_upper(text.get(batch.span(i).start..).unwrap_or_default());
            Fact::new(batch.token(i), hash, capital)
        }));
    }

    fn push_given(&mut self, token: &str) {
        self.given.clear();
        self.given.extend_from_slice(token.as_bytes());
        self.given.resize(token.len() + PADDING, 0);
        let mut hash = [0];
        let range = TokenRange { start: 0, end: token.len() as u32 };
        hash_tokens(TokenHash::Xxh3, &self.given, &[range], &mut hash);
        self.entries.push(Fact::new(token.as_bytes(), hash[0], begins_upper(token)));
    }

    fn finish(mut self) -> Facts {
        self.entries.sort_unstable();
        self.entries.dedup_by(|next, kept| {
            let same = next.key() == kept.key();
            if same {
                *kept = kept.join(*next);
            }
            same
        });
        self.entries.shrink_to_fit();
        Facts { entries: self.entries }
    }
}

/// Returns `true` if a word begins with a digit of any script.
fn is_number(token: &[u8]) -> bool {
    match token.first() {
        Some(byte) if byte.is_ascii() => byte.is_ascii_digit(),
        Some(_) => first_char(token).is_some_and(char::is_numeric),
        None => false,
    }
}

fn begins_upper(text: &str) -> bool {
    match text.as_bytes().first() {
        Some(byte) if byte.is_ascii() => byte.is_ascii_uppercase(),
        Some(_) => text.chars().next().is_some_and(char::is_uppercase),
        None => false,
    }
}

fn first_char(token: &[u8]) -> Option<char> {
    let start = &token[..token.len().min(4)];
    let valid = start.utf8_chunks().next()?.valid();
    valid.chars().next()
}

/// Returns the number of letters beyond the third, at most 9.
///
/// Words in scripts whose characters take three bytes (Han, Kana, Thai, Devanagari) are short, often a single character.
/// They count as four letters longer.
fn length_class(token: &[u8]) -> u32 {
    let letters = token.iter().filter(|&&byte| byte & 0xC0 != 0x80).count();
    let dense = letters > 0 && token.len() >= 3 * letters;
    let letters = if dense { letters + 4 } else { letters };
    letters.saturating_sub(3).min(9) as u32
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::document::Content;

    fn facts(text: &str) -> Facts {
        Facts::of(&Content::Text(text.into()))
    }

    #[test]
    fn keeps_one_entry_per_word_with_its_marks() {
        let facts = facts("Acme sold 1,234.5 tonnes; acme sold 12 tonnes, ACME said. Is it ٣٤ or １２?");
        let numbers = facts.entries.iter().filter(|fact| fact.is_number());
        // Full-width digits are folded to ASCII, so 12 occurs twice.
        assert_eq!(numbers.map(|fact| fact.count()).sum::<u32>(), 4);
        let thrice: Vec<&Fact> = facts.entries.iter().filter(|fact| fact.count() == 3).collect();
        assert_eq!(thrice.len(), 1);
        assert!(thrice[0].is_capital() && thrice[0].length() == 1 && !thrice[0].is_number());
        assert!(facts.entries.is_sorted_by_key(|fact| fact.key()));
    }

    #[test]
    fn caps_occurrences_at_fifteen() {
        let facts = facts(&"no ".repeat(1000));
        assert_eq!((facts.len(), facts.entries[0].count()), (1, 15));
    }

    #[test]
    fn treats_given_tokens_as_words() {
        let tokens = ["acme", "sold", "12", "крупный", "завод"].map(String::from).to_vec();
        assert_eq!(Facts::of(&Content::Tokens(tokens.clone())), facts(&tokens.join(" ")));
        assert!(Facts::of(&Content::Tokens(vec![String::new()])).len() == 1);
    }

    #[test]
    fn length_class_depends_on_script() {
        let class = |word: &str| length_class(word.as_bytes());
        assert_eq!(["", "the", "four", "für", "для", "antidisestablishment"].map(class), [0, 0, 1, 0, 0, 9]);
        assert_eq!(["京", "タワー"].map(class), [2, 4]);
    }
}
