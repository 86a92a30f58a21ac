//! Inputs of `dedup`.

use super::{BRIDGE, HARVEST, near, news, summary, text};
use crate::common::{Dir, gzip, ids, jsonl, lines};
use serde_json::json;

#[test]
fn empty_inputs_give_empty_outputs() {
    let dir = Dir::new();
    for (name, content) in [("e.jsonl", ""), ("e.csv", ""), ("e.txt", "\n\n"), ("bom.jsonl", "\u{feff}")] {
        dir.write(name, content);
        let run = dir
            .run(["dedup", name, "-o", "out", "--force", "--clusters", "c", "--removed", "r"])
            .ends_with(0);
        run.says(&["0 documents: 0 kept, 0 removed"]);
        assert_eq!((dir.read("out"), dir.read("c"), dir.read("r")), Default::default(), "{name}");
    }
    assert_eq!(dir.run_with_stdin(["dedup", "-"], b"").ends_with(0).stdout, "");
    dir.write("e.jsonl.gz", gzip(b""));
    dir.run(["dedup", "e.jsonl.gz", "-o", "out.gz"]).ends_with(0);
    let kept = dir.run(["dedup", "out.gz"]).ends_with(0);
    assert_eq!(kept.stdout, "");
}

#[test]
fn removes_repeated_files_but_keeps_blank_records_without_ids() {
    let dir = Dir::new();
    dir.write("a.jsonl", news());
    let run = dir.run(["dedup", "a.jsonl", "./a.jsonl", "a.jsonl", "--json"]).ends_with(0);
    assert_eq!(run.ids(), "1,\"1\",5");
    assert_eq!((&summary(&run)["documents"], &summary(&run)["repeated"]), (&json!(5), &json!(10)));
    // Without ids all records are documents, and blank texts match nothing.
    let (header, rows) = ("text,note\n", "\" \",a\n\"  \",b\n");
    dir.write("b.csv", format!("{header}{rows}"));
    dir.write("b.csv.gz", gzip(format!("{header}{rows}").as_bytes()));
    for name in ["b.csv", "b.csv.gz"] {
        let run = dir.run(["dedup", name, name, "--json"]).ends_with(0);
        assert_eq!(run.stdout, format!("{header}{rows}{rows}"), "{name}");
        assert_eq!(summary(&run)["kept"], 4);
    }
}

#[test]
fn reads_pipes_of_every_format() {
    let dir = Dir::new();
    dir.write("a.csv", format!("id,text\n1,\"{BRIDGE}\"\n2,\"{}\"\n", near()));
    dir.write("a.jsonl", news());
    let shell = |command: &str| dir.shell(&format!("timeout 60 $SAMEISH {command}"));
    let run = shell("dedup <(cat a.jsonl) --against <(head -1 a.jsonl)").ends_with(0);
    assert_eq!(run.ids(), "\"1\",5");
    let run = shell("dedup --format csv - < a.csv").ends_with(0);
    assert_eq!(run.stdout, format!("id,text\n1,\"{BRIDGE}\"\n"));
    shell("dedup - -o out/ < a.jsonl").ends_with(0);
    assert_eq!(ids(&dir.read("out/stdin.jsonl")), "1,\"1\",5");
    shell("dedup - -o a.jsonl --force < a.jsonl").ends_with(2).says(&["is also the input"]);
    assert_eq!(dir.read("a.jsonl"), news());
    dir.run(["dedup", "-", "-"]).ends_with(2);
}

#[test]
fn reads_more_files_than_can_be_open() {
    let dir = Dir::new();
    for i in 0..300 {
        dir.write(format!("in/{i:03}.txt"), text(i / 2, 30));
    }
    let run = dir.shell("ulimit -n 200; $SAMEISH dedup --whole-files in -o out/ --json --quiet").ends_with(0);
    assert_eq!((&summary(&run)["kept"], &summary(&run)["removed"]), (&json!(150), &json!(150)));
    assert_eq!(std::fs::read_dir(dir.path("out")).unwrap().count(), 150);
}

#[test]
fn processes_other_inputs_after_an_unreadable_one() {
    let dir = Dir::new();
    dir.write("a.jsonl", news());
    let packed = gzip(crate::common::records(2000).as_bytes());
    dir.write("cut.jsonl.gz", &packed[..packed.len() / 2]);
    let run = dir.run(["dedup", "missing.jsonl", "a.jsonl", "cut.jsonl.gz", "--json"]).ends_with(4);
    let run = run.says(&["missing.jsonl", "cut.jsonl.gz"]);
    let found = summary(&run);
    assert_eq!(found["failed_inputs"], 2);
    assert!(found["kept"].as_u64().unwrap() > 500);
    assert_eq!(run.stdout.lines().count() as u64, found["kept"].as_u64().unwrap());
}

#[test]
fn rejects_and_lists_invalid_records() {
    let dir = Dir::new();
    let input =
        format!("{{\"id\": 7, \"text\": 8}}\n{}not json\n{}", news(), json!({"id": 8, "text": near()}));
    dir.write("a.jsonl", input);
    let run =
        dir.run(["dedup", "a.jsonl", "--rejects", "bad", "--json"]).ends_with(3).says(&["line 1", "line 7"]);
    assert_eq!(run.ids(), "1,\"1\",5");
    assert_eq!(summary(&run)["rejected"], 2);
    assert_eq!(dir.read("bad").lines().count(), 2);
    dir.run(["dedup", "a.jsonl", "--on-bad", "skip"]).ends_with(0);
    dir.run(["dedup", "a.jsonl", "--on-bad", "fail", "-o", "out"]).ends_with(3);
    assert!(!dir.exists("out"));
}

#[test]
fn rejects_or_replaces_duplicate_ids() {
    let dir = Dir::new();
    let records = [
        json!({"id": 1, "text": BRIDGE}),
        json!({"id": 1, "text": BRIDGE}),
        json!({"id": 1, "text": HARVEST}),
        json!({"id": "1", "text": "Short"}),
    ];
    dir.write("a.jsonl", jsonl(&records));
    let run = dir.run(["dedup", "a.jsonl", "--json"]).ends_with(3);
    let run = run.says(&["line 3", "duplicate id `1` with a different text"]);
    assert_eq!(run.stdout, jsonl(&[records[0].clone(), records[3].clone()]));
    assert_eq!((&summary(&run)["repeated"], &summary(&run)["rejected"]), (&json!(1), &json!(1)));
    let run = dir.run(["dedup", "a.jsonl", "--on-dup-id", "last", "--removed", "r"]).ends_with(0);
    assert_eq!(run.stdout, jsonl(&[records[2].clone(), records[3].clone()]));
    // Records without ids get sequence numbers.
    dir.write("b.jsonl", jsonl(&[json!({"text": BRIDGE}), json!({"text": near()})]));
    dir.run(["dedup", "b.jsonl", "--removed", "removed"]).ends_with(0);
    let gone = lines(&dir.read("removed"));
    assert_eq!((&gone[0]["id"], &gone[0]["kept"]), (&json!(1), &json!(0)));
}
