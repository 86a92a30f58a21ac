//! The report of `tune`: text, tables and charts.

use super::json::CURVE;
use super::label_report;
use super::labels::Quality;
use super::measure::{Distances, MAX_BITS, Origin, Similarities};
use super::next_command::arguments;
use super::proposal::{Basis, Expected, Proposal};
use super::shingle_report;
use super::shingles::Shingles;
use super::{Findings, Measured, Tuning};
use crate::output::messages::{counted, grouped};
use crate::output::plot::{Bar, BarChart, Line, LineChart, Mark, similarity_bars};
use sameish::Config;
use sameish::config::{Bands, Templates};

/// A part of the report with a title. The introduction has an empty title.
pub(super) struct Section {
    pub(super) title: String,
    pub(super) parts: Vec<Part>,
}

pub(super) enum Part {
    Prose(String),
    Table(Vec<String>),
    Command(String),
    Histogram(BarChart),
    Curve(LineChart),
    Quality(LineChart),
}

impl Section {
    pub(super) fn new(title: impl Into<String>, parts: Vec<Part>) -> Section {
        Section { title: title.into(), parts }
    }
}

/// Writes the report.
pub(super) fn sections(tuning: &Tuning<'_>, findings: &Findings) -> Vec<Section> {
    let Findings { measured, quality, proposal } = findings;
    let mut sections = vec![Section::new("", vec![Part::Prose(documents(tuning, measured))])];
    if proposal.basis == Basis::TooFewTexts {
        let text = "Fewer than two texts are long enough to be compared, so there is nothing to tune.";
        sections.push(Section::new("", vec![Part::Prose(text.into())]));
        return sections;
    }
    sections.push(histogram(measured, proposal.limit));
    sections.push(choice(tuning, proposal, quality.as_ref()));
    sections.extend(tuning.shingles.and_then(shingle_report::section));
    if let Some(expected) = &proposal.expected {
        sections.push(detection(tuning.config, proposal.limit, expected));
    }
    if let Some(quality) = quality {
        sections.push(label_report::section(tuning, quality, proposal));
    }
    sections.push(next_steps(tuning, proposal));
    sections
}

/// Describes the sample.
fn documents(tuning: &Tuning<'_>, measured: &Measured) -> String {
    let sampled = tuning.sample.docs.len() as u64;
    let read = tuning.sample.read;
    let mut text = if sampled < read {
        format!(
            "{} of {} documents, a deterministic sample by id hash (`--sample` sets its size).",
            grouped(sampled),
            grouped(read)
        )
    } else {
        format!("{}, the whole input.", counted(sampled, "document"))
    };
    let compared = tuning.texts.documents(measured.comparable());
    if compared < sampled {
        let skipped = counted(sampled - compared, "document");
        let verb = if sampled - compared == 1 { "is" } else { "are" };
        text += &format!(" {skipped} {verb} too short to compare.");
    }
    text
}

fn histogram(measured: &Measured, limit: f64) -> Section {
    let (title, text, chart) = match measured {
        Measured::Similarities(measured) => {
            let text = origin(measured) + &templates(measured);
            ("Similarity of pairs", text, similarity_chart(measured, limit))
        }
        Measured::Distances(measured) => {
            let pairs = counted(measured.counts.iter().sum(), "pair");
            let text = format!("All {pairs} were compared by the Hamming distance of their fingerprints.");
            ("Distance of fingerprints", text, distance_chart(measured, limit))
        }
    };
    let text = format!("{text} Bar lengths are logarithmic.");
    Section::new(title, vec![Part::Prose(text), Part::Histogram(chart)])
}

