//! The steps of a batch over Arrow tables, for `sameish.arrow` and `sameish.spark`.
//!
//! Each object processes a stream of tables that the caller sorts and distributes; see `sameish_batch::columns`.

use crate::arrow::{self, TextColumn, utf8_texts};
use crate::error::{batch_error, engine_error, setting_error, type_error};
use crate::export::Columns;
use crate::settings;
use arrow_array::builder::{BinaryBuilder, Int64Builder, ListBuilder};
use arrow_array::cast::AsArray;
use arrow_array::types::{Float64Type, Int8Type, Int64Type};
use arrow_array::{
    Array, ArrayRef, BooleanArray, Float64Array, Int8Array, Int32Array, Int64Array, StringArray,
    new_null_array,
};
use arrow_schema::DataType;
use parking_lot::Mutex;
use pyo3::prelude::*;
use pyo3::types::PyDict;
use sameish::config::Linkage;
use sameish::sketch::Outline;
use sameish::{Analyzer, Config, Fingerprint, Verdict};
use sameish_batch::check_dedup;
use sameish_batch::columns::{
    BinText, BinVerifier, BucketPairs, CellMember, CellPairs, Center, Centers, CopyKeys, Decision,
    EarlierMatch, FoundRows, HammingKeys, Heads, Member, NeededRows, Profiler, RecallSums, RowSigner, Sides,
    Work, verdict_of_copies,
};
use sameish_batch::functions::dedup_config;
use sameish_batch::ordered_pool::with_scratch;
use std::borrow::Cow;
use std::sync::Arc;

mod packed;
mod stars;

pub(crate) use packed::{_bins, _components, Packed, Packer};
pub(crate) use stars::{_star_counts, _stars};

/// Returns the configuration of a preset, a configuration and keywords as TOML.
#[pyfunction]
pub(crate) fn _config_toml(
    preset: &str,
    config: Option<&Bound<'_, PyAny>>,
    keywords: &Bound<'_, PyDict>,
    dedup: bool,
) -> PyResult<String> {
    let config = settings::config(Some(preset), config, Some(keywords))?;
    let config = if dedup { dedup_config(config) } else { config };
    let analyzer = Analyzer::new(config).map_err(engine_error)?;
    RowSigner::new(&analyzer, CopyKeys::Normalized).map_err(batch_error)?;
    if dedup {
        check_dedup(&analyzer).map_err(batch_error)?;
    }
    Ok(analyzer.config().to_toml())
}

/// The steps of one configuration.
#[pyclass(frozen, module = "sameish._sameish", name = "_Steps")]
pub(crate) struct Steps {
    analyzer: Analyzer,
    signer: RowSigner,
}

#[pymethods]
impl Steps {
    #[new]
    fn new(config: &str, verbatim: bool) -> PyResult<Steps> {
        let analyzer = Config::from_toml(config).and_then(Analyzer::new).map_err(engine_error)?;
        let copies = if verbatim { CopyKeys::Verbatim } else { CopyKeys::Normalized };
        let signer = RowSigner::new(&analyzer, copies).map_err(batch_error)?;
        Ok(Steps { analyzer, signer })
    }

