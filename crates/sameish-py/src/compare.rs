//! Two texts side by side.

use crate::results::Class;
use crate::settings;
use crate::texts;
use crate::work::{Progress, apart};
use pyo3::prelude::*;
use pyo3::types::PyDict;
use sameish::{Comparison, Content, Engine, Passage};

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
    let (a, b, comparison) = apart(py, &Progress { callback: None, total: 1 }, move |_| {
        let comparison = engine.compare(&a, &b, min_tokens);
        (a, b, comparison)
    })?;
    let places = [
        Places::of(&a, &comparison, |p| [p.a_start, p.a_end]),
        Places::of(&b, &comparison, |p| [p.b_start, p.b_end]),
    ];
    let passages = comparison.passages.iter().map(|passage| {
        let Passage { a_start, a_end, b_start, b_end, tokens } = *passage;
        let [x, y] = &places;
        PASSAGE.make(py, (x.of_byte(a_start), x.of_byte(a_end), y.of_byte(b_start), y.of_byte(b_end), tokens))
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

/// Which character begins at a byte: Python's strings are sliced by characters.
struct Places {
    /// Bytes of interest, ascending, and the characters before each. Empty where bytes are characters.
    known: Vec<(usize, usize)>,
}

impl Places {
    fn of(content: &Content, comparison: &Comparison, ends: impl Fn(&Passage) -> [usize; 2]) -> Places {
        let text = match content {
            Content::Text(text) => text,
            Content::Tokens(tokens) => &tokens.join(" "),
        };
        if text.is_ascii() {
            return Places { known: Vec::new() };
        }
        let mut bytes: Vec<usize> = comparison.passages.iter().flat_map(ends).collect();
        bytes.sort_unstable();
        bytes.dedup();
        let (mut at, mut characters, mut known) = (0, 0, Vec::with_capacity(bytes.len()));
        for byte in bytes {
            characters += text.get(at..byte).map_or(0, |between| between.chars().count());
            at = byte;
            known.push((byte, characters));
        }
        Places { known }
    }

    fn of_byte(&self, byte: usize) -> usize {
        let at = self.known.binary_search_by_key(&byte, |&(byte, _)| byte);
        at.map_or(byte, |at| self.known[at].1)
    }
}
