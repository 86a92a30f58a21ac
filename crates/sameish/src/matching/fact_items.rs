//! Facts that two texts must have in common, or they are templates.
//!
//! [`facts_agreement`](super::facts_agreement) is below the limit for templates if the text with less weight of words, or the one
//! with fewer numbers, shares too little with the other text. Two texts that agree therefore share some of the rarest items of
//! that text: together, these items are too heavy to be missing. An index of rarest items finds all texts that may agree,
//! without comparing all pairs.

use super::facts::{CAPITAL, MIN_FACTS, MIN_ITEMS, NUMBERS, UNIT, evidence_of};
use crate::features::{Fact, Facts};

/// A distinct word or number of a text.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FactItem {
    /// Equal for equal words, or for equal numbers. Different ones have different keys almost always.
    pub key: u32,
    /// Number of occurrences, or for a word its letters in all occurrences, without the factor of a capital.
    pub weight: u32,
    /// Whether it is a capitalized word.
    pub capital: bool,
}

impl FactItem {
    fn weight_with(&self, capital: bool) -> u64 {
        u64::from(self.weight) * if capital { CAPITAL } else { 1 }
    }

    /// Returns the weight of the item if the other text lacks it.
    pub fn weight_alone(&self) -> u64 {
        self.weight_with(self.capital)
    }
}

/// The distinct words and numbers of a text.
#[derive(Clone, Debug, Default)]
pub struct FactItems {
    /// The words.
    pub words: Vec<FactItem>,
    /// The numbers by value, wherever they are.
    pub numbers: Vec<FactItem>,
    /// Number of words with repetitions.
    count: u64,
}

/// The largest weight of items of a text that a text may lack completely and still agree; infinite if there is no limit.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct SpareFacts {
    /// Weight of words, if the other text has at least the weight of this one.
    pub words: f64,
    /// Number of numbers, if the other text has at least as many as this one.
    pub numbers: f64,
}

impl FactItems {
    /// Collects the items of a text.
    pub fn of(facts: &Facts) -> FactItems {
        let word = |fact: &Fact| FactItem {
            key: fact.key(),
            weight: fact.count() * fact.length(),
            capital: fact.is_capital(),
        };
        let mut values: Vec<u32> = facts.numbers().iter().map(|number| number.value).collect();
        values.sort_unstable();
        let number = |same: &[u32]| FactItem { key: same[0], weight: same.len() as u32, capital: false };
        FactItems {
            words: facts.words().iter().map(word).collect(),
            numbers: values.chunk_by(|a, b| a == b).map(number).collect(),
            count: facts.words().iter().map(|fact| u64::from(fact.count())).sum(),
        }
    }

    /// Appends the items to a buffer, for another process.
    pub fn write(&self, bytes: &mut Vec<u8>) {
        bytes.extend(self.count.to_le_bytes());
        for items in [&self.words, &self.numbers] {
            bytes.extend((items.len() as u32).to_le_bytes());
            for FactItem { key, weight, capital } in items {
                bytes.extend(key.to_le_bytes());
                bytes.extend(weight.to_le_bytes());
                bytes.push(u8::from(*capital));
            }
        }
    }

    /// Reads what [`write`](Self::write) wrote; `None` if the bytes are damaged.
    pub fn read(mut bytes: &[u8]) -> Option<FactItems> {
        let bytes = &mut bytes;
        let count = u64::from_le_bytes(*bytes.split_off(..8)?.as_array()?);
        let mut items = || {
            let number = u32::from_le_bytes(*bytes.split_off(..4)?.as_array()?);
            let rows = bytes.split_off(..9 * number as usize)?.chunks_exact(9);
            let number = |bytes: &[u8]| bytes.iter().rev().fold(0, |sum, &byte| sum << 8 | u32::from(byte));
            let item = |row: &[u8]| FactItem {
                key: number(&row[..4]),
                weight: number(&row[4..8]),
                capital: row[8] != 0,
            };
            Some(rows.map(item).collect())
        };
        Some(FactItems { words: items()?, numbers: items()?, count })
    }

