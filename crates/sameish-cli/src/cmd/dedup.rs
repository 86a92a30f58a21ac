//! `sameish dedup`: one document per cluster.

mod against;
mod outcome;
mod plan;
mod report;
mod resume;
mod summary;

use crate::args::{EngineArgs, InputArgs, MatchArgs, MemoryArgs, TemplateArgs};
use crate::batch::held::{Keep, Rank};
use crate::batch::saved::AllInputs;
use crate::batch::sign::{HELD_BYTES, Signed};
use crate::batch::temporary;
use crate::batch::write::{Target, Writing};
use crate::exit::{Exit, Failure};
use crate::input::find::{Found, Source};
use crate::input::stamp::Stamps;
use crate::intake::RunArgs;
use crate::output::escape::escaped;
use crate::output::file::{Output, same_place};
use crate::output::leftovers;
use crate::output::messages::{counted, grouped, say};
use crate::output::packed::Packing;
use against::Against;
use outcome::Outcome;
use plan::Plan;
use resume::Key;
use std::cell::RefCell;
use std::ffi::OsString;
use std::fs::File;
use std::path::{Path, PathBuf};
use std::str::FromStr;
use std::sync::Arc;
use summary::{Stages, Summary};
use tempfile::TempPath;

/// Keep one document of each cluster of near copies
///
/// Reads JSONL, Parquet, CSV, TSV and plain text, each also packed as .gz or .zst, and writes the records that stay, byte for
/// byte as they came and in the order of the input. A document goes only if its text was compared with that of the one
/// that stays and is at least as similar as `--threshold` says; under presets that judge by fingerprints, if these are
/// within `--radius` bits.
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
    choice: Choice,
    #[command(flatten)]
    work: Work,
    #[command(flatten)]
    run: RunArgs,
}

/// What stays.
#[derive(Debug, clap::Args)]
#[command(next_help_heading = "What stays")]
struct Choice {
    /// Which document of a cluster stays: `first`, `longest`, `newest`, or `field:NAME` for the largest value of a field
    #[arg(long, value_name = "RULE", default_value = "first")]
    keep: KeepArg,
    /// Keep one document of each source in a cluster
    #[arg(long)]
    per_source: bool,
    /// Drop what these files or index folders already have; they are read first and not written
    #[arg(long, value_name = "FILE", num_args = 1..)]
    against: Vec<OsString>,
    /// Refuse to write when a larger share of the documents would go, unless forced
    #[arg(long, value_name = "SHARE", default_value = "90%")]
    max_removed: Share,
    /// Say what would go, and write nothing
    #[arg(long)]
    dry_run: bool,
    /// Write the clusters of more than one document to this file, as JSONL
    #[arg(long, value_name = "FILE")]
    clusters: Option<PathBuf>,
    /// Write a page for people: plots, tables, the largest clusters, and example pairs with their passages marked
    #[arg(long, value_name = "FILE.html")]
    report: Option<PathBuf>,
    /// Write what was removed, and for which document, to this file, as JSONL
    #[arg(long, value_name = "FILE")]
    removed: Option<PathBuf>,
}

/// How the work is done.
#[derive(Debug, clap::Args)]
#[command(next_help_heading = "Memory and files")]
struct Work {
    #[command(flatten)]
    memory: MemoryArgs,
    /// Go on from the last finished stage of a run that was cut off, with the same inputs and settings. Stages are kept in
    /// `--temp-dir` until the run is over
    #[arg(long)]
    resume: bool,
    /// How the output is packed [default: as its name says, in a folder as the input]
    #[arg(long, value_enum)]
    compress: Option<Packing>,
}

#[derive(Clone, Debug)]
struct KeepArg(Keep);

impl FromStr for KeepArg {
    type Err = String;

    fn from_str(text: &str) -> Result<KeepArg, String> {
        Ok(KeepArg(match text.split_once(':') {
            None if text == "first" => Keep::First,
            None if text == "longest" => Keep::Longest,
            None if text == "newest" => Keep::Newest,
            Some(("field", name)) if !name.is_empty() => Keep::Field(name.to_owned()),
            _ => return Err("must be `first`, `longest`, `newest` or `field:NAME`".into()),
        }))
    }
}

/// A share, as `60%` or `0.6`.
#[derive(Clone, Copy, Debug)]
struct Share(f64);

impl FromStr for Share {
    type Err = String;

