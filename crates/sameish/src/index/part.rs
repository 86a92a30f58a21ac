//! Which share of every table is here?

use super::plan::Spec;
use crate::error::{Error, Result};

/// One of several parts of an index, each for another machine.
///
/// The keys of each table, read as numbers, are divided into `of` contiguous ranges of equal length; part `index` has
/// the codes in its range of each table. All parts together answer exactly as the whole does, each match once.
///
/// ```
/// use sameish::{DocNumber, Fingerprint, HammingIndex, Part};
///
/// let mut parts: Vec<HammingIndex> =
///     (0..4).map(|index| HammingIndex::new(3)?.into_part(Part { index, of: 4 })).collect::<Result<_, _>>()?;
/// let stored = Fingerprint::from_u64(0xABCD);
/// parts.iter_mut().for_each(|part| _ = part.insert(stored, DocNumber(1)));
/// let query = Fingerprint::from_u64(0xABCF);
/// let asked = parts[0].parts_for(query);
/// let found = asked.iter().filter_map(|&i| parts[i as usize].find_first(query)).count();
/// assert_eq!(found, 1);
/// # Ok::<(), sameish::Error>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Part {
    /// Which part, from 0.
    pub index: u32,
    /// How many parts there are.
    pub of: u32,
}

/// Most parts an index may be divided into.
const MAX_PARTS: u32 = 65_536;

impl Part {
    /// All there is.
    pub const WHOLE: Part = Part { index: 0, of: 1 };

    /// Whether this is not the whole.
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

    /// Whether a table of this part has the code.
    #[inline]
    pub(super) fn owns(&self, spec: &Spec, code: u64) -> bool {
        !self.is_partial() || self.number(spec, gather(code, spec.mask)) == self.index
    }

    /// The part that has a key of the table. With more parts than keys some parts stay empty.
    fn number(&self, spec: &Spec, key: u64) -> u32 {
        ((u128::from(key) * u128::from(self.of)) >> spec.mask.count_ones()) as u32
    }

    /// Marks the parts that have keys within the flips of the table.
    pub(super) fn mark(&self, spec: &Spec, code: u64, marked: &mut [bool]) {
        let key = gather(code, spec.mask);
        self.mark_flipped(spec, key, spec.mask.count_ones(), spec.flips, marked);
    }

    /// Flips up to `flips` of the lowest `bits` bits. Bits that are too low to change the part are left alone.
    fn mark_flipped(&self, spec: &Spec, key: u64, bits: u32, flips: u32, marked: &mut [bool]) {
        marked[self.number(spec, key) as usize] = true;
        if flips == 0 {
            return;
        }
        for bit in 0..bits {
            let below = (2u64 << bit) - 1;
            if flips == 1 && self.number(spec, key & !below) == self.number(spec, key | below) {
                continue;
            }
            self.mark_flipped(spec, key ^ 1 << bit, bit, flips - 1, marked);
        }
    }
}

/// The bits under the mask, moved together.
pub(super) fn gather(code: u64, mask: u64) -> u64 {
    let (mut rest, mut key, mut at) = (mask, 0, 0);
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
        let spec = Spec { key: Key::Gathered, mask: 0x0F0F, flips: 0 };
        for of in [1, 2, 3, 16, 255, 256, 1000] {
            let whole = Part { index: 0, of };
            let numbers: Vec<u32> = (0..256).map(|key| whole.number(&spec, key)).collect();
            assert!(numbers.is_sorted() && numbers[0] == 0 && numbers[255] < of);
        }
        assert_eq!(gather(0xABCD, 0x0F0F), 0xBD);
    }

    #[test]
    fn marked_parts_are_those_of_all_near_keys() {
        for flips in 0..4 {
            let spec = Spec { key: Key::Field { shift: 3 }, mask: 0x7FF << 3, flips };
            for of in [2, 7, 16, 256] {
                let part = Part { index: 0, of };
                let code = 0x2A5Bu64;
                let mut marked = vec![false; of as usize];
                part.mark(&spec, code, &mut marked);
                let key = gather(code, spec.mask);
                let near = (0..2048u64).filter(|other| (other ^ key).count_ones() <= flips);
                let mut expected = vec![false; of as usize];
                near.for_each(|other| expected[part.number(&spec, other) as usize] = true);
                assert_eq!(marked, expected, "{flips} flips, {of} parts");
            }
        }
    }

    #[test]
    fn senseless_parts_are_refused() {
        let message = |index, of| Part { index, of }.check().unwrap_err().to_string();
        assert_eq!(message(0, 0), "`part.of` is 0: must be 1 to 65536");
        assert_eq!(message(2, 2), "`part.index` is 2: must be less than the 2 parts");
    }
}
