//! The tokenizers agree with simple reference implementations for any text and any position of chunk boundaries.
use proptest::prelude::*;
use sameish::config::Tokenizer;
use sameish::text::{normalize, tokens};
use unicode_normalization::char::is_combining_mark;
use unicode_segmentation::UnicodeSegmentation;

fn split(tokenizer: Tokenizer, text: &str) -> Vec<String> {
    tokens(tokenizer, text).into_iter().map(|token| token.text).collect()
}

/// Splits the normalized text with an independent implementation of UAX #29, without words that consist of combining marks.
fn unicode_reference(text: &str) -> Vec<String> {
    let has_letter = |word: &&str| word.chars().any(|c| c.is_alphanumeric() && !is_combining_mark(c));
    normalize(text).unicode_words().filter(has_letter).map(str::to_owned).collect()
}

/// Implements the rule of the golden vectors literally.
fn ascii_reference(text: &str) -> Vec<String> {
    let lower: String = text.chars().flat_map(char::to_lowercase).collect();
    let separated = lower.replace(|c: char| !(c.is_ascii_lowercase() || c.is_ascii_digit() || c == '_'), " ");
    separated.split(' ').filter(|token| token.len() >= 2).map(str::to_owned).collect()
}

const SAMPLES: &[&str] = &[
    "",
    " ",
    "Hello, World!",
    "don't stop state-of-the-art e-mail snake_case under_score",
    "__init__ _ __ _a a_ a._b '_' _1",
    "3.14 2024-01-01 $2,000 50% 1,2.3;4:5 a.b.c a.1 1.a U.S. 'quoted' it's'",
    "Don’t “quote” me — ever… again",
    "İstanbul IĞDIR ﬁnance ﬂow 300K aKb K",
    "zero\u{200B}width soft\u{AD}hyphen nul\0byte tab\tand\nnew\r\nline\u{B}vt\u{C}ff\u{7F}del",
    "nb\u{A0}sp\u{3000}ideographic\u{2028}line\u{85}next",
    "日本語のテキスト 東京タワーへ行く。",
    "ภาษาไทยไม่มีช่องว่าง",
    "ພາສາລາວ ភាសាខ្មែរ မြန်မာဘာသာ",
    "Привет, мир! как дела",
    "ΑΒΓ αβγ ΟΔΟΣ",
    "עברית צה\"ל ה' ב'א",
    "العربية ٣٫١٤",
    "हिन्दी में क्षत्रिय",
    "é combining e\u{301} a\u{323}\u{307} 한국어 \u{1112}\u{1161}\u{11AB}",
    "😀 smile 👩‍👩‍👧 🇩🇪🇫🇷 1️⃣",
    "½ ⅷ ㎏ ﷺ ①②",
    "x y z",
    "\u{FEFF}bom start",
    "\u{301}\u{301} lone marks",
];

#[test]
fn samples_split_like_the_reference() {
    for text in SAMPLES {
        assert_eq!(split(Tokenizer::Unicode, text), unicode_reference(text), "{text:?}");
        assert_eq!(split(Tokenizer::AsciiWords, text), ascii_reference(text), "{text:?}");
    }
}

#[test]
fn every_character_splits_like_the_reference_between_letters_digits_and_spaces() {
    for c in '\0'..='\u{2FFFF}' {
        let text = format!("a{c}b 1{c}2 {c} {c}a a{c}");
        assert_eq!(split(Tokenizer::AsciiWords, &text), ascii_reference(&text), "U+{:04X}", c as u32);
        assert_eq!(split(Tokenizer::Unicode, &text), unicode_reference(&text), "U+{:04X}", c as u32);
    }
}

#[test]
fn tokens_do_not_depend_on_the_position_in_a_block() {
    for text in SAMPLES {
        let unicode = split(Tokenizer::Unicode, text);
        let ascii = split(Tokenizer::AsciiWords, text);
        for pad in 0..130 {
            let moved = format!("{}{text}", " ".repeat(pad));
            assert_eq!(split(Tokenizer::Unicode, &moved), unicode, "{text:?} after {pad} spaces");
            assert_eq!(split(Tokenizer::AsciiWords, &moved), ascii, "{text:?} after {pad} spaces");
        }
    }
}

