//! Reads one input in chunks and splits them into batches of complete records.
//!
//! Memory is bounded by the maximum line length: a longer line is skipped while it is streamed.

use super::batch::RecordBatch;
use super::csv::{Csv, first_record};
use super::find::Input;
use super::format::{Fault, RecordFormat, Span};
use super::lines::next_line;
use super::open::read_error;
use super::reject::InputError;
use std::io::{self, Read};
use std::ops::ControlFlow;
use std::sync::Arc;

/// Bytes per read.
const CHUNK: usize = 1 << 20;
/// Bytes that are read before the first record is returned.
const AHEAD: usize = 16 << 20;
/// Bytes kept of a skipped record, for the excerpt.
const KEPT: usize = 256;

/// Splits one input into batches.
pub(crate) struct Chunks {
    input: Input,
    bytes: Box<dyn Read + Send>,
    pub(super) format: Arc<dyn RecordFormat>,
    max_line: usize,
    /// Bytes that were read and not yet split.
    buffer: Vec<u8>,
    /// Offset of the first byte of the buffer.
    offset: u64,
    /// Line of the first byte of the buffer, from 1.
    line: u64,
    /// `true` at the end of the input, or after a read error.
    ended: bool,
    /// `true` if all of the input was returned.
    finished: bool,
    error: Option<InputError>,
    /// `true` while the rest of an overlong line is skipped.
    skipping: bool,
    seekable: bool,
    /// Header of a table, with its line end.
    pub(super) header: Option<Arc<[u8]>>,
}

impl Chunks {
    pub(crate) fn new(
        input: Input,
        bytes: Box<dyn Read + Send>,
        skipped: u64,
        seekable: bool,
        format: Arc<dyn RecordFormat>,
        max_line: usize,
    ) -> Chunks {
        Chunks {
            input,
            bytes,
            format,
            max_line,
            buffer: Vec::new(),
            offset: skipped,
            line: 1,
            ended: false,
            finished: false,
            error: None,
            skipping: false,
            seekable,
            header: None,
        }
    }

    /// Reads the first record as the header of a table. Returns `false` if there is none.
    pub(crate) fn read_header(
        &mut self,
        delimiter: u8,
        make: impl FnOnce(&str) -> Result<Csv, InputError>,
    ) -> Result<bool, InputError> {
        let refused = |problem: &str| InputError::unreadable(&self.input.name, problem);
        let first = loop {
            if let Some(first) = first_record(&self.buffer, delimiter, self.ended) {
                break first;
            }
            if self.ended {
                let blank = self.buffer.trim_ascii().is_empty();
                let unclosed = || refused("quote in the header is never closed; close it");
                return if blank { Ok(false) } else { Err(unclosed()) };
            }
            if self.buffer.len() > self.max_line {
                let max = self.max_line;
                let text =
                    format!("the header has more than {max} bytes; check that the file is a table of texts");
                return Err(refused(&text));
            }
            fill(&mut self.bytes, &mut self.buffer)
                .map_err(|error| read_error(&self.input, self.offset, &error))
                .map(|more| self.ended = !more)?;
        };
        let header = std::str::from_utf8(&self.buffer[first.record])
            .map_err(|_| refused("the header is not UTF-8; convert the file"))?;
        self.format = Arc::new(make(header)?);
        self.header = Some(self.buffer[..first.consumed.bytes].into());
        self.drop_front(first.consumed.bytes, first.consumed.lines);
        Ok(true)
    }

    /// Passes the first complete lines that are not blank to `see`, at most `count`, until it breaks. They remain in the buffer.
    pub(crate) fn read_ahead(&mut self, count: usize, mut see: impl FnMut(&[u8]) -> ControlFlow<()>) {
        let (mut at, mut seen) = (0, 0);
        while seen < count {
            let ended = self.ended && self.error.is_none();
            let Some(line) = next_line(&self.buffer[at..], ended) else {
                if self.ended || self.buffer.len() >= AHEAD {
                    return;
                }
                self.fill();
                continue;
            };
            let record = self.buffer[at..at + line.len].trim_ascii();
            if !record.is_empty() {
                seen += 1;
                if see(record).is_break() {
                    return;
                }
            }
            at += line.next;
        }
    }

