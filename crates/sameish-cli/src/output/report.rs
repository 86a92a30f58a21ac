//! The report of `compare`: the measures, and the shared passages with the changed words around them.

use super::escape::{escaped, is_steering};
use super::messages::{counted, counted_as, grouped};
use anstyle::{AnsiColor, Style};
use sameish::matching::{Difference, DifferenceKind, Passage};
use sameish::{Analyzer, Comparison, Content};
use std::fmt;
use unicode_width::{UnicodeWidthChar, UnicodeWidthStr};

/// Width of a line in columns.
const WIDTH: usize = 80;
/// Columns before the text of a passage.
const MARGIN: usize = 6;
/// Columns of changed text shown on each side of a passage.
const AROUND: usize = 60;
/// Columns shown at each end of a long passage.
const ENDS: usize = 140;
/// Maximum width of a piece of a word, in columns.
const PIECE: usize = 24;
/// Maximum number of characters of a differing number or name.
const MAX_EXCERPT: usize = 30;
/// Maximum number of passages, and of differences, shown.
const SHOWN: usize = 20;

/// One of the two texts.
pub(crate) struct Side {
    /// File name, escaped.
    pub(crate) name: String,
    pub(crate) content: Content,
}

impl Side {
    pub(crate) fn text(&self) -> &str {
        match &self.content {
            Content::Text(text) => text,
            Content::Tokens(_) | Content::Sketches(_) => "",
        }
    }
}

/// A comparison, displayed as text.
pub(crate) struct Report<'a> {
    pub(crate) analyzer: &'a Analyzer,
    pub(crate) a: &'a Side,
    pub(crate) b: &'a Side,
    pub(crate) comparison: &'a Comparison,
    pub(crate) min_tokens: u32,
    /// Without color, shared passages are marked with brackets.
    pub(crate) color: bool,
}

/// The role of a piece of text, which determines its style.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Role {
    Heading,
    /// Words that both texts have.
    Shared,
    /// Differing words around a shared passage.
    Changed,
}

impl Role {
    fn paint(self, color: bool, text: &str) -> String {
        let style = match self {
            _ if !color => return text.to_owned(),
            Role::Heading => Style::new().bold(),
            Role::Shared => AnsiColor::Green.on_default(),
            Role::Changed => AnsiColor::Yellow.on_default(),
        };
        format!("{style}{text}{style:#}")
    }
}

impl fmt::Display for Report<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.names(f)?;
        self.measures(f)?;
        self.differences(f)?;
        self.passages(f)
    }
}

/// Returns the beginning of a part of a text, on one line and escaped.
fn excerpt(analyzer: &Analyzer, text: &str, start: usize, end: usize) -> String {
    let part = analyzer.visible_text(text.get(start..end).unwrap_or_default());
    let line = part.split_whitespace().collect::<Vec<_>>().join(" ");
    let mut shown: String = line.chars().take(MAX_EXCERPT).collect();
    if shown.len() < line.len() {
        shown.push('…');
    }
    escaped(&shown).to_string()
}

