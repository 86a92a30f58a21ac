//! Output files: atomic, optionally compressed.

pub(crate) mod compressed;
pub mod file;
pub mod jsonl;
pub(crate) mod parquet;
mod suffix;
pub mod temporary;

pub use compressed::{CompressedOutput, OutputCompression};
pub use suffix::check_suffix;
