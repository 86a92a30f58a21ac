//! Response bodies within the memory budget.
//!
//! Memory is reserved before a response is built. A response with a list has a [`BoundedList`], which stops at
//! `limits.response_bytes`; the response then says that it is `capped`. JSON is written in segments, each of which is freed when
//! the client has received it. It is compressed while it is written if the client accepts that, so that it takes less memory, too.

use crate::memory::BufferedBytes;
use crate::problem::Problem;
use crate::state::{App, client_accepts_gzip};
use axum::body::{Body, HttpBody};
use axum::http::{HeaderValue, StatusCode, header};
use axum::response::{IntoResponse, Response};
use bytes::Bytes;
use flate2::Compression;
use flate2::write::GzEncoder;
use hyper::body::{Frame, SizeHint};
use serde::{Serialize, Serializer};
use std::cell::RefCell;
use std::collections::VecDeque;
use std::convert::Infallible;
use std::io::{self, Write};
use std::ops::ControlFlow;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};

/// Size of a segment of a response in bytes.
const SEGMENT: usize = 64 << 10;
/// Size in bytes up to which a response is not compressed.
const UNCOMPRESSED: usize = 1 << 10;
/// Number of bytes that are compressed at a time.
const STAGED: usize = 8 << 10;
/// Number of bytes that are reserved at a time.
const RESERVED_STEP: usize = 4 << 10;

/// Returns a JSON response. Reserves its memory before it is written.
pub(crate) fn json(app: &App, status: StatusCode, body: &impl Serialize) -> Result<Response, Problem> {
    json_within(BufferedBytes::new(app), status, body)
}

/// Returns a JSON response that first uses the memory that is reserved already.
pub(crate) fn json_within(
    buffered: BufferedBytes,
    status: StatusCode,
    body: &impl Serialize,
) -> Result<Response, Problem> {
    let mut writer = JsonWriter::new(Segments::new(buffered), client_accepts_gzip());
    let written = serde_json::to_writer(&mut writer, body).map_err(io::Error::from);
    let (segments, is_compressed) = writer.finish(written)?;
    let headers = [
        (header::CONTENT_TYPE, HeaderValue::from_static("application/json")),
        (header::VARY, HeaderValue::from_static("accept-encoding")),
    ];
    let mut response = (status, headers, Body::new(segments.into_body())).into_response();
    if is_compressed {
        response.headers_mut().insert(header::CONTENT_ENCODING, HeaderValue::from_static("gzip"));
    }
    Ok(response)
}

/// Reserves the memory of a response in advance.
pub(crate) fn reserve_response(app: &App, bytes: usize) -> Result<BufferedBytes, Problem> {
    let mut buffered = BufferedBytes::new(app);
    buffered.reserve_up_to(bytes, 0)?;
    Ok(buffered)
}

/// Returns the size of a value as JSON in bytes.
pub(crate) fn json_bytes(value: &impl Serialize) -> usize {
    struct Count(usize);
    impl Write for Count {
        fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
            self.0 += bytes.len();
            Ok(bytes.len())
        }

        fn flush(&mut self) -> io::Result<()> {
            Ok(())
        }
    }
    let mut count = Count(0);
    // Values of responses have string keys, so serialization cannot fail; `json` would report it.
    _ = serde_json::to_writer(&mut count, value);
    count.0
}

/// The items of a response, as many as `limits.response_bytes` permits.
pub(crate) struct BoundedList<T> {
    buffered: BufferedBytes,
    items: Vec<T>,
    /// Size of the items as JSON, in bytes.
    bytes: usize,
    max_bytes: usize,
    is_full: bool,
    problem: Option<Problem>,
}

/// A list that is complete or full.
pub(crate) struct ListedItems<T> {
    pub(crate) items: Items<T>,
    /// Whether items were left out because of the size of the response.
    pub(crate) capped: bool,
    /// Memory for the items.
    pub(crate) buffered: BufferedBytes,
}

