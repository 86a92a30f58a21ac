//! `sameish bench sketch`: sketches of random texts, for each preset.

use super::texts::Random;
use crate::args::ThreadArgs;
use crate::exit::Exit;
use crate::output::messages::grouped;
use crate::output::print;
use anyhow::anyhow;
use rayon::ThreadPoolBuilder;
use rayon::prelude::*;
use sameish::{Analyzer, Preset, Scratch};
use serde::Serialize;
use std::time::Instant;

/// Benchmark the sketches of random texts
///
/// Computes the sketches of all texts with each preset: normalization, words, shingles and sketches, as `fingerprint` and `dedup`
/// do, without reading and writing files.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  sameish bench sketch
  sameish bench sketch --texts 100000 --words 500 --threads 1")]
pub(crate) struct Args {
    /// Number of texts
    #[arg(long, value_name = "N", default_value_t = 20_000, value_parser = clap::value_parser!(u32).range(1..=10_000_000))]
    texts: u32,
    /// Number of words of each text
    #[arg(long, value_name = "N", default_value_t = 300, value_parser = clap::value_parser!(u32).range(1..=100_000))]
    words: u32,
    /// Seed of the random numbers
    #[arg(long, value_name = "N", default_value_t = 1)]
    seed: u64,
    #[command(flatten)]
    threads: ThreadArgs,
    /// Print the result as one JSON object
    #[arg(long)]
    json: bool,
}

#[derive(Serialize)]
struct Report {
    texts: u32,
    words: u32,
    bytes: usize,
    threads: usize,
    presets: Vec<Speed>,
}

#[derive(Serialize)]
struct Speed {
    preset: &'static str,
    seconds: f64,
    texts_per_second: f64,
    megabytes_per_second: f64,
}

pub(crate) fn run(args: Args) -> anyhow::Result<Exit> {
    let mut random = Random::new(args.seed);
    let texts: Vec<String> = (0..args.texts).map(|_| random.words(args.words as usize).join(" ")).collect();
    let bytes = texts.iter().map(String::len).sum();
    let threads = args.threads.count();
    let pool = ThreadPoolBuilder::new().num_threads(threads).build();
    let pool = pool.map_err(|error| anyhow!("cannot start {threads} threads: {error}"))?;
    let speed = |preset: Preset| {
        let analyzer = Analyzer::new(preset.config())?;
        let started = Instant::now();
        pool.install(|| sketch_all(&analyzer, &texts));
        let seconds = started.elapsed().as_secs_f64();
        Ok::<Speed, sameish::Error>(Speed {
            preset: preset.name(),
            seconds,
            texts_per_second: f64::from(args.texts) / seconds,
            megabytes_per_second: bytes as f64 / 1e6 / seconds,
        })
    };
    let presets = Preset::ALL.into_iter().map(speed).collect::<Result<Vec<_>, _>>()?;
    let report = Report { texts: args.texts, words: args.words, bytes, threads, presets };
    print(args.json, &report, || in_words(&report))?;
    Ok(Exit::Clean)
}

fn sketch_all(analyzer: &Analyzer, texts: &[String]) {
    texts.par_iter().for_each_init(Scratch::default, |scratch, text| {
        std::hint::black_box(analyzer.sketch(text.as_str(), scratch));
    });
}

fn in_words(report: &Report) -> String {
    let Report { texts, words, bytes, threads, presets } = report;
    let mut text = format!(
        "{} texts of {words} words, {:.1} MB, {threads} threads\n\n{:<12}{:>12}{:>16}{:>12}\n",
        grouped(u64::from(*texts)),
        *bytes as f64 / 1e6,
        "preset",
        "seconds",
        "texts/s",
        "MB/s"
    );
    for Speed { preset, seconds, texts_per_second, megabytes_per_second } in presets {
        let each = grouped(*texts_per_second as u64);
        text += &format!("{preset:<12}{seconds:>12.3}{each:>16}{megabytes_per_second:>12.1}\n");
    }
    text
}
