//! Profiles of facts: are two similar texts certainly templates?

use super::facts::{
    MIN_FACTS, MIN_ITEMS, MIN_ITEMS_WITH_NUMBERS, MIN_NUMBERS, NUMBERS, evidence_of, is_template,
};
use crate::features::{Fact, Facts};

/// Counts of the facts of a text, and parities of its numbers, in 16 bytes.
///
/// The numbers of two texts show in many cases that their [agreement](super::facts_agreement) is below the limit for templates,
/// without the facts themselves. Names and words do not count here.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct FactsProfile {
    /// Parities of the numbers whose hash selects a bit.
    parities: u64,
    /// Number of words with repetitions.
    words: u32,
    /// Number of numbers with repetitions.
    numbers: u32,
}

impl FactsProfile {
    /// Computes the profile of a text.
    pub fn of(facts: &Facts) -> FactsProfile {
        let bit = |value: u32| 1 << (value.wrapping_mul(0x9E37_79B9) >> 26);
        FactsProfile {
            parities: facts.numbers().iter().fold(0, |parities, number| parities ^ bit(number.value)),
            words: facts.words().iter().map(|fact: &Fact| fact.count()).sum(),
            numbers: facts.numbers().len() as u32,
        }
    }

    /// Returns `true` if the text has numbers.
    pub(crate) fn has_numbers(&self) -> bool {
        self.numbers > 0
    }

    /// Returns the least number of differing parities that makes texts with equal counts [templates](Self::are_templates); more than
    /// 64 if there is none.
    pub(crate) fn least_differing(&self, similarity: f64) -> u32 {
        let other = |differing: u32| {
            let bits = u64::MAX.checked_shr(64 - differing).unwrap_or(0);
            FactsProfile { parities: self.parities ^ bits, ..*self }
        };
        (1..=64).find(|&differing| self.are_templates(&other(differing), similarity)).unwrap_or(65)
    }

    /// Returns `true` if another text with equal counts differs in at least some parities.
    pub(crate) fn is_flooded_by(&self, other: &FactsProfile, least: u32) -> bool {
        self.numbers == other.numbers
            && self.words <= other.words
            && (self.parities ^ other.parities).count_ones() >= least
    }

    /// Returns `true` if two texts that differ are templates whenever their similarity is at least `similarity`.
    ///
    /// Each number that only one text has changes one bit of the parities, so the texts share at most half of their numbers
    /// without the differing bits.
    pub fn are_templates(&self, other: &FactsProfile, similarity: f64) -> bool {
        let least = self.numbers.min(other.numbers);
        let items = (self.words + self.numbers).min(other.words + other.numbers);
        let needed = if u64::from(least) >= MIN_NUMBERS { MIN_ITEMS_WITH_NUMBERS } else { MIN_ITEMS };
        if least == 0 || u64::from(items) < needed || !is_template(similarity, 0.0) {
            return false;
        }
        let differing = (self.parities ^ other.parities).count_ones();
        let shared = least.min((self.numbers + other.numbers).saturating_sub(differing) / 2);
        let missing = f64::from(least - shared) / (f64::from(least) + 0.5);
        let evidence = evidence_of(least.into());
        // The words have an evidence of at most 1, and lack nothing in the best case.
        let agreement = 1.0 - (NUMBERS * evidence * missing * missing / (evidence + 1.0)).sqrt();
        agreement < MIN_FACTS - ROUNDING
    }
}

/// Margin for rounding errors.
const ROUNDING: f64 = 1e-9;

#[cfg(test)]
mod tests {
    use super::*;
    use crate::matching::facts_agreement;
    use crate::random::SplitMix64;

    #[test]
    fn texts_whose_profiles_are_those_of_templates_are_templates() {
        let mut random = SplitMix64(5);
        let mut excluded = 0;
        let mut templates = 0;
        for round in 0..3_000 {
            let words = 4 + random.below(60);
            let numbers = random.below(if round % 9 == 0 { 90 } else { 9 });
            let item = |random: &mut SplitMix64, i: usize| match i < numbers {
                true => format!("{}", random.below(40)),
                false => format!("word{}", random.below(30)),
            };
            let a: Vec<String> = (0..words + numbers).map(|i| item(&mut random, i)).collect();
            let mut b = a.clone();
            for _ in 0..random.below(8) {
                let at = random.below(b.len());
                b[at] = item(&mut random, at);
            }
            b.truncate(b.len() - random.below(3));
            let [a, b] = [a, b].map(|text| Facts::of(&*text.join(" ")));
            let facts = facts_agreement(&a, &b);
            let is_excluded = FactsProfile::of(&a).are_templates(&FactsProfile::of(&b), 0.8);
            assert_eq!(is_excluded, FactsProfile::of(&b).are_templates(&FactsProfile::of(&a), 0.8));
            let is_template = facts.is_some_and(|facts| is_template(0.8, facts));
            assert!(is_template || !is_excluded, "round {round}: {facts:?}");
            excluded += usize::from(is_excluded);
            templates += usize::from(is_template);
        }
        assert!(excluded * 5 > templates && excluded > 200, "{excluded} of {templates}");
    }
}
