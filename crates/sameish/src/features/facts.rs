//! The facts of a text: its words, and its numbers with the slots that they fill.
//!
//! Another company's quarterly results have the same wording with different numbers and names. [`Facts`] keeps every
//! distinct word of a text in four bytes and every number in sixteen, so that two texts can be compared on them.

use super::numbers::{Item, Word, for_each_item, mix};
use crate::document::ContentRef;
use crate::text::{Plain, TextScratch};

/// The words and numbers of a text, for [`facts_agreement`](crate::matching::facts_agreement).
///
/// Takes four bytes per distinct word and sixteen per number, about 1.5 kB for an article of 500 words. A word is identified by
/// 23 bits of its hash. If two texts have 300 distinct words each and share none, the probability that any two of these words
/// collide is about 1 %.
///
/// Numbers are compared by value, however they are written: `3,000`, `3000` and `three thousand` are equal, `7-1/8` is one
/// number, and `750g` is a number with a unit. `docs/algorithms.md` lists the rules.
///
/// ```
/// use sameish::features::Facts;
/// use sameish::matching::facts_agreement;
///
/// let facts = |text: &str| Facts::of(text);
/// let may = facts("Acme Steel Corp: net 1,200,000 dlrs, 34 cts a share, for the quarter ended March 31");
/// let resent = facts("CORRECTED: Acme Steel Corp: net 1.2 million dollars, 34 cents a share, for the quarter ended March 31");
/// let other = facts("Bolt Foods Inc: net 875,000 dlrs, 12 cts a share, for the quarter ended June 30");
/// assert_eq!(facts_agreement(&may, &resent), Some(1.0));
/// assert!(facts_agreement(&may, &other) < Some(0.4));
/// ```
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Facts {
    /// One entry per distinct word, ascending by key.
    words: Vec<Fact>,
    /// The numbers, ascending by slot, then in the order of the text.
    numbers: Vec<Number>,
}

/// A distinct word of a text, packed into 32 bits.
///
/// From the most significant bit: 23 bits of the hash (the key), 1 bit if the word is capitalized anywhere, 4 bits for the
/// length class, 4 bits for the number of occurrences.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Fact(u32);

const HASH_BITS: u32 = 23;
const KEY_SHIFT: u32 = 9;
const CAPITAL: u32 = 1 << 8;
const LENGTH_SHIFT: u32 = 4;
/// The maximum number of occurrences counted, so that one repeated word cannot outweigh all others.
const MAX_COUNT: u32 = 15;

impl Fact {
    /// Number of bits of a [`key`](Fact::key).
    pub(crate) const KEY_BITS: u32 = HASH_BITS;

    fn new(word: Word) -> Fact {
        let hash = (word.hash >> (64 - HASH_BITS)) as u32;
        Fact(hash << KEY_SHIFT | u32::from(word.capital) << 8 | word.length << LENGTH_SHIFT | 1)
    }

    /// Returns the hash of the word.
    pub(crate) fn key(self) -> u32 {
        self.0 >> KEY_SHIFT
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

/// A number of a text and the slot that it fills.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Number {
    /// The hash of the two words before the number and of its place among the numbers that follow them; 0 if no word precedes.
    pub(crate) slot: u32,
    /// The same two words and the place.
    pub(crate) frame: Frame,
    /// The hash of the six words and numbers before it, with every number replaced by the same placeholder; 0 if fewer than six
    /// precede. Distinguishes numbers in equal slots.
    pub(crate) context: u32,
    /// The hash of the value.
    pub(crate) value: u32,
}

/// The two words before a number, packed into 32 bits: 14 bits of the hash and 1 bit for a capital letter of each, and 2 bits for
/// the place of the number after them.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Frame(u32);

/// The bits of a frame that identify a word.
const FRAME_HASH: u32 = (1 << PREFIX_BITS) - 1;

impl Frame {
    fn new(words: [(u64, bool); 2], place: u64) -> Frame {
        let word = |(hash, capital): (u64, bool)| ((hash >> 50) as u32) << 1 | u32::from(capital);
        Frame(word(words[0]) << 17 | word(words[1]) << 2 | place.min(3) as u32)
    }

