//! `sameish dedup`: keeps one document per cluster.

mod against;
mod assumptions;
mod lists;
mod report;
mod summary;

use crate::args::{EngineArgs, InputArgs, MatchArgs, MemoryArgs, TemplateArgs, fraction};
use crate::choice::{Choice, choice, one_of};
use crate::exit::{Exit, Failure};
use crate::output::escape::escaped;
use crate::output::file::{Output, same_place};
use crate::output::messages::{counted, grouped, say};
use crate::run_args::{NOTHING_WRITTEN, RunArgs, stop_if_unreadable};
use crate::run_log::{Log, finish};
use against::Against;
use assumptions::Assumptions;
use sameish_batch::input::{
    FieldScope, FileFormat, FileStates, InputResult, ReadOptions, RequiredField, check_inputs, spool_pipes,
};
use sameish_batch::output::{OutputCompression, check_suffix};
use sameish_batch::{
    BYTES_PER_DOCUMENT, Files, IndexedCorpus, Keep, Monitor, Options, Rank, RecordWriter, RunLog, Selection,
    SignedCorpus, Source, StarClusters, StepDirectory, Target, Task, check_dedup, index, open_texts, run_key,
    sign,
};
use std::cell::RefCell;
use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::str::FromStr;
use summary::{StepTimes, Summary};
use tempfile::TempPath;

/// Keep one document of each cluster of near-duplicates
///
/// Reads JSONL, Parquet, CSV, TSV and plain text, each plain, .gz or .zst, and copies the kept records byte for byte in input
/// order. A document is removed only if its text was compared with the text of a kept document and their similarity is at
/// least `--threshold`. Presets that compare only fingerprints remove it if the fingerprints are within `--radius` bits.
#[derive(Debug, clap::Args)]
#[command(after_help = AFTER_HELP)]
pub(crate) struct Args {
    #[command(flatten)]
    input: InputArgs,
    #[command(flatten)]
    engine: EngineArgs,
    #[command(flatten)]
    matching: MatchArgs,
    #[command(flatten)]
    templates: TemplateArgs,
    #[command(flatten)]
    selection: SelectionArgs,
    #[command(flatten)]
    work: WorkArgs,
    #[command(flatten)]
    run: RunArgs,
}

/// Selects the documents to keep.
#[derive(Debug, clap::Args)]
#[command(next_help_heading = "Selection")]
struct SelectionArgs {
    /// Document of a cluster to keep: `first`, `longest`, `newest`, or `field:NAME` for the largest value of a field
    #[arg(long, value_name = "RULE", default_value = "first")]
    keep: KeepArg,
    /// Keep one document per source in each cluster
    #[arg(long)]
    per_source: bool,
    /// Also remove near-duplicates of the documents in these files or data directories, which are only read
    #[arg(long, value_name = "FILE", num_args = 1..)]
    against: Vec<OsString>,
    /// Write nothing if a larger fraction of the documents would be removed; `100%` allows any
    #[arg(long, value_name = "FRACTION", default_value = "90%", value_parser = max_removed)]
    max_removed: f64,
    /// Report what would be removed, and write no records
    #[arg(long)]
    dry_run: bool,
    /// Write clusters of more than one document to FILE as JSONL
    #[arg(long, value_name = "FILE")]
    clusters: Option<PathBuf>,
    /// Write an HTML report with plots, tables, the largest clusters and example pairs
    #[arg(long, value_name = "FILE.html")]
    report: Option<PathBuf>,
    /// Write the removed documents, and the kept document each of them matches, to FILE as JSONL
    #[arg(long, value_name = "FILE")]
    removed: Option<PathBuf>,
}

