//! Runs that fail: full disk, signals, changing inputs, incompatible inputs.

use crate::common::{Dir, Run, gzip, records};
use std::io::{Read, Write};
use std::process::{Child, Command, Stdio};
use std::time::Duration;

fn fifo(dir: &Dir, name: &str) {
    assert!(Command::new("mkfifo").arg(dir.path(name)).status().unwrap().success());
}

/// Waits for a condition while the run continues.
fn wait_for(child: &mut Child, mut so: impl FnMut() -> bool) {
    while !so() {
        assert!(child.try_wait().unwrap().is_none(), "ended too soon");
        std::thread::sleep(Duration::from_millis(5));
    }
}

fn signal(child: &Child, name: &str) {
    assert!(Command::new("kill").args([name, &child.id().to_string()]).status().unwrap().success());
}

// C57: disk full.

const COMMANDS: [&str; 5] = [
    "fingerprint a.jsonl -o OUT",
    "pairs a.jsonl --threshold 0.4 -o OUT",
    "cluster a.jsonl -o OUT",
    "dedup a.jsonl -o OUT",
    "dedup a.jsonl -o OUT.gz",
];

/// Records that all match each other: 40 of their 52 words are equal.
fn alike(count: usize) -> String {
    let common: String = (0..40).map(|n| format!("common{n} ")).collect();
    records(count).replace("\"text\":\"", &format!("\"text\":\"{common}"))
}

#[test]
fn c57_file_size_limit_leaves_no_output() {
    let dir = Dir::new();
    dir.write("a.jsonl", alike(400));
    for command in COMMANDS {
        // Files are limited to 16 kB, and writes fail instead of raising a signal.
        let command = command.replace("OUT", "out");
        let run = dir.shell(&format!("trap '' XFSZ; ulimit -f 16; exec $SAMEISH {command}")).ends_with(5);
        assert!(run.stderr.contains("out of disk space"), "{command}: {}", run.stderr);
        assert_eq!(dir.names(), ["a.jsonl"], "{command}");
    }
    let lists =
        "dedup a.jsonl -o /dev/null --templates merge --threshold 0.4 --max-removed 100% --removed list";
    dir.shell(&format!("trap '' XFSZ; ulimit -f 16; exec $SAMEISH {lists}")).ends_with(5);
    assert_eq!(dir.names(), ["a.jsonl"]);
    let spool = "cat a.jsonl | $SAMEISH dedup - -o out --temp-dir .";
    dir.shell(&format!("trap '' XFSZ; ulimit -f 16; {spool}"))
        .ends_with(5)
        .says(&["temporary file", "--temp-dir"]);
    assert_eq!(dir.names(), ["a.jsonl"]);
}

#[test]
fn c57_full_disk_leaves_no_output() {
    let dir = Dir::new();
    dir.write("a.jsonl", alike(1500));
    std::fs::create_dir(dir.path("small")).unwrap();
    // A file system of 64 kB in a mount namespace, if the user may create one.
    let mounted = |command: &str| {
        let command = format!(
            "mount -t tmpfs -o size=64k none small || exit 99; $SAMEISH {command}; code=$?; ls -A small; exit $code"
        );
        dir.shell(&format!("unshare -m bash -c '{command}' || exit $?"))
    };
    for command in COMMANDS.map(|command| command.replace("OUT", "small/out")) {
        let run = mounted(&command);
        if matches!(run.code, Some(1 | 99 | 127)) && !run.stderr.contains("small/out") {
            return;
        }
        let run = run.ends_with(5).says(&["small/out", "out of disk space"]);
        assert_eq!(run.stdout, "", "nothing is left: {command}");
    }
    let run = mounted("dedup a.jsonl -o small/folder/").ends_with(5);
    assert_eq!(run.stdout.trim(), "folder", "only the directory remains");
}

// C61: signals.

#[test]
fn c61_signals_remove_temporary_files() {
    for (name, code) in [("-INT", 130), ("-TERM", 143), ("-HUP", 129)] {
        let dir = Dir::new();
        std::fs::create_dir(dir.path("tmp")).unwrap();
        fifo(&dir, "pipe");
        for args in [
            "fingerprint pipe -o out --rejects bad",
            "pairs pipe -o out",
            "dedup pipe -o out --temp-dir tmp --rejects bad",
        ] {
            // The tests may run with ignored signals, for example under `nohup`, which would stay ignored.
            let command = format!("exec env --default-signal $SAMEISH {args}");
            let mut child = dir.shell_command(&command).spawn().unwrap();
            let mut pipe = std::fs::File::options().write(true).open(dir.path("pipe")).unwrap();
            pipe.write_all(records(10).as_bytes()).unwrap();
            let spools = || std::fs::read_dir(dir.path("tmp")).unwrap().count();
            wait_for(&mut child, || dir.names().len() > 2 || spools() > 0);
            signal(&child, name);
            assert_eq!(child.wait().unwrap().code(), Some(code), "{args:?}");
            assert_eq!((dir.names(), spools()), (vec!["pipe".into(), "tmp".into()], 0), "{args:?}");
        }
    }
}

