//! Properties of every corpus.

use super::{changed, corpus, dedup, text};
use crate::common::{Dir, lines};
use proptest::prelude::*;
use sameish::features::FeatureSet;
use sameish::{Analyzer, Config, Preset, Scratch};
use serde_json::Value;

/// Returns the shingles of all documents.
fn features(config: Config, texts: &[String]) -> Vec<FeatureSet> {
    let analyzer = Analyzer::new(config).unwrap();
    let mut scratch = Scratch::default();
    texts.iter().map(|text| analyzer.shingles(text.as_str(), &mut scratch)).collect()
}

/// Generates groups of texts that differ in a few words.
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
    fn removes_documents_at_the_threshold_and_keeps_the_others(texts in families(), templates in prop::bool::ANY) {
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
fn reaches_the_requested_recall() {
    // 400 pairs just above the threshold; tolerance of four standard deviations.
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
        let args = format!("a.jsonl --templates merge --threshold 0.8 --recall {recall} -o out --force");
        let found = dedup(&dir, &args.split(' ').collect::<Vec<_>>());
        let deviation = (recall * (1.0 - recall) / matching).sqrt();
        assert!(found["removed"].as_f64().unwrap() / matching >= recall - 4.0 * deviation, "{found}");
        assert!(found["expected_recall"].as_f64().unwrap() >= recall);
        assert_eq!(found["verified"], found["removed"]);
    }
}

#[test]
fn result_does_not_depend_on_memory_and_threads() {
    let dir = Dir::new();
    // 512 bytes of band keys per document, of which 8 MB stay in memory.
    dir.write("many.toml", "[minhash]\nrows = 128\nbands = { count = 128, rows = 1 }\n");
    let count = 18_000;
    dir.write(
        "a.jsonl",
        corpus((0..count).map(|i| changed(&text(i / 2, 30), 29, ["x", "y"][i as usize % 2]))),
    );
    let run = |more: &[&str]| {
        let args = "a.jsonl --config many.toml -o out --force --clusters c --templates merge".split(' ');
        let found = dedup(&dir, &args.chain(more.iter().copied()).collect::<Vec<_>>());
        (dir.read("out"), dir.read("c"), found["candidates"].clone(), found["chains_cut"].clone())
    };
    let expected = run(&[]);
    assert!(expected.0.lines().count() < count as usize);
    assert!(run(&["--max-memory", "64M", "--threads", "3", "--temp-dir", "."]) == expected);
    assert!(run(&["--threads", "1"]) == expected);
    assert_eq!(dir.names(), ["a.jsonl", "c", "many.toml", "out"]);
}

#[test]
fn reaches_the_limit_if_documents_do_not_fit_into_memory() {
    let dir = Dir::new();
    let same = format!("{{\"text\":\"{}\"}}\n", "Short");
    dir.write("a.jsonl", same.repeat(200_000));
    let run = dir.run(["dedup", "a.jsonl", "--max-memory", "64M", "-o", "out"]).ends_with(5);
    run.says(&["do not fit into the memory limit", "raise `--max-memory`"]);
    assert!(!dir.exists("out"));
}

/// Returns the clusters of more than one document.
fn clusters(text: &str) -> Vec<Value> {
    let members = |line: Value| line["members"].clone();
    lines(text).into_iter().map(members).filter(|members| members.as_array().unwrap().len() > 1).collect()
}

#[test]
fn dedup_and_cluster_give_the_same_clusters() {
    let dir = Dir::new();
    // 10,000 near-identical texts: far more than a bucket that is scanned completely.
    let base = text(1, 100);
    let near = |i: u64| changed(&base, (i % 100) as usize, &format!("x{i}"));
    let families = |i: u64| changed(&text(i % 500, 60), (i % 59) as usize, &format!("y{}", i % 7));
    let corpora: [(&str, Vec<String>); 2] =
        [("near", (0..10_000).map(near).collect()), ("families", (0..3_000).map(families).collect())];
    for (name, texts) in corpora {
        dir.write("a.jsonl", corpus(texts));
        for templates in ["keep", "merge"] {
            let flags = ["a.jsonl", "--templates", templates, "--threshold", "0.8", "--quiet"];
            let dedup = ["dedup", "--dry-run", "--clusters", "c", "--force", "--max-removed", "100%"];
            dir.run(dedup.iter().chain(&flags)).ends_with(0);
            let cluster = dir.run(["cluster", "--linkage", "cohesive"].iter().chain(&flags)).ends_with(0);
            let expected = clusters(&dir.read("c"));
            assert_eq!(clusters(&cluster.stdout), expected, "{name}, {templates}");
            assert!(!expected.is_empty(), "{name}, {templates}");
        }
    }
}

#[test]
fn dedup_of_its_own_output_removes_nothing_even_with_templates() {
    let dir = Dir::new();
    let form = |i: u64| {
        let (company, place, amount) = (i % 23, i % 5, i * 7919 % 1000);
        format!(
            "{} Company{company} reported on Thursday that its profit rose to {amount} million in Place{place}, and {}",
            text(i % 40, 30),
            text(i % 40 + 100, 25)
        )
    };
    dir.write("a.jsonl", corpus((0..2_000).map(form)));
    for threshold in ["0.5", "0.7", "0.8"] {
        let first = dedup(&dir, &["a.jsonl", "-o", "once.jsonl", "--force", "--threshold", threshold]);
        let merge = [
            "a.jsonl",
            "--dry-run",
            "--max-removed",
            "100%",
            "--templates",
            "merge",
            "--threshold",
            threshold,
        ];
        let merged = dedup(&dir, &merge)["removed"].as_u64().unwrap();
        let removed = first["removed"].as_u64().unwrap();
        assert!(removed > 100 && merged > removed + 100, "{merged} {first}");
        assert_eq!(first["caps_hit"], 0);
        let second = dedup(&dir, &["once.jsonl", "-o", "twice.jsonl", "--force", "--threshold", threshold]);
        assert_eq!(second["removed"], 0, "{second}");
        assert_eq!(dir.read("twice.jsonl"), dir.read("once.jsonl"));
    }
}
