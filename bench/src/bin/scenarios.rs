//! What seed 001 promises, measured: `cargo run --release --bin scenarios -- FILE.jsonl...`
//!
//! Each text goes into an engine of preset `articles`. Exact copies, and copies with 5 % of the words replaced, are searched
//! for; pairs that share no origin are judged by exact similarity and by the engine.

use sameish::*;
use sameish_bench::{read_texts, splitmix};

fn main() {
    println!(
        "| file | texts | exact found | 5 % edited found | with 16 x 8 bands | strangers matched | strangers, largest Jaccard |"
    );
    println!("|---|---|---|---|---|---|---|");
    for path in std::env::args().skip(1) {
        measure(&path);
    }
}

fn measure(path: &str) {
    let texts = distinct(read_texts(path, 20_000));
    let seed_bands = {
        let mut config = Preset::Articles.config();
        config.minhash.as_mut().unwrap().bands = Some(Bands { count: 16, rows: 8 });
        share_found(&filled(config, &texts), &texts, edited)
    };
    let engine = filled(Preset::Articles.config(), &texts);
    let exact = share_found(&engine, &texts, |text, _| text.to_owned());
    let five = share_found(&engine, &texts, edited);
    let (pairs, matched, largest) = strangers(&engine, &texts);
    let name = path.rsplit('/').next().unwrap_or(path);
    println!(
        "| {name} | {} | {exact:.4} | {five:.4} | {seed_bands:.4} | {matched} of {pairs} | {largest:.3} |",
        texts.len()
    );
}

/// Texts of at least 50 words, the first of each content: what the preset does not call short.
fn distinct(texts: Vec<String>) -> Vec<String> {
    let mut seen = std::collections::HashSet::new();
    let long = |text: &String| text.split_whitespace().count() >= 60;
    let key = |text: &String| TextKey::of(&Content::Text(text.clone()));
    texts.into_iter().filter(long).filter(|text| seen.insert(key(text))).collect()
}

fn filled(config: Config, texts: &[String]) -> Engine {
    let (mut engine, mut scratch) = (Engine::new(config).unwrap(), Scratch::default());
    for (id, text) in (0u64..).zip(texts) {
        engine.insert(&Document::new(id, text), &mut scratch).unwrap();
    }
    engine
}

fn share_found(engine: &Engine, texts: &[String], copy: impl Fn(&str, u64) -> String) -> f64 {
    let (options, mut scratch) =
        (SearchOptions { limit: Some(usize::MAX), ..SearchOptions::default() }, Scratch::default());
    let found = |id: u64, text: &String| {
        let content = Content::Text(copy(text, id));
        let search = engine.search(&content, options, &mut scratch).unwrap();
        search.matches.iter().any(|found| found.id == DocId::Number(id))
    };
    let mut found = found;
    let count = (0u64..).zip(texts).filter(|(id, text)| found(*id, text)).count();
    count as f64 / texts.len() as f64
}

/// One word in twenty replaced by another of the text's language: its own words from elsewhere.
fn edited(text: &str, id: u64) -> String {
    let mut words: Vec<&str> = text.split_whitespace().collect();
    let random = splitmix(id + 1, words.len() / 10 + 2);
    let count = words.len();
    for pair in random.chunks_exact(2).take((count / 20).max(1)) {
        words[(pair[0] % count as u64) as usize] = words[(pair[1] % count as u64) as usize];
    }
    words.join(" ")
}

/// Random pairs of different texts: how many the engine calls a match though their Jaccard similarity is below 0.5.
fn strangers(engine: &Engine, texts: &[String]) -> (usize, usize, f64) {
    let (mut matched, mut largest, mut pairs) = (0, 0.0f64, 0);
    let mut scratch = Scratch::default();
    let options = SearchOptions { limit: Some(usize::MAX), ..SearchOptions::default() };
    for pair in splitmix(9, 10_000).chunks_exact(2) {
        let [a, b] = [pair[0], pair[1]].map(|n| (n % texts.len() as u64) as usize);
        if a == b {
            continue;
        }
        let contents = [a, b].map(|i| Content::Text(texts[i].clone()));
        let [x, y] = [0, 1].map(|i| engine.features(&contents[i], &mut scratch));
        let jaccard = x.jaccard(&y);
        if jaccard >= 0.5 {
            continue;
        }
        pairs += 1;
        largest = largest.max(jaccard);
        let search = engine.search(&contents[0], options, &mut scratch).unwrap();
        matched += usize::from(search.matches.iter().any(|found| found.id == DocId::Number(b as u64)));
    }
    (pairs, matched, largest)
}
