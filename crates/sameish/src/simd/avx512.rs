//! Kernels for AVX-512 F, BW, DQ and VL.

use super::{BLOCK, GROUP, Heads, Masks};
use crate::features::hash::{
    FNV_BASIS, FNV_PRIME, PRIME_MX1, PRIME_MX2, PRIME64_2, PRIME64_3, SECRET, TRIPLE,
};
use crate::features::{Head, NearParity};
use crate::text::{PADDING, TokenRange};
use std::arch::x86_64::*;

#[target_feature(enable = "avx512f,avx512bw,avx512dq,avx512vl")]
pub(super) fn classify(text: &[[u8; BLOCK]], lowered: &mut [[u8; BLOCK]], masks: &mut [Masks]) {
    let is = |x: __m512i, byte: u8| _mm512_cmpeq_epi8_mask(x, _mm512_set1_epi8(byte as i8));
    let within = |x: __m512i, first: u8, last: u8| {
        let from_first = _mm512_sub_epi8(x, _mm512_set1_epi8(first as i8));
        _mm512_cmple_epu8_mask(from_first, _mm512_set1_epi8((last - first) as i8))
    };
    for ((block, low), mask) in text.iter().zip(lowered).zip(masks) {
        // SAFETY: the block has the 64 bytes that are read.
        let x = unsafe { _mm512_loadu_si512(block.as_ptr().cast()) };
        let space = _mm512_set1_epi8(0x20);
        let letter = within(_mm512_or_si512(x, space), b'a', b'z');
        let y = or_in_mask(x, letter, space);
        // SAFETY: the block has the 64 bytes that are written.
        unsafe { _mm512_storeu_si512(low.as_mut_ptr().cast(), y) };
        let apostrophe = is(x, b'\'');
        let period = is(x, b'.');
        let control = within(x, 0, 0x1F) & !within(x, b'\t', b'\r');
        *mask = Masks {
            letter,
            digit: within(x, b'0', b'9'),
            underscore: is(x, b'_'),
            mid_letter: apostrophe | period | is(x, b':'),
            mid_number: apostrophe | period | is(x, b',') | is(x, b';'),
            quote: is(x, b'"'),
            complex: control | _mm512_movepi8_mask(x) | is(x, 0x7F),
        };
    }
}

/// Returns `x | y` in the bytes of the mask and `x` elsewhere. There is no masked OR for bytes, but masking `y` is free.
#[target_feature(enable = "avx512f,avx512bw,avx512dq,avx512vl")]
#[inline]
fn or_in_mask(x: __m512i, mask: u64, y: __m512i) -> __m512i {
    _mm512_or_si512(x, _mm512_maskz_mov_epi8(mask, y))
}

#[target_feature(enable = "avx512f,avx512bw,avx512dq,avx512vl")]
pub(super) fn xxh3_tokens(buffer: &[u8], tokens: &[TokenRange], hashes: &mut [u64]) {
    let (groups, rest) = tokens.as_chunks::<8>();
    let (outputs, last) = hashes.as_chunks_mut::<8>();
    for (tokens, hashes) in groups.iter().zip(outputs) {
        match load_eight(buffer, tokens) {
            Some(eight) => xxh3_eight(eight, hashes),
            None => super::scalar::xxh3_tokens(buffer, tokens, hashes),
        }
    }
    super::scalar::xxh3_tokens(buffer, rest, last);
}

/// Eight tokens: their first 8 bytes, the next 8 bytes, and their lengths.
#[derive(Clone, Copy)]
struct Eight {
    lo: __m512i,
    hi: __m512i,
    length: __m512i,
}

