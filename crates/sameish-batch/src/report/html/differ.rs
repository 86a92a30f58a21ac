//! The words in which two texts differ.
//!
//! Shared passages that occur in the same order in both texts are anchors. The words between two anchors are compared by a
//! longest common subsequence.

use std::ops::Range;

/// Maximum size of the table of a comparison, in cells. Larger parts count as different as a whole.
const CELLS: usize = 4_000_000;
/// Maximum number of passages that are used as anchors, the longest first.
const RUNS: usize = 400;

/// A range of words of one text that the other text replaces. One range is empty for inserted or deleted words.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Hunk {
    pub(super) a: Range<usize>,
    pub(super) b: Range<usize>,
}

/// A range of equal words in both texts.
pub(super) type Run = Hunk;

/// Finds the differences of two texts, in order. Words are given as numbers.
pub(super) fn hunks(a: &[u32], b: &[u32], runs: &[Run]) -> Vec<Hunk> {
    let equal = |run: &&Run| match (a.get(run.a.clone()), b.get(run.b.clone())) {
        (Some(x), Some(y)) => !x.is_empty() && x == y,
        _ => false,
    };
    let mut anchors = chain(runs.iter().filter(equal).cloned().collect());
    anchors.push(Run { a: a.len()..a.len(), b: b.len()..b.len() });
    let (mut from_a, mut from_b) = (0, 0);
    let mut hunks = Vec::new();
    for anchor in anchors {
        between(a, b, from_a..anchor.a.start, from_b..anchor.b.start, &mut hunks);
        (from_a, from_b) = (anchor.a.end, anchor.b.end);
    }
    join_neighbors(hunks)
}

/// Returns the chain of runs with the most words in which each run follows the previous one in both texts.
fn chain(mut runs: Vec<Run>) -> Vec<Run> {
    runs.sort_by_key(|run| (std::cmp::Reverse(run.a.len()), run.a.start, run.b.start));
    runs.truncate(RUNS);
    runs.sort_by_key(|run| (run.a.start, run.b.start));
    let mut best: Vec<(usize, Option<usize>)> = Vec::with_capacity(runs.len());
    for (i, run) in runs.iter().enumerate() {
        let follows = |j: &usize| runs[*j].a.end <= run.a.start && runs[*j].b.end <= run.b.start;
        let before = (0..i).filter(follows).max_by_key(|&j| best[j].0);
        best.push((run.a.len() + before.map_or(0, |j| best[j].0), before));
    }
    let mut at = (0..runs.len()).max_by_key(|&i| best[i].0);
    let mut chain = Vec::new();
    while let Some(i) = at {
        chain.push(runs[i].clone());
        at = best[i].1;
    }
    chain.reverse();
    chain
}

/// Adds the differences of two ranges.
fn between(a: &[u32], b: &[u32], mut in_a: Range<usize>, mut in_b: Range<usize>, hunks: &mut Vec<Hunk>) {
    while !in_a.is_empty() && !in_b.is_empty() && a[in_a.start] == b[in_b.start] {
        (in_a.start, in_b.start) = (in_a.start + 1, in_b.start + 1);
    }
    while !in_a.is_empty() && !in_b.is_empty() && a[in_a.end - 1] == b[in_b.end - 1] {
        (in_a.end, in_b.end) = (in_a.end - 1, in_b.end - 1);
    }
    let cells = (in_a.len() + 1).saturating_mul(in_b.len() + 1);
    if in_a.is_empty() || in_b.is_empty() || cells > CELLS {
        push(hunks, in_a, in_b);
        return;
    }
    for (x, y) in steps(&a[in_a.clone()], &b[in_b.clone()]) {
        push(hunks, in_a.start + x.start..in_a.start + x.end, in_b.start + y.start..in_b.start + y.end);
    }
}

