//! Agreement of facts: is a match a copy, or a template (the same wording with different names or numbers)?
//!
//! Among real wire articles whose 3-word shingles overlap by 0.3 or more, about half are copies and half are templates:
//! another company's results, another day's exchange rates. No Jaccard threshold separates the two; their numbers and names
//! do.
//!
//! Numbers are compared slot by slot. A slot is given by the two words before a number and by its place among the numbers that
//! follow them, so that last month's value is not mistaken for this month's. A number whose slot the other text does not have
//! agrees if the other text has the value in such a slot, too: a sentence that was reworded. The number is *substituted* if
//! the other text has another value in the slot, or in one that differs only in names that one text lacks.
//!
//! For the text with fewer facts, the measure computes the fraction of its numbers, and the fraction of its words, weighted
//! by length, that the other text lacks. A copy needs both fractions to be small: another quarter of the same
//! company shares the names, and two dividends of two companies often share the numbers. The two fractions are therefore
//! combined as a root mean square, which the larger one dominates, each weighted by the amount of evidence of its kind.
//!
//! Substituted numbers limit the result further. Two short texts that differ in nothing but one value are a template, whatever
//! the number of equal values; a long text that was revised in many places also has some new numbers. Names that replace each
//! other are no revision: they change with the numbers of a template.
//!
//! The result depends on the two texts alone. `docs/quality.md` has the measurements, the alternatives that were tried, and
//! the commands.

use crate::features::{Fact, Facts, Frame, Number, WordPrefix};
use std::cmp::Ordering;

/// Returns how far the facts of two texts agree, from 0 to 1: the weighted fraction of the numbers and words of the text
/// with fewer of them that the other text contains, with numbers compared slot by slot.
///
/// Returns `None` if either text has fewer than 16 words and numbers, or fewer than 12 if both have three numbers or more: one
/// changed word of a headline is not evidence.
///
/// A word weighs the number of its letters beyond the third, at most 9; capitalized words weigh four times as much. A
/// number weighs as much as a capitalized word of 8 letters.
///
/// The measure is symmetric, and exactly 1 for equal texts. A text that the other contains gets 1, too, unless both begin with
/// the same word and different numbers. Changing one more number or name never raises the measure, provided that the new one occurs
/// nowhere else. For a number, this holds even if its unit changes, too, provided that at least two other words precede the next number.
pub fn facts_agreement(a: &Facts, b: &Facts) -> Option<f64> {
    agreement_of(&WordTally::of(a.words(), b.words()), &NumberTally::of(a, b))
}

/// Returns the agreement of two texts, given their words and their numbers.
pub(super) fn agreement_of(words: &WordTally, numbers: &NumberTally) -> Option<f64> {
    let items = (words.in_a + numbers.in_a).min(words.in_b + numbers.in_b);
    let has_numbers = numbers.in_a.min(numbers.in_b) >= MIN_NUMBERS;
    if items < if has_numbers { MIN_ITEMS_WITH_NUMBERS } else { MIN_ITEMS } {
        return None;
    }
    let evidence = numbers.tally().evidence() + words.tally.evidence();
    let missing = NUMBERS * numbers.tally().squared() + words.tally.squared();
    let agreement = if evidence == 0.0 { 1.0 } else { 1.0 - (missing / evidence).sqrt() };
    Some(agreement.min(1.0 - numbers.penalty(words)))
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

pub(super) const MIN_FACTS: f64 = 0.84;
const MIN_SIMILARITY: f64 = 0.3;
/// The minimum number of words and numbers of a text.
pub(super) const MIN_ITEMS: u64 = 16;
/// The minimum for texts that consist largely of numbers: those with [`MIN_NUMBERS`] or more.
pub(super) const MIN_ITEMS_WITH_NUMBERS: u64 = 12;
pub(super) const MIN_NUMBERS: u64 = 3;
/// The weight of the numbers that the other text lacks, relative to that of the words.
pub(super) const NUMBERS: f64 = 0.9;
/// The weight factor of a capitalized word.
pub(super) const CAPITAL: u64 = 4;
/// The weight of a number.
pub(super) const UNIT: u64 = 20;
/// The largest penalty for substituted numbers.
const MAX_PENALTY: f64 = 0.35;
/// The number of words of a text in which one substituted number costs half of the largest penalty.
const WORDS_PER_SUBSTITUTION: f64 = 100.0;
/// The weight of each edited word in the number of substitutions that is expected in a revision.
const EXCUSED_BY_EDIT: f64 = 0.1;
/// The number of edited words if a number changes its unit.
const EDITS_PER_UNIT: f64 = 2.0;
/// The maximum number of words of a name that replaces one of a single word.
const WORDS_PER_NAME: u64 = 3;
/// The maximum number of edited words that count, as a fraction of all words.
const MAX_EDITS: f64 = 0.2;

/// The weights of the facts of one kind, numbers or words, in both texts.
#[derive(Clone, Copy, Debug, Default)]
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
        evidence_of(self.total())
    }

    /// Returns the square of the fraction that the other text lacks, weighted by the evidence.
    fn squared(self) -> f64 {
        let missing = (self.a.min(self.b) - self.shared) as f64 / UNIT as f64;
        let fraction = missing / (self.total() + 0.5);
        self.evidence() * fraction * fraction
    }
}

