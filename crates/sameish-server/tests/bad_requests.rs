//! What bad input gets: the rows of the list of bad requests, one by one.

#![allow(missing_docs, clippy::unwrap_used)]

mod common;

use common::{JSON, Service, article, gzip, read_answer, request};
use serde_json::json;
use std::io::{BufReader, Read, Write};
use std::net::Shutdown;

const ARTICLES: &str = "/api/v1/articles";

#[test]
fn broken_json_is_400_with_its_place() {
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
        let problem = service.send("POST", ARTICLES, &[JSON], body).problem(400);
        assert!(problem["offset"].is_u64(), "{problem}");
        if let Some(offset) = offset {
            assert_eq!(problem["offset"], offset, "{problem}");
        }
    }
    assert_eq!(service.get("/api/v1/stats").json()["documents"], 0);
}

#[test]
fn wrong_fields_are_422_with_a_pointer() {
    let service = Service::start();
    let cases = [
        (json!({"text": "x", "txt": 1}), "/txt", "unknown_field"),
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
        service.post(ARTICLES, body).wrong_at(pointer, code);
    }
    let problem = service.post(ARTICLES, json!({"text": 7, "title": 7, "x": 7})).problem(422);
    assert_eq!(problem["errors"].as_array().unwrap().len(), 3);
    for body in ["[]", "7", "null", "\"text\""] {
        service.post(ARTICLES, body).problem(422);
    }
}

#[test]
fn types_and_encodings_that_are_not_taken_are_415() {
    let service = Service::start();
    let body = json!({"text": "some text"}).to_string();
    let post = |headers: &[(&str, &str)]| service.send("POST", ARTICLES, headers, body.as_bytes());
    post(&[]).problem(415);
    for kind in
        ["text/plain", "application/json; charset=latin1", "application/x-www-form-urlencoded", "nonsense"]
    {
        post(&[("content-type", kind)]).problem(415);
    }
    post(&[("content-type", "application/json; charset=utf-8")]).is(201);
    for encoding in ["br", "gzip, gzip", "deflate"] {
        post(&[JSON, ("content-encoding", encoding)]).problem(415);
    }
    post(&[JSON, ("accept", "text/html")]).problem(406);
    post(&[JSON, ("accept", "text/html, application/*;q=0.1")]).is(201);
    service.send("GET", "/metrics", &[("accept", "application/json")], b"").problem(406);
}

#[test]
fn packed_bodies_have_the_same_limits() {
    let service = Service::start();
    let headers = [JSON, ("content-encoding", "gzip")];
    let good = gzip(json!({"text": article(1, 60)}).to_string().as_bytes());
    service.send("POST", ARTICLES, &headers, &good).is(201);
    service.send("POST", ARTICLES, &headers, &good[..good.len() - 9]).problem(400);
    service.send("POST", ARTICLES, &headers, b"not gzip at all").problem(400);
    let bomb = gzip(&vec![b' '; 64 << 20]);
    assert!(bomb.len() < 100_000);
    service.send("POST", ARTICLES, &headers, &bomb).problem(413);
    let lines = [("content-type", "application/x-ndjson"), ("content-encoding", "gzip")];
    let answers =
        service.send("POST", "/api/v1/articles/bulk", &lines, &gzip(&vec![b'x'; 300 << 20])).is(200).text();
    let last: serde_json::Value = serde_json::from_str(answers.lines().last().unwrap()).unwrap();
    assert_eq!(last["http_status"], 413);
}

#[test]
fn paths_methods_and_options() {
    let service = Service::start();
    for path in ["/nothing", "/api", "/api/v1", "/api/v1/a/b/c/d", "/api/v1/articles/", "/.git/config"] {
        service.get(path).problem(404);
    }
    for (method, path, allowed) in [
        ("PATCH", "/api/v1/articles", "GET,HEAD,POST,PUT"),
        ("GET", "/api/v1/articles/bulk", "POST"),
        ("GET", "/api/v1/compare", "POST"),
        ("POST", "/api/v1/stats", "GET,HEAD"),
        ("DELETE", "/", "GET,HEAD"),
        ("BREW", "/metrics", "GET,HEAD"),
    ] {
        let answer = service.send(method, path, &[], b"");
        let mut allow: Vec<&str> = answer.header("allow").unwrap().split(',').collect();
        allow.sort_unstable();
        assert_eq!(allow.join(","), allowed, "{method} {path}");
        answer.problem(405);
    }
    let options = service.send("OPTIONS", "/api/v1/articles", &[], b"").is(204);
    assert!(options.header("allow").unwrap().contains("POST"));
    assert_eq!(options.header("access-control-allow-origin"), None);
    let head = service.send("HEAD", "/api/v1/stats", &[], b"").is(200);
    assert!(head.header("content-length").unwrap().parse::<u64>().unwrap() > 0);
    service.send("HEAD", "/api/v1/articles/absent", &[], b"").is(404);
}

