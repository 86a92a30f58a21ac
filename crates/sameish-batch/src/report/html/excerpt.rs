//! Excerpts of two texts, shown side by side.
//!
//! An excerpt shows the differing words with their context and marks shared passages. Omitted words are counted.

use super::differ::{Run, hunks};
use super::markup::prose;
use crate::report::figures::{counted, grouped};
use crate::report::figures::{shortened, sized};
use sameish::Analyzer;
use sameish::matching::Passage;
use sameish::text::{Span, Token};
use std::collections::HashMap;
use std::fmt::Write;
use std::ops::Range;

/// Bytes of a text that are compared.
const COMPARED: usize = 256 << 10;
/// Maximum number of words shown of a text.
const SHOWN: usize = 260;
/// Texts of at most this many words are shown in full.
const WHOLE: usize = 120;
/// Words shown of the beginning of a text.
const BEGINNING: usize = 16;
/// Words shown on each side of a difference.
const AROUND: usize = 14;
/// Words shown at each end of a long difference.
const ENDS: usize = 30;
/// Minimum number of words that are omitted.
const SHORTEST_GAP: usize = 8;
/// Maximum length of a word, or of the text between two words, in characters.
const CHARACTERS: usize = 60;

/// Two compared texts.
pub(super) struct Sides<'a> {
    pub(super) a: Marked<'a>,
    pub(super) b: Marked<'a>,
}

/// A text whose words are classified as shared, differing, or neither.
pub(super) struct Marked<'a> {
    analyzer: &'a Analyzer,
    text: &'a str,
    /// Bytes that were not compared.
    beyond: usize,
    words: Vec<Token>,
    kinds: Vec<Kind>,
    /// Ranges of differing words; empty where the other text has additional words.
    places: Vec<Range<usize>>,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Kind {
    /// Equal in both texts, but not part of a shared passage.
    Plain,
    Shared,
    Differs,
}

impl Kind {
    fn tags(self) -> (&'static str, &'static str) {
        match self {
            Kind::Plain => ("", ""),
            Kind::Shared => ("<span class=\"shared\">", "</span>"),
            Kind::Differs => ("<mark>", "</mark>"),
        }
    }
}

impl<'a> Sides<'a> {
    pub(super) fn new(analyzer: &'a Analyzer, a: &'a str, b: &'a str, passages: &[Passage]) -> Sides<'a> {
        let (mut a, mut b) = (Marked::new(analyzer, a), Marked::new(analyzer, b));
        let runs: Vec<Run> = passages
            .iter()
            .map(|p| Run { a: a.within(p.a_start, p.a_end), b: b.within(p.b_start, p.b_end) })
            .collect();
        let mut numbers = HashMap::new();
        let [in_a, in_b] = [&a, &b].map(|side| numbered(&side.words, &mut numbers));
        for hunk in hunks(&in_a, &in_b, &runs) {
            a.differs(hunk.a);
            b.differs(hunk.b);
        }
        // A passage that moved is still shared.
        for run in runs {
            a.kinds[run.a].fill(Kind::Shared);
            b.kinds[run.b].fill(Kind::Shared);
        }
        Sides { a, b }
    }
}

/// Assigns a number to each distinct word.
fn numbered(words: &[Token], numbers: &mut HashMap<String, u32>) -> Vec<u32> {
    let mut number = |word: &Token| {
        let next = numbers.len() as u32;
        *numbers.entry(word.text.clone()).or_insert(next)
    };
    words.iter().map(&mut number).collect()
}

impl<'a> Marked<'a> {
    fn new(analyzer: &'a Analyzer, text: &'a str) -> Marked<'a> {
        let compared = &text[..text.floor_char_boundary(COMPARED)];
        let words = analyzer.words(compared);
        let kinds = vec![Kind::Plain; words.len()];
        Marked {
            analyzer,
            text: compared,
            beyond: text.len() - compared.len(),
            words,
            kinds,
            places: Vec::new(),
        }
    }

    /// Returns the words within a range of bytes.
    fn within(&self, start: usize, end: usize) -> Range<usize> {
        let first = self.words.partition_point(|word| word.span.start < start);
        let behind = self.words.partition_point(|word| word.span.end <= end);
        first..behind.max(first)
    }

    fn differs(&mut self, words: Range<usize>) {
        self.kinds[words.clone()].fill(Kind::Differs);
        self.places.push(words);
    }