/// Returns the amount of evidence of a weight in units of one number.
pub(super) fn evidence_of(total: f64) -> f64 {
    total / (total + 2.0)
}

/// The words of both texts.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct WordTally {
    tally: Tally,
    in_a: u64,
    in_b: u64,
    /// The numbers of capitalized words that only one of the texts has.
    names_in_a: u64,
    names_in_b: u64,
    /// The number of other words that only one of the texts has.
    others: u64,
}

impl WordTally {
    fn of(a: &[Fact], b: &[Fact]) -> WordTally {
        let mut words = WordTally::default();
        for_each_pair(a, b, |x, y| words.add(x, y));
        words
    }

    /// Adds a word of one text or of both.
    #[inline]
    pub(super) fn add(&mut self, x: Option<Fact>, y: Option<Fact>) {
        let both = || [x, y].into_iter().flatten();
        // If the hashes of two different words collide, the longer word determines the weight, so that the measure
        // stays symmetric.
        let length = both().map(Fact::length).max().unwrap_or(0);
        let weight = u64::from(length) * if both().any(Fact::is_capital) { CAPITAL } else { 1 };
        let [in_a, in_b] = [x, y].map(|fact| fact.map_or(0, |fact| u64::from(fact.count())));
        self.in_a += in_a;
        self.in_b += in_b;
        if both().any(Fact::is_capital) {
            self.names_in_a += in_a.saturating_sub(in_b);
            self.names_in_b += in_b.saturating_sub(in_a);
        } else {
            self.others += in_a.abs_diff(in_b);
        }
        self.tally.a += in_a * weight;
        self.tally.b += in_b * weight;
        self.tally.shared += in_a.min(in_b) * weight;
    }

    /// Returns the tally of one word of one text or of both.
    pub(super) fn of_word(x: Option<Fact>, y: Option<Fact>) -> WordTally {
        let mut word = WordTally::default();
        word.add(x, y);
        word
    }

    /// Returns the tally with the texts exchanged.
    pub(super) fn swapped(self) -> WordTally {
        let WordTally { tally, in_a, in_b, names_in_a, names_in_b, others } = self;
        let tally = Tally { a: tally.b, b: tally.a, shared: tally.shared };
        WordTally { tally, in_a: in_b, in_b: in_a, names_in_a: names_in_b, names_in_b: names_in_a, others }
    }

    /// Returns the sums of two tallies, modulo 2^64, so that an intermediate result may be below zero.
    pub(super) fn plus(self, other: WordTally) -> WordTally {
        self.combined(other, u64::wrapping_add)
    }

    /// Returns the differences of two tallies, modulo 2^64.
    pub(super) fn minus(self, other: WordTally) -> WordTally {
        self.combined(other, u64::wrapping_sub)
    }

    fn combined(self, other: WordTally, with: impl Fn(u64, u64) -> u64) -> WordTally {
        WordTally {
            tally: Tally {
                a: with(self.tally.a, other.tally.a),
                b: with(self.tally.b, other.tally.b),
                shared: with(self.tally.shared, other.tally.shared),
            },
            in_a: with(self.in_a, other.in_a),
            in_b: with(self.in_b, other.in_b),
            names_in_a: with(self.names_in_a, other.names_in_a),
            names_in_b: with(self.names_in_b, other.names_in_b),
            others: with(self.others, other.others),
        }
    }

