//! The answer in words, plots and numbers.

use super::labels::{Labels, Level, Origins, Quality};
use super::measure::{Distances, MOST_BITS, Origin, Similarities};
use super::plot::{Bars, Plot, QualityLines};
use super::proposal::{Expected, Proposal, Why};
use super::sample::{Sample, Texts};
use super::{Measured, Tuned};
use crate::output::jsonl::rounded;
use crate::output::messages::{counted, grouped};
use sameish::{Bands, Config};
use sameish_batch::Counts;
use serde_json::{Value, json};
use std::ffi::OsString;

/// What a run was about.
pub(super) struct Facts<'a> {
    pub(super) counts: &'a Counts,
    pub(super) sample: &'a Sample,
    pub(super) texts: &'a Texts<'a>,
    pub(super) labels: &'a Labels,
    pub(super) config: &'a Config,
}

/// A part of the report under one title.
pub(super) struct Section {
    pub(super) title: String,
    pub(super) parts: Vec<Part>,
}

pub(super) enum Part {
    Prose(String),
    Table(Vec<String>),
    Command(String),
    Plot(Plot),
}

impl Section {
    fn new(title: impl Into<String>, parts: Vec<Part>) -> Section {
        Section { title: title.into(), parts }
    }

    /// The plot of that name, if it is here.
    pub(super) fn svg(&self, name: &str) -> Option<String> {
        self.parts.iter().find_map(|part| match part {
            Part::Plot(plot) if plot.name() == name => Some(plot.svg()),
            _ => None,
        })
    }
}

/// The whole report.
pub(super) fn sections(facts: &Facts<'_>, tuned: &Tuned) -> Vec<Section> {
    let Tuned { measured, quality, proposal } = tuned;
    let mut sections = vec![Section::new("", vec![Part::Prose(facts.about(measured))])];
    if proposal.why == Why::Nothing {
        let text = "There are fewer than two texts to compare, so there is nothing to tune on.";
        sections.push(Section::new("", vec![Part::Prose(text.into())]));
        return sections;
    }
    sections.push(spread(measured, proposal));
    sections.push(chosen(facts, measured, proposal, quality.as_ref()));
    if let Some(expected) = &proposal.expected {
        sections.push(found(facts.config, proposal.limit, expected));
    }
    if let Some(quality) = quality {
        sections.push(judged(facts, quality, proposal));
    }
    sections.push(next(facts.config, proposal));
    sections
}

impl Facts<'_> {
    /// Which documents, and what of them was compared.
    fn about(&self, measured: &Measured) -> String {
        let (here, read) = (self.sample.docs.len() as u64, self.sample.read);
        let mut text = match here < read {
            true => format!(
                "{} of {} documents: those whose ids have the smallest hashes, the same each time (`--sample` takes more).",
                grouped(here),
                grouped(read)
            ),
            false => format!("{}, all that were read.", counted(here, "document")),
        };
        let comparable = match measured {
            Measured::Similarities(measured) => &measured.comparable,
            Measured::Distances(measured) => &measured.comparable,
        };
        let compared: u64 = comparable.iter().map(|&text| self.texts.texts[text as usize].copies).sum();
        if compared < here {
            let verb = if here - compared == 1 { "is" } else { "are" };
            text += &format!(" {} {verb} too short to be compared and left out.", grouped(here - compared));
        }
        text
    }

    /// How a number from the sample becomes one of the whole input.
    fn of_all(&self, pairs: f64) -> Option<f64> {
        (self.sample.scale() > 1.0).then(|| pairs * self.sample.scale())
    }
}

/// How similarities are spread.
fn spread(measured: &Measured, proposal: &Proposal) -> Section {
    match measured {
        Measured::Similarities(measured) => {
            let parts = vec![
                Part::Prose(format!("{} Bars grow by factors of ten.", origin_in_words(measured))),
                Part::Plot(Plot::Bars(similarity_bars(measured, proposal.limit))),
            ];
            Section::new("How similar are the pairs?", parts)
        }
        Measured::Distances(measured) => {
            let pairs: u64 = measured.counts.iter().sum();
            let parts = vec![
                Part::Prose(format!(
                    "All {} were compared, by the bits in which their fingerprints differ. Bars grow by factors of ten.",
                    counted(pairs, "pair")
                )),
                Part::Plot(Plot::Bars(distance_bars(measured, proposal.limit))),
            ];
            Section::new("How far apart are the fingerprints?", parts)
        }
    }
}

