//! Acceptance scenarios of the presets `articles` and `headlines` on thousands of real and generated texts.

use sameish::{Content, DocId, Document, Engine, MatchKind, Preset, Scratch, SearchOptions, Status};

use crate::random::SplitMix64;

/// Returns the texts of the small corpora, or only the first text of each cluster.
fn corpus(first_of_each_cluster: bool) -> Vec<String> {
    let files = [
        include_str!("../../../../testdata/corpora/gesetze_rev.jsonl"),
        include_str!("../../../../testdata/corpora/msdocs_aw.jsonl"),
    ];
    let mut seen = std::collections::HashSet::new();
    let mut texts = Vec::new();
    for line in files.iter().flat_map(|file| file.lines()) {
        let record: serde_json::Value = serde_json::from_str(line).unwrap();
        if seen.insert(record["cluster"].to_string()) || !first_of_each_cluster {
            texts.push(record["text"].as_str().unwrap().to_owned());
        }
    }
    texts
}

/// Generates articles of words from a vocabulary of 20,000 with Zipf-like frequencies.
fn generated(random: &mut SplitMix64, count: usize) -> Vec<String> {
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

/// Replaces one word in twenty, at least one.
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
}

fn articles() -> Articles {
    let mut texts = corpus(true);
    texts.extend(generated(&mut SplitMix64(1), 2000));
    let mut engine = Engine::new(Preset::Articles.config()).unwrap();
    for (id, text) in (0u64..).zip(&texts) {
        engine.insert(&Document::new(id, text)).unwrap();
    }
    Articles { engine, texts }
}

impl Articles {
    /// Searches for a text and returns the match with the given document, if any.
    fn find(&self, text: String, id: usize) -> Option<sameish::Match> {
        let search = self.engine.search(&Content::Text(text), SearchOptions::default()).unwrap();
        search.matches.into_iter().find(|found| found.id == DocId::Number(id as u64))
    }
}

#[test]
fn finds_every_exact_duplicate_with_maximum_similarity() {
    let articles = articles();
    let mut changed = 0;
    for id in 0..articles.texts.len() {
        let text = &articles.texts[id];
        let upper = text.to_uppercase();
        // Upper case is not reversible for some letters, such as `ß`.
        let copy =
            if upper.to_lowercase() == text.to_lowercase() { format!("  {upper}\n") } else { text.clone() };
        changed += usize::from(copy != *text);
        let found = articles.find(copy, id).unwrap();
        assert_eq!(
            (found.verdict.kind, found.verdict.similarity, found.verdict.distance),
            (MatchKind::Exact, 1.0, Some(0))
        );
    }
    assert!(changed > 2000, "{changed} of {} copies differ in case", articles.texts.len());
}

#[test]
fn finds_more_than_97_percent_after_editing_one_word_in_twenty() {
    let articles = articles();
    let mut random = SplitMix64(2);
    let all = articles.texts.len();
    let mut found = 0;
    for id in 0..all {
        let copy = edited(&articles.texts[id], &mut random);
        found += usize::from(articles.find(copy, id).is_some());
    }
    assert!(all > 2000 && found * 100 > all * 97, "{found} of {all}");
}

#[test]
fn unrelated_texts_do_not_match_and_have_similarity_below_a_tenth() {
    let articles = articles();
    for (i, text) in generated(&mut SplitMix64(3), 2000).into_iter().enumerate() {
        let content = Content::Text(text);
        let search = articles.engine.search(&content, SearchOptions::default()).unwrap();
        assert!(search.matches.is_empty());
        let other = Content::Text(articles.texts[i % articles.texts.len()].clone());
        let comparison = articles.engine.analyzer().compare(&content, &other, 8);
        assert!(comparison.similarity < 0.1);
    }
}

/// The texts of each corpus have similar wording, so there are many candidates that are not matches.
#[test]
fn search_among_real_texts_agrees_with_brute_force() {
    let texts = corpus(false);
    let mut engine = Engine::new(Preset::Articles.config()).unwrap();
    let mut scratch = Scratch::default();
    let mut features = Vec::new();
    for (id, text) in (0u64..).zip(&texts) {
        let document = Document::new(id, text);
        features.push(engine.analyzer().shingles(&document.content, &mut scratch));
        engine.insert(&document).unwrap();
    }
    let mut similar_pairs = 0;
    let mut found = 0;
    let mut different_pairs = 0;
    let mut wrong = 0;
    for a in 0..texts.len() {
        let options = SearchOptions { limit: Some(usize::MAX), ..SearchOptions::default() };
        let matches = engine.search_id(&(a as u64).into(), options).unwrap().unwrap().matches;
        for b in (0..texts.len()).filter(|&b| b != a) {
            let similar = features[a].jaccard(&features[b]) >= 0.5;
            let reported =
                matches.iter().any(|found| found.id == DocId::Number(b as u64) && found.verdict.verified);
            similar_pairs += usize::from(similar);
            found += usize::from(similar && reported);
            different_pairs += usize::from(!similar);
            wrong += usize::from(!similar && reported);
        }
    }
    assert!(different_pairs > 50_000 && wrong == 0, "{wrong} of {different_pairs}");
    assert!(similar_pairs > 50 && found * 100 >= similar_pairs * 90, "{found} of {similar_pairs}");
}

#[test]
fn headlines_with_at_least_five_words_have_a_signature_of_100_rows() {
    let engine = Engine::new(Preset::Headlines.config()).unwrap();
    let sketch = |text: &str| engine.analyzer().sketch(&Content::Text(text.into()), &mut Scratch::default());
    let five = sketch("SpaceX acquires xAI for $2 billion");
    assert_eq!((five.status, five.words, five.minhash.unwrap().rows().len()), (Status::Ok, 5, 100));
    let four = sketch("SpaceX acquires xAI for $2");
    assert_eq!((four.status, four.minhash), (Status::TooShort, None));
}

#[test]
fn headline_joins_a_similar_cluster_or_starts_a_new_one() {
    let mut engine = Engine::new(Preset::Headlines.config()).unwrap();
    let mut insert = |id: u64, text: &str| engine.insert(&Document::new(id, text)).unwrap().cluster;
    let first = insert(1, "SpaceX acquires xAI for $2 billion in surprise deal").unwrap();
    assert_eq!(insert(2, "SpaceX acquires xAI for $2 billion in surprise deal!"), Some(first));
    let other = insert(3, "Senate passes budget after marathon overnight session").unwrap();
    let short = insert(4, "SpaceX deal").unwrap();
    let equal = insert(5, "SpaceX deal").unwrap();
    let clusters = std::collections::BTreeSet::from([first, other, short, equal]);
    assert_eq!(clusters.len(), 4, "each headline that is too short is a cluster of its own");
}
