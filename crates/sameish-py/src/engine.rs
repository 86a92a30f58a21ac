//! The engine as Python has it.

use crate::analyzer::PyAnalyzer;
use crate::compare;
use crate::error::{refused, setting, unknown_id};
use crate::guard::Guarded;
use crate::ids;
use crate::many::too_short;
use crate::numbers::{count, same_length, stored};
use crate::results::{self, Class, OwnedPair};
use crate::sdr::Sdr;
use crate::settings;
use crate::sketchers::Signature;
use crate::store;
use crate::texts::Texts;
use crate::work::{Progress, Watch, apart, attended};
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyDict, PyList, PyTuple};
use sameish::{DocId, Effort, Prepared, Scratch, SearchOptions, Timestamp};
use std::ops::ControlFlow;
use std::path::PathBuf;

/// Documents that are added sooner than a thread starts.
pub(crate) const SPOT: usize = 8;

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
    analyzer: PyAnalyzer,
}

impl Engine {
    fn of(engine: sameish::Engine) -> PyResult<Engine> {
        Ok(Engine { analyzer: PyAnalyzer::of(engine.analyzer().clone()), inner: Guarded::new(engine) })
    }

    /// All that is needed of a text.
    fn prepared(&self, text: &Bound<'_, PyAny>) -> PyResult<Prepared> {
        let prepare = |analyzer: &sameish::Analyzer, text| analyzer.prepare(&text, &mut Scratch::default());
        self.analyzer.make(text.py(), self.analyzer.content(text, "text")?, prepare)
    }
}