    /// Returns what callers need to know about the configuration.
    fn describe<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        let config = self.analyzer.config();
        let linkage = match config.matching.linkage {
            Linkage::Greedy => "greedy",
            Linkage::Components => "components",
            Linkage::Cohesive => "cohesive",
            Linkage::Online => "online",
        };
        let described = PyDict::new(py);
        let bands = config.bands().map_err(engine_error)?.map(|bands| (bands.count, bands.rows));
        described.set_item("bands", bands)?;
        described.set_item("keys", self.signer.keys_per_text())?;
        described.set_item("expected_recall", self.analyzer.expected_recall())?;
        described.set_item("threshold", config.matching.threshold)?;
        described.set_item("verify", config.matching.verify)?;
        described.set_item("lossy", config.text.lossy)?;
        described.set_item("linkage", linkage)?;
        described.set_item("scheme", self.signer.scheme().map_err(batch_error)?)?;
        Ok(described)
    }

    /// Signs a column of texts. The column `problem` says why a text cannot be used; it is then signed as an empty text.
    fn sign(&self, py: Python<'_>, texts: &Bound<'_, PyAny>, max_document: usize) -> PyResult<Columns> {
        let Some(chunks) = arrow::chunks(texts)? else {
            return Err(type_error("texts must be an Arrow column"));
        };
        let lossy = self.analyzer.config().text.lossy;
        py.detach(|| {
            let mut rows = SignedColumns::default();
            for chunk in &chunks {
                let column = TextColumn::new(chunk)?;
                let mut texts = Vec::new();
                column.append_to(&mut texts);
                texts.into_iter().for_each(|text| rows.push(&self.signer, usable(text, lossy, max_document)));
            }
            rows.finish()
        })
    }

    /// Returns the profiles of a column of texts, by which pairs of a crowd are rejected; nulls if all pairs are compared.
    fn profiles(&self, py: Python<'_>, texts: &Bound<'_, PyAny>) -> PyResult<Columns> {
        let Some(chunks) = arrow::chunks(texts)? else {
            return Err(type_error("texts must be an Arrow column"));
        };
        let profiler = Profiler::new(&self.analyzer);
        py.detach(|| {
            let mut profiles = BinaryBuilder::new();
            for chunk in &chunks {
                for text in utf8_texts(chunk, true)?.iter() {
                    let profile = profiler
                        .as_ref()
                        .map(|profiler| profiler.profile(text.as_deref().unwrap_or_default()));
                    profiles.append_option(profile);
                }
            }
            Columns::new(vec![("profile", Arc::new(profiles.finish()))])
        })
    }

    /// Returns an object that finds candidates in cells of crowds.
    fn cells(&self, across: bool) -> Cells {
        let sides = if across { Sides::Across } else { Sides::All };
        Cells(Mutex::new(CellPairs::new(&self.analyzer, sides)))
    }

    /// Returns an object that finds candidates in buckets.
    fn buckets(&self, limit: usize, across: bool) -> Buckets {
        let sides = if across { Sides::Across } else { Sides::All };
        Buckets(Mutex::new(BucketPairs::new(&self.analyzer, limit, sides)))
    }

    /// Returns an object that packs members of buckets for a number of parts, without some keys.
    fn packer(&self, parts: usize, excluded: Vec<i64>) -> Packer {
        Packer::new(parts, excluded)
    }

    /// Returns an object that finds candidates among packed members. Buckets with more than `divided` members are only listed.
    fn packed(&self, limit: usize, across: bool, divided: Option<usize>) -> Packed {
        let sides = if across { Sides::Across } else { Sides::All };
        Packed::new(&self.analyzer, limit, sides, divided)
    }

    /// Returns an object that compares texts in bins.
    fn verifier(&self) -> Verifier {
        Verifier(Mutex::new((BinVerifier::new(&self.analyzer), 0)))
    }

    /// Returns an object that compares texts with the first members of large buckets. `table` has these members.
    fn heads(&self, table: &Bound<'_, PyAny>) -> PyResult<HeadVerifier> {
        let mut heads = Heads::new(&self.analyzer);
        for rows in MemberRows::read(table)? {
            (0..rows.len()).for_each(|row| heads.add(&rows.keys(row), rows.member(row), rows.text(row)));
        }
        Ok(HeadVerifier(Mutex::new(heads)))
    }

    /// Returns the verdict for copies with a fingerprint.
    fn copies(&self, fingerprint: Option<i64>) -> PyResult<Columns> {
        let verdict = verdict_of_copies(&self.analyzer, fingerprint.map(print));
        let joins = verdict.is_some_and(|verdict| self.analyzer.judge().joins(&verdict));
        Found { rows: verdict.map(|verdict| (0, 0, verdict, joins)).into_iter().collect() }.into_columns()
    }

    /// Returns an object that adds up pairs for [`recall`](Self::recall).
    fn found(&self) -> FoundPairs {
        FoundPairs(Mutex::new(FoundRows::new(&self.analyzer)))
    }

    /// Returns the estimated recall of a run with these sums, and its interval; `None` without bands. `sums` are the number of
    /// pairs, the expected number of missed pairs and its variance; `work` the numbers of compared, matching and omitted candidates.
    fn recall(&self, sums: (f64, f64, f64), work: (u64, u64, u64)) -> Option<(f64, Option<(f64, f64)>)> {
        let (pairs, missed, variance) = sums;
        let (compared, matched, omitted) = work;
        let sums = RecallSums { pairs, missed, variance };
        let recall = sums.recall(&self.analyzer, Work { compared, matched, omitted })?;
        Some((recall.value, recall.interval.map(|interval| (interval.low, interval.high))))
    }
}

