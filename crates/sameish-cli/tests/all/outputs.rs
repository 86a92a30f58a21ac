//! Outputs: order, atomic files, pipes, summaries and exit codes.

use crate::common::{Dir, Run, ids, records};
use sameish::simd::Level;
use std::fs::File;
use std::io::Read;
use std::path::Path;
use std::process::Stdio;

#[test]
fn output_does_not_depend_on_threads() {
    let dir = Dir::new();
    let mut lines: Vec<String> = records(20_000).lines().map(str::to_owned).collect();
    for i in (0..lines.len()).step_by(777) {
        lines[i] = format!("broken {i}");
    }
    dir.write("a.jsonl", lines.join("\n"));
    dir.write("b.txt", "one line of text\n".repeat(5000));
    let run = |threads: &str| {
        let args =
            ["fingerprint", "a.jsonl", "b.txt", "--rejects", "r.jsonl", "--force", "--threads", threads];
        let run = dir.run(args).ends_with(3);
        (run.stdout, dir.read("r.jsonl"))
    };
    let one = run("1");
    assert_eq!(one.0.lines().count(), 20_000 - 26 + 5000);
    for threads in ["2", "4", "7"] {
        assert!(run(threads) == one, "{threads} threads");
    }
    let numbers: Vec<usize> = ids(&one.0).split(',').map(|id| id.parse().unwrap()).collect();
    assert!(numbers.is_sorted(), "in the order of the input");
}

#[test]
fn fingerprint_command_reproduces_the_sketch_vectors() {
    let vectors = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../testdata/sketches");
    let dir = Dir::new();
    for preset in ["wire", "articles", "sdr", "headlines", "web", "copies"] {
        let texts = vectors.join("texts.jsonl");
        let run = dir.run(["fingerprint", "--preset", preset, texts.to_str().unwrap()]).ends_with(0);
        let expected = std::fs::read_to_string(vectors.join(format!("{preset}.jsonl"))).unwrap();
        assert!(run.stdout == expected, "{preset}");
    }
}

#[test]
fn output_does_not_depend_on_the_simd_level() {
    let dir = Dir::new();
    dir.write("a.jsonl", records(500));
    let expected = dir.run(["fingerprint", "a.jsonl"]).ends_with(0).stdout;
    let available: Vec<&str> = Level::available().iter().map(|level| level.name()).collect();
    assert!(available.contains(&"scalar"));
    for level in ["scalar", "avx2", "avx512"] {
        let mut command = dir.command(["fingerprint", "a.jsonl"]);
        let run = Run::from(command.env("SAMEISH_SIMD", level).output().unwrap());
        if available.contains(&level) {
            assert_eq!(run.ends_with(0).stdout, expected, "{level}");
        } else {
            run.ends_with(2).says(&["environment variable `SAMEISH_SIMD`", level]);
        }
    }
}

#[test]
fn many_short_records_need_little_memory() {
    let dir = Dir::new();
    dir.write("a.txt", "a b c\n".repeat(200_000));
    let mut command = dir.command(["fingerprint", "a.txt", "--quiet"]);
    let mut child = command.stdout(Stdio::piped()).spawn().unwrap();
    let mut stdout = child.stdout.take().unwrap();
    let mut lines = 0;
    let mut buffer = vec![0; 1 << 16];
    let mut peak = String::new();
    loop {
        let read = stdout.read(&mut buffer).unwrap();
        if read == 0 {
            break;
        }
        lines += buffer[..read].iter().filter(|&&byte| byte == b'\n').count();
        if let Ok(status) = std::fs::read_to_string(format!("/proc/{}/status", child.id())) {
            peak = status.lines().find_map(|line| line.strip_prefix("VmHWM:")).unwrap_or(&peak).to_owned();
        }
    }
    assert!(child.wait().unwrap().success());
    assert_eq!(lines, 200_000);
    let kilobytes: u64 = peak.trim().trim_end_matches(" kB").parse().unwrap();
    assert!(kilobytes < 128 << 10, "{kilobytes} kB for 200 MB of output");
}

