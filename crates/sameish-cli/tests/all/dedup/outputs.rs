//! Outputs of `dedup`.

use super::formats::table;
use super::{HARVEST, near, news, text};
use crate::common::{Dir, jsonl, lines};
use serde_json::json;

#[test]
fn writes_nothing_if_too_many_documents_would_be_removed() {
    let dir = Dir::new();
    dir.write("a.jsonl", news());
    let args = ["dedup", "a.jsonl", "-o", "out", "--clusters", "c", "--removed", "r", "--max-removed", "39%"];
    let run = dir.run(args).ends_with(5);
    run.says(&[
        "40.0 % of the documents would be removed",
        "`--max-removed 100%`",
        "source",
        "length",
        "up to 200 B",
    ]);
    assert_eq!(dir.names(), ["a.jsonl"]);
    dir.run(["dedup", "a.jsonl", "-o", "out", "--max-removed", "0.4"]).ends_with(0);
    let args = args.map(|arg| if arg == "39%" { "100%" } else { arg });
    dir.run(args.into_iter().chain(["--force"])).ends_with(0);
    assert_eq!(dir.names(), ["a.jsonl", "c", "out", "r"]);
    for share in ["nan", "-1", "101%", "1.1", "much", "%"] {
        dir.run(["dedup", "a.jsonl", &format!("--max-removed={share}")]).ends_with(2).says(&["0% to 100%"]);
    }
}

#[test]
fn dry_run_writes_only_the_lists() {
    let dir = Dir::new();
    dir.write("a.jsonl", news());
    let args = ["dedup", "a.jsonl", "-o", "out", "--dry-run", "--clusters", "c", "--removed", "r"];
    let run = dir.run(args).ends_with(0).says(&["5 documents: 3 kept, 2 removed", "source", "length"]);
    assert_eq!(run.stdout, "");
    assert_eq!(dir.names(), ["a.jsonl", "c", "r"]);
    let clusters = lines(&dir.read("c"));
    assert_eq!(clusters.len(), 1);
    assert_eq!((&clusters[0]["id"], &clusters[0]["center"]), (&json!("cluster-1"), &json!(1)));
    assert_eq!(clusters[0]["members"], json!([1, 2, 4]));
    let removed = lines(&dir.read("r"));
    assert_eq!(removed.iter().map(|line| line["id"].clone()).collect::<Vec<_>>(), [2, 4]);
    assert!(removed.iter().all(|line| line["kept"] == 1 && line["similarity"].as_f64().unwrap() >= 0.8));
    let mean = removed.iter().map(|line| line["similarity"].as_f64().unwrap()).sum::<f64>() / 2.0;
    assert!((clusters[0]["mean_similarity"].as_f64().unwrap() - mean).abs() < 2e-6);
}

#[test]
fn checks_outputs_before_the_run() {
    let dir = Dir::new();
    dir.write("a.jsonl", news());
    dir.write("old", "as it was");
    for flag in ["-o", "--clusters", "--removed", "--rejects"] {
        let run = dir.run(["dedup", "a.jsonl", flag, "old"]).ends_with(2);
        assert!(!run.stderr.contains("MB of input"), "{flag}: {}", run.stderr);
        run.says(&["output `old` already exists; pass `--force`"]);
        dir.run(["dedup", "a.jsonl", flag, "a.jsonl", "--force"]).ends_with(2).says(&["is also the input"]);
        dir.run(["dedup", "a.jsonl", flag, "no/such", "--force"])
            .ends_with(6)
            .says(&["its directory does not exist"]);
    }
    for flags in
        [["--clusters", "--removed"], ["-o", "--removed"], ["-o", "--rejects"], ["--rejects", "--clusters"]]
    {
        let args = ["dedup", "a.jsonl", flags[0], "x", flags[1], "./x"];
        dir.run(args).ends_with(2).says(&["are the same file; pass two files"]);
    }
    dir.run(["dedup", "a.jsonl", "-o", "."]).ends_with(2).says(&["is also the input"]);
    assert_eq!((dir.read("a.jsonl"), dir.read("old")), (news(), "as it was".into()));
    assert_eq!(dir.names(), ["a.jsonl", "old"]);
    dir.write("more/a.jsonl", news());
    let run = dir.run(["dedup", "a.jsonl", "more", "-o", "out/"]).ends_with(2);
    run.says(&["two inputs would both be written to `out/a.jsonl`"]);
    assert!(!dir.exists("out"));
}

