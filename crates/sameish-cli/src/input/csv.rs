//! Values separated by commas or tabs, with a line of column names.
//!
//! A record ends at a line end outside quotes, so records can not be found by line ends alone and the finding is
//! ours; the `csv` crate is the oracle of its tests. A quote that nothing closes would swallow all that follows:
//! such a record is rejected up to its first line end, and cutting goes on there.

use super::format::{Cut, Fault, Fields, Format, Item, MAX_RECORDS, Span};
use super::lines::next_line;
use super::reject::Reason;
use crate::output::escape::escaped;
use memchr::{memchr, memchr_iter, memchr2, memchr3, memrchr};
use sameish::DocId;
use std::borrow::Cow;

/// Most columns a header may name.
const MAX_COLUMNS: usize = 65_536;
/// Bytes that may be looked at again, after a quote was found to be unclosed, in one piece of the input.
const MIN_PATIENCE: usize = 64 << 20;

/// CSV or TSV under a known header.
#[derive(Debug)]
pub(crate) struct Csv {
    delimiter: u8,
    columns: usize,
    id: Option<usize>,
    text: Option<usize>,
    title: Option<usize>,
    source: Option<usize>,
    date: Option<usize>,
}

impl Csv {
    /// Looks up the wanted columns. The error is reason and remedy.
    pub(crate) fn with_header(header: &str, delimiter: u8, fields: &Fields) -> Result<Csv, String> {
        let names: Vec<String> =
            values(header, delimiter).take(MAX_COLUMNS + 1).map(|name| name.trim().to_owned()).collect();
        if names.len() > MAX_COLUMNS {
            return Err(format!(
                "the header names more than {MAX_COLUMNS} columns; is this a table of texts?"
            ));
        }
        if let Some(name) = first_repeated(&names) {
            return Err(format!(
                "column `{}` occurs twice among {}; rename one",
                escaped(name),
                listed(&names)
            ));
        }
        let column = |name: &String| names.iter().position(|column| column == name);
        let csv = Csv {
            delimiter,
            columns: names.len(),
            id: column(&fields.id),
            text: column(&fields.text),
            title: column(&fields.title),
            source: fields.source.iter().find_map(column),
            date: column(&fields.date),
        };
        match csv.text.or(csv.title) {
            Some(_) => Ok(csv),
            None => Err(format!(
                "no column `{}` or `{}` among {}; name one with `--text-field`, or the separator with `--format`",
                escaped(&fields.text),
                escaped(&fields.title),
                listed(&names)
            )),
        }
    }
}

fn first_repeated(names: &[String]) -> Option<&str> {
    let mut sorted: Vec<&str> = names.iter().map(String::as_str).filter(|name| !name.is_empty()).collect();
    sorted.sort_unstable();
    sorted.windows(2).find(|pair| pair[0] == pair[1]).map(|pair| pair[0])
}

/// The columns seen, for a message.
fn listed(names: &[String]) -> String {
    let short = |name: &String| format!("`{}`", escaped(name).chars().take(40).collect::<String>());
    let shown: Vec<String> = names.iter().take(12).map(short).collect();
    match names.len().saturating_sub(12) {
        0 => shown.join(", "),
        more => format!("{} and {more} more", shown.join(", ")),
    }
}

impl Format for Csv {
    fn cut(&self, bytes: &[u8], ended: bool, cap: usize, spans: &mut Vec<Span>) -> Cut {
        let mut cut = Cut::default();
        let mut patience = MIN_PATIENCE.max(cap.saturating_mul(4));
        while cut.bytes < bytes.len() && spans.len() < MAX_RECORDS {
            let rest = &bytes[cut.bytes..];
            match scan(rest, self.delimiter, ended) {
                Scan::Whole(record) if record.len <= cap => {
                    self.push(rest, cut, &record, spans);
                    cut.bytes += record.next;
                    cut.lines += record.lines;
                }
                // One byte more, because a `\r` in the last place may or may not be a line end of its own.
                Scan::More if rest.len() <= cap + 1 => return cut,
                _ if patience < rest.len() => return give_up(bytes, ended, cut, spans),
                _ => {
                    let Some(line) = next_line(rest, ended) else { return cut };
                    let fault = if line.len > cap { Fault::TooLong } else { Fault::UnclosedQuote };
                    spans.push(span(cut, line.len, Some(fault)));
                    patience -= rest.len();
                    cut.bytes += line.next;
                    cut.lines += 1;
                }
            }
        }
        cut
    }

