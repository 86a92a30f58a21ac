//! In how many shingles do two texts of a crowd differ?
//!
//! The *common* shingles of a crowd are those that most texts of a sample have. For each text, a list contains the shingles in
//! which it differs from the common ones. Exactly one of two texts has a shingle if exactly one of their lists contains it. Among
//! similar texts, these lists are short.
//!
//! A shingle in the list of one text only is in no other list, whichever text it is compared with. Such shingles are counted and
//! not kept, so that comparing two texts of which each has much text of its own takes no more time than comparing other texts.

/// Maximum number of differences of a text that has a list.
const MOST: usize = 64;
/// The same per shingle of a text, if many pairs of texts are compared: one difference for this many shingles.
const PER_DIFFERENCE: usize = 4;
/// Bits per shingle of the filters that find shingles of one text only.
const FILTER_BITS: usize = 8;

/// How many differences of a text are stored.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Extent {
    /// Few, for texts of which few are compared with each other.
    Few,
    /// A fraction of the shingles of the text, if these are more.
    Share,
}

/// Differences of texts from the common shingles of their crowd.
#[derive(Default)]
pub(super) struct Differences {
    texts: Vec<Listed>,
    /// Ascending hashes of each text.
    hashes: Vec<u64>,
}

/// The differences of a text.
#[derive(Clone, Copy, Debug)]
struct Listed {
    /// End of its hashes.
    end: u64,
    /// Number of its differences; [`TOO_MANY`] if there is no list.
    count: u32,
}

const TOO_MANY: u32 = u32::MAX;

impl Differences {
    /// Adds the differences of a text, which [`of`](Self::of) returned.
    pub(super) fn push(&mut self, differences: Option<&[u64]>) {
        let count = differences.map_or(TOO_MANY, |differences| differences.len() as u32);
        self.push_listed(differences.unwrap_or_default(), count);
    }

    fn push_listed(&mut self, hashes: &[u64], count: u32) {
        self.hashes.extend_from_slice(hashes);
        self.texts.push(Listed { end: self.hashes.len() as u64, count });
    }

    /// Returns the differences of a text from the common shingles; `None` if there are too many. All are strictly ascending.
    pub(super) fn of(hashes: &[u64], common: &[u64], extent: Extent) -> Option<Vec<u64>> {
        let most = match extent {
            Extent::Few => MOST,
            Extent::Share => MOST.max(hashes.len() / PER_DIFFERENCE),
        };
        let mut found = Vec::new();
        let mut common = common.iter().copied().peekable();
        for &hash in hashes {
            while let Some(missing) = common.next_if(|&common| common < hash) {
                found.push(missing);
            }
            if common.next_if_eq(&hash).is_none() {
                found.push(hash);
            }
            if found.len() > most {
                return None;
            }
        }
        found.extend(common);
        (found.len() <= most).then_some(found)
    }

    /// Drops the hashes that only one text from number `first` on has: those texts are one crowd.
    pub(super) fn drop_single(&mut self, first: usize) {
        // The second filter finds most of those that the first one has confused with others.
        for shift in [0, 29] {
            self.drop_single_by(first, shift);
        }
        self.hashes.shrink_to_fit();
    }

    /// Drops hashes of which no other has equal bits after `shift`.
    fn drop_single_by(&mut self, first: usize, shift: u32) {
        let start = self.end_before(first);
        let bits = (FILTER_BITS * (self.hashes.len() - start)).next_power_of_two().max(64);
        let place = |hash: u64| {
            let at = hash.rotate_left(shift) as usize & (bits - 1);
            (at / 64, 1u64 << (at % 64))
        };
        let (mut once, mut twice) = (vec![0u64; bits / 64], vec![0u64; bits / 64]);
        for &hash in &self.hashes[start..] {
            let (word, bit) = place(hash);
            twice[word] |= once[word] & bit;
            once[word] |= bit;
        }
        let mut kept = start;
        let mut from = start;
        for text in &mut self.texts[first..] {
            let to = text.end as usize;
            for at in from..to {
                let hash = self.hashes[at];
                let (word, bit) = place(hash);
                self.hashes[kept] = hash;
                kept += usize::from(twice[word] & bit != 0);
            }
            text.end = kept as u64;
            from = to;
        }
        self.hashes.truncate(kept);
    }

