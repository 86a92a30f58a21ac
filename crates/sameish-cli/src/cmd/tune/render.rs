//! Rendering of the report for the terminal and as HTML.

use super::report::{Part, Section};
use crate::output::escape::escaped_markup;
use crate::output::html::{document, prose_with_code};
use crate::output::plot::terminal::{Charset, WIDTH};

/// The charts of a report, which are also the names of their SVG files.
pub(super) const CHARTS: [&str; 3] = ["histogram", "curve", "quality"];

impl Section {
    /// Renders the chart with this name, if the section has it.
    pub(super) fn svg(&self, name: &str) -> Option<String> {
        self.parts.iter().find_map(|part| match part {
            Part::Histogram(chart) if name == CHARTS[0] => Some(chart.svg()),
            Part::Curve(chart) if name == CHARTS[1] => Some(chart.svg()),
            Part::Quality(chart) if name == CHARTS[2] => Some(chart.svg()),
            _ => None,
        })
    }
}

/// Renders the report for the terminal, at most 80 columns wide except for long words in commands.
pub(super) fn text(sections: &[Section], charset: Charset) -> String {
    let section = |section: &Section| {
        let title = Some(format!("{}\n", section.title)).filter(|_| !section.title.is_empty());
        let parts = section.parts.iter().map(|part| part_text(part, charset)).filter(|text| !text.is_empty());
        title.into_iter().chain(parts).collect::<Vec<_>>().join("\n")
    };
    sections.iter().map(section).collect::<Vec<_>>().join("\n")
}

fn part_text(part: &Part, charset: Charset) -> String {
    match part {
        Part::Prose(text) => wrapped(text),
        Part::Table(lines) => lines.iter().map(|line| format!("  {line}\n")).collect(),
        Part::Command(command) => folded(command),
        Part::Histogram(chart) => chart.text(charset),
        Part::Curve(chart) => chart.text(charset),
        // The table above it has the same figures.
        Part::Quality(_) => String::new(),
    }
}

/// Renders the report as a self-contained HTML page.
pub(super) fn html(sections: &[Section]) -> String {
    let section = |section: &Section| {
        let title = Some(format!("<h2>{}</h2>\n", escaped_markup(&section.title)));
        let title = title.filter(|_| !section.title.is_empty()).unwrap_or_default();
        let parts: String = section.parts.iter().map(part_html).collect();
        format!("<section>\n{title}{parts}</section>\n")
    };
    let main: String = sections.iter().map(section).collect();
    document("Threshold tuning", "<h1>Threshold tuning</h1>\n", &main)
}

fn part_html(part: &Part) -> String {
    match part {
        Part::Prose(text) => format!("<p>{}</p>\n", prose_with_code(text)),
        Part::Table(lines) => format!("<pre>{}</pre>\n", escaped_markup(&lines.join("\n"))),
        Part::Command(command) => {
            format!("<pre class=\"command\"><code>{}</code></pre>\n", escaped_markup(command))
        }
        Part::Histogram(chart) => format!("<figure>\n{}</figure>\n", chart.svg()),
        Part::Curve(chart) | Part::Quality(chart) => format!("<figure>\n{}</figure>\n", chart.svg()),
    }
}

/// Wraps text at 80 columns.
fn wrapped(text: &str) -> String {
    filled(text.split_whitespace().map(str::to_owned), "", "\n", WIDTH)
}

/// Breaks a command into lines that can be pasted into a shell. A flag and its value stay together.
fn folded(command: &str) -> String {
    let mut words = command.split(' ').peekable();
    let word = || {
        let word = words.next()?;
        let takes_value = word.starts_with('-') && !word.contains('=');
        let value = words.next_if(|value| takes_value && !value.starts_with('-'));
        Some(value.map_or(word.to_owned(), |value| format!("{word} {value}")))
    };
    filled(std::iter::from_fn(word), "  ", " \\\n    ", WIDTH - 2)
}

/// Joins words with spaces, or with `line_break` where the line would be too long.
fn filled(words: impl Iterator<Item = String>, indent: &str, line_break: &str, width: usize) -> String {
    let mut out = indent.to_owned();
    let mut column = indent.len();
    for (i, word) in words.enumerate() {
        let length = word.chars().count();
        if i > 0 && column + 1 + length > width {
            out += line_break;
            column = line_break.rsplit('\n').next().map_or(0, str::len);
        } else if i > 0 {
            out.push(' ');
            column += 1;
        }
        out += &word;
        column += length;
    }
    out + "\n"
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn folds_long_commands() {
        let command = format!("sameish {}", "abcdefgh --flag 0.99 ".repeat(20).trim_end());
        let text = folded(&command);
        assert!(text.lines().all(|line| line.len() <= WIDTH && !line.ends_with("--flag \\")), "{text}");
        assert_eq!(text.replace(" \\\n    ", " ").trim(), command);
    }

    #[test]
    fn wraps_prose() {
        let text = wrapped(&"word ".repeat(100));
        assert!(text.lines().count() == 7 && text.lines().all(|line| line.len() <= WIDTH), "{text}");
    }

    #[test]
    fn escapes_markup() {
        assert_eq!(escaped_markup("<a b='\"'>&"), "&lt;a b=&#39;&quot;&#39;&gt;&amp;");
    }
}
