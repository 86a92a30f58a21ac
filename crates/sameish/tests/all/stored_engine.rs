//! A saved engine gives the same answers after loading, and damaged files are rejected.

use proptest::prelude::*;
use sameish::config::Linkage;
use sameish::{Document, Engine, Error, Preset, SearchOptions};
use std::ops::ControlFlow;

const WORDS: [&str; 12] = [
    "harbor", "bridge", "storm", "council", "market", "closed", "opened", "three", "spring", "river", "2024",
    "Vael",
];

fn document(id: usize, words: &[usize]) -> Document {
    let text: Vec<&str> = words.iter().map(|&word| WORDS[word % WORDS.len()]).collect();
    let mut document = Document::new(id as u64, text.join(" "));
    if id % 3 == 1 {
        document.id = format!("text {id}").as_str().into();
    }
    document.published_at = Some(format!("2024-01-{:02}T00:00:00.000000001Z", id % 28 + 1));
    document
}

/// Returns the answers to every kind of query.
fn answers(engine: &Engine, documents: &[Document]) -> String {
    let mut pairs = Vec::new();
    engine.pairs(|pair| {
        pairs.push(format!("{pair:?}"));
        ControlFlow::Continue(())
    });
    let found: Vec<_> = documents
        .iter()
        .map(|document| {
            (
                engine.search(&document.content, SearchOptions::default()),
                engine.search_id(&document.id, SearchOptions::default()),
            )
        })
        .collect();
    format!("{:?} {} {pairs:?} {found:?} {:?}", engine.digest(), engine.len(), engine.groups())
}

fn filled(preset: Preset, linkage: Option<Linkage>, documents: &[Document]) -> Engine {
    let mut config = preset.config();
    config.matching.linkage = linkage.unwrap_or(config.matching.linkage);
    let mut engine = Engine::new(config).unwrap();
    documents.iter().for_each(|document| _ = engine.insert(document).unwrap());
    for document in documents.iter().step_by(5) {
        engine.remove(&document.id);
    }
    engine
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(24))]

    #[test]
    fn a_loaded_engine_gives_the_same_answers(
        texts in prop::collection::vec(prop::collection::vec(0usize..12, 0..12), 0..30),
        preset in prop::sample::select(Preset::ALL.to_vec()),
        linkage in prop::sample::select(vec![
            None, Some(Linkage::Greedy), Some(Linkage::Components), Some(Linkage::Cohesive), Some(Linkage::Online),
        ]),
        next in prop::collection::vec(0usize..12, 0..12),
    ) {
        let documents: Vec<Document> = texts.iter().enumerate().map(|(id, words)| document(id, words)).collect();
        let mut engine = filled(preset, linkage, &documents);
        let mut again = Engine::from_bytes(&engine.to_bytes().unwrap()).unwrap();
        prop_assert_eq!(again.config(), engine.config());
        prop_assert_eq!(answers(&again, &documents), answers(&engine, &documents));
        // Later insertions behave the same, too.
            let added = document(1000, &next);
        prop_assert_eq!(again.insert(&added), engine.insert(&added));
        prop_assert_eq!(answers(&again, &documents), answers(&engine, &documents));
    }

    #[test]
    fn any_bytes_give_an_engine_or_an_error(
        flips in prop::collection::vec((0usize..100_000, any::<u8>()), 1..6),
        cut in 0usize..100_000,
    ) {
        let documents: Vec<Document> = (0..8).map(|id| document(id, &[id, 1, 2, 3, 4, 5])).collect();
        let whole = filled(Preset::Headlines, None, &documents).to_bytes().unwrap();
        let mut bytes = whole.clone();
        for (at, byte) in flips {
            let at = at % (bytes.len() - 8);
            bytes[at] = byte;
        }
        bytes.truncate(bytes.len().min(bytes.len() / 2 + cut % bytes.len()));
        if bytes != whole {
            prop_assert!(Engine::from_bytes(&bytes).is_err());
        }
        // With a matching checksum, damaged bytes give an error or an engine that works.
        let end = bytes.len() - 8;
        let sum = xxhash_rust::xxh3::xxh3_64(&bytes[..end]);
        bytes[end..].copy_from_slice(&sum.to_le_bytes());
        if let Ok(engine) = Engine::from_bytes(&bytes) {
            answers(&engine, &documents);
        }
    }
}

#[test]
fn names_an_unsupported_version() {
    let mut bytes = Engine::new(Preset::Copies.config()).unwrap().to_bytes().unwrap();
    bytes[8] = 9;
    assert_eq!(Engine::from_bytes(&bytes).unwrap_err(), Error::EngineVersion { found: 9, supported: 3 });
    let message = Engine::from_bytes(b"PAR1").unwrap_err().to_string();
    assert!(message.starts_with("invalid stored engine: unknown magic bytes at byte 0; "), "{message}");
}
