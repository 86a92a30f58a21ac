//! SIMD kernels, selected by the features of the CPU.
//!
//! This is the only module with `unsafe` code. Each kernel has the same signature in `scalar.rs`, `avx2.rs` and
//! `avx512.rs`. The scalar version is the definition; the others must return identical results. The level is selected once,
//! from the CPU's features, and can be overridden with [`force`], for tests and measurements.

#[cfg(target_arch = "x86_64")]
mod avx2;
#[cfg(target_arch = "x86_64")]
mod avx512;
mod scalar;

use crate::config::TokenHash;
use crate::error::{Error, Result};
use crate::features::{Head, NearParity};
use crate::text::TokenRange;
use std::sync::atomic::{AtomicU8, Ordering};

/// An instruction set that the kernels are written for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
#[repr(u8)]
pub enum Level {
    /// Portable Rust, for every CPU.
    Scalar = 1,
    /// AVX2 and the bit manipulation instructions BMI1, BMI2, LZCNT and POPCNT, available on x86-64 since 2013.
    Avx2 = 2,
    /// AVX-512 F, BW, DQ and VL.
    Avx512 = 3,
}

/// The level in use, or 0 before the first call of [`Level::current`].
static LEVEL: AtomicU8 = AtomicU8::new(0);

impl Level {
    /// Returns the level in use.
    pub fn current() -> Level {
        match LEVEL.load(Ordering::Relaxed) {
            1 => Level::Scalar,
            2 => Level::Avx2,
            3 => Level::Avx512,
            _ => {
                let best = Level::best();
                LEVEL.store(best as u8, Ordering::Relaxed);
                best
            }
        }
    }

    /// Returns the best level that this CPU supports.
    pub fn best() -> Level {
        *Level::available().last().unwrap_or(&Level::Scalar)
    }

    /// Returns all levels that this CPU supports, slowest first.
    pub fn available() -> &'static [Level] {
        #[cfg(target_arch = "x86_64")]
        {
            // Every CPU with AVX2 has the other features, too, but using them is sound only after detection.
            let avx2 = is_x86_feature_detected!("avx2")
                && is_x86_feature_detected!("bmi1")
                && is_x86_feature_detected!("bmi2")
                && is_x86_feature_detected!("lzcnt")
                && is_x86_feature_detected!("popcnt");
            let avx512 = is_x86_feature_detected!("avx512f")
                && is_x86_feature_detected!("avx512bw")
                && is_x86_feature_detected!("avx512dq")
                && is_x86_feature_detected!("avx512vl");
            if avx2 && avx512 {
                return &[Level::Scalar, Level::Avx2, Level::Avx512];
            }
            if avx2 {
                return &[Level::Scalar, Level::Avx2];
            }
        }
        &[Level::Scalar]
    }

    /// Returns the name by which [`force`] selects the level.
    pub fn name(self) -> &'static str {
        match self {
            Level::Scalar => "scalar",
            Level::Avx2 => "avx2",
            Level::Avx512 => "avx512",
        }
    }
}

/// Sets the level for the whole process, by name: `scalar`, `avx2` or `avx512`. Returns an error if this CPU does not
/// support the level.
///
/// Results do not depend on the level. This function is for tests and measurements.
pub fn force(name: &str) -> Result<()> {
    match Level::available().iter().find(|level| level.name() == name) {
        Some(&level) => {
            LEVEL.store(level as u8, Ordering::Relaxed);
            Ok(())
        }
        None => {
            let names: Vec<_> = Level::available().iter().map(|level| level.name()).collect();
            Err(Error::field("simd", name, format!("one of {}, which this CPU supports", names.join(", "))))
        }
    }
}

/// Bytes per block of [`classify`].
pub(crate) const BLOCK: usize = 64;

/// The character classes of a block of 64 bytes. Bit i of each mask belongs to byte i.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Masks {
    /// `A-Z a-z`
    pub(crate) letter: u64,
    /// `0-9`
    pub(crate) digit: u64,
    /// `_`
    pub(crate) underscore: u64,
    /// `' . :`, which join two letters.
    pub(crate) mid_letter: u64,
    /// `' . , ;`, which join two digits.
    pub(crate) mid_number: u64,
    /// `"`, which joins two Hebrew letters.
    pub(crate) quote: u64,
    /// Bytes that need the slow path: not ASCII, or a control character that is not whitespace.
    pub(crate) complex: u64,
}

