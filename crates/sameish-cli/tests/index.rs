//! `index`, `restore` and `backfill`: folders that stay, and databases of others.

#![allow(clippy::unwrap_used)]

mod common;

use common::Dir;
use serde_json::{Value, json};

const BRIDGE: &str =
    "The city council voted on Monday evening to close the old stone bridge for repairs until spring";
const HARVEST: &str =
    "Apple growers in the valley expect their best harvest in ten years after a mild and wet winter";

fn lines(text: &str) -> Vec<Value> {
    text.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
}

fn write(dir: &Dir, name: &str, records: &[Value]) {
    let text: String = records.iter().map(|record| format!("{record}\n")).collect();
    dir.write(name, text);
}

fn built() -> Dir {
    let dir = Dir::new();
    write(
        &dir,
        "news.jsonl",
        &[
            json!({"id": 1, "text": BRIDGE, "title": "Bridge", "host": "a.example"}),
            json!({"id": "1", "text": HARVEST}),
            json!({"id": 2, "text": BRIDGE.to_uppercase()}),
            json!({"id": 3, "text": "Short"}),
        ],
    );
    let built = dir.run(["index", "build", "folder", "news.jsonl", "-o", "answers.jsonl"]).ends_with(0);
    built.says(&["4 documents, 1 too short added, 1 with duplicates; 4 documents in the collection"]);
    dir
}

#[test]
fn documents_stay_and_are_found() {
    let dir = built();
    let answers = lines(&dir.read("answers.jsonl"));
    let statuses: Vec<&str> = answers.iter().map(|line| line["status"].as_str().unwrap()).collect();
    assert_eq!(statuses, ["created", "created", "created", "too_short"]);
    assert_eq!(answers[2]["duplicates"][0]["id"], json!(1));
    assert_eq!(answers[2]["cluster"], answers[0]["cluster"]);

    write(&dir, "ask.jsonl", &[json!({"id": "q", "text": BRIDGE}), json!({"text": HARVEST})]);
    let found =
        lines(&dir.run(["index", "query", "folder", "ask.jsonl", "--limit", "1"]).ends_with(0).stdout);
    assert_eq!(found[0]["similar"][0]["title"], json!("Bridge"));
    assert_eq!(found[0]["similar"][0]["host"], json!("a.example"));
    assert_eq!(
        (found[0]["similar"].as_array().unwrap().len(), &found[1]["similar"][0]["id"]),
        (1, &json!("1"))
    );

    let stats = lines(&dir.run(["index", "stats", "folder", "--json"]).ends_with(0).stdout);
    assert_eq!((&stats[0]["documents"], &stats[0]["clusters"]), (&json!(4), &json!(1)));
    dir.run(["index", "verify", "folder"]).ends_with(0).says(&["4 documents: nothing is wrong"]);
    dir.run(["index", "rebuild", "folder"]).ends_with(0).says(&["4 documents"]);
}

#[test]
fn adding_again_changes_nothing_and_another_text_is_rejected() {
    let dir = built();
    dir.run(["index", "add", "folder", "news.jsonl"]).ends_with(0).says(&["4 there before"]);
    write(
        &dir,
        "other.jsonl",
        &[json!({"id": 1, "text": HARVEST}), json!({"id": 9, "text": HARVEST, "published_at": "soon"})],
    );
    dir.run(["index", "add", "folder", "other.jsonl"])
        .ends_with(3)
        .says(&["was there before with another text", "must be a date"]);
    let last = dir
        .run(["index", "add", "folder", "other.jsonl", "--on-dup-id", "last", "-o", "o.jsonl"])
        .ends_with(3);
    last.says(&["4 documents in the collection"]);
    assert_eq!(lines(&dir.read("o.jsonl"))[0]["status"], json!("replaced"));
    dir.run(["index", "build", "folder", "news.jsonl"]).ends_with(2).says(&["`sameish index add` adds more"]);
}

#[test]
fn removal_knows_the_type_of_ids() {
    let dir = built();
    dir.run(["index", "remove", "folder", "\"1\"", "seven"])
        .ends_with(3)
        .says(&["1 document removed, 1 not there"]);
    dir.run_with_stdin(["index", "remove", "folder", "-"], b"1\n\n2\n")
        .ends_with(0)
        .says(&["2 documents removed"]);
    let stats = lines(&dir.run(["index", "stats", "folder", "--json"]).ends_with(0).stdout);
    assert_eq!((&stats[0]["documents"], &stats[0]["clusters"]), (&json!(1), &json!(0)));
}

#[test]
fn snapshots_come_back() {
    let dir = built();
    dir.run(["index", "snapshot", "folder", "copy"]).ends_with(0);
    dir.run(["restore", "copy", "again"]).ends_with(0);
    dir.run(["restore", "copy", "again"]).ends_with(4).says(&["already contains documents"]);
    dir.run(["restore", "copy", "again", "--replace"]).ends_with(0);
    dir.run(["index", "verify", "again"]).ends_with(0).says(&["4 documents"]);
}

#[test]
fn what_is_no_folder_of_ours_is_refused() {
    let dir = built();
    dir.run(["index", "stats", "absent"]).ends_with(4);
    dir.run(["index", "stats", "folder", "--collection", "absent"])
        .ends_with(2)
        .says(&["no collection is named"]);
    dir.write("other/sameish.db", "text");
    dir.run(["index", "add", "other", "news.jsonl"]).ends_with(4).says(&["not a store made by sameish"]);
    assert_eq!(dir.read("other/sameish.db"), "text");
}
