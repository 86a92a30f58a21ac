//! Texts from Python: a list or iterable of `str`, or an Arrow column.
//!
//! Texts are not copied. Strings and Arrow arrays are immutable, and are kept alive while they are read with the GIL
//! released. For strings that are not ASCII, CPython creates the UTF-8 form and caches it in the string.

use crate::arrow::{self, TextColumn};
use crate::error::{text_error, type_error, type_name};
use crate::ids::refuse_unordered;
use crate::interrupt::check_signals_at;
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyDict, PyString};
use sameish::Content;

/// The texts of a list or column.
pub(crate) enum Texts<'py> {
    /// Strings; `None` is a null.
    Strings(Vec<Option<Bound<'py, PyString>>>),
    Columns(Vec<TextColumn>),
}

/// The bytes of a text, which may be invalid UTF-8; `None` is a null.
pub(crate) type RawText<'a> = Option<&'a [u8]>;

impl<'py> Texts<'py> {
    /// Reads a list or a column. If `lossy` is set, items may be `bytes`, and invalid characters are replaced by U+FFFD.
    pub(crate) fn read(value: &Bound<'py, PyAny>, what: &str, lossy: bool) -> PyResult<Texts<'py>> {
        if value.is_instance_of::<PyString>() || value.is_instance_of::<PyBytes>() {
            let found = type_name(value);
            return Err(type_error(format!(
                "{what} is a single {found}: must be a list or a column of texts"
            )));
        }
        refuse_unordered(value, what)?;
        match arrow::chunks(value)? {
            Some(chunks) if arrow::is_table(&chunks) => Err(type_error(format!(
                "{what} is a table: must be one of its columns, or a list of strings"
            ))),
            Some(chunks) => Texts::from_arrow(&chunks),
            None => Texts::from_iterable(value, what, lossy),
        }
    }

    /// Reads an Arrow column.
    pub(crate) fn from_arrow(chunks: &[arrow_array::ArrayRef]) -> PyResult<Texts<'py>> {
        chunks.iter().map(TextColumn::new).collect::<PyResult<_>>().map(Texts::Columns)
    }

    fn from_iterable(value: &Bound<'py, PyAny>, what: &str, lossy: bool) -> PyResult<Texts<'py>> {
        let Ok(iterator) = value.try_iter() else {
            let found = type_name(value);
            return Err(type_error(format!(
                "{what} is of type {found}: must be a list of strings or an Arrow column"
            )));
        };
        // A pandas series that cannot be exported to Arrow marks missing values in `isna()`.
        let mut missing = match value.getattr_opt("isna")? {
            Some(isna) => Some(isna.call0()?.try_iter()?),
            None => None,
        };
        let mut strings = Vec::new();
        for (i, item) in iterator.enumerate() {
            check_signals_at(value.py(), i)?;
            let item = item?;
            if let Some(missing) = missing.as_mut().and_then(Iterator::next)
                && missing?.is_truthy()?
            {
                strings.push(None);
                continue;
            }
            strings.push(Some(string(item, lossy, || format!("{what}: item at position {i}"))?));
        }
        Ok(Texts::Strings(strings))
    }

    /// Returns the bytes of all texts.
    pub(crate) fn raw(&self, what: &str) -> PyResult<Vec<RawText<'_>>> {
        let mut texts = Vec::new();
        match self {
            Texts::Strings(strings) => {
                texts.reserve(strings.len());
                for (i, string) in strings.iter().enumerate() {
                    let place = || format!("{what}: item at position {i}");
                    let text = string.as_ref().map(|string| as_str(string, place)).transpose()?;
                    texts.push(text.map(str::as_bytes));
                }
            }
            Texts::Columns(columns) => columns.iter().for_each(|column| column.append_to(&mut texts)),
        }
        Ok(texts)
    }
}

/// Invalid UTF-8.
#[derive(Clone, Copy, Debug)]
pub(crate) struct InvalidUtf8 {
    /// Offset of the first invalid byte.
    offset: usize,
}

impl InvalidUtf8 {
    pub(crate) fn to_py_err(self, place: &str) -> PyErr {
        text_error(format!(
            "{place} is not valid UTF-8 at byte {}: re-encode the column, or pass `lossy=True`",
            self.offset
        ))
    }
}

