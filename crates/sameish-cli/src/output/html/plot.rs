//! The plots, drawn at the size of a phone's screen so that their letters stay readable there.

use crate::output::figures::{chance, threshold as written};
use crate::output::messages::{counted, grouped};
use std::fmt::Write;

/// Width of every plot.
const WIDTH: f64 = 360.0;
/// Height of those with two axes.
const HEIGHT: f64 = 230.0;
/// Edges of the field between the axes.
const LEFT: f64 = 40.0;
const RIGHT: f64 = 348.0;
const TOP: f64 = 22.0;
const BOTTOM: f64 = 190.0;
/// Height of a row of a plot that lies on its side.
const ROW: f64 = 20.0;

/// How many pairs are how similar.
///
/// Far more pairs are just candidates, or exact copies, than anything between: where one bin would press the others flat,
/// the scale is logarithmic, and says so.
pub(super) fn histogram(bins: &[u64], threshold: f64) -> String {
    let title = "Similarity of candidate pairs";
    let most = bins.iter().copied().max().unwrap_or(0);
    if most == 0 {
        return empty(title, "No pairs were candidates, so there is nothing to draw.");
    }
    let scale = Scale::fitting(bins);
    let mut drawing = String::new();
    for tick in scale.ticks() {
        level(&mut drawing, scale.height(tick), &short(tick));
    }
    similarities(&mut drawing);
    let edge = |i: usize| i as f64 / bins.len() as f64;
    for (i, &pairs) in bins.iter().enumerate().filter(|(_, pairs)| **pairs > 0) {
        bin(&mut drawing, (edge(i), edge(i + 1)), threshold, scale.height(pairs), pairs);
    }
    threshold_line(&mut drawing, threshold);
    let fullest = bins.iter().position(|pairs| *pairs == most).unwrap_or(0);
    let told = format!(
        "The fullest bin, from {:.2} to {:.2}, has {}.",
        edge(fullest),
        edge(fullest + 1),
        counted(most, "pair")
    );
    let caption = format!("Pairs by similarity, {}. From the threshold on they match.", scale.name());
    figure("histogram", title, &told, HEIGHT, &drawing, &caption)
}

/// A bin's bar, in the colour of a match from the threshold on.
fn bin(drawing: &mut String, (from, to): (f64, f64), threshold: f64, height: f64, pairs: u64) {
    let split = if threshold.is_finite() { threshold.clamp(from, to) } else { to };
    let _ = write!(drawing, "<g><title>{from:.2} to {to:.2}: {}</title>", counted(pairs, "pair"));
    for (class, from, to) in [("below", from, split), ("above", split, to)] {
        if to - from > 1e-9 {
            let width = (across(to) - across(from) - 0.6).max(0.5);
            let (x, y, height) = (across(from), BOTTOM - height, height);
            let _ = write!(
                drawing,
                "<rect class=\"{class}\" x=\"{x:.1}\" y=\"{y:.1}\" width=\"{width:.1}\" height=\"{height:.1}\"/>"
            );
        }
    }
    drawing.push_str("</g>\n");
}

