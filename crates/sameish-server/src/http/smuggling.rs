//! Checks of request heads before they are parsed, against request smuggling.
//!
//! A request with two lengths, or with lines that end in a bare line feed, may mean one thing to a proxy and another to this
//! service. hyper accepts some of these heads, and answers heads that it does not accept with an empty response. Therefore a
//! [`HeadFilter`] holds each head back until it is complete, and passes it on only if hyper accepts it and it has one meaning. A
//! head that fails the check ends the stream for hyper; the connection then sends the problem as the last response.
//!
//! This is the only place that decides where a request starts and ends. Requests may follow each other without a pause, so
//! [`Framing`] follows each body to its end, where the next head starts.

use super::framing::{Framing, Part};
use crate::problem::{Kind, Problem};
use crate::settings::Limits;
use axum::http::{HeaderName, Method, Uri};
use httparse::{EMPTY_HEADER, Header, Status};
use tokio::io::ReadBuf;

/// Minimum size of hyper's buffer, in bytes.
const MIN_BUFFER: usize = 8 << 10;
/// Maximum length of a URI that [`Uri`] supports, in bytes.
const MAX_URI_BYTES: usize = u16::MAX as usize - 1;
/// Maximum content length that hyper supports, in bytes.
const MAX_CONTENT_LENGTH: u64 = u64::MAX - 2;

/// Limits on a head.
#[derive(Clone, Copy, Debug)]
pub(crate) struct HeadLimits {
    /// Maximum size of the request line and the headers in bytes. No more bytes of an incomplete head are buffered.
    pub(crate) bytes: usize,
    pub(crate) headers: usize,
}

impl HeadLimits {
    pub(crate) fn new(limits: &Limits) -> HeadLimits {
        HeadLimits { bytes: limits.header_bytes, headers: limits.headers }
    }

    /// Returns the size of a buffer for hyper that holds every head within the limits.
    pub(crate) fn buffer_bytes(self) -> usize {
        self.bytes.max(MIN_BUFFER)
    }
}

/// Passes the bytes of one connection on to hyper, except for heads that fail the check.
#[derive(Debug)]
pub(crate) struct HeadFilter {
    limits: HeadLimits,
    framing: Framing,
    /// Bytes that hyper has not received: first `checked` bytes that it may receive, then an incomplete head.
    held: Vec<u8>,
    checked: usize,
    /// Number of bytes of the incomplete head that contain no end of a head.
    searched: usize,
    rejection: Option<Problem>,
}

impl HeadFilter {
    pub(crate) fn new(limits: HeadLimits) -> HeadFilter {
        HeadFilter {
            limits,
            framing: Framing::default(),
            held: Vec::new(),
            checked: 0,
            searched: 0,
            rejection: None,
        }
    }

    /// Takes bytes of the connection. Returns how many of the first bytes may be passed on directly; the remaining bytes are kept.
    pub(crate) fn feed(&mut self, bytes: &[u8]) -> usize {
        let passed = if self.held.is_empty() { self.framing.follow(bytes) } else { 0 };
        let mut rest = &bytes[passed..];
        while !rest.is_empty() && !self.is_closed() {
            // An incomplete head that fills the limit is rejected, so there is always capacity for at least one byte.
            let capacity = self.limits.bytes - (self.held.len() - self.checked);
            let (next, later) = rest.split_at(capacity.min(rest.len()));
            self.hold(next);
            self.check_held();
            rest = later;
        }
        passed
    }

    /// Appends bytes without allocating more than a head may have.
    fn hold(&mut self, bytes: &[u8]) {
        let length = self.held.len() + bytes.len();
        if length > self.held.capacity() {
            let capacity = (2 * self.held.capacity()).clamp(length, self.limits.bytes.max(length));
            self.held.reserve_exact(capacity - self.held.len());
        }
        self.held.extend_from_slice(bytes);
    }

    /// Moves checked bytes to `buffer`. Returns `false` if there are none.
    pub(crate) fn release(&mut self, buffer: &mut ReadBuf<'_>) -> bool {
        let length = self.checked.min(buffer.remaining());
        buffer.put_slice(&self.held[..length]);
        self.held.drain(..length);
        self.checked -= length;
        if self.held.is_empty() {
            // An idle connection keeps no buffer.
            self.held = Vec::new();
        }
        length > 0
    }

    /// Returns `true` if nothing more is passed on, because a head or the framing of a body is malformed.
    pub(crate) fn is_closed(&self) -> bool {
        self.framing.part() == Part::Closed
    }

