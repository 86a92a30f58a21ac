//! Kernels for AVX2.

use super::{BLOCK, GROUP, Heads, Masks};
use crate::features::{Head, NearParity};
use crate::text::TokenRange;
use std::arch::x86_64::*;

#[target_feature(enable = "avx2")]
pub(super) fn classify(text: &[[u8; BLOCK]], lowered: &mut [[u8; BLOCK]], masks: &mut [Masks]) {
    for ((block, low), mask) in text.iter().zip(lowered).zip(masks) {
        let first = classify_half(block, low, 0);
        let second = classify_half(block, low, 32);
        let join = |part: fn(&Masks) -> u64| part(&first) | part(&second) << 32;
        *mask = Masks {
            letter: join(|m| m.letter),
            digit: join(|m| m.digit),
            underscore: join(|m| m.underscore),
            mid_letter: join(|m| m.mid_letter),
            mid_number: join(|m| m.mid_number),
            quote: join(|m| m.quote),
            complex: join(|m| m.complex),
        };
    }
}

/// Classifies half a block. The masks have 32 bits.
#[target_feature(enable = "avx2")]
#[inline]
fn classify_half(block: &[u8; BLOCK], low: &mut [u8; BLOCK], at: usize) -> Masks {
    let bits = |x: __m256i| u64::from(_mm256_movemask_epi8(x) as u32);
    let is = |x: __m256i, byte: u8| _mm256_cmpeq_epi8(x, _mm256_set1_epi8(byte as i8));
    let within = |x: __m256i, first: u8, last: u8| {
        let from_first = _mm256_sub_epi8(x, _mm256_set1_epi8(first as i8));
        let capped = _mm256_min_epu8(from_first, _mm256_set1_epi8((last - first) as i8));
        _mm256_cmpeq_epi8(from_first, capped)
    };
    assert!(at + 32 <= BLOCK);
    // SAFETY: the assertion ensures that the 32 bytes from `at` are inside the block.
    let x = unsafe { _mm256_loadu_si256(block.as_ptr().add(at).cast()) };
    let space = _mm256_set1_epi8(0x20);
    let letter = within(_mm256_or_si256(x, space), b'a', b'z');
    let y = _mm256_or_si256(x, _mm256_and_si256(letter, space));
    // SAFETY: the assertion ensures that the 32 bytes from `at` are inside `low`, which is as long as the block.
    unsafe { _mm256_storeu_si256(low.as_mut_ptr().add(at).cast(), y) };
    let both = _mm256_or_si256(is(x, b'\''), is(x, b'.'));
    let number = _mm256_or_si256(is(x, b','), is(x, b';'));
    let control = _mm256_andnot_si256(within(x, b'\t', b'\r'), within(x, 0, 0x1F));
    let complex = _mm256_or_si256(_mm256_or_si256(control, x), is(x, 0x7F));
    Masks {
        letter: bits(letter),
        digit: bits(within(x, b'0', b'9')),
        underscore: bits(is(x, b'_')),
        mid_letter: bits(_mm256_or_si256(both, is(x, b':'))),
        mid_number: bits(_mm256_or_si256(both, number)),
        quote: bits(is(x, b'"')),
        // The mask takes the top bit of each byte, which is set in bytes that are not ASCII.
        complex: bits(complex),
    }
}

/// Calls the scalar kernel: AVX2 has no 64-bit multiplication, so vectors are not faster.
#[target_feature(enable = "avx2")]
pub(super) fn xxh3_tokens(buffer: &[u8], tokens: &[TokenRange], hashes: &mut [u64]) {
    super::scalar::xxh3_tokens(buffer, tokens, hashes);
}

/// Calls the scalar kernel, for the same reason as [`xxh3_tokens`].
#[target_feature(enable = "avx2")]
pub(super) fn fnv1a_tokens(buffer: &[u8], tokens: &[TokenRange], hashes: &mut [u64]) {
    super::scalar::fnv1a_tokens(buffer, tokens, hashes);
}

#[target_feature(enable = "avx2,bmi2")]
pub(super) fn hash_triples(words: &[u64], hashes: &mut [u64]) {
    super::scalar::hash_triples(words, hashes);
}

#[target_feature(enable = "avx2,bmi1,bmi2,lzcnt,popcnt")]
pub(super) fn list_edges(masks: &[u64], edges: &mut [u32]) -> usize {
    super::scalar::list_edges(masks, edges)
}

