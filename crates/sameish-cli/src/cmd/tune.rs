//! `sameish tune`: proposes a similarity threshold for a corpus.
//!
//! ```text
//! tune/sample.rs        reads a deterministic sample of the documents
//! tune/measure.rs       measures the similarities of their pairs
//! tune/labels.rs        computes precision and recall from labels
//! tune/shingles.rs      chooses between shingles of words and of characters
//! tune/proposal.rs      proposes a threshold, with the recall and cost of the index
//! tune/report.rs        describes the result in text and charts
//! tune/shingle_report.rs  the section of the report about shingles
//! tune/label_report.rs  the section of the report about labels
//! tune/render.rs        renders the report for the terminal, as HTML and as SVG files
//! tune/next_command.rs  builds the commands of the section "Next steps"
//! tune/json.rs          the result as a JSON object
//! ```

mod json;
mod label_report;
mod labels;
mod measure;
mod next_command;
mod proposal;
mod render;
mod report;
mod sample;
mod shingle_report;
mod shingles;

use crate::args::{EngineArgs, InputArgs, ON_DUP_ID, TemplateArgs, recall, threshold};
use crate::choice::one_of;
use crate::exit::{Exit, Failure};
use crate::output::command::kept_name;
use crate::output::escape::escaped_name;
use crate::output::file::Output;
use crate::output::jsonl::push_line;
use crate::output::plot::svg::standalone;
use crate::output::plot::terminal::Charset;
use crate::run_args::{NOTHING_WRITTEN, RunArgs, stop_if_unreadable};
use crate::run_log::{CountsText as _, finish};
use labels::{LabeledPair, Labels, Quality};
use measure::{Distances, Similarities};
use proposal::Proposal;
use report::Section;
use sameish::config::Linkage;
use sameish::{Analyzer, Config, Prepared};
use sameish_batch::input::{ByteCounter, FieldScope, InputResult, ReadOptions, RequiredField, check_inputs};
use sameish_batch::{Counts, OnDupId};
use sample::{Sample, Texts};
use shingles::{Reason, Shingles, Trial};
use std::path::{Path, PathBuf};

/// Propose a similarity threshold for a corpus
///
/// Shows the similarity histogram of a corpus, proposes a threshold in the valley between unrelated documents and
/// near-duplicates, and predicts the recall and cost of the index for it. With labels (a field `cluster`, or `--labels`), also
/// reports precision and recall by threshold with 95 % confidence intervals.
#[derive(Debug, clap::Args)]
#[command(after_help = AFTER_HELP, mut_arg("json", |json| json.help("Print the result as one JSON object")))]
pub(crate) struct Args {
    #[command(flatten)]
    input: InputArgs,
    #[command(flatten)]
    engine: EngineArgs,
    #[command(flatten)]
    tuning: TuningArgs,
    #[command(flatten)]
    templates: TemplateArgs,
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
    /// Maximum number of documents to compare; of a larger input, those whose ids have the smallest hashes are used
    #[arg(long, value_name = "N", default_value_t = 20_000, value_parser = clap::value_parser!(u32).range(2..=1_000_000))]
    sample: u32,
    /// Evaluate this threshold instead of proposing one
    #[arg(long, value_name = "SIMILARITY", value_parser = threshold)]
    threshold: Option<f64>,
    /// Minimum probability that the index finds a pair exactly at the threshold [default: from the preset]
    #[arg(long, value_name = "FRACTION", value_parser = recall)]
    recall: Option<f64>,
    /// Evaluate this radius instead of proposing one (presets that compare fingerprints)
    #[arg(long, value_name = "BITS", value_parser = clap::value_parser!(u32).range(0..=64))]
    radius: Option<u32>,
    /// Record to use if an id occurs again with a different text
    #[arg(long, value_parser = one_of(&ON_DUP_ID), default_value = "reject")]
    on_dup_id: OnDupId,
}

#[derive(Debug, clap::Args)]
#[command(next_help_heading = "Labels")]
struct LabelArgs {
    /// Field with the true cluster of a document [default: cluster, if present]
    #[arg(long, value_name = "NAME", conflicts_with = "labels")]
    cluster_field: Option<String>,
    /// JSONL file of labeled pairs (plain, .gz or .zst): {"a": ID, "b": ID, "same": true}
    #[arg(long, value_name = "FILE")]
    labels: Option<PathBuf>,
    /// Propose the lowest threshold with at least this precision instead of the one with the best F1
    #[arg(long, value_name = "FRACTION", value_parser = threshold)]
    precision: Option<f64>,
}