/// Loads eight tokens. Returns `None` unless each has 1 to 16 bytes and 16 readable bytes from its start.
#[target_feature(enable = "avx512f,avx512bw,avx512dq,avx512vl")]
#[inline]
fn load_eight(buffer: &[u8], tokens: &[TokenRange; 8]) -> Option<Eight> {
    // SAFETY: eight ranges are 64 bytes, and `TokenRange` has the fixed layout start, end.
    let ranges = unsafe { _mm512_loadu_si512(tokens.as_ptr().cast()) };
    let start = _mm512_and_si512(ranges, _mm512_set1_epi64(0xFFFF_FFFF));
    let length = _mm512_sub_epi64(_mm512_srli_epi64(ranges, 32), start);
    let limit = buffer.len().checked_sub(PADDING)?;
    let beyond = _mm512_cmpgt_epu64_mask(start, _mm512_set1_epi64(limit as i64));
    let unfit =
        _mm512_cmpgt_epu64_mask(_mm512_sub_epi64(length, _mm512_set1_epi64(1)), _mm512_set1_epi64(15));
    if beyond | unfit != 0 {
        return None;
    }
    // SAFETY: no start is beyond the limit, so 16 bytes are readable from each start.
    let bytes = |i: usize| unsafe { _mm_loadu_si128(buffer.as_ptr().add(tokens[i].start as usize).cast()) };
    let two = |i: usize| _mm256_inserti128_si256(_mm256_castsi128_si256(bytes(i)), bytes(i + 1), 1);
    let four = |i: usize| _mm512_inserti64x4(_mm512_castsi256_si512(two(i)), two(i + 2), 1);
    let first = four(0);
    let second = four(4);
    Some(Eight {
        lo: _mm512_permutex2var_epi64(first, _mm512_setr_epi64(0, 2, 4, 6, 8, 10, 12, 14), second),
        hi: _mm512_permutex2var_epi64(first, _mm512_setr_epi64(1, 3, 5, 7, 9, 11, 13, 15), second),
        length,
    })
}

/// Computes the XXH3 of eight tokens: all three length cases for all eight, then selects the right one for each.
#[target_feature(enable = "avx512f,avx512bw,avx512dq,avx512vl")]
#[inline]
fn xxh3_eight(Eight { lo, hi, length }: Eight, hashes: &mut [u64; 8]) {
    let upto8 = _mm512_cmple_epu64_mask(length, _mm512_set1_epi64(8));
    let upto3 = _mm512_cmple_epu64_mask(length, _mm512_set1_epi64(3));
    let hash = xxh3_9_to_16(lo, hi, length);
    let hash = _mm512_mask_mov_epi64(hash, upto8, xxh3_4_to_8(lo, length));
    let hash = _mm512_mask_mov_epi64(hash, upto3, xxh3_1_to_3(lo, length));
    // SAFETY: eight hashes are 64 bytes.
    unsafe { _mm512_storeu_si512(hashes.as_mut_ptr().cast(), hash) };
}

#[target_feature(enable = "avx512f,avx512bw,avx512dq,avx512vl")]
#[inline]
fn xxh3_1_to_3(bytes: __m512i, length: __m512i) -> __m512i {
    let one_byte = _mm512_set1_epi64(0xFF);
    let half = _mm512_slli_epi64(_mm512_srli_epi64(length, 1), 3);
    let all_but_one = _mm512_sub_epi64(_mm512_slli_epi64(length, 3), _mm512_set1_epi64(8));
    let first = _mm512_slli_epi64(_mm512_and_si512(bytes, one_byte), 16);
    let middle = _mm512_slli_epi64(_mm512_and_si512(_mm512_srlv_epi64(bytes, half), one_byte), 24);
    let last = _mm512_and_si512(_mm512_srlv_epi64(bytes, all_but_one), one_byte);
    let size = _mm512_slli_epi64(length, 8);
    let combined = _mm512_or_si512(_mm512_or_si512(first, middle), _mm512_or_si512(last, size));
    let key = (SECRET[0] ^ SECRET[0] >> 32) & 0xFFFF_FFFF;
    let h = _mm512_xor_si512(combined, _mm512_set1_epi64(key as i64));
    let h = _mm512_mullo_epi64(xor_shift::<33>(h), _mm512_set1_epi64(PRIME64_2 as i64));
    let h = _mm512_mullo_epi64(xor_shift::<29>(h), _mm512_set1_epi64(PRIME64_3 as i64));
    xor_shift::<32>(h)
}