#[test]
fn what_is_too_large_is_413_414_or_431() {
    let service = Service::start();
    let body = vec![b' '; (8 << 20) + 1];
    service.send("POST", ARTICLES, &[JSON], &body).problem(413);
    // The length alone is enough: nothing has been sent.
    let mut stream = service.connect();
    let head = format!(
        "POST {ARTICLES} HTTP/1.1\r\nhost: localhost\r\ncontent-type: application/json\r\ncontent-length: 99999999999\r\n\r\n"
    );
    stream.write_all(head.as_bytes()).unwrap();
    let answer = read_answer(&mut BufReader::new(stream), false);
    assert_eq!(answer.header("connection"), Some("close"));
    answer.problem(413);

    let mut chunked = format!(
        "POST {ARTICLES} HTTP/1.1\r\nhost: localhost\r\ncontent-type: application/json\r\ntransfer-encoding: chunked\r\n\r\n"
    )
    .into_bytes();
    for _ in 0..9 {
        chunked.extend_from_slice(b"100000\r\n");
        chunked.extend_from_slice(&vec![b' '; 1 << 20]);
        chunked.extend_from_slice(b"\r\n");
    }
    service.raw(&chunked).problem(413);

    let problem = service.post(ARTICLES, json!({"text": "x".repeat((1 << 20) + 1)})).problem(413);
    assert_eq!(problem["errors"][0]["pointer"], "/text");
    service.post(ARTICLES, json!({"text": "x".repeat(1 << 20)})).is(201);

    service.get(&format!("/{}", "x".repeat(9 << 10))).problem(414);
    service.send("GET", "/health/live", &[("x-long", &"x".repeat(33 << 10))], b"").problem(431);
    let many: Vec<(String, String)> = (0..101).map(|i| (format!("x-{i}"), "v".to_owned())).collect();
    let many: Vec<(&str, &str)> = many.iter().map(|(name, value)| (name.as_str(), value.as_str())).collect();
    service.send("GET", "/health/live", &many, b"").problem(431);
    service.send("GET", "/health/live", &many[..90], b"").is(200);
    // Beyond what is parsed at all.
    assert!(matches!(
        service.send("GET", "/health/live", &[("x-long", &"x".repeat(200 << 10))], b"").status,
        0 | 431
    ));
}

#[test]
fn heads_with_two_meanings_are_refused_and_closed() {
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
        let answer = service.raw(format!("{head}{body}"));
        assert_eq!(answer.header("connection"), Some("close"), "{head}");
        answer.problem(400);
    }
    let chunks = format!("{post}transfer-encoding: chunked\r\n\r\nzz\r\n{body}\r\n0\r\n\r\n");
    assert!(matches!(service.raw(chunks).status, 0 | 400));
    assert_eq!(service.get("/api/v1/stats").json()["documents"], 0);
}

#[test]
fn hosts_are_checked() {
    let service = Service::start();
    service.raw("GET /health/live HTTP/1.1\r\n\r\n").problem(400);
    for host in ["evil.example", "localhost.evil.example", "a b", "x@localhost", ""] {
        service.raw(format!("GET /health/live HTTP/1.1\r\nhost: {host}\r\n\r\n")).problem(400);
    }
    for host in ["localhost", "LOCALHOST:1", "127.0.0.1:80", "[::1]:80"] {
        service
            .raw(format!("GET /health/live HTTP/1.1\r\nhost: {host}\r\nconnection: close\r\n\r\n"))
            .is(200);
    }
    service.raw("GET /health/live HTTP/1.1\r\nhost: localhost\r\nhost: localhost\r\n\r\n").problem(400);
    service.raw("GET /health/live HTTP/1.0\r\n\r\n").is(200);
}

