//! The section that shows pairs of documents side by side.

use super::excerpt::{Marked, Sides};
use super::markup::name;
use super::{Example, NAME};
use crate::output::figures::similarity;
use crate::output::messages::counted;
use sameish::matching::{Difference, DifferenceKind};

/// Maximum length of an id in a heading, in characters.
const SHORT: usize = 60;

const LEGEND: &str = "\
<p><span class=\"shared\">Shared passages</span> are shaded, <mark>differing words</mark> are marked. \
Long texts are shown around their differences. <em>Similarity</em> is the Jaccard similarity: shared shingles divided by all \
distinct shingles. <em>Facts</em> is the facts agreement: how far the names and numbers of the two texts agree.</p>\n";

pub(super) fn section(examples: &[Example], threshold: f64) -> String {
    let content = if examples.is_empty() {
        "<p class=\"quiet\">There are no pairs to show.</p>\n".into()
    } else {
        let pairs: String = examples.iter().map(|example| pair(example, threshold)).collect();
        format!("{LEGEND}{pairs}")
    };
    format!("<section id=\"pairs\">\n<h2>Pairs</h2>\n{content}</section>\n")
}

fn pair(example: &Example, threshold: f64) -> String {
    let sides = Sides::new(&example.a_text, &example.b_text, &example.passages);
    format!(
        "<article>\n<h3>{}</h3>\n<p class=\"quiet\">{}</p>\n<div class=\"sides\">\n{}{}</div>\n</article>\n",
        heading(example, threshold),
        measures(example, &sides),
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
    measures.extend(differing_facts(&example.differences));
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
fn differing_facts(differences: &[Difference]) -> Vec<String> {
    let count = |kind| differences.iter().filter(|difference| difference.kind == kind).count() as u64;
    let kinds = [(DifferenceKind::Number, "differing number"), (DifferenceKind::Name, "differing name")];
    let counts = kinds.into_iter().map(|(kind, name)| (count(kind), name));
    counts.filter(|(count, _)| *count > 0).map(|(count, name)| counted(count, name)).collect()
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