/// Adds up found pairs.
#[pyclass(frozen, module = "sameish._sameish", name = "_Found")]
pub(crate) struct FoundPairs(Mutex<FoundRows>);

#[pymethods]
impl FoundPairs {
    /// Adds the pairs of a table, which is sorted by `group`: columns `group`, `similarity` and `pairs`.
    fn push(&self, table: &Bound<'_, PyAny>) -> PyResult<()> {
        let mut found = self.0.lock();
        for rows in Rows::read(table)? {
            let groups = rows.numbers("group")?;
            let similarity = rows.column("similarity", &DataType::Float64)?;
            let similarity = similarity.as_primitive::<Float64Type>();
            let pairs = rows.numbers("pairs")?;
            for row in 0..rows.len() {
                found.push(groups.value(row), similarity.value(row), pairs.value(row) as u64);
            }
        }
        Ok(())
    }

    /// Returns the sums in one row: `pairs`, `missed` and `variance`.
    fn finish(&self) -> PyResult<Columns> {
        let RecallSums { pairs, missed, variance } = self.0.lock().clone().finish();
        let number = |value: f64| -> ArrayRef { Arc::new(Float64Array::from(vec![value])) };
        Columns::new(vec![
            ("pairs", number(pairs)),
            ("missed", number(missed)),
            ("variance", number(variance)),
        ])
    }
}

/// Columns of signed texts.
#[derive(Default)]
struct SignedColumns {
    too_short: Vec<bool>,
    bytes: Vec<i64>,
    identities: Vec<i64>,
    replaced: Vec<bool>,
    copies: BinaryBuilder,
    outlines: BinaryBuilder,
    fingerprints: Int64Builder,
    keys: ListBuilder<Int64Builder>,
    problems: Vec<Option<String>>,
}

/// Returns a text, or why it cannot be used.
fn usable(text: Option<&[u8]>, lossy: bool, max_document: usize) -> Result<Cow<'_, str>, String> {
    let text = text.ok_or("text is null")?;
    if text.len() > max_document {
        return Err(format!("text is longer than {max_document} bytes"));
    }
    match std::str::from_utf8(text) {
        Ok(text) => Ok(text.into()),
        Err(_) if lossy => Ok(String::from_utf8_lossy(text)),
        Err(_) => Err("text is not valid UTF-8".to_owned()),
    }
}

impl SignedColumns {
    fn push(&mut self, signer: &RowSigner, text: Result<Cow<'_, str>, String>) {
        let (text, problem) = match text {
            Ok(text) => (text, None),
            Err(problem) => ("".into(), Some(problem)),
        };
        // Only a text with invalid UTF-8 is copied.
        self.replaced.push(matches!(text, Cow::Owned(_)));
        let text = &*text;
        self.problems.push(problem);
        let row = with_scratch(|scratch| signer.sign(text, scratch));
        self.too_short.push(row.too_short);
        self.bytes.push(text.len() as i64);
        self.identities.push(row.identity);
        self.copies.append_option(row.copy_key);
        self.outlines
            .append_option(row.outline.map(|outline| outline.to_words().map(u64::to_le_bytes).concat()));
        self.fingerprints.append_option(row.fingerprint.map(|fingerprint| fingerprint.as_u64() as i64));
        self.keys.values().append_slice(&row.keys);
        self.keys.append(true);
    }

    fn finish(mut self) -> PyResult<Columns> {
        Columns::new(vec![
            ("too_short", Arc::new(BooleanArray::from(self.too_short))),
            ("bytes", Arc::new(Int64Array::from(self.bytes))),
            ("identity", Arc::new(Int64Array::from(self.identities))),
            ("replaced", Arc::new(BooleanArray::from(self.replaced))),
            ("copy_key", Arc::new(self.copies.finish())),
            ("outline", Arc::new(self.outlines.finish())),
            ("fingerprint", Arc::new(self.fingerprints.finish())),
            ("keys", Arc::new(self.keys.finish())),
            ("problem", Arc::new(StringArray::from(self.problems))),
        ])
    }
}

