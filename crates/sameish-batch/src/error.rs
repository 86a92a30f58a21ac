//! Errors that end a run.

use crate::input::reject::{InputError, InputErrorKind, Reject};
use crate::run_log::Completion;
use std::io;

/// Result of an operation of this crate.
pub type Result<T> = std::result::Result<T, Error>;

/// Error that ends a run before its work is done.
#[non_exhaustive]
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// The configuration is invalid.
    #[error(transparent)]
    Config(#[from] sameish::Error),
    /// Deduplication does not support the configuration.
    #[error(
        "`dedup` does not support this configuration; use a preset such as `copies` or `wire`: matches must be verified, or \
         found by fingerprints alone"
    )]
    UnsupportedConfig,
    /// Documents consist of sketches, so that no match can be verified, and unverified matches are not duplicates.
    #[error(
        "documents consist of sketches without a text, so no match can be verified; add the texts, or allow unverified matches"
    )]
    UnverifiedSketches,
    /// Dates decide which documents are kept, but no record has one.
    #[error("no record has the date field `{field}`; name another field")]
    NoDates {
        /// Name of the field.
        field: String,
    },
    /// One document per source is kept, but no record has a source.
    #[error(
        "no record has a source, so one document per source cannot be kept; name the field of the source"
    )]
    NoSources,
    /// Standard input was named more than once.
    #[error("`-` is given twice; standard input can be read only once: pass it once")]
    StdinTwice,
    /// The memory limit is too small to work with.
    #[error("the memory limit must be at least {least_mib}M")]
    MemoryLimitTooSmall {
        /// Minimum limit in MiB.
        least_mib: usize,
    },
    /// Groups of similar documents exceed what the columns of the corpus leave of their part of the memory limit.
    #[error(
        "{documents} documents in groups of similar ones do not fit into the memory limit: each takes about {bytes} bytes more than \
         others"
    )]
    CrowdsMemoryLimit {
        /// Number of documents in such groups.
        documents: usize,
        /// Additional bytes per document.
        bytes: usize,
    },
    /// The columns of the corpus exceed their part of the memory limit.
    #[error("{documents} documents do not fit into the memory limit: each takes about {bytes} bytes")]
    MemoryLimit {
        /// Number of documents read so far.
        documents: usize,
        /// Bytes per document.
        bytes: usize,
    },
    /// A corpus may have at most 2^31 - 1 documents.
    #[error("more than 2,147,483,647 documents; split the input")]
    TooManyDocuments,
    /// Worker threads could not be started.
    #[error("cannot start {threads} threads: {source}")]
    Threads {
        /// Number of threads requested.
        threads: usize,
        /// Reason given by the system.
        source: Box<dyn std::error::Error + Send + Sync>,
    },
    /// An input that was required could not be read.
    #[error("{0}")]
    Input(InputError),
    /// A file of the existing corpus could not be read, so its documents would count as new.
    #[error(
        "a file of the existing corpus could not be read completely, so nothing was written: its documents would count as new; repair or omit the file"
    )]
    UnreadableReference {
        /// Most serious problem.
        completion: Completion,
    },
    /// An input changed between the two passes.
    #[error("{name}: changed while it was read, so nothing was written; run again when it no longer changes")]
    InputChanged {
        /// Escaped name of the input.
        name: String,
    },
    /// A record was rejected, and the run stops at the first rejected record.
    #[error("stopped at the first rejected record: {reject}")]
    RecordRejected {
        /// The record.
        reject: Box<Reject>,
        /// Most serious problem so far.
        completion: Completion,
    },
    /// The directory of a resumable run is in use.
    #[error(
        "another run over the same inputs uses `{directory}`; wait for its end, or use another temporary directory"
    )]
    RunInProgress {
        /// Escaped name of the temporary directory.
        directory: String,
    },
    /// A temporary file could not be written or read.
    #[error("temporary file: {0}")]
    Temporary(#[source] io::Error),
    /// An output that must be a file is a directory.
    #[error("output `{name}` is a directory; expected a file")]
    OutputIsDirectory {
        /// Escaped name of the output.
        name: String,
    },
    /// An output exists and may not be replaced.
    #[error("output `{name}` already exists")]
    OutputExists {
        /// Escaped name of the output.
        name: String,
    },
    /// An output was created by another process during the run.
    #[error("output `{name}` was created while this command was running")]
    OutputCreated {
        /// Escaped name of the output.
        name: String,
    },
    /// An output would overwrite an input.
    #[error("output `{output}` is also the input `{input}`; write to another file")]
    OutputIsInput {
        /// Escaped name of the output.
        output: String,
        /// Escaped name of the input.
        input: String,
    },
    /// Documents that are whole files cannot be written into one file.
    #[error("whole files cannot be written into one file")]
    WholeFilesIntoOne,
    /// Two inputs would be written to the same file of the output directory.
    #[error("two inputs would both be written to `{name}`; process them separately")]
    OutputNameClash {
        /// Escaped name of the output.
        name: String,
    },
    /// Inputs of several formats, or several Parquet files, cannot be written into one file.
    #[error(
        "several inputs can be written into one file only if they have the same format and are not Parquet"
    )]
    MixedFormats,
    /// Tables with different columns cannot be written into one file.
    #[error("the inputs have different columns and cannot be written into one file")]
    MixedColumns,
    /// An output has the suffix of a format that is not written.
    #[error("output `{name}` has the suffix of {suffix}, but {reason}; write to a file such as `{instead}`")]
    OutputFormat {
        /// Escaped name of the output.
        name: String,
        /// Format that the suffix stands for.
        suffix: &'static str,
        /// Why that format is not written.
        reason: String,
        /// Example of a suitable name.
        instead: String,
    },
    /// The directory of an output does not exist.
    #[error("cannot write `{name}`: its directory does not exist; create it")]
    NoOutputDirectory {
        /// Escaped name of the output.
        name: String,
    },
    /// An output or its directory could not be written.
    #[error("{name}: {problem} ({source})")]
    Output {
        /// Escaped name of the output.
        name: String,
        /// Short description and remedy.
        problem: &'static str,
        /// Reason given by the system.
        source: io::Error,
    },
    /// [`Monitor::progress`](crate::Monitor::progress) canceled the run.
    #[error("canceled")]
    Canceled,
}

