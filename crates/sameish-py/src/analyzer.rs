//! Sketching and comparing texts from Python, without a lock.

use crate::error::refused;
use crate::many::Many;
use crate::texts::{self, Raw};
use crate::work::{Progress, SHORT, apart};
use pyo3::prelude::*;
use sameish::{Analyzer, Config, Content, Scratch, Sketches};

/// An [`Analyzer`] that reads texts from Python objects.
#[derive(Clone)]
pub(crate) struct PyAnalyzer(Analyzer);

impl PyAnalyzer {
    /// Validates a configuration.
    pub(crate) fn new(config: Config) -> PyResult<PyAnalyzer> {
        Ok(PyAnalyzer(Analyzer::new(config).map_err(refused)?))
    }

    pub(crate) fn of(analyzer: Analyzer) -> PyAnalyzer {
        PyAnalyzer(analyzer)
    }

    /// Restores an analyzer from the configuration in a pickle.
    pub(crate) fn restored(config: &str) -> PyResult<PyAnalyzer> {
        PyAnalyzer::new(Config::from_toml(config).map_err(refused)?)
    }

    pub(crate) fn inner(&self) -> &Analyzer {
        &self.0
    }

    /// Returns `true` if texts may contain invalid UTF-8.
    pub(crate) fn lossy(&self) -> bool {
        self.0.config().text.lossy
    }

    /// Reads a Python string or a list of tokens.
    pub(crate) fn content(&self, value: &Bound<'_, PyAny>, what: &str) -> PyResult<Content> {
        texts::content(value, what, self.lossy())
    }

    /// Runs `work` on one text, without the interpreter lock.
    pub(crate) fn make<T: Send + 'static>(
        &self,
        py: Python<'_>,
        content: Content,
        work: impl FnOnce(&Analyzer, Content) -> T + Send + 'static,
    ) -> PyResult<T> {
        let analyzer = self.0.clone();
        let small = texts::size(&content) <= SHORT;
        apart(py, Progress::silent().small_if(small), move |_| work(&analyzer, content))
    }

    /// Sketches a Python string or a list of tokens.
    pub(crate) fn sketch(&self, text: &Bound<'_, PyAny>) -> PyResult<Sketches> {
        let content = self.content(text, "text")?;
        self.make(text.py(), content, |analyzer, text| analyzer.sketch(&text, &mut Scratch::default()))
    }

    /// Prepares parallel work on many texts.
    pub(crate) fn many<'a, 'py>(
        &self,
        texts: &'a [Raw<'a>],
        threads: Option<i64>,
        progress: Progress<'a, 'py>,
    ) -> Many<'a, 'py> {
        Many { texts, lossy: self.lossy(), threads, progress }
    }
}