fn print(bits: i64) -> Fingerprint {
    Fingerprint::from_u64(bits as u64)
}

/// Rows of a table, by the names of their columns.
struct Rows {
    batch: ArrayRef,
}

impl Rows {
    fn read(table: &Bound<'_, PyAny>) -> PyResult<Vec<Rows>> {
        match arrow::chunks(table)? {
            Some(chunks) if arrow::is_table(&chunks) => {
                Ok(chunks.into_iter().map(|batch| Rows { batch }).collect())
            }
            _ => Err(type_error("must be an Arrow table or record batch")),
        }
    }

    fn len(&self) -> usize {
        self.batch.len()
    }

    fn optional(&self, name: &str) -> Option<ArrayRef> {
        self.batch.as_struct().column_by_name(name).cloned()
    }

    fn column(&self, name: &str, expected: &DataType) -> PyResult<ArrayRef> {
        let column = arrow::column(std::slice::from_ref(&self.batch), name)?.remove(0);
        if column.data_type() == expected {
            return Ok(column);
        }
        if *column.data_type() == DataType::Null {
            return Ok(new_null_array(expected, column.len()));
        }
        Err(type_error(format!("column `{name}` is of type {}: must be {expected}", column.data_type())))
    }

    fn integers(&self, name: &str) -> PyResult<Int64Array> {
        Ok(self.column(name, &DataType::Int64)?.as_primitive::<Int64Type>().clone())
    }

    /// Returns a column of integers without nulls.
    fn numbers(&self, name: &str) -> PyResult<Int64Array> {
        let column = self.integers(name)?;
        if column.null_count() > 0 {
            return Err(type_error(format!("column `{name}` has a null: must have none")));
        }
        Ok(column)
    }

    /// Returns a column of booleans; `false` for nulls, or if there is no such column.
    fn flags(&self, name: &str) -> PyResult<Vec<bool>> {
        if self.optional(name).is_none() {
            return Ok(vec![false; self.len()]);
        }
        let column = self.column(name, &DataType::Boolean)?;
        Ok(column.as_boolean().iter().map(|flag| flag.unwrap_or(false)).collect())
    }

    /// Returns a column of outlines.
    fn outlines(&self) -> PyResult<Vec<Option<Outline>>> {
        let column = arrow::column(std::slice::from_ref(&self.batch), "outline")?.remove(0);
        let bytes = arrow::TextColumn::new(&column)?;
        let mut outlines = Vec::new();
        bytes.append_to(&mut outlines);
        outlines.into_iter().map(|bytes| bytes.map(outline).transpose()).collect()
    }

    /// Returns a column of lists of integers.
    fn lists(&self, name: &str) -> PyResult<ArrayRef> {
        let lists = arrow::column(std::slice::from_ref(&self.batch), name)?.remove(0);
        match lists.data_type() {
            DataType::List(item) if *item.data_type() == DataType::Int64 => Ok(lists),
            _ => Err(type_error(format!("column `{name}` must be lists of 64-bit integers"))),
        }
    }

    fn fingerprints(&self) -> PyResult<Vec<Option<Fingerprint>>> {
        if self.optional("fingerprint").is_none() {
            return Ok(vec![None; self.len()]);
        }
        Ok(self.integers("fingerprint")?.iter().map(|bits| bits.map(print)).collect())
    }
}

/// Returns a list of a column of [`Rows::lists`].
fn list(lists: &ArrayRef, row: usize) -> Vec<i64> {
    lists.as_list::<i32>().value(row).as_primitive::<Int64Type>().values().to_vec()
}

fn outline(bytes: &[u8]) -> PyResult<Outline> {
    let words: Option<[u64; 4]> = <&[u8; 32]>::try_from(bytes).ok().map(|bytes| {
        let (words, _) = bytes.as_chunks::<8>();
        [0, 1, 2, 3].map(|at| u64::from_le_bytes(words[at]))
    });
    words.map(Outline::from_words).ok_or_else(|| type_error("column `outline` must have values of 32 bytes"))
}

