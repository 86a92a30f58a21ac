//! Compares the head filter with hyper on random byte streams.
//!
//! hyper itself answers a head that it does not accept, without problem+json, so no such head may reach it. If the filter and hyper
//! disagreed on the end of a body, a request inside that body would escape the checks.

use super::framing::{Framing, Part};
use super::smuggling::{HeadFilter, HeadLimits, check_head};
use http_body_util::BodyExt;
use hyper::body::Incoming;
use hyper::service::service_fn;
use std::sync::Mutex;
use tokio::io::{AsyncReadExt, AsyncWriteExt, ReadBuf};

const LIMITS: HeadLimits = HeadLimits { bytes: 32 << 10, headers: 100 };

/// A pseudorandom generator with a fixed seed.
struct Random(u64);

impl Random {
    fn below(&mut self, limit: usize) -> usize {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) as usize % limit
    }

    fn choice<'a, T: ?Sized>(&mut self, choices: &[&'a T]) -> &'a T {
        choices[self.below(choices.len())]
    }
}

/// Returns the URIs of the requests that hyper sees in `bytes`. Each request is read completely before it is answered.
async fn uris_seen_by_hyper(bytes: &[u8]) -> Vec<String> {
    let uris = Mutex::new(Vec::new());
    let service = service_fn(async |request: hyper::Request<Incoming>| {
        uris.lock().unwrap().push(request.uri().to_string());
        // The body may be malformed or incomplete.
        _ = request.into_body().collect().await;
        Ok::<_, std::convert::Infallible>(hyper::Response::new(String::new()))
    });
    let (mut client, server) = tokio::io::duplex(1 << 20);
    let mut http = hyper::server::conn::http1::Builder::new();
    http.half_close(true).max_headers(LIMITS.headers).max_buf_size(LIMITS.buffer_bytes());
    client.write_all(bytes).await.unwrap();
    client.shutdown().await.unwrap();
    let read_response = async {
        _ = client.read_to_end(&mut Vec::new()).await;
    };
    let served = http.serve_connection(hyper_util::rt::TokioIo::new(server), service);
    _ = tokio::join!(served, read_response);
    uris.into_inner().unwrap()
}

/// Returns the bytes that the filter passes on if they arrive in pieces of this size.
fn passed_in_pieces(bytes: &[u8], size: usize) -> Vec<u8> {
    let mut filter = HeadFilter::new(LIMITS);
    let mut passed = Vec::new();
    for piece in bytes.chunks(size) {
        if filter.is_closed() {
            break;
        }
        let direct = filter.feed(piece);
        passed.extend_from_slice(&piece[..direct]);
        let mut buffer = [0; 300];
        loop {
            let mut buffer = ReadBuf::new(&mut buffer);
            if !filter.release(&mut buffer) {
                break;
            }
            passed.extend_from_slice(buffer.filled());
        }
    }
    passed
}

/// The requests that the filter finds in a stream.
#[derive(Default)]
struct Interpretation {
    uris: Vec<String>,
    /// Number of bytes that belong to these requests.
    length: usize,
    /// Whether a request ends the connection.
    closes: bool,
}

fn interpretation(bytes: &[u8]) -> Interpretation {
    let mut found = Interpretation::default();
    let mut framing = Framing::default();
    while found.length < bytes.len() && framing.part() != Part::Closed {
        let rest = &bytes[found.length..];
        if framing.part() != Part::Head {
            found.length += framing.follow(rest);
            continue;
        }
        let Ok(Some(head)) = check_head(rest, LIMITS) else { break };
        let text = String::from_utf8_lossy(&rest[..head.length]);
        found.closes |= text.contains("HTTP/1.0") || text.to_ascii_lowercase().contains("\nconnection:");
        found.uris.extend(text.split(' ').nth(1).map(str::to_owned));
        found.length += head.length;
        framing.start(head.body);
    }
    found
}

/// Bytes that mutations insert.
const BYTES: &[u8] = b"\0\t\r\n !\"%/:;0195AZ[\\]_az{}~\x7f\x80\xff,=+-.*";

/// Parts of requests that mutations insert.
const FRAGMENTS: [&str; 14] = [
    "\r\n",
    "\r\n\r\n",
    "0\r\n\r\n",
    "5\r\nhello\r\n",
    "\r\nContent-Length: 3",
    "\r\nContent-Length: 30",
    "\r\nTransfer-Encoding: chunked",
    "\r\nTransfer-Encoding: identity",
    "\r\nConnection: close",
    ";extension=\"a\"",
    "0000000000000000000000000000000000000000000000000000000000000000000000000000000000",
    "fffffffffffffff0",
    "\r\nTrailer: x",
    "GET /fragment HTTP/1.1\r\nHost: a\r\n\r\n",
];

