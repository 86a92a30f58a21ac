//! Input and output that several crates share.
//!
//! ```text
//! atomic_file.rs   files that appear under their name only when they are complete
//! json.rs          strict JSON: no duplicate keys, limited nesting, exact integers
//! ```

#![forbid(unsafe_code)]

mod atomic_file;
pub mod json;

pub use atomic_file::{AtomicFile, parent_directory, sync_parent_directory, temporary_file_for};