fn origin_in_words(measured: &Similarities) -> String {
    match measured.origin {
        Origin::All { .. } => {
            let pairs = measured.histogram.total().round() as u64;
            if pairs == 1 {
                return "The only pair was compared exactly.".into();
            }
            format!("All {} pairs were compared exactly.", grouped(pairs))
        }
        Origin::Sampled { bands, cut, random, candidates, capped } => {
            let mut text = format!(
                "Estimated: from {cut} on by {} that share one of {} bands of {}, each compared exactly and counted \
                 1 / P(found) times, so that those not found are counted too; below by {} random pairs.",
                counted(candidates, "pair"),
                bands.count,
                counted(bands.rows.into(), "row"),
                grouped(random)
            );
            if capped > 0 {
                text += &format!(
                    " {} too large for all their pairs, so that the counts are too low.",
                    if capped == 1 {
                        "1 bucket was".into()
                    } else {
                        format!("{} buckets were", grouped(capped))
                    }
                );
            }
            text
        }
    }
}

fn similarity_bars(measured: &Similarities, threshold: f64) -> Bars {
    let mut names: Vec<String> =
        (0..20).map(|i| format!("{:.2}-{:.2}", f64::from(i) / 20.0, f64::from(i + 1) / 20.0)).collect();
    let mut counts = measured.histogram.counts(20);
    counts[19] -= measured.equal as f64;
    names.push("equal".into());
    counts.push(measured.equal as f64);
    let at = ((threshold * 20.0 + 1e-9) as usize).min(19);
    Bars { axis: "similarity", names, counts, mark: Some((at, format!("{threshold}"))) }
}

fn distance_bars(measured: &Distances, radius: f64) -> Bars {
    let mut names: Vec<String> = (0..=MOST_BITS).map(|bits| bits.to_string()).collect();
    let mut counts: Vec<f64> = measured.counts[..=MOST_BITS].iter().map(|&count| count as f64).collect();
    names.push("more".into());
    counts.push(measured.counts[MOST_BITS + 1..].iter().sum::<u64>() as f64);
    let mark = (radius as usize <= MOST_BITS).then(|| (radius as usize, "radius".into()));
    Bars { axis: "bits", names, counts, mark }
}

/// The threshold, and why.
fn chosen(facts: &Facts<'_>, measured: &Measured, proposal: &Proposal, quality: Option<&Quality>) -> Section {
    let bits = matches!(measured, Measured::Distances(_));
    let limit = proposal.limit;
    let what = if bits { "radius" } else { "threshold" };
    let unit = if bits { if limit == 1.0 { " bit" } else { " bits" } } else { "" };
    let title = match proposal.why {
        Why::Given => format!("The {what} you gave: {limit}{unit}"),
        Why::NoCopies | Why::NoStrangers | Why::Slope => {
            format!("No {what} stands out; the preset's: {limit}{unit}")
        }
        _ => format!("Proposed {what}: {limit}{unit}"),
    };
    let mut parts = vec![Part::Prose(why_in_words(proposal.why, bits, quality))];
    let reach = if bits { "At most so many bits apart" } else { "At least so similar" };
    let mut counts = format!("{reach}: {} of the sample", pairs_in_words(proposal.pairs));
    if let Some(all) = facts.of_all(proposal.pairs) {
        counts += &format!(", about {} of the whole input", grouped(all.round() as u64));
    }
    parts.push(Part::Prose(counts + "."));
    Section::new(title, parts)
}

fn pairs_in_words(pairs: f64) -> String {
    let rounded = pairs.round() as u64;
    if (pairs - pairs.round()).abs() > 1e-6 {
        format!("about {}", counted(rounded, "pair"))
    } else {
        counted(rounded, "pair")
    }
}