#[target_feature(enable = "avx2")]
pub(super) fn lower_rows(hashes: &[u64], multipliers: &[u32], rows: &mut [u32]) {
    let mut rows = rows.chunks_exact_mut(2 * GROUP);
    let mut multipliers = multipliers.chunks_exact(GROUP);
    for (rows, multipliers) in (&mut rows).zip(&mut multipliers) {
        lower_pass::<2>(hashes, multipliers, rows);
    }
    let rows = rows.into_remainder().chunks_exact_mut(GROUP);
    for (rows, multipliers) in rows.zip(multipliers.remainder().chunks_exact(GROUP / 2)) {
        lower_pass::<1>(hashes, multipliers, rows);
    }
}

/// Updates `GROUPS` groups of 32 rows, each in four vectors of eight. Two groups fill the sixteen vector registers.
#[target_feature(enable = "avx2")]
#[inline]
fn lower_pass<const GROUPS: usize>(hashes: &[u64], multipliers: &[u32], rows: &mut [u32]) {
    assert!(multipliers.len() == GROUPS * 16 && rows.len() == GROUPS * GROUP);
    let zero = _mm256_setzero_si256();
    let mut factor = [[zero; 2]; GROUPS];
    let mut plain = [[zero; 2]; GROUPS];
    let mut shifted = [[zero; 2]; GROUPS];
    for g in 0..GROUPS {
        for half in 0..2 {
            // SAFETY: the assertion checks the lengths: each group has 16 multipliers and 32 rows of 4 bytes.
            unsafe {
                factor[g][half] = _mm256_loadu_si256(multipliers.as_ptr().add(16 * g + 8 * half).cast());
                plain[g][half] = _mm256_loadu_si256(rows.as_ptr().add(GROUP * g + 8 * half).cast());
                shifted[g][half] = _mm256_loadu_si256(rows.as_ptr().add(GROUP * g + 16 + 8 * half).cast());
            }
        }
    }
    for hash in hashes {
        let halves: *const i32 = std::ptr::from_ref(hash).cast();
        // SAFETY: a hash has 8 bytes; x86-64 is little endian, so its lower half comes first.
        let (lo, hi) = unsafe { (_mm256_set1_epi32(*halves), _mm256_set1_epi32(*halves.add(1))) };
        for g in 0..GROUPS {
            for half in 0..2 {
                let product = _mm256_mullo_epi32(factor[g][half], lo);
                plain[g][half] = _mm256_min_epu32(plain[g][half], product);
                shifted[g][half] = _mm256_min_epu32(shifted[g][half], _mm256_add_epi32(product, hi));
            }
        }
    }
    for g in 0..GROUPS {
        for half in 0..2 {
            // SAFETY: the assertion checks the lengths: each group has 32 rows of 4 bytes.
            unsafe {
                _mm256_storeu_si256(rows.as_mut_ptr().add(GROUP * g + 8 * half).cast(), plain[g][half]);
                _mm256_storeu_si256(
                    rows.as_mut_ptr().add(GROUP * g + 16 + 8 * half).cast(),
                    shifted[g][half],
                );
            }
        }
    }
}

#[target_feature(enable = "avx2")]
pub(super) fn count_bits(hashes: &[u64], counts: &mut [u32; 64]) {
    // Byte i of the result is -1 if bit i of the half is set: broadcast the half, repeat each of its bytes eight times,
    // select one bit per byte, compare.
    let spread = _mm256_setr_epi8(
        0, 0, 0, 0, 0, 0, 0, 0, 1, 1, 1, 1, 1, 1, 1, 1, 2, 2, 2, 2, 2, 2, 2, 2, 3, 3, 3, 3, 3, 3, 3, 3,
    );
    let pick = _mm256_set1_epi64x(0x8040_2010_0804_0201_u64 as i64);
    let ones = |half: u32| {
        let bytes = _mm256_shuffle_epi8(_mm256_set1_epi32(half as i32), spread);
        _mm256_cmpeq_epi8(_mm256_and_si256(bytes, pick), pick)
    };
    // One-byte counters overflow after 255 hashes.
    for hashes in hashes.chunks(255) {
        let mut sums = [_mm256_setzero_si256(); 2];
        for &hash in hashes {
            sums[0] = _mm256_sub_epi8(sums[0], ones(hash as u32));
            sums[1] = _mm256_sub_epi8(sums[1], ones((hash >> 32) as u32));
        }
        let mut bytes = [[0u8; 32]; 2];
        for (bytes, sums) in bytes.iter_mut().zip(sums) {
            // SAFETY: the array has the 32 bytes that are written.
            unsafe { _mm256_storeu_si256(bytes.as_mut_ptr().cast(), sums) };
        }
        for (count, &byte) in counts.iter_mut().zip(bytes.as_flattened()) {
            *count += u32::from(byte);
        }
    }
}