/// Finds candidates in a stream of bucket members.
#[pyclass(frozen, module = "sameish._sameish", name = "_Buckets")]
pub(crate) struct Buckets(Mutex<BucketPairs>);

#[pymethods]
impl Buckets {
    /// Returns the candidates of the next members: columns `a` and `b`.
    fn push(&self, py: Python<'_>, table: &Bound<'_, PyAny>) -> PyResult<Columns> {
        let batches = Rows::read(table)?;
        py.detach(|| {
            let mut found = Vec::new();
            let mut buckets = self.0.lock();
            for rows in &batches {
                let keys = rows.numbers("key")?;
                let docs = rows.numbers("doc")?;
                let reference = rows.flags("reference")?;
                let outlines = rows.outlines()?;
                let fingerprints = rows.fingerprints()?;
                for row in 0..rows.len() {
                    let member = Member {
                        doc: docs.value(row),
                        reference: reference[row],
                        outline: outlines[row],
                        fingerprint: fingerprints[row],
                    };
                    buckets.push(keys.value(row), member, &mut found);
                }
            }
            pairs(found)
        })
    }

    /// Returns the number of buckets in which some members were not compared.
    fn capped(&self) -> u64 {
        self.0.lock().capped()
    }

    /// Returns the number of pairs of members that were left out for this reason.
    fn omitted(&self) -> u64 {
        self.0.lock().omitted()
    }
}

/// Finds candidates in a stream of cells of crowds.
#[pyclass(frozen, module = "sameish._sameish", name = "_Cells")]
pub(crate) struct Cells(Mutex<CellPairs>);

#[pymethods]
impl Cells {
    /// Returns the candidates of the cells that are complete: columns `a` and `b`.
    fn push(&self, py: Python<'_>, table: &Bound<'_, PyAny>) -> PyResult<Columns> {
        let batches = Rows::read(table)?;
        py.detach(|| {
            let mut found = Vec::new();
            let mut cells = self.0.lock();
            for rows in &batches {
                let cell_of = rows.numbers("cell")?;
                let docs = rows.numbers("doc")?;
                let blocks = rows.numbers("block")?;
                let keys = rows.lists("keys")?;
                let groups = rows.integers("group")?;
                let reference = rows.flags("reference")?;
                let outlines = rows.outlines()?;
                let fingerprints = rows.fingerprints()?;
                let column = arrow::column(std::slice::from_ref(&rows.batch), "profile")?.remove(0);
                let column = TextColumn::new(&column)?;
                let mut profiles = Vec::new();
                column.append_to(&mut profiles);
                for row in 0..rows.len() {
                    let member = Member {
                        doc: docs.value(row),
                        reference: reference[row],
                        outline: outlines[row],
                        fingerprint: fingerprints[row],
                    };
                    let member = CellMember {
                        member,
                        block: blocks.value(row) as i32,
                        keys: list(&keys, row),
                        profile: profiles[row].map(<[u8]>::to_vec),
                        group: groups.is_valid(row).then(|| groups.value(row)),
                    };
                    cells.push(cell_of.value(row), member, &mut found);
                }
            }
            pairs(found)
        })
    }

    /// Returns the candidates of the last cell.
    fn finish(&self, py: Python<'_>) -> PyResult<Columns> {
        py.detach(|| {
            let mut found = Vec::new();
            self.0.lock().finish(&mut found);
            pairs(found)
        })
    }
}

fn pairs(found: Vec<(i64, i64)>) -> PyResult<Columns> {
    let (a, b): (Vec<i64>, Vec<i64>) = found.into_iter().unzip();
    Columns::new(vec![("a", Arc::new(Int64Array::from(a))), ("b", Arc::new(Int64Array::from(b)))])
}

/// Returns an object that finds fingerprints within a radius in buckets.
#[pyfunction]
pub(crate) fn _hamming_buckets(radius: u32, limit: usize, across: bool) -> Buckets {
    let sides = if across { Sides::Across } else { Sides::All };
    Buckets(Mutex::new(BucketPairs::within(radius, limit, sides)))
}

