//! Runs the steps of `sameish-batch` for `dedup`, `pairs` and `cluster`.
//!
//! Documents in memory are borrowed, so an interrupted call waits until the worker threads have noticed it. A run over files owns
//! its data, so an interrupted call returns at once.

use crate::documents::{Corpus, FileCorpus, MemoryCorpus};
use crate::error::{batch_error, engine_error, excerpt, remedy, setting_error};
use crate::interrupt::{Progress, Task, run_detached, run_scoped};
use crate::parallel::thread_count;
use crate::settings;
use pyo3::prelude::*;
use pyo3::types::PyDict;
use sameish::{Analyzer, Config};
use sameish_batch::input::{ByteCounter, InputError, Remedy, spool_pipes};
use sameish_batch::{
    DocumentSource, Error, Files, IndexedCorpus, Monitor, OnBad, Options, Progress as Stage, Result, RunLog,
    Source, index, sign,
};
use std::ops::ControlFlow;
use std::path::PathBuf;

/// Parameters that `dedup`, `pairs` and `cluster` share.
#[derive(FromPyObject)]
#[pyo3(from_item_all)]
pub(crate) struct RunArgs<'py> {
    preset: Option<String>,
    config: Option<Bound<'py, PyAny>>,
    settings: Bound<'py, PyDict>,
    on_bad: String,
    max_memory: Option<u64>,
    temp_dir: Option<PathBuf>,
    threads: Option<i64>,
    progress: Option<Bound<'py, PyAny>>,
}

impl RunArgs<'_> {
    /// Returns the configuration.
    pub(crate) fn config(&self) -> PyResult<Config> {
        settings::config(self.preset.as_deref(), self.config.as_ref(), Some(&self.settings))
    }

    /// Validates a configuration and the other parameters.
    pub(crate) fn options(&self, config: Config) -> PyResult<Options> {
        let mut options = Options::new(Analyzer::new(config).map_err(engine_error)?);
        options.threads = thread_count(self.threads)?;
        options.memory_limit = self.max_memory;
        options.temp_dir.clone_from(&self.temp_dir);
        options.check().map_err(batch_error)?;
        Ok(options)
    }

    fn on_bad(&self) -> PyResult<OnBad> {
        match self.on_bad.as_str() {
            "fail" => Ok(OnBad::Fail),
            "skip" => Ok(OnBad::Skip),
            other => {
                let other = excerpt(other);
                Err(setting_error(format!("`on_bad` is `{other}`: must be `fail` or `skip`")))
            }
        }
    }

    /// Calls `work` with a run over a corpus, on a thread without the GIL.
    pub(crate) fn run<T: Send + 'static>(
        &self,
        py: Python<'_>,
        corpus: &mut Corpus<'_>,
        options: Options,
        work: impl FnOnce(&mut Run<'_>) -> Result<T> + Send + 'static,
    ) -> PyResult<T> {
        match corpus {
            Corpus::Memory(corpus) => self.run_in_memory(py, corpus, options, work),
            Corpus::Files(corpus) => self.run_over_files(py, corpus, options, work),
        }
    }

    fn run_in_memory<T: Send + 'static>(
        &self,
        py: Python<'_>,
        corpus: &MemoryCorpus<'_>,
        options: Options,
        work: impl FnOnce(&mut Run<'_>) -> Result<T> + Send + 'static,
    ) -> PyResult<T> {
        let documents = corpus.documents()?;
        let total = documents.len() - documents.against();
        let progress = Progress::new(self.progress.as_ref(), total).inline_if(documents.is_small());
        let result = run_scoped(py, progress, |task| {
            let unit = Unit::Documents(documents.len());
            let log = RunLog::new(TaskMonitor::new(task, total, unit), OnBad::Fail, None);
            work(&mut Run {
                source: Source::Documents(&documents),
                options: &canceled_by(task, &options),
                log,
            })
        })?;
        documents.check()?;
        result.map_err(batch_error)
    }

    fn run_over_files<T: Send + 'static>(
        &self,
        py: Python<'_>,
        corpus: &mut FileCorpus,
        options: Options,
        work: impl FnOnce(&mut Run<'_>) -> Result<T> + Send + 'static,
    ) -> PyResult<T> {
        let total = corpus.total_bytes();
        let on_bad = self.on_bad()?;
        py.detach(|| corpus.check()).map_err(batch_error)?;
        if let Some(text) = corpus.chosen_fields() {
            let text = std::ffi::CString::new(text.replace('\0', ""))?;
            // Level 2 is the caller of `dedup`, `pairs` or `cluster`.
            PyErr::warn(py, &py.get_type::<pyo3::exceptions::PyUserWarning>(), &text, 2)?;
        }
        let inputs = std::mem::take(&mut corpus.inputs);
        let against = std::mem::take(&mut corpus.against);
        let read = corpus.read.clone();
        let progress = Progress::new(self.progress.as_ref(), total);
        let result = run_detached(py, progress, move |task| {
            let temp_dir = options.temp_dir.as_deref();
            let (inputs, _pipes) = spool_pipes(inputs, temp_dir)?;
            let (against, _more_pipes) = spool_pipes(against, temp_dir)?;
            let unit = Unit::Bytes { counter: read.counter.clone(), total };
            let log = RunLog::new(TaskMonitor::new(task, total, unit), on_bad, None);
            let source = Source::Files(Files { inputs: &inputs, against: &against, read: &read });
            work(&mut Run { source, options: &canceled_by(task, &options), log })
        })?;
        result.map_err(batch_error)
    }
}

