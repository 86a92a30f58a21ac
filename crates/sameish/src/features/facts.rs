//! Which words of a text are its facts?
//!
//! Numbers and rare words: another company's results have the same words in the same places, and other numbers and names.
//! What is rare is known only when a pair is judged, from a [`WordFrequencies`] of the corpus or, without one, from how
//! long a word is. So [`Facts`] keeps every distinct word, in four bytes.

use super::hash::hash_tokens;
use crate::config::{TokenHash, Tokenizer};
use crate::document::ContentRef;
use crate::error::{Error, Result};
use crate::text::{Batch, PADDING, TextScratch, TokenRange, for_each_batch};
use xxhash_rust::xxh3::xxh3_64;

/// The numbers and words of a text, for [`facts_agreement`](crate::facts_agreement).
///
/// Four bytes for each distinct word, about 1 kB for an article of 500 words. A word is known by 22 bits of its hash: of
/// 300 words that a text of 300 other words does not have, one in fifty pairs of texts sees one by mistake.
///
/// ```
/// use sameish::{Content, Facts, facts_agreement};
///
/// let facts = |text: &str| Facts::of(&Content::Text(text.into()));
/// let may = facts("Acme Steel Corp: net 1,234,000 dlrs, 34 cts a share, for the quarter ended March 31");
/// let resent = facts("CORRECTED: Acme Steel Corp: net 1,234,000 dlrs, 34 cts a share, for the quarter ended March 31");
/// let other = facts("Bolt Foods Inc: net 875,000 dlrs, 12 cts a share, for the quarter ended June 30");
/// assert_eq!(facts_agreement(&may, &resent, None), 1.0);
/// assert!(facts_agreement(&may, &other, None) < 0.4);
/// ```
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Facts {
    /// One for each distinct word, ascending by key.
    entries: Vec<Fact>,
}

/// A distinct word of a text. From the highest bit down: whether it is a number, 22 bits of its hash (the key so far),
/// whether it is capitalized anywhere, 4 bits for its length, 4 for how often it stands there.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Fact(u32);

const HASH_BITS: u32 = 22;
const KEY_SHIFT: u32 = 9;
const NUMBER: u32 = 1 << 31;
const CAPITAL: u32 = 1 << 8;
const LENGTH_SHIFT: u32 = 4;
/// More occurrences of one word count no more, so that no word of a table outweighs all others.
const MAX_COUNT: u32 = 15;

impl Fact {
    fn new(token: &[u8], hash: u64, capital: bool) -> Fact {
        let number = if is_number(token) { NUMBER } else { 0 };
        let hash = (hash >> (64 - HASH_BITS)) as u32;
        Fact(number | hash << KEY_SHIFT | u32::from(capital) << 8 | length_class(token) << LENGTH_SHIFT | 1)
    }

    /// What it is known by: a number is never taken for a word.
    pub(crate) fn key(self) -> u32 {
        self.0 >> KEY_SHIFT
    }

    pub(crate) fn is_number(self) -> bool {
        self.0 & NUMBER != 0
    }

    pub(crate) fn is_capital(self) -> bool {
        self.0 & CAPITAL != 0
    }

    /// Letters beyond the third, at most 9.
    pub(crate) fn length(self) -> u32 {
        self.0 >> LENGTH_SHIFT & 15
    }

    pub(crate) fn count(self) -> u32 {
        self.0 & 15
    }

    /// The same word, as often as both and with the marks of both.
    fn join(self, other: Fact) -> Fact {
        let count = (self.count() + other.count()).min(MAX_COUNT);
        let length = self.length().max(other.length());
        let capital = (self.0 | other.0) & CAPITAL;
        Fact(self.key() << KEY_SHIFT | capital | length << LENGTH_SHIFT | count)
    }

    fn counter(self) -> usize {
        (self.key() as usize & ((1 << HASH_BITS) - 1)) >> (HASH_BITS - COUNTER_BITS)
    }
}

