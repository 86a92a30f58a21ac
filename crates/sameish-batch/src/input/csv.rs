//! CSV and TSV with a header.
//!
//! A record ends at a line end outside quotes, so records cannot be split at line ends alone. The `csv` crate parses but does
//! not recover from a quote that is never closed: it reads the rest of the file as one record. Here, such a record is
//! rejected up to its first line end, and splitting continues there. Tests compare the splitter with the `csv` crate.

use super::ReadOptions;
use super::fields::{InputFields, choose, listed};
use super::format::{Consumed, Fault, MAX_RECORDS, ParsedRecord, RecordFormat, Span};
use super::jsonl::{SKETCHES, sketches_of};
use super::lines::next_line;
use super::reject::{InputError, Problem, Reason, Remedy};
use crate::escape::escaped;
use memchr::{memchr, memchr_iter, memchr2, memchr3, memrchr};
use sameish::DocId;
use std::borrow::Cow;
use std::sync::Arc;

/// Maximum number of columns.
const MAX_COLUMNS: usize = 65_536;
/// Bytes of one buffer that may be scanned again after unclosed quotes.
const MIN_RESCAN: usize = 64 << 20;

/// CSV or TSV with a known header.
#[derive(Debug)]
pub(crate) struct Csv {
    delimiter: u8,
    columns: usize,
    id: Option<usize>,
    text: Option<usize>,
    title: Option<usize>,
    source: Option<usize>,
    date: Option<usize>,
    /// In the order of [`SKETCHES`].
    sketches: [Option<usize>; 4],
}

impl Csv {
    /// Looks up the columns of the fields.
    pub(crate) fn with_header(
        header: &str,
        delimiter: u8,
        input: &Arc<str>,
        options: &ReadOptions,
    ) -> Result<Csv, InputError> {
        let refused = |problem: String| InputError::unreadable(input, problem);
        let names: Vec<String> =
            values(header, delimiter).take(MAX_COLUMNS + 1).map(|name| name.trim().to_owned()).collect();
        if names.len() > MAX_COLUMNS {
            return Err(refused(format!(
                "the header has more than {MAX_COLUMNS} columns; check that the file is a table of texts"
            )));
        }
        if let Some(name) = first_repeated(&names) {
            let text = format!("column `{}` occurs twice in {}; rename one", escaped(name), listed(&names));
            return Err(refused(text));
        }
        let fields = choose(input, &InputFields::of_table(&names, |_| true), options)?;
        let column = |name: &String| names.iter().position(|column| column == name);
        Ok(Csv {
            delimiter,
            columns: names.len(),
            id: fields.id.as_ref().and_then(column),
            text: fields.text.as_ref().and_then(column),
            title: fields.title.as_ref().and_then(column),
            source: fields.source.iter().find_map(column),
            date: fields.date.as_ref().and_then(column),
            sketches: SKETCHES.map(|name| names.iter().position(|column| column == name)),
        })
    }
}

fn first_repeated(names: &[String]) -> Option<&str> {
    let mut sorted: Vec<&str> = names.iter().map(String::as_str).filter(|name| !name.is_empty()).collect();
    sorted.sort_unstable();
    sorted.windows(2).find(|pair| pair[0] == pair[1]).map(|pair| pair[0])
}

/// Tells whether lines that should be JSON are a table.
#[derive(Default)]
pub(crate) struct TableGuess {
    /// Values of the first line for each delimiter.
    header: Option<[usize; 2]>,
    /// Number of lines with as many values as the first one, for each delimiter.
    alike: [usize; 2],
    lines: usize,
    objects: usize,
}

/// Delimiters that are recognized.
const DELIMITERS: [u8; 2] = [b',', b'\t'];

impl TableGuess {
    /// Adds a line.
    pub(crate) fn add(&mut self, line: &[u8]) {
        self.lines += 1;
        self.objects += usize::from(line.starts_with(b"{") || line.starts_with(b"["));
        if self.objects > 0 {
            return;
        }
        let values = DELIMITERS.map(|delimiter| match scan(line, delimiter, true) {
            Scan::Whole(record) => record.values,
            _ => 0,
        });
        let header = *self.header.get_or_insert(values);
        for (alike, (values, header)) in self.alike.iter_mut().zip(values.into_iter().zip(header)) {
            *alike += usize::from(values == header && values > 1);
        }
    }

    /// Returns the problem if the lines are a table: none of them is an object, and at least half of them have as many values as
    /// the first one.
    pub(crate) fn problem(&self) -> Option<Problem> {
        if self.objects > 0 || self.lines < 2 {
            return None;
        }
        let is_table = |alike: usize| alike >= 2 && alike * 2 >= self.lines;
        match self.alike.map(is_table) {
            [true, _] => Some(Problem::with("looks like CSV", Remedy::FormatCsv)),
            [false, true] => Some(Problem::with("looks like TSV", Remedy::FormatTsv)),
            [false, false] => None,
        }
    }
}

