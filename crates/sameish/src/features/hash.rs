//! Hash functions for tokens and features.
//!
//! All functions are published, so that stored sketches remain comparable across versions and languages:
//!
//! - **FNV-1a 64** (Fowler, Noll and Vo; RFC 9923), for the fingerprints of the presets `wire` and `articles`. It mixes
//!   poorly: over all two-letter lower-case tokens, 26 of its 64 bits are constant.
//! - **XXH3 64**, seed 0 (Yann Collet, specified in the repository `Cyan4973/xxHash`), for everything else. The hash of a
//!   shingle of `n` words is the XXH3 of their `n` hashes, each as 8 little-endian bytes, so each word is hashed once.
//! - **SHAKE256** (FIPS 202), for sparse codes: see [`SdrEncoder`](crate::sketch::SdrEncoder).
//!
//! XXH3 for short inputs is implemented here because a branch on its three length cases is mispredicted for every second
//! word: the scalar code groups tokens by case, and the AVX-512 code computes all three cases for eight tokens at a time.
//! Inputs of more than 16 bytes use the crate `xxhash-rust`, which is also the reference in the tests.

use crate::config::TokenHash;
use crate::simd::{self, Level};
use crate::text::{PADDING, TokenRange};
use xxhash_rust::xxh3::xxh3_64;

/// Returns the FNV-1a 64 hash of a byte string.
///
/// ```
/// assert_eq!(sameish::features::fnv1a64(b"hello"), 11_831_194_018_420_276_491);
/// ```
#[inline]
pub fn fnv1a64(bytes: &[u8]) -> u64 {
    bytes.iter().fold(FNV_BASIS, |hash, &byte| (hash ^ u64::from(byte)).wrapping_mul(FNV_PRIME))
}

/// Returns the FNV-1a 64 hash of a string in UTF-16, with each code unit as one step.
///
/// Implementations in JavaScript that hash the result of `charCodeAt` compute this function. It equals [`fnv1a64`] for ASCII
/// strings only: from U+0080 on, UTF-8 has several bytes per character.
///
/// ```
/// use sameish::features::{fnv1a64, fnv1a64_utf16};
///
/// let utf16 = |text: &str| fnv1a64_utf16(&text.encode_utf16().collect::<Vec<_>>());
/// assert_eq!(utf16("hello"), fnv1a64(b"hello"));
/// assert_ne!(utf16("café"), fnv1a64("café".as_bytes()));
/// ```
pub fn fnv1a64_utf16(units: &[u16]) -> u64 {
    units.iter().fold(FNV_BASIS, |hash, &unit| (hash ^ u64::from(unit)).wrapping_mul(FNV_PRIME))
}

pub(crate) const FNV_BASIS: u64 = 0xCBF2_9CE4_8422_2325;
pub(crate) const FNV_PRIME: u64 = 0x100_0000_01B3;

/// Returns the hash of a token.
///
/// ```
/// use sameish::config::TokenHash;
/// use sameish::features::hash_token;
/// assert_eq!(hash_token(TokenHash::Xxh3, b""), 0x2D06_8005_38D3_94C2);
/// ```
pub fn hash_token(hash: TokenHash, token: &[u8]) -> u64 {
    match hash {
        TokenHash::Fnv1a => fnv1a64(token),
        TokenHash::Xxh3 => xxh3_64(token),
    }
}

/// Writes the hashes of tokens in a buffer that has [`PADDING`] bytes after the last token.
pub(crate) fn hash_tokens(hash: TokenHash, buffer: &[u8], tokens: &[TokenRange], hashes: &mut [u64]) {
    simd::hash_tokens(Level::current(), hash, buffer, tokens, hashes);
}

