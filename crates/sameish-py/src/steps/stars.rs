//! Clusters of a corpus with few matches, and their counts.

use super::centers::Attached;
use super::rows::Rows;
use crate::export::Columns;
use arrow_array::builder::{Int64Builder, ListBuilder};
use arrow_array::cast::AsArray;
use arrow_array::types::Float64Type;
use arrow_array::{Array, BooleanArray, Float64Array, Int64Array};
use arrow_schema::DataType;
use pyo3::prelude::*;
use sameish_batch::columns::{Center, Centers, Decision, EarlierMatch, StarCounts};
use std::collections::HashMap;
use std::sync::Arc;

/// A match of two documents.
#[derive(Clone, Copy)]
struct Match {
    a: i64,
    b: i64,
    attached: Attached,
    template: bool,
    joins: bool,
}

/// Clusters documents by all matches of a corpus; a match may occur several times.
///
/// Returns the members of clusters but their centers: columns `doc`, `center`, `similarity`, `facts`, `verified` and `counts`. The
/// first row has only `counts`: the number of members, then the counts of [`_star_counts`].
#[pyfunction]
pub(crate) fn _stars(py: Python<'_>, table: &Bound<'_, PyAny>) -> PyResult<Columns> {
    let batches = Rows::read(table)?;
    py.detach(|| {
        let mut matches = Vec::new();
        for rows in &batches {
            read_matches(rows, &mut matches)?;
        }
        matches.sort_unstable_by_key(|found| (found.b, found.a));
        matches.dedup_by_key(|found| (found.b, found.a));
        let members = decide(&matches);
        let center: HashMap<i64, i64> =
            members.iter().filter_map(|member| Some((member.doc, member.center?.0))).collect();
        let of = |doc: i64| (doc, center.get(&doc).copied());
        let mut counts = StarCounts::default();
        for found in &matches {
            counts.add(of(found.a), of(found.b), found.joins, found.attached.2, found.template);
        }
        stars(&members, counts)
    })
}

fn read_matches(rows: &Rows, matches: &mut Vec<Match>) -> PyResult<()> {
    let (a, b) = (rows.numbers("a")?, rows.numbers("b")?);
    let similarity = rows.column("similarity", &DataType::Float64)?;
    let facts = rows.column("facts", &DataType::Float64)?;
    let (similarity, facts) = (similarity.as_primitive::<Float64Type>(), facts.as_primitive::<Float64Type>());
    let (verified, template, joins) =
        (rows.flags("verified")?, rows.flags("template")?, rows.flags("joins")?);
    for row in 0..rows.len() {
        let facts = facts.is_valid(row).then(|| facts.value(row));
        let attached = (similarity.value(row), facts, verified[row]);
        matches.push(Match {
            a: a.value(row),
            b: b.value(row),
            attached,
            template: template[row],
            joins: joins[row],
        });
    }
    Ok(())
}

/// Returns the documents that belong to an earlier center.
fn decide(matches: &[Match]) -> Vec<Decision<Attached>> {
    let mut centers = Centers::default();
    let mut decided = Vec::new();
    for found in matches.iter().filter(|found| found.joins) {
        let &Match { a: earlier, b: doc, attached, .. } = found;
        let found = EarlierMatch { earlier, state: Center::Yes, doc, open: false, attached };
        centers.push(0, found, &mut decided);
    }
    centers.finish(&mut decided);
    decided.retain(|decision| decision.state == Center::No);
    decided
}

fn stars(members: &[Decision<Attached>], counts: StarCounts) -> PyResult<Columns> {
    let mut listed = ListBuilder::new(Int64Builder::new());
    listed.values().append_value(members.len() as i64);
    listed.values().append_slice(&numbers(counts));
    listed.append(true);
    members.iter().for_each(|_| listed.append(false));
    let rows =
        || std::iter::once(None).chain(members.iter().map(|member| Some((member.doc, member.center?))));
    Columns::new(vec![
        ("doc", Arc::new(rows().map(|row| Some(row?.0)).collect::<Int64Array>())),
        ("center", Arc::new(rows().map(|row| Some(row?.1.0)).collect::<Int64Array>())),
        ("similarity", Arc::new(rows().map(|row| Some(row?.1.1.0)).collect::<Float64Array>())),
        ("facts", Arc::new(rows().map(|row| row?.1.1.1).collect::<Float64Array>())),
        ("verified", Arc::new(rows().map(|row| Some(row?.1.1.2)).collect::<BooleanArray>())),
        ("counts", Arc::new(listed.finish())),
    ])
}

fn numbers(counts: StarCounts) -> [i64; 3] {
    [counts.verified, counts.templates, counts.chains_cut].map(|count| count as i64)
}

/// Counts matches, given the centers `center_a` and `center_b` of their documents: verified matches and templates of centers, and
/// chains that were cut.
#[pyfunction]
pub(crate) fn _star_counts(py: Python<'_>, table: &Bound<'_, PyAny>) -> PyResult<[i64; 3]> {
    let batches = Rows::read(table)?;
    py.detach(|| {
        let mut counts = StarCounts::default();
        for rows in &batches {
            let (a, b) = (rows.numbers("a")?, rows.numbers("b")?);
            let (center_a, center_b) = (rows.integers("center_a")?, rows.integers("center_b")?);
            let (verified, template, joins) =
                (rows.flags("verified")?, rows.flags("template")?, rows.flags("joins")?);
            let center = |centers: &Int64Array, row: usize| centers.is_valid(row).then(|| centers.value(row));
            for row in 0..rows.len() {
                let first = (a.value(row), center(&center_a, row));
                let second = (b.value(row), center(&center_b, row));
                counts.add(first, second, joins[row], verified[row], template[row]);
            }
        }
        Ok(numbers(counts))
    })
}
