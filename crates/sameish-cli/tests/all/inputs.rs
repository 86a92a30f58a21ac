//! Input formats, compression, input arguments and fields.

use crate::common::{Dir, gzip, ids, records, zstd};
use std::io::{BufRead, BufReader, Write};
use std::process::Stdio;

const JSONL: &str =
    "{\"id\":1,\"text\":\"the first of two texts\"}\n{\"id\":2,\"text\":\"and the second one\"}\n";
const CSV: &str = "id,text\n1,the first of two texts\n2,\"and the second one\"\n";
const TSV: &str = "id\ttext\n1\tthe first of two texts\n2\tand the second one\n";
const TEXT: &str = "the first of two texts\nand the second one\n";

/// Returns the sketches without ids.
fn sketches(output: &str) -> Vec<String> {
    let sketch = |line: &str| {
        let mut object: serde_json::Value = serde_json::from_str(line).unwrap();
        object.as_object_mut().unwrap().remove("id");
        object.to_string()
    };
    output.lines().map(sketch).collect()
}

#[test]
fn every_format_and_compression_gives_the_same_sketches() {
    let dir = Dir::new();
    dir.write("plain.jsonl", JSONL);
    let expected = sketches(&dir.run(["fingerprint", "plain.jsonl"]).ends_with(0).stdout);
    assert_eq!(expected.len(), 2);
    let formats = [
        ("jsonl", JSONL, "1,2"),
        ("ndjson", JSONL, "1,2"),
        ("csv", CSV, "\"1\",\"2\""),
        ("tsv", TSV, "\"1\",\"2\""),
        ("txt", TEXT, "0,1"),
    ];
    for (suffix, content, expected_ids) in formats {
        let packed = [
            ("", content.as_bytes().to_vec()),
            (".gz", gzip(content.as_bytes())),
            (".zst", zstd(content.as_bytes())),
        ];
        for (packing, bytes) in packed {
            let name = format!("in.{suffix}{packing}");
            dir.write(&name, bytes);
            let run = dir.run(["fingerprint", &name]).ends_with(0).says(&["2 documents"]);
            assert_eq!(run.ids(), expected_ids, "{name}");
            assert_eq!(sketches(&run.stdout), expected, "{name}");
        }
    }
}

#[test]
fn detects_the_format_of_standard_input() {
    let dir = Dir::new();
    let expected = "1,2";
    for bytes in [JSONL.as_bytes().to_vec(), gzip(JSONL.as_bytes()), zstd(JSONL.as_bytes())] {
        let run = dir.run_with_stdin(["fingerprint", "-"], &bytes).ends_with(0);
        assert_eq!(run.ids(), expected);
        assert!(!run.stderr.contains("note"), "{}", run.stderr);
    }
    let run = dir.run_with_stdin(["fingerprint", "-", "--format", "csv"], CSV.as_bytes()).ends_with(0);
    assert_eq!(run.ids(), "\"1\",\"2\"");
    dir.run_with_stdin(["fingerprint", "-"], TEXT.as_bytes())
        .ends_with(0)
        .says(&["note: -: read as plain text"]);
}

#[test]
fn processes_a_line_before_the_next_one_arrives() {
    let dir = Dir::new();
    let mut command = dir.command(["fingerprint", "-", "--quiet"]);
    let mut child = command.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
    let (mut stdin, stdout) = (child.stdin.take().unwrap(), child.stdout.take().unwrap());
    let mut answers = BufReader::new(stdout).lines();
    for id in 0..3 {
        writeln!(stdin, "{{\"id\":{id},\"text\":\"one text after the other\"}}").unwrap();
        assert_eq!(ids(&answers.next().unwrap().unwrap()), id.to_string());
    }
    drop(stdin);
    assert!(child.wait().unwrap().success());
}

#[test]
fn format_flag_takes_precedence_over_the_suffix() {
    let dir = Dir::new();
    dir.write("really.txt", JSONL);
    assert_eq!(dir.run(["fingerprint", "really.txt"]).ends_with(0).ids(), "0,1");
    assert_eq!(dir.run(["fingerprint", "really.txt", "--format", "jsonl"]).ends_with(0).ids(), "1,2");
}

#[test]
fn searches_directories_in_order_of_names() {
    let dir = Dir::new();
    for (name, id) in
        [("b.jsonl", 3), ("a/z.jsonl.gz", 2), ("a/deep/x.ndjson", 1), ("c.csv", 0), (".hidden.jsonl", 9)]
    {
        let record = format!("{{\"id\":{id},\"text\":\"x\"}}\n");
        let content = match name {
            "c.csv" => b"id,text\nfour,x\n".to_vec(),
            "a/z.jsonl.gz" => gzip(record.as_bytes()),
            _ => record.into_bytes(),
        };
        dir.write(format!("in/{name}"), content);
    }
    dir.write("in/notes.md", "not data\n");
    dir.write("in/settings.json", "[1]");
    dir.write("in/picture.png", [0; 64]);
    assert_eq!(dir.run(["fingerprint", "in"]).ends_with(0).ids(), "1,2,3,\"four\"");
}

