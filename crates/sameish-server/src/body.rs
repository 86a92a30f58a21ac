//! Request bodies: reading, decompressing and parsing them within limits.
//!
//! A body is read in chunks. Its size, its duration and its data rate are limited, and so is the memory of all bodies together. A
//! gzip body has the same size limit before and after decompression.

use crate::memory::BufferedBytes;
use crate::problem::{Kind, Problem};
use crate::settings::Limits;
use crate::state::App;
use crate::transfer::Transfer;
use crate::wire::{Request, UnknownFields};
use axum::body::Body;
use axum::http::{HeaderMap, header};
use bytes::Bytes;
use http_body_util::BodyExt;
use sameish_io::json;
use std::io::Read;
use std::time::{Duration, Instant};

/// Limits on the structure of a JSON body, which keep a few megabytes of brackets from taking hundreds in memory.
const JSON_LIMITS: json::Limits = json::Limits { depth: 64, values: 100_000 };

/// A complete body. Its bytes count against the memory budget while it lives.
pub(crate) struct Payload {
    bytes: Vec<u8>,
    encoding: Encoding,
    buffered: BufferedBytes,
}

/// The content encoding of a body.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Encoding {
    Identity,
    Gzip,
}

/// The body that a route expects.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Format {
    /// One JSON value.
    Json,
    /// One JSON value or no body.
    OptionalJson,
    /// One JSON value per line.
    JsonLines,
}

/// Reads a JSON body.
pub(crate) async fn read(
    app: &App,
    headers: &HeaderMap,
    body: Body,
    format: Format,
) -> Result<Payload, Problem> {
    let is_empty = headers.get(header::CONTENT_LENGTH).is_none_or(|length| length == "0")
        && !headers.contains_key(header::TRANSFER_ENCODING);
    let encoding = content_encoding(headers)?;
    let mut payload = Payload { bytes: Vec::new(), encoding, buffered: BufferedBytes::new(app) };
    if is_empty && format == Format::OptionalJson {
        return Ok(payload);
    }
    check_content_type(headers, format)?;
    let max = app.limits().body_bytes;
    check_content_length(headers, max)?;
    let mut chunks = Chunks::new(app, body, app.limits().body_seconds);
    while let Some(chunk) = chunks.next().await? {
        payload.buffered.reserve_up_to(payload.bytes.len() + chunk.len(), 0)?;
        if payload.bytes.len() + chunk.len() > max {
            return Err(too_large(max).closing());
        }
        payload.bytes.extend_from_slice(&chunk);
    }
    Ok(payload)
}

impl Payload {
    /// Decompresses the bytes. Blocks: not for a thread that serves connections.
    pub(crate) fn decoded(mut self, app: &App) -> Result<Payload, Problem> {
        if self.encoding == Encoding::Identity {
            return Ok(self);
        }
        let max = app.limits().body_bytes;
        let mut decoded = Vec::new();
        let mut decoder = flate2::read::MultiGzDecoder::new(&self.bytes[..]);
        let mut buffer = vec![0; DECODE_BUFFER];
        while let read @ 1.. = decoder.read(&mut buffer).map_err(|_| bad_gzip())? {
            if decoded.len() + read > max {
                return Err(too_large(max));
            }
            // Reserved before they are stored, because many bodies may be decompressed at the same time.
            self.buffered.reserve_up_to(self.bytes.len() + decoded.len() + read, 0)?;
            decoded.extend_from_slice(&buffer[..read]);
        }
        self.bytes = decoded;
        self.buffered.shrink_to(self.bytes.len());
        self.encoding = Encoding::Identity;
        Ok(self)
    }

    /// Returns the bytes of the body.
    pub(crate) fn bytes(&self) -> &[u8] {
        &self.bytes
    }

    /// Parses the decoded bytes as a request.
    pub(crate) fn parse<T: Request>(&self, limits: &Limits) -> Result<T, Problem> {
        parse(&self.bytes, limits)
    }

    /// Parses the decoded bytes as a request that may collect unknown fields.
    pub(crate) fn parse_with<T: Request>(
        &self,
        limits: &Limits,
        unknown: UnknownFields,
    ) -> Result<T, Problem> {
        parse_with(&self.bytes, limits, unknown)
    }

    /// Parses the decoded bytes as a request. Returns `None` if there is no body.
    pub(crate) fn parse_optional<T: Request>(&self, limits: &Limits) -> Result<Option<T>, Problem> {
        if self.bytes.is_empty() { Ok(None) } else { self.parse(limits).map(Some) }
    }
}

