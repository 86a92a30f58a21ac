//! A real service on a free port, and a client that can also be rude.

#![allow(dead_code, missing_docs, unreachable_pub, clippy::unwrap_used)]

use sameish_server::{Handle, Server, Settings};
use serde_json::Value;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::thread::JoinHandle;
use std::time::Duration;

/// A service that runs until it is dropped.
pub struct Service {
    pub address: SocketAddr,
    pub folder: Option<tempfile::TempDir>,
    handle: Handle,
    thread: Option<JoinHandle<()>>,
}

impl Service {
    pub fn start() -> Service {
        Service::with(|_| {})
    }

    pub fn with(adjust: impl FnOnce(&mut Settings)) -> Service {
        Service::over(tempfile::tempdir().unwrap(), adjust)
    }

    /// A service over a folder that may have documents.
    pub fn over(folder: tempfile::TempDir, adjust: impl FnOnce(&mut Settings)) -> Service {
        let mut settings = Settings { data: folder.path().join("data"), ..Settings::default() };
        settings.listen.set_port(0);
        adjust(&mut settings);
        let server = Server::bind(settings).unwrap();
        let (address, handle) = (server.address(), server.handle());
        let thread = Some(std::thread::spawn(move || server.run().unwrap()));
        Service { address, folder: Some(folder), handle, thread }
    }

    /// Stops it in good order and gives its folder back.
    pub fn stop(mut self) -> tempfile::TempDir {
        self.end();
        self.folder.take().unwrap()
    }

    fn end(&mut self) {
        self.handle.stop();
        if let Some(thread) = self.thread.take() {
            thread.join().unwrap();
        }
    }

    /// Tells it to stop, and does not wait.
    pub fn tell_to_stop(&self) {
        self.handle.stop();
    }

    pub fn connect(&self) -> TcpStream {
        let stream = TcpStream::connect(self.address).unwrap();
        stream.set_read_timeout(Some(Duration::from_secs(60))).unwrap();
        stream
    }

    /// Sends bytes as they are and reads one answer.
    pub fn raw(&self, bytes: impl AsRef<[u8]>) -> Answer {
        let mut stream = self.connect();
        // The service may answer and close before it has read all.
        _ = stream.write_all(bytes.as_ref());
        read_answer(&mut BufReader::new(stream), false)
    }

    pub fn send(&self, method: &str, path: &str, headers: &[(&str, &str)], body: &[u8]) -> Answer {
        let mut stream = self.connect();
        _ = stream.write_all(&request(method, path, headers, body));
        read_answer(&mut BufReader::new(stream), method == "HEAD")
    }

    pub fn get(&self, path: &str) -> Answer {
        self.send("GET", path, &[], b"")
    }

    pub fn post(&self, path: &str, body: impl ToString) -> Answer {
        self.send("POST", path, &[JSON], body.to_string().as_bytes())
    }

    pub fn put(&self, path: &str, body: impl ToString) -> Answer {
        self.send("PUT", path, &[JSON], body.to_string().as_bytes())
    }

    pub fn delete(&self, path: &str) -> Answer {
        self.send("DELETE", path, &[], b"")
    }

    pub fn bulk(&self, path: &str, lines: &str) -> Vec<Value> {
        let answer = self.send("POST", path, &[("content-type", "application/x-ndjson")], lines.as_bytes());
        assert_eq!(answer.status, 200, "{}", answer.text());
        answer.text().lines().map(|line| serde_json::from_str(line).unwrap()).collect()
    }
}

impl Drop for Service {
    fn drop(&mut self) {
        self.end();
    }
}

pub const JSON: (&str, &str) = ("content-type", "application/json");

/// A request with a host and a length, for a connection of its own.
pub fn request(method: &str, path: &str, headers: &[(&str, &str)], body: &[u8]) -> Vec<u8> {
    let mut head = format!("{method} {path} HTTP/1.1\r\nhost: localhost\r\nconnection: close\r\n");
    for (name, value) in headers {
        head.push_str(&format!("{name}: {value}\r\n"));
    }
    if !body.is_empty() || matches!(method, "POST" | "PUT") {
        head.push_str(&format!("content-length: {}\r\n", body.len()));
    }
    [head.as_bytes(), b"\r\n", body].concat()
}

