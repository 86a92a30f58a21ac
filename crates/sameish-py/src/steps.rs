//! The steps of a batch over Arrow tables, for `sameish.arrow` and `sameish.spark`.
//!
//! Each object processes a stream of tables that the caller sorts and distributes; see `sameish_batch::columns`.

use crate::arrow::{self, TextColumn, utf8_texts};
use crate::error::{batch_error, engine_error, type_error};
use crate::export::Columns;
use crate::settings;
use arrow_array::builder::BinaryBuilder;
use parking_lot::Mutex;
use pyo3::prelude::*;
use pyo3::types::PyDict;
use sameish::config::Linkage;
use sameish::{Analyzer, Config};
use sameish_batch::check_dedup;
use sameish_batch::columns::{
    BinVerifier, BucketPairs, CellPairs, CopyKeys, FoundRows, Heads, Profiler, RecallSums, RowSigner, Sides,
    Work, verdict_of_copies,
};
use sameish_batch::functions::dedup_config;
use std::sync::Arc;

mod buckets;
mod centers;
mod needed;
mod packed;
mod ranks;
mod recall;
mod rows;
mod sign;
mod stars;
mod verify;

pub(crate) use buckets::{_hamming_buckets, _hamming_keys, Buckets, Cells};
pub(crate) use centers::CenterFinder;
pub(crate) use needed::Needed;
pub(crate) use packed::{_bins, _components, Packed, Packer};
pub(crate) use ranks::_ranks;
pub(crate) use recall::FoundPairs;
use rows::print;
use sign::{SignedColumns, usable};
pub(crate) use stars::{_star_counts, _stars};
use verify::{Found, MemberRows};
pub(crate) use verify::{HeadVerifier, Verifier};

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
