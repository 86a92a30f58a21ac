//! In which order do the suffixes of a text stand, and how much do neighbors in that order share?
//!
//! [`suffix_array`] sorts all suffixes by induced sorting (SA-IS: Nong, Zhang and Chan, *Linear Suffix Array
//! Construction by Almost Pure Induced-Sorting*, 2009), [`lcp_array`] then measures neighbors (Kasai, Lee,
//! Arimura, Arikawa and Park, *Linear-Time Longest-Common-Prefix Computation in Suffix Arrays and Its
//! Applications*, 2001). Both are linear in the text for every text and every alphabet not larger than the
//! text: whoever writes the texts can not make them slow.
//!
//! Where ours differs: the paper ends the text with a smallest symbol of its own. Here that sentinel is only
//! thought of: the last symbol counts as larger than what follows it, and the result has no entry for the
//! empty suffix. Each level of the recursion allocates its own arrays instead of reusing the tail of the
//! result; each level is at most half as long as the one above, so all below cost no more than the first.

/// A slot of the suffix array that is not filled yet. No position has this value, see [`suffix_array`].
const EMPTY: u32 = u32::MAX;

/// Start positions of all suffixes of `text` in ascending order of the suffixes.
///
/// A suffix that is a prefix of another one stands before it. Every symbol must be below `alphabet`. Time and
/// memory are linear in `text.len() + alphabet`.
///
/// # Panics
///
/// If the text has `u32::MAX` symbols or more; callers keep to this limit.
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

/// For each place in `sa`, how many leading symbols its suffix shares with the suffix one place before.
///
/// The first place has no predecessor and gets 0.
pub(super) fn lcp_array(text: &[u32], sa: &[u32]) -> Vec<u32> {
    let rank = inverse(sa);
    let mut lcp = vec![0; sa.len()];
    let mut shared = 0;
    for (start, &place) in rank.iter().enumerate() {
        let Some(before) = (place as usize).checked_sub(1) else {
            shared = 0;
            continue;
        };
        // The suffix one symbol further on shares at least one symbol less: nothing is compared twice.
        shared += common_prefix(&text[start + shared..], &text[sa[before] as usize + shared..]);
        lcp[place as usize] = shared as u32;
        shared = shared.saturating_sub(1);
    }
    lcp
}

/// How many leading symbols two texts share.
fn common_prefix(a: &[u32], b: &[u32]) -> usize {
    a.iter().zip(b).take_while(|(x, y)| x == y).count()
}

/// The place of each suffix in the suffix array.
fn inverse(sa: &[u32]) -> Vec<u32> {
    let mut rank = vec![0; sa.len()];
    for (place, &start) in sa.iter().enumerate() {
        rank[start as usize] = place as u32;
    }
    rank
}

