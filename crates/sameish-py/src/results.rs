//! Results for Python: the named tuples of `sameish/_types.py`.

use crate::ids;
use crate::interrupt::check_signals_at;
use pyo3::prelude::*;
use pyo3::sync::PyOnceLock;
use pyo3::types::{PyList, PyTuple, PyType};
use pyo3::{BoundObject, IntoPyObjectExt};
use sameish::engine::{Effort, Spread};
use sameish::matching::Relation;
use sameish::{DocId, Groups, Inserted, MatchedPair, Search, Verdict};

/// A class of `sameish/_types.py`, imported once.
pub(crate) struct ResultClass {
    name: &'static str,
    class: PyOnceLock<Py<PyType>>,
}

impl ResultClass {
    pub(crate) const fn new(name: &'static str) -> ResultClass {
        ResultClass { name, class: PyOnceLock::new() }
    }

    /// Creates an instance from its fields.
    pub(crate) fn create<'py>(
        &self,
        py: Python<'py>,
        fields: impl IntoPyObject<'py, Target = PyTuple, Error: Into<PyErr>>,
    ) -> PyResult<Bound<'py, PyAny>> {
        let fields = fields.into_pyobject(py).map_err(Into::into)?.into_bound();
        self.class.import(py, "sameish._types", self.name)?.call1(fields)
    }
}

static FOUND: ResultClass = ResultClass::new("Found");
static INSERTED: ResultClass = ResultClass::new("Inserted");
static MATCH: ResultClass = ResultClass::new("Match");
static PAIR: ResultClass = ResultClass::new("Pair");
static CLUSTER: ResultClass = ResultClass::new("Cluster");

/// Creates an `Inserted`.
pub(crate) fn inserted<'py>(py: Python<'py>, inserted: &Inserted) -> PyResult<Bound<'py, PyAny>> {
    let cluster = inserted.cluster.map(|cluster| cluster.0);
    INSERTED.create(py, (inserted.status.name(), inserted.replaced, cluster))
}

/// Creates a `Found`: a list of items of a class, with the numbers of candidates judged and limits reached.
pub(crate) fn found<'py>(
    py: Python<'py>,
    class: &ResultClass,
    items: impl Iterator<Item = PyResult<Bound<'py, PyAny>>>,
    candidates: u64,
    capped: u64,
) -> PyResult<Bound<'py, PyList>> {
    let items = items.enumerate().map(|(i, item)| check_signals_at(py, i).and(item));
    let items = items.collect::<PyResult<Vec<_>>>()?;
    let class = class.class.import(py, "sameish._types", class.name)?;
    Ok(FOUND.create(py, (items, candidates, capped, class))?.cast_into()?)
}

/// Creates a `Found` of `Match`.
pub(crate) fn matches<'py>(py: Python<'py>, search: &Search) -> PyResult<Bound<'py, PyList>> {
    let matches = search.matches.iter();
    let matches = matches.map(|found| {
        let fields = judged([ids::to_python(py, &found.id)?], &found.verdict, found.relation)?;
        MATCH.create(py, PyTuple::new(py, fields)?)
    });
    found(py, &MATCH, matches, search.candidates as u64, search.capped as u64)
}

/// Returns the fields of `Match` and `Pair`: ids, the fields of the verdict, and the relation.
fn judged<'py, const N: usize>(
    ids: [Bound<'py, PyAny>; N],
    verdict: &Verdict,
    relation: Option<Relation>,
) -> PyResult<Vec<Bound<'py, PyAny>>> {
    let py = ids[0].py();
    let Verdict { similarity, kind, verified, distance, facts, template } = *verdict;
    let verdict = [
        similarity.into_bound_py_any(py)?,
        kind.name().into_bound_py_any(py)?,
        verified.into_bound_py_any(py)?,
        distance.into_bound_py_any(py)?,
        facts.into_bound_py_any(py)?,
        template.into_bound_py_any(py)?,
        relation.map(Relation::name).into_bound_py_any(py)?,
    ];
    Ok(ids.into_iter().chain(verdict).collect())
}

/// A matching pair that owns its ids.
pub(crate) struct OwnedPair {
    a: DocId,
    b: DocId,
    verdict: Verdict,
    relation: Option<Relation>,
}

impl From<MatchedPair<'_>> for OwnedPair {
    fn from(pair: MatchedPair<'_>) -> OwnedPair {
        let MatchedPair { a, b, verdict, relation } = pair;
        OwnedPair { a: a.clone(), b: b.clone(), verdict, relation }
    }
}

/// All matching pairs of an engine.
#[derive(Default)]
pub(crate) struct Pairs {
    pub(crate) pairs: Vec<OwnedPair>,
    pub(crate) effort: Effort,
}

/// Creates a `Found` of `Pair`. `to_python` converts the ids.
pub(crate) fn pairs<'py>(
    py: Python<'py>,
    Pairs { pairs, effort }: &Pairs,
    to_python: impl Fn(&DocId) -> PyResult<Bound<'py, PyAny>>,
) -> PyResult<Bound<'py, PyList>> {
    let pairs = pairs.iter().map(|pair| {
        let ids = [to_python(&pair.a)?, to_python(&pair.b)?];
        Ok((ids, pair.verdict, pair.relation))
    });
    found_pairs(py, pairs, effort)
}

/// The ids of a pair, how the documents match, and how the first one relates to the second one.
type PairFields<'py> = ([Bound<'py, PyAny>; 2], Verdict, Option<Relation>);

/// Creates a `Found` of `Pair`.
pub(crate) fn found_pairs<'py>(
    py: Python<'py>,
    pairs: impl Iterator<Item = PyResult<PairFields<'py>>>,
    effort: &Effort,
) -> PyResult<Bound<'py, PyList>> {
    let pairs = pairs.map(|pair| {
        let (ids, verdict, relation) = pair?;
        PAIR.create(py, PyTuple::new(py, judged(ids, &verdict, relation)?)?)
    });
    found(py, &PAIR, pairs, effort.candidates, effort.capped)
}

/// Creates a `Found` of `Cluster`. `to_python` converts the ids.
pub(crate) fn clusters<'py>(
    py: Python<'py>,
    Groups { groups, effort, .. }: &Groups,
    to_python: impl Fn(&DocId) -> PyResult<Bound<'py, PyAny>>,
) -> PyResult<Bound<'py, PyList>> {
    let clusters = groups.iter().map(|group| {
        let members = group.members.iter().map(&to_python).collect::<PyResult<Vec<_>>>()?;
        Ok((members, group.spread))
    });
    found_clusters(py, clusters, effort)
}

/// Creates a `Found` of `Cluster` from the ids of the members, the center first.
pub(crate) fn found_clusters<'py>(
    py: Python<'py>,
    clusters: impl Iterator<Item = PyResult<(Vec<Bound<'py, PyAny>>, Spread)>>,
    effort: &Effort,
) -> PyResult<Bound<'py, PyList>> {
    let clusters = clusters.map(|cluster| {
        let (members, spread) = cluster?;
        let (similarity, distance) = match spread {
            Spread::MeanSimilarity(mean) => (Some(mean), None),
            Spread::AverageDistance(mean) => (None, Some(mean)),
        };
        let center = members.first().cloned();
        CLUSTER.create(py, (center, members, similarity, distance))
    });
    found(py, &CLUSTER, clusters, effort.candidates, effort.capped)
}
