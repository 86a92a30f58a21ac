//! Python exceptions.
//!
//! The exception classes are in `sameish/_errors.py`, because classes defined in Python can have two base classes, can be
//! pickled, and are visible to type checkers.

use pyo3::exceptions::PyOSError;
use pyo3::prelude::*;
use sameish_batch::input::{InputErrorKind, Remedy};
use std::io;
use std::path::Path;

mod exceptions {
    //! The exception classes of `sameish._errors`.
    #![allow(missing_docs, unreachable_pub)]
    pyo3::import_exception!(sameish._errors, CorruptFile);
    pyo3::import_exception!(sameish._errors, InputError);
    pyo3::import_exception!(sameish._errors, LimitError);
    pyo3::import_exception!(sameish._errors, NumberError);
    pyo3::import_exception!(sameish._errors, RecordError);
    pyo3::import_exception!(sameish._errors, SchemeMismatch);
    pyo3::import_exception!(sameish._errors, SettingError);
    pyo3::import_exception!(sameish._errors, TextError);
    pyo3::import_exception!(sameish._errors, UnknownId);
    pyo3::import_exception!(sameish._errors, VersionError);
    pyo3::import_exception!(sameish._errors, WrongType);
}

/// Maximum length of a quoted value or foreign message, in characters.
const MAX_EXCERPT: usize = 200;

/// Converts an error of the engine.
pub(crate) fn engine_error(error: sameish::Error) -> PyErr {
    let message = error.to_string();
    with_message(&error, message)
}

/// Converts an error of the engine about the contents of a file.
pub(crate) fn file_error(path: &Path, error: sameish::Error) -> PyErr {
    with_message(&error, format!("{}: {error}", excerpt(&path.display().to_string())))
}

fn with_message(error: &sameish::Error, message: String) -> PyErr {
    use sameish::Error as E;
    match error {
        E::SchemeMismatch { .. } | E::SizeMismatch { .. } => exceptions::SchemeMismatch::new_err(message),
        E::Corrupt { .. } | E::CorruptIndex { .. } | E::CorruptEngine { .. } => {
            exceptions::CorruptFile::new_err(message)
        }
        E::Version { .. } | E::EngineVersion { .. } => exceptions::VersionError::new_err(message),
        _ => exceptions::SettingError::new_err(message),
    }
}

/// Creates a `SettingError`: an argument is out of range.
pub(crate) fn setting_error(message: impl Into<String>) -> PyErr {
    exceptions::SettingError::new_err(message.into())
}

/// Creates a `WrongType`: an argument has the wrong type.
pub(crate) fn type_error(message: impl Into<String>) -> PyErr {
    exceptions::WrongType::new_err(message.into())
}

/// Creates a `NumberError`: a number is out of range.
pub(crate) fn number_error(message: impl Into<String>) -> PyErr {
    exceptions::NumberError::new_err(message.into())
}

/// Creates a `TextError`: a text is not valid Unicode.
pub(crate) fn text_error(message: impl Into<String>) -> PyErr {
    exceptions::TextError::new_err(message.into())
}

/// Creates a `LimitError`: a limit was reached.
pub(crate) fn limit_error(message: impl Into<String>) -> PyErr {
    exceptions::LimitError::new_err(message.into())
}

/// Converts an error of a batch run. Messages name the parameters of `dedup`, `pairs` and `cluster`.
pub(crate) fn batch_error(error: sameish_batch::Error) -> PyErr {
    use sameish_batch::Error as E;
    let in_directory = "; pass a directory as `output`, such as `output=\"kept/\"`";
    match error {
        E::Config(error) => engine_error(error),
        E::Input(error) => input_error(&error),
        E::InputChanged { .. } => exceptions::InputError::new_err(error.to_string()),
        E::RecordRejected { reject, .. } => exceptions::RecordError::new_err(format!(
            "{reject}; or pass `on_bad=\"skip\"` to leave out such records"
        )),
        E::MemoryLimitTooSmall { least_mib } => {
            setting_error(format!("`max_memory` must be at least {} bytes", least_mib << 20))
        }
        E::MemoryLimit { .. } | E::CrowdsMemoryLimit { .. } => {
            limit_error(format!("{error}; raise `max_memory`"))
        }
        E::Threads { .. } => limit_error(format!("{error}; pass a smaller number of `threads`")),
        E::TooManyDocuments => limit_error(error.to_string()),
        E::Temporary(error) => {
            let message = format!("temporary file: {error}; pass another directory as `temp_dir`");
            numbered_error(&error, message, None)
        }
        E::OutputIsDirectory { name } => PyOSError::new_err((21, "is a directory", name)),
        E::OutputExists { name } => {
            PyOSError::new_err((17, "already exists; pass `overwrite=True` to replace it", name))
        }
        E::OutputCreated { name } => PyOSError::new_err((17, "was created during the call", name)),
        E::NoOutputDirectory { name } => {
            PyOSError::new_err((2, "its directory does not exist; create it", name))
        }
        E::Output { name, problem, source } => numbered_error(&source, problem.to_owned(), Some(name)),
        E::WholeFilesIntoOne | E::MixedFormats | E::MixedColumns => {
            setting_error(format!("{error}{in_directory}"))
        }
        error => setting_error(error.to_string()),
    }
}