#[test]
fn output_file_equals_standard_output() {
    let dir = Dir::new();
    dir.write("a.jsonl", records(100));
    let stdout = dir.run(["fingerprint", "a.jsonl"]).ends_with(0).stdout;
    let run = dir.run(["fingerprint", "a.jsonl", "-o", "out.jsonl"]).ends_with(0);
    assert_eq!((run.stdout.as_str(), dir.read("out.jsonl")), ("", stdout));
    assert_eq!(dir.names(), ["a.jsonl", "out.jsonl"], "no temporary file stays");
}

#[test]
fn c58_keeps_an_existing_output_without_force() {
    let dir = Dir::new();
    dir.write("a.jsonl", records(1));
    dir.write("out.jsonl", "precious");
    dir.run(["fingerprint", "a.jsonl", "-o", "out.jsonl"])
        .ends_with(2)
        .says(&["output `out.jsonl` already exists", "--force"]);
    assert_eq!(dir.read("out.jsonl"), "precious");
    dir.run(["fingerprint", "a.jsonl", "--rejects", "out.jsonl"]).ends_with(2);
    assert_eq!(dir.read("out.jsonl"), "precious");
    dir.run(["fingerprint", "a.jsonl", "-o", "out.jsonl", "--force"]).ends_with(0);
    assert_eq!(ids(&dir.read("out.jsonl")), "0");
}

#[test]
fn c59_never_overwrites_an_input() {
    let dir = Dir::new();
    let content = records(3);
    let path = dir.write("a.jsonl", &content);
    std::os::unix::fs::symlink("a.jsonl", dir.path("link.jsonl")).unwrap();
    std::fs::hard_link(&path, dir.path("hard.jsonl")).unwrap();
    for out in ["a.jsonl", "./a.jsonl", "link.jsonl", "hard.jsonl"] {
        for flag in ["-o", "--rejects"] {
            dir.run(["fingerprint", "a.jsonl", flag, out, "--force"])
                .ends_with(2)
                .says(&["is also the input `a.jsonl`"]);
        }
    }
    let from_stdin = dir
        .command(["fingerprint", "-", "-o", "a.jsonl", "--force"])
        .stdin(File::open(&path).unwrap())
        .output()
        .unwrap();
    Run::from(from_stdin).ends_with(2).says(&["is also the input `-`"]);
    let to_stdout = dir
        .command(["fingerprint", "a.jsonl"])
        .stdout(File::options().append(true).open(&path).unwrap())
        .output()
        .unwrap();
    Run::from(to_stdout).ends_with(2).says(&["`standard output` is also the input `a.jsonl`"]);
    assert_eq!(dir.read("a.jsonl"), content);
    dir.run(["fingerprint", "a.jsonl", "-o", "x", "--rejects", "x"]).ends_with(2);
}

#[test]
fn c57_full_disk_is_a_limit() {
    let dir = Dir::new();
    dir.write("a.jsonl", records(10));
    let full = File::options().write(true).open("/dev/full").unwrap();
    let output = dir.command(["fingerprint", "a.jsonl"]).stdout(full).output().unwrap();
    Run::from(output).ends_with(5).says(&["standard output: out of disk space"]);
    dir.run(["fingerprint", "a.jsonl", "-o", "/dev/full"]).ends_with(5);
}

#[test]
fn unwritable_output_is_code_6() {
    let dir = Dir::new();
    dir.write("a.jsonl", records(1));
    dir.run(["fingerprint", "a.jsonl", "-o", "no/such/folder/out"])
        .ends_with(6)
        .says(&["its directory does not exist"]);
    std::fs::create_dir(dir.path("folder")).unwrap();
    dir.run(["fingerprint", "a.jsonl", "-o", "folder"]).ends_with(2).says(&["is a directory"]);
}

#[test]
fn writes_to_devices_without_replacing_them() {
    use std::os::unix::fs::FileTypeExt;
    let dir = Dir::new();
    dir.write("a.jsonl", records(1));
    dir.run(["fingerprint", "a.jsonl", "-o", "/dev/null"]).ends_with(0);
    assert!(std::fs::metadata("/dev/null").unwrap().file_type().is_char_device());
}