/// Memory, temporary files and compression.
#[derive(Debug, clap::Args)]
#[command(next_help_heading = "Memory and files")]
struct WorkArgs {
    #[command(flatten)]
    memory: MemoryArgs,
    /// Resume an interrupted run with the same inputs and settings; completed steps are saved in `--temp-dir`
    #[arg(long)]
    resume: bool,
    /// Compression of the output [default: from the suffix; in an output directory, that of each input]
    #[arg(long, value_parser = one_of(&COMPRESSIONS))]
    compress: Option<OutputCompression>,
}

const COMPRESSIONS: [Choice<OutputCompression>; 3] = [
    choice("none", "No compression", OutputCompression::None),
    choice("gz", "gzip", OutputCompression::Gz),
    choice("zst", "Zstandard", OutputCompression::Zst),
];

#[derive(Clone, Debug)]
struct KeepArg(Keep);

impl FromStr for KeepArg {
    type Err = String;

    fn from_str(text: &str) -> Result<KeepArg, String> {
        let keep = match text.split_once(':') {
            Some(("field", name)) if !name.is_empty() => Some(Keep::Field(name.to_owned())),
            _ => Keep::from_name(text),
        };
        keep.map(KeepArg).ok_or_else(|| "must be `first`, `longest`, `newest` or `field:NAME`".into())
    }
}

fn max_removed(text: &str) -> Result<f64, String> {
    fraction(text).map_err(|_| "must be 0% to 100%, or 0 to 1".into())
}

const AFTER_HELP: &str = "\
Examples:
  sameish dedup articles.jsonl -o kept.jsonl
  sameish dedup 'crawl/*.jsonl.zst' -o out/ --threshold 0.7 --recall 0.999
  sameish dedup new.parquet --against old.parquet -o fresh.parquet
  sameish dedup crawl.jsonl --against sameish-data -o fresh.jsonl
  sameish dedup pages.jsonl --dry-run --keep longest --clusters groups.jsonl
  sameish dedup wire.jsonl --preset wire --keep newest -o kept.jsonl
  zcat dump.jsonl.gz | sameish dedup - > kept.jsonl

The presets `wire` and `web` compare fingerprints only and report that nothing
was verified. All other presets verify every removal, unless `--unverified` is
given.

Memory grows by about 300 bytes per document, or 450 with `articles`, `wire` and
`web`, and by up to 2 kB more for each in a large group of similar ones. Texts
are not kept in memory: they are read a second time from their files. Inputs
that cannot be read twice are copied to `--temp-dir`.

Exit codes: 0 success, 2 usage error, 3 some records rejected, 4 unreadable
input, 5 limit reached (also `--max-removed`), 6 output failed, 1 internal
error. Files are written only after 0 and 3.

On a terminal, `sameish dedup FILE` without `-o` is a dry run.";

pub(crate) fn run(args: Args) -> anyhow::Result<Exit> {
    let run = Run::prepare(args)?;
    let steps = run.step_directory()?;
    let mut log = run.start_log()?;
    let mut times = StepTimes::new();
    run.print_estimate();
    let states = FileStates::of(run.against.iter().chain(&run.inputs));
    let signed = run.sign(steps.as_ref(), &mut log, &mut times)?;
    run.stop_if_incomplete(&log)?;
    run.warn_of_missing_field(&signed);
    let (corpus, clusters) = run.cluster(signed, steps.as_ref(), &mut log, &mut times)?;
    let selection = Selection::new(&corpus, &clusters, run.args.per_source);
    let result = DedupResult { corpus: &corpus, clusters: &clusters, selection: &selection };
    run.print_tables(&result)?;
    states.check_all()?;
    let refused = run.refuses(&selection);
    let open = run.write_records(&result, &states, refused, &mut log, &mut times)?;
    let publishes = log.completion.is_usable() && !refused;
    if publishes {
        run.write_lists(&result)?;
    } else {
        log.discard_rejects();
    }
    let (counts, exit) = finish(log)?;
    run.remove_steps(steps, refused)?;
    if !open {
        return Ok(Exit::Clean);
    }
    let summary = Summary::new(counts, &result, &run.options.analyzer, times);
    if publishes {
        run.write_report(&result, &summary)?;
    }
    run.print_summary(&summary)?;
    run.print_assumptions(&summary);
    Ok(run.report_refusal(&selection, refused, exit))
}