    /// Returns the next records; `first` is the sequence number of the first of them.
    pub(crate) fn next(&mut self, first: u64) -> Option<Result<RecordBatch, InputError>> {
        loop {
            if self.skipping {
                self.skip();
            }
            let mut spans = Vec::new();
            let ended = self.ended && self.error.is_none();
            let consumed = self.format.split(&self.buffer, ended, self.max_line, &mut spans);
            // An empty file may be an empty document.
            if consumed.bytes > 0 || !(spans.is_empty() || self.finished) {
                self.finished = self.ended && consumed.bytes == self.buffer.len();
                let batch = self.take(consumed.bytes, consumed.lines, spans, first);
                if batch.spans.is_empty() {
                    continue;
                }
                return Some(Ok(batch));
            }
            // One byte more, because a final `\r` may be a line end of its own or the first half of `\r\n`.
            if self.buffer.len() > self.max_line + 1 {
                return Some(Ok(self.skip_overlong(first)));
            }
            if self.ended {
                return self.error.take().map(Err);
            }
            self.fill();
        }
    }

    /// Moves the front of the buffer into a batch.
    fn take(&mut self, bytes: usize, lines: u64, spans: Vec<Span>, first: u64) -> RecordBatch {
        let rest = self.buffer.split_off(bytes);
        let batch = RecordBatch {
            input: self.input.clone(),
            format: self.format.clone(),
            bytes: std::mem::replace(&mut self.buffer, rest),
            spans,
            offset: self.offset,
            line: self.line,
            first,
            seekable: self.seekable,
            input_number: 0,
        };
        self.offset += bytes as u64;
        self.line += lines;
        batch
    }

    /// Rejects the overlong record in the buffer, and starts to skip the rest of it.
    fn skip_overlong(&mut self, first: u64) -> RecordBatch {
        let end = KEPT.min(self.buffer.len());
        let fault = self.format.overlong();
        let span = Span { start: 0, end, line: 0, fault: Some(fault) };
        let mut batch = self.take(self.buffer.len() - self.undecided(), 0, vec![span], first);
        batch.bytes.truncate(end);
        batch.bytes.shrink_to_fit();
        self.skipping = fault == Fault::TooLong;
        self.ended |= !self.skipping;
        self.finished |= !self.skipping;
        batch
    }

    /// Skips to the next line end.
    fn skip(&mut self) {
        loop {
            if let Some(line) = next_line(&self.buffer, self.ended) {
                self.skipping = false;
                return self.drop_front(line.next, 1);
            }
            self.drop_front(self.buffer.len() - self.undecided(), 0);
            if self.ended {
                self.skipping = false;
                return;
            }
            self.fill();
        }
    }

    /// Returns the number of bytes at the end to keep: a `\r`, until it is known whether `\n` follows.
    fn undecided(&self) -> usize {
        usize::from(self.buffer.ends_with(b"\r"))
    }

    fn drop_front(&mut self, bytes: usize, lines: u64) {
        self.buffer.drain(..bytes);
        self.offset += bytes as u64;
        self.line += lines;
    }

    /// Reads more. For a long incomplete record it doubles the buffer, so that the record is scanned a few times instead of
    /// once per chunk.
    fn fill(&mut self) {
        let want = if self.buffer.len() < CHUNK { 1 } else { self.buffer.len().min(self.max_line) };
        let goal = self.buffer.len() + want;
        while self.buffer.len() < goal && !self.ended {
            match fill(&mut self.bytes, &mut self.buffer) {
                Ok(more) => self.ended = !more,
                Err(error) => {
                    let offset = self.offset + self.buffer.len() as u64;
                    self.error = Some(read_error(&self.input, offset, &error));
                    self.ended = true;
                }
            }
        }
    }
}

