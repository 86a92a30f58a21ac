//! Splitting at line ends: `\n`, `\r\n` and `\r`.

use super::format::{Consumed, Fault, MAX_RECORDS, Span};
use memchr::memchr2;

/// Adds a span for each line that is not blank.
pub(crate) fn split(bytes: &[u8], ended: bool, cap: usize, spans: &mut Vec<Span>) -> Consumed {
    let mut consumed = Consumed::default();
    while spans.len() < MAX_RECORDS
        && let Some(line) = next_line(&bytes[consumed.bytes..], ended)
    {
        let (start, end) = (consumed.bytes, consumed.bytes + line.len);
        if !bytes[start..end].trim_ascii().is_empty() {
            let fault = (line.len > cap).then_some(Fault::TooLong);
            spans.push(Span { start, end, line: consumed.lines, fault });
        }
        consumed.bytes += line.next;
        consumed.lines += 1;
    }
    consumed
}

/// Length of a line without its end, and the offset of the next line.
pub(crate) struct Line {
    pub(crate) len: usize,
    pub(crate) next: usize,
}

/// Returns the first line, if its end is known.
pub(crate) fn next_line(bytes: &[u8], ended: bool) -> Option<Line> {
    let Some(len) = memchr2(b'\n', b'\r', bytes) else {
        return (ended && !bytes.is_empty()).then_some(Line { len: bytes.len(), next: bytes.len() });
    };
    match (bytes[len], bytes.get(len + 1)) {
        (b'\r', Some(b'\n')) => Some(Line { len, next: len + 2 }),
        // A `\n` may follow that has not been read yet.
        (b'\r', None) if !ended => None,
        _ => Some(Line { len, next: len + 1 }),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn lines(text: &str, ended: bool) -> (Vec<&str>, usize) {
        let mut spans = Vec::new();
        let consumed = split(text.as_bytes(), ended, 100, &mut spans);
        (spans.iter().map(|span| &text[span.start..span.end]).collect(), consumed.bytes)
    }

    #[test]
    fn splits_at_every_line_end_and_skips_blank_lines() {
        assert_eq!(lines("a\nb\r\n\r\n  \nc\rd", true), (vec!["a", "b", "c", "d"], 13));
    }

    #[test]
    fn keeps_an_unfinished_line() {
        assert_eq!(lines("a\nb", false), (vec!["a"], 2));
        assert_eq!(lines("a\r", false), (vec![], 0));
        assert_eq!(lines("a\r", true), (vec!["a"], 2));
    }

    #[test]
    fn line_numbers_count_blank_lines() {
        let mut spans = Vec::new();
        split(b"\n\r\na\r\nb\n", true, 100, &mut spans);
        assert_eq!(spans.iter().map(|span| span.line).collect::<Vec<_>>(), [2, 3]);
    }

    #[test]
    fn accepts_a_line_of_exactly_the_limit() {
        let mut spans = Vec::new();
        split(b"1234\n12345\n", true, 4, &mut spans);
        assert_eq!(spans.iter().map(|span| span.fault).collect::<Vec<_>>(), [None, Some(Fault::TooLong)]);
    }
}
