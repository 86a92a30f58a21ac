//! Errors of this crate.
//!
//! Messages are lower case; they name the invalid value and the valid ones. A text that is too short is not an error but a
//! status: [`Status::TooShort`](crate::Status).

use crate::sketch::SchemeId;

/// The result type of this crate.
pub type Result<T> = std::result::Result<T, Error>;

/// An error of the engine, with the values that caused it.
#[non_exhaustive]
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
pub enum Error {
    /// A setting or argument is out of range or inconsistent with others.
    #[error("`{field}` is {value}: must be {expected}")]
    InvalidField {
        /// Path of the setting, as in a config file.
        field: &'static str,
        /// The invalid value.
        value: String,
        /// Description of the valid values.
        expected: String,
    },
    /// The config file is not valid TOML, or it contains an unknown key or a value of the wrong type.
    #[error("config: {message}")]
    ConfigSyntax {
        /// Message of the TOML parser, with line and column.
        message: String,
    },
    /// No preset has the given name.
    #[error("unknown preset `{name}`: expected one of {known}")]
    UnknownPreset {
        /// The given name.
        name: String,
        /// Names of all presets, separated by commas.
        known: String,
    },
    /// An entry of a list of stop words is not one word.
    #[error("`text.stop_words[{at}]` is {entry:?}: must be {expected}")]
    StopWord {
        /// Zero-based position of the entry.
        at: usize,
        /// The entry, shortened.
        entry: String,
        /// What the tokenizer requires of an entry.
        expected: &'static str,
    },
    /// There is no list of stop words for the given language.
    #[error("no stop words for language `{code}`: use a two-letter code such as `en`, `de` or `fr`")]
    UnknownLanguage {
        /// The given language code.
        code: String,
    },
    /// A sketch has a different scheme than expected, so it cannot be compared.
    #[error("sketch has scheme {found}, expected {expected}: create both sketches with the same settings")]
    SchemeMismatch {
        /// The expected scheme.
        expected: SchemeId,
        /// The scheme of the given sketch.
        found: SchemeId,
    },
    /// Two sketches of the same kind have different sizes.
    #[error("{what}: expected {expected}, found {found}; create both sketches with the same settings")]
    SizeMismatch {
        /// Name of the size, such as `signature rows`.
        what: &'static str,
        /// The expected size.
        expected: usize,
        /// The size of the given sketch.
        found: usize,
    },
    /// A hex string has the wrong number of digits.
    #[error("{what} has {found} hex digits: must be {expected}")]
    HexLength {
        /// Kind of value that was parsed.
        what: &'static str,
        /// The required number of digits.
        expected: usize,
        /// The number of characters in the string.
        found: usize,
    },
    /// A hex string contains a character that is not a hex digit.
    #[error("{what} has `{}` at position {position}: must be a hex digit (0-9, a-f)", found.escape_default())]
    HexDigit {
        /// Kind of value that was parsed.
        what: &'static str,
        /// Zero-based position in characters.
        position: usize,
        /// The invalid character.
        found: char,
    },
    /// A stored value has the wrong number of bytes.
    #[error("{what} has {found} bytes: must be {expected}")]
    ByteLength {
        /// Kind of value that was decoded.
        what: &'static str,
        /// Description of the valid lengths.
        expected: String,
        /// The actual length in bytes.
        found: usize,
    },
    /// Bytes are not a stored sketch, or they are damaged.
    #[error("invalid stored sketch: {reason} at byte {offset}; compute the sketch again")]
    Corrupt {
        /// Description of the problem.
        reason: &'static str,
        /// Offset at which the problem was detected.
        offset: usize,
    },
    /// Bytes are not a stored index, or they are damaged.
    #[error("invalid stored index: {reason} at byte {offset}; restore the file or build the index again")]
    CorruptIndex {
        /// Description of the problem.
        reason: &'static str,
        /// Offset at which the problem was detected.
        offset: usize,
    },
    /// Bytes are not a stored engine, or they are damaged.
    #[error("invalid stored engine: {reason} at byte {offset}; restore the file or build the engine again")]
    CorruptEngine {
        /// Description of the problem.
        reason: &'static str,
        /// Offset at which the problem was detected.
        offset: usize,
    },
    /// A stored engine has the format of another version of this crate.
    #[error(
        "stored engine has format version {found}, but this build reads version {supported}: use the version of sameish that wrote it"
    )]
    EngineVersion {
        /// Format version of the stored engine.
        found: u32,
        /// Format version that this build reads.
        supported: u32,
    },
    /// A stored sketch has a newer format than this version of the crate reads.
    #[error(
        "stored sketch has format version {found}, but this build reads up to {supported}: update sameish"
    )]
    Version {
        /// Format version of the stored sketch.
        found: u8,
        /// Newest format version that this build reads.
        supported: u8,
    },
    /// The weight of a feature is out of range or not a number.
    #[error("weight {value} of feature {position} is invalid: must be between 0 and {max}")]
    InvalidWeight {
        /// The invalid weight.
        value: String,
        /// Zero-based position of the feature.
        position: usize,
        /// Maximum weight.
        max: f64,
    },
    /// Two documents of an input have the same id.
    #[error("duplicate id `{id}` at positions {first} and {second}: make ids unique")]
    DuplicateId {
        /// The id.
        id: String,
        /// Zero-based position of the first document.
        first: usize,
        /// Zero-based position of the second document.
        second: usize,
    },
    /// A document of an input is invalid.
    #[error("document `{id}`: {source}")]
    InDocument {
        /// Id of the document.
        id: String,
        /// The error of the document.
        source: Box<Error>,
    },
}

impl Error {
    pub(crate) fn field(field: &'static str, value: impl ToString, expected: impl Into<String>) -> Error {
        Error::InvalidField { field, value: value.to_string(), expected: expected.into() }
    }
}