    fn read(&self, record: &str) -> Result<Item, Reason> {
        let mut item = Item::text("");
        let mut text = None;
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
                item.id = Some(DocId::Text(value.into_owned()));
            } else if column == self.title {
                item.title = Some(value.into_owned());
            } else if column == self.source {
                item.source = Some(value.into_owned());
            } else if column == self.date {
                item.published_at = Some(value.into_owned());
            }
        }
        let text = text.map(Cow::into_owned).or_else(|| item.title.clone()).unwrap_or_default();
        Ok(Item { content: sameish::Content::Text(text), ..item })
    }
}

impl Csv {
    fn push(&self, rest: &[u8], cut: Cut, record: &Record, spans: &mut Vec<Span>) {
        if rest[..record.len].trim_ascii().is_empty() && record.values == 1 {
            return;
        }
        let (found, expected) = (record.values, self.columns);
        let fault = (found != expected).then_some(Fault::Ragged { found, expected });
        spans.push(span(cut, record.len, fault));
    }
}

fn span(cut: Cut, len: usize, fault: Option<Fault>) -> Span {
    Span { start: cut.bytes, end: cut.bytes + len, line: cut.lines, fault }
}

/// Rejects all up to the last line end as one record: someone piles up quotes to make us look again and again.
fn give_up(bytes: &[u8], ended: bool, mut cut: Cut, spans: &mut Vec<Span>) -> Cut {
    let rest = &bytes[cut.bytes..];
    let Some(len) = memrchr(b'\n', rest).map(|at| at + 1).or(ended.then_some(rest.len())) else { return cut };
    spans.push(span(cut, len, Some(Fault::UnclosedQuote)));
    cut.lines += memchr_iter(b'\n', &rest[..len]).count() as u64;
    cut.bytes += len;
    cut
}

/// The first record that is not blank, without its line end, and where the next starts. For the header.
pub(crate) fn first_record(bytes: &[u8], delimiter: u8, ended: bool) -> Option<First> {
    let mut cut = Cut::default();
    loop {
        let Scan::Whole(record) = scan(&bytes[cut.bytes..], delimiter, ended) else { return None };
        let (start, end) = (cut.bytes, cut.bytes + record.len);
        cut = Cut { bytes: cut.bytes + record.next, lines: cut.lines + record.lines };
        if !bytes[start..end].trim_ascii().is_empty() {
            return Some(First { record: start..end, cut });
        }
    }
}

/// See [`first_record`].
pub(crate) struct First {
    pub(crate) record: std::ops::Range<usize>,
    pub(crate) cut: Cut,
}

enum Scan {
    Whole(Record),
    /// The end is not in sight yet.
    More,
    Unclosed,
}

struct Record {
    /// Bytes without the line end.
    len: usize,
    /// Bytes with it.
    next: usize,
    values: usize,
    lines: u64,
}

/// Finds the end of the record at the front.
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
            // A quote in a later line that does not end its value opens one: the first was never closed.
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
                        Scan::Whole(Record { len: at, next: at, values, lines })
                    } else {
                        Scan::More
                    };
                };
                return Scan::Whole(Record { len: at + line.len, next: at + line.next, values, lines });
            }
        }
    }
}

/// The quote that ends the value which starts at `from`. Two quotes in a row stand for one.
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

