//! Comparison of texts.

use super::rows::{Rows, list};
use crate::arrow::{self, utf8_texts};
use crate::error::setting_error;
use crate::export::Columns;
use arrow_array::{Array, ArrayRef, BooleanArray, Float64Array, Int32Array, Int64Array, StringArray};
use parking_lot::Mutex;
use pyo3::prelude::*;
use sameish::sketch::Outline;
use sameish::{Fingerprint, Verdict};
use sameish_batch::columns::{BinText, BinVerifier, Heads, Member};
use std::sync::Arc;

/// Matching pairs.
#[derive(Default)]
pub(super) struct Found {
    pub(super) rows: Vec<(i64, i64, Verdict, bool)>,
}

impl Found {
    pub(super) fn into_columns(self) -> PyResult<Columns> {
        let rows = &self.rows;
        let integers = |value: fn(&(i64, i64, Verdict, bool)) -> i64| -> ArrayRef {
            Arc::new(Int64Array::from_iter_values(rows.iter().map(value)))
        };
        let flags = |value: fn(&(i64, i64, Verdict, bool)) -> bool| -> ArrayRef {
            Arc::new(BooleanArray::from(rows.iter().map(value).collect::<Vec<bool>>()))
        };
        let verdicts = || rows.iter().map(|row| row.2);
        let distances: Int32Array =
            verdicts().map(|verdict| verdict.distance.map(|bits| bits as i32)).collect();
        Columns::new(vec![
            ("a", integers(|row| row.0)),
            ("b", integers(|row| row.1)),
            (
                "similarity",
                Arc::new(Float64Array::from_iter_values(verdicts().map(|verdict| verdict.similarity))),
            ),
            (
                "match_type",
                Arc::new(StringArray::from_iter_values(verdicts().map(|verdict| verdict.kind.name()))),
            ),
            ("verified", flags(|row| row.2.verified)),
            ("simhash_distance", Arc::new(distances)),
            ("facts", Arc::new(verdicts().map(|verdict| verdict.facts).collect::<Float64Array>())),
            ("template", flags(|row| row.2.template)),
            ("joins", flags(|row| row.3)),
        ])
    }
}

/// Compares texts in bins.
#[pyclass(frozen, module = "sameish._sameish", name = "_Verifier")]
pub(crate) struct Verifier(pub(super) Mutex<(BinVerifier, u64)>);

#[pymethods]
impl Verifier {
    /// Returns the matches among the next rows. A row with `text` is a document `a` of a bin, a row with `b` a pair.
    fn push(&self, py: Python<'_>, table: &Bound<'_, PyAny>) -> PyResult<Columns> {
        let batches = Rows::read(table)?;
        py.detach(|| {
            let (verifier, compared) = &mut *self.0.lock();
            let mut found = Found::default();
            for rows in &batches {
                verify_rows(rows, verifier, compared, &mut found)?;
            }
            found.into_columns()
        })
    }

    /// Returns the number of comparisons, then their number per hundredth of similarity.
    fn counts(&self) -> Vec<u64> {
        let (verifier, compared) = &*self.0.lock();
        counts(*compared, verifier.histogram())
    }
}

fn counts(compared: u64, histogram: &[u64]) -> Vec<u64> {
    std::iter::once(compared).chain(histogram.iter().copied()).collect()
}

fn verify_rows(
    rows: &Rows,
    verifier: &mut BinVerifier,
    compared: &mut u64,
    found: &mut Found,
) -> PyResult<()> {
    let bins = rows.numbers("bin")?;
    let first = rows.numbers("a")?;
    let second = rows.integers("b")?;
    let texts = arrow::column(std::slice::from_ref(&rows.batch), "text")?.remove(0);
    let texts = utf8_texts(&texts, true)?;
    let too_short = rows.flags("too_short")?;
    let fingerprints = rows.fingerprints()?;
    for (row, text) in texts.iter().enumerate() {
        let (bin, a) = (bins.value(row), first.value(row));
        if second.is_null(row) {
            let text = text.as_deref().unwrap_or_default();
            let (too_short, fingerprint) = (too_short[row], fingerprints[row]);
            verifier.add(bin, BinText { doc: a, text, too_short, fingerprint });
            continue;
        }
        let b = second.value(row);
        let Some(verdict) = verifier.verify(bin, a, b) else {
            return Err(setting_error(format!(
                "the text of document {a} or {b} is missing in bin {bin}: the input changed during the run"
            )));
        };
        *compared += 1;
        found.rows.extend(verdict.map(|verdict| (a, b, verdict, verifier.joins(&verdict))));
    }
    Ok(())
}

/// Documents with their buckets and texts.
pub(super) struct MemberRows {
    pub(super) rows: Rows,
    docs: Int64Array,
    keys: ArrayRef,
    texts: Vec<Option<String>>,
    outlines: Vec<Option<Outline>>,
    too_short: Vec<bool>,
    fingerprints: Vec<Option<Fingerprint>>,
}

impl MemberRows {
    pub(super) fn read(table: &Bound<'_, PyAny>) -> PyResult<Vec<MemberRows>> {
        Rows::read(table)?.into_iter().map(MemberRows::new).collect()
    }

    fn new(rows: Rows) -> PyResult<MemberRows> {
        let keys = rows.lists("keys")?;
        let texts = arrow::column(std::slice::from_ref(&rows.batch), "text")?.remove(0);
        let texts =
            utf8_texts(&texts, true)?.iter().map(|text| text.as_ref().map(ToString::to_string)).collect();
        Ok(MemberRows {
            docs: rows.numbers("doc")?,
            outlines: rows.outlines()?,
            too_short: rows.flags("too_short")?,
            fingerprints: rows.fingerprints()?,
            keys,
            texts,
            rows,
        })
    }

    pub(super) fn len(&self) -> usize {
        self.rows.len()
    }

    pub(super) fn keys(&self, row: usize) -> Vec<i64> {
        list(&self.keys, row)
    }

    pub(super) fn member(&self, row: usize) -> Member {
        Member {
            doc: self.docs.value(row),
            reference: false,
            outline: self.outlines[row],
            fingerprint: self.fingerprints[row],
        }
    }

    pub(super) fn text(&self, row: usize) -> BinText<'_> {
        BinText {
            doc: self.docs.value(row),
            text: self.texts[row].as_deref().unwrap_or_default(),
            too_short: self.too_short[row],
            fingerprint: self.fingerprints[row],
        }
    }
}

/// Compares texts with the first members of large buckets.
#[pyclass(frozen, module = "sameish._sameish", name = "_Heads")]
pub(crate) struct HeadVerifier(pub(super) Mutex<Heads>);

#[pymethods]
impl HeadVerifier {
    /// Returns the matches of the next documents.
    fn push(&self, py: Python<'_>, table: &Bound<'_, PyAny>) -> PyResult<Columns> {
        let batches = MemberRows::read(table)?;
        py.detach(|| {
            let mut heads = self.0.lock();
            let mut all = Found::default();
            for rows in &batches {
                for row in 0..rows.len() {
                    let mut found = Vec::new();
                    heads.matches(&rows.keys(row), rows.member(row), rows.text(row), &mut found);
                    let doc = rows.docs.value(row);
                    let pairs =
                        found.into_iter().map(|(head, verdict)| (head, doc, verdict, heads.joins(&verdict)));
                    all.rows.extend(pairs);
                }
            }
            all.into_columns()
        })
    }

    /// Returns the number of comparisons, then their number per hundredth of similarity.
    fn counts(&self) -> Vec<u64> {
        let heads = self.0.lock();
        counts(heads.compared(), heads.histogram())
    }
}
