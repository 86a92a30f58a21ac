//! Properties of the agreement of facts.
use proptest::prelude::*;
use sameish::features::Facts;
use sameish::matching::facts_agreement;
use sameish::*;

fn facts(text: &str) -> Facts {
    Facts::of(&Content::Text(text.to_owned()))
}

fn prose() -> impl Strategy<Value = String> {
    let word = prop_oneof![
        6 => "[a-zA-Z]{1,9}",
        3 => "[0-9]{1,4}([.,][0-9]{1,3})?",
        1 => "[А-Яа-я]{1,8}",
        1 => "[一-龥]{1,6}",
        1 => "[٠-٩]{1,4}",
        1 => "\\PC{1,5}",
    ];
    prop::collection::vec((word, "[ .,;:!?\n’“-]{1,2}"), 0..80)
        .prop_map(|words| words.into_iter().map(|(word, gap)| word + &gap).collect())
}

/// Returns a number in letters.
fn letters(number: usize) -> String {
    number.to_string().bytes().map(|digit| char::from(b'a' + digit - b'0')).collect()
}

/// Returns the number that [`quantity`] writes, times two.
fn number((value, notation, _): (u32, usize, usize)) -> u32 {
    match notation {
        3 => 2 * value + 1,
        4 => 2_000 * value,
        _ => 2 * value,
    }
}

/// Writes a value from 2 to 8 in one of several notations, with a unit.
fn quantity((value, notation, unit): (u32, usize, usize)) -> String {
    let names = ["two", "three", "four", "five", "six", "seven", "eight"];
    let value = match notation {
        0 => format!("{value}"),
        1 => format!("{value}.0"),
        2 => names[value as usize - 2].to_owned(),
        3 => format!("{value}-1/2"),
        _ => format!("{value},000"),
    };
    format!("{value} {}", ["kilos", "pounds", "", "tons"][unit])
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(200))]

    #[test]
    fn agreement_is_symmetric_and_between_0_and_1(a in prose(), b in prose()) {
        let (x, y) = (facts(&a), facts(&b));
        let agreement = facts_agreement(&x, &y);
        prop_assert!(agreement.is_none_or(|agreement| (0.0..=1.0).contains(&agreement)), "{:?}", agreement);
        prop_assert_eq!(agreement, facts_agreement(&y, &x));
    }

    #[test]
    fn a_text_agrees_with_itself_and_with_a_text_that_contains_it(a in prose(), b in prose()) {
        let x = facts(&a);
        let both = facts(&format!("{a} \n {b}"));
        prop_assert!(facts_agreement(&x, &x).is_none_or(|agreement| agreement == 1.0));
        prop_assert!(facts_agreement(&x, &both).is_none_or(|agreement| agreement == 1.0));
        let after = facts(&format!("{b} \n {a}"));
        prop_assert!(facts_agreement(&x, &after).is_none_or(|agreement| agreement == 1.0));
    }

    /// `base` fills the slots of the first text; the second text differs from it in some slots, the third in one more.
    #[test]
    fn changing_one_more_number_never_raises_the_agreement(
        words in prop::collection::vec("[a-c]{1,2}|Acme|Bolt", 12..60),
        base in prop::collection::vec(0u32..6, 40),
        other in prop::collection::vec(0u32..6, 40),
        changed in prop::collection::vec(prop::bool::ANY, 40),
        one_more in 0usize..40,
        every in 1usize..4,
        tail in "([a-c]{1,2} ){0,9}",
    ) {
        let fill = |is_changed: &dyn Fn(usize) -> bool, end: &str| {
            let value = |slot: usize| if is_changed(slot) { other[slot] } else { base[slot] };
            let filled = words.iter().enumerate().map(|(i, word)| match i % every {
                0 => format!("{word} {} ", value(i / every % 40)),
                _ => format!("{word} "),
            });
            facts(&(filled.collect::<String>() + end))
        };
        let first = fill(&|_| false, "");
        let second = fill(&|slot| changed[slot], &tail);
        let third = fill(&|slot| changed[slot] || slot == one_more, &tail);
        prop_assert!(facts_agreement(&first, &third) <= facts_agreement(&first, &second));
    }

    /// As above, with units that change together with the values, and with several notations of the values.
    #[test]
    fn changing_one_more_number_with_its_unit_never_raises_the_agreement(
        base in prop::collection::vec((2u32..9, 0usize..5, 0usize..4), 3..30),
        other in prop::collection::vec((2u32..9, 0usize..5, 0usize..4), 30),
        changed in prop::collection::vec(prop::bool::ANY, 30),
        one_more in 0usize..30,
        length in 2usize..6,
        tail in "([a-c]{1,2} ){0,9}",
    ) {
        let fill = |is_changed: &dyn Fn(usize) -> bool, end: &str| {
            let slot = |i: usize| {
                let words: String = (0..length).map(|word| format!("word{i}x{word} ")).collect();
                // Another unit of the same value is another word, not another number.
                let differs = number(other[i]) != number(base[i]);
                format!("{words}{} ", quantity(if is_changed(i) && differs { other[i] } else { base[i] }))
            };
            facts(&((0..base.len()).map(slot).collect::<String>() + end))
        };
        let first = fill(&|_| false, "");
        let second = fill(&|slot| changed[slot], &tail);
        let third = fill(&|slot| changed[slot] || slot == one_more, &tail);
        prop_assert!(facts_agreement(&first, &third) <= facts_agreement(&first, &second));
    }

    /// As above, with names and numbers: `kinds` says which slots have a name, a number or both, next to each other or apart.
    /// A new name has up to three words.
    #[test]
    fn changing_one_more_name_or_number_never_raises_the_agreement(
        kinds in prop::collection::vec(0usize..5, 4..30),
        companies in 1usize..30,
        names in prop::collection::vec("([A-Z][a-z]{3,10} ){0,2}[A-Z][a-z]{3,10}", 30),
        changed in prop::collection::vec(prop::bool::ANY, 60),
        edited in 0usize..12,
        one_more in 0usize..60,
        tail in "([a-c]{1,2} ){0,9}",
    ) {
        let fill = |is_changed: &dyn Fn(usize) -> bool, edited: usize, end: &str| {
            let slot = |(i, &kind): (usize, &usize)| {
                let name = match is_changed(2 * i) {
                    true => names[i].split(' ').map(|word| format!("{word}{} ", letters(i))).collect(),
                    false => format!("Company{} ", letters(i % companies)),
                };
                let number = if is_changed(2 * i + 1) { 500 + i } else { 100 + i };
                match kind {
                    0 => format!("a report of {name}has arrived "),
                    1 => format!("an output of {number} tons follows "),
                    2 => format!("{name}{number} "),
                    3 => format!("the price at {name}rose {number} points "),
                    _ => format!("he paid {name}more than {number} dlrs "),
                }
            };
            let edits: String = (0..edited).map(|i| format!("edit{} ", letters(i))).collect();
            facts(&(kinds.iter().enumerate().map(slot).collect::<String>() + &edits + end))
        };
        let first = fill(&|_| false, 0, "");
        let second = fill(&|slot| changed[slot], edited, &tail);
        let third = fill(&|slot| changed[slot] || slot == one_more, edited, &tail);
        let [before, after] = [second, third].map(|text| facts_agreement(&first, &text));
        prop_assert!(after <= before, "{:?} {:?}", before, after);
    }

    #[test]
    fn ignores_the_order_of_words_and_the_case_of_whole_texts(words in prop::collection::vec("[a-z]{1,8}|[0-9]{1,5}", 12..40)) {
        let only_words: Vec<String> = words.iter().filter(|word| !word.as_bytes()[0].is_ascii_digit()).cloned().collect();
        let backwards: Vec<String> = only_words.iter().rev().cloned().collect();
        let agreement = facts_agreement(&facts(&only_words.join(" ")), &facts(&backwards.join(" ")));
        prop_assert!(agreement.is_none_or(|agreement| agreement == 1.0));
        let shouted = facts(&words.join(" ").to_uppercase());
        prop_assert!(facts_agreement(&facts(&words.join(" ")), &shouted).is_none_or(|agreement| agreement == 1.0));
    }

    #[test]
    fn accepts_any_bytes(a in prop::collection::vec(any::<u8>(), 0..300), b in prop::collection::vec(any::<u8>(), 0..300)) {
        let [x, y] = [a, b].map(|bytes| facts(&String::from_utf8_lossy(&bytes)));
        prop_assert!(facts_agreement(&x, &y).is_none_or(|agreement| (0.0..=1.0).contains(&agreement)));
    }
}

