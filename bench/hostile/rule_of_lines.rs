//! Compares all lines of a file with each other: `rule_of_lines PRESET FILE`. Prints the number of the center of each line, by the
//! rule of cohesive clusters: a line belongs to the first center that it joins, and is a center if there is none.
//!
//! `bench/hostile/run --check` compares the clusters of the program with these.
#![allow(clippy::print_stdout)]

use sameish::matching::Side;
use sameish::{Analyzer, Preset, Scratch, Status};

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let mut arguments = std::env::args().skip(1);
    let preset: Preset = arguments.next().ok_or("expected a preset")?.parse()?;
    let lines = std::fs::read_to_string(arguments.next().ok_or("expected a file")?)?;
    let analyzer = Analyzer::new(preset.config())?;
    let bands = analyzer.config().bands()?.ok_or("expected a preset with bands")?;
    let radius = analyzer.config().simhash.as_ref().map(|simhash| simhash.radius);
    let judge = analyzer.judge();
    let mut scratch = Scratch::default();
    let prepared: Vec<_> = lines.lines().map(|line| analyzer.prepare(line, &mut scratch)).collect();
    let mut centers: Vec<usize> = Vec::new();
    for (line, a) in prepared.iter().enumerate() {
        let side = |at: usize| Side {
            key: prepared[at].key,
            too_short: prepared[at].sketches.status == Status::TooShort,
            features: Some(&prepared[at].features.shingles),
            facts: Some(&prepared[at].features.facts),
            ..Side::default()
        };
        let rows = |at: usize| prepared[at].sketches.minhash.as_ref().map(|signature| signature.rows());
        let print = |at: usize| prepared[at].sketches.simhash;
        let is_near = |center: usize| {
            let distance = print(line).zip(print(center)).map(|(a, b)| a.distance(b));
            distance.is_some_and(|distance| Some(distance) <= radius)
        };
        let shares_band =
            |center: usize| rows(line).zip(rows(center)).is_some_and(|(a, b)| bands.share(a, b));
        let joins = |&&center: &&usize| {
            (shares_band(center) || is_near(center) || a.key == prepared[center].key)
                && judge.judge_facts(&side(center), &side(line)).is_some_and(|verdict| judge.joins(&verdict))
        };
        let center = centers.iter().find(joins).copied();
        if center.is_none() {
            centers.push(line);
        }
        println!("{}", center.unwrap_or(line));
    }
    Ok(())
}
