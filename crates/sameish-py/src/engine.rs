//! `Engine`: documents that can be searched for near-duplicates.

use crate::analyzer::PyAnalyzer;
use crate::compare::compare_with;
use crate::error::{engine_error, setting_error, unknown_id};
use crate::file;
use crate::ids;
use crate::interrupt::{Progress, Task, run_detached, run_scoped};
use crate::lock::InterruptibleLock;
use crate::numbers::{at_least, bytes_like, same_length};
use crate::results::{self, OwnedPair, Pairs, ResultClass};
use crate::sdr::Sdr;
use crate::settings;
use crate::sketchers::Signature;
use crate::texts::Texts;
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyDict, PyList, PyTuple};
use sameish::analyzer::Schemes;
use sameish::sketch::SchemeId;
use sameish::{DocId, Prepared, SearchOptions, Status, Timestamp};
use std::ops::ControlFlow;
use std::path::PathBuf;

/// Maximum number of documents whose insertion takes less time than starting a thread.
pub(crate) const INLINE_DOCUMENTS: usize = 8;

static SKETCHES: ResultClass = ResultClass::new("Sketches");
static SCHEMES: ResultClass = ResultClass::new("Schemes");

/// A collection of documents that can be searched for near-duplicates.
///
/// The settings are those of a preset, changed by `config` and then by keywords. A setting that is
/// not given has the value of the preset; None removes an optional setting. Threads can share an
/// engine: reads run in parallel, and writes wait for earlier calls.
///
/// Args:
///     preset: Name of the preset; default `"copies"`.
///         `copies`: verified near-duplicates in any corpus (MinHash, Jaccard similarity >= 0.8).
///         `articles`: full articles (SimHash and MinHash, Jaccard similarity >= 0.5, verified).
///         `headlines`: headlines in online clusters (MinHash, Jaccard similarity >= 0.75).
///         `wire`: news agency articles by 64-bit FNV-1a SimHash, at most 3 differing bits.
///         `web`: web pages by SimHash of rolling windows, at most 3 differing bits.
///         `sdr`: sparse codes, overlap >= 0.5.
///     config: Configuration file in TOML, or a mapping with its contents; default None. Its key
///         `preset` replaces the argument `preset`.
///     threshold: Minimum similarity of a match, inclusive; greater than 0 and at most 1.
///     recall: Minimum probability that the index finds a pair at the threshold; greater than 0
///         and less than 1. It determines the bands unless they are set in `minhash`.
///     limit: Maximum number of matches that a search returns, at least 1; 10 in all presets.
///     verify: Whether candidates are verified by comparing the features of the documents.
///     linkage: How matches are clustered: `"cohesive"`, `"greedy"`, `"components"` or `"online"`.
///     templates: Whether documents with the same wording but different names or numbers are
///         kept in separate clusters (`"keep"`, the default) or clustered like other matches
///         (`"merge"`).
///     unverified: Whether short texts also match by their fingerprints alone, and whether matches
///         that were not verified join clusters; default False. Has no effect without `verify`.
///     tokenizer: `"unicode"`, `"ascii-words"` or `"whitespace"`.
///     stop_words: Words that are removed: those of a language, as a two-letter code such as `"en"`, or
///         a list of words.
///     min_words: Minimum number of words, without stop words. A document with fewer words has
///         the status `too_short`.
///     lossy: Whether texts may be bytes, with invalid UTF-8 replaced by U+FFFD.
///     fold_accents: Whether accents, Arabic vowel signs and Hebrew points are removed before texts are
///         compared.
///     html: Whether texts are HTML, whose markup is removed before texts are compared.
///     text: Other settings of the section `text` of a configuration file, as a mapping.
///     simhash: Settings of SimHash fingerprints, as a mapping; None computes no fingerprints.
///     minhash: Settings of MinHash signatures, as a mapping such as `{"rows": 256}`; None
///         computes no signatures.
///     sdr: Settings of sparse codes, as a mapping; None computes no codes.
///     matching: Other settings of the section `matching` of a configuration file, as a mapping.
///
/// Raises:
///     SettingError: A setting is out of range or inconsistent with others.
///     WrongType: A setting is unknown or has the wrong type.
///
/// Examples:
///     >>> from sameish import Engine
///     >>> engine = Engine("copies", threshold=0.6)
///     >>> text = "The council voted on Monday to close the old bridge over the river for repairs until next spring."
///     >>> engine.add("bridge", text)
///     Inserted(status='ok', replaced=False, cluster=None)
///     >>> [(m.id, m.match_type, m.verified) for m in engine.search(text.replace("Monday", "Tuesday"))]
///     [('bridge', 'similar', True)]
///     >>> len(engine), "bridge" in engine, engine.remove("bridge")
///     (1, True, True)
#[pyclass(frozen, module = "sameish")]
pub(crate) struct Engine {
    inner: InterruptibleLock<sameish::Engine>,
    analyzer: PyAnalyzer,
}

