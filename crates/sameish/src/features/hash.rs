//! Which 64 bits stand for a token or a feature?
//!
//! Published functions only, so that a stored sketch means the same for ever and in every language:
//!
//! - **FNV-1a 64** (Fowler, Noll and Vo; RFC 9923), for the seeds' fingerprints. Poorly mixed: over all two-letter
//!   lower-case tokens 26 of its 64 bits never change.
//! - **XXH3 64**, seed 0 (Yann Collet, the specification in the repository `Cyan4973/xxHash`), for everything else.
//!   A shingle of `n` words is the XXH3 of their `n` hashes, each as 8 little-endian bytes. So a word is hashed once,
//!   however many shingles it stands in.
//! - **SHAKE256** (FIPS 202), for sparse codes: see [`SdrEncoder`](crate::SdrEncoder).
//!
//! XXH3 of short inputs is written out here because its three cases by length cost a mispredicted branch for every
//! second word; here all three are computed and one is picked. Inputs over 16 bytes go to the crate `xxhash-rust`, the
//! oracle of the tests.

use crate::config::TokenHash;
use crate::text::{PADDING, TokenRange};
use xxhash_rust::xxh3::xxh3_64;

/// FNV-1a 64 of a byte string.
///
/// ```
/// assert_eq!(sameish::fnv1a64(b"hello"), 11_831_194_018_420_276_491);
/// ```
#[inline]
pub fn fnv1a64(bytes: &[u8]) -> u64 {
    bytes
        .iter()
        .fold(0xCBF2_9CE4_8422_2325, |hash, &byte| (hash ^ u64::from(byte)).wrapping_mul(0x100_0000_01B3))
}

/// The hash of a token.
///
/// ```
/// use sameish::{TokenHash, hash_token};
/// assert_eq!(hash_token(TokenHash::Xxh3, b""), 0x2D06_8005_38D3_94C2);
/// ```
pub fn hash_token(hash: TokenHash, token: &[u8]) -> u64 {
    match hash {
        TokenHash::Fnv1a => fnv1a64(token),
        TokenHash::Xxh3 => xxh3_64(token),
    }
}

/// Appends the hashes of tokens that lie in a buffer with [`PADDING`] bytes behind them.
pub(crate) fn hash_tokens(hash: TokenHash, buffer: &[u8], tokens: &[TokenRange], hashes: &mut Vec<u64>) {
    match hash {
        TokenHash::Fnv1a => hashes.extend(tokens.iter().map(|token| fnv1a64(token.of(buffer)))),
        TokenHash::Xxh3 => hashes.extend(tokens.iter().map(|&token| xxh3_token(buffer, token))),
    }
}

/// XXH3 of a stretch of a buffer with [`PADDING`] bytes behind it.
pub(super) fn hash_chars(buffer: &[u8], range: TokenRange) -> u64 {
    xxh3_token(buffer, range)
}

/// XXH3 of the 8 little-endian bytes of a number.
#[inline]
pub(super) fn mix(x: u64) -> u64 {
    xxh3_4_to_8(x, 8)
}

#[inline]
fn xxh3_token(buffer: &[u8], token: TokenRange) -> u64 {
    let (start, length) = (token.start as usize, token.end.wrapping_sub(token.start));
    if length.wrapping_sub(1) >= 16 {
        return xxh3_64(token.of(buffer));
    }
    match buffer.get(start..start + PADDING).and_then(|bytes| bytes.try_into().ok()) {
        Some(bytes) => xxh3_short(u128::from_le_bytes(bytes), length),
        None => xxh3_64(token.of(buffer)),
    }
}