    /// Returns the number of edited words, apart from names that replace each other.
    ///
    /// Names are facts like numbers. If replaced names were edits, they would excuse replaced numbers, and the name of another
    /// company together with its result would differ less than the result alone.
    fn edits(&self) -> u64 {
        let fewer = self.names_in_a.min(self.names_in_b);
        let more = self.names_in_a.max(self.names_in_b);
        self.others + more.saturating_sub(WORDS_PER_NAME * fewer)
    }
}

/// Merges two ascending lists and passes the entries of each key to `each`.
#[inline]
fn for_each_pair(a: &[Fact], b: &[Fact], mut each: impl FnMut(Option<Fact>, Option<Fact>)) {
    let (mut i, mut j) = (0, 0);
    while i < a.len() || j < b.len() {
        // Most words of a match are equal, so that this branch is predictable.
        while i < a.len() && j < b.len() && a[i] == b[j] {
            each(Some(a[i]), Some(b[j]));
            i += 1;
            j += 1;
        }
        if i == a.len() && j == b.len() {
            break;
        }
        let [x, y] = [a.get(i), b.get(j)].map(|fact| fact.map_or(u32::MAX, |fact| fact.key()));
        each((x <= y).then(|| a[i]), (y <= x).then(|| b[j]));
        i += usize::from(x <= y);
        j += usize::from(y <= x);
    }
}

/// The numbers of both texts.
#[derive(Default)]
pub(super) struct NumberTally {
    in_a: u64,
    in_b: u64,
    /// Numbers with an equal one in the other text.
    shared: u64,
    /// Numbers with another one in their slot, or in one that differs only in names.
    substituted: u64,
    /// The numbers without a counterpart in their slot.
    rest_a: Vec<Number>,
    rest_b: Vec<Number>,
}

impl NumberTally {
    pub(super) fn of(a: &Facts, b: &Facts) -> NumberTally {
        let [words_a, words_b] = [a.words(), b.words()];
        let [a, b] = [a.numbers(), b.numbers()];
        let mut numbers =
            NumberTally { in_a: a.len() as u64, in_b: b.len() as u64, ..NumberTally::default() };
        if a == b {
            // Each number is in its slot in both texts.
            return NumberTally { shared: numbers.in_a, ..numbers };
        }
        let (mut i, mut j) = (0, 0);
        while i < a.len() || j < b.len() {
            let [x, y] = [a.get(i), b.get(j)].map(|number| number.map_or(u64::MAX, |n| u64::from(n.slot)));
            let same = |list: &[Number]| list.iter().take_while(|n| u64::from(n.slot) == x.min(y)).count();
            let [of_a, of_b] = [&a[i..i + same(&a[i..])], &b[j..j + same(&b[j..])]];
            i += of_a.len();
            j += of_b.len();
            match (of_a, of_b) {
                ([x], [y]) if x.slot != 0 => numbers.pair(*x, *y),
                _ if x.min(y) == 0 || of_a.is_empty() || of_b.is_empty() => numbers.leave(of_a, of_b),
                _ => numbers.pair_by_context(of_a, of_b),
            }
        }
        numbers.pair_rest(words_a, words_b);
        numbers
    }

    /// Returns the tally of two texts of which no number has the slot or the value of a number of the other text. `substituted` numbers
    /// of each have a frame without names that a number of the other text has, too.
    pub(super) fn of_different(a: &Facts, b: &Facts, substituted: u64) -> NumberTally {
        let [in_a, in_b] = [a, b].map(|facts| facts.numbers().len() as u64);
        NumberTally { in_a, in_b, substituted, ..NumberTally::default() }
    }

    fn pair(&mut self, x: Number, y: Number) {
        self.shared += u64::from(x.value == y.value);
        self.substituted += u64::from(x.value != y.value);
    }

    /// Sets numbers aside that have no counterpart in their slot.
    fn leave(&mut self, a: &[Number], b: &[Number]) {
        self.rest_a.extend(a);
        self.rest_b.extend(b);
    }

