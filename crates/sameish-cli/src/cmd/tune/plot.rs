//! Plots for a terminal and as SVG.

use super::report::{Part, Section};
use crate::output::escape::escaped_markup;
use crate::output::messages::grouped;
use sameish::Bands;
use std::fmt::Write;

/// The plots there may be; their files are called so.
pub(super) const NAMES: [&str; 3] = ["histogram", "curve", "quality"];
/// Columns of a terminal.
const WIDTH: usize = 80;

/// Something drawn.
pub(super) enum Plot {
    Bars(Bars),
    Curve { bands: Bands, threshold: f64 },
    Quality(QualityLines),
}

/// Counts by name, as bars that grow by factors of ten.
pub(super) struct Bars {
    /// What the names are.
    pub(super) axis: &'static str,
    pub(super) names: Vec<String>,
    pub(super) counts: Vec<f64>,
    /// The bar where matches begin, and what to write there.
    pub(super) mark: Option<(usize, String)>,
}

/// Precision and recall over thresholds or radii.
pub(super) struct QualityLines {
    pub(super) axis: &'static str,
    pub(super) limits: Vec<f64>,
    pub(super) precision: Vec<Option<f64>>,
    pub(super) recall: Vec<f64>,
    pub(super) mark: f64,
}

/// Which characters a terminal shows.
#[derive(Clone, Copy)]
pub(super) struct Style {
    ascii: bool,
}

impl Style {
    /// ASCII where it was asked for, and where the locale promises nothing more.
    pub(super) fn choose(ascii: bool) -> Style {
        let set = |name: &str| std::env::var(name).ok().filter(|value| !value.is_empty());
        let locale = set("LC_ALL").or_else(|| set("LC_CTYPE")).or_else(|| set("LANG")).unwrap_or_default();
        let locale = locale.to_ascii_lowercase();
        Style { ascii: ascii || !(locale.contains("utf-8") || locale.contains("utf8")) }
    }

    /// The whole report, at most 80 columns wide but for commands.
    pub(super) fn render(self, sections: &[Section]) -> String {
        let mut out = String::new();
        for (i, section) in sections.iter().enumerate() {
            let gap = if i > 0 { "\n" } else { "" };
            out += gap;
            if !section.title.is_empty() {
                let _ = writeln!(out, "{}\n", section.title);
            }
            for (i, part) in section.parts.iter().enumerate() {
                let text = self.part(part);
                if i > 0 && !text.is_empty() {
                    out.push('\n');
                }
                out += &text;
            }
        }
        out
    }

    fn part(self, part: &Part) -> String {
        match part {
            Part::Prose(text) => wrapped(text),
            Part::Table(lines) => lines.iter().map(|line| format!("  {line}\n")).collect(),
            Part::Command(command) => folded(command),
            Part::Plot(Plot::Bars(bars)) => self.bars(bars),
            Part::Plot(Plot::Curve { bands, threshold }) => self.curve(*bands, *threshold),
            // Its table says the same.
            Part::Plot(Plot::Quality(_)) => String::new(),
        }
    }

    fn bars(self, bars: &Bars) -> String {
        let counts: Vec<String> = bars.counts.iter().map(|&count| rounded(count)).collect();
        let widest = |texts: &[String]| texts.iter().map(String::len).max().unwrap_or(0);
        let (name, count) = (widest(&bars.names).max(bars.axis.len()), widest(&counts).max(5));
        let room = WIDTH - 2 - name - 2 - count - 1 - 14;
        let mut out = format!("  {:<name$}  {:>count$}\n", bars.axis, "pairs");
        for (i, (label, number)) in bars.names.iter().zip(&counts).enumerate() {
            let bar = self.bar(bars.share(i) * room as f64);
            let note = bars.mark.iter().find(|(at, _)| *at == i).map(|(_, note)| format!("<- {note}"));
            let gap = if bar.is_empty() { "" } else { " " };
            let line = format!("  {label:<name$}  {number:>count$} {bar}{gap}{}", note.unwrap_or_default());
            let _ = writeln!(out, "{}", line.trim_end());
        }
        out
    }

    fn bar(self, length: f64) -> String {
        const EIGHTHS: [&str; 8] = ["", "▏", "▎", "▍", "▌", "▋", "▊", "▉"];
        if self.ascii {
            return "#".repeat(length.round() as usize);
        }
        let eighths = (length * 8.0).round() as usize;
        "█".repeat(eighths / 8) + EIGHTHS[eighths % 8]
    }

