//! Portable kernels: the reference for all other levels.

use super::{BLOCK, GROUP, Heads, Masks};
pub(super) use crate::features::hash::xxh3_tokens;
use crate::features::{Head, NearParity};
use crate::text::TokenRange;

pub(super) fn classify(text: &[[u8; BLOCK]], lowered: &mut [[u8; BLOCK]], masks: &mut [Masks]) {
    for ((block, low), mask) in text.iter().zip(lowered).zip(masks) {
        *low = block.map(|byte| byte.to_ascii_lowercase());
        *mask = Masks::default();
        for (i, &byte) in block.iter().enumerate() {
            let kinds = KINDS[usize::from(byte)];
            let bit = |kind: u8| u64::from(kinds & kind != 0) << i;
            mask.letter |= bit(LETTER);
            mask.digit |= bit(DIGIT);
            mask.underscore |= bit(UNDERSCORE);
            mask.mid_letter |= bit(MID_LETTER);
            mask.mid_number |= bit(MID_NUMBER);
            mask.quote |= bit(QUOTE);
            mask.complex |= bit(COMPLEX);
        }
    }
}

const LETTER: u8 = 1;
const DIGIT: u8 = 2;
const UNDERSCORE: u8 = 4;
const MID_LETTER: u8 = 8;
const MID_NUMBER: u8 = 16;
const QUOTE: u8 = 32;
const COMPLEX: u8 = 64;

/// The classes of each byte.
static KINDS: [u8; 256] = {
    let mut kinds = [0; 256];
    let mut byte = 0;
    while byte < 256 {
        kinds[byte] = match byte as u8 {
            b'a'..=b'z' | b'A'..=b'Z' => LETTER,
            b'0'..=b'9' => DIGIT,
            b'_' => UNDERSCORE,
            b'\'' | b'.' => MID_LETTER | MID_NUMBER,
            b':' => MID_LETTER,
            b',' | b';' => MID_NUMBER,
            b'"' => QUOTE,
            b'\t'..=b'\r' => 0,
            0..=0x08 | 0x0E..=0x1F | 0x7F..=0xFF => COMPLEX,
            _ => 0,
        };
        byte += 1;
    }
    kinds
};

#[inline]
pub(super) fn fnv1a_tokens(buffer: &[u8], tokens: &[TokenRange], hashes: &mut [u64]) {
    for (hash, token) in hashes.iter_mut().zip(tokens) {
        *hash = crate::features::fnv1a64(token.of(buffer));
    }
}

#[inline]
pub(super) fn hash_triples(words: &[u64], hashes: &mut [u64]) {
    for (hash, triple) in hashes.iter_mut().zip(words.array_windows::<3>()) {
        *hash = crate::features::hash_shingle(triple);
    }
}

/// Always inlined, so that callers compiled for BMI and LZCNT use the instructions for counting zeros, which halves the
/// time.
#[inline(always)]
pub(super) fn list_edges(masks: &[u64], edges: &mut [u32]) -> usize {
    let mut count = 0;
    let mut before = 0;
    for (i, &mask) in masks.iter().enumerate() {
        let mut left = mask ^ (mask << 1 | before);
        before = mask >> 63;
        let found = left.count_ones() as usize;
        let mut at = count;
        // Writing eight edges unconditionally is cheaper than a mispredicted branch per block.
        loop {
            for edge in &mut edges[at..at + 8] {
                *edge = (i * BLOCK) as u32 + left.trailing_zeros();
                left &= left.wrapping_sub(1);
            }
            at += 8;
            if left == 0 {
                break;
            }
        }
        count += found;
    }
    count
}

pub(super) fn lower_rows(hashes: &[u64], multipliers: &[u32], rows: &mut [u32]) {
    let (multipliers, _) = multipliers.as_chunks::<{ GROUP / 2 }>();
    let (rows, _) = rows.as_chunks_mut::<GROUP>();
    for (group, multipliers) in rows.iter_mut().zip(multipliers) {
        let mut best = *group;
        for &hash in hashes {
            let (lo, hi) = (hash as u32, (hash >> 32) as u32);
            for (lane, multiplier) in multipliers.iter().enumerate() {
                let plain = multiplier.wrapping_mul(lo);
                best[lane] = best[lane].min(plain);
                best[lane + 16] = best[lane + 16].min(plain.wrapping_add(hi));
            }
        }
        *group = best;
    }
}

pub(super) fn count_bits(hashes: &[u64], counts: &mut [u32; 64]) {
    for hash in hashes {
        for (bit, count) in counts.iter_mut().enumerate() {
            *count += (hash >> bit & 1) as u32;
        }
    }
}

pub(super) fn near(codes: &[u64], query: u64, radius: u32, positions: &mut Vec<u32>) {
    for (i, code) in codes.iter().enumerate() {
        if (code ^ query).count_ones() <= radius {
            positions.push(i as u32);
        }
    }
}

pub(super) fn position(codes: &[u64], code: u64) -> Option<usize> {
    codes.iter().position(|&other| other == code)
}

pub(super) fn near_rows(
    Heads { heads, at, rows }: Heads<'_>,
    (row, head): (&[u64; 8], Head),
    most: u32,
    found: &mut Vec<NearParity>,
) {
    let differing = |a: &[u64], b: &[u64]| a.iter().zip(b).map(|(a, b)| (a ^ b).count_ones()).sum::<u32>();
    for (other, &at) in heads.iter().zip(at) {
        if differing(other, &head) <= most {
            let differing = differing(&rows[at as usize], row);
            if differing <= most {
                found.push(NearParity { at, differing });
            }
        }
    }
}
