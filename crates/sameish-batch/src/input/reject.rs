//! Records and inputs that cannot be used, and why.

use crate::escape::escaped_bytes;
use crate::run_log::Completion;
use serde::{Serialize, Serializer};
use std::fmt;
use std::io;
use std::sync::Arc;

/// Maximum length of an excerpt of a rejected record, in bytes before escaping.
const EXCERPT: usize = 120;

/// A rejected record. Also the format of a line of the list of rejected records.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Reject {
    /// Escaped name of the input.
    #[serde(serialize_with = "as_text")]
    pub file: Arc<str>,
    /// Position of the record.
    #[serde(flatten)]
    pub place: Place,
    /// What is wrong, and what to do about it unless `remedy` says so.
    pub reason: String,
    /// Parameter that may help.
    #[serde(skip)]
    pub remedy: Option<Remedy>,
    /// Beginning of the record, or the part around the error, shortened and escaped.
    pub excerpt: String,
}

/// Position of a record in its input.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(untagged)]
pub enum Place {
    /// In a text file.
    Line {
        /// Number of the line where the record starts, from 1.
        line: u64,
        /// Offset of the error in bytes after decompression, from 0.
        offset: u64,
    },
    /// In a table of rows.
    Row {
        /// Number of the row, from 1.
        row: u64,
    },
}

impl fmt::Display for Place {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Place::Line { line, offset } => write!(f, "line {line}, byte {offset}"),
            Place::Row { row } => write!(f, "row {row}"),
        }
    }
}

fn as_text<S: Serializer>(name: &Arc<str>, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.serialize_str(name)
}

impl Reject {
    /// Adds the remedy to the reason, in the words of an interface.
    pub(crate) fn explained(&self, words: impl FnOnce(Remedy) -> &'static str) -> Reject {
        let reason = explained(&self.reason, self.remedy, words);
        Reject { reason, remedy: None, ..self.clone() }
    }
}

impl fmt::Display for Reject {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}, {}: {}", self.file, self.place, explained(&self.reason, self.remedy, Remedy::text))
    }
}

/// Parameter that the user can change if an input or a record cannot be used.
///
/// Each interface has its own names for parameters; see [`Monitor::remedy`](crate::Monitor::remedy).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Remedy {
    /// Raise the maximum length of a record.
    MaxLine,
    /// Raise the maximum length of a text.
    MaxDocument,
    /// Raise the maximum decompressed size of an input.
    MaxExpanded,
    /// Replace bytes that are not UTF-8.
    Lossy,
    /// Name the id field.
    IdField,
    /// Name the text field.
    TextField,
    /// Name the text column, or the separator of the values.
    Delimiter,
    /// Read the input as CSV.
    FormatCsv,
    /// Read the input as TSV.
    FormatTsv,
    /// Read the input as plain text.
    FormatText,
    /// Do not set a format, and do not read whole files.
    NoFormat,
    /// Keep the last of several records with the same id.
    LastOfId,
}

impl Remedy {
    /// Returns the remedy without names of parameters.
    pub fn text(self) -> &'static str {
        match self {
            Remedy::MaxLine => "raise the maximum length of a line if that is intended",
            Remedy::MaxDocument => "raise the maximum length of a document if that is intended",
            Remedy::MaxExpanded => "raise the maximum decompressed size if that is intended",
            Remedy::Lossy => "convert the file, or allow invalid characters to be replaced",
            Remedy::IdField => "name the id field",
            Remedy::TextField => "name the text field",
            Remedy::Delimiter => "name the separator of the values, or the text column",
            Remedy::FormatCsv => "read it as CSV",
            Remedy::FormatTsv => "read it as TSV",
            Remedy::FormatText => "convert it, as in `jq -c '.[]' FILE`, or read it as plain text",
            Remedy::NoFormat => "do not set a format, and do not read whole files",
            Remedy::LastOfId => "make ids unique, or keep the last record of each id",
        }
    }
}

fn explained(reason: &str, remedy: Option<Remedy>, words: impl FnOnce(Remedy) -> &'static str) -> String {
    remedy.map_or_else(|| reason.to_owned(), |remedy| format!("{reason}; {}", words(remedy)))
}

