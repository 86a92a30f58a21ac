//! Where do documents come from?
//!
//! [`find`] turns arguments into sources, [`mod@open`] looks what lies in each, [`chunks`] cuts it into batches of whole
//! records, and a [`batch`] gives documents. All but the last is done by one thread, in order.

pub(crate) mod batch;
mod chunks;
mod compression;
mod csv;
pub(crate) mod find;
pub(crate) mod format;
mod jsonl;
pub(crate) mod judgments;
mod lines;
pub(crate) mod meter;
pub(crate) mod open;
pub(crate) mod parquet;
pub(crate) mod reject;
pub(crate) mod stamp;
mod text;

use crate::output::messages::say;
use batch::{Batch, Rules};
use chunks::Chunks;
use find::{Found, Source};
use format::{Fields, Format, Kind};
use open::{Opened, open, open_any};
use reject::Broken;
use sameish::Content;
use std::io::Read;
use std::sync::Arc;

/// How all inputs of a run are read.
#[derive(Clone, Debug)]
pub(crate) struct Reading {
    /// Beats what suffixes say.
    pub(crate) format: Option<Kind>,
    /// A document a file.
    pub(crate) whole_files: bool,
    pub(crate) fields: Fields,
    pub(crate) rules: Rules,
    pub(crate) max_expanded: Option<u64>,
    /// Whether a guessed format goes unmentioned.
    pub(crate) quiet: bool,
}

/// All batches of all inputs, in order. An input that breaks gives an error in its place, and the next one follows.
pub(crate) struct Batches {
    reading: Reading,
    sources: std::vec::IntoIter<Found>,
    current: Option<Input>,
    /// Records given so far.
    records: u64,
    /// Inputs begun so far.
    begun: usize,
}

/// One input on its way into batches.
enum Input {
    Bytes(Chunks),
    Rows(Box<parquet::Rows>),
}

impl Input {
    fn next(&mut self, first: u64) -> Option<Result<Batch, Broken>> {
        match self {
            Input::Bytes(chunks) => chunks.next(first),
            Input::Rows(rows) => rows.next(first),
        }
    }
}

impl Batches {
    pub(crate) fn new(sources: Vec<Found>, reading: Reading) -> Batches {
        Batches { reading, sources: sources.into_iter(), current: None, records: 0, begun: 0 }
    }

    /// Numbers records from `first` on.
    pub(crate) fn numbered_from(self, first: u64) -> Batches {
        Batches { records: first, ..self }
    }
}

impl Iterator for Batches {
    type Item = Result<Batch, Broken>;

    fn next(&mut self) -> Option<Self::Item> {
        loop {
            let Some(input) = &mut self.current else {
                self.begun += 1;
                match self.sources.next()?.and_then(|source| start(source, &self.reading)) {
                    Ok(input) => self.current = input,
                    Err(broken) => return Some(Err(broken)),
                }
                continue;
            };
            match input.next(self.records) {
                None => self.current = None,
                Some(Ok(mut batch)) => {
                    batch.input = self.begun - 1;
                    self.records += batch.spans.len() as u64;
                    return Some(Ok(batch));
                }
                Some(Err(broken)) => {
                    self.current = None;
                    return Some(Err(broken));
                }
            }
        }
    }
}

/// What an input is, before its records are read.
pub(crate) struct Look {
    /// Absent where the input is empty.
    pub(crate) kind: Option<Kind>,
    /// The line of column names, with its end.
    pub(crate) header: Option<Arc<[u8]>>,
}

/// Looks at the beginning of an input.
pub(crate) fn look(source: &Source, reading: &Reading) -> Result<Look, Broken> {
    let opened = open_any(source, reading.max_expanded)?;
    let named = || source.path.as_deref().and_then(|path| Kind::of_path(path).0);
    let empty = opened.first.is_none();
    let kind = match opened.guess {
        Kind::Parquet => Kind::Parquet,
        guess => reading.format.or_else(named).unwrap_or(guess),
    };
    let quiet = Reading { quiet: true, ..reading.clone() };
    let header = match start(source.clone(), &quiet)? {
        Some(Input::Bytes(chunks)) => chunks.header,
        _ => None,
    };
    Ok(Look { kind: Some(kind).filter(|_| !empty), header })
}

/// How the records of an input are read, if it is not Parquet, whose rows are not read again where they lie.
pub(crate) fn format_of(source: &Source, reading: &Reading) -> Option<Arc<dyn Format>> {
    let quiet = Reading { quiet: true, ..reading.clone() };
    match start(source.clone(), &quiet) {
        Ok(Some(Input::Bytes(chunks))) => Some(chunks.format),
        _ => None,
    }
}

