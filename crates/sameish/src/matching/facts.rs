//! Is it a copy, or the same form with other facts?
//!
//! Of real wire articles whose 3-word shingles overlap by 0.3 and more, about half are copies and half are forms: another
//! company's results, another day's rates. No Jaccard threshold tells them apart. Their numbers and names do.
//!
//! Two questions are asked: which share of the numbers, and which share of the words, weighed by rarity, of the text that
//! has fewer are found in the other? A copy needs both: another quarter of the same company has the names, and two
//! dividends of two companies often have the numbers. So the two missing shares are put together as a root mean square,
//! which the larger of them leads, each counting by how much evidence there is of its kind.
//!
//! `docs/quality.md` has the measurements, the ways that were tried and gave no more, and the commands.

use crate::features::{Fact, Facts, WordFrequencies};

/// How far the facts of two texts agree, from 0 to 1: the share of the numbers and rare words of the text with fewer of
/// them that the other has.
///
/// Words weigh by their rarity in the corpus of `frequencies`; without it, or where it has counted fewer than 128
/// documents, by their length. Capitalized ones weigh four times as much. All numbers weigh the same.
///
/// Symmetric. Exactly 1 for equal texts, for one that is wholly within the other, and where either text has no facts:
/// then nothing speaks against a copy but the similarity. Half a number is added to what agrees, so that one that differs
/// says less where there are only two.
///
/// F1 of copies against forms at the limit of [`is_template`], copies and forms counting the same: 0.95 for generated wire
/// articles, 0.97 for revisions of laws, 0.97 for reference pages; without frequencies 0.95, 0.97 and 0.96.
pub fn facts_agreement(a: &Facts, b: &Facts, frequencies: Option<&WordFrequencies>) -> f64 {
    let frequencies = frequencies.filter(|frequencies| frequencies.documents() >= MIN_DOCUMENTS);
    let (mut numbers, mut words) = (Tally::default(), Tally::default());
    for_each_pair(a.as_slice(), b.as_slice(), |x, y| {
        let Some(fact) = x.or(y) else { return };
        let both = || [x, y].into_iter().flatten();
        let capital = both().any(Fact::is_capital);
        let (tally, weight) = if fact.is_number() {
            (&mut numbers, UNIT)
        } else {
            // Two words may have one key: then the longer counts, whichever text has it.
            let length = both().map(Fact::length).max().unwrap_or(0);
            let rarity = frequencies.map_or(length << 8, |frequencies| frequencies.rarity(fact));
            (&mut words, u64::from(rarity) * if capital { CAPITAL } else { 1 })
        };
        let [in_a, in_b] = [x, y].map(|fact| fact.map_or(0, |fact| u64::from(fact.count())) * weight);
        tally.a += in_a;
        tally.b += in_b;
        tally.shared += in_a.min(in_b);
    });
    let evidence = numbers.evidence() + words.evidence();
    if evidence == 0.0 {
        return 1.0;
    }
    let missing = [numbers, words].map(|tally| tally.evidence() * tally.missing() * tally.missing());
    1.0 - ((missing[0] + missing[1]) / evidence).sqrt()
}

/// Whether two texts are the same form with other facts: alike, yet their [`facts_agreement`] is below 0.84.
///
/// `similarity` is the Jaccard similarity of 3 words, or the containment where a short text is sought in a long one. Below
/// 0.3 there is no common form to speak of.
///
/// ```
/// use sameish::is_template;
/// assert!(is_template(0.7, 0.4));
/// assert!(!is_template(0.7, 0.9));
/// assert!(!is_template(0.1, 0.4));
/// ```
pub fn is_template(similarity: f64, facts: f64) -> bool {
    similarity >= MIN_SIMILARITY && facts < MIN_FACTS
}

const MIN_FACTS: f64 = 0.84;
const MIN_SIMILARITY: f64 = 0.3;
/// With fewer documents the words that two texts share look common for that alone.
const MIN_DOCUMENTS: u64 = 128;
/// How much more a capitalized word weighs.
const CAPITAL: u64 = 4;
/// What a number weighs: as much as a capitalized word that stands in one text of 32, in 256ths.
const UNIT: u64 = 20 << 8;

/// How much of one kind both texts have.
#[derive(Clone, Copy, Default)]
struct Tally {
    a: u64,
    b: u64,
    shared: u64,
}