/// Says which pairs were compared.
fn origin(measured: &Similarities) -> String {
    match measured.origin {
        Origin::All { .. } => match (measured.histogram.total() + measured.templates).round() as u64 {
            1 => "The only pair was compared exactly.".into(),
            pairs => format!("All {} pairs were compared exactly.", grouped(pairs)),
        },
        Origin::Sampled { bands, cut, random, candidates, capped } => {
            let mut text = format!(
                "The counts are estimates. From {cut} up, they come from {} that share one of {}. Each was compared exactly and \
                 counts 1 / P(found) times, to account for pairs that were not found. Below {cut}, they come from {} random pairs.",
                counted(candidates, "pair"),
                in_words(bands),
                grouped(random)
            );
            if capped > 0 {
                let buckets = counted(capped, "bucket");
                text += &format!(" {buckets} reached the size limit, so the counts are too low.");
            }
            text
        }
    }
}

/// Says how many pairs are templates, or nothing if there are none.
fn templates(measured: &Similarities) -> String {
    let about = if matches!(measured.origin, Origin::All { .. }) { "" } else { "about " };
    match measured.templates.round() as u64 {
        0 => String::new(),
        pairs => format!(
            " Not shown: {about}{} of templates (the same wording with different names or numbers), which are kept apart at \
             every threshold.",
            counted(pairs, "pair")
        ),
    }
}

fn similarity_chart(measured: &Similarities, threshold: f64) -> BarChart {
    let mut counts = measured.histogram.counts(20);
    counts[19] -= measured.equal as f64;
    let mut bars = similarity_bars(&counts, threshold);
    bars.push(Bar { label: "equal".into(), count: measured.equal as f64, emphasized: true, note: None });
    BarChart { title: "Pairs by similarity".into(), axis: "similarity", unit: "pairs", bars }
}

fn distance_chart(measured: &Distances, radius: f64) -> BarChart {
    let radius = radius as usize;
    let bar = |bits: usize| Bar {
        label: bits.to_string(),
        count: measured.counts[bits] as f64,
        emphasized: bits <= radius,
        note: (bits == radius).then(|| "radius".into()),
    };
    let mut bars: Vec<Bar> = (0..=MAX_BITS).map(bar).collect();
    let more: u64 = measured.counts[MAX_BITS + 1..].iter().sum();
    bars.push(Bar { label: "more".into(), count: more as f64, emphasized: false, note: None });
    BarChart { title: "Pairs by Hamming distance".into(), axis: "bits", unit: "pairs", bars }
}

/// States the threshold or radius, the reason, and the number of pairs that reach it.
fn choice(tuning: &Tuning<'_>, proposal: &Proposal, quality: Option<&Quality>) -> Section {
    let name = proposal.limit_name();
    let limit = if proposal.is_radius() { bits(proposal.limit) } else { proposal.limit.to_string() };
    let title = match proposal.basis {
        Basis::Given => format!("Given {name}: {limit}"),
        Basis::NoCopies | Basis::NoUnrelatedPairs | Basis::Slope => {
            format!("No proposal; the preset has {name} {limit}")
        }
        _ => format!("Proposed {name}: {limit}"),
    };
    let estimated = if (proposal.pairs - proposal.pairs.round()).abs() > 1e-6 { "about " } else { "" };
    let pairs = grouped(proposal.pairs.round() as u64);
    let reach = if proposal.is_radius() { "that differ in at most" } else { "with a similarity of at least" };
    let mut text = format!("Pairs {reach} {limit}: {estimated}{pairs}");
    if tuning.sample.scale() > 1.0 {
        let all = proposal.pairs * tuning.sample.scale();
        text += &format!(" in the sample, about {} in the whole input", grouped(all.round() as u64));
    }
    Section::new(title, vec![Part::Prose(reason(proposal, quality)), Part::Prose(text + ".")])
}

fn bits(number: f64) -> String {
    counted(number as u64, "bit")
}

