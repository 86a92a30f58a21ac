//! Where a request body ends.
//!
//! A [`Framing`] follows the body of a request byte by byte to the position where the next head starts. It accepts a subset of
//! what hyper accepts and reads it in the same way: a byte that the grammar below does not permit ends the connection for hyper,
//! so no byte stream has two interpretations. `differential.rs` compares both on random streams.
//!
//! ```text
//! chunked-body = *( size line-end data CR LF ) 1*"0" line-end *( trailer CR LF ) CR LF
//! line-end     = *( SP / HT ) [ ";" *( any byte but CR and LF ) ] CR LF
//! ```

use axum::http::{HeaderName, HeaderValue};
use httparse::{EMPTY_HEADER, Status};

/// Maximum number of bytes of chunk extensions in a body. hyper permits 16 KiB.
const MAX_EXTENSION_BYTES: usize = 8 << 10;
/// Maximum size of the trailers of a body in bytes. hyper permits 16 KiB.
const MAX_TRAILER_BYTES: usize = 4 << 10;
/// Maximum number of trailers of a body. hyper permits as many as headers, of which the settings permit at least 10.
const MAX_TRAILERS: usize = 8;

/// Follows the bodies of a connection to their ends.
#[derive(Debug, Default)]
pub(super) struct Framing {
    part: Part,
    extension_bytes: usize,
    trailers: Vec<u8>,
}

/// The part of a request that comes next.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) enum Part {
    #[default]
    Head,
    /// A body of known length: the number of remaining bytes, at least 1.
    Body(u64),
    /// The first digit of the size of a chunk.
    Chunked,
    /// More digits of a size, or its end. The value of the digits so far.
    Size(u64),
    /// Blanks after a size.
    Blank(u64),
    /// An extension of a chunk of this size.
    Extension(u64),
    /// The line feed after a size.
    SizeEnd(u64),
    /// The bytes of a chunk: the number of remaining bytes, at least 1.
    Chunk(u64),
    ChunkCr,
    ChunkLf,
    /// The first byte of a trailer, or the end of the body.
    TrailerStart,
    Trailer,
    TrailerLf,
    EndLf,
    /// Nothing: a head or a body is malformed.
    Closed,
}

impl Part {
    /// Returns the part after a head whose body has a known length.
    pub(super) fn of_length(length: u64) -> Part {
        if length == 0 { Part::Head } else { Part::Body(length) }
    }
}

impl Framing {
    pub(super) fn part(&self) -> Part {
        self.part
    }

    /// Starts the part after a head.
    pub(super) fn start(&mut self, part: Part) {
        *self = Framing { part, ..Framing::default() };
    }

    /// Passes nothing more on.
    pub(super) fn close(&mut self) {
        self.start(Part::Closed);
    }

    /// Follows a body. Returns the number of bytes that belong to it, without the byte that is malformed, if any.
    pub(super) fn follow(&mut self, bytes: &[u8]) -> usize {
        let mut at = 0;
        while at < bytes.len() {
            let remaining = match self.part {
                Part::Head | Part::Closed => break,
                Part::Body(remaining) | Part::Chunk(remaining) => remaining,
                _ => {
                    self.part = self.after(bytes[at]);
                    at += usize::from(self.part != Part::Closed);
                    continue;
                }
            };
            let skipped = remaining.min((bytes.len() - at) as u64);
            at += skipped as usize;
            self.part = match (self.part, remaining - skipped) {
                (Part::Body(_), 0) => Part::Head,
                (Part::Body(_), remaining) => Part::Body(remaining),
                (_, 0) => Part::ChunkCr,
                (_, remaining) => Part::Chunk(remaining),
            };
        }
        at
    }