#[derive(Debug, clap::Args)]
#[command(next_help_heading = "Output")]
struct PlotArgs {
    /// Write the charts to this directory as SVG files
    #[arg(long, value_name = "DIR")]
    svg: Option<PathBuf>,
    /// Write the report with its charts as one self-contained HTML file
    #[arg(long, value_name = "FILE")]
    report: Option<PathBuf>,
    /// Draw charts in ASCII [default: only if the locale is not UTF-8]
    #[arg(long)]
    ascii: bool,
}

const AFTER_HELP: &str = "\
Examples:
  sameish tune articles.jsonl
  sameish tune --report tuning.html 'crawl/*.jsonl.zst'
  sameish tune --threshold 0.7 articles.jsonl
  sameish tune --cluster-field story --precision 0.99 judged.jsonl
  sameish tune --labels pairs.jsonl --svg plots articles.jsonl

In most corpora, most pairs of documents are unrelated, some are
near-duplicates, and few are in between. The best threshold is in this valley of
the histogram, where a small change of the threshold has little effect. The
index finds a pair exactly at the threshold with the probability `--recall`, and
more similar pairs with a higher probability. Templates (the same wording with
different names or numbers) are not duplicates, as in `dedup`, unless
`--templates merge` is given.

With presets that compare words, shingles of five characters are tried, too, and
the better shingle is proposed, unless `--shingle`, `--config` or `--threshold`
is given. See docs/tuning.md.

Exit codes: 0 success, 1 internal error, 2 usage error, 3 some records rejected,
4 unreadable input, 5 limit reached, 6 output failed.";

/// Maximum sample size for fingerprints, because all pairs are compared.
const MAX_FINGERPRINTS: u32 = 50_000;

pub(crate) fn run(args: Args) -> anyhow::Result<Exit> {
    let engine = args.analyzer()?;
    let labeled_pairs = labeled_pairs(&args.labels, &args.input)?;
    let sources = args.input.find()?;
    let mut log = args.run.log(&sources)?;
    let output = args.run.create_output(&sources)?;
    let reading = read_options(&args.input, &args.labels, &sources, args.run.quiet);
    args.check_inputs(&sources, &reading)?;
    let mut files = Files::create(&args.plots, args.run.force, &sources)?;
    let kept_name = kept_name(&sources);
    let characters = args.character_shingles(&engine);
    let mut plan = sample_plan(&engine, &args.tuning, labeled_pairs.as_deref());
    plan.keep_texts = characters.is_some();
    let threads = args.run.threads.count();
    let sample = sample::read(&engine, sources, reading, threads, plan, &mut log)?;
    log.end_input()?;
    if !log.completion.is_usable() && (args.writes_files() || sample.read == 0) {
        return Err(Failure::new(log.completion.into(), NOTHING_WRITTEN).into());
    }
    let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build()?;
    let prepared = characters.as_ref().and_then(|other| pool.install(|| sample.prepare(other)));
    let evaluator =
        Evaluator { sample: &sample, args: &args, labeled_pairs: labeled_pairs.as_deref(), pool: &pool };
    let (chosen, shingles) = evaluator.choose(&engine, characters.as_ref(), prepared.as_deref())?;
    let (counts, exit) = finish(log)?;
    let tuning = Tuning {
        counts: &counts,
        sample: &sample,
        texts: &chosen.texts,
        labels: &chosen.labels,
        config: chosen.config,
        kept_name: &kept_name,
        shingles: shingles.as_ref(),
    };
    let sections = report::sections(&tuning, &chosen.findings);
    files.finish(&sections)?;
    let report = render::text(&sections, Charset::detect(args.plots.ascii));
    print(output, &args.run, &tuning, &chosen.findings, report)?;
    Ok(exit)
}

impl Args {
    /// Creates the analyzer with the settings of the command line.
    fn analyzer(&self) -> Result<Analyzer, Failure> {
        let mut config = self.engine.analyzer()?.config().clone();
        self.templates.set(&mut config);
        configure(config, &self.tuning)
    }

    fn writes_files(&self) -> bool {
        self.run.writes_file() || self.plots.report.is_some() || self.plots.svg.is_some()
    }

    /// Checks the inputs. Stops if one of them cannot be read and a file would be written.
    fn check_inputs(&self, sources: &[InputResult], reading: &ReadOptions) -> Result<(), Failure> {
        let unreadable = check_inputs(sources, reading)?;
        if self.writes_files() { stop_if_unreadable(&unreadable) } else { Ok(()) }
    }

