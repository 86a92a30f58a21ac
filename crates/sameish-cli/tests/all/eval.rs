//! `sameish eval`: file kinds, measures, examples, invalid files.

use crate::common::{Dir, gzip};
use serde_json::{Value, json};

const FOUND: &str =
    "{\"id\":0,\"center\":\"a\",\"members\":[\"a\",\"b\",\"c\"]}\n{\"id\":1,\"members\":[\"d\",\"e\"]}\n";
const TRUTH: &str =
    "{\"id\":\"x\",\"members\":[\"a\",\"b\"]}\n{\"id\":\"y\",\"members\":[\"c\",\"d\",\"e\"]}\n";

fn evaluated(dir: &Dir, args: &[&str]) -> Value {
    let run = dir.run([&["eval", "--json"], args].concat()).ends_with(0);
    assert_eq!(run.stdout.lines().count(), 1);
    serde_json::from_str(&run.stdout).unwrap()
}

#[test]
fn computes_every_measure_for_clusters() {
    let dir = Dir::new();
    dir.write("found", FOUND);
    dir.write("truth", gzip(TRUTH.as_bytes()));
    let answer = evaluated(&dir, &["found", "truth"]);
    let pairs =
        json!({"both": 2, "only_predicted": 2, "only_gold": 2, "precision": 0.5, "recall": 0.5, "f1": 0.5});
    assert_eq!(answer["pairs"], pairs);
    assert_eq!(answer["adjusted_rand_index"], 0.166667);
    assert_eq!(answer["bcubed"], json!({"precision": 0.733333, "recall": 0.733333, "f1": 0.733333}));
    let merges = json!([{"cluster": 0, "documents": 3, "pairs": 2, "parts": 2, "largest_parts": [
        {"cluster": "x", "documents": 2, "example": "a"}, {"cluster": "y", "documents": 1, "example": "c"}]}]);
    assert_eq!(answer["false_merges"], merges);
    let splits = json!([{"cluster": "y", "documents": 3, "pairs": 2, "parts": 2, "largest_parts": [
        {"cluster": 1, "documents": 2, "example": "d"}, {"cluster": 0, "documents": 1, "example": "c"}]}]);
    assert_eq!(answer["splits"], splits);
    assert_eq!(evaluated(&dir, &["found", "truth", "--examples", "0"])["splits"], json!([]));
}

#[test]
fn labels_give_the_same_result_as_clusters() {
    let dir = Dir::new();
    dir.write("found", FOUND);
    dir.write("truth", TRUTH);
    let label =
        |id: &str, cluster: &str| format!("{{\"doc\":\"{id}\",\"story\":\"{cluster}\",\"text\":\"...\"}}\n");
    let labeled = [("a", "x"), ("c", "y"), ("b", "x"), ("e", "y"), ("d", "y")].map(|(id, c)| label(id, c));
    dir.write("labels", labeled.concat());
    let expected = evaluated(&dir, &["found", "truth"]);
    let answer = evaluated(&dir, &["found", "labels", "--cluster-field", "story", "--id-field", "doc"]);
    for measure in ["pairs", "bcubed", "adjusted_rand_index", "false_merges"] {
        assert_eq!(answer[measure], expected[measure], "{measure}");
    }
    assert_eq!(answer["gold"]["kind"], "labels");
}

#[test]
fn removals_give_the_same_result_as_clusters() {
    let dir = Dir::new();
    dir.write("found", FOUND);
    dir.write("truth", TRUTH);
    // The format of `dedup --removed`, in which `id` is the removed document even if records have another id field.
    dir.write("removed", "{\"id\":\"b\",\"kept\":\"a\",\"similarity\":0.9}\n{\"id\":\"c\",\"kept\":\"a\",\"similarity\":0.8}\n{\"id\":\"e\",\"kept\":\"d\",\"similarity\":1}\n");
    let expected = evaluated(&dir, &["found", "truth"]);
    for args in [&["removed", "truth"][..], &["removed", "truth", "--id-field", "doc"]] {
        let answer = evaluated(&dir, args);
        for measure in ["pairs", "bcubed", "adjusted_rand_index"] {
            assert_eq!(answer[measure], expected[measure], "{measure}");
        }
        assert_eq!(answer["predicted"]["kind"], "removals");
    }
}

#[test]
fn removals_of_dedup_can_be_evaluated() {
    let dir = Dir::new();
    let text = "the council voted on monday to close the old bridge over the river until next spring";
    let records = [(1, text), (2, "an unrelated text about the price of bread"), (3, text)];
    dir.write_records("in.jsonl", &records.map(|(id, text)| json!({"id": id, "text": text})));
    dir.run(["dedup", "in.jsonl", "-o", "out.jsonl", "--removed", "removed.jsonl"]).ends_with(0);
    dir.write("truth", "{\"members\":[1,3]}\n{\"members\":[2]}\n");
    let answer = evaluated(&dir, &["removed.jsonl", "truth"]);
    assert_eq!((&answer["pairs"]["both"], &answer["pairs"]["f1"]), (&json!(1), &json!(1.0)));
}