impl RecordFormat for Csv {
    fn split(&self, bytes: &[u8], ended: bool, cap: usize, spans: &mut Vec<Span>) -> Consumed {
        let mut consumed = Consumed::default();
        let mut rescan = MIN_RESCAN.max(cap.saturating_mul(4));
        while consumed.bytes < bytes.len() && spans.len() < MAX_RECORDS {
            let rest = &bytes[consumed.bytes..];
            match scan(rest, self.delimiter, ended) {
                Scan::Whole(record) if record.len <= cap => {
                    self.push(rest, consumed, &record, spans);
                    consumed.bytes += record.next;
                    consumed.lines += record.lines;
                }
                // One byte more, because a final `\r` may be a line end of its own or the first half of `\r\n`.
                Scan::More if rest.len() <= cap + 1 => return consumed,
                _ if rescan < rest.len() => return give_up(bytes, ended, consumed, spans),
                _ => {
                    let Some(line) = next_line(rest, ended) else { return consumed };
                    let fault = if line.len > cap { Fault::TooLong } else { Fault::UnclosedQuote };
                    spans.push(span(consumed, line.len, Some(fault)));
                    rescan -= rest.len();
                    consumed.bytes += line.next;
                    consumed.lines += 1;
                }
            }
        }
        consumed
    }

    fn parse(&self, record: &str) -> Result<ParsedRecord, Reason> {
        let mut parsed = ParsedRecord::text("");
        let mut text = None;
        let mut sketches: [Option<String>; 4] = [const { None }; 4];
        for (column, value) in values(record, self.delimiter).enumerate() {
            let column = Some(column);
            if value.is_empty() {
                continue;
            }
            if column == self.text {
                text = Some(value);
                continue;
            }
            if column == self.id {
                parsed.id = Some(DocId::Text(value.into_owned()));
            } else if column == self.title {
                parsed.title = Some(value.into_owned());
            } else if column == self.source {
                parsed.source = Some(value.into_owned());
            } else if column == self.date {
                parsed.published_at = Some(value.into_owned());
            } else if let Some(at) = self.sketches.iter().position(|sketch| *sketch == column) {
                sketches[at] = Some(value.into_owned());
            }
        }
        let given = match &text {
            None => sketches_of(&sketches, parsed.title.is_some())?,
            Some(_) => None,
        };
        let text = || text.map(Cow::into_owned).or_else(|| parsed.title.clone()).unwrap_or_default();
        let content = given.unwrap_or_else(|| sameish::Content::Text(text()));
        Ok(ParsedRecord { content, ..parsed })
    }
}

impl Csv {
    fn push(&self, rest: &[u8], consumed: Consumed, record: &ScannedRecord, spans: &mut Vec<Span>) {
        if rest[..record.len].trim_ascii().is_empty() && record.values == 1 {
            return;
        }
        let (found, expected) = (record.values, self.columns);
        let fault = (found != expected).then_some(Fault::Ragged { found, expected });
        spans.push(span(consumed, record.len, fault));
    }
}

fn span(consumed: Consumed, len: usize, fault: Option<Fault>) -> Span {
    Span { start: consumed.bytes, end: consumed.bytes + len, line: consumed.lines, fault }
}

/// Rejects everything up to the last line end as one record, so that adversarial quotes cannot cause quadratic time.
fn give_up(bytes: &[u8], ended: bool, mut consumed: Consumed, spans: &mut Vec<Span>) -> Consumed {
    let rest = &bytes[consumed.bytes..];
    let Some(len) = memrchr(b'\n', rest).map(|at| at + 1).or(ended.then_some(rest.len())) else {
        return consumed;
    };
    spans.push(span(consumed, len, Some(Fault::UnclosedQuote)));
    consumed.lines += memchr_iter(b'\n', &rest[..len]).count() as u64;
    consumed.bytes += len;
    consumed
}

/// Returns the first record that is not blank: the header.
pub(crate) fn first_record(bytes: &[u8], delimiter: u8, ended: bool) -> Option<First> {
    let mut consumed = Consumed::default();
    loop {
        let Scan::Whole(record) = scan(&bytes[consumed.bytes..], delimiter, ended) else { return None };
        let (start, end) = (consumed.bytes, consumed.bytes + record.len);
        consumed = Consumed { bytes: consumed.bytes + record.next, lines: consumed.lines + record.lines };
        if !bytes[start..end].trim_ascii().is_empty() {
            return Some(First { record: start..end, consumed });
        }
    }
}

/// The first record of a table, without its line end, and the part of the buffer up to the next record.
pub(crate) struct First {
    pub(crate) record: std::ops::Range<usize>,
    pub(crate) consumed: Consumed,
}