#[target_feature(enable = "avx512f,avx512bw,avx512dq,avx512vl")]
#[inline]
fn xxh3_4_to_8(bytes: __m512i, length: __m512i) -> __m512i {
    let shift = _mm512_sub_epi64(_mm512_slli_epi64(length, 3), _mm512_set1_epi64(32));
    let last = _mm512_and_si512(_mm512_srlv_epi64(bytes, shift), _mm512_set1_epi64(0xFFFF_FFFF));
    let sum = _mm512_add_epi64(last, _mm512_slli_epi64(bytes, 32));
    let h = _mm512_xor_si512(sum, _mm512_set1_epi64((SECRET[1] ^ SECRET[2]) as i64));
    let h = _mm512_xor_si512(h, _mm512_xor_si512(_mm512_rol_epi64(h, 49), _mm512_rol_epi64(h, 24)));
    let prime = _mm512_set1_epi64(PRIME_MX2 as i64);
    let h = _mm512_mullo_epi64(h, prime);
    let h = _mm512_xor_si512(h, _mm512_add_epi64(_mm512_srli_epi64(h, 35), length));
    xor_shift::<28>(_mm512_mullo_epi64(h, prime))
}

#[target_feature(enable = "avx512f,avx512bw,avx512dq,avx512vl")]
#[inline]
fn xxh3_9_to_16(lo: __m512i, hi: __m512i, length: __m512i) -> __m512i {
    // The last 8 bytes of the token: the used bytes of `hi`, and the end of `lo` below them.
    let shift = _mm512_sub_epi64(_mm512_slli_epi64(length, 3), _mm512_set1_epi64(64));
    let back = _mm512_sub_epi64(_mm512_set1_epi64(64), shift);
    let end = _mm512_or_si512(_mm512_srlv_epi64(lo, shift), _mm512_sllv_epi64(hi, back));
    let a = _mm512_xor_si512(lo, _mm512_set1_epi64((SECRET[3] ^ SECRET[4]) as i64));
    let b = _mm512_xor_si512(end, _mm512_set1_epi64((SECRET[5] ^ SECRET[6]) as i64));
    let swap = _mm512_set4_epi32(0x0809_0A0B, 0x0C0D_0E0F, 0x0001_0203, 0x0405_0607);
    let sum = _mm512_add_epi64(_mm512_add_epi64(length, _mm512_shuffle_epi8(a, swap)), b);
    let h = _mm512_add_epi64(sum, fold(a, b));
    xor_shift::<32>(_mm512_mullo_epi64(xor_shift::<37>(h), _mm512_set1_epi64(PRIME_MX1 as i64)))
}

/// Returns the XOR of the two halves of each 128-bit product, computed from four products of 32-bit halves.
#[target_feature(enable = "avx512f,avx512bw,avx512dq,avx512vl")]
#[inline]
fn fold(a: __m512i, b: __m512i) -> __m512i {
    let low = _mm512_set1_epi64(0xFFFF_FFFF);
    let a_high = _mm512_srli_epi64(a, 32);
    let b_high = _mm512_srli_epi64(b, 32);
    let low_low = _mm512_mul_epu32(a, b);
    let low_high = _mm512_mul_epu32(a, b_high);
    let high_low = _mm512_mul_epu32(a_high, b);
    let high_high = _mm512_mul_epu32(a_high, b_high);
    let cross = _mm512_add_epi64(_mm512_srli_epi64(low_low, 32), _mm512_and_si512(low_high, low));
    let cross = _mm512_add_epi64(cross, high_low);
    let upper = _mm512_add_epi64(high_high, _mm512_srli_epi64(low_high, 32));
    let upper = _mm512_add_epi64(upper, _mm512_srli_epi64(cross, 32));
    let lower = _mm512_mask_mov_epi32(_mm512_slli_epi64(cross, 32), 0x5555, low_low);
    _mm512_xor_si512(lower, upper)
}

#[target_feature(enable = "avx512f,avx512bw,avx512dq,avx512vl")]
#[inline]
fn xor_shift<const BITS: u32>(h: __m512i) -> __m512i {
    _mm512_xor_si512(h, _mm512_srli_epi64(h, BITS))
}