/// The values of one record, without their quotes.
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

    fn fields() -> Fields {
        Fields {
            id: "id".into(),
            text: "text".into(),
            title: "title".into(),
            source: vec!["source".into(), "host".into()],
            date: "published_at".into(),
        }
    }

    fn csv(columns: usize) -> Csv {
        Csv { delimiter: b',', columns, id: None, text: Some(0), title: None, source: None, date: None }
    }

    fn records(text: &str, columns: usize) -> Vec<(&str, u64, Option<Fault>)> {
        let mut spans = Vec::new();
        csv(columns).cut(text.as_bytes(), true, 1 << 20, &mut spans);
        spans.iter().map(|span| (&text[span.start..span.end], span.line, span.fault)).collect()
    }

    #[test]
    fn quotes_hold_commas_line_ends_and_quotes() {
        let text = "1,\"a,\"\"b\"\"\nc\"\r\n\n2,d\r3,\"\"";
        assert_eq!(
            records(text, 2),
            [("1,\"a,\"\"b\"\"\nc\"", 0, None), ("2,d", 3, None), ("3,\"\"", 4, None)]
        );
        let row: Vec<_> = values("1,\"a,\"\"b\"\"\nc\",", b',').collect();
        assert_eq!(row, ["1", "a,\"b\"\nc", ""]);
    }

    #[test]
    fn an_unclosed_quote_costs_one_line() {
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
    fn rows_of_another_width_are_faulty() {
        assert_eq!(records("1,2,3\n1\n", 2)[0].2, Some(Fault::Ragged { found: 3, expected: 2 }));
        assert_eq!(records("1,2,3\n1\n", 2)[1].2, Some(Fault::Ragged { found: 1, expected: 2 }));
    }

    #[test]
    fn piled_up_quotes_stay_cheap() {
        let text = "a\",\"b\n".repeat(200_000);
        let (mut at, mut lines) = (0, 0);
        while at < text.len() {
            let cut = csv(2).cut(&text.as_bytes()[at..], true, 1 << 20, &mut Vec::new());
            at += cut.bytes;
            lines += cut.lines;
        }
        assert_eq!(lines, 200_000);
    }

    #[test]
    fn headers_must_name_the_text_once() {
        let header = |text: &str| Csv::with_header(text, b',', &fields());
        assert_eq!(header("host, text,id").unwrap().text, Some(1));
        assert!(header("a;text").unwrap_err().starts_with("no column `text` or `title` among `a;text`;"));
        assert!(
            header("text,id,id")
                .unwrap_err()
                .starts_with("column `id` occurs twice among `text`, `id`, `id`;")
        );
        assert!(header("text,,").is_ok());
    }

    #[test]
    fn an_empty_text_gives_way_to_the_title() {
        let csv = Csv::with_header("id,title,text", b',', &fields()).unwrap();
        assert_eq!(csv.read("1,t,").unwrap().content, sameish::Content::Text("t".into()));
        assert_eq!(csv.read(",t,x").unwrap().id, None);
        assert_eq!(csv.read(",,").unwrap().content, sameish::Content::Text(String::new()));
    }

    proptest! {
        /// What any writer of CSV wrote is read back, and cut the same however it arrives.
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
            let first = format.cut(&bytes[..split], false, 1 << 20, &mut spans);
            let mut later = Vec::new();
            format.cut(&bytes[first.bytes..], true, 1 << 20, &mut later);
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
            format.cut(&bytes, true, 1 << 20, &mut whole);
            prop_assert_eq!(whole, spans);
        }

        /// On any single line, well or badly quoted, values are those of the csv crate.
        #[test]
        fn splits_a_line_as_the_csv_crate_does(line in "[ab\",;]{1,12}") {
            let mut reader = csv::ReaderBuilder::new().has_headers(false).flexible(true).from_reader(line.as_bytes());
            let expected: Vec<String> =
                reader.records().next().unwrap().unwrap().iter().map(str::to_owned).collect();
            prop_assert_eq!(values(&line, b',').map(Cow::into_owned).collect::<Vec<_>>(), expected);
        }
    }
}
