//! Runs `dedup`, `pairs` and `cluster` on a thread without the GIL.
//!
//! Documents in memory are borrowed, so an interrupted call waits until the worker threads have noticed it. A run over files owns
//! its data, so an interrupted call returns at once, unless it writes: then it waits until its temporary files are removed.

use crate::documents::{DocumentTables, Documents};
use crate::error::{batch_error, engine_error, excerpt, remedy, setting_error};
use crate::interrupt::{Progress, Task, run_detached, run_scoped};
use crate::parallel::thread_count;
use crate::settings;
use pyo3::prelude::*;
use pyo3::types::PyDict;
use sameish::{Analyzer, Config};
use sameish_batch::functions::{self, Caller, FileCorpus};
use sameish_batch::input::{Remedy, spool_pipes};
use sameish_batch::{DocumentSource, Files, OnBad, Options, Result, Source};
use std::ops::ControlFlow;
use std::path::PathBuf;

/// A run over a corpus.
pub(crate) type Run<'a> = functions::Run<'a, TaskCaller<'a>>;

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

impl<'py> RunArgs<'py> {
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
        OnBad::from_name(&self.on_bad).ok_or_else(|| {
            setting_error(format!("`on_bad` is `{}`: must be `fail` or `skip`", excerpt(&self.on_bad)))
        })
    }

    /// Calls `work` with a run over a corpus, on a thread without the GIL.
    pub(crate) fn run<T: Send + 'static>(
        &self,
        py: Python<'_>,
        corpus: &mut Documents<'_>,
        options: Options,
        work: impl FnOnce(Run<'_>) -> Result<T> + Send + 'static,
    ) -> PyResult<T> {
        match corpus {
            Documents::Memory(corpus) => self.run_in_memory(py, corpus, options, work),
            Documents::Files(corpus) => {
                let (progress, work) = self.prepare_files(py, corpus, options, work)?;
                run_detached(py, progress, work)?.map_err(batch_error)
            }
        }
    }

    /// Like [`run`](Self::run), for work that writes files: an interrupted call returns when the work has stopped, so that no
    /// temporary file is left and nothing is written after the call.
    pub(crate) fn run_and_write<T: Send + 'static>(
        &self,
        py: Python<'_>,
        corpus: &mut Documents<'_>,
        options: Options,
        work: impl FnOnce(Run<'_>) -> Result<T> + Send + 'static,
    ) -> PyResult<T> {
        match corpus {
            Documents::Memory(corpus) => self.run_in_memory(py, corpus, options, work),
            Documents::Files(corpus) => {
                let (progress, work) = self.prepare_files(py, corpus, options, work)?;
                run_scoped(py, progress, work)?.map_err(batch_error)
            }
        }
    }

    fn run_in_memory<T: Send + 'static>(
        &self,
        py: Python<'_>,
        corpus: &DocumentTables<'_>,
        options: Options,
        work: impl FnOnce(Run<'_>) -> Result<T> + Send + 'static,
    ) -> PyResult<T> {
        let documents = corpus.documents()?;
        let total = documents.len() - documents.against();
        let progress = Progress::new(self.progress.as_ref(), total).inline_if(documents.is_small());
        let result = run_scoped(py, progress, |task| {
            let options = canceled_by(task, &options);
            let source = Source::Documents(&documents);
            work(Run::new(source, &options, OnBad::Fail, TaskCaller { task, total }, documents.len()))
        })?;
        documents.check()?;
        result.map_err(batch_error)
    }

    /// Opens all files, and returns the progress of a run over them and a closure that runs it.
    fn prepare_files<'a, T: Send + 'static, W: FnOnce(Run<'_>) -> Result<T> + Send + 'static>(
        &'a self,
        py: Python<'_>,
        corpus: &mut FileCorpus,
        options: Options,
        work: W,
    ) -> PyResult<(Progress<'a, 'py>, impl FnOnce(&Task) -> Result<T> + Send + 'static + use<T, W>)> {
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
        let run = move |task: &Task| {
            let temp_dir = options.temp_dir.as_deref();
            let (inputs, _pipes) = spool_pipes(inputs, temp_dir)?;
            let (against, _more_pipes) = spool_pipes(against, temp_dir)?;
            let source = Source::Files(Files { inputs: &inputs, against: &against, read: &read });
            let options = canceled_by(task, &options);
            work(Run::new(source, &options, on_bad, TaskCaller { task, total }, total))
        };
        Ok((Progress::new(self.progress.as_ref(), total), run))
    }
}

/// Returns options that a task cancels.
fn canceled_by(task: &Task, options: &Options) -> Options {
    Options { cancellation: task.cancellation(), ..options.clone() }
}

/// Reports the progress of a run to the calling thread.
pub(crate) struct TaskCaller<'a> {
    task: &'a Task,
    /// Total of the progress callback.
    total: usize,
}

impl Caller for TaskCaller<'_> {
    fn progress(&mut self, share: f64) -> ControlFlow<()> {
        self.task.raise_done((share * self.total as f64) as usize);
        if self.task.check().is_ok() { ControlFlow::Continue(()) } else { ControlFlow::Break(()) }
    }

    fn remedy(&self, problem: Remedy) -> &'static str {
        remedy(problem)
    }
}
