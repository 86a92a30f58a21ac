//! Invalid inputs: files, bytes, lines and records.
//!
//! Each class of invalid input has a number and a test of the binary:
//!
//! | inputs | tested |
//! |---|---|
//! | C1-C8 missing files, directories, permissions, links, unusual names | here |
//! | C9-C11 empty, blank, only a byte-order mark | `inputs.rs` (`empty_input_gives_empty_output`), `dedup.rs` (`empty_inputs_...`), `parquet.rs` |
//! | C12-C16 line ends, byte-order mark | `inputs.rs` (`accepts_all_line_ends_...`) |
//! | C17-C22 UTF-16, not UTF-8, zeros, controls | here |
//! | C23-C28 long lines, quotes, ragged rows, headers | here |
//! | C29-C36 invalid JSON, invalid fields | here |
//! | C37, C41, C42 ids absent, of two types, beyond 2^53 | `inputs.rs` (`keeps_the_type_of_ids_...`), `parquet.rs` |
//! | C38, C39 duplicate ids | `groups.rs` (`rejects_duplicate_ids_...`), `dedup` (`rejects_or_replaces_duplicate_ids`), `audit.rs` |
//! | C40 long ids | here |
//! | C43-C48, C50 damaged or nested compression, decompression bombs, archives | here |
//! | C49 wrong suffix | `inputs.rs` (`detects_compression_...`) |
//! | C51-C56 Parquet | `parquet.rs` |
//! | C57, C61 full disk, signals | `ends.rs` |
//! | C58-C60 output exists, is an input, closed pipe | `outputs.rs`, `dedup.rs` |
//! | C62 settings out of range | here, `groups.rs`, `dedup.rs`, `tune.rs`, `audit.rs` |

use crate::common::{Dir, Run, gzip, records, zstd};
use std::io::Write;
use std::process::Stdio;

const GOOD: &str = "{\"id\":\"good\",\"text\":\"words that are good\"}\n";

/// Runs over an invalid and a valid input, whose record must be in the output.
fn with_good(dir: &Dir, bad: &str, code: i32, says: &[&str]) -> Run {
    dir.write("good.jsonl", GOOD);
    let run = dir.run(["fingerprint", "--", bad, "good.jsonl"]).ends_with(code).says(says);
    assert!(run.ids().ends_with("\"good\""), "{}", run.ids());
    run
}

/// Writes a JSONL file with one invalid line among valid ones.
fn bad_line(line: impl AsRef<[u8]>, says: &[&str]) {
    let dir = Dir::new();
    let content = [b"{\"id\":1,\"text\":\"x\"}\n", line.as_ref(), b"\n{\"id\":3,\"text\":\"x\"}\n"].concat();
    dir.write("a.jsonl", content);
    let run = dir
        .run(["fingerprint", "a.jsonl"])
        .ends_with(3)
        .says(&["rejected: a.jsonl, line 2, byte "])
        .says(says);
    assert_eq!(run.ids(), "1,3");
}

#[test]
fn c1_to_c5_reports_inputs_that_cannot_be_opened() {
    let dir = Dir::new();
    with_good(&dir, "nowhere.jsonl", 4, &["error: nowhere.jsonl: no such file"]);
    std::fs::create_dir(dir.path("folder")).unwrap();
    with_good(&dir, "folder", 4, &["error: folder: no file with a known suffix"]);
    std::os::unix::fs::symlink("gone", dir.path("dangling")).unwrap();
    with_good(&dir, "dangling", 4, &["error: dangling: symbolic link to a file that does not exist"]);
    std::os::unix::fs::symlink("loop", dir.path("loop")).unwrap();
    with_good(&dir, "loop", 4, &["error: loop: "]);
}

#[test]
fn c3_reports_missing_permission() {
    use std::os::unix::fs::PermissionsExt;
    let dir = Dir::new();
    let path = dir.write("secret.jsonl", GOOD);
    dir.write("good.jsonl", GOOD);
    std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o000)).unwrap();
    let mut command = dir.unprivileged_command(["fingerprint", "secret.jsonl", "good.jsonl"]);
    let run = Run::from(command.output().unwrap()).ends_with(4);
    assert_eq!(run.says(&["error: secret.jsonl: permission denied"]).ids(), "\"good\"");
}