/// Clusters of a corpus, and the documents to keep.
struct DedupResult<'a> {
    corpus: &'a IndexedCorpus<'a>,
    clusters: &'a StarClusters,
    selection: &'a Selection,
}

/// A run whose arguments are checked.
struct Run {
    args: SelectionArgs,
    output: RunArgs,
    options: Options,
    read: ReadOptions,
    inputs: Vec<InputResult>,
    against: Vec<InputResult>,
    target: Target,
    resume: bool,
    /// Present if the run is a dry run only because the records would go to a terminal.
    assumptions: Option<Assumptions>,
    /// `true` if an input was a pipe.
    piped: bool,
    /// Copies of pipes and data directories, which are removed at the end.
    _temporary: Vec<TempPath>,
}

impl Run {
    /// Checks all arguments before any work is done.
    fn prepare(args: Args) -> Result<Run, Failure> {
        let Args { input, engine, matching, templates, selection: mut args, work, run: output } = args;
        let on_terminal =
            output.output.is_none() && !args.dry_run && std::io::IsTerminal::is_terminal(&std::io::stdout());
        args.dry_run |= on_terminal;
        let config = matching.config(&engine, |config| templates.set(config))?;
        let threads = output.threads.count();
        let mut options = work.memory.options(config, threads, matching.on_dup_id)?;
        options.keep = args.keep.0.clone();
        check_dedup(&options.analyzer)?;
        check_list_names(&args, &output)?;
        let inputs = input.find()?;
        let read = read_options(&input, &inputs, &args.keep.0, output.quiet)?;
        let Against { files, mut indexes } = against::copy_indexes(&args.against, &work, &read)?;
        let mut against: Vec<InputResult> = indexes.iter().map(|index| Ok(index.input.clone())).collect();
        against.extend(input.find_against(&files)?);
        let target = Target::new(output.output.as_deref(), work.compress);
        check_outputs(&args, &output, &target, &read, &inputs, &against)?;
        let temp_dir = work.memory.temp_dir.as_deref();
        let (inputs, mut pipes) = spool_pipes(inputs, temp_dir)?;
        let (against, more_pipes) = spool_pipes(against, temp_dir)?;
        pipes.extend(more_pipes);
        check_readable(&inputs, &against, &read, output.writes_file() && !args.dry_run)?;
        if !args.dry_run {
            target.check_inputs(&inputs, &read, output.force)?;
        }
        let assumptions =
            on_terminal.then(|| Assumptions::new(&engine, &options, &read, &inputs)).transpose()?;
        let piped = !pipes.is_empty();
        pipes.extend(indexes.drain(..).map(|index| index.file));
        let resume = work.resume;
        Ok(Run {
            args,
            output,
            options,
            read,
            inputs,
            against,
            target,
            resume,
            assumptions,
            piped,
            _temporary: pipes,
        })
    }

