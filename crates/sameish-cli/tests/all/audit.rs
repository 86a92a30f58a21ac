//! `sameish eval --exact`: precision and recall with planted errors.

use crate::common::{Dir, gzip};
use serde_json::{Value, json};

/// Returns a text whose words occur with no other seed.
fn text(seed: u64, words: usize) -> String {
    (0..words).map(|word| format!("w{seed}x{word}")).collect::<Vec<_>>().join(" ")
}

/// Returns ten groups of texts: an original `a`, a copy `b` with one changed word of 40 (similarity 35 / 41), and an unrelated text
/// `c`.
fn families() -> Vec<Value> {
    (0..10)
        .flat_map(|n| {
            let original = text(n, 40);
            let copy = original.replace(&format!("w{n}x20 "), "changed ");
            [
                json!({"id": format!("a{n}"), "text": original}),
                json!({"id": format!("b{n}"), "text": copy}),
                json!({"id": format!("c{n}"), "text": text(100 + n, 40)}),
            ]
        })
        .collect()
}

fn audited(dir: &Dir, args: &[&str]) -> Value {
    let run = dir.run([&["eval", "--json"], args].concat()).ends_with(0);
    assert_eq!(run.stdout.lines().count(), 1);
    serde_json::from_str(&run.stdout).unwrap()
}

fn close(value: &Value, expected: f64) {
    assert!((value.as_f64().unwrap() - expected).abs() < 1e-6, "{value} is not {expected}");
}

#[test]
fn computes_precision_and_recall_of_a_file_of_pairs() {
    let dir = Dir::new();
    dir.write_records("corpus.jsonl", &families());
    // Three of ten pairs are missed, one of eight is wrong, and one has an unknown document.
    let mut pairs: Vec<Value> = (0..7).map(|n| json!({"a": format!("b{n}"), "b": format!("a{n}")})).collect();
    pairs.push(json!({"a": "c1", "b": "c2"}));
    pairs.push(json!({"a": "c1", "b": "nowhere"}));
    dir.write_records("pairs.jsonl", &pairs);
    let answer = audited(&dir, &["pairs.jsonl", "--exact", "corpus.jsonl"]);
    assert_eq!((&answer["documents"], &answer["sampled"]), (&json!(30), &json!(30)));
    assert_eq!((&answer["pairs"], &answer["found"], &answer["missed"]), (&json!(10), &json!(7), &json!(3)));
    assert_eq!((&answer["predicted"], &answer["wrong"]), (&json!(8), &json!(1)));
    close(&answer["recall"], 0.7);
    close(&answer["precision"], 0.875);
    // The Wilson interval for 7 of 10: (0.7 + 0.19207) / 1.38415 plus and minus 0.24809.
    close(&answer["recall_interval"][0], 0.396778);
    close(&answer["recall_interval"][1], 0.892209);
    assert_eq!(answer["unknown"], 1);
    let missed: Vec<&Value> = answer["worst_missed"].as_array().unwrap().iter().collect();
    assert_eq!(missed.len(), 3);
    for (at, pair) in (7..).zip(&missed) {
        assert_eq!((&pair["a"], &pair["b"]), (&json!(format!("a{at}")), &json!(format!("b{at}"))));
        close(&pair["similarity"], 35.0 / 41.0);
    }
    let wrong = json!([{"a": "c1", "b": "c2", "similarity": 0.0}]);
    assert_eq!(answer["worst_wrong"], wrong);
    assert_eq!(
        answer["by_similarity"],
        json!([{"from": 0.85, "to": 0.9, "pairs": 10, "found": 7, "recall": 0.7}])
    );
}

#[test]
fn clusters_and_labels_give_the_same_result_as_pairs() {
    let dir = Dir::new();
    dir.write_records("corpus.jsonl", &families());
    // Two groups form one cluster: one pair of each is correct, four pairs across are wrong. All other pairs are missing.
    dir.write_records("clusters.jsonl", &[json!({"id": 1, "members": ["a0", "b0", "a1", "b1"]})]);
    let labels = ["a0", "b0", "a1", "b1"].map(|id| json!({"id": id, "cluster": "x"}));
    dir.write_records("labels.jsonl", &labels);
    for file in ["clusters.jsonl", "labels.jsonl"] {
        let answer = audited(&dir, &[file, "--exact", "corpus.jsonl"]);
        assert_eq!((&answer["found"], &answer["missed"]), (&json!(2), &json!(8)), "{file}");
        assert_eq!((&answer["predicted"], &answer["wrong"]), (&json!(6), &json!(4)), "{file}");
        close(&answer["recall"], 0.2);
        close(&answer["precision"], 1.0 / 3.0);
    }
}