/// Class of an [`Error`]: what the caller can do about it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ErrorKind {
    /// The parameters are inconsistent.
    Usage,
    /// A record was rejected.
    Rejected,
    /// An input is unreadable.
    Unreadable,
    /// A limit was reached: memory, threads, disk space, decompressed size.
    Limit,
    /// An output could not be written.
    Output,
    /// The caller canceled the run.
    Canceled,
}

impl Error {
    /// Returns the class of the error.
    pub fn kind(&self) -> ErrorKind {
        match self {
            Error::Config(_)
            | Error::UnsupportedConfig
            | Error::UnverifiedSketches
            | Error::NoDates { .. }
            | Error::NoSources
            | Error::StdinTwice
            | Error::MemoryLimitTooSmall { .. }
            | Error::RunInProgress { .. }
            | Error::OutputIsDirectory { .. }
            | Error::OutputExists { .. }
            | Error::OutputCreated { .. }
            | Error::OutputIsInput { .. }
            | Error::WholeFilesIntoOne
            | Error::OutputNameClash { .. }
            | Error::MixedFormats
            | Error::OutputFormat { .. }
            | Error::MixedColumns => ErrorKind::Usage,
            Error::MemoryLimit { .. }
            | Error::CrowdsMemoryLimit { .. }
            | Error::TooManyDocuments
            | Error::Threads { .. } => ErrorKind::Limit,
            Error::Input(error) => match error.kind {
                InputErrorKind::Unreadable => ErrorKind::Unreadable,
                InputErrorKind::Limit => ErrorKind::Limit,
                InputErrorKind::MissingField => ErrorKind::Usage,
            },
            Error::UnreadableReference { completion: Completion::Limit } => ErrorKind::Limit,
            Error::UnreadableReference { .. } => ErrorKind::Unreadable,
            Error::InputChanged { .. } => ErrorKind::Unreadable,
            Error::RecordRejected { completion, .. } => match completion {
                Completion::Complete | Completion::Rejected => ErrorKind::Rejected,
                Completion::Unreadable => ErrorKind::Unreadable,
                Completion::Limit => ErrorKind::Limit,
            },
            Error::NoOutputDirectory { .. } => ErrorKind::Output,
            Error::Temporary(source) | Error::Output { source, .. } => match is_full(source) {
                true => ErrorKind::Limit,
                false => ErrorKind::Output,
            },
            Error::Canceled => ErrorKind::Canceled,
        }
    }

    /// Describes a failure to create or write an output.
    pub(crate) fn output(name: &str, source: io::Error) -> Error {
        let name = name.to_owned();
        match source.kind() {
            io::ErrorKind::NotFound => Error::NoOutputDirectory { name },
            _ if is_full(&source) => {
                Error::Output { name, problem: "out of disk space; free some space and run again", source }
            }
            _ => Error::Output {
                name,
                problem: "cannot be written; check the path and its permissions",
                source,
            },
        }
    }
}

impl From<InputError> for Error {
    fn from(error: InputError) -> Error {
        Error::Input(error)
    }
}

/// Returns `true` if a disk, a quota or a file size limit is exhausted.
fn is_full(error: &io::Error) -> bool {
    use io::ErrorKind::{FileTooLarge, QuotaExceeded, StorageFull};
    matches!(error.kind(), StorageFull | QuotaExceeded | FileTooLarge)
}