#[test]
fn c61_signal_while_writing_leaves_no_output() {
    let dir = Dir::new();
    dir.write("a.jsonl", records(2000));
    fifo(&dir, "b.jsonl");
    // A directory: the first output is complete and waits for the second.
    let mut child = dir.command(["dedup", "a.jsonl", "-o", "out/", "--removed", "b.jsonl"]).spawn().unwrap();
    // The list of removed documents waits for a reader; the records are already published.
    wait_for(&mut child, || dir.exists("out/a.jsonl"));
    signal(&child, "-INT");
    assert_eq!(child.wait().unwrap().code(), Some(130));
    assert_eq!(dir.read("out/a.jsonl"), records(2000), "what has its name is whole");
}

#[test]
fn ignored_signal_stays_ignored() {
    let dir = Dir::new();
    fifo(&dir, "pipe");
    let mut child = dir.shell_command("trap '' HUP; exec $SAMEISH fingerprint pipe -o out").spawn().unwrap();
    let mut pipe = std::fs::File::options().write(true).open(dir.path("pipe")).unwrap();
    wait_for(&mut child, || dir.names().len() > 1);
    signal(&child, "-HUP");
    pipe.write_all(records(3).as_bytes()).unwrap();
    drop(pipe);
    assert!(child.wait().unwrap().success());
    assert_eq!(dir.read("out").lines().count(), 3);
}

// Inputs that change between the two passes of `dedup`.

/// Starts `dedup` over a file with many invalid lines at its end, so that it blocks in the first pass on the list of rejects,
/// which is a full pipe; then changes the file and lets `dedup` continue.
fn changed_meanwhile(dir: &Dir, args: &[&str], change: impl FnOnce(&Dir)) -> Run {
    let bad: String = (0..2000).map(|n| format!("bad line {n} {}\n", "x".repeat(100))).collect();
    dir.write("a.jsonl", records(2000) + &bad);
    fifo(dir, "rejects");
    let args = [&["dedup", "a.jsonl", "--rejects", "rejects", "--quiet"], args].concat();
    let child = dir.command(args).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    let mut rejects = std::fs::File::open(dir.path("rejects")).unwrap();
    rejects.read_exact(&mut [0; 1]).unwrap();
    // Modification times have a resolution of some milliseconds.
    std::thread::sleep(Duration::from_millis(50));
    change(dir);
    std::io::copy(&mut rejects, &mut std::io::sink()).unwrap();
    std::fs::remove_file(dir.path("rejects")).unwrap();
    Run::from(child.wait_with_output().unwrap())
}

#[test]
fn detects_inputs_that_change() {
    type Change = fn(&Dir);
    let changes: [(&str, Change); 4] = [
        ("cut", |dir| {
            let file = std::fs::File::options().write(true).open(dir.path("a.jsonl")).unwrap();
            file.set_len(1000).unwrap();
        }),
        ("as long as before", |dir| {
            let mut file = std::fs::File::options().write(true).open(dir.path("a.jsonl")).unwrap();
            file.write_all(b"{\"id\":7").unwrap();
        }),
        ("gone", |dir| std::fs::remove_file(dir.path("a.jsonl")).unwrap()),
        ("replaced", |dir| {
            let copy = std::fs::read(dir.path("a.jsonl")).unwrap();
            dir.write("new", copy);
            std::fs::rename(dir.path("new"), dir.path("a.jsonl")).unwrap();
        }),
    ];
    for (what, change) in changes {
        for args in [
            &["-o", "out", "--clusters", "c", "--removed", "r", "--report", "p.html"][..],
            &["-o", "out/"],
            &[],
        ] {
            let dir = Dir::new();
            let run = changed_meanwhile(&dir, args, change).ends_with(4);
            assert!(run.stderr.contains("a.jsonl: changed while it was read"), "{what}: {}", run.stderr);
            assert_eq!(run.stdout, "", "{what}");
            let left: Vec<String> = dir.names().into_iter().filter(|name| name != "a.jsonl").collect();
            assert!(left.is_empty(), "{what}: {left:?}");
        }
    }
    // Without a change the run succeeds.
    let dir = Dir::new();
    changed_meanwhile(&dir, &["-o", "out"], |_| {}).ends_with(3);
    assert_eq!(dir.read("out"), records(2000));
}

