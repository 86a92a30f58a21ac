//! Serialization of sketches.
//!
//! There are three formats: hex, plain little-endian bytes for a database column, and a self-describing format with a
//! format version, kind, scheme and checksum, which protect it from being misread:
//!
//! | bytes | content |
//! |---|---|
//! | 4 | `SAME` |
//! | 1 | format version, 1 |
//! | 1 | kind: 1 fingerprint, 2 signature, 3 sparse code |
//! | 2 | zero |
//! | 8 | scheme id |
//! | 4 | length of the payload in bytes |
//! | ... | payload: the plain bytes; for a sparse code, its size and the positions of its set bits, 4 bytes each |
//! | 8 | XXH3 of all preceding bytes |
//!
//! Numbers are little endian.

use super::{Fingerprint, SchemeId, Sdr, Signature};
use crate::error::{Error, Result};
use xxhash_rust::xxh3::xxh3_64;

/// A sketch of any kind.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Stored {
    /// SimHash.
    Fingerprint(Fingerprint),
    /// MinHash.
    Signature(Signature),
    /// Sparse code.
    Sdr(Sdr),
}

const MAGIC: &[u8; 4] = b"SAME";
const VERSION: u8 = 1;
const HEADER: usize = 20;
const CHECKSUM: usize = 8;

/// Encodes a sketch in the self-describing format.
///
/// ```
/// use sameish::sketch::{SchemeId, Stored, decode_sketch, encode_sketch};
/// use sameish::Fingerprint;
///
/// let (mine, other) = (SchemeId::of("mine"), SchemeId::of("other"));
/// let sketch = Stored::Fingerprint(Fingerprint::from_u64(7));
/// let bytes = encode_sketch(&sketch, mine);
/// assert_eq!(decode_sketch(&bytes, mine)?, sketch);
/// assert!(decode_sketch(&bytes, other).is_err());
/// # Ok::<(), sameish::Error>(())
/// ```
pub fn encode_sketch(sketch: &Stored, scheme: SchemeId) -> Vec<u8> {
    let (kind, payload) = match sketch {
        Stored::Fingerprint(print) => (1, print.to_bytes().to_vec()),
        Stored::Signature(signature) => (2, signature.to_bytes()),
        Stored::Sdr(code) => (3, sdr_bytes(code)),
    };
    let mut bytes = Vec::with_capacity(HEADER + payload.len() + CHECKSUM);
    bytes.extend_from_slice(MAGIC);
    bytes.extend_from_slice(&[VERSION, kind, 0, 0]);
    bytes.extend_from_slice(&scheme.as_u64().to_le_bytes());
    bytes.extend_from_slice(&(payload.len() as u32).to_le_bytes());
    bytes.extend_from_slice(&payload);
    let checksum = xxh3_64(&bytes);
    bytes.extend_from_slice(&checksum.to_le_bytes());
    bytes
}

/// Decodes a sketch from the self-describing format. Returns an error if the bytes are damaged or the sketch has another
/// scheme than `expected`.
pub fn decode_sketch(bytes: &[u8], expected: SchemeId) -> Result<Stored> {
    let corrupt = |reason, offset| Error::Corrupt { reason, offset };
    let (header, rest) = bytes.split_first_chunk::<HEADER>().ok_or(corrupt("unexpected end", bytes.len()))?;
    if header[..4] != *MAGIC {
        return Err(corrupt("missing signature `SAME`", 0));
    }
    if header[4] != VERSION {
        return Err(Error::Version { found: header[4], supported: VERSION });
    }
    let (payload, checksum) =
        rest.split_last_chunk::<CHECKSUM>().ok_or(corrupt("unexpected end", bytes.len()))?;
    if u64::from_le_bytes(*checksum) != xxh3_64(&bytes[..bytes.len() - CHECKSUM]) {
        return Err(corrupt("checksum mismatch", bytes.len() - CHECKSUM));
    }
    let number = |at: usize| u32::from_le_bytes([header[at], header[at + 1], header[at + 2], header[at + 3]]);
    if number(16) as usize != payload.len() {
        return Err(corrupt("wrong payload length", 16));
    }
    let found = SchemeId::from_u64(u64::from(number(8)) | u64::from(number(12)) << 32);
    if found != expected {
        return Err(Error::SchemeMismatch { expected, found });
    }
    match header[5..8] {
        [1, 0, 0] => Ok(Stored::Fingerprint(Fingerprint::from_bytes(payload)?)),
        [2, 0, 0] => Ok(Stored::Signature(Signature::from_bytes(payload)?)),
        [3, 0, 0] => Ok(Stored::Sdr(sdr_from_bytes(payload)?)),
        _ => Err(corrupt("unknown sketch kind", 5)),
    }
}