#[target_feature(enable = "avx512f,avx512bw,avx512dq,avx512vl")]
pub(super) fn hash_triples(words: &[u64], hashes: &mut [u64]) {
    let (groups, rest) = hashes.as_chunks_mut::<8>();
    let key = |i: usize| _mm512_set1_epi64(SECRET[i] as i64);
    for (i, hashes) in groups.iter_mut().enumerate() {
        let window = &words[8 * i..8 * i + 10];
        // SAFETY: the window has ten words, so eight words can be loaded from each of its first three; eight hashes are
        // 64 bytes.
        unsafe {
            let first = _mm512_loadu_si512(window.as_ptr().cast());
            let second = _mm512_loadu_si512(window.as_ptr().add(1).cast());
            let third = _mm512_loadu_si512(window.as_ptr().add(2).cast());
            let one = fold(_mm512_xor_si512(first, key(0)), _mm512_xor_si512(second, key(1)));
            let two = fold(_mm512_xor_si512(second, key(2)), _mm512_xor_si512(third, key(3)));
            let h = _mm512_add_epi64(_mm512_add_epi64(one, two), _mm512_set1_epi64(TRIPLE as i64));
            let h = _mm512_mullo_epi64(xor_shift::<37>(h), _mm512_set1_epi64(PRIME_MX1 as i64));
            _mm512_storeu_si512(hashes.as_mut_ptr().cast(), xor_shift::<32>(h));
        }
    }
    super::scalar::hash_triples(&words[8 * groups.len()..], rest);
}

#[target_feature(enable = "avx512f,avx512bw,avx512dq,avx512vl,bmi1,bmi2,lzcnt,popcnt")]
pub(super) fn list_edges(masks: &[u64], edges: &mut [u32]) -> usize {
    if is_x86_feature_detected!("avx512vbmi2") {
        // SAFETY: the condition has detected AVX-512 VBMI2.
        return unsafe { list_edges_by_compression(masks, edges) };
    }
    super::scalar::list_edges(masks, edges)
}

/// Lists edges by compressing the vector of the bytes 0 to 63 with the edge mask, which leaves the positions of its ones.
#[target_feature(enable = "avx512f,avx512bw,avx512dq,avx512vl,avx512vbmi2,bmi1,bmi2,lzcnt,popcnt")]
fn list_edges_by_compression(masks: &[u64], edges: &mut [u32]) -> usize {
    const POSITIONS: [u8; BLOCK] = {
        let mut positions = [0; BLOCK];
        let mut i = 0;
        while i < BLOCK {
            positions[i] = i as u8;
            i += 1;
        }
        positions
    };
    // SAFETY: there are 64 positions.
    let positions = unsafe { _mm512_loadu_si512(POSITIONS.as_ptr().cast()) };
    let mut count = 0;
    let mut before = 0;
    for (i, &mask) in masks.iter().enumerate() {
        let ones = mask ^ (mask << 1 | before);
        before = mask >> 63;
        let found = ones.count_ones() as usize;
        let packed = _mm512_maskz_compress_epi8(ones, positions);
        let base = _mm512_set1_epi32((i * BLOCK) as i32);
        let widen = |sixteen: __m128i| _mm512_add_epi32(_mm512_cvtepu8_epi32(sixteen), base);
        let output = &mut edges[count..count + BLOCK];
        // SAFETY: the output has 64 items, and 32 or 64 of them are written.
        unsafe {
            let mut write =
                |at: usize, value: __m512i| _mm512_storeu_si512(output.as_mut_ptr().add(at).cast(), value);
            write(0, widen(_mm512_castsi512_si128(packed)));
            write(16, widen(_mm512_extracti32x4_epi32(packed, 1)));
            if found > 32 {
                write(32, widen(_mm512_extracti32x4_epi32(packed, 2)));
                write(48, widen(_mm512_extracti32x4_epi32(packed, 3)));
            }
        }
        count += found;
    }
    count
}

#[target_feature(enable = "avx512f,avx512bw,avx512dq,avx512vl")]
pub(super) fn fnv1a_tokens(buffer: &[u8], tokens: &[TokenRange], hashes: &mut [u64]) {
    let (groups, rest) = tokens.as_chunks::<8>();
    let (outputs, last) = hashes.as_chunks_mut::<8>();
    for (tokens, hashes) in groups.iter().zip(outputs) {
        match load_eight(buffer, tokens) {
            Some(eight) => fnv1a_eight(eight, hashes),
            None => super::scalar::fnv1a_tokens(buffer, tokens, hashes),
        }
    }
    super::scalar::fnv1a_tokens(buffer, rest, last);
}