impl Facts {
    /// The facts of a document: of a text by Unicode's words, whatever the preset; else the given tokens as they are.
    pub fn of<'a>(content: impl Into<ContentRef<'a>>) -> Facts {
        Facts::with_scratch(content.into(), &mut TextScratch::default())
    }

    /// The same, with buffers that are used again.
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

    /// How many distinct numbers and words there are.
    pub fn len(&self) -> usize {
        self.entries.len()
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.entries.is_empty()
    }

    pub(crate) fn as_slice(&self) -> &[Fact] {
        &self.entries
    }

    /// For storing: one number for each distinct word, ascending.
    pub(crate) fn to_words(&self) -> impl Iterator<Item = u32> {
        self.entries.iter().map(|fact| fact.0)
    }

    /// Reads what [`to_words`](Self::to_words) gave. Nothing where the words' keys do not ascend.
    pub(crate) fn from_words(words: Vec<u32>) -> Option<Facts> {
        let entries: Vec<Fact> = words.into_iter().map(Fact).collect();
        entries.is_sorted_by(|a, b| a.key() < b.key()).then_some(Facts { entries })
    }
}

/// Takes the words of a text as they come.
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

/// Whether a word begins with a digit, of any script.
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

/// Letters beyond the third, at most 9. Words of scripts whose characters take three bytes (Han, Kana, Thai, Devanagari)
/// are short, a single character often is one: they count as four letters longer.
fn length_class(token: &[u8]) -> u32 {
    let letters = token.iter().filter(|&&byte| byte & 0xC0 != 0x80).count();
    let dense = letters > 0 && token.len() >= 3 * letters;
    let letters = if dense { letters + 4 } else { letters };
    letters.saturating_sub(3).min(9) as u32
}

const COUNTER_BITS: u32 = 20;

/// In how many documents of a corpus each word stands, in 4 MB whatever the corpus.
///
/// 2^20 counters, one for each value of 20 bits of a word's hash. Words that share a counter seem as common as both
/// together, which moves the logarithm of a rare word by little: the words that stand in one text of sixteen are a few
/// hundred, so one rare word in some thousand is taken for one of them.
#[derive(Clone, Debug)]
pub struct WordFrequencies {
    documents: u64,
    counts: Box<[u32]>,
}

impl Default for WordFrequencies {
    fn default() -> WordFrequencies {
        WordFrequencies { documents: 0, counts: vec![0; 1 << COUNTER_BITS].into() }
    }
}

impl WordFrequencies {
    /// Counts one more document.
    pub fn add(&mut self, facts: &Facts) {
        self.documents += 1;
        let mut last = usize::MAX;
        for fact in facts.entries.iter().filter(|fact| !fact.is_number()) {
            // Words that share a counter are neighbours, and count once for a document.
            if fact.counter() != last {
                last = fact.counter();
                self.counts[last] = self.counts[last].saturating_add(1);
            }
        }
    }

    /// Adds the counts of other documents; in any order, for the same result.
    pub fn merge(&mut self, other: &WordFrequencies) {
        self.documents += other.documents;
        for (count, more) in self.counts.iter_mut().zip(&other.counts) {
            *count = count.saturating_add(*more);
        }
    }

    /// How many documents were counted.
    pub fn documents(&self) -> u64 {
        self.documents
    }

    /// For storing: little endian, the number of documents, then for each counter that is not 0 its place and its count.
    pub fn to_bytes(&self) -> Vec<u8> {
        let counted = (0u32..).zip(&self.counts).filter(|(_, count)| **count > 0);
        let entries = counted.flat_map(|(at, count)| at.to_le_bytes().into_iter().chain(count.to_le_bytes()));
        self.documents.to_le_bytes().into_iter().chain(entries).collect()
    }

    /// Reads what [`to_bytes`](Self::to_bytes) wrote.
    pub fn from_bytes(bytes: &[u8]) -> Result<WordFrequencies> {
        let wrong = || Error::ByteLength {
            what: "word frequencies",
            expected: "8 and 8 more for each counter, whose places ascend".into(),
            found: bytes.len(),
        };
        let (head, rest) = bytes.split_first_chunk::<8>().ok_or_else(wrong)?;
        let (entries, []) = rest.as_chunks::<8>() else { return Err(wrong()) };
        let mut read = WordFrequencies { documents: u64::from_le_bytes(*head), ..WordFrequencies::default() };
        let mut next = 0;
        for &[a, b, c, d, rest @ ..] in entries {
            let at = u32::from_le_bytes([a, b, c, d]) as usize;
            let count = read.counts.get_mut(at).filter(|_| at >= next).ok_or_else(wrong)?;
            *count = u32::from_le_bytes(rest);
            next = at + 1;
        }
        Ok(read)
    }

    /// Stands for all counts.
    pub fn digest(&self) -> u64 {
        xxh3_64(&self.to_bytes())
    }