/// Returns options that a task cancels.
fn canceled_by(task: &Task, options: &Options) -> Options {
    Options { cancellation: task.cancellation(), ..options.clone() }
}

/// A run over a corpus.
pub(crate) struct Run<'a> {
    pub(crate) source: Source<'a>,
    pub(crate) options: &'a Options,
    pub(crate) log: RunLog<TaskMonitor<'a>>,
}

impl<'a> Run<'a> {
    /// Signs and indexes all documents.
    pub(crate) fn index(&mut self, task: sameish_batch::Task) -> Result<IndexedCorpus<'a>> {
        let signed = sign(task, &self.source, self.options, None, &mut self.log);
        if let Some(error) = self.log.monitor.failed.take() {
            return Err(Error::Input(error));
        }
        index(signed?, &self.source, self.options)
    }
}

/// What the first half of the progress counts.
enum Unit {
    /// This many documents in memory.
    Documents(usize),
    /// The bytes of files.
    Bytes { counter: ByteCounter, total: usize },
}

/// Reports the progress of a run to the calling thread, and remembers the first input that could not be read.
pub(crate) struct TaskMonitor<'a> {
    task: &'a Task,
    /// Total of the progress callback.
    total: usize,
    unit: Unit,
    failed: Option<InputError>,
}

/// Share of the progress that reading takes.
const READING: f64 = 0.5;
/// Share of the progress that reading and comparing take.
const COMPARING: f64 = 0.95;

impl TaskMonitor<'_> {
    fn new(task: &Task, total: usize, unit: Unit) -> TaskMonitor<'_> {
        TaskMonitor { task, total, unit, failed: None }
    }

    fn share(&self, stage: Stage) -> f64 {
        let of = |done: f64, total: usize| (done / total.max(1) as f64).min(1.0);
        match (stage, &self.unit) {
            (Stage::Reading { documents, .. }, Unit::Documents(total)) => {
                READING * of(documents as f64, *total)
            }
            (Stage::Reading { .. }, Unit::Bytes { counter, total }) => {
                READING * of(counter.get() as f64, *total)
            }
            (Stage::Comparing { done, of: total }, _) => {
                READING + (COMPARING - READING) * of(done as f64, total)
            }
            (Stage::Writing, _) => COMPARING,
        }
    }
}

impl Monitor for TaskMonitor<'_> {
    fn progress(&mut self, stage: Stage) -> ControlFlow<()> {
        self.task.raise_done((self.share(stage) * self.total as f64) as usize);
        let goes_on = self.failed.is_none() && self.task.check().is_ok();
        if goes_on { ControlFlow::Continue(()) } else { ControlFlow::Break(()) }
    }

    fn input_failed(&mut self, error: &InputError) {
        self.failed.get_or_insert_with(|| error.clone());
    }

    fn remedy(&self, problem: Remedy) -> &'static str {
        remedy(problem)
    }
}
