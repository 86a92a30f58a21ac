//! `sameish compare`.

use crate::common::{Dir, gzip};
use serde_json::Value;

const A: &str = "The central bank raised its main rate by half a point on Tuesday, the third time this year, \
                 and said that more could follow.\n";
const B: &str = "The central bank raised its main rate by a quarter point on Monday, the third time this year, \
                 and said that more could follow if prices rise.\n";

fn texts() -> Dir {
    let dir = Dir::new();
    dir.write("a.txt", A);
    dir.write("b.txt", B);
    dir
}

fn json(dir: &Dir, args: &[&str]) -> Value {
    let run = dir.run([&["compare", "--json"], args].concat()).ends_with(0);
    assert_eq!(run.stderr, "");
    serde_json::from_str(&run.stdout).unwrap()
}

#[test]
fn json_has_every_measure_and_passage() {
    let object = json(&texts(), &["a.txt", "b.txt"]);
    let similarity = object["similarity"].as_f64().unwrap();
    assert!(similarity > 0.2 && similarity < 1.0, "{object}");
    for key in ["containment", "containment_a", "containment_b", "coverage_a", "coverage_b"] {
        let share = object[key].as_f64().unwrap();
        assert!((0.0..=1.0).contains(&share), "{key}: {share}");
        assert_eq!(share, (share * 1e6).round() / 1e6);
    }
    assert!(object["simhash_distance"].as_u64().unwrap() <= 64);
    assert!(object["minhash_similarity"].is_number());
    assert!(["near", "similar"].contains(&object["match_type"].as_str().unwrap()), "{object}");
    assert_eq!(object["too_short"], false);
    assert_eq!((&object["words_a"], &object["words_b"]), (&24.into(), &27.into()));
    let passages = object["passages"].as_array().unwrap();
    assert_eq!(passages.len(), 2, "{object}");
    for passage in passages {
        let at = |key: &str| passage[key].as_u64().unwrap() as usize;
        let (in_a, in_b) = (&A[at("a_start")..at("a_end")], &B[at("b_start")..at("b_end")]);
        assert_eq!(passage["text"], in_a);
        assert_eq!(in_a, in_b);
        assert!(at("tokens") >= 5);
    }
}

#[test]
fn min_tokens_limits_passages() {
    let dir = texts();
    let count = |length: &str| {
        json(&dir, &["a.txt", "b.txt", "--min-tokens", length])["passages"].as_array().unwrap().len()
    };
    assert_eq!((count("8"), count("9"), count("12")), (2, 1, 0));
}

#[test]
fn equal_texts_are_exact() {
    let object = json(&texts(), &["a.txt", "a.txt"]);
    assert_eq!(object["match_type"], "exact");
    assert_eq!((&object["similarity"], &object["coverage_b"]), (&1.0.into(), &1.0.into()));
    assert_eq!(object["simhash_distance"], 0);
}

#[test]
fn reads_files_arguments_and_standard_input() {
    let dir = texts();
    dir.write("b.txt.gz", gzip(B.as_bytes()));
    let expected = json(&dir, &["a.txt", "b.txt"]);
    assert_eq!(json(&dir, &["a.txt", "b.txt.gz"]), expected);
    assert_eq!(json(&dir, &["--text", A, "--text", B]), expected);
    let run = dir.run_with_stdin(["compare", "--json", "a.txt", "-"], B.as_bytes()).ends_with(0);
    assert_eq!(serde_json::from_str::<Value>(&run.stdout).unwrap(), expected);
}

#[test]
fn different_texts_exit_with_0() {
    let dir = Dir::new();
    let object = json(&dir, &["--text", "one thing entirely here", "--text", "something else over there"]);
    assert_eq!(object["match_type"], "different");
    let run =
        dir.run(["compare", "--text", "one thing entirely here", "--text", "something else over there"]);
    assert!(run.ends_with(0).stdout.contains("No shared passage of 5 words or more."));
}

#[test]
fn report_shows_shared_and_changed_words() {
    let dir = texts();
    let report = dir.run(["compare", "a.txt", "b.txt"]).ends_with(0).stdout;
    for part in [
        "A  a.txt (24 words)",
        "similarity",
        "containment",
        "SimHash distance",
        "coverage of A",
        "2 shared passages of 5 words or more",
        "[The central bank raised its main rate by] half a point on Tuesday",
        "[The central bank raised its main rate by] a quarter point on Monday",
        "if prices rise.",
    ] {
        assert!(report.contains(part), "no `{part}` in:\n{report}");
    }
    assert!(report.lines().all(|line| line.chars().count() <= 80), "{report}");
}

#[test]
fn color_follows_terminal_flag_and_environment() {
    let dir = texts();
    assert!(!dir.run(["compare", "a.txt", "b.txt"]).ends_with(0).stdout.contains('\u{1b}'));
    let colored = dir.run(["compare", "a.txt", "b.txt", "--color", "always"]).ends_with(0).stdout;
    assert!(colored.contains("\u{1b}[32mThe central bank raised its main rate by\u{1b}[0m"), "{colored}");
    let colored_with = |variables: &[&str]| {
        let mut command = dir.command(["compare", "a.txt", "b.txt", "--color", "auto"]);
        command.envs(variables.iter().map(|variable| (variable, "1")));
        command.output().unwrap().stdout.contains(&0x1b)
    };
    assert!(!colored_with(&["NO_COLOR"]));
    assert!(colored_with(&["CLICOLOR_FORCE"]));
    assert!(!colored_with(&["NO_COLOR", "CLICOLOR_FORCE"]));
}

