//! What is given back?
//!
//! Named tuples of `sameish/_types.py`: they compare, pickle and become rows of a frame.

use crate::ids;
use crate::work::glance;
use pyo3::BoundObject;
use pyo3::prelude::*;
use pyo3::sync::PyOnceLock;
use pyo3::types::{PyList, PyTuple, PyType};
use sameish::{Effort, Groups, Inserted, Match, MatchedPair, Search, Spread, Verdict};

/// A class of `_types.py`, imported once.
pub(crate) struct Class {
    name: &'static str,
    class: PyOnceLock<Py<PyType>>,
}

impl Class {
    pub(crate) const fn new(name: &'static str) -> Class {
        Class { name, class: PyOnceLock::new() }
    }

    /// One of them with these fields.
    pub(crate) fn make<'py>(
        &self,
        py: Python<'py>,
        fields: impl IntoPyObject<'py, Target = PyTuple, Error: Into<PyErr>>,
    ) -> PyResult<Bound<'py, PyAny>> {
        let fields = fields.into_pyobject(py).map_err(Into::into)?.into_bound();
        self.class.import(py, "sameish._types", self.name)?.call1(fields)
    }
}

static FOUND: Class = Class::new("Found");
static INSERTED: Class = Class::new("Inserted");
static MATCH: Class = Class::new("Match");
static PAIR: Class = Class::new("Pair");
static CLUSTER: Class = Class::new("Cluster");

pub(crate) fn inserted<'py>(py: Python<'py>, inserted: &Inserted) -> PyResult<Bound<'py, PyAny>> {
    let cluster = inserted.cluster.map(|cluster| cluster.0);
    INSERTED.make(py, (inserted.status.name(), inserted.replaced, cluster))
}

/// A list that knows how far one looked for it.
pub(crate) fn found<'py>(
    py: Python<'py>,
    items: impl Iterator<Item = PyResult<Bound<'py, PyAny>>>,
    candidates: u64,
    capped: u64,
) -> PyResult<Bound<'py, PyList>> {
    let attended = items.enumerate().map(|(i, item)| glance(py, i).and(item));
    let items = attended.collect::<PyResult<Vec<_>>>()?;
    Ok(FOUND.make(py, (items, candidates, capped))?.cast_into()?)
}

pub(crate) fn matches<'py>(py: Python<'py>, search: &Search) -> PyResult<Bound<'py, PyList>> {
    let Search { matches, candidates, capped, .. } = search;
    found(py, matches.iter().map(|found| matched(py, found)), *candidates as u64, *capped as u64)
}

fn matched<'py>(py: Python<'py>, found: &Match) -> PyResult<Bound<'py, PyAny>> {
    let Match { id, verdict, .. } = found;
    let Verdict { similarity, kind, verified, distance, facts, template } = verdict;
    let id = ids::to_python(py, id)?;
    MATCH.make(py, (id, *similarity, kind.name(), *verified, *distance, *facts, *template))
}

/// A pair that outlives the engine it was found in.
pub(crate) struct OwnedPair {
    pub(crate) a: sameish::DocId,
    pub(crate) b: sameish::DocId,
    similarity: f64,
    kind: sameish::MatchKind,
    verified: bool,
    distance: Option<u32>,
    facts: Option<f64>,
    template: bool,
}

impl From<MatchedPair<'_>> for OwnedPair {
    fn from(pair: MatchedPair<'_>) -> OwnedPair {
        let MatchedPair { a, b, verdict } = pair;
        let Verdict { similarity, kind, verified, distance, facts, template } = verdict;
        OwnedPair { a: a.clone(), b: b.clone(), similarity, kind, verified, distance, facts, template }
    }
}

/// Pairs, with ids as `named` gives them.
pub(crate) fn pairs<'py>(
    py: Python<'py>,
    (pairs, effort): &(Vec<OwnedPair>, Effort),
    named: impl Fn(&sameish::DocId) -> PyResult<Bound<'py, PyAny>>,
) -> PyResult<Bound<'py, PyList>> {
    let pairs = pairs.iter().map(|pair| {
        let OwnedPair { a, b, similarity, kind, verified, distance, facts, template } = pair;
        let (a, b) = (named(a)?, named(b)?);
        PAIR.make(py, (a, b, *similarity, kind.name(), *verified, *distance, *facts, *template))
    });
    found(py, pairs, effort.candidates, effort.capped)
}

/// Groups, with ids as `named` gives them.
pub(crate) fn clusters<'py>(
    py: Python<'py>,
    Groups { groups, effort, .. }: &Groups,
    named: impl Fn(&sameish::DocId) -> PyResult<Bound<'py, PyAny>>,
) -> PyResult<Bound<'py, PyList>> {
    let clusters = groups.iter().map(|group| {
        let members = group.members.iter().map(&named).collect::<PyResult<Vec<_>>>()?;
        let (similarity, distance) = match group.spread {
            Spread::MeanSimilarity(mean) => (Some(mean), None),
            Spread::AverageDistance(mean) => (None, Some(mean)),
        };
        CLUSTER.make(py, (named(&group.center)?, members, similarity, distance))
    });
    found(py, clusters, effort.candidates, effort.capped)
}
