//! How do texts come in?
//!
//! As a list or any iterable of `str`, or as a column of Arrow. Either way they are read where they lie: strings and
//! arrays are kept alive while the work goes on without the interpreter lock, and neither can change.

use crate::arrow::{self, Column};
use crate::error::{not_unicode, type_name, wrong_type};
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyString};
use sameish::Content;

/// Items after which a long loop over Python objects looks for signals.
const GLANCE: usize = 1 << 16;

/// Texts, kept alive.
pub(crate) enum Texts<'py> {
    Strings(Vec<Bound<'py, PyString>>),
    Columns(Vec<Column>),
}

/// A text where it lies, not yet known to be UTF-8; nothing for a null.
pub(crate) type Raw<'a> = Option<&'a [u8]>;

impl<'py> Texts<'py> {
    /// From anything that has texts.
    pub(crate) fn read(value: &Bound<'py, PyAny>, what: &str) -> PyResult<Texts<'py>> {
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
            None => Texts::strings(value, what),
        }
    }

    pub(crate) fn columns(chunks: &[arrow_array::ArrayRef]) -> PyResult<Texts<'py>> {
        chunks.iter().map(Column::new).collect::<PyResult<_>>().map(Texts::Columns)
    }

    fn strings(value: &Bound<'py, PyAny>, what: &str) -> PyResult<Texts<'py>> {
        let Ok(iterator) = value.try_iter() else {
            let found = type_name(value);
            return Err(wrong_type(format!(
                "{what} is of type {found}: must be a list of strings or a column of Arrow"
            )));
        };
        let mut strings = Vec::new();
        for (i, item) in iterator.enumerate() {
            if i % GLANCE == GLANCE - 1 {
                value.py().check_signals()?;
            }
            let item = item?;
            strings.push(item.cast_into::<PyString>().map_err(|error| {
                let found = type_name(&error.into_inner());
                wrong_type(format!("{what}: item at position {i} is of type {found}: must be a str"))
            })?);
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
                    let text = borrowed(string, || format!("{what}: item at position {i}"))?;
                    texts.push(Some(text.as_bytes()));
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
        not_unicode(format!("{place} is not UTF-8 at byte {}: write the column again", self.at))
    }
}

/// The text of bytes.
pub(crate) fn utf8(bytes: &[u8]) -> Result<&str, NotUtf8> {
    std::str::from_utf8(bytes).map_err(|error| NotUtf8 { at: error.valid_up_to() })
}

/// One text of Python.
pub(crate) fn one(value: &Bound<'_, PyAny>, what: &str) -> PyResult<String> {
    let string = value
        .cast::<PyString>()
        .map_err(|_| wrong_type(format!("{what} is of type {}: must be a str", type_name(value))))?;
    borrowed(string, || what.to_owned()).map(str::to_owned)
}

/// A text, or tokens that the caller made.
pub(crate) fn content(value: &Bound<'_, PyAny>, what: &str) -> PyResult<Content> {
    if value.is_instance_of::<PyString>() {
        return one(value, what).map(Content::Text);
    }
    let wrong =
        || wrong_type(format!("{what} is of type {}: must be a str, or a list of tokens", type_name(value)));
    if value.is_instance_of::<PyBytes>() {
        return Err(wrong());
    }
    let mut tokens = Vec::new();
    for (i, token) in value.try_iter().map_err(|_| wrong())?.enumerate() {
        tokens.push(one(&token?, &format!("{what}: token at position {i}"))?);
    }
    Ok(Content::Tokens(tokens))
}

fn borrowed<'a>(string: &'a Bound<'_, PyString>, place: impl Fn() -> String) -> PyResult<&'a str> {
    string.to_str().map_err(|_| {
        not_unicode(format!(
            "{} has half of a surrogate pair, which is no character: replace it, as in `text.encode(\"utf-8\", \"replace\").decode()`",
            place()
        ))
    })
}