    /// Returns the problem of the head that failed the check, if any.
    pub(crate) fn into_rejection(self) -> Option<Problem> {
        self.rejection
    }

    fn check_held(&mut self) {
        while self.checked < self.held.len() && !self.is_closed() {
            let rest = &self.held[self.checked..];
            if self.framing.part() != Part::Head {
                self.checked += self.framing.follow(rest);
                continue;
            }
            // Parsing only the first bytes and the complete head keeps the cost linear.
            let is_incomplete = self.searched > 0
                && rest.len() < self.limits.bytes
                && !contains_head_end(rest, self.searched);
            let checked = if is_incomplete { Ok(None) } else { check_head(rest, self.limits) };
            match checked {
                Ok(Some(head)) => {
                    self.checked += head.length;
                    self.searched = 0;
                    self.framing.start(head.body);
                }
                Ok(None) => {
                    self.searched = rest.len();
                    return;
                }
                Err(problem) => {
                    self.rejection = Some(problem.closing());
                    self.framing.close();
                }
            }
        }
        if self.is_closed() {
            self.held.truncate(self.checked);
        }
    }
}

/// Returns whether the end of a head is in `bytes`, of which the first `searched` bytes do not contain it.
fn contains_head_end(bytes: &[u8], searched: usize) -> bool {
    let new = &bytes[searched.saturating_sub(3)..];
    new.windows(2).any(|pair| pair == b"\n\n") || new.windows(3).any(|triple| triple == b"\n\r\n")
}

/// A complete head.
#[derive(Debug)]
pub(super) struct Head {
    pub(super) length: usize,
    /// The part of the connection that follows.
    pub(super) body: Part,
}

/// Checks the head at the start of `bytes`. Returns `None` if it is incomplete.
pub(super) fn check_head(bytes: &[u8], limits: HeadLimits) -> Result<Option<Head>, Problem> {
    let mut headers = vec![EMPTY_HEADER; limits.headers];
    let mut request = httparse::Request::new(&mut headers);
    let length = match request.parse(bytes) {
        Ok(Status::Complete(length)) if length <= limits.bytes => length,
        Ok(Status::Partial) if bytes.len() < limits.bytes => return Ok(None),
        Ok(_) if request.version.is_none() => return Err(uri_too_long(limits.bytes)),
        Ok(_) | Err(httparse::Error::TooManyHeaders) => {
            let HeadLimits { bytes, headers } = limits;
            let detail = format!("the request line and headers exceed {bytes} bytes or {headers} headers");
            return Err(Problem::new(Kind::HeadersTooLarge, detail));
        }
        Err(_) => return Err(malformed("the request is not HTTP/1.1")),
    };
    let uri = request.path.unwrap_or_default();
    if uri.len() > MAX_URI_BYTES {
        return Err(uri_too_long(MAX_URI_BYTES));
    }
    let is_valid_method = request.method.is_some_and(|name| Method::from_bytes(name.as_bytes()).is_ok());
    let are_valid_names =
        request.headers.iter().all(|header| HeaderName::from_bytes(header.name.as_bytes()).is_ok());
    if !is_valid_method || !are_valid_names || Uri::try_from(uri).is_err() {
        return Err(malformed("the request is not HTTP/1.1"));
    }
    if has_bare_line_feed(&bytes[..length]) {
        return Err(malformed("the request line and each header must end in CR LF"));
    }
    let body = check_body_length(request.version, request.headers)?;
    Ok(Some(Head { length, body }))
}

fn malformed(detail: &'static str) -> Problem {
    Problem::new(Kind::BadRequest, detail)
}

fn uri_too_long(max: usize) -> Problem {
    Problem::new(Kind::UriTooLong, format!("the URI is longer than {max} bytes"))
}

fn has_bare_line_feed(head: &[u8]) -> bool {
    head.first() == Some(&b'\n') || head.windows(2).any(|pair| pair[1] == b'\n' && pair[0] != b'\r')
}

