//! Compression with gzip, for clients that accept it.

use axum::http::{HeaderMap, header};
use bytes::Bytes;
use flate2::Compression;
use flate2::write::GzEncoder;
use std::io::Write;

/// Returns a text that is compressed as far as possible, if that is smaller.
pub(crate) fn compress(content: &str) -> Option<Bytes> {
    let mut encoder = GzEncoder::new(Vec::new(), Compression::best());
    encoder.write_all(content.as_bytes()).ok()?;
    let compressed = encoder.finish().ok()?;
    (compressed.len() < content.len()).then(|| compressed.into())
}

/// Returns `true` if a client accepts a compressed response.
pub(crate) fn accepts_gzip(request: &HeaderMap) -> bool {
    let values = request.get_all(header::ACCEPT_ENCODING).iter();
    let mut codings = values.filter_map(|value| value.to_str().ok()).flat_map(|value| value.split(','));
    codings.any(|coding| {
        let (name, weight) = coding.split_once(';').unwrap_or((coding, ""));
        let weight = weight.trim().trim_start_matches("q=").parse::<f64>().unwrap_or(1.0);
        name.trim().eq_ignore_ascii_case("gzip") && weight > 0.0
    })
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;
    use std::io::Read;

    fn request(value: &str) -> HeaderMap {
        HeaderMap::from_iter([(header::ACCEPT_ENCODING, value.parse().unwrap())])
    }

    #[test]
    fn files_are_compressed_for_clients_that_accept_it() {
        let text = "one two three ".repeat(100);
        let mut unpacked = String::new();
        let compressed = compress(&text).unwrap();
        flate2::read::GzDecoder::new(&*compressed).read_to_string(&mut unpacked).unwrap();
        assert_eq!(unpacked, text);
        assert_eq!(compress("a"), None, "a short text does not get smaller");
        for accepted in ["gzip", "br, GZIP;q=0.5", "deflate, gzip"] {
            assert!(accepts_gzip(&request(accepted)), "{accepted}");
        }
        for refused in ["", "br", "gzip;q=0", "identity"] {
            assert!(!accepts_gzip(&request(refused)), "{refused}");
        }
    }
}