#[test]
fn paths_are_taken_literally() {
    let service = Service::start();
    for path in ["/api/v1/articles/%00", "/api/v1/articles/a%0Ab", "/%7F"] {
        service.get(path).problem(400);
    }
    service.get("/api/v1/articles/%ff").problem(400);
    service.post(ARTICLES, json!({"id": "../../etc/passwd", "text": article(1, 60)})).is(201);
    assert_eq!(
        service.get("/api/v1/articles/..%2F..%2Fetc%2Fpasswd").is(200).json()["id"],
        "../../etc/passwd"
    );
}

#[test]
fn other_protocols_are_turned_away() {
    let service = Service::start();
    for bytes in [
        &b"GET /\r\n\r\n"[..],
        b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03 and more of a handshake\r\n\r\n",
        b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n",
        b"GET / HTTP/9.9\r\nhost: localhost\r\n\r\n",
    ] {
        let answer = service.raw(bytes);
        assert!(matches!(answer.status, 0 | 400 | 505), "{}", answer.status);
    }
    let upgrade = [("connection", "upgrade"), ("upgrade", "websocket"), ("sec-websocket-key", "x")];
    service.send("GET", "/health/live", &upgrade, b"").is(200);
    service.get("/health/live").is(200);
}

#[test]
fn many_requests_in_one_piece_are_answered_in_order() {
    let service = Service::start();
    for id in 0..10 {
        service
            .post("/api/v1/copies", json!({"id": id, "text": format!("document number {id} of ten")}))
            .is(201);
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
            assert_eq!(read_answer(&mut reader, false).is(200).json()["id"], i % 10);
        }
    });
    stream.flush().unwrap();
}

#[test]
fn a_head_that_comes_with_the_request_before_is_looked_at_too() {
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
            let answer = read_answer(&mut reader, false);
            assert!(matches!(answer.status, 200 | 201), "{}", answer.text());
            let answer = read_answer(&mut reader, false);
            assert_eq!(answer.header("connection"), Some("close"), "{second}");
            answer.problem(400);
        }
    }
}

