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
        prop_assert!((0.0..=1.0).contains(&agreement), "{}", agreement);
        prop_assert_eq!(agreement, facts_agreement(&y, &x));
    }

    #[test]
    fn a_text_agrees_with_itself_and_with_a_text_that_contains_it(a in prose(), b in prose()) {
        let x = facts(&a);
        let both = facts(&format!("{a} \n {b}"));
        prop_assert_eq!(facts_agreement(&x, &x), 1.0);
        prop_assert_eq!(facts_agreement(&x, &both), 1.0);
    }

    #[test]
    fn ignores_word_order_and_the_case_of_whole_texts(words in prop::collection::vec("[a-z]{1,8}|[0-9]{1,5}", 0..40)) {
        let backwards: Vec<String> = words.iter().rev().cloned().collect();
        prop_assert_eq!(facts(&words.join(" ")), facts(&backwards.join(" ")));
        let shouted = facts(&words.join(" ").to_uppercase());
        prop_assert_eq!(facts_agreement(&facts(&words.join(" ")), &shouted), 1.0);
    }

    #[test]
    fn accepts_any_bytes(a in prop::collection::vec(any::<u8>(), 0..300), b in prop::collection::vec(any::<u8>(), 0..300)) {
        let [x, y] = [a, b].map(|bytes| facts(&String::from_utf8_lossy(&bytes)));
        prop_assert!((0.0..=1.0).contains(&facts_agreement(&x, &y)));
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
    assert_eq!(facts_agreement(&found, &found), 1.0);
}
