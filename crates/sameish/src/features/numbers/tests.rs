//! Tests of numbers in running text.
use super::digits::ZEROS;
use super::*;

fn items(text: &str) -> Vec<(Item, String)> {
    let mut items = Vec::new();
    for_each_item(Plain::unchanged(text.into()), &mut TextScratch::default(), |item, span| {
        items.push((item, text[span.start..span.end].to_owned()));
    });
    items
}

fn numbers(text: &str) -> Vec<Item> {
    items(text).into_iter().map(|(item, _)| item).filter(|item| matches!(item, Item::Number(_))).collect()
}

/// Checks that all texts have the same single number.
fn same(texts: &[&str]) {
    for text in texts {
        assert_eq!(numbers(text).len(), 1, "{text}");
        assert_eq!(numbers(text), numbers(texts[0]), "{text} and {}", texts[0]);
    }
}

/// Checks that no two texts have the same number.
fn different(texts: &[&str]) {
    for (i, text) in texts.iter().enumerate() {
        texts[..i].iter().for_each(|other| assert_ne!(numbers(text), numbers(other), "{text} and {other}"));
    }
}

#[test]
fn grouped_digits_and_decimals() {
    same(&[
        "3,000",
        "3000",
        "3'000",
        "3.000",
        "3\u{202F}000",
        "3000.0",
        "3,000.00",
        "3.000,0",
        "three thousand",
    ]);
    same(&["1,234,567.5", "1.234.567,50", "1234567.5"]);
    same(&["1,234,567", "12,34,567", "1'234'567", "1\u{A0}234\u{A0}567"]);
    same(&["2.5", "2,5", "2.50"]);
    different(&["3,000", "3", "0.300", "30.00"]);
    different(&["31.10.2006", "31.10.2007", "3110.2006", "1.2.3", "12.3"]);
    different(&["-3 degrees", "3 degrees"]);
    different(&["123456789012345678901234567890123456789012", "123456789012345678901234567890123456789013"]);
}

#[test]
fn french_texts_group_digits_with_spaces() {
    same(&["dans les 3 000 communes", "dans les 3000 communes", "dans les 3\u{202F}000 communes"]);
    same(&["pour 1 234 567 euros", "pour 1234567 euros"]);
    different(&["dans les 3 000 communes", "dans les 3 001 communes"]);
    // In other languages, and between numbers that cannot be groups, a space separates numbers.
    assert_eq!(numbers("of page 12 300 of 450 450").len(), 4);
    assert_eq!(numbers("dans les 2019 300 communes").len(), 2);
    assert_eq!(numbers("dans les 12 30 communes").len(), 2);
}

#[test]
fn fractions_are_one_number() {
    same(&["7-1/8", "7 1/8", "7⅛"]);
    same(&["7-1/4", "7¼", "7.25"]);
    same(&["1/2", "½", "0.5"]);
    different(&["7-1/8", "7-3/8", "7", "71/8"]);
    assert_eq!(numbers("3/12/2006").len(), 3);
    assert_eq!(numbers("at 20-1/4, down 14-3/4 on 5 6 7/8").len(), 4);
}

#[test]
fn units_are_separated_from_digits() {
    same(&["750g", "750 g"]);
    assert_eq!(items("750g").into_iter().map(|(item, _)| item).collect::<Vec<_>>(), {
        items("750 g").into_iter().map(|(item, _)| item).collect::<Vec<_>>()
    });
    for (joined, separate) in [("½g", "0.5 g"), ("1½kg", "1.5 kg"), ("2¼", "2.25")] {
        let [joined, separate] =
            [joined, separate].map(|text| items(text).into_iter().map(|(item, _)| item).collect::<Vec<_>>());
        assert_eq!(joined, separate);
    }
    same(&["March 5th", "March 5"]);
    different(&["0x80070005", "0x80070006", "0"]);
}

