//! Searches in two steps find the same as searches in one.

use sameish::analyzer::TextFeatures;
use sameish::engine::{Among, External, Scope, SketchedDocument, StoredDocument, TextSource};
use sameish::{Analyzer, DocId, Engine, Preset, Scratch, SearchOptions};
use std::sync::Arc;

/// Texts outside the engine, by insertion number.
struct Texts {
    analyzer: Analyzer,
    texts: Vec<String>,
}

impl TextSource for Texts {
    fn features(&self, number: u64) -> Option<Arc<TextFeatures>> {
        let text = self.texts.get(number as usize)?;
        Some(Arc::new(self.analyzer.features(text.as_str(), &mut Scratch::default())))
    }
}

/// Returns texts of a few groups with copies, edits, short texts and an empty one.
fn texts() -> Vec<String> {
    let word = |family: usize, i: usize| format!("word{}", (family * 7919 + i * i * 31) % 9973);
    let text = |family: usize, edit: usize| -> String {
        let words =
            (0..60).map(|i| if edit > 0 && i % 23 == edit { format!("edit{edit}") } else { word(family, i) });
        words.collect::<Vec<_>>().join(" ")
    };
    let mut texts: Vec<String> = (0..24).map(|i| text(i % 3, if i % 3 == 0 { 0 } else { i % 11 })).collect();
    texts.extend(["a short text".into(), "a short text".into(), String::new()]);
    texts
}

fn engine(texts: &Texts) -> Engine<External> {
    let mut engine = Engine::with_analyzer(texts.analyzer.clone()).unwrap();
    let mut scratch = Scratch::default();
    for (number, text) in texts.texts.iter().enumerate() {
        let prepared = texts.analyzer.prepare(text.as_str(), &mut scratch);
        let (id, number) = (DocId::from(number as u64), number as u64);
        let document = SketchedDocument {
            id,
            number,
            published: None,
            sketches: prepared.sketches,
            key: prepared.key,
            is_center: false,
        };
        engine.insert_sketched(document).unwrap();
    }
    engine
}

fn scope_over(texts: &Texts) -> Scope<'_, External> {
    Scope {
        options: SearchOptions::default(),
        texts,
        among: Among::All,
        dates: None,
        filter: None,
        max_candidates: 50,
        joining: false,
        needs_best: true,
        bounded: false,
    }
}

#[test]
fn judging_without_the_engine_finds_the_same_matches() {
    for preset in
        [Preset::Copies, Preset::Articles, Preset::Headlines, Preset::Wire, Preset::Web, Preset::Sdr]
    {
        let texts = Texts { analyzer: Analyzer::new(preset.config()).unwrap(), texts: texts() };
        let engine = engine(&texts);
        let odd = |document: StoredDocument<'_>| document.number % 2 == 1;
        let options = [
            SearchOptions::default(),
            SearchOptions { limit: Some(3), min_similarity: None },
            SearchOptions { limit: Some(1_000), min_similarity: Some(0.3) },
            SearchOptions { limit: Some(5), min_similarity: Some(0.95) },
        ];
        for (options, filtered) in options.into_iter().flat_map(|options| [(options, false), (options, true)])
        {
            let filter: Option<&dyn Fn(StoredDocument<'_>) -> bool> =
                if filtered { Some(&odd) } else { None };
            let scope = Scope { options, filter, ..scope_over(&texts) };
            let mut matches = 0;
            for (number, text) in texts.texts.iter().enumerate() {
                let id = DocId::from(number as u64);
                let whole = engine.search_id_in(&id, &scope).unwrap();
                let collected = engine.collect_id_in(&id, &scope).unwrap().unwrap();
                assert_eq!(collected.judge(&texts), whole, "{preset:?} {id} {options:?}");
                let prepared = texts.analyzer.prepare(text.as_str(), &mut Scratch::default());
                let whole = engine.search_prepared_in(&prepared, &scope).unwrap();
                let collected = engine.collect_prepared_in(&prepared, &scope).unwrap();
                assert_eq!(collected.judge(&texts), Some(whole.clone()), "{preset:?} {number} {options:?}");
                matches += whole.matches.len();
            }
            assert!(matches > 0 || preset == Preset::Sdr, "{preset:?} {options:?}");
        }
    }
}

#[test]
fn a_stored_query_without_a_text_has_no_result() {
    let mut texts = Texts { analyzer: Analyzer::new(Preset::Copies.config()).unwrap(), texts: texts() };
    let engine = engine(&texts);
    texts.texts.clear();
    let scope = scope_over(&texts);
    assert_eq!(engine.collect_id_in(&1.into(), &scope).unwrap().unwrap().judge(&texts), None);
    assert!(engine.collect_id_in(&1000.into(), &scope).unwrap().is_none());
}
