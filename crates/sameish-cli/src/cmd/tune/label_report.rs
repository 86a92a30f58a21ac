//! The section of the report about labels: precision and recall by threshold or radius.

use super::Tuning;
use super::labels::{LabelSource, Level, Quality};
use super::proposal::Proposal;
use super::report::{Part, Section};
use crate::output::escape::escaped;
use crate::output::messages::{counted, grouped};
use crate::output::plot::{Line, LineChart, Mark};
use sameish::matching::Interval;

/// Shows precision and recall by threshold or radius.
pub(super) fn section(tuning: &Tuning<'_>, quality: &Quality, proposal: &Proposal) -> Section {
    let best = quality.best();
    let mut text = format!("Best F1: {:.3} at {}.", best.f1, best.limit);
    if let Some(target) = quality.target_precision {
        text += &match quality.precise.map(|at| quality.levels[at]) {
            Some(level) => format!(
                " Precision {target}: reached at {}, with a recall of {:.3}; lower bound of the 95 % interval of the \
                 precision: {:.3}.",
                level.limit, level.recall, level.precision_interval.low
            ),
            None => format!(" Precision {target}: not reached."),
        };
    }
    let parts = vec![
        Part::Prose(labels_in_words(tuning, quality, proposal.is_radius())),
        Part::Table(quality_table(quality, proposal)),
        Part::Prose(text),
        Part::Quality(quality_chart(quality, proposal)),
    ];
    Section::new("Precision and recall against the labels", parts)
}

fn quality_table(quality: &Quality, proposal: &Proposal) -> Vec<String> {
    let is_radius = proposal.is_radius();
    let shown =
        |level: &&Level| is_radius || (level.limit * 20.0 - (level.limit * 20.0).round()).abs() < 1e-6;
    let interval = |interval: Interval| format!("{:.3}-{:.3}", interval.low, interval.high);
    let row = |level: &Level| {
        let limit = if is_radius { level.limit.to_string() } else { format!("{:.2}", level.limit) };
        let precision = level.precision.map_or("-".into(), |share| format!("{share:.3}"));
        let precision_interval = level.precision.map_or("-".into(), |_| interval(level.precision_interval));
        let recall_interval = interval(level.recall_interval);
        let Level { recall, f1, .. } = level;
        format!(
            "{limit:>9}  {precision:>9}  {precision_interval:>13}  {recall:>8.3}  {recall_interval:>13}  {f1:.3}"
        )
    };
    let name = proposal.limit_name();
    let header = format!("{name:>9}  precision  95 % interval    recall  95 % interval     F1");
    let levels = &quality.levels[..useful_levels(quality, is_radius)];
    std::iter::once(header).chain(levels.iter().filter(shown).map(row)).collect()
}

/// Returns the number of levels to show. Radii far beyond the best one, with a precision below 1 %, are omitted.
fn useful_levels(quality: &Quality, is_radius: bool) -> usize {
    let imprecise = |level: &Level| level.precision.is_some_and(|precision| precision < 0.01);
    let beyond = quality.levels.iter().skip(quality.best + 1).position(imprecise).filter(|_| is_radius);
    beyond.map_or(quality.levels.len(), |beyond| quality.best + 2 + beyond)
}

fn quality_chart(quality: &Quality, proposal: &Proposal) -> LineChart {
    let name = proposal.limit_name();
    let levels = &quality.levels;
    let precision = levels.iter().filter_map(|level| Some((level.limit, level.precision?))).collect();
    let recall = levels.iter().map(|level| (level.limit, level.recall)).collect();
    LineChart {
        title: format!("Precision and recall by {name}"),
        axis: name,
        unit: "share",
        from: levels.first().map_or(0.0, |level| level.limit),
        to: levels.last().map_or(1.0, |level| level.limit),
        lines: vec![Line { name: "precision", points: precision }, Line { name: "recall", points: recall }],
        marks: vec![Mark { at: proposal.limit, label: format!("{name} {}", proposal.limit) }],
        point: None,
    }
}

/// Describes the labels and how precision and recall are computed.
fn labels_in_words(tuning: &Tuning<'_>, quality: &Quality, is_radius: bool) -> String {
    let labels = match &tuning.labels.source {
        LabelSource::Pairs { pairs, unknown } => labeled_pairs(pairs.len() as u64, *unknown, quality),
        LabelSource::Clusters { field } => labeled_clusters(field, tuning, quality),
        LabelSource::None => String::new(),
    };
    let missed = if is_radius {
        ""
    } else {
        "; a pair that shares no band of the index for a threshold counts as missed"
    };
    format!(
        "{labels} Recall refers to all positive pairs{missed}. The intervals assume independent pairs, so they are too narrow \
         for large clusters."
    )
}

fn labeled_pairs(pairs: u64, unknown: u64, quality: &Quality) -> String {
    let mut text = format!(
        "{}, {} of them positive. The figures cover these pairs only: they hold for the corpus if the pairs are a random \
         sample.",
        counted(pairs, "labeled pair"),
        grouped(quality.positives)
    );
    if unknown > 0 {
        text += &format!(" Ignored: {} with an unknown id.", counted(unknown, "pair"));
    }
    text
}

fn labeled_clusters(field: &str, tuning: &Tuning<'_>, quality: &Quality) -> String {
    let mut text = format!(
        "Two documents with the same `{}` are a positive pair; all other pairs are negative: {} in {}.",
        escaped(field),
        counted(quality.positives, "positive pair"),
        counted(tuning.texts.clusters as u64, "cluster")
    );
    if quality.compared < quality.positives {
        text += &format!(" A random sample of {} was compared.", grouped(quality.compared));
    }
    let without = tuning.texts.cluster_of.iter().filter(|cluster| cluster.is_none()).count() as u64;
    if without > 0 {
        text += &format!(" Ignored: {} without a cluster.", counted(without, "document"));
    }
    text
}
