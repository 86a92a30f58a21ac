//! What is said about a record or an input that was not taken?

use crate::exit::Exit;
use crate::output::escape::escaped_bytes;
use serde::{Serialize, Serializer};
use std::fmt;
use std::sync::Arc;

/// Longest piece of a rejected record that is shown, in bytes before escaping.
const EXCERPT: usize = 120;

/// A record that was not taken, and why. Also a line of the file that `--rejects` names.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub(crate) struct Reject {
    /// The input, escaped.
    #[serde(serialize_with = "as_text")]
    pub(crate) file: Arc<str>,
    #[serde(flatten)]
    pub(crate) place: Place,
    /// Reason and remedy.
    pub(crate) reason: String,
    /// What stands there, shortened and escaped.
    pub(crate) excerpt: String,
}

/// Where a record is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(untagged)]
pub(crate) enum Place {
    Line {
        /// Physical line where the record starts, from 1.
        line: u64,
        /// Byte where the trouble is, from 0, counted after decompression.
        offset: u64,
    },
    Row {
        /// From 1.
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

/// Why a record was not taken, and how far into the record the trouble is.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Reason {
    pub(crate) at: usize,
    pub(crate) text: String,
}

impl Reason {
    /// A reason that concerns the record as a whole.
    pub(crate) fn new(text: impl Into<String>) -> Reason {
        Reason { at: 0, text: text.into() }
    }
}

/// The bytes around `at`, short and safe to print.
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
pub(crate) struct Broken {
    /// The input, escaped.
    pub(crate) file: Arc<str>,
    /// Byte up to which it was read, counted after decompression; absent where nothing was.
    pub(crate) offset: Option<u64>,
    /// Reason and remedy.
    pub(crate) reason: String,
    /// [`Exit::Unreadable`] or [`Exit::Limit`].
    pub(crate) exit: Exit,
}

impl Broken {
    pub(crate) fn unreadable(file: &Arc<str>, reason: impl Into<String>) -> Broken {
        Broken { file: file.clone(), offset: None, reason: reason.into(), exit: Exit::Unreadable }
    }
}

impl fmt::Display for Broken {
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
    fn excerpts_are_short_escaped_and_cut_between_letters() {
        let text = "é".repeat(500);
        for at in [0, 1, 501, 999, 1000, 5000] {
            let excerpt = excerpt(text.as_bytes(), at);
            assert!(excerpt.len() <= EXCERPT && excerpt.chars().all(|c| c == 'é'), "{at}: {excerpt}");
        }
        assert_eq!(excerpt(b"a\xffb\x1b", 1), "a\\xffb\\u{1b}");
        assert_eq!(excerpt(b"", 0), "");
    }
}