/// How surely a pair is found.
pub(super) fn curve(curve: &[(f64, f64)], threshold: f64, expected_recall: Option<f64>) -> String {
    let title = "Chance that a pair is found";
    let sound = curve.iter().filter(|(x, y)| x.is_finite() && y.is_finite());
    let mut points: Vec<(f64, f64)> = sound.map(|(x, y)| (x.clamp(0.0, 1.0), y.clamp(0.0, 1.0))).collect();
    points.sort_by(|a, b| a.0.total_cmp(&b.0));
    if points.len() < 2 {
        return empty(title, "There is no curve for this run.");
    }
    let mut drawing = String::new();
    for percent in [0_u32, 25, 50, 75, 100] {
        level(&mut drawing, f64::from(percent) / 100.0 * (BOTTOM - TOP), &format!("{percent} %"));
    }
    similarities(&mut drawing);
    let path: Vec<String> = points.iter().map(|&(x, y)| format!("{:.1},{:.1}", across(x), up(y))).collect();
    let _ = writeln!(drawing, "<polyline class=\"line\" points=\"{}\"/>", path.join(" "));
    threshold_line(&mut drawing, threshold);
    let mut told = "From pairs that have nothing in common to equal ones.".to_owned();
    if let Some(recall) = expected_recall.filter(|recall| recall.is_finite()) {
        let (x, y) = (across(threshold), up(recall.clamp(0.0, 1.0)));
        let _ = writeln!(drawing, "<circle class=\"point\" cx=\"{x:.1}\" cy=\"{y:.1}\" r=\"4\"/>");
        told = format!("At the threshold {} the chance is {}.", written(threshold), chance(recall));
    }
    let caption = format!("How likely a pair of some similarity becomes a candidate. {told}");
    figure("curve", title, &told, HEIGHT, &drawing, &caption)
}

/// How large the clusters are.
pub(super) fn cluster_sizes(sizes: &[(u64, u64)]) -> String {
    let title = "Sizes of clusters";
    let classes = classes(sizes);
    let Some(most) = classes.iter().map(|class| class.2).max() else {
        return empty(title, "No two documents were put together, so there are no clusters.");
    };
    let widest = classes.iter().map(|class| sizes_of(class).chars().count()).max().unwrap_or(0);
    let start = (widest as f64 * 6.6 + 10.0).max(70.0);
    let room = (WIDTH - start - 8.0 - 7.0 * grouped(most).len() as f64).max(20.0);
    let mut drawing = String::new();
    label(&mut drawing, "axis", start - 8.0, 14.0, "end", "documents");
    label(&mut drawing, "axis", start, 14.0, "start", "clusters");
    for (row, class) in classes.iter().enumerate() {
        let (y, width) = (22.0 + row as f64 * ROW, log_share(class.2, most) * room);
        label(&mut drawing, "tick", start - 8.0, y + 12.0, "end", &sizes_of(class));
        let _ = writeln!(
            drawing,
            "<rect class=\"above\" x=\"{start:.1}\" y=\"{y:.1}\" width=\"{width:.1}\" height=\"{:.1}\"/>",
            ROW - 5.0
        );
        label(&mut drawing, "tick", start + width + 5.0, y + 12.0, "start", &grouped(class.2));
    }
    let filled = sizes.iter().filter(|(_, clusters)| *clusters > 0);
    let largest = filled.map(|(size, _)| *size).max().unwrap_or(0);
    let told = format!("The largest cluster has {}.", counted(largest, "document"));
    let caption = format!("How many clusters have how many documents, logarithmic scale. {told}");
    figure("sizes", title, &told, 26.0 + classes.len() as f64 * ROW, &drawing, &caption)
}

/// The name of a class of sizes.
fn sizes_of(&(from, to, _): &(u64, u64, u64)) -> String {
    match from == to {
        true => grouped(from),
        false => format!("{}–{}", grouped(from), grouped(to)),
    }
}

/// Sizes in classes that double: 1, 2, 3–4, 5–8, with those left out at both ends that have no cluster.
fn classes(sizes: &[(u64, u64)]) -> Vec<(u64, u64, u64)> {
    let mut counts = [0_u64; 65];
    for &(size, clusters) in sizes {
        let class = (64 - size.saturating_sub(1).leading_zeros()) as usize;
        counts[class] = counts[class].saturating_add(clusters);
    }
    let Some(first) = counts.iter().position(|count| *count > 0) else { return Vec::new() };
    let last = counts.iter().rposition(|count| *count > 0).unwrap_or(first);
    let bounds = |class: usize| match class {
        0 => (1, 1),
        64 => ((1 << 63) + 1, u64::MAX),
        _ => ((1_u64 << (class - 1)) + 1, 1 << class),
    };
    (first..=last).map(|class| (bounds(class).0, bounds(class).1, counts[class])).collect()
}

