//! Two texts side by side.

use crate::analyzer::PyAnalyzer;
use crate::numbers::count;
use crate::results::Class;
use crate::settings;
use crate::texts;
use crate::work::{Progress, SHORT, apart};
use pyo3::prelude::*;
use pyo3::types::PyDict;
use sameish::Passage;

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
    min_tokens: i64,
    config: Option<&Bound<'_, PyAny>>,
    overrides: Option<&Bound<'_, PyDict>>,
) -> PyResult<Bound<'py, PyAny>> {
    let analyzer = PyAnalyzer::new(settings::config(preset, config, overrides)?)?;
    by(py, &analyzer, a, b, min_tokens)
}

/// The same under an engine's settings.
pub(crate) fn by<'py>(
    py: Python<'py>,
    analyzer: &PyAnalyzer,
    a: &Bound<'_, PyAny>,
    b: &Bound<'_, PyAny>,
    min_tokens: i64,
) -> PyResult<Bound<'py, PyAny>> {
    let min_tokens = count(min_tokens, "min_tokens", 1)?;
    let (a, b) = (analyzer.content(a, "`a`")?, analyzer.content(b, "`b`")?);
    let progress = Progress::silent().small_if(texts::size(&a) + texts::size(&b) <= SHORT);
    let analyzer = analyzer.clone();
    let (comparison, passages) = apart(py, progress, move |_| {
        let comparison = analyzer.inner().compare(&a, &b, min_tokens);
        // Python's strings are cut by characters, lists of tokens by tokens.
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