    fn curve(self, bands: Bands, threshold: f64) -> String {
        const HIGH: usize = 10;
        const WIDE: usize = 60;
        let row = |column: usize| {
            let found = bands.probability(column as f64 / WIDE as f64);
            (found * HIGH as f64).round() as usize
        };
        let mut canvas = vec![vec![' '; WIDE + 1]; HIGH + 1];
        let at = (threshold * WIDE as f64).round() as usize;
        let (upright, dot) = if self.ascii { (':', '*') } else { ('┊', '●') };
        canvas.iter_mut().for_each(|line| line[at] = upright);
        // Where the curve is steep, a column holds several rows of it.
        let from = |column: usize| if column == 0 { 0 } else { (row(column - 1) + 1).min(row(column)) };
        let dots = (0..=WIDE).flat_map(|column| (from(column)..=row(column)).map(move |row| (row, column)));
        dots.for_each(|(row, column)| canvas[row][column] = dot);
        let (axis, corner, line) = if self.ascii { ('|', '+', "-") } else { ('│', '└', "─") };
        let mut out = String::from("  found\n");
        for (row, line) in canvas.iter().enumerate().rev() {
            let label = match row {
                HIGH => "100 %",
                5 => " 50 %",
                0 => "  0 %",
                _ => "",
            };
            let line: String = line.iter().collect();
            let _ = writeln!(out, "  {label:>5} {axis}{}", line.trim_end());
        }
        let _ = writeln!(out, "        {corner}{}", line.repeat(WIDE + 1));
        let _ = writeln!(out, "         0          0.2         0.4         0.6         0.8          1");
        out
    }
}

/// A count as people read it: `1,234`, and `0.4` where it is an estimate below ten.
fn rounded(count: f64) -> String {
    match count {
        count if count > 0.0 && count < 0.05 => "<0.1".into(),
        count if count < 10.0 && (count - count.round()).abs() > 0.05 => format!("{count:.1}"),
        count => grouped(count.round() as u64),
    }
}

impl Bars {
    /// The length of a bar, from 0 to 1: by factors of ten, so that one pair is seen beside a million.
    fn share(&self, at: usize) -> f64 {
        let most = self.counts.iter().copied().fold(1.0, f64::max);
        (1.0 + self.counts[at]).log10() / (1.0 + most).log10()
    }
}

/// Text in lines of at most 80 columns.
fn wrapped(text: &str) -> String {
    let (mut out, mut column) = (String::new(), 0);
    for word in text.split_whitespace() {
        let length = word.chars().count();
        if column > 0 && column + 1 + length > WIDTH {
            out.push('\n');
            column = 0;
        } else if column > 0 {
            out.push(' ');
            column += 1;
        }
        out += word;
        column += length;
    }
    out + "\n"
}

/// A command over several lines, if need be, that can be pasted all the same. A flag and its value stay together.
fn folded(command: &str) -> String {
    let (mut out, mut column) = (String::from("  "), 2);
    let mut words = command.split(' ').peekable();
    let mut first = true;
    while let Some(word) = words.next() {
        let value =
            words.next_if(|value| word.starts_with('-') && !word.contains('=') && !value.starts_with('-'));
        let word = value.map_or(word.to_owned(), |value| format!("{word} {value}"));
        let length = word.chars().count();
        if !first && column + 1 + length > WIDTH - 2 {
            out += " \\\n    ";
            column = 4;
        } else if !first {
            out.push(' ');
            column += 1;
        }
        out += &word;
        (column, first) = (column + length, false);
    }
    out + "\n"
}

impl Plot {
    pub(super) fn name(&self) -> &'static str {
        match self {
            Plot::Bars(_) => NAMES[0],
            Plot::Curve { .. } => NAMES[1],
            Plot::Quality(_) => NAMES[2],
        }
    }

    /// The plot as an SVG element. Its colors are those of the page around it.
    pub(super) fn svg(&self) -> String {
        match self {
            Plot::Bars(bars) => bars.svg(),
            Plot::Curve { bands, threshold } => curve_svg(*bands, *threshold),
            Plot::Quality(lines) => lines.svg(),
        }
    }
}