fn sdr_bytes(code: &Sdr) -> Vec<u8> {
    let numbers = std::iter::once(code.size()).chain(code.active().iter().copied());
    numbers.flat_map(u32::to_le_bytes).collect()
}

fn sdr_from_bytes(bytes: &[u8]) -> Result<Sdr> {
    let (numbers, rest) = bytes.as_chunks::<4>();
    match numbers.split_first() {
        Some((&size, active)) if rest.is_empty() => Sdr::from_active(
            u32::from_le_bytes(size),
            active.iter().map(|&bit| u32::from_le_bytes(bit)).collect(),
        ),
        _ => {
            let expected = "a multiple of 4, at least 4".to_owned();
            Err(Error::ByteLength { what: "sparse code", expected, found: bytes.len() })
        }
    }
}

/// Decodes exactly `expected` bytes from hex digits.
pub(super) fn bytes_from_hex(what: &'static str, hex: &str, expected: usize) -> Result<Vec<u8>> {
    if let Some((position, found)) = hex.chars().enumerate().find(|(_, c)| !c.is_ascii_hexdigit())
        && hex.chars().count() == 2 * expected
    {
        return Err(Error::HexDigit { what, position, found });
    }
    if hex.chars().count() != 2 * expected {
        return Err(Error::HexLength { what, expected: 2 * expected, found: hex.chars().count() });
    }
    let digit = |byte: u8| (byte as char).to_digit(16).unwrap_or(0) as u8;
    Ok(hex.as_bytes().chunks_exact(2).map(|pair| digit(pair[0]) << 4 | digit(pair[1])).collect())
}

/// Encodes bytes as lower-case hex digits.
pub(super) fn bytes_to_hex(bytes: &[u8]) -> String {
    const DIGITS: &[u8; 16] = b"0123456789abcdef";
    let digits = bytes.iter().flat_map(|byte| [byte >> 4, byte & 15]);
    digits.map(|digit| char::from(DIGITS[usize::from(digit)])).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn samples() -> Vec<Stored> {
        vec![
            Stored::Fingerprint(Fingerprint::from_u64(0x0123_4567_89AB_CDEF)),
            Stored::Signature(Signature::from_rows(vec![1, 2, u32::MAX]).unwrap()),
            Stored::Sdr(Sdr::from_active(400, vec![0, 7, 399]).unwrap()),
            Stored::Sdr(Sdr::from_active(400, vec![]).unwrap()),
        ]
    }

    #[test]
    fn every_kind_round_trips() {
        let scheme = SchemeId::of("test");
        for sketch in samples() {
            assert_eq!(decode_sketch(&encode_sketch(&sketch, scheme), scheme).unwrap(), sketch);
        }
    }

    #[test]
    fn encoding_is_stable() {
        let bytes = encode_sketch(&samples()[0], SchemeId::from_u64(0x1122_3344_5566_7788));
        assert_eq!(bytes_to_hex(&bytes[..28]), "53414d4501010000887766554433221108000000efcdab8967452301");
        assert_eq!(bytes.len(), 36);
    }

    #[test]
    fn rejects_another_scheme() {
        let bytes = encode_sketch(&samples()[1], SchemeId::of("a"));
        let error = decode_sketch(&bytes, SchemeId::of("b")).unwrap_err();
        assert_eq!(error, Error::SchemeMismatch { expected: SchemeId::of("b"), found: SchemeId::of("a") });
    }

    #[test]
    fn detects_every_flipped_bit_and_every_truncation() {
        let scheme = SchemeId::of("test");
        for sketch in samples() {
            let bytes = encode_sketch(&sketch, scheme);
            for bit in 0..bytes.len() * 8 {
                let mut damaged = bytes.clone();
                damaged[bit / 8] ^= 1 << (bit % 8);
                assert!(decode_sketch(&damaged, scheme).is_err(), "bit {bit}");
            }
            for length in 0..bytes.len() {
                assert!(decode_sketch(&bytes[..length], scheme).is_err(), "{length} bytes");
            }
            let mut longer = bytes.clone();
            longer.push(0);
            assert!(decode_sketch(&longer, scheme).is_err());
        }
    }

    #[test]
    fn rejects_a_newer_version() {
        let mut bytes = encode_sketch(&samples()[0], SchemeId::of("test"));
        bytes[4] = 2;
        assert_eq!(
            decode_sketch(&bytes, SchemeId::of("test")).unwrap_err(),
            Error::Version { found: 2, supported: 1 }
        );
    }
}