#[test]
fn number_words_in_four_languages() {
    same(&[
        "three million",
        "3 million",
        "3,000,000",
        "3 mln",
        "drei Millionen",
        "trois millions",
        "tres millones",
        "3mln",
    ]);
    same(&["2.5 million", "2,500,000", "zwei Millionen fünfhunderttausend"]);
    same(&["twenty-one", "21", "einundzwanzig", "vingt et un", "veintiuno", "twenty one"]);
    same(&["ninety-seven", "siebenundneunzig", "quatre-vingt-dix-sept", "noventa y siete", "97"]);
    same(&["two hundred and five", "205", "zweihundertfünf", "deux cent cinq", "doscientos cinco"]);
    same(&["one hundred thousand", "100,000", "hunderttausend", "cien mil"]);
    same(&["1,234", "one thousand two hundred and thirty-four", "eintausendzweihundertvierunddreißig"]);
    same(&["dos mil millones", "2 billion", "zwei Milliarden", "deux milliards"]);
    same(&["mil quinientos", "1500", "mille cinq cents", "tausendfünfhundert", "fünfzehnhundert"]);
    same(&["mille neuf cents", "1900", "neunzehnhundert", "mil novecientos", "nineteen hundred"]);
    same(&["mille neuf cent quatre-vingt-dix-neuf", "1999", "mil novecientos noventa y nueve"]);
    same(&["cent vingt", "120", "ciento veinte", "a hundred and twenty"]);
    same(&["cent quatre-vingts", "180", "ciento ochenta", "hundertachtzig"]);
    same(&["les six cents", "600", "seiscientos", "six hundred"]);
    same(&["mille six cent six", "1606", "mil seiscientos seis"]);
    same(&["a million", "1 million", "un million", "1,000,000"]);
    same(&["a thousand", "tausend", "mille", "mil", "1,000"]);
    same(&["cent mille", "100,000", "a hundred thousand"]);
    same(&["deux millions mille", "2,001,000"]);
    same(&["six cents a share", "6 cts", "6"]);
    assert_eq!(numbers("by twenty a day, a thousand a year").len(), 2);
    assert_eq!(numbers("by twenty a day"), numbers("by 20 days"));
    assert_eq!(numbers("one cent, two cents, a cent").len(), 1);
    different(&["three million", "2.5 million", "3 billion", "3 thousand", "3"]);
    assert_eq!(numbers("between two and three, or four five").len(), 4);
    assert_eq!(numbers("three million and two billion").len(), 2);
    assert!(numbers("one of the hundreds of millions, un homme, eine Frau, two-thirds").len() == 1);
}

#[test]
fn letters_after_amounts_of_money_are_powers_of_ten() {
    same(&["$3m", "$3 m", "$3M", "US$3 million", "$3,000,000", "3mln"]);
    same(&["£2.5bn", "£2.5b", "2.5 billion"]);
    same(&["€40k", "40,000"]);
    same(&["3m", "3 m", "3 metres"]);
    different(&["$3m", "3m", "$3k"]);
    assert_eq!(items("$3m").len(), 1);
    assert_eq!(items("3m").len(), 2);
}

#[test]
fn digits_of_all_scripts() {
    same(&["1234", "١٢٣٤", "۱۲۳۴", "१२३४", "１２３４", "๑๒๓๔", "১২৩৪", "١٬٢٣٤"]);
    same(&["2.5", "٢٫٥"]);
    assert!(ZEROS.is_sorted());
}

#[test]
fn abbreviations_and_long_forms_are_equal() {
    let kinds = |text: &str| -> Vec<u64> {
        let word = |(item, _): (Item, String)| match item {
            Item::Word(word) => word.hash,
            Item::Number(value) => value,
        };
        items(text).into_iter().map(word).collect()
    };
    assert_eq!(
        kinds("Aug 5, nine mths, 3 pct, 5 cts"),
        kinds("August 5th, 9 months, three percent, five cents")
    );
    assert_eq!(kinds("12 Sept"), kinds("12 September"));
    assert_eq!(kinds("sept jours"), kinds("7 jours"));
    assert_ne!(kinds("Aug"), kinds("Sep"));
}

#[test]
fn signs_belong_to_the_whole_number() {
    same(&["fell to -3 million", "fell to -3,000,000"]);
    assert_ne!(numbers("by -1/2 in all"), numbers("by 1/2 in all"));
    assert_ne!(numbers("by -3 million"), numbers("by 3 million"));
}

#[test]
fn fractions_are_reduced() {
    same(&["about 2/6 of it", "about 1/3 of it"]);
}

#[test]
fn units_of_one_character_keep_their_position() {
    for text in ["take 5㎏ of it", "take 750ｇ of it"] {
        let positions: Vec<String> = items(text).into_iter().map(|(_, part)| part).collect();
        assert_eq!(positions.len(), 5, "{positions:?}");
    }
}

#[test]
fn powers_of_ten_do_not_overflow() {
    let words = "three thousand million billion trillion five thousand million billion trillion";
    assert!(!numbers(&[words; 3].join(" ")).is_empty());
}

#[test]
fn items_keep_order_and_positions() {
    let texts: Vec<String> = items("Two and a half, 7-1/8 cts and one million at 3/4/5")
        .into_iter()
        .map(|(_, text)| text)
        .collect();
    assert_eq!(texts, ["Two", "and", "a", "half", "7-1/8", "cts", "and", "one million", "at", "3", "4", "5"]);
}

#[test]
fn length_class_depends_on_script() {
    let class = |word: &str| length_class(word.as_bytes());
    assert_eq!(["", "the", "four", "für", "для", "antidisestablishment"].map(class), [0, 0, 1, 0, 0, 9]);
    assert_eq!(["京", "タワー"].map(class), [2, 4]);
}
