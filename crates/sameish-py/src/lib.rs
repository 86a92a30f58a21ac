//! How does Python ask?
//!
//! A thin layer over the engine: values are translated, the interpreter lock is released, and everything else is the
//! engine's. The package's Python side has exceptions, result types and stubs.
//!
//! ```text
//! engine.rs, compare.rs, batch.rs   documents: held, side by side, all at once
//! sketchers.rs, sdr.rs              texts to sketches
//! corpus.rs, indexes.rs             sketches that are near
//! texts.rs, arrow.rs, ids.rs, table.rs  how texts, columns, ids and tables come in
//! numbers.rs, results.rs            how numbers come in, how results go out
//! settings.rs, error.rs, store.rs   what is meant, what is refused, what is kept
//! work.rs, many.rs                  threads, signals, progress; many texts at once
//! guard.rs, analyzer.rs                the lock around what Python holds; who sketches without it
//! ```

mod analyzer;
mod arrow;
mod batch;
mod compare;
mod corpus;
mod engine;
mod error;
mod guard;
mod ids;
mod indexes;
mod many;
mod numbers;
mod results;
mod sdr;
mod settings;
mod sketchers;
mod store;
mod table;
mod texts;
mod work;

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
    module.add_class::<indexes::HammingIndex>()?;
    module.add_class::<indexes::BandIndex>()?;
    module.add_class::<batch::Dedup>()?;
    module.add_function(wrap_pyfunction!(sketchers::simhash, module)?)?;
    module.add_function(wrap_pyfunction!(sketchers::hamming, module)?)?;
    module.add_function(wrap_pyfunction!(compare::compare, module)?)?;
    module.add_function(wrap_pyfunction!(batch::dedup, module)?)?;
    module.add_function(wrap_pyfunction!(batch::pairs, module)?)?;
    module.add_function(wrap_pyfunction!(batch::cluster, module)?)?;
    Ok(())
}
