//! Records with sketches in place of a text, as `fingerprint --schemes` writes them.

use crate::common::{Dir, Run, lines};
use serde_json::Value;

/// Writes texts of which 0 and 2 are copies with one differing word, and 1 and 3 are not similar to any other.
fn write_texts(dir: &Dir) {
    let base: Vec<String> = (0..80).map(|i| format!("word{i}")).collect();
    let edited = base.join(" ").replace("word40", "changed");
    let other = |name: &str| (0..80).map(|i| format!("{name}{i}")).collect::<Vec<_>>().join(" ");
    let texts = [base.join(" "), other("second"), edited, other("third")];
    let records = texts.iter().enumerate().map(|(id, text)| format!("{{\"id\":{id},\"text\":\"{text}\"}}\n"));
    dir.write("texts.jsonl", records.collect::<String>());
}

fn ids(pairs: &[Value]) -> Vec<(u64, u64)> {
    pairs.iter().map(|pair| (pair["a"].as_u64().unwrap(), pair["b"].as_u64().unwrap())).collect()
}

#[test]
fn pairs_clusters_and_dedup_accept_sketches_in_place_of_texts() {
    let dir = Dir::new();
    write_texts(&dir);
    for preset in ["wire", "articles", "copies"] {
        let name = format!("{preset}.jsonl");
        let fingerprint = ["fingerprint", "--schemes", "--preset", preset, "texts.jsonl", "-o", &name, "-q"];
        dir.run(fingerprint).ends_with(0);
        let expected =
            lines(&dir.run(["pairs", "--preset", preset, "texts.jsonl", "-q"]).ends_with(0).stdout);
        let found = lines(&dir.run(["pairs", "--preset", preset, &name, "-q"]).ends_with(0).stdout);
        assert_eq!(ids(&found), [(0, 2)], "{preset}");
        assert_eq!(ids(&found), ids(&expected), "{preset}");
        assert_eq!(found[0]["verified"], false, "{preset}");
        assert_eq!(found[0].get("facts"), Some(&serde_json::Value::Null), "{preset}: facts need a text");
        assert_ne!(found[0]["match_type"], "exact", "{preset}");

        // Without a text nothing can be verified, so presets that verify need permission to remove records.
        let verifies = preset != "wire";
        for command in [&["cluster"][..], &["dedup", "-o", "kept.jsonl", "--force"]] {
            let args = [command, &["--preset", preset, &name, "-q"]].concat();
            if verifies {
                let run = dir.run(&args).ends_with(2);
                run.says(&["no match can be verified", "--unverified"]);
            }
            let allowed = if verifies { [&args[..], &["--unverified"]].concat() } else { args };
            let run = dir.run(&allowed).ends_with(0);
            if command[0] == "cluster" {
                let clusters = lines(&run.stdout);
                assert_eq!(clusters[0]["members"], serde_json::json!([0, 2]), "{preset}");
                assert_eq!(clusters.len(), 3, "{preset}");
            } else {
                let kept = lines(&dir.read("kept.jsonl"));
                assert_eq!(kept.iter().map(|record| record["id"].clone()).collect::<Vec<_>>(), [0, 1, 3]);
            }
        }
    }
}

#[test]
fn sketches_of_another_scheme_are_refused() {
    let dir = Dir::new();
    write_texts(&dir);
    let fingerprint =
        ["fingerprint", "--schemes", "--preset", "copies", "texts.jsonl", "-o", "s.jsonl", "-q"];
    dir.run(fingerprint).ends_with(0);
    // The scheme contains every setting that the sketch depends on.
    let run = dir.run(["pairs", "--shingle", "words:2", "s.jsonl"]).ends_with(4);
    run.says(&["sketch has scheme", "create both sketches with the same settings"]);
    dir.run(["pairs", "--preset", "wire", "s.jsonl"]).ends_with(4).says(&["the settings compute none"]);
    dir.write("no-scheme.jsonl", "{\"id\":1,\"simhash\":\"00000000000000ff\"}\n");
    let run = dir.run(["pairs", "--preset", "wire", "no-scheme.jsonl"]).ends_with(4);
    run.says(&["`simhash_scheme` is absent", "fingerprint --schemes"]);
}

