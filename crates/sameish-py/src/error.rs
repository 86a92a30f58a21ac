//! What does Python hear when something is refused?
//!
//! The exceptions are classes of `sameish/_errors.py`, so that they have two parents, pickle, and are typed. Messages are
//! the engine's.

use pyo3::prelude::*;

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
    use sameish::Error as E;
    let message = error.to_string();
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

/// No document has that id.
pub(crate) fn unknown_id(id: &sameish::DocId) -> PyErr {
    raised::UnknownId::new_err(format!("no document has the id {}", shown(&format!("{id:?}"))))
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
