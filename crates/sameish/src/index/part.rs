//! Partitions of an index by key range.

use super::plan::TableSpec;
use crate::error::{Error, Result};

/// One of several parts of an index, for example one per machine.
///
/// The key space of each table is divided into `of` contiguous ranges of equal length: a `w`-bit key `k` belongs to part
/// `floor(k * of / 2^w)`. Each part stores the codes whose keys are in its range, for every table. The parts together
/// return exactly the hits of the whole index, each once.
///
/// ```
/// use sameish::index::{DocNumber, HammingIndex, Part};
/// use sameish::Fingerprint;
///
/// let mut parts: Vec<HammingIndex> =
///     (0..4).map(|index| HammingIndex::new(3)?.into_part(Part { index, of: 4 })).collect::<Result<_, _>>()?;
/// let stored = Fingerprint::from_u64(0xABCD);
/// parts.iter_mut().for_each(|part| _ = part.insert(stored, DocNumber(1)));
/// let query = Fingerprint::from_u64(0xABCF);
/// let relevant = parts[0].parts_for(query);
/// let hits = relevant.iter().filter_map(|&i| parts[i as usize].find_first(query)).count();
/// assert_eq!(hits, 1);
/// # Ok::<(), sameish::Error>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Part {
    /// Zero-based index of the part.
    pub index: u32,
    /// Number of parts.
    pub of: u32,
}

/// Maximum number of parts of an index.
const MAX_PARTS: u32 = 65_536;

impl Part {
    /// The only part of an index that is not partitioned.
    pub const WHOLE: Part = Part { index: 0, of: 1 };

    /// Returns `true` if the index is divided into several parts.
    pub fn is_partial(&self) -> bool {
        self.of > 1
    }

    pub(super) fn check(self) -> Result<Part> {
        if !(1..=MAX_PARTS).contains(&self.of) {
            return Err(Error::field("part.of", self.of, format!("1 to {MAX_PARTS}")));
        }
        if self.index >= self.of {
            return Err(Error::field("part.index", self.index, format!("less than the {} parts", self.of)));
        }
        Ok(self)
    }

    /// Returns `true` if this part stores the code in the table with this specification.
    #[inline]
    pub(super) fn owns(&self, spec: &TableSpec, code: u64) -> bool {
        !self.is_partial() || self.part_of(spec, gather(code, spec.mask)) == self.index
    }

    /// Returns the part to which a key of the table belongs. If there are more parts than keys, some parts are empty.
    fn part_of(&self, spec: &TableSpec, key: u64) -> u32 {
        ((u128::from(key) * u128::from(self.of)) >> spec.mask.count_ones()) as u32
    }

    /// Marks the parts to which keys within `spec.flips` bits of the code's key belong.
    pub(super) fn mark(&self, spec: &TableSpec, code: u64, marked: &mut [bool]) {
        let key = gather(code, spec.mask);
        self.mark_flipped(spec, key, spec.mask.count_ones(), spec.flips, marked);
    }

    /// Marks the parts of all keys that differ from `key` in at most `flips` of the lowest `bits` bits. Skips bits that are too
    /// low to change the part.
    fn mark_flipped(&self, spec: &TableSpec, key: u64, bits: u32, flips: u32, marked: &mut [bool]) {
        marked[self.part_of(spec, key) as usize] = true;
        if flips == 0 {
            return;
        }
        for bit in 0..bits {
            let below = (2u64 << bit) - 1;
            if flips == 1 && self.part_of(spec, key & !below) == self.part_of(spec, key | below) {
                continue;
            }
            self.mark_flipped(spec, key ^ 1 << bit, bit, flips - 1, marked);
        }
    }
}

/// Gathers the masked bits into the low bits of the result, like the x86 instruction PEXT.
pub(super) fn gather(code: u64, mask: u64) -> u64 {
    let mut rest = mask;
    let mut key = 0;
    let mut at = 0;
    while rest != 0 {
        key |= (code >> rest.trailing_zeros() & 1) << at;
        rest &= rest - 1;
        at += 1;
    }
    key
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::index::plan::Key;

    #[test]
    fn parts_are_contiguous_ranges_that_cover_every_key_once() {
        let spec = TableSpec { key: Key::Gathered, mask: 0x0F0F, flips: 0 };
        for of in [1, 2, 3, 16, 255, 256, 1000] {
            let whole = Part { index: 0, of };
            let numbers: Vec<u32> = (0..256).map(|key| whole.part_of(&spec, key)).collect();
            assert!(numbers.is_sorted() && numbers[0] == 0 && numbers[255] < of);
        }
        assert_eq!(gather(0xABCD, 0x0F0F), 0xBD);
    }

    #[test]
    fn marks_exactly_the_parts_of_keys_within_the_flips() {
        for flips in 0..4 {
            let spec = TableSpec { key: Key::Field { shift: 3 }, mask: 0x7FF << 3, flips };
            for of in [2, 7, 16, 256] {
                let part = Part { index: 0, of };
                let code = 0x2A5Bu64;
                let mut marked = vec![false; of as usize];
                part.mark(&spec, code, &mut marked);
                let key = gather(code, spec.mask);
                let near = (0..2048u64).filter(|other| (other ^ key).count_ones() <= flips);
                let mut expected = vec![false; of as usize];
                near.for_each(|other| expected[part.part_of(&spec, other) as usize] = true);
                assert_eq!(marked, expected, "{flips} flips, {of} parts");
            }
        }
    }

    #[test]
    fn rejects_invalid_parts() {
        let message = |index, of| Part { index, of }.check().unwrap_err().to_string();
        assert_eq!(message(0, 0), "`part.of` is 0: must be 1 to 65536");
        assert_eq!(message(2, 2), "`part.index` is 2: must be less than the 2 parts");
    }
}
