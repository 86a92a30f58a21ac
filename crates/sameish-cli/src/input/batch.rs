//! A handful of records on their way to a worker, and what becomes of each.

use super::find::Source;
use super::format::{Fault, Format, Item, Span};
use super::reject::{Place, Reason, Reject, excerpt};
use sameish::{Content, DocId, Document};
use std::borrow::Cow;
use std::ops::Range;
use std::sync::Arc;

/// Longest id, in bytes.
const MAX_ID: usize = 512;

/// Whole records of one input, in order.
pub(crate) struct Batch {
    pub(crate) source: Source,
    pub(crate) format: Arc<dyn Format>,
    pub(crate) bytes: Vec<u8>,
    pub(crate) spans: Vec<Span>,
    /// Place of the first byte in the input.
    pub(crate) offset: u64,
    /// Its line or row, from 1.
    pub(crate) line: u64,
    /// Number of the first record over the whole run, from 0.
    pub(crate) first: u64,
    /// Whether a record can be read again at its offset in the source.
    pub(crate) plain: bool,
    /// Which of the run's inputs it is of, from 0.
    pub(crate) input: usize,
}

/// What a record may be.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Rules {
    /// Replace bytes that are not UTF-8 rather than reject the record.
    pub(crate) lossy: bool,
    pub(crate) max_line: usize,
    pub(crate) max_document: usize,
}

/// A record that was taken.
pub(crate) struct Taken {
    pub(crate) document: Document,
    /// Whether bytes had to be replaced.
    pub(crate) replaced: bool,
}

impl Batch {
    /// Each record as a document, or why not.
    pub(crate) fn records(&self, rules: Rules) -> impl Iterator<Item = Result<Taken, Reject>> {
        self.spans.iter().zip(self.first..).map(move |(span, number)| {
            let record = &self.bytes[span.start..span.end];
            let taken = match span.fault {
                Some(fault) => Err(Reason::new(fault.reason(rules))),
                None => self.take(record, number, rules),
            };
            taken.map_err(|reason| self.reject(span, record, reason))
        })
    }

    fn take(&self, record: &[u8], number: u64, rules: Rules) -> Result<Taken, Reason> {
        let (text, replaced) = decode(record, rules.lossy)?;
        let Item { id, content, title, source, published_at } = self.format.read(&text)?;
        check_size(&content, rules.max_document)?;
        let id = id.map(check_id).transpose()?.unwrap_or(DocId::Number(number));
        let document = Document { id, content, title, source, published_at, url: None };
        Ok(Taken { document, replaced })
    }

    /// Where a record lies with its line end.
    pub(crate) fn span(&self, record: usize) -> Range<usize> {
        let Span { start, end, .. } = self.spans[record];
        let ending = match &self.bytes[end..] {
            [b'\r', b'\n', ..] => 2,
            [b'\r' | b'\n', ..] => 1,
            _ => 0,
        };
        start..end + ending
    }

    /// Why a record that could be read is not used all the same.
    pub(crate) fn reject_record(&self, record: usize, reason: String) -> Reject {
        let span = &self.spans[record];
        self.reject(span, &self.bytes[span.start..span.end], Reason::new(reason))
    }

    fn reject(&self, span: &Span, record: &[u8], reason: Reason) -> Reject {
        let line = self.line + span.line;
        let offset = self.offset + (span.start + reason.at) as u64;
        let place =
            if self.format.counts_rows() { Place::Row { row: line } } else { Place::Line { line, offset } };
        Reject {
            file: self.source.name.clone(),
            place,
            excerpt: excerpt(record, reason.at),
            reason: reason.text,
        }
    }
}

impl Fault {
    fn reason(self, rules: Rules) -> String {
        match self {
            Fault::TooLong => {
                format!("longer than {} bytes; raise `--max-line` if that is right", rules.max_line)
            }
            Fault::FileTooLong => {
                format!("longer than {} bytes; raise `--max-document` if that is right", rules.max_document)
            }
            Fault::UnclosedQuote => "a quote opens here and nothing closes it; close it, or double it".into(),
            Fault::Ragged { found, expected } => {
                format!("the header names {expected} columns, this row has {found}; mend the row")
            }
        }
    }
}

/// What a record compares, read once more.
pub(crate) fn content_of(format: &dyn Format, record: &[u8], rules: Rules) -> Option<Content> {
    let (text, _) = decode(record, rules.lossy).ok()?;
    format.read(&text).ok().map(|item| item.content)
}

fn decode(record: &[u8], lossy: bool) -> Result<(Cow<'_, str>, bool), Reason> {
    match std::str::from_utf8(record) {
        Ok(text) => Ok((Cow::Borrowed(text), false)),
        Err(_) if lossy => Ok((sameish::decode(record).text, true)),
        Err(error) => {
            let at = error.valid_up_to();
            let text = format!("byte 0x{:02x} is not UTF-8; convert the file, or pass `--lossy`", record[at]);
            Err(Reason { at, text })
        }
    }
}

fn check_size(content: &Content, max: usize) -> Result<(), Reason> {
    let size = match content {
        Content::Text(text) => text.len(),
        Content::Tokens(tokens) => tokens.iter().map(String::len).sum(),
    };
    match size > max {
        true => Err(Reason::new(format!(
            "the text has {size} bytes; raise `--max-document` above {max} if that is right"
        ))),
        false => Ok(()),
    }
}

fn check_id(id: DocId) -> Result<DocId, Reason> {
    let DocId::Text(text) = &id else { return Ok(id) };
    if text.is_empty() {
        return Err(Reason::new("the id is empty; give one, or leave the field out"));
    }
    if text.len() > MAX_ID {
        return Err(Reason::new(format!("the id has {} bytes; at most {MAX_ID} are taken", text.len())));
    }
    if text.chars().any(char::is_control) {
        return Err(Reason::new("the id holds control characters; leave them out"));
    }
    Ok(id)
}