#[test]
fn c6_to_c8_accepts_unusual_names() {
    use std::os::unix::ffi::OsStrExt;
    let dir = Dir::new();
    let names: [&[u8]; 4] = [b"new\nline.jsonl", b"\x1b[31mred.jsonl", b"-dash.jsonl", b"latin\xe9.jsonl"];
    for name in names {
        let name = std::ffi::OsStr::from_bytes(name);
        dir.write(name, GOOD);
        let run = dir.run([std::ffi::OsStr::new("fingerprint"), "--".as_ref(), name]).ends_with(0);
        assert_eq!(run.ids(), "\"good\"");
    }
    dir.write("\u{1b}]0;title\u{7}.jsonl", "broken\n");
    let run = dir.run(["fingerprint", "\u{1b}]0;title\u{7}.jsonl"]).ends_with(4);
    assert!(run.stderr.contains("\\u{1b}]0;title\\u{7}.jsonl, line 1") && !run.stderr.contains('\u{1b}'));
}

#[test]
fn c17_reports_utf16() {
    let dir = Dir::new();
    let utf16 = |mark: bool| {
        let text = if mark { format!("\u{feff}{GOOD}") } else { GOOD.to_owned() };
        text.encode_utf16().flat_map(u16::to_le_bytes).collect::<Vec<u8>>()
    };
    for mark in [true, false] {
        dir.write("wide.jsonl", utf16(mark));
        with_good(&dir, "wide.jsonl", 4, &["error: wide.jsonl: looks like UTF-16; convert"]);
    }
}

#[test]
fn c18_c19_rejects_bytes_that_are_not_utf8() {
    bad_line(b"{\"id\":2,\"text\":\"caf\xe9\"}", &["byte 39: byte 0xe9 is not UTF-8", "--lossy"]);
    bad_line(b"{\"id\":2,\"text\":\"\xc0\xaf\"}", &["byte 0xc0 is not UTF-8"]);
    bad_line(b"{\"id\":2,\"text\":\"\xed\xa0\x80\"}", &["byte 0xed is not UTF-8"]);
    // Also in a field that is not read.
    bad_line(b"{\"id\":2,\"text\":\"x\",\"y\":\"\xff\"}", &["byte 0xff is not UTF-8"]);
}

#[test]
fn lossy_replaces_and_counts() {
    let dir = Dir::new();
    dir.write("a.txt", b"some caf\xe9 here\nmore words here\n");
    let run = dir
        .run(["fingerprint", "a.txt", "--lossy"])
        .ends_with(0)
        .says(&["2 documents", "1 with invalid UTF-8 replaced"]);
    dir.write("b.txt", "some caf\u{fffd} here\nmore words here\n");
    assert_eq!(run.stdout, dir.run(["fingerprint", "b.txt"]).ends_with(0).stdout);
}

#[test]
fn c20_c22_accepts_zeros_control_characters_and_direction_marks() {
    let dir = Dir::new();
    dir.write("a.jsonl", "{\"text\":\"some \\u0000 words \\u0007 and \\u202e more\"}\n");
    dir.write("b.txt", "some \0 words \u{7} and \u{202e} more\n");
    assert_eq!(dir.run(["fingerprint", "a.jsonl", "b.txt"]).ends_with(0).ids(), "0,1");
}

#[test]
fn c21_refuses_binary_files() {
    let dir = Dir::new();
    for (name, bytes) in
        [("a.jsonl", vec![0; 10_000]), ("b.txt.gz", gzip(&[0; 10_000])), ("c.csv", vec![0; 5])]
    {
        dir.write(name, bytes);
        with_good(&dir, name, 4, &[&format!("error: {name}: binary, not text")]);
    }
}

