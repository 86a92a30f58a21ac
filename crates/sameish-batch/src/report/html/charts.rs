//! The charts of the report: similarities, detection probability, cluster sizes.

use super::Report;
use crate::report::figures::{chance, threshold as written};
use crate::report::figures::{counted, grouped};
use crate::report::plot::{Bar, BarChart, Line, LineChart, Mark, similarity_bars};

/// Renders the three charts as figures with captions.
pub(super) fn figures(report: &Report) -> String {
    histogram(&report.histogram, report.threshold)
        + &curve(&report.curve, report.threshold, report.expected_recall)
        + &cluster_sizes(&report.cluster_sizes)
}

fn histogram(bins: &[u64], threshold: f64) -> String {
    let title = "Similarity of candidate pairs";
    if bins.iter().all(|pairs| *pairs == 0) {
        return empty(title, "There were no candidate pairs.");
    }
    let counts: Vec<f64> = bins.iter().map(|&pairs| pairs as f64).collect();
    let bars = similarity_bars(&counts, threshold);
    let bars = bars.into_iter().skip_while(|bar| bar.count == 0.0 && !bar.emphasized).collect();
    let chart = BarChart { title: title.into(), axis: "similarity", unit: "pairs", bars };
    figure(
        title,
        &chart.svg(),
        "Pairs by similarity, logarithmic scale. Pairs at or above the threshold match.",
    )
}

fn curve(points: &[(f64, f64)], threshold: f64, expected_recall: Option<f64>) -> String {
    let title = "Probability that a pair is found";
    let finite = points.iter().filter(|(x, y)| x.is_finite() && y.is_finite());
    let mut points: Vec<(f64, f64)> = finite.copied().collect();
    points.sort_by(|a, b| a.0.total_cmp(&b.0));
    if points.len() < 2 {
        return empty(
            title,
            "Presets that compare only fingerprints have no probability curve: all pairs within the radius are found.",
        );
    }
    let recall = expected_recall.filter(|recall| recall.is_finite() && threshold.is_finite());
    let label = format!("threshold {}", written(threshold));
    let chart = LineChart {
        title: title.into(),
        axis: "similarity",
        unit: "found",
        from: 0.0,
        to: 1.0,
        lines: vec![Line { name: "found", points }],
        marks: vec![Mark { at: threshold, label }],
        point: recall.map(|recall| (threshold, recall)),
    };
    let at_threshold = recall.map(|recall| format!(" At the threshold: {}.", chance(recall)));
    let caption = "Probability that a pair of a given similarity becomes a candidate.";
    figure(title, &chart.svg(), &format!("{caption}{}", at_threshold.unwrap_or_default()))
}

fn cluster_sizes(sizes: &[(u64, u64)]) -> String {
    let title = "Cluster sizes";
    let bars = size_bars(sizes);
    if bars.is_empty() {
        return empty(title, "There are no clusters: no two documents match.");
    }
    let largest =
        sizes.iter().filter(|(_, clusters)| *clusters > 0).map(|(size, _)| *size).max().unwrap_or(0);
    let chart = BarChart { title: title.into(), axis: "documents", unit: "clusters", bars };
    let largest = counted(largest, "document");
    let caption = format!("Clusters by number of documents, logarithmic scale. The largest has {largest}.");
    figure(title, &chart.svg(), &caption)
}

/// Groups sizes into classes that double: 1, 2, 3–4, 5–8. Empty classes at both ends are omitted.
fn size_bars(sizes: &[(u64, u64)]) -> Vec<Bar> {
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
    let bar = |class: usize| {
        let (from, to) = bounds(class);
        let label = if from == to { grouped(from) } else { format!("{}–{}", grouped(from), grouped(to)) };
        Bar { label, count: counts[class] as f64, emphasized: true, note: None }
    };
    (first..=last).map(bar).collect()
}

fn figure(title: &str, svg: &str, caption: &str) -> String {
    format!("<figure>\n<h3>{title}</h3>\n{svg}<figcaption>{caption}</figcaption>\n</figure>\n")
}

fn empty(title: &str, reason: &str) -> String {
    format!("<figure>\n<h3>{title}</h3>\n<p class=\"quiet\">{reason}</p>\n</figure>\n")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn size_classes_double() {
        let classes = |sizes: &[(u64, u64)]| {
            let bars = size_bars(sizes);
            bars.into_iter().map(|bar| (bar.label, bar.count)).collect::<Vec<_>>()
        };
        let label = |label: &str, count: f64| (label.to_owned(), count);
        let sizes = [(2, 9), (3, 4), (4, 1), (9, 1), (70, 0)];
        assert_eq!(
            classes(&sizes),
            [label("2", 9.0), label("3–4", 5.0), label("5–8", 0.0), label("9–16", 1.0)]
        );
        assert_eq!(classes(&[(0, 1), (1, 2)]), [label("1", 3.0)]);
        assert_eq!(classes(&[(u64::MAX, 1)]).len(), 1);
        assert_eq!(classes(&[]), []);
    }

    #[test]
    fn ignores_values_that_are_not_finite() {
        let points = [(f64::NAN, 0.1), (0.0, 0.0), (1.0, f64::INFINITY), (1.0, 1.0)];
        let drawn = histogram(&[1, 2], f64::NAN) + &curve(&points, f64::NAN, Some(f64::NAN));
        assert!(!drawn.contains("NaN"), "{drawn}");
    }
}
