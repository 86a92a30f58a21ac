//! Parameters of a run, and the steps **sign** and **pair**.

use crate::cancellation::Cancellation;
use crate::checkpoint::{AllInputs, load_signed, save_signed};
use crate::compare::needs_texts;
use crate::error::{Error, Result};
use crate::input::{InputResult, ReadOptions};
use crate::memory::MemoryLimit;
use crate::on_dup_id::OnDupId;
use crate::resume::{StepDirectory, TempFiles};
use crate::run_log::{Monitor, Resumed, RunLog};
use crate::sign::{KeyKind, Signer, sign_documents, sign_files};
use crate::signed::{BuildBuckets, IndexedCorpus, SignedCorpus, TextLocation};
use crate::table::{Keep, State};
use crate::texts::DocumentSource;
use sameish::Analyzer;
use sameish::config::Linkage;
use std::fmt::Write as _;
use std::fs;
use std::path::PathBuf;
use std::sync::Arc;

/// How a corpus is processed.
#[derive(Clone)]
pub struct Options {
    /// Validated configuration.
    pub analyzer: Analyzer,
    /// Number of worker threads; all cores by default.
    pub threads: usize,
    /// Memory limit in bytes, at least 64 MiB. No limit by default.
    pub memory_limit: Option<u64>,
    /// Directory for temporary files; by default that of the system.
    pub temp_dir: Option<PathBuf>,
    /// Which record is used if an id occurs again with a different text.
    pub on_dup_id: OnDupId,
    /// Which document of a cluster is kept; only for [`Task::Dedup`].
    pub keep: Keep,
    /// Cancels the run from another thread.
    pub cancellation: Cancellation,
}

impl Options {
    /// Returns the default options.
    pub fn new(analyzer: Analyzer) -> Options {
        Options {
            analyzer,
            threads: std::thread::available_parallelism().map_or(1, |cores| cores.get()),
            memory_limit: None,
            temp_dir: None,
            on_dup_id: OnDupId::Reject,
            keep: Keep::First,
            cancellation: Cancellation::default(),
        }
    }

    /// Checks the memory limit before the run.
    pub fn check(&self) -> Result<()> {
        self.memory().map(|_| ())
    }

    pub(crate) fn memory(&self) -> Result<MemoryLimit> {
        MemoryLimit::new(self.memory_limit)
    }
}

/// What a corpus is signed for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Task {
    /// [`IndexedCorpus::pairs`]: documents in the order of the input.
    Pairs,
    /// [`IndexedCorpus::clusters`]: documents in the order of the linkage, which for `greedy` is the newest first.
    Cluster,
    /// [`IndexedCorpus::stars`]: documents in the order of [`Options::keep`].
    Dedup,
}

impl Task {
    /// Returns `true` if the result depends on dates, so that a date that cannot be parsed is an error.
    pub fn reads_dates(self, options: &Options) -> bool {
        self.keep(options) == Keep::Newest
    }

    fn keep(self, options: &Options) -> Keep {
        // A date that cannot be parsed rejects its record, but only where the result depends on dates.
        let dated = options.analyzer.config().matching.linkage == Linkage::Greedy;
        match self {
            Task::Dedup => options.keep.clone(),
            Task::Cluster if dated => Keep::Newest,
            Task::Pairs | Task::Cluster => Keep::First,
        }
    }
}

/// Input files of a run.
#[derive(Clone, Copy)]
pub struct Files<'a> {
    /// The inputs, in order.
    pub inputs: &'a [InputResult],
    /// An existing corpus. Its documents are centers, come first and are not written.
    pub against: &'a [InputResult],
    /// How files are read.
    pub read: &'a ReadOptions,
}