/// Checks that the length of the body is given in at most one way.
fn check_body_length(version: Option<u8>, headers: &[Header<'_>]) -> Result<Part, Problem> {
    let values = |name: &'static str| {
        headers.iter().filter(move |header| header.name.eq_ignore_ascii_case(name)).map(|header| header.value)
    };
    let mut lengths = values("content-length");
    let mut encodings = values("transfer-encoding");
    match (lengths.next(), lengths.next(), encodings.next(), encodings.next()) {
        (_, Some(_), _, _) => Err(malformed("`content-length` is given more than once")),
        (Some(_), None, Some(_), _) => {
            Err(malformed("`content-length` and `transfer-encoding` are both given"))
        }
        (Some(length), None, None, _) => {
            let length = decimal(length).filter(|length| *length <= MAX_CONTENT_LENGTH);
            length.map(Part::of_length).ok_or_else(|| malformed("`content-length` must be a number"))
        }
        (None, _, Some(encoding), None)
            if version == Some(1) && encoding.eq_ignore_ascii_case(b"chunked") =>
        {
            Ok(Part::Chunked)
        }
        (None, _, Some(_), _) => Err(malformed("`transfer-encoding` must be `chunked`, in HTTP/1.1")),
        (None, _, None, _) => Ok(Part::Head),
    }
}

fn decimal(text: &[u8]) -> Option<u64> {
    let text = std::str::from_utf8(text.trim_ascii()).ok()?;
    // `parse` would accept a sign.
    text.bytes().all(|byte| byte.is_ascii_digit()).then(|| text.parse().ok()).flatten()
}

#[cfg(test)]
mod tests {
    use super::*;

    const LIMITS: HeadLimits = HeadLimits { bytes: 32 << 10, headers: 100 };
    const POST: &str = "POST / HTTP/1.1\r\nHost: a\r\n";
    const GET: &str = "GET / HTTP/1.1\r\nHost: a\r\n\r\n";

    /// What a filter does with the bytes of a connection.
    #[derive(Debug, PartialEq)]
    struct Outcome {
        passed: String,
        /// Status of the rejection.
        rejected: Option<u16>,
        closed: bool,
    }

    fn filter_in_pieces(bytes: &[u8], size: usize) -> Outcome {
        let mut filter = HeadFilter::new(LIMITS);
        let mut passed = Vec::new();
        for piece in bytes.chunks(size) {
            if filter.is_closed() {
                break;
            }
            let direct = filter.feed(piece);
            passed.extend_from_slice(&piece[..direct]);
            let mut buffer = [0; 1000];
            let mut buffer = ReadBuf::new(&mut buffer);
            while filter.release(&mut buffer) {
                passed.extend_from_slice(buffer.filled());
                buffer.clear();
            }
        }
        let closed = filter.is_closed();
        let rejected = filter.into_rejection().map(|problem| problem.kind.status().as_u16());
        Outcome { passed: String::from_utf8_lossy(&passed).into_owned(), rejected, closed }
    }

    /// Filters bytes in pieces of several sizes, which must not make a difference.
    fn filter(bytes: &str) -> Outcome {
        let whole = filter_in_pieces(bytes.as_bytes(), usize::MAX);
        for size in [1, 2, 7, 100] {
            assert_eq!(filter_in_pieces(bytes.as_bytes(), size), whole, "pieces of {size} bytes");
        }
        whole
    }

    fn passes(bytes: &str) {
        let expected = Outcome { passed: bytes.to_owned(), rejected: None, closed: false };
        assert_eq!(filter(bytes), expected);
    }

    fn passes_and_rejects(good: &str, bad: &str, status: u16) {
        let expected = Outcome { passed: good.to_owned(), rejected: Some(status), closed: true };
        assert_eq!(filter(&format!("{good}{bad}")), expected, "{bad}");
    }

    #[test]
    fn passes_valid_requests_unchanged() {
        passes(GET);
        passes(&format!("\r\n{GET}"));
        passes(&format!("{POST}Content-Length: 3\r\n\r\na\nb{GET}"));
        passes(&format!("{POST}Content-Length: 0\r\n\r\n{GET}"));
        passes(&format!("{POST}Transfer-Encoding: Chunked\r\n\r\n3\r\na\n\n\r\n0\r\n\r\n{GET}"));
        passes("GET / HTTP/1.0\r\n\r\n");
    }

    #[test]
    fn holds_an_incomplete_head() {
        let outcome = filter(&format!("{GET}{POST}"));
        assert_eq!(outcome, Outcome { passed: GET.into(), rejected: None, closed: false });
    }