/// Returns the words outside the longest common subsequence, one at a time.
fn steps(a: &[u32], b: &[u32]) -> Vec<(Range<usize>, Range<usize>)> {
    let width = b.len() + 1;
    // `common[i * width + j]` is the length of the longest common subsequence of `a[i..]` and `b[j..]`.
    let mut common = vec![0_u32; (a.len() + 1) * width];
    for i in (0..a.len()).rev() {
        for j in (0..b.len()).rev() {
            common[i * width + j] = if a[i] == b[j] {
                common[(i + 1) * width + j + 1] + 1
            } else {
                common[(i + 1) * width + j].max(common[i * width + j + 1])
            };
        }
    }
    let (mut i, mut j) = (0, 0);
    let mut steps = Vec::new();
    while i < a.len() || j < b.len() {
        if i < a.len() && j < b.len() && a[i] == b[j] {
            (i, j) = (i + 1, j + 1);
        } else if j == b.len() || i < a.len() && common[(i + 1) * width + j] >= common[i * width + j + 1] {
            steps.push((i..i + 1, j..j));
            i += 1;
        } else {
            steps.push((i..i, j..j + 1));
            j += 1;
        }
    }
    steps
}

/// Adds a hunk, or extends the last one if they touch.
fn push(hunks: &mut Vec<Hunk>, a: Range<usize>, b: Range<usize>) {
    match hunks.last_mut() {
        _ if a.is_empty() && b.is_empty() => {}
        Some(last) if last.a.end == a.start && last.b.end == b.start => {
            (last.a.end, last.b.end) = (a.end, b.end);
        }
        _ => hunks.push(Hunk { a, b }),
    }
}

/// Joins long hunks that are separated by one or two words, which agree by chance, such as "of the".
fn join_neighbors(hunks: Vec<Hunk>) -> Vec<Hunk> {
    let size = |hunk: &Hunk| hunk.a.len().min(hunk.b.len());
    let mut joined: Vec<Hunk> = Vec::with_capacity(hunks.len());
    for hunk in hunks {
        match joined.last_mut() {
            Some(last) if hunk.a.start - last.a.end <= 2 && size(last) >= 4 && size(&hunk) >= 4 => {
                (last.a.end, last.b.end) = (hunk.a.end, hunk.b.end);
            }
            _ => joined.push(hunk),
        }
    }
    joined
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::collection::vec;
    use proptest::prelude::*;

    fn words(text: &str) -> Vec<u32> {
        text.bytes().map(u32::from).collect()
    }

    fn differing(a: &str, b: &str, runs: &[Run]) -> Vec<(String, String)> {
        let hunks = hunks(&words(a), &words(b), runs);
        hunks.into_iter().map(|hunk| (a[hunk.a].to_owned(), b[hunk.b].to_owned())).collect()
    }

    #[test]
    fn finds_changed_inserted_and_deleted_words() {
        assert_eq!(differing("abcdef", "abcdef", &[]), []);
        assert_eq!(differing("abXdef", "abYdef", &[]), [("X".into(), "Y".into())]);
        assert_eq!(differing("abef", "abcdef", &[]), [("".into(), "cd".into())]);
        assert_eq!(differing("abc", "", &[]), [("abc".into(), "".into())]);
        assert_eq!(differing("", "", &[]), []);
    }

    #[test]
    fn ignores_passages_out_of_order() {
        let runs = [Run { a: 0..3, b: 5..8 }, Run { a: 4..8, b: 0..4 }];
        assert_eq!(
            differing("abc-efgh", "efgh-abc", &runs),
            [("abc-".into(), "".into()), ("".into(), "-abc".into())]
        );
    }

    #[test]
    fn ignores_runs_that_are_unequal_or_out_of_bounds() {
        let runs = [Run { a: 0..9, b: 0..9 }, Run { a: 1..2, b: 0..1 }];
        assert_eq!(differing("abc", "abd", &runs), [("c".into(), "d".into())]);
    }

    #[test]
    fn limits_the_size_of_the_table() {
        let (a, b) = ("ab".repeat(2000), "cd".repeat(2000));
        assert_eq!(differing(&a, &b, &[]), [(a.clone(), b.clone())]);
    }

    proptest! {
        #[test]
        fn texts_are_equal_without_their_differences(
            a in "[a-d]{0,40}",
            b in "[a-d]{0,40}",
            runs in vec((0..40_usize, 0..40_usize, 0..9_usize), 0..12),
        ) {
            let run = |(x, y, len)| Run { a: x..x + len, b: y..y + len };
            let runs: Vec<Run> = runs.into_iter().map(run).collect();
            let (mut rest_a, mut rest_b) = (a.clone(), b.clone());
            for hunk in hunks(&words(&a), &words(&b), &runs).into_iter().rev() {
                rest_a.replace_range(hunk.a, "");
                rest_b.replace_range(hunk.b, "");
            }
            prop_assert_eq!(rest_a, rest_b);
        }
    }
}