/// Explains the choice.
fn reason(proposal: &Proposal, quality: Option<&Quality>) -> String {
    let name = proposal.limit_name();
    let labels = |write: fn(&str, &Quality, bool) -> String| {
        quality.map(|quality| write(name, quality, proposal.is_radius())).unwrap_or_default()
    };
    match proposal.basis {
        Basis::Given => format!("Omit `--{name}` to get a proposal."),
        Basis::Precision => labels(reason_precision),
        Basis::BestF1 => labels(reason_f1),
        Basis::Valley { from, to, depth } => reason_valley(proposal, from, to, depth),
        Basis::NoCopies => {
            "Almost no pairs are more similar than the bulk of unrelated pairs, so there is nothing to \
                            separate."
                .into()
        }
        Basis::NoUnrelatedPairs => {
            "Almost all pairs are similar, so there are no unrelated pairs to separate them from.".into()
        }
        Basis::Slope => format!(
            "The histogram has no valley: the counts fall without a gap between unrelated pairs and near-duplicates. Inspect \
             some pairs near the {name}, or pass labeled pairs (`--labels`) to measure its precision and recall."
        ),
        Basis::TooFewTexts => String::new(),
    }
}

fn reason_precision(name: &str, quality: &Quality, is_radius: bool) -> String {
    let target = quality.target_precision.unwrap_or(1.0);
    let extreme = if is_radius { "largest" } else { "lowest" };
    let at_edge = !is_radius && quality.precise == Some(0);
    let edge = if at_edge { " It is the lowest threshold that was evaluated." } else { "" };
    format!("The {extreme} {name} with a precision of at least {target} according to the labels.{edge}")
}

fn reason_f1(name: &str, quality: &Quality, is_radius: bool) -> String {
    let mut text = format!("The {name} with the best F1 ({:.3}) according to the labels.", quality.best().f1);
    if let Some(target) = quality.target_precision {
        text += &format!(" No {name} reaches a precision of {target}.");
    }
    if !is_radius && quality.best == 0 {
        text += " It is the lowest threshold that was evaluated: these labels group texts that share few words, which \
                 the similarity of their wording cannot detect. To find only copies, choose a higher threshold.";
    }
    text
}

fn reason_valley(proposal: &Proposal, from: f64, to: f64, depth: f64) -> String {
    let decimals = if proposal.is_radius() { 0 } else { 2 };
    let [from, to] = [from, to].map(|edge| format!("{edge:.decimals$}"));
    let depth_in_words = if depth >= 10.0 { grouped(depth.round() as u64) } else { format!("{depth:.1}") };
    let mut text = format!(
        "The histogram has a valley from {from} to {to}, between unrelated pairs and near-duplicates. The lower of its two \
         sides is {depth_in_words} times as high as its lowest point. The {} is in the middle, where small changes have \
         little effect.",
        proposal.limit_name()
    );
    if depth < 5.0 {
        text += " The valley is shallow: inspect some pairs near the proposal before you use it.";
    }
    text
}

/// Shows the detection probability of the bands, and the recall and cost of the index.
fn detection(config: &Config, threshold: f64, expected: &Expected) -> Section {
    let Expected { bands, recall_at, recall_above, candidates, bytes } = *expected;
    let text = format!(
        "The bands are chosen for a recall of {} at {threshold}. They find a pair of similarity {:.3} with a probability of \
         50 %. Candidates below the threshold are compared and discarded.",
        config.matching.recall,
        bands.even_odds()
    );
    let above = recall_above.map_or("no pairs".into(), percent);
    let mut parts = vec![
        Part::Prose(text),
        Part::Curve(curve(bands, threshold)),
        Part::Table(curve_table(bands)),
        Part::Table(vec![
            format!("recall at the threshold            {:>9}", percent(recall_at)),
            format!("recall of all pairs at or above it {above:>9}"),
            format!("candidates per document            {:>9}", few(candidates)),
            format!("memory per document in an engine   {:>9}", format!("{:.1} kB", bytes / 1000.0)),
        ]),
    ];
    let preset = config.minhash.as_ref().and_then(|minhash| minhash.bands).filter(|preset| *preset != bands);
    if let Some(preset) = preset {
        parts.push(Part::Prose(format!(
            "The preset uses {}, which find a pair at {threshold} with a probability of {}. `--threshold` replaces them.",
            in_words(preset),
            percent(preset.probability(threshold))
        )));
    }
    Section::new(format!("Detection probability with {}", in_words(bands)), parts)
}

