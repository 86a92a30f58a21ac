//! Any bytes split into tokens that lie where they say, the same on every SIMD level.
#![no_main]

use libfuzzer_sys::fuzz_target;
use sameish::{Tokenizer, decode, normalize, simd, tokens};

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
    }
});
