//! Suffix array and longest common prefixes.
//!
//! [`suffix_array`] sorts all suffixes by induced sorting (SA-IS: Nong, Zhang and Chan, *Linear Suffix Array
//! Construction by Almost Pure Induced-Sorting*, 2009). [`lcp_array`] computes the longest common prefixes of
//! adjacent suffixes (Kasai, Lee, Arimura, Arikawa and Park, *Linear-Time Longest-Common-Prefix Computation in
//! Suffix Arrays and Its Applications*, 2001). Both take linear time for every text and every alphabet not
//! larger than the text, so adversarial input cannot make them slow.
//!
//! Differences from the paper: the paper appends a unique smallest symbol to the text. Here this sentinel is
//! implicit: the last symbol counts as larger than its successor, and the result has no entry for the empty
//! suffix. Each level of the recursion allocates its own arrays instead of reusing the end of the result. A
//! level is at most half as long as the one above, so all lower levels together cost no more than the first.

/// An unfilled slot of the suffix array. [`suffix_array`] ensures that no position has this value.
const EMPTY: u32 = u32::MAX;

/// Returns the start positions of all suffixes of `text`, in lexicographic order of the suffixes.
///
/// A suffix that is a prefix of another one precedes it. Every symbol must be below `alphabet`. Time and
/// memory are linear in `text.len() + alphabet`.
///
/// # Panics
///
/// Panics if the text has `u32::MAX` symbols or more.
pub(super) fn suffix_array(text: &[u32], alphabet: u32) -> Vec<u32> {
    assert!(text.len() < EMPTY as usize, "suffix positions are 32 bits wide");
    if text.len() < 2 {
        return (0..text.len() as u32).collect();
    }
    let sorter = Sorter::new(text, alphabet);
    let by_substring = sorter.sort_from(sorter.lms_in_text_order());
    let lms = sorter.sorted_lms(&by_substring);
    drop(by_substring);
    sorter.sort_from(lms.into_iter())
}

/// Returns, for each index of `sa`, the length of the longest common prefix of its suffix and the previous one.
///
/// The first entry is 0.
pub(super) fn lcp_array(text: &[u32], sa: &[u32]) -> Vec<u32> {
    let rank = inverse(sa);
    let mut lcp = vec![0; sa.len()];
    let mut shared = 0;
    for (start, &index) in rank.iter().enumerate() {
        let Some(before) = (index as usize).checked_sub(1) else {
            shared = 0;
            continue;
        };
        // The next suffix of the text has a common prefix at most one symbol shorter, so no symbol is compared twice.
        shared += common_prefix(&text[start + shared..], &text[sa[before] as usize + shared..]);
        lcp[index as usize] = shared as u32;
        shared = shared.saturating_sub(1);
    }
    lcp
}

/// Returns the length of the longest common prefix of two texts.
fn common_prefix(a: &[u32], b: &[u32]) -> usize {
    a.iter().zip(b).take_while(|(x, y)| x == y).count()
}

/// Returns the inverse suffix array: the rank of each suffix.
fn inverse(sa: &[u32]) -> Vec<u32> {
    let mut rank = vec![0; sa.len()];
    for (index, &start) in sa.iter().enumerate() {
        rank[start as usize] = index as u32;
    }
    rank
}

/// One level of the recursion: a text, its suffix types and its buckets.
///
/// A suffix is of type S if it is smaller than the suffix that starts one symbol later, otherwise of type L. An
/// S suffix that directly follows an L suffix is called LMS (leftmost S). The order of the LMS suffixes
/// determines the order of all others.
struct Sorter<'t> {
    text: &'t [u32],
    /// Whether the suffix at this position is of type S.
    is_s: Vec<bool>,
    /// For each symbol, the start of its suffixes in the suffix array, followed by the length of the array.
    buckets: Vec<u32>,
}

impl<'t> Sorter<'t> {
    fn new(text: &'t [u32], alphabet: u32) -> Self {
        Self { text, is_s: suffix_types(text), buckets: bucket_bounds(text, alphabet) }
    }

    fn is_lms(&self, position: usize) -> bool {
        position > 0 && self.is_s[position] && !self.is_s[position - 1]
    }