impl<T: Serialize> BoundedList<T> {
    pub(crate) fn new(app: &App) -> BoundedList<T> {
        BoundedList::within(BufferedBytes::new(app), app.limits().response_limit())
    }

    /// Creates a list that first uses the memory that is reserved already.
    pub(crate) fn within(buffered: BufferedBytes, max_bytes: usize) -> BoundedList<T> {
        BoundedList { buffered, items: Vec::new(), bytes: 0, max_bytes, is_full: false, problem: None }
    }

    /// Returns the maximum size of the items as JSON, in bytes.
    pub(crate) fn max_bytes(&self) -> usize {
        self.max_bytes
    }

    /// Adds an item. Breaks if the list takes no more items.
    ///
    /// The first item is added whatever its size, so that a client that follows cursors always makes progress.
    pub(crate) fn push(&mut self, item: T) -> ControlFlow<()> {
        // Including the comma.
        let bytes = json_bytes(&item) + 1;
        if self.is_full || !self.items.is_empty() && self.bytes + bytes > self.max_bytes {
            self.is_full = true;
            return ControlFlow::Break(());
        }
        if let Err(problem) = self.buffered.reserve_up_to(self.bytes + bytes, 0) {
            self.is_full = true;
            self.problem = Some(problem);
            return ControlFlow::Break(());
        }
        self.bytes += bytes;
        self.items.push(item);
        ControlFlow::Continue(())
    }

    /// Ends the list. Returns a problem if its memory could not be reserved.
    pub(crate) fn finish(self) -> Result<ListedItems<T>, Problem> {
        match self.problem {
            Some(problem) => Err(problem),
            None => Ok(self.finish_stored()),
        }
    }

    /// Ends the list of a response that must not fail, because the request has changed stored data: the list is capped instead.
    pub(crate) fn finish_stored(self) -> ListedItems<T> {
        let items = Items(RefCell::new(self.items.into_iter()));
        ListedItems { items, capped: self.is_full, buffered: self.buffered }
    }
}

/// Items that can be serialized once. Each is freed as soon as it is written, so items and JSON together take the memory of one.
pub(crate) struct Items<T>(RefCell<std::vec::IntoIter<T>>);

impl<T> From<Vec<T>> for Items<T> {
    fn from(items: Vec<T>) -> Items<T> {
        Items(RefCell::new(items.into_iter()))
    }
}

impl<T> std::fmt::Debug for Items<T> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Items").finish_non_exhaustive()
    }
}

impl<T: Serialize> Serialize for Items<T> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_seq(std::iter::from_fn(|| self.0.borrow_mut().next()))
    }
}

/// Writes a response in segments, and compresses it if it is not small.
struct JsonWriter {
    target: Target,
    /// What is not compressed yet: the beginning of the response, or a part of it, because a serializer writes a few bytes at a time.
    staged: Vec<u8>,
}

enum Target {
    Plain(Segments),
    /// The response is small so far, and will be compressed if it is not.
    Undecided(Segments),
    Compressed(Box<GzEncoder<Segments>>),
}

impl JsonWriter {
    fn new(segments: Segments, compresses: bool) -> JsonWriter {
        let target = if compresses { Target::Undecided(segments) } else { Target::Plain(segments) };
        JsonWriter { target, staged: Vec::new() }
    }

    /// Returns the response, and whether it is compressed, after `written`, the result of all writes.
    fn finish(mut self, written: io::Result<()>) -> Result<(Segments, bool), Problem> {
        let finished = written.and_then(|()| match &mut self.target {
            Target::Plain(_) => Ok(()),
            Target::Undecided(segments) => segments.write_all(&self.staged),
            Target::Compressed(encoder) => {
                encoder.write_all(&self.staged)?;
                encoder.try_finish()
            }
        });
        let (mut segments, is_compressed) = match self.target {
            Target::Plain(segments) | Target::Undecided(segments) => (segments, false),
            Target::Compressed(mut encoder) => {
                if let Some(problem) = encoder.get_mut().problem.take() {
                    return Err(problem);
                }
                // Nothing is left to write.
                (encoder.finish().map_err(Problem::internal)?, true)
            }
        };
        match finished {
            Ok(()) => Ok((segments, is_compressed)),
            Err(error) => Err(segments.problem.take().unwrap_or_else(|| Problem::internal(error))),
        }
    }
}

