//! Differences between two texts: which values, names and words of the common wording are not the same?
//!
//! The texts are read as words and numbers (`features/numbers/`), so that `3,000` and `3000` do not differ. Runs of items
//! that both texts share in the same order are anchors, the longest first. What lies between two anchors differs. Such a gap
//! is divided further where it has equally many items on both sides and some of them are equal.
//!
//! The time is that of [`shared_runs`]; the number of anchors and of differences is limited.

use super::passages::{SharedRun, shared_runs};
use crate::features::{Item, for_each_item};
use crate::text::{Plain, Span, TextScratch};
use std::collections::BTreeMap;
use std::ops::Bound::{Excluded, Unbounded};
use std::ops::Range;

/// A part in which two texts with common wording differ: a number, a name or other text. Byte offsets into each
/// text; the range is empty where the other text has additional words.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct Difference {
    /// The offset of the first byte in the first text.
    pub a_start: usize,
    /// The offset after the last byte in the first text.
    pub a_end: usize,
    /// The offset of the first byte in the second text.
    pub b_start: usize,
    /// The offset after the last byte in the second text.
    pub b_end: usize,
    /// What differs.
    pub kind: DifferenceKind,
}

/// What differs between two texts at one place.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[cfg_attr(feature = "serde", serde(rename_all = "lowercase"))]
pub enum DifferenceKind {
    /// Both texts have a number, among at most six words and numbers.
    Number,
    /// Both texts have a capitalized word, among at most six words, and not both a number.
    Name,
    /// Other words, or words that only one text has.
    Text,
}

impl DifferenceKind {
    /// Returns the name used in output: `number`, `name` or `text`.
    pub fn name(self) -> &'static str {
        match self {
            DifferenceKind::Number => "number",
            DifferenceKind::Name => "name",
            DifferenceKind::Text => "text",
        }
    }
}

/// The maximum number of differences returned.
pub(crate) const MAX_DIFFERENCES: usize = 1000;
/// The maximum number of shared runs used as anchors.
const MAX_ANCHORS: usize = 4096;
/// The maximum length of a value or a name, in items. Longer parts are other text, which may contain numbers and names, too.
const MAX_SLOT: usize = 6;
/// The minimum length of an anchor, in items.
const MIN_ANCHOR: usize = 2;

/// Returns the differences of two documents in the order of the texts, at most [`MAX_DIFFERENCES`]. Texts without common
/// wording have none.
pub(crate) fn differences(a: Plain<'_>, b: Plain<'_>, scratch: &mut TextScratch) -> Vec<Difference> {
    let [a, b] = [a, b].map(|plain| Items::of(plain, scratch));
    let anchors = anchors(shared_runs(&a.hashes, &b.hashes, MIN_ANCHOR).runs);
    if anchors.is_empty() {
        return Vec::new();
    }
    let mut found = Vec::new();
    let (mut a_from, mut b_from) = (0, 0);
    let end = SharedRun { a_start: a.hashes.len(), b_start: b.hashes.len(), len: 0 };
    for anchor in anchors.into_iter().chain([end]) {
        split(&a, &b, a_from..anchor.a_start, b_from..anchor.b_start, &mut found);
        a_from = anchor.a_start + anchor.len;
        b_from = anchor.b_start + anchor.len;
    }
    found.truncate(MAX_DIFFERENCES);
    found
}

/// Chooses runs that have the same order in both texts, the longest first. Parts that overlap chosen runs are cut off.
///
/// The chosen runs ascend in both texts and do not overlap, so a further run has to be compared only with its neighbors: those
/// before and after the place where it begins, before anything is cut off.
fn anchors(mut runs: Vec<SharedRun>) -> Vec<SharedRun> {
    runs.sort_by_key(|run| (std::cmp::Reverse(run.len), run.a_start, run.b_start));
    runs.truncate(MAX_ANCHORS);
    let mut chosen: BTreeMap<usize, SharedRun> = BTreeMap::new();
    for mut run in runs {
        let begin = run.a_start;
        if let Some((_, before)) = chosen.range(..=begin).next_back() {
            let overlap = (before.a_start + before.len).saturating_sub(run.a_start);
            let overlap = overlap.max((before.b_start + before.len).saturating_sub(run.b_start)).min(run.len);
            run = SharedRun {
                a_start: run.a_start + overlap,
                b_start: run.b_start + overlap,
                len: run.len - overlap,
            };
        }
        if let Some((_, after)) = chosen.range((Excluded(begin), Unbounded)).next() {
            let most =
                after.a_start.saturating_sub(run.a_start).min(after.b_start.saturating_sub(run.b_start));
            run.len = run.len.min(most);
        }
        if run.len >= MIN_ANCHOR {
            chosen.insert(run.a_start, run);
        }
    }
    chosen.into_values().collect()
}

/// Adds the differences of a gap between two anchors.
fn split(a: &Items, b: &Items, in_a: Range<usize>, in_b: Range<usize>, found: &mut Vec<Difference>) {
    if in_a.len() != in_b.len() {
        found.push(difference(a, b, in_a, in_b));
        return;
    }
    let equal = |i: usize| a.hashes[in_a.start + i] == b.hashes[in_b.start + i];
    let mut from = 0;
    while from < in_a.len() {
        let differing = (from..in_a.len()).take_while(|&i| !equal(i)).count();
        if differing > 0 {
            let place = |range: &Range<usize>| range.start + from..range.start + from + differing;
            found.push(difference(a, b, place(&in_a), place(&in_b)));
        }
        from += differing.max(1);
    }
}

