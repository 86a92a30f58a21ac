//! A service on a free port, and a client that can also send malformed requests.

#![allow(dead_code, missing_docs, unreachable_pub, clippy::unwrap_used)]

use sameish_server::{Handle, Server, Settings};
use serde_json::Value;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::thread::JoinHandle;
use std::time::Duration;

/// A running service. Stopped on drop.
pub struct Service {
    pub address: SocketAddr,
    pub directory: Option<tempfile::TempDir>,
    handle: Handle,
    thread: Option<JoinHandle<()>>,
}

impl Service {
    pub fn start() -> Service {
        Service::with(|_| {})
    }

    pub fn with(adjust: impl FnOnce(&mut Settings)) -> Service {
        Service::with_data(tempfile::tempdir().unwrap(), adjust)
    }

    /// Starts a service with a data directory that may contain documents.
    pub fn with_data(directory: tempfile::TempDir, adjust: impl FnOnce(&mut Settings)) -> Service {
        let mut settings = Settings { data: directory.path().join("data"), ..Settings::default() };
        settings.listen.set_port(0);
        adjust(&mut settings);
        let server = Server::bind(settings).unwrap();
        let address = server.address();
        let handle = server.handle();
        let thread = Some(std::thread::spawn(move || server.run().unwrap()));
        Service { address, directory: Some(directory), handle, thread }
    }

    /// Stops the service gracefully and returns its directory.
    pub fn stop(mut self) -> tempfile::TempDir {
        self.end();
        self.directory.take().unwrap()
    }

    fn end(&mut self) {
        self.handle.stop();
        if let Some(thread) = self.thread.take() {
            thread.join().unwrap();
        }
    }

    /// Starts a graceful shutdown without waiting for its end.
    pub fn start_shutdown(&self) {
        self.handle.stop();
    }

    pub fn connect(&self) -> TcpStream {
        let stream = TcpStream::connect(self.address).unwrap();
        stream.set_read_timeout(Some(Duration::from_secs(60))).unwrap();
        stream
    }

    /// Sends bytes unchanged and reads one response.
    pub fn raw(&self, bytes: impl AsRef<[u8]>) -> Response {
        let mut stream = self.connect();
        // The service may respond and close before it has read everything.
        _ = stream.write_all(bytes.as_ref());
        read_response(&mut BufReader::new(stream), false)
    }

    pub fn send(&self, method: &str, path: &str, headers: &[(&str, &str)], body: &[u8]) -> Response {
        let mut stream = self.connect();
        _ = stream.write_all(&request(method, path, headers, body));
        // A stream of events has no end.
        let is_endless =
            method == "GET" && path.split('?').next().is_some_and(|path| path.ends_with("/events"));
        let mut stream = BufReader::new(stream);
        let head = read_head(&mut stream);
        match method == "HEAD" || is_endless && head.status == 200 {
            true => head,
            false => read_body(&mut stream, head),
        }
    }

    pub fn get(&self, path: &str) -> Response {
        self.send("GET", path, &[], b"")
    }

    pub fn post(&self, path: &str, body: impl ToString) -> Response {
        self.send("POST", path, &[JSON], body.to_string().as_bytes())
    }

    pub fn put(&self, path: &str, body: impl ToString) -> Response {
        self.send("PUT", path, &[JSON], body.to_string().as_bytes())
    }

    pub fn delete(&self, path: &str) -> Response {
        self.send("DELETE", path, &[], b"")
    }

    /// Sends a bulk request and returns its response lines.
    pub fn bulk(&self, path: &str, lines: &str) -> Vec<Value> {
        let response = self.send("POST", path, &[("content-type", "application/x-ndjson")], lines.as_bytes());
        assert_eq!(response.status, 200, "{}", response.text());
        response.text().lines().map(|line| serde_json::from_str(line).unwrap()).collect()
    }
}

impl Drop for Service {
    fn drop(&mut self) {
        self.end();
    }
}

pub const JSON: (&str, &str) = ("content-type", "application/json");

/// Returns a request with a host and a length that closes its connection.
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

/// A response.
#[derive(Debug)]
pub struct Response {
    pub status: u16,
    pub headers: Vec<(String, String)>,
    pub body: Vec<u8>,
}

impl Response {
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

    /// Checks the status.
    #[track_caller]
    pub fn expect(self, status: u16) -> Response {
        assert_eq!(self.status, status, "{:?}\n{}", self.headers, self.text());
        self
    }

    /// Checks that the response is a problem with all its members.
    #[track_caller]
    pub fn expect_problem(self, status: u16) -> Value {
        let response = self.expect(status);
        assert_eq!(response.header("content-type"), Some("application/problem+json"));
        let problem = response.json();
        assert!(problem["type"].as_str().unwrap().starts_with("urn:sameish:problem:"));
        assert_eq!(problem["status"], status);
        assert!(!problem["title"].as_str().unwrap().is_empty());
        assert!(!problem["detail"].as_str().unwrap().is_empty());
        assert_eq!(problem["request_id"].as_str(), response.header("x-request-id"));
        problem
    }

    /// Checks that the problem lists a fault.
    #[track_caller]
    pub fn expect_fault(self, pointer: &str, code: &str) {
        let problem = self.expect_problem(422);
        let errors = problem["errors"].as_array().unwrap();
        assert!(errors.iter().any(|error| error["pointer"] == pointer && error["code"] == code), "{problem}");
    }
}

/// Reads one response. Its status is 0 if the connection is closed without a response.
pub fn read_response(stream: &mut BufReader<TcpStream>, no_body: bool) -> Response {
    let head = read_head(stream);
    if no_body { head } else { read_body(stream, head) }
}

fn read_head(stream: &mut BufReader<TcpStream>) -> Response {
    let mut response = Response { status: 0, headers: Vec::new(), body: Vec::new() };
    let Some(first) = read_line(stream) else { return response };
    response.status = first.split(' ').nth(1).and_then(|status| status.parse().ok()).unwrap_or(0);
    while let Some(line) = read_line(stream) {
        if line.is_empty() {
            break;
        }
        let (name, value) = line.split_once(':').unwrap();
        response.headers.push((name.to_ascii_lowercase(), value.trim().to_owned()));
    }
    response
}

fn read_body(stream: &mut BufReader<TcpStream>, mut response: Response) -> Response {
    if response.status == 204 {
        return response;
    }
    if response.header("transfer-encoding") == Some("chunked") {
        while let Some(line) = read_line(stream) {
            let size = usize::from_str_radix(&line, 16).unwrap();
            let mut chunk = vec![0; size + 2];
            stream.read_exact(&mut chunk).unwrap();
            response.body.extend_from_slice(&chunk[..size]);
            if size == 0 {
                break;
            }
        }
    } else {
        let length = response.header("content-length").map_or(0, |length| length.parse().unwrap());
        response.body = vec![0; length];
        stream.read_exact(&mut response.body).unwrap();
    }
    response
}

fn read_line(stream: &mut BufReader<TcpStream>) -> Option<String> {
    let mut line = Vec::new();
    match stream.read_until(b'\n', &mut line) {
        Ok(0) | Err(_) => None,
        Ok(_) => Some(String::from_utf8(line).unwrap().trim_end().to_owned()),
    }
}

/// Returns an article of `words` words, which depend on `seed` only.
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
