//! Exit codes, and the errors that lead to them.
//!
//! A command that meets several problems reports the most serious one.

use crate::output::messages::say;
use sameish_batch::input::Remedy;
use sameish_batch::{Completion, Error, ErrorKind};
use std::fmt;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::process::ExitCode;

/// Exit code of a command.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Exit {
    /// Success.
    Clean = 0,
    /// Internal error.
    Fault = 1,
    /// Invalid command line or settings.
    Usage = 2,
    /// Finished, but some records were rejected.
    Rejected = 3,
    /// An input could not be read, or not to its end.
    Unreadable = 4,
    /// A limit was reached: memory, disk space, decompressed size.
    Limit = 5,
    /// An output could not be written.
    Output = 6,
}

impl Exit {
    /// Returns the more serious of two codes.
    pub(crate) fn or_worse(self, other: Exit) -> Exit {
        if other.severity() > self.severity() { other } else { self }
    }

    fn severity(self) -> u8 {
        match self {
            Exit::Clean => 0,
            Exit::Rejected => 1,
            Exit::Unreadable => 2,
            Exit::Limit => 3,
            Exit::Output => 4,
            Exit::Usage => 5,
            Exit::Fault => 6,
        }
    }
}

impl From<Exit> for ExitCode {
    fn from(exit: Exit) -> ExitCode {
        ExitCode::from(exit as u8)
    }
}

impl From<Completion> for Exit {
    fn from(completion: Completion) -> Exit {
        match completion {
            Completion::Complete => Exit::Clean,
            Completion::Rejected => Exit::Rejected,
            Completion::Unreadable => Exit::Unreadable,
            Completion::Limit => Exit::Limit,
        }
    }
}

impl From<ErrorKind> for Exit {
    fn from(kind: ErrorKind) -> Exit {
        match kind {
            ErrorKind::Usage => Exit::Usage,
            ErrorKind::Rejected => Exit::Rejected,
            ErrorKind::Unreadable => Exit::Unreadable,
            ErrorKind::Limit => Exit::Limit,
            ErrorKind::Output => Exit::Output,
            // No command cancels its run: a signal ends the process.
            ErrorKind::Canceled => Exit::Fault,
        }
    }
}

/// Error that ends a command, with its exit code.
#[derive(Debug)]
pub(crate) struct Failure {
    pub(crate) exit: Exit,
    message: String,
}

impl Failure {
    pub(crate) fn new(exit: Exit, message: impl Into<String>) -> Failure {
        Failure { exit, message: message.into() }
    }

    pub(crate) fn usage(message: impl Into<String>) -> Failure {
        Failure::new(Exit::Usage, message)
    }
}

impl From<sameish::Error> for Failure {
    fn from(error: sameish::Error) -> Failure {
        Failure::usage(error.to_string())
    }
}

impl From<Error> for Failure {
    fn from(error: Error) -> Failure {
        let hint = match &error {
            Error::MemoryLimit { .. } | Error::CrowdsMemoryLimit { .. } => {
                "; raise `--max-memory`, or split the input"
            }
            Error::Threads { .. } => "; pass a smaller `--threads`",
            Error::RunInProgress { .. } => " (`--temp-dir`)",
            Error::Temporary(_) => "; free some space, or pass another directory with `--temp-dir`",
            Error::OutputExists { .. } | Error::OutputCreated { .. } => "; pass `--force` to replace it",
            Error::WholeFilesIntoOne | Error::MixedFormats | Error::MixedColumns => "; pass `-o DIR/`",
            Error::UnverifiedSketches => ": pass `--unverified`",
            Error::UnreadableReference { .. } => " (`--against`)",
            _ => "",
        };
        let message = match &error {
            Error::MemoryLimitTooSmall { least_mib } => {
                format!("`--max-memory` must be at least {least_mib}M")
            }
            Error::Input(error) => error.explained(remedy).to_string(),
            error => format!("{error}{hint}"),
        };
        Failure::new(error.kind().into(), message)
    }
}

/// Returns the words for a remedy, with the names of flags.
pub(crate) fn remedy(remedy: Remedy) -> &'static str {
    match remedy {
        Remedy::MaxLine => "raise `--max-line` if that is intended",
        Remedy::MaxDocument => "raise `--max-document` if that is intended",
        Remedy::MaxExpanded => "raise `--max-expanded` if that is intended",
        Remedy::Lossy => "convert the file, or pass `--lossy`",
        Remedy::IdField => "name the id field with `--id-field`",
        Remedy::TextField => "name the text field with `--text-field`",
        Remedy::Delimiter => {
            "set the separator with `--delimiter`, as in `--delimiter ';'`, or name the text column with `--text-field`"
        }
        Remedy::FormatCsv => "pass `--format csv`",
        Remedy::FormatTsv => "pass `--format tsv`",
        Remedy::FormatText => "convert it, as in `jq -c '.[]' FILE`, or pass `--format text`",
        Remedy::NoFormat => "omit `--format` and `--whole-files`",
        Remedy::LastOfId => "make ids unique, or pass `--on-dup-id last`",
    }
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.message)
    }
}

impl std::error::Error for Failure {}

/// Runs a command and prints its error. A panic becomes an internal error with a request for a report.
pub(crate) fn catch_panics(command: impl FnOnce() -> anyhow::Result<Exit>) -> Exit {
    match catch_unwind(AssertUnwindSafe(command)) {
        Ok(Ok(exit)) => exit,
        Ok(Err(error)) => {
            let error = with_exit_code(error);
            say(format_args!("error: {error:#}"));
            error.downcast_ref::<Failure>().map_or(Exit::Fault, |failure| failure.exit)
        }
        Err(_) => {
            say(format_args!(
                "error: internal error in sameish {}; please report it with the command and the lines above",
                env!("CARGO_PKG_VERSION")
            ));
            Exit::Fault
        }
    }
}

/// Converts an error of the batch library, unless a command already did.
fn with_exit_code(error: anyhow::Error) -> anyhow::Error {
    match error.downcast::<Error>() {
        Ok(error) => Failure::from(error).into(),
        Err(error) => error,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reports_the_most_serious_problem() {
        let order = [Exit::Clean, Exit::Rejected, Exit::Unreadable, Exit::Limit, Exit::Output, Exit::Fault];
        for (i, &mild) in order.iter().enumerate() {
            for &grave in &order[i..] {
                assert_eq!(mild.or_worse(grave), grave);
                assert_eq!(grave.or_worse(mild), grave);
            }
        }
    }

    #[test]
    fn panic_is_an_internal_error() {
        assert_eq!(catch_panics(|| panic!("on purpose")), Exit::Fault);
    }

    #[test]
    fn failure_keeps_its_exit_code_under_context() {
        let failing =
            || Err(anyhow::Error::new(Failure::new(Exit::Limit, "too much")).context("while reading"));
        assert_eq!(catch_panics(failing), Exit::Limit);
        assert_eq!(catch_panics(|| Err(Error::TooManyDocuments.into())), Exit::Limit);
    }
}