/// Calls the kernel of the given level. `$level` must be one of [`Level::available`].
macro_rules! dispatch {
    ($level:expr, $name:ident ( $($arg:expr),* )) => {
        match $level {
            Level::Scalar => scalar::$name($($arg),*),
            #[cfg(target_arch = "x86_64")]
            Level::Avx2 => {
                debug_assert!(Level::available().contains(&Level::Avx2));
                // SAFETY: levels are only chosen from `Level::available`, so the CPU has AVX2, BMI1, BMI2, LZCNT and
                // POPCNT.
                unsafe { avx2::$name($($arg),*) }
            }
            #[cfg(target_arch = "x86_64")]
            Level::Avx512 => {
                debug_assert!(Level::available().contains(&Level::Avx512));
                // SAFETY: levels are only chosen from `Level::available`, so the CPU has AVX-512 F, BW, DQ and VL and all
                // features of the level `Avx2`.
                unsafe { avx512::$name($($arg),*) }
            }
            #[cfg(not(target_arch = "x86_64"))]
            _ => scalar::$name($($arg),*),
        }
    };
}

/// Writes `text` with ASCII letters in lower case to `lowered` and the classes of its bytes to `masks`.
///
/// The text is padded with spaces to the end of the last block.
///
/// # Panics
/// If the length of `lowered` is not 64 times the number of masks, or if the text is longer.
pub(crate) fn classify(level: Level, text: &[u8], lowered: &mut [u8], masks: &mut [Masks]) {
    assert!(lowered.len() == masks.len() * BLOCK && text.len() <= lowered.len());
    let (blocks, tail) = text.as_chunks::<BLOCK>();
    let (lowered, _) = lowered.as_chunks_mut::<BLOCK>();
    let whole = blocks.len();
    dispatch!(level, classify(blocks, &mut lowered[..whole], &mut masks[..whole]));
    let mut last = [[b' '; BLOCK]];
    last[0][..tail.len()].copy_from_slice(tail);
    for at in whole..masks.len() {
        dispatch!(level, classify(&last, &mut lowered[at..=at], &mut masks[at..=at]));
        last = [[b' '; BLOCK]];
    }
}

/// Writes the hash of each token in a buffer. Fastest if 16 bytes are readable from the start of each token.
///
/// # Panics
/// If the numbers of hashes and tokens differ, or if a token is not inside the buffer.
pub(crate) fn hash_tokens(
    level: Level,
    hash: TokenHash,
    buffer: &[u8],
    tokens: &[TokenRange],
    hashes: &mut [u64],
) {
    assert!(tokens.len() == hashes.len());
    match hash {
        TokenHash::Fnv1a => dispatch!(level, fnv1a_tokens(buffer, tokens, hashes)),
        TokenHash::Xxh3 => dispatch!(level, xxh3_tokens(buffer, tokens, hashes)),
    }
}

/// Writes the hash of each shingle of three consecutive words, given the hashes of the words.
///
/// # Panics
/// If `hashes` is not empty and `words` does not have two items more than `hashes`.
pub(crate) fn hash_triples(level: Level, words: &[u64], hashes: &mut [u64]) {
    assert!(hashes.is_empty() || words.len() == hashes.len() + 2);
    dispatch!(level, hash_triples(words, hashes));
}

/// Writes the positions at which runs of ones begin and end in a long mask, and returns the number of positions.
///
/// # Panics
/// If `edges` is shorter than the number of bits plus 64.
pub(crate) fn list_edges(level: Level, masks: &[u64], edges: &mut [u32]) -> usize {
    assert!(edges.len() >= (masks.len() + 1) * BLOCK);
    dispatch!(level, list_edges(masks, edges))
}

/// Number of MinHash rows per 16 multipliers: 16 rows without and 16 rows with the upper half of the hash added.
pub(crate) const GROUP: usize = 32;

/// Updates each MinHash row with the minimum of its hash function over `hashes`.
///
/// Row `32 g + l` is `a(16 g + l) * lo` and row `32 g + 16 + l` is `a(16 g + l) * lo + hi`, modulo 2^32, where `lo` and
/// `hi` are the halves of a hash.
///
/// # Panics
/// If `rows` does not consist of complete groups of 32 with 16 multipliers each.
pub(crate) fn lower_rows(level: Level, hashes: &[u64], multipliers: &[u32], rows: &mut [u32]) {
    assert!(rows.len().is_multiple_of(GROUP) && multipliers.len() * 2 == rows.len());
    dispatch!(level, lower_rows(hashes, multipliers, rows));
}

/// Adds to each of the 64 counters the number of hashes that have this bit set.
pub(crate) fn count_bits(level: Level, hashes: &[u64], counts: &mut [u32; 64]) {
    dispatch!(level, count_bits(hashes, counts));
}

/// Appends the positions of the codes that differ from `query` in at most `radius` bits, in ascending order.
pub(crate) fn near(level: Level, codes: &[u64], query: u64, radius: u32, positions: &mut Vec<u32>) {
    dispatch!(level, near(codes, query, radius, positions));
}