/// Parses bytes as strict JSON and as a request.
pub(crate) fn parse<T: Request>(bytes: &[u8], limits: &Limits) -> Result<T, Problem> {
    parse_with(bytes, limits, UnknownFields::Collect)
}

/// Parses bytes as strict JSON and as a request that may collect unknown fields.
pub(crate) fn parse_with<T: Request>(
    bytes: &[u8],
    limits: &Limits,
    unknown: UnknownFields,
) -> Result<T, Problem> {
    T::from_json(parse_value(bytes)?, limits, unknown)
}

/// Parses bytes as strict JSON.
pub(crate) fn parse_value(bytes: &[u8]) -> Result<json::Value<'_>, Problem> {
    let text = std::str::from_utf8(bytes).map_err(|error| {
        let offset = error.valid_up_to();
        Problem::new(Kind::BrokenJson, format!("the body is not UTF-8 at byte {offset}")).at(offset)
    })?;
    if text.trim_ascii().is_empty() {
        return Err(Problem::new(Kind::BrokenJson, "the body is empty; send a JSON object").at(0));
    }
    json::parse(text, JSON_LIMITS)
        .map_err(|error| Problem::new(Kind::BrokenJson, error.to_string()).at(error.offset))
}

/// Number of bytes that are decompressed at a time.
const DECODE_BUFFER: usize = 64 << 10;

pub(crate) fn too_large(max: usize) -> Problem {
    Problem::new(Kind::TooLarge, format!("the body is larger than {max} bytes; send smaller requests"))
}

pub(crate) fn bad_gzip() -> Problem {
    Problem::new(Kind::BadRequest, "`content-encoding` is `gzip`, but the body is not complete gzip data")
}

/// Rejects a body by its declared length before any of it is read.
pub(crate) fn check_content_length(headers: &HeaderMap, max: usize) -> Result<(), Problem> {
    let length =
        headers.get(header::CONTENT_LENGTH).and_then(|length| length.to_str().ok()?.parse::<u64>().ok());
    if length.is_some_and(|length| length > max as u64) {
        return Err(too_large(max).closing());
    }
    Ok(())
}

/// Returns the content encoding: none, or one layer of gzip.
pub(crate) fn content_encoding(headers: &HeaderMap) -> Result<Encoding, Problem> {
    let mut values = headers.get_all(header::CONTENT_ENCODING).iter();
    let first = values.next().map_or(Some("identity"), |value| value.to_str().ok()).map(str::trim);
    match (first, values.next()) {
        (Some(name), None) if name.eq_ignore_ascii_case("identity") => Ok(Encoding::Identity),
        (Some(name), None) if name.eq_ignore_ascii_case("gzip") || name.eq_ignore_ascii_case("x-gzip") => {
            Ok(Encoding::Gzip)
        }
        _ => {
            let detail = "`content-encoding` must be absent, `identity` or `gzip`";
            Err(Problem::new(Kind::UnsupportedMediaType, detail))
        }
    }
}

/// Checks that the content type is the one that the route expects, in UTF-8.
pub(crate) fn check_content_type(headers: &HeaderMap, format: Format) -> Result<(), Problem> {
    let unsupported = || {
        let detail = match format {
            Format::Json | Format::OptionalJson => {
                "`content-type` must be `application/json` in UTF-8; with curl, pass `-H 'content-type: application/json'`"
            }
            Format::JsonLines => {
                "`content-type` must be `application/x-ndjson` in UTF-8; with curl, pass \
                 `-H 'content-type: application/x-ndjson' --data-binary @FILE`, because `-d` removes line breaks"
            }
        };
        Problem::new(Kind::UnsupportedMediaType, detail)
    };
    let mut values = headers.get_all(header::CONTENT_TYPE).iter();
    let (Some(value), None) = (values.next(), values.next()) else { return Err(unsupported()) };
    let value = value.to_str().map_err(|_| unsupported())?;
    let mut parts = value.split(';').map(str::trim);
    let name = parts.next().unwrap_or_default().to_ascii_lowercase();
    let is_supported = match format {
        Format::Json | Format::OptionalJson => name == "application/json",
        Format::JsonLines => matches!(
            name.as_str(),
            "application/x-ndjson"
                | "application/ndjson"
                | "application/jsonl"
                | "application/x-jsonlines"
                | "application/json"
        ),
    };
    let is_utf8 = parts.filter(|part| !part.is_empty()).all(|part| match part.split_once('=') {
        Some((name, value)) if name.trim().eq_ignore_ascii_case("charset") => {
            let value = value.trim().trim_matches('"');
            value.eq_ignore_ascii_case("utf-8") || value.eq_ignore_ascii_case("utf8")
        }
        Some(_) => true,
        None => false,
    });
    if is_supported && is_utf8 { Ok(()) } else { Err(unsupported()) }
}

