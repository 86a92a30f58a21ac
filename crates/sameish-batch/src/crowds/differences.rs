//! In how many shingles do two texts of a crowd differ?
//!
//! The *common* shingles of a crowd are those that most texts of a sample have. For each text, a list contains the shingles in
//! which it differs from the common ones. Exactly one of two texts has a shingle if exactly one of their lists contains it. Among
//! similar texts, these lists are short.

/// Maximum number of differences that are stored for a text.
const MOST: usize = 64;

/// Differences of texts from the common shingles of their crowd.
#[derive(Default)]
pub(super) struct Differences {
    /// Twice the end of the list of each text; one more if it has too many differences, so that there is no list.
    ends: Vec<u64>,
    /// Ascending hashes of each text.
    hashes: Vec<u64>,
}

impl Differences {
    /// Adds the differences of a text, which [`of`](Self::of) returned.
    pub(super) fn push(&mut self, differences: Option<&[u64]>) {
        self.hashes.extend_from_slice(differences.unwrap_or_default());
        self.ends.push((self.hashes.len() as u64) << 1 | u64::from(differences.is_none()));
    }

    /// Returns the differences of a text from the common shingles; `None` if there are too many. All are strictly ascending.
    pub(super) fn of(hashes: &[u64], common: &[u64]) -> Option<Vec<u64>> {
        let mut found = Vec::new();
        let mut common = common.iter().copied().peekable();
        for &hash in hashes {
            while let Some(missing) = common.next_if(|&common| common < hash) {
                found.push(missing);
            }
            if common.next_if_eq(&hash).is_none() {
                found.push(hash);
            }
            if found.len() > MOST {
                return None;
            }
        }
        found.extend(common);
        (found.len() <= MOST).then_some(found)
    }

    /// Returns the same texts in another order, given by their positions.
    pub(super) fn in_order(&self, positions: &[u32]) -> Differences {
        let mut ordered = Differences::default();
        ordered.hashes.reserve_exact(self.hashes.len());
        ordered.ends.reserve_exact(self.ends.len());
        positions.iter().for_each(|&at| ordered.push(self.hashes_of(at)));
        ordered
    }

    /// Returns the size in memory, in bytes.
    pub(super) fn bytes(&self) -> usize {
        8 * (self.ends.capacity() + self.hashes.capacity())
    }

    fn hashes_of(&self, at: u32) -> Option<&[u64]> {
        let start = if at == 0 { 0 } else { self.ends[at as usize - 1] >> 1 };
        let end = self.ends[at as usize];
        (end & 1 == 0).then(|| &self.hashes[start as usize..(end >> 1) as usize])
    }

    /// Returns the number of shingles that are in one of two texts of a crowd only; `None` if it is not known.
    pub(super) fn between(&self, a: u32, b: u32) -> Option<u32> {
        let (a, b) = (self.hashes_of(a)?, self.hashes_of(b)?);
        let (mut i, mut j, mut shared) = (0, 0, 0);
        // Branch-free, because the outcome of a comparison is unpredictable.
        while i < a.len() && j < b.len() {
            let (x, y) = (a[i], b[j]);
            shared += usize::from(x == y);
            i += usize::from(x <= y);
            j += usize::from(y <= x);
        }
        Some((a.len() + b.len() - 2 * shared) as u32)
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
            texts.iter().for_each(|text| differences.push(Differences::of(text, common).as_deref()));
            let differences = differences.in_order(&[5, 4, 3, 2, 1, 0]);
            let only = |a: &[u64], b: &[u64]| a.iter().filter(|hash| !b.contains(hash)).count() as u32;
            for (i, a) in texts.iter().rev().enumerate() {
                for (j, b) in texts.iter().rev().enumerate() {
                    assert_eq!(differences.between(i as u32, j as u32), Some(only(a, b) + only(b, a)));
                }
            }
        }
        let mut differences = Differences::default();
        let long: Vec<u64> = (0..MOST as u64 + 1).collect();
        [&long[..], &[], &[4]]
            .iter()
            .for_each(|text| differences.push(Differences::of(text, &[]).as_deref()));
        assert_eq!([differences.between(0, 1), differences.between(1, 2)], [None, Some(1)]);
    }
}
