//! Readers: documents from files of every supported format.
//!
//! [`find`] expands arguments into inputs, `open` detects compression and format, `chunks` splits an input into batches of
//! complete records, and a [`RecordBatch`] parses its records into documents. One thread does all but the last step, in
//! order; see [`in_order`](crate::ordered_pool::in_order).

mod batch;
mod byte_counter;
mod changes;
mod chunks;
mod compression;
mod csv;
mod fields;
mod find;
mod format;
mod jsonl;
pub mod judgments;
mod lines;
mod open;
pub(crate) mod parquet;
mod pipes;
pub(crate) mod reject;
mod text;

pub use batch::{Record, RecordBatch, RecordRules};
pub use byte_counter::{ByteCounter, total_size};
pub use changes::FileStates;
pub use fields::{ChosenField, FieldLog, FieldScope, RequiredField};
pub use find::{Input, InputResult, find, known_suffix};
pub use format::{FieldNames, FileFormat};
pub use open::open_lines;
pub use pipes::spool_pipes;
pub use reject::{InputError, InputErrorKind, Place, Problem, Reject, Remedy};

pub(crate) use batch::content_of;
pub(crate) use changes::changed;
pub(crate) use format::RecordFormat;
pub(crate) use open::open_any;

use chunks::Chunks;
use fields::InputFields;
use open::{Opened, open};
use sameish::Content;
use std::io::Read;
use std::ops::ControlFlow;
use std::sync::Arc;

/// How the inputs of a run are read.
#[derive(Clone, Debug, Default)]
pub struct ReadOptions {
    /// Format of all inputs; by default the suffix or the first bytes decide.
    pub format: Option<FileFormat>,
    /// Reads each file as one document whose id is the path.
    pub whole_files: bool,
    /// Separator of the values of a table; by default that of the format.
    pub delimiter: Option<u8>,
    /// Names of the fields of records.
    pub fields: FieldNames,
    /// Fields that the user named and that must therefore exist.
    pub required: Vec<RequiredField>,
    /// Limits of records.
    pub rules: RecordRules,
    /// Maximum decompressed size of an input in bytes; by default 200 times its size above 64 MiB.
    pub max_expanded: Option<u64>,
    /// Called with the name of an input that is read as plain text only because nothing indicates another format.
    pub on_guessed_text: Option<fn(&str)>,
    /// Called once for each text field that is used because an input has no field `text`.
    pub on_text_field: Option<fn(&ChosenField)>,
    /// Receives the fields of the inputs.
    pub field_log: FieldLog,
    /// Counts the bytes read from files.
    pub counter: ByteCounter,
}

impl ReadOptions {
    /// Returns the options without callbacks, for reading an input a second time.
    pub(crate) fn quiet(&self) -> ReadOptions {
        ReadOptions { on_guessed_text: None, on_text_field: None, ..self.clone() }
    }

    /// Returns the options for an existing corpus, which needs a text, but no other field.
    pub fn for_reference(&self) -> ReadOptions {
        let mut options = self.clone();
        options.required.retain(|field| self.fields.text.as_ref() == Some(&field.name));
        options
    }
}

/// Iterator over the record batches of all inputs, in order. An input that cannot be read yields an error in its place, and
/// the next input follows.
pub struct RecordBatches {
    options: ReadOptions,
    inputs: std::vec::IntoIter<InputResult>,
    current: Option<Reader>,
    /// Number of records so far.
    records: u64,
    /// Number of inputs started so far.
    started: usize,
}

/// Reader of one input.
enum Reader {
    Bytes(Chunks),
    Rows(Box<parquet::Rows>),
}

impl Reader {
    fn next(&mut self, first: u64) -> Option<Result<RecordBatch, InputError>> {
        match self {
            Reader::Bytes(chunks) => chunks.next(first),
            Reader::Rows(rows) => rows.next(first),
        }
    }
}

impl RecordBatches {
    /// Creates an iterator over the records of `inputs`.
    pub fn new(inputs: Vec<InputResult>, options: ReadOptions) -> RecordBatches {
        RecordBatches { options, inputs: inputs.into_iter(), current: None, records: 0, started: 0 }
    }

    /// Numbers the records from `first`.
    pub(crate) fn numbered_from(self, first: u64) -> RecordBatches {
        RecordBatches { records: first, ..self }
    }
}