    /// Returns the same texts in another order, given by their positions.
    pub(super) fn in_order(&self, positions: &[u32]) -> Differences {
        let mut ordered = Differences::default();
        ordered.hashes.reserve_exact(self.hashes.len());
        ordered.texts.reserve_exact(self.texts.len());
        for &at in positions {
            ordered.push_listed(self.hashes_of(at as usize), self.texts[at as usize].count);
        }
        ordered
    }

    /// Returns the size in memory, in bytes.
    pub(super) fn bytes(&self) -> usize {
        8 * self.hashes.capacity() + size_of::<Listed>() * self.texts.capacity()
    }

    /// Returns where the hashes of a text begin.
    fn end_before(&self, at: usize) -> usize {
        if at == 0 { 0 } else { self.texts[at - 1].end as usize }
    }

    fn hashes_of(&self, at: usize) -> &[u64] {
        &self.hashes[self.end_before(at)..self.texts[at].end as usize]
    }

    /// Returns the number of shingles that are in one of two texts of a crowd only; `None` if it is not known.
    pub(super) fn between(&self, a: u32, b: u32) -> Option<u32> {
        let (a, b) = (a as usize, b as usize);
        let counts = [a, b].map(|at| self.texts[at].count);
        if counts.contains(&TOO_MANY) {
            return None;
        }
        let (a, b) = (self.hashes_of(a), self.hashes_of(b));
        let (mut i, mut j, mut shared) = (0, 0, 0);
        // Branch-free, because the outcome of a comparison is unpredictable.
        while i < a.len() && j < b.len() {
            let (x, y) = (a[i], b[j]);
            shared += u32::from(x == y);
            i += usize::from(x <= y);
            j += usize::from(y <= x);
        }
        Some(counts[0] + counts[1] - 2 * shared)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn counts_the_hashes_of_one_text_only() {
        let texts: [&[u64]; 6] =
            [&[], &[1, 2, 3], &[2, 3, 9], &[1, 2, 3, 4, 5, 6, u64::MAX], &[7, 8], &[1, 3, 5, 7, 9]];
        for common in [&[][..], &[1, 2, 3], &[2, 5, 8, 9, 11, u64::MAX]] {
            let mut differences = Differences::default();
            // Another crowd, whose texts have the same hashes.
            texts.iter().for_each(|text| differences.push(Some(text)));
            differences.drop_single(0);
            for text in &texts {
                differences.push(Differences::of(text, common, Extent::Few).as_deref());
            }
            differences.drop_single(texts.len());
            let differences = differences.in_order(&[11, 10, 9, 8, 7, 6]);
            let only = |a: &[u64], b: &[u64]| a.iter().filter(|hash| !b.contains(hash)).count() as u32;
            for (i, a) in texts.iter().rev().enumerate() {
                for (j, b) in texts.iter().rev().enumerate() {
                    if i != j {
                        assert_eq!(differences.between(i as u32, j as u32), Some(only(a, b) + only(b, a)));
                    }
                }
            }
        }
    }

    #[test]
    fn long_lists_are_not_stored() {
        let of = |hashes: &[u64], extent: Extent| {
            let mut differences = Differences::default();
            let other = [4, 5];
            for text in [hashes, &[], &other] {
                differences.push(Differences::of(text, &[], extent).as_deref());
            }
            [differences.between(0, 1), differences.between(1, 2)]
        };
        let long: Vec<u64> = (0..MOST as u64 + 1).collect();
        assert_eq!(of(&long, Extent::Few), [None, Some(2)]);
        assert_eq!(of(&long[1..], Extent::Few), [Some(64), Some(2)]);
        assert_eq!(of(&long, Extent::Share), [None, Some(2)]);
        let shares = |differences: u64| {
            let hashes: Vec<u64> = (0..400).collect();
            let common = &hashes[differences as usize..];
            Differences::of(&hashes, common, Extent::Share).map(|list| list.len())
        };
        assert_eq!([shares(100), shares(101)], [Some(100), None]);
    }

    #[test]
    fn hashes_of_one_text_are_dropped() {
        let mut differences = Differences::default();
        let hash = |i: u64| i.wrapping_mul(0x9E37_79B9_7F4A_7C15);
        for text in 0..100 {
            let mut own: Vec<u64> =
                (0..50).map(|i| hash(1_000 * text + i)).chain([hash(1), hash(7)]).collect();
            own.sort_unstable();
            own.dedup();
            differences.push(Some(&own));
        }
        differences.drop_single(0);
        assert!((200..500).contains(&differences.hashes.len()), "{}", differences.hashes.len());
        assert_eq!(differences.between(3, 9), Some(100));
    }
}