    fn from_str(text: &str) -> Result<Share, String> {
        let (number, of) = text.strip_suffix('%').map_or((text, 1.0), |number| (number, 100.0));
        match number.trim().parse::<f64>().map(|number| number / of) {
            Ok(share) if (0.0..=1.0).contains(&share) => Ok(Share(share)),
            _ => Err("must be 0% to 100%, or 0 to 1".into()),
        }
    }
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

The presets `wire` and `web` judge by fingerprints alone, and say that nothing
was verified.

Memory grows by about 300 bytes a document, whatever its length: texts are
read once more where they lie. What can not be read twice goes to `--temp-dir`.

Exit codes: 0 clean, 2 wrong usage, 3 some records rejected, 4 an input
unreadable, 5 a limit hit (also `--max-removed`), 6 output failed, 1 our fault.";

pub(crate) fn run(args: Args) -> anyhow::Result<Exit> {
    let Args { input, engine, matching, templates, choice, work, run } = args;
    if run.output.is_none() && !choice.dry_run && std::io::IsTerminal::is_terminal(&std::io::stdout()) {
        return Err(Failure::usage("pass `-o OUT` for what stays, or `--dry-run`").into());
    }
    let engine = Arc::new(matching.engine(&engine, |config| templates.set(config))?);
    let plan = Plan::new(&engine, &choice, &work, run.threads.count(), matching.on_dup_id)?;
    let mut reading = input.reading(run.quiet);
    reading.rules.lossy |= engine.config().text.lossy;
    if let Keep::Field(name) = &choice.keep.0 {
        let fields = &reading.fields;
        if [&fields.id, &fields.text, &fields.title].contains(&name) || fields.source.contains(name) {
            return Err(Failure::usage(format!(
                "`--keep field:{name}`: `{name}` has another role; name another"
            ))
            .into());
        }
        // The field takes the date's place on its way through the reader.
        reading.fields.date = name.clone();
    }
    work.memory.check()?;
    let Against { files, indexes } = against::folders(&choice.against, &work, &reading)?;
    let sources = input.find()?;
    let (indexed, _index_files): (Vec<Source>, Vec<TempPath>) = indexes.into_iter().unzip();
    let against = indexed.into_iter().map(Ok).chain(input.find_also(&files)?).collect::<Vec<Found>>();
    check_outputs(&choice, &work, &run, reading.whole_files, &sources, &against)?;
    let (sources, spools) = spooled(sources, &work)?;
    let (against, more_spools) = spooled(against, &work)?;
    if !choice.dry_run {
        let target = Target::new(run.output.as_deref(), work.compress);
        target.check_inputs(&sources, &reading, run.force)?;
    }
    let piped = !(spools.is_empty() && more_spools.is_empty());
    let on_dup_id = matching.on_dup_id;
    let key = Key {
        engine: &engine,
        choice: &choice,
        run: &run,
        on_dup_id,
        reading: &reading,
        against: &against,
        sources: &sources,
    };
    let folder = resume::stage_folder(&work, piped, &key)?;
    let mut intake = run.intake(&sources)?;
    intake.messages.expect(against.iter().chain(&sources));
    if run.talks() {
        say_estimate(&sources, &work);
    }
    let mut stages = Stages::new();
    let stamps = Stamps::of(against.iter().chain(&sources));
    let inputs = AllInputs { against: &against, own: &sources };
    let (signed, order) = plan.sign(&inputs, &reading, folder.as_ref(), &mut stages, &mut intake)?;
    intake.messages.clear();
    warn_of_absent(&choice.keep.0, &signed, &reading.fields.date, run.quiet);
    let (signed, histogram) = ((signed, order), choice.report.is_some());
    let deduped =
        plan.dedup(signed, &reading, histogram, folder.as_ref(), &mut stages, &mut intake.messages)?;
    intake.messages.clear();
    let outcome = Outcome::new(&deduped, choice.per_source);
    if run.talks() {
        outcome.say_tables(&deduped)?;
    }
    let share = outcome.removed as f64 / (outcome.documents.max(1)) as f64;
    let refused = share > choice.max_removed.0 && !run.force;
    let mut closed = false;
    stamps.check_all()?;
    if !choice.dry_run && !refused {
        intake.messages.expect(&sources);
        let keep = |record: u64| outcome.keeps(record);
        let messages = RefCell::new(&mut intake.messages);
        let progress = || messages.borrow_mut().copying("writing");
        let writing = Writing {
            sources: &sources,
            reading,
            starts: &deduped.starts,
            keep: &keep,
            force: run.force,
            stamps: &stamps,
            progress: &progress,
        };
        closed = !writing.run(&Target::new(run.output.as_deref(), work.compress))?;
        stages.end("write");
    }
    // After the records, so that a run that fails with them leaves no list of what it did.
    if choice.dry_run || !refused {
        outcome.write_lists(&deduped, &choice, &run, &sources)?;
    }
    let (counts, mut exit) = intake.finish()?;
    // A run that was refused may be asked again with `--force`.
    if let Some(folder) = folder.filter(|_| !(refused && work.resume)) {
        folder.remove()?;
    }
    if closed {
        return Ok(Exit::Clean);
    }
    let summary = Summary::new(counts, &outcome, &deduped, &engine, stages);
    if let Some(path) = &choice.report {
        outcome.write_report(path, &deduped, &engine, &summary, &run, &sources)?;
    }
    let data_on_stdout = !choice.dry_run && run.output.as_deref().is_none_or(|path| path == "-");
    run.answer(&summary, data_on_stdout, || summary.in_words())?;
    if refused {
        exit = exit.or_worse(Exit::Limit);
        say(format_args!(
            "error: {:.1} % of the documents would go, more than `--max-removed` {:.0} % allows; nothing was written. \
             `--dry-run` shows what would go; raise it or pass `--force`",
            share * 100.0,
            choice.max_removed.0 * 100.0
        ));
    }
    Ok(exit)
}

/// What is wrong with the outputs is said before the work, not after it.
fn check_outputs(
    choice: &Choice,
    work: &Work,
    run: &RunArgs,
    whole_files: bool,
    sources: &[Found],
    against: &[Found],
) -> Result<(), Failure> {
    let output = run.output.as_deref().filter(|path| *path != "-" && !choice.dry_run);
    let lists = [
        ("--clusters", choice.clusters.as_deref()),
        ("--removed", choice.removed.as_deref()),
        ("--report", choice.report.as_deref()),
    ];
    let rest = [("--rejects", run.rejects.as_deref()), ("--output", output)];
    let named: Vec<(&str, &Path)> =
        lists.into_iter().chain(rest).filter_map(|(flag, path)| Some((flag, path?))).collect();
    for (at, (flag, path)) in named.iter().enumerate() {
        if let Some((other, _)) = named[..at].iter().find(|(_, other)| same_place(other, path)) {
            return Err(Failure::usage(format!("`{other}` and `{flag}` name one file; name two")));
        }
    }
    for (_, path) in lists.iter().filter(|(_, path)| path.is_some()) {
        Output::check(*path, run.force, sources)?;
        Output::check(*path, run.force, against)?;
    }
    if choice.dry_run {
        return Ok(());
    }
    Target::new(run.output.as_deref(), work.compress).check(sources, against, whole_files, run.force)
}

/// Copies what can be read once to a file, because it is read twice: standard input, and other pipes. The files go with
/// what is given beside the sources.
fn spooled(sources: Vec<Found>, work: &Work) -> Result<(Vec<Found>, Vec<TempPath>), Failure> {
    let failed = |error: std::io::Error| temporary(&error);
    let mut paths = Vec::new();
    let mut sources = sources;
    for source in sources.iter_mut().flatten() {
        if source.path.as_deref().is_some_and(|path| !is_pipe(path)) {
            continue;
        }
        // The end of the name tells the format.
        let name = source.path.as_deref().and_then(Path::file_name).unwrap_or_default().to_owned();
        let mut builder = tempfile::Builder::new();
        builder.prefix("sameish-stdin-").suffix(&name);
        let file = leftovers::make(|| match &work.memory.temp_dir {
            Some(folder) => builder.tempfile_in(folder),
            None => builder.tempfile(),
        });
        let mut file = file.map_err(failed)?;
        let mut pipe: Box<dyn std::io::Read> = match source.path.as_deref().map(File::open) {
            None => Box::new(std::io::stdin().lock()),
            Some(Ok(pipe)) => Box::new(pipe),
            // What can not be opened is told where inputs are read.
            Some(Err(_)) => continue,
        };
        std::io::copy(&mut pipe, &mut file).map_err(failed)?;
        let path = file.into_temp_path();
        source.path = Some(path.to_path_buf());
        paths.push(path);
    }
    Ok((sources, paths))
}

/// A rule that looks at a field which no record has is most likely a slip.
fn warn_of_absent(keep: &Keep, signed: &Signed, field: &str, quiet: bool) {
    let own = signed.ranks.get(signed.against as usize..).unwrap_or_default();
    let absent = own.iter().filter(|rank| **rank == Rank::Absent).count();
    if quiet || absent == 0 || !matches!(keep, Keep::Newest | Keep::Field(_)) {
        return;
    }
    let field = escaped(field);
    match absent == own.len() {
        true => say(format_args!(
            "warning: field `{field}`, which `--keep` looks at, is in none of {}; the first of each cluster stays",
            counted(own.len() as u64, "document")
        )),
        false => say(format_args!(
            "note: field `{field}`, which `--keep` looks at, is absent from {} of {}; they come last",
            grouped(absent as u64),
            counted(own.len() as u64, "document")
        )),
    }
}

#[cfg(unix)]
fn is_pipe(path: &Path) -> bool {
    use std::os::unix::fs::FileTypeExt;
    path.metadata().is_ok_and(|meta| meta.file_type().is_fifo())
}

#[cfg(not(unix))]
fn is_pipe(_: &Path) -> bool {
    false
}

/// How large the work will be, as far as file sizes tell.
fn say_estimate(sources: &[Found], work: &Work) {
    let paths = sources.iter().flatten().filter_map(|source| source.path.as_deref());
    let bytes: u64 = paths.filter_map(|path| Some(path.metadata().ok()?.len())).sum();
    if bytes < WORTH_TELLING {
        return;
    }
    // News articles have about 3.5 kB.
    let documents = bytes / 3_400;
    let memory = (64 << 20) + documents * (HELD_BYTES as u64 + 120);
    let limit = work
        .memory
        .max_memory
        .map_or(String::new(), |limit| format!(", at most {} MB", limit.bytes() / 1_000_000));
    say(format_args!(
        "{:.1} MB of input; if texts are as long as news articles, about {} documents and {} MB of memory{limit}",
        bytes as f64 / 1e6,
        grouped(documents),
        grouped(memory / 1_000_000),
    ));
}

/// Smaller inputs are done before an estimate is read.
const WORTH_TELLING: u64 = 16 << 20;