fn why_in_words(why: Why, bits: bool, quality: Option<&Quality>) -> String {
    let (what, more) = if bits { ("radius", "`--radius`") } else { ("threshold", "`--threshold`") };
    match why {
        Why::Given => format!("Leave {more} out to have one proposed."),
        Why::Precise => {
            let wanted = quality.and_then(|quality| quality.wanted_precision).unwrap_or(1.0);
            let lowest = quality.is_some_and(|quality| !bits && quality.precise == Some(0));
            let edge = if lowest { " It is the lowest one that was tried." } else { "" };
            format!("The labels say: the loosest {what} whose precision is at least {wanted}.{edge}")
        }
        Why::BestF1 => {
            let level = quality.map(Quality::best);
            let mut text = format!(
                "The labels say: precision and recall together (F1, {:.3}) are best here.",
                level.map_or(0.0, |level| level.f1)
            );
            if let Some(wanted) = quality.and_then(|quality| quality.wanted_precision) {
                text += &format!(" No {what} has a precision of {wanted}.");
            }
            let edge = quality.is_some_and(|quality| !bits && quality.best == 0);
            if edge {
                text += " That is the lowest one that was tried: these labels join texts that share few words, \
                         which similarity of wording can not see. For copies alone, choose a higher one.";
            }
            text
        }
        Why::Valley { from, to, depth } => {
            let (from, to) = if bits {
                (from.to_string(), to.to_string())
            } else {
                (format!("{from:.2}"), format!("{to:.2}"))
            };
            let shore = match depth {
                depth if depth >= 10.0 => format!("{} times", grouped(depth.round() as u64)),
                depth => format!("{depth:.1} times"),
            };
            let mut text = format!(
                "Between strangers and copies lies a valley from {from} to {to}: at its deepest, the lower of its two sides is \
                 {shore} as high. The {what} stands in its middle, where a little more or less changes little."
            );
            if depth < 5.0 {
                text += " It is shallow, so look at some pairs around it before you trust it.";
            }
            text
        }
        Why::NoCopies => format!(
            "Hardly any pair is above the bulk of strangers, so there is nothing to separate. The preset's {what} stays."
        ),
        Why::NoStrangers => format!(
            "Nearly all pairs are close to each other; there are no strangers to tell apart. The preset's {what} stays."
        ),
        Why::Slope => format!(
            "There is no valley: pairs get fewer without a gap between strangers and copies. Then the {what} is a matter \
             of taste: look at some pairs around it, and label a few for an answer in numbers (`--labels`). The preset's stays."
        ),
        Why::Nothing => String::new(),
    }
}

/// The curve, and what is to be expected.
fn found(config: &Config, threshold: f64, expected: &Expected) -> Section {
    let Expected { bands, recall_at, recall_above, candidates, bytes } = *expected;
    let title = format!("How likely is a pair found? {}", in_words(bands));
    let curve = format!(
        "Chosen for a recall of {} at {threshold}. Even odds are at {:.3}; what is found below the threshold is compared and \
         dropped.",
        config.matching.recall,
        bands.even_odds()
    );
    let above = recall_above.map_or("no pairs".into(), percent);
    let mut parts = vec![
        Part::Prose(curve),
        Part::Plot(Plot::Curve { bands, threshold }),
        Part::Table(curve_table(bands)),
        Part::Table(vec![
            format!("recall right at the threshold      {:>9}", percent(recall_at)),
            format!("recall of all pairs at or above it {above:>9}"),
            format!("candidates for each document       {:>9}", few(candidates)),
            format!("memory for each document           {:>9}", format!("{:.1} kB", bytes / 1000.0)),
        ]),
    ];
    let preset = config.minhash.as_ref().and_then(|minhash| minhash.bands).filter(|preset| *preset != bands);
    if let Some(preset) = preset {
        parts.push(Part::Prose(format!(
            "The preset's own {} find a pair at {threshold} with probability {}; giving `--threshold` replaces them.",
            in_words(preset),
            percent(preset.probability(threshold))
        )));
    }
    Section::new(title, parts)
}

fn in_words(bands: Bands) -> String {
    format!("{} of {}", counted(bands.count.into(), "band"), counted(bands.rows.into(), "row"))
}

/// `99.2 %`, and never `100.0 %`: nothing here is certain.
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

