//! `dedup --resume`: continues interrupted runs.

use crate::common::{Dir, gzip};
use serde_json::{Value, json};
use std::fs;
use std::path::PathBuf;
use std::process::Stdio;
use std::time::Duration;

/// Documents of which every third is a near-duplicate, one is too short and one is invalid JSON.
fn corpus(documents: usize, name: &str) -> String {
    let text = |i: usize| -> String {
        (0..40).map(|word| format!("w{name}{} ", (i * 7919 + word * word * 31) % 5003)).collect()
    };
    let record = |i: usize| {
        let text = if i % 3 == 2 { text(i - 1).replacen("1", "2", 1) } else { text(i) };
        let day = 1 + i % 28;
        let record = json!({"id": format!("{name}{i}"), "text": text, "source": i % 5, "published_at": format!("2024-01-{day:02}")});
        format!("{record}\n")
    };
    let records: String = (0..documents).map(record).collect();
    format!("{records}{{\"id\": \"{name}\", \"text\": \"Hm\"}}\nno json\n")
}

/// Returns the files of saved steps.
fn left(dir: &Dir) -> Vec<PathBuf> {
    let folders = fs::read_dir(dir.path("tmp")).unwrap().map(|entry| entry.unwrap().path());
    let files = folders.flat_map(|folder| fs::read_dir(folder).unwrap());
    let mut files: Vec<PathBuf> = files.map(|entry| entry.unwrap().path()).collect();
    files.sort();
    files
}

fn names(files: &[PathBuf]) -> Vec<String> {
    files.iter().map(|path| path.file_name().unwrap().to_string_lossy().into_owned()).collect()
}

/// Arguments with plain and compressed inputs and all lists.
const ARGS: &str =
    "dedup a.jsonl b.jsonl.gz --keep newest --clusters clusters --rejects rejects --json --force";

fn run(dir: &Dir, more: &[&str], code: i32) -> crate::common::Run {
    dir.run(ARGS.split(' ').chain(more.iter().copied())).ends_with(code)
}

fn prepared() -> (Dir, [String; 3]) {
    let dir = Dir::new();
    dir.write("a.jsonl", corpus(300, "a"));
    dir.write("b.jsonl.gz", gzip(corpus(310, "b").as_bytes()));
    fs::create_dir(dir.path("tmp")).unwrap();
    run(&dir, &["-o", "out"], 3);
    let expected = ["out", "clusters", "rejects"].map(|name| dir.read(name));
    ["out", "clusters", "rejects"].iter().for_each(|name| fs::remove_file(dir.path(name)).unwrap());
    assert!(expected[0].lines().count() > 300 && expected[2].lines().count() == 2);
    (dir, expected)
}

fn same(dir: &Dir, expected: &[String; 3]) {
    for (name, expected) in ["out", "clusters", "rejects"].iter().zip(expected) {
        assert_eq!(&dir.read(name), expected, "{name}");
        fs::remove_file(dir.path(name)).unwrap();
    }
    assert_eq!(fs::read_dir(dir.path("tmp")).unwrap().count(), 0, "a run that is over leaves nothing");
}

fn stages(run: &crate::common::Run) -> Vec<String> {
    let summary: Value = run
        .stdout
        .lines()
        .chain(run.stderr.lines())
        .find_map(|line| serde_json::from_str(line).ok())
        .unwrap();
    assert_eq!((summary["documents"].as_u64(), summary["rejected"].as_u64()), (Some(612), Some(2)));
    summary["stages"].as_object().unwrap().keys().cloned().collect()
}

#[test]
fn continues_after_the_last_completed_step() {
    let (dir, expected) = prepared();
    // The disk is full when records are written.
    run(&dir, &["-o", "/dev/full", "--temp-dir", "tmp"], 5);
    assert_eq!(names(&left(&dir)), ["group", "lock", "rejects", "sign", "spool", "tags"]);
    let resumed = run(&dir, &["-o", "out", "--temp-dir", "tmp", "--resume"], 3);
    assert_eq!(stages(&resumed), ["write"]);
    resumed.says(&["resuming: 612 documents already processed", "resuming: clusters already computed"]);
    same(&dir, &expected);
}

