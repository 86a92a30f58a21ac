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
//! corpus.rs               Corpus
//! hamming_index.rs        HammingIndex
//! band_index.rs           BandIndex
//! analyzer.rs             sketching and preparing texts
//! parallel.rs             many texts on many threads
//! interrupt.rs, lock.rs   threads, signals, progress, and locks that Ctrl-C interrupts
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
mod file;
mod hamming_index;
mod ids;
mod interrupt;
mod lock;
mod numbers;
mod parallel;
mod results;
mod run;
mod sdr;
mod settings;
mod sketchers;
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
    module.add_function(wrap_pyfunction!(compare::compare, module)?)?;
    module.add_function(wrap_pyfunction!(batch::_dedup, module)?)?;
    module.add_function(wrap_pyfunction!(batch::_pairs, module)?)?;
    module.add_function(wrap_pyfunction!(batch::_cluster, module)?)?;
    module.add_function(wrap_pyfunction!(documents::_known_suffix, module)?)?;
    Ok(())
}
