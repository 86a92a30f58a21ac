//! What does the parser forgive that we do not?
//!
//! A request whose length is told in two ways, or whose lines end in a bare line feed, may mean one thing to a proxy and
//! another to us. The parser below takes such heads, so their bytes are looked at as they come in. Requests may follow each
//! other without a pause, so bodies are followed to their ends: behind each stands the next head.

use std::collections::VecDeque;

/// Longest beginning of a line that matters: names and numbers that we look for are shorter.
const SEEN: usize = 64;

/// Looks at the heads of one connection.
#[derive(Debug, Default)]
pub(crate) struct Sniff {
    part: Part,
    line: Line,
    head: Head,
    /// What is wrong with each head that has come and was not asked for.
    heads: VecDeque<Option<&'static str>>,
}

/// Where in a request we are.
#[derive(Clone, Copy, Debug, Default)]
enum Part {
    #[default]
    Head,
    /// So many bytes are left.
    Body(u64),
    ChunkSize,
    /// So many bytes are left, with the end of the line.
    Chunk(u64),
    Trailer,
    /// A body that nobody can follow: the parser ends the connection.
    Lost,
}

/// The line at hand.
#[derive(Debug, Default)]
struct Line {
    /// Its beginning, in lower case.
    seen: Vec<u8>,
    len: usize,
    last: Option<u8>,
}

/// What is known of the head at hand.
#[derive(Debug, Default)]
struct Head {
    begun: bool,
    lengths: u32,
    length: Option<u64>,
    chunked: bool,
    bare: bool,
}

impl Sniff {
    /// Takes in bytes.
    pub(crate) fn feed(&mut self, mut bytes: &[u8]) {
        while let [first, rest @ ..] = bytes {
            match self.part {
                Part::Lost => return,
                Part::Body(left) | Part::Chunk(left) => bytes = self.skip(left, bytes),
                Part::Head | Part::ChunkSize | Part::Trailer => {
                    bytes = rest;
                    if self.line.take(*first) {
                        self.end_line();
                    }
                }
            }
        }
    }

    /// What is wrong with the next head, if anything.
    pub(crate) fn next_flaw(&mut self) -> Option<&'static str> {
        self.heads.pop_front().unwrap_or(Some("it can not be told where the head begins"))
    }

    fn skip<'a>(&mut self, left: u64, bytes: &'a [u8]) -> &'a [u8] {
        let skipped = left.min(bytes.len() as u64);
        let left = left - skipped;
        self.part = match self.part {
            Part::Body(_) if left == 0 => Part::Head,
            Part::Body(_) => Part::Body(left),
            _ if left == 0 => Part::ChunkSize,
            _ => Part::Chunk(left),
        };
        &bytes[skipped as usize..]
    }

    fn end_line(&mut self) {
        let (line, empty) = (&self.line.seen, self.line.len == 0);
        match self.part {
            Part::Head => {
                self.head.read(line, self.line.last);
                if empty && self.head.begun {
                    let head = std::mem::take(&mut self.head);
                    self.heads.push_back(head.flaw());
                    self.part = head.body();
                }
                self.head.begun |= !empty;
            }
            Part::ChunkSize => {
                self.part = match chunk_size(line) {
                    Some(0) => Part::Trailer,
                    Some(size) => Part::Chunk(size.saturating_add(2)),
                    None => Part::Lost,
                };
            }
            _ if empty => self.part = Part::Head,
            _ => {}
        }
        self.line = Line { seen: std::mem::take(&mut self.line.seen), ..Line::default() };
        self.line.seen.clear();
    }
}

impl Line {
    /// Takes a byte in; whether the line ends with it.
    fn take(&mut self, byte: u8) -> bool {
        match byte {
            b'\n' => return true,
            b'\r' => {}
            _ => {
                self.len += 1;
                if self.seen.len() < SEEN {
                    self.seen.push(byte.to_ascii_lowercase());
                }
            }
        }
        self.last = Some(byte);
        false
    }
}

impl Head {
    fn read(&mut self, line: &[u8], last: Option<u8>) {
        self.bare |= last != Some(b'\r');
        self.chunked |= line.starts_with(b"transfer-encoding:");
        if let Some(length) = line.strip_prefix(b"content-length:") {
            self.lengths += 1;
            self.length = number(length, 10);
        }
    }

