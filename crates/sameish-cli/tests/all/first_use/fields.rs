//! Fields that flags name, and the field of the text.

use super::{directory, table, titled};
use crate::common::{BRIDGE, Dir};
use serde_json::{Value, json};

#[test]
fn per_source_without_sources_is_announced() {
    let dir = directory();
    let warning = "warning: no document has a source, so `--per-source` has no effect; set the source field with `--source-field`";
    dir.run(["dedup", "a.jsonl", "--per-source", "--dry-run"]).says(&[warning]);
    dir.write_records(
        "b.jsonl",
        &[json!({"text": BRIDGE, "source": "a"}), json!({"text": BRIDGE, "source": "b"})],
    );
    let run = dir.run(["dedup", "b.jsonl", "--per-source", "--dry-run"]).ends_with(0);
    assert!(!run.stderr.contains("--per-source"), "{}", run.stderr);
}

#[test]
fn a_named_field_must_exist() {
    let dir = directory();
    dir.write("a.csv", table(',', "text"));
    for (file, fields) in
        [("a.jsonl", "the records have `key`, `text`, `title`"), ("a.csv", "the columns are `key`")]
    {
        for flag in ["--text-field", "--id-field", "--title-field", "--source-field", "--date-field"] {
            let args = ["dedup", file, flag, "absent", "-o", "out"];
            dir.run(args).ends_with(2).says(&[
                &format!("{file}: no "),
                "`absent`",
                fields,
                &format!("`{flag}`"),
            ]);
            assert!(!dir.exists("out"));
        }
    }
    for command in ["pairs", "cluster", "fingerprint", "tune", "index build idx", "eval --exact"] {
        let args = format!("{command} a.jsonl --text-field absent");
        dir.run(args.split(' ')).ends_with(2).says(&["no field `absent`", "`text`"]);
    }
    assert!(!dir.exists("idx"));
    dir.run(["dedup", "a.jsonl", "--keep", "field:scroe", "--dry-run"])
        .ends_with(2)
        .says(&["`scroe`", "`--keep`"]);
    dir.run(["tune", "a.jsonl", "--cluster-field", "stroy"])
        .ends_with(2)
        .says(&["`stroy`", "`--cluster-field`"]);
}

#[test]
fn a_named_field_must_exist_in_a_stream() {
    let dir = directory();
    let records = dir.read("a.jsonl");
    for command in ["fingerprint", "pairs", "dedup"] {
        let run = dir.run_with_stdin([command, "-", "--text-field", "absent"], records.as_bytes());
        assert_eq!(run.ends_with(2).says(&["-: no field `absent`"]).stdout, "");
    }
    let late: Vec<Value> = (0..1000).map(|id| json!({"id": id, "text": "x"})).collect();
    let late = crate::common::jsonl(&late) + "{\"id\":1000,\"body\":\"y\"}\n";
    let run = dir.run_with_stdin(["fingerprint", "-", "--text-field", "body"], late.as_bytes());
    run.ends_with(2).says(&["the first 1,000 records have `id`, `text`"]);
}

#[test]
fn the_text_is_in_the_first_known_field_and_the_choice_is_announced_once() {
    let dir = directory();
    dir.write("a.csv", table(',', "article"));
    dir.write_records("more.jsonl", &titled("body"));
    for (file, field) in [("body.jsonl", "body"), ("a.csv", "article")] {
        let run = dir.run(["dedup", file, "--json"]).ends_with(0);
        let announced = format!("note: no `text` field; using `{field}`\n");
        assert!(run.stderr.starts_with(&announced), "{}", run.stderr);
        let summary: Value = serde_json::from_str(run.stderr.lines().last().unwrap()).unwrap();
        assert_eq!(summary["text_fields"], json!([field]));
        assert!(run.stdout.contains("Same title of two") || file == "a.csv");
        assert_eq!(summary["removed"], 1, "the texts are compared, not the titles");
    }
    let run = dir.run(["dedup", "body.jsonl", "more.jsonl", "--dry-run"]);
    assert_eq!(run.stderr.matches("no `text` field; using `body`").count(), 1, "{}", run.stderr);
    let run = dir.run(["fingerprint", "a.jsonl", "body.jsonl"]).ends_with(0);
    assert_eq!(run.stderr.matches("body.jsonl: no `text` field; using `body`").count(), 1, "{}", run.stderr);
    assert_eq!(dir.run(["fingerprint", "body.jsonl", "--quiet"]).ends_with(0).stderr, "");
    let stdin = dir.run_with_stdin(["fingerprint", "-"], dir.read("body.jsonl").as_bytes());
    stdin.ends_with(0).says(&["no `text` field; using `body`"]);
    assert_eq!(dir.run(["tune", "body.jsonl"]).ends_with(0).stderr.matches("using `body`").count(), 1);
    assert!(!dir.run(["dedup", "a.jsonl"]).ends_with(0).stderr.contains("using"));
}

#[test]
fn the_title_is_used_only_if_no_other_text_exists() {
    let dir = Dir::new();
    dir.write_records(
        "titles.jsonl",
        &[json!({"id": 1, "title": BRIDGE}), json!({"id": 2, "title": BRIDGE})],
    );
    let run = dir.run(["dedup", "titles.jsonl", "-o", "out"]).ends_with(0);
    run.says(&["no `text` field; using `title`", "1 removed"]);
    dir.write_records("none.jsonl", &[json!({"id": 1, "abstract": BRIDGE})]);
    dir.run(["fingerprint", "none.jsonl"]).ends_with(4).says(&[
        "none.jsonl: no field `text`, `body`, `content`, `article`, `title`; the records have `abstract`, `id`",
        "--text-field",
    ]);
}
