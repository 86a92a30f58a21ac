//! Agreement of facts in a group of similar texts, without walking through what they have in common.
//!
//! In a crowd of similar texts, most words of a text are those of most others. For each text, only the words in which it differs from
//! these are kept in a list. All that the measure needs are sums over words. So the sums for two texts are those for the common words,
//! plus what the changes of each text contribute alone, corrected for the words that both change. [`KeySet`] finds these.
//!
//! The numbers of two texts are paired only if the texts have a value or a slot in common. Otherwise, only numbers after names that one
//! text lacks may be substituted.

use super::facts::{NumberTally, WordTally, agreement_of, facts_agreement};
use super::key_set::KeySet;
use crate::features::{Fact, Facts, Frame, WordIndex};
use std::sync::Arc;

/// Bits of the set of changed words per common word.
const BITS_PER_WORD: usize = 4;

/// The words that most texts of a group have, each equally often.
#[derive(Debug, Default)]
pub struct CommonFacts {
    /// Ascending by key.
    words: Vec<Fact>,
    /// Sums over `words`, as if two texts had no others.
    tally: WordTally,
}

/// The facts of a text of a group.
#[derive(Debug, Default)]
pub struct RelatedFacts {
    facts: Facts,
    changes: Option<Changes>,
}

/// The words in which a text differs from the common ones.
#[derive(Debug)]
struct Changes {
    common: Arc<CommonFacts>,
    /// Keys of the changed words.
    keys: KeySet,
    /// The changed words, in the order of their keys.
    list: Vec<Change>,
    /// What the changes add to the sums if the other text has the common words.
    sum: WordTally,
    /// The values and slots of the numbers.
    numbers: KeySet,
    names: Names,
}

/// The numbers of a text that follow capitalized words.
#[derive(Debug)]
struct Names {
    /// The words before each.
    frames: Vec<Frame>,
    /// These words without any of the names.
    without_names: KeySet,
    /// Where the words of the text are, if it has such numbers.
    words: WordIndex,
}

/// A word that a text and the common words do not contain equally often.
#[derive(Clone, Copy, Debug)]
struct Change {
    own: Option<Fact>,
    common: Option<Fact>,
}

impl Change {
    /// Returns what the change adds to the sums if the other text has the common words.
    fn tally(self) -> WordTally {
        WordTally::of_word(self.own, self.common).minus(WordTally::of_word(self.common, self.common))
    }
}

impl CommonFacts {
    /// Returns the words that more than half of the texts of a sample have.
    pub fn of<'a>(sample: impl Iterator<Item = &'a Facts>) -> CommonFacts {
        let mut texts = 0;
        let mut all: Vec<Fact> = Vec::new();
        for facts in sample {
            texts += 1;
            all.extend(facts.words());
        }
        all.sort_unstable();
        // At most one entry of a key is in more than half of the texts.
        let runs = all.chunk_by(|a, b| a == b).filter(|run| run.len() * 2 > texts);
        let words: Vec<Fact> = runs.map(|run| run[0]).collect();
        let mut tally = WordTally::default();
        words.iter().for_each(|&word| tally.add(Some(word), Some(word)));
        CommonFacts { words, tally }
    }

    /// Returns the changes of a text, or `None` if there are too many to save time.
    fn changes(self: &Arc<CommonFacts>, facts: &Facts) -> Option<Changes> {
        let words = facts.words();
        let (mut keys, mut list) = (Vec::new(), Vec::new());
        let (mut i, mut j) = (0, 0);
        while i < words.len() || j < self.words.len() {
            let [x, y] =
                [words.get(i), self.words.get(j)].map(|fact| fact.map_or(u32::MAX, |fact| fact.key()));
            let own = (x <= y).then(|| words[i]);
            let common = (y <= x).then(|| self.words[j]);
            if own != common {
                keys.push(x.min(y));
                list.push(Change { own, common });
            }
            i += usize::from(x <= y);
            j += usize::from(y <= x);
        }
        let is_worthwhile = list.len() * 2 < words.len();
        is_worthwhile.then(|| {
            let sum = list.iter().fold(WordTally::default(), |sum, change| sum.plus(change.tally()));
            let size = self.words.len();
            let keys = KeySet::new(keys, Fact::KEY_BITS, BITS_PER_WORD * size);
            let numbers = KeySet::new(values_and_slots(facts), u32::BITS, size);
            Changes { common: self.clone(), keys, list, sum, numbers, names: Names::of(facts, size) }
        })
    }
}

impl RelatedFacts {
    /// Relates the facts of a text to those of its group.
    pub fn new(facts: Facts, common: Option<&Arc<CommonFacts>>) -> RelatedFacts {
        let changes = common.and_then(|common| common.changes(&facts));
        RelatedFacts { facts, changes }
    }

    /// Returns the facts.
    pub fn facts(&self) -> &Facts {
        &self.facts
    }

    /// Returns what [`facts_agreement`] returns for the facts of two texts.
    pub fn agreement(&self, other: &RelatedFacts) -> Option<f64> {
        let related = self.changes.as_ref().zip(other.changes.as_ref());
        match related.filter(|(a, b)| Arc::ptr_eq(&a.common, &b.common)) {
            Some((a, b)) => {
                let facts = [&self.facts, &other.facts];
                let numbers = match a.numbers.meets(&b.numbers) {
                    true => NumberTally::of(facts[0], facts[1]),
                    false => {
                        NumberTally::of_different(facts[0], facts[1], a.names.substituted(&b.names, facts))
                    }
                };
                agreement_of(&words_of(a, b), &numbers)
            }
            None => facts_agreement(&self.facts, &other.facts),
        }
    }
}