impl Report<'_> {
    fn names(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let c = self.comparison;
        for (letter, side, words) in [("A", self.a, c.words_a), ("B", self.b, c.words_b)] {
            writeln!(f, "{letter}  {} ({})", escaped(&side.name), counted(words as u64, "word"))?;
        }
        let verdict = c.match_type.to_string();
        let meaning = match verdict.as_str() {
            "exact" => "the same words in the same order",
            "near" => "the same except for small changes",
            "similar" => "much in common",
            _ => "little in common",
        };
        writeln!(f, "\n{}: {meaning}", Role::Heading.paint(self.color, &verdict))?;
        if c.template {
            writeln!(f, "A template: the same wording with different names or numbers.")?;
        }
        if c.too_short {
            writeln!(f, "At least one text is too short for these settings; the measures are unreliable.")?;
        }
        writeln!(f)
    }

    fn measures(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let c = self.comparison;
        let share = |share: f64| format!("{share:.3}");
        let percent = |share: f64| format!("{:.0} %", share * 100.0);
        let mut line =
            |name: &str, value: String, meaning: &str| writeln!(f, "  {name:<17} {value:>7}  {meaning}");
        line("similarity", share(c.similarity), "shared shingles / all distinct shingles (Jaccard)")?;
        line("containment", share(c.containment), "shared shingles / shingles of the smaller text")?;
        if let Some(estimate) = c.minhash_similarity {
            line("MinHash estimate", share(estimate), "similarity estimated from the signatures")?;
        }
        if let Some(facts) = c.facts {
            line("facts", share(facts), "names and numbers that agree")?;
        }
        line("SimHash distance", format!("{}/64", c.simhash_distance), "differing bits; near if 3 or fewer")?;
        line("coverage of A", percent(c.coverage_a), "words in shared passages / words of A")?;
        line("coverage of B", percent(c.coverage_b), "words in shared passages / words of B")
    }

    /// Shows the numbers and names that differ. The words that differ are shown with the passages.
    fn differences(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let is_fact = |difference: &&Difference| difference.kind != DifferenceKind::Text;
        let facts: Vec<&Difference> = self.comparison.differences.iter().filter(is_fact).collect();
        if facts.is_empty() {
            return Ok(());
        }
        writeln!(
            f,
            "\n{}:",
            counted_as(facts.len() as u64, "differing number or name", "differing numbers and names")
        )?;
        let [a, b] = [self.a.text(), self.b.text()];
        for difference in facts.iter().take(SHOWN) {
            let in_a = excerpt(self.analyzer, a, difference.a_start, difference.a_end);
            let in_b = excerpt(self.analyzer, b, difference.b_start, difference.b_end);
            let [in_a, in_b] = [in_a, in_b].map(|text| Role::Changed.paint(self.color, &text));
            writeln!(f, "  {:<8}{in_a} | {in_b}", difference.kind.name())?;
        }
        match facts.len().saturating_sub(SHOWN) {
            0 => Ok(()),
            more => writeln!(f, "  {} more; `--json` prints all of them.", grouped(more as u64)),
        }
    }

    fn passages(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let passages = &self.comparison.passages;
        let length = counted(self.min_tokens.into(), "word");
        if passages.is_empty() {
            return writeln!(f, "\nNo shared passage of {length} or more.");
        }
        let marks = if self.color { "" } else { ", marked by [ ]" };
        writeln!(f, "\n{} of {length} or more{marks}:", counted(passages.len() as u64, "shared passage"))?;
        for (number, passage) in (1..).zip(passages.iter().take(SHOWN)) {
            self.passage(f, number, passage)?;
        }
        match passages.len().saturating_sub(SHOWN) {
            0 => Ok(()),
            more => writeln!(f, "\n{} more; `--json` prints all of them.", grouped(more as u64)),
        }
    }

    fn passage(&self, f: &mut fmt::Formatter<'_>, number: usize, passage: &Passage) -> fmt::Result {
        let &Passage { a_start, a_end, b_start, b_end, tokens } = passage;
        let title = format!("{number}. {}", counted(tokens as u64, "word"));
        let place = format!("bytes {a_start}-{a_end} of A, {b_start}-{b_end} of B");
        writeln!(f, "\n{} ({place})", Role::Heading.paint(self.color, &title))?;
        let all = &self.comparison.passages;
        let in_a = all.iter().map(|p| (p.a_start, p.a_end));
        let in_b = all.iter().map(|p| (p.b_start, p.b_end));
        self.side(f, "A", Excerpt::new(self.analyzer, self.a.text(), (a_start, a_end), in_a))?;
        self.side(f, "B", Excerpt::new(self.analyzer, self.b.text(), (b_start, b_end), in_b))
    }

    fn side(&self, f: &mut fmt::Formatter<'_>, letter: &str, excerpt: Excerpt) -> fmt::Result {
        let mut lines = Lines::new(self.color);
        lines.push_all(Role::Changed, &excerpt.before);
        lines.push_all(Role::Shared, &excerpt.shared);
        lines.push_all(Role::Changed, &excerpt.after);
        for (i, line) in lines.done().iter().enumerate() {
            writeln!(f, "   {} {line}", if i == 0 { format!("{letter}:") } else { "  ".into() })?;
        }
        Ok(())
    }
}