/// Opens an input and finds its format. Gives nothing where the input is empty.
fn start(source: Source, reading: &Reading) -> Result<Option<Input>, Broken> {
    let opened = open_any(&source, reading.max_expanded)?;
    let named = || source.path.as_deref().and_then(|path| Kind::of_path(path).0);
    if opened.guess == Kind::Parquet || reading.format.or_else(named) == Some(Kind::Parquet) {
        if opened.empty {
            return Ok(None);
        }
        return start_rows(source, opened, reading).map(|rows| Some(Input::Rows(Box::new(rows))));
    }
    start_chunks(source, opened, reading).map(|chunks| chunks.map(Input::Bytes))
}

/// What begins as Parquet does is Parquet, whatever its name.
fn start_rows(source: Source, opened: Opened, reading: &Reading) -> Result<parquet::Rows, Broken> {
    if reading.whole_files || reading.format.is_some_and(|format| format != Kind::Parquet) {
        let reason = "a Parquet file; leave `--format` and `--whole-files` out for it";
        return Err(Broken::unreadable(&source.name, reason));
    }
    let table = parquet::Table::open(&source, opened.bytes, reading.max_expanded)?;
    parquet::Rows::new(table, reading.fields.clone(), reading.rules.max_line)
}

fn start_chunks(source: Source, opened: Opened, reading: &Reading) -> Result<Option<Chunks>, Broken> {
    let Opened { bytes, skipped, guess, first, plain, .. } = opened;
    let max_line = reading.rules.max_line;
    let chunks =
        |format: Arc<dyn Format>, max| Chunks::new(source.clone(), bytes, skipped, plain, format, max);
    if reading.whole_files {
        let id = source.name.to_string();
        return Ok(Some(chunks(Arc::new(text::WholeFile { id }), reading.rules.max_document)));
    }
    let known = reading.format.or_else(|| Kind::of_path(source.path.as_deref()?).0);
    if known.is_none() && guess == Kind::Text && first.is_some() && !reading.quiet {
        say(format_args!(
            "note: {}: taken as plain text, a document a line; `--format` tells otherwise",
            source.name
        ));
    }
    match known.unwrap_or(guess) {
        // Parquet went another way above.
        Kind::Text | Kind::Parquet => Ok(Some(chunks(Arc::new(text::TextLines), max_line))),
        Kind::Jsonl if first == Some(b'[') => Err(Broken::unreadable(
            &source.name,
            "a JSON list, not an object a line; convert it, as in `jq -c '.[]' FILE`, or pass `--format text`",
        )),
        Kind::Jsonl => Ok(Some(chunks(Arc::new(jsonl::Jsonl { fields: reading.fields.clone() }), max_line))),
        Kind::Csv => table(chunks(Arc::new(text::TextLines), max_line), b',', reading),
        Kind::Tsv => table(chunks(Arc::new(text::TextLines), max_line), b'\t', reading),
    }
}

fn table(mut chunks: Chunks, delimiter: u8, reading: &Reading) -> Result<Option<Chunks>, Broken> {
    let make = |header: &str| csv::Csv::with_header(header, delimiter, &reading.fields);
    Ok(chunks.read_header(delimiter, make)?.then_some(chunks))
}

/// Reads one input as a single text, for commands that take two files and no more.
pub(crate) fn read_whole(source: &Source, reading: &Reading) -> Result<Content, Broken> {
    let max = reading.rules.max_document;
    let Opened { bytes, skipped, .. } = open(source, reading.max_expanded)?;
    let mut text = Vec::new();
    let read = bytes.take(max as u64 + 1).read_to_end(&mut text);
    read.map_err(|error| open::unread(source, skipped + text.len() as u64, &error))?;
    if text.len() > max {
        let reason = format!("longer than {max} bytes; raise `--max-document` if that is right");
        return Err(Broken { exit: crate::exit::Exit::Limit, ..Broken::unreadable(&source.name, reason) });
    }
    match String::from_utf8(text) {
        Ok(text) => Ok(Content::Text(text)),
        Err(error) if reading.rules.lossy => {
            Ok(Content::Text(sameish::decode(error.as_bytes()).text.into_owned()))
        }
        Err(error) => {
            let at = error.utf8_error().valid_up_to();
            let reason = format!(
                "byte 0x{:02x} is not UTF-8; convert the file, or pass `--lossy`",
                error.as_bytes()[at]
            );
            Err(Broken { offset: Some(skipped + at as u64), ..Broken::unreadable(&source.name, reason) })
        }
    }
}