#[test]
fn c60_closed_pipe_is_success() {
    let dir = Dir::new();
    dir.write("a.jsonl", records(100_000));
    let mut command = dir.command(["fingerprint", "a.jsonl"]);
    let mut child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    let mut first = [0; 10];
    child.stdout.take().unwrap().read_exact(&mut first).unwrap();
    let output = child.wait_with_output().unwrap();
    assert_eq!((output.status.code(), output.stderr.as_slice()), (Some(0), &b""[..]));
}

#[test]
fn skips_rejects_or_stops_at_invalid_records() {
    let dir = Dir::new();
    let lines: Vec<String> = records(10).lines().map(str::to_owned).collect();
    let content = [&lines[..4], &["broken".to_owned(), "{}".to_owned()], &lines[4..]].concat().join("\n");
    dir.write("a.jsonl", content);
    let all = "0,1,2,3,4,5,6,7,8,9";
    let run = dir.run(["fingerprint", "a.jsonl"]).ends_with(3);
    assert_eq!(run.says(&["line 5", "line 6", "10 documents", "2 rejected"]).ids(), all);
    let run = dir.run(["fingerprint", "a.jsonl", "--on-bad", "skip"]).ends_with(0).says(&["2 rejected"]);
    assert_eq!(run.ids(), all);
    let run = dir.run(["fingerprint", "a.jsonl", "--on-bad", "fail"]).ends_with(3);
    assert_eq!(run.says(&["stopped at the first rejected record: a.jsonl, line 5"]).ids(), "0,1,2,3");
    dir.run(["fingerprint", "a.jsonl", "--on-bad", "fail", "-o", "out", "--rejects", "r"]).ends_with(3);
    assert!(!dir.exists("out"));
    assert_eq!(dir.read("r").lines().count(), 1);
}

#[test]
fn rejects_have_position_and_reason() {
    let dir = Dir::new();
    dir.write("a.jsonl", "{\"text\":\"x\"}\n{\"text\":\"\x1b[31m\"}\n");
    dir.run(["fingerprint", "a.jsonl", "--rejects", "r.jsonl"]).ends_with(3);
    let reject: serde_json::Value = serde_json::from_str(&dir.read("r.jsonl")).unwrap();
    assert_eq!(reject["file"], "a.jsonl");
    assert_eq!(reject["line"], 2);
    assert_eq!(reject["offset"], 22);
    assert!(reject["reason"].as_str().unwrap().starts_with("invalid JSON: control character"), "{reject}");
    assert_eq!(reject["excerpt"], "{\"text\":\"\\u{1b}[31m\"}");
    dir.write("b.jsonl", format!("{{\"text\":\"x\"}}\n{}\n", "é".repeat(100_000)));
    dir.run(["fingerprint", "b.jsonl", "--rejects", "long.jsonl"]).ends_with(3);
    assert!(dir.read("long.jsonl").len() < 400);
}

#[test]
fn reports_only_the_first_rejects() {
    let dir = Dir::new();
    dir.write("a.jsonl", "{\"text\":\"x\"}\n".to_owned() + &"broken\n".repeat(1000));
    let run = dir
        .run(["fingerprint", "a.jsonl"])
        .ends_with(3)
        .says(&["1 document, 1 too short, 1,000 rejected", "--rejects FILE"]);
    assert_eq!(run.stderr.lines().count(), 12);
}

#[test]
fn json_summary_has_all_counts() {
    let dir = Dir::new();
    dir.write("a.jsonl", format!("{}{{\"text\":\"\"}}\nbroken\n", records(3)));
    let run = dir.run(["fingerprint", "a.jsonl", "nowhere", "--json", "--quiet"]).ends_with(4);
    let (error, summary) = run.stderr.trim_end().split_once('\n').unwrap();
    assert!(error.starts_with("error: nowhere: "));
    let summary: serde_json::Value = serde_json::from_str(summary).unwrap();
    assert_eq!(summary["documents"], 4);
    assert_eq!(summary["too_short"], 1);
    assert_eq!(summary["rejected"], 1);
    assert_eq!(summary["failed_inputs"], 1);
    assert_eq!(summary["bytes"], std::fs::metadata(dir.path("a.jsonl")).unwrap().len());
    assert!(summary["seconds"].is_number());
    assert_eq!(dir.run(["fingerprint", "a.jsonl", "--quiet"]).ends_with(3).stderr, "");
}