    fn files(&self) -> Files<'_> {
        Files { inputs: &self.inputs, against: &self.against, read: &self.read }
    }

    fn source(&self) -> Source<'_> {
        Source::Files(self.files())
    }

    /// Opens the directory in which completed steps are saved, if `--temp-dir` or `--resume` is given.
    fn step_directory(&self) -> Result<Option<StepDirectory>, Failure> {
        if self.piped && self.resume {
            return Err(Failure::usage(
                "a pipe can be read only once, so `--resume` cannot continue; save the input to a file first",
            ));
        }
        let parent = match &self.options.temp_dir {
            Some(directory) => directory.clone(),
            None if self.resume => std::env::temp_dir(),
            None => return Ok(None),
        };
        if self.piped {
            return Ok(None);
        }
        let RunArgs { rejects, on_bad, .. } = &self.output;
        let other = format!("{} {} {on_bad:?}", self.args.report.is_some(), rejects.is_some());
        let key = run_key(&self.options, &self.files(), &other);
        Ok(Some(StepDirectory::open(&parent, &key, self.resume)?))
    }

    fn start_log(&self) -> Result<Log, Failure> {
        let mut log = self.output.log(&self.inputs)?;
        log.monitor.expect(self.against.iter().chain(&self.inputs));
        Ok(log)
    }

    /// Prints how many documents and how much memory to expect, as far as file sizes tell.
    fn print_estimate(&self) {
        let paths = self.inputs.iter().flatten().filter_map(|input| input.path.as_deref());
        let bytes: u64 = paths.filter_map(|path| Some(path.metadata().ok()?.len())).sum();
        if !self.output.talks() || bytes < WORTH_AN_ESTIMATE {
            return;
        }
        let documents = bytes / BYTES_PER_ARTICLE;
        let memory = (64 << 20) + documents * BYTES_PER_DOCUMENT as u64;
        let limit = self.options.memory_limit;
        let limit = limit.map_or(String::new(), |limit| format!(" (limit {} MB)", limit / 1_000_000));
        say(format_args!(
            "estimate for {:.1} MB of input: about {} documents and {} MB of memory{limit}, assuming the length of news articles",
            bytes as f64 / 1e6,
            grouped(documents),
            grouped(memory / 1_000_000),
        ));
    }

    /// Signs all documents, or loads the signed corpus of an earlier run.
    fn sign(
        &self,
        steps: Option<&StepDirectory>,
        log: &mut Log,
        times: &mut StepTimes,
    ) -> Result<SignedCorpus, Failure> {
        let signed = sign(Task::Dedup, &self.source(), &self.options, steps, log)?;
        log.monitor.clear();
        if !signed.is_resumed {
            times.end("sign");
        }
        Ok(signed)
    }

    /// Stops if an input could not be read completely and the records would go to a file.
    fn stop_if_incomplete(&self, log: &Log) -> Result<(), Failure> {
        if log.completion.is_usable() || self.args.dry_run || !self.output.writes_file() {
            return Ok(());
        }
        Err(Failure::new(log.completion.into(), NOTHING_WRITTEN))
    }

    /// Warns if the field of `--keep` is missing in some or all documents, or the source of `--per-source` in all of them.
    fn warn_of_missing_field(&self, signed: &SignedCorpus) {
        if self.args.per_source && !self.output.quiet && !signed.is_empty() && !signed.has_sources() {
            say(format_args!(
                "warning: no document has a source, so `--per-source` has no effect; set the source field with `--source-field`"
            ));
        }
        let own = signed.ranks.get(signed.against as usize..).unwrap_or_default();
        let missing = own.iter().filter(|rank| **rank == Rank::Absent).count();
        let by_field = matches!(self.options.keep, Keep::Newest | Keep::Field(_));
        if self.output.quiet || missing == 0 || !by_field {
            return;
        }
        let field = escaped(self.read.fields.date.as_deref().unwrap_or_default());
        let documents = counted(own.len() as u64, "document");
        if missing == own.len() {
            say(format_args!(
                "warning: field `{field}` of `--keep` is missing in all of {documents}; the first of each cluster is kept"
            ));
        } else {
            let missing = grouped(missing as u64);
            say(format_args!(
                "note: field `{field}` of `--keep` is missing in {missing} of {documents}; these are kept only if no document of their cluster has it"
            ));
        }
    }

    /// Indexes and clusters the corpus, or loads the clusters of an earlier run.
    fn cluster(
        &self,
        signed: SignedCorpus,
        steps: Option<&StepDirectory>,
        log: &mut Log,
        times: &mut StepTimes,
    ) -> Result<(IndexedCorpus<'_>, StarClusters), Failure> {
        let source = self.source();
        if let Some(clusters) = steps.and_then(|steps| StarClusters::load(steps, log)) {
            return Ok((open_texts(signed, &source, &self.options)?, clusters));
        }
        let corpus = index(signed, &source, &self.options)?;
        times.end("pair");
        let clusters = match self.args.report {
            Some(_) => corpus.stars_with_histogram(log)?,
            None => corpus.stars(log)?,
        };
        if let Some(steps) = steps {
            clusters.save(steps)?;
        }
        times.end("verify");
        log.monitor.clear();
        Ok((corpus, clusters))
    }

    fn print_tables(&self, result: &DedupResult<'_>) -> Result<(), Failure> {
        if self.output.talks() { result.print_tables(&self.options.analyzer) } else { Ok(()) }
    }

    /// Returns `true` if `--max-removed` forbids to write the outputs.
    fn refuses(&self, selection: &Selection) -> bool {
        removed_fraction(selection) > self.args.max_removed
    }

    /// Writes the kept records. Returns `false` if the reader of a pipe has closed it.
    fn write_records(
        &self,
        result: &DedupResult<'_>,
        states: &FileStates,
        refused: bool,
        log: &mut Log,
        times: &mut StepTimes,
    ) -> Result<bool, Failure> {
        if self.args.dry_run || refused {
            return Ok(true);
        }
        log.monitor.expect(&self.inputs);
        let log: &mut RunLog<dyn Monitor> = log;
        let writer = RecordWriter {
            inputs: &self.inputs,
            options: &self.read,
            starts: result.corpus.input_starts(),
            keep: &|record| result.selection.keeps(record),
            force: self.output.force,
            states,
            log: &RefCell::new(log),
        };
        let open = writer.write(&self.target)?;
        times.end("write");
        Ok(open)
    }

    /// Writes `--clusters` and `--removed`; after the records, so that a run that fails with them leaves no lists.
    fn write_lists(&self, result: &DedupResult<'_>) -> Result<(), Failure> {
        if let Some(path) = &self.args.clusters {
            lists::write(path, result.cluster_lines(), self.output.force, &self.inputs)?;
        }
        if let Some(path) = &self.args.removed {
            lists::write(path, result.removed_lines(), self.output.force, &self.inputs)?;
        }
        Ok(())
    }

    /// Removes the saved steps, unless the run was refused and may be repeated with another `--max-removed`.
    fn remove_steps(&self, steps: Option<StepDirectory>, refused: bool) -> Result<(), Failure> {
        match steps.filter(|_| !(refused && self.resume)) {
            Some(steps) => Ok(steps.remove()?),
            None => Ok(()),
        }
    }

    fn write_report(&self, result: &DedupResult<'_>, summary: &Summary) -> Result<(), Failure> {
        let Some(path) = &self.args.report else { return Ok(()) };
        let mut output = Output::create(Some(path), self.output.force, &self.inputs)?;
        let page = result.html_report(&self.options.analyzer, summary, self.inputs.len())?;
        output.write(page.as_bytes())?;
        Ok(output.finish()?)
    }

    fn print_summary(&self, summary: &Summary) -> anyhow::Result<()> {
        let path = self.output.output.as_deref();
        let data_on_stdout = !self.args.dry_run && path.is_none_or(|path| path == "-");
        self.output.answer(summary, data_on_stdout, || summary.in_words())
    }

    /// Prints what a dry run on a terminal assumed, and the command that writes the result.
    fn print_assumptions(&self, summary: &Summary) {
        if let (Some(assumptions), false) = (&self.assumptions, self.output.quiet) {
            say(format_args!("{}", assumptions.in_words(summary.text_fields())));
        }
    }

    fn report_refusal(&self, selection: &Selection, refused: bool, exit: Exit) -> Exit {
        if !refused {
            return exit;
        }
        say(format_args!(
            "error: {:.1} % of the documents would be removed, more than `--max-removed` ({:.0} %) allows; nothing was \
             written: if that is intended, raise `--max-removed`, up to `--max-removed 100%`",
            removed_fraction(selection) * 100.0,
            self.args.max_removed * 100.0
        ));
        exit.or_worse(Exit::Limit)
    }
}