/// Computes the FNV-1a of eight tokens in lockstep, byte by byte. The hash of a token is final after its last byte.
#[target_feature(enable = "avx512f,avx512bw,avx512dq,avx512vl")]
#[inline]
fn fnv1a_eight(eight: Eight, hashes: &mut [u64; 8]) {
    let prime = _mm512_set1_epi64(FNV_PRIME as i64);
    let mut hash = _mm512_set1_epi64(FNV_BASIS as i64);
    let mut left = eight.length;
    for mut bytes in [eight.lo, eight.hi] {
        for _ in 0..8 {
            let active = _mm512_test_epi64_mask(left, left);
            let byte = _mm512_and_si512(bytes, _mm512_set1_epi64(0xFF));
            hash = _mm512_mask_mullo_epi64(hash, active, _mm512_xor_si512(hash, byte), prime);
            bytes = _mm512_srli_epi64(bytes, 8);
            left = _mm512_mask_sub_epi64(left, active, left, _mm512_set1_epi64(1));
        }
    }
    // SAFETY: eight hashes are 64 bytes.
    unsafe { _mm512_storeu_si512(hashes.as_mut_ptr().cast(), hash) };
}

/// Number of vectors of 16 rows that stay in registers during a pass over the hashes.
const PASS: usize = 8;

#[target_feature(enable = "avx512f,avx512bw,avx512dq,avx512vl")]
pub(super) fn lower_rows(hashes: &[u64], multipliers: &[u32], rows: &mut [u32]) {
    let mut rows = rows.chunks_exact_mut(PASS * 16);
    let mut multipliers = multipliers.chunks_exact(PASS * 8);
    for (rows, multipliers) in (&mut rows).zip(&mut multipliers) {
        lower_pass::<4>(hashes, multipliers, rows);
    }
    let rows = rows.into_remainder().chunks_exact_mut(GROUP);
    for (rows, multipliers) in rows.zip(multipliers.remainder().chunks_exact(GROUP / 2)) {
        lower_pass::<1>(hashes, multipliers, rows);
    }
}

/// Updates `GROUPS` groups of 32 rows.
///
/// Each vector of 16 rows needs two arithmetic instructions per hash, including the minimum, which is what the four vector
/// pipes of Zen 4 sustain in a cycle. A multiplication per vector would halve the throughput, also on Intel.
#[target_feature(enable = "avx512f,avx512bw,avx512dq,avx512vl")]
#[inline]
fn lower_pass<const GROUPS: usize>(hashes: &[u64], multipliers: &[u32], rows: &mut [u32]) {
    assert!(multipliers.len() == GROUPS * 16 && rows.len() == GROUPS * GROUP);
    let mut factor = [_mm512_setzero_si512(); GROUPS];
    let mut plain = factor;
    let mut shifted = factor;
    for g in 0..GROUPS {
        // SAFETY: the assertion checks the lengths: each group has 16 multipliers and 32 rows of 4 bytes.
        unsafe {
            factor[g] = _mm512_loadu_si512(multipliers.as_ptr().add(16 * g).cast());
            plain[g] = _mm512_loadu_si512(rows.as_ptr().add(GROUP * g).cast());
            shifted[g] = _mm512_loadu_si512(rows.as_ptr().add(GROUP * g + 16).cast());
        }
    }
    for hash in hashes {
        // Reading the halves from memory moves the broadcast from the vector pipes to the load ports.
        let halves: *const i32 = std::ptr::from_ref(hash).cast();
        // SAFETY: a hash has 8 bytes; x86-64 is little endian, so its lower half comes first.
        let (lo, hi) = unsafe { (_mm512_set1_epi32(*halves), _mm512_set1_epi32(*halves.add(1))) };
        for g in 0..GROUPS {
            let product = _mm512_mullo_epi32(factor[g], lo);
            plain[g] = _mm512_min_epu32(plain[g], product);
            shifted[g] = _mm512_min_epu32(shifted[g], _mm512_add_epi32(product, hi));
        }
    }
    for g in 0..GROUPS {
        // SAFETY: the assertion checks the lengths: each group has 32 rows of 4 bytes.
        unsafe {
            _mm512_storeu_si512(rows.as_mut_ptr().add(GROUP * g).cast(), plain[g]);
            _mm512_storeu_si512(rows.as_mut_ptr().add(GROUP * g + 16).cast(), shifted[g]);
        }
    }
}

