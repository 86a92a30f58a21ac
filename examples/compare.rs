//! Compares two texts with every measure and prints the passages that they share.
//!
//! Run with `cargo run -p sameish --example compare`.
#![allow(clippy::print_stdout)]

use sameish::{Analyzer, Preset};

fn main() -> sameish::Result<()> {
    let analyzer = Analyzer::new(Preset::Copies.config())?;
    let a =
        "The council voted on Monday to close the old bridge for repairs until spring, a spokeswoman said.";
    let b = "Officials confirmed that the council voted on Monday to close the old bridge for repairs until summer.";
    let comparison = analyzer.compare(a, b, 5);
    println!("{}: Jaccard similarity {:.2}", comparison.match_type, comparison.similarity);
    println!("{:.0} % of the first text is in the second", comparison.coverage_a * 100.0);
    for passage in &comparison.passages {
        println!(
            "{} words at byte {}: {:?}",
            passage.tokens,
            passage.a_start,
            &a[passage.a_start..passage.a_end]
        );
    }
    Ok(())
}