/// Returns the bucket keys of a column of fingerprints: one list per fingerprint.
#[pyfunction]
pub(crate) fn _hamming_keys(table: &Bound<'_, PyAny>, radius: u32) -> PyResult<Columns> {
    if radius > 15 {
        return Err(setting_error(format!("`radius` is {radius}: must be 0 to 15")));
    }
    let tables = HammingKeys::new(radius).map_err(batch_error)?;
    let mut keys = ListBuilder::new(Int64Builder::new());
    for rows in Rows::read(table)? {
        for fingerprint in rows.integers("fingerprint")?.iter() {
            keys.append_option(fingerprint.map(|bits| tables.of(print(bits)).into_iter().map(Some)));
        }
    }
    Columns::new(vec![("keys", Arc::new(keys.finish()))])
}

/// Matching pairs.
#[derive(Default)]
struct Found {
    rows: Vec<(i64, i64, Verdict, bool)>,
}

impl Found {
    fn into_columns(self) -> PyResult<Columns> {
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
pub(crate) struct Verifier(Mutex<(BinVerifier, u64)>);

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
struct MemberRows {
    rows: Rows,
    docs: Int64Array,
    keys: ArrayRef,
    texts: Vec<Option<String>>,
    outlines: Vec<Option<Outline>>,
    too_short: Vec<bool>,
    fingerprints: Vec<Option<Fingerprint>>,
}

impl MemberRows {
    fn read(table: &Bound<'_, PyAny>) -> PyResult<Vec<MemberRows>> {
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

    fn len(&self) -> usize {
        self.rows.len()
    }

    fn keys(&self, row: usize) -> Vec<i64> {
        list(&self.keys, row)
    }

    fn member(&self, row: usize) -> Member {
        Member {
            doc: self.docs.value(row),
            reference: false,
            outline: self.outlines[row],
            fingerprint: self.fingerprints[row],
        }
    }

    fn text(&self, row: usize) -> BinText<'_> {
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
pub(crate) struct HeadVerifier(Mutex<Heads>);

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

/// What is attached to a match: similarity, facts, and whether it was verified.
type Attached = (f64, Option<f64>, bool);

/// Decides which documents are centers.
#[pyclass(frozen, module = "sameish._sameish", name = "_Centers")]
pub(crate) struct CenterFinder(Mutex<Centers<Attached>>);

#[pymethods]
impl CenterFinder {
    #[new]
    fn new() -> CenterFinder {
        CenterFinder(Mutex::default())
    }

    /// Returns the decisions about the documents whose matches have been read completely.
    fn push(&self, table: &Bound<'_, PyAny>) -> PyResult<Columns> {
        let mut decided = Vec::new();
        let mut centers = self.0.lock();
        for rows in Rows::read(table)? {
            let groups = rows.numbers("part")?;
            let earlier = rows.numbers("a")?;
            let docs = rows.numbers("b")?;
            let states = rows.column("state", &DataType::Int8)?;
            let states: &Int8Array = states.as_primitive::<Int8Type>();
            let open = rows.flags("open")?;
            let verified = rows.flags("verified")?;
            let similarity = rows.column("similarity", &DataType::Float64)?;
            let facts = rows.column("facts", &DataType::Float64)?;
            let (similarity, facts) =
                (similarity.as_primitive::<Float64Type>(), facts.as_primitive::<Float64Type>());
            for row in 0..rows.len() {
                let facts = facts.is_valid(row).then(|| facts.value(row));
                let found = EarlierMatch {
                    earlier: earlier.value(row),
                    state: Center::from_number(if states.is_valid(row) { states.value(row) } else { 0 }),
                    doc: docs.value(row),
                    open: open[row],
                    attached: (similarity.value(row), facts, verified[row]),
                };
                centers.push(groups.value(row), found, &mut decided);
            }
        }
        decisions(&decided)
    }

    /// Returns the last decision.
    fn finish(&self) -> PyResult<Columns> {
        let mut decided = Vec::new();
        self.0.lock().finish(&mut decided);
        decisions(&decided)
    }
}

fn decisions(decided: &[Decision<Attached>]) -> PyResult<Columns> {
    let centers = || decided.iter().map(|decision| decision.center);
    let docs = decided.iter().map(|decision| decision.doc);
    let states = decided.iter().map(|decision| decision.state.number());
    Columns::new(vec![
        ("doc", Arc::new(Int64Array::from_iter_values(docs))),
        ("state", Arc::new(Int8Array::from_iter_values(states))),
        ("center", Arc::new(centers().map(|center| Some(center?.0)).collect::<Int64Array>())),
        ("similarity", Arc::new(centers().map(|center| Some(center?.1.0)).collect::<Float64Array>())),
        ("facts", Arc::new(centers().map(|center| center?.1.1).collect::<Float64Array>())),
        ("verified", Arc::new(centers().map(|center| Some(center?.1.2)).collect::<BooleanArray>())),
    ])
}

/// Returns what decides which of several documents is kept: microseconds of a date, or a number, else a text. The last column
/// marks dates that cannot be read.
#[pyfunction]
pub(crate) fn _ranks(column: &Bound<'_, PyAny>, dates: bool) -> PyResult<Columns> {
    let Some(chunks) = arrow::chunks(column)? else { return Err(type_error("must be an Arrow column")) };
    let mut micros = Int64Builder::new();
    let mut numbers = Vec::new();
    let mut texts: Vec<Option<String>> = Vec::new();
    let mut invalid = Vec::new();
    for chunk in &chunks {
        if dates {
            for date in arrow::microseconds(chunk)? {
                micros.append_option(date.unwrap_or(None));
                numbers.push(None);
                texts.push(None);
                invalid.push(date.is_err());
            }
            continue;
        }
        for text in utf8_texts(chunk, true)?.iter() {
            // As in `sameish dedup --keep field:NAME`.
            let number = text.as_ref().and_then(|text| text.trim().parse::<f64>().ok());
            let number = number.filter(|number| !number.is_nan());
            micros.append_null();
            texts.push(text.filter(|_| number.is_none()).map(|text| text.into_owned()));
            numbers.push(number);
            invalid.push(false);
        }
    }
    Columns::new(vec![
        ("rank", Arc::new(micros.finish())),
        ("rank_number", Arc::new(Float64Array::from(numbers))),
        ("rank_text", Arc::new(StringArray::from(texts))),
        ("bad_date", Arc::new(BooleanArray::from(invalid))),
    ])
}

/// A filter for the rows of a corpus that are needed, in parts that are built independently.
#[pyclass(frozen, module = "sameish._sameish", name = "_Needed")]
pub(crate) struct Needed(Mutex<Vec<NeededRows>>);

#[pymethods]
impl Needed {
    /// Creates an empty filter for a number of rows, in parts.
    #[new]
    fn new(rows: u64, parts: u64) -> Needed {
        let part = NeededRows::for_rows(rows.div_ceil(parts.max(1)));
        Needed(Mutex::new(vec![part; parts.max(1) as usize]))
    }

    /// Creates a filter from its parts.
    #[staticmethod]
    fn from_parts(parts: Vec<Vec<u8>>) -> PyResult<Needed> {
        let parts: Option<Vec<NeededRows>> =
            parts.iter().map(|bytes| NeededRows::from_bytes(bytes)).collect();
        parts.map(|parts| Needed(Mutex::new(parts))).ok_or_else(|| type_error("a part has a wrong length"))
    }

    /// Adds the column `hash` of a table.
    fn add(&self, table: &Bound<'_, PyAny>) -> PyResult<()> {
        let mut parts = self.0.lock();
        for rows in Rows::read(table)? {
            for hash in rows.numbers("hash")?.values() {
                let part = place(*hash, parts.len());
                parts[part].insert(*hash);
            }
        }
        Ok(())
    }

    /// Returns a part.
    fn part(&self, number: usize) -> Vec<u8> {
        self.0.lock()[number].to_bytes()
    }

    /// Returns a column that says which hashes of the column `hash` may be needed.
    fn contains(&self, table: &Bound<'_, PyAny>) -> PyResult<Columns> {
        let parts = self.0.lock();
        let mut found = Vec::new();
        for rows in Rows::read(table)? {
            let hashes = rows.numbers("hash")?;
            found.extend(hashes.values().iter().map(|&hash| parts[place(hash, parts.len())].contains(hash)));
        }
        Columns::new(vec![("needed", Arc::new(BooleanArray::from(found)))])
    }
}

/// Returns the part of a hash: `pmod(hash, parts)` in SQL.
fn place(hash: i64, parts: usize) -> usize {
    hash.rem_euclid(parts as i64) as usize
}
