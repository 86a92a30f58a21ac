//! Parquet inputs: the results of JSONL for all column types, and errors for damaged files.

use crate::common::{Dir, gzip};
use parquet::basic::{Compression, ZstdLevel};
use parquet::column::writer::ColumnWriter;
use parquet::data_type::ByteArray;
use parquet::file::properties::{WriterProperties, WriterPropertiesBuilder};
use parquet::file::writer::SerializedFileWriter;
use parquet::schema::parser::parse_message_type;
use proptest::prelude::*;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// Values of one column, or levels and values of any type.
enum Values {
    Texts(Vec<Option<Vec<u8>>>),
    Numbers(Vec<Option<i64>>),
    SmallNumbers(Vec<Option<i32>>),
    Lists(Vec<i16>, Vec<i16>, Vec<&'static str>),
}

fn texts(texts: &[&str]) -> Values {
    Values::Texts(texts.iter().map(|text| Some(text.as_bytes().to_vec())).collect())
}

fn plain() -> WriterPropertiesBuilder {
    WriterProperties::builder()
}

/// Writes a file with all rows in one row group. Columns must be `optional`.
fn file(schema: &str, columns: &[Values], properties: WriterPropertiesBuilder) -> Vec<u8> {
    let end = if schema.ends_with('}') { "" } else { ";" };
    let schema = Arc::new(parse_message_type(&format!("message rows {{ {schema}{end} }}")).unwrap());
    let mut out = Vec::new();
    let mut writer = SerializedFileWriter::new(&mut out, schema, Arc::new(properties.build())).unwrap();
    let mut group = writer.next_row_group().unwrap();
    let levels = |there: Vec<bool>| there.into_iter().map(i16::from).collect::<Vec<_>>();
    for values in columns {
        let mut column = group.next_column().unwrap().unwrap();
        match (values, column.untyped()) {
            (Values::Texts(texts), ColumnWriter::ByteArrayColumnWriter(writer)) => {
                let def = levels(texts.iter().map(Option::is_some).collect());
                let texts: Vec<ByteArray> = texts.iter().flatten().map(|text| text.clone().into()).collect();
                writer.write_batch(&texts, Some(&def), None).unwrap();
            }
            (Values::Numbers(numbers), ColumnWriter::Int64ColumnWriter(writer)) => {
                let def = levels(numbers.iter().map(Option::is_some).collect());
                let numbers: Vec<i64> = numbers.iter().copied().flatten().collect();
                writer.write_batch(&numbers, Some(&def), None).unwrap();
            }
            (Values::SmallNumbers(numbers), ColumnWriter::Int32ColumnWriter(writer)) => {
                let def = levels(numbers.iter().map(Option::is_some).collect());
                let numbers: Vec<i32> = numbers.iter().copied().flatten().collect();
                writer.write_batch(&numbers, Some(&def), None).unwrap();
            }
            (Values::Lists(def, rep, texts), ColumnWriter::ByteArrayColumnWriter(writer)) => {
                let texts: Vec<ByteArray> = texts.iter().map(|&text| text.into()).collect();
                writer.write_batch(&texts, Some(def), Some(rep)).unwrap();
            }
            _ => panic!("values of another type than the column"),
        }
        column.close().unwrap();
    }
    group.close().unwrap();
    writer.close().unwrap();
    out
}

fn samples() -> Vec<PathBuf> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../testdata/parquet");
    let mut files: Vec<PathBuf> =
        std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()).collect();
    files.retain(|path| path.extension().is_some_and(|suffix| suffix == "parquet"));
    files.sort();
    files
}

/// Returns the texts that make.py writes.
fn expected_jsonl() -> String {
    let text = |i: u64| serde_json::json!({"id": (1u64 << 63) + i, "text": format!("the text of row {i} says \"{}\"\nand no more", i * i)});
    (0..60).map(|i| format!("{}\n", text(i))).collect()
}

#[test]
fn reads_files_of_another_writer() {
    let dir = Dir::new();
    dir.write("a.jsonl", expected_jsonl());
    let expected = dir.run(["fingerprint", "a.jsonl"]).ends_with(0).stdout;
    let samples = samples();
    assert!(samples.len() >= 7);
    for path in samples {
        let run = dir.run(["fingerprint".as_ref(), path.as_os_str()]).ends_with(0).says(&["60 documents"]);
        assert_eq!(run.stdout, expected, "{}", path.display());
        let view =
            dir.run(["fingerprint".as_ref(), path.as_os_str(), "--text-field=view".as_ref()]).ends_with(0);
        assert_eq!(view.stdout, expected, "{}", path.display());
        // Neither name nor directory matters.
        let bytes = std::fs::read(&path).unwrap();
        dir.write("disguised.jsonl", &bytes);
        assert_eq!(dir.run(["fingerprint", "disguised.jsonl"]).ends_with(0).stdout, expected);
        assert_eq!(dir.run_with_stdin(["fingerprint", "-"], &bytes).ends_with(0).stdout, expected);
    }
}

