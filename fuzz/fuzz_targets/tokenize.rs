//! Tokenizers on arbitrary bytes: token spans are valid, every SIMD level gives the same tokens, and an independent implementation
//! of UAX #29 splits the normalized text into the same words.
#![no_main]

use libfuzzer_sys::fuzz_target;
use sameish::config::Tokenizer;
use sameish::text::{decode, normalize, tokens};
use sameish::simd;
use unicode_normalization::char::is_combining_mark;
use unicode_segmentation::UnicodeSegmentation;

fuzz_target!(|bytes: &[u8]| {
    let text = decode(bytes).text;
    let normalized = normalize(&text);
    assert!(normalized.len() <= text.len() * 18);
    for tokenizer in [Tokenizer::Unicode, Tokenizer::AsciiWords, Tokenizer::Whitespace] {
        let mut last = None;
        for level in simd::Level::available() {
            simd::force(&format!("{level:?}").to_lowercase()).unwrap();
            let found = tokens(tokenizer, &text);
            for token in &found {
                assert!(text.get(token.span.start..token.span.end).is_some());
            }
            assert!(last.is_none_or(|last| last == found));
            last = Some(found);
        }
        if tokenizer == Tokenizer::Unicode {
            let has_letter = |word: &&str| word.chars().any(|c| c.is_alphanumeric() && !is_combining_mark(c));
            let expected: Vec<&str> = normalized.unicode_words().filter(has_letter).collect();
            assert!(last.is_some_and(|found| found.iter().map(|token| &token.text[..]).eq(expected)));
        }
    }
});