impl Iterator for RecordBatches {
    type Item = Result<RecordBatch, InputError>;

    fn next(&mut self) -> Option<Self::Item> {
        loop {
            let Some(reader) = &mut self.current else {
                self.started += 1;
                match self.inputs.next()?.and_then(|input| start(input, &self.options)) {
                    Ok(reader) => self.current = reader,
                    Err(error) => return Some(Err(error)),
                }
                continue;
            };
            match reader.next(self.records) {
                None => self.current = None,
                Some(Ok(mut batch)) => {
                    batch.input_number = self.started - 1;
                    self.records += batch.len() as u64;
                    return Some(Ok(batch));
                }
                Some(Err(error)) => {
                    self.current = None;
                    return Some(Err(error));
                }
            }
        }
    }
}

/// Format and header of an input.
pub(crate) struct Preview {
    /// Absent if the input is empty.
    pub(crate) format: Option<FileFormat>,
    /// Header of a table, with its line end.
    pub(crate) header: Option<Arc<[u8]>>,
}

/// Reads the beginning of an input.
pub(crate) fn preview(input: &Input, options: &ReadOptions) -> Result<Preview, InputError> {
    let opened = open_any(input, options)?;
    let named = || input.path.as_deref().and_then(|path| FileFormat::of_path(path).0);
    let empty = opened.first.is_none();
    let format = match opened.guess {
        FileFormat::Parquet => FileFormat::Parquet,
        guess => options.format.or_else(named).unwrap_or(guess),
    };
    let header = match start(input.clone(), &options.quiet())? {
        Some(Reader::Bytes(chunks)) => chunks.header,
        _ => None,
    };
    Ok(Preview { format: Some(format).filter(|_| !empty), header })
}

/// Returns the record format of an input; `None` for Parquet, whose rows cannot be read again at an offset.
pub(crate) fn format_of(input: &Input, options: &ReadOptions) -> Option<Arc<dyn RecordFormat>> {
    match start(input.clone(), &options.quiet()) {
        Ok(Some(Reader::Bytes(chunks))) => Some(chunks.format),
        _ => None,
    }
}

/// Opens an input and detects its format. Returns `None` if the input is empty.
fn start(input: Input, options: &ReadOptions) -> Result<Option<Reader>, InputError> {
    let opened = open_any(&input, options)?;
    let named = || input.path.as_deref().and_then(|path| FileFormat::of_path(path).0);
    if opened.guess == FileFormat::Parquet || options.format.or_else(named) == Some(FileFormat::Parquet) {
        if opened.empty {
            return Ok(None);
        }
        return start_rows(input, opened, options).map(|rows| Some(Reader::Rows(Box::new(rows))));
    }
    start_chunks(input, opened, options).map(|chunks| chunks.map(Reader::Bytes))
}

/// Starts a Parquet file. The first bytes decide, whatever the name.
fn start_rows(input: Input, opened: Opened, options: &ReadOptions) -> Result<parquet::Rows, InputError> {
    if options.whole_files || options.format.is_some_and(|format| format != FileFormat::Parquet) {
        return Err(InputError::unreadable(
            &input.name,
            Problem::with("is a Parquet file", Remedy::NoFormat),
        ));
    }
    let table = parquet::Table::open(&input, opened.bytes, options)?;
    parquet::Rows::new(table, options)
}

fn start_chunks(input: Input, opened: Opened, options: &ReadOptions) -> Result<Option<Chunks>, InputError> {
    let Opened { bytes, skipped, guess, first, seekable, .. } = opened;
    let max_line = options.rules.max_line;
    let chunks = |format: Arc<dyn RecordFormat>, max| {
        Chunks::new(input.clone(), bytes, skipped, seekable, format, max)
    };
    if options.whole_files {
        fields::refuse_fields(&input.name, options)?;
        let id = input.name.to_string();
        return Ok(Some(chunks(Arc::new(text::WholeFile { id }), options.rules.max_document)));
    }
    let known = options.format.or_else(|| FileFormat::of_path(input.path.as_deref()?).0);
    if known.is_none()
        && guess == FileFormat::Text
        && first.is_some()
        && let Some(report) = options.on_guessed_text
    {
        report(&input.name);
    }
    match known.unwrap_or(guess) {
        // Parquet files are handled by `start_rows`.
        FileFormat::Text | FileFormat::Parquet => {
            if first.is_some() {
                fields::refuse_fields(&input.name, options)?;
            }
            Ok(Some(chunks(Arc::new(text::TextLines), max_line)))
        }
        FileFormat::Jsonl if first == Some(b'[') => Err(InputError::unreadable(
            &input.name,
            Problem::with("is a JSON array; expected one object per line", Remedy::FormatText),
        )),
        FileFormat::Jsonl => records(chunks(Arc::new(text::TextLines), max_line), &input, options).map(Some),
        FileFormat::Csv => table(chunks(Arc::new(text::TextLines), max_line), b',', &input, options),
        FileFormat::Tsv => table(chunks(Arc::new(text::TextLines), max_line), b'\t', &input, options),
    }
}

