//! How is it made fast on this CPU?
//!
//! The only room with `unsafe`. Each kernel stands in up to three files of equal signature, `scalar.rs`, `avx2.rs` and
//! `avx512.rs`; the scalar one is the definition and the others must agree with it bit for bit. Which one runs is
//! chosen once, by what the CPU has, and can be forced for tests with [`force`].

#[cfg(target_arch = "x86_64")]
mod avx2;
#[cfg(target_arch = "x86_64")]
mod avx512;
mod scalar;

use crate::config::TokenHash;
use crate::error::{Error, Result};
use crate::text::TokenRange;
use std::sync::atomic::{AtomicU8, Ordering};

/// A set of instructions that the kernels are written for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
#[repr(u8)]
pub enum Level {
    /// Plain Rust, on every CPU.
    Scalar = 1,
    /// AVX2 and the bit instructions of its time (BMI1, BMI2, LZCNT, POPCNT), on x86-64 since 2013.
    Avx2 = 2,
    /// AVX-512 F, BW, DQ and VL.
    Avx512 = 3,
}

/// The level in use; 0 until it is first asked for.
static LEVEL: AtomicU8 = AtomicU8::new(0);

impl Level {
    /// The level in use.
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

    /// The best level this CPU has.
    pub fn best() -> Level {
        *Level::available().last().unwrap_or(&Level::Scalar)
    }

    /// All levels this CPU has, the slowest first.
    pub fn available() -> &'static [Level] {
        #[cfg(target_arch = "x86_64")]
        {
            // Every CPU with AVX2 has the others too, but only the asking makes it safe to use them.
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

    fn name(self) -> &'static str {
        match self {
            Level::Scalar => "scalar",
            Level::Avx2 => "avx2",
            Level::Avx512 => "avx512",
        }
    }
}

/// Makes the whole process use one level, by name: `scalar`, `avx2` or `avx512`.
///
/// Sketches do not depend on it; this is for tests and for measuring.
pub fn force(name: &str) -> Result<()> {
    match Level::available().iter().find(|level| level.name() == name) {
        Some(&level) => {
            LEVEL.store(level as u8, Ordering::Relaxed);
            Ok(())
        }
        None => {
            let names: Vec<_> = Level::available().iter().map(|level| level.name()).collect();
            Err(Error::field("simd", name, format!("one of {}, which this CPU has", names.join(", "))))
        }
    }
}

/// Bytes that [`classify`] looks at in one go.
pub(crate) const BLOCK: usize = 64;

/// What the bytes of a block of 64 are, bit i for byte i.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Masks {
    /// `A-Z a-z`
    pub(crate) letter: u64,
    /// `0-9`
    pub(crate) digit: u64,
    /// `_`
    pub(crate) underscore: u64,
    /// `' . :`, which join letters.
    pub(crate) mid_letter: u64,
    /// `' . , ;`, which join digits.
    pub(crate) mid_number: u64,
    /// `"`, which joins Hebrew letters.
    pub(crate) quote: u64,
    /// Anything that needs a closer look: not ASCII, or a control character that is not white space.
    pub(crate) complex: u64,
}

/// Runs the kernel of the given level. `$level` must be one of [`Level::available`].
macro_rules! dispatch {
    ($level:expr, $name:ident ( $($arg:expr),* )) => {
        match $level {
            Level::Scalar => scalar::$name($($arg),*),
            #[cfg(target_arch = "x86_64")]
            Level::Avx2 => {
                debug_assert!(Level::available().contains(&Level::Avx2));
                // SAFETY: the level is only ever chosen from those `available`, so the CPU has AVX2 and its companions.
                unsafe { avx2::$name($($arg),*) }
            }
            #[cfg(target_arch = "x86_64")]
            Level::Avx512 => {
                debug_assert!(Level::available().contains(&Level::Avx512));
                // SAFETY: the level is only ever chosen from those `available`, so the CPU has AVX-512 F, BW, DQ, VL,
                // and whatever AVX2 comes with.
                unsafe { avx512::$name($($arg),*) }
            }
            #[cfg(not(target_arch = "x86_64"))]
            _ => scalar::$name($($arg),*),
        }
    };
}

/// Writes `text` with ASCII letters in lower case to `lowered` and what its bytes are to `masks`.
///
/// Behind the end of the text both see blanks, up to the end of the last block.
///
/// # Panics
/// If `lowered` is not exactly as long as the blocks of `masks`, or the text is longer.
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

/// Writes the hash of each token that lies in the buffer. Fastest where 16 bytes can be read from each token's start.
///
/// # Panics
/// If there are not as many hashes as tokens, or a token does not lie in the buffer.
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

/// Writes the XXH3 of each three consecutive words, given by their hashes.
///
/// # Panics
/// If there are not two words more than hashes.
pub(crate) fn hash_triples(level: Level, words: &[u64], hashes: &mut [u64]) {
    assert!(hashes.is_empty() || words.len() == hashes.len() + 2);
    dispatch!(level, hash_triples(words, hashes));
}

