//! Who makes sketches of texts?
//!
//! An engine without documents, which needs no lock: work on a long text can be left alone when a signal comes.

use crate::error::refused;
use crate::many::Many;
use crate::texts::{self, Raw};
use crate::work::{Progress, SHORT, apart};
use pyo3::prelude::*;
use sameish::{Config, Content, Engine, Scratch, Sketches};
use std::sync::Arc;

/// Makes sketches. Clones are the same.
#[derive(Clone)]
pub(crate) struct Maker(Arc<Engine>);

impl Maker {
    /// By the settings of an engine.
    pub(crate) fn new(config: Config) -> PyResult<Maker> {
        Ok(Maker(Arc::new(Engine::new(config).map_err(refused)?)))
    }

    /// By what a pickle has of one.
    pub(crate) fn restored(config: &str) -> PyResult<Maker> {
        Maker::new(Config::from_toml(config).map_err(refused)?)
    }

    pub(crate) fn engine(&self) -> &Engine {
        &self.0
    }

    /// Whether texts may be any bytes.
    pub(crate) fn lossy(&self) -> bool {
        self.0.config().text.lossy
    }

    /// A text of Python, or tokens.
    pub(crate) fn content(&self, value: &Bound<'_, PyAny>, what: &str) -> PyResult<Content> {
        texts::content(value, what, self.lossy())
    }

    /// Works on one text.
    pub(crate) fn make<T: Send + 'static>(
        &self,
        py: Python<'_>,
        content: Content,
        work: impl FnOnce(&Engine, Content) -> T + Send + 'static,
    ) -> PyResult<T> {
        let (engine, small) = (self.clone(), texts::size(&content) <= SHORT);
        apart(py, Progress::silent().small_if(small), move |_| work(&engine.0, content))
    }

    /// The sketches of a text of Python, or of tokens.
    pub(crate) fn sketch(&self, text: &Bound<'_, PyAny>) -> PyResult<Sketches> {
        let content = self.content(text, "text")?;
        self.make(text.py(), content, |engine, text| engine.sketch(&text, &mut Scratch::default()))
    }

    /// Many texts, to be worked on.
    pub(crate) fn many<'a, 'py>(
        &self,
        texts: &'a [Raw<'a>],
        threads: Option<i64>,
        progress: Progress<'a, 'py>,
    ) -> Many<'a, 'py> {
        Many { texts, lossy: self.lossy(), threads, progress }
    }
}
