//! The steps of a call.

use super::results::{DocumentIds, FoundClusters, FoundPairs, Kept, MeasuredClusters};
use crate::error::{Error, Result};
use crate::input::{ByteCounter, FileStates, InputError, Remedy};
use crate::pairs::{ListedTemplates, PairCounts};
use crate::run_log::{Monitor, OnBad, Progress, RunLog};
use crate::signed::{IndexedCorpus, SignedCorpus};
use crate::spread::Spreads;
use crate::stars::ClusterCounts;
use crate::steps::{Options, Source, Task, index, sign};
use crate::table::{Keep, Rank};
use crate::write::{RecordWriter, Target};
use crate::{Pair, Selection, check_dedup};
use sameish::engine::Effort;
use std::cell::RefCell;
use std::ops::ControlFlow;
use std::path::PathBuf;

/// Number of pairs between two checks for cancellation.
const PAIRS_PER_CHECK: usize = 1024;
/// Target number of members whose clusters are measured at once.
const MEMBERS_AT_ONCE: usize = 1 << 16;

/// The caller of a function: receives the progress, and names parameters in its own words.
pub trait Caller {
    /// Receives the part of the work that is done, 0 to 1. `Break` cancels the run.
    fn progress(&mut self, share: f64) -> ControlFlow<()>;

    /// Returns the words for a remedy, with the names of parameters.
    fn remedy(&self, remedy: Remedy) -> &'static str;
}

/// A run over a corpus.
pub struct Run<'a, C> {
    source: Source<'a>,
    options: &'a Options,
    log: RunLog<CallMonitor<C>>,
}

/// Parameters of `dedup` alone.
#[derive(Clone, Debug)]
pub struct DedupParameters {
    /// Whether one document per source and cluster is kept.
    pub per_source: bool,
    /// Where the kept records of files are written.
    pub output: Option<OutputFile>,
    /// Maximum fraction of documents to remove if there is an output.
    pub max_removed: f64,
}

/// Where kept records are written.
#[derive(Clone, Debug)]
pub struct OutputFile {
    /// File or directory.
    pub path: PathBuf,
    /// Whether existing files are replaced.
    pub overwrite: bool,
}