#[test]
fn repeats_a_missing_or_damaged_step() {
    for (damaged, done) in
        [("group", vec!["pair", "verify", "write"]), ("sign", vec!["pair", "sign", "verify", "write"])]
    {
        for damage in [|_: &[u8]| None, |bytes: &[u8]| Some(bytes[..bytes.len() / 2].to_vec())] {
            let (dir, expected) = prepared();
            run(&dir, &["-o", "/dev/full", "--temp-dir", "tmp"], 5);
            for path in left(&dir)
                .into_iter()
                .filter(|path| path.ends_with(damaged) || damaged == "sign" && path.ends_with("group"))
            {
                match damage(&fs::read(&path).unwrap()) {
                    Some(bytes) => fs::write(&path, bytes).unwrap(),
                    None => fs::remove_file(&path).unwrap(),
                }
            }
            let resumed =
                run(&dir, &["-o", "out", "--temp-dir", "tmp", "--resume", "--max-memory", "64M"], 3);
            assert_eq!(stages(&resumed), done);
            same(&dir, &expected);
        }
    }
    // The other files of the step are checked too.
    let (dir, expected) = prepared();
    run(&dir, &["-o", "/dev/full", "--temp-dir", "tmp"], 5);
    for path in left(&dir).into_iter().filter(|path| path.ends_with("tags") || path.ends_with("group")) {
        fs::remove_file(path).unwrap();
    }
    let resumed = run(&dir, &["-o", "out", "--temp-dir", "tmp", "--resume"], 3);
    assert_eq!(stages(&resumed), ["pair", "sign", "verify", "write"]);
    same(&dir, &expected);
}

#[test]
fn starts_over_with_another_input_or_setting() {
    let (dir, _) = prepared();
    let cut_off = || run(&dir, &["-o", "/dev/full", "--temp-dir", "tmp"], 5);
    let all = ["pair", "sign", "verify", "write"];
    cut_off();
    let other = run(&dir, &["-o", "out", "--temp-dir", "tmp", "--resume", "--threshold", "0.9"], 3);
    assert_eq!(stages(&other), all);
    // The saved steps of another run are kept.
    assert_eq!(names(&left(&dir)).len(), 6);
    let text = dir.read("a.jsonl").replace("wa1", "u1");
    dir.write("a.jsonl", text);
    let other = run(&dir, &["-o", "out", "--temp-dir", "tmp", "--resume"], 3);
    assert_eq!(stages(&other), all);
    // Without `--resume` saved steps are ignored and removed.
    cut_off();
    let anew = run(&dir, &["-o", "out", "--temp-dir", "tmp"], 3);
    assert_eq!(stages(&anew), all);
}

#[test]
fn gives_the_same_result_after_a_kill_at_any_time() {
    let (dir, expected) = prepared();
    for pause in [5, 20, 40, 60, 80, 120] {
        let mut child = dir
            .command(ARGS.split(' ').chain(["-o", "out", "--temp-dir", "tmp", "--resume"]))
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn()
            .unwrap();
        std::thread::sleep(Duration::from_millis(pause));
        child.kill().unwrap();
        child.wait().unwrap();
    }
    run(&dir, &["-o", "out", "--temp-dir", "tmp", "--resume"], 3);
    same(&dir, &expected);
}

#[test]
fn refuses_to_resume_pipes() {
    let dir = Dir::new();
    let run = dir.run_with_stdin(["dedup", "-", "--resume"], b"{\"id\": 1, \"text\": \"a\"}\n");
    run.ends_with(2).says(&["can be read only once", "save the input to a file"]);
    dir.write("a.jsonl", corpus(3, "a"));
    dir.run(["dedup", "a.jsonl", "-o", "out", "--temp-dir", "nowhere"])
        .ends_with(2)
        .says(&["not a directory"]);
}