impl Write for JsonWriter {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        if let Target::Plain(segments) = &mut self.target {
            return segments.write(bytes);
        }
        self.staged.extend_from_slice(bytes);
        if let Target::Undecided(segments) = &mut self.target
            && self.staged.len() > UNCOMPRESSED
        {
            let empty = Segments::new(segments.buffered.sibling());
            let encoder = GzEncoder::new(std::mem::replace(segments, empty), Compression::fast());
            self.target = Target::Compressed(Box::new(encoder));
        }
        if let Target::Compressed(encoder) = &mut self.target
            && self.staged.len() >= STAGED
        {
            encoder.write_all(&self.staged)?;
            self.staged.clear();
        }
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// Writes a response in segments.
struct Segments {
    buffered: BufferedBytes,
    full: VecDeque<Vec<u8>>,
    last: Vec<u8>,
    length: usize,
    problem: Option<Problem>,
}

impl Segments {
    fn new(buffered: BufferedBytes) -> Segments {
        Segments { buffered, full: VecDeque::new(), last: Vec::new(), length: 0, problem: None }
    }

    fn reserve(&mut self, bytes: usize) -> io::Result<()> {
        self.buffered.reserve_up_to(self.length + bytes, RESERVED_STEP).map_err(|problem| {
            self.problem = Some(problem);
            io::ErrorKind::OutOfMemory.into()
        })
    }

    fn into_body(mut self) -> SegmentsBody {
        self.last.shrink_to_fit();
        self.full.push_back(self.last);
        let excess = self.buffered.bytes().saturating_sub(self.length);
        self.buffered.release(excess);
        SegmentsBody { segments: self.full, remaining: self.length, buffered: Arc::new(self.buffered) }
    }
}

impl Write for Segments {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        if self.last.len() == SEGMENT {
            self.full.push_back(std::mem::take(&mut self.last));
        }
        let bytes = &bytes[..bytes.len().min(SEGMENT - self.last.len())];
        self.reserve(bytes.len())?;
        self.last.extend_from_slice(bytes);
        self.length += bytes.len();
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// A response body in segments. Its memory stays reserved until all of it is sent.
struct SegmentsBody {
    segments: VecDeque<Vec<u8>>,
    remaining: usize,
    buffered: Arc<BufferedBytes>,
}

impl HttpBody for SegmentsBody {
    type Data = Bytes;
    type Error = Infallible;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        _: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, Infallible>>> {
        let Some(segment) = self.segments.pop_front() else { return Poll::Ready(None) };
        self.remaining -= segment.len();
        let bytes = counted(segment, Arc::clone(&self.buffered));
        Poll::Ready(Some(Ok(Frame::data(bytes))))
    }

    fn is_end_stream(&self) -> bool {
        self.segments.is_empty()
    }

    fn size_hint(&self) -> SizeHint {
        SizeHint::with_exact(self.remaining as u64)
    }
}

/// Returns bytes that keep `owner` until they are dropped: hyper may hold bytes after it has dropped the body.
pub(crate) fn counted<T: Send + Sync + 'static>(bytes: Vec<u8>, owner: T) -> Bytes {
    Bytes::from_owner(CountedBytes { bytes, _owner: owner })
}

struct CountedBytes<T> {
    bytes: Vec<u8>,
    _owner: T,
}

impl<T> AsRef<[u8]> for CountedBytes<T> {
    fn as_ref(&self) -> &[u8] {
        &self.bytes
    }
}