/// Writes the XXH3 of each token, grouped by length case: the reference for the SIMD kernels.
pub(crate) fn xxh3_tokens(buffer: &[u8], tokens: &[TokenRange], hashes: &mut [u64]) {
    const GROUP: usize = 64;
    for (tokens, hashes) in tokens.chunks(GROUP).zip(hashes.chunks_mut(GROUP)) {
        // Positions by length in bytes: 1 to 3, 4 to 8, 9 to 16, and all others.
        let mut lists = [[0u8; GROUP]; 4];
        let mut counts = [0; 4];
        for (i, token) in tokens.iter().enumerate() {
            let length = token.end - token.start;
            let fits = length.wrapping_sub(1) < 16 && token.start as usize + PADDING <= buffer.len();
            let list = if fits { usize::from(length > 3) + usize::from(length > 8) } else { 3 };
            lists[list][counts[list]] = i as u8;
            counts[list] += 1;
        }
        let mut hash_list = |list: usize, hash: fn(&[u8], TokenRange) -> u64| {
            for &i in &lists[list][..counts[list]] {
                hashes[usize::from(i)] = hash(buffer, tokens[usize::from(i)]);
            }
        };
        hash_list(0, |buffer, token| xxh3_1_to_3(padded(buffer, token) as u64, token.end - token.start));
        hash_list(1, |buffer, token| xxh3_4_to_8(padded(buffer, token) as u64, token.end - token.start));
        hash_list(2, |buffer, token| xxh3_9_to_16(padded(buffer, token), token.end - token.start));
        hash_list(3, |buffer, token| xxh3_64(token.of(buffer)));
    }
}

/// Returns the 16 bytes that begin at the start of a token.
#[inline]
fn padded(buffer: &[u8], token: TokenRange) -> u128 {
    let start = token.start as usize;
    match buffer[start..].first_chunk() {
        Some(&bytes) => u128::from_le_bytes(bytes),
        None => unreachable!("tokens without padding are hashed by `xxh3_64`"),
    }
}

/// Returns the XXH3 of the 8 little-endian bytes of a number.
#[inline]
pub(super) fn mix(x: u64) -> u64 {
    xxh3_4_to_8(x, 8)
}

