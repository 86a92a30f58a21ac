//! An engine over texts that are stored elsewhere, here in a map instead of a database. The engine keeps sketches only and
//! reads a text when it verifies a candidate.
//!
//! Run with `cargo run -p sameish --example external`.
#![allow(clippy::print_stdout)]

use sameish::analyzer::TextFeatures;
use sameish::engine::{Among, External, Scope, SketchedDocument, TextSource};
use sameish::{Analyzer, Engine, Preset, Scratch, SearchOptions};
use std::collections::BTreeMap;
use std::sync::Arc;

struct Database {
    analyzer: Analyzer,
    texts: BTreeMap<u64, String>,
}

impl TextSource for Database {
    fn features(&self, number: u64) -> Option<Arc<TextFeatures>> {
        let text = self.texts.get(&number)?;
        Some(Arc::new(self.analyzer.features(text.as_str(), &mut Scratch::default())))
    }
}

fn main() -> sameish::Result<()> {
    let analyzer = Analyzer::new(Preset::Copies.config())?;
    let mut engine: Engine<External> = Engine::with_analyzer(analyzer.clone())?;
    let mut database = Database { analyzer: analyzer.clone(), texts: BTreeMap::new() };
    let mut scratch = Scratch::default();
    let text =
        "The council voted on Monday to close the old bridge over the river for repairs until next spring.";
    let prepared = analyzer.prepare(text, &mut scratch);
    database.texts.insert(1, text.to_owned());
    engine.insert_sketched(SketchedDocument {
        id: "bridge".into(),
        number: 1,
        published: None,
        sketches: prepared.sketches,
        key: prepared.key,
        is_center: false,
    })?;

    let query = analyzer.prepare(text.replace("spring", "autumn").as_str(), &mut scratch);
    let scope: Scope<'_, External> = Scope {
        options: SearchOptions::default(),
        texts: &database,
        among: Among::All,
        dates: None,
        filter: None,
        max_candidates: 100,
        needs_best: true,
        joining: false,
        bounded: false,
    };
    for found in engine.search_prepared_in(&query, &scope)?.matches {
        println!(
            "{}: similarity {:.2}, verified: {}",
            found.id, found.verdict.similarity, found.verdict.verified
        );
    }
    Ok(())
}
