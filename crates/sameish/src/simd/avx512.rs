//! The kernels for AVX-512 F, BW, DQ and VL.

use super::{BLOCK, GROUP, Masks};
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
        let blank = _mm512_set1_epi8(0x20);
        let letter = within(_mm512_or_si512(x, blank), b'a', b'z');
        let y = _mm512_mask_or_epi64_bytes(x, letter, blank);
        // SAFETY: the block has the 64 bytes that are written.
        unsafe { _mm512_storeu_si512(low.as_mut_ptr().cast(), y) };
        let (apostrophe, stop) = (is(x, b'\''), is(x, b'.'));
        let control = within(x, 0, 0x1F) & !within(x, b'\t', b'\r');
        *mask = Masks {
            letter,
            digit: within(x, b'0', b'9'),
            underscore: is(x, b'_'),
            mid_letter: apostrophe | stop | is(x, b':'),
            mid_number: apostrophe | stop | is(x, b',') | is(x, b';'),
            quote: is(x, b'"'),
            complex: control | _mm512_movepi8_mask(x) | is(x, 0x7F),
        };
    }
}

/// `x | y` in the bytes of the mask: there is no such instruction for bytes, but the blend is free.
#[target_feature(enable = "avx512f,avx512bw,avx512dq,avx512vl")]
#[inline]
fn _mm512_mask_or_epi64_bytes(x: __m512i, mask: u64, y: __m512i) -> __m512i {
    _mm512_or_si512(x, _mm512_maskz_mov_epi8(mask, y))
}

/// Vectors of 16 rows that are kept in registers while the hashes go by.
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

/// Lowers `GROUPS` groups of 32 rows. Two additions or multiplications a vector of rows, counting the minimum, is what
/// the four vector pipes of Zen 4 sustain in a cycle; a multiplication for each vector would halve that on Intel too.
#[target_feature(enable = "avx512f,avx512bw,avx512dq,avx512vl")]
#[inline]
fn lower_pass<const GROUPS: usize>(hashes: &[u64], multipliers: &[u32], rows: &mut [u32]) {
    assert!(multipliers.len() == GROUPS * 16 && rows.len() == GROUPS * GROUP);
    let mut factor = [_mm512_setzero_si512(); GROUPS];
    let mut plain = factor;
    let mut shifted = factor;
    for g in 0..GROUPS {
        // SAFETY: the lengths were checked above; each group has 16 multipliers and 32 rows of 4 bytes.
        unsafe {
            factor[g] = _mm512_loadu_si512(multipliers.as_ptr().add(16 * g).cast());
            plain[g] = _mm512_loadu_si512(rows.as_ptr().add(GROUP * g).cast());
            shifted[g] = _mm512_loadu_si512(rows.as_ptr().add(GROUP * g + 16).cast());
        }
    }
    for hash in hashes {
        // Reading the halves from memory lets the load ports do the broadcast, not the vector pipes.
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
        // SAFETY: as for the loads above.
        unsafe {
            _mm512_storeu_si512(rows.as_mut_ptr().add(GROUP * g).cast(), plain[g]);
            _mm512_storeu_si512(rows.as_mut_ptr().add(GROUP * g + 16).cast(), shifted[g]);
        }
    }
}

#[target_feature(enable = "avx512f,avx512bw,avx512dq,avx512vl")]
pub(super) fn count_bits(hashes: &[u64], counts: &mut [u32; 64]) {
    let one = _mm512_set1_epi8(1);
    // 64 counters of a byte overflow after 255 hashes.
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
