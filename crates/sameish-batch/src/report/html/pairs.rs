//! The section that shows pairs of documents side by side.

use super::excerpt::{Marked, Sides};
use super::markup::{name, prose};
use super::{Example, NAME, Report};
use crate::report::figures::counted;
use crate::report::figures::{shortened, similarity};
use sameish::Analyzer;
use sameish::matching::{Difference, DifferenceKind};

/// Maximum length of an id in a heading, in characters.
const SHORT: usize = 60;
/// Maximum number of differing numbers and names shown of a pair.
const FACTS: usize = 12;

const LEGEND: &str = "\
<p><span class=\"shared\">Shared passages</span> are shaded, <mark>differing words</mark> are marked. \
Long texts are shown around their differences. <em>Similarity</em> is the Jaccard similarity: shared shingles divided by all \
distinct shingles. <em>Facts</em> is the facts agreement: how far the names and numbers of the two texts agree.</p>\n";

pub(super) fn section(report: &Report) -> String {
    let content = if report.examples.is_empty() {
        "<p class=\"quiet\">There are no pairs to show.</p>\n".into()
    } else {
        let pairs: String = report.examples.iter().map(|example| pair(example, report)).collect();
        format!("{LEGEND}{pairs}")
    };
    format!("<section id=\"pairs\">\n<h2>Pairs</h2>\n{content}</section>\n")
}

fn pair(example: &Example, report: &Report) -> String {
    let sides = Sides::new(&report.analyzer, &example.a_text, &example.b_text, &example.passages);
    format!(
        "<article>\n<h3>{}</h3>\n<p class=\"quiet\">{}</p>\n{}<div class=\"sides\">\n{}{}</div>\n</article>\n",
        heading(example, report.threshold),
        measures(example, &sides),
        differing_facts(example, &report.analyzer),
        side("A", true, &example.a, &sides.a),
        side("B", !example.removed, &example.b, &sides.b),
    )
}

fn heading(example: &Example, threshold: f64) -> String {
    let [a, b] = [&example.a, &example.b].map(|id| code(id, SHORT));
    match (example.removed, example.template) {
        (true, false) => format!("Removed {b}, kept {a}"),
        (true, true) => format!("Removed {b}, kept {a}: template (same wording, different facts)"),
        (false, true) => "Kept both: template (same wording, different facts)".into(),
        (false, false) if example.similarity < threshold => "Kept both: below the threshold".into(),
        (false, false) => "Kept both".into(),
    }
}

fn code(id: &str, most: usize) -> String {
    format!("<code><bdi>{}</bdi></code>", name(id, most))
}

fn measures(example: &Example, sides: &Sides) -> String {
    let mut measures = vec![format!("similarity {}", similarity(example.similarity))];
    measures.extend(example.facts.map(|facts| format!("facts {}", similarity(facts))));
    measures.push(counted(example.passages.len() as u64, "shared passage"));
    measures.extend(counts_of_facts(&example.differences));
    let differing = [&sides.a, &sides.b].map(|side| side.differing() as u64);
    measures.push(match differing {
        _ if sides.a.is_cut() || sides.b.is_cut() => "compared in part".into(),
        _ if !sides.a.has_words() && !sides.b.has_words() => "no words to compare".into(),
        [0, 0] => "no differing words".into(),
        [a, b] => format!("{} in A and {b} in B", counted(a, "differing word")),
    });
    measures.join(" · ")
}

/// Counts the numbers and names that differ.
fn counts_of_facts(differences: &[Difference]) -> Vec<String> {
    let count = |kind| differences.iter().filter(|difference| difference.kind == kind).count() as u64;
    let kinds = [(DifferenceKind::Number, "differing number"), (DifferenceKind::Name, "differing name")];
    let counts = kinds.into_iter().map(|(kind, name)| (count(kind), name));
    counts.filter(|(count, _)| *count > 0).map(|(count, name)| counted(count, name)).collect()
}

/// Lists the numbers and names that differ, as they are in A and in B.
fn differing_facts(example: &Example, analyzer: &Analyzer) -> String {
    let facts = |difference: &&Difference| difference.kind != DifferenceKind::Text;
    let mut facts = example.differences.iter().filter(facts);
    let rows: String =
        facts.by_ref().take(FACTS).map(|difference| row(example, difference, analyzer)).collect();
    if rows.is_empty() {
        return rows;
    }
    let omitted = match facts.count() as u64 {
        0 => String::new(),
        omitted => format!("<p class=\"quiet\">{} not shown.</p>\n", counted(omitted, "other difference")),
    };
    format!(
        "<table class=\"differences\">\n<thead><tr><th>Differing</th><th>A</th><th>B</th></tr></thead>\n\
         <tbody>\n{rows}</tbody>\n</table>\n{omitted}"
    )
}

fn row(example: &Example, difference: &Difference, analyzer: &Analyzer) -> String {
    let kind = match difference.kind {
        DifferenceKind::Number => "number",
        DifferenceKind::Name => "name",
        DifferenceKind::Text => "text",
    };
    let cell = |text: &str, start: usize, end: usize| match text.get(start..end).unwrap_or_default() {
        "" => "<span class=\"gap\">(none)</span>".into(),
        value => format!("<bdi>{}</bdi>", prose(&shortened(&analyzer.visible_text(value), SHORT))),
    };
    let a = cell(&example.a_text, difference.a_start, difference.a_end);
    let b = cell(&example.b_text, difference.b_start, difference.b_end);
    format!("<tr><td>{kind}</td><td>{a}</td><td>{b}</td></tr>\n")
}

fn side(letter: &str, kept: bool, id: &str, text: &Marked) -> String {
    let status = if kept { "kept" } else { "removed" };
    format!(
        "<div class=\"side {status}\">\n<h4>{letter}, {status}: {}</h4>\n\
         <p class=\"text\" dir=\"auto\">{}</p>\n</div>\n",
        code(id, NAME),
        text.html(),
    )
}