    /// Compares the numbers that have no counterpart in their slot: those after names that only one text has with those in
    /// slots that differ only in these names, then all others by value.
    ///
    /// A number after another name is substituted if it is not equal. Otherwise, the other name would excuse the other value.
    fn pair_rest(&mut self, words_a: &[Fact], words_b: &[Fact]) {
        let [a, b] = [&mut self.rest_a, &mut self.rest_b].map(std::mem::take);
        let a = Rest::of(a, words_a, words_b);
        let b = Rest::of(b, words_b, words_a);
        let mut others = [a.others, b.others];
        let mut of_b = b.framed.chunk_by(|x, y| x.frame == y.frame).peekable();
        for a in a.framed.chunk_by(|x, y| x.frame == y.frame) {
            while let Some(b) = of_b.next_if(|b| b[0].frame < a[0].frame) {
                others[1].extend(b.iter().map(|number| number.value));
            }
            let b = of_b.next_if(|b| b[0].frame == a[0].frame).unwrap_or_default();
            let [a, b] = [a, b].map(|numbers| numbers.iter().map(|number| number.value).collect());
            let Compared { common, only_a, only_b } = Compared::of(a, b);
            self.shared += common;
            self.substituted += only_a.len().min(only_b.len()) as u64;
            match only_a.len().cmp(&only_b.len()) {
                Ordering::Less => others[1].extend(only_b),
                Ordering::Equal => {}
                Ordering::Greater => others[0].extend(only_a),
            }
        }
        others[1].extend(of_b.flatten().map(|number| number.value));
        let [a, b] = others;
        self.shared += Compared::of(a, b).common;
    }

    /// Pairs numbers of equal slots: first those with the same context, if both texts have equally many of them, then the
    /// others in the order of the texts, if both texts have equally many.
    ///
    /// The values do not influence which numbers are paired. Otherwise a changed value could raise the result.
    fn pair_by_context(&mut self, a: &[Number], b: &[Number]) {
        let [a, b] = [a, b].map(|numbers| {
            let mut ordered: Vec<(u32, usize, Number)> =
                numbers.iter().enumerate().map(|(i, number)| (number.context, i, *number)).collect();
            ordered.sort_unstable_by_key(|&(context, i, _)| (context, i));
            ordered
        });
        let mut rest: [Vec<(usize, Number)>; 2] = Default::default();
        let (mut i, mut j) = (0, 0);
        while i < a.len() || j < b.len() {
            let [x, y] = [a.get(i), b.get(j)].map(|entry| entry.map_or(u64::MAX, |entry| u64::from(entry.0)));
            let same = |list: &[(u32, usize, Number)]| {
                list.iter().take_while(|entry| u64::from(entry.0) == x.min(y)).count()
            };
            let [of_a, of_b] = [&a[i..i + same(&a[i..])], &b[j..j + same(&b[j..])]];
            i += of_a.len();
            j += of_b.len();
            if of_a.len() == of_b.len() && x.min(y) != 0 {
                of_a.iter().zip(of_b).for_each(|(x, y)| self.pair(x.2, y.2));
            } else {
                rest[0].extend(of_a.iter().map(|&(_, i, number)| (i, number)));
                rest[1].extend(of_b.iter().map(|&(_, i, number)| (i, number)));
            }
        }
        let [a, b] = rest.map(|mut numbers| {
            numbers.sort_unstable_by_key(|&(i, _)| i);
            numbers.into_iter().map(|(_, number)| number).collect::<Vec<_>>()
        });
        if a.len() == b.len() {
            a.into_iter().zip(b).for_each(|(x, y)| self.pair(x, y));
        } else {
            self.leave(&a, &b);
        }
    }

    fn tally(&self) -> Tally {
        Tally { a: self.in_a * UNIT, b: self.in_b * UNIT, shared: self.shared * UNIT }
    }

    /// Returns the penalty for substituted numbers: larger for more of them, smaller for long texts and for texts with other
    /// edits.
    ///
    /// Up to two of the edited words per substituted number may be its old and its new unit. They must not excuse it, or a
    /// number that changes together with its unit could lower the penalty. Leaving these numbers out, together with the words,
    /// gives the penalty that the others have at least.
    fn penalty(&self, words: &WordTally) -> f64 {
        if self.substituted == 0 {
            return 0.0;
        }
        let substituted = self.substituted as f64;
        let length = words.in_a.min(words.in_b) as f64;
        let edits = (words.edits() as f64).min(MAX_EDITS * length);
        let share = |substituted: f64, edits: f64| {
            let expected = (length / WORDS_PER_SUBSTITUTION).powi(2) + EXCUSED_BY_EDIT * edits;
            substituted / (substituted + expected)
        };
        let without_units = substituted - edits / EDITS_PER_UNIT;
        let others = if without_units > 0.0 { share(without_units, 0.0) } else { 0.0 };
        MAX_PENALTY * share(substituted, edits).max(others)
    }
}

/// The numbers of a text that have no counterpart in their slot.
struct Rest {
    /// Those after names that only this text has, by frame.
    framed: Vec<Framed>,
    /// The values of the others.
    others: Vec<u32>,
}