/// Source of the documents of a run.
#[derive(Clone, Copy)]
pub enum Source<'a> {
    /// Files, which may be larger than memory.
    Files(Files<'a>),
    /// Documents in memory.
    Documents(&'a dyn DocumentSource),
}

/// Reads and signs all documents, or loads the result of an earlier run from `steps`. Saves the result to `steps`.
///
/// Only [`Task::Dedup`] over files can be resumed.
pub fn sign(
    task: Task,
    source: &Source<'_>,
    options: &Options,
    steps: Option<&StepDirectory>,
    log: &mut RunLog<dyn Monitor + '_>,
) -> Result<SignedCorpus> {
    let keys = if task == Task::Dedup { KeyKind::Verbatim } else { KeyKind::Normalized };
    let texts = task == Task::Dedup || needs_texts(&options.analyzer);
    let dates = task == Task::Pairs && options.analyzer.config().matching.verify;
    let signer = Arc::new(Signer::new(options, task.keep(options), keys, texts, dates)?);
    let temp_files = TempFiles::new(options.temp_dir.clone(), steps);
    let Files { inputs, against, read } = match source {
        Source::Files(files) => *files,
        Source::Documents(documents) => {
            let signed = sign_documents(signer, *documents, options.threads, &temp_files, log)?;
            check_verifiable(task, &signed, options)?;
            return Ok(finish(task, signed, log));
        }
    };
    let mut read = read.clone();
    read.rules.lossy |= options.analyzer.config().text.lossy;
    let all = AllInputs { against, own: inputs };
    if let Some(steps) = steps
        && let Some(signed) = load_signed(steps, &signer, &temp_files, &all, &read, log)?
    {
        log.monitor.resumed(Resumed::Signed(signed.len() as u64));
        return Ok(signed);
    }
    let signed =
        sign_files(signer, against.to_vec(), inputs.to_vec(), &read, options.threads, &temp_files, log)?;
    check_verifiable(task, &signed, options)?;
    let mut signed = finish(task, signed, log);
    if let Some(steps) = steps {
        save_signed(steps, &mut signed, &all, log)?;
    }
    Ok(signed)
}

/// Fails if documents without a text would be clustered although no match of theirs counts as a duplicate.
fn check_verifiable(task: Task, signed: &SignedCorpus, options: &Options) -> Result<()> {
    let matching = &options.analyzer.config().matching;
    let needs_verified = task != Task::Pairs && matching.verify && !matching.unverified;
    if needs_verified && signed.has_sketches() { Err(Error::UnverifiedSketches) } else { Ok(()) }
}

/// Sorts the documents, and corrects the count of documents.
fn finish(task: Task, mut signed: SignedCorpus, log: &mut RunLog<dyn Monitor + '_>) -> SignedCorpus {
    if task != Task::Dedup {
        let replaced = signed.rows.iter().filter(|row| row.state == State::Replaced).count();
        log.counts.documents -= replaced as u64;
    }
    if task == Task::Pairs {
        signed.ranks.clear();
    }
    signed.sort();
    signed
}

/// Builds the buckets of a signed corpus, and opens its texts.
pub fn index<'a>(signed: SignedCorpus, source: &Source<'a>, options: &Options) -> Result<IndexedCorpus<'a>> {
    IndexedCorpus::new(signed, text_location(source, options), BuildBuckets::Yes, options)
}

/// Opens the texts of a signed corpus whose clusters are already known.
pub fn open_texts<'a>(
    signed: SignedCorpus,
    source: &Source<'a>,
    options: &Options,
) -> Result<IndexedCorpus<'a>> {
    IndexedCorpus::new(signed, text_location(source, options), BuildBuckets::No, options)
}

fn text_location<'a>(source: &Source<'a>, options: &Options) -> TextLocation<'a> {
    match source {
        Source::Documents(documents) => TextLocation::Memory(*documents),
        Source::Files(files) => {
            let mut rules = files.read.rules;
            rules.lossy |= options.analyzer.config().text.lossy;
            TextLocation::Files(rules)
        }
    }
}

/// Describes everything that the results of the steps depend on, for [`StepDirectory::open`]. `other` describes what the caller
/// adds to it. Inputs are described by their paths, sizes and modification times.
pub fn run_key(options: &Options, files: &Files<'_>, other: &str) -> String {
    let ReadOptions { format, whole_files, fields, rules, max_expanded, .. } = files.read;
    let mut key = format!(
        "{}\n{:?} {:?} {format:?} {whole_files} {fields:?} {rules:?} {max_expanded:?} {other}\n",
        options.analyzer.config().to_toml(),
        options.keep,
        options.on_dup_id,
    );
    for (role, inputs) in [("against", files.against), ("own", files.inputs)] {
        for input in inputs {
            let path = input.as_ref().ok().and_then(|input| input.path.as_deref());
            let meta = path.and_then(|path| fs::metadata(path).ok());
            let state = meta.map(|meta| (meta.len(), meta.modified().ok()));
            let path = path.map(|path| fs::canonicalize(path).unwrap_or_else(|_| path.to_owned()));
            let _ = writeln!(key, "{role} {path:?} {state:?}");
        }
    }
    key
}
