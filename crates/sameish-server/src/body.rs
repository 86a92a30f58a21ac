//! How does a body come in?
//!
//! Piece by piece, with a limit on its size, its time and its pace, and on what all bodies take together. A body may be
//! packed with gzip; what comes out has the same limit as what is not packed.

use crate::problem::{Kind, Problem};
use crate::state::{App, Held};
use axum::body::Body;
use axum::http::{HeaderMap, header};
use bytes::Bytes;
use http_body_util::BodyExt;
use std::io::Read;
use std::time::{Duration, Instant};

/// A body that has come in whole. Its bytes count against the budget as long as it lives.
pub(crate) struct Payload {
    pub(crate) bytes: Vec<u8>,
    pub(crate) packing: Packing,
    held: Held,
}

/// How a body is packed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Packing {
    None,
    Gzip,
}

/// What kind of body a route takes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Takes {
    /// One JSON value.
    Json,
    /// JSON, or nothing at all.
    JsonOrNothing,
    /// JSON values, one a line.
    Lines,
}

/// Reads a body of JSON.
pub(crate) async fn read(
    app: &App,
    headers: &HeaderMap,
    body: Body,
    takes: Takes,
) -> Result<Payload, Problem> {
    let empty = headers.get(header::CONTENT_LENGTH).is_none_or(|length| length == "0")
        && !headers.contains_key(header::TRANSFER_ENCODING);
    let mut payload = Payload { bytes: Vec::new(), packing: packing(headers)?, held: Held::none(app) };
    if empty && takes == Takes::JsonOrNothing {
        return Ok(payload);
    }
    check_type(headers, takes)?;
    let most = app.limits().body_bytes;
    check_length(headers, most)?;
    let mut pieces = Pieces::new(app, body, app.limits().body_seconds);
    while let Some(piece) = pieces.next().await? {
        payload.held.more(piece.len())?;
        if payload.bytes.len() + piece.len() > most {
            return Err(too_large(most).closing());
        }
        payload.bytes.extend_from_slice(&piece);
    }
    Ok(payload)
}

impl Payload {
    /// The bytes, unpacked. Takes time: not for a thread that serves connections.
    pub(crate) fn unpacked(mut self, app: &App) -> Result<Payload, Problem> {
        if self.packing == Packing::None {
            return Ok(self);
        }
        let most = app.limits().body_bytes;
        let mut unpacked = Vec::new();
        let mut decoder = flate2::read::MultiGzDecoder::new(&self.bytes[..]);
        let mut buffer = vec![0; UNPACKED_AT_A_TIME];
        while let read @ 1.. = decoder.read(&mut buffer).map_err(|_| bad_gzip())? {
            if unpacked.len() + read > most {
                return Err(too_large(most));
            }
            // Before they are kept: many bodies may be unpacked at a time.
            self.held.more(read)?;
            unpacked.extend_from_slice(&buffer[..read]);
        }
        self.bytes = unpacked;
        Ok(self)
    }
}

/// Bytes that are unpacked at a time.
const UNPACKED_AT_A_TIME: usize = 64 << 10;

pub(crate) fn too_large(most: usize) -> Problem {
    Problem::new(Kind::TooLarge, format!("the body has more than {most} bytes: send less at a time"))
}

pub(crate) fn bad_gzip() -> Problem {
    Problem::new(Kind::BadRequest, "the body is not whole gzip data, as `content-encoding` says it is")
}

/// Refuses a length that is too much before anything is read.
pub(crate) fn check_length(headers: &HeaderMap, most: usize) -> Result<(), Problem> {
    let length =
        headers.get(header::CONTENT_LENGTH).and_then(|length| length.to_str().ok()?.parse::<u64>().ok());
    match length.is_some_and(|length| length > most as u64) {
        true => Err(too_large(most).closing()),
        false => Ok(()),
    }
}

/// How the body is packed: not at all, or with gzip once.
pub(crate) fn packing(headers: &HeaderMap) -> Result<Packing, Problem> {
    let mut all = headers.get_all(header::CONTENT_ENCODING).iter();
    let (first, second) = (all.next(), all.next());
    let name = first.map_or(Some("identity"), |value| value.to_str().ok()).map(str::trim);
    match (name, second) {
        (Some(name), None) if name.eq_ignore_ascii_case("identity") => Ok(Packing::None),
        (Some(name), None) if name.eq_ignore_ascii_case("gzip") || name.eq_ignore_ascii_case("x-gzip") => {
            Ok(Packing::Gzip)
        }
        _ => Err(Problem::new(
            Kind::UnsupportedMediaType,
            "`content-encoding` must be absent, identity or gzip",
        )),
    }
}

