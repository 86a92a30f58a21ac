//! The engine as Python has it.

use crate::compare;
use crate::error::{refused, setting, unknown_id};
use crate::guard::Guarded;
use crate::ids;
use crate::many::{Many, too_short};
use crate::numbers::same_length;
use crate::results::{self, Class, OwnedPair};
use crate::sdr::Sdr;
use crate::settings;
use crate::sketchers::Signature;
use crate::store;
use crate::texts::{self, Texts};
use crate::work::{Progress, Watch, apart, attended};
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyDict, PyList, PyTuple};
use sameish::{DocId, Effort, Prepared, Scratch, SearchOptions, Timestamp};
use std::ops::ControlFlow;
use std::path::PathBuf;

static SKETCHES: Class = Class::new("Sketches");

/// Holds documents and finds those that match, under the settings of a preset.
///
/// Settings may be changed by keyword (`threshold=0.7`), by section (`minhash={"rows": 256}`) or by the text of a config
/// file (`config=...`). Ids are integers or strings.
///
/// >>> from sameish import Engine
/// >>> engine = Engine("copies", threshold=0.6)
/// >>> text = "The council voted on Monday to close the old bridge over the river for repairs until next spring."
/// >>> engine.add("bridge", text)
/// Inserted(status='ok', replaced=False, cluster=None)
/// >>> [(m.id, m.match_type, m.verified) for m in engine.search(text.replace("Monday", "Tuesday"))]
/// [('bridge', 'similar', True)]
/// >>> len(engine), "bridge" in engine, engine.remove("bridge")
/// (1, True, True)
#[pyclass(frozen, module = "sameish")]
pub(crate) struct Engine {
    inner: Guarded<sameish::Engine>,
}

impl Engine {
    fn of(engine: sameish::Engine) -> Engine {
        Engine { inner: Guarded::new(engine) }
    }
}

fn options(limit: Option<usize>, min_similarity: Option<f64>) -> PyResult<SearchOptions> {
    match min_similarity {
        Some(least) if !(0.0..=1.0).contains(&least) => {
            Err(setting(format!("`min_similarity` is {least}: must be 0 to 1")))
        }
        _ if limit == Some(0) => Err(setting("`limit` is 0: must be at least 1")),
        _ => Ok(SearchOptions { limit, min_similarity }),
    }
}

#[pymethods]
impl Engine {
    #[new]
    #[pyo3(signature = (preset=None, *, config=None, **overrides))]
    fn new(
        preset: Option<&str>,
        config: Option<&Bound<'_, PyAny>>,
        overrides: Option<&Bound<'_, PyDict>>,
    ) -> PyResult<Engine> {
        settings::engine(preset, config, overrides).map(Engine::of)
    }

    /// The settings, as the text of a config file.
    #[getter]
    fn config(&self, py: Python<'_>) -> String {
        self.inner.ask(py, |engine| engine.config().to_toml())
    }

    /// How likely a pair right at the threshold is found; None where fingerprints alone decide, which miss nothing.
    #[getter]
    fn expected_recall(&self, py: Python<'_>) -> Option<f64> {
        self.inner.ask(py, sameish::Engine::expected_recall)
    }

