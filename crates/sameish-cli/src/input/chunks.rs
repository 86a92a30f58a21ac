//! Reads one input piece by piece and cuts the pieces into batches.
//!
//! Memory is bounded by the longest line allowed: a longer one is passed over as it streams by.

use super::batch::Batch;
use super::csv::{Csv, first_record};
use super::find::Source;
use super::format::{Fault, Format, Span};
use super::lines::next_line;
use super::open::unread;
use super::reject::Broken;
use std::io::{self, Read};
use std::sync::Arc;

/// Bytes that are asked for at a time.
const CHUNK: usize = 1 << 20;
/// Bytes that are kept of a record that is passed over, to show.
const KEPT: usize = 256;

/// One input on its way into batches.
pub(crate) struct Chunks {
    source: Source,
    bytes: Box<dyn Read + Send>,
    pub(super) format: Arc<dyn Format>,
    max_line: usize,
    /// Read and not yet cut.
    buffer: Vec<u8>,
    /// Place of the buffer's first byte.
    offset: u64,
    /// Line of the buffer's first byte, from 1.
    line: u64,
    /// Whether the input has no more, or broke.
    ended: bool,
    /// Whether all of it was given.
    finished: bool,
    broken: Option<Broken>,
    /// Whether the rest of an overlong line is being passed over.
    skipping: bool,
    plain: bool,
    /// The line of column names, with its end.
    pub(super) header: Option<Arc<[u8]>>,
}

impl Chunks {
    pub(crate) fn new(
        source: Source,
        bytes: Box<dyn Read + Send>,
        skipped: u64,
        plain: bool,
        format: Arc<dyn Format>,
        max_line: usize,
    ) -> Chunks {
        let buffer = Vec::new();
        Chunks {
            source,
            bytes,
            format,
            max_line,
            buffer,
            offset: skipped,
            line: 1,
            ended: false,
            finished: false,
            broken: None,
            skipping: false,
            plain,
            header: None,
        }
    }

    /// Takes the first record as the header of a table. Gives `false` where there is none.
    pub(crate) fn read_header(
        &mut self,
        delimiter: u8,
        make: impl FnOnce(&str) -> Result<Csv, String>,
    ) -> Result<bool, Broken> {
        let refused = |reason: String| Broken::unreadable(&self.source.name, reason);
        let first = loop {
            if let Some(first) = first_record(&self.buffer, delimiter, self.ended) {
                break first;
            }
            if self.ended {
                let blank = self.buffer.trim_ascii().is_empty();
                let unclosed =
                    || refused("a quote opens in the header and nothing closes it; close it".into());
                return if blank { Ok(false) } else { Err(unclosed()) };
            }
            if self.buffer.len() > self.max_line {
                return Err(refused(
                    "the header is longer than `--max-line`; is this a table of texts?".into(),
                ));
            }
            fill(&mut self.bytes, &mut self.buffer)
                .map_err(|error| unread(&self.source, self.offset, &error))
                .map(|more| self.ended = !more)?;
        };
        let header = std::str::from_utf8(&self.buffer[first.record])
            .map_err(|_| refused("the header is not UTF-8; convert the file".into()))?;
        self.format = Arc::new(make(header).map_err(refused)?);
        self.header = Some(self.buffer[..first.cut.bytes].into());
        self.drop_front(first.cut.bytes, first.cut.lines);
        Ok(true)
    }

    /// The next records; `first` is the number of the first of them.
    pub(crate) fn next(&mut self, first: u64) -> Option<Result<Batch, Broken>> {
        loop {
            if self.skipping {
                self.skip();
            }
            let mut spans = Vec::new();
            let ended = self.ended && self.broken.is_none();
            let cut = self.format.cut(&self.buffer, ended, self.max_line, &mut spans);
            // An empty file may be a document of no bytes.
            if cut.bytes > 0 || !(spans.is_empty() || self.finished) {
                self.finished = self.ended && cut.bytes == self.buffer.len();
                let batch = self.take(cut.bytes, cut.lines, spans, first);
                if batch.spans.is_empty() {
                    continue;
                }
                return Some(Ok(batch));
            }
            // One byte more, because a `\r` in the last place may or may not be a line end of its own.
            if self.buffer.len() > self.max_line + 1 {
                return Some(Ok(self.pass_over(first)));
            }
            if self.ended {
                return self.broken.take().map(Err);
            }
            self.fill();
        }
    }

