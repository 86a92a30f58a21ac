//! Where do sketches and indexes live?
//!
//! The engine reads and writes bytes; this crate knows files. [`MappedIndex`] maps a stored index into memory, so that one
//! larger than memory can be asked, and opening takes no longer for more fingerprints.

#![deny(unsafe_code)]

mod mapped;

pub use mapped::{Error, MappedIndex};
