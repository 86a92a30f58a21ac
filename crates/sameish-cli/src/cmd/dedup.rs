//! `sameish dedup`: one document per cluster.

mod report;

use crate::args::{EngineArgs, InputArgs, MatchArgs, Size, TemplateArgs};
use crate::batch::fetch::Fetcher;
use crate::batch::group::{GroupCounts, Grouper, Grouping, leaders, order};
use crate::batch::sign::{Doc, HELD_BYTES, Ids, Keep, Names, Signed, Signing, State};
use crate::batch::temporary;
use crate::batch::write::{Target, Writing};
use crate::exit::{Exit, Failure};
use crate::input::Reading;
use crate::input::find::{Found, Source};
use crate::intake::{Counts, RunArgs};
use crate::load::OnDupId;
use crate::output::file::{Output, same_place};
use crate::output::messages::{counted, grouped, say};
use crate::output::packed::Packing;
use sameish::{Bands, Engine, Templates, WordFrequencies};
use serde::Serialize;
use std::collections::{BTreeMap, HashMap, HashSet};
use std::ffi::OsString;
use std::fmt::Write as _;
use std::fs::File;
use std::path::{Path, PathBuf};
use std::str::FromStr;
use std::sync::Arc;
use std::time::Instant;
use tempfile::TempPath;

/// Keep one document of each cluster of near copies
///
/// Reads JSONL, Parquet, CSV, TSV and plain text, each also packed as .gz or .zst, and writes the records that stay, byte for
/// byte as they came and in the order of the input. A document goes only if its text was compared with that of the one
/// that stays and is at least as similar as `--threshold` says.
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
    /// Drop what these files already have; they are read first and not written
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
    /// Most memory to use [default: no limit]
    #[arg(long, value_name = "SIZE")]
    max_memory: Option<Size>,
    /// Folder for temporary files [default: the system's]
    #[arg(long, value_name = "FOLDER")]
    temp_dir: Option<PathBuf>,
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
  sameish dedup pages.jsonl --dry-run --keep longest --clusters groups.jsonl
  zcat dump.jsonl.gz | sameish dedup - > kept.jsonl

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
    let (sources, against) = (input.find()?, input.find_also(&choice.against)?);
    check_outputs(&choice, &work, &run, reading.whole_files, &sources, &against)?;
    let (sources, _spools) = spooled(sources, &work)?;
    let (against, _more_spools) = spooled(against, &work)?;
    let mut intake = run.intake(&sources)?;
    if run.talks() {
        say_estimate(&sources, &work);
    }
    let mut stages = Stages::new();
    let signed = plan.signing().run(against, sources.clone(), reading.clone(), &mut intake)?;
    stages.end("sign");
    let deduped = plan.dedup(signed, &reading, choice.report.is_some(), &mut stages)?;
    let outcome = Outcome::new(&deduped, choice.per_source);
    if run.talks() {
        outcome.say_tables(&deduped)?;
    }
    let share = outcome.removed as f64 / (outcome.documents.max(1)) as f64;
    let refused = share > choice.max_removed.0 && !run.force;
    let mut closed = false;
    if choice.dry_run || !refused {
        outcome.write_lists(&deduped, &choice, &run, &sources)?;
    }
    if !choice.dry_run && !refused {
        let keep = |record: u64| outcome.keeps(record);
        let writing =
            Writing { sources: &sources, reading, starts: &deduped.starts, keep: &keep, force: run.force };
        closed = !writing.run(&Target::new(run.output.as_deref(), work.compress))?;
        stages.end("write");
    }
    let (counts, mut exit) = intake.finish()?;
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
             Look at the table above, then raise it or pass `--force`",
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
    let lists = [("--clusters", choice.clusters.as_deref()), ("--removed", choice.removed.as_deref())];
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
        let file = match &work.temp_dir {
            Some(folder) => builder.tempfile_in(folder),
            None => builder.tempfile(),
        };
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
    let limit =
        work.max_memory.map_or(String::new(), |limit| format!(", at most {} MB", limit.bytes() / 1_000_000));
    say(format_args!(
        "{:.1} MB of input; if texts are as long as news articles, about {} documents and {} MB of memory{limit}",
        bytes as f64 / 1e6,
        grouped(documents),
        grouped(memory / 1_000_000),
    ));
}

