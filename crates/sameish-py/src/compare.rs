//! Comparison of two texts.

use crate::analyzer::PyAnalyzer;
use crate::ids;
use crate::interrupt::{INLINE_BYTES, Progress, run_detached};
use crate::numbers::at_least;
use crate::results::ResultClass;
use crate::settings;
use crate::texts;
use pyo3::prelude::*;
use pyo3::types::PyDict;
use sameish::Comparison;
use sameish::matching::{Difference, OffsetUnit, Passage, Relation};

static COMPARISON: ResultClass = ResultClass::new("Comparison");
static DIFFERENCE: ResultClass = ResultClass::new("Difference");
static PASSAGE: ResultClass = ResultClass::new("Passage");

/// Compares two texts with every measure and finds the passages they share.
///
/// Args:
///     a: First text: a str, or a list of tokens. Also bytes if the settings are `lossy`.
///     b: Second text, of the same types as `a`.
///     preset: Name of the preset; default `"copies"`. See `Engine`.
///     min_tokens: Minimum length of a shared passage in words, at least 1; default 5.
///     published_at_a: Publication date of the first text: ISO 8601 str, `datetime`, `date`, NumPy or
///         pandas timestamp; default None. With both dates, `relation` can be `"update_of"` or `"updated_by"`.
///     published_at_b: Publication date of the second text; default None.
///     config: Configuration file in TOML, or a mapping with its contents; default None.
///     threshold: Minimum similarity of a match, greater than 0 and at most 1. Default: that of the preset.
///     tokenizer: `"unicode"`, `"ascii-words"` or `"whitespace"`. Default: that of the preset.
///     stop_words: Words that are removed: those of a language, as a two-letter code such as `"en"`, or
///         a list of words; or None.
///     min_words: Minimum number of words, without stop words; a text with fewer words is too short.
///     lossy: Whether texts may be bytes, with invalid UTF-8 replaced by U+FFFD.
///     fold_accents: Whether accents, Arabic vowel signs and Hebrew points are removed before texts are
///         compared.
///     html: Whether texts are HTML, whose markup is removed before texts are compared.
///     text: Other settings of the section `text` of a configuration file, as a mapping.
///     simhash: Settings of SimHash fingerprints, as a mapping, or None.
///     minhash: Settings of MinHash signatures, as a mapping, or None.
///     sdr: Settings of sparse codes, as a mapping, or None.
///     matching: Other settings of the section `matching` of a configuration file, as a mapping.
///
/// Returns:
///     A `Comparison`.
///
/// Examples:
///     >>> import sameish
///     >>> a = "The council voted on Monday to close the old bridge for repairs until spring."
///     >>> b = "The council voted on Tuesday to close the old bridge for repairs until spring."
///     >>> comparison = sameish.compare(a, b)
///     >>> comparison.match_type
///     'similar'
///     >>> comparison.relation
///     'overlaps'
///     >>> [a[p.a_start:p.a_end] for p in comparison.passages]
///     ['to close the old bridge for repairs until spring']
#[pyfunction]
#[pyo3(signature = (
    a, b, *, preset=None, min_tokens=5, published_at_a=None, published_at_b=None, config=None, **overrides
))]
#[allow(clippy::too_many_arguments)]
pub(crate) fn compare<'py>(
    a: &Bound<'py, PyAny>,
    b: &Bound<'py, PyAny>,
    preset: Option<&str>,
    min_tokens: i64,
    published_at_a: Option<&Bound<'py, PyAny>>,
    published_at_b: Option<&Bound<'py, PyAny>>,
    config: Option<&Bound<'_, PyAny>>,
    overrides: Option<&Bound<'_, PyDict>>,
) -> PyResult<Bound<'py, PyAny>> {
    let analyzer = PyAnalyzer::new(settings::config(preset, config, overrides)?)?;
    compare_with(&analyzer, a, b, min_tokens, [published_at_a, published_at_b])
}

/// Compares two texts, which may have dates, with an analyzer.
pub(crate) fn compare_with<'py>(
    analyzer: &PyAnalyzer,
    a: &Bound<'py, PyAny>,
    b: &Bound<'py, PyAny>,
    min_tokens: i64,
    [published_at_a, published_at_b]: [Option<&Bound<'py, PyAny>>; 2],
) -> PyResult<Bound<'py, PyAny>> {
    let py = a.py();
    let date = |value: Option<&Bound<'py, PyAny>>, name| match value {
        Some(value) => ids::date(value, name),
        None => Ok(None),
    };
    let dates = date(published_at_a, "`published_at_a`")?.zip(date(published_at_b, "`published_at_b`")?);
    let min_tokens = at_least(min_tokens, "min_tokens", 1)?;
    let a = analyzer.content(a, "`a`")?;
    let b = analyzer.content(b, "`b`")?;
    let progress = Progress::none().inline_if(texts::size(&a) + texts::size(&b) <= INLINE_BYTES);
    let analyzer = analyzer.clone();
    let comparison = run_detached(py, progress, move |_| {
        let mut comparison = analyzer.compare(&a, &b, min_tokens);
        // Slices of Python strings count characters; slices of lists count tokens.
        comparison.passages = comparison.passages_in(&a, &b, OffsetUnit::Chars);
        comparison.differences = comparison.differences_in(&a, &b, OffsetUnit::Chars);
        comparison
    })?;
    let relation = comparison.relation(dates.map(|(a, b)| [a, b]));
    to_python(py, comparison, relation)
}

fn to_python<'py>(
    py: Python<'py>,
    comparison: Comparison,
    relation: Option<Relation>,
) -> PyResult<Bound<'py, PyAny>> {
    let passages = comparison.passages.iter().map(|passage| {
        let Passage { a_start, a_end, b_start, b_end, tokens } = *passage;
        PASSAGE.create(py, (a_start, a_end, b_start, b_end, tokens))
    });
    let passages = passages.collect::<PyResult<Vec<_>>>()?;
    let differences = comparison.differences.iter().map(|difference| {
        let Difference { a_start, a_end, b_start, b_end, kind } = *difference;
        DIFFERENCE.create(py, (a_start, a_end, b_start, b_end, kind.name()))
    });
    let differences = differences.collect::<PyResult<Vec<_>>>()?;
    // The conversion of tuples supports at most 12 fields.
    let first = (
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
    let (facts, template) = (comparison.facts, comparison.template);
    let relation = relation.map(Relation::name);
    let last =
        (passages, comparison.coverage_a, comparison.coverage_b, facts, template, differences, relation);
    let fields = first.into_pyobject(py)?.as_sequence().concat(last.into_pyobject(py)?.as_sequence())?;
    COMPARISON.create(py, fields.to_tuple()?)
}