#[target_feature(enable = "avx512f,avx512bw,avx512dq,avx512vl")]
pub(super) fn count_bits(hashes: &[u64], counts: &mut [u32; 64]) {
    let one = _mm512_set1_epi8(1);
    // One-byte counters overflow after 255 hashes.
    for hashes in hashes.chunks(255) {
        let mut sums = _mm512_setzero_si512();
        for &hash in hashes {
            sums = _mm512_mask_add_epi8(sums, hash, sums, one);
        }
        let mut bytes = [0u8; 64];
        // SAFETY: the array has the 64 bytes that are written.
        unsafe { _mm512_storeu_si512(bytes.as_mut_ptr().cast(), sums) };
        for (count, byte) in counts.iter_mut().zip(bytes) {
            *count += u32::from(byte);
        }
    }
}

/// Uses VPOPCNTDQ if the CPU has it; the first CPUs with AVX-512 do not.
#[target_feature(enable = "avx512f,avx512bw,avx512dq,avx512vl")]
pub(super) fn near(codes: &[u64], query: u64, radius: u32, positions: &mut Vec<u32>) {
    if is_x86_feature_detected!("avx512vpopcntdq") {
        // SAFETY: the condition has detected AVX-512 VPOPCNTDQ.
        unsafe { near_by_popcount(codes, query, radius, positions) }
    } else {
        near_by_bytes(codes, query, radius, positions);
    }
}

/// The body of both `near` kernels. It is a macro because only inlined code can use the target features of its caller.
/// Each iteration compares sixteen codes with one branch; the remaining codes are compared under a mask.
macro_rules! near_by {
    ($count:expr, $codes:ident, $query:ident, $radius:ident, $positions:ident) => {
        let target = _mm512_set1_epi64($query as i64);
        let limit = _mm512_set1_epi64(i64::from($radius));
        let hits_of = |x: __m512i| _mm512_cmple_epu64_mask($count(_mm512_xor_si512(x, target)), limit);
        let (rounds, rest) = $codes.as_chunks::<16>();
        let mut base = 0u32;
        for round in rounds {
            let (first, second) = round.split_at(8);
            // SAFETY: eight codes are 64 bytes.
            let (a, b) = unsafe {
                (_mm512_loadu_si512(first.as_ptr().cast()), _mm512_loadu_si512(second.as_ptr().cast()))
            };
            let hits = u32::from(hits_of(a)) | u32::from(hits_of(b)) << 8;
            if hits != 0 {
                push_positions(base, hits, $positions);
            }
            base += 16;
        }
        for piece in rest.chunks(8) {
            let live = 0xFFu8 >> (8 - piece.len());
            // SAFETY: only the codes of the piece are read; the others are masked out.
            let x = unsafe { _mm512_maskz_loadu_epi64(live, piece.as_ptr().cast()) };
            let hits = u32::from(hits_of(x) & live);
            if hits != 0 {
                push_positions(base, hits, $positions);
            }
            base += 8;
        }
    };
}

#[target_feature(enable = "avx512f,avx512bw,avx512dq,avx512vl,avx512vpopcntdq")]
fn near_by_popcount(codes: &[u64], query: u64, radius: u32, positions: &mut Vec<u32>) {
    let count = |x: __m512i| _mm512_popcnt_epi64(x);
    near_by!(count, codes, query, radius, positions);
}

/// Counts ones with a lookup table for half bytes.
#[target_feature(enable = "avx512f,avx512bw,avx512dq,avx512vl")]
pub(super) fn near_by_bytes(codes: &[u64], query: u64, radius: u32, positions: &mut Vec<u32>) {
    let ones = _mm512_broadcast_i32x4(_mm_setr_epi8(0, 1, 1, 2, 1, 2, 2, 3, 1, 2, 2, 3, 2, 3, 3, 4));
    let low = _mm512_set1_epi8(0x0F);
    let count = |x: __m512i| {
        let lower = _mm512_shuffle_epi8(ones, _mm512_and_si512(x, low));
        let upper = _mm512_shuffle_epi8(ones, _mm512_and_si512(_mm512_srli_epi16(x, 4), low));
        _mm512_sad_epu8(_mm512_add_epi8(lower, upper), _mm512_setzero_si512())
    };
    near_by!(count, codes, query, radius, positions);
}