/// An SVG element as a file of its own.
pub(super) fn standalone(svg: String) -> String {
    let style = "<style>svg{background:#fff;color:#222;font:13px sans-serif}</style>";
    let body = svg.replacen('>', &format!(">{style}"), 1);
    format!("<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n{body}\n")
}

/// An SVG element under construction.
struct Drawing {
    body: String,
    width: f64,
    height: f64,
}

const BLUE: &str = "#2b6cb0";
const ORANGE: &str = "#c05621";
const GREY: &str = "#888888";

impl Drawing {
    fn new(width: f64, height: f64) -> Drawing {
        Drawing { body: String::new(), width, height }
    }

    fn text(&mut self, x: f64, y: f64, anchor: &str, text: &str) {
        let text = escaped_markup(text);
        let _ = write!(
            self.body,
            "<text x=\"{x:.1}\" y=\"{y:.1}\" text-anchor=\"{anchor}\" fill=\"currentColor\">{text}</text>"
        );
    }

    fn line(&mut self, from: (f64, f64), to: (f64, f64), color: &str, dashed: bool) {
        let dashes = if dashed { " stroke-dasharray=\"5 4\"" } else { "" };
        let ((x1, y1), (x2, y2)) = (from, to);
        let _ = write!(
            self.body,
            "<line x1=\"{x1:.1}\" y1=\"{y1:.1}\" x2=\"{x2:.1}\" y2=\"{y2:.1}\" stroke=\"{color}\"{dashes}/>"
        );
    }

    fn path(&mut self, points: impl Iterator<Item = (f64, f64)>, color: &str) {
        let points: Vec<String> = points.map(|(x, y)| format!("{x:.1},{y:.1}")).collect();
        let _ = write!(
            self.body,
            "<polyline points=\"{}\" fill=\"none\" stroke=\"{color}\" stroke-width=\"2\"/>",
            points.join(" ")
        );
    }

    fn finish(self, title: &str) -> String {
        let Drawing { body, width, height } = self;
        format!(
            "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {width} {height}\" width=\"{width}\" \
             height=\"{height}\" role=\"img\" font-size=\"13\"><title>{}</title>{body}</svg>",
            escaped_markup(title)
        )
    }
}

impl Bars {
    fn svg(&self) -> String {
        const ROW: f64 = 20.0;
        let mut drawing = Drawing::new(720.0, 30.0 + ROW * self.names.len() as f64);
        drawing.text(90.0, 16.0, "end", self.axis);
        drawing.text(190.0, 16.0, "end", "pairs");
        for (i, (name, &count)) in self.names.iter().zip(&self.counts).enumerate() {
            let y = 26.0 + ROW * i as f64;
            drawing.text(90.0, y + 14.0, "end", name);
            drawing.text(190.0, y + 14.0, "end", &rounded(count));
            let width = 380.0 * self.share(i);
            let _ = write!(
                drawing.body,
                "<rect x=\"200\" y=\"{:.1}\" width=\"{width:.1}\" height=\"{:.1}\" fill=\"{BLUE}\"/>",
                y + 2.0,
                ROW - 4.0
            );
            if let Some((_, note)) = self.mark.iter().find(|(at, _)| *at == i) {
                drawing.text(208.0 + width, y + 14.0, "start", &format!("\u{2190} {note}"));
            }
        }
        drawing.finish(&format!("Pairs by {}", self.axis))
    }
}

/// The frame of a plot whose values go from 0 to 1.
struct Frame {
    from: f64,
    to: f64,
}

impl Frame {
    fn x(&self, value: f64) -> f64 {
        60.0 + 600.0 * (value - self.from) / (self.to - self.from).max(1e-9)
    }

    fn y(&self, share: f64) -> f64 {
        270.0 - 240.0 * share
    }

    fn draw(&self, axis: &str, ticks: &[f64]) -> Drawing {
        let mut drawing = Drawing::new(720.0, 320.0);
        for percent in [0.0, 0.25, 0.5, 0.75, 1.0] {
            let y = self.y(percent);
            drawing.line((60.0, y), (660.0, y), "#88888855", false);
            drawing.text(52.0, y + 4.0, "end", &format!("{:.0} %", 100.0 * percent));
        }
        for &tick in ticks {
            drawing.text(self.x(tick), 288.0, "middle", &format!("{tick}"));
        }
        drawing.text(360.0, 310.0, "middle", axis);
        drawing
    }
}

