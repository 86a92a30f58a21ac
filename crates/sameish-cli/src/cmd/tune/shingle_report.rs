//! The section of the report about shingles.

use super::proposal::Basis;
use super::report::{Part, Section};
use super::shingles::{Reason, Shingles, Trial};
use crate::output::messages::{counted, grouped};
use sameish::config::Shingle;

/// Shows the shingles that were tried and explains the choice. Returns `None` if there was no choice.
pub(super) fn section(shingles: &Shingles) -> Option<Section> {
    let own = shingles.tried.first()?.shingle;
    let (title, text) = match shingles.reason {
        Reason::Fixed => return None,
        Reason::TooMuchText => {
            let text = "Shingles of five characters were not tried, because the sample has more than 32 MiB of text. Pass a smaller \
                        `--sample` to try them, or `--shingle chars:5` to measure them alone.";
            return Some(Section::new(format!("Shingle: {own}"), vec![Part::Prose(text.into())]));
        }
        Reason::Templates(pairs) => (own, merges_templates(pairs)),
        Reason::NotBetter => (own, format!("No other shingle is clearly better than {own}.")),
        Reason::Better => {
            let other = shingles.tried.last()?.shingle;
            (other, replaces(own, other))
        }
    };
    let parts = vec![Part::Table(table(shingles)), Part::Prose(text)];
    Some(Section::new(format!("Shingle: {title}"), parts))
}

fn merges_templates(pairs: f64) -> String {
    format!(
        "Shingles of characters have a clearer valley, but they cannot keep {} of templates apart, so they are not proposed.",
        counted(pairs.round() as u64, "pair")
    )
}

fn replaces(own: Shingle, other: Shingle) -> String {
    format!(
        "{other} separates duplicates from other pairs better than {own}, the shingle of the preset. With shingles of \
         characters, matches have no `facts` (null): templates, the same wording with different names or numbers, are merged if \
         they reach the threshold."
    )
}

fn table(shingles: &Shingles) -> Vec<String> {
    let has_labels = shingles.tried.iter().any(|trial| trial.f1.is_some());
    let measure = if has_labels { "best F1" } else { "valley" };
    let row = |trial: &Trial| {
        let Trial { shingle, limit, pairs, .. } = trial;
        let pairs = grouped(pairs.round() as u64);
        format!("{:<9} {limit:>10.2} {pairs:>12}  {}", shingle.to_string(), result(trial))
    };
    let header = format!("{:<9} {:>10} {:>12}  {measure}", "shingle", "threshold", "pairs");
    std::iter::once(header).chain(shingles.tried.iter().map(row)).collect()
}

/// Describes the F1 of a shingle, or its valley.
fn result(trial: &Trial) -> String {
    match (trial.f1, trial.basis) {
        (Some(f1), _) => format!("{f1:.3}"),
        (None, Basis::Valley { from, to, depth }) => format!("{from:.2} to {to:.2}, depth {depth:.1}"),
        (None, _) => "none".into(),
    }
}
