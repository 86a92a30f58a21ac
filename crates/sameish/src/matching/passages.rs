//! Shared passages of two texts, and the coverage of each text.
//!
//! A token of one text is *covered* if it is part of a sequence of at least `min_tokens` tokens that also occurs in
//! the other text. [`shared_runs`] counts the covered tokens of both texts exactly, and returns a short list of
//! maximal [`SharedRun`]s that cover them.
//!
//! # Algorithm
//!
//! The texts are joined with a separator that occurs in neither, and the suffixes of the result are sorted (a
//! generalized suffix array; `suffix.rs` cites the papers). The longest match of a suffix in the *other* text is
//! with the nearest suffix of the other text above or below it in the array. One pass down and one pass up the
//! array therefore give, for every position, the length of the longest match in the other text and one of its
//! occurrences: the matching statistics of Chang and Lawler (*Sublinear approximate string matching and biological
//! applications*, 1994).
//!
//! The ends of these matches do not decrease as their starts increase. So of all sufficiently long matches that
//! start at or before a token, the last one reaches farthest: either it covers the token or no match does. Choosing
//! it whenever a token is not covered yet gives the minimum number of runs (greedy interval cover). This is done
//! for the first text, and then for the tokens of the second text that the runs found so far do not cover.
//!
//! # Bounds
//!
//! For n tokens in both texts together and every input: O(n log n) time for sorting token hashes and runs, and O(n)
//! for everything else (`cover` explains why); 20 to 25 bytes of memory per token beyond the input, and about 50
//! bytes per run. The number of runs is at most the minimum for covering the first text plus the minimum for
//! covering the second. It can be large for some texts: a word repeated n times against the same word once takes
//! n runs.
//!
//! # Differences from the literature
//!
//! Greedy string tiling (Wise, 1993), the usual method for this kind of evidence, uses each token at most once and
//! takes cubic time in the worst case. Here, a passage may be shared several times, so that a text that repeats a
//! passage of the other text is covered completely. As a result, the counts are symmetric and independent of any
//! order of choice. The number of maximal *pairs* of passages can be quadratic, so only enough of them to cover the
//! texts are returned.

use std::ops::Range;

use super::suffix::{lcp_array, suffix_array};

/// A sequence of tokens that occurs in both texts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SharedRun {
    /// Position of the first token in the first text.
    pub a_start: usize,
    /// Position of the first token in the second text.
    pub b_start: usize,
    /// Number of tokens.
    pub len: usize,
}

/// Shared runs and the numbers of covered tokens.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct SharedRuns {
    /// Shared runs by position in the first text, then in the second. Runs may overlap.
    pub runs: Vec<SharedRun>,
    /// Number of tokens of the first text that are part of some run.
    pub a_covered: usize,
    /// Number of tokens of the second text that are part of some run.
    pub b_covered: usize,
}

/// Finds the passages of at least `min_tokens` tokens that occur in both texts.
///
/// `a` and `b` are the 64-bit hashes of the tokens in order; tokens with equal hashes count as equal. A
/// `min_tokens` of 0 is treated as 1.
///
/// Both counts are exact: a token is counted if and only if it is part of a sequence of at least `min_tokens`
/// tokens that also occurs in the other text. Swapping the texts therefore swaps the counts. The runs cover
/// exactly these tokens in both texts, and no run can be extended by a token at either end. If a passage has
/// several occurrences, the function prefers one that continues the reading order of the previous run.
///
/// # Panics
///
/// Panics if both texts together have `u32::MAX - 1` tokens or more, because token positions are 32-bit.
pub fn shared_runs(a: &[u64], b: &[u64], min_tokens: usize) -> SharedRuns {
    let min = min_tokens.max(1);
    if a.len().min(b.len()) < min {
        return SharedRuns::default();
    }
    let joined = JoinedTexts::new(a, b);
    let in_a = joined.a_against_b();
    let in_b = joined.b_against_a();
    let from_a = cover(&in_a, min, &vec![false; a.len()]);
    let from_b = cover(&in_b, min, &covered_in_other(&from_a, b.len()));
    let a_covered = count_covered(&in_a, min);
    let b_covered = count_covered(&in_b, min);
    drop(joined);
    SharedRuns { runs: merge(&from_a, &from_b), a_covered, b_covered }
}

