//! The tables of `dedup` on the terminal: removed documents and the largest clusters.

use super::escape::escaped;
use super::figures::{percent, shortened, similarity, sized};
use super::html::{LargeCluster, Removed, summed};
use super::messages::grouped;
use std::fmt::Write;
use unicode_width::UnicodeWidthStr;

/// Width of a line in columns.
const WIDTH: usize = 80;
/// Maximum number of rows. The remaining rows are added up in one row.
const ROWS: usize = 15;
/// Maximum number of clusters shown.
const CLUSTERS: usize = 10;
/// Longer names are shortened before their width is measured, in characters.
const CHARACTERS: usize = 400;
/// Maximum width of the center of a cluster, in columns.
const CENTER: usize = 26;

/// Renders the removals by source and by length, and the largest clusters. Empty tables are omitted.
pub(crate) fn removals(sources: &[Removed], lengths: &[Removed], largest: &[LargeCluster]) -> String {
    let tables = [by("source", sources), by("length", lengths), clusters(largest)];
    let filled: Vec<String> = tables.into_iter().filter(|table| !table.is_empty()).collect();
    filled.join("\n")
}

fn by(what: &str, rows: &[Removed]) -> String {
    if rows.is_empty() {
        return String::new();
    }
    let (shown, more) = rows.split_at(rows.len().min(ROWS));
    let mut lines = vec![[what, "documents", "removed", "share", "text removed"].map(String::from)];
    lines.extend(shown.iter().map(cells));
    if !more.is_empty() {
        lines.push(cells(&summed(format!("and {} more", grouped(more.len() as u64)), more)));
    }
    if rows.len() > 1 {
        lines.push(cells(&summed("all".into(), rows)));
    }
    aligned(&lines)
}

fn cells(row: &Removed) -> [String; 5] {
    [
        named(&row.name),
        number(row.documents),
        number(row.removed),
        percent(row.removed, row.documents),
        sized(row.removed_bytes),
    ]
}

/// Formats a number with separators, or in scientific notation if it is huge.
fn number(number: u64) -> String {
    match number {
        0..1_000_000_000_000 => grouped(number),
        _ => format!("{:.2e}", number as f64),
    }
}

/// Aligns numbers to the right. Names get the remaining width.
fn aligned(lines: &[[String; 5]]) -> String {
    let widest = |column: usize| lines.iter().map(|line| line[column].width()).max().unwrap_or(0);
    let widths = [0, 1, 2, 3, 4].map(widest);
    let numbers: usize = widths[1..].iter().map(|width| width + 2).sum();
    let name = widths[0].min(WIDTH.saturating_sub(numbers + 2));
    let mut out = String::new();
    for (i, line) in lines.iter().enumerate() {
        let indent = if i == 0 { 0 } else { 2 };
        let _ = write!(out, "{}", filled(&line[0], indent, name + 2));
        for (cell, width) in line.iter().zip(widths).skip(1) {
            let _ = write!(out, "{}{cell}", " ".repeat(2 + width - cell.width()));
        }
        out.push('\n');
    }
    out
}

fn clusters(largest: &[LargeCluster]) -> String {
    if largest.is_empty() {
        return String::new();
    }
    let shown = &largest[..largest.len().min(CLUSTERS)];
    let size = |cluster: &LargeCluster| number(cluster.size);
    let sizes = shown.iter().map(|cluster| size(cluster).len()).max().unwrap_or(0).max("size".len());
    let kept = shown.iter().map(|cluster| named(&cluster.center).width()).max().unwrap_or(0);
    let kept = kept.clamp("largest clusters".len(), CENTER);
    let begins = WIDTH - (2 + kept + 2 + sizes + 2 + "least similar".len() + 2);
    let mut out =
        format!("{}  {:>sizes$}  least similar  begins\n", filled("largest clusters", 0, kept + 2), "size");
    for cluster in shown {
        let text: Vec<&str> = cluster.begins.split_whitespace().collect();
        let line = format!(
            "{}  {:>sizes$}  {:>13}  {}",
            filled(&named(&cluster.center), 2, kept + 2),
            size(cluster),
            cluster.least_similar.map_or("–".into(), similarity),
            cut_end(&escaped(&shortened(&text.join(" "), CHARACTERS)), begins),
        );
        let _ = writeln!(out, "{}", line.trim_end());
    }
    out
}