/// One level of the recursion: a text with what induced sorting needs to know about it.
///
/// A suffix is of type S if it is smaller than the suffix one symbol further on, else of type L. An S suffix
/// right behind an L suffix is called LMS (leftmost S). The order of the LMS suffixes decides all others.
struct Sorter<'t> {
    text: &'t [u32],
    /// Whether the suffix at this position is of type S.
    is_s: Vec<bool>,
    /// Where the suffixes that begin with each symbol start in the suffix array, and one past the last.
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

    /// The suffix array that follows from a given order of the LMS suffixes.
    ///
    /// From the true order follows the true array. From any other order follows one in which the LMS
    /// suffixes are sorted as far as their next LMS position, which is what naming needs.
    fn sort_from(&self, lms: impl DoubleEndedIterator<Item = u32>) -> Vec<u32> {
        let mut sa = vec![EMPTY; self.text.len()];
        self.place_lms(&mut sa, lms);
        self.induce_l(&mut sa);
        self.induce_s(&mut sa);
        sa
    }

    /// Puts the LMS suffixes at the ends of their buckets, in the given order.
    fn place_lms(&self, sa: &mut [u32], lms: impl DoubleEndedIterator<Item = u32>) {
        let mut tails = self.tails();
        for position in lms.rev() {
            push_back(sa, &mut tails, self.text[position as usize], position);
        }
    }

    /// Fills in the L suffixes from small to large: each follows from the suffix one symbol further on.
    fn induce_l(&self, sa: &mut [u32]) {
        let mut heads = self.heads();
        let last = self.text.len() - 1;
        // The empty suffix comes before all others and induces the last one.
        push_front(sa, &mut heads, self.text[last], last as u32);
        for place in 0..sa.len() {
            if let Some(before) = predecessor(sa[place]).filter(|&before| !self.is_s[before]) {
                push_front(sa, &mut heads, self.text[before], before as u32);
            }
        }
    }

    /// Fills in the S suffixes from large to small, over the LMS suffixes that began the round.
    ///
    /// An S suffix is induced by a larger one, so its slot is written before the walk reads it.
    fn induce_s(&self, sa: &mut [u32]) {
        let mut tails = self.tails();
        for place in (0..sa.len()).rev() {
            if let Some(before) = predecessor(sa[place]).filter(|&before| self.is_s[before]) {
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

    /// The LMS suffixes in their true order, given an array that has them in order of their LMS substrings.
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

    /// Numbers the LMS substrings by rank, equal ones alike; gives the numbers in text order and their count.
    fn name_substrings(&self, sorted: &[u32]) -> (Vec<u32>, u32) {
        // Two LMS positions are never adjacent, so half the position is a slot of its own.
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

    /// Whether the texts from two LMS positions up to and including the next LMS position are equal.
    ///
    /// Types need no comparison: they follow from the symbols and from the S at the end. The substring that
    /// runs into the end of the text is equal to no other.
    fn same_substring(&self, p: usize, q: usize) -> bool {
        let longest = self.text.len() - p.max(q);
        for k in 0..longest {
            if self.text[p + k] != self.text[q + k] {
                return false;
            }
            let (p_ends, q_ends) = (self.is_lms(p + k), self.is_lms(q + k));
            if k > 0 && (p_ends || q_ends) {
                return p_ends && q_ends;
            }
        }
        false
    }
}

/// Which suffixes are of type S, from the end of the text to its start.
fn suffix_types(text: &[u32]) -> Vec<bool> {
    let mut is_s = vec![false; text.len()];
    for i in (0..text.len().saturating_sub(1)).rev() {
        is_s[i] = text[i] < text[i + 1] || (text[i] == text[i + 1] && is_s[i + 1]);
    }
    is_s
}

/// `alphabet + 1` bounds: symbol `c` owns the places from bound `c` up to bound `c + 1`.
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

/// The position before the one in a slot, if the slot is filled and there is one.
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

    /// SplitMix64 (Steele, Lea and Flood, 2014).
    #[test]
    fn empty_text_has_no_suffixes() {
        check(&[], 0);
        check(&[], 5);
    }

    #[test]
    fn one_symbol() {
        check(&[0], 1);
        check(&[3], 4);
    }

    #[test]
    fn all_equal_symbols_sort_by_length() {
        for len in 2..40 {
            check(&vec![0; len], 1);
        }
        assert_eq!(suffix_array(&[2, 2, 2], 3), [2, 1, 0]);
        assert_eq!(lcp_array(&[2, 2, 2], &[2, 1, 0]), [0, 1, 2]);
    }

    #[test]
    fn two_alternating_symbols() {
        for len in 2..40u32 {
            check(&(0..len).map(|i| i % 2).collect::<Vec<_>>(), 2);
            check(&(0..len).map(|i| 1 - i % 2).collect::<Vec<_>>(), 2);
        }
    }

    #[test]
    fn ascending_and_descending_symbols() {
        check(&(0..50).collect::<Vec<_>>(), 50);
        check(&(0..50).rev().collect::<Vec<_>>(), 50);
    }

    #[test]
    fn the_example_of_the_paper() {
        // "mmiissiissiippii" with i, m, p, s as 0 to 3.
        check(&[1, 1, 0, 0, 3, 3, 0, 0, 3, 3, 0, 0, 2, 2, 0, 0], 4);
    }

    #[test]
    fn fibonacci_words_recurse_deeply() {
        let (mut shorter, mut word) = (vec![1], vec![0]);
        while word.len() < 1500 {
            let longer = [word.as_slice(), &shorter].concat();
            shorter = std::mem::replace(&mut word, longer);
        }
        check(&word, 2);
    }

    #[test]
    fn every_text_of_up_to_nine_symbols_from_three() {
        for len in 0..=9 {
            for code in 0..3u32.pow(len) {
                check(&(0..len).map(|digit| code / 3u32.pow(digit) % 3).collect::<Vec<_>>(), 3);
            }
        }
    }

    #[test]
    fn random_texts_over_small_alphabets() {
        let mut random = SplitMix64(1);
        for _ in 0..3000 {
            let alphabet = 1 + random.below(6) as u32;
            let len = random.below(200);
            let text: Vec<u32> = (0..len).map(|_| random.below(alphabet as usize) as u32).collect();
            check(&text, alphabet);
        }
    }

    #[test]
    fn random_texts_over_an_alphabet_as_large_as_the_text() {
        let mut random = SplitMix64(2);
        for _ in 0..300 {
            let len = 1 + random.below(300);
            check(&(0..len).map(|_| random.below(len) as u32).collect::<Vec<_>>(), len as u32);
        }
    }
}
