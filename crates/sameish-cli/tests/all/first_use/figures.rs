//! Figures that are printed must be true.

use super::directory;
use crate::common::{BRIDGE, Dir, HARVEST, lines};
use serde_json::json;

#[test]
fn no_recall_is_claimed_without_documents() {
    let dir = Dir::new();
    dir.write("empty.jsonl", "");
    for command in ["dedup", "pairs", "cluster"] {
        for input in ["missing.jsonl", "empty.jsonl"] {
            let run = dir.run([command, input]);
            assert!(!run.stderr.contains("recall"), "{command} {input}: {}", run.stderr);
        }
    }
}

#[test]
fn articles_reports_the_recall_that_its_bands_have() {
    let dir = Dir::new();
    let record = |id: u32, text: &str| json!({"id": id, "text": text});
    dir.write_records("a.jsonl", &[record(1, BRIDGE), record(2, HARVEST)]);
    let summary = |flags: [&str; 2]| {
        let run = dir.run(["pairs", "a.jsonl", "--json"].iter().chain(&flags)).ends_with(0);
        lines(&run.stderr)[0].clone()
    };
    // Without matches, it is the recall at the threshold.
    let found = summary(["--preset", "articles"]);
    let recall = found["expected_recall"].as_f64().unwrap();
    assert!((recall - 0.8732).abs() < 1e-3, "{recall}");
    assert_eq!(found["expected_recall_interval"], json!(null));
    dir.write("r.toml", "preset = \"articles\"\n[matching]\nrecall = 0.95\n");
    let found = summary(["--config", "r.toml"]);
    assert!(found["expected_recall"].as_f64().unwrap() >= 0.95);
    // Equal texts are found with certainty.
    dir.write_records("a.jsonl", &[record(1, BRIDGE), record(2, BRIDGE)]);
    let found = summary(["--preset", "articles"]);
    assert_eq!(found["expected_recall"], json!(1.0));
    assert_eq!(found["expected_recall_interval"], json!([1.0, 1.0]));
}

#[test]
fn one_thing_is_singular() {
    let dir = Dir::new();
    let record = |id: u32, text: &str| json!({"id": id, "text": text});
    dir.write_records("a.jsonl", &[record(1, BRIDGE), record(1, BRIDGE), record(2, HARVEST)]);
    dir.run(["dedup", "a.jsonl", "--dry-run"]).ends_with(0).says(&["1 repeated record skipped"]);
    dir.run(["pairs", "a.jsonl"]).ends_with(0).says(&["1 repeated record skipped"]);
    dir.run(["dedup", "a.jsonl", "--dry-run", "--max-removed", "0"]).ends_with(0).says(&["0 clusters"]);
}

#[test]
fn eval_of_files_without_a_common_id_warns_and_prints_no_measures() {
    let dir = Dir::new();
    dir.write_records("found.jsonl", &[json!({"id": "c", "members": ["1", "2"]})]);
    dir.write_records("truth.jsonl", &[json!({"id": 1, "cluster": "x"}), json!({"id": 2, "cluster": "x"})]);
    let run =
        dir.run(["eval", "found.jsonl", "truth.jsonl"]).ends_with(0).says(&["warning: ", "no id in common"]);
    assert!(!run.stdout.contains("B-cubed") && !run.stdout.contains("precision"), "{}", run.stdout);
    let run = dir.run(["eval", "found.jsonl", "truth.jsonl", "--json"]).ends_with(0);
    let answer = &lines(&run.stdout)[0];
    assert_eq!((&answer["bcubed"], &answer["common_documents"]), (&json!(null), &json!(0)));
    dir.write_records("same.jsonl", &[json!({"id": "c", "members": [1, 2]})]);
    let run = dir.run(["eval", "same.jsonl", "truth.jsonl"]).ends_with(0);
    assert!(run.stdout.contains("B-cubed") && run.stderr.is_empty());
}

#[test]
fn tune_warns_of_labels_that_match_no_document() {
    let dir = Dir::new();
    let text = |id: usize| json!({"id": id, "text": format!("{HARVEST} {id} {}", id * 7)});
    dir.write_records("a.jsonl", &(0..10).map(text).collect::<Vec<_>>());
    dir.write_records("all.jsonl", &[json!({"a": "0", "b": "1", "same": true})]);
    let run = dir.run(["tune", "a.jsonl", "--labels", "all.jsonl"]).ends_with(0);
    let run = run.says(&["warning: no document has the ids of 1 labeled pair", "--id-field"]);
    assert!(!run.stdout.contains("Best F1"), "{}", run.stdout);
    let pair = |a: u32| json!({"a": a, "b": 1, "same": true});
    dir.write_records("some.jsonl", &[pair(0), pair(99)]);
    dir.run(["tune", "a.jsonl", "--labels", "some.jsonl"])
        .ends_with(0)
        .says(&["warning: ignored 1 of 2 labeled pairs"]);
}

#[test]
fn restore_reports_what_it_did() {
    let dir = directory();
    dir.run(["index", "build", "idx", "a.jsonl", "--id-field", "key"]).ends_with(0);
    dir.run(["index", "snapshot", "idx", "snap"]).ends_with(0);
    dir.run(["restore", "snap", "new"])
        .ends_with(0)
        .says(&["restored 3 documents in 1 collection from `snap` into `new`"]);
    let run = dir.run(["restore", "snap", "new", "--replace"]).ends_with(0);
    run.says(&["the previous database is kept as `new/sameish.db.before-restore`"]);
}
