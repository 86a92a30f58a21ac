//! Inserts documents and checks for each new one whether a near-duplicate is already stored.
//!
//! Run with `cargo run -p sameish --example search`.
#![allow(clippy::print_stdout)]

use sameish::{Document, Engine, Preset, SearchOptions};

fn main() -> sameish::Result<()> {
    let mut engine = Engine::new(Preset::Copies.config())?;
    for (id, text) in ARTICLES {
        let found = engine.search(text, SearchOptions::default())?;
        match found.matches.first() {
            Some(best) => println!(
                "{id}: {} match of `{}`, similarity {:.2}",
                best.verdict.kind, best.id, best.verdict.similarity
            ),
            None => println!("{id}: new"),
        }
        engine.insert(&Document::new(id, text))?;
    }
    assert!(engine.remove(&"bridge".into()));
    Ok(())
}

const ARTICLES: [(&str, &str); 3] = [
    (
        "bridge",
        "The council voted on Monday to close the old bridge over the river for repairs until next spring.",
    ),
    (
        "storm",
        "A storm brought down power lines along the coast and left two thousand homes without electricity.",
    ),
    (
        "bridge-2",
        "The council voted on Monday to close the old bridge over the river for repairs until next autumn.",
    ),
];