/// Number of neighbors in the suffix array, in each direction, that are examined for an occurrence in reading order.
const NEIGHBORS: usize = 16;

/// A run, from the perspective of one of the texts.
#[derive(Clone, Copy, Debug, Default)]
struct Run {
    own_start: usize,
    other_start: usize,
    len: usize,
}

impl Run {
    fn own_end(&self) -> usize {
        self.own_start + self.len
    }

    fn other_range(&self) -> Range<usize> {
        self.other_start..self.other_start + self.len
    }
}

/// The joined texts, their suffix array, and the longest match of every position.
struct JoinedTexts {
    /// Ranks of the tokens of the first text, the separator, ranks of the tokens of the second text.
    text: Vec<u32>,
    /// Position of the separator.
    separator: usize,
    sa: Vec<u32>,
    lcp: Vec<u32>,
    longest: Vec<LongestMatch>,
}

/// The longest match in the other text of the suffix at a position.
#[derive(Clone, Copy, Default)]
struct LongestMatch {
    len: u32,
    /// Index in the suffix array of a suffix of the other text that starts with this match.
    index: u32,
}

impl JoinedTexts {
    fn new(a: &[u64], b: &[u64]) -> Self {
        let separator = a.len();
        let (text, alphabet) = joined_ranks(a, b);
        let sa = suffix_array(&text, alphabet);
        let lcp = lcp_array(&text, &sa);
        let longest = longest_matches(&sa, &lcp, separator);
        Self { text, separator, sa, lcp, longest }
    }

    fn a_against_b(&self) -> Side<'_> {
        Side { joined: self, own: 0..self.separator, other: self.separator + 1..self.text.len() }
    }

    fn b_against_a(&self) -> Side<'_> {
        Side { joined: self, own: self.separator + 1..self.text.len(), other: 0..self.separator }
    }
}

/// Replaces hashes by dense ranks and joins the texts. Returns the joined text and the size of its alphabet.
///
/// The separator has rank 0; tokens have ranks from 1. Ranks are computed by sorting instead of with a hash map,
/// because an adversary could choose tokens that collide.
fn joined_ranks(a: &[u64], b: &[u64]) -> (Vec<u32>, u32) {
    let len = a.len() + 1 + b.len();
    assert!(len < u32::MAX as usize, "token positions are 32 bits wide");
    let separator = a.len() as u32;
    let positions = (0..separator).chain(separator + 1..len as u32);
    let mut tokens: Vec<(u64, u32)> = a.iter().chain(b).copied().zip(positions).collect();
    tokens.sort_unstable();
    let mut text = vec![0; len];
    let mut rank = 0;
    for same in tokens.chunk_by(|left, right| left.0 == right.0) {
        rank += 1;
        same.iter().for_each(|&(_, position)| text[position as usize] = rank);
    }
    (text, rank + 1)
}

/// Returns the longest match in the other text for each position of the joined text.
///
/// The suffix of the other text with the longest common prefix is the nearest one above or below in the suffix
/// array. No match extends across the separator, because no suffix of the second text contains it.
fn longest_matches(sa: &[u32], lcp: &[u32], separator: usize) -> Vec<LongestMatch> {
    let mut longest = vec![LongestMatch::default(); sa.len()];
    let mut sweep = Sweep::default();
    for (index, (&start, &shared)) in sa.iter().zip(lcp).enumerate() {
        sweep.advance(shared);
        sweep.visit(index, start as usize, separator, &mut longest);
    }
    let mut sweep = Sweep::default();
    for (index, (&start, &shared)) in sa.iter().zip(lcp).enumerate().rev() {
        sweep.visit(index, start as usize, separator, &mut longest);
        sweep.advance(shared);
    }
    longest
}

/// State of a pass over the suffix array: the last visited suffix of each text, and the length of its common
/// prefix with the current suffix.
#[derive(Default)]
struct Sweep {
    last_of_a: LongestMatch,
    last_of_b: LongestMatch,
}

impl Sweep {
    /// Moves to the next suffix, which has a common prefix of `shared` symbols with the current one.
    fn advance(&mut self, shared: u32) {
        self.last_of_a.len = self.last_of_a.len.min(shared);
        self.last_of_b.len = self.last_of_b.len.min(shared);
    }

