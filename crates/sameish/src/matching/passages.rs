//! Which passages do two texts share, and how much of each text do they cover?
//!
//! A token of one text is *covered* when it lies in some sequence of at least `min_tokens` tokens that also
//! occurs in the other text. [`shared_runs`] counts covered tokens exactly, on both sides, and shows them as
//! a short list of [`SharedRun`]s, none of which can be made longer.
//!
//! # How
//!
//! Both texts are joined with a separator that occurs in neither, and the suffixes of the whole are sorted
//! (a generalized suffix array; see `suffix.rs` for its papers). Around each suffix, the nearest suffix of
//! the *other* text shares the most with it, so one walk down and one up the array give for every position
//! the longest match in the other text and one place where it stands: the matching statistics of Chang and
//! Lawler (*Sublinear approximate string matching and biological applications*, 1994).
//!
//! Where these matches end never moves back as their start moves on. So the latest long enough match that
//! starts at or before a token reaches farthest of all that could cover it: it covers the token or none does,
//! and always taking it when a token is still uncovered needs the fewest runs (the usual greedy interval
//! cover). This is done for the first text, and then for what the runs found so far leave uncovered in the
//! second.
//!
//! # Bounds
//!
//! For n tokens in both texts together: O(n log n) time to sort token hashes and runs, O(n) for all else, for
//! every input (`cover` says why); 20 to 25 bytes of memory a token beyond the input, and about 50 a run. The
//! number of runs is at most the fewest that cover the first text plus the fewest that cover the second;
//! either may be forced by the texts (a word said n times against the same word said once takes n runs).
//!
//! # Where ours differs
//!
//! Greedy string tiling (Wise, 1993), the usual way to show such evidence, pairs each token at most once and
//! is cubic at worst. Here a passage may be shared more than once, so that a text which repeats a passage of
//! the other is covered wholly; this also makes the counts independent of any order of choice, and symmetric.
//! Maximal *pairs* of passages may be quadratic in number, so only enough of them to cover are listed.

use std::ops::Range;

use super::suffix::{lcp_array, suffix_array};

/// A run of tokens that stands in both texts (token positions, half open).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SharedRun {
    /// Position of the first token in the first text.
    pub a_start: usize,
    /// Position of the first token in the second text.
    pub b_start: usize,
    /// How many tokens are equal from there on.
    pub len: usize,
}

/// Shared runs, and how many tokens of each text lie in some shared run.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct SharedRuns {
    /// Ordered by position in the first text, then in the second. Runs may overlap.
    pub runs: Vec<SharedRun>,
    /// Tokens of the first text that lie in some run.
    pub a_covered: usize,
    /// Tokens of the second text that lie in some run.
    pub b_covered: usize,
}

/// Finds the passages of at least `min_tokens` tokens that stand in both texts.
///
/// `a` and `b` are the 64-bit hashes of the tokens in order; tokens with equal hashes count as equal. A
/// `min_tokens` of 0 is treated as 1.
///
/// Both counts are exact: a token is counted if and only if it lies in a sequence of at least `min_tokens`
/// tokens that also occurs in the other text. So swapping the texts swaps the counts. The runs together
/// cover just these tokens on both sides, and no run can be extended by a token at either end. Which runs
/// are shown where a passage occurs more than once is a choice: one that keeps the reading order of the run
/// before it is preferred.
///
/// # Panics
///
/// If both texts together have `u32::MAX - 1` tokens or more: token positions are 32 bits wide. Callers keep
/// to this limit.
pub fn shared_runs(a: &[u64], b: &[u64], min_tokens: usize) -> SharedRuns {
    let min = min_tokens.max(1);
    if a.len().min(b.len()) < min {
        return SharedRuns::default();
    }
    let joined = Joined::new(a, b);
    let (in_a, in_b) = (joined.a_against_b(), joined.b_against_a());
    let from_a = cover(&in_a, min, &vec![false; a.len()]);
    let from_b = cover(&in_b, min, &marked(&from_a, b.len()));
    let (a_covered, b_covered) = (count_covered(&in_a, min), count_covered(&in_b, min));
    drop(joined);
    SharedRuns { runs: in_order(&from_a, &from_b), a_covered, b_covered }
}

/// How many neighbors in the suffix array are looked at, each way, for an occurrence that reads in order.
const NEIGHBORS: usize = 16;

/// A run as seen from one of the texts.
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

/// Both texts in one, with its sorted suffixes and the longest match of every position.
struct Joined {
    /// Ranks of the tokens of the first text, a separator, ranks of the tokens of the second.
    text: Vec<u32>,
    /// Where the separator stands.
    separator: usize,
    sa: Vec<u32>,
    lcp: Vec<u32>,
    longest: Vec<Longest>,
}