/// 100 words, 10 of them numbers.
#[test]
fn a_replaced_name_does_not_excuse_a_replaced_number() {
    let text = |number: usize, names: usize| {
        let name = |i: usize| {
            if i < names { format!("Changed{}", letters(i)) } else { format!("Ordinal{}", letters(i)) }
        };
        let sentence = |i: usize| {
            let number = if i == 0 { number } else { 20 + i };
            format!("the report says that {} has sold a total of {number} ", name(i))
        };
        facts(&(0..10).map(sentence).collect::<String>())
    };
    let agreement = |names| facts_agreement(&text(20, 0), &text(77, names)).unwrap();
    let values: Vec<f64> = (0..8).map(agreement).collect();
    assert!(values[0] < 0.84 && values.is_sorted_by(|a, b| a >= b), "{values:?}");
    // The same holds for the name before the number.
    let row = |name: &str, number: u32| {
        let rows: String =
            (0..9).map(|i| format!("at the port of City{} it rose {} ", letters(i), 40 + i)).collect();
        facts(&format!("{rows} at the port of {name} {number}"))
    };
    let base = row("London", 12);
    let [value, both] =
        [row("London", 15), row("Lisbon", 15)].map(|text| facts_agreement(&base, &text).unwrap());
    assert!(both <= value && value < 0.84, "{value} {both}");
}

#[test]
fn size_is_bounded_by_the_number_of_words() {
    let long: String = (0..100_000).map(|i| format!("{i} w{i} ")).collect();
    let found = facts(&long);
    assert!(found.len() <= 200_000);
    assert!(found.size() <= 16 * found.len());
    assert_eq!(facts_agreement(&found, &found), Some(1.0));
}
