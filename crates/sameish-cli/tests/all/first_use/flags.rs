//! Flags: values that are nearly right, hints, and the dry run on a terminal.

use super::{directory, table};
use crate::common::{Dir, lines};

#[test]
fn errors_name_the_flag_and_suggest_a_value() {
    let dir = directory();
    for command in ["dedup", "pairs", "cluster", "tune"] {
        let run = dir.run([command, "a.jsonl", "--threshold", "80"]).ends_with(2);
        run.says(&["--threshold", "must be between 0 and 1; did you mean 0.8?"]);
        dir.run([command, "a.jsonl", "--threshold", "80%", "--recall", "99%"]).ends_with(0);
    }
    for (flag, value) in [("--threshold", "0"), ("--recall", "1"), ("--radius", "65"), ("--threshold", "x")] {
        dir.run(["pairs", "a.jsonl", flag, value]).ends_with(2).says(&[flag]);
    }
}

#[test]
fn a_table_in_a_jsonl_file_is_recognized_once() {
    let dir = Dir::new();
    dir.write("a.jsonl", table(',', "text").repeat(500));
    let run = dir.run(["fingerprint", "a.jsonl"]).ends_with(4);
    let run = run.says(&["error: a.jsonl: looks like CSV; pass `--format csv`"]);
    assert!(!run.stderr.contains("rejected: "), "{}", run.stderr);
    dir.write("b.jsonl", table('\t', "text"));
    dir.run(["dedup", "b.jsonl", "--dry-run"]).ends_with(4).says(&["looks like TSV; pass `--format tsv`"]);
    dir.write("c.jsonl", "not json, but not a table\nof any kind either\n");
    dir.run(["fingerprint", "c.jsonl"]).ends_with(4).says(&["all 2 records were rejected"]);
}

#[test]
fn a_delimiter_reads_tables_with_other_separators() {
    let dir = Dir::new();
    dir.write("a.csv", table(';', "text"));
    dir.run(["dedup", "a.csv", "-o", "out.csv"]).ends_with(4).says(&["`key;title;text`", "--delimiter ';'"]);
    dir.run(["dedup", "a.csv", "-o", "out.csv", "--delimiter", ";"])
        .ends_with(0)
        .says(&["3 documents", "1 removed"]);
    assert!(dir.read("out.csv").starts_with("key;title;text\n1;"));
    let run = dir.run_with_stdin(
        ["fingerprint", "-", "--delimiter", "tab", "--id-field", "key"],
        table('\t', "text").as_bytes(),
    );
    assert_eq!(run.ends_with(0).ids(), "\"1\",\"2\",\"3\"");
    dir.run(["dedup", "a.csv", "--delimiter", "::"])
        .ends_with(2)
        .says(&["--delimiter", "one ASCII character"]);
}

#[test]
fn data_directories_and_indexes_have_clear_errors() {
    let dir = directory();
    dir.run(["serve", "--data", "a.jsonl"])
        .ends_with(4)
        .says(&["`a.jsonl` is a file; expected a data directory"]);
    dir.run(["index", "stats", "a.jsonl"])
        .ends_with(4)
        .says(&["`a.jsonl` is a file; expected a data directory"]);
    dir.run(["index", "build", "idx", "a.jsonl"]).ends_with(0);
    let run = dir.run(["index", "build", "idx", "body.jsonl"]).ends_with(2);
    run.says(&[
        "already has 3 documents",
        "`sameish index add idx FILE",
        "--collection NAME",
        "sameish index drop idx",
    ]);
    let run = dir.run(["index", "add", "idx", "body.jsonl", "--preset", "wire"]).ends_with(2);
    run.says(&["fixed when the index was built", "omit `--preset`"]);
}

/// Runs a command on a pseudo-terminal and returns its output.
fn on_terminal(dir: &Dir, args: &[&str]) -> String {
    let spawn = "import pty, sys; sys.exit(pty.spawn(sys.argv[1:]) >> 8)";
    let mut command = std::process::Command::new("python3");
    command.args(["-c", spawn, env!("CARGO_BIN_EXE_sameish")]).args(args).current_dir(dir.path(""));
    let output = command.stdin(std::process::Stdio::null()).output().unwrap();
    assert!(output.status.success(), "{output:?}");
    String::from_utf8(output.stdout).unwrap().replace('\r', "")
}

#[test]
fn dedup_on_a_terminal_is_a_dry_run_that_prints_the_command() {
    let dir = directory();
    let output = on_terminal(&dir, &["dedup", "body.jsonl"]);
    for text in ["largest clusters", "3 documents: 2 kept, 1 removed", "no `text` field; using `body`"] {
        assert!(output.contains(text), "no `{text}` in {output}");
    }
    let assumed =
        "assumed: texts in `body`, ids in `id`, preset `copies`, threshold 0.8; nothing was written";
    assert!(output.contains(assumed), "{output}");
    assert!(!output.contains("{\"body\"") && !output.contains("\"key\""), "no records: {output}");
    assert_eq!(dir.names(), ["a.jsonl", "body.jsonl"]);
    let command = output.lines().find_map(|line| line.strip_prefix("to write the kept records: ")).unwrap();
    assert_eq!(command, "sameish dedup body.jsonl -o kept.jsonl");
    dir.shell(&command.replacen("sameish", "$SAMEISH", 1)).ends_with(0);
    assert_eq!(lines(&dir.read("kept.jsonl")).len(), 2);
}
