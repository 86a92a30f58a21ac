//! Inserts the lines of a file into an engine: `insert_lines PRESET FILE`. Prints how many documents have a match.
//!
//! `bench/hostile/service` measures the CPU time of this program.
#![allow(clippy::print_stdout)]

use sameish::{Document, Engine, Preset, SearchOptions};

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let mut arguments = std::env::args().skip(1);
    let preset: Preset = arguments.next().ok_or("expected a preset")?.parse()?;
    let lines = std::fs::read_to_string(arguments.next().ok_or("expected a file")?)?;
    let mut engine = Engine::new(preset.config())?;
    let mut matched = 0;
    for (number, text) in (0_u64..).zip(lines.lines()) {
        matched += usize::from(!engine.search(text, SearchOptions::default())?.matches.is_empty());
        engine.insert(&Document::new(number, text))?;
    }
    println!("{matched}");
    Ok(())
}