#[test]
fn too_short_is_a_status() {
    let dir = Dir::new();
    dir.write("a.jsonl", "{\"id\":1,\"text\":\"\"}\n");
    assert_eq!(
        dir.run(["fingerprint", "a.jsonl"]).ends_with(0).stdout,
        "{\"id\":1,\"status\":\"too_short\"}\n"
    );
    assert_eq!(
        dir.run(["fingerprint", "a.jsonl", "--preset", "wire"]).ends_with(0).stdout,
        "{\"id\":1,\"status\":\"too_short\",\"simhash\":\"0000000000000000\"}\n"
    );
}

#[test]
fn prints_help_and_version() {
    let dir = Dir::new();
    for args in [&["--help"][..], &["fingerprint", "--help"], &["compare", "--help"], &["eval", "--help"]] {
        let run = dir.run(args).ends_with(0);
        assert!(run.stdout.contains("Examples:") && run.stdout.contains("Usage: sameish"), "{}", run.stdout);
        assert!(run.stdout.lines().all(|line| line.chars().count() <= 80), "{}", run.stdout);
    }
    // Commands that share arguments with others have their own examples, defaults and headings.
    let help = |args: &[&str]| dir.run(args).ends_with(0).stdout;
    let show = help(&["config", "show", "--help"]);
    assert!(show.contains("sameish config show --config") && !show.contains("sameish serve"), "{show}");
    let build = help(&["index", "build", "--help"]);
    assert!(build.contains("[default: the name of the preset]"), "{build}");
    for (text, option) in [(build, "--window-days"), (help(&["backfill", "--help"]), "--json")] {
        assert!(text.find(option) < text.find("Engine:"), "{option}: {text}");
    }
    assert_eq!(
        dir.run(["--version"]).ends_with(0).stdout,
        format!("sameish {}\n", env!("CARGO_PKG_VERSION"))
    );
    dir.run(["frobnicate"]).ends_with(2);
}

#[test]
fn detects_the_same_file_under_two_names() {
    let dir = Dir::new();
    dir.write("a.jsonl", records(3));
    let args = ["fingerprint", "a.jsonl", "-o", "./out", "--rejects", "out", "--force"];
    let run = dir.run(args).ends_with(2);
    assert!(run.stderr.contains("are the same file"), "{}", run.stderr);
    assert!(!dir.exists("out"));
}

#[test]
fn shingle_flag_sets_its_hash() {
    let dir = Dir::new();
    dir.write("a.jsonl", records(3));
    dir.run(["fingerprint", "a.jsonl", "--preset", "wire", "--shingle", "words:2"]).ends_with(0);
}

#[test]
fn web_preset_accepts_any_bytes() {
    let dir = Dir::new();
    dir.write("a.txt", b"caf\xE9 au lait with four more words\n");
    dir.run(["fingerprint", "a.txt"]).ends_with(4);
    assert!(dir.run(["fingerprint", "a.txt", "--preset", "web"]).ends_with(0).stdout.contains("\"ok\""));
    dir.run(["compare", "a.txt", "a.txt", "--preset", "web"]).ends_with(0);
}

#[test]
fn refuses_two_different_presets() {
    let dir = Dir::new();
    dir.write("a.jsonl", records(3));
    dir.write("c.toml", "preset = \"articles\"\n");
    dir.run(["fingerprint", "a.jsonl", "--config", "c.toml"]).ends_with(0);
    dir.run(["fingerprint", "a.jsonl", "--config", "c.toml", "--preset", "articles"]).ends_with(0);
    let run = dir.run(["fingerprint", "a.jsonl", "--config", "c.toml", "--preset", "wire"]).ends_with(2);
    assert!(run.stderr.contains("but `--preset` is `wire`; remove one of them"), "{}", run.stderr);
}
