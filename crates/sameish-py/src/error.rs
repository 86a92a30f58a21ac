//! What does Python hear when something is refused?
//!
//! The exceptions are classes of `sameish/_errors.py`, so that they have two parents, pickle, and are typed. Messages are
//! the engine's.

use pyo3::exceptions::PyOSError;
use pyo3::prelude::*;
use std::io;
use std::path::Path;

mod raised {
    //! The classes by name.
    #![allow(missing_docs, unreachable_pub)]
    pyo3::import_exception!(sameish._errors, CorruptFile);
    pyo3::import_exception!(sameish._errors, NumberError);
    pyo3::import_exception!(sameish._errors, SchemeMismatch);
    pyo3::import_exception!(sameish._errors, SettingError);
    pyo3::import_exception!(sameish._errors, TextError);
    pyo3::import_exception!(sameish._errors, UnknownId);
    pyo3::import_exception!(sameish._errors, VersionError);
    pyo3::import_exception!(sameish._errors, WrongType);
}

/// Longest part of a foreign message or value that is repeated.
const SHOWN: usize = 200;

/// The exception for what the engine refused.
pub(crate) fn refused(error: sameish::Error) -> PyErr {
    let message = error.to_string();
    raise(&error, message)
}

/// The same, of what was in a file.
pub(crate) fn in_file(path: &Path, error: sameish::Error) -> PyErr {
    raise(&error, format!("{}: {error}", shown(&path.display().to_string())))
}

fn raise(error: &sameish::Error, message: String) -> PyErr {
    use sameish::Error as E;
    match error {
        E::SchemeMismatch { .. } | E::SizeMismatch { .. } => raised::SchemeMismatch::new_err(message),
        E::Corrupt { .. } | E::CorruptIndex { .. } | E::CorruptEngine { .. } => {
            raised::CorruptFile::new_err(message)
        }
        E::Version { .. } | E::EngineVersion { .. } => raised::VersionError::new_err(message),
        _ => raised::SettingError::new_err(message),
    }
}

/// An argument is outside what makes sense.
pub(crate) fn setting(message: impl Into<String>) -> PyErr {
    raised::SettingError::new_err(message.into())
}

/// Something of another type was meant.
pub(crate) fn wrong_type(message: impl Into<String>) -> PyErr {
    raised::WrongType::new_err(message.into())
}

/// A number does not fit.
pub(crate) fn number(message: impl Into<String>) -> PyErr {
    raised::NumberError::new_err(message.into())
}

/// A text is not Unicode.
pub(crate) fn not_unicode(message: impl Into<String>) -> PyErr {
    raised::TextError::new_err(message.into())
}

/// A file can not be had, as Python tells it.
pub(crate) fn no_file(error: &io::Error, path: &Path) -> PyErr {
    let number = error.raw_os_error().or(match error.kind() {
        // Whoever wrapped an error has lost its number.
        io::ErrorKind::NotFound => Some(2),
        io::ErrorKind::PermissionDenied => Some(13),
        io::ErrorKind::NotADirectory => Some(20),
        io::ErrorKind::IsADirectory => Some(21),
        io::ErrorKind::InvalidInput => Some(22),
        io::ErrorKind::FileTooLarge => Some(27),
        io::ErrorKind::StorageFull => Some(28),
        io::ErrorKind::ReadOnlyFilesystem => Some(30),
        _ => None,
    });
    match number {
        Some(number) => {
            let text = error.to_string();
            // Rust adds the number, which Python shows too, and others the names they made up.
            let text = text.split_once(" (os error").map_or(text.as_str(), |(text, _)| text);
            PyOSError::new_err((number, text.to_owned(), path.to_owned()))
        }
        None => PyOSError::new_err(format!("{}: {error}", shown(&path.display().to_string()))),
    }
}

/// No document has that id.
pub(crate) fn unknown_id(id: &sameish::DocId) -> PyErr {
    let id = match id {
        sameish::DocId::Text(id) => format!("\"{}\"", shown(id)),
        id => id.to_string(),
    };
    raised::UnknownId::new_err(format!("no document has the id {id}"))
}

/// What a value looks like, cut off where it is long and without control characters.
pub(crate) fn shown(text: &str) -> String {
    let mut short: String = text.chars().take(SHOWN).flat_map(char::escape_debug).collect();
    if text.chars().nth(SHOWN).is_some() {
        short += " and more";
    }
    short
}

/// The name of a value's type.
pub(crate) fn type_name(value: &Bound<'_, PyAny>) -> String {
    value.get_type().name().map_or_else(|_| "object".to_owned(), |name| name.to_string())
}
