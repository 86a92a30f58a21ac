//! Which words of two texts differ?
//!
//! Shared passages that stand in the same order in both texts are anchors; what lies between two of them is compared
//! word by word, by a longest common subsequence.

use std::ops::Range;

/// Cells of the largest table; what would need more differs as a whole.
const CELLS: usize = 4_000_000;
/// Passages that are looked at, the longest ones.
const RUNS: usize = 400;

/// Words of one text that stand where the other has other ones. Either may be empty: then words came or went.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Hunk {
    pub(super) a: Range<usize>,
    pub(super) b: Range<usize>,
}

/// Equally many words of both texts.
pub(super) type Run = Hunk;

/// Where two texts differ, in order. Words are equal when their numbers are.
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
    calm(hunks)
}

/// The runs with the most words of which each stands behind the one before in both texts.
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

/// Adds what differs in two stretches.
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

/// The words that a longest common subsequence leaves out, one at a time.
fn steps(a: &[u32], b: &[u32]) -> Vec<(Range<usize>, Range<usize>)> {
    let width = b.len() + 1;
    // How much the rests of both have in common.
    let mut common = vec![0_u32; (a.len() + 1) * width];
    for i in (0..a.len()).rev() {
        for j in (0..b.len()).rev() {
            common[i * width + j] = match a[i] == b[j] {
                true => common[(i + 1) * width + j + 1] + 1,
                false => common[(i + 1) * width + j].max(common[i * width + j + 1]),
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

/// Adds a hunk, or makes the last one longer where it touches.
fn push(hunks: &mut Vec<Hunk>, a: Range<usize>, b: Range<usize>) {
    match hunks.last_mut() {
        _ if a.is_empty() && b.is_empty() => {}
        Some(last) if last.a.end == a.start && last.b.end == b.start => {
            (last.a.end, last.b.end) = (a.end, b.end);
        }
        _ => hunks.push(Hunk { a, b }),
    }
}

/// Joins hunks with a word or two between them that agree by chance, as "of the" does among much that differs.
fn calm(hunks: Vec<Hunk>) -> Vec<Hunk> {
    let size = |hunk: &Hunk| hunk.a.len().min(hunk.b.len());
    let mut calmed: Vec<Hunk> = Vec::with_capacity(hunks.len());
    for hunk in hunks {
        match calmed.last_mut() {
            Some(last) if hunk.a.start - last.a.end <= 2 && size(last) >= 4 && size(&hunk) >= 4 => {
                (last.a.end, last.b.end) = (hunk.a.end, hunk.b.end);
            }
            _ => calmed.push(hunk),
        }
    }
    calmed
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
    fn finds_what_changed_came_and_went() {
        assert_eq!(differing("abcdef", "abcdef", &[]), []);
        assert_eq!(differing("abXdef", "abYdef", &[]), [("X".into(), "Y".into())]);
        assert_eq!(differing("abef", "abcdef", &[]), [("".into(), "cd".into())]);
        assert_eq!(differing("abc", "", &[]), [("abc".into(), "".into())]);
        assert_eq!(differing("", "", &[]), []);
    }

    #[test]
    fn passages_out_of_order_are_no_anchors() {
        let runs = [Run { a: 0..3, b: 5..8 }, Run { a: 4..8, b: 0..4 }];
        assert_eq!(
            differing("abc-efgh", "efgh-abc", &runs),
            [("abc-".into(), "".into()), ("".into(), "-abc".into())]
        );
    }

    #[test]
    fn runs_beyond_the_text_or_unequal_are_left_out() {
        let runs = [Run { a: 0..9, b: 0..9 }, Run { a: 1..2, b: 0..1 }];
        assert_eq!(differing("abc", "abd", &runs), [("c".into(), "d".into())]);
    }

    #[test]
    fn too_large_a_table_is_not_made() {
        let (a, b) = ("ab".repeat(2000), "cd".repeat(2000));
        assert_eq!(differing(&a, &b, &[]), [(a.clone(), b.clone())]);
    }

    proptest! {
        #[test]
        fn without_what_differs_both_are_equal(
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
