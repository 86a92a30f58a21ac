//! How does an answer leave?
//!
//! Data goes to standard output or to a file that appears when it is whole; words go to standard error.

pub(crate) mod agreement;
pub(crate) mod audit;
pub(crate) mod escape;
pub(crate) mod figures;
pub(crate) mod file;
pub(crate) mod html;
pub(crate) mod jsonl;
pub(crate) mod leftovers;
pub(crate) mod messages;
pub(crate) mod packed;
pub(crate) mod parquet;
pub(crate) mod plot;
pub(crate) mod progress;
pub(crate) mod report;
pub(crate) mod table;