impl From<sameish::Engine> for Engine {
    fn from(engine: sameish::Engine) -> Engine {
        Engine { analyzer: engine.analyzer().clone().into(), inner: InterruptibleLock::new(engine) }
    }
}

fn search_options(limit: Option<i64>, min_similarity: Option<f64>) -> PyResult<SearchOptions> {
    let limit = limit.map(|limit| at_least(limit, "limit", 1)).transpose()?;
    match min_similarity {
        Some(min) if !(0.0..=1.0).contains(&min) => {
            Err(setting_error(format!("`min_similarity` is {min}: must be 0 to 1")))
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
        Ok(sameish::Engine::new(config).map_err(engine_error)?.into())
    }

    /// All settings, as a configuration file in TOML.
    #[getter]
    fn config(&self) -> String {
        self.analyzer.config().to_toml()
    }

    /// Recall at the threshold: the probability that the index finds a pair exactly at the threshold, 0 to 1.
    ///
    /// None if only fingerprints are compared; their index misses no match.
    #[getter]
    fn expected_recall(&self) -> Option<f64> {
        self.analyzer.expected_recall()
    }

    /// The schemes of the sketches, as a `Schemes`.
    ///
    /// A scheme identifies the settings that determine the bytes of a sketch. Other interfaces require it with a
    /// sketch in place of a text, and `encode_sketch` stores it.
    #[getter]
    fn schemes<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        let Schemes { simhash, minhash, sdr } = self.analyzer.schemes();
        let hex = |scheme: Option<SchemeId>| scheme.map(|scheme| scheme.to_string());
        SCHEMES.create(py, (hex(simhash), hex(minhash), hex(sdr)))
    }

    /// Adds a document, or replaces the document with the same id.
    ///
    /// Args:
    ///     id: Integer from -2**63 to 2**64 - 1, or a str. `7` and `"7"` are different ids.
    ///     text: A str, or a list of tokens. Also bytes if the settings are `lossy`.
    ///     published_at: Publication date: ISO 8601 str, `datetime`, `date`, NumPy or pandas
    ///         timestamp; default None. Used by the linkage `greedy` and for the `relation` of pairs and matches.
    ///
    /// Returns:
    ///     An `Inserted`.
    #[pyo3(signature = (id, text, *, published_at=None))]
    fn add<'py>(
        &self,
        py: Python<'py>,
        id: &Bound<'_, PyAny>,
        text: &Bound<'_, PyAny>,
        published_at: Option<&Bound<'_, PyAny>>,
    ) -> PyResult<Bound<'py, PyAny>> {
        let id = ids::from_python(id, "id")?;
        let date = published_at.map(|date| ids::date(date, "`published_at`")).transpose()?.flatten();
        let date = date.map(|date| date.to_string());
        let prepared = self.analyzer.prepare_text(text)?;
        let inserted =
            self.inner.write(py, |engine| engine.insert_prepared(&id, date.as_deref(), prepared))?;
        results::inserted(py, &inserted.map_err(engine_error)?)
    }

    /// Adds many documents. Documents with the same ids are replaced.
    ///
    /// All documents are read and prepared before the first is added, so an invalid document
    /// raises an exception and none is added. If the call is interrupted, the documents added so
    /// far remain.
    ///
    /// Args:
    ///     ids: Distinct ids, as a list or an Arrow column of integers or strings.
    ///     texts: One text per id, as a list or an Arrow column. A null counts as an empty text.
    ///     published_at: One publication date per id, as a list or an Arrow column; default None.
    ///     threads: Number of threads, 1 to 1024; default: one per processor.
    ///     progress: Called as `progress(done, total)` about 20 times per second, in documents;
    ///         default None. An exception that it raises ends the call.
    ///
    /// Returns:
    ///     Number of added documents that are too short for the settings.
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
        let ids = ids::list_from_python(ids)?;
        DocId::check_unique(&ids).map_err(engine_error)?;
        let dates = published_at.map(ids::dates).transpose()?;
        let texts = Texts::read(texts, "texts", self.analyzer.lossy())?;
        let texts = texts.raw("texts")?;
        same_length(("ids", ids.len()), ("texts", texts.len()))?;
        if let Some(dates) = &dates {
            same_length(("ids", ids.len()), ("published_at", dates.len()))?;
        }
        let progress = Progress::new(progress, ids.len());
        let prepared = self.analyzer.prepare_all(py, &texts, threads, progress.first_pass(2))?;
        let too_short = count_too_short(&prepared);
        let progress = progress.other_passes(2).inline_if(ids.len() <= INLINE_DOCUMENTS);
        run_scoped(py, progress, |task| {
            let Some(mut engine) = self.inner.write_guard(task) else { return Ok(()) };
            insert_all(&mut engine, &ids, dates.as_deref(), prepared, task)
        })?
        .map_err(engine_error)?;
        Ok(too_short)
    }

    /// Removes a document.
    ///
    /// Args:
    ///     id: Id of the document.
    ///
    /// Returns:
    ///     True if the engine contained the document.
    fn remove(&self, py: Python<'_>, id: &Bound<'_, PyAny>) -> PyResult<bool> {
        let id = ids::from_python(id, "id")?;
        self.inner.write(py, |engine| engine.remove(&id))
    }

    /// Finds the documents that match a text.
    ///
    /// Args:
    ///     text: A str, or a list of tokens. Also bytes if the settings are `lossy`.
    ///     limit: Maximum number of matches, at least 1; default: the setting `limit`.
    ///     min_similarity: Minimum similarity, 0 to 1; default: the setting `threshold`. Below
    ///         that, the search compares all sketches if the index would miss matches.
    ///
    /// Returns:
    ///     A list (`Found`) of `Match`, the most similar first.
    #[pyo3(signature = (text, *, limit=None, min_similarity=None))]
    fn search<'py>(
        &self,
        py: Python<'py>,
        text: &Bound<'_, PyAny>,
        limit: Option<i64>,
        min_similarity: Option<f64>,
    ) -> PyResult<Bound<'py, PyList>> {
        let options = search_options(limit, min_similarity)?;
        let prepared = self.analyzer.prepare_text(text)?;
        let search = self.inner.read(py, |engine| engine.search_prepared(&prepared, options))?;
        results::matches(py, &search.map_err(engine_error)?)
    }

    /// Finds the other documents that match a document of the engine.
    ///
    /// Args:
    ///     id: Id of the document.
    ///     limit: Maximum number of matches, at least 1; default: the setting `limit`.
    ///     min_similarity: Minimum similarity, 0 to 1; default: the setting `threshold`.
    ///
    /// Returns:
    ///     A list (`Found`) of `Match`, the most similar first.
    ///
    /// Raises:
    ///     UnknownId: No document has the id.
    #[pyo3(signature = (id, *, limit=None, min_similarity=None))]
    fn search_id<'py>(
        &self,
        py: Python<'py>,
        id: &Bound<'_, PyAny>,
        limit: Option<i64>,
        min_similarity: Option<f64>,
    ) -> PyResult<Bound<'py, PyList>> {
        let id = ids::from_python(id, "id")?;
        let options = search_options(limit, min_similarity)?;
        let search = self.inner.read(py, |engine| engine.search_id(&id, options))?;
        results::matches(py, &search.map_err(engine_error)?.ok_or_else(|| unknown_id(&id))?)
    }

    /// Finds all matching pairs.
    ///
    /// Args:
    ///     limit: Maximum number of pairs, at least 0; default None, no limit.
    ///     progress: Called as `progress(done, total)` about 20 times per second, in documents;
    ///         default None. An exception that it raises ends the call.
    ///
    /// Returns:
    ///     A list (`Found`) of `Pair`, ordered by the later document, then by the earlier one.
    #[pyo3(signature = (*, limit=None, progress=None))]
    fn pairs<'py>(
        &self,
        py: Python<'py>,
        limit: Option<i64>,
        progress: Option<&Bound<'_, PyAny>>,
    ) -> PyResult<Bound<'py, PyList>> {
        let limit = limit.map(|limit| at_least(limit, "limit", 0)).transpose()?;
        let progress = Progress::new(progress, self.__len__(py)?);
        let pairs = run_scoped(py, progress, |task| {
            self.inner.read_guard(task).map(|engine| all_pairs(&engine, limit, task)).unwrap_or_default()
        })?;
        results::pairs(py, &pairs, |id| ids::to_python(py, id))
    }

    /// Clusters all documents with the linkage of the settings.
    ///
    /// Args:
    ///     progress: Called as `progress(done, total)` about 20 times per second, in documents;
    ///         default None. An exception that it raises ends the call.
    ///
    /// Returns:
    ///     A list (`Found`) of `Cluster`, including clusters of one document.
    #[pyo3(signature = (*, progress=None))]
    fn clusters<'py>(
        &self,
        py: Python<'py>,
        progress: Option<&Bound<'_, PyAny>>,
    ) -> PyResult<Bound<'py, PyList>> {
        let progress = Progress::new(progress, self.__len__(py)?);
        let groups = run_scoped(py, progress, |task| {
            self.inner.read_guard(task).map(|engine| all_groups(&engine, task)).unwrap_or_default()
        })?;
        results::clusters(py, &groups, |id| ids::to_python(py, id))
    }

    /// Computes the sketches of a text. Every interface of sameish computes the same bytes.
    ///
    /// Args:
    ///     text: A str, or a list of tokens. Also bytes if the settings are `lossy`.
    ///
    /// Returns:
    ///     A `Sketches`.
    fn sketch<'py>(&self, py: Python<'py>, text: &Bound<'_, PyAny>) -> PyResult<Bound<'py, PyAny>> {
        let sketches = self.analyzer.sketch_text(text)?;
        let minhash = sketches.minhash.zip(self.analyzer.schemes().minhash);
        let minhash =
            minhash.map(|(inner, scheme)| Bound::new(py, Signature { inner, scheme })).transpose()?;
        let sdr = sketches.sdr.map(|inner| Bound::new(py, Sdr { inner })).transpose()?;
        let simhash = sketches.simhash.map(sameish::Fingerprint::as_u64);
        SKETCHES.create(py, (sketches.status.name(), sketches.words, simhash, minhash, sdr))
    }

    /// Compares two texts with the settings of the engine.
    ///
    /// Args:
    ///     a: First text: a str, or a list of tokens. Also bytes if the settings are `lossy`.
    ///     b: Second text, of the same types as `a`.
    ///     min_tokens: Minimum length of a shared passage in words, at least 1; default 5.
    ///     published_at_a: Publication date of the first text; default None. With both dates, `relation`
    ///         can be `"update_of"` or `"updated_by"`.
    ///     published_at_b: Publication date of the second text; default None.
    ///
    /// Returns:
    ///     A `Comparison`.
    #[pyo3(signature = (a, b, *, min_tokens=5, published_at_a=None, published_at_b=None))]
    fn compare<'py>(
        &self,
        a: &Bound<'py, PyAny>,
        b: &Bound<'py, PyAny>,
        min_tokens: i64,
        published_at_a: Option<&Bound<'py, PyAny>>,
        published_at_b: Option<&Bound<'py, PyAny>>,
    ) -> PyResult<Bound<'py, PyAny>> {
        compare_with(&self.analyzer, a, b, min_tokens, [published_at_a, published_at_b])
    }

    /// Writes the engine to a file atomically: if the call fails, an existing file is unchanged.
    ///
    /// The file contains settings, sketches and features, but no texts.
    ///
    /// Args:
    ///     path: Path of the file.
    ///
    /// Raises:
    ///     OSError: The file cannot be written.
    fn save(&self, py: Python<'_>, path: PathBuf) -> PyResult<()> {
        run_scoped(py, Progress::none(), |task| match self.inner.read_guard(task) {
            Some(engine) => file::save(&engine, &path, task),
            None => Ok(()),
        })?
    }

    /// Reads an engine from a file that `save` wrote.
    ///
    /// Args:
    ///     path: Path of the file.
    ///
    /// Returns:
    ///     The engine.
    ///
    /// Raises:
    ///     CorruptFile: The file is damaged or truncated.
    ///     VersionError: Another version of sameish wrote the file.
    ///     OSError: The file cannot be read.
    #[staticmethod]
    fn load(py: Python<'_>, path: PathBuf) -> PyResult<Engine> {
        let engine = run_detached(py, Progress::none(), move |_| file::load(&path))??;
        Ok(engine.into())
    }

    /// Returns the bytes that `save` writes.
    fn to_bytes<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyBytes>> {
        Ok(PyBytes::new(py, &self.inner.read(py, sameish::Engine::to_bytes)?.map_err(engine_error)?))
    }

    /// Restores an engine from bytes that `to_bytes` returned.
    ///
    /// Args:
    ///     bytes: The stored engine: bytes, bytearray or memoryview. A checksum is verified.
    ///
    /// Returns:
    ///     The engine.
    ///
    /// Raises:
    ///     CorruptFile: The bytes are damaged or truncated.
    ///     VersionError: Another version of sameish stored the engine.
    #[staticmethod]
    fn from_bytes(bytes: &Bound<'_, PyAny>) -> PyResult<Engine> {
        let py = bytes.py();
        let bytes = bytes_like(bytes, "`bytes`")?;
        let bytes = bytes.as_bytes();
        Ok(py.detach(|| sameish::Engine::from_bytes(bytes)).map_err(engine_error)?.into())
    }

    fn __len__(&self, py: Python<'_>) -> PyResult<usize> {
        self.inner.read(py, sameish::Engine::len)
    }

    fn __contains__(&self, py: Python<'_>, id: &Bound<'_, PyAny>) -> PyResult<bool> {
        let id = ids::from_python(id, "id")?;
        self.inner.read(py, |engine| engine.contains(&id))
    }

    fn __repr__(&self, py: Python<'_>) -> PyResult<String> {
        Ok(format!("<Engine of {} documents>", self.__len__(py)?))
    }

    fn __reduce__<'py>(slf: &Bound<'py, Engine>) -> PyResult<(Bound<'py, PyAny>, Bound<'py, PyTuple>)> {
        let bytes = slf.get().to_bytes(slf.py())?;
        Ok((slf.get_type().getattr("from_bytes")?, (bytes,).into_pyobject(slf.py())?))
    }
}