#[test]
fn reads_tokens_titles_and_nested_fields() {
    let dir = Dir::new();
    let sample = samples().remove(0);
    let run = |args: &[&str]| {
        let args = [&["fingerprint", sample.to_str().unwrap(), "--preset", "wire"], args].concat();
        dir.run(args).ends_with(0).stdout
    };
    let line = |i: usize, content: serde_json::Value| {
        let mut record = content;
        record["id"] = serde_json::json!((1u64 << 63) + i as u64);
        format!("{record}\n")
    };
    let tokens = |i: usize| (0..i % 4).map(|j| format!("t{j}")).collect::<Vec<_>>();
    dir.write(
        "t.jsonl",
        (0..60).map(|i| line(i, serde_json::json!({"tokens": tokens(i)}))).collect::<String>(),
    );
    let expected = dir.run(["fingerprint", "t.jsonl", "--preset", "wire"]).ends_with(0).stdout;
    assert_eq!(run(&["--text-field", "tokens"]), expected);
    // Every fourth struct is null; the tokens are used.
    let nested = |i: usize| match i % 4 == 3 {
        false => serde_json::json!({"text": format!("h{}", i % 3)}),
        true => serde_json::json!({"tokens": tokens(i)}),
    };
    dir.write("n.jsonl", (0..60).map(|i| line(i, nested(i))).collect::<String>());
    let expected = dir.run(["fingerprint", "n.jsonl", "--preset", "wire"]).ends_with(0).stdout;
    assert_eq!(run(&["--text-field", "meta.host"]), expected);
}

#[test]
fn keeps_type_and_digits_of_ids() {
    let dir = Dir::new();
    let three = || texts(&["one text here", "two texts here", "three texts here"]);
    let write = |schema: &str, ids: Values| {
        dir.write(
            "a.parquet",
            file(&format!("{schema}; optional binary text (UTF8)"), &[ids, three()], plain()),
        );
        dir.run(["fingerprint", "a.parquet"]).ends_with(0).ids()
    };
    let large = || Values::Numbers(vec![Some(-1), None, Some(i64::MIN)]);
    assert_eq!(write("optional int64 id", large()), "-1,1,-9223372036854775808");
    assert_eq!(
        write("optional int64 id (INTEGER(64,false))", large()),
        "18446744073709551615,1,9223372036854775808"
    );
    assert_eq!(write("optional int64 id (UINT_64)", large()), "18446744073709551615,1,9223372036854775808");
    let small = || Values::SmallNumbers(vec![Some(-1), Some(7), None]);
    assert_eq!(write("optional int32 id", small()), "-1,7,2");
    assert_eq!(write("optional int32 id (INTEGER(32,false))", small()), "4294967295,7,2");
    assert_eq!(write("optional binary id (UTF8)", texts(&["7", "b", "é"])), "\"7\",\"b\",\"é\"");
    assert_eq!(write("optional binary id", texts(&["7", "b", "é"])), "\"7\",\"b\",\"é\"");
}

#[test]
fn rejects_rows_by_number() {
    let dir = Dir::new();
    let good = |text: &str| Some(text.as_bytes().to_vec());
    let rows = vec![
        good("fine words here"),
        None,
        Some(b"caf\xe9".to_vec()),
        good(&"long ".repeat(1000)),
        good("last one"),
    ];
    dir.write("a.parquet", file("optional binary text (UTF8)", &[Values::Texts(rows)], plain()));
    let run = dir
        .run(["fingerprint", "a.parquet", "--max-document", "4K", "--rejects", "r.jsonl"])
        .ends_with(3)
        .says(&["rejected: a.parquet, row 2: field `text` is missing", "row 3: byte 0xe9 is not UTF-8"])
        .says(&["row 4: the text has 5000 bytes", "2 documents, 1 too short, 3 rejected"]);
    assert_eq!(run.ids(), "0,4");
    let reject: serde_json::Value =
        serde_json::from_str(dir.read("r.jsonl").lines().next().unwrap()).unwrap();
    assert_eq!(reject["row"], 2);
    assert!(reject.get("line").is_none() && reject.get("offset").is_none(), "{reject}");
    let run = dir.run(["fingerprint", "a.parquet", "--max-line", "4K"]).ends_with(3);
    run.says(&["row 4: longer than 4096 bytes"]);
    dir.run(["fingerprint", "a.parquet", "--lossy"]).ends_with(3).says(&["1 with invalid UTF-8 replaced"]);
}

