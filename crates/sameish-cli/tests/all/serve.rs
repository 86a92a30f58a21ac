//! Tests of `sameish serve` with the real binary.

use crate::common::Dir;
use serde_json::Value;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::process::{Child, ChildStdout, Command, Stdio};

/// A service in a process of its own.
struct Service {
    child: Child,
    stdout: BufReader<ChildStdout>,
    address: String,
}

impl Service {
    fn start(command: &mut Command) -> Service {
        for name in ["SAMEISH_LISTEN", "SAMEISH_DATA", "SAMEISH_CONFIG", "SAMEISH_READ_KEYS", "SAMEISH_LOG"] {
            command.env_remove(name);
        }
        let mut child =
            command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
        let mut stdout = BufReader::new(child.stdout.take().unwrap());
        let mut line = String::new();
        stdout.read_line(&mut line).unwrap();
        let address = line
            .trim_end()
            .strip_prefix("listening on http://")
            .unwrap_or_else(|| panic!("{line:?}"))
            .to_owned();
        Service { child, stdout, address }
    }

    fn ask(&self, method: &str, path: &str, headers: &str, body: &str) -> (u16, String) {
        let mut stream = TcpStream::connect(&self.address).unwrap();
        let length = body.len();
        write!(
            stream,
            "{method} {path} HTTP/1.1\r\nhost: localhost\r\nconnection: close\r\ncontent-type: application/json\r\n\
             content-length: {length}\r\n{headers}\r\n{body}"
        )
        .unwrap();
        let mut answer = String::new();
        stream.read_to_string(&mut answer).unwrap();
        let (head, body) = answer.split_once("\r\n\r\n").unwrap();
        (head.split(' ').nth(1).unwrap().parse().unwrap(), body.to_owned())
    }

    fn signal(&self, name: &str) {
        let id = self.child.id().to_string();
        assert!(Command::new("kill").args([&format!("-{name}"), &id]).status().unwrap().success());
    }

    /// Waits for the end. Returns the exit code and the log.
    fn end(mut self) -> (Option<i32>, String) {
        let mut log = String::new();
        self.child.stderr.take().unwrap().read_to_string(&mut log).unwrap();
        (self.child.wait().unwrap().code(), log)
    }
}

/// Ends the process, also if a test fails.
impl Drop for Service {
    fn drop(&mut self) {
        _ = self.child.kill();
        _ = self.child.wait();
    }
}

const LOCAL: [&str; 3] = ["serve", "--listen", "127.0.0.1:0"];

