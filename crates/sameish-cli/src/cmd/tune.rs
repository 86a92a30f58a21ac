//! `sameish tune`: which threshold, and what it would give.
//!
//! ```text
//! tune/sample.rs    some of the documents, the same each time
//! tune/measure.rs   how similar their pairs are
//! tune/labels.rs    what labels say of each threshold
//! tune/proposal.rs  the threshold, why, and what to expect of it
//! tune/report.rs    all that in words and plots
//! tune/plot.rs      plots for a terminal and as SVG
//! tune/page.rs      the report as an HTML page
//! ```

mod labels;
mod measure;
mod page;
mod plot;
mod proposal;
mod report;
mod sample;

use crate::args::{EngineArgs, InputArgs, OnDupId};
use crate::exit::{Exit, Failure};
use crate::output::file::Output;
use crate::output::jsonl::push_line;
use crate::run_args::RunArgs;
use crate::run_log::{CountsText as _, finish};
use labels::{Labels, Quality};
use measure::{Distances, Similarities};
use proposal::Proposal;
use report::{Facts, Section};
use sameish::{Analyzer, Config, Linkage};
use sameish_batch::Counts;
use sameish_batch::input::InputResult;
use sample::{Sample, Texts};
use std::path::{Path, PathBuf};

/// Find the threshold that suits a corpus, and what it would give
///
/// Shows how similar the pairs of a corpus are, proposes a threshold where the fewest pairs lie between strangers and copies,
/// and says what the bands for it would find and cost. Where records say what belongs together (a field `cluster`, or
/// `--labels`), it also gives precision and recall by threshold, with 95 % intervals.
#[derive(Debug, clap::Args)]
#[command(after_help = AFTER_HELP, mut_arg("json", |json| json.help("Give one object with all numbers instead of the report")))]
pub(crate) struct Args {
    #[command(flatten)]
    input: InputArgs,
    #[command(flatten)]
    engine: EngineArgs,
    #[command(flatten)]
    tuning: TuningArgs,
    #[command(flatten)]
    labels: LabelArgs,
    #[command(flatten)]
    plots: PlotArgs,
    #[command(flatten)]
    run: RunArgs,
}

#[derive(Debug, clap::Args)]
#[command(next_help_heading = "Tuning")]
struct TuningArgs {
    /// Most documents that are looked at: those whose ids have the smallest hashes, the same each time
    #[arg(long, value_name = "N", default_value_t = 20_000, value_parser = clap::value_parser!(u32).range(2..=1_000_000))]
    sample: u32,
    /// Say what this threshold gives, instead of proposing one
    #[arg(long, value_name = "SIMILARITY")]
    threshold: Option<f64>,
    /// Share of the pairs at the threshold that must be found [default: the preset's]
    #[arg(long, value_name = "SHARE")]
    recall: Option<f64>,
    /// Say what this radius gives, for presets that judge by fingerprints
    #[arg(long, value_name = "BITS")]
    radius: Option<u32>,
    /// Which record counts when an id comes again with another text
    #[arg(long, value_enum, default_value_t = OnDupId::Reject)]
    on_dup_id: OnDupId,
}

#[derive(Debug, clap::Args)]
#[command(next_help_heading = "Labels")]
struct LabelArgs {
    /// Field whose equal values say that documents belong together [default: cluster, where there is one]
    #[arg(long, value_name = "NAME", conflicts_with = "labels")]
    cluster_field: Option<String>,
    /// Pairs that somebody judged, a line each: {"a": ID, "b": ID, "same": true}
    #[arg(long, value_name = "FILE")]
    labels: Option<PathBuf>,
    /// Propose the lowest threshold whose precision is at least this, instead of the best F1
    #[arg(long, value_name = "SHARE", value_parser = share)]
    precision: Option<f64>,
}

#[derive(Debug, clap::Args)]
#[command(next_help_heading = "Output")]
struct PlotArgs {
    /// Write the plots into this folder as SVG files
    #[arg(long, value_name = "DIR")]
    svg: Option<PathBuf>,
    /// Write the report with its plots as one HTML file that needs nothing else
    #[arg(long, value_name = "FILE")]
    html: Option<PathBuf>,
    /// Draw with plain ASCII [default: where the locale is not UTF-8]
    #[arg(long)]
    ascii: bool,
}