    /// Returns an analyzer with shingles of characters, unless the user has chosen the shingle or the threshold, or the
    /// configuration does not compare word shingles.
    fn character_shingles(&self, engine: &Analyzer) -> Option<Analyzer> {
        if self.engine.sets_shingle() || self.tuning.threshold.is_some() {
            return None;
        }
        shingles::with_characters(engine.config())
    }
}

/// Evaluates settings on the sample.
struct Evaluator<'a> {
    sample: &'a Sample,
    args: &'a Args,
    labeled_pairs: Option<&'a [LabeledPair]>,
    pool: &'a rayon::ThreadPool,
}

/// The findings for one configuration.
struct Evaluation<'a> {
    config: &'a Config,
    texts: Texts<'a>,
    labels: Labels,
    findings: Findings,
}

impl<'a> Evaluator<'a> {
    /// Evaluates a configuration. `prepared` replaces the documents of the sample if it has another shingle.
    fn evaluate(
        &self,
        analyzer: &'a Analyzer,
        prepared: Option<&'a [Prepared]>,
    ) -> Result<Evaluation<'a>, Failure> {
        let texts = Texts::of(self.sample, prepared);
        let labels = Labels::choose(&self.args.labels, self.labeled_pairs, &texts)?;
        let compute = || Findings::compute(analyzer, &texts, &labels, &self.args.tuning);
        let findings = self.pool.install(compute)?;
        Ok(Evaluation { config: analyzer.config(), texts, labels, findings })
    }

    /// Evaluates the configuration and, if there is one, the same configuration with shingles of characters. Returns the better
    /// evaluation, and the shingles that were tried.
    fn choose(
        &self,
        engine: &'a Analyzer,
        characters: Option<&'a Analyzer>,
        prepared: Option<&'a [Prepared]>,
    ) -> Result<(Evaluation<'a>, Option<Shingles>), Failure> {
        let chosen = self.evaluate(engine, None)?;
        if !self.args.run.quiet {
            chosen.labels.warn_of_unknown_ids();
        }
        let Some(own) = Trial::of(engine.config(), &chosen.findings) else { return Ok((chosen, None)) };
        let (Some(characters), Some(prepared)) = (characters, prepared) else {
            let reason = if characters.is_some() { Reason::TooMuchText } else { Reason::Fixed };
            return Ok((chosen, Some(Shingles::only(own, reason))));
        };
        let other = self.evaluate(characters, Some(prepared))?;
        let shingles =
            Trial::of(characters.config(), &other.findings).map(|trial| Shingles::compare(own, trial));
        match shingles.as_ref().is_some_and(Shingles::replaces_preset) {
            true => Ok((other, shingles)),
            false => Ok((chosen, shingles)),
        }
    }
}

/// Reads the file of labels, if there is one. Its bytes do not count as progress.
fn labeled_pairs(labels: &LabelArgs, input: &InputArgs) -> Result<Option<Vec<LabeledPair>>, Failure> {
    let reading = ReadOptions { counter: ByteCounter::default(), ..input.reading(&[], true) };
    labels.labels.as_deref().map(|path| labels::read_file(path, &reading)).transpose()
}

/// Returns how inputs are read. The source is not used here, so its field holds the cluster.
fn read_options(input: &InputArgs, labels: &LabelArgs, sources: &[InputResult], quiet: bool) -> ReadOptions {
    let mut reading = input.reading(sources, quiet);
    reading.fields.source = vec![labels.cluster_field.clone().unwrap_or_else(|| "cluster".into())];
    reading.required.extend(labels.cluster_field.clone().map(|name| RequiredField {
        name,
        parameter: "--cluster-field",
        scope: FieldScope::AnyInput,
    }));
    reading
}

/// Returns the sampling parameters. Documents of labeled pairs are always read.
fn sample_plan(engine: &Analyzer, tuning: &TuningArgs, labeled: Option<&[LabeledPair]>) -> sample::Plan {
    let limit = if engine.config().minhash.is_none() { MAX_FINGERPRINTS } else { u32::MAX };
    sample::Plan {
        size: tuning.sample.min(limit) as usize,
        required: labeled
            .unwrap_or_default()
            .iter()
            .flat_map(|pair| [pair.a.clone(), pair.b.clone()])
            .collect(),
        on_dup_id: tuning.on_dup_id,
        keep_texts: false,
    }
}