fn difference(a: &Items, b: &Items, in_a: Range<usize>, in_b: Range<usize>) -> Difference {
    let both = |has: fn(&Item) -> bool| {
        a.items[in_a.clone()].iter().any(has) && b.items[in_b.clone()].iter().any(has)
    };
    let kind = if in_a.len().max(in_b.len()) > MAX_SLOT {
        DifferenceKind::Text
    } else if both(|item| matches!(item, Item::Number(_))) {
        DifferenceKind::Number
    } else if both(|item| matches!(item, Item::Word(word) if word.capital)) {
        DifferenceKind::Name
    } else {
        DifferenceKind::Text
    };
    let Span { start: a_start, end: a_end } = a.span(in_a);
    let Span { start: b_start, end: b_end } = b.span(in_b);
    Difference { a_start, a_end, b_start, b_end, kind }
}

/// The words and numbers of a document.
#[derive(Default)]
struct Items {
    items: Vec<Item>,
    hashes: Vec<u64>,
    spans: Vec<Span>,
}

impl Items {
    fn of(plain: Plain<'_>, scratch: &mut TextScratch) -> Items {
        let mut items = Items::default();
        for_each_item(plain, scratch, |item, span| {
            items.hashes.push(match item {
                Item::Word(word) => word.hash,
                Item::Number(value) => value ^ 1,
            });
            items.items.push(item);
            items.spans.push(span);
        });
        items
    }

    /// Returns the position of a range of items, or the end of the item before an empty range.
    fn span(&self, range: Range<usize>) -> Span {
        if range.is_empty() {
            let at = range.start.checked_sub(1).map_or(0, |before| self.spans[before].end);
            return Span { start: at, end: at };
        }
        Span { start: self.spans[range.start].start, end: self.spans[range.end - 1].end }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::random::SplitMix64;
    use DifferenceKind::{Name, Number, Text};

    fn found<'t>(a: &'t str, b: &'t str) -> Vec<(&'t str, &'t str, DifferenceKind)> {
        let all =
            differences(Plain::unchanged(a.into()), Plain::unchanged(b.into()), &mut TextScratch::default());
        all.into_iter().map(|d| (&a[d.a_start..d.a_end], &b[d.b_start..d.b_end], d.kind)).collect()
    }

    #[test]
    fn shows_the_slots_that_differ() {
        let a = "Acme Steel said net profit was 3.04 million dollars in the first quarter, payable on March 5 to holders";
        let b = "Bolt Foods said net profit was 2.5 mln dlrs in the third quarter, payable on March 15 to holders";
        assert_eq!(
            found(a, b),
            [
                ("Acme Steel", "Bolt Foods", Name),
                ("3.04 million", "2.5 mln", Number),
                ("first", "third", Text),
                ("5", "15", Number)
            ]
        );
        let swapped: Vec<_> = found(b, a).into_iter().map(|(b, a, kind)| (a, b, kind)).collect();
        assert_eq!(found(a, b), swapped);
    }

    /// Texts of few repeated blocks share many runs, which cross and overlap.
    #[test]
    fn differences_of_repetitive_texts_ascend_and_do_not_overlap() {
        let blocks = ["Bravo Alpha Bravo", "Bravo Echo Delta Echo", "Bravo", "Alpha 7 Delta", "Echo"];
        let mut random = SplitMix64(3);
        let mut text = |most: u64| {
            let count = 2 + random.next() % most;
            (0..count).map(|_| blocks[(random.next() % 5) as usize]).collect::<Vec<_>>().join(" ")
        };
        for _ in 0..3000 {
            let [a, b] = [text(14), text(6)];
            let (mut a_end, mut b_end) = (0, 0);
            for d in differences(
                Plain::unchanged(a.as_str().into()),
                Plain::unchanged(b.as_str().into()),
                &mut TextScratch::default(),
            ) {
                assert!(a_end <= d.a_start && d.a_start <= d.a_end && d.a_end <= a.len(), "{a}\n{b}");
                assert!(b_end <= d.b_start && d.b_start <= d.b_end && d.b_end <= b.len(), "{a}\n{b}");
                a_end = d.a_end;
                b_end = d.b_end;
            }
        }
    }

    #[test]
    fn other_notations_do_not_differ() {
        assert_eq!(
            found(
                "the price of 3,000 dlrs was paid on Aug 5",
                "The price of 3000 dollars was paid on August 5th"
            ),
            []
        );
        assert_eq!(found("one two three", "vier fünf sechs"), []);
    }

    #[test]
    fn additional_words_have_an_empty_counterpart() {
        assert_eq!(
            found("the council closed the bridge", "the council of the town closed the bridge"),
            [("", "of the town", Text)]
        );
        assert_eq!(found("the end of it", "the end of it, he said"), [("", "he said", Text)]);
    }

    #[test]
    fn the_number_of_differences_is_limited() {
        let text =
            |value: u32| (0..3000).map(|i| format!("w{i} v{i} {} ", i * 10 + value)).collect::<String>();
        let (a, b) = (text(1), text(2));
        let all = found(&a, &b);
        assert_eq!(all.len(), MAX_DIFFERENCES);
        assert!(all.iter().all(|difference| difference.2 == Number));
        let noise =
            |from: u64| (0..20_000u64).map(|i| format!("{} ", (i * i + from) % 7)).collect::<String>();
        assert!(found(&noise(1), &noise(3)).len() <= MAX_DIFFERENCES);
    }
}