#[test]
fn only_judged_pairs_count_if_some_are_different() {
    let dir = Dir::new();
    dir.write("clusters", FOUND);
    dir.write("pairs", "{\"a\":\"a\",\"b\":\"b\"}\n{\"a\":\"c\",\"b\":\"a\"}\n{\"a\":\"d\",\"b\":\"e\"}\n");
    // The format of `tune --labels`: a-b is found, a-c is wrong, b-d is missed, c-d is not found, and d-e is not judged.
    let judged = [("a", "b", true), ("a", "c", false), ("d", "b", true), ("c", "d", false)];
    let lines = judged.map(|(a, b, same)| format!("{{\"a\":\"{a}\",\"b\":\"{b}\",\"same\":{same}}}\n"));
    dir.write("judged", lines.concat());
    for (predicted, unjudged) in [("clusters", 2), ("pairs", 1)] {
        let answer = evaluated(&dir, &[predicted, "judged"]);
        let expected = json!({"both": 1, "only_predicted": 1, "only_gold": 1, "precision": 0.5, "recall": 0.5, "f1": 0.5});
        assert_eq!((&answer["pairs"], &answer["unjudged"]), (&expected, &json!(unjudged)), "{predicted}");
    }
    dir.write("invalid", "{\"a\":1,\"b\":2,\"same\":\"no\"}\n");
    dir.run(["eval", "invalid", "judged"]).ends_with(4).says(&["`same` must be true or false"]);
    // In labeled records, fields with these names have no meaning.
    dir.write("labels", "{\"id\":\"a\",\"cluster\":1,\"same\":\"no\",\"kept\":[],\"template\":0}\n");
    assert_eq!(evaluated(&dir, &["labels", "judged"])["predicted"]["documents"], 1);
}

#[test]
fn null_label_is_a_cluster_of_its_own() {
    let dir = Dir::new();
    dir.write("a", "{\"id\":1,\"cluster\":null}\n{\"id\":2,\"cluster\":null}\n{\"id\":3,\"cluster\":1}\n");
    let answer = evaluated(&dir, &["a", "a"]);
    assert_eq!((&answer["gold"]["count"], &answer["pairs"]["both"]), (&json!(3), &json!(0)));
}

#[test]
fn ids_keep_their_type() {
    let dir = Dir::new();
    dir.write("a", "{\"members\":[7,\"7\",-7,18446744073709551615]}\n");
    dir.write("b", "{\"members\":[\"7\"]}\n{\"members\":[\"18446744073709551615\"]}\n");
    let answer = evaluated(&dir, &["a", "b"]);
    assert_eq!(answer["documents"], 5);
    assert_eq!(answer["predicted"]["only_here"], 3);
    assert_eq!(answer["gold"]["only_here"], 1);
    assert_eq!(answer["pairs"]["only_predicted"], 6);
}

#[test]
fn missing_documents_are_clusters_of_their_own() {
    let dir = Dir::new();
    dir.write("a", "{\"members\":[1,2]}\n");
    dir.write("b", "{\"members\":[2,3]}\n");
    let run = dir.run(["eval", "a", "b"]).ends_with(0);
    assert!(
        run.stdout.contains("1 document only in PRED: each is a cluster of its own in GOLD\n"),
        "{}",
        run.stdout
    );
    assert!(
        run.stdout.contains("1 document only in GOLD: each is a cluster of its own in PRED\n"),
        "{}",
        run.stdout
    );
    let answer = evaluated(&dir, &["a", "b"]);
    assert_eq!(
        answer["pairs"],
        json!({"both": 0, "only_predicted": 1, "only_gold": 1, "precision": 0.0, "recall": 0.0, "f1": 0.0})
    );
    // {1 2} {3} against {1} {2 3}: the precisions of the documents are 1/2, 1/2 and 1.
    assert_eq!(answer["bcubed"]["precision"], 0.666667);
}