/// The longest match of a position in the other text.
#[derive(Clone, Copy, Default)]
struct Longest {
    len: u32,
    /// Place in the suffix array of a suffix of the other text that begins with this match.
    place: u32,
}

impl Joined {
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

/// Replaces hashes by dense ranks and joins the texts; gives the result and the size of its alphabet.
///
/// The separator has rank 0, tokens have ranks from 1. Sorted and not put in a hash map: outsiders choose
/// the tokens, and could choose them to collide.
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

/// The longest match of each position of the joined text in the text it does not belong to.
///
/// The suffix that shares most with a given one is the nearest of the other text, above or below. Matches
/// end at the separator by themselves: no suffix of the second text contains it.
fn longest_matches(sa: &[u32], lcp: &[u32], separator: usize) -> Vec<Longest> {
    let mut longest = vec![Longest::default(); sa.len()];
    let mut sweep = Sweep::default();
    for (place, (&start, &shared)) in sa.iter().zip(lcp).enumerate() {
        sweep.step(shared);
        sweep.meet(place, start as usize, separator, &mut longest);
    }
    let mut sweep = Sweep::default();
    for (place, (&start, &shared)) in sa.iter().zip(lcp).enumerate().rev() {
        sweep.meet(place, start as usize, separator, &mut longest);
        sweep.step(shared);
    }
    longest
}

/// What a walk along the suffix array remembers: the last suffix met of each text, and how much of it is
/// still shared with the place the walk has come to.
#[derive(Default)]
struct Sweep {
    last_of_a: Longest,
    last_of_b: Longest,
}

impl Sweep {
    /// Crosses the border between two neighbors that share `shared` symbols.
    fn step(&mut self, shared: u32) {
        self.last_of_a.len = self.last_of_a.len.min(shared);
        self.last_of_b.len = self.last_of_b.len.min(shared);
    }

    /// Notes the match of the suffix at `start` with the other text, and remembers the suffix for its own.
    fn meet(&mut self, place: usize, start: usize, separator: usize, longest: &mut [Longest]) {
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
        *own = Longest { len: u32::MAX, place: place as u32 };
    }
}

/// One text seen against the other. Positions are counted from the start of each text.
struct Side<'j> {
    joined: &'j Joined,
    /// Where the text stands in the joined one.
    own: Range<usize>,
    /// Where the text it is compared with stands.
    other: Range<usize>,
}

impl Side<'_> {
    fn own_tokens(&self) -> &[u32] {
        &self.joined.text[self.own.clone()]
    }

    fn other_tokens(&self) -> &[u32] {
        &self.joined.text[self.other.clone()]
    }

    /// For each position, the longest match that starts there.
    fn longest(&self) -> &[Longest] {
        &self.joined.longest[self.own.clone()]
    }

    /// The longest match at `start` as a run, made maximal at the left too.
    ///
    /// At the right it is maximal wherever it occurs, for otherwise it would not be the longest.
    fn maximal_run(&self, start: usize, previous: &Run) -> Run {
        let len = self.longest()[start].len as usize;
        let other_start = self.choose_occurrence(start, previous);
        let before = self.own_tokens()[..start].iter().rev();
        let other_before = self.other_tokens()[..other_start].iter().rev();
        let more = before.zip(other_before).take_while(|(x, y)| x == y).count();
        Run { own_start: start - more, other_start: other_start - more, len: len + more }
    }

    /// Where in the other text to show the longest match at `start`, so that runs read in order.
    ///
    /// Best is the place as far behind the previous run as in this text (a word was replaced), next the
    /// first one behind the previous run among some (words came in or fell out), last any.
    fn choose_occurrence(&self, start: usize, previous: &Run) -> usize {
        let ahead = previous.other_start + start;
        let same_distance = ahead.checked_sub(previous.own_start).filter(|&at| self.occurs_at(start, at));
        let overlap = previous.own_end().saturating_sub(start);
        let behind = previous.other_range().end.saturating_sub(overlap);
        same_distance
            .or_else(|| self.some_occurrences(start).filter(|&at| at >= behind).min())
            .unwrap_or_else(|| self.known_occurrence(start))
    }

    /// Whether the longest match at `start` also stands at this position of the other text.
    fn occurs_at(&self, start: usize, other_start: usize) -> bool {
        let len = self.longest()[start].len as usize;
        let found = self.other_tokens().get(other_start..other_start + len);
        found.is_some_and(|found| found == &self.own_tokens()[start..start + len])
    }

    fn known_occurrence(&self, start: usize) -> usize {
        self.joined.sa[self.longest()[start].place as usize] as usize - self.other.start
    }

    /// Some positions in the other text where the longest match at `start` stands.
    ///
    /// All its occurrences are neighbors in the suffix array; of a frequent phrase only a few are looked at.
    fn some_occurrences(&self, start: usize) -> impl Iterator<Item = usize> + '_ {
        let Longest { len, place } = self.longest()[start];
        let Joined { sa, lcp, .. } = self.joined;
        let shares = move |shared: u32| shared >= len;
        let place = place as usize;
        let up = (0..=place).rev().take(NEIGHBORS).take_while(move |&p| p == place || shares(lcp[p + 1]));
        let down = (place + 1..sa.len()).take(NEIGHBORS).take_while(move |&p| shares(lcp[p]));
        let places = up.chain(down).map(|p| sa[p] as usize);
        places.filter(|at| self.other.contains(at)).map(|at| at - self.other.start)
    }
}

