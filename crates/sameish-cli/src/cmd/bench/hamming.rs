//! `sameish bench hamming`: bulk operations of the Hamming index on random fingerprints.

use super::texts::Random;
use crate::exit::{Exit, Failure};
use crate::output::messages::grouped;
use crate::output::print;
use sameish::Fingerprint;
use sameish::config::Blocks;
use sameish::index::{DocNumber, HammingIndex};
use serde::Serialize;
use std::time::Instant;

/// Benchmark the Hamming index on random fingerprints
///
/// Inserts, finds and removes fingerprints on one thread. Half of the queries are random. The other half are stored
/// fingerprints with up to `--bits` flipped bits, all of which must be found.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  sameish bench hamming
  sameish bench hamming --random 1000000 --blocks 5 --bits 3")]
pub(crate) struct Args {
    /// Number of fingerprints and of queries
    #[arg(long, value_name = "N", default_value_t = 1_000_000, value_parser = clap::value_parser!(u32).range(1..=100_000_000))]
    random: u32,
    /// Number of blocks of the 64 bits; the index has one table per choice of equal blocks [default: derived from `--random`]
    #[arg(long, value_name = "N")]
    blocks: Option<u32>,
    /// Maximum number of differing bits of a match
    #[arg(long, value_name = "N", default_value_t = 3)]
    bits: u32,
    /// Seed of the random numbers
    #[arg(long, value_name = "N", default_value_t = 1)]
    seed: u64,
    /// Print the result as one JSON object
    #[arg(long)]
    json: bool,
}

#[derive(Serialize)]
struct Report {
    fingerprints: u32,
    queries: u32,
    blocks: Option<u32>,
    bits: u32,
    tables: usize,
    bytes_per_fingerprint: f64,
    steps: Vec<Step>,
    /// Share of the queries near a stored fingerprint that found it.
    recall: f64,
}

#[derive(Serialize)]
struct Step {
    name: &'static str,
    seconds: f64,
    /// Number of fingerprints inserted, found or removed.
    count: usize,
}

pub(crate) fn run(args: Args) -> anyhow::Result<Exit> {
    let index = match args.blocks {
        Some(total) => HammingIndex::with_blocks(Blocks { total, differing: args.bits }),
        None => HammingIndex::with_capacity(args.bits, args.random as usize),
    };
    let mut index = index.map_err(Failure::from)?;
    let report = measure(&args, &mut index);
    print(args.json, &report, || in_words(&report))?;
    Ok(Exit::Clean)
}

fn measure(args: &Args, index: &mut HammingIndex) -> Report {
    let mut random = Random::new(args.seed);
    let codes: Vec<u64> = (0..args.random).map(|_| random.next()).collect();
    let queries: Vec<Fingerprint> =
        (0..codes.len()).map(|i| query(&codes, i, args.bits, &mut random)).collect();
    let entries: Vec<(Fingerprint, DocNumber)> =
        (0u32..).zip(&codes).map(|(i, &code)| (Fingerprint::from_u64(code), DocNumber(i))).collect();
    let mut steps = Vec::new();
    let mut time = |name, work: &mut dyn FnMut() -> usize| {
        let started = Instant::now();
        let count = work();
        steps.push(Step { name, seconds: started.elapsed().as_secs_f64(), count });
    };
    time("Bulk Insertion", &mut || index.insert_all(&entries));
    let bytes_per_fingerprint = index.memory_bytes() as f64 / f64::from(args.random);
    time("Bulk Find First", &mut || index.find_first_bulk(&queries).iter().flatten().count());
    let mut planted = 0;
    time("Bulk Find All", &mut || {
        let mut found = 0;
        index.find_all_bulk(&queries, |i, hits| {
            found += hits.len();
            planted += usize::from(i % 2 == 1 && hits.iter().any(|hit| hit.doc.0 as usize == i));
        });
        found
    });
    time("Bulk Removal", &mut || index.remove_all(&entries));
    Report {
        fingerprints: args.random,
        queries: args.random,
        blocks: args.blocks,
        bits: args.bits,
        tables: index.table_count(),
        bytes_per_fingerprint,
        steps,
        recall: if codes.len() < 2 { 1.0 } else { planted as f64 / (codes.len() / 2) as f64 },
    }
}

/// Returns a random query for even `i`, and fingerprint `i` with some bits flipped for odd `i`.
fn query(codes: &[u64], i: usize, bits: u32, random: &mut Random) -> Fingerprint {
    if i.is_multiple_of(2) {
        return Fingerprint::from_u64(random.next());
    }
    let flips = random.next() % u64::from(bits + 1);
    Fingerprint::from_u64((0..flips).fold(codes[i], |code, _| code ^ 1 << (random.next() % 64)))
}

fn in_words(report: &Report) -> String {
    let Report { fingerprints, tables, bits, .. } = report;
    let blocks = report.blocks.map_or("blocks chosen by size".into(), |blocks| format!("{blocks} blocks"));
    let many = grouped(u64::from(*fingerprints));
    let mut text = format!("{many} fingerprints and queries, {bits} bits, {blocks}, {tables} tables\n\n");
    text += &format!("{:<18}{:>12}{:>12}{:>14}\n", "", "seconds", "us per item", "count");
    for Step { name, seconds, count } in &report.steps {
        let each = seconds * 1e6 / f64::from(*fingerprints);
        text += &format!("{name:<18}{seconds:>12.6}{each:>12.3}{:>14}\n", grouped(*count as u64));
    }
    let bytes = report.bytes_per_fingerprint;
    text + &format!(
        "\nrecall of queries near a stored fingerprint {:.4}, {bytes:.1} bytes per fingerprint\n",
        report.recall
    )
}