/// How tall a number is drawn.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Scale {
    Even { most: u64 },
    Log { most: u64 },
}

impl Scale {
    /// Logarithmic where the middle one of the bins that have anything would be too small to see.
    fn fitting(bins: &[u64]) -> Scale {
        let mut filled: Vec<u64> = bins.iter().copied().filter(|pairs| *pairs > 0).collect();
        filled.sort_unstable();
        let most = filled.last().copied().unwrap_or(1);
        match filled.get(filled.len() / 2) {
            Some(&middle) if most / middle >= 12 => Scale::Log { most },
            _ => Scale::Even { most },
        }
    }

    fn name(self) -> &'static str {
        match self {
            Scale::Even { .. } => "even scale",
            Scale::Log { .. } => "logarithmic scale",
        }
    }

    fn height(self, number: u64) -> f64 {
        let share = match self {
            Scale::Even { most } => number as f64 / most as f64,
            Scale::Log { most } => log_share(number, most),
        };
        share * (BOTTOM - TOP)
    }

    fn ticks(self) -> Vec<u64> {
        match self {
            Scale::Even { most } => {
                let step = even_step(most);
                (0..=most / step).map(|i| i * step).collect()
            }
            Scale::Log { most } => {
                let powers: Vec<u64> =
                    (0..20).map(|power| 10_u64.pow(power)).take_while(|power| *power <= most).collect();
                let every = powers.len().div_ceil(6);
                powers.into_iter().step_by(every.max(1)).collect()
            }
        }
    }
}

/// The largest step of 1, 2 or 5 by which at least three ticks fit.
fn even_step(most: u64) -> u64 {
    let steps = (0..19).rev().flat_map(|power| [5, 2, 1].map(|digit| digit * 10_u64.pow(power)));
    steps.into_iter().find(|step| most / step >= 3).unwrap_or(1)
}

/// The share of the room that a number takes on a logarithmic scale, on which one is seen and none is not.
fn log_share(number: u64, most: u64) -> f64 {
    if number == 0 {
        return 0.0;
    }
    let height = |number: u64| (number as f64 / 0.5).ln();
    height(number) / height(most.max(1))
}

/// A number for an axis: `20`, `5k`, `1M`.
fn short(number: u64) -> String {
    let units = [(1_000_000_000_000, "T"), (1_000_000_000, "G"), (1_000_000, "M"), (1_000, "k")];
    match units.into_iter().find(|(unit, _)| number >= *unit) {
        Some((unit, letter)) if number.is_multiple_of(unit) => format!("{}{letter}", grouped(number / unit)),
        Some((unit, letter)) => format!("{:.1}{letter}", number as f64 / unit as f64),
        None => number.to_string(),
    }
}

fn across(similarity: f64) -> f64 {
    LEFT + similarity.clamp(0.0, 1.0) * (RIGHT - LEFT)
}

fn up(share: f64) -> f64 {
    BOTTOM - share * (BOTTOM - TOP)
}

fn label(drawing: &mut String, class: &str, x: f64, y: f64, anchor: &str, text: &str) {
    let _ = writeln!(
        drawing,
        "<text class=\"{class}\" x=\"{x:.1}\" y=\"{y:.1}\" text-anchor=\"{anchor}\">{text}</text>"
    );
}

/// A line across at some height, with its number.
fn level(drawing: &mut String, height: f64, number: &str) {
    let y = BOTTOM - height;
    let _ =
        writeln!(drawing, "<line class=\"grid\" x1=\"{LEFT}\" y1=\"{y:.1}\" x2=\"{RIGHT}\" y2=\"{y:.1}\"/>");
    label(drawing, "tick", LEFT - 5.0, y + 4.0, "end", number);
}

