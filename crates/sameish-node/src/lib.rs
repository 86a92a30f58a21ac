//! The native addon of the Node package `sameish`.
//!
//! The addon is a thin layer: `lib/*.cjs` validates the arguments and reports invalid ones, the crates `sameish` and
//! `sameish-batch` do the work, and this crate converts values between JavaScript and Rust.
//!
//! ```text
//! wire.rs         functions of the FNV-1a SimHash news grouper
//! analyzer.rs     settings, sketches and comparisons without documents
//!   sketches.rs     sketches of texts and of hashed features
//!   compare.rs      comparison of two texts, with offsets in UTF-16 units
//! engine.rs       documents: insert, remove, search
//!   batch.rs        inserts of many documents, prepared by all cores
//!   results.rs      lists of matches, pairs and clusters, passed to JavaScript in chunks
//!   pair_stream.rs  a stream of all pairs, in bounded memory
//!   file.rs         saved engines
//! indexes.rs      `HammingIndex` and `BandIndex`: numbered documents by sketch
//! stored.rs       sketches in their stored form
//! functions.rs    `dedup`, `pairs` and `cluster` over a whole corpus, in memory or in files
//! id.rs, error.rs, job.rs   ids, errors with codes, and work on other threads
//! ```
//!
//! Every exported function catches panics, so that a defect of the addon becomes a JavaScript error and does not end the
//! process. Modules are public because the compiler does not see that JavaScript uses their items.

#![deny(unsafe_code)]

pub mod analyzer;
pub mod batch;
pub mod compare;
pub mod engine;
pub mod error;
mod file;
pub mod functions;
mod id;
pub mod indexes;
pub mod job;
pub mod pair_stream;
pub mod results;
pub mod sketches;
pub mod stored;
pub mod wire;