/// For each position of a text, the latest long enough match at or before it: where that starts and ends.
///
/// No match that covers the position reaches farther, so the position is covered exactly when the match
/// ends behind it. Before the first match the range is empty.
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

/// Fewest maximal runs that cover all covered tokens of a text but those already in `shown`.
///
/// Linear in the text. Let chosen matches start at s1, s2, ... before they are extended to the left. Each
/// ends behind the token it was chosen for, which no earlier one reaches; and a match that starts at or
/// before another one ends no later than it. So a match is never extended as far as the previous start (it
/// would have ended later), and all extensions together are no longer than the text. Also the match after
/// the next starts behind the end of this one, so all lengths together are at most twice the text, which
/// bounds the comparing of [`Side::occurs_at`].
fn cover(side: &Side<'_>, min: usize, shown: &[bool]) -> Vec<Run> {
    let mut runs = Vec::new();
    let mut previous = Run::default();
    for (position, latest) in latest_matches(side, min).enumerate() {
        let is_open = position >= previous.own_end() && !shown[position];
        if is_open && position < latest.end {
            previous = side.maximal_run(latest.start, &previous);
            runs.push(previous);
        }
    }
    runs
}

/// Which of the `len` tokens of the other text these runs show.
fn marked(runs: &[Run], len: usize) -> Vec<bool> {
    let mut shown = vec![false; len];
    for run in runs {
        shown[run.other_range()].fill(true);
    }
    shown
}