    /// Replaces the capitalized words that are `changed` by the same placeholder. Returns `None` if there are none.
    pub(crate) fn without_names(self, changed: impl Fn(WordPrefix) -> bool) -> Option<Frame> {
        let mut frame = self.0;
        for shift in [2, 17] {
            let word = self.0 >> shift;
            if word & 1 == 1 && changed(WordPrefix(word >> 1 & FRAME_HASH)) {
                frame |= FRAME_HASH << (shift + 1);
            }
        }
        (frame != self.0).then_some(Frame(frame))
    }
}

impl Frame {
    /// Returns all frames that [`without_names`](Self::without_names) may return.
    pub(crate) fn without_some_names(self) -> impl Iterator<Item = u32> {
        let is_capital = move |shift: u32| self.0 >> shift & 1 == 1;
        let subsets: [&[u32]; 3] = [&[2], &[17], &[2, 17]];
        subsets
            .into_iter()
            .filter(move |shifts| shifts.iter().all(|&shift| is_capital(shift)))
            .map(move |shifts| shifts.iter().fold(self.0, |frame, shift| frame | FRAME_HASH << (shift + 1)))
    }
}

/// The first 14 bits of the hash of a word.
#[derive(Clone, Copy)]
pub(crate) struct WordPrefix(u32);

/// Bits of a [`WordPrefix`].
const PREFIX_BITS: u32 = 14;

/// Where the words of a text are, by the leading bits of their keys.
#[derive(Debug, Default)]
pub(crate) struct WordIndex {
    /// Number of these bits.
    bits: u32,
    /// End of the words with each value of these bits.
    ends: Vec<u32>,
}

impl WordIndex {
    /// Indexes words in ascending order, a few per entry.
    pub(crate) fn new(words: &[Fact]) -> WordIndex {
        let bits = (words.len() / 4).max(1).ilog2().min(PREFIX_BITS);
        let mut ends = vec![0; 1 << bits];
        for (word, end) in words.iter().zip(1..) {
            ends[(word.key() >> (HASH_BITS - bits)) as usize] = end;
        }
        (1..ends.len()).for_each(|at| ends[at] = ends[at].max(ends[at - 1]));
        WordIndex { bits, ends }
    }

    /// Returns how often the words with a prefix occur in the words that were indexed.
    pub(crate) fn count(&self, prefix: WordPrefix, words: &[Fact]) -> u32 {
        let at = (prefix.0 >> (PREFIX_BITS - self.bits)) as usize;
        let start = if at == 0 { 0 } else { self.ends[at - 1] };
        prefix.count_in(&words[start as usize..self.ends[at] as usize])
    }
}

impl WordPrefix {
    /// Returns how often the words with this prefix occur in a list in ascending order.
    pub(crate) fn count_in(self, words: &[Fact]) -> u32 {
        let start = words.partition_point(|word| word.key() >> (HASH_BITS - PREFIX_BITS) < self.0);
        let same = words[start..].iter().take_while(|word| word.key() >> (HASH_BITS - PREFIX_BITS) == self.0);
        same.map(|word| word.count()).sum()
    }
}

impl Facts {
    /// Collects the facts of a document: of a text by Unicode word boundaries, whatever the preset, or of the given tokens.
    pub fn of<'a>(content: impl Into<ContentRef<'a>>) -> Facts {
        Facts::with_scratch(Plain::unchanged(content.into()), &mut TextScratch::default())
    }

    /// Like [`of`](Self::of), with reusable buffers.
    pub(crate) fn with_scratch(plain: Plain<'_>, scratch: &mut TextScratch) -> Facts {
        let mut words = Vec::new();
        let mut numbers = Vec::new();
        let mut slots = Slots::default();
        for_each_item(plain, scratch, |item, _| match item {
            Item::Word(word) => {
                slots.push_word(word);
                words.push(Fact::new(word));
            }
            Item::Number(value) => numbers.push(slots.push_number(value)),
        });
        words.sort_unstable();
        words.dedup_by(|next, kept| {
            let same = next.key() == kept.key();
            if same {
                *kept = kept.join(*next);
            }
            same
        });
        words.shrink_to_fit();
        numbers.sort_by_key(|number: &Number| number.slot);
        numbers.shrink_to_fit();
        Facts { words, numbers }
    }

    /// Returns the number of distinct words plus the number of numbers.
    pub fn len(&self) -> usize {
        self.words.len() + self.numbers.len()
    }

    /// Returns `true` if there are no facts.
    pub fn is_empty(&self) -> bool {
        self.words.is_empty() && self.numbers.is_empty()
    }

    /// Returns the size in memory, in bytes.
    pub fn size(&self) -> usize {
        size_of_val(&self.words[..]) + size_of_val(&self.numbers[..])
    }

    pub(crate) fn words(&self) -> &[Fact] {
        &self.words
    }

    pub(crate) fn numbers(&self) -> &[Number] {
        &self.numbers
    }

    /// Returns the packed words, ascending, for storage.
    pub(crate) fn packed_words(&self) -> impl Iterator<Item = u32> {
        self.words.iter().map(|fact| fact.0)
    }

    /// Returns slot, frame, context and value of each number, for storage.
    pub(crate) fn packed_numbers(&self) -> impl Iterator<Item = u32> {
        self.numbers.iter().flat_map(|number| [number.slot, number.frame.0, number.context, number.value])
    }