#[test]
fn expands_patterns_without_a_shell() {
    let dir = Dir::new();
    dir.write("x/2.jsonl", "{\"id\":2,\"text\":\"b\"}\n");
    dir.write("x/1.jsonl", "{\"id\":1,\"text\":\"a\"}\n");
    dir.write("x/y/3.jsonl", "{\"id\":3,\"text\":\"c\"}\n");
    assert_eq!(dir.run(["fingerprint", "x/*.jsonl"]).ends_with(0).ids(), "1,2");
    assert_eq!(dir.run(["fingerprint", "**/?.jsonl"]).ends_with(0).ids(), "1,2,3");
    // A file whose name looks like a pattern is a file.
    dir.write("x/[1].jsonl", "{\"id\":4,\"text\":\"d\"}\n");
    assert_eq!(dir.run(["fingerprint", "x/[1].jsonl"]).ends_with(0).ids(), "4");
    dir.run(["fingerprint", "x/*.csv"])
        .ends_with(4)
        .says(&["error: x/*.csv: no such file, and the pattern matches no file"]);
}

#[test]
fn reads_whole_files_with_paths_as_ids() {
    let dir = Dir::new();
    dir.write("letters/one.txt", "dear reader\n\nthis is one letter\n");
    dir.write("letters/two.txt.gz", gzip(b"dear reader\nthis is another"));
    dir.write("letters/empty.txt", "");
    let run =
        dir.run(["fingerprint", "--whole-files", "letters"]).ends_with(0).says(&["3 documents, 1 too short"]);
    assert_eq!(run.ids(), "\"letters/empty.txt\",\"letters/one.txt\",\"letters/two.txt.gz\"");
}

#[test]
fn keeps_the_type_of_ids_and_numbers_missing_ones() {
    let dir = Dir::new();
    let lines = [
        r#"{"id":7,"text":"a"}"#,
        r#"{"id":"7","text":"a"}"#,
        r#"{"text":"a"}"#,
        "not json",
        r#"{"id":null,"text":"a"}"#,
        r#"{"id":-9007199254740993,"text":"a"}"#,
        r#"{"id":18446744073709551615,"text":"a"}"#,
        r#"{"id":"é\"x","text":"a"}"#,
    ];
    dir.write("a.jsonl", lines.join("\n"));
    dir.write("b.txt", "one\ntwo\n");
    let run = dir.run(["fingerprint", "a.jsonl", "b.txt"]).ends_with(3);
    // Sequence numbers include rejected records.
    assert_eq!(run.ids(), "7,\"7\",2,4,-9007199254740993,18446744073709551615,\"é\\\"x\",8,9");
}

#[test]
fn reads_renamed_fields() {
    let dir = Dir::new();
    dir.write("a.jsonl", "{\"url\":\"u1\",\"body\":\"some words in the body\",\"id\":5,\"text\":7}\n");
    let run = dir.run(["fingerprint", "a.jsonl", "--id-field", "url", "--text-field", "body"]).ends_with(0);
    assert_eq!(run.ids(), "\"u1\"");
    dir.write("b.csv", "url,body\nu2,some words in the body\n");
    let again = dir.run(["fingerprint", "b.csv", "--id-field", "url", "--text-field", "body"]).ends_with(0);
    assert_eq!(again.ids(), "\"u2\"");
    assert_eq!(sketches(&run.stdout), sketches(&again.stdout));
}

#[test]
fn uses_tokens_without_text_and_titles_without_both() {
    let dir = Dir::new();
    let lines = [
        r#"{"text":"the cat sat on the mat"}"#,
        r#"{"tokens":["the","cat","sat","on","the","mat"]}"#,
        r#"{"title":"the cat sat on the mat"}"#,
        r#"{"title":"something else","text":"the cat sat on the mat"}"#,
    ];
    dir.write("a.jsonl", lines.join("\n"));
    let sketches = sketches(&dir.run(["fingerprint", "a.jsonl"]).ends_with(0).stdout);
    assert!(sketches.iter().all(|sketch| *sketch == sketches[0]), "{sketches:#?}");
}

