//! `dedup`: what stays, byte for byte, in every format, and what every bad wish gets.

#![allow(clippy::unwrap_used)]

mod common;

use common::{Dir, Run, gzip, ids, zstd};
use parquet::column::writer::ColumnWriter;
use parquet::data_type::ByteArray;
use parquet::file::properties::WriterProperties;
use parquet::file::reader::{FileReader, SerializedFileReader};
use parquet::file::writer::SerializedFileWriter;
use parquet::schema::parser::parse_message_type;
use proptest::prelude::*;
use sameish::{Config, Content, Engine, FeatureSet, Preset, Scratch};
use serde_json::{Value, json};
use std::collections::HashMap;
use std::sync::Arc;

const BRIDGE: &str = "The city council voted on Monday evening to close the old stone bridge for repairs until the end of \
                      spring, and asked drivers to take the ring road while the work goes on";
const HARVEST: &str = "Apple growers in the valley expect their best harvest in ten years after a mild and wet winter, \
                       the union of growers said at its meeting in the town hall";

fn near() -> String {
    BRIDGE.replace("while the work goes on", "while the work is done")
}

fn lines(text: &str) -> Vec<Value> {
    text.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
}

fn jsonl(records: &[Value]) -> String {
    records.iter().map(|record| format!("{record}\n")).collect()
}

/// Five documents of which 2 and 4 go.
fn news() -> String {
    jsonl(&[
        json!({"id": 1, "text": BRIDGE, "source": "a", "published_at": "2024-01-01", "score": 3}),
        json!({"id": 2, "text": near(), "source": "b", "published_at": "2024-01-03", "score": 20}),
        json!({"id": "1", "text": HARVEST, "source": "a"}),
        json!({"id": 4, "text": format!("{BRIDGE} now"), "source": "a", "published_at": "2024-01-02", "score": 7}),
        json!({"id": 5, "text": "Short"}),
    ])
}

fn summary(run: &Run) -> Value {
    // Where no data goes to standard output, the summary does.
    let line = [&run.stdout, &run.stderr].into_iter().filter_map(|text| text.lines().last());
    line.filter_map(|line| serde_json::from_str::<Value>(line).ok())
        .find(|value| value["documents"].is_u64())
        .unwrap()
}

/// Runs `dedup` with `--json`.
fn dedup(dir: &Dir, args: &[&str]) -> Value {
    let args = ["dedup", "--json", "--quiet"].iter().chain(args);
    summary(&dir.run(args).ends_with(0))
}

/// Words that no other seed gives.
fn text(seed: u64, words: usize) -> String {
    let mut state = seed.wrapping_mul(0x9E37_79B9_7F4A_7C15) | 1;
    let mut word = || {
        state = state.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
        format!("w{:x}", state >> 40)
    };
    (0..words).map(|_| word()).collect::<Vec<_>>().join(" ")
}

/// A text with the word at `at` replaced.
fn changed(text: &str, at: usize, word: &str) -> String {
    let mut words: Vec<&str> = text.split(' ').collect();
    words[at] = word;
    words.join(" ")
}

fn corpus(texts: impl IntoIterator<Item = String>) -> String {
    (0..)
        .zip(texts)
        .map(|(id, text): (usize, String)| format!("{}\n", json!({"id": id, "text": text})))
        .collect()
}

// Formats: what stays is as it came.

#[test]
fn jsonl_stays_byte_for_byte_in_the_order_of_the_input() {
    let dir = Dir::new();
    let odd =
        |id: u32, text: &str| format!("  {{ \"text\" : \"{text}\",\t\"more\":[1, 2e3] , \"id\":{id} }} ");
    let input = format!(
        "{}\r\n\n{}\n{}\n  \n{}",
        odd(1, BRIDGE),
        odd(2, &near()),
        odd(3, HARVEST),
        odd(4, "H\\u00e9 \\ud83d\\ude00 short")
    );
    dir.write("a.jsonl", &input);
    let run = dir.run(["dedup", "a.jsonl", "-o", "out.jsonl"]).ends_with(0);
    run.says(&["4 documents: 3 kept, 1 removed (25.0 %) in 1 cluster, the largest of 2", "1 too short"]);
    let expected =
        format!("{}\r\n{}\n{}\n", odd(1, BRIDGE), odd(3, HARVEST), odd(4, "H\\u00e9 \\ud83d\\ude00 short"));
    assert_eq!(dir.read("out.jsonl"), expected);
    assert_eq!(dir.names(), ["a.jsonl", "out.jsonl"], "nothing else is left behind");
    // Standard output and input give the same.
    let piped = dir.run_with_stdin(["dedup", "-"], input.as_bytes()).ends_with(0);
    assert_eq!(piped.stdout, expected);
    // A byte-order mark is no part of a record.
    dir.write("bom.jsonl", format!("\u{feff}{input}"));
    assert_eq!(dir.run(["dedup", "bom.jsonl"]).ends_with(0).stdout, expected);
    // Old line ends.
    dir.write("cr.jsonl", input.replace("\r\n", "\r").replace('\n', "\r"));
    let kept = dir.run(["dedup", "cr.jsonl"]).ends_with(0).stdout;
    assert_eq!(kept.replace('\r', "\n"), expected.replace("\r\n", "\n"));
}

