//! Measures how well `facts` separates copies from templates. `cargo run --release --bin facts -- PAIRS.jsonl...`
//!
//! Each line of a file has the fields `set`, `kind`, `copy`, `a` and `b`; see `bench/facts/`. The field `similarity` replaces that of
//! 3-word shingles. F1 is that of copies; balanced F1 gives
//! copies and templates equal weight, so that files with different shares of copies can be compared.

use sameish::Content;
use sameish::features::{Facts, FeatureSet};
use sameish::matching::{facts_agreement, is_template};
use sameish_bench::time;
use std::collections::BTreeMap;

struct Pair {
    kind: String,
    copy: bool,
    facts: [Facts; 2],
    similarity: f64,
}

struct Set {
    name: String,
    pairs: Vec<Pair>,
    /// The first text of each pair, to measure the time of extraction.
    texts: Vec<Content>,
}

fn main() {
    let sets: Vec<Set> = std::env::args().skip(1).flat_map(|path| read(&path)).collect();
    println!("{:<16} {:<22} at limit: F1, balanced | best: F1, balanced, at", "set", "measure");
    for set in &sets {
        let copies = set.pairs.iter().filter(|pair| pair.copy).count();
        println!("{:<16} {copies} copies, {} templates", set.name, set.pairs.len() - copies);
        evaluate(set, "jaccard", 0.8, |pair| pair.similarity);
        evaluate(set, "facts", 0.84, agreement);
        for threshold in [0.3, 0.5, 0.8] {
            false_merges(set, threshold);
        }
    }
    sets.iter().filter(|set| set.name == "forms").for_each(errors_by_kind);
    sets.iter().for_each(speed);
}

fn agreement(pair: &Pair) -> f64 {
    facts_agreement(&pair.facts[0], &pair.facts[1]).unwrap_or(1.0)
}

/// Reads the sets of a file, in their order.
fn read(path: &str) -> Vec<Set> {
    let file = std::fs::read_to_string(path).unwrap_or_else(|e| panic!("{path}: {e}; see bench/README.md"));
    let mut sets: Vec<Set> = Vec::new();
    for line in file.lines() {
        let value: serde_json::Value = serde_json::from_str(line).unwrap_or_else(|e| panic!("{path}: {e}"));
        let text = |field: &str| {
            value[field].as_str().unwrap_or_else(|| panic!("{path}: no string in `{field}`")).to_owned()
        };
        let texts = [text("a"), text("b")];
        let facts = texts.clone().map(|text| Facts::of(&Content::Text(text)));
        let [x, y] = texts.clone().map(|text| shingles(&text));
        let name = text("set");
        let at = sets.iter().position(|set| set.name == name).unwrap_or_else(|| {
            sets.push(Set { name, pairs: Vec::new(), texts: Vec::new() });
            sets.len() - 1
        });
        let set = &mut sets[at];
        set.texts.push(Content::Text(texts[0].clone()));
        let copy = value["copy"].as_bool().unwrap_or_else(|| panic!("{path}: no boolean in `copy`"));
        let similarity = value["similarity"].as_f64().unwrap_or_else(|| x.jaccard(&y));
        set.pairs.push(Pair { kind: text("kind"), copy, facts, similarity });
    }
    sets
}

fn shingles(text: &str) -> FeatureSet {
    let config = sameish::Preset::Copies.config();
    let analyzer = sameish::Analyzer::new(config).unwrap_or_else(|e| panic!("{e}"));
    analyzer.shingles(text, &mut sameish::Scratch::default())
}

/// Returns F1, balanced F1, and the shares of copies and of templates that are classified as copies.
fn rates(labeled: &[(f64, bool)], limit: f64) -> [f64; 4] {
    let classified =
        |copy: bool| labeled.iter().filter(|(x, label)| *label == copy && *x >= limit).count() as f64;
    let all = |copy: bool| labeled.iter().filter(|(_, label)| *label == copy).count() as f64;
    let tp = classified(true);
    let fp = classified(false);
    let f1 = 2.0 * tp / (tp + fp + all(true));
    let tpr = tp / all(true).max(1.0);
    let fpr = fp / all(false).max(1.0);
    [f1, 2.0 * tpr / (tpr + fpr + 1.0), tpr, fpr]
}

