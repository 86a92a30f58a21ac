//! How do texts come in?
//!
//! As a list or any iterable of `str`, or as a column of Arrow. Either way they are read where they lie: strings and
//! arrays are kept alive while the work goes on without the interpreter lock, and neither can change. Of strings beyond
//! ASCII Python itself makes, and keeps, the UTF-8 that is read.

use crate::arrow::{self, Column};
use crate::error::{not_unicode, type_name, wrong_type};
use crate::work::glance;
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyString};
use sameish::Content;

/// Texts, kept alive.
pub(crate) enum Texts<'py> {
    /// Strings, and nothing for a null.
    Strings(Vec<Option<Bound<'py, PyString>>>),
    Columns(Vec<Column>),
}

/// A text where it lies, not yet known to be UTF-8; nothing for a null.
pub(crate) type Raw<'a> = Option<&'a [u8]>;

impl<'py> Texts<'py> {
    /// From anything that has texts. Settings that are `lossy` take any bytes, and replace what is no character.
    pub(crate) fn read(value: &Bound<'py, PyAny>, what: &str, lossy: bool) -> PyResult<Texts<'py>> {
        if value.is_instance_of::<PyString>() || value.is_instance_of::<PyBytes>() {
            let found = type_name(value);
            return Err(wrong_type(format!(
                "{what} is a single {found}: must be a list or a column of them"
            )));
        }
        match arrow::chunks(value)? {
            Some(chunks) if arrow::is_table(&chunks) => Err(wrong_type(format!(
                "{what} is a table: must be one of its columns, or a list of strings"
            ))),
            Some(chunks) => Texts::columns(&chunks),
            None => Texts::strings(value, what, lossy),
        }
    }

    pub(crate) fn columns(chunks: &[arrow_array::ArrayRef]) -> PyResult<Texts<'py>> {
        chunks.iter().map(Column::new).collect::<PyResult<_>>().map(Texts::Columns)
    }

    fn strings(value: &Bound<'py, PyAny>, what: &str, lossy: bool) -> PyResult<Texts<'py>> {
        let Ok(iterator) = value.try_iter() else {
            let found = type_name(value);
            return Err(wrong_type(format!(
                "{what} is of type {found}: must be a list of strings or a column of Arrow"
            )));
        };
        // A column of pandas that can not be had by Arrow knows what it lacks.
        let mut lacks = match value.getattr_opt("isna")? {
            Some(isna) => Some(isna.call0()?.try_iter()?),
            None => None,
        };
        let mut strings = Vec::new();
        for (i, item) in iterator.enumerate() {
            glance(value.py(), i)?;
            let item = item?;
            if let Some(lack) = lacks.as_mut().and_then(Iterator::next)
                && lack?.is_truthy()?
            {
                strings.push(None);
                continue;
            }
            strings.push(Some(string(item, lossy, || format!("{what}: item at position {i}"))?));
        }
        Ok(Texts::Strings(strings))
    }

    /// All of them, as they lie.
    pub(crate) fn raw(&self, what: &str) -> PyResult<Vec<Raw<'_>>> {
        let mut texts = Vec::new();
        match self {
            Texts::Strings(strings) => {
                texts.reserve(strings.len());
                for (i, string) in strings.iter().enumerate() {
                    let place = || format!("{what}: item at position {i}");
                    let text = string.as_ref().map(|string| borrowed(string, place)).transpose()?;
                    texts.push(text.map(str::as_bytes));
                }
            }
            Texts::Columns(columns) => columns.iter().for_each(|column| column.push_into(&mut texts)),
        }
        Ok(texts)
    }
}

/// Why bytes are no text.
#[derive(Clone, Copy, Debug)]
pub(crate) struct NotUtf8 {
    at: usize,
}

impl NotUtf8 {
    pub(crate) fn raised(self, place: &str) -> PyErr {
        not_unicode(format!(
            "{place} is not UTF-8 at byte {}: write the column again, or set `lossy=True`",
            self.at
        ))
    }
}

