//! The report of a `dedup` run as one page.
//!
//! The page asks for nothing from anywhere and runs no script: what documents bring is text on it and nothing else. It
//! reads on a screen, on a phone, in the dark and on paper.

mod differ;
mod excerpt;
mod markup;
mod pairs;
mod plot;
mod removals;
#[cfg(test)]
mod sample;

use crate::output::figures::{chance, shortened, threshold};
use crate::output::messages::counted;
use markup::{bare, name};
pub(crate) use removals::summed;
use sameish::Passage;

/// What a run did, ready to be told.
pub(crate) struct Report {
    /// Such as "dedup of 3 inputs".
    pub(crate) title: String,
    pub(crate) made_at: String,
    pub(crate) command: String,
    /// Rows of the summary: what, and how much.
    pub(crate) facts: Vec<(String, String)>,
    pub(crate) threshold: f64,
    /// Of pairs at exactly the threshold.
    pub(crate) expected_recall: Option<f64>,
    /// Jaccard similarity, and the probability that such a pair is found.
    pub(crate) curve: Vec<(f64, f64)>,
    /// Verified candidate pairs by similarity, in even bins from 0 to 1.
    pub(crate) histogram: Vec<u64>,
    /// A size, and how many clusters have it.
    pub(crate) cluster_sizes: Vec<(u64, u64)>,
    /// Largest removals first.
    pub(crate) sources: Vec<Removed>,
    pub(crate) lengths: Vec<Removed>,
    pub(crate) largest: Vec<LargeCluster>,
    pub(crate) examples: Vec<Example>,
    /// What a reader must know: caps hit, chains cut, templates kept.
    pub(crate) notes: Vec<String>,
}

/// What went from one source or one class of lengths.
pub(crate) struct Removed {
    pub(crate) name: String,
    pub(crate) documents: u64,
    pub(crate) removed: u64,
    pub(crate) bytes: u64,
    pub(crate) removed_bytes: u64,
}

/// A cluster worth a look for its size.
pub(crate) struct LargeCluster {
    /// Id of the document that was kept.
    pub(crate) center: String,
    pub(crate) size: u64,
    /// The member least like the center.
    pub(crate) least_similar: Option<f64>,
    /// First words of the center.
    pub(crate) begins: String,
}

/// A pair of documents, for the eye.
pub(crate) struct Example {
    pub(crate) a: String,
    pub(crate) b: String,
    pub(crate) similarity: f64,
    pub(crate) facts: Option<f64>,
    pub(crate) template: bool,
    /// Whether the second document was removed for the first.
    pub(crate) removed: bool,
    pub(crate) a_text: String,
    pub(crate) b_text: String,
    pub(crate) passages: Vec<Passage>,
}

/// Letters of an id, a source or a fact that are shown.
const NAME: usize = 120;
/// Letters of the command line and of a note that are shown.
const LINE: usize = 1000;

/// The page.
pub(crate) fn page(report: &Report) -> String {
    let parts = [
        head(report),
        summary(report),
        notes(&report.notes),
        found(report),
        removals::by_source(&report.sources),
        removals::by_length(&report.lengths),
        removals::largest(&report.largest),
        pairs::section(&report.examples, report.threshold),
        foot(),
    ];
    parts.concat()
}

fn head(report: &Report) -> String {
    format!(
        "<!DOCTYPE html>\n\
         <html lang=\"en\">\n\
         <head>\n\
         <meta charset=\"utf-8\">\n\
         <meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; style-src 'unsafe-inline'; \
         base-uri 'none'; form-action 'none'\">\n\
         <meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n\
         <meta name=\"color-scheme\" content=\"light dark\">\n\
         <meta name=\"referrer\" content=\"no-referrer\">\n\
         <title>{} – sameish</title>\n\
         <style>\n{}</style>\n\
         </head>\n\
         <body>\n",
        bare(&report.title),
        include_str!("style.css"),
    )
}