    /// Returns the number of differing words.
    pub(super) fn differing(&self) -> usize {
        self.kinds.iter().filter(|kind| **kind == Kind::Differs).count()
    }

    pub(super) fn has_words(&self) -> bool {
        !self.words.is_empty()
    }

    /// Returns `true` if the text was too long to be compared in full.
    pub(super) fn is_cut(&self) -> bool {
        self.beyond > 0
    }

    /// Decides for each word whether it is shown.
    fn shown(&self) -> Vec<bool> {
        let count = self.words.len();
        let mut shown = vec![count <= WHOLE; count];
        let mut show = |from: usize, to: usize| shown[from.min(count)..to.min(count)].fill(true);
        show(0, if self.places.is_empty() { 4 * BEGINNING } else { BEGINNING });
        for place in &self.places {
            show(place.start.saturating_sub(AROUND), place.end.min(place.start + ENDS));
            show(place.start.max(place.end.saturating_sub(ENDS)), place.end + AROUND);
        }
        fill_short_gaps(&mut shown);
        if let Some((last, _)) = shown.iter().enumerate().filter(|(_, shown)| **shown).nth(SHOWN) {
            shown[last..].fill(false);
        }
        shown
    }

    /// Renders the excerpt as HTML.
    pub(super) fn html(&self) -> String {
        if self.words.is_empty() {
            return match self.analyzer.visible_text(self.text).trim() {
                "" => "<span class=\"gap\">(no text)</span>".into(),
                text => prose(&shortened(text, 4 * CHARACTERS)),
            };
        }
        let mut writer =
            Writer { analyzer: self.analyzer, out: String::new(), open: Kind::Plain, at: Some(0) };
        let shown = self.shown();
        for run in shown.chunk_by(|a, b| a == b).scan(0, |at, run| {
            *at += run.len();
            Some(*at - run.len()..*at)
        }) {
            if shown[run.start] {
                run.for_each(|i| writer.word(self.text, self.words[i].span, self.kinds[i]));
            } else {
                writer.gap(&self.kinds[run]);
            }
        }
        writer.finish(self.text, self.beyond)
    }
}

fn fill_short_gaps(shown: &mut [bool]) {
    let mut at = 0;
    while at < shown.len() {
        let run = shown[at..].iter().take_while(|other| **other == shown[at]).count();
        if run < SHORTEST_GAP {
            shown[at..at + run].fill(true);
        }
        at += run;
    }
}

/// Writes words and wraps each kind in its element.
struct Writer<'a> {
    analyzer: &'a Analyzer,
    out: String,
    open: Kind,
    /// End of the last word written, or `None` after a gap.
    at: Option<usize>,
}