/// Converts an error about an input. Errors of the system become the subclass of `OSError` for their number.
fn input_error(error: &sameish_batch::input::InputError) -> PyErr {
    let error = error.explained(remedy);
    match error.kind {
        InputErrorKind::Limit => return limit_error(error.to_string()),
        InputErrorKind::MissingField => return setting_error(error.to_string()),
        InputErrorKind::Unreadable => {}
    }
    match error.io.and_then(error_number) {
        Some(number) => PyOSError::new_err((number, error.reason, error.file.to_string())),
        None => exceptions::InputError::new_err(error.to_string()),
    }
}

fn numbered_error(error: &io::Error, message: String, name: Option<String>) -> PyErr {
    match error.raw_os_error().or(error_number(error.kind())) {
        Some(number) => PyOSError::new_err((number, message, name)),
        None => PyOSError::new_err(name.map_or(message.clone(), |name| format!("{name}: {message}"))),
    }
}

/// Returns the words for a remedy, with the names of parameters.
pub(crate) fn remedy(remedy: Remedy) -> &'static str {
    match remedy {
        Remedy::MaxLine | Remedy::MaxDocument => "split the record, or use the command `sameish dedup`",
        Remedy::MaxExpanded => "decompress the file if that is intended",
        Remedy::Lossy => "convert the file, or pass `lossy=True`",
        Remedy::IdField => "name the id field with `id`",
        Remedy::TextField => "name the text field with `text`; select a preset with `preset`",
        Remedy::Delimiter => {
            "set the separator with `delimiter`, as in `delimiter=\";\"`, or name the text column with `text`; select a preset with `preset`"
        }
        Remedy::FormatCsv => "pass `format=\"csv\"`",
        Remedy::FormatTsv => "pass `format=\"tsv\"`",
        Remedy::FormatText => "convert it, as in `jq -c '.[]' FILE`, or pass `format=\"text\"`",
        Remedy::NoFormat => "omit `format`",
        Remedy::LastOfId => "make ids unique, or omit `id`",
    }
}

/// Creates an `UnknownId`: no document has the id.
pub(crate) fn unknown_id(id: &sameish::DocId) -> PyErr {
    let id = match id {
        sameish::DocId::Text(id) => format!("\"{}\"", excerpt(id)),
        id => id.to_string(),
    };
    exceptions::UnknownId::new_err(format!("no document has the id {id}"))
}

/// Converts an I/O error about a file to the subclass of `OSError` that Python raises for its error number.
pub(crate) fn os_error(error: &io::Error, path: &Path) -> PyErr {
    let Some(number) = error.raw_os_error().or(error_number(error.kind())) else {
        return PyOSError::new_err(format!("{}: {error}", excerpt(&path.display().to_string())));
    };
    let message = error.to_string();
    // Python adds the error number and the path itself.
    let message = message.split_once(" (os error").map_or(message.as_str(), |(message, _)| message);
    PyOSError::new_err((number, message.to_owned(), path.to_owned()))
}

/// Returns the POSIX error number of an error that was created without one.
fn error_number(kind: io::ErrorKind) -> Option<i32> {
    match kind {
        io::ErrorKind::NotFound => Some(2),
        io::ErrorKind::PermissionDenied => Some(13),
        io::ErrorKind::NotADirectory => Some(20),
        io::ErrorKind::IsADirectory => Some(21),
        io::ErrorKind::InvalidInput => Some(22),
        io::ErrorKind::FileTooLarge => Some(27),
        io::ErrorKind::StorageFull => Some(28),
        io::ErrorKind::ReadOnlyFilesystem => Some(30),
        _ => None,
    }
}

/// Returns the start of a value for a message, with control characters escaped.
pub(crate) fn excerpt(text: &str) -> String {
    let mut excerpt: String = text.chars().take(MAX_EXCERPT).flat_map(char::escape_debug).collect();
    if text.chars().nth(MAX_EXCERPT).is_some() {
        excerpt += "...";
    }
    excerpt
}

/// Returns the name of a value's type.
pub(crate) fn type_name(value: &Bound<'_, PyAny>) -> String {
    value.get_type().name().map_or_else(|_| "object".to_owned(), |name| name.to_string())
}
