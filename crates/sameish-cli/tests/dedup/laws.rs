//! What holds for every corpus?

use crate::common::Dir;
use crate::{changed, corpus, dedup, lines, text};
use proptest::prelude::*;
use sameish::{Analyzer, Config, FeatureSet, Preset, Scratch};
use serde_json::Value;

/// Returns the shingles of all documents.
fn features(config: Config, texts: &[String]) -> Vec<FeatureSet> {
    let analyzer = Analyzer::new(config).unwrap();
    let mut scratch = Scratch::default();
    texts.iter().map(|text| analyzer.shingles(text.as_str(), &mut scratch)).collect()
}

/// Families of texts that differ in a few words each.
fn families() -> impl Strategy<Value = Vec<String>> {
    let member = (0u64..12, prop::collection::vec((0usize..40, 0u32..4), 0..6));
    let make = |(family, changes): (u64, Vec<(usize, u32)>)| {
        let base = text(family, 40);
        changes.into_iter().fold(base, |text, (at, word)| changed(&text, at, &format!("other{word}")))
    };
    prop::collection::vec(member.prop_map(make), 1..60)
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 12, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn what_goes_is_as_similar_as_asked_and_what_stays_is_not(texts in families(), templates in prop::bool::ANY) {
        let dir = Dir::new();
        dir.write("a.jsonl", corpus(texts.clone()));
        let templates = if templates { "keep" } else { "merge" };
        let run = |input: &str, out: &str, threads: &str| {
            let args = ["dedup", input, "-o", out, "--removed", "r", "--force", "--threshold", "0.6", "--recall", "0.9999"];
            dir.run(args.into_iter().chain(["--templates", templates, "--threads", threads])).ends_with(0);
            lines(&dir.read("r"))
        };
        let removed = run("a.jsonl", "out", "1");
        let kept = dir.read("out");
        let number = |line: &Value, key: &str| line[key].as_u64().unwrap() as usize;
        let stays: Vec<usize> = lines(&kept).iter().map(|line| number(line, "id")).collect();
        prop_assert!(stays.is_sorted());
        prop_assert_eq!(stays.len() + removed.len(), texts.len());
        let features = features(Preset::Copies.config(), &texts);
        for line in &removed {
            let (id, center) = (number(line, "id"), number(line, "kept"));
            let similarity = features[id].jaccard(&features[center]);
            prop_assert!(similarity >= 0.6 && stays.contains(&center));
            prop_assert!((line["similarity"].as_f64().unwrap() - similarity).abs() < 1e-6);
        }
        if templates == "merge" {
            for (at, &a) in stays.iter().enumerate() {
                for &b in &stays[..at] {
                    prop_assert!(features[a].jaccard(&features[b]) < 0.6, "{} and {}", a, b);
                }
            }
        }
        run("a.jsonl", "again", "5");
        prop_assert_eq!(dir.read("again"), &kept[..]);
        let more = run("out", "again", "2");
        prop_assert!(more.is_empty(), "{:?}", more);
        prop_assert_eq!(dir.read("again"), kept);
    }
}

#[test]
fn recall_is_what_was_asked_for() {
    // 400 pairs of similarity just above the threshold; a bound of four standard deviations.
    let texts: Vec<String> = (0..400)
        .flat_map(|i| {
            let a = text(i, 118);
            let b = [20, 60, 100].iter().fold(a.clone(), |text, &at| changed(&text, at, "other"));
            [a, b]
        })
        .collect();
    let features = features(Preset::Copies.config(), &texts);
    let matching = (0..400).filter(|i| features[2 * i].jaccard(&features[2 * i + 1]) >= 0.8).count() as f64;
    assert!(matching >= 390.0);
    let dir = Dir::new();
    dir.write("a.jsonl", corpus(texts));
    for recall in [0.8, 0.99] {
        let asked = recall.to_string();
        let args = [
            "a.jsonl",
            "--templates",
            "merge",
            "--threshold",
            "0.8",
            "--recall",
            &asked,
            "-o",
            "out",
            "--force",
        ];
        let found = dedup(&dir, &args);
        let deviation = (recall * (1.0 - recall) / matching).sqrt();
        assert!(found["removed"].as_f64().unwrap() / matching >= recall - 4.0 * deviation, "{found}");
        assert!(found["expected_recall"].as_f64().unwrap() >= recall);
        assert_eq!(found["verified"], found["removed"]);
    }
}

#[test]
fn memory_and_threads_do_not_change_the_answer() {
    let dir = Dir::new();
    // 512 bytes of tags a document, of which 8 MB may stay in memory.
    dir.write("many.toml", "[minhash]\nrows = 128\nbands = { count = 128, rows = 1 }\n");
    let count = 18_000;
    dir.write(
        "a.jsonl",
        corpus((0..count).map(|i| changed(&text(i / 2, 30), 29, ["x", "y"][i as usize % 2]))),
    );
    let run = |more: &[&str]| {
        let args = [
            "a.jsonl",
            "--config",
            "many.toml",
            "-o",
            "out",
            "--force",
            "--clusters",
            "c",
            "--templates",
            "merge",
        ];
        let found = dedup(&dir, &[&args[..], more].concat());
        (dir.read("out"), dir.read("c"), found["candidates"].clone(), found["chains_cut"].clone())
    };
    let expected = run(&[]);
    assert!(expected.0.lines().count() < count as usize);
    assert!(run(&["--max-memory", "64M", "--threads", "3", "--temp-dir", "."]) == expected);
    assert!(run(&["--threads", "1"]) == expected);
    assert_eq!(dir.names(), ["a.jsonl", "c", "many.toml", "out"]);
}

#[test]
fn more_documents_than_the_memory_holds_is_a_limit() {
    let dir = Dir::new();
    let same = format!("{{\"text\":\"{}\"}}\n", "Short");
    dir.write("a.jsonl", same.repeat(200_000));
    let run = dir.run(["dedup", "a.jsonl", "--max-memory", "64M", "-o", "out"]).ends_with(5);
    run.says(&["do not fit into `--max-memory`", "raise it"]);
    assert!(!dir.exists("out"));
}
