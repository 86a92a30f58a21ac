//! Agreement of facts in a group of similar texts, without walking through what they have in common.
//!
//! In a crowd of similar texts, most words of a text are those of most others. For each text, only the words in which it differs from
//! these are kept in a list. All that the measure needs are sums over words. So the sums for two texts are those for the common words,
//! plus what the changes of each text contribute alone, corrected for the words that both change. [`KeySet`] finds these.
//!
//! The numbers of two texts are compared only if the texts may have a number, or the words before one, in common.

use super::facts::{NumberTally, WordTally, agreement_of, facts_agreement};
use super::key_set::KeySet;
use crate::features::{Fact, Facts};
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
    /// Marks of the numbers: without a common one, the numbers of two texts have nothing in common.
    marks: KeySet,
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
            let marks = KeySet::new(number_marks(facts), u32::BITS, size);
            Changes { common: self.clone(), keys, list, sum, marks }
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
                let numbers = match a.marks.meets(&b.marks) {
                    true => NumberTally::of(&self.facts, &other.facts),
                    false => NumberTally::of_different(&self.facts, &other.facts),
                };
                agreement_of(&words_of(a, b), &numbers)
            }
            None => facts_agreement(&self.facts, &other.facts),
        }
    }
}

/// Returns the marks of the numbers of a text. If two texts have no mark in common, no number of one text has the slot or the value
/// of a number of the other one, nor its frame without names.
fn number_marks(facts: &Facts) -> Vec<u32> {
    let mark = |kind: u64, hash: u32| {
        ((u64::from(hash) << 2 | kind).wrapping_mul(0x9E37_79B9_7F4A_7C15) >> u32::BITS) as u32
    };
    let mut marks = Vec::new();
    for number in facts.numbers() {
        marks.push(mark(0, number.value));
        // Numbers without words before them have no slot.
        marks.extend((number.slot != 0).then(|| mark(1, number.slot)));
        marks.extend(number.frame.without_some_names().map(|frame| mark(2, frame)));
    }
    marks.sort_unstable();
    marks.dedup();
    marks
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
                    text[at] = match random.below(5) {
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
        for (a, x) in related.iter().zip(&texts) {
            for (b, y) in related.iter().zip(&texts) {
                assert_eq!(a.agreement(b), facts_agreement(x, y));
            }
            assert_eq!(a.agreement(&stranger), facts_agreement(x, stranger.facts()));
        }
    }
}