    /// Updates the longest match of the suffix at `start`, and makes it the last visited suffix of its text.
    fn visit(&mut self, index: usize, start: usize, separator: usize, longest: &mut [LongestMatch]) {
        if start == separator {
            return;
        }
        let (own, other) = if start < separator {
            (&mut self.last_of_a, &self.last_of_b)
        } else {
            (&mut self.last_of_b, &self.last_of_a)
        };
        if other.len > longest[start].len {
            longest[start] = *other;
        }
        *own = LongestMatch { len: u32::MAX, index: index as u32 };
    }
}

/// One text compared with the other. Positions are relative to the start of each text.
struct Side<'j> {
    joined: &'j JoinedTexts,
    /// Range of the text in the joined text.
    own: Range<usize>,
    /// Range of the other text in the joined text.
    other: Range<usize>,
}

impl Side<'_> {
    fn own_tokens(&self) -> &[u32] {
        &self.joined.text[self.own.clone()]
    }

    fn other_tokens(&self) -> &[u32] {
        &self.joined.text[self.other.clone()]
    }

    /// Returns the longest match at each position.
    fn longest(&self) -> &[LongestMatch] {
        &self.joined.longest[self.own.clone()]
    }

    /// Returns the longest match at `start` as a run, extended to the left as far as possible.
    ///
    /// The match cannot be extended to the right at any of its occurrences, because it is the longest.
    fn maximal_run(&self, start: usize, previous: &Run) -> Run {
        let len = self.longest()[start].len as usize;
        let other_start = self.choose_occurrence(start, previous);
        let before = self.own_tokens()[..start].iter().rev();
        let other_before = self.other_tokens()[..other_start].iter().rev();
        let more = before.zip(other_before).take_while(|(x, y)| x == y).count();
        Run { own_start: start - more, other_start: other_start - more, len: len + more }
    }

    /// Chooses an occurrence of the longest match at `start` in the other text, such that runs are in reading order.
    ///
    /// The first choice is the occurrence at the same distance from the previous run as in this text (words were
    /// replaced). The second choice is the first occurrence after the previous run, among the examined ones (words
    /// were inserted or deleted). The last choice is any occurrence.
    fn choose_occurrence(&self, start: usize, previous: &Run) -> usize {
        let same_distance = (previous.other_start + start)
            .checked_sub(previous.own_start)
            .filter(|&at| self.occurs_at(start, at));
        let overlap = previous.own_end().saturating_sub(start);
        let earliest = previous.other_range().end.saturating_sub(overlap);
        same_distance
            .or_else(|| self.some_occurrences(start).filter(|&at| at >= earliest).min())
            .unwrap_or_else(|| self.known_occurrence(start))
    }

    /// Returns `true` if the longest match at `start` occurs at this position of the other text.
    fn occurs_at(&self, start: usize, other_start: usize) -> bool {
        let len = self.longest()[start].len as usize;
        let found = self.other_tokens().get(other_start..other_start + len);
        found.is_some_and(|found| found == &self.own_tokens()[start..start + len])
    }

    fn known_occurrence(&self, start: usize) -> usize {
        self.joined.sa[self.longest()[start].index as usize] as usize - self.other.start
    }

    /// Returns some positions in the other text where the longest match at `start` occurs.
    ///
    /// All occurrences are adjacent in the suffix array. Of a frequent phrase, only [`NEIGHBORS`] in each direction
    /// are examined.
    fn some_occurrences(&self, start: usize) -> impl Iterator<Item = usize> + '_ {
        let LongestMatch { len, index } = self.longest()[start];
        let JoinedTexts { sa, lcp, .. } = self.joined;
        let is_match = move |shared: u32| shared >= len;
        let index = index as usize;
        let up = (0..=index).rev().take(NEIGHBORS).take_while(move |&i| i == index || is_match(lcp[i + 1]));
        let down = (index + 1..sa.len()).take(NEIGHBORS).take_while(move |&i| is_match(lcp[i]));
        let positions = up.chain(down).map(|i| sa[i] as usize);
        positions.filter(|at| self.other.contains(at)).map(|at| at - self.other.start)
    }
}

/// Returns, for each position of a text, the range of the last match of at least `min` tokens that starts at or
/// before it. Before the first match, the range is empty.
///
/// No match that covers the position reaches farther, so the position is covered if and only if it is before the end
/// of this range.
fn latest_matches(side: &Side<'_>, min: usize) -> impl Iterator<Item = Range<usize>> {
    side.longest().iter().enumerate().scan(0..0, move |latest, (start, longest)| {
        let len = longest.len as usize;
        if len >= min {
            *latest = start..start + len;
        }
        Some(latest.clone())
    })
}