    /// log2((N + 1) / (n + 1)) for a word in `n` of `N` documents, in 256ths.
    pub(crate) fn rarity(&self, fact: Fact) -> u32 {
        let seen = u64::from(self.counts[fact.counter()]) + 1;
        rough_log2(self.documents + 1).saturating_sub(rough_log2(seen))
    }
}

/// 256 log2(x) for x > 0, by straight lines between the powers of two (Mitchell 1962): at most 0.09 of a bit too low, the
/// same on every machine, and never falling.
fn rough_log2(x: u64) -> u32 {
    let whole = x.max(1).ilog2();
    let mantissa = if whole >= 8 { x >> (whole - 8) } else { x << (8 - whole) };
    whole << 8 | mantissa as u32 & 0xFF
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::document::Content;

    fn facts(text: &str) -> Facts {
        Facts::of(&Content::Text(text.into()))
    }

    #[test]
    fn one_entry_for_each_word_with_its_marks() {
        let facts = facts("Acme sold 1,234.5 tonnes; acme sold 12 tonnes, ACME said. Is it ٣٤ or １２?");
        let numbers = facts.entries.iter().filter(|fact| fact.is_number());
        // Full-width digits are folded to ASCII, so 12 stands there twice.
        assert_eq!(numbers.map(|fact| fact.count()).sum::<u32>(), 4);
        let thrice: Vec<&Fact> = facts.entries.iter().filter(|fact| fact.count() == 3).collect();
        assert_eq!(thrice.len(), 1);
        assert!(thrice[0].is_capital() && thrice[0].length() == 1 && !thrice[0].is_number());
        assert!(facts.entries.is_sorted_by_key(|fact| fact.key()));
    }

    #[test]
    fn counts_stop_at_fifteen() {
        let facts = facts(&"no ".repeat(1000));
        assert_eq!((facts.len(), facts.entries[0].count()), (1, 15));
    }

    #[test]
    fn given_tokens_are_the_words_of_the_text() {
        let tokens = ["acme", "sold", "12", "крупный", "завод"].map(String::from).to_vec();
        assert_eq!(Facts::of(&Content::Tokens(tokens.clone())), facts(&tokens.join(" ")));
        assert!(Facts::of(&Content::Tokens(vec![String::new()])).len() == 1);
    }

    #[test]
    fn lengths_by_script() {
        let class = |word: &str| length_class(word.as_bytes());
        assert_eq!(["", "the", "four", "für", "для", "antidisestablishment"].map(class), [0, 0, 1, 0, 0, 9]);
        assert_eq!(["京", "タワー"].map(class), [2, 4]);
    }

    #[test]
    fn merged_counts_are_those_of_all() {
        let texts = ["the bridge is closed", "the road is open", "the end"].map(facts);
        let [mut all, mut left, mut right] = [(); 3].map(|()| WordFrequencies::default());
        texts.iter().for_each(|facts| all.add(facts));
        left.add(&texts[2]);
        texts[..2].iter().for_each(|facts| right.add(facts));
        left.merge(&right);
        assert_eq!(left.documents(), 3);
        assert_eq!(left.counts, all.counts);
        let the = facts("the").entries[0];
        assert_eq!((all.rarity(the), all.rarity(facts("unseen").entries[0])), (0, 512));
    }

    #[test]
    fn frequencies_read_what_they_write() {
        let mut frequencies = WordFrequencies::default();
        ["the bridge is closed", "the road", "the end"].iter().for_each(|text| frequencies.add(&facts(text)));
        let bytes = frequencies.to_bytes();
        let read = WordFrequencies::from_bytes(&bytes).unwrap();
        assert_eq!(
            (read.documents, &read.counts, read.digest()),
            (3, &frequencies.counts, frequencies.digest())
        );
        assert!(WordFrequencies::from_bytes(&bytes[..bytes.len() - 1]).is_err());
        let beyond = [bytes.clone(), vec![0xFF; 8]].concat();
        let again = [bytes.clone(), bytes[8..16].to_vec()].concat();
        assert!(
            WordFrequencies::from_bytes(&beyond).is_err() && WordFrequencies::from_bytes(&again).is_err()
        );
    }

    #[test]
    fn rough_logarithm_is_near_and_never_falls() {
        let xs = (1..5000).chain([1 << 20, (1 << 40) + 7, u64::MAX]);
        for x in xs.clone() {
            let error = (x as f64).log2() - f64::from(rough_log2(x)) / 256.0;
            assert!((-1e-9..0.091).contains(&error), "{x}: {error}");
        }
        assert!(xs.map(rough_log2).is_sorted());
    }
}
