//! The Rust program of docs/first-steps.md.
#![allow(clippy::print_stdout)]

use sameish::{Document, Engine, Preset, SearchOptions};

fn main() -> Result<(), sameish::Error> {
    let mut engine = Engine::new(Preset::Copies.config())?;
    let bridge =
        "The council voted on Monday evening to close the old stone bridge over the river for repairs.";
    engine.insert(&Document::new("a1", bridge))?;
    engine.insert(&Document::new("a3", "Farmers bring apples, cheese and bread to the market square."))?;

    let query = bridge.replace("repairs", "urgent repairs");
    let found =
        engine.search(query.as_str(), SearchOptions { min_similarity: Some(0.7), ..Default::default() })?;
    for found in &found.matches {
        println!("{} {} {:.3}", found.id, found.verdict.kind, found.verdict.similarity);
    }
    Ok(())
}
