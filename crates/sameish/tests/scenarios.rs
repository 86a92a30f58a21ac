//! What seeds 001 and 003 ask for, on thousands of pairs of real and made text.

#![allow(missing_docs, clippy::unwrap_used)]

use sameish::{
    Analyzer, Content, DocId, Document, Engine, MatchKind, Preset, Scratch, SearchOptions, Status,
};

#[path = "../src/random.rs"]
#[allow(dead_code)]
mod random;
use random::SplitMix64;

/// The texts of the small corpora; one of each cluster if no two are to be copies.
fn corpus(one_of_each: bool) -> Vec<String> {
    let files = [
        include_str!("../../../testdata/corpora/gesetze_rev.jsonl"),
        include_str!("../../../testdata/corpora/msdocs_aw.jsonl"),
    ];
    let mut seen = std::collections::HashSet::new();
    let mut texts = Vec::new();
    for line in files.iter().flat_map(|file| file.lines()) {
        let record: serde_json::Value = serde_json::from_str(line).unwrap();
        if !one_of_each | seen.insert(record["cluster"].to_string()) {
            texts.push(record["text"].as_str().unwrap().to_owned());
        }
    }
    texts
}

/// Articles of words drawn by Zipf's law from 20,000.
fn made(random: &mut SplitMix64, count: usize) -> Vec<String> {
    let word = |random: &mut SplitMix64| {
        let uniform = (random.next() >> 11) as f64 / (1u64 << 53) as f64;
        format!("w{}", (20_000f64.powf(uniform) - 1.0) as u64 * 2_654_435 % 99_991)
    };
    let article = |random: &mut SplitMix64| {
        let words = 80 + random.below(500);
        (0..words).map(|_| word(random)).collect::<Vec<_>>().join(" ")
    };
    (0..count).map(|_| article(random)).collect()
}

/// One word in twenty replaced, at least one.
fn edited(text: &str, random: &mut SplitMix64) -> String {
    let mut words: Vec<String> = text.split_whitespace().map(str::to_owned).collect();
    for _ in 0..(words.len() / 20).max(1) {
        let at = random.below(words.len());
        words[at] = format!("edit{}", random.below(1000));
    }
    words.join(" ")
}

struct Articles {
    engine: Engine,
    texts: Vec<String>,
    scratch: Scratch,
}

fn articles() -> Articles {
    let mut texts = corpus(true);
    texts.extend(made(&mut SplitMix64(1), 2000));
    let (mut engine, mut scratch) = (Engine::new(Preset::Articles.config()).unwrap(), Scratch::default());
    for (id, text) in (0u64..).zip(&texts) {
        engine.insert(&Document::new(id, text), &mut scratch).unwrap();
    }
    Articles { engine, texts, scratch }
}

impl Articles {
    fn found(&mut self, text: String, id: usize) -> Option<sameish::Match> {
        let found =
            self.engine.search(&Content::Text(text), SearchOptions::default(), &mut self.scratch).unwrap();
        found.matches.into_iter().find(|found| found.id == DocId::Number(id as u64))
    }
}

#[test]
fn every_exact_duplicate_is_found_and_is_the_same_by_every_measure() {
    let mut articles = articles();
    for id in 0..articles.texts.len() {
        let copy = format!("  {}\n", articles.texts[id].to_uppercase().to_lowercase());
        let text = if copy.to_lowercase() == articles.texts[id] { copy } else { articles.texts[id].clone() };
        let found = articles.found(text, id).unwrap();
        assert_eq!(
            (found.verdict.kind, found.verdict.similarity, found.verdict.distance),
            (MatchKind::Exact, 1.0, Some(0))
        );
    }
}

#[test]
fn over_95_percent_are_found_with_one_word_in_twenty_edited() {
    let (mut articles, mut random) = (articles(), SplitMix64(2));
    let (mut found, mut all) = (0, 0);
    for id in 0..articles.texts.len() {
        let copy = edited(&articles.texts[id], &mut random);
        all += 1;
        found += usize::from(articles.found(copy, id).is_some());
    }
    assert!(all > 2000 && found * 100 > all * 97, "{found} of {all}");
}

#[test]
fn strangers_have_less_than_a_tenth_in_common_and_are_not_called_alike() {
    let mut articles = articles();
    let texts = made(&mut SplitMix64(3), 2000);
    let mut pairs = 0;
    for (i, text) in texts.iter().enumerate() {
        let content = Content::Text(text.clone());
        let found =
            articles.engine.search(&content, SearchOptions::default(), &mut articles.scratch).unwrap();
        assert!(found.matches.is_empty());
        let other = Content::Text(articles.texts[i % articles.texts.len()].clone());
        let comparison = articles.engine.analyzer().compare(&content, &other, 8);
        assert!(comparison.similarity < 0.1);
        pairs += 1;
    }
    assert_eq!(pairs, 2000);
}

/// Pages and laws of one corpus share their form; what is verified as a match is one.
#[test]
fn what_is_found_among_real_texts_is_what_comparing_all_finds() {
    let texts = corpus(false);
    let (mut engine, mut scratch) = (Engine::new(Preset::Articles.config()).unwrap(), Scratch::default());
    let mut features = Vec::new();
    for (id, text) in (0u64..).zip(&texts) {
        let document = Document::new(id, text);
        features.push(engine.analyzer().shingles(&document.content, &mut scratch));
        engine.insert(&document, &mut scratch).unwrap();
    }
    let (mut truth, mut found, mut wrong, mut strangers) = (0, 0, 0, 0);
    for a in 0..texts.len() {
        let options = SearchOptions { limit: Some(usize::MAX), ..SearchOptions::default() };
        let matches = engine.search_id(&(a as u64).into(), options).unwrap().unwrap().matches;
        for b in (0..texts.len()).filter(|&b| b != a) {
            let similar = features[a].jaccard(&features[b]) >= 0.5;
            let told =
                matches.iter().any(|found| found.id == DocId::Number(b as u64) && found.verdict.verified);
            truth += usize::from(similar);
            found += usize::from(similar && told);
            wrong += usize::from(!similar && told);
            strangers += usize::from(!similar);
        }
    }
    assert!(strangers > 50_000 && wrong == 0, "{wrong} of {strangers}");
    assert!(truth > 50 && found * 100 >= truth * 90, "{found} of {truth}");
}

#[test]
fn headlines_of_exactly_five_words_have_a_signature_of_100_rows_and_shorter_ones_none() {
    let analyzer = Analyzer::new(Preset::Headlines.config()).unwrap();
    let sketch = |text: &str| analyzer.sketch(&Content::Text(text.into()), &mut Scratch::default());
    let five = sketch("SpaceX acquires xAI for $2 billion");
    assert_eq!((five.status, five.words, five.minhash.unwrap().rows().len()), (Status::Ok, 5, 100));
    let four = sketch("SpaceX acquires xAI for $2");
    assert_eq!((four.status, four.minhash), (Status::TooShort, None));
}

#[test]
fn a_headline_joins_at_the_threshold_and_founds_below_it() {
    let mut engine = Engine::new(Preset::Headlines.config()).unwrap();
    let mut insert = |id: u64, text: &str| {
        engine.insert(&Document::new(id, text), &mut Scratch::default()).unwrap().cluster
    };
    let first = insert(1, "SpaceX acquires xAI for $2 billion in surprise deal").unwrap();
    assert_eq!(insert(2, "SpaceX acquires xAI for $2 billion in surprise deal!"), Some(first));
    assert_ne!(insert(3, "Senate passes budget after marathon overnight session").unwrap(), first);
    assert_eq!(insert(4, "SpaceX deal"), None);
}