#[test]
fn tables_keep_quotes_line_breaks_and_one_header() {
    let dir = Dir::new();
    for (suffix, delimiter) in [("csv", ","), ("tsv", "\t")] {
        let header = ["id", "text", "note"].join(delimiter);
        let row = |id: &str, text: &str| {
            [id, &format!("\"{text}\""), "\"a \"\"note\"\"\r\nof two lines\""].join(delimiter)
        };
        let a = format!("{header}\r\n{}\r\n{}\r\n", row("a", BRIDGE), row("b", &near()));
        let b = format!("{header}\n{}\n{}", row("c", &format!("{BRIDGE} now")), row("d", HARVEST));
        let (a_name, b_name) = (format!("a.{suffix}"), format!("b.{suffix}"));
        dir.write(&a_name, &a);
        dir.write(&b_name, &b);
        let out = format!("out.{suffix}");
        dir.run(["dedup", &a_name, &b_name, "-o", &out]).ends_with(0);
        let expected = format!("{header}\r\n{}\r\n{}\n", row("a", BRIDGE), row("d", HARVEST));
        assert_eq!(dir.read(&out), expected);
        // A folder keeps them apart, each with its header.
        dir.run(["dedup", &a_name, &b_name, "-o", "folder/"]).ends_with(0);
        assert_eq!(dir.read(format!("folder/{a_name}")), format!("{header}\r\n{}\r\n", row("a", BRIDGE)));
        assert_eq!(dir.read(format!("folder/{b_name}")), format!("{header}\n{}\n", row("d", HARVEST)));
        // Other columns can not stand under one header.
        let other = format!("other.{suffix}");
        dir.write(
            &other,
            ["text", "id"].join(delimiter) + "\n" + &[HARVEST.replace(',', ""), "x".into()].join(delimiter),
        );
        let run = dir.run(["dedup", &a_name, &other, "-o", "mixed"]).ends_with(2);
        run.says(&["different columns", "-o FOLDER/"]);
        assert!(!dir.exists("mixed"));
    }
}

#[test]
fn tables_without_rows_give_their_header() {
    let dir = Dir::new();
    dir.write("header.csv", "id,text\r\n");
    dir.write("bare.csv", "id,text");
    dir.write("rows.csv", format!("id,text\r\n1,\"{BRIDGE}\"\r\n"));
    let kept = |args: &[&str]| dir.run(["dedup"].iter().chain(args)).ends_with(0).stdout;
    assert_eq!(kept(&["header.csv"]), "id,text\r\n");
    assert_eq!(kept(&["bare.csv"]), "id,text\n");
    assert_eq!(kept(&["bare.csv", "rows.csv"]), format!("id,text\n1,\"{BRIDGE}\"\r\n"));
    assert_eq!(kept(&["header.csv", "--compress", "none"]), "id,text\r\n");
}

#[test]
fn lines_of_text_and_whole_files() {
    let dir = Dir::new();
    let text = format!("{BRIDGE}\r\n\r\n{}\n{HARVEST}\nShort\n short \n-\n-\n", near());
    dir.write("a.txt", text);
    let run = dir.run(["dedup", "a.txt"]).ends_with(0);
    assert_eq!(run.stdout, format!("{BRIDGE}\r\n{HARVEST}\nShort\n-\n"));
    dir.write("letters/1.txt", format!("{BRIDGE}\n\nYours"));
    dir.write("letters/2.txt", format!("{BRIDGE}\n\nyours"));
    dir.write("letters/3.txt", HARVEST);
    let run = dir.run(["dedup", "--whole-files", "letters", "-o", "all.txt"]).ends_with(2);
    run.says(&["whole files go into a folder"]);
    dir.run(["dedup", "--whole-files", "letters", "-o", "kept/"]).ends_with(0);
    assert_eq!(dir.read("kept/1.txt"), format!("{BRIDGE}\n\nYours"));
    assert_eq!(dir.read("kept/3.txt"), HARVEST);
    assert!(!dir.exists("kept/2.txt"));
}

#[test]
fn packed_inputs_give_what_plain_ones_give() {
    let dir = Dir::new();
    dir.write("a.jsonl", news());
    let expected = dir.run(["dedup", "a.jsonl"]).ends_with(0).stdout;
    assert_eq!(ids(&expected), "1,\"1\",5");
    dir.write("a.jsonl.gz", gzip(news().as_bytes()));
    dir.write("a.jsonl.zst", zstd(news().as_bytes()));
    let unpacked = |name: &str| {
        let bytes = std::fs::read(dir.path(name)).unwrap();
        let mut text = String::new();
        match &bytes[..2] {
            [0x1f, 0x8b] => {
                let mut reader = flate2::read::GzDecoder::new(&bytes[..]);
                std::io::Read::read_to_string(&mut reader, &mut text).unwrap();
            }
            [0x28, 0xb5] => text = String::from_utf8(zstd::decode_all(&bytes[..]).unwrap()).unwrap(),
            _ => text = String::from_utf8(bytes).unwrap(),
        }
        text
    };
    let magic = |name: &str| std::fs::read(dir.path(name)).unwrap()[0];
    for input in ["a.jsonl", "a.jsonl.gz", "a.jsonl.zst"] {
        for (out, first) in [("out.jsonl", b'{'), ("out.jsonl.gz", 0x1f), ("out.jsonl.zst", 0x28)] {
            dir.run(["dedup", input, "-o", out, "--force"]).ends_with(0);
            assert_eq!((unpacked(out), magic(out)), (expected.clone(), first), "{input} to {out}");
        }
        // The flag beats the name.
        dir.run(["dedup", input, "-o", "out.bin", "--force", "--compress", "zst"]).ends_with(0);
        assert_eq!((unpacked("out.bin"), magic("out.bin")), (expected.clone(), 0x28));
    }
    dir.run(["dedup", "a.jsonl.gz", "-o", "same/"]).ends_with(0);
    assert_eq!((unpacked("same/a.jsonl.gz"), magic("same/a.jsonl.gz")), (expected.clone(), 0x1f));
    dir.run(["dedup", "a.jsonl.gz", "-o", "same/", "--compress", "zst"]).ends_with(0);
    assert_eq!((unpacked("same/a.jsonl.zst"), magic("same/a.jsonl.zst")), (expected.clone(), 0x28));
    let run = dir.run_with_stdin(["dedup", "-"], &gzip(news().as_bytes())).ends_with(0);
    assert_eq!(run.stdout, expected);
}