    /// Returns what another text may lack. `may_be_capital` says whether any other text may capitalize a word, given its position.
    pub fn spare(&self, may_be_capital: impl Fn(usize) -> bool) -> SpareFacts {
        let number_count: u64 = self.numbers.iter().map(|item| u64::from(item.weight)).sum();
        // The agreement of two texts with at least this many items is measured.
        if self.count + number_count < MIN_ITEMS {
            return SpareFacts { words: f64::INFINITY, numbers: f64::INFINITY };
        }
        // The weight of a shared word depends on both texts, that of a missing one on this text alone.
        let smallest: u64 = self.words.iter().map(FactItem::weight_alone).sum();
        let largest = |(at, item): (usize, &FactItem)| item.weight_with(item.capital || may_be_capital(at));
        let largest: u64 = self.words.iter().enumerate().map(largest).sum();
        let unit = UNIT as f64;
        let of_numbers = evidence_of(number_count as f64);
        let ratio = |own: f64, other: f64| if own > 0.0 { 1.0 + other / own } else { f64::INFINITY };
        let missing = (1.0 - MIN_FACTS).powi(2);
        let words = (missing * ratio(evidence_of(smallest as f64 / unit), of_numbers)).sqrt();
        let numbers = (missing / NUMBERS * ratio(of_numbers, evidence_of(largest as f64 / unit))).sqrt();
        // One percent more, for rounding.
        SpareFacts {
            words: 1.01 * words * (largest as f64 + 0.5 * unit),
            numbers: 1.01 * numbers * (number_count as f64 + 0.5),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::matching::facts_agreement;
    use crate::random::SplitMix64;

    fn weight_missing(of: &[FactItem], other: &[FactItem]) -> f64 {
        let lacks = |item: &&FactItem| other.iter().all(|other| other.key != item.key);
        of.iter().filter(lacks).map(|item| item.weight_alone() as f64).sum()
    }

    fn read_again(items: &FactItems) -> FactItems {
        let mut bytes = Vec::new();
        items.write(&mut bytes);
        assert!(FactItems::read(&bytes[..bytes.len() - 1]).is_none());
        let read = FactItems::read(&bytes).unwrap();
        assert_eq!((&read.words, &read.numbers, read.count), (&items.words, &items.numbers, items.count));
        read
    }

    #[test]
    fn texts_that_agree_lack_at_most_the_spare_facts() {
        let mut random = SplitMix64(8);
        let words: Vec<String> = (0..60)
            .map(|i| match i % 7 {
                0 => format!("{}", 100 + i),
                1 => format!("Name{}", "x".repeat(i % 9)) + &"ab".repeat(i % 5),
                _ => format!("word{}", ["alpha", "be", "gammas", "d"][i % 4]) + &"cd".repeat(i % 6),
            })
            .collect();
        let mut agreeing = 0;
        for round in 0..4_000 {
            let length = 12 + random.below(60);
            let a: Vec<String> = (0..length).map(|i| words[(i * 7 + round) % 60].clone()).collect();
            let mut b = a.clone();
            for _ in 0..random.below(12) {
                let at = random.below(b.len());
                b[at] = match random.below(3) {
                    0 => format!("{}", random.below(1_000)),
                    1 => b[at].to_uppercase(),
                    _ => format!("other{}", random.below(100)),
                };
            }
            let [a, b] = [a, b].map(|text| Facts::of(&*text.join(" ")));
            if facts_agreement(&a, &b).is_none_or(|facts| facts < MIN_FACTS) {
                continue;
            }
            agreeing += 1;
            let [a, b] = [a, b].map(|facts| read_again(&FactItems::of(&facts)));
            let [x, y] = [&a, &b].map(|items| items.spare(|_| true));
            let within = |a: f64, x: f64, b: f64, y: f64| a <= x || b <= y;
            let words = [weight_missing(&a.words, &b.words), weight_missing(&b.words, &a.words)];
            assert!(within(words[0], x.words, words[1], y.words), "round {round}: {words:?} {x:?} {y:?}");
            let numbers = [weight_missing(&a.numbers, &b.numbers), weight_missing(&b.numbers, &a.numbers)];
            assert!(within(numbers[0], x.numbers, numbers[1], y.numbers), "round {round}: {numbers:?}");
        }
        assert!(agreeing > 500, "{agreeing}");
    }
}
