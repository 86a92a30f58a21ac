//! Batches of records, and the documents they contain.

use super::find::Input;
use super::format::{Fault, ParsedRecord, RecordFormat, Span};
use super::reject::{Place, Problem, Reason, Reject, Remedy, excerpt};
use sameish::{Content, DocId, Document};
use std::borrow::Cow;
use std::ops::Range;
use std::sync::Arc;

/// Complete records of one input, in order.
pub struct RecordBatch {
    pub(crate) input: Input,
    pub(crate) format: Arc<dyn RecordFormat>,
    /// Bytes of the records, after decompression.
    pub bytes: Vec<u8>,
    pub(crate) spans: Vec<Span>,
    /// Offset of the first byte in the input.
    pub(crate) offset: u64,
    /// Line or row of the first record, from 1.
    pub(crate) line: u64,
    /// Sequence number of the first record over the whole run, from 0.
    pub first: u64,
    /// `true` if a record can be read again at its offset in the file.
    pub(crate) seekable: bool,
    /// Position of the input among the inputs of the run, from 0.
    pub(crate) input_number: usize,
}

/// Limits and decoding of records.
#[derive(Clone, Copy, Debug)]
pub struct RecordRules {
    /// Replaces bytes that are not UTF-8 instead of rejecting the record.
    pub lossy: bool,
    /// Maximum length of a line or record in bytes.
    pub max_line: usize,
    /// Maximum length of the text of a document in bytes.
    pub max_document: usize,
    /// Rejects a record without an id instead of using its sequence number.
    pub require_id: bool,
}

impl Default for RecordRules {
    fn default() -> RecordRules {
        RecordRules { lossy: false, max_line: 64 << 20, max_document: 16 << 20, require_id: false }
    }
}

/// A record that was accepted.
pub struct Record {
    /// The document.
    pub document: Document,
    /// `true` if bytes that are not UTF-8 were replaced.
    pub replaced: bool,
}

impl Record {
    /// Returns `true` if the document has a text or tokens, and `false` if it has sketches only.
    pub fn has_text(&self) -> bool {
        !matches!(self.document.content, Content::Sketches(_))
    }
}

impl RecordBatch {
    /// Returns the name under which [`RunLog::count_records`](crate::RunLog::count_records) counts the records: that of the
    /// input. Whole files are counted together, because each of them is one record.
    pub fn input_name(&self) -> Arc<str> {
        if self.format.is_whole_file() { "whole files".into() } else { self.input.name.clone() }
    }

    /// Returns the number of records.
    pub fn len(&self) -> usize {
        self.spans.len()
    }

    /// Returns `true` if the batch has no records.
    pub fn is_empty(&self) -> bool {
        self.spans.is_empty()
    }

    /// Parses the records.
    pub fn records(&self, rules: RecordRules) -> impl Iterator<Item = Result<Record, Reject>> {
        self.spans.iter().zip(self.first..).map(move |(span, number)| {
            let record = &self.bytes[span.start..span.end];
            let parsed = match span.fault {
                Some(fault) => Err(Reason::new(fault.problem(rules))),
                None => self.parse(record, number, rules),
            };
            parsed.map_err(|reason| self.reject(span, record, reason))
        })
    }

    fn parse(&self, record: &[u8], number: u64, rules: RecordRules) -> Result<Record, Reason> {
        let (text, replaced) = decode(record, rules.lossy)?;
        let ParsedRecord { id, content, title, source, published_at } = self.format.parse(&text)?;
        check_size(&content, rules.max_document)?;
        let id = match id.map(check_id).transpose()? {
            Some(id) => id,
            None if rules.require_id => return Err(Reason::new(Problem::with("has no id", Remedy::IdField))),
            None => DocId::Number(number),
        };
        let document = Document { id, content, title, source, published_at, url: None, metadata: None };
        Ok(Record { document, replaced })
    }

    /// Returns the range of a record with its line end.
    pub(crate) fn range_with_end(&self, record: usize) -> Range<usize> {
        let Span { start, end, .. } = self.spans[record];
        let line_end = match &self.bytes[end..] {
            [b'\r', b'\n', ..] => 2,
            [b'\r' | b'\n', ..] => 1,
            _ => 0,
        };
        start..end + line_end
    }

    /// Rejects a record that has sketches without a text, for commands that compare texts.
    pub fn reject_without_text(&self, position: usize, record: &Record) -> Option<Reject> {
        let reason = "it has sketches and no text, but this command compares texts";
        (!record.has_text()).then(|| self.reject_record(position, reason))
    }

    /// Rejects a record that was parsed but cannot be used.
    pub fn reject_record(&self, record: usize, reason: impl Into<Problem>) -> Reject {
        let span = &self.spans[record];
        self.reject(span, &self.bytes[span.start..span.end], Reason::new(reason))
    }

    fn reject(&self, span: &Span, record: &[u8], reason: Reason) -> Reject {
        let line = self.line + span.line;
        let offset = self.offset + (span.start + reason.at) as u64;
        let place =
            if self.format.counts_rows() { Place::Row { row: line } } else { Place::Line { line, offset } };
        Reject {
            file: self.input.name.clone(),
            place,
            excerpt: excerpt(record, reason.at),
            reason: reason.problem.text,
            remedy: reason.problem.remedy,
        }
    }
}

impl Fault {
    fn problem(self, rules: RecordRules) -> Problem {
        let longer = |max: usize| format!("longer than {max} bytes");
        match self {
            Fault::TooLong => Problem::with(longer(rules.max_line), Remedy::MaxLine),
            Fault::FileTooLong => Problem::with(longer(rules.max_document), Remedy::MaxDocument),
            Fault::UnclosedQuote => "quote is never closed; close it, or double it".into(),
            Fault::Ragged { found, expected } => {
                format!("row has {found} values, but the header has {expected} columns; fix the row").into()
            }
        }
    }
}

/// Parses the content of a record that is read a second time.
pub(crate) fn content_of(format: &dyn RecordFormat, record: &[u8], rules: RecordRules) -> Option<Content> {
    let (text, _) = decode(record, rules.lossy).ok()?;
    format.parse(&text).ok().map(|record| record.content)
}

fn decode(record: &[u8], lossy: bool) -> Result<(Cow<'_, str>, bool), Reason> {
    match std::str::from_utf8(record) {
        Ok(text) => Ok((Cow::Borrowed(text), false)),
        Err(_) if lossy => Ok((sameish::text::decode(record).text, true)),
        Err(error) => {
            let at = error.valid_up_to();
            let text = format!("byte 0x{:02x} is not UTF-8", record[at]);
            Err(Reason { at, problem: Problem::with(text, Remedy::Lossy) })
        }
    }
}

fn check_size(content: &Content, max: usize) -> Result<(), Reason> {
    let size = match content {
        Content::Text(text) => text.len(),
        Content::Tokens(tokens) => tokens.iter().map(String::len).sum(),
        // The settings limit their size.
        Content::Sketches(_) => 0,
    };
    if size <= max {
        return Ok(());
    }
    let text = format!("the text has {size} bytes, more than {max}");
    Err(Reason::new(Problem::with(text, Remedy::MaxDocument)))
}

fn check_id(id: DocId) -> Result<DocId, Reason> {
    let DocId::Text(text) = id else { return Ok(id) };
    DocId::from_text(text)
        .map_err(|invalid| Reason::new(format!("the id {invalid}; change it, or omit the field")))
}
