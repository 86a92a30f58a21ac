//! Recall and precision of the preset `articles`. `cargo run --release --bin scenarios -- FILE.jsonl...`
//!
//! Inserts each text into an engine, then searches for exact copies and for copies with 5 % of the words replaced. Random pairs with
//! an exact similarity below 0.5 must not match.

use sameish::config::Bands;
use sameish::features::TextKey;
use sameish::*;
use sameish_bench::{read_texts, splitmix};

fn main() {
    println!(
        "| file | texts | exact copies found | edited copies found | edited copies found, 16 x 8 bands | unrelated pairs matched | their largest Jaccard similarity |"
    );
    println!("|---|---|---|---|---|---|---|");
    for path in std::env::args().skip(1) {
        measure(&path);
    }
}

fn measure(path: &str) {
    let texts = distinct(read_texts(path, 20_000));
    let edited_16_by_8 = {
        let mut config = Preset::Articles.config();
        config.minhash.as_mut().unwrap().bands = Some(Bands { count: 16, rows: 8 });
        share_found(&filled(config, &texts), &texts, edited)
    };
    let engine = filled(Preset::Articles.config(), &texts);
    let exact = share_found(&engine, &texts, |text, _| text.to_owned());
    let edited = share_found(&engine, &texts, edited);
    let Unrelated { pairs, matched, largest } = unrelated(&engine, &texts);
    let name = path.rsplit('/').next().unwrap_or(path);
    println!(
        "| {name} | {} | {exact:.4} | {edited:.4} | {edited_16_by_8:.4} | {matched} of {pairs} | {largest:.3} |",
        texts.len()
    );
}

/// Returns the texts that are long enough for the preset, without repetitions.
fn distinct(texts: Vec<String>) -> Vec<String> {
    let mut seen = std::collections::HashSet::new();
    let long = |text: &String| text.split_whitespace().count() >= 60;
    let key = |text: &String| TextKey::of(&Content::Text(text.clone()));
    texts.into_iter().filter(long).filter(|text| seen.insert(key(text))).collect()
}

/// Creates an engine that contains the texts.
fn filled(config: Config, texts: &[String]) -> Engine {
    let mut engine = Engine::new(config).unwrap();
    let mut scratch = Scratch::default();
    for (id, text) in (0u64..).zip(texts) {
        engine.insert_with(&Document::new(id, text), &mut scratch).unwrap();
    }
    engine
}

/// Returns the share of texts that a search for a copy of them finds.
fn share_found(engine: &Engine, texts: &[String], copy: impl Fn(&str, u64) -> String) -> f64 {
    let options = SearchOptions { limit: Some(usize::MAX), ..SearchOptions::default() };
    let mut scratch = Scratch::default();
    let mut found = |id: u64, text: &String| {
        let content = Content::Text(copy(text, id));
        let search = engine.search_with(&content, options, &mut scratch).unwrap();
        search.matches.iter().any(|found| found.id == DocId::Number(id))
    };
    let count = (0u64..).zip(texts).filter(|(id, text)| found(*id, text)).count();
    count as f64 / texts.len() as f64
}

/// Replaces one word in twenty by another word of the same text.
fn edited(text: &str, id: u64) -> String {
    let mut words: Vec<&str> = text.split_whitespace().collect();
    let random = splitmix(id + 1, words.len() / 10 + 2);
    let count = words.len();
    for pair in random.chunks_exact(2).take((count / 20).max(1)) {
        words[(pair[0] % count as u64) as usize] = words[(pair[1] % count as u64) as usize];
    }
    words.join(" ")
}

/// Random pairs of texts with a Jaccard similarity below 0.5.
struct Unrelated {
    pairs: usize,
    /// Pairs that the engine reports as a match.
    matched: usize,
    /// Largest Jaccard similarity of a pair.
    largest: f64,
}

fn unrelated(engine: &Engine, texts: &[String]) -> Unrelated {
    let mut pairs = 0;
    let mut matched = 0;
    let mut largest = 0.0f64;
    let mut scratch = Scratch::default();
    let options = SearchOptions { limit: Some(usize::MAX), ..SearchOptions::default() };
    for pair in splitmix(9, 10_000).chunks_exact(2) {
        let [a, b] = [pair[0], pair[1]].map(|n| (n % texts.len() as u64) as usize);
        if a == b {
            continue;
        }
        let contents = [a, b].map(|i| Content::Text(texts[i].clone()));
        let [x, y] = [0, 1].map(|i| engine.analyzer().shingles(&contents[i], &mut scratch));
        let jaccard = x.jaccard(&y);
        if jaccard >= 0.5 {
            continue;
        }
        pairs += 1;
        largest = largest.max(jaccard);
        let search = engine.search_with(&contents[0], options, &mut scratch).unwrap();
        matched += usize::from(search.matches.iter().any(|found| found.id == DocId::Number(b as u64)));
    }
    Unrelated { pairs, matched, largest }
}
