//! Pairs of documents side by side, and what became of them.

use super::excerpt::{Marked, Sides};
use super::markup::name;
use super::{Example, NAME};
use crate::output::figures::similarity;
use crate::output::messages::counted;

/// Letters of an id in a headline.
const SHORT: usize = 60;

const LEGEND: &str = "\
<p><span class=\"shared\">Passages that both have</span> are tinted, <mark>words that differ</mark> are marked. \
Long texts are shown around what differs. <em>Similarity</em> is the share of all pieces of both texts that both have; \
<em>facts</em> says how far the numbers and rare words of one are found in the other.</p>\n";

pub(super) fn section(examples: &[Example], threshold: f64) -> String {
    let inner = match examples.is_empty() {
        true => "<p class=\"quiet\">There are no pairs to show.</p>\n".into(),
        false => {
            let pairs: String = examples.iter().map(|example| pair(example, threshold)).collect();
            format!("{LEGEND}{pairs}")
        }
    };
    format!("<section id=\"pairs\">\n<h2>Pairs</h2>\n{inner}</section>\n")
}

fn pair(example: &Example, threshold: f64) -> String {
    let sides = Sides::new(&example.a_text, &example.b_text, &example.passages);
    format!(
        "<article>\n<h3>{}</h3>\n<p class=\"quiet\">{}</p>\n<div class=\"sides\">\n{}{}</div>\n</article>\n",
        headline(example, threshold),
        measures(example, &sides),
        side("A", true, &example.a, &sides.a),
        side("B", !example.removed, &example.b, &sides.b),
    )
}

/// What happened.
fn headline(example: &Example, threshold: f64) -> String {
    let [a, b] = [&example.a, &example.b].map(|id| identified(id, SHORT));
    match (example.removed, example.template) {
        (true, false) => format!("Removed {b}, kept {a}"),
        (true, true) => format!("Removed {b}, kept {a}: a form with other facts"),
        (false, true) => "Kept both: a form with other facts".into(),
        (false, false) if example.similarity < threshold => "Kept both: below the threshold".into(),
        (false, false) => "Kept both".into(),
    }
}

fn identified(id: &str, most: usize) -> String {
    format!("<code><bdi>{}</bdi></code>", name(id, most))
}

fn measures(example: &Example, sides: &Sides) -> String {
    let mut measures = vec![format!("similarity {}", similarity(example.similarity))];
    measures.extend(example.facts.map(|facts| format!("facts {}", similarity(facts))));
    measures.push(counted(example.passages.len() as u64, "shared passage"));
    let differing = [&sides.a, &sides.b].map(|side| side.differing() as u64);
    measures.push(match differing {
        _ if sides.a.is_cut() || sides.b.is_cut() => "compared in part".into(),
        _ if !sides.a.has_words() && !sides.b.has_words() => "no words to compare".into(),
        [0, 0] => "no word differs".into(),
        [a, b] => format!("{} of A and {b} of B differ", counted(a, "word")),
    });
    measures.join(" · ")
}

fn side(letter: &str, kept: bool, id: &str, text: &Marked) -> String {
    let fate = if kept { "kept" } else { "removed" };
    format!(
        "<div class=\"side {fate}\">\n<h4>{letter}, {fate}: {}</h4>\n<p class=\"text\" dir=\"auto\">{}</p>\n</div>\n",
        identified(id, NAME),
        text.html(),
    )
}
