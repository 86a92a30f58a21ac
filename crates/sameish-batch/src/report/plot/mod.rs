//! Charts of the HTML reports and of the terminal output.
//!
//! A chart is data: [`BarChart`] or [`LineChart`]. [`svg`] draws it as an SVG element, [`terminal`] as text.

pub mod svg;
pub mod terminal;

use super::figures::grouped;

/// A horizontal bar chart of counts on a logarithmic scale.
pub struct BarChart {
    pub title: String,
    /// Heading of the labels, such as "similarity".
    pub axis: &'static str,
    /// Heading of the counts, such as "pairs".
    pub unit: &'static str,
    pub bars: Vec<Bar>,
}

pub struct Bar {
    pub label: String,
    /// May be an estimate with a fraction.
    pub count: f64,
    /// Bars that are not emphasized are drawn in a muted color.
    pub emphasized: bool,
    pub note: Option<String>,
}

impl BarChart {
    /// Returns the length of a bar from 0 to 1. The scale is logarithmic, so that a single pair is visible next to a million.
    fn length(&self, bar: &Bar) -> f64 {
        let largest = self.bars.iter().map(|bar| bar.count).fold(1.0, f64::max);
        (1.0 + bar.count).log10() / (1.0 + largest).log10()
    }

    /// Returns the width of the widest text of any bar, in characters.
    fn widest(&self, text: impl Fn(&Bar) -> String) -> usize {
        self.bars.iter().map(|bar| text(bar).chars().count()).max().unwrap_or(0)
    }
}

impl Bar {
    /// Formats the count: `1,234`, or `0.4` for an estimate below ten.
    fn count(&self) -> String {
        match self.count {
            count if count > 0.0 && count < 0.05 => "<0.1".into(),
            count if count < 10.0 && (count - count.round()).abs() > 0.05 => format!("{count:.1}"),
            count => grouped(count.round() as u64),
        }
    }
}

/// Creates the bars of a similarity histogram with bins of equal width. Bins that reach the threshold are emphasized.
pub fn similarity_bars(counts: &[f64], threshold: f64) -> Vec<Bar> {
    let edge = |bin: usize| bin as f64 / counts.len() as f64;
    let bar = |(bin, &count): (usize, &f64)| Bar {
        label: format!("{:.2}-{:.2}", edge(bin), edge(bin + 1)),
        count,
        emphasized: edge(bin + 1) > threshold + 1e-9 || bin + 1 == counts.len(),
        note: None,
    };
    let mut bars: Vec<Bar> = counts.iter().enumerate().map(bar).collect();
    let first_match = bars.iter_mut().find(|bar| bar.emphasized).filter(|_| threshold.is_finite());
    if let Some(bar) = first_match {
        bar.note = Some(threshold.to_string());
    }
    bars
}

/// A chart of shares from 0 % to 100 % over a numeric axis.
#[derive(Default)]
pub struct LineChart {
    pub title: String,
    pub axis: &'static str,
    /// Heading of the share axis on the terminal.
    pub unit: &'static str,
    pub from: f64,
    pub to: f64,
    /// One or two lines.
    pub lines: Vec<Line>,
    /// Vertical lines. The first one marks the threshold or radius.
    pub marks: Vec<Mark>,
    /// A highlighted point.
    pub point: Option<(f64, f64)>,
}

pub struct Line {
    pub name: &'static str,
    /// Ascending by their first coordinate.
    pub points: Vec<(f64, f64)>,
}

#[derive(Clone)]
pub struct Mark {
    pub at: f64,
    pub label: String,
}

impl LineChart {
    /// Returns the position of a value on the axis, from 0 to 1.
    fn position(&self, value: f64) -> f64 {
        ((value - self.from) / (self.to - self.from).max(1e-9)).clamp(0.0, 1.0)
    }

    /// Returns at most nine round values on the axis.
    fn ticks(&self) -> Vec<f64> {
        let span = self.to - self.from;
        let step = [0.1, 0.2, 5.0].into_iter().find(|step| span / step < 8.5).unwrap_or(10.0);
        let first = (self.from / step - 1e-9).ceil() as i32;
        let last = (self.to / step + 1e-9).floor() as i32;
        (first..=last).map(|i| (f64::from(i) * step * 10.0).round() / 10.0).collect()
    }

    /// Returns the marks that lie on the axis.
    fn visible_marks(&self) -> impl Iterator<Item = &Mark> {
        self.marks.iter().filter(|mark| (self.from..=self.to).contains(&mark.at))
    }
}

impl Line {
    /// Returns the value at a coordinate, interpolated between points.
    fn value_at(&self, x: f64) -> f64 {
        let next = self.points.partition_point(|point| point.0 < x).min(self.points.len() - 1);
        let (x0, y0) = self.points[next.saturating_sub(1)];
        let (x1, y1) = self.points[next];
        if x1 <= x0 { y1 } else { y0 + (y1 - y0) * (x - x0) / (x1 - x0) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bar_lengths_are_logarithmic() {
        let bar = |count| Bar { label: "a".into(), count, emphasized: true, note: None };
        let bars = vec![bar(999_999_999.0), bar(9.0), bar(0.0)];
        let chart = BarChart { title: String::new(), axis: "a", unit: "b", bars };
        let lengths: Vec<f64> = chart.bars.iter().map(|bar| chart.length(bar)).collect();
        assert!((lengths[0] - 1.0).abs() < 1e-12 && (lengths[1] - 1.0 / 9.0).abs() < 1e-9);
        assert_eq!(lengths[2], 0.0);
    }

    #[test]
    fn emphasizes_bins_that_reach_the_threshold() {
        let emphasized = |threshold: f64| {
            let bars = similarity_bars(&[1.0; 4], threshold);
            let notes: Vec<usize> = (0..4).filter(|&at| bars[at].note.is_some()).collect();
            (bars.iter().filter(|bar| bar.emphasized).count(), notes)
        };
        assert_eq!(emphasized(0.5), (2, vec![2]));
        assert_eq!(emphasized(0.6), (2, vec![2]));
        assert_eq!(emphasized(1.0), (1, vec![3]));
        assert!(emphasized(f64::NAN).1.is_empty());
    }

    #[test]
    fn ticks_are_few_and_round() {
        let ticks = |from, to| LineChart { from, to, ..LineChart::default() }.ticks();
        assert_eq!(ticks(0.0, 1.0), [0.0, 0.2, 0.4, 0.6, 0.8, 1.0]);
        assert_eq!(ticks(0.3, 1.0), [0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 1.0]);
        assert_eq!(ticks(0.0, 20.0), [0.0, 5.0, 10.0, 15.0, 20.0]);
    }
}