/// Approximate length of the record of a news article in bytes.
const BYTES_PER_ARTICLE: u64 = 3_400;
/// Smaller inputs are done before an estimate is read.
const WORTH_AN_ESTIMATE: u64 = 16 << 20;

fn removed_fraction(selection: &Selection) -> f64 {
    selection.removed as f64 / selection.documents.max(1) as f64
}

/// Returns how inputs are read. The field of `--keep` is read in place of the date.
fn read_options(
    input: &InputArgs,
    inputs: &[InputResult],
    keep: &Keep,
    quiet: bool,
) -> Result<ReadOptions, Failure> {
    let mut read = input.reading(inputs, quiet);
    if let Keep::Field(name) = keep {
        let fields = &read.fields;
        let is_used = fields.text_name() == name
            || [&fields.id, &fields.title]
                .into_iter()
                .flatten()
                .chain(&fields.source)
                .any(|used| used == name);
        if is_used {
            return Err(Failure::usage(format!(
                "`--keep field:{name}`: `{name}` is already used as another field; choose a different one"
            )));
        }
        read.fields.date = Some(name.clone());
        let scope = if inputs.len() == 1 { FieldScope::EachInput } else { FieldScope::AnyInput };
        read.required.push(RequiredField { name: name.clone(), parameter: "--keep", scope });
    }
    Ok(read)
}

