//! Charts as SVG elements, sized so that their text stays readable on a phone.
//!
//! The elements carry classes; `html/style.css` gives them their colors.

use super::{Bar, BarChart, LineChart};
use crate::escape::escaped_markup;
use std::fmt::Write;

/// Size of a chart. The height of a bar chart depends on its rows.
const WIDTH: f64 = 360.0;
const HEIGHT: f64 = 230.0;
/// Plot area of a line chart.
const LEFT: f64 = 46.0;
const RIGHT: f64 = 348.0;
const TOP: f64 = 22.0;
const BOTTOM: f64 = 190.0;
/// Height of a bar with its margin.
const ROW: f64 = 17.0;
/// Average width of a character.
const CHARACTER: f64 = 7.2;

/// Literal colors: many SVG viewers do not support CSS variables.
const STANDALONE_STYLE: &str = "<style>svg{background:#fff}text{font:11.5px sans-serif;fill:#575e68}\
    .mark-label{fill:#b23a12;font-weight:600}.grid{stroke:#d5d9df;stroke-width:.7}.base{stroke:#575e68}\
    .bar{fill:#2467b3}.muted{fill:#8794a3}.line{fill:none;stroke:#2467b3;stroke-width:2.2}\
    .second{stroke:#b5651d}.mark{stroke:#b23a12;stroke-width:1.3;stroke-dasharray:4 3}.point{fill:#b23a12}</style>";

/// Turns a chart into an SVG file.
pub fn standalone(svg: &str) -> String {
    let body = svg.replacen('>', &format!(" width=\"{}\">{STANDALONE_STYLE}", 2.0 * WIDTH), 1);
    format!("<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n{body}")
}

fn element(height: f64, title: &str, body: &str) -> String {
    format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {WIDTH} {height:.0}\" role=\"img\">\n\
         <title>{}</title>\n{body}</svg>\n",
        escaped_markup(title)
    )
}

fn text(out: &mut String, class: &str, (x, y): (f64, f64), anchor: &str, text: &str) {
    let text = escaped_markup(text);
    let _ = writeln!(
        out,
        "<text class=\"{class}\" x=\"{x:.1}\" y=\"{y:.1}\" text-anchor=\"{anchor}\">{text}</text>"
    );
}

fn line(out: &mut String, class: &str, (x1, y1): (f64, f64), (x2, y2): (f64, f64)) {
    let _ = writeln!(
        out,
        "<line class=\"{class}\" x1=\"{x1:.1}\" y1=\"{y1:.1}\" x2=\"{x2:.1}\" y2=\"{y2:.1}\"/>"
    );
}

impl BarChart {
    pub fn svg(&self) -> String {
        let labels = self.widest(|bar| bar.label.clone()).max(self.axis.len());
        let start = labels as f64 * CHARACTER + 10.0;
        let behind = self.widest(|bar| format!("{} {}", bar.count(), bar.note.as_deref().unwrap_or("")));
        let room = (WIDTH - start - 24.0 - behind as f64 * CHARACTER).max(20.0);
        let mut body = String::new();
        text(&mut body, "axis", (start - 6.0, 13.0), "end", self.axis);
        text(&mut body, "axis", (start, 13.0), "start", self.unit);
        for (row, bar) in self.bars.iter().enumerate() {
            let y = 20.0 + row as f64 * ROW;
            text(&mut body, "tick", (start - 6.0, y + 11.0), "end", &bar.label);
            self.bar(&mut body, bar, (start, y), self.length(bar) * room);
        }
        element(24.0 + self.bars.len() as f64 * ROW, &self.title, &body)
    }

    fn bar(&self, out: &mut String, bar: &Bar, (x, y): (f64, f64), width: f64) {
        let class = if bar.emphasized { "bar" } else { "bar muted" };
        let _ = writeln!(
            out,
            "<rect class=\"{class}\" x=\"{x:.1}\" y=\"{y:.1}\" width=\"{width:.1}\" height=\"{:.1}\"/>",
            ROW - 4.0
        );
        let count = bar.count();
        text(out, "tick", (x + width + 5.0, y + 11.0), "start", &count);
        if let Some(note) = &bar.note {
            let behind = x + width + 12.0 + count.len() as f64 * CHARACTER;
            text(out, "mark-label", (behind, y + 11.0), "start", &format!("\u{2190} {note}"));
        }
    }
}

impl LineChart {
    pub fn svg(&self) -> String {
        let mut body = String::new();
        self.axes(&mut body);
        for (number, series) in self.lines.iter().enumerate() {
            let class = if number == 0 { "line" } else { "line second" };
            let points: Vec<String> =
                series.points.iter().map(|&(x, y)| format!("{:.1},{:.1}", self.x(x), y_of(y))).collect();
            let _ = writeln!(body, "<polyline class=\"{class}\" points=\"{}\"/>", points.join(" "));
            if self.lines.len() > 1 {
                let x = if number == 0 { LEFT } else { RIGHT - 60.0 };
                line(&mut body, class, (x, BOTTOM + 29.0), (x + 14.0, BOTTOM + 29.0));
                text(&mut body, "axis", (x + 18.0, BOTTOM + 33.0), "start", series.name);
            }
        }
        for (number, mark) in self.visible_marks().enumerate() {
            let x = self.x(mark.at);
            line(&mut body, "mark", (x, TOP - 6.0), (x, BOTTOM));
            // The label of a further mark is below a rising line.
            let y = if number == 0 { 12.0 } else { BOTTOM - 52.0 };
            let to_the_left = number == 0 && x > 120.0;
            let anchor = if to_the_left { "end" } else { "start" };
            let x = if to_the_left { x - 3.0 } else { x + 4.0 };
            text(&mut body, "mark-label", (x, y), anchor, &mark.label);
        }
        if let Some((x, y)) = self.point {
            let x = self.x(x);
            let y = y_of(y);
            let _ = writeln!(body, "<circle class=\"point\" cx=\"{x:.1}\" cy=\"{y:.1}\" r=\"4\"/>");
        }
        element(HEIGHT, &self.title, &body)
    }

    fn axes(&self, out: &mut String) {
        for percent in [0_u32, 25, 50, 75, 100] {
            let y = y_of(f64::from(percent) / 100.0);
            line(out, if percent == 0 { "base" } else { "grid" }, (LEFT, y), (RIGHT, y));
            text(out, "tick", (LEFT - 5.0, y + 4.0), "end", &format!("{percent} %"));
        }
        for tick in self.ticks() {
            text(out, "tick", (self.x(tick), BOTTOM + 15.0), "middle", &tick.to_string());
        }
        text(out, "axis", ((LEFT + RIGHT) / 2.0, BOTTOM + 33.0), "middle", self.axis);
    }

    fn x(&self, value: f64) -> f64 {
        LEFT + self.position(value) * (RIGHT - LEFT)
    }
}

fn y_of(share: f64) -> f64 {
    BOTTOM - share.clamp(0.0, 1.0) * (BOTTOM - TOP)
}
