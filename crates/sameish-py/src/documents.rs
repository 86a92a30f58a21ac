//! The documents of `dedup`, `pairs` and `cluster`: in memory or in files.

use crate::error::{excerpt, setting_error, type_error};
use crate::parallel::{FirstInvalid, decode, is_small};
use crate::table::{Columns, Table};
use crate::texts::RawText;
use pyo3::prelude::*;
use pyo3::types::PyString;
use sameish::Timestamp;
use sameish_batch::input::{
    FieldNames, FieldScope, FileFormat, InputResult, ReadOptions, RecordRules, RequiredField, check_inputs,
    find, known_suffix, total_size,
};
use sameish_batch::{DocumentSource, DocumentText};
use std::borrow::Cow;
use std::ffi::OsString;
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
    pub(crate) format: Option<String>,
}

/// Documents in memory, or in files.
pub(crate) enum Corpus<'py> {
    Memory(MemoryCorpus<'py>),
    Files(FileCorpus),
}

/// Documents in memory, and those of an existing corpus.
pub(crate) struct MemoryCorpus<'py> {
    pub(crate) own: Table<'py>,
    against: Option<Table<'py>>,
    lossy: bool,
}

/// Documents in files, and those of an existing corpus.
pub(crate) struct FileCorpus {
    pub(crate) inputs: Vec<InputResult>,
    pub(crate) against: Vec<InputResult>,
    pub(crate) read: ReadOptions,
    /// Whether documents are identified by the id field.
    pub(crate) has_ids: bool,
}

impl<'py> Corpus<'py> {
    /// Reads objects, or finds files.
    pub(crate) fn new(
        py: Python<'py>,
        own: &Data<'py>,
        against: Option<&Data<'py>>,
        fields: &Fields<'py>,
        lossy: bool,
    ) -> PyResult<Corpus<'py>> {
        match (&own.paths, against.map(|against| &against.paths)) {
            (Some(paths), None) => FileCorpus::new(py, paths, &[], fields).map(Corpus::Files),
            (Some(paths), Some(Some(against))) => {
                FileCorpus::new(py, paths, against, fields).map(Corpus::Files)
            }
            (None, None | Some(None)) => {
                MemoryCorpus::new(&own.data, against, fields, lossy).map(Corpus::Memory)
            }
            _ => {
                Err(type_error("`against` must be of the same kind as `data`: both paths, or both in memory"))
            }
        }
    }

    /// Returns `true` if documents are read from files.
    pub(crate) fn is_files(&self) -> bool {
        matches!(self, Corpus::Files(_))
    }
}

impl<'py> MemoryCorpus<'py> {
    fn new(
        own: &Bound<'py, PyAny>,
        against: Option<&Data<'py>>,
        fields: &Fields<'py>,
        lossy: bool,
    ) -> PyResult<MemoryCorpus<'py>> {
        if fields.format.is_some() {
            return Err(setting_error("`format` is the format of files, but the data is in memory: omit it"));
        }
        let text = fields.text.as_deref();
        let columns = Columns { text, id: fields.id.as_ref(), date: fields.date.as_ref(), lossy };
        let only_texts = Columns { text, id: None, date: None, lossy };
        let own = Table::read(own, &columns)?;
        let against = against.map(|against| Table::read(&against.data, &only_texts)).transpose()?;
        Ok(MemoryCorpus { own, against, lossy })
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
        let dates = self.own.dates.as_deref();
        Ok(MemoryDocuments { texts, against, dates, lossy: self.lossy, invalid: FirstInvalid::default() })
    }
}

/// Texts in memory, those of an existing corpus first. Their ids are their positions.
pub(crate) struct MemoryDocuments<'a> {
    texts: Vec<RawText<'a>>,
    against: usize,
    /// Dates of the documents after those of the existing corpus.
    dates: Option<&'a [Option<Timestamp>]>,
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

    fn published_at(&self, position: usize) -> Option<Cow<'_, str>> {
        let date = self.dates?[position.checked_sub(self.against)?];
        date.map(|date| Cow::Owned(date.to_string()))
    }
}