#[test]
fn measures_the_recall_of_the_index() {
    let dir = Dir::new();
    let mut records = families();
    // Six of ten copies are verbatim. The signatures of the others differ.
    for n in 0..6 {
        records[3 * n + 1]["text"] = records[3 * n]["text"].clone();
    }
    dir.write_records("corpus.jsonl", &records);
    dir.write("one-band.toml", "[minhash]\nbands = { count = 1, rows = 128 }\n");
    let answer = audited(&dir, &["--exact", "corpus.jsonl", "--config", "one-band.toml"]);
    assert_eq!((&answer["audited"], &answer["pairs"]), (&json!("engine"), &json!(10)));
    close(&answer["recall"], 0.6);
    assert!(answer["expected_recall"].as_f64().unwrap() < 0.61);
    assert_eq!((&answer["precision"], &answer["wrong"]), (&json!(1.0), &json!(0)));
    assert_eq!(answer["worst_missed"].as_array().unwrap().len(), 4);
    // The preset's bands find all pairs.
    let answer = audited(&dir, &["--exact", "corpus.jsonl"]);
    assert_eq!((&answer["recall"], &answer["pairs"]), (&json!(1.0), &json!(10)));
    // Equal texts are collapsed and have no candidates. The documents of the other four pairs have one candidate each.
    close(&answer["candidates_per_document"], 8.0 / 30.0);
    // This preset matches by fingerprints alone, so wrong pairs are possible.
    let answer = audited(&dir, &["--exact", "corpus.jsonl", "--preset", "wire", "--radius", "64"]);
    assert_eq!((&answer["predicted"], &answer["recall"]), (&json!(435), &json!(1.0)));
    assert_eq!(answer["expected_recall"], Value::Null);
}

#[test]
fn sample_depends_on_the_seed_but_not_on_order_or_threads() {
    let dir = Dir::new();
    let mut records = families();
    dir.write_records("corpus.jsonl", &records);
    records.reverse();
    let lines: String = records.iter().map(|record| format!("{record}\n")).collect();
    dir.write("reversed.jsonl.gz", gzip(lines.as_bytes()));
    let pairs: Vec<Value> = (0..5).map(|n| json!({"a": format!("a{n}"), "b": format!("b{n}")})).collect();
    dir.write_records("pairs.jsonl", &pairs);
    let run = |corpus: &str, threads: &str, seed: &str| {
        let args = ["pairs.jsonl", "--sample", "8", "--threads", threads, "--seed", seed, "--exact", corpus];
        let answer = audited(&dir, &args);
        assert_eq!(answer["sampled"], 8);
        [answer["pairs"].clone(), answer["found"].clone(), answer["missed"].clone()]
    };
    let first = run("corpus.jsonl", "1", "1");
    assert_eq!(run("corpus.jsonl", "4", "1"), first);
    assert_eq!(run("reversed.jsonl.gz", "2", "1"), first);
    assert!((2..20).any(|seed| run("corpus.jsonl", "1", &seed.to_string()) != first));
    // A pair counts once, whether one or both of its documents are sampled.
    let pairs = first[0].as_u64().unwrap();
    assert!((1..=8).contains(&pairs), "{pairs}");
}

#[test]
fn handles_duplicate_ids_and_short_texts() {
    let dir = Dir::new();
    let mut records = families();
    records.truncate(2);
    records.push(json!({"id": "a0", "text": records[0]["text"]}));
    records.push(json!({"id": "s1", "text": "short"}));
    records.push(json!({"id": "s2", "text": "Short"}));
    records.push(json!({"id": "s3", "text": "brief"}));
    records.push(json!({"id": "e1", "text": ""}));
    records.push(json!({"id": "e2", "text": ""}));
    dir.write_records("corpus.jsonl", &records);
    let answer = audited(&dir, &["--exact", "corpus.jsonl"]);
    // The copy, and the two texts that differ only in case. Empty texts do not match.
    assert_eq!((&answer["documents"], &answer["pairs"], &answer["found"]), (&json!(7), &json!(2), &json!(2)));
    // A duplicate id with a different text is rejected, or replaces the first.
    records.push(json!({"id": "b0", "text": text(7, 40)}));
    dir.write_records("corpus.jsonl", &records);
    let run =
        dir.run(["eval", "--json", "--exact", "corpus.jsonl"]).ends_with(3).says(&["duplicate id `b0`"]);
    assert_eq!(serde_json::from_str::<Value>(&run.stdout).unwrap()["pairs"], 2);
    let answer = audited(&dir, &["--exact", "corpus.jsonl", "--on-dup-id", "last"]);
    assert_eq!((&answer["documents"], &answer["pairs"]), (&json!(7), &json!(1)));
}