#[test]
fn documents_survive_signals_and_kills() {
    let dir = Dir::new();
    for (round, signal) in ["TERM", "INT", "KILL"].into_iter().enumerate() {
        let service = Service::start(dir.command(LOCAL).args(["--data", "d"]));
        let document = format!(r#"{{"id":{round},"text":"document of round number {round} stays"}}"#);
        assert_eq!(service.ask("POST", "/api/v1/copies", "", &document).0, 201);
        for earlier in 0..=round {
            assert_eq!(service.ask("GET", &format!("/api/v1/copies/{earlier}"), "", "").0, 200);
        }
        service.signal(signal);
        let code = service.end().0;
        assert_eq!(code, if signal == "KILL" { None } else { Some(0) }, "{signal}");
    }
}

#[test]
fn handles_a_signal_right_after_the_first_line() {
    let dir = Dir::new();
    for signal in ["TERM", "INT", "TERM"] {
        let service = Service::start(&mut dir.command(LOCAL));
        service.signal(signal);
        assert_eq!(service.end().0, Some(0), "{signal}");
    }
}

#[test]
fn demo_prints_example_requests_that_work() {
    let dir = Dir::new();
    let mut service = Service::start(dir.command(LOCAL).arg("--demo"));
    let mut lines = Vec::new();
    for _ in 0..4 {
        let mut line = String::new();
        service.stdout.read_line(&mut line).unwrap();
        lines.push(line);
    }
    assert!(lines[0].contains("documents are loaded"));
    for line in &lines[1..] {
        assert!(line.trim_start().starts_with("curl ") && line.contains(&service.address), "{line}");
        let run = Command::new("sh").args(["-c", &format!("{} -sf", line.trim_end())]).output();
        // Skipped if curl is not installed.
        if let Ok(run) = run
            && run.status.code() != Some(127)
        {
            assert!(run.status.success(), "{line}");
            serde_json::from_slice::<Value>(&run.stdout).unwrap();
        }
    }
    assert!(dir.names().is_empty(), "no files remain in the directory");
    service.signal("TERM");
    assert_eq!(service.end().0, Some(0));
}

#[test]
fn requires_a_key_for_a_public_address() {
    let dir = Dir::new();
    dir.run(["serve", "--listen", "0.0.0.0:0", "--data", "d"])
        .ends_with(2)
        .says(&["no key", "SAMEISH_WRITE_KEYS"]);
    assert!(!dir.exists("d"));
    let mut command = dir.command(["serve", "--listen", "0.0.0.0:0", "--data", "d"]);
    let output = command.env("SAMEISH_WRITE_KEYS", "sesame-0123456789").output().unwrap();
    let refused = String::from_utf8(output.stderr).unwrap();
    assert!(
        refused.contains("has 17 characters, minimum is 32") && refused.contains("sameish keys new"),
        "{refused}"
    );
    assert_eq!(output.status.code(), Some(2));

    let new = dir.run(["keys", "new", "--scope", "read", "--name", "reader"]).ends_with(0).says(&[
        "name = \"reader\"",
        "scope = \"read\"",
        "sha256 = \"",
        "SAMEISH_READ_KEYS",
    ]);
    let key = new.stdout.trim().to_owned();
    assert_eq!(key.len(), 64);
    let setting: Vec<&str> = new
        .stderr
        .lines()
        .skip_while(|line| *line != "[[keys]]")
        .take_while(|line| !line.is_empty())
        .collect();
    dir.write("s.toml", setting.join("\n"));
    let other = dir.run(["keys", "new", "--quiet"]).ends_with(0);
    assert_eq!((other.stdout.trim().len(), &*other.stderr), (64, ""));
    assert_ne!(other.stdout.trim(), key);

    let mut command = dir.command(["serve", "--listen", "0.0.0.0:0", "--data", "d", "--config", "s.toml"]);
    let mut service = Service::start(command.env("SAMEISH_WRITE_KEYS", other.stdout.trim()));
    service.address = service.address.replace("0.0.0.0", "127.0.0.1");
    assert_eq!(service.ask("GET", "/api/v1/stats", "", "").0, 401);
    let read = format!("authorization: Bearer {key}\r\n");
    assert_eq!(service.ask("GET", "/api/v1/stats", &read, "").0, 200);
    assert_eq!(service.ask("POST", "/api/v1/copies", &read, "{}").0, 403);
    let write = format!("authorization: Bearer {}\r\n", other.stdout.trim());
    assert_eq!(service.ask("POST", "/api/v1/copies", &write, r#"{"text":"x"}"#).0, 201);
}

#[test]
fn logs_contain_no_documents_ids_or_keys() {
    let dir = Dir::new();
    let mut command = dir.command(LOCAL);
    command
        .args(["--data", "d", "--log", "debug", "--log-format", "json"])
        .env("SAMEISH_WRITE_KEYS", "canary-key-1");
    let service = Service::start(&mut command);
    let key = "authorization: Bearer canary-key-1\r\n";
    let document = r#"{"id":"canary-id-2","text":"canary text three","title":"canary title","url":"https://canary-url.example/"}"#;
    assert_eq!(service.ask("POST", "/api/v1/articles", key, document).0, 201);
    assert_eq!(service.ask("GET", "/api/v1/articles/canary-id-2", key, "").0, 200);
    assert_eq!(service.ask("GET", "/api/v1/articles/canary-id-2?key=canary-key-1", "", "").0, 401);
    assert_eq!(service.ask("POST", "/api/v1/articles", key, "{canary").0, 400);
    service.signal("TERM");
    let (code, log) = service.end();
    assert_eq!(code, Some(0));
    assert!(log.lines().count() >= 4);
    assert!(!log.contains("canary"), "{log}");
    for line in log.lines() {
        let entry: Value = serde_json::from_str(line).unwrap();
        assert!(entry["level"].is_string() && entry["timestamp"].is_string());
    }
}

#[test]
fn flags_override_environment_and_environment_overrides_file() {
    let dir = Dir::new();
    dir.write(
        "s.toml",
        "data = \"from-file\"\nlog = \"error\"\n[limits]\nbody_bytes = 2048\ntext_bytes = 2000\n",
    );
    let mut command = dir.command(LOCAL);
    command.args(["--config", "s.toml", "--data", "from-flag"]);
    let service = Service::start(&mut command);
    let long = format!(r#"{{"text":"{}"}}"#, "x".repeat(3_000));
    assert_eq!(service.ask("POST", "/api/v1/copies", "", &long).0, 413);
    assert!(dir.exists("from-flag") && !dir.exists("from-file"));
    drop(service);
    dir.write("bad.toml", "data = 7\n");
    dir.run(["serve", "--config", "bad.toml"]).ends_with(2).says(&["bad.toml", "line 1"]);
    dir.write("unknown.toml", "dta = \"x\"\n");
    dir.run(["serve", "--config", "unknown.toml"]).ends_with(2).says(&["dta"]);
    dir.run(["serve", "--config", "absent.toml"]).ends_with(2).says(&["absent.toml"]);
    dir.run(["serve", "--listen", "nowhere"]).ends_with(2).says(&["127.0.0.1:7070"]);
}

#[test]
fn config_show_names_the_origin_of_each_setting() {
    let dir = Dir::new();
    let text =
        "data = \"a\"\nlog = \"warn\"\n[limits]\nqueue = 7\n[[keys]]\nkey = \"secret\"\nscope = \"read\"\n";
    dir.write("s.toml", text);
    let mut command = dir.command(["config", "show", "--listen", "127.0.0.1:1", "--config", "s.toml"]);
    let output = command.env("SAMEISH_LOG", "debug").output().unwrap();
    let shown = String::from_utf8(output.stdout).unwrap();
    assert_eq!(output.status.code(), Some(0), "{shown}");
    for line in [
        "listen = \"127.0.0.1:1\" # flag",
        "log = \"debug\" # variable SAMEISH_LOG",
        "data = \"a\" # file",
        "queue = 7 # file",
        "results = 1000 # default",
        "scope = \"read\"",
    ] {
        assert!(shown.lines().any(|shown| shown == line), "{line}: {shown}");
    }
    assert!(!shown.contains("secret"), "{shown}");
    dir.write("bad.toml", "lissten = 1\nqueue = 2\n");
    dir.run(["config", "show", "--config", "bad.toml"]).ends_with(2).says(&["line 1", "line 2"]);
}

#[test]
fn reports_the_process_that_uses_a_directory() {
    let dir = Dir::new();
    let service = Service::start(dir.command(LOCAL).args(["--data", "d"]));
    let process = service.child.id().to_string();
    dir.run(["serve", "--listen", "127.0.0.1:0", "--data", "d"]).ends_with(4).says(&[&process]);
    assert_eq!(service.ask("GET", "/health/ready", "", "").0, 200);
}

/// Returns articles of which 1 and 2 are updates of 0, 3 is an excerpt of it, and 4 is another one.
fn articles() -> Vec<Value> {
    let words: Vec<String> =
        (0..90).map(|i| format!("{}w{i}", if i % 9 == 0 { "Name" } else { "" })).collect();
    let text = |changed: usize, take: usize| {
        let word =
            |(i, word): (usize, &String)| if i % 30 < changed { format!("new{i}") } else { word.clone() };
        words.iter().take(take).enumerate().map(word).collect::<Vec<_>>().join(" ")
    };
    let other = words.iter().rev().map(|word| format!("{word}x")).collect::<Vec<_>>().join(" ");
    let texts = [text(0, 90), text(1, 90), text(2, 90), text(0, 60), other];
    let record = |(id, text): (usize, String)| serde_json::json!({"id": id, "text": text, "published_at": format!("2026-01-{:02}", 20 - id), "host": "a.example"});
    texts.into_iter().enumerate().map(record).collect()
}

#[test]
fn a_line_of_index_query_has_the_fields_and_values_of_the_service() {
    for preset in ["wire", "articles", "copies"] {
        let dir = Dir::new();
        let articles = articles();
        dir.write_records("articles.jsonl", &articles);
        // Far enough that more than equal texts match.
        dir.write("settings.toml", format!("preset = \"{preset}\"\n[matching]\nthreshold = 0.55\n"));
        dir.run(["index", "build", "d", "articles.jsonl", "--config", "settings.toml", "-q"]).ends_with(0);
        let args = ["index", "query", "d", "articles.jsonl", "--min-similarity", "0.5", "-q"];
        let lines = crate::common::lines(&dir.run(args).ends_with(0).stdout);
        let service = Service::start(dir.command(LOCAL).args(["--data", "d"]));
        let mut relations = 0;
        for (at, article) in articles.iter().enumerate() {
            for evidence in [false, true] {
                let path = format!("/api/v1/{preset}/query?min_similarity=0.5&evidence={evidence}");
                let (status, body) = service.ask("POST", &path, "", &article.to_string());
                assert_eq!(status, 200, "{body}");
                let mut answer: Value = serde_json::from_str(&body).unwrap();
                for matched in answer["similar"].as_array_mut().unwrap() {
                    let matched = matched.as_object_mut().unwrap();
                    matched.remove("evidence");
                    // The command line leaves out what a document does not have.
                    matched.retain(|name, value| {
                        !value.is_null() || !["title", "host", "url", "published_at"].contains(&name.as_str())
                    });
                    relations += usize::from(!matched["relation"].is_null());
                }
                answer["id"] = article["id"].clone();
                let mut line = lines[at].clone();
                // A measure of effort.
                for object in [&mut answer, &mut line] {
                    object.as_object_mut().unwrap().remove("candidates");
                }
                assert_eq!(line, answer, "{preset}");
            }
        }
        assert!(
            lines.iter().any(|line| line["similar"].as_array().unwrap().len() > 2),
            "{preset}: {lines:?}"
        );
        assert_eq!(relations > 0, preset != "wire", "{preset}");
        service.signal("TERM");
        assert_eq!(service.end().0, Some(0));
    }
}