    #[test]
    fn rejects_ambiguous_lengths_and_bare_line_feeds() {
        for head in [
            &format!("{POST}Content-Length: 3\r\ncontent-length: 3\r\n\r\n"),
            &format!("{POST}Content-Length: 3\r\nTransfer-Encoding: chunked\r\n\r\n"),
            &format!("{POST}Transfer-Encoding: chunked\r\nTransfer-Encoding: chunked\r\n\r\n"),
            &format!("{POST}Transfer-Encoding: gzip, chunked\r\n\r\n"),
            &format!("{POST}Transfer-Encoding: gzip\r\n\r\n"),
            &format!("{POST}Content-Length: 3x\r\n\r\n"),
            &format!("{POST}Content-Length: +3\r\n\r\n"),
            &format!("{POST}Content-Length: \r\n\r\n"),
            &format!("{POST}Content-Length: {}\r\n\r\n", u64::MAX),
            "POST / HTTP/1.0\r\nTransfer-Encoding: chunked\r\n\r\n",
            "GET / HTTP/1.1\nHost: a\n\n",
            "GET / HTTP/1.1\r\nHost: a\n\r\n",
            "\nGET / HTTP/1.1\r\nHost: a\r\n\r\n",
        ] {
            passes_and_rejects("", head, 400);
            passes_and_rejects(GET, head, 400);
        }
        passes(&format!("{POST}Content-Length: {}3\r\n\r\nabc", " ".repeat(100)));
    }

    #[test]
    fn rejects_other_protocols_before_the_end_of_the_head() {
        for bytes in ["\u{16}\u{3}\u{1}\u{2}", "GET /\r\n", "GET / HTTP/9.9\r\n", "PRI * HTTP/2.0\r\n\r\n"] {
            let outcome = filter_in_pieces(bytes.as_bytes(), usize::MAX);
            assert_eq!(outcome.rejected, Some(400), "{bytes:?}");
        }
    }

    #[test]
    fn rejects_heads_beyond_the_limits() {
        passes_and_rejects("", &format!("GET / HTTP/1.1\r\nx: {}", "x".repeat(LIMITS.bytes)), 431);
        passes_and_rejects("", &format!("GET / HTTP/1.1\r\n{}\r\n", "x: y\r\n".repeat(101)), 431);
        passes_and_rejects("", &format!("GET /{} HTTP/1.1\r\n\r\n", "x".repeat(LIMITS.bytes)), 414);
    }

    #[test]
    fn buffers_no_more_of_an_incomplete_head_than_the_limit() {
        for size in [1, 1_000, 8 << 10, 1 << 20] {
            let mut filter = HeadFilter::new(LIMITS);
            let endless = format!("GET / HTTP/1.1\r\nx: {}", "x".repeat(1 << 20));
            for piece in endless.as_bytes().chunks(size) {
                assert_eq!(filter.feed(piece), 0);
                assert!(filter.held.capacity() <= LIMITS.bytes, "{} bytes", filter.held.capacity());
            }
            assert!(filter.is_closed());
            assert!(filter.held.is_empty());
        }
    }

    #[test]
    fn a_connection_between_requests_has_no_buffer() {
        let mut filter = HeadFilter::new(LIMITS);
        let long = format!("GET / HTTP/1.1\r\nx: {}\r\n\r\n", "x".repeat(20_000));
        let (start, end) = long.as_bytes().split_at(10_000);
        assert_eq!((filter.feed(start), filter.feed(end)), (0, 0));
        let mut buffer = vec![0; long.len()];
        assert!(filter.release(&mut ReadBuf::new(&mut buffer)));
        assert_eq!((buffer.as_slice(), filter.held.capacity()), (long.as_bytes(), 0));
    }

    #[test]
    fn checks_heads_after_bodies() {
        let bad = format!("{POST}Content-Length: 3\r\nContent-Length: 3\r\n\r\nabc");
        passes_and_rejects(&format!("{GET}{GET}"), &bad, 400);
        let length = bad.len();
        passes_and_rejects(&format!("{POST}Content-Length: {length}\r\n\r\n{bad}"), &bad, 400);
        let chunked = format!(
            "{POST}Transfer-Encoding: chunked\r\n\r\n3\r\na\n\n\r\n{length:X};x=y\r\n{bad}\r\n0\r\nTrailer: x\r\n\r\n"
        );
        passes_and_rejects(&format!("{chunked}{chunked}\r\n{GET}"), &bad, 400);
    }

    #[test]
    fn closes_the_stream_at_malformed_chunks() {
        for body in
            ["no size\r\n", "\r\n", "3\nabc", "0\r\nTrailer: x\n\r\n", "-1\r\n", "fffffffffffffffff\r\n"]
        {
            let outcome = filter(&format!("{POST}Transfer-Encoding: chunked\r\n\r\n{body}{GET}"));
            assert!(outcome.closed && outcome.rejected.is_none(), "{body:?}: {outcome:?}");
            assert!(!outcome.passed.contains("GET"), "{body:?}: {outcome:?}");
        }
    }
}