/// Rows of id, text and a list of tags.
fn table(rows: &[(i64, &str)]) -> Vec<u8> {
    let schema = "message rows { optional int64 id; optional binary text (STRING); optional group tags (LIST) \
                  { repeated group list { optional binary element (STRING); } } }";
    let schema = Arc::new(parse_message_type(schema).unwrap());
    let mut out = Vec::new();
    let properties = Arc::new(WriterProperties::builder().build());
    let mut writer = SerializedFileWriter::new(&mut out, schema, properties).unwrap();
    for rows in rows.chunks(3) {
        let mut group = writer.next_row_group().unwrap();
        let mut column = 0;
        while let Some(mut writer) = group.next_column().unwrap() {
            match writer.untyped() {
                ColumnWriter::Int64ColumnWriter(writer) => {
                    let values: Vec<i64> = rows.iter().map(|row| row.0).collect();
                    writer.write_batch(&values, Some(&vec![1; rows.len()]), None).unwrap();
                }
                ColumnWriter::ByteArrayColumnWriter(writer) if column == 1 => {
                    let values: Vec<ByteArray> = rows.iter().map(|row| row.1.into()).collect();
                    writer.write_batch(&values, Some(&vec![1; rows.len()]), None).unwrap();
                }
                ColumnWriter::ByteArrayColumnWriter(writer) => {
                    let tags: Vec<ByteArray> = rows
                        .iter()
                        .flat_map(|row| [format!("x{}", row.0), "y".into()])
                        .map(|tag| tag.as_str().into())
                        .collect();
                    let repeats: Vec<i16> = rows.iter().flat_map(|_| [0, 1]).collect();
                    writer.write_batch(&tags, Some(&vec![3; tags.len()]), Some(&repeats)).unwrap();
                }
                _ => unreachable!(),
            }
            writer.close().unwrap();
            column += 1;
        }
        group.close().unwrap();
    }
    writer.close().unwrap();
    out
}

fn rows(dir: &Dir, name: &str) -> Vec<String> {
    let reader = SerializedFileReader::new(std::fs::File::open(dir.path(name)).unwrap()).unwrap();
    reader.get_row_iter(None).unwrap().map(|row| row.unwrap().to_string()).collect()
}

#[test]
fn parquet_keeps_its_columns_and_the_order_of_rows() {
    let dir = Dir::new();
    let (near, again) = (near(), format!("{BRIDGE} now"));
    dir.write(
        "a.parquet",
        table(&[(1, BRIDGE), (2, &near), (3, HARVEST), (4, "Short"), (5, &again), (6, "short")]),
    );
    dir.write("b.parquet", table(&[(7, HARVEST), (8, "Something else")]));
    dir.run(["dedup", "a.parquet", "-o", "out.parquet"]).ends_with(0);
    let all = rows(&dir, "a.parquet");
    assert_eq!(rows(&dir, "out.parquet"), [&all[0], &all[2], &all[3]].map(String::clone));
    let schema = |name: &str| {
        let reader = SerializedFileReader::new(std::fs::File::open(dir.path(name)).unwrap()).unwrap();
        reader.metadata().file_metadata().schema().clone()
    };
    assert_eq!(schema("out.parquet"), schema("a.parquet"));
    dir.run(["dedup", "a.parquet", "b.parquet", "-o", "out/"]).ends_with(0);
    assert_eq!(rows(&dir, "out/a.parquet"), rows(&dir, "out.parquet"));
    assert_eq!(rows(&dir, "out/b.parquet"), &rows(&dir, "b.parquet")[1..]);
    dir.run(["dedup", "a.parquet", "b.parquet", "-o", "one.parquet"])
        .ends_with(2)
        .says(&["pass `-o FOLDER/`"]);
    assert!(!dir.exists("one.parquet"));
    // Nothing in it, and nothing left of it.
    dir.write("none.parquet", table(&[]));
    dir.run(["dedup", "none.parquet", "-o", "none.out.parquet"]).ends_with(0).says(&["0 documents"]);
    assert_eq!(rows(&dir, "none.out.parquet").len(), 0);
    dir.run(["dedup", "b.parquet", "--against", "b.parquet", "-o", "gone.parquet", "--force"]).ends_with(0);
    assert_eq!((rows(&dir, "gone.parquet").len(), schema("gone.parquet")), (0, schema("b.parquet")));
    // A broken one does not keep the others from their files.
    let whole = std::fs::read(dir.path("a.parquet")).unwrap();
    dir.write("cut.parquet", &whole[..whole.len() - 9]);
    dir.run(["dedup", "cut.parquet", "b.parquet", "-o", "rest/"]).ends_with(4).says(&["cut.parquet"]);
    assert_eq!(rows(&dir, "rest/b.parquet"), rows(&dir, "b.parquet"));
    assert!(!dir.exists("rest/cut.parquet"));
}

