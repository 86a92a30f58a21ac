//! Runs the binary in a temporary directory.

#![allow(dead_code, missing_docs, unreachable_pub, clippy::unwrap_used)]

use serde_json::Value;
use std::ffi::OsStr;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};

pub const BRIDGE: &str =
    "The city council voted on Monday evening to close the old stone bridge for repairs until spring";
pub const HARVEST: &str =
    "Apple growers in the valley expect their best harvest in ten years after a mild and wet winter";

/// A temporary directory that is removed with the test.
pub struct Dir {
    dir: tempfile::TempDir,
}

impl Dir {
    pub fn new() -> Dir {
        Dir { dir: tempfile::tempdir().unwrap() }
    }

    pub fn path(&self, name: impl AsRef<Path>) -> PathBuf {
        self.dir.path().join(name)
    }

    pub fn write(&self, name: impl AsRef<Path>, content: impl AsRef<[u8]>) -> PathBuf {
        let path = self.path(name);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(&path, content).unwrap();
        path
    }

    pub fn write_records(&self, name: &str, records: &[Value]) {
        self.write(name, jsonl(records));
    }

    pub fn read(&self, name: impl AsRef<Path>) -> String {
        std::fs::read_to_string(self.path(name)).unwrap()
    }

    pub fn exists(&self, name: impl AsRef<Path>) -> bool {
        self.path(name).exists()
    }

    /// Returns all names in the directory, sorted.
    pub fn names(&self) -> Vec<String> {
        let entries = std::fs::read_dir(self.dir.path()).unwrap();
        let mut names: Vec<String> =
            entries.map(|entry| entry.unwrap().file_name().to_string_lossy().into_owned()).collect();
        names.sort();
        names
    }

    pub fn command(&self, args: impl IntoIterator<Item = impl AsRef<OsStr>>) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_sameish"));
        command.args(args).current_dir(self.dir.path()).env_remove("SAMEISH_SIMD").env_remove("NO_COLOR");
        command.env_remove("CLICOLOR_FORCE");
        command
    }

    /// Returns a command that runs without the privileges of the superuser, for whom file permissions have no effect.
    ///
    /// If the tests run as superuser, the command runs as another user, with a program in the directory: this user may not be
    /// able to reach the target directory.
    pub fn unprivileged_command(&self, args: impl IntoIterator<Item = impl AsRef<OsStr>>) -> Command {
        use std::os::unix::fs::{MetadataExt, PermissionsExt};
        use std::os::unix::process::CommandExt;
        const NOBODY: u32 = 65_534;
        // Files belong to the user that creates them.
        if std::fs::metadata(self.dir.path()).unwrap().uid() != 0 {
            return self.command(args);
        }
        std::fs::set_permissions(self.dir.path(), std::fs::Permissions::from_mode(0o755)).unwrap();
        let program = self.path("sameish");
        let original = env!("CARGO_BIN_EXE_sameish");
        std::fs::hard_link(original, &program)
            .or_else(|_| std::fs::copy(original, &program).map(drop))
            .unwrap();
        let mut command = Command::new(program);
        command.args(args).current_dir(self.dir.path()).stdin(Stdio::null()).uid(NOBODY).gid(NOBODY);
        command
    }

    pub fn run(&self, args: impl IntoIterator<Item = impl AsRef<OsStr>>) -> Run {
        Run::from(self.command(args).stdin(Stdio::null()).output().unwrap())
    }

    /// Returns a shell command to be run in the directory; `$SAMEISH` is the program.
    pub fn shell_command(&self, command: &str) -> Command {
        let mut shell = Command::new("bash");
        shell
            .args(["-c", command])
            .current_dir(self.dir.path())
            .env("SAMEISH", env!("CARGO_BIN_EXE_sameish"));
        shell
    }

    /// Runs a shell command in the directory; `$SAMEISH` is the program.
    pub fn shell(&self, command: &str) -> Run {
        Run::from(self.shell_command(command).stdin(Stdio::null()).output().unwrap())
    }

    pub fn run_with_stdin(&self, args: impl IntoIterator<Item = impl AsRef<OsStr>>, stdin: &[u8]) -> Run {
        let mut command = self.command(args);
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut child = command.spawn().unwrap();
        let mut pipe = child.stdin.take().unwrap();
        std::thread::scope(|scope| {
            // The child may end before it has read everything.
            scope.spawn(move || drop(pipe.write_all(stdin)));
            Run::from(child.wait_with_output().unwrap())
        })
    }
}

/// Result of a run.
#[derive(Debug)]
pub struct Run {
    pub code: Option<i32>,
    pub stdout: String,
    pub stderr: String,
}

impl From<Output> for Run {
    fn from(output: Output) -> Run {
        Run {
            code: output.status.code(),
            stdout: String::from_utf8(output.stdout).unwrap(),
            stderr: String::from_utf8(output.stderr).unwrap(),
        }
    }
}

impl Run {
    /// Checks the exit code.
    #[track_caller]
    pub fn ends_with(self, code: i32) -> Run {
        assert_eq!(self.code, Some(code), "stdout:\n{}\nstderr:\n{}", cut(&self.stdout), cut(&self.stderr));
        self
    }

    /// Checks that each text occurs in standard error.
    #[track_caller]
    pub fn says(self, texts: &[&str]) -> Run {
        for text in texts {
            assert!(self.stderr.contains(text), "no `{text}` in:\n{}", cut(&self.stderr));
        }
        self
    }

    /// Returns the ids of the output lines as JSON.
    #[track_caller]
    pub fn ids(&self) -> String {
        ids(&self.stdout)
    }

    pub fn documents(&self) -> usize {
        self.stdout.lines().count()
    }
}

/// Returns the ids of output lines as JSON, separated by commas.
#[track_caller]
pub fn ids(output: &str) -> String {
    lines(output).iter().map(|line| line["id"].to_string()).collect::<Vec<_>>().join(",")
}

/// Parses lines of JSON.
#[track_caller]
pub fn lines(text: &str) -> Vec<Value> {
    text.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
}

/// Returns records as lines of JSON.
pub fn jsonl(records: &[Value]) -> String {
    records.iter().map(|record| format!("{record}\n")).collect()
}

fn cut(text: &str) -> &str {
    &text[..text.floor_char_boundary(2000)]
}

pub fn gzip(bytes: &[u8]) -> Vec<u8> {
    let mut encoder = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::new(6));
    encoder.write_all(bytes).unwrap();
    encoder.finish().unwrap()
}

pub fn zstd(bytes: &[u8]) -> Vec<u8> {
    zstd::encode_all(bytes, 3).unwrap()
}

/// Returns records with little redundancy, so that compressed files are large enough to truncate.
pub fn records(count: usize) -> String {
    let mut state = 1u64;
    let mut word = move || {
        state = state.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
        format!("w{:x}", state >> 44)
    };
    let mut record = |id: usize| {
        let words: Vec<String> = (0..12).map(|_| word()).collect();
        format!("{{\"id\":{id},\"text\":\"{}\"}}\n", words.join(" "))
    };
    (0..count).map(&mut record).collect()
}
