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

/// Each text has a word whose 22-bit key equals that of a word of the other text.
#[test]
fn is_symmetric_for_colliding_words() {
    let (a, b) = (facts("aaAA“NASSvBT "), facts("一砉\n"));
    assert_eq!(facts_agreement(&a, &b), facts_agreement(&b, &a));
}

#[test]
fn size_is_bounded_by_the_number_of_words() {
    let long: String = (0..100_000).map(|i| format!("{i} w{i} ")).collect();
    let found = facts(&long);
    assert!(found.len() <= 200_000);
    assert!(found.size() <= 12 * found.len());
    assert_eq!(facts_agreement(&found, &found), Some(1.0));
}