    /// Moves the front of the buffer into a batch.
    fn take(&mut self, bytes: usize, lines: u64, spans: Vec<Span>, first: u64) -> Batch {
        let rest = self.buffer.split_off(bytes);
        let batch = Batch {
            source: self.source.clone(),
            format: self.format.clone(),
            bytes: std::mem::replace(&mut self.buffer, rest),
            spans,
            offset: self.offset,
            line: self.line,
            first,
            plain: self.plain,
            input: 0,
        };
        self.offset += bytes as u64;
        self.line += lines;
        batch
    }

    /// Rejects the overlong record in the buffer, and starts to pass over the rest of it.
    fn pass_over(&mut self, first: u64) -> Batch {
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

    /// Drops all up to the next line end.
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

    /// Bytes at the end that are kept: a `\r`, until it is known whether `\n` follows.
    fn undecided(&self) -> usize {
        usize::from(self.buffer.ends_with(b"\r"))
    }

    fn drop_front(&mut self, bytes: usize, lines: u64) {
        self.buffer.drain(..bytes);
        self.offset += bytes as u64;
        self.line += lines;
    }

    /// Reads on. A long unfinished record asks for as much again as is there, so that it is looked through a few
    /// times and not once a piece.
    fn fill(&mut self) {
        let want = if self.buffer.len() < CHUNK { 1 } else { self.buffer.len().min(self.max_line) };
        let goal = self.buffer.len() + want;
        while self.buffer.len() < goal && !self.ended {
            match fill(&mut self.bytes, &mut self.buffer) {
                Ok(more) => self.ended = !more,
                Err(error) => {
                    let offset = self.offset + self.buffer.len() as u64;
                    self.broken = Some(unread(&self.source, offset, &error));
                    self.ended = true;
                }
            }
        }
    }
}

/// One read. Gives `false` at the end.
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
    use crate::input::csv::Csv;
    use crate::input::format::Fields;
    use crate::input::text::TextLines;
    use proptest::prelude::*;

    /// Gives its bytes in pieces of the given sizes, over and over.
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

    /// A record as it came out.
    #[derive(Debug, PartialEq)]
    struct Seen {
        offset: u64,
        line: u64,
        number: u64,
        fault: Option<Fault>,
        /// Empty where there is a fault.
        bytes: Vec<u8>,
    }

    fn records(bytes: &[u8], sizes: &[usize], format: Arc<dyn Format>, max: usize) -> Vec<Seen> {
        let drip = Drip { bytes: bytes.to_vec(), at: 0, sizes: sizes.to_vec(), turn: 0 };
        let mut chunks = Chunks::new(Source::stdin(), Box::new(drip), 0, false, format, max);
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

    fn table() -> Arc<dyn Format> {
        Arc::new(
            Csv::with_header("text,id", b',', &Fields { text: "text".into(), ..Fields::default() }).unwrap(),
        )
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(5000))]

        /// Records do not depend on how the bytes arrive, whole or drop by drop.
        #[test]
        fn records_are_the_same_however_bytes_arrive(
            bytes in "[ab,\"\n\r]{0,60}",
            sizes in prop::collection::vec(1usize..20, 1..5),
            max in 4usize..30,
        ) {
            for format in [Arc::new(TextLines) as Arc<dyn Format>, table()] {
                let whole = records(bytes.as_bytes(), &[1000], format.clone(), max);
                prop_assert_eq!(records(bytes.as_bytes(), &sizes, format, max), whole);
            }
        }
    }

    #[test]
    fn a_return_at_the_edge_of_what_was_read_ends_an_overlong_line() {
        let seen = records(b"aaaaaaaa\rb\n", &[9, 1], Arc::new(TextLines), 4);
        assert_eq!(seen.iter().map(|record| record.line).collect::<Vec<_>>(), [1, 2]);
    }

    #[test]
    fn a_file_is_one_record_even_when_empty() {
        let whole = || Arc::new(crate::input::text::WholeFile { id: "x".into() });
        let seen = |fault, bytes: &[u8]| Seen { offset: 0, line: 1, number: 0, fault, bytes: bytes.to_vec() };
        assert_eq!(records(b"", &[1], whole(), 10), [seen(None, b"")]);
        assert_eq!(records(b"a\nb\n", &[1], whole(), 10), [seen(None, b"a\nb\n")]);
        assert_eq!(records(&[b'a'; 100], &[7], whole(), 10), [seen(Some(Fault::FileTooLong), b"")]);
    }
}
