//! Comparison of arbitrary texts with every preset: measures are within 0 to 1, and shared passages occur in both texts.
#![no_main]

use libfuzzer_sys::fuzz_target;
use sameish::config::Tokenizer;
use sameish::text::tokens;
use sameish::{Content, Analyzer, Preset};

fuzz_target!(|input: (u8, String, String)| {
    let (choice, a, b) = input;
    let preset = Preset::ALL[usize::from(choice) % Preset::ALL.len()];
    let analyzer = Analyzer::new(preset.config()).unwrap();
    let compared =
        analyzer.compare(&Content::Text(a.clone()), &Content::Text(b.clone()), 1 + usize::from(choice >> 5));
    for share in [compared.similarity, compared.containment, compared.coverage_a, compared.coverage_b] {
        assert!((0.0..=1.0).contains(&share));
    }
    let words = |text: &str| -> Vec<String> {
        tokens(Tokenizer::Unicode, text).into_iter().map(|token| token.text).collect()
    };
    for passage in compared.passages {
        assert!(passage.tokens > usize::from(choice >> 5));
        let [x, y] = [&a[passage.a_start..passage.a_end], &b[passage.b_start..passage.b_end]].map(words);
        // A passage may start or end within a character that normalizes to several words.
        assert!(x == y || x.len() >= passage.tokens && y.len() >= passage.tokens);
    }
});