/// Runs found from both sides as one list.
fn in_order(from_a: &[Run], from_b: &[Run]) -> Vec<SharedRun> {
    let seen_from_a =
        from_a.iter().map(|run| SharedRun { a_start: run.own_start, b_start: run.other_start, len: run.len });
    let seen_from_b =
        from_b.iter().map(|run| SharedRun { a_start: run.other_start, b_start: run.own_start, len: run.len });
    let mut runs: Vec<SharedRun> = seen_from_a.chain(seen_from_b).collect();
    runs.sort_unstable_by_key(|run| (run.a_start, run.b_start));
    runs
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::random::SplitMix64;

    /// SplitMix64 (Steele, Lea and Flood, 2014).
    impl SplitMix64 {
        fn text(&mut self, max_len: usize, alphabet: usize) -> Vec<u64> {
            (0..self.below(max_len + 1)).map(|_| self.below(alphabet) as u64).collect()
        }
    }

    /// One token per byte: enough to write texts down.
    fn tokens(text: &str) -> Vec<u64> {
        text.bytes().map(u64::from).collect()
    }

    fn run(a_start: usize, b_start: usize, len: usize) -> SharedRun {
        SharedRun { a_start, b_start, len }
    }

    fn shared(a: &str, b: &str, min_tokens: usize) -> SharedRuns {
        shared_runs(&tokens(a), &tokens(b), min_tokens)
    }

    /// Every maximal run of at least `min` tokens, from a table of all pairs of positions.
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

    /// How many of the ranges it takes to cover their union.
    fn fewest(ranges: &[Range<usize>]) -> usize {
        let (mut count, mut reached) = (0, 0);
        for position in union(ranges) {
            if position >= reached {
                let holding = ranges.iter().filter(|range| range.contains(&position));
                reached = holding.map(|range| range.end).max().unwrap();
                count += 1;
            }
        }
        count
    }

    fn check(a: &[u64], b: &[u64], min_tokens: usize) {
        let found = shared_runs(a, b, min_tokens);
        let oracle = all_maximal_runs(a, b, min_tokens.max(1));
        let context = format!("a = {a:?}, b = {b:?}, min_tokens = {min_tokens}: {found:?}");

        // Being one of the oracle's runs means equal in both texts, maximal and long enough.
        assert!(found.runs.iter().all(|run| oracle.contains(run)), "{context}");
        let order: Vec<_> = found.runs.iter().map(|run| (run.a_start, run.b_start)).collect();
        assert!(order.is_sorted_by(|left, right| left < right), "{context}");

        let (covered_in_a, covered_in_b) = (union(&ranges_in_a(&oracle)), union(&ranges_in_b(&oracle)));
        assert_eq!(union(&ranges_in_a(&found.runs)), covered_in_a, "{context}");
        assert_eq!(union(&ranges_in_b(&found.runs)), covered_in_b, "{context}");
        assert_eq!((found.a_covered, found.b_covered), (covered_in_a.len(), covered_in_b.len()), "{context}");

        let limit = fewest(&ranges_in_a(&oracle)) + fewest(&ranges_in_b(&oracle));
        assert!(found.runs.len() <= limit, "{context}");

        let swapped = shared_runs(b, a, min_tokens);
        assert_eq!((swapped.b_covered, swapped.a_covered), (found.a_covered, found.b_covered), "{context}");
    }

    #[test]
    fn agrees_with_the_table_of_all_pairs_on_random_texts() {
        let mut random = SplitMix64(1);
        for _ in 0..20_000 {
            let alphabet = 1 + random.below(4);
            let (a, b) = (random.text(24, alphabet), random.text(24, alphabet));
            check(&a, &b, random.below(6));
        }
    }

    #[test]
    fn agrees_with_the_table_of_all_pairs_on_edited_copies() {
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
    fn agrees_with_the_table_of_all_pairs_on_periodic_texts() {
        for (n, m) in (0..20).flat_map(|n| (0..20).map(move |m| (n, m))) {
            for period in 1..4u64 {
                let text = |len| (0..len).map(|i| i % period).collect::<Vec<_>>();
                (1..5).for_each(|min_tokens| check(&text(n), &text(m), min_tokens));
            }
        }
    }

    #[test]
    fn an_empty_side_shares_nothing() {
        assert_eq!(shared("", "", 1), SharedRuns::default());
        assert_eq!(shared("abc", "", 1), SharedRuns::default());
        assert_eq!(shared("", "abc", 0), SharedRuns::default());
    }

    #[test]
    fn one_token_each() {
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
    fn a_run_of_exactly_the_minimum_counts_and_a_shorter_one_does_not() {
        assert_eq!(shared("..abc..", "--abc--", 3).runs, [run(2, 2, 3)]);
        assert_eq!(shared("..abc..", "--abc--", 4), SharedRuns::default());
    }

    #[test]
    fn a_minimum_of_zero_is_one() {
        assert_eq!(shared("xay", "bac", 0), shared("xay", "bac", 1));
        assert_eq!(shared("xay", "bac", 0).runs, [run(1, 1, 1)]);
    }

    #[test]
    fn a_minimum_beyond_all_texts_shares_nothing() {
        assert_eq!(shared("abc", "abc", usize::MAX), SharedRuns::default());
    }

    #[test]
    fn extreme_hashes_are_ordinary_tokens() {
        let text = [0, u64::MAX, 0, 1];
        assert_eq!(shared_runs(&text, &text, 1).runs, [run(0, 0, 4)]);
    }

    #[test]
    fn a_repeated_word_gives_a_short_list() {
        let (longer, shorter) = ("w".repeat(1000), "w".repeat(300));
        for (a, b) in [(&longer, &shorter), (&shorter, &longer)] {
            let found = shared(a, b, 3);
            assert_eq!((found.a_covered, found.b_covered), (a.len(), b.len()));
            assert_eq!(found.runs.len(), 4);
        }
    }

    #[test]
    fn a_leftover_below_the_minimum_is_covered_by_an_overlapping_run() {
        // 7 = 3 + 3 + 1, and the last token alone would be too short to be a run.
        let found = shared("wwwwwww", "www", 3);
        assert_eq!(found.runs, [run(0, 0, 3), run(3, 0, 3), run(4, 0, 3)]);
        assert_eq!((found.a_covered, found.b_covered), (7, 3));
    }

    #[test]
    fn swapped_paragraphs_are_both_found() {
        let found = shared("first one.SECOND ONE!", "SECOND ONE!first one.", 4);
        assert_eq!(found.runs, [run(0, 11, 10), run(10, 0, 11)]);
        assert_eq!((found.a_covered, found.b_covered), (21, 21));
    }

    #[test]
    fn a_paragraph_that_stands_twice_in_both_is_shown_in_order() {
        let found = shared("paragraph-paragraph", "paragraph+paragraph", 5);
        assert_eq!(found.runs, [run(0, 0, 9), run(10, 10, 9)]);
        assert_eq!((found.a_covered, found.b_covered), (18, 18));
    }

    #[test]
    fn a_paragraph_that_stands_once_and_twice_is_covered_wherever_it_stands() {
        let found = shared("paragraph", "paragraph+paragraph", 5);
        assert_eq!(found.runs, [run(0, 0, 9), run(0, 10, 9)]);
        assert_eq!((found.a_covered, found.b_covered), (9, 18));
    }

    #[test]
    fn a_replaced_word_keeps_the_order_of_repeated_phrases() {
        // "abc" stands everywhere; each time the one across is shown.
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
    fn long_hostile_texts_stay_near_linear() {
        // A quadratic step would take hours here, not a moment.
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