/// Rows of a [`ParityList`](crate::features::ParityList) that are scanned by their heads.
#[derive(Clone, Copy)]
pub(crate) struct Heads<'a> {
    pub(crate) heads: &'a [Head],
    /// Positions of the rows in `rows`.
    pub(crate) at: &'a [u32],
    pub(crate) rows: &'a [[u64; 8]],
}

/// Appends the rows that differ from the row of `query` in at most `most` bits, in the order of their heads. Reads only rows whose
/// heads differ from the head of `query` in at most as many bits.
///
/// # Panics
/// If the numbers of heads and positions differ, or if a position is not in `rows`.
pub(crate) fn near_rows(
    level: Level,
    heads: Heads<'_>,
    query: (&[u64; 8], Head),
    most: u32,
    found: &mut Vec<NearParity>,
) {
    assert!(heads.heads.len() == heads.at.len());
    dispatch!(level, near_rows(heads, query, most, found));
}

/// Returns the first position of a code.
#[inline]
pub(crate) fn position(level: Level, codes: &[u64], code: u64) -> Option<usize> {
    dispatch!(level, position(codes, code))
}

/// Prefetches the cache line of `items[index]`. Does nothing on architectures other than x86-64.
#[inline(always)]
pub(crate) fn prefetch<T>(items: &[T], index: usize) {
    #[cfg(target_arch = "x86_64")]
    {
        use std::arch::x86_64::{_MM_HINT_T0, _mm_prefetch};
        // SAFETY: SSE is part of x86-64, and a prefetch does not access memory, so any address is allowed.
        unsafe { _mm_prefetch::<_MM_HINT_T0>(items.as_ptr().wrapping_add(index).cast()) };
    }
    #[cfg(not(target_arch = "x86_64"))]
    let _ = (items, index);
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::features::head;
    use crate::random::SplitMix64;

    #[test]
    fn classify_agrees_across_levels_for_every_byte_and_length() {
        let all: Vec<u8> = (0..=255).chain((0..=255).rev()).collect();
        for length in (0..200).chain([511, 512]) {
            let text = &all[512 - length..];
            let blocks = length.div_ceil(BLOCK) + 1;
            let mut expected = (vec![0; blocks * BLOCK], vec![Masks::default(); blocks]);
            classify(Level::Scalar, text, &mut expected.0, &mut expected.1);
            for &level in Level::available() {
                let mut found = (vec![1; blocks * BLOCK], vec![Masks::default(); blocks]);
                classify(level, text, &mut found.0, &mut found.1);
                assert_eq!(found, expected, "{level:?}, {length} bytes");
            }
        }
    }

    #[test]
    fn hash_triples_agrees_across_levels_for_every_length() {
        let mut random = SplitMix64(7);
        let words: Vec<u64> = (0..60).map(|_| random.next()).collect();
        for length in 2..words.len() {
            let mut expected = vec![0; length - 2];
            hash_triples(Level::Scalar, &words[..length], &mut expected);
            for &level in Level::available() {
                let mut found = vec![1; length - 2];
                hash_triples(level, &words[..length], &mut found);
                assert_eq!(found, expected, "{level:?}, {length} words");
            }
        }
    }

    #[test]
    fn list_edges_agrees_with_a_loop_over_the_bits() {
        let mut random = SplitMix64(8);
        for round in 0..200 {
            let masks: Vec<u64> = (0..round % 5)
                .map(|_| match round % 7 {
                    0 => u64::MAX,
                    1 => 0x5555_5555_5555_5555,
                    _ => random.next() & random.next(),
                })
                .collect();
            let bit = |i: usize| masks.get(i / 64).is_some_and(|mask| mask >> (i % 64) & 1 == 1);
            let edges = (0..masks.len() * 64).filter(|&i| bit(i) != (i > 0 && bit(i - 1)));
            let expected: Vec<u32> = edges.map(|i| i as u32).collect();
            for &level in Level::available() {
                let mut edges = vec![0; (masks.len() + 1) * BLOCK];
                let count = list_edges(level, &masks, &mut edges);
                assert_eq!(edges[..count], expected, "{level:?}");
            }
        }
    }

    #[test]
    fn lower_rows_agrees_across_levels_for_every_group_count() {
        let mut random = SplitMix64(5);
        for groups in if cfg!(miri) { vec![1, 3] } else { vec![1, 2, 3, 4, 5, 8, 9, 32] } {
            let multipliers: Vec<u32> = (0..groups * 16).map(|_| random.next() as u32 | 1).collect();
            for length in [0, 1, 2, 3, 7, 64, 65] {
                let hashes: Vec<u64> = (0..length).map(|_| random.next()).collect();
                let mut expected = vec![u32::MAX; groups * GROUP];
                lower_rows(Level::Scalar, &hashes, &multipliers, &mut expected);
                for &level in Level::available() {
                    let mut found = vec![u32::MAX; groups * GROUP];
                    // Two calls, because the features of a long text come in batches.
                    let (first, second) = hashes.split_at(length / 3);
                    lower_rows(level, first, &multipliers, &mut found);
                    lower_rows(level, second, &multipliers, &mut found);
                    assert_eq!(found, expected, "{level:?}, {groups} groups, {length} hashes");
                }
            }
        }
    }

    #[test]
    fn count_bits_agrees_across_levels_beyond_255_hashes() {
        let mut random = SplitMix64(6);
        // Miri would take minutes for the full length.
        let longest = if cfg!(miri) { 600 } else { 70_000 };
        for length in [0, 1, 7, 8, 63, 127, 254, 255, 256, 257, longest] {
            let hashes: Vec<u64> =
                (0..length).map(|i| if i % 3 == 0 { u64::MAX } else { random.next() }).collect();
            let mut expected = [3; 64];
            count_bits(Level::Scalar, &hashes, &mut expected);
            for &level in Level::available() {
                let mut found = [3; 64];
                count_bits(level, &hashes, &mut found);
                assert_eq!(found, expected, "{level:?}, {length} hashes");
            }
        }
    }

    #[test]
    fn near_agrees_across_levels_for_every_length_and_radius() {
        let mut random = SplitMix64(9);
        let query = random.next();
        for length in (0..40).chain([63, 64, 65, 300]) {
            // Codes at distances from 0 to 64, most of them small.
            let code = |i: usize, random: &mut SplitMix64| match i % 4 {
                0 => random.next(),
                1 => !query,
                _ => query ^ (random.next() & random.next() & random.next() & random.next()),
            };
            let codes: Vec<u64> = (0..length).map(|i| code(i, &mut random)).collect();
            for radius in [0, 1, 2, 3, 4, 8, 31, 32, 33, 63, 64] {
                let mut expected = vec![7];
                near(Level::Scalar, &codes, query, radius, &mut expected);
                for &level in Level::available() {
                    let mut found = vec![7];
                    near(level, &codes, query, radius, &mut found);
                    assert_eq!(found, expected, "{level:?}, {length} codes, radius {radius}");
                }
                #[cfg(target_arch = "x86_64")]
                if Level::available().contains(&Level::Avx512) {
                    let mut found = vec![7];
                    // SAFETY: the level is available.
                    unsafe { avx512::near_by_bytes(&codes, query, radius, &mut found) };
                    assert_eq!(found, expected, "without VPOPCNTDQ, {length} codes, radius {radius}");
                }
                prefetch(&codes, length);
            }
        }
    }

    #[test]
    fn near_rows_agrees_across_levels() {
        let mut random = SplitMix64(10);
        let query = [(); 8].map(|()| random.next());
        let mut row =
            |i: usize| query.map(|word| (0..i % 7).fold(word, |word, _| word ^ 1 << random.below(64)));
        let rows: Vec<[u64; 8]> = (0..200).map(&mut row).collect();
        for length in [0, 1, 3, 4, 99] {
            let at: Vec<u32> = (0..length).map(|i| 2 * i + 1).collect();
            let list: Vec<Head> = at.iter().map(|&at| head(&rows[at as usize])).collect();
            let heads = Heads { heads: &list, at: &at, rows: &rows };
            for most in [0, 8, 20, 40, 512] {
                let differing = |&at: &u32| {
                    let bits = rows[at as usize].iter().zip(query).map(|(a, b)| (a ^ b).count_ones());
                    NearParity { at, differing: bits.sum() }
                };
                let expected: Vec<NearParity> =
                    at.iter().map(differing).filter(|near| near.differing <= most).collect();
                assert!(length < 99 || !expected.is_empty());
                for &level in Level::available() {
                    let mut found = Vec::new();
                    near_rows(level, heads, (&query, head(&query)), most, &mut found);
                    assert_eq!(found, expected, "{level:?}");
                }
            }
        }
    }

    #[test]
    fn position_agrees_across_levels_for_every_length() {
        let mut random = SplitMix64(10);
        for length in 0..40 {
            let mut codes: Vec<u64> = (0..length).map(|_| random.next()).collect();
            codes.extend_from_within(..length / 2);
            for &code in codes.iter().chain(&[0, 7]) {
                let expected = codes.iter().position(|&other| other == code);
                for &level in Level::available() {
                    assert_eq!(position(level, &codes, code), expected, "{level:?}, {length} codes");
                }
            }
        }
    }

    #[test]
    fn force_rejects_unknown_levels() {
        let message = force("mmx").unwrap_err().to_string();
        assert!(message.starts_with("`simd` is mmx: must be one of scalar"), "{message}");
    }
}