#[test]
fn closed_pipe_is_success() {
    let dir = Dir::new();
    dir.write("a.jsonl", crate::common::records(3000));
    let rows: Vec<String> = (0..3000).map(|i| text(i, 20)).collect();
    let rows: Vec<(i64, &str)> = (0..).zip(&rows).map(|(id, text)| (id, text.as_str())).collect();
    dir.write("a.parquet", table(&rows));
    for args in ["a.jsonl", "a.jsonl --compress gz", "a.jsonl --compress zst", "a.parquet"] {
        let command = format!("set -o pipefail; $SAMEISH dedup {args} --quiet 2>err | head -c 2 | wc -c");
        assert_eq!(dir.shell(&command).ends_with(0).stdout.trim(), "2", "{args}");
        assert_eq!(dir.read("err"), "", "{args}");
    }
}

#[test]
fn settings_out_of_range_are_usage_errors() {
    let dir = Dir::new();
    dir.write("a.jsonl", news());
    for (flags, says) in [
        (vec!["--threshold", "nan"], "must be between 0 and 1"),
        (vec!["--threshold", "1.1"], "must be between 0 and 1"),
        (vec!["--threshold=-1"], "must be between 0 and 1"),
        (vec!["--recall", "1"], "must be less than 1"),
        (vec!["--radius", "3"], "the configuration has no fingerprints"),
        (vec!["--threads", "0"], "1..=1024"),
        (vec!["--max-memory", "1K"], "must be at least 64M"),
        (vec!["--max-memory", "1"], "must be 1K to 1024T"),
        (vec!["--compress", "zip"], "[possible values: none, gz, zst]"),
        (vec!["--templates", "drop"], "[possible values: keep, merge]"),
        (vec!["--preset", "sdr"], "`dedup` does not support this configuration"),
    ] {
        let run = dir.run(["dedup", "a.jsonl", "-o", "out"].into_iter().chain(flags.iter().copied()));
        run.ends_with(2).says(&[says]);
        assert!(!dir.exists("out"));
    }
    let run = dir.run(["dedup", "a.jsonl", "--temp-dir", "nowhere", "-o", "x"]);
    run.ends_with(2).says(&["`--temp-dir nowhere` is not a directory"]);
}

#[test]
fn compares_characters_with_a_character_shingle() {
    let dir = Dir::new();
    dir.write("a.jsonl", news());
    let run = dir.run(["dedup", "a.jsonl", "--shingle", "chars:5", "--json"]).ends_with(0);
    assert_eq!(run.ids(), "1,\"1\",5");
    let headlines = dir.run(["dedup", "a.jsonl", "--preset", "headlines"]).ends_with(0);
    assert_eq!(headlines.ids(), "1,\"1\",5");
}

#[test]
fn accepts_an_index_directory_as_existing_corpus() {
    let dir = Dir::new();
    dir.write(
        "old.jsonl",
        jsonl(&[
            json!({"id": 7, "text": near()}),
            json!({"id": "t", "tokens": HARVEST.split(' ').collect::<Vec<_>>()}),
        ]),
    );
    dir.run(["index", "build", "--preset", "copies", "index", "old.jsonl", "--quiet"]).ends_with(0);
    dir.run(["index", "build", "--preset", "articles", "index", "old.jsonl", "--quiet"]).ends_with(0);
    dir.write("a.jsonl", news().replace("\"text\"", "\"body\""));
    let flags = ["--text-field", "body", "--removed", "gone", "--quiet"];
    let run = dir.run(["dedup", "a.jsonl", "--against", "index"].iter().chain(&flags)).ends_with(0);
    assert_eq!(run.ids(), "\"1\",5");
    let gone = lines(&dir.read("gone"));
    assert_eq!(
        gone.iter().map(|line| (line["id"].clone(), line["kept"].clone())).collect::<Vec<_>>(),
        [(json!(1), json!(7)), (json!(2), json!(7)), (json!(4), json!(7)),]
    );
    for flag in ["--resume", "--whole-files"] {
        let run = dir.run(["dedup", "a.jsonl", "-o", "x/", "--against", "index", flag]);
        run.ends_with(2).says(&["data directory"]);
    }
    dir.write("index/sameish.db", b"not a database");
    let run = dir.run(["dedup", "a.jsonl", "--against", "index"]).ends_with(4);
    run.says(&["not a sameish store"]);
}