/// A number after a name.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
struct Framed {
    /// The words before the number, without the name.
    frame: Frame,
    value: u32,
}

impl Rest {
    fn of(numbers: Vec<Number>, own: &[Fact], other: &[Fact]) -> Rest {
        let mut rest = Rest { framed: Vec::new(), others: Vec::new() };
        let is_only_here = |word: WordPrefix| word.count_in(own) > word.count_in(other);
        for Number { frame, value, .. } in numbers {
            match frame.without_names(is_only_here) {
                Some(frame) => rest.framed.push(Framed { frame, value }),
                None => rest.others.push(value),
            }
        }
        rest.framed.sort_unstable();
        rest
    }
}

/// The values of two lists, with repetitions.
struct Compared {
    /// The number of values that both lists have.
    common: u64,
    only_a: Vec<u32>,
    only_b: Vec<u32>,
}

impl Compared {
    fn of(mut a: Vec<u32>, mut b: Vec<u32>) -> Compared {
        a.sort_unstable();
        b.sort_unstable();
        let mut compared = Compared { common: 0, only_a: Vec::new(), only_b: Vec::new() };
        let mut rest_b = b.into_iter().peekable();
        for value in a {
            while let Some(smaller) = rest_b.next_if(|other| *other < value) {
                compared.only_b.push(smaller);
            }
            match rest_b.next_if_eq(&value) {
                Some(_) => compared.common += 1,
                None => compared.only_a.push(value),
            }
        }
        compared.only_b.extend(rest_b);
        compared
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn agreement(a: &str, b: &str) -> f64 {
        facts_agreement(&Facts::of(a), &Facts::of(b)).unwrap()
    }

    fn templates(a: &str, b: &str) -> bool {
        is_template(0.6, agreement(a, b))
    }

    const MARCH: &str =
        "Treasury balances rose on March 5 to 3.04 billion dlrs from 2.97 billion, the department said";

    #[test]
    fn separates_another_day_from_an_extended_copy() {
        let june =
            "Treasury balances rose on June 18 to 7.12 billion dlrs from 6.55 billion, the department said";
        let longer =
            format!("{MARCH}. Balances in loan accounts fell to 12.5 billion dlrs, 4.1 billion below April.");
        assert!(templates(MARCH, june));
        assert_eq!(agreement(MARCH, &longer), 1.0);
    }

    #[test]
    fn another_company_with_equal_numbers_is_a_template() {
        let a = "Northern Steel Corp sets quarterly dividend of 10 cts, payable April 15 to holders of record on April 2";
        let b = "Bolton Foods Ltd sets quarterly dividend of 10 cts, payable April 15 to holders of record on April 2";
        assert!(templates(a, b));
    }

    #[test]
    fn one_changed_value_among_thirty_is_a_template() {
        let row = |name: &str, from: u32| format!("{name} {}.5 {}.25 {}.75\n", from, from + 11, from + 29);
        let names = ["wheat", "corn", "oats", "rye", "barley", "rice", "sugar", "cocoa", "coffee", "cotton"];
        let table: String = names.iter().zip(1..).map(|(name, i)| row(name, i)).collect();
        assert!(templates(&table, &table.replace("16.25", "16.35")));
        assert_eq!(agreement(&table, &table.to_uppercase()), 1.0);
    }

    #[test]
    fn the_same_numbers_in_other_slots_are_a_template() {
        let a = "Output was 512 tonnes this month, compared with 498 tonnes last month, the ministry said on Monday";
        let swapped = a.replace("512", "x").replace("498", "512").replace('x', "498");
        assert!(templates(a, &swapped));
        let next = a.replace("498", "y").replace("512", "530").replace('y', "512");
        assert!(templates(a, &next));
        let row =
            "Prices of the day in cents per bushel for delivery in spring at the exchange: 31 32 33 34 35 36";
        assert!(templates(row, &row.replace("31 32 33 34 35 36", "32 33 34 35 36 37")));
    }

    #[test]
    fn other_notations_of_the_same_values_are_copies() {
        let a = "On Aug 5 the plant sold three million shares at 7-1/8 dlrs, 750g a piece, after 3,000 in nine mths";
        let b = "On August 5th the plant sold 3 mln shares at 7 1/8 dollars, 750 g a piece, after 3000 in 9 months";
        assert_eq!(agreement(a, b), 1.0);
        assert!(templates(a, &a.replace("three", "2.5")));
        assert!(templates(a, &a.replace("7-1/8", "7-3/8")));
    }

    #[test]
    fn a_revised_long_text_is_a_copy() {
        let sentence = |i: u32| {
            format!("Section {i} of the act applies to every owner of a building in zone {}. ", i * 7)
        };
        let act: String = (1..40).map(sentence).collect();
        let revised = act.replace("zone 49", "zone 51").replace("zone 77", "zone 78");
        let facts = agreement(&act, &revised);
        assert!(facts < 1.0 && !is_template(0.8, facts), "{facts}");
    }

    #[test]
    fn a_text_cut_from_the_middle_of_another_agrees_with_it() {
        let cut = "On March 5 the council of the northern town approved the plan for a new bridge over the river and asked for \
                   bids from builders in the region";
        let whole = format!(
            "On March 3 the mayor had fallen ill and every meeting was cancelled, a clerk wrote in the gazette. {cut}"
        );
        assert_eq!(agreement(cut, &whole), 1.0);
    }

    #[test]
    fn moved_and_reworded_sentences_keep_their_numbers() {
        let a = "Sales of the northern unit rose to 512 units. The southern unit sold 731 units. Costs were 88 in all.";
        let b = "Costs were 88 in all. The southern unit sold 731 units. Total sales of the northern unit climbed to 512 units.";
        assert!(!templates(a, b));
    }

    #[test]
    fn handles_scripts_without_case_and_non_ascii_digits() {
        let a = "東京の株価は3月5日に1,234円で取引を終えた";
        assert!(templates(a, "東京の株価は6月18日に2,871円で取引を終えた"));
        let hindi = "बैंक ने ३४५ करोड़ और ७८९ करोड़ दिए, यह बात मंत्री ने आज दिल्ली में संसद के सामने कही";
        assert!(templates(hindi, &hindi.replace("३४५", "६१२").replace("७८९", "४०१")));
        assert_eq!(agreement(hindi, &hindi.replace("३४५", "345")), 1.0);
    }

    #[test]
    fn another_unit_does_not_excuse_another_value() {
        let text = |changed: usize| {
            let item = |i: usize| match i < changed {
                true if i + 1 == changed => format!("the item{i} weighs 9{i} pounds and "),
                true => format!("the item{i} weighs 9{i} kilos and "),
                false => format!("the item{i} weighs 1{i} kilos and "),
            };
            (0..12).map(item).collect::<String>()
        };
        let values: Vec<f64> = (1..=12).map(|changed| agreement(&text(0), &text(changed))).collect();
        assert!(values.is_sorted_by(|a, b| a >= b), "{values:?}");
    }

    /// Words are identified by 23 bits of their hashes.
    #[test]
    fn words_that_collide_are_one_word_with_the_larger_weight() {
        let key = |word: &str| Facts::of(word).words()[0].key();
        let short: std::collections::HashMap<u32, String> =
            (0..8_000).map(|i| format!("w{i}")).map(|word| (key(&word), word)).collect();
        let long = (0..8_000).map(|i| format!("Reallylongword{i}"));
        let pairs: Vec<(String, &String)> =
            long.filter_map(|word| Some((word.clone(), short.get(&key(&word))?))).collect();
        assert!(!pairs.is_empty());
        let common =
            "the council of the town has approved a plan for the new bridge over the river this week";
        for (long, short) in pairs {
            assert_eq!(Facts::of(&*format!("{long} {short}")).words().len(), 1);
            let a = Facts::of(&*format!("{common} {long} once"));
            let b = Facts::of(&*format!("{common} {short} {short} twice"));
            assert_eq!(facts_agreement(&a, &b), facts_agreement(&b, &a));
            let other = Facts::of(&*format!("{common} another once"));
            assert!(facts_agreement(&a, &b) > facts_agreement(&a, &other));
        }
    }

    #[test]
    fn a_text_of_a_few_words_has_no_agreement() {
        let few = "Acme names Jane Doe as president of unit 3 in Oslo";
        let facts = |text: &str| Facts::of(text);
        assert_eq!(facts_agreement(&facts(few), &facts(MARCH)), None);
        let headline = "Acme names Jane Doe as president of its biggest unit after losses of 12 million";
        assert_eq!(facts_agreement(&facts(headline), &facts(headline)), None);
        assert_eq!(facts_agreement(&facts(""), &facts("")), None);
        assert!(facts_agreement(&facts(MARCH), &facts(MARCH)).is_some());
    }
}
