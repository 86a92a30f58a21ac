//! How does Node ask?
//!
//! The addon below the package `sameish` for Node. It is thin on purpose: `lib/*.cjs` checks what JavaScript hands in and says
//! what is wrong with it, the engine does the work, and this crate carries things across.
//!
//! ```text
//! seed.rs      the functions of seed 000
//! engine.rs    documents: insert, remove, search
//! batch.rs     many documents at once, made ready by all cores
//! groups.rs    matches, pairs and groups, handed over piece by piece
//! stream.rs    more pairs than memory holds
//! sketches.rs  sketches of texts and of features
//! stored.rs    engines in files
//! compare.rs   two texts, with places as JavaScript counts them
//! id.rs, fault.rs, job.rs   ids, errors and work beside the event loop
//! ```
//!
//! Every function catches panics: a fault of ours is an error in JavaScript, never the end of the process. Modules are public
//! because JavaScript is their user, whom the compiler does not see.

#![deny(unsafe_code)]

pub mod batch;
pub mod compare;
pub mod engine;
pub mod fault;
pub mod groups;
mod id;
pub mod job;
pub mod seed;
pub mod sketches;
mod stored;
pub mod stream;
