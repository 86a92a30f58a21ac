//! Output files: atomic, optionally compressed.

pub(crate) mod compressed;
pub mod file;
pub mod jsonl;
pub(crate) mod parquet;
pub mod temporary;

pub use compressed::OutputCompression;
