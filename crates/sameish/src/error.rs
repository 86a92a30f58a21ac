//! What can go wrong, as one typed list.
//!
//! Messages are lower case, name the value that was met and say what would be right. Too little text is not an
//! error: it is [`Status::TooShort`](crate::Status).

use crate::sketch::SchemeId;

/// A specialized result of this crate.
pub type Result<T> = std::result::Result<T, Error>;

/// Everything the engine refuses, with the values that made it refuse.
#[non_exhaustive]
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
pub enum Error {
    /// A setting is outside what makes sense.
    #[error("`{field}` is {value}: must be {expected}")]
    InvalidField {
        /// Path of the setting, as it is written in a config file.
        field: &'static str,
        /// The value that was met.
        value: String,
        /// What would be right.
        expected: String,
    },
    /// The config file is not TOML, or has a key or a type we do not know.
    #[error("config: {message}")]
    ConfigSyntax {
        /// The parser's message, with line and column.
        message: String,
    },
    /// No preset has that name.
    #[error("no preset is named `{name}`: choose one of {known}")]
    UnknownPreset {
        /// The name that was asked for.
        name: String,
        /// The names there are.
        known: String,
    },
    /// We have no stop words for that language.
    #[error("no stop words for language `{code}`: use a two-letter code such as `en`, `de` or `fr`")]
    UnknownLanguage {
        /// The code that was asked for.
        code: String,
    },
    /// Two sketches that do not measure the same thing were brought together.
    #[error("sketch was made under scheme {found}, this one is {expected}: make both with the same settings")]
    SchemeMismatch {
        /// The scheme at hand.
        expected: SchemeId,
        /// The scheme that came in.
        found: SchemeId,
    },
    /// Two sketches of one kind differ in size.
    #[error("{what} of {found} can not be compared with {expected}: make both with the same settings")]
    SizeMismatch {
        /// The kind of sketch.
        what: &'static str,
        /// The size at hand.
        expected: usize,
        /// The size that came in.
        found: usize,
    },
    /// A hex string has the wrong number of digits.
    #[error("{what} has {found} hex digits: must be {expected}")]
    HexLength {
        /// What was being read.
        what: &'static str,
        /// The right number of digits.
        expected: usize,
        /// The number that was met.
        found: usize,
    },
    /// A hex string holds something else.
    #[error("{what} has `{}` at position {position}: must be a hex digit (0-9, a-f)", found.escape_default())]
    HexDigit {
        /// What was being read.
        what: &'static str,
        /// Zero-based character position.
        position: usize,
        /// The character that was met.
        found: char,
    },
    /// A stored sketch has the wrong number of bytes.
    #[error("{what} has {found} bytes: must be {expected}")]
    ByteLength {
        /// What was being read.
        what: &'static str,
        /// The right number, in words.
        expected: String,
        /// The number that was met.
        found: usize,
    },
    /// Stored bytes are not one of our sketches, or were damaged.
    #[error("not a stored sketch: {reason} at byte {offset}")]
    Corrupt {
        /// What is wrong.
        reason: &'static str,
        /// Where.
        offset: usize,
    },
    /// Stored bytes are not one of our indexes, or were damaged.
    #[error("not a stored index: {reason} at byte {offset}")]
    CorruptIndex {
        /// What is wrong.
        reason: &'static str,
        /// Where.
        offset: usize,
    },
    /// Stored bytes are not one of our engines, or were damaged.
    #[error("not a stored engine: {reason} at byte {offset}")]
    CorruptEngine {
        /// What is wrong.
        reason: &'static str,
        /// Where.
        offset: usize,
    },
    /// A stored engine comes from another version of this crate.
    #[error(
        "engine has format version {found}, this build reads {supported}: read it with the sameish that wrote it"
    )]
    EngineVersion {
        /// The version that was met.
        found: u32,
        /// The one this build can read.
        supported: u32,
    },
    /// Stored bytes come from a newer version of this crate.
    #[error("sketch has format version {found}, this build reads up to {supported}: update sameish")]
    Version {
        /// The version that was met.
        found: u8,
        /// The newest this build can read.
        supported: u8,
    },
    /// A weight that is no number can not vote.
    #[error("weight {value} of feature {position}: must be finite and between 0 and {max}")]
    InvalidWeight {
        /// The weight as given.
        value: String,
        /// Zero-based position among the features.
        position: usize,
        /// The largest weight that is taken.
        max: f64,
    },
    /// Two documents of one input have the same id.
    #[error("id `{id}` occurs at positions {first} and {second}: give each document an id of its own")]
    RepeatedId {
        /// The id.
        id: String,
        /// Zero-based position of its first document.
        first: usize,
        /// Zero-based position of the next.
        second: usize,
    },
    /// Something is wrong with one document of an input.
    #[error("document `{id}`: {source}")]
    InDocument {
        /// Its id.
        id: String,
        /// What is wrong.
        source: Box<Error>,
    },
}

impl Error {
    pub(crate) fn field(field: &'static str, value: impl ToString, expected: impl Into<String>) -> Error {
        Error::InvalidField { field, value: value.to_string(), expected: expected.into() }
    }
}