const SHOWN: [f64; 7] = [0.5, 0.6, 0.7, 0.8, 0.85, 0.9, 0.95];

fn curve_table(bands: Bands) -> Vec<String> {
    let row = |name: &str, cell: &dyn Fn(f64) -> String| {
        SHOWN.iter().fold(format!("{name:<11}"), |line, &at| line + &format!("{:>9}", cell(at)))
    };
    vec![row("similarity", &|at| format!("{at}")), row("found", &|at| percent(bands.probability(at)))]
}

/// Precision and recall.
fn judged(facts: &Facts<'_>, quality: &Quality, proposal: &Proposal) -> Section {
    let bits = proposal.expected.is_none();
    let shown = |level: &&Level| bits || (level.limit * 20.0 - (level.limit * 20.0).round()).abs() < 1e-6;
    let name = if bits { "radius" } else { "threshold" };
    let mut table = vec![format!("{name:>9}  precision  95 % interval    recall  95 % interval     F1")];
    for level in quality.levels[..shown_until(quality, bits)].iter().filter(shown) {
        let limit = if bits { format!("{}", level.limit) } else { format!("{:.2}", level.limit) };
        let precision = level.precision.map_or("-".into(), |share| format!("{share:.3}"));
        let interval = |interval: sameish::Interval| format!("{:.3}-{:.3}", interval.low, interval.high);
        table.push(format!(
            "{limit:>9}  {precision:>9}  {:>13}  {:>8.3}  {:>13}  {:.3}",
            if level.precision.is_some() { interval(level.precision_in) } else { "-".into() },
            level.recall,
            interval(level.recall_in),
            level.f1
        ));
    }
    let mut parts = vec![Part::Prose(labels_in_words(facts, quality, bits)), Part::Table(table)];
    let best = quality.best();
    let mut text = format!("Best F1: {:.3}, at {}.", best.f1, best.limit);
    if let Some(wanted) = quality.wanted_precision {
        text += &match quality.precise.map(|at| quality.levels[at]) {
            Some(level) => format!(
                " Precision {wanted}: at {}, where recall is {:.3}; with 95 % confidence the precision there is at least {:.3}.",
                level.limit, level.recall, level.precision_in.low
            ),
            None => format!(" Precision {wanted}: nowhere."),
        };
    }
    parts.push(Part::Prose(text));
    parts.push(Part::Plot(Plot::Quality(QualityLines {
        axis: name,
        limits: quality.levels.iter().map(|level| level.limit).collect(),
        precision: quality.levels.iter().map(|level| level.precision).collect(),
        recall: quality.levels.iter().map(|level| level.recall).collect(),
        mark: proposal.limit,
    })));
    Section::new("What do the labels say?", parts)
}

/// Far beyond the best radius all is wrong, and nobody needs to read it.
fn shown_until(quality: &Quality, bits: bool) -> usize {
    let hopeless = |level: &Level| level.precision.is_some_and(|precision| precision < 0.01);
    let beyond = quality.levels.iter().skip(quality.best + 1).position(hopeless).filter(|_| bits);
    beyond.map_or(quality.levels.len(), |beyond| quality.best + 2 + beyond)
}

fn labels_in_words(facts: &Facts<'_>, quality: &Quality, bits: bool) -> String {
    let mut text = match &facts.labels.origin {
        Origins::Pairs { pairs, unknown } => {
            let mut text = format!(
                "{} that somebody judged, {} of them the same. Only these count: if they were not drawn at random, the shares \
                 are those of your choice.",
                counted(pairs.len() as u64, "pair"),
                grouped(quality.positives)
            );
            if *unknown > 0 {
                let verb = if *unknown == 1 { "names" } else { "name" };
                text += &format!(" {} more {verb} a document that is not there.", grouped(*unknown));
            }
            text
        }
        Origins::Clusters { field } => {
            let without = facts.texts.cluster_of.iter().filter(|cluster| cluster.is_none()).count() as u64;
            let field = crate::output::escape::escaped(field);
            let mut text = format!(
                "Documents with the same `{field}` belong together, all others do not: {} in {}.",
                counted(quality.positives, "positive pair"),
                counted(facts.texts.clusters as u64, "cluster")
            );
            if quality.compared < quality.positives {
                text += &format!(" {} of them, drawn at random, were compared.", grouped(quality.compared));
            }
            if without > 0 {
                let verb = if without == 1 { "has none and does" } else { "have none and do" };
                text += &format!(" {} {verb} not count.", counted(without, "document"));
            }
            text
        }
        Origins::None => String::new(),
    };
    text += match bits {
        true => " Recall is over all positive pairs.",
        false => {
            " Recall is over all positive pairs, and those that share none of the bands for a threshold are missed there."
        }
    };
    text + " Intervals take pairs as independent, which those of a large cluster are not: there they are too narrow."
}

