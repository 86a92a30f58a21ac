//! Kept records are copied unchanged in every format.

use super::{BRIDGE, HARVEST, near, news};
use crate::common::{Dir, gzip, ids, zstd};
use parquet::column::writer::ColumnWriter;
use parquet::data_type::ByteArray;
use parquet::file::properties::WriterProperties;
use parquet::file::reader::{FileReader, SerializedFileReader};
use parquet::file::writer::SerializedFileWriter;
use parquet::schema::parser::parse_message_type;
use std::sync::Arc;

#[test]
fn copies_jsonl_byte_for_byte_in_input_order() {
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
    run.says(&["4 documents: 3 kept, 1 removed (25.0 %) in 1 cluster (largest size: 2)", "1 too short"]);
    let expected =
        format!("{}\r\n{}\n{}\n", odd(1, BRIDGE), odd(3, HARVEST), odd(4, "H\\u00e9 \\ud83d\\ude00 short"));
    assert_eq!(dir.read("out.jsonl"), expected);
    assert_eq!(dir.names(), ["a.jsonl", "out.jsonl"], "nothing else is left behind");
    // Standard input and output give the same result.
    let piped = dir.run_with_stdin(["dedup", "-"], input.as_bytes()).ends_with(0);
    assert_eq!(piped.stdout, expected);
    // A byte-order mark is not part of a record.
    dir.write("bom.jsonl", format!("\u{feff}{input}"));
    assert_eq!(dir.run(["dedup", "bom.jsonl"]).ends_with(0).stdout, expected);
    // Lines that end with a carriage return.
    dir.write("cr.jsonl", input.replace("\r\n", "\r").replace('\n', "\r"));
    let kept = dir.run(["dedup", "cr.jsonl"]).ends_with(0).stdout;
    assert_eq!(kept.replace('\r', "\n"), expected.replace("\r\n", "\n"));
}

#[test]
fn copies_quotes_and_line_breaks_of_tables_and_one_header() {
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
        // A directory gets one file each, with its header.
        dir.run(["dedup", &a_name, &b_name, "-o", "folder/"]).ends_with(0);
        assert_eq!(dir.read(format!("folder/{a_name}")), format!("{header}\r\n{}\r\n", row("a", BRIDGE)));
        assert_eq!(dir.read(format!("folder/{b_name}")), format!("{header}\n{}\n", row("d", HARVEST)));
        // Tables with other columns cannot share a header.
        let other = format!("other.{suffix}");
        dir.write(
            &other,
            ["text", "id"].join(delimiter) + "\n" + &[HARVEST.replace(',', ""), "x".into()].join(delimiter),
        );
        let run = dir.run(["dedup", &a_name, &other, "-o", "mixed"]).ends_with(2);
        run.says(&["different columns", "-o DIR/"]);
        assert!(!dir.exists("mixed"));
    }
}

#[test]
fn tables_without_rows_keep_their_header() {
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
fn copies_text_lines_and_whole_files() {
    let dir = Dir::new();
    let text = format!("{BRIDGE}\r\n\r\n{}\n{HARVEST}\nShort\n short \n-\n-\n", near());
    dir.write("a.txt", text);
    let run = dir.run(["dedup", "a.txt"]).ends_with(0);
    assert_eq!(run.stdout, format!("{BRIDGE}\r\n{HARVEST}\nShort\n-\n"));
    dir.write("letters/1.txt", format!("{BRIDGE}\n\nYours"));
    dir.write("letters/2.txt", format!("{BRIDGE}\n\nyours"));
    dir.write("letters/3.txt", HARVEST);
    let run = dir.run(["dedup", "--whole-files", "letters", "-o", "all.txt"]).ends_with(2);
    run.says(&["whole files cannot be written into one file"]);
    dir.run(["dedup", "--whole-files", "letters", "-o", "kept/"]).ends_with(0);
    assert_eq!(dir.read("kept/1.txt"), format!("{BRIDGE}\n\nYours"));
    assert_eq!(dir.read("kept/3.txt"), HARVEST);
    assert!(!dir.exists("kept/2.txt"));
}

#[test]
fn compressed_inputs_give_the_same_output() {
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
        // The flag takes precedence over the suffix.
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

/// Returns rows of id, text and a list of tags.
pub(crate) fn table(rows: &[(i64, &str)]) -> Vec<u8> {
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
fn copies_parquet_columns_and_row_order() {
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
    dir.run(["dedup", "a.parquet", "b.parquet", "-o", "one.parquet"]).ends_with(2).says(&["pass `-o DIR/`"]);
    assert!(!dir.exists("one.parquet"));
    // An empty file, and a file of which nothing is kept.
    dir.write("none.parquet", table(&[]));
    dir.run(["dedup", "none.parquet", "-o", "none.out.parquet"]).ends_with(0).says(&["0 documents"]);
    assert_eq!(rows(&dir, "none.out.parquet").len(), 0);
    dir.run(["dedup", "b.parquet", "--against", "b.parquet", "-o", "gone.parquet", "--max-removed", "1"])
        .ends_with(0);
    assert_eq!((rows(&dir, "gone.parquet").len(), schema("gone.parquet")), (0, schema("b.parquet")));
    // Nothing is written if a file is unreadable.
    let whole = std::fs::read(dir.path("a.parquet")).unwrap();
    dir.write("cut.parquet", &whole[..whole.len() - 9]);
    dir.run(["dedup", "cut.parquet", "b.parquet", "-o", "rest/"]).ends_with(4).says(&["cut.parquet"]);
    assert!(!dir.exists("rest"));
}

#[test]
fn refuses_to_mix_formats_in_one_file() {
    let dir = Dir::new();
    dir.write("a.jsonl", news());
    dir.write("b.csv", format!("id,text\n1,\"{HARVEST}\"\n"));
    dir.run(["dedup", "a.jsonl", "b.csv", "-o", "out"]).ends_with(2).says(&["the same format", "-o DIR/"]);
    assert_eq!(dir.names(), ["a.jsonl", "b.csv"]);
    dir.run(["dedup", "a.jsonl", "b.csv", "-o", "out/"]).ends_with(0);
    assert_eq!(dir.read("out/b.csv"), "id,text\n");
}