/// Counts ones with a lookup table for half bytes (Muła, Kurz and Lemire, 2018).
#[target_feature(enable = "avx2,bmi1,bmi2,lzcnt,popcnt")]
pub(super) fn near(codes: &[u64], query: u64, radius: u32, positions: &mut Vec<u32>) {
    let ones = _mm256_broadcastsi128_si256(_mm_setr_epi8(0, 1, 1, 2, 1, 2, 2, 3, 1, 2, 2, 3, 2, 3, 3, 4));
    let low = _mm256_set1_epi8(0x0F);
    let target = _mm256_set1_epi64x(query as i64);
    let limit = _mm256_set1_epi64x(i64::from(radius));
    let (fours, rest) = codes.as_chunks::<4>();
    for (i, four) in fours.iter().enumerate() {
        // SAFETY: four codes are 32 bytes.
        let x = _mm256_xor_si256(unsafe { _mm256_loadu_si256(four.as_ptr().cast()) }, target);
        let lower = _mm256_shuffle_epi8(ones, _mm256_and_si256(x, low));
        let upper = _mm256_shuffle_epi8(ones, _mm256_and_si256(_mm256_srli_epi16(x, 4), low));
        let distance = _mm256_sad_epu8(_mm256_add_epi8(lower, upper), _mm256_setzero_si256());
        let far = _mm256_cmpgt_epi64(distance, limit);
        let mut hits = !_mm256_movemask_pd(_mm256_castsi256_pd(far)) as u32 & 0xF;
        while hits != 0 {
            positions.push(4 * i as u32 + hits.trailing_zeros());
            hits &= hits - 1;
        }
    }
    for (i, code) in rest.iter().enumerate() {
        if (code ^ query).count_ones() <= radius {
            positions.push((4 * fours.len() + i) as u32);
        }
    }
}

#[target_feature(enable = "avx2,bmi1,bmi2,lzcnt,popcnt")]
pub(super) fn position(codes: &[u64], code: u64) -> Option<usize> {
    let target = _mm256_set1_epi64x(code as i64);
    let (fours, rest) = codes.as_chunks::<4>();
    for (i, four) in fours.iter().enumerate() {
        // SAFETY: four codes are 32 bytes.
        let equal = _mm256_cmpeq_epi64(unsafe { _mm256_loadu_si256(four.as_ptr().cast()) }, target);
        let hits = _mm256_movemask_pd(_mm256_castsi256_pd(equal)) as u32;
        if hits != 0 {
            return Some(4 * i + hits.trailing_zeros() as usize);
        }
    }
    Some(4 * fours.len() + super::scalar::position(rest, code)?)
}

/// Uses POPCNT: for heads of 16 bytes, sums of two counts are as fast as counts in vectors.
#[target_feature(enable = "avx2,bmi1,bmi2,lzcnt,popcnt")]
pub(super) fn near_rows(
    heads: Heads<'_>,
    (row, head): (&[u64; 8], Head),
    most: u32,
    found: &mut Vec<NearParity>,
) {
    for (other, &at) in heads.heads.iter().zip(heads.at) {
        let count = |i: usize| _popcnt64((other[i] ^ head[i]) as i64);
        let differing = count(0) + count(1) + (count(2) + count(3));
        if differing as u32 <= most {
            push_near_row(&heads.rows[at as usize], row, at, most, found);
        }
    }
}

/// Appends a row if it differs in at most `most` bits.
#[target_feature(enable = "popcnt")]
#[inline]
pub(super) fn push_near_row(
    other: &[u64; 8],
    row: &[u64; 8],
    at: u32,
    most: u32,
    found: &mut Vec<NearParity>,
) {
    let count = |i: usize| _popcnt64((other[i] ^ row[i]) as i64);
    let low = count(0) + count(1) + count(2) + count(3);
    let high = count(4) + count(5) + count(6) + count(7);
    let differing = (low + high) as u32;
    if differing <= most {
        found.push(NearParity { at, differing });
    }
}