    fn lms_in_text_order(&self) -> impl DoubleEndedIterator<Item = u32> + '_ {
        (1..self.text.len()).filter(|&position| self.is_lms(position)).map(|position| position as u32)
    }

    /// Returns the suffix array induced by a given order of the LMS suffixes.
    ///
    /// The correct order induces the correct suffix array. Any other order induces an array in which the LMS
    /// suffixes are sorted by their LMS substrings, which is what naming requires.
    fn sort_from(&self, lms: impl DoubleEndedIterator<Item = u32>) -> Vec<u32> {
        let mut sa = vec![EMPTY; self.text.len()];
        self.place_lms(&mut sa, lms);
        self.induce_l(&mut sa);
        self.induce_s(&mut sa);
        sa
    }

    /// Places the LMS suffixes at the ends of their buckets, in the given order.
    fn place_lms(&self, sa: &mut [u32], lms: impl DoubleEndedIterator<Item = u32>) {
        let mut tails = self.tails();
        for position in lms.rev() {
            push_back(sa, &mut tails, self.text[position as usize], position);
        }
    }

    /// Induces the L suffixes from left to right, each from the suffix that starts one symbol later.
    fn induce_l(&self, sa: &mut [u32]) {
        let mut heads = self.heads();
        let last = self.text.len() - 1;
        // The implicit empty suffix is the smallest and induces the suffix that consists of the last symbol.
        push_front(sa, &mut heads, self.text[last], last as u32);
        for index in 0..sa.len() {
            if let Some(before) = predecessor(sa[index]).filter(|&before| !self.is_s[before]) {
                push_front(sa, &mut heads, self.text[before], before as u32);
            }
        }
    }

    /// Induces the S suffixes from right to left and overwrites the LMS suffixes placed at the start.
    ///
    /// An S suffix is induced by a larger one, so its slot is written before it is read.
    fn induce_s(&self, sa: &mut [u32]) {
        let mut tails = self.tails();
        for index in (0..sa.len()).rev() {
            if let Some(before) = predecessor(sa[index]).filter(|&before| self.is_s[before]) {
                push_back(sa, &mut tails, self.text[before], before as u32);
            }
        }
    }

    fn heads(&self) -> Vec<u32> {
        self.buckets[..self.buckets.len() - 1].to_vec()
    }

    fn tails(&self) -> Vec<u32> {
        self.buckets[1..].to_vec()
    }

    /// Returns the LMS suffixes in their correct order, given an array that has them sorted by LMS substring.
    fn sorted_lms(&self, by_substring: &[u32]) -> Vec<u32> {
        let mut sorted: Vec<u32> =
            by_substring.iter().copied().filter(|&position| self.is_lms(position as usize)).collect();
        let (names, distinct) = self.name_substrings(&sorted);
        if (distinct as usize) < sorted.len() {
            let order = suffix_array(&names, distinct);
            let in_text: Vec<u32> = self.lms_in_text_order().collect();
            sorted = order.into_iter().map(|ordinal| in_text[ordinal as usize]).collect();
        }
        sorted
    }

    /// Names the LMS substrings by rank, with equal names for equal substrings. Returns the names in text order and
    /// the number of distinct names.
    fn name_substrings(&self, sorted: &[u32]) -> (Vec<u32>, u32) {
        // LMS positions are never adjacent, so half of the position is a unique slot.
        let mut slots = vec![EMPTY; self.text.len() / 2 + 1];
        let mut distinct = 0;
        for (i, &position) in sorted.iter().enumerate() {
            if i == 0 || !self.same_substring(sorted[i - 1] as usize, position as usize) {
                distinct += 1;
            }
            slots[position as usize / 2] = distinct - 1;
        }
        slots.retain(|&name| name != EMPTY);
        (slots, distinct)
    }

    /// Returns `true` if the LMS substrings at two positions are equal. An LMS substring ends with the next LMS
    /// position, inclusive.
    ///
    /// Types need not be compared, because they follow from the symbols and from the S type at the end. The
    /// substring that ends with the text is equal to no other.
    fn same_substring(&self, p: usize, q: usize) -> bool {
        let longest = self.text.len() - p.max(q);
        for k in 0..longest {
            if self.text[p + k] != self.text[q + k] {
                return false;
            }
            let p_ends = self.is_lms(p + k);
            let q_ends = self.is_lms(q + k);
            if k > 0 && (p_ends || q_ends) {
                return p_ends && q_ends;
            }
        }
        false
    }
}

/// Returns for each position whether its suffix is of type S.
fn suffix_types(text: &[u32]) -> Vec<bool> {
    let mut is_s = vec![false; text.len()];
    for i in (0..text.len().saturating_sub(1)).rev() {
        is_s[i] = text[i] < text[i + 1] || (text[i] == text[i + 1] && is_s[i + 1]);
    }
    is_s
}

