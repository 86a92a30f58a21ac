//! Records and inputs that cannot be used, and why.

use crate::escape::escaped_bytes;
use crate::run_log::Completion;
use serde::{Serialize, Serializer};
use std::fmt;
use std::sync::Arc;

/// Maximum length of an excerpt of a rejected record, in bytes before escaping.
const EXCERPT: usize = 120;

/// A rejected record. Also the format of a line of the `--rejects` file.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Reject {
    /// Escaped name of the input.
    #[serde(serialize_with = "as_text")]
    pub file: Arc<str>,
    /// Position of the record.
    #[serde(flatten)]
    pub place: Place,
    /// Reason and remedy.
    pub reason: String,
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

impl fmt::Display for Reject {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}, {}: {}", self.file, self.place, self.reason)
    }
}

/// Why a record is rejected, and the offset of the error within the record.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Reason {
    pub(crate) at: usize,
    pub(crate) text: String,
}

impl Reason {
    /// Creates a reason that concerns the record as a whole.
    pub(crate) fn new(text: impl Into<String>) -> Reason {
        Reason { at: 0, text: text.into() }
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
    /// Reason and remedy.
    pub reason: String,
    /// Class of the problem.
    pub kind: InputErrorKind,
}

/// Class of an [`InputError`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum InputErrorKind {
    /// The input is missing, damaged or not text.
    Unreadable,
    /// The input exceeds a limit.
    Limit,
}

impl InputError {
    pub(crate) fn unreadable(file: &Arc<str>, reason: impl Into<String>) -> InputError {
        let kind = InputErrorKind::Unreadable;
        InputError { file: file.clone(), offset: None, reason: reason.into(), kind }
    }

    pub(crate) fn limit(file: &Arc<str>, reason: impl Into<String>) -> InputError {
        InputError { kind: InputErrorKind::Limit, ..InputError::unreadable(file, reason) }
    }

    /// Returns the completion of a run with this problem.
    pub fn completion(&self) -> Completion {
        match self.kind {
            InputErrorKind::Unreadable => Completion::Unreadable,
            InputErrorKind::Limit => Completion::Limit,
        }
    }
}

impl fmt::Display for InputError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.offset {
            None => write!(f, "{}: {}", self.file, self.reason),
            Some(offset) => write!(f, "{}, byte {offset}: {}", self.file, self.reason),
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