enum Scan {
    Whole(ScannedRecord),
    /// The end of the record is not in the buffer.
    More,
    /// A quote is never closed.
    Unclosed,
}

struct ScannedRecord {
    /// Length without the line end.
    len: usize,
    /// Length with the line end.
    next: usize,
    values: usize,
    lines: u64,
}

/// Finds the end of the first record.
fn scan(bytes: &[u8], delimiter: u8, ended: bool) -> Scan {
    if bytes.is_empty() {
        return Scan::More;
    }
    let (mut at, mut values, mut lines) = (0, 1, 1);
    loop {
        if bytes.get(at) == Some(&b'"') {
            let Some(close) = closing_quote(bytes, at + 1, ended) else {
                return if ended { Scan::Unclosed } else { Scan::More };
            };
            let breaks = line_breaks(&bytes[at..close]);
            // A quote on a later line that does not end a value opens one, so the first quote was never closed.
            if breaks > 0 && bytes.get(close + 1).is_some_and(|&b| b != delimiter && b != b'\n' && b != b'\r')
            {
                return Scan::Unclosed;
            }
            lines += breaks;
            at = close + 1;
        }
        match memchr3(delimiter, b'\n', b'\r', &bytes[at..]) {
            Some(found) if bytes[at + found] == delimiter => {
                values += 1;
                at += found + 1;
            }
            _ => {
                let Some(line) = next_line(&bytes[at..], ended) else {
                    let done = ended && at == bytes.len();
                    return if done {
                        Scan::Whole(ScannedRecord { len: at, next: at, values, lines })
                    } else {
                        Scan::More
                    };
                };
                return Scan::Whole(ScannedRecord {
                    len: at + line.len,
                    next: at + line.next,
                    values,
                    lines,
                });
            }
        }
    }
}

/// Returns the position of the quote that ends the value starting at `from`. Two quotes in a row are an escaped quote.
fn closing_quote(bytes: &[u8], mut from: usize, ended: bool) -> Option<usize> {
    loop {
        let quote = from + memchr(b'"', &bytes[from..])?;
        match bytes.get(quote + 1) {
            Some(b'"') => from = quote + 2,
            None if !ended => return None,
            _ => return Some(quote),
        }
    }
}

fn line_breaks(bytes: &[u8]) -> u64 {
    let (mut at, mut count) = (0, 0);
    while memchr2(b'\n', b'\r', &bytes[at..]).is_some()
        && let Some(line) = next_line(&bytes[at..], true)
    {
        at += line.next;
        count += 1;
    }
    count
}

/// Iterates over the values of a record, without their quotes.
fn values(record: &str, delimiter: u8) -> impl Iterator<Item = Cow<'_, str>> {
    let mut rest = Some(record);
    std::iter::from_fn(move || {
        let (value, after) = first_value(rest?, char::from(delimiter));
        rest = after;
        Some(value)
    })
}

fn first_value(record: &str, delimiter: char) -> (Cow<'_, str>, Option<&str>) {
    let Some(quoted) = record.strip_prefix('"') else {
        let (value, after) = split_at(record, delimiter);
        return (Cow::Borrowed(value), after);
    };
    let close = closing_quote(quoted.as_bytes(), 0, true).unwrap_or(quoted.len());
    let inside = &quoted[..close];
    let (tail, after) = split_at(quoted.get(close + 1..).unwrap_or(""), delimiter);
    match tail.is_empty() && !inside.contains('"') {
        true => (Cow::Borrowed(inside), after),
        false => (Cow::Owned(inside.replace("\"\"", "\"") + tail), after),
    }
}

