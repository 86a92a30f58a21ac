//! `index`, `restore` and `backfill`.

use crate::common::{BRIDGE, Dir, HARVEST, lines};
use serde_json::{Value, json};

fn built() -> Dir {
    let dir = Dir::new();
    dir.write_records(
        "news.jsonl",
        &[
            json!({"id": 1, "text": BRIDGE, "title": "Bridge", "host": "a.example"}),
            json!({"id": "1", "text": HARVEST}),
            json!({"id": 2, "text": BRIDGE.to_uppercase()}),
            json!({"id": 3, "text": "Short"}),
        ],
    );
    let built = dir.run(["index", "build", "folder", "news.jsonl", "-o", "answers.jsonl"]).ends_with(0);
    built.says(&["read 4 documents, 1 too short; 1 with duplicates; 4 documents in the collection"]);
    dir
}

#[test]
fn stores_and_finds_documents() {
    let dir = built();
    let answers = lines(&dir.read("answers.jsonl"));
    let statuses: Vec<&str> = answers.iter().map(|line| line["status"].as_str().unwrap()).collect();
    assert_eq!(statuses, ["created", "created", "created", "too_short"]);
    assert_eq!(answers[2]["duplicates"][0]["id"], json!(1));
    assert_eq!(answers[2]["duplicates"][0]["relation"], json!("same"));
    assert_eq!(answers[2]["cluster"], answers[0]["cluster"]);

    dir.write_records(
        "ask.jsonl",
        &[json!({"id": "q", "text": BRIDGE}), json!({"text": HARVEST}), json!({"text": "rain"})],
    );
    let found =
        lines(&dir.run(["index", "query", "folder", "ask.jsonl", "--limit", "1"]).ends_with(0).stdout);
    assert_eq!(found[0]["similar"][0]["title"], json!("Bridge"));
    assert_eq!(found[0]["similar"][0]["host"], json!("a.example"));
    for name in ["similarity", "similarity_score"] {
        assert_eq!(found[0]["similar"][0][name], json!(1.0), "{name}");
    }
    assert_eq!(found[0]["similar"][0].get("simhash_distance"), Some(&json!(null)), "null without a SimHash");
    assert_eq!(found[0]["similar"][0]["facts"], json!(1.0));
    assert_eq!(
        (found[0]["similar"].as_array().unwrap().len(), &found[1]["similar"][0]["id"]),
        (1, &json!("1"))
    );

    let too_short: Vec<&Value> = found.iter().map(|line| &line["too_short"]).collect();
    assert_eq!(too_short, [&json!(false), &json!(false), &json!(true)]);
    for line in &found {
        let status = if line["too_short"] == true { "too_short" } else { "ok" };
        assert_eq!((&line["status"], &line["capped"]), (&json!(status), &json!(false)), "{line}");
        assert!(line["candidates"].is_u64(), "{line}");
    }

    let stats = lines(&dir.run(["index", "stats", "folder", "--json"]).ends_with(0).stdout);
    assert_eq!((&stats[0]["documents"], &stats[0]["clusters"]), (&json!(4), &json!(1)));
    dir.run(["index", "verify", "folder"]).ends_with(0).says(&["4 documents: no problems found"]);
    dir.run(["index", "rebuild", "folder"]).ends_with(0).says(&["4 documents"]);
}

#[test]
fn a_minimum_similarity_below_the_threshold_searches_more_widely() {
    let dir = built();
    let start = BRIDGE.split(' ').take(12).collect::<Vec<_>>().join(" ");
    dir.write_records("ask.jsonl", &[json!({"id": "q", "text": format!("{start} and nothing else at all")})]);
    let query = |options: &[&str]| {
        let run = dir.run([&["index", "query", "folder", "ask.jsonl", "-q"], options].concat());
        lines(&run.ends_with(0).stdout)[0]["similar"].as_array().unwrap().len()
    };
    assert_eq!(query(&[]), 0);
    assert_eq!(query(&["--min-similarity", "0.05"]), 2);
    dir.run(["index", "query", "folder", "ask.jsonl", "--min-similarity", "2"]).ends_with(2);
}

#[test]
fn an_index_has_the_center_of_its_linkage_or_the_chosen_one() {
    let dir = Dir::new();
    let record =
        |id: u64, day: u64| json!({"id": id, "text": BRIDGE, "published_at": format!("2024-01-0{day}")});
    dir.write_records("news.jsonl", &[record(1, 1), record(2, 3), record(3, 2)]);
    let build = |collection: &str, options: &[&str]| {
        let args =
            ["index", "build", "folder", "news.jsonl", "-q", "--collection", collection, "-o", "out.jsonl"];
        let run = dir.run([&args[..], &["--force"], options].concat()).ends_with(0);
        let clusters: Vec<Value> =
            lines(&dir.read("out.jsonl")).iter().map(|line| line["cluster"].clone()).collect();
        assert!(clusters.iter().all(|cluster| *cluster == clusters[0]), "the cluster keeps its id");
        run
    };
    build("newest", &["--preset", "wire"]);
    build("first", &["--preset", "wire", "--center", "first"]);
    build("longest", &["--center", "longest"]);
    dir.run(["index", "verify", "folder"]).ends_with(0);
    dir.run(["index", "build", "other", "news.jsonl", "--preset", "web", "--center", "newest"])
        .ends_with(2)
        .says(&["`center`", "`cohesive`"]);
}