#[test]
fn rejects_tokens_with_nulls() {
    let dir = Dir::new();
    let schema = "optional group tokens (LIST) { repeated group list { optional binary element (UTF8); } }";
    // ["a", "b"], null, [], ["c", null]
    let lists = Values::Lists(vec![3, 3, 0, 1, 3, 2], vec![0, 1, 0, 0, 0, 1], vec!["a", "b", "c"]);
    dir.write("a.parquet", file(schema, &[lists], plain()));
    let run = dir.run(["fingerprint", "a.parquet", "--preset", "wire"]).ends_with(3).says(&[
        "row 2: field `text` is missing",
        "row 4: field `tokens` is an array with elements other than strings",
    ]);
    assert_eq!(run.ids(), "0,2");
}

#[test]
fn c53_to_c55_refuses_invalid_columns_and_accepts_no_rows() {
    let dir = Dir::new();
    let cases = [
        (
            "optional int64 text",
            Values::Numbers(vec![Some(1)]),
            "column `text` is of type INT64; it must contain strings",
        ),
        (
            "optional binary words (UTF8)",
            texts(&["a"]),
            "no column `text`, `body`, `content`, `article`, `title`; the columns are `words`; name the text field",
        ),
        (
            "optional int64 title (TIMESTAMP(MILLIS,true))",
            Values::Numbers(vec![Some(1)]),
            "column `title` is of type TIMESTAMP",
        ),
    ];
    for (schema, values, says) in cases {
        dir.write("a.parquet", file(schema, &[values], plain()));
        dir.run(["fingerprint", "a.parquet"]).ends_with(4).says(&[says]);
    }
    dir.write("empty.parquet", file("optional binary text (UTF8)", &[texts(&[])], plain()));
    dir.run(["fingerprint", "empty.parquet"]).ends_with(0).says(&["0 documents"]);
}

#[test]
fn c51_c52_c54_refuses_files_that_are_not_parquet() {
    let dir = Dir::new();
    let good = std::fs::read(&samples()[0]).unwrap();
    let len = good.len();
    let with_footer_length = |length: u32| [&good[..len - 8], &length.to_le_bytes(), b"PAR1"].concat();
    let cases: Vec<(Vec<u8>, &str)> = vec![
        (b"PAR1".to_vec(), "may be truncated"),
        (good[..len - 1].to_vec(), "may be truncated"),
        (good[..len / 2].to_vec(), "may be truncated"),
        (with_footer_length(u32::MAX), "footer is longer than the file"),
        (with_footer_length(len as u32), "footer is longer than the file"),
        (with_footer_length(0), "the footer is truncated"),
        (with_footer_length(100), "unreadable Parquet file"),
        ([&good[..len - 4], b"PARE"].concat(), "encrypted"),
    ];
    for (bytes, says) in cases {
        dir.write("a.parquet", bytes);
        let run = dir.run(["fingerprint", "a.parquet"]).ends_with(4).says(&["error: a.parquet: ", says]);
        assert!(!run.stderr.contains("panicked"), "{}", run.stderr);
    }
    dir.write("a.parquet.gz", gzip(&good));
    dir.run(["fingerprint", "a.parquet.gz"]).ends_with(4).says(&["Parquet inside gzip; decompress it"]);
    dir.write("a.parquet", &good);
    dir.run(["fingerprint", "a.parquet", "--format", "csv"])
        .ends_with(4)
        .says(&["is a Parquet file; omit `--format`"]);
    dir.run(["compare", "a.parquet", "a.parquet"])
        .ends_with(4)
        .says(&["is a Parquet file; expected a text file"]);
    dir.run(["eval", "a.parquet", "a.parquet"])
        .ends_with(4)
        .says(&["is a Parquet file; expected a text file"]);
    dir.run(["fingerprint", "a.parquet", "--format", "parquet"]).ends_with(0);
}

/// C9 to C11: an empty file has no records; a blank line or a byte-order mark is not Parquet.
#[test]
fn c9_accepts_an_empty_file() {
    let dir = Dir::new();
    dir.write("e.parquet", "");
    dir.run(["fingerprint", "e.parquet", "-o", "out"]).ends_with(0).says(&["0 documents"]);
    dir.run(["fingerprint", "-", "--format", "parquet"]).ends_with(0).says(&["0 documents"]);
    dir.run(["dedup", "e.parquet", "-o", "kept.parquet"]).ends_with(0).says(&["0 documents: 0 kept"]);
    assert_eq!((dir.read("out"), dir.read("kept.parquet")), (String::new(), String::new()));
    for content in ["\n\n", "\u{feff}"] {
        dir.write("b.parquet", content);
        dir.run(["fingerprint", "b.parquet"])
            .ends_with(4)
            .says(&["error: b.parquet: unreadable Parquet file"]);
    }
    // A table without rows keeps its columns.
    dir.write("none.parquet", file("optional binary text (UTF8)", &[texts(&[])], plain()));
    dir.run(["dedup", "none.parquet", "-o", "none/"]).ends_with(0);
    dir.run(["fingerprint", "none/none.parquet"]).ends_with(0).says(&["0 documents"]);
}