#[test]
fn equal_sketches_are_near_and_never_exact() {
    let dir = Dir::new();
    write_texts(&dir);
    let text = dir.read("texts.jsonl");
    let first = text.lines().next().unwrap();
    dir.write("twice.jsonl", format!("{first}\n{}\n", first.replacen("\"id\":0", "\"id\":1", 1)));
    for preset in ["wire", "copies"] {
        dir.run([
            "fingerprint",
            "--schemes",
            "--preset",
            preset,
            "twice.jsonl",
            "-o",
            "s.jsonl",
            "-q",
            "--force",
        ])
        .ends_with(0);
        let found = lines(&dir.run(["pairs", "--preset", preset, "s.jsonl", "-q"]).ends_with(0).stdout);
        assert_eq!(
            (&found[0]["similarity"], &found[0]["match_type"]),
            (&1.0.into(), &"near".into()),
            "{preset}"
        );
        assert_eq!(found[0]["verified"], false, "{preset}");
        // The text and its sketches in one corpus.
        let line = dir.read("s.jsonl").lines().nth(1).unwrap().to_owned();
        dir.write("mixed.jsonl", format!("{first}\n{line}\n"));
        let found = lines(&dir.run(["pairs", "--preset", preset, "mixed.jsonl", "-q"]).ends_with(0).stdout);
        assert_eq!(ids(&found), [(0, 1)], "{preset}");
        assert_eq!(
            (&found[0]["similarity"], &found[0]["verified"]),
            (&1.0.into(), &false.into()),
            "{preset}"
        );
    }
}

/// `tune` and `eval --exact` measure similarities of texts, so a record without a text would change every figure.
#[test]
fn commands_that_measure_texts_reject_records_with_sketches_alone() {
    let dir = Dir::new();
    write_texts(&dir);
    dir.run(["fingerprint", "--schemes", "--preset", "copies", "texts.jsonl", "-o", "s.jsonl", "-q"])
        .ends_with(0);
    let texts = dir.read("texts.jsonl");
    let sketches = dir.read("s.jsonl").replace("\"id\":", "\"id\":7");
    dir.write("mixed.jsonl", format!("{texts}{sketches}"));
    let count = texts.lines().count();
    for (command, pointer) in [(&["tune"][..], "/counts/documents"), (&["eval", "--exact"], "/documents")] {
        let run = |input: &str| dir.run([command, &[input, "--json"]].concat());
        let documents = |run: &Run| lines(&run.stdout)[0].pointer(pointer).cloned();
        let mixed = run("mixed.jsonl").ends_with(3).says(&["sketches and no text"]);
        assert_eq!(documents(&mixed), Some(count.into()), "{command:?}");
        assert_eq!(documents(&run("texts.jsonl").ends_with(0)), Some(count.into()), "{command:?}");
    }
}

/// The fields of a match are there in every interface, whether it is verified or not.
#[test]
fn unverified_pairs_have_facts_null() {
    let dir = Dir::new();
    write_texts(&dir);
    for (preset, verified) in [("wire", false), ("copies", true)] {
        for pair in lines(&dir.run(["pairs", "--preset", preset, "texts.jsonl", "-q"]).ends_with(0).stdout) {
            assert_eq!((&pair["verified"], &pair["template"]), (&verified.into(), &false.into()), "{pair}");
            assert!(pair.get("facts").is_some_and(|facts| facts.is_null() != verified), "{pair}");
        }
    }
}

#[test]
fn an_index_accepts_and_finds_sketches() {
    let dir = Dir::new();
    write_texts(&dir);
    dir.run(["fingerprint", "--schemes", "--preset", "copies", "texts.jsonl", "-o", "s.jsonl", "-q"])
        .ends_with(0);
    dir.run(["index", "build", "index", "s.jsonl", "--preset", "copies", "-q"]).ends_with(0);
    dir.run(["index", "verify", "index"]).ends_with(0);
    let answers = lines(&dir.run(["index", "query", "index", "texts.jsonl", "-q"]).ends_with(0).stdout);
    let found = answers[0]["similar"].as_array().unwrap();
    assert_eq!(found.iter().map(|found| found["id"].clone()).collect::<Vec<_>>(), [0, 2]);
    assert!(found.iter().all(|found| found["verified"] == false && found["facts"].is_null()));
}