#[test]
fn c23_skips_a_line_above_the_limit() {
    let dir = Dir::new();
    for ending in ["\n", "\r\n", "\r"] {
        let long = "x".repeat(3_000_000);
        let content = ["{\"id\":1,\"text\":\"x\"}", &long, "{\"id\":3,\"text\":\"x\"}", ""].join(ending);
        dir.write("a.jsonl", content);
        let run = dir.run(["fingerprint", "a.jsonl", "--max-line", "1M"]).ends_with(3);
        let place =
            format!("rejected: a.jsonl, line 2, byte {}: longer than 1048576 bytes", 19 + ending.len());
        assert_eq!(run.says(&[&place, "2 documents", "1 rejected"]).ids(), "1,3");
    }
    // A line that fits into one read is treated the same way.
    dir.write(
        "b.jsonl",
        format!("{{\"id\":1,\"text\":\"{}\"}}\n{{\"id\":2,\"text\":\"x\"}}\n", "y".repeat(5000)),
    );
    assert_eq!(dir.run(["fingerprint", "b.jsonl", "--max-line", "4K"]).ends_with(3).ids(), "2");
}

/// Reads 2 GiB without a line end in bounded memory.
#[test]
fn c23_reads_a_line_of_two_gigabytes_within_256_megabytes() {
    let dir = Dir::new();
    let mut command = dir.command(["fingerprint", "-", "--format", "jsonl", "-o", "out.jsonl", "--json"]);
    let mut child = command.stdin(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    let mut stdin = child.stdin.take().unwrap();
    let piece = vec![b'x'; 1 << 20];
    for _ in 0..2048 {
        stdin.write_all(&piece).unwrap();
    }
    stdin.write_all(b"\n").unwrap();
    stdin.write_all(records(1000).as_bytes()).unwrap();
    let status = std::fs::read_to_string(format!("/proc/{}/status", child.id())).unwrap();
    drop(stdin);
    let run = crate::common::Run::from(child.wait_with_output().unwrap()).ends_with(3);
    assert!(run.stderr.contains("-, line 1, byte 0: longer than 67108864 bytes"), "{}", run.stderr);
    assert_eq!(dir.read("out.jsonl").lines().count(), 1000);
    let peak = status.lines().find_map(|line| line.strip_prefix("VmHWM:")).unwrap();
    let kilobytes: u64 = peak.trim().trim_end_matches(" kB").parse().unwrap();
    assert!(kilobytes <= 256 << 10, "{kilobytes} kB");
}

#[test]
fn c24_c25_c26_rejects_invalid_rows() {
    let dir = Dir::new();
    let commas = ",".repeat(3_000_000);
    dir.write("a.csv", format!("id,text\n1,a\n{commas}\n2,b\n"));
    let run = dir.run(["fingerprint", "a.csv", "--max-line", "1M"]).ends_with(3);
    assert_eq!(run.says(&["a.csv, line 3, byte 12: longer than"]).ids(), "\"1\",\"2\"");
    let run = dir.run(["fingerprint", "a.csv"]).ends_with(3);
    assert_eq!(run.says(&["row has 3000001 values, but the header has 2 columns"]).ids(), "\"1\",\"2\"");

    dir.write("b.csv", "id,text\n1,\"a\n2,b\n3,\"c\"\n");
    let run = dir.run(["fingerprint", "b.csv"]).ends_with(3);
    assert_eq!(run.says(&["b.csv, line 2, byte 8: quote is never closed"]).ids(), "\"2\",\"3\"");

    dir.write("c.csv", "id,text\n1,a\n2\n3,b,c\n\n4,\"d\ne\"\n5\n");
    let run = dir.run(["fingerprint", "c.csv"]).ends_with(3);
    let says = [
        "c.csv, line 3, byte 12: row has 1 values, but the header has 2 columns",
        "c.csv, line 4",
        "c.csv, line 8",
    ];
    assert_eq!(run.says(&says).ids(), "\"1\",\"4\"");
}

#[test]
fn c27_c28_refuses_invalid_headers() {
    let dir = Dir::new();
    let cases = [
        (
            "a.csv",
            "1,some words\n2,more\n",
            "no column `text`, `body`, `content`, `article`, `title`; the columns are `1`, `some words`; name",
        ),
        ("b.csv", "id,text,text\n1,a,b\n", "column `text` occurs twice in `id`, `text`, `text`;"),
        (
            "c.csv",
            "id;text\n1;a\n",
            "no column `text`, `body`, `content`, `article`, `title`; the columns are `id;text`; set the separator",
        ),
        (
            "d.tsv",
            "id,text\n1,a\n",
            "no column `text`, `body`, `content`, `article`, `title`; the columns are `id,text`; set the separator",
        ),
        ("e.csv", "id,\"text\n1,a\n", "quote in the header is never closed"),
    ];
    for (name, content, reason) in cases {
        dir.write(name, content);
        with_good(&dir, name, 4, &[&format!("error: {name}: {reason}")]);
    }
}

#[test]
fn c29_to_c36_rejects_invalid_records() {
    bad_line(r#"{"id":2,"text":"x",}"#, &["byte 39: invalid JSON: "]);
    bad_line(r#"{"id":2,"text":"x"#, &["invalid JSON: EOF while parsing a string"]);
    let deep = format!("{{\"text\":\"x\",\"n\":{}{}}}", "[".repeat(10_000), "]".repeat(10_000));
    bad_line(deep, &["nested deeper than 64"]);
    bad_line(r#"{"text":"x","n":1e999999}"#, &["invalid JSON: number out of range"]);
    bad_line(r#"{"text":"x","text":"y"}"#, &["duplicate key `text`"]);
    bad_line(r#"{"text":"x","a":1,"a":1}"#, &["duplicate key `a`"]);
    bad_line(r#"{"text":"\ud83d"}"#, &["invalid JSON: "]);
    bad_line(r#"{"text":"x"}{"text":"y"}"#, &["invalid JSON: trailing characters"]);
    bad_line(r#"["x"]"#, &["not a JSON object"]);
    bad_line(r#"{"text":null}"#, &["field `text` is null"]);
    bad_line(r#"{"text":5}"#, &["field `text` is a number"]);
    bad_line(r#"{"text":["a"]}"#, &["field `text` is an array"]);
    bad_line(r#"{"body":"x"}"#, &["field `text` is missing"]);
    bad_line(r#"{"tokens":["a",1]}"#, &["field `tokens` is an array with elements other than strings"]);
    for (id, kind) in [("1.5", "a number"), ("true", "a boolean"), ("[1]", "an array"), ("{}", "an object")] {
        bad_line(format!("{{\"id\":{id},\"text\":\"x\"}}"), &[&format!("field `id` is {kind}")]);
    }
}

#[test]
fn c34_refuses_a_json_array() {
    let dir = Dir::new();
    for content in ["[{\"id\":1,\"text\":\"x\"}]", "\u{feff}\n [\n{\"id\":1,\"text\":\"x\"}\n]\n"] {
        dir.write("a.json", content);
        with_good(
            &dir,
            "a.json",
            4,
            &["error: a.json: is a JSON array; expected one object per line", "--format"],
        );
    }
}

#[test]
fn c40_rejects_ids_that_are_too_long_or_not_printable() {
    bad_line(format!("{{\"id\":\"{}\",\"text\":\"x\"}}", "i".repeat(10_240)), &["the id has 10240 bytes"]);
    bad_line(format!("{{\"id\":\"{}\",\"text\":\"x\"}}", "i".repeat(513)), &["the id has 513 bytes"]);
    bad_line(r#"{"id":"a\nb","text":"x"}"#, &["the id contains control characters"]);
    bad_line(r#"{"id":"","text":"x"}"#, &["the id is empty"]);
    let dir = Dir::new();
    dir.write("a.jsonl", format!("{{\"id\":\"{}\",\"text\":\"x\"}}", "i".repeat(512)));
    dir.run(["fingerprint", "a.jsonl"]).ends_with(0);
}

#[test]
fn limits_the_size_of_documents() {
    let dir = Dir::new();
    dir.write("a.jsonl", format!("{{\"text\":\"{}\"}}\n{{\"text\":\"x\"}}\n", "y ".repeat(1000)));
    let run = dir.run(["fingerprint", "a.jsonl", "--max-document", "1K"]).ends_with(3);
    assert_eq!(run.says(&["a.jsonl, line 1, byte 0: the text has 2000 bytes", "--max-document"]).ids(), "1");
    dir.write("big.txt", "line\n".repeat(1_000_000));
    dir.write("small.txt", "line\n");
    let run = dir
        .run(["fingerprint", "--whole-files", "big.txt", "small.txt", "--max-document", "2M"])
        .ends_with(3);
    assert_eq!(run.says(&["big.txt, line 1, byte 0: longer than 2097152 bytes"]).ids(), "\"small.txt\"");
}

#[test]
fn c43_c44_uses_records_before_damaged_compression() {
    let dir = Dir::new();
    let (content, count) = (records(20_000), 20_000);
    let cases = [("a.jsonl.gz", gzip(content.as_bytes())), ("a.jsonl.zst", zstd(content.as_bytes()))];
    for (name, packed) in cases {
        dir.write(name, &packed[..packed.len() / 2]);
        let run =
            with_good(&dir, name, 4, &[&format!("error: {name}, byte "), "the compressed data is truncated"]);
        let kept = run.documents() - 1;
        assert!(!run.stderr.contains("rejected:"), "the unfinished line is no record: {}", run.stderr);
        assert!(kept > 1000 && kept < count, "{name}: {kept}");
        let whole = dir.run_with_stdin(["fingerprint", "-"], content.as_bytes()).ends_with(0).stdout;
        let kept: Vec<&str> = run.stdout.lines().take(kept).collect();
        assert!(whole.lines().take(kept.len()).eq(kept), "{name}");
    }
    let mut packed = gzip(content.as_bytes());
    let trailer = packed.len() - 8;
    packed[trailer] ^= 1;
    dir.write("b.jsonl.gz", packed);
    let run = with_good(&dir, "b.jsonl.gz", 4, &["error: b.jsonl.gz, byte ", "checksum"]);
    assert_eq!(run.documents(), count + 1);
    dir.write("c.jsonl.gz", [0x1f, 0x8b]);
    with_good(&dir, "c.jsonl.gz", 4, &["error: c.jsonl.gz"]);
}

#[test]
fn c45_refuses_nested_compression() {
    let dir = Dir::new();
    dir.write("a.jsonl.gz", gzip(&gzip(GOOD.as_bytes())));
    with_good(&dir, "a.jsonl.gz", 4, &["error: a.jsonl.gz: gzip inside gzip"]);
    dir.write("b.jsonl.zst", zstd(&gzip(GOOD.as_bytes())));
    with_good(&dir, "b.jsonl.zst", 4, &["error: b.jsonl.zst: gzip inside Zstandard"]);
}

#[test]
fn c46_c47_stops_decompression_bombs() {
    let dir = Dir::new();
    let spaces = gzip(&vec![b' '; 1 << 20]);
    let bombs = [
        ("zeros.jsonl.gz", gzip(&vec![0; 100 << 20])),
        ("blanks.jsonl.gz", spaces.repeat(10_000)),
        ("letters.txt.zst", zstd(&vec![b'a'; 512 << 20])),
        ("zeros.txt.zst", zstd(&vec![0; 512 << 20])),
    ];
    for (name, bomb) in bombs {
        dir.write(name, bomb);
        with_good(&dir, name, 5, &[&format!("error: {name}, byte "), "above the ratio of 200 to 1"]);
    }
}

#[test]
fn max_expanded_sets_the_limit() {
    let dir = Dir::new();
    let record = format!("{{\"text\":\"{}\"}}\n", "the same words again and again ".repeat(130));
    let content = record.repeat(20_000);
    dir.write("a.jsonl.zst", zstd(content.as_bytes()));
    dir.write("few.jsonl.zst", zstd(records(1000).as_bytes()));
    dir.run(["fingerprint", "few.jsonl.zst", "--max-expanded", "64K"])
        .ends_with(5)
        .says(&["expands to more than 65536 bytes"]);
    dir.run(["fingerprint", "a.jsonl.zst", "-o", "out"]).ends_with(5).says(&["above the ratio of 200 to 1"]);
    let run = dir.run("fingerprint a.jsonl.zst -o out --force --max-expanded 1G --preset wire".split(' '));
    run.ends_with(0).says(&["20,000 documents"]);
}

#[test]
fn c48_refuses_a_window_above_128_mebibytes() {
    let dir = Dir::new();
    // Magic number, a frame without content size, a window of 2 GiB, and one raw block of 5 bytes.
    let frame = [&[0x28, 0xb5, 0x2f, 0xfd, 0x00, 21 << 3, (5 << 3) | 1, 0, 0], &b"hello"[..]].concat();
    dir.write("a.txt.zst", frame);
    with_good(
        &dir,
        "a.txt.zst",
        5,
        &["error: a.txt.zst, byte 0: the Zstandard window is larger than 128 MiB"],
    );
}

#[test]
fn c50_refuses_archives() {
    let dir = Dir::new();
    let mut tar = vec![b'a'; 512];
    tar[257..262].copy_from_slice(b"ustar");
    let archives = [
        ("a.zip", b"PK\x03\x04rest".to_vec(), "is a zip archive, which is not supported"),
        ("a.tar.gz", gzip(&tar), "is a tar archive, which is not supported"),
        ("a.jsonl.xz", b"\xfd7zXZ\0rest".to_vec(), "is compressed with xz"),
    ];
    for (name, bytes, reason) in archives {
        dir.write(name, bytes);
        with_good(&dir, name, 4, &[&format!("error: {name}: {reason}")]);
    }
}

#[test]
fn returns_the_most_serious_code() {
    let dir = Dir::new();
    dir.write("rejected.jsonl", "broken\n");
    dir.write("bomb.jsonl.gz", gzip(&vec![0; 100 << 20]));
    dir.run(["fingerprint", "rejected.jsonl", "nowhere"]).ends_with(4);
    dir.run(["fingerprint", "bomb.jsonl.gz", "rejected.jsonl", "nowhere"]).ends_with(5);
    dir.run(["fingerprint", "nowhere", "--on-bad", "skip"]).ends_with(4);
}

#[test]
fn c62_settings_out_of_range_are_usage_errors() {
    let dir = Dir::new();
    dir.write("a.jsonl", GOOD);
    dir.write("nan.toml", "[matching]\nthreshold = nan\n");
    dir.write("radius.toml", "preset = \"wire\"\n[simhash]\nradius = 65\n");
    dir.write("bands.toml", "[minhash]\nrows = 16\nbands = { count = 5, rows = 4 }\n");
    let cases: [(&[&str], &str); 12] = [
        (&["--threads", "0"], "1..=1024"),
        (&["--threads", "1000000"], "1..=1024"),
        (&["--max-line", "1"], "must be 1K to 1024T"),
        (&["--max-document", "much"], "must be 1K to 1024T"),
        (&["--shingle", "words:0"], "1 to 64"),
        (&["--shingle", "lines:3"], "words:N"),
        (&["--shingle", "words:3", "--preset", "sdr"], "no shingles"),
        (&["--preset", "wires"], "copies"),
        (&["--config", "nan.toml"], "more than 0 and at most 1"),
        (&["--config", "radius.toml"], "0 to 64"),
        (&["--config", "bands.toml"], "at most the 16 rows"),
        (&["--config", "none.toml"], "config file `none.toml`"),
    ];
    for (args, says) in cases {
        let run = dir.run([&["fingerprint", "a.jsonl"], args].concat()).ends_with(2).says(&[says]);
        assert_eq!(run.stdout, "", "{args:?}");
    }
    dir.run(["fingerprint"]).ends_with(2);
    dir.run(["fingerprint", "-", "-"]).ends_with(2).says(&["given twice"]);
    let run = dir.command(["fingerprint", "a.jsonl"]).env("SAMEISH_SIMD", "mmx").output().unwrap();
    crate::common::Run::from(run).ends_with(2).says(&["SAMEISH_SIMD"]);
}
