//! What does JavaScript learn when the engine refuses?
//!
//! The engine's own message, and a `code` that programs can look at. Wrong types never come this far: `lib/check.cjs`
//! answers them.

use sameish::Error;
use std::io::{self, ErrorKind};
use std::path::Path;

/// What functions for JavaScript give, and with a [`Fault`] those behind them. The name matters: `#[napi]` knows a `Result`
/// by it.
pub(crate) type Result<T, E = napi::Error<&'static str>> = std::result::Result<T, E>;

/// A refusal that can travel between threads.
#[derive(Debug)]
pub struct Fault {
    pub(crate) code: &'static str,
    pub(crate) message: String,
}

impl Fault {
    /// Something of ours broke. The process goes on.
    pub(crate) fn internal(what: &str) -> Fault {
        let message = format!("internal error of sameish: {what}; please report it");
        Fault { code: "ERR_SAMEISH_INTERNAL", message }
    }

    /// A date that can not be read, by the name that JavaScript has for it; whatever else it is, it stays.
    pub(crate) fn of_date(error: Error, place: &str) -> Fault {
        match error {
            Error::InvalidField { field: "published_at", value, expected } => Fault {
                code: "ERR_SAMEISH_INVALID_FIELD",
                message: escaped(&format!("`{place}` is {value}: must be {expected}")),
            },
            other => other.into(),
        }
    }

    /// A file that can not be read or written. Programs know the usual reasons by the codes that Node has for them.
    pub(crate) fn of_file(path: &Path, done: &str, error: &io::Error) -> Fault {
        let code = match error.kind() {
            ErrorKind::NotFound => "ENOENT",
            ErrorKind::PermissionDenied => "EACCES",
            ErrorKind::IsADirectory => "EISDIR",
            ErrorKind::NotADirectory => "ENOTDIR",
            ErrorKind::StorageFull => "ENOSPC",
            _ => "ERR_SAMEISH_FILE",
        };
        Fault { code, message: format!("can not be {done}: {error}") }.in_file(path)
    }

    /// The same, with the name of the file.
    pub(crate) fn in_file(self, path: &Path) -> Fault {
        Fault { message: format!("{}: {}", escaped(&path.display().to_string()), self.message), ..self }
    }

    /// A panic, by what it said.
    pub(crate) fn panicked(panic: &(dyn std::any::Any + Send)) -> Fault {
        let said = panic.downcast_ref::<&str>().copied();
        let said = said.or_else(|| panic.downcast_ref::<String>().map(String::as_str));
        Fault::internal(said.unwrap_or("a panic"))
    }
}

impl From<Error> for Fault {
    fn from(error: Error) -> Fault {
        let message = match &error {
            Error::ConfigSyntax { message } => plain_words(message),
            _ => error.to_string(),
        };
        Fault { code: code(&error), message: escaped(&shortened(&message)) }
    }
}

/// What the reader of settings says in words of Rust, and what it says in those of JavaScript.
const WORDS: [(&str, &str); 11] = [
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

/// A message about settings without the names that only the engine's source has.
fn plain_words(message: &str) -> String {
    let message = WORDS
        .iter()
        .fold(format!("settings: {message}"), |message, (rust, plain)| message.replace(rust, plain));
    match message.split_once("expected struct ") {
        None => message,
        Some((before, after)) => {
            let rest = after.trim_start_matches(|c: char| c.is_alphanumeric() || c == '_');
            format!("{before}expected an object{rest}")
        }
    }
}

/// Most characters of a word that a message shows: a number may have three hundred digits, a name any number of letters.
const WORD: usize = 60;
/// Most characters of a message.
const MESSAGE: usize = 1000;

fn shortened(message: &str) -> String {
    let word = |word: &str| match word.char_indices().nth(WORD) {
        Some((end, _)) => {
            // A colon behind a value, a quote around it.
            let marks = &word[word.trim_end_matches(|c: char| !c.is_alphanumeric()).len().max(end)..];
            format!("{}… and more{marks}", &word[..end])
        }
        None => word.to_owned(),
    };
    let all: String = message.split_inclusive(char::is_whitespace).map(word).collect();
    match all.char_indices().nth(MESSAGE) {
        Some((end, _)) => format!("{}… and more", &all[..end]),
        None => all,
    }
}

/// The message with control characters of what was handed in written out, as in `\u{1b}`; the lines of a message stay.
fn escaped(message: &str) -> String {
    let mut out = String::with_capacity(message.len());
    for c in message.chars() {
        match c {
            c if c.is_control() && c != '\n' => out.extend(c.escape_unicode()),
            c => out.push(c),
        }
    }
    out
}

impl From<Fault> for napi::Error<&'static str> {
    fn from(fault: Fault) -> Self {
        napi::Error::new(fault.code, fault.message)
    }
}

/// The code of an error. Those without one of their own are kept away by `lib/check.cjs`.
fn code(error: &Error) -> &'static str {
    match error {
        Error::InvalidField { .. } => "ERR_SAMEISH_INVALID_FIELD",
        Error::ConfigSyntax { .. } => "ERR_SAMEISH_CONFIG",
        Error::UnknownPreset { .. } => "ERR_SAMEISH_UNKNOWN_PRESET",
        Error::UnknownLanguage { .. } => "ERR_SAMEISH_UNKNOWN_LANGUAGE",
        Error::HexLength { .. } | Error::HexDigit { .. } => "ERR_SAMEISH_HEX",
        Error::Corrupt { .. } | Error::CorruptEngine { .. } => "ERR_SAMEISH_CORRUPT",
        Error::EngineVersion { .. } => "ERR_SAMEISH_VERSION",
        Error::RepeatedId { .. } => "ERR_SAMEISH_REPEATED_ID",
        _ => "ERR_SAMEISH",
    }
}