    /// Adds a document, in place of the one that has its id. The text is a str, or a list of tokens.
    #[pyo3(signature = (id, text, *, published_at=None))]
    fn add<'py>(
        &self,
        py: Python<'py>,
        id: &Bound<'_, PyAny>,
        text: &Bound<'_, PyAny>,
        published_at: Option<&str>,
    ) -> PyResult<Bound<'py, PyAny>> {
        let (id, content) = (ids::one(id, "id")?, texts::content(text, "text")?);
        let prepared = self.inner.ask(py, |engine| engine.prepare(&content, &mut Scratch::default()));
        let inserted = self.inner.change(py, |engine| engine.insert_prepared(&id, published_at, prepared));
        results::inserted(py, &inserted.map_err(refused)?)
    }

    /// Adds many documents: ids and texts as lists or as columns of Arrow. Gives how many were too short for the preset.
    ///
    /// Everything is read and prepared before the first is added, so a fault adds none. An interrupted call leaves those
    /// that were added so far.
    #[pyo3(signature = (ids, texts, *, published_at=None, threads=None, progress=None))]
    fn add_many(
        &self,
        py: Python<'_>,
        ids: &Bound<'_, PyAny>,
        texts: &Bound<'_, PyAny>,
        published_at: Option<&Bound<'_, PyAny>>,
        threads: Option<usize>,
        progress: Option<&Bound<'_, PyAny>>,
    ) -> PyResult<usize> {
        let ids = ids::many(ids)?;
        ids::distinct(&ids)?;
        let dates = published_at.map(ids::dates).transpose()?;
        let texts = Texts::read(texts, "texts")?;
        let raw = texts.raw("texts")?;
        same_length(("ids", ids.len()), ("texts", raw.len()))?;
        if let Some(dates) = &dates {
            same_length(("ids", ids.len()), ("published_at", dates.len()))?;
        }
        let many = Many { texts: &raw, threads, progress };
        let prepared = many.prepared(py, |text, scratch| self.inner.read().prepare(text, scratch))?;
        let short = too_short(&prepared);
        let progress = Progress { callback: None, total: ids.len() };
        let added = attended(py, &progress, |watch| {
            let mut engine = self.inner.write();
            insert_all(&mut engine, &ids, dates.as_deref(), prepared, watch)
        })?;
        added.map_err(refused)?;
        Ok(short)
    }

    /// Takes a document out; tells whether it was there.
    fn remove(&self, py: Python<'_>, id: &Bound<'_, PyAny>) -> PyResult<bool> {
        let id = ids::one(id, "id")?;
        Ok(self.inner.change(py, |engine| engine.remove(&id)))
    }

    /// The documents that match a text, the most similar first.
    #[pyo3(signature = (text, *, limit=None, min_similarity=None))]
    fn search<'py>(
        &self,
        py: Python<'py>,
        text: &Bound<'_, PyAny>,
        limit: Option<usize>,
        min_similarity: Option<f64>,
    ) -> PyResult<Bound<'py, PyList>> {
        let (content, options) = (texts::content(text, "text")?, options(limit, min_similarity)?);
        let found = self.inner.ask(py, |engine| engine.search(&content, options, &mut Scratch::default()));
        results::matches(py, &found.map_err(refused)?)
    }

    /// The other documents that match one of the engine's, the most similar first.
    #[pyo3(signature = (id, *, limit=None, min_similarity=None))]
    fn search_id<'py>(
        &self,
        py: Python<'py>,
        id: &Bound<'_, PyAny>,
        limit: Option<usize>,
        min_similarity: Option<f64>,
    ) -> PyResult<Bound<'py, PyList>> {
        let (id, options) = (ids::one(id, "id")?, options(limit, min_similarity)?);
        let found = self.inner.ask(py, |engine| engine.search_id(&id, options));
        results::matches(py, &found.ok_or_else(|| unknown_id(&id))?.map_err(refused)?)
    }

    /// All pairs that match, in the order of the later document, then of the earlier; at most `limit` of them.
    #[pyo3(signature = (*, limit=None, progress=None))]
    fn pairs<'py>(
        &self,
        py: Python<'py>,
        limit: Option<usize>,
        progress: Option<&Bound<'_, PyAny>>,
    ) -> PyResult<Bound<'py, PyList>> {
        let progress = Progress { callback: progress, total: self.__len__(py) };
        let inner = self.inner.clone();
        let pairs = apart(py, &progress, move |watch| all_pairs(&inner.read(), limit, watch))?;
        results::pairs(py, &pairs, |id| ids::to_python(py, id))
    }

    /// All documents in clusters, by the linkage of the settings, those that stand alone too.
    #[pyo3(signature = (*, progress=None))]
    fn clusters<'py>(
        &self,
        py: Python<'py>,
        progress: Option<&Bound<'_, PyAny>>,
    ) -> PyResult<Bound<'py, PyList>> {
        let progress = Progress { callback: progress, total: self.__len__(py) };
        let inner = self.inner.clone();
        let groups = apart(py, &progress, move |watch| all_groups(&inner.read(), watch))?;
        results::clusters(py, &groups, |id| ids::to_python(py, id))
    }

    /// What the preset makes of a text: the same bytes as from every other door.
    fn sketch<'py>(&self, py: Python<'py>, text: &Bound<'_, PyAny>) -> PyResult<Bound<'py, PyAny>> {
        let content = texts::content(text, "text")?;
        let (sketches, schemes) =
            self.inner.ask(py, |engine| (engine.sketch(&content, &mut Scratch::default()), engine.schemes()));
        let minhash = sketches.minhash.zip(schemes.minhash);
        let minhash =
            minhash.map(|(inner, scheme)| Bound::new(py, Signature { inner, scheme })).transpose()?;
        let sdr = sketches.sdr.map(|inner| Bound::new(py, Sdr { inner })).transpose()?;
        let simhash = sketches.simhash.map(sameish::Fingerprint::as_u64);
        SKETCHES.make(py, (sketches.status.name(), sketches.words, simhash, minhash, sdr))
    }

    /// Two texts side by side, under these settings.
    #[pyo3(signature = (a, b, *, min_tokens=5))]
    fn compare<'py>(
        &self,
        py: Python<'py>,
        a: &Bound<'_, PyAny>,
        b: &Bound<'_, PyAny>,
        min_tokens: usize,
    ) -> PyResult<Bound<'py, PyAny>> {
        let config = self.inner.ask(py, |engine| engine.config().clone());
        compare::by(py, sameish::Engine::new(config).map_err(refused)?, a, b, min_tokens)
    }

    /// Writes everything to one file, which takes the place of an old one only when it is whole.
    fn save(&self, py: Python<'_>, path: PathBuf) -> PyResult<()> {
        let progress = Progress { callback: None, total: 1 };
        attended(py, &progress, |watch| store::save(&self.inner.read(), &path, watch))?
    }

    /// Reads what `save` wrote. A file that is damaged, cut off or of another version is refused.
    #[staticmethod]
    fn load(py: Python<'_>, path: PathBuf) -> PyResult<Engine> {
        let engine = apart(py, &Progress { callback: None, total: 1 }, move |_| store::load(&path))?;
        engine.map(Engine::of)
    }

    /// The bytes that `save` writes.
    fn to_bytes<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyBytes>> {
        Ok(PyBytes::new(py, &self.inner.ask(py, sameish::Engine::to_bytes).map_err(refused)?))
    }

    /// Reads what `to_bytes` gave. Everything is checked.
    #[staticmethod]
    fn from_bytes(py: Python<'_>, bytes: &[u8]) -> PyResult<Engine> {
        py.detach(|| sameish::Engine::from_bytes(bytes)).map(Engine::of).map_err(refused)
    }

    fn __len__(&self, py: Python<'_>) -> usize {
        self.inner.ask(py, sameish::Engine::len)
    }

    fn __contains__(&self, py: Python<'_>, id: &Bound<'_, PyAny>) -> PyResult<bool> {
        let id = ids::one(id, "id")?;
        Ok(self.inner.ask(py, |engine| engine.contains(&id)))
    }

    fn __repr__(&self, py: Python<'_>) -> String {
        format!("<Engine of {} documents>", self.__len__(py))
    }

    fn __reduce__<'py>(slf: &Bound<'py, Engine>) -> PyResult<(Bound<'py, PyAny>, Bound<'py, PyTuple>)> {
        let bytes = slf.get().to_bytes(slf.py())?;
        Ok((slf.get_type().getattr("from_bytes")?, (bytes,).into_pyobject(slf.py())?))
    }
}

