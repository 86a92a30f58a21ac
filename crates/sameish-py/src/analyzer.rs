//! An analyzer for texts in Python objects.

use crate::error::engine_error;
use crate::interrupt::{INLINE_BYTES, Progress, run_detached};
use crate::parallel::Parallel;
use crate::texts::{self, RawText, Texts};
use pyo3::prelude::*;
use sameish::{Analyzer, Config, Content, Prepared, Scratch, Sketches};
use std::ops::Deref;

/// An [`Analyzer`] that reads texts from Python objects and processes them with the GIL released.
#[derive(Clone)]
pub(crate) struct PyAnalyzer(Analyzer);

impl From<Analyzer> for PyAnalyzer {
    fn from(analyzer: Analyzer) -> PyAnalyzer {
        PyAnalyzer(analyzer)
    }
}

impl Deref for PyAnalyzer {
    type Target = Analyzer;

    fn deref(&self) -> &Analyzer {
        &self.0
    }
}

impl PyAnalyzer {
    /// Validates a configuration.
    pub(crate) fn new(config: Config) -> PyResult<PyAnalyzer> {
        Analyzer::new(config).map(PyAnalyzer).map_err(engine_error)
    }

    /// Restores an analyzer from the configuration in a pickle.
    pub(crate) fn from_toml(config: &str) -> PyResult<PyAnalyzer> {
        PyAnalyzer::new(Config::from_toml(config).map_err(engine_error)?)
    }

    /// Returns `true` if texts may contain invalid UTF-8.
    pub(crate) fn lossy(&self) -> bool {
        self.config().text.lossy
    }

    /// Reads a Python string or a list of tokens.
    pub(crate) fn content(&self, value: &Bound<'_, PyAny>, what: &str) -> PyResult<Content> {
        texts::content(value, what, self.lossy())
    }

    /// Sketches a Python string or a list of tokens.
    pub(crate) fn sketch_text(&self, text: &Bound<'_, PyAny>) -> PyResult<Sketches> {
        self.run(text, |analyzer, content| analyzer.sketch(content, &mut Scratch::default()))
    }

    /// Prepares a Python string or a list of tokens for an engine.
    pub(crate) fn prepare_text(&self, text: &Bound<'_, PyAny>) -> PyResult<Prepared> {
        self.run(text, |analyzer, content| analyzer.prepare(content, &mut Scratch::default()))
    }

    fn run<T: Send + 'static>(
        &self,
        text: &Bound<'_, PyAny>,
        work: impl FnOnce(&Analyzer, &Content) -> T + Send + 'static,
    ) -> PyResult<T> {
        let content = self.content(text, "text")?;
        let analyzer = self.0.clone();
        let progress = Progress::none().inline_if(texts::size(&content) <= INLINE_BYTES);
        run_detached(text.py(), progress, move |_| work(&analyzer, &content))
    }

    /// Sketches many texts in parallel. Returns one row of `columns` items per text. `write` fills a row; it receives
    /// `None` for a null.
    pub(crate) fn sketch_rows<T: Clone + Default + Send>(
        &self,
        texts: &Bound<'_, PyAny>,
        columns: usize,
        threads: Option<i64>,
        progress: Option<&Bound<'_, PyAny>>,
        write: impl Fn(Option<Sketches>, &mut [T]) + Sync,
    ) -> PyResult<Vec<T>> {
        let py = texts.py();
        let texts = Texts::read(texts, "texts", self.lossy())?;
        let texts = texts.raw("texts")?;
        let progress = Progress::new(progress, texts.len());
        let parallel = Parallel { lossy: self.lossy(), threads, progress };
        parallel.map_rows(py, &texts, columns, |text, row, scratch| {
            write(text.map(|text| self.0.sketch(text, scratch)), row);
        })
    }

    /// Prepares many texts for an engine, in parallel. A null is treated as an empty text.
    pub(crate) fn prepare_all(
        &self,
        py: Python<'_>,
        texts: &[RawText<'_>],
        threads: Option<i64>,
        progress: Progress<'_, '_>,
    ) -> PyResult<Vec<Prepared>> {
        let parallel = Parallel { lossy: self.lossy(), threads, progress };
        let rows = parallel.map_rows(py, texts, 1, |text, row, scratch| {
            row[0] = Some(self.0.prepare(text.unwrap_or_default(), scratch));
        })?;
        Ok(rows.into_iter().flatten().collect())
    }
}
