//! `hamming build`, `query` and `merge`.

use crate::common::{Dir, lines};
use std::process::{Child, Stdio};

/// Writes texts of which many are near each other by their fingerprints.
fn write_texts(dir: &Dir) {
    let record = |id: usize| {
        let family = id / 4;
        let mut words: Vec<String> =
            (0..60).map(|i| format!("w{}", (family * 60 + i) * 7919 % 5003)).collect();
        if !id.is_multiple_of(4) {
            words[id % 60] = format!("edited{id}");
        }
        format!("{{\"id\":\"doc-{id}\",\"text\":\"{}\"}}\n", words.join(" "))
    };
    dir.write("texts.jsonl", (0..400).map(record).collect::<String>());
}

#[test]
fn four_processes_with_a_part_each_answer_like_one_with_all() {
    let dir = Dir::new();
    write_texts(&dir);
    let build = |tables: &str, parts: &str| {
        let args = [
            "hamming",
            "build",
            tables,
            "texts.jsonl",
            "--preset",
            "wire",
            "--radius",
            "8",
            "--parts",
            parts,
        ];
        dir.run(args).ends_with(0).says(&["400 fingerprints"]);
    };
    build("one", "1");
    build("four", "4");
    let query = ["hamming", "query", "one", "texts.jsonl", "-q"];
    let expected = dir.run(query).ends_with(0).stdout;
    let found: usize = lines(&expected).iter().map(|line| line["matches"].as_array().unwrap().len()).sum();
    assert!(found > 800, "texts of a family match each other: {found}");
    for line in lines(&expected) {
        let matches = line["matches"].as_array().unwrap();
        assert!(
            matches.iter().any(|near| near["id"] == line["id"] && near["simhash_distance"] == 0),
            "{line}"
        );
        assert!(matches.iter().all(|near| near["verified"] == false), "{line}");
    }
    // All parts in one process.
    assert_eq!(dir.run(["hamming", "query", "four", "texts.jsonl", "-q"]).ends_with(0).stdout, expected);
    // Four processes at the same time.
    let start = |part: usize| -> Child {
        let part = format!("{part}/4");
        let output = format!("answers-{}.jsonl", &part[..1]);
        let args = ["hamming", "query", "four", "texts.jsonl", "-q", "--part", &part, "-o", &output];
        dir.command(args).stdin(Stdio::null()).spawn().unwrap()
    };
    let children: Vec<Child> = (1..=4).map(start).collect();
    for mut child in children {
        assert!(child.wait().unwrap().success());
    }
    let names = ["answers-3.jsonl", "answers-1.jsonl", "answers-4.jsonl", "answers-2.jsonl"];
    let answers = |name: &&str| -> usize {
        lines(&dir.read(name)).iter().map(|line| line["matches"].as_array().unwrap().len()).sum()
    };
    let by_part: Vec<usize> = names.iter().map(answers).collect();
    assert_eq!(by_part.iter().sum::<usize>(), found, "each match is reported by one part");
    assert!(by_part.iter().filter(|count| **count > 0).count() > 1, "{by_part:?}");
    let merge = |names: &[&str], options: &[&str]| dir.run([&["hamming", "merge"], names, options].concat());
    assert_eq!(merge(&names, &[]).ends_with(0).stdout, expected);
    merge(&names[..3], &[]).ends_with(4).says(&["part 2 of 4 is missing", "--part 2/4"]);
    merge(&[&names[..], &names[..1]].concat(), &[]).ends_with(4).says(&["both answer part 3 of 4"]);
    dir.run(["hamming", "query", "four", "texts.jsonl", "-q", "-o", "whole.jsonl"]).ends_with(0);
    merge(&["whole.jsonl"], &[]).ends_with(4).says(&["the answer of all parts"]);
    // Compressed answers, and a limit.
    let compressed: Vec<String> = (1..=4).map(|part| format!("limited-{part}.jsonl.gz")).collect();
    let limited = ["--limit", "2"];
    for (output, part) in compressed.iter().zip(["1/4", "2/4", "3/4", "4/4"]) {
        let args = ["hamming", "query", "four", "texts.jsonl", "-q", "--part", part, "-o", output];
        dir.run([&args[..], &limited].concat()).ends_with(0);
    }
    let compressed: Vec<&str> = compressed.iter().map(String::as_str).collect();
    let expected = dir.run([&query[..], &limited].concat()).ends_with(0).stdout;
    assert_eq!(merge(&compressed, &limited).ends_with(0).stdout, expected);
    let is_capped = |line: &serde_json::Value| {
        assert!(line["matches"].as_array().unwrap().len() <= 2);
        line["capped"] == true
    };
    assert!(lines(&expected).iter().filter(|line| is_capped(line)).count() > 100);
    merge(&compressed, &[]).ends_with(4).says(&["--limit 2"]);
}