// The words of XXH3's default secret, little endian, as the specification's figures combine them.
const SECRET: [u64; 16] = {
    let bytes: [u8; 128] = [
        0xb8, 0xfe, 0x6c, 0x39, 0x23, 0xa4, 0x4b, 0xbe, 0x7c, 0x01, 0x81, 0x2c, 0xf7, 0x21, 0xad, 0x1c, 0xde,
        0xd4, 0x6d, 0xe9, 0x83, 0x90, 0x97, 0xdb, 0x72, 0x40, 0xa4, 0xa4, 0xb7, 0xb3, 0x67, 0x1f, 0xcb, 0x79,
        0xe6, 0x4e, 0xcc, 0xc0, 0xe5, 0x78, 0x82, 0x5a, 0xd0, 0x7d, 0xcc, 0xff, 0x72, 0x21, 0xb8, 0x08, 0x46,
        0x74, 0xf7, 0x43, 0x24, 0x8e, 0xe0, 0x35, 0x90, 0xe6, 0x81, 0x3a, 0x26, 0x4c, 0x3c, 0x28, 0x52, 0xbb,
        0x91, 0xc3, 0x00, 0xcb, 0x88, 0xd0, 0x65, 0x8b, 0x53, 0x2e, 0xa3, 0x71, 0x64, 0x48, 0x97, 0xa2, 0x0d,
        0xf9, 0x4e, 0x38, 0x19, 0xef, 0x46, 0xa9, 0xde, 0xac, 0xd8, 0xa8, 0xfa, 0x76, 0x3f, 0xe3, 0x9c, 0x34,
        0x3f, 0xf9, 0xdc, 0xbb, 0xc7, 0xc7, 0x0b, 0x4f, 0x1d, 0x8a, 0x51, 0xe0, 0x4b, 0xcd, 0xb4, 0x59, 0x31,
        0xc8, 0x9f, 0x7e, 0xc9, 0xd9, 0x78, 0x73, 0x64, 0xea,
    ];
    let mut words = [0; 16];
    let mut i = 0;
    while i < 128 {
        words[i / 8] |= (bytes[i] as u64) << (8 * (i % 8));
        i += 1;
    }
    words
};

const PRIME64_1: u64 = 0x9E37_79B1_85EB_CA87;
const PRIME64_2: u64 = 0xC2B2_AE3D_27D4_EB4F;
const PRIME64_3: u64 = 0x1656_67B1_9E37_79F9;
const PRIME_MX1: u64 = 0x1656_6791_9E37_79F9;
const PRIME_MX2: u64 = 0x9FB2_1C65_1E98_DF25;

/// XXH3 of the first `length` of 16 bytes, 1 to 16. Bytes behind them have no influence.
#[inline]
fn xxh3_short(bytes: u128, length: u32) -> u64 {
    let upto3 = xxh3_1_to_3(bytes as u64, length);
    let upto8 = xxh3_4_to_8(bytes as u64, length);
    let upto16 = xxh3_9_to_16(bytes, length);
    let short = if length < 4 { upto3 } else { upto8 };
    if length > 8 { upto16 } else { short }
}

/// Bytes as bits, within a word: a length that belongs to another case must not overflow, its result is not used.
#[inline]
fn bits(bytes: u32) -> u32 {
    bytes % 8 * 8
}

#[inline]
fn xxh3_1_to_3(bytes: u64, length: u32) -> u64 {
    let first = bytes & 0xFF;
    let middle = bytes >> bits(length >> 1) & 0xFF;
    let last = bytes >> bits(length.wrapping_sub(1)) & 0xFF;
    let combined = first << 16 | middle << 24 | last | u64::from(length & 3) << 8;
    let h = combined ^ ((SECRET[0] ^ SECRET[0] >> 32) & 0xFFFF_FFFF);
    let h = (h ^ h >> 33).wrapping_mul(PRIME64_2);
    let h = (h ^ h >> 29).wrapping_mul(PRIME64_3);
    h ^ h >> 32
}

#[inline]
fn xxh3_4_to_8(bytes: u64, length: u32) -> u64 {
    let last = bytes >> bits(length.wrapping_sub(4)) & 0xFFFF_FFFF;
    let h = last.wrapping_add(bytes << 32) ^ (SECRET[1] ^ SECRET[2]);
    let h = (h ^ h.rotate_left(49) ^ h.rotate_left(24)).wrapping_mul(PRIME_MX2);
    let h = (h ^ (h >> 35).wrapping_add(u64::from(length))).wrapping_mul(PRIME_MX2);
    h ^ h >> 28
}

#[inline]
fn xxh3_9_to_16(bytes: u128, length: u32) -> u64 {
    let lo = bytes as u64 ^ (SECRET[3] ^ SECRET[4]);
    let hi = (bytes >> (length.wrapping_sub(8) % 16 * 8)) as u64 ^ (SECRET[5] ^ SECRET[6]);
    let sum = u64::from(length).wrapping_add(lo.swap_bytes()).wrapping_add(hi).wrapping_add(fold(lo, hi));
    avalanche(sum)
}