fn curve_svg(bands: Bands, threshold: f64) -> String {
    let frame = Frame { from: 0.0, to: 1.0 };
    let mut drawing = frame.draw("similarity of a pair", &[0.0, 0.2, 0.4, 0.6, 0.8, 1.0]);
    for (at, name) in [(threshold, "threshold"), (bands.even_odds(), "even odds")] {
        drawing.line((frame.x(at), frame.y(0.0)), (frame.x(at), frame.y(1.0)), GREY, true);
        let y = if name == "threshold" { 20.0 } else { 150.0 };
        drawing.text(frame.x(at) - 6.0, y, "end", &format!("{name} {at:.2}"));
    }
    drawing.path(bands.curve(200).iter().map(|p| (frame.x(p.jaccard), frame.y(p.probability))), BLUE);
    drawing.finish(&format!("Probability that {} bands of {} rows find a pair", bands.count, bands.rows))
}

impl QualityLines {
    fn svg(&self) -> String {
        let (from, to) = (self.limits.first().copied(), self.limits.last().copied());
        let frame = Frame { from: from.unwrap_or(0.0), to: to.unwrap_or(1.0) };
        let step = if frame.to > 1.0 { 5.0 } else { 0.1 };
        let ticks: Vec<f64> = (0..=10)
            .map(|i| (f64::from(i) * step * 10.0).round() / 10.0)
            .filter(|tick| (frame.from..=frame.to).contains(tick))
            .collect();
        let mut drawing = frame.draw(self.axis, &ticks);
        let x = frame.x(self.mark);
        drawing.line((x, frame.y(0.0)), (x, frame.y(1.0)), GREY, true);
        let precise = self.limits.iter().zip(&self.precision);
        let precise = precise.filter_map(|(&limit, share)| Some((frame.x(limit), frame.y((*share)?))));
        drawing.path(precise, BLUE);
        drawing.path(self.limits.iter().zip(&self.recall).map(|(&x, &y)| (frame.x(x), frame.y(y))), ORANGE);
        for (x, color, name) in [(70.0, BLUE, "precision"), (170.0, ORANGE, "recall")] {
            drawing.line((x, 14.0), (x + 20.0, 14.0), color, false);
            drawing.text(x + 26.0, 18.0, "start", name);
        }
        drawing.finish(&format!("Precision and recall by {}", self.axis))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bars_grow_by_factors_of_ten_and_fit_the_terminal() {
        let bars = Bars {
            axis: "similarity",
            names: vec!["0.00-0.50".into(), "0.50-1.00".into(), "none".into()],
            counts: vec![999_999_999.0, 9.0, 0.0],
            mark: Some((1, "threshold".into())),
        };
        let shares: Vec<f64> = (0..3).map(|at| bars.share(at)).collect();
        assert!((shares[0] - 1.0).abs() < 1e-12 && (shares[1] - 1.0 / 9.0).abs() < 1e-9 && shares[2] == 0.0);
        for ascii in [true, false] {
            let text = Style { ascii }.bars(&bars);
            assert!(text.lines().all(|line| line.chars().count() <= WIDTH), "{text}");
            assert_eq!(text.is_ascii(), ascii);
        }
    }

    #[test]
    fn long_commands_are_folded_and_markup_is_escaped() {
        let command = format!("sameish {}", "abcdefgh --flag 0.99 ".repeat(20).trim_end());
        let text = folded(&command);
        assert!(text.lines().all(|line| line.len() <= WIDTH && !line.ends_with("--flag \\")), "{text}");
        assert_eq!(text.replace(" \\\n    ", " ").trim(), command);
        assert_eq!(escaped_markup("<a b='\"'>&"), "&lt;a b=&#39;&quot;&#39;&gt;&amp;");
    }

    #[test]
    fn curve_touches_both_ends_and_fits_the_terminal() {
        let text = Style { ascii: true }.curve(Bands { count: 16, rows: 8 }, 0.8);
        assert!(text.lines().all(|line| line.len() <= WIDTH) && text.is_ascii());
        let lines: Vec<&str> = text.lines().collect();
        assert!(lines[1].starts_with("  100 % |") && lines[1].ends_with('*'), "{text}");
        assert!(lines[11].starts_with("    0 % |****"), "{text}");
    }
}