fn curve(bands: Bands, threshold: f64) -> LineChart {
    let points = bands.curve(300).iter().map(|point| (point.jaccard, point.probability)).collect();
    LineChart {
        title: format!("Probability that {} find a pair", in_words(bands)),
        axis: "similarity",
        unit: "found",
        from: 0.0,
        to: 1.0,
        lines: vec![Line { name: "found", points }],
        marks: vec![
            Mark { at: threshold, label: format!("threshold {threshold}") },
            Mark { at: bands.even_odds(), label: "50 %".into() },
        ],
        point: None,
    }
}

fn in_words(bands: Bands) -> String {
    format!("{} of {}", counted(bands.count.into(), "band"), counted(bands.rows.into(), "row"))
}

/// Formats a probability as `99.2 %`. Never prints `100.0 %`, because no estimate here is certain.
fn percent(share: f64) -> String {
    match share {
        share if share >= 0.9995 => "> 99.9 %".into(),
        share if share > 0.0 && share < 0.0005 => "< 0.1 %".into(),
        share => format!("{:.1} %", 100.0 * share),
    }
}

fn few(number: f64) -> String {
    match number {
        number if number > 0.0 && number < 0.05 => "< 0.1".into(),
        number if number < 100.0 => format!("{number:.1}"),
        number => grouped(number.round() as u64),
    }
}

fn curve_table(bands: Bands) -> Vec<String> {
    let row = |name: &str, cell: &dyn Fn(f64) -> String| {
        CURVE.iter().fold(format!("{name:<11}"), |line, &at| line + &format!("{:>9}", cell(at)))
    };
    vec![row("similarity", &|at| format!("{at}")), row("found", &|at| percent(bands.probability(at)))]
}

fn replaces_shingle(tuning: &Tuning<'_>) -> bool {
    tuning.shingles.is_some_and(Shingles::replaces_preset)
}

fn next_steps(tuning: &Tuning<'_>, proposal: &Proposal) -> Section {
    let command = |name: &str, flags: &str| {
        Part::Command(format!("sameish {name} {} {flags}", arguments(std::env::args_os().skip(2))))
    };
    let prose = |text: &str| Part::Prose(text.into());
    let parts = if proposal.is_radius() {
        let flags = format!("--radius {}", proposal.limit);
        vec![
            prose("List the matching pairs (the index finds every pair within the radius):"),
            command("pairs", &flags),
            prose("Cluster the documents:"),
            command("cluster", &flags),
        ]
    } else {
        let mut flags = format!("--threshold {} --recall {}", proposal.limit, tuning.config.matching.recall);
        if let Some(minhash) = tuning.config.minhash.as_ref().filter(|_| replaces_shingle(tuning)) {
            flags = format!("--shingle {} {flags}", minhash.shingle);
        }
        let merges = tuning.config.matching.templates == Templates::Merge;
        let merge = if merges { " --templates merge" } else { "" };
        vec![
            prose("List the matching pairs:"),
            command("pairs", &flags),
            prose("Keep one document per cluster:"),
            command("dedup", &format!("{flags}{merge} -o {}", tuning.kept_name)),
        ]
    };
    Section::new("Next steps", parts)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn probabilities_are_never_rounded_to_certainty() {
        assert_eq!(
            [1.0, 0.99999, 0.5, 0.0001, 0.0].map(percent),
            ["> 99.9 %", "> 99.9 %", "50.0 %", "< 0.1 %", "0.0 %"]
        );
    }
}
