//! Two texts side by side.

use crate::results::Class;
use crate::settings;
use crate::texts;
use crate::work::{Progress, apart};
use pyo3::prelude::*;
use pyo3::types::PyDict;
use sameish::{Engine, Passage};

static COMPARISON: Class = Class::new("Comparison");
static PASSAGE: Class = Class::new("Passage");

/// Everything that can be said of two texts: how alike, of which kind, and the passages they share.
///
/// >>> import sameish
/// >>> a = "The council voted on Monday to close the old bridge for repairs until spring."
/// >>> b = "The council voted on Tuesday to close the old bridge for repairs until spring."
/// >>> comparison = sameish.compare(a, b)
/// >>> comparison.match_type
/// 'similar'
/// >>> [a[p.a_start:p.a_end] for p in comparison.passages]
/// ['to close the old bridge for repairs until spring']
#[pyfunction]
#[pyo3(signature = (a, b, *, preset=None, min_tokens=5, config=None, **overrides))]
pub(crate) fn compare<'py>(
    py: Python<'py>,
    a: &Bound<'_, PyAny>,
    b: &Bound<'_, PyAny>,
    preset: Option<&str>,
    min_tokens: usize,
    config: Option<&Bound<'_, PyAny>>,
    overrides: Option<&Bound<'_, PyDict>>,
) -> PyResult<Bound<'py, PyAny>> {
    let engine = settings::engine(preset, config, overrides)?;
    by(py, engine, a, b, min_tokens)
}

/// The same under an engine's settings.
pub(crate) fn by<'py>(
    py: Python<'py>,
    engine: Engine,
    a: &Bound<'_, PyAny>,
    b: &Bound<'_, PyAny>,
    min_tokens: usize,
) -> PyResult<Bound<'py, PyAny>> {
    if min_tokens == 0 {
        return Err(crate::error::setting("`min_tokens` is 0: must be at least 1"));
    }
    let (a, b) = (texts::content(a, "`a`")?, texts::content(b, "`b`")?);
    let (comparison, passages) = apart(py, &Progress { callback: None, total: 1 }, move |_| {
        let comparison = engine.compare(&a, &b, min_tokens);
        // Python's strings are cut by characters.
        let passages = comparison.passages_in(&a, &b, |piece| piece.chars().count());
        (comparison, passages)
    })?;
    let passages = passages.into_iter().map(|passage| {
        let Passage { a_start, a_end, b_start, b_end, tokens } = passage;
        PASSAGE.make(py, (a_start, a_end, b_start, b_end, tokens))
    });
    let passages = passages.collect::<PyResult<Vec<_>>>()?;
    let head = (
        comparison.similarity,
        comparison.containment,
        comparison.containment_a,
        comparison.containment_b,
        comparison.simhash_distance,
        comparison.minhash_similarity,
        comparison.match_type.to_string(),
        comparison.too_short,
        comparison.words_a,
        comparison.words_b,
    );
    let (head, tail) = (head.into_pyobject(py)?, (passages, comparison.coverage_a, comparison.coverage_b));
    let fields = head.as_sequence().concat(tail.into_pyobject(py)?.as_sequence())?.to_tuple()?;
    COMPARISON.make(py, fields)
}