/// Returns a request with a URI of its own. Some bodies contain requests.
fn request(random: &mut Random, depth: usize, count: &mut usize) -> Vec<u8> {
    *count += 1;
    let uri = format!("/{count}");
    let body = match random.below(4) {
        0 if depth > 0 => [request(random, depth - 1, count), request(random, depth - 1, count)].concat(),
        1 => b"a short body".to_vec(),
        2 => vec![b'x'; random.below(300)],
        _ => Vec::new(),
    };
    match random.below(3) {
        0 => format!("GET {uri} HTTP/1.1\r\nHost: a\r\n\r\n").into_bytes(),
        1 => {
            let head = format!("POST {uri} HTTP/1.1\r\nHost: a\r\nContent-Length: {}\r\n\r\n", body.len());
            [head.as_bytes(), &body].concat()
        }
        _ => {
            let head = format!("PUT {uri} HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n");
            [head.as_bytes(), &chunked(random, &body)].concat()
        }
    }
}

fn chunked(random: &mut Random, body: &[u8]) -> Vec<u8> {
    let mut bytes = Vec::new();
    for chunk in body.chunks(1 + random.below(200)) {
        let zeros = "0".repeat(random.choice(&[&0, &0, &1, &15, &80]).to_owned());
        let extension = random.choice(&["", "", ";a=b", " ;a", "\t"]);
        bytes.extend_from_slice(format!("{zeros}{:x}{extension}\r\n", chunk.len()).as_bytes());
        bytes.extend_from_slice(chunk);
        bytes.extend_from_slice(b"\r\n");
    }
    let trailers = random.choice(&["", "", "", "Trailer: x\r\n", "a: b\r\nc: d\r\n"]);
    bytes.extend_from_slice(format!("0\r\n{trailers}\r\n").as_bytes());
    bytes
}

fn mutate(random: &mut Random, bytes: &mut Vec<u8>) {
    let at = random.below(bytes.len());
    match random.below(5) {
        0 => bytes[at] = BYTES[random.below(BYTES.len())],
        1 => bytes.insert(at, BYTES[random.below(BYTES.len())]),
        2 => drop(bytes.remove(at)),
        3 => drop(bytes.drain(at..(at + random.below(40)).min(bytes.len()))),
        _ => drop(bytes.splice(at..at, random.choice(&FRAGMENTS).bytes())),
    }
    if bytes.is_empty() {
        bytes.push(b'\r');
    }
}

#[test]
fn a_byte_stream_has_one_interpretation() {
    let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
    let mut random = Random(7);
    let mut requests = 0;
    let mut rejected = 0;
    for _ in 0..20_000 {
        let mut count = 0;
        let mut stream: Vec<u8> =
            (0..1 + random.below(4)).flat_map(|_| request(&mut random, 2, &mut count)).collect();
        for _ in 0..random.below(4) {
            mutate(&mut random, &mut stream);
        }
        let found = interpretation(&stream);
        let passed = passed_in_pieces(&stream, usize::MAX);
        let shown = String::from_utf8_lossy(&stream);
        assert_eq!(passed, &stream[..found.length], "{shown:?}");
        assert_eq!(passed_in_pieces(&stream, 1 + random.below(50)), passed, "in pieces: {shown:?}");
        let seen = runtime.block_on(uris_seen_by_hyper(&passed));
        if found.closes {
            assert!(found.uris.starts_with(&seen), "{:?}, hyper: {seen:?}: {shown:?}", found.uris);
        } else {
            assert_eq!(found.uris, seen, "{shown:?}");
        }
        requests += seen.len();
        rejected += usize::from(found.length < stream.len());
    }
    assert!(requests > 20_000, "{requests} requests");
    assert!((4_000..16_000).contains(&rejected), "{rejected} of 20000 streams rejected");
}

/// Changes single bytes of heads with every feature, more of them than in whole streams.
#[test]
fn hyper_accepts_every_head_that_passes() {
    let heads = [
        "GET / HTTP/1.1\r\nHost: a\r\n\r\n",
        "POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 12\r\nAccept: */*\r\n\r\n",
        "POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\nExpect: 100-continue\r\n\r\n",
        "PUT http://a:80/b%20c?d=e#f HTTP/1.0\r\nConnection: keep-alive\r\n\r\n",
        "CONNECT a.example:443 HTTP/1.1\r\nHost: a\r\nUpgrade: x\r\n\r\n",
        "OPTIONS * HTTP/1.1\r\nHost: a\r\nContent-Length: 0\r\n\r\n",
    ];
    let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
    let mut random = Random(1);
    let mut passed = 0;
    for _ in 0..20_000 {
        let mut bytes = random.choice(&heads).as_bytes().to_vec();
        for _ in 0..=random.below(2) {
            let at = random.below(bytes.len());
            let byte = BYTES[random.below(BYTES.len())];
            match random.below(3) {
                0 => bytes[at] = byte,
                1 => bytes.insert(at, byte),
                _ => drop(bytes.remove(at)),
            }
        }
        if let Ok(Some(head)) = check_head(&bytes, LIMITS) {
            passed += 1;
            let seen = runtime.block_on(uris_seen_by_hyper(&bytes[..head.length]));
            assert_eq!(seen.len(), 1, "{:?}", String::from_utf8_lossy(&bytes));
        }
    }
    assert!((5_000..15_000).contains(&passed), "{passed} of 20000 heads passed");
}