/// A row group of 240 MB needs no more memory than the records in flight.
#[test]
fn c56_streams_a_large_row_group() {
    let dir = Dir::new();
    let text = |row: usize| format!("row{row} ").repeat(4000 / format!("row{row} ").len());
    let rows = Values::Texts((0..60_000).map(|row| Some(text(row).into_bytes())).collect());
    let properties = plain().set_dictionary_enabled(false);
    dir.write("a.parquet", file("optional binary text (UTF8)", &[rows], properties));
    assert!(std::fs::metadata(dir.path("a.parquet")).unwrap().len() > 230_000_000);
    let run = dir.run(["dedup", "a.parquet", "--dry-run", "--json", "--temp-dir", "."]).ends_with(0);
    let summary: serde_json::Value = serde_json::from_str(&run.stdout).unwrap();
    assert_eq!(summary["documents"], 60_000);
    let peak = summary["peak_memory"].as_u64().unwrap();
    assert!(peak < 150_000_000, "{peak}");
}

/// The second row group of the uncompressed sample is damaged; the rows of the first are used and one error is reported.
#[test]
fn uses_rows_before_damage() {
    let dir = Dir::new();
    let sample = samples().into_iter().find(|path| path.ends_with("none.parquet")).unwrap();
    let mut bytes = std::fs::read(sample).unwrap();
    let needle = b"the text of row 25 says";
    let at = bytes.windows(needle.len()).position(|window| window == needle).unwrap();
    // The length that precedes the text.
    bytes[at - 4..at].copy_from_slice(&[0xff; 4]);
    dir.write("a.parquet", bytes);
    dir.write("good.jsonl", "{\"id\":\"good\",\"text\":\"words that are good\"}\n");
    let run = dir
        .run(["fingerprint", "a.parquet", "good.jsonl"])
        .ends_with(4)
        .says(&["26 documents, 1 input not read completely"]);
    assert!(run.ids().ends_with("9223372036854775832,\"good\""), "{}", run.ids());
}

/// One text of 64 KiB in a dictionary, referenced by 1,500 rows: 98 MB from a few hundred bytes.
#[test]
fn stops_decompression_bombs() {
    let dir = Dir::new();
    let text = vec![b'x'; 64 << 10];
    let rows = Values::Texts(vec![Some(text); 1500]);
    let zstd = Compression::ZSTD(ZstdLevel::try_new(3).unwrap());
    let properties = plain().set_compression(zstd).set_dictionary_page_size_limit(8 << 20);
    let bytes = file("optional binary text (UTF8)", &[rows], properties);
    assert!(bytes.len() < 100_000, "{}", bytes.len());
    dir.write("a.parquet", bytes);
    dir.run(["fingerprint", "a.parquet", "--preset", "wire", "--quiet"])
        .ends_with(5)
        .says(&["above the ratio of 200 to 1"]);
}

/// Runs with limited address space, so that an allocation of gigabytes would abort the process.
fn orderly(dir: &Dir, name: &str) -> Result<(), TestCaseError> {
    let script = format!("ulimit -v 2000000; exec $SAMEISH fingerprint --preset wire --threads 1 {name}");
    let output = dir.shell_command(&script).output().unwrap();
    let stderr = String::from_utf8_lossy(&output.stderr);
    let code = output.status.code();
    prop_assert!(matches!(code, Some(0 | 3 | 4 | 5)), "{code:?} {stderr}");
    prop_assert!(!stderr.contains("panicked"), "{stderr}");
    Ok(())
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 150, failure_persistence: None, ..ProptestConfig::default() })]

    /// A file with random damage never causes a crash.
    #[test]
    fn damaged_files_end_in_order(
        sample in 0usize..7,
        flips in prop::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 1..6),
        in_footer: bool,
        cut in prop::option::weighted(0.2, any::<prop::sample::Index>()),
    ) {
        let dir = Dir::new();
        let mut bytes = std::fs::read(&samples()[sample]).unwrap();
        let len = bytes.len();
        let footer = u32::from_le_bytes(bytes[len - 8..len - 4].try_into().unwrap()) as usize;
        for (at, byte) in flips {
            let place = if in_footer { len - 8 - footer + at.index(footer) } else { at.index(len) };
            bytes[place] = byte;
        }
        if let Some(cut) = cut {
            let at = cut.index(len);
            bytes.drain(at..(at + 40).min(len));
        }
        dir.write("a.parquet", bytes);
        orderly(&dir, "a.parquet")?;
    }
}