/// The two halves of a 128-bit product, folded.
#[inline]
fn fold(a: u64, b: u64) -> u64 {
    let product = u128::from(a) * u128::from(b);
    product as u64 ^ (product >> 64) as u64
}

#[inline]
fn avalanche(h: u64) -> u64 {
    let h = (h ^ h >> 37).wrapping_mul(PRIME_MX1);
    h ^ h >> 32
}

/// The hash of a shingle: XXH3 of its words' hashes, or the one word's hash itself.
#[inline]
pub(crate) fn hash_shingle(words: &[u64]) -> u64 {
    match *words {
        [word] => word,
        [first, second] => xxh3_9_to_16(u128::from(second) << 64 | u128::from(first), 16),
        [first, second, third] => {
            // 24 bytes: two overlapping pieces of 16.
            let h = (24u64).wrapping_mul(PRIME64_1);
            let h = h.wrapping_add(fold(first ^ SECRET[0], second ^ SECRET[1]));
            avalanche(h.wrapping_add(fold(second ^ SECRET[2], third ^ SECRET[3])))
        }
        _ => hash_many(words),
    }
}

/// Shingles of other lengths, by way of their bytes.
fn hash_many(words: &[u64]) -> u64 {
    let mut bytes = [0; 8 * crate::config::MAX_SHINGLE as usize];
    let used = &mut bytes[..8 * words.len()];
    for (bytes, word) in used.chunks_exact_mut(8).zip(words) {
        bytes.copy_from_slice(&word.to_le_bytes());
    }
    xxh3_64(used)
}

/// The hash of the `occurrence`-th time (from 0) that a feature stands in a text, for multisets.
///
/// The first occurrence keeps the feature's own hash, so a text without repeats has equal set and multiset.
#[inline]
pub(crate) fn hash_occurrence(feature: u64, occurrence: u64) -> u64 {
    if occurrence == 0 { feature } else { hash_shingle(&[feature, occurrence]) }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn bytes_of(words: &[u64]) -> Vec<u8> {
        words.iter().flat_map(|word| word.to_le_bytes()).collect()
    }

    #[test]
    fn short_xxh3_equals_the_crate_at_every_length() {
        let mut buffer = vec![0; 300];
        for round in 0..200u32 {
            for (i, byte) in buffer.iter_mut().enumerate() {
                *byte = (i as u32 * 31 + round * 7 + (i as u32 * round >> 3)) as u8;
            }
            for length in 0..=40 {
                let token = TokenRange { start: round, end: round + length };
                assert_eq!(xxh3_token(&buffer, token), xxh3_64(token.of(&buffer)), "{length} bytes");
            }
        }
    }

    #[test]
    fn token_at_the_very_end_is_hashed_without_padding() {
        let token = TokenRange { start: 2, end: 5 };
        assert_eq!(xxh3_token(b"a abc", token), xxh3_64(b"abc"));
    }

    #[test]
    fn shingle_is_xxh3_of_little_endian_hashes() {
        let words: Vec<u64> = (1..=64u64).map(|i| i.wrapping_mul(0x9E37_79B9_7F4A_7C15)).collect();
        for n in 2..=64 {
            assert_eq!(hash_shingle(&words[..n]), xxh3_64(&bytes_of(&words[..n])), "{n} words");
        }
        assert_eq!(hash_shingle(&words[..1]), words[0]);
    }

    #[test]
    fn published_vectors() {
        // From the specification's sanity tests and the FNV reference.
        assert_eq!(fnv1a64(b""), 0xCBF2_9CE4_8422_2325);
        assert_eq!(fnv1a64(b"a"), 0xAF63_DC4C_8601_EC8C);
        assert_eq!(fnv1a64(b"foobar"), 0x8594_4171_F739_67E8);
        assert_eq!(hash_token(TokenHash::Xxh3, b""), 0x2D06_8005_38D3_94C2);
    }

    #[test]
    fn occurrences_differ_and_the_first_is_the_feature() {
        assert_eq!(hash_occurrence(7, 0), 7);
        assert_ne!(hash_occurrence(7, 1), hash_occurrence(7, 2));
        assert_ne!(hash_occurrence(7, 1), hash_occurrence(8, 1));
    }
}
