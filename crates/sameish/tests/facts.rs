//! What holds for the facts of any two texts.
#![allow(missing_docs, clippy::unwrap_used)]

use proptest::prelude::*;
use sameish::*;

fn facts(text: &str) -> Facts {
    Facts::of(&Content::Text(text.to_owned()))
}

/// Frequencies of a corpus that is large enough to be used.
fn corpus(texts: &[String]) -> WordFrequencies {
    let mut frequencies = WordFrequencies::default();
    for text in texts.iter().cycle().take(200) {
        frequencies.add(&facts(text));
    }
    frequencies
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
    fn agreement_is_symmetric_and_a_share(a in prose(), b in prose()) {
        let frequencies = corpus(&[a.clone(), b.clone()]);
        let (x, y) = (facts(&a), facts(&b));
        for frequencies in [None, Some(&frequencies)] {
            let found = facts_agreement(&x, &y, frequencies);
            prop_assert!((0.0..=1.0).contains(&found), "{}", found);
            prop_assert_eq!(found, facts_agreement(&y, &x, frequencies));
        }
    }

    #[test]
    fn a_text_agrees_with_itself_and_with_what_holds_it(a in prose(), b in prose()) {
        let frequencies = corpus(&[a.clone(), b.clone()]);
        let (x, both) = (facts(&a), facts(&format!("{a} \n {b}")));
        for frequencies in [None, Some(&frequencies)] {
            prop_assert_eq!(facts_agreement(&x, &x, frequencies), 1.0);
            prop_assert_eq!(facts_agreement(&x, &both, frequencies), 1.0);
        }
    }

    #[test]
    fn order_and_case_of_whole_texts_do_not_matter(words in prop::collection::vec("[a-z]{1,8}|[0-9]{1,5}", 0..40)) {
        let backwards: Vec<String> = words.iter().rev().cloned().collect();
        prop_assert_eq!(facts(&words.join(" ")), facts(&backwards.join(" ")));
        let shouted = facts(&words.join(" ").to_uppercase());
        prop_assert_eq!(facts_agreement(&facts(&words.join(" ")), &shouted, None), 1.0);
    }

    #[test]
    fn any_bytes_have_facts(a in prop::collection::vec(any::<u8>(), 0..300), b in prop::collection::vec(any::<u8>(), 0..300)) {
        let [x, y] = [a, b].map(|bytes| facts(&String::from_utf8_lossy(&bytes)));
        prop_assert!((0.0..=1.0).contains(&facts_agreement(&x, &y, None)));
    }
}

/// These have a word each whose keys, 22 bits of a hash, are equal.
#[test]
fn words_that_meet_by_chance_weigh_the_same_from_both_sides() {
    let (a, b) = (facts("aaAA“NASSvBT "), facts("一砉\n"));
    assert_eq!(facts_agreement(&a, &b, None), facts_agreement(&b, &a, None));
}

#[test]
fn one_document_costs_what_its_words_cost() {
    let long: String = (0..100_000).map(|i| format!("{i} w{i} ")).collect();
    let found = facts(&long);
    assert!(found.len() <= 200_000);
    assert_eq!(facts_agreement(&found, &found, None), 1.0);
}
