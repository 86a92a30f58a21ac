//! Rare shingles of texts in crowded buckets: which texts may match at all?
//!
//! Two texts match only if the smaller one lacks few of its shingles in the other one (prefix filtering: Chaudhuri, Ganti and Kaushik
//! 2006; Bayardo, Ma and Srikant 2007). A text is *selective* if more of its shingles than that are rare: then all its matches
//! share a rare shingle with it or, if they are smaller and selective themselves, it has one of theirs.
//!
//! A shingle is rare until [`COMMON`] texts have it, and never becomes rare again. While it is rare, the index has all selective
//! texts that have it, except for texts with many rare shingles: a text of n shingles lacks at most (1 - t) n of them in any text that
//! matches at the threshold t, larger or smaller, so more than that are enough.
//!
//! Counts are shared by shingles with equal hashes, which makes some shingles common too early. This affects the cost, but not which
//! matches are found. The table of counts grows with the number of shingles counted.

use crate::features::hash::fold;
use crate::index::TagTable;
use std::hash::{BuildHasher, Hasher, RandomState};

/// The number of texts from which on a shingle is common.
const COMMON: u8 = 24;
/// The number of rare shingles that a text has in the index in addition to those that it needs, because some of them become common.
const SPARE_ITEMS: u32 = 32;
/// Number of counts at first.
const COUNTS: usize = 1 << 16;
/// Maximum number of counts.
const MAX_COUNTS: usize = 1 << 28;

/// How many shingles of a text its matches may lack.
#[derive(Clone, Copy, Debug)]
pub(super) struct Lacking {
    /// In a match that is not smaller.
    pub(super) in_larger: u32,
    /// In any match.
    pub(super) in_any: u32,
}

/// Selective texts by their rare shingles.
#[derive(Clone, Debug)]
pub(super) struct RareShingles {
    key: u64,
    /// Empty before the first text. The length is a power of two.
    counts: Vec<u8>,
    /// Number of shingles counted since the table of counts grew.
    counted: usize,
    texts: TagTable,
}

impl Default for RareShingles {
    fn default() -> RareShingles {
        let key = RandomState::new().build_hasher().finish();
        RareShingles { key, counts: Vec::new(), counted: 0, texts: TagTable::default() }
    }
}

impl RareShingles {
    fn tag(&self, shingle: u64) -> u32 {
        (fold(shingle ^ self.key, 0x9E37_79B9_7F4A_7C15) >> 32) as u32
    }

    /// Returns the place of the count of a tag.
    fn place(&self, tag: u32) -> usize {
        tag as usize & (self.counts.len() - 1)
    }

    fn is_rare(&self, tag: u32) -> bool {
        self.counts.is_empty() || self.counts[self.place(tag)] < COMMON
    }

    /// Doubles the table of counts if many shingles were counted since it grew. Counts that shingles shared remain too high.
    fn grow(&mut self) {
        if self.counts.is_empty() {
            self.counts.resize(COUNTS, 0);
        } else if self.counted > self.counts.len() && self.counts.len() < MAX_COUNTS {
            self.counts.extend_from_within(..);
            self.counted = 0;
        }
    }

    /// Returns `true` if all texts that are not smaller and match share a rare shingle with a text. `spare` is the number of
    /// shingles that they may lack.
    pub(super) fn is_selective(&self, shingles: &[u64], spare: u32) -> bool {
        let rare = shingles.iter().filter(|&&shingle| self.is_rare(self.tag(shingle)));
        rare.take(spare as usize + 1).count() > spare as usize
    }

    /// Counts the shingles of a text, and adds it if it is selective. Returns the number of its shingles in the index that may become
    /// common before it is not selective any more, or 0 if it is not selective. `lose` is called with texts that have one rare
    /// shingle less in the index.
    pub(super) fn add(
        &mut self,
        text: u32,
        shingles: &[u64],
        lacking: Lacking,
        mut lose: impl FnMut(u32),
    ) -> u32 {
        self.grow();
        for &shingle in shingles {
            let tag = self.tag(shingle);
            let place = self.place(tag);
            let count = &mut self.counts[place];
            if *count < COMMON {
                *count += 1;
                self.counted += 1;
                if *count == COMMON {
                    self.drop_tag(tag, &mut lose);
                }
            }
        }
        let Lacking { in_larger, in_any } = lacking;
        let most = (in_any + SPARE_ITEMS) as usize;
        let tags = shingles.iter().map(|&shingle| self.tag(shingle));
        let mut rare: Vec<u32> = tags.filter(|&tag| self.is_rare(tag)).take(most + 1).collect();
        let needed = if rare.len() > most { in_any } else { in_larger };
        rare.truncate(most);
        let slack = (rare.len() as u32).saturating_sub(needed);
        if slack > 0 {
            rare.iter().for_each(|&tag| self.texts.insert(tag, text));
        }
        slack
    }

    /// Removes the texts of a tag that became common.
    fn drop_tag(&mut self, tag: u32, lose: &mut impl FnMut(u32)) {
        let mut texts = Vec::new();
        let others = self.texts.each(tag, |text| texts.push(text));
        texts.extend(others.into_iter().flatten());
        for text in texts {
            self.texts.remove(tag, text);
            lose(text);
        }
    }

    /// Calls `visit` with the selective texts that have one of these shingles, with some of them several times.
    pub(super) fn each(&self, shingles: &[u64], mut visit: impl FnMut(u32)) {
        if self.counts.is_empty() {
            return;
        }
        for &shingle in shingles {
            // Shingles that are common only because of their count can still have texts.
            let others = self.texts.each(self.tag(shingle), &mut visit);
            others.into_iter().flatten().for_each(|&text| visit(text));
        }
    }
}
