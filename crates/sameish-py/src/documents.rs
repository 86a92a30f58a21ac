//! The documents of `dedup`, `pairs` and `cluster`: in memory or in files.

use crate::error::{batch_error, excerpt, setting_error, type_error};
use crate::parallel::{FirstInvalid, decode, is_small};
use crate::table::{Columns, Table};
use crate::texts::RawText;
use pyo3::prelude::*;
use pyo3::types::PyString;
use sameish::{DocId, Timestamp};
use sameish_batch::functions::{FileCorpus, FileFields, FileParameters, ParameterNames, parse_delimiter};
use sameish_batch::input::{FileFormat, known_suffix};
use sameish_batch::{DocumentSource, DocumentText};
use std::borrow::Cow;
use std::path::PathBuf;

/// Data from Python: an object with documents, or the paths of files.
#[derive(FromPyObject)]
pub(crate) struct Data<'py> {
    #[pyo3(item)]
    pub(crate) data: Bound<'py, PyAny>,
    /// Present if `data` stands for paths.
    #[pyo3(item)]
    pub(crate) paths: Option<Vec<PathBuf>>,
}

/// The names of fields, or lists and columns in their place.
#[derive(FromPyObject)]
#[pyo3(from_item_all)]
pub(crate) struct Fields<'py> {
    pub(crate) text: Option<String>,
    pub(crate) id: Option<Bound<'py, PyAny>>,
    pub(crate) date: Option<Bound<'py, PyAny>>,
    pub(crate) source: Option<Bound<'py, PyAny>>,
    /// Whether sources are needed, so that those of files are read without a name, too.
    pub(crate) with_sources: bool,
    /// Name of the field whose largest value decides which document is kept.
    pub(crate) keep_field: Option<String>,
    pub(crate) format: Option<String>,
    pub(crate) delimiter: Option<String>,
}

/// Documents in memory, or in files.
pub(crate) enum Documents<'py> {
    Memory(DocumentTables<'py>),
    Files(FileCorpus),
}

/// Documents in memory, and those of an existing corpus.
pub(crate) struct DocumentTables<'py> {
    pub(crate) own: Table<'py>,
    against: Option<Table<'py>>,
    lossy: bool,
}

impl<'py> Documents<'py> {
    /// Reads objects, or finds files.
    pub(crate) fn new(
        py: Python<'py>,
        own: &Data<'py>,
        against: Option<&Data<'py>>,
        fields: &Fields<'py>,
        lossy: bool,
    ) -> PyResult<Documents<'py>> {
        match (&own.paths, against.map(|against| &against.paths)) {
            (Some(paths), None) => find_files(py, paths, &[], fields).map(Documents::Files),
            (Some(paths), Some(Some(against))) => {
                find_files(py, paths, against, fields).map(Documents::Files)
            }
            (None, None | Some(None)) => {
                DocumentTables::new(&own.data, against, fields, lossy).map(Documents::Memory)
            }
            _ => {
                Err(type_error("`against` must be of the same kind as `data`: both paths, or both in memory"))
            }
        }
    }

    /// Returns the ids of documents in memory, if the caller gave any.
    pub(crate) fn given_ids(&self) -> Option<&[DocId]> {
        match self {
            Documents::Memory(corpus) => corpus.own.ids.as_deref(),
            Documents::Files(_) => None,
        }
    }

    /// Returns `true` if documents are read from files.
    pub(crate) fn is_files(&self) -> bool {
        matches!(self, Documents::Files(_))
    }
}

impl<'py> DocumentTables<'py> {
    fn new(
        own: &Bound<'py, PyAny>,
        against: Option<&Data<'py>>,
        fields: &Fields<'py>,
        lossy: bool,
    ) -> PyResult<DocumentTables<'py>> {
        if fields.format.is_some() {
            return Err(setting_error("`format` is the format of files, but the data is in memory: omit it"));
        }
        if fields.delimiter.is_some() {
            return Err(setting_error("`delimiter` is that of files, but the data is in memory: omit it"));
        }
        let text = fields.text.as_deref();
        let only_texts = Columns { text, id: None, date: None, source: None, keep_field: None, lossy };
        let columns = Columns {
            id: fields.id.as_ref(),
            date: fields.date.as_ref(),
            source: fields.source.as_ref(),
            keep_field: fields.keep_field.as_deref(),
            ..only_texts
        };
        let own = Table::read(own, &columns)?;
        let against = against.map(|against| Table::read(&against.data, &only_texts)).transpose()?;
        Ok(DocumentTables { own, against, lossy })
    }

    /// Returns the documents, which borrow their texts.
    pub(crate) fn documents(&self) -> PyResult<MemoryDocuments<'_>> {
        let mut texts = match &self.against {
            Some(against) => against.texts.raw("`against`")?,
            None => Vec::new(),
        };
        let against = texts.len();
        texts.extend(self.own.texts.raw("texts")?);
        self.own.check(texts.len() - against)?;
        Ok(MemoryDocuments {
            texts,
            against,
            dates: self.own.dates.as_deref(),
            sources: self.own.sources.as_deref(),
            kept_by: self.own.kept_by.as_deref(),
            lossy: self.lossy,
            invalid: FirstInvalid::default(),
        })
    }
}

