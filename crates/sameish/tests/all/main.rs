//! Tests of the library. They form one test program, because each program is linked and run on its own.

#![allow(clippy::unwrap_used, clippy::print_stdout)]

use sameish::random;

mod accents_table;
mod agreement;
mod collected;
mod crowds;
mod edges;
mod engine;
mod facts;
mod golden;
mod hamming;
mod languages;
mod laws;
mod scenarios;
mod scripts;
#[cfg(feature = "serde")]
mod serde;
mod sketch_vectors;
mod stored_engine;
mod theory;
mod tokenizer;
mod unicode_table;
mod wider;