#[test]
fn similar_short_texts_are_counted_where_the_preset_compares_them() {
    let dir = Dir::new();
    let records =
        [json!({"id": 1, "text": text(7, 30)}), json!({"id": 2, "text": format!("{} end", text(7, 29))})];
    dir.write_records("corpus.jsonl", &records);
    dir.write("none.jsonl", "");
    let counts = |preset: &str, predicted: &[&str]| {
        let args =
            [predicted, &["--exact", "corpus.jsonl", "--preset", preset, "--threshold", "0.7"]].concat();
        let answer = audited(&dir, &args);
        ["pairs", "found", "missed"].map(|field| answer[field].as_u64().unwrap())
    };
    assert_eq!(counts("articles", &[]), [1, 1, 0]);
    assert_eq!(counts("articles", &["none.jsonl"]), [1, 0, 1]);
    dir.write_records(
        "corpus.jsonl",
        &[json!({"id": 1, "text": "one two"}), json!({"id": 2, "text": "one two?"})],
    );
    assert_eq!(
        counts("copies", &["none.jsonl"]),
        [0, 0, 0],
        "too short for any other match than an equal text"
    );
}

#[test]
fn templates_kept_apart_are_not_missed() {
    let dir = Dir::new();
    let template = |company: &str, figure: u32| {
        format!(
            "{company} said on Monday that its profit for the third quarter rose to {figure} million as sales of its \
             main products grew in all markets and costs fell for the second time in a row this year, which was \
             better than most analysts had expected before the report came out in the morning"
        )
    };
    let records = [
        json!({"id": 1, "text": template("Northwind Trading", 412)}),
        json!({"id": 2, "text": template("Contoso Motors", 958)}),
    ];
    dir.write_records("corpus.jsonl", &records);
    dir.write("clusters.jsonl", "{\"id\":1,\"members\":[1]}\n{\"id\":2,\"members\":[2]}\n");
    dir.write("pairs.jsonl", "{\"a\":8,\"b\":9,\"template\":false}\n");
    dir.write("listed.jsonl", "{\"a\":8,\"b\":9,\"template\":true}\n");
    let counts = |file: &str, templates: &[&str]| {
        let args = [&[file, "--threshold", "0.7", "--exact", "corpus.jsonl"], templates].concat();
        let answer = audited(&dir, &args);
        ["templates", "missed"].map(|field| answer[field].as_u64().unwrap())
    };
    let keep = ["--templates", "keep"];
    let merge = ["--templates", "merge"];
    assert_eq!([counts("clusters.jsonl", &[]), counts("clusters.jsonl", &merge)], [[1, 0], [0, 1]]);
    // Pairs without templates may have missed them.
    assert_eq!([counts("pairs.jsonl", &[]), counts("pairs.jsonl", &keep)], [[0, 1], [1, 0]]);
    assert_eq!(counts("pairs.jsonl", &merge), [0, 1]);
    // A file that lists templates does not keep them apart, so a template that it lacks is missed.
    assert_eq!([counts("listed.jsonl", &[]), counts("listed.jsonl", &keep)], [[0, 1], [0, 1]]);
}

#[test]
fn report_fits_80_columns() {
    let dir = Dir::new();
    dir.write_records("corpus.jsonl", &families());
    dir.write("pairs.jsonl", "{\"a\":\"a0\",\"b\":\"b0\"}\n{\"a\":\"c0\",\"b\":\"c1\"}\n");
    let run = dir.run(["eval", "pairs.jsonl", "--exact", "corpus.jsonl"]).ends_with(0);
    for words in [
        "30 documents, each compared with all others",
        "10 true, 1 found, 9 missed",
        "2 predicted, 1 wrong",
        "Missed pairs, ",
        "Wrong pairs, ",
    ] {
        assert!(run.stdout.contains(words), "no `{words}` in:\n{}", run.stdout);
    }
    assert!(run.stdout.lines().all(|line| line.chars().count() <= 80), "{}", run.stdout);
    dir.write("empty.jsonl", "");
    let run = dir.run(["eval", "--exact", "empty.jsonl"]).ends_with(0);
    assert!(run.stdout.contains("0 true"), "{}", run.stdout);
}

#[test]
fn reports_usage_errors_and_invalid_inputs() {
    let dir = Dir::new();
    dir.write_records("corpus.jsonl", &families());
    let cases: [(&[&str], &str); 7] = [
        (&["--exact", "-"], "pass files"),
        (&["a", "b", "--exact", "corpus.jsonl"], "cannot be used with"),
        (&["--exact", "corpus.jsonl", "--sample", "0"], "--sample"),
        (&["--exact", "corpus.jsonl", "--preset", "sdr"], "sparse codes"),
        (&["--exact", "corpus.jsonl", "--threshold", "1.1"], "must be between 0 and 1"),
        (&["a", "b", "--threshold", "0.5"], "--exact"),
        (&["a"], "GOLD"),
    ];
    for (args, says) in cases {
        dir.run([&["eval"], args].concat()).ends_with(2).says(&[says]);
    }
    dir.run(["eval", "--exact", "nowhere.jsonl"]).ends_with(4).says(&["nowhere.jsonl: no such file"]);
    dir.run(["eval", "nowhere.jsonl", "--exact", "corpus.jsonl"]).ends_with(4);
    dir.write("broken.jsonl", "{\"id\":1,\"text\":\"x\"}\nbroken\n");
    dir.run(["eval", "--exact", "broken.jsonl"]).ends_with(3).says(&["broken.jsonl, line 2"]);
}