/// Smaller inputs are done before an estimate is read.
const WORTH_TELLING: u64 = 16 << 20;

/// Settings of a run that have been checked.
struct Plan {
    engine: Arc<Engine>,
    bands: Bands,
    keep: Keep,
    on_dup_id: OnDupId,
    keep_templates: bool,
    threads: usize,
    temp_dir: Option<PathBuf>,
    memory: Option<usize>,
}

impl Plan {
    fn new(
        engine: &Arc<Engine>,
        choice: &Choice,
        work: &Work,
        threads: usize,
        on_dup_id: OnDupId,
    ) -> Result<Plan, Failure> {
        let usage = |error: sameish::Error| Failure::usage(error.to_string());
        let config = engine.config();
        let bands = match (config.bands().map_err(usage)?, config.matching.verify, &config.simhash) {
            (Some(bands), true, None) => bands,
            _ => {
                return Err(Failure::usage(
                    "dedup needs settings that make MinHash signatures alone and verify, such as `--preset copies`",
                ));
            }
        };
        let memory = work.max_memory.map(Size::bytes);
        if memory.is_some_and(|memory| memory < LEAST_MEMORY) {
            return Err(Failure::usage(format!("`--max-memory` must be at least {}M", LEAST_MEMORY >> 20)));
        }
        Ok(Plan {
            engine: engine.clone(),
            bands,
            keep: choice.keep.0.clone(),
            on_dup_id,
            keep_templates: config.matching.templates == Templates::Keep,
            threads,
            temp_dir: work.temp_dir.clone(),
            memory,
        })
    }

    fn signing(&self) -> Signing {
        let share = |of: usize| self.memory.map_or(usize::MAX, |memory| memory / of);
        Signing {
            engine: self.engine.clone(),
            bands: self.bands,
            keep: self.keep.clone(),
            on_dup_id: self.on_dup_id,
            facts: self.keep_templates,
            threads: self.threads,
            temp_dir: self.temp_dir.clone(),
            tags_in_memory: share(8),
            max_held: share(2),
        }
    }

    fn dedup(
        &self,
        signed: Signed,
        reading: &Reading,
        histogram: bool,
        stages: &mut Stages,
    ) -> anyhow::Result<Deduped> {
        let Signed {
            docs,
            ids,
            sources,
            keys,
            tags,
            ranks,
            inputs,
            mut starts,
            spool,
            frequencies,
            against,
            own_starts,
        } = signed;
        let order = order(docs.len(), &ranks, against);
        let leader = leaders(&docs, &keys, &order);
        drop((keys, ranks));
        let takes = |doc: u32| leader[doc as usize] == doc && docs[doc as usize].state == State::Long;
        let room = self.memory.map_or(usize::MAX, |memory| memory / 8);
        let buckets = tags.buckets(takes, room)?;
        stages.end("pair");
        let fetcher = Fetcher::new(inputs, spool.finish()?, reading.rules)?;
        let grouper = Grouper {
            engine: &self.engine,
            docs: &docs,
            fetcher: &fetcher,
            frequencies: frequencies.as_ref(),
            keep_templates: self.keep_templates,
            against,
            histogram,
            window_bytes: self.memory.map_or(WINDOW_BYTES, |memory| (memory / 32).min(WINDOW_BYTES)),
        };
        let pool = rayon::ThreadPoolBuilder::new().num_threads(self.threads).build()?;
        let grouping = pool.install(|| grouper.run(&order, &leader, &buckets, |_| {}))?;
        stages.end("verify");
        let starts = starts.split_off(own_starts);
        Ok(Deduped { docs, ids, sources, order, grouping, against, starts, fetcher, frequencies })
    }
}

/// Below this nothing works.
const LEAST_MEMORY: usize = 64 << 20;
/// Text that is loaded at once.
const WINDOW_BYTES: usize = 16 << 20;

/// All documents and who belongs to whom.
struct Deduped {
    docs: Vec<Doc>,
    ids: Ids,
    sources: Names,
    order: Vec<u32>,
    grouping: Grouping,
    against: u32,
    starts: Vec<(Source, u64)>,
    fetcher: Fetcher,
    frequencies: Option<WordFrequencies>,
}

/// What stays and what goes.
struct Outcome {
    documents: u64,
    removed: u64,
    /// Numbers of the records that stay, ascending.
    kept: Vec<u64>,
    /// Documents by center, in order: where each cluster of more than one ends in `members`.
    clusters: Vec<Vec<u32>>,
    stays: Vec<bool>,
}

