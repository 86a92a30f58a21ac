//! Runs every example of docs/cli.md and compares the output.

use crate::common::Dir;
use std::path::Path;
use std::process::Command;

/// A command and its expected output.
struct Example {
    command: String,
    expected: Vec<String>,
}

fn examples(page: &str) -> Vec<Example> {
    let mut examples: Vec<Example> = Vec::new();
    let mut inside = false;
    for line in page.lines() {
        match line {
            "```console" => inside = true,
            "```" => inside = false,
            _ if !inside => {}
            _ => match line.strip_prefix("$ ") {
                Some(command) => examples.push(Example { command: command.to_owned(), expected: Vec::new() }),
                None => examples.last_mut().unwrap().expected.push(line.to_owned()),
            },
        }
    }
    examples
}

/// Runs a shell command with the binary first in PATH. Returns standard output, then standard error.
fn run(dir: &Path, command: &str) -> Vec<String> {
    let programs = Path::new(env!("CARGO_BIN_EXE_sameish")).parent().unwrap();
    let path = format!("{}:{}", programs.display(), std::env::var("PATH").unwrap());
    let output = Command::new("sh")
        .args(["-c", command])
        .current_dir(dir)
        .env("PATH", path)
        .env("LC_ALL", "C")
        .env_remove("SAMEISH_SIMD")
        .output()
        .unwrap();
    let text = String::from_utf8([output.stdout, output.stderr].concat()).unwrap();
    text.lines().map(str::to_owned).collect()
}

/// Returns `true` if a line matches the expected one, in which `…` matches any text.
fn fits(line: &str, expected: &str) -> bool {
    let parts: Vec<&str> = expected.split('…').collect();
    let Some(mut rest) = line.strip_prefix(parts[0]) else { return false };
    for part in &parts[1..] {
        let Some(at) = rest.find(part) else { return false };
        rest = &rest[at + part.len()..];
    }
    rest.is_empty() || parts.last() == Some(&"")
}

fn copy(from: &Path, to: &Path) {
    std::fs::create_dir_all(to).unwrap();
    for entry in std::fs::read_dir(from).unwrap() {
        let entry = entry.unwrap();
        let target = to.join(entry.file_name());
        match entry.file_type().unwrap().is_dir() {
            true => copy(&entry.path(), &target),
            false => drop(std::fs::copy(entry.path(), target).unwrap()),
        }
    }
}

#[test]
fn examples_of_the_page_are_correct() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let page = std::fs::read_to_string(root.join("docs/cli.md")).unwrap();
    let dir = Dir::new();
    copy(&root.join("testdata/cli"), &dir.path("."));
    let examples = examples(&page);
    assert!(examples.len() >= 10);
    for Example { command, mut expected } in examples {
        let mut lines = run(&dir.path("."), &command);
        // An exit code is printed to standard output, which precedes standard error.
        lines.sort_by_key(|line| line.starts_with("exit code"));
        expected.sort_by_key(|line| line.starts_with("exit code"));
        let same =
            lines.len() == expected.len() && lines.iter().zip(&expected).all(|(line, want)| fits(line, want));
        assert!(same, "{command}\ngives:\n{}\nand not:\n{}", lines.join("\n"), expected.join("\n"));
    }
}