/// Returns the number of documents that are too short for the settings.
pub(crate) fn count_too_short(prepared: &[Prepared]) -> usize {
    prepared.iter().filter(|prepared| prepared.sketches.status == Status::TooShort).count()
}

/// Inserts documents until the task is canceled.
pub(crate) fn insert_all(
    engine: &mut sameish::Engine,
    ids: &[DocId],
    dates: Option<&[Option<Timestamp>]>,
    prepared: Vec<Prepared>,
    task: &Task,
) -> sameish::Result<()> {
    for (i, (id, prepared)) in ids.iter().zip(prepared).enumerate().take_while(|_| task.is_running()) {
        let date = dates.and_then(|dates| dates[i]).map(|date| date.to_string());
        engine.insert_prepared(id, date.as_deref(), prepared)?;
        task.add_done(1);
    }
    Ok(())
}

/// Finds all matching pairs, at most `limit`, until the task is canceled.
pub(crate) fn all_pairs(engine: &sameish::Engine, limit: Option<usize>, task: &Task) -> Pairs {
    let limit = limit.unwrap_or(usize::MAX);
    let mut pairs = Vec::new();
    let proceed = |_| {
        task.add_done(1);
        task.is_running() && limit > 0
    };
    let effort = engine.pairs_while(proceed, |pair| {
        pairs.push(OwnedPair::from(pair));
        let stop = pairs.len() >= limit || pairs.len() % 1024 == 0 && !task.is_running();
        if stop { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
    });
    Pairs { pairs, effort }
}

/// Clusters all documents. Returns no clusters if the task is canceled.
pub(crate) fn all_groups(engine: &sameish::Engine, task: &Task) -> sameish::Groups {
    let proceed = |_| {
        task.add_done(1);
        task.is_running()
    };
    engine.groups_while(proceed).unwrap_or_default()
}
