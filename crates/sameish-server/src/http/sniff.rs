//! What does the parser forgive that we do not?
//!
//! A request whose length is told in two ways, or whose lines end in a bare line feed, may mean one thing to a proxy and
//! another to us. The parser below takes such heads, so their bytes are looked at as they come in.

/// Longest beginning of a line that matters: the names we look for are shorter.
const SEEN: usize = 20;

/// Looks at the bytes of one head.
#[derive(Debug, Default)]
pub(crate) struct Sniff {
    /// The beginning of the line at hand, in lower case.
    line: Vec<u8>,
    line_len: usize,
    last: Option<u8>,
    begun: bool,
    done: bool,
    lengths: u32,
    chunked: bool,
    bare: bool,
}

impl Sniff {
    /// Takes in bytes; those behind the head are not looked at.
    pub(crate) fn feed(&mut self, bytes: &[u8]) {
        for &byte in bytes {
            if self.done {
                return;
            }
            match byte {
                b'\n' => self.end_line(),
                b'\r' => {}
                _ => {
                    self.line_len += 1;
                    if self.line.len() < SEEN {
                        self.line.push(byte.to_ascii_lowercase());
                    }
                }
            }
            self.last = Some(byte);
        }
    }

    fn end_line(&mut self) {
        self.bare |= self.last.is_some_and(|last| last != b'\r');
        self.lengths += u32::from(self.line.starts_with(b"content-length:"));
        self.chunked |= self.line.starts_with(b"transfer-encoding:");
        self.done = self.begun && self.line_len == 0;
        self.begun |= self.line_len > 0;
        self.line.clear();
        self.line_len = 0;
    }

    /// What is wrong with the head, if anything.
    pub(crate) fn flaw(&self) -> Option<&'static str> {
        if self.bare {
            Some("lines of the head must end in CR LF")
        } else if self.lengths > 1 {
            Some("`content-length` is given more than once")
        } else if self.lengths > 0 && self.chunked {
            Some("`content-length` and `transfer-encoding` are both given")
        } else {
            None
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn flaw(head: &str) -> Option<&'static str> {
        let mut whole = Sniff::default();
        whole.feed(head.as_bytes());
        let mut pieces = Sniff::default();
        head.as_bytes().chunks(1).for_each(|piece| pieces.feed(piece));
        assert_eq!(whole.flaw(), pieces.flaw());
        whole.flaw()
    }

    #[test]
    fn two_lengths_and_bare_line_feeds_are_flaws() {
        let post = "POST / HTTP/1.1\r\nHost: a\r\n";
        assert_eq!(flaw(&format!("{post}Content-Length: 3\r\n\r\na\nb")), None);
        assert_eq!(flaw(&format!("\r\n{post}Transfer-Encoding: chunked\r\n\r\n")), None);
        assert!(flaw(&format!("{post}Content-Length: 3\r\ncontent-length: 3\r\n\r\n")).is_some());
        assert!(flaw(&format!("{post}Content-Length: 3\r\nTransfer-Encoding: chunked\r\n\r\n")).is_some());
        assert!(flaw("GET / HTTP/1.1\nHost: a\n\n").is_some());
        assert!(flaw("GET / HTTP/1.1\r\nHost: a\n\r\n").is_some());
    }
}