/// The axis from 0 to 1.
fn similarities(drawing: &mut String) {
    let _ = writeln!(
        drawing,
        "<line class=\"base\" x1=\"{LEFT}\" y1=\"{BOTTOM}\" x2=\"{RIGHT}\" y2=\"{BOTTOM}\"/>"
    );
    for place in [0.0, 0.2, 0.4, 0.6, 0.8, 1.0] {
        label(drawing, "tick", across(place), BOTTOM + 15.0, "middle", &format!("{place:.1}"));
    }
    label(drawing, "axis", across(0.5), BOTTOM + 33.0, "middle", "similarity");
}

fn threshold_line(drawing: &mut String, threshold: f64) {
    if !(0.0..=1.0).contains(&threshold) {
        return;
    }
    let x = across(threshold);
    let _ = writeln!(
        drawing,
        "<line class=\"threshold\" x1=\"{x:.1}\" y1=\"{:.1}\" x2=\"{x:.1}\" y2=\"{BOTTOM}\"/>",
        TOP - 6.0
    );
    let anchor = if threshold < 0.5 { "start" } else { "end" };
    label(drawing, "limit", x, 12.0, anchor, &format!("threshold {}", written(threshold)));
}

fn figure(id: &str, title: &str, told: &str, height: f64, drawing: &str, caption: &str) -> String {
    format!(
        "<figure>\n<h3>{title}</h3>\n\
         <svg viewBox=\"0 0 {WIDTH} {height:.0}\" role=\"img\" aria-labelledby=\"{id}-title {id}-desc\">\n\
         <title id=\"{id}-title\">{title}</title>\n<desc id=\"{id}-desc\">{told}</desc>\n{drawing}</svg>\n\
         <figcaption>{caption}</figcaption>\n</figure>\n"
    )
}

fn empty(title: &str, why: &str) -> String {
    format!("<figure>\n<h3>{title}</h3>\n<p class=\"quiet\">{why}</p>\n</figure>\n")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_bin_that_towers_makes_the_scale_logarithmic() {
        assert_eq!(Scale::fitting(&[0, 10, 12, 100]), Scale::Even { most: 100 });
        assert_eq!(Scale::fitting(&[3, 10, 12, 10_000]), Scale::Log { most: 10_000 });
        assert_eq!(Scale::fitting(&[0, 7]), Scale::Even { most: 7 });
        assert!(Scale::Log { most: 10_000 }.height(1) > 5.0);
    }

    #[test]
    fn ticks_are_few_and_round() {
        assert_eq!(Scale::Even { most: 7 }.ticks(), [0, 2, 4, 6]);
        assert_eq!(Scale::Even { most: 1 }.ticks(), [0, 1]);
        assert_eq!(Scale::Log { most: 1234 }.ticks(), [1, 10, 100, 1000]);
        assert!(Scale::Log { most: u64::MAX }.ticks().len() <= 6);
        assert!(Scale::Even { most: u64::MAX }.ticks().len() <= 10);
        assert_eq!([20, 5000, 1_000_000, 2500].map(short), ["20", "5k", "1M", "2.5k"]);
    }

    #[test]
    fn sizes_double_from_class_to_class() {
        let sizes = [(2, 9), (3, 4), (4, 1), (9, 1), (70, 0)];
        assert_eq!(classes(&sizes), [(2, 2, 9), (3, 4, 5), (5, 8, 0), (9, 16, 1)]);
        assert_eq!(classes(&[(0, 1), (1, 2)]), [(1, 1, 3)]);
        assert_eq!(classes(&[(u64::MAX, 1)]), [((1 << 63) + 1, u64::MAX, 1)]);
        assert_eq!(classes(&[]), []);
    }

    #[test]
    fn measures_that_are_no_numbers_draw_nothing_strange() {
        let drawn = [
            histogram(&[1, 2], f64::NAN),
            curve(&[(f64::NAN, 0.1), (0.0, 0.0), (1.0, f64::INFINITY), (1.0, 1.0)], f64::NAN, Some(f64::NAN)),
        ];
        assert!(!drawn.concat().contains("NaN"), "{drawn:?}");
    }
}