fn count_covered(side: &Side<'_>, min: usize) -> usize {
    latest_matches(side, min).enumerate().filter(|(position, latest)| *position < latest.end).count()
}

/// Returns the smallest possible list of maximal runs that covers all coverable tokens of a text, except those in
/// `already_covered`.
///
/// Takes linear time. Let s1, s2, ... be the starts of the chosen matches before they are extended to the left. Each
/// match ends after the token for which it was chosen, which no earlier match reaches, and a match that starts at or
/// before another one ends no later than it. So no match is extended to the left as far as the previous start,
/// because the match at that start would have ended later; all extensions together are therefore no longer than the
/// text. Moreover, the match after the next one starts after the end of the current one, so all lengths together are
/// at most twice the length of the text, which bounds the comparisons in [`Side::occurs_at`].
fn cover(side: &Side<'_>, min: usize, already_covered: &[bool]) -> Vec<Run> {
    let mut runs = Vec::new();
    let mut previous = Run::default();
    for (position, latest) in latest_matches(side, min).enumerate() {
        let is_open = position >= previous.own_end() && !already_covered[position];
        if is_open && position < latest.end {
            previous = side.maximal_run(latest.start, &previous);
            runs.push(previous);
        }
    }
    runs
}

/// Returns for each of the `len` tokens of the other text whether the runs cover it.
fn covered_in_other(runs: &[Run], len: usize) -> Vec<bool> {
    let mut covered = vec![false; len];
    for run in runs {
        covered[run.other_range()].fill(true);
    }
    covered
}