/// Checks that bytes are valid UTF-8.
pub(crate) fn utf8(bytes: &[u8]) -> Result<&str, InvalidUtf8> {
    std::str::from_utf8(bytes).map_err(|error| InvalidUtf8 { offset: error.valid_up_to() })
}

/// Reads a `str`.
pub(crate) fn from_python(value: &Bound<'_, PyAny>, what: &str) -> PyResult<String> {
    let string = string(value.clone(), false, || what.to_owned())?;
    as_str(&string, || what.to_owned()).map(str::to_owned)
}

/// Reads a text or a list of tokens. It is copied, so that work on it can outlive a canceled call.
pub(crate) fn content(value: &Bound<'_, PyAny>, what: &str, lossy: bool) -> PyResult<Content> {
    let is_text = value.is_instance_of::<PyString>() || lossy && value.is_instance_of::<PyBytes>();
    if is_text {
        let string = string(value.clone(), lossy, || what.to_owned())?;
        return as_str(&string, || what.to_owned()).map(|text| Content::Text(text.to_owned()));
    }
    let wrong_type =
        || type_error(format!("{what} is of type {}: must be a str or a list of tokens", type_name(value)));
    if value.is_instance_of::<PyBytes>() {
        return Err(wrong_type());
    }
    let mut tokens = Vec::new();
    for (i, token) in value.try_iter().map_err(|_| wrong_type())?.enumerate() {
        check_signals_at(value.py(), i)?;
        let place = || format!("{what}: token at position {i}");
        let token = string(token?, lossy, place)?;
        tokens.push(as_str(&token, place)?.to_owned());
    }
    Ok(Content::Tokens(tokens))
}

/// Returns the approximate size of a text in bytes.
pub(crate) fn size(content: &Content) -> usize {
    match content {
        Content::Text(text) => text.len(),
        Content::Tokens(tokens) => tokens.iter().map(|token| token.len() + 1).sum(),
        Content::Sketches(_) => 0,
    }
}

/// Reads a `str`. If `lossy` is set, also reads `bytes`, and replaces unpaired surrogates and invalid UTF-8.
fn string<'py>(
    value: Bound<'py, PyAny>,
    lossy: bool,
    place: impl Fn() -> String,
) -> PyResult<Bound<'py, PyString>> {
    let py = value.py();
    let value = match value.cast_into::<PyString>() {
        Ok(string) if lossy && string.to_str().is_err() => return replace_surrogates(&string),
        Ok(string) => return Ok(string),
        Err(error) => error.into_inner(),
    };
    match value.cast::<PyBytes>() {
        Ok(bytes) if lossy => Ok(PyString::new(py, &String::from_utf8_lossy(bytes.as_bytes()))),
        _ => {
            let hint = match value.is_instance_of::<PyDict>() {
                true => "; pass the texts, as in `[record[\"text\"] for record in data]`",
                false => "",
            };
            Err(type_error(format!("{} is of type {}: must be a str{hint}", place(), type_name(&value))))
        }
    }
}

/// Replaces each unpaired surrogate by U+FFFD, so that the positions of the other characters do not change.
fn replace_surrogates<'py>(string: &Bound<'py, PyString>) -> PyResult<Bound<'py, PyString>> {
    let bytes = string.call_method1("encode", ("utf-32-le", "surrogatepass"))?.cast_into::<PyBytes>()?;
    let (units, _) = bytes.as_bytes().as_chunks::<4>();
    let characters = units.iter().map(|&unit| u32::from_le_bytes(unit));
    let text: String =
        characters.map(|unit| char::from_u32(unit).unwrap_or(char::REPLACEMENT_CHARACTER)).collect();
    Ok(PyString::new(string.py(), &text))
}

fn as_str<'a>(string: &'a Bound<'_, PyString>, place: impl Fn() -> String) -> PyResult<&'a str> {
    string.to_str().map_err(|_| {
        text_error(format!(
            "{} contains an unpaired surrogate: replace it, for example with \
             `text.encode(\"utf-8\", \"replace\").decode()`",
            place()
        ))
    })
}