/// Fails if an input does not have a named field, if the existing corpus cannot be opened, or if an input cannot be opened and
/// the records would go to a file.
fn check_readable(
    inputs: &[InputResult],
    against: &[InputResult],
    read: &ReadOptions,
    writes_file: bool,
) -> Result<(), Failure> {
    let unreadable = check_inputs(inputs, read)?;
    if writes_file {
        stop_if_unreadable(&unreadable)?;
    }
    stop_if_unreadable(&check_inputs(against, &read.for_reference())?)
}

/// Refuses lists whose suffixes stand for other formats.
fn check_list_names(args: &SelectionArgs, run: &RunArgs) -> Result<(), Failure> {
    run.check_rejects()?;
    for (flag, path) in [("--clusters", &args.clusters), ("--removed", &args.removed)] {
        if let Some(path) = path {
            check_suffix(path, FileFormat::Jsonl, &format!("`{flag}` writes JSONL"))?;
        }
    }
    Ok(())
}

/// Checks the outputs before the run.
fn check_outputs(
    args: &SelectionArgs,
    run: &RunArgs,
    target: &Target,
    read: &ReadOptions,
    inputs: &[InputResult],
    against: &[InputResult],
) -> Result<(), Failure> {
    let output = run.output.as_deref().filter(|path| *path != "-" && !args.dry_run);
    let lists = [
        ("--clusters", args.clusters.as_deref()),
        ("--removed", args.removed.as_deref()),
        ("--report", args.report.as_deref()),
    ];
    let others = [("--rejects", run.rejects.as_deref()), ("--output", output)];
    let paths: Vec<(&str, &Path)> =
        lists.into_iter().chain(others).filter_map(|(flag, path)| Some((flag, path?))).collect();
    for (at, (flag, path)) in paths.iter().enumerate() {
        if let Some((other, _)) = paths[..at].iter().find(|(_, other)| same_place(other, path)) {
            return Err(Failure::usage(format!("`{other}` and `{flag}` are the same file; pass two files")));
        }
    }
    for (_, path) in lists.iter().filter(|(_, path)| path.is_some()) {
        Output::check(*path, run.force, inputs)?;
        Output::check(*path, run.force, against)?;
    }
    if args.dry_run {
        return Ok(());
    }
    Ok(target.check(inputs, against, read.whole_files, run.force)?)
}
