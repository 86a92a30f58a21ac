//! The report as one HTML file that asks for nothing from anywhere.

use super::report::{Part, Section};
use crate::output::escape::escaped_markup;

const HEAD: &str = "<!doctype html>
<html lang=\"en\">
<head>
<meta charset=\"utf-8\">
<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">
<meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; style-src 'unsafe-inline'\">
<title>sameish tune</title>
<style>
body { font: 16px/1.5 system-ui, sans-serif; max-width: 46rem; margin: 2rem auto; padding: 0 1rem; color: #222; background: #fff }
svg { max-width: 100%; height: auto; font-family: inherit }
pre { overflow-x: auto; padding: .6rem; background: #8882; font-size: 14px }
@media (prefers-color-scheme: dark) { body { color: #ddd; background: #1b1b1b } }
</style>
</head>
<body>
<h1>Which threshold suits this corpus?</h1>
";

/// The page.
pub(super) fn render(sections: &[Section]) -> String {
    let mut out = String::from(HEAD);
    for section in sections {
        if !section.title.is_empty() {
            out += &format!("<h2>{}</h2>\n", escaped_markup(&section.title));
        }
        section.parts.iter().for_each(|part| out += &render_part(part));
    }
    out + "</body>\n</html>\n"
}

fn render_part(part: &Part) -> String {
    match part {
        Part::Prose(text) => format!("<p>{}</p>\n", escaped_markup(text)),
        Part::Table(lines) => format!("<pre>{}</pre>\n", escaped_markup(&lines.join("\n"))),
        Part::Command(command) => format!("<pre>{}</pre>\n", escaped_markup(command)),
        Part::Plot(plot) => format!("{}\n", plot.svg()),
    }
}