/// What to do with the answer.
fn next(config: &Config, proposal: &Proposal) -> Section {
    let mut parts = Vec::new();
    let command = |name: &str, flags: String, end: &str| {
        Part::Command(format!("sameish {name} {} {flags}{end}", inputs(std::env::args_os().skip(2))))
    };
    match proposal.expected {
        Some(_) => {
            let flags = format!("--threshold {} --recall {}", proposal.limit, config.matching.recall);
            parts.push(Part::Prose("Look at what it would match:".into()));
            parts.push(command("pairs", flags.clone(), ""));
            parts.push(Part::Prose("Then keep one document of each cluster:".into()));
            parts.push(command("dedup", flags, " -o kept.jsonl"));
        }
        None => {
            let flags = format!("--radius {}", proposal.limit);
            parts.push(Part::Prose("Every pair within the radius is found. Look at them:".into()));
            parts.push(command("pairs", flags.clone(), ""));
            parts.push(Part::Prose("Then put together what belongs together:".into()));
            parts.push(command("cluster", flags, ""));
        }
    }
    Section::new("What next?", parts)
}

/// Flags of `tune` that other commands do not have, or that are given anew: with a value, and without.
const WITH_VALUE: [&str; 14] = [
    "--sample",
    "--threshold",
    "--recall",
    "--radius",
    "--cluster-field",
    "--labels",
    "--precision",
    "--svg",
    "--html",
    "--output",
    "--rejects",
    "--threads",
    "--on-bad",
    "-o",
];
const WITHOUT_VALUE: [&str; 5] = ["--ascii", "--json", "--quiet", "--force", "-q"];
/// Longer lists of inputs are not repeated.
const MOST_LETTERS: usize = 300;

/// The command line without what belongs to `tune` alone, as a shell wants it.
fn inputs(args: impl Iterator<Item = OsString>) -> String {
    let (mut kept, mut args) = (Vec::new(), args);
    while let Some(arg) = args.next() {
        let text = arg.to_string_lossy();
        let name = text.split('=').next().unwrap_or_default();
        if WITH_VALUE.contains(&name) {
            if !text.contains('=') {
                args.next();
            }
        } else if !WITHOUT_VALUE.contains(&name) && !text.starts_with("-o") {
            kept.push(quoted(&text));
        }
    }
    let line = kept.join(" ");
    if line.len() > MOST_LETTERS { "IN\u{2026}".replace('\u{2026}', "...") } else { line }
}

/// A word that a shell takes as it is.
fn quoted(word: &str) -> String {
    let word = crate::output::escape::escaped(word);
    let plain = |c: char| c.is_ascii_alphanumeric() || "_-./,:=+@%".contains(c) || !c.is_ascii();
    match !word.is_empty() && word.chars().all(plain) {
        true => word,
        false => format!("'{}'", word.replace('\'', r"'\''")),
    }
}

/// All numbers, for machines.
pub(super) fn json(facts: &Facts<'_>, tuned: &Tuned) -> Value {
    let Tuned { measured, quality, proposal } = tuned;
    let mut object = json!({
        "counts": facts.counts,
        "sampled": facts.sample.docs.len(),
        "proposal": proposal_json(facts, proposal),
    });
    match measured {
        Measured::Similarities(measured) => {
            object["histogram"] = histogram_json(measured);
            object["origin"] = origin_json(measured.origin);
        }
        Measured::Distances(measured) => object["distances"] = json!(measured.counts),
    }
    if let Some(quality) = quality {
        object["labels"] = quality_json(quality, proposal.expected.is_none());
    }
    object
}