#[test]
fn failed_build_keeps_the_tables_and_a_build_with_fewer_parts_leaves_no_old_ones() {
    let dir = Dir::new();
    write_texts(&dir);
    let build = |input: &str, parts: &str| {
        let args = ["hamming", "build", "t", input, "--preset", "wire", "--force", "-q", "--parts", parts];
        dir.run(args)
    };
    let query = || dir.run(["hamming", "query", "t", "texts.jsonl", "-q"]).ends_with(0).stdout;
    build("texts.jsonl", "3").ends_with(0);
    let before = query();
    build("absent.jsonl", "2").ends_with(4);
    dir.write("binary.jsonl", "\0\0\0\0");
    build("binary.jsonl", "2").ends_with(4);
    assert_eq!(query(), before);
    dir.write("t/notes.txt", "a file of the user");
    build("texts.jsonl", "2").ends_with(0);
    assert_eq!(query(), before);
    let mut names: Vec<String> = std::fs::read_dir(dir.path("t"))
        .unwrap()
        .map(|entry| entry.unwrap().file_name().into_string().unwrap())
        .collect();
    names.sort();
    let expected = [
        "hamming.json",
        "ids.jsonl",
        "ids.offsets",
        "notes.txt",
        "part-1-of-2.hamming",
        "part-2-of-2.hamming",
    ];
    assert_eq!(names, expected);
}

#[test]
fn every_flipped_byte_and_every_file_of_other_tables_is_an_error() {
    let dir = Dir::new();
    write_texts(&dir);
    // The fingerprints of `web` are evenly distributed, so that no part is empty.
    let build = |tables: &str, input: &str| {
        dir.run(["hamming", "build", tables, input, "--preset", "web", "--parts", "2", "-q"]).ends_with(0);
    };
    build("t", "texts.jsonl");
    dir.write("fewer.jsonl", dir.read("texts.jsonl").lines().skip(1).collect::<Vec<_>>().join("\n"));
    build("other", "fewer.jsonl");
    let query = |args: &[&str]| dir.run([&["hamming", "query", "t", "texts.jsonl", "-q"], args].concat());
    for name in ["hamming.json", "ids.jsonl", "ids.offsets", "part-1-of-2.hamming", "part-2-of-2.hamming"] {
        let path = dir.path(format!("t/{name}"));
        let whole = std::fs::read(&path).unwrap();
        for at in [whole.len() / 4, whole.len() / 2, whole.len() - 4] {
            let mut damaged = whole.clone();
            damaged[at] ^= 1;
            std::fs::write(&path, damaged).unwrap();
            query(&[]).ends_with(4).says(&[name, "build the tables again"]);
        }
        // A part does not need the files of other parts.
        let code = if name == "part-2-of-2.hamming" { 0 } else { 4 };
        query(&["--part", "1/2"]).ends_with(code);
        std::fs::write(&path, &whole[..whole.len() - 1]).unwrap();
        query(&[]).ends_with(4).says(&[name]);
        std::fs::copy(dir.path(format!("other/{name}")), &path).unwrap();
        query(&[]).ends_with(4).says(&["the file is damaged, or belongs to other tables"]);
        std::fs::write(&path, whole).unwrap();
    }
    query(&[]).ends_with(0);
    query(&["--part", "1/2", "-o", "1.jsonl"]).ends_with(0);
    query(&["--part", "2/2", "-o", "near.jsonl", "--radius", "2"]).ends_with(0);
    dir.run(["hamming", "merge", "1.jsonl", "near.jsonl"]).ends_with(4).says(&["radius 2", "with 3"]);
    dir.run(["hamming", "query", "other", "texts.jsonl", "-q", "--part", "2/2", "-o", "2.jsonl"])
        .ends_with(0);
    dir.run(["hamming", "merge", "1.jsonl", "2.jsonl"]).ends_with(4).says(&["2.jsonl", "other tables"]);
    let args = ["hamming", "build", "many", "texts.jsonl", "--preset", "wire", "--parts", "4097"];
    dir.run(args).ends_with(2).says(&["4096"]);
}