/// Reads once. Returns `false` at the end of the input.
fn fill(bytes: &mut impl Read, buffer: &mut Vec<u8>) -> io::Result<bool> {
    let len = buffer.len();
    buffer.resize(len + CHUNK, 0);
    let read = loop {
        match bytes.read(&mut buffer[len..]) {
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            other => break other,
        }
    };
    buffer.truncate(len + *read.as_ref().unwrap_or(&0));
    Ok(read? > 0)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::input::ReadOptions;
    use crate::input::csv::Csv;
    use crate::input::text::TextLines;
    use proptest::prelude::*;

    /// A reader that returns pieces of the given sizes in rotation.
    struct Drip {
        bytes: Vec<u8>,
        at: usize,
        sizes: Vec<usize>,
        turn: usize,
    }

    impl Read for Drip {
        fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
            let size =
                self.sizes[self.turn % self.sizes.len()].min(buffer.len()).min(self.bytes.len() - self.at);
            buffer[..size].copy_from_slice(&self.bytes[self.at..self.at + size]);
            self.at += size;
            self.turn += 1;
            Ok(size)
        }
    }

    /// A record that was split off.
    #[derive(Debug, PartialEq)]
    struct Seen {
        offset: u64,
        line: u64,
        number: u64,
        fault: Option<Fault>,
        /// Empty if there is a fault.
        bytes: Vec<u8>,
    }

    fn records(bytes: &[u8], sizes: &[usize], format: Arc<dyn RecordFormat>, max: usize) -> Vec<Seen> {
        let drip = Drip { bytes: bytes.to_vec(), at: 0, sizes: sizes.to_vec(), turn: 0 };
        let mut chunks = Chunks::new(Input::stdin(), Box::new(drip), 0, false, format, max);
        let mut records = Vec::new();
        while let Some(batch) = chunks.next(records.len() as u64) {
            let batch = batch.unwrap();
            for (span, number) in batch.spans.iter().zip(batch.first..) {
                let good = if span.fault.is_none() { span.start..span.end } else { 0..0 };
                records.push(Seen {
                    offset: batch.offset + span.start as u64,
                    line: batch.line + span.line,
                    number,
                    fault: span.fault,
                    bytes: batch.bytes[good].to_vec(),
                });
            }
        }
        records
    }

    fn table() -> Arc<dyn RecordFormat> {
        Arc::new(Csv::with_header("text,id", b',', &"in".into(), &ReadOptions::default()).unwrap())
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(5000))]

        /// Records do not depend on the sizes of reads.
        #[test]
        fn records_do_not_depend_on_read_sizes(
            bytes in "[ab,\"\n\r]{0,60}",
            sizes in prop::collection::vec(1usize..20, 1..5),
            max in 4usize..30,
        ) {
            for format in [Arc::new(TextLines) as Arc<dyn RecordFormat>, table()] {
                let whole = records(bytes.as_bytes(), &[1000], format.clone(), max);
                prop_assert_eq!(records(bytes.as_bytes(), &sizes, format, max), whole);
            }
        }
    }

    #[test]
    fn carriage_return_at_a_read_boundary_ends_an_overlong_line() {
        let seen = records(b"aaaaaaaa\rb\n", &[9, 1], Arc::new(TextLines), 4);
        assert_eq!(seen.iter().map(|record| record.line).collect::<Vec<_>>(), [1, 2]);
    }

    #[test]
    fn whole_file_is_one_record_even_if_empty() {
        let whole = || Arc::new(crate::input::text::WholeFile { id: "x".into() });
        let seen = |fault, bytes: &[u8]| Seen { offset: 0, line: 1, number: 0, fault, bytes: bytes.to_vec() };
        assert_eq!(records(b"", &[1], whole(), 10), [seen(None, b"")]);
        assert_eq!(records(b"a\nb\n", &[1], whole(), 10), [seen(None, b"a\nb\n")]);
        assert_eq!(records(&[b'a'; 100], &[7], whole(), 10), [seen(Some(Fault::FileTooLong), b"")]);
    }
}