fn histogram_json(measured: &Similarities) -> Value {
    let counts: Vec<f64> = measured.histogram.counts(20).into_iter().map(rounded).collect();
    json!({ "width": 0.05, "counts": counts, "equal": measured.equal })
}

fn origin_json(origin: Origin) -> Value {
    match origin {
        Origin::All { pairs } => json!({ "estimated": false, "pairs": pairs }),
        Origin::Sampled { bands, cut, random, candidates, capped } => json!({
            "estimated": true, "bands": bands, "random_pairs_below": cut, "random_pairs": random,
            "candidates": candidates, "caps_hit": capped,
        }),
    }
}

fn proposal_json(facts: &Facts<'_>, proposal: &Proposal) -> Value {
    let chosen_by = match proposal.why {
        Why::Given => "given",
        Why::Precise => "precision",
        Why::BestF1 => "f1",
        Why::Valley { .. } => "valley",
        Why::NoCopies => "preset, as there are no copies",
        Why::NoStrangers => "preset, as there are no strangers",
        Why::Slope => "preset, as there is no valley",
        Why::Nothing => "preset, as there is nothing to compare",
    };
    let mut object = json!({ "chosen_by": chosen_by, "pairs": rounded(proposal.pairs) });
    object["pairs_of_all"] = json!(rounded(proposal.pairs * facts.sample.scale()));
    if let Why::Valley { from, to, depth } = proposal.why {
        object["valley"] = json!({ "from": from, "to": to, "depth": rounded(depth) });
    }
    match &proposal.expected {
        None => object["radius"] = json!(proposal.limit as u32),
        Some(expected) => {
            let Expected { bands, recall_at, recall_above, candidates, bytes } = *expected;
            object["threshold"] = json!(proposal.limit);
            object["recall"] = json!(facts.config.matching.recall);
            object["bands"] = json!(bands);
            object["even_odds"] = json!(rounded(bands.even_odds()));
            let curve =
                SHOWN.map(|at| json!({ "similarity": at, "probability": rounded(bands.probability(at)) }));
            object["curve"] = json!(curve);
            object["expected_recall"] = json!(rounded(recall_at));
            object["expected_recall_above"] = json!(recall_above.map(rounded));
            object["candidates_per_document"] = json!(rounded(candidates));
            object["bytes_per_document"] = json!(bytes.round());
        }
    }
    object
}

fn quality_json(quality: &Quality, bits: bool) -> Value {
    let level = |level: &Level| {
        let mut object = json!({
            "pairs": level.pairs,
            "precision": level.precision.map(rounded),
            "precision_interval": [rounded(level.precision_in.low), rounded(level.precision_in.high)],
            "recall": rounded(level.recall),
            "recall_interval": [rounded(level.recall_in.low), rounded(level.recall_in.high)],
            "f1": rounded(level.f1),
        });
        object[if bits { "radius" } else { "threshold" }] = json!(level.limit);
        object
    };
    json!({
        "positive_pairs": quality.positives,
        "positive_pairs_compared": quality.compared,
        "levels": quality.levels.iter().map(level).collect::<Vec<_>>(),
        "best": level(&quality.best()),
        "precise": quality.precise.map(|at| level(&quality.levels[at])),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn next_command_keeps_what_other_commands_understand() {
        let args = "--sample 9 a.jsonl --text-field=body --html=x.html --ascii -o out.txt -q --preset articles b's.csv";
        let line = inputs(args.split(' ').map(OsString::from));
        assert_eq!(line, r"a.jsonl --text-field=body --preset articles 'b'\''s.csv'");
        assert_eq!(inputs((0..100).map(|i| format!("file{i}.jsonl").into())), "IN...");
    }

    #[test]
    fn shares_are_never_rounded_to_certainty() {
        assert_eq!(
            [1.0, 0.99999, 0.5, 0.0001, 0.0].map(percent),
            ["> 99.9 %", "> 99.9 %", "50.0 %", "< 0.1 %", "0.0 %"]
        );
    }
}