/// Pads or shortens indented text to a number of columns.
fn filled(text: &str, indent: usize, columns: usize) -> String {
    let text = cut_middle(text, columns - indent);
    let padding = (columns - indent).saturating_sub(text.width());
    format!("{}{text}{}", " ".repeat(indent), " ".repeat(padding))
}

/// Replaces the middle of a text that is too wide.
fn cut_middle(text: &str, columns: usize) -> String {
    if text.width() <= columns {
        return text.to_owned();
    }
    let ends = columns.saturating_sub(1);
    let tail = columns_back(text, ends / 2);
    format!("{}…{tail}", columns_of(text, ends - ends / 2))
}

/// Replaces the end of a text that is too wide.
fn cut_end(text: &str, columns: usize) -> String {
    if text.width() <= columns {
        return text.to_owned();
    }
    format!("{}…", columns_of(text, columns.saturating_sub(1)).trim_end())
}

/// Returns the longest prefix that fits. Prefixes are measured as a whole, because a character can change the width of its
/// neighbors.
fn columns_of(text: &str, columns: usize) -> &str {
    let ends = text.char_indices().map(|(at, c)| at + c.len_utf8());
    let end = ends.take_while(|end| text[..*end].width() <= columns).last().unwrap_or(0);
    &text[..end]
}

/// Returns the longest suffix that fits.
fn columns_back(text: &str, columns: usize) -> &str {
    let starts = text.char_indices().rev().map(|(at, _)| at);
    let start = starts.take_while(|start| text[*start..].width() <= columns).last().unwrap_or(text.len());
    &text[start..]
}

/// Escapes and shortens a name.
fn named(name: &str) -> String {
    match name {
        "" => "(no name)".into(),
        _ => escaped(&shortened(name, CHARACTERS)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn removed(name: &str, documents: u64, removed: u64) -> Removed {
        let [bytes, removed_bytes] = [documents, removed].map(|count| count.saturating_mul(4000));
        Removed { name: name.into(), documents, removed, bytes, removed_bytes }
    }

    fn cluster(center: &str, size: u64, begins: &str) -> LargeCluster {
        LargeCluster { center: center.into(), size, least_similar: Some(0.8125), begins: begins.into() }
    }

    #[test]
    fn aligns_columns() {
        let sources = [removed("example.org", 12_000, 3_400), removed("", 800, 0)];
        let largest = [cluster("wire-17", 1_204, "Shares of\nthe company rose"), cluster("a", 3, "")];
        let expected = "\
source         documents  removed   share  text removed
  example.org     12,000    3,400  28.3 %       13.6 MB
  (no name)          800        0   0.0 %       0 bytes
  all             12,800    3,400  26.6 %       13.6 MB

largest clusters     size  least similar  begins
  wire-17           1,204          0.812  Shares of the company rose
  a                     3          0.812
";
        assert_eq!(removals(&sources, &[], &largest), expected);
    }

    #[test]
    fn omits_empty_tables() {
        assert_eq!(removals(&[], &[], &[]), "");
    }

    #[test]
    fn fits_80_columns() {
        let names = [
            "x".repeat(300),
            "漢字かな".repeat(40),
            "\u{1b}[31m".repeat(30),
            "e\u{301}".repeat(99),
            "☺\u{fe0f}".repeat(99),
        ];
        let rows: Vec<Removed> = names.iter().map(|name| removed(name, u64::MAX, 999_999_999_999)).collect();
        let largest: Vec<LargeCluster> = names.iter().map(|name| cluster(name, u64::MAX, name)).collect();
        let text = removals(&rows, &rows, &largest);
        assert!(!text.contains('\u{1b}'));
        for line in text.lines() {
            assert!(line.width() <= WIDTH, "{} columns: {line}", line.width());
        }
    }

    #[test]
    fn adds_up_rows_beyond_the_limit() {
        let rows: Vec<Removed> = (0..40).map(|i| removed(&format!("host{i}.example"), 10, 1)).collect();
        let text = removals(&rows, &[], &[]);
        assert_eq!(text.lines().count(), 1 + 15 + 1 + 1);
        assert!(text.contains("  and 25 more           250       25  10.0 %      100.0 kB\n"), "{text}");
    }

    #[test]
    fn shortens_the_middle_of_long_names() {
        assert_eq!(cut_middle("https://example.com/news/2024/article", 15), "https:/…article");
        assert_eq!(cut_middle("漢字漢字漢字", 6), "漢…字");
        assert_eq!(cut_middle("short", 5), "short");
    }
}
