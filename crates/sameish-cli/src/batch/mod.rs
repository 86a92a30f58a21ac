//! How is a whole corpus paired, clustered and deduplicated?
//!
//! ```text
//! sign.rs      reads every document once: tags of its bands, its fingerprint, and where it lies
//!   tags.rs      the tags, in memory or on disk
//!   spool.rs     texts that can not be read again where they came from
//!   held.rs      what stays of each document
//! fetch.rs     reads single documents once more
//! judging.rs   what two documents are to each other, by the engine's judge
//! budget.rs    who may have how much memory
//!
//! corpus.rs    for pairs and clusters: all documents, signed
//!   near.rs      who may be near, by every lane
//!   matches.rs   who matches whom
//!   linkage.rs   who belongs together
//!   spread.rs    how close the members of a cluster are
//!
//! group.rs     for dedup: centers and what matches them, verified on the texts' own features
//!   distance.rs  the same by fingerprints alone
//! write.rs     copies the records that are kept, as they came
//! stage.rs     how a run goes on after it was cut off
//!   saved.rs     what is kept of a stage
//! ```
//!
//! Only places, tags, fingerprints and numbers are held for each document. Texts are read a second time for those that are
//! candidates, so memory grows by some hundred bytes a document, whatever its length.

pub(crate) mod budget;
pub(crate) mod corpus;
pub(crate) mod distance;
pub(crate) mod fetch;
pub(crate) mod group;
pub(crate) mod held;
pub(crate) mod judging;
pub(crate) mod linkage;
pub(crate) mod matches;
pub(crate) mod near;
pub(crate) mod saved;
pub(crate) mod sign;
pub(crate) mod spool;
pub(crate) mod spread;
pub(crate) mod stage;
pub(crate) mod tags;
pub(crate) mod write;

use crate::exit::{Exit, Failure};

/// A failure to write to or read from the temporary folder.
pub(crate) fn temporary(error: &std::io::Error) -> Failure {
    use std::io::ErrorKind::{FileTooLarge, QuotaExceeded, StorageFull};
    let exit = match error.kind() {
        StorageFull | QuotaExceeded | FileTooLarge => Exit::Limit,
        _ => Exit::Output,
    };
    Failure::new(
        exit,
        format!("temporary file: {error}; make room, or name another folder with `--temp-dir`"),
    )
}