#[test]
fn accepts_all_line_ends_and_byte_order_marks() {
    let dir = Dir::new();
    let (a, b) = ("{\"id\":1,\"text\":\"some words here\"}", "{\"id\":2,\"text\":\"other words here\"}");
    let cases = [
        format!("{a}\n{b}"),
        format!("{a}\r\n{b}\r\n"),
        format!("{a}\r\n{b}\n"),
        format!("{a}\r{b}\r"),
        format!("\u{feff}{a}\n{b}\n"),
        format!("\n  \n{a}\n\r\n\t\n{b}\n\n"),
    ];
    for content in cases {
        dir.write("a.jsonl", &content);
        assert_eq!(dir.run(["fingerprint", "a.jsonl"]).ends_with(0).ids(), "1,2", "{content:?}");
    }
    // The text has no carriage return.
    dir.write("unix.txt", "some words here\nother words here\n");
    dir.write("dos.txt", "\u{feff}some words here\r\nother words here\r\n");
    let unix = dir.run(["fingerprint", "unix.txt", "--preset", "sdr"]).ends_with(0).stdout;
    assert_eq!(dir.run(["fingerprint", "dos.txt", "--preset", "sdr"]).ends_with(0).stdout, unix);
}

#[test]
fn empty_input_gives_empty_output() {
    let dir = Dir::new();
    for (name, content) in [
        ("empty.jsonl", ""),
        ("blank.jsonl", "\n \r\n\t\n"),
        ("mark.jsonl", "\u{feff}"),
        ("empty.csv", ""),
        ("header.csv", "id,text\n"),
        ("empty.txt", ""),
        ("empty.jsonl.gz", ""),
    ] {
        dir.write(name, content);
        let run = dir.run(["fingerprint", name, "-o", "out", "--force"]).ends_with(0).says(&["0 documents"]);
        assert_eq!((run.stdout.as_str(), dir.read("out").as_str()), ("", ""), "{name}");
    }
    dir.write("packed.jsonl.gz", gzip(b""));
    dir.run(["fingerprint", "packed.jsonl.gz"]).ends_with(0).says(&["0 documents"]);
}

#[test]
fn each_preset_has_its_sketches() {
    let dir = Dir::new();
    dir.write("a.jsonl", records(1));
    let keys = |args: &[&str]| {
        let run = dir.run([&["fingerprint", "a.jsonl"], args].concat()).ends_with(0);
        let object: serde_json::Map<String, serde_json::Value> = serde_json::from_str(&run.stdout).unwrap();
        object.keys().filter(|key| *key != "id" && *key != "status").cloned().collect::<Vec<_>>().join(",")
    };
    assert_eq!(keys(&[]), "minhash");
    assert_eq!(keys(&["--preset", "wire"]), "simhash");
    assert_eq!(keys(&["--preset", "web"]), "simhash");
    assert_eq!(keys(&["--preset", "headlines"]), "minhash");
    assert_eq!(keys(&["--preset", "sdr"]), "sdr");
    dir.write("both.toml", "preset = \"articles\"\n[text]\nmin_words = 1\n");
    assert_eq!(keys(&["--config", "both.toml"]), "minhash,simhash");
}

#[test]
fn configuration_changes_sketches() {
    let dir = Dir::new();
    dir.write("a.jsonl", records(3));
    let out = |args: &[&str]| dir.run([&["fingerprint", "a.jsonl"], args].concat()).ends_with(0).stdout;
    assert_eq!(out(&["--shingle", "words:3"]), out(&[]));
    assert_ne!(out(&["--shingle", "chars:5"]), out(&[]));
    dir.write("c.toml", "[minhash]\nrows = 16\n");
    let line: serde_json::Value =
        serde_json::from_str(out(&["--config", "c.toml"]).lines().next().unwrap()).unwrap();
    assert_eq!(line["minhash"].as_str().unwrap().len(), 16 * 8);
}

#[test]
fn reads_all_members_and_frames() {
    let dir = Dir::new();
    let (one, two) = JSONL.split_at(20);
    dir.write("a.jsonl.gz", [gzip(one.as_bytes()), gzip(two.as_bytes())].concat());
    dir.write("a.jsonl.zst", [zstd(one.as_bytes()), zstd(two.as_bytes())].concat());
    for name in ["a.jsonl.gz", "a.jsonl.zst"] {
        assert_eq!(dir.run(["fingerprint", name]).ends_with(0).ids(), "1,2");
    }
}

#[test]
fn detects_compression_despite_the_suffix() {
    let dir = Dir::new();
    dir.write("plain.jsonl.gz", JSONL);
    dir.write("gzip.jsonl.zst", gzip(JSONL.as_bytes()));
    dir.write("zstd.jsonl", zstd(JSONL.as_bytes()));
    for name in ["plain.jsonl.gz", "gzip.jsonl.zst", "zstd.jsonl"] {
        assert_eq!(dir.run(["fingerprint", name]).ends_with(0).ids(), "1,2", "{name}");
    }
}
