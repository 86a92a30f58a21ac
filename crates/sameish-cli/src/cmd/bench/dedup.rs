//! `sameish bench dedup`: deduplication of random texts with planted near-duplicates.

use super::texts::Random;
use crate::args::{EngineArgs, ThreadArgs, fraction};
use crate::exit::{Exit, Failure};
use crate::output::messages::grouped;
use crate::output::print;
use sameish::Document;
use sameish_batch::{OnBad, Options, RunLog, Selection, Source, Task, check_dedup, index, sign};
use serde::Serialize;
use std::time::Instant;

/// Benchmark `dedup` on random texts with planted near-duplicates
///
/// Some of the texts are copies of an earlier text with a few replaced words. Reports the time of each step, how many of the
/// planted duplicates that are similar enough were removed (recall), and how many removed texts were planted (precision).
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  sameish bench dedup
  sameish bench dedup --texts 1000000 --duplicates 30% --threads 2
  sameish bench dedup --preset wire --edits 0")]
pub(crate) struct Args {
    /// Number of texts
    #[arg(long, value_name = "N", default_value_t = 20_000, value_parser = clap::value_parser!(u32).range(2..=10_000_000))]
    texts: u32,
    /// Number of words of each text
    #[arg(long, value_name = "N", default_value_t = 200, value_parser = clap::value_parser!(u32).range(1..=100_000))]
    words: u32,
    /// Fraction of the texts that are planted duplicates
    #[arg(long, value_name = "FRACTION", default_value = "20%", value_parser = fraction)]
    duplicates: f64,
    /// Maximum number of replaced words of a planted duplicate
    #[arg(long, value_name = "N", default_value_t = 5)]
    edits: u32,
    /// Seed of the random numbers
    #[arg(long, value_name = "N", default_value_t = 1)]
    seed: u64,
    #[command(flatten)]
    engine: EngineArgs,
    #[command(flatten)]
    threads: ThreadArgs,
    /// Print the result as one JSON object
    #[arg(long)]
    json: bool,
}

#[derive(Serialize)]
struct Report {
    texts: usize,
    bytes: usize,
    threads: usize,
    steps: Vec<Step>,
    texts_per_second: f64,
    planted: usize,
    removed: u64,
    candidates: u64,
    /// Share of the planted duplicates above the threshold that were removed.
    recall: f64,
    /// Share of the removed texts that were planted.
    precision: f64,
}

#[derive(Serialize)]
struct Step {
    name: &'static str,
    seconds: f64,
}

/// A corpus and its planted duplicates.
struct PlantedCorpus {
    documents: Vec<Document>,
    /// For each text, the position of the text of which it is a copy.
    original: Vec<Option<usize>>,
}

impl PlantedCorpus {
    fn new(args: &Args) -> PlantedCorpus {
        let mut random = Random::new(args.seed);
        let mut texts: Vec<Vec<String>> = Vec::with_capacity(args.texts as usize);
        let mut original: Vec<Option<usize>> = Vec::with_capacity(args.texts as usize);
        for position in 0..args.texts as usize {
            let is_copy = position > 0 && (random.next() as f64) < args.duplicates * u64::MAX as f64;
            // Copies of copies would be further from the first text than `--edits` says.
            let of = is_copy.then(|| random.below(position)).map(|of| original[of].unwrap_or(of));
            let words = match of {
                Some(of) => {
                    let mut words = texts[of].clone();
                    let edits = random.below(args.edits as usize + 1);
                    random.edit(&mut words, edits);
                    words
                }
                None => random.words(args.words as usize),
            };
            texts.push(words);
            original.push(of);
        }
        let document = |(id, words): (usize, &Vec<String>)| Document::new(id as u64, words.join(" "));
        PlantedCorpus { documents: texts.iter().enumerate().map(document).collect(), original }
    }
}