    fn flaw(&self) -> Option<&'static str> {
        if self.bare {
            Some("lines of the head must end in CR LF")
        } else if self.lengths > 1 {
            Some("`content-length` is given more than once")
        } else if self.lengths > 0 && self.chunked {
            Some("`content-length` and `transfer-encoding` are both given")
        } else if self.lengths > 0 && self.length.is_none() {
            Some("`content-length` must be a number")
        } else {
            None
        }
    }

    /// What follows.
    fn body(&self) -> Part {
        match self.length {
            _ if self.flaw().is_some() => Part::Lost,
            _ if self.chunked => Part::ChunkSize,
            None | Some(0) => Part::Head,
            Some(length) => Part::Body(length),
        }
    }
}

/// The size of a chunk, before what may be said of it.
fn chunk_size(line: &[u8]) -> Option<u64> {
    number(line.split(|byte| *byte == b';').next().unwrap_or_default(), 16)
}

fn number(text: &[u8], radix: u32) -> Option<u64> {
    let text = std::str::from_utf8(text.trim_ascii()).ok()?;
    let plain = text.bytes().all(|byte| byte.is_ascii_hexdigit());
    plain.then(|| u64::from_str_radix(text, radix).ok()).flatten()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What is wrong with each head of some bytes, in whatever pieces they come.
    fn flaws(bytes: &str) -> Vec<bool> {
        let of = |size: usize| {
            let mut sniff = Sniff::default();
            bytes.as_bytes().chunks(size).for_each(|piece| sniff.feed(piece));
            sniff.heads.iter().map(Option::is_some).collect::<Vec<bool>>()
        };
        assert_eq!(of(1), of(usize::MAX));
        assert_eq!(of(7), of(usize::MAX));
        of(1)
    }

    const POST: &str = "POST / HTTP/1.1\r\nHost: a\r\n";

    #[test]
    fn two_lengths_and_bare_line_feeds_are_flaws() {
        assert_eq!(flaws(&format!("{POST}Content-Length: 3\r\n\r\na\nb")), [false]);
        assert_eq!(flaws(&format!("\r\n{POST}Transfer-Encoding: chunked\r\n\r\n")), [false]);
        for head in [
            &format!("{POST}Content-Length: 3\r\ncontent-length: 3\r\n\r\n"),
            &format!("{POST}Content-Length: 3\r\nTransfer-Encoding: chunked\r\n\r\n"),
            &format!("{POST}Content-Length: 3x\r\n\r\n"),
            &format!("{POST}Content-Length: {}3\r\n\r\n", " ".repeat(100)),
            "GET / HTTP/1.1\nHost: a\n\n",
            "GET / HTTP/1.1\r\nHost: a\n\r\n",
        ] {
            assert_eq!(flaws(head), [true], "{head}");
        }
    }

    #[test]
    fn heads_behind_bodies_are_looked_at() {
        let bad = format!("{POST}Content-Length: 3\r\nContent-Length: 3\r\n\r\nabc");
        let get = "GET / HTTP/1.1\r\nHost: a\r\n\r\n";
        assert_eq!(flaws(&format!("{get}{get}{bad}")), [false, false, true]);
        let length = bad.len();
        assert_eq!(flaws(&format!("{POST}Content-Length: {length}\r\n\r\n{bad}{bad}")), [false, true]);
        let chunked = format!(
            "{POST}Transfer-Encoding: chunked\r\n\r\n3\r\na\n\n\r\n{length:X};x=y\r\n{bad}\r\n0\r\nTrailer: x\r\n\r\n"
        );
        assert_eq!(flaws(&format!("{chunked}{chunked}\r\n{get}{bad}")), [false, false, false, true]);
    }

    #[test]
    fn a_head_that_was_not_seen_is_a_flaw() {
        let mut sniff = Sniff::default();
        sniff.feed(format!("{POST}Transfer-Encoding: chunked\r\n\r\nno size\r\n{POST}\r\n").as_bytes());
        assert_eq!(sniff.next_flaw(), None);
        assert!(sniff.next_flaw().is_some());
    }
}