const AFTER_HELP: &str = "\
Examples:
  sameish tune articles.jsonl
  sameish tune --html tuning.html 'crawl/*.jsonl.zst'
  sameish tune --threshold 0.7 articles.jsonl
  sameish tune --cluster-field story --precision 0.99 judged.jsonl
  sameish tune --labels pairs.jsonl --svg plots articles.jsonl

How to read it: most pairs of a corpus are strangers, some are copies, and few
lie between. That valley is where a threshold belongs, because there it matters
least where exactly it stands. Bands are chosen so that a pair right at the
threshold is found with the probability `--recall`; pairs above it are found
more often. docs/tuning.md says more.

Exit codes: 0 clean, 2 wrong usage, 3 some records rejected, 4 an input
unreadable, 5 a limit hit, 6 output failed, 1 our fault.";

fn share(text: &str) -> Result<f64, String> {
    let share: Option<f64> = text.parse().ok();
    share.filter(|share| *share > 0.0 && *share <= 1.0).ok_or("must be more than 0 and at most 1".into())
}

/// Fingerprints of at most so many documents are compared, all with all.
const MOST_PRINTS: u32 = 50_000;

pub(crate) fn run(args: Args) -> anyhow::Result<Exit> {
    let Args { input, engine, tuning, labels, plots, run } = args;
    let engine = settle(engine.analyzer()?.config().clone(), &tuning)?;
    let by_prints = engine.config().minhash.is_none();
    let judged = labels.labels.as_deref().map(labels::read_file).transpose()?;
    let sources = input.find()?;
    let mut log = run.log(&sources)?;
    let mut output = run.create_output(&sources)?;
    let mut files = Files::create(&plots, run.force, &sources)?;
    let mut reading = input.reading(run.quiet);
    // Nothing here asks for the source, so the field with the cluster takes its place.
    reading.fields.source = vec![labels.cluster_field.clone().unwrap_or_else(|| "cluster".into())];
    let size = if by_prints { tuning.sample.min(MOST_PRINTS) } else { tuning.sample };
    let wanted = judged.iter().flatten().flat_map(|pair| [pair.a.clone(), pair.b.clone()]).collect();
    let plan = sample::Plan { size: size as usize, wanted, on_dup_id: tuning.on_dup_id };
    let threads = run.threads.count();
    let sample = sample::read(&engine, sources, reading, threads, plan, &mut log)?;
    let texts = Texts::of(&sample);
    let labels = Labels::choose(&labels, judged, &texts)?;
    let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build()?;
    let tuned = pool.install(|| match by_prints {
        true => Tuned::by_distance(&engine, &texts, &labels, &tuning),
        false => Tuned::by_similarity(&engine, &texts, &labels, &tuning),
    })?;
    let (counts, exit) = finish(log)?;
    let facts =
        Facts { counts: &counts, sample: &sample, texts: &texts, labels: &labels, config: engine.config() };
    let sections = report::sections(&facts, &tuned);
    files.finish(&sections)?;
    let mut bytes = Vec::new();
    match run.json {
        true => push_line(&mut bytes, &report::json(&facts, &tuned)),
        false if run.quiet && run.output.is_none() => {}
        false => bytes = plot::Style::choose(plots.ascii).render(&sections).into_bytes(),
    }
    output.write(&bytes)?;
    output.finish()?;
    if !run.json {
        run.summarize(&counts, || in_words(&counts))?;
    }
    Ok(exit)
}

fn in_words(counts: &Counts) -> String {
    format!("{}; {}", counts.in_words(), counts.effort())
}

