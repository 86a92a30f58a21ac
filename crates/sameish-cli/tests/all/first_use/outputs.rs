//! Outputs of failed runs, suffixes of outputs, and removal limits.

use super::{directory, table};
use crate::common::{BRIDGE, Dir, HARVEST, gzip, lines, records};
use serde_json::json;

const PREVIOUS: &str = "{\"id\":0,\"text\":\"a good result of yesterday\"}\n";

/// Runs a command that fails with a code, and checks that files are neither replaced nor created.
fn keeps_previous(dir: &Dir, args: &str, code: i32) {
    let run = |args: &str| dir.run(args.split(' ')).ends_with(code);
    let names = ["prev.jsonl", "c.jsonl", "r.jsonl", "x.jsonl", "page.html"];
    names.iter().for_each(|name| _ = dir.write(name, PREVIOUS));
    let run_with = run(&format!("{args} -o prev.jsonl --force"));
    assert!(run_with.stderr.contains("nothing was written"), "{args}: {}", run_with.stderr);
    names.iter().for_each(|name| assert_eq!(dir.read(name), PREVIOUS, "{args}: {name}"));
    names.iter().for_each(|name| std::fs::remove_file(dir.path(name)).unwrap());
    let before = dir.names();
    run(&format!("{args} -o new.jsonl"));
    assert_eq!(dir.names(), before, "{args}");
}

#[test]
fn a_failed_run_never_replaces_or_creates_an_output() {
    let dir = directory();
    dir.write("cut.jsonl.gz", &gzip(records(1000).as_bytes())[..5000]);
    dir.write("bad.jsonl", "{\"id\":1,\"text\":7}\n{\"id\":2,\"text\":null}\n");
    let lists = "--clusters c.jsonl --removed r.jsonl --rejects x.jsonl --report page.html";
    for input in
        ["missing.jsonl", "nothing*.jsonl", "bad.jsonl", "a.jsonl missing.jsonl", "a.jsonl cut.jsonl.gz"]
    {
        keeps_previous(&dir, &format!("dedup {input} {lists}"), 4);
        keeps_previous(&dir, &format!("fingerprint {input} --rejects x.jsonl"), 4);
        keeps_previous(&dir, &format!("pairs {input}"), 4);
    }
    keeps_previous(&dir, &format!("dedup bad.jsonl --on-bad skip {lists}"), 4);
    dir.run(["index", "build", "idx", "missing.jsonl"]).ends_with(4).says(&["no such file"]);
    dir.run(["tune", "bad.jsonl", "--report", "tuned.html", "-o", "tuned"]).ends_with(4);
    assert!(!dir.exists("idx") && !dir.exists("tuned.html") && !dir.exists("tuned"));
}

#[test]
fn an_input_in_which_every_record_is_rejected_is_unreadable() {
    let dir = directory();
    dir.write("bad.jsonl", "{\"id\":1,\"text\":7}\n{\"id\":2,\"text\":null}\n");
    let run = dir.run(["fingerprint", "bad.jsonl"]).ends_with(4);
    run.says(&["error: bad.jsonl: all 2 records were rejected; the first one: line 1, byte 0: field `text` is a number"]);
    // With `--quiet`, this is the only message about the records.
    let quiet = dir.run(["dedup", "bad.jsonl", "--quiet"]).ends_with(4);
    quiet.says(&["the first one: line 1, byte 0: field `text` is a number; it must be a string; name the text field with"]);
    dir.write("some.jsonl", "{\"id\":1,\"text\":7}\n{\"id\":2,\"text\":\"x\"}\n");
    dir.run(["fingerprint", "some.jsonl", "-o", "out", "--rejects", "r"]).ends_with(3);
    assert_eq!((lines(&dir.read("out")).len(), lines(&dir.read("r")).len()), (1, 1));
}

#[test]
fn a_missing_existing_corpus_stops_the_run() {
    let dir = directory();
    for missing in ["missing.jsonl", "nothing*.jsonl"] {
        let run = dir.run(["dedup", "a.jsonl", "--against", missing]).ends_with(4).says(&[missing]);
        assert_eq!(run.stdout, "");
    }
    dir.write("cut.jsonl.gz", &gzip(records(1000).as_bytes())[..5000]);
    let run = dir.run(["dedup", "a.jsonl", "--against", "a.jsonl", "cut.jsonl.gz"]).ends_with(4);
    assert_eq!(run.says(&["existing corpus", "nothing was written"]).stdout, "");
}