/// Returns `alphabet + 1` bounds: the suffixes that start with symbol `c` are from bound `c` to bound `c + 1`.
fn bucket_bounds(text: &[u32], alphabet: u32) -> Vec<u32> {
    let mut bounds = vec![0; alphabet as usize + 1];
    for &symbol in text {
        bounds[symbol as usize + 1] += 1;
    }
    for symbol in 0..alphabet as usize {
        bounds[symbol + 1] += bounds[symbol];
    }
    bounds
}

/// Returns the position before the one in a slot, or `None` if the slot is empty or contains position 0.
fn predecessor(slot: u32) -> Option<usize> {
    if slot == EMPTY { None } else { (slot as usize).checked_sub(1) }
}

fn push_front(sa: &mut [u32], heads: &mut [u32], symbol: u32, position: u32) {
    let head = &mut heads[symbol as usize];
    sa[*head as usize] = position;
    *head += 1;
}

fn push_back(sa: &mut [u32], tails: &mut [u32], symbol: u32, position: u32) {
    let tail = &mut tails[symbol as usize];
    *tail -= 1;
    sa[*tail as usize] = position;
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::random::SplitMix64;

    fn naive_suffix_array(text: &[u32]) -> Vec<u32> {
        let mut sa: Vec<u32> = (0..text.len() as u32).collect();
        sa.sort_by_key(|&start| &text[start as usize..]);
        sa
    }

    fn naive_lcp(text: &[u32], sa: &[u32]) -> Vec<u32> {
        let shared = |i: usize| common_prefix(&text[sa[i - 1] as usize..], &text[sa[i] as usize..]);
        (0..sa.len()).map(|i| if i == 0 { 0 } else { shared(i) as u32 }).collect()
    }

    fn check(text: &[u32], alphabet: u32) {
        let sa = suffix_array(text, alphabet);
        assert_eq!(sa, naive_suffix_array(text), "{text:?}");
        assert_eq!(lcp_array(text, &sa), naive_lcp(text, &sa), "{text:?}");
    }

    #[test]
    fn empty_text_has_no_suffixes() {
        check(&[], 0);
        check(&[], 5);
    }

    #[test]
    fn sorts_texts_of_one_symbol() {
        check(&[0], 1);
        check(&[3], 4);
    }

    #[test]
    fn sorts_suffixes_of_equal_symbols_by_length() {
        for len in 2..40 {
            check(&vec![0; len], 1);
        }
        assert_eq!(suffix_array(&[2, 2, 2], 3), [2, 1, 0]);
        assert_eq!(lcp_array(&[2, 2, 2], &[2, 1, 0]), [0, 1, 2]);
    }

    #[test]
    fn sorts_alternating_symbols() {
        for len in 2..40u32 {
            check(&(0..len).map(|i| i % 2).collect::<Vec<_>>(), 2);
            check(&(0..len).map(|i| 1 - i % 2).collect::<Vec<_>>(), 2);
        }
    }

    #[test]
    fn sorts_ascending_and_descending_symbols() {
        check(&(0..50).collect::<Vec<_>>(), 50);
        check(&(0..50).rev().collect::<Vec<_>>(), 50);
    }

    #[test]
    fn sorts_the_example_of_the_paper() {
        // "mmiissiissiippii" with i, m, p and s as 0 to 3.
        check(&[1, 1, 0, 0, 3, 3, 0, 0, 3, 3, 0, 0, 2, 2, 0, 0], 4);
    }

    #[test]
    fn sorts_fibonacci_words_with_deep_recursion() {
        let (mut shorter, mut word) = (vec![1], vec![0]);
        while word.len() < 1500 {
            let longer = [word.as_slice(), &shorter].concat();
            shorter = std::mem::replace(&mut word, longer);
        }
        check(&word, 2);
    }

    #[test]
    fn sorts_every_text_of_up_to_nine_symbols_over_three() {
        for len in 0..=9 {
            for code in 0..3u32.pow(len) {
                check(&(0..len).map(|digit| code / 3u32.pow(digit) % 3).collect::<Vec<_>>(), 3);
            }
        }
    }

    #[test]
    fn sorts_random_texts_over_small_alphabets() {
        let mut random = SplitMix64(1);
        for _ in 0..3000 {
            let alphabet = 1 + random.below(6) as u32;
            let len = random.below(200);
            let text: Vec<u32> = (0..len).map(|_| random.below(alphabet as usize) as u32).collect();
            check(&text, alphabet);
        }
    }

    #[test]
    fn sorts_random_texts_over_alphabets_as_large_as_the_text() {
        let mut random = SplitMix64(2);
        for _ in 0..300 {
            let len = 1 + random.below(300);
            check(&(0..len).map(|_| random.below(len) as u32).collect::<Vec<_>>(), len as u32);
        }
    }
}