/// Merges the runs found from both texts into one sorted list.
fn merge(from_a: &[Run], from_b: &[Run]) -> Vec<SharedRun> {
    let runs_from_a =
        from_a.iter().map(|run| SharedRun { a_start: run.own_start, b_start: run.other_start, len: run.len });
    let runs_from_b =
        from_b.iter().map(|run| SharedRun { a_start: run.other_start, b_start: run.own_start, len: run.len });
    let mut runs: Vec<SharedRun> = runs_from_a.chain(runs_from_b).collect();
    runs.sort_unstable_by_key(|run| (run.a_start, run.b_start));
    runs
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::random::SplitMix64;

    impl SplitMix64 {
        fn text(&mut self, max_len: usize, alphabet: usize) -> Vec<u64> {
            (0..self.below(max_len + 1)).map(|_| self.below(alphabet) as u64).collect()
        }
    }

    /// Returns one token per byte.
    fn tokens(text: &str) -> Vec<u64> {
        text.bytes().map(u64::from).collect()
    }

    fn run(a_start: usize, b_start: usize, len: usize) -> SharedRun {
        SharedRun { a_start, b_start, len }
    }

    fn shared(a: &str, b: &str, min_tokens: usize) -> SharedRuns {
        shared_runs(&tokens(a), &tokens(b), min_tokens)
    }

    /// Reference implementation: returns every maximal run of at least `min` tokens, from a table of all pairs of
    /// positions.
    fn all_maximal_runs(a: &[u64], b: &[u64], min: usize) -> Vec<SharedRun> {
        let mut ahead = vec![vec![0; b.len() + 1]; a.len() + 1];
        for i in (0..a.len()).rev() {
            for j in (0..b.len()).rev() {
                ahead[i][j] = if a[i] == b[j] { ahead[i + 1][j + 1] + 1 } else { 0 };
            }
        }
        let pairs = (0..a.len()).flat_map(|i| (0..b.len()).map(move |j| (i, j)));
        pairs
            .filter(|&(i, j)| ahead[i][j] >= min && (i == 0 || j == 0 || a[i - 1] != b[j - 1]))
            .map(|(i, j)| run(i, j, ahead[i][j]))
            .collect()
    }

    fn ranges_in_a(runs: &[SharedRun]) -> Vec<Range<usize>> {
        runs.iter().map(|run| run.a_start..run.a_start + run.len).collect()
    }

    fn ranges_in_b(runs: &[SharedRun]) -> Vec<Range<usize>> {
        runs.iter().map(|run| run.b_start..run.b_start + run.len).collect()
    }

    fn union(ranges: &[Range<usize>]) -> Vec<usize> {
        let mut positions: Vec<usize> = ranges.iter().cloned().flatten().collect();
        positions.sort_unstable();
        positions.dedup();
        positions
    }

    /// Returns the minimum number of ranges that cover the union of all ranges.
    fn min_cover(ranges: &[Range<usize>]) -> usize {
        let mut count = 0;
        let mut reached = 0;
        for position in union(ranges) {
            if position >= reached {
                let containing = ranges.iter().filter(|range| range.contains(&position));
                reached = containing.map(|range| range.end).max().unwrap();
                count += 1;
            }
        }
        count
    }

    fn check(a: &[u64], b: &[u64], min_tokens: usize) {
        let found = shared_runs(a, b, min_tokens);
        let oracle = all_maximal_runs(a, b, min_tokens.max(1));
        let context = format!("a = {a:?}, b = {b:?}, min_tokens = {min_tokens}: {found:?}");

        // The oracle's runs are equal in both texts, maximal and long enough.
        assert!(found.runs.iter().all(|run| oracle.contains(run)), "{context}");
        let order: Vec<_> = found.runs.iter().map(|run| (run.a_start, run.b_start)).collect();
        assert!(order.is_sorted_by(|left, right| left < right), "{context}");

        let covered_in_a = union(&ranges_in_a(&oracle));
        let covered_in_b = union(&ranges_in_b(&oracle));
        assert_eq!(union(&ranges_in_a(&found.runs)), covered_in_a, "{context}");
        assert_eq!(union(&ranges_in_b(&found.runs)), covered_in_b, "{context}");
        assert_eq!((found.a_covered, found.b_covered), (covered_in_a.len(), covered_in_b.len()), "{context}");

        let limit = min_cover(&ranges_in_a(&oracle)) + min_cover(&ranges_in_b(&oracle));
        assert!(found.runs.len() <= limit, "{context}");

        let swapped = shared_runs(b, a, min_tokens);
        assert_eq!((swapped.b_covered, swapped.a_covered), (found.a_covered, found.b_covered), "{context}");
    }

    #[test]
    fn agrees_with_brute_force_on_random_texts() {
        let mut random = SplitMix64(1);
        for _ in 0..20_000 {
            let alphabet = 1 + random.below(4);
            let (a, b) = (random.text(24, alphabet), random.text(24, alphabet));
            check(&a, &b, random.below(6));
        }
    }

    #[test]
    fn agrees_with_brute_force_on_edited_copies() {
        let mut random = SplitMix64(2);
        for _ in 0..3_000 {
            let alphabet = 2 + random.below(30);
            let a = random.text(80, alphabet);
            let mut b = a.clone();
            for _ in 0..random.below(6) {
                let (cut, moved) = (random.below(b.len() + 1), random.text(6, alphabet));
                let end = (cut + random.below(8)).min(b.len());
                b.splice(cut..end, moved);
                b.rotate_left(cut);
            }
            check(&a, &b, 1 + random.below(5));
        }
    }

    #[test]
    fn agrees_with_brute_force_on_periodic_texts() {
        for (n, m) in (0..20).flat_map(|n| (0..20).map(move |m| (n, m))) {
            for period in 1..4u64 {
                let text = |len| (0..len).map(|i| i % period).collect::<Vec<_>>();
                (1..5).for_each(|min_tokens| check(&text(n), &text(m), min_tokens));
            }
        }
    }

    #[test]
    fn empty_text_shares_nothing() {
        assert_eq!(shared("", "", 1), SharedRuns::default());
        assert_eq!(shared("abc", "", 1), SharedRuns::default());
        assert_eq!(shared("", "abc", 0), SharedRuns::default());
    }

    #[test]
    fn compares_texts_of_one_token() {
        assert_eq!(shared("a", "a", 1), SharedRuns { runs: vec![run(0, 0, 1)], a_covered: 1, b_covered: 1 });
        assert_eq!(shared("a", "b", 1), SharedRuns::default());
        assert_eq!(shared("a", "a", 2), SharedRuns::default());
    }

    #[test]
    fn identical_texts_are_one_run() {
        let found = shared("the same text", "the same text", 3);
        assert_eq!(found, SharedRuns { runs: vec![run(0, 0, 13)], a_covered: 13, b_covered: 13 });
    }

    #[test]
    fn texts_without_a_common_token_share_nothing() {
        assert_eq!(shared("abcabc", "xyzxyz", 1), SharedRuns::default());
    }

    #[test]
    fn min_tokens_is_inclusive() {
        assert_eq!(shared("..abc..", "--abc--", 3).runs, [run(2, 2, 3)]);
        assert_eq!(shared("..abc..", "--abc--", 4), SharedRuns::default());
    }

    #[test]
    fn min_tokens_0_is_treated_as_1() {
        assert_eq!(shared("xay", "bac", 0), shared("xay", "bac", 1));
        assert_eq!(shared("xay", "bac", 0).runs, [run(1, 1, 1)]);
    }

    #[test]
    fn min_tokens_above_both_lengths_shares_nothing() {
        assert_eq!(shared("abc", "abc", usize::MAX), SharedRuns::default());
    }

    #[test]
    fn accepts_extreme_hashes() {
        let text = [0, u64::MAX, 0, 1];
        assert_eq!(shared_runs(&text, &text, 1).runs, [run(0, 0, 4)]);
    }

    #[test]
    fn repeated_word_gives_few_runs() {
        let (longer, shorter) = ("w".repeat(1000), "w".repeat(300));
        for (a, b) in [(&longer, &shorter), (&shorter, &longer)] {
            let found = shared(a, b, 3);
            assert_eq!((found.a_covered, found.b_covered), (a.len(), b.len()));
            assert_eq!(found.runs.len(), 4);
        }
    }

    #[test]
    fn covers_a_short_remainder_by_an_overlapping_run() {
        // 7 = 3 + 3 + 1, and the last token alone is shorter than the minimum.
        let found = shared("wwwwwww", "www", 3);
        assert_eq!(found.runs, [run(0, 0, 3), run(3, 0, 3), run(4, 0, 3)]);
        assert_eq!((found.a_covered, found.b_covered), (7, 3));
    }

    #[test]
    fn finds_swapped_paragraphs() {
        let found = shared("first one.SECOND ONE!", "SECOND ONE!first one.", 4);
        assert_eq!(found.runs, [run(0, 11, 10), run(10, 0, 11)]);
        assert_eq!((found.a_covered, found.b_covered), (21, 21));
    }

    #[test]
    fn pairs_repeated_paragraphs_in_reading_order() {
        let found = shared("paragraph-paragraph", "paragraph+paragraph", 5);
        assert_eq!(found.runs, [run(0, 0, 9), run(10, 10, 9)]);
        assert_eq!((found.a_covered, found.b_covered), (18, 18));
    }

    #[test]
    fn covers_every_occurrence_of_a_repeated_paragraph() {
        let found = shared("paragraph", "paragraph+paragraph", 5);
        assert_eq!(found.runs, [run(0, 0, 9), run(0, 10, 9)]);
        assert_eq!((found.a_covered, found.b_covered), (9, 18));
    }

    #[test]
    fn replaced_words_keep_the_order_of_repeated_phrases() {
        // "abc" occurs four times in each text; each occurrence is paired with the one at the same position.
        assert_eq!(
            shared("abc1abc2abc3abc", "abc5abc6abc7abc", 3).runs,
            [run(0, 0, 3), run(4, 4, 3), run(8, 8, 3), run(12, 12, 3)]
        );
    }

    #[test]
    fn inserted_words_keep_the_order_of_repeated_phrases() {
        assert_eq!(
            shared("abc1abc2abc", "abc567abc89abc", 3).runs,
            [run(0, 0, 3), run(4, 6, 3), run(8, 11, 3)]
        );
    }

    #[test]
    fn long_periodic_texts_take_near_linear_time() {
        // A quadratic algorithm would take hours here.
        let periodic = |len: u64, period: u64| (0..len).map(|i| i % period).collect::<Vec<_>>();
        for (n, m, period) in [(100_000, 90_000, 1), (100_000, 3, 1), (100_000, 77_777, 2), (5, 100_000, 3)] {
            let (a, b) = (periodic(n, period), periodic(m, period));
            let found = shared_runs(&a, &b, 2);
            assert_eq!((found.a_covered, found.b_covered), (a.len(), b.len()));
            let needed = a.len().div_ceil(b.len()) + b.len().div_ceil(a.len());
            assert!(found.runs.len() <= 2 * needed);
        }
    }
}
