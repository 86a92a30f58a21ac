//! Responses to bad requests: malformed, oversized, slow and ambiguous ones.

#![allow(missing_docs, clippy::unwrap_used)]

mod common;

use common::{JSON, Service, article, gzip, read_response, request};
use serde_json::json;
use std::io::{BufReader, Read, Write};
use std::net::Shutdown;

const ARTICLES: &str = "/api/v1/articles";

#[test]
fn broken_json_is_400_with_its_offset() {
    let service = Service::start();
    let deep = format!("{{\"text\":{}1{}}}", "[".repeat(64), "]".repeat(64));
    let cases: [(&[u8], Option<u64>); 11] = [
        (b"", None),
        (b" ", None),
        (b"{\"text\":\"x\",}", Some(12)),
        (b"{\"text\":\"x\"} y", Some(13)),
        (b"{\"text\":\"x\"", None),
        (deep.as_bytes(), None),
        (b"{\"text\":\"x\",\"text\":\"y\"}", None),
        (b"{\"text\":\"\xff\"}", Some(9)),
        (br#"{"text":"\ud800"}"#, None),
        (b"{\"text\":NaN}", Some(8)),
        (b"{\"text\":1e999999}", None),
    ];
    for (body, offset) in cases {
        let problem = service.send("POST", ARTICLES, &[JSON], body).expect_problem(400);
        assert!(problem["offset"].is_u64(), "{problem}");
        if let Some(offset) = offset {
            assert_eq!(problem["offset"], offset, "{problem}");
        }
    }
    assert_eq!(service.get("/api/v1/stats").json()["documents"], 0);
}

#[test]
fn invalid_fields_are_422_with_a_pointer() {
    let service = Service::start();
    let cases = [
        (json!({"text": "x", "metadata": 1}), "/metadata", "wrong_type"),
        (json!({"text": 7}), "/text", "wrong_type"),
        (json!({"text": null}), "/text", "wrong_type"),
        (json!({"text": "x", "title": []}), "/title", "wrong_type"),
        (json!({}), "/text", "missing"),
        (json!({"text": "x", "id": ""}), "/id", "invalid"),
        (json!({"text": "x", "id": "i".repeat(513)}), "/id", "invalid"),
        (json!({"text": "x", "id": "a\u{7}b"}), "/id", "invalid"),
        (json!({"text": "x", "id": 1.5}), "/id", "wrong_type"),
        (json!({"text": "x", "published_at": "the other day"}), "/published_at", "invalid"),
        (json!({"text": "x", "published_at": 17}), "/published_at", "wrong_type"),
        (json!({"text": "x", "url": "u".repeat(9_000)}), "/url", "too_long"),
    ];
    for (body, pointer, code) in cases {
        service.post(ARTICLES, body).expect_fault(pointer, code);
    }
    let problem =
        service.post(ARTICLES, json!({"text": 7, "title": 7, "url": 7, "x": 7})).expect_problem(422);
    assert_eq!(problem["errors"].as_array().unwrap().len(), 3);
    for body in ["[]", "7", "null", "\"text\""] {
        service.post(ARTICLES, body).expect_problem(422);
    }
}

#[test]
fn unsupported_types_and_encodings_are_415() {
    let service = Service::start();
    let body = json!({"text": "some text"}).to_string();
    let post = |headers: &[(&str, &str)]| service.send("POST", ARTICLES, headers, body.as_bytes());
    post(&[]).expect_problem(415);
    for kind in
        ["text/plain", "application/json; charset=latin1", "application/x-www-form-urlencoded", "nonsense"]
    {
        post(&[("content-type", kind)]).expect_problem(415);
    }
    post(&[("content-type", "application/json; charset=utf-8")]).expect(201);
    for encoding in ["br", "gzip, gzip", "deflate"] {
        post(&[JSON, ("content-encoding", encoding)]).expect_problem(415);
    }
    post(&[JSON, ("accept", "text/html")]).expect_problem(406);
    post(&[JSON, ("accept", "text/html, application/*;q=0.1")]).expect(201);
    service.send("GET", "/metrics", &[("accept", "application/json")], b"").expect_problem(406);
}

#[test]
fn limits_apply_to_decompressed_bodies() {
    let service = Service::start();
    let headers = [JSON, ("content-encoding", "gzip")];
    let good = gzip(json!({"text": article(1, 60)}).to_string().as_bytes());
    service.send("POST", ARTICLES, &headers, &good).expect(201);
    service.send("POST", ARTICLES, &headers, &good[..good.len() - 9]).expect_problem(400);
    service.send("POST", ARTICLES, &headers, b"not gzip at all").expect_problem(400);
    let bomb = gzip(&vec![b' '; 64 << 20]);
    assert!(bomb.len() < 100_000);
    service.send("POST", ARTICLES, &headers, &bomb).expect_problem(413);
    let lines = [("content-type", "application/x-ndjson"), ("content-encoding", "gzip")];
    let responses = service
        .send("POST", "/api/v1/articles/bulk", &lines, &gzip(&vec![b'x'; 300 << 20]))
        .expect(200)
        .text();
    let last: serde_json::Value = serde_json::from_str(responses.lines().last().unwrap()).unwrap();
    assert_eq!(last["http_status"], 413);
}

#[test]
fn unknown_paths_are_404_and_wrong_methods_405() {
    let service = Service::start();
    for path in ["/nothing", "/api", "/api/v1/", "/api/v1/a/b/c/d", "/api/v1/articles/", "/.git/config"] {
        service.get(path).expect_problem(404);
    }
    for (method, path, allowed) in [
        ("BREW", "/api/v1/articles", "DELETE,GET,HEAD,PATCH,POST,PUT"),
        ("GET", "/api/v1/articles/bulk", "POST"),
        ("GET", "/api/v1/compare", "POST"),
        ("POST", "/api/v1/stats", "GET,HEAD"),
        ("DELETE", "/", "GET,HEAD"),
        ("BREW", "/metrics", "GET,HEAD"),
    ] {
        let response = service.send(method, path, &[], b"");
        let mut allow: Vec<&str> = response.header("allow").unwrap().split(',').collect();
        allow.sort_unstable();
        assert_eq!(allow.join(","), allowed, "{method} {path}");
        response.expect_problem(405);
    }
    let options = service.send("OPTIONS", "/api/v1/articles", &[], b"").expect(204);
    assert!(options.header("allow").unwrap().contains("POST"));
    assert_eq!(options.header("access-control-allow-origin"), None);
    let head = service.send("HEAD", "/api/v1/stats", &[], b"").expect(200);
    assert!(head.header("content-length").unwrap().parse::<u64>().unwrap() > 0);
    service.send("HEAD", "/api/v1/articles/absent", &[], b"").expect(404);
}

#[test]
fn oversized_requests_are_413_414_or_431() {
    let service = Service::start();
    let body = vec![b' '; (8 << 20) + 1];
    service.send("POST", ARTICLES, &[JSON], &body).expect_problem(413);
    // The declared length is enough: no body has been sent.
    let mut stream = service.connect();
    let head = format!(
        "POST {ARTICLES} HTTP/1.1\r\nhost: localhost\r\ncontent-type: application/json\r\ncontent-length: 99999999999\r\n\r\n"
    );
    stream.write_all(head.as_bytes()).unwrap();
    let response = read_response(&mut BufReader::new(stream), false);
    assert_eq!(response.header("connection"), Some("close"));
    response.expect_problem(413);

    let mut chunked = format!(
        "POST {ARTICLES} HTTP/1.1\r\nhost: localhost\r\ncontent-type: application/json\r\ntransfer-encoding: chunked\r\n\r\n"
    )
    .into_bytes();
    for _ in 0..9 {
        chunked.extend_from_slice(b"100000\r\n");
        chunked.extend_from_slice(&vec![b' '; 1 << 20]);
        chunked.extend_from_slice(b"\r\n");
    }
    service.raw(&chunked).expect_problem(413);

    let problem = service.post(ARTICLES, json!({"text": "x".repeat((1 << 20) + 1)})).expect_problem(413);
    assert_eq!(problem["errors"][0]["pointer"], "/text");
    service.post(ARTICLES, json!({"text": "x".repeat(1 << 20)})).expect(201);

    service.get(&format!("/{}", "x".repeat(9 << 10))).expect_problem(414);
    service.send("GET", "/health/live", &[("x-long", &"x".repeat(33 << 10))], b"").expect_problem(431);
    let many: Vec<(String, String)> = (0..101).map(|i| (format!("x-{i}"), "v".to_owned())).collect();
    let many: Vec<(&str, &str)> = many.iter().map(|(name, value)| (name.as_str(), value.as_str())).collect();
    service.send("GET", "/health/live", &many, b"").expect_problem(431);
    service.send("GET", "/health/live", &many[..90], b"").expect(200);
    // Larger than the parser accepts.
    let response = service.send("GET", "/health/live", &[("x-long", &"x".repeat(200 << 10))], b"");
    assert_eq!(response.header("connection"), Some("close"));
    response.expect_problem(431);
    service.get(&format!("/{}", "x".repeat(66_000))).expect_problem(414);
}

#[test]
fn ambiguous_and_malformed_heads_are_400_and_closed() {
    let service = Service::start();
    let body = "{\"text\":\"x\"}";
    let post = format!("POST {ARTICLES} HTTP/1.1\r\nhost: localhost\r\ncontent-type: application/json\r\n");
    let length = format!("content-length: {}\r\n", body.len());
    for head in [
        format!("{post}{length}transfer-encoding: chunked\r\n\r\n"),
        format!("{post}transfer-encoding: chunked\r\n{length}\r\n"),
        format!("{post}{length}{length}\r\n"),
        format!("{post}{length}content-length: 99\r\n\r\n"),
        format!("{post}content-length: -1\r\n\r\n"),
        format!("{post}content-length: 1 2\r\n\r\n"),
        format!("{post}x-folded: a\r\n  b\r\n{length}\r\n"),
        format!("{post}x-space : a\r\n{length}\r\n"),
        format!("{post}{length}\r\n").replace("\r\n", "\n"),
        format!("{post}transfer-encoding: gzip\r\n\r\n"),
    ] {
        let response = service.raw(format!("{head}{body}"));
        assert_eq!(response.header("connection"), Some("close"), "{head}");
        response.expect_problem(400);
    }
    let chunks = format!("{post}transfer-encoding: chunked\r\n\r\nzz\r\n{body}\r\n0\r\n\r\n");
    assert!(matches!(service.raw(chunks).status, 0 | 400));
    assert_eq!(service.get("/api/v1/stats").json()["documents"], 0);
}

#[test]
fn rejects_unknown_hosts() {
    let service = Service::start();
    service.raw("GET /health/live HTTP/1.1\r\n\r\n").expect_problem(400);
    for host in ["evil.example", "localhost.evil.example", "a b", "x@localhost", ""] {
        service.raw(format!("GET /health/live HTTP/1.1\r\nhost: {host}\r\n\r\n")).expect_problem(400);
    }
    for host in ["localhost", "LOCALHOST:1", "127.0.0.1:80", "[::1]:80"] {
        service
            .raw(format!("GET /health/live HTTP/1.1\r\nhost: {host}\r\nconnection: close\r\n\r\n"))
            .expect(200);
    }
    service
        .raw("GET /health/live HTTP/1.1\r\nhost: localhost\r\nhost: localhost\r\n\r\n")
        .expect_problem(400);
    service.raw("GET /health/live HTTP/1.0\r\n\r\n").expect(200);
}

#[test]
fn does_not_normalize_paths() {
    let service = Service::start();
    for path in ["/api/v1/articles/%00", "/api/v1/articles/a%0Ab", "/%7F"] {
        service.get(path).expect_problem(400);
    }
    service.get("/api/v1/articles/%ff").expect_problem(400);
    service.post(ARTICLES, json!({"id": "../../etc/passwd", "text": article(1, 60)})).expect(201);
    assert_eq!(
        service.get("/api/v1/articles/..%2F..%2Fetc%2Fpasswd").expect(200).json()["id"],
        "../../etc/passwd"
    );
}

#[test]
fn rejects_other_protocols() {
    let service = Service::start();
    for bytes in [
        &b"GET /\r\n\r\n"[..],
        b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03 and more of a handshake\r\n\r\n",
        b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n",
        b"GET / HTTP/9.9\r\nhost: localhost\r\n\r\n",
    ] {
        service.raw(bytes).expect_problem(400);
    }
    let upgrade = [("connection", "upgrade"), ("upgrade", "websocket"), ("sec-websocket-key", "x")];
    service.send("GET", "/health/live", &upgrade, b"").expect(200);
    service.get("/health/live").expect(200);
}

#[test]
fn answers_pipelined_requests_in_order() {
    let service = Service::start();
    for id in 0..10 {
        service
            .post("/api/v1/copies", json!({"id": id, "text": format!("document number {id} of ten")}))
            .expect(201);
    }
    let requests: String = (0..1_000)
        .map(|i| format!("GET /api/v1/copies/{} HTTP/1.1\r\nhost: localhost\r\n\r\n", i % 10))
        .collect();
    let mut stream = service.connect();
    let writer = stream.try_clone().unwrap();
    std::thread::scope(|scope| {
        scope.spawn(move || (&writer).write_all(requests.as_bytes()).unwrap());
        let mut reader = BufReader::new(stream.try_clone().unwrap());
        for i in 0..1_000 {
            assert_eq!(read_response(&mut reader, false).expect(200).json()["id"], i % 10);
        }
    });
    stream.flush().unwrap();
}

#[test]
fn checks_the_heads_of_pipelined_requests() {
    let service = Service::start();
    let body = "{\"id\":1,\"text\":\"x\"}";
    let post = format!("POST {ARTICLES} HTTP/1.1\r\nhost: localhost\r\ncontent-type: application/json\r\n");
    let length = format!("content-length: {}\r\n", body.len());
    let chunks = format!("{:x}\r\n{body}\r\n0\r\n\r\n", body.len());
    for first in [
        format!("{post}{length}\r\n{body}"),
        format!("{post}transfer-encoding: chunked\r\n\r\n{chunks}"),
        "GET /health/live HTTP/1.1\r\nhost: localhost\r\n\r\n".to_owned(),
    ] {
        for second in [
            format!("{post}{length}{length}\r\n{body}"),
            format!("{post}{length}\r\n{body}").replace("\r\n", "\n"),
        ] {
            let mut stream = service.connect();
            stream.write_all(format!("{first}{second}").as_bytes()).unwrap();
            let mut reader = BufReader::new(stream);
            let response = read_response(&mut reader, false);
            assert!(matches!(response.status, 200 | 201), "{}", response.text());
            let response = read_response(&mut reader, false);
            assert_eq!(response.header("connection"), Some("close"), "{second}");
            response.expect_problem(400);
        }
    }
}

#[test]
fn sends_nothing_after_a_response_that_closes_the_connection() {
    let service = Service::start();
    let mut bytes = request("GET", "/health/live", &[], b"");
    bytes.extend_from_slice(b"not HTTP\r\n\r\n");
    let mut stream = service.connect();
    stream.write_all(&bytes).unwrap();
    let mut reader = BufReader::new(stream);
    read_response(&mut reader, false).expect(200);
    assert_eq!(read_response(&mut reader, false).status, 0);
}

#[test]
fn counts_requests_with_malformed_heads() {
    let service = Service::start();
    service.raw("not HTTP\r\n\r\n").expect_problem(400);
    let line = "sameish_http_requests_total{method=\"other\",route=\"other\",status=\"400\"} 1";
    let metrics = service.get("/metrics").expect(200).text();
    assert!(metrics.contains(line), "{metrics}");
}

#[test]
fn answers_a_half_closed_connection() {
    let service = Service::start();
    let mut stream = service.connect();
    stream.write_all(&request("POST", ARTICLES, &[JSON], br#"{"id":1,"text":"half closed"}"#)).unwrap();
    stream.shutdown(Shutdown::Write).unwrap();
    read_response(&mut BufReader::new(stream), false).expect(201);
}

#[test]
fn stores_nothing_of_an_incomplete_body() {
    let service = Service::start();
    let mut stream = service.connect();
    let whole = request("POST", ARTICLES, &[JSON], br#"{"id":1,"text":"cut off"}"#);
    stream.write_all(&whole[..whole.len() - 2]).unwrap();
    stream.shutdown(Shutdown::Write).unwrap();
    assert!(matches!(read_response(&mut BufReader::new(stream), false).status, 0 | 400 | 408));
    service.get("/api/v1/articles/1").expect_problem(404);
}

#[test]
fn closes_idle_and_slow_connections() {
    let service = Service::with(|settings| {
        settings.limits.header_seconds = 1;
        settings.limits.idle_seconds = 1;
        settings.limits.body_seconds = 1;
    });
    let closed = |mut stream: std::net::TcpStream| {
        let mut rest = Vec::new();
        _ = stream.read_to_end(&mut rest);
        String::from_utf8(rest).unwrap()
    };
    // No bytes, half a head, a head without its body, and an idle connection after a response.
    assert_eq!(closed(service.connect()), "");
    let mut stream = service.connect();
    stream.write_all(b"GET /health/live HTTP/1.1\r\nhost: loc").unwrap();
    assert_eq!(closed(stream), "");
    let mut stream = service.connect();
    let whole = request("POST", ARTICLES, &[JSON], br#"{"id":1,"text":"incomplete"}"#);
    stream.write_all(&whole[..whole.len() - 5]).unwrap();
    assert!(closed(stream).starts_with("HTTP/1.1 408 "));
    let mut stream = service.connect();
    stream.write_all(b"GET /health/live HTTP/1.1\r\nhost: localhost\r\n\r\n").unwrap();
    assert!(closed(stream).starts_with("HTTP/1.1 200 "));
    service.get("/api/v1/articles/1").expect_problem(404);
}

#[test]
fn closes_a_connection_whose_client_does_not_read() {
    let service = Service::with(|settings| settings.limits.write_seconds = 1);
    service.post("/api/v1/copies", json!({"id": 1, "text": "x".repeat(1 << 20)})).expect(201);
    let mut stream = service.connect();
    let requests = "GET /api/v1/copies/1 HTTP/1.1\r\nhost: localhost\r\n\r\n".repeat(100);
    stream.write_all(requests.as_bytes()).unwrap();
    let has_others = || !service.get("/metrics").text().contains("sameish_connections 1\n");
    while !has_others() {}
    while has_others() {
        std::thread::sleep(std::time::Duration::from_millis(50));
    }
    drop(stream);
}

#[test]
fn closes_the_longest_idle_connection_beyond_the_limit() {
    let service = Service::with(|settings| settings.limits.connections = 4);
    let waiting: Vec<_> = (0..12).map(|_| service.connect()).collect();
    for _ in 0..20 {
        service.get("/health/live").expect(200);
    }
    drop(waiting);
}

#[test]
fn rejects_invalid_search_options() {
    let service = Service::start();
    service.post(ARTICLES, json!({"id": 1, "text": article(1, 60)})).expect(201);
    for query in [
        "limit=0",
        "limit=-1",
        "limit=x",
        "min_similarity=2",
        "min_similarity=nan",
        "evidence=maybe",
        "typo=1",
    ] {
        service.get(&format!("/api/v1/articles/1/similar?{query}")).expect_problem(422);
    }
    service.get("/api/v1/articles/1/similar?limit=1000000000").expect(200);
    service
        .post("/api/v1/articles/query", json!({"text": "x", "limit": 0}))
        .expect_fault("/limit", "out_of_range");
}

#[test]
fn stores_unusual_documents_unchanged() {
    let service = Service::start();
    let empty = service.post(ARTICLES, json!({"id": "empty", "text": ""})).expect(201).json();
    assert_eq!(
        (empty["status"].as_str(), &empty["duplicates"], empty["cluster"].is_u64()),
        (Some("too_short"), &json!([]), true)
    );
    let again = service.post(ARTICLES, json!({"id": "empty too", "text": ""})).expect(201).json();
    assert_eq!(again["duplicates"], json!([]));
    let future = service
        .post(ARTICLES, json!({"id": "f", "text": "x", "published_at": "9999-12-01"}))
        .expect(201)
        .json();
    assert_eq!(future["warnings"], json!(["published_in_future"]));
    let title = "<script>alert(1)</script>\" onload=\"x";
    let url = "javascript:alert(1)";
    service.post(ARTICLES, json!({"id": "html", "text": "x", "title": title, "url": url})).expect(201);
    let shown = service.get("/api/v1/articles/html").expect(200).json();
    assert_eq!((shown["title"].as_str(), shown["url"].as_str()), (Some(title), Some(url)));
}

#[test]
fn one_of_many_concurrent_writers_of_an_id_wins() {
    let service = Service::start();
    let statuses: Vec<u16> = std::thread::scope(|scope| {
        let post =
            |i: u64| service.post("/api/v1/copies", json!({"id": "one", "text": article(i, 20)})).status;
        let threads: Vec<_> = (0..32).map(|i| scope.spawn(move || post(i))).collect();
        threads.into_iter().map(|thread| thread.join().unwrap()).collect()
    });
    assert_eq!(statuses.iter().filter(|status| **status == 201).count(), 1, "{statuses:?}");
    assert!(statuses.iter().all(|status| matches!(status, 201 | 409)), "{statuses:?}");
}

#[test]
fn problems_contain_no_internal_details() {
    let service = Service::start();
    let long = "A".repeat(5_000);
    for response in [
        service.get(&format!("/api/v1/{long}/x")),
        service.get(&format!("/api/v1/articles/{long}")),
        service.post("/api/v1/articles?strict=true", json!({"text": "x", long.clone(): 1})),
        service.post(ARTICLES, format!("{{\"{long}\":1,\"{long}\":2}}")),
    ] {
        let text = response.text();
        assert!(response.status >= 400 && text.len() < 1_500, "{text}");
        assert!(!text.contains("/tmp") && !text.contains("SELECT") && !text.contains(".rs:"), "{text}");
    }
}

#[test]
fn a_request_in_a_chunk_does_not_hide_the_lengths_of_the_next_one() {
    let service = Service::start();
    let ambiguous = [
        "content-length: 0\r\ncontent-length: 0\r\n\r\n",
        "content-length: 3\r\ntransfer-encoding: chunked\r\n\r\n0\r\n\r\n",
    ];
    // Read as the end of the chunked body, the chunk size would make this a request whose body contains all that follows.
    let hidden = "\r\nPOST / HTTP/1.1\r\nhost: localhost\r\ncontent-length: 100000\r\n\r\n";
    for (zeros, second) in
        [0, 15, 80, 1_000].into_iter().flat_map(|zeros| ambiguous.map(|second| (zeros, second)))
    {
        let size = format!("{}{:x}", "0".repeat(zeros), hidden.len());
        let stream = format!(
            "POST {ARTICLES} HTTP/1.1\r\nhost: localhost\r\ncontent-type: application/json\r\n\
             transfer-encoding: chunked\r\n\r\n{size}\r\n{hidden}\r\n0\r\n\r\n\
             GET /health/live HTTP/1.1\r\nhost: localhost\r\n{second}"
        );
        let mut connection = service.connect();
        connection.write_all(stream.as_bytes()).unwrap();
        let mut connection = BufReader::new(connection);
        read_response(&mut connection, false).expect_problem(400);
        let second = read_response(&mut connection, false);
        assert_eq!(second.header("connection"), Some("close"), "{zeros} zeros");
        second.expect_problem(400);
    }
}
