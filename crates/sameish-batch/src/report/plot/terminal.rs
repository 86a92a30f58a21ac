//! Charts as text, at most 80 columns wide.

use super::{Bar, BarChart, LineChart};
use std::fmt::Write;

/// Width of the output in columns.
pub const WIDTH: usize = 80;
/// Columns that are reserved for the note behind a bar.
const NOTE: usize = 14;
/// Size of the plot area of a line chart, in characters.
const ROWS: usize = 10;
const COLUMNS: usize = 60;

/// The character set that the terminal can display.
#[derive(Clone, Copy)]
pub struct Charset {
    pub ascii: bool,
}

impl Charset {
    /// Chooses ASCII if requested or if the locale is not UTF-8.
    pub fn detect(ascii: bool) -> Charset {
        let variable = |name: &str| std::env::var(name).ok().filter(|value| !value.is_empty());
        let locale = ["LC_ALL", "LC_CTYPE", "LANG"].into_iter().find_map(variable).unwrap_or_default();
        let locale = locale.to_ascii_lowercase();
        Charset { ascii: ascii || !(locale.contains("utf-8") || locale.contains("utf8")) }
    }

    fn bar(self, columns: f64) -> String {
        const EIGHTHS: [&str; 8] = ["", "▏", "▎", "▍", "▌", "▋", "▊", "▉"];
        if self.ascii {
            return "#".repeat(columns.round() as usize);
        }
        let eighths = (columns * 8.0).round() as usize;
        "█".repeat(eighths / 8) + EIGHTHS[eighths % 8]
    }
}

impl BarChart {
    pub fn text(&self, charset: Charset) -> String {
        let labels = self.widest(|bar| bar.label.clone()).max(self.axis.len());
        let counts = self.widest(Bar::count).max(self.unit.len());
        let room = WIDTH - 2 - labels - 2 - counts - 1 - NOTE;
        let mut out = format!("  {:<labels$}  {:>counts$}\n", self.axis, self.unit);
        for bar in &self.bars {
            let drawn = charset.bar(self.length(bar) * room as f64);
            let gap = if drawn.is_empty() { "" } else { " " };
            let note = bar.note.as_ref().map(|note| format!("<- {note}")).unwrap_or_default();
            let line = format!("  {:<labels$}  {:>counts$} {drawn}{gap}{note}", bar.label, bar.count());
            let _ = writeln!(out, "{}", line.trim_end());
        }
        out
    }
}

impl LineChart {
    /// Draws the first line and the first mark.
    pub fn text(&self, charset: Charset) -> String {
        let (axis, corner, rule) = if charset.ascii { ('|', '+', "-") } else { ('│', '└', "─") };
        let mut out = format!("  {}\n", self.unit);
        for (row, line) in self.canvas(charset).iter().enumerate().rev() {
            let label = match row {
                ROWS => "100 %",
                5 => " 50 %",
                0 => "  0 %",
                _ => "",
            };
            let line: String = line.iter().collect();
            let _ = writeln!(out, "  {label:>5} {axis}{}", line.trim_end());
        }
        let _ = writeln!(out, "        {corner}{}", rule.repeat(COLUMNS + 1));
        let mut labels = String::new();
        for tick in self.ticks() {
            let label = tick.to_string();
            let start = 9 + column(self.position(tick)) - label.len() / 2;
            labels += &" ".repeat(start.saturating_sub(labels.len()));
            labels += &label;
        }
        out + &labels + "\n"
    }

    fn canvas(&self, charset: Charset) -> Vec<Vec<char>> {
        let (upright, dot) = if charset.ascii { (':', '*') } else { ('┊', '●') };
        let mut canvas = vec![vec![' '; COLUMNS + 1]; ROWS + 1];
        if let Some(mark) = self.visible_marks().next() {
            let at = column(self.position(mark.at));
            canvas.iter_mut().for_each(|line| line[at] = upright);
        }
        let Some(line) = self.lines.first().filter(|line| !line.points.is_empty()) else { return canvas };
        let mut below = None;
        for column in 0..=COLUMNS {
            let x = self.from + (self.to - self.from) * column as f64 / COLUMNS as f64;
            let row = (line.value_at(x).clamp(0.0, 1.0) * ROWS as f64).round() as usize;
            // A steep line covers several rows of a column.
            let first = below.map_or(0, |below: usize| (below + 1).min(row));
            canvas[first..=row].iter_mut().for_each(|cells| cells[column] = dot);
            below = Some(row);
        }
        canvas
    }
}

fn column(position: f64) -> usize {
    (position * COLUMNS as f64).round() as usize
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::report::plot::{Line, Mark, similarity_bars};

    #[test]
    fn bars_fit_the_terminal() {
        let bars = similarity_bars(&[999_999_999.0, 9.0, 0.0, 0.4], 0.5);
        let chart = BarChart { title: "Pairs".into(), axis: "similarity", unit: "pairs", bars };
        for ascii in [true, false] {
            let text = chart.text(Charset { ascii });
            assert!(text.lines().all(|line| line.chars().count() <= WIDTH), "{text}");
            assert_eq!(text.is_ascii(), ascii);
        }
    }

    #[test]
    fn lines_reach_both_ends_and_fit_the_terminal() {
        let probability = |x: f64| 1.0 - (1.0 - x.powi(8)).powi(16);
        let points = (0..=200).map(|i| f64::from(i) / 200.0).map(|x| (x, probability(x))).collect();
        let chart = LineChart {
            to: 1.0,
            lines: vec![Line { name: "found", points }],
            marks: vec![Mark { at: 0.8, label: "threshold".into() }],
            ..LineChart::default()
        };
        let text = chart.text(Charset { ascii: true });
        assert!(text.lines().all(|line| line.len() <= WIDTH) && text.is_ascii());
        let lines: Vec<&str> = text.lines().collect();
        assert!(lines[1].starts_with("  100 % |") && lines[1].ends_with('*'), "{text}");
        assert!(lines[11].starts_with("    0 % |****"), "{text}");
        assert_eq!(lines[13], "         0          0.2         0.4         0.6         0.8          1");
    }
}
