//! Configuration files: arbitrary text is rejected, or gives a configuration that survives a round trip and a working analyzer.
#![no_main]

use libfuzzer_sys::fuzz_target;
use sameish::{Config, Content, Analyzer, Scratch};

fuzz_target!(|text: &str| {
    let Ok(config) = Config::from_toml(text) else { return };
    assert_eq!(Config::from_toml(&config.to_toml()).as_ref(), Ok(&config));
    // Codes of millions of bits are valid but slow.
    if config.sdr.as_ref().is_some_and(|sdr| sdr.size > 1 << 16) {
        return;
    }
    if let Ok(analyzer) = Analyzer::new(config) {
        analyzer.sketch(&Content::Text(text.to_owned()), &mut Scratch::default());
    }
});
