//! Tests of the program. They form one test program, because each program is linked and run on its own.

#![allow(clippy::unwrap_used)]

#[path = "../common/mod.rs"]
mod common;

mod audit;
mod bad_inputs;
mod batch;
mod compare;
mod dedup;
mod docs;
mod ends;
mod eval;
mod first_use;
mod groups;
mod index;
mod inputs;
mod outputs;
mod parquet;
mod resume;
mod serve;
mod tune;