    /// Restores the facts from [`packed_words`](Self::packed_words) and [`packed_numbers`](Self::packed_numbers). Returns
    /// `None` if the words or the slots do not ascend.
    pub(crate) fn from_packed(words: Vec<u32>, numbers: &[u32]) -> Option<Facts> {
        let words: Vec<Fact> = words.into_iter().map(Fact).collect();
        let (numbers, rest) = numbers.as_chunks::<4>();
        let number =
            |&[slot, frame, context, value]: &[u32; 4]| Number { slot, frame: Frame(frame), context, value };
        let numbers: Vec<Number> = numbers.iter().map(number).collect();
        let ascend =
            words.is_sorted_by(|a, b| a.key() < b.key()) && numbers.is_sorted_by_key(|number| number.slot);
        (ascend && rest.is_empty()).then_some(Facts { words, numbers })
    }
}

/// The number of items before a number that distinguish it from others in equal slots.
const CONTEXT: usize = 6;

/// The words and numbers before the current position.
#[derive(Default)]
struct Slots {
    /// The last two words, with their hashes and whether they are capitalized.
    before: [(u64, bool); 2],
    /// The number of numbers since the last word.
    since: u64,
    /// The last items, with 1 for every number, from position `next` on.
    items: [u64; CONTEXT],
    next: usize,
}

impl Slots {
    fn push(&mut self, item: u64) {
        self.items[self.next] = item;
        self.next = if self.next + 1 == CONTEXT { 0 } else { self.next + 1 };
    }

    fn push_word(&mut self, word: Word) {
        self.before = [self.before[1], (word.hash, word.capital)];
        self.since = 0;
        self.push(word.hash);
    }

    fn push_number(&mut self, value: u64) -> Number {
        let slot = match self.before {
            [_, (0, _)] => 0,
            [(first, _), (second, _)] => high_bits(mix(mix(first, second), self.since)).max(1),
        };
        let frame = Frame::new(self.before, self.since);
        let items = (0..CONTEXT).map(|i| self.items[(self.next + i) % CONTEXT]);
        // The beginning of a text says nothing about its context: the text may be cut from the middle of the other.
        let is_complete = self.items.iter().all(|&item| item != 0);
        let context = if is_complete { high_bits(items.fold(0, mix)).max(1) } else { 0 };
        self.since += 1;
        self.push(1);
        Number { slot, frame, context, value: high_bits(value) }
    }
}

fn high_bits(hash: u64) -> u32 {
    (hash >> 32) as u32
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
        assert_eq!(facts.numbers.len(), 4);
        let thrice: Vec<&Fact> = facts.words.iter().filter(|fact| fact.count() == 3).collect();
        assert_eq!(thrice.len(), 1);
        assert!(thrice[0].is_capital() && thrice[0].length() == 1);
        assert!(facts.words.is_sorted_by_key(|fact| fact.key()));
    }

    #[test]
    fn a_slot_is_two_words_and_a_place() {
        let number = |text: &str| *facts(text).numbers.last().unwrap();
        assert_eq!(number("the dollar 1.2 3.4").slot, number("said the dollar 9 3.4").slot);
        assert_ne!(number("the dollar 1.2 3.4").slot, number("the dollar 3.4").slot);
        assert_ne!(number("the dollar 3.4").slot, number("the pound 3.4").slot);
        assert_eq!(number("3.4").slot, 0);
        assert_eq!(number("a b c d e f 5").context, number("x a b c d e f 5").context);
        assert_ne!(number("a b c d e f 5").context, number("x b c d e f 5").context);
        let frame = |text: &str, is_changed: bool| number(text).frame.without_names(|_| is_changed);
        assert!(frame("the Dollar 3.4", true).is_some());
        assert_eq!(frame("the Dollar 3.4", true), frame("the Pound 3.4", true));
        assert_ne!(frame("the Dollar 3.4", true), frame("a Pound 3.4", true));
        assert_eq!([frame("the Dollar 3.4", false), frame("the dollar 3.4", true)], [None, None]);
    }

    #[test]
    fn caps_occurrences_at_fifteen() {
        let facts = facts(&"no ".repeat(1000));
        assert_eq!((facts.len(), facts.words[0].count()), (1, 15));
    }

    #[test]
    fn treats_given_tokens_as_words() {
        let tokens = ["acme", "sold", "12", "million", "крупный", "завод"].map(String::from).to_vec();
        assert_eq!(Facts::of(&Content::Tokens(tokens.clone())), facts(&tokens.join(" ")));
        assert!(Facts::of(&Content::Tokens(vec![String::new()])).len() == 1);
    }

    #[test]
    fn packed_facts_are_restored() {
        let facts = facts("Acme sold 1,234.5 tonnes of 12 kinds");
        let words: Vec<u32> = facts.packed_words().collect();
        let numbers: Vec<u32> = facts.packed_numbers().collect();
        assert_eq!(Facts::from_packed(words.clone(), &numbers), Some(facts));
        assert_eq!(Facts::from_packed(words.clone(), &numbers[1..]), None);
        assert_eq!(Facts::from_packed(words, &[2, 0, 0, 0, 1, 0, 0, 0]), None);
    }
}