/// The engine for these settings: one that keeps what similarity is measured on, and needs no dates.
fn settle(mut config: Config, tuning: &TuningArgs) -> Result<Analyzer, Failure> {
    if config.minhash.is_none() && config.simhash.is_none() {
        return Err(Failure::usage(
            "`tune` is for signatures and fingerprints, and these settings make sparse codes; choose another `--preset`",
        ));
    }
    config.matching.verify = config.minhash.is_some();
    config.matching.linkage = Linkage::Cohesive;
    config.matching.recall = tuning.recall.unwrap_or(config.matching.recall);
    config.matching.threshold = tuning.threshold.unwrap_or(config.matching.threshold);
    if let (Some(minhash), true) = (&mut config.minhash, tuning.threshold.or(tuning.recall).is_some()) {
        minhash.bands = None;
    }
    match (&mut config.simhash, tuning.radius) {
        (Some(simhash), Some(radius)) if config.minhash.is_none() => {
            (simhash.radius, simhash.blocks) = (radius, None);
        }
        (_, Some(_)) => {
            return Err(Failure::usage("`--radius` does nothing here: the settings judge by similarity"));
        }
        _ if config.minhash.is_none() && tuning.threshold.is_some() => {
            return Err(Failure::usage(
                "`--threshold` does nothing here: the settings judge by fingerprints; pass `--radius`",
            ));
        }
        _ => {}
    }
    Analyzer::new(config).map_err(|error| Failure::usage(error.to_string()))
}

/// Everything that was found out.
struct Tuned {
    measured: Measured,
    quality: Option<Quality>,
    proposal: Proposal,
}

enum Measured {
    Similarities(Similarities),
    Distances(Distances),
}

impl Tuned {
    fn by_similarity(
        engine: &Analyzer,
        texts: &Texts,
        labels: &Labels,
        tuning: &TuningArgs,
    ) -> Result<Tuned, Failure> {
        let measured = Similarities::measure(engine.config(), texts)?;
        let quality = labels.by_similarity(engine.config(), texts, &measured);
        let proposal =
            Proposal::threshold(engine.config(), texts, &measured, quality.as_ref(), tuning.threshold)?;
        Ok(Tuned { measured: Measured::Similarities(measured), quality, proposal })
    }

    fn by_distance(
        engine: &Analyzer,
        texts: &Texts,
        labels: &Labels,
        tuning: &TuningArgs,
    ) -> Result<Tuned, Failure> {
        let measured = Distances::measure(texts);
        let quality = labels.by_distance(texts, &measured);
        let proposal = Proposal::radius(engine.config(), texts, &measured, quality.as_ref(), tuning.radius);
        Ok(Tuned { measured: Measured::Distances(measured), quality, proposal })
    }
}

/// The plots that were asked for, as files. Each appears when it is whole.
struct Files {
    html: Option<Output>,
    svg: Vec<(&'static str, Output)>,
}

impl Files {
    fn create(plots: &PlotArgs, force: bool, sources: &[InputResult]) -> Result<Files, Failure> {
        let create = |path: &Path| Output::create(Some(path), force, sources);
        let mut svg = Vec::new();
        if let Some(folder) = &plots.svg {
            std::fs::create_dir_all(folder).map_err(|error| {
                let name = crate::output::escape::escaped_name(folder.as_os_str());
                Failure::new(Exit::Output, format!("{name}: can not be made: {error}; check the path"))
            })?;
            for name in plot::NAMES {
                svg.push((name, create(&folder.join(format!("{name}.svg")))?));
            }
        }
        Ok(Files { html: plots.html.as_deref().map(create).transpose()?, svg })
    }

    /// Plots that a run has no data for leave no file.
    fn finish(&mut self, sections: &[Section]) -> Result<(), Failure> {
        for (name, mut output) in self.svg.drain(..) {
            if let Some(svg) = sections.iter().find_map(|section| section.svg(name)) {
                output.write(plot::standalone(svg).as_bytes())?;
                output.finish()?;
            }
        }
        if let Some(mut output) = self.html.take() {
            output.write(page::render(sections).as_bytes())?;
            output.finish()?;
        }
        Ok(())
    }
}

impl Sample {
    /// How many pairs of the whole input a pair of the sample stands for.
    fn scale(&self) -> f64 {
        let pairs = |count: f64| count * (count - 1.0);
        let (all, here) = (self.read.max(self.docs.len() as u64) as f64, self.docs.len() as f64);
        if here < 2.0 { 1.0 } else { pairs(all) / pairs(here) }
    }
}