/// The text of bytes.
pub(crate) fn utf8(bytes: &[u8]) -> Result<&str, NotUtf8> {
    std::str::from_utf8(bytes).map_err(|error| NotUtf8 { at: error.valid_up_to() })
}

/// One text of Python.
pub(crate) fn one(value: &Bound<'_, PyAny>, what: &str) -> PyResult<String> {
    let string = string(value.clone(), false, || what.to_owned())?;
    borrowed(&string, || what.to_owned()).map(str::to_owned)
}

/// A text, or tokens that the caller made. It is copied, so that work on it can be left alone when a signal comes.
pub(crate) fn content(value: &Bound<'_, PyAny>, what: &str, lossy: bool) -> PyResult<Content> {
    let is_text = value.is_instance_of::<PyString>() || lossy && value.is_instance_of::<PyBytes>();
    if is_text {
        let string = string(value.clone(), lossy, || what.to_owned())?;
        return borrowed(&string, || what.to_owned()).map(|text| Content::Text(text.to_owned()));
    }
    let wrong =
        || wrong_type(format!("{what} is of type {}: must be a str, or a list of tokens", type_name(value)));
    if value.is_instance_of::<PyBytes>() {
        return Err(wrong());
    }
    let mut tokens = Vec::new();
    for (i, token) in value.try_iter().map_err(|_| wrong())?.enumerate() {
        glance(value.py(), i)?;
        let place = || format!("{what}: token at position {i}");
        let token = string(token?, lossy, place)?;
        tokens.push(borrowed(&token, place)?.to_owned());
    }
    Ok(Content::Tokens(tokens))
}

/// About how many bytes there are to work on.
pub(crate) fn size(content: &Content) -> usize {
    match content {
        Content::Text(text) => text.len(),
        Content::Tokens(tokens) => tokens.iter().map(|token| token.len() + 1).sum(),
    }
}

/// A string of Python; where it may be lossy, one without halves of surrogate pairs, or of bytes.
fn string<'py>(
    value: Bound<'py, PyAny>,
    lossy: bool,
    place: impl Fn() -> String,
) -> PyResult<Bound<'py, PyString>> {
    let py = value.py();
    match value.cast_into::<PyString>() {
        Ok(string) if lossy && string.to_str().is_err() => replaced(&string),
        Ok(string) => Ok(string),
        Err(error) => {
            let value = error.into_inner();
            match value.cast::<PyBytes>() {
                Ok(bytes) if lossy => Ok(PyString::new(py, &String::from_utf8_lossy(bytes.as_bytes()))),
                _ => {
                    let found = type_name(&value);
                    Err(wrong_type(format!("{} is of type {found}: must be a str", place())))
                }
            }
        }
    }
}

/// The same string with U+FFFD for each half of a surrogate pair, so that places stay what they are.
fn replaced<'py>(string: &Bound<'py, PyString>) -> PyResult<Bound<'py, PyString>> {
    let bytes = string.call_method1("encode", ("utf-32-le", "surrogatepass"))?.cast_into::<PyBytes>()?;
    let (units, _) = bytes.as_bytes().as_chunks::<4>();
    let characters = units.iter().map(|&unit| u32::from_le_bytes(unit));
    let text: String =
        characters.map(|unit| char::from_u32(unit).unwrap_or(char::REPLACEMENT_CHARACTER)).collect();
    Ok(PyString::new(string.py(), &text))
}

fn borrowed<'a>(string: &'a Bound<'_, PyString>, place: impl Fn() -> String) -> PyResult<&'a str> {
    string.to_str().map_err(|_| {
        not_unicode(format!(
            "{} has half of a surrogate pair, which is no character: replace it, as in `text.encode(\"utf-8\", \"replace\").decode()`",
            place()
        ))
    })
}