#[test]
fn long_texts_split_like_the_reference() {
    for unit in SAMPLES.iter().filter(|text| !text.is_empty()) {
        for glue in ["", " ", "x"] {
            let text = format!("{unit}{glue}").repeat(20_000 / (unit.len() + glue.len()));
            assert_eq!(
                split(Tokenizer::Unicode, &text),
                unicode_reference(&text),
                "{unit:?} glued by {glue:?}"
            );
            assert_eq!(
                split(Tokenizer::AsciiWords, &text),
                ascii_reference(&text),
                "{unit:?} glued by {glue:?}"
            );
        }
    }
}

#[test]
fn word_of_a_megabyte_is_one_token() {
    for unit in ["a", "é", "1", "_a", "a.b", "漢", "カ"] {
        let text = unit.repeat(1 << 20);
        let found = tokens(Tokenizer::Unicode, &text);
        if unit == "漢" {
            assert_eq!(found.len(), 1 << 20);
        } else {
            assert_eq!(found.len(), 1, "{unit}");
            assert_eq!((found[0].span.start, found[0].span.end), (0, text.len()), "{unit}");
        }
    }
}

#[test]
fn spans_locate_tokens_in_the_source() {
    for text in SAMPLES {
        for pad in [0, 1, 63, 4090, 4095] {
            let text = format!("{}{text} Ende", "é ".repeat(pad));
            for tokenizer in [Tokenizer::Unicode, Tokenizer::AsciiWords, Tokenizer::Whitespace] {
                let mut last = 0;
                for token in tokens(tokenizer, &text) {
                    let source = &text[token.span.start..token.span.end];
                    assert!(token.span.start >= last || tokenizer == Tokenizer::Unicode, "{text:?}");
                    last = token.span.end;
                    match tokenizer {
                        Tokenizer::Whitespace => assert_eq!(source, token.text),
                        // A character may fold to several words; the span of each covers the whole character.
                        _ => assert!(split(tokenizer, source).contains(&token.text), "{token:?} in {text:?}"),
                    }
                }
            }
        }
    }
}

#[test]
fn whitespace_tokenizer_splits_like_the_sparse_document_encoder() {
    assert_eq!(split(Tokenizer::Whitespace, " a  b\u{B}c\u{A0}d "), ["", "a", "b", "c\u{A0}d"]);
    assert_eq!(split(Tokenizer::Whitespace, ""), [""; 0]);
    assert_eq!(split(Tokenizer::Whitespace, " "), [""]);
    let long = "word ".repeat(5000);
    assert_eq!(split(Tokenizer::Whitespace, &long).len(), 5000);
}

fn alphabet() -> impl Strategy<Value = char> {
    prop_oneof![
        6 => prop::sample::select("abcXYZ019_ '.:,;\"-\n\0\u{7F}".chars().collect::<Vec<_>>()),
        3 => prop::sample::select(
            "éÉßſİKﬁ½’“…—\u{200B}\u{AD}\u{301}\u{323}\u{3099}кЙςאב漢字かカーไกํ\u{E31}한ᄒ\u{1161}\u{A0}\u{3000}\u{2044}٣·"
                .chars().collect::<Vec<_>>()),
        1 => any::<char>(),
    ]
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(3000))]

    #[test]
    fn any_text_splits_like_the_reference(chars in prop::collection::vec(alphabet(), 0..120)) {
        let text: String = chars.into_iter().collect();
        prop_assert_eq!(split(Tokenizer::Unicode, &text), unicode_reference(&text));
        prop_assert_eq!(split(Tokenizer::AsciiWords, &text), ascii_reference(&text));
    }

    #[test]
    fn plain_ascii_splits_like_the_reference(text in "[ -~\\n]{0,300}") {
        prop_assert_eq!(split(Tokenizer::Unicode, &text), unicode_reference(&text));
        prop_assert_eq!(split(Tokenizer::AsciiWords, &text), ascii_reference(&text));
    }
}