impl Tally {
    /// In units of a number, of the text that has less.
    fn total(self) -> f64 {
        self.a.min(self.b) as f64 / UNIT as f64
    }

    /// From 0 to 1, half way at two numbers.
    fn evidence(self) -> f64 {
        self.total() / (self.total() + 2.0)
    }

    /// The share that the other text has not.
    fn missing(self) -> f64 {
        let missing = (self.a.min(self.b) - self.shared) as f64 / UNIT as f64;
        missing / (self.total() + 0.5)
    }
}

/// Goes through two ascending lists and hands on what stands at each key.
fn for_each_pair(a: &[Fact], b: &[Fact], mut each: impl FnMut(Option<Fact>, Option<Fact>)) {
    let (mut i, mut j) = (0, 0);
    while i < a.len() || j < b.len() {
        let [x, y] = [a.get(i), b.get(j)].map(|fact| fact.map_or(u32::MAX, |fact| fact.key()));
        each((x <= y).then(|| a[i]), (y <= x).then(|| b[j]));
        i += usize::from(x <= y);
        j += usize::from(y <= x);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::document::Content;

    fn facts(text: &str) -> Facts {
        Facts::of(&Content::Text(text.into()))
    }

    fn agreement(a: &str, b: &str) -> f64 {
        facts_agreement(&facts(a), &facts(b), None)
    }

    const MARCH: &str =
        "Treasury balances rose on March 5 to 3.04 billion dlrs from 2.97 billion, the department said";

    #[test]
    fn another_day_is_a_form_and_an_extended_copy_is_not() {
        let june =
            "Treasury balances rose on June 18 to 7.12 billion dlrs from 6.55 billion, the department said";
        let longer =
            format!("{MARCH}. Balances in loan accounts fell to 12.5 billion dlrs, 4.1 billion below April.");
        assert!(is_template(0.6, agreement(MARCH, june)));
        assert_eq!(agreement(MARCH, &longer), 1.0);
        assert!(!is_template(0.6, agreement(MARCH, &longer)));
    }

    #[test]
    fn another_company_with_the_same_numbers_is_a_form() {
        let a = "Acme Steel Corp sets quarterly dividend of 10 cts, payable April 15";
        let b = "Bolt Foods Ltd sets quarterly dividend of 10 cts, payable April 15";
        assert!(is_template(0.5, agreement(a, b)));
    }

    #[test]
    fn one_corrected_number_of_ten_is_a_copy() {
        let a = "wheat 3.12 3.15 corn 1.61 1.58 oats 1.22 1.25 rye 2.04 2.01 barley 1.77 1.79";
        assert!(!is_template(0.8, agreement(a, &a.replace("2.01", "2.10"))));
    }

    #[test]
    fn scripts_without_case_and_digits_of_other_scripts() {
        let a = "東京の株価は3月5日に1,234円で取引を終えた";
        assert!(is_template(0.5, agreement(a, "東京の株価は6月18日に2,871円で取引を終えた")));
        let hindi = "बैंक ने ३४५ करोड़ और ७८९ करोड़ दिए";
        assert!(is_template(0.5, agreement(hindi, "बैंक ने ६१२ करोड़ और ४०१ करोड़ दिए")));
        assert_eq!(agreement(hindi, hindi), 1.0);
    }

    #[test]
    fn no_facts_contradict_nothing() {
        assert_eq!(agreement("", ""), 1.0);
        assert_eq!(agreement("", MARCH), 1.0);
        assert_eq!(agreement("is it so", "so it was"), 1.0);
    }

    #[test]
    fn frequencies_tell_the_form_from_the_facts() {
        let text = |name: &str| {
            format!("shareholders extraordinary meeting will approve merger proposals of {name}")
        };
        let mut frequencies = WordFrequencies::default();
        for i in 0..MIN_DOCUMENTS {
            let without = facts_agreement(&facts(&text("acme")), &facts(&text("bolt")), Some(&frequencies));
            assert!(!is_template(0.8, without), "{i}");
            frequencies.add(&facts(&text(&format!("name{i}"))));
        }
        let with = facts_agreement(&facts(&text("acme")), &facts(&text("bolt")), Some(&frequencies));
        assert!(is_template(0.8, with));
    }
}