#[test]
fn stop_words_can_be_read_from_a_file() {
    let dir = Dir::new();
    dir.write(
        "texts.jsonl",
        "{\"id\":1,\"text\":\"the old bridge is closed\"}\n{\"id\":2,\"text\":\"old bridge closed\"}\n",
    );
    dir.write("words.txt", "The\n\nis\n");
    dir.write("list.toml", "[text]\nstop_words = [\"is\", \"the\"]\n");
    let pairs =
        |options: &[&str]| dir.run([&["pairs", "texts.jsonl", "-q"], options].concat()).ends_with(0).stdout;
    assert_eq!(lines(&pairs(&[])).len(), 0);
    let found = pairs(&["--stop-words-file", "words.txt"]);
    assert_eq!(lines(&found)[0]["similarity"], 1.0);
    assert_eq!(pairs(&["--config", "list.toml"]), found);
    dir.write("two.txt", "new york\n");
    let run = dir.run(["pairs", "texts.jsonl", "--stop-words-file", "two.txt"]).ends_with(2);
    run.says(&["stop words `two.txt`", "must be one word"]);
    dir.run(["pairs", "texts.jsonl", "--stop-words-file", "absent.txt"])
        .ends_with(2)
        .says(&["check the path"]);
    // The list is part of the scheme.
    let fingerprint = ["fingerprint", "--schemes", "texts.jsonl", "-q", "-o", "s.jsonl"];
    dir.run(fingerprint).ends_with(0);
    dir.run(["pairs", "s.jsonl", "--stop-words-file", "words.txt"]).ends_with(4).says(&["sketch has scheme"]);
}

/// One record with sketches must not make a corpus of many similar texts expensive.
#[test]
fn crowds_of_texts_are_divided_although_a_record_has_no_text() {
    let dir = Dir::new();
    // Notices with the same wording, and words of their own, so that all of them share buckets and few match.
    let record = |id: usize| {
        let shared = (0..60).map(|i| format!("word{i}"));
        let own = (0..30).map(|i| format!("own{}", (id / 2) * 30 + i));
        let text: Vec<String> = shared.chain(own).collect();
        format!("{{\"id\":{id},\"text\":\"{} end{id}\"}}\n", text.join(" "))
    };
    let texts: String = (0..400).map(record).collect();
    dir.write("texts.jsonl", &texts);
    dir.write("one.jsonl", record(7).replace("\"id\":7", "\"id\":\"sketch\""));
    dir.run(["fingerprint", "--schemes", "one.jsonl", "-o", "sketch.jsonl", "-q"]).ends_with(0);
    for command in [
        &["pairs"][..],
        &["cluster", "--unverified", "--linkage", "components"],
        &["cluster", "--unverified"],
    ] {
        let run = |inputs: &[&str]| {
            let run = dir.run([command, inputs, &["--json"]].concat()).ends_with(0);
            let summary: Value = serde_json::from_str(run.stderr.lines().last().unwrap()).unwrap();
            (lines(&run.stdout), summary)
        };
        let (expected, alone) = run(&["texts.jsonl"]);
        for inputs in [["texts.jsonl", "sketch.jsonl"], ["sketch.jsonl", "texts.jsonl"]] {
            let (found, mixed) = run(&inputs);
            let is_of_sketch = |line: &Value| line.to_string().contains("\"sketch\"");
            let (of_sketch, mut others): (Vec<Value>, Vec<Value>) = found.into_iter().partition(is_of_sketch);
            let mentions = |line: &Value, id: u64| line.to_string().contains(&format!("{id}"));
            assert!(
                of_sketch.iter().any(|line| mentions(line, 6) && mentions(line, 7)) || of_sketch.len() >= 2,
                "{of_sketch:?}"
            );
            if command[0] == "pairs" {
                others.sort_by_key(|line| (line["b"].as_u64(), line["a"].as_u64()));
                assert_eq!(others, expected);
                assert!(of_sketch.iter().all(|pair| pair["verified"] == false));
            }
            let candidates = |summary: &Value| summary["candidates"].as_u64().unwrap();
            // The sketch is compared with its whole bucket, and texts as without it.
            let most = candidates(&alone) + 2 * 401;
            assert!(candidates(&mixed) <= most, "{command:?}: {} > {most}", candidates(&mixed));
            assert!(candidates(&alone) < 400 * 399 / 8, "the crowd is divided: {alone}");
            assert_eq!(mixed["caps_hit"], alone["caps_hit"]);
        }
    }
}
