//! Adversarial corpora: the number of comparisons stays bounded.

use super::{changed, corpus, dedup, news, text};
use crate::common::Dir;
use serde_json::{Value, json};
use std::collections::HashMap;

const MANY: u64 = 2000;

/// Deduplicates texts and checks that at most 64 candidates per document were compared.
#[track_caller]
fn bounded(texts: impl IntoIterator<Item = String>, flags: &[&str]) -> Value {
    let dir = Dir::new();
    dir.write("a.jsonl", corpus(texts));
    let found = dedup(&dir, &[&["a.jsonl", "-o", "out", "--max-removed", "100%"], flags].concat());
    assert!(found["candidates"].as_u64().unwrap() <= 64 * found["documents"].as_u64().unwrap(), "{found}");
    assert_eq!(dir.read("out").lines().count() as u64, found["kept"].as_u64().unwrap());
    found
}

#[test]
fn bounded_for_equal_texts() {
    let found = bounded((0..MANY).map(|_| text(1, 50)), &[]);
    assert_eq!(
        (&found["kept"], &found["candidates"], &found["largest_cluster"]),
        (&json!(1), &json!(0), &json!(MANY))
    );
    let found = bounded((0..MANY).map(|i| text(1, 50) + &" ".repeat(i as usize % 100)), &[]);
    assert_eq!(found["kept"], 1);
}

#[test]
fn bounded_for_empty_texts_and_single_tokens() {
    let found = bounded((0..MANY).map(|_| String::new()), &[]);
    assert_eq!((&found["kept"], &found["too_short"]), (&json!(MANY), &json!(MANY)));
    let found = bounded((0..MANY).map(|i| "na ".repeat(i as usize % 40 + 3)), &[]);
    assert!(found["kept"].as_u64().unwrap() <= 40, "{found}");
}

#[test]
fn bounded_for_many_near_duplicates() {
    let base = text(1, 100);
    let flood = |i: u64| changed(&base, (i % 100) as usize, &format!("x{i}"));
    let merged = bounded((0..MANY).map(flood), &["--templates", "merge"]);
    assert!(merged["kept"].as_u64().unwrap() <= 30, "{merged}");
    // Each has a word of its own, so each may be a template.
    bounded((0..MANY).map(flood), &[]);
}

#[test]
fn bounded_for_many_templates() {
    let base = text(1, 60);
    let form = |i: u64| format!("{base} {} {} {} Company{i} {base}", i * 7919, i * 104_729, i * 31);
    let found = bounded((0..MANY).map(form), &[]);
    assert!(found["kept"].as_u64().unwrap() > MANY / 2, "{found}");
    // Their numbers exclude them as candidates.
    assert!(found["candidates"].as_u64().unwrap() < MANY && found["caps_hit"] == 0, "{found}");
}

#[test]
fn bounded_for_shared_boilerplate() {
    let base = text(1, 180);
    let page = |i: u64| format!("{} {base}", text(i + 2, 20));
    let merged = bounded((0..MANY).map(page), &["--templates", "merge"]);
    assert!(merged["kept"].as_u64().unwrap() <= 30, "{merged}");
    bounded((0..MANY).map(page), &[]);
    // Half of each text is shared: similar, but below the threshold.
    let base = text(1, 60);
    let found = bounded((0..MANY).map(|i| format!("{} {base}", text(i + 2, 60))), &["--threshold", "0.6"]);
    assert_eq!(found["kept"], MANY);
}

#[test]
fn bounded_for_one_large_bucket() {
    // All share one row of the signature and little else.
    let dir = Dir::new();
    let config = dir.write("one.toml", "[minhash]\nrows = 8\nbands = { count = 8, rows = 1 }\n");
    let config = config.to_str().unwrap();
    let found = bounded(
        (0..MANY).map(|i| format!("{} the very same end of it", text(i + 1, 6))),
        &["--config", config],
    );
    assert_eq!(found["kept"], MANY);
}

#[test]
fn cuts_chains() {
    // Each text is similar to the next two only.
    let words: Vec<String> = text(1, 2200).split(' ').map(str::to_owned).collect();
    let links = |i: usize| words[i..i + 50].join(" ");
    let found = bounded((0..2000).map(links), &["--templates", "merge", "--threshold", "0.8"]);
    assert!(found["largest_cluster"].as_u64().unwrap() <= 12, "{found}");
    assert!(found["chains_cut"].as_u64().unwrap() > 100, "{found}");
}

#[test]
fn bounded_for_a_hub_and_its_spokes() {
    // Every spoke is similar to the hub; two spokes are less similar.
    let hub = text(1, 100);
    let spoke = |i: u64| {
        (0..3).fold(hub.clone(), |text, j| {
            changed(&text, ((i * 37 + j * 29) % 100) as usize, &format!("s{i}x{j}"))
        })
    };
    let flags = ["--templates", "merge", "--threshold", "0.8"];
    let first = bounded(std::iter::once(hub.clone()).chain((1..MANY).map(spoke)), &flags);
    let kept = first["kept"].as_u64().unwrap();
    assert!(kept < MANY / 10, "{first}");
    bounded((1..MANY).map(spoke).chain([hub.clone()]), &flags);
}

#[test]
fn summary_has_all_keys() {
    let dir = Dir::new();
    dir.write("a.jsonl", news());
    let found: HashMap<String, Value> =
        serde_json::from_value(dedup(&dir, &["a.jsonl", "-o", "out"])).unwrap();
    for key in [
        "documents",
        "kept",
        "removed",
        "clusters",
        "largest_cluster",
        "too_short",
        "rejected",
        "candidates",
        "verified",
        "expected_recall",
        "caps_hit",
        "seconds",
        "bytes",
        "peak_memory",
    ] {
        assert!(found[key].is_number(), "{key} in {found:?}");
    }
    assert_eq!((&found["kept"], &found["removed"], &found["clusters"]), (&json!(3), &json!(2), &json!(1)));
}
