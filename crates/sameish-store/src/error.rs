//! What can go wrong with stored documents?
//!
//! Messages name the file or the document, say what is wrong and what to do. No message holds text of a document.

use sameish::DocId;
use std::path::{Path, PathBuf};

/// A specialized result of this crate.
pub type Result<T> = std::result::Result<T, Error>;

/// Everything that this crate refuses.
#[non_exhaustive]
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// A file can not be read or written.
    #[error("{}: {source}", path.display())]
    Io {
        /// Which file.
        path: PathBuf,
        /// What the system says.
        source: std::io::Error,
    },
    /// The engine refuses: a setting, a date, a sketch.
    #[error("{0}")]
    Engine(#[from] sameish::Error),
    /// What lies there is not ours.
    #[error("{}: not a store made by sameish: {reason}. Nothing was changed; choose another folder", path.display())]
    NotOurs {
        /// Which file.
        path: PathBuf,
        /// What was met.
        reason: String,
    },
    /// The store was written by a newer version.
    #[error("{}: format {found}, this build reads up to {supported}: update sameish. Nothing was changed", path.display())]
    Newer {
        /// Which file.
        path: PathBuf,
        /// The format that was met.
        found: i64,
        /// The newest format this build knows.
        supported: i64,
    },
    /// Another process has the folder.
    #[error("{}: in use by process {pid}: stop it, or open the folder read-only", path.display())]
    InUse {
        /// Which folder.
        path: PathBuf,
        /// The process, as far as it said.
        pid: String,
    },
    /// The folder was opened for reading, or the file system does not let us write.
    #[error("{}: can only be read: nothing can be stored. `serve --read-only` serves what is there", path.display())]
    ReadOnly {
        /// Which folder or file.
        path: PathBuf,
    },
    /// No collection has that name.
    #[error("no collection is named `{}`: create it first", name.escape_debug())]
    NoCollection {
        /// The name that was asked for.
        name: String,
    },
    /// A collection of that name exists with other settings.
    #[error("collection `{name}` exists with other settings ({differs}): drop it first, or use another name")]
    Exists {
        /// The name.
        name: String,
        /// Which settings differ.
        differs: String,
    },
    /// Not a name for a collection.
    #[error("`{}` is no name for a collection: must be 1 to 64 of a-z, 0-9, - and _, and not {reserved}", name.escape_debug())]
    BadName {
        /// The name that was given.
        name: String,
        /// Names that mean something else.
        reserved: &'static str,
    },
    /// Not an id for a stored document.
    #[error("the id is not usable: {reason}")]
    BadId {
        /// What would be right.
        reason: &'static str,
    },
    /// No document has that id.
    #[error("no document has the id `{}`", id.to_string().escape_debug())]
    NoDocument {
        /// The id that was asked for.
        id: DocId,
    },
    /// A document has that id and another text.
    #[error("id `{}` is taken by another text: replace it, or use another id", id.to_string().escape_debug())]
    Conflict {
        /// The id.
        id: DocId,
    },
    /// Too much waits to be written.
    #[error("too many writes are waiting: try again in a second")]
    Busy,
    /// There is no room on the disk.
    #[error("the disk is full: nothing of this was stored; free some room and try again")]
    Full,
    /// A write or sync failed and nobody knows what the disk has: nothing is written until the folder is opened again.
    #[error("writing failed ({reason}): reads go on, writes stop until a restart")]
    Failed {
        /// What the system says.
        reason: String,
    },
    /// The write-ahead log of a store is gone.
    #[error(
        "{} is gone, though whoever wrote last did not end in order: acknowledged documents may be lost; put it back or restore a snapshot, or delete {} to go on without them",
        log.display(), mark.display()
    )]
    LogLost {
        /// The log.
        log: PathBuf,
        /// What tells that there must be one.
        mark: PathBuf,
    },
    /// A store is gone, and something of it is left.
    #[error(
        "{} is gone and {} is left of it: put it back or restore a snapshot; or delete what is left to start anew",
        store.display(), left.display()
    )]
    StoreLost {
        /// The store.
        store: PathBuf,
        /// What is left.
        left: PathBuf,
    },
    /// A stored document does not have the checksum it was written with.
    #[error("{what} is damaged: {reason}; restore it from a snapshot, or delete it and insert it again")]
    Damaged {
        /// Which document, by number.
        what: String,
        /// What is wrong.
        reason: String,
    },
    /// Stored sketches were made under other settings.
    #[error("collection `{collection}` has sketches of another scheme: run `sameish index rebuild`")]
    Scheme {
        /// Which collection.
        collection: String,
    },
    /// A snapshot is not whole, or not one.
    #[error("{}: not a usable snapshot: {reason}. Nothing was replaced", path.display())]
    Snapshot {
        /// Where.
        path: PathBuf,
        /// What is wrong.
        reason: String,
    },
    /// The database refuses for another reason.
    #[error("{}: {reason}", path.display())]
    Database {
        /// Which file.
        path: PathBuf,
        /// What it says.
        reason: String,
    },
    /// The catalog is being closed.
    #[error("the store is closing")]
    Closed,
}

impl Error {
    pub(crate) fn io(path: &Path, source: std::io::Error) -> Error {
        match source.kind() {
            std::io::ErrorKind::StorageFull => Error::Full,
            _ => Error::Io { path: path.to_owned(), source },
        }
    }

    /// The same once more, for another who waits for the same write.
    pub(crate) fn again(&self) -> Error {
        match self {
            Error::Full => Error::Full,
            Error::Closed => Error::Closed,
            Error::Busy => Error::Busy,
            Error::ReadOnly { path } => Error::ReadOnly { path: path.clone() },
            Error::Failed { reason } => Error::Failed { reason: reason.clone() },
            Error::Database { path, reason } => {
                Error::Database { path: path.clone(), reason: reason.clone() }
            }
            Error::Damaged { what, reason } => Error::Damaged { what: what.clone(), reason: reason.clone() },
            Error::Engine(error) => Error::Engine(error.clone()),
            Error::Io { path, source } => Error::Io {
                path: path.clone(),
                source: std::io::Error::new(source.kind(), source.to_string()),
            },
            // The others are no answers to a write.
            other => Error::Failed { reason: other.to_string() },
        }
    }
}