impl Writer<'_> {
    fn word(&mut self, text: &str, span: Span, kind: Kind) {
        let between = self.at.and_then(|at| text.get(at..span.start)).unwrap_or(" ");
        let between = self.visible(between);
        if kind == self.open {
            self.out.push_str(&between);
        } else {
            self.close();
            let _ = write!(self.out, "{between}{}", kind.tags().0);
            self.open = kind;
        }
        let word = text.get(span.start..span.end).unwrap_or_default();
        let word = self.visible(word);
        self.out.push_str(&word);
        self.at = Some(span.end);
    }

    fn visible(&self, text: &str) -> String {
        prose(&shortened(&self.analyzer.visible_text(text), CHARACTERS))
    }

    fn gap(&mut self, omitted: &[Kind]) {
        self.close();
        let differing = omitted.iter().filter(|kind| **kind == Kind::Differs).count();
        let text = match differing {
            0 => format!("{} omitted", counted(omitted.len() as u64, "word")),
            _ if differing == omitted.len() => {
                format!("{} omitted", counted(omitted.len() as u64, "differing word"))
            }
            _ => format!(
                "{} omitted, {} of them differing",
                counted(omitted.len() as u64, "word"),
                grouped(differing as u64)
            ),
        };
        let _ = write!(self.out, " <span class=\"gap\">… {text} …</span>");
        self.at = None;
    }

    fn close(&mut self) {
        self.out.push_str(self.open.tags().1);
        self.open = Kind::Plain;
    }

    fn finish(mut self, text: &str, beyond: usize) -> String {
        self.close();
        let rest = self.at.and_then(|at| text.get(at..)).unwrap_or_default();
        let rest = self.visible(rest.trim_end());
        self.out.push_str(&rest);
        if beyond > 0 {
            let beyond = sized(beyond as u64);
            let _ = write!(self.out, " <span class=\"gap\">… {beyond} more, not compared …</span>");
        }
        self.out
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use sameish::{Content, Preset};

    fn analyzer() -> Analyzer {
        Analyzer::new(Preset::Copies.config()).expect("a preset is valid")
    }

    fn sides(a: &str, b: &str) -> [String; 2] {
        sides_with(&analyzer(), a, b)
    }

    fn sides_with(analyzer: &Analyzer, a: &str, b: &str) -> [String; 2] {
        let [x, y] = [a, b].map(|text| Content::Text(text.into()));
        let passages = analyzer.compare(&x, &y, 3).passages;
        let sides = Sides::new(analyzer, a, b, &passages);
        [sides.a.html(), sides.b.html()]
    }

    #[test]
    fn marks_shared_and_differing_words() {
        let [a, b] =
            sides("One two three, on Monday four five six.", "One two three, on Tuesday four five six.");
        assert_eq!(
            a,
            "<span class=\"shared\">One two three, on</span> <mark>Monday</mark> <span class=\"shared\">four five six</span>."
        );
        assert!(b.contains("<mark>Tuesday</mark>"), "{b}");
    }

    #[test]
    fn shows_long_texts_around_their_differences() {
        let filler: String = (0..400).map(|i| format!("w{i} ")).collect();
        let [a, b] = sides(&format!("{filler} red {filler}"), &format!("{filler} blue {filler}"));
        assert!(a.contains("… 370 words omitted …") && a.contains("<mark>red</mark>"), "{a}");
        assert!(b.contains("… 370 words omitted …") && b.ends_with("… 386 words omitted …</span>"), "{b}");
    }

    #[test]
    fn shows_the_position_of_inserted_words_on_both_sides() {
        let filler: String = (0..100).map(|i| format!("w{i} ")).collect();
        let [a, b] = sides(&format!("{filler}{filler}"), &format!("{filler} new words {filler}"));
        assert!(a.contains("w99 w0"), "{a}");
        assert!(b.contains("<mark>new words</mark>"), "{b}");
    }

    #[test]
    fn counts_omitted_differing_words() {
        let text = |c: char| (0..500).map(|i| format!("{c}{i} ")).collect::<String>();
        let [a, _] = sides(&text('x'), &text('y'));
        assert!(a.contains("… 440 differing words omitted …"), "{a}");
    }

    #[test]
    fn shows_the_text_of_html_without_its_markup() {
        let mut config = Preset::Copies.config();
        config.text.html = true;
        config.text.fold_accents = true;
        let analyzer = Analyzer::new(config).expect("valid settings");
        let [a, b] = sides_with(
            &analyzer,
            "<p>One t<b>w</b>o <i title='x'>three</i>&amp; Café four five six</p>",
            "<div>One two three &amp; <!-- no --> bar four five six",
        );
        // Markup between two words is shown as a space.
        assert_eq!(
            a.trim(),
            "<span class=\"shared\">One two three</span>&amp; <mark>Café</mark> <span class=\"shared\">four five six</span>"
        );
        assert!(b.contains("three</span> &amp;  <mark>bar</mark>"), "{b}");
    }

    #[test]
    fn shows_texts_without_words() {
        assert_eq!(sides("", " \n"), [(); 2].map(|()| "<span class=\"gap\">(no text)</span>".to_owned()));
        assert_eq!(sides("<->", "!")[0], "&lt;-&gt;");
    }

    #[test]
    fn tolerates_passages_outside_the_texts() {
        let passage = Passage { a_start: 1, a_end: 900, b_start: 800, b_end: 2, tokens: 5 };
        let analyzer = analyzer();
        let sides = Sides::new(&analyzer, "äöü äöü", "one", &[passage]);
        assert!(sides.a.html().contains("äöü"));
        assert_eq!(sides.b.differing(), 1);
    }

    #[test]
    fn compares_only_the_beginning_of_a_huge_text() {
        let text = "é ".repeat(200_000);
        let analyzer = analyzer();
        let sides = Sides::new(&analyzer, &text, "é", &[]);
        assert!(sides.a.is_cut());
        assert!(sides.a.html().ends_with("… 337.9 kB more, not compared …</span>"), "{}", sides.a.html());
    }
}