fn summary(report: &Report) -> String {
    let links = [
        ("found", "What was found"),
        ("sources", "By source"),
        ("lengths", "By length"),
        ("largest", "Largest clusters"),
        ("pairs", "Pairs"),
    ];
    let links = links.map(|(id, label)| format!("<a href=\"#{id}\">{label}</a>")).join("\n");
    let facts = report.facts.iter().map(|(what, much)| {
        format!("<div><dt>{}</dt><dd>{}</dd></div>\n", name(what, NAME), name(much, NAME))
    });
    let facts: String = facts.collect();
    let facts = if facts.is_empty() { facts } else { format!("<dl class=\"facts\">\n{facts}</dl>\n") };
    format!(
        "<header>\n<h1>{}</h1>\n<p class=\"quiet\">{}</p>\n<nav aria-label=\"Sections\">\n{links}\n</nav>\n</header>\n\
         <main>\n<section aria-label=\"Summary\">\n{facts}<p>{}</p>\n<pre class=\"command\"><code>{}</code></pre>\n</section>\n",
        name(&report.title, NAME),
        name(&report.made_at, NAME),
        sought(report),
        command(&report.command),
    )
}

/// The command line, broken between its words and not within `--option`.
fn command(line: &str) -> String {
    let word = |word: &str| format!("<span class=\"word\">{}</span>", name(word, LINE));
    shortened(line, LINE).split(' ').map(word).collect::<Vec<_>>().join(" ")
}

/// What was sought, and how surely it is found.
fn sought(report: &Report) -> String {
    let threshold = threshold(report.threshold);
    let recall = report.expected_recall.map(|recall| match recall >= 1.0 {
        true => " Every such pair is found.".into(),
        false => format!(
            " Of pairs that are exactly so similar, {} are expected to be found; of closer ones, more.",
            chance(recall)
        ),
    });
    format!(
        "Two documents are near-duplicates here from a similarity of <strong>{threshold}</strong> on.{}",
        recall.unwrap_or_default()
    )
}

fn notes(notes: &[String]) -> String {
    if notes.is_empty() {
        return String::new();
    }
    let items: String = notes.iter().map(|note| format!("<li>{}</li>\n", noted(note))).collect();
    format!("<section class=\"notes\">\n<h2>Worth knowing</h2>\n<ul>\n{items}</ul>\n</section>\n")
}

/// A note, with what stands in backticks as code.
fn noted(note: &str) -> String {
    let parts: Vec<String> = shortened(note, LINE).split('`').map(|part| name(part, LINE)).collect();
    if parts.len().is_multiple_of(2) {
        return parts.join("`");
    }
    let part = |(i, part): (usize, &String)| match i % 2 {
        0 => part.clone(),
        _ => format!("<code>{part}</code>"),
    };
    parts.iter().enumerate().map(part).collect()
}

fn found(report: &Report) -> String {
    let pairs: u64 = report.histogram.iter().copied().fold(0, u64::saturating_add);
    let clusters = report.cluster_sizes.iter().map(|(_, clusters)| *clusters).fold(0, u64::saturating_add);
    format!(
        "<section id=\"found\">\n<h2>What was found</h2>\n\
         <p>{} verified, {}.</p>\n<div class=\"plots\">\n{}{}{}</div>\n</section>\n",
        counted(pairs, "candidate pair"),
        counted(clusters, "cluster"),
        plot::histogram(&report.histogram, report.threshold),
        plot::curve(&report.curve, report.threshold, report.expected_recall),
        plot::cluster_sizes(&report.cluster_sizes),
    )
}

fn foot() -> String {
    format!(
        "</main>\n<footer class=\"quiet\">Made by sameish {}. This page is whole: it loads nothing and runs nothing.\
         </footer>\n</body>\n</html>\n",
        env!("CARGO_PKG_VERSION")
    )
}

#[cfg(test)]
mod tests;