/// What came back.
#[derive(Debug)]
pub struct Answer {
    pub status: u16,
    pub headers: Vec<(String, String)>,
    pub body: Vec<u8>,
}

impl Answer {
    pub fn header(&self, name: &str) -> Option<&str> {
        self.headers.iter().find(|(key, _)| key == name).map(|(_, value)| value.as_str())
    }

    pub fn text(&self) -> String {
        String::from_utf8(self.body.clone()).unwrap()
    }

    #[track_caller]
    pub fn json(&self) -> Value {
        serde_json::from_slice(&self.body).unwrap_or_else(|error| panic!("{error}: {}", self.text()))
    }

    /// Checks the status, and shows all when it is another.
    #[track_caller]
    pub fn is(self, status: u16) -> Answer {
        assert_eq!(self.status, status, "{:?}\n{}", self.headers, self.text());
        self
    }

    /// Checks that this is a problem as RFC 9457 and our own rules want it.
    #[track_caller]
    pub fn problem(self, status: u16) -> Value {
        let answer = self.is(status);
        assert_eq!(answer.header("content-type"), Some("application/problem+json"));
        let problem = answer.json();
        assert!(problem["type"].as_str().unwrap().starts_with("urn:sameish:problem:"));
        assert_eq!(problem["status"], status);
        assert!(!problem["title"].as_str().unwrap().is_empty());
        assert!(!problem["detail"].as_str().unwrap().is_empty());
        assert_eq!(problem["request_id"].as_str(), answer.header("x-request-id"));
        problem
    }

    /// Checks that one field is wrong, and where.
    #[track_caller]
    pub fn wrong_at(self, pointer: &str, code: &str) {
        let problem = self.problem(422);
        let errors = problem["errors"].as_array().unwrap();
        assert!(errors.iter().any(|error| error["pointer"] == pointer && error["code"] == code), "{problem}");
    }
}

/// Reads one answer. A connection that was closed without one has status 0.
pub fn read_answer(stream: &mut BufReader<TcpStream>, no_body: bool) -> Answer {
    let mut answer = Answer { status: 0, headers: Vec::new(), body: Vec::new() };
    let Some(first) = read_line(stream) else { return answer };
    answer.status = first.split(' ').nth(1).and_then(|status| status.parse().ok()).unwrap_or(0);
    while let Some(line) = read_line(stream) {
        if line.is_empty() {
            break;
        }
        let (name, value) = line.split_once(':').unwrap();
        answer.headers.push((name.to_ascii_lowercase(), value.trim().to_owned()));
    }
    if no_body || answer.status == 204 {
        return answer;
    }
    if answer.header("transfer-encoding") == Some("chunked") {
        while let Some(line) = read_line(stream) {
            let size = usize::from_str_radix(&line, 16).unwrap();
            let mut chunk = vec![0; size + 2];
            stream.read_exact(&mut chunk).unwrap();
            answer.body.extend_from_slice(&chunk[..size]);
            if size == 0 {
                break;
            }
        }
    } else {
        let length = answer.header("content-length").map_or(0, |length| length.parse().unwrap());
        answer.body = vec![0; length];
        stream.read_exact(&mut answer.body).unwrap();
    }
    answer
}

fn read_line(stream: &mut BufReader<TcpStream>) -> Option<String> {
    let mut line = Vec::new();
    match stream.read_until(b'\n', &mut line) {
        Ok(0) | Err(_) => None,
        Ok(_) => Some(String::from_utf8(line).unwrap().trim_end().to_owned()),
    }
}

/// An article of so many words, which are the same for the same seed.
pub fn article(seed: u64, words: usize) -> String {
    let mut state = seed.wrapping_mul(0x9e37_79b9_7f4a_7c15).wrapping_add(1);
    let mut word = || {
        state = state.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
        format!("w{:x}", state >> 44)
    };
    (0..words).map(|_| word()).collect::<Vec<_>>().join(" ")
}

pub fn gzip(bytes: &[u8]) -> Vec<u8> {
    let mut encoder = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::new(6));
    encoder.write_all(bytes).unwrap();
    encoder.finish().unwrap()
}
