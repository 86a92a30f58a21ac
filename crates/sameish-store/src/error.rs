//! Errors of the store.
//!
//! A message names the file, collection or document, says what is wrong, and says what to do. It never contains the text of
//! a document.

use crate::model::UnavailableCollection;
use sameish::DocId;
use sameish::cluster::ClusterId;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// The result type of this crate.
pub type Result<T> = std::result::Result<T, Error>;

/// An error of the store.
#[non_exhaustive]
#[derive(Clone, Debug, thiserror::Error)]
pub enum Error {
    /// A file cannot be read or written.
    #[error("{}: {source}", path.display())]
    Io {
        /// File or directory.
        path: PathBuf,
        /// Error of the operating system.
        source: Arc<std::io::Error>,
    },
    /// The engine rejects a setting, a date or a sketch.
    #[error("{0}")]
    Engine(#[from] sameish::Error),
    /// The file or directory was not created by sameish.
    #[error("{}: not a sameish store: {reason}; choose another directory (nothing was changed)", path.display())]
    NotOurs {
        /// File or directory.
        path: PathBuf,
        /// What was found instead of a store.
        reason: String,
    },
    /// The store was written by a newer version.
    #[error(
        "{}: the store has format {found}, but this version reads formats up to {supported}; update sameish (nothing was changed)",
        path.display()
    )]
    Newer {
        /// Database file.
        path: PathBuf,
        /// Format of the file.
        found: i64,
        /// Newest format that this version reads.
        supported: i64,
    },
    /// Another process has the directory open for writing.
    #[error("{}: in use by process {pid}; stop that process, or open the directory read-only", path.display())]
    InUse {
        /// Directory.
        path: PathBuf,
        /// Process id, as written in the lock file.
        pid: String,
    },
    /// The directory is open read-only, or the file system does not permit writing.
    #[error("{}: read-only, so nothing can be stored; use `sameish serve --read-only` to serve its documents", path.display())]
    ReadOnly {
        /// Directory or file.
        path: PathBuf,
    },
    /// No collection has this name.
    #[error("no collection is named `{}`; create it first", name.escape_debug())]
    NoCollection {
        /// Requested name.
        name: String,
    },
    /// A collection with this name exists and has different settings.
    #[error(
        "collection `{name}` exists with different settings ({differs}); delete it first, or use another name"
    )]
    Exists {
        /// Name of the collection.
        name: String,
        /// Settings that differ.
        differs: String,
    },
    /// The name of a collection is invalid.
    #[error(
        "`{}` is not a valid collection name; expected 1 to 64 characters from a-z, 0-9, - and _, and not {reserved}",
        name.escape_debug()
    )]
    BadName {
        /// Invalid name.
        name: String,
        /// Names that cannot be used.
        reserved: &'static str,
    },
    /// The linkage does not choose centers.
    #[error(
        "`center` applies to the linkages `cohesive` and `greedy` only: with `online` and `components`, clusters do not \
         depend on a center; omit `center`, or set `matching.linkage`"
    )]
    CenterLinkage,
    /// The id of a document is invalid.
    #[error("invalid document id: it {reason}")]
    BadId {
        /// Which rule the id breaks.
        reason: sameish::document::InvalidId,
    },
    /// No document has this id.
    #[error("no document has the id `{}`", id.to_string().escape_debug())]
    NoDocument {
        /// Requested id.
        id: DocId,
    },
    /// A document with this id exists and has a different text.
    #[error("id `{}` already exists with a different text; replace that document, or use another id", id.to_string().escape_debug())]
    Conflict {
        /// The id.
        id: DocId,
    },
    /// An edit of clusters is not possible.
    #[error("{reason}")]
    BadEdit {
        /// What is wrong, and what to do.
        reason: String,
    },
    /// No cluster has this id.
    #[error("no cluster has the id `{}`", cluster.0)]
    NoCluster {
        /// Requested id.
        cluster: ClusterId,
    },
    /// The write queue is full.
    #[error("too many writes are queued; retry in a second")]
    Busy,
    /// The disk is full.
    #[error("out of disk space; nothing was stored: free some space and retry")]
    Full,
    /// The copy before an upgrade does not fit on the disk.
    #[error(
        "out of disk space while copying the old database to {}; nothing was changed: free some space, or skip the copy \
         with `--no-upgrade-backup`",
        path.display()
    )]
    NoSpaceForBackup {
        /// Copy that could not be written.
        path: PathBuf,
    },
    /// A write or sync failed, so the state of the disk is unknown. Writes are rejected until the directory is reopened.
    #[error(
        "a write failed ({reason}); reads continue, but writes are rejected until the directory is opened again; restart the process"
    )]
    Failed {
        /// Error of the operating system or of SQLite.
        reason: String,
    },
    /// The write-ahead log is missing after an unclean shutdown.
    #[error(
        "{} is missing, and the last process did not shut down cleanly: acknowledged documents may be lost; \
         put the file back or restore a snapshot, or delete {} to continue without them",
        log.display(), mark.display()
    )]
    LogLost {
        /// Write-ahead log.
        log: PathBuf,
        /// Marker file that shows that the log must exist.
        mark: PathBuf,
    },
    /// The database file is missing, but another file of the store exists.
    #[error(
        "{} is missing, but {} exists: put the database file back or restore a snapshot, or delete {} to start with an empty store",
        store.display(), left.display(), left.display()
    )]
    StoreLost {
        /// Database file.
        store: PathBuf,
        /// File that was found.
        left: PathBuf,
    },
    /// Stored data does not agree with its checksum, or a database file is corrupt.
    #[error(
        "{what} is damaged: {reason}; restore it from a snapshot or backup (a damaged document can also be deleted and inserted again)"
    )]
    Damaged {
        /// Row by kind and number, or a file.
        what: String,
        /// What is wrong.
        reason: String,
    },
    /// A collection cannot be used. The others can.
    #[error("{0}")]
    Unavailable(UnavailableCollection),
    /// A snapshot cannot be written or restored.
    #[error("{}: {reason} (nothing was replaced)", path.display())]
    Snapshot {
        /// Directory of the snapshot, or target of the restore.
        path: PathBuf,
        /// What is wrong.
        reason: String,
    },
    /// A restore was interrupted, and this process cannot complete it.
    #[error("{}: a restore was interrupted: {reason}", path.display())]
    Interrupted {
        /// Directory of the store.
        path: PathBuf,
        /// What prevents the completion, and what to do.
        reason: String,
    },
    /// The database reports another error.
    #[error("{}: {reason}", path.display())]
    Database {
        /// Database file.
        path: PathBuf,
        /// What is wrong.
        reason: String,
    },
    /// The catalog is closing.
    #[error("the store is closing; reopen it and retry")]
    Closed,
}

impl Error {
    pub(crate) fn io(path: &Path, source: std::io::Error) -> Error {
        match source.kind() {
            std::io::ErrorKind::StorageFull => Error::Full,
            _ => Error::Io { path: path.to_owned(), source: Arc::new(source) },
        }
    }
}