    /// Returns the part after a byte of chunked framing.
    fn after(&mut self, byte: u8) -> Part {
        match (self.part, byte) {
            (Part::Chunked, _) => add_digit(0, byte),
            (Part::Size(size), b'0'..=b'9' | b'a'..=b'f' | b'A'..=b'F') => add_digit(size, byte),
            (Part::Size(size) | Part::Blank(size), b' ' | b'\t') => Part::Blank(size),
            (Part::Size(size) | Part::Blank(size), b';') => Part::Extension(size),
            (Part::Size(size) | Part::Blank(size) | Part::Extension(size), b'\r') => Part::SizeEnd(size),
            (Part::Extension(size), byte) if byte != b'\n' => self.after_extension_byte(size),
            (Part::SizeEnd(0), b'\n') => Part::TrailerStart,
            (Part::SizeEnd(size), b'\n') => Part::Chunk(size),
            (Part::ChunkCr, b'\r') => Part::ChunkLf,
            (Part::ChunkLf, b'\n') => Part::Chunked,
            (Part::TrailerStart, b'\r') => self.after_trailer_byte(byte, Part::EndLf),
            (Part::TrailerStart | Part::Trailer, byte) if !matches!(byte, b'\r' | b'\n') => {
                self.after_trailer_byte(byte, Part::Trailer)
            }
            (Part::Trailer, b'\r') => self.after_trailer_byte(byte, Part::TrailerLf),
            (Part::TrailerLf, b'\n') => self.after_trailer_byte(byte, Part::TrailerStart),
            (Part::EndLf, b'\n') => self.after_body(),
            _ => Part::Closed,
        }
    }

    fn after_extension_byte(&mut self, size: u64) -> Part {
        self.extension_bytes += 1;
        if self.extension_bytes > MAX_EXTENSION_BYTES { Part::Closed } else { Part::Extension(size) }
    }

    fn after_trailer_byte(&mut self, byte: u8, next: Part) -> Part {
        self.trailers.push(byte);
        if self.trailers.len() > MAX_TRAILER_BYTES { Part::Closed } else { next }
    }

    fn after_body(&mut self) -> Part {
        let mut trailers = std::mem::take(&mut self.trailers);
        trailers.push(b'\n');
        if are_valid_trailers(&trailers) { Part::Head } else { Part::Closed }
    }
}

/// Returns the part after a digit of a size. Sizes that 64 bits cannot hold are malformed; leading zeros are not.
fn add_digit(size: u64, byte: u8) -> Part {
    let digit = char::from(byte).to_digit(16);
    let size = size.checked_mul(16).zip(digit).map(|(size, digit)| size + u64::from(digit));
    size.map_or(Part::Closed, Part::Size)
}

fn are_valid_trailers(bytes: &[u8]) -> bool {
    let mut headers = [EMPTY_HEADER; MAX_TRAILERS];
    match httparse::parse_headers(bytes, &mut headers) {
        Ok(Status::Complete((_, headers))) => headers.iter().all(|header| {
            HeaderName::from_bytes(header.name.as_bytes()).is_ok()
                && HeaderValue::from_bytes(header.value).is_ok()
        }),
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Returns how many bytes of a chunked body are followed, and the part after them.
    fn follow(bytes: &str) -> (usize, Part) {
        let mut framing = Framing::default();
        framing.start(Part::Chunked);
        (framing.follow(bytes.as_bytes()), framing.part())
    }

    #[test]
    fn leading_zeros_do_not_change_the_size_of_a_chunk() {
        let body = format!("{}5\r\nGET /\r\n0\r\n\r\n", "0".repeat(80));
        assert_eq!(follow(&body), (body.len(), Part::Head));
    }

    #[test]
    fn closes_the_stream_before_a_malformed_byte() {
        for (good, bad) in [
            ("", "x"),
            ("", "\r"),
            ("3", "\n"),
            ("3\r", "x"),
            ("3 \t", "0"),
            ("3;a=b", "\n"),
            ("3\r\nabc", "\n"),
            ("3\r\nabc\r", "x"),
            ("ffffffffffffffff", "0"),
            ("0\r\na: b", "\n"),
            ("0\r\na: b\r", "x"),
            ("0\r\n\r", "x"),
            ("0\r\na b\r\n\r", "\n"),
        ] {
            assert_eq!(
                follow(&format!("{good}{bad}GET / HTTP/1.1")),
                (good.len(), Part::Closed),
                "{good}{bad}"
            );
        }
    }

    #[test]
    fn accepts_extensions_and_trailers_up_to_a_limit() {
        let body = |extension: usize, trailers: usize| {
            format!("1;{}\r\nx\r\n0\r\n{}\r\n", "e".repeat(extension), "a: b\r\n".repeat(trailers))
        };
        assert_eq!(follow(&body(MAX_EXTENSION_BYTES, MAX_TRAILERS)).1, Part::Head);
        assert_eq!(follow(&body(MAX_EXTENSION_BYTES + 1, 0)).1, Part::Closed);
        assert_eq!(follow(&body(0, MAX_TRAILERS + 1)).1, Part::Closed);
        assert_eq!(follow(&format!("0\r\na: {}\r\n\r\n", "b".repeat(MAX_TRAILER_BYTES))).1, Part::Closed);
    }
}