impl<'a, C: Caller> Run<'a, C> {
    /// Prepares a run. `total` is the number of documents in memory, or the size of all files in bytes.
    pub fn new(
        source: Source<'a>,
        options: &'a Options,
        on_bad: OnBad,
        caller: C,
        total: usize,
    ) -> Run<'a, C> {
        let unit = match &source {
            Source::Documents(_) => Unit::Documents(total),
            Source::Files(files) => Unit::Bytes { counter: files.read.counter.clone(), total },
        };
        let monitor = CallMonitor { caller, unit, failed: None };
        Run { source, options, log: RunLog::new(monitor, on_bad, None) }
    }

    /// Finds all matching pairs that `templates` lists, at most `limit`.
    pub fn pairs(mut self, templates: ListedTemplates, limit: Option<usize>) -> Result<FoundPairs> {
        let limit = limit.unwrap_or(usize::MAX);
        let corpus = self.index(Task::Pairs)?;
        let mut pairs = Vec::new();
        let mut complete = true;
        let cancellation = &self.options.cancellation;
        let sink = |pair: Pair| {
            if !templates.lists(&pair.verdict) {
                return Ok(ControlFlow::Continue(()));
            }
            if pairs.len() == limit {
                complete = false;
                return Ok(ControlFlow::Break(()));
            }
            pairs.push(pair);
            if pairs.len() % PAIRS_PER_CHECK == 0 {
                cancellation.check()?;
            }
            Ok(ControlFlow::Continue(()))
        };
        let counts = corpus.pairs(sink, &mut self.log)?;
        let PairCounts { asked, candidates, caps_hit: capped, left: omitted, .. } = counts;
        let effort = Effort { asked, candidates, capped };
        let recall = counts.recall(&corpus.analyzer);
        let ids = DocumentIds::of(corpus.signed, &self.source);
        Ok(FoundPairs { pairs, complete, effort, omitted, recall, ids })
    }

    /// Clusters all documents with the linkage of the settings. Returns the clusters of at least `min_size` documents.
    pub fn clusters(mut self, min_size: usize) -> Result<FoundClusters> {
        let corpus = self.index(Task::Cluster)?;
        let clusters = corpus.clusters(&mut self.log)?;
        let mut spreads = Spreads::new(&corpus, &clusters);
        let mut measured = MeasuredClusters::new(spreads.distances);
        let mut from = 0;
        while from < clusters.len() {
            let mut to = from;
            let mut members = 0;
            while to < clusters.len() && members < MEMBERS_AT_ONCE {
                members += clusters.members(to).len();
                to += 1;
            }
            for (cluster, spread) in (from..to).zip(spreads.of(from..to)?) {
                let members = clusters.members(cluster);
                if members.len() >= min_size {
                    measured.push(members.iter().copied(), spread);
                }
            }
            from = to;
        }
        drop(spreads);
        let ClusterCounts { candidates, caps_hit: capped, left: omitted, .. } = clusters.counts;
        let recall = clusters.counts.recall(&corpus.analyzer);
        let effort = Effort { candidates, capped, ..Effort::default() };
        let ids = DocumentIds::of(corpus.signed, &self.source);
        Ok(FoundClusters { clusters: measured, effort, omitted, recall, ids })
    }

    /// Selects the documents to keep, and writes their records if there is an output.
    pub fn dedup(mut self, parameters: &DedupParameters) -> Result<Kept> {
        check_dedup(&self.options.analyzer)?;
        let DedupParameters { per_source, output, max_removed } = parameters;
        let target = output.as_ref().map(|output| Target::new(Some(&output.path), None));
        if let (Some(target), Some(output), Source::Files(files)) = (&target, output, &self.source) {
            target.check(files.inputs, files.against, false, output.overwrite)?;
            target.check_inputs(files.inputs, files.read, output.overwrite)?;
        }
        let states = match &self.source {
            Source::Files(files) => FileStates::of(files.against.iter().chain(files.inputs)),
            Source::Documents(_) => FileStates::default(),
        };
        let corpus = self.index(Task::Dedup)?;
        self.check_dates(&corpus.signed)?;
        if *per_source && !corpus.signed.is_empty() && !corpus.signed.has_sources() {
            return Err(Error::NoSources);
        }
        let stars = corpus.stars(&mut self.log)?;
        let selection = Selection::new(&corpus, &stars, *per_source);
        states.check_all()?;
        let fraction = selection.removed as f64 / selection.documents.max(1) as f64;
        let refused = (output.is_some() && fraction > *max_removed).then_some(fraction);
        if let (Some(target), Some(output), None) = (&target, output, refused) {
            self.write(&corpus, &selection, &states, target, output.overwrite)?;
        }
        Ok(Kept::new(&self.source, self.log.counts.clone(), corpus, &stars, &selection, refused))
    }

    /// Signs and indexes all documents.
    fn index(&mut self, task: Task) -> Result<IndexedCorpus<'a>> {
        let signed = sign(task, &self.source, self.options, None, &mut self.log);
        if let Some(error) = self.log.monitor.failed.take() {
            return Err(Error::Input(error));
        }
        index(signed?, &self.source, self.options)
    }

    /// Returns an error if dates decide and no record has the date field.
    fn check_dates(&self, signed: &SignedCorpus) -> Result<()> {
        let own = signed.ranks.get(signed.against as usize..).unwrap_or_default();
        let Source::Files(files) = self.source else { return Ok(()) };
        if self.options.keep != Keep::Newest || own.is_empty() || own.iter().any(|rank| *rank != Rank::Absent)
        {
            return Ok(());
        }
        Err(Error::NoDates { field: files.read.fields.date.clone().unwrap_or_default() })
    }

    fn write(
        &mut self,
        corpus: &IndexedCorpus<'_>,
        selection: &Selection,
        states: &FileStates,
        target: &Target,
        overwrite: bool,
    ) -> Result<()> {
        let Source::Files(files) = self.source else { return Ok(()) };
        let keep = |record| selection.keeps(record);
        let writer = RecordWriter {
            inputs: files.inputs,
            options: files.read,
            starts: corpus.input_starts(),
            keep: &keep,
            force: overwrite,
            states,
            log: &RefCell::new(&mut self.log),
        };
        writer.write(target).map(|_| ())
    }
}

/// What the first half of the progress counts.
enum Unit {
    /// This many documents in memory.
    Documents(usize),
    /// The bytes of files.
    Bytes { counter: ByteCounter, total: usize },
}

/// Reports the progress of a run to the caller, and remembers the first input that could not be read.
struct CallMonitor<C> {
    caller: C,
    unit: Unit,
    failed: Option<InputError>,
}

/// Share of the progress that reading takes.
const READING: f64 = 0.5;
/// Share of the progress that reading and comparing take.
const COMPARING: f64 = 0.95;

impl<C> CallMonitor<C> {
    fn share(&self, progress: Progress) -> f64 {
        let of = |done: f64, total: usize| (done / total.max(1) as f64).min(1.0);
        match (progress, &self.unit) {
            (Progress::Reading { documents, .. }, Unit::Documents(total)) => {
                READING * of(documents as f64, *total)
            }
            (Progress::Reading { .. }, Unit::Bytes { counter, total }) => {
                READING * of(counter.get() as f64, *total)
            }
            (Progress::Comparing { done, of: total }, _) => {
                READING + (COMPARING - READING) * of(done as f64, total)
            }
            (Progress::Writing, _) => COMPARING,
        }
    }
}

impl<C: Caller> Monitor for CallMonitor<C> {
    fn progress(&mut self, progress: Progress) -> ControlFlow<()> {
        let share = self.share(progress);
        let flow = self.caller.progress(share);
        if self.failed.is_some() { ControlFlow::Break(()) } else { flow }
    }

    fn input_failed(&mut self, error: &InputError) {
        self.failed.get_or_insert_with(|| error.clone());
    }

    fn remedy(&self, remedy: Remedy) -> &'static str {
        self.caller.remedy(remedy)
    }
}