/// Writes the report, or the JSON object with `--json`.
fn print(
    mut output: Output,
    run: &RunArgs,
    tuning: &Tuning<'_>,
    findings: &Findings,
    report: String,
) -> anyhow::Result<()> {
    let mut bytes = Vec::new();
    if run.json {
        push_line(&mut bytes, &json::object(tuning, findings));
    } else if !run.quiet || run.output.is_some() {
        bytes = report.into_bytes();
    }
    output.write(&bytes)?;
    output.finish()?;
    if !run.json {
        run.summarize(tuning.counts, || format!("{}; {}", tuning.counts.in_words(), tuning.counts.effort()))?;
    }
    Ok(())
}

/// Creates the engine with the settings of the command line. It keeps features, so that similarities are exact.
fn configure(mut config: Config, tuning: &TuningArgs) -> Result<Analyzer, Failure> {
    if config.minhash.is_none() && config.simhash.is_none() {
        return Err(Failure::usage(
            "`tune` supports signatures and fingerprints, but these settings produce sparse codes; choose another `--preset`",
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
            simhash.radius = radius;
            simhash.blocks = None;
        }
        (_, Some(_)) => {
            return Err(Failure::usage(
                "`--radius` has no effect: these settings compare by similarity; pass `--threshold`",
            ));
        }
        _ if config.minhash.is_none() && tuning.threshold.is_some() => {
            return Err(Failure::usage(
                "`--threshold` has no effect: these settings compare fingerprints; pass `--radius`",
            ));
        }
        _ => {}
    }
    Ok(Analyzer::new(config)?)
}

/// The inputs of a run.
struct Tuning<'a> {
    counts: &'a Counts,
    sample: &'a Sample,
    texts: &'a Texts<'a>,
    labels: &'a Labels,
    config: &'a Config,
    /// Output of the command that the report suggests.
    kept_name: &'a str,
    /// The shingles that were tried. Absent for fingerprints.
    shingles: Option<&'a Shingles>,
}

/// The results of a run.
struct Findings {
    measured: Measured,
    quality: Option<Quality>,
    proposal: Proposal,
}

enum Measured {
    Similarities(Similarities),
    Distances(Distances),
}

impl Findings {
    fn compute(
        engine: &Analyzer,
        texts: &Texts,
        labels: &Labels,
        tuning: &TuningArgs,
    ) -> Result<Findings, Failure> {
        let config = engine.config();
        if config.minhash.is_none() {
            let measured = Distances::measure(texts);
            let quality = labels.by_distance(texts, &measured);
            let proposal = Proposal::radius(config, texts, &measured, quality.as_ref(), tuning.radius);
            return Ok(Findings { measured: Measured::Distances(measured), quality, proposal });
        }
        let measured = Similarities::measure(engine, texts)?;
        let quality = labels.by_similarity(engine, texts, &measured);
        let proposal = Proposal::threshold(config, texts, &measured, quality.as_ref(), tuning.threshold)?;
        Ok(Findings { measured: Measured::Similarities(measured), quality, proposal })
    }
}

impl Measured {
    /// Returns the texts that are long enough to be compared.
    fn comparable(&self) -> &[u32] {
        match self {
            Measured::Similarities(measured) => &measured.comparable,
            Measured::Distances(measured) => &measured.comparable,
        }
    }
}

/// The files of `--svg` and `--report`, written atomically.
struct Files {
    report: Option<Output>,
    svg: Vec<(&'static str, Output)>,
}

impl Files {
    fn create(plots: &PlotArgs, force: bool, sources: &[InputResult]) -> Result<Files, Failure> {
        let create = |path: &Path| Output::create(Some(path), force, sources);
        let mut svg = Vec::new();
        if let Some(directory) = &plots.svg {
            std::fs::create_dir_all(directory).map_err(|error| {
                let name = escaped_name(directory.as_os_str());
                Failure::new(
                    Exit::Output,
                    format!("cannot create directory `{name}`: {error}; check the path"),
                )
            })?;
            for name in render::CHARTS {
                svg.push((name, create(&directory.join(format!("{name}.svg")))?));
            }
        }
        Ok(Files { report: plots.report.as_deref().map(create).transpose()?, svg })
    }

    /// Writes the files. Charts without data are not written.
    fn finish(&mut self, sections: &[Section]) -> Result<(), Failure> {
        for (name, mut output) in self.svg.drain(..) {
            if let Some(svg) = sections.iter().find_map(|section| section.svg(name)) {
                output.write(standalone(&svg).as_bytes())?;
                output.finish()?;
            }
        }
        if let Some(mut output) = self.report.take() {
            output.write(render::html(sections).as_bytes())?;
            output.finish()?;
        }
        Ok(())
    }
}
