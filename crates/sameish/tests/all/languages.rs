//! Preset `articles` in many languages and scripts: edited copies are found, and unrelated texts do not match.

use sameish::config::Tokenizer;
use sameish::text::tokens;
use sameish::{DocId, Document, Engine, Preset, Scratch, SearchOptions, Status};
use std::collections::BTreeSet;
use std::ops::ControlFlow;

use crate::random::SplitMix64;

/// The paragraphs of each language.
fn languages() -> Vec<(&'static str, Vec<&'static str>)> {
    macro_rules! files {
        ($($name:literal),+) => {
            [$(($name, include_str!(concat!("../../../../testdata/prose/", $name, ".txt")))),+]
        };
    }
    let files = files![
        "ar", "ja", "ko", "ru", "th", "zh", "mark-cs", "mark-fr", "mark-hy", "mark-ja", "mark-lzh",
        "mark-no", "mark-sv", "mark-syr", "mark-zh"
    ];
    files.into_iter().map(|(name, text)| (name, text.lines().collect())).collect()
}

fn id(language: &str, paragraph: usize) -> DocId {
    DocId::Text(format!("{language} {paragraph}"))
}

fn engine() -> Engine {
    let mut engine = Engine::new(Preset::Articles.config()).unwrap();
    for (language, paragraphs) in languages() {
        assert!(paragraphs.len() >= 30, "{language}");
        for (at, text) in paragraphs.into_iter().enumerate() {
            let inserted = engine.insert(&Document::new(id(language, at), text)).unwrap();
            assert_eq!(inserted.status, Status::Ok, "{language} {at} is long enough");
        }
    }
    engine
}

/// Replaces one word in twenty by words of another text.
fn edited(text: &str, other: &str, random: &mut SplitMix64) -> String {
    let words = tokens(Tokenizer::Unicode, text);
    let others = tokens(Tokenizer::Unicode, other);
    let mut places = BTreeSet::new();
    while places.len() < words.len().div_ceil(20) {
        places.insert(random.below(words.len()));
    }
    let mut copy = text.to_owned();
    for at in places.into_iter().rev() {
        let span = words[at].span;
        copy.replace_range(span.start..span.end, &others[random.below(others.len())].text);
    }
    copy
}

#[test]
fn finds_95_percent_of_edited_copies_in_every_language() {
    const COPIES: usize = 10;
    let engine = engine();
    let mut random = SplitMix64(5);
    for (language, paragraphs) in languages() {
        let mut found = 0;
        for (at, text) in paragraphs.iter().enumerate() {
            for _ in 0..COPIES {
                let other = paragraphs[random.below(paragraphs.len())];
                let copy = edited(text, other, &mut random);
                let search = engine.search(copy.as_str(), SearchOptions::default()).unwrap();
                assert!(search.matches.iter().all(|found| found.verdict.verified));
                let ids: Vec<&DocId> = search.matches.iter().map(|found| &found.id).collect();
                assert!(ids.iter().all(|found| **found == id(language, at)), "{language} {at}: {ids:?}");
                found += ids.len();
            }
        }
        let recall = found as f64 / (COPIES * paragraphs.len()) as f64;
        println!("{language}: recall {recall}");
        assert!(recall >= 0.95, "{language}: {recall}");
    }
}

#[test]
fn unrelated_paragraphs_of_one_language_do_not_match() {
    let mut pairs = Vec::new();
    engine().pairs(|pair| {
        pairs.push((pair.a.clone(), pair.b.clone()));
        ControlFlow::Continue(())
    });
    assert_eq!(pairs, []);
}

/// Returns the first words of a text.
fn first_words(text: &str, words: usize) -> &str {
    let last = tokens(Tokenizer::Unicode, text).into_iter().take(words).next_back();
    &text[..last.map_or(0, |word| word.span.end)]
}

/// Texts of 8 to 49 words, which are too short for a signature of their own. A copy of a few words with one edited word may be
/// below the threshold of the preset, so the recall is that of the copies that reach it.
#[test]
fn finds_95_percent_of_edited_copies_of_short_texts_in_every_language() {
    const COPIES: usize = 10;
    let analyzer = Engine::new(Preset::Articles.config()).unwrap().analyzer().clone();
    let mut random = SplitMix64(7);
    for (language, paragraphs) in languages() {
        let short: Vec<&str> =
            (0..).zip(&paragraphs).map(|(at, text)| first_words(text, 8 + at * 7 % 42)).collect();
        let mut engine = Engine::with_analyzer(analyzer.clone()).unwrap();
        for (at, text) in short.iter().enumerate() {
            let inserted = engine.insert(&Document::new(id(language, at), *text)).unwrap();
            assert_eq!(inserted.status, Status::TooShort, "{language} {at}");
        }
        let mut similar = 0;
        let mut found = 0;
        for (at, text) in short.iter().enumerate() {
            let features = analyzer.shingles(*text, &mut Scratch::default());
            for _ in 0..COPIES {
                let copy = edited(text, paragraphs[random.below(paragraphs.len())], &mut random);
                let shingles = analyzer.shingles(copy.as_str(), &mut Scratch::default());
                similar += usize::from(features.jaccard(&shingles) >= analyzer.config().matching.threshold);
                let search = engine.search(copy.as_str(), SearchOptions::default()).unwrap();
                assert!(search.matches.iter().all(|found| found.verdict.verified));
                let ids: Vec<&DocId> = search.matches.iter().map(|found| &found.id).collect();
                assert!(ids.iter().all(|found| **found == id(language, at)), "{language} {at}: {ids:?}");
                found += ids.len();
            }
        }
        let copies = COPIES * short.len();
        let recall = found as f64 / similar as f64;
        println!("{language}: {found} of {similar} found, which is {recall:.4}; {copies} copies");
        assert!(recall >= 0.95, "{language}: {recall}");
    }
}