#[test]
fn text_cannot_control_the_terminal() {
    let dir = Dir::new();
    let text = "one two \u{1b}[31mthree four\u{202e} five six seven";
    let report = dir.run(["compare", "--text", text, "--text", text]).ends_with(0).stdout;
    assert!(!report.contains(['\u{1b}', '\u{202e}']), "{report}");
}

#[test]
fn respects_presets_and_settings() {
    let dir = texts();
    let similarity =
        |args: &[&str]| json(&dir, &[&["a.txt", "b.txt"], args].concat())["similarity"].as_f64().unwrap();
    assert_ne!(similarity(&["--shingle", "words:1"]), similarity(&["--shingle", "words:5"]));
    assert!(json(&dir, &["a.txt", "b.txt", "--preset", "wire"])["minhash_similarity"].is_null());
}

#[test]
fn reports_unusable_texts() {
    let dir = texts();
    dir.write("latin.txt", b"caf\xe9");
    dir.write("zeros.txt", [0; 100]);
    dir.write("big.txt", "x ".repeat(1000));
    dir.run(["compare", "a.txt", "nowhere"]).ends_with(4).says(&["error: nowhere: no such file"]);
    dir.run(["compare", "a.txt", "."]).ends_with(4).says(&["is a directory; expected a file"]);
    dir.run(["compare", "a.txt", "latin.txt"])
        .ends_with(4)
        .says(&["latin.txt, byte 3: byte 0xe9 is not UTF-8"]);
    dir.run(["compare", "a.txt", "latin.txt", "--lossy"]).ends_with(0);
    dir.run(["compare", "a.txt", "zeros.txt"]).ends_with(4).says(&["binary"]);
    dir.run(["compare", "a.txt", "big.txt", "--max-document", "1K"]).ends_with(5).says(&["--max-document"]);
    dir.run(["compare", "a.txt"]).ends_with(2);
    dir.run(["compare", "a.txt", "b.txt", "a.txt"]).ends_with(2);
    dir.run(["compare", "--text", "one"]).ends_with(2).says(&["must be given twice"]);
    dir.run(["compare", "-", "-"]).ends_with(2).says(&["given twice"]);
    dir.run(["compare", "a.txt", "b.txt", "--text", "x", "--text", "y"]).ends_with(2);
    dir.run(["compare", "a.txt", "b.txt", "--min-tokens", "0"]).ends_with(2);
}

#[test]
fn accepts_common_flags() {
    let args = ["compare", "--text", "one text", "--text", "one text", "--quiet", "--threads", "2", "--json"];
    assert!(Dir::new().run(args).ends_with(0).stdout.contains("\"exact\""));
}

#[test]
fn offsets_of_passages_are_in_the_requested_unit() {
    let a = "🦀 Größe the old bridge is closed for repairs";
    let b = "the old bridge is closed for repairs";
    for (unit, start) in [("utf8", 13), ("utf16", 9), ("chars", 8)] {
        let object = json(&Dir::new(), &["--offsets", unit, "--text", a, "--text", b]);
        let passage = &object["passages"][0];
        assert_eq!((&passage["a_start"], &passage["b_start"]), (&start.into(), &0.into()), "{unit}");
        assert_eq!(passage["text"], b);
    }
}

#[test]
fn html_and_accents_are_removed_and_offsets_refer_to_the_original() {
    let html = "<p class='a>b'>Le caf&eacute; du <b>port</b> est <i>ouvert</i> ce soir";
    let plain = "Le cafe du port est ouvert ce soir";
    let object = json(&Dir::new(), &["--html", "--fold-accents", "--text", html, "--text", plain]);
    assert_eq!((&object["match_type"], &object["words_a"]), (&"exact".into(), &8.into()), "{object}");
    let passage = &object["passages"][0];
    let offset = |key: &str| passage[key].as_u64().unwrap() as usize;
    let shared = &html[offset("a_start")..offset("a_end")];
    assert_eq!(shared, "Le caf&eacute; du <b>port</b> est <i>ouvert</i> ce soir");
    assert_eq!(&plain[offset("b_start")..offset("b_end")], plain);
    for options in [&["--html"][..], &["--fold-accents"], &[]] {
        let args = [options, &["--text", html, "--text", plain]].concat();
        assert_ne!(json(&Dir::new(), &args)["match_type"], "exact", "{options:?}");
    }
}

#[test]
fn text_of_html_is_shown_without_its_markup() {
    let html = "<p>The <b>central</b> bank raised its main rate to 4.5 <!-- x --> percent &amp; more";
    let plain = "The central bank raised its main rate to 4.75 percent & more";
    let run = Dir::new().run(["compare", "--html", "--text", html, "--text", plain]).ends_with(0);
    assert!(run.stdout.contains("A: [The central bank raised its main rate to] 4.5"), "{}", run.stdout);
    assert!(!run.stdout.contains('<'), "{}", run.stdout);
}
