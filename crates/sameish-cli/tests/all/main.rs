//! Tests of the program. They form one test program, because each program is linked and run on its own.

#![allow(clippy::unwrap_used)]

#[path = "../common/mod.rs"]
mod common;

mod audit;
mod bad_inputs;
mod batch;
mod compare;
mod crowds;
mod dedup;
mod docs;
mod ends;
mod eval;
mod facts;
mod first_use;
mod groups;
mod hamming;
mod index;
mod inputs;
mod outputs;
mod parquet;
mod resume;
mod serve;
mod sketches;
mod tune;
