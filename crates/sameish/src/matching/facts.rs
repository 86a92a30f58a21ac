//! Agreement of facts: is a match a copy, or a template (the same wording with different names or numbers)?
//!
//! Among real wire articles whose 3-word shingles overlap by 0.3 or more, about half are copies and half are templates:
//! another company's results, another day's exchange rates. No Jaccard threshold separates the two; their numbers and names
//! do.
//!
//! For the text with fewer facts, the measure computes the fraction of its numbers, and the fraction of its words, weighted
//! by length, that the other text lacks. A copy needs both fractions to be small: another quarter of the same
//! company shares the names, and two dividends of two companies often share the numbers. The two fractions are therefore
//! combined as a root mean square, which the larger one dominates, each weighted by the amount of evidence of its kind.
//!
//! The result depends on the two texts alone. Weighting words by their rarity in the corpus gained at most 0.02 F1 and made
//! the verdict on a pair depend on the other documents, so it was dropped. `docs/quality.md` has the measurements, the
//! alternatives that were tried, and the commands.

use crate::features::{Fact, Facts};

/// Returns how far the facts of two texts agree, from 0 to 1: the weighted fraction of the numbers and words of the text
/// with fewer of them that the other text contains.
///
/// A word weighs the number of its letters beyond the third, at most 9; capitalized words weigh four times as much. A
/// number weighs as much as a capitalized word of 8 letters.
///
/// The measure is symmetric. It is exactly 1 for equal texts, for a text contained in the other, and if either text has no
/// facts. Half a number is added to the agreeing facts, so that one difference counts less where there are only two.
///
/// F1 of separating copies from templates at the limit of [`is_template`], with both classes weighted equally: 0.95 for
/// generated wire articles, 0.97 for revisions of laws, 0.96 for reference pages.
pub fn facts_agreement(a: &Facts, b: &Facts) -> f64 {
    let mut numbers = Tally::default();
    let mut words = Tally::default();
    for_each_pair(a.as_slice(), b.as_slice(), |x, y| {
        let Some(fact) = x.or(y) else { return };
        let both = || [x, y].into_iter().flatten();
        let capital = both().any(Fact::is_capital);
        let (tally, weight) = if fact.is_number() {
            (&mut numbers, UNIT)
        } else {
            // If the hashes of two different words collide, the longer word determines the weight, so that the measure
            // stays symmetric.
            let length = both().map(Fact::length).max().unwrap_or(0);
            (&mut words, u64::from(length) * if capital { CAPITAL } else { 1 })
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

/// Returns `true` if two similar texts are templates of each other: the same wording, but a [`facts_agreement`] below 0.84.
///
/// `similarity` is the Jaccard similarity of 3-word shingles, or the containment if a short text is searched for in a long
/// one. Below 0.3 the texts have no common wording.
///
/// ```
/// use sameish::matching::is_template;
/// assert!(is_template(0.7, 0.4));
/// assert!(!is_template(0.7, 0.9));
/// assert!(!is_template(0.1, 0.4));
/// ```
pub fn is_template(similarity: f64, facts: f64) -> bool {
    similarity >= MIN_SIMILARITY && facts < MIN_FACTS
}

const MIN_FACTS: f64 = 0.84;
const MIN_SIMILARITY: f64 = 0.3;
/// The weight factor of a capitalized word.
const CAPITAL: u64 = 4;
/// The weight of a number.
const UNIT: u64 = 20;

/// The weights of the facts of one kind, numbers or words, in both texts.
#[derive(Clone, Copy, Default)]
struct Tally {
    a: u64,
    b: u64,
    shared: u64,
}

impl Tally {
    /// Returns the weight in the text that has less of it, in units of one number.
    fn total(self) -> f64 {
        self.a.min(self.b) as f64 / UNIT as f64
    }

    /// Returns the amount of evidence from 0 to 1; 0.5 for two numbers.
    fn evidence(self) -> f64 {
        self.total() / (self.total() + 2.0)
    }

    /// Returns the fraction that the other text lacks.
    fn missing(self) -> f64 {
        let missing = (self.a.min(self.b) - self.shared) as f64 / UNIT as f64;
        missing / (self.total() + 0.5)
    }
}

/// Merges two ascending lists and passes the entries of each key to `each`.
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

    fn facts(text: &str) -> Facts {
        Facts::of(text)
    }

    fn agreement(a: &str, b: &str) -> f64 {
        facts_agreement(&facts(a), &facts(b))
    }

    const MARCH: &str =
        "Treasury balances rose on March 5 to 3.04 billion dlrs from 2.97 billion, the department said";

    #[test]
    fn separates_another_day_from_an_extended_copy() {
        let june =
            "Treasury balances rose on June 18 to 7.12 billion dlrs from 6.55 billion, the department said";
        let longer =
            format!("{MARCH}. Balances in loan accounts fell to 12.5 billion dlrs, 4.1 billion below April.");
        assert!(is_template(0.6, agreement(MARCH, june)));
        assert_eq!(agreement(MARCH, &longer), 1.0);
        assert!(!is_template(0.6, agreement(MARCH, &longer)));
    }

    #[test]
    fn another_company_with_equal_numbers_is_a_template() {
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
    fn handles_scripts_without_case_and_non_ascii_digits() {
        let a = "東京の株価は3月5日に1,234円で取引を終えた";
        assert!(is_template(0.5, agreement(a, "東京の株価は6月18日に2,871円で取引を終えた")));
        let hindi = "बैंक ने ३४५ करोड़ और ७८९ करोड़ दिए";
        assert!(is_template(0.5, agreement(hindi, "बैंक ने ६१२ करोड़ और ४०१ करोड़ दिए")));
        assert_eq!(agreement(hindi, hindi), 1.0);
    }

    #[test]
    fn texts_without_facts_agree() {
        assert_eq!(agreement("", ""), 1.0);
        assert_eq!(agreement("", MARCH), 1.0);
        assert_eq!(agreement("is it so", "so it was"), 1.0);
    }
}