impl Outcome {
    fn new(deduped: &Deduped, per_source: bool) -> Outcome {
        let Deduped { docs, order, grouping, against, .. } = deduped;
        let mut place: HashMap<u32, usize> = HashMap::new();
        let mut clusters: Vec<Vec<u32>> = Vec::new();
        let mut stays = vec![false; docs.len()];
        for &doc in order {
            let center = grouping.center[doc as usize];
            if docs[doc as usize].state == State::Replaced {
                continue;
            }
            if center == doc {
                stays[doc as usize] = doc >= *against;
                continue;
            }
            let at = *place.entry(center).or_insert_with(|| {
                clusters.push(vec![center]);
                clusters.len() - 1
            });
            clusters[at].push(doc);
        }
        if per_source {
            for cluster in &clusters {
                let mut seen: HashSet<u32> = HashSet::new();
                for &doc in cluster {
                    let first = seen.insert(docs[doc as usize].source);
                    stays[doc as usize] |= first && doc >= *against;
                }
            }
        }
        let mut kept: Vec<u64> =
            docs.iter().zip(&stays).filter(|(_, stays)| **stays).map(|(doc, _)| doc.record).collect();
        kept.sort_unstable();
        let documents = docs.len() as u64 - u64::from(*against);
        Outcome { documents, removed: documents - kept.len() as u64, kept, clusters, stays }
    }

    fn keeps(&self, record: u64) -> bool {
        self.kept.binary_search(&record).is_ok()
    }

    fn write_lists(
        &self,
        deduped: &Deduped,
        choice: &Choice,
        run: &RunArgs,
        sources: &[Found],
    ) -> Result<(), Failure> {
        if let Some(path) = &choice.clusters {
            let lines = (1..)
                .zip(&self.clusters)
                .map(|(number, cluster)| self.cluster_line(deduped, number, cluster));
            write_lines(path, lines, run.force, sources)?;
        }
        if let Some(path) = &choice.removed {
            let gone = (deduped.against..deduped.docs.len() as u32).filter(|&doc| {
                !self.stays[doc as usize] && deduped.docs[doc as usize].state != State::Replaced
            });
            let lines = gone.map(|doc| {
                let center = deduped.grouping.center[doc as usize];
                let similarity = rounded(deduped.grouping.similarity[doc as usize]);
                let (id, kept) = (deduped.ids.get(doc), deduped.ids.get(center));
                format!("{{\"id\":{id},\"kept\":{kept},\"similarity\":{similarity}}}\n")
            });
            write_lines(path, lines, run.force, sources)?;
        }
        Ok(())
    }

    fn cluster_line(&self, deduped: &Deduped, number: usize, cluster: &[u32]) -> String {
        let members: Vec<&str> = cluster.iter().map(|&doc| deduped.ids.get(doc)).collect();
        let similarity = |doc: &u32| f64::from(deduped.grouping.similarity[*doc as usize]);
        let mean = cluster[1..].iter().map(similarity).sum::<f64>() / (cluster.len() - 1) as f64;
        format!(
            "{{\"id\":\"cluster-{number}\",\"center\":{},\"members\":[{}],\"mean_similarity\":{}}}\n",
            members[0],
            members.join(","),
            rounded(mean as f32)
        )
    }
}

fn rounded(similarity: f32) -> f64 {
    (f64::from(similarity) * 1e6).round() / 1e6
}

fn write_lines(
    path: &Path,
    lines: impl Iterator<Item = String>,
    force: bool,
    sources: &[Found],
) -> Result<(), Failure> {
    let mut output = Output::create(Some(path), force, sources)?;
    let mut piece = String::new();
    for line in lines {
        piece += &line;
        if piece.len() > 1 << 16 {
            output.write(piece.as_bytes())?;
            piece.clear();
        }
    }
    output.write(piece.as_bytes())?;
    output.finish()
}

/// Wall time of each stage.
struct Stages {
    begun: Instant,
    done: Vec<(&'static str, f64)>,
}

impl Stages {
    fn new() -> Stages {
        Stages { begun: Instant::now(), done: Vec::new() }
    }

