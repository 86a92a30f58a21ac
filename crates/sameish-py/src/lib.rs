//! Python bindings of sameish.
//!
//! Converts Python values, releases the GIL and calls the engine. Exceptions, result types and type stubs are Python files
//! in `python/sameish`.
//!
//! ```text
//! engine.rs, file.rs      Engine, and engines in files
//! compare.rs              compare
//! batch.rs, run.rs        dedup, pairs and cluster, and how they run
//! documents.rs, table.rs  the data they accept: files, tables and lists
//! sketchers.rs, sdr.rs    SimHasher, MinHasher, SdrEncoder
//! stored.rs               encode_sketch, decode_sketch
//! corpus.rs               Corpus
//! hamming_index.rs        HammingIndex
//! fingerprints.rs         fingerprint_pairs, fingerprint_groups
//! inspect.rs              tokenize, shingle, normalize
//! band_index.rs           BandIndex
//! analyzer.rs             sketching and preparing texts
//! parallel.rs             many texts on many threads
//! interrupt.rs, lock.rs   threads, signals, progress, and locks that Ctrl-C interrupts
//! steps.rs, export.rs     the steps of a batch over Arrow tables
//! report.rs               the HTML report of `dedup`
//! texts.rs, arrow.rs      texts from strings and Arrow columns
//! ids.rs, numbers.rs      ids, dates, integers, arrays
//! settings.rs, error.rs   configuration and exceptions
//! results.rs              named tuples
//! ```

mod analyzer;
mod arrow;
mod band_index;
mod batch;
mod compare;
mod corpus;
mod documents;
mod engine;
mod error;
mod export;
mod file;
mod fingerprints;
mod hamming_index;
mod ids;
mod inspect;
mod interrupt;
mod lock;
mod numbers;
mod parallel;
mod report;
mod results;
mod run;
mod sdr;
mod settings;
mod sketchers;
mod steps;
mod stored;
mod table;
mod texts;

use pyo3::prelude::*;

#[pymodule]
fn _sameish(module: &Bound<'_, PyModule>) -> PyResult<()> {
    module.add("__version__", env!("CARGO_PKG_VERSION"))?;
    module.add_class::<engine::Engine>()?;
    module.add_class::<sketchers::SimHasher>()?;
    module.add_class::<sketchers::MinHasher>()?;
    module.add_class::<sketchers::Signature>()?;
    module.add_class::<sdr::SdrEncoder>()?;
    module.add_class::<sdr::Sdr>()?;
    module.add_class::<corpus::Corpus>()?;
    module.add_class::<corpus::Matches>()?;
    module.add_class::<hamming_index::HammingIndex>()?;
    module.add_class::<band_index::BandIndex>()?;
    module.add_function(wrap_pyfunction!(sketchers::simhash, module)?)?;
    module.add_function(wrap_pyfunction!(sketchers::hamming, module)?)?;
    module.add_function(wrap_pyfunction!(sketchers::distance_to_similarity, module)?)?;
    module.add_function(wrap_pyfunction!(sketchers::match_type, module)?)?;
    module.add_function(wrap_pyfunction!(stored::encode_sketch, module)?)?;
    module.add_function(wrap_pyfunction!(stored::decode_sketch, module)?)?;
    module.add_function(wrap_pyfunction!(compare::compare, module)?)?;
    module.add_function(wrap_pyfunction!(fingerprints::fingerprint_pairs, module)?)?;
    module.add_function(wrap_pyfunction!(fingerprints::fingerprint_groups, module)?)?;
    module.add_function(wrap_pyfunction!(inspect::tokenize, module)?)?;
    module.add_function(wrap_pyfunction!(inspect::shingle, module)?)?;
    module.add_function(wrap_pyfunction!(inspect::normalize, module)?)?;
    module.add_function(wrap_pyfunction!(batch::_dedup, module)?)?;
    module.add_function(wrap_pyfunction!(batch::_pairs, module)?)?;
    module.add_function(wrap_pyfunction!(batch::_cluster, module)?)?;
    module.add_function(wrap_pyfunction!(documents::_known_suffix, module)?)?;
    module.add_class::<steps::Steps>()?;
    module.add_class::<steps::CenterFinder>()?;
    module.add_class::<steps::Needed>()?;
    module.add_function(wrap_pyfunction!(report::_report, module)?)?;
    module.add_function(wrap_pyfunction!(report::_length_classes, module)?)?;
    module.add_function(wrap_pyfunction!(steps::_config_toml, module)?)?;
    module.add_function(wrap_pyfunction!(steps::_bins, module)?)?;
    module.add_function(wrap_pyfunction!(steps::_components, module)?)?;
    module.add_function(wrap_pyfunction!(steps::_star_counts, module)?)?;
    module.add_function(wrap_pyfunction!(steps::_stars, module)?)?;
    module.add_function(wrap_pyfunction!(steps::_hamming_buckets, module)?)?;
    module.add_function(wrap_pyfunction!(steps::_hamming_keys, module)?)?;
    module.add_function(wrap_pyfunction!(steps::_ranks, module)?)?;
    Ok(())
}