/// Prints F1 at a limit and at the best limit.
fn evaluate(set: &Set, name: &str, limit: f64, measure: impl Fn(&Pair) -> f64) {
    let labeled: Vec<(f64, bool)> = set.pairs.iter().map(|pair| (measure(pair), pair.copy)).collect();
    let [f1, balanced, ..] = rates(&labeled, limit);
    let best = |which: usize| {
        let limits = (1..=100).map(|i| f64::from(i) / 100.0);
        limits
            .map(|at| (rates(&labeled, at)[which], at))
            .max_by(|x, y| x.0.total_cmp(&y.0))
            .unwrap_or_default()
    };
    let (best_f1, _) = best(0);
    let (best_balanced, at) = best(1);
    println!("{:<16} {name:<22} {f1:.3} {balanced:.3} | {best_f1:.3} {best_balanced:.3} {at:.2}", "");
}

/// Prints the pairs that a Jaccard threshold merges, before and after templates are excluded.
fn false_merges(set: &Set, threshold: f64) {
    let merged: Vec<&Pair> = set.pairs.iter().filter(|pair| pair.similarity >= threshold).collect();
    let copy = |pair: &&&Pair| !is_template(pair.similarity, agreement(pair));
    let kept: Vec<&&Pair> = merged.iter().filter(copy).collect();
    let templates = merged.iter().filter(|pair| !pair.copy).count();
    let kept_templates = kept.iter().filter(|pair| !pair.copy).count();
    let copies = merged.len() - templates;
    let kept_copies = kept.len() - kept_templates;
    let all = set.pairs.iter().filter(|pair| pair.copy).count();
    let f1 = |copies: usize, templates: usize| 2.0 * copies as f64 / (copies + templates + all) as f64;
    println!(
        "{:<16} Jaccard >= {threshold}: {copies} copies + {templates} templates (F1 {:.3}); templates excluded: {kept_copies} + \
         {kept_templates} (F1 {:.3})",
        "",
        f1(copies, templates),
        f1(kept_copies, kept_templates)
    );
}

/// Prints the number of errors per kind of edit.
fn errors_by_kind(set: &Set) {
    let mut kinds: BTreeMap<(bool, &str), [usize; 2]> = BTreeMap::new();
    for pair in &set.pairs {
        let wrong = is_template(1.0, agreement(pair)) == pair.copy;
        for kind in pair.kind.rsplit('/').next().unwrap_or_default().split('+') {
            let count = kinds.entry((pair.copy, kind)).or_default();
            count[0] += usize::from(wrong);
            count[1] += 1;
        }
    }
    println!("errors in {} by kind:", set.name);
    for ((copy, kind), [wrong, of]) in kinds {
        println!("  {} {kind:<14} {wrong} of {of}", if copy { "copy" } else { "template" });
    }
}

/// Prints the time to extract facts and to compare a pair.
fn speed(set: &Set) {
    let count = set.pairs.len() as f64;
    let words =
        set.pairs.iter().flat_map(|pair| &pair.facts).map(Facts::len).sum::<usize>() as f64 / count / 2.0;
    let comparison = time(5, || {
        std::hint::black_box(set.pairs.iter().map(agreement).sum::<f64>());
    });
    let comparison = comparison.best / count * 1e6;
    let extraction = time(5, || {
        std::hint::black_box(set.texts.iter().map(|text| Facts::of(text).len()).sum::<usize>());
    });
    let extraction = extraction.best / count * 1e6;
    println!(
        "{:<16} {words:.0} distinct words per text: {comparison:.2} us per pair, {extraction:.1} us to extract",
        set.name
    );
}