/// Reads a table with a header.
fn table(
    mut chunks: Chunks,
    delimiter: u8,
    input: &Input,
    options: &ReadOptions,
) -> Result<Option<Chunks>, InputError> {
    let delimiter = options.delimiter.unwrap_or(delimiter);
    let make = |header: &str| csv::Csv::with_header(header, delimiter, &input.name, options);
    Ok(chunks.read_header(delimiter, make)?.then_some(chunks))
}

/// Reads JSONL. Its first records decide which fields are read.
fn records(mut chunks: Chunks, input: &Input, options: &ReadOptions) -> Result<Chunks, InputError> {
    let mut found = InputFields::of_records();
    let mut table = csv::TableGuess::default();
    chunks.read_ahead(fields::EXAMINED, |record| {
        table.add(record);
        found.add_record(record);
        if found.is_decided(options) { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
    });
    if let Some(problem) = table.problem() {
        return Err(InputError::unreadable(&input.name, problem));
    }
    let fields = fields::choose(&input.name, &found, options)?;
    chunks.format = Arc::new(jsonl::Jsonl { fields });
    Ok(chunks)
}

/// Opens every input that can be opened again, before any work is done. Returns the inputs that cannot be read; fails if a
/// field that the user named does not exist.
pub fn check_inputs(inputs: &[InputResult], options: &ReadOptions) -> crate::Result<Vec<InputError>> {
    let options = ReadOptions { on_guessed_text: None, ..options.clone() };
    let mut unreadable = Vec::new();
    let mut unseen = false;
    for input in inputs {
        let input = match input {
            Ok(input) if input.path.as_deref().is_none_or(pipes::is_pipe) => {
                unseen = true;
                continue;
            }
            Ok(input) => input,
            Err(error) => {
                unreadable.push(error.clone());
                continue;
            }
        };
        match start(input.clone(), &options) {
            Ok(_) => {}
            Err(error) if error.kind == InputErrorKind::MissingField => return Err(error.into()),
            Err(error) => unreadable.push(error),
        }
    }
    if let (Some(Ok(first)), false, true) = (inputs.first(), unseen, unreadable.is_empty()) {
        options.field_log.check(&options.required, &first.name)?;
    }
    Ok(unreadable)
}

/// Reads an input as a single text.
pub fn read_whole(input: &Input, options: &ReadOptions) -> Result<Content, InputError> {
    let max = options.rules.max_document;
    let Opened { bytes, skipped, .. } = open(input, options)?;
    let mut text = Vec::new();
    let read = bytes.take(max as u64 + 1).read_to_end(&mut text);
    read.map_err(|error| open::read_error(input, skipped + text.len() as u64, &error))?;
    if text.len() > max {
        let text = format!("longer than {max} bytes");
        return Err(InputError::limit(&input.name, Problem::with(text, Remedy::MaxDocument)));
    }
    match String::from_utf8(text) {
        Ok(text) => Ok(Content::Text(text)),
        Err(error) if options.rules.lossy => {
            Ok(Content::Text(sameish::text::decode(error.as_bytes()).text.into_owned()))
        }
        Err(error) => {
            let at = error.utf8_error().valid_up_to();
            let text = format!("byte 0x{:02x} is not UTF-8", error.as_bytes()[at]);
            let offset = Some(skipped + at as u64);
            let problem = Problem::with(text, Remedy::Lossy);
            Err(InputError { offset, ..InputError::unreadable(&input.name, problem) })
        }
    }
}
