//! `tokenize`, `shingle` and `normalize`: what the engine sees of a text, for teaching and debugging.

use crate::analyzer::PyAnalyzer;
use crate::interrupt::{INLINE_BYTES, Progress, run_detached};
use crate::settings;
use crate::texts;
use pyo3::prelude::*;
use pyo3::types::PyDict;
use sameish::{Analyzer, Content};

/// Returns the words of a text on which similarity is measured, in order, without stop words.
///
/// Args:
///     text: A str, or a list of tokens, which are returned without stop words.
///     preset: Name of the preset; default `"copies"`. See `Engine`.
///     config: Configuration file in TOML, or a mapping with its contents; default None.
///     settings: Settings as keywords, as in `compare`.
///
/// Returns:
///     A list of str.
///
/// Examples:
///     >>> import sameish
///     >>> sameish.tokenize("The OLD bridge isn't closed")
///     ['the', 'old', 'bridge', "isn't", 'closed']
///     >>> sameish.tokenize("The OLD bridge isn't closed", preset="headlines")
///     ['old', 'bridge', 'closed']
#[pyfunction]
#[pyo3(signature = (text, *, preset=None, config=None, **settings))]
pub(crate) fn tokenize(
    text: &Bound<'_, PyAny>,
    preset: Option<&str>,
    config: Option<&Bound<'_, PyAny>>,
    settings: Option<&Bound<'_, PyDict>>,
) -> PyResult<Vec<String>> {
    inspect(text, preset, config, settings, |analyzer, content| analyzer.tokenize(content))
}

/// Returns the shingles of a text on which similarity is measured, in order, with repetitions.
///
/// The Jaccard similarity of two texts is that of the sets of their shingles.
///
/// Args:
///     text: A str, or a list of tokens.
///     preset: Name of the preset; default `"copies"`. See `Engine`.
///     config: Configuration file in TOML, or a mapping with its contents; default None.
///     settings: Settings as keywords, as in `compare`.
///
/// Returns:
///     A list of str.
///
/// Examples:
///     >>> import sameish
///     >>> sameish.shingle("The old bridge is closed")
///     ['the old bridge', 'old bridge is', 'bridge is closed']
///     >>> sameish.shingle("ab cd", minhash={"shingle": "chars:4"})
///     ['ab c', 'b cd']
#[pyfunction]
#[pyo3(signature = (text, *, preset=None, config=None, **settings))]
pub(crate) fn shingle(
    text: &Bound<'_, PyAny>,
    preset: Option<&str>,
    config: Option<&Bound<'_, PyAny>>,
    settings: Option<&Bound<'_, PyDict>>,
) -> PyResult<Vec<String>> {
    inspect(text, preset, config, settings, |analyzer, content| analyzer.shingle(content))
}

/// Returns a text in the form whose equality makes a match `"exact"`: normalized, with one space between words.
///
/// Args:
///     text: A str.
///     preset: Name of the preset; default `"copies"`. See `Engine`.
///     config: Configuration file in TOML, or a mapping with its contents; default None.
///     settings: Settings as keywords, as in `compare`; `html` and `fold_accents` change the result.
///
/// Returns:
///     A str.
///
/// Examples:
///     >>> import sameish
///     >>> sameish.normalize("  The ＯＬＤ\tBridge. ")
///     'the old bridge.'
#[pyfunction]
#[pyo3(signature = (text, *, preset=None, config=None, **settings))]
pub(crate) fn normalize(
    text: &Bound<'_, PyAny>,
    preset: Option<&str>,
    config: Option<&Bound<'_, PyAny>>,
    settings: Option<&Bound<'_, PyDict>>,
) -> PyResult<String> {
    inspect(text, preset, config, settings, |analyzer, content| match content {
        Content::Text(text) => analyzer.normalized(text),
        Content::Tokens(tokens) => tokens.join(" "),
        Content::Sketches(_) => String::new(),
    })
}

fn inspect<T: Send + 'static>(
    text: &Bound<'_, PyAny>,
    preset: Option<&str>,
    config: Option<&Bound<'_, PyAny>>,
    settings: Option<&Bound<'_, PyDict>>,
    work: impl FnOnce(&Analyzer, &Content) -> T + Send + 'static,
) -> PyResult<T> {
    let analyzer = PyAnalyzer::new(settings::config(preset, config, settings)?)?;
    let content = analyzer.content(text, "text")?;
    let progress = Progress::none().inline_if(texts::size(&content) <= INLINE_BYTES);
    run_detached(text.py(), progress, move |_| work(&analyzer, &content))
}