/// Adds documents as long as it is wanted.
pub(crate) fn insert_all(
    engine: &mut sameish::Engine,
    ids: &[DocId],
    dates: Option<&[Option<Timestamp>]>,
    prepared: Vec<Prepared>,
    watch: &Watch,
) -> sameish::Result<()> {
    for (i, (id, prepared)) in ids.iter().zip(prepared).enumerate().take_while(|_| watch.goes_on()) {
        let date = dates.and_then(|dates| dates[i]).map(|date| date.to_string());
        engine.insert_prepared(id, date.as_deref(), prepared)?;
    }
    Ok(())
}

pub(crate) fn all_pairs(
    engine: &sameish::Engine,
    limit: Option<usize>,
    watch: &Watch,
) -> (Vec<OwnedPair>, Effort) {
    let most = limit.unwrap_or(usize::MAX);
    let mut pairs = Vec::new();
    let wanted = |_| {
        watch.add(1);
        watch.goes_on() && most > 0
    };
    let effort = engine.pairs_while(wanted, |pair| {
        pairs.push(OwnedPair::from(pair));
        let full = pairs.len() >= most || pairs.len() % 1024 == 0 && !watch.goes_on();
        if full { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
    });
    (pairs, effort)
}

pub(crate) fn all_groups(engine: &sameish::Engine, watch: &Watch) -> sameish::Groups {
    let wanted = |_| {
        watch.add(1);
        watch.goes_on()
    };
    engine.groups_while(wanted).unwrap_or_default()
}