/// The chunks of a body as they arrive, with timeouts.
pub(crate) struct Chunks {
    body: Body,
    deadline: Instant,
    transfer: Transfer,
}

/// Maximum time between two chunks.
const MAX_PAUSE: Duration = Duration::from_secs(60);

impl Chunks {
    pub(crate) fn new(app: &App, body: Body, seconds: u64) -> Chunks {
        let deadline = Instant::now() + Duration::from_secs(seconds);
        Chunks { body, deadline, transfer: Transfer::new(app.limits().body_rate) }
    }

    /// Returns the next chunk, or `None` at the end of the body.
    pub(crate) async fn next(&mut self) -> Result<Option<Bytes>, Problem> {
        loop {
            let started = Instant::now();
            let frame = tokio::time::timeout(self.timeout(started), self.body.frame()).await;
            self.transfer.waited += started.elapsed();
            let timed_out =
                |_| Problem::new(Kind::Timeout, "the body arrived too slowly; the rest is not read");
            match frame.map_err(timed_out)? {
                None => return Ok(None),
                Some(Err(error)) => {
                    // The client disconnected or sent invalid chunks. It may not receive this response.
                    tracing::debug!(%error, "request body is incomplete");
                    let detail = "the body is incomplete; the rest is not read";
                    return Err(Problem::new(Kind::BadRequest, detail).closing());
                }
                Some(Ok(frame)) => {
                    if let Ok(chunk) = frame.into_data() {
                        self.transfer.bytes += chunk.len() as u64;
                        if !chunk.is_empty() {
                            return Ok(Some(chunk));
                        }
                    }
                }
            }
        }
    }

    /// Returns how long the next chunk may take without violating the minimum rate, the maximum pause or the deadline.
    fn timeout(&self, now: Instant) -> Duration {
        self.transfer.remaining().min(MAX_PAUSE).min(self.deadline.saturating_duration_since(now))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::wire::NewDocument;
    use axum::http::HeaderValue;

    fn content_type(value: &'static str) -> HeaderMap {
        HeaderMap::from_iter([(header::CONTENT_TYPE, HeaderValue::from_static(value))])
    }

    #[test]
    fn accepts_only_json_in_utf8() {
        for value in
            ["application/json", "Application/JSON; charset=UTF-8", "application/json;charset=\"utf-8\""]
        {
            assert!(check_content_type(&content_type(value), Format::Json).is_ok(), "{value}");
        }
        for value in
            ["text/plain", "application/json; charset=latin1", "application/x-ndjson", "application/json; x"]
        {
            assert!(check_content_type(&content_type(value), Format::Json).is_err(), "{value}");
        }
        assert!(check_content_type(&HeaderMap::new(), Format::Json).is_err());
        assert!(check_content_type(&content_type("application/x-ndjson"), Format::JsonLines).is_ok());
    }

    #[test]
    fn accepts_one_layer_of_gzip() {
        let encoding = |values: &[&'static str]| {
            let mut headers = HeaderMap::new();
            for value in values {
                headers.append(header::CONTENT_ENCODING, HeaderValue::from_static(value));
            }
            content_encoding(&headers).map_err(|problem| problem.kind.status().as_u16())
        };
        assert_eq!(encoding(&[]), Ok(Encoding::Identity));
        assert_eq!(encoding(&["GZIP"]), Ok(Encoding::Gzip));
        for values in [&["gzip, gzip"][..], &["gzip", "gzip"], &["br"], &["zstd"], &[""]] {
            assert_eq!(encoding(values), Err(415), "{values:?}");
        }
    }

    #[test]
    fn reports_the_offset_of_invalid_json() {
        for (body, detail, offset) in [
            (&b""[..], "the body is empty; send a JSON object", 0),
            (b"{\"a\":\"\xff\"}", "the body is not UTF-8 at byte 6", 6),
            (b"{\"a\":1,\n\"b\":}", "expected value at byte 12", 12),
        ] {
            let problem = parse::<NewDocument>(body, &Limits::default()).unwrap_err();
            assert_eq!((&*problem.detail, problem.offset), (detail, Some(offset)));
            assert_eq!(problem.kind, Kind::BrokenJson);
        }
    }
}