    fn end(&mut self, name: &'static str) {
        self.done.push((name, (self.begun.elapsed().as_secs_f64() * 1000.0).round() / 1000.0));
        self.begun = Instant::now();
    }
}

/// What a run comes to.
#[derive(Serialize)]
struct Summary {
    documents: u64,
    kept: u64,
    removed: u64,
    /// Of more than one document.
    clusters: u64,
    largest_cluster: u64,
    too_short: u64,
    rejected: u64,
    repeated: u64,
    replaced: u64,
    failed_inputs: u64,
    /// Pairs that were compared.
    candidates: u64,
    /// Of those at or above the threshold.
    verified: u64,
    /// Of those of one form with other facts, which stayed.
    templates: u64,
    chains_cut: u64,
    caps_hit: u64,
    expected_recall: Option<f64>,
    bytes: u64,
    seconds: f64,
    stages: BTreeMap<&'static str, f64>,
    peak_memory: Option<u64>,
}

impl Summary {
    fn new(counts: Counts, outcome: &Outcome, deduped: &Deduped, engine: &Engine, stages: Stages) -> Summary {
        let GroupCounts { candidates, verified, caps_hit, chains_cut, templates } = deduped.grouping.counts;
        Summary {
            documents: counts.documents,
            kept: outcome.kept.len() as u64,
            removed: outcome.removed,
            clusters: outcome.clusters.len() as u64,
            largest_cluster: outcome
                .clusters
                .iter()
                .map(|cluster| cluster.len() as u64)
                .max()
                .unwrap_or(u64::from(outcome.documents > 0)),
            too_short: counts.too_short,
            rejected: counts.rejected,
            repeated: counts.repeated,
            replaced: counts.replaced,
            failed_inputs: counts.failed_inputs,
            candidates,
            verified,
            templates,
            chains_cut,
            caps_hit,
            expected_recall: engine.expected_recall(),
            bytes: counts.bytes,
            seconds: counts.seconds,
            stages: stages.done.into_iter().collect(),
            peak_memory: peak_memory(),
        }
    }

    /// For the page.
    fn figures(&self) -> Vec<(String, String)> {
        report::figures(&[
            ("documents", self.documents),
            ("kept", self.kept),
            ("removed", self.removed),
            ("clusters", self.clusters),
            ("largest cluster", self.largest_cluster),
            ("too short", self.too_short),
            ("rejected", self.rejected),
        ])
    }

    fn notes(&self) -> Vec<String> {
        let mut notes = Vec::new();
        let mut add = |count: u64, what: &str| {
            if count > 0 {
                notes.push(format!("{} {what}", grouped(count)));
            }
        };
        add(
            self.templates,
            "pairs have the same form and other facts, and stayed; `--templates merge` takes them for copies.",
        );
        add(
            self.chains_cut,
            "matches between clusters were cut, so that every document matches the one that stands for it.",
        );
        add(self.caps_hit, "limits were hit: some matches may be missing.");
        notes
    }

    fn in_words(&self) -> String {
        let share = 100.0 * self.removed as f64 / self.documents.max(1) as f64;
        let mut words = format!(
            "{}: {} kept, {} removed ({share:.1} %) in {}, the largest of {}",
            counted(self.documents, "document"),
            grouped(self.kept),
            grouped(self.removed),
            counted(self.clusters, "cluster"),
            grouped(self.largest_cluster)
        );
        let mut add = |count: u64, what: &str| {
            if count > 0 {
                _ = write!(words, ", {} {what}", grouped(count));
            }
        };
        add(self.templates, "pairs of one form with other facts kept");
        add(self.chains_cut, "matches between clusters cut");
        add(self.too_short, "too short");
        add(self.repeated, "there before");
        add(self.rejected, "rejected");
        add(self.caps_hit, "limits hit so that some may be missing");
        if let Some(recall) = self.expected_recall {
            _ = write!(words, "; {:.1} % of pairs at the threshold expected to be found", 100.0 * recall);
        }
        _ = write!(words, "; {:.1} MB in {:.2} s", self.bytes as f64 / 1e6, self.seconds);
        words
    }
}

/// Most bytes that were resident, where the system tells.
fn peak_memory() -> Option<u64> {
    let status = std::fs::read_to_string("/proc/self/status").ok()?;
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:"))?;
    Some(line.trim().strip_suffix("kB")?.trim().parse::<u64>().ok()? * 1024)
}