/// Lists where runs of ones begin and end in a long mask, and tells how many such places there are.
///
/// # Panics
/// If there is no room for an edge at every bit and 64 more.
pub(crate) fn list_edges(level: Level, masks: &[u64], edges: &mut [u32]) -> usize {
    assert!(edges.len() >= (masks.len() + 1) * BLOCK);
    dispatch!(level, list_edges(masks, edges))
}

/// Rows that are made with one set of 16 multipliers: 16 plain and 16 with the hash's upper half added.
pub(crate) const GROUP: usize = 32;

/// Lowers each row to the smallest value that the row's hash takes on `hashes`.
///
/// Row `32 g + l` is `a(16 g + l) * lo` and row `32 g + 16 + l` is `a(16 g + l) * lo + hi`, modulo 2^32, where `lo` and
/// `hi` are the halves of a hash.
///
/// # Panics
/// If the rows are not whole groups of 32 with 16 multipliers each.
pub(crate) fn lower_rows(level: Level, hashes: &[u64], multipliers: &[u32], rows: &mut [u32]) {
    assert!(rows.len().is_multiple_of(GROUP) && multipliers.len() * 2 == rows.len());
    dispatch!(level, lower_rows(hashes, multipliers, rows));
}

/// Adds to each of the 64 counters how many of the hashes have that bit set.
pub(crate) fn count_bits(level: Level, hashes: &[u64], counts: &mut [u32; 64]) {
    dispatch!(level, count_bits(hashes, counts));
}

/// Appends the positions of the codes that differ from `query` in at most `radius` bits, in rising order.
pub(crate) fn near(level: Level, codes: &[u64], query: u64, radius: u32, positions: &mut Vec<u32>) {
    dispatch!(level, near(codes, query, radius, positions));
}

/// The first position of a code.
#[inline]
pub(crate) fn position(level: Level, codes: &[u64], code: u64) -> Option<usize> {
    dispatch!(level, position(codes, code))
}

/// Asks the CPU to bring the cache line of `items[index]` closer. Does nothing where that is not known how.
#[inline(always)]
pub(crate) fn prefetch<T>(items: &[T], index: usize) {
    #[cfg(target_arch = "x86_64")]
    {
        use std::arch::x86_64::{_MM_HINT_T0, _mm_prefetch};
        // SAFETY: SSE is part of x86-64, and a prefetch reads nothing: it is allowed on any address.
        unsafe { _mm_prefetch::<_MM_HINT_T0>(items.as_ptr().wrapping_add(index).cast()) };
    }
    #[cfg(not(target_arch = "x86_64"))]
    let _ = (items, index);
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::random::SplitMix64;

    #[test]
    fn classify_agrees_on_every_byte_and_length() {
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
    fn triples_agree_for_every_length() {
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
    fn edges_agree_with_a_walk_over_the_bits() {
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
            let walk = (0..masks.len() * 64).filter(|&i| bit(i) != (i > 0 && bit(i - 1)));
            let expected: Vec<u32> = walk.map(|i| i as u32).collect();
            for &level in Level::available() {
                let mut edges = vec![0; (masks.len() + 1) * BLOCK];
                let count = list_edges(level, &masks, &mut edges);
                assert_eq!(edges[..count], expected, "{level:?}");
            }
        }
    }

    #[test]
    fn rows_agree_for_every_group_count() {
        let mut random = SplitMix64(5);
        for groups in if cfg!(miri) { vec![1, 3] } else { vec![1, 2, 3, 4, 5, 8, 9, 32] } {
            let multipliers: Vec<u32> = (0..groups * 16).map(|_| random.next() as u32 | 1).collect();
            for length in [0, 1, 2, 3, 7, 64, 65] {
                let hashes: Vec<u64> = (0..length).map(|_| random.next()).collect();
                let mut expected = vec![u32::MAX; groups * GROUP];
                lower_rows(Level::Scalar, &hashes, &multipliers, &mut expected);
                for &level in Level::available() {
                    let mut found = vec![u32::MAX; groups * GROUP];
                    // Two calls, because a long text comes in pieces.
                    let (first, second) = hashes.split_at(length / 3);
                    lower_rows(level, first, &multipliers, &mut found);
                    lower_rows(level, second, &multipliers, &mut found);
                    assert_eq!(found, expected, "{level:?}, {groups} groups, {length} hashes");
                }
            }
        }
    }

    #[test]
    fn bit_counts_agree_beyond_a_byte() {
        let mut random = SplitMix64(6);
        // Miri takes minutes for what a CPU does at once.
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
    fn near_codes_agree_for_every_length_and_radius() {
        let mut random = SplitMix64(9);
        let query = random.next();
        for length in (0..40).chain([63, 64, 65, 300]) {
            // Codes at distance 0 to 64, most of them small.
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
    fn positions_agree_for_every_length() {
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
    fn unknown_levels_are_refused() {
        let message = force("mmx").unwrap_err().to_string();
        assert!(message.starts_with("`simd` is mmx: must be one of scalar"), "{message}");
    }
}