/// Returns the hashes of the values and slots of the numbers of a text, in ascending order.
fn values_and_slots(facts: &Facts) -> Vec<u32> {
    let mut hashes = Vec::new();
    for number in facts.numbers() {
        hashes.push(hash(0, number.value));
        // Numbers without words before them have no slot.
        hashes.extend((number.slot != 0).then(|| hash(1, number.slot)));
    }
    distinct(hashes)
}

/// Returns a well-mixed hash of a number of a kind below 4.
fn hash(kind: u64, number: u32) -> u32 {
    ((u64::from(number) << 2 | kind).wrapping_mul(0x9E37_79B9_7F4A_7C15) >> u32::BITS) as u32
}

fn distinct(mut hashes: Vec<u32>) -> Vec<u32> {
    hashes.sort_unstable();
    hashes.dedup();
    hashes
}

impl Names {
    /// Collects the numbers of a text after names. `size` is the size of the set of frames.
    fn of(facts: &Facts, size: usize) -> Names {
        let frames = facts.numbers().iter().map(|number| number.frame);
        let frames: Vec<Frame> = frames.filter(|frame| frame.without_some_names().next().is_some()).collect();
        let without_names = frames.iter().flat_map(|frame| frame.without_some_names());
        let without_names = distinct(without_names.map(|frame| hash(2, frame)).collect());
        let words = if frames.is_empty() { WordIndex::default() } else { WordIndex::new(facts.words()) };
        Names { frames, without_names: KeySet::new(without_names, u32::BITS, size), words }
    }

    /// Returns how many numbers of each of two texts follow the same words, without the names that only one of the texts has.
    fn substituted(&self, other: &Names, [own_facts, other_facts]: [&Facts; 2]) -> u64 {
        if !self.without_names.meets(&other.without_names) {
            return 0;
        }
        let own = self.without_names_of(own_facts, other, other_facts);
        let others = other.without_names_of(other_facts, self, own_facts);
        let (mut i, mut j, mut substituted) = (0, 0, 0);
        while i < own.len() && j < others.len() {
            substituted += u64::from(own[i] == others[j]);
            let (x, y) = (own[i], others[j]);
            i += usize::from(x <= y);
            j += usize::from(y <= x);
        }
        substituted
    }

    /// Returns the frames of numbers after names that another text lacks, without these names, in ascending order.
    fn without_names_of(&self, facts: &Facts, other: &Names, other_facts: &Facts) -> Vec<Frame> {
        let is_only_here =
            |word| self.words.count(word, facts.words()) > other.words.count(word, other_facts.words());
        let mut frames: Vec<Frame> =
            self.frames.iter().filter_map(|frame| frame.without_names(is_only_here)).collect();
        frames.sort_unstable();
        frames
    }
}

/// Returns the tally of the words of two texts of a group.
fn words_of(a: &Changes, b: &Changes) -> WordTally {
    let mut tally = a.common.tally.plus(a.sum).plus(b.sum.swapped());
    a.keys.for_each_shared(&b.keys, |i, j| {
        let (of_a, of_b) = (a.list[i], b.list[j]);
        let common = WordTally::of_word(of_a.common, of_a.common);
        let both = WordTally::of_word(of_a.own, of_b.own).minus(common);
        tally = tally.plus(both).minus(of_a.tally()).minus(of_b.tally().swapped());
    });
    tally
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::random::SplitMix64;

    #[test]
    fn agreement_equals_that_of_the_facts() {
        let mut random = SplitMix64(11);
        let common: Vec<String> =
            (0..60).map(|i| format!("{}shared{i}", if i % 9 == 0 { "N" } else { "" })).collect();
        let texts: Vec<Facts> = (0..80)
            .map(|_| {
                let mut text = common.clone();
                for _ in 0..random.below(12) {
                    let at = random.below(text.len());
                    text[at] = match random.below(6) {
                        5 => format!("Name{} {}", random.below(1_000), random.below(100_000)),
                        0 => format!("{}", random.below(1_000)),
                        1 => text[at].to_uppercase(),
                        2 => common[random.below(60)].clone(),
                        3 => String::new(),
                        _ => format!("other{}", random.below(30)),
                    };
                }
                Facts::of(&*text.join(" "))
            })
            .collect();
        let shared = Arc::new(CommonFacts::of(texts.iter()));
        let related: Vec<RelatedFacts> =
            texts.iter().map(|facts| RelatedFacts::new(facts.clone(), Some(&shared))).collect();
        assert!(related.iter().all(|facts| facts.changes.is_some()));
        let stranger = RelatedFacts::new(Facts::of("a text without any of the shared words"), Some(&shared));
        assert!(stranger.changes.is_none());
        let mut different = [0; 2];
        for (a, x) in related.iter().zip(&texts) {
            for (b, y) in related.iter().zip(&texts) {
                assert_eq!(a.agreement(b), facts_agreement(x, y));
                let [of_a, of_b] = [a, b].map(|facts| facts.changes.as_ref().unwrap());
                if !of_a.numbers.meets(&of_b.numbers) {
                    let substituted = of_a.names.substituted(&of_b.names, [x, y]);
                    different[usize::from(substituted > 0)] += 1;
                }
            }
            assert_eq!(a.agreement(&stranger), facts_agreement(x, stranger.facts()));
        }
        assert!(different.iter().all(|&pairs| pairs > 50), "{different:?}");
    }
}