// The field of `--keep`.

#[test]
fn warns_of_a_missing_field() {
    let dir = Dir::new();
    dir.write("a.jsonl", records(5));
    let run =
        |args: &[&str]| dir.run([&["dedup", "a.jsonl", "-o", "out", "--force"], args].concat()).ends_with(0);
    let says = "warning: field `published_at` of `--keep` is missing in all of 5 documents";
    run(&["--keep", "newest"]).says(&[says, "the first of each cluster is kept"]);
    assert_eq!(run(&["--keep", "newest", "--quiet"]).stderr, "");
    let with_one = records(4) + "{\"id\":9,\"text\":\"some other words\",\"score\":3}\n";
    dir.write("a.jsonl", with_one);
    run(&["--keep", "field:score"]).says(&["note: field `score`", "missing in 4 of 5 documents"]);
    let plain = run(&["--keep", "longest"]);
    assert!(!plain.stderr.contains("--keep"), "{}", plain.stderr);
}

// Names of outputs.

#[test]
fn names_standard_input_by_its_format() {
    let dir = Dir::new();
    let csv = "id,text\n1,some words that stay here\n";
    let cases: [(&str, &[&str], &[u8]); 5] = [
        ("stdin.jsonl", &[], b"{\"id\":1,\"text\":\"some words\"}\n"),
        ("stdin.csv", &["--format", "csv"], csv.as_bytes()),
        ("stdin.tsv", &["--format", "tsv"], b"id\ttext\n1\tsome words\n"),
        ("stdin.txt", &[], b"some words\n"),
        ("stdin.txt", &["--whole-files"], b"some words\nand more\n"),
    ];
    for (name, args, content) in cases {
        let out = Dir::new();
        let path = format!("{}/", out.path("out").display());
        dir.run_with_stdin([&["dedup", "-", "-o", &path], args].concat(), content).ends_with(0);
        assert_eq!(std::fs::read(out.path("out").join(name)).unwrap(), content, "{name}");
    }
    // With the requested compression, and not over the output of another input.
    let packed = dir
        .run_with_stdin(["dedup", "-", "-o", "out/", "--format", "csv", "--compress", "gz"], csv.as_bytes());
    packed.ends_with(0);
    assert!(dir.exists("out/stdin.csv.gz"));
    dir.write("stdin.jsonl", records(2));
    let run = dir.run_with_stdin(["dedup", "-", "stdin.jsonl", "-o", "two/"], records(3).as_bytes());
    run.ends_with(2).says(&["two inputs would both be written to"]);
    dir.write("there/stdin.jsonl", "precious");
    let run = dir.run_with_stdin(["dedup", "-", "-o", "there"], records(3).as_bytes());
    run.ends_with(2).says(&["already exists"]);
    assert_eq!(dir.read("there/stdin.jsonl"), "precious");
}

#[test]
fn refuses_incompatible_inputs_before_the_run() {
    let dir = Dir::new();
    // Invalid records would be reported if they were read.
    dir.write("a.jsonl", "broken\n".to_owned() + &records(3));
    dir.write("b.csv", "id,text\n1,some words\n");
    dir.write("c.csv", "id,text,more\n1,some words,x\n");
    dir.write("d.tsv.gz", gzip(b"id\ttext\n1\tsome words\n"));
    for (inputs, says) in [
        (["a.jsonl", "b.csv"], "the same format"),
        (["b.csv", "c.csv"], "different columns"),
        (["b.csv", "d.tsv.gz"], "the same format"),
    ] {
        for output in [&["-o", "out"][..], &[]] {
            let run =
                dir.run([&["dedup"], &inputs[..], output].concat()).ends_with(2).says(&[says, "-o DIR/"]);
            assert_eq!(
                (run.stdout.as_str(), run.stderr.contains("rejected:")),
                ("", false),
                "{}",
                run.stderr
            );
        }
    }
    let run = dir.run_with_stdin(["dedup", "b.csv", "-", "-o", "out"], records(3).as_bytes()).ends_with(2);
    run.says(&["the same format"]);
    assert_eq!(dir.names(), ["a.jsonl", "b.csv", "c.csv", "d.tsv.gz"]);
    // A dry run does not write them.
    dir.run(["dedup", "a.jsonl", "b.csv", "--dry-run"]).ends_with(3);
}