#[test]
fn accepts_repeated_documents_and_rejects_other_texts() {
    let dir = built();
    dir.run(["index", "add", "folder", "news.jsonl"]).ends_with(0).says(&["4 repeated"]);
    dir.write_records(
        "other.jsonl",
        &[json!({"id": 1, "text": HARVEST}), json!({"id": 9, "text": HARVEST, "published_at": "soon"})],
    );
    dir.run(["index", "add", "folder", "other.jsonl"])
        .ends_with(3)
        .says(&["with a different text", "must be a date"]);
    let last = dir
        .run(["index", "add", "folder", "other.jsonl", "--on-dup-id", "last", "-o", "o.jsonl"])
        .ends_with(3);
    last.says(&["4 documents in the collection"]);
    assert_eq!(lines(&dir.read("o.jsonl"))[0]["status"], json!("replaced"));
    dir.run(["index", "build", "folder", "news.jsonl"])
        .ends_with(2)
        .says(&["add more with `sameish index add folder FILE"]);
}

#[test]
fn removes_ids_by_type() {
    let dir = built();
    dir.run(["index", "remove", "folder", "\"1\"", "seven"])
        .ends_with(3)
        .says(&["1 document removed, 1 not found"]);
    dir.run_with_stdin(["index", "remove", "folder", "-"], b"1\n\n2\n")
        .ends_with(0)
        .says(&["2 documents removed"]);
    let stats = lines(&dir.run(["index", "stats", "folder", "--json"]).ends_with(0).stdout);
    assert_eq!((&stats[0]["documents"], &stats[0]["clusters"]), (&json!(1), &json!(0)));
}

#[test]
fn restores_snapshots() {
    let dir = built();
    dir.run(["index", "snapshot", "folder", "copy"]).ends_with(0);
    dir.run(["restore", "copy", "again"]).ends_with(0);
    dir.run(["restore", "copy", "again"]).ends_with(4).says(&["already contains documents"]);
    dir.run(["restore", "copy", "again", "--replace"]).ends_with(0);
    dir.run(["index", "verify", "again"]).ends_with(0).says(&["4 documents"]);
}

#[test]
fn refuses_other_directories() {
    let dir = built();
    dir.run(["index", "stats", "absent"]).ends_with(4);
    dir.run(["index", "stats", "folder", "--collection", "absent"])
        .ends_with(2)
        .says(&["no collection is named"]);
    dir.write("other/sameish.db", "text");
    dir.run(["index", "add", "other", "news.jsonl"]).ends_with(4).says(&["not a sameish store"]);
    assert_eq!(dir.read("other/sameish.db"), "text");
}

#[test]
fn compacts_drops_and_expires() {
    let dir = built();
    dir.run(["index", "remove", "folder", "1", "2"]).ends_with(0);
    dir.run(["index", "compact", "folder"]).ends_with(0).says(&["bytes on disk"]);
    dir.run(["index", "snapshot", "folder", "copy"]).ends_with(0);
    dir.run(["restore", "copy", "folder", "--replace"]).ends_with(0);
    dir.run(["index", "compact", "folder"]).ends_with(0).says(&["before-restore", "--remove-copies"]);
    assert!(dir.exists("folder/sameish.db.before-restore"));
    dir.run(["index", "compact", "folder", "--remove-copies"]).ends_with(0).says(&["deleted"]);
    assert!(!dir.exists("folder/sameish.db.before-restore"));

    let old = |id: u32| json!({"id": id, "text": format!("{BRIDGE} {id}"), "published_at": "2001-01-01"});
    dir.write_records("old.jsonl", &(0..101).map(old).collect::<Vec<_>>());
    dir.run(["index", "build", "folder", "old.jsonl", "--collection", "month", "--retention-days", "30"])
        .ends_with(0);
    dir.run(["index", "expire", "folder"])
        .ends_with(5)
        .says(&["101 of 101 documents are expired", "--confirm"]);
    dir.run(["index", "expire", "folder", "--collection", "copies"])
        .ends_with(0)
        .says(&["copies: 0 documents deleted"]);
    dir.run(["index", "expire", "folder", "--confirm"]).ends_with(0).says(&["month: 101 documents deleted"]);

    dir.run(["index", "drop", "folder"]).ends_with(2);
    dir.run(["index", "drop", "folder", "--collection", "absent"])
        .ends_with(2)
        .says(&["no collection is named"]);
    dir.run(["index", "drop", "folder", "--collection", "month"]).ends_with(0);
    dir.run(["index", "query", "folder", "old.jsonl", "--collection", "month"]).ends_with(2);
    dir.run(["index", "verify", "folder"]).ends_with(0);
}