#[test]
fn force_overwrites_files_but_lifts_no_limit() {
    let dir = directory();
    dir.write("kept.jsonl", PREVIOUS);
    let args = "dedup a.jsonl -o kept.jsonl --force --max-removed 10% --report page.html --clusters c.jsonl --rejects x.jsonl";
    let run =
        dir.run(args.split(' ')).ends_with(5).says(&["33.3 %", "nothing was written", "--max-removed 100%"]);
    assert!(!run.stderr.contains("--force"), "{}", run.stderr);
    assert_eq!((dir.read("kept.jsonl").as_str(), dir.names().len()), (PREVIOUS, 3), "{:?}", dir.names());
    let allowed = args.replace("10%", "100%");
    dir.run(allowed.split(' ')).ends_with(0);
    assert_eq!(dir.read("kept.jsonl").lines().count(), 2);
    assert!(dir.exists("page.html"));
}

#[test]
fn output_suffixes_are_honored_or_refused() {
    let dir = directory();
    for command in ["pairs", "cluster", "fingerprint"] {
        for name in ["p.csv", "p.parquet", "p.tsv.gz", "p.jsonl.xz"] {
            let run = dir.run([command, "a.jsonl", "-o", name]).ends_with(2);
            run.says(&[&format!("output `{name}` has the suffix of "), "write to a file such as `p.jsonl"]);
        }
        dir.run([command, "a.jsonl", "-o", "p.jsonl.gz", "--force"]).ends_with(0);
        let packed = std::fs::read(dir.path("p.jsonl.gz")).unwrap();
        assert_eq!(packed[..2], [0x1f, 0x8b], "{command} writes gzip");
        dir.run([command, "a.jsonl", "-o", "p.jsonl.zst", "--force"]).ends_with(0);
        assert_eq!(std::fs::read(dir.path("p.jsonl.zst")).unwrap()[..4], [0x28, 0xb5, 0x2f, 0xfd]);
    }
    dir.write("t.csv", table(',', "text"));
    dir.write("none.parquet", std::fs::read("../../testdata/parquet/none.parquet").unwrap());
    for (input, output) in [
        ("a.jsonl", "x.parquet"),
        ("a.jsonl", "x.csv"),
        ("t.csv", "x.jsonl"),
        ("t.csv", "x.tsv"),
        ("none.parquet", "x.csv"),
        ("none.parquet", "x.parquet.gz"),
    ] {
        let run = dir.run(["dedup", input, "-o", output]).ends_with(2);
        run.says(&[&format!("output `{output}` has the suffix of "), "write to a file such as"]);
        assert!(!dir.exists(output));
    }
    dir.run(["dedup", "a.jsonl", "--dry-run", "--clusters", "c.csv"])
        .ends_with(2)
        .says(&["`--clusters` writes JSONL"]);
}

#[test]
fn commands_that_tune_prints_run_as_printed() {
    let dir = Dir::new();
    let text = |id: usize, text: &str| format!("{id},\"{text}\"\n");
    let filler: String =
        (0..20).map(|id| text(id + 10, &format!("{HARVEST} {id} {id}{id} word{id}"))).collect();
    dir.write("my texts.csv", format!("id,body\n{}{}{filler}", text(1, BRIDGE), text(2, BRIDGE)));
    let run = dir.run(["tune", "my texts.csv", "--ascii", "--sample", "1000"]).ends_with(0);
    let commands: Vec<&str> =
        run.stdout.lines().map(str::trim).filter(|line| line.starts_with("sameish ")).collect();
    assert_eq!(commands.len(), 2, "{}", run.stdout);
    for command in commands {
        dir.shell(&command.replacen("sameish", "$SAMEISH", 1)).ends_with(0);
    }
    assert!(dir.read("kept.csv").starts_with("id,body\n"));
}

#[test]
fn known_documents_and_new_duplicates_are_counted_apart() {
    let dir = Dir::new();
    let record = |id: u32, text: &str| json!({"id": id, "text": text});
    dir.write_records("old.jsonl", &[record(1, BRIDGE)]);
    dir.write_records(
        "new.jsonl",
        &[record(2, BRIDGE), record(3, HARVEST), record(4, HARVEST), record(5, HARVEST)],
    );
    let args = ["dedup", "new.jsonl", "--against", "old.jsonl"];
    let run = dir.run(args.iter().chain(&["-o", "out"])).ends_with(0);
    run.says(&["3 removed (75.0 %: 1 already known, 2 duplicates within the new input)"]);
    let run = dir.run(args.iter().chain(&["--dry-run", "--json"])).ends_with(0);
    let summary = &lines(&run.stdout)[0];
    assert_eq!((&summary["removed"], &summary["known"]), (&json!(3), &json!(1)));
    let run = dir.run(["dedup", "new.jsonl", "--dry-run"]).ends_with(0);
    assert!(!run.stderr.contains("source") && run.stderr.contains("length"), "{}", run.stderr);
}