/// What is wrong with an input or a record, and which parameter may help.
#[derive(Clone, Debug, PartialEq)]
pub struct Problem {
    /// What is wrong.
    pub text: String,
    /// Parameter that may help.
    pub remedy: Option<Remedy>,
}

impl Problem {
    /// Creates a problem that a parameter may solve.
    pub fn with(text: impl Into<String>, remedy: Remedy) -> Problem {
        Problem { text: text.into(), remedy: Some(remedy) }
    }
}

impl<T: Into<String>> From<T> for Problem {
    fn from(text: T) -> Problem {
        Problem { text: text.into(), remedy: None }
    }
}

/// Why a record is rejected, and the offset of the error within the record.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Reason {
    pub(crate) at: usize,
    pub(crate) problem: Problem,
}

impl Reason {
    /// Creates a reason that concerns the record as a whole.
    pub(crate) fn new(problem: impl Into<Problem>) -> Reason {
        Reason { at: 0, problem: problem.into() }
    }
}

/// Returns the bytes around `at`, shortened and escaped.
pub(crate) fn excerpt(record: &[u8], at: usize) -> String {
    let start = at.min(record.len()).saturating_sub(EXCERPT / 3);
    let end = (start + EXCERPT).min(record.len());
    let start = (start..end).find(|&i| !is_continuation(record[i])).unwrap_or(start);
    let end =
        (start..=end).rev().find(|&i| record.get(i).is_none_or(|&b| !is_continuation(b))).unwrap_or(end);
    escaped_bytes(&record[start..end])
}

fn is_continuation(byte: u8) -> bool {
    byte & 0b1100_0000 == 0b1000_0000
}

/// An input that could not be read, or not to its end.
#[derive(Clone, Debug, PartialEq)]
pub struct InputError {
    /// Escaped name of the input.
    pub file: Arc<str>,
    /// Offset in bytes after decompression at which reading stopped; absent if nothing was read.
    pub offset: Option<u64>,
    /// What is wrong, and what to do about it unless `remedy` says so.
    pub reason: String,
    /// Parameter that may help.
    pub remedy: Option<Remedy>,
    /// Class of the problem.
    pub kind: InputErrorKind,
    /// Error of the system, if that is the problem.
    pub io: Option<io::ErrorKind>,
}

/// Class of an [`InputError`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum InputErrorKind {
    /// The input is missing, damaged or not text.
    Unreadable,
    /// The input exceeds a limit.
    Limit,
    /// The input does not have a field that the user named.
    MissingField,
}

impl InputError {
    pub(crate) fn unreadable(file: &Arc<str>, problem: impl Into<Problem>) -> InputError {
        let Problem { text: reason, remedy } = problem.into();
        let kind = InputErrorKind::Unreadable;
        InputError { file: file.clone(), offset: None, reason, remedy, kind, io: None }
    }

    pub(crate) fn limit(file: &Arc<str>, problem: impl Into<Problem>) -> InputError {
        InputError { kind: InputErrorKind::Limit, ..InputError::unreadable(file, problem) }
    }

    /// Adds the remedy to the reason, in the words of an interface.
    pub fn explained(&self, words: impl FnOnce(Remedy) -> &'static str) -> InputError {
        let reason = explained(&self.reason, self.remedy, words);
        InputError { reason, remedy: None, ..self.clone() }
    }

    /// Returns the completion of a run with this problem.
    pub fn completion(&self) -> Completion {
        match self.kind {
            InputErrorKind::Unreadable | InputErrorKind::MissingField => Completion::Unreadable,
            InputErrorKind::Limit => Completion::Limit,
        }
    }
}

impl fmt::Display for InputError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let reason = explained(&self.reason, self.remedy, Remedy::text);
        match self.offset {
            None => write!(f, "{}: {reason}", self.file),
            Some(offset) => write!(f, "{}, byte {offset}: {reason}", self.file),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn excerpts_are_short_escaped_and_cut_between_characters() {
        let text = "é".repeat(500);
        for at in [0, 1, 501, 999, 1000, 5000] {
            let excerpt = excerpt(text.as_bytes(), at);
            assert!(excerpt.len() <= EXCERPT && excerpt.chars().all(|c| c == 'é'), "{at}: {excerpt}");
        }
        assert_eq!(excerpt(b"a\xffb\x1b", 1), "a\\xffb\\u{1b}");
        assert_eq!(excerpt(b"", 0), "");
    }
}