/// Whether the body says that it is what the route takes, in UTF-8.
pub(crate) fn check_type(headers: &HeaderMap, takes: Takes) -> Result<(), Problem> {
    let refused = || {
        let expected = match takes {
            Takes::Json | Takes::JsonOrNothing => "`content-type` must be application/json, in UTF-8",
            Takes::Lines => "`content-type` must be application/x-ndjson, in UTF-8",
        };
        Problem::new(Kind::UnsupportedMediaType, expected)
    };
    let mut all = headers.get_all(header::CONTENT_TYPE).iter();
    let (Some(value), None) = (all.next(), all.next()) else { return Err(refused()) };
    let value = value.to_str().map_err(|_| refused())?;
    let mut parts = value.split(';').map(str::trim);
    let name = parts.next().unwrap_or_default().to_ascii_lowercase();
    let known = match takes {
        Takes::Json | Takes::JsonOrNothing => name == "application/json",
        Takes::Lines => matches!(
            name.as_str(),
            "application/x-ndjson"
                | "application/ndjson"
                | "application/jsonl"
                | "application/x-jsonlines"
                | "application/json"
        ),
    };
    let utf8 = parts.filter(|part| !part.is_empty()).all(|part| match part.split_once('=') {
        Some((name, value)) if name.trim().eq_ignore_ascii_case("charset") => {
            let value = value.trim().trim_matches('"');
            value.eq_ignore_ascii_case("utf-8") || value.eq_ignore_ascii_case("utf8")
        }
        Some(_) => true,
        None => false,
    });
    if known && utf8 { Ok(()) } else { Err(refused()) }
}

/// The pieces of a body, as they come.
pub(crate) struct Pieces {
    body: Body,
    /// When it must be over.
    end: Instant,
    rate: u64,
    /// What counts is the time that we have waited: a client is not slow because we are.
    waited: Duration,
    bytes: u64,
}

/// For so long nobody is called slow.
const GRACE: Duration = Duration::from_secs(10);
/// For so long nothing may come, whatever has come before.
const SILENCE: Duration = Duration::from_secs(60);

impl Pieces {
    pub(crate) fn new(app: &App, body: Body, seconds: u64) -> Pieces {
        let end = Instant::now() + Duration::from_secs(seconds);
        Pieces { body, end, rate: app.limits().body_rate, waited: Duration::ZERO, bytes: 0 }
    }

    /// The next piece; nothing at the end.
    pub(crate) async fn next(&mut self) -> Result<Option<Bytes>, Problem> {
        loop {
            let begun = Instant::now();
            let frame = tokio::time::timeout(self.patience(begun), self.body.frame()).await;
            self.waited += begun.elapsed();
            let slow = || Problem::new(Kind::Timeout, "the body came too slowly: nothing more of it is read");
            match frame.map_err(|_| slow())? {
                None => return Ok(None),
                Some(Err(error)) => {
                    // The client has gone, or broke the rules of chunks: nobody may be left to read this.
                    tracing::debug!(%error, "body ended early");
                    let detail = "the body ended before it was whole: nothing more of it is taken";
                    return Err(Problem::new(Kind::BadRequest, detail).closing());
                }
                Some(Ok(frame)) => {
                    if let Ok(piece) = frame.into_data() {
                        self.bytes += piece.len() as u64;
                        if !piece.is_empty() {
                            return Ok(Some(piece));
                        }
                    }
                }
            }
        }
    }

    /// How long the next piece may take: so that the pace stays above the least, and the end is met.
    fn patience(&self, now: Instant) -> Duration {
        let earned = GRACE + Duration::from_millis(self.bytes.saturating_mul(1_000) / self.rate.max(1));
        let by_pace = earned.saturating_sub(self.waited);
        by_pace.min(SILENCE).min(self.end.saturating_duration_since(now))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use axum::http::HeaderValue;

    fn typed(value: &'static str) -> HeaderMap {
        HeaderMap::from_iter([(header::CONTENT_TYPE, HeaderValue::from_static(value))])
    }

    #[test]
    fn json_in_utf8_is_taken_and_nothing_else() {
        for value in
            ["application/json", "Application/JSON; charset=UTF-8", "application/json;charset=\"utf-8\""]
        {
            assert!(check_type(&typed(value), Takes::Json).is_ok(), "{value}");
        }
        for value in
            ["text/plain", "application/json; charset=latin1", "application/x-ndjson", "application/json; x"]
        {
            assert!(check_type(&typed(value), Takes::Json).is_err(), "{value}");
        }
        assert!(check_type(&HeaderMap::new(), Takes::Json).is_err());
        assert!(check_type(&typed("application/x-ndjson"), Takes::Lines).is_ok());
    }

    #[test]
    fn one_layer_of_gzip_is_taken() {
        let of = |values: &[&'static str]| {
            let mut headers = HeaderMap::new();
            for value in values {
                headers.append(header::CONTENT_ENCODING, HeaderValue::from_static(value));
            }
            packing(&headers).map_err(|problem| problem.kind.status().as_u16())
        };
        assert_eq!(of(&[]), Ok(Packing::None));
        assert_eq!(of(&["GZIP"]), Ok(Packing::Gzip));
        for values in [&["gzip, gzip"][..], &["gzip", "gzip"], &["br"], &["zstd"], &[""]] {
            assert_eq!(of(values), Err(415), "{values:?}");
        }
    }
}