/// The words of a passage, and the changed words on both sides up to the next passage.
struct Excerpt {
    before: Vec<Piece>,
    shared: Vec<Piece>,
    after: Vec<Piece>,
}

impl Excerpt {
    fn new(
        analyzer: &Analyzer,
        text: &str,
        (start, end): (usize, usize),
        passages: impl Iterator<Item = (usize, usize)>,
    ) -> Excerpt {
        let mut from = 0;
        let mut to = text.len();
        for (other_start, other_end) in passages {
            if other_end <= start {
                from = from.max(other_end);
            }
            if other_start >= end {
                to = to.min(other_start);
            }
        }
        let slice =
            |range: std::ops::Range<usize>| analyzer.visible_text(text.get(range).unwrap_or_default());
        let before = slice(from..start);
        let after = slice(end..to);
        let mut shared = keep_ends(&slice(start..end));
        if let Some(first) = shared.first_mut() {
            first.spaced = before.ends_with(char::is_whitespace);
        }
        // Punctuation at the end of the previous passage is not a change.
        let ends = |c: char| from > 0 && (c.is_ascii_punctuation() || c.is_whitespace());
        Excerpt {
            before: last_pieces(before.trim_start_matches(ends), AROUND, from > 0),
            shared,
            after: first_pieces(&after, AROUND, to < text.len()),
        }
    }
}

/// A word or, in scripts without spaces, a part of a run of letters.
#[derive(Clone, Debug, PartialEq)]
struct Piece {
    text: String,
    /// Preceded by a space.
    spaced: bool,
}

/// Splits text into pieces of at most [`PIECE`] columns, without control characters.
fn pieces(text: &str) -> Vec<Piece> {
    let mut pieces: Vec<Piece> = Vec::new();
    for (i, word) in text.split_whitespace().enumerate() {
        let mut begins = true;
        let spaced = i > 0 || text.starts_with(char::is_whitespace);
        for c in word.chars().filter(|&c| !is_steering(c)) {
            match pieces.last_mut() {
                Some(piece) if !begins && piece.text.width() + c.width().unwrap_or(0) <= PIECE => {
                    piece.text.push(c)
                }
                _ => {
                    pieces.push(Piece { text: c.into(), spaced: spaced && begins });
                    begins = false;
                }
            }
        }
    }
    pieces
}

fn omission() -> Piece {
    Piece { text: "…".into(), spaced: true }
}

/// Returns the number of pieces that fit into the columns.
fn fitting<'a>(pieces: impl Iterator<Item = &'a Piece>, columns: usize) -> usize {
    let mut used = 0;
    let fits = |piece: &&Piece| {
        used += piece.text.width() + usize::from(piece.spaced);
        used <= columns
    };
    pieces.take_while(fits).count()
}

/// Returns the beginning of a text. Eight bytes per column suffice.
fn first_pieces(text: &str, columns: usize, more: bool) -> Vec<Piece> {
    let front = &text[..text.floor_char_boundary(8 * columns)];
    let mut kept = pieces(front);
    let count = fitting(kept.iter(), columns);
    if count < kept.len() || front.len() < text.len() || more {
        kept.truncate(count);
        kept.push(omission());
    }
    kept
}

/// Returns the end of a text.
fn last_pieces(text: &str, columns: usize, more: bool) -> Vec<Piece> {
    let back = &text[text.ceil_char_boundary(text.len().saturating_sub(8 * columns))..];
    let mut kept = pieces(back);
    let count = fitting(kept.iter().rev(), columns);
    if count < kept.len() || back.len() < text.len() || more {
        kept.drain(..kept.len() - count);
        if let Some(first) = kept.first_mut() {
            first.spaced = true;
        }
        kept.insert(0, omission());
    }
    kept
}