#[test]
fn formats_are_not_mixed_in_one_file() {
    let dir = Dir::new();
    dir.write("a.jsonl", news());
    dir.write("b.csv", format!("id,text\n1,\"{HARVEST}\"\n"));
    dir.run(["dedup", "a.jsonl", "b.csv", "-o", "out"]).ends_with(2).says(&["of one format", "-o FOLDER/"]);
    assert_eq!(dir.names(), ["a.jsonl", "b.csv"]);
    dir.run(["dedup", "a.jsonl", "b.csv", "-o", "out/"]).ends_with(0);
    assert_eq!(dir.read("out/b.csv"), "id,text\n");
}

// Inputs.

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
fn a_file_named_twice_counts_once_but_blank_records_without_ids_stay() {
    let dir = Dir::new();
    dir.write("a.jsonl", news());
    let run = dir.run(["dedup", "a.jsonl", "./a.jsonl", "a.jsonl", "--json"]).ends_with(0);
    assert_eq!(run.ids(), "1,\"1\",5");
    assert_eq!((&summary(&run)["documents"], &summary(&run)["repeated"]), (&json!(5), &json!(10)));
    // No ids, so all are documents; what has no words matches nothing.
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
fn pipes_are_inputs_too_and_keep_their_format() {
    let dir = Dir::new();
    dir.write("a.csv", format!("id,text\n1,\"{BRIDGE}\"\n2,\"{}\"\n", near()));
    dir.write("a.jsonl", news());
    let shell = |command: &str| {
        let command = format!("timeout 60 {} {command}", env!("CARGO_BIN_EXE_sameish"));
        let output =
            std::process::Command::new("bash").args(["-c", &command]).current_dir(dir.path(".")).output();
        Run::from(output.unwrap())
    };
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
fn more_files_than_may_be_open() {
    let dir = Dir::new();
    for i in 0..300 {
        dir.write(format!("in/{i:03}.txt"), text(i / 2, 30));
    }
    let program = env!("CARGO_BIN_EXE_sameish");
    let command = format!("ulimit -n 200; {program} dedup --whole-files in -o out/ --json --quiet");
    let output =
        std::process::Command::new("bash").args(["-c", &command]).current_dir(dir.path(".")).output();
    let run = Run::from(output.unwrap()).ends_with(0);
    assert_eq!((&summary(&run)["kept"], &summary(&run)["removed"]), (&json!(150), &json!(150)));
    assert_eq!(std::fs::read_dir(dir.path("out")).unwrap().count(), 150);
}

#[test]
fn unreadable_inputs_do_not_stop_the_others() {
    let dir = Dir::new();
    dir.write("a.jsonl", news());
    let packed = gzip(common::records(2000).as_bytes());
    dir.write("cut.jsonl.gz", &packed[..packed.len() / 2]);
    let run =
        dir.run(["dedup", "missing.jsonl", "a.jsonl", "cut.jsonl.gz", "--json", "-o", "out"]).ends_with(4);
    let run = run.says(&["missing.jsonl", "cut.jsonl.gz"]);
    let found = summary(&run);
    assert_eq!(found["failed_inputs"], 2);
    assert!(found["kept"].as_u64().unwrap() > 500);
    assert_eq!(dir.read("out").lines().count() as u64, found["kept"].as_u64().unwrap());
    dir.run(["dedup", "missing.jsonl", "-o", "none"]).ends_with(4);
}

#[test]
fn broken_records_are_rejected_and_listed() {
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
fn ids_that_come_again() {
    let dir = Dir::new();
    let records = [
        json!({"id": 1, "text": BRIDGE}),
        json!({"id": 1, "text": BRIDGE}),
        json!({"id": 1, "text": HARVEST}),
        json!({"id": "1", "text": "Short"}),
    ];
    dir.write("a.jsonl", jsonl(&records));
    let run = dir.run(["dedup", "a.jsonl", "--json"]).ends_with(3);
    let run = run.says(&["line 3", "id `1` was there before with another text"]);
    assert_eq!(run.stdout, jsonl(&[records[0].clone(), records[3].clone()]));
    assert_eq!((&summary(&run)["repeated"], &summary(&run)["rejected"]), (&json!(1), &json!(1)));
    let run = dir.run(["dedup", "a.jsonl", "--on-dup-id", "last", "--removed", "r"]).ends_with(0);
    assert_eq!(run.stdout, jsonl(&[records[2].clone(), records[3].clone()]));
    // Alone, without an id: numbers.
    dir.write("b.jsonl", jsonl(&[json!({"text": BRIDGE}), json!({"text": near()})]));
    dir.run(["dedup", "b.jsonl", "--removed", "removed"]).ends_with(0);
    let gone = lines(&dir.read("removed"));
    assert_eq!((&gone[0]["id"], &gone[0]["kept"]), (&json!(1), &json!(0)));
}

// What stays.

#[test]
fn short_and_blank_texts_stay_and_equal_short_ones_are_one() {
    let dir = Dir::new();
    let texts = ["Short", " short", "Other", "", "", " ", "short"];
    dir.write("a.jsonl", corpus(texts.map(str::to_owned)));
    let run = dir.run(["dedup", "a.jsonl", "--json"]).ends_with(0);
    assert_eq!(run.ids(), "0,2,3,4,5");
    assert_eq!((&summary(&run)["too_short"], &summary(&run)["removed"]), (&json!(7), &json!(2)));
}

#[test]
fn the_rule_says_which_of_a_cluster_stays() {
    let dir = Dir::new();
    dir.write("a.jsonl", news());
    let kept = |rule: &str| dir.run(["dedup", "a.jsonl", "--keep", rule]).ends_with(0).ids();
    assert_eq!(kept("first"), "1,\"1\",5");
    assert_eq!(kept("longest"), "\"1\",4,5");
    assert_eq!(kept("newest"), "2,\"1\",5");
    assert_eq!(kept("field:score"), "2,\"1\",5", "20 is more than 7 and 3, as a number");
    dir.run(["dedup", "a.jsonl", "--keep", "field:source"]).ends_with(2).says(&["`source` has another role"]);
    assert_eq!(kept("field:nothing"), "1,\"1\",5");
    dir.write("when.jsonl", news().replace("published_at", "when"));
    let by = dir.run(["dedup", "when.jsonl", "--keep", "newest", "--date-field", "when"]).ends_with(0);
    assert_eq!(by.ids(), "2,\"1\",5");
    for rule in ["best", "field:", "field", ""] {
        dir.run(["dedup", "a.jsonl", "--keep", rule])
            .ends_with(2)
            .says(&["`first`, `longest`, `newest` or `field:NAME`"]);
    }
    dir.write("b.jsonl", news() + &jsonl(&[json!({"id": 9, "text": near(), "published_at": "soon"})]));
    let run = dir.run(["dedup", "b.jsonl", "--keep", "newest"]).ends_with(3).says(&["line 6", "soon"]);
    assert_eq!(run.ids(), "2,\"1\",5");
    dir.run(["dedup", "b.jsonl"]).ends_with(0);
}

#[test]
fn one_of_each_source_may_stay() {
    let dir = Dir::new();
    dir.write("a.jsonl", news());
    assert_eq!(dir.run(["dedup", "a.jsonl", "--per-source"]).ends_with(0).ids(), "1,2,\"1\",5");
    let newest = dir.run(["dedup", "a.jsonl", "--per-source", "--keep", "newest"]).ends_with(0);
    assert_eq!(newest.ids(), "2,\"1\",4,5");
}

#[test]
fn what_an_existing_corpus_has_goes() {
    let dir = Dir::new();
    dir.write("old.jsonl", jsonl(&[json!({"id": 1, "text": near()}), json!({"id": 2, "text": "SHORT"})]));
    dir.write("new.jsonl", news());
    let args = ["dedup", "new.jsonl", "--against", "old.jsonl", "--removed", "gone", "--json"];
    let run = dir.run(args).ends_with(0);
    assert_eq!(run.ids(), "\"1\"");
    let found = summary(&run);
    let count = |key: &str| found[key].as_u64().unwrap();
    assert_eq!((count("documents"), count("kept"), count("removed"), count("too_short")), (5, 1, 4, 1));
    let gone: Vec<(Value, Value)> =
        lines(&dir.read("gone")).iter().map(|line| (line["id"].clone(), line["kept"].clone())).collect();
    let to_one = |id: i32| (json!(id), json!(1));
    assert_eq!(gone, [to_one(1), to_one(2), to_one(4), (json!(5), json!(2))]);
    // All there already; the limit is not asked twice.
    let run = dir.run(["dedup", "new.jsonl", "--against", "new.jsonl"]).ends_with(5);
    assert_eq!(run.stdout, "");
    let run = dir.run(["dedup", "new.jsonl", "--against", "new.jsonl", "--max-removed", "1"]).ends_with(0);
    assert_eq!(run.stdout, "");
    dir.run(["dedup", "new.jsonl", "--against", "-"]).ends_with(2).says(&["takes files"]);
    dir.run(["dedup", "new.jsonl", "--against", "missing", "-o", "x"]).ends_with(4);
    dir.run(["dedup", "new.jsonl", "--against", "old.jsonl", "-o", "old.jsonl", "--force"]).ends_with(2);
    assert_eq!(dir.read("old.jsonl").lines().count(), 2);
}

#[test]
fn forms_with_other_facts_stay_unless_they_are_merged() {
    let dir = Dir::new();
    let form = |bank: &str, rate: &str, place: &str| {
        format!(
            "The {bank} said on Thursday that it leaves its main rate at {rate} percent, as most economists had expected, and \
             that it will look at the rate again at its next meeting. The governor said in {place} that prices rise more \
             slowly than a year ago, that the outlook is uncertain, and that the bank is ready to act if it must."
        )
    };
    let texts = [
        form("Bank of Norland", "4.25", "Havenport"),
        form("Bank of Sudmark", "1.75", "Lindholm"),
        text(1, 60),
    ];
    dir.write("a.jsonl", corpus(texts));
    let threshold = ["--threshold", "0.6"];
    let keep = dir.run(["dedup", "a.jsonl", "--json"].iter().chain(&threshold)).ends_with(0);
    assert_eq!((keep.ids().as_str(), &summary(&keep)["templates"]), ("0,1,2", &json!(1)));
    let merge = dir.run(["dedup", "a.jsonl", "--templates", "merge"].iter().chain(&threshold)).ends_with(0);
    assert_eq!(merge.ids(), "0,2");
}

// Limits, lists and outputs.

#[test]
fn too_large_a_share_is_refused_and_nothing_is_written() {
    let dir = Dir::new();
    dir.write("a.jsonl", news());
    let args = ["dedup", "a.jsonl", "-o", "out", "--clusters", "c", "--removed", "r", "--max-removed", "39%"];
    let run = dir.run(args).ends_with(5);
    run.says(&["40.0 % of the documents would go", "`--force`", "source", "length", "up to 200 B"]);
    assert_eq!(dir.names(), ["a.jsonl"]);
    dir.run(["dedup", "a.jsonl", "-o", "out", "--max-removed", "0.4"]).ends_with(0);
    dir.run(args.into_iter().chain(["--force"])).ends_with(0);
    assert_eq!(dir.names(), ["a.jsonl", "c", "out", "r"]);
    for share in ["nan", "-1", "101%", "1.1", "much", "%"] {
        dir.run(["dedup", "a.jsonl", &format!("--max-removed={share}")]).ends_with(2).says(&["0% to 100%"]);
    }
}

#[test]
fn a_dry_run_tells_and_writes_the_lists_alone() {
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
fn outputs_are_checked_before_the_work() {
    let dir = Dir::new();
    dir.write("a.jsonl", news());
    dir.write("old", "as it was");
    for flag in ["-o", "--clusters", "--removed", "--rejects"] {
        let run = dir.run(["dedup", "a.jsonl", flag, "old"]).ends_with(2);
        assert!(!run.stderr.contains("MB of input"), "{flag}: {}", run.stderr);
        run.says(&["old: exists already; pass `--force`"]);
        dir.run(["dedup", "a.jsonl", flag, "a.jsonl", "--force"]).ends_with(2).says(&["is also the input"]);
        dir.run(["dedup", "a.jsonl", flag, "no/such", "--force"])
            .ends_with(6)
            .says(&["its folder is not there"]);
    }
    for flags in
        [["--clusters", "--removed"], ["-o", "--removed"], ["-o", "--rejects"], ["--rejects", "--clusters"]]
    {
        let args = ["dedup", "a.jsonl", flags[0], "x", flags[1], "./x"];
        dir.run(args).ends_with(2).says(&["name one file; name two"]);
    }
    dir.run(["dedup", "a.jsonl", "-o", "."]).ends_with(2).says(&["is also the input"]);
    assert_eq!((dir.read("a.jsonl"), dir.read("old")), (news(), "as it was".into()));
    assert_eq!(dir.names(), ["a.jsonl", "old"]);
    dir.write("more/a.jsonl", news());
    let run = dir.run(["dedup", "a.jsonl", "more", "-o", "out/"]).ends_with(2);
    run.says(&["two inputs would both become out/a.jsonl"]);
    assert!(!dir.exists("out"));
}

#[test]
fn a_closed_pipe_is_success_whatever_is_written() {
    let dir = Dir::new();
    dir.write("a.jsonl", common::records(3000));
    let rows: Vec<String> = (0..3000).map(|i| text(i, 20)).collect();
    let rows: Vec<(i64, &str)> = (0..).zip(&rows).map(|(id, text)| (id, text.as_str())).collect();
    dir.write("a.parquet", table(&rows));
    for args in ["a.jsonl", "a.jsonl --compress gz", "a.jsonl --compress zst", "a.parquet"] {
        let command = format!(
            "set -o pipefail; {} dedup {args} --quiet 2>err | head -c 2 | wc -c",
            env!("CARGO_BIN_EXE_sameish")
        );
        let shell = std::process::Command::new("bash")
            .args(["-c", &command])
            .current_dir(dir.path("."))
            .output()
            .unwrap();
        assert_eq!(String::from_utf8(shell.stdout).unwrap().trim(), "2", "{args}");
        assert!(shell.status.success(), "{args}: {:?} {}", shell.status, dir.read("err"));
        assert_eq!(dir.read("err"), "", "{args}");
    }
}

#[test]
fn settings_out_of_range_are_wrong_usage_with_the_range() {
    let dir = Dir::new();
    dir.write("a.jsonl", news());
    for (flags, says) in [
        (vec!["--threshold", "nan"], "must be more than 0 and at most 1"),
        (vec!["--threshold", "1.1"], "must be more than 0 and at most 1"),
        (vec!["--threshold=-1"], "must be more than 0 and at most 1"),
        (vec!["--recall", "1"], "must be more than 0 and less than 1"),
        (vec!["--radius", "3"], "the settings make no fingerprints"),
        (vec!["--threads", "0"], "1..=1024"),
        (vec!["--max-memory", "1K"], "must be at least 64M"),
        (vec!["--max-memory", "1"], "must be 1K to 1024T"),
        (vec!["--compress", "zip"], "[possible values: none, gz, zst]"),
        (vec!["--templates", "drop"], "[possible values: keep, merge]"),
        (vec!["--preset", "sdr"], "dedup needs settings that verify or make fingerprints alone"),
    ] {
        let run = dir.run(["dedup", "a.jsonl", "-o", "out"].into_iter().chain(flags.iter().copied()));
        run.ends_with(2).says(&[says]);
        assert!(!dir.exists("out"));
    }
    let run = dir.run(["dedup", "a.jsonl", "--temp-dir", "nowhere", "-o", "x"]);
    run.ends_with(2).says(&["`--temp-dir` nowhere: not a folder"]);
}

#[test]
fn characters_are_compared_where_asked_for() {
    let dir = Dir::new();
    dir.write("a.jsonl", news());
    let run = dir.run(["dedup", "a.jsonl", "--shingle", "chars:5", "--json"]).ends_with(0);
    assert_eq!(run.ids(), "1,\"1\",5");
    let headlines = dir.run(["dedup", "a.jsonl", "--preset", "headlines"]).ends_with(0);
    assert_eq!(headlines.ids(), "1,\"1\",5");
}

#[test]
fn an_index_folder_is_an_existing_corpus() {
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
        run.ends_with(2).says(&["index folder"]);
    }
    dir.write("index/sameish.db", b"not a database");
    let run = dir.run(["dedup", "a.jsonl", "--against", "index"]).ends_with(4);
    run.says(&["not a store"]);
}

// Laws.

/// The features that decide, of all documents.
fn features(config: Config, texts: &[String]) -> Vec<FeatureSet> {
    let engine = Engine::new(config).unwrap();
    let mut scratch = Scratch::default();
    texts.iter().map(|text| engine.features(&Content::Text(text.clone()), &mut scratch)).collect()
}

/// Families of texts that differ in a few words each.
fn families() -> impl Strategy<Value = Vec<String>> {
    let member = (0u64..12, prop::collection::vec((0usize..40, 0u32..4), 0..6));
    let make = |(family, changes): (u64, Vec<(usize, u32)>)| {
        let base = text(family, 40);
        changes.into_iter().fold(base, |text, (at, word)| changed(&text, at, &format!("other{word}")))
    };
    prop::collection::vec(member.prop_map(make), 1..60)
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 12, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn what_goes_is_as_similar_as_asked_and_what_stays_is_not(texts in families(), templates in prop::bool::ANY) {
        let dir = Dir::new();
        dir.write("a.jsonl", corpus(texts.clone()));
        let templates = if templates { "keep" } else { "merge" };
        let run = |input: &str, out: &str, threads: &str| {
            let args = ["dedup", input, "-o", out, "--removed", "r", "--force", "--threshold", "0.6", "--recall", "0.9999"];
            dir.run(args.into_iter().chain(["--templates", templates, "--threads", threads])).ends_with(0);
            lines(&dir.read("r"))
        };
        let removed = run("a.jsonl", "out", "1");
        let kept = dir.read("out");
        let number = |line: &Value, key: &str| line[key].as_u64().unwrap() as usize;
        let stays: Vec<usize> = lines(&kept).iter().map(|line| number(line, "id")).collect();
        prop_assert!(stays.is_sorted());
        prop_assert_eq!(stays.len() + removed.len(), texts.len());
        let features = features(Preset::Copies.config(), &texts);
        for line in &removed {
            let (id, center) = (number(line, "id"), number(line, "kept"));
            let similarity = features[id].jaccard(&features[center]);
            prop_assert!(similarity >= 0.6 && stays.contains(&center));
            prop_assert!((line["similarity"].as_f64().unwrap() - similarity).abs() < 1e-6);
        }
        if templates == "merge" {
            for (at, &a) in stays.iter().enumerate() {
                for &b in &stays[..at] {
                    prop_assert!(features[a].jaccard(&features[b]) < 0.6, "{} and {}", a, b);
                }
            }
        }
        run("a.jsonl", "again", "5");
        prop_assert_eq!(dir.read("again"), &kept[..]);
        if templates == "merge" {
            // With other documents other words are rare, so forms may be judged otherwise.
            let more = run("out", "again", "2");
            prop_assert!(more.is_empty(), "{:?}", more);
            prop_assert_eq!(dir.read("again"), kept);
        }
    }
}

#[test]
fn recall_is_what_was_asked_for() {
    // 400 pairs of similarity just above the threshold; a bound of four standard deviations.
    let texts: Vec<String> = (0..400)
        .flat_map(|i| {
            let a = text(i, 118);
            let b = [20, 60, 100].iter().fold(a.clone(), |text, &at| changed(&text, at, "other"));
            [a, b]
        })
        .collect();
    let features = features(Preset::Copies.config(), &texts);
    let matching = (0..400).filter(|i| features[2 * i].jaccard(&features[2 * i + 1]) >= 0.8).count() as f64;
    assert!(matching >= 390.0);
    let dir = Dir::new();
    dir.write("a.jsonl", corpus(texts));
    for recall in [0.8, 0.99] {
        let asked = recall.to_string();
        let args = [
            "a.jsonl",
            "--templates",
            "merge",
            "--threshold",
            "0.8",
            "--recall",
            &asked,
            "-o",
            "out",
            "--force",
        ];
        let found = dedup(&dir, &args);
        let deviation = (recall * (1.0 - recall) / matching).sqrt();
        assert!(found["removed"].as_f64().unwrap() / matching >= recall - 4.0 * deviation, "{found}");
        assert!(found["expected_recall"].as_f64().unwrap() >= recall);
        assert_eq!(found["verified"], found["removed"]);
    }
}

#[test]
fn memory_and_threads_do_not_change_the_answer() {
    let dir = Dir::new();
    // 512 bytes of tags a document, of which 8 MB may stay in memory.
    dir.write("many.toml", "[minhash]\nrows = 128\nbands = { count = 128, rows = 1 }\n");
    let count = 18_000;
    dir.write(
        "a.jsonl",
        corpus((0..count).map(|i| changed(&text(i / 2, 30), 29, ["x", "y"][i as usize % 2]))),
    );
    let run = |more: &[&str]| {
        let args = [
            "a.jsonl",
            "--config",
            "many.toml",
            "-o",
            "out",
            "--force",
            "--clusters",
            "c",
            "--templates",
            "merge",
        ];
        let found = dedup(&dir, &[&args[..], more].concat());
        (dir.read("out"), dir.read("c"), found["candidates"].clone(), found["chains_cut"].clone())
    };
    let expected = run(&[]);
    assert!(expected.0.lines().count() < count as usize);
    assert!(run(&["--max-memory", "64M", "--threads", "3", "--temp-dir", "."]) == expected);
    assert!(run(&["--threads", "1"]) == expected);
    assert_eq!(dir.names(), ["a.jsonl", "c", "many.toml", "out"]);
}

#[test]
fn more_documents_than_the_memory_holds_is_a_limit() {
    let dir = Dir::new();
    let same = format!("{{\"text\":\"{}\"}}\n", "Short");
    dir.write("a.jsonl", same.repeat(200_000));
    let run = dir.run(["dedup", "a.jsonl", "--max-memory", "64M", "-o", "out"]).ends_with(5);
    run.says(&["do not fit into `--max-memory`", "raise it"]);
    assert!(!dir.exists("out"));
}

// Corpora made to hurt: the work stays within a bound, whatever they hold.

const MANY: u64 = 2000;

/// Deduplicates texts and checks that no more than 64 candidates a document were compared.
#[track_caller]
fn bounded(texts: impl IntoIterator<Item = String>, flags: &[&str]) -> Value {
    let dir = Dir::new();
    dir.write("a.jsonl", corpus(texts));
    let found = dedup(&dir, &[&["a.jsonl", "-o", "out", "--max-removed", "100%"], flags].concat());
    assert!(found["candidates"].as_u64().unwrap() <= 64 * found["documents"].as_u64().unwrap(), "{found}");
    assert_eq!(dir.read("out").lines().count() as u64, found["kept"].as_u64().unwrap());
    found
}

#[test]
fn all_equal() {
    let found = bounded((0..MANY).map(|_| text(1, 50)), &[]);
    assert_eq!(
        (&found["kept"], &found["candidates"], &found["largest_cluster"]),
        (&json!(1), &json!(0), &json!(MANY))
    );
    let found = bounded((0..MANY).map(|i| text(1, 50) + &" ".repeat(i as usize % 100)), &[]);
    assert_eq!(found["kept"], 1);
}

#[test]
fn all_empty_or_one_token() {
    let found = bounded((0..MANY).map(|_| String::new()), &[]);
    assert_eq!((&found["kept"], &found["too_short"]), (&json!(MANY), &json!(MANY)));
    let found = bounded((0..MANY).map(|i| "na ".repeat(i as usize % 40 + 3)), &[]);
    assert!(found["kept"].as_u64().unwrap() <= 40, "{found}");
}

#[test]
fn a_flood_of_near_copies() {
    let base = text(1, 100);
    let flood = |i: u64| changed(&base, (i % 100) as usize, &format!("x{i}"));
    let merged = bounded((0..MANY).map(flood), &["--templates", "merge"]);
    assert!(merged["kept"].as_u64().unwrap() <= 30, "{merged}");
    // Each holds a word of its own, so each may be a form with other facts.
    bounded((0..MANY).map(flood), &[]);
}

#[test]
fn a_flood_of_filled_forms() {
    let base = text(1, 60);
    let form = |i: u64| format!("{base} {} {} {} Company{i} {base}", i * 7919, i * 104_729, i * 31);
    let found = bounded((0..MANY).map(form), &[]);
    assert!(found["kept"].as_u64().unwrap() > MANY / 2, "{found}");
    assert!(found["caps_hit"].as_u64().unwrap() > 0, "{found}");
}

#[test]
fn shared_boilerplate() {
    let base = text(1, 180);
    let page = |i: u64| format!("{} {base}", text(i + 2, 20));
    let merged = bounded((0..MANY).map(page), &["--templates", "merge"]);
    assert!(merged["kept"].as_u64().unwrap() <= 30, "{merged}");
    bounded((0..MANY).map(page), &[]);
    // Half and half: alike, yet not alike enough.
    let base = text(1, 60);
    let found = bounded((0..MANY).map(|i| format!("{} {base}", text(i + 2, 60))), &["--threshold", "0.6"]);
    assert_eq!(found["kept"], MANY);
}

#[test]
fn one_hot_band() {
    // All share one row of the signature and little else.
    let dir = Dir::new();
    let config = dir.write("one.toml", "[minhash]\nrows = 8\nbands = { count = 8, rows = 1 }\n");
    let config = config.to_str().unwrap();
    let found = bounded(
        (0..MANY).map(|i| format!("{} the very same end of it", text(i + 1, 6))),
        &["--config", config],
    );
    assert_eq!(found["kept"], MANY);
}

#[test]
fn chains_are_cut() {
    // Each is like the next two and no other.
    let words: Vec<String> = text(1, 2200).split(' ').map(str::to_owned).collect();
    let links = |i: usize| words[i..i + 50].join(" ");
    let found = bounded((0..2000).map(links), &["--templates", "merge", "--threshold", "0.8"]);
    assert!(found["largest_cluster"].as_u64().unwrap() <= 12, "{found}");
    assert!(found["chains_cut"].as_u64().unwrap() > 100, "{found}");
}

#[test]
fn a_hub_and_its_spokes() {
    // Every spoke is like the hub; two spokes are less alike.
    let hub = text(1, 100);
    let spoke = |i: u64| {
        (0..3).fold(hub.clone(), |text, j| {
            changed(&text, ((i * 37 + j * 29) % 100) as usize, &format!("s{i}x{j}"))
        })
    };
    let flags = ["--templates", "merge", "--threshold", "0.8"];
    let first = bounded(std::iter::once(hub.clone()).chain((1..MANY).map(spoke)), &flags);
    let kept = first["kept"].as_u64().unwrap();
    assert!(kept < MANY / 10, "{first}");
    bounded((1..MANY).map(spoke).chain([hub.clone()]), &flags);
}

#[test]
fn keys_of_the_summary() {
    let dir = Dir::new();
    dir.write("a.jsonl", news());
    let found: HashMap<String, Value> =
        serde_json::from_value(dedup(&dir, &["a.jsonl", "-o", "out"])).unwrap();
    for key in [
        "documents",
        "kept",
        "removed",
        "clusters",
        "largest_cluster",
        "too_short",
        "rejected",
        "candidates",
        "verified",
        "expected_recall",
        "caps_hit",
        "seconds",
        "bytes",
        "peak_memory",
    ] {
        assert!(found[key].is_number(), "{key} in {found:?}");
    }
    assert_eq!((&found["kept"], &found["removed"], &found["clusters"]), (&json!(3), &json!(2), &json!(1)));
}