/// Texts in memory, those of an existing corpus first. Their ids are their positions.
pub(crate) struct MemoryDocuments<'a> {
    texts: Vec<RawText<'a>>,
    against: usize,
    /// Dates of the documents after those of the existing corpus.
    dates: Option<&'a [Option<Timestamp>]>,
    sources: Option<&'a [Option<String>]>,
    /// Values in place of the dates.
    kept_by: Option<&'a [Option<String>]>,
    lossy: bool,
    invalid: FirstInvalid,
}

impl MemoryDocuments<'_> {
    /// Returns `true` if processing the texts takes less time than starting a thread.
    pub(crate) fn is_small(&self) -> bool {
        is_small(&self.texts)
    }

    /// Returns an error if a text that was read is not valid UTF-8.
    pub(crate) fn check(self) -> PyResult<()> {
        self.invalid.check_after(self.against)
    }
}

impl DocumentSource for MemoryDocuments<'_> {
    fn len(&self) -> usize {
        self.texts.len()
    }

    fn against(&self) -> usize {
        self.against
    }

    /// Returns the text at a position. A null is an empty text. Invalid UTF-8 is recorded, and reported at the end of the run.
    fn text(&self, position: usize) -> DocumentText<'_> {
        let text = decode(self.texts[position].unwrap_or_default(), self.lossy);
        text.unwrap_or_else(|error| {
            self.invalid.record(position, error);
            Cow::Borrowed("")
        })
        .into()
    }

    fn source(&self, position: usize) -> Option<Cow<'_, str>> {
        self.sources?[position.checked_sub(self.against)?].as_deref().map(Cow::Borrowed)
    }

    fn published_at(&self, position: usize) -> Option<Cow<'_, str>> {
        if let Some(values) = self.kept_by {
            return values[position.checked_sub(self.against)?].as_deref().map(Cow::Borrowed);
        }
        let date = self.dates?[position.checked_sub(self.against)?];
        date.map(|date| Cow::Owned(date.to_string()))
    }
}

/// Names of the parameters that name fields.
const NAMES: ParameterNames = ParameterNames { text: "text", id: "id", date: "date", source: "source" };

fn find_files(
    py: Python<'_>,
    paths: &[PathBuf],
    against: &[PathBuf],
    fields: &Fields<'_>,
) -> PyResult<FileCorpus> {
    let parameters = FileParameters {
        paths,
        against,
        fields: FileFields {
            text: fields.text.clone(),
            id: field_name(fields.id.as_ref(), "id")?,
            date: match &fields.keep_field {
                // The field is read in place of the date.
                Some(field) => Some(field.clone()),
                None => field_name(fields.date.as_ref(), "date")?,
            },
            source: field_name(fields.source.as_ref(), "source")?,
        },
        names: match fields.keep_field {
            Some(_) => ParameterNames { date: "keep", ..NAMES },
            None => NAMES,
        },
        with_sources: fields.with_sources,
        format: fields.format.as_deref().map(file_format).transpose()?,
        delimiter: fields.delimiter.as_deref().map(delimiter).transpose()?,
    };
    py.detach(|| FileCorpus::new(parameters)).map_err(batch_error)
}

fn field_name(field: Option<&Bound<'_, PyAny>>, name: &str) -> PyResult<Option<String>> {
    let read = |field: &Bound<'_, PyAny>| match field.cast::<PyString>() {
        Ok(field) => Ok(field.to_str()?.to_owned()),
        Err(_) => {
            Err(type_error(format!("`{name}` must be the name of a field, because the data is in files")))
        }
    };
    field.map(read).transpose()
}

fn file_format(name: &str) -> PyResult<FileFormat> {
    FileFormat::from_name(name).ok_or_else(|| {
        let name = excerpt(name);
        setting_error(format!("`format` is `{name}`: must be `jsonl`, `csv`, `tsv`, `parquet` or `text`"))
    })
}

fn delimiter(text: &str) -> PyResult<u8> {
    parse_delimiter(text).ok_or_else(|| {
        let text = excerpt(text);
        setting_error(format!("`delimiter` is `{text}`: must be one ASCII character, such as `;`, or `tab`"))
    })
}

/// Returns `true` if a file name has the suffix of a format, optionally followed by that of a compression.
#[pyfunction]
pub(crate) fn _known_suffix(path: PathBuf) -> bool {
    known_suffix(&path, false) || path.extension().is_some_and(|suffix| suffix == "json")
}