/// Returns a short text in full, and both ends of a long one.
fn keep_ends(text: &str) -> Vec<Piece> {
    let mut kept = first_pieces(text, 2 * ENDS, false);
    if kept.last() == Some(&omission()) {
        kept = first_pieces(text, ENDS, false);
        kept.extend(last_pieces(text, ENDS, false).into_iter().skip(1));
    }
    kept
}

/// Wraps pieces into lines. A line consists of runs of the same role.
struct Lines {
    color: bool,
    lines: Vec<Vec<(Role, String)>>,
    columns: usize,
}

impl Lines {
    fn new(color: bool) -> Lines {
        Lines { color, lines: Vec::new(), columns: 0 }
    }

    fn push_all(&mut self, role: Role, pieces: &[Piece]) {
        let last = pieces.len().saturating_sub(1);
        let marked = role == Role::Shared && !self.color;
        for (i, piece) in pieces.iter().enumerate() {
            let open = if marked && i == 0 { "[" } else { "" };
            let close = if marked && i == last { "]" } else { "" };
            self.push(role, &format!("{open}{}{close}", piece.text), piece.spaced);
        }
    }

    fn push(&mut self, role: Role, text: &str, spaced: bool) {
        let width = text.width() + usize::from(spaced);
        match self.lines.last_mut() {
            Some(line) if self.columns + width <= WIDTH - MARGIN => {
                let space = if spaced { " " } else { "" };
                match line.last_mut() {
                    Some((before, run)) if *before == role => run.push_str(&format!("{space}{text}")),
                    _ => line.push((role, format!("{space}{text}"))),
                }
                self.columns += width;
            }
            _ => {
                self.lines.push(vec![(role, text.to_owned())]);
                self.columns = text.width();
            }
        }
    }

    /// Renders the lines.
    fn done(self) -> Vec<String> {
        let paint = |(role, run): &(Role, String)| role.paint(self.color, run);
        self.lines.iter().map(|line| line.iter().map(paint).collect()).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn joined(pieces: &[Piece]) -> String {
        let mut lines = Lines::new(false);
        lines.push_all(Role::Changed, pieces);
        lines.done().join("\n")
    }

    #[test]
    fn shortens_long_texts_at_the_far_end() {
        let text = "one two three four five";
        assert_eq!(joined(&first_pieces(text, 9, false)), "one two …");
        assert_eq!(joined(&last_pieces(text, 11, false)), "… four five");
        assert_eq!(joined(&first_pieces(text, 60, false)), text);
        assert_eq!(joined(&first_pieces(text, 60, true)), format!("{text} …"));
    }

    #[test]
    fn removes_control_characters() {
        assert_eq!(joined(&pieces("a\u{1b}[31mb \u{202e}c")), "a[31mb c");
    }

    #[test]
    fn wraps_lines_at_80_columns_in_any_script() {
        for text in ["word ".repeat(100), "漢字かな".repeat(100), "x".repeat(500)] {
            for line in joined(&pieces(&text)).lines() {
                assert!(line.width() <= WIDTH - MARGIN, "{line}");
            }
        }
    }

    #[test]
    fn shows_changed_words_up_to_the_next_passage() {
        let text = "aa bb CC DD ee ff GG HH ii";
        let analyzer = Analyzer::new(sameish::Preset::Copies.config()).expect("a preset is valid");
        let excerpt = Excerpt::new(&analyzer, text, (6, 11), [(6, 11), (18, 23)].into_iter());
        assert_eq!(joined(&excerpt.before), "aa bb");
        assert_eq!(joined(&excerpt.shared), "CC DD");
        assert_eq!(joined(&excerpt.after), "ee ff …");
    }
}