impl FileCorpus {
    fn new(
        py: Python<'_>,
        paths: &[PathBuf],
        against: &[PathBuf],
        fields: &Fields<'_>,
    ) -> PyResult<FileCorpus> {
        let id = field_name(fields.id.as_ref(), "id")?;
        let has_ids = id.is_some();
        let date = field_name(fields.date.as_ref(), "date")?;
        let inputs = py.detach(|| find_files(paths)).map_err(crate::error::batch_error)?;
        let required = required_fields(&[("text", &fields.text), ("id", &id), ("date", &date)], inputs.len());
        // A named field must exist; without a name, a record may have a title instead of a text.
        let title = if fields.text.is_some() { None } else { FieldNames::default().title };
        let read = ReadOptions {
            format: fields.format.as_deref().map(file_format).transpose()?,
            fields: FieldNames { id, text: fields.text.clone(), title, source: Vec::new(), date },
            required,
            rules: RecordRules { require_id: has_ids, ..RecordRules::default() },
            ..ReadOptions::default()
        };
        let against = py.detach(|| find_files(against)).map_err(crate::error::batch_error)?;
        Ok(FileCorpus { inputs, against, read, has_ids })
    }

    /// Opens all files, so that a missing field is reported before any work is done.
    pub(crate) fn check(&self) -> sameish_batch::Result<()> {
        let own = check_inputs(&self.inputs, &self.read)?;
        let against = check_inputs(&self.against, &self.read.for_reference())?;
        own.into_iter().chain(against).next().map_or(Ok(()), |error| Err(error.into()))
    }

    /// Returns a sentence about the fields that were used because the files have no field `text`.
    pub(crate) fn chosen_fields(&self) -> Option<String> {
        let fields = self.read.field_log.text_fields();
        let names: Vec<String> =
            fields.iter().filter(|field| *field != "text").map(|field| format!("`{field}`")).collect();
        let is_chosen = self.read.fields.text.is_none() && !names.is_empty();
        is_chosen.then(|| format!("no `text` field; using {}", names.join(" and ")))
    }

    /// Returns the size of all files in bytes, or 1 if it is not known.
    pub(crate) fn total_bytes(&self) -> usize {
        let total = total_size(self.against.iter().chain(&self.inputs));
        total.map_or(1, |total| usize::try_from(total).unwrap_or(usize::MAX))
    }
}

/// Returns the fields that parameters name. Texts and ids are needed from every file, dates from any.
fn required_fields(named: &[(&'static str, &Option<String>)], files: usize) -> Vec<RequiredField> {
    let required = |(parameter, name): &(&'static str, &Option<String>)| {
        let any = *parameter == "date" && files > 1;
        let scope = if any { FieldScope::AnyInput } else { FieldScope::EachInput };
        Some(RequiredField { name: (*name).clone()?, parameter, scope })
    };
    named.iter().filter_map(required).collect()
}

fn find_files(paths: &[PathBuf]) -> sameish_batch::Result<Vec<InputResult>> {
    // The name `-` is a file here, and not standard input.
    let argument = |path: &PathBuf| match path.as_os_str() == "-" {
        true => OsString::from("./-"),
        false => path.clone().into_os_string(),
    };
    let arguments: Vec<OsString> = paths.iter().map(argument).collect();
    let inputs = find(&arguments, |path| known_suffix(path, false))?;
    match inputs.iter().find_map(|input| input.as_ref().err()) {
        Some(error) => Err(error.clone().into()),
        None => Ok(inputs),
    }
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
    Ok(match name {
        "jsonl" => FileFormat::Jsonl,
        "csv" => FileFormat::Csv,
        "tsv" => FileFormat::Tsv,
        "parquet" => FileFormat::Parquet,
        "text" => FileFormat::Text,
        _ => {
            let name = excerpt(name);
            return Err(setting_error(format!(
                "`format` is `{name}`: must be `jsonl`, `csv`, `tsv`, `parquet` or `text`"
            )));
        }
    })
}

/// Returns `true` if a file name has the suffix of a format, optionally followed by that of a compression.
#[pyfunction]
pub(crate) fn _known_suffix(path: PathBuf) -> bool {
    known_suffix(&path, false) || path.extension().is_some_and(|suffix| suffix == "json")
}