#[test]
fn a_client_that_stops_sending_still_gets_its_answer() {
    let service = Service::start();
    let mut stream = service.connect();
    stream.write_all(&request("POST", ARTICLES, &[JSON], br#"{"id":1,"text":"half closed"}"#)).unwrap();
    stream.shutdown(Shutdown::Write).unwrap();
    read_answer(&mut BufReader::new(stream), false).is(201);
}

#[test]
fn a_body_that_ends_early_stores_nothing() {
    let service = Service::start();
    let mut stream = service.connect();
    let whole = request("POST", ARTICLES, &[JSON], br#"{"id":1,"text":"cut off"}"#);
    stream.write_all(&whole[..whole.len() - 2]).unwrap();
    stream.shutdown(Shutdown::Write).unwrap();
    assert!(matches!(read_answer(&mut BufReader::new(stream), false).status, 0 | 400 | 408));
    service.get("/api/v1/articles/1").problem(404);
}

#[test]
fn clients_that_wait_are_closed() {
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
    // Nothing, half a head, a head without its body, and a rest after an answer.
    assert_eq!(closed(service.connect()), "");
    let mut stream = service.connect();
    stream.write_all(b"GET /health/live HTTP/1.1\r\nhost: loc").unwrap();
    assert_eq!(closed(stream), "");
    let mut stream = service.connect();
    let whole = request("POST", ARTICLES, &[JSON], br#"{"id":1,"text":"never comes"}"#);
    stream.write_all(&whole[..whole.len() - 5]).unwrap();
    assert!(closed(stream).starts_with("HTTP/1.1 408 "));
    let mut stream = service.connect();
    stream.write_all(b"GET /health/live HTTP/1.1\r\nhost: localhost\r\n\r\n").unwrap();
    assert!(closed(stream).starts_with("HTTP/1.1 200 "));
    service.get("/api/v1/articles/1").problem(404);
}

#[test]
fn a_client_that_never_reads_is_closed() {
    let service = Service::with(|settings| settings.limits.write_seconds = 1);
    service.post("/api/v1/copies", json!({"id": 1, "text": "x".repeat(1 << 20)})).is(201);
    let mut stream = service.connect();
    let requests = "GET /api/v1/copies/1 HTTP/1.1\r\nhost: localhost\r\n\r\n".repeat(100);
    stream.write_all(requests.as_bytes()).unwrap();
    let others = || !service.get("/metrics").text().contains("sameish_connections 1\n");
    while !others() {}
    while others() {
        std::thread::sleep(std::time::Duration::from_millis(50));
    }
    drop(stream);
}

#[test]
fn beyond_the_limit_the_connection_that_rests_longest_goes() {
    let service = Service::with(|settings| settings.limits.connections = 4);
    let waiting: Vec<_> = (0..12).map(|_| service.connect()).collect();
    for _ in 0..20 {
        service.get("/health/live").is(200);
    }
    drop(waiting);
}

#[test]
fn limits_of_a_search_are_checked() {
    let service = Service::start();
    service.post(ARTICLES, json!({"id": 1, "text": article(1, 60)})).is(201);
    for query in [
        "limit=0",
        "limit=-1",
        "limit=x",
        "min_similarity=2",
        "min_similarity=nan",
        "evidence=maybe",
        "typo=1",
    ] {
        service.get(&format!("/api/v1/articles/1/similar?{query}")).problem(422);
    }
    service.get("/api/v1/articles/1/similar?limit=1000000000").is(200);
    service
        .post("/api/v1/articles/query", json!({"text": "x", "limit": 0}))
        .wrong_at("/limit", "out_of_range");
}

#[test]
fn odd_documents_are_stored_as_they_are() {
    let service = Service::start();
    let empty = service.post(ARTICLES, json!({"id": "empty", "text": ""})).is(201).json();
    assert_eq!(
        (empty["status"].as_str(), &empty["duplicates"], &empty["cluster"]),
        (Some("too_short"), &json!([]), &json!(null))
    );
    let again = service.post(ARTICLES, json!({"id": "empty too", "text": ""})).is(201).json();
    assert_eq!(again["duplicates"], json!([]));
    let future =
        service.post(ARTICLES, json!({"id": "f", "text": "x", "published_at": "9999-12-01"})).is(201).json();
    assert_eq!(future["warnings"], json!(["published_in_future"]));
    let title = "<script>alert(1)</script>\" onload=\"x";
    let url = "javascript:alert(1)";
    service.post(ARTICLES, json!({"id": "html", "text": "x", "title": title, "url": url})).is(201);
    let shown = service.get("/api/v1/articles/html").is(200).json();
    assert_eq!((shown["title"].as_str(), shown["url"].as_str()), (Some(title), Some(url)));
}

#[test]
fn racing_writers_of_one_id_have_one_winner() {
    let service = Service::start();
    let statuses: Vec<u16> = std::thread::scope(|scope| {
        let post =
            |i: u64| service.post("/api/v1/copies", json!({"id": "one", "text": article(i, 20)})).status;
        let racing: Vec<_> = (0..32).map(|i| scope.spawn(move || post(i))).collect();
        racing.into_iter().map(|thread| thread.join().unwrap()).collect()
    });
    assert_eq!(statuses.iter().filter(|status| **status == 201).count(), 1, "{statuses:?}");
    assert!(statuses.iter().all(|status| matches!(status, 201 | 409)), "{statuses:?}");
}

#[test]
fn no_problem_tells_of_the_inside() {
    let service = Service::start();
    let long = "A".repeat(5_000);
    for answer in [
        service.get(&format!("/api/v1/{long}/x")),
        service.get(&format!("/api/v1/articles/{long}")),
        service.post(ARTICLES, json!({"text": "x", long.clone(): 1})),
        service.post(ARTICLES, format!("{{\"{long}\":1,\"{long}\":2}}")),
    ] {
        let text = answer.text();
        assert!(answer.status >= 400 && text.len() < 1_500, "{text}");
        assert!(!text.contains("/tmp") && !text.contains("SELECT") && !text.contains(".rs:"), "{text}");
    }
}
