//! Errors: the message of the engine plus a `code` that programs can test.
//!
//! Arguments of the wrong type do not get here: `lib/check.cjs` rejects them.

use sameish::Error;
use sameish_batch::input::{InputErrorKind, Remedy};
use std::any::Any;
use std::io::{self, ErrorKind};
use std::path::Path;

/// The result of a function that JavaScript calls or, with [`CodedError`], of the functions behind it. The name must be
/// `Result`, because `#[napi]` recognizes fallible functions by it.
pub(crate) type Result<T, E = napi::Error<&'static str>> = std::result::Result<T, E>;

/// An error that can be sent between threads and becomes a JavaScript error with a `code`.
#[derive(Debug)]
pub struct CodedError {
    code: &'static str,
    message: String,
}

impl CodedError {
    /// Creates the error of a defect in the addon.
    pub(crate) fn internal(reason: &str) -> CodedError {
        let message = format!("internal error of sameish: {reason}; please report it");
        CodedError { code: "ERR_SAMEISH_INTERNAL", message }
    }

    /// Creates the error of a caught panic.
    pub(crate) fn from_panic(panic: &(dyn Any + Send)) -> CodedError {
        let message = panic.downcast_ref::<&str>().copied();
        let message = message.or_else(|| panic.downcast_ref::<String>().map(String::as_str));
        CodedError::internal(message.unwrap_or("panic"))
    }

    /// Converts an error of an insert. An unreadable date is named by its path in the JavaScript arguments.
    pub(crate) fn from_date(error: Error, path: &str) -> CodedError {
        match error {
            Error::InvalidField { field: "published_at", value, expected } => CodedError {
                code: "ERR_SAMEISH_INVALID_FIELD",
                message: escape_control(&format!("`{path}` is {value}: must be {expected}")),
            },
            other => other.into(),
        }
    }

    /// Converts an error of reading or writing a file. The most common causes have the codes that Node uses for them.
    pub(crate) fn from_io(operation: &str, path: &Path, error: &io::Error) -> CodedError {
        let code = node_code(error.kind()).unwrap_or("ERR_SAMEISH_FILE");
        let path = escape_control(&path.display().to_string());
        CodedError { code, message: format!("cannot {operation} `{path}`: {error}") }
    }

    /// Creates the error of an invalid option.
    pub(crate) fn option(message: &str) -> CodedError {
        CodedError { code: "ERR_SAMEISH_OPTION", message: escape_control(&shorten(message)) }
    }

    /// Creates the error of a `dedup` that would remove more documents than allowed.
    pub(crate) fn too_many_removed(fraction: f64) -> CodedError {
        let percent = 100.0 * fraction;
        let message = format!(
            "{percent:.1} % of the documents would be removed, more than `maxRemoved`; nothing was written"
        );
        CodedError { code: "ERR_SAMEISH_LIMIT", message }
    }

    /// Adds the path of the file that has the problem.
    pub(crate) fn in_file(self, path: &Path) -> CodedError {
        let path = escape_control(&path.display().to_string());
        CodedError { message: format!("`{path}`: {}", self.message), ..self }
    }
}

impl From<Error> for CodedError {
    fn from(error: Error) -> CodedError {
        let message = match &error {
            Error::ConfigSyntax { message } => settings_message(message),
            _ => error.to_string(),
        };
        CodedError { code: code(&error), message: escape_control(&shorten(&message)) }
    }
}

impl From<sameish_batch::Error> for CodedError {
    fn from(error: sameish_batch::Error) -> CodedError {
        use sameish_batch::Error as E;
        let coded = |code, message: String| CodedError { code, message: escape_control(&message) };
        match error {
            E::Config(error) => error.into(),
            E::Input(error) => {
                let error = error.explained(remedy);
                let code = match error.kind {
                    InputErrorKind::Limit => "ERR_SAMEISH_LIMIT",
                    InputErrorKind::MissingField => "ERR_SAMEISH_OPTION",
                    InputErrorKind::Unreadable => error.io.and_then(node_code).unwrap_or("ERR_SAMEISH_INPUT"),
                };
                coded(code, error.to_string())
            }
            E::InputChanged { .. } => coded("ERR_SAMEISH_INPUT", error.to_string()),
            E::RecordRejected { reject, .. } => coded(
                "ERR_SAMEISH_RECORD",
                format!("{reject}; or pass `onBad: 'skip'` to leave out such records"),
            ),
            E::MemoryLimitTooSmall { least_mib } => {
                CodedError::option(&format!("`maxMemory` must be at least {} bytes", least_mib << 20))
            }
            E::MemoryLimit { .. } | E::CrowdsMemoryLimit { .. } => {
                coded("ERR_SAMEISH_LIMIT", format!("{error}; raise `maxMemory`"))
            }
            E::Threads { .. } => {
                coded("ERR_SAMEISH_LIMIT", format!("{error}; pass a smaller number of `threads`"))
            }
            E::TooManyDocuments => coded("ERR_SAMEISH_LIMIT", error.to_string()),
            E::Temporary(source) => coded(
                node_code(source.kind()).unwrap_or("ERR_SAMEISH_FILE"),
                format!("temporary file: {source}; pass another directory as `tempDir`"),
            ),
            E::OutputExists { .. } => {
                coded("EEXIST", format!("{error}; pass `overwrite: true` to replace it"))
            }
            E::OutputCreated { name } => {
                coded("EEXIST", format!("output `{name}` was created during the call"))
            }
            E::OutputIsDirectory { .. } => coded("EISDIR", error.to_string()),
            E::NoOutputDirectory { .. } => coded("ENOENT", error.to_string()),
            E::Output { ref source, .. } => {
                coded(node_code(source.kind()).unwrap_or("ERR_SAMEISH_FILE"), error.to_string())
            }
            E::WholeFilesIntoOne | E::MixedFormats | E::MixedColumns => CodedError::option(&format!(
                "{error}; pass a directory as `output`, such as `output: 'kept/'`"
            )),
            E::Canceled => coded("ABORT_ERR", "the call was aborted".into()),
            error => CodedError::option(&error.to_string()),
        }
    }
}

