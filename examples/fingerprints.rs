//! Indexes 64-bit SimHash fingerprints and finds all of them within a Hamming distance, without keeping any text.
//!
//! Run with `cargo run -p sameish --example fingerprints`.
#![allow(clippy::print_stdout)]

use sameish::index::{DocNumber, HammingIndex};
use sameish::{Analyzer, Fingerprint, Preset, Scratch};

fn main() -> sameish::Result<()> {
    let analyzer = Analyzer::new(Preset::Wire.config())?;
    let mut scratch = Scratch::default();
    let mut fingerprint = |text: &str| analyzer.sketch(text, &mut scratch).simhash.unwrap_or_default();
    let texts = [
        "Breaking news: Major earthquake hits city",
        "Breaking news: Major earthquake hits the city",
        "Stock markets close higher after rate cut",
    ];
    let mut index = HammingIndex::new(3)?;
    for (number, text) in (0..).zip(texts) {
        let code = fingerprint(text);
        println!("{} {text}", code.to_hex());
        index.insert(code, DocNumber(number));
    }
    let stored = Fingerprint::from_hex("f10893b1083a30a2")?;
    let mut hits = Vec::new();
    index.find_all(stored, &mut hits);
    for hit in hits {
        println!("within {} bits of {}: {}", hit.distance, stored.to_hex(), texts[hit.doc.0 as usize]);
    }
    Ok(())
}
