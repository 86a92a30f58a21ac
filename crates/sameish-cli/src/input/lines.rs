//! Cutting at line ends: `\n`, `\r\n` and, from old machines, `\r`.

use super::format::{Cut, Fault, MAX_RECORDS, Span};
use memchr::memchr2;

/// Gives a span for each line that holds more than white space.
pub(crate) fn cut(bytes: &[u8], ended: bool, cap: usize, spans: &mut Vec<Span>) -> Cut {
    let mut cut = Cut::default();
    while spans.len() < MAX_RECORDS
        && let Some(line) = next_line(&bytes[cut.bytes..], ended)
    {
        let (start, end) = (cut.bytes, cut.bytes + line.len);
        if !bytes[start..end].trim_ascii().is_empty() {
            let fault = (line.len > cap).then_some(Fault::TooLong);
            spans.push(Span { start, end, line: cut.lines, fault });
        }
        cut.bytes += line.next;
        cut.lines += 1;
    }
    cut
}

/// A line without its end, and where the next one starts.
pub(crate) struct Line {
    pub(crate) len: usize,
    pub(crate) next: usize,
}

/// The first line, if its end is known.
pub(crate) fn next_line(bytes: &[u8], ended: bool) -> Option<Line> {
    let Some(len) = memchr2(b'\n', b'\r', bytes) else {
        return (ended && !bytes.is_empty()).then_some(Line { len: bytes.len(), next: bytes.len() });
    };
    match (bytes[len], bytes.get(len + 1)) {
        (b'\r', Some(b'\n')) => Some(Line { len, next: len + 2 }),
        // Whether a `\n` follows is not known yet.
        (b'\r', None) if !ended => None,
        _ => Some(Line { len, next: len + 1 }),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn lines(text: &str, ended: bool) -> (Vec<&str>, usize) {
        let mut spans = Vec::new();
        let cut = cut(text.as_bytes(), ended, 100, &mut spans);
        (spans.iter().map(|span| &text[span.start..span.end]).collect(), cut.bytes)
    }

    #[test]
    fn every_line_end_counts_and_blank_lines_do_not() {
        assert_eq!(lines("a\nb\r\n\r\n  \nc\rd", true), (vec!["a", "b", "c", "d"], 13));
    }

    #[test]
    fn an_unfinished_line_waits() {
        assert_eq!(lines("a\nb", false), (vec!["a"], 2));
        assert_eq!(lines("a\r", false), (vec![], 0));
        assert_eq!(lines("a\r", true), (vec!["a"], 2));
    }

    #[test]
    fn line_numbers_count_blank_lines() {
        let mut spans = Vec::new();
        cut(b"\n\r\na\r\nb\n", true, 100, &mut spans);
        assert_eq!(spans.iter().map(|span| span.line).collect::<Vec<_>>(), [2, 3]);
    }

    #[test]
    fn a_line_of_exactly_the_cap_is_taken() {
        let mut spans = Vec::new();
        cut(b"1234\n12345\n", true, 4, &mut spans);
        assert_eq!(spans.iter().map(|span| span.fault).collect::<Vec<_>>(), [None, Some(Fault::TooLong)]);
    }
}