/// Returns the words for a remedy, with the names of options.
pub(crate) fn remedy(remedy: Remedy) -> &'static str {
    match remedy {
        Remedy::MaxLine | Remedy::MaxDocument => "split the record, or use the command `sameish dedup`",
        Remedy::MaxExpanded => "decompress the file if that is intended",
        Remedy::Lossy => "convert the file, or pass `lossy: true`",
        Remedy::IdField => "name the id field with `idField`",
        Remedy::TextField => "name the text field with `textField`",
        Remedy::Delimiter => {
            "set the separator with `delimiter`, as in `delimiter: ';'`, or name the text column with `textField`"
        }
        Remedy::FormatCsv => "pass `format: 'csv'`",
        Remedy::FormatTsv => "pass `format: 'tsv'`",
        Remedy::FormatText => "convert it, as in `jq -c '.[]' FILE`, or pass `format: 'text'`",
        Remedy::NoFormat => "omit `format`",
        Remedy::LastOfId => "make ids unique, or omit `idField`",
    }
}

impl From<CodedError> for napi::Error<&'static str> {
    fn from(error: CodedError) -> Self {
        napi::Error::new(error.code, error.message)
    }
}

/// Returns the code of an engine error. `lib/check.cjs` prevents the errors that share the code `ERR_SAMEISH`.
fn code(error: &Error) -> &'static str {
    match error {
        Error::InvalidField { .. } | Error::StopWord { .. } => "ERR_SAMEISH_INVALID_FIELD",
        Error::ConfigSyntax { .. } => "ERR_SAMEISH_CONFIG",
        Error::UnknownPreset { .. } => "ERR_SAMEISH_UNKNOWN_PRESET",
        Error::UnknownLanguage { .. } => "ERR_SAMEISH_UNKNOWN_LANGUAGE",
        Error::HexLength { .. } | Error::HexDigit { .. } => "ERR_SAMEISH_HEX",
        Error::Corrupt { .. } | Error::CorruptEngine { .. } | Error::CorruptIndex { .. } => {
            "ERR_SAMEISH_CORRUPT"
        }
        Error::EngineVersion { .. } | Error::Version { .. } => "ERR_SAMEISH_VERSION",
        Error::SchemeMismatch { .. } => "ERR_SAMEISH_SCHEME",
        Error::DuplicateId { .. } => "ERR_SAMEISH_REPEATED_ID",
        _ => "ERR_SAMEISH",
    }
}

/// Returns the code that Node uses for a common cause of an I/O error.
fn node_code(kind: ErrorKind) -> Option<&'static str> {
    match kind {
        ErrorKind::NotFound => Some("ENOENT"),
        ErrorKind::PermissionDenied => Some("EACCES"),
        ErrorKind::IsADirectory => Some("EISDIR"),
        ErrorKind::NotADirectory => Some("ENOTDIR"),
        ErrorKind::StorageFull => Some("ENOSPC"),
        _ => None,
    }
}

/// Phrases of the TOML parser and their equivalents in terms of JavaScript.
const PHRASES: [(&str, &str); 11] = [
    ("expected f64", "expected a number"),
    ("expected u32", "expected a whole number"),
    ("expected u64", "expected a whole number"),
    ("expected usize", "expected a whole number"),
    ("floating point `", "number `"),
    ("integer `", "number `"),
    ("unknown variant", "unknown choice"),
    ("unknown field", "unknown setting"),
    ("missing field", "missing setting"),
    ("invalid type: sequence", "invalid type: array"),
    ("invalid type: map", "invalid type: object"),
];

/// Replaces Rust terms in a message about settings.
fn settings_message(message: &str) -> String {
    let message = format!("settings: {message}");
    let message = PHRASES.iter().fold(message, |message, (rust, plain)| message.replace(rust, plain));
    match message.split_once("expected struct ") {
        None => message,
        Some((before, after)) => {
            let rest = after.trim_start_matches(|c: char| c.is_alphanumeric() || c == '_');
            format!("{before}expected an object{rest}")
        }
    }
}

/// Maximum number of characters of a word in a message. Invalid names and numbers can be arbitrarily long.
const MAX_WORD: usize = 60;
/// Maximum number of characters of a message.
const MAX_MESSAGE: usize = 1000;

/// Shortens long words and long messages.
fn shorten(message: &str) -> String {
    let shortened: String = message.split_inclusive(char::is_whitespace).map(shorten_word).collect();
    match shortened.char_indices().nth(MAX_MESSAGE) {
        Some((end, _)) => format!("{}…", &shortened[..end]),
        None => shortened,
    }
}

/// Shortens a word, but keeps the punctuation and the space at its end.
fn shorten_word(word: &str) -> String {
    let Some((end, _)) = word.char_indices().nth(MAX_WORD) else { return word.to_owned() };
    let punctuation = word.trim_end_matches(|c: char| !c.is_alphanumeric()).len().max(end);
    format!("{}…{}", &word[..end], &word[punctuation..])
}

/// Escapes control characters other than line breaks, as in `\u{1b}`.
fn escape_control(message: &str) -> String {
    let mut escaped = String::with_capacity(message.len());
    for c in message.chars() {
        if c.is_control() && c != '\n' {
            escaped.extend(c.escape_unicode());
        } else {
            escaped.push(c);
        }
    }
    escaped
}