#[test]
fn tables_accept_sketches_and_a_smaller_radius() {
    let dir = Dir::new();
    write_texts(&dir);
    dir.run(["fingerprint", "--preset", "wire", "--schemes", "texts.jsonl", "-o", "s.jsonl", "-q"])
        .ends_with(0);
    dir.run(["hamming", "build", "a", "texts.jsonl", "--preset", "wire", "-q"]).ends_with(0);
    dir.run(["hamming", "build", "b", "s.jsonl", "--preset", "wire", "-q"]).ends_with(0);
    let query = |tables: &str, input: &str, radius: &str| {
        dir.run(["hamming", "query", tables, input, "-q", "--radius", radius]).ends_with(0).stdout
    };
    assert_eq!(query("a", "texts.jsonl", "3"), query("b", "s.jsonl", "3"));
    for line in lines(&query("a", "texts.jsonl", "0")) {
        assert!(line["matches"].as_array().unwrap().iter().all(|near| near["simhash_distance"] == 0));
    }
}

#[test]
fn wrong_arguments_and_files_are_reported() {
    let dir = Dir::new();
    write_texts(&dir);
    dir.run(["hamming", "build", "t", "texts.jsonl", "-q"])
        .ends_with(2)
        .says(&["no fingerprints", "--preset"]);
    dir.run(["hamming", "build", "t", "texts.jsonl", "--preset", "wire", "--parts", "2", "-q"]).ends_with(0);
    dir.run(["hamming", "build", "t", "texts.jsonl", "--preset", "wire", "-q"])
        .ends_with(2)
        .says(&["--force"]);
    let query = |args: &[&str]| dir.run([&["hamming", "query", "t", "texts.jsonl", "-q"], args].concat());
    query(&["--part", "1/3"]).ends_with(2).says(&["have 2 parts", "`--part 1/2`"]);
    query(&["--part", "0/2"]).ends_with(2);
    query(&["--radius", "9"]).ends_with(2).says(&["more than the radius of the tables, 3"]);
    dir.run(["hamming", "query", "absent", "texts.jsonl"])
        .ends_with(4)
        .says(&["no tables in `absent`", "`sameish hamming build`"]);
    std::fs::rename(dir.path("t/part-2-of-2.hamming"), dir.path("elsewhere")).unwrap();
    query(&[]).ends_with(4).says(&["part-2-of-2.hamming` is missing; copy it", "`--part`"]);
    query(&["--part", "1/2"]).ends_with(0);
    dir.write("t/part-2-of-2.hamming", "damaged");
    query(&[]).ends_with(4).says(&["part-2-of-2.hamming", "build the tables again"]);
    query(&["--part", "1/2", "-o", "one.jsonl"]).ends_with(0);
    dir.write(
        "short.jsonl",
        dir.read("one.jsonl").lines().take(3).map(|line| format!("{line}\n")).collect::<String>(),
    );
    let second = dir.read("short.jsonl").replace("\"part\":1", "\"part\":2");
    dir.write("short.jsonl", second);
    dir.run(["hamming", "merge", "one.jsonl", "short.jsonl"])
        .ends_with(4)
        .says(&["different numbers of answers"]);
}

#[test]
fn benchmarks_report_speed_with_recall() {
    let dir = Dir::new();
    let run = dir.run(["bench", "sketch", "--texts", "50", "--words", "40", "--json"]).ends_with(0);
    let report: serde_json::Value = serde_json::from_str(&run.stdout).unwrap();
    assert_eq!(report["presets"].as_array().unwrap().len(), 6);
    assert!(report["presets"][0]["texts_per_second"].as_f64().unwrap() > 0.0);
    let run = dir.run(["bench", "dedup", "--texts", "600", "--words", "80", "--json"]).ends_with(0);
    let report: serde_json::Value = serde_json::from_str(&run.stdout).unwrap();
    assert!(report["planted"].as_u64().unwrap() > 60, "{report}");
    assert!(report["recall"].as_f64().unwrap() > 0.98 && report["precision"] == 1.0, "{report}");
    dir.run(["bench", "dedup", "--preset", "sdr", "--texts", "10"]).ends_with(2);
}