fn options(limit: Option<i64>, min_similarity: Option<f64>) -> PyResult<SearchOptions> {
    let limit = limit.map(|limit| count(limit, "limit", 1)).transpose()?;
    match min_similarity {
        Some(least) if !(0.0..=1.0).contains(&least) => {
            Err(setting(format!("`min_similarity` is {least}: must be 0 to 1")))
        }
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
        let config = settings::config(preset, config, overrides)?;
        Engine::of(sameish::Engine::new(config).map_err(refused)?)
    }

    /// The settings, as the text of a config file.
    #[getter]
    fn config(&self) -> String {
        self.analyzer.inner().config().to_toml()
    }

    /// How likely a pair right at the threshold is found; None where fingerprints alone decide, which miss nothing.
    #[getter]
    fn expected_recall(&self) -> Option<f64> {
        self.analyzer.inner().expected_recall()
    }

    /// Adds a document, in place of the one that has its id. The text is a str, or a list of tokens.
    #[pyo3(signature = (id, text, *, published_at=None))]
    fn add<'py>(
        &self,
        py: Python<'py>,
        id: &Bound<'_, PyAny>,
        text: &Bound<'_, PyAny>,
        published_at: Option<&Bound<'_, PyAny>>,
    ) -> PyResult<Bound<'py, PyAny>> {
        let id = ids::one(id, "id")?;
        let date = published_at.map(|date| ids::date(date, "`published_at`")).transpose()?.flatten();
        let (date, prepared) = (date.map(|date| date.to_string()), self.prepared(text)?);
        let inserted =
            self.inner.change(py, |engine| engine.insert_prepared(&id, date.as_deref(), prepared))?;
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
        threads: Option<i64>,
        progress: Option<&Bound<'_, PyAny>>,
    ) -> PyResult<usize> {
        let ids = ids::many(ids)?;
        ids::distinct(&ids)?;
        let dates = published_at.map(ids::dates).transpose()?;
        let texts = Texts::read(texts, "texts", self.analyzer.lossy())?;
        let raw = texts.raw("texts")?;
        same_length(("ids", ids.len()), ("texts", raw.len()))?;
        if let Some(dates) = &dates {
            same_length(("ids", ids.len()), ("published_at", dates.len()))?;
        }
        let progress = Progress::new(progress, ids.len());
        let many = self.analyzer.many(&raw, threads, progress.first_of(2));
        let prepared = many.prepared(py, |text, scratch| self.analyzer.inner().prepare(text, scratch))?;
        let short = too_short(&prepared);
        let few = ids.len() <= SPOT;
        let added = attended(py, progress.rest_of(2).small_if(few), |watch| {
            let Some(mut engine) = self.inner.write(watch) else { return Ok(()) };
            insert_all(&mut engine, &ids, dates.as_deref(), prepared, watch)
        })?;
        added.map_err(refused)?;
        Ok(short)
    }

    /// Takes a document out; tells whether it was there.
    fn remove(&self, py: Python<'_>, id: &Bound<'_, PyAny>) -> PyResult<bool> {
        let id = ids::one(id, "id")?;
        self.inner.change(py, |engine| engine.remove(&id))
    }

    /// The documents that match a text, the most similar first.
    #[pyo3(signature = (text, *, limit=None, min_similarity=None))]
    fn search<'py>(
        &self,
        py: Python<'py>,
        text: &Bound<'_, PyAny>,
        limit: Option<i64>,
        min_similarity: Option<f64>,
    ) -> PyResult<Bound<'py, PyList>> {
        let options = options(limit, min_similarity)?;
        let prepared = self.prepared(text)?;
        let found = self.inner.ask(py, |engine| engine.search_prepared(&prepared, options))?;
        results::matches(py, &found.map_err(refused)?)
    }

    /// The other documents that match one of the engine's, the most similar first.
    #[pyo3(signature = (id, *, limit=None, min_similarity=None))]
    fn search_id<'py>(
        &self,
        py: Python<'py>,
        id: &Bound<'_, PyAny>,
        limit: Option<i64>,
        min_similarity: Option<f64>,
    ) -> PyResult<Bound<'py, PyList>> {
        let (id, options) = (ids::one(id, "id")?, options(limit, min_similarity)?);
        let found = self.inner.ask(py, |engine| engine.search_id(&id, options))?;
        results::matches(py, &found.map_err(refused)?.ok_or_else(|| unknown_id(&id))?)
    }

    /// All pairs that match, in the order of the later document, then of the earlier; at most `limit` of them.
    #[pyo3(signature = (*, limit=None, progress=None))]
    fn pairs<'py>(
        &self,
        py: Python<'py>,
        limit: Option<i64>,
        progress: Option<&Bound<'_, PyAny>>,
    ) -> PyResult<Bound<'py, PyList>> {
        let limit = limit.map(|limit| count(limit, "limit", 0)).transpose()?;
        let progress = Progress::new(progress, self.__len__(py)?);
        let pairs = attended(py, progress, |watch| {
            self.inner.read(watch).map(|engine| all_pairs(&engine, limit, watch)).unwrap_or_default()
        })?;
        results::pairs(py, &pairs, |id| ids::to_python(py, id))
    }

    /// All documents in clusters, by the linkage of the settings, those that stand alone too.
    #[pyo3(signature = (*, progress=None))]
    fn clusters<'py>(
        &self,
        py: Python<'py>,
        progress: Option<&Bound<'_, PyAny>>,
    ) -> PyResult<Bound<'py, PyList>> {
        let progress = Progress::new(progress, self.__len__(py)?);
        let groups = attended(py, progress, |watch| {
            self.inner.read(watch).map(|engine| all_groups(&engine, watch)).unwrap_or_default()
        })?;
        results::clusters(py, &groups, |id| ids::to_python(py, id))
    }

    /// What the preset makes of a text: the same bytes as from every other door.
    fn sketch<'py>(&self, py: Python<'py>, text: &Bound<'_, PyAny>) -> PyResult<Bound<'py, PyAny>> {
        let sketches = self.analyzer.sketch(text)?;
        let schemes = self.analyzer.inner().schemes();
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
        min_tokens: i64,
    ) -> PyResult<Bound<'py, PyAny>> {
        compare::by(py, &self.analyzer, a, b, min_tokens)
    }

    /// Writes everything to one file, which takes the place of an old one only when it is whole.
    fn save(&self, py: Python<'_>, path: PathBuf) -> PyResult<()> {
        attended(py, Progress::silent(), |watch| match self.inner.read(watch) {
            Some(engine) => store::save(&engine, &path, watch),
            None => Ok(()),
        })?
    }

    /// Reads what `save` wrote. A file that is damaged, cut off or of another version is refused.
    #[staticmethod]
    fn load(py: Python<'_>, path: PathBuf) -> PyResult<Engine> {
        Engine::of(apart(py, Progress::silent(), move |_| store::load(&path))??)
    }

    /// The bytes that `save` writes.
    fn to_bytes<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyBytes>> {
        Ok(PyBytes::new(py, &self.inner.ask(py, sameish::Engine::to_bytes)?.map_err(refused)?))
    }

    /// Reads what `to_bytes` gave. Everything is checked.
    #[staticmethod]
    fn from_bytes(bytes: &Bound<'_, PyAny>) -> PyResult<Engine> {
        let (py, bytes) = (bytes.py(), stored(bytes, "`bytes`")?);
        let bytes = bytes.as_bytes();
        Engine::of(py.detach(|| sameish::Engine::from_bytes(bytes)).map_err(refused)?)
    }

    fn __len__(&self, py: Python<'_>) -> PyResult<usize> {
        self.inner.ask(py, sameish::Engine::len)
    }

    fn __contains__(&self, py: Python<'_>, id: &Bound<'_, PyAny>) -> PyResult<bool> {
        let id = ids::one(id, "id")?;
        self.inner.ask(py, |engine| engine.contains(&id))
    }

    fn __repr__(&self, py: Python<'_>) -> PyResult<String> {
        Ok(format!("<Engine of {} documents>", self.__len__(py)?))
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
        watch.add(1);
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
