//! Document ids, and the rules that every interface applies to them.

use crate::error::{Error, Result};
use serde::{Deserialize, Serialize};
use std::borrow::Borrow;
use std::collections::HashMap;
use std::collections::hash_map::Entry;

/// The id of a document, assigned by the caller. It keeps its JSON type: `7` and `"7"` are different ids.
///
/// Integers are exact over the whole range of `i64` and `u64`, including those beyond 2^53.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(untagged)]
pub enum DocId {
    /// A non-negative integer.
    Number(u64),
    /// A negative integer.
    Negative(i64),
    /// A string.
    Text(String),
}

impl std::fmt::Display for DocId {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            DocId::Number(n) => n.fmt(f),
            DocId::Negative(n) => n.fmt(f),
            DocId::Text(s) => s.fmt(f),
        }
    }
}

impl From<&str> for DocId {
    fn from(id: &str) -> Self {
        DocId::Text(id.to_owned())
    }
}

impl From<u64> for DocId {
    fn from(id: u64) -> Self {
        DocId::Number(id)
    }
}

/// Why a string is not accepted as an id.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum InvalidId {
    /// The string is empty.
    #[error("is empty")]
    Empty,
    /// The string is longer than [`DocId::MAX_BYTES`].
    #[error("has {bytes} bytes; the maximum is 512 bytes")]
    TooLong {
        /// The length in bytes.
        bytes: usize,
    },
    /// The string contains control characters, which terminals, URLs and logs garble.
    #[error("contains control characters")]
    ControlCharacters,
}

impl DocId {
    /// The maximum length of a string id, in bytes.
    pub const MAX_BYTES: usize = 512;

    /// Creates an id from a string. Returns an error if the string is empty, longer than [`MAX_BYTES`](Self::MAX_BYTES), or
    /// contains control characters.
    ///
    /// ```
    /// use sameish::DocId;
    ///
    /// assert_eq!(DocId::from_text("7"), Ok(DocId::Text("7".into())));
    /// assert_eq!(DocId::from_text("").unwrap_err().to_string(), "is empty");
    /// ```
    pub fn from_text(text: impl Into<String>) -> std::result::Result<DocId, InvalidId> {
        let id = DocId::Text(text.into());
        id.validate().map(|()| id)
    }

    /// Returns an error if the id is a string that [`from_text`](Self::from_text) does not accept.
    pub fn validate(&self) -> std::result::Result<(), InvalidId> {
        let DocId::Text(text) = self else { return Ok(()) };
        if text.is_empty() {
            Err(InvalidId::Empty)
        } else if text.len() > Self::MAX_BYTES {
            Err(InvalidId::TooLong { bytes: text.len() })
        } else if text.chars().any(char::is_control) {
            Err(InvalidId::ControlCharacters)
        } else {
            Ok(())
        }
    }

    /// Creates an id from an integer in canonical decimal notation: no leading zeros, no `+`, no `-0`. Returns `None` for
    /// any other string, and for integers beyond 64 bits.
    ///
    /// ```
    /// use sameish::DocId;
    ///
    /// assert_eq!(DocId::from_integer("-7"), Some(DocId::Negative(-7)));
    /// assert_eq!(DocId::from_integer("07"), None);
    /// ```
    pub fn from_integer(digits: &str) -> Option<DocId> {
        let number = digits.parse().map(DocId::Number);
        let id = number.or_else(|_| digits.parse().map(DocId::Negative)).ok()?;
        (id.to_string() == digits).then_some(id)
    }

    /// Returns the id as JSON, which distinguishes `7` from `"7"`.
    pub fn to_json(&self) -> String {
        serde_json::to_string(self).unwrap_or_else(|error| unreachable!("every id has a JSON form: {error}"))
    }

    /// Parses an id from JSON: a string or a 64-bit integer. The rules of [`from_text`](Self::from_text) are not applied.
    pub fn from_json(json: &str) -> Option<DocId> {
        serde_json::from_str(json).ok()
    }

    /// Returns an error that names the first duplicate, if any, and both of its positions.
    pub fn check_unique<I>(ids: I) -> Result<()>
    where
        I: IntoIterator,
        I::Item: Borrow<DocId> + Eq + std::hash::Hash,
    {
        let mut seen = HashMap::new();
        for (second, id) in ids.into_iter().enumerate() {
            match seen.entry(id) {
                Entry::Vacant(entry) => _ = entry.insert(second),
                Entry::Occupied(first) => {
                    let id = excerpt(&first.key().borrow().to_string());
                    return Err(Error::DuplicateId { id, first: *first.get(), second });
                }
            }
        }
        Ok(())
    }
}

/// Shortens an id for an error message.
fn excerpt(id: &str) -> String {
    const MAX_CHARS: usize = 100;
    match id.char_indices().nth(MAX_CHARS) {
        Some((end, _)) => format!("{}…", &id[..end]),
        None => id.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rejects_empty_long_and_unprintable_strings() {
        assert_eq!(DocId::from_text("x".repeat(512)), Ok(DocId::Text("x".repeat(512))));
        assert_eq!(DocId::from_text("x".repeat(513)), Err(InvalidId::TooLong { bytes: 513 }));
        assert_eq!(DocId::from_text(""), Err(InvalidId::Empty));
        for text in ["a\0", "\n", "\u{7F}", "\u{85}"] {
            assert_eq!(DocId::from_text(text), Err(InvalidId::ControlCharacters), "{text:?}");
        }
    }

    #[test]
    fn reads_canonical_integers_only() {
        assert_eq!(DocId::from_integer("18446744073709551615"), Some(DocId::Number(u64::MAX)));
        assert_eq!(DocId::from_integer("-9223372036854775808"), Some(DocId::Negative(i64::MIN)));
        for text in ["", "07", "+7", "-0", "7.0", "18446744073709551616", "a7", "７"] {
            assert_eq!(DocId::from_integer(text), None, "{text}");
        }
    }

    #[test]
    fn json_keeps_the_type() {
        for id in [DocId::Number(7), DocId::Negative(-7), "7".into(), "a \"b\"".into()] {
            assert_eq!(DocId::from_json(&id.to_json()), Some(id));
        }
        assert_eq!(
            [DocId::from_json("1.5"), DocId::from_json("null"), DocId::from_json("[]")],
            [const { None }; 3]
        );
    }

    #[test]
    fn names_the_first_duplicate_with_both_positions() {
        let ids: Vec<DocId> = [1u64, 2, 3, 2, 1].map(DocId::from).to_vec();
        let expected = Error::DuplicateId { id: "2".into(), first: 1, second: 3 };
        assert_eq!(DocId::check_unique(&ids), Err(expected));
        assert_eq!(DocId::check_unique([DocId::Number(7), "7".into()]), Ok(()));
    }
}