#[test]
fn pairs_are_not_transitive() {
    let dir = Dir::new();
    dir.write("pairs", "{\"a\":1,\"b\":2,\"similarity\":0.9}\n{\"a\":3,\"b\":2}\n{\"a\":8,\"b\":9}\n");
    dir.write("clusters", "{\"members\":[1,2,3]}\n{\"members\":[8]}\n");
    let answer = evaluated(&dir, &["pairs", "clusters"]);
    assert_eq!(answer["pairs"]["both"], 2);
    assert_eq!(answer["pairs"]["only_predicted"], 1);
    assert_eq!(answer["pairs"]["only_gold"], 1);
    assert_eq!((&answer["bcubed"], &answer["adjusted_rand_index"]), (&Value::Null, &Value::Null));
    assert_eq!(answer["gold"]["only_here"], 0);
    assert_eq!(answer["predicted"]["only_here"], 1);
    let mirror = evaluated(&dir, &["clusters", "pairs"]);
    assert_eq!(mirror["pairs"]["recall"], answer["pairs"]["precision"]);
    dir.write("others", "{\"a\":2,\"b\":1}\n{\"a\":1,\"b\":3}\n");
    let answer = evaluated(&dir, &["pairs", "others"]);
    assert_eq!(answer["pairs"]["both"], 1);
    assert_eq!(answer["pairs"]["only_gold"], 1);
    assert!(dir.run(["eval", "pairs", "clusters"]).ends_with(0).stdout.contains("not transitive"));
}

#[test]
fn report_fits_80_columns() {
    let dir = Dir::new();
    let id = |n: usize| format!("\"{n}-{}\"", "long ".repeat(40));
    let members = |from, to| (from..to).map(id).collect::<Vec<_>>().join(",");
    dir.write("a", format!("{{\"id\":{},\"members\":[{}]}}\n", id(0), members(0, 50)));
    dir.write(
        "b",
        format!(
            "{{\"members\":[{}]}}\n{{\"id\":{},\"members\":[{}]}}\n",
            members(20, 40),
            id(1),
            members(40, 70)
        ),
    );
    let run = dir.run(["eval", "a", "b"]).ends_with(0);
    assert!(run.stdout.contains("False merges") && run.stdout.contains("Splits"));
    assert!(run.stdout.lines().all(|line| line.chars().count() <= 80), "{}", run.stdout);
}

#[test]
fn invalid_lines_are_errors() {
    let cases = [
        ("{\"members\":[1,2]}\n{\"members\":[2,3]}\n", "line 2: duplicate id 2"),
        ("{\"members\":[1,1]}\n", "line 1: duplicate id 1"),
        ("{\"id\":1,\"cluster\":1}\n{\"id\":1,\"cluster\":1}\n", "line 2: duplicate id 1"),
        ("{\"a\":1,\"b\":2}\n{\"a\":2,\"b\":1}\n", "line 2: pair occurs twice"),
        ("{\"a\":1,\"b\":1}\n", "a document with itself"),
        (
            "{\"members\":[1]}\n\n{\"a\":1,\"b\":2}\n",
            "line 3: the line contains pairs, but the file starts with clusters",
        ),
        ("{\"id\":1}\n", "line 1: neither a cluster"),
        ("{\"cluster\":1}\n", "field `id` is missing"),
        ("{\"members\":[1.5]}\n", "`members` must contain strings or 64-bit integers"),
        ("{\"members\":[1],\"members\":[2]}\n", "duplicate key `members`"),
        ("{\"members\":[1]} x\n", "line 1: "),
        ("[1]\n", "line 1: "),
        ("\u{1b}[31m\n", "line 1: "),
    ];
    for (content, says) in cases {
        let dir = Dir::new();
        dir.write("bad", content);
        dir.write("good", TRUTH);
        for args in [["eval", "bad", "good"], ["eval", "good", "bad"]] {
            let run = dir.run(args).ends_with(4).says(&["error: bad: ", says]);
            assert_eq!((run.stdout.as_str(), run.stderr.contains('\u{1b}')), ("", false));
        }
    }
    let dir = Dir::new();
    dir.write("good", TRUTH);
    dir.run(["eval", "good", "nowhere"]).ends_with(4).says(&["nowhere: no such file"]);
    dir.run(["eval", "-", "-"]).ends_with(2).says(&["given twice"]);
    dir.write("long", format!("{{\"members\":[{}]}}\n", vec!["1"; 2000].join(",")));
    dir.run(["eval", "long", "good", "--max-line", "1K"])
        .ends_with(5)
        .says(&["line 1: longer than 1024 bytes"]);
}

#[test]
fn accepts_empty_files() {
    let dir = Dir::new();
    dir.write("a", "\n");
    let answer = evaluated(&dir, &["a", "a"]);
    assert_eq!((&answer["documents"], &answer["pairs"]["f1"]), (&json!(0), &json!(1.0)));
    let stdin =
        dir.run_with_stdin(["eval", "-", "a", "--json", "--quiet", "--threads", "2"], b"").ends_with(0);
    assert_eq!(serde_json::from_str::<Value>(&stdin.stdout).unwrap()["documents"], 0);
}