pub(crate) fn run(args: Args) -> anyhow::Result<Exit> {
    let analyzer = args.engine.analyzer()?;
    check_dedup(&analyzer).map_err(Failure::from)?;
    let corpus = PlantedCorpus::new(&args);
    let options = Options { threads: args.threads.count(), ..Options::new(analyzer) };
    let report = measure(&corpus, &options).map_err(Failure::from)?;
    print(args.json, &report, || in_words(&report))?;
    Ok(Exit::Clean)
}

fn measure(corpus: &PlantedCorpus, options: &Options) -> sameish_batch::Result<Report> {
    let mut log = RunLog::new((), OnBad::Reject, None);
    let source = Source::Documents(&corpus.documents);
    let mut steps = Vec::new();
    let mut started = Instant::now();
    let mut end_step = |name| {
        steps.push(Step { name, seconds: started.elapsed().as_secs_f64() });
        started = Instant::now();
    };
    let signed = sign(Task::Dedup, &source, options, None, &mut log)?;
    end_step("sign");
    let indexed = index(signed, &source, options)?;
    end_step("pair");
    let stars = indexed.stars(&mut log)?;
    end_step("verify and cluster");
    let selection = Selection::new(&indexed, &stars, false);
    let seconds: f64 = steps.iter().map(|step| step.seconds).sum();
    let removed = |position: usize| !selection.keeps(position as u64);
    let matches = |&(position, of): &(usize, usize)| is_match(corpus, options, position, of);
    let planted: Vec<(usize, usize)> =
        corpus.original.iter().enumerate().filter_map(|(position, of)| Some((position, (*of)?))).collect();
    let similar: Vec<usize> = planted.iter().filter(|pair| matches(pair)).map(|pair| pair.0).collect();
    let found = similar.iter().filter(|position| removed(**position)).count();
    let correct = planted.iter().filter(|(position, _)| removed(*position)).count();
    Ok(Report {
        texts: corpus.documents.len(),
        bytes: corpus.documents.iter().map(text_bytes).sum(),
        threads: options.threads,
        texts_per_second: corpus.documents.len() as f64 / seconds,
        steps,
        planted: planted.len(),
        removed: selection.removed,
        candidates: stars.counts.candidates,
        recall: share(found, similar.len()),
        precision: share(correct, selection.removed as usize),
    })
}

/// Returns `true` if a planted duplicate matches its original by what the configuration compares.
fn is_match(corpus: &PlantedCorpus, options: &Options, position: usize, of: usize) -> bool {
    let analyzer = &options.analyzer;
    let [a, b] = [position, of]
        .map(|at| analyzer.prepare(&corpus.documents[at].content, &mut sameish::Scratch::default()));
    let matching = &analyzer.config().matching;
    if matching.verify {
        return a.features.shingles.jaccard(&b.features.shingles) >= matching.threshold;
    }
    let radius = analyzer.config().simhash.as_ref().map_or(0, |simhash| simhash.radius);
    let prints = a.sketches.simhash.zip(b.sketches.simhash);
    prints.is_some_and(|(a, b)| !a.is_zero() && a.distance(b) <= radius)
}

fn text_bytes(document: &Document) -> usize {
    match &document.content {
        sameish::Content::Text(text) => text.len(),
        _ => 0,
    }
}

fn share(part: usize, whole: usize) -> f64 {
    if whole == 0 { 1.0 } else { part as f64 / whole as f64 }
}

fn in_words(report: &Report) -> String {
    let mut text = format!(
        "{} texts, {:.1} MB, {} threads\n\n",
        grouped(report.texts as u64),
        report.bytes as f64 / 1e6,
        report.threads
    );
    for Step { name, seconds } in &report.steps {
        text += &format!("{name:<20}{seconds:>10.3} s\n");
    }
    text + &format!(
        "\n{} texts per second, {} candidates\n{} planted duplicates, {} removed, recall {:.4}, precision {:.4}\n",
        grouped(report.texts_per_second as u64),
        grouped(report.candidates),
        grouped(report.planted as u64),
        grouped(report.removed),
        report.recall,
        report.precision
    )
}