/// The first 128 bytes of XXH3's default secret, as little-endian words.
pub(crate) const SECRET: [u64; 16] = {
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

/// Initial value of the accumulator for 24 bytes: 24 times XXH64's first prime.
pub(crate) const TRIPLE: u64 = 24u64.wrapping_mul(0x9E37_79B1_85EB_CA87);
pub(crate) const PRIME64_2: u64 = 0xC2B2_AE3D_27D4_EB4F;
pub(crate) const PRIME64_3: u64 = 0x1656_67B1_9E37_79F9;
pub(crate) const PRIME_MX1: u64 = 0x1656_6791_9E37_79F9;
pub(crate) const PRIME_MX2: u64 = 0x9FB2_1C65_1E98_DF25;

#[inline]
fn xxh3_1_to_3(bytes: u64, length: u32) -> u64 {
    let first = bytes & 0xFF;
    let middle = bytes >> (length / 2 * 8) & 0xFF;
    let last = bytes >> (length * 8 - 8) & 0xFF;
    let combined = first << 16 | middle << 24 | last | u64::from(length) << 8;
    let h = combined ^ ((SECRET[0] ^ SECRET[0] >> 32) & 0xFFFF_FFFF);
    let h = (h ^ h >> 33).wrapping_mul(PRIME64_2);
    let h = (h ^ h >> 29).wrapping_mul(PRIME64_3);
    h ^ h >> 32
}

#[inline]
fn xxh3_4_to_8(bytes: u64, length: u32) -> u64 {
    let last = bytes >> (length * 8 - 32) & 0xFFFF_FFFF;
    let h = last.wrapping_add(bytes << 32) ^ (SECRET[1] ^ SECRET[2]);
    let h = (h ^ h.rotate_left(49) ^ h.rotate_left(24)).wrapping_mul(PRIME_MX2);
    let h = (h ^ (h >> 35).wrapping_add(u64::from(length))).wrapping_mul(PRIME_MX2);
    h ^ h >> 28
}

#[inline]
fn xxh3_9_to_16(bytes: u128, length: u32) -> u64 {
    let lo = bytes as u64 ^ (SECRET[3] ^ SECRET[4]);
    let hi = (bytes >> (length * 8 - 64)) as u64 ^ (SECRET[5] ^ SECRET[6]);
    let sum = u64::from(length).wrapping_add(lo.swap_bytes()).wrapping_add(hi).wrapping_add(fold(lo, hi));
    avalanche(sum)
}

/// Returns the XOR of the two halves of a 128-bit product.
#[inline]
pub(crate) fn fold(a: u64, b: u64) -> u64 {
    let product = u128::from(a) * u128::from(b);
    product as u64 ^ (product >> 64) as u64
}

#[inline]
fn avalanche(h: u64) -> u64 {
    let h = (h ^ h >> 37).wrapping_mul(PRIME_MX1);
    h ^ h >> 32
}

/// Returns the hash of a shingle: the XXH3 of its words' hashes, or the hash of the word if there is only one.
#[inline]
pub(crate) fn hash_shingle(words: &[u64]) -> u64 {
    match *words {
        [word] => word,
        [first, second] => xxh3_9_to_16(u128::from(second) << 64 | u128::from(first), 16),
        [first, second, third] => {
            // 24 bytes are hashed as two overlapping blocks of 16.
            let h = TRIPLE.wrapping_add(fold(first ^ SECRET[0], second ^ SECRET[1]));
            avalanche(h.wrapping_add(fold(second ^ SECRET[2], third ^ SECRET[3])))
        }
        _ => hash_many(words),
    }
}

/// Returns the hash of a shingle of four or more words.
fn hash_many(words: &[u64]) -> u64 {
    let mut bytes = [0; 8 * crate::config::MAX_SHINGLE as usize];
    let used = &mut bytes[..8 * words.len()];
    for (bytes, word) in used.chunks_exact_mut(8).zip(words) {
        bytes.copy_from_slice(&word.to_le_bytes());
    }
    xxh3_64(used)
}

/// Returns the hash that represents occurrence number `occurrence` (from 0) of a feature in a multiset.
///
/// The first occurrence keeps the hash of the feature, so the set and the multiset of a text without repeats are equal.
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
    fn token_hashes_equal_the_reference_at_every_length_and_level() {
        let mut buffer = vec![0; 400];
        for round in 0..100u32 {
            for (i, byte) in buffer.iter_mut().enumerate() {
                *byte = (i as u32 * 31 + round * 7 + ((i as u32 * round) >> 3)) as u8;
            }
            // All lengths at changing positions, including tokens at the end of the buffer.
            let tokens: Vec<TokenRange> = (0..=40)
                .flat_map(|length| {
                    [0, round, 200 - round, 400 - length]
                        .map(|start| TokenRange { start, end: start + length })
                })
                .rev()
                .collect();
            for hash in [TokenHash::Xxh3, TokenHash::Fnv1a] {
                let expected: Vec<u64> =
                    tokens.iter().map(|token| hash_token(hash, token.of(&buffer))).collect();
                for &level in Level::available() {
                    let mut hashes = vec![0; tokens.len()];
                    simd::hash_tokens(level, hash, &buffer, &tokens, &mut hashes);
                    assert_eq!(hashes, expected, "{hash:?}, {level:?}");
                }
            }
        }
    }

    #[test]
    fn shingle_hash_is_xxh3_of_little_endian_word_hashes() {
        let words: Vec<u64> = (1..=64u64).map(|i| i.wrapping_mul(0x9E37_79B9_7F4A_7C15)).collect();
        for n in 2..=64 {
            assert_eq!(hash_shingle(&words[..n]), xxh3_64(&bytes_of(&words[..n])), "{n} words");
        }
        assert_eq!(hash_shingle(&words[..1]), words[0]);
    }

    #[test]
    fn hashes_equal_the_published_vectors() {
        // From the XXH3 specification's sanity tests and the FNV reference.
        assert_eq!(fnv1a64(b""), 0xCBF2_9CE4_8422_2325);
        assert_eq!(fnv1a64(b"a"), 0xAF63_DC4C_8601_EC8C);
        assert_eq!(fnv1a64(b"foobar"), 0x8594_4171_F739_67E8);
        assert_eq!(hash_token(TokenHash::Xxh3, b""), 0x2D06_8005_38D3_94C2);
    }

    #[test]
    fn occurrences_have_distinct_hashes_and_the_first_keeps_its_own() {
        assert_eq!(hash_occurrence(7, 0), 7);
        assert_ne!(hash_occurrence(7, 1), hash_occurrence(7, 2));
        assert_ne!(hash_occurrence(7, 1), hash_occurrence(8, 1));
    }
}