fn split_at(text: &str, delimiter: char) -> (&str, Option<&str>) {
    match text.split_once(delimiter) {
        Some((value, after)) => (value, Some(after)),
        None => (text, None),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn csv(columns: usize) -> Csv {
        Csv {
            delimiter: b',',
            columns,
            id: None,
            text: Some(0),
            title: None,
            source: None,
            date: None,
            sketches: [None; 4],
        }
    }

    fn records(text: &str, columns: usize) -> Vec<(&str, u64, Option<Fault>)> {
        let mut spans = Vec::new();
        csv(columns).split(text.as_bytes(), true, 1 << 20, &mut spans);
        spans.iter().map(|span| (&text[span.start..span.end], span.line, span.fault)).collect()
    }

    #[test]
    fn quoted_values_contain_commas_line_ends_and_quotes() {
        let text = "1,\"a,\"\"b\"\"\nc\"\r\n\n2,d\r3,\"\"";
        assert_eq!(
            records(text, 2),
            [("1,\"a,\"\"b\"\"\nc\"", 0, None), ("2,d", 3, None), ("3,\"\"", 4, None)]
        );
        let row: Vec<_> = values("1,\"a,\"\"b\"\"\nc\",", b',').collect();
        assert_eq!(row, ["1", "a,\"b\"\nc", ""]);
    }

    #[test]
    fn unclosed_quote_rejects_one_line() {
        let unclosed = Some(Fault::UnclosedQuote);
        assert_eq!(
            records("1,\"a\n2,b\n3,c\n", 2),
            [("1,\"a", 0, unclosed), ("2,b", 1, None), ("3,c", 2, None)]
        );
        assert_eq!(
            records("1,\"a\n2,\"b\"\n3,c", 2),
            [("1,\"a", 0, unclosed), ("2,\"b\"", 1, None), ("3,c", 2, None)]
        );
    }

    #[test]
    fn rows_of_another_width_are_rejected() {
        assert_eq!(records("1,2,3\n1\n", 2)[0].2, Some(Fault::Ragged { found: 3, expected: 2 }));
        assert_eq!(records("1,2,3\n1\n", 2)[1].2, Some(Fault::Ragged { found: 1, expected: 2 }));
    }

    #[test]
    fn adversarial_quotes_take_linear_time() {
        let text = "a\",\"b\n".repeat(200_000);
        let (mut at, mut lines) = (0, 0);
        while at < text.len() {
            let consumed = csv(2).split(&text.as_bytes()[at..], true, 1 << 20, &mut Vec::new());
            at += consumed.bytes;
            lines += consumed.lines;
        }
        assert_eq!(lines, 200_000);
    }

    #[test]
    fn header_must_contain_the_text_column_once() {
        let header = |text: &str| Csv::with_header(text, b',', &"in".into(), &ReadOptions::default());
        assert_eq!(header("host, text,id").unwrap().text, Some(1));
        let missing = header("a;text").unwrap_err();
        let columns = "no column `text`, `body`, `content`, `article`, `title`; the columns are `a;text`";
        assert_eq!(missing.reason, columns);
        assert_eq!(missing.remedy, Some(Remedy::Delimiter));
        let twice = header("text,id,id").unwrap_err();
        assert!(twice.reason.starts_with("column `id` occurs twice in `text`, `id`, `id`"), "{twice}");
        assert!(header("text,,").is_ok());
    }

    #[test]
    fn uses_the_title_if_the_text_is_empty() {
        let csv = Csv::with_header("id,title,text", b',', &"in".into(), &ReadOptions::default()).unwrap();
        assert_eq!(csv.parse("1,t,").unwrap().content, sameish::Content::Text("t".into()));
        assert_eq!(csv.parse(",t,x").unwrap().id, None);
        assert_eq!(csv.parse(",,").unwrap().content, sameish::Content::Text(String::new()));
    }

    proptest! {
        /// Reads back what the csv crate writes, and splits it the same way whatever the read sizes.
        #[test]
        fn reads_what_the_csv_crate_writes(
            rows in prop::collection::vec(prop::collection::vec("[a\",\n\r é]{0,6}", 3), 1..8),
            split in 0usize..200,
        ) {
            let mut writer = csv::WriterBuilder::new().quote_style(csv::QuoteStyle::Always).from_writer(Vec::new());
            for row in &rows {
                writer.write_record(row).unwrap();
            }
            let bytes = writer.into_inner().unwrap();
            let mut spans = Vec::new();
            let format = self::csv(3);
            let split = split.min(bytes.len());
            let first = format.split(&bytes[..split], false, 1 << 20, &mut spans);
            let mut later = Vec::new();
            format.split(&bytes[first.bytes..], true, 1 << 20, &mut later);
            spans.extend(later.iter().map(|span| Span {
                start: span.start + first.bytes,
                end: span.end + first.bytes,
                line: span.line + first.lines,
                fault: span.fault,
            }));
            let read: Vec<Vec<String>> = spans
                .iter()
                .map(|span| values(std::str::from_utf8(&bytes[span.start..span.end]).unwrap(), b',').map(Cow::into_owned).collect())
                .collect();
            prop_assert_eq!(read, rows);
            let mut whole = Vec::new();
            format.split(&bytes, true, 1 << 20, &mut whole);
            prop_assert_eq!(whole, spans);
        }

        /// Splits any single line, well or badly quoted, like the csv crate.
        #[test]
        fn splits_a_line_as_the_csv_crate_does(line in "[ab\",;]{1,12}") {
            let mut reader = csv::ReaderBuilder::new().has_headers(false).flexible(true).from_reader(line.as_bytes());
            let expected: Vec<String> =
                reader.records().next().unwrap().unwrap().iter().map(str::to_owned).collect();
            prop_assert_eq!(values(&line, b',').map(Cow::into_owned).collect::<Vec<_>>(), expected);
        }
    }
}