#[target_feature(enable = "avx512f,avx512bw,avx512dq,avx512vl")]
pub(super) fn position(codes: &[u64], code: u64) -> Option<usize> {
    let target = _mm512_set1_epi64(code as i64);
    for (i, piece) in codes.chunks(8).enumerate() {
        let live = 0xFFu8 >> (8 - piece.len());
        // SAFETY: only the codes of the piece are read; the others are masked out.
        let x = unsafe { _mm512_maskz_loadu_epi64(live, piece.as_ptr().cast()) };
        let hits = _mm512_mask_cmpeq_epi64_mask(live, x, target);
        if hits != 0 {
            return Some(8 * i + hits.trailing_zeros() as usize);
        }
    }
    None
}

/// Appends the positions of hits. Not inlined, because hits are rare.
#[cold]
fn push_positions(base: u32, mut hits: u32, positions: &mut Vec<u32>) {
    while hits != 0 {
        positions.push(base + hits.trailing_zeros());
        hits &= hits - 1;
    }
}

#[target_feature(enable = "avx512f,avx512bw,avx512dq,avx512vl,avx2,bmi1,bmi2,lzcnt,popcnt")]
pub(super) fn near_rows(heads: Heads<'_>, query: (&[u64; 8], Head), most: u32, found: &mut Vec<NearParity>) {
    if is_x86_feature_detected!("avx512vpopcntdq") {
        // SAFETY: the condition has detected AVX-512 VPOPCNTDQ.
        unsafe { near_rows_by_popcount(heads, query, most, found) };
    } else {
        super::avx2::near_rows(heads, query, most, found);
    }
}

#[target_feature(enable = "avx512f,avx512bw,avx512dq,avx512vl,avx512vpopcntdq")]
#[target_feature(enable = "avx2,bmi1,bmi2,lzcnt,popcnt")]
fn near_rows_by_popcount(
    heads: Heads<'_>,
    (row, head): (&[u64; 8], Head),
    most: u32,
    found: &mut Vec<NearParity>,
) {
    let [a, b, c, d] = head.map(|word| word as i64);
    let target = _mm512_broadcast_i64x4(_mm256_set_epi64x(d, c, b, a));
    let limit = _mm512_set1_epi64(i64::from(most));
    let (fours, rest) = heads.heads.as_chunks::<4>();
    for (four, at) in fours.iter().zip(heads.at.chunks_exact(4)) {
        // SAFETY: two heads are 64 bytes.
        let x = unsafe { _mm512_loadu_si512(four.as_ptr().cast()) };
        // SAFETY: the other two heads follow them.
        let y = unsafe { _mm512_loadu_si512(four.as_ptr().add(2).cast()) };
        let x = _mm512_popcnt_epi64(_mm512_xor_si512(x, target));
        let y = _mm512_popcnt_epi64(_mm512_xor_si512(y, target));
        // Each pair of words of x, followed by that of y; then the pairs of a head are added.
        let pairs = _mm512_add_epi64(_mm512_unpacklo_epi64(x, y), _mm512_unpackhi_epi64(x, y));
        let sums = _mm512_add_epi64(pairs, _mm512_shuffle_i64x2::<0b10_11_00_01>(pairs, pairs));
        // The sums are those of heads 0, 2, 0, 2, 1, 3, 1, 3.
        let near = _mm512_cmple_epu64_mask(sums, limit);
        if near != 0 {
            for (i, lane) in [0, 4, 1, 5].into_iter().enumerate() {
                if near >> lane & 1 == 1 {
                    super::avx2::push_near_row(&heads.rows[at[i] as usize], row, at[i], most, found);
                }
            }
        }
    }
    let done = heads.heads.len() - rest.len();
    let rest = Heads { heads: rest, at: &heads.at[done..], rows: heads.rows };
    super::avx2::near_rows(rest, (row, head), most, found);
}
